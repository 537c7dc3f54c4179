# trace: nan
# SPDX-License-Identifier: MIT
# Elements beyond the row are loaded as 0, and the sum includes their logarithms.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    x = tl.load(X + r * n + i, mask=i < n, other=0.0)
    y = tl.log(x)  # here
    tl.store(Y + r, tl.sum(y, axis=0))


torch.manual_seed(0)
x = torch.rand((4, 200)) + 0.5
y = torch.empty(4)
kernel[(4,)](x, y, 200, B=256)
