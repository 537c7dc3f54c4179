# trace: precision
# SPDX-License-Identifier: MIT
# E[x * x] - E[x] * E[x] cancels if the mean is large.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    x = tl.load(X + r * n + i, mask=i < n, other=0.0)
    m = tl.sum(x, axis=0) / n
    q = tl.sum(x * x, axis=0) / n
    v = q - m * m  # here
    tl.store(Y + r, v)


torch.manual_seed(0)
x = torch.randn((4, 200)) * 0.1 + 1000
y = torch.empty(4)
kernel[(4,)](x, y, 200, B=256)
