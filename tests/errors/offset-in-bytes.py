# The kernel multiplies the offset by the element size, although pointer arithmetic already does this.
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets * 4, mask=offsets < n)  # here
    tl.store(x_ptr + offsets, x, mask=offsets < n)


x = torch.ones(64, device='cuda')
k[(1,)](x, 64, BLOCK=64)

# expect: exit 1
# offset-in-bytes.py:10:9: error: access out of bounds in program (0, 0, 0): element 16 of the tile is index 64 of 'x_ptr', which is float32[64]; 48 of the 64 elements accessed are outside [out-of-bounds]
#    10 |     x = tl.load(x_ptr + offsets * 4, mask=offsets < n)  # here
#       |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# offset-in-bytes.py:15:1: note: launched here, which raises RuntimeError
