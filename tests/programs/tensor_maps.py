# runs: interpreter emulator cuda triton triton-interpret
# Tests loads that become copies through tensor maps, and their launches: masks, wrapped rows, batches, offsets, all major
# orders. Also launches these kernels with arguments for which no tensor map exists (odd strides and addresses, empty extents).
import torch
import triton
import triton.language as tl


@triton.jit
def masked(A, B, C, M, N, K, sam, sak, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(A + rm[:, None] * sam + rk[None, :] * sak, mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        b = tl.load(B + rk[:, None] * sbk + rn[None, :] * sbn, mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(C + rm[:, None] * scm + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def wrapped(A, B, C, M, N, K, sam, sak, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    npid_n = tl.cdiv(N, BN)
    rm = pid // npid_n * BM + tl.arange(0, BM)
    rn = pid % npid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = A + (rm % M)[:, None] * sam + rk[None, :] * sak
    b_ptrs = B + rk[:, None] * sbk + tl.where(rn < N, rn, 0)[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=rk[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * sak
        b_ptrs += BK * sbk
    tl.store(C + rm[:, None] * scm + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def batched(A, B, C, M, N, K, sab, sam, sak, sbb, sbk, sbn, scb, scm, n0, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # the matrices of a batch, the columns of B from n0 on, and a loop that counts down
    batch = tl.program_id(2)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = n0 + tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    a_ptrs = A + batch * sab + rm[:, None] * sam + tl.arange(0, BK)[None, :] * sak
    b_ptrs = B + batch * sbb + tl.arange(0, BK)[:, None] * sbk + rn[None, :] * sbn
    for k in range(K, 0, -BK):
        a = tl.load(a_ptrs, mask=(tl.arange(0, BK)[None, :] < k) & (rm[:, None] < M), other=0.0)
        b = tl.load(b_ptrs, mask=(tl.arange(0, BK)[:, None] < k) & (N > rn[None, :]), other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BK * sak
        b_ptrs += BK * sbk
    tl.store(C + batch * scb + rm[:, None] * scm + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def persistent(A, B, C, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr):
    # loads follow stores, so the launcher checks whether the arrays are disjoint
    npid_n = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * npid_n, PROGRAMS):
        rm = tile // npid_n * BM + tl.arange(0, BM)
        rn = tile % npid_n * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            a = tl.load(A + rm[:, None] * sam + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
            b = tl.load(B + rk[:, None] * sbk + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
            acc = tl.dot(a, b, acc)
        tl.store(C + rm[:, None] * scm + rn[None, :], acc.to(tl.float16), mask=(rm[:, None] < M) & (rn[None, :] < N))


def matrix(rows, columns, pitch, by_columns, shift=0):
    # rows x columns of a larger array, at an offset of `shift` elements
    if by_columns:
        return matrix(columns, rows, pitch, False, shift).t()
    whole = torch.randn(max(rows, 1) * pitch + shift, device='cuda', dtype=torch.float16)
    return whole[shift:].reshape(max(rows, 1), pitch)[:rows, :columns]


def check(kernel, M, N, K, pitch=256, a_columns=False, b_columns=False, shift=0, blocks=(64, 32, 32)):
    a, b = matrix(M, K, pitch, a_columns, shift), matrix(K, N, pitch, b_columns)
    c = torch.full((M, N), 7.0, device='cuda')
    BM, BN, BK = blocks
    tiles = triton.cdiv(M, BM), triton.cdiv(N, BN)
    grid = tiles if kernel is masked else (tiles[0] * tiles[1],)
    kernel[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), BM=BM, BN=BN, BK=BK)
    expected = torch.matmul(a.double(), b.double()).float() if K else torch.zeros((M, N), device='cuda')
    torch.testing.assert_close(c, expected, rtol=1e-3, atol=1e-2)


torch.manual_seed(0)
for kernel in [masked, wrapped]:
    for a_columns in [False, True]:
        for b_columns in [False, True]:
            check(kernel, 64, 64, 64, a_columns=a_columns, b_columns=b_columns)
            check(kernel, 71, 45, 50, a_columns=a_columns, b_columns=b_columns)
    check(kernel, 130, 33, 32, blocks=(128, 64, 64))
    check(kernel, 1, 1, 1)
    check(kernel, 70, 40, 200, pitch=201)  # not a multiple of 16 bytes
    check(kernel, 70, 40, 200, pitch=232)  # a multiple of 16 bytes, but not of 16 elements
    check(kernel, 70, 40, 100, shift=8)
    check(kernel, 70, 40, 100, shift=3)
    check(kernel, 70, 40, 0)
    check(kernel, 64, 64, 64)

for batches, M, N, K, n0 in [(2, 64, 64, 64, 0), (3, 70, 50, 40, 16), (2, 65, 60, 100, 5)]:
    a = torch.randn((batches, M, 128), device='cuda', dtype=torch.float16)[:, :, :K]
    b = torch.randn((batches, K, 64), device='cuda', dtype=torch.float16)[:, :, :N]
    c = torch.full((batches, M, N), 7.0, device='cuda')
    grid = triton.cdiv(M, 64), triton.cdiv(N - n0, 32), batches
    batched[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), c.stride(0), c.stride(1), n0, BM=64, BN=32, BK=32)
    expected = torch.matmul(a.double(), b.double()).float()
    torch.testing.assert_close(c[:, :, n0:], expected[:, :, n0:], rtol=1e-3, atol=1e-2)
    assert torch.all(c[:, :, :n0] == 7)

whole = torch.randn((140, 192), device='cuda', dtype=torch.float16)
a, among = whole[:, :64], whole[:, 128:]
b = torch.randn((64, 64), device='cuda', dtype=torch.float16)
expected = torch.matmul(a.double(), b.double()).half()
for c in [torch.empty((140, 64), device='cuda', dtype=torch.float16), among]:
    persistent[(2,)](a, b, c, 140, 64, 64, a.stride(0), 64, c.stride(0), BM=64, BN=32, BK=32, PROGRAMS=2)
    torch.testing.assert_close(c, expected, rtol=1e-2, atol=1e-2)
print("ok")

# expect:
# ok
