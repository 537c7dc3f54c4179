/* SPDX-License-Identifier: MIT */
/* fix_order.c: in kernels launched with `deterministic`, fixes the order of additions in every sum of floats.
 * The order then depends only on the source and on the length of the summed axis, and not on the number of
 * warps, the layout, the tile's other dimensions, the grid, or promises about the arguments.
 *
 *     %s = reduce %x axis=1 {add} : 4x8      =>     %p = reshape %x : 16x2x1        bit 0 of the axis
 *                                                   %q = reduce %p axis=1 {add}
 *                                                   %r = reshape %q : 8x2x1         bit 1
 *                                                   %t = reduce %r axis=1 {add}
 *                                                   ...                             bit 2
 *
 * Each of these reductions combines two elements, so no layout can change a result. The bits are combined
 * from the lowest to the highest, because in blocked layouts registers hold the lowest bits of an index in a
 * row, lanes the next bits, and warps the highest: each thread then first combines its own elements. In a
 * dot's accumulator, lanes hold bits 1 and 2 of an index in a row, and registers and warps hold bits 0, 3, 4,
 * ... (fragments.c). So in sums of a dot's result, bits 1 and 2 are combined last.
 *
 *     %s = scan %x axis=0 {add} : 8          =>     %t = totals of the blocks of 2 and of 4 elements, as above
 *                                                   %b = the total of all elements that precede a block: computed
 *                                                        first for blocks of 4, then of 2, then of 1 (split_blocks)
 *                                                   %s = map %b, %x {add}; for the first element, %x
 *
 *     %s = add (mul %x, %y), %z              =>     %s = fma %x, %y, %z
 *
 * Code generation can fuse a product and a sum only if both are in the same thread, which depends on the
 * layout. So this pass fuses products and sums, and in deterministic kernels code generation fuses none. The
 * pass does not change reductions whose result does not depend on the order (integers, minima, maxima). The
 * order in a dot is fixed too: every matrix instruction adds the products of 16 or 8 elements at once, and
 * the instructions of a dot run in ascending order of the inner index. fp8 operands become f16, because the
 * instructions for fp8 add in different ways. opt_check_order reports an error if the effect or result of an
 * atomic depends on the order of programs, or if a dot is too small for matrix instructions. */
#include "opt/analysis/analysis.h"
#include "opt/layout/layouts.h"
#include "opt/passes.h"
#include "opt/simplify/simplify.h"

#include "ir/target/fragments.h"

/* -- reductions -- */

/* The n bits, from bit `low` up, in which the row-major number of a tile's element contains the index along
 * an axis. */
struct axis_span {
    int low, n;
};

static struct axis_span span_of(const struct type *t, int axis)
{
    struct axis_span s = {.n = log2_floor(t->shape[axis])};
    for (int d = axis + 1; d < t->rank; d++)
        s.low += log2_floor(t->shape[d]);
    return s;
}

/* Sets bits[] to the numbers of the n bits of an axis, in the order in which the bits are combined. If
 * behind_dot, the elements are computed from a dot's result, so the bits that lanes hold in an accumulator
 * come last. */
static void order_of_bits(int n, bool behind_dot, int *bits)
{
    enum { LANE_BIT = 1, LANE_BITS_END = 3 }; /* the bits of a row that lanes hold in the result of an mma */
    int at = 0;
    for (int last = 0; last < 2; last++)
        for (int i = 0; i < n; i++)
            if (last == (behind_dot && i >= LANE_BIT && i < LANE_BITS_END))
                bits[at++] = i;
}

/* Copies the region of `from` into the empty region of `to`, which has the same arguments. If `swapped`, exchanges
 * the two elements that the region combines. */
static void copy_combination(struct op *to, const struct op *from, bool swapped)
{
    struct block *source = from->regions[0], *copy = to->regions[0];
    struct map map;
    map_init(&map, copy->func->module->scratch);
    const int n = source->args.n, half = n / 2;
    for (int i = 0; i < n; i++)
        *map_at_ptr(&map, source->args.at[i]) = copy->args.at[swapped ? (i + half) % n : i];
    struct builder inside = build_at_end(copy, from->loc);
    for (const struct op *o = source->first; o; o = o->next)
        op_clone(&inside, o, &map);
}

/* Reshapes each x[i] to three dimensions, of which the middle dimension has size 2. The two elements of a
 * pair along the middle dimension are those whose numbers differ only in bit `bit`. */
static void view_pairs(struct builder *b, struct value **x, int n, int bit)
{
    const int64_t all = type_elems(x[0]->type);
    const int shape[] = {(int)(all >> (bit + 1)), 2, 1 << bit};
    for (int i = 0; i < n; i++)
        x[i] = build_reshape(b, x[i], 3, shape);
}

/* Combines each pair of elements whose numbers differ only in bit `bit`, and sets x[i] to the results, which have
 * half as many elements. */
static void combine_bit(struct builder *b, const struct op *model, struct value **x, int bit, bool swapped)
{
    const int n = (int)model->nopnds;
    view_pairs(b, x, n, bit);
    struct op *pairs = build_reduce(b, n, x, 1);
    copy_combination(pairs, model, swapped);
    for (int i = 0; i < n; i++)
        x[i] = &pairs->results[i];
}

static void fix_reduce(struct op *o)
{
    struct func *f = o->block->func;
    const struct type *t = op_opnd(o, 0)->type;
    const struct axis_span span = span_of(t, (int)op_int(o, ATTR_axis));
    int bits[COORD_BITS_MAX];
    struct builder b = build_before(o);
    struct value **x = NEW_ARRAY(f->module->scratch, o->nopnds, struct value *);
    bool behind_dot = false;
    for (int i = 0; i < o->nopnds; i++) {
        x[i] = op_opnd(o, i);
        behind_dot = behind_dot || dot_behind(x[i], false, NULL);
    }
    order_of_bits(span.n, behind_dot, bits);
    for (int i = 0; i < span.n; i++) {
        int gone = 0; /* the number of lower bits that are already combined */
        for (int k = 0; k < i; k++)
            gone += bits[k] < bits[i];
        combine_bit(&b, o, x, span.low + bits[i] - gone, false);
    }
    for (int i = 0; i < o->nopnds; i++) {
        const struct type *r = o->results[i].type;
        value_replace(&o->results[i], build_reshape(&b, x[i], r->rank, r->shape));
    }
    op_erase(o);
}

/* -- scans -- */

struct scanning {
    struct builder b;
    const struct op *scan;
    struct axis_span span;
    int n;        /* the number of operands */
    bool reverse; /* the element with the highest number comes first */
};

static struct value **values_new(const struct scanning *s)
{
    return NEW_ARRAY(s->b.func->module->scratch, s->n, struct value *);
}

/* Applies the scan's region to each pair of corresponding elements of x and y. */
static struct value **apply(struct scanning *s, struct value *const *x, struct value *const *y)
{
    struct value **both = NEW_ARRAY(s->b.func->module->scratch, 2 * s->n, struct value *),
                 **z = values_new(s);
    const struct type **types = NEW_ARRAY(s->b.func->module->scratch, s->n, const struct type *);
    for (int i = 0; i < s->n; i++) {
        both[i] = x[i];
        both[s->n + i] = y[i];
        types[i] = y[i]->type;
    }
    struct op *map = build_op(&s->b, OP_map, 2 * s->n, both, s->n, types, 1);
    for (int i = 0; i < 2 * s->n; i++)
        block_add_arg(map->regions[0], type_elem(both[i]->type), i < s->n ? "a" : "b");
    copy_combination(map, s->scan, false);
    for (int i = 0; i < s->n; i++)
        z[i] = &map->results[i];
    return z;
}

/* x consists of pairs along dimension 1. Returns x with both elements of each pair replaced by the element
 * that comes first in the order of the scan. */
static struct value *first_of_pair(struct scanning *s, struct value *x)
{
    struct op *first = build_reduce(&s->b, 1, &x, 1);
    struct builder inside = build_at_end(first->regions[0], s->b.loc);
    build_yield(&inside, 1, (struct value *[]){first->regions[0]->args.at[s->reverse]});
    return build_broadcast(&s->b, build_expand_dims(&s->b, op_result(first), 1), 3, x->type->shape);
}

/* Builds, for each element of `like`, the number of its block in the order of the scan. The axis has 2^bits
 * blocks. */
static struct value *places(struct scanning *s, const struct value *like, int bits)
{
    const int blocks = 1 << bits, below = 1 << s->span.low, *shape = like->type->shape;
    const int whole[] = {(int)(type_elems(like->type) / blocks / below), blocks, below};
    struct value *i = build_reshape(&s->b, build_range(&s->b, 0, blocks), 3, (int[]){1, blocks, 1});
    i = build_reshape(&s->b, build_broadcast(&s->b, i, 3, whole), like->type->rank, shape);
    return s->reverse ? build_binary(&s->b, OP_sub, build_const_int(&s->b, i->type, blocks - 1), i) : i;
}

static struct value *equals(struct scanning *s, struct value *i, int64_t x)
{
    return build_cmp(&s->b, PRED_eq, i, build_const_int(&s->b, i->type, x));
}

/* `before` holds, for each pair of blocks, the total of all elements that precede the pair; `before` is NULL if there
 * is only one pair. `totals` holds the total of each block; the two blocks of a pair are neighbours along
 * dimension 1. Computes, for each block, the total of all elements that precede the block. For a pair's first
 * block, this total is the value of `before` for the pair. For the pair's second block, this value is
 * combined with the total of the first block. The result for the first block of the axis is meaningless. */
static struct value **split_blocks(struct scanning *s, struct value *const *before,
                                   struct value *const *totals, int bits)
{
    struct value **first = values_new(s), **wide = values_new(s);
    for (int i = 0; i < s->n; i++)
        first[i] = first_of_pair(s, totals[i]);
    if (!before)
        return first;
    const int *shape = first[0]->type->shape;
    for (int i = 0; i < s->n; i++)
        wide[i] = build_broadcast(&s->b, build_reshape(&s->b, before[i], 3, (int[]){shape[0], 1, shape[2]}),
                                  3, shape);
    struct value **sum = apply(s, wide, first), *place = places(s, first[0], bits);
    struct value *is_second =
                     equals(s, build_binary(&s->b, OP_and, place, build_const_int(&s->b, place->type, 1)), 1),
                 *is_in_first_pair = equals(s, place, 1);
    for (int i = 0; i < s->n; i++)
        sum[i] =
            build_select(&s->b, is_in_first_pair, first[i], build_select(&s->b, is_second, sum[i], wide[i]));
    return sum;
}

static void fix_scan(struct op *o)
{
    const struct type *t = op_opnd(o, 0)->type;
    struct scanning s = {.b = build_before(o),
                         .scan = o,
                         .span = span_of(t, (int)op_int(o, ATTR_axis)),
                         .n = (int)o->nopnds,
                         .reverse = op_int(o, ATTR_reverse) != 0};
    struct value **totals[COORD_BITS_MAX + 1], **before = NULL;
    totals[0] = values_new(&s);
    for (int i = 0; i < s.n; i++)
        totals[0][i] = op_opnd(o, i);
    for (int k = 0; k + 1 < s.span.n; k++) {
        totals[k + 1] = values_new(&s);
        for (int i = 0; i < s.n; i++)
            totals[k + 1][i] = totals[k][i];
        combine_bit(&s.b, o, totals[k + 1], s.span.low, s.reverse);
    }
    for (int k = s.span.n - 1; k >= 0; k--) {
        view_pairs(&s.b, totals[k], s.n, s.span.low);
        before = split_blocks(&s, before, totals[k], s.span.n - k);
    }
    if (before) {
        struct value **sum = apply(&s, before, totals[0]),
                     *is_first = equals(&s, places(&s, totals[0][0], s.span.n), 0);
        for (int i = 0; i < s.n; i++)
            totals[0][i] = build_select(&s.b, is_first, totals[0][i], sum[i]);
    }
    for (int i = 0; i < s.n; i++)
        value_replace(&o->results[i], build_reshape(&s.b, totals[0][i], t->rank, t->shape));
    op_erase(o);
}

/* -- products and sums -- */

/* Returns whether v is a product that only the sum o uses. */
static bool is_own_product(const struct op *o, const struct value *v)
{
    return v->def && v->def->code == OP_mul && v->block == o->block && value_nuses(v) == 1;
}

static bool is_dot(const struct value *v)
{
    return v->def && v->def->code == OP_dot;
}

/* Replaces the sum o by an fma if one summand is a product that only o uses. If the other summand is a dot's
 * result, the sum stays: legalize_dot makes it part of the dot. */
static void contract(struct op *o)
{
    const struct type *t = op_result(o)->type;
    const enum dtype dt = type_elem(t)->dtype;
    if ((dt != DT_f32 && dt != DT_f64) || !o->block->func->fp_fusion)
        return;
    for (int i = 0; i < 2; i++) {
        struct value *product = op_opnd(o, i), *other = op_opnd(o, 1 - i);
        if (!is_own_product(o, product) || is_dot(other))
            continue;
        struct builder b = build_before(o);
        struct op *mul = product->def;
        value_replace(op_result(o), build_fma(&b, op_opnd(mul, 0), op_opnd(mul, 1), other));
        op_erase(o);
        op_erase(mul);
        return;
    }
}

/* -- ops that cannot be deterministic -- */

bool atomic_depends_on_order(const struct op *o)
{
    if (o->code == OP_atomic_cas)
        return true;
    if (o->code != OP_atomic_rmw)
        return false;
    int64_t rmw = op_int(o, ATTR_rmw);
    return rmw == RMW_fadd || rmw == RMW_xchg || has_uses(op_result(o));
}

/* Returns whether tensor cores support the types of a dot, but the dot is too small for them. Its products
 * would then be added in another order than the products of larger tiles. */
static bool is_too_small(const struct op *o)
{
    enum { HALF = 16, ROWS = 16, COLUMNS = 8, INNER = 16 };
    const struct type *a = op_opnd(o, DOT_a)->type, *acc = op_result(o)->type;
    const bool half = type_is_float(a) && type_elem_bits(a) <= HALF,
               tf32 = type_elem(a)->dtype == DT_f32 && op_int(o, ATTR_precision) == PREC_tf32;
    const int r = acc->rank;
    return (half || tf32) && (acc->shape[r - 2] < ROWS || acc->shape[r - 1] < COLUMNS ||
                              a->shape[r - 1] < (half ? INNER : INNER / 2));
}

static void check(struct op *o, void *ctx)
{
    struct diag *d = ctx;
    if (atomic_depends_on_order(o)) {
        diag_error(d, o->loc, ERR_order_atomic);
        diag_hint(d, ERR_hint_order_atomic);
    } else if (o->code == OP_dot && is_too_small(o)) {
        const struct type *a = op_opnd(o, DOT_a)->type, *acc = op_result(o)->type;
        const int r = acc->rank;
        diag_error(d, o->loc, ERR_order_dot, acc->shape[r - 2], acc->shape[r - 1], a->shape[r - 1]);
    }
}

void opt_check_order(struct func *f)
{
    if (f->deterministic && f->fp_reassoc)
        diag_error(f->module->diag, f->loc, ERR_order_reassoc);
    if (f->deterministic)
        func_walk(f, check, f->module->diag);
}

/* -- the pass -- */

bool op_has_free_order(const struct op *o)
{
    const bool reduces = o->code == OP_reduce && op_opnd(o, 0)->type->shape[op_int(o, ATTR_axis)] > 2;
    return o->block->func->deterministic && (reduces || o->code == OP_scan) && !combines_in_any_order(o);
}

static void visit_sum(struct op *o, void *ctx)
{
    (void)ctx;
    if (o->code == OP_add)
        contract(o);
}

static void visit_reduce(struct op *o, void *ctx)
{
    (void)ctx;
    if (op_has_free_order(o) && o->code == OP_reduce)
        fix_reduce(o);
    else if (op_has_free_order(o))
        fix_scan(o);
}

void opt_fix_order(struct func *f)
{
    if (!f->deterministic)
        return;
    func_walk(f, visit_sum, NULL); /* sums first, so that visit_reduce copies regions with fused sums */
    func_walk(f, visit_reduce, NULL);
}
