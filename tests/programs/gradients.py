# runs: interpreter emulator cuda triton (not triton-interpret: it runs one program after the other, so a program that waits for a lock would wait forever)
# bits: the order in which programs take the lock determines the order of the sums in the weight's gradient
# Tests torch.autograd.Function with kernels: RMS norm forward and backward, where locks guard the sums
# of the weight's gradient. Also compares torch's gradients of layer_norm with finite differences.
import torch
import triton
import triton.language as tl


@triton.jit
def norm_forward(x, w, y, scale, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
    s = 1 / tl.sqrt(tl.sum(a * a, axis=0) / n + eps)
    tl.store(scale + row, s)
    tl.store(y + row * n + i, a * s * tl.load(w + i, mask=i < n), mask=i < n)


@triton.jit
def norm_backward(x, w, dy, dx, dw, scale, lock, n, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    inside = i < n
    a = tl.load(x + row * n + i, mask=inside, other=0.0).to(tl.float32)
    d = tl.load(dy + row * n + i, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(w + i, mask=inside, other=0.0).to(tl.float32)
    s = tl.load(scale + row)
    normal = a * s
    tl.store(dx + row * n + i, (d * b - normal * (tl.sum(d * b * normal, axis=0) / n)) * s, mask=inside)
    group = row % GROUPS
    while tl.atomic_cas(lock + group, 0, 1) == 1:
        pass
    sums = dw + group * n + i
    tl.store(sums, tl.load(sums, mask=inside) + d * normal, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock + group, 0)


class RMSNorm(torch.autograd.Function):

    @staticmethod
    def forward(ctx, x, w, eps):
        m, n = x.shape
        y, scale = torch.empty_like(x), torch.empty(m, device=x.device)
        ctx.block = triton.next_power_of_2(n)
        norm_forward[(m, )](x, w, y, scale, n, eps, BLOCK=ctx.block)
        ctx.save_for_backward(x, w, scale)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, w, scale = ctx.saved_tensors
        m, n = x.shape
        groups = 4
        dx, dw = torch.empty_like(x), torch.zeros((groups, n), device=x.device)
        lock = torch.zeros(groups, dtype=torch.int32, device=x.device)
        norm_backward[(m, )](x, w, dy, dx, dw, scale, lock, n, GROUPS=groups, BLOCK=ctx.block)
        return dx, dw.sum(0).to(w.dtype), None


rms_norm = RMSNorm.apply
torch.manual_seed(7)
w = torch.rand(75, device='cuda', requires_grad=True)
x = torch.randn((21, 75), device='cuda').requires_grad_(True)
dy = 0.1 * torch.randn_like(x)

y = rms_norm(x, w, 1e-5)
y.backward(dy, retain_graph=True)
with torch.no_grad():
    X, W, D = x.double(), w.double(), dy.double()
    s = 1 / ((X * X).mean(1, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(y.detach(), (X * s * W).float(), rtol=1e-4, atol=1e-5)
    dx = (D * W - X * s * (D * W * X * s).mean(1, keepdim=True)) * s
    torch.testing.assert_close(x.grad, dx.float(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(w.grad, (D * X * s).sum(0).float(), rtol=1e-4, atol=1e-5)
first = x.grad.clone()
y.backward(dy)
torch.testing.assert_close(x.grad, 2 * first)

# layer_norm: computes (f(v + h) - f(v - h)) / 2h in float64.
values = [torch.randn(4, 6, dtype=torch.float64), torch.rand(6, dtype=torch.float64), torch.rand(6, dtype=torch.float64)]
cotangent = torch.randn(4, 6, dtype=torch.float64)


def f(x, w, b):
    return torch.nn.functional.layer_norm(x, (6, ), w, b, 1e-5)


leaves = [v.clone().requires_grad_(True) for v in values]
f(*leaves).backward(cotangent)
for k, leaf in enumerate(leaves):
    flat = leaf.grad.reshape(-1)
    for i in range(flat.numel()):
        h = torch.zeros_like(flat)
        h[i] = 1e-5
        ends = [f(*[v + sign * h.reshape(v.shape) if j == k else v for j, v in enumerate(values)]) for sign in (1, -1)]
        slope = ((ends[0] - ends[1]) * cotangent).sum().item() / 2e-5
        assert abs(slope - flat[i].item()) < 1e-6, (k, i, slope, flat[i].item())
