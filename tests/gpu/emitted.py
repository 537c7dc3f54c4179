# SPDX-License-Identifier: MIT
"""Defines the kernel that tests/gpu/emitted.c launches through C code from `neso compile --emit
c`."""
import triton
import triton.language as tl


@triton.jit
def product(A, B, C, M, N, K, stride_a, stride_b, stride_c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, K, BK):
        a = tl.load(A + m[:, None] * stride_a + (i + k)[None, :], mask=(m[:, None] < M) & ((i + k)[None, :] < K), other=0.0)
        b = tl.load(B + (i + k)[:, None] * stride_b + n[None, :], mask=((i + k)[:, None] < K) & (n[None, :] < N), other=0.0)
        sums = tl.dot(a, b, sums)
    tl.store(C + m[:, None] * stride_c + n[None, :], sums.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))
