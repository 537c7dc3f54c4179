# The loop advances pointers, and the load of the last block has no mask.
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pointers = x_ptr + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in range(0, n, BLOCK):
        total += tl.load(pointers)  # here
        pointers += BLOCK
    tl.store(y_ptr, tl.sum(total))


x = torch.ones(100, device='cuda')
y = torch.ones(1, device='cuda')
k[(1,)](x, y, 100, BLOCK=32)

# expect: exit 1
# loop-runs-too-far.py:12:18: error: access out of bounds in program (0, 0, 0): element 4 of the tile is index 100 of 'x_ptr', which is float32[100]; 28 of the 32 elements accessed are outside [out-of-bounds]
#    12 |         total += tl.load(pointers)  # here
#       |                  ^~~~~~~~~~~~~~~~~
# loop-runs-too-far.py:19:1: note: launched here, which raises RuntimeError
