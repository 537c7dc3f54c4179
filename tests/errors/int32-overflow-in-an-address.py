# The offset of row 70000 (40000 columns) overflows int32. The mask compares only column indices, so it does not prevent the access.
import torch
import triton
import triton.language as tl


@triton.jit
def copy_row(x_ptr, row, columns, BLOCK: tl.constexpr):
    start = row * columns
    offsets = start + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < 100)
    tl.store(x_ptr + tl.arange(0, BLOCK), x)


x = torch.zeros(100, device='cuda')
copy_row[(1,)](x, 70000, 40000, BLOCK=16)

# expect: exit 1
# int32-overflow-in-an-address.py:9:17: error: a number does not fit int32 in program (0, 0, 0): 70000 * 40000 became -1494967296, and element 0 of the tile at line 11 should be index 2800000000 of 'x_ptr', which is float32[100] [address-overflow]
#     9 |     start = row * columns
#       |                 ^
# int32-overflow-in-an-address.py:16:1: note: launched here, which raises RuntimeError
