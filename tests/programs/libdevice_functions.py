# runs: interpreter emulator cuda triton (not triton-interpret: it has no libdevice)
# Compares libdevice with Python's results. Integers must be equal; floats must be within the errors that CUDA's manual states, in ulp.
import math

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def inverse(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, libdevice.asin(v))
    tl.store(out + N + i, libdevice.acos(v))
    tl.store(out + 2 * N + i, libdevice.atan(v * 8))
    tl.store(out + 3 * N + i, libdevice.atan2(v, v - 0.25))
    tl.store(out + 4 * N + i, libdevice.cbrt(v * 8))
    tl.store(out + 5 * N + i, libdevice.erfc(v * 8))
    tl.store(out + 6 * N + i, libdevice.erf(libdevice.erfinv(v)))
    tl.store(out + 7 * N + i, libdevice.exp(v * 64))
    tl.store(out + 8 * N + i, libdevice.exp10(v * 32))
    tl.store(out + 9 * N + i, libdevice.sinpi(v * 8))
    tl.store(out + 10 * N + i, libdevice.cospi(v * 8))
    tl.store(out + 11 * N + i, libdevice.normcdf(v * 8))
    tl.store(out + 12 * N + i, libdevice.norm3d(v, v + 1, v + 2))
    tl.store(out + 13 * N + i, libdevice.remainder(v * 8, v * v + 0.125))
    tl.store(out + 14 * N + i, libdevice.ldexp(v, i - 128))
    tl.store(out + 15 * N + i, libdevice.logb(v))


@triton.jit
def integers(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, libdevice.popc(v))
    tl.store(out + N + i, libdevice.clz(v))
    tl.store(out + 2 * N + i, libdevice.ffs(v))
    tl.store(out + 3 * N + i, libdevice.brev(v))
    tl.store(out + 4 * N + i, libdevice.mulhi(v, v - 7))
    f = v.to(tl.float32) * 0.25
    tl.store(out + 5 * N + i, libdevice.float2int_rn(f))
    tl.store(out + 6 * N + i, libdevice.float2int_rd(f))
    tl.store(out + 7 * N + i, libdevice.float2int_ru(f))
    tl.store(out + 8 * N + i, libdevice.float2int_rz(f))


def erfc(x):
    return math.erfc(x)


def sine(turns):
    q = round(turns * 2)
    t = (turns - q / 2) * math.pi
    return [math.sin(t), math.cos(t), -math.sin(t), -math.cos(t)][q % 4]


ROWS = [
    (math.asin, 4), (math.acos, 4), (lambda v: math.atan(v * 8), 4), (lambda v: math.atan2(v, v - 0.25), 5),
    (lambda v: math.copysign(math.exp(math.log(abs(v * 8)) / 3), v), 8), (lambda v: erfc(v * 8), 6), (lambda v: v, 12),
    (lambda v: math.exp(v * 64), 4), (lambda v: 10.0 ** (v * 32), 4), (lambda v: sine(v * 8), 4), (lambda v: sine(v * 8 + 0.5), 4),
    (lambda v: erfc(-v * 8 / math.sqrt(2)) / 2, 160), (lambda v: math.sqrt(v * v + (v + 1) ** 2 + (v + 2) ** 2), 6),
]


def check(dtype, bits):
    n = 256
    x = (torch.rand(n, device="cuda") * 2 - 1).to(dtype)
    x = torch.where(x == 0, torch.full_like(x, 0.5), x)
    out = torch.zeros(16, n, dtype=dtype, device="cuda")
    inverse[(1,)](x, out, N=n)
    rows, values = out.tolist(), x.tolist()
    for r, (f, ulps) in enumerate(ROWS):
        # for some functions, Python and the kernel round the argument differently, each by up to one ulp of the argument
        for got, v in zip(rows[r], values):
            want = f(v)
            step = 2.0 ** (math.floor(math.log2(abs(want))) - bits) if want else 0
            slack = 4e-16 * (1 if r in (9, 10) else 0) if dtype is torch.float64 else 2e-7 * (1 if r in (9, 10) else 0)
            assert abs(got - want) <= ulps * step + slack, (r, v, got, want)
    for i, v in enumerate(values):
        assert rows[15][i] == math.floor(math.log2(abs(v)))
        assert abs(rows[13][i]) <= (v * v + 0.125) * 0.5000001
        if i > 8:
            assert rows[14][i] == v * 2.0 ** (i - 128)


check(torch.float32, 23)
check(torch.float64, 52)

N = 128
x = torch.randint(-(2**30), 2**30, (N,), dtype=torch.int32, device="cuda")
out = torch.zeros(9, N, dtype=torch.int32, device="cuda")
integers[(1,)](x, out, N=N)
rows = out.tolist()
for i, v in enumerate(x.tolist()):
    u = v % 2**32
    text = "".join("1" if u >> (31 - k) & 1 else "0" for k in range(32))
    assert rows[0][i] == text.count("1")
    assert rows[1][i] == (text + "1").find("1")
    assert rows[2][i] == (0 if u == 0 else (text[::-1]).find("1") + 1)
    assert rows[3][i] % 2**32 == sum(2**k for k in range(32) if text[k] == "1")
    assert rows[4][i] == (v * (v - 7)) >> 32
small = torch.arange(-64, 64, device="cuda").to(torch.int32)
integers[(1,)](small, out, N=N)
rows = out.tolist()
for i, v in enumerate(range(-64, 64)):
    assert rows[5][i] == round(v / 4)
    assert rows[6][i] == math.floor(v / 4)
    assert rows[7][i] == math.ceil(v / 4)
    assert rows[8][i] == int(v / 4)
print("ok")

# expect:
# ok
