/* SPDX-License-Identifier: MIT */
/* sums.c: adds and rounds as the tensor cores of an H200 do, bit for bit. NVIDIA does not document the
 * rounding rule; README.md describes the experiments that revealed it. For random tiles of each type,
 * tests/gpu/insns_sums.c compares the results of this file with the results of a GPU.
 *
 *     d = a[0] b[0] + a[1] b[1] + ... + a[k-1] b[k-1] + c         all k products of an instruction, and c, in one step:
 *
 *     1. The exponent of a product is the sum of its factors' exponents; a subnormal factor has the least exponent
 *        of its type.
 *     2. Each product, and c, is truncated to FRACTION bits (fp8: FRACTION_FP8 bits) below the largest exponent of
 *        the nonzero products and c.
 *     3. The truncated numbers are added exactly.
 *     4. The sum is rounded to the type of d: to f32 toward zero, to f16 to nearest even. Sums of fp8 in f32 are
 *        truncated to 14 significant bits. A zero result is +0.
 *
 * If operands are infinite or NaN, the result is as in IEEE 754. Sums of integers are computed exactly; the caller
 * truncates them to 32 bits. */
#include "runtime/devices/emulator/machine.h"

#include <math.h>
#include <string.h>

enum {
    NO_EXPONENT = -8192, /* stands for the exponent of zero; it is less than every sum of two exponents */
    DOUBLE_BIAS = 1023,
    DOUBLE_FRACTION = 52,
    FRACTION = 25,     /* the number of bits below the largest exponent that truncation keeps */
    FRACTION_FP8 = 13, /* the same for fp8 in wgmma; also the number of fraction bits of f32 sums of fp8 */
    BLOCK = 8          /* the number of columns that sum_block computes; it divides every number of columns */
};

static uint64_t bits_of_double(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double double_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double power_of_two(int e)
{
    return double_of_bits((uint64_t)(e + DOUBLE_BIAS) << DOUBLE_FRACTION);
}

static bool is_fp8(enum ptype t)
{
    return t == PT_e4m3x2 || t == PT_e5m2x2;
}

static int least_exponent(enum ptype t)
{
    return t == PT_f16 || t == PT_e5m2x2 ? -14 : t == PT_e4m3x2 ? -6 : -126;
}

static int16_t exponent_of(double x, int least)
{
    int e = (int)(bits_of_double(x) >> DOUBLE_FRACTION & 0x7ff) - DOUBLE_BIAS;
    return (int16_t)(x == 0 ? NO_EXPONENT : e < least ? least : e);
}

static double with_fraction(double x, int bits)
{
    return double_of_bits(bits_of_double(x) & ~UINT64_C(0) << (DOUBLE_FRACTION - bits));
}

static double toward_zero(double x)
{
    enum { F32_FRACTION = 23 };
    return fabs(x) < 0x1p-126 ? trunc(x * 0x1p149) * 0x1p-149 : with_fraction(x, F32_FRACTION);
}

static double rounded(const struct emu_dot *m, double x)
{
    if (m->c_type == PT_f16)
        x = emu_half_value(PT_f16, emu_half_round(PT_f16, x));
    else
        x = toward_zero(is_fp8(m->a_type) ? with_fraction(x, FRACTION_FP8) : x);
    return x == 0 ? 0 : x;
}

struct exponents {
    int16_t a[EMU_DEPTH_MOST][EMU_ROWS], b[EMU_DEPTH_MOST][EMU_COLUMNS_MOST];
};

static void find_exponents(const struct emu_dot *m, struct exponents *e)
{
    for (int k = 0; k < m->depth; k++) {
        for (int i = 0; i < EMU_ROWS; i++)
            e->a[k][i] = exponent_of(m->a[k][i], least_exponent(m->a_type));
        for (int j = 0; j < m->columns; j++)
            e->b[k][j] = exponent_of(m->b[k][j], least_exponent(m->b_type));
    }
}

/* Computes columns [at, at + BLOCK) of one row of c. The number of columns is a constant, so that the C
 * compiler uses vector instructions. */
static void sum_block(struct emu_dot *m, const struct exponents *e, int row, int at)
{
    int fraction = is_fp8(m->a_type) ? FRACTION_FP8 : FRACTION;
    int16_t largest[BLOCK];
    double scale[BLOCK], total[BLOCK], *c = &m->c[row][at];
    for (int j = 0; j < BLOCK; j++)
        largest[j] = exponent_of(c[j], least_exponent(m->c_type));
    for (int k = 0; k < m->depth; k++)
        for (int j = 0; j < BLOCK; j++) {
            int16_t sum = (int16_t)(e->a[k][row] + e->b[k][at + j]);
            largest[j] = sum > largest[j] ? sum : largest[j];
        }
    for (int j = 0; j < BLOCK; j++) {
        scale[j] = largest[j] < NO_EXPONENT / 2 ? 0 : power_of_two(fraction - largest[j]);
        total[j] = (double)(int32_t)(c[j] * scale[j]);
    }
    for (int k = 0; k < m->depth; k++) {
        double a = m->a[k][row];
        for (int j = 0; j < BLOCK; j++) /* the numbers are below 2^27, and the conversion truncates */
            total[j] += (double)(int32_t)(a * m->b[k][at + j] * scale[j]);
    }
    for (int j = 0; j < BLOCK; j++)
        c[j] = scale[j] == 0 ? 0 : rounded(m, total[j] / scale[j]);
}

/* -- infinities and NaNs -- */

static void clear_special(double *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = isfinite(x[i]) ? x[i] : 0;
}

static bool has_special(const struct emu_dot *m)
{
    double sum = 0; /* the sum is 0 if all operands are finite, else NaN */
    for (int k = 0; k < m->depth; k++) {
        for (int i = 0; i < EMU_ROWS; i++)
            sum += 0 * m->a[k][i];
        for (int j = 0; j < m->columns; j++)
            sum += 0 * m->b[k][j];
    }
    for (int i = 0; i < EMU_ROWS; i++)
        for (int j = 0; j < m->columns; j++)
            sum += 0 * m->c[i][j];
    return sum != 0;
}

/* Sets special[i][j] to element (i, j) of a b + c if this element is infinite or NaN, and to 0 otherwise.
 * Then replaces infinite and NaN elements of a, b and c by 0. */
static void take_special(struct emu_dot *m, double special[EMU_ROWS][EMU_COLUMNS_MOST])
{
    for (int i = 0; i < EMU_ROWS; i++)
        for (int j = 0; j < m->columns; j++) {
            double sum = m->c[i][j];
            for (int k = 0; k < m->depth; k++)
                sum += m->a[k][i] * m->b[k][j];
            special[i][j] = isfinite(sum) ? 0 : sum;
        }
    for (int k = 0; k < m->depth; k++) {
        clear_special(m->a[k], EMU_ROWS);
        clear_special(m->b[k], m->columns);
    }
    for (int i = 0; i < EMU_ROWS; i++)
        clear_special(m->c[i], m->columns);
}

static void sum_integers(struct emu_dot *m)
{
    for (int i = 0; i < EMU_ROWS; i++)
        for (int k = 0; k < m->depth; k++)
            for (int j = 0; j < m->columns; j++)
                m->c[i][j] += m->a[k][i] * m->b[k][j];
}

void emu_sum(struct emu_dot *m)
{
    if (m->c_type == PT_s32) {
        sum_integers(m);
        return;
    }
    struct exponents e;
    double special[EMU_ROWS][EMU_COLUMNS_MOST];
    bool is_special = has_special(m);
    if (is_special)
        take_special(m, special);
    find_exponents(m, &e);
    for (int i = 0; i < EMU_ROWS; i++)
        for (int j = 0; j < m->columns; j += BLOCK)
            sum_block(m, &e, i, j);
    for (int i = 0; i < EMU_ROWS && is_special; i++)
        for (int j = 0; j < m->columns; j++)
            m->c[i][j] = special[i][j] != 0 ? special[i][j] : m->c[i][j];
}
