# runs: interpreter emulator cuda triton triton-interpret
# Tests the backward pass of attention in one kernel. A program computes dK and dV of a block of keys, then dQ of a block of queries;
# separate loops handle the blocks on the diagonal. The loops have five dots, carry two sums, and keep probabilities in registers. Arguments:
# head dimension, causal (0 or 1), lengths; the default is small sizes of each kind. `time` measures each kernel at the sizes of real models.
# spills: five dots of 64 x 64 x 128 with 4 warps need more than 255 registers, in Triton too
import sys

import torch
import triton
import triton.language as tl

LOG2E = 1.4426950408889634


@triton.jit
def row_sums(O, DO, Delta, D: tl.constexpr, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = m[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(Delta + m, tl.sum(tl.load(O + at).to(tl.float32) * tl.load(DO + at).to(tl.float32), axis=1))


@triton.jit
def add_keys(dk, dv, k, v, Q, DO, Lse, Delta, own, start, steps, stride, stride_d, BM: tl.constexpr, D: tl.constexpr, MASK: tl.constexpr):
    """Computes dK and dV of the keys `own` from `steps` times BM queries. All tiles are transposed: keys are rows."""
    m = start + tl.arange(0, BM)
    d = tl.arange(0, D)
    q_at = Q + m[None, :] * stride + d[:, None] * stride_d
    do_at = DO + m[:, None] * stride + d[None, :] * stride_d
    for _ in range(steps):
        q = tl.load(q_at)
        m = start + tl.arange(0, BM)
        lse = tl.load(Lse + m)
        p = tl.math.exp2(tl.dot(k, q) - lse[None, :])
        if MASK:
            p = tl.where(m[None, :] >= own[:, None], p, 0.0)
        do = tl.load(do_at)
        dv += tl.dot(p.to(tl.float16), do)
        delta = tl.load(Delta + m)
        dp = tl.dot(v, tl.trans(do)).to(tl.float32)
        ds = p * (dp - delta[None, :])
        dk += tl.dot(ds.to(tl.float16), tl.trans(q))
        start += BM
        q_at += BM * stride
        do_at += BM * stride
    return dk, dv


@triton.jit
def add_queries(dq, q, K, V, do, lse, Delta, own, start, steps, stride, stride_d, BN: tl.constexpr, D: tl.constexpr, MASK: tl.constexpr):
    """Computes dQ of the queries `own` from `steps` times BN keys."""
    n = start + tl.arange(0, BN)
    d = tl.arange(0, D)
    k_at = K + n[None, :] * stride + d[:, None] * stride_d
    v_at = V + n[None, :] * stride + d[:, None] * stride_d
    delta = tl.load(Delta + own)
    for _ in range(steps):
        k = tl.load(k_at)
        v = tl.load(v_at)
        p = tl.math.exp2(tl.dot(q, k) - lse)
        if MASK:
            n = start + tl.arange(0, BN)
            p = tl.where(own[:, None] >= n[None, :], p, 0.0)
        dp = tl.dot(do, v).to(tl.float32)
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(tl.float16), tl.trans(k))
        start += BN
        k_at += BN * stride
        v_at += BN * stride
    return dq


@triton.jit
def backward(Q, K, V, scale, DO, DQ, DK, DV, Lse, Delta, stride_z, stride_h, stride, stride_d, H, N, CAUSAL: tl.constexpr,
             SHORT: tl.constexpr, LONG: tl.constexpr, D: tl.constexpr):
    # K is scaled by scale / ln 2. A program first keeps LONG keys and loops over SHORT queries at a time, then keeps queries and loops over keys.
    head = tl.program_id(2)
    rows = (head * N).to(tl.int64)
    elements = (stride_h * (head % H) + stride_z * (head // H)).to(tl.int64)
    Q += elements
    K += elements
    V += elements
    DO += elements
    DQ += elements
    DK += elements
    DV += elements
    Lse += rows
    Delta += rows
    first = tl.program_id(0) * LONG
    own = first + tl.arange(0, LONG)
    d = tl.arange(0, D)
    at = own[:, None] * stride + d[None, :] * stride_d

    k = tl.load(K + at)
    v = tl.load(V + at)
    dk = tl.zeros([LONG, D], tl.float32)
    dv = tl.zeros([LONG, D], tl.float32)
    start = 0
    if CAUSAL:
        dk, dv = add_keys(dk, dv, k, v, Q, DO, Lse, Delta, own, first, 2 * LONG // SHORT, stride, stride_d, SHORT // 2, D, True)
        start = first + LONG
    dk, dv = add_keys(dk, dv, k, v, Q, DO, Lse, Delta, own, start, (N - start) // SHORT, stride, stride_d, SHORT, D, False)
    tl.store(DV + at, dv)
    dk *= scale
    tl.store(DK + at, dk)

    steps = N // SHORT
    q = tl.load(Q + at)
    dq = tl.zeros([LONG, D], tl.float32)
    do = tl.load(DO + at)
    lse = tl.load(Lse + own)[:, None]
    if CAUSAL:
        dq = add_queries(dq, q, K, V, do, lse, Delta, own, first, 2 * LONG // SHORT, stride, stride_d, SHORT // 2, D, True)
        steps = first // SHORT
    start = 0
    dq = add_queries(dq, q, K, V, do, lse, Delta, own, start, steps, stride, stride_d, SHORT, D, False)
    dq *= 0.6931471805599453
    tl.store(DQ + at, dq)


def reference(q, k, v, do, scale, causal):
    """Returns o, the base-2 logarithm of each row's sum, dq, dk and dv, in float32."""
    qf, kf, vf, df = (t.float() for t in (q, k, v, do))
    s = torch.matmul(qf, kf.t()) * scale
    if causal:
        at = torch.arange(0, q.shape[0], device=q.device)
        s = torch.where(at[:, None] >= at[None, :], s, float('-inf'))
    top = torch.max(s, 1)[0]
    lse = top + torch.log(torch.sum(torch.exp(s - top[:, None]), 1))
    p = torch.exp(s - lse[:, None])
    o = torch.matmul(p, vf)
    ds = p * (torch.matmul(df, vf.t()) - torch.sum(o * df, 1)[:, None])
    return o, lse * LOG2E, torch.matmul(ds, kf) * scale, torch.matmul(ds.t(), qf) * scale, torch.matmul(p.t(), df)


def check(N, D, causal, tiles, H=2):
    torch.manual_seed(N + D)
    q, k, v, do = (torch.randn((H, N, D), device='cuda', dtype=torch.float16) for _ in range(4))
    scale = D ** -0.5
    o = torch.empty_like(q)
    lse, delta = (torch.empty((H, N), device='cuda') for _ in range(2))
    expected = []
    for h in range(H):
        o_of, lse_of, *gradients = reference(q[h], k[h], v[h], do[h], scale, causal)
        o[h] = o_of.to(torch.float16)
        lse[h] = lse_of
        expected.append(gradients)
    row_sums[(H * N // 32,)](o, do, delta, D=D, BLOCK=32)
    scaled = (k * (scale * LOG2E)).to(torch.float16)
    wrong = 0
    for short, long, warps, stages in tiles:
        found = [torch.zeros_like(q) for _ in range(3)]
        text = 'N %d, D %d, causal %d, %dx%d, %d warps, %d stages' % (N, D, causal, short, long, warps, stages)
        try:
            backward[(N // long, 1, H)](q, scaled, v, scale, do, *found, lse, delta, H * N * D, N * D, D, 1, H, N, CAUSAL=causal,
                                        SHORT=short, LONG=long, D=D, num_warps=warps, num_stages=stages)
        except triton.runtime.errors.OutOfResources as e:
            print(text + ': ' + str(e).split('\n')[0])
            continue
        errors = [max(far(x[h], expected[h][i]) for h in range(H)) for i, x in enumerate(found)]
        bad = not max(errors) < 5e-3  # also true if an error is NaN
        wrong += bad
        print(text + ': dq %.5f, dk %.5f, dv %.5f' % tuple(errors) + (' WRONG' if bad else ''))
    return wrong


def far(x, y):
    return float(torch.max(torch.abs(x.float() - y)) / torch.max(torch.abs(y)))


def row(name, call):
    try:
        print('%-44s %9.2f us' % (name, 1000 * triton.testing.do_bench(call, warmup=20, rep=100)))
    except triton.runtime.errors.OutOfResources as e:
        print('%s: %s' % (name, str(e).split('\n')[0]))


def times(D, causal, short, long, warps, stages):
    N, H = 4096, 2048 // D
    q, k, v, do, *found = (torch.randn((H, N, D), device='cuda', dtype=torch.float16) for _ in range(7))
    lse, delta = (torch.zeros((H, N), device='cuda') for _ in range(2))
    row('attention backward %d%s, %dx%d, %d warps, %d stages' % (D, ' causal' if causal else '', short, long, warps, stages),
        lambda: backward[(N // long, 1, H)](q, k, v, 0.1, do, *found, lse, delta, H * N * D, N * D, D, 1, H, N, CAUSAL=causal,
                                            SHORT=short, LONG=long, D=D, num_warps=warps, num_stages=stages))


if __name__ == '__main__':
    if sys.argv[1:] == ['time']:
        for D in 64, 128:
            for causal in False, True:
                for tile in (32, 128, 4, 5), (64, 128, 8, 2), (64, 128, 8, 3), (64, 64, 4, 2), (64, 64, 4, 3), (128, 128, 8, 3):
                    times(D, causal, *tile)
    elif len(sys.argv) > 3:
        D, causal = int(sys.argv[1]), bool(int(sys.argv[2]))
        tiles = [(32, 128, 4, 5), (32, 128, 4, 3), (64, 128, 8, 2), (64, 64, 4, 3), (64, 128, 4, 2)]
        assert sum(check(int(n), D, causal, tiles) for n in sys.argv[3:]) == 0
    else:
        assert check(128, 64, True, [(32, 64, 4, 3)]) + check(128, 128, True, [(64, 64, 4, 3)]) + check(128, 64, False, [(32, 128, 4, 5), (64, 64, 4, 3)]) == 0
