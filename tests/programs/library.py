# runs: interpreter emulator cuda triton (not triton-interpret: it has no libdevice)
# Tests library functions that are written in the language or consist of several ops:
# shapes, scans, reductions with indices, and atomics. Also compares libdevice with torch.
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def shapes(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, tl.flip(a, 0))
    tl.store(out + 2 * N + tl.arange(0, 2 * N), tl.interleave(a, -a))
    tl.store(out + 4 * N + tl.arange(0, 2 * N), tl.reshape(tl.trans(tl.join(a, a + 100)), 2 * N))
    even, odd = tl.split(tl.reshape(a, N // 2, 2))
    half = tl.arange(0, N // 2)
    tl.store(out + 6 * N + half, even)
    tl.store(out + 6 * N + N // 2 + half, odd)
    tl.store(out + 7 * N + i, tl.gather(a, (i * 3) % N, 0))
    tl.store(out + 8 * N + i, tl.cumsum(a, 0))
    tl.store(out + 9 * N + i, tl.cumsum(a, 0, reverse=True))
    tl.store(out + 10 * N + i, tl.associative_scan(a, 0, multiply))
    tl.store(out + 11 * N, tl.reduce(a, 0, multiply))
    best, at = tl.max(a, 0, return_indices=True)
    tl.store(out + 11 * N + 1, best)
    tl.store(out + 11 * N + 2, at.to(tl.float32))
    tl.store(out + 11 * N + 3, tl.argmin(a, 0).to(tl.float32))
    tl.store(out + N + i, tl.trans(tl.reshape(a, 2, N // 2)).reshape(N))


@triton.jit
def count(counts, x, total, N: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    old = tl.atomic_add(counts + v, 1)
    tl.atomic_max(total, tl.max(old, 0))
    tl.store(counts + BINS + tl.arange(0, BINS), tl.histogram(v, BINS))


@triton.jit
def functions(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, libdevice.tanh(v))
    tl.store(out + N + i, libdevice.log1p(tl.abs(v)))
    tl.store(out + 2 * N + i, libdevice.expm1(v))
    tl.store(out + 3 * N + i, libdevice.rint(v))
    tl.store(out + 4 * N + i, libdevice.trunc(v))
    tl.store(out + 5 * N + i, libdevice.pow(tl.abs(v), 1.5))
    tl.store(out + 6 * N + i, tl.sigmoid(v))
    tl.store(out + 7 * N + i, tl.softmax(v))
    tl.store(out + 8 * N + i, libdevice.sinh(v))
    tl.store(out + 9 * N + i, libdevice.round(v))
    tl.store(out + 10 * N + i, tl.where(libdevice.isnan(v), 1.0, 0.0))


N = 8
x = torch.tensor([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0], device="cuda")
out = torch.zeros(12, N, device="cuda")
shapes[(1,)](out, x, N=N)
rows = out.tolist()
v = x.tolist()
assert rows[0] == v[::-1]
assert rows[1] == [3.0, 5.0, 1.0, 9.0, 4.0, 2.0, 1.0, 6.0]
assert rows[2] + rows[3] == [y for a in v for y in (a, -a)]
assert rows[4] + rows[5] == v + [a + 100 for a in v]
assert rows[6] == v[0::2] + v[1::2]
assert rows[7] == [v[(i * 3) % N] for i in range(N)]
assert rows[8] == [sum(v[: i + 1]) for i in range(N)]
assert rows[9] == [sum(v[i:]) for i in range(N)]
assert rows[10] == [3.0, 3.0, 12.0, 12.0, 60.0, 540.0, 1080.0, 6480.0]
assert rows[11][:4] == [6480.0, 9.0, 5.0, 1.0]

values = torch.tensor([1, 3, 3, 7, 1, 3, 0, 2], dtype=torch.int32, device="cuda")
counts = torch.zeros(16, dtype=torch.int32, device="cuda")
most = torch.zeros(1, dtype=torch.int32, device="cuda")
count[(1,)](counts, values, most, N=8, BINS=8)
assert counts.tolist() == [1, 2, 1, 3, 0, 0, 0, 1] * 2
assert most.item() == 2

M = 1024
x = torch.randn(M, device="cuda") * 3
out = torch.zeros(11, M, device="cuda")
functions[(1,)](out, x, N=M)
wide = x.to(torch.float64)
expected = [
    torch.tanh(wide), torch.log(1 + torch.abs(wide)), torch.exp(wide) - 1, torch.round(wide),
    torch.where(wide < 0, torch.ceil(wide), torch.floor(wide)), torch.abs(wide) ** 1.5, torch.sigmoid(wide), torch.softmax(wide, 0),
    (torch.exp(wide) - torch.exp(-wide)) / 2, torch.round(wide), torch.zeros(M, device="cuda", dtype=torch.float64),
]
for row, want in enumerate(expected):
    torch.testing.assert_close(out[row], want.to(torch.float32), rtol=4e-6, atol=1e-6)
print("ok")

# expect:
# ok
