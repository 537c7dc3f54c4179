# runs: interpreter emulator cuda triton triton-interpret
# Tests tiles that one CTA multiplies one after the other, with one and two warpgroups: no, one, two and more iterations
# of K, counting up and down, with a remainder. Sums begin with a nonzero value, or every iteration reads them.
import torch
import triton
import triton.language as tl


@triton.jit
def up(A, B, C, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FIRST: tl.constexpr, EACH: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.full((BM, BN), FIRST, dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(A + rm[:, None] * sam + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        b = tl.load(B + rk[:, None] * sbk + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc) * EACH
    tl.store(C + rm[:, None] * scm + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def down(A, B, C, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    rm = tl.program_id(0) // GROUP * BM + tl.arange(0, BM)
    rn = (tl.program_id(1) * GROUP + tl.program_id(0) % GROUP) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = A + rm[:, None] * sam + rk[None, :]
    b_ptrs = B + rk[:, None] * sbk + rn[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(K, 0, -BK):
        acc += tl.dot(tl.load(a_ptrs), tl.load(b_ptrs))
        a_ptrs += BK
        b_ptrs += BK * sbk
    tl.store(C + rm[:, None] * scm + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def fixed(A, B, C, M, N, K: tl.constexpr, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(tl.load(A + rm[:, None] * sam + rk[None, :]), tl.load(B + rk[:, None] * sbk + rn[None, :]), acc)
    tl.store(C + rm[:, None] * scm + rn[None, :], acc)


def check(kernel, M, N, K, blocks=(128, 32, 32), out=torch.float16, first=0, each=1, **options):
    BM, BN, BK = blocks
    a, b = (torch.randint(-3, 4, size, device='cuda').to(torch.float16) for size in ((M, max(K, 16)), (max(K, 16), N)))
    c = torch.full((M, N), 7.0, device='cuda', dtype=out)
    tiles = triton.cdiv(M, BM), triton.cdiv(N, BN)
    more = {up: dict(FIRST=first, EACH=each), down: dict(GROUP=2), fixed: {}}[kernel]
    kernel[(2 * tiles[0], tiles[1] // 2) if kernel is down else tiles](
        a, b, c, M, N, K, a.stride(0), b.stride(0), c.stride(0), BM=BM, BN=BN, BK=BK, **more, **options)
    want = torch.full((M, N), first, device='cuda', dtype=torch.float64)
    for k in range(0, K, BK):
        want = (want + torch.matmul(a[:, k:min(k + BK, K)].double(), b[k:min(k + BK, K)].double())) * each
    torch.testing.assert_close(c.double(), want, rtol=0, atol=0)


torch.manual_seed(0)
for K in [0, 32, 64, 96, 192]:
    for warps in [4, 8]:
        check(up, 384, 128, K, num_warps=warps)
        check(down, 256, 192, K, num_warps=warps)
        if K:
            check(fixed, 384, 96, K, num_warps=warps)
    for stages in [1, 2, 4]:
        check(down, 512, 64, K, num_warps=8, num_stages=stages)
check(up, 300, 120, 40, num_warps=8)
check(down, 384, 128, 64, num_warps=8, out=torch.float32)
check(up, 384, 128, 64, first=3, num_warps=8)
check(up, 384, 128, 64, each=2, num_warps=8)
check(up, 256, 640, 64, blocks=(64, 128, 32), num_warps=8)  # pairs of CTAs share columns
check(up, 128, 32, 64, num_warps=8)                         # the grid has only one tile
for K in [0, 32, 64, 160]:  # pairs of CTAs
    check(up, 512, 384, K, blocks=(128, 128, 32), num_warps=8)
for K in [0, 32, 64, 128, 160, 192]:  # stores a tile in four pieces while the next tile is multiplied
    check(up, 384, 128, K, blocks=(128, 128, 32), out=torch.float32, num_warps=8)
check(up, 300, 200, 64, blocks=(128, 256, 32), num_warps=8, num_stages=4)
check(down, 512, 256, 96, blocks=(256, 128, 32), num_warps=8)
print('ok')
