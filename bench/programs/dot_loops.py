# Loops of dots that contain more than loads: products of fp8 with scales for blocks of K, and products of gathered rows.
# bench/peers/loops.py compares their speed with Triton's.
import triton
import triton.language as tl


@triton.jit
def scaled(A, B, SA, SB, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = A B^T of fp8, with a scale for each 128 elements of a row of A and for each 128 x 128 block of B; BK = 128."""
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_at = A + m[:, None] * K + k[None, :]
    b_at = B + n[None, :] * K + k[:, None]
    steps = tl.cdiv(K, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, steps):
        a = tl.load(a_at, mask=k[None, :] < K - i * BK, other=0.0)
        b = tl.load(b_at, mask=k[:, None] < K - i * BK, other=0.0)
        sa = tl.load(SA + m * steps + i)
        sb = tl.load(SB + (n // 128) * steps + i)
        acc += tl.dot(a, b) * sa[:, None] * sb[None, :]
        a_at += BK
        b_at += BK
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16))


@triton.jit
def gathered(A, B, C, ROWS, EXPERTS, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A table lists rows of A (-1: no row). Each group of BM rows is multiplied by the weights of one expert."""
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    row = tl.load(ROWS + m)
    is_row = row >= 0
    a_at = A + row[:, None] * K + k[None, :]
    b_at = B + tl.load(EXPERTS + tl.program_id(1) * BM // 128).to(tl.int64) * K * N + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_at, mask=is_row[:, None] & (k[None, :] < K - i * BK), other=0.0)
        b = tl.load(b_at, mask=k[:, None] < K - i * BK, other=0.0)
        acc += tl.dot(a, b)
        a_at += BK
        b_at += BK * N
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=is_row[:, None])
