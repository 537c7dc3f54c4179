/* SPDX-License-Identifier: MIT */
/* proof.c: computes which elements of a tensor an access can reach in any launch, and whether two programs of the
 * grid can access the same element.
 *
 *     rows = 64 pm + i, columns = 64 pn + j          elements 0 to sc (M - 1) + N - 1 of C, if sc >= 0
 *     store C + sc rows + columns,             =>    distinct programs, distinct elements, if sc >= N: the address
 *         rows < M and columns < N                   determines the row and the column, these determine pm and pn,
 *                                                    and pm and pn determine the program
 *
 * The box of an access (access_pattern.c) has an index for each dimension. Sort the dimensions by their
 * strides. The address determines the indices, as a number determines its digits, if each stride is at least
 * the next smaller stride times the extent of the dimension with that smaller stride. An index is in turn a
 * sum of the tile's index and of scalars times constants, and the same rule says which of these scalars the
 * index determines. A quotient x / y and a remainder x % y together determine x. In this way the analysis
 * proceeds from the indices to the program ids. A condition that depends on arguments (is a stride large
 * enough?) becomes a guard. The analysis assumes, as affine.c does, that index arithmetic does not overflow
 * and that divisors are positive. */
#include "opt/analysis/analysis.h"
#include "opt/analysis/proof.h"

#include <string.h>

enum { KNOWN_MOST = 64 };

struct prover {
    struct affine_table *t;
    struct proofs *out;
};

/* -- elements -- */

/* Sets *q to p, converted from bytes to elements. Returns false if a term is not a multiple of the element's
 * size. */
static bool in_elements(const struct poly *p, int bytes, struct poly *q)
{
    *q = *p;
    for (int i = 0; i < q->n; i++) {
        if (q->at[i].factor % bytes)
            return false;
        q->at[i].factor /= bytes;
    }
    return true;
}

static int element_bytes(const struct op *access)
{
    return type_elem_bytes(type_elem(op_opnd(access, 0)->type)->elem);
}

/* Sets p->first and p->last to the first and the last element that the access can reach. Returns false if the
 * launcher cannot compute them. */
static bool reach(struct affine_table *t, const struct access *a, struct proof *p)
{
    struct arena *arena = t->f->module->arena;
    const struct type *tile = op_opnd(p->op, 0)->type;
    struct poly elements;
    const int bytes = element_bytes(p->op);
    if (!in_elements(&a->offset, bytes, &elements) || !poly_expr(t, &elements, &p->first) ||
        !poly_expr(t, &elements, &p->last))
        return false;
    for (int d = 0; d < a->ndims; d++) {
        const struct access_dim *dim = &a->dims[d];
        if (!dim->stride.n)
            continue;
        if (!in_elements(&dim->stride, bytes, &elements) || !last_expr(t, dim, tile, &p->guards, &p->last) ||
            !poly_expr(t, &elements, &p->last))
            return false;
        expr_push(arena, &p->last, EXPR_mul, 0);
        expr_push(arena, &p->last, EXPR_add, 0);
    }
    return true;
}

/* Adds guards which require that no stride is negative. Returns false if the launcher cannot compute a stride
 * in elements. */
static bool guard_strides(struct affine_table *t, const struct access *a, int bytes, struct guards *g)
{
    for (int d = 0; d < a->ndims; d++) {
        struct poly elements;
        int64_t number;
        if (!in_elements(&a->dims[d].stride, bytes, &elements))
            return false;
        if (poly_const(&elements, &number) && number >= 0)
            continue;
        struct expr *e = guard_new(g);
        if (!e || !poly_expr(t, &elements, e))
            return false;
    }
    return true;
}

static const char *bound(struct affine_table *t, const struct access *a, struct proof *p)
{
    if (!guards_of(t, a, &p->guards) || !guard_strides(t, a, element_bytes(p->op), &p->guards))
        return "a condition on its address is no expression of the arguments";
    return reach(t, a, p) ? NULL : "how far it reaches is no expression of the arguments and the grid";
}

/* -- which values follow from others -- */

struct known {
    const struct value *at[KNOWN_MOST];
    int n;
};

static bool has(const struct known *k, const struct value *v)
{
    for (int i = 0; i < k->n; i++)
        if (k->at[i] == v)
            return true;
    return false;
}

static void learn(struct known *k, const struct value *v)
{
    if (!has(k, v) && k->n < KNOWN_MOST)
        k->at[k->n++] = v;
}

/* Returns whether the known values, which the address determines, also determine v. Constants and scalars that the
 * launcher can compute count as known, because they are the same in all programs. */
static bool follows(struct affine_table *t, const struct known *k, const struct value *v, int depth)
{
    enum { DEPTH_MOST = 12 };
    const struct affine *x = affine_of(t, v);
    const struct op *o = v->def;
    if (has(k, v) || (x && x->base < 0 && poly_is_uniform(t, &x->p)))
        return true;
    if (!o || depth > DEPTH_MOST || !op_has(o, PURE) || o->code == OP_program_id || !o->nopnds || o->nregions)
        return false;
    for (int i = 0; i < o->nopnds; i++)
        if (op_opnd(o, i) && !follows(t, k, op_opnd(o, i), depth + 1))
            return false;
    return true;
}

/* v is a known value. If v is the sum of known values and of one unknown scalar times a constant, then this
 * scalar becomes known too. */
static void learn_summand(struct affine_table *t, struct known *k, const struct value *v)
{
    const struct affine *x = affine_of(t, v);
    const struct value *only = NULL;
    for (int i = 0; x && x->base < 0 && i < x->p.n; i++) {
        int atom = term_atom(t, &x->p.at[i]);
        struct atom a = atom < 0 ? (struct atom){0} : atom_of(t, atom);
        if (atom < 0 || (a.kind == ATOM_varying && follows(t, k, a.value, 0)))
            continue;
        if (a.kind != ATOM_varying || only || x->p.at[i].natoms != 1)
            return;
        only = a.value;
    }
    if (only)
        learn(k, only);
}

struct pairs {
    struct affine_table *t;
    struct known *known;
};

/* If o is a known quotient x / y, and x % y and y are known too, makes x known. */
static void visit_quotient(struct op *o, void *ctx)
{
    struct pairs *p = ctx;
    if (o->code != OP_divs || type_is_tile(op_result(o)->type) || !has(p->known, op_result(o)) ||
        !follows(p->t, p->known, op_opnd(o, 1), 0))
        return;
    for (const struct use *u = op_opnd(o, 0)->uses; u; u = u->next)
        if (u->user->code == OP_rems && op_opnd(u->user, 0) == op_opnd(o, 0) &&
            op_opnd(u->user, 1) == op_opnd(o, 1) && has(p->known, op_result(u->user)))
            learn(p->known, op_opnd(o, 0));
}

/* Returns whether v determines the program's id along the axis: v is the id itself, or a loop counter that
 * starts at the id and has a uniform step. Sets *step to NULL if v is the id, and to the counter's step if v
 * is a counter. For a counter, the caller must add a guard which requires that the step is at least the size
 * of the grid, so that the id is v modulo the step. */
static bool gives_program(struct affine_table *t, const struct value *v, int axis, const struct value **step)
{
    const struct op *o = v->def, *loop = o || v->index ? NULL : v->block->parent;
    *step = NULL;
    if (o)
        return o->code == OP_program_id && op_int(o, ATTR_axis) == axis;
    if (!loop || loop->code != OP_for)
        return false;
    const struct op *lo = op_opnd(loop, 0)->def;
    const struct affine *by = affine_of(t, op_opnd(loop, 2));
    *step = op_opnd(loop, 2);
    return lo && lo->code == OP_program_id && op_int(lo, ATTR_axis) == axis && by &&
           poly_is_uniform(t, &by->p);
}

/* Adds a guard which requires that x (NULL: the number 1) is at least the size of the grid along the axis.
 * Returns false if the guard cannot be added. */
static bool guard_grid(struct affine_table *t, const struct value *x, int axis, struct guards *g)
{
    struct arena *arena = t->f->module->arena;
    struct expr *e = guard_new(g), out = {0};
    if (!e || (x && !poly_expr(t, &affine_of(t, x)->p, &out)))
        return false;
    if (!x)
        expr_push(arena, &out, EXPR_const, 1);
    expr_push(arena, &out, EXPR_grid, axis);
    expr_push(arena, &out, EXPR_sub, 0);
    *e = out;
    return true;
}

/* Adds to the known values all values that they determine. Then adds guards under which they determine the
 * program. For an axis whose program id is not known, the guard requires that the grid has one program along
 * this axis. For an axis whose program id is known from a loop counter, the guard requires that the counter's
 * step is at least the size of the grid. Returns false if a guard cannot be added. */
static bool guard_axes(struct affine_table *t, struct known *k, struct guards *g)
{
    enum { AXES = 3 };
    struct pairs p = {t, k};
    for (int before = -1; before != k->n;) {
        before = k->n;
        func_walk(t->f, visit_quotient, &p);
        for (int i = 0; i < k->n; i++)
            learn_summand(t, k, k->at[i]);
    }
    for (int axis = 0; axis < AXES; axis++) {
        const struct value *step = NULL;
        bool known = false;
        for (int i = 0; i < k->n && !known; i++)
            known = gives_program(t, k->at[i], axis, &step);
        if ((!known || step) && !guard_grid(t, known ? step : NULL, axis, g))
            return false;
    }
    return true;
}

/* -- indices -- */

/* Sorts the terms of a dimension's start by their constant factors, the largest first. Returns false if a
 * non-uniform term is not a single atom times a positive constant. */
static bool sort_digits(const struct affine_table *t, struct poly *p)
{
    for (int i = 0; i < p->n; i++) {
        if (term_atom(t, &p->at[i]) >= 0 && (p->at[i].natoms != 1 || p->at[i].factor < 1))
            return false;
        for (int k = i; k > 0 && p->at[k - 1].factor < p->at[k].factor; k--) {
            struct term swap = p->at[k];
            p->at[k] = p->at[k - 1];
            p->at[k - 1] = swap;
        }
    }
    return true;
}

/* Adds to the known values the scalars in the index of dimension d, if the index determines them: each
 * scalar's factor must exceed the largest sum of the tile's index and of the terms with smaller factors. Adds
 * a guard for a factor for which this condition is not always true. Returns NULL, or the reason why the index
 * does not determine its scalars. */
static const char *digits(struct affine_table *t, const struct access_dim *d, const struct type *tile,
                          struct guards *g, struct known *k)
{
    struct arena *arena = t->f->module->arena;
    struct poly start = d->start;
    const int64_t own = d->tile_dim < 0 ? 1 : tile->shape[d->tile_dim];
    struct expr rest = {0};
    expr_push(arena, &rest, EXPR_const, own);
    if (!sort_digits(t, &start))
        return "a program's place is no sum of program ids times constants";
    for (int i = start.n - 1, more = 0; i >= 0; i--) {
        int atom = term_atom(t, &start.at[i]);
        if (atom < 0)
            continue;
        struct atom a = atom_of(t, atom);
        if (!more && start.at[i].factor < own)
            return "the tiles of neighbouring programs overlap";
        if (more) {
            struct expr *e = guard_new(g);
            if (!e)
                return "it takes too many conditions";
            expr_push(arena, e, EXPR_const, start.at[i].factor);
            for (int s = 0; s < rest.n; s++)
                expr_push(arena, e, rest.at[s].code, rest.at[s].i);
            expr_push(arena, e, EXPR_sub, 0);
        }
        struct poly one = {.n = 1, .at = {start.at[i]}};
        if (i > 0 && !largest_expr(t, &one, 0, g, &rest))
            return "the largest value of a scalar in its address is no expression of the arguments and the "
                   "grid";
        if (i > 0)
            expr_push(arena, &rest, EXPR_add, 0);
        more++;
        if (a.kind == ATOM_varying)
            learn(k, a.value);
        else if (a.kind != ATOM_trips)
            return "its address wraps around";
    }
    return NULL;
}

static bool wraps(const struct access_dim *d)
{
    for (int i = 0; i < d->nbounds; i++)
        if (d->bounds[i].is_modulo)
            return true;
    return false;
}

/* Finds the conditions under which the address determines the program. Returns NULL if there are such conditions, else
 * the reason why the address may belong to several programs. */
static const char *separate(struct affine_table *t, const struct access *a, struct proof *p)
{
    const struct type *tile = op_opnd(p->op, 0)->type;
    struct known known = {.n = 0};
    for (int i = 0; i < a->ndims; i++) {
        const struct access_dim *d = &a->dims[i];
        struct proof_dim *out = &p->dims[p->ndims];
        struct poly elements;
        if (!d->stride.n)
            continue;
        p->ndims++;
        *out = (struct proof_dim){{0}, {0}};
        if (wraps(d))
            return "its index wraps around";
        if (!in_elements(&d->stride, element_bytes(p->op), &elements) ||
            !poly_expr(t, &elements, &out->stride) || !last_expr(t, d, tile, &p->apart, &out->last))
            return "how far a dimension reaches is no expression of the arguments and the grid";
        const char *why = digits(t, d, tile, &p->apart, &known);
        if (why)
            return why;
    }
    return guard_axes(t, &known, &p->apart) ? NULL : "it takes too many conditions";
}

/* -- windows -- */

/* Splits the start of a dimension: sets *place to the terms with scalars that differ between programs, and
 * *rest to the other terms. */
static void split_start(struct affine_table *t, const struct poly *start, struct poly *place,
                        struct poly *rest)
{
    *place = *rest = (struct poly){0};
    for (int i = 0; i < start->n; i++) {
        int atom = term_atom(t, &start->at[i]);
        struct atom a = atom < 0 ? (struct atom){0} : atom_of(t, atom);
        bool differs = atom >= 0 && a.kind == ATOM_varying && value_depends_on(a.value, true);
        if (differs && (value_depends_on(a.value, true) & DEPENDS_ON_more))
            differs = a.value->def == NULL; /* a counter */
        struct poly *to = differs ? place : rest;
        to->at[to->n++] = start->at[i];
    }
}

/* Appends to *out the last index along d that a program accesses, relative to the program's place (struct
 * proof_window). `place` and `rest` are the two parts of the start of d (split_start). */
static bool last_from_place(struct affine_table *t, const struct access_dim *d, const struct poly *place,
                            const struct poly *rest, const struct type *tile, struct guards *g,
                            struct expr *out)
{
    struct access_dim own = *d;
    if (place->n) /* the mask bounds the sum of place and index, not the index alone */
        own.nbounds = 0;
    own.start = *rest;
    return last_expr(t, &own, tile, g, out);
}

static const char *add_scalars(struct affine_table *t, struct proof_window *w, struct known *known)
{
    for (int i = 0; i < w->place.n; i++) {
        struct poly whole = {.n = 1, .at = {w->place.at[i]}}, rest, one;
        int atom = term_atom(t, &w->place.at[i]);
        struct proof_dim *s = &w->scalars[w->n];
        if (w->n == ACCESS_DIMS_MOST)
            return "too many scalars differ between programs";
        *s = (struct proof_dim){{0}, {0}};
        w->n++;
        one = poly_atom(atom);
        struct poly factor = poly_take(&whole, atom, &rest);
        if (!poly_expr(t, &factor, &s->stride) || !largest_expr(t, &one, 0, &w->guards, &s->last))
            return "the largest value of a scalar in its address is no expression of the arguments and the "
                   "grid";
        learn(known, atom_of(t, atom).value);
    }
    return NULL;
}

static const char *find_window(struct affine_table *t, const struct access *a, struct proof *p)
{
    struct arena *arena = t->f->module->arena;
    struct proof_window *w = &p->window;
    const struct type *tile = op_opnd(p->op, 0)->type;
    const int bytes = element_bytes(p->op);
    struct known known = {.n = 0};
    struct poly elements;
    if (!in_elements(&a->offset, bytes, &elements) || !poly_expr(t, &elements, &w->first) ||
        !poly_expr(t, &elements, &w->last))
        return "its offset is no number of elements";
    for (int i = 0; i < a->ndims; i++) {
        const struct access_dim *d = &a->dims[i];
        struct poly place, rest, more;
        if (!d->stride.n)
            continue;
        if (wraps(d))
            return "its index wraps around";
        split_start(t, &d->start, &place, &rest);
        if (!in_elements(&d->stride, bytes, &elements) || !poly_mul(t, &more, &place, &elements) ||
            !poly_add(t, &w->place, &w->place, &more, 1) ||
            !last_from_place(t, d, &place, &rest, tile, &w->guards, &w->last) ||
            !poly_expr(t, &elements, &w->last))
            return "how far a program reaches is no expression of the arguments";
        expr_push(arena, &w->last, EXPR_mul, 0);
        expr_push(arena, &w->last, EXPR_add, 0);
    }
    const char *why = add_scalars(t, w, &known);
    if (why)
        return why;
    return guard_axes(t, &known, &p->window_apart) ? NULL : "it takes too many conditions";
}

/* -- the parameter from which an address starts -- */

/* Returns the number of the parameter from which pointer v is computed; -1 if it is unknown. While the search
 * follows the value that a loop yields for a carried pointer, `inside` is this pointer; otherwise it is NULL.
 * If the search reaches `inside`, returns SELF. */
static int base_behind(const struct value *v, const struct value *inside, int depth)
{
    enum { DEPTH_MOST = 32, SELF = -2, INITS = 3 };
    for (; v->def; v = op_opnd(v->def, 0)) {
        const enum opcode code = v->def->code;
        if (depth++ > DEPTH_MOST ||
            (code != OP_addptr && code != OP_splat && code != OP_broadcast && code != OP_expand_dims &&
             code != OP_reshape && code != OP_trans && code != OP_hint))
            return -1;
    }
    const struct op *loop = v->block->parent;
    if (!loop)
        return v->index;
    if (v == inside)
        return SELF;
    if (loop->code != OP_for || v->index == 0 || inside)
        return -1;
    int first = base_behind(op_opnd(loop, INITS + v->index - 1), NULL, depth),
        next = base_behind(op_opnd(block_terminator(v->block), v->index - 1), v, depth);
    return next == SELF || next == first ? first : -1;
}

/* -- the walk -- */

static bool is_access(const struct op *o)
{
    return o->code == OP_load || o->code == OP_store || o->code == OP_atomic_rmw || o->code == OP_atomic_cas;
}

static void visit(struct op *o, void *ctx)
{
    struct prover *v = ctx;
    struct affine_table *t = v->t;
    struct access a;
    if (!is_access(o)) {
        const bool is_opaque = o->code == OP_asm_effect || o->code == OP_host_call;
        v->out->has_other_writes = v->out->has_other_writes || is_opaque || op_has(o, WRITES);
        return;
    }
    struct proof p = {.op = o, .base = -1, .like = -1};
    p.is_atomic = o->code == OP_atomic_rmw || o->code == OP_atomic_cas;
    p.reads = o->code == OP_load;
    p.writes = !p.reads;
    const struct affine *x = affine_of(t, op_opnd(o, 0));
    p.base = x && x->base >= 0 ? x->base : base_behind(op_opnd(o, 0), NULL, 0);
    p.unbounded = p.shared = p.window.unknown = extents_of(t, o, &a);
    if (p.base >= 0 && (!x || x->base < 0))
        p.unbounded = p.shared = "its index is no sum of arguments, program ids, counters and lanes";
    if (!p.unbounded) {
        p.unbounded = bound(t, &a, &p);
        p.shared = separate(t, &a, &p);
        p.window.unknown = find_window(t, &a, &p);
    }
    VEC_PUSH(t->f->module->arena, v->out, p);
}

/* For each load, finds a store with an equal address, and sets `like`. If no other program accesses the
 * elements that the store writes, then no other program accesses the elements that the load reads either. */
static void pair_loads(struct prover *v)
{
    for (int i = 0; i < v->out->n; i++) {
        struct proof *load = &v->out->at[i];
        const struct affine *x = load->reads ? affine_of(v->t, op_opnd(load->op, 0)) : NULL;
        for (int k = 0; x && k < v->out->n; k++) {
            const struct proof *store = &v->out->at[k];
            const struct affine *y =
                store->writes && !store->is_atomic ? affine_of(v->t, op_opnd(store->op, 0)) : NULL;
            if (y && x->base >= 0 && x->base == y->base && poly_equal(&x->p, &y->p))
                load->like = k;
        }
    }
}

void prove_accesses(struct func *f, struct proofs *out)
{
    struct prover v = {.t = affine_new(f), .out = out};
    v.t->is_proof = true;
    func_walk(f, visit, &v);
    pair_loads(&v);
}
