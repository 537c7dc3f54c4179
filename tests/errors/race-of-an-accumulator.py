# Programs add partial sums without an atomic.
import torch
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr, tl.load(out_ptr) + tl.sum(x))


x = torch.ones(100, device='cuda')
out = torch.zeros(1, device='cuda')
total[(4,)](x, out, 100, BLOCK=32)

# expect: exit 1
# race-of-an-accumulator.py:11:23: error: race between programs in program (1, 0, 0): the pointer reads index 0 of 'out_ptr', which is float32[1]; program (0, 0, 0) has written there at line 11 [race]
#    11 |     tl.store(out_ptr, tl.load(out_ptr) + tl.sum(x))
#       |                       ^~~~~~~~~~~~~~~~
# race-of-an-accumulator.py:16:1: note: launched here, which raises RuntimeError
