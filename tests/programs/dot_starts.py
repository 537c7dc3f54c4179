# runs: interpreter emulator cuda triton triton-interpret
# Tests products of tiles that begin at any position of their rows: an argument, the program id, or
# both determine the position. A tensor map loads only boxes that begin at a multiple of 16 bytes,
# and cannot store boxes that begin before the array. So launches need guards, or use no tensor maps.
import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def from_argument(A, B, C, sam, sbk, scm, K, at, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), at + tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K - at, BK):
        inside = start + k < K
        a = tl.load(A + m[:, None] * sam + (start + k)[None, :], mask=inside[None, :], other=0.0)
        b = tl.load(B + (start + k)[:, None] * sbk + n[None, :], mask=inside[:, None], other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * scm + (at + n)[None, :], acc)


@triton.jit
def from_program(A, B, C, sam, sbk, scm, K, STEP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.arange(0, BM), tl.arange(0, BN)
    first = tl.program_id(0) * STEP
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(first, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(A + m[:, None] * sam + k[None, :], mask=k[None, :] < K, other=0.0)
        b = tl.load(B + k[:, None] * sbk + n[None, :], mask=k[:, None] < K, other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(C + tl.program_id(0) * BM * scm + m[:, None] * scm + n[None, :], acc)


@triton.jit
def from_both(A, B, C, sam, sbk, scm, K, part, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.arange(0, BM), tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(tl.program_id(0) * part, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(A + m[:, None] * sam + k[None, :], mask=k[None, :] < K, other=0.0)
        b = tl.load(B + k[:, None] * sbk + n[None, :], mask=k[:, None] < K, other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(C + tl.program_id(0) * BM * scm + m[:, None] * scm + n[None, :], acc)


@triton.jit
def before(A, B, C, M, N, down, right, STEP: tl.constexpr, LEAST: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    product = tl.dot(tl.load(A + m[:, None] * BK + k[None, :]), tl.load(B + k[:, None] * BN + n[None, :]))
    rows, columns = down + m, right + tl.program_id(0) * STEP + n
    mask = (rows >= 0)[:, None] & (rows < M)[:, None] & (columns >= LEAST)[None, :] & (columns < N)[None, :]
    tl.store(C + rows[:, None] * N + columns[None, :], product, mask=mask)


def check(name, got, want):
    worst = (got.float() - want).abs().max().item()
    assert worst < 0.05, f"{name}: off by {worst}"


torch.manual_seed(0)
BM, BN, BK, K = 64, 64, 64, 200
a = torch.randn(BM, 256, device=DEVICE).to(torch.float16)
b = torch.randn(256, BN, device=DEVICE).to(torch.float16)
wide_a, wide_b = a.float(), b.float()

for at in (0, 8, 16, 24, 1, 4, 5, 13):
    c = torch.zeros(BM, 128, device=DEVICE, dtype=torch.float32)
    from_argument[(1,)](a, b, c, a.stride(0), b.stride(0), c.stride(0), K, at, BM, BN, BK)
    check(f"from the argument {at}", c[:, at:at + BN], wide_a[:, at:K] @ wide_b[at:K, :])
    assert (c[:, :at] == 0).all() and (c[:, at + BN:] == 0).all(), f"from the argument {at}: more was written"

for step in (64, 72, 65, 30, 4):
    c = torch.zeros(3 * BM, BN, device=DEVICE, dtype=torch.float32)
    from_program[(3,)](a, b, c, a.stride(0), b.stride(0), c.stride(0), K, step, BM, BN, BK)
    for pid in range(3):
        first = pid * step
        check(f"program {pid} of steps of {step}", c[pid * BM:(pid + 1) * BM], wide_a[:, first:K] @ wide_b[first:K, :])

for part in (64, 48, 100, 67, 33):
    c = torch.zeros(3 * BM, BN, device=DEVICE, dtype=torch.float32)
    from_both[(3,)](a, b, c, a.stride(0), b.stride(0), c.stride(0), K, part, BM, BN, BK)
    for pid in range(3):
        first = min(pid * part, K)
        check(f"part {pid} of {part}", c[pid * BM:(pid + 1) * BM], wide_a[:, first:K] @ wide_b[first:K, :])

product = wide_a[:, :BK] @ wide_b[:BK, :]
small_a, small_b = a[:, :BK].contiguous(), b[:BK, :].contiguous()
for least in (0, 8):
    for down, right in ((0, 0), (5, 8), (0, -8), (-3, 0), (-16, -16), (-64, 8), (4, -64), (90, 120)):
        c = torch.zeros(96, 128, device=DEVICE, dtype=torch.float32)
        before[(1,)](small_a, small_b, c, 96, 128, down, right, 64, least, BM, BN, BK)
        want = torch.zeros(96, 128, device=DEVICE, dtype=torch.float32)
        top, bottom, left, end = max(down, 0), min(down + BM, 96), max(right, least), min(right + BN, 128)
        if top < bottom and left < end:
            want[top:bottom, left:end] = product[top - down:bottom - down, left - right:end - right]
        check(f"at {down}, {right} from {least}", c, want)
c = torch.zeros(96, 128, device=DEVICE, dtype=torch.float32)
before[(2,)](small_a, small_b, c, 96, 128, 0, 0, -64, 0, BM, BN, BK)
check("a program to the left", c[:BM, :BN], product)
assert (c[BM:] == 0).all() and (c[:, BN:] == 0).all(), "a program to the left: more was written"
print("done")
