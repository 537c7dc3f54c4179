# runs: interpreter emulator cuda triton triton-interpret
# A CTA runs many programs, and pairs of CTAs share the tiles that both load. The ids of partners are adjacent or 2 or 4 apart, so pairs form
# blocks of 2, 4 or 8 ids. Tests grids of whole blocks, with an incomplete block, and of odd size, and pairs that share a tile only sometimes.
import torch
import triton
import triton.language as tl


@triton.jit
def grouped(A, B, C, M, N, K, sam, sak, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    m = tl.program_id(0) // GROUP
    n = tl.program_id(1) * GROUP + tl.program_id(0) % GROUP
    rm = m * BM + tl.arange(0, BM)
    rn = n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(A + rm[:, None] * sam + (k + rk)[None, :] * sak, mask=(rm[:, None] < M) & ((k + rk)[None, :] < K), other=0)
        b = tl.load(B + (k + rk)[:, None] * sbk + rn[None, :] * sbn, mask=((k + rk)[:, None] < K) & (rn[None, :] < N), other=0)
        acc = tl.dot(a, b, acc)
    tl.store(C + rm[:, None] * scm + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def in_one_axis(A, B, C, M, N, K, sam, sak, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    rows, in_group = tl.cdiv(M, BM), GROUP * tl.cdiv(N, BN)
    first = pid // in_group * GROUP
    size = min(rows - first, GROUP)
    rm = (first + pid % in_group % size) * BM + tl.arange(0, BM)
    rn = pid % in_group // size * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(A + rm[:, None] * sam + (k + rk)[None, :] * sak, mask=(rm[:, None] < M) & ((k + rk)[None, :] < K), other=0)
        b = tl.load(B + (k + rk)[:, None] * sbk + rn[None, :] * sbn, mask=((k + rk)[:, None] < K) & (rn[None, :] < N), other=0)
        acc = tl.dot(a, b, acc)
    tl.store(C + rm[:, None] * scm + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def operand(rows, columns, turned):
    x = torch.randint(-4, 5, (columns, rows) if turned else (rows, columns), device="cuda").to(torch.float16)
    return x.t() if turned else x


def check(kernel, M, N, K, blocks, group, warps=4, turned=(False, False)):
    BM, BN, BK = blocks
    a, b = operand(M, K, turned[0]), operand(K, N, turned[1])
    c = torch.zeros((M, N), device="cuda")
    rows, columns = triton.cdiv(M, BM), triton.cdiv(N, BN)
    grid = (rows * group, triton.cdiv(columns, group)) if kernel is grouped else (rows * columns,)
    kernel[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), BM, BN, BK, group, num_warps=warps)
    torch.testing.assert_close(c.to(torch.float64), torch.matmul(a.to(torch.float64), b.to(torch.float64)), rtol=0, atol=0)


# 16 programs are whole blocks of 2, 4 and 8 ids; 12 programs with partners 4 apart leave half a block; 9 programs form no pairs.
for group in [1, 2, 4]:
    check(grouped, 256, 256, 160, (64, 64, 64), group)
check(grouped, 192, 256, 96, (64, 64, 32), 4)
check(grouped, 192, 192, 96, (64, 64, 32), 1)
# Sizes that are not multiples of the tiles; some tiles are completely outside.
check(grouped, 200, 168, 88, (64, 64, 32), 2)
check(grouped, 200, 296, 88, (64, 64, 32), 4)
# All layouts of operands; pairs share the second or the first operand; one iteration, and a partial one.
for turned in [(False, True), (True, False), (True, True)]:
    check(grouped, 192, 128, 128, (64, 64, 64), 2, turned=turned)
check(grouped, 256, 512, 64, (64, 128, 32), 2)
check(grouped, 512, 192, 64, (128, 64, 32), 2, warps=8)
check(grouped, 256, 128, 16, (64, 64, 64), 2)
# The last group has fewer rows, so some pairs share nothing.
for group in [1, 2, 4, 8]:
    check(in_one_axis, 320, 128, 96, (64, 64, 32), group)
check(in_one_axis, 320, 192, 96, (64, 64, 32), 2)
check(in_one_axis, 280, 248, 72, (64, 128, 32), 2)
check(in_one_axis, 328, 248, 72, (128, 64, 32), 2, warps=8)
print("ok")

# expect:
# ok
