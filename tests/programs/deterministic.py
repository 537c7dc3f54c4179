# runs: emulator cuda (not triton: it has no launch option deterministic; not interpreter: it adds all products of a dot at once)
# spills: tiles of 128 x 64 for one warp, and five sums of rows of 1024 elements for two
# Equal rows must give results with equal bits for every batch, tile size, number of warps and stages, and alignment,
# in reductions, scans, dots and attention. The argument is the number of random combinations that each check uses.
import sys

import torch
import triton
import triton.language as tl

device = 'cuda'


@triton.jit
def welford(mean_a, square_a, count_a, mean_b, square_b, count_b):
    delta = mean_b - mean_a
    count = count_a + count_b
    share = tl.where(count == 0, 0.0, count_b / count)
    return mean_a + delta * share, square_a + square_b + delta * delta * count_a * share, count


@triton.jit
def affine(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@triton.jit
def rows(x, out, n, m, stride, ROWS: tl.constexpr, N: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    i = tl.arange(0, N)
    mask = (r < m)[:, None] & (i < n)[None, :]
    v = tl.load(x + r[:, None] * stride + i[None, :], mask=mask, other=0.0)
    total = tl.sum(v, 1)
    squares = tl.sum(v * v, 1)
    mean, square, count = tl.reduce((v, tl.zeros_like(v), mask.to(tl.float32)), 1, welford)
    _, state = tl.associative_scan((v, v * 0.5), 1, affine)
    running = tl.cumsum(v, 1)
    back = tl.cumsum(v, 1, reverse=True)
    last = tl.sum(tl.where(i[None, :] == n // 2, running + back + state, 0.0), 1)
    tl.store(out + r * 4, total, mask=r < m)
    tl.store(out + r * 4 + 1, squares, mask=r < m)
    tl.store(out + r * 4 + 2, mean + square + count, mask=r < m)
    tl.store(out + r * 4 + 3, last, mask=r < m)


@triton.jit
def product(a, b, c, m, n, k, lda, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    r = tl.program_id(0) * M + tl.arange(0, M)
    s = tl.program_id(1) * N + tl.arange(0, N)
    i = tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        x = tl.load(a + r[:, None] * lda + (start + i)[None, :], mask=(r < m)[:, None] & (start + i < k)[None, :], other=0.0)
        y = tl.load(b + (start + i)[:, None] * n + s[None, :], mask=(start + i < k)[:, None] & (s < n)[None, :], other=0.0)
        acc += tl.dot(x, y)
    tl.store(c + r[:, None] * n + s[None, :], acc * 1.5 + 0.25, mask=(r < m)[:, None] & (s < n)[None, :])


@triton.jit
def attention(q, k, v, out, length, queries, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    r = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    x = tl.load(q + r[:, None] * D + d[None, :], mask=(r < queries)[:, None], other=0.0)
    most = tl.full((M,), -float('inf'), tl.float32)
    total = tl.zeros((M,), tl.float32)
    acc = tl.zeros((M, D), tl.float32)
    for start in range(0, length, N):
        i = start + tl.arange(0, N)
        y = tl.load(k + i[None, :] * D + d[:, None], mask=(i < length)[None, :], other=0.0)
        score = tl.where((i < length)[None, :], tl.dot(x, y) * scale, -float('inf'))
        new = tl.maximum(most, tl.max(score, 1))
        p = tl.exp2(score - new[:, None])
        shrink = tl.exp2(most - new)
        total = total * shrink + tl.sum(p, 1)
        z = tl.load(v + i[:, None] * D + d[None, :], mask=(i < length)[:, None], other=0.0)
        acc = tl.dot(p.to(tl.float16), z, acc * shrink[:, None])
        most = new
    tl.store(out + r[:, None] * D + d[None, :], acc / total[:, None], mask=(r < queries)[:, None])


def number(least, most):
    return int(torch.randint(least, most + 1, (1,)).item())


def draw(*choices):
    return [x[number(0, len(x) - 1)] for x in choices]


def check_rows(n, mixes):
    x = torch.randn(11, n, device=device)
    want = None
    for mix in range(mixes):
        tile, warps, pad = draw((1, 2), (2, 4, 8), (0, 3, 4)) if mix else (1, 4, 0)
        m = number(1, 11) if mix else 11
        data = torch.zeros(m, n + pad, device=device)
        data[:, :n] = x[:m]
        out = torch.zeros(m, 4, device=device)
        rows[(triton.cdiv(m, tile),)](data, out, n, m, n + pad, ROWS=tile, N=triton.next_power_of_2(n), num_warps=warps, deterministic=True)
        want = out if want is None else want
        assert torch.equal(out, want[:m]), f'{n}: {m} rows in tiles of {tile}, {warps} warps, {pad} elements between rows'
    exact = x.double()
    mean = exact.mean(1)
    assert torch.allclose(want[:, 0].double(), exact.sum(1), atol=1e-3)
    assert torch.allclose(want[:, 2].double(), mean + ((exact - mean[:, None])**2).sum(1) + n, rtol=1e-4)


def check_product(dtype, k, mixes):
    n = 96
    a = torch.randn(70, k, device=device).to(dtype)
    b = torch.randn(k, n, device=device).to(dtype)
    want = None
    for mix in range(mixes):
        M, N, K, warps, stages, pad = draw((16, 32, 64, 128), (16, 32, 64), (32, 64), (1, 2, 4, 8), (1, 2, 3, 4), (0, 3, 16)) if mix else (
            64, 32, 32, 4, 3, 0)
        m = number(1, 70) if mix else 70
        data = torch.zeros(m, k + pad, device=device).to(dtype)
        data[:, :k] = a[:m]
        c = torch.zeros(m, n, device=device)
        product[(triton.cdiv(m, M), triton.cdiv(n, N))](data, b, c, m, n, k, k + pad, M=M, N=N, K=K, num_warps=warps, num_stages=stages,
                                                        deterministic=True)
        want = c if want is None else want
        assert torch.equal(c, want[:m]), f'{dtype} {k}: {m} rows in tiles of {M} x {N} x {K}, {warps} warps, {stages} stages'
    assert torch.allclose(want, (a.float() @ b.float()) * 1.5 + 0.25, rtol=1e-2, atol=1e-1)


def check_attention(length, mixes):
    q, k, v = (torch.randn(n, 64, device=device).to(torch.float16) for n in (70, length, length))
    want = None
    for mix in range(mixes):
        M, warps, stages = draw((16, 32, 64, 128), (1, 2, 4, 8), (1, 2, 3)) if mix else (64, 4, 3)
        m = number(1, 70) if mix else 70
        out = torch.zeros(m, 64, device=device)
        attention[(triton.cdiv(m, M),)](q, k, v, out, length, m, 0.18, M=M, N=64, D=64, num_warps=warps, num_stages=stages,
                                        deterministic=True)
        want = out if want is None else want
        assert torch.equal(out, want[:m]), f'{length}: {m} queries in tiles of {M}, {warps} warps, {stages} stages'
    weights = torch.softmax((q.float() @ k.float().T) * 0.18 * 0.6931471805599453, -1)
    assert torch.allclose(want, weights @ v.float(), atol=2e-2)


mixes = int(sys.argv[1]) if len(sys.argv) > 1 else 5
torch.manual_seed(0)
for n in (5, 200, 1024):
    check_rows(n, mixes)
for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float8_e4m3fn):
    check_product(dtype, 160, mixes)
check_attention(150, mixes)
