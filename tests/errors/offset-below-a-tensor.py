# The kernel loads the left neighbour of the first element.
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    left = tl.load(x_ptr + offsets - 1, mask=offsets < n)  # here
    tl.store(y_ptr + offsets, left, mask=offsets < n)


x = torch.ones(16, device='cuda')
y = torch.ones(16, device='cuda')
k[(1,)](x, y, 16, BLOCK=16)

# expect: exit 1
# offset-below-a-tensor.py:10:12: error: access out of bounds in program (0, 0, 0): element 0 of the tile is index -1 of 'x_ptr', which is float32[16]; 1 of the 16 elements accessed are outside [out-of-bounds]
#    10 |     left = tl.load(x_ptr + offsets - 1, mask=offsets < n)  # here
#       |            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# offset-below-a-tensor.py:16:1: note: launched here, which raises RuntimeError
