"""interpreter.py: times launches in the interpreter: vector add of 98432 numbers and softmax of 583 x 931. It prints the best of a few
launches. The file runs under `neso run --device interpreter` and under Python with TRITON_INTERPRET=1."""
import time

import torch
import triton
import triton.language as tl


@triton.jit
def add(X, Y, Z, N, BLOCK: tl.constexpr):
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = idx < N
    x = tl.load(X + idx, mask=mask)
    y = tl.load(Y + idx, mask=mask)
    tl.store(Z + idx, x + y, mask=mask)


@triton.jit
def softmax(Y, X, stride_y, stride_x, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride_x + columns, mask=columns < n, other=-float('inf'))
    num = tl.exp(x - tl.max(x, axis=0))
    tl.store(Y + row * stride_y + columns, num / tl.sum(num, axis=0), mask=columns < n)


def best(launch):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        launch()
        times.append(time.perf_counter() - start)
    return min(times)


x = torch.rand(98432, device='cuda')
y = torch.rand(98432, device='cuda')
z = torch.empty_like(x)
X = torch.randn(583, 931, device='cuda')
Y = torch.empty_like(X)
print(f"add n=98432: {best(lambda: add[(triton.cdiv(98432, 1024),)](x, y, z, 98432, BLOCK=1024)) * 1e3:.3f} ms")
print(f"softmax 583x931: {best(lambda: softmax[(583,)](Y, X, 931, 931, 931, BLOCK=1024)) * 1e3:.3f} ms")
assert torch.equal(z, x + y)
assert torch.allclose(Y, torch.softmax(X, 1), atol=1e-6)
