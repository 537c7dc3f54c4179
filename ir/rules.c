/* SPDX-License-Identifier: MIT */
/* rules.c: defines which operand types each op takes, and which types its results have. Each word in the rule
 * column of ops.h names one function. The builder calls the function of an op to infer the op's types, and
 * the verifier calls it to check the types (struct op_info in ir.h says what the function must do).
 *
 * Rules also check layouts. All operands and the result of an elementwise op have the same layout. The result of a
 * shape op has the layout that layout.h computes from the operand's layout. If the op changes the number of
 * elements (reduce, split, broadcast, join), the result's layout may differ from the computed layout in replicated
 * registers. Rules do not check regions, since they run when an op is built, before its regions are filled; verify.c
 * checks regions. */
#include "ir/ir.h"
#include "ir/support/span.h"

#include <limits.h>

#define OP(name, operands, results, regions, attributes, family, traits, rule, meaning)                      \
    const char *rule_##rule(struct module *m, const struct op *o, const struct type **types);
#include "ir/ops.h"
#undef OP

/* -- messages -- */

PRINTF_LIKE(2, 3) static const char *wrong(struct module *m, const char *format, ...)
{
    struct text t;
    text_init(&t, m->arena);
    va_list args;
    va_start(args, format);
    text_vprintf(&t, format, args);
    va_end(args);
    return t.s;
}

/* Returns the text of the type, as the IR spells it. */
static const char *ir(struct module *m, const struct type *t)
{
    struct text out;
    text_init(&out, m->arena);
    type_print(t, &out, NULL);
    return out.s;
}

/* -- checks that several rules share -- */

static const struct type *opnd(const struct op *o, int i)
{
    return o->opnds[i].value->type;
}

static bool has_opnd(const struct op *o, int i)
{
    return op_opnd(o, i) != NULL;
}

/* Returns the result's type if the text or the builder has set it, else NULL. */
static const struct type *given(const struct op *o)
{
    return o->results[0].type;
}

static bool is_single_or_double(const struct type *t)
{
    const struct type *elem = type_elem(t);
    return elem->kind == TY_scalar && (elem->dtype == DT_f32 || elem->dtype == DT_f64);
}

static const struct type *bool_like(struct module *m, const struct type *t)
{
    return type_with_elem(m, t, type_scalar(m, DT_i1));
}

static const char *want_type(struct module *m, const char *what, const struct type *t,
                             const struct type *expected)
{
    if (t == expected)
        return NULL;
    return wrong(m, "%s is %s, expected %s", what, ir(m, t), ir(m, expected));
}

/* Checks that the optional operand i is absent or has this type. */
static const char *want_optional(struct module *m, const struct op *o, int i, const char *what,
                                 const struct type *t)
{
    return has_opnd(o, i) ? want_type(m, what, opnd(o, i), t) : NULL;
}

static const char *want_equal(struct module *m, const struct op *o)
{
    for (int i = 1; i < o->nopnds; i++)
        if (opnd(o, i) != opnd(o, 0))
            return wrong(m, "operands differ: %s and %s", ir(m, opnd(o, 0)), ir(m, opnd(o, i)));
    return NULL;
}

static const char *want_tile(struct module *m, const struct type *t)
{
    return type_is_tile(t) ? NULL : wrong(m, "expected a tile, found %s", ir(m, t));
}

static const char *want_given(struct module *m, const struct op *o)
{
    return given(o) ? NULL : wrong(m, "the result's type is missing");
}

static bool is_same_but_layout(const struct type *a, const struct type *b)
{
    return a->kind == b->kind && type_elem(a) == type_elem(b) && type_same_shape(a, b);
}

/* Returns the result's type if it is set and equals t except for the layout; else returns t. */
static const struct type *in_given_layout(const struct op *o, const struct type *t)
{
    return given(o) && is_same_but_layout(given(o), t) ? given(o) : t;
}

static bool same_without_repeats(const struct layout *a, const struct layout *b)
{
    struct layout x, y;
    layout_drop_free_regs(&x, a, NULL);
    layout_drop_free_regs(&y, b, NULL);
    return layout_equal(&x, &y);
}

/* Returns whether both layouts are NULL, or both assign the same elements to every thread. */
static bool layouts_agree(const struct layout *a, const struct layout *b)
{
    return a && b ? same_without_repeats(a, b) : !a && !b;
}

static const char *want_axis(struct module *m, const struct op *o, int rank)
{
    int64_t axis = op_int(o, ATTR_axis);
    return axis >= 0 && axis < rank ? NULL : wrong(m, "axis is %d, expected 0 to %d", (int)axis, rank - 1);
}

/* -- create -- */

const char *rule_none(struct module *m, const struct op *o, const struct type **types)
{
    (void)m;
    (void)o;
    (void)types;
    return NULL;
}

const char *rule_given(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    if (given(o) && given(o)->kind == TY_shared)
        return wrong(m, "a constant cannot be a shared buffer");
    return want_given(m, o);
}

const char *rule_i32(struct module *m, const struct op *o, const struct type **types)
{
    types[0] = type_scalar(m, DT_i32);
    return want_axis(m, o, 3);
}

const char *rule_i64(struct module *m, const struct op *o, const struct type **types)
{
    (void)o;
    types[0] = type_scalar(m, DT_i64);
    return NULL;
}

const char *rule_range(struct module *m, const struct op *o, const struct type **types)
{
    int64_t start = op_int(o, ATTR_start), end = op_int(o, ATTR_end);
    if (start < INT_MIN || end > INT_MAX || end <= start || !is_power_of_two(end - start))
        return wrong(m, "the size of a range must be a power of two, its numbers must fit 32 bits");
    int shape[] = {(int)(end - start)};
    types[0] = in_given_layout(o, type_tile(m, type_scalar(m, DT_i32), 1, shape, NULL));
    return NULL;
}

const char *rule_splat(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    const char *error = want_given(m, o);
    if (error)
        return error;
    if (!type_is_tile(given(o)) || type_elem(given(o)) != opnd(o, 0))
        return wrong(m, "splat of %s gives no %s", ir(m, opnd(o, 0)), ir(m, given(o)));
    return NULL;
}

/* -- arithmetic: in most ops, all operands and the result have one type -- */

static const char *elementwise(struct module *m, const struct op *o, bool fits, const char *what,
                               const struct type **types)
{
    types[0] = opnd(o, 0);
    if (opnd(o, 0)->kind == TY_shared || !fits)
        return wrong(m, "expected %s, found %s", what, ir(m, opnd(o, 0)));
    return want_equal(m, o);
}

const char *rule_same(struct module *m, const struct op *o, const struct type **types)
{
    return elementwise(m, o, !type_is_ptr(opnd(o, 0)), "integers or floats", types);
}

const char *rule_ints(struct module *m, const struct op *o, const struct type **types)
{
    return elementwise(m, o, type_is_int(opnd(o, 0)), "integers", types);
}

const char *rule_floats(struct module *m, const struct op *o, const struct type **types)
{
    return elementwise(m, o, type_is_float(opnd(o, 0)), "floats", types);
}

const char *rule_rounded(struct module *m, const struct op *o, const struct type **types)
{
    enum rounding round = (enum rounding)op_int(o, ATTR_round);
    if (round <= ROUND_rn)
        return rule_floats(m, o, types);
    if (round_flushes(round) && type_elem_bits(opnd(o, 0)) != 32)
        return wrong(m, "only f32 can flush subnormal numbers");
    return elementwise(m, o, is_single_or_double(opnd(o, 0)), "f32 or f64", types);
}

const char *rule_toward(struct module *m, const struct op *o, const struct type **types)
{
    if (op_int(o, ATTR_round) <= ROUND_rn)
        return wrong(m, "expected rounding to nearest, or none");
    return rule_rounded(m, o, types);
}

const char *rule_cmp(struct module *m, const struct op *o, const struct type **types)
{
    const char *error = elementwise(m, o, true, "operands to compare", types);
    if (error)
        return error;
    enum pred pred = (enum pred)op_int(o, ATTR_pred);
    bool for_floats = pred == PRED_eq || pred == PRED_ne || pred >= PRED_lt, for_ints = pred < PRED_lt;
    if (!(type_is_float(opnd(o, 0)) ? for_floats : for_ints))
        return wrong(m, "predicate %s does not compare %s", attr_words(ATTRK_pred)[pred], ir(m, opnd(o, 0)));
    types[0] = bool_like(m, opnd(o, 0));
    return NULL;
}

const char *rule_select(struct module *m, const struct op *o, const struct type **types)
{
    types[0] = opnd(o, 1);
    if (opnd(o, 1) != opnd(o, 2))
        return wrong(m, "operands differ: %s and %s", ir(m, opnd(o, 1)), ir(m, opnd(o, 2)));
    return want_type(m, "the condition", opnd(o, 0), bool_like(m, opnd(o, 1)));
}

const char *rule_addptr(struct module *m, const struct op *o, const struct type **types)
{
    const struct type *p = opnd(o, 0), *i = opnd(o, 1);
    types[0] = p;
    if (!type_is_ptr(p) || !type_is_int(i) || type_elem_bits(i) == 1)
        return wrong(m, "expected pointers and integers, found %s and %s", ir(m, p), ir(m, i));
    return want_type(m, "the offset", i, type_with_elem(m, p, type_elem(i)));
}

/* -- casts: the builder or the text sets the result's type -- */

enum cast_rule { CAST_widen, CAST_narrow, CAST_fwiden, CAST_fnarrow, CAST_itof, CAST_ftoi, CAST_bitcast };

static bool can_cast(enum cast_rule rule, const struct type *from, const struct type *to)
{
    bool ints = type_is_int(from) && type_is_int(to), floats = type_is_float(from) && type_is_float(to);
    int from_bits = type_elem_bits(from), to_bits = type_elem_bits(to);
    switch (rule) {
    case CAST_widen: return ints && from_bits < to_bits;
    case CAST_narrow: return ints && from_bits > to_bits;
    case CAST_fwiden: return floats && from_bits < to_bits;
    case CAST_fnarrow: return floats && from_bits > to_bits;
    case CAST_itof: return type_is_int(from) && type_is_float(to);
    case CAST_ftoi: return type_is_float(from) && type_is_int(to);
    case CAST_bitcast: return from_bits == to_bits;
    }
    return false;
}

static const char *cast(struct module *m, const struct op *o, enum cast_rule rule)
{
    const char *error = want_given(m, o);
    if (error)
        return error;
    const struct type *from = opnd(o, 0), *to = given(o);
    if (from->kind == TY_shared || type_with_elem(m, from, type_elem(to)) != to || !can_cast(rule, from, to))
        return wrong(m, "%s does not make %s of %s", op_info[o->code].name, ir(m, to), ir(m, from));
    enum rounding round = (enum rounding)op_int(o, ATTR_round);
    bool is_open = rule == CAST_itof ? round > ROUND_rn : round > ROUND_rz;
    bool flushes_other = round_flushes(round) && (rule != CAST_fnarrow || type_elem_bits(to) != 32);
    if (flushes_other ||
        (is_open && (!is_single_or_double(to) || (rule == CAST_fnarrow && type_elem_bits(from) < 64))))
        return wrong(m, "%s of %s to %s rounds to nearest only", op_info[o->code].name, ir(m, from),
                     ir(m, to));
    return NULL;
}

#define CAST_RULE(word)                                                                                      \
    const char *rule_##word(struct module *m, const struct op *o, const struct type **types)                 \
    {                                                                                                        \
        (void)types;                                                                                         \
        return cast(m, o, CAST_##word);                                                                      \
    }
CAST_RULE(widen)
CAST_RULE(narrow)
CAST_RULE(fwiden)
CAST_RULE(fnarrow)
CAST_RULE(itof)
CAST_RULE(ftoi)
CAST_RULE(bitcast)
#undef CAST_RULE

/* -- shape -- */

/* Returns x's type with another shape, and with layout l if x has a layout. */
static const struct type *reshaped(struct module *m, const struct type *x, int rank, const int *shape,
                                   const struct layout *l)
{
    const struct type *t = type_with_shape(m, x, rank, shape);
    return rank && x->layout ? type_with_layout(m, t, layout_intern(m, l)) : t;
}

const char *rule_broadcast(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    const struct type *x = opnd(o, 0), *t = given(o);
    const char *error = want_given(m, o);
    if (error)
        return error;
    bool fits = type_is_tile(x) && type_is_tile(t) && x->rank == t->rank && type_elem(x) == type_elem(t);
    for (int i = 0; fits && i < x->rank; i++)
        fits = x->shape[i] == t->shape[i] || x->shape[i] == 1;
    if (!fits)
        return wrong(m, "%s does not broadcast to %s", ir(m, x), ir(m, t));
    if (!x->layout || !t->layout)
        return layouts_agree(x->layout, t->layout) ? NULL
                                                   : wrong(m, "only one of operand and result has a layout");
    struct layout l = *t->layout;
    for (int i = 0; i < x->rank; i++)
        if (x->shape[i] != t->shape[i])
            layout_squash(&l, &l, i);
    if (!same_without_repeats(&l, x->layout))
        return wrong(m, "%s is not laid out as its broadcast %s", ir(m, x), ir(m, t));
    return NULL;
}

const char *rule_expand_dims(struct module *m, const struct op *o, const struct type **types)
{
    const struct type *x = opnd(o, 0);
    const char *error = want_tile(m, x);
    if (!error)
        error = want_axis(m, o, x->rank + 1);
    if (!error && x->rank == RANK_MAX)
        error = wrong(m, "too many dimensions");
    if (error)
        return error;
    int axis = (int)op_int(o, ATTR_axis), shape[RANK_MAX];
    for (int i = 0; i <= x->rank; i++)
        shape[i] = i == axis ? 1 : x->shape[i - (i > axis)];
    struct layout l = {0};
    if (x->layout)
        layout_expand(&l, x->layout, axis);
    types[0] = reshaped(m, x, x->rank + 1, shape, &l);
    return NULL;
}

const char *rule_reshape(struct module *m, const struct op *o, const struct type **types)
{
    const struct type *x = opnd(o, 0), *t = given(o);
    const char *error = want_given(m, o);
    if (error)
        return error;
    if (x->kind == TY_shared || t->kind == TY_shared || type_elem(x) != type_elem(t) ||
        type_elems(x) != type_elems(t))
        return wrong(m, "%s does not reshape to %s", ir(m, x), ir(m, t));
    if (!type_is_tile(x) || !type_is_tile(t))
        return NULL;
    struct layout l = {0};
    if (x->layout)
        layout_reshape(&l, x->layout, t->rank, t->shape);
    types[0] = reshaped(m, x, t->rank, t->shape, &l);
    return NULL;
}

static bool is_permutation(const struct attr *order, int rank)
{
    uint32_t seen = 0;
    for (int i = 0; order && i < order->n; i++)
        if (order->list[i] >= 0 && order->list[i] < rank)
            seen |= UINT32_C(1) << order->list[i];
    return order && order->n == rank && seen == (UINT32_C(1) << rank) - 1;
}

const char *rule_trans(struct module *m, const struct op *o, const struct type **types)
{
    const struct type *x = opnd(o, 0);
    const struct attr *order = op_attr(o, ATTR_order);
    const char *error = want_tile(m, x);
    if (error)
        return error;
    if (!is_permutation(order, x->rank))
        return wrong(m, "order is no permutation of %d dimensions", x->rank);
    int shape[RANK_MAX];
    for (int i = 0; i < x->rank; i++)
        shape[i] = x->shape[order->list[i]];
    struct layout l = {0};
    if (x->layout)
        layout_trans(&l, x->layout, order->list);
    types[0] = reshaped(m, x, x->rank, shape, &l);
    return NULL;
}

/* Returns whether every thread holds the same elements in layout `part` as in layout `whole` without
 * dimension dim. */
static bool is_slice(const struct layout *part, const struct layout *whole, int dim)
{
    struct layout l;
    layout_slice(&l, whole, dim, true, NULL);
    return same_without_repeats(part, &l);
}

const char *rule_join(struct module *m, const struct op *o, const struct type **types)
{
    const struct type *x = opnd(o, 0);
    const char *error = want_equal(m, o);
    if (!error && (x->kind == TY_shared || x->rank == RANK_MAX))
        error = wrong(m, "%s cannot be joined", ir(m, x));
    if (error)
        return error;
    int shape[RANK_MAX];
    for (int i = 0; i < x->rank; i++)
        shape[i] = x->shape[i];
    shape[x->rank] = 2;
    types[0] = in_given_layout(o, type_tile(m, type_elem(x), x->rank + 1, shape, NULL));
    if (x->layout && types[0]->layout && !is_slice(x->layout, types[0]->layout, x->rank))
        return wrong(m, "%s is not laid out as a half of %s", ir(m, x), ir(m, types[0]));
    return NULL;
}

/* The last dimension has size 2. Returns whether every thread that holds one element of a pair along this
 * dimension also holds the other. */
static bool has_pairs(const struct layout *l)
{
    struct span registers = {0};
    for (int i = 0; i < l->nbits[IN_reg]; i++)
        span_add(&registers, layout_basis(l, IN_reg, i), 0);
    return span_has(&registers, 1);
}

const char *rule_split(struct module *m, const struct op *o, const struct type **types)
{
    const struct type *x = opnd(o, 0);
    if (!type_is_tile(x) || x->shape[x->rank - 1] != 2)
        return wrong(m, "%s has no last dimension of 2", ir(m, x));
    types[0] = in_given_layout(o, type_with_shape(m, x, x->rank - 1, x->shape));
    types[1] = types[0];
    if (x->layout && types[0]->layout && !is_slice(types[0]->layout, x->layout, x->rank - 1))
        return wrong(m, "%s is not laid out as a half of %s", ir(m, types[0]), ir(m, x));
    if (x->layout && !has_pairs(x->layout))
        return wrong(m, "%s has the halves of a pair in different threads", ir(m, x));
    return NULL;
}

const char *rule_hint(struct module *m, const struct op *o, const struct type **types)
{
    static const enum attr_key keys[] = {ATTR_divisible, ATTR_contiguous, ATTR_constant};
    const struct type *x = opnd(o, 0);
    types[0] = x;
    for (int i = 0; i < 3; i++) {
        const struct attr *a = op_attr(o, keys[i]);
        if (a && a->n != (x->rank ? x->rank : 1))
            return wrong(m, "%s has %d numbers for %d dimensions", attr_info[keys[i]].word, a->n, x->rank);
        for (int d = 0; a && d < a->n; d++)
            if (a->list[d] < 1)
                return wrong(m, "%s promises %d", attr_info[keys[i]].word, a->list[d]);
    }
    return NULL;
}

/* Checks a gather op, which reads elements of x (a tile or a buffer) at indices along the op's axis. */
static const char *gathered(struct module *m, const struct op *o, const struct type *x,
                            const struct type **types)
{
    const struct type *index = opnd(o, 1);
    const char *error = want_axis(m, o, x->rank);
    if (error)
        return error;
    bool fits = type_is_tile(index) && type_is_int(index) && index->rank == x->rank;
    for (int i = 0; fits && i < x->rank; i++)
        fits = x->shape[i] == index->shape[i] || i == op_int(o, ATTR_axis);
    if (!fits)
        return wrong(m, "%s does not index %s", ir(m, index), ir(m, x));
    types[0] = type_with_elem(m, index, type_elem(x));
    return NULL;
}

const char *rule_gather(struct module *m, const struct op *o, const struct type **types)
{
    const char *error = want_tile(m, opnd(o, 0));
    return error ? error : gathered(m, o, opnd(o, 0), types);
}

/* -- memory -- */

/* Returns operand 0's type with pointees instead of pointers as elements; NULL if the operand has no
 * pointers. */
static const struct type *pointee(struct module *m, const struct op *o)
{
    const struct type *p = opnd(o, 0);
    return type_is_ptr(p) ? type_with_elem(m, p, type_elem(p)->elem) : NULL;
}

static const char *memory_op(struct module *m, const struct op *o, const struct type *x, int mask)
{
    if (!x)
        return wrong(m, "expected pointers, found %s", ir(m, opnd(o, 0)));
    if (!is_power_of_two(op_int(o, ATTR_vec)))
        return wrong(m, "a vector of %d elements", (int)op_int(o, ATTR_vec));
    return mask ? want_optional(m, o, mask, "the mask", bool_like(m, x)) : NULL;
}

const char *rule_load(struct module *m, const struct op *o, const struct type **types)
{
    const struct type *x = types[0] = pointee(m, o);
    const char *error = memory_op(m, o, x, 1);
    return error ? error : want_optional(m, o, 2, "other", x);
}

const char *rule_store(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    const struct type *x = pointee(m, o);
    const char *error = memory_op(m, o, x, 2);
    return error ? error : want_type(m, "the value", opnd(o, 1), x);
}

const char *rule_prefetch(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    if (!pointee(m, o) || type_is_tile(opnd(o, 0)))
        return wrong(m, "expected pointers, found %s", ir(m, opnd(o, 0)));
    return want_type(m, "n", opnd(o, 1), type_scalar(m, DT_i32));
}

static bool rmw_takes(enum rmw rmw, const struct type *x)
{
    if (rmw == RMW_xchg)
        return true;
    return rmw == RMW_fadd || rmw == RMW_fmax || rmw == RMW_fmin ? type_is_float(x) : type_is_int(x);
}

const char *rule_atomic_rmw(struct module *m, const struct op *o, const struct type **types)
{
    const struct type *x = types[0] = pointee(m, o);
    const char *error = memory_op(m, o, x, 2);
    if (!error)
        error = want_type(m, "the value", opnd(o, 1), x);
    enum rmw rmw = (enum rmw)op_int(o, ATTR_rmw);
    if (!error && !rmw_takes(rmw, x))
        error = wrong(m, "atomic %s does not take %s", attr_words(ATTRK_rmw)[rmw], ir(m, x));
    return error;
}

const char *rule_atomic_cas(struct module *m, const struct op *o, const struct type **types)
{
    const struct type *x = types[0] = pointee(m, o);
    const char *error = memory_op(m, o, x, 0);
    if (!error)
        error = want_type(m, "the value compared with", opnd(o, 1), x);
    return error ? error : want_type(m, "the value", opnd(o, 2), x);
}

/* -- reductions, dot -- */

/* Checks that all operands have the same shape and layout, and that the op has as many results as operands. */
static const char *reduced_opnds(struct module *m, const struct op *o)
{
    if (o->nopnds == 0 || o->nresults != o->nopnds)
        return wrong(m, "%d operands and %d results", o->nopnds, o->nresults);
    const char *error = want_tile(m, opnd(o, 0));
    for (int i = 1; i < o->nopnds && !error; i++)
        error = want_type(m, "an operand", opnd(o, i), type_with_elem(m, opnd(o, 0), type_elem(opnd(o, i))));
    return error ? error : want_axis(m, o, opnd(o, 0)->rank);
}

/* Sets *type to x's type without the dimension `axis`. `shown` is the type that the result already has, or
 * NULL. If `shown` has a layout that differs from the computed layout only in replicated registers, sets
 * *type to `shown`. Returns an error if the layouts differ in another way; else NULL. */
static const char *slice_type(struct module *m, const struct type *x, int axis, const struct type *shown,
                              const struct type **type)
{
    int shape[RANK_MAX];
    for (int i = 0; i + 1 < x->rank; i++)
        shape[i] = x->shape[i + (i >= axis)];
    struct layout l = {0};
    if (x->layout && x->rank > 1)
        layout_slice(&l, x->layout, axis, true, NULL);
    *type = reshaped(m, x, x->rank - 1, shape, &l);
    if (!shown || !shown->layout || !x->layout || !is_same_but_layout(shown, *type))
        return NULL;
    if (!same_without_repeats(shown->layout, &l))
        return wrong(m, "%s is not laid out as a slice of %s", ir(m, shown), ir(m, x));
    *type = shown;
    return NULL;
}

const char *rule_reduce(struct module *m, const struct op *o, const struct type **types)
{
    const char *error = reduced_opnds(m, o);
    for (int i = 0; i < o->nresults && !error; i++)
        error = slice_type(m, opnd(o, i), (int)op_int(o, ATTR_axis), o->results[i].type, &types[i]);
    return error;
}

const char *rule_scan(struct module *m, const struct op *o, const struct type **types)
{
    const char *error = reduced_opnds(m, o);
    for (int i = 0; i < o->nresults && !error; i++)
        types[i] = opnd(o, i);
    return error;
}

/* The results must have the shape and layout of the operands, but may have any element types. */
const char *rule_map(struct module *m, const struct op *o, const struct type **types)
{
    if (o->nopnds == 0 || o->nresults == 0)
        return wrong(m, "%d operands and %d results", o->nopnds, o->nresults);
    const struct type *first = opnd(o, 0);
    const char *error = want_tile(m, first);
    for (int i = 1; i < o->nopnds && !error; i++)
        error = want_type(m, "an operand", opnd(o, i), type_with_elem(m, first, type_elem(opnd(o, i))));
    for (int i = 0; i < o->nresults && !error; i++) {
        const struct type *t = o->results[i].type;
        if (!t)
            return want_given(m, o);
        types[i] = type_with_elem(m, first, type_elem(t));
    }
    return error;
}

const char *rule_histogram(struct module *m, const struct op *o, const struct type **types)
{
    const struct type *x = opnd(o, 0);
    int64_t bins = op_int(o, ATTR_bins);
    if (!type_is_tile(x) || !type_is_int(x))
        return wrong(m, "expected a tile of integers, found %s", ir(m, x));
    if (!is_power_of_two(bins) || bins > 1 << COORD_BITS_MAX)
        return wrong(m, "%d bins are no power of two", (int)bins);
    int shape[] = {(int)bins};
    types[0] = in_given_layout(o, type_tile(m, type_scalar(m, DT_i32), 1, shape, NULL));
    return want_optional(m, o, 1, "the mask", bool_like(m, x));
}

/* Returns whether a dot may have these element types. Both inputs have the same type, or are both fp8. The only
 * integer type is i8, which accumulates in i32; floats accumulate in a float type that is at least as wide. */
static bool dot_elems_fit(const struct type *a, const struct type *b, const struct type *acc)
{
    if (type_elem_bits(a) != type_elem_bits(b))
        return false;
    if (type_is_int(a))
        return type_elem(a) == type_elem(b) && type_elem_bits(a) == 8 && type_is_int(acc) &&
               type_elem_bits(acc) == 32;
    bool same = type_elem(a) == type_elem(b) || type_elem_bits(a) == 8;
    return same && type_is_float(a) && type_is_float(b) && type_is_float(acc) &&
           type_elem_bits(acc) >= type_elem_bits(a);
}

const char *rule_dot(struct module *m, const struct op *o, const struct type **types)
{
    const struct type *a = opnd(o, 0), *b = opnd(o, 1), *acc = opnd(o, 2);
    types[0] = acc;
    int rank = acc->rank, k = rank - 1;
    bool fits = type_is_tile(a) && type_is_tile(b) && type_is_tile(acc) && (rank == 2 || rank == 3) &&
                a->rank == rank && b->rank == rank && dot_elems_fit(a, b, acc);
    if (fits)
        fits = a->shape[k - 1] == acc->shape[k - 1] && b->shape[k] == acc->shape[k] &&
               a->shape[k] == b->shape[k - 1];
    if (fits && rank == 3)
        fits = a->shape[0] == acc->shape[0] && b->shape[0] == acc->shape[0];
    return fits ? NULL : wrong(m, "no dot of %s and %s into %s", ir(m, a), ir(m, b), ir(m, acc));
}

/* -- control -- */

const char *rule_for(struct module *m, const struct op *o, const struct type **types)
{
    const struct type *i = opnd(o, 0);
    if (i->kind != TY_scalar || !type_is_int(i) || opnd(o, 1) != i || opnd(o, 2) != i)
        return wrong(m, "bounds are %s, %s, %s", ir(m, i), ir(m, opnd(o, 1)), ir(m, opnd(o, 2)));
    if (o->nresults != o->nopnds - 3)
        return wrong(m, "%d values carried, %d results", o->nopnds - 3, o->nresults);
    for (int k = 0; k < o->nresults; k++)
        types[k] = opnd(o, 3 + k);
    return NULL;
}

/* Checks no types: the loop's results are the operands of its `condition`, and need not have the types of the
 * carried values. verify.c checks that the results have the types of the operands of `condition`. */
const char *rule_while(struct module *m, const struct op *o, const struct type **types)
{
    return rule_none(m, o, types);
}

const char *rule_if(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    return want_type(m, "the condition", opnd(o, 0), type_scalar(m, DT_i1));
}

const char *rule_condition(struct module *m, const struct op *o, const struct type **types)
{
    return rule_if(m, o, types);
}

const char *rule_assert(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    const char *error = want_type(m, "the condition", opnd(o, 0), bool_like(m, opnd(o, 0)));
    return error ? error : want_optional(m, o, 1, "the mask", opnd(o, 0));
}

/* -- layout and shared memory -- */

const char *rule_convert(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    const char *error = want_given(m, o);
    if (error)
        return error;
    const struct type *x = opnd(o, 0), *t = given(o);
    if (!type_is_tile(x) || !x->layout || !t->layout || type_with_layout(m, x, t->layout) != t)
        return wrong(m, "%s does not convert to %s", ir(m, x), ir(m, t));
    return NULL;
}

const char *rule_shared_alloc(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    const char *error = want_given(m, o);
    if (!error && (given(o)->kind != TY_shared || !given(o)->layout))
        error = wrong(m, "%s is no buffer with a layout", ir(m, given(o)));
    return error;
}

static const char *buffer_and_tile(struct module *m, const struct op *o, const struct type *x)
{
    const struct type *buf = opnd(o, 0);
    bool fits = buf->kind == TY_shared && type_is_tile(x) && type_same_shape(buf, x) &&
                type_elem(buf) == type_elem(x);
    if (!fits)
        return wrong(m, "buffer %s does not hold %s", ir(m, buf), ir(m, x));
    return is_power_of_two(op_int(o, ATTR_vec))
               ? NULL
               : wrong(m, "a vector of %d elements", (int)op_int(o, ATTR_vec));
}

const char *rule_shared_store(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    return buffer_and_tile(m, o, opnd(o, 1));
}

/* A tile of type t is the part of buffer buf that begins at index `at`. Returns the type of a tile with t's
 * elements that is as large as the buffer. Returns t if `at` is NULL (the whole buffer is read), and NULL if
 * the part does not lie inside the buffer at a multiple of its size. */
static const struct type *whole_of(struct module *m, const struct type *buf, const struct type *t,
                                   const struct attr *at)
{
    if (!at || buf->kind != TY_shared || !type_is_tile(t))
        return t;
    if (at->n != buf->rank || t->rank != buf->rank)
        return NULL;
    for (int d = 0; d < t->rank; d++)
        if (at->list[d] < 0 || at->list[d] % t->shape[d] || at->list[d] > buf->shape[d] - t->shape[d])
            return NULL;
    return type_tile(m, type_elem(t), buf->rank, buf->shape, NULL);
}

const char *rule_shared_load(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    const char *error = want_given(m, o);
    if (error)
        return error;
    const struct type *whole = whole_of(m, opnd(o, 0), given(o), op_attr(o, ATTR_at));
    return whole ? buffer_and_tile(m, o, whole)
                 : wrong(m, "%s is no part of %s", ir(m, given(o)), ir(m, opnd(o, 0)));
}

/* Returns the type of one stage of the buffer. If `order` is not NULL, permutes the dimensions by it. Returns NULL
 * if `order` is not a permutation of the buffer's dimensions. */
static const struct type *type_shared_stage(struct module *m, const struct type *buf,
                                            const struct attr *order)
{
    int shape[RANK_MAX];
    unsigned seen = 0;
    struct layout l;
    if (!order)
        return type_shared(m, type_elem(buf), buf->rank, buf->shape, buf->layout, 1);
    for (int d = 0; d < order->n && d < buf->rank; d++) {
        if (order->list[d] < 0 || order->list[d] >= buf->rank)
            return NULL;
        seen |= 1u << order->list[d];
        shape[d] = buf->shape[order->list[d]];
    }
    if (order->n != buf->rank || seen != (1u << buf->rank) - 1)
        return NULL;
    layout_trans(&l, buf->layout, order->list);
    return type_shared(m, type_elem(buf), buf->rank, shape, layout_intern(m, &l), 1);
}

/* Returns whether a buffer of type t, with one stage, fits into a stage of buf. */
static bool fits_in_stage(const struct type *t, const struct type *buf)
{
    return t && t->kind == TY_shared && t->layout && t->nstages == 1 &&
           type_elems(t) * type_elem_bytes(t) <= type_elems(buf) * type_elem_bytes(buf);
}

const char *rule_shared_stage(struct module *m, const struct op *o, const struct type **types)
{
    const struct type *buf = opnd(o, 0);
    if (buf->kind != TY_shared)
        return wrong(m, "%s is no buffer", ir(m, buf));
    const bool is_given = !op_attr(o, ATTR_order) && fits_in_stage(given(o), buf);
    types[0] = is_given ? given(o) : type_shared_stage(m, buf, op_attr(o, ATTR_order));
    if (!types[0])
        return wrong(m, "order permutes other dimensions than those of %s", ir(m, buf));
    return want_type(m, "the stage", opnd(o, 1), type_scalar(m, DT_i32));
}

const char *rule_warp_all(struct module *m, const struct op *o, const struct type **types)
{
    const struct type *x = opnd(o, 0);
    if (type_elem(x)->dtype != DT_i1 || x->kind == TY_shared)
        return wrong(m, "%s is no tile of i1", ir(m, x));
    types[0] = type_scalar(m, DT_i1);
    return NULL;
}

const char *rule_to_shared(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    const char *error = want_given(m, o);
    const struct type *x = opnd(o, 0), *t = given(o);
    bool fits = !error && t->kind == TY_shared && t->layout && type_is_tile(x) && type_same_shape(x, t) &&
                type_elem(x) == type_elem(t) && (!op_opnd(o, 1) || opnd(o, 1) == t);
    return error || fits ? error : wrong(m, "%s does not fit into %s", ir(m, x), ir(m, t));
}

/* -- async -- */

const char *rule_async_copy(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    const struct type *buf = opnd(o, 0), *ptr = opnd(o, 1);
    bool fits = buf->kind == TY_shared && type_is_tile(ptr) && type_is_ptr(ptr) &&
                type_same_shape(buf, ptr) && type_elem(ptr)->elem == type_elem(buf);
    if (!fits)
        return wrong(m, "no copy through %s into %s", ir(m, ptr), ir(m, buf));
    return want_optional(m, o, 2, "the mask", bool_like(m, ptr));
}

const char *rule_mma_start(struct module *m, const struct op *o, const struct type **types)
{
    const struct type *a = opnd(o, 0), *b = opnd(o, 1), *acc = opnd(o, 2);
    types[0] = acc;
    bool fits = (a->kind == TY_shared || type_is_tile(a)) && b->kind == TY_shared && type_is_tile(acc) &&
                a->rank == 2 && b->rank == 2 && acc->rank == 2 && dot_elems_fit(a, b, acc) &&
                a->shape[0] == acc->shape[0] && b->shape[1] == acc->shape[1] && a->shape[1] == b->shape[0];
    return fits ? NULL : wrong(m, "no dot of %s and %s into %s", ir(m, a), ir(m, b), ir(m, acc));
}

const char *rule_mma_wait(struct module *m, const struct op *o, const struct type **types)
{
    if (o->nresults != o->nopnds)
        return wrong(m, "%d values, %d results", o->nopnds, o->nresults);
    for (int i = 0; i < o->nresults; i++)
        types[i] = opnd(o, i);
    return NULL;
}

static const char *want_coordinates(struct module *m, const struct op *o, int first)
{
    const char *error = NULL;
    for (int i = first; i < o->nopnds && !error; i++)
        error = want_type(m, "a coordinate", opnd(o, i), type_scalar(m, DT_i32));
    return error;
}

static const char *want_barrier(struct module *m, const struct op *o, int i)
{
    const struct type *t = opnd(o, i);
    bool fits =
        t->kind == TY_shared && t->rank == 1 && t->shape[0] == 1 && type_elem(t) == type_scalar(m, DT_i64);
    return fits ? NULL : wrong(m, "%s is no barrier", ir(m, t));
}

const char *rule_tensor_store(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    const char *error = want_tile(m, opnd(o, 0));
    return error ? error : want_coordinates(m, o, 1);
}

const char *rule_tensor_copy(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    if (opnd(o, 0)->kind != TY_shared)
        return wrong(m, "%s is no buffer", ir(m, opnd(o, 0)));
    const char *error = want_barrier(m, o, 1);
    return error ? error : want_coordinates(m, o, 2);
}

const char *rule_tensor_put(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    if (opnd(o, 0)->kind != TY_shared)
        return wrong(m, "%s is no buffer", ir(m, opnd(o, 0)));
    return want_coordinates(m, o, 1);
}

const char *rule_mbar(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    const char *error = want_barrier(m, o, 0);
    error = error ? error : want_optional(m, o, 1, "the condition", type_scalar(m, DT_i1));
    return error ? error : want_optional(m, o, 2, "whether there is a pair", type_scalar(m, DT_i1));
}

const char *rule_mbar_init(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    const char *error = want_barrier(m, o, 0);
    return error ? error : want_optional(m, o, 1, "the factor", type_scalar(m, DT_i32));
}

const char *rule_mbar_wait(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    const char *error = want_barrier(m, o, 0);
    return error ? error : want_type(m, "the parity", opnd(o, 1), type_scalar(m, DT_i32));
}

/* Returns whether the buffer's layout is the identity: each element's offset equals its coordinate. */
static bool is_in_order(const struct type *buf)
{
    for (int i = 0; i < buf->layout->nbits[IN_offset]; i++)
        if (layout_basis(buf->layout, IN_offset, i) != UINT32_C(1) << i)
            return false;
    return buf->layout->flip == 0;
}

const char *rule_shared_gather(struct module *m, const struct op *o, const struct type **types)
{
    const struct type *buf = opnd(o, 0);
    if (buf->kind != TY_shared || !is_in_order(buf))
        return wrong(m, "%s is no buffer in order", ir(m, buf));
    return gathered(m, o, buf, types);
}

const char *rule_shared_count(struct module *m, const struct op *o, const struct type **types)
{
    (void)types;
    const struct type *buf = opnd(o, 0), *x = opnd(o, 1);
    if (buf->kind != TY_shared || !is_in_order(buf) || buf->rank != 1 || buf->elem->dtype != DT_i32)
        return wrong(m, "%s is no buffer of counts", ir(m, buf));
    if (!type_is_tile(x) || !type_is_int(x))
        return wrong(m, "expected a tile of integers, found %s", ir(m, x));
    return want_optional(m, o, 2, "the mask", bool_like(m, x));
}
