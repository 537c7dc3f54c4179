# runs: interpreter emulator cuda triton
# A quotient of any numbers must have the same bits, whether a thread divides all its elements by one divisor or each by another.
import torch
import triton
import triton.language as tl


@triton.jit
def by_one(X, D, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + tl.program_id(0) * N + i, tl.load(X + i) / tl.load(D + tl.program_id(0)))


@triton.jit
def by_own(X, D, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.program_id(0) * N + i
    tl.store(Y + at, tl.load(X + i) / tl.load(D + at))


@triton.jit
def of_rows(X, D, Y, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    i = tl.arange(0, N)
    q = tl.load(X + i)[None, :] / tl.load(D + r)[:, None]
    tl.store(Y + r[:, None] * N + i[None, :], q)


device = 'cuda' if torch.cuda.is_available() else 'cpu'
torch.manual_seed(0)
special = [0.0, -0.0, 1.0, 3.0, float('inf'), -float('inf'), float('nan'), 2.0**126, 2.0**127, -1.5 * 2.0**126, 2.0**-126, 1.5 * 2.0**-127,
           2.0**-149, -(2.0**-140), 3.4e38, 1.2e-38, 7.0, 0.3, -0.1, 1e20, 1e-20]
N, M = 256, 32
x = torch.randn(N, device=device) * 10
x[:len(special)] = torch.tensor(special, device=device)
x[64:128] = x[64:128] * 2.0**-120
x[128:192] = x[128:192] * 2.0**120
d = torch.randn(M, device=device)
d[:len(special)] = torch.tensor(special, device=device)
one, own, rows = (torch.empty(M, N, device=device) for _ in range(3))
by_one[(M,)](x, d, one, N, num_warps=1)
by_own[(M,)](x, d[:, None].expand(M, N).contiguous(), own, N, num_warps=1)
of_rows[(1,)](x, d, rows, M, N)
for y in (one, rows):
    same = (y.view(torch.int32) == own.view(torch.int32)) | ((y != y) & (own != own))
    assert same.all()
print("the same quotients")
