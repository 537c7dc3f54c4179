/* SPDX-License-Identifier: MIT */
/* scalar.c: compares every elementwise op, on special and random operands of every type, with a second implementation
 * in 128 bits. This implementation computes integers as __int128. It computes floats as __float128, and then rounds
 * the result. */
#include "ir/ir.h"
#include "tests/unit/test.h"

#include <math.h>

__extension__ typedef __int128 wide;
__extension__ typedef __float128 quad;

static uint64_t random_state = 88172645463325252u;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static uint64_t eval(enum opcode code, enum dtype type, enum dtype to, int attr, int64_t value, uint64_t x,
                     uint64_t y, uint64_t z)
{
    uint64_t r = 0;
    const void *opnds[] = {&x, &y, &z};
    struct attr a = {.key = (enum attr_key)attr, .i = value};
    CHECK(scalar_eval(&op_info[code], code, type, to, &a, attr >= 0, 1, &r, opnds));
    return r;
}

/* -- integers -- */

static const enum dtype int_types[] = {DT_i1, DT_i8, DT_i16, DT_i32, DT_i64};

static uint64_t low(wide x, int bits)
{
    return (uint64_t)x & (UINT64_MAX >> (64 - bits));
}

static wide signed_value(uint64_t x, int bits)
{
    return x >> (bits - 1) & 1 ? (wide)x - ((wide)1 << bits) : (wide)x;
}

static uint64_t expected_int(enum opcode code, int bits, uint64_t x, uint64_t y)
{
    wide ux = x, uy = y, sx = signed_value(x, bits), sy = signed_value(y, bits);
    switch (code) {
    case OP_add: return low(ux + uy, bits);
    case OP_sub: return low(ux - uy, bits);
    case OP_mul: return low((wide)(uint64_t)(x * y), bits);
    case OP_neg: return low(-ux, bits);
    case OP_abs: return low(sx < 0 ? -sx : sx, bits);
    case OP_divs: return low(sy ? sx / sy : -1, bits);
    case OP_divu: return low(uy ? ux / uy : -1, bits);
    case OP_rems: return low(sy ? sx % sy : sx, bits);
    case OP_remu: return low(uy ? ux % uy : ux, bits);
    case OP_and: return x & y;
    case OP_or: return x | y;
    case OP_xor: return x ^ y;
    case OP_shl: return y >= (uint64_t)bits ? 0 : low(ux << y, bits);
    case OP_shrs: return low(sx >> (y >= 64 ? 64 : y), bits);
    case OP_shru: return low(ux >> (y >= 64 ? 64 : y), bits);
    case OP_mins: return sx < sy ? x : y;
    case OP_maxs: return sx > sy ? x : y;
    case OP_minu: return ux < uy ? x : y;
    case OP_maxu: return ux > uy ? x : y;
    case OP_mulhu: { /* compute the high half from the products of the operands' halves */
        uint64_t carry = ((x & UINT32_MAX) * (y & UINT32_MAX) >> 32) + (x >> 32) * (y & UINT32_MAX);
        uint64_t middle = (x & UINT32_MAX) * (y >> 32) + (carry & UINT32_MAX);
        uint64_t high = (x >> 32) * (y >> 32) + (carry >> 32) + (middle >> 32);
        return bits == 64 ? high : low(ux * uy >> bits, bits);
    }
    default: return 0;
    }
}

static bool expected_pred(enum pred p, wide ux, wide uy, wide sx, wide sy)
{
    switch (p) {
    case PRED_eq: return ux == uy;
    case PRED_ne: return ux != uy;
    case PRED_slt: return sx < sy;
    case PRED_sle: return sx <= sy;
    case PRED_sgt: return sx > sy;
    case PRED_sge: return sx >= sy;
    case PRED_ult: return ux < uy;
    case PRED_ule: return ux <= uy;
    case PRED_ugt: return ux > uy;
    default: return ux >= uy;
    }
}

static uint64_t random_int(int bits)
{
    static const int64_t special[] = {
        0,  1,  2,        3,        7,         8,         31,        32,        63,        64,       -1,
        -2, -7, INT8_MIN, INT8_MAX, INT16_MIN, INT16_MAX, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
    uint64_t r = random_bits();
    if (r % 3 == 0)
        return low(special[r / 3 % (sizeof special / sizeof special[0])], bits);
    return low((wide)(random_bits() >> random_bits() % 64), bits);
}

static void check_ints(enum opcode code, enum dtype t, uint64_t x, uint64_t y)
{
    uint64_t found = eval(code, t, t, -1, 0, x, y, 0),
             expected = expected_int(code, dtype_info[t].bits, x, y);
    if (found != expected)
        fprintf(stderr, "%s %s %llx %llx\n", op_info[code].name, dtype_info[t].word, (unsigned long long)x,
                (unsigned long long)y);
    CHECK(found == expected);
}

TEST(integers)
{
    static const enum opcode codes[] = {OP_add,  OP_sub,  OP_mul,   OP_neg,  OP_abs,  OP_divs, OP_divu,
                                        OP_rems, OP_remu, OP_mulhu, OP_and,  OP_or,   OP_xor,  OP_shl,
                                        OP_shrs, OP_shru, OP_mins,  OP_maxs, OP_minu, OP_maxu};
    for (size_t c = 0; c < sizeof codes / sizeof codes[0]; c++)
        for (int t = 0; t < 5; t++) {
            for (uint64_t x = 0; t < 2 && x < 1u << dtype_info[int_types[t]].bits; x++)
                for (uint64_t y = 0; y < 1u << dtype_info[int_types[t]].bits; y++)
                    check_ints(codes[c], int_types[t], x, y);
            for (int i = 0; t >= 2 && i < 20000; i++)
                check_ints(codes[c], int_types[t], random_int(dtype_info[int_types[t]].bits),
                           random_int(dtype_info[int_types[t]].bits));
        }
}

TEST(integer_comparisons)
{
    for (int p = PRED_eq; p <= PRED_uge; p++)
        for (int t = 0; t < 5; t++)
            for (int i = 0; i < 5000; i++) {
                int bits = dtype_info[int_types[t]].bits;
                uint64_t x = random_int(bits), y = i % 4 ? random_int(bits) : x;
                bool expected = expected_pred((enum pred)p, (wide)x, (wide)y, signed_value(x, bits),
                                              signed_value(y, bits));
                CHECK(eval(OP_cmp, int_types[t], DT_i1, ATTR_pred, p, x, y, 0) == expected);
            }
    CHECK(eval(OP_cmp, DT_i32, DT_i1, -1, 0, 5, 5, 0) == 1); /* predicate 0 is eq */
}

TEST(integer_casts)
{
    for (int f = 0; f < 5; f++)
        for (int t = 0; t < 5; t++)
            for (int i = 0; i < 1000; i++) {
                int from = dtype_info[int_types[f]].bits, to = dtype_info[int_types[t]].bits;
                uint64_t x = random_int(from);
                if (from < to) {
                    CHECK(eval(OP_sext, int_types[f], int_types[t], -1, 0, x, 0, 0) ==
                          low(signed_value(x, from), to));
                    CHECK(eval(OP_zext, int_types[f], int_types[t], -1, 0, x, 0, 0) == x);
                } else if (from > to) {
                    CHECK(eval(OP_trunc, int_types[f], int_types[t], -1, 0, x, 0, 0) == low((wide)x, to));
                }
            }
}

/* -- floats -- */

static const enum dtype float_types[] = {DT_f16, DT_bf16, DT_f32, DT_f64};

static uint64_t random_float(enum dtype t)
{
    static const double special[] = {0.0,   -0.0, 1,        -1,        0.5, -0.5, 2,   3,        -3,
                                     65504, 1e-8, INFINITY, -INFINITY, NAN, 1.5,  2.5, 0x1p-149, -1e38};
    uint64_t r = random_bits();
    if (r % 3 == 0)
        return double_to_bits(t, special[r / 3 % (sizeof special / sizeof special[0])]);
    if (r % 3 == 1) /* make operands of similar magnitude */
        return double_to_bits(t, ldexp((double)(int64_t)random_bits(), -60 - (int)(random_bits() % 8)));
    return low((wide)random_bits(), dtype_info[t].bits);
}

/* Rounds a quad (__float128) to type t. For f16 and bf16, it first rounds the quad to a double, and then the
 * double to the type. The first rounding is round-to-odd, with which rounding twice gives the same result as
 * rounding once. */
static uint64_t round_quad(enum dtype t, quad x)
{
    if (t == DT_f32) {
        float f = (float)x;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        return isnan(f) ? 0x7fffffff : bits;
    }
    double d = (double)x;
    if (t != DT_f64 && isfinite(d) && (quad)d != x) {
        double other = nextafter(d, (quad)d < x ? INFINITY : -INFINITY);
        uint64_t bits;
        memcpy(&bits, &d, sizeof bits);
        d = bits & 1 ? d : other;
    }
    return double_to_bits(t, d);
}

static bool same_float(enum dtype t, uint64_t a, uint64_t b)
{
    return a == b || (isnan(bits_to_double(t, a)) && isnan(bits_to_double(t, b)));
}

static void check_floats(enum opcode code, enum dtype t, uint64_t x, uint64_t y)
{
    quad qx = (quad)bits_to_double(t, x), qy = (quad)bits_to_double(t, y);
    quad q = code == OP_add ? qx + qy : code == OP_sub ? qx - qy : code == OP_mul ? qx * qy : qx / qy;
    uint64_t found = eval(code, t, t, -1, 0, x, y, 0), expected = round_quad(t, q);
    if (!same_float(t, found, expected))
        fprintf(stderr, "%s %s %llx %llx: %llx, expected %llx\n", op_info[code].name, dtype_info[t].word,
                (unsigned long long)x, (unsigned long long)y, (unsigned long long)found,
                (unsigned long long)expected);
    CHECK(same_float(t, found, expected));
}

TEST(floats)
{
    static const enum opcode codes[] = {OP_add, OP_sub, OP_mul, OP_fdiv};
    for (int c = 0; c < 4; c++)
        for (int t = 0; t < 4; t++)
            for (int i = 0; i < 50000; i++)
                check_floats(codes[c], float_types[t], random_float(float_types[t]),
                             random_float(float_types[t]));
}

TEST(fma_rounds_once)
{
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < 100000; i++) {
            uint64_t x[3];
            double d[3];
            bool in_range = true;
            for (int k = 0; k < 3; k++) {
                x[k] = random_float(float_types[t]);
                d[k] = bits_to_double(float_types[t], x[k]);
                in_range &= t == 0 || (fabs(d[k]) < 0x1p20 && (fabs(d[k]) > 0x1p-20 || d[k] == 0));
            }
            if (!in_range) /* skip these operands: the quad result would not be exact */
                continue;
            uint64_t found = eval(OP_fma, float_types[t], float_types[t], -1, 0, x[0], x[1], x[2]);
            CHECK(same_float(float_types[t], found,
                             round_quad(float_types[t], (quad)d[0] * (quad)d[1] + (quad)d[2])));
        }
    /* 1.0078125 * 1.5 = 1.51171875 is halfway between two bf16, so even a tiny addend decides the rounding */
    uint64_t x = double_to_bits(DT_bf16, 1.0078125), y = double_to_bits(DT_bf16, 1.5),
             up = double_to_bits(DT_bf16, 0x1p-100);
    CHECK(bits_to_double(DT_bf16, eval(OP_fma, DT_bf16, DT_bf16, -1, 0, x, y, up)) == 1.515625);
    CHECK(bits_to_double(DT_bf16, eval(OP_fma, DT_bf16, DT_bf16, -1, 0, x, y, up | 0x8000)) == 1.5078125);
    uint64_t a = double_to_bits(DT_f32, 0x1.000002p0), c = double_to_bits(DT_f32, -0x1.000004p0);
    CHECK(bits_to_double(DT_f32, eval(OP_fma, DT_f32, DT_f32, -1, 0, a, a, c)) == 0x1p-46);
    uint64_t b = double_to_bits(DT_f64, 0x1.0000000000001p0),
             e = double_to_bits(DT_f64, -0x1.0000000000002p0);
    CHECK(bits_to_double(DT_f64, eval(OP_fma, DT_f64, DT_f64, -1, 0, b, b, e)) == 0x1p-104);
}

TEST(signs_are_bits)
{
    for (int t = 0; t < 4; t++)
        for (int i = 0; i < 1000; i++) {
            uint64_t x = random_float(float_types[t]), sign = UINT64_C(1)
                                                              << (dtype_info[float_types[t]].bits - 1);
            CHECK(eval(OP_neg, float_types[t], float_types[t], -1, 0, x, 0, 0) == (x ^ sign));
            CHECK(eval(OP_abs, float_types[t], float_types[t], -1, 0, x, 0, 0) == (x & ~sign));
        }
}

/* Returns whether x is before y in the order -inf, ..., -0, +0, ..., inf. */
static bool precedes(double x, double y)
{
    return x < y || (x == y && signbit(x) && !signbit(y));
}

TEST(min_and_max)
{
    for (int t = 0; t < 4; t++)
        for (int i = 0; i < 20000; i++) {
            enum dtype d = float_types[t];
            uint64_t x = random_float(d), y = random_float(d);
            double dx = bits_to_double(d, x), dy = bits_to_double(d, y);
            for (int is_max = 0; is_max < 2; is_max++)
                for (int nan = 0; nan < 2; nan++) {
                    uint64_t found = eval(is_max ? OP_max : OP_min, d, d, ATTR_nan, nan, x, y, 0), expected;
                    if (isnan(dx) || isnan(dy))
                        expected = nan == isnan(dx) ? x : y;
                    else
                        expected = (is_max ? precedes(dy, dx) : precedes(dx, dy)) ? x : y;
                    if (nan && isnan(dy))
                        expected = y;
                    CHECK(same_float(d, found, expected));
                }
        }
}

TEST(float_comparisons)
{
    for (int t = 0; t < 4; t++)
        for (int i = 0; i < 10000; i++) {
            enum dtype d = float_types[t];
            uint64_t x = random_float(d), y = i % 4 ? random_float(d) : x;
            double dx = bits_to_double(d, x), dy = bits_to_double(d, y);
            const struct {
                enum pred pred;
                bool expected;
            } cases[] = {{PRED_eq, dx == dy}, {PRED_ne, !(dx == dy)}, {PRED_lt, dx < dy},
                         {PRED_le, dx <= dy}, {PRED_gt, dx > dy},     {PRED_ge, dx >= dy}};
            for (int p = 0; p < 6; p++)
                CHECK(eval(OP_cmp, d, DT_i1, ATTR_pred, cases[p].pred, x, y, 0) == cases[p].expected);
        }
}

/* Checks that the result of the op is at most two ULPs from the result of the f64 function. */
static void check_math(enum opcode code, double (*function)(double), enum dtype t, uint64_t x)
{
    double d = bits_to_double(t, x);
    bool flushes = (code == OP_floor || code == OP_ceil || code == OP_rint) && t != DT_f64;
    double expected = function(flushes && fabs(d) < 0x1p-126 ? copysign(0, d) : d);
    double found = bits_to_double(t, eval(code, t, t, -1, 0, x, 0, 0));
    if (isnan(expected) || isinf(expected) || expected == 0) {
        CHECK(isnan(expected) ? isnan(found) : found == expected && signbit(found) == signbit(expected));
        return;
    }
    double rounded = bits_to_double(t, double_to_bits(t, expected));
    double next = bits_to_double(t, double_to_bits(t, rounded) + 1), ulp = fabs(next - rounded);
    CHECK(found == rounded || fabs(found - rounded) <= 2 * ulp);
}

static double inverse_root(double x)
{
    return 1 / sqrt(x);
}

TEST(mathematics)
{
    static const struct {
        enum opcode code;
        double (*function)(double);
    } functions[] = {{OP_exp, exp}, {OP_exp2, exp2},   {OP_log, log},   {OP_log2, log2},
                     {OP_sin, sin}, {OP_cos, cos},     {OP_sqrt, sqrt}, {OP_rsqrt, inverse_root},
                     {OP_erf, erf}, {OP_floor, floor}, {OP_ceil, ceil}, {OP_rint, rint}};
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++)
        for (int t = 0; t < 4; t++)
            for (int i = 0; i < 3000; i++)
                check_math(functions[k].code, functions[k].function, float_types[t],
                           random_float(float_types[t]));
    for (int t = 0; t < 4; t++)
        for (int i = 0; i < 10000; i++) {
            uint64_t x = random_float(float_types[t]), y = random_float(float_types[t]);
            double d = fmod(bits_to_double(float_types[t], x), bits_to_double(float_types[t], y));
            CHECK(same_float(float_types[t], eval(OP_frem, float_types[t], float_types[t], -1, 0, x, y, 0),
                             double_to_bits(float_types[t], d)));
        }
}

/* -- casts with floats -- */

TEST(float_casts)
{
    static const enum dtype types[] = {DT_f8e4, DT_f8e5, DT_f16, DT_bf16, DT_f32, DT_f64};
    for (int f = 0; f < 6; f++)
        for (int t = 0; t < 6; t++)
            for (int i = 0; i < 3000; i++) {
                int from = dtype_info[types[f]].bits, to = dtype_info[types[t]].bits;
                uint64_t x = random_float(types[f]);
                double d = bits_to_double(types[f], x);
                if (from == to)
                    continue;
                uint64_t found = eval(from < to ? OP_fext : OP_ftrunc, types[f], types[t], -1, 0, x, 0, 0);
                CHECK(same_float(types[t], found, double_to_bits(types[t], d)));
                if (from < to || types[t] == DT_f8e4)
                    continue;
                double rz = bits_to_double(
                    types[t], eval(OP_ftrunc, types[f], types[t], ATTR_round, ROUND_rz, x, 0, 0));
                double rn = bits_to_double(types[t], double_to_bits(types[t], d));
                if (isnan(d) || !isfinite(rn)) {
                    CHECK(isnan(d) ? isnan(rz) : isinf(d) ? rz == d : isfinite(rz));
                    continue;
                }
                CHECK(signbit(rz) == signbit(d) && fabs(rz) <= fabs(d) && (rz == rn || fabs(rn) > fabs(d)));
                uint64_t next = double_to_bits(types[t], rz) + 1; /* the next float away from zero */
                CHECK(fabs(bits_to_double(types[t], next)) > fabs(d) ||
                      isnan(bits_to_double(types[t], next)) || isinf(d) ||
                      (types[t] == DT_f8e5 && fabs(d) >= 57344));
            }
}

TEST(ints_to_floats)
{
    for (int f = 0; f < 5; f++)
        for (int t = 0; t < 4; t++)
            for (int i = 0; i < 5000; i++) {
                int bits = dtype_info[int_types[f]].bits;
                uint64_t x = random_int(bits);
                enum dtype step =
                    float_types[t] == DT_f64 ? DT_f64 : DT_f32; /* f16 and bf16 are computed in f32 */
                double s = bits_to_double(step, round_quad(step, (quad)signed_value(x, bits)));
                double u = bits_to_double(step, round_quad(step, (quad)x));
                CHECK(eval(OP_stof, int_types[f], float_types[t], -1, 0, x, 0, 0) ==
                      double_to_bits(float_types[t], s));
                CHECK(eval(OP_utof, int_types[f], float_types[t], -1, 0, x, 0, 0) ==
                      double_to_bits(float_types[t], u));
            }
}

static uint64_t expected_to_int(enum dtype from, enum dtype to, bool with_sign, double d)
{
    int width = dtype_info[to].bits, cut = width == 64 ? 64 : width == 32 || width == 1 ? 32 : 16;
    wide first = with_sign ? -((wide)1 << (cut - 1)) : 0,
         last = with_sign ? ((wide)1 << (cut - 1)) - 1 : ((wide)1 << cut) - 1;
    if (isnan(d))
        return cut == 64 || from == DT_f64 ? low((wide)1 << (cut - 1), width) : 0;
    if (fabs(d) >= 0x1p100)
        return low(d < 0 ? first : last, width);
    wide x = (wide)d;
    return low(x < first ? first : x > last ? last : x, width);
}

TEST(floats_to_ints)
{
    static const enum dtype types[] = {DT_f8e4, DT_f8e5, DT_f16, DT_bf16, DT_f32, DT_f64};
    for (int f = 0; f < 6; f++)
        for (int t = 0; t < 5; t++)
            for (int i = 0; i < 10000; i++) {
                uint64_t x = i % 2 ? random_float(types[f])
                                   : double_to_bits(types[f], ldexp((double)(int64_t)random_bits(),
                                                                    -(int)(random_bits() % 70)));
                double d = bits_to_double(types[f], x);
                CHECK(eval(OP_ftos, types[f], int_types[t], -1, 0, x, 0, 0) ==
                      expected_to_int(types[f], int_types[t], true, d));
                CHECK(eval(OP_ftou, types[f], int_types[t], -1, 0, x, 0, 0) ==
                      expected_to_int(types[f], int_types[t], false, d));
            }
    CHECK(eval(OP_ftos, DT_f32, DT_i8, -1, 0, double_to_bits(DT_f32, 300.5), 0, 0) == 44);
    CHECK(eval(OP_ftos, DT_f32, DT_i8, -1, 0, double_to_bits(DT_f32, 3e9), 0, 0) == 0xff);
    CHECK(eval(OP_ftos, DT_f32, DT_i32, -1, 0, double_to_bits(DT_f32, 3e9), 0, 0) == INT32_MAX);
    CHECK(eval(OP_ftou, DT_f32, DT_i32, -1, 0, double_to_bits(DT_f32, -3), 0, 0) == 0);
}

/* -- moves, arrays, and invalid operands -- */

TEST(select_and_bitcast)
{
    for (int t = 0; t < DT_count; t++)
        for (int i = 0; i < 100; i++) {
            uint64_t x = low((wide)random_bits(), dtype_info[t].bits),
                     y = low((wide)random_bits(), dtype_info[t].bits);
            CHECK(eval(OP_select, (enum dtype)t, (enum dtype)t, -1, 0, i & 1, x, y) == (i & 1 ? x : y));
        }
    CHECK(eval(OP_bitcast, DT_f32, DT_i32, -1, 0, 0x3f800000, 0, 0) == 0x3f800000);
    CHECK(eval(OP_bitcast, DT_i16, DT_bf16, -1, 0, 0x7fc1, 0, 0) == 0x7fc1);
}

/* Arrays give the same results as single elements, for every length. */
TEST(arrays)
{
    enum { N = 700 };
    static const enum opcode codes[] = {OP_add,  OP_mul, OP_cmp,  OP_min,  OP_neg, OP_select,
                                        OP_ftos, OP_fma, OP_sqrt, OP_divs, OP_stof};
    for (size_t c = 0; c < sizeof codes / sizeof codes[0]; c++)
        for (int t = 0; t < DT_count; t++) {
            static uint64_t x[3][N], r[N];
            for (int k = 0; k < 3; k++)
                for (int i = 0; i < N; i++)
                    x[k][i] = random_bits();
            if (codes[c] == OP_select || t == DT_i1)
                for (int i = 0; i < 3 * N; i++)
                    x[i / N][i % N] &= UINT64_C(0x0101010101010101);
            size_t bytes = (size_t)dtype_info[t].bytes, first = codes[c] == OP_select ? 1 : bytes;
            enum dtype to = codes[c] == OP_cmp    ? DT_i1
                            : codes[c] == OP_ftos ? DT_i16
                            : codes[c] == OP_stof ? DT_bf16
                                                  : (enum dtype)t;
            bool is_float = dtype_info[t].kind == DTYPE_float;
            if ((codes[c] == OP_ftos && !is_float) || (codes[c] == OP_stof && is_float))
                continue;
            const void *opnds[] = {x[0], x[1], x[2]};
            bool known = scalar_eval(&op_info[codes[c]], codes[c], (enum dtype)t, to, NULL, 0, N, r, opnds);
            for (size_t i = 0; known && i < N; i++) {
                const void *one[] = {(char *)x[0] + i * first, (char *)x[1] + i * bytes,
                                     (char *)x[2] + i * bytes};
                uint64_t single = 0;
                scalar_eval(&op_info[codes[c]], codes[c], (enum dtype)t, to, NULL, 0, 1, &single, one);
                CHECK(memcmp(&single, (char *)r + i * (size_t)dtype_info[to].bytes,
                             (size_t)dtype_info[to].bytes) == 0);
            }
        }
}

TEST(every_elementwise_op_has_a_meaning)
{
    for (int code = 0; code < OP_count; code++) {
        uint64_t r, zero = 0;
        const void *opnds[] = {&zero, &zero, &zero};
        bool known = false;
        for (int t = 0; t < DT_count; t++)
            known |= scalar_eval(&op_info[code], (enum opcode)code, (enum dtype)t, (enum dtype)t, NULL, 0, 1,
                                 &r, opnds);
        CHECK_INT(known, (op_info[code].traits & ELEMENTWISE) && code != OP_addptr);
    }
}
