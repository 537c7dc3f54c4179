/* SPDX-License-Identifier: MIT */
/* insns_alu.c: defines the trials of instructions on single lanes: integers, bits, floats, comparisons, conversions,
 * moves.
 *
 * A trial tests many forms of instructions, one after the other. For each form, the kernel loads the operands of ELEMS
 * elements, computes, and stores ELEMS results. Each operand and each result occupies 8 bytes of memory. The test
 * computes expected results with 128-bit integers; for floats, it uses the functions of insns_exact.c. */
#include "tests/gpu/insns.h"

#include <stdio.h>
#include <string.h>

enum { ELEMS = 1024, THREADS = 128, SLOT = 8, FORMS = 24, OPERANDS = 3, SLOTS_BYTES = ELEMS * SLOT };

__extension__ typedef __int128 swide;

/* -- operands of a form -- */

static int operands_of(struct form f)
{
    int n = 0;
    for (const char *s = insn_info[f.code].operands; *s; s++)
        n += *s == ' ';
    return n;
}

static enum ptype wider(enum ptype t)
{
    return t == PT_u16 ? PT_u32 : t == PT_s16 ? PT_s32 : t == PT_u32 ? PT_u64 : PT_s64;
}

static enum ptype result_type(struct form f)
{
    enum insn_result r = insn_info[f.code].result;
    return r == RESULT_pred ? PT_pred : r == RESULT_wide ? wider((enum ptype)f.type) : (enum ptype)f.type;
}

static enum ptype operand_type(struct form f, int k)
{
    switch (f.code) {
    case INSN_cvt:
    case INSN_cvt2: return (enum ptype)f.from;
    case INSN_mad_wide: return k == 2 ? wider((enum ptype)f.type) : (enum ptype)f.type;
    case INSN_shl:
    case INSN_shr: return k == 1 ? PT_u32 : (enum ptype)f.type;
    case INSN_selp:
    case INSN_setp_and: return k == 2 ? PT_pred : (enum ptype)f.type;
    case INSN_pack: return f.type == PT_b64 ? PT_b32 : PT_b16;
    default: return (enum ptype)f.type;
    }
}

static int slot_bits(enum ptype t)
{
    int bits = t == PT_pred ? 32 : ptype_info[t].bits;
    return bits < 16 ? 16 : bits;
}

/* -- expected results according to the ISA -- */

static swide extended(enum ptype t, uint64_t x)
{
    int unused = 64 - ptype_info[t].bits;
    return holds_sign(t) ? (swide)((int64_t)(x << unused) >> unused) : (swide)(x << unused >> unused);
}

/* Truncates x to type t, and returns the bits of the register that holds the result. A result of 8 bits is extended to
 * 16 bits. */
static uint64_t cut(enum ptype t, swide x)
{
    return (uint64_t)extended(t, (uint64_t)x) & ~UINT64_C(0) >> (64 - slot_bits(t));
}

/* The ISA does not define division by zero; on GPUs, all bits of the result are 1. */
static swide divided(swide x, swide y, bool remainder)
{
    return y == 0 ? -1 : remainder ? x % y : x / y;
}

static uint64_t permuted(const uint64_t *x)
{
    uint8_t bytes[8];
    uint64_t r = 0;
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(x[i / 4] >> 8 * (i % 4));
    for (int i = 0; i < 4; i++) {
        int digit = (int)(x[2] >> 4 * i & 15);
        uint8_t byte = bytes[digit % 8];
        r |= (uint64_t)(digit < 8 ? byte : byte >> 7 ? 0xff : 0) << 8 * i;
    }
    return r;
}

static uint64_t want_integer(struct form f, const uint64_t *bits)
{
    enum ptype t = (enum ptype)f.type;
    int width = ptype_info[t].bits;
    swide x = extended(t, bits[0]), y = extended(t, bits[1]), z = extended(result_type(f), bits[2]);
    uint64_t count = (uint32_t)bits[1], clamped = count > (uint64_t)width ? (uint64_t)width : count;
    switch (f.code) {
    case INSN_add: return cut(t, x + y);
    case INSN_sub: return cut(t, x - y);
    case INSN_mul_lo: return cut(t, (swide)((wide)x * (wide)y));
    case INSN_mul_hi: return cut(t, holds_sign(t) ? x * y >> width : (swide)((wide)x * (wide)y >> width));
    case INSN_mul_wide: return cut(result_type(f), x * y);
    case INSN_mad_lo: return cut(t, (swide)((wide)x * (wide)y + (wide)z));
    case INSN_mad_wide: return cut(result_type(f), x * y + z);
    case INSN_div: return cut(t, divided(x, y, false));
    case INSN_rem: return cut(t, divided(x, y, true));
    case INSN_min: return cut(t, x < y ? x : y);
    case INSN_max: return cut(t, x > y ? x : y);
    case INSN_neg: return cut(t, -x);
    case INSN_abs: return cut(t, x < 0 ? -x : x);
    case INSN_and: return bits[0] & bits[1];
    case INSN_or: return bits[0] | bits[1];
    case INSN_xor: return bits[0] ^ bits[1];
    case INSN_not: return cut(t, ~x);
    case INSN_shl: return cut(t, (swide)((wide)x << clamped));
    case INSN_shr: return cut(t, x >> clamped);
    case INSN_shf_l: return (bits[1] << 32 | bits[0]) << (bits[2] & 31) >> 32;
    case INSN_prmt: return permuted(bits);
    case INSN_selp: return bits[2] & 1 ? bits[0] : bits[1];
    default: return cut(t, x); /* mov: copies x */
    }
}

/* Returns the minimum or maximum. -0 is below +0. If one operand is NaN, the result is the other operand; with .NaN,
 * the result is NaN. */
static uint64_t least(struct form f, enum ptype t, const struct real *x, bool is_max)
{
    bool sees_nan = f.mods[0] == MOD_prop_nan;
    if ((x[0].nan && x[1].nan) || (sees_nan && (x[0].nan || x[1].nan)))
        return real_round(t, (struct real){.nan = true}, MOD_rn, false);
    int order = real_compare(x[0], x[1]);
    bool first = x[1].nan || order == -1 || (order == 0 && x[0].minus);
    if (is_max)
        first = x[1].nan || order == 1 || (order == 0 && !x[0].minus);
    return real_round(t, x[first && !x[0].nan ? 0 : 1], MOD_rn, false);
}

/* With .ftz, replaces a subnormal f32 by 0. */
static uint64_t flushed(struct form f, uint64_t bits)
{
    return f.mods[1] == MOD_ftz && !(bits & 0x7f800000) ? bits & 0x80000000 : bits;
}

enum { ONE_F32 = 0x3f800000 };

/* Rounds a result. With .ftz, GPUs flush before they round: a result below 2^-126 becomes 0, even if it would round
 * up to 2^-126. With .sat, the result is clamped to the range from 0 to 1, and NaN and -0 become +0. */
static uint64_t rounded(struct form f, enum ptype t, struct real x)
{
    uint64_t zero = flushed(f, real_round(t, x, MOD_rz, false));
    bool is_zero = f.mods[1] == MOD_ftz && !(zero & 0x7fffffff);
    if (f.mods[1] == MOD_sat && (x.nan || x.minus || (!x.inf && !x.m)))
        return 0;
    uint64_t bits = is_zero ? zero : real_round(t, x, (enum mod)f.mods[0], false);
    return f.mods[1] == MOD_sat && bits > ONE_F32 ? ONE_F32 : bits;
}

/* Returns the sum of x and y. If x and y cancel, the sum is -0 with rounding down (rm), and +0 otherwise. */
static struct real sum(struct real x, struct real y, enum mod how)
{
    struct real r = real_add(x, y);
    if (how == MOD_rm && !r.nan && !r.inf && !r.m)
        r.minus = x.minus || y.minus;
    return r;
}

static uint64_t want_float(struct form f, enum ptype t, const uint64_t *bits)
{
    struct real x[OPERANDS];
    int width = type_bits(t);
    uint64_t sign = UINT64_C(1) << (width - 1),
             nan = sign - 1; /* the ISA does not define the NaN; GPUs return this NaN */
    enum mod how = (enum mod)f.mods[0];
    for (int k = 0; k < OPERANDS; k++)
        x[k] = real_of(t, flushed(f, bits[k]));
    switch (f.code) {
    case INSN_add: return rounded(f, t, sum(x[0], x[1], how));
    case INSN_sub: return rounded(f, t, sum(x[0], real_neg(x[1]), how));
    case INSN_mul: return rounded(f, t, real_mul(x[0], x[1]));
    case INSN_div: return rounded(f, t, real_div(x[0], x[1]));
    case INSN_fma: return rounded(f, t, sum(real_mul(x[0], x[1]), x[2], how));
    case INSN_sqrt: return rounded(f, t, real_sqrt(x[0]));
    case INSN_min: return least(f, t, x, false);
    case INSN_max: return least(f, t, x, true);
    case INSN_neg: return x[0].nan ? nan : bits[0] ^ sign;
    case INSN_abs: return x[0].nan ? nan : bits[0] & ~sign;
    case INSN_selp: return bits[2] & 1 ? bits[0] : bits[1];
    default: return bits[0];
    }
}

static uint64_t want_comparison(struct form f, const uint64_t *bits)
{
    enum ptype t = (enum ptype)f.type;
    int order;
    if (holds_float(t)) {
        order = real_compare(real_of(t, bits[0]), real_of(t, bits[1]));
    } else {
        swide x = extended(t, bits[0]), y = extended(t, bits[1]);
        order = x < y ? -1 : x > y;
    }
    bool unordered = order == 2;
    switch (f.mods[0]) {
    case MOD_eq: return order == 0;
    case MOD_ne: return !unordered && order != 0;
    case MOD_lt: return order == -1;
    case MOD_le: return order == -1 || order == 0;
    case MOD_gt: return order == 1;
    case MOD_ge: return order == 1 || order == 0;
    case MOD_neu: return order != 0;
    case MOD_nan: return unordered;
    default: return !unordered; /* MOD_num: no operand is NaN */
    }
}

/* Converts a float of type `from` to the integer type t, and clamps the result to t's range. The result for NaN is 0.
 * If one of the types has 64 bits, it is the integer with only the highest bit set instead. */
static uint64_t whole_of(enum ptype t, enum ptype from, struct real x)
{
    int width = ptype_info[t].bits, digits = width - holds_sign(t);
    if (x.nan)
        return width == 64 || from == PT_f64 ? cut(t, (swide)1 << (width - 1)) : 0;
    bool large = x.inf || (x.m && (x.e > 64 || x.m << (x.e > 0 ? x.e : 0) >> digits));
    uint64_t size =
        large ? (uint64_t)(((wide)1 << digits) - !x.minus) : (uint64_t)(x.m << (x.e > 0 ? x.e : 0));
    return cut(t, x.minus ? (holds_sign(t) ? -(swide)size : 0) : (swide)size);
}

static uint64_t want_conversion(struct form f, const uint64_t *bits)
{
    enum ptype t = (enum ptype)f.type, from = (enum ptype)f.from;
    enum mod how = (enum mod)f.mods[0];
    bool finite = f.mods[1] == MOD_sat_finite;
    if (f.code == INSN_cvt2) {
        enum ptype half = type_of_half(t);
        return real_round(half, real_of(from, bits[0]), how, finite) << type_bits(half) |
               real_round(half, real_of(from, bits[1]), how, finite);
    }
    if (t == PT_f16x2)
        return real_round(PT_f16, real_of(from, bits[0] >> 8 & 255), how, false) << 16 |
               real_round(PT_f16, real_of(from, bits[0] & 255), how, false);
    if (!holds_float(from)) {
        swide x = extended(from, bits[0]);
        struct real r = {.minus = x < 0, .m = (wide)(x < 0 ? -x : x)};
        return holds_float(t) ? real_round(t, r, how, false) : cut(t, x);
    }
    if (t == PT_f32 && from == PT_bf16) /* this conversion is exact, also for NaNs */
        return bits[0] << 16;
    struct real x = real_of(from, from == PT_f32 ? flushed(f, bits[0]) : bits[0]);
    bool to_whole = how == MOD_rni || how == MOD_rzi || how == MOD_rmi || how == MOD_rpi;
    if (to_whole)
        x = real_whole(x, how);
    return holds_float(t) ? rounded(f, t, x) : whole_of(t, from, x);
}

static uint64_t want_predicate(struct form f, const uint64_t *bits)
{
    bool x = bits[0] & 1, y = bits[1] & 1;
    return f.code == INSN_and   ? x && y
           : f.code == INSN_or  ? x || y
           : f.code == INSN_xor ? x != y
           : f.code == INSN_not ? !x
                                : x;
}

static uint64_t want(struct form f, const uint64_t *bits)
{
    enum ptype t = (enum ptype)f.type, half = type_of_half(t);
    if (f.code == INSN_setp)
        return want_comparison(f, bits);
    if (f.code == INSN_setp_and)
        return want_comparison(f, bits) && (bits[2] & 1);
    if (f.code == INSN_cvt || f.code == INSN_cvt2)
        return want_conversion(f, bits);
    if (f.code == INSN_pack || f.code == INSN_unpack)
        return f.code == INSN_pack ? bits[1] << ptype_info[t].bits / 2 | bits[0] : bits[0];
    if (t == PT_pred)
        return want_predicate(f, bits);
    if (!holds_float(t))
        return want_integer(f, bits);
    if (half == t)
        return want_float(f, t, bits);
    uint64_t low[OPERANDS], high[OPERANDS];
    for (int k = 0; k < OPERANDS; k++)
        low[k] = bits[k] & 0xffff, high[k] = bits[k] >> 16 & 0xffff;
    return want_float(f, half, high) << 16 | want_float(f, half, low);
}

/* -- kernels -- */

static void load_operand(struct text *p, enum ptype t, int k, size_t at)
{
    int bits = slot_bits(t);
    text_printf(p, "ld.global.b%d %%b%d_%d, [%%in+%zu];\n", bits, bits, k, at);
    if (t == PT_pred)
        text_printf(p, "setp.ne.u32 %%p%d, %%b32_%d, 0;\n", k, k);
}

static const char *register_of(enum ptype t, int k)
{
    static const char *const names[4][4] = {{"%p0", "%p1", "%p2", "%p3"},
                                            {"%b16_0", "%b16_1", "%b16_2", "%b16_3"},
                                            {"%b32_0", "%b32_1", "%b32_2", "%b32_3"},
                                            {"%b64_0", "%b64_1", "%b64_2", "%b64_3"}};
    int bits = t == PT_pred ? 1 : slot_bits(t);
    return names[bits == 1 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3][k];
}

static void print_form(struct text *p, struct form f, const char *spelled)
{
    enum ptype result = result_type(f);
    int n = operands_of(f);
    if (f.code == INSN_pack) {
        text_printf(p, "%s %s, {%s, %s};\n", spelled, register_of(result, 3),
                    register_of(operand_type(f, 0), 0), register_of(operand_type(f, 1), 1));
        return;
    }
    if (f.code == INSN_unpack) { /* pack the halves again */
        enum ptype piece = f.type == PT_b64 ? PT_b32 : PT_b16;
        const char *low = register_of(piece, 1), *high = register_of(piece, 2);
        text_printf(p, "%s {%s, %s}, %s;\nmov.b%d %s, {%s, %s};\n", spelled, low, high,
                    register_of(result, 0), ptype_info[result].bits, register_of(result, 3), low, high);
        return;
    }
    text_printf(p, "%s %s", spelled, register_of(result, 3));
    for (int k = 0; k < n; k++)
        text_printf(p, ", %s", register_of(operand_type(f, k), k));
    text_printf(p, ";\n");
}

static bool is_approximate(struct form f)
{
    return f.mods[0] == MOD_approx || f.mods[0] == MOD_full;
}

static void add_form(struct trial *t, struct form f, int number)
{
    char spelled[NAME_BYTES];
    size_t in = (size_t)number * OPERANDS * SLOTS_BYTES, out = (size_t)number * SLOTS_BYTES;
    enum ptype result = result_type(f);
    int n = f.code == INSN_pack ? 2 : operands_of(f), bits = slot_bits(result);
    form_spell(f, spelled, sizeof spelled);
    for (int k = 0; k < n; k++)
        load_operand(&t->ptx, operand_type(f, k), k, in + (size_t)k * SLOTS_BYTES);
    print_form(&t->ptx, f, spelled);
    if (result == PT_pred)
        text_printf(&t->ptx, "selp.u32 %%b32_3, 1, 0, %%p3;\n");
    text_printf(&t->ptx, "st.global.b%d [%%out+%zu], %%b%d_3;\n", bits, out, bits);
    for (int i = 0; i < ELEMS; i++) {
        uint64_t x[OPERANDS] = {0}, y;
        for (int k = 0; k < n; k++) {
            x[k] = operand_bits(operand_type(f, k), i, k);
            memcpy(t->in + in + (size_t)(k * SLOTS_BYTES + i * SLOT), &x[k], SLOT);
        }
        y = is_approximate(f) ? 0 : want(f, x);
        memcpy(t->want + out + (size_t)(i * SLOT), &y, SLOT);
    }
    struct check *c = trial_check(t, (enum insn_code)f.code, out, ELEMS, SLOT, bits / 8, "%s", spelled);
    c->form = f;
    c->has_operands = true;
    c->in_at = in;
    c->closeness = is_approximate(f) ? CLOSE_approx : CLOSE_bits;
}

static struct trial *begin(struct bench *b)
{
    struct trial *t = trial_new(b, (size_t)FORMS * OPERANDS * SLOTS_BYTES, (size_t)FORMS * SLOTS_BYTES);
    t->grid = ELEMS / THREADS;
    t->threads = THREADS;
    kernel_head(t);
    text_printf(
        &t->ptx,
        ".reg .pred %%p<4>;\n.reg .b16 %%b16_<4>;\n.reg .b32 %%b32_<4>;\n.reg .b64 %%b64_<4>;\n"
        "mad.lo.u32 %%cta, %%cta, %d, %%t;\nmul.wide.u32 %%wide, %%cta, 8;\nadd.s64 %%in, %%in, %%wide;\n"
        "add.s64 %%out, %%out, %%wide;\n",
        THREADS);
    return t;
}

struct batch {
    struct bench *b;
    struct trial *t;
    int n;
};

static void end(struct batch *y)
{
    if (!y->n)
        return;
    text_printf(&y->t->ptx, "ret;\n}\n");
    trial_run(y->b, y->t);
    y->n = 0;
}

static void try_form(struct batch *y, struct form f)
{
    if (y->n == 0)
        y->t = begin(y->b);
    add_form(y->t, f, y->n++);
    if (y->n == FORMS)
        end(y);
}

/* -- the list of forms -- */

#define TYPES(...)                                                                                           \
    {                                                                                                        \
        __VA_ARGS__, PT_none                                                                                 \
    }
#define INTEGERS PT_u16, PT_u32, PT_u64, PT_s16, PT_s32, PT_s64
#define BITS PT_b16, PT_b32, PT_b64
#define HALVES PT_f16, PT_f16x2, PT_bf16, PT_bf16x2

struct kin {
    uint8_t code, mods[2], types[12];
};

/* Lists the forms of an instruction with rounding toward zero, down and up, and its forms with .ftz and each of the
 * four roundings. */
#define ROUNDED(code)                                                                                        \
    {code, {MOD_rz}, TYPES(PT_f32, PT_f64)}, {code, {MOD_rm}, TYPES(PT_f32, PT_f64)},                        \
        {code, {MOD_rp}, TYPES(PT_f32, PT_f64)}, {code, {MOD_rn, MOD_ftz}, TYPES(PT_f32)},                   \
        {code, {MOD_rz, MOD_ftz}, TYPES(PT_f32)}, {code, {MOD_rm, MOD_ftz}, TYPES(PT_f32)},                  \
        {code, {MOD_rp, MOD_ftz}, TYPES(PT_f32)},

static const struct kin families[] = {
    {INSN_mov, {0}, TYPES(INTEGERS, PT_b16, PT_b32, PT_b64, PT_pred)},
    {INSN_mov, {0}, TYPES(PT_f32, PT_f64)},
    {INSN_pack, {0}, TYPES(PT_b32, PT_b64)},
    {INSN_unpack, {0}, TYPES(PT_b32, PT_b64)},
    {INSN_selp, {0}, TYPES(INTEGERS, BITS, PT_f32, PT_f64)},
    {INSN_add, {0}, TYPES(INTEGERS)},
    {INSN_sub, {0}, TYPES(INTEGERS)},
    {INSN_mul_lo, {0}, TYPES(INTEGERS)},
    {INSN_mul_hi, {0}, TYPES(INTEGERS)},
    {INSN_mul_wide, {0}, TYPES(PT_u16, PT_u32, PT_s16, PT_s32)},
    {INSN_mad_lo, {0}, TYPES(INTEGERS)},
    {INSN_mad_wide, {0}, TYPES(PT_u16, PT_u32, PT_s16, PT_s32)},
    {INSN_div, {0}, TYPES(INTEGERS)},
    {INSN_rem, {0}, TYPES(INTEGERS)},
    {INSN_min, {0}, TYPES(INTEGERS)},
    {INSN_max, {0}, TYPES(INTEGERS)},
    {INSN_neg, {0}, TYPES(PT_s16, PT_s32, PT_s64)},
    {INSN_abs, {0}, TYPES(PT_s16, PT_s32, PT_s64)},
    {INSN_and, {0}, TYPES(BITS, PT_pred)},
    {INSN_or, {0}, TYPES(BITS, PT_pred)},
    {INSN_xor, {0}, TYPES(BITS, PT_pred)},
    {INSN_not, {0}, TYPES(BITS, PT_pred)},
    {INSN_shl, {0}, TYPES(BITS)},
    {INSN_shr, {0}, TYPES(INTEGERS, BITS)},
    {INSN_shf_l, {0}, TYPES(PT_b32)},
    {INSN_prmt, {0}, TYPES(PT_b32)},
    {INSN_add, {MOD_rn}, TYPES(PT_f32, PT_f64, HALVES)},
    {INSN_add, {0}, TYPES(HALVES)},
    ROUNDED(INSN_add){INSN_sub, {MOD_rn}, TYPES(PT_f32, PT_f64, HALVES)},
    ROUNDED(INSN_sub){INSN_mul, {MOD_rn}, TYPES(PT_f32, PT_f64, HALVES)},
    ROUNDED(INSN_mul){INSN_fma, {MOD_rn}, TYPES(PT_f32, PT_f64, HALVES)},
    ROUNDED(INSN_fma){INSN_div, {MOD_rn}, TYPES(PT_f32, PT_f64)},
    ROUNDED(INSN_div){INSN_div, {MOD_full}, TYPES(PT_f32)},
    {INSN_min, {0}, TYPES(PT_f32, PT_f64, HALVES)},
    {INSN_max, {0}, TYPES(PT_f32, PT_f64, HALVES)},
    {INSN_min, {MOD_prop_nan}, TYPES(PT_f32, HALVES)},
    {INSN_max, {MOD_prop_nan}, TYPES(PT_f32, HALVES)},
    {INSN_neg, {0}, TYPES(PT_f32, PT_f64, HALVES)},
    {INSN_abs, {0}, TYPES(PT_f32, PT_f64, HALVES)},
    {INSN_sqrt, {MOD_rn}, TYPES(PT_f32, PT_f64)},
    ROUNDED(INSN_sqrt){INSN_sqrt, {MOD_approx}, TYPES(PT_f32)},
    {INSN_sqrt, {MOD_approx, MOD_ftz}, TYPES(PT_f32)},
    {INSN_rcp, {MOD_approx}, TYPES(PT_f32)},
    {INSN_rcp, {MOD_approx, MOD_ftz}, TYPES(PT_f32)},
    {INSN_rsqrt, {MOD_approx}, TYPES(PT_f32)},
    {INSN_rsqrt, {MOD_approx, MOD_ftz}, TYPES(PT_f32)},
    {INSN_ex2, {MOD_approx}, TYPES(PT_f32)},
    {INSN_ex2, {MOD_approx, MOD_ftz}, TYPES(PT_f32)},
    {INSN_lg2, {MOD_approx}, TYPES(PT_f32)},
    {INSN_lg2, {MOD_approx, MOD_ftz}, TYPES(PT_f32)},
    {INSN_add, {MOD_rn, MOD_sat}, TYPES(PT_f32)},
    {INSN_fma, {MOD_rn, MOD_sat}, TYPES(PT_f32)},
};

static void try_comparisons(struct batch *y)
{
    static const enum ptype types[] = {INTEGERS, BITS, PT_f32, PT_f64, PT_f16, PT_bf16};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (enum mod m = MOD_eq; m <= MOD_num; m++) {
            bool is_float = holds_float(types[i]),
                 is_bits = types[i] == PT_b16 || types[i] == PT_b32 || types[i] == PT_b64;
            if ((m > MOD_ne && is_bits) || (m >= MOD_neu && !is_float))
                continue;
            try_form(y, (struct form){INSN_setp, (uint8_t)types[i], 0, {(uint8_t)m}, 0});
            try_form(y, (struct form){INSN_setp_and, (uint8_t)types[i], 0, {(uint8_t)m, MOD_and}, 0});
        }
}

/* Returns the rounding modifiers that are valid for a cvt from one type to another. */
static const enum mod *roundings(enum ptype to, enum ptype from)
{
    static const enum mod none[] = {MOD_none, MOD_count}, nearest[] = {MOD_rn, MOD_count},
                          all[] = {MOD_rn, MOD_rz, MOD_rm, MOD_rp, MOD_count},
                          narrowing[] = {MOD_rn, MOD_rz, MOD_count},
                          whole[] = {MOD_rni, MOD_rzi, MOD_rmi, MOD_rpi, MOD_count}, never[] = {MOD_count};
    int more = ptype_info[from].bits - ptype_info[to].bits;
    if ((to == PT_bf16 && ptype_info[from].bits == 8) || (from == PT_bf16 && ptype_info[to].bits == 8))
        return never;
    if (!holds_float(to) && !holds_float(from))
        return none;
    if (!holds_float(to))
        return whole;
    bool is_large = to == PT_f32 || to == PT_f64;
    if (!holds_float(from))
        return is_large ? all : nearest;
    if (to == PT_f32 && from == PT_f64)
        return all;
    if (to == from)
        return to == PT_bf16 ? never : whole;
    return more > 0 ? narrowing : more == 0 ? never : none;
}

static void try_conversions(struct batch *y)
{
    static const enum ptype types[] = {PT_u8, PT_s8, INTEGERS, PT_f16, PT_bf16, PT_f32, PT_f64};
    enum { N = sizeof types / sizeof *types };
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (const enum mod *m = roundings(types[i], types[j]); *m != MOD_count; m++)
                if (types[i] != types[j] || holds_float(types[i]))
                    try_form(y,
                             (struct form){INSN_cvt, (uint8_t)types[i], (uint8_t)types[j], {(uint8_t)*m}, 0});
    for (const enum mod *m = roundings(PT_f32, PT_f64); *m != MOD_count; m++)
        try_form(y, (struct form){INSN_cvt, PT_f32, PT_f64, {(uint8_t)*m, MOD_ftz}, 0});
    for (const enum mod *m = roundings(PT_f32, PT_f32); *m != MOD_count; m++)
        try_form(y, (struct form){INSN_cvt, PT_f32, PT_f32, {(uint8_t)*m, MOD_ftz}, 0});
    for (enum ptype t = PT_e4m3x2; t <= PT_e5m2x2; t++) {
        try_form(y, (struct form){INSN_cvt, PT_f16x2, (uint8_t)t, {MOD_rn}, 0});
        try_form(y, (struct form){INSN_cvt2, (uint8_t)t, PT_f32, {MOD_rn, MOD_sat_finite}, 0});
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            try_form(y, (struct form){INSN_cvt2, i ? PT_bf16x2 : PT_f16x2, PT_f32, {j ? MOD_rz : MOD_rn}, 0});
}

void try_alu(struct bench *b)
{
    struct batch y = {.b = b};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        for (const uint8_t *t = families[i].types; *t; t++)
            try_form(&y,
                     (struct form){families[i].code, *t, 0, {families[i].mods[0], families[i].mods[1]}, 0});
    try_comparisons(&y);
    try_conversions(&y);
    end(&y);
}
