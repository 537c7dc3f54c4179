# runs: interpreter emulator cuda triton triton-interpret
# Tests tl.gather along an axis with a single index or a single element; an axis of size 1 has no bits in a layout.
import torch
import triton
import triton.language as tl


@triton.jit
def gather(X, I, O, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    x = tl.load(X + m * N + tl.arange(0, N)[None, :])
    i = tl.load(I + m * K + tl.arange(0, K)[None, :])
    tl.store(O + m * K + tl.arange(0, K)[None, :], tl.gather(x, i, 1))


@triton.jit
def gather_columns(X, I, O, M: tl.constexpr, N: tl.constexpr):
    n = tl.arange(0, N)[None, :]
    x = tl.load(X + tl.arange(0, M)[:, None] * N + n)
    tl.store(O + n, tl.gather(x, tl.load(I + n), 0))


sizes = [(8, 8, 1, 1), (32, 256, 1, 4), (32, 32, 1, 8), (1, 32, 1, 4), (8, 1, 4, 2), (8, 1, 32, 1), (8, 1, 1, 1)]
if not triton.__version__.startswith('3.6'):  # Triton 3.6's TritonGPUOptimizeThreadLocality fails if rows grow and there are several warps
    sizes.append((8, 1, 32, 2))
for M, N, K, warps in sizes:
    X = torch.arange(M * N, device='cuda', dtype=torch.int32).reshape(M, N)
    I = ((torch.arange(M * K, device='cuda') * 7 + 3) % N).to(torch.int32).reshape(M, K)
    O = torch.zeros((M, K), device='cuda', dtype=torch.int32)
    gather[(1,)](X, I, O, M, N, K, num_warps=warps)
    assert torch.equal(O, torch.gather(X, 1, I.to(torch.int64))), (M, N, K, warps)
    I = ((torch.arange(N, device='cuda') * 5 + 2) % M).to(torch.int32).reshape(1, N)
    O = torch.zeros((1, N), device='cuda', dtype=torch.int32)
    gather_columns[(1,)](X, I, O, M, N, num_warps=warps)
    assert torch.equal(O, torch.gather(X, 0, I.to(torch.int64))), (M, N, warps)
