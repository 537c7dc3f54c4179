/* SPDX-License-Identifier: MIT */
/* libdevice.h: the functions of libdevice. builtins.h includes these rows, and describes their columns.
 * FLOATS, INTS, NUMBERS and BITS each stand for the two columns `types` and `errors`. BITS is for the
 * functions that reinterpret the bits of a number as another type. */
#define FLOATS "floats; the result is of their type, unless stated", "math-type wants-tensor"
#define INTS "integers", "math-type wants-tensor"
#define NUMBERS "a number or tensor", "math-type wants-tensor"
#define BITS "a number or tensor of as many bits", "bitcast-width wants-tensor"

ROW(libdevice, floor,      "x",       float_unary, "floor",
    "The next integer below or equal to x, as a float.", FLOATS, "libdevice.floor(x / 2)\n# [0. 1. 1. 2.]")
ROW(libdevice, ceil,       "x",       float_unary, "ceil",
    "The next integer above or equal to x, as a float.", FLOATS, "libdevice.ceil(x / 2)\n# [1. 1. 2. 2.]")
ROW(libdevice, sqrt,       "x",       float_unary, "sqrt",
    "The square root.", FLOATS, "libdevice.sqrt(x)\n# [1.        1.4142135 1.7320508 2.       ]")
ROW(libdevice, rsqrt,      "x",       float_unary, "rsqrt",
    "1 / the square root, approximate.", FLOATS, "libdevice.rsqrt(x)\n# [1.         0.70710677 0.57735026 0.5       ]")
ROW(libdevice, exp,        "x",       float_prelude, "libdevice_exp",
    "e to the power x.", FLOATS, "libdevice.exp(x)\n# [ 2.7182817  7.389056  20.085537  54.598152 ]")
ROW(libdevice, exp2,       "x",       float_unary, "exp2",
    "2 to the power x.", FLOATS, "libdevice.exp2(x)\n# [ 2.  4.  8. 16.]")
ROW(libdevice, log,        "x",       float_unary, "log",
    "The natural logarithm.", FLOATS, "libdevice.log(x)\n# [0.        0.6931472 1.0986123 1.3862944]")
ROW(libdevice, log2,       "x",       float_unary, "log2",
    "The binary logarithm.", FLOATS, "libdevice.log2(x)\n# [0.        1.        1.5849625 2.       ]")
ROW(libdevice, sin,        "x",       float_unary, "sin",
    "The sine.", FLOATS, "libdevice.sin(x)\n# [ 0.84147096  0.9092974   0.14112    -0.7568025 ]")
ROW(libdevice, cos,        "x",       float_unary, "cos",
    "The cosine.", FLOATS, "libdevice.cos(x)\n# [ 0.5403023  -0.41614684 -0.9899925  -0.6536436 ]")
ROW(libdevice, erf,        "x",       float_unary, "erf",
    "The error function.", FLOATS, "libdevice.erf(x)\n# [0.8427008 0.9953223 0.9999779 1.       ]")
ROW(libdevice, fast_expf,  "x",       float_unary, "exp",
    "e to the power x, approximate.", FLOATS, "libdevice.fast_expf(x)\n# [ 2.7182817  7.389056  20.085537  54.59815  ]")
ROW(libdevice, fast_logf,  "x",       float_unary, "log",
    "The natural logarithm, approximate.", FLOATS, "libdevice.fast_logf(x)\n# [0.        0.6931472 1.0986123 1.3862944]")
ROW(libdevice, fast_log2f, "x",       float_unary, "log2",
    "The binary logarithm, approximate.", FLOATS, "libdevice.fast_log2f(x)\n# [0.        1.        1.5849625 2.       ]")
ROW(libdevice, fast_sinf,  "x",       float_unary, "sin",
    "The sine, approximate.", FLOATS, "libdevice.fast_sinf(x)\n# [ 0.84147096  0.9092974   0.14112    -0.7568025 ]")
ROW(libdevice, fast_cosf,  "x",       float_unary, "cos",
    "The cosine, approximate.", FLOATS, "libdevice.fast_cosf(x)\n# [ 0.5403023  -0.41614684 -0.9899925  -0.6536436 ]")
ROW(libdevice, abs,        "x",       abs,         NULL,
    "The absolute value, of integers too.", NUMBERS, "libdevice.abs(x - 3)\n# [2. 1. 0. 1.]")
ROW(libdevice, fast_dividef, "x, y",  fdiv_fast,   NULL,
    "x / y, approximate.", FLOATS, "libdevice.fast_dividef(x, 4.0)\n# [0.25 0.5  0.75 1.  ]")
ROW(libdevice, fmod,       "x, y",    float_binary, "frem",
    "The remainder of x / y, with the sign of x.", FLOATS, "libdevice.fmod(x, 3.0)\n# [1. 2. 0. 1.]")
ROW(libdevice, fma,        "x, y, z", round_toward, "nffma",
    "x * y + z, rounded once.", FLOATS, "libdevice.fma(x, x, x)\n# [ 2.  6. 12. 20.]")
#define FLOAT_PRELUDE(name, params, says, example) \
    ROW(libdevice, name, params, float_prelude, "libdevice_" #name, says, FLOATS, example)
FLOAT_PRELUDE(trunc, "x", "x rounded toward zero, as a float.", "libdevice.trunc(x - 2.5)\n# [-1. -0.  0.  1.]")
ROW(libdevice, rint,      "x",       float_unary, "rint",
    "x rounded to the nearest integer, halves to even, as a float.", FLOATS, "libdevice.rint(x - 2.5)\n# [-2. -0.  0.  2.]")
ROW(libdevice, nearbyint, "x",       float_unary, "rint",
    "x rounded to the nearest integer, halves to even, as a float.", FLOATS, "libdevice.nearbyint(x - 2.5)\n# [-2. -0.  0.  2.]")
FLOAT_PRELUDE(round, "x", "x rounded to the nearest integer, halves away from zero, as a float.",
    "libdevice.round(x - 2.5)\n# [-2. -1.  1.  2.]")
FLOAT_PRELUDE(llrint, "x", "x rounded to the nearest integer, halves to even, as an int64.",
    "libdevice.llrint(x - 2.5)\n# [-2  0  0  2]")
FLOAT_PRELUDE(llround, "x", "x rounded to the nearest integer, halves away from zero, as an int64.",
    "libdevice.llround(x - 2.5)\n# [-2 -1  1  2]")
FLOAT_PRELUDE(exp10, "x", "10 to the power x.", "libdevice.exp10(x)\n# [   10.   100.  1000. 10000.]")
FLOAT_PRELUDE(expm1, "x", "exp(x) - 1, accurate near 0.",
    "libdevice.expm1(x / 1000)\n# [0.0010005  0.002002   0.0030045  0.00400801]")
FLOAT_PRELUDE(log10, "x", "The decimal logarithm.", "libdevice.log10(x)\n# [0.         0.30103    0.47712126 0.60206   ]")
FLOAT_PRELUDE(log1p, "x", "log(1 + x), accurate near 0.",
    "libdevice.log1p(x / 1000)\n# [0.0009995  0.001998   0.00299551 0.00399202]")
FLOAT_PRELUDE(tan, "x", "The tangent.", "libdevice.tan(x)\n# [ 1.5574077  -2.1850398  -0.14254653  1.1578213 ]")
FLOAT_PRELUDE(sinh, "x", "The hyperbolic sine.", "libdevice.sinh(x)\n# [ 1.1752012  3.6268604 10.017875  27.289917 ]")
FLOAT_PRELUDE(cosh, "x", "The hyperbolic cosine.", "libdevice.cosh(x)\n# [ 1.5430806  3.7621958 10.067662  27.308231 ]")
FLOAT_PRELUDE(tanh, "x", "The hyperbolic tangent.", "libdevice.tanh(x)\n# [0.7615942 0.9640276 0.9950548 0.9993293]")
FLOAT_PRELUDE(asinh, "x", "The inverse hyperbolic sine.", "libdevice.asinh(x)\n# [0.8813736 1.4436356 1.8184465 2.0947125]")
FLOAT_PRELUDE(acosh, "x", "The inverse hyperbolic cosine.",
    "libdevice.acosh(x)\n# [0.        1.316958  1.7627472 2.063437 ]")
FLOAT_PRELUDE(atanh, "x", "The inverse hyperbolic tangent.",
    "libdevice.atanh(x / 8)\n# [0.12565722 0.25541282 0.3942287  0.54930615]")
FLOAT_PRELUDE(isnan, "x", "Is x NaN?", "libdevice.isnan(x)\n# [False False False False]")
FLOAT_PRELUDE(isinf, "x", "Is x infinite?", "libdevice.isinf(x)\n# [False False False False]")
FLOAT_PRELUDE(finitef, "x", "Is x finite?", "libdevice.finitef(x)\n# [ True  True  True  True]")
ROW(libdevice, isfinited, "x", float_prelude, "libdevice_finitef",
    "Is x finite?", FLOATS, "libdevice.isfinited(x)\n# [ True  True  True  True]")
FLOAT_PRELUDE(signbit, "x", "Is the sign bit set?", "libdevice.signbit(x - 2.5)\n# [1 1 0 0]")
FLOAT_PRELUDE(saturatef, "x", "x limited to the range from 0 to 1; NaN becomes 0.",
    "libdevice.saturatef(x - 2.5)\n# [0.  0.  0.5 1. ]")
FLOAT_PRELUDE(pow, "x, y", "x to the power y; y may be an integer.", "libdevice.pow(x, 2.0)\n# [ 1.  4.  9. 16.]")
FLOAT_PRELUDE(hypot, "x, y", "sqrt(x * x + y * y), without overflow between.",
    "libdevice.hypot(x, 1.0)\n# [1.4142135 2.236068  3.1622777 4.1231055]")
FLOAT_PRELUDE(fdim, "x, y", "x - y if that is positive, else 0.", "libdevice.fdim(x, 2.0)\n# [0. 0. 1. 2.]")
FLOAT_PRELUDE(copysign, "x, y", "The magnitude of x with the sign of y.",
    "libdevice.copysign(x, x - 2.5)\n# [-1. -2.  3.  4.]")
FLOAT_PRELUDE(fast_powf, "x, y", "x to the power y, approximate.", "libdevice.fast_powf(x, 2.0)\n# [ 1.  4.  9. 16.]")
FLOAT_PRELUDE(fast_exp10f, "x", "10 to the power x, approximate.",
    "libdevice.fast_exp10f(x)\n# [   9.999999   99.99999   999.9999   9999.998   ]")
ROW(libdevice, fast_log10f, "x", float_prelude, "libdevice_log10",
    "The decimal logarithm, approximate.", FLOATS, "libdevice.fast_log10f(x)\n# [0.         0.30103    0.47712126 0.60206   ]")
ROW(libdevice, fast_tanf, "x", float_prelude, "libdevice_tan",
    "The tangent, approximate.", FLOATS, "libdevice.fast_tanf(x)\n# [ 1.5574077  -2.1850398  -0.14254653  1.1578213 ]")
FLOAT_PRELUDE(erfc, "x", "1 - erf(x), accurate for large x.",
    "libdevice.erfc(x)\n# [1.5729920e-01 4.6777350e-03 2.2090497e-05 1.5417259e-08]")
FLOAT_PRELUDE(erfcx, "x", "exp(x * x) * erfc(x).", "libdevice.erfcx(x)\n# [0.42758358 0.25539568 0.17900115 0.13699946]")
FLOAT_PRELUDE(normcdf, "x", "The distribution function of the normal distribution.",
    "libdevice.normcdf(x)\n# [0.8413448  0.97724986 0.9986501  0.99996835]")
FLOAT_PRELUDE(erfinv, "x", "The inverse of erf.", "libdevice.erfinv(x / 8)\n# [0.11123545 0.22531205 0.34561712 0.47693628]")
FLOAT_PRELUDE(erfcinv, "x", "The inverse of erfc.",
    "libdevice.erfcinv(x / 8)\n# [1.084787   0.8134198  0.62730736 0.47693628]")
FLOAT_PRELUDE(normcdfinv, "x", "The inverse of normcdf.",
    "libdevice.normcdfinv(x / 8)\n# [-1.1503494  -0.67448974 -0.31863937 -0.        ]")
FLOAT_PRELUDE(atan, "x", "The arc tangent.", "libdevice.atan(x)\n# [0.7853982 1.1071488 1.2490458 1.3258177]")
FLOAT_PRELUDE(asin, "x", "The arc sine.", "libdevice.asin(x / 8)\n# [0.12532783 0.25268024 0.38439676 0.5235988 ]")
FLOAT_PRELUDE(acos, "x", "The arc cosine.", "libdevice.acos(x / 8)\n# [1.4454687 1.3181161 1.1863996 1.0471976]")
FLOAT_PRELUDE(cbrt, "x", "The cube root.", "libdevice.cbrt(x)\n# [1.        1.2599211 1.4422495 1.587401 ]")
FLOAT_PRELUDE(rcbrt, "x", "1 / the cube root.", "libdevice.rcbrt(x)\n# [1.         0.7937005  0.6933613  0.62996054]")
FLOAT_PRELUDE(sinpi, "x", "The sine of x times pi.",
    "libdevice.sinpi(x / 8)\n# [0.38268346 0.70710677 0.9238795  1.        ]")
FLOAT_PRELUDE(cospi, "x", "The cosine of x times pi.",
    "libdevice.cospi(x / 8)\n# [ 0.9238795   0.70710677  0.38268346 -0.        ]")
FLOAT_PRELUDE(ilogb, "x", "The exponent of x as an int32.", "libdevice.ilogb(x)\n# [0 1 1 2]")
FLOAT_PRELUDE(logb, "x", "The exponent of x as a float.", "libdevice.logb(x)\n# [0. 1. 1. 2.]")
FLOAT_PRELUDE(rsqrt_rn, "x", "1 / the square root, rounded to nearest.",
    "libdevice.rsqrt_rn(x)\n# [1.         0.70710677 0.57735026 0.5       ]")
FLOAT_PRELUDE(double2hiint, "x", "The upper 32 bits of a float64.",
    "libdevice.double2hiint(x.to(tl.float64))\n# [1072693248 1073741824 1074266112 1074790400]")
FLOAT_PRELUDE(double2loint, "x", "The lower 32 bits of a float64.", "libdevice.double2loint(x.to(tl.float64))\n# [0 0 0 0]")
FLOAT_PRELUDE(j0, "x", "The Bessel function of the first kind of order 0.",
    "libdevice.j0(x)\n# [ 0.7651977   0.22389078 -0.26005197 -0.3971498 ]")
FLOAT_PRELUDE(j1, "x", "The Bessel function of the first kind of order 1.",
    "libdevice.j1(x)\n# [ 0.44005057  0.5767248   0.33905897 -0.06604332]")
FLOAT_PRELUDE(y0, "x", "The Bessel function of the second kind of order 0.",
    "libdevice.y0(x)\n# [ 0.08825696  0.5103757   0.37685    -0.01694074]")
FLOAT_PRELUDE(y1, "x", "The Bessel function of the second kind of order 1.",
    "libdevice.y1(x)\n# [-0.7812128  -0.10703243  0.32467443  0.3979257 ]")
FLOAT_PRELUDE(cyl_bessel_i0, "x", "The modified Bessel function of order 0.",
    "libdevice.cyl_bessel_i0(x)\n# [ 1.2660658  2.2795854  4.8807926 11.301922 ]")
FLOAT_PRELUDE(cyl_bessel_i1, "x", "The modified Bessel function of order 1.",
    "libdevice.cyl_bessel_i1(x)\n# [0.5651591 1.5906368 3.9533703 9.759465 ]")
ROW(libdevice, jn, "n, x", order_prelude, "libdevice_jn",
    "The Bessel function of the first kind of order n; NaN for n < 0.", FLOATS, "libdevice.jn(2, x)\n# [0.11490349 0.35283402 0.48609126 0.36412814]")
ROW(libdevice, yn, "n, x", order_prelude, "libdevice_yn",
    "The Bessel function of the second kind of order n; NaN for n < 0.", FLOATS, "libdevice.yn(2, x)\n# [-1.6506826  -0.6174081  -0.16040039  0.2159036 ]")
FLOAT_PRELUDE(lgamma, "x", "The natural logarithm of the absolute value of the gamma function.",
    "libdevice.lgamma(x)\n# [0.        0.        0.6931472 1.7917595]")
FLOAT_PRELUDE(tgamma, "x", "The gamma function.", "libdevice.tgamma(x)\n# [1. 1. 2. 6.]")
FLOAT_PRELUDE(atan2, "x, y", "The angle of the point (y, x), from -pi to pi.",
    "libdevice.atan2(x, 1.0)\n# [0.7853982 1.1071488 1.2490458 1.3258177]")
FLOAT_PRELUDE(rhypot, "x, y", "1 / hypot(x, y).",
    "libdevice.rhypot(x, 1.0)\n# [0.70710677 0.4472136  0.31622776 0.24253564]")
FLOAT_PRELUDE(remainder, "x, y", "x - n * y, for the integer n nearest to x / y.",
    "libdevice.remainder(x, 3.0)\n# [ 1. -1.  0.  1.]")
FLOAT_PRELUDE(nextafter, "x, y", "The next float after x toward y.",
    "libdevice.nextafter(x, 10.0)\n# [1.0000001 2.0000002 3.0000002 4.0000005]")
FLOAT_PRELUDE(ldexp, "x, y", "x times 2 to the power y, an int32.", "libdevice.ldexp(x, i)\n# [ 1.  4. 12. 32.]")
FLOAT_PRELUDE(norm3d, "x, y, z", "sqrt(x * x + y * y + z * z).",
    "libdevice.norm3d(x, x, x)\n# [1.7320508 3.4641016 5.196152  6.928203 ]")
FLOAT_PRELUDE(rnorm3d, "x, y, z", "1 / norm3d(x, y, z).",
    "libdevice.rnorm3d(x, x, x)\n# [0.57735026 0.28867513 0.19245009 0.14433756]")
FLOAT_PRELUDE(norm4d, "x, y, z, w", "sqrt(x * x + y * y + z * z + w * w).", "libdevice.norm4d(x, x, x, x)\n# [2. 4. 6. 8.]")
FLOAT_PRELUDE(rnorm4d, "x, y, z, w", "1 / norm4d(x, y, z, w).",
    "libdevice.rnorm4d(x, x, x, x)\n# [0.5        0.25       0.16666667 0.125     ]")
ROW(libdevice, scalbn, "x, y", float_prelude, "libdevice_ldexp",
    "x times 2 to the power y, an int32.", FLOATS, "libdevice.scalbn(x, i)\n# [ 1.  4. 12. 32.]")
#undef FLOAT_PRELUDE
#define INT_PRELUDE(name, params, says, example) \
    ROW(libdevice, name, params, int_prelude, "libdevice_" #name, says, INTS, example)
INT_PRELUDE(popc, "x", "How many bits are set.", "libdevice.popc(i)\n# [0 1 1 2]")
INT_PRELUDE(clz, "x", "How many zeros stand above the highest set bit.", "libdevice.clz(i)\n# [32 31 30 30]")
INT_PRELUDE(ffs, "x", "The place of the lowest set bit, from 1; 0 of 0.", "libdevice.ffs(i)\n# [0 1 2 1]")
INT_PRELUDE(brev, "x", "The bits in reverse order.",
    "libdevice.brev(i)\n# [          0 -2147483648  1073741824 -1073741824]")
INT_PRELUDE(mul24, "x, y", "The product of the lower 24 bits of two int32.", "libdevice.mul24(i, i)\n# [0 1 4 9]")
INT_PRELUDE(mulhi, "x, y", "The upper half of the product.", "libdevice.mulhi(i * 600000000, i * 8)\n# [ 0  1  4 10]")
INT_PRELUDE(hadd, "x, y", "(x + y) / 2 rounded down, without overflow.", "libdevice.hadd(i, i + 1)\n# [0 1 2 3]")
INT_PRELUDE(rhadd, "x, y", "(x + y + 1) / 2 rounded down, without overflow.", "libdevice.rhadd(i, i + 1)\n# [1 2 3 4]")
INT_PRELUDE(hiloint2double, "x, y", "The float64 whose upper and lower halves are x and y.",
    "libdevice.hiloint2double(i + 1072693248, i)\n# [1.         1.00000095 1.00000191 1.00000286]")
INT_PRELUDE(byte_perm, "x, y, z", "The bytes of x and y that the digits of z select.",
    "libdevice.byte_perm(i, i + 1, i * 0 + 4)\n# [       1 16843010 33686019 50529028]")
INT_PRELUDE(sad, "x, y, z", "abs(x - y) + z.", "libdevice.sad(i, i * 0 + 2, i)\n# [2 2 2 4]")
#undef INT_PRELUDE
ROW(libdevice, float_as_int,       "x", bits_as, "int32",
    "The bits of a float32 as an int32.", BITS, "libdevice.float_as_int(x)\n# [1065353216 1073741824 1077936128 1082130432]")
ROW(libdevice, int_as_float,       "x", bits_as, "float32",
    "An int32 as the bits of a float32.", BITS, "libdevice.int_as_float(i + 1065353216)\n# [1.        1.0000001 1.0000002 1.0000004]")
ROW(libdevice, float_as_uint,      "x", bits_as, "uint32",
    "The bits of a float32 as a uint32.", BITS, "libdevice.float_as_uint(x)\n# [1065353216 1073741824 1077936128 1082130432]")
ROW(libdevice, uint_as_float,      "x", bits_as, "float32",
    "A uint32 as the bits of a float32.", BITS, "libdevice.uint_as_float((i + 1065353216).to(tl.uint32))\n# [1.        1.0000001 1.0000002 1.0000004]")
ROW(libdevice, double_as_longlong, "x", bits_as, "int64",
    "The bits of a float64 as an int64.", BITS, "libdevice.double_as_longlong(x.to(tl.float64))\n# [4607182418800017408 4611686018427387904 4613937818241073152\n#  4616189618054758400]")
ROW(libdevice, longlong_as_double, "x", bits_as, "float64",
    "An int64 as the bits of a float64.", BITS, "libdevice.longlong_as_double(i.to(tl.int64) + 4607182418800017408)\n# [1. 1. 1. 1.]")
/* -- conversions, one function for each direction of rounding -- */
#define SAYS_n "rounded to nearest, halves to even"
#define SAYS_z "rounded toward zero"
#define SAYS_d "rounded down"
#define SAYS_u "rounded up"
#define CONVERTED(name, end, way, to, value, shown) \
    ROW(libdevice, name##_##end, "x", convert_rounded, #way to, "x as " to ", " SAYS_##way ".", NUMBERS, \
        "libdevice." #name "_" #end "(" value ")\n# " shown)
#define CONVERT(name, to, value) \
    CONVERTED(name, rn, n, to, value, "[2 2 4 4]") CONVERTED(name, rz, z, to, value, "[1 2 3 4]") \
    CONVERTED(name, rd, d, to, value, "[1 2 3 4]") CONVERTED(name, ru, u, to, value, "[2 3 4 5]")
CONVERT(float2int, "int32", "x + 0.5") CONVERT(float2uint, "uint32", "x + 0.5")
CONVERT(float2ll, "int64", "x + 0.5") CONVERT(float2ull, "uint64", "x + 0.5")
CONVERT(double2int, "int32", "x.to(tl.float64) + 0.5") CONVERT(double2uint, "uint32", "x.to(tl.float64) + 0.5")
CONVERT(double2ll, "int64", "x.to(tl.float64) + 0.5") CONVERT(double2ull, "uint64", "x.to(tl.float64) + 0.5")
#undef CONVERT
#define EXACT(name, to, value) CONVERTED(name, rn, n, to, value, "[0. 1. 2. 3.]")
#define CONVERT_TOWARD(name, to, value) \
    EXACT(name, to, value) CONVERTED(name, rz, z, to, value, "[0. 1. 2. 3.]") \
    CONVERTED(name, rd, d, to, value, "[0. 1. 2. 3.]") CONVERTED(name, ru, u, to, value, "[0. 1. 2. 3.]")
CONVERT_TOWARD(double2float, "float32", "i.to(tl.float64)") CONVERT_TOWARD(int2float, "float32", "i")
CONVERT_TOWARD(uint2float, "float32", "i.to(tl.uint32)") CONVERT_TOWARD(ll2float, "float32", "i.to(tl.int64)")
CONVERT_TOWARD(ull2float, "float32", "i.to(tl.uint64)") CONVERT_TOWARD(ll2double, "float64", "i.to(tl.int64)")
CONVERT_TOWARD(ull2double, "float64", "i.to(tl.uint64)") EXACT(int2double, "float64", "i")
EXACT(uint2double, "float64", "i.to(tl.uint32)")
#undef CONVERT_TOWARD
#undef EXACT
#undef CONVERTED

/* -- arithmetic, one function for each direction of rounding -- */
#define ROUNDED(name, end, way, params, op, says, call, shown) \
    ROW(libdevice, name##_##end, params, round_toward, #way op, says ", " SAYS_##way ".", FLOATS, \
        "libdevice." #name "_" #end "(" call ")\n# " shown)
#define TOWARD(name, params, op, says, call, shown) \
    ROUNDED(name, rn, n, params, op, says, call, shown) ROUNDED(name, rz, z, params, op, says, call, shown) \
    ROUNDED(name, rd, d, params, op, says, call, shown) ROUNDED(name, ru, u, params, op, says, call, shown)
TOWARD(add, "x, y", "fadd", "x + y", "x, 1.0", "[2. 3. 4. 5.]")
TOWARD(sub, "x, y", "fsub", "x - y", "x, 1.0", "[0. 1. 2. 3.]")
TOWARD(mul, "x, y", "fmul", "x * y", "x, x", "[ 1.  4.  9. 16.]")
TOWARD(div, "x, y", "fdiv", "x / y", "x, 4.0", "[0.25 0.5  0.75 1.  ]")
TOWARD(fma, "x, y, z", "ffma", "x * y + z", "x, x, x", "[ 2.  6. 12. 20.]")
TOWARD(sqrt, "x", "sqrt", "The square root", "x * x", "[1. 2. 3. 4.]")
TOWARD(rcp, "x", "fdiv", "1 / x", "tl.exp2(x)", "[0.5    0.25   0.125  0.0625]")
#undef TOWARD
#undef ROUNDED
#undef SAYS_n
#undef SAYS_z
#undef SAYS_d
#undef SAYS_u

#define LACKING(name, says) ROW(libdevice, name, "*args", unsupported, NULL, says, "", "not-supported", "")
LACKING(fast_tanhf, "Not supported: libdevice.tanh.")
LACKING(rcp64h, "Not supported.")
#undef LACKING
#undef FLOATS
#undef INTS
#undef NUMBERS
#undef BITS
