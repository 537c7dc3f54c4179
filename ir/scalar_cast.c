/* SPDX-License-Identifier: MIT */
/* scalar_cast.c: computes casts, element by element (see scalar.c).
 *
 * A cast reads a block of elements into an intermediate type (int64_t for integers, double for floats),
 * converts between the two intermediate types if needed, and then writes the result's type. Hence there is
 * one loop for each type instead of one for each pair of types.
 *
 * An integer is rounded once to f32 or f64. For f16, bf16 and fp8, an integer is rounded to f32 first and then to the
 * result, as on the GPU. (For f16, one rounding would have the same result: an integer that f32 does not represent
 * exactly overflows f16.) In a cast to 32 or 64 bits, a float outside the range of the integer type becomes the
 * nearest number in the range. A cast to 8 or 16 bits saturates to the range of 16 bits, and then keeps the low bits.
 * A cast to i1 converts to i32, and keeps the lowest bit. NaN becomes 0 or, if source or result has 64 bits,
 * the smallest signed number of the width to which the cast saturates. */
#include "ir/ir.h"

#include <math.h>

enum { CHUNK = 256 };

/* -- elements of any type in memory -- */

static const void *at(const void *x, enum dtype type, int64_t i)
{
    return (const char *)x + i * dtype_info[type].bytes;
}

static void read_ints(enum dtype type, bool with_sign, int64_t n, int64_t *restrict r, const void *x)
{
    switch (type) {
#define CASE(dtype, signed_type, unsigned_type)                                                              \
    case DT_##dtype:                                                                                         \
        for (int64_t i = 0; i < n; i++)                                                                      \
            r[i] =                                                                                           \
                with_sign ? (int64_t)((const signed_type *)x)[i] : (int64_t)((const unsigned_type *)x)[i];   \
        break;
        CASE(i8, int8_t, uint8_t)
        CASE(i16, int16_t, uint16_t)
        CASE(i32, int32_t, uint32_t)
        CASE(i64, int64_t, uint64_t)
#undef CASE
    default: /* i1 */
        for (int64_t i = 0; i < n; i++)
            r[i] =
                with_sign ? -(int64_t)(((const uint8_t *)x)[i] & 1) : (int64_t)(((const uint8_t *)x)[i] & 1);
    }
}

static void write_ints(enum dtype type, int64_t n, void *r, const int64_t *x)
{
    switch (type) {
#define CASE(dtype, unsigned_type)                                                                           \
    case DT_##dtype:                                                                                         \
        for (int64_t i = 0; i < n; i++)                                                                      \
            ((unsigned_type *)r)[i] = (unsigned_type)x[i];                                                   \
        break;
        CASE(i8, uint8_t)
        CASE(i16, uint16_t)
        CASE(i32, uint32_t)
        CASE(i64, uint64_t)
#undef CASE
    default:
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)r)[i] = x[i] & 1;
    }
}

static void read_floats(enum dtype type, int64_t n, double *restrict r, const void *x)
{
    switch (type) {
#define CASE(dtype, memory_type, value)                                                                      \
    case DT_##dtype:                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const memory_type e = ((const memory_type *)x)[i];                                               \
            r[i] = (double)(value);                                                                          \
        }                                                                                                    \
        break;
        CASE(f8e4, uint8_t, f8e4_to_float(e))
        CASE(f8e5, uint8_t, f8e5_to_float(e))
        CASE(f16, uint16_t, f16_to_float(e))
        CASE(bf16, uint16_t, bf16_to_float(e))
        CASE(f32, float, e)
    default: CASE(f64, double, e)
#undef CASE
    }
}

/* x was rounded to the nearest float f. `order` is positive if f > x, and negative if f < x. If f is the correct
 * result in this rounding mode, returns NaN. Otherwise the correct result is the neighbour of f on the other side of
 * x; returns the infinity on that side, which callers pass to nextafter as the direction. */
static double wrong_side(enum rounding round, double x, int order)
{
    bool down = round == ROUND_rd || (round == ROUND_rz && x > 0),
         up = round == ROUND_ru || (round == ROUND_rz && x < 0);
    return order > 0 && down ? -INFINITY : order < 0 && up ? INFINITY : NAN;
}

static float to_float(double x, enum rounding round)
{
    float f = (float)x;
    double to = isfinite(x) ? wrong_side(round_mode(round), x, ((double)f > x) - ((double)f < x)) : NAN;
    if (!isnan(to))
        f = nextafterf(f, (float)to);
    /* GPUs flush subnormal numbers before they round. */
    return round_flushes(round) && fabs(x) < 0x1p-126 ? copysignf(0, f) : f;
}

static void write_floats(enum dtype type, enum rounding round, int64_t n, void *r, const double *x)
{
    bool rz = round == ROUND_rz;
    switch (type) {
#define CASE(dtype, memory_type, value)                                                                      \
    case DT_##dtype:                                                                                         \
        for (int64_t i = 0; i < n; i++)                                                                      \
            ((memory_type *)r)[i] = (memory_type)(value);                                                    \
        break;
        CASE(f16, uint16_t, double_to_f16(x[i], rz))
        CASE(bf16, uint16_t, double_to_bf16(x[i], rz))
        CASE(f32, float, round > ROUND_rn ? to_float(x[i], round) : (float)x[i])
        CASE(f64, double, x[i])
        CASE(f8e5, uint8_t, double_to_f8e5(x[i], rz))
    default: CASE(f8e4, uint8_t, double_to_bits(DT_f8e4, x[i]))
#undef CASE
    }
}

/* -- between integers and floats -- */

__extension__ typedef __int128 wide;

static void ints_to_floats(enum dtype to, bool with_sign, enum rounding round, int64_t n, double *restrict r,
                           const int64_t *x)
{
    for (int64_t i = 0; i < n; i++) {
        double d = with_sign ? (double)x[i] : (double)(uint64_t)x[i];
        float f = with_sign ? (float)x[i] : (float)(uint64_t)x[i];
        r[i] = to == DT_f64 ? d : (double)f;
        if (round <= ROUND_rn)
            continue;
        wide whole = with_sign ? (wide)x[i] : (wide)(uint64_t)x[i], found = (wide)r[i];
        double toward = wrong_side(round, r[i], (found > whole) - (found < whole));
        if (!isnan(toward))
            r[i] = to == DT_f64 ? nextafter(r[i], toward) : (double)nextafterf((float)r[i], (float)toward);
    }
}

/* Numbers up to `lo` become `first`, numbers from `end` on become `last`, NaN becomes `nan`; all other
 * numbers are rounded toward zero. */
struct int_range {
    double lo, end;
    int64_t first, last, nan;
};

static struct int_range range_for(enum dtype from, enum dtype to, bool with_sign)
{
    int bits = to == DT_i64 ? 64 : to == DT_i32 || to == DT_i1 ? 32 : 16;
    struct int_range r = {.end = ldexp(1, with_sign ? bits - 1 : bits)};
    r.last = (int64_t)(UINT64_MAX >> (with_sign ? 65 - bits : 64 - bits));
    r.lo = with_sign ? -r.end : 0;
    r.first = with_sign ? -r.last - 1 : 0;
    r.nan = bits == 64 ? INT64_MIN : from == DT_f64 ? -(INT64_C(1) << (bits - 1)) : 0;
    return r;
}

static int64_t float_to_int(const struct int_range *r, double x)
{
    if (isnan(x))
        return r->nan;
    if (x >= r->end)
        return r->last;
    if (x <= r->lo)
        return r->first;
    return x < 0x1p63 ? (int64_t)x : (int64_t)(uint64_t)x;
}

/* -- casts -- */

static void cast_some(enum opcode code, enum dtype from, enum dtype to, enum rounding round, int64_t n,
                      void *r, const void *x)
{
    int64_t ints[CHUNK];
    double floats[CHUNK];
    bool with_sign = code == OP_sext || code == OP_stof || code == OP_ftos;
    if (dtype_info[from].kind == DTYPE_int)
        read_ints(from, with_sign, n, ints, x);
    else
        read_floats(from, n, floats, x);
    if (code == OP_stof || code == OP_utof)
        ints_to_floats(to, with_sign, round, n, floats, ints);
    if (code == OP_ftos || code == OP_ftou) {
        struct int_range range = range_for(from, to, with_sign);
        for (int64_t i = 0; i < n; i++)
            ints[i] = float_to_int(&range, floats[i]);
    }
    if (dtype_info[to].kind == DTYPE_int)
        write_ints(to, n, r, ints);
    else
        write_floats(to, round, n, r, floats);
}

bool scalar_cast(enum opcode code, enum dtype from, enum dtype to, enum rounding round, int64_t n,
                 void *result, const void *x)
{
    for (int64_t done = 0; done < n; done += CHUNK)
        cast_some(code, from, to, round, n - done < CHUNK ? n - done : CHUNK,
                  (char *)result + done * dtype_info[to].bytes, at(x, from, done));
    return true;
}
