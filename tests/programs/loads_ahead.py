# runs: interpreter emulator cuda triton triton-interpret
# Tests loops whose loads the compiler may move one iteration ahead: recurrences over disjoint arrays, over one array that is updated
# in place, over overlapping parts of one array; with decreasing counters, steps known only at the launch, and no iterations.
import torch
import triton
import triton.language as tl


@triton.jit
def recurrence(A, B, Y, steps, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.zeros((BLOCK,), tl.float32)
    for t in range(steps):
        y = tl.load(A + t * n + i, mask=i < n) * y + tl.load(B + t * n + i, mask=i < n)
        tl.store(Y + t * n + i, y, mask=i < n)


@triton.jit
def falling(X, Y, steps, n, BLOCK: tl.constexpr):
    # y[t] = x[t] - mean of x[t] + y[t + 1], from the last row to the first
    i = tl.arange(0, BLOCK)
    y = tl.zeros((BLOCK,), tl.float32)
    for k in range(steps):
        t = steps - 1 - k
        x = tl.load(X + t * n + i)
        y += x - tl.sum(x, axis=0) / BLOCK
        tl.store(Y + t * n + i, y)


@triton.jit
def rows_in_turn(X, W, Y, S, rows, n, BLOCK: tl.constexpr):
    # program p computes rows p, p + programs, ...
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(X + row * n + i, mask=i < n, other=0.0)
        x *= tl.load(W + row)
        tl.store(Y + row * n + i, x / (1.0 + tl.max(tl.abs(x), axis=0)), mask=i < n)
        total += x
    tl.store(S + tl.program_id(0) * n + i, total, mask=i < n)


@triton.jit
def running(X, Y, n, start, BLOCK: tl.constexpr):
    # pointers advance; the loop may have no iteration
    i = tl.arange(0, BLOCK)
    at, to = X + start, Y + start
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(start, n, BLOCK):
        total += tl.load(at + i, mask=k + i < n, other=0.0)
        tl.store(to + i, total, mask=k + i < n)
        at += BLOCK
        to += BLOCK


def recurred(a, b):
    y, ys = torch.zeros(a.shape[1]), []
    for t in range(a.shape[0]):
        y = a[t] * y + b[t]
        ys.append(y)
    return torch.stack(ys)


def same(x, want):
    assert torch.allclose(x.cpu(), want.cpu(), rtol=1e-5, atol=1e-5)


torch.manual_seed(0)
device = 'cuda'
for steps in (1, 2, 7, 8, 9, 19):
    n = 50
    a, b = torch.rand(steps, n), torch.randn(steps, n)
    want = recurred(a, b)
    da, db = a.to(device), b.to(device)
    y = torch.empty_like(db)
    recurrence[(1,)](da, db, y, steps, n, 64, num_warps=1)
    same(y, want)
    recurrence[(1,)](da, db, db, steps, n, 64, num_warps=1)  # in place
    same(db, want)

# The arrays overlap: row t + 1 of the input is row t of the output.
steps, n = 12, 64
a, both = torch.rand(steps, n), torch.randn(steps + 1, n)
want, y = both.clone(), torch.zeros(n)
for t in range(steps):
    y = a[t] * y + want[t]
    want[t + 1] = y
both = both.to(device)
recurrence[(1,)](a.to(device), both, both[1:], steps, n, 64, num_warps=1)
same(both, want)

for steps in (1, 2, 9):
    x = torch.randn(steps, 128)
    want = (x - x.mean(1, keepdim=True)).flip(0).cumsum(0).flip(0)
    dx = x.to(device)
    y = torch.empty_like(dx)
    falling[(1,)](dx, y, steps, 128, 128, num_warps=2)
    same(y, want)
    falling[(1,)](dx, dx, steps, 128, 128, num_warps=2)
    same(dx, want)

for rows, programs in ((1, 3), (7, 3), (9, 2), (4, 4)):
    x, w = torch.randn(rows, 100), torch.rand(rows)
    scaled = x * w[:, None]
    dx, dw = x.to(device), w.to(device)
    y, sums = torch.empty_like(dx), torch.empty((programs, 100), device=device)
    rows_in_turn[(programs,)](dx, dw, y, sums, rows, 100, 128)
    same(y, scaled / (1 + scaled.abs().amax(1, keepdim=True)))
    same(sums.sum(0), scaled.sum(0))
    rows_in_turn[(programs,)](dx, dw, dx, sums, rows, 100, 128)
    same(dx, y)

for n, start in ((1000, 0), (1000, 256), (64, 64), (64, 128), (130, 64)):
    x = torch.randn(1024)
    dx = x.to(device)
    y = torch.zeros(1024, device=device)
    running[(1,)](dx, y, n, start, 64, num_warps=1)
    want, total = torch.zeros(1024), torch.zeros(64)
    for k in range(start, n, 64):
        part = x[k:min(k + 64, n)]
        total[:len(part)] += part
        want[k:min(k + 64, n)] = total[:len(part)]
    same(y, want)
print('ok')
