# runs: interpreter emulator cuda triton
# A loop loads a tile once, and uses it as operand A of a dot, as B of another, transposed as A and
# B of others, and in registers: in a reduction, and in arithmetic whose result is an operand too.
# spills: four sums of 64 x 64 with 4 warps, and a product that is scaled first, need more than 255 registers
import torch
import triton
import triton.language as tl


@triton.jit
def readers(X, Y, R, S, A, B, C, D, E, n, N: tl.constexpr, KIND: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    a = tl.zeros((N, N), tl.float32)
    b = tl.zeros((N, N), tl.float32)
    c = tl.zeros((N, N), tl.float32)
    d = tl.zeros((N, N), tl.float32)
    e = tl.zeros((N, N), tl.float32)
    sums = tl.zeros((N,), tl.float32)
    y = tl.load(Y + at)
    for k in range(n):
        x = tl.load(X + k * N * N + at)
        scale = tl.load(S + k)
        a += tl.dot(x, y) * scale
        b = tl.dot(y, x, b)
        if KIND == 0:
            c = tl.dot(tl.trans(x), y, c)
            d = tl.dot(y, tl.trans(x), d)
            sums += tl.sum(x.to(tl.float32), axis=1)
        else:
            c = tl.dot(x, tl.trans(x), c)
            e = tl.dot((x * 2).to(x.dtype), y, e)
            sums += tl.sum(x.to(tl.float32), axis=0)
    tl.store(A + at, a)
    tl.store(B + at, b)
    tl.store(C + at, c)
    tl.store(D + at, d)
    tl.store(E + at, e)
    tl.store(R + i, sums)


def check(kind, N, warps, stages, n=5):
    x = torch.randn((n, N, N), device='cuda', dtype=torch.float32).to(torch.float16)
    y = torch.randn((N, N), device='cuda', dtype=torch.float32).to(torch.float16)
    s = torch.randn((n,), device='cuda', dtype=torch.float32)
    a, b, c, d, e = (torch.zeros((N, N), device='cuda', dtype=torch.float32) for _ in range(5))
    r = torch.zeros((N,), device='cuda', dtype=torch.float32)
    readers[(1,)](x, y, r, s, a, b, c, d, e, n, N=N, KIND=kind, num_warps=warps, num_stages=stages)
    want = [torch.zeros((N, N), device='cuda', dtype=torch.float32) for _ in range(5)]
    for k in range(n):
        f, g = x[k].float(), y.float()
        want[0] += torch.matmul(f, g) * s[k]
        want[1] += torch.matmul(g, f)
        want[2] += torch.matmul(f.t(), g) if kind == 0 else torch.matmul(f, f.t())
        want[3] += torch.matmul(g, f.t()) if kind == 0 else 0 * f
        want[4] += torch.matmul(f * 2, g) if kind == 1 else 0 * f
    rows = torch.sum(torch.sum(x.float(), 0), 1 if kind == 0 else 0)
    for found, expected in zip((a, b, c, d, e, r), (*want, rows)):
        assert float(torch.max(torch.abs(found - expected))) < 0.02, (kind, N, warps, stages)


torch.manual_seed(0)
for kind in 0, 1:
    check(kind, 64, 4, 3)
    check(kind, 64, 8, 2)
    check(kind, 32, 4, 3)
