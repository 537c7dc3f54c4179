/* SPDX-License-Identifier: MIT */
/* maximum_weights.c: decides whether a loop that carries the maximum of each row, as an online softmax does, would
 * compute the same results, in exact arithmetic, if any other finite number replaced the maximum.
 *
 *     for carry(%m, %l, %acc) {
 *       %n = max %m, (reduce %s axis=1 {max})
 *       %p = exp2 (sub %s, %n)
 *       %a = exp2 (sub %m, %n)
 *       %u = add (mul %l, %a), (reduce %p axis=1 {add})
 *       %d = dot %p, %v, (mul %acc, %a)
 *       yield %n, %u, %d
 *     }
 *
 * Suppose that d were added to the maximum %n, and e to the maximum %m of the previous iteration, where d and
 * e are any finite numbers, one of each for each row. Then each value of the loop would change in one of
 * these ways, or in some other way:
 *
 *     fixed     unchanged
 *     shifted   larger by a*e + b*d                             %m: a = 1, b = 0; %n: a = 0, b = 1
 *     scaled    multiplied by 2^(a*e + b*d), or exp(...)        %p: a = 0, b = -1; %a: a = 1, b = -1;
 *                                                               %l: a = -1, b = 0
 *
 * (a, b) is the *weight* of a value. The weight of a result follows from the weights of the operands. A
 * difference of shifted values has the difference of their weights, and a product of scaled values the sum of
 * their weights. exp2 turns a shift into a scale, and log2 turns a scale into a shift. A sum of scaled values
 * has a weight only if both values have the same weight. The d of one iteration is the e of the next. So if a
 * carried value has weight (b, 0) at the start of an iteration, it must have weight (0, b) at the end. The
 * analysis finds b by iteration; the weights of carried values start as "unknown". After the loop, only fixed
 * values may be operands of stores, and of ops that the analysis does not know. Then the kernel's results are
 * the same for all d and e. A later loop may continue to carry the maximum; the numbers that are added in
 * that loop then take the place of d and e (`phase`).
 *
 * Weights are interned: equal weights have the same address. Each row has its own d and e, so a sum over rows
 * would add values that are scaled differently. Therefore a weight also says which dimensions of the value
 * number the rows (`dim`). */
#include "opt/analysis/analysis.h"

#include <math.h>
#include <string.h>

#include "ir/target/fragments.h"

enum { ROW_DIMS = 2 }; /* the maxima form a tile of at most 2 dimensions: a batch, and the rows of a matrix */

enum kind { UNKNOWN, FIXED, SHIFTED, SCALED, BROKEN };

struct weight {
    struct weight *next;    /* links the list of all weights */
    const struct value *by; /* a scalar by which a and b are multiplied; NULL: the number 1 */
    float old, new;         /* a and b */
    enum kind kind;
    bool natural;         /* the scale is exp(a*e + b*d); otherwise it is 2^(a*e + b*d) */
    int phase;            /* the number of later loops whose numbers have taken the place of d and e */
    int8_t dim[ROW_DIMS]; /* dim[i]: the value's dimension that is dimension i of the maxima; -1: none */
};

struct weights {
    struct arena *arena;
    struct weight *all;
    int phase;
};

static const struct weight unknown = {.kind = UNKNOWN}, fixed = {.kind = FIXED}, broken = {.kind = BROKEN};

static const struct weight *weight_of(const struct value *v)
{
    return v->scratch ? v->scratch : &fixed;
}

static void set_weight(struct value *v, const struct weight *w)
{
    v->scratch = (void *)(uintptr_t)w;
}

static bool is_near(float a, float b)
{
    return fabsf(a - b) < 1e-5f;
}

/* Returns the interned weight that equals x. */
static const struct weight *the_weight(struct weights *w, const struct weight *x)
{
    if (is_near(x->old, 0) && is_near(x->new, 0))
        return &fixed;
    for (const struct weight *y = w->all; y; y = y->next)
        if (y->by == x->by && is_near(y->old, x->old) && is_near(y->new, x->new) && y->kind == x->kind &&
            y->natural == x->natural && y->phase == x->phase && memcmp(y->dim, x->dim, sizeof x->dim) == 0)
            return y;
    struct weight *copy = NEW(w->arena, struct weight);
    *copy = *x;
    copy->next = w->all;
    return w->all = copy;
}

/* -- weights of results -- */

/* x and y are the weights of two values u and v. Returns the weight of u + by * v if u and v are shifted, or
 * of u * v^by if they are scaled; `broken` if the two weights do not fit together. */
static const struct weight *combine(struct weights *w, const struct weight *x, const struct weight *y,
                                    float by)
{
    const bool any = x->kind > FIXED;
    struct weight sum = any ? *x : *y;
    if (y->kind == FIXED)
        return x;
    if (any && (x->kind != y->kind || x->by != y->by || x->natural != y->natural || x->phase != y->phase ||
                memcmp(x->dim, y->dim, sizeof x->dim) != 0))
        return &broken;
    sum.old = (any ? x->old : 0) + by * y->old;
    sum.new = (any ? x->new : 0) + by * y->new;
    return the_weight(w, &sum);
}

static bool is_const(const struct value *v, float *x)
{
    uint64_t bits;
    if (!v || type_elem(v->type)->dtype != DT_f32 || !value_const_bits(v, &bits))
        return false;
    const uint32_t low = (uint32_t)bits;
    memcpy(x, &low, sizeof *x);
    return true;
}

/* Returns whether v is a constant that no weight of the kind would change: inf or -inf, which no shift
 * changes, or 0, which no scale changes. Such a constant may be combined with a value of any weight of this
 * kind (join). */
static bool has_any(const struct value *v, enum kind kind)
{
    float x;
    return is_const(v, &x) && (kind == SHIFTED ? isinf(x) != 0 : kind == SCALED && x == 0);
}

/* Returns the weight of a sum of scaled values, a select or a maximum. The operands x and y have the weights
 * a and b. If both weights are equal, the result has this weight. If the weight of one operand is unknown, or
 * if one operand is a constant that the weight of the other operand would not change (has_any), the result
 * has the weight of the other operand. In all other cases, the result is `broken`. x may be NULL if it is
 * known not to be a constant. */
static const struct weight *join(const struct value *x, const struct weight *a, const struct value *y,
                                 const struct weight *b)
{
    if (a == b || b->kind == UNKNOWN || (b->kind == FIXED && has_any(y, a->kind)))
        return a;
    return a->kind == UNKNOWN || (a->kind == FIXED && has_any(x, b->kind)) ? b : &broken;
}

static const struct weight *weigh_sum(struct weights *w, const struct value *x, const struct weight *a,
                                      const struct value *y, const struct weight *b, float sign)
{
    const bool shifts = (a->kind == SHIFTED || a->kind == FIXED) && (b->kind == SHIFTED || b->kind == FIXED);
    return shifts ? combine(w, a, b, sign) : join(x, a, y, b);
}

/* Returns the scalar to which all elements of v are equal, or NULL. */
static const struct value *scalar_of(const struct value *v)
{
    while (v->def && (v->def->code == OP_splat || v->def->code == OP_broadcast ||
                      v->def->code == OP_expand_dims || v->def->code == OP_convert))
        v = op_opnd(v->def, 0);
    return type_is_tile(v->type) ? NULL : v;
}

/* Returns the weight of the product of y and a shifted value of weight a. y must be a constant other than 0,
 * or a scalar that is the same for all elements; otherwise the result is `broken`. */
static const struct weight *stretch(struct weights *w, const struct weight *a, const struct value *y)
{
    float factor;
    struct weight x = *a;
    if (is_const(y, &factor))
        return factor > 0 || factor < 0 ? combine(w, &fixed, a, factor) : &broken;
    const struct value *scalar = scalar_of(y);
    x.by = scalar;
    return a->by || !scalar ? &broken : the_weight(w, &x);
}

static const struct weight *weigh_product(struct weights *w, const struct value *x, const struct weight *a,
                                          const struct value *y, const struct weight *b, float by)
{
    if (a->kind == UNKNOWN || b->kind == UNKNOWN)
        return &unknown;
    if (a->kind == SHIFTED || b->kind == SHIFTED)
        return by < 0             ? &broken
               : a->kind == FIXED ? stretch(w, b, x)
               : b->kind == FIXED ? stretch(w, a, y)
                                  : &broken;
    return combine(w, a, b, by);
}

/* Returns the weight of the exponential or, if `inverse`, of the logarithm of a value of weight a. */
static const struct weight *weigh_power(struct weights *w, const struct weight *a, bool natural, bool inverse)
{
    if (a->kind <= FIXED)
        return a;
    if (a->kind != (inverse ? SCALED : SHIFTED) || (inverse && a->natural != natural))
        return &broken;
    struct weight x = *a;
    x.kind = inverse ? SHIFTED : SCALED;
    x.natural = !inverse && natural;
    return the_weight(w, &x);
}

/* Returns the dimension of a reshape's result that corresponds to dimension d of the operand; -1 if there is
 * none. */
static int reshaped_dim(const struct type *from, int d, const struct type *to)
{
    int64_t inner = 1, before = 1;
    for (int i = d + 1; i < from->rank; i++)
        inner *= from->shape[i];
    for (int e = to->rank - 1; e >= 0; before *= to->shape[e--])
        if (before == inner && to->shape[e] == from->shape[d])
            return e;
    return -1;
}

/* Returns the dimension of o's result that corresponds to dimension d of the operand; -1 if there is none. */
static int moved_dim(const struct op *o, int d)
{
    const int axis = (int)op_int(o, ATTR_axis);
    const struct attr *order = op_attr(o, ATTR_order);
    switch (o->code) {
    case OP_expand_dims: return d + (d >= axis);
    case OP_reduce: return d == axis ? -1 : d - (d > axis);
    case OP_reshape: return reshaped_dim(op_opnd(o, 0)->type, d, op_result(o)->type);
    default:
        for (int i = 0; i < order->n; i++)
            if (order->list[i] == d)
                return i;
        return -1;
    }
}

/* Returns the weight of the result of a shape op or of a reduction. */
static const struct weight *move_rows(struct weights *w, const struct op *o, const struct weight *a)
{
    struct weight x = *a;
    for (int i = 0; i < ROW_DIMS; i++)
        if (x.dim[i] >= 0 && (x.dim[i] = (int8_t)moved_dim(o, x.dim[i])) < 0)
            return &broken;
    return the_weight(w, &x);
}

static bool keeps_weights(const struct op *o, const struct weight *a)
{
    const enum opcode code = o->regions[0]->first->code;
    return o->nopnds == 1 && combines_either_way(o) &&
           (code == OP_max || code == OP_min || (code == OP_add && a->kind == SCALED));
}

/* Returns the weight of the dot acc + a b. The rows of a are the rows of the result. */
static const struct weight *weigh_dot(const struct op *o)
{
    const struct weight *a = weight_of(op_opnd(o, DOT_a)), *acc = weight_of(op_opnd(o, DOT_acc));
    const int columns = op_opnd(o, DOT_a)->type->rank - 1;
    const bool good = a->kind == FIXED || (a->kind == SCALED && a->dim[0] != columns && a->dim[1] != columns);
    return good && weight_of(op_opnd(o, DOT_b)) == &fixed ? join(NULL, a, op_opnd(o, DOT_acc), acc) : &broken;
}

static bool touches_weights(const struct op *o)
{
    for (int i = 0; i < o->nopnds; i++)
        if (op_opnd(o, i) && weight_of(op_opnd(o, i)) != &fixed)
            return true;
    for (int r = 0; r < o->nregions; r++)
        for (const struct op *inner = o->regions[r]->first; inner; inner = inner->next)
            if (touches_weights(inner))
                return true;
    return false;
}

static const struct weight *weigh(struct weights *w, const struct op *o, int result)
{
    const struct value *x[3] = {op_opnd(o, 0), op_opnd(o, 1), op_opnd(o, 2)};
    const struct weight *a[3];
    for (int i = 0; i < 3; i++)
        a[i] = x[i] ? weight_of(x[i]) : &fixed;
    switch (o->code) {
    case OP_neg: return a[0]->kind == SHIFTED ? combine(w, &fixed, a[0], -1) : a[0];
    case OP_add: return weigh_sum(w, x[0], a[0], x[1], a[1], 1);
    case OP_sub: return weigh_sum(w, x[0], a[0], x[1], a[1], -1);
    case OP_mul: return weigh_product(w, x[0], a[0], x[1], a[1], 1);
    case OP_fma: return weigh_sum(w, NULL, weigh_product(w, x[0], a[0], x[1], a[1], 1), x[2], a[2], 1);
    case OP_fdiv: return weigh_product(w, x[0], a[0], x[1], a[1], -1);
    case OP_exp2:
    case OP_exp: return weigh_power(w, a[0], o->code == OP_exp, false);
    case OP_log2:
    case OP_log: return weigh_power(w, a[0], o->code == OP_log, true);
    case OP_min:
    case OP_max: return join(x[0], a[0], x[1], a[1]);
    case OP_select: return a[0] == &fixed ? join(x[1], a[1], x[2], a[2]) : &broken;
    case OP_ftrunc:
    case OP_fext:
    case OP_splat:
    case OP_broadcast:
    case OP_convert:
    case OP_to_shared: return a[0];
    case OP_expand_dims:
    case OP_reshape:
    case OP_trans: return a[0]->kind <= FIXED ? a[0] : move_rows(w, o, a[0]);
    case OP_reduce:
        return a[0]->kind <= FIXED ? a[0] : keeps_weights(o, a[0]) ? move_rows(w, o, a[0]) : &broken;
    case OP_dot:
    case OP_mma_start: return weigh_dot(o);
    case OP_mma_wait: return weight_of(op_opnd(o, result));
    default: return &broken;
    }
}

/* -- loops -- */

bool find_maximum(const struct op *loop, int at, struct maximum *m)
{
    struct block *body = loop->regions[0];
    struct value *arg = body->args.at[1 + at], *y = op_opnd(body->last, at);
    struct op *o = y->def;
    if (!o || o->block != body || o->code != OP_max || type_elem(y->type)->dtype != DT_f32 ||
        y->type->rank > ROW_DIMS || (op_opnd(o, 0) == arg) == (op_opnd(o, 1) == arg))
        return false;
    *m = (struct maximum){.max = o, .old = arg, .data = op_opnd(o, op_opnd(o, 0) == arg)};
    return true;
}

static const struct weight *weight_of_rows(struct weights *w, const struct type *t, float old, float new)
{
    struct weight x = {.kind = SHIFTED, .old = old, .new = new, .phase = w->phase};
    for (int i = 0; i < ROW_DIMS; i++)
        x.dim[i] = (int8_t)(i < t->rank && t->shape[i] > 1 ? i : -1);
    return the_weight(w, &x);
}

/* A carried value has weight a at the end of an iteration. Returns the weight of the carried value at the
 * start of the next iteration, whose e is the d of this iteration. */
static const struct weight *turned(struct weights *w, const struct weight *a)
{
    struct weight x = *a;
    x.old = a->new;
    x.new = a->old;
    x.phase = w->phase;
    return a->kind <= FIXED ? a : the_weight(w, &x);
}

static bool weigh_ops(struct weights *w, struct op *o, const struct op *max);

/* Computes the weights of all values in the loop's body once, from the weights of the carried values at the
 * start. Then sets the weight of each carried value from the yielded value; if `settled`, a weight that is
 * still unknown becomes fixed. Sets *changed to whether a carried value gets a new weight. Returns false if
 * the weight of a yielded value does not fit the weight of the carried value, or if some value has no
 * weight. */
static bool weigh_body(struct weights *w, const struct op *loop, const struct maximum *m, bool settled,
                       bool *changed)
{
    struct block *body = loop->regions[0];
    if (!weigh_ops(w, body->first, m->max) || weight_of(m->data)->kind > FIXED)
        return false;
    *changed = false;
    for (int i = 0; i < loop->nresults; i++) {
        struct value *arg = body->args.at[1 + i];
        const struct weight *end = weight_of(op_opnd(body->last, i)), *start = weight_of(arg);
        if (end->kind > FIXED && !is_near(end->old, 0))
            return false;
        end = settled && end->kind == UNKNOWN ? &fixed : turned(w, end);
        if (start->kind != UNKNOWN && start != end)
            return false;
        *changed |= start != end;
        set_weight(arg, end);
    }
    return true;
}

/* Computes the weights in a loop whose carried value number `at` is a running maximum. Returns false if it is
 * no running maximum, or if some value of the loop depends on the number that replaces the maximum, but has
 * no weight. */
static bool weigh_loop(struct weights *w, struct op *loop, int at)
{
    struct block *body = loop->regions[0];
    struct maximum m;
    if (!find_maximum(loop, at, &m))
        return false;
    for (int i = 0; i < loop->nresults; i++)
        set_weight(body->args.at[1 + i], &unknown);
    set_weight(m.old, weight_of_rows(w, m.old->type, 1, 0));
    for (bool settled = false, changed = true; changed || !settled;) {
        settled |= !changed;
        if (!weigh_body(w, loop, &m, settled, &changed))
            return false;
    }
    for (int i = 0; i < loop->nresults; i++)
        set_weight(&loop->results[i], weight_of(op_opnd(body->last, i)));
    return true;
}

/* Computes the weights in a later loop that uses values with weights. Returns false unless exactly one of the
 * loop's initial values is shifted, the loop continues it as a running maximum, and the weights of all
 * initial values fit. */
static bool weigh_later_loop(struct weights *w, struct op *loop)
{
    int at = -1;
    for (int i = 0; i < loop->nresults; i++)
        if (weight_of(op_opnd(loop, 3 + i))->kind == SHIFTED)
            at = at < 0 ? i : loop->nresults;
    w->phase++;
    if (at < 0 || at == loop->nresults || !weigh_loop(w, loop, at))
        return false;
    for (int i = 0; i < loop->nresults; i++)
        if (turned(w, weight_of(op_opnd(loop, 3 + i))) != weight_of(loop->regions[0]->args.at[1 + i]))
            return false;
    return true;
}

/* Computes the weights of the results of all ops from o to the end of o's block. If the block is the body of
 * the loop that carries the maximum, `max` is the op that computes the maximum; otherwise `max` is NULL.
 * Returns false if a value that is not fixed is an operand of a store, or of an op that the analysis does not
 * know. */
static bool weigh_ops(struct weights *w, struct op *o, const struct op *max)
{
    for (; o; o = o->next) {
        const bool touches = touches_weights(o);
        if (touches && o->nresults == 0)
            return max && o->code == OP_yield;
        if (touches && o->code == OP_for && o != max) {
            if (max || !weigh_later_loop(w, o))
                return false;
            continue;
        }
        for (int i = 0; i < o->nresults; i++) {
            const struct weight *a = o == max  ? weight_of_rows(w, op_result(o)->type, 0, 1)
                                     : touches ? weigh(w, o, i)
                                               : &fixed;
            if (a == &broken)
                return false;
            set_weight(&o->results[i], a);
        }
    }
    return true;
}

bool maximum_is_free(struct op *loop, int at)
{
    struct func *f = loop->block->func;
    struct weights w = {.arena = f->module->scratch};
    block_clear_notes(f->body);
    return weigh_loop(&w, loop, at) && weigh_ops(&w, loop->next, NULL);
}

bool falls_with_maximum(const struct value *v)
{
    const struct weight *a = weight_of(v);
    return a->kind == SCALED && is_near(a->old, 0) && a->new < 0;
}

bool is_scaled_by_ratio(const struct value *v)
{
    const struct weight *a = weight_of(v);
    return a->kind == SCALED && is_near(a->old, -a->new);
}

bool has_weight(const struct value *v)
{
    return weight_of(v)->kind > FIXED;
}
