"""rows.py: defines row-wise and elementwise kernels, which bench/peers/lanes.py measures. Rows are contiguous and have n columns."""
import triton
import triton.language as tl
from triton.language.extra import libdevice

# -- softmax and losses --


@triton.jit
def softmax(X, Y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    x = tl.load(X + row + i, mask=i < n, other=-float('inf')).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(Y + row + i, e / tl.sum(e, axis=0), mask=i < n)


@triton.jit
def softmax_of_small_rows(X, Y, rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    i = tl.arange(0, BLOCK)
    at = r[:, None] * n + i[None, :]
    mask = (r[:, None] < rows) & (i[None, :] < n)
    x = tl.load(X + at, mask=mask, other=-float('inf')).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=1)[:, None])
    tl.store(Y + at, e / tl.sum(e, axis=1)[:, None], mask=mask)


@triton.jit
def causal_softmax(X, Y, n, scale, BLOCK: tl.constexpr):
    # in row r of a square of attention scores, only columns 0 to r are valid
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    at = row.to(tl.int64) * n + i
    x = tl.load(X + at, mask=i <= row % n, other=-float('inf')).to(tl.float32) * scale
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(Y + at, e / tl.sum(e, axis=0), mask=i < n)


@triton.jit
def softmax_backward(DY, Y, DX, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    dy = tl.load(DY + row + i, mask=i < n, other=0.0).to(tl.float32)
    y = tl.load(Y + row + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(DX + row + i, y * (dy - tl.sum(y * dy, axis=0)), mask=i < n)


@triton.jit
def log_softmax(X, Y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    x = tl.load(X + row + i, mask=i < n, other=-float('inf')).to(tl.float32)
    z = x - tl.max(x, axis=0)
    tl.store(Y + row + i, z - tl.log(tl.sum(tl.exp(z), axis=0)), mask=i < n)


@triton.jit
def log_softmax_backward(DY, Y, DX, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    dy = tl.load(DY + row + i, mask=i < n, other=0.0).to(tl.float32)
    y = tl.load(Y + row + i, mask=i < n, other=-float('inf')).to(tl.float32)
    tl.store(DX + row + i, dy - tl.exp(y) * tl.sum(dy, axis=0), mask=i < n)


@triton.jit
def log_sum_exp(X, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    high, total = -float('inf'), 0.0
    for start in range(0, n, BLOCK):
        x = tl.load(X + start + i, mask=start + i < n, other=-float('inf')).to(tl.float32)
        higher = tl.maximum(high, tl.max(x, axis=0))
        total = total * tl.exp(high - higher) + tl.sum(tl.exp(x - higher), axis=0)
        high = higher
    return high + tl.log(total)


@triton.jit
def cross_entropy(X, LABELS, LOSS, LSE, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    X += row.to(tl.int64) * n
    lse = log_sum_exp(X, n, BLOCK)
    tl.store(LSE + row, lse)
    tl.store(LOSS + row, lse - tl.load(X + tl.load(LABELS + row)).to(tl.float32))


@triton.jit
def cross_entropy_backward(X, LABELS, LSE, DLOSS, DX, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    at = row.to(tl.int64) * n + i
    x = tl.load(X + at, mask=i < n, other=-float('inf')).to(tl.float32)
    p = tl.exp(x - tl.load(LSE + row))
    p = tl.where(i == tl.load(LABELS + row), p - 1.0, p)
    tl.store(DX + at, p * tl.load(DLOSS + row), mask=i < n)


@triton.jit
def cross_entropy_with_gradient(X, LABELS, LOSS, DX, n, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    X += row.to(tl.int64) * n
    DX += row.to(tl.int64) * n
    label = tl.load(LABELS + row)
    lse = log_sum_exp(X, n, BLOCK)
    tl.store(LOSS + row, lse - tl.load(X + label).to(tl.float32))
    i = tl.arange(0, BLOCK)
    for start in range(0, n, BLOCK):
        x = tl.load(X + start + i, mask=start + i < n, other=-float('inf')).to(tl.float32)
        p = tl.exp(x - lse)
        tl.store(DX + start + i, tl.where(start + i == label, p - 1.0, p) * scale, mask=start + i < n)


@triton.jit
def kl_divergence(LOGP, Q, LOSS, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    LOGP += row.to(tl.int64) * n
    Q += row.to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        p = tl.load(LOGP + start + i, mask=start + i < n, other=0.0).to(tl.float32)
        q = tl.load(Q + start + i, mask=start + i < n, other=0.0).to(tl.float32)
        total += tl.where(q > 0, q * (tl.log(tl.maximum(q, 1e-30)) - p), 0.0)
    tl.store(LOSS + row, tl.sum(total, axis=0))


# -- norms --


@triton.jit
def layer_norm(X, Y, W, B, MEAN, RSTD, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    at = row.to(tl.int64) * n + i
    x = tl.load(X + at, mask=i < n, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    d = tl.where(i < n, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(d * d, axis=0) / n + eps)
    tl.store(MEAN + row, mean)
    tl.store(RSTD + row, rstd)
    w = tl.load(W + i, mask=i < n).to(tl.float32)
    b = tl.load(B + i, mask=i < n).to(tl.float32)
    tl.store(Y + at, d * rstd * w + b, mask=i < n)


@triton.jit
def layer_norm_backward(DY, X, W, MEAN, RSTD, DX, DW, DB, LOCKS, n, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    # adds each row's part of dW and dB to one of GROUPS partial sums; each sum has a lock (0 free, 1 taken) and a count of additions
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < n
    at = row.to(tl.int64) * n + i
    x = tl.load(X + at, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(DY + at, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(W + i, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.load(RSTD + row)
    z = tl.where(mask, (x - tl.load(MEAN + row)) * rstd, 0.0)
    g = w * dy
    c = tl.sum(z * g, axis=0) / n
    d = tl.sum(g, axis=0) / n
    tl.store(DX + at, (g - (z * c + d)) * rstd, mask=mask)
    group = row % GROUPS
    dw, db = dy * z, dy
    lock, count = LOCKS + group, LOCKS + GROUPS + group
    part = group * n + i
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        dw += tl.load(DW + part, mask=mask)
        db += tl.load(DB + part, mask=mask)
    tl.store(DW + part, dw, mask=mask)
    tl.store(DB + part, db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def sum_of_parts(PW, PB, DW, DB, parts, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    c = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    w = tl.zeros((ROWS, COLUMNS), tl.float32)
    b = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, parts, ROWS):
        r = start + tl.arange(0, ROWS)
        mask = (r[:, None] < parts) & (c[None, :] < n)
        at = r[:, None] * n + c[None, :]
        w += tl.load(PW + at, mask=mask, other=0.0)
        b += tl.load(PB + at, mask=mask, other=0.0)
    tl.store(DW + c, tl.sum(w, axis=0), mask=c < n)
    tl.store(DB + c, tl.sum(b, axis=0), mask=c < n)


@triton.jit
def layer_norm_backward_by_parts(DY, X, W, MEAN, RSTD, DX, PW, PB, rows, n, BLOCK: tl.constexpr):
    # program p computes rows p, p + programs, ...; it keeps its sums in registers
    i = tl.arange(0, BLOCK)
    mask = i < n
    w = tl.load(W + i, mask=mask, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    db = tl.zeros((BLOCK,), tl.float32)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        at = row * n + i
        x = tl.load(X + at, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(DY + at, mask=mask, other=0.0).to(tl.float32)
        rstd = tl.load(RSTD + row)
        z = tl.where(mask, (x - tl.load(MEAN + row)) * rstd, 0.0)
        g = w * dy
        c = tl.sum(z * g, axis=0) / n
        d = tl.sum(g, axis=0) / n
        tl.store(DX + at, (g - (z * c + d)) * rstd, mask=mask)
        dw += dy * z
        db += dy
    tl.store(PW + tl.program_id(0) * n + i, dw, mask=mask)
    tl.store(PB + tl.program_id(0) * n + i, db, mask=mask)


@triton.jit
def rms_norm(X, Y, W, RSTD, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    at = row.to(tl.int64) * n + i
    x = tl.load(X + at, mask=i < n, other=0.0).to(tl.float32)
    rstd = tl.rsqrt(tl.sum(x * x, axis=0) / n + eps)
    tl.store(RSTD + row, rstd)
    w = tl.load(W + i, mask=i < n).to(tl.float32)
    tl.store(Y + at, x * rstd * w, mask=i < n)


@triton.jit
def rms_norm_of_sum(X, R, S, Y, W, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    x = tl.load(X + row + i, mask=i < n, other=0.0) + tl.load(R + row + i, mask=i < n, other=0.0)
    tl.store(S + row + i, x, mask=i < n)
    x = x.to(tl.float32)
    w = tl.load(W + i, mask=i < n).to(tl.float32)
    tl.store(Y + row + i, x * tl.rsqrt(tl.sum(x * x, axis=0) / n + eps) * w, mask=i < n)


@triton.jit
def rms_norm_backward(DY, X, W, RSTD, DX, PW, rows, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    mask = i < n
    w = tl.load(W + i, mask=mask, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        at = row * n + i
        x = tl.load(X + at, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(DY + at, mask=mask, other=0.0).to(tl.float32)
        rstd = tl.load(RSTD + row)
        z = x * rstd
        g = w * dy
        tl.store(DX + at, (g - z * (tl.sum(z * g, axis=0) / n)) * rstd, mask=mask)
        dw += dy * z
    tl.store(PW + tl.program_id(0) * n + i, dw, mask=mask)


@triton.jit
def group_norm(X, Y, W, B, groups, channels, pixels, eps, BLOCK: tl.constexpr):
    # a group has `channels` planes of `pixels` elements each
    at = tl.program_id(0)
    group = at % groups
    n = channels * pixels
    X += at.to(tl.int64) * n
    Y += at.to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    q = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        x = tl.load(X + start + i, mask=start + i < n, other=0.0).to(tl.float32)
        s += x
        q += x * x
    mean = tl.sum(s, axis=0) / n
    rstd = tl.rsqrt(tl.sum(q, axis=0) / n - mean * mean + eps)
    for start in range(0, n, BLOCK):
        mask = start + i < n
        x = tl.load(X + start + i, mask=mask, other=0.0).to(tl.float32)
        channel = group * channels + (start + i) // pixels
        w = tl.load(W + channel, mask=mask).to(tl.float32)
        b = tl.load(B + channel, mask=mask).to(tl.float32)
        tl.store(Y + start + i, (x - mean) * rstd * w + b, mask=mask)


@triton.jit
def normalize(X, Y, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    x = tl.load(X + row + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(Y + row + i, x / tl.sqrt(tl.sum(x * x, axis=0) + eps), mask=i < n)


# -- activations --


@triton.jit
def gelu(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n).to(tl.float32)
    tl.store(Y + i, 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476)), mask=i < n)


@triton.jit
def gelu_tanh(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n).to(tl.float32)
    tl.store(Y + i, 0.5 * x * (1.0 + libdevice.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))), mask=i < n)


@triton.jit
def gelu_tanh_backward(DY, X, DX, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n).to(tl.float32)
    dy = tl.load(DY + i, mask=i < n).to(tl.float32)
    t = libdevice.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))
    inner = 0.7978845608028654 * (1.0 + 0.134145 * x * x)
    tl.store(DX + i, dy * 0.5 * (1.0 + t + x * (1.0 - t * t) * inner), mask=i < n)


@triton.jit
def geglu(A, B, C, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    a = tl.load(A + row + i, mask=i < n, other=0).to(tl.float32)
    b = tl.load(B + row + i, mask=i < n, other=0)
    t = libdevice.tanh(0.7978845608028654 * (a + 0.044715 * a * a * a))
    tl.store(C + row + i, (0.5 * a * (1.0 + t)).to(b.dtype) * b, mask=i < n)


@triton.jit
def geglu_backward(DC, A, B, DA, DB, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    dc = tl.load(DC + row + i, mask=i < n, other=0)
    a = tl.load(A + row + i, mask=i < n, other=0).to(tl.float32)
    b = tl.load(B + row + i, mask=i < n, other=0)
    t = libdevice.tanh(0.7978845608028654 * (a + 0.044715 * a * a * a))
    gelu_of_a = 0.5 * a * (1.0 + t)
    slope = 0.5 * (1.0 + t) + 0.5 * a * (1.0 - t * t) * (0.7978845608028654 * (1.0 + 0.134145 * a * a))
    tl.store(DB + row + i, dc * gelu_of_a.to(dc.dtype), mask=i < n)
    tl.store(DA + row + i, (dc * b).to(tl.float32) * slope, mask=i < n)


@triton.jit
def dynamic_tanh(X, Y, ALPHA, W, B, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    alpha = tl.load(ALPHA).to(tl.float32)
    w = tl.load(W + i, mask=i < n).to(tl.float32)
    b = tl.load(B + i, mask=i < n).to(tl.float32)
    x = tl.load(X + row + i, mask=i < n).to(tl.float32)
    tl.store(Y + row + i, w * libdevice.tanh(alpha * x) + b, mask=i < n)


@triton.jit
def dynamic_tanh_backward(DY, X, ALPHA, W, DX, PA, PW, PB, rows, n, BLOCK: tl.constexpr):
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    alpha = tl.load(ALPHA).to(tl.float32)
    w = tl.load(W + i, mask=mask, other=0.0).to(tl.float32)
    da = tl.zeros((BLOCK,), tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    db = tl.zeros((BLOCK,), tl.float32)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(X + row * n + i, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(DY + row * n + i, mask=mask, other=0.0).to(tl.float32)
        t = libdevice.tanh(alpha * x)
        slope = dy * w * (1.0 - t * t)
        tl.store(DX + row * n + i, slope * alpha, mask=mask)
        da += slope * x
        dw += dy * t
        db += dy
    tl.store(PA + tl.program_id(0) * n + i, da, mask=mask)
    tl.store(PW + tl.program_id(0) * n + i, dw, mask=mask)
    tl.store(PB + tl.program_id(0) * n + i, db, mask=mask)


@triton.jit
def swiglu(A, B, C, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    a = tl.load(A + row + i, mask=i < n, other=0).to(tl.float32)
    b = tl.load(B + row + i, mask=i < n, other=0)
    tl.store(C + row + i, (a * tl.sigmoid(a)).to(b.dtype) * b, mask=i < n)


@triton.jit
def swiglu_backward(DC, A, B, DA, DB, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    dc = tl.load(DC + row + i, mask=i < n, other=0).to(tl.float32)
    a = tl.load(A + row + i, mask=i < n, other=0).to(tl.float32)
    b = tl.load(B + row + i, mask=i < n, other=0).to(tl.float32)
    s = tl.sigmoid(a)
    tl.store(DA + row + i, dc * b * (s + a * s * (1.0 - s)), mask=i < n)
    tl.store(DB + row + i, dc * a * s, mask=i < n)


# -- element by element --


@triton.jit
def add(X, Y, Z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Z + i, tl.load(X + i, mask=i < n) + tl.load(Y + i, mask=i < n), mask=i < n)


@triton.jit
def leaky_where(X, MASK, Y, n, slope, BLOCK: tl.constexpr):
    # a mask in memory guards the loads
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = (tl.load(MASK + i, mask=i < n, other=0) != 0) & (i < n)
    x = tl.load(X + i, mask=keep, other=0.0)
    tl.store(Y + i, tl.where(x > 0, x, x * slope), mask=i < n)


@triton.jit
def strided(X, Y, rows, n, stride_xr, stride_xc, stride_yr, stride_yc, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    mask = (r[:, None] < rows) & (c[None, :] < n)
    x = tl.load(X + r[:, None] * stride_xr + c[None, :] * stride_xc, mask=mask)
    tl.store(Y + r[:, None] * stride_yr + c[None, :] * stride_yc, x * 2, mask=mask)


@triton.jit
def bias_and_scale(X, S, B, Y, rows, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    mask = (r[:, None] < rows) & (c[None, :] < n)
    at = r[:, None] * n + c[None, :]
    s = tl.load(S + r, mask=r < rows)
    b = tl.load(B + c, mask=c < n)
    tl.store(Y + at, tl.load(X + at, mask=mask) * s[:, None] + b[None, :], mask=mask)


@triton.jit
def cast(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < n).to(Y.dtype.element_ty), mask=i < n)


@triton.jit
def adam(P, G, M, V, P2, M2, V2, n, rate, beta1, beta2, eps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(G + i, mask=i < n)
    m = beta1 * tl.load(M + i, mask=i < n) + (1.0 - beta1) * g
    v = beta2 * tl.load(V + i, mask=i < n) + (1.0 - beta2) * g * g
    tl.store(M2 + i, m, mask=i < n)
    tl.store(V2 + i, v, mask=i < n)
    tl.store(P2 + i, tl.load(P + i, mask=i < n) - rate * m / (tl.sqrt(v) + eps), mask=i < n)


@triton.jit
def dropout(X, Y, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n)
    tl.store(Y + i, tl.where(tl.rand(seed, i) > p, x / (1 - p), 0.0), mask=i < n)


@triton.jit
def dropout_by_fours(X, Y, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r0, r1, r2, r3 = tl.rand4x(seed, i)
    r = tl.join(tl.join(r0, r1), tl.join(r2, r3)).reshape(BLOCK * 4)
    j = tl.program_id(0) * (BLOCK * 4) + tl.arange(0, BLOCK * 4)
    x = tl.load(X + j, mask=j < n)
    tl.store(Y + j, tl.where(r > p, x / (1 - p), 0.0), mask=j < n)


@triton.jit
def rotary(X, COS, SIN, Y, heads, HEADS: tl.constexpr, HALF: tl.constexpr):
    token = tl.program_id(0)
    h = tl.arange(0, HEADS)
    d = tl.arange(0, HALF)
    at = token * heads * (2 * HALF) + h[:, None] * (2 * HALF) + d[None, :]
    mask = (h < heads)[:, None]
    c = tl.load(COS + token * HALF + d)[None, :].to(tl.float32)
    s = tl.load(SIN + token * HALF + d)[None, :].to(tl.float32)
    x1 = tl.load(X + at, mask=mask).to(tl.float32)
    x2 = tl.load(X + at + HALF, mask=mask).to(tl.float32)
    tl.store(Y + at, x1 * c - x2 * s, mask=mask)
    tl.store(Y + at + HALF, x2 * c + x1 * s, mask=mask)


# -- reductions, scans, histograms --


@triton.jit
def row_sum(X, Y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(X + row.to(tl.int64) * n + i, mask=i < n, other=0.0)
    tl.store(Y + row, tl.sum(x.to(tl.float32), axis=0))


@triton.jit
def row_max_in_loop(X, Y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    high = tl.full((BLOCK,), -float('inf'), tl.float32)
    for start in range(0, n, BLOCK):
        x = tl.load(X + row.to(tl.int64) * n + start + i, mask=start + i < n, other=-float('inf'))
        high = tl.maximum(high, x.to(tl.float32))
    tl.store(Y + row, tl.max(high, axis=0))


@triton.jit
def row_variance(X, MEAN, VAR, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(X + row.to(tl.int64) * n + i, mask=i < n, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    d = tl.where(i < n, x - mean, 0.0)
    tl.store(MEAN + row, mean)
    tl.store(VAR + row, tl.sum(d * d, axis=0) / n)


@triton.jit
def argmax(X, Y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(X + row.to(tl.int64) * n + i, mask=i < n, other=-float('inf'))
    tl.store(Y + row, tl.argmax(x, axis=0))


@triton.jit
def column_sum(X, Y, rows, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    c = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, rows, ROWS):
        r = start + tl.arange(0, ROWS)
        mask = (r[:, None] < rows) & (c[None, :] < n)
        total += tl.load(X + r[:, None] * n + c[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.store(Y + c, tl.sum(total, axis=0), mask=c < n)


@triton.jit
def column_sum_by_atomics(X, Y, rows, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    mask = (r[:, None] < rows) & (c[None, :] < n)
    x = tl.load(X + r[:, None] * n + c[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.atomic_add(Y + c, tl.sum(x, axis=0), mask=c < n)


@triton.jit
def cumsum(X, Y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    x = tl.load(X + row + i, mask=i < n, other=0.0)
    tl.store(Y + row + i, tl.cumsum(x, axis=0), mask=i < n)


@triton.jit
def cumsum_of_columns(X, Y, rows, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    c = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    before = tl.zeros((COLUMNS,), tl.float32)
    for start in range(0, rows, ROWS):
        r = start + tl.arange(0, ROWS)
        mask = (r[:, None] < rows) & (c[None, :] < n)
        x = tl.load(X + r[:, None] * n + c[None, :], mask=mask, other=0.0)
        tl.store(Y + r[:, None] * n + c[None, :], tl.cumsum(x, axis=0) + before[None, :], mask=mask)
        before += tl.sum(x, axis=0)


@triton.jit
def affine_then(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def recurrence(A, B, Y, n, BLOCK: tl.constexpr):
    # y[i] = a[i] * y[i - 1] + b[i]
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    a = tl.load(A + row + i, mask=i < n, other=1.0)
    b = tl.load(B + row + i, mask=i < n, other=0.0)
    _, y = tl.associative_scan((a, b), 0, affine_then)
    tl.store(Y + row + i, y, mask=i < n)


@triton.jit
def recurrence_of_columns(A, B, Y, steps, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    base = tl.program_id(1).to(tl.int64) * steps * n
    y = tl.zeros((BLOCK,), tl.float32)
    for t in range(steps):
        at = base + t * n + i
        y = tl.load(A + at, mask=i < n).to(tl.float32) * y + tl.load(B + at, mask=i < n).to(tl.float32)
        tl.store(Y + at, y, mask=i < n)


@triton.jit
def histogram(X, COUNTS, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n, other=0)
    tl.atomic_add(COUNTS + tl.arange(0, BINS), tl.histogram(x, BINS))


# -- tables, quantization, transposes --


@triton.jit
def embedding(IDS, W, Y, n, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    row = tl.load(IDS + token).to(tl.int64)
    tl.store(Y + token * n + i, tl.load(W + row * n + i, mask=i < n), mask=i < n)


@triton.jit
def embedding_backward(IDS, DY, DW, n, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    row = tl.load(IDS + token).to(tl.int64)
    dy = tl.load(DY + token * n + i, mask=i < n, other=0.0)
    tl.atomic_add(DW + row * n + i, dy.to(DW.dtype.element_ty), mask=i < n, sem='relaxed')


@triton.jit
def take_along_rows(X, IDS, Y, n, k, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    ids = tl.load(IDS + row * k + j, mask=j < k, other=0)
    tl.store(Y + row * k + j, tl.load(X + row * n + ids, mask=j < k), mask=j < k)


@triton.jit
def quantize_rows(X, Q, SCALES, n, most, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    at = row.to(tl.int64) * n + i
    x = tl.load(X + at, mask=i < n, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), axis=0), 1e-10) / most
    tl.store(SCALES + row, scale)
    y = x / scale
    if Q.dtype.element_ty == tl.int8:
        y = libdevice.rint(y)
    tl.store(Q + at, y.to(Q.dtype.element_ty), mask=i < n)


@triton.jit
def quantize_groups(X, Q, SCALES, groups, most, GROUPS: tl.constexpr, SIZE: tl.constexpr):
    g = tl.program_id(0) * GROUPS + tl.arange(0, GROUPS)
    at = g[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    x = tl.load(X + at, mask=(g < groups)[:, None], other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), axis=1), 1e-10) / most
    tl.store(SCALES + g, scale, mask=g < groups)
    tl.store(Q + at, (x / scale[:, None]).to(Q.dtype.element_ty), mask=(g < groups)[:, None])


@triton.jit
def dequantize_rows(Q, SCALES, Y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    at = row.to(tl.int64) * n + i
    q = tl.load(Q + at, mask=i < n)
    tl.store(Y + at, (q.to(tl.float32) * tl.load(SCALES + row)).to(Y.dtype.element_ty), mask=i < n)


@triton.jit
def transpose(X, Y, rows, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    x = tl.load(X + r[:, None] * n + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < n))
    tl.store(Y + c[:, None] * rows + r[None, :], tl.trans(x), mask=(c[:, None] < n) & (r[None, :] < rows))


# -- the delta rule: S += k (beta (v - S' k))', o = S' q; a program computes VS columns of a head's state --


@triton.jit
def delta_rule(Q, K, V, BETA, U, O, steps, v_size, scale, SIZE: tl.constexpr, VS: tl.constexpr):
    head = tl.program_id(1).to(tl.int64)
    k_at = tl.arange(0, SIZE)
    v_at = tl.program_id(0) * VS + tl.arange(0, VS)
    state = tl.zeros((SIZE, VS), tl.float32)
    for t in range(steps):
        at = head * steps + t
        k = tl.load(K + at * SIZE + k_at).to(tl.float32)
        q = tl.load(Q + at * SIZE + k_at).to(tl.float32) * scale
        v = tl.load(V + at * v_size + v_at).to(tl.float32)
        u = v - tl.sum(state * k[:, None], axis=0)
        tl.store(U + at * v_size + v_at, u)
        state += k[:, None] * (u * tl.load(BETA + at).to(tl.float32))[None, :]
        tl.store(O + at * v_size + v_at, tl.sum(state * q[:, None], axis=0))


@triton.jit
def delta_rule_backward(Q, K, U, BETA, DO, DQ, DK, DV, DBETA, heads, steps, v_size, scale, SIZE: tl.constexpr, VS: tl.constexpr):
    # writes this block's parts of DQ, DK and DBETA: the first loop computes the state's gradient from the last step to the first
    block = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)
    k_at = tl.arange(0, SIZE)
    v_at = block * VS + tl.arange(0, VS)
    part = (block * heads + head) * steps
    gradient = tl.zeros((SIZE, VS), tl.float32)
    for i in range(steps):
        t = steps - 1 - i
        at = head * steps + t
        q = tl.load(Q + at * SIZE + k_at).to(tl.float32) * scale
        k = tl.load(K + at * SIZE + k_at).to(tl.float32)
        u = tl.load(U + at * v_size + v_at).to(tl.float32)
        do = tl.load(DO + at * v_size + v_at).to(tl.float32)
        beta = tl.load(BETA + at).to(tl.float32)
        gradient += q[:, None] * do[None, :]
        dk = tl.sum(gradient * (u * beta)[None, :], axis=1)
        dv = tl.sum(gradient * k[:, None], axis=0)
        tl.store(DK + (part + t) * SIZE + k_at, dk)
        tl.store(DBETA + part + t, tl.sum(dv * u, axis=0))
        dv = dv * beta
        tl.store(DV + at * v_size + v_at, dv)
        gradient -= k[:, None] * dv[None, :]
    tl.debug_barrier()
    state = tl.zeros((SIZE, VS), tl.float32)
    for t in range(steps):
        at = head * steps + t
        k = tl.load(K + at * SIZE + k_at).to(tl.float32)
        u = tl.load(U + at * v_size + v_at).to(tl.float32)
        do = tl.load(DO + at * v_size + v_at).to(tl.float32)
        dv = tl.load(DV + at * v_size + v_at).to(tl.float32)
        dk = tl.load(DK + (part + t) * SIZE + k_at)
        tl.store(DK + (part + t) * SIZE + k_at, dk - tl.sum(state * dv[None, :], axis=1))
        state += k[:, None] * (u * tl.load(BETA + at).to(tl.float32))[None, :]
        tl.store(DQ + (part + t) * SIZE + k_at, tl.sum(state * do[None, :], axis=1) * scale)
