/* SPDX-License-Identifier: MIT */
/* access_pattern.c: finds the box of an array that a load or store of a tile accesses. A box has strides, a start
 * and bounds.
 *
 *     address   A + 256 sm pid + 2 sm i0 + 128 trips + 2 i1        mask   128 pid + i0 - M < 0
 *
 *     dimension 0: stride 2 sm, from 128 pid, below M      dimension 1: stride 2, from 64 trips, no bound
 *
 * i0 and i1 are the tile's indices, `trips` is the number of finished iterations of a loop, and sm and M are uniform:
 * the launcher can compute them (affine.h). The stride of a dimension is the coefficient of the tile's index
 * along it. If a condition of the mask, such as 128 pid + i0 - M < 0, contains the tile's index along a
 * dimension, its other non-uniform terms (128 pid) are the start of the dimension, and its uniform terms (-M)
 * give the bound. The analysis then divides each remaining term of the address by the strides of the
 * dimensions that have no start yet. If a stride divides the term, the quotient becomes part of the start of
 * the stride's dimension. If no stride divides the term (for example pid times the stride of a batch), the
 * term becomes an additional dimension. */
#include "opt/analysis/affine.h"
#include "opt/analysis/value_range.h"

#include <string.h>

struct conditions {
    int n;
    struct poly f[CONDITIONS_MOST]; /* condition i is f[i] < 0 */
    bool some;                      /* whether `collect` ignores comparisons that it does not understand */
};

/* -- signs -- */

static bool is_nonnegative_opnd(struct affine_table *t, const struct op *o, int i, struct access *a)
{
    const struct affine *x = affine_of(t, op_opnd(o, i));
    return x && poly_is_nonnegative(t, &x->p, a);
}

/* Returns whether a guard that operand i is at least 0 may be added in order to prove that o's result is at
 * least 0. */
static bool may_guard(const struct op *o, int i)
{
    switch (o->code) {
    case OP_divs:
    case OP_rems: return i == 0;
    case OP_mul:
    case OP_mins: return true;
    case OP_select: return i > 0;
    default: return false;
    }
}

/* Returns whether v, the value of an atom, is a loop counter that is known to be at least 0: if it counts up,
 * its first value must be at least 0; if it counts down, its last value. A counter is an atom only if the
 * loop's step is negative or not a constant (affine.c). A step that is not a constant is assumed to be
 * positive. */
static bool is_nonnegative_counter(struct affine_table *t, const struct value *v)
{
    const struct op *loop = v->def || v->index ? NULL : v->block->parent;
    int64_t step;
    if (!loop || loop->code != OP_for)
        return false;
    if (!value_const_int(op_opnd(loop, 2), &step) || step > 0)
        return is_nonnegative_opnd(t, loop, 0, NULL);
    const struct affine *end = affine_of(t, op_opnd(loop, 1));
    struct poly one = poly_int(1), last;
    return end && poly_add(t, &last, &end->p, &one, 1) && poly_is_nonnegative(t, &last, NULL);
}

static bool is_nonnegative_value(struct affine_table *t, const struct value *v, struct access *a)
{
    enum { OPNDS_MOST = 3 };
    const struct op *o = v->def;
    if (!o)
        return is_nonnegative_counter(t, v);
    if (t->depth > t->f->module->params->access_pattern_depth)
        return false;
    bool x[OPNDS_MOST] = {false};
    t->depth++;
    for (int i = 0; i < o->nopnds && o->nopnds <= OPNDS_MOST && op_has(o, ELEMENTWISE); i++)
        x[i] = is_nonnegative_opnd(t, o, i, may_guard(o, i) ? a : NULL);
    t->depth--;
    return op_is_nonnegative(o, x, true);
}

static bool is_nonnegative_atom(struct affine_table *t, int atom, struct access *by)
{
    struct atom a = atom_of(t, atom);
    if (a.kind == ATOM_uniform || a.kind == ATOM_varying)
        return is_nonnegative_value(t, a.value, by);
    return a.kind != ATOM_carried;
}

/* Returns whether the uniform polynomial p is at least 0, either always or under a guard that the function adds to
 * a. */
static bool is_nonnegative_factor(struct affine_table *t, const struct poly *p, struct access *a)
{
    bool known = true;
    for (int i = 0; i < p->n; i++) {
        known = known && p->at[i].factor > 0;
        for (int k = 0; k < p->at[i].natoms; k++)
            known = known && is_nonnegative_atom(t, p->at[i].atoms[k], NULL);
    }
    if (known)
        return true;
    int64_t number;
    if (!a || a->nguards == GUARDS_MOST || poly_const(p, &number))
        return false;
    a->guards[a->nguards++] = *p;
    return true;
}

bool poly_is_nonnegative(struct affine_table *t, const struct poly *p, struct access *a)
{
    struct poly rest = *p;
    while (!poly_is_uniform(t, &rest)) {
        int i = 0;
        while (term_atom(t, &rest.at[i]) < 0)
            i++;
        int atom = term_atom(t, &rest.at[i]);
        struct poly factor = poly_take(&rest, atom, &rest);
        if (!is_nonnegative_atom(t, atom, a) || !is_nonnegative_factor(t, &factor, a))
            return false;
    }
    return is_nonnegative_factor(t, &rest, a);
}

/* -- masks -- */

static const char *const no_bounds = "the mask is no conjunction of bounds";

/* Adds the condition x - y + more < 0. Dimension d of x and y is dimension to[d] of the access. Returns false
 * if there is no room for the condition. */
static bool add_condition(struct affine_table *t, struct conditions *c, const struct poly *x,
                          const struct poly *y, int64_t more, const int *to)
{
    struct poly f, one = poly_int(more);
    return c->n < CONDITIONS_MOST && poly_add(t, &f, x, y, -1) && poly_add(t, &f, &f, &one, 1) &&
           poly_rename(t, &c->f[c->n++], &f, to);
}

static bool compare(struct affine_table *t, const struct op *o, const int *to, struct conditions *c)
{
    const struct affine *x = affine_of(t, op_opnd(o, 0)), *y = affine_of(t, op_opnd(o, 1));
    struct poly none = {0};
    if (!x || !y || x->base >= 0 || y->base >= 0)
        return false;
    switch ((enum pred)op_int(o, ATTR_pred)) {
    case PRED_ult:
        if (!poly_is_nonnegative(t, &y->p, NULL) || !add_condition(t, c, &none, &x->p, -1, to))
            return false;
        return add_condition(t, c, &x->p, &y->p, 0, to);
    case PRED_slt: return add_condition(t, c, &x->p, &y->p, 0, to);
    case PRED_sle: return add_condition(t, c, &x->p, &y->p, -1, to);
    case PRED_sgt: return add_condition(t, c, &y->p, &x->p, 0, to);
    case PRED_sge: return add_condition(t, c, &y->p, &x->p, -1, to);
    default: return false;
    }
}

static bool collect(struct affine_table *t, const struct value *v, const int *to, struct conditions *c);

/* Collects the conditions of both operands of an `and`. Returns whether both operands are understood; if
 * c->some, whether at least one is. */
static bool collect_both(struct affine_table *t, const struct op *o, const int *to, struct conditions *c)
{
    int known = 0;
    for (int i = 0; i < 2 && (known == i || c->some); i++) {
        const int n = c->n;
        if (collect(t, op_opnd(o, i), to, c))
            known++;
        else
            c->n = n;
    }
    return c->some ? known > 0 : known == 2;
}

/* Collects in c the conditions under which v is true. Dimension d of v is dimension to[d] of the access.
 * Returns false if v is not a conjunction of comparisons that the analysis understands. */
static bool collect(struct affine_table *t, const struct value *v, const int *to, struct conditions *c)
{
    const struct op *o = v->def;
    uint64_t bits;
    if (value_const_bits(v, &bits))
        return bits != 0;
    if (!o)
        return false;
    int inner[RANK_MAX];
    memcpy(inner, to, sizeof inner);
    switch (o->code) {
    case OP_and: return collect_both(t, o, to, c);
    case OP_cmp: return compare(t, o, to, c);
    case OP_trans:
        for (int d = 0; d < v->type->rank; d++)
            inner[op_attr(o, ATTR_order)->list[d]] = to[d];
        break;
    case OP_expand_dims:
        for (int d = (int)op_int(o, ATTR_axis); d < RANK_MAX - 1; d++)
            inner[d] = to[d + 1];
        break;
    case OP_splat:
    case OP_broadcast: break;
    default: return false;
    }
    return collect(t, op_opnd(o, 0), inner, c);
}

static bool conditions_of(struct affine_table *t, const struct value *mask, bool some, struct conditions *c)
{
    int same[RANK_MAX];
    for (int d = 0; d < RANK_MAX; d++)
        same[d] = d;
    c->n = 0;
    c->some = some;
    return !mask || collect(t, mask, same, c);
}

bool mask_implies(struct affine_table *t, const struct value *mask, int dim, const struct poly *f)
{
    struct conditions c;
    struct poly wanted;
    int to[RANK_MAX] = {dim};
    if (!mask || !conditions_of(t, mask, true, &c) || !poly_rename(t, &wanted, f, to))
        return false;
    for (int i = 0; i < c.n; i++)
        if (poly_equal(&c.f[i], &wanted))
            return true;
    return false;
}

/* -- computing a box from an address and conditions -- */

struct finder {
    struct affine_table *t;
    struct access *a;
    struct poly rest;         /* the terms of the address that are not yet part of the box */
    bool has_start[RANK_MAX]; /* has_start[d]: a condition has set the start of dimension d */
    bool any_stride;          /* accept broadcast dimensions and any strides */
    bool any_start;           /* accept starts that may be negative */
    const char *why;          /* the reason why there is no box */
};

PRINTF_LIKE(2, 3) static bool refuse(struct finder *x, const char *format, ...)
{
    struct text s;
    text_init(&s, x->t->f->module->scratch);
    va_list args;
    va_start(args, format);
    text_vprintf(&s, format, args);
    va_end(args);
    x->why = s.s;
    return false;
}

/* Returns the terms of p that are not uniform, and sets *uniform to the other terms. */
static struct poly split(const struct affine_table *t, const struct poly *p, struct poly *uniform)
{
    struct poly varying = {0}, rest = {0};
    for (int i = 0; i < p->n; i++) {
        struct poly *to = term_atom(t, &p->at[i]) < 0 ? &rest : &varying;
        to->at[to->n++] = p->at[i];
    }
    *uniform = rest;
    return varying;
}

/* Adds the bound f < 0 along d, where f = start + i + uniform, and i is the index along d. `start`, the sum
 * of the non-uniform terms of f without i, becomes the dimension's start. */
static bool add_bound(struct finder *x, int d, const struct poly *f, bool is_modulo)
{
    struct access_dim *dim = &x->a->dims[d];
    struct poly without, uniform;
    poly_take(f, d, &without);
    struct poly start = split(x->t, &without, &uniform);
    if (x->has_start[d] && !poly_equal(&start, &dim->start))
        return refuse(x, "dimension %d has bounds on different indices", d);
    if (dim->nbounds == 2)
        return refuse(x, "dimension %d has more than two bounds", d);
    dim->start = start;
    x->has_start[d] = true;
    dim->bounds[dim->nbounds++] = (struct bound){uniform, *f, is_modulo};
    return true;
}

/* Adds the lower bound f < 0 along d, where f = -(start + i + uniform) - 1: that is, start + i + uniform >=
 * 0. */
static bool add_lower_bound(struct finder *x, int d, const struct poly *f)
{
    struct access_dim *dim = &x->a->dims[d];
    struct poly negative, uniform, without, one = poly_int(1), none = {0};
    if (!poly_add(x->t, &negative, &none, f, -1) || !poly_add(x->t, &negative, &negative, &one, -1))
        return refuse(x, "%s", no_bounds);
    poly_take(&negative, d, &without);
    struct poly start = split(x->t, &without, &uniform);
    if ((x->has_start[d] && !poly_equal(&start, &dim->start)) || dim->is_bounded_below)
        return refuse(x, "dimension %d has bounds on different indices", d);
    /* start + uniform becomes the dimension's start: the condition then says that no index is below 0, and
     * the bounds change accordingly. */
    for (int i = 0; i < dim->nbounds; i++)
        if (!poly_add(x->t, &dim->bounds[i].more, &dim->bounds[i].more, &uniform, -1))
            return refuse(x, "%s", no_bounds);
    if (!poly_add(x->t, &dim->start, &start, &uniform, 1))
        return refuse(x, "%s", no_bounds);
    dim->is_bounded_below = true;
    x->has_start[d] = true;
    return true;
}

/* Returns whether the condition f < 0 is x % n < n, which is always true. */
static bool is_idle(struct finder *x, const struct poly *f)
{
    for (int i = 0; i < f->n; i++) {
        int atom = term_atom(x->t, &f->at[i]);
        struct atom a = atom < 0 ? (struct atom){0} : atom_of(x->t, atom);
        struct poly self = poly_atom(atom), bound, own;
        struct modulo w;
        if (atom >= 0 && a.kind == ATOM_modulo && modulo_of(x->t, a.value, &w))
            return poly_add(x->t, &bound, f, &self, -1) && poly_add(x->t, &own, &w.f, &w.index, -1) &&
                   poly_equal(&bound, &own);
    }
    return false;
}

/* Adds the mask's conditions as bounds of dimensions. Adds lower bounds last, because they add uniform terms
 * to a dimension's start, and add_bound compares starts that have no uniform terms. */
static bool add_conditions(struct finder *x, const struct conditions *c)
{
    for (int lower = 0; lower < 2; lower++)
        for (int i = 0; i < c->n; i++) {
            int64_t way = 0;
            int d = poly_counts_along(x->t, &c->f[i], &way);
            if (d < 0 && is_idle(x, &c->f[i]))
                continue;
            if (d < 0)
                return refuse(x, "%s", no_bounds);
            if (way < 0 ? lower && !add_lower_bound(x, d, &c->f[i])
                        : !lower && !add_bound(x, d, &c->f[i], false))
                return false;
        }
    return true;
}

/* Replaces each wrapped index (x % n) in the address by x, and adds the bound x < n to the dimension. */
static bool drop_modulo(struct finder *x)
{
    for (int i = 0; i < x->rest.n;) {
        int atom = term_atom(x->t, &x->rest.at[i]);
        struct atom a = atom < 0 ? (struct atom){0} : atom_of(x->t, atom);
        i++;
        if (atom < 0 || a.kind != ATOM_modulo)
            continue;
        struct modulo w;
        struct poly index, f, more;
        int to[RANK_MAX];
        for (int d = 0; d < RANK_MAX; d++)
            to[d] = a.dim;
        struct poly stride = poly_take(&x->rest, atom, &x->rest);
        if (!modulo_of(x->t, a.value, &w) || !poly_rename(x->t, &index, &w.index, to) ||
            !poly_rename(x->t, &f, &w.f, to) || !poly_mul(x->t, &more, &index, &stride) ||
            !poly_add(x->t, &x->rest, &x->rest, &more, 1))
            return refuse(x, "the address has too many terms");
        if (!add_bound(x, a.dim, &f, true))
            return false;
        i = 0;
    }
    return true;
}

static bool find_strides(struct finder *x, const struct type *tile)
{
    int64_t bytes;
    x->a->contiguous = -1;
    for (int d = 0; d < tile->rank; d++) {
        struct access_dim *dim = &x->a->dims[d];
        dim->stride = poly_take(&x->rest, d, &x->rest);
        if (dim->stride.n == 0 && !x->any_stride)
            return refuse(x, "dimension %d is broadcast, or has one element", d);
        if (!poly_is_uniform(x->t, &dim->stride))
            return refuse(x, "the stride of dimension %d is not the same throughout the launch", d);
        if (poly_const(&dim->stride, &bytes) && bytes == type_elem_bytes(type_elem(tile)->elem))
            x->a->contiguous = d;
    }
    return !tile->rank || x->a->contiguous >= 0 || x->any_stride || refuse(x, "no dimension is contiguous");
}

/* Subtracts start times stride from the remaining address, for each dimension whose start a condition has
 * set. */
static bool subtract_starts(struct finder *x)
{
    for (int d = 0; d < x->a->tile_rank; d++) {
        struct poly bytes;
        if (x->has_start[d] && (!poly_mul(x->t, &bytes, &x->a->dims[d].start, &x->a->dims[d].stride) ||
                                !poly_add(x->t, &x->rest, &x->rest, &bytes, -1)))
            return refuse(x, "the address has too many terms");
    }
    return true;
}

/* *factor is the coefficient of the atom in the rest of the address. Divides *factor by the stride of
 * dimension d, adds the quotient times the atom to the start of d, and leaves the remainder in *factor. */
static bool divide(struct finder *x, int d, int atom, struct poly *factor)
{
    struct access_dim *dim = &x->a->dims[d];
    struct poly q, self = poly_atom(atom);
    int64_t bytes;
    if (x->has_start[d] || !dim->stride.n)
        return true;
    if (!poly_divide(x->t, factor, &dim->stride, &q, factor))
        return refuse(x, "the address has too many terms");
    /* A constant stride also divides many coefficients that belong to other dimensions. So the quotient is
     * added to the start of d only if it is constant too. */
    if (poly_const(&dim->stride, &bytes) && !poly_const(&q, &bytes)) {
        struct poly back;
        if (!poly_mul(x->t, &back, &q, &dim->stride) || !poly_add(x->t, factor, factor, &back, 1))
            return refuse(x, "the address has too many terms");
        return true;
    }
    return (poly_mul(x->t, &q, &q, &self) && poly_add(x->t, &dim->start, &dim->start, &q, 1)) ||
           refuse(x, "the address has too many terms");
}

static bool add_dim(struct finder *x, int atom, const struct poly *stride)
{
    if (x->a->ndims == ACCESS_DIMS_MOST)
        return refuse(x, "it takes more than %d dimensions", ACCESS_DIMS_MOST);
    x->a->dims[x->a->ndims++] =
        (struct access_dim){.tile_dim = -1, .stride = *stride, .start = poly_atom(atom)};
    return true;
}

/* Divides the remaining terms of the address by the strides, first by the strides that are not constant: if
 * such a stride divides a term, the term certainly belongs to the stride's dimension. */
static bool distribute(struct finder *x)
{
    struct poly varying = split(x->t, &x->rest, &x->a->offset);
    while (varying.n) {
        int atom = term_atom(x->t, &varying.at[0]);
        struct poly factor = poly_take(&varying, atom, &varying);
        for (int numbers = 0; numbers < 2; numbers++)
            for (int d = 0; d < x->a->tile_rank && factor.n; d++) {
                int64_t bytes;
                if (poly_const(&x->a->dims[d].stride, &bytes) == (numbers == 1) &&
                    !divide(x, d, atom, &factor))
                    return false;
            }
        if (factor.n && !add_dim(x, atom, &factor))
            return false;
    }
    return true;
}

bool starts_inside(struct affine_table *t, struct access *a, int d)
{
    return a->dims[d].is_bounded_below || poly_is_nonnegative(t, &a->dims[d].start, a);
}

static bool check_starts(struct finder *x)
{
    for (int d = 0; d < x->a->ndims && !x->any_start; d++)
        if (!starts_inside(x->t, x->a, d))
            return refuse(x, "the start of dimension %d may be negative", d);
    return true;
}

/* Handles an address that decreases from iteration to iteration, in a loop that counts by 1 between uniform
 * bounds. Let n be the number of iterations. Replaces the atom `trips` in the address by n - 1 - trips, so
 * that the atom then stands for the number of iterations after the current one. The atom still has the values
 * 0 to n - 1, but its coefficient becomes positive. */
static bool count_from_last(struct finder *x)
{
    for (int i = 0; i < x->rest.n; i++) {
        const int atom = term_atom(x->t, &x->rest.at[i]);
        const struct atom a = atom < 0 ? (struct atom){0} : atom_of(x->t, atom);
        int64_t step;
        if (atom < 0 || a.kind != ATOM_trips || x->rest.at[i].factor > 0)
            continue;
        const struct affine *lo = affine_of(x->t, op_opnd(a.loop, 0)),
                            *hi = affine_of(x->t, op_opnd(a.loop, 1));
        struct poly last, jump, rest, one = poly_int(1), none = {0}, self = poly_atom(atom),
                                      factor = poly_take(&x->rest, atom, &rest);
        bool falls = true;
        for (int k = 0; k < factor.n; k++)
            falls = falls && factor.at[k].factor < 0;
        if (!falls || !value_const_int(op_opnd(a.loop, 2), &step) || step != 1 || !lo || !hi ||
            !poly_is_uniform(x->t, &lo->p) || !poly_is_uniform(x->t, &hi->p))
            continue;
        if (!poly_add(x->t, &last, &hi->p, &lo->p, -1) || !poly_add(x->t, &last, &last, &one, -1) ||
            !poly_mul(x->t, &jump, &factor, &last) || !poly_add(x->t, &rest, &rest, &jump, 1) ||
            !poly_add(x->t, &factor, &none, &factor, -1) || !poly_mul(x->t, &jump, &factor, &self) ||
            !poly_add(x->t, &x->rest, &rest, &jump, 1))
            return refuse(x, "the address has too many terms");
        i = -1;
    }
    return true;
}

/* The boxes that a caller accepts. TAKES_maps: only boxes that a tensor map can describe. TAKES_any_start: also boxes
 * that may start below 0. TAKES_any_stride: also boxes with broadcast dimensions or any stride. */
enum taking { TAKES_maps, TAKES_any_start, TAKES_any_stride };

/* Computes the box from the address and the mask's conditions c (NULL: the conditions are unknown). Returns NULL, or
 * the reason why there is no box. */
static const char *find(struct affine_table *t, const struct op *o, const struct conditions *c,
                        enum taking taking, struct access *out)
{
    const bool any_stride = taking == TAKES_any_stride;
    const struct type *tile = op_opnd(o, 0)->type;
    *out = (struct access){.ndims = tile->rank, .tile_rank = tile->rank};
    if (tile->rank > ACCESS_DIMS_MOST)
        return "it is no tile of 1 to 5 dimensions";
    for (int d = 0; d < tile->rank; d++)
        out->dims[d].tile_dim = d;
    t->why = NULL;
    const struct affine *address = affine_of(t, op_opnd(o, 0));
    if (!address || address->base < 0)
        return t->why ? t->why : "the address starts from no parameter";
    struct finder x = {.t = t,
                       .a = out,
                       .rest = address->p,
                       .any_stride = any_stride,
                       .any_start = taking == TAKES_any_start};
    out->base = address->base;
    if (!c)
        return no_bounds;
    bool found = drop_modulo(&x) && (!any_stride || c->n || count_from_last(&x)) && find_strides(&x, tile) &&
                 add_conditions(&x, c) && subtract_starts(&x) && distribute(&x) && check_starts(&x);
    return found ? NULL : x.why;
}

/* Collects in c the conditions of the access's mask. Returns false if the mask is not a conjunction of
 * comparisons that the analysis understands. */
static bool conditions_of_access(struct affine_table *t, const struct op *o, struct conditions *c)
{
    const struct value *mask = o->code == OP_load         ? op_opnd(o, 1)
                               : o->code == OP_atomic_cas ? NULL
                                                          : op_opnd(o, 2);
    return conditions_of(t, type_is_tile(op_opnd(o, 0)->type) ? mask : NULL, false, c);
}

const char *access_of(struct affine_table *t, const struct op *o, struct access *out)
{
    struct conditions c;
    return find(t, o, conditions_of_access(t, o, &c) ? &c : NULL, TAKES_maps, out);
}

const char *box_of(struct affine_table *t, const struct op *o, struct access *out)
{
    struct conditions c;
    return find(t, o, conditions_of_access(t, o, &c) ? &c : NULL, TAKES_any_start, out);
}

const char *extents_of(struct affine_table *t, const struct op *o, struct access *out)
{
    struct conditions c, none = {0};
    if (conditions_of_access(t, o, &c) && !find(t, o, &c, TAKES_any_stride, out))
        return NULL;
    return find(t, o, &none, TAKES_any_stride, out);
}

void access_print(const struct affine_table *t, const struct access *a, struct text *out)
{
    text_printf(out, "%%%s", t->f->body->args.at[a->base]->name);
    if (a->offset.n) {
        text_str(out, " + ");
        poly_print(t, &a->offset, out);
    }
    for (int d = 0; d < a->ndims; d++) {
        const struct access_dim *dim = &a->dims[d];
        text_printf(out, "; %s %d: stride ", dim->tile_dim < 0 ? "outer dimension" : "dimension", d);
        poly_print(t, &dim->stride, out);
        text_str(out, ", from ");
        poly_print(t, &dim->start, out);
        for (int i = 0; i < dim->nbounds; i++) {
            struct poly extent, none = {0};
            poly_add(t, &extent, &none, &dim->bounds[i].more, -1);
            text_str(out, dim->bounds[i].is_modulo ? ", wrapped at " : ", below ");
            poly_print(t, &extent, out);
        }
    }
}

/* -- translating polynomials into launcher expressions and into ops -- */

static bool atom_expr(struct affine_table *t, int atom, struct expr *out)
{
    static const struct {
        enum opcode op;
        enum expr_code code;
    } rows[] = {{OP_divs, EXPR_div}, {OP_rems, EXPR_rem}, {OP_mins, EXPR_min},
                {OP_maxs, EXPR_max}, {OP_mul, EXPR_mul},  {OP_add, EXPR_add}};
    struct atom a = atom_of(t, atom);
    struct arena *arena = t->f->module->arena;
    if (a.kind != ATOM_uniform)
        return false;
    const struct op *o = a.value->def;
    if (!o || o->code == OP_num_programs) {
        expr_push(arena, out, o ? EXPR_grid : EXPR_param, o ? op_int(o, ATTR_axis) : a.value->index);
        return true;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == o->code) {
            bool good = poly_expr(t, &affine_of(t, op_opnd(o, 0))->p, out) &&
                        poly_expr(t, &affine_of(t, op_opnd(o, 1))->p, out);
            expr_push(arena, out, rows[i].code, 0);
            return good;
        }
    return false;
}

bool poly_expr(struct affine_table *t, const struct poly *p, struct expr *out)
{
    struct arena *arena = t->f->module->arena;
    for (int i = 0; i < p->n; i++) {
        const struct term *x = &p->at[i];
        for (int k = 0; k < x->natoms; k++) {
            if (!atom_expr(t, x->atoms[k], out))
                return false;
            if (k)
                expr_push(arena, out, EXPR_mul, 0);
        }
        if (!x->natoms || x->factor != 1)
            expr_push(arena, out, EXPR_const, x->factor);
        if (x->natoms && x->factor != 1)
            expr_push(arena, out, EXPR_mul, 0);
        if (i)
            expr_push(arena, out, EXPR_add, 0);
    }
    if (!p->n)
        expr_push(arena, out, EXPR_const, 0);
    return true;
}

static struct value *as_i32(struct builder *b, struct value *v)
{
    const struct type *i32 = type_scalar(b->func->module, DT_i32);
    return v->type == i32 ? v : build_cast(b, OP_trunc, v, i32);
}

/* Builds the number of the loop's finished iterations, which the caller multiplies by *factor. If the loop's
 * step is a constant that divides *factor, builds the counter minus its first value instead, and divides
 * *factor by the step. */
static struct value *build_trips(struct builder *b, const struct op *loop, int64_t *factor)
{
    struct value *lo = op_opnd(loop, 0), *step = op_opnd(loop, 2),
                 *n = as_i32(b, loop->regions[0]->args.at[0]);
    int64_t by, from;
    if (!value_const_int(lo, &from) || from != 0)
        n = build_binary(b, OP_sub, n, as_i32(b, lo));
    if (value_const_int(step, &by) && by != 0 && *factor % by == 0) {
        *factor /= by;
        return n;
    }
    return build_binary(b, OP_divs, n, as_i32(b, step));
}

static struct value *build_term(struct affine_table *t, struct builder *b, const struct term *x)
{
    const struct type *i32 = type_scalar(t->f->module, DT_i32);
    int64_t factor = x->factor;
    struct value *r = NULL;
    for (int k = 0; k < x->natoms; k++) {
        struct atom a = atom_of(t, x->atoms[k]);
        /* The cast drops const from a value of the function that this pass rewrites. */
        struct value *v = a.kind == ATOM_trips ? build_trips(b, a.loop, &factor)
                                               : as_i32(b, (struct value *)(uintptr_t)a.value);
        r = r ? build_binary(b, OP_mul, r, v) : v;
    }
    if (r && factor == 1)
        return r;
    struct value *by = build_const_int(b, i32, factor);
    return r ? build_binary(b, OP_mul, r, by) : by;
}

struct value *poly_build(struct affine_table *t, struct builder *b, const struct poly *p)
{
    struct value *sum = NULL;
    for (int i = 0; i < p->n; i++) {
        struct value *x = build_term(t, b, &p->at[i]);
        sum = sum ? build_binary(b, OP_add, sum, x) : x;
    }
    return sum ? sum : build_const_i32(b, 0);
}
