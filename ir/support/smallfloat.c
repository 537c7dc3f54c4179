/* SPDX-License-Identifier: MIT */
/* smallfloat.c: converts between C's float or double and the bits of float formats for which C has no type.
 *
 *              sign exponent mantissa  bias   infinity  NaN            largest
 *     f16         1        5       10    15   7c00      7c01..7fff     65504
 *     bf16        1        8        7   127   7f80      7f81..7fff     3.39e38
 *     f8e5        1        5        2    15   7c        7d..7f         57344
 *     f8e4        1        4        3     7   none      7f             448
 *
 * Widening is exact. Narrowing treats a double's exponent and mantissa as one integer, and rounds this integer to
 * fewer bits. If rounding up carries out of the mantissa, the carry thus increments the exponent, as it must.
 * If a number, rounded to nearest, exceeds the largest finite number, the result is infinity in f16 and bf16,
 * and the largest finite number in fp8. (Rounded toward zero, the result is the largest finite number in all
 * formats.) Every NaN becomes the NaN whose sign bit is 0 and whose other bits are all ones, as on the GPU.
 * The code uses only integers and exact products (except double_to_bits for f32), so neither the CPU's
 * rounding mode nor its mode that flushes subnormals affects the results. */
#include "ir/ir.h"

#include <math.h>
#include <string.h>

static uint32_t float_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static float bits_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static uint64_t double_bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static double bits_double(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

enum { FLOAT_MANTISSA = 23, FLOAT_BIAS = 127, DOUBLE_MANTISSA = 52, DOUBLE_BIAS = 1023 };

struct format {
    int bits, mantissa, bias;
    uint32_t largest; /* bits of the largest finite number */
    uint32_t above;   /* bits of the result for a larger number */
};

static const struct format f16_format = {16, 10, 15, 0x7bff, 0x7c00};
static const struct format bf16_format = {16, 7, 127, 0x7f7f, 0x7f80};
static const struct format f8e5_format = {8, 2, 15, 0x7b, 0x7b};
static const struct format f8e4_format = {8, 3, 7, 0x7e, 0x7e};

/* -- narrowing -- */

static uint64_t shift_right_even(uint64_t x, int n)
{
    uint64_t half = UINT64_C(1) << (n - 1);
    return (x + (half - 1) + (x >> n & 1)) >> n;
}

static uint32_t narrow(const struct format *f, double x, bool rz)
{
    uint64_t bits = double_bits(x), magnitude = bits & INT64_MAX;
    uint32_t sign = (uint32_t)(bits >> 63) << (f->bits - 1);
    if (isnan(x))
        return (UINT32_C(1) << (f->bits - 1)) - 1;
    if (isinf(x))
        return sign | f->above;
    int shift = DOUBLE_MANTISSA - f->mantissa;
    int64_t rebias = (int64_t)(DOUBLE_BIAS - f->bias) << DOUBLE_MANTISSA;
    int exponent = (int)(magnitude >> DOUBLE_MANTISSA) - DOUBLE_BIAS + f->bias;
    if (exponent >= 1) {
        magnitude -= (uint64_t)rebias;
    } else { /* a subnormal result: the implicit leading one becomes explicit, and shifts right */
        magnitude = (magnitude & ((UINT64_C(1) << DOUBLE_MANTISSA) - 1)) | UINT64_C(1) << DOUBLE_MANTISSA;
        shift += 1 - exponent;
        if (shift > DOUBLE_MANTISSA + 2)
            return sign;
    }
    uint64_t r = rz ? magnitude >> shift : shift_right_even(magnitude, shift);
    if (r > f->largest)
        r = rz ? f->largest : f->above;
    return sign | (uint32_t)r;
}

uint16_t double_to_f16(double x, bool rz)
{
    return (uint16_t)narrow(&f16_format, x, rz);
}

uint16_t double_to_bf16(double x, bool rz)
{
    return (uint16_t)narrow(&bf16_format, x, rz);
}

/* A fast path rounds numbers that are normal in both formats, which most numbers are. */
uint16_t float_to_f16(float x, bool rz)
{
    enum { SHIFT = FLOAT_MANTISSA - 10, REBIAS = FLOAT_BIAS - 15 };
    const uint32_t smallest_normal = 0x38800000, largest = 0x477fe000; /* the floats 2^-14 and 65504 */
    uint32_t bits = float_bits(x), magnitude = bits & INT32_MAX;
    if (magnitude < smallest_normal || magnitude >= largest)
        return double_to_f16((double)x, rz);
    magnitude -= (uint32_t)REBIAS << FLOAT_MANTISSA;
    uint32_t r = rz ? magnitude >> SHIFT : (uint32_t)shift_right_even(magnitude, SHIFT);
    return (uint16_t)(bits >> 31 << 15 | r);
}

/* The bits of a bf16 are the upper half of a float. */
uint16_t float_to_bf16(float x, bool rz)
{
    uint32_t bits = float_bits(x);
    if (isnan(x))
        return 0x7fff;
    if (!rz)
        bits += 0x7fff + (bits >> 16 & 1);
    return (uint16_t)(bits >> 16);
}

uint8_t double_to_f8e5(double x, bool rz)
{
    return (uint8_t)narrow(&f8e5_format, x, rz);
}

float float_to_tf32(float x)
{
    enum { DROPPED = FLOAT_MANTISSA - 10 };
    return isnan(x) ? x : bits_float(float_bits(x) >> DROPPED << DROPPED);
}

/* -- widening -- */

float f16_to_float(uint16_t h)
{
    enum { SHIFT = FLOAT_MANTISSA - 10, REBIAS = FLOAT_BIAS - 15 };
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fff;
    uint32_t normal = (magnitude << SHIFT) + ((uint32_t)REBIAS << FLOAT_MANTISSA);
    uint32_t subnormal = float_bits((float)(int)magnitude * 0x1p-24f);
    uint32_t special = 0x7f800000 | magnitude << SHIFT;
    return bits_float(sign | (magnitude >= 0x7c00 ? special : magnitude >= 0x400 ? normal : subnormal));
}

float bf16_to_float(uint16_t h)
{
    return bits_float((uint32_t)h << 16);
}

float f8e4_to_float(uint8_t h)
{
    enum { SHIFT = FLOAT_MANTISSA - 3, REBIAS = FLOAT_BIAS - 7 };
    uint32_t sign = (uint32_t)(h & 0x80) << 24, magnitude = h & 0x7f;
    uint32_t normal = (magnitude << SHIFT) + ((uint32_t)REBIAS << FLOAT_MANTISSA);
    uint32_t subnormal = float_bits((float)(int)magnitude * 0x1p-9f);
    return bits_float(sign | (magnitude == 0x7f ? 0x7fffffff : magnitude >= 8 ? normal : subnormal));
}

/* The bits of an f8e5 are the upper half of an f16. */
float f8e5_to_float(uint8_t h)
{
    return f16_to_float((uint16_t)(h << 8));
}

/* -- by dtype -- */

uint64_t double_to_bits(enum dtype dtype, double x)
{
    switch (dtype) {
    case DT_f8e4: return narrow(&f8e4_format, x, false);
    case DT_f8e5: return double_to_f8e5(x, false);
    case DT_f16: return double_to_f16(x, false);
    case DT_bf16: return double_to_bf16(x, false);
    case DT_f32: return isnan(x) ? 0x7fffffff : float_bits((float)x);
    default: return isnan(x) ? INT64_MAX : double_bits(x);
    }
}

double bits_to_double(enum dtype dtype, uint64_t bits)
{
    switch (dtype) {
    case DT_f8e4: return (double)f8e4_to_float((uint8_t)bits);
    case DT_f8e5: return (double)f8e5_to_float((uint8_t)bits);
    case DT_f16: return (double)f16_to_float((uint16_t)bits);
    case DT_bf16: return (double)bf16_to_float((uint16_t)bits);
    case DT_f32: return (double)bits_float((uint32_t)bits);
    default: return bits_double(bits);
    }
}
