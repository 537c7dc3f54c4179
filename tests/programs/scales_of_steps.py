# runs: interpreter emulator cuda (not triton: it has no launch option fp_reassoc)
# Tests a product of fp8 with one row of scales for each step of the loop, so that the scales' addresses advance by a row. The
# loop runs iterations in pairs, with one or two left over; it carries the pointers of the scales.
import torch
import triton
import triton.language as tl


@triton.jit
def product(A, B, SA, SB, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        a = tl.load(A + m[:, None] * K + (i * BK + k)[None, :])
        b = tl.load(B + n[None, :] * K + (i * BK + k)[:, None])
        sa = tl.load(SA + i * M + m)
        sb = tl.load(SB + i * (N // BN) + n // BN)
        acc += tl.dot(a, b) * sa[:, None] * sb[None, :]
    tl.store(C + m[:, None] * N + n[None, :], acc)


torch.manual_seed(0)
M, N = 128, 256
for K in (128, 256, 384, 640):
    a = torch.randn((M, K), device='cuda').to(torch.float8_e4m3fn)
    b = torch.randn((N, K), device='cuda').to(torch.float8_e4m3fn)
    sa, sb = torch.rand((K // 128, M), device='cuda'), torch.rand((K // 128, N // 128), device='cuda')
    expected = torch.zeros((M, N), device='cuda')
    for i in range(K // 128):
        part = a[:, 128 * i:128 * (i + 1)].float() @ b[:, 128 * i:128 * (i + 1)].float().t() * sa[i][:, None]
        for j in range(N // 128):
            expected[:, 128 * j:128 * (j + 1)] += part[:, 128 * j:128 * (j + 1)] * sb[i, j]
    for reassoc in (False, True):
        c = torch.zeros((M, N), device='cuda')
        options = {'fp_reassoc': True} if reassoc else {}
        product[(N // 128, M // 128)](a, b, sa, sb, c, M, N, K, 128, 128, 128, num_warps=8, num_stages=4, **options)
        error = float(torch.max(torch.abs(c - expected)) / torch.max(torch.abs(expected)))
        assert error < 0.01, (K, reassoc, error)
print('equal')

# expect:
# equal
