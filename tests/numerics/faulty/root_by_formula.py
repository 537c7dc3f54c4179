# trace: precision
# SPDX-License-Identifier: MIT
# The formula for the smaller root of a quadratic equation cancels.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    x = tl.load(X + r * n + i, mask=i < n, other=1.0)
    d = tl.sqrt(x * x - 4.0)
    y = (x - d) * 0.5  # here
    tl.store(Y + r * n + i, y, mask=i < n)


torch.manual_seed(0)
x = torch.rand((4, 200)) * 1000 + 5000
y = torch.empty_like(x)
kernel[(4,)](x, y, 200, B=256)
