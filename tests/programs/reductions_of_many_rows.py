# runs: interpreter emulator cuda triton triton-interpret
# Tests tiles of many short rows and columns, where several rows share the lanes of a warp: sums, maxima, indices of maxima with
# ties, pairs of values, results that are broadcast back to the tile; several types, rows per program and numbers of warps.
import torch
import triton
import triton.language as tl


@triton.jit
def join(a1, b1, a2, b2):
    return a1 + a2, tl.maximum(b1, b2)


@triton.jit
def rows(X, SUMS, MOST, AT, Y, n, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    c = tl.arange(0, N)
    at = r[:, None] * N + c[None, :]
    x = tl.load(X + tl.program_id(0) * M * N + at, mask=(c < n)[None, :], other=0)
    total = tl.sum(x, axis=AXIS)
    k = tl.arange(0, N if AXIS == 0 else M)
    out = tl.program_id(0) * (N if AXIS == 0 else M) + k
    tl.store(SUMS + out, total)
    tl.store(MOST + out, tl.max(x, axis=AXIS))
    tl.store(AT + out, tl.argmax(x, axis=AXIS))
    tl.store(Y + tl.program_id(0) * M * N + at, x - (total[None, :] if AXIS == 0 else total[:, None]))


@triton.jit
def pairs(X, SUMS, MOST, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    x = tl.load(X + r[:, None] * N + tl.arange(0, N)[None, :])
    s, m = tl.reduce((x, x * 2), 1, join)
    tl.store(SUMS + r, s)
    tl.store(MOST + r, m)


torch.manual_seed(1)
for dtype in (torch.float32, torch.int32, torch.float16):
    for m, n, warps in ((16, 32, 2), (64, 16, 4), (32, 64, 8), (32, 8, 1), (16, 128, 8), (8, 64, 4)):
        for axis in (0, 1):
            full = n - 3 if n > 8 else n
            x = torch.randint(-20, 20, (3, m, n), device="cuda").to(dtype)
            x[:, :, full:] = 0
            size = n if axis == 0 else m
            sums, most = torch.zeros(3, size, device="cuda", dtype=dtype), torch.zeros(3, size, device="cuda", dtype=dtype)
            at, y = torch.zeros(3, size, device="cuda", dtype=torch.int32), torch.zeros_like(x)
            rows[(3,)](x, sums, most, at, y, full, AXIS=axis, M=m, N=n, num_warps=warps)
            want = x.to(torch.float32).sum(1 + axis)
            assert torch.equal(sums.to(torch.float32), want)
            assert torch.equal(most, x.max(1 + axis).values)
            assert torch.equal(at.to(torch.int64), x.to(torch.float32).argmax(1 + axis))
            assert torch.equal(y.to(torch.float32), x.to(torch.float32) - (want[:, None, :] if axis == 0 else want[:, :, None]))

x = torch.randint(-20, 20, (64, 32), device="cuda").to(torch.float32)
sums, most = torch.zeros(64, device="cuda"), torch.zeros(64, device="cuda")
pairs[(1,)](x, sums, most, M=64, N=32, num_warps=1)
assert torch.equal(sums, x.sum(1)) and torch.equal(most, 2 * x.max(1).values)
print("ok")

# expect:
# ok
