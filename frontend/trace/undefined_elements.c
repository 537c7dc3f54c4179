/* SPDX-License-Identifier: MIT */
/* undefined_elements.c: warns of reductions and dots that combine elements which a masked load left
 * undefined.
 *
 *     x = tl.load(X + i, mask=i < n)        where the mask is False, x is undefined;
 *     s = tl.sum(x, axis=0)                 the sum includes undefined elements: a warning
 *
 *     s = tl.sum(tl.where(i < n, x, 0.0))   no warning: the analysis assumes that a select by a varying
 *     tl.store(Y + i, x, mask=i < n)        condition replaces undefined elements, and ignores masked stores
 *
 * A forward dataflow analysis, iterated over loops to a fixpoint, computes for each tile the dimensions in which the
 * tile mixes defined and undefined elements. This means that of two elements whose indices differ only in such a
 * dimension, one may be defined and the other undefined. The result of a masked load mixes defined and
 * undefined elements in the dimensions in which the mask varies. If a mask depends only on the row, whole
 * rows are undefined. A sum over each row then does not combine defined and undefined elements, and the
 * analysis assumes that the program ignores the sums of undefined rows. There must be no false warnings. The
 * analysis therefore assumes that ops which it does not model (gathers, sorts, atomics) have defined results.
 * The result of a load is defined if the known constants prove that the mask is True everywhere. */
#include "frontend/trace/trace.h"

/* The lattice element of a value: the facts that the analysis has found. Sets of dimensions are bit masks. */
struct fact {
    /* the dimensions in which the value varies: elements whose indices differ only in these dimensions may be
     * unequal */
    uint32_t varies;
    uint32_t undefined;    /* the dimensions in which the tile mixes defined and undefined elements */
    const struct op *load; /* the load that left elements undefined; NULL if all are defined */
    /* The value depends on a value that varies and is defined everywhere, such as an index. A comparison with such a
     * value may be the condition under which elements are defined. */
    bool is_index;
    bool is_direct;  /* the value is the result of a load, or of casts and reshapes of such a result */
    bool is_true;    /* the value is a mask that is true everywhere */
    bool is_bounded; /* the value is an integer with known bounds: lo <= x <= hi */
    int64_t lo, hi;
};

struct search {
    struct eval *e;
    struct arena *arena;
    const struct map *loads; /* the set of loads that the user wrote with a mask and without `other` */
    bool changed, warns;
};

static struct fact *fact_of(struct search *s, struct value *v)
{
    if (!v->scratch)
        v->scratch = NEW(s->arena, struct fact);
    return v->scratch;
}

/* Joins `new` into the facts of v. Pass is_only = false if v can also have values that `new` does not
 * describe, such as values of other iterations. join then does not copy facts that must hold for every value
 * of v, such as bounds. */
static void join(struct search *s, struct value *v, const struct fact *new, bool is_only)
{
    struct fact *f = fact_of(s, v), before = *f;
    f->varies |= new->varies;
    f->undefined |= new->undefined;
    f->load = f->load ? f->load : new->load;
    f->is_index |= new->is_index;
    if (is_only) {
        f->is_direct = new->is_direct;
        f->is_true = new->is_true;
        f->is_bounded = new->is_bounded;
        f->lo = new->lo;
        f->hi = new->hi;
    }
    s->changed |= f->varies != before.varies || f->undefined != before.undefined || f->load != before.load ||
                  f->is_index != before.is_index;
}

/* -- shapes -- */

static uint32_t dims_of(const struct type *t)
{
    uint32_t dims = 0;
    for (int d = 0; type_is_tile(t) && d < t->rank; d++)
        dims |= (uint32_t)(t->shape[d] > 1) << d;
    return dims;
}

static uint32_t insert_dim(uint32_t dims, int axis)
{
    uint32_t below = (UINT32_C(1) << axis) - 1;
    return (dims & below) | (dims & ~below) << 1;
}

static uint32_t remove_dim(uint32_t dims, int axis)
{
    uint32_t below = (UINT32_C(1) << axis) - 1;
    return (dims & below) | (dims >> 1 & ~below);
}

/* In the number of an element in row-major order, some bits are the element's index in dimension d. Returns
 * the mask of these bits. */
static uint64_t index_bits(const struct type *t, int d)
{
    int64_t below = 1;
    for (int i = d + 1; i < t->rank; i++)
        below *= t->shape[i];
    return (uint64_t)(below * t->shape[d] - 1) & ~(uint64_t)(below - 1);
}

static uint32_t reshape_dims(uint32_t dims, const struct type *from, const struct type *to)
{
    uint64_t bits = 0;
    uint32_t out = 0;
    for (int d = 0; type_is_tile(from) && d < from->rank; d++)
        bits |= dims >> d & 1 ? index_bits(from, d) : 0;
    for (int d = 0; type_is_tile(to) && d < to->rank; d++)
        out |= (uint32_t)((index_bits(to, d) & bits) != 0) << d;
    return out;
}

static uint32_t trans_dims(uint32_t dims, const struct op *o)
{
    uint32_t out = 0;
    const struct attr *order = op_attr(o, ATTR_order);
    for (int d = 0; d < order->n; d++)
        out |= (dims >> order->list[d] & 1) << d;
    return out;
}

/* Converts a set of the operand's dimensions to a set of the result's dimensions, for a shape op. */
static uint32_t moved_dims(const struct op *o, uint32_t dims)
{
    const struct type *from = op_opnd(o, 0)->type, *to = o->results[0].type;
    switch (o->code) {
    case OP_splat: return 0;
    case OP_expand_dims: return insert_dim(dims, (int)op_int(o, ATTR_axis));
    case OP_broadcast: return dims & dims_of(from);
    case OP_reshape: return reshape_dims(dims, from, to);
    case OP_trans: return trans_dims(dims, o);
    case OP_split: return dims & ((UINT32_C(1) << to->rank) - 1);
    default: return dims;
    }
}

/* -- numbers -- */

static void bound(struct fact *f, int64_t lo, int64_t hi)
{
    f->is_bounded = lo >= INT32_MIN && hi <= INT32_MAX && lo <= hi;
    f->lo = lo;
    f->hi = hi;
}

/* Sets the bounds of the result of an op on two bounded integers. */
static void bound_result(struct fact *f, enum opcode code, const struct fact *x, const struct fact *y)
{
    if (code == OP_add)
        bound(f, x->lo + y->lo, x->hi + y->hi);
    else if (code == OP_sub)
        bound(f, x->lo - y->hi, x->hi - y->lo);
    else if (code == OP_mul && x->lo >= 0 && y->lo >= 0)
        bound(f, x->lo * y->lo, x->hi * y->hi);
}

static bool is_always(enum pred pred, const struct fact *x, const struct fact *y)
{
    switch (pred) {
    case PRED_slt: return x->hi < y->lo;
    case PRED_sle: return x->hi <= y->lo;
    case PRED_sgt: return x->lo > y->hi;
    case PRED_sge: return x->lo >= y->hi;
    case PRED_ult: return x->lo >= 0 && x->hi < y->lo;
    case PRED_ule: return x->lo >= 0 && x->hi <= y->lo;
    default: return false;
    }
}

static struct fact constant(const struct value *v)
{
    struct fact f = {.is_direct = false};
    uint64_t bits;
    int64_t i;
    f.is_true = v->type->dtype == DT_i1 && value_const_bits(v, &bits) && bits != 0;
    if (value_const_int(v, &i))
        bound(&f, i, i);
    return f;
}

/* -- elementwise ops -- */

/* Returns whether one operand alone can determine the result of o, like 0 in a product or False in a
 * conjunction. The result is then defined even if the other operand is undefined. For floats, no operand
 * determines the result, because 0 times NaN is NaN. */
static bool may_leave_out(const struct op *o)
{
    return !type_is_float(o->results[0].type) && (o->code == OP_and || o->code == OP_or || o->code == OP_mul);
}

static bool is_cast(const struct op *o)
{
    return op_info[o->code].family == FAMILY_cast || op_info[o->code].family == FAMILY_shape;
}

static struct fact elementwise(struct search *s, const struct op *o)
{
    struct fact f = {0};
    bool leaves_out = false, are_bounded = o->nopnds == 2, are_true = o->code == OP_and;
    for (int i = 0; i < o->nopnds; i++) {
        struct value *x = op_opnd(o, i);
        const struct fact *y = x ? fact_of(s, x) : NULL;
        if (!y)
            continue;
        f.varies |= moved_dims(o, y->varies);
        f.undefined |= moved_dims(o, y->undefined);
        f.load = f.load ? f.load : y->load;
        f.is_index |= y->is_index;
        are_bounded &= y->is_bounded;
        are_true &= y->is_true;
        leaves_out |= y->is_index && (o->code == OP_select ? i == 0 : !y->load && may_leave_out(o));
    }
    if (o->code == OP_join)
        f.varies |= UINT32_C(1) << (o->results[0].type->rank - 1);
    if (leaves_out) {
        f.load = NULL;
        f.undefined = 0;
    }
    if (o->nopnds == 1 && is_cast(o)) {
        const struct fact *x = fact_of(s, op_opnd(o, 0));
        f.is_direct = x->is_direct;
        f.is_true = x->is_true;
        if (x->is_bounded && o->code != OP_bitcast)
            bound(&f, x->lo, x->hi);
    }
    f.is_true |= are_true;
    if (are_bounded && o->code == OP_cmp)
        f.is_true =
            is_always((enum pred)op_int(o, ATTR_pred), fact_of(s, op_opnd(o, 0)), fact_of(s, op_opnd(o, 1)));
    else if (are_bounded)
        bound_result(&f, o->code, fact_of(s, op_opnd(o, 0)), fact_of(s, op_opnd(o, 1)));
    return f;
}

/* -- loads -- */

static struct fact loaded(struct search *s, const struct op *o)
{
    const struct fact *p = fact_of(s, op_opnd(o, 0));
    struct value *mask = op_opnd(o, 1);
    const struct fact *m = mask ? fact_of(s, mask) : NULL;
    struct fact f = {.varies = p->varies | (m ? m->varies : 0)};
    bool may_be_undefined = m && !op_opnd(o, 2) && map_get_ptr(s->loads, o) && !m->is_true;
    f.is_index = !may_be_undefined && f.varies != 0;
    f.is_direct = true;
    if (may_be_undefined) {
        f.load = o;
        f.undefined = m->varies;
    }
    return f;
}

/* -- ops that combine elements -- */

struct advice {
    /* what: the reduction's name; other: its neutral element, which the advice recommends for the argument `other`
     * (NULL: unknown) */
    const char *what, *other;
};

static const char *least_or_most(enum opcode code, const struct type *t)
{
    if (type_is_float(t))
        return code == OP_max ? "float('-inf')" : "float('inf')";
    switch (code) {
    case OP_maxu: return "0";
    case OP_maxs:
        return type_elem_bits(t) == 64 ? "-2**63" : type_elem_bits(t) == 32 ? "-2**31" : "the least number";
    case OP_mins:
        return type_elem_bits(t) == 64   ? "2**63 - 1"
               : type_elem_bits(t) == 32 ? "2**31 - 1"
                                         : "the largest number";
    default:
        return type_elem_bits(t) == 64   ? "2**64 - 1"
               : type_elem_bits(t) == 32 ? "2**32 - 1"
                                         : "the largest number";
    }
}

static struct advice advice_for(const struct op *o)
{
    const struct type *t = op_opnd(o, 0)->type;
    const char *zero = type_is_float(t) ? "0.0" : "0";
    if (o->code == OP_dot)
        return (struct advice){"a dot", zero};
    const struct op *end = block_terminator(o->regions[0]);
    const struct op *by = o->nopnds == 1 && end && end->nopnds == 1 ? op_opnd(end, 0)->def : NULL;
    switch (by ? by->code : OP_count) {
    case OP_add: return (struct advice){"a sum", zero};
    case OP_xor:
    case OP_or: return (struct advice){"a reduction", zero};
    case OP_and: return (struct advice){"a reduction", type_elem_bits(t) == 1 ? "True" : "-1"};
    case OP_mul: return (struct advice){"a product", type_is_float(t) ? "1.0" : "1"};
    case OP_max:
    case OP_maxs:
    case OP_maxu: return (struct advice){"a maximum", least_or_most(by->code, t)};
    case OP_min:
    case OP_mins:
    case OP_minu: return (struct advice){"a minimum", least_or_most(by->code, t)};
    default: return (struct advice){"a reduction", NULL};
    }
}

static void warn(struct search *s, const struct op *o, const struct fact *x)
{
    struct diag *d = s->e->diag;
    if (!s->warns || diag_has_warned(d, o->loc, ERR_masked_reduction))
        return;
    struct advice a = advice_for(o);
    diag_warn(d, o->loc, ERR_masked_reduction, a.what);
    diag_note(d, x->load->loc, ERR_note_masked_load);
    if (a.other)
        diag_hint(d, x->is_direct ? ERR_hint_other : ERR_hint_where, a.other, a.other);
    else
        diag_hint(d, ERR_hint_some_other);
}

/* Returns whether the reduction or dot o combines defined and undefined elements of operand i: whether the
 * operand mixes such elements in dimension `axis`, over which o reduces (K of a dot). If so, and if a result
 * of o is used, also warns. */
static bool combines_undefined(struct search *s, const struct op *o, int i, int axis)
{
    const struct fact *x = fact_of(s, op_opnd(o, i));
    bool takes = x->load && x->undefined >> axis & 1;
    bool is_used = false;
    for (int k = 0; k < o->nresults; k++)
        is_used |= has_uses(&o->results[k]);
    if (takes && is_used)
        warn(s, o, x);
    return takes;
}

static struct fact reduced(struct search *s, const struct op *o)
{
    int axis = (int)op_int(o, ATTR_axis);
    struct fact f = {0};
    for (int i = 0; i < o->nopnds; i++) {
        const struct fact *x = fact_of(s, op_opnd(o, i));
        f.varies |= remove_dim(x->varies, axis);
        if (!combines_undefined(s, o, i, axis) && x->load) {
            f.undefined |= remove_dim(x->undefined, axis);
            f.load = x->load;
        }
        f.is_index |= x->is_index;
    }
    return f;
}

static struct fact multiplied(struct search *s, const struct op *o)
{
    const struct type *t = o->results[0].type;
    const struct fact *a = fact_of(s, op_opnd(o, 0)), *b = fact_of(s, op_opnd(o, 1)),
                      *acc = fact_of(s, op_opnd(o, 2));
    uint32_t row = UINT32_C(1) << (t->rank - 2), column = UINT32_C(1) << (t->rank - 1);
    struct fact f = {.varies = dims_of(t), .load = acc->load, .undefined = acc->undefined};
    if (!combines_undefined(s, o, 0, t->rank - 1) && a->load) {
        f.load = a->load;
        f.undefined |= a->undefined & ~column;
    }
    if (!combines_undefined(s, o, 1, t->rank - 2) && b->load) {
        f.load = b->load;
        f.undefined |= b->undefined & ~row;
    }
    f.is_index = a->is_index || b->is_index || acc->is_index;
    return f;
}

/* -- the walk over the ops -- */

static void visit_block(struct search *s, struct block *b);

/* Joins the facts of n operands of `from`, beginning with operand `first`, into the n values `to`, which are arguments
 * of a block or results of an op. */
static void pass_facts(struct search *s, const struct op *from, int first, int n, struct value *const *to)
{
    for (int i = 0; i < n && first + i < from->nopnds; i++)
        if (op_opnd(from, first + i))
            join(s, to[i], fact_of(s, op_opnd(from, first + i)), false);
}

static void pass_to_results(struct search *s, const struct op *from, int first, struct op *o)
{
    for (int i = 0; i < o->nresults && first + i < from->nopnds; i++) {
        struct value *to = &o->results[i];
        pass_facts(s, from, first + i, 1, &to);
    }
}

static void visit_for(struct search *s, struct op *o)
{
    struct block *body = o->regions[0];
    pass_facts(s, o, 3, o->nresults, body->args.at + 1);
    visit_block(s, body);
    pass_facts(s, body->last, 0, o->nresults, body->args.at + 1);
    pass_to_results(s, o, 3, o);
    pass_to_results(s, body->last, 0, o);
}

static void visit_while(struct search *s, struct op *o)
{
    struct block *test = o->regions[0], *body = o->regions[1];
    pass_facts(s, o, 0, o->nopnds, test->args.at);
    visit_block(s, test);
    if (test->last->code == OP_condition) {
        pass_facts(s, test->last, 1, body->args.n, body->args.at);
        pass_to_results(s, test->last, 1, o);
    }
    visit_block(s, body);
    if (body->last->code == OP_yield)
        pass_facts(s, body->last, 0, test->args.n, test->args.at);
}

static void visit_if(struct search *s, struct op *o)
{
    for (int i = 0; i < o->nregions; i++) {
        visit_block(s, o->regions[i]);
        if (o->regions[i]->last && o->regions[i]->last->code == OP_yield)
            pass_to_results(s, o->regions[i]->last, 0, o);
    }
}

/* Returns the facts of the results of an op other than a loop or an `if`. */
static struct fact result_facts(struct search *s, const struct op *o)
{
    struct fact f = {.varies = o->nresults ? dims_of(o->results[0].type) : 0};
    switch (o->code) {
    case OP_const: return constant(&o->results[0]);
    case OP_range:
        f.is_index = f.varies != 0;
        bound(&f, op_int(o, ATTR_start), op_int(o, ATTR_end) - 1);
        return f;
    case OP_load: return loaded(s, o);
    case OP_reduce: return reduced(s, o);
    case OP_dot: return multiplied(s, o);
    case OP_map:
    case OP_asm: return elementwise(s, o);
    case OP_gather: break;
    default:
        if (o->nresults && o->nopnds &&
            (op_has(o, ELEMENTWISE) || op_info[o->code].family == FAMILY_shape || o->code == OP_splat))
            return elementwise(s, o);
    }
    f.is_index = f.varies != 0;
    return f;
}

static void visit_block(struct search *s, struct block *b)
{
    for (struct op *o = b->first; o; o = o->next) {
        if (o->code == OP_for)
            visit_for(s, o);
        else if (o->code == OP_while)
            visit_while(s, o);
        else if (o->code == OP_if)
            visit_if(s, o);
        else if (o->nresults) {
            struct fact f = result_facts(s, o);
            for (int i = 0; i < o->nresults; i++)
                join(s, &o->results[i], &f, true);
        }
    }
}

void trace_warn_undefined(struct eval *e, struct func *f, const struct map *loads)
{
    if (!loads->n)
        return;
    struct arena_mark mark = arena_mark(f->module->scratch);
    struct search s = {.e = e, .arena = f->module->scratch, .loads = loads};
    do {
        s.changed = false;
        visit_block(&s, f->body);
    } while (s.changed);
    s.warns = true;
    visit_block(&s, f->body);
    block_clear_notes(f->body);
    arena_reset(f->module->scratch, mark);
}
