# runs: interpreter emulator cuda triton triton-interpret
# Scans, reduces, flips, gathers, permutes, sorts, joins and splits tiles of five dimensions, some of size 1.
import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def kernel(X, O, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr, E: tl.constexpr, AXIS: tl.constexpr, WHAT: tl.constexpr):
    N: tl.constexpr = A * B * C * D * E
    i = tl.arange(0, N)
    x = tl.reshape(tl.load(X + i), [A, B, C, D, E])
    if WHAT == 0:
        y = tl.associative_scan(x, AXIS, add)
    elif WHAT == 1:
        y = tl.associative_scan(x, AXIS, add, reverse=True)
    elif WHAT == 2:
        y = tl.broadcast_to(tl.sum(x, axis=AXIS, keep_dims=True), [A, B, C, D, E])
    elif WHAT == 3:
        y = tl.flip(x, AXIS)
    elif WHAT == 4:
        y = tl.gather(x, x & (x.shape[AXIS] - 1), AXIS)
    elif WHAT == 5:
        y = tl.trans(tl.trans(x, 4, 2, 0, 1, 3), 2, 3, 1, 4, 0) + 0 * x
    elif WHAT == 6:
        y = tl.sort(x)
    else:
        a, b = tl.split(tl.join(x, -x))
        y = a * 3 + b
    tl.store(O + i, tl.reshape(y, [N]))


for shape in [(2, 2, 2, 2, 2), (4, 1, 2, 8, 4), (1, 1, 1, 1, 8)]:
    N = 1
    for s in shape:
        N *= s
    X = (torch.arange(N, device='cuda') * 7 % 23).to(torch.int32)
    x = X.reshape(*shape)
    for warps in (1, 8):
        for axis in range(5):
            wanted = [torch.cumsum(x, axis), torch.flip(torch.cumsum(torch.flip(x, [axis]), axis), [axis]),
                      x.sum(axis).unsqueeze(axis).expand(*shape), torch.flip(x, [axis]),
                      torch.gather(x, axis, (x & (shape[axis] - 1)).to(torch.int64)), x, torch.sort(x, 4)[0], x * 2]
            for what in range(8):
                O = torch.full((N,), -9, device='cuda', dtype=torch.int32)
                kernel[(1,)](X, O, shape[0], shape[1], shape[2], shape[3], shape[4], axis, what, num_warps=warps)
                assert torch.equal(O.to(torch.int64), wanted[what].to(torch.int64).reshape(N)), (shape, warps, axis, what)
