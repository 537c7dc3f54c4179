# runs: interpreter emulator cuda triton triton-interpret
# A kernel whose CTAs run several programs has two consecutive loops of dots, with equal bounds and different tiles. The last slot of each
# loop's ring must be released after that loop. If the tiles of the loops are equal, the second loop uses the ring of the first loop too.
import torch
import triton
import triton.language as tl


@triton.jit
def twice(A, B, C, n, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BK2: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(A + m[:, None] * K + k[None, :])
        b = tl.load(B + k[:, None] * n + cols[None, :])
        acc = tl.dot(a, b, acc)
    for k0 in range(0, K, BK2):
        k = k0 + tl.arange(0, BK2)
        a = tl.load(A + m[:, None] * K + k[None, :])
        b = tl.load(B + k[:, None] * n + cols[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * n + cols[None, :], acc)


@triton.jit
def apart(A, B, C, n, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BK2: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    first = tl.zeros([BM, BN], tl.float32)
    second = tl.zeros([BM, BN], tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        first = tl.dot(tl.load(A + m[:, None] * K + k[None, :]), tl.load(B + k[:, None] * n + cols[None, :]), first)
    for k0 in range(0, K, BK2):
        k = k0 + tl.arange(0, BK2)
        second = tl.dot(tl.load(A + m[:, None] * K + k[None, :]), tl.load(B + k[:, None] * n + cols[None, :]), second)
    tl.store(C + m[:, None] * n + cols[None, :], first + second)


def check(kernel, rows, n, K, BM, BK, BK2, warps, stages):
    torch.manual_seed(K)
    a = torch.randn(rows, K, device='cuda', dtype=torch.float16)
    b = torch.randn(K, n, device='cuda', dtype=torch.float16)
    c = torch.empty(rows, n, device='cuda', dtype=torch.float32)
    kernel[(rows // BM,)](a, b, c, n, K, BM, n, BK, BK2, num_warps=warps, num_stages=stages)
    want = 2 * torch.matmul(a.to(torch.float32), b.to(torch.float32))
    torch.testing.assert_close(c, want, rtol=2e-3, atol=2e-2)


check(twice, 512, 256, 128, 128, 128, 64, 8, 2)
check(twice, 512, 256, 192, 128, 64, 32, 8, 3)
check(twice, 512, 256, 192, 128, 64, 64, 8, 3)
check(twice, 256, 128, 128, 64, 64, 64, 4, 3)
check(apart, 256, 128, 192, 128, 64, 32, 8, 3)
check(apart, 256, 128, 192, 128, 64, 64, 8, 3)
