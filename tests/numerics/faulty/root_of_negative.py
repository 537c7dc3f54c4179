# trace: nan
# SPDX-License-Identifier: MIT
# Takes the root of a variance that rounding has made negative.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    x = tl.load(X + r * n + i, mask=i < n, other=0.0)
    m = tl.sum(x, axis=0) / n
    v = tl.sum(x * x, axis=0) / n - m * m
    d = tl.sqrt(v - 1e-3)  # here
    tl.store(Y + r, d)


torch.manual_seed(0)
x = torch.full((4, 200), 3.0)
y = torch.empty(4)
kernel[(4,)](x, y, 200, B=256)
