/* SPDX-License-Identifier: MIT */
/* arith.c: selects instructions for integer and float arithmetic, comparisons, selects and address computations, one
 * element at a time.
 *
 * For each op, the table lists the instruction for integers, how this instruction reads its operands, and the
 * instruction for floats. The functions after the table expand ops for which PTX has no instruction (ops on
 * i1, ops on bf16 before Hopper, minima of f64 that propagate NaN). */
#include "codegen/select/select.h"
#include "ir/families.h"

/* clang-format off */
/* Columns: op; instruction for integers; how this instruction reads its operands; whether an i8 must be extended
 * first; instruction for floats */
#define ROWS(X) \
    X(ARITH_OP_add, INSN_add, READ_signed, false, INSN_add) \
    X(ARITH_OP_sub, INSN_sub, READ_signed, false, INSN_sub) \
    X(ARITH_OP_mul, INSN_mul_lo, READ_signed, false, INSN_mul) \
    X(ARITH_OP_neg, INSN_neg, READ_signed, false, INSN_neg) \
    X(ARITH_OP_abs, INSN_abs, READ_signed, true, INSN_abs) \
    X(ARITH_OP_divs, INSN_div, READ_signed, true, 0) \
    X(ARITH_OP_divu, INSN_div, READ_unsigned, true, 0) \
    X(ARITH_OP_rems, INSN_rem, READ_signed, true, 0) \
    X(ARITH_OP_remu, INSN_rem, READ_unsigned, true, 0) \
    X(ARITH_OP_mulhu, INSN_mul_hi, READ_unsigned, true, 0) \
    X(ARITH_OP_and, INSN_and, READ_bits, false, 0) \
    X(ARITH_OP_or, INSN_or, READ_bits, false, 0) \
    X(ARITH_OP_xor, INSN_xor, READ_bits, false, 0) \
    X(ARITH_OP_shl, INSN_shl, READ_bits, false, 0) \
    X(ARITH_OP_shrs, INSN_shr, READ_signed, true, 0) \
    X(ARITH_OP_shru, INSN_shr, READ_unsigned, true, 0) \
    X(ARITH_OP_mins, INSN_min, READ_signed, true, 0) \
    X(ARITH_OP_maxs, INSN_max, READ_signed, true, 0) \
    X(ARITH_OP_minu, INSN_min, READ_unsigned, true, 0) \
    X(ARITH_OP_maxu, INSN_max, READ_unsigned, true, 0) \
    X(ARITH_OP_min, 0, 0, false, INSN_min) \
    X(ARITH_OP_max, 0, 0, false, INSN_max) \
    X(ARITH_OP_fma, 0, 0, false, INSN_fma) \
    X(ARITH_OP_fadd, 0, 0, false, INSN_add) \
    X(ARITH_OP_fsub, 0, 0, false, INSN_sub) \
    X(ARITH_OP_fmul, 0, 0, false, INSN_mul) \
    X(ARITH_OP_ffma, 0, 0, false, INSN_fma) \
    X(ARITH_OP_fdiv, 0, 0, false, 0) \
    X(ARITH_OP_frem, 0, 0, false, 0) \
    X(ARITH_OP_cmp, 0, 0, false, 0) \
    X(ARITH_OP_select, 0, 0, false, 0) \
    X(ARITH_OP_addptr, 0, 0, false, 0)
/* clang-format on */

static const struct row {
    uint8_t whole;   /* instruction for integers */
    uint8_t reading; /* how the instruction reads its operands: as signed, unsigned or bits */
    bool exact;      /* an i8 operand must be extended first: its register's upper bits affect the result */
    uint8_t real;    /* instruction for floats */
} rows[OP_count] = {
#define X(op, whole, reading, exact, real) [op] = {whole, reading, exact, real},
    ROWS(X)
#undef X
};

/* Returns whether the op has a row; true for every enumerator. If one has no row, this function does not
 * compile: -Wswitch reports the missing case. */
static bool has_row(enum arith_op op)
{
    switch (op) {
#define X(name, whole, reading, exact, real) case name:
        ROWS(X)
#undef X
        return true;
    }
    return false;
}

#undef ROWS

/* -- i1 -- */

struct opnd pred_not(struct select *s, struct opnd x)
{
    if (x.kind == OPND_imm)
        return opnd_int(CLASS_pred, !x.i);
    return emit1(s, form0(INSN_not, PT_pred), x);
}

static struct opnd pred_op(struct select *s, enum insn_code code, struct opnd x, struct opnd y)
{
    return emit2(s, form0(code, PT_pred), x, y);
}

/* Returns the conjunction of x and not y. */
static struct opnd pred_without(struct select *s, struct opnd x, struct opnd y)
{
    return pred_op(s, INSN_and, x, pred_not(s, y));
}

/* Computes an op on integers of one bit, whose signed values are 0 and -1. */
static struct opnd arith_i1(struct select *s, enum opcode code, const struct opnd *x)
{
    switch (code) {
    case OP_add:
    case OP_sub:
    case OP_xor: return pred_op(s, INSN_xor, x[0], x[1]);
    case OP_mul:
    case OP_and:
    case OP_minu:
    case OP_maxs: return pred_op(s, INSN_and, x[0], x[1]);
    case OP_or:
    case OP_maxu:
    case OP_mins: return pred_op(s, INSN_or, x[0], x[1]);
    case OP_neg:
    case OP_abs:
    case OP_shrs: return x[0];
    case OP_divs:
    case OP_divu: return pred_op(s, INSN_or, x[0], pred_not(s, x[1])); /* a quotient by 0 is all ones */
    case OP_rems:
    case OP_remu:
    case OP_shl:
    case OP_shru: return pred_without(s, x[0], x[1]);
    case OP_mulhu: return opnd_int(CLASS_pred, 0);
    default: select_unsupported(s, op_info[code].name);
    }
}

static struct opnd cmp_i1(struct select *s, enum pred pred, struct opnd x, struct opnd y)
{
    switch (pred) {
    case PRED_ne: return pred_op(s, INSN_xor, x, y);
    case PRED_ult:
    case PRED_sgt: return pred_without(s, y, x);
    case PRED_ugt:
    case PRED_slt: return pred_without(s, x, y);
    case PRED_ule:
    case PRED_sge: return pred_op(s, INSN_or, y, pred_not(s, x));
    case PRED_uge:
    case PRED_sle: return pred_op(s, INSN_or, x, pred_not(s, y));
    default: return pred_not(s, pred_op(s, INSN_xor, x, y));
    }
}

/* -- integers -- */

/* Converts a shift count of type dt to an unsigned count of 32 bits, as PTX expects. Counts of 64 or more may
 * become 64: PTX clamps the count to the number of bits. */
static struct opnd shift_count(struct select *s, enum dtype dt, struct opnd n)
{
    enum { WIDEST = 64 };
    if (n.kind == OPND_imm) {
        uint64_t bits =
            (uint64_t)n.i & (dt == DT_i64 ? UINT64_MAX : (UINT64_C(1) << dtype_info[dt].bits) - 1);
        return opnd_int(CLASS_b32, bits < WIDEST ? (int64_t)bits : WIDEST);
    }
    switch (dt) {
    case DT_i8:
    case DT_i16: return emit1(s, form_cvt(PT_u32, PT_u16, MOD_none), extend_i8(s, dt, n, false));
    case DT_i64:
        n = emit2(s, form0(INSN_min, PT_u64), n, opnd_int(CLASS_b64, WIDEST));
        return emit1(s, form_cvt(PT_u32, PT_u64, MOD_none), n);
    default: return n;
    }
}

/* Computes the remainder as x - x / y * y. For y = 0 the product is 0 and the result is x, as the IR
 * requires. For y = 0, the result of PTX's rem would be all ones (seen on sm_90). */
static struct opnd remainder_of(struct select *s, enum ptype type, const struct opnd *x)
{
    struct opnd quotient = emit2(s, form0(INSN_div, type), x[0], x[1]);
    return emit2(s, form0(INSN_sub, type), x[0], emit2(s, form0(INSN_mul_lo, type), quotient, x[1]));
}

/* Computes the quotient or the remainder of an integer of 32 or 64 bits divided by 2^k, with shifts and
 * masks. Quotients round toward zero. If the PTX contained a div, ptxas would sometimes generate a full
 * division. */
static struct opnd by_power(struct select *s, const struct op *o, enum ptype type, const struct opnd *x,
                            int k)
{
    int bits = ptype_info[type].bits;
    bool is_signed = o->code == OP_divs || o->code == OP_rems;
    const struct op *from = op_opnd(o, 0)->def;
    bool below = is_signed && !(from && from->code == OP_program_id);
    bool divides = o->code == OP_divs || o->code == OP_divu;
    enum ptype plain = bits == 32 ? PT_b32 : PT_b64, positive = bits == 32 ? PT_u32 : PT_u64;
    struct opnd mask = opnd_int(ptype_info[type].cls, (int64_t)((UINT64_C(1) << k) - 1));
    if (!below && !divides)
        return emit2(s, form0(INSN_and, plain), x[0], mask);
    struct opnd biased = x[0];
    if (below && k > 0) {
        struct opnd sign = emit2(s, form0(INSN_shr, type), x[0], opnd_int(CLASS_b32, bits - 1));
        biased = emit2(s, form0(INSN_add, type), x[0], emit2(s, form0(INSN_and, plain), sign, mask));
    }
    if (divides)
        return emit2(s, form0(INSN_shr, below ? type : positive), biased, opnd_int(CLASS_b32, k));
    mask.i = ~mask.i;
    return emit2(s, form0(INSN_sub, type), x[0], emit2(s, form0(INSN_and, plain), biased, mask));
}

/* Emits 0 - x, |x| or x - y for 16-bit integers, with unsigned subtractions. Signed instructions have a fault
 * in ptxas 13.0: for x = -32768, the results of `neg.s16`, `abs.s16` and `sub.s16 0, x` should be -32768, but
 * a setp, min or max that reads such a result as signed gets 32768. */
static struct opnd minus_16(struct select *s, enum opcode code, const struct opnd *x)
{
    const struct form sub = form0(INSN_sub, PT_u16);
    if (code == OP_sub)
        return emit2(s, sub, x[0], x[1]);
    struct opnd negated = emit2(s, sub, opnd_int(CLASS_b16, 0), x[0]);
    return code == OP_neg ? negated : emit2(s, form0(INSN_max, PT_s16), x[0], negated);
}

/* Returns whether o negates 32-bit integers. Such a negation must be selected as `sub.u32 0, x`: when ptxas
 * 13.0 fuses two maxima or minima of negated, extended bytes into one instruction, it drops a `neg.s32` or
 * `sub.s32 0, x`. */
static bool negates_32(const struct op *o, enum ptype type, const struct opnd *x)
{
    return type == PT_s32 &&
           (o->code == OP_neg || (o->code == OP_sub && x[0].kind == OPND_imm && x[0].i == 0));
}

/* o computes the low word (mul) or the high word (mulhu) of a product of 32-bit integers. Returns whether
 * another op of the same block computes the other word of the same product. */
static bool has_other_half(const struct op *o)
{
    const enum opcode other = o->code == OP_mul ? OP_mulhu : OP_mul;
    const struct value *a = op_opnd(o, 0), *b = op_opnd(o, 1);
    for (const struct use *u = a->uses; u; u = u->next) {
        const struct op *user = u->user;
        if (user->code == other && user->block == o->block &&
            ((op_opnd(user, 0) == a && op_opnd(user, 1) == b) ||
             (op_opnd(user, 0) == b && op_opnd(user, 1) == a)))
            return true;
    }
    return false;
}

/* Computes one half of a product by a mul.wide. The op that computes the other half is also selected as a
 * mul.wide, and the peephole optimizer merges the two mul.wides. ptxas would not merge a mul.lo with a
 * mul.hi, each of which takes as long as a mul.wide. */
static struct opnd half_of_product(struct select *s, const struct op *o, const struct opnd *y)
{
    struct opnd halves[3] = {mir_reg(s->m, CLASS_b32), mir_reg(s->m, CLASS_b32)};
    halves[2] = emit2(s, form0(INSN_mul_wide, PT_u32), y[0], y[1]);
    emit_insn(s, form0(INSN_unpack, PT_b64), 2, 3, halves)->nvec = 2;
    return halves[o->code == OP_mulhu];
}

static struct opnd arith_int(struct select *s, const struct op *o, enum dtype dt, const struct opnd *x)
{
    const struct row *row = &rows[o->code];
    bool is_shift = o->code == OP_shl || o->code == OP_shrs || o->code == OP_shru;
    struct opnd y[2];
    for (int i = 0; i < o->nopnds; i++)
        y[i] = row->exact ? extend_i8(s, dt, x[i], row->reading == READ_signed) : x[i];
    if (is_shift)
        y[1] = shift_count(s, dt, x[1]);
    enum ptype type = dtype_ptype(dt, row->reading);
    if (o->code == OP_mulhu && dt == DT_i8)
        return emit2(s, form0(INSN_shr, PT_u16), emit2(s, form0(INSN_mul_lo, PT_u16), y[0], y[1]),
                     opnd_int(CLASS_b32, dtype_info[dt].bits));
    if (type == PT_s16 && (o->code == OP_neg || o->code == OP_abs || o->code == OP_sub))
        return minus_16(s, o->code, y);
    if (negates_32(o, type, y))
        return emit2(s, form0(INSN_sub, PT_u32), opnd_int(CLASS_b32, 0), y[o->nopnds - 1]);
    bool is_product = (o->code == OP_mul || o->code == OP_mulhu) && dt == DT_i32 && y[0].kind != OPND_imm;
    if (is_product && has_other_half(o))
        return half_of_product(s, o, y);
    bool is_division = row->whole == INSN_div || row->whole == INSN_rem;
    if (is_division && y[1].kind == OPND_imm && y[1].i > 0 && (y[1].i & (y[1].i - 1)) == 0 &&
        (dt == DT_i32 || dt == DT_i64))
        return by_power(s, o, type, y, __builtin_ctzll((uint64_t)y[1].i));
    if ((o->code == OP_rems || o->code == OP_remu) && y[1].kind != OPND_imm)
        return remainder_of(s, type, y);
    return emit(s, form0(row->whole, type), o->nopnds, y);
}

/* -- floats -- */

/* Computes op o on operands of float type dt, which has no instruction for the op: computes in f32 by
 * function f, and rounds the result to dt. For the ops in question, the result of the two roundings is
 * correctly rounded. */
static struct opnd through_f32(struct select *s, const struct op *o, enum dtype dt, const struct opnd *x,
                               struct opnd (*f)(struct select *s, const struct op *o, enum dtype dt,
                                                const struct opnd *x))
{
    struct opnd wide[3];
    for (int i = 0; i < o->nopnds; i++)
        wide[i] = widen_to_f32(s, dt, x[i]);
    return narrow_from_f32(s, dt, f(s, o, DT_f32, wide), ROUND_rn);
}

/* Computes a minimum or maximum of f64 that propagates NaN, for which PTX has no instruction. */
static struct opnd minmax_f64_nan(struct select *s, enum insn_code code, const struct opnd *x)
{
    struct opnd least = emit2(s, form0(code, PT_f64), x[0], x[1]);
    struct opnd is_nan = emit2(s, form1(INSN_setp, PT_f64, MOD_nan), x[0], x[1]);
    struct opnd nan = opnd_int(CLASS_f64, INT64_C(0x7ff8000000000000));
    return emit3(s, form0(INSN_selp, PT_f64), nan, least, is_nan);
}

/* Before Hopper, fma is the only arithmetic instruction on bf16. So x + y becomes x * 1 + y,
 * x * y becomes x * y + -0, and x - y becomes y * -1 + x. The rounding is the same. */
static struct opnd bf16_by_fma(struct select *s, enum opcode code, const struct opnd *x)
{
    enum { ONE = 0x3f80, MINUS_ONE = 0xbf80, MINUS_ZERO = 0x8000 };
    struct form fma = form1(INSN_fma, PT_bf16, MOD_rn);
    switch (code) {
    case OP_add: return emit3(s, fma, x[0], opnd_int(CLASS_b16, ONE), x[1]);
    case OP_sub: return emit3(s, fma, x[1], opnd_int(CLASS_b16, MINUS_ONE), x[0]);
    default: return emit3(s, fma, x[0], x[1], opnd_int(CLASS_b16, MINUS_ZERO));
    }
}

/* Flips the sign bit of a 16-bit float (neg) or clears it (abs). Does not clear it by and.b16: when ptxas
 * 13.0 packs the results of two `cvt.rn.f16.f32` into one word, it drops an and.b16 of the lower half. */
static struct opnd sign_op(struct select *s, enum opcode code, enum dtype dt, struct opnd x)
{
    enum { SIGN = 0x8000 };
    if (code == OP_abs)
        return emit1(s, form0(INSN_abs, dtype_ptype(dt, READ_signed)), x);
    return emit2(s, form0(INSN_xor, PT_b16), x, opnd_int(CLASS_b16, SIGN));
}

static struct opnd arith_float(struct select *s, const struct op *o, enum dtype dt, const struct opnd *x);

/* Returns whether o computes 1 / (c + exp(x)), as in a sigmoid, with a constant c so large (FAR_FROM_TINY)
 * that the divisor cannot be subnormal. */
static bool is_inverse_of_more(const struct op *o)
{
    const struct op *sum = op_opnd(o, 1)->def;
    if (const_f32(op_opnd(o, 0)) != 1 || !sum || sum->code != OP_add)
        return false;
    for (int i = 0; i < 2; i++) {
        const struct op *power = op_opnd(sum, i)->def;
        if (power && (power->code == OP_exp || power->code == OP_exp2) &&
            const_f32(op_opnd(sum, !i)) >= FAR_FROM_TINY)
            return true;
    }
    return false;
}

/* Computes 1 / x as 1 / (x / 4) / 4, because the instruction rcp flushes subnormal results to zero. If x
 * exceeds 2^126, 1 / x is subnormal, but 1 / (x / 4) is not, and the last multiplication does not flush. If
 * no use of the result needs subnormal numbers (is_lost_where_tiny), rcp alone suffices. */
static struct opnd inverse(struct select *s, const struct value *result, struct opnd x)
{
    struct opnd quarter = opnd_int(CLASS_f32, (int64_t)double_to_bits(DT_f32, 0.25));
    if (is_lost_where_tiny(result))
        return emit1(s, form2(INSN_rcp, PT_f32, MOD_approx, MOD_ftz), x);
    x = emit2(s, form1(INSN_mul, PT_f32, MOD_rn), x, quarter);
    x = emit1(s, form2(INSN_rcp, PT_f32, MOD_approx, MOD_ftz), x);
    return emit2(s, form1(INSN_mul, PT_f32, MOD_rn), x, quarter);
}

enum mod rounding_mod(const struct op *o)
{
    static const uint8_t mods[] = {[ROUND_none] = MOD_rn,
                                   [ROUND_rn] = MOD_rn,
                                   [ROUND_rz] = MOD_rz,
                                   [ROUND_rd] = MOD_rm,
                                   [ROUND_ru] = MOD_rp};
    return (enum mod)mods[round_mode((enum rounding)op_int(o, ATTR_round))];
}

enum mod flush_mod(const struct op *o)
{
    return round_flushes((enum rounding)op_int(o, ATTR_round)) ? MOD_ftz : MOD_none;
}

/* Returns whether a thread divides several elements by one divisor. */
static bool shares_divisor(const struct op *o)
{
    const struct op *d = op_opnd(o, 1)->def;
    return d && (d->code == OP_splat || d->code == OP_broadcast) &&
           tile_nregs(op_result(o)->type) > tile_nregs(op_opnd(d, 0)->type);
}

static struct opnd f32_unless(struct select *s, enum mod mod, struct opnd size, double bound, double then,
                              struct opnd x)
{
    struct opnd is_so = emit2(s, form1(INSN_setp, PT_f32, mod), size,
                              opnd_int(CLASS_f32, (int64_t)double_to_bits(DT_f32, bound)));
    return emit3(s, form0(INSN_selp, PT_f32), opnd_int(CLASS_f32, (int64_t)double_to_bits(DT_f32, then)), x,
                 is_so);
}

/* Computes x / y with nearly the instructions that ptxas generates for div.full. The difference: ptxas scales
 * each x by conditional multiplications. Here, the instructions that read only y are equal for all x, so CSE
 * leaves only one copy of them. The last multiplication has no .rn, but an addition of the quotient has .rn.
 * fuse.c fuses only instructions with the same modifiers, so it does not fuse this multiplication with such
 * an addition. */
static struct opnd divide_scaled(struct select *s, struct opnd x, struct opnd y)
{
    struct opnd size = emit1(s, form0(INSN_abs, PT_f32), y),
                one = opnd_int(CLASS_f32, (int64_t)double_to_bits(DT_f32, 1));
    struct opnd scale =
        f32_unless(s, MOD_gt, size, 0x1p126, 0.25, f32_unless(s, MOD_lt, size, 0x1p-126, 0x1p24, one));
    struct form product = form1(INSN_mul, PT_f32, MOD_rn);
    struct opnd inverse = emit1(s, form2(INSN_rcp, PT_f32, MOD_approx, MOD_ftz), emit2(s, product, y, scale));
    return emit2(s, form0(INSN_mul, PT_f32), emit2(s, product, x, scale), inverse);
}

static struct opnd fdiv(struct select *s, const struct op *o, enum dtype dt, const struct opnd *x)
{
    if (dt == DT_f64)
        return emit2(s, form1(INSN_div, PT_f64, rounding_mod(o)), x[0], x[1]);
    if (dt != DT_f32)
        return through_f32(s, o, dt, x, fdiv);
    bool exact = op_int(o, ATTR_round) != ROUND_none;
    if (!exact && is_inverse_of_more(o))
        return inverse(s, op_result(o), x[1]);
    if (!exact && flush_mod(o) == MOD_none && x[1].kind == OPND_reg && shares_divisor(o))
        return divide_scaled(s, x[0], x[1]);
    struct form form = form2(INSN_div, PT_f32, exact ? rounding_mod(o) : MOD_full, flush_mod(o));
    return emit2(s, form, x[0], x[1]);
}

static struct opnd arith_float(struct select *s, const struct op *o, enum dtype dt, const struct opnd *x)
{
    enum insn_code code = rows[o->code].real;
    enum ptype type = dtype_ptype(dt, READ_signed);
    if (dtype_info[dt].bits == 8)
        return through_f32(s, o, dt, x, arith_float);
    switch (o->code) {
    case OP_fdiv: return fdiv(s, o, dt, x);
    case OP_frem: return select_frem(s, dt, x);
    case OP_neg:
    case OP_abs:
        if (dtype_info[dt].bits == 16)
            return sign_op(s, o->code, dt, x[0]);
        return emit1(s, form0(code, type), x[0]);
    case OP_min:
    case OP_max:
        if (op_int(o, ATTR_nan) && dt == DT_f64)
            return minmax_f64_nan(s, code, x);
        return emit2(s, form1(code, type, op_int(o, ATTR_nan) ? MOD_prop_nan : MOD_none), x[0], x[1]);
    case OP_ffma:
    case OP_fma: return emit3(s, form2(code, type, rounding_mod(o), flush_mod(o)), x[0], x[1], x[2]);
    default:
        if (dt == DT_bf16 && !target_has(s->target, HAS_bf16_arith))
            return bf16_by_fma(s, o->code, x);
        return emit2(s, form2(code, type, rounding_mod(o), flush_mod(o)), x[0], x[1]);
    }
}

/* -- comparisons -- */

static const struct {
    uint8_t whole, reading, real;
} preds[PRED_count] = {
    [PRED_eq] = {MOD_eq, READ_signed, MOD_eq}, [PRED_ne] = {MOD_ne, READ_signed, MOD_neu},
    [PRED_slt] = {MOD_lt, READ_signed, 0},     [PRED_sle] = {MOD_le, READ_signed, 0},
    [PRED_sgt] = {MOD_gt, READ_signed, 0},     [PRED_sge] = {MOD_ge, READ_signed, 0},
    [PRED_ult] = {MOD_lt, READ_unsigned, 0},   [PRED_ule] = {MOD_le, READ_unsigned, 0},
    [PRED_ugt] = {MOD_gt, READ_unsigned, 0},   [PRED_uge] = {MOD_ge, READ_unsigned, 0},
    [PRED_lt] = {0, READ_signed, MOD_lt},      [PRED_le] = {0, READ_signed, MOD_le},
    [PRED_gt] = {0, READ_signed, MOD_gt},      [PRED_ge] = {0, READ_signed, MOD_ge},
};

static struct opnd select_cmp(struct select *s, const struct op *o, enum dtype dt, const struct opnd *x)
{
    enum pred pred = (enum pred)op_int(o, ATTR_pred);
    if (dt == DT_i1)
        return cmp_i1(s, pred, x[0], x[1]);
    if (dtype_info[dt].kind == DTYPE_int) {
        bool with_sign = preds[pred].reading == READ_signed;
        struct opnd right = extend_i8(s, dt, x[1], with_sign), left = extend_i8(s, dt, x[0], with_sign);
        return emit2(s, form1(INSN_setp, dtype_ptype(dt, preds[pred].reading), preds[pred].whole), left,
                     right);
    }
    struct opnd y[2] = {x[0], x[1]};
    if (dtype_info[dt].bits == 8 || (dt == DT_bf16 && !target_has(s->target, HAS_bf16_arith))) {
        y[0] = widen_to_f32(s, dt, x[0]);
        y[1] = widen_to_f32(s, dt, x[1]);
        dt = DT_f32;
    }
    return emit2(s, form1(INSN_setp, dtype_ptype(dt, READ_signed), preds[pred].real), y[0], y[1]);
}

static struct opnd select_select(struct select *s, enum dtype dt, const struct opnd *x)
{
    if (x[0].kind == OPND_imm)
        return x[0].i ? x[1] : x[2];
    if (dt != DT_i1)
        return emit3(s, form0(INSN_selp, dtype_ptype(dt, READ_bits)), x[1], x[2], x[0]);
    struct opnd otherwise = pred_without(s, x[2], x[0]);
    return pred_op(s, INSN_or, pred_op(s, INSN_and, x[0], x[1]), otherwise);
}

/* -- addresses -- */

static struct opnd select_addptr(struct select *s, const struct op *o, const struct opnd *x)
{
    enum dtype dt = elem_dtype(op_opnd(o, 1)->type);
    int64_t bytes = type_elem_bytes(type_elem(op_result(o)->type)->elem);
    struct opnd offset;
    if (x[1].kind == OPND_imm)
        offset = opnd_int(CLASS_b64, x[1].i * bytes);
    else if (dt == DT_i64)
        offset = emit2(s, form0(INSN_mul_lo, PT_s64), x[1], opnd_int(CLASS_b64, bytes));
    else {
        struct opnd i = x[1];
        if (dt != DT_i32)
            i = emit1(s, form_cvt(PT_s32, PT_s16, MOD_none), extend_i8(s, dt, i, true));
        offset = emit2(s, form0(INSN_mul_wide, PT_s32), i, opnd_int(CLASS_b32, bytes));
    }
    return emit2(s, form0(INSN_add, PT_s64), x[0], offset);
}

struct opnd select_arith(struct select *s, const struct op *o, const struct opnd *x)
{
    enum dtype dt = elem_dtype(op_opnd(o, 0)->type);
    if (!has_row((enum arith_op)o->code))
        diag_bug(s->diag, o->loc, "no instructions for '%s'", op_info[o->code].name);
    switch (o->code) {
    case OP_cmp: return select_cmp(s, o, dt, x);
    case OP_select: return select_select(s, elem_dtype(op_result(o)->type), x);
    case OP_addptr: return select_addptr(s, o, x);
    default: break;
    }
    if (dt == DT_i1)
        return arith_i1(s, o->code, x);
    return dtype_info[dt].kind == DTYPE_int ? arith_int(s, o, dt, x) : arith_float(s, o, dt, x);
}
