# runs: interpreter emulator cuda triton triton-interpret
# ptxas 13.0 and driver 580 merge distinct shuffles if a register of a wgmma accumulator has held another value before:
# of the 65 shuffles in this kernel's PTX, 37 remained. So accumulator registers must have register names that nothing
# else uses. The emulator does not show this fault, but a GPU and the count of shuffles in the machine code do.
import torch
import triton
import triton.language as tl


@triton.jit
def masked_products(Q, K, V, DO, DQ, DV, M: tl.constexpr, D: tl.constexpr):
    m = tl.arange(0, M)
    d = tl.arange(0, D)
    rows = m[:, None] * D + d[None, :]
    cols = m[None, :] * D + d[:, None]
    k = tl.load(K + rows)
    v = tl.load(V + cols)
    do = tl.load(DO + rows)
    q = tl.load(Q + cols)
    dp = tl.where(m[:, None] >= m[None, :], tl.dot(do, v), 0)
    s = tl.where(m[:, None] <= m[None, :], tl.dot(k, q), 0)
    tl.store(DQ + rows, tl.dot(dp, k))
    tl.store(DV + rows, tl.dot(s, do))


M, D = 64, 128
torch.manual_seed(0)
q, k, v, do = (torch.randint(-2, 3, (M, D), device='cuda').to(torch.float32) for _ in range(4))  # exact in tf32, and so are products
dq, dv = (torch.empty((M, D), device='cuda') for _ in range(2))
masked_products[(1,)](q, k, v, do, dq, dv, M=M, D=D)
at = torch.arange(0, M, device='cuda')
dp = torch.where(at[:, None] >= at[None, :], torch.matmul(do, v.t()), 0.0)
s = torch.where(at[:, None] <= at[None, :], torch.matmul(k, q.t()), 0.0)
assert torch.equal(dq, torch.matmul(dp, k))
assert torch.equal(dv, torch.matmul(s, do))
