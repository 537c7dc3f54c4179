# runs: interpreter emulator cuda triton triton-interpret
# Tests loops over a row in blocks, for rows of less than one block, one, several, or none. If a row fits into one
# block, data that several loops read must stay in registers; loaded 16-bit floats must stay 16-bit. If a store
# between the loops may change the array, the loops must read it again.
import torch
import triton
import triton.language as tl


@triton.jit
def norm(X, Y, W, Mean, stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    X += row * stride
    Y += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        total += tl.load(X + cols, mask=cols < N, other=0.)
    mean = tl.sum(total, axis=0) / N
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.where(cols < N, tl.load(X + cols, mask=cols < N, other=0.) - mean, 0.)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / N + 1e-5)
    tl.store(Mean + row, mean)
    tl.debug_barrier()
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.)
        tl.store(Y + cols, (x - mean) * rstd * w, mask=mask)


@triton.jit
def largest(X, Y, N, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    p = X + tl.program_id(0) * N + i
    most = -float('inf')
    for k in range(tl.cdiv(N, BLOCK)):
        most = tl.maximum(most, tl.max(tl.load(p, mask=k * BLOCK + i < N, other=-float('inf')), axis=0))
        p += BLOCK
    p = X + tl.program_id(0) * N + i
    q = Y + tl.program_id(0) * N + i
    for k in range(tl.cdiv(N, BLOCK)):
        tl.store(q, tl.load(p, mask=k * BLOCK + i < N, other=-float('inf')) - most, mask=k * BLOCK + i < N)
        p += BLOCK
        q += BLOCK


@triton.jit
def rounds(X, Y, lo, hi, BLOCK: tl.constexpr):
    n = 0
    for i in range(lo, hi, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        n += tl.sum(tl.load(X + cols, mask=cols < hi, other=0).to(tl.int32), axis=0)
    for i in range(lo, hi, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        n += 1000 + tl.max(tl.load(X + cols, mask=cols < hi, other=0).to(tl.int32), axis=0)
    tl.store(Y, n)


@triton.jit
def loss(X, Y, L, stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    X += row * stride
    y = tl.load(Y + row)
    picked = tl.load(X + y).to(tl.float32)
    m = -float('inf')
    d = 0.
    for i in range(0, N, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        x = tl.load(X + cols, mask=cols < N, other=-float('inf')).to(tl.float32)
        most = tl.maximum(m, tl.max(x))
        d = d * tl.exp(m - most) + tl.sum(tl.exp(x - most))
        m = most
    tl.debug_barrier()
    for i in range(0, N, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        x = tl.load(X + cols, mask=cols < N, other=-float('inf')).to(tl.float32)
        x = tl.exp(x - m) / d
        tl.store(X + cols, tl.where(cols != y, x, x - 1), mask=cols < N)
    tl.store(L + row, m + tl.log(d) - picked)


def expected(x, w):
    mean = x.mean(1, keepdim=True)
    return (x - mean) / torch.sqrt(((x - mean) ** 2).mean(1, keepdim=True) + 1e-5) * w


def close(got, wanted):
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)


torch.manual_seed(0)
BLOCK = 128
for columns in [1, 100, 128, 129, 300]:
    for warps in [1, 4]:
        for rows in [3, 64]:
            x, w = torch.randn(rows, columns, device='cuda'), torch.randn(columns, device='cuda')
            y, mean = torch.empty_like(x), torch.empty(rows, device='cuda')
            norm[(rows,)](x, y, w, mean, x.stride(0), columns, BLOCK=BLOCK, num_warps=warps)
            close(y, expected(x, w))
            close(mean, x.mean(1))
            largest[(rows,)](x, y, columns, BLOCK=BLOCK, num_warps=warps)
            close(y, x - x.max(1, keepdim=True)[0])
            # the output is the input array
            wanted = expected(x, w)
            norm[(rows,)](x, x, w, mean, x.stride(0), columns, BLOCK=BLOCK, num_warps=warps)
            close(x, wanted)
# A row without columns: nothing is read.
y = torch.full((2, 4), 7., device='cuda')
mean = torch.zeros(2, device='cuda')
norm[(2,)](y, y, y, mean, 4, 0, BLOCK=BLOCK)
largest[(2,)](y, y, 0, BLOCK=BLOCK)
assert (y == 7.).all()
# Counts iterations.
x = torch.ones(64, device='cuda')
for lo, hi in [(0, 0), (0, 16), (16, 32), (16, 33), (5, 6), (8, 3), (0, 64)]:
    y = torch.zeros(1, dtype=torch.int32, device='cuda')
    rounds[(1,)](x, y, lo, hi, BLOCK=16)
    length = max(hi - lo, 0)
    assert y.item() == length + 1001 * triton.cdiv(length, 16), (lo, hi, y.item())
# Stores the mean into the row, which is then read again. If the loop runs backwards, the launcher cannot prove that rows are disjoint.
for columns in [100, 128, 200]:
    x, w = torch.randn(1, columns, device='cuda'), torch.ones(columns, device='cuda')
    y = torch.empty_like(x)
    before, mean = x.clone(), x.mean()
    rstd = 1 / torch.sqrt(((x - mean) ** 2).mean() + 1e-5)
    norm[(1,)](x, y, w, x[0, 50:], columns, columns, BLOCK=BLOCK)
    before[0, 50] = mean
    close(x, before)
    close(y, (before - mean) * rstd)
    x = torch.randn(3, columns, device='cuda')
    y, mean = torch.empty_like(x), torch.empty(3, device='cuda')
    norm[(3,)](x[2], y[2], w, mean, -columns, columns, BLOCK=BLOCK)
    close(y, expected(x, w))
    close(mean, torch.flip(x.mean(1), [0]))
# 16-bit floats must stay 16-bit where the output is the input; the kernel also loads one element outside of its loops.
for columns in [20000, 32768, 32784]:
    x = torch.randn(3, columns, device='cuda').to(torch.float16)
    y, l = torch.tensor([0, 7, columns - 1], device='cuda'), torch.empty(3, device='cuda')
    p = torch.softmax(x.float(), 1)
    for row in range(3):
        p[row, y[row]] -= 1
    wanted = torch.stack([torch.logsumexp(x[row].float(), 0) - x[row, y[row]].float() for row in range(3)])
    loss[(3,)](x, y, l, x.stride(0), columns, BLOCK=32768, num_warps=32)
    torch.testing.assert_close(l, wanted, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(x.float(), p, rtol=1e-2, atol=1e-3)
print("ok")

# expect:
# ok
