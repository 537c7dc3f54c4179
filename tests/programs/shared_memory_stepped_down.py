# runs: interpreter emulator cuda triton triton-interpret
# spills: tiles of 256 x 256 f32 fill all registers of a multiprocessor
# Tests kernels that need more shared memory than a GPU has, and for which the compiler must use less. The compiler converts
# a whole tile in several steps (an atomic addition of a dot's result, a transposed tile whose registers hold different
# elements before and after), gives a pipeline fewer stages than requested, also in two loops with different tiles, and
# reads operands of a dot from registers if they do not fit. Triton 3.6 does none of this, and does not run such kernels.
import os

import torch
import triton
import triton.language as tl


@triton.jit
def added(A, B, C, M: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    k = tl.arange(0, K)
    acc = tl.dot(tl.load(A + m[:, None] * K + k[None, :]), tl.load(B + k[:, None] * M + m[None, :]))
    tl.atomic_add(C + m[:, None] * M + m[None, :], acc)


@triton.jit
def turned(X, Y, N: tl.constexpr, M: tl.constexpr):
    x = tl.load(X + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(Y + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :], x.T)


@triton.jit
def gathered(A, I, B, C, N: tl.constexpr, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    n = tl.arange(0, BN)
    rows = tl.load(I + tl.arange(0, BM))
    acc = tl.zeros([BM, BN], tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        acc = tl.dot(tl.load(A + rows[:, None] * K + k[None, :]), tl.load(B + k[:, None] * N + n[None, :]), acc)
    tl.store(C + tl.arange(0, BM)[:, None] * N + n[None, :], acc)


@triton.jit
def twice(A, B, C, N: tl.constexpr, K, BM: tl.constexpr, BK: tl.constexpr, BK2: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, N)
    acc = tl.zeros([BM, N], tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        acc = tl.dot(tl.load(A + m[:, None] * K + k[None, :]), tl.load(B + k[:, None] * N + n[None, :]), acc)
    for k0 in range(0, K, BK2):
        k = k0 + tl.arange(0, BK2)
        acc = tl.dot(tl.load(A + m[:, None] * K + k[None, :]), tl.load(B + k[:, None] * N + n[None, :]), acc)
    tl.store(C + m[:, None] * N + n[None, :], acc)


def matrices(M, N, K, dtype):
    torch.manual_seed(M + N + K)
    a = torch.randn(M, K, device='cuda', dtype=dtype)
    b = torch.randn(K, N, device='cuda', dtype=dtype)
    return a, b, torch.zeros(M, N, device='cuda', dtype=torch.float32)


def compare(c, a, b):
    torch.testing.assert_close(c, torch.matmul(a.to(torch.float32), b.to(torch.float32)), rtol=1e-2, atol=5e-2)


HAS_ROOM = not triton.__version__.startswith('3.6') or os.environ.get('TRITON_INTERPRET') == '1'

for warps in (4, 8):
    a, b, c = matrices(256, 256, 32, torch.float16)
    added[(1,)](a, b, c, 256, 32, num_warps=warps)
    compare(c, a, b)

tiles = [(256, 256, 4, torch.float32)]
if HAS_ROOM:
    tiles += [(512, 256, 32, torch.float32), (512, 512, 32, torch.int16)]
for M, N, warps, dtype in tiles:
    x = torch.arange(0, M * N, device='cuda').to(dtype).reshape(M, N)
    y = torch.zeros(N, M, device='cuda', dtype=dtype)
    turned[(1,)](x, y, N, M, num_warps=warps)
    assert torch.equal(y, x.t().contiguous()), (M, N, warps)

for stages in (5, 8) if HAS_ROOM else (2,):
    a, b, c = matrices(128, 128, 384, torch.float16)
    rows = (torch.arange(0, 128, device='cuda') * 5 % 128).to(torch.int32)
    gathered[(1,)](a, rows, b, c, 128, 384, 128, 128, 128, num_warps=8, num_stages=stages)
    compare(c, a[rows.to(torch.int64)], b)

a, b, c = matrices(128, 256, 256, torch.float16)
twice[(1,)](a, b, c, 256, 256, 128, 128, 64, num_warps=8, num_stages=4 if HAS_ROOM else 2)
compare(c / 2, a, b)

if HAS_ROOM:
    a, b, c = matrices(256, 256, 256, torch.float16)
    added[(1,)](a, b, c, 256, 256, num_warps=8)
    compare(c, a, b)
