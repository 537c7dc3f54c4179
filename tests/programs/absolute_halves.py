# runs: interpreter emulator cuda triton triton-interpret
# Tests the absolute values of two floats that are rounded to 16 bits together. The result is wrong if the PTX clears
# the signs with and.b16: ptxas 13.0 then packs the two roundings into one word and omits the mask of the lower half.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    y = Y + i
    tl.store(y, tl.abs(tl.load(X + i).to(Y.dtype.element_ty)))


x = torch.tensor([i / 4 - 32 for i in range(256)], dtype=torch.float32, device="cuda")
for dtype in (torch.float16, torch.bfloat16):
    y = torch.empty(256, dtype=dtype, device="cuda")
    kernel[(1,)](x, y, N=256, num_warps=1)
    assert y.tolist() == [abs(a) for a in x.tolist()]
