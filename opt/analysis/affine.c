/* SPDX-License-Identifier: MIT */
/* affine.c: expresses indices and addresses as sums of products of tile indices and scalars.
 *
 *     %pid = program_id            pid
 *     %r   = range 0 .. 128        i0                                  (the tile's index along dimension 0)
 *     %m   = %pid * 128 + %r       128 pid + i0
 *     %o   = %m * %stride          128 stride pid + stride i0          (stride is uniform in the launch)
 *     %p   = %A + %o               A + 256 stride pid + 2 stride i0    (in bytes; an f16 has 2)
 *     for ... carry(%q = %p) {     A + ... + 128 trips                 (trips: number of finished iterations)
 *       yield %q + 64
 *
 * The form of a value is a polynomial; its variables are called atoms. A scalar is uniform if the launcher
 * can compute it from the arguments and the size of the grid. Each term has at most one atom that is not
 * uniform. Polynomials are over the integers, not modulo 2^32: index arithmetic that overflows is an error of
 * the program, which the interpreter reports. A scalar that is not a sum or product of forms becomes an atom.
 * A tile that is not a sum or product of forms has no form.
 *
 * For a loop-carried value, the analysis introduces an atom and computes the form of the yielded value. If
 * this form is the atom plus an increment that is the same in all iterations, the form of the carried value
 * is its initial value plus increment times trips. */
#include "opt/analysis/affine.h"

#include "opt/passes.h"

#include <inttypes.h>
#include <string.h>

/* The forms of the values in a loop's body, while the analysis uses an atom for a carried value of the loop.
 * `outer` and the scopes outside of it hold the forms of values that are defined outside of the loop. */
struct affine_scope {
    struct map known;            /* maps a value to its struct affine */
    const struct value *carried; /* the carried value that is an atom in this scope */
    const struct op *loop;       /* the loop of this scope; NULL: the function */
    struct affine_scope *outer;
};

/* -- atoms -- */

struct atom atom_of(const struct affine_table *t, int atom)
{
    return atom < RANK_MAX ? (struct atom){.kind = ATOM_index, .dim = atom} : t->atoms.at[atom - RANK_MAX];
}

static int atom_add(struct affine_table *t, struct atom a)
{
    for (int i = 0; i < t->atoms.n; i++) {
        const struct atom *x = &t->atoms.at[i];
        if (x->kind == a.kind && x->dim == a.dim && x->value == a.value && x->loop == a.loop)
            return RANK_MAX + i;
    }
    VEC_PUSH(t->f->module->scratch, &t->atoms, a);
    return RANK_MAX + t->atoms.n - 1;
}

static bool is_uniform_atom(const struct affine_table *t, int atom)
{
    return atom_of(t, atom).kind == ATOM_uniform;
}

int term_atom(const struct affine_table *t, const struct term *x)
{
    for (int i = 0; i < x->natoms; i++)
        if (!is_uniform_atom(t, x->atoms[i]))
            return x->atoms[i];
    return -1;
}

/* -- polynomials -- */

struct poly poly_int(int64_t i)
{
    return (struct poly){.n = i != 0, .at = {{.factor = i}}};
}

struct poly poly_atom(int atom)
{
    return (struct poly){.n = 1, .at = {{.factor = 1, .natoms = 1, .atoms = {atom}}}};
}

/* Returns a negative number if x precedes y in a polynomial, 0 if both have the same atoms, else a positive
 * one. */
static int compare(const struct term *x, const struct term *y)
{
    if (x->natoms != y->natoms)
        return y->natoms - x->natoms;
    for (int i = 0; i < x->natoms; i++)
        if (x->atoms[i] != y->atoms[i])
            return x->atoms[i] - y->atoms[i];
    return 0;
}

static bool add_term(struct poly *p, const struct term *x)
{
    int i = 0;
    while (i < p->n && compare(&p->at[i], x) < 0)
        i++;
    if (i < p->n && compare(&p->at[i], x) == 0) {
        if (__builtin_add_overflow(p->at[i].factor, x->factor, &p->at[i].factor))
            return false;
        if (p->at[i].factor == 0)
            memmove(&p->at[i], &p->at[i + 1], (size_t)(--p->n - i) * sizeof *p->at);
        return true;
    }
    if (p->n == TERMS_MOST)
        return false;
    memmove(&p->at[i + 1], &p->at[i], (size_t)(p->n++ - i) * sizeof *p->at);
    p->at[i] = *x;
    return true;
}

bool poly_add(const struct affine_table *t, struct poly *r, const struct poly *x, const struct poly *y,
              int64_t times)
{
    (void)t;
    struct poly sum = *x;
    for (int i = 0; i < y->n; i++) {
        struct term m = y->at[i];
        if (__builtin_mul_overflow(m.factor, times, &m.factor) || (m.factor && !add_term(&sum, &m)))
            return false;
    }
    *r = sum;
    return true;
}

static bool mul_terms(const struct affine_table *t, struct term *r, const struct term *x,
                      const struct term *y)
{
    struct term m = {.natoms = x->natoms + y->natoms};
    if (m.natoms > ATOMS_MOST || __builtin_mul_overflow(x->factor, y->factor, &m.factor))
        return false;
    for (int i = 0, a = 0, b = 0; i < m.natoms; i++)
        m.atoms[i] =
            b == y->natoms || (a < x->natoms && x->atoms[a] <= y->atoms[b]) ? x->atoms[a++] : y->atoms[b++];
    *r = m;
    return term_atom(t, x) < 0 || term_atom(t, y) < 0;
}

bool poly_mul(const struct affine_table *t, struct poly *r, const struct poly *x, const struct poly *y)
{
    struct poly product = {0};
    for (int i = 0; i < x->n; i++)
        for (int k = 0; k < y->n; k++) {
            struct term m;
            if (!mul_terms(t, &m, &x->at[i], &y->at[k]) || !add_term(&product, &m))
                return false;
        }
    *r = product;
    return true;
}

/* Sets *q to the quotient of the terms x and y. Returns false if y does not divide x. */
static bool divide_terms(struct term *q, const struct term *x, const struct term *y)
{
    struct term r = {.factor = x->factor / y->factor};
    if (x->factor % y->factor != 0)
        return false;
    int k = 0;
    for (int i = 0; i < x->natoms; i++)
        if (k < y->natoms && x->atoms[i] == y->atoms[k])
            k++;
        else
            r.atoms[r.natoms++] = x->atoms[i];
    *q = r;
    return k == y->natoms;
}

bool poly_divide(const struct affine_table *t, const struct poly *x, const struct poly *y, struct poly *q,
                 struct poly *rest)
{
    enum { STEPS_MOST = 4 * TERMS_MOST };
    struct poly left = *x, quotient = {0}, remains = {0};
    for (int step = 0; left.n && y->n; step++) {
        struct poly factor = {.n = 1}, product;
        if (step == STEPS_MOST)
            return false;
        if (divide_terms(&factor.at[0], &left.at[0], &y->at[0])) {
            if (!poly_mul(t, &product, &factor, y) || !poly_add(t, &left, &left, &product, -1) ||
                !add_term(&quotient, &factor.at[0]))
                return false;
        } else {
            struct term first = left.at[0];
            struct poly only = {.n = 1, .at = {first}};
            if (!add_term(&remains, &first) || !poly_add(t, &left, &left, &only, -1))
                return false;
        }
    }
    *q = quotient;
    *rest = remains;
    return y->n > 0;
}

struct poly poly_take(const struct poly *x, int atom, struct poly *rest)
{
    struct poly with = {0}, without = {0};
    for (int i = 0; i < x->n; i++) {
        struct term m = x->at[i];
        int at = 0;
        while (at < m.natoms && m.atoms[at] != atom)
            at++;
        if (at == m.natoms) {
            without.at[without.n++] = m;
            continue;
        }
        memmove(&m.atoms[at], &m.atoms[at + 1], (size_t)(--m.natoms - at) * sizeof *m.atoms);
        add_term(&with, &m);
    }
    *rest = without;
    return with;
}

bool poly_equal(const struct poly *a, const struct poly *b)
{
    for (int i = 0; a->n == b->n && i < a->n; i++)
        if (compare(&a->at[i], &b->at[i]) != 0 || a->at[i].factor != b->at[i].factor)
            return false;
    return a->n == b->n;
}

bool poly_const(const struct poly *p, int64_t *i)
{
    *i = p->n ? p->at[0].factor : 0;
    return p->n == 0 || (p->n == 1 && p->at[0].natoms == 0);
}

bool poly_is_uniform(const struct affine_table *t, const struct poly *p)
{
    for (int i = 0; i < p->n; i++)
        if (term_atom(t, &p->at[i]) >= 0)
            return false;
    return true;
}

static void print_atom(const struct affine_table *t, int atom, struct text *out)
{
    struct atom a = atom_of(t, atom);
    if (a.kind == ATOM_index)
        text_printf(out, "i%d", a.dim);
    else if (a.kind == ATOM_trips)
        text_printf(out, "trips(%%%s)", a.loop->regions[0]->args.at[0]->name);
    else
        text_printf(out, "%s%%%s", a.kind == ATOM_modulo ? "wrapped " : "", a.value->name);
}

void poly_print(const struct affine_table *t, const struct poly *p, struct text *out)
{
    text_str(out, p->n ? "" : "0");
    for (int i = 0; i < p->n; i++) {
        const struct term *x = &p->at[i];
        int64_t size = x->factor < 0 && i ? -x->factor : x->factor;
        text_str(out, i == 0 ? "" : x->factor < 0 ? " - " : " + ");
        if (size != 1 || !x->natoms)
            text_printf(out, "%" PRId64 "%s", size, x->natoms ? " " : "");
        for (int k = 0; k < x->natoms; k++) {
            text_str(out, k ? " " : "");
            print_atom(t, x->atoms[k], out);
        }
    }
}

/* -- values -- */

static const struct affine *lookup(struct affine_table *t, const struct value *v);

static bool refuse(struct affine_table *t, const struct value *v, const char *why)
{
    struct text s;
    text_init(&s, t->f->module->scratch);
    text_printf(&s, "%%%s %s", v->name, why);
    t->why = s.s;
    return false;
}

/* Returns whether the elements of t are integers of 32 or 64 bits, with which the launcher can compute. */
static bool is_index(const struct type *t)
{
    return type_is_int(t) && type_elem_bits(t) >= 32;
}

static bool launcher_computes(struct affine_table *t, const struct value *v)
{
    if (!v->def)
        return !v->block->parent;
    switch (v->def->code) {
    case OP_num_programs: return true;
    case OP_divs:
    case OP_rems:
    case OP_mins:
    case OP_maxs:
    case OP_mul:
    case OP_add: break;
    default: return false;
    }
    for (int i = 0; i < v->def->nopnds; i++)
        if (!poly_is_uniform(t, &lookup(t, op_opnd(v->def, i))->p))
            return false;
    return true;
}

static struct poly scalar_atom(struct affine_table *t, const struct value *v)
{
    bool uniform = is_index(v->type) && launcher_computes(t, v);
    return poly_atom(atom_add(t, (struct atom){.kind = uniform ? ATOM_uniform : ATOM_varying, .value = v}));
}

bool poly_rename(struct affine_table *t, struct poly *r, const struct poly *p, const int *to)
{
    struct poly renamed = {0};
    for (int i = 0; i < p->n; i++) {
        struct term m = p->at[i];
        int own = term_atom(t, &m);
        struct atom a = own >= 0 ? atom_of(t, own) : (struct atom){0};
        if (own >= 0 && (a.kind == ATOM_index || a.kind == ATOM_modulo)) {
            struct poly one = {.n = 1, .at = {m}}, none;
            a.dim = to[a.dim];
            struct poly factor = poly_take(&one, own, &none);
            struct poly atom = poly_atom(a.kind == ATOM_index ? a.dim : atom_add(t, a));
            if (!poly_mul(t, &one, &factor, &atom))
                return false;
            m = one.at[0];
        }
        if (!add_term(&renamed, &m))
            return false;
    }
    *r = renamed;
    return true;
}

static bool shape_op(struct affine_table *t, const struct op *o, const struct affine *x, struct affine *r)
{
    int to[RANK_MAX];
    const struct attr *order = op_attr(o, ATTR_order);
    for (int d = 0; d < RANK_MAX; d++)
        to[d] = o->code == OP_expand_dims && d >= op_int(o, ATTR_axis) ? d + 1 : d;
    for (int d = 0; o->code == OP_trans && d < order->n; d++)
        to[order->list[d]] = d;
    *r = *x;
    return poly_rename(t, &r->p, &x->p, to);
}

static bool product(struct affine_table *t, const struct op *o, struct affine *r)
{
    struct affine x = *lookup(t, op_opnd(o, 0)), y = *lookup(t, op_opnd(o, 1));
    int64_t by;
    if (o->code == OP_shl) {
        if (!poly_const(&y.p, &by) || by < 0 || by > 30)
            return refuse(t, op_result(o), "is no sum of products with uniform factors");
        y.p = poly_int(INT64_C(1) << by);
    }
    return poly_mul(t, &r->p, &x.p, &y.p) ||
           refuse(t, op_result(o), "is no sum of products with uniform factors");
}

static bool sum(struct affine_table *t, const struct op *o, struct affine *r)
{
    struct affine x = *lookup(t, op_opnd(o, 0)), y = *lookup(t, op_opnd(o, 1));
    int64_t times = o->code == OP_sub      ? -1
                    : o->code == OP_addptr ? type_elem_bytes(type_elem(op_result(o)->type)->elem)
                                           : 1;
    r->base = x.base;
    return poly_add(t, &r->p, &x.p, &y.p, times) || refuse(t, op_result(o), "has too many terms");
}

/* If o is a wrapped index, x % n or (x < n ? x : 0), sets the form in *r to an atom and returns true;
 * otherwise returns false. modulo_of later derives x and n from the atom's value. */
static bool modulo_index(struct affine_table *t, const struct op *o, struct affine *r)
{
    struct modulo w;
    if (!modulo_of(t, op_result(o), &w))
        return refuse(t, op_result(o), "is no sum of indices with uniform factors");
    r->p = poly_atom(atom_add(t, (struct atom){.kind = ATOM_modulo, .dim = w.dim, .value = op_result(o)}));
    return true;
}

int poly_counts_along(const struct affine_table *t, const struct poly *p, int64_t *way)
{
    int dim = -1;
    for (int i = 0; i < p->n; i++) {
        int atom = term_atom(t, &p->at[i]);
        if (atom < 0 || atom_of(t, atom).kind != ATOM_index)
            continue;
        *way = p->at[i].factor;
        if (dim >= 0 || p->at[i].natoms != 1 || (*way != 1 && *way != -1))
            return -1;
        dim = atom;
    }
    return dim;
}

/* Returns the tile dimension whose index has coefficient 1 in x, or -1. */
static int counted_dim(const struct affine_table *t, const struct poly *x)
{
    int64_t way = 0;
    int dim = poly_counts_along(t, x, &way);
    return dim >= 0 && way == 1 ? dim : -1;
}

bool modulo_of(struct affine_table *t, const struct value *v, struct modulo *w)
{
    const struct op *o = v->def, *c = o->code == OP_select ? op_opnd(o, 0)->def : NULL;
    const struct value *x = op_opnd(o, c ? 1 : 0), *n = op_opnd(o, 1);
    if (c) {
        bool is_less = c->code == OP_cmp && op_int(c, ATTR_pred) == PRED_slt && op_opnd(c, 0) == x;
        uint64_t bits;
        if (!is_less || !value_const_bits(op_opnd(o, 2), &bits) || bits != 0)
            return false;
        n = op_opnd(c, 1);
    }
    const struct affine *index = lookup(t, x), *bound = lookup(t, n);
    if (!index || !bound || !poly_is_uniform(t, &bound->p))
        return false;
    w->index = index->p;
    w->dim = counted_dim(t, &index->p);
    return w->dim >= 0 && poly_add(t, &w->f, &index->p, &bound->p, -1);
}

static bool all_known(struct affine_table *t, const struct op *o)
{
    for (int i = 0; i < o->nopnds; i++)
        if (!lookup(t, op_opnd(o, i)))
            return false;
    return true;
}

static bool range(const struct op *o, struct affine *r)
{
    int64_t start = op_int(o, ATTR_start);
    r->p = poly_int(start);
    struct term index = {.factor = 1, .natoms = 1, .atoms = {0}};
    return op_int(o, ATTR_end) == start + 1 || add_term(&r->p, &index);
}

static bool result_of(struct affine_table *t, const struct op *o, struct affine *r)
{
    const struct type *type = op_result(o)->type;
    if (!type_is_ptr(type) && !is_index(type))
        return refuse(t, op_result(o), "is no integer of 32 or 64 bits");
    switch (o->code) {
    case OP_const: r->p = poly_int(op_int(o, ATTR_value)); return true;
    case OP_range: return range(o, r);
    case OP_rems:
    case OP_select:
        if (type_is_int(type) && type_is_tile(type))
            return modulo_index(t, o, r);
        break;
    case OP_splat:
    case OP_broadcast:
    case OP_expand_dims:
    case OP_trans:
    case OP_hint:
    case OP_sext:
    case OP_bitcast: {
        const struct affine *x = lookup(t, op_opnd(o, 0));
        if (type_is_ptr(type) != type_is_ptr(op_opnd(o, 0)->type))
            break;
        return x && shape_op(t, o, x, r);
    }
    case OP_zext: {
        const struct affine *x = lookup(t, op_opnd(o, 0));
        if (!x || !poly_is_nonnegative(t, &x->p, NULL))
            break;
        *r = *x;
        return true;
    }
    case OP_add:
    case OP_sub:
    case OP_addptr: return all_known(t, o) && sum(t, o, r);
    case OP_mul:
    case OP_shl: return all_known(t, o) && product(t, o, r);
    default: break;
    }
    return refuse(t, op_result(o),
                  type_is_ptr(type) ? "is no sum of a parameter and an index"
                                    : "is no sum of indices with uniform factors");
}

/* -- loops -- */

static struct poly trips(struct affine_table *t, const struct op *loop)
{
    return poly_atom(atom_add(t, (struct atom){.kind = ATOM_trips, .loop = loop}));
}

/* Computes the form of the loop's counter: its first value plus step times trips. If the step is negative or
 * not a constant, the form is instead an atom that stands for the counter. The reasons: with a negative step,
 * trips would have a negative factor, and no analysis could prove that the counter is at least 0. With a step
 * that is not a constant, the largest value of the counter is known, but the largest value of trips is
 * not. */
static bool counter(struct affine_table *t, const struct op *loop, struct affine *r)
{
    int64_t by;
    if (!value_const_int(op_opnd(loop, 2), &by) || by < 0) {
        r->p = scalar_atom(t, loop->regions[0]->args.at[0]);
        return true;
    }
    struct affine lo = *lookup(t, op_opnd(loop, 0)), step = *lookup(t, op_opnd(loop, 2));
    struct poly n = trips(t, loop), way;
    return poly_mul(t, &way, &step.p, &n) && poly_add(t, &r->p, &lo.p, &way, 1);
}

/* Returns whether p, the increment of a carried value, has the same value in all iterations of the loop. */
static bool is_invariant(const struct affine_table *t, const struct poly *p, const struct op *loop)
{
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->at[i].natoms; k++) {
            struct atom a = atom_of(t, p->at[i].atoms[k]);
            bool inside = a.kind == ATOM_trips ? a.loop == loop || op_is_inside(a.loop, loop)
                                               : a.kind != ATOM_index && !value_is_outside(a.value, loop);
            if (inside || a.kind == ATOM_carried)
                return false;
        }
    return true;
}

static bool is_busy(const struct affine_table *t, const struct value *v)
{
    for (const struct affine_scope *s = t->scope; s; s = s->outer)
        if (s->carried == v)
            return true;
    return false;
}

static bool carried(struct affine_table *t, const struct value *v, struct affine *r)
{
    const struct op *loop = v->block->parent;
    const struct affine *init = is_busy(t, v) ? NULL : lookup(t, op_opnd(loop, v->index + 2));
    if (!init)
        return false;
    struct affine start = *init, self = {.is_known = true, .base = start.base};
    struct affine_scope inner = {.carried = v, .loop = loop, .outer = t->scope};
    int name = atom_add(t, (struct atom){.kind = ATOM_carried, .value = v});
    self.p = poly_atom(name);
    map_init(&inner.known, t->f->module->scratch);
    *map_at_ptr(&inner.known, v) = &self;
    t->scope = &inner;
    const struct affine *next = lookup(t, op_opnd(loop->regions[0]->last, v->index - 1));
    t->scope = inner.outer;
    struct poly n = trips(t, loop), way;
    struct affine back = next ? *next : (struct affine){0};
    struct poly one = poly_take(&back.p, name, &back.p), unit = poly_int(1);
    r->base = start.base;
    return next && back.base == start.base && poly_equal(&one, &unit) && is_invariant(t, &back.p, loop) &&
           poly_mul(t, &way, &back.p, &n) && poly_add(t, &r->p, &start.p, &way, 1);
}

bool is_single_trip(const struct affine_table *t, const struct op *loop)
{
    for (int i = 0; i < t->nsingle_trips; i++)
        if (t->single_trips[i] == loop)
            return true;
    return false;
}

static bool argument_of(struct affine_table *t, const struct value *v, struct affine *r)
{
    const struct op *by = v->block->parent;
    if (!by && type_is_ptr(v->type)) {
        r->base = v->index;
        return true;
    }
    if (by && is_single_trip(t, by)) {
        const struct affine *init = lookup(t, op_opnd(by, v->index ? v->index + 2 : 0));
        *r = init ? *init : *r;
        return init != NULL;
    }
    if (by && by->code == OP_for && (type_is_ptr(v->type) || is_index(v->type)) &&
        (v->index == 0 ? counter(t, by, r) : carried(t, v, r)))
        return true;
    return refuse(t, v, "does not advance by the same amount in each iteration");
}

/* -- the lookup of values -- */

static struct affine_scope *scope_of(struct affine_table *t, const struct value *v)
{
    struct affine_scope *s = t->scope;
    while (s->loop && value_is_outside(v, s->loop))
        s = s->outer;
    return s;
}

static const struct affine *lookup(struct affine_table *t, const struct value *v)
{
    struct affine_scope *s = scope_of(t, v), *was = t->scope;
    void **found = map_get_ptr(&s->known, v);
    struct affine *r = found ? *found : NEW(t->f->module->scratch, struct affine);
    if (found)
        return r->is_known ? r : NULL;
    r->base = -1;
    t->scope = s;
    if (t->depth++ < t->f->module->params->affine_depth)
        r->is_known = v->def ? result_of(t, v->def, r) : argument_of(t, v, r);
    else
        refuse(t, v, "is computed in too many steps");
    t->depth--;
    if (!r->is_known && !type_is_tile(v->type) && !type_is_ptr(v->type)) {
        *r = (struct affine){.is_known = true, .base = -1};
        r->p = scalar_atom(t, v);
    }
    t->scope = was;
    *map_at_ptr(&s->known, v) = r;
    return r->is_known ? r : NULL;
}

const struct affine *affine_of(struct affine_table *t, const struct value *v)
{
    return lookup(t, v);
}

struct affine_table *affine_new(struct func *f)
{
    struct affine_table *t = NEW(f->module->scratch, struct affine_table);
    t->f = f;
    t->scope = NEW(f->module->scratch, struct affine_scope);
    map_init(&t->scope->known, f->module->scratch);
    return t;
}
