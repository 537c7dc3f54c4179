# runs: interpreter emulator cuda (not triton-interpret: it multiplies bfloat16 as integers)
# Tests tl.dot with and without tensor cores: types, shapes, transposed operands, masks, batches, and a dot whose operand is the result of a dot.
import torch
import triton
import triton.language as tl


@triton.jit
def matmul(A, B, C, M, N, K, sam, sak, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           ACC: tl.constexpr, PRECISION: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a = A + rm[:, None] * sam + rk[None, :] * sak
    b = B + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=ACC)
    for k in range(0, K, BK):
        x = tl.load(a, mask=(rm[:, None] < M) & (rk[None, :] < K - k), other=0)
        y = tl.load(b, mask=(rk[:, None] < K - k) & (rn[None, :] < N), other=0)
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=ACC)
        a += BK * sak
        b += BK * sbk
    tl.store(C + rm[:, None] * scm + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def operand(rows, columns, dtype, transposed):
    x = torch.randn(columns, rows, device='cuda') if transposed else torch.randn(rows, columns, device='cuda')
    if dtype == torch.int8:
        x = x * 30
    x = x.to(dtype)
    return x.t() if transposed else x


def check(M, N, K, blocks, dtype=torch.float16, acc=tl.float32, precision='tf32', ta=False, tb=False, warps=4, tol=1e-3):
    torch.manual_seed(M + N + K)
    a, b = operand(M, K, dtype, ta), operand(K, N, dtype, tb)
    out = {tl.float32: torch.float32, tl.float16: torch.float16, tl.int32: torch.int32, tl.float64: torch.float64}[acc]
    c = torch.zeros(M, N, device='cuda', dtype=out)
    BM, BN, BK = blocks
    matmul[(triton.cdiv(M, BM), triton.cdiv(N, BN))](
        a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), BM=BM, BN=BN, BK=BK, ACC=acc,
        PRECISION=precision, num_warps=warps)
    want = torch.matmul(a.to(torch.float64), b.to(torch.float64))
    torch.testing.assert_close(c.to(torch.float64), want, rtol=tol, atol=tol)


# Types.
check(64, 64, 64, (32, 32, 32))
check(64, 64, 64, (32, 32, 32), acc=tl.float16, tol=5e-2)
check(64, 64, 64, (32, 32, 32), dtype=torch.bfloat16)
check(64, 64, 64, (32, 32, 32), dtype=torch.float32, tol=5e-2)
check(64, 64, 64, (32, 32, 32), dtype=torch.float32, precision='ieee', tol=1e-4)
check(64, 64, 64, (32, 32, 16), dtype=torch.float64, acc=tl.float64, tol=1e-12)
check(64, 64, 64, (32, 32, 32), dtype=torch.int8, acc=tl.int32, tol=0)
check(32, 32, 48, (32, 32, 16), dtype=torch.int8, acc=tl.int32, tol=0)

# Shapes and numbers of warps; some shapes are not multiples of the blocks.
check(16, 16, 16, (16, 16, 16), warps=1)
check(16, 16, 16, (16, 16, 16))
check(50, 70, 90, (16, 64, 32))
check(50, 70, 90, (64, 16, 16), warps=8)
check(100, 130, 70, (128, 64, 32))
check(130, 140, 40, (128, 128, 32), warps=8)
check(70, 40, 33, (64, 32, 64), warps=4)
check(8, 20, 40, (8, 16, 16))
check(20, 20, 33, (16, 16, 16), dtype=torch.bfloat16, warps=1)
check(40, 40, 21, (32, 32, 16), dtype=torch.float32, warps=2, tol=5e-2)

# Transposed operands.
check(64, 48, 40, (32, 32, 32), ta=True)
check(64, 48, 40, (32, 32, 32), tb=True)
check(64, 48, 40, (32, 64, 16), ta=True, tb=True)
check(64, 48, 40, (32, 32, 32), dtype=torch.float32, ta=True, tb=True, tol=5e-2)
check(64, 48, 64, (32, 32, 32), dtype=torch.int8, acc=tl.int32, tb=True, tol=0)


@triton.jit
def attention(Q, K, V, O, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    q = tl.load(Q + rm[:, None] * D + rd[None, :])
    acc = tl.zeros((BM, D), dtype=tl.float32)
    most = tl.full((BM,), float('-inf'), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    for start in range(0, N, BN):
        rn = start + tl.arange(0, BN)
        k = tl.load(K + rn[:, None] * D + rd[None, :])
        v = tl.load(V + rn[:, None] * D + rd[None, :])
        s = tl.dot(q, tl.trans(k))
        now = tl.maximum(most, tl.max(s, 1))
        p = tl.exp(s - now[:, None])
        scale = tl.exp(most - now)
        total = total * scale + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v, acc * scale[:, None])
        most = now
    tl.store(O + rm[:, None] * D + rd[None, :], acc / total[:, None])


for N, D, BM, BN, warps in [(64, 32, 32, 32, 2), (128, 64, 64, 32, 4), (128, 16, 16, 64, 4)]:
    torch.manual_seed(N + D)
    q, k, v = [(torch.randn(N, D, device='cuda') * 0.5).to(torch.float16) for _ in range(3)]
    o = torch.zeros(N, D, device='cuda')
    attention[(N // BM,)](q, k, v, o, N, D=D, BM=BM, BN=BN, num_warps=warps)
    s = torch.matmul(q.float(), k.float().t())
    want = torch.matmul(torch.softmax(s, 1), v.float())
    torch.testing.assert_close(o, want, rtol=1e-2, atol=1e-2)


@triton.jit
def batched(A, B, C, S: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rs, rm, rn, rk = tl.arange(0, S), tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(A + rs[:, None, None] * M * K + rm[None, :, None] * K + rk[None, None, :])
    b = tl.load(B + rs[:, None, None] * K * N + rk[None, :, None] * N + rn[None, None, :])
    tl.store(C + rs[:, None, None] * M * N + rm[None, :, None] * N + rn[None, None, :], tl.dot(a, b))


for S, M, N, K, warps in [(4, 16, 16, 32, 4), (2, 32, 16, 16, 4), (8, 16, 32, 16, 2)]:
    torch.manual_seed(S + M)
    a = torch.randn(S, M, K, device='cuda').to(torch.float16)
    b = torch.randn(S, K, N, device='cuda').to(torch.float16)
    c = torch.zeros(S, M, N, device='cuda')
    batched[(1,)](a, b, c, S=S, M=M, N=N, K=K, num_warps=warps)
    for i in range(S):
        torch.testing.assert_close(c[i], torch.matmul(a[i].float(), b[i].float()), rtol=1e-3, atol=1e-3)


@triton.jit
def many_batches(A, B, C, RANK: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(A + i).reshape([2] * (RANK - 2) + [16, 32])
    b = tl.trans(tl.load(B + i).reshape([2] * (RANK - 2) + [16, 32]))
    c = tl.dot(a, b, acc=tl.full([2] * (RANK - 2) + [16, 16], 1.0, tl.float32))
    tl.store(C + tl.arange(0, N // 2), c.reshape([N // 2]))


for rank in [4, 5]:
    shape = [2] * (rank - 2) + [16, 32]
    a = torch.randint(-4, 5, shape, device='cuda').to(torch.float16)
    b = torch.randint(-4, 5, shape, device='cuda').to(torch.float16)
    c = torch.zeros([2] * (rank - 2) + [16, 16], device='cuda')
    many_batches[(1,)](a, b, c, RANK=rank, N=128 << rank)
    torch.testing.assert_close(c, 1 + torch.matmul(a.float(), b.float().transpose(-1, -2)), rtol=0, atol=0)

print("ok")

# expect:
# ok
