# runs: interpreter emulator cuda triton (not triton-interpret: it has no map_elementwise)
# Tests tl.map_elementwise with branches that only some elements take: several results, other result types, scalars and
# rows together with blocks, several elements per call, and loops whose number of iterations depends on the element.
import torch
import triton
import triton.language as tl


@triton.jit
def compare(x, y):
    if x < y:
        return -1
    elif x == y:
        return 0
    else:
        return 1


@triton.jit
def order(X, Y, Z, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    x, y = tl.load(X + i), tl.load(Y + j)
    tl.store(Z + i[:, None] * N + j[None, :], tl.map_elementwise(compare, x[:, None], y[None, :]))


@triton.jit
def selu_scalar(x, alpha):
    if x > 0:
        return x
    else:
        return alpha * (tl.exp(x) - 1)


@triton.jit
def divide(x, y):
    if y == 0:
        q = x * 0
        r = x
    else:
        q = x // y
        r = x % y
    return q, r, q.to(tl.float32) * 0.5


@triton.jit
def swap_if_larger(a0, a1, b0, b1):
    low, high = a0, a1
    if a0 > a1:
        low, high = a1, a0
    return low, high, a0 + b1, a1 + b0


@triton.jit
def steps(n):
    count = 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        count += 1
    return count


@triton.jit
def several(X, Y, F, Q, R, H, S, T, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(X + i), tl.load(Y + i)
    alpha = 1.5
    tl.store(F + i, tl.map_elementwise(selu_scalar, tl.load(F + i), alpha))
    q, r, h = tl.map_elementwise(divide, x, y)
    tl.store(Q + i, q)
    tl.store(R + i, r)
    tl.store(H + i, h)
    s, t = tl.map_elementwise(swap_if_larger, x, y, pack=2)
    tl.store(S + i, s)
    tl.store(T + i, t)


@triton.jit
def collatz(X, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.sum(tl.map_elementwise(steps, i + 1), 0)
    tl.store(X + i, tl.map_elementwise(steps, i + 1))
    tl.store(X + N, total)


torch.manual_seed(0)
for dtype in (torch.int32, torch.float32, torch.int8):
    x = torch.randint(-5, 5, (32,), device='cuda').to(dtype)
    y = torch.randint(-5, 5, (64,), device='cuda').to(dtype)
    z = torch.empty((32, 64), device='cuda', dtype=torch.int32)
    order[(1,)](x, y, z, 32, 64)
    want = (x[:, None] > y[None, :]).to(torch.int32) - (x[:, None] < y[None, :]).to(torch.int32)
    assert torch.equal(z, want), dtype

N = 256
x = torch.randint(0, 50, (N,), device='cuda', dtype=torch.int32)
y = torch.randint(0, 4, (N,), device='cuda', dtype=torch.int32)
f = torch.randn(N, device='cuda')
g = f.clone()
q, r, s, t = [torch.empty(N, device='cuda', dtype=torch.int32) for _ in range(4)]
h = torch.empty(N, device='cuda')
several[(1,)](x, y, f, q, r, h, s, t, N)
assert torch.allclose(f, torch.where(g > 0, g, 1.5 * (torch.exp(g) - 1)), atol=1e-6)
by = torch.where(y == 0, torch.ones_like(y), y)
assert torch.equal(q, torch.where(y == 0, torch.zeros_like(y), x // by))
assert torch.equal(r, torch.where(y == 0, x, x % by))
assert torch.equal(h, q.to(torch.float32) * 0.5)
pairs = x.reshape(N // 2, 2)
assert torch.equal(s, torch.stack((pairs.min(1).values, pairs.max(1).values), 1).reshape(N))
others = y.reshape(N // 2, 2)
assert torch.equal(t, torch.stack((pairs[:, 0] + others[:, 1], pairs[:, 1] + others[:, 0]), 1).reshape(N))

x = torch.empty(N + 1, device='cuda', dtype=torch.int32)
collatz[(1,)](x, N)


def length(n):
    count = 0
    while n > 1:
        n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
    return count


want = [length(n) for n in range(1, N + 1)]
assert x.tolist() == want + [sum(want)]
print("ok")

# expect:
# ok
