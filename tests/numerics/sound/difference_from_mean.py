# trace: both
# SPDX-License-Identifier: MIT
# Some differences from the mean are small and have few exact bits, but their errors are small relative to the other differences.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    x = tl.load(X + r * n + i, mask=i < n, other=0.0)
    m = tl.sum(x, axis=0) / n
    tl.store(Y + r * n + i, x - m, mask=i < n)


torch.manual_seed(0)
x = torch.rand((4, 200))
y = torch.empty_like(x)
kernel[(4,)](x, y, 200, B=256)
