/* SPDX-License-Identifier: MIT */
/* cheap_division.c: turns divisions of nonnegative indices by constants into multiplications and shifts.
 *
 *     %q = divs %x, 64                %q = shru %x, 6
 *     %r = rems %x, 64        =>      %r = and %x, 63
 *     %p = divs %x, 48                %h = mulhu %x, 0xaaaaaaab
 *                                     %p = shru %h, 5
 *     %s = rems %x, 48                %s = sub %x, (mul %p, 48)
 *
 * The pass replaces only divisions of nonnegative dividends. (With negative dividends, rounding toward zero
 * would take two to four more instructions.) Let 0 <= x < 2^31 and 2^(k-1) < d <= 2^k. The factor is m =
 * ceil(2^(31+k) / d), which is less than 2^32. Then x m / 2^(31+k) exceeds x / d by less than 1 / d, so both
 * have the same integer part (Granlund and Montgomery, Division by Invariant Integers using Multiplication,
 * 1994).
 *
 * A sum or product of nonnegative values is assumed not to overflow, and so to be nonnegative, if it is part
 * of an address: otherwise the program would access memory outside of its arrays. The pass runs late, because
 * other passes search for divisions. */
#include "ir/ir.h"
#include "opt/analysis/value_range.h"
#include "opt/passes.h"

enum { INT_BITS = 32 };

/* Returns whether an address is computed from v only by additions, multiplications, and divisions by small
 * constants. */
static bool is_part_of_address(const struct value *v, int *budget)
{
    /* even after a division by 4096, an index that overflowed is about 2^20 elements away from the array */
    enum { QUOTIENT_MOST = 4096 };
    int64_t by;
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct op *o = u->user;
        if (--*budget < 0)
            return false;
        switch (o->code) {
        case OP_addptr: return true;
        case OP_divs:
            if (op_opnd(o, 0) != v || !value_const_int(op_opnd(o, 1), &by) || by < 1 || by > QUOTIENT_MOST)
                break;
            if (is_part_of_address(op_result(o), budget))
                return true;
            break;
        case OP_add:
        case OP_mul:
        case OP_shl:
        case OP_sext:
        case OP_splat:
        case OP_broadcast:
        case OP_expand_dims:
        case OP_reshape:
        case OP_hint:
            if (is_part_of_address(op_result(o), budget))
                return true;
            break;
        default: break;
        }
    }
    return false;
}

static bool is_nonnegative(const struct value *v, int *budget)
{
    const struct op *o = v->def, *loop = v->block->parent;
    int64_t step;
    if (--*budget < 0)
        return false;
    if (!o)
        return loop && loop->code == OP_for && v->index == 0 && value_const_int(op_opnd(loop, 2), &step) &&
               step > 0 && is_nonnegative(op_opnd(loop, 0), budget);
    switch (o->code) {
    case OP_add:
    case OP_mul:
    case OP_shl:
        return bounds_of(v).lo >= 0 ||
               (is_nonnegative(op_opnd(o, 0), budget) && is_nonnegative(op_opnd(o, 1), budget) &&
                is_part_of_address(v, budget));
    case OP_splat:
    case OP_broadcast:
    case OP_expand_dims:
    case OP_reshape:
    case OP_sext:
    case OP_hint: return is_nonnegative(op_opnd(o, 0), budget);
    case OP_divs:
    case OP_rems:
        return value_const_int(op_opnd(o, 1), &step) && step > 0 && is_nonnegative(op_opnd(o, 0), budget);
    default: return bounds_of(v).lo >= 0;
    }
}

static struct value *quotient_of(struct builder *b, struct value *x, uint64_t by)
{
    int k = by & (by - 1) ? log2_floor((int64_t)by) + 1 : log2_floor((int64_t)by);
    if (by & (by - 1)) {
        uint64_t factor = ((UINT64_C(1) << (INT_BITS - 1 + k)) + by - 1) / by;
        x = build_binary(b, OP_mulhu, x, build_const_int(b, x->type, (int32_t)(uint32_t)factor));
        k--;
    }
    return k ? build_binary(b, OP_shru, x, build_const_int(b, x->type, k)) : x;
}

/* The divisions to replace. The pass finds all divisions before it replaces the first division, because a
 * dividend may itself be a quotient. */
struct divisions {
    struct arena *arena;
    VEC(struct op *) found;
};

static void visit(struct op *o, void *ctx)
{
    struct divisions *all = ctx;
    int64_t by;
    if ((o->code != OP_divs && o->code != OP_rems) || !value_const_int(op_opnd(o, 1), &by) || by < 2)
        return;
    int budget = op_params(o)->depends_ops, bits = type_elem_bits(op_result(o)->type);
    if ((bits == INT_BITS || (bits > INT_BITS && (by & (by - 1)) == 0)) &&
        is_nonnegative(op_opnd(o, 0), &budget))
        VEC_PUSH(all->arena, &all->found, o);
}

static void replace(struct op *o)
{
    struct builder b = build_before(o);
    struct value *x = op_opnd(o, 0), *r;
    int64_t by;
    value_const_int(op_opnd(o, 1), &by);
    bool is_power = (by & (by - 1)) == 0;
    if (is_power && o->code == OP_rems)
        r = build_binary(&b, OP_and, x, build_const_int(&b, x->type, by - 1));
    else
        r = quotient_of(&b, x, (uint64_t)by);
    if (!is_power && o->code == OP_rems)
        r = build_binary(&b, OP_sub, x, build_binary(&b, OP_mul, r, build_const_int(&b, x->type, by)));
    value_replace(op_result(o), r);
    op_erase(o);
}

void opt_cheap_division(struct func *f)
{
    struct divisions all = {.arena = f->module->scratch};
    func_walk(f, visit, &all);
    for (int i = 0; i < all.found.n; i++)
        replace(all.found.at[i]);
}
