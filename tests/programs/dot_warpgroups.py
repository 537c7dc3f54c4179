# runs: interpreter emulator cuda (not triton-interpret: it multiplies bfloat16 as integers)
# Tests tl.dot on warpgroups (64 rows and more): types, major orders of operands, splits of rows or columns among warpgroups, strides, chains.
import torch
import triton
import triton.language as tl


@triton.jit
def matmul(A, B, C, M, N, K, sam, sak, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           ACC: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a = A + rm[:, None] * sam + rk[None, :] * sak
    b = B + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=ACC)
    for k in range(0, K, BK):
        x = tl.load(a, mask=(rm[:, None] < M) & (rk[None, :] < K - k), other=0)
        y = tl.load(b, mask=(rk[:, None] < K - k) & (rn[None, :] < N), other=0)
        acc = tl.dot(x, y, acc, out_dtype=ACC)
        a += BK * sak
        b += BK * sbk
    tl.store(C + rm[:, None] * scm + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def operand(rows, columns, dtype, transposed):
    x = torch.randint(-8, 8, (columns, rows) if transposed else (rows, columns), device='cuda')
    x = x.to(dtype)
    return x.t() if transposed else x


# The operands are small integers, so that the sums of every type are exact.
def check(M, N, K, blocks, dtype=torch.float16, ta=False, tb=False, warps=4, dtype_b=None):
    torch.manual_seed(M + N + K)
    a, b = operand(M, K, dtype, ta), operand(K, N, dtype_b or dtype, tb)
    acc, out = (tl.int32, torch.int32) if dtype == torch.int8 else (tl.float32, torch.float32)
    c = torch.zeros(M, N, device='cuda', dtype=out)
    BM, BN, BK = blocks
    matmul[(triton.cdiv(M, BM), triton.cdiv(N, BN))](
        a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), BM=BM, BN=BN, BK=BK, ACC=acc,
        num_warps=warps)
    want = torch.matmul(a.to(torch.float64), b.to(torch.float64))
    torch.testing.assert_close(c.to(torch.float64), want, rtol=0, atol=0)


# Types, and all four combinations of major orders; wgmma reads each of them for 16-bit types, but only one of them for other types.
for ta in [False, True]:
    for tb in [False, True]:
        check(64, 32, 64, (64, 32, 32), ta=ta, tb=tb)
        check(64, 32, 64, (64, 32, 64), dtype=torch.bfloat16, ta=ta, tb=tb)
        check(64, 32, 32, (64, 32, 16), dtype=torch.float32, ta=ta, tb=tb)
        check(64, 32, 64, (64, 32, 32), dtype=torch.int8, ta=ta, tb=tb)
        check(64, 32, 64, (64, 32, 64), dtype=torch.float8_e4m3fn, ta=ta, tb=tb)
check(64, 32, 64, (64, 32, 64), dtype=torch.float8_e5m2)
check(64, 32, 64, (64, 32, 64), dtype=torch.float8_e5m2, dtype_b=torch.float8_e4m3fn)
check(64, 32, 64, (64, 32, 64), dtype=torch.float8_e4m3fn, dtype_b=torch.float8_e5m2, tb=True)

# One and many k-steps of an instruction; rows narrower than the widest swizzle, and rows of several swizzle widths.
check(64, 16, 16, (64, 16, 16))
check(64, 16, 128, (64, 16, 128), tb=True)
check(64, 128, 128, (64, 128, 128))
check(128, 64, 128, (128, 64, 128), ta=True, tb=True)
check(64, 256, 32, (64, 256, 16))
check(64, 16, 64, (64, 16, 64), dtype=torch.float32, tb=True)
check(64, 16, 256, (64, 16, 256), dtype=torch.int8, tb=True)

# Warpgroups split rows, columns or both; one warpgroup has the rows of several wgmma instructions.
check(128, 64, 32, (128, 64, 32), warps=8)
check(64, 64, 32, (64, 64, 32), warps=8)
check(64, 64, 32, (64, 64, 32), warps=8, ta=True, tb=True)
check(64, 256, 32, (64, 256, 32), warps=8)
check(128, 64, 32, (128, 64, 32), warps=16)
check(256, 32, 64, (256, 32, 64))
check(256, 32, 64, (256, 32, 64), warps=8, ta=True)

# Sizes that are not multiples of the blocks, and strides that are not multiples of a vector.
check(100, 130, 70, (128, 64, 32))
check(70, 90, 33, (64, 64, 32), ta=True)
check(130, 140, 40, (128, 128, 32), warps=8, tb=True)
check(77, 33, 50, (64, 32, 16), dtype=torch.float32, tb=True)
check(70, 39, 71, (64, 32, 32), dtype=torch.int8)


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
        acc = tl.dot(p.to(V.dtype.element_ty), v, acc * scale[:, None])
        most = now
    tl.store(O + rm[:, None] * D + rd[None, :], acc / total[:, None])


# The second dot takes the first dot's result from registers.
for N, D, BM, BN, warps, dtype in [(128, 32, 64, 32, 4, torch.float16), (128, 64, 128, 64, 8, torch.bfloat16),
                                   (128, 64, 64, 32, 8, torch.float16), (128, 32, 128, 64, 4, torch.float16),
                                   (128, 32, 64, 32, 4, torch.float32)]:
    torch.manual_seed(N + D)
    q, k, v = [(torch.randn(N, D, device='cuda') * 0.5).to(dtype) for _ in range(3)]
    o = torch.zeros(N, D, device='cuda')
    attention[(N // BM,)](q, k, v, o, N, D=D, BM=BM, BN=BN, num_warps=warps)
    s = torch.matmul(q.float(), k.float().t())
    want = torch.matmul(torch.softmax(s, 1), v.float())
    torch.testing.assert_close(o, want, rtol=2e-2, atol=2e-2)


@triton.jit
def chain(A, B, C, O, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr):
    rm, rk, rn = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    a = tl.load(A + rm[:, None] * K + rk[None, :])
    b = tl.load(B + rk[:, None] * N + rn[None, :])
    c = tl.load(C + rn[:, None] * N + rn[None, :])
    x = tl.dot(a, b)
    y = tl.dot(x.to(tl.float16), c) + tl.dot(a, b)
    z = tl.dot(c, tl.trans(x).to(tl.float16))
    tl.store(O + rm[:, None] * N + rn[None, :], y + tl.trans(z))


@triton.jit
def turned(A, B, C, O, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr):
    rm, rk, rn = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    a = tl.load(A + rm[:, None] * K + rk[None, :])
    b = tl.load(B + rk[:, None] * N + rn[None, :])
    c = tl.load(C + rn[:, None] * N + rn[None, :])
    x = tl.dot(a, b)
    tl.store(O + rm[:, None] * N + rn[None, :], tl.dot(tl.trans(x).to(tl.float16), c))


# A sum that is used twice, and results of dots as either operand of another dot.
a, b, c = [torch.randint(-2, 3, s, device='cuda').to(torch.float16) for s in [(64, 32), (32, 64), (64, 64)]]
o = torch.zeros(64, 64, device='cuda')
chain[(1,)](a, b, c, o, M=64, K=32, N=64)
x = torch.matmul(a.double(), b.double())
torch.testing.assert_close(o.double(), torch.matmul(x, c.double()) + x + torch.matmul(c.double(), x.t()).t(), rtol=0, atol=0)
turned[(1,)](a, b, c, o, M=64, K=32, N=64)
torch.testing.assert_close(o.double(), torch.matmul(x.t(), c.double()), rtol=0, atol=0)
print('ok')
