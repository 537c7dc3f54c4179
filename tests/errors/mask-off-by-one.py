# The mask is true for one element too many.
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets <= n)  # here
    tl.store(x_ptr + offsets, x + 1, mask=offsets < n)


x = torch.ones(100, device='cuda')
k[(1,)](x, 100, BLOCK=128)

# expect: exit 1
# mask-off-by-one.py:10:9: error: access out of bounds in program (0, 0, 0): element 100 of the tile is index 100 of 'x_ptr', which is float32[100]; 1 of the 101 elements accessed are outside [out-of-bounds]
#    10 |     x = tl.load(x_ptr + offsets, mask=offsets <= n)  # here
#       |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# mask-off-by-one.py:15:1: note: launched here, which raises RuntimeError
