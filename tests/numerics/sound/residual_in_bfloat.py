# trace: both
# SPDX-License-Identifier: MIT
# Adds once and rounds once in bfloat16.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    x = tl.load(X + r * n + i, mask=i < n, other=0.0)
    tl.store(Y + r * n + i, (x.to(tl.float32) * 1.5 + 0.25).to(tl.bfloat16), mask=i < n)


torch.manual_seed(0)
x = torch.randn((4, 200)).to(torch.bfloat16)
y = torch.empty_like(x)
kernel[(4,)](x, y, 200, B=256)
