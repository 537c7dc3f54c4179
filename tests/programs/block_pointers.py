# runs: interpreter emulator cuda triton-interpret (not triton: a pass of 3.6 fails on block pointers that a loop advances twice)
# Tests block pointers: products that load tiles by rows and by columns, edges on all
# sides, block pointers that loops, branches and functions carry, and three dimensions.
import torch
import triton
import triton.language as tl


@triton.jit
def matmul(A, B, C, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    npid_n = tl.cdiv(N, BN)
    pid_m = tl.program_id(0) // npid_n
    pid_n = tl.program_id(0) % npid_n
    a = tl.make_block_ptr(A, shape=(M, K), strides=(sam, sak), offsets=(pid_m * BM, 0), block_shape=(BM, BK), order=(1, 0))
    b = tl.make_block_ptr(B, (K, N), (sbk, sbn), (0, pid_n * BN), (BK, BN), (0, 1))
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(tl.load(a, boundary_check=(0, 1)), tl.load(b, boundary_check=(0, 1), padding_option="zero"), acc)
        a = tl.advance(a, (0, BK))
        b = b.advance((BK, 0))
    c = tl.make_block_ptr(C, (M, N), (scm, scn), (pid_m * BM, pid_n * BN), (BM, BN), (1, 0))
    tl.store(c, acc.to(C.dtype.element_ty), boundary_check=(0, 1))


@triton.jit
def row_sums(X, Out, M, N, stride, BM: tl.constexpr, BN: tl.constexpr):
    # only the last dimension needs a boundary check, because the loop ends with the columns
    x = tl.make_block_ptr(X, (M, N), (stride, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
    sums = tl.zeros((BM,), dtype=tl.float32)
    n = N
    while n > 0:
        sums += tl.sum(tl.load(x, boundary_check=(1,)), axis=1)
        x = tl.advance(x, (0, BN))
        n -= BN
    tl.store(tl.make_block_ptr(Out, (M,), (1,), (tl.program_id(0) * BM,), (BM,), (0,)), sums)


@triton.jit
def moved(p, by):
    return tl.advance(p, (by, -by))


@triton.jit
def shifted(X, Y, M, N, up, turn, B: tl.constexpr):
    # blocks extend beyond every edge; a branch chooses the direction of the advance, and a function advances
    x = tl.make_block_ptr(X, (M, N), (N, 1), (-1, 1), (B, B), (1, 0))
    if turn > 0:
        x = moved(x, up)
    else:
        x = tl.advance(x, (up, up))
    y = tl.make_block_ptr(Y, (B, B), (B, 1), (0, 0), (B, B), (1, 0))
    tl.store(y, tl.load(x, boundary_check=(0, 1), padding_option="nan"))


@triton.jit
def turned(X, Y, B, M, N, BB: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_block_ptr(X, (B, M, N), (M * N, N, 1), (0, 0, 0), (BB, BM, BN), (2, 1, 0))
    y = tl.make_block_ptr(Y, (N, B, M), (B * M, M, 1), (0, 0, 0), (BN, BB, BM), (2, 1, 0))
    tl.store(y, tl.permute(tl.load(x, boundary_check=(0, 1, 2)), (2, 0, 1)), boundary_check=(0, 1, 2))


def check_matmul(M, N, K, by_columns=False, tiles=(64, 64, 32), dtype=torch.float16):
    a = torch.randn((M, K), device='cuda', dtype=dtype)
    b = torch.randn((N, K) if by_columns else (K, N), device='cuda', dtype=dtype)
    b = b.t() if by_columns else b
    c = torch.full((M, N), 7.0, device='cuda', dtype=dtype)
    grid = (triton.cdiv(M, tiles[0]) * triton.cdiv(N, tiles[1]),)
    matmul[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1), *tiles)
    assert torch.allclose(c, torch.matmul(a, b), atol=2e-2, rtol=2e-2), (M, N, K, by_columns)


torch.manual_seed(0)
check_matmul(128, 128, 128)
check_matmul(120, 136, 72)
check_matmul(130, 64, 40, by_columns=True)
check_matmul(61, 67, 33)
check_matmul(32, 32, 16, tiles=(16, 16, 16))
check_matmul(40, 24, 16, tiles=(16, 16, 16), dtype=torch.float32)

x = torch.randn((64, 50), device='cuda')
sums = torch.empty(64, device='cuda')
row_sums[(4,)](x, sums, 64, 50, x.stride(0), 16, 16)
assert torch.allclose(sums, x.sum(1), atol=1e-4, rtol=1e-4)

for up, turn in ((1, 1), (3, 0), (0, 0), (-2, 1)):
    x = torch.randn((9, 7), device='cuda')
    y = torch.zeros((8, 8), device='cuda')
    shifted[(1,)](x, y, 9, 7, up, turn, 8)
    row, column = up - 1, 1 - up if turn > 0 else 1 + up
    x, y = x.cpu(), y.cpu()
    for i in range(8):
        for k in range(8):
            inside = 0 <= row + i < 9 and 0 <= column + k < 7
            found = y[i, k].item()
            assert found == x[row + i, column + k].item() if inside else found != found, (up, turn, i, k)

x = torch.randn((3, 5, 7), device='cuda')
y = torch.zeros((7, 3, 5), device='cuda')
turned[(1,)](x, y, 3, 5, 7, 4, 8, 8)
assert torch.equal(y, x.permute(2, 0, 1).contiguous())
print("ok")

# expect:
# ok
