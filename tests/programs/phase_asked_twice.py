# runs: interpreter emulator cuda triton triton-interpret
# Tests an mbarrier for whose phase several warps wait: one thread releases a slot for four warps, so the next phase may have ended before
# a late warp tests it. The kernel is attention whose second dot overlaps arithmetic, over many iterations with a ring of two slots.
import torch
import triton
import triton.language as tl


@triton.jit
def attention(Q, K, V, O, n, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    r = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    c = tl.arange(0, N)
    q = tl.load(Q + r[:, None] * D + d[None, :])
    m = tl.full([M], -1e30, tl.float32)
    total = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    for i in range(0, n, N):
        s = tl.dot(q, tl.load(K + (i + c)[None, :] * D + d[:, None]))
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        a = tl.exp2(m - new)
        m = new
        total = total * a + tl.sum(p, 1)
        acc = tl.dot(p.to(V.dtype.element_ty), tl.load(V + (i + c)[:, None] * D + d[None, :]), acc * a[:, None])
    tl.store(O + r[:, None] * D + d[None, :], acc / total[:, None])


q, k, v = (torch.randn((size, 64), device='cuda', dtype=torch.float16) for size in (128, 512, 512))
o = torch.empty((128, 64), device='cuda')
attention[(2,)](q, k, v, o, 512, M=64, N=64, D=64, num_warps=4, num_stages=2)
s = torch.matmul(q.float(), k.float().T)
p = torch.exp2(s - s.max(dim=1, keepdim=True)[0])
torch.testing.assert_close(o, torch.matmul(p, v.float()) / p.sum(dim=1, keepdim=True), rtol=1e-2, atol=1e-2)
