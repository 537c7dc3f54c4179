/* SPDX-License-Identifier: MIT */
/* insns_exact.c: represents floats of every format as an integer times a power of two. If a sum, product, quotient or
 * root is not exact, `more` is set: the true value is larger than the representation, by less than one unit of the
 * integer. The result is then rounded once (IEEE 754; PTX ISA, "Floating Point Instructions"). insns_alu.c computes
 * its expected results with these functions, without float arithmetic. */
#include "tests/gpu/insns.h"

#include <math.h>

enum { TOP = 125 }; /* the position of the highest bit of an aligned mantissa */

struct format {
    uint8_t exponent_bits, mantissa_bits;
    bool has_infinity;
    uint64_t largest;
};

static const struct format formats[PT_count] = {
    [PT_f16] = {5, 10, true, 0x7bff},     [PT_bf16] = {8, 7, true, 0x7f7f},
    [PT_f32] = {8, 23, true, 0x7f7fffff}, [PT_f64] = {11, 52, true, 0x7fefffffffffffff},
    [PT_e4m3x2] = {4, 3, false, 0x7e},    [PT_e5m2x2] = {5, 2, true, 0x7b},
};

bool holds_float(enum ptype t)
{
    return formats[type_of_half(t)].mantissa_bits != 0;
}

bool holds_sign(enum ptype t)
{
    return t == PT_s8 || t == PT_s16 || t == PT_s32 || t == PT_s64;
}

enum ptype type_of_half(enum ptype t)
{
    return t == PT_f16x2 ? PT_f16 : t == PT_bf16x2 ? PT_bf16 : t;
}

int type_bits(enum ptype t)
{
    return t == PT_e4m3x2 || t == PT_e5m2x2 ? 8 : ptype_info[t].bits;
}

static int top_of(wide m)
{
    return m >> 64 ? 127 - __builtin_clzll((uint64_t)(m >> 64)) : 63 - __builtin_clzll((uint64_t)m);
}

static int bias_of(const struct format *f)
{
    return (1 << (f->exponent_bits - 1)) - 1;
}

/* -- conversion from and to bits -- */

struct real real_of(enum ptype t, uint64_t bits)
{
    const struct format *f = &formats[t];
    int m = f->mantissa_bits, field;
    struct real x = {.minus = bits >> (f->exponent_bits + m) & 1};
    bits &= (UINT64_C(1) << (f->exponent_bits + m)) - 1;
    x.inf = f->has_infinity && bits == f->largest + 1;
    x.nan = bits > f->largest && !x.inf;
    if (x.inf || x.nan)
        return x;
    field = (int)(bits >> m);
    x.m = (bits & ((UINT64_C(1) << m) - 1)) | (field ? UINT64_C(1) << m : 0);
    x.e = (field ? field : 1) - bias_of(f) - m;
    return x;
}

struct real real_of_integer(int64_t x, bool is_signed)
{
    bool minus = is_signed && x < 0;
    return (struct real){.minus = minus, .m = minus ? 0 - (uint64_t)x : (uint64_t)x};
}

static uint64_t overflow(const struct format *f, uint64_t sign, bool to_largest)
{
    return sign | (to_largest || !f->has_infinity ? f->largest : f->largest + 1);
}

/* Returns whether this rounding mode rounds an inexact number with this sign away from zero. */
static bool goes_away(enum mod how, bool minus)
{
    return how == MOD_rm ? minus : how == MOD_rp && !minus;
}

uint64_t real_round(enum ptype t, struct real x, enum mod how, bool finite)
{
    bool nearest = how != MOD_rz && how != MOD_rm && how != MOD_rp;
    bool to_largest = finite || (!nearest && !goes_away(how, x.minus));
    const struct format *f = &formats[t];
    int mantissa = f->mantissa_bits, lowest = 1 - bias_of(f);
    uint64_t sign = (uint64_t)x.minus << (f->exponent_bits + mantissa);
    if (x.nan)
        return (UINT64_C(1) << (f->exponent_bits + mantissa)) - 1;
    if (x.inf)
        return overflow(f, sign, finite);
    if (x.m == 0)
        return sign;
    int exponent = x.e + top_of(x.m);
    if (exponent > bias_of(f) + !f->has_infinity)
        return overflow(f, sign, to_largest);
    if (exponent < lowest)
        exponent = lowest;
    int cut = exponent - mantissa - x.e;
    wide whole = cut <= 0 ? x.m << -cut : cut > 127 ? 0 : x.m >> cut;
    bool half = cut > 0 && cut <= 128 && (x.m >> (cut - 1) & 1);
    bool rest = x.more || (cut > 128 ? true : cut > 1 && (x.m & (((wide)1 << (cut - 1)) - 1)));
    whole += nearest ? half && (rest || (whole & 1)) : (half || rest) && goes_away(how, x.minus);
    uint64_t size = ((uint64_t)(exponent - lowest) << mantissa) + (uint64_t)whole;
    return size > f->largest ? overflow(f, sign, to_largest) : sign | size;
}

double real_double(struct real x)
{
    double size = x.nan ? (double)NAN : x.inf ? (double)INFINITY : ldexp((double)x.m, x.e);
    return x.minus ? -size : size;
}

/* -- arithmetic -- */

struct real real_neg(struct real a)
{
    a.minus = !a.minus;
    return a;
}

static void align_top(struct real *x)
{
    int by = TOP - top_of(x->m);
    x->m <<= by;
    x->e -= by;
}

struct real real_add(struct real a, struct real b)
{
    if (a.nan || b.nan || (a.inf && b.inf && a.minus != b.minus))
        return (struct real){.nan = true};
    if (a.inf || b.inf)
        return a.inf ? a : b;
    if (!a.m && !b.m)
        return (struct real){.minus = a.minus && b.minus};
    if (!a.m || !b.m)
        return a.m ? a : b;
    align_top(&a), align_top(&b);
    if (b.e > a.e || (b.e == a.e && b.m > a.m)) {
        struct real first = b;
        b = a, a = first;
    }
    int by = a.e - b.e;
    a.more = by > 127 || (b.m & (((wide)1 << by) - 1));
    b.m = by > 127 ? 0 : b.m >> by;
    a.m = a.minus == b.minus ? a.m + b.m : a.m - b.m - a.more;
    if (!a.m)
        a.minus = false;
    return a;
}

struct real real_mul(struct real a, struct real b)
{
    struct real x = {.minus = a.minus != b.minus, .inf = a.inf || b.inf, .m = a.m * b.m, .e = a.e + b.e};
    x.nan = a.nan || b.nan || (a.inf && !b.inf && !b.m) || (b.inf && !a.inf && !a.m);
    return x;
}

struct real real_div(struct real a, struct real b)
{
    struct real x = {.minus = a.minus != b.minus};
    x.nan = a.nan || b.nan || (a.inf && b.inf) || (!a.inf && !a.m && !b.inf && !b.m);
    x.inf = a.inf || (!b.inf && !b.m);
    if (x.nan || x.inf || b.inf || !a.m)
        return x;
    align_top(&a);
    x.m = a.m / b.m;
    x.more = a.m % b.m != 0;
    x.e = a.e - b.e;
    return x;
}

struct real real_sqrt(struct real a)
{
    if (a.nan || (a.minus && (a.inf || a.m)))
        return (struct real){.nan = true};
    if (a.inf || !a.m)
        return a;
    align_top(&a);
    if (a.e % 2)
        a.m >>= 1, a.e++; /* no bit is lost, because the low bits of m are zeros */
    wide root = 0;
    for (int i = 63; i >= 0; i--)
        if ((root | (wide)1 << i) <= a.m / (root | (wide)1 << i))
            root |= (wide)1 << i;
    return (struct real){.m = root, .e = a.e / 2, .more = root * root != a.m};
}

struct real real_whole(struct real x, enum mod how)
{
    if (x.nan || x.inf || x.e >= 0 || !x.m)
        return x;
    int cut = -x.e;
    wide whole = cut > 127 ? 0 : x.m >> cut;
    bool half = cut <= 128 && (x.m >> (cut - 1) & 1);
    bool rest = cut > 128 || (cut > 1 && (x.m & (((wide)1 << (cut - 1)) - 1)));
    bool up = how == MOD_rni   ? half && (rest || (whole & 1))
              : how == MOD_rmi ? x.minus && (half || rest)
              : how == MOD_rpi ? !x.minus && (half || rest)
                               : false;
    return (struct real){.minus = x.minus, .m = whole + up};
}

int real_compare(struct real a, struct real b)
{
    if (a.nan || b.nan)
        return 2;
    if (a.inf && b.inf && a.minus == b.minus)
        return 0;
    struct real d = real_add(a, real_neg(b));
    return !d.inf && !d.m ? 0 : d.minus ? -1 : 1;
}
