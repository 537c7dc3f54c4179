# runs: interpreter emulator cuda triton triton-interpret
# spills: maxnreg allows fewer registers than the dots need
# Register operands of a wgmma must be written before wgmma.fence. If registers are
# scarce, the operand that two dots share is converted again for the second dot.
import torch
import triton
import triton.language as tl


@triton.jit
def three_dots(A, B, V, P, C, D, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(A + m[:, None] * K + k[None, :])
    b = tl.load(B + n[:, None] * K + k[None, :])
    v = tl.load(V + n[:, None] * N + n[None, :])
    p = tl.dot(a, tl.trans(b))
    c = tl.dot(p.to(tl.float16), v)
    d = tl.dot(p.to(tl.float16), v + 1)
    at = m[:, None] * N + n[None, :]
    tl.store(C + at, c)
    tl.store(D + at, d)
    tl.store(P + at, p)


M, N, K = 64, 64, 16
torch.manual_seed(0)
a, b, v = (torch.randint(-3, 4, shape, device='cuda').to(torch.float16) for shape in ((M, K), (N, K), (N, N)))
p, c, d = (torch.empty((M, N), device='cuda', dtype=torch.float32) for _ in range(3))
three_dots[(1,)](a, b, v, p, c, d, M=M, N=N, K=K, maxnreg=112)
expected = torch.matmul(a.to(torch.float64), b.to(torch.float64).t())
assert torch.equal(p, expected.to(torch.float32))
for found, add in ((c, 0), (d, 1)):
    assert torch.equal(found, torch.matmul(expected, (v + add).to(torch.float64)).to(torch.float32))
