/* SPDX-License-Identifier: MIT */
/* layout_of_shape.c: derives the layout of a shape op's result from the layout of its operand, and the operand's
 * layout from the result's, so that no element moves.
 *
 *     %y = trans %x order=[1 0]      #x = reg[(0,1)] lane[(1,0) (2,0)]    =>    #y = reg[(1,0)] lane[(0,1) (0,2)] */
#include "opt/layout/layouts.h"

bool is_shape_change(const struct op *o)
{
    switch (o->code) {
    case OP_broadcast:
    case OP_expand_dims:
    case OP_reshape:
    case OP_trans:
    case OP_join:
    case OP_split: return true;
    default: return false;
    }
}

/* l is the layout of a split's operand, whose last dimension has size 2. If a lane or warp bit of l selects
 * the index along this dimension, swaps the basis vectors of this bit and of a register bit. Returns the
 * resulting layout. Without the swap, each half of the tile would be replicated in twice as many threads, and
 * a join of the halves would take twice as many registers. */
static struct layout parts_in_a_register(const struct layout *l)
{
    struct layout out = *l;
    int nregs = l->nbits[IN_reg], nthreads = l->nbits[IN_lane] + l->nbits[IN_warp], given = nregs - 1;
    while (given >= 0 && (!l->basis[given] || l->basis[given] & 1))
        given--;
    for (int i = nregs; i < nregs + nthreads && given >= 0; i++)
        if (l->basis[i] == 1) {
            out.basis[i] = l->basis[given];
            out.basis[given] = 1;
            break;
        }
    return out;
}

const struct layout *layout_before(const struct op *o, const struct layout *l)
{
    if (!is_shape_change(o))
        return l;
    const struct type *x = op_opnd(o, 0)->type, *r = o->results[0].type;
    struct layout out;
    int inverse[RANK_MAX];
    switch (o->code) {
    case OP_broadcast:
        out = *l;
        for (int d = 0; d < r->rank; d++)
            if (x->shape[d] != r->shape[d])
                layout_squash(&out, &out, d);
        layout_drop_free_regs(&out, &out, NULL);
        break;
    case OP_expand_dims:
    case OP_reshape: layout_reshape(&out, l, x->rank, x->shape); break;
    case OP_trans:
        for (int d = 0; d < r->rank; d++)
            inverse[op_attr(o, ATTR_order)->list[d]] = d;
        layout_trans(&out, l, inverse);
        break;
    case OP_join: layout_slice(&out, l, r->rank - 1, true, NULL); break;
    case OP_split: layout_join(&out, l, x->rank, x->shape); break;
    default: return l;
    }
    return layout_intern(o->block->func->module, &out);
}

const struct layout *layout_after(const struct op *o, const struct layout *l)
{
    const struct type *x = op_opnd(o, 0)->type, *r = o->results[0].type;
    struct layout out;
    switch (o->code) {
    case OP_expand_dims: layout_expand(&out, l, (int)op_int(o, ATTR_axis)); break;
    case OP_reshape: layout_reshape(&out, l, r->rank, r->shape); break;
    case OP_trans: layout_trans(&out, l, op_attr(o, ATTR_order)->list); break;
    case OP_reduce: layout_slice(&out, l, (int)op_int(o, ATTR_axis), true, NULL); break;
    case OP_join: layout_join(&out, l, r->rank, r->shape); break;
    case OP_split: {
        struct layout parts = parts_in_a_register(l);
        layout_slice(&out, &parts, x->rank - 1, true, NULL);
        break;
    }
    default: return NULL;
    }
    return layout_intern(o->block->func->module, &out);
}
