# runs: interpreter emulator cuda triton (not triton-interpret: it cannot access rows before a tensor's first row)
# Tests dots whose operands begin and end at rows that are loaded from memory: segments of a tensor, given by ends or lengths, empty
# segments, segments that begin before the pointer, 64-bit bounds, blocks of B whose number is loaded, and an end beyond all rows.
import torch
import triton
import triton.language as tl


@triton.jit
def by_ends(A, B, C, OFFS, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    e = tl.program_id(2)
    lo = tl.load(OFFS + e)
    hi = tl.load(OFFS + e + 1)
    m = lo + tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        a = tl.load(A + m[:, None] * K + (i + k)[None, :], mask=m[:, None] < hi, other=0.0)
        b = tl.load(B + e * K * N + (i + k)[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * N + n[None, :], acc, mask=m[:, None] < hi)


@triton.jit
def by_lengths(A, B, C, STARTS, LENGTHS, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    e = tl.program_id(2)
    length = tl.load(LENGTHS + e)
    if tl.program_id(0) * BM >= length:
        return
    A += tl.load(STARTS + e) * K
    C += tl.load(STARTS + e) * N
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        a = tl.load(A + m[:, None] * K + (i + k)[None, :], mask=m[:, None] < length, other=0.0)
        b = tl.load(B + e * K * N + (i + k)[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * N + n[None, :], acc, mask=m[:, None] < length)


@triton.jit
def by_blocks(A, B, C, EXPERT, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    e = tl.load(EXPERT + tl.program_id(0))
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        a = tl.load(A + m[:, None] * K + (i + k)[None, :])
        b = tl.load(B + e * K * N + (i + k)[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * N + n[None, :], acc)


def halves(*shape):
    return torch.randn(shape, device='cuda', dtype=torch.float32).to(torch.float16)


def close(found, want, what):
    assert torch.max(torch.abs(found - want)) < 0.01 * torch.max(torch.abs(want)), what


def check_ends(offsets, before, K, BM, BN, BK, warps, dtype):
    """Returns the rows `offsets` of the tensor, which begins `before` rows after the start of the memory."""
    N, experts = 2 * BN, len(offsets) - 1
    rows = before + max(offsets)
    a, b, c = halves(rows, K), halves(experts, K, N), torch.full((rows, N), 7.0, device='cuda', dtype=torch.float32)
    where = torch.tensor(offsets, device='cuda', dtype=dtype)
    tiles = max(triton.cdiv(offsets[e + 1] - offsets[e], BM) for e in range(experts)) + 1
    by_ends[(tiles, 2, experts)](a[before:], b, c[before:], where, N, K, BM, BN, BK, num_warps=warps)
    want = torch.full((rows, N), 7.0, device='cuda', dtype=torch.float32)
    for e in range(experts):
        lo, hi = before + offsets[e], before + offsets[e + 1]
        if hi > lo:
            want[lo:hi] = torch.matmul(a[lo:hi].float(), b[e].float())
    close(c, want, ('ends', offsets, before, K, BM, BN, BK, warps))


def check_lengths(lengths, K, BM, BN, BK, warps):
    N, experts = 2 * BN, len(lengths)
    starts = [sum(lengths[:e]) for e in range(experts)]
    rows = sum(lengths)
    a, b, c = halves(rows, K), halves(experts, K, N), torch.full((rows, N), 7.0, device='cuda', dtype=torch.float32)
    by_lengths[(triton.cdiv(max(lengths), BM), 2, experts)](
        a, b, c, torch.tensor(starts, device='cuda', dtype=torch.int32), torch.tensor(lengths, device='cuda', dtype=torch.int32),
        N, K, BM, BN, BK, num_warps=warps)
    want = torch.full((rows, N), 7.0, device='cuda', dtype=torch.float32)
    for e in range(experts):
        if lengths[e]:
            x = a[starts[e]:starts[e] + lengths[e]]
            want[starts[e]:starts[e] + lengths[e]] = torch.matmul(x.float(), b[e].float())
    close(c, want, ('lengths', lengths, K, BM, BN, BK, warps))


def check_blocks(order, dtype, K, BM, BN, BK, warps):
    N, rows = 2 * BN, len(order) * BM
    a, b, c = halves(rows, K), halves(max(order) + 1, K, N), torch.zeros((rows, N), device='cuda', dtype=torch.float32)
    by_blocks[(len(order), 2)](a, b, c, torch.tensor(order, device='cuda', dtype=dtype), N, K, BM, BN, BK, num_warps=warps)
    want = torch.cat([torch.matmul(a[i * BM:(i + 1) * BM].float(), b[e].float()) for i, e in enumerate(order)])
    close(c, want, ('blocks', order, K, BM, BN, BK, warps))


check_ends([0, 70, 70, 200], 0, 512, 64, 64, 64, 4, torch.int32)
check_ends([0, 130, 135], 0, 512, 128, 128, 64, 8, torch.int64)
check_ends([-40, 5, 64], 40, 512, 64, 64, 64, 4, torch.int32)
check_ends([3, 40], 0, 128, 64, 64, 64, 4, torch.int32)
check_lengths([64, 0, 1, 90], 512, 64, 64, 64, 4)
check_lengths([200, 30], 576, 128, 64, 64, 8)
check_blocks([2, 0, 1, 2], torch.int32, 512, 64, 64, 64, 4)
check_blocks([1, 1, 0], torch.int64, 512, 128, 64, 64, 4)

# The end is beyond all rows, but no tile reaches it.
a, b, c = halves(64, 512), halves(1, 512, 64), torch.zeros((64, 64), device='cuda', dtype=torch.float32)
for end, dtype in ((2147483647, torch.int32), (9223372036854775807, torch.int64)):
    by_ends[(1, 1, 1)](a, b, c, torch.tensor([0, end], device='cuda', dtype=dtype), 64, 512, 64, 64, 64)
    close(c, torch.matmul(a.float(), b[0].float()), ('no end', end))
print("ok")

# expect:
# ok
