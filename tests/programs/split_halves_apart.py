# runs: interpreter emulator cuda triton triton-interpret
# Tests splits with only one used half, splits whose halves have different layouts, and splits of a pair into two scalars.
import torch
import triton
import triton.language as tl


@triton.jit
def odd(O, n, N: tl.constexpr):
    a, b = tl.split((tl.arange(0, N)[:, None] * 2 + tl.arange(0, 2)[None, :]) * n)
    tl.store(O + tl.arange(0, N), b)


@triton.jit
def rows_and_columns(X, O, P, N: tl.constexpr):
    i = tl.arange(0, N)[:, None]
    j = tl.arange(0, 2 * N)[None, :]
    a, b = tl.split(tl.reshape(tl.load(X + i * 2 * N + j), [N, N, 2]))
    k = tl.arange(0, N)[None, :]
    tl.store(O + i * N + k, a)
    tl.store(P + i + k * N, b)


@triton.jit
def scalars(X, O):
    a, b = tl.split(tl.load(X + tl.arange(0, 2)))
    c, d = tl.split(tl.arange(0, 2) * a)
    tl.store(O, a - b)
    tl.store(O + 1, c + d)


for N in [1, 2, 8, 64, 256]:
    for warps in [1, 4, 8]:
        O = torch.zeros(N, device='cuda', dtype=torch.int32)
        odd[(1,)](O, 3, N, num_warps=warps)
        assert O.tolist() == [3 * (2 * i + 1) for i in range(N)], (N, warps)
for N, warps in [(4, 1), (16, 4), (32, 8)]:
    X = torch.arange(N * 2 * N, device='cuda', dtype=torch.int32)
    O = torch.zeros((N, N), device='cuda', dtype=torch.int32)
    P = torch.zeros((N, N), device='cuda', dtype=torch.int32)
    rows_and_columns[(1,)](X, O, P, N, num_warps=warps)
    pairs = X.reshape(N, N, 2)
    assert torch.equal(O, pairs[:, :, 0].contiguous()), (N, warps)
    assert torch.equal(P, pairs[:, :, 1].t().contiguous()), (N, warps)
X = torch.tensor([7, 9], device='cuda', dtype=torch.int32)
O = torch.zeros(2, device='cuda', dtype=torch.int32)
scalars[(1,)](X, O)
assert O.tolist() == [-2, 7]
