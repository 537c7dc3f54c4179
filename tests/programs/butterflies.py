# runs: interpreter emulator cuda triton triton-interpret
# Tests a Hadamard transform that splits and joins at every stride. Elements in other lanes
# or warps must move to registers of one thread, and no thread must hold more elements than before.
import torch
import triton
import triton.language as tl


@triton.jit
def stage(x, N: tl.constexpr, STRIDE: tl.constexpr):
    pairs = tl.permute(tl.reshape(x, (N // (2 * STRIDE), 2, STRIDE)), (0, 2, 1))
    a, b = tl.split(pairs)
    return tl.reshape(tl.permute(tl.join(a + b, a - b), (0, 2, 1)), (N,))


@triton.jit
def hadamard(X, Y, N: tl.constexpr, LOG_N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i)
    for k in tl.static_range(LOG_N):
        x = stage(x, N, 1 << (LOG_N - 1 - k))
    tl.store(Y + i, x)


n = 2048
x = torch.zeros(n, device='cuda')
x[5] = 1.0
x[1030] = 2.0
y = torch.empty_like(x)
hadamard[(1,)](x, y, n, 11)
i = torch.arange(n)
signs = [torch.zeros(n, dtype=torch.int32) for _ in range(2)]
for bit in range(11):
    for k, at in enumerate((5, 1030)):
        if at >> bit & 1:
            signs[k] += (i >> bit & 1).to(torch.int32)
expected = (1.0 - 2.0 * (signs[0] % 2).to(torch.float32)) + 2.0 * (1.0 - 2.0 * (signs[1] % 2).to(torch.float32))
assert torch.equal(y.cpu(), expected)
