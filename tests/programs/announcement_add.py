# runs: interpreter emulator cuda (not triton: current Triton refuses the bare names and plain globals of Triton 1.0)
# Tests the vector add of Triton's announcement, word for word, for many sizes and types.
import torch
from triton import cdiv as ceil_div
from triton import jit
from triton.language import arange, load, program_id, store

BLOCK = 512

# This is a GPU kernel in Triton.
# Different instances of this
# function may run in parallel.
@jit
def add(X, Y, Z, N):
   # In Triton, each kernel instance
   # executes block operations on a
   # single thread: there is no construct
   # analogous to threadIdx
   pid = program_id(0)
   # block of indices
   idx = pid * BLOCK + arange(BLOCK)
   mask = idx < N
   # Triton uses pointer arithmetics  
   # rather than indexing operators
   x = load(X + idx, mask=mask)
   y = load(Y + idx, mask=mask)
   store(Z + idx, x + y, mask=mask)


for dtype in [torch.float32, torch.float16, torch.bfloat16, torch.int32]:
    for n in [1, 16, 511, 512, 513, 1000, 98432]:
        torch.manual_seed(n)
        if dtype == torch.int32:
            x = torch.randint(-2**31, 2**31, (n,), dtype=dtype, device='cuda')
            y = torch.randint(-2**31, 2**31, (n,), dtype=dtype, device='cuda')
        else:
            x = torch.randn(n, dtype=dtype, device='cuda')
            y = torch.randn(n, dtype=dtype, device='cuda')
        # adds one block more than needed, to test that nothing is written after element n
        whole = torch.full((n + BLOCK,), 7, dtype=dtype, device='cuda')
        z = whole[:n]
        grid = (ceil_div(n, BLOCK),)
        add[grid](x, y, z, x.shape[0])
        assert torch.equal(z, x + y), f"{dtype} n={n}"
        assert torch.equal(whole[n:], torch.full((BLOCK,), 7, dtype=dtype, device='cuda')), f"{dtype} n={n}: written behind the end"
print("ok")

# expect:
# ok
