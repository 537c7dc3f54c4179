# The kernel gathers rows by indices from memory without checking the indices.
import torch
import triton
import triton.language as tl


@triton.jit
def k(index_ptr, table_ptr, out_ptr, BLOCK: tl.constexpr):
    row = tl.load(index_ptr + tl.program_id(0))
    columns = tl.arange(0, BLOCK)
    x = tl.load(table_ptr + row * BLOCK + columns)  # here
    tl.store(out_ptr + tl.program_id(0) * BLOCK + columns, x)


index = torch.tensor([0, 2, 7], dtype=torch.int32, device='cuda')
table = torch.ones((4, 8), device='cuda')
out = torch.ones((3, 8), device='cuda')
k[(3,)](index, table, out, BLOCK=8)

# expect: exit 1
# index-from-memory.py:11:9: error: access out of bounds in program (2, 0, 0): element 0 of the tile is index 56, [7, 0], of 'table_ptr', which is float32[4, 8]; 8 of the 8 elements accessed are outside [out-of-bounds]
#    11 |     x = tl.load(table_ptr + row * BLOCK + columns)  # here
#       |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# index-from-memory.py:18:1: note: launched here, which raises RuntimeError
