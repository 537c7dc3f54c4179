/* SPDX-License-Identifier: MIT */
/* lower_scan.c: converts a scan's operands to the layout that codegen requires, and splits scans across warps into
 * two steps.
 *
 *     layout #a = reg[1 2] lane[4 8 16 32 64] warp[128 256]
 *
 *     %s = scan %x axis=0 {...}     =>     %r = reshape %x : tile<4x128>       dimension 0: the warps' axis bits
 *                                          %local = scan %r axis=1 {...}         inside each warp
 *                                          %last = ...                           the last element of each warp's part
 *                                          %all = convert %last : tile<4>        every thread gets all
 *                                          %sums = scan %all axis=0 {...}        inside each thread
 *                                          %before = ...                         the sum of the warps before this one
 *                                          %both = reduce (join %before, %local) {...}     applies the region
 *                                          %s = select %first, %local, %both     no warp precedes the first one
 *
 * Codegen scans over registers, then over lanes. So registers must hold the lowest bits of the index along
 * the axis (the axis bits), lanes the next bits, and warps the highest bits. The shape ops move no data.
 * Needs: layouts. Leaves: scans within warps, with axis bits in this order. */
#include "opt/layout/layouts.h"
#include "opt/passes.h"

/* -- the layout -- */

static int least(int x, int y)
{
    return x < y ? x : y;
}

/* The n coordinate bits that do not belong to the axis, lowest first. bit[0] to bit[used - 1] are already
 * assigned to registers, lanes or warps. */
struct others {
    int bit[COORD_BITS_MAX], n, used;
};

static int give_others(struct layout *l, enum in kind, struct others *x, int n)
{
    n = least(n, x->n - x->used);
    for (int i = 0; i < n; i++)
        layout_add(l, kind, UINT32_C(1) << x->bit[x->used++]);
    return n;
}

static int give_axis(struct layout *l, enum in kind, int *next, int n)
{
    for (int i = 0; i < n; i++)
        layout_add(l, kind, UINT32_C(1) << (*next)++);
    return n;
}

static void fill_up(struct layout *l, enum in kind, int n)
{
    for (; n > 0; n--)
        layout_add(l, kind, 0);
}

static int axis_low(const struct layout *l, int axis)
{
    int low = 0;
    for (int d = axis + 1; d < l->rank; d++)
        low += l->dim_bits[d];
    return low;
}

const struct layout *scan_layout(const struct op *o)
{
    const struct type *t = op_opnd(o, 0)->type;
    const struct func *f = o->block->func;
    int axis = (int)op_int(o, ATTR_axis), warps = __builtin_ctz((unsigned)f->num_warps);
    struct layout l;
    layout_init(&l, t->rank, t->shape);
    int low = axis_low(&l, axis), n = l.dim_bits[axis], all = layout_coord_bits(&l);
    struct others others = {.n = 0};
    for (int i = 0; i < all; i++)
        if (i < low || i >= low + n)
            others.bit[others.n++] = i;
    /* The lowest coordinate bits go to lanes, because neighbouring elements of the last dimension are usually
     * neighbours in memory. If the axis is the last dimension, a few of its lowest bits go to registers, and
     * the next bits to lanes. */
    bool fast = low == 0 || others.n == 0;
    int most = f->module->params->lower_scan_own_log2;
    int own = fast ? least(most, all - LANE_BITS - warps > 0 ? all - LANE_BITS - warps : 0) : n;
    int axis_lanes = fast ? least(LANE_BITS, n - least(own, n)) : LANE_BITS - least(LANE_BITS, others.n);
    axis_lanes = least(axis_lanes, n);
    int other_lanes = least(LANE_BITS - axis_lanes, others.n);
    int other_warps = least(warps, others.n - other_lanes);
    int axis_warps = least(warps - other_warps, n - axis_lanes);
    int next = low;
    give_axis(&l, IN_reg, &next, n - axis_lanes - axis_warps);
    struct others regs = others;
    regs.used = other_lanes + other_warps;
    give_others(&l, IN_reg, &regs, COORD_BITS_MAX);
    give_axis(&l, IN_lane, &next, axis_lanes);
    give_others(&l, IN_lane, &others, other_lanes);
    fill_up(&l, IN_lane, LANE_BITS - axis_lanes - other_lanes);
    give_others(&l, IN_warp, &others, other_warps);
    give_axis(&l, IN_warp, &next, axis_warps);
    fill_up(&l, IN_warp, warps - other_warps - axis_warps);
    return layout_intern(f->module, &l);
}

/* n[IN_reg], n[IN_lane] and n[IN_warp] are the numbers of axis bits that registers, lanes and warps hold. */
struct axis_share {
    int n[IN_offset];
};

/* Computes *x for layout l. Returns false if codegen cannot scan in this layout. Codegen can scan if three
 * conditions hold. The axis bits, from the lowest to the highest, are in registers, then in lanes, then in
 * warps. No register, lane or warp bit of the layout changes both an axis bit and another coordinate bit. No
 * two of these bits change the same coordinate bit. */
static bool share_of(const struct layout *l, int axis, struct axis_share *x)
{
    int low = axis_low(l, axis), next = low;
    uint32_t mask = ((UINT32_C(1) << l->dim_bits[axis]) - 1) << low, seen = 0;
    *x = (struct axis_share){{0}};
    for (int kind = IN_reg; kind < IN_offset; kind++)
        for (int i = 0; i < l->nbits[kind]; i++) {
            uint32_t v = layout_basis(l, (enum in)kind, i);
            if (v & seen)
                return false;
            seen |= v;
            if (!(v & mask))
                continue;
            if (v != UINT32_C(1) << next++)
                return false;
            x->n[kind]++;
        }
    return l->flip == 0 && x->n[IN_cta] == 0;
}

/* -- building blocks of the rewrite -- */

struct split {
    struct builder b;
    struct op *scan;
    struct module *m;
    /* n: the number of operands. axis: the scan's dimension; split_scan splits it into two dimensions, `axis`
     * for the warps' axis bits and axis + 1 for the other axis bits. */
    int n, axis;
    bool reverse;
    struct axis_share share;
};

static struct value *in_layout(struct builder *b, struct value *x, const struct layout *l)
{
    return !type_is_tile(x->type) || x->type->layout == l ? x : build_convert(b, x, l);
}

static struct value *in_type(struct builder *b, enum opcode code, struct value *x, const struct type *t)
{
    return op_result(build_op(b, code, 1, &x, 1, &t, 0));
}

/* Broadcasts x to the shape and layout of t. x lacks dimension `dim` of t, or is a scalar. */
static struct value *repeated(struct builder *b, struct value *x, int dim, const struct type *t)
{
    if (!type_is_tile(x->type))
        return in_type(b, OP_splat, x, type_with_elem(b->func->module, t, x->type));
    const struct type *to = type_with_elem(b->func->module, t, type_elem(x->type));
    struct layout squashed, l;
    layout_squash(&squashed, t->layout, dim);
    layout_drop_free_regs(&l, &squashed, NULL);
    struct value *wide = build_expand_dims(b, x, dim);
    return in_type(b, OP_broadcast, in_layout(b, wide, layout_intern(b->func->module, &l)), to);
}

/* Builds a tile of i32 with the shape and layout of t, in which each element is its own index along `dim`. */
static struct value *index_along(struct builder *b, const struct type *t, int dim)
{
    struct module *m = b->func->module;
    const struct type *i32 = type_scalar(m, DT_i32);
    struct layout l = *t->layout, row;
    int shape[RANK_MAX];
    for (int d = 0; d < t->rank; d++) {
        shape[d] = d == dim ? t->shape[d] : 1;
        if (d != dim)
            layout_squash(&l, &l, d);
    }
    layout_drop_free_regs(&l, &l, NULL);
    layout_reshape(&row, &l, 1, &t->shape[dim]);
    const struct type *line = type_tile(m, i32, 1, &t->shape[dim], layout_intern(m, &row));
    struct op *range = build_op(b, OP_range, 0, NULL, 1, &line, 0);
    op_set_int(range, ATTR_start, 0);
    op_set_int(range, ATTR_end, t->shape[dim]);
    struct value *x = t->rank == 1 ? op_result(range) : build_reshape(b, op_result(range), t->rank, shape);
    return t->rank == 1 ? x : in_type(b, OP_broadcast, x, type_with_elem(m, t, i32));
}

static struct value *index_is(struct builder *b, struct value *index, int64_t i)
{
    return build_cmp(b, PRED_eq, index, build_const_int(b, index->type, i));
}

/* Moves dimension `dim` after all others. */
static struct value *moved_last(struct builder *b, struct value *x, int dim)
{
    int order[RANK_MAX], rank = x->type->rank;
    for (int d = 0; d < rank; d++)
        order[d] = d < dim ? d : d + 1 < rank ? d + 1 : dim;
    return dim == rank - 1 ? x : build_trans(b, x, order);
}

/* Splits x into two tiles: half[0] has the elements with even index along the last dimension, half[1] the
 * elements with odd index. A register bit of x's layout must select between even and odd indices. */
static void halves(struct builder *b, struct value *x, struct value *half[2])
{
    int shape[RANK_MAX] = {0}, rank = x->type->rank;
    for (int d = 0; d < rank; d++)
        shape[d] = x->type->shape[d];
    if (shape[rank - 1] > 2) {
        shape[rank - 1] /= 2;
        shape[rank++] = 2;
        x = build_reshape(b, x, rank, shape);
    }
    const struct type *t = type_with_shape(b->func->module, x->type, rank - 1, shape);
    if (rank > 1) {
        struct layout l;
        layout_slice(&l, x->type->layout, rank - 1, true, NULL);
        t = type_with_layout(b->func->module, t, layout_intern(b->func->module, &l));
    }
    struct op *o = build_op(b, OP_split, 1, &x, 2, (const struct type *[]){t, t}, 0);
    half[0] = &o->results[0];
    half[1] = &o->results[1];
}

/* Splits x along its last dimension, of size n, into n tiles. Each thread must hold all elements along this
 * dimension. */
static void all_parts(struct builder *b, struct value *x, int n, struct value **parts)
{
    if (n == 1) {
        parts[0] = x;
        return;
    }
    struct value *half[2], *odd[COORD_BITS_MAX * 2];
    halves(b, x, half);
    all_parts(b, half[0], n / 2, parts);
    all_parts(b, half[1], n / 2, odd);
    for (int i = n / 2 - 1; i >= 0; i--) {
        parts[2 * i] = parts[i];
        parts[2 * i + 1] = odd[i];
    }
}

/* -- the ends of the warps' parts -- */

static const struct type *bits_type(struct module *m, const struct type *elem)
{
    static const enum dtype by_bytes[] = {[1] = DT_i8, [2] = DT_i16, [4] = DT_i32, [8] = DT_i64};
    return elem->dtype == DT_i1 ? elem : type_scalar(m, by_bytes[type_elem_bytes(elem)]);
}

static struct value *bits_as(struct builder *b, struct value *x, const struct type *elem)
{
    return type_elem(x->type) == elem ? x : build_cast(b, OP_bitcast, x, elem);
}

/* Gives all lanes the elements of x that are last along `dim`, in the order of the scan: builds an OR
 * reduction along `dim`, to which all other elements contribute zeros. */
static struct value *from_lane(struct split *s, struct value *x, int dim)
{
    const struct type *elem = type_elem(x->type), *bits = bits_type(s->m, elem);
    struct value *word = bits_as(&s->b, x, bits);
    struct value *here =
        index_is(&s->b, index_along(&s->b, word->type, dim), s->reverse ? 0 : word->type->shape[dim] - 1);
    struct value *masked = build_select(&s->b, here, word, build_const_int(&s->b, word->type, 0));
    struct op *any = build_reduce(&s->b, 1, &masked, dim);
    struct block *body = any->regions[0];
    struct builder inside = build_at_end(body, s->scan->loc);
    struct value *both = build_binary(&inside, OP_or, body->args.at[0], body->args.at[1]);
    build_yield(&inside, 1, &both);
    return bits_as(&s->b, op_result(any), elem);
}

/* Returns the last element, in the order of the scan, of each warp's part of x. The shape [.., warps, rest,
 * ..] of x becomes [.., warps, ..]. */
static struct value *end_of(struct split *s, struct value *x)
{
    x = moved_last(&s->b, x, s->axis + 1);
    for (int i = 0; i < s->share.n[IN_reg]; i++) {
        struct value *half[2];
        halves(&s->b, x, half);
        x = half[!s->reverse];
    }
    if (s->share.n[IN_lane])
        return from_lane(s, x, x->type->rank - 1);
    /* If warps hold the whole axis, the part of each warp is a single element. */
    return s->share.n[IN_reg] ? x : build_reshape(&s->b, x, x->type->rank - 1, x->type->shape);
}

/* Returns t's layout after the bits of dimension `dim` have moved from warps to registers, so that every thread
 * holds all elements along `dim`. */
static const struct layout *meeting(struct module *m, const struct type *t, int dim)
{
    const struct layout *l = t->layout;
    int low = axis_low(l, dim);
    uint32_t mask = (UINT32_C(1) << l->dim_bits[dim]) - 1;
    struct layout out;
    layout_init(&out, t->rank, t->shape);
    for (int i = 0; i < l->dim_bits[dim]; i++)
        layout_add(&out, IN_reg, UINT32_C(1) << (low + i));
    for (int kind = IN_reg; kind < IN_offset; kind++)
        for (int i = 0; i < l->nbits[kind]; i++)
            layout_add(&out, (enum in)kind, layout_basis(l, (enum in)kind, i) & ~(mask << low));
    return layout_intern(m, &out);
}

/* -- the two steps -- */

static struct op *scan_like(struct split *s, struct value *const *x, int axis)
{
    const struct type *types[RANK_MAX];
    for (int i = 0; i < s->n; i++)
        types[i] = x[i]->type;
    struct op *o = build_op(&s->b, OP_scan, s->n, x, s->n, types, 1);
    op_set_int(o, ATTR_axis, axis);
    op_set_int(o, ATTR_reverse, s->reverse);
    for (int i = 0; i < 2 * s->n; i++)
        block_add_arg(o->regions[0], type_elem(types[i % s->n]), i < s->n ? "a" : "b");
    region_copy(o, s->scan);
    return o;
}

/* `sums` has, for each warp, the scan's result for the parts of all warps up to and including this warp.
 * Returns a tile of type t, with shape [.., warps, ..], that has for each warp the element of `sums` for the
 * preceding warp. What it has for the first warp is arbitrary. */
static struct value *before_each(struct split *s, struct value *sums, const struct type *t)
{
    struct value *parts[2 * COORD_BITS_MAX];
    int nwarps = t->shape[s->axis];
    all_parts(&s->b, moved_last(&s->b, sums, s->axis), nwarps, parts);
    int step = s->reverse ? -1 : 1, first = s->reverse ? nwarps - 1 : 0;
    struct value *result = repeated(&s->b, parts[first], s->axis, t);
    struct value *index = nwarps > 2 ? index_along(&s->b, t, s->axis) : NULL;
    for (int w = first + 2 * step; w >= 0 && w < nwarps; w += step) {
        struct value *part = repeated(&s->b, parts[w - step], s->axis, t);
        result = build_select(&s->b, index_is(&s->b, index, w), part, result);
    }
    return result;
}

static struct value *pair(struct builder *b, struct value *x, struct value *y)
{
    int shape[RANK_MAX], rank = x->type->rank;
    for (int d = 0; d < rank; d++)
        shape[d] = x->type->shape[d];
    shape[rank] = 2;
    struct layout l;
    const struct type *t = type_with_shape(b->func->module, x->type, rank + 1, shape);
    layout_join(&l, x->type->layout, rank + 1, shape);
    t = type_with_layout(b->func->module, t, layout_intern(b->func->module, &l));
    return op_result(build_op(b, OP_join, 2, (struct value *[]){x, y}, 1, &t, 0));
}

static void split_scan(struct split *s)
{
    struct value *x[RANK_MAX], *ends[RANK_MAX] = {NULL}, *both[RANK_MAX];
    const struct type *t = op_opnd(s->scan, 0)->type;
    int shape[RANK_MAX], rank = 0, nwarps = 1 << s->share.n[IN_warp];
    for (int d = 0; d < t->rank; d++) {
        if (d == s->axis)
            shape[rank++] = nwarps;
        shape[rank++] = d == s->axis ? t->shape[d] / nwarps : t->shape[d];
    }
    for (int i = 0; i < s->n; i++)
        x[i] = build_reshape(&s->b, op_opnd(s->scan, i), rank, shape);
    struct op *local = scan_like(s, x, s->axis + 1);
    for (int i = 0; i < s->n; i++)
        ends[i] = end_of(s, &local->results[i]);
    const struct type *warps = ends[0]->type;
    for (int i = 0; i < s->n; i++)
        ends[i] = build_convert(&s->b, ends[i], meeting(s->m, warps, s->axis));
    struct op *sums = scan_like(s, ends, s->axis);
    for (int i = 0; i < s->n; i++) {
        struct value *before =
            before_each(s, &sums->results[i], type_with_elem(s->m, warps, type_elem(ends[i]->type)));
        before = repeated(&s->b, before, s->axis + 1, x[i]->type);
        both[i] = pair(&s->b, before, &local->results[i]);
    }
    struct op *whole = build_reduce(&s->b, s->n, both, rank);
    region_copy(whole, s->scan);
    struct value *first =
        index_is(&s->b, index_along(&s->b, x[0]->type, s->axis), s->reverse ? nwarps - 1 : 0);
    for (int i = 0; i < s->n; i++) {
        struct value *r = in_layout(&s->b, &whole->results[i], x[i]->type->layout);
        r = build_reshape(&s->b, build_select(&s->b, first, &local->results[i], r), t->rank, t->shape);
        value_replace(&s->scan->results[i], in_layout(&s->b, r, t->layout));
    }
    opt_explain(s->b.func,
                &(struct explanation){DECISION_scan_over_warps, .at = s->scan, .numbers = {nwarps}});
    op_erase(s->scan);
}

/* Converts the operands of scan o to layout l, and the results from l back to their old layouts. */
static void lay_out(struct op *o, const struct layout *l)
{
    struct builder b = build_before(o), after = build_after(o);
    for (int i = 0; i < o->nopnds; i++)
        op_set_opnd(o, i, build_convert(&b, op_opnd(o, i), l));
    for (int i = 0; i < o->nresults; i++) {
        struct value *r = &o->results[i];
        const struct layout *wished = r->type->layout;
        value_set_type(r, op_opnd(o, i)->type);
        struct value *back = build_convert(&after, r, wished);
        value_replace(r, back);
        op_set_opnd(back->def, 0, r);
    }
}

static void visit(struct op *o, void *ctx)
{
    (void)ctx;
    if (o->code != OP_scan)
        return;
    struct split s = {.b = build_before(o),
                      .scan = o,
                      .m = o->block->func->module,
                      .n = o->nopnds,
                      .axis = (int)op_int(o, ATTR_axis),
                      .reverse = op_int(o, ATTR_reverse)};
    if (!share_of(op_opnd(o, 0)->type->layout, s.axis, &s.share)) {
        lay_out(o, scan_layout(o));
        share_of(op_opnd(o, 0)->type->layout, s.axis, &s.share);
    }
    s.b = build_before(o);
    if (s.share.n[IN_warp])
        split_scan(&s);
}

void opt_lower_scan(struct func *f)
{
    func_walk(f, visit, NULL);
}
