/* SPDX-License-Identifier: MIT */
/* alias.c: decides whether the kernel may have written memory that a load reads. If the answer depends on arguments,
 * alias.c adds a guard that the launch checks.
 *
 *     store %Mean + pid, %x                          guard: Mean - (X + 4 stride (grid - 1) + 4 N) >= 0 or
 *     %a = load %X + stride pid + %cols, %cols < N          X - (Mean + 4 grid) >= 0
 *
 * In the example, elements have 4 bytes. The array of an access extends from the parameter's address (plus
 * the uniform offset of the access) to the bounds in the access's mask. In a dimension without a bound, the
 * array extends to the last element that any program of the grid accesses. Two accesses through the same
 * parameter are assumed to overlap. */
#include "opt/analysis/affine.h"
#include "opt/analysis/analysis.h"
#include "opt/passes.h"

/* -- the extent of an array -- */

bool extent_expr(struct affine_table *t, const struct access_dim *d, struct expr *out)
{
    /* Coordinates have 31 bits. The driver accepts an extent of 2^32 in a tensor map, but a copy with this map fails
     * with an "illegal instruction" error. */
    const int64_t largest = INT64_C(1) << 31;
    struct poly none = {0}, extent;
    for (int i = 0; i < d->nbounds; i++) {
        if (!poly_add(t, &extent, &none, &d->bounds[i].more, -1) || !poly_expr(t, &extent, out))
            return false;
        if (i)
            expr_push(t->f->module->arena, out, EXPR_min, 0);
    }
    if (!d->nbounds)
        expr_push(t->f->module->arena, out, EXPR_const, largest);
    return true;
}

bool base_expr(struct affine_table *t, const struct access *a, struct expr *out)
{
    expr_push(t->f->module->arena, out, EXPR_param, a->base);
    if (!a->offset.n)
        return true;
    bool good = poly_expr(t, &a->offset, out);
    expr_push(t->f->module->arena, out, EXPR_add, 0);
    return good;
}

/* -- the maximum of a value over all programs and iterations -- */

static bool largest_opnd(struct affine_table *t, const struct op *o, int i, int depth, struct guards *g,
                         struct expr *out)
{
    const struct affine *x = affine_of(t, op_opnd(o, i));
    return x && x->base < 0 && largest_expr(t, &x->p, depth + 1, g, out);
}

/* Appends an upper bound of o, which is x / y or x % y. Returns false if x may be negative, or if y is not
 * uniform; for proof.c, y need not be uniform. Assumes that y is positive, because all divisors in
 * index arithmetic are positive. */
static bool largest_quotient(struct affine_table *t, const struct op *o, int depth, struct guards *g,
                             struct expr *out)
{
    struct arena *arena = t->f->module->arena;
    const struct affine *x = affine_of(t, op_opnd(o, 0)), *y = affine_of(t, op_opnd(o, 1));
    if (!x || !y || !poly_is_nonnegative(t, &x->p, NULL))
        return false;
    if (!poly_is_uniform(t, &y->p)) { /* x / y is at most x, and x % y is less than y */
        bool known = t->is_proof && largest_opnd(t, o, o->code == OP_divs ? 0 : 1, depth, g, out);
        expr_push(arena, out, EXPR_const, o->code == OP_divs ? 0 : 1);
        expr_push(arena, out, EXPR_sub, 0);
        return known;
    }
    bool is_quotient = o->code == OP_divs, good = !is_quotient || largest_opnd(t, o, 0, depth, g, out);
    good = good && poly_expr(t, &y->p, out);
    expr_push(arena, out, is_quotient ? EXPR_div : EXPR_const, is_quotient ? 0 : 1);
    if (!is_quotient)
        expr_push(arena, out, EXPR_sub, 0);
    return good;
}

/* Returns whether the loop counts up. If its step is not a constant, adds a guard which requires that the step is
 * positive. */
static bool counts_up(struct affine_table *t, const struct op *loop, struct guards *g)
{
    struct arena *arena = t->f->module->arena;
    int64_t step;
    if (value_const_int(op_opnd(loop, 2), &step))
        return step > 0;
    const struct affine *x = affine_of(t, op_opnd(loop, 2));
    struct expr *e = guard_new(g), out = {0};
    if (!e || !x || !poly_expr(t, &x->p, &out))
        return false;
    expr_push(arena, &out, EXPR_const, 1);
    expr_push(arena, &out, EXPR_sub, 0);
    *e = out;
    return true;
}

/* Appends an upper bound of o, which is min(x, y): the smaller of the upper bounds of x and y, or, if the
 * bound of only one of them is known, this bound. */
static bool least_maximum(struct affine_table *t, const struct op *o, int depth, struct guards *g,
                          struct expr *out)
{
    int found = 0;
    for (int i = 0; i < 2; i++) {
        const int nsteps = out->n, nguards = g->n;
        if (largest_opnd(t, o, i, depth, g, out)) {
            found++;
        } else {
            out->n = nsteps;
            g->n = nguards;
        }
    }
    if (found == 2)
        expr_push(t->f->module->arena, out, EXPR_min, 0);
    return found > 0;
}

static bool largest_value(struct affine_table *t, const struct value *v, int depth, struct guards *g,
                          struct expr *out)
{
    struct arena *arena = t->f->module->arena;
    const struct op *o = v->def ? v->def : v->block->parent;
    if (!o || (!v->def && v->index))
        return false;
    switch (o->code) {
    case OP_for: { /* a counter */
        int64_t step;
        if (!v->def && value_const_int(op_opnd(o, 2), &step) && step < 0)
            return largest_opnd(t, o, 0, depth, g, out);
        bool good = !v->def && (!t->is_proof || counts_up(t, o, g)) && largest_opnd(t, o, 1, depth, g, out);
        expr_push(arena, out, EXPR_const, 1);
        expr_push(arena, out, EXPR_sub, 0);
        return good;
    }
    case OP_program_id:
        expr_push(arena, out, EXPR_grid, op_int(o, ATTR_axis));
        expr_push(arena, out, EXPR_const, 1);
        expr_push(arena, out, EXPR_sub, 0);
        return true;
    case OP_divs:
    case OP_rems: return largest_quotient(t, o, depth, g, out);
    case OP_mins:
        if (t->is_proof)
            return least_maximum(t, o, depth, g, out);
        /* fall through */
    case OP_maxs: {
        bool good = largest_opnd(t, o, 0, depth, g, out) && largest_opnd(t, o, 1, depth, g, out);
        expr_push(arena, out, o->code == OP_mins ? EXPR_min : EXPR_max, 0);
        return good;
    }
    default: return false;
    }
}

/* Appends an upper bound of the number of a loop's last iteration, where the first iteration has number 0.
 * Returns false unless the loop's step is a positive constant, and its counter starts at a uniform value or
 * at a value of at least 0. */
static bool last_trip(struct affine_table *t, const struct op *loop, int depth, struct guards *g,
                      struct expr *out)
{
    struct arena *arena = t->f->module->arena;
    const struct affine *lo = affine_of(t, op_opnd(loop, 0));
    int64_t step;
    if (!lo || !value_const_int(op_opnd(loop, 2), &step) || step < 1 ||
        !largest_opnd(t, loop, 1, depth, g, out))
        return false;
    if (poly_is_uniform(t, &lo->p)) {
        if (!poly_expr(t, &lo->p, out))
            return false;
        expr_push(arena, out, EXPR_sub, 0);
    } else if (!poly_is_nonnegative(t, &lo->p, NULL)) {
        return false;
    }
    expr_push(arena, out, EXPR_const, 1);
    expr_push(arena, out, EXPR_sub, 0);
    if (step > 1) {
        expr_push(arena, out, EXPR_const, step);
        expr_push(arena, out, EXPR_div, 0);
    }
    return true;
}

/* Appends an upper bound of one term: its uniform factor times the maximum of its non-uniform atom, which is
 * at least 0 (access_pattern.c checks this). The factor must be at least 0: the function returns false for a
 * negative constant, and adds a guard for a factor that is not a constant. */
static bool largest_term(struct affine_table *t, const struct term *x, int depth, struct guards *g,
                         struct expr *out)
{
    struct arena *arena = t->f->module->arena;
    struct poly p = {.n = 1, .at = {*x}};
    int own = term_atom(t, x);
    int64_t factor = 1;
    if (own < 0)
        return poly_expr(t, &p, out);
    struct atom a = atom_of(t, own);
    p = poly_take(&p, own, &(struct poly){0});
    struct expr *sign = poly_const(&p, &factor) ? NULL : guard_new(g);
    if (sign ? !poly_expr(t, &p, sign) : !poly_const(&p, &factor) || factor < 0)
        return false;
    if (a.kind == ATOM_trips ? !last_trip(t, a.loop, depth, g, out)
                             : a.kind != ATOM_varying || !largest_value(t, a.value, depth, g, out))
        return false;
    if (poly_const(&p, &factor) && factor == 1)
        return true;
    bool good = poly_expr(t, &p, out);
    expr_push(arena, out, EXPR_mul, 0);
    return good;
}

bool largest_expr(struct affine_table *t, const struct poly *p, int depth, struct guards *g, struct expr *out)
{
    struct arena *arena = t->f->module->arena;
    if (depth > t->f->module->params->alias_largest_depth)
        return false;
    for (int i = 0; i < p->n; i++) {
        if (!largest_term(t, &p->at[i], depth, g, out))
            return false;
        if (i)
            expr_push(arena, out, EXPR_add, 0);
    }
    if (!p->n)
        expr_push(arena, out, EXPR_const, 0);
    return true;
}

bool last_expr(struct affine_table *t, const struct access_dim *d, const struct type *tile, struct guards *g,
               struct expr *out)
{
    struct arena *arena = t->f->module->arena;
    if (d->nbounds) {
        bool good = extent_expr(t, d, out);
        expr_push(arena, out, EXPR_const, 1);
        expr_push(arena, out, EXPR_sub, 0);
        return good;
    }
    expr_push(arena, out, EXPR_const, d->tile_dim < 0 ? 0 : tile->shape[d->tile_dim] - 1);
    bool good = largest_expr(t, &d->start, 0, g, out);
    expr_push(arena, out, EXPR_add, 0);
    return good;
}

/* Appends to *out the end of the access's array: the address after the array's last byte. Returns false if
 * the launcher cannot compute it. */
static bool end_expr(struct affine_table *t, const struct access *a, const struct op *access,
                     struct guards *g, struct expr *out)
{
    struct arena *arena = t->f->module->arena;
    const struct type *tile = op_opnd(access, 0)->type;
    if (!base_expr(t, a, out))
        return false;
    for (int d = 0; d < a->ndims; d++) {
        if (!last_expr(t, &a->dims[d], tile, g, out) || !poly_expr(t, &a->dims[d].stride, out))
            return false;
        expr_push(arena, out, EXPR_mul, 0);
        expr_push(arena, out, EXPR_add, 0);
    }
    expr_push(arena, out, EXPR_const, type_elem_bytes(type_elem(tile)->elem));
    expr_push(arena, out, EXPR_add, 0);
    return true;
}

/* -- guards -- */

bool guards_of(struct affine_table *t, const struct access *a, struct guards *g)
{
    for (int i = 0; i < a->nguards; i++)
        if (g->n == GUARDS_OF_ACCESS_MOST || !poly_expr(t, &a->guards[i], &g->at[g->n++]))
            return false;
    return true;
}

void guards_add(struct func *f, const struct guards *g)
{
    for (int i = 0; i < g->n; i++) {
        int k = 0;
        while (k < f->guards.n && !expr_equal(&f->guards.at[k], &g->at[i]))
            k++;
        if (k == f->guards.n)
            VEC_PUSH(f->module->arena, &f->guards, g->at[i]);
    }
}

struct expr *guard_new(struct guards *g)
{
    if (g->n == GUARDS_OF_ACCESS_MOST)
        return NULL;
    g->at[g->n] = (struct expr){0};
    return &g->at[g->n++];
}

bool guard_forward(struct affine_table *t, const struct access *a, struct guards *g)
{
    bool good = true;
    for (int d = 0; d < a->ndims && good; d++) {
        int64_t bytes;
        struct expr *e;
        good = (poly_const(&a->dims[d].stride, &bytes) && bytes >= 0) ||
               ((e = guard_new(g)) != NULL && poly_expr(t, &a->dims[d].stride, e));
    }
    return good;
}

/* Adds a guard which requires that the array of the load ends before the array of the store begins, or the
 * reverse. Returns false if no guard can express this condition. */
static bool guard_apart(struct affine_table *t, const struct op *load, const struct access *a,
                        const struct op *store, struct guards *g)
{
    struct access to;
    struct arena *arena = t->f->module->arena;
    struct expr *guard = guard_new(g), e = {0};
    if (!guard || extents_of(t, store, &to) || to.base == a->base || !guards_of(t, &to, g))
        return false;
    bool good = base_expr(t, &to, &e) && end_expr(t, a, load, g, &e);
    expr_push(arena, &e, EXPR_sub, 0);
    good = good && base_expr(t, a, &e) && end_expr(t, &to, store, g, &e);
    expr_push(arena, &e, EXPR_sub, 0);
    expr_push(arena, &e, EXPR_max, 0);
    *guard = e;
    return good && guard_forward(t, &to, g);
}

/* -- earlier stores -- */

struct writes {
    const struct affine_table *t;
    const struct op *from, *load;
    bool begun, passed; /* whether the walk has reached `from`, and whether it has reached the load */
    /* the walk has found a write whose address it did not record: an op that is not a store, or a store for
     * which `stores` has no room */
    bool unknown;
    const struct op *stores[GUARDS_MOST];
    int n;
};

bool share_a_loop(const struct affine_table *t, const struct op *a, const struct op *b)
{
    for (const struct op *o = a->block->parent; o; o = o->block->parent)
        if ((o->code == OP_for || o->code == OP_while) && op_is_inside(b, o) && !is_single_trip(t, o))
            return true;
    return false;
}

bool is_on_way_out(const struct op *o, const struct op *load)
{
    for (const struct block *b = o->block; b->parent; b = b->parent->block)
        if (block_terminator(b)->code == OP_return && !op_is_inside(load, b->parent))
            return true;
    return false;
}

/* Returns whether the op may change the memory that the program sees: it writes memory, or it may be an
 * acquire, after which the program may see writes of other programs (op_may_acquire). */
static bool changes_memory(const struct op *o)
{
    return op_has(o, WRITES) || op_may_acquire(o);
}

static void visit_write(struct op *o, void *ctx)
{
    struct writes *w = ctx;
    w->begun = w->begun || !w->from || o == w->from;
    w->passed = w->passed || o == w->load;
    if (!changes_memory(o) || is_on_way_out(o, w->load) ||
        ((!w->begun || w->passed) && !share_a_loop(w->t, o, w->load)))
        return;
    if (o->code == OP_store && w->n < GUARDS_MOST)
        w->stores[w->n++] = o;
    else
        w->unknown = true;
}

bool may_be_written(struct affine_table *t, const struct op *from, const struct op *load,
                    const struct access *a, struct guards *g)
{
    struct writes w = {.t = t, .from = from, .load = load};
    func_walk(t->f, visit_write, &w);
    for (int i = 0; i < w.n && !w.unknown; i++)
        w.unknown = !a || !guard_apart(t, load, a, w.stores[i], g);
    return w.unknown;
}

/* -- stores in the same loop -- */

static void note_store(struct op *o, void *ctx)
{
    struct writes *w = ctx;
    if (!changes_memory(o))
        return;
    if (o->code == OP_store && w->n < GUARDS_MOST)
        w->stores[w->n++] = o;
    else
        w->unknown = true;
}

bool may_be_written_in_loop(struct affine_table *t, const struct op *load, struct guards *g)
{
    struct writes w = {.t = t, .load = load};
    struct access a;
    const struct op *loop = load->block->parent;
    block_walk(loop->regions[0], note_store, &w);
    if (w.n && !w.unknown)
        w.unknown = extents_of(t, load, &a) || !guards_of(t, &a, g) || !guard_forward(t, &a, g);
    for (int i = 0; i < w.n && !w.unknown; i++)
        w.unknown = !guard_apart(t, load, &a, w.stores[i], g);
    return w.unknown;
}
