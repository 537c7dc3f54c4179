# runs: interpreter emulator cuda triton-interpret (not triton: it cannot compile branches in combine functions)
# In debug mode, combine functions of reductions and scans check assertions, also
# in branches. Each assertion must see only values that are part of the result.
import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b):
    tl.device_assert(a >= 0, "a partial sum is negative")
    if b > 5:
        tl.device_assert(b < 10000, "a partial sum is too large")
        r = a + b
    else:
        r = b + a
    return r


@triton.jit
def rises(a, x, b, y):
    assert (a <= b) | (x > y), "not in order"
    return b, y


@triton.jit(debug=True)
def k(X, Y, Z, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    x = tl.load(X + i[:, None] * COLUMNS + j[None, :])
    tl.store(Y + i, tl.reduce(x, 1, add))
    tl.store(Z + i[:, None] * COLUMNS + j[None, :], tl.associative_scan(x, 1, add))
    index, last = tl.associative_scan((j, tl.reduce(x, 0, add)), 0, rises)
    tl.store(Y + ROWS + j, index + last)


for rows, columns in ((4, 64), (128, 8)):
    x = torch.randint(0, 50, (rows, columns), device='cuda', dtype=torch.int32)
    y = torch.zeros(rows + columns, device='cuda', dtype=torch.int32)
    z = torch.zeros((rows, columns), device='cuda', dtype=torch.int32)
    k[(1,)](x, y, z, rows, columns)
    want = torch.cat((x.sum(1), x.sum(0) + torch.arange(columns, device='cuda')))
    assert torch.equal(y, want.to(torch.int32)), (rows, columns)
    assert torch.equal(z, x.cumsum(1).to(torch.int32)), (rows, columns)
print("ok")

# expect:
# ok
