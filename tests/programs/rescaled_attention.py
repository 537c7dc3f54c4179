# runs: interpreter emulator cuda triton triton-interpret
# Attention whose maxima change in every block, in no block after the first, in some rows of a warp only, or first when a mask ends. A
# warp may skip the rescaling of its accumulator only if no maximum of its rows has changed. The scores come from memory, so that each case
# is exact: all exponentials are powers of two.
import torch
import triton
import triton.language as tl


@triton.jit
def attend(Q, K, V, O, N, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    d = tl.arange(0, D)
    q = tl.load(Q + rows[:, None] * D + d[None, :])
    m = tl.zeros([BM], tl.float32) - float('inf')
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for n in range(0, N, BN):
        k = tl.load(K + (n + cols)[None, :] * D + d[:, None])
        s = tl.dot(q, k)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(m - new)
        acc = acc * alpha[:, None]
        v = tl.load(V + (n + cols)[:, None] * D + d[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc)
        l = l * alpha + tl.sum(p, 1)
        m = new
    tl.store(O + rows[:, None] * D + d[None, :], acc)
    tl.store(O + N * D + rows, l)


def check(name, factor, level, d):
    """The score of row i and column j is factor[i] * level[j]."""
    n = level.shape[0]
    q, k = (torch.zeros((n, d), device='cuda', dtype=torch.float16) for _ in range(2))
    q[:, 0], k[:, 0] = factor, level
    v = torch.randint(-2, 3, (n, d), device='cuda').to(torch.float16)
    o = torch.zeros((n * d + n,), device='cuda')
    attend[(n // 128,)](q, k, v, o, n, 128, 128, d, num_warps=8, num_stages=2)
    scores = factor.float()[:, None] * level.float()[None, :]
    p = torch.exp2(scores - torch.max(scores, 1).values[:, None])
    assert torch.equal(o[n * d:], torch.sum(p, 1)), (name, d, "sums")
    assert torch.equal(o[:n * d].reshape(n, d), torch.matmul(p, v.float())), (name, d, "products")


torch.manual_seed(0)
n = 512
block = torch.arange(0, n, device='cuda') // 128
row = torch.arange(0, n, device='cuda')
ones = torch.ones((n,), device='cuda')
check("a new maximum in each block", ones, block, 64)
check("no new maximum", ones, 3 - block, 64)
check("equal maxima", ones, 0 * block, 64)
check("a new maximum in one row of a warp", torch.where(row % 16 == 5, 1, -1), block, 64)
check("a new maximum in one warp", torch.where(row // 16 % 8 == 3, 1, -1), block, 64)
check("a new maximum in the last block", ones, torch.where(block == 3, 4, 0), 64)
check("a new maximum in one row of a warp", torch.where(row % 16 == 5, 1, -1), block, 128)
check("a new maximum every other block", ones, torch.where(block % 2 == 1, block, 0), 128)
