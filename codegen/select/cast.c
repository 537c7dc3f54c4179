/* SPDX-License-Identifier: MIT */
/* cast.c: selects casts, one element at a time.
 *
 * `cvt` converts between most pairs of types. Other casts take several steps. Steps that widen a float are
 * exact: a bf16 is the upper half of the f32 of the same value, and an e5m2 float is the upper half of the
 * f16 of the same value. If a cast from float to float rounds twice, the first step rounds to odd, so that
 * the final result is correctly rounded. A cast from an integer to bf16 or fp8 first rounds to the nearest
 * f32. */
#include "codegen/select/select.h"
#include "ir/families.h"

/* -- integers -- */

struct opnd extend_i8(struct select *s, enum dtype dt, struct opnd x, bool with_sign)
{
    if (dt != DT_i8)
        return x;
    if (x.kind == OPND_imm)
        return opnd_int(CLASS_b16, with_sign ? (int64_t)(int8_t)x.i : (int64_t)(uint8_t)x.i);
    if (with_sign)
        return emit1(s, form_cvt(PT_s16, PT_s8, MOD_none), x);
    return emit2(s, form0(INSN_and, PT_b16), x, opnd_int(CLASS_b16, 0xff));
}

/* Returns the PTX type with which `cvt` reads an integer of type dt. As s8 or u8, `cvt` reads only the low
 * eight bits of the register. */
static enum ptype source_type(enum dtype dt, bool with_sign)
{
    if (dt == DT_i8)
        return with_sign ? PT_s8 : PT_u8;
    return dtype_ptype(dt, with_sign ? READ_signed : READ_unsigned);
}

static struct opnd widen_int(struct select *s, enum dtype from, enum dtype to, struct opnd x, bool with_sign)
{
    if (from == DT_i1)
        return emit3(s, form0(INSN_selp, dtype_ptype(to, READ_bits)),
                     opnd_int(dtype_class(to), with_sign ? -1 : 1), opnd_int(dtype_class(to), 0), x);
    if (x.kind == OPND_imm) {
        int64_t mask = (INT64_C(1) << dtype_info[from].bits) - 1;
        return opnd_int(dtype_class(to), with_sign ? x.i : x.i & mask);
    }
    enum reading r = with_sign ? READ_signed : READ_unsigned;
    return emit1(s, form_cvt(dtype_ptype(to, r), source_type(from, with_sign), MOD_none), x);
}

static struct opnd narrow_int(struct select *s, enum dtype from, enum dtype to, struct opnd x)
{
    if (to == DT_i1) {
        enum reg_class cls = dtype_class(from);
        struct opnd low = emit2(s, form0(INSN_and, dtype_ptype(from, READ_bits)), x, opnd_int(cls, 1));
        return emit2(s, form1(INSN_setp, dtype_ptype(from, READ_signed), MOD_ne), low, opnd_int(cls, 0));
    }
    if (dtype_class(to) == dtype_class(from))
        return x;
    return emit1(s, form_cvt(dtype_ptype(to, READ_unsigned), dtype_ptype(from, READ_unsigned), MOD_none), x);
}

/* -- casts to f32 and from f32 -- */

/* Converts an e4m3 float to f16: places its exponent and mantissa bits into the exponent and mantissa of an
 * f16. The value of this f16 is 2^-8 times the value of the e4m3 float, so the code multiplies it by 2^8.
 * NaN, which has one bit pattern except for the sign, is handled separately. */
static struct opnd f8e4_to_f16_by_hand(struct select *s, struct opnd x)
{
    enum { MAGNITUDE = 0x7f, TO_SIGN = 8, TO_MANTISSA = 7, F16_256 = 0x5c00 };
    struct opnd magnitude = emit2(s, form0(INSN_and, PT_b16), x, opnd_int(CLASS_b16, MAGNITUDE));
    struct opnd sign = emit2(s, form0(INSN_shl, PT_b16), x, opnd_int(CLASS_b32, TO_SIGN));
    sign = emit2(s, form0(INSN_and, PT_b16), sign, opnd_int(CLASS_b16, -0x8000));
    struct opnd is_nan =
        emit2(s, form1(INSN_setp, PT_s16, MOD_eq), magnitude, opnd_int(CLASS_b16, MAGNITUDE));
    struct opnd h = emit2(s, form0(INSN_shl, PT_b16), magnitude, opnd_int(CLASS_b32, TO_MANTISSA));
    h = emit2(s, form1(INSN_mul, PT_f16, MOD_rn), h, opnd_int(CLASS_b16, F16_256));
    h = emit3(s, form0(INSN_selp, PT_b16), opnd_int(CLASS_b16, 0x7fff), h, is_nan);
    return emit2(s, form0(INSN_or, PT_b16), h, sign);
}

static struct opnd f8_to_f16(struct select *s, enum dtype from, struct opnd x)
{
    enum { HALF = 8 };
    if (from == DT_f8e5)
        return emit2(s, form0(INSN_shl, PT_b16), x, opnd_int(CLASS_b32, HALF));
    if (!target_has(s->target, HAS_cvt_fp8))
        return f8e4_to_f16_by_hand(s, x);
    struct opnd both = emit1(s, form_cvt(PT_f16x2, PT_e4m3x2, MOD_rn), x);
    struct opnd halves[3] = {mir_reg(s->m, CLASS_b16), mir_reg(s->m, CLASS_b16), both};
    emit_insn(s, form0(INSN_unpack, PT_b32), 2, 3, halves)->nvec = 2;
    return halves[0];
}

struct opnd widen_to_f32(struct select *s, enum dtype from, struct opnd x)
{
    if (from == DT_f32)
        return x;
    if (from == DT_f8e4 || from == DT_f8e5) {
        x = f8_to_f16(s, from, x);
        from = DT_f16;
    }
    if (from == DT_f16)
        return emit1(s, form_cvt(PT_f32, PT_f16, MOD_none), x);
    if (target_has(s->target, HAS_bf16_arith))
        return emit1(s, form_cvt(PT_f32, PT_bf16, MOD_none), x);
    struct opnd pair[3] = {mir_reg(s->m, CLASS_f32), in_reg(s, opnd_int(CLASS_b16, 0)), in_reg(s, x)};
    emit_insn(s, form0(INSN_pack, PT_b32), 1, 3, pair)->nvec = 2;
    return pair[0];
}

/* Rounds x, which is not negative, to f16 toward zero. If `odd` is set, rounds to odd instead: sets the last
 * bit of the result if the result is inexact. */
static struct opnd to_f16_odd(struct select *s, struct opnd x, bool odd)
{
    struct opnd h = emit1(s, form_cvt(PT_f16, PT_f32, MOD_rz), x);
    if (!odd)
        return h;
    struct opnd back = emit1(s, form_cvt(PT_f32, PT_f16, MOD_none), h);
    struct opnd lost = emit2(s, form1(INSN_setp, PT_f32, MOD_neu), back, x);
    struct opnd bit =
        emit3(s, form0(INSN_selp, PT_b16), opnd_int(CLASS_b16, 1), opnd_int(CLASS_b16, 0), lost);
    return emit2(s, form0(INSN_or, PT_b16), h, bit);
}

static struct opnd f32(double x)
{
    return opnd_int(CLASS_f32, (int64_t)double_to_bits(DT_f32, x));
}

/* Combines `magnitude`, the fp8 bits of |x|, with the sign of the f32 x. If x is NaN, sets all bits except
 * the sign, which is an fp8 NaN. */
static struct opnd with_f8_sign(struct select *s, struct opnd magnitude, struct opnd x)
{
    enum { NOT_A_NUMBER = 0x7f, SIGN = 0x80, TOP_BYTE = 24 };
    struct opnd is_nan = emit2(s, form1(INSN_setp, PT_f32, MOD_nan), x, x);
    magnitude = emit3(s, form0(INSN_selp, PT_b16), opnd_int(CLASS_b16, NOT_A_NUMBER), magnitude, is_nan);
    struct opnd top =
        emit2(s, form0(INSN_shr, PT_u32), emit_bits(s, CLASS_b32, x), opnd_int(CLASS_b32, TOP_BYTE));
    struct opnd sign = emit1(s, form_cvt(PT_u16, PT_u32, MOD_none), top);
    sign = emit2(s, form0(INSN_and, PT_b16), sign, opnd_int(CLASS_b16, SIGN));
    return emit2(s, form0(INSN_or, PT_b16), magnitude, sign);
}

/* Converts x to e5m2 with integer operations: rounds to f16, and then rounds the f16 to its upper half.
 * Rounds to nearest even, or toward zero if `rz` is set. Saturates to the largest finite e5m2. */
static struct opnd f32_to_f8e5(struct select *s, struct opnd x, bool rz)
{
    enum { LARGEST = 0x7b00, BELOW_HALF = 0x7f, HALF = 8 };
    struct opnd magnitude = emit1(s, form0(INSN_abs, PT_f32), x);
    struct opnd h = to_f16_odd(s, magnitude, !rz);
    h = emit2(s, form0(INSN_min, PT_u16), h, opnd_int(CLASS_b16, LARGEST));
    if (!rz) {
        struct opnd last = emit2(s, form0(INSN_shr, PT_u16), h, opnd_int(CLASS_b32, HALF));
        last = emit2(s, form0(INSN_and, PT_b16), last, opnd_int(CLASS_b16, 1));
        h = emit2(s, form0(INSN_add, PT_s16), h, opnd_int(CLASS_b16, BELOW_HALF));
        h = emit2(s, form0(INSN_add, PT_s16), h, last);
    }
    h = emit2(s, form0(INSN_shr, PT_u16), h, opnd_int(CLASS_b32, HALF));
    return with_f8_sign(s, h, x);
}

/* Rounds x to the nearest e4m3 with integer operations. Computes normal numbers from the bits of x, and
 * subnormal numbers as multiples of 2^-9. Saturates to the largest finite e4m3. */
static struct opnd f32_to_f8e4(struct select *s, struct opnd x)
{
    enum { LARGEST = 0x7e, DROPPED = 20, BELOW_HALF = 0x7ffff, BIAS = (127 - 7) << 3 };
    struct opnd a = emit1(s, form0(INSN_abs, PT_f32), x), bits = emit_bits(s, CLASS_b32, a);
    struct opnd last = emit2(s, form0(INSN_shr, PT_u32), bits, opnd_int(CLASS_b32, DROPPED));
    last = emit2(s, form0(INSN_and, PT_b32), last, opnd_int(CLASS_b32, 1));
    bits = emit2(s, form0(INSN_add, PT_s32), bits, opnd_int(CLASS_b32, BELOW_HALF));
    bits = emit2(s, form0(INSN_add, PT_s32), bits, last);
    bits = emit2(s, form0(INSN_shr, PT_u32), bits, opnd_int(CLASS_b32, DROPPED));
    bits = emit2(s, form0(INSN_sub, PT_s32), bits, opnd_int(CLASS_b32, BIAS));
    struct opnd small = emit2(s, form1(INSN_mul, PT_f32, MOD_rn), a, f32(0x1p9));
    small = emit1(s, form_cvt(PT_u32, PT_f32, MOD_rni), small);
    struct opnd is_small = emit2(s, form1(INSN_setp, PT_f32, MOD_lt), a, f32(0x1p-6));
    bits = emit3(s, form0(INSN_selp, PT_b32), small, bits, is_small);
    bits = emit2(s, form0(INSN_min, PT_u32), bits, opnd_int(CLASS_b32, LARGEST));
    return with_f8_sign(s, emit1(s, form_cvt(PT_u16, PT_u32, MOD_none), bits), x);
}

static struct opnd f32_to_f8(struct select *s, enum dtype to, struct opnd x, bool rz)
{
    if (to == DT_f8e5 && (rz || !target_has(s->target, HAS_cvt_fp8)))
        return f32_to_f8e5(s, x, rz);
    if (!target_has(s->target, HAS_cvt_fp8))
        return f32_to_f8e4(s, x);
    struct form cvt = {.code = INSN_cvt2,
                       .type = to == DT_f8e4 ? PT_e4m3x2 : PT_e5m2x2,
                       .from = PT_f32,
                       .mods = {MOD_rn, MOD_sat_finite}};
    return emit2(s, cvt, opnd_int(CLASS_f32, 0), x);
}

struct opnd narrow_from_f32(struct select *s, enum dtype to, struct opnd x, enum rounding round)
{
    if (to == DT_f32)
        return x;
    if (dtype_info[to].bits == 8)
        return f32_to_f8(s, to, x, round == ROUND_rz);
    return emit1(s, form_cvt(dtype_ptype(to, READ_signed), PT_f32, round == ROUND_rz ? MOD_rz : MOD_rn), x);
}

/* Rounds an f64 to f32, to odd. Rounding this f32 to a narrower float type gives the same result as rounding
 * the f64 directly. */
static struct opnd f64_to_odd_f32(struct select *s, struct opnd x)
{
    struct opnd f = emit1(s, form_cvt(PT_f32, PT_f64, MOD_rz), x);
    struct opnd back = emit1(s, form_cvt(PT_f64, PT_f32, MOD_none), f);
    struct opnd lost = emit2(s, form1(INSN_setp, PT_f64, MOD_neu), back, x);
    struct opnd bit =
        emit3(s, form0(INSN_selp, PT_b32), opnd_int(CLASS_b32, 1), opnd_int(CLASS_b32, 0), lost);
    struct opnd bits = emit2(s, form0(INSN_or, PT_b32), emit_bits(s, CLASS_b32, f), bit);
    struct opnd odd = emit_bits(s, CLASS_f32, bits);
    struct opnd is_nan = emit2(s, form1(INSN_setp, PT_f64, MOD_nan), x, x);
    return emit3(s, form0(INSN_selp, PT_f32), f, odd, is_nan);
}

static struct opnd widen_float(struct select *s, enum dtype from, enum dtype to, struct opnd x)
{
    if (dtype_info[from].bits == 8 && to == DT_f16)
        return f8_to_f16(s, from, x);
    x = widen_to_f32(s, from, x);
    if (to == DT_f64)
        return emit1(s, form_cvt(PT_f64, PT_f32, MOD_none), x);
    return narrow_from_f32(s, to, x, ROUND_rn);
}

static struct opnd narrow_float(struct select *s, const struct op *o, enum dtype from, enum dtype to,
                                struct opnd x)
{
    enum rounding round = (enum rounding)op_int(o, ATTR_round);
    if (from == DT_f64 && (to == DT_f32 || to == DT_f16))
        return emit1(s, form_cvt2(dtype_ptype(to, READ_signed), PT_f64, rounding_mod(o), flush_mod(o)), x);
    x = from == DT_f64 ? f64_to_odd_f32(s, x) : widen_to_f32(s, from, x);
    return narrow_from_f32(s, to, x, round);
}

/* -- integers and floats -- */

static struct opnd int_to_float(struct select *s, const struct op *o, enum dtype from, enum dtype to,
                                struct opnd x)
{
    bool with_sign = o->code == OP_stof;
    if (from == DT_i1) {
        int64_t one = (int64_t)double_to_bits(to, with_sign ? -1.0 : 1.0);
        return emit3(s, form0(INSN_selp, dtype_ptype(to, READ_bits)), opnd_int(dtype_class(to), one),
                     opnd_int(dtype_class(to), 0), x);
    }
    enum dtype step = to == DT_f64 ? DT_f64 : to == DT_f16 ? DT_f16 : DT_f32;
    x = emit1(s, form_cvt(dtype_ptype(step, READ_signed), source_type(from, with_sign), rounding_mod(o)), x);
    return step == to ? x : narrow_from_f32(s, to, x, ROUND_rn);
}

/* Converts a float to an integer with saturation. For i8, saturates to 16 bits, and the result is the low 8
 * bits. For i1, the result is the lowest bit of the conversion to i32. */
static struct opnd float_to_int(struct select *s, enum dtype from, enum dtype to, struct opnd x,
                                bool with_sign)
{
    enum ptype type = dtype_ptype(to, with_sign ? READ_signed : READ_unsigned);
    if (to == DT_i1) {
        x = float_to_int(s, from, DT_i32, x, with_sign);
        return narrow_int(s, DT_i32, DT_i1, x);
    }
    if (from != DT_f64) {
        x = widen_to_f32(s, from, x);
        from = DT_f32;
    }
    return emit1(s, form_cvt(type, dtype_ptype(from, READ_signed), MOD_rzi), x);
}

struct opnd select_cast(struct select *s, const struct op *o, const struct opnd *x)
{
    enum dtype from = elem_dtype(op_opnd(o, 0)->type), to = elem_dtype(op_result(o)->type);
    switch ((enum cast_op)o->code) {
    case CAST_OP_sext: return widen_int(s, from, to, x[0], true);
    case CAST_OP_zext: return widen_int(s, from, to, x[0], false);
    case CAST_OP_trunc: return narrow_int(s, from, to, x[0]);
    case CAST_OP_fext: return widen_float(s, from, to, x[0]);
    case CAST_OP_ftrunc: return narrow_float(s, o, from, to, x[0]);
    case CAST_OP_stof:
    case CAST_OP_utof: return int_to_float(s, o, from, to, x[0]);
    case CAST_OP_ftos: return float_to_int(s, from, to, x[0], true);
    case CAST_OP_ftou: return float_to_int(s, from, to, x[0], false);
    case CAST_OP_bitcast: return emit_bits(s, dtype_class(to), x[0]);
    }
    diag_bug(s->diag, o->loc, "no instructions for '%s'", op_info[o->code].name);
}
