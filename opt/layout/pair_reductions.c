/* SPDX-License-Identifier: MIT */
/* pair_reductions.c: counts, for each coordinate bit of a tile, the pairwise reductions (along a dimension of
 * size 2) that combine elements whose coordinates differ in this bit. Assigns the bits with the fewest such
 * reductions to warps.
 *
 *     %pairs = reshape %x : tile<4x2x128xi32>      combines elements of %x whose coordinates differ in bit 7:
 *     %xor = reduce %pairs axis=1 {...}            counts as one crossing of bit 7, in tiles of 1024 elements
 *
 * Sorts and other butterfly algorithms consist of such reductions. If a register bit of the layout selects
 * between the two elements of a pair, the reduction moves no data. If a lane bit does, the reduction takes a
 * shuffle; if a warp bit does, a barrier and shared memory. In a bitonic sort of 2^n elements, n - b
 * reductions combine elements whose coordinates differ in bit b, so the highest bits should be warp bits. */
#include "opt/layout/layouts.h"

static void count(struct op *o, void *ctx)
{
    struct pair_reductions *p = ctx;
    if (o->code != OP_reduce)
        return;
    const struct type *t = op_opnd(o, 0)->type;
    int axis = (int)op_int(o, ATTR_axis), bit = 0;
    for (int d = axis + 1; d < t->rank; d++)
        bit += log2_floor(t->shape[d]);
    if (t->shape[axis] == 2)
        p->crossings[log2_floor(type_elems(t))][bit]++;
}

void count_pair_reductions(struct pair_reductions *p, struct func *f)
{
    *p = (struct pair_reductions){0};
    func_walk(f, count, p);
}

void keep_pairs_in_warps(struct layout *l, const struct pair_reductions *p, int vector)
{
    const int *crossings = p->crossings[layout_coord_bits(l)];
    const int nregs = l->nbits[IN_reg], first = layout_first(l, IN_warp);
    for (int w = l->nbits[IN_warp] - 1; w >= 0; w--)
        for (int r = nregs - 1; r >= vector; r--) {
            uint32_t reg = l->basis[r], warp = l->basis[first + w];
            if (!is_power_of_two(reg) || !is_power_of_two(warp) ||
                crossings[log2_floor(warp)] <= crossings[log2_floor(reg)])
                continue;
            l->basis[r] = warp;
            l->basis[first + w] = reg;
        }
}
