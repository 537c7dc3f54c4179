# SPDX-License-Identifier: MIT
# libdevice.py: the functions of triton.language.extra.libdevice that are written in Triton's language. A row of libdevice.h
# names each function. As in prelude.py, each section is a module, which is parsed when a kernel first needs it.

# -- libdevice: of f32 and f64 --
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def libdevice_copysign(x, y):
    if x.dtype == tl.float32:
        bits = (x.to(tl.int32, bitcast=True) & 0x7FFFFFFF) | (y.to(tl.int32, bitcast=True) & -0x80000000)
        return bits.to(tl.float32, bitcast=True)
    else:
        low = x.to(tl.int64, bitcast=True) & 0x7FFFFFFFFFFFFFFF
        sign = y.to(tl.int64, bitcast=True) & -0x8000000000000000
        return (low | sign).to(tl.float64, bitcast=True)


@triton.jit
def libdevice_trunc(x):
    return tl.where(x < 0, tl.ceil(x), tl.floor(x))


@triton.jit
def libdevice_round(x):
    a = tl.abs(x)
    low = tl.floor(a)
    return libdevice_copysign(tl.where(a - low >= 0.5, low + 1, low), x)


@triton.jit
def libdevice_llrint(x):
    return libdevice.rint(x).to(tl.int64)


@triton.jit
def libdevice_llround(x):
    return libdevice_round(x).to(tl.int64)


# Returns b^x, computed as 2^n 2^r with an integer n and n + r = x log_2(b). log2_b is log_2(b) rounded to f32, and `low` is the
# rounding error. To round to an integer, adds and subtracts 1.5 * 2^23: the mantissa of the sum has no bits for a fraction.
# Limits n to -126..126, so that 2^n is a normal number; for larger |x|, |r| grows instead of |n|, and the product overflows or
# becomes subnormal. The low mantissa bits of the f32 number n + 1.5 * 2^23 + 127 are n + 127, the biased exponent of 2^n.
@triton.jit
def power_f32(x, log2_b, low):
    big: tl.constexpr = 12582912.0 + 127
    limited = tl.minimum(tl.maximum(tl.fma(x, tl.full(x.shape, log2_b / 252, x.dtype), 0.5), 0.0), 1.0)
    sum = tl.fma(limited, 252.0, big - 126)
    r = tl.fma(x, tl.full(x.shape, log2_b, x.dtype), big - sum)
    r = tl.fma(x, tl.full(x.shape, low, x.dtype), r)
    return tl.exp2(r) * (sum.to(tl.int32, bitcast=True) << 23).to(tl.float32, bitcast=True)

# Returns b^x, computed as b^r 2^n with an integer n and x = n log_b(2) + r. high + low is log_b(2), and log2_b is its
# reciprocal, log_2(b). Multiplies b^r by 2^n in two steps, because 2^n may be out of range; only the second step may round.
@triton.jit
def power_f64(x, log2_b, high, low):
    big: tl.constexpr = 6755399441055744.0
    n = tl.minimum(tl.maximum(x * log2_b, -1100.0), 1100.0)
    n = (n + big) - big
    r = tl.fma(-n, tl.full(x.shape, high, x.dtype), x)
    r = tl.fma(-n, tl.full(x.shape, low, x.dtype), r)
    a = n.to(tl.int32) >> 1
    b = n.to(tl.int32) - a
    s = ((a + 1023).to(tl.int64) << 52).to(tl.float64, bitcast=True)
    t = ((b + 1023).to(tl.int64) << 52).to(tl.float64, bitcast=True)
    y = tl.exp2(r * log2_b) * s * t
    return tl.where(tl.abs(x) < 800.0, y, tl.exp2(x * log2_b))


@triton.jit
def libdevice_exp(x):
    if x.dtype == tl.float32:
        return power_f32(x, 1.4426950408889634, 1.925962991126617e-08)
    else:
        return tl.exp(x)


@triton.jit
def libdevice_exp10(x):
    if x.dtype == tl.float32:
        return power_f32(x, 3.321928094887362, 7.059537016037032e-08)
    else:
        return power_f64(x, 3.321928094887362, 0.3010299956639812, -2.8037281277851704e-18)


@triton.jit
def libdevice_fast_exp10f(x):
    return tl.exp2(x * 3.321928094887362)


@triton.jit
def libdevice_log10(x):
    return tl.log2(x) * 0.3010299956639812


# Returns exp(x) - 1. Near 0, uses the Taylor series, because the subtraction would cancel most significant bits.
@triton.jit
def libdevice_expm1(x):
    if x.dtype == tl.float32:
        p = tl.fma(x, tl.full(x.shape, 1.0 / 40320, x.dtype), 1.0 / 5040)
        p = tl.fma(x, p, 1.0 / 720)
        p = tl.fma(x, p, 1.0 / 120)
        p = tl.fma(x, p, 1.0 / 24)
        p = tl.fma(x, p, 1.0 / 6)
        p = tl.fma(x, p, 0.5)
        near = tl.fma(x * x, p, x)
    else:
        p = x * 0.0 + 1.0 / 18
        for i in tl.static_range(17, 1, -1):
            p = (1.0 + x * p) * (1.0 / i)
        near = x * (1.0 + x * p)
    return tl.where(tl.abs(x) < 0.5, near, tl.exp(x) - 1.0)


# Returns log(1 + x), computed as x log(u) / (u - 1). u is the rounded sum 1 + x; the quotient log(u) / (u - 1) changes so
# slowly that this rounding hardly affects it.
@triton.jit
def libdevice_log1p(x):
    u = 1.0 + x
    y = tl.log(u) * (x / (u - 1.0))
    return tl.where(u == 1.0, x, tl.where(u == float("inf"), x, y))


@triton.jit
def libdevice_tan(x):
    return tl.sin(x) / tl.cos(x)


@triton.jit
def libdevice_sinh(x):
    t = libdevice_expm1(tl.abs(x))
    y = tl.where(t == float("inf"), t, 0.5 * (t + t / (t + 1.0)))
    return libdevice_copysign(y, x)


@triton.jit
def libdevice_cosh(x):
    t = tl.exp(tl.abs(x))
    return 0.5 * t + 0.5 / t


# Returns tanh(x). In f32, uses a minimax polynomial for |x| < 0.6 (2 ulp), and otherwise 1 - 2 / (exp(2|x|) + 1).
# This subtraction loses less than one bit, because its result is more than 1/2.
@triton.jit
def libdevice_tanh(x):
    if x.dtype == tl.float32:
        a, z = tl.abs(x), x * x
        p = tl.fma(z, tl.full(x.shape, 0.01561263483017683, x.dtype), -0.05221180617809296)
        p = tl.fma(z, p, 0.13313116133213043)
        p = tl.fma(z, p, -0.33332598209381104)
        near = tl.fma(z * p, x, x)
        far = 1.0 - 2.0 * (1.0 / (1.0 + tl.exp2(a * 2.885390081777927)))
        return libdevice_copysign(tl.where(a < 0.6, near, far), x)
    else:
        t = libdevice_expm1(2.0 * tl.minimum(tl.abs(x), 20.0, propagate_nan=tl.PropagateNan.ALL))
        return libdevice_copysign(t / (t + 2.0), x)


@triton.jit
def libdevice_asinh(x):
    a = tl.abs(x)
    y = libdevice_log1p(a + a * (a / (1.0 + tl.sqrt(a * a + 1.0))))
    return libdevice_copysign(tl.where(a > 1e15, tl.log(a) + 0.6931471805599453, y), x)


@triton.jit
def libdevice_acosh(x):
    t = x - 1.0
    y = libdevice_log1p(t + tl.sqrt(t * (t + 2.0)))
    return tl.where(x > 1e15, tl.log(x) + 0.6931471805599453, y)


@triton.jit
def libdevice_atanh(x):
    a = tl.abs(x)
    return libdevice_copysign(0.5 * libdevice_log1p(2.0 * a / (1.0 - a)), x)


@triton.jit
def libdevice_isnan(x):
    return x != x


@triton.jit
def libdevice_isinf(x):
    return tl.abs(x) == float("inf")


@triton.jit
def libdevice_finitef(x):
    return tl.abs(x) < float("inf")


@triton.jit
def libdevice_signbit(x):
    if x.dtype == tl.float32:
        return (x.to(tl.int32, bitcast=True) < 0).to(tl.int32)
    else:
        return (x.to(tl.int64, bitcast=True) < 0).to(tl.int32)


@triton.jit
def libdevice_saturatef(x):
    return tl.minimum(tl.maximum(x, 0.0), 1.0)


@triton.jit
def libdevice_fdim(x, y):
    return tl.where(x <= y, 0.0, x - y)


@triton.jit
def libdevice_hypot(x, y):
    a, b = tl.abs(x), tl.abs(y)
    big, small = tl.maximum(a, b), tl.minimum(a, b)
    r = small / tl.where(big == 0.0, 1.0, big)
    return tl.where(big == float("inf"), big, big * tl.sqrt(1.0 + r * r))


# Returns x^y. If the base is negative, the result is negative for an odd integer exponent, and NaN for an exponent that is not
# an integer.
@triton.jit
def libdevice_pow(x, y):
    y = y.to(x.dtype)
    a = tl.abs(x)
    r = tl.exp2(y.to(tl.float64) * tl.log2(a.to(tl.float64))).to(x.dtype)
    is_whole = tl.floor(y) == y
    is_odd = is_whole & (tl.floor(y * 0.5) * 2.0 != y)
    r = tl.where((x < 0.0) & is_odd, -r, r)
    r = tl.where((x < 0.0) & (is_whole == 0) & (a < float("inf")), float("nan"), r)
    return tl.where((y == 0.0) | (x == 1.0), 1.0, r)


@triton.jit
def libdevice_fast_powf(x, y):
    return tl.exp2(y * tl.log2(x))


# -- libdevice: inverse functions of angles, roots, norms, exponents --
import triton
import triton.language as tl
from triton.language.extra import libdevice


# Returns atan(t) for 0 <= t <= 1. For t > tan(pi/8), computes pi/4 + atan((t - 1) / (t + 1)).
@triton.jit
def atan_of(t):
    far = t > 0.41421356237309503
    u = tl.where(far, tl.div_rn(t - 1.0, t + 1.0), t)
    z = u * u
    if t.dtype == tl.float32:
        c: tl.constexpr = (-0.0645105448, 0.107434678, -0.142639312, 0.199995398, -0.333333318)
    else:
        c: tl.constexpr = (0.01627999005782057, -0.03456535729190067, 0.045513908032899016, -0.052304098866177415,
                           0.05878922970309668, -0.06666424361404927, 0.07692296345833015, -0.0909090875249078, 0.11111111105135144,
                           -0.1428571428565962, 0.19999999999999804, -0.3333333333333333)
    p = z * c[0] + c[1]
    for i in tl.static_range(2, len(c)):
        p = p * z + c[i]
    rest = u * z * p
    return tl.where(far, 0.7853981633974483 + (u + rest), u + rest)


@triton.jit
def libdevice_atan2(y, x):
    a, b = tl.abs(y), tl.abs(x)
    most = tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
    t = tl.div_rn(tl.minimum(a, b), tl.where(most == 0.0, 1.0, most))
    r = atan_of(tl.where((a == b) & (most > 0.0), 1.0, t))
    r = tl.where(a > b, 1.5707963267948966 - r, r)
    return libdevice.copysign(tl.where(libdevice.signbit(x) != 0, 3.141592653589793 - r, r), y)


@triton.jit
def libdevice_atan(x):
    a = tl.abs(x)
    r = atan_of(tl.where(a > 1.0, tl.div_rn(tl.full(x.shape, 1.0, x.dtype), a), a))
    return libdevice.copysign(tl.where(a > 1.0, 1.5707963267948966 - r, r), x)


@triton.jit
def libdevice_asin(x):
    return libdevice.atan2(x, tl.sqrt_rn((1.0 - x) * (1.0 + x)))


@triton.jit
def libdevice_acos(x):
    return 2.0 * libdevice.atan2(tl.sqrt_rn(1.0 - x), tl.sqrt_rn(1.0 + x))


# Returns the cube root of x. Computes an approximation by logarithms, and improves it by one step of Newton's method. This step
# computes the cube of the approximation in twice the precision. If |x| < 1e-28, computes the root of 2^72 x, and divides it by
# 2^24, because rounding errors of tiny products may be too small to represent.
@triton.jit
def libdevice_cbrt(x):
    a = tl.abs(x)
    small = a < 1e-28
    b = tl.where(small, a * 4.722366482869645e21, a)
    t = tl.exp2(tl.log2(b) * 0.3333333333333333)
    s = t * t
    t = t - (tl.fma(s, t, -b) + tl.fma(t, t, -s) * t) / (3.0 * s)
    y = libdevice.copysign(tl.where(small, t * 5.960464477539063e-08, t), x)
    return tl.where((a > 0.0) & (a < float("inf")), y, x)


@triton.jit
def libdevice_rcbrt(x):
    return tl.div_rn(tl.full(x.shape, 1.0, x.dtype), libdevice_cbrt(x))


# Returns sin(pi x + more pi/2). Splits x into q / 2 + z / pi with an integer q and |z| <= pi/4.
@triton.jit
def of_half_turns(x, more):
    q = libdevice.rint(x * 2.0)
    z = (x - q * 0.5) * 3.141592653589793
    k = (q - 4.0 * tl.floor(q * 0.25)).to(tl.int32) + more
    y = tl.where((k & 1) == 0, tl.sin(z), tl.cos(z))
    return tl.where((k & 2) == 0, y, -y)


@triton.jit
def libdevice_sinpi(x):
    return tl.where(libdevice.rint(x) == x, x * 0.0, of_half_turns(x, 0))


@triton.jit
def libdevice_cospi(x):
    return of_half_turns(x, 1)


@triton.jit
def libdevice_rhypot(x, y):
    return tl.div_rn(tl.full(x.shape, 1.0, x.dtype), libdevice.hypot(x, y))


@triton.jit
def libdevice_norm4d(x, y, z, w):
    most = tl.maximum(tl.maximum(tl.abs(x), tl.abs(y)), tl.maximum(tl.abs(z), tl.abs(w)))
    by = tl.where((most > 0.0) & (most < float("inf")), most, 1.0)
    x, y, z, w = tl.div_rn(x, by), tl.div_rn(y, by), tl.div_rn(z, by), tl.div_rn(w, by)
    return tl.where(most == float("inf"), most, by * tl.sqrt_rn(x * x + y * y + z * z + w * w))


@triton.jit
def libdevice_norm3d(x, y, z):
    return libdevice_norm4d(x, y, z, x * 0.0)


@triton.jit
def libdevice_rnorm4d(x, y, z, w):
    return tl.div_rn(tl.full(x.shape, 1.0, x.dtype), libdevice_norm4d(x, y, z, w))


@triton.jit
def libdevice_rnorm3d(x, y, z):
    return libdevice_rnorm4d(x, y, z, x * 0.0)


# Returns x - n y for the integer n nearest to x / y; if two integers are equally near, n is even. Computes the
# remainder of |x| for the divisor 2 |y|, and then subtracts |y| at most twice.
@triton.jit
def libdevice_remainder(x, y):
    b = tl.abs(y)
    r = tl.abs(x)
    r = tl.where(b < float("inf"), libdevice.fmod(r, tl.where(b + b < float("inf"), b + b, b)), r)
    r = tl.where(r - b > -r, r - b, r)
    r = tl.where((r > 0.0) & (r - b >= -r), r - b, r)
    bad = (tl.abs(x) == float("inf")) | (x != x) | (y != y) | (b == 0.0)
    return tl.where(bad, float("nan"), libdevice.copysign(tl.abs(r), tl.where(r < 0.0, -x, x)))


# Returns the bits of a float as a signed integer.
@triton.jit
def as_int(x):
    return x.to(tl.core.get_int_dtype(x.dtype.primitive_bitwidth, True), bitcast=True)


@triton.jit
def libdevice_nextafter(x, y):
    bits = as_int(x)
    step = tl.where((x < y) == (x > 0.0), 1, -1)
    next_ = tl.where(x == 0.0, as_int(libdevice.copysign(x * 0.0, y)) | 1, bits + step).to(x.dtype, bitcast=True)
    return tl.where(x == y, y, tl.where((x != x) | (y != y), x + y, next_))


# Returns 2^n. 2^n must be a normal number of type dtype.
@triton.jit
def power_of_2(n, dtype):
    if dtype == tl.float32:
        return ((n + 127) << 23).to(tl.float32, bitcast=True)
    else:
        return ((n.to(tl.int64) + 1023) << 52).to(tl.float64, bitcast=True)


# Returns x 2^n. Multiplies by three powers of two, because 2^n may be out of range. Only the last product may round.
@triton.jit
def libdevice_ldexp(x, n):
    most: tl.constexpr = 120 if x.dtype == tl.float32 else 1000
    n = tl.minimum(tl.maximum(n, -3 * most), 3 * most)
    a = tl.where((n > -most) & (n < most), n * 0, n // 3)
    p = power_of_2(a, x.dtype)
    return x * p * p * power_of_2(n - a - a, x.dtype)


@triton.jit
def libdevice_ilogb(x):
    bits: tl.constexpr = 23 if x.dtype == tl.float32 else 52
    bias: tl.constexpr = 127 if x.dtype == tl.float32 else 1023
    a = tl.abs(x)
    small = a < (1.1754943508222875e-38 if x.dtype == tl.float32 else 2.2250738585072014e-308)
    e = (as_int(tl.where(small, a * (1 << bits), a)) >> bits).to(tl.int32) - bias
    e = tl.where(small, e - bits, e)
    return tl.where(a == 0.0, -2147483648, tl.where(a < float("inf"), e, tl.where(a == a, 2147483647, -2147483648)))


@triton.jit
def libdevice_logb(x):
    a = tl.abs(x)
    e = libdevice_ilogb(x).to(x.dtype)
    return tl.where(a == 0.0, -float("inf"), tl.where(a < float("inf"), e, a))


@triton.jit
def libdevice_rsqrt_rn(x):
    return (1.0 / tl.sqrt(x.to(tl.float64))).to(tl.float32)


# libdevice_mul_rn, libdevice_add_rn and libdevice_sub_rn compute a product, a sum and a difference by an fma, because no pass
# can contract an fma with another op.
@triton.jit
def libdevice_mul_rn(x, y):
    return tl.fma(x, y, tl.full(x.shape, -0.0, x.dtype))


@triton.jit
def libdevice_add_rn(x, y):
    return tl.fma(x, tl.full(x.shape, 1.0, x.dtype), y)


@triton.jit
def libdevice_sub_rn(x, y):
    return libdevice_add_rn(x, -y)


@triton.jit
def libdevice_double2hiint(x):
    return (as_int(x) >> 32).to(tl.int32)


@triton.jit
def libdevice_double2loint(x):
    return as_int(x).to(tl.int32)


# -- libdevice: gamma functions --
import triton
import triton.language as tl
from triton.language.extra import libdevice


# Returns the polynomial c[0] + c[1] t + c[2] t^2 + ....
@triton.jit
def polynomial(c: tl.constexpr, t):
    r = t * 0.0 + c[len(c) - 1]
    for i in tl.static_range(len(c) - 2, -1, -1):
        r = r * t + c[i]
    return r


# Returns log(gamma(x)) / ((x - 1) (x - 2)) for 1 <= x <= 3. Uses one polynomial for x < 2, and another for x >= 2.
@triton.jit
def lgamma_factor(x):
    low: tl.constexpr = (0.4831289505409809, -0.14595989591430608, 0.06291140107456439, -0.031308487501010646,
                         0.01679709863127416, -0.009425622448525798, 0.005446457839126065, -0.0032120740737152814,
                         0.0019229163127905161, -0.0011644145847310124, 0.000711519067515296, -0.00043799307479613914,
                         0.00027131373861446925, -0.0001689178215524898, 0.00010535512483785591, -6.614136022346414e-05,
                         4.30276814976503e-05, -2.7201673025504752e-05, 1.3186019073996835e-05, -8.355075869795273e-06,
                         1.2140008083973407e-05, -7.760660152513446e-06)
    high: tl.constexpr = (0.37957716063055885, -0.07466357415449941, 0.019905154304743208, -0.006018768527036914,
                          0.0019490574889463365, -0.0006586397065650056, 0.00022905363747507287, -8.130229408034726e-05,
                          2.929928312004998e-05, -1.0682259123883373e-05, 3.9305860909127655e-06, -1.4575541733757617e-06,
                          5.436082854534496e-07, -2.015090104183497e-07, 7.585695078040205e-08, -3.385821013938236e-08,
                          1.2848137769988069e-08)
    return tl.where(x < 2.0, polynomial(low, x - 1.5), polynomial(high, x - 2.5))


# Returns log(|gamma(x)|). For 0 < x < 13, applies the recurrence x gamma(x) = gamma(x + 1) until the argument is in the range
# of lgamma_factor. For larger x, uses Stirling's series. For x < 0, uses the reflection formula gamma(x) gamma(-x) = -pi / (x
# sin(pi x)).
@triton.jit
def lgamma_f64(x):
    a = tl.abs(x)
    y, p = tl.where(a < 1.0, a + 1.0, a), a * 0.0 + 1.0
    for _ in tl.static_range(10):
        far = (y >= 3.0) & (a < 13.0)
        y = tl.where(far, y - 1.0, y)
        p = tl.where(far, p * y, p)
    near = tl.where(a < 1.0, a, y - 1.0) * tl.where(a < 1.0, a - 1.0, y - 2.0) * lgamma_factor(y)
    l = tl.log(tl.where((a >= 1.0) & (a < 13.0), p, a))
    series: tl.constexpr = (0.08333333333333333, -0.002777777777777778, 0.0007936507936507937, -0.0005952380952380953,
                            0.0008417508417508417, -0.0019175269175269176, 0.00641025641025641, -0.029550653594771242)
    v = tl.div_rn(tl.full(a.shape, 1.0, tl.float64), a)
    far = (a - 0.5) * (l - 1.0) + (polynomial(series, v * v) * v + 0.4189385332046728)
    r = tl.where(a < 1.0, near - l, tl.where(a < 13.0, near + l, far))
    s = tl.abs(libdevice.sinpi(a))
    reflected = tl.where((s == 0.0) | (a == float("inf")), float("inf"), tl.log(3.141592653589793 / (a * s)) - r)
    return tl.where((x < 0.0) & (a > 1e-17), reflected, r)


# Returns gamma(x) by Lanczos' approximation: gamma(z) = (v / e)^(z - 1/2) n(z) / d(z) with v = z + 5.52468.... To compute
# integer powers of v / e accurately, represents each number by a pair, whose second number is the rounding error of the first.
# For x < 0, returns -pi / (x sin(pi x) gamma(-x)).
@triton.jit
def tgamma_f64(x):
    n: tl.constexpr = (56906521.913471565, 103794043.11634454, 86363131.2881386, 43338889.32467614, 14605578.087685067,
                       3481712.154980646, 601859.6171681099, 75999.29304014542, 6955.999602515376, 449.9445569063168,
                       19.519927882476175, 0.5098416655656676, 0.006061842346248907)
    d: tl.constexpr = (0.0, 39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0, 2637558.0, 357423.0,
                       32670.0, 1925.0, 66.0, 1.0)
    a = tl.abs(x)
    z = tl.where(a < 1.0, a + 1.0, a)
    z = tl.where(z > 190.0, 190.0, z)
    v = z + 5.524680040776729583740234375
    whole = tl.floor(z - 0.5)
    bits = whole.to(tl.int32)
    inverse = v * 0.0 + 0.36787944117144233
    b = v * inverse
    back = v - z
    lost = (z - (v - back)) + (5.524680040776729583740234375 - back)
    c = tl.fma(v, inverse, -b) + (lost * inverse - v * 1.2428753672788363e-17)
    rest = tl.exp((z - 0.5 - whole) * tl.log(b)) * tl.div_rn(polynomial(n, z), polynomial(d, z))
    r, low = z * 0.0 + 1.0, z * 0.0
    for i in tl.static_range(7):
        product = r * b
        lost = tl.fma(r, b, -product) + (r * c + low * b)
        is_set = ((bits >> i) & 1) != 0
        r, low = tl.where(is_set, product, r), tl.where(is_set, lost, low)
        product = b * b
        c = tl.fma(b, b, -product) + 2.0 * (b * c)
        b = product
    r = (r + low) * rest
    last = tl.where(bits >= 128, b + c, 1.0)
    reflected = 3.141592653589793 / (libdevice.sinpi(x) * tl.where(a < 1.0, 1.0, a)) / r / last
    reflected = tl.where(tl.floor(x) == x, float("nan"), reflected)
    r = r * last
    return tl.where(x < 0.0, reflected, tl.where(x < 1.0, tl.div_rn(r, x), r))


@triton.jit
def libdevice_lgamma(x):
    return lgamma_f64(x.to(tl.float64)).to(x.dtype)


@triton.jit
def libdevice_tgamma(x):
    return tgamma_f64(x.to(tl.float64)).to(x.dtype)


# -- libdevice: Bessel functions --
import triton
import triton.language as tl
from triton.language.extra import libdevice


# Returns the polynomial c[0] + c[1] t + c[2] t^2 + ....
@triton.jit
def polynomial(c: tl.constexpr, t):
    r = t * 0.0 + c[len(c) - 1]
    for i in tl.static_range(len(c) - 2, -1, -1):
        r = r * t + c[i]
    return r


# Returns log(x / (z + low)), accurately also for x near z. z + low is a more accurate value than the rounded z, and log_z is
# its logarithm.
@triton.jit
def log_ratio(x, z: tl.constexpr, low: tl.constexpr, log_z: tl.constexpr):
    near = libdevice.log1p((x - z - low) * (1.0 / z))
    return tl.where((x > 0.5 * z) & (x < 2.0 * z), near, tl.log(x) - log_z)


# For x >= 8, returns the Bessel function J0(x) = sqrt(2 / (pi x)) (P cos(t) - Q sin(t)) with t = x - pi/4; if is_y, returns
# Y0(x) = sqrt(2 / (pi x)) (P sin(t) + Q cos(t)). P and x * Q are polynomials in s = 128 / x^2 - 1, whose coefficients are p and
# q.
@triton.jit
def far_0(x, is_y: tl.constexpr):
    p: tl.constexpr = (0.9994572757882519, -0.0005363673192130031, 6.137416080162966e-06, -2.0527448162213505e-07,
                       1.2803760585321308e-08, -1.2121175693853139e-09, 1.55010787734737e-10, -2.488573779233352e-11,
                       4.772331023925661e-12, -1.056269548216839e-12, 2.668257878241629e-13, -7.387418663158929e-14,
                       1.775248983600068e-14, -5.330584781994501e-15, 4.469105427097274e-15, -1.7248444298109113e-15)
    q: tl.constexpr = (-0.12444091103610815, 0.0005466519279475117, -1.1817110661199724e-05, 5.684971887324096e-07,
                       -4.5349728393922074e-08, 5.146225589983031e-09, -7.57632926931228e-10, 1.3626359564350156e-10,
                       -2.8707565261924586e-11, 6.8818527860469436e-12, -1.8731177440368512e-12, 5.520265629286774e-13,
                       -1.3175768260882e-13, 4.085343187221175e-14, -4.046427325528616e-14, 1.6262268161564722e-14)
    v = tl.div_rn(tl.full(x.shape, 8.0, tl.float64), x)
    s = 2.0 * (v * v) - 1.0
    a, b = polynomial(p, s), polynomial(q, s) * v * 0.125
    sine, cosine = tl.sin(x), tl.cos(x)
    c, d = cosine + sine, sine - cosine
    r = a * d + b * c if is_y else a * c - b * d
    return tl.where(x == float("inf"), 0.0, r * tl.sqrt(0.3183098861837907 / x))


# For x >= 8, returns J1(x) or, if is_y, Y1(x), by the formulas of far_0 with t = x - 3 pi/4.
@triton.jit
def far_1(x, is_y: tl.constexpr):
    p: tl.constexpr = (1.0009070262780821, 0.0008988049416705562, -7.959694698494747e-06, 2.4536766228894186e-07,
                       -1.4708512088166258e-08, 1.3603051333068624e-09, -1.713161670692846e-10, 2.7207265565791943e-11,
                       -5.17567672866935e-12, 1.1384103301309482e-12, -2.8606315288389805e-13, 7.88696401478986e-14,
                       -1.8942692840813685e-14, 5.674955772868603e-15, -4.717929599255695e-15, 1.816970270156969e-15)
    q: tl.constexpr = (0.3742149922195918, -0.000769716705764355, 1.4569614809850102e-05, -6.633568566909137e-07,
                       5.13610599919363e-08, -5.720884565213347e-09, 8.316076063720346e-10, -1.4819598857139465e-10,
                       3.1004018897469467e-11, -7.391554863542348e-12, 2.002181665753772e-12, -5.878276216147632e-13,
                       1.4036280002516976e-13, -4.3440005265046966e-14, 4.264133561194503e-14, -1.710333904540854e-14)
    v = tl.div_rn(tl.full(x.shape, 8.0, tl.float64), x)
    s = 2.0 * (v * v) - 1.0
    a, b = polynomial(p, s), polynomial(q, s) * v * 0.125
    sine, cosine = tl.sin(x), tl.cos(x)
    c, d = sine - cosine, -(sine + cosine)
    r = a * d + b * c if is_y else a * c - b * d
    return tl.where(x == float("inf"), 0.0, r * tl.sqrt(0.3183098861837907 / x))


# Returns J0(a) for a >= 0. For a < 8, multiplies a polynomial by factors that vanish at the zeros of J0, so that the result is
# accurate near the zeros.
@triton.jit
def j0_of(a):
    low: tl.constexpr = (-0.08866241912277732, 0.06466008281491797, -0.017030107053326454, 0.002349675176132567,
                         -0.0002006035650992283, 1.1671878503732283e-05, -4.931799011179357e-07, 1.5832284373015552e-08,
                         -3.994330069576242e-10, 8.130831776399455e-12, -1.363861634618815e-13, 1.918011301525859e-15,
                         -2.2942432345182068e-17, 2.3628887065339782e-19, -2.117485507849018e-21, 1.6665091489860216e-23,
                         -1.1606396207701192e-25)
    high: tl.constexpr = (0.3138953660581486, -0.15507318473338455, -0.17372013973805456, 0.06771996395984499,
                          0.027051463074431275, -0.009292558649458089, -0.0020774283350248777, 0.0006459306455346685,
                          9.646926483536154e-05, -2.7493778690556903e-05, -3.01794964061443e-06, 7.948297037347437e-07,
                          6.808287314872263e-08, -1.667195781822126e-08, -1.1611246977970829e-09, 2.6570408592553236e-10,
                          1.5502524799997575e-11, -3.329304707568688e-12, -1.664642866708336e-13, 3.3676548337915894e-14,
                          1.4678583613810415e-15, -2.806798398580117e-16, -1.0440359174311565e-17, 1.8958190667581464e-18)
    x = tl.where(a < 8.0, a, 1.0)
    near = tl.where(x < 4.0, (x - 2.404825557695773 - -1.176691651530894e-16) * (x + 2.404825557695773) * polynomial(low, x * x * 0.125 - 1.0),
                    (x - 5.520078110286311 - 8.088597146146722e-17) * polynomial(high, x * 0.5 - 3.0))
    return tl.where(a < 8.0, near, far_0(tl.where(a < 8.0, 8.0, a), False))


# Returns J1(a) for a >= 0. Uses the same method as j0_of.
@triton.jit
def j1_of(a):
    low: tl.constexpr = (0.32852615235309574, -0.14916645910265286, 0.02083593083972483, -0.0014132148107335741,
                         5.6708896688988686e-05, -1.5051931447084462e-06, 2.8398960099365814e-08, -4.005757111878737e-10,
                         4.384861587346588e-12, -3.833694338051335e-14, 2.7390876749785176e-16, -1.6293407116340657e-18,
                         8.195530261455384e-21, -3.5311306025099356e-23)
    middle: tl.constexpr = (-0.3924282287671335, 0.10507726498417638, 0.11345552539604109, -0.02237361859924139,
                            -0.010464477723112393, 0.0016658292850650807, 0.0004805778665965468, -6.445267346020889e-05,
                            -1.3269156451136378e-05, 1.5398737531678394e-06, 2.449356872872113e-07, -2.506533363528874e-08,
                            -3.237638765248834e-09, 2.9637872692994484e-10, 3.216382685482447e-11, -2.6637217727330692e-12,
                            -2.4893620539932903e-13, 1.8823284151316782e-14, 1.5429958899874267e-15, -1.0734457787385919e-16,
                            -7.65741566868452e-18, 4.940399487881803e-19)
    high: tl.constexpr = (0.3024353041176374, 0.00507763832875704, -0.07586461754071118, 0.001605726743950927,
                          0.005427922747649492, -0.00015522933049429914, -0.00018424797638705263, 5.433797630028783e-06,
                          3.6726417149251697e-06, -1.0471253250804477e-07, -4.8318082587209173e-08, 1.3036855217161034e-09,
                          4.517546248861079e-10, -1.145149369892225e-11, -3.159118066094729e-12, 7.511026093685105e-14,
                          1.7153303667464423e-14, -3.8281656642306144e-16, -7.315862604627634e-17, 1.5368796873562685e-18)
    x = tl.where(a < 8.0, a, 1.0)
    near = tl.where(x < 5.5, (x - 3.8317059702075125 - -1.5269184090088067e-16) * polynomial(middle, (x - 4.0) * 0.6666666666666666),
                    (x - 7.015586669815619 - -9.414165653410389e-17) * polynomial(high, (x - 6.75) * 0.8))
    near = tl.where(x < 2.5, x * polynomial(low, x * x * 0.32 - 1.0), near)
    return tl.where(a < 8.0, near, far_1(tl.where(a < 8.0, 8.0, a), False))


# Returns Y0(x) for x^2 from `low` to `high`. Z = z + rest is the only zero of Y0 in this range, j is J0(x), and log_z is
# log(Z). The result is 2/pi log(x / Z) J0(x) + (x^2 - Z^2) P, where P is a polynomial in x^2, scaled to -1..1, with the
# coefficients c.
@triton.jit
def y0_near(x, j, c: tl.constexpr, low: tl.constexpr, high: tl.constexpr, z: tl.constexpr, rest: tl.constexpr, log_z: tl.constexpr):
    t = (x * x - low) * (2.0 / (high - low)) - 1.0
    return 0.6366197723675814 * log_ratio(x, z, rest, log_z) * j + (x - z - rest) * (x + z) * polynomial(c, t)


# Returns Y0(a); NaN for a < 0.
@triton.jit
def y0_of(a):
    c0: tl.constexpr = (0.1447756721336901, -0.03434817226725003, 0.0028909204659974177, -0.00012608994301624424,
                        3.378238709550133e-06, -6.135879464172513e-08, 8.061000726170091e-10, -8.020744094050978e-12,
                        6.256179810581196e-14, -3.9291352561664356e-16, 2.029923120119756e-18, -8.779561410860611e-21,
                        3.2257379097643093e-23, -1.0193635448516302e-25, 2.8002057885846648e-28, -6.748658210538368e-31,
                        1.4385556496362383e-33, -2.7315155969472698e-36)
    c1: tl.constexpr = (-0.040343305622182704, 0.01654045267974313, 0.0023225642793371715, -0.002106159005527412,
                        0.00046409811509994604, -5.689257714581407e-05, 4.633272080136761e-06, -2.728847467807651e-07,
                        1.224615109224946e-08, -4.341978047079356e-10, 1.249599980519346e-11, -2.981270921659145e-13,
                        5.99731620153129e-15, -1.0316496616823316e-16, 1.5355300760656364e-18, -1.997659676304544e-20,
                        2.2924516437474936e-22, -2.336240136852419e-24)
    c2: tl.constexpr = (0.019735159455870212, -0.0018910092640708495, -0.003521277554510301, 0.0009993814792056553,
                        -6.15680187785446e-05, -1.3767330513261566e-05, 3.4153562182079137e-06, -3.875787100884229e-07,
                        2.9044523240511726e-08, -1.604966209037564e-09, 6.916438605843785e-11, -2.4079235124553073e-12,
                        6.943645464839085e-14, -1.6901856691501207e-15, 3.5253419933026e-17, -6.378610146925718e-19,
                        1.0123382898500715e-20, -1.4192738608716182e-22)
    x = tl.where(a < 8.0, a, 1.0)
    j = j0_of(x)
    near = tl.where(x < 2.2, y0_near(x, j, c0, 0.0, 4.840000000000001, 0.8935769662791675, 2.6596231539720385e-17, -0.11252280788079412),
                    tl.where(x < 5.5, y0_near(x, j, c1, 4.840000000000001, 30.25, 3.957678419314858, -1.0764340697562706e-16, 1.375657595601347),
                             y0_near(x, j, c2, 30.25, 64.0, 7.086051060301773, -8.835285723085408e-17, 1.9581282122177381)))
    near = tl.where(a == 0.0, float("-inf"), near)
    return tl.where(a < 0.0, float("nan"), tl.where(a < 8.0, near, far_0(tl.where(a < 8.0, 8.0, a), True)))


# Returns Y1(x) for x^2 from `low` to `high` by the method of y0_near, with j = J1(x), except that it divides the term with the
# polynomial by x.
@triton.jit
def y1_near(x, j, c: tl.constexpr, low: tl.constexpr, high: tl.constexpr, z: tl.constexpr, rest: tl.constexpr, log_z: tl.constexpr):
    t = (x * x - low) * (2.0 / (high - low)) - 1.0
    return 0.6366197723675814 * log_ratio(x, z, rest, log_z) * j + tl.div_rn((x - z - rest) * (x + z) * polynomial(c, t), x)


# Returns Y1(a); NaN for a < 0.
@triton.jit
def y1_of(a):
    c0: tl.constexpr = (0.1860079516954709, 0.005076131380824236, -0.037904399344574534, 0.009868318215178959,
                        -0.0011923269350395818, 8.682780902718735e-05, -4.284620267998135e-06, 1.5360716087253113e-07,
                        -4.194121958546749e-09, 9.027120442671818e-11, -1.572508772461684e-12, 2.2639469175524953e-14,
                        -2.7401782526670506e-16, 2.828099182061622e-18, -2.5189920979068834e-20, 1.9563443393627123e-22,
                        -1.3366800043407086e-24, 8.09785386177371e-27, -4.3804645960018806e-29, 2.1283780031590777e-31)
    c1: tl.constexpr = (-0.1384629046466528, 0.05781293223892695, 0.05975545759910955, -0.03251755940671544,
                        0.001791439857800083, 0.0022198770134985043, -0.000770065515349995, 0.00013683882439795414,
                        -1.6261141992688036e-05, 1.4240800245292823e-06, -9.691892798633511e-08, 5.3069751735927275e-09,
                        -2.3973210907091363e-10, 9.10720620131791e-12, -2.954495896345271e-13, 8.288882685233206e-15,
                        -2.0324657765424651e-16, 4.395403383004208e-18, -8.460734949936275e-20, 1.4553659525398268e-21)
    x = tl.where(a < 8.0, a, 1.0)
    j = j1_of(x)
    near = tl.where(x < 3.8, y1_near(x, j, c0, 0.0, 14.44, 2.197141326031017, -4.8259835876454966e-17, 0.7871571181569951),
                    y1_near(x, j, c1, 14.44, 64.0, 5.429681040794135, 4.162514026670377e-16, 1.6918803920353296))
    near = tl.where(a == 0.0, float("-inf"), near)
    return tl.where(a < 0.0, float("nan"), tl.where(a < 8.0, near, far_1(tl.where(a < 8.0, 8.0, a), True)))


# Returns a modified Bessel function at a >= 0: I0(a) or I1(a), but for a < 8, I1(a) / a instead of I1(a). For a < 8, computes
# the power series in (a/2)^2 with the coefficients `low`; otherwise, multiplies exp(a) / sqrt(a) by a polynomial in 1 / a with
# the coefficients `high`. Multiplies twice by exp(a/2) instead of once by exp(a), because exp(a) may overflow although the
# result does not.
@triton.jit
def modified(a, low: tl.constexpr, high: tl.constexpr):
    half = a * 0.5
    e = tl.exp(half)
    x = tl.where(a < 8.0, 8.0, a)
    far = tl.div_rn(polynomial(high, tl.div_rn(x * 0.0 + 16.0, x) - 1.0), tl.sqrt(x)) * e * e
    far = tl.where(a == float("inf"), a, far)
    return tl.where(a < 8.0, polynomial(low, half * half), far)


@triton.jit
def libdevice_cyl_bessel_i0(x):
    low: tl.constexpr = (1.0, 1.0, 0.25, 0.027777777777777776, 0.001736111111111111, 6.944444444444444e-05,
                         1.9290123456790124e-06, 3.936759889140842e-08, 6.151187326782565e-10, 7.594058428126624e-12,
                         7.594058428126623e-14, 6.276081345559193e-16, 4.358389823304995e-18, 2.5789288895295828e-20,
                         1.3157800456783586e-22, 5.8479113141260385e-25, 2.2843403570804838e-27, 7.904291893012054e-30,
                         2.4395962632753253e-32, 6.757884385804225e-35, 1.6894710964510564e-37, 3.8310002187098785e-40,
                         7.915289708078262e-43, 1.4962740468957016e-45, 2.5976979980828152e-48, 4.156316796932504e-51)
    high: tl.constexpr = (0.4021765094450081, 0.0033605519836678944, 0.00013621607439186705, 1.1143033787545386e-05,
                          1.4838475687894938e-06, 2.9735996224521226e-07, 8.872214307451732e-08, 3.932437699533459e-08,
                          2.15488936175863e-08, 7.566352487698237e-09, -6.750552282740284e-09, -1.346629294837396e-08,
                          -5.394456734259438e-09, 7.737147033780934e-09, 7.406235049001522e-09, -3.905230623712341e-09,
                          -5.91556056510856e-09, 2.1053080134403423e-09, 3.5985362919394714e-09, -1.1448789558755036e-09,
                          -1.5930354799216344e-09, 5.122212147228388e-10, 4.4789181847911815e-10, -1.5066113686101474e-10,
                          -5.905024573995148e-11, 2.0820835852793106e-11)
    return modified(tl.abs(x.to(tl.float64)), low, high).to(x.dtype)


@triton.jit
def libdevice_cyl_bessel_i1(x):
    low: tl.constexpr = (0.5, 0.25, 0.041666666666666664, 0.003472222222222222, 0.00017361111111111112, 5.787037037037037e-06,
                         1.3778659611992944e-07, 2.460474930713026e-09, 3.417326292656981e-11, 3.7970292140633116e-13,
                         3.451844740057556e-15, 2.615033893982997e-17, 1.676303778194229e-19, 9.21046031974851e-22,
                         4.385933485594529e-24, 1.827472285664387e-26, 6.718648109060246e-29, 2.195636636947793e-31,
                         6.419990166514014e-34, 1.6894710964510563e-36, 4.022550229645372e-39, 8.706818678886087e-42,
                         1.7207151539300568e-44, 3.1172375976993783e-47, 5.195395996165631e-50, 7.992916917177893e-53)
    high: tl.constexpr = (0.38939845902587233, -0.009749577193235768, -0.00021923576383382282, -1.5038547197358572e-05,
                          -1.8349101357991557e-06, -3.4838567401229716e-07, -1.0001282610189342e-07, -4.312778920167609e-08,
                          -2.337446787242448e-08, -8.43880090582137e-09, 6.737493433374833e-09, 1.408852075202545e-08,
                          5.963645798166707e-09, -7.816968266767898e-09, -7.863004697555056e-09, 3.803814960536081e-09,
                          6.202984113000443e-09, -1.992076551203188e-09, -3.75344338735913e-09, 1.0715528639398075e-09,
                          1.657764699456319e-09, -4.798751536934023e-10, -4.6561597954216946e-10, 1.417650842869536e-10,
                          6.135932778393812e-11, -1.9677083272584384e-11)
    a = tl.abs(x.to(tl.float64))
    r = modified(a, low, high) * tl.where(a < 8.0, a, 1.0)
    return libdevice.copysign(r.to(x.dtype), x)


@triton.jit
def libdevice_j0(x):
    return j0_of(tl.abs(x.to(tl.float64))).to(x.dtype)


@triton.jit
def libdevice_j1(x):
    r = j1_of(tl.abs(x.to(tl.float64))).to(x.dtype)
    return tl.where(x < 0.0, -r, r)


@triton.jit
def libdevice_y0(x):
    return y0_of(x.to(tl.float64)).to(x.dtype)


@triton.jit
def libdevice_y1(x):
    return y1_of(x.to(tl.float64)).to(x.dtype)


# Returns the Bessel function Jn(x) for x >= 0, from j0 = J0(x) and j1 = J1(x). For n <= x, applies the recurrence J(k+1) = 2k/x
# J(k) - J(k-1) upward from orders 0 and 1, which is stable there. For n > x, applies it downward from a high order, and scales
# the result so that J0 + 2 J2 + 2 J4 + ... = 1.
@triton.jit
def jn_scalar(n, x, j0, j1):
    if n < 2 or x == 0.0:
        r = j0
        if n == 1:
            r = j1
        if n > 1:
            r = x
    elif x < 1e-90:
        r = x * 0.0
    elif n.to(tl.float64) <= x:
        before, r = j0, j1
        for k in range(1, n):
            before, r = r, 2.0 * k.to(tl.float64) / x * r - before
    else:
        start = 2 * ((n + 20 + tl.sqrt(160.0 * n.to(tl.float64)).to(tl.int32)) // 2)
        after, now, total, found = x * 0.0, x * 0.0 + 1e-290, x * 0.0, x * 0.0
        for k in range(start, 0, -1):
            after, now = now, 2.0 * k.to(tl.float64) / x * now - after
            if tl.abs(now) > 1e200:
                now, after, total, found = now * 1e-250, after * 1e-250, total * 1e-250, found * 1e-250
            if k == n + 1:
                found = now
            if k % 2 == 1:
                total += now
        r = found / (2.0 * total - now)
    return r


# Returns Yn(x) by the recurrence of jn_scalar, upward from y0 = Y0(x) and y1 = Y1(x), which is always stable. Stops at -inf to
# avoid NaN.
@triton.jit
def yn_scalar(n, x, y0, y1):
    before, r = y0, y1
    if n == 0:
        r = y0
    for k in range(1, n):
        if r > float("-inf"):
            before, r = r, 2.0 * k.to(tl.float64) / x * r - before
    return r


@triton.jit
def libdevice_jn(n, x):
    a = tl.abs(x.to(tl.float64))
    r = tl.map_elementwise(jn_scalar, n, a, j0_of(a), j1_of(a)).to(x.dtype)
    r = tl.where(((n & 1) == 1) & (x < 0.0), -r, r)
    return tl.where(n < 0, float("nan"), r)


@triton.jit
def libdevice_yn(n, x):
    a = x.to(tl.float64)
    r = tl.map_elementwise(yn_scalar, n, a, y0_of(a), y1_of(a)).to(x.dtype)
    return tl.where(n < 0, float("nan"), r)


# -- libdevice: of integers --
import triton
import triton.language as tl


@triton.jit
def libdevice_popc(x):
    x = x.to(tl.uint64) & (0xFFFFFFFF if x.dtype.primitive_bitwidth == 32 else 0xFFFFFFFFFFFFFFFF)
    x = x - ((x >> 1) & 0x5555555555555555)
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F
    return ((x * 0x0101010101010101) >> 56).to(tl.int32)


@triton.jit
def libdevice_clz(x):
    bits: tl.constexpr = x.dtype.primitive_bitwidth
    x = x.to(tl.uint64) & (0xFFFFFFFF if bits == 32 else 0xFFFFFFFFFFFFFFFF)
    for i in tl.static_range(6):
        x |= x >> (1 << i)
    return bits - libdevice_popc(x)


@triton.jit
def libdevice_ffs(x):
    return tl.where(x == 0, 0, libdevice_popc((x & -x) - 1) + 1)


@triton.jit
def libdevice_brev(x):
    u = x.to(tl.uint64) & (0xFFFFFFFF if x.dtype.primitive_bitwidth == 32 else 0xFFFFFFFFFFFFFFFF)
    u = ((u & 0x5555555555555555) << 1) | ((u >> 1) & 0x5555555555555555)
    u = ((u & 0x3333333333333333) << 2) | ((u >> 2) & 0x3333333333333333)
    u = ((u & 0x0F0F0F0F0F0F0F0F) << 4) | ((u >> 4) & 0x0F0F0F0F0F0F0F0F)
    u = ((u & 0x00FF00FF00FF00FF) << 8) | ((u >> 8) & 0x00FF00FF00FF00FF)
    u = ((u & 0x0000FFFF0000FFFF) << 16) | ((u >> 16) & 0x0000FFFF0000FFFF)
    u = (u << 32) | (u >> 32)
    return (u >> (64 - x.dtype.primitive_bitwidth)).to(x.dtype)


@triton.jit
def libdevice_byte_perm(x, y, s):
    both = (x.to(tl.uint64) & 0xFFFFFFFF) | (y.to(tl.uint64) << 32)
    r = both & 0
    for i in tl.static_range(4):
        r |= ((both >> (((s >> (4 * i)) & 7) * 8).to(tl.uint64)) & 255) << (8 * i)
    return r.to(x.dtype)


@triton.jit
def libdevice_mul24(x, y):
    return ((x << 8) >> 8) * ((y << 8) >> 8)


@triton.jit
def libdevice_mulhi(x, y):
    high = tl.umulhi(x, y)
    if x.dtype.is_int_signed():
        high = high - tl.where(x < 0, y, 0) - tl.where(y < 0, x, 0)
    return high


@triton.jit
def libdevice_sad(x, y, z):
    return (tl.maximum(x, y) - tl.minimum(x, y)).to(z.dtype) + z


@triton.jit
def libdevice_hadd(x, y):
    return (x & y) + ((x ^ y) >> 1)


@triton.jit
def libdevice_rhadd(x, y):
    return (x | y) - ((x ^ y) >> 1)


@triton.jit
def libdevice_hiloint2double(x, y):
    return ((x.to(tl.int64) << 32) | (y.to(tl.int64) & 0xFFFFFFFF)).to(tl.float64, bitcast=True)
