# trace: both
# SPDX-License-Identifier: MIT
# Multiplies float16 factors, and adds in float32.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(A, B, C, K, N: tl.constexpr):
    i = tl.arange(0, N)
    c = tl.zeros((N, N), dtype=tl.float32)
    for k in range(0, K, N):
        a = tl.load(A + i[:, None] * K + k + i[None, :])
        b = tl.load(B + (k + i[:, None]) * N + i[None, :])
        c = tl.dot(a, b, c)
    tl.store(C + i[:, None] * N + i[None, :], c.to(tl.float16))


torch.manual_seed(0)
a = torch.randn((32, 512)).to(torch.float16)
b = torch.randn((512, 32)).to(torch.float16)
c = torch.empty((32, 32), dtype=torch.float16)
kernel[(1,)](a, b, c, 512, N=32)
