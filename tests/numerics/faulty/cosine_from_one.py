# trace: precision
# SPDX-License-Identifier: MIT
# 1 - cos(x) cancels for small x.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    x = tl.load(X + r * n + i, mask=i < n, other=0.0)
    c = tl.cos(x)
    d = 1.0 - c  # here
    tl.store(Y + r * n + i, d, mask=i < n)


torch.manual_seed(0)
x = torch.rand((4, 200)) * 1e-3
y = torch.empty_like(x)
kernel[(4,)](x, y, 200, B=256)
