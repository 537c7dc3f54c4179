/* SPDX-License-Identifier: MIT */
/* lower_reduce.c: splits a reduction over warps into a reduction inside each warp and one over the warps' results.
 *
 *     layout #a = reg[1 2 512] lane[4 8 16 32 64] warp[128 256]         #p = reg[] lane[0 0 0 0 0] warp[1 2]
 *                                                                       #w = reg[1 2] lane[0 0 0 0 0] warp[0 0]
 *     %s = reduce %x axis=0 {...}     =>     %bits = reshape %x : tile<2x4x128>   axis bits: 512, warps, 1 .. 64
 *                                            %t = trans %bits order=[0 2 1]         the warps' group last
 *                                            %r = reshape %t : tile<256x4>
 *                                            %part = reduce %r axis=0 {...} : tile<4xf32,#p>      inside each warp
 *                                            %all = convert %part : tile<4xf32,#w>               every thread gets all
 *                                            %s = reduce %all axis=0 {...}                        inside each thread
 *
 * The shape ops move no data: they turn the axis bits that warps hold into a separate dimension. A thread holds up
 * to four partial results in registers (lower_reduce_parts_log2); if there are more, they are distributed over lanes
 * that otherwise would hold replicas. The layout of the other dimensions does not change. If the layout does not allow
 * this split (can_split), the pass first converts the operands to a plain blocked layout. Needs: layouts. Leaves:
 * reductions inside warps only. */
#include "opt/layout/layouts.h"
#include "opt/passes.h"

/* -- the bits of the axis that warps hold -- */

struct axis_bits {
    int low, n;     /* the axis has n coordinate bits, from bit `low` on */
    uint32_t warps; /* a mask of the axis bits that warps hold; bit 0 is bit `low` of the coordinate */
};

static struct axis_bits bits_of_axis(const struct layout *l, int axis)
{
    struct axis_bits a = {.n = l->dim_bits[axis]};
    for (int d = axis + 1; d < l->rank; d++)
        a.low += l->dim_bits[d];
    uint32_t mask = (1u << a.n) - 1;
    for (int i = 0; i < l->nbits[IN_warp]; i++)
        a.warps |= layout_basis(l, IN_warp, i) >> a.low & mask;
    return a;
}

/* Does each warp bit change at most one bit of the axis, and does no other bit of the layout change that axis bit?
 * Only then can the axis be split. */
static bool can_split(const struct layout *l, const struct axis_bits *a)
{
    uint32_t taken = 0, axis = (1u << a->n) - 1;
    for (int i = 0; i < l->nbits[IN_warp]; i++) {
        uint32_t own = layout_basis(l, IN_warp, i) >> a->low & axis;
        if ((own & (own - 1)) || (own & taken))
            return false;
        taken |= own;
    }
    for (int kind = IN_reg; kind < IN_offset; kind++)
        for (int i = 0; i < l->nbits[kind]; i++)
            if (kind != IN_warp && (layout_basis(l, (enum in)kind, i) >> a->low & taken))
                return false;
    return l->flip == 0;
}

static int count_bits(uint32_t x)
{
    int n = 0;
    for (; x; x &= x - 1)
        n++;
    return n;
}

/* -- splitting the axis into the part inside a warp and the warps' part -- */

/* Splits the axis bits into maximal groups of adjacent bits that are all held by warps or all not, highest bits first.
 * Sets size[i] to the number of elements that group i numbers. Returns the number of groups. */
static int runs_of(const struct axis_bits *a, int *size, bool *is_warps)
{
    int n = 0;
    for (int bit = a->n - 1; bit >= 0; bit--) {
        bool warps = a->warps >> bit & 1;
        if (n == 0 || is_warps[n - 1] != warps) {
            size[n] = 1;
            is_warps[n++] = warps;
        }
        size[n - 1] *= 2;
    }
    return n;
}

/* Computes the shape of t with dimension `axis` replaced by n dimensions of the given sizes; returns the rank. */
static int replace_dim(const struct type *t, int axis, int n, const int *sizes, int *shape)
{
    int rank = 0;
    for (int d = 0; d < t->rank; d++)
        for (int i = 0; i < (d == axis ? n : 1); i++)
            shape[rank++] = d == axis ? sizes[i] : t->shape[d];
    return rank;
}

static struct value *reshaped(struct builder *b, struct value *x, int rank, const int *shape)
{
    bool same = rank == x->type->rank;
    for (int d = 0; same && d < rank; d++)
        same = shape[d] == x->type->shape[d];
    return same ? x : build_reshape(b, x, rank, shape);
}

/* Transposes the n dimensions from `axis` on, so that those that warps hold come last. */
static struct value *warps_last(struct builder *b, struct value *x, int axis, int n, const bool *is_warps)
{
    int order[RANK_MAX], at = axis;
    for (int d = 0; d < x->type->rank; d++)
        order[d] = d;
    for (int warps = 0; warps < 2; warps++)
        for (int i = 0; i < n; i++)
            if (is_warps[i] == warps)
                order[at++] = axis + i;
    bool same = true;
    for (int d = 0; d < x->type->rank; d++)
        same = same && order[d] == d;
    return same ? x : build_trans(b, x, order);
}

/* Splits dimension `axis` of x in two: [.., rest, warps, ..]. */
static struct value *split_axis(struct builder *b, struct value *x, int axis, const struct axis_bits *a)
{
    const struct type *t = x->type;
    int size[COORD_BITS_MAX], shape[RANK_MAX];
    bool is_warps[COORD_BITS_MAX];
    int n = runs_of(a, size, is_warps), warps = 1 << count_bits(a->warps);
    int rank = replace_dim(t, axis, n, size, shape);
    x = warps_last(b, reshaped(b, x, rank, shape), axis, n, is_warps);
    rank = replace_dim(t, axis, 2, (int[]){t->shape[axis] / warps, warps}, shape);
    return reshaped(b, x, rank, shape);
}

/* -- the layout in which each warp has all partial results -- */

/* Returns layout l with the bits of dimension `axis` moved from warps to registers and lanes: the first own_bits bits
 * to registers, and the others to lanes that hold replicas, or to registers if there are too few such lanes. */
static struct layout gathered(const struct layout *l, int axis, const int *shape, int own_bits)
{
    struct axis_bits a = bits_of_axis(l, axis);
    uint32_t mask = ((1u << a.n) - 1) << a.low;
    struct layout out;
    layout_init(&out, l->rank, shape);
    for (int i = 0; i < l->nbits[IN_reg]; i++)
        layout_add(&out, IN_reg, layout_basis(l, IN_reg, i));
    int next = 0, in_regs = a.n;
    uint32_t idle = layout_free_bits(l, IN_lane);
    while (in_regs > own_bits && in_regs > a.n - count_bits(idle))
        in_regs--;
    for (; next < in_regs; next++)
        layout_add(&out, IN_reg, 1u << (a.low + next));
    for (int i = 0; i < l->nbits[IN_lane]; i++) {
        bool give = next < a.n && idle >> i & 1;
        layout_add(&out, IN_lane, give ? 1u << (a.low + next++) : layout_basis(l, IN_lane, i));
    }
    for (int i = 0; i < l->nbits[IN_warp]; i++)
        layout_add(&out, IN_warp, layout_basis(l, IN_warp, i) & ~mask);
    for (int i = 0; i < l->nbits[IN_cta]; i++)
        layout_add(&out, IN_cta, layout_basis(l, IN_cta, i));
    return out;
}

/* -- the rewrite -- */

void region_copy(struct op *to, const struct op *from)
{
    struct block *source = from->regions[0], *copy = to->regions[0];
    struct map map;
    map_init(&map, copy->func->module->scratch);
    for (int i = 0; i < source->args.n; i++)
        *map_at_ptr(&map, source->args.at[i]) = copy->args.at[i];
    struct builder inside = build_at_end(copy, from->loc);
    for (const struct op *o = source->first; o; o = o->next)
        op_clone(&inside, o, &map);
}

static struct op *reduce_like(struct builder *b, const struct op *model, int n, struct value *const *x,
                              int axis)
{
    struct op *r = build_reduce(b, n, x, axis);
    region_copy(r, model);
    return r;
}

static struct value *as_type(struct builder *b, struct value *x, const struct type *t)
{
    return x->type == t || !type_is_tile(t) ? x : build_convert(b, x, t->layout);
}

/* Converts the operands to a layout whose axis can be split. */
static void unmix(struct op *o)
{
    struct func *f = o->block->func;
    const struct type *t = op_opnd(o, 0)->type;
    int order[RANK_MAX], elems[RANK_MAX];
    for (int d = 0; d < t->rank; d++) {
        order[d] = t->rank - 1 - d;
        elems[d] = 1;
    }
    struct layout plain;
    layout_blocked(&plain, t->rank, t->shape, elems, order, f->num_warps);
    struct builder b = build_before(o);
    for (int i = 0; i < o->nopnds; i++)
        op_set_opnd(o, i, build_convert(&b, op_opnd(o, i), layout_intern(f->module, &plain)));
}

static void split_reduce(struct op *o, const struct axis_bits *a)
{
    struct func *f = o->block->func;
    int axis = (int)op_int(o, ATTR_axis), n = o->nopnds;
    struct builder b = build_before(o);
    struct value **x = NEW_ARRAY(f->module->scratch, n, struct value *);
    for (int i = 0; i < n; i++)
        x[i] = split_axis(&b, op_opnd(o, i), axis, a);
    struct op *partial = reduce_like(&b, o, n, x, axis);
    const struct type *t = partial->results[0].type;
    struct layout meeting = gathered(t->layout, axis, t->shape, f->module->params->lower_reduce_parts_log2);
    for (int i = 0; i < n; i++)
        x[i] = build_convert(&b, &partial->results[i], layout_intern(f->module, &meeting));
    struct op *whole = reduce_like(&b, o, n, x, axis);
    for (int i = 0; i < n; i++)
        value_replace(&o->results[i], as_type(&b, &whole->results[i], o->results[i].type));
    opt_explain(
        f, (struct explanation){DECISION_reduce_over_warps, .at = o, .numbers = {1 << count_bits(a->warps)}});
    op_erase(o);
}

static void visit(struct op *o, void *ctx)
{
    (void)ctx;
    if (o->code != OP_reduce)
        return;
    int axis = (int)op_int(o, ATTR_axis);
    const struct layout *l = op_opnd(o, 0)->type->layout;
    struct axis_bits a = bits_of_axis(l, axis);
    if (a.warps && !can_split(l, &a)) {
        unmix(o);
        a = bits_of_axis(op_opnd(o, 0)->type->layout, axis);
    }
    if (a.warps)
        split_reduce(o, &a);
}

void opt_lower_reduce(struct func *f)
{
    func_walk(f, visit, NULL);
}
