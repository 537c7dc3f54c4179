# runs: interpreter emulator cuda triton
"""Tests products of matrices whose row pitch is not a multiple of 16 bytes, or which begin at
odd addresses: if copies are possible, tensor maps describe padded copies of the matrices."""
import torch
import triton
import triton.language as tl


@triton.jit
def matmul(A, B, C, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = A + (m % M)[:, None] * sam + k[None, :] * sak
    b_ptrs = B + k[:, None] * sbk + (n % N)[None, :] * sbn
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=k[None, :] < K - i * BK, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < K - i * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * sak
        b_ptrs += BK * sbk
    tl.store(C + m[:, None] * scm + n[None, :] * scn, acc.to(C.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def check(M, N, K, dtype=torch.float16, skip=0, columns=False, pad=0):
    """`skip`: elements before A; `columns`: B is contiguous along columns; `pad`: additional columns of A's array after A's columns."""
    torch.manual_seed(0)
    # A is at the end of its allocation; reading the numbers around it would change the result
    whole = torch.full((skip + M * (K + pad),), 1000.0, device='cuda').to(dtype)
    a = whole[skip:].reshape(M, K + pad)[:, :K]
    a.copy_(torch.randint(-4, 5, (M, K), device='cuda').to(dtype))
    b = torch.randint(-4, 5, (N, K) if columns else (K, N), device='cuda').to(dtype)
    b = b.t() if columns else b
    c = torch.full((M, N), -1.0, device='cuda', dtype=torch.float32)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    matmul[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1), 64, 64, 64)
    assert torch.equal(c, a.to(torch.float32) @ b.to(torch.float32)), (M, N, K, dtype, skip, columns, pad)


check(130, 100, 100)                            # rows 200 bytes apart
check(130, 102, 102)                            # rows 204 bytes apart
check(130, 101, 101)                            # rows 202 bytes apart
check(67, 131, 77, columns=True)
check(128, 96, 64, skip=1)                      # A begins at an odd address, and its rows are aligned
check(65, 64, 203, torch.bfloat16, skip=3)
check(70, 72, 129, torch.float32, columns=True)  # rows of 4-byte elements
check(70, 72, 99, pad=2)
print('right')
