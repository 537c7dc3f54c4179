"""users.py: times kernels in the style of users, with typical tiles and warps: products, attention, quantized weights, losses. It runs
under neso and under Triton (bench/peers/users.py). This file does not check results; tests/programs does."""
import torch
import triton
import triton.language as tl


def row(name, call):
    print("%-44s %9.2f us" % (name, 1000 * triton.testing.do_bench(call, warmup=10, rep=50)))


def fp16(*shape):
    return torch.randn(shape, device='cuda', dtype=torch.float16)


@triton.jit
def matmul(A, B, C, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           GROUP: tl.constexpr):
    pid = tl.program_id(0)
    rows, cols = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (GROUP * cols) * GROUP
    height = min(rows - first, GROUP)
    pid_m = first + pid % (GROUP * cols) % height
    pid_n = pid % (GROUP * cols) // height
    m = pid_m * BM + tl.arange(0, BM)
    n = pid_n * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = A + (m % M)[:, None] * sam + k[None, :] * sak
    b_ptrs = B + k[:, None] * sbk + (n % N)[None, :] * sbn
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        left = K - i * BK
        a = tl.load(a_ptrs, mask=k[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < left, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * sak
        b_ptrs += BK * sbk
    mask = (m[:, None] < M) & (n[None, :] < N)
    tl.store(C + m[:, None] * scm + n[None, :] * scn, acc.to(tl.float16), mask=mask)


@triton.jit
def attention(Q, K, V, O, sm_scale, stride_h, stride_m, N, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
              D: tl.constexpr):
    start = tl.program_id(0)
    off = tl.program_id(1).to(tl.int64) * stride_h
    offs_m = start * BM + tl.arange(0, BM)
    offs_n = tl.arange(0, BN)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + off + offs_m[:, None] * stride_m + offs_d[None, :])
    m_i = tl.zeros([BM], tl.float32) - float('inf')
    l_i = tl.zeros([BM], tl.float32) + 1.0
    acc = tl.zeros([BM, D], tl.float32)
    scale = sm_scale * 1.44269504
    hi = (start + 1) * BM if CAUSAL else N
    for n in range(0, hi, BN):
        k = tl.load(K + off + (n + offs_n)[None, :] * stride_m + offs_d[:, None])
        qk = tl.dot(q, k)
        if CAUSAL:
            qk = qk * scale + tl.where(offs_m[:, None] >= (n + offs_n)[None, :], 0, -1.0e6)
            m_ij = tl.maximum(m_i, tl.max(qk, 1))
            qk -= m_ij[:, None]
        else:
            m_ij = tl.maximum(m_i, tl.max(qk, 1) * scale)
            qk = qk * scale - m_ij[:, None]
        p = tl.math.exp2(qk)
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(V + off + (n + offs_n)[:, None] * stride_m + offs_d[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc)
        m_i = m_ij
    acc = acc / l_i[:, None]
    tl.store(O + off + offs_m[:, None] * stride_m + offs_d[None, :], acc.to(tl.float16))


@triton.jit
def weights_of_4_bits(A, QW, S, C, M, N, K, G: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        a = tl.load(A + m[:, None] * K + (i + k)[None, :])
        q = tl.load(QW + ((i + k)[:, None] // 8) * N + n[None, :])
        s = tl.load(S + ((i + k)[:, None] // G) * N + n[None, :])
        w = ((q >> ((k % 8) * 4)[:, None]) & 0xF) - 8
        acc = tl.dot(a, w.to(tl.float16) * s, acc)
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16))


@triton.jit
def weights_of_bytes(A, B, S, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        a = tl.load(A + m[:, None] * K + (i + k)[None, :])
        b = tl.load(B + (i + k)[:, None] * N + n[None, :])
        acc = tl.dot(a, b.to(tl.float16), acc)
    s = tl.load(S + n)
    tl.store(C + m[:, None] * N + n[None, :], (acc * s[None, :]).to(tl.float16))


@triton.jit
def product_of_bytes(A, B, SA, SB, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.int32)
    for i in range(0, K, BK):
        a = tl.load(A + m[:, None] * K + (i + k)[None, :])
        b = tl.load(B + n[None, :] * K + (i + k)[:, None])
        acc += tl.dot(a, b)
    sa = tl.load(SA + m)
    sb = tl.load(SB + n)
    tl.store(C + m[:, None] * N + n[None, :], (acc.to(tl.float32) * sa[:, None] * sb[None, :]).to(tl.float16))


@triton.jit
def experts(A, B, C, OFFS, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    e = tl.program_id(2)
    lo = tl.load(OFFS + e)
    hi = tl.load(OFFS + e + 1)
    first = lo + tl.program_id(0) * BM
    if first >= hi:
        return
    m = first + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    B += e.to(tl.int64) * K * N
    for i in range(0, K, BK):
        a = tl.load(A + m[:, None] * K + (i + k)[None, :], mask=m[:, None] < hi, other=0.0)
        b = tl.load(B + (i + k)[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=m[:, None] < hi)


@triton.jit
def paged_decode(Q, K, V, O, PAGES, LENGTHS, sm_scale, stride_page, stride_token, stride_pages, GROUP: tl.constexpr, PAGE: tl.constexpr,
                 BLOCK: tl.constexpr, D: tl.constexpr):
    # one new token of each sequence attends to the sequence's keys and values, which are stored in pages of PAGE tokens
    seq = tl.program_id(0)
    head = tl.program_id(1)
    rows = tl.arange(0, 16)
    d = tl.arange(0, D)
    at = (seq * tl.num_programs(1) * GROUP + head * GROUP + rows)[:, None] * D + d[None, :]
    q = tl.load(Q + at, mask=rows[:, None] < GROUP, other=0.0)
    length = tl.load(LENGTHS + seq)
    scale = sm_scale * 1.44269504
    m_i = tl.zeros([16], tl.float32) - float('inf')
    l_i = tl.zeros([16], tl.float32)
    acc = tl.zeros([16, D], tl.float32)
    K += head * D
    V += head * D
    for start in range(0, length, BLOCK):
        n = start + tl.arange(0, BLOCK)
        page = tl.load(PAGES + seq * stride_pages + n // PAGE, mask=n < length, other=0).to(tl.int64)
        token = page * stride_page + n % PAGE * stride_token
        k = tl.load(K + token[None, :] + d[:, None], mask=n[None, :] < length, other=0.0)
        s = tl.where(n[None, :] < length, tl.dot(q, k) * scale, float('-inf'))
        m = tl.maximum(m_i, tl.max(s, 1))
        p = tl.math.exp2(s - m[:, None])
        alpha = tl.math.exp2(m_i - m)
        v = tl.load(V + token[:, None] + d[None, :], mask=n[:, None] < length, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        m_i = m
    tl.store(O + at, (acc / l_i[:, None]).to(O.dtype.element_ty), mask=rows[:, None] < GROUP)


@triton.jit
def softmax_loop(Y, X, stride_y, stride_x, rows, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    for r in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        x = tl.load(X + r * stride_x + cols, mask=cols < n, other=-float('inf'))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(Y + r * stride_y + cols, e / tl.sum(e, axis=0), mask=cols < n)


@triton.jit
def swiglu(A, B, C, stride, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    A += row * stride
    B += row * stride
    C += row * stride
    c = tl.arange(0, BLOCK)
    m = c < N
    a = tl.load(A + c, mask=m, other=0).to(tl.float32)
    b = tl.load(B + c, mask=m, other=0)
    tl.store(C + c, (a * tl.sigmoid(a)).to(b.dtype) * b, mask=m)


@triton.jit
def cross_entropy(X, Y, L, stride, V, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    X += row * stride
    y = tl.load(Y + row)
    m = float('-inf')
    d = 0.0
    ori = tl.load(X + y).to(tl.float32)
    for i in range(0, V, BLOCK):
        o = i + tl.arange(0, BLOCK)
        x = tl.load(X + o, mask=o < V, other=float('-inf')).to(tl.float32)
        bm = tl.max(x)
        mn = tl.maximum(m, bm)
        d = d * tl.exp(m - mn) + tl.sum(tl.exp(x - mn))
        m = mn
    lse = m + tl.log(d)
    tl.debug_barrier()
    for i in range(0, V, BLOCK):
        o = i + tl.arange(0, BLOCK)
        x = tl.load(X + o, mask=o < V, other=float('-inf')).to(tl.float32)
        x = tl.exp(x - m) / d
        x = tl.where(o != y, x, x - 1)
        tl.store(X + o, x, mask=o < V)
    tl.store(L + row, lse - ori)


@triton.jit
def transpose(X, Y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    x = tl.load(X + m[:, None] * N + n[None, :], mask=(m[:, None] < M) & (n[None, :] < N))
    tl.store(Y + n[:, None] * M + m[None, :], tl.trans(x), mask=(n[:, None] < N) & (m[None, :] < M))


@triton.jit
def quantize(X, Y, S, N, G: tl.constexpr):
    pid = tl.program_id(0)
    o = pid * G + tl.arange(0, G)
    x = tl.load(X + o).to(tl.float32)
    s = tl.max(tl.abs(x)) / 448.0
    tl.store(Y + o, (x / s).to(tl.float8e4nv))
    tl.store(S + pid, s)


def rows_of_matmul():
    for n, tile, warps, stages in ((4096, (128, 256, 64), 8, 3), (4096, (128, 128, 64), 8, 3), (4096, (128, 128, 32), 4, 4),
                                   (4096, (128, 64, 32), 4, 4), (4096, (64, 64, 32), 4, 4), (2048, (128, 128, 64), 8, 3),
                                   (1000, (64, 128, 64), 4, 4)):
        a, b, c = fp16(n, n), fp16(n, n), fp16(n, n)
        grid = (triton.cdiv(n, tile[0]) * triton.cdiv(n, tile[1]),)
        row("matmul %d, %dx%dx%d, %d warps" % (n, tile[0], tile[1], tile[2], warps),
            lambda: matmul[grid](a, b, c, n, n, n, n, 1, n, 1, n, 1, tile[0], tile[1], tile[2], 8, num_warps=warps, num_stages=stages))


def rows_of_attention():
    n = 4096
    for d, causal, bm, bn, warps, stages in ((64, False, 128, 64, 4, 3), (64, True, 128, 64, 4, 3), (128, False, 128, 64, 8, 3),
                                             (128, True, 128, 64, 8, 3), (128, True, 64, 64, 4, 3), (128, False, 128, 128, 8, 2)):
        heads = 2048 // d
        q, k, v, o = fp16(heads, n, d), fp16(heads, n, d), fp16(heads, n, d), fp16(heads, n, d)
        row("attention %d%s, %dx%d, %d warps" % (d, " causal" if causal else "", bm, bn, warps),
            lambda: attention[(n // bm, heads)](q, k, v, o, 0.125, n * d, d, n, causal, bm, bn, d, num_warps=warps, num_stages=stages))


def rows_of_quantized():
    n = k = 4096
    for m, bm in ((16, 16), (64, 64), (1024, 128)):
        a, c, scales = fp16(m, k), fp16(m, n), fp16(k // 128, n)
        words = torch.zeros((k // 8, n), device='cuda', dtype=torch.int32)
        row("weights of 4 bits, %d rows" % m,
            lambda: weights_of_4_bits[(m // bm, n // 64)](a, words, scales, c, m, n, k, 128, bm, 64, 64, num_warps=4, num_stages=3))
    a, b = torch.zeros((n, k), device='cuda', dtype=torch.int8), torch.zeros((n, k), device='cuda', dtype=torch.int8)
    sa, sb = torch.ones((n,), device='cuda', dtype=torch.float32), torch.ones((n,), device='cuda', dtype=torch.float32)
    c = fp16(n, n)
    row("bytes 4096, 128x128x128, 8 warps",
        lambda: product_of_bytes[(n // 128, n // 128)](a, b, sa, sb, c, n, n, k, 128, 128, 128, num_warps=8, num_stages=3))
    x, y = fp16(8192 * 4096), torch.empty((8192 * 4096,), device='cuda', dtype=torch.float8_e4m3fn)
    s = torch.empty((8192 * 32,), device='cuda', dtype=torch.float32)
    row("to fp8 by groups of 128", lambda: quantize[(8192 * 32,)](x, y, s, 8192 * 4096, 128, num_warps=1))


def rows_of_experts():
    n, k, each = 4096, 2048, 500
    a, b, c = fp16(8 * each, k), fp16(8, k, n), fp16(8 * each, n)
    offsets = torch.tensor([each * i for i in range(9)], device='cuda', dtype=torch.int32)
    row("8 experts of 500 rows, 128x128x64, 8 warps",
        lambda: experts[(4, n // 128, 8)](a, b, c, offsets, n, k, 128, 128, 64, num_warps=8, num_stages=3))


def rows_of_paged():
    sequences, length, heads, group, page = 64, 4000, 8, 4, 16
    kv = fp16(2, sequences * 256, page, heads, 128)
    q, o = fp16(sequences, heads * group, 128), fp16(sequences, heads * group, 128)
    pages = torch.randperm(sequences * 256, device='cuda').to(torch.int32)
    lengths = torch.full((sequences,), length, device='cuda', dtype=torch.int32)
    for block, warps, stages in ((64, 4, 3), (128, 4, 3), (64, 8, 4)):
        row("paged decode, 64 x 4000, blocks of %d, %d warps" % (block, warps),
            lambda: paged_decode[(sequences, heads)](q, kv[0], kv[1], o, pages, lengths, 0.0884, page * heads * 128, heads * 128, 256, group,
                                                     page, block, 128, num_warps=warps, num_stages=stages))


def rows_of_memory():
    x, y = (torch.randn((4096, 2048), device='cuda', dtype=torch.float32) for _ in range(2))
    row("softmax 4096x2048 in a loop over rows", lambda: softmax_loop[(1056,)](y, x, 2048, 2048, 4096, 2048, 2048, num_warps=8))
    a, b, c = fp16(4096, 4096), fp16(4096, 4096), fp16(4096, 4096)
    row("SwiGLU 4096x4096", lambda: swiglu[(4096,)](a, b, c, 4096, 4096, 4096, num_warps=8))
    x, y = fp16(8192, 8192), fp16(8192, 8192)
    row("transpose 8192, 128x128", lambda: transpose[(64, 64)](x, y, 8192, 8192, 128, 128))
    for v in (32000, 128256):
        x = fp16(2048, v)
        labels = torch.zeros((2048,), device='cuda', dtype=torch.int64)
        loss = torch.empty((2048,), device='cuda', dtype=torch.float32)
        row("cross entropy 2048x%d" % v, lambda: cross_entropy[(2048,)](x, labels, loss, v, v, 32768, num_warps=32))


if __name__ == "__main__":
    rows_of_matmul()
    rows_of_attention()
    rows_of_quantized()
    rows_of_experts()
    rows_of_paged()
    rows_of_memory()
