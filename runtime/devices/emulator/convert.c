/* SPDX-License-Identifier: MIT */
/* convert.c: executes cvt (PTX ISA, "Data Movement and Conversion Instructions: cvt"), and conversions of floats of
 * 8 and 16 bits.
 *
 *     lanes of the source type ─► 64-bit integers or doubles, which represent every value ─► lanes of the result type
 *
 * round_to rounds a double to any narrower format, to nearest or toward zero, in a single step. Conversions to f32 and
 * f64 that round toward zero, down or up set the CPU's rounding mode instead. */
#include "runtime/devices/emulator/machine.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

/* -- formats: sign, exponent, mantissa -- */

struct format {
    int exponent_bits, mantissa_bits;
    /* the bits of the largest finite value and of NaN, without the sign bit. If the format has an infinity,
     * its bits are largest + 1 */
    uint32_t largest, nan;
    bool has_infinity;
};

static const struct format formats[PT_count] = {
    [PT_f16] = {5, 10, 0x7bff, 0x7fff, true},         [PT_bf16] = {8, 7, 0x7f7f, 0x7fff, true},
    [PT_f32] = {8, 23, 0x7f7fffff, 0x7fffffff, true}, [PT_e5m2x2] = {5, 2, 0x7b, 0x7f, true},
    [PT_e4m3x2] = {4, 3, 0x7e, 0x7f, false},
};

static inline double power_of_two(int e)
{
    uint64_t bits = (uint64_t)(1023 + e) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline double value_of(const struct format *f, uint32_t bits)
{
    int bias = (1 << (f->exponent_bits - 1)) - 1, m = f->mantissa_bits;
    uint32_t sign = bits >> (f->exponent_bits + m) & 1,
             magnitude = bits & ((UINT32_C(1) << (f->exponent_bits + m)) - 1);
    int e = (int)(magnitude >> m);
    uint32_t mantissa = magnitude & ((UINT32_C(1) << m) - 1);
    double x;
    if (magnitude > f->largest)
        x = f->has_infinity && magnitude == f->largest + 1 ? (double)INFINITY : (double)NAN;
    else if (e == 0)
        x = mantissa * power_of_two(1 - bias - m);
    else
        x = (mantissa | UINT32_C(1) << m) * power_of_two(e - bias - m);
    return sign ? -x : x;
}

/* Returns the bits of x in format f, rounded to nearest even, or toward zero. A number that is too large
 * becomes an infinity, or, if rounded toward zero, the largest finite value. If `finite` is true or the
 * format has no infinity, the largest finite value replaces every infinity. */
static inline uint32_t round_to(const struct format *f, double x, bool to_zero, bool finite)
{
    int bias = (1 << (f->exponent_bits - 1)) - 1, m = f->mantissa_bits, lowest = 1 - bias;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = (uint32_t)(bits >> 63) << (f->exponent_bits + m);
    if (x != x)
        return f->nan;
    double size = fabs(x);
    if (isinf(x))
        return sign | (finite || !f->has_infinity ? f->largest : f->largest + 1);
    int e = (int)(bits >> 52 & 2047) - 1023;
    if (e > bias + 1)
        return sign | (finite || to_zero || !f->has_infinity ? f->largest : f->largest + 1);
    if (e < lowest)
        e = lowest;
    double scaled = size * power_of_two(m - e); /* the value in units in the last place, without rounding */
    uint64_t whole = (uint64_t)scaled;
    double rest = scaled - (double)whole;
    whole += !to_zero && (rest > 0.5 || (rest == 0.5 && whole & 1));
    uint64_t magnitude = ((uint64_t)(e - lowest) << m) + whole;
    if (magnitude > f->largest)
        return sign | (finite || to_zero || !f->has_infinity ? f->largest : f->largest + 1);
    return sign | (uint32_t)magnitude;
}

double emu_half_value(enum ptype t, uint16_t bits)
{
    return value_of(&formats[t], bits);
}

/* Converts 16-bit floats to doubles. The bits of a bf16 are the upper half of an f32. The fields of an f16
 * are moved into the fields of an f32; a multiplication then corrects the value for the different exponent
 * biases. */
void emu_half_values(enum ptype t, int n, const uint16_t *bits, double *x)
{
    for (int i = 0; i < n; i++) {
        bool is_f16 = t == PT_f16, is_special = is_f16 && (bits[i] & 0x7c00) == 0x7c00;
        uint32_t wide = is_f16 ? (bits[i] & UINT32_C(0x8000)) << 16 | (bits[i] & UINT32_C(0x7fff)) << 13
                               : (uint32_t)bits[i] << 16;
        float f;
        memcpy(&f, &wide, sizeof f);
        x[i] = is_special ? value_of(&formats[t], bits[i]) : is_f16 ? (double)f * 0x1p112 : (double)f;
    }
}

double emu_small_value(enum ptype pair, uint8_t bits)
{
    return value_of(&formats[pair], bits);
}

uint16_t emu_half_round(enum ptype t, double x)
{
    return (uint16_t)round_to(&formats[t], x, false, false);
}

/* -- reading -- */

static bool is_signed(enum ptype t)
{
    return t == PT_s8 || t == PT_s16 || t == PT_s32 || t == PT_s64;
}

static bool is_float(enum ptype t)
{
    return formats[t].mantissa_bits || t == PT_f64;
}

/* Returns lane i of a register, truncated to the width of type t. */
static uint64_t lane_bits(const void *p, enum ptype t, int i)
{
    uint16_t b16;
    uint32_t b32;
    uint64_t b64;
    switch (ptype_info[t].bits) {
    case 8:
    case 16: memcpy(&b16, (const char *)p + 2 * i, 2); return ptype_info[t].bits == 8 ? b16 & 255 : b16;
    case 32: memcpy(&b32, (const char *)p + 4 * i, 4); return b32;
    default: memcpy(&b64, (const char *)p + 8 * i, 8); return b64;
    }
}

static int64_t extend(uint64_t x, enum ptype t)
{
    int unused = 64 - ptype_info[t].bits;
    return is_signed(t) ? (int64_t)(x << unused) >> unused : (int64_t)(x << unused >> unused);
}

static double lane_value(const void *p, enum ptype t, int i)
{
    float f;
    double d;
    if (t == PT_f64)
        memcpy(&d, (const char *)p + 8 * i, sizeof d);
    else if (t == PT_f32)
        memcpy(&f, (const char *)p + 4 * i, sizeof f), d = (double)f;
    else
        d = value_of(&formats[t], (uint32_t)lane_bits(p, t, i));
    return d;
}

/* -- writing -- */

static void put(void *p, enum ptype t, int i, uint64_t bits)
{
    int bytes = emu_class_bytes(ptype_info[t].cls);
    memcpy((char *)p + bytes * i, &bits, (size_t)bytes);
}

static uint64_t double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return x == x ? bits : 0x7fffffffffffffff;
}

static uint64_t float_bits(enum ptype t, double x, const struct emu_insn *in)
{
    return t == PT_f64 ? double_bits(x)
                       : round_to(&formats[t], x, in->mods[0] == MOD_rz, emu_has_mod(in, MOD_sat_finite));
}

/* Clamps a value to the range of type t (PTX ISA, cvt, "Integer Notes"). A NaN becomes 0; but if t has 64
 * bits, or `from` is f64, it becomes the number in which only the highest bit of t is set. */
static uint64_t clamp(double x, enum ptype t, enum ptype from)
{
    int bits = ptype_info[t].bits;
    if (x != x)
        return from != PT_f64 && bits < 64 ? 0 : UINT64_C(1) << (bits - 1);
    double limit = power_of_two(is_signed(t) ? bits - 1 : bits);
    if (is_signed(t))
        return x >= limit   ? (UINT64_C(1) << (bits - 1)) - 1
               : x < -limit ? UINT64_C(1) << (bits - 1)
                            : (uint64_t)(int64_t)x;
    return x >= limit ? ~UINT64_C(0) >> (64 - bits) : x <= 0 ? 0 : (uint64_t)x;
}

static double to_integer(double x, enum mod mode)
{
    switch (mode) {
    case MOD_rni: return nearbyint(x);
    case MOD_rzi: return trunc(x);
    case MOD_rmi: return floor(x);
    case MOD_rpi: return ceil(x);
    default: return x;
    }
}

/* Converts an integer to a double. If the integer has more than 53 bits, keeps the highest 53 bits, and ORs
 * all other bits into the lowest of these (a sticky bit). A later rounding of the double to a narrower format
 * then gives the same result as rounding the integer. */
static double integer_value(int64_t x, bool with_sign)
{
    bool minus = with_sign && x < 0;
    uint64_t size = minus ? 0 - (uint64_t)x : (uint64_t)x;
    int shift = 0;
    for (; size >> 53; shift++)
        size = size >> 1 | (size & 1);
    double d = (double)size * power_of_two(shift);
    return minus ? -d : d;
}

/* -- the instructions -- */

#define FUNCTION(name)                                                                                       \
    static void name(void *restrict d, const void *a, const void *b, const void *c, const struct emu_insn *in)

FUNCTION(int_to_int)
{
    enum ptype t = (enum ptype)in->type, from = (enum ptype)in->from;
    (void)b, (void)c;
    for (int i = 0; i < LANES; i++)
        put(d, t, i, (uint64_t)extend((uint64_t)extend(lane_bits(a, from, i), from), t));
}

FUNCTION(int_to_float)
{
    enum ptype t = (enum ptype)in->type, from = (enum ptype)in->from;
    (void)b, (void)c;
    for (int i = 0; i < LANES; i++) {
        int64_t x = extend(lane_bits(a, from, i), from);
        double nearest = is_signed(from) ? (double)x : (double)(uint64_t)x;
        put(d, t, i,
            t == PT_f64 ? double_bits(nearest) : float_bits(t, integer_value(x, is_signed(from)), in));
    }
}

FUNCTION(float_to_int)
{
    enum ptype t = (enum ptype)in->type, from = (enum ptype)in->from;
    (void)b, (void)c;
    for (int i = 0; i < LANES; i++)
        put(d, t, i,
            (uint64_t)extend(clamp(to_integer(lane_value(a, from, i), (enum mod)in->mods[0]), t, from), t));
}

/* Converts to f32 or f64 if the rounding is toward zero, down or up, or if the instruction has .ftz. A result
 * that would be subnormal without rounding is flushed by .ftz. The function sets the CPU's rounding mode for
 * the conversion. `volatile` prevents the C compiler from moving the conversion across the changes of the
 * mode. */
FUNCTION(to_float_toward)
{
    enum ptype t = (enum ptype)in->type, from = (enum ptype)in->from;
    (void)b, (void)c;
    fesetround(in->mods[0] == MOD_rn   ? FE_TONEAREST
               : in->mods[0] == MOD_rz ? FE_TOWARDZERO
               : in->mods[0] == MOD_rm ? FE_DOWNWARD
                                       : FE_UPWARD);
    for (int i = 0; i < LANES; i++) {
        volatile double x = from == PT_f64 ? lane_value(a, from, i) : 0;
        volatile int64_t whole = from == PT_f64 ? 0 : extend(lane_bits(a, from, i), from);
        volatile float f = from == PT_f64    ? (float)x
                           : is_signed(from) ? (float)whole
                                             : (float)(uint64_t)whole;
        if (in->mods[1] == MOD_ftz && fabs(x) < 0x1p-126)
            f = copysignf(0, f);
        /* clang converts an unsigned 0 to -0 while the mode is FE_DOWNWARD */
        volatile double d64 = from == PT_f64                  ? x
                              : is_signed(from) || whole >= 0 ? (double)whole
                                                              : (double)(uint64_t)whole;
        put(d, t, i, t == PT_f64 ? double_bits(d64) : float_bits(PT_f32, (double)f, in));
    }
    fesetround(FE_TONEAREST);
}

/* Copies the bits of the bf16, instead of converting its value, so that NaNs do not change. */
FUNCTION(bf16_to_f32)
{
    const uint16_t *x = a;
    uint32_t *r = d;
    (void)b, (void)c, (void)in;
    for (int i = 0; i < LANES; i++)
        r[i] = (uint32_t)x[i] << 16;
}

FUNCTION(float_to_float)
{
    enum ptype t = (enum ptype)in->type, from = (enum ptype)in->from;
    (void)b, (void)c;
    for (int i = 0; i < LANES; i++)
        put(d, t, i, float_bits(t, to_integer(lane_value(a, from, i), (enum mod)in->mods[0]), in));
}

/* Rounds an f32 to an integral value, which is also an f32. Flushes subnormal operands to 0. */
FUNCTION(flushed_to_whole)
{
    (void)b, (void)c;
    for (int i = 0; i < LANES; i++) {
        double x = lane_value(a, PT_f32, i);
        put(d, PT_f32, i,
            float_bits(PT_f32, to_integer(fabs(x) < 0x1p-126 ? copysign(0, x) : x, (enum mod)in->mods[0]),
                       in));
    }
}

/* Packs two values into one register: a into the upper half, b into the lower half. */
FUNCTION(pair)
{
    enum ptype t = (enum ptype)in->type, half = t == PT_f16x2 ? PT_f16 : t == PT_bf16x2 ? PT_bf16 : t;
    int bits = ptype_info[t].bits / 2;
    (void)c;
    for (int i = 0; i < LANES; i++)
        put(d, t, i,
            float_bits(half, lane_value(a, PT_f32, i), in) << bits |
                float_bits(half, lane_value(b, PT_f32, i), in));
}

/* Converts two 8-bit floats to two f16. The conversion is exact. */
FUNCTION(unpair)
{
    enum ptype from = (enum ptype)in->from;
    (void)b, (void)c;
    for (int i = 0; i < LANES; i++) {
        uint64_t two = lane_bits(a, PT_b16, i);
        uint32_t low = round_to(&formats[PT_f16], value_of(&formats[from], two & 255), false, false);
        uint32_t high =
            round_to(&formats[PT_f16], value_of(&formats[from], (uint32_t)two >> 8), false, false);
        put(d, PT_f16x2, i, (uint64_t)high << 16 | low);
    }
}

static bool is_small_pair(enum ptype t)
{
    return t == PT_e4m3x2 || t == PT_e5m2x2;
}

static bool is_plain(enum ptype t)
{
    return t != PT_none && t != PT_pred && t != PT_f16x2 && t != PT_bf16x2 && !is_small_pair(t);
}

/* Returns the function for a cvt with one source operand; NULL if the rounding mode is not allowed for the
 * types (PTX ISA, cvt, "Semantics" and "Notes"). */
static emu_compute *plain(const struct emu_insn *in)
{
    enum ptype t = (enum ptype)in->type, from = (enum ptype)in->from;
    enum mod mode = (enum mod)in->mods[0];
    bool whole = mode == MOD_rni || mode == MOD_rzi || mode == MOD_rmi || mode == MOD_rpi;
    bool is_toward = mode == MOD_rz || mode == MOD_rm || mode == MOD_rp;
    if (t == PT_f32 && from == PT_f64 && (is_toward || mode == MOD_rn) && in->mods[1] == MOD_ftz &&
        !in->mods[2])
        return to_float_toward;
    if (t == PT_f32 && from == PT_f32 && whole && in->mods[1] == MOD_ftz && !in->mods[2])
        return flushed_to_whole;
    if (in->mods[0] && in->mods[1])
        return NULL;
    if (!is_float(t) && !is_float(from))
        return mode ? NULL : int_to_int;
    if (!is_float(t))
        return whole ? float_to_int : NULL;
    if (is_toward && (t == PT_f32 || t == PT_f64) && (!is_float(from) || (t == PT_f32 && from == PT_f64)))
        return to_float_toward;
    if (!is_float(from))
        return mode == MOD_rn ? int_to_float : NULL;
    if (t == PT_f32 && from == PT_bf16 && !mode)
        return bf16_to_f32;
    bool narrows = ptype_info[t].bits < ptype_info[from].bits, same = t == from;
    return (narrows ? mode == MOD_rn || mode == MOD_rz : same ? whole : !mode) ? float_to_float : NULL;
}

emu_compute *emu_convert(const struct emu_insn *in)
{
    enum ptype t = (enum ptype)in->type, from = (enum ptype)in->from;
    bool rounds = in->mods[0] == MOD_rn || in->mods[0] == MOD_rz;
    if (in->code == INSN_cvt2 && from == PT_f32 && rounds) {
        bool finite = in->mods[1] == MOD_sat_finite && !in->mods[2];
        return (t == PT_f16x2 || t == PT_bf16x2) && !in->mods[1] ? pair
               : is_small_pair(t) && finite                      ? pair
                                                                 : NULL;
    }
    if (in->code == INSN_cvt && t == PT_f16x2 && is_small_pair(from))
        return in->mods[0] == MOD_rn && !in->mods[1] ? unpair : NULL;
    return in->code == INSN_cvt && is_plain(t) && is_plain(from) ? plain(in) : NULL;
}
