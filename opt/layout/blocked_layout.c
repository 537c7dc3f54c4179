/* SPDX-License-Identifier: MIT */
/* blocked_layout.c: computes the order of a tile's dimensions in memory, and the layout that coalesces
 * accesses in such an order. This layout assigns the bits of each dimension's index to registers, lanes and
 * warps, the lowest bits first:
 *
 *     64 x 32, order 1 0, n = 4, 4 warps     columns  4 in a thread's registers, 8 in lanes
 *                                            rows     4 in lanes, 4 in warps, 4 in registers */
#include "opt/layout/layouts.h"

#include "opt/analysis/analysis.h"

enum { THREADS_PER_WARP = 1 << LANE_BITS };

/* Estimates the difference between neighbouring elements of v along dimension d. A wrong estimate is
 * harmless, because only the choice of a layout depends on it. A division reduces the difference, and a
 * remainder does not change it. If the difference is unknown, for example for values from memory, the
 * estimate is INT32_MAX. Each visited op decrements *budget. */
static int64_t step_along(const struct value *v, int d, int *budget)
{
    const int64_t most = INT32_MAX;
    const struct op *o = v->def;
    int64_t x, y, by;
    if (!type_is_tile(v->type) || v->type->shape[d] == 1)
        return 0;
    if (!o || --*budget < 0)
        return most;
    switch (o->code) {
    case OP_range: return 1;
    case OP_splat:
    case OP_const: return 0;
    case OP_expand_dims: return step_along(op_opnd(o, 0), d - (op_int(o, ATTR_axis) < d), budget);
    case OP_broadcast:
    case OP_hint:
    case OP_sext:
    case OP_zext:
    case OP_rems:
    case OP_remu: return step_along(op_opnd(o, 0), d, budget);
    case OP_add:
    case OP_sub:
    case OP_addptr:
    case OP_mul:
    case OP_shl:
    case OP_divs: break;
    default: return most;
    }
    x = step_along(op_opnd(o, 0), d, budget);
    if (o->code == OP_add || o->code == OP_sub || o->code == OP_addptr) {
        y = step_along(op_opnd(o, 1), d, budget);
        return x + y < most ? x + y : most;
    }
    if (!value_const_int(op_opnd(o, 1), &by) || by <= 0)
        return x ? most : 0;
    y = o->code == OP_divs ? x / by : o->code == OP_mul ? x * by : by < 31 ? x << by : most;
    return x < most && y < most ? y : most;
}

void order_in_memory(struct axis_table *axes, const struct value *ptr, int most, int *order)
{
    const struct axis *x = axis_of(axes, ptr);
    int rank = ptr->type->rank;
    int64_t step[RANK_MAX];
    for (int d = 0; d < rank; d++) {
        int budget = most;
        step[d] = step_along(ptr, d, &budget);
        step[d] = step[d] ? step[d] : INT64_MAX; /* all addresses are equal, so the order does not matter */
    }
    for (int i = 0; i < rank; i++) {
        int d = rank - 1 - i, at = i;
        for (; at > 0; at--) {
            const int before = order[at - 1];
            if (x->log_adjacent[before] > x->log_adjacent[d] ||
                (x->log_adjacent[before] == x->log_adjacent[d] &&
                 (x->log_adjacent[d] || step[before] <= step[d])))
                break;
            order[at] = before;
        }
        order[at] = d;
    }
}

/* The state of the construction of layout l. low[d] is the lowest coordinate bit of dimension d that is not
 * assigned yet; left[d] is the number of such bits. */
struct dealer {
    struct layout *l;
    int low[RANK_MAX], left[RANK_MAX];
};

/* Assigns up to n coordinate bits of dimension d that are not assigned yet, the lowest first, to register,
 * lane or warp bits (`kind`). Returns the number of assigned bits. */
static int deal(struct dealer *x, enum in kind, int d, int n)
{
    int given = 0;
    for (; given < n && x->left[d] > 0; given++, x->left[d]--)
        layout_add(x->l, kind, 1u << x->low[d]++);
    return given;
}

static void start_dealing(struct dealer *x, const struct type *t)
{
    layout_init(x->l, t->rank, t->shape);
    int low = 0;
    for (int d = t->rank - 1; d >= 0; d--) {
        x->low[d] = low;
        x->left[d] = x->l->dim_bits[d];
        low += x->left[d];
    }
}

int blocked_layout(struct layout *l, const struct type *t, const int *order, int n, int num_warps,
                   uint32_t reduced)
{
    struct dealer x = {.l = l};
    start_dealing(&x, t);
    int64_t share = type_elems(t) / (num_warps * THREADS_PER_WARP);
    const int vector = deal(&x, IN_reg, order[0], log2_floor(n < share ? n : share));
    int lanes = LANE_BITS, warps = log2_floor(num_warps);
    for (int i = 0; i < t->rank; i++)
        lanes -= deal(&x, IN_lane, order[i], lanes);
    for (int last = 0; last < 2; last++)
        for (int i = 0; i < t->rank; i++)
            if ((int)(reduced >> order[i] & 1) == last)
                warps -= deal(&x, IN_warp, order[i], warps);
    for (int i = 0; i < t->rank; i++)
        deal(&x, IN_reg, order[i], COORD_BITS_MAX);
    for (; lanes > 0; lanes--)
        layout_add(l, IN_lane, 0);
    for (; warps > 0; warps--)
        layout_add(l, IN_warp, 0);
    return vector;
}

int layout_run_of_warp(const struct layout *l, int dim)
{
    int run = layout_vector(l, dim, 1 << COORD_BITS_MAX), low = 0;
    for (int d = dim + 1; d < l->rank; d++)
        low += l->dim_bits[d];
    for (int i = 0; i < l->nbits[IN_lane] && layout_basis(l, IN_lane, i) == (uint32_t)run << low; i++)
        run *= 2;
    return run;
}

void layout_widen(struct layout *out, const struct type *x, const struct type *r, const struct layout *l)
{
    struct dealer dealer = {.l = out};
    start_dealing(&dealer, r);
    int low[RANK_MAX], index[RANK_MAX];
    for (int d = 0; d < r->rank; d++) {
        low[d] = dealer.low[d];
        dealer.left[d] = x->shape[d] == r->shape[d] ? 0 : dealer.left[d];
    }
    for (int kind = 0; kind < IN_offset; kind++)
        for (int i = 0; i < l->nbits[kind]; i++) {
            uint32_t coord = 0;
            int given = 0;
            layout_split_coord(l, layout_basis(l, (enum in)kind, i), index);
            for (int d = 0; d < r->rank; d++)
                coord |= (uint32_t)index[d] << low[d];
            for (int d = r->rank - 1; d >= 0 && !coord && !given; d--)
                given = deal(&dealer, (enum in)kind, d, 1);
            if (!given)
                layout_add(out, (enum in)kind, coord);
        }
    for (int d = r->rank - 1; d >= 0; d--)
        deal(&dealer, IN_reg, d, COORD_BITS_MAX);
}
