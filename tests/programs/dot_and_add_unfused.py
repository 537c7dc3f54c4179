# runs: interpreter emulator cuda (not triton: it fuses the addition anyway; not triton-interpret: it ignores the option)
# With enable_fp_fusion=False, a dot and an addition must round separately, and so must a product and an addition. The kernel adds
# 2^24 to a dot's sum, 12. Adding 2^24 first would lose the dot's products: each is 0.75, less than half of the last bit of 2^24.
import torch
import triton
import triton.language as tl


@triton.jit
def dot_and_add(A, B, C, D, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr):
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    at = n[:, None] * N + n[None, :]
    dot = tl.dot(tl.load(A + n[:, None] * K + k[None, :]), tl.load(B + k[:, None] * N + n[None, :]), input_precision=PRECISION)
    tl.store(D + at, dot + tl.load(C + at))


@triton.jit
def sums(A, B, D, N: tl.constexpr, K: tl.constexpr, ROUNDS: tl.constexpr):
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    acc = tl.full([N, N], 16777216.0, tl.float32)
    for _ in range(ROUNDS):
        acc += tl.dot(tl.load(A + n[:, None] * K + k[None, :]), tl.load(B + k[:, None] * N + n[None, :]))
    tl.store(D + n[:, None] * N + n[None, :], acc)


@triton.jit
def product_and_add(X, Y, Z, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, tl.load(X + i) * tl.load(Y + i) + tl.load(Z + i))


for N, dtype, precision in ((64, torch.float16, 'tf32'), (16, torch.float16, 'tf32'), (64, torch.float32, 'tf32'), (16, torch.float32, 'ieee')):
    a = torch.full((N, 16), 0.75, device='cuda', dtype=dtype)
    b = torch.ones(16, N, device='cuda', dtype=dtype)
    c = torch.full((N, N), 2.0 ** 24, device='cuda')
    d = torch.zeros(N, N, device='cuda')
    dot_and_add[(1,)](a, b, c, d, N, 16, precision, enable_fp_fusion=False)
    assert torch.equal(d, c + 12), (N, dtype, precision)
    if precision == 'tf32':
        sums[(1,)](a, b, d, N, 16, 3, enable_fp_fusion=False)
        assert torch.equal(d, c + 36), (N, dtype)

x = torch.full((128,), 1 + 2.0 ** -12, device='cuda')
o = torch.zeros(128, device='cuda')
product_and_add[(1,)](x, x, -(x * x), o, 128, enable_fp_fusion=False)
assert torch.equal(o, torch.zeros_like(o))
product_and_add[(1,)](x, x, -(x * x), o, 128)
