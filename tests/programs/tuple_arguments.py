# runs: interpreter emulator cuda triton triton-interpret
# Tests tuples as arguments of kernels: nested and named tuples, tuples with constants, functions and None, and the specialization of their items.
from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Matrix(NamedTuple):
    data: object
    shape: tuple
    stride: int


@triton.jit
def double(x):
    return x * 2


@triton.jit
def add_all(pointers, sizes, f, B: tl.constexpr):
    i = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for k in tl.static_range(len(pointers) - 1):
        total += tl.load(pointers[k] + i, mask=i < sizes[k], other=0.0)
    if f[0] is not None:
        total = f[0](total)
    tl.store(pointers[-1] + i, total + f[1])


@triton.jit
def transpose(x: Matrix, y, B: tl.constexpr):
    i, k = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    m, n = x.shape
    inside = (i < m) & (k < n)
    tl.store(y.data + k * y.stride + i, tl.load(x.data + i * x.stride + k, mask=inside), mask=inside)


a = torch.arange(16, device='cuda', dtype=torch.float32)
b = torch.ones(16, device='cuda')
y = torch.empty(16, device='cuda')
add_all[(1,)]((a, b, y), (16, 1), (None, 0.5), 16)
want = a + 0.5
want[0] += 1
assert torch.equal(y, want)
add_all[(1,)]((a, y), (10,), (double, 3), 16)
assert y.cpu().tolist() == [2.0 * i + 3 if i < 10 else 3.0 for i in range(16)]

x = torch.randn((5, 7), device='cuda')
y = torch.zeros((7, 5), device='cuda')
transpose[(1,)](Matrix(x, (5, 7), x.stride(0)), Matrix(y, (7, 5), 5), 8)
assert torch.equal(y, x.t().contiguous())
x = torch.randn((5, 1), device='cuda')
y = torch.zeros((1, 5), device='cuda')
transpose[(1,)](Matrix(x, (5, 1), x.stride(0)), Matrix(y, (1, 5), 5), 8)
assert torch.equal(y, x.t().contiguous())
print("ok")

# expect:
# ok
