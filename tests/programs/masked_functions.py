# runs: interpreter emulator cuda triton triton-interpret
# Masked-off elements have no value, so a function that contains a branch must not be applied to them.
import torch
import triton
import triton.language as tl


@triton.jit
def scale(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n)
    tl.store(Y + i, tl.sin(x) + x % 3.0, mask=i < n)


x = torch.rand(1000, device='cuda')
y = torch.empty_like(x)
scale[(4,)](x, y, 1000, BLOCK=256)
assert torch.allclose(y, torch.sin(x) + x, atol=1e-5)
