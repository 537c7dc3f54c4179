# The kernel shifts a tensor in place: each program reads elements that the neighbouring program writes.
import torch
import triton
import triton.language as tl


@triton.jit
def shift(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets + 1, mask=offsets + 1 < n)
    tl.store(x_ptr + offsets, x, mask=offsets + 1 < n)


x = torch.arange(64, device='cuda')
shift[(4,)](x, 64, BLOCK=16)

# expect: exit 1
# race-of-reader-and-writer.py:11:5: error: race between programs in program (1, 0, 0): element 0 of the tile writes 17 to index 16 of 'x_ptr', which is int64[64]; program (0, 0, 0) has read there at line 10 [race]
#    11 |     tl.store(x_ptr + offsets, x, mask=offsets + 1 < n)
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# race-of-reader-and-writer.py:15:1: note: launched here, which raises RuntimeError
