# runs: interpreter emulator cuda triton
# Tests recurrences in chunks, as in models with linear attention: loops with dots and stores, tiles that several
# dots read, and vectors with one number per row. With the argument `time`, it measures each kernel at the sizes of real models.
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def delta_states(K, W, U, G, New, S, T, H, DK: tl.constexpr, DV: tl.constexpr, BT: tl.constexpr, BV: tl.constexpr):
    """Gated delta rule: computes the state before each chunk, and the chunk's values minus the values that the state predicts."""
    v = tl.program_id(0) * BV + tl.arange(0, BV)
    batch = tl.program_id(1) // H
    head = tl.program_id(1) % H
    chunks = tl.cdiv(T, BT)
    K += (batch * T * H + head) * DK
    W += (batch * T * H + head) * DK
    U += (batch * T * H + head) * DV
    New += (batch * T * H + head) * DV
    G += batch * T * H + head
    S += (batch * H + head) * chunks * DK * DV
    d = tl.arange(0, DK)
    state = tl.zeros((DK, BV), tl.float32)
    for i in range(0, chunks):
        t = i * BT + tl.arange(0, BT)
        m = t < T
        tl.store(S + i * DK * DV + d[:, None] * DV + v[None, :], state.to(tl.float16))
        w = tl.load(W + t[:, None] * (H * DK) + d[None, :], mask=m[:, None], other=0.0)
        u = tl.load(U + t[:, None] * (H * DV) + v[None, :], mask=m[:, None], other=0.0)
        new = u - tl.dot(w, state.to(tl.float16))
        tl.store(New + t[:, None] * (H * DV) + v[None, :], new.to(tl.float16), mask=m[:, None])
        g_last = tl.load(G + (tl.minimum((i + 1) * BT, T) - 1) * H)
        g = tl.load(G + t * H, mask=m, other=0.0)
        new = new * tl.where(m, tl.exp(g_last - g), 0.0)[:, None]
        k = tl.load(K + t[None, :] * (H * DK) + d[:, None], mask=m[None, :], other=0.0)
        state = state * tl.exp(g_last) + tl.dot(k, new.to(tl.float16))


@triton.jit
def delta_inputs(K, V, Beta, G, A, W, U, T, H, DK: tl.constexpr, DV: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    """Multiplies a chunk's inverse by its keys and values, one column block after the other."""
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    m = t < T
    batch = tl.program_id(1) // H
    head = tl.program_id(1) % H
    row = batch * T * H + head
    a = tl.load(A + row * BT + t[:, None] * (H * BT) + tl.arange(0, BT)[None, :], mask=m[:, None], other=0.0)
    beta = tl.load(Beta + row + t * H, mask=m, other=0.0)
    g = tl.load(G + row + t * H, mask=m, other=0.0)
    for i in range(0, DV // BD):
        d = i * BD + tl.arange(0, BD)
        at = row * DV + t[:, None] * (H * DV) + d[None, :]
        v = tl.load(V + at, mask=m[:, None], other=0.0)
        tl.store(U + at, tl.dot(a, (v * beta[:, None]).to(tl.float16)).to(tl.float16), mask=m[:, None])
    scale = beta * tl.exp(g)
    for i in range(0, DK // BD):
        d = i * BD + tl.arange(0, BD)
        at = row * DK + t[:, None] * (H * DK) + d[None, :]
        k = tl.load(K + at, mask=m[:, None], other=0.0)
        tl.store(W + at, tl.dot(a, (k * scale[:, None]).to(tl.float16)).to(tl.float16), mask=m[:, None])


@triton.jit
def delta_outputs(Q, K, New, S, G, O, T, H, scale, DK: tl.constexpr, DV: tl.constexpr, BT: tl.constexpr, BK: tl.constexpr,
                  BV: tl.constexpr):
    """Computes what a chunk's queries read from the state and from the chunk itself."""
    v = tl.program_id(0) * BV + tl.arange(0, BV)
    chunk = tl.program_id(1)
    batch = tl.program_id(2) // H
    head = tl.program_id(2) % H
    t = chunk * BT + tl.arange(0, BT)
    m = t < T
    row = batch * T * H + head
    S += ((batch * H + head) * tl.num_programs(1) + chunk) * DK * DV
    out = tl.zeros((BT, BV), tl.float32)
    a = tl.zeros((BT, BT), tl.float32)
    for i in range(0, DK // BK):
        d = i * BK + tl.arange(0, BK)
        q = tl.load(Q + row * DK + t[:, None] * (H * DK) + d[None, :], mask=m[:, None], other=0.0)
        k = tl.load(K + row * DK + t[None, :] * (H * DK) + d[:, None], mask=m[None, :], other=0.0)
        s = tl.load(S + d[:, None] * DV + v[None, :])
        out = tl.dot(q, s, out)
        a = tl.dot(q, k, a)
    g = tl.load(G + row + t * H, mask=m, other=0.0)
    i = tl.arange(0, BT)
    a = tl.where((i[:, None] >= i[None, :]) & m[:, None], a * tl.exp(g[:, None] - g[None, :]), 0.0)
    at = row * DV + t[:, None] * (H * DV) + v[None, :]
    new = tl.load(New + at, mask=m[:, None], other=0.0)
    out = (out * tl.exp(g)[:, None] + tl.dot(a.to(tl.float16), new)) * scale
    tl.store(O + at, out.to(tl.float16), mask=m[:, None])


@triton.jit
def retention(Q, K, V, O, T, H, scale, DK: tl.constexpr, DV: tl.constexpr, BT: tl.constexpr, BV: tl.constexpr):
    """Processes chunks one after the other, with the state in registers. The decay of a head depends on its number."""
    v = tl.program_id(0) * BV + tl.arange(0, BV)
    head = tl.program_id(1) % H
    rows = tl.program_id(1) * T
    decay = tl.math.log2(1 - tl.math.exp2(-5 - head * 1.0))
    i = tl.arange(0, BT)
    d = tl.arange(0, DK)
    across = tl.math.exp2((i + 1) * decay)
    within = tl.where(i[:, None] >= i[None, :], tl.math.exp2((i[:, None] - i[None, :]) * decay), 0.0)
    left = tl.math.exp2((BT - i - 1) * decay)
    whole = tl.math.exp2(BT * decay)
    q_at = Q + rows * DK + i[:, None] * DK + d[None, :]
    k_at = K + rows * DK + i[None, :] * DK + d[:, None]
    v_at = V + rows * DV + i[:, None] * DV + v[None, :]
    o_at = O + rows * DV + i[:, None] * DV + v[None, :]
    state = tl.zeros((DK, BV), tl.float32)
    for _ in range(0, T // BT):
        q = tl.load(q_at)
        k = tl.load(k_at)
        x = tl.load(v_at)
        a = tl.dot(q, k) * scale * within
        out = tl.dot(a.to(tl.float16), x) + tl.dot(q, state.to(tl.float16)) * scale * across[:, None]
        state = state * whole + tl.dot(k, (x * left[:, None]).to(tl.float16))
        tl.store(o_at, out.to(tl.float16))
        q_at += BT * DK
        k_at += BT * DK
        v_at += BT * DV
        o_at += BT * DV


@triton.jit
def ssd_scan(CB, X, Dt, A, C, S, O, L, H, P: tl.constexpr, N: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Mamba-2: computes a chunk's outputs from the state before it and from its inputs. A are sums of log decays."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    chunk = tl.program_id(1)
    head = tl.program_id(2)
    p = tl.arange(0, BN)
    n = tl.arange(0, N)
    rows = chunk * L
    A += head * tl.num_programs(1) * L + rows
    Dt += head * tl.num_programs(1) * L + rows
    X += rows * H * P + head * P
    a_m = tl.load(A + m)
    c = tl.load(C + (rows + m)[:, None] * N + n[None, :])
    s = tl.load(S + (chunk * H + head) * P * N + p[None, :] * N + n[:, None])
    acc = tl.dot(c, s) * tl.exp(a_m)[:, None]
    k = tl.arange(0, BK)
    cb_at = CB + rows * L + m[:, None] * L + k[None, :]
    x_at = X + k[:, None] * (H * P) + p[None, :]
    for first in range(0, (tl.program_id(0) + 1) * BM, BK):
        cb = tl.load(cb_at).to(tl.float32)
        a_k = tl.load(A + first + k)
        dt = tl.load(Dt + first + k)
        cb *= tl.exp(tl.minimum(a_m[:, None] - a_k[None, :], 0.0)) * dt[None, :]
        cb = tl.where(m[:, None] >= first + k[None, :], cb, 0.0)
        x = tl.load(x_at)
        acc += tl.dot(cb.to(tl.float16), x)
        cb_at += BK
        x_at += BK * H * P
    tl.store(O + (rows + m)[:, None] * (H * P) + head * P + p[None, :], acc.to(tl.float16))


@triton.jit
def ssd_states(X, B, Dt, A, S, L, H, P: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    """Computes the amount that a chunk adds to the state."""
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    rows = chunk * L
    A += head * tl.num_programs(0) * L + rows
    Dt += head * tl.num_programs(0) * L + rows
    p = tl.arange(0, P)
    n = tl.arange(0, N)
    k = tl.arange(0, BK)
    last = tl.load(A + L - 1)
    acc = tl.zeros((P, N), tl.float32)
    for first in range(0, L, BK):
        x = tl.load(X + (rows + first + k)[None, :] * (H * P) + head * P + p[:, None])
        b = tl.load(B + (rows + first + k)[:, None] * N + n[None, :]).to(tl.float32)
        a_k = tl.load(A + first + k)
        dt = tl.load(Dt + first + k)
        b *= (tl.exp(last - a_k) * dt)[:, None]
        acc += tl.dot(x, b.to(tl.float16))
    tl.store(S + (chunk * H + head) * P * N + p[:, None] * N + n[None, :], acc.to(tl.float16))


@triton.jit
def scaled_blocks(A, B, SA, SB, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Product of fp8, with a scale for each BK elements of a row of A and for each BN x BK block of B."""
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_at = A + m[:, None] * K + k[None, :]
    b_at = B + n[None, :] * K + k[:, None]
    steps = tl.cdiv(K, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, steps):
        a = tl.load(a_at, mask=k[None, :] < K - i * BK, other=0.0)
        b = tl.load(b_at, mask=k[:, None] < K - i * BK, other=0.0)
        sa = tl.load(SA + m * steps + i)
        sb = tl.load(SB + (n // BN) * steps + i)
        acc += tl.dot(a, b) * sa[:, None] * sb[None, :]
        a_at += BK
        b_at += BK
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16))


def halves(*shape, by=0.3):
    return (torch.randn(shape, device='cuda', dtype=torch.float32) * by).to(torch.float16)


def near(name, found, expected, limit=0.02):
    error = float(torch.max(torch.abs(found.float() - expected.float())) / torch.max(torch.abs(expected.float())))
    assert error < limit, '%s: %f' % (name, error)  # also fails if the error is NaN


def decays(batches, T, H, BT):
    """Returns cumulative sums of logarithms within each chunk, [batch, T, H]."""
    g = torch.rand((batches, T, H), device='cuda', dtype=torch.float32) * -0.05
    for t in range(T):
        if t % BT:
            g[:, t] += g[:, t - 1]
    return g


def check_delta(T, H, D, BT, warps, stages, BV, BD=32):
    B = 1
    k, w, u, q = halves(B, T, H, D), halves(B, T, H, D, by=0.1), halves(B, T, H, D), halves(B, T, H, D)
    g = decays(B, T, H, BT)
    chunks = triton.cdiv(T, BT)
    s = torch.zeros((B, H, chunks, D, D), device='cuda', dtype=torch.float16)
    new = torch.zeros_like(u)
    o = torch.zeros_like(u)
    delta_states[(D // BV, B * H)](k, w, u, g, new, s, T, H, D, D, BT, BV, num_warps=warps, num_stages=stages)
    delta_outputs[(D // BV, chunks, B * H)](q, k, new, s, g, o, T, H, 0.5, D, D, BT, 32, BV, num_warps=warps, num_stages=stages)
    a, beta = halves(B, T, H, BT), torch.rand((B, T, H), device='cuda', dtype=torch.float32)
    kw, vu = torch.zeros_like(k), torch.zeros_like(k)
    delta_inputs[(chunks, B * H)](k, u, beta, g, a, kw, vu, T, H, D, D, BT, BD, num_warps=warps, num_stages=stages)
    over, twice = u.clone(), torch.zeros_like(s)  # overwriting the old values gives the same
    delta_states[(D // BV, B * H)](k, w, over, g, over, twice, T, H, D, D, BT, BV, num_warps=warps, num_stages=stages)
    near('new over old', over, new, 1e-3)
    near('states of these', twice, s, 1e-3)
    for h in range(H):
        state = torch.zeros((D, D), device='cuda', dtype=torch.float32)
        for c in range(chunks):
            rows = slice(c * BT, min((c + 1) * BT, T))
            kc, wc, uc, qc = (x[0, rows, h].float() for x in (k, w, u, q))
            gc, n = g[0, rows, h], min((c + 1) * BT, T) - c * BT
            near('state', s[0, h, c], state) if c else None
            newc = uc - torch.matmul(wc, state)
            near('new', new[0, rows, h], newc)
            at = torch.arange(0, n, device='cuda')
            p = torch.matmul(qc, kc.t()) * torch.exp(gc[:, None] - gc[None, :])
            p = torch.where(at[:, None] >= at[None, :], p, 0.0)
            near('out', o[0, rows, h], (torch.matmul(qc, state) * torch.exp(gc)[:, None] + torch.matmul(p, newc)) * 0.5)
            ac, bc = a[0, rows, h, :n].float(), beta[0, rows, h]
            near('u', vu[0, rows, h], torch.matmul(ac, uc * bc[:, None]))
            near('w', kw[0, rows, h], torch.matmul(ac, kc * (bc * torch.exp(gc))[:, None]))
            last = gc[n - 1]
            state = state * torch.exp(last) + torch.matmul(kc.t(), newc * torch.exp(last - gc)[:, None])


def check_retention(T, H, D, BT, warps, stages, BV):
    q, k, v = halves(H, T, D), halves(H, T, D), halves(H, T, D)
    o = torch.zeros_like(v)
    retention[(D // BV, H)](q, k, v, o, T, H, 0.25, D, D, BT, BV, num_warps=warps, num_stages=stages)
    at = torch.arange(0, T, device='cuda')
    for h in range(H):
        far = (at[:, None] - at[None, :]).float()
        p = torch.matmul(q[h].float(), k[h].float().t()) * torch.where(far >= 0, (1 - 2.0 ** (-5 - h)) ** far, 0.0)
        near('retention', o[h], torch.matmul(p, v[h].float()) * 0.25)


def check_ssd(chunks, L, H, P, N, warps, stages):
    T = chunks * L
    x, b, c = halves(T, H, P), halves(T, N), halves(T, N)
    s = torch.zeros((chunks, H, P, N), device='cuda', dtype=torch.float16)
    a = decays(H, T, 1, L)[:, :, 0]
    dt = torch.rand((H, T), device='cuda', dtype=torch.float32)
    ssd_states[(chunks, H)](x, b, dt, a, s, L, H, P, N, 32, num_warps=warps, num_stages=stages)
    cb = torch.zeros((chunks, L, L), device='cuda', dtype=torch.float16)
    o = torch.zeros_like(x)
    for i in range(chunks):
        rows = slice(i * L, (i + 1) * L)
        cb[i] = torch.matmul(c[rows].float(), b[rows].float().t()).to(torch.float16)
    ssd_scan[(L // 64, chunks, H)](cb, x, dt, a, c, s, o, L, H, P, N, 64, P, 32, num_warps=warps, num_stages=stages)
    at = torch.arange(0, L, device='cuda')
    for i in range(chunks):
        for h in range(H):
            rows = slice(i * L, (i + 1) * L)
            ac, dc, xc = a[h, rows], dt[h, rows], x[rows, h].float()
            p = cb[i].float() * torch.exp(torch.clamp(ac[:, None] - ac[None, :], max=0.0)) * dc[None, :]
            p = torch.where(at[:, None] >= at[None, :], p, 0.0)
            before = torch.matmul(c[rows].float(), s[i, h].float().t()) * torch.exp(ac)[:, None]
            near('ssd', o[rows, h], before + torch.matmul(p, xc))
            near('ssd state', s[i, h], torch.matmul(xc.t(), b[rows].float() * (torch.exp(ac[L - 1] - ac) * dc)[:, None]))


def fp8(*shape):
    return torch.randn(shape, device='cuda', dtype=torch.float32).to(torch.float8_e4m3fn)


def check_scaled(M, N, K, BM, BN, BK, warps, stages):
    a, b = fp8(M, K), fp8(N, K)
    sa, sb = torch.rand((M, K // BK), device='cuda'), torch.rand((N // BN, K // BK), device='cuda')
    c = torch.zeros((M, N), device='cuda', dtype=torch.float16)
    scaled_blocks[(N // BN, M // BM)](a, b, sa, sb, c, M, N, K, BM, BN, BK, num_warps=warps, num_stages=stages)
    expected = torch.zeros((M, N), device='cuda', dtype=torch.float32)
    for i in range(K // BK):
        k = slice(i * BK, (i + 1) * BK)
        part = torch.matmul(a.float()[:, k], b.float()[:, k].t()) * sa[:, i][:, None]
        for j in range(N // BN):
            n = slice(j * BN, (j + 1) * BN)
            expected[:, n] += part[:, n] * sb[j, i]
    near('scaled blocks', c, expected)


def row(name, call):
    try:
        print('%-44s %9.2f us' % (name, 1000 * triton.testing.do_bench(call, warmup=20, rep=100)))
    except triton.runtime.errors.OutOfResources as e:
        print('%s: %s' % (name, str(e).split('\n')[0]))


def time_delta():
    B, T, H, D, BT = 4, 4096, 16, 128, 64
    k, w, u, q = halves(B, T, H, D), halves(B, T, H, D, by=0.1), halves(B, T, H, D), halves(B, T, H, D)
    g = torch.zeros((B, T, H), device='cuda', dtype=torch.float32)
    chunks = T // BT
    s = torch.zeros((B, H, chunks, D, D), device='cuda', dtype=torch.float16)
    new, o, kw, vu = (torch.zeros_like(u) for _ in range(4))
    a, beta = halves(B, T, H, BT), torch.rand((B, T, H), device='cuda', dtype=torch.float32)
    for BV, warps, stages in ((32, 4, 2), (64, 4, 3), (64, 4, 2)):
        row('delta rule, states, %d values, %d warps, %d stages' % (BV, warps, stages),
            lambda: delta_states[(D // BV, B * H)](k, w, u, g, new, s, T, H, D, D, BT, BV, num_warps=warps, num_stages=stages))
    for BD, warps, stages in ((64, 4, 3), (64, 4, 2), (64, 2, 3), (128, 4, 2)):
        row('delta rule, inputs, %d columns, %d warps, %d stages' % (BD, warps, stages),
            lambda: delta_inputs[(chunks, B * H)](k, u, beta, g, a, kw, vu, T, H, D, D, BT, BD, num_warps=warps, num_stages=stages))
    for BK, BV, warps, stages in ((64, 128, 4, 3), (64, 64, 4, 3), (128, 128, 8, 2)):
        row('delta rule, outputs, %dx%d, %d warps, %d stages' % (BK, BV, warps, stages),
            lambda: delta_outputs[(D // BV, chunks, B * H)](q, k, new, s, g, o, T, H, 0.5, D, D, BT, BK, BV, num_warps=warps,
                                                            num_stages=stages))


def time_retention():
    for D, BV, warps, stages in ((64, 64, 4, 3), (64, 32, 4, 3), (128, 64, 4, 2), (128, 128, 8, 2)):
        H, T = 64 * 128 // D, 4096
        q, k, v = halves(H, T, D), halves(H, T, D), halves(H, T, D)
        o = torch.zeros_like(v)
        row('retention %d, %d values, %d warps, %d stages' % (D, BV, warps, stages),
            lambda: retention[(D // BV, H)](q, k, v, o, T, H, 0.25, D, D, 64, BV, num_warps=warps, num_stages=stages))


def time_ssd():
    chunks, L, H, P, N = 32, 256, 32, 64, 128
    T = chunks * L
    x, b, c = halves(T, H, P), halves(T, N), halves(T, N)
    s, cb = torch.zeros((chunks, H, P, N), device='cuda', dtype=torch.float16), halves(chunks, L, L)
    a, dt, o = torch.zeros((H, T), device='cuda'), torch.rand((H, T), device='cuda'), torch.zeros_like(x)
    for BK, warps, stages in ((32, 4, 3), (64, 4, 3)):
        row('SSD, states, %d, %d warps, %d stages' % (BK, warps, stages),
            lambda: ssd_states[(chunks, H)](x, b, dt, a, s, L, H, P, N, BK, num_warps=warps, num_stages=stages))
    for BM, BK, warps, stages in ((64, 32, 4, 3), (128, 64, 4, 3), (64, 64, 4, 4)):
        row('SSD, scan, %dx%d, %d warps, %d stages' % (BM, BK, warps, stages),
            lambda: ssd_scan[(L // BM, chunks, H)](cb, x, dt, a, c, s, o, L, H, P, N, BM, P, BK, num_warps=warps, num_stages=stages))


def time_scaled():
    M = N = K = 4096
    a, b, c = fp8(M, K), fp8(N, K), torch.zeros((M, N), device='cuda', dtype=torch.float16)
    sa, sb = torch.rand((M, K // 128), device='cuda'), torch.rand((N // 128, K // 128), device='cuda')
    for BM, BN, warps, stages in ((128, 128, 8, 3), (64, 128, 4, 3), (128, 128, 4, 3)):
        row('fp8, scales of blocks, %dx%dx128, %d warps, %d stages' % (BM, BN, warps, stages),
            lambda: scaled_blocks[(N // BN, M // BM)](a, b, sa, sb, c, M, N, K, BM, BN, 128, num_warps=warps, num_stages=stages))


if __name__ == '__main__':
    if sys.argv[1:] == ['time']:
        time_delta()
        time_retention()
        time_ssd()
        time_scaled()
    else:
        torch.manual_seed(0)
        check_delta(200, 2, 64, 64, 4, 3, 32)
        check_delta(200, 1, 64, 64, 4, 3, 64, BD=64)
        check_retention(192, 2, 64, 64, 4, 3, 32)
        check_ssd(2, 128, 2, 64, 64, 4, 3)
        for K in (128, 256, 384, 512):  # runs iterations in pairs, with one or two left over
            check_scaled(128, 128, K, 64, 64, 128, 4, 4)
        if len(sys.argv) > 1:  # the argument is `all`
            check_delta(256, 2, 128, 64, 4, 2, 64)
            check_retention(256, 1, 128, 64, 8, 2, 128)
            check_scaled(256, 256, 640, 128, 128, 128, 8, 4)
