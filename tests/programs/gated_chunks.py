# runs: interpreter emulator cuda triton
# Tests gated linear attention in chunks, with a gate for each row and key: a loop that counts down and stores, indices of
# 64 bits, operands computed from tiles of 32-bit floats, loops of one and two iterations, and a kernel whose accumulators exceed the
# registers of its two warps.
# spills: input_gradients with D = 128 needs a few registers more than a thread has, even with four warps
import torch
import triton
import triton.language as tl


@triton.jit
def states(K, V, G, S, T, H, D: tl.constexpr, BT: tl.constexpr, BV: tl.constexpr):
    """Computes the state before each chunk. G are sums of log gates within a chunk."""
    pid = tl.program_id(0).to(tl.int64)
    blocks = tl.cdiv(D, BV)
    v_at, row = pid % blocks * BV + tl.arange(0, BV), pid // blocks * T
    chunks = tl.cdiv(T, BT)
    S += pid // blocks * chunks * D * D
    d = tl.arange(0, D)
    state = tl.zeros((D, BV), tl.float32)
    for i in range(chunks):
        at = i.to(tl.int64) * BT + tl.arange(0, BT)
        d = tl.arange(0, D)
        m = at < T
        tl.store(S + i.to(tl.int64) * D * D + d[:, None] * D + v_at[None, :], state.to(tl.bfloat16))
        last = tl.load(G + (row + min((i + 1) * BT, T) - 1) * D + d)
        k = tl.load(K + row * D + d[:, None] + at[None, :] * D, mask=m[None, :], other=0.0)
        g = tl.load(G + row * D + d[:, None] + at[None, :] * D, mask=m[None, :], other=0.0)
        v = tl.load(V + row * D + at[:, None] * D + v_at[None, :], mask=m[:, None], other=0.0)
        state *= tl.exp(last)[:, None]
        state += tl.dot((k * tl.exp(last[:, None] - g)).to(tl.bfloat16), v)


@triton.jit
def state_gradients(Q, DO, G, DS, T, H, D: tl.constexpr, BT: tl.constexpr, BV: tl.constexpr):
    """Computes the gradient of the state behind each chunk, from the last chunk to the first."""
    pid = tl.program_id(0).to(tl.int64)
    blocks = tl.cdiv(D, BV)
    v_at, row = pid % blocks * BV + tl.arange(0, BV), pid // blocks * T
    chunks = tl.cdiv(T, BT)
    DS += pid // blocks * chunks * D * D
    d = tl.arange(0, D)
    grad = tl.zeros((D, BV), tl.float32)
    for i in range(chunks - 1, -1, -1):
        at = i.to(tl.int64) * BT + tl.arange(0, BT)
        m = at < T
        tl.store(DS + i.to(tl.int64) * D * D + d[:, None] * D + v_at[None, :], grad.to(tl.bfloat16))
        last = tl.load(G + (row + min((i + 1) * BT, T) - 1) * D + d)
        q = tl.load(Q + row * D + d[:, None] + at[None, :] * D, mask=m[None, :], other=0.0)
        g = tl.load(G + row * D + d[:, None] + at[None, :] * D, mask=m[None, :], other=0.0)
        do = tl.load(DO + row * D + at[:, None] * D + v_at[None, :], mask=m[:, None], other=0.0)
        grad *= tl.exp(last)[:, None]
        grad += tl.dot((q * tl.exp(g)).to(tl.bfloat16), do)


@triton.jit
def outputs(Q, V, G, S, A, O, T, H, D: tl.constexpr, BT: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr):
    """Computes a chunk's outputs from the state before it and from the scores A of its rows."""
    v_at, i = tl.program_id(0) * BV + tl.arange(0, BV), tl.program_id(1)
    head, chunks = tl.program_id(2), tl.num_programs(1)
    at = i * BT + tl.arange(0, BT)
    m = at < T
    S += (head * chunks + i).to(tl.int64) * D * D
    row = head * T
    o = tl.zeros((BT, BV), tl.float32)
    for j in range(tl.cdiv(D, BK)):
        d = j * BK + tl.arange(0, BK)
        q = tl.load(Q + row * D + at[:, None] * D + d[None, :], mask=m[:, None] & (d[None, :] < D), other=0.0)
        g = tl.load(G + row * D + at[:, None] * D + d[None, :], mask=m[:, None] & (d[None, :] < D), other=0.0)
        s = tl.load(S + d[:, None] * D + v_at[None, :])
        o = tl.dot((q * tl.exp(g)).to(tl.bfloat16), s, o)
    v = tl.load(V + row * D + at[:, None] * D + v_at[None, :], mask=m[:, None], other=0.0)
    r = tl.arange(0, BT)
    a = tl.load(A + row * BT + at[:, None] * BT + r[None, :], mask=m[:, None], other=0.0)
    o = tl.dot(tl.where(r[:, None] >= r[None, :], a, 0.0).to(tl.bfloat16), v, o)
    tl.store(O + row * D + at[:, None] * D + v_at[None, :], o.to(tl.bfloat16), mask=m[:, None])


@triton.jit
def input_gradients(Q, K, V, DO, S, DS, DQ, DK, DV, T, D: tl.constexpr, BT: tl.constexpr, BV: tl.constexpr):
    """Without gates: computes the gradients of a chunk's queries, keys and values, with five accumulators."""
    i, head, chunks = tl.program_id(0), tl.program_id(1), tl.num_programs(0)
    at, d = i * BT + tl.arange(0, BT), tl.arange(0, D)
    m = at < T
    S += (head * chunks + i) * D * D
    DS += (head * chunks + i) * D * D
    rows = head * T * D + at[:, None] * D
    q = tl.load(Q + rows + d[None, :], mask=m[:, None], other=0.0)
    k = tl.load(K + rows + d[None, :], mask=m[:, None], other=0.0)
    dq, dk, dp = tl.zeros((BT, D), tl.float32), tl.zeros((BT, D), tl.float32), tl.zeros((BT, BT), tl.float32)
    p = tl.dot(k, tl.trans(q))
    p = tl.where(tl.arange(0, BT)[:, None] <= tl.arange(0, BT)[None, :], p, 0.0).to(tl.bfloat16)
    for j in range(D // BV):
        e = j * BV + tl.arange(0, BV)
        v = tl.load(V + rows + e[None, :], mask=m[:, None], other=0.0)
        do = tl.load(DO + rows + e[None, :], mask=m[:, None], other=0.0)
        s = tl.load(S + d[None, :] * D + e[:, None])
        ds = tl.load(DS + d[None, :] * D + e[:, None])
        dp += tl.dot(do, tl.trans(v))
        dq += tl.dot(do, s)
        dk += tl.dot(v, ds)
        tl.store(DV + rows + e[None, :], (tl.dot(p, do) + tl.dot(k, tl.trans(ds))).to(tl.bfloat16), mask=m[:, None])
    dp = tl.where(tl.arange(0, BT)[:, None] >= tl.arange(0, BT)[None, :], dp, 0.0).to(tl.bfloat16)
    dq += tl.dot(dp, k)
    dk += tl.dot(tl.trans(dp), q)
    tl.store(DQ + rows + d[None, :], dq.to(tl.bfloat16), mask=m[:, None])
    tl.store(DK + rows + d[None, :], dk.to(tl.bfloat16), mask=m[:, None])


def random(*shape):
    return (torch.randn(shape, device='cuda', dtype=torch.float32) / 4).to(torch.bfloat16)


def near(what, x, y, bound=2e-2):
    far = (x.float() - y.float()).abs().max().item()
    assert far <= bound * max(1.0, y.float().abs().max().item()), (what, far)


def check(T, H, D, BT, BV, warps, stages):
    q, k, v, do = (random(H, T, D) for _ in range(4))
    chunks = triton.cdiv(T, BT)
    g = torch.zeros((H, T, D), device='cuda', dtype=torch.float32)
    for c in range(chunks):
        rows = slice(c * BT, min((c + 1) * BT, T))
        g[:, rows] = torch.cumsum(-torch.rand((H, min(BT, T - c * BT), D), device='cuda', dtype=torch.float32) / 8, 1)
    s, ds, so = (torch.zeros((H, chunks, D, D), device='cuda', dtype=torch.bfloat16) for _ in range(3))
    a, o = random(H, T, BT), torch.zeros_like(v)
    states[(D // BV * H,)](k, v, g, s, T, H, D, BT, BV, num_warps=warps, num_stages=stages)
    state_gradients[(D // BV * H,)](q, do, g, ds, T, H, D, BT, BV, num_warps=warps, num_stages=stages)
    outputs[(D // BV, chunks, H)](q, v, g, s, a, o, T, H, D, BT, 64, BV, num_warps=warps, num_stages=stages)
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    input_gradients[(chunks, H)](q, k, v, do, s, ds, dq, dk, dv, T, D, BT, 64, num_warps=warps // 2, num_stages=stages)
    for h in range(H):
        state = torch.zeros((D, D), device='cuda', dtype=torch.float32)
        for c in range(chunks):
            rows = slice(c * BT, min((c + 1) * BT, T))
            n = min(BT, T - c * BT)
            gc, last, kc, qc, vc, oc = g[h, rows], g[h, rows][n - 1], k[h, rows].float(), q[h, rows].float(), v[h, rows].float(), do[h, rows].float()
            near('state', s[h, c], state)
            at = torch.arange(0, n, device='cuda')
            below = torch.where(at[:, None] >= at[None, :], 1.0, 0.0)
            near('output', o[h, rows], torch.matmul(qc * torch.exp(gc), s[h, c].float()) + torch.matmul(a[h, rows, :n].float() * below, vc))
            state = state * torch.exp(last)[:, None] + torch.matmul((kc * torch.exp(last[None, :] - gc)).t(), vc)
            dp = torch.matmul(oc, vc.t()) * below
            near('dq', dq[h, rows], torch.matmul(oc, s[h, c].float().t()) + torch.matmul(dp, kc))
            near('dk', dk[h, rows], torch.matmul(vc, ds[h, c].float().t()) + torch.matmul(dp.t(), qc))
            p = torch.matmul(qc, kc.t()) * below
            near('dv', dv[h, rows], torch.matmul(p.t(), oc) + torch.matmul(kc, ds[h, c].float()))
        grad = torch.zeros((D, D), device='cuda', dtype=torch.float32)
        for c in range(chunks - 1, -1, -1):
            rows = slice(c * BT, min((c + 1) * BT, T))
            near('gradient', ds[h, c], grad)
            gc = g[h, rows]
            grad = grad * torch.exp(gc[min(BT, T - c * BT) - 1])[:, None] + torch.matmul((q[h, rows].float() * torch.exp(gc)).t(), do[h, rows].float())


torch.manual_seed(0)
for D in (64, 128):
    for T, stages in ((200, 2), (64, 3)):
        check(T, 2 if D == 64 else 1, D, 64, 64, 4, stages)
