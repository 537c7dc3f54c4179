# A program stores the sum after it has released the lock.
import torch
import triton
import triton.language as tl


@triton.jit
def add_up(lock, sum_ptr, x_ptr):
    x = tl.load(x_ptr + tl.program_id(0))
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    s = tl.load(sum_ptr)
    tl.atomic_xchg(lock, 0)
    tl.store(sum_ptr, s + x)


lock = torch.zeros(1, dtype=torch.int32, device='cuda')
total = torch.zeros(1, device='cuda')
x = torch.ones(8, device='cuda')
add_up[(8,)](lock, total, x)

# expect: exit 1
# race-behind-a-lock.py:12:9: error: race between programs in program (1, 0, 0): the pointer reads index 0 of 'sum_ptr', which is float32[1]; program (0, 0, 0) has written there at line 14 [race]
#    12 |     s = tl.load(sum_ptr)
#       |         ^~~~~~~~~~~~~~~~
# race-behind-a-lock.py:20:1: note: launched here, which raises RuntimeError
