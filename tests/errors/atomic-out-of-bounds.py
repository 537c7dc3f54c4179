# A histogram has no element for the largest value, so an atomic is out of bounds.
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, counts_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.atomic_add(counts_ptr + x, 1)  # here


x = torch.arange(16, dtype=torch.int32, device='cuda')
counts = torch.zeros(15, dtype=torch.int32, device='cuda')
k[(1,)](x, counts, BLOCK=16)

# expect: exit 1
# atomic-out-of-bounds.py:10:5: error: access out of bounds in program (0, 0, 0): element 15 of the tile is index 15 of 'counts_ptr', which is int32[15]; 1 of the 16 elements accessed are outside [out-of-bounds]
#    10 |     tl.atomic_add(counts_ptr + x, 1)  # here
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# atomic-out-of-bounds.py:15:1: note: launched here, which raises RuntimeError
