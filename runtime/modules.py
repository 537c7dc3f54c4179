# modules.py: modules of others that host programs import, as far as they can be written in Python: a section each.

# -- torch.more
# Functions that are compositions of others. Floats are computed in double and rounded once, as everywhere in this torch.
# A name without an underscore is a function of torch and of torch.nn.functional, and a method of tensors.
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
    import torch
    return torch.autograd.layer_norm(input, *args, **kwargs)

def backward(input, *args, **kwargs):
    import torch
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
    import torch
    return torch.where(keep.to(input.device), input, torch.zeros_like(input))

def tril(input, diagonal=0):
    import torch
    m, n = input.shape[-2:]
    return _kept(input, torch.arange(n)[None, :] <= torch.arange(m)[:, None] + diagonal)

def triu(input, diagonal=0):
    import torch
    m, n = input.shape[-2:]
    return _kept(input, torch.arange(n)[None, :] >= torch.arange(m)[:, None] + diagonal)

def eye(n, m=None, dtype=None, device=None):
    import torch
    m = n if m is None else m
    same = torch.arange(n, device=device)[:, None] == torch.arange(m, device=device)[None, :]
    return same.to(torch.float32 if dtype is None else dtype)

def linspace(start, end, steps, dtype=None, device=None):
    import torch
    by = (end - start) / (steps - 1) if steps > 1 else 0.0
    x = torch.arange(steps, dtype=torch.float64, device=device) * by + start
    return x.to(torch.float32 if dtype is None else dtype)

def flip(input, dims):
    import torch
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
    import torch
    x, total, rows = input.transpose(0, dim), 0, []
    x = x.double() if x.dtype.is_floating_point else x.to(torch.int64)
    for row in x:
        total = row + total
        rows.append(total)
    out = torch.stack(rows).transpose(0, dim).contiguous()
    return out.to(dtype or (input.dtype if input.dtype.is_floating_point else torch.int64))

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
    import torch
    torch.backends.cuda.matmul.allow_tf32 = precision != 'highest'

# -- torch.cuda
# There is one stream, and one device.
class Stream:
    cuda_stream = 0
    def __init__(self, device=None, priority=0):
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
