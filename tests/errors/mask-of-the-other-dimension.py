# The mask compares row indices with the number of columns.
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, m, n, BLOCK: tl.constexpr):
    row = tl.arange(0, BLOCK)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    mask = (row < n) & (column < n)
    x = tl.load(x_ptr + row * n + column, mask=mask)  # here
    tl.store(x_ptr + row * n + column, x * 2, mask=(row < m) & (column < n))


x = torch.ones((3, 5), device='cuda')
k[(1,)](x, 3, 5, BLOCK=8)

# expect: exit 1
# mask-of-the-other-dimension.py:12:9: error: access out of bounds in program (0, 0, 0): element (3, 0) of the tile is index 15, [3, 0], of 'x_ptr', which is float32[3, 5]; 10 of the 25 elements accessed are outside [out-of-bounds]
#    12 |     x = tl.load(x_ptr + row * n + column, mask=mask)  # here
#       |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# mask-of-the-other-dimension.py:17:1: note: launched here, which raises RuntimeError
