# runs: interpreter emulator cuda triton triton-interpret
# Tests rows that a kernel prefetches to L2: long rows, which a program prefetches for the program whose id is 56 larger (if any),
# rows of a loop, and rows of several tiles, whose last loop prefetches the first tile for the program whose id is 224 larger.
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(Y, X, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + cols, mask=cols < n, other=-float('inf'))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(Y + row * stride + cols, e / tl.sum(e, axis=0), mask=cols < n)


@triton.jit
def centre(Y, X, stride, n, BLOCK: tl.constexpr):
    X += tl.program_id(0) * stride
    Y += tl.program_id(0) * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        total += tl.load(X + cols, mask=cols < n, other=0.)
    mean = tl.sum(total, axis=0) / n
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        tl.store(Y + cols, tl.load(X + cols, mask=cols < n, other=0.) - mean, mask=cols < n)


@triton.jit
def largest(Y, X, stride, n, BLOCK: tl.constexpr):
    X += tl.program_id(0) * stride
    Y += tl.program_id(0) * stride
    most = -float('inf')
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        most = tl.maximum(most, tl.max(tl.load(X + cols, mask=cols < n, other=-float('inf')), axis=0))
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        tl.store(Y + cols, tl.load(X + cols, mask=cols < n, other=0.) - most, mask=cols < n)


def check(kernel, rows, columns, block, expected):
    x = torch.randn(rows, columns, device='cuda')
    y = torch.empty_like(x)
    kernel[(rows,)](y, x, x.stride(0), columns, BLOCK=block, num_warps=16)
    torch.testing.assert_close(y, expected(x), rtol=1e-5, atol=1e-5)


torch.manual_seed(0)
check(softmax, 59, 30000, 32768, lambda x: torch.softmax(x, 1))
for columns in [16, 6000, 6001, 12288]:
    check(centre, 5, columns, 2048, lambda x: x - x.mean(1, keepdim=True))
for rows, columns in [(226, 8196), (2, 20000), (2, 24576)]:
    check(largest, rows, columns, 8192, lambda x: x - x.max(1, keepdim=True)[0])
check(largest, 3, 10000, 1024, lambda x: x - x.max(1, keepdim=True)[0])
print("ok")

# expect:
# ok
