# SPDX-License-Identifier: MIT
"""rowcases.py: defines the measurements of row-wise and elementwise kernels (bench/programs/rows.py): arguments, grids, PyTorch's
calls, expected results.

The bytes of a case are the bytes of its inputs and outputs, each counted once. Each case has sizes to measure, and sizes to check on
the CPU.
"""
import math

import rows
import torch
import torch.nn.functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
EPS = 1e-5
PROGRAMS = 528  # the grid of kernels whose programs compute many rows: four programs for each multiprocessor of an H200
f16, bf16, f32, i8, i32, i64, fp8 = (torch.float16, torch.bfloat16, torch.float32, torch.int8, torch.int32, torch.int64,
                                     torch.float8_e4m3fn)


class Case:
    """A measured case. `launches` is [(kernel, grid, arguments, constants, numbers of warps to try)], and only the first launch tries
    several numbers of warps. `outputs` are tensors that are compared with `expected()`, or else with the results of `torch_call()`;
    `fill` is the value of all output elements before a checked call."""

    def __init__(self, launches, outputs, torch_call, inputs, expected=None, tolerance=None, fill=float("nan"), zero=(), judge=None):
        self.launches, self.outputs, self.torch_call, self.expected = launches, outputs, torch_call, expected or torch_call
        self.tolerance, self.fill, self.zero, self.judge = tolerance, fill, zero, judge
        self.want = None
        self.nbytes = sum(t.numel() * t.element_size() for t in (*inputs, *outputs))

    def prepare(self):
        for t in self.outputs:
            t.copy_(torch.full(t.shape, self.fill if t.is_floating_point() else 0, device=t.device).to(t.dtype))
        self.clear()

    def clear(self):
        for t in self.zero:
            t.zero_()

    def wrong(self):
        """Returns a description of the error in the outputs, or None."""
        if self.judge:
            return self.judge()
        self.want = expected = self.expected() if self.want is None else self.want
        for at, (found, want) in enumerate(zip(self.outputs, expected if isinstance(expected, (tuple, list)) else (expected,))):
            found, want = found.float(), want.reshape(found.shape).float()
            most = self.tolerance or {f16: 4e-3, bf16: 2e-2, fp8: 7e-2}.get(self.outputs[at].dtype, 1e-4)
            least = 1 if self.outputs[at].dtype == i8 else most * want.std().nan_to_num().clamp(1e-3, 1)  # i8: ties may round differently
            far = (found - want).abs() > most * want.abs() + least
            if bool((far | (found.isnan() & ~want.isnan())).any()):
                first = int(far.flatten().int().argmax())
                return f"wrong: output {at}[{first}] is {found.flatten()[first]:.6g}, expected {want.flatten()[first]:.6g}"
        return None


def random(*shape, dtype=f32):
    return torch.randn(shape, device=DEVICE, dtype=f32).to(dtype)


def empty(*shape, dtype=f32):
    return torch.empty(shape, device=DEVICE, dtype=dtype)


def block_of(n):
    return 1 << (n - 1).bit_length()


def warps_for(block, least=4, most=64):
    found = [w for w in (1, 2, 4, 8, 16, 32) if least <= block // (32 * w) <= most]
    return found[-3:] or [1]


def cdiv(a, b):
    return -(-a // b)


def by_row(kernel, args, m, n, more=()):
    """Returns a launch in which each program computes one row."""
    block = block_of(n)
    return (kernel, (m,), [*args, n, *more], [block], warps_for(block))


def flat(kernel, args, n, block=1024, warps=(4, 8)):
    return (kernel, (cdiv(n, block),), args, [block], list(warps))


# -- softmax and losses --


def softmax(m, n, dtype):
    x, y = random(m, n, dtype=dtype), empty(m, n, dtype=dtype)
    return Case([by_row(rows.softmax, [x, y], m, n)], [y], lambda: torch.softmax(x, 1), [x])


def softmax_small(m, n, dtype):
    x, y, block = random(m, n, dtype=dtype), empty(m, n, dtype=dtype), block_of(n)
    tile = max(1, 2048 // block)
    return Case([(rows.softmax_of_small_rows, (cdiv(m, tile),), [x, y, m, n], [tile, block], [2, 4, 8])], [y],
                lambda: torch.softmax(x, 1), [x])


def causal_softmax(heads, n, dtype):
    x, y = random(heads * n, n, dtype=dtype), empty(heads * n, n, dtype=dtype)
    mask = torch.ones(n, n, device=DEVICE, dtype=torch.bool).tril()
    return Case([by_row(rows.causal_softmax, [x, y], heads * n, n, [0.125])], [y], None, [x],
                lambda: torch.softmax((x.float().view(heads, n, n) * 0.125).masked_fill(~mask, -math.inf), 2))


def backward_of_softmax(kernel, logs, m, n, dtype):
    x, dy, dx = random(m, n), random(m, n, dtype=dtype), empty(m, n, dtype=dtype)
    y = (torch.log_softmax if logs else torch.softmax)(x, 1).to(dtype)
    call = torch._log_softmax_backward_data if logs else torch._softmax_backward_data
    return Case([by_row(kernel, [dy, y, dx], m, n)], [dx], lambda: call(dy, y, 1, dtype), [dy, y],
                lambda: call(dy.float(), y.float(), 1, f32))


def softmax_backward(m, n, dtype):
    return backward_of_softmax(rows.softmax_backward, False, m, n, dtype)


def log_softmax(m, n, dtype):
    x, y = random(m, n, dtype=dtype), empty(m, n, dtype=dtype)
    return Case([by_row(rows.log_softmax, [x, y], m, n)], [y], lambda: torch.log_softmax(x, 1), [x])


def log_softmax_backward(m, n, dtype):
    return backward_of_softmax(rows.log_softmax_backward, True, m, n, dtype)


def labelled(m, n, dtype):
    return random(m, n, dtype=dtype), torch.randint(0, n, (m,), device=DEVICE)


def cross_entropy(m, n, dtype, block):
    (x, labels), loss, lse = labelled(m, n, dtype), empty(m), empty(m)
    return Case([(rows.cross_entropy, (m,), [x, labels, loss, lse, n], [block], [4, 8, 16])], [loss, lse],
                lambda: F.cross_entropy(x, labels, reduction="none"), [x, labels],
                lambda: (F.cross_entropy(x.float(), labels, reduction="none"), torch.logsumexp(x.float(), 1)))


def cross_entropy_backward(m, n, dtype, block):
    (x, labels), g, dx = labelled(m, n, dtype), random(m), empty(m, n, dtype=dtype)
    lse = torch.logsumexp(x.float(), 1)
    return Case([(rows.cross_entropy_backward, (m, cdiv(n, block)), [x, labels, lse, g, dx, n], [block], [4, 8])], [dx], None,
                [x, labels, lse, g], lambda: (torch.softmax(x.float(), 1) - F.one_hot(labels, n)) * g[:, None], tolerance=2e-2)


def cross_entropy_with_gradient(m, n, dtype, block):
    (x, labels), loss, dx = labelled(m, n, dtype), empty(m), empty(m, n, dtype=dtype)
    return Case([(rows.cross_entropy_with_gradient, (m,), [x, labels, loss, dx, n, 0.5], [block], [8, 16, 32])], [loss, dx], None,
                [x, labels], lambda: (F.cross_entropy(x.float(), labels, reduction="none"),
                                      (torch.softmax(x.float(), 1) - F.one_hot(labels, n)) * 0.5))


def kl_divergence(m, n, dtype, block):
    p, q, loss = torch.log_softmax(random(m, n), 1).to(dtype), torch.softmax(random(m, n), 1).to(dtype), empty(m)
    return Case([(rows.kl_divergence, (m,), [p, q, loss, n], [block], [4, 8, 16])], [loss], None, [p, q],
                lambda: F.kl_div(p.float(), q.float(), reduction="none").sum(1), tolerance=2e-3)


# -- norms --


def norm_data(m, n, dtype):
    x, w, b = random(m, n, dtype=dtype), random(n, dtype=dtype), random(n, dtype=dtype)
    mean = x.float().mean(1)
    return x, w, b, mean, torch.rsqrt(x.float().var(1, correction=0) + EPS)


def layer_norm(m, n, dtype):
    (x, w, b, *_), y, mean, rstd = norm_data(m, n, dtype), empty(m, n, dtype=dtype), empty(m), empty(m)
    return Case([by_row(rows.layer_norm, [x, y, w, b, mean, rstd], m, n, [EPS])], [y], lambda: F.layer_norm(x, (n,), w, b, EPS),
                [x, w, b, mean, rstd])


def layer_norm_gradients(dy, x, w, mean, rstd, b):
    def call():
        return torch.ops.aten.native_layer_norm_backward(dy, x, (x.shape[1],), mean[:, None], rstd[:, None], w, b, [True] * 3)
    return call


def wide_layer_norm_gradients(dy, x, w, mean, rstd, b):
    wide = [t.float() for t in (dy, x, w, mean, rstd, b)]
    return layer_norm_gradients(*wide)


def summed(pw, pb, dw, db, parts, n):
    return (rows.sum_of_parts, (cdiv(n, 32),), [pw, pb, dw, db, parts, n], [32, 32], [4])


def layer_norm_backward(m, n, dtype, groups):
    x, w, b, mean, rstd = norm_data(m, n, dtype)
    dy, dx, dw, db = random(m, n, dtype=dtype), empty(m, n, dtype=dtype), empty(n, dtype=dtype), empty(n, dtype=dtype)
    pw, pb, locks = empty(groups, n), empty(groups, n), torch.zeros(2 * groups, device=DEVICE, dtype=i32)
    block = block_of(n)
    first = (rows.layer_norm_backward, (m,), [dy, x, w, mean, rstd, dx, pw, pb, locks, n], [groups, block], warps_for(block))
    return Case([first, summed(pw, pb, dw, db, groups, n)], [dx, dw, db], layer_norm_gradients(dy, x, w, mean, rstd, b),
                [dy, x, w, mean, rstd], wide_layer_norm_gradients(dy, x, w, mean, rstd, b), tolerance=1e-2, zero=[locks])


def layer_norm_backward_by_parts(m, n, dtype):
    x, w, b, mean, rstd = norm_data(m, n, dtype)
    dy, dx, dw, db = random(m, n, dtype=dtype), empty(m, n, dtype=dtype), empty(n, dtype=dtype), empty(n, dtype=dtype)
    parts, block = min(m, PROGRAMS), block_of(n)
    pw, pb = empty(parts, n), empty(parts, n)
    first = (rows.layer_norm_backward_by_parts, (parts,), [dy, x, w, mean, rstd, dx, pw, pb, m, n], [block], warps_for(block))
    return Case([first, summed(pw, pb, dw, db, parts, n)], [dx, dw, db], layer_norm_gradients(dy, x, w, mean, rstd, b),
                [dy, x, w, mean, rstd], wide_layer_norm_gradients(dy, x, w, mean, rstd, b), tolerance=1e-2)


def rms_norm(m, n, dtype):
    x, w, y, rstd = random(m, n, dtype=dtype), random(n, dtype=dtype), empty(m, n, dtype=dtype), empty(m)
    return Case([by_row(rows.rms_norm, [x, y, w, rstd], m, n, [EPS])], [y], lambda: F.rms_norm(x, (n,), w, EPS), [x, w, rstd])


def rms_norm_of_sum(m, n, dtype):
    x, r, w = random(m, n, dtype=dtype), random(m, n, dtype=dtype), random(n, dtype=dtype)
    s, y = empty(m, n, dtype=dtype), empty(m, n, dtype=dtype)
    return Case([by_row(rows.rms_norm_of_sum, [x, r, s, y, w], m, n, [EPS])], [s, y], None, [x, r, w],
                lambda: (x + r, F.rms_norm((x + r).float(), (n,), w.float(), EPS)))


def rms_norm_backward(m, n, dtype):
    dy, x, w, dx = random(m, n, dtype=dtype), random(m, n, dtype=dtype), random(n, dtype=dtype), empty(m, n, dtype=dtype)
    rstd, parts, block = torch.rsqrt(x.float().square().mean(1) + EPS), min(m, PROGRAMS), block_of(n)
    pw = empty(parts, n)

    def judge_both():
        leaf, scale = x.float().requires_grad_(), w.float().requires_grad_()
        F.rms_norm(leaf, (n,), scale, EPS).backward(dy.float())
        return leaf.grad, scale.grad
    case = Case([(rows.rms_norm_backward, (parts,), [dy, x, w, rstd, dx, pw, m, n], [block], warps_for(block))], [dx, pw], None,
                [dy, x, w, rstd], judge_both, tolerance=1e-2)

    def judge():
        want_dx, want_dw = judge_both()
        rest = Case([], [dx, pw.sum(0)], None, [], lambda: (want_dx, want_dw), tolerance=1e-2)
        return rest.wrong()
    case.judge = judge
    return case


def group_norm(images, channels, pixels, groups, dtype):
    x, w, b = random(images, channels, pixels, dtype=dtype), random(channels, dtype=dtype), random(channels, dtype=dtype)
    y = torch.empty_like(x)
    return Case([(rows.group_norm, (images * groups,), [x, y, w, b, groups, channels // groups, pixels, EPS], [4096], [4, 8, 16])], [y],
                lambda: F.group_norm(x, groups, w, b, EPS), [x, w, b])


def normalize(m, n, dtype):
    x, y = random(m, n, dtype=dtype), empty(m, n, dtype=dtype)
    return Case([by_row(rows.normalize, [x, y], m, n, [1e-6])], [y], None, [x], lambda: F.normalize(x.float(), dim=1))


# -- activations --


def gelu(n, dtype):
    x, y = random(n, dtype=dtype), empty(n, dtype=dtype)
    return Case([flat(rows.gelu, [x, y, n], n)], [y], lambda: F.gelu(x), [x])


def gelu_tanh(n, dtype):
    x, y = random(n, dtype=dtype), empty(n, dtype=dtype)
    return Case([flat(rows.gelu_tanh, [x, y, n], n)], [y], lambda: F.gelu(x, approximate="tanh"), [x])


def gelu_tanh_backward(n, dtype):
    dy, x, dx = random(n, dtype=dtype), random(n, dtype=dtype), empty(n, dtype=dtype)
    return Case([flat(rows.gelu_tanh_backward, [dy, x, dx, n], n)], [dx],
                lambda: torch.ops.aten.gelu_backward(dy, x, approximate="tanh"), [dy, x])


def gated(kernel, activation, m, n, dtype):
    a, b, c = random(m, n, dtype=dtype), random(m, n, dtype=dtype), empty(m, n, dtype=dtype)
    return Case([by_row(kernel, [a, b, c], m, n)], [c], None, [a, b], lambda: activation(a.float()) * b.float(), tolerance=2e-2)


def gated_backward(kernel, activation, m, n, dtype):
    dc, a, b = (random(m, n, dtype=dtype) for _ in range(3))
    da, db = empty(m, n, dtype=dtype), empty(m, n, dtype=dtype)

    def expected():
        x, y = a.float().requires_grad_(), b.float().requires_grad_()
        (activation(x) * y).backward(dc.float())
        return x.grad, y.grad
    return Case([by_row(kernel, [dc, a, b, da, db], m, n)], [da, db], None, [dc, a, b], expected, tolerance=3e-2)


def gelu_by_tanh(x):
    return F.gelu(x, approximate="tanh")


def geglu(m, n, dtype):
    return gated(rows.geglu, gelu_by_tanh, m, n, dtype)


def geglu_backward(m, n, dtype):
    return gated_backward(rows.geglu_backward, gelu_by_tanh, m, n, dtype)


def swiglu(m, n, dtype):
    return gated(rows.swiglu, F.silu, m, n, dtype)


def swiglu_backward(m, n, dtype):
    return gated_backward(rows.swiglu_backward, F.silu, m, n, dtype)


def dynamic_tanh(m, n, dtype):
    x, w, b, y, alpha = random(m, n, dtype=dtype), random(n, dtype=dtype), random(n, dtype=dtype), empty(m, n, dtype=dtype), random(1)
    return Case([by_row(rows.dynamic_tanh, [x, y, alpha, w, b], m, n)], [y], None, [x, w, b],
                lambda: w.float() * torch.tanh(alpha * x.float()) + b.float())


def dynamic_tanh_backward(m, n, dtype):
    dy, x, w, dx, alpha = random(m, n, dtype=dtype), random(m, n, dtype=dtype), random(n, dtype=dtype), empty(m, n, dtype=dtype), random(1)
    block = 1024
    across = cdiv(n, block)
    parts = max(1, min(m, 2 * PROGRAMS // across))
    sums = [empty(parts, n) for _ in range(3)]
    case = Case([(rows.dynamic_tanh_backward, (parts, across), [dy, x, alpha, w, dx, *sums, m, n], [block], [2, 4, 8])], [dx, *sums], None,
                [dy, x, w], tolerance=2e-2)

    def judge():
        wide, t = x.float(), torch.tanh(alpha * x.float())
        slope = dy.float() * w.float() * (1 - t * t)
        want = [slope * alpha, (slope * wide).sum(0), (dy.float() * t).sum(0), dy.float().sum(0)]
        return Case([], [dx] + [s.sum(0) for s in sums], None, [], lambda: want, tolerance=2e-2).wrong()
    case.judge = judge
    return case


# -- element by element --


def add(n, dtype):
    x, y, z = random(n, dtype=dtype), random(n, dtype=dtype), empty(n, dtype=dtype)
    return Case([flat(rows.add, [x, y, z, n], n)], [z], lambda: torch.add(x, y), [x, y])


def leaky_where(n, dtype):
    x, mask, y = random(n, dtype=dtype), torch.randint(0, 2, (n,), device=DEVICE).to(i8), empty(n, dtype=dtype)
    return Case([flat(rows.leaky_where, [x, mask, y, n, 0.125], n)], [y], None, [x, mask],
                lambda: torch.where(mask != 0, F.leaky_relu(x.float(), 0.125), 0))


def strided(m, n, dtype, step):
    """Makes a case with strided inputs: step 2 uses every second column; step 0 uses a transposed matrix."""
    x = random(n, m, dtype=dtype).t() if step == 0 else random(m, n * step, dtype=dtype)[:, ::step]
    y = empty(n, m, dtype=dtype).t() if step == 0 else empty(m, n, dtype=dtype)
    case = Case([(rows.strided, (cdiv(m, 32), cdiv(n, 64)), [x, y, m, n, *x.stride(), *y.stride()], [32, 64], [4, 8])], [y],
                lambda: x * 2, [x])
    case.nbytes += x.numel() * x.element_size() * (max(step, 1) - 1)  # the GPU reads whole sectors
    return case


def bias_and_scale(m, n, dtype):
    x, s, b, y = random(m, n, dtype=dtype), random(m, dtype=dtype), random(n, dtype=dtype), empty(m, n, dtype=dtype)
    return Case([(rows.bias_and_scale, (cdiv(m, 16), cdiv(n, 128)), [x, s, b, y, m, n], [16, 128], [4, 8])], [y],
                lambda: torch.addcmul(b[None, :], x, s[:, None]), [x, s, b], tolerance=2e-2)


def cast(n, source, to):
    x, y = random(n, dtype=source), empty(n, dtype=to)
    return Case([flat(rows.cast, [x, y, n], n)], [y], lambda: x.to(to), [x])


def adam(n):
    p, g, m, v = random(n), random(n), random(n), random(n).square()
    outs = [empty(n) for _ in range(3)]

    def expected():
        m2, v2 = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return p - 1e-2 * m2 / (v2.sqrt() + 1e-6), m2, v2
    return Case([flat(rows.adam, [p, g, m, v, *outs, n, 1e-2, 0.9, 0.999, 1e-6], n)], outs, None, [p, g, m, v], expected)


def dropped(kernel, n, dtype, block, values):
    x, y = random(n, dtype=dtype), empty(n, dtype=dtype)
    case = Case([(kernel, (cdiv(n, block * values),), [x, y, n, 0.25, 123], [block], [4, 8])], [y],
                lambda: torch.native_dropout(x, 0.25, True), [x])

    def judge():
        kept = y != 0
        part = kept.float().mean().item()
        far = (y.float() - x.float() / 0.75).abs()[kept].max().item()
        return None if far < 1e-2 and abs(part - 0.75) < 4 / math.sqrt(n) else f"wrong: {part:.4f} kept, {far:.3g} off"
    case.judge = judge
    return case


def dropout(n, dtype):
    return dropped(rows.dropout, n, dtype, 1024, 1)


def dropout_by_fours(n, dtype):
    return dropped(rows.dropout_by_fours, n, dtype, 512, 4)


def rotary(tokens, heads, half, dtype):
    x, y = random(tokens, heads, 2 * half, dtype=dtype), empty(tokens, heads, 2 * half, dtype=dtype)
    c, s = random(tokens, half, dtype=dtype), random(tokens, half, dtype=dtype)

    def expected():
        a, b = x.float().chunk(2, 2)
        cw, sw = c.float()[:, None, :], s.float()[:, None, :]
        return torch.cat((a * cw - b * sw, b * cw + a * sw), 2)
    return Case([(rows.rotary, (tokens,), [x, c, s, y, heads], [block_of(heads), half], [2, 4, 8])], [y], None, [x, c, s], expected,
                tolerance=2e-2)


# -- reductions, scans, histograms --


def row_sum(m, n, dtype):
    x, y = random(m, n, dtype=dtype), empty(m)
    return Case([by_row(rows.row_sum, [x, y], m, n)], [y], lambda: x.sum(1), [x], lambda: x.float().sum(1), tolerance=1e-3)


def row_max(m, n, dtype):
    x, y = random(m, n, dtype=dtype), empty(m)
    return Case([(rows.row_max_in_loop, (m,), [x, y, n], [2048], [4, 8])], [y], lambda: x.amax(1), [x])


def row_variance(m, n, dtype):
    x, mean, var = random(m, n, dtype=dtype), empty(m), empty(m)
    return Case([by_row(rows.row_variance, [x, mean, var], m, n)], [mean, var],
                lambda: torch.var_mean(x, 1, correction=0), [x],
                lambda: (x.float().mean(1), x.float().var(1, correction=0)), tolerance=1e-3)


def argmax(m, n, dtype):
    x, y = random(m, n, dtype=dtype), empty(m, dtype=i32)
    return Case([by_row(rows.argmax, [x, y], m, n)], [y], lambda: x.argmax(1), [x])


def column_sum(m, n, dtype, tile, columns):
    x, y = random(m, n, dtype=dtype), empty(n)
    return Case([(rows.column_sum, (cdiv(n, columns),), [x, y, m, n], [tile, columns], [4, 8, 16])], [y], lambda: x.sum(0), [x],
                lambda: x.float().sum(0), tolerance=1e-3)


def column_sum_by_atomics(m, n, dtype):
    x, y = random(m, n, dtype=dtype), empty(n)
    return Case([(rows.column_sum_by_atomics, (cdiv(m, 128), cdiv(n, 128)), [x, y, m, n], [128, 128], [4, 8])], [y], lambda: x.sum(0),
                [x], lambda: x.float().sum(0), tolerance=1e-3, fill=0, zero=[y])


def cumsum(m, n):
    x, y = random(m, n), empty(m, n)
    return Case([by_row(rows.cumsum, [x, y], m, n)], [y], lambda: torch.cumsum(x, 1), [x], tolerance=1e-3)


def cumsum_of_columns(m, n, tile, columns):
    x, y = random(m, n), empty(m, n)
    return Case([(rows.cumsum_of_columns, (cdiv(n, columns),), [x, y, m, n], [tile, columns], [2, 4, 8])], [y],
                lambda: torch.cumsum(x, 0), [x], tolerance=1e-3)


def decaying(*shape):
    return torch.rand(shape, device=DEVICE) * 0.9, random(*shape)


def recurred(a, b, y, axis):
    state = torch.zeros_like(b.select(axis, 0))
    for t in range(b.shape[axis]):
        state = a.select(axis, t) * state + b.select(axis, t)
        y.select(axis, t).copy_(state)
    return y


def recurrence(m, n):
    (a, b), y = decaying(m, n), empty(m, n)
    return Case([by_row(rows.recurrence, [a, b, y], m, n)], [y], None, [a, b], lambda: recurred(a, b, torch.empty_like(b), 1))


def recurrence_of_columns(batch, steps, n):
    (a, b), y = decaying(batch, steps, n), empty(batch, steps, n)
    return Case([(rows.recurrence_of_columns, (cdiv(n, 64), batch), [a, b, y, steps, n], [64], [1, 2])], [y], None, [a, b],
                lambda: recurred(a, b, torch.empty_like(b), 1))


def histogram(n, bins, block):
    x, counts = torch.randint(0, bins, (n,), device=DEVICE, dtype=i32), torch.zeros(bins, device=DEVICE, dtype=i32)
    return Case([(rows.histogram, (cdiv(n, block),), [x, counts, n], [bins, block], [4, 8])], [counts],
                lambda: torch.bincount(x, minlength=bins), [x], zero=[counts])


# -- tables, quantization, transposes --


def embedding(tokens, vocabulary, n, dtype):
    ids, w, y = torch.randint(0, vocabulary, (tokens,), device=DEVICE), random(vocabulary, n, dtype=dtype), empty(tokens, n, dtype=dtype)
    case = Case([by_row(rows.embedding, [ids, w, y], tokens, n)], [y], lambda: F.embedding(ids, w), [ids, y])
    return case


def embedding_backward(tokens, vocabulary, n, dtype):
    ids, dy, dw = torch.randint(0, vocabulary, (tokens,), device=DEVICE), random(tokens, n, dtype=dtype), empty(vocabulary, n)
    case = Case([by_row(rows.embedding_backward, [ids, dy, dw], tokens, n)], [dw],
                lambda: torch.ops.aten.embedding_dense_backward(dy, ids, vocabulary, -1, False), [],
                lambda: torch.zeros_like(dw).index_add_(0, ids, dy.float()), fill=0, zero=[dw], tolerance=1e-3)
    case.nbytes = dy.numel() * (dy.element_size() + 8)  # each sum (4 bytes) is read and written
    return case


def take_along_rows(m, n, k, dtype):
    x, ids, y = random(m, n, dtype=dtype), torch.randint(0, n, (m, k), device=DEVICE), empty(m, k, dtype=dtype)
    return Case([(rows.take_along_rows, (m, cdiv(k, 1024)), [x, ids, y, n, k], [1024], [4, 8])], [y], lambda: torch.gather(x, 1, ids),
                [x, ids])


def quantized(x, most, dtype):
    scale = x.float().abs().amax(-1, keepdim=True).clamp(min=1e-10) / most
    y = x.float() / scale
    return (y.round() if dtype == i8 else y).to(dtype), scale


def quantize_rows(m, n, dtype, to):
    x, q, scales, most = random(m, n, dtype=dtype), empty(m, n, dtype=to), empty(m), 127.0 if to == i8 else 448.0
    return Case([by_row(rows.quantize_rows, [x, q, scales], m, n, [most])], [q, scales], None, [x],
                lambda: quantized(x, most, to))


def quantize_groups(groups, size, dtype, to):
    x, q, scales = random(groups, size, dtype=dtype), empty(groups, size, dtype=to), empty(groups)
    return Case([(rows.quantize_groups, (cdiv(groups, 16),), [x, q, scales, groups, 448.0], [16, size], [2, 4])], [q, scales], None, [x],
                lambda: quantized(x, 448.0, to))


def dequantize_rows(m, n, dtype, to):
    scales, y = torch.rand(m, device=DEVICE), empty(m, n, dtype=to)
    q = torch.randint(-127, 128, (m, n), device=DEVICE, dtype=i8) if dtype == i8 else random(m, n, dtype=dtype)
    return Case([(rows.dequantize_rows, (m, cdiv(n, 2048)), [q, scales, y, n], [2048], [4, 8])], [y], None, [q, scales],
                lambda: q.float() * scales[:, None])


def transpose(m, n, dtype):
    x = (random(m, n) * 9).to(dtype)
    y = empty(n, m, dtype=dtype)
    return Case([(rows.transpose, (cdiv(m, 64), cdiv(n, 64)), [x, y, m, n], [64, 64], [4, 8])], [y],
                lambda: x.t().contiguous(), [x])


# -- the delta rule --


def delta_data(heads, steps, size):
    q, k, v = random(heads, steps, size), F.normalize(random(heads, steps, size), dim=2), random(heads, steps, size)
    return q, k, v, torch.rand(heads, steps, device=DEVICE)


def delta_in_torch(q, k, v, beta, scale):
    state, us, os = torch.zeros(q.shape[0], q.shape[2], v.shape[2], device=DEVICE), [], []
    for t in range(q.shape[1]):
        us.append(v[:, t] - torch.einsum("hkv,hk->hv", state, k[:, t]))
        state = state + torch.einsum("hk,hv->hkv", k[:, t], us[-1] * beta[:, t, None])
        os.append(torch.einsum("hkv,hk->hv", state, q[:, t] * scale))
    return torch.stack(us, 1), torch.stack(os, 1)


def delta_rule(heads, steps, size, columns):
    q, k, v, beta = delta_data(heads, steps, size)
    u, o, scale = torch.empty_like(v), torch.empty_like(v), size**-0.5
    return Case([(rows.delta_rule, (size // columns, heads), [q, k, v, beta, u, o, steps, size, scale], [size, columns], [1, 2, 4])],
                [u, o], None, [q, k, v, beta], lambda: delta_in_torch(q, k, v, beta, scale), tolerance=2e-3)


def delta_rule_backward(heads, steps, size, columns):
    q, k, v, beta = delta_data(heads, steps, size)
    do, scale, parts = torch.randn_like(v), size**-0.5, size // columns
    leaves = [t.requires_grad_() for t in (q, k, v, beta)]
    u, o = delta_in_torch(*leaves, scale)
    want = torch.autograd.grad(o, leaves, do)
    q, k, beta, u = (t.detach() for t in (q, k, beta, u))
    dq, dk, dv, dbeta = empty(parts, heads, steps, size), empty(parts, heads, steps, size), torch.empty_like(u), empty(parts, heads, steps)
    case = Case([(rows.delta_rule_backward, (parts, heads), [q, k, u, beta, do, dq, dk, dv, dbeta, heads, steps, size, scale],
                  [size, columns], [1, 2, 4])], [dq, dk, dv, dbeta], None, [q, k, u, beta, do], lambda: None)
    case.judge = lambda: Case([], [dq.sum(0), dk.sum(0), dv, dbeta.sum(0)], None, [], lambda: want, tolerance=5e-3).wrong()
    return case


# the function that makes a case, the sizes to measure, the sizes to check on the CPU
CASES = [
    (softmax, (4096, 1024, f32), (3, 100, f32)),
    (softmax, (4096, 4096, f32), None),
    (softmax, (8192, 8192, f16), (2, 256, f16)),
    (softmax_small, (1 << 18, 64, f16), (37, 64, f16)),
    (softmax_small, (1 << 17, 256, f32), (9, 200, f32)),
    (softmax_small, (1 << 16, 512, bf16), None),
    (causal_softmax, (16, 2048, f16), (2, 32, f16)),
    (softmax_backward, (4096, 4096, f32), (3, 100, f32)),
    (softmax_backward, (4096, 8192, f16), None),
    (log_softmax, (4096, 8192, f32), (3, 100, f32)),
    (log_softmax_backward, (4096, 8192, bf16), (3, 100, bf16)),
    (cross_entropy, (2048, 128256, bf16, 8192), (3, 1000, bf16, 256)),
    (cross_entropy, (4096, 32000, f32, 4096), None),
    (cross_entropy_backward, (2048, 128256, bf16, 4096), (3, 1000, bf16, 256)),
    (cross_entropy_with_gradient, (2048, 128256, bf16, 16384), (3, 1000, bf16, 256)),
    (kl_divergence, (2048, 32000, bf16, 4096), (3, 1000, bf16, 256)),
    (layer_norm, (8192, 1024, f16), (3, 100, f16)),
    (layer_norm, (4096, 8192, f16), None),
    (layer_norm_backward, (8192, 1024, f16, 256), (5, 100, f16, 2)),
    (layer_norm_backward, (4096, 4096, f16, 96), None),
    (layer_norm_backward, (4096, 8192, f16, 64), None),
    (layer_norm_backward_by_parts, (8192, 2048, bf16), (600, 32, bf16)),
    (layer_norm_backward_by_parts, (4096, 8192, bf16), None),
    (rms_norm, (8192, 4096, bf16), (3, 100, bf16)),
    (rms_norm_of_sum, (8192, 4096, bf16), (3, 100, bf16)),
    (rms_norm_backward, (8192, 4096, bf16), (600, 32, bf16)),
    (group_norm, (16, 320, 4096, 32, f16), (2, 8, 50, 4, f16)),
    (normalize, (16384, 1024, bf16), (3, 100, bf16)),
    (gelu, (1 << 25, f16), (3000, f16)),
    (gelu_tanh, (1 << 25, bf16), (3000, bf16)),
    (gelu_tanh_backward, (1 << 25, bf16), (3000, bf16)),
    (geglu, (4096, 11008, bf16), (3, 100, bf16)),
    (geglu_backward, (4096, 11008, bf16), (3, 100, bf16)),
    (dynamic_tanh, (8192, 4096, bf16), (3, 100, bf16)),
    (dynamic_tanh_backward, (8192, 4096, bf16), (30, 100, bf16)),
    (swiglu, (4096, 11008, bf16), (3, 100, bf16)),
    (swiglu_backward, (4096, 11008, bf16), (3, 100, bf16)),
    (add, (1 << 26, f32), (3000, f32)),
    (add, ((1 << 25) + 1, bf16), (3001, bf16)),
    (leaky_where, (1 << 25, f32), (3000, f32)),
    (strided, (8192, 4096, f32, 2), (40, 100, f32, 2)),
    (strided, (8192, 4096, f16, 0), (40, 100, f16, 0)),
    (bias_and_scale, (8192, 8192, f16), (40, 100, f16)),
    (cast, (1 << 26, f32, bf16), (3000, f32, bf16)),
    (adam, (1 << 24,), (3000,)),
    (dropout, (1 << 26, f32), (3000, f32)),
    (dropout_by_fours, (1 << 26, f16), (4096, f16)),
    (rotary, (8192, 32, 64, bf16), (3, 5, 16, bf16)),
    (row_sum, (8192, 8192, f16), (3, 100, f16)),
    (row_max, (8192, 16384, bf16), (3, 5000, bf16)),
    (row_variance, (8192, 4096, f32), (3, 100, f32)),
    (argmax, (4096, 8192, f32), (3, 100, f32)),
    (argmax, (2048, 32768, f32), None),
    (column_sum, (8192, 8192, f16, 64, 32), (100, 70, f16, 16, 32)),
    (column_sum_by_atomics, (16384, 4096, f32), (300, 200, f32)),
    (cumsum, (4096, 2048), (3, 100)),
    (cumsum, (2048, 16384), None),
    (cumsum_of_columns, (4096, 16384, 64, 64), (100, 70, 16, 32)),
    (recurrence, (4096, 4096), (3, 100)),
    (recurrence_of_columns, (8, 1024, 4096), (2, 30, 100)),
    (histogram, (1 << 26, 256, 4096), (4096, 256, 1024)),
    (embedding, (16384, 32000, 4096, bf16), (9, 50, 100, bf16)),
    (embedding_backward, (16384, 32000, 2048, bf16), (9, 5, 100, bf16)),
    (take_along_rows, (4096, 8192, 8192, f32), (3, 100, 70, f32)),
    (quantize_rows, (8192, 4096, bf16, i8), (3, 100, bf16, i8)),
    (quantize_rows, (8192, 4096, bf16, fp8), (3, 128, bf16, fp8)),
    (quantize_groups, (1 << 18, 128, bf16, fp8), (21, 128, bf16, fp8)),
    (dequantize_rows, (8192, 4096, i8, bf16), (3, 100, i8, bf16)),
    (dequantize_rows, (8192, 4096, fp8, bf16), (3, 100, fp8, bf16)),
    (transpose, (8192, 8192, f32), (100, 70, f32)),
    (transpose, (8192, 8192, f16), None),
    (transpose, (8192, 8192, i8), (100, 70, i8)),
    (delta_rule, (64, 1024, 128, 8), (2, 9, 32, 8)),
    (delta_rule_backward, (64, 512, 128, 8), (2, 9, 32, 8)),
    (delta_rule_backward, (64, 512, 128, 32), None),
]


def name_of(make, sizes):
    types = {f16: "f16", bf16: "bf16", f32: "f32", i8: "i8", fp8: "fp8"}
    return " ".join([make.__name__] + [types.get(s) or str(s) for s in sizes])
