# trace: precision
# SPDX-License-Identifier: MIT
# Adds a large offset and subtracts it again.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    x = tl.load(X + r * n + i, mask=i < n, other=0.0)
    s = x + 1e8
    d = s - 1e8  # here
    tl.store(Y + r * n + i, d, mask=i < n)


torch.manual_seed(0)
x = torch.rand((4, 200))
y = torch.empty_like(x)
kernel[(4,)](x, y, 200, B=256)
