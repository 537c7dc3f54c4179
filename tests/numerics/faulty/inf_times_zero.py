# trace: nan
# SPDX-License-Identifier: MIT
# Multiplies a masked score, -inf, by 0 instead of replacing it.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    x = tl.load(X + r * n + i, mask=i < n, other=0.0)
    s = tl.where(x > 0, x, -float('inf'))
    keep = (x > 0).to(tl.float32)
    p = s * keep  # here
    tl.store(Y + r * n + i, p, mask=i < n)


torch.manual_seed(0)
x = torch.randn((4, 200))
y = torch.empty_like(x)
kernel[(4,)](x, y, 200, B=256)
