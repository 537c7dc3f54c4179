# Forward attention as in Triton's sixth tutorial. If it is causal, one loop computes the blocks left of the diagonal, and a second loop,
# with a mask, the blocks on the diagonal. Scores are scaled after the maximum is computed. The rows of all heads are adjacent.
import torch
import triton
import triton.language as tl


@triton.jit
def over_blocks(acc, l_i, m_i, q, K, V, kd, vd, first_key, lo, hi, scale, offs_m, offs_n, offs_d, ON_DIAGONAL: tl.constexpr, DESC: tl.constexpr,
                BN: tl.constexpr, D: tl.constexpr):
    for n in tl.range(lo, hi, BN):
        n = tl.multiple_of(n, BN)
        if DESC:
            k = kd.load([first_key + n, 0]).T
        else:
            k = tl.load(K + (n + offs_n)[None, :] * D + offs_d[:, None])
        qk = tl.dot(q, k)
        if ON_DIAGONAL:
            qk = qk * scale + tl.where(offs_m[:, None] >= (n + offs_n)[None, :], 0, -1.0e6)
            m_ij = tl.maximum(m_i, tl.max(qk, 1))
            qk -= m_ij[:, None]
        else:
            m_ij = tl.maximum(m_i, tl.max(qk, 1) * scale)
            qk = qk * scale - m_ij[:, None]
        p = tl.math.exp2(qk)
        alpha = tl.math.exp2(m_i - m_ij)
        l_ij = tl.sum(p, 1)
        acc = acc * alpha[:, None]
        if DESC:
            v = vd.load([first_key + n, 0])
        else:
            v = tl.load(V + (n + offs_n)[:, None] * D + offs_d[None, :])
        acc = tl.dot(p.to(q.dtype), v, acc)
        l_i = l_i * alpha + l_ij
        m_i = m_ij
    return acc, l_i, m_i


@triton.jit
def forward(Q, K, V, O, M, sm_scale, N, CAUSAL: tl.constexpr, DESC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
            GROUP: tl.constexpr = 1):
    start = tl.program_id(0)
    head = tl.program_id(1)
    row0 = head * N
    first_key = head // GROUP * N
    offs_m = start * BM + tl.arange(0, BM)
    offs_n = tl.arange(0, BN)
    offs_d = tl.arange(0, D)
    kd = 0
    vd = 0
    if DESC:
        rows = tl.num_programs(1) * N
        qd = tl.make_tensor_descriptor(Q, shape=[rows, D], strides=[D, 1], block_shape=[BM, D])
        kd = tl.make_tensor_descriptor(K, shape=[rows // GROUP, D], strides=[D, 1], block_shape=[BN, D])
        vd = tl.make_tensor_descriptor(V, shape=[rows // GROUP, D], strides=[D, 1], block_shape=[BN, D])
        od = tl.make_tensor_descriptor(O, shape=[rows, D], strides=[D, 1], block_shape=[BM, D])
        q = qd.load([row0 + start * BM, 0])
    else:
        offset = row0.to(tl.int64) * D
        q = tl.load(Q + offset + offs_m[:, None] * D + offs_d[None, :])
        K += first_key.to(tl.int64) * D
        V += first_key.to(tl.int64) * D
    m_i = tl.zeros([BM], tl.float32) - float('inf')
    l_i = tl.zeros([BM], tl.float32) + 1.0
    acc = tl.zeros([BM, D], tl.float32)
    scale = sm_scale * 1.44269504
    if CAUSAL:
        acc, l_i, m_i = over_blocks(acc, l_i, m_i, q, K, V, kd, vd, first_key, 0, start * BM, scale, offs_m, offs_n, offs_d, False, DESC, BN, D)
        acc, l_i, m_i = over_blocks(acc, l_i, m_i, q, K, V, kd, vd, first_key, start * BM, (start + 1) * BM, scale, offs_m, offs_n, offs_d, True,
                                    DESC, BN, D)
    else:
        acc, l_i, m_i = over_blocks(acc, l_i, m_i, q, K, V, kd, vd, first_key, 0, N, scale, offs_m, offs_n, offs_d, False, DESC, BN, D)
    tl.store(M + row0 + offs_m, m_i + tl.math.log2(l_i))
    o = (acc / l_i[:, None]).to(q.dtype)
    if DESC:
        od.store([row0 + start * BM, 0], o)
    else:
        tl.store(O + offset + offs_m[:, None] * D + offs_d[None, :], o)
