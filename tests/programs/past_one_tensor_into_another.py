# runs: interpreter
# An offset from x that points into y is out of the bounds of x.
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, distance):
    tl.store(x_ptr + distance, 1.0)


x = torch.ones(64, device='cuda')
y = torch.ones(64, device='cuda')
k[(1,)](x, y, (y.data_ptr() - x.data_ptr()) // 4)

# expect: exit 1
