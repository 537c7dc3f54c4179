# The last block is only partly inside the tensor, but the store has no mask.
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, x)  # here


x = torch.ones(100, device='cuda')
y = torch.ones(100, device='cuda')
k[(4,)](x, y, 100, BLOCK=32)

# expect: exit 1
# store-without-mask.py:11:5: error: access out of bounds in program (3, 0, 0): element 4 of the tile is index 100 of 'y_ptr', which is float32[100], to store 0.000000; 28 of the 32 elements accessed are outside [out-of-bounds]
#    11 |     tl.store(y_ptr + offsets, x)  # here
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
# store-without-mask.py:16:1: note: launched here, which raises RuntimeError
