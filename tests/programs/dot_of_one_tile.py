# runs: interpreter emulator cuda (not tested with triton yet)
# Both operands of a dot are the same tile. For tf32 and fp8, the tensor cores need different layouts of A and B in shared memory.
import torch
import triton
import triton.language as tl


@triton.jit
def square(X, Y, n, step, N: tl.constexpr, TYPE: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    c = tl.load(Y + at)
    for j in range(n):
        a = tl.load(X + at + j * step).to(TYPE)
        c = tl.dot(a, a, c)
    tl.store(Y + at, c)


@triton.jit
def square_of_descriptor(X, Y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    d = tl.make_tensor_descriptor(X, [n * N, N], [N, 1], [N, N])
    c = tl.load(Y + at)
    for j in range(n):
        a = d.load([j * N, 0])
        c = tl.dot(a, a, c)
    tl.store(Y + at, c)


N, n = 64, 5
x = torch.randint(-3, 4, (n, N, N)).to(torch.float32).cuda()
expected = sum(x[j] @ x[j] for j in range(n)) + 1
for type, name in ((torch.float32, tl.float32), (torch.float16, tl.float16), (torch.float16, tl.float8e5)):
    y = torch.ones(N, N, device='cuda')
    square[(1,)](x.to(type), y, n, N * N, N, name)
    assert torch.equal(y, expected), (type, name, y, expected)
for type in (torch.float32, torch.float16, torch.float8_e5m2):
    y = torch.ones(N, N, device='cuda')
    square_of_descriptor[(1,)](x.to(type), y, n, N)
    assert torch.equal(y, expected), (type, y, expected)
print('ok')
