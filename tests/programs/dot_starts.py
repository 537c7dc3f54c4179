# runs: interpreter emulator cuda triton (not triton-interpret: a range from or to what the kernel computes fails there with NumPy 2)
# Products of tiles that begin anywhere in their rows: at a place that an argument gives, that the program's number gives, and that both give.
# A tensor map takes boxes from multiples of 16 bytes only, so these are its guards, and its refusals.
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
print("done")
