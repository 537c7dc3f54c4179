# runs: interpreter emulator cuda triton
# Tests the product of B and the rows of A that a table lists: threads copy A, because the number of each row is loaded; a warp copies B.
import torch, triton
import triton.language as tl


@triton.jit
def gathered(A, B, C, ROWS, EXPERTS, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    row = tl.load(ROWS + m)
    is_row = row >= 0
    a_at = A + row[:, None] * K + k[None, :]
    b_at = B + tl.load(EXPERTS + tl.program_id(1)).to(tl.int64) * K * N + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_at, mask=is_row[:, None] & (k[None, :] < K - i * BK), other=0.0)
        b = tl.load(b_at, mask=k[:, None] < K - i * BK, other=0.0)
        acc += tl.dot(a, b)
        a_at += BK
        b_at += BK * N
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=is_row[:, None])


@triton.jit
def gathered_columns(A, B, C, COLUMNS, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Multiplies by the rows of B^T that a table lists: threads copy B, and the producer warp copies A."""
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    column = tl.load(COLUMNS + n)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        a = tl.load(A + m[:, None] * K + (i + k)[None, :])
        b = tl.load(B + column[None, :] * K + (i + k)[:, None])
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16))


def halves(*shape):
    return (torch.randn(shape, device='cuda', dtype=torch.float32) * 0.25).to(torch.float16)


def check(tiles, N, K, BM, BN, BK, warps, stages):
    M, experts, rows = tiles * BM, 3, 50
    a, b, c = halves(rows, K), halves(experts, K, N), torch.zeros((M, N), device='cuda', dtype=torch.float16)
    table = torch.randint(0, rows, (M,), device='cuda', dtype=torch.int32)
    table[M - 5:] = -1
    of = torch.randint(0, experts, (tiles,), device='cuda', dtype=torch.int32)
    gathered[(N // BN, tiles)](a, b, c, table, of, M, N, K, BM, BN, BK, num_warps=warps, num_stages=stages)
    for t in range(tiles):
        at = table[t * BM:(t + 1) * BM]
        expected = torch.matmul(a[torch.clamp(at, min=0).long()].float(), b[int(of[t])].float()) * (at >= 0)[:, None]
        torch.testing.assert_close(c[t * BM:(t + 1) * BM].float(), expected, atol=2e-2, rtol=2e-2)


def check_columns(M, N, K, BM, BN, BK, warps, stages):
    a, b, c = halves(M, K), halves(40, K), torch.zeros((M, N), device='cuda', dtype=torch.float16)
    table = torch.randint(0, 40, (N,), device='cuda', dtype=torch.int32)
    gathered_columns[(N // BN, M // BM)](a, b, c, table, M, N, K, BM, BN, BK, num_warps=warps, num_stages=stages)
    torch.testing.assert_close(c.float(), torch.matmul(a.float(), b[table.long()].float().t()), atol=2e-2, rtol=2e-2)


torch.manual_seed(0)
for K in (64, 192, 328):  # one iteration; three; six, with a masked last iteration
    check(2, 128, K, 128, 128, 64, 8, 3)
check(2, 64, 256, 64, 64, 32, 4, 4)
check(1, 256, 128, 128, 256, 64, 8, 2)
check_columns(128, 128, 192, 128, 128, 64, 8, 3)
check_columns(64, 64, 128, 64, 64, 32, 4, 2)
