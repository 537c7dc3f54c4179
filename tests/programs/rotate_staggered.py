# runs: interpreter emulator cuda triton triton-interpret
# Tests two chained dots on warpgroups that start one after the other, in CTAs that compute many tiles. If a tile has one
# or no iteration, the first warpgroup may finish before the second starts; it must not let the second continue twice.
import torch
import triton
import triton.language as tl


@triton.jit
def chain(Q, K, V, O, N, stride, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    d = tl.arange(0, D)
    q = tl.load(Q + m[:, None] * stride + d[None, :])
    acc = tl.zeros([BM, D], tl.float32)
    for i in range(0, N, BN):
        k = tl.load(K + (i + n)[None, :] * stride + d[:, None])
        v = tl.load(V + (i + n)[:, None] * stride + d[None, :])
        acc = tl.dot(tl.maximum(tl.dot(q, k), 0.0).to(tl.float16), v, acc)
    tl.store(O + m[:, None] * stride + d[None, :], acc.to(tl.float16))


BM, BN, D = 128, 128, 128
q = torch.randint(-1, 2, (150 * BM, D), device='cuda').to(torch.float16)
k, v = (torch.randint(-1, 2, (256, D), device='cuda').to(torch.float16) for _ in range(2))
o = torch.empty_like(q)
for tiles, n in ((150, 128), (140, 0), (5, 256)):
    chain[(tiles,)](q, k, v, o, n, D, BM, BN, D, num_warps=8, num_stages=3)
    rows = slice(0, tiles * BM)
    p = torch.relu(torch.matmul(q[rows].to(torch.float32), k[:n].to(torch.float32).t()))
    assert torch.equal(o[rows], torch.matmul(p, v[:n].to(torch.float32)).to(torch.float16)), (tiles, n)
