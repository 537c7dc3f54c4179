# runs: interpreter emulator cuda triton triton-interpret
# spills: sums of all of a thread's registers
# Dots whose widest instruction takes more registers than a thread has: of 16 warps, and of 8 where two CTAs would share an SM. The
# assembler gives up on what does not fit ("insufficient registers to compile instruction").
import torch
import triton
import triton.language as tl


@triton.jit
def product(A, B, C, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, OUT: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(A + m[:, None] * K + k[None, :])
    b = tl.load(B + k[:, None] * N + n[None, :])
    tl.store(C + m[:, None] * N + n[None, :], tl.dot(a, b, out_dtype=OUT))


sizes = [(128, 256, 16, torch.float16), (128, 256, 8, torch.int8), (128, 256, 32, torch.int8)]
if not triton.__version__.startswith('3.6'):  # of which ptxas refuses this one: error C7602, 128 registers where 154 are needed
    sizes.append((256, 256, 16, torch.float16))
for M, N, warps, dtype in sizes:
    torch.manual_seed(0)
    a = torch.randint(-8, 8, (M, 32), device='cuda').to(dtype)
    b = torch.randint(-8, 8, (32, N), device='cuda').to(dtype)
    c = torch.empty(M, N, device='cuda', dtype=torch.int32 if dtype == torch.int8 else torch.float32)
    product[(1,)](a, b, c, M, N, 32, tl.int32 if dtype == torch.int8 else tl.float32, num_warps=warps)
    assert torch.equal(c.to(torch.float32), torch.matmul(a.to(torch.float32), b.to(torch.float32))), (M, N, warps)
