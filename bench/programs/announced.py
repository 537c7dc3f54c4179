"""announced.py: launches the announcement's three kernels once or twice; bench/baselines/announced.txt has their costs in the emulator.

    neso bench bench/programs/announced.py --counts --baseline bench/baselines/announced.txt

fails if a count is higher than in the file, or exceeds a bound in this program, and names the kernel and line. A change that lowers the
costs, or raises them for a good reason, must write a new file with --record."""
import torch
import triton
import triton.language as tl

BLOCK: tl.constexpr = tl.constexpr(512)


# bench: add run.global_sectors <= 2307
# bench: add run.shared_wavefronts <= 0
@triton.jit
def add(X, Y, Z, N):
    # In Triton, each kernel instance
    # executes block operations on a
    # single thread: there is no construct
    # analogous to threadIdx
    pid = tl.program_id(0)
    idx = pid * BLOCK + tl.arange(0, BLOCK)
    mask = idx < N
    x = tl.load(X + idx, mask=mask)
    y = tl.load(Y + idx, mask=mask)
    tl.store(Z + idx, x + y, mask=mask)


# bench: softmax run.shared_conflicts <= 0
@triton.jit
def softmax(Y, stride_ym, stride_yn, X, stride_xm, stride_xn, M, N):
    m = tl.program_id(0)
    BLOCK_SIZE: tl.constexpr = 1024
    n = tl.arange(0, BLOCK_SIZE)
    X = X + m * stride_xm + n * stride_xn
    x = tl.load(X, mask=n < N, other=-float('inf'))
    z = x - tl.max(x, axis=0)
    num = tl.exp(z)
    denom = tl.sum(num, axis=0)
    y = num / denom
    Y = Y + m * stride_ym + n * stride_yn
    tl.store(Y, y, mask=n < N)


# bench: matmul run.shared_conflicts <= 2048
@triton.jit
def matmul(A, B, C, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, **META):
    BLOCK_M, GROUP_M = META['BLOCK_M'], META['GROUP_M']
    BLOCK_N = META['BLOCK_N']
    BLOCK_K = META['BLOCK_K']
    _pid_m = tl.program_id(0)
    _pid_n = tl.program_id(1)
    pid_m = _pid_m // GROUP_M
    pid_n = (_pid_n * GROUP_M) + (_pid_m % GROUP_M)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    A = A + (rm[:, None] * stride_am + rk[None, :] * stride_ak)
    B = B + (rk[:, None] * stride_bk + rn[None, :] * stride_bn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(K, 0, -BLOCK_K):
        a = tl.load(A)
        b = tl.load(B)
        acc += tl.dot(a, b)
        A += BLOCK_K * stride_ak
        B += BLOCK_K * stride_bk
    C = C + (rm[:, None] * stride_cm + rn[None, :] * stride_cn)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(C, acc, mask=mask)


n = 6152
x, y, z = torch.rand(n, device='cuda'), torch.rand(n, device='cuda'), torch.empty(n, device='cuda')
add[(triton.cdiv(n, 512),)](x, y, z, n)

X = torch.rand((32, 784), device='cuda')
Y = torch.empty_like(X)
softmax[(32,)](Y, Y.stride(0), Y.stride(1), X, X.stride(0), X.stride(1), 32, 784)

for size, tile in ((256, (128, 128, 64)), (128, (32, 32, 32))):
    a, b = (torch.rand((size, size), device='cuda').to(torch.float16) for _ in range(2))
    c = torch.empty((size, size), device='cuda', dtype=torch.float32)
    matmul[(size // tile[0], size // tile[1])](a, b, c, size, size, size, a.stride(0), a.stride(1), b.stride(0), b.stride(1),
                                               c.stride(0), c.stride(1), BLOCK_M=tile[0], GROUP_M=1, BLOCK_N=tile[1], BLOCK_K=tile[2])
