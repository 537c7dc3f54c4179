/* SPDX-License-Identifier: MIT */
/* lower_reduce.c: splits a reduction across warps into a reduction within each warp and a reduction of the warps'
 * partial results.
 *
 *     layout #a = reg[1 2 512] lane[4 8 16 32 64] warp[128 256]         #p = reg[] lane[0 0 0 0 0] warp[1 2]
 *                                                                       #w = reg[1 2] lane[0 0 0 0 0] warp[0 0]
 *     %s = reduce %x axis=0 {...}     =>     %bits = reshape %x : tile<2x4x128>   bits 512; 128, 256; 1 to 64
 *                                            %t = trans %bits order=[0 2 1]         the warps' bits last
 *                                            %r = reshape %t : tile<256x4>
 *                                            %part = reduce %r axis=0 {...} : tile<4xf32,#p>      inside each warp
 *                                            %all = convert %part : tile<4xf32,#w>               every thread gets all
 *                                            %s = reduce %all axis=0 {...}                        inside each thread
 *
 * Axis bits are the bits of an element's index along the axis. Warps hold an axis bit if a warp bit of the
 * layout changes it. The shape ops move no data: they make a separate dimension of the axis bits that warps
 * hold. For the second reduction, a thread holds up to four partial results in registers
 * (lower_reduce_parts_log2). Further partial results are distributed over lanes that would otherwise hold
 * replicas. The layout of the other dimensions does not change. If the layout does not allow the split
 * (can_split), the pass first converts the operands to a plain blocked layout.
 *
 *     %v, %k = reduce %x, %i axis=0 {                   %v1, %k1 = reduce .. axis=1 {  elements of one thread, in order
 *       %first = (%a > %b) | (%a == %b) & (%i < %j)       %first = %a >= %b
 *       yield %first ? %a : %b, %first ? %i : %j   =>     yield %first ? %a : %b, %first ? %i : %j
 *     }                                                 }
 *                                                       %v, %k = reduce %v1, %k1 axis=0 { as before }
 *
 * The second example is an argmax, which combines pairs of a value and its index along the axis. The pass first
 * splits an argmax into a reduction of each thread's elements and a reduction across threads. In the first of
 * these reductions, a thread combines its elements in the order of their indices (codegen/select/reduce.c).
 * So the first of two pairs always has the smaller index (%i < %j), and this reduction need not compare
 * indices. Needs: layouts. Leaves: reductions inside warps only. */
#include "opt/layout/layouts.h"
#include "opt/passes.h"

/* -- the bits of the axis that warps, or lanes, hold -- */

struct axis_bits {
    enum in kind;   /* IN_warp or IN_lane; if it is IN_lane, `warps` and other names below mean lanes */
    int low, n;     /* the axis has n coordinate bits, from bit `low` on */
    uint32_t warps; /* the mask of the axis bits that warps hold; bit 0 is bit `low` of the coordinate */
};

static struct axis_bits bits_of_axis(const struct layout *l, int axis, enum in kind)
{
    struct axis_bits a = {.kind = kind, .n = l->dim_bits[axis]};
    for (int d = axis + 1; d < l->rank; d++)
        a.low += l->dim_bits[d];
    uint32_t mask = (1u << a.n) - 1;
    for (int i = 0; i < l->nbits[kind]; i++)
        a.warps |= layout_basis(l, kind, i) >> a.low & mask;
    return a;
}

/* Returns whether the axis can be split: each warp bit of the layout changes at most one axis bit, and no
 * other register, lane or warp bit changes the same axis bit. */
static bool can_split(const struct layout *l, const struct axis_bits *a)
{
    uint32_t taken = 0, axis = (1u << a->n) - 1;
    for (int i = 0; i < l->nbits[a->kind]; i++) {
        uint32_t own = layout_basis(l, a->kind, i) >> a->low & axis;
        if ((own & (own - 1)) || (own & taken))
            return false;
        taken |= own;
    }
    for (int kind = IN_reg; kind < IN_offset; kind++)
        for (int i = 0; i < l->nbits[kind]; i++)
            if (kind != (int)a->kind && (layout_basis(l, (enum in)kind, i) >> a->low & taken))
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

/* -- splitting the axis into the bits that warps hold and the other bits -- */

/* Splits the axis bits into maximal groups of adjacent bits, so that warps hold either all bits of a group or
 * none. Group 0 has the highest bits. A group of n bits becomes a dimension of size[i] = 2^n elements;
 * is_warps[i] says whether warps hold the bits of group i. Returns the number of groups. */
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

/* Sets `shape` to the shape of t, but with n dimensions of the given sizes in place of dimension `axis`.
 * Returns the new rank. */
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

/* Permutes the n dimensions from `axis` on, so that the dimensions that warps hold come last. */
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

/* Splits dimension `axis` of x into two dimensions, [.., rest, warps, ..]: the second has the axis bits that
 * warps hold, the first the other axis bits. */
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

/* -- the layout in which each warp holds all partial results -- */

/* Returns layout l after the bits of dimension `axis`, all of which warps hold in l, have moved to registers
 * and lanes. The lowest own_bits bits move to registers. The other bits move to lane bits that select between
 * replicas; if there are too few such lane bits, more of the lowest bits move to registers. */
static struct layout gathered(const struct layout *l, int axis, const int *shape, int own_bits)
{
    struct axis_bits a = bits_of_axis(l, axis, IN_warp);
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

/* Converts the operands of o to a blocked layout, in which the axis can be split. */
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
    opt_explain(f, &(struct explanation){DECISION_reduce_over_warps, .at = o,
                                         .numbers = {1 << count_bits(a->warps)}});
    op_erase(o);
}

/* -- pairs of values and indices -- */

/* Returns whether the tile's elements are their own indices along the axis. */
static bool counts_along(const struct value *v, int64_t axis)
{
    const struct op *o = v->def;
    for (; o && o->code != OP_range; o = op_opnd(o, 0)->def) {
        if (o->code == OP_expand_dims && op_int(o, ATTR_axis) != axis)
            axis -= op_int(o, ATTR_axis) < axis;
        else if (o->code != OP_broadcast && o->code != OP_convert)
            return false;
    }
    return o != NULL;
}

/* Returns the op in the region that compares the indices a < b of the two pairs that the region combines;
 * NULL if there is none. The region must yield one of these two indices, and the index of an element
 * must be its place along the axis (counts_along). The index in a pair is then the place of one of the elements that
 * were combined into the pair. So the comparison is true if all elements that were combined into the first pair
 * precede all elements that were combined into the second pair. */
static const struct op *index_comparison(const struct op *o)
{
    const struct block *region = o->regions[0];
    const struct op *yield = block_terminator((struct block *)region);
    for (const struct op *c = region->first; c; c = c->next)
        for (int i = 0; c->code == OP_cmp && op_int(c, ATTR_pred) == PRED_slt && i < o->nopnds; i++) {
            const struct value *a = region->args.at[i], *b = region->args.at[o->nopnds + i];
            const struct op *chosen = op_opnd(yield, i)->def;
            if (op_opnd(c, 0) == a && op_opnd(c, 1) == b && chosen && chosen->code == OP_select &&
                op_opnd(chosen, 1) == a && op_opnd(chosen, 2) == b &&
                counts_along(op_opnd(o, i), op_int(o, ATTR_axis)))
                return c;
        }
    return NULL;
}

/* Returns (in field `warps`) the axis bits that registers hold, if a thread's registers hold its elements in
 * the order of their indices along the axis; otherwise returns no bits. */
static struct axis_bits bits_of_registers(const struct layout *l, int axis)
{
    struct axis_bits a = bits_of_axis(l, axis, IN_warp);
    uint32_t mask = (1u << a.n) - 1;
    a.warps = 0;
    for (int i = 0; i < l->nbits[IN_reg]; i++) {
        uint32_t v = layout_basis(l, IN_reg, i), own = v >> a.low & mask;
        if (own && ((own & (own - 1)) || v != own << a.low || own <= a.warps))
            return (struct axis_bits){0};
        a.warps |= own;
    }
    for (int kind = IN_lane; kind < IN_offset; kind++)
        for (int i = 0; i < l->nbits[kind]; i++)
            if (layout_basis(l, (enum in)kind, i) >> a.low & a.warps)
                return (struct axis_bits){0};
    return l->flip ? (struct axis_bits){0} : a;
}

/* If x is a comparison u < v or u > v, and y is the comparison u == v of the same values, builds and returns
 * the comparison u <= v or u >= v, which equals x | y. Otherwise returns NULL. */
static struct value *joined(struct builder *b, const struct value *x, const struct value *y)
{
    static const enum pred weak[PRED_count] = {
        [PRED_lt] = PRED_le,   [PRED_gt] = PRED_ge,   [PRED_slt] = PRED_sle,
        [PRED_sgt] = PRED_sge, [PRED_ult] = PRED_ule, [PRED_ugt] = PRED_uge};
    const struct op *strict = x->def, *equal = y->def;
    if (!strict || !equal || strict->code != OP_cmp || equal->code != OP_cmp)
        return NULL;
    enum pred p = weak[op_int(strict, ATTR_pred)];
    struct value *u = op_opnd(strict, 0), *v = op_opnd(strict, 1);
    bool fits = p != PRED_eq && op_int(equal, ATTR_pred) == PRED_eq && op_opnd(equal, 0) == u &&
                op_opnd(equal, 1) == v;
    return fits ? build_cmp(b, p, u, v) : NULL;
}

/* Copies the region of o into the region of r with two simplifications: an `and` with the comparison `known`,
 * which is always true, becomes its other operand; and an `or` of two comparisons becomes one comparison if
 * possible (`joined`). */
static void region_copy_knowing(struct op *r, const struct op *o, const struct op *known)
{
    struct block *source = o->regions[0], *copy = r->regions[0];
    struct map map;
    map_init(&map, copy->func->module->scratch);
    for (int i = 0; i < source->args.n; i++)
        *map_at_ptr(&map, source->args.at[i]) = copy->args.at[i];
    struct builder b = build_at_end(copy, o->loc);
    for (const struct op *x = source->first; x; x = x->next) {
        struct value *either = NULL;
        if (x->code == OP_and && op_opnd(x, 1)->def == known)
            either = *map_at_ptr(&map, op_opnd(x, 0));
        else if (x->code == OP_or)
            either = joined(&b, *map_at_ptr(&map, op_opnd(x, 0)), *map_at_ptr(&map, op_opnd(x, 1)));
        if (either)
            *map_at_ptr(&map, x->results) = either;
        else
            op_clone(&b, x, &map);
    }
}

/* Splits a reduction of pairs of values and indices (index_comparison) into a reduction of each thread's
 * elements, in the order of their indices, and a reduction across threads. Does nothing for other
 * reductions. */
static void split_registers(struct op *o)
{
    int axis = (int)op_int(o, ATTR_axis), n = o->nopnds;
    const struct op *known = index_comparison(o);
    struct axis_bits a = bits_of_registers(op_opnd(o, 0)->type->layout, axis);
    if (!known || !a.warps || count_bits(a.warps) == a.n)
        return;
    struct builder b = build_before(o);
    struct value **x = NEW_ARRAY(o->block->func->module->scratch, n, struct value *);
    for (int i = 0; i < n; i++)
        x[i] = split_axis(&b, op_opnd(o, i), axis, &a);
    struct op *own = build_reduce(&b, n, x, axis + 1);
    region_copy_knowing(own, o, known);
    for (int i = 0; i < n; i++)
        op_set_opnd(o, i, &own->results[i]);
}

struct value *reduce_in_threads(struct builder *b, const struct op *o)
{
    const int axis = (int)op_int(o, ATTR_axis);
    struct value *x = op_opnd(o, 0);
    const struct axis_bits a = bits_of_axis(x->type->layout, axis, IN_lane);
    if (!a.warps || a.warps == (1u << a.n) - 1 || !can_split(x->type->layout, &a))
        return NULL;
    x = split_axis(b, x, axis, &a);
    return op_result(reduce_like(b, o, 1, &x, axis));
}

static void visit(struct op *o, void *ctx)
{
    (void)ctx;
    if (o->code != OP_reduce)
        return;
    split_registers(o);
    int axis = (int)op_int(o, ATTR_axis);
    const struct layout *l = op_opnd(o, 0)->type->layout;
    struct axis_bits a = bits_of_axis(l, axis, IN_warp);
    if (a.warps && !can_split(l, &a)) {
        unmix(o);
        a = bits_of_axis(op_opnd(o, 0)->type->layout, axis, IN_warp);
    }
    if (a.warps)
        split_reduce(o, &a);
}

void opt_lower_reduce(struct func *f)
{
    func_walk(f, visit, NULL);
}
