# runs: interpreter emulator cuda triton triton-interpret
# Tests loops that compute an operand of a dot from vectors, which a producer then copies beside the tile of the dot's other operand: lengths
# that no block divides, vectors that are masked, or start at no multiple of 16 bytes, and a loop whose vectors and tiles are smaller.
import torch
import triton
import triton.language as tl


@triton.jit
def weigh(K, Q, Top, Weight, Out, n, D: tl.constexpr, BM: tl.constexpr, SMALL: tl.constexpr):
    """Stores the sum over the rows q of Q of weight(q) * 2^(K q - top(q)) * q. The last part of the rows comes in blocks of SMALL."""
    rows = tl.arange(0, 64)
    d = tl.arange(0, D)
    k = tl.load(K + rows[:, None] * D + d[None, :])
    total = tl.zeros([64, D], tl.float32)
    whole = n // BM * BM
    for start in range(0, whole, BM):
        m = start + tl.arange(0, BM)
        q = tl.load(Q + m[:, None] * D + d[None, :])
        p = tl.math.exp2(tl.dot(k, tl.trans(q)) - tl.load(Top + m)[None, :]) * tl.load(Weight + m)[None, :]
        total += tl.dot(p.to(tl.float16), q)
    for start in range(whole, n, SMALL):
        m = start + tl.arange(0, SMALL)
        q = tl.load(Q + m[:, None] * D + d[None, :], mask=m[:, None] < n, other=0.0)
        top = tl.load(Top + m, mask=m < n, other=0.0)
        p = tl.math.exp2(tl.dot(k, tl.trans(q)) - top[None, :]) * tl.load(Weight + m, mask=m < n, other=0.0)[None, :]
        total += tl.dot(p.to(tl.float16), q)
    tl.store(Out + rows[:, None] * D + d[None, :], total)


def check(n, D, BM, SMALL, skip, **options):
    torch.manual_seed(n)
    k = (torch.randn((64, D), device='cuda') / 8).to(torch.float16)
    q = torch.randn((n, D), device='cuda').to(torch.float16)
    top = torch.rand((n + skip,), device='cuda')[skip:]
    weight = torch.rand((n,), device='cuda')
    out = torch.empty((64, D), device='cuda')
    weigh[(1,)](k, q, top, weight, out, n, D=D, BM=BM, SMALL=SMALL, **options)
    p = torch.exp2(torch.matmul(k.float(), q.float().t()) - top[None, :]) * weight[None, :]
    expected = torch.matmul(p, q.float())
    far = float(torch.max(torch.abs(out - expected)) / torch.max(torch.abs(expected)))
    assert far < 2e-3, (n, D, BM, SMALL, skip, far)


for n in 64, 256, 419:
    for skip in 0, 1:
        check(n, 64, 64, 32, skip, num_stages=3)
check(341, 128, 64, 64, 0, num_stages=2)
check(341, 64, 128, 32, 4, num_warps=4, num_stages=2)
check(641, 128, 32, 32, 0, num_warps=8, num_stages=4)
