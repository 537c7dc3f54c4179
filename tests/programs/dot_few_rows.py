# runs: interpreter emulator cuda triton triton-interpret
# Tests products with few rows, as in text generation: for a dot with 16 rows, warpgroups compute the transposed product.
# Tests weights in both orders, sums over a loop and in a single dot, sums that are split and added up in memory, and sums in f16.
import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def few_rows(A, B, C, bias, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
             F16: tl.constexpr, BIAS: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float16 if F16 else tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(A + m[:, None] * sam + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None] * sbk + n[None, :] * sbn, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, out_dtype=acc.dtype)
    if BIAS:
        acc += tl.load(bias + n, mask=n < N, other=0.0)[None, :].to(acc.dtype)
    tl.store(C + m[:, None] * scm + n[None, :], acc.to(C.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def split(A, B, C, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(tl.cdiv(K, BK * SPLIT)):
        k = (i * SPLIT + tl.program_id(1)) * BK + tl.arange(0, BK)
        a = tl.load(A + m[:, None] * sam + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None] * sbk + n[None, :] * sbn, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    tl.atomic_add(C + m[:, None] * scm + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def written_transposed(A, B, C, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BN, BM), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(A + m[:, None] * sam + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None] * sbk + n[None, :] * sbn, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(tl.trans(b), tl.trans(a))
    tl.store(C + m[:, None] * scm + n[None, :], tl.trans(acc), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def once(A, B, C, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    a = tl.load(A + m[:, None] * BK + k[None, :])
    b = tl.load(B + k[:, None] * BN + n[None, :])
    seen = tl.load(C + m[:, None] * BN + n[None, :])
    tl.store(C + m[:, None] * BN + n[None, :], tl.dot(a, b, seen))


checked = 0


def check(what, got, expected):
    global checked
    checked += 1
    worst = (got.float() - expected).abs().max().item()
    if not worst < 0.02:
        print(f"{what}: wrong by {worst}")


def operands(m, n, k, transposed, dtype):
    a = (torch.randn(m, k + 8, device=DEVICE) / 4).to(dtype)[:, :k]
    b = (torch.randn(n, k + 8, device=DEVICE) / 4).to(dtype)[:, :k].t() if transposed else \
        (torch.randn(k, n + 8, device=DEVICE) / 4).to(dtype)[:, :n]
    return a, b, a.float() @ b.float()


torch.manual_seed(0)
bias = torch.randn(160, device=DEVICE)
for dtype in (torch.float16, torch.bfloat16):
    for m, n, k, bm, bn, bk, warps in ((1, 128, 96, 16, 64, 32, 4), (8, 160, 72, 16, 128, 64, 4), (16, 67, 33, 16, 64, 32, 8),
                                       (31, 160, 64, 32, 128, 32, 8)):
        for transposed in (False, True):
            a, b, expected = operands(m, n, k, transposed, dtype)
            for f16, with_bias in ((0, 0), (0, 1), (1, 0)):
                if f16 and dtype != torch.float16:
                    continue
                c = torch.full((m, n + 8), 7, device=DEVICE, dtype=torch.float16)[:, :n]
                few_rows[(triton.cdiv(n, bn),)](a, b, c, bias, m, n, k, a.stride(0), b.stride(0), b.stride(1), c.stride(0), bm, bn,
                                                bk, f16, with_bias, num_warps=warps)
                check(f"{dtype} {m}x{n}x{k} {transposed} {f16} {with_bias}", c, expected + bias[:n] if with_bias else expected)
            c = torch.zeros(m, n, device=DEVICE)
            split[(triton.cdiv(n, bn), 2)](a, b, c, m, n, k, a.stride(0), b.stride(0), b.stride(1), c.stride(0), bm, bn, bk, 2,
                                           num_warps=warps)
            check(f"{dtype} {m}x{n}x{k} {transposed} split", c, expected)
            written_transposed[(triton.cdiv(n, bn),)](a, b, c, m, n, k, a.stride(0), b.stride(0), b.stride(1), c.stride(0), bm, bn, bk,
                                                      num_warps=warps)
            check(f"{dtype} {m}x{n}x{k} {transposed} written transposed", c, expected)
a = torch.randn(16, 64, device=DEVICE).half()
b = torch.randn(64, 128, device=DEVICE).half()
c = torch.randn(16, 128, device=DEVICE)
expected = c + a.float() @ b.float()
once[(1,)](a, b, c, 16, 128, 64)
check("once", c, expected)
print(checked, "products")

# expect:
# 73 products
