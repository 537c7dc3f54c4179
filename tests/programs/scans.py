# runs: interpreter emulator cuda triton-interpret (not triton: a pass of 3.6 fails on gathers along rows with 4 warps)
# Tests scans, gathers and histograms of all shapes, for every distribution of the axis over registers, lanes and warps: both axes,
# both directions, a combine function that does not commute; gathers of every width and of predicates; histograms with masks.
import torch
import triton
import triton.language as tl

@triton.jit
def line(av, ab, bv, bb):
    # composes affine maps, which does not commute
    return av * bv, ab * bv + bb

@triton.jit
def sums(out, x, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.cumsum(tl.load(x + at), AXIS, reverse=REVERSE))

@triton.jit
def lines(out, x, y, N: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.associative_scan((tl.load(x + i), tl.load(y + i)), 0, line, reverse=REVERSE)
    tl.store(out + i, a)
    tl.store(out + N + i, b)

for warps in (1, 2, 4, 8):
    for M, N in ((1, 32), (16, 16), (4, 256), (2, 2), (256, 4), (1, 2048), (64, 1)):
        for axis in (0, 1):
            for reverse in (False, True):
                x = torch.randint(-9, 9, (M, N), device="cuda", dtype=torch.int32)
                out = torch.zeros(M, N, device="cuda", dtype=torch.int32)
                sums[(1,)](out, x, M=M, N=N, AXIS=axis, REVERSE=reverse, num_warps=warps)
                want = torch.cumsum(x, axis) if not reverse else torch.flip(torch.cumsum(torch.flip(x, (axis,)), axis), (axis,))
                assert out.tolist() == want.tolist(), (warps, M, N, axis, reverse)
    for N in (1, 2, 32, 128, 1024):
        for reverse in (False, True):
            x = torch.randint(-1, 2, (N,), device="cuda", dtype=torch.int32)
            y = torch.randint(-9, 9, (N,), device="cuda", dtype=torch.int32)
            out = torch.zeros(2, N, device="cuda", dtype=torch.int32)
            lines[(1,)](out, x, y, N=N, REVERSE=reverse, num_warps=warps)
            xs, ys, rows = x.tolist(), y.tolist(), out.tolist()
            order = range(N - 1, -1, -1) if reverse else range(N)
            a, b = 1, 0
            for i in order:
                a, b = a * xs[i], b * xs[i] + ys[i]
                assert rows[0][i] == a and rows[1][i] == b, (warps, N, reverse, i)

@triton.jit
def pick(out, x, index, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    to = tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :]
    tl.store(out + to, tl.gather(tl.load(x + at), tl.load(index + to), 1))

@triton.jit
def pick_rows(out, x, index, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    to = tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + to, tl.gather((tl.load(x + at) > 0).to(tl.int8), tl.load(index + to), 0))

@triton.jit
def count(out, x, n, BINS: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.store(out + tl.arange(0, BINS), tl.histogram(v, BINS, mask=i < n))

for warps in (1, 4):
    for dtype in (torch.float32, torch.float16, torch.int64, torch.int8):
        for M, N, K in ((4, 16, 8), (1, 64, 32), (16, 2, 4)):
            x = torch.randint(-50, 50, (M, N), device="cuda").to(dtype)
            index = torch.randint(0, N, (M, K), device="cuda", dtype=torch.int32)
            out = torch.zeros(M, K, device="cuda", dtype=dtype)
            pick[(1,)](out, x, index, M=M, N=N, K=K, num_warps=warps)
            rows, which = x.tolist(), index.tolist()
            assert out.tolist() == [[rows[i][which[i][j]] for j in range(K)] for i in range(M)], (warps, dtype, M, N, K)
            index = torch.randint(0, M, (K, N), device="cuda", dtype=torch.int32)
            out = torch.zeros(K, N, device="cuda", dtype=torch.int8)
            pick_rows[(1,)](out, x, index, M=M, N=N, K=K, num_warps=warps)
            which = index.tolist()
            assert out.tolist() == [[int(rows[which[i][j]][j] > 0) for j in range(N)] for i in range(K)], (warps, dtype, M, N, K)
    for N, bins, n in ((16, 8, 16), (1024, 64, 1000), (64, 256, 60)):
        x = torch.randint(0, bins, (N,), device="cuda", dtype=torch.int32)
        out = torch.zeros(bins, device="cuda", dtype=torch.int32)
        count[(1,)](out, x, n, BINS=bins, N=N, num_warps=warps)
        assert out.tolist() == [x.tolist()[:n].count(i) for i in range(bins)], (warps, N, bins)
print("ok")

# expect:
# ok
