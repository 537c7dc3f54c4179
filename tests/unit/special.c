/* SPDX-License-Identifier: MIT */
/* special.c (test): compares the emulation of the GPU's special function unit with results of an H200. For each range
 * of arguments, the test contains a digest of the H200's results for every 61st argument. */
#include "runtime/devices/emulator/machine.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t digest(float f(float), uint32_t first, uint32_t last)
{
    enum { STEP = 61 };
    uint64_t hash = 0;
    for (uint32_t x = first; x <= last; x += STEP)
        hash = hash * 0x100000001b3 ^ bits_of(f(from_bits(x)));
    return hash;
}

TEST(fractions)
{
    CHECK(digest(special_ex2_ftz, 0x3f800000, 0x3fffffff) == 0x97c48d8a3105fcd9);
    CHECK(digest(special_ex2_ftz, 0xbf000000, 0xbf7fffff) == 0x67a09025ce697fca);
    CHECK(digest(special_rcp_ftz, 0x3f800000, 0x3fffffff) == 0x2982d6b35167c6a3);
    CHECK(digest(special_rsqrt_ftz, 0x3f800000, 0x407fffff) == 0xc0388c0b61b8925f);
    CHECK(digest(special_sqrt_ftz, 0x3f800000, 0x407fffff) == 0xcc881fe75073680c);
}

TEST(lg2_near_1)
{
    CHECK(digest(special_lg2_ftz, 0x3f000000, 0x3f7f3ff2) == 0xd00fd9bc343fcba1);
    CHECK(digest(special_lg2_ftz, 0x3f8164c0, 0x3fffffff) == 0x160308ad21f4d218);
    CHECK_INT(bits_of(special_lg2_ftz(1)), 0);
    CHECK(special_lg2_ftz(0.5f) == -0x1.fffffcp-1f);
}

TEST(lg2_elsewhere)
{
    CHECK(special_lg2_ftz(8) == 3);
    CHECK(special_lg2_ftz(0.125f) == -0x1.7ffffep1f);
    CHECK(special_lg2_ftz(0x1p127f) == 127);
    for (int exponent = -126; exponent < 128; exponent++)
        for (int i = 1; i < 64; i++) {
            float x = ldexpf(1 + (float)i / 64, exponent);
            double exact = log2((double)x), error = fabs((double)special_lg2(x) - exact);
            CHECK(error <= 0x1p-22 ||
                  error <= fabs(exact) * 0x1p-22); /* the bound that the PTX ISA promises */
        }
}

TEST(lg2_of_special_numbers)
{
    CHECK(special_lg2_ftz(INFINITY) == INFINITY);
    CHECK(isnan(special_lg2_ftz(-INFINITY)) && isnan(special_lg2_ftz(-1)) && isnan(special_lg2_ftz(NAN)));
    CHECK(special_lg2_ftz(0) == -INFINITY && special_lg2_ftz(-0.0f) == -INFINITY);
    CHECK(special_lg2_ftz(0x1p-127f) == -INFINITY && special_lg2_ftz(-0x1p-127f) == -INFINITY);
    CHECK(special_lg2(0) == -INFINITY && isnan(special_lg2(-0x1p-127f)));
    CHECK(special_lg2(0x1p-149f) == -149 && special_lg2(0x1.8p-127f) == special_lg2_ftz(0x1.8p-103f) - 24);
}
