# runs: interpreter emulator cuda triton triton-interpret
# Tests attention through plain pointers with few warps: loops of two dots whose buffers leave room for a second CTA on the
# SM, one warpgroup with the rows of several wgmma, two warpgroups, several programs in a CTA, and a loop without iterations.
import torch
import triton
import triton.language as tl


@triton.jit
def attn(Q, K, V, O, sm_scale, stride_h, stride_m, N, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
         D: tl.constexpr):
    start = tl.program_id(0)
    off = tl.program_id(1).to(tl.int64) * stride_h
    offs_m = start * BM + tl.arange(0, BM)
    offs_n = tl.arange(0, BN)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + off + offs_m[:, None] * stride_m + offs_d[None, :])
    m_i = tl.zeros([BM], tl.float32) - float('inf')
    l_i = tl.zeros([BM], tl.float32) + 1.0
    acc = tl.zeros([BM, D], tl.float32)
    scale = sm_scale * 1.44269504
    hi = (start + 1) * BM if CAUSAL else N
    for n in range(0, hi, BN):
        k = tl.load(K + off + (n + offs_n)[None, :] * stride_m + offs_d[:, None])
        qk = tl.dot(q, k) * scale
        if CAUSAL:
            qk = tl.where(offs_m[:, None] >= (n + offs_n)[None, :], qk, -1.0e6)
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(V + off + (n + offs_n)[:, None] * stride_m + offs_d[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc)
        m_i = m_ij
    acc = acc / l_i[:, None]
    tl.store(O + off + offs_m[:, None] * stride_m + offs_d[None, :], acc.to(tl.float16))


# In the kernel, l_i starts at 1 and m_i at -inf, so the first block multiplies this 1 by 0. Without a block (keys = 0), the result is 0 / 1.
def check(heads, rows, keys, causal, BM, BN, D, warps, stages):
    torch.manual_seed(rows + keys + D)
    q, k, v = (torch.randn(heads, rows, D, device='cuda', dtype=torch.float16) for _ in range(3))
    o = torch.full((heads, rows, D), float('nan'), device='cuda', dtype=torch.float16)
    attn[(rows // BM, heads)](q, k, v, o, 0.125, rows * D, D, keys, causal, BM, BN, D, num_warps=warps, num_stages=stages)
    s = torch.matmul(q.to(torch.float32), k.to(torch.float32).transpose(1, 2)) * 0.125
    columns = torch.arange(rows, device='cuda')
    seen = (columns[None, :] <= columns[:, None]) if causal else (columns[None, :] < keys) & (columns[:, None] >= 0)
    s = torch.where(seen[None, :, :], s, float('-inf'))
    want = torch.matmul(torch.softmax(s, 2), v.to(torch.float32)) if keys else torch.zeros_like(v).to(torch.float32)
    torch.testing.assert_close(o.to(torch.float32), want, rtol=2e-2, atol=2e-2)


check(4, 128, 128, False, 64, 64, 128, 4, 3)
check(3, 128, 128, True, 64, 64, 128, 4, 3)
check(2, 256, 256, False, 128, 64, 64, 4, 3)
check(2, 256, 256, True, 128, 64, 64, 4, 3)
check(2, 256, 192, False, 128, 64, 64, 8, 3)
check(2, 256, 256, True, 128, 64, 128, 8, 3)
check(2, 128, 128, False, 128, 64, 128, 4, 2)
check(2, 128, 64, False, 128, 64, 64, 8, 2)
check(2, 128, 0, False, 128, 64, 64, 8, 2)

# If one CTA uses all registers of an SM, the first dot of an iteration starts one iteration early. Tests 0 to 3 iterations.
for keys in (0, 128, 256, 384):
    check(1, 384, keys, False, 128, 128, 128, 8, 2)
check(1, 256, 256, True, 128, 128, 64, 8, 3)
check(1, 192, 192, True, 64, 64, 64, 4, 3)
