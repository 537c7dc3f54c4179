/* SPDX-License-Identifier: MIT */
/* float.c: computes float instructions (PTX ISA, "Floating Point Instructions", "Half Precision Floating Point
 * Instructions").
 *
 * f32 and f64 results are rounded as IEEE 754 specifies, in the instruction's rounding mode. Operations on
 * 16-bit floats (one per lane, or two for f16x2 and bf16x2) are computed in double, where the result is exact
 * or rounded to odd, and then rounded to 16 bits. Approximate functions give the same bits as an H200
 * (special.c), or, where these bits are not known, the float nearest to the exact value. NaN results have the
 * same bits as on GPUs. */
#include "runtime/devices/emulator/machine.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

/* clang-format is off, because it treats macro calls without a semicolon as unfinished lines. */
/* clang-format off */

#define FUNCTION(name)                                                                                       \
    static void name(void *restrict pd, const void *pa, const void *pb, const void *pc,                      \
                     const struct emu_insn *in)

/* Replaces a NaN by the canonical NaN of GPUs. */
static float canonical_f32(float x)
{
    const uint32_t bits = 0x7fffffff;
    float nan;
    memcpy(&nan, &bits, sizeof nan);
    return x == x ? x : nan;
}

static double canonical_f64(double x)
{
    const uint64_t bits = 0x7fffffffffffffff;
    double nan;
    memcpy(&nan, &bits, sizeof nan);
    return x == x ? x : nan;
}

/* Defines a function that computes d[i] = EXPR, rounded to nearest, for every lane i. EXPR is an expression of the
 * operands x, y and z of lane i. */
#define LANEWISE(name, T, suffix, EXPR)                                                                      \
    FUNCTION(name##_##suffix)                                                                                \
    {                                                                                                        \
        (void)in;                                                                                            \
        T *restrict d = pd;                                                                                  \
        const T *a = pa, *b = pb, *c = pc;                                                                   \
        for (int i = 0; i < LANES; i++) {                                                                    \
            const T x = a[i], y = b[i], z = c[i];                                                            \
            (void)x, (void)y, (void)z;                                                                       \
            d[i] = canonical_##suffix((T)(EXPR));                                                            \
        }                                                                                                    \
    }
static void set_rounding(const struct emu_insn *in)
{
    fesetround(in->mods[0] == MOD_rn   ? FE_TONEAREST
               : in->mods[0] == MOD_rz ? FE_TOWARDZERO
               : in->mods[0] == MOD_rm ? FE_DOWNWARD
                                       : FE_UPWARD);
}

/* Like LANEWISE, but defines a function that rounds in the instruction's rounding mode. `volatile` prevents the C
 * compiler from moving the operation across the changes of the CPU's rounding mode. */
#define LANEWISE_TOWARD(name, T, suffix, EXPR)                                                               \
    FUNCTION(name##_##suffix)                                                                                \
    {                                                                                                        \
        T *restrict d = pd;                                                                                  \
        const T *a = pa, *b = pb, *c = pc;                                                                   \
        set_rounding(in);                                                                                    \
        for (int i = 0; i < LANES; i++) {                                                                    \
            volatile T x = a[i], y = b[i], z = c[i], r;                                                      \
            (void)y, (void)z;                                                                                \
            r = EXPR;                                                                                        \
            d[i] = canonical_##suffix(r);                                                                    \
        }                                                                                                    \
        fesetround(FE_TONEAREST);                                                                            \
    }
/* Like LANEWISE_TOWARD, but for an instruction with .ftz, which flushes a result to zero if it is subnormal
 * before rounding. A result of +-2^-126 may have been rounded up from a subnormal number. To detect this, the
 * operation is repeated with rounding toward zero. */
#define LANEWISE_FTZ(name, EXPR)                                                                             \
    FUNCTION(name##_exact_ftz_f32)                                                                           \
    {                                                                                                        \
        float *restrict d = pd;                                                                              \
        const float *a = pa, *b = pb, *c = pc;                                                               \
        set_rounding(in);                                                                                    \
        for (int i = 0; i < LANES; i++) {                                                                    \
            volatile float x = emu_flush(a[i]), y = emu_flush(b[i]), z = emu_flush(c[i]), r;                 \
            (void)y, (void)z;                                                                                \
            r = EXPR;                                                                                        \
            if (fabsf(r) == 0x1p-126f) {                                                                     \
                fesetround(FE_TOWARDZERO);                                                                   \
                r = EXPR;                                                                                    \
                set_rounding(in);                                                                            \
            }                                                                                                \
            d[i] = canonical_f32(emu_flush(r));                                                                  \
        }                                                                                                    \
        fesetround(FE_TONEAREST);                                                                            \
    }
#define BOTH(name, EXPR32, EXPR64) LANEWISE(name, float, f32, EXPR32) LANEWISE(name, double, f64, EXPR64)

BOTH(add, x + y, x + y)
BOTH(sub, x - y, x - y)
BOTH(mul, x * y, x * y)
BOTH(div, x / y, x / y)
BOTH(fma, fmaf(x, y, z), fma(x, y, z))
BOTH(sqrt, sqrtf(x), sqrt(x))

/* Implements .sat: clamps a result to the range from 0 to 1. NaN and -0 become +0. */
static float saturated(float x)
{
    return x > 0 ? fminf(x, 1) : 0;
}
LANEWISE(add_sat, float, f32, saturated(x + y))
LANEWISE(fma_sat, float, f32, saturated(fmaf(x, y, z)))
#define BOTH_TOWARD(name, EXPR32, EXPR64)                                                                    \
    LANEWISE_TOWARD(name##_toward, float, f32, EXPR32)                                                       \
    LANEWISE_TOWARD(name##_toward, double, f64, EXPR64)                                                      \
    LANEWISE_FTZ(name, EXPR32)
BOTH_TOWARD(add, x + y, x + y)
BOTH_TOWARD(sub, x - y, x - y)
BOTH_TOWARD(mul, x * y, x * y)
BOTH_TOWARD(div, x / y, x / y)
BOTH_TOWARD(fma, fmaf(x, y, z), fma(x, y, z))
BOTH_TOWARD(sqrt, sqrtf(x), sqrt(x))

/* -- min, max: if one operand is NaN, the result is the other operand, or, with the modifier .NaN, a NaN; -0
 * is less than +0 -- */

#define LESS(x, y) ((x) < (y) || ((x) == (y) && signbit(x) && !signbit(y)))
#define PICK(x, y, first) ((x) != (x) ? (y) : (y) != (y) ? (x) : (first) ? (x) : (y))
#define PICK_NAN(x, y, first) ((x) != (x) ? (x) : (y) != (y) ? (y) : (first) ? (x) : (y))
BOTH(min, PICK(x, y, LESS(x, y)), PICK(x, y, LESS(x, y)))
BOTH(max, PICK(x, y, LESS(y, x)), PICK(x, y, LESS(y, x)))
LANEWISE(min_nan, float, f32, PICK_NAN(x, y, LESS(x, y)))
LANEWISE(max_nan, float, f32, PICK_NAN(x, y, LESS(y, x)))

/* Returns the number of 16-bit floats of all lanes: one per lane for f16 and bf16, two for f16x2 and bf16x2. */
static int count_halves(const struct emu_insn *in)
{
    return in->type == PT_f16x2 || in->type == PT_bf16x2 ? 2 * LANES : LANES;
}

static enum ptype half_type(const struct emu_insn *in)
{
    return in->type == PT_f16 || in->type == PT_f16x2 ? PT_f16 : PT_bf16;
}

/* -- neg and abs change only the sign bit. Exception: for a NaN of f32 or of a 16-bit type, the result is the
 * GPU's canonical NaN (the ISA does not specify which NaN it is) -- */

#define SIGN_BIT(name, T, n, infinity, nan, EXPR)                                                            \
    FUNCTION(name)                                                                                           \
    {                                                                                                        \
        (void)in;                                                                                            \
        T *restrict d = pd;                                                                                  \
        const T *a = pa;                                                                                     \
        (void)pb, (void)pc;                                                                                  \
        for (int i = 0; i < (n); i++) {                                                                      \
            const T x = a[i];                                                                                \
            d[i] = (T)((x & (nan)) > (infinity) ? (nan) : (EXPR));                                           \
        }                                                                                                    \
    }
SIGN_BIT(neg_f32, uint32_t, LANES, 0x7f800000u, 0x7fffffffu, x ^ 0x80000000u)
SIGN_BIT(abs_f32, uint32_t, LANES, 0x7f800000u, 0x7fffffffu, x & 0x7fffffffu)
SIGN_BIT(neg_f64, uint64_t, LANES, UINT64_MAX, UINT64_MAX >> 1, x ^ 0x8000000000000000u)
SIGN_BIT(abs_f64, uint64_t, LANES, UINT64_MAX, UINT64_MAX >> 1, x & 0x7fffffffffffffffu)
SIGN_BIT(neg_half, uint16_t, count_halves(in), half_type(in) == PT_f16 ? 0x7c00 : 0x7f80, 0x7fff, x ^ 0x8000u)
SIGN_BIT(abs_half, uint16_t, count_halves(in), half_type(in) == PT_f16 ? 0x7c00 : 0x7f80, 0x7fff, x & 0x7fffu)

/* -- approximate functions; .ftz flushes subnormal operands and results to zero. The functions of special.c give the
 * same bits as an H200 -- */

LANEWISE(ex2, float, f32, special_ex2(x))
LANEWISE(lg2, float, f32, special_lg2(x))
LANEWISE(rsqrt, float, f32, 1 / sqrt((double)x))
LANEWISE(rcp, float, f32, 1 / x)

/* ptxas compiles div.full to a multiplication of x by the special function unit's reciprocal of y. If y is very large
 * or subnormal, ptxas first scales both x and y by a power of two. */
static float div_by_unit(float x, float y)
{
    bool is_large = fabsf(y) > 0x1p126f, is_tiny = fabsf(y) < 0x1p-126f;
    float scale = is_large ? 0.25f : is_tiny ? 0x1p24f : 1;
    volatile float scaled = x * scale;
    return scaled * special_rcp_ftz(y * scale);
}
LANEWISE(div_full, float, f32, div_by_unit(x, y))
LANEWISE(div_full_const, float, f32, x * (1 / y)) /* if y is a constant, ptxas rounds 1 / y to nearest */
LANEWISE(rcp_ftz, float, f32, special_rcp_ftz(x))
LANEWISE(ex2_ftz, float, f32, special_ex2_ftz(x))
LANEWISE(lg2_ftz, float, f32, special_lg2_ftz(x))
LANEWISE(rsqrt_ftz, float, f32, special_rsqrt_ftz(x))
LANEWISE(sqrt_ftz, float, f32, special_sqrt_ftz(x))

/* -- 16-bit floats: one per lane for f16 and bf16, two per lane for f16x2 and bf16x2 -- */

/* Returns p + c as a double, rounded to odd if the sum is inexact. Rounding this double once more, to 16
 * bits, gives the correctly rounded sum. */
static double add_to_odd(double p, double c)
{
    double s = p + c;
    if (!isfinite(s))
        return s;
    double back = s - p, error = (p - (s - back)) + (c - back);
    uint64_t bits;
    memcpy(&bits, &s, sizeof bits);
    return error != 0 && !(bits & 1) ? nextafter(s, error > 0 ? INFINITY : -INFINITY) : s;
}

#define HALVES(name, EXPR)                                                                                   \
    FUNCTION(name##_half)                                                                                    \
    {                                                                                                        \
        const enum ptype type = half_type(in);                                                               \
        uint16_t *restrict d = pd;                                                                           \
        const uint16_t *a = pa, *b = pb, *c = pc;                                                            \
        for (int i = 0; i < count_halves(in); i++) {                                                         \
            const double x = emu_half_value(type, a[i]), y = emu_half_value(type, b[i]);                     \
            const double z = emu_half_value(type, c[i]);                                                     \
            (void)z;                                                                                         \
            d[i] = emu_half_round(type, EXPR);                                                               \
        }                                                                                                    \
    }
HALVES(add, add_to_odd(x, y))
HALVES(sub, add_to_odd(x, -y))
HALVES(mul, x * y)
HALVES(fma, add_to_odd(x * y, z))
HALVES(min, PICK(x, y, LESS(x, y)))
HALVES(max, PICK(x, y, LESS(y, x)))
HALVES(min_nan, PICK_NAN(x, y, LESS(x, y)))
HALVES(max_nan, PICK_NAN(x, y, LESS(y, x)))

/* -- selecting the function for an instruction -- */

#define FLOATS(code, op)                                                                                     \
    {code, PT_f32, op##_f32},                                                                                \
    {                                                                                                        \
        code, PT_f64, op##_f64                                                                               \
    }
#define SMALL(code, op)                                                                                      \
    {code, PT_f16, op##_half}, {code, PT_f16x2, op##_half}, {code, PT_bf16, op##_half},                      \
    {                                                                                                        \
        code, PT_bf16x2, op##_half                                                                           \
    }
static const struct emu_row nearest[] = {
    FLOATS(INSN_add, add), SMALL(INSN_add, add),    FLOATS(INSN_sub, sub), SMALL(INSN_sub, sub),
    FLOATS(INSN_mul, mul), SMALL(INSN_mul, mul),    FLOATS(INSN_fma, fma), SMALL(INSN_fma, fma),
    FLOATS(INSN_div, div), FLOATS(INSN_sqrt, sqrt),
};
static const struct emu_row toward[] = {
    FLOATS(INSN_add, add_toward), FLOATS(INSN_sub, sub_toward), FLOATS(INSN_mul, mul_toward),
    FLOATS(INSN_div, div_toward), FLOATS(INSN_fma, fma_toward), FLOATS(INSN_sqrt, sqrt_toward),
};
static const struct emu_row flushing_toward[] = {
    {INSN_add, PT_f32, add_exact_ftz_f32}, {INSN_sub, PT_f32, sub_exact_ftz_f32},
    {INSN_mul, PT_f32, mul_exact_ftz_f32}, {INSN_div, PT_f32, div_exact_ftz_f32},
    {INSN_fma, PT_f32, fma_exact_ftz_f32}, {INSN_sqrt, PT_f32, sqrt_exact_ftz_f32},
};
static const struct emu_row unrounded[] = {
    FLOATS(INSN_min, min), SMALL(INSN_min, min),      FLOATS(INSN_max, max), SMALL(INSN_max, max),
    FLOATS(INSN_neg, neg), SMALL(INSN_neg, neg), FLOATS(INSN_abs, abs), SMALL(INSN_abs, abs),
    SMALL(INSN_add, add),  SMALL(INSN_sub, sub),      SMALL(INSN_mul, mul),
    FLOATS(INSN_add, add), FLOATS(INSN_sub, sub),     FLOATS(INSN_mul, mul),
};
static const struct emu_row seeing_nan[] = {
    {INSN_min, PT_f32, min_nan_f32},
    SMALL(INSN_min, min_nan),
    {INSN_max, PT_f32, max_nan_f32},
    SMALL(INSN_max, max_nan),
};
static const struct emu_row approximate[] = {
    {INSN_ex2, PT_f32, ex2_f32},
    {INSN_lg2, PT_f32, lg2_f32},
    {INSN_rsqrt, PT_f32, rsqrt_f32},
    {INSN_sqrt, PT_f32, sqrt_f32},
    {INSN_rcp, PT_f32, rcp_f32},
};
static const struct emu_row flushing[] = {
    {INSN_ex2, PT_f32, ex2_ftz_f32},
    {INSN_lg2, PT_f32, lg2_ftz_f32},
    {INSN_rsqrt, PT_f32, rsqrt_ftz_f32},
    {INSN_sqrt, PT_f32, sqrt_ftz_f32},
    {INSN_rcp, PT_f32, rcp_ftz_f32},
};
static const struct emu_row saturating[] = {{INSN_add, PT_f32, add_sat_f32}, {INSN_fma, PT_f32, fma_sat_f32}};
static const struct emu_row full_range[] = {{INSN_div, PT_f32, div_full_f32}};

emu_compute *emu_float(const struct emu_insn *in)
{
    if (in->mods[0] == MOD_approx && in->mods[1] == MOD_ftz && !in->mods[2])
        return EMU_FIND(flushing, in->code, in->type);
    bool rounds = in->mods[0] == MOD_rn || in->mods[0] == MOD_rz || in->mods[0] == MOD_rm || in->mods[0] == MOD_rp;
    if (rounds && in->mods[1] == MOD_ftz && !in->mods[2])
        return EMU_FIND(flushing_toward, in->code, in->type);
    if (in->mods[0] == MOD_rn && in->mods[1] == MOD_sat && !in->mods[2])
        return EMU_FIND(saturating, in->code, in->type);
    if (in->mods[0] && in->mods[1])
        return NULL;
    switch (in->mods[0]) {
    case MOD_none: return EMU_FIND(unrounded, in->code, in->type);
    case MOD_rn: return EMU_FIND(nearest, in->code, in->type);
    case MOD_rz:
    case MOD_rm:
    case MOD_rp: return EMU_FIND(toward, in->code, in->type);
    case MOD_prop_nan: return EMU_FIND(seeing_nan, in->code, in->type);
    case MOD_approx: return EMU_FIND(approximate, in->code, in->type);
    case MOD_full:
        return in->type == PT_f32 && in->opnds[2].reg < 0 ? div_full_const_f32
                                                           : EMU_FIND(full_range, in->code, in->type);
    default: return NULL;
    }
}
