/* SPDX-License-Identifier: MIT */
/* smallfloat.c: compares the conversions of f16, bf16 and fp8 with their definitions. The test decodes bits with
 * ldexp, and rounds by searching all values for the nearest value. */
#include "ir/ir.h"
#include "tests/unit/test.h"

#include <math.h>

struct format {
    const char *name;
    enum dtype dtype;
    int bits, mantissa, bias;
    bool has_inf, saturates;
};

static const struct format formats[] = {{"f16", DT_f16, 16, 10, 15, true, false},
                                        {"bf16", DT_bf16, 16, 7, 127, true, false},
                                        {"f8e5", DT_f8e5, 8, 2, 15, true, true},
                                        {"f8e4", DT_f8e4, 8, 3, 7, false, true}};
enum { NFORMATS = sizeof formats / sizeof formats[0] };

static double value_of(const struct format *f, uint32_t bits)
{
    int mantissa = (int)(bits & ((1u << f->mantissa) - 1)), exp_mask = (1 << (f->bits - 1 - f->mantissa)) - 1;
    int exponent = (int)(bits >> f->mantissa) & exp_mask;
    double sign = bits >> (f->bits - 1) ? -1.0 : 1.0;
    bool top = exponent == exp_mask;
    if (top && f->has_inf)
        return mantissa ? NAN : sign * INFINITY;
    if (top && mantissa == (1 << f->mantissa) - 1)
        return NAN;
    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - f->bias - f->mantissa);
    return sign * ldexp(mantissa + (1 << f->mantissa), exponent - f->bias - f->mantissa);
}

/* Returns the bits of the largest finite number. */
static uint32_t largest(const struct format *f)
{
    uint32_t bits = (1u << (f->bits - 1)) - 1;
    while (!isfinite(value_of(f, bits)))
        bits--;
    return bits;
}

static uint32_t convert(const struct format *f, double x, bool rz)
{
    bool is_float = (double)(float)x == x;
    if (f->dtype == DT_f16) {
        uint32_t r = double_to_f16(x, rz);
        if (is_float)
            CHECK(float_to_f16((float)x, rz) == r);
        return r;
    }
    if (f->dtype == DT_bf16) {
        uint32_t r = double_to_bf16(x, rz);
        if (is_float)
            CHECK(float_to_bf16((float)x, rz) == r);
        return r;
    }
    if (f->dtype == DT_f8e5)
        return double_to_f8e5(x, rz);
    return (uint32_t)double_to_bits(f->dtype, x);
}

/* Checks the rounding of x, whose absolute value is between the floats with bits lo and lo + 1. */
static void check_between(const struct format *f, uint32_t lo, double x)
{
    double a = value_of(f, lo), b = lo == largest(f) ? 2 * a - value_of(f, lo - 1) : value_of(f, lo + 1);
    uint32_t above = lo == largest(f) && f->saturates ? lo : lo + 1;
    uint32_t nearest = x - a < b - x ? lo : x - a > b - x ? above : lo & 1 ? above : lo;
    uint32_t sign = 1u << (f->bits - 1);
    CHECK(convert(f, x, false) == nearest);
    CHECK(convert(f, -x, false) == (nearest | sign));
    if (f->dtype != DT_f8e4 && (f->dtype != DT_f8e5 || (double)(float)x == x)) {
        CHECK(convert(f, x, true) == lo);
        CHECK(convert(f, -x, true) == (lo | sign));
    }
}

TEST(every_value)
{
    for (int k = 0; k < NFORMATS; k++)
        for (uint32_t bits = 0; bits < 1u << formats[k].bits; bits++) {
            double expected = value_of(&formats[k], bits), found = bits_to_double(formats[k].dtype, bits);
            CHECK(isnan(expected) ? isnan(found) : found == expected && signbit(found) == signbit(expected));
            if (isfinite(expected))
                CHECK(convert(&formats[k], expected, false) == bits &&
                      double_to_bits(formats[k].dtype, expected) == bits);
        }
}

TEST(every_gap)
{
    for (int k = 0; k < NFORMATS; k++) {
        const struct format *f = &formats[k];
        for (uint32_t lo = 0; lo <= largest(f); lo++) {
            double a = value_of(f, lo),
                   b = lo == largest(f) ? 2 * a - value_of(f, lo - 1) : value_of(f, lo + 1);
            double tie = a + (b - a) / 2;
            const double points[] = {a,
                                     nextafter(a, b),
                                     a + (b - a) / 4,
                                     nextafter(tie, a),
                                     tie,
                                     nextafter(tie, b),
                                     (double)nextafterf((float)tie, 0),
                                     (double)nextafterf((float)tie, INFINITY),
                                     a + (b - a) * 3 / 4,
                                     nextafter(b, a)};
            for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
                if (points[i] >= a && points[i] < b)
                    check_between(f, lo, points[i]);
        }
    }
}

TEST(beyond_the_largest)
{
    CHECK_INT(double_to_f16(65520, false), 0x7c00);
    CHECK_INT(double_to_f16(65519.999, false), 0x7bff);
    CHECK_INT(double_to_f16(1e300, true), 0x7bff);
    CHECK_INT(double_to_f16(-INFINITY, true), 0xfc00);
    CHECK_INT(float_to_bf16(3.4e38f, false), 0x7f80);
    CHECK_INT(float_to_bf16(3.4e38f, true), 0x7f7f);
    CHECK_INT(float_to_bf16(-INFINITY, true), 0xff80);
    CHECK_INT(double_to_bf16(1e300, false), 0x7f80);
    CHECK_INT(double_to_bits(DT_f8e4, INFINITY), 0x7e);
    CHECK_INT(double_to_bits(DT_f8e4, -1e30), 0xfe);
    CHECK_INT(double_to_f8e5(INFINITY, false), 0x7b);
    CHECK_INT(double_to_f8e5(-1e30, true), 0xfb);
    CHECK_INT(double_to_bits(DT_f8e5, -INFINITY), 0xfb);
}

TEST(not_a_number)
{
    for (int negative = 0; negative < 2; negative++) {
        float x = negative ? -NAN : NAN;
        CHECK_INT(float_to_f16(x, negative) & 0x7fff, 0x7fff);
        CHECK_INT(double_to_f16((double)x, negative) & 0x7fff, 0x7fff);
        CHECK_INT(float_to_bf16(x, negative) & 0x7fff, 0x7fff);
        CHECK_INT(double_to_bf16((double)x, negative) & 0x7fff, 0x7fff);
        CHECK_INT(double_to_bits(DT_f8e4, (double)x) & 0x7f, 0x7f);
        CHECK_INT(double_to_f8e5((double)x, negative) & 0x7f, 0x7f);
        CHECK(isnan(float_to_tf32(x)));
    }
    CHECK_INT(double_to_bits(DT_f32, NAN), 0x7fffffff);
}

TEST(tiny)
{
    for (int k = 0; k < NFORMATS; k++) {
        CHECK_INT(double_to_bits(formats[k].dtype, 0x1p-1074), 0);
        CHECK_INT(double_to_bits(formats[k].dtype, -0x1p-1022), UINT64_C(1) << (formats[k].bits - 1));
        CHECK_INT(double_to_bits(formats[k].dtype, -0.0), UINT64_C(1) << (formats[k].bits - 1));
    }
}

TEST(tf32)
{
    CHECK(float_to_tf32(1.0f + 0x1p-10f + 0x1p-11f) == 1.0f + 0x1p-10f);
    CHECK(float_to_tf32(-1.0f - 0x1.ffep-11f) == -1.0f);
    CHECK(isinf(float_to_tf32(INFINITY)));
    CHECK(float_to_tf32(0x1.fffffep127f) == 0x1.ffcp127f);
}

TEST(doubles_and_floats_are_themselves)
{
    CHECK_INT(double_to_bits(DT_f32, 1.0), 0x3f800000);
    CHECK_INT(double_to_bits(DT_f64, -2.0), (int64_t)0xc000000000000000);
    CHECK(bits_to_double(DT_f32, 0x7f7fffff) == 0x1.fffffep127);
    CHECK(bits_to_double(DT_f64, 1) == 0x1p-1074);
}
