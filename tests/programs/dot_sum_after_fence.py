# runs: interpreter emulator cuda triton triton-interpret
# Between wgmma.fence and the first wgmma, instructions must not write the accumulator's registers. If registers are
# scarce, matrix descriptors are computed there, in registers of the class to which accumulators of int8 also belong.
import torch
import triton
import triton.language as tl


@triton.jit
def two_dots(A, B, C, D, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(A + m[:, None] * K + k[None, :])
    b = tl.load(B + k[:, None] + K * n[None, :])
    c = tl.dot(a, b)
    d = tl.dot(a, b + 1)
    at = m[:, None] * N + n[None, :]
    tl.store(C + at, c)
    tl.store(D + at, d)


M, N, K = 64, 32, 128
torch.manual_seed(0)
a = torch.randint(-64, 64, (M, K), device='cuda', dtype=torch.int8)
b = torch.randint(-64, 64, (N, K), device='cuda', dtype=torch.int8)
c, d = (torch.empty((M, N), device='cuda', dtype=torch.int32) for _ in range(2))
two_dots[(1,)](a, b, c, d, M=M, N=N, K=K, maxnreg=64)
for found, add in ((c, 0), (d, 1)):
    expected = torch.matmul(a.to(torch.float64), (b + add).to(torch.float64).t())
    assert torch.equal(found, expected.to(torch.int32))
