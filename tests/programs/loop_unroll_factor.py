# runs: interpreter emulator cuda triton triton-interpret
# Tests tl.range(..., loop_unroll_factor=N): every number of iterations with every factor,
# bounds and steps that are constant or not, counting up and down, carried values, stores
# in order, nested loops, and pipelined loops of dots, after which the remaining iterations run.
import torch
import triton
import triton.language as tl


@triton.jit
def orders(Y, Z, lo, hi, step, UP: tl.constexpr, FACTOR: tl.constexpr):
    n = 0
    last = -1
    if UP == 0:
        for i in tl.range(lo, hi, step, loop_unroll_factor=FACTOR):
            tl.store(Y + n, i)
            last = last * 3 + i
            n += 1
    elif UP == 1:
        for i in tl.range(lo, hi, 3, loop_unroll_factor=FACTOR):
            tl.store(Y + n, i)
            last = last * 3 + i
            n += 1
    else:
        for i in tl.range(hi, lo, -2, loop_unroll_factor=FACTOR):
            tl.store(Y + n, i)
            last = last * 3 + i
            n += 1
    tl.store(Z, n)
    tl.store(Z + 1, last)


@triton.jit
def known(Y, N: tl.constexpr, FACTOR: tl.constexpr):
    total = 0
    for i in tl.range(N, loop_unroll_factor=FACTOR):
        for k in tl.range(0, i, loop_unroll_factor=2):
            total += k * i
    tl.store(Y, total)


@triton.jit
def product(A, B, C, K, N: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr, MOVES: tl.constexpr, STAGES: tl.constexpr, FACTOR: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, N)
    k = tl.arange(0, BK)
    a = A + m[:, None] * K + k[None, :]
    b = B + k[:, None] * N + n[None, :]
    acc = tl.zeros([BM, N], tl.float32)
    for k0 in tl.range(0, K, BK, num_stages=STAGES, loop_unroll_factor=FACTOR):
        if MOVES:
            acc = tl.dot(tl.load(a), tl.load(b), acc)
            a += BK
            b += BK * N
        else:
            acc = tl.dot(tl.load(a + k0), tl.load(b + k0 * N), acc)
    tl.store(C + m[:, None] * N + n[None, :], acc)


@triton.jit
def last_product(A, B, C, K, N: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr, FACTOR: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, N)
    k = tl.arange(0, BK)
    product = tl.zeros([BM, N], tl.float32)
    for k0 in tl.range(0, K, BK, num_stages=2, loop_unroll_factor=FACTOR):
        product = tl.dot(tl.load(A + m[:, None] * K + k[None, :] + k0), tl.load(B + k[:, None] * N + n[None, :] + k0 * N))
    tl.store(C + m[:, None] * N + n[None, :], product)


for factor in (1, 2, 3, 4):
    for rounds in (0, 1, 2, 3, 4, 5, 7, 8):
        for up, step in ((0, 1), (0, 2), (1, 3), (2, -2)):
            lo, hi = 5, 5 + rounds * abs(step) - (1 if rounds and step != 1 else 0)
            y = torch.full((16,), -7, device='cuda', dtype=torch.int32)
            z = torch.zeros(2, device='cuda', dtype=torch.int32)
            orders[(1,)](y, z, lo, hi, step, up, factor)
            want = list(range(lo, hi, step)) if up < 2 else list(range(hi, lo, step))
            last = -1
            for i in want:
                last = last * 3 + i
            assert y.tolist() == want + [-7] * (16 - len(want)), (factor, rounds, step)
            assert z.tolist() == [len(want), last], (factor, rounds, step)

for n in (0, 1, 6, 7):
    y = torch.zeros(1, device='cuda', dtype=torch.int32)
    known[(1,)](y, n, 3)
    assert y.item() == sum(i * k for i in range(n) for k in range(i)), n

for warps, BM, N, rounds, stages, factor, moves in ((4, 64, 64, 5, 3, 2, False), (4, 64, 64, 8, 2, 4, True), (8, 128, 128, 7, 3, 3, False),
                                                    (1, 16, 16, 5, 3, 2, True), (2, 32, 32, 1, 3, 4, False), (4, 32, 64, 9, 4, 2, False)):
    torch.manual_seed(rounds)
    a = torch.randint(-4, 5, (2 * BM, rounds * 32), device='cuda').to(torch.float16)
    b = torch.randint(-4, 5, (rounds * 32, N), device='cuda').to(torch.float16)
    c = torch.zeros(2 * BM, N, device='cuda')
    product[(2,)](a, b, c, rounds * 32, N, BM, 32, moves, stages, factor, num_warps=warps)
    assert torch.equal(c, torch.matmul(a.to(torch.float32), b.to(torch.float32))), (warps, rounds, factor)

# Only the product of the last iteration is used.
for factor in (1, 2, 3):
    torch.manual_seed(factor)
    a = torch.randint(-4, 5, (64, 5 * 32), device='cuda').to(torch.float16)
    b = torch.randint(-4, 5, (5 * 32, 64), device='cuda').to(torch.float16)
    c = torch.zeros(64, 64, device='cuda')
    last_product[(1,)](a, b, c, 5 * 32, 64, 64, 32, factor)
    assert torch.equal(c, torch.matmul(a[:, -32:].to(torch.float32), b[-32:].to(torch.float32))), factor
