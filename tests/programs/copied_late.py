# runs: interpreter emulator cuda triton
"""Tests attention with tiles of keys and values so large that rings would leave room for only one CTA. So the values, which the second
dot reads, are copied in the iteration that uses them. Also tests two loads whose dots follow the first dot."""
import torch
import triton
import triton.language as tl


@triton.jit
def decode(Q, K, V, O, PAGES, length, scale, BLOCK: tl.constexpr, D: tl.constexpr, TWO: tl.constexpr):
    rows = tl.arange(0, 16)
    d = tl.arange(0, D)
    q = tl.load(Q + rows[:, None] * D + d[None, :])
    m_i = tl.zeros([16], tl.float32) - float('inf')
    l_i = tl.zeros([16], tl.float32)
    acc = tl.zeros([16, D], tl.float32)
    more = tl.zeros([16, D], tl.float32)
    for start in range(0, length, BLOCK):
        n = start + tl.arange(0, BLOCK)
        token = tl.load(PAGES + n // 16, mask=n < length, other=0) * 16 + n % 16
        k = tl.load(K + token[None, :] * D + d[:, None], mask=n[None, :] < length, other=0.0)
        s = tl.where(n[None, :] < length, tl.dot(q, k) * scale, float('-inf'))
        m = tl.maximum(m_i, tl.max(s, 1))
        p = tl.math.exp2(s - m[:, None])
        alpha = tl.math.exp2(m_i - m)
        v = tl.load(V + token[:, None] * D + d[None, :], mask=n[:, None] < length, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        if TWO:
            w = tl.load(V + (token[:, None] + 512) * D + d[None, :], mask=n[:, None] < length, other=0.0)
            more = tl.dot(p.to(w.dtype), w, more * alpha[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        m_i = m
    tl.store(O + rows[:, None] * D + d[None, :], ((acc + more) / l_i[:, None]).to(O.dtype.element_ty))


torch.manual_seed(0)
for two, length, block, d in ((False, 300, 128, 128), (True, 512, 64, 128), (False, 16, 128, 128)):
    q, k, v = (torch.randn((n, d), device='cuda').to(torch.float16) for n in (16, 512, 1024))
    o, pages = torch.empty_like(q), torch.randperm(32, device='cuda').to(torch.int32)
    decode[(1,)](q, k, v, o, pages, length, 0.1, block, d, two, num_warps=4, num_stages=4)
    at = torch.arange(0, length, device='cuda')
    at = pages[at // 16] * 16 + at % 16
    p = torch.softmax(torch.matmul(q.float(), k[at].float().t()) * 0.06931471805599453, 1)
    values = v[at].float() + (v[at + 512].float() if two else 0.0)
    torch.testing.assert_close(o.float(), torch.matmul(p, values), atol=5e-3, rtol=5e-3)
print('right')
