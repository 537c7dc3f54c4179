# trace: both
# SPDX-License-Identifier: MIT
# Adds float16 numbers in float32.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    x = tl.load(X + r * n + i, mask=i < n, other=0.0)
    tl.store(Y + r, tl.sum(x.to(tl.float32), axis=0))


torch.manual_seed(0)
x = torch.rand((4, 200)).to(torch.float16)
y = torch.empty(4)
kernel[(4,)](x, y, 200, B=256)
