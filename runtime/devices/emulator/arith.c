/* SPDX-License-Identifier: MIT */
/* arith.c: computes instructions on integers and bits, comparisons and moves. For each operation and type, a macro
 * defines a function that computes all 32 lanes of a warp; tables list these functions. (PTX ISA, "Integer Arithmetic
 * Instructions", "Comparison and Selection Instructions", "Logic and Shift Instructions".) */
#include "runtime/devices/emulator/machine.h"

#include <string.h>

/* clang-format is off, because it treats macro calls without a semicolon as unfinished lines. */
/* clang-format off */

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

#define FUNCTION(name)                                                                                       \
    static void name(void *restrict pd, const void *pa, const void *pb, const void *pc,                      \
                     const struct emu_insn *in)
#define UNUSED(x) (void)(x)

/* Defines a function that computes d[i] = EXPR for every lane i. EXPR is an expression of the operands x, y and z of
 * lane i. The macro parameters D, A, B and C are the types of d[i], x, y and z. */
#define LANEWISE(name, D, A, B, C, EXPR)                                                                     \
    FUNCTION(name)                                                                                           \
    {                                                                                                        \
        (void)in;                                                                                            \
        D *restrict d = pd;                                                                                  \
        const A *a = pa;                                                                                     \
        const B *b = pb;                                                                                     \
        const C *c = pc;                                                                                     \
        for (int i = 0; i < LANES; i++) {                                                                    \
            const A x = a[i];                                                                                \
            const B y = b[i];                                                                                \
            const C z = c[i];                                                                                \
            UNUSED(x), UNUSED(y), UNUSED(z);                                                                 \
            d[i] = (D)(EXPR);                                                                                \
        }                                                                                                    \
    }
/* For an instruction with fewer than three source operands, the caller of the function passes the first
 * operand in place of each missing one. */

/* Like LANEWISE, for operations whose operands all have type T. EXPR is computed in the wider type W, and its result
 * is truncated to T. */
#define SAME(name, T, W, EXPR) LANEWISE(name, T, T, T, T, EXPR)
#define UNSIGNED(op, EXPR)                                                                                   \
    SAME(op##_u16, uint16_t, uint32_t, EXPR)                                                                 \
    SAME(op##_u32, uint32_t, uint64_t, EXPR)                                                                 \
    SAME(op##_u64, uint64_t, u128, EXPR)
#define SIGNED(op, EXPR)                                                                                     \
    SAME(op##_s16, int16_t, int32_t, EXPR)                                                                   \
    SAME(op##_s32, int32_t, int64_t, EXPR)                                                                   \
    SAME(op##_s64, int64_t, s128, EXPR)

/* -- operations that are the same for signed and unsigned types -- */

UNSIGNED(add, (uint64_t)x + y)
UNSIGNED(sub, (uint64_t)x - y)
UNSIGNED(mul_lo, (uint64_t)x * y)
UNSIGNED(mad_lo, (uint64_t)x *y + z)
UNSIGNED(neg, 0 - (uint64_t)x)
UNSIGNED(and, x &y)
UNSIGNED(or, x | y)
UNSIGNED(xor, x ^ y)
UNSIGNED(not, ~(uint64_t)x)
UNSIGNED(mov, x)

/* -- operations that differ for signed and unsigned types. If the divisor is zero, all bits of a quotient or
 * remainder are 1, as on GPUs; the ISA does not specify this result -- */

UNSIGNED(min, x < y ? x : y)
SIGNED(min, x < y ? x : y)
UNSIGNED(max, x > y ? x : y)
SIGNED(max, x > y ? x : y)
SIGNED(abs, x < 0 ? 0 - (uint64_t)x : (uint64_t)x)
UNSIGNED(div, y ? (uint64_t)x / y : ~UINT64_C(0))
SIGNED(div, y == 0 ? ~UINT64_C(0) : y == -1 ? 0 - (uint64_t)x : (uint64_t)(x / y))
UNSIGNED(rem, y ? (uint64_t)x % y : ~UINT64_C(0))
SIGNED(rem, y == 0 ? -1 : y == -1 ? 0 : x % y)

SAME(mul_hi_u16, uint16_t, uint32_t, (uint32_t)x *y >> 16)
SAME(mul_hi_s16, int16_t, int32_t, (int32_t)x *y >> 16)
SAME(mul_hi_u32, uint32_t, uint64_t, (uint64_t)x *y >> 32)
SAME(mul_hi_s32, int32_t, int64_t, (int64_t)x *y >> 32)
SAME(mul_hi_u64, uint64_t, u128, (u128)x *y >> 64)
SAME(mul_hi_s64, int64_t, s128, (s128)x *y >> 64)

LANEWISE(mul_wide_u16, uint32_t, uint16_t, uint16_t, uint16_t, (uint32_t)x * y)
LANEWISE(mul_wide_s16, int32_t, int16_t, int16_t, int16_t, (int32_t)x * y)
LANEWISE(mul_wide_u32, uint64_t, uint32_t, uint32_t, uint32_t, (uint64_t)x * y)
LANEWISE(mul_wide_s32, int64_t, int32_t, int32_t, int32_t, (int64_t)x * y)
LANEWISE(mad_wide_u16, uint32_t, uint16_t, uint16_t, uint32_t, (uint32_t)x *y + z)
LANEWISE(mad_wide_s16, uint32_t, int16_t, int16_t, uint32_t, (uint32_t)((int32_t)x * y) + z)
LANEWISE(mad_wide_u32, uint64_t, uint32_t, uint32_t, uint64_t, (uint64_t)x *y + z)
LANEWISE(mad_wide_s32, uint64_t, int32_t, int32_t, uint64_t, (uint64_t)((int64_t)x * y) + z)

/* -- shifts: shl and shr clamp a shift count to the width of the type, but shf uses the count modulo 32 -- */

LANEWISE(shl_u16, uint16_t, uint16_t, uint32_t, uint16_t, y > 15 ? 0 : (uint32_t)x << y)
LANEWISE(shl_u32, uint32_t, uint32_t, uint32_t, uint32_t, y > 31 ? 0 : (uint64_t)x << y)
LANEWISE(shl_u64, uint64_t, uint64_t, uint32_t, uint64_t, y > 63 ? 0 : x << y)
LANEWISE(shr_u16, uint16_t, uint16_t, uint32_t, uint16_t, y > 15 ? 0 : x >> y)
LANEWISE(shr_u32, uint32_t, uint32_t, uint32_t, uint32_t, y > 31 ? 0 : x >> y)
LANEWISE(shr_u64, uint64_t, uint64_t, uint32_t, uint64_t, y > 63 ? 0 : x >> y)
LANEWISE(shr_s16, int16_t, int16_t, uint32_t, int16_t, x >> (y > 15 ? 15 : y))
LANEWISE(shr_s32, int32_t, int32_t, uint32_t, int32_t, x >> (y > 31 ? 31 : y))
LANEWISE(shr_s64, int64_t, int64_t, uint32_t, int64_t, x >> (y > 63 ? 63 : y))
SAME(shf_l, uint32_t, uint64_t, (((uint64_t)y << 32 | x) << (z & 31)) >> 32)

/* Hexadecimal digit k of the selector c determines byte k of the result. The lower three bits of the digit
 * select a byte of b:a (b is the upper word). If the upper bit of the digit is 0, the result is this byte;
 * otherwise, all eight bits of the result are this byte's sign bit. */
FUNCTION(prmt)
{
    (void)in;
    uint32_t *restrict d = pd;
    const uint32_t *a = pa, *b = pb, *c = pc;
    for (int i = 0; i < LANES; i++) {
        uint64_t both = (uint64_t)b[i] << 32 | a[i];
        uint32_t r = 0;
        for (int k = 0; k < 4; k++) {
            uint32_t digit = c[i] >> 4 * k & 15, byte = (uint32_t)(both >> 8 * (digit & 7)) & 255;
            if (digit & 8)
                byte = byte & 128 ? 255 : 0;
            r |= byte << 8 * k;
        }
        d[i] = r;
    }
}

/* -- predicates: masks with one bit for each lane -- */

#define MASKS(name, EXPR)                                                                                    \
    FUNCTION(name)                                                                                           \
    {                                                                                                        \
        (void)in;                                                                                            \
        uint32_t x, y;                                                                                       \
        memcpy(&x, pa, sizeof x);                                                                            \
        memcpy(&y, pb, sizeof y);                                                                            \
        UNUSED(pc), UNUSED(y);                                                                               \
        x = (EXPR);                                                                                          \
        memcpy(pd, &x, sizeof x);                                                                            \
    }
MASKS(and_pred, x &y)
MASKS(or_pred, x | y)
MASKS(xor_pred, x ^ y)
MASKS(not_pred, ~x)
MASKS(mov_pred, x)

#define SELECT(bits)                                                                                         \
    FUNCTION(selp_u##bits)                                                                                   \
    {                                                                                                        \
        (void)in;                                                                                            \
        uint##bits##_t *restrict d = pd;                                                                     \
        const uint##bits##_t *a = pa, *b = pb;                                                               \
        uint32_t c;                                                                                          \
        memcpy(&c, pc, sizeof c);                                                                            \
        for (int i = 0; i < LANES; i++)                                                                      \
            d[i] = c >> i & 1 ? a[i] : b[i];                                                                 \
    }
SELECT(16)
SELECT(32)
SELECT(64)

/* -- setp -- */

#define COMPARE(name, T, EXPR)                                                                               \
    FUNCTION(name)                                                                                           \
    {                                                                                                        \
        (void)in;                                                                                            \
        const T *a = pa, *b = pb;                                                                            \
        uint32_t mask = 0;                                                                                   \
        UNUSED(pc);                                                                                          \
        for (int i = 0; i < LANES; i++) {                                                                    \
            const T x = a[i], y = b[i];                                                                      \
            mask |= (uint32_t)(EXPR) << i;                                                                   \
        }                                                                                                    \
        memcpy(pd, &mask, sizeof mask);                                                                      \
    }
#define COMPARE_FLOATS(op, EXPR)                                                                             \
    COMPARE(op##_f32, float, EXPR)                                                                           \
    COMPARE(op##_f64, double, EXPR)
#define COMPARE_UNSIGNED(op, EXPR)                                                                           \
    COMPARE(op##_u16, uint16_t, EXPR)                                                                        \
    COMPARE(op##_u32, uint32_t, EXPR)                                                                        \
    COMPARE(op##_u64, uint64_t, EXPR)                                                                        \
    COMPARE_FLOATS(op, EXPR)
#define COMPARE_ALL(op, EXPR)                                                                                \
    COMPARE_UNSIGNED(op, EXPR)                                                                               \
    COMPARE(op##_s16, int16_t, EXPR)                                                                         \
    COMPARE(op##_s32, int32_t, EXPR)                                                                         \
    COMPARE(op##_s64, int64_t, EXPR)
COMPARE_UNSIGNED(eq, x == y)
COMPARE_UNSIGNED(ne, x < y || x > y) /* for floats: false if an operand is NaN */
COMPARE_ALL(lt, x < y)
COMPARE_ALL(le, x <= y)
COMPARE_ALL(gt, x > y)
COMPARE_ALL(ge, x >= y)
COMPARE_FLOATS(neu, x != y)
COMPARE_FLOATS(nan, x != x || y != y)
COMPARE_FLOATS(num, x == x && y == y)

/* 16-bit floats are converted to f32 to compare their values. */
#define COMPARE_HALVES(op)                                                                                   \
    FUNCTION(op##_half)                                                                                      \
    {                                                                                                        \
        float x[LANES], y[LANES];                                                                            \
        const uint16_t *a = pa, *b = pb;                                                                     \
        for (int i = 0; i < LANES; i++) {                                                                    \
            x[i] = (float)emu_half_value(in->type, a[i]);                                                    \
            y[i] = (float)emu_half_value(in->type, b[i]);                                                    \
        }                                                                                                    \
        op##_f32(pd, x, y, pc, in);                                                                          \
    }
COMPARE_HALVES(eq)
COMPARE_HALVES(ne)
COMPARE_HALVES(lt)
COMPARE_HALVES(le)
COMPARE_HALVES(gt)
COMPARE_HALVES(ge)
COMPARE_HALVES(neu)
COMPARE_HALVES(nan)
COMPARE_HALVES(num)

/* -- selecting the function for an instruction -- */

/* These macros define table rows, one for each type, for the functions of the operation `op`. `key` is an
 * instruction, or the modifier of a comparison. BY_WIDTH is for operations that are the same for signed and
 * unsigned types. */
#define BY_SIGN(key, op)                                                                                     \
    {key, PT_u16, op##_u16}, {key, PT_u32, op##_u32}, {key, PT_u64, op##_u64}, {key, PT_s16, op##_s16},      \
        {key, PT_s32, op##_s32},                                                                             \
    {                                                                                                        \
        key, PT_s64, op##_s64                                                                                \
    }
#define BY_WIDTH(key, op)                                                                                    \
    {key, PT_u16, op##_u16}, {key, PT_u32, op##_u32}, {key, PT_u64, op##_u64}, {key, PT_s16, op##_u16},      \
        {key, PT_s32, op##_u32},                                                                             \
    {                                                                                                        \
        key, PT_s64, op##_u64                                                                                \
    }
#define OF_BITS(key, op)                                                                                     \
    {key, PT_b16, op##_u16}, {key, PT_b32, op##_u32},                                                        \
    {                                                                                                        \
        key, PT_b64, op##_u64                                                                                \
    }
#define OF_F32_F64(key, op)                                                                                  \
    {key, PT_f32, op##_f32},                                                                                 \
    {                                                                                                        \
        key, PT_f64, op##_f64                                                                                \
    }
#define OF_FLOATS(key, op) {key, PT_f16, op##_half}, {key, PT_bf16, op##_half}, OF_F32_F64(key, op)

static const struct emu_row comparisons[] = {
    BY_WIDTH(MOD_eq, eq),    OF_BITS(MOD_eq, eq),   OF_FLOATS(MOD_eq, eq),   BY_WIDTH(MOD_ne, ne),
    OF_BITS(MOD_ne, ne),     OF_FLOATS(MOD_ne, ne), BY_SIGN(MOD_lt, lt),     OF_FLOATS(MOD_lt, lt),
    BY_SIGN(MOD_le, le),     OF_FLOATS(MOD_le, le), BY_SIGN(MOD_gt, gt),     OF_FLOATS(MOD_gt, gt),
    BY_SIGN(MOD_ge, ge),     OF_FLOATS(MOD_ge, ge), OF_FLOATS(MOD_neu, neu), OF_FLOATS(MOD_nan, nan),
    OF_FLOATS(MOD_num, num),
};

static const struct emu_row arithmetic[] = {
    BY_WIDTH(INSN_mov, mov),
    OF_BITS(INSN_mov, mov),
    {INSN_mov, PT_f32, mov_u32},
    {INSN_mov, PT_f64, mov_u64},
    {INSN_mov, PT_pred, mov_pred},
    BY_WIDTH(INSN_selp, selp),
    OF_BITS(INSN_selp, selp),
    {INSN_selp, PT_f32, selp_u32},
    {INSN_selp, PT_f64, selp_u64},
    BY_WIDTH(INSN_add, add),
    BY_WIDTH(INSN_sub, sub),
    BY_WIDTH(INSN_mul_lo, mul_lo),
    BY_WIDTH(INSN_mad_lo, mad_lo),
    BY_SIGN(INSN_mul_hi, mul_hi),
    {INSN_mul_wide, PT_u16, mul_wide_u16},
    {INSN_mul_wide, PT_s16, mul_wide_s16},
    {INSN_mul_wide, PT_u32, mul_wide_u32},
    {INSN_mul_wide, PT_s32, mul_wide_s32},
    {INSN_mad_wide, PT_u16, mad_wide_u16},
    {INSN_mad_wide, PT_s16, mad_wide_s16},
    {INSN_mad_wide, PT_u32, mad_wide_u32},
    {INSN_mad_wide, PT_s32, mad_wide_s32},
    BY_SIGN(INSN_div, div),
    BY_SIGN(INSN_rem, rem),
    BY_SIGN(INSN_min, min),
    BY_SIGN(INSN_max, max),
    {INSN_neg, PT_s16, neg_u16},
    {INSN_neg, PT_s32, neg_u32},
    {INSN_neg, PT_s64, neg_u64},
    {INSN_abs, PT_s16, abs_s16},
    {INSN_abs, PT_s32, abs_s32},
    {INSN_abs, PT_s64, abs_s64},
    OF_BITS(INSN_and, and),
    OF_BITS(INSN_or, or),
    OF_BITS(INSN_xor, xor),
    OF_BITS(INSN_not, not ),
    {INSN_and, PT_pred, and_pred},
    {INSN_or, PT_pred, or_pred},
    {INSN_xor, PT_pred, xor_pred},
    {INSN_not, PT_pred, not_pred},
    OF_BITS(INSN_shl, shl),
    BY_SIGN(INSN_shr, shr),
    OF_BITS(INSN_shr, shr),
    {INSN_shf_l, PT_b32, shf_l},
    {INSN_prmt, PT_b32, prmt},
};

emu_compute *emu_compare(const struct emu_insn *in)
{
    bool plain = !in->mods[1] || (in->code == INSN_setp_and && in->mods[1] == MOD_and && !in->mods[2]);
    return plain ? EMU_FIND(comparisons, in->mods[0], in->type) : NULL;
}

emu_compute *emu_arith(const struct emu_insn *in)
{
    return in->mods[0] ? NULL : EMU_FIND(arithmetic, in->code, in->type);
}
