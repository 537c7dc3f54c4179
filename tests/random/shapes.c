/* SPDX-License-Identifier: MIT */
/* shapes.c: generates expressions whose operands have other shapes than the result: broadcasts, reshapes,
 * transposes, joins, reductions, scans, sorts, gathers, histograms. */
#include "tests/random/generate.h"

static struct vtype shaped(const struct vtype *t, struct shape s)
{
    struct vtype x = *t;
    x.shape = s;
    return x;
}

static bool fits(const struct gen *g, const struct shape *s)
{
    return s->rank <= RANK_LIMIT && shape_is_plain(s) && shape_log(g, s) <= g->tile_log;
}

/* Returns a symbol that does not occur in the shape, or 0. The product of the symbol's size and the shape's size is
 * within the limit for tiles. */
static dims other_symbol(struct gen *g, const struct shape *s)
{
    int room = g->tile_log - shape_log(g, s), n = g->p->nsymbols - FIRST_SYMBOL;
    for (int tries = 0; tries < 8; tries++) {
        int i = FIRST_SYMBOL + below(g, n);
        dims d = (dims)1 << i;
        if (!(shape_symbols(s) & d) && g->p->log_size[i] <= room)
            return d;
    }
    return 0;
}

static struct shape with_dim(struct shape s, int at, dims d)
{
    for (int i = s.rank; i > at; i--)
        s.dim[i] = s.dim[i - 1];
    s.dim[at] = d;
    s.rank++;
    return s;
}

static struct shape without_dim(struct shape s, int at)
{
    for (int i = at; i + 1 < s.rank; i++)
        s.dim[i] = s.dim[i + 1];
    s.dim[--s.rank] = 0;
    return s;
}

/* -- changes of shape and order -- */

static struct node *make_broadcast(struct gen *g, const struct vtype *t, int depth)
{
    struct shape s = t->shape;
    bool any = false;
    for (int i = 0; i < s.rank; i++)
        if (s.dim[i] && chance(g, 50)) {
            s.dim[i] = 0;
            any = true;
        }
    return any ? node_unary(g, NODE_broadcast_to, *t, value(g, shaped(t, s), depth - 1)) : NULL;
}

static struct node *make_splat(struct gen *g, const struct vtype *t, int depth)
{
    if (elem_info[t->elem].class == SMALL)
        return NULL;
    struct node *x = value(g, shaped(t, (struct shape){0}), depth - 1);
    return node_unary(g, chance(g, 50) ? NODE_splat : NODE_broadcast_to, *t, x);
}

static struct node *make_expand(struct gen *g, const struct vtype *t, int depth)
{
    int at = below(g, t->shape.rank);
    if (t->shape.dim[at] || t->shape.rank < 2)
        return NULL;
    struct node *n =
        node_unary(g, NODE_expand_dims, *t, value(g, shaped(t, without_dim(t->shape, at)), depth - 1));
    n->axis = at;
    return n;
}

static struct node *make_reshape(struct gen *g, const struct vtype *t, int depth)
{
    dims all = shape_symbols(&t->shape);
    int order[SYMBOLS], n = 0;
    if (!shape_is_plain(&t->shape))
        return NULL;
    for (int i = 0; i < SYMBOLS; i++)
        if (all >> i & 1)
            order[n++] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = below(g, i + 1), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    struct shape s = {.rank = 1 + below(g, 4)};
    for (int i = 0; i < n; i++)
        s.dim[below(g, s.rank)] |= (dims)1 << order[i];
    if (shape_equal(&s, &t->shape))
        return NULL;
    return node_unary(g, NODE_reshape, *t, value(g, shaped(t, s), depth - 1));
}

static struct node *make_permute(struct gen *g, const struct vtype *t, int depth)
{
    struct node *n = node_new(g, NODE_permute, *t);
    struct shape s = {.rank = t->shape.rank};
    int rank = s.rank;
    for (int i = 0; i < rank; i++)
        n->perm[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        int k = below(g, i + 1), swap = n->perm[i];
        n->perm[i] = n->perm[k];
        n->perm[k] = swap;
    }
    if (rank == 2) {
        n->kind = NODE_trans;
        n->perm[0] = 1;
        n->perm[1] = 0;
    }
    for (int i = 0; i < rank; i++)
        s.dim[n->perm[i]] = t->shape.dim[i];
    n->nargs = 1;
    n->arg[0] = value(g, shaped(t, s), depth - 1);
    return n;
}

static struct node *make_join(struct gen *g, const struct vtype *t, int depth)
{
    int last = t->shape.rank - 1;
    if (t->shape.dim[last] != (dims)1 << TWO)
        return NULL;
    struct vtype x = shaped(t, without_dim(t->shape, last));
    return node_binary(g, NODE_join, *t, value(g, x, depth - 1), value(g, x, depth - 1));
}

static struct node *make_split(struct gen *g, const struct vtype *t, int depth)
{
    if (t->shape.rank >= RANK_LIMIT || shape_symbols(&t->shape) & (dims)1 << TWO)
        return NULL;
    struct shape s = with_dim(t->shape, t->shape.rank, (dims)1 << TWO);
    if (!fits(g, &s))
        return NULL;
    struct node *n = node_unary(g, NODE_split, *t, value(g, shaped(t, s), depth - 1));
    n->axis = below(g, 2);
    return n;
}

static struct node *make_doubled(struct gen *g, const struct vtype *t, int depth)
{
    int rank = t->shape.rank;
    for (int i = 0; i < rank; i++) {
        if (!(t->shape.dim[i] & (dims)1 << TWO))
            continue;
        struct shape s = t->shape;
        s.dim[i] &= ~((dims)1 << TWO);
        struct node *n = node_new(g, i == rank - 1 && chance(g, 60) ? NODE_interleave : NODE_cat, *t);
        n->axis = i;
        n->nargs = 2;
        n->arg[0] = value(g, shaped(t, s), depth - 1);
        n->arg[1] = value(g, shaped(t, s), depth - 1);
        return n;
    }
    return NULL;
}

static struct node *make_flip(struct gen *g, const struct vtype *t, int depth)
{
    int axis = below(g, t->shape.rank);
    if (size_of(g->p, t->shape.dim[axis]) == 1) /* Triton 3.9 does not accept size 1 */
        return NULL;
    struct node *n = node_unary(g, NODE_flip, *t, value(g, *t, depth - 1));
    n->axis = axis;
    return n;
}

/* -- reductions -- */

/* Chooses the operand's shape (*s) and the axis (n->axis) of a reduction with a result of type t. The operand's shape
 * is the shape of t with an additional dimension. With keep_dims (n->flag), a dimension of size 1 gets another size
 * instead. If t is a scalar, the reduction may be over all axes. Returns false if there is no such shape. */
static bool choose_axis(struct gen *g, const struct vtype *t, struct shape *s, struct node *n)
{
    *s = t->shape;
    dims d = other_symbol(g, s);
    if (!d)
        return false;
    int at = below(g, t->shape.rank + 1);
    if (at < t->shape.rank && t->shape.dim[at] == 0 && chance(g, 70)) {
        s->dim[at] = d;
        n->flag = true;
    } else if (t->shape.rank < RANK_LIMIT) {
        *s = with_dim(*s, at, d);
    } else {
        return false;
    }
    n->axis = at;
    if (t->shape.rank == 0 && !n->flag && chance(g, 30)) { /* reduce all axes */
        dims more = other_symbol(g, s);
        if (more)
            *s = with_dim(*s, below(g, 2), more);
        if (more || chance(g, 50))
            n->axis = -9;
    }
    return fits(g, s);
}

static int axis_log(const struct gen *g, const struct shape *s, int axis)
{
    struct shape one = {.rank = 1};
    one.dim[0] = axis < 0 ? shape_symbols(s) : s->dim[axis];
    return shape_log(g, &one);
}

static struct node *make_sum(struct gen *g, const struct vtype *t, int depth)
{
    struct node *n = node_new(g, NODE_sum, *t);
    struct shape s;
    if (!choose_axis(g, t, &s, n) || is_limited(t))
        return NULL;
    struct vtype x = shaped(t, s);
    if (is_float(t->elem)) {
        int log = axis_log(g, &s, n->axis), precision = elem_info[t->elem].precision;
        if (t->range.least == ANY_LEAST)
            x.range.least = t->range.most - precision;
        x.range.most -= log;
        if (x.range.most - x.range.least < 1)
            return NULL;
    } else if (chance(g, 20) && t->elem != EL_i1) {
        n->kind = NODE_xor_sum;
    }
    n->nargs = 1;
    n->arg[0] = value(g, x, depth - 1);
    return n;
}

static struct node *make_reduced(struct gen *g, const struct vtype *t, int depth)
{
    static const enum node_kind kinds[] = {NODE_max, NODE_min, NODE_best, NODE_max, NODE_min};
    struct node *n = node_new(g, kinds[below(g, 5)], *t);
    struct shape s;
    if (!choose_axis(g, t, &s, n))
        return NULL;
    if (n->kind == NODE_best)
        n->word = chance(g, 50) ? "max" : "min";
    if (n->kind == NODE_best && n->axis < 0)
        n->kind = NODE_max;
    n->nargs = 1;
    n->arg[0] = value(g, shaped(t, s), depth - 1);
    return n;
}

/* Generates a reduction by an associative function of one operand. */
static struct node *make_reduce(struct gen *g, const struct vtype *t, int depth)
{
    static const char *const ints[] = {"f_add", "f_mul", "f_xor", "f_max", "f_and", "f_min"},
                             *const floats[] = {"f_max", "f_min"},
                             *const bools[] = {"f_and", "f_xor", "f_or"};
    struct node *n = node_new(g, NODE_reduce, *t);
    struct shape s;
    if (!choose_axis(g, t, &s, n) || n->axis < 0 || is_limited(t))
        return NULL;
    n->word = is_int(t->elem)     ? ints[below(g, 6)]
              : is_float(t->elem) ? floats[below(g, 2)]
                                  : bools[below(g, 3)];
    n->nargs = 1;
    n->arg[0] = value(g, shaped(t, s), depth - 1);
    return n;
}

/* Generates a reduction of pairs (value, index) by a function that returns the pair with the larger value. If the
 * values are equal, the function returns the pair with the smaller index. This function is associative and
 * commutative. */
static struct node *make_reduce_pair(struct gen *g, const struct vtype *t, int depth)
{
    struct node *n = node_new(g, NODE_reduce_pair, *t);
    struct shape s;
    if (!choose_axis(g, t, &s, n) || n->axis < 0)
        return NULL;
    n->word = "f_best";
    n->other = 0;
    n->nargs = 2;
    struct vtype first = shaped(t, s), second = vtype_of(elem_any(g, INTS), s);
    n->arg[0] = value(g, first, depth - 1);
    n->arg[1] = value(g, second, depth - 1);
    if (is_int(t->elem) && !is_limited(t) && chance(g, 50)) {
        struct node *swap = n->arg[0];
        n->arg[0] = n->arg[1];
        n->arg[1] = swap;
        n->other = 1;
    }
    return n;
}

static struct node *make_arg(struct gen *g, const struct vtype *t, int depth)
{
    struct vtype whole = vtype_of(EL_i32, t->shape);
    struct node *n = node_new(g, chance(g, 50) ? NODE_argmax : NODE_argmin, whole);
    struct shape s;
    if (!choose_axis(g, t, &s, n) || n->axis < 0)
        return NULL;
    n->type.range.most = axis_log(g, &s, n->axis);
    if (n->type.range.most < 1)
        n->type.range.most = 1;
    n->nargs = 1;
    n->arg[0] = value(g, vtype_of(elem_any(g, INTS | FLOAT), s), depth - 1);
    return node_fit(g, n, *t);
}

/* -- scans -- */

static struct node *make_cumulative(struct gen *g, const struct vtype *t, int depth)
{
    if (is_limited(t))
        return NULL;
    struct node *n = node_new(g, is_int(t->elem) && chance(g, 30) ? NODE_cumprod : NODE_cumsum, *t);
    struct vtype x = *t;
    n->axis = below(g, t->shape.rank);
    n->flag = chance(g, 30);
    if (is_float(t->elem)) {
        if (t->range.least == ANY_LEAST)
            x.range.least = t->range.most - elem_info[t->elem].precision;
        x.range.most -= axis_log(g, &t->shape, n->axis);
        if (x.range.most - x.range.least < 1)
            return NULL;
    }
    n->nargs = 1;
    n->arg[0] = value(g, x, depth - 1);
    return n;
}

static struct node *make_scan(struct gen *g, const struct vtype *t, int depth)
{
    static const char *const ints[] = {"f_add", "f_mul", "f_xor", "f_max", "f_min", "f_right"},
                             *const floats[] = {"f_max", "f_min", "f_right"};
    struct node *n = node_new(g, NODE_scan, *t);
    n->axis = below(g, t->shape.rank);
    n->flag = chance(g, 30);
    n->nargs = 1;
    /* scan the pairs (a, b) of functions x -> a x + b by composition */
    if (is_int(t->elem) && !is_limited(t) && chance(g, 35)) {
        n->kind = NODE_scan_pair;
        n->word = "f_linear";
        n->other = below(g, 2);
        n->nargs = 2;
        n->arg[1] = value(g, *t, depth - 1);
    } else {
        if (is_limited(t))
            return NULL;
        n->word = is_int(t->elem) ? ints[below(g, 6)] : floats[below(g, 3)];
    }
    n->arg[0] = value(g, *t, depth - 1);
    return n;
}

/* -- gathers and histograms -- */

/* Returns indices of shape s that are below the size of d. For a histogram, the indices have 32 bits, and some are not
 * below this size. */
static struct node *index_below(struct gen *g, struct shape s, dims d, bool for_histogram, int depth)
{
    static const enum elem kinds[] = {EL_i32, EL_u32, EL_i32, EL_i32, EL_i64, EL_i16};
    struct vtype i = vtype_of(kinds[below(g, for_histogram ? 3 : 6)], s);
    /* some indices out of range, which a histogram does not count */
    int times = for_histogram && chance(g, 50) ? 2 : 1;
    struct node *n = node_new(g, NODE_and, i), *last = node_extent(g, d, times, -1);
    n->nargs = 2;
    n->arg[0] = value(g, i, depth);
    n->arg[1] = i.elem == EL_i32 ? last : node_cast(g, last, i);
    return n;
}

static struct node *make_gather(struct gen *g, const struct vtype *t, int depth)
{
    struct node *n = node_new(g, NODE_gather, *t);
    struct shape s = t->shape;
    n->axis = below(g, s.rank);
    int what = below(g, 10);
    dims d = what < 2 ? t->shape.dim[n->axis] : what < 4 ? 0 : other_symbol(g, &s);
    s.dim[n->axis] = d;
    if (!fits(g, &s))
        return NULL;
    n->nargs = 2;
    n->arg[0] = value(g, shaped(t, s), depth - 1);
    n->arg[1] = index_below(g, t->shape, d, false, depth - 1);
    return n;
}

static struct node *make_sort(struct gen *g, const struct vtype *t, int depth)
{
    struct node *n = node_new(g, NODE_sort, *t);
    struct shape s = t->shape;
    n->flag = chance(g, 40);
    int last = s.rank - 1;
    if (axis_log(g, &s, last) > 8)
        return NULL;
    if (chance(g, 25) && s.dim[last]) {
        dims d = other_symbol(g, &s);
        n->kind = NODE_topk;
        n->end = s.dim[last];
        s.dim[last] |= d;
        if (!d || !fits(g, &s) || axis_log(g, &s, last) > 8)
            return NULL;
    }
    n->nargs = 1;
    n->arg[0] = value(g, shaped(t, s), depth - 1);
    return n;
}

static struct node *make_histogram(struct gen *g, const struct vtype *t, int depth)
{
    if (t->shape.rank != 1)
        return NULL;
    struct vtype whole = vtype_of(EL_i32, t->shape);
    struct shape s = {.rank = 1};
    s.dim[0] = other_symbol(g, &s);
    if (chance(g, 30))
        s.dim[0] = other_symbol(g, &t->shape) | (chance(g, 50) ? t->shape.dim[0] : 0);
    if (!fits(g, &s) || shape_log(g, &s) > 10)
        return NULL;
    struct node *n = node_new(g, NODE_histogram, whole);
    n->end = t->shape.dim[0];
    n->nargs = 2;
    n->arg[0] = index_below(g, s, n->end, true, depth - 1);
    n->arg[1] = chance(g, 30) ? value(g, vtype_of(EL_i1, s), depth - 1) : NULL;
    n->type.range = range_full(EL_i32);
    return node_fit(g, n, *t);
}

const struct choice shape_choices[] = {
    {INTS | FLOAT | BOOL | SMALL, 1, 7, make_broadcast},
    {INTS | FLOAT | BOOL | SMALL, 1, 5, make_splat},
    {INTS | FLOAT | BOOL | SMALL, 2, 6, make_expand},
    {INTS | FLOAT | BOOL | SMALL, 1, 9, make_reshape},
    {INTS | FLOAT | BOOL | SMALL, 2, 9, make_permute},
    {INTS | FLOAT | BOOL | SMALL, 1, 6, make_join},
    {INTS | FLOAT | BOOL | SMALL, 0, 5, make_split},
    {INTS | FLOAT | BOOL, 1, 6, make_doubled},
    {INTS | FLOAT | BOOL, 1, 3, make_flip},
    {INTS | FLOAT, 0, 10, make_sum},
    {INTS | FLOAT, 0, 8, make_reduced},
    {INTS | FLOAT, 0, 5, make_reduce},
    {INTS | FLOAT, 0, 3, make_reduce_pair},
    {INTS, 0, 4, make_arg},
    {INTS | FLOAT, 1, 6, make_cumulative},
    {INTS | FLOAT, 1, 6, make_scan},
    {INTS | FLOAT | BOOL, 1, 6, make_gather},
    {INTS | FLOAT, 1, 4, make_sort},
    {INTS, 1, 6, make_histogram},
    {0, 0, 0, NULL},
};
