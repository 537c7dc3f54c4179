/* SPDX-License-Identifier: MIT */
/* scalar_float.c: computes pure ops on floats, element by element (see scalar.c).
 *
 * f32 and f64 use C's arithmetic. Ops on f16 and bf16 are computed in f32, a block of elements at a time, and each op's
 * result is rounded to f16 or bf16. The mantissas of f16 and bf16 have p = 11 and 8 bits, and the mantissa of
 * f32 has 24 bits, which is at least 2p + 2. So for sums, differences, products, quotients and square roots,
 * rounding to f32 and then to f16 or bf16 gives the same result as rounding once. For fma, the two results
 * may differ. So the sum of an fma is computed in f64 and rounded to odd: if f64 cannot represent the sum,
 * the last bit of the rounded sum is 1. Rounding this sum to f16 or bf16 then gives the right result.
 *
 * Ops that round toward zero, down or up (f32 and f64 only) run while the CPU is set to that rounding mode. For ops
 * that flush subnormal numbers (f32 only), C code replaces subnormal operands and results by zero.
 *
 * Where the GPU's instruction is approximate (division, exp2, sine, ...), this file returns the result of the
 * C language's operator or of the C library, which is correctly rounded or nearly so. */
#include "ir/ir.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

enum { CHUNK = 256 };

/* Replaces a subnormal f32 by zero, as .ftz does on the GPU. */
static float flushf(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

static double flush(double x)
{
    return x;
}

/* Each row is an op and its result for x and y. F(name) is the C library's function for the type. */
#define BINARY(X)                                                                                            \
    X(add, x + y)                                                                                            \
    X(sub, x - y)                                                                                            \
    X(mul, x *y)                                                                                             \
    X(fdiv, x / y)                                                                                           \
    X(frem, F(fmod)(x, y))

#define UNARY(X)                                                                                             \
    X(exp, F(exp)(x))                                                                                        \
    X(exp2, F(exp2)(x))                                                                                      \
    X(log, F(log)(x))                                                                                        \
    X(log2, F(log2)(x))                                                                                      \
    X(sin, F(sin)(x))                                                                                        \
    X(cos, F(cos)(x))                                                                                        \
    X(sqrt, F(sqrt)(x))                                                                                      \
    X(rsqrt, (T)(1 / sqrt((double)x)))                                                                       \
    X(erf, F(erf)(x))                                                                                        \
    X(floor, F(floor)(F(flush)(x)))                                                                          \
    X(ceil, F(ceil)(F(flush)(x)))                                                                            \
    X(rint, F(rint)(F(flush)(x)))                                                                            \
    X(neg, -x)                                                                                               \
    X(abs, F(fabs)(x))

/* Each row is an op, and the condition under which its result is x instead of y. -0 is less than +0. If one
 * number is NaN, the result is the other number, unless the op propagates NaNs. */
#define EXTREMES(X)                                                                                          \
    X(min, x < y || (x == y && signbit(x)) || (isnan(x) && nan) || (isnan(y) && !nan))                       \
    X(max, x > y || (x == y && !signbit(x)) || (isnan(x) && nan) || (isnan(y) && !nan))

#define PREDICATES(X)                                                                                        \
    X(eq, x == y)                                                                                            \
    X(ne, x != y)                                                                                            \
    X(lt, x < y)                                                                                             \
    X(le, x <= y)                                                                                            \
    X(gt, x > y)                                                                                             \
    X(ge, x >= y)

#define LOOP2(value)                                                                                         \
    for (int64_t i = 0; i < n; i++) {                                                                        \
        const T x = a[i], y = b[i];                                                                          \
        r[i] = value;                                                                                        \
    }
#define CASE2(name, value)                                                                                   \
    case OP_##name:                                                                                          \
        LOOP2(value)                                                                                         \
        return true;
#define CASE_EXTREME(name, is_x)                                                                             \
    case OP_##name:                                                                                          \
        LOOP2((is_x) ? x : y)                                                                                \
        return true;
#define CASE_PREDICATE(name, value)                                                                          \
    case PRED_##name:                                                                                        \
        LOOP2(value)                                                                                         \
        return true;
#define CASE1(name, value)                                                                                   \
    case OP_##name:                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const T x = a[i];                                                                                \
            r[i] = value;                                                                                    \
        }                                                                                                    \
        return true;

#define FLOAT(dtype, type)                                                                                   \
    static bool unary_##dtype(enum opcode code, int64_t n, type *restrict r, const type *a)                  \
    {                                                                                                        \
        typedef type T;                                                                                      \
        switch (code) {                                                                                      \
            UNARY(CASE1)                                                                                     \
        default: return false;                                                                               \
        }                                                                                                    \
    }                                                                                                        \
    static bool binary_##dtype(enum opcode code, bool nan, int64_t n, type *restrict r, const type *a,       \
                               const type *b)                                                                \
    {                                                                                                        \
        typedef type T;                                                                                      \
        switch (code) {                                                                                      \
            BINARY(CASE2)                                                                                    \
            EXTREMES(CASE_EXTREME)                                                                           \
        default: return false;                                                                               \
        }                                                                                                    \
    }                                                                                                        \
    static bool compare_##dtype(enum pred pred, int64_t n, uint8_t *restrict r, const type *a,               \
                                const type *b)                                                               \
    {                                                                                                        \
        typedef type T;                                                                                      \
        switch (pred) {                                                                                      \
            PREDICATES(CASE_PREDICATE)                                                                       \
        default: return false;                                                                               \
        }                                                                                                    \
    }

#define F(name) name##f
FLOAT(f32, float)
#undef F
#define F(name) name
FLOAT(f64, double)
#undef F
#undef FLOAT
#undef CASE1
#undef CASE_PREDICATE
#undef CASE_EXTREME
#undef CASE2
#undef LOOP2
#undef PREDICATES
#undef EXTREMES
#undef UNARY
#undef BINARY

static int count_operands(enum opcode code)
{
    switch (code) {
    case OP_add:
    case OP_sub:
    case OP_mul:
    case OP_fadd:
    case OP_fsub:
    case OP_fmul:
    case OP_fdiv:
    case OP_frem:
    case OP_min:
    case OP_max:
    case OP_cmp: return 2;
    case OP_ffma:
    case OP_fma: return 3;
    default: return 1;
    }
}

/* -- rounding toward zero, down, up; subnormal numbers flushed -- */

/* toward_* computes one op in the CPU's current rounding mode; `volatile` prevents the C compiler from moving
 * the op to a place where another mode is set. all_toward_* computes the op for n elements. */
#define TOWARD(dtype, type, fma_of, sqrt_of)                                                                 \
    static type toward_##dtype(enum opcode code, volatile type x, volatile type y, volatile type z)          \
    {                                                                                                        \
        volatile type d;                                                                                     \
        switch (code) {                                                                                      \
        case OP_fadd: d = x + y; break;                                                                      \
        case OP_fsub: d = x - y; break;                                                                      \
        case OP_fmul: d = x * y; break;                                                                      \
        case OP_fdiv: d = x / y; break;                                                                      \
        case OP_sqrt: d = sqrt_of(x); break;                                                                 \
        default: d = fma_of(x, y, z); break;                                                                 \
        }                                                                                                    \
        return d;                                                                                            \
    }                                                                                                        \
    static void all_toward_##dtype(enum opcode code, int64_t n, type *r, const type *const *x)               \
    {                                                                                                        \
        for (int64_t i = 0; i < n; i++)                                                                      \
            r[i] = toward_##dtype(code, x[0][i], x[1] ? x[1][i] : 0, x[2] ? x[2][i] : 0);                    \
    }
TOWARD(f32, float, fmaf, sqrtf)
TOWARD(f64, double, fma, sqrt)
#undef TOWARD

/* Computes ops that flush subnormal numbers, in rounding mode `mode`. GPUs flush results below 2^-126 before
 * they round. So if the rounded result is 2^-126, the function computes the op again, rounded toward zero:
 * the second result shows whether the exact result is below 2^-126. */
static void all_flushed(enum opcode code, int mode, int64_t n, float *r, const float *const *x)
{
    for (int64_t i = 0; i < n; i++) {
        float a = flushf(x[0][i]), b = x[1] ? flushf(x[1][i]) : 0, c = x[2] ? flushf(x[2][i]) : 0;
        float d = toward_f32(code, a, b, c);
        if (fabsf(d) == 0x1p-126f) {
            fesetround(FE_TOWARDZERO);
            d = toward_f32(code, a, b, c);
            fesetround(mode);
        }
        r[i] = flushf(d);
    }
}

static bool rounds_toward(enum opcode code, int64_t option)
{
    switch (code) {
    case OP_fadd:
    case OP_fsub:
    case OP_fmul:
    case OP_ffma: return true;
    case OP_fdiv:
    case OP_sqrt: return option > ROUND_rn;
    default: return false;
    }
}

static bool eval_toward(enum opcode code, enum dtype type, int64_t option, int64_t n, void *result,
                        const void *const *x)
{
    static const int modes[] = {[ROUND_none] = FE_TONEAREST,
                                [ROUND_rn] = FE_TONEAREST,
                                [ROUND_rz] = FE_TOWARDZERO,
                                [ROUND_rd] = FE_DOWNWARD,
                                [ROUND_ru] = FE_UPWARD};
    int mode = modes[round_mode((enum rounding)option)], count = count_operands(code);
    const void *y = count > 1 ? x[1] : NULL, *z = count > 2 ? x[2] : NULL;
    fesetround(mode);
    if (type == DT_f64)
        all_toward_f64(code, n, result, (const double *const[]){x[0], y, z});
    else if (round_flushes((enum rounding)option))
        all_flushed(code, mode, n, result, (const float *const[]){x[0], y, z});
    else
        all_toward_f32(code, n, result, (const float *const[]){x[0], y, z});
    fesetround(FE_TONEAREST);
    return true;
}

static bool eval_f32(enum opcode code, int64_t option, int64_t n, void *result, const void *const *x)
{
    float *r = result;
    const float *a = x[0];
    if (code == OP_cmp)
        return compare_f32((enum pred)option, n, result, a, x[1]);
    if (code == OP_fma) {
        const float *b = x[1], *c = x[2];
        for (int64_t i = 0; i < n; i++)
            r[i] = fmaf(a[i], b[i], c[i]);
        return true;
    }
    return count_operands(code) == 1 ? unary_f32(code, n, r, a)
                                     : binary_f32(code, option != 0, n, r, a, x[1]);
}

static bool eval_f64(enum opcode code, int64_t option, int64_t n, void *result, const void *const *x)
{
    double *r = result;
    const double *a = x[0];
    if (code == OP_cmp)
        return compare_f64((enum pred)option, n, result, a, x[1]);
    if (code == OP_fma) {
        const double *b = x[1], *c = x[2];
        for (int64_t i = 0; i < n; i++)
            r[i] = fma(a[i], b[i], c[i]);
        return true;
    }
    return count_operands(code) == 1 ? unary_f64(code, n, r, a)
                                     : binary_f64(code, option != 0, n, r, a, x[1]);
}

/* -- f16 and bf16 -- */

static void widen(enum dtype type, int64_t n, float *restrict r, const uint16_t *x)
{
    if (type == DT_f16)
        for (int64_t i = 0; i < n; i++)
            r[i] = f16_to_float(x[i]);
    else
        for (int64_t i = 0; i < n; i++)
            r[i] = bf16_to_float(x[i]);
}

static void narrow(enum dtype type, int64_t n, uint16_t *restrict r, const float *x)
{
    if (type == DT_f16)
        for (int64_t i = 0; i < n; i++)
            r[i] = float_to_f16(x[i], false);
    else
        for (int64_t i = 0; i < n; i++)
            r[i] = float_to_bf16(x[i], false);
}

/* Returns p + z rounded to odd: if f64 cannot represent the sum, returns the neighbour of the sum in f64,
 * above or below, whose last bit is 1. */
static double add_to_odd(double p, double z)
{
    double sum = p + z, back = sum - p;
    double lost = (p - (sum - back)) + (z - back);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (!isfinite(sum) || lost == 0 || bits & 1)
        return sum;
    bits = (lost > 0) == (sum > 0) ? bits + 1 : bits - 1;
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

static void fma_small(enum dtype type, int64_t n, uint16_t *restrict r, const float *a, const float *b,
                      const float *c)
{
    for (int64_t i = 0; i < n; i++) {
        double x = add_to_odd((double)a[i] * (double)b[i], (double)c[i]);
        r[i] = type == DT_f16 ? double_to_f16(x, false) : double_to_bf16(x, false);
    }
}

/* Computes neg or abs, which change only the sign bit, even if x is NaN. */
static bool flip_signs(enum opcode code, int64_t n, uint16_t *restrict r, const uint16_t *x)
{
    for (int64_t i = 0; i < n; i++)
        r[i] = (uint16_t)(code == OP_neg ? x[i] ^ 0x8000 : x[i] & 0x7fff);
    return true;
}

static bool eval_small(enum opcode code, enum dtype type, int64_t option, int64_t n, void *result,
                       const void *const *x)
{
    if (code == OP_neg || code == OP_abs)
        return flip_signs(code, n, result, x[0]);
    float in[3][CHUNK], out[CHUNK];
    const void *const wide[3] = {in[0], in[1], in[2]};
    int nopnds = count_operands(code);
    for (int64_t done = 0; done < n; done += CHUNK) {
        int64_t m = n - done < CHUNK ? n - done : CHUNK;
        for (int k = 0; k < nopnds; k++)
            widen(type, m, in[k], (const uint16_t *)x[k] + done);
        if (code == OP_fma)
            fma_small(type, m, (uint16_t *)result + done, in[0], in[1], in[2]);
        else if (code == OP_cmp)
            compare_f32((enum pred)option, m, (uint8_t *)result + done, in[0], in[1]);
        else if (!eval_f32(code, option, m, out, wide))
            return false;
        else
            narrow(type, m, (uint16_t *)result + done, out);
    }
    return true;
}

bool scalar_float(enum opcode code, enum dtype type, int64_t option, int64_t n, void *result,
                  const void *const *x)
{
    if (rounds_toward(code, option))
        return (type == DT_f32 || type == DT_f64) && eval_toward(code, type, option, n, result, x);
    switch (type) {
    case DT_f16:
    case DT_bf16: return eval_small(code, type, option, n, result, x);
    case DT_f32: return eval_f32(code, option, n, result, x);
    case DT_f64: return eval_f64(code, option, n, result, x);
    default: return false;
    }
}
