# runs: interpreter emulator cuda
# A program stores two results, with elements of 1 and 2 bytes, through tensor maps from the same shared memory. Each warpgroup
# stores its half of each result. A half of one result overlaps both halves of the other, so a warpgroup must wait for both stores.
import torch
import triton
import triton.language as tl


@triton.jit
def products(A, B, SMALL, LARGE, M, N, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, K)
    a = tl.load(A + m[:, None] * K + k[None, :])
    b = tl.load(B + k[:, None] * N + n[None, :])
    c = tl.dot(a, b)
    tl.store(SMALL + m[:, None] * N + n[None, :], c.to(tl.float8e5))
    tl.store(LARGE + m[:, None] * N + n[None, :], (2 * c).to(tl.float16))


M, N, K = 256, 64, 16
a = (torch.arange(M * K, device='cuda') % 7 - 3).to(torch.float16).reshape(M, K)
b = (torch.arange(K * N, device='cuda') % 5 - 2).to(torch.float16).reshape(K, N)
for tile in 16, 64:
    small = torch.empty(M, N, device='cuda').to(torch.float8_e5m2)
    large = torch.empty(M, N, dtype=torch.float16, device='cuda')
    products[(M // 128, N // tile)](a, b, small, large, M, N, K=K, BM=128, BN=tile, num_warps=8)
    want = a.to(torch.float32) @ b.to(torch.float32)
    assert torch.equal(large.to(torch.float32), 2 * want)
    assert torch.equal(small.to(torch.float32), want.to(torch.float8_e5m2).to(torch.float32))
