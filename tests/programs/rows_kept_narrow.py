# runs: interpreter emulator cuda triton triton-interpret
# Tests rows of 16-bit floats that are so long that a thread recomputes their f32 values after
# reductions instead of keeping them. The longest rows do not fit into registers as f32 at all.
import torch
import triton
import triton.language as tl


@triton.jit
def normalize(x_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < n
    x = tl.load(x_ptr + at, mask=mask, other=0.).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(mask, x - mean, 0.)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + eps)
    tl.store(y_ptr + at, centred * rstd, mask=mask)


@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < n
    x = tl.load(x_ptr + at, mask=mask, other=-float('inf')).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + at, e / tl.sum(e, axis=0), mask=mask)


torch.manual_seed(0)
for dtype in [torch.float16, torch.bfloat16]:
    for n, block, warps in [(2048, 2048, 4), (1999, 2048, 2), (5120, 8192, 1)]:
        x = torch.randn(2, n, device='cuda').to(dtype)
        y = torch.empty_like(x)
        normalize[(2,)](x, y, n, 1e-5, BLOCK=block, num_warps=warps)
        centred = x.float() - x.float().mean(1, keepdim=True)
        expected = centred / torch.sqrt((centred * centred).mean(1, keepdim=True) + 1e-5)
        assert torch.allclose(y.float(), expected, rtol=2e-2, atol=2e-2), (dtype, n, 'normalize')
        softmax[(2,)](x, y, n, BLOCK=block, num_warps=warps)
        assert torch.allclose(y.float(), torch.softmax(x.float(), 1), rtol=2e-2, atol=1e-4), (dtype, n, 'softmax')
print('rows agree')

# expect:
# rows agree
