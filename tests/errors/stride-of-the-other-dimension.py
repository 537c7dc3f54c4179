# The kernel multiplies the row index by rows times columns instead of by columns.
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, m, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * m * n + columns, mask=columns < n)  # here
    tl.store(x_ptr + row * n + columns, x, mask=columns < n)


x = torch.ones((3, 5), device='cuda')
k[(3,)](x, 3, 5, BLOCK=8)

# expect: exit 1
# stride-of-the-other-dimension.py:11:9: error: access out of bounds in program (1, 0, 0): element 0 of the tile is index 15, [3, 0], of 'x_ptr', which is float32[3, 5]; 5 of the 5 elements accessed are outside [out-of-bounds]
#    11 |     x = tl.load(x_ptr + row * m * n + columns, mask=columns < n)  # here
#       |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# stride-of-the-other-dimension.py:16:1: note: launched here, which raises RuntimeError
