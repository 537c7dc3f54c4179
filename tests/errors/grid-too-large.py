# The grid has one program too many for the output tensor.
import torch
import triton
import triton.language as tl


@triton.jit
def k(out_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid * BLOCK + tl.arange(0, BLOCK), pid)  # here


out = torch.zeros(64, dtype=torch.int32, device='cuda')
k[(5,)](out, BLOCK=16)

# expect: exit 1
# grid-too-large.py:10:5: error: access out of bounds in program (4, 0, 0): element 0 of the tile is index 64 of 'out_ptr', which is int32[64], to store 4; 16 of the 16 elements accessed are outside [out-of-bounds]
#    10 |     tl.store(out_ptr + pid * BLOCK + tl.arange(0, BLOCK), pid)  # here
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# grid-too-large.py:14:1: note: launched here, which raises RuntimeError
