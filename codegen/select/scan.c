/* SPDX-License-Identifier: MIT */
/* scan.c: selects scans along an axis that registers and lanes hold.
 *
 *     registers    prefix sums x0, x0 + x1, x0 + x1 + x2, ...; the last one is the thread's total
 *     lanes        prefix sums of the totals over groups of 2, 4, ... lanes: each lane in the upper half of a
 *                  group adds the total of the lower half
 *     registers    the total of all preceding lanes is added to each prefix sum of the first step
 *
 * lower_scan has chosen a layout in which the lowest bits of an index along the axis are register bits, and
 * the next bits are lane bits, in ascending order. A reverse scan flips all these bits. "First" and
 * "preceding" refer to the order of the scan. A "sum" or "total" is the combination of elements by the scan's
 * region. */
#include "codegen/select/select.h"

#include <string.h>

enum { VALUES_MOST = 16, ALL_LANES = 31 };

struct scan {
    const struct op *op;
    int n; /* number of operand tiles that are scanned together */
    bool reverse;
    int nregs, nlanes; /* numbers of register bits and lane bits of the axis */
    int reg[COORD_BITS_MAX],
        lane[LANE_BITS]; /* the numbers of the register bits and of the lane bits of the axis, lowest first */
    uint32_t lane_mask;
};

static struct opnd lane_bits(struct select *s, uint32_t mask)
{
    return emit2(s, form0(INSN_and, PT_b32), s->thread, opnd_int(CLASS_b32, mask));
}

static struct opnd is_zero(struct select *s, struct opnd x)
{
    return emit2(s, form1(INSN_setp, PT_s32, MOD_eq), x, opnd_int(CLASS_b32, 0));
}

static struct opnd b32_with(struct select *s, enum insn_code code, struct opnd x, uint32_t mask)
{
    return mask ? emit2(s, form0(code, PT_b32), x, opnd_int(CLASS_b32, mask)) : x;
}

/* Converts a lane's number to the lane's place in the order of the scan, or a place to the number: flips the
 * axis bits if the scan is a reverse scan. */
static struct opnd in_order(struct select *s, const struct scan *x, struct opnd lane)
{
    return b32_with(s, INSN_xor, lane, x->reverse ? x->lane_mask : 0);
}

static int reg_number(const struct scan *x, int leader, int place)
{
    int reg = leader, last = (1 << x->nregs) - 1;
    place = x->reverse ? last - place : place;
    for (int i = 0; i < x->nregs; i++)
        reg ^= (place >> i & 1) << x->reg[i];
    return reg;
}

static enum dtype value_dtype(const struct scan *x, int i)
{
    return elem_dtype(x->op->results[i].type);
}

static void shuffle_all(struct select *s, const struct scan *x, const struct opnd *from, struct opnd lane,
                        struct opnd *to)
{
    for (int i = 0; i < x->n; i++)
        to[i] = shuffle(s, MOD_idx, in_reg(s, from[i]), lane);
}

/* sums[] has the totals of each lane's own elements, one for each operand. Replaces them by the totals over
 * all lanes along the axis up to and including the lane itself. */
static void scan_lanes(struct select *s, const struct scan *x, struct opnd *sums)
{
    struct opnd own = in_order(s, x, lane_bits(s, ALL_LANES));
    uint32_t below = 0;
    for (int b = 0; b < x->nlanes; b++) {
        uint32_t bit = UINT32_C(1) << x->lane[b];
        struct opnd from = b32_with(s, INSN_or, own, below);
        from = in_order(s, x, b32_with(s, INSN_and, from, ALL_LANES & ~bit));
        struct opnd both[VALUES_MOST],
            lower = is_zero(s, emit2(s, form0(INSN_and, PT_b32), own, opnd_int(CLASS_b32, bit)));
        shuffle_all(s, x, sums, from, both);
        select_combine(s, x->op, both, sums);
        for (int i = 0; i < x->n; i++)
            sums[i] = choose_elem(s, value_dtype(x, i), lower, sums[i], both[i]);
        below |= bit;
    }
}

/* Returns the number of the preceding lane along the axis; for the first lane, that of the last. Subtracts 1
 * from the axis bits of the lane's number, which are the lane's place along the axis. */
static struct opnd lane_before(struct select *s, const struct scan *x)
{
    struct opnd own = in_order(s, x, lane_bits(s, ALL_LANES));
    struct opnd axis = b32_with(s, INSN_and, own, x->lane_mask);
    axis = emit2(s, form0(INSN_add, PT_s32), axis, opnd_int(CLASS_b32, -1));
    axis = emit2(s, form0(INSN_and, PT_b32), axis, opnd_int(CLASS_b32, x->lane_mask));
    struct opnd rest = lane_bits(s, ALL_LANES & ~x->lane_mask);
    return in_order(s, x, emit2(s, form0(INSN_or, PT_b32), axis, rest));
}

/* Scans one line of elements along the axis. `leader` is the register of the line in whose number all axis
 * bits are 0. */
static void scan_line(struct select *s, const struct scan *x, int leader, struct opnd *const *from,
                      struct opnd *const *to)
{
    int n = 1 << x->nregs, last = reg_number(x, leader, n - 1);
    struct opnd sums[VALUES_MOST], before[VALUES_MOST];
    for (int k = 0; k < n; k++) {
        int reg = reg_number(x, leader, k);
        struct opnd next[VALUES_MOST];
        for (int i = 0; i < x->n; i++)
            next[i] = from[i][reg];
        if (k > 0)
            select_combine(s, x->op, sums, next);
        for (int i = 0; i < x->n; i++)
            sums[i] = to[i][reg] = k > 0 ? sums[i] : next[i];
    }
    if (!x->nlanes)
        return;
    scan_lanes(s, x, sums);
    shuffle_all(s, x, sums, lane_before(s, x), before);
    struct opnd first =
        is_zero(s, b32_with(s, INSN_and, in_order(s, x, lane_bits(s, ALL_LANES)), x->lane_mask));
    for (int i = 0; i < x->n; i++)
        to[i][last] = sums[i];
    for (int k = 0; k + 1 < n; k++) {
        int reg = reg_number(x, leader, k);
        struct opnd both[VALUES_MOST], own[VALUES_MOST];
        memcpy(both, before, sizeof both);
        for (int i = 0; i < x->n; i++)
            own[i] = to[i][reg];
        select_combine(s, x->op, both, own);
        for (int i = 0; i < x->n; i++)
            to[i][reg] = choose_elem(s, value_dtype(x, i), first, own[i], both[i]);
    }
}

static struct scan scan_of(struct select *s, const struct op *o)
{
    struct scan x = {.op = o, .n = o->nopnds, .reverse = op_int(o, ATTR_reverse)};
    const struct layout *l = op_opnd(o, 0)->type->layout;
    uint32_t mask = coord_mask(l, (int)op_int(o, ATTR_axis)), next = mask & (0 - mask);
    for (int kind = IN_reg; kind < IN_offset; kind++)
        for (int i = 0; i < l->nbits[kind]; i++) {
            uint32_t v = layout_basis(l, (enum in)kind, i);
            if (!(v & mask))
                continue;
            if (v != next || kind > IN_lane)
                diag_bug(s->diag, o->loc, "a scan's axis does not lie in registers, then lanes");
            next <<= 1;
            if (kind == IN_reg)
                x.reg[x.nregs++] = i;
            else
                x.lane[x.nlanes++] = i;
        }
    for (int i = 0; i < x.nlanes; i++)
        x.lane_mask |= UINT32_C(1) << x.lane[i];
    return x;
}

void select_scan(struct select *s, const struct op *o)
{
    if (o->nopnds > VALUES_MOST)
        select_unsupported(s, "a scan of so many values");
    struct scan x = scan_of(s, o);
    struct opnd *from[VALUES_MOST], *to[VALUES_MOST];
    for (int i = 0; i < x.n; i++) {
        from[i] = tile_of(s, op_opnd(o, i));
        to[i] = tile_new(s, &o->results[i]);
    }
    int axis_regs = 0;
    for (int i = 0; i < x.nregs; i++)
        axis_regs |= 1 << x.reg[i];
    for (int k = 0; k < tile_nregs(o->results[0].type); k++)
        if (!(k & axis_regs))
            scan_line(s, &x, k, from, to);
}
