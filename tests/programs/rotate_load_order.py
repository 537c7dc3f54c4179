# runs: interpreter emulator cuda triton triton-interpret
# In a loop with two chained dots, the second dot's operand is loaded before the first dot's operand. With one slot per ring,
# the next operand of the first dot could not be loaded while the second dot used its slot, and the kernel deadlocked.
import torch
import triton
import triton.language as tl


@triton.jit
def chain(Q, K, V, O, N, stride, V_FIRST: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    d = tl.arange(0, D)
    q = tl.load(Q + m[:, None] * stride + d[None, :])
    acc = tl.zeros([BM, D], tl.float32)
    for i in range(0, N, BN):
        if V_FIRST:
            v = tl.load(V + (i + n)[:, None] * stride + d[None, :])
            k = tl.load(K + (i + n)[None, :] * stride + d[:, None])
        else:
            k = tl.load(K + (i + n)[None, :] * stride + d[:, None])
            v = tl.load(V + (i + n)[:, None] * stride + d[None, :])
        p = tl.maximum(tl.dot(q, k), 0.0).to(tl.float16)
        acc = tl.dot(p, v, acc)
    tl.store(O + m[:, None] * stride + d[None, :], acc)


D = 64
for v_first in (False, True):
    for stages in (1, 2, 3):
        for bm, warps in ((64, 4), (128, 8)):
            q, k, v = (torch.randint(-2, 3, (256, D), device='cuda').to(torch.float16) for _ in range(3))
            o = torch.empty((256, D), device='cuda')
            for n in (64, 256):
                chain[(256 // bm,)](q, k, v, o, n, D, v_first, bm, 64, D, num_warps=warps, num_stages=stages)
                p = torch.relu(torch.matmul(q.to(torch.float32), k[:n].to(torch.float32).t()))
                assert torch.equal(o, torch.matmul(p, v[:n].to(torch.float32))), (v_first, stages, bm, n)
