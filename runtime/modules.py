# modules.py: modules of others that host programs import, as far as they can be written in Python: a section each.

# -- torch.more
# Functions that are compositions of others. Floats are computed in double and rounded once, as everywhere in this torch.
# A name without an underscore is a function of torch and of torch.nn.functional, and a method of tensors.
# torch itself is put among the names here when it has all of its own.
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
# Gradients: what torch.autograd.Function notes on its results is all that there is of a graph.
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
# There is one stream, and one device.
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
# Tests are called by the program itself, with arguments of its own.
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
# The lecture's helpers; a file of that name beside the program goes before them.
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

# -- pdb
def set_trace():
    breakpoint()

# -- ipdb
from pdb import *

# -- IPython.core.debugger
from pdb import *

# -- triton.runtime.driver
# triton.runtime.driver.active, as far as tutorials ask it.
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
