# All programs store their ids to one element.
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    tl.store(x_ptr, tl.program_id(0))


x = torch.zeros(4, dtype=torch.int32, device='cuda')
k[(3,)](x)

# expect: exit 1
# race-of-two-writers.py:9:5: error: race between programs in program (1, 0, 0): the pointer writes 1 to index 0 of 'x_ptr', which is int32[4]; program (0, 0, 0) has written there at line 9 [race]
#     9 |     tl.store(x_ptr, tl.program_id(0))
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# race-of-two-writers.py:13:1: note: launched here, which raises RuntimeError
