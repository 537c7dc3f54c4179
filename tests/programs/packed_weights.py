# runs: interpreter emulator cuda triton triton-interpret
# Tests dots whose operand is computed from packed weights: four bits each, eight in a word along K or along N, with scales for groups of weights.
import torch, triton
import triton.language as tl

@triton.jit
def along_k(A, QW, S, C, M, N, K, G: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        a = tl.load(A + m[:, None] * K + (i + k)[None, :], mask=m[:, None] < M, other=0.0)
        q = tl.load(QW + ((i + k)[:, None] // 8) * N + n[None, :])
        s = tl.load(S + ((i + k)[:, None] // G) * N + n[None, :])
        w = ((q >> ((k % 8) * 4)[:, None]) & 0xF) - 8
        acc = tl.dot(a, w.to(tl.float16) * s, acc)
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=m[:, None] < M)

@triton.jit
def along_n(A, QW, S, C, M, N, K, G: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    shift = (n % 8) * 4
    for i in range(0, tl.cdiv(K, BK)):
        k = i * BK + tl.arange(0, BK)
        a = tl.load(A + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        q = tl.load(QW + k[:, None] * (N // 8) + (n // 8)[None, :], mask=k[:, None] < K, other=0)
        s = tl.load(S + (k // G)[:, None] * N + n[None, :], mask=k[:, None] < K, other=0.0)
        w = ((q >> shift[None, :]) & 0xF) - 8
        acc = tl.dot(a, w.to(tl.float16) * s, acc)
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=m[:, None] < M)

@triton.jit
def carried(A, QW, S, C, M, N, K, G: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = A + m[:, None] * K + k[None, :]
    q_ptrs = QW + (k[:, None] // 8) * N + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=m[:, None] < M, other=0.0)
        w = ((tl.load(q_ptrs) >> ((k % 8) * 4)[:, None]) & 0xF) - 8
        s = tl.load(S + i * BK // G * N + n)
        acc = tl.dot(a, w.to(tl.float16) * s[None, :], acc)
        a_ptrs += BK
        q_ptrs += BK // 8 * N
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=m[:, None] < M)

torch.manual_seed(0)
def check(kernel, dim, M, K, G, BM, warps, stages):
    N = 64
    a = (torch.randn(M, K, device="cuda") / 4).to(torch.float16)
    w = torch.randint(0, 16, (K, N), device="cuda", dtype=torch.int32)
    s = (torch.rand(triton.cdiv(K, G), N, device="cuda") / 8).half()
    packed = torch.zeros(K // 8, N, dtype=torch.int32, device="cuda") if dim == 0 else torch.zeros(K, N // 8, dtype=torch.int32, device="cuda")
    for i in range(8):
        packed |= (w[i::8, :] if dim == 0 else w[:, i::8]) << (4 * i)
    c = torch.empty(M, N, device="cuda", dtype=torch.float16)
    kernel[(triton.cdiv(M, BM), 1)](a, packed, s, c, M, N, K, G, BM, 64, 64, num_warps=warps, num_stages=stages)
    weights = ((w - 8).half() * s.repeat_interleave(G, dim=0)[:K]).float()
    torch.testing.assert_close(c, torch.matmul(a.float(), weights).half(), atol=3e-2, rtol=2e-2)

for M, BM in ((16, 16), (64, 64), (100, 128)):
    check(along_k, 0, M, 320, 128, BM, 4, 3)
check(along_k, 0, 16, 192, 16, 16, 8, 2)
check(along_k, 0, 128, 256, 64, 128, 8, 3)
check(along_k, 0, 40, 128, 8, 64, 8, 4)
check(carried, 0, 16, 320, 128, 16, 4, 3)
check(carried, 0, 64, 320, 128, 64, 4, 3)
check(along_n, 1, 16, 168, 56, 16, 4, 3)
check(along_n, 1, 64, 192, 64, 64, 4, 3)
print("ok")
