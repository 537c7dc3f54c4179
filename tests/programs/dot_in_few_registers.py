# runs: interpreter emulator cuda triton triton-interpret
# spills: the accumulators need all registers of a thread
# Tests dots whose widest wgmma needs more registers than a thread has: with 16 warps, with 8 warps if two CTAs share an SM, and if a
# producer and consumers divide the registers (the loop). ptxas fails if they do not fit ("insufficient registers to compile instruction").
import torch
import triton
import triton.language as tl


@triton.jit
def product(A, B, C, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, OUT: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(A + m[:, None] * K + k[None, :])
    b = tl.load(B + k[:, None] * N + n[None, :])
    tl.store(C + m[:, None] * N + n[None, :], tl.dot(a, b, out_dtype=OUT))


@triton.jit
def from_packed(A, B, S, Z, C, rounds, N, M: tl.constexpr, BN: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    k = tl.arange(0, K)
    a_at = A + m[:, None] * (rounds * K) + k[None, :]
    b_at = B + (k // 8)[:, None] * N + n[None, :]
    acc = tl.zeros((M, BN), dtype=tl.float32)
    for i in range(rounds):
        a = tl.load(a_at)
        packed = tl.load(b_at)
        scale = tl.load(S + i * N + n)
        zero = (tl.load(Z + i * (N // 8) + n // 8) >> (n % 8 * 4)) & 0xF
        b = ((packed >> ((k % 8) * 4)[:, None]) & 0xF) * scale[None, :] - (zero * scale)[None, :]
        acc += tl.dot(a, b.to(a.dtype))
        a_at += K
        b_at += (K // 8) * N
    tl.store(C + m[:, None] * N + n[None, :], acc)


sizes = [(128, 256, 16, torch.float16), (128, 256, 8, torch.int8), (128, 256, 32, torch.int8)]
if not triton.__version__.startswith('3.6'):  # ptxas refuses Triton 3.6's PTX for this kernel: error C7602, 128 registers where 154 are needed
    sizes.append((256, 256, 16, torch.float16))
for M, N, warps, dtype in sizes:
    torch.manual_seed(0)
    a = torch.randint(-8, 8, (M, 32), device='cuda').to(dtype)
    b = torch.randint(-8, 8, (32, N), device='cuda').to(dtype)
    c = torch.empty(M, N, device='cuda', dtype=torch.int32 if dtype == torch.int8 else torch.float32)
    product[(1,)](a, b, c, M, N, 32, tl.int32 if dtype == torch.int8 else tl.float32, num_warps=warps)
    assert torch.equal(c.to(torch.float32), torch.matmul(a.to(torch.float32), b.to(torch.float32))), (M, N, warps)


def pack(x):  # packs eight 4-bit numbers of consecutive rows into 32 bits
    packed = torch.zeros(x.shape[0] // 8, x.shape[1], dtype=torch.int64, device='cuda')
    for i in range(8):
        packed += x[i::8, :] * 16**i
    return torch.where(packed >= 2**31, packed - 2**32, packed).to(torch.int32)


rounds, N = 6, 512
a = torch.randint(-4, 5, (64, rounds * 32), device='cuda').to(torch.float16)
b = torch.randint(0, 16, (rounds * 32, N), device='cuda')
zeros = torch.randint(0, 16, (N, rounds), device='cuda')
scales = torch.randint(1, 3, (rounds, N), device='cuda').to(torch.float16)
c = torch.empty(64, N, device='cuda', dtype=torch.float32)
from_packed[(N // 256,)](a, pack(b), scales, pack(zeros).T.contiguous(), c, rounds, N, 64, 256, 32, num_warps=4, num_stages=4)
wanted = torch.zeros(64, N, device='cuda', dtype=torch.float32)
for i in range(rounds):
    part = (b[32 * i:32 * i + 32, :] - zeros[:, i][None, :]).to(torch.float32) * scales[i].to(torch.float32)[None, :]
    wanted += torch.matmul(a[:, 32 * i:32 * i + 32].to(torch.float32), part)
assert torch.equal(c, wanted)
