# In a two-dimensional tile, the row index times a large stride overflows int32.
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, stride, BLOCK: tl.constexpr):
    row = tl.arange(0, BLOCK)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    offsets = row * stride + column  # here
    x = tl.load(x_ptr + offsets, mask=offsets < 16)
    tl.store(x_ptr + row * 0 + column, x, mask=row < 1)


x = torch.ones(16, device='cuda')
k[(1,)](x, 1000000000, BLOCK=4)

# expect: exit 1
# int32-overflow-of-a-stride.py:11:19: error: a number does not fit int32 in program (0, 0, 0): 3 * 1000000000 became -1294967296, and element (3, 0) of the tile at line 12 should be index 3000000000 of 'x_ptr', which is float32[16] [address-overflow]
#    11 |     offsets = row * stride + column  # here
#       |                   ^
# int32-overflow-of-a-stride.py:17:1: note: launched here, which raises RuntimeError
