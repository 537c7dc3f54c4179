# runs: interpreter emulator cuda triton triton-interpret
# Tests epilogues of a product: a bias for columns, scales for rows, and activations with exponentials.
import torch
import triton
import triton.language as tl


@triton.jit
def gelu(x):
    return x * tl.sigmoid(1.5957691216 * (x + 0.044715 * x * x * x))


@triton.jit
def product(A, B, C, Bias, Scale, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACTIVATION: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(A + rm[:, None] * sam + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        b = tl.load(B + rk[:, None] * sbk + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    acc *= tl.load(Scale + rm, mask=rm < M, other=0.0)[:, None]
    acc += tl.load(Bias + rn, mask=rn < N, other=0.0).to(tl.float32)[None, :]
    if ACTIVATION == 'gelu':
        acc = gelu(acc)
    if ACTIVATION == 'silu':
        acc = acc / (1.0 + tl.exp(-acc))
    if ACTIVATION == 'sigmoid':
        acc = 1 / (tl.exp2(-acc) + 1.0)
    tl.store(C + rm[:, None] * scm + rn[None, :], acc.to(C.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


def check(activation, M, N, K, blocks=(128, 64, 32), out=torch.float16, **options):
    a, b = (torch.randn(size, device='cuda').to(torch.float16) for size in ((M, K), (K, N)))
    bias, scale = torch.randn(N, device='cuda').to(torch.float16), torch.randn(M, device='cuda')
    c = torch.full((M, N), 7.0, device='cuda', dtype=out)
    product[(triton.cdiv(M, blocks[0]), triton.cdiv(N, blocks[1]))](
        a, b, c, bias, scale, M, N, K, a.stride(0), b.stride(0), c.stride(0), *blocks, ACTIVATION=activation, **options)
    x = torch.matmul(a.double(), b.double()) * scale.double()[:, None] + bias.double()[None, :]
    want = {'gelu': lambda: x * torch.sigmoid(1.5957691216 * (x + 0.044715 * x * x * x)), 'silu': lambda: x * torch.sigmoid(x),
            'sigmoid': lambda: 1 / (torch.exp(-0.6931471805599453 * x) + 1), 'none': lambda: x}[activation]()
    torch.testing.assert_close(c.double(), want, rtol=2e-3, atol=2e-3)


@triton.jit
def sigmoids(X, Y, Z, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i)
    tl.store(Y + i, 1.0 / (1.0 + tl.exp(-x)))
    tl.store(Z + i, tl.exp(-x) - 1.0)


torch.manual_seed(0)
for activation in ['gelu', 'silu', 'sigmoid', 'none']:
    check(activation, 384, 128, 96, num_warps=8)
    check(activation, 200, 104, 64, num_warps=4)
check('gelu', 384, 256, 64, blocks=(128, 256, 32), num_warps=8)
check('gelu', 640, 128, 128, blocks=(128, 128, 32), num_warps=8)  # stored in pieces while the next tile is multiplied
check('gelu', 300, 128, 160, blocks=(128, 128, 32), out=torch.float32, num_warps=8)

# Arguments at which the power underflows, arguments at which it overflows, and arguments at which only the quotient is small
x = torch.tensor([0.0, -0.0, 1.0, -1.0, 80.0, 87.0, 88.0, 100.0, 104.0, 1e4, float('inf'), -80.0, -87.0, -88.0, -88.7, -89.0, -100.0, -1e4,
                  -float('inf'), float('nan'), 1e-40, -1e-40, 20.0, -20.0, 5.0, -5.0, 0.5, -0.5, 3.0, -3.0, 50.0, -50.0], device='cuda')
y, z = torch.empty_like(x), torch.empty_like(x)
sigmoids[(1, )](x, y, z, 32)
torch.testing.assert_close(y, (1 / (1 + torch.exp(-x.double()))).float(), rtol=1e-5, atol=1e-37, equal_nan=True)
torch.testing.assert_close(z, (torch.exp(-x.double()) - 1).float(), rtol=1e-5, atol=1e-6, equal_nan=True)
print('ok')
