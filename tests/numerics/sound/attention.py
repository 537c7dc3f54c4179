# trace: both
# SPDX-License-Identifier: MIT
# Computes causal attention in one pass, with -inf for masked scores and probabilities in float16.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(Q, K, V, O, T, D: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    q = tl.load(Q + i[:, None] * D + d[None, :])
    m = tl.full((B,), -float('inf'), dtype=tl.float32)
    l = tl.zeros((B,), dtype=tl.float32)
    acc = tl.zeros((B, D), dtype=tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * B, B):
        j = start + tl.arange(0, B)
        k = tl.load(K + j[:, None] * D + d[None, :])
        v = tl.load(V + j[:, None] * D + d[None, :])
        s = tl.where(i[:, None] >= j[None, :], tl.dot(q, tl.trans(k)) * 0.25, -float('inf'))
        to = tl.maximum(m, tl.max(s, axis=1))
        p = tl.exp(s - to[:, None])
        scale = tl.exp(m - to)
        l = l * scale + tl.sum(p, axis=1)
        acc = tl.dot(p.to(tl.float16), v, acc * scale[:, None])
        m = to
    tl.store(O + i[:, None] * D + d[None, :], acc / l[:, None])


torch.manual_seed(0)
q = torch.randn((64, 16)).to(torch.float16)
k = torch.randn((64, 16)).to(torch.float16)
v = torch.randn((64, 16)).to(torch.float16)
o = torch.empty((64, 16))
kernel[(4,)](q, k, v, o, 64, D=16, B=16)
