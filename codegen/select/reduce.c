/* SPDX-License-Identifier: MIT */
/* reduce.c: selects reductions along an axis that registers and lanes hold, and `map` ops.
 *
 *     registers    a tree over neighbours, until each thread has one value for each result. The earlier of
 *                  two elements is the region's first operand (opt/layout/lower_reduce.c relies on this). A
 *                  sum of products first reduces each run of neighbours by a chain of fma
 *     lanes        a butterfly: for each lane bit of the axis, each lane combines its value with the value of the lane
 *                  whose number differs in this bit
 *
 * Afterwards all lanes along the axis hold the result. Registers and lanes that only hold replicas are
 * skipped. Reductions of i32 over a whole warp use the instruction redux if it supports the operation.
 *
 * If a thread has partial values of many results, lanes share the work, which takes fewer shuffles. Of each
 * pair of results, a lane combines only one, and sends its partial value of the other result to the lane that
 * combines the other result. In the end, the lanes send each other the results. For example, lane 0 has the
 * partial values a0 and b0 of the results a and b, and lane 1 has a1 and b1:
 *
 *     lane 0    sends b0, combines a = a0 + a1    sends a, receives b
 *     lane 1    sends a1, combines b = b1 + b0    sends b, receives a */
#include "codegen/select/select.h"

#include "ir/families.h"

enum { VALUES_MOST = 8 };

struct reduction {
    const struct op *op;
    struct block *region;
    int n;                       /* number of operand tiles that are reduced together */
    const struct layout *layout; /* the operands' layout */
    uint32_t axis_mask;          /* the coordinate bits of the axis */
    uint32_t lane_mask;          /* the bits of a lane's number that differ along the axis */
};

/* -- combining -- */

static void set_arg(struct select *s, struct value *arg, struct opnd x)
{
    tile_new(s, arg)[0] = x;
}

void select_combine(struct select *s, const struct op *o, struct opnd *a, const struct opnd *b)
{
    struct block *region = o->regions[0];
    for (int i = 0; i < o->nopnds; i++) {
        set_arg(s, region->args.at[i], a[i]);
        set_arg(s, region->args.at[o->nopnds + i], b[i]);
    }
    const struct op *yield = select_inline(s, region);
    for (int i = 0; i < o->nopnds; i++)
        a[i] = tile_of(s, op_opnd(yield, i))[0];
    s->op = o;
}

/* -- registers -- */

uint32_t coord_mask(const struct layout *l, int axis)
{
    int below = 0;
    for (int d = axis + 1; d < l->rank; d++)
        below += l->dim_bits[d];
    return ((UINT32_C(1) << l->dim_bits[axis]) - 1) << below;
}

/* Converts a coordinate of the result to a coordinate of the operand, with 0 along the axis. */
static uint32_t with_axis(const struct reduction *r, uint32_t coord)
{
    uint32_t low = (r->axis_mask & (0 - r->axis_mask)) - 1;
    int axis_bits = r->layout->dim_bits[op_int(r->op, ATTR_axis)];
    if (!r->axis_mask)
        return coord;
    return (coord & low) | (coord & ~low) << axis_bits;
}

/* Collects in `values` the thread's elements that are reduced into the result at coordinate `coord`, in
 * groups: a group has one element of each of the r->n operands. Returns the number of groups. */
static int gather(struct select *s, const struct reduction *r, uint32_t coord, struct opnd *values)
{
    uint32_t free_bits = layout_free_bits(r->layout, IN_reg);
    int found = 0;
    for (uint32_t k = 0; k < UINT32_C(1) << r->layout->nbits[IN_reg]; k++) {
        if (k & free_bits || (layout_apply(r->layout, k, 0, 0, 0) & ~r->axis_mask) != with_axis(r, coord))
            continue;
        for (int i = 0; i < r->n; i++)
            values[found * r->n + i] = tile_of(s, op_opnd(r->op, i))[k];
        found++;
    }
    if (!found)
        diag_bug(s->diag, r->op->loc,
                 "the result of a reduction has elements that its operand's threads lack");
    return found;
}

/* Returns whether the op sums a single operand of floats, and this operand is a product without other uses.
 * The product may be reshaped or transposed before the sum. */
static bool sums_products(const struct reduction *r)
{
    const struct op *add = r->region->first;
    const struct value *v = op_opnd(r->op, 0);
    while (v->def && (v->def->code == OP_reshape || v->def->code == OP_trans) && value_nuses(v) == 1)
        v = op_opnd(v->def, 0);
    return r->n == 1 && v->def && v->def->code == OP_mul && value_nuses(v) == 1 && add->code == OP_add &&
           add->next == block_terminator(r->region) && type_is_float(v->type);
}

/* Reduces each run of select_sum_run neighbouring values to one value. Stores the reduced values at the start
 * of `values`, and returns their number. `values` has `count` values of a single operand. */
static int reduce_runs(struct select *s, const struct reduction *r, int count, struct opnd *values)
{
    const int run = op_params(r->op)->select_sum_run;
    for (int i = 0; i < count; i++)
        if (i % run)
            select_combine(s, r->op, values + i / run, values + i);
        else
            values[i / run] = values[i];
    return (count + run - 1) / run;
}

static void reduce_registers(struct select *s, const struct reduction *r, int count, struct opnd *values)
{
    if (sums_products(r))
        count = reduce_runs(s, r, count, values);
    for (; count > 1; count = (count + 1) / 2)
        for (int i = 0; i < count / 2; i++) {
            select_combine(s, r->op, values + 2 * i * r->n, values + (2 * i + 1) * r->n);
            for (int k = 0; k < r->n; k++)
                values[i * r->n + k] = values[2 * i * r->n + k];
        }
}

/* -- lanes -- */

/* Combines each lane's own values with `other`, the values of the lane whose number differs in bit number
 * `bit`, and stores the results in `own`. If the kernel is deterministic and the region is not commutative,
 * the region's first operands are the values of the lane whose bit is 0. In all other cases, each lane's own
 * values are the first operands. */
static void combine_lanes(struct select *s, const struct reduction *r, int bit, struct opnd *own,
                          struct opnd *other)
{
    if (s->m->func->deterministic && !combines_either_way(r->op)) {
        struct opnd is_second = thread_bit(s, bit);
        for (int i = 0; i < r->n; i++) {
            enum dtype dt = elem_dtype(op_opnd(r->op, i)->type);
            struct opnd first = choose_elem(s, dt, is_second, other[i], own[i]);
            other[i] = choose_elem(s, dt, is_second, own[i], other[i]);
            own[i] = first;
        }
    }
    select_combine(s, r->op, own, other);
}

static uint32_t lanes_of_axis(struct select *s, const struct reduction *r)
{
    uint32_t free_bits = layout_free_bits(r->layout, IN_lane), lanes = 0;
    for (int i = 0; i < r->layout->nbits[IN_lane]; i++) {
        uint32_t v = layout_basis(r->layout, IN_lane, i);
        if (free_bits >> i & 1 || !(v & r->axis_mask))
            continue;
        if (v & ~r->axis_mask)
            diag_bug(s->diag, r->op->loc, "lane bit %d lies across the axis of a reduction", i);
        lanes |= UINT32_C(1) << i;
    }
    uint32_t free_warps = layout_free_bits(r->layout, IN_warp);
    for (int i = 0; i < r->layout->nbits[IN_warp]; i++)
        if (!(free_warps >> i & 1) && layout_basis(r->layout, IN_warp, i) & r->axis_mask)
            diag_bug(s->diag, r->op->loc, "a reduction over warps has not been split");
    return lanes;
}

static enum mod redux_mod(enum opcode code)
{
    switch (code) {
    case OP_add: return MOD_add;
    case OP_and: return MOD_and;
    case OP_or: return MOD_or;
    case OP_xor: return MOD_xor;
    case OP_mins:
    case OP_minu: return MOD_min;
    case OP_maxs:
    case OP_maxu: return MOD_max;
    default: return MOD_none;
    }
}

/* Returns the form of the redux instruction that combines the i32 values of all lanes of a warp as the region
 * combines two values. If there is no such instruction, the code of the returned form is 0 (mov). */
static struct form redux_form(const struct select *s, const struct reduction *r)
{
    struct form none = {0};
    const struct op *o = r->region->first;
    enum { ALL_LANES = 31 };
    if (r->n != 1 || r->lane_mask != ALL_LANES || !target_has(s->target, HAS_redux) ||
        o->next != block_terminator(r->region) || o->next->opnds[0].value != op_result(o) ||
        elem_dtype(op_result(o)->type) != DT_i32)
        return none;
    enum mod mod = redux_mod(o->code);
    bool is_unsigned = o->code == OP_minu || o->code == OP_maxu,
         is_bits = mod == MOD_and || mod == MOD_or || mod == MOD_xor;
    if (mod == MOD_none || op_opnd(o, 0)->block != r->region || op_opnd(o, 1)->block != r->region ||
        op_opnd(o, 0) == op_opnd(o, 1))
        return none;
    return form1(INSN_redux, is_bits ? PT_b32 : is_unsigned ? PT_u32 : PT_s32, mod);
}

static void reduce_lanes(struct select *s, const struct reduction *r, struct opnd *values)
{
    struct form redux = redux_form(s, r);
    if (redux.code == INSN_redux) {
        values[0] = emit2(s, redux, in_reg(s, values[0]), opnd_int(CLASS_b32, -1));
        return;
    }
    for (int bit = LANE_BITS - 1; bit >= 0; bit--) {
        if (!(r->lane_mask >> bit & 1))
            continue;
        struct opnd other[VALUES_MOST];
        for (int i = 0; i < r->n; i++)
            other[i] = shuffle(s, MOD_bfly, values[i], opnd_int(CLASS_b32, INT64_C(1) << bit));
        combine_lanes(s, r, bit, values, other);
    }
}

/* -- lanes that share results -- */

/* Describes how lanes share the work for `count` results of r->n values each. Each of `steps` steps uses one
 * lane bit of the axis, and halves the number of results of which a lane holds partial values. */
struct sharing {
    const struct reduction *r;
    struct opnd *values;
    int count, steps;
};

/* Returns the number of steps (struct sharing) in which lanes share the work for `count` results; 0 if
 * sharing is impossible or does not pay. */
static int sharing_steps(const struct select *s, const struct reduction *r, int count)
{
    enum { PERCENT = 100 };
    int lanes = __builtin_popcount(r->lane_mask), steps = 0;
    while (steps < lanes && count >> steps > 1)
        steps++;
    int last = count >> steps, shuffles = 2 * (count - last) + (lanes - steps) * last;
    for (int i = 0; i < r->n; i++)
        if (class_info[dtype_class(elem_dtype(op_opnd(r->op, i)->type))].bits != 32)
            return 0;
    bool pays = shuffles * PERCENT <= op_params(r->op)->select_turns_percent * count * lanes;
    return pays && redux_form(s, r).code != INSN_redux ? steps : 0;
}

static struct opnd either(struct select *s, struct opnd condition, struct opnd x, struct opnd y)
{
    return emit3(s, form0(INSN_selp, x.cls == CLASS_f32 ? PT_f32 : PT_b32), in_reg(s, x), in_reg(s, y),
                 condition);
}

/* Each lane combines one result of a pair: lanes whose bit number `bit` is 1 the second result, other lanes
 * the first. A lane sends its partial values of the result that it does not combine to the lane whose number
 * differs in this bit. Stores the combined result in `first`. */
static void combine_either(struct select *s, const struct reduction *r, int bit, struct opnd *first,
                           const struct opnd *second)
{
    struct opnd is_second = thread_bit(s, bit), other[VALUES_MOST];
    for (int i = 0; i < r->n; i++) {
        struct opnd sent = either(s, is_second, first[i], second[i]);
        first[i] = either(s, is_second, second[i], first[i]);
        other[i] = shuffle(s, MOD_bfly, sent, opnd_int(CLASS_b32, INT64_C(1) << bit));
    }
    combine_lanes(s, r, bit, first, other);
}

/* The reverse of combine_either: each lane sends the result that it has combined, and receives the other
 * result of the pair. Afterwards all lanes hold both results, in `first` and `second`. */
static void send_either(struct select *s, const struct reduction *r, int bit, struct opnd *first,
                        struct opnd *second)
{
    struct opnd has_second = thread_bit(s, bit);
    for (int i = 0; i < r->n; i++) {
        struct opnd own = in_reg(s, first[i]),
                    other = shuffle(s, MOD_bfly, own, opnd_int(CLASS_b32, INT64_C(1) << bit));
        first[i] = either(s, has_second, other, own);
        second[i] = either(s, has_second, own, other);
    }
}

/* Sets `bits` to the numbers of the lane bits of the axis, the highest first. Returns how many there are. */
static int bits_of_lanes(const struct reduction *r, int *bits)
{
    int n = 0;
    for (int bit = LANE_BITS - 1; bit >= 0; bit--)
        if (r->lane_mask >> bit & 1)
            bits[n++] = bit;
    return n;
}

static void reduce_shared(struct select *s, const struct sharing *h)
{
    const struct reduction *r = h->r;
    int bits[LANE_BITS], nbits = bits_of_lanes(r, bits), held = h->count;
    struct reduction rest = *r;
    for (int i = 0; i < h->steps; i++, held /= 2) {
        rest.lane_mask &= ~(UINT32_C(1) << bits[i]);
        for (int k = 0; k < held / 2; k++)
            combine_either(s, r, bits[i], h->values + k * r->n, h->values + (k + held / 2) * r->n);
    }
    for (int k = 0; k < held && h->steps < nbits; k++)
        reduce_lanes(s, &rest, h->values + k * r->n);
    for (int i = h->steps - 1; i >= 0; i--, held *= 2)
        for (int k = 0; k < held; k++)
            send_either(s, r, bits[i], h->values + k * r->n, h->values + (k + held) * r->n);
}

/* -- the op -- */

/* Computes the thread's partial values of the result that register `reg` of layout `to` will hold. Lanes
 * combine the partial values afterwards. */
static void reduce_in_thread(struct select *s, const struct reduction *r, const struct layout *to, int reg,
                             struct opnd *result)
{
    struct opnd *values = NEW_ARRAY(s->m->arena, r->n << r->layout->nbits[IN_reg], struct opnd);
    int count = gather(s, r, layout_apply(to, (uint32_t)reg, 0, 0, 0), values);
    reduce_registers(s, r, count, values);
    for (int i = 0; i < r->n; i++)
        result[i] = values[i];
}

static void reduce_all(struct select *s, const struct reduction *r, const struct type *t,
                       struct opnd *const *results)
{
    struct layout scalar;
    const struct layout *to = tile_layout(s, t, &scalar);
    int free_bits = (int)layout_free_bits(to, IN_reg), count = 0, nregs = tile_nregs(t);
    struct sharing h = {.r = r, .values = NEW_ARRAY(s->m->arena, r->n * nregs, struct opnd)};
    h.count = nregs >> __builtin_popcount((unsigned)free_bits);
    h.steps = sharing_steps(s, r, h.count);
    for (int k = 0; k < nregs; k++) {
        if (k & free_bits)
            continue;
        reduce_in_thread(s, r, to, k, h.values + count * r->n);
        if (!h.steps)
            reduce_lanes(s, r, h.values + count * r->n);
        count++;
    }
    if (h.steps)
        reduce_shared(s, &h);
    count = 0;
    for (int k = 0; k < nregs; k++) {
        for (int i = 0; i < r->n; i++)
            results[i][k] = k & free_bits ? results[i][k & ~free_bits] : h.values[count * r->n + i];
        count += !(k & free_bits);
    }
}

/* Selects the region's ops once for each element that a thread holds. */
static void select_map(struct select *s, const struct op *o)
{
    const struct type *t = o->results[0].type;
    int free_bits = (int)layout_free_bits(t->layout, IN_reg);
    struct opnd **results = NEW_ARRAY(s->m->arena, o->nresults, struct opnd *);
    for (int i = 0; i < o->nresults; i++)
        results[i] = tile_new(s, &o->results[i]);
    for (int k = 0; k < tile_nregs(t); k++) {
        if (k & free_bits) {
            for (int i = 0; i < o->nresults; i++)
                results[i][k] = results[i][k & ~free_bits];
            continue;
        }
        for (int i = 0; i < o->nopnds; i++)
            set_arg(s, o->regions[0]->args.at[i], tile_of(s, op_opnd(o, i))[k]);
        const struct op *yield = select_inline(s, o->regions[0]);
        for (int i = 0; i < o->nresults; i++)
            results[i][k] = tile_of(s, op_opnd(yield, i))[0];
        s->op = o;
    }
}

static void select_reduction(struct select *s, const struct op *o)
{
    if (o->nopnds > VALUES_MOST)
        select_unsupported(s, "a reduction of so many values");
    const struct layout *l = op_opnd(o, 0)->type->layout;
    struct reduction r = {.op = o, .region = o->regions[0], .n = o->nopnds, .layout = l};
    r.axis_mask = coord_mask(l, (int)op_int(o, ATTR_axis));
    r.lane_mask = lanes_of_axis(s, &r);
    struct opnd *results[VALUES_MOST];
    for (int i = 0; i < r.n; i++)
        results[i] = tile_new(s, &o->results[i]);
    reduce_all(s, &r, o->results[0].type, results);
}

void select_reduce(struct select *s, const struct op *o)
{
    switch ((enum reduce_op)o->code) {
    case REDUCE_OP_reduce: select_reduction(s, o); break;
    case REDUCE_OP_scan: select_scan(s, o); break;
    case REDUCE_OP_map: select_map(s, o); break;
    case REDUCE_OP_histogram: diag_bug(s->diag, o->loc, "a histogram is not counted in shared memory");
    }
}
