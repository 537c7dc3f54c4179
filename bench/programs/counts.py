"""counts.py: launches each of four kernels once. `neso run --counts` counts costs in the emulator; Nsight Compute counts them on a GPU."""
import torch
import triton
import triton.language as tl


@triton.jit
def count_add(X, Y, Z, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < N
    tl.store(Z + at, tl.load(X + at, mask=mask) + tl.load(Y + at, mask=mask), mask=mask)


@triton.jit
def count_softmax(Y, X, stride_y, stride_x, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride_x + columns, mask=columns < n, other=-float('inf'))
    num = tl.exp(x - tl.max(x, axis=0))
    tl.store(Y + row * stride_y + columns, num / tl.sum(num, axis=0), mask=columns < n)


@triton.jit
def count_layer_norm(X, Y, W, B, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    x = tl.load(X + row * stride + columns, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / N
    centered = tl.where(mask, x - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centered * centered, axis=0) / N + eps)
    w = tl.load(W + columns, mask=mask)
    b = tl.load(B + columns, mask=mask)
    tl.store(Y + row * stride + columns, centered * scale * w + b, mask=mask)


@triton.jit
def matmul(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(A + rm[:, None] * K + (k + rk)[None, :])
        b = tl.load(B + (k + rk)[:, None] * N + rn[None, :])
        sums = tl.dot(a, b, sums)
    tl.store(C + rm[:, None] * N + rn[None, :], sums.to(tl.float16))


@triton.jit
def count_matmul_mma(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    matmul(A, B, C, M, N, K, BM, BN, BK)


@triton.jit
def count_matmul_wgmma(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    matmul(A, B, C, M, N, K, BM, BN, BK)


n = 98432
x, y, z = torch.rand(n, device='cuda'), torch.rand(n, device='cuda'), torch.empty(n, device='cuda')
count_add[(triton.cdiv(n, 1024),)](x, y, z, n, BLOCK=1024)

X = torch.rand((583, 931), device='cuda')
Y = torch.empty_like(X)
count_softmax[(583,)](Y, X, Y.stride(0), X.stride(0), 931, BLOCK=1024)

X = torch.rand((128, 1000), device='cuda').to(torch.float16)
Y = torch.empty_like(X)
w, b = torch.rand(1000, device='cuda'), torch.rand(1000, device='cuda')
count_layer_norm[(128,)](X, Y, w, b, X.stride(0), 1000, 1e-5, BLOCK=1024)

n = 512
a, b = (torch.rand((n, n), device='cuda').to(torch.float16) for _ in range(2))
c = torch.empty((n, n), device='cuda', dtype=torch.float16)
count_matmul_mma[(n // 32, n // 32)](a, b, c, n, n, n, BM=32, BN=32, BK=32)
m = 256 # four programs, one for each multiprocessor of the emulator, so that it chooses the same variant as a GPU
count_matmul_wgmma[(m // 128, m // 128)](a[:m], b[:, :m].contiguous(), c[:m, :m].contiguous(), m, m, n, BM=128, BN=128, BK=64)
print('done')
