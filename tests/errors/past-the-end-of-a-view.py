# The kernel reads one row beyond a transposed view, which is past the end of the storage: the report shows the index in the view.
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, rows, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for row in range(rows + 1):
        tl.store(y_ptr + row * BLOCK + i, tl.load(x_ptr + row + i * stride))  # here


x = torch.arange(16, dtype=torch.float32).view(4, 4)[2:].t()
k[(1,)](x, torch.zeros(6, 2), 4, x.stride(1), BLOCK=2)

# expect: exit 1
# past-the-end-of-a-view.py:11:43: error: access out of bounds in program (0, 0, 0): element 1 of the tile is index 8, [0, 2], of 'x_ptr', which is float32[4, 2], a view that begins at 8 of 16; 1 of the 2 elements accessed are outside [out-of-bounds]
#    11 |         tl.store(y_ptr + row * BLOCK + i, tl.load(x_ptr + row + i * stride))  # here
#       |                                           ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# past-the-end-of-a-view.py:15:1: note: launched here, which raises RuntimeError
