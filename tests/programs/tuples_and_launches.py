# runs: interpreter emulator cuda triton triton-interpret
# Tests tuples that are passed into a kernel, through functions, loops and branches, and returned by functions.
# They are plain or named, have any length, and contain constants, None, pointers, functions and tuples.
from collections import namedtuple
from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Array(NamedTuple):
    pointer: object
    shape: tuple
    strides: tuple


class Closure(NamedTuple):
    function: tl.constexpr
    captured: tuple


Range = namedtuple("Range", ["start", "step"])


@triton.jit
def increment(values):
    return tl.tuple([v + 1 for v in values])


@triton.jit
def store_all(pointers, values):
    for i in tl.static_range(len(values)):
        tl.store(pointers[i], values[i])


@triton.jit
def store_increments(_, pointers, ONE: tl.constexpr, values):
    store_all(pointers, increment(values))


@triton.jit
def assign(X, Y, values):
    X0, X1 = X
    x0, x1, nothing = values
    if nothing is None:
        tl.store(X0, x0)
        tl.store(X1, x1)
    Y0, rest = Y
    Y1, Y2 = rest
    Y = Y0, Y1, Y2
    y = x0, 10, x1
    for i in tl.static_range(3):
        tl.store(Y[i], y[i])
    tl.store(Y[-1] + 1, len(Y) + len(values[:2]))


@triton.jit
def outer(Z, none, t, C: tl.constexpr, one, u):
    tl.static_assert(none is None)
    tl.static_assert(t[1][1] is None)
    tl.static_assert(t[1][3] == 4)
    tl.store(Z + 0, tl.load(t[0]))
    tl.store(Z + 1, t[1][0])
    tl.store(Z + 2, tl.load(t[1][2]))
    tl.store(Z + 3, C + one)
    tl.store(Z + 4, tl.load(u[0]))
    inner(Z, 15, (-1, None, t))


@triton.jit
def inner(Z, C: tl.constexpr, t):
    tl.static_assert(t[1] is None)
    tl.store(Z + 5, C)
    tl.store(Z + 6, t[0])
    tl.store(Z + 7, tl.load(t[2][0]))
    tl.store(Z + 8, t[2][1][0])
    tl.store(Z + 9, tl.load(t[2][1][2]))


@triton.jit
def scale(x, factor):
    return x * tl.load(factor)


@triton.jit
def swapped(a):
    return Array(shape=(a.shape[1], a.shape[0]), pointer=a.pointer, strides=(a.strides[1], a.strides[0]))


@triton.jit
def inside(a, i, j):
    return (i[:, None] < a.shape[0]) & (j[None, :] < a.shape[1])


@triton.jit
def apply(closure, x, y, N: tl.constexpr):
    i, j = tl.arange(0, N), tl.arange(0, N)
    y = swapped(y)
    v = tl.load(x.pointer + i[:, None] * x.strides[0] + j[None, :] * x.strides[1], mask=inside(x, i, j), other=0.0)
    tl.store(y.pointer + i[:, None] * y.strides[0] + j[None, :] * y.strides[1], closure.function(v, *closure.captured),
             mask=inside(y, i, j))


@triton.jit
def carry(X, r, n, N: tl.constexpr):
    i = tl.arange(0, N)
    state = (tl.zeros((N,), tl.float32), r.start)
    for k in range(n):
        if k % 2 == 0:
            state = (state[0] + state[1], state[1] + r.step)
        else:
            state = (state[0] - 1, state[1])
    total, last = state
    tl.store(X + i, total + last)


@triton.jit
def logic(Z):
    a = (0, 1) + (2, 3)
    b = tl.tuple((4, 5)) + (6, 7)
    for i in tl.static_range(4):
        tl.store(Z + i, a[i])
        tl.store(Z + 4 + i, b[i])
    tl.store(Z + 8, (1, 2) == (1, 2))
    tl.store(Z + 9, tl.tuple((1, 2)) == (1, 3))
    tl.static_assert(((3, 4) or (5, 6)) == (3, 4))
    tl.static_assert(((3, 4) and ()) == ())
    tl.static_assert((() and tl.program_id(0)) == ())


@triton.jit
def powers(X, shape: tl.constexpr, strides, factors):
    p = X + tl.arange(0, shape[0])[:, None] * strides[0] + tl.arange(0, shape[1])[None, :] * strides[1]
    x = tl.load(p)
    for _ in tl.range(0, factors[1]):
        x = factors[0] * x
    tl.store(p, x)


def scalar(value=0, dtype=torch.float32):
    return torch.full((1,), value, dtype=dtype, device='cuda')


for n in range(5):
    out = tuple([scalar() for _ in range(n)])
    store_increments[(1,)](0, out, 0, tuple([i + 1 for i in range(n)]))
    assert [x.item() for x in out] == [i + 2 for i in range(n)]

x, y, last = (scalar(), scalar()), (scalar(), scalar()), torch.zeros(2, device='cuda')
assign[(1,)](x, (y[0], (y[1], last)), (2.0, 3.0, None))
assert [v.item() for v in x + y] == [2, 3, 2, 10] and last.tolist() == [3, 5]

z = torch.empty(10, dtype=torch.int32, device='cuda')
a, b, c = scalar(8, torch.int32), scalar(12, torch.int32), scalar(10, torch.int32)
outer[(1,)](z, None, (a, (1, None, b, tl.constexpr(4))), 20, 1, (c,))
assert z.tolist() == [8, 1, 12, 21, 10, 15, -1, 8, 1, 12]

x, y = torch.randn((32, 32), device='cuda'), torch.empty((16, 8), device='cuda')
apply[(1,)](Closure(scale, (scalar(5.25),)), Array(x, x.shape, x.stride()), Array(y, (16, 8), y.stride()), 32)
assert torch.equal(y, (x * 5.25)[:8, :16].t().contiguous())

x = torch.zeros(16, device='cuda')
for n in (0, 1, 4):
    carry[(1,)](x, Range(2, 5), n, 16)
    want, at = 0, 2
    for k in range(n):
        want, at = (want + at, at + 5) if k % 2 == 0 else (want - 1, at)
    assert x.tolist() == [float(want + at)] * 16

z = torch.empty(10, dtype=torch.int32, device='cuda')
logic[(1,)](z)
assert z.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 1, 0]

x = torch.arange(64, device='cuda').reshape(8, 8)
want = x * 8
powers[(1,)](x, x.shape, x.stride(), (2, 3))
assert torch.equal(x, want)
print("ok")

# expect:
# ok
