/* SPDX-License-Identifier: MIT */
/* values.c: generates expressions of a given type: arithmetic, comparisons, casts, constants. The ranges of operands
 * keep floats exact: if the result must be a multiple of 2^least and at most 2^most, the operands get ranges that
 * guarantee this. */
#include "tests/random/generate.h"

/* -- nodes -- */

struct node *node_new(struct gen *g, enum node_kind kind, struct vtype t)
{
    struct node *n = NEW(g->arena, struct node);
    n->kind = kind;
    n->type = t;
    g->nodes++;
    return n;
}

struct node *node_unary(struct gen *g, enum node_kind kind, struct vtype t, struct node *x)
{
    struct node *n = node_new(g, kind, t);
    n->nargs = 1;
    n->arg[0] = x;
    return n;
}

struct node *node_binary(struct gen *g, enum node_kind kind, struct vtype t, struct node *x, struct node *y)
{
    struct node *n = node_unary(g, kind, t, x);
    n->nargs = 2;
    n->arg[1] = y;
    return n;
}

struct node *node_int(struct gen *g, struct vtype t, int64_t x)
{
    struct node *n = node_new(g, NODE_number, t);
    n->bits = x;
    return n;
}

struct node *node_float(struct gen *g, struct vtype t, double x)
{
    struct node *n = node_new(g, NODE_number, t);
    n->number = x;
    return n;
}

struct node *node_zero(struct gen *g, struct vtype t)
{
    return node_int(g, t, 0);
}

struct node *node_extent(struct gen *g, dims of, int times, int plus)
{
    struct node *n = node_new(g, NODE_extent, vtype_of(EL_i32, (struct shape){0}));
    n->extent = (struct extent){of, times, plus};
    return n;
}

struct node *node_var(struct gen *g, struct var *v)
{
    struct node *n = node_new(g, NODE_var, v->type);
    n->var = v;
    return n;
}

struct node *node_pid(struct gen *g)
{
    int bits = 1;
    while (1 << bits < g->p->grid)
        bits++;
    return node_new(g, NODE_pid, vtype_ranged(EL_i32, (struct shape){0}, bits, 0));
}

struct node *node_arange(struct gen *g, const struct shape *s, int axis)
{
    struct shape one = {.rank = s->rank};
    one.dim[axis] = s->dim[axis];
    int log = shape_log(g, &one);
    struct node *n = node_new(g, NODE_arange, vtype_ranged(EL_i32, one, log, 0));
    n->axis = axis;
    return n;
}

struct node *node_cast(struct gen *g, struct node *x, struct vtype t)
{
    t.shape = x->type.shape;
    return node_unary(g, NODE_cast, t, x);
}

static struct vtype with_elem(struct vtype t, enum elem e)
{
    t.elem = e;
    t.range = range_full(e);
    return t;
}

static double power(int exponent)
{
    double x = 1;
    for (; exponent > 0; exponent--)
        x *= 2;
    for (; exponent < 0; exponent++)
        x /= 2;
    return x;
}

/* Returns x & (2^bits - 1). */
static struct node *masked(struct gen *g, struct node *x, int bits)
{
    struct vtype t = vtype_ranged(x->type.elem, x->type.shape, bits, 0);
    return node_binary(g, NODE_and, t, x, node_int(g, t, bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1));
}

struct node *node_fit(struct gen *g, struct node *x, struct vtype t)
{
    t.shape = x->type.shape;
    int bits = t.range.most - t.range.least;
    if (x->type.elem == t.elem && range_within(t.elem, x->type.range, t.range))
        return x;
    if (is_int(t.elem)) {
        struct vtype whole = vtype_of(t.elem, t.shape);
        struct node *n = x;
        if (elem_info[x->type.elem].class == FLOAT)
            n = node_fit(g, x, vtype_ranged(x->type.elem, t.shape, 6, 0));
        n = n->type.elem == t.elem ? n : node_cast(g, n, whole);
        return is_limited(&t) ? masked(g, n, t.range.most) : n;
    }
    if (bits > 20 || t.range.least == ANY_LEAST)
        bits = 4, t.range.least = t.range.most - 4;
    struct node *n = x;
    if (is_float(x->type.elem)) { /* round x to an integer that fits into an i32 */
        if (x->type.range.most > 28)
            n = node_binary(g, NODE_compare, vtype_of(EL_i1, t.shape), x, node_zero(g, x->type)),
            n->word = ">";
        n = node_cast(g, n, vtype_of(EL_i32, t.shape));
    } else if (x->type.elem != EL_i32) {
        n = node_cast(g, x, vtype_of(EL_i32, t.shape));
    }
    n = masked(g, n, bits);
    struct vtype raw = vtype_ranged(t.elem, t.shape, bits, 0);
    if (elem_info[t.elem].class == SMALL)
        raw = vtype_ranged(EL_f32, t.shape, bits, 0);
    n = node_cast(g, n, raw);
    if (t.range.least != 0) {
        struct vtype scaled = vtype_ranged(raw.elem, t.shape, t.range.most, t.range.least);
        n = node_binary(g, NODE_mul, scaled, n, node_float(g, scaled, power(t.range.least)));
    }
    return raw.elem == t.elem ? n : node_cast(g, n, t);
}

/* -- leaves -- */

static struct node *leaf_var(struct gen *g, const struct vtype *t)
{
    struct var *found[SCOPE];
    int n = 0;
    for (int i = 0; i < g->nscope; i++) {
        const struct vtype *v = &g->scope[i]->type;
        if (v->kind == KIND_value && v->elem == t->elem && shape_equal(&v->shape, &t->shape) &&
            range_within(t->elem, v->range, t->range))
            found[n++] = g->scope[i];
    }
    return n ? node_var(g, found[below(g, n)]) : NULL;
}

static struct node *leaf_number(struct gen *g, const struct vtype *t)
{
    static const int64_t odd[] = {0, 1, 2, 3, 5, 7, 8, 31, 63, 100, 127};
    int most = t->range.most, least = t->range.least;
    if (elem_info[t->elem].class == BOOL)
        return node_int(g, *t, below(g, 2));
    if (!is_int(t->elem)) {
        int precision = elem_info[t->elem].precision, bits = below(g, 4);
        if (least == ANY_LEAST)
            least = most > 4 ? -2 : most - 2;
        bits = bits > most - least ? most - least : bits;
        bits = bits > precision ? precision : bits;
        int64_t x = below(g, (1 << bits) + 1);
        return node_float(g, *t, (double)(chance(g, 30) ? -x : x) * power(least));
    }
    if (is_limited(t))
        return node_int(g, *t, below(g, most > 6 ? 64 : 1 << most));
    int64_t x = odd[below(g, 11)];
    if (elem_info[t->elem].class == SIGNED && chance(g, 30))
        x = -x;
    if (elem_info[t->elem].bits >= 32 && chance(g, 15))
        x = x * 19088743 % INT32_MAX;
    return node_int(g, *t, x);
}

/* Returns an index along an axis, the program id, or a parameter. */
static struct node *leaf_index(struct gen *g, const struct vtype *t)
{
    if (!is_int(t->elem) && !is_float(t->elem))
        return NULL;
    struct node *n = NULL;
    if (t->shape.rank == 0) {
        if (g->in_function)
            return NULL;
        if (chance(g, 50) || g->p->nscalars == 0) {
            n = node_pid(g);
        } else {
            n = node_new(g, NODE_scalar, vtype_of(EL_i32, t->shape));
            n->scalar = g->p->scalars[below(g, g->p->nscalars)];
            if (n->scalar->is_float)
                n->type = vtype_ranged(EL_f32, t->shape, 4, -2);
        }
    } else {
        int axis = below(g, t->shape.rank);
        n = node_arange(g, &t->shape, axis);
        if (!shape_equal(&n->type.shape, &t->shape))
            n = node_unary(g, NODE_broadcast_to, vtype_ranged(EL_i32, t->shape, n->type.range.most, 0), n);
    }
    return node_fit(g, n, *t);
}

static struct node *leaf_load(struct gen *g, const struct vtype *t)
{
    return g->in_function ? NULL : access_choices[0].make(g, t, 0);
}

struct node *leaf(struct gen *g, struct vtype t)
{
    struct node *n = NULL;
    for (int tries = 0; tries < 4 && !n; tries++) {
        int what = below(g, 100);
        n = what < 45   ? leaf_var(g, &t)
            : what < 75 ? leaf_load(g, &t)
            : what < 88 ? leaf_index(g, &t)
                        : leaf_number(g, &t);
    }
    return n ? n : leaf_number(g, &t);
}

/* -- arithmetic -- */

/* Returns an operand of t's shape, or of a shape that broadcasts to t's shape. */
struct node *value_broadcast(struct gen *g, struct vtype t, int depth)
{
    if (t.shape.rank > 0 && chance(g, 25)) {
        if (chance(g, 40)) {
            t.shape = (struct shape){0};
        } else if (chance(g, 50) && t.shape.rank > 1) { /* drop the first dimensions */
            int drop = 1 + below(g, t.shape.rank - 1);
            for (int i = 0; i + drop < t.shape.rank; i++)
                t.shape.dim[i] = t.shape.dim[i + drop];
            t.shape.rank -= drop;
        } else {
            t.shape.dim[below(g, t.shape.rank)] = 0;
        }
    }
    return value(g, t, depth);
}

/* Returns a constant operand, often a constant such as 0, 1 or -1, with which the compiler may simplify an
 * operation. */
static struct node *constant_operand(struct gen *g, const struct vtype *t)
{
    int what = below(g, 10);
    if (what < 4)
        return node_int(g, *t, 0);
    if (what < 6 && (!is_limited(t) || t->range.most > 0))
        return node_int(g, *t, 1);
    return what < 8 && elem_info[t->elem].class == SIGNED && !is_limited(t) ? node_int(g, *t, -1)
                                                                            : leaf_number(g, t);
}

static void operands(struct gen *g, struct node *n, struct vtype t, int depth)
{
    int whole = below(g, 2);
    n->nargs = 2;
    n->arg[whole] = value(g, t, depth - 1);
    n->arg[!whole] =
        is_int(t.elem) && chance(g, 15) ? constant_operand(g, &t) : value_broadcast(g, t, depth - 1);
}

static struct node *make_add(struct gen *g, const struct vtype *t, int depth)
{
    struct vtype part = *t;
    if (is_float(t->elem)) {
        part.range.most--;
        if (t->range.least != ANY_LEAST && part.range.most - 1 < t->range.least)
            return NULL;
    } else if (is_limited(t)) {
        return NULL;
    }
    struct node *n = node_new(g, is_float(t->elem) || chance(g, 60) ? NODE_add : NODE_sub, *t);
    if (chance(g, 30))
        n->kind = NODE_sub;
    operands(g, n, part, depth);
    /* If a pass made an operand of this sum the accumulator of a dot, the dot would round after every product. So
     * fusion is turned off. */
    g->p->no_fusion |= is_float(t->elem) && t->range.least == ANY_LEAST && g->p->has_dot;
    return n;
}

static struct node *make_mul(struct gen *g, const struct vtype *t, int depth)
{
    struct vtype x = *t, y = *t;
    if (is_limited(t))
        return NULL;
    if (is_float(t->elem)) {
        int most = t->range.most, least = t->range.least, precision = elem_info[t->elem].precision;
        if (least == ANY_LEAST && g->p->no_fusion) {
            x.range.most = y.range.most = most / 2;
        } else {
            if (least == ANY_LEAST)
                least = most - precision;
            if (least < -24)
                least = -24;
            int bits = most - least;
            bits = bits > precision ? precision : bits;
            if (bits < 2)
                return NULL;
            int first = 1 + below(g, bits - 1);
            x.range.least = least / 2;
            y.range.least = least - least / 2;
            x.range.most = x.range.least + first;
            y.range.most = y.range.least + bits - first;
        }
    }
    struct node *n = node_new(g, NODE_mul, *t);
    n->nargs = 2;
    n->arg[0] = value(g, x, depth - 1);
    n->arg[1] = value_broadcast(g, y, depth - 1);
    return n;
}

static struct node *make_bits(struct gen *g, const struct vtype *t, int depth)
{
    static const enum node_kind kinds[] = {NODE_and, NODE_or, NODE_xor};
    struct node *n = node_new(g, kinds[below(g, 3)], *t);
    operands(g, n, *t, depth);
    return n;
}

static struct node *make_shift(struct gen *g, const struct vtype *t, int depth)
{
    struct vtype by = *t;
    bool left = !is_limited(t) && chance(g, 50);
    int log = 0;
    while (2 << log <= elem_info[t->elem].bits)
        log++;
    by.range = (struct range){1 + below(g, log), 0};
    struct node *n = node_new(g, left ? NODE_shl : NODE_shr, *t);
    n->nargs = 2;
    n->arg[0] = value(g, *t, depth - 1);
    n->arg[1] = value_broadcast(g, by, depth - 1);
    return n;
}

/* Returns (arange & 3) + c. If a thread holds several elements of a short axis, this divisor has a different
 * constant value in each of the thread's registers, and only code generation can find these values. */
struct node *counting_divisor(struct gen *g, struct vtype t)
{
    static const int64_t starts[] = {1, 2, 4, 7, 8, 13, 29};
    struct vtype few = t;
    few.range = (struct range){2, 0};
    struct node *n = node_fit(g, node_arange(g, &t.shape, below(g, t.shape.rank)), few);
    return node_binary(g, NODE_add, vtype_of(t.elem, n->type.shape), n, node_int(g, t, starts[below(g, 7)]));
}

/* Generates a division or remainder. The divisor is a constant, a small positive number or an odd number, so it is
 * not 0. */
static struct node *make_division(struct gen *g, const struct vtype *t, int depth)
{
    if (elem_info[t->elem].class != UNSIGNED && chance(g, 30)) {
        struct vtype of = vtype_of(elem_any(g, UNSIGNED), t->shape);
        return node_fit(g, make_division(g, &of, depth), *t);
    }
    struct node *n = node_new(g, chance(g, 50) ? NODE_div : NODE_rem, *t);
    struct vtype by = vtype_of(t->elem, t->shape);
    if (is_limited(t))
        by.range.most = t->range.most;
    n->nargs = 2;
    n->arg[0] = value(g, *t, depth - 1);
    if (chance(g, 45)) {
        static const int64_t divisors[] = {2, 4, 8, 16, 64, 2, 3, 5, 7, 10, 100, 1};
        int64_t x = divisors[below(g, 12)];
        bool turns = !is_limited(t) && elem_info[t->elem].class == SIGNED && chance(g, 25);
        n->arg[1] = node_int(g, by, turns ? -x : x);
        return n;
    }
    if (t->shape.rank > 0 && !is_limited(t) && chance(g, 50)) {
        n->arg[1] = counting_divisor(g, by);
        return n;
    }
    struct node *d = value_broadcast(g, by, depth - 1);
    n->arg[1] = node_binary(g, NODE_or, d->type, d, node_int(g, d->type, 1));
    return n;
}

static struct node *make_extreme(struct gen *g, const struct vtype *t, int depth)
{
    struct node *n = node_new(g, chance(g, 50) ? NODE_minimum : NODE_maximum, *t);
    operands(g, n, *t, depth);
    return n;
}

static struct node *make_unary(struct gen *g, const struct vtype *t, int depth)
{
    enum node_kind kind = NODE_neg;
    struct vtype x = *t;
    if (is_float(t->elem)) {
        int what = below(g, 4);
        kind = what == 0 ? NODE_neg : what == 1 ? NODE_abs : what == 2 ? NODE_floor : NODE_ceil;
        if (kind == NODE_floor || kind == NODE_ceil) {
            if ((t->elem != EL_f32 && t->elem != EL_f64) || t->range.least > 0 || t->range.most < 2)
                return NULL;
            x.range.most--;
        }
    } else if (is_limited(t)) {
        return NULL;
    } else {
        int what = below(g, 3);
        kind = what == 0 ? NODE_neg : what == 1 ? NODE_not : NODE_abs;
    }
    return node_unary(g, kind, *t, value(g, x, depth - 1));
}

static struct node *make_where(struct gen *g, const struct vtype *t, int depth)
{
    struct node *n = node_new(g, NODE_where, *t);
    n->nargs = 3;
    n->arg[0] = value_broadcast(g, vtype_of(EL_i1, t->shape), depth - 1);
    n->arg[1] = value(g, *t, depth - 1);
    n->arg[2] = value_broadcast(g, *t, depth - 1);
    return n;
}

static struct node *make_choose(struct gen *g, const struct vtype *t, int depth)
{
    struct node *n = node_new(g, NODE_choose, *t);
    n->nargs = 3;
    n->arg[0] = value(g, vtype_of(EL_i1, (struct shape){0}), depth - 1);
    n->arg[1] = value(g, *t, depth - 1);
    n->arg[2] = value(g, *t, depth - 1);
    return n;
}

static struct node *make_fma(struct gen *g, const struct vtype *t, int depth)
{
    if (t->elem != EL_f32 && t->elem != EL_f64)
        return NULL;
    if (t->range.least != ANY_LEAST)
        return NULL;
    struct vtype x = *t;
    x.range.most = (t->range.most - 1) / 2;
    struct node *n = node_new(g, NODE_fma, *t);
    n->nargs = 3;
    for (int i = 0; i < 3; i++)
        n->arg[i] = value(g, x, depth - 1);
    return n;
}

static struct node *make_rounded(struct gen *g, const struct vtype *t, int depth)
{
    if (t->elem != EL_f32 || t->range.least != ANY_LEAST || t->range.most < 4)
        return NULL;
    struct vtype x = *t;
    if (chance(g, 50)) {
        x.range.most = t->range.most / 2;
        struct node *size = node_unary(g, NODE_abs, x, value(g, x, depth - 1));
        return node_unary(g, NODE_sqrt_rn, *t, size);
    }
    struct vtype by = vtype_ranged(EL_i32, t->shape, 4, 0);
    struct node *d = value(g, by, depth - 1);
    d = node_binary(g, NODE_or, by, d, node_int(g, by, 1));
    return node_binary(g, NODE_div_rn, *t, value(g, x, depth - 1), node_cast(g, d, *t));
}

static struct node *make_clamp(struct gen *g, const struct vtype *t, int depth)
{
    if (t->range.least > 0 || t->range.most < 1)
        return NULL;
    struct node *n = node_new(g, NODE_clamp, *t);
    n->nargs = 3;
    n->arg[0] = value(g, *t, depth - 1);
    n->arg[1] = node_float(g, *t, -1);
    n->arg[2] = node_float(g, *t, chance(g, 50) ? 0 : 2);
    return n;
}

static struct node *make_umulhi(struct gen *g, const struct vtype *t, int depth)
{
    if (elem_info[t->elem].bits < 32 || is_limited(t))
        return NULL;
    return node_binary(g, NODE_umulhi, *t, value(g, *t, depth - 1), value(g, *t, depth - 1));
}

/* Generates x & (2^n - 1), which is below 2^n for any x. */
static struct node *make_limited(struct gen *g, const struct vtype *t, int depth)
{
    if (!is_limited(t))
        return NULL;
    struct vtype x = vtype_of(t->elem, t->shape);
    return masked(g, value(g, x, depth - 1), t->range.most);
}

/* -- casts -- */

static struct node *cast_to_int(struct gen *g, const struct vtype *t, int depth)
{
    enum elem from = elem_any(g, INTS | FLOAT | BOOL);
    struct vtype x = with_elem(*t, from);
    int width = elem_info[t->elem].bits - (elem_info[t->elem].class == SIGNED);
    if (from == t->elem)
        return NULL;
    if (is_float(from)) {
        if (is_limited(t))
            return NULL;
        x.range.most = width - 1 < 14 ? width - 1 : 14;
        if (elem_info[t->elem].class == UNSIGNED)
            return node_cast(g, node_unary(g, NODE_abs, x, value(g, x, depth - 1)), *t);
    } else if (is_limited(t) && from != EL_i1) {
        if (t->range.most < elem_info[from].bits - (elem_info[from].class == SIGNED))
            x.range.most = t->range.most;
        else if (elem_info[from].class == SIGNED)
            x.range.most = elem_info[from].bits - 2;
    } else if (from == EL_i1 && is_limited(t) && t->range.most < 1) {
        return NULL;
    }
    return node_cast(g, value(g, x, depth - 1), *t);
}

static struct node *cast_to_float(struct gen *g, const struct vtype *t, int depth)
{
    enum elem from = elem_any(g, INTS | FLOAT | BOOL | (chance(g, 30) ? SMALL : 0));
    struct vtype x = with_elem(*t, from);
    const struct elem_info *to = &elem_info[t->elem], *of = &elem_info[from];
    if (from == t->elem || (of->class == SMALL && t->elem == EL_f64))
        return NULL;
    if (of->class == BOOL)
        return t->range.least <= 0 && t->range.most >= 0 ? node_cast(g, value(g, x, depth - 1), *t) : NULL;
    if (of->class & INTS) {
        int width = of->bits - (of->class == SIGNED);
        if (t->range.least > 0 || t->range.most < 1)
            return NULL;
        int most = t->range.most;
        if (t->range.least != ANY_LEAST && most > to->precision)
            most = to->precision;
        if (most < width)
            x.range.most = most;
        else if (to->precision < width && t->range.least != ANY_LEAST)
            x.range.most = to->precision;
        if (x.range.most < 0)
            return NULL;
        return node_cast(g, value(g, x, depth - 1), *t);
    }
    /* if the operand's type has at least this precision, the operand gets the range of the result */
    x.range = t->range;
    if (of->most - 3 < x.range.most)
        x.range.most = of->most - 3;
    if (x.range.least != ANY_LEAST && x.range.most < x.range.least)
        return NULL;
    if (x.range.least != ANY_LEAST && x.range.least < of->least)
        x.range.least = of->least;
    if (x.range.least != ANY_LEAST && x.range.most - x.range.least > of->precision)
        x.range.least = x.range.most - of->precision;
    return node_cast(g, value(g, x, depth - 1), *t);
}

static struct node *make_cast(struct gen *g, const struct vtype *t, int depth)
{
    return is_float(t->elem) ? cast_to_float(g, t, depth) : cast_to_int(g, t, depth);
}

/* Generates a cast to an 8-bit float. The operand is a float that the cast must round, or a float that the 8-bit type
 * represents exactly. */
static struct node *make_small(struct gen *g, const struct vtype *t, int depth)
{
    static const enum elem wide[] = {EL_f32, EL_f16, EL_bf16};
    struct vtype x = with_elem(*t, wide[below(g, 3)]);
    x.range = t->range;
    if (x.range.least != ANY_LEAST && x.range.least < elem_info[x.elem].least)
        x.range.least = elem_info[x.elem].least;
    return node_cast(g, value(g, x, depth - 1), *t);
}

static struct node *make_bitcast(struct gen *g, const struct vtype *t, int depth)
{
    if (is_limited(t))
        return NULL;
    enum elem from = elem_any(g, INTS | FLOAT);
    if (elem_info[from].bits != elem_info[t->elem].bits || from == t->elem)
        return NULL;
    struct node *x = value(g, with_elem(*t, from), depth - 1);
    if (is_float(from)) /* an op may return either zero; adding 0 turns -0 into +0 */
        x = node_binary(g, NODE_add, x->type, x, node_float(g, x->type, 0));
    return node_unary(g, NODE_bitcast, *t, x);
}

/* -- booleans -- */

static struct node *make_compare(struct gen *g, const struct vtype *t, int depth)
{
    static const char *const words[] = {"<", "<=", ">", ">=", "==", "!="};
    struct node *n = node_new(g, NODE_compare, *t);
    n->word = words[below(g, 6)];
    operands(g, n, with_elem(*t, elem_any(g, INTS | FLOAT)), depth);
    return n;
}

/* Generates a negation of any boolean value, or of a comparison of integers. */
static struct node *make_not(struct gen *g, const struct vtype *t, int depth)
{
    static const char *const words[] = {"==", "!=", "==", "!=", "<", ">="};
    if (chance(g, 40))
        return node_unary(g, NODE_not, *t, value(g, *t, depth - 1));
    struct node *n = node_new(g, NODE_compare, *t);
    n->word = words[below(g, 6)];
    operands(g, n, with_elem(*t, elem_any(g, INTS)), depth);
    return node_unary(g, NODE_not, *t, n);
}

static struct node *make_truth(struct gen *g, const struct vtype *t, int depth)
{
    return node_cast(g, value(g, with_elem(*t, elem_any(g, INTS)), depth - 1), *t);
}

static struct node *make_call(struct gen *g, const struct vtype *t, int depth)
{
    for (int i = 0; i < g->p->nfunctions && !g->in_function; i++) {
        struct function *f = g->p->functions[i];
        if (!f->result || f->type.elem != t->elem || !shape_equal(&f->type.shape, &t->shape) ||
            !range_within(t->elem, f->type.range, t->range))
            continue;
        struct node *n = node_new(g, NODE_call, *t);
        n->word = f->name;
        n->nargs = f->nparams;
        for (int k = 0; k < f->nparams; k++)
            n->arg[k] = value(g, f->params[k]->type, depth - 1);
        return n;
    }
    return NULL;
}

static const struct choice arithmetic[] = {
    {INTS | FLOAT, 0, 20, make_add},
    {INTS | FLOAT, 0, 10, make_mul},
    {INTS | BOOL, 0, 8, make_bits},
    {INTS, 0, 5, make_shift},
    {INTS, 0, 8, make_division},
    {INTS | FLOAT, 0, 8, make_extreme},
    {INTS | FLOAT, 0, 8, make_unary},
    {INTS | FLOAT | BOOL, 0, 10, make_where},
    {INTS | FLOAT | BOOL, 0, 2, make_choose},
    {SMALL, 0, 2, make_where},
    {FLOAT, 0, 3, make_fma},
    {FLOAT, 0, 4, make_rounded},
    {FLOAT, 0, 2, make_clamp},
    {INTS, 0, 2, make_umulhi},
    {INTS, 0, 30, make_limited},
    {INTS | FLOAT, 0, 14, make_cast},
    {SMALL, 0, 14, make_small},
    {INTS, 0, 4, make_bitcast},
    {BOOL, 0, 30, make_compare},
    {BOOL, 0, 8, make_not},
    {BOOL, 0, 4, make_truth},
    {INTS | FLOAT | BOOL, 0, 40, make_call},
    {0, 0, 0, NULL},
};

static const struct choice *const tables[] = {arithmetic, shape_choices, access_choices, product_choices};

static bool applies(const struct choice *c, const struct vtype *t)
{
    return (c->classes & (int)elem_info[t->elem].class) && t->shape.rank >= c->rank;
}

static const struct choice *choose(struct gen *g, const struct vtype *t)
{
    int total = 0;
    for (int pass = 0, left = 0; pass < 2; pass++) {
        if (pass)
            left = below(g, total);
        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
            for (const struct choice *c = tables[i]; c->make; c++) {
                if (!applies(c, t) || (g->in_function && tables[i] == access_choices))
                    continue;
                if (pass && (left -= c->weight) < 0)
                    return c;
                total += pass ? 0 : c->weight;
            }
    }
    return NULL;
}

struct node *value(struct gen *g, struct vtype t, int depth)
{
    for (int tries = 0; tries < 6 && depth > 0 && g->nodes < g->nodes_most; tries++) {
        const struct choice *c = choose(g, &t);
        struct node *n = c ? c->make(g, &t, depth) : NULL;
        if (n && !(g->avoid && g->avoid[n->kind]))
            return n;
    }
    return leaf(g, t);
}
