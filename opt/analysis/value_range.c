/* SPDX-License-Identifier: MIT */
/* value_range.c: computes the bounds of a value's elements from constants, ranges, loop counters and arithmetic.
 *
 *     %r = range start=0 end=64            0 to 63
 *     for %i = 0 to 1000 step 64           0 to 960
 *     %left = sub 1024, %i                 64 to 1024
 *     %m = cmp %r, %left pred=slt          true for every element
 *
 * Bounds are signed. If an op may overflow, the bounds of its result are those of its type. */
#include "opt/analysis/value_range.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct bounds of_type(const struct type *t)
{
    int64_t top = type_is_ptr(t) ? INT64_MAX : INT64_MAX >> (64 - type_elem_bits(t));
    return (struct bounds){-top - 1, top};
}

/* Computes the bounds of x * y: the least and the greatest of the four products of a bound of x and a bound
 * of y. Returns false if one of these products exceeds 64 bits. */
static bool product(struct bounds x, struct bounds y, struct bounds *r)
{
    int64_t at[4];
    for (int i = 0; i < 4; i++)
        if (__builtin_mul_overflow(i & 1 ? x.hi : x.lo, i & 2 ? y.hi : y.lo, &at[i]))
            return false;
    r->lo = least(least(at[0], at[1]), least(at[2], at[3]));
    r->hi = most(most(at[0], at[1]), most(at[2], at[3]));
    return true;
}

/* Computes the bounds of `x op c`, where c is a constant, for shifts, divisions and remainders. Returns false
 * if the bounds are unknown. */
static bool by_constant(enum opcode code, struct bounds x, int64_t c, struct bounds *r)
{
    bool is_shift = code == OP_shl || code == OP_shrs || code == OP_shru;
    if ((is_shift ? c < 0 || c > 62 : c <= 0) ||
        (x.lo < 0 && code != OP_shl && code != OP_shrs && code != OP_divs))
        return false;
    switch (code) {
    case OP_shl: return product(x, (struct bounds){INT64_C(1) << c, INT64_C(1) << c}, r);
    case OP_shrs:
    case OP_shru: *r = (struct bounds){x.lo >> c, x.hi >> c}; return true;
    case OP_divs:
    case OP_divu: *r = (struct bounds){x.lo / c, x.hi / c}; return true;
    case OP_rems:
    case OP_remu: *r = (struct bounds){0, least(x.hi, c - 1)}; return true;
    default: return false;
    }
}

static bool arithmetic(enum opcode code, struct bounds x, struct bounds y, struct bounds *r)
{
    switch (code) {
    case OP_add:
        return !__builtin_add_overflow(x.lo, y.lo, &r->lo) && !__builtin_add_overflow(x.hi, y.hi, &r->hi);
    case OP_sub:
        return !__builtin_sub_overflow(x.lo, y.hi, &r->lo) && !__builtin_sub_overflow(x.hi, y.lo, &r->hi);
    case OP_mul: return product(x, y, r);
    case OP_mins: *r = (struct bounds){least(x.lo, y.lo), least(x.hi, y.hi)}; return true;
    case OP_maxs: *r = (struct bounds){most(x.lo, y.lo), most(x.hi, y.hi)}; return true;
    case OP_and: *r = (struct bounds){0, x.lo < 0 ? y.hi : least(x.hi, y.hi)}; return y.lo >= 0;
    default: return y.lo == y.hi && by_constant(code, x, y.lo, r);
    }
}

static struct bounds look(const struct value *v, int *budget);

/* Computes the bounds of the counter of a loop from lo to hi. A counter that counts down is at most lo, and
 * greater than hi. A counter that counts up is at least lo and at most hi - 1; if lo is a constant of at
 * least 0, the upper bound is the last value of at most hi - 1 that the counter can have. Returns false if
 * the step is not a constant, or if the bounds show that the loop runs no iteration. */
static bool counter(const struct op *loop, int *budget, struct bounds *r)
{
    int64_t step;
    if (!value_const_int(op_opnd(loop, 2), &step) || step == 0)
        return false;
    struct bounds lo = look(op_opnd(loop, 0), budget), hi = look(op_opnd(loop, 1), budget);
    if (step < 0) {
        *r = (struct bounds){hi.lo + 1, lo.hi};
        return hi.lo < lo.hi;
    }
    if (hi.hi <= lo.lo)
        return false;
    bool in_steps = lo.lo == lo.hi && lo.lo >= 0;
    *r = (struct bounds){lo.lo, in_steps ? lo.lo + (hi.hi - 1 - lo.lo) / step * step : hi.hi - 1};
    return true;
}

static bool known(const struct value *v, int *budget, struct bounds *r)
{
    const struct op *o = v->def;
    if (value_const_int(v, &r->lo)) {
        r->hi = r->lo;
        return true;
    }
    if (!o)
        return v->block->parent && v->block->parent->code == OP_for && v->index == 0 &&
               counter(v->block->parent, budget, r);
    switch (o->code) {
    case OP_range: *r = (struct bounds){op_int(o, ATTR_start), op_int(o, ATTR_end) - 1}; return true;
    case OP_program_id:
    case OP_num_programs:
    case OP_cta_id:
    case OP_cta_count: *r = (struct bounds){0, INT32_MAX}; return true;
    case OP_splat:
    case OP_broadcast:
    case OP_expand_dims:
    case OP_reshape:
    case OP_trans:
    case OP_sext: *r = look(op_opnd(o, 0), budget); return true;
    case OP_zext: *r = look(op_opnd(o, 0), budget); return r->lo >= 0;
    case OP_select:
        if (!type_is_int(v->type))
            return false;
        *r = look(op_opnd(o, 1), budget);
        struct bounds other = look(op_opnd(o, 2), budget);
        *r = (struct bounds){least(r->lo, other.lo), most(r->hi, other.hi)};
        return true;
    default: break;
    }
    if (o->nopnds != 2 || !op_has(o, ELEMENTWISE) || !type_is_int(op_opnd(o, 0)->type))
        return false;
    struct bounds x = look(op_opnd(o, 0), budget);
    return arithmetic(o->code, x, look(op_opnd(o, 1), budget), r);
}

static struct bounds look(const struct value *v, int *budget)
{
    struct bounds r, whole = of_type(v->type);
    return --*budget >= 0 && known(v, budget, &r) && r.lo >= whole.lo && r.hi <= whole.hi ? r : whole;
}

struct bounds bounds_of(const struct value *v)
{
    int budget = value_params(v)->value_range_ops;
    return look(v, &budget);
}

static bool is_multiple(const struct value *v, int64_t of, int *budget)
{
    const struct op *o = v->def, *loop = v->block->parent;
    int64_t c;
    if (value_const_int(v, &c))
        return c % of == 0;
    if (--*budget < 0)
        return false;
    if (!o)
        return loop && loop->code == OP_for && v->index == 0 && is_multiple(op_opnd(loop, 0), of, budget) &&
               is_multiple(op_opnd(loop, 2), of, budget);
    switch (o->code) {
    case OP_splat:
    case OP_broadcast:
    case OP_expand_dims: return is_multiple(op_opnd(o, 0), of, budget);
    case OP_mul: return is_multiple(op_opnd(o, 0), of, budget) || is_multiple(op_opnd(o, 1), of, budget);
    case OP_shl: return value_const_int(op_opnd(o, 1), &c) && c >= 0 && c < 31 && (INT64_C(1) << c) % of == 0;
    default: return false;
    }
}

bool value_is_multiple(const struct value *v, int64_t of)
{
    int budget = value_params(v)->value_range_ops;
    return is_multiple(v, of, &budget);
}

bool op_is_nonnegative(const struct op *o, const bool *x, bool in_address)
{
    int64_t y;
    switch (o->code) {
    case OP_program_id:
    case OP_num_programs:
    case OP_cta_id:
    case OP_cta_count:
    case OP_zext: return true;
    case OP_sext:
    case OP_rems:
    case OP_remu:
    case OP_shrs:
    case OP_shru: return x[0];
    case OP_divs: return x[0] && (in_address || (value_const_int(op_opnd(o, 1), &y) && y > 0));
    case OP_divu: return x[0] && value_const_int(op_opnd(o, 1), &y) && y > 0;
    case OP_mul: return in_address && x[0] && x[1];
    case OP_and:
    case OP_maxs: return x[0] || x[1];
    case OP_or:
    case OP_xor:
    case OP_mins:
    case OP_minu:
    case OP_maxu: return x[0] && x[1];
    case OP_select: return x[1] && x[2];
    default: return false;
    }
}
