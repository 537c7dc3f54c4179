# runs: interpreter emulator cuda triton (not triton-interpret: it has no libdevice)
# Compares the gamma function and its logarithm in f32 and f64 with results of 40 digits, within CUDA's bounds: 5 (f32) and 10 (f64) ulp
# for gamma, 6 and 4 ulp for the logarithm (f32 also 1e-6 near its zeros between negative integers). Also tests poles, infinities and NaN.
import math

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def gammas(X, L, T, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i, mask=i < n, other=1.0)
    tl.store(L + i, libdevice.lgamma(x), mask=i < n)
    tl.store(T + i, libdevice.tgamma(x), mask=i < n)


points = [0.1, 0.5, 0.99999, 1.00001, 1.25, 1.46, 1.75, 1.99999, 2.00001, 2.6, 3.0, 4.7, 7.3, 9.9, 12.9, 13.1, 25.6, 33.4,
          1e-10, 3e-20, -0.3, -0.75, -1.6, -2.2, -3.7, -7.4, -10.6, -20.3, -25.1, -30.9, 60.5, 99.9, 127.3, 150.2, 171.3,
          -60.5, -127.9, -150.3, -170.4]
logarithms = [2.252712651734206, 0.5723649429247001, 5.772238896093089e-06, -5.7720744027504825e-06, -0.09827183642181316,
              -0.12148500100400743, -0.08440112102048555, -4.227811104241674e-06, 4.22787559764836e-06, 0.35741186354897986,
              0.6931471805599453, 2.7364051463155667, 7.147892523022248, 12.57717990421988, 19.735015850713005,
              20.240212723401434, 56.71126159832812, 82.95292257808134, 23.025850929882736, 44.95308957121281,
              1.4648400508576025, 1.5757045971498584, 0.837499812222039, 0.7907186736757122, -1.3797399049658245,
              -8.146973300724033, -15.337365578679554, -41.887292480135244, -56.008586380400864, -75.42829059381859,
              186.57891783333784, 358.67423945197754, 488.161690058921, 601.0110639258921, 708.1149470389969,
              -189.53683131252524, -493.60083537338664, -605.1679288889455, -707.434114102398]
values = [9.51350769866873, 1.772453850905516, 1.0000057722555555, 0.9999942279422557, 0.906402477055477, 0.8856043364251438,
          0.9190625268488832, 0.999995772197833, 1.0000042278845351, 1.4296245588603045, 2.0, 15.431411600047436,
          1271.4236336639087, 289867.70384010964, 372227524.6644962, 616897056.9138055, 4.259787883649414e+24,
          1.061687082648919e+36, 9999999999.422785, 3.333333333333333e+19, -4.326851108825193, -4.834146544295877,
          2.310582858080925, -2.204980518419133, 0.2516439959024227, 0.00028961059860656133, -2.183065479436038e-07,
          -6.435466204989327e-19, 4.740018053477603e-25, -1.7454588545499905e-33, 1.0719991833202043e+81,
          5.891732151644516e+155, 1.013743935497854e+212, 1.0370235662989805e+261, 3.3916736099727207e+307,
          -4.8439543711382e-83, 4.2843104630801955e-215, -1.5097598047749159e-263, -5.824624534443871e-308]


def run(points, dtype):
    x = torch.tensor(points, dtype=dtype, device='cuda')
    l, t = torch.empty_like(x), torch.empty_like(x)
    gammas[(1,)](x, l, t, len(points), 64)
    return l.tolist(), t.tolist()


def ulps(found, wanted, mantissa):
    return abs(found - wanted) / 2.0 ** (math.floor(math.log2(abs(wanted))) - mantissa)


l, t = run(points, torch.float64)
for k in range(len(points)):
    assert ulps(l[k], logarithms[k], 52) <= 4, (points[k], l[k], logarithms[k])
    assert ulps(t[k], values[k], 52) <= 10, (points[k], t[k], values[k])
exact = [k for k in range(len(points)) if points[k] * 1024 == int(points[k] * 1024) and abs(values[k]) < 1e38 and abs(values[k]) > 1e-30]
l, t = run([points[k] for k in exact], torch.float32)
for i in range(len(exact)):
    k = exact[i]
    assert ulps(l[i], logarithms[k], 23) <= 6 or abs(l[i] - logarithms[k]) < 1e-6, (points[k], l[i], logarithms[k])
    assert ulps(t[i], values[k], 23) <= 5, (points[k], t[i], values[k])

inf, nan = float("inf"), float("nan")
for dtype in (torch.float32, torch.float64):
    l, t = run([0.0, -0.0, 1.0, 2.0, -1.0, -2.0, inf, -inf, nan, 1e30, 200.0, -200.5], dtype)
    assert l[:8] == [inf, inf, 0.0, 0.0, inf, inf, inf, inf] and l[8] != l[8], l
    assert t[:3] == [inf, -inf, 1.0] and t[6] == inf and t[9:] == [inf, inf, 0.0], t
    assert all([t[k] != t[k] for k in (4, 5, 7, 8)]), t
print("ok")

# expect:
# ok
