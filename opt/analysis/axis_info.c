/* SPDX-License-Identifier: MIT */
/* axis_info.c: finds, for each value and dimension, the length of the runs of consecutive elements (each
 * element is the preceding one plus 1), the length of the runs of equal elements, and a power of two that
 * divides the first element of each run of consecutive elements.
 *
 *     %r = range start=0 end=512        contiguous 512  constant 1    divisible 2^62 (starts at 0)
 *     %s = splat %pid512                contiguous 1    constant 512  divisible 512
 *     %o = add %s, %r                   contiguous 512  constant 1    divisible 512
 *     %m = cmp %o, %n pred=slt          constant 16, if %n is a multiple of 16: no run of 16 straddles %n
 *
 * Runs are aligned: a run of 2^c elements starts at an index that is a multiple of 2^c. Lengths and divisors
 * are powers of two, stored as exponents. Overflow preserves divisibility by a power of two: a multiple of 16
 * modulo 2^32 is a multiple of 16. But overflow can interrupt a run of consecutive values. If the first value
 * of a run of 2^m values is a multiple of 2^m, no overflow occurs within the run, whether its values are read
 * as signed or unsigned. Such runs are called ordered; for widening, comparison and division, the analysis
 * relies only on them. `log_adjacent` is the length of runs under the assumption that no index overflows;
 * only decisions that do not affect correctness use it.
 *
 * The analysis is a forward dataflow analysis. A loop-carried value starts with the facts of its initial value. The
 * analysis visits the loop's body, and reduces the facts of the carried value to those that also hold for the
 * yielded value (their meet). It repeats this until no facts change. */
#include "opt/analysis/value_range.h"
#include "opt/analysis/analysis.h"
#include "opt/passes.h"

enum {
    LOG_MOST = 62,       /* the exponent that represents the divisibility of 0 */
    ACCESS_LOG_BYTES = 4 /* log2 of the bytes of the largest vector access */
};

struct axis_table {
    struct func *func;
    struct map map; /* maps a value to its struct axis */
};

static const struct axis nothing_known;

const struct axis *axis_of(const struct axis_table *t, const struct value *v)
{
    void **found = v ? map_get_ptr(&t->map, v) : NULL;
    return found ? *found : &nothing_known;
}

/* -- helpers -- */

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* Returns log2 of the largest power of two that divides n. */
static int log_divisor(int64_t n)
{
    return n ? least(__builtin_ctzll((unsigned long long)n), LOG_MOST) : LOG_MOST;
}

/* Returns the number of dimensions that struct axis describes: 1 for a scalar. */
static int dims_of(const struct type *t)
{
    return t->rank ? t->rank : 1;
}

static int log_size(const struct type *t, int d)
{
    return t->rank ? log2_floor(t->shape[d]) : 0;
}

/* Returns log2 of the difference between neighbours in a run of consecutive values of type t. The difference
 * is 1 for integers, and the size in bytes of the pointed-to element for pointers. */
static int log_step(const struct type *t)
{
    return type_is_ptr(t) ? log2_floor(type_elem_bytes(type_elem(t)->elem)) : 0;
}

/* An operand of an op, for the transfer functions (rules) below. */
struct view {
    const struct axis *a;
    const struct type *type;
    const struct value *value;
};

static struct view view_of(const struct axis_table *t, const struct value *v)
{
    return (struct view){axis_of(t, v), v->type, v};
}

/* Returns log2 of a number that divides the first element of each aligned run of 2^log_run elements along
 * d. */
static int divisible_at(const struct view *x, int d, int log_run)
{
    int divisible = x->a->log_divisible[d];
    return log_run >= x->a->log_contiguous[d] ? divisible : least(divisible, log_run + log_step(x->type));
}

/* Returns log2 of a number that divides every element. */
static int divisible_each(const struct view *x, int d)
{
    return divisible_at(x, d, 0);
}

static int divisible_any_dim(const struct view *x)
{
    int best = 0;
    for (int d = 0; d < dims_of(x->type); d++)
        best = most(best, divisible_each(x, d));
    return best;
}

/* Returns log2 of the length of ordered runs along d: runs of consecutive values whose first value is a
 * multiple of the run's length. Neither signed nor unsigned overflow occurs within such a run. */
static int ordered(const struct view *x, int d)
{
    if (!type_is_int(x->type))
        return 0;
    return least(least(x->a->log_contiguous[d], x->a->log_divisible[d]), type_elem_bits(x->type) - 1);
}

static void set_divisible(struct axis *r, int d, int log)
{
    r->log_divisible[d] = (uint8_t)most(0, least(log, LOG_MOST));
}

static void set_contiguous(struct axis *r, int d, int log)
{
    r->log_contiguous[d] = (uint8_t)log;
    r->log_adjacent[d] = (uint8_t)most(log, r->log_adjacent[d]);
}

/* Returns the meet of the facts about x and y: the facts that are true of both values. */
static struct axis meet(const struct view *x, const struct view *y)
{
    struct axis r = {.nonnegative = x->a->nonnegative && y->a->nonnegative};
    for (int d = 0; d < dims_of(x->type); d++) {
        int run = least(x->a->log_contiguous[d], y->a->log_contiguous[d]);
        r.log_adjacent[d] = (uint8_t)least(x->a->log_adjacent[d], y->a->log_adjacent[d]);
        set_contiguous(&r, d, run);
        set_divisible(&r, d, least(divisible_at(x, d, run), divisible_at(y, d, run)));
        r.log_constant[d] = (uint8_t)least(x->a->log_constant[d], y->a->log_constant[d]);
    }
    return r;
}

static bool same(const struct axis *x, const struct axis *y, const struct type *t)
{
    for (int d = 0; d < dims_of(t); d++)
        if (x->log_divisible[d] != y->log_divisible[d] || x->log_contiguous[d] != y->log_contiguous[d] ||
            x->log_constant[d] != y->log_constant[d] || x->log_adjacent[d] != y->log_adjacent[d])
            return false;
    return x->nonnegative == y->nonnegative;
}

/* -- transfer functions (rules) for dimension d. x and y are the operands. r is the result, whose log_constant
 * the caller has set. Lengths of runs, such as the variable `run`, are logarithms to base 2 -- */

/* Returns log2 of the length of runs over which the values of x are consecutive and the values of y are
 * equal. */
static int run_beside_constant(const struct view *x, const struct view *y, int d)
{
    return least(x->a->log_contiguous[d], y->a->log_constant[d]);
}

static int adjacent_beside_constant(const struct view *x, const struct view *y, int d)
{
    return least(x->a->log_adjacent[d], y->a->log_constant[d]);
}

static void rule_add(struct axis *r, const struct view *x, const struct view *y, int d, bool both_ways)
{
    int run = run_beside_constant(x, y, d), adjacent = adjacent_beside_constant(x, y, d);
    if (both_ways) {
        run = most(run, run_beside_constant(y, x, d));
        adjacent = most(adjacent, adjacent_beside_constant(y, x, d));
    }
    r->log_adjacent[d] = (uint8_t)adjacent;
    set_contiguous(r, d, run);
    set_divisible(r, d, least(divisible_at(x, d, run), divisible_at(y, d, run)));
}

/* addptr computes p + i * size. It first sign-extends an index of less than 64 bits, so only ordered runs of
 * such an index, within which it does not overflow, become runs of the result. */
static void rule_addptr(struct axis *r, const struct view *p, const struct view *i, int d)
{
    int index_run = type_elem_bits(i->type) < 64 ? ordered(i, d) : i->a->log_contiguous[d];
    int run = most(least(index_run, p->a->log_constant[d]), run_beside_constant(p, i, d));
    r->log_adjacent[d] = (uint8_t)most(adjacent_beside_constant(i, p, d), adjacent_beside_constant(p, i, d));
    set_contiguous(r, d, run);
    set_divisible(r, d, least(divisible_at(p, d, run), divisible_at(i, d, run) + log_step(p->type)));
}

/* Within an ordered run of x, x | y and x ^ y equal x + y, if y is constant in the run and a multiple of the
 * run's length. */
static void rule_or(struct axis *r, const struct view *x, const struct view *y, int d)
{
    int beside_y = least(least(ordered(x, d), y->a->log_constant[d]), divisible_each(y, d));
    int beside_x = least(least(ordered(y, d), x->a->log_constant[d]), divisible_each(x, d));
    int run = most(beside_x, beside_y);
    set_contiguous(r, d, run);
    set_divisible(r, d, least(divisible_at(x, d, run), divisible_at(y, d, run)));
}

/* For a constant y = 2^k - 1, x & y is x modulo 2^k. Otherwise: within an ordered run of x, all elements of x
 * & y are equal, if y is constant in the run and a multiple of the run's length. */
static void rule_and(struct axis *r, const struct view *x, const struct view *y, int d)
{
    int64_t mask;
    if (value_const_int(y->value, &mask) && mask > 0 && (mask & (mask / 2)) == mask / 2) {
        int run = least(ordered(x, d), log2_floor(mask) + 1);
        set_contiguous(r, d, run);
        set_divisible(r, d, divisible_at(x, d, run));
        return;
    }
    int equal = least(least(ordered(x, d), y->a->log_constant[d]), divisible_each(y, d));
    r->log_constant[d] = (uint8_t)most(r->log_constant[d], equal);
    set_divisible(r, d, most(divisible_each(x, d), divisible_each(y, d)));
}

/* Returns whether the division rounds down for every element of x. (Signed division rounds negative elements up,
 * toward zero.) */
static bool rounds_down(const struct op *o, const struct view *x)
{
    return o->code == OP_divu || o->code == OP_remu || x->a->nonnegative || bounds_of(x->value).lo >= 0;
}

/* Returns log2 of the length of the ordered runs of x in which all quotients x / y are equal. If y is
 * constant in a run of 2^m elements and a multiple of 2^m, all quotients in the run are equal. */
static int run_of_quotient(const struct op *o, const struct view *x, const struct view *y, int d)
{
    if (!rounds_down(o, x))
        return 0;
    return least(least(ordered(x, d), y->a->log_constant[d]), divisible_each(y, d));
}

static void rule_div(struct axis *r, const struct op *o, const struct view *x, const struct view *y, int d)
{
    int run = run_of_quotient(o, x, y, d);
    r->log_constant[d] = (uint8_t)most(r->log_constant[d], run);
    int64_t by;
    if (value_const_int(y->value, &by) && by > 0 && (by & (by - 1)) == 0)
        set_divisible(r, d, divisible_at(x, d, run) - log2_floor(by));
}

static void rule_rem(struct axis *r, const struct op *o, const struct view *x, const struct view *y, int d)
{
    int run = run_of_quotient(o, x, y, d);
    set_contiguous(r, d, run);
    set_divisible(r, d, least(divisible_at(x, d, run), divisible_each(y, d)));
}

static void rule_shift(struct axis *r, const struct op *o, const struct view *x, const struct view *y, int d)
{
    int64_t by;
    bool known = value_const_int(y->value, &by) && by >= 0 && by < type_elem_bits(x->type);
    if (o->code == OP_shl) {
        set_divisible(r, d, divisible_each(x, d) + (known ? (int)by : 0));
    } else if (known) {
        int run = least(ordered(x, d), (int)by);
        r->log_constant[d] = (uint8_t)most(r->log_constant[d], run);
        set_divisible(r, d, divisible_at(x, d, run) - (int)by);
    }
}

/* Within an ordered run of x, all results of x < y are equal, and all results of x >= y, if y is constant in
 * the run and a multiple of the run's length. x > y is y < x, and x <= y is y >= x. */
static void rule_cmp(struct axis *r, const struct op *o, const struct view *x, const struct view *y, int d)
{
    int run = 0;
    switch ((enum pred)op_int(o, ATTR_pred)) {
    case PRED_slt:
    case PRED_sge:
    case PRED_ult:
    case PRED_uge: run = least(least(ordered(x, d), y->a->log_constant[d]), divisible_each(y, d)); break;
    case PRED_sgt:
    case PRED_sle:
    case PRED_ugt:
    case PRED_ule: run = least(least(ordered(y, d), x->a->log_constant[d]), divisible_each(x, d)); break;
    default: break;
    }
    r->log_constant[d] = (uint8_t)most(r->log_constant[d], run);
}

static void rule_select(struct axis *r, const struct view *c, const struct view *x, const struct view *y,
                        int d)
{
    int run = least(least(x->a->log_contiguous[d], y->a->log_contiguous[d]), c->a->log_constant[d]);
    set_contiguous(r, d, run);
    set_divisible(r, d, least(divisible_at(x, d, run), divisible_at(y, d, run)));
}

static void rule_widen(struct axis *r, const struct view *x, int d)
{
    int run = ordered(x, d);
    r->log_adjacent[d] = x->a->log_adjacent[d];
    set_contiguous(r, d, run);
    set_divisible(r, d, divisible_at(x, d, run));
}

static void rule_bitcast(struct axis *r, const struct op *o, const struct view *x, int d)
{
    const struct type *t = op_result(o)->type;
    if (type_is_float(t) || type_is_float(x->type))
        return;
    bool keeps_step = log_step(t) == log_step(x->type);
    set_contiguous(r, d, keeps_step ? x->a->log_contiguous[d] : 0);
    set_divisible(r, d, keeps_step ? x->a->log_divisible[d] : divisible_each(x, d));
}

static void elementwise_dim(struct axis *r, const struct op *o, const struct view *x, int d)
{
    switch (o->code) {
    case OP_add: rule_add(r, &x[0], &x[1], d, true); break;
    case OP_sub: rule_add(r, &x[0], &x[1], d, false); break;
    case OP_mul: set_divisible(r, d, divisible_each(&x[0], d) + divisible_each(&x[1], d)); break;
    case OP_neg:
    case OP_abs: set_divisible(r, d, divisible_each(&x[0], d)); break;
    case OP_mins:
    case OP_maxs:
    case OP_minu:
    case OP_maxu: set_divisible(r, d, least(divisible_each(&x[0], d), divisible_each(&x[1], d))); break;
    case OP_and: rule_and(r, &x[0], &x[1], d); break;
    case OP_or:
    case OP_xor: rule_or(r, &x[0], &x[1], d); break;
    case OP_divs:
    case OP_divu: rule_div(r, o, &x[0], &x[1], d); break;
    case OP_rems:
    case OP_remu: rule_rem(r, o, &x[0], &x[1], d); break;
    case OP_shl:
    case OP_shrs:
    case OP_shru: rule_shift(r, o, &x[0], &x[1], d); break;
    case OP_cmp: rule_cmp(r, o, &x[0], &x[1], d); break;
    case OP_select: rule_select(r, &x[0], &x[1], &x[2], d); break;
    case OP_addptr: rule_addptr(r, &x[0], &x[1], d); break;
    case OP_sext:
    case OP_zext: rule_widen(r, &x[0], d); break;
    case OP_trunc:
        set_contiguous(r, d, x[0].a->log_contiguous[d]);
        set_divisible(r, d, x[0].a->log_divisible[d]);
        break;
    case OP_bitcast: rule_bitcast(r, o, &x[0], d); break;
    default: break;
    }
}

enum { ELEMENTWISE_MOST = 3 };

static void elementwise(struct axis *r, const struct axis_table *t, const struct op *o)
{
    struct view x[ELEMENTWISE_MOST];
    const struct type *type = op_result(o)->type;
    for (int i = 0; i < o->nopnds; i++)
        x[i] = view_of(t, op_opnd(o, i));
    for (int d = 0; d < dims_of(type); d++) {
        int equal = log_size(type, d);
        for (int i = 0; i < o->nopnds; i++)
            equal = least(equal, x[i].a->log_constant[d]);
        r->log_constant[d] = (uint8_t)equal;
        elementwise_dim(r, o, x, d);
    }
    bool are_nonnegative[ELEMENTWISE_MOST] = {false};
    for (int i = 0; i < o->nopnds; i++)
        are_nonnegative[i] = x[i].a->nonnegative;
    r->nonnegative = type_is_int(type) && op_is_nonnegative(o, are_nonnegative, false);
}

/* -- rules of ops that create values or change shapes -- */

static void uniform(struct axis *r, const struct type *t, int divisible, bool nonnegative)
{
    r->nonnegative = nonnegative;
    for (int d = 0; d < dims_of(t); d++) {
        set_divisible(r, d, divisible);
        r->log_constant[d] = (uint8_t)log_size(t, d);
    }
}

static void constant(struct axis *r, const struct op *o)
{
    const struct type *t = op_result(o)->type;
    int64_t value = op_int(o, ATTR_value);
    uniform(r, t, type_is_float(t) ? 0 : log_divisor(value), type_is_int(t) && value >= 0);
}

static void range(struct axis *r, const struct op *o)
{
    int64_t start = op_int(o, ATTR_start);
    r->nonnegative = start >= 0;
    set_divisible(r, 0, log_divisor(start));
    set_contiguous(r, 0, log_size(op_result(o)->type, 0));
}

/* Copies the facts about dimension `from` of x to dimension d of r. */
static void copy_dim(struct axis *r, int d, const struct axis *x, int from)
{
    r->log_divisible[d] = x->log_divisible[from];
    r->log_contiguous[d] = x->log_contiguous[from];
    r->log_constant[d] = x->log_constant[from];
    r->log_adjacent[d] = x->log_adjacent[from];
}

static void broadcast(struct axis *r, const struct op *o, const struct view *x)
{
    const struct type *t = op_result(o)->type;
    *r = *x->a;
    for (int d = 0; d < t->rank; d++)
        if (t->shape[d] != x->type->shape[d])
            r->log_constant[d] = (uint8_t)log_size(t, d);
}

static void expand_dims(struct axis *r, const struct op *o, const struct view *x)
{
    int axis = (int)op_int(o, ATTR_axis);
    r->nonnegative = x->a->nonnegative;
    for (int d = 0; d <= x->type->rank; d++)
        if (d == axis)
            set_divisible(r, d, divisible_any_dim(x));
        else
            copy_dim(r, d, x->a, d - (d > axis));
}

static void trans(struct axis *r, const struct op *o, const struct view *x)
{
    const int *order = op_attr(o, ATTR_order)->list;
    r->nonnegative = x->a->nonnegative;
    for (int d = 0; d < x->type->rank; d++)
        copy_dim(r, d, x->a, order[d]);
}

/* Returns the last dimension of size greater than 1; 0 if there is none. Neighbours along this dimension are
 * also neighbours in row-major order, which a reshape preserves. */
static int last_dim(const struct type *t)
{
    int d = dims_of(t) - 1;
    while (d > 0 && t->shape[d] == 1)
        d--;
    return d;
}

static void reshape(struct axis *r, const struct op *o, const struct view *x)
{
    const struct type *t = op_result(o)->type;
    int to = last_dim(t), from = last_dim(x->type);
    int size = least(log_size(t, to), log_size(x->type, from));
    r->nonnegative = x->a->nonnegative;
    for (int d = 0; d < dims_of(t); d++)
        set_divisible(r, d, divisible_any_dim(x));
    int run = least(x->a->log_contiguous[from], size);
    r->log_adjacent[to] = (uint8_t)least(x->a->log_adjacent[from], size);
    set_contiguous(r, to, run);
    set_divisible(r, to, divisible_at(x, from, run));
    r->log_constant[to] = (uint8_t)least(x->a->log_constant[from], size);
}

/* Returns log2 of the number that attribute `key` of the hint o (tl.multiple_of, ...) promises for dimension
 * d; 0 if o does not have the attribute. */
static int promised(const struct op *o, enum attr_key key, int d)
{
    const struct attr *a = op_attr(o, key);
    return a && d < a->n ? log_divisor(a->list[d]) : 0;
}

static void hint(struct axis *r, const struct op *o, const struct view *x)
{
    *r = *x->a;
    for (int d = 0; d < dims_of(x->type); d++) {
        int size = log_size(x->type, d);
        r->log_divisible[d] = (uint8_t)most(r->log_divisible[d], promised(o, ATTR_divisible, d));
        set_contiguous(r, d, most(r->log_contiguous[d], least(promised(o, ATTR_contiguous, d), size)));
        r->log_constant[d] = (uint8_t)most(r->log_constant[d], least(promised(o, ATTR_constant, d), size));
    }
}

/* Loads from equal addresses under equal masks return equal values. */
static void load(struct axis *r, const struct axis_table *t, const struct op *o)
{
    const struct type *type = op_result(o)->type;
    for (int d = 0; d < dims_of(type) && !op_int(o, ATTR_volatile); d++) {
        int equal = log_size(type, d);
        for (int i = 0; i < o->nopnds; i++)
            if (op_opnd(o, i))
                equal = least(equal, axis_of(t, op_opnd(o, i))->log_constant[d]);
        r->log_constant[d] = (uint8_t)equal;
    }
}

/* Sets the facts of o's result in *r. On entry, *r has no facts. */
static void result_of(struct axis *r, const struct axis_table *t, const struct op *o)
{
    struct view x = {0};
    if (o->nopnds && op_opnd(o, 0))
        x = view_of(t, op_opnd(o, 0));
    switch (o->code) {
    case OP_const: constant(r, o); break;
    case OP_program_id:
    case OP_num_programs:
    case OP_cta_id:
    case OP_cta_count: uniform(r, op_result(o)->type, 0, true); break;
    case OP_range: range(r, o); break;
    case OP_splat: uniform(r, op_result(o)->type, x.a->log_divisible[0], x.a->nonnegative); break;
    case OP_broadcast: broadcast(r, o, &x); break;
    case OP_expand_dims: expand_dims(r, o, &x); break;
    case OP_trans: trans(r, o, &x); break;
    case OP_reshape: reshape(r, o, &x); break;
    case OP_hint: hint(r, o, &x); break;
    case OP_convert: *r = *x.a; break;
    case OP_load: load(r, t, o); break;
    default:
        if (op_has(o, ELEMENTWISE))
            elementwise(r, t, o);
    }
}

/* -- the walk over the ops -- */

static void set(struct axis_table *t, const struct value *v, const struct axis *a)
{
    void **at = map_at_ptr(&t->map, v);
    if (!*at)
        *at = NEW(t->func->module->scratch, struct axis);
    *(struct axis *)*at = *a;
}

static void analyse_block(struct axis_table *t, const struct block *b);

/* Reduces the facts about v to the facts that also hold for `other`. If this changes the facts in a round
 * after the first axis_info_rounds rounds, drops all facts about v. Returns whether the facts about v
 * changed. */
static bool weaken(struct axis_table *t, const struct value *v, const struct value *other, int round)
{
    struct view x = view_of(t, v), y = view_of(t, other);
    struct axis both = meet(&x, &y);
    if (same(&both, x.a, v->type))
        return false;
    set(t, v, round < value_params(v)->axis_info_rounds ? &both : &nothing_known);
    return true;
}

static struct axis induction(const struct axis_table *t, const struct op *loop)
{
    struct view lo = view_of(t, op_opnd(loop, 0)), step = view_of(t, op_opnd(loop, 2));
    int64_t by;
    bool counts_up = value_const_int(step.value, &by) && by == 1;
    struct axis r = {.nonnegative = lo.a->nonnegative && counts_up};
    set_divisible(&r, 0, least(lo.a->log_divisible[0], step.a->log_divisible[0]));
    return r;
}

static void analyse_for(struct axis_table *t, const struct op *o)
{
    const struct block *body = o->regions[0];
    struct axis counter = induction(t, o);
    set(t, body->args.at[0], &counter);
    for (int i = 0; i < o->nresults; i++)
        set(t, body->args.at[i + 1], axis_of(t, op_opnd(o, i + 3)));
    bool changed = true;
    for (int round = 0; changed; round++) {
        changed = false;
        analyse_block(t, body);
        for (int i = 0; i < o->nresults; i++)
            changed |= weaken(t, body->args.at[i + 1], op_opnd(body->last, i), round);
    }
    for (int i = 0; i < o->nresults; i++)
        set(t, &o->results[i], axis_of(t, body->args.at[i + 1]));
}

static void analyse_while(struct axis_table *t, const struct op *o)
{
    const struct block *head = o->regions[0], *body = o->regions[1];
    for (int i = 0; i < head->args.n; i++)
        set(t, head->args.at[i], axis_of(t, op_opnd(o, i)));
    bool changed = true;
    for (int round = 0; changed; round++) {
        changed = false;
        analyse_block(t, head);
        for (int i = 0; i < body->args.n; i++)
            set(t, body->args.at[i], axis_of(t, op_opnd(head->last, i + 1)));
        analyse_block(t, body);
        for (int i = 0; i < head->args.n; i++)
            changed |= weaken(t, head->args.at[i], op_opnd(body->last, i), round);
    }
    for (int i = 0; i < o->nresults; i++)
        set(t, &o->results[i], axis_of(t, op_opnd(head->last, i + 1)));
}

/* Analyses an `if`, or a `warps` (an op with two regions and no results). */
static void analyse_if(struct axis_table *t, const struct op *o)
{
    bool first = true;
    for (int k = 0; k < o->nregions; k++) {
        const struct block *b = o->regions[k];
        analyse_block(t, b);
        if (!b->last || b->last->code != OP_yield)
            continue;
        for (int i = 0; i < o->nresults; i++)
            if (first)
                set(t, &o->results[i], axis_of(t, op_opnd(b->last, i)));
            else
                weaken(t, &o->results[i], op_opnd(b->last, i), 0);
        first = false;
    }
}

static void analyse_block(struct axis_table *t, const struct block *b)
{
    for (const struct op *o = b->first; o; o = o->next) {
        if (o->code == OP_for)
            analyse_for(t, o);
        else if (o->code == OP_while)
            analyse_while(t, o);
        else if (o->code == OP_if || o->code == OP_warps)
            analyse_if(t, o);
        else if (o->nresults == 1) {
            struct axis facts = {0};
            result_of(&facts, t, o);
            set(t, op_result(o), &facts);
        }
    }
}

struct axis_table *axis_analyse(struct func *f)
{
    struct axis_table *t = NEW(f->module->scratch, struct axis_table);
    t->func = f;
    map_init(&t->map, f->module->scratch);
    for (int i = 0; i < f->body->args.n; i++) {
        const struct value *v = f->body->args.at[i];
        struct axis facts = {0};
        uniform(&facts, v->type, log_divisor(f->params.at[i].divisible), false);
        set(t, v, &facts);
    }
    analyse_block(t, f->body);
    return t;
}

/* -- queries of memory accesses -- */

/* Returns the largest vector width along `dim` for accesses through `ptr`. */
static int vector_at(const struct axis_table *t, const struct value *ptr, int dim)
{
    const struct axis *a = axis_of(t, ptr);
    int step = log_step(ptr->type);
    int log = least(a->log_contiguous[dim], a->log_divisible[dim] - step);
    return 1 << most(0, least(log, ACCESS_LOG_BYTES - step));
}

int axis_access(const struct axis_table *t, const struct op *access, int dim)
{
    const struct value *ptr = op_opnd(access, 0);
    const int width = vector_at(t, ptr, dim), mask = axis_mask(t, access, dim);
    if (mask >= width || !ptr->def || ptr->def->code != OP_hint)
        return width;
    return most(mask, vector_at(t, op_opnd(ptr->def, 0), dim));
}

int axis_mask(const struct axis_table *t, const struct op *access, int dim)
{
    const struct value *mask = op_opnd(access, access->code == OP_load ? 1 : 2);
    if (access->code == OP_atomic_cas || !mask)
        return 1 << COORD_BITS_MAX;
    return 1 << axis_of(t, mask)->log_constant[dim];
}
