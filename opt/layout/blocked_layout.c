/* SPDX-License-Identifier: MIT */
/* blocked_layout.c: computes the layout that coalesces accesses, given the order of dimensions in memory. It
 * assigns a tile's coordinate bits to registers, lanes and warps. In each dimension, the lowest bits come first:
 *
 *     64 x 32, order 1 0, n = 4, 4 warps     columns  4 in a thread's registers, 8 in lanes
 *                                            rows     4 in lanes, 4 in warps, 4 in registers */
#include "opt/layout/layouts.h"

enum { THREADS_PER_WARP = 1 << LANE_BITS };

struct dealer {
    struct layout *l;
    int low[RANK_MAX], left[RANK_MAX];
};

/* Assigns up to n bits of dimension d to registers, lanes or warps (`kind`). Returns the number of assigned
 * bits. */
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
