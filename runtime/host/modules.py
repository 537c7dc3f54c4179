# SPDX-License-Identifier: MIT
# modules.py: contains the third-party modules that host programs import and that can be written in Python. Each module
# is a section.

# -- torch.more
# Functions of torch that call only other functions of torch. Floats are computed in double precision and rounded
# once, as in all of neso's torch. Each function whose name does not begin with an underscore is added to torch and to
# torch.nn.functional, and to tensors as a method. This section is executed after torch has all its other names, so it
# can use `torch`.
from typing import NamedTuple

def var(input, dim=None, unbiased=True, keepdim=False, correction=None):
    x = input.double()
    n = x.numel() if dim is None else x.shape[dim]
    mean = x.mean() if dim is None else x.mean(dim, keepdim=True)
    away = n - ((1 if unbiased else 0) if correction is None else correction)
    return (((x - mean) ** 2).sum(dim, keepdim) / away).to(input.dtype)

def std(input, dim=None, unbiased=True, keepdim=False, correction=None):
    return var(input.double(), dim, unbiased, keepdim, correction).sqrt().to(input.dtype)

def clamp(input, min=None, max=None):
    x = input if min is None else input.maximum(min)
    return x if max is None else x.minimum(max)

def leaky_relu(input, negative_slope=0.01, inplace=False):
    x = input.double()
    return (x.relu() - negative_slope * (-x).relu()).to(input.dtype)

def silu(input, inplace=False):
    x = input.double()
    return (x * x.sigmoid()).to(input.dtype)

def log_softmax(input, dim=-1, dtype=None):
    x = input.double()
    x = x - x.amax(dim, keepdim=True)
    return (x - x.exp().sum(dim, keepdim=True).log()).to(dtype or input.dtype)

def layer_norm(input, *args, **kwargs):
    return torch.autograd.layer_norm(input, *args, **kwargs)

def backward(input, *args, **kwargs):
    torch.autograd.backward(input, *args, **kwargs)

def rms_norm(input, normalized_shape, weight=None, eps=1e-6):
    x = input.double()
    y = x / ((x * x).mean(-1, keepdim=True) + eps).sqrt()
    return (y if weight is None else y * weight.double()).to(input.dtype)

def linear(input, weight, bias=None):
    y = input @ weight.t()
    return y if bias is None else y + bias

def outer(input, vec2):
    return input[:, None] * vec2[None, :]

def _kept(input, keep):
    return torch.where(keep.to(input.device), input, torch.zeros_like(input))

def tril(input, diagonal=0):
    m, n = input.shape[-2:]
    return _kept(input, torch.arange(n)[None, :] <= torch.arange(m)[:, None] + diagonal)

def triu(input, diagonal=0):
    m, n = input.shape[-2:]
    return _kept(input, torch.arange(n)[None, :] >= torch.arange(m)[:, None] + diagonal)

def eye(n, m=None, dtype=None, device=None):
    m = n if m is None else m
    same = torch.arange(n, device=device)[:, None] == torch.arange(m, device=device)[None, :]
    return same.to(torch.float32 if dtype is None else dtype)

def linspace(start, end, steps, dtype=None, device=None):
    by = (end - start) / (steps - 1) if steps > 1 else 0.0
    x = torch.arange(steps, dtype=torch.float64, device=device) * by + start
    return x.to(torch.float32 if dtype is None else dtype)

def flip(input, dims):
    for dim in ([dims] if isinstance(dims, int) else dims):
        x = input.transpose(0, dim)
        input = x[torch.arange(x.shape[0] - 1, -1, -1)].transpose(0, dim)
    return input

def split(tensor, split_size_or_sections, dim=0):
    x, size, parts, start = tensor.transpose(0, dim), split_size_or_sections, [], 0
    sizes = [size] * ((x.shape[0] + size - 1) // size) if isinstance(size, int) else size
    for n in sizes:
        parts.append(x[start:start + n].transpose(0, dim))
        start += n
    return tuple(parts)

def chunk(input, chunks, dim=0):
    return split(input, (input.shape[dim] + chunks - 1) // chunks, dim)

def cumsum(input, dim, dtype=None):
    x, total, rows = input.transpose(0, dim), 0, []
    x = x.double() if x.dtype.is_floating_point else x.to(torch.int64)
    for row in x:
        total = row + total
        rows.append(total)
    out = torch.stack(rows).transpose(0, dim).contiguous()
    return out.to(dtype or (input.dtype if input.dtype.is_floating_point else torch.int64))
def gelu(input, approximate='none'):
    x = input.double()
    y = (0.7978845608028654 * (x + 0.044715 * x ** 3)).tanh() if approximate == 'tanh' else (x * 0.5 ** 0.5).erf()
    return (0.5 * x * (1 + y)).to(input.dtype)

def logsumexp(input, dim, keepdim=False):
    x = input.double()
    most = x.amax(dim, True)
    y = (x - most).exp().sum(dim, True).log() + most
    return (y if keepdim else y.squeeze(dim)).to(input.dtype)

def norm(input, p=2, dim=None, keepdim=False):
    return ((input.double().abs() ** p).sum(dim, keepdim) ** (1 / p)).to(input.dtype)

def square(input):
    return input * input

def masked_fill(input, mask, value):
    return torch.where(mask, value, input).to(input.dtype)

def gather(input, dim, index):
    x, at = input.transpose(dim, -1), index.transpose(dim, -1)
    rows = torch.arange(x.numel() // x.shape[-1]).view(*x.shape[:-1], 1)
    return x.reshape(-1)[rows.to(at.device) * x.shape[-1] + at].transpose(dim, -1)

class Sorted(NamedTuple):
    values: object
    indices: object

def sort(input, dim=-1, descending=False, stable=False):
    x = input.transpose(dim, -1)
    at = [sorted(range(len(r)), key=lambda i: r[i], reverse=descending) for r in x.reshape(-1, x.shape[-1]).tolist()]
    at = torch.tensor(at, device=input.device).view(*x.shape).transpose(dim, -1)
    return Sorted(gather(input, dim, at), at)

def argsort(input, dim=-1, descending=False, stable=False):
    return sort(input, dim, descending).indices

def topk(input, k, dim=-1, largest=True, sorted=True):
    return Sorted(*(x.transpose(0, dim)[:k].transpose(0, dim) for x in sort(input, dim, largest)))

def repeat_interleave(input, repeats, dim=None):
    x = input.reshape(-1) if dim is None else input.transpose(0, dim)
    x = x[torch.arange(x.shape[0] * repeats) // repeats]
    return x if dim is None else x.transpose(0, dim)

def cross_entropy(input, target, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0):
    x, keep = log_softmax(input.double()), target != ignore_index
    right = gather(x, 1, (target * keep)[:, None])[:, 0]
    loss = -((1 - label_smoothing) * right + label_smoothing * x.mean(-1)) * keep
    loss = loss if reduction == 'none' else loss.sum() / (keep.sum() if reduction == 'mean' else 1)
    return loss.to(input.dtype)

def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    x = query.double() @ key.double().transpose(-1, -2) * (scale or query.shape[-1] ** -0.5)
    mask = torch.ones_like(x).tril() > 0 if is_causal else attn_mask
    if mask is not None:
        x = x.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else x + mask
    return (x.softmax(-1) @ value.double()).to(query.dtype)
def normal_(input, mean=0.0, std=1.0, generator=None):
    return input.copy_(torch.randn_like(input) * std + mean)

def uniform_(input, a=0.0, b=1.0, generator=None):
    return input.copy_(torch.rand_like(input) * (b - a) + a)

def new_empty(input, *size, dtype=None, device=None):
    return torch.empty(*size, dtype=dtype or input.dtype, device=device or input.device)

def new_zeros(input, *size, dtype=None, device=None):
    return new_empty(input, *size, dtype=dtype, device=device).zero_()

def repeat(input, *sizes):
    while input.dim() < len(sizes):
        input = input[None]
    for dim, n in enumerate(sizes):
        input = torch.cat([input] * n, dim)
    return input

def expand_as(input, other):
    return input.expand(*other.shape)

def view_as(input, other):
    return input.view(*other.shape)

def unbind(input, dim=0):
    return tuple(input.transpose(0, dim))

def is_floating_point(input):
    return input.dtype.is_floating_point

def bincount(input, weights=None, minlength=0):
    n = max(minlength, input.max().item() + 1)
    return (input[:, None] == torch.arange(n).to(input.device)).sum(0)

# -- torch.autograd
# Gradients are computed only for torch.autograd.Function, which stores in its results the data that `backward` needs.
# There is no other graph of operations.
class _Context:
    saved_tensors = ()
    needs_input_grad = ()
    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors
    def mark_non_differentiable(self, *tensors):
        pass

def _learns(x):
    import torch
    return isinstance(x, torch.Tensor) and x.requires_grad

class Function:
    @classmethod
    def apply(cls, *args):
        ctx = _Context()
        ctx.needs_input_grad = tuple(_learns(x) for x in args)
        out = cls.forward(ctx, *args)
        if any(ctx.needs_input_grad):
            out.requires_grad = True
            out._node = (cls, ctx, args)
        return out

def backward(x, gradient=None, retain_graph=None, create_graph=False):
    import torch
    if not x.requires_grad:
        raise NotImplementedError("no gradient is known of this tensor: only results of torch.autograd."
            "Function and layer_norm have one here; run the file under Python")
    gradient = torch.ones_like(x) if gradient is None else gradient
    if x._node is None:
        x.grad = gradient.clone() if x.grad is None else x.grad + gradient
        return
    cls, ctx, args = x._node
    found = cls.backward(ctx, gradient)
    for arg, g in zip(args, found if isinstance(found, tuple) else (found,)):
        if g is not None and _learns(arg):
            backward(arg, g)

class LayerNormFunction(Function):
    @staticmethod
    def forward(ctx, input, weight, bias, eps):
        import torch
        x = input.double()
        x = x - x.mean(-1, keepdim=True)
        rstd = 1 / ((x * x).mean(-1, keepdim=True) + eps).sqrt()
        x = x * rstd
        w = torch.ones_like(x[0]) if weight is None else weight.double()
        ctx.save_for_backward(x, rstd, w)
        y = x if weight is None else x * w
        return (y if bias is None else y + bias.double()).to(input.dtype)

    @staticmethod
    def backward(ctx, dy):
        x, rstd, w = ctx.saved_tensors
        d = dy.double()
        wd = d * w
        dx = (wd - x * (x * wd).mean(-1, keepdim=True) - wd.mean(-1, keepdim=True)) * rstd
        dw = (d * x).reshape(-1, x.shape[-1]).sum(0)
        return dx.to(dy.dtype), dw.to(dy.dtype), d.reshape(-1, x.shape[-1]).sum(0).to(dy.dtype), None

def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    if len(normalized_shape) != 1:
        raise NotImplementedError("layer_norm over several dimensions: run the file under Python")
    return LayerNormFunction.apply(input, weight, bias, eps)

# -- torch
class no_grad:
    def __call__(self, function):
        return function
    def __enter__(self):
        return self
    def __exit__(self, *error):
        pass

class inference_mode(no_grad):
    pass

def set_float32_matmul_precision(precision):
    torch.backends.cuda.matmul.allow_tf32 = precision != 'highest'
class finfo:
    def __init__(self, dtype):
        bits, most, eps = {'float16': (16, 65504.0, 2.0 ** -10), 'bfloat16': (16, 2.0 ** 128 - 2.0 ** 120, 2.0 ** -7),
            'float64': (64, (2.0 - 2.0 ** -52) * 2.0 ** 1023, 2.0 ** -52), 'float8_e4m3fn': (8, 448.0, 0.125),
            'float8_e5m2': (8, 57344.0, 0.25)}.get(str(dtype)[6:], (32, 2.0 ** 128 - 2.0 ** 104, 2.0 ** -23))
        self.bits, self.max, self.min, self.eps = bits, most, -most, eps

class iinfo:
    def __init__(self, dtype):
        self.bits = 8 * dtype.itemsize
        self.min = 0 if str(dtype)[6] == 'u' else -2 ** (self.bits - 1)
        self.max = self.min + 2 ** self.bits - 1

def randperm(n, dtype=None, device=None):
    return torch.rand(n, device=device).argsort().to(dtype or torch.int64)

def is_tensor(obj):
    return isinstance(obj, torch.Tensor)

def as_tensor(data, dtype=None, device=None):
    x = data if is_tensor(data) else torch.tensor(data)
    return x.to(device or x.device, dtype or x.dtype)

# -- torch.nn
def Parameter(data, requires_grad=True):
    return data.requires_grad_(requires_grad)

# -- torch.nn.functional
def embedding(input, weight):
    return weight[input]

# -- torch.cuda
# There is only one stream and one device.
class Stream:
    cuda_stream = 0
    def __init__(self, *args, **kwargs):
        pass
    def synchronize(self):
        import torch
        torch.cuda.synchronize()
    def wait_stream(self, stream):
        pass
    def __enter__(self):
        return self
    def __exit__(self, *error):
        pass

def current_stream(device=None):
    return Stream()

def stream(stream):
    return stream

def set_stream(stream):
    pass

def set_device(device):
    pass
class device(Stream):
    pass

class Event(Stream):
    def record(self, stream=None):
        import time
        self.synchronize()
        self._at = time.perf_counter()
    def wait(self, stream=None):
        pass
    def query(self):
        return True
    def elapsed_time(self, end):
        return 1000 * (end._at - self._at)

# -- pytest
# These decorators do nothing: the program itself calls its tests and passes their arguments.
class mark:
    def parametrize(*args, **kwargs):
        return lambda function: function
    skipif = parametrize

# -- tabulate
def tabulate(rows):
    rows = [[x if isinstance(x, str) else f'{x:g}' for x in row] for row in rows]
    widths = [max(len(x) for x in column) for column in zip(*rows)]
    rule = '  '.join('-' * n for n in widths)
    lines = ['  '.join([row[0].ljust(widths[0])] + [x.rjust(n) for x, n in zip(row[1:], widths[1:])]) for row in rows]
    return '\n'.join([rule] + lines + [rule])

# -- triton_util
# Helper functions that the programs of a lecture import. If the program's folder has a file triton_util.py, the
# program imports this file instead.
import os

def cdiv(n, d):
    return (n + d - 1) // d

def check_tensors_gpu_ready(*tensors):
    for t in tensors:
        assert t.is_contiguous(), 'A tensor is not contiguous'
        if os.environ.get('TRITON_INTERPRET') != '1':
            assert t.is_cuda, 'A tensor is not on cuda'

def _is_met(condition, pid):
    for sign in ['<=', '>=', '!=', '==', '<', '>', '=']:
        if condition.startswith(sign):
            wanted = int(condition[len(sign):])
            return {'<=': pid <= wanted, '>=': pid >= wanted, '!=': pid != wanted, '==': pid == wanted,
                    '<': pid < wanted, '>': pid > wanted, '=': pid == wanted}[sign]
    raise ValueError(f"Rules may only use these ops: ['<', '>', '>=', '<=', '=', '!=']. Invalid rule: '{condition}'.")

def test_pid_conds(conds, pid_0=[0], pid_1=[0], pid_2=[0]):
    pids = pid_0[0], pid_1[0], pid_2[0]
    conditions = conds.replace(' ', '').split(',')
    return all(c == '' or _is_met(c, pid) for c, pid in zip(conditions, pids))

def print_if(txt, conds, pid_0=[0], pid_1=[0], pid_2=[0]):
    if test_pid_conds(conds, pid_0, pid_1, pid_2):
        print(txt)

def breakpoint_if(conds, pid_0=[0], pid_1=[0], pid_2=[0]):
    if test_pid_conds(conds, pid_0, pid_1, pid_2):
        breakpoint()

# -- triton.runtime.driver
# triton.runtime.driver.active, with the members that tutorials use.
import torch

class GPUTarget:
    backend = 'cuda'
    warp_size = 32
    def __init__(self, arch):
        self.arch = arch

class Utils:
    def get_device_properties(self, device):
        p = torch.cuda.get_device_properties(device)
        return {'max_shared_mem': p.shared_memory_per_block_optin, 'max_num_regs': p.regs_per_multiprocessor,
                'multiprocessor_count': p.multi_processor_count, 'warpSize': p.warp_size,
                'sm_clock_rate': p.clock_rate, 'mem_clock_rate': p.memory_clock_rate,
                'mem_bus_width': p.memory_bus_width}

class Active:
    utils = Utils()
    def get_active_torch_device(self):
        return torch.device('cuda:0')
    def get_device_interface(self):
        return torch.cuda
    def get_current_target(self):
        major, minor = torch.cuda.get_device_capability()
        return GPUTarget(10 * major + minor)
    def get_current_device(self):
        return 0
    def get_current_stream(self, device=0):
        return 0
    def get_empty_cache_for_benchmark(self):
        return torch.empty(256 * 2 ** 20 // 4, dtype=torch.int32, device='cuda')
    def clear_cache(self, cache):
        cache.zero_()

active = Active()

# -- triton.testing
# Functions that time calls, and make tables and plots of the times. testing.c measures the times, and raises the
# exceptions for wrong arguments (_refuse), at the program's source location. If a line of a benchmark launches no
# kernel, the CPU or the device's library (cuBLAS) computes its results. The table shows which of the two.
#
#     benchmark.run(print_data=True)      matmul:
#                                                N  Triton (GB/s)  Torch (CPU oracle) (GB/s)
#                                         0   32.0       0.093750                   0.046875
from math import ceil, floor, isfinite, isinf, log2, log10
from os.path import join

def _text(x):
    return '' if x is None else str(x)

def _number(x, what):
    if not isinstance(x, (int, float)):
        _refuse('TypeError', what, 'a number', type(x).__name__)
    return float(x)

def _quantile(ordered, q):
    last = len(ordered) - 1
    point = q * last
    part = point - floor(point)
    return (1 - part) * ordered[min(max(floor(point), 0), last)] + part * ordered[min(max(ceil(point), 0), last)]

def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode='mean'):
    times = _times(fn, _number(warmup, 'warmup'), _number(rep, 'rep'), grad_to_none)
    ordered = sorted(times)
    if quantiles is not None:
        if not isinstance(quantiles, (list, tuple)):
            _refuse('TypeError', 'quantiles', 'a list of numbers', type(quantiles).__name__)
        found = [_quantile(ordered, _number(q, 'a quantile')) for q in quantiles]
        return found[0] if len(found) == 1 else found
    if return_mode == 'all':
        return times
    if return_mode == 'mean':
        return sum(times) / len(times)
    if return_mode not in ('min', 'max', 'median'):
        _refuse('ValueError', 'return_mode', "'min', 'max', 'mean', 'median' or 'all'", repr(return_mode))
    return _quantile(ordered, {'min': 0.0, 'max': 1.0, 'median': 0.5}[return_mode])

# Triton launches the calls as a CUDA graph. neso has no CUDA graphs, so this function makes the calls one after the
# other.
def do_bench_cudagraph(fn, rep=20, grad_to_none=None, quantiles=None, return_mode='mean'):
    return do_bench(fn, 0, rep, grad_to_none, quantiles, return_mode)

def assert_close(x, y, atol=None, rtol=None, err_msg=None):
    import torch
    torch.testing.assert_close(x, y, 0 if rtol is None else rtol, 1e-2 if atol is None else atol, True, False, False, err_msg)

def _list(what, x):
    if not isinstance(x, (list, tuple, range)):
        _refuse('TypeError', what, 'a list', type(x).__name__)
    return list(x)

class Benchmark:
    def __init__(self, x_names, x_vals, line_arg, line_vals, line_names, plot_name, args, xlabel='', ylabel='', x_log=False,
                 y_log=False, styles=None):
        self.x_names = _list('x_names', x_names)
        self.x_vals = _list('x_vals', x_vals)
        self.line_arg = line_arg
        self.line_vals = _list('line_vals', line_vals)
        self.line_names = _list('line_names', line_names)
        self.plot_name = plot_name
        self.args = args
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.x_log = x_log
        self.y_log = y_log
        self.styles = styles

# The results of a benchmark. `columns` has one column for each name in x_names, then one for each line, with None for
# an absent value. `bands` has (low, high), the limits of the measured values, for each row and line.
class _Table:
    def __init__(self, b, fn, extra):
        self.nx = len(b.x_names)
        self.rows = []
        self.bands = []
        self.oracles = [None] * len(b.line_vals)  # the library that computed a line without kernels
        if len(b.line_names) != len(b.line_vals):
            _refuse('ValueError', 'line_names', 'as long as line_vals', 'another length')
        for x in b.x_vals:
            self.run_row(b, fn, extra, list(x) if isinstance(x, (list, tuple)) else [x] * self.nx)
        cells = [x for row in self.rows for x in row]
        self.all_ints = all([type(x) is int for x in cells])
        self.plain = all([isinstance(x, (int, float)) for row in self.rows for x in row[:self.nx]])
        self.lines = [self.line_word(str(name), oracle) for name, oracle in zip(b.line_names, self.oracles)]
        unit = f' ({b.ylabel})' if b.ylabel else ''
        self.names = [str(name) for name in b.x_names] + [line + unit for line in self.lines]

    def run_row(self, b, fn, extra, xs):
        if len(xs) != self.nx:
            _refuse('ValueError', 'each of x_vals', 'one value for each of x_names', str(len(xs)))
        keywords = {**dict(zip(b.x_names, xs)), **(b.args or {}), **extra}
        place = ','.join([f'{name}={x}' for name, x in zip(b.x_names, xs)])
        ys, bands = [], []
        for i, value in enumerate(b.line_vals):
            keywords[b.line_arg] = value
            y, oracle = _measured(f'{_text(b.plot_name)}/{place}/{b.line_names[i]}', fn, keywords)
            y, *band = y if isinstance(y, (list, tuple)) and len(y) == 3 else (y, None, None)
            ys.append(self.checked(y))
            bands.append([self.checked(bound) for bound in band])
            if oracle and (oracle[0] == 'C' or not self.oracles[i]):  # of several libraries, show the slowest: the CPU
                self.oracles[i] = oracle
        self.rows.append(xs + ys)
        self.bands.append(bands)

    def checked(self, y):
        if y is not None:
            _number(y, 'what a benchmark returns')
        return y

    # Returns the name that the program gives the line. If a library computed the line and the name does not contain
    # the library's name, adds it in parentheses.
    def line_word(self, name, oracle):
        return f'{name} ({oracle})' if oracle and oracle not in name else name

    # Returns the format of a column: six decimal places, without the trailing zeros that all cells have. If six places
    # would show a number as 0 or take too much room, the format has an exponent.
    def column_format(self, i):
        finite = [row[i] for row in self.rows if isinstance(row[i], (int, float)) and isfinite(row[i])]
        texts = [f'{x:.6f}' for x in finite]
        cut = min([min(5, len(s) - len(s.rstrip('0'))) for s in texts], default=5)
        is_small = any([0 < abs(x) < 1e-6 for x in finite])
        is_large = any([abs(x) > 1e6 for x in finite])
        is_too_long = max([len(s) for s in texts], default=0) + 1 - cut > 12  # 1: a column for a sign
        return '.6e' if is_small or (is_too_long and is_large) else f'.{6 - cut}f'

    def column(self, i):
        spec = self.column_format(i)
        def cell(x):
            if self.all_ints or (i < self.nx and not self.plain):
                return str(x)
            return 'NaN' if x is None or x != x else format(x, spec)
        return [cell(row[i]) for row in self.rows]

    # Prints the table as pandas does.
    def __str__(self):
        columns = [[name] + self.column(i) for i, name in enumerate(self.names)]
        widths = [max([len(cell) for cell in column]) for column in columns]
        edge = len(str(max(len(self.rows) - 1, 0)))
        lines = []
        for i, head in enumerate(['', *range(len(self.rows))]):
            lines.append(f'{str(head):<{edge}}' + ''.join([f'  {c[i]:>{w}}' for c, w in zip(columns, widths)]) + '\n')
        return ''.join(lines)

    def csv(self):
        def word(s):
            return '"' + s.replace('"', '""') + '"' if '"' in s or ',' in s or '\n' in s else s
        def cell(i, x):
            if self.all_ints or (i < self.nx and not self.plain):
                return word(str(x))
            return '' if x is None or x != x else f'{x:.6f}'
        rows = [','.join([word(name) for name in self.names])]
        rows += [','.join([cell(i, x) for i, x in enumerate(row)]) for row in self.rows]
        return '\n'.join(rows) + '\n'

class Mark:
    def __init__(self, fn, benchmarks):
        self.fn = fn
        self.benchmarks = benchmarks
    def __call__(self, *args, **kwargs):
        return self.fn(*args, **kwargs)
    def run(self, show_plots=False, print_data=False, save_path='', return_df=False, **kwargs):
        if return_df:
            import pandas
        folder = _text(save_path)
        html = '<html><body>\n'
        for b in self.benchmarks:
            name = _text(b.plot_name)
            table = _Table(b, self.fn, kwargs)
            if print_data:
                print(f'{name}:\n{table}', end='')
            if folder:
                _save(join(folder, name + '.csv'), table.csv())
                html += f'<image src="{name}.svg"/>\n'
            if name and (folder or (show_plots and _can_save())):
                _save(join(folder, name + '.svg'), _plot(table, b))
        if folder:
            _save(join(folder, 'results.html'), html + '</body></html>\n')

def perf_report(benchmarks):
    marked = benchmarks if isinstance(benchmarks, (list, tuple)) else [benchmarks]
    for b in marked:
        if not isinstance(b, Benchmark):
            _refuse('TypeError', 'the argument of perf_report', 'a Benchmark, or a list of them', type(b).__name__)
    return lambda fn: Mark(fn, marked)

# A plot is an SVG file of 480 by 320 points. Its parts are drawn in this order, each over the earlier parts: frame,
# grid, bands, lines, legend.
_width, _height, _left, _right, _top, _bottom = 480, 320, 62, 14, 14, 46

# One axis: maps values to points, and has the positions of the ticks. If is_log, low and high are logarithms.
class _Axis:
    has_powers = False  # True if all ticks are powers of ten
    def __init__(self, values, is_log, start, end, from_zero):
        self.is_log, self.start, self.end = is_log, start, end
        found = [log2(x) if is_log else x for x in values if self.fits(x)]
        low, high = min(found, default=0.0), max(found, default=1.0)
        # the axis extends slightly beyond the data; a linear y axis whose data begin near 0 begins at 0
        if from_zero and not is_log and 0 < low < 0.6 * high:
            low = 0.0
        room = (high - low) * 0.04 if high > low else 1 if is_log else abs(high) * 0.5 + 0.5
        self.low = 0.0 if from_zero and low == 0 and not is_log else low - room
        self.high = high + room
        self.ticks = self.log_ticks() if is_log else self.linear_ticks()

    def fits(self, x):
        return isinstance(x, (int, float)) and isfinite(x) and (not self.is_log or x > 0)

    def place(self, x):
        v = log2(x) if self.is_log else x
        return self.start + (v - self.low) / (self.high - self.low) * (self.end - self.start)

    def steps(self, by, room):
        first = ceil(self.low / by - 1e-9)
        return [i for i in range(first, first + 24) if i * by <= self.high + room]

    # Returns about five ticks, at steps of 1, 2 or 5 times a power of ten.
    def linear_ticks(self):
        span = self.high - self.low
        unit = 10.0 ** floor(log10(span / 5))
        step = unit * (1 if span / unit <= 7 else 2 if span / unit <= 14 else 5 if span / unit <= 35 else 10)
        return [i * step + 0.0 for i in self.steps(step, 1e-9 * span)]

    # Returns ticks at powers of two, or at powers of ten if there would be many powers of two.
    def log_ticks(self):
        by = 1 if self.high - self.low <= 13 else log2(10)
        self.has_powers = by != 1
        while (self.high - self.low) / by > 13:
            by *= 2
        return [2.0 ** (i * by) for i in self.steps(by, 1e-9)]

    # Returns a tick's text: a decimal number such as 0.25 or 4096, or, if it would have many digits, a product
    # such as 2 × 10⁻⁵; a power such as 10⁴ if all ticks are powers of ten.
    def tick_text(self, x):
        size = abs(x)
        if not (self.has_powers and x > 0) and size < 1e6 and (x == 0 or size >= 1e-4):
            return f'{x:.{4 if size < 1e4 else 8}g}'
        power = floor(log10(size) + 1e-9)
        factor = x / 10.0 ** power
        sign = f'{factor:.3g}&#215;' if abs(factor - 1) > 1e-6 else ''
        return f'{sign}10<tspan dy="-4" font-size="7.5">{power}</tspan>'

def _escaped(s):
    return s.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;').replace('"', '&quot;')

_cycle = ['#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd', '#8c564b', '#e377c2', '#7f7f7f', '#bcbd22', '#17becf']
_short = {'b': '#0000ff', 'g': '#008000', 'r': '#ff0000', 'c': '#00bfbf', 'm': '#bf00bf', 'y': '#bfbf00', 'k': '#000000'}
_dashes = {'--': '6,3', '-.': '7,3,1.5,3', ':': '1.5,2.5'}

# Returns the color and the dash pattern of line i. The program gives them in matplotlib's notation: "blue", "g",
# "C1", "--".
def _style(b, i):
    style = b.styles[i] if isinstance(b.styles, list) and i < len(b.styles) else ()
    color, dash, *_ = [_text(word) for word in style] + ['', ''] if isinstance(style, (list, tuple)) else ['', '']
    if not color:
        color = _cycle[i % 10]
    elif color[0] == 'C' and color[1:].isdigit():
        color = _cycle[int(color[1:]) % 10]
    return _escaped(_short.get(color, color.removeprefix('tab:'))), _dashes.get(dash)

def _stroke(b, i):
    color, dash = _style(b, i)
    dashes = f' stroke-dasharray="{dash}"' if dash else ''
    return f' fill="none" stroke-width="1.6" stroke-linejoin="round" stroke="{color}"{dashes}'

def _x_axis(a, label):
    floor_y = _height - _bottom
    out = ''
    for x in a.ticks:
        at = a.place(x)
        out += (f'<path d="M{at:.2f} {_top} V{floor_y}" stroke="#e4e4e4" stroke-width="0.6"/>\n'
                f'<path d="M{at:.2f} {floor_y} v4" stroke="black" stroke-width="0.8"/>\n'
                f'<text x="{at:.2f}" y="{floor_y + 16}" text-anchor="middle">{a.tick_text(x)}</text>\n')
    middle = (_left + _width - _right) // 2
    return out + f'<text x="{middle}" y="{_height - 9}" text-anchor="middle" font-size="12">{_escaped(label)}</text>\n'

def _y_axis(a, label):
    out = ''
    for y in a.ticks:
        at = a.place(y)
        out += (f'<path d="M{_left} {at:.2f} H{_width - _right}" stroke="#e4e4e4" stroke-width="0.6"/>\n'
                f'<path d="M{_left} {at:.2f} h-4" stroke="black" stroke-width="0.8"/>\n'
                f'<text x="{_left - 7}" y="{at + 3.5:.2f}" text-anchor="end">{a.tick_text(y)}</text>\n')
    middle = (_top + _height - _bottom) // 2
    return out + (f'<text x="14" y="{middle}" text-anchor="middle" font-size="12" transform="rotate(-90 14 {middle})">'
                  f'{_escaped(label)}</text>\n')

# Draws the legend in that corner of the plot in which it covers the fewest data points.
def _legend(b, names, points):
    width, height = 42 + 6.0 * max([len(name) for name in names], default=0), 16 * len(names) + 6
    best = None
    for y in (_top + 8, _height - _bottom - 8 - height):
        for x in (_left + 8, _width - _right - 8 - width):
            n = len([0 for px, py in points if x - 4 <= px <= x + width + 4 and y - 4 <= py <= y + height + 4])
            if best is None or n < best[0]:
                best = n, x, y
    _, x, y = best
    out = (f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" rx="2" fill="white" '
           'fill-opacity="0.85" stroke="#cccccc" stroke-width="0.8"/>\n')
    for i, name in enumerate(names):
        at = y + 3 + 16 * (i + 0.5)
        out += (f'<path d="M{x + 7:.2f} {at:.2f} h22"{_stroke(b, i)}/>\n'
                f'<text x="{x + 35:.2f}" y="{at + 3.5:.2f}">{_escaped(name)}</text>\n')
    return out

def _plot(table, b):
    xs = [row[0] if table.plain else i for i, row in enumerate(table.rows)]
    lines = [[row[table.nx + i] for row in table.rows] for i in range(len(table.lines))]
    lows = [[row[i][0] for row in table.bands] for i in range(len(table.lines))]
    highs = [[row[i][1] for row in table.bands] for i in range(len(table.lines))]
    x = _Axis(xs, b.x_log is True, _left, _width - _right, False)
    y = _Axis([v for line in lines + lows + highs for v in line], b.y_log is True, _height - _bottom, _top, True)
    def places(values, at=xs):
        return [(x.place(v), y.place(w)) for v, w in zip(at, values) if x.fits(v) and y.fits(w)]
    def path(points):
        return ' '.join([f'{px:.2f},{py:.2f}' for px, py in points])
    out = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{_width}pt" height="{_height}pt" viewBox="0 0 {_width} {_height}" '
           'font-family="Helvetica, Arial, sans-serif" font-size="10.5">\n'
           f'<rect width="{_width}" height="{_height}" fill="white"/>\n')
    out += _x_axis(x, _text(b.xlabel) or table.names[0]) + _y_axis(y, _text(b.ylabel))
    out += (f'<rect x="{_left}" y="{_top}" width="{_width - _left - _right}" height="{_height - _top - _bottom}" '
            'fill="none" stroke="black" stroke-width="0.8"/>\n')
    for i, (low, high) in enumerate(zip(lows, highs)):
        points = places(low + high[::-1], xs + xs[::-1])
        if len(points) >= 4:
            out += f'<polygon points="{path(points)}" fill-opacity="0.15" fill="{_style(b, i)[0]}"/>\n'
    for i, line in enumerate(lines):
        out += f'<polyline{_stroke(b, i)} points="{path(places(line))}"/>\n'
    return out + _legend(b, table.lines, [point for line in lines for point in places(line)]) + '</svg>\n'
