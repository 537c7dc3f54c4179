# runs: interpreter emulator cuda (not triton: it has no launch option fp_reassoc)
# spills: with fp_reassoc and D = 128, ptxas keeps two scalars of the loop over programs in memory
# Attention with tiles of 128 x 128 in eight warps, whose dots overlap from one iteration to the next. The operand of a dot in flight is in
# registers. With fp_reassoc, a branch computes this operand: with D = 64 the loop runs two iterations in one, with D = 128 it converts late.
import torch
import triton
import triton.language as tl


@triton.jit
def attend(Q, K, V, O, N, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
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
        new = tl.maximum(m, tl.max(s, 1) * scale)
        p = tl.math.exp2(s * scale - new[:, None])
        alpha = tl.math.exp2(m - new)
        acc = acc * alpha[:, None]
        v = tl.load(V + (n + cols)[:, None] * D + d[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc)
        l = l * alpha + tl.sum(p, 1)
        m = new
    tl.store(O + rows[:, None] * D + d[None, :], (acc / l[:, None]).to(tl.float16))


def check(n, d, fp_reassoc):
    q, k, v = (torch.randn((n, d), device='cuda').to(torch.float16) for _ in range(3))
    o = torch.zeros_like(q)
    attend[(n // 128,)](q, k, v, o, n, 1.4426950408889634 / d ** 0.5, 128, 128, d, num_warps=8, num_stages=2, fp_reassoc=fp_reassoc)
    weights = torch.softmax(torch.matmul(q.float(), k.float().t()) / d ** 0.5, 1)
    expected = torch.matmul(weights, v.float())
    far = ((o.float() - expected).abs().max() / expected.abs().max()).item()
    assert far < 5e-3, (n, d, fp_reassoc, far)


torch.manual_seed(0)
for n in 128, 256, 384, 512:
    for d in 64, 128:
        for fp_reassoc in False, True:
            check(n, d, fp_reassoc)
