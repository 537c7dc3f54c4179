# runs: interpreter emulator cuda triton (not triton-interpret: NumPy's functions give other results)
# bits: PTX does not define the sign of a negated NaN
# Tests exponentials and logarithms of float64 at their limits: overflow, subnormal results and operands, arguments near 1. Tests
# sine, cosine and error function of float64 for arguments near multiples of pi/2 and for very large ones, and sin(-0) = -0.
import torch
import triton
import triton.language as tl


@triton.jit
def functions(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.exp(v))
    tl.store(out + N + i, tl.exp2(v))
    tl.store(out + 2 * N + i, tl.log(v))
    tl.store(out + 3 * N + i, tl.log2(v))


@triton.jit
def waves(x, out, N: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(out + i, tl.sin(v))
    tl.store(out + N + i, tl.cos(v))
    tl.store(out + 2 * N + i, tl.erf(v))


@triton.jit
def one_cosine(x, out):
    tl.store(out, tl.cos(tl.load(x)))


@triton.jit
def inverse_sines(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, 1 / tl.sin(tl.load(x + i)))


INF = float("inf")
edges = [0.0, -0.0, INF, -INF, -1.0, 5e-324, 1e-310, 2.2e-308, 1.7e308, 1.0, 1.0000000000000002, 0.9999999999999999, 709.78, 709.79,
         -745.1, -745.2, -708.5, 760.0, -760.0, 1023.99, -1074.0, -1075.0, -1076.0, 1100.5, -1100.5, 1e300, -1e300]
N = 2048
random = torch.rand(N - len(edges), dtype=torch.float64, device="cuda")
half = (N - len(edges)) // 2
x = torch.cat([torch.tensor(edges, dtype=torch.float64, device="cuda"), random[:half] * 1400 - 700, random[half:] * 3])
out = torch.zeros(4, N, dtype=torch.float64, device="cuda")
functions[(1,)](x, out, N=N)
for row, want in enumerate([torch.exp(x), torch.exp2(x), torch.log(x), torch.log2(x)]):
    torch.testing.assert_close(out[row], want, rtol=4.5e-16, atol=5e-324, equal_nan=True)

PI_2 = 1.5707963267948966
edges = [0.0, -0.0, INF, -INF, 5e-324, 1e-310, 1e22, -1e22, 1.7e308, 1073741823.5, 1073741825.5, 0.5, 1.0, -1.0, 6.0, -6.0]
edges += [PI_2 * k for k in range(-8, 9)] + [(3.0 + k) * 2.0 ** (4 * k) for k in range(-60, 240)]
random = torch.rand(N - len(edges), dtype=torch.float64, device="cuda")
half = (N - len(edges)) // 2
x = torch.cat([torch.tensor(edges, dtype=torch.float64, device="cuda"), random[:half] * 14 - 7, random[half:] * 1e6])
out = torch.zeros(3, N, dtype=torch.float64, device="cuda")
waves[(N // 256,)](x, out, N=N, B=256)
for row, want in enumerate([torch.sin(x), torch.cos(x), torch.erf(x)]):
    torch.testing.assert_close(out[row], want, rtol=4.5e-16, atol=5e-324, equal_nan=True)
# This is the float64 number nearest to a multiple of pi/2: 61 bits cancel, and some C libraries lose some of them.
one_cosine[(1,)](torch.tensor([5.319372648326541e255], dtype=torch.float64, device="cuda"), out)
assert abs(out.tolist()[0][0] + 4.6871659242546276e-19) < 2e-34

zeros = torch.tensor([0.0, -0.0], device="cuda")
out = torch.zeros(2, device="cuda")
inverse_sines[(1,)](zeros, out, N=2)
assert out.tolist() == [INF, -INF]
print("ok")

# expect:
# ok
