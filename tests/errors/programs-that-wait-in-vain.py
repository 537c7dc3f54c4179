# Two programs wait for each other.
import torch
import triton
import triton.language as tl

@triton.jit
def stuck(flags):
    pid = tl.program_id(0)
    while tl.atomic_add(flags + 1 - pid, 0) == 0:
        pass
    tl.atomic_xchg(flags + pid, 1)

flags = torch.zeros(2, dtype=torch.int32, device='cuda')
stuck[(2,)](flags)

# expect: exit 1
# programs-that-wait-in-vain.py:9:5: error: deadlock between programs in program (0, 0, 0): it and 1 more program wait in loops, and nothing changes what they read [deadlock]
#     9 |     while tl.atomic_add(flags + 1 - pid, 0) == 0:
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# programs-that-wait-in-vain.py:14:1: note: launched here, which raises RuntimeError
