# runs: interpreter emulator cuda triton triton-interpret
# tl.abs of 8-bit floats clears the sign of every bit pattern, including NaNs.
import torch
import triton
import triton.language as tl


@triton.jit
def absolute(X, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.abs(tl.load(X + i)))


for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
    bits = torch.arange(256, device='cuda').to(torch.uint8)
    Y = torch.zeros(256, device='cuda', dtype=torch.uint8)
    absolute[(1,)](bits.view(dtype), Y.view(dtype), 256)
    assert Y.tolist() == [i & 127 for i in range(256)]
