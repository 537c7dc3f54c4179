import torch
import triton
import triton.language as tl


@triton.jit
def norm(X, W, B, Y, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    square = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(X + row * stride + cols, mask=cols < n, other=0.0).to(tl.float32)
        total += x
        square += x * x
    mean = tl.sum(total, axis=0) / n
    var = tl.sum(square, axis=0) / n - mean * mean
    rstd = 1 / tl.sqrt(var + eps)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n
        x = tl.load(X + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
        w = tl.load(W + cols, mask=mask, other=0.0)
        b = tl.load(B + cols, mask=mask, other=0.0)
        y = (x - mean) * rstd * w + b
        tl.store(Y + row * stride + cols, y, mask=mask)


rows, n = 2, 4096
x, y = torch.rand(rows, n, device='cuda').half(), torch.empty(rows, n, device='cuda').half()
w, b = torch.rand(n, device='cuda').half(), torch.rand(n, device='cuda').half()
norm[(rows,)](x, w, b, y, n, n, 1e-5, BLOCK=2048, num_warps=8)
