# trace: precision
# SPDX-License-Identifier: MIT
# Computes a long sum in bfloat16.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    s = tl.zeros((B,), dtype=tl.bfloat16)
    for k in range(0, n):
        s += tl.load(X + (r * n + k) * B + i)  # here
    tl.store(Y + r * B + i, s)


torch.manual_seed(0)
x = torch.rand((2, 8000, 16)).to(torch.bfloat16)
y = torch.empty((2, 16), dtype=torch.bfloat16)
kernel[(2,)](x, y, 8000, B=16)
