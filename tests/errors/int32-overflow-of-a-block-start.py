# The start offset of the last program overflows int32, and the mask does not detect this.
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * n + tl.arange(0, BLOCK)  # here
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + tl.arange(0, BLOCK), x, mask=pid < 1)


x = torch.ones(16, device='cuda')
k[(3,)](x, 1500000000, BLOCK=16)

# expect: exit 1
# int32-overflow-of-a-block-start.py:10:19: error: a number does not fit int32 in program (2, 0, 0): 2 * 1500000000 became -1294967296, and element 0 of the tile at line 11 should be index 3000000000 of 'x_ptr', which is float32[16] [address-overflow]
#    10 |     offsets = pid * n + tl.arange(0, BLOCK)  # here
#       |                   ^
# int32-overflow-of-a-block-start.py:16:1: note: launched here, which raises RuntimeError
