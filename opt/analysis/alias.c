/* alias.c: may the kernel have written what it reads? Where only the launch knows, what it is to see to.
 *
 *     store %Mean + pid, %x                          guard: Mean - (X + 4 stride (grid - 1) + 4 N) or
 *     %a = load %X + stride pid + %cols, %cols < N          X - (Mean + 4 grid), the larger one, is at least 0
 *
 * An array reaches from its base to where the masks of its accesses end it, and where they say nothing, to
 * what the grid's last program accesses. Through one parameter nothing is told apart. */
#include "opt/analysis/affine.h"
#include "opt/analysis/analysis.h"
#include "opt/passes.h"

/* -- where an array begins and ends -- */

bool extent_expr(struct affine_table *t, const struct access_dim *d, struct expr *out)
{
    /* Coordinates have 31 bits. The driver takes 2^32 too, but copies then fail as illegal instructions. */
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

/* One term of a start, as large as it comes; programs are what it may hang on. */
static bool largest_expr(struct affine_table *t, const struct term *x, struct expr *out)
{
    struct arena *arena = t->f->module->arena;
    struct poly p = {.n = 1, .at = {*x}};
    int own = term_atom(t, x);
    int64_t factor;
    if (own < 0)
        return poly_expr(t, &p, out);
    const struct value *v = atom_of(t, own).value;
    p = poly_take(&p, own, &(struct poly){0});
    if (!v || !v->def || v->def->code != OP_program_id || !poly_const(&p, &factor) || factor < 0)
        return false;
    expr_push(arena, out, EXPR_grid, op_int(v->def, ATTR_axis));
    expr_push(arena, out, EXPR_const, 1);
    expr_push(arena, out, EXPR_sub, 0);
    if (factor != 1) {
        expr_push(arena, out, EXPR_const, factor);
        expr_push(arena, out, EXPR_mul, 0);
    }
    return true;
}

/* The last index along a dimension of an access to tiles of this type. */
static bool last_expr(struct affine_table *t, const struct access_dim *d, const struct type *tile,
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
    for (int i = 0; i < d->start.n; i++) {
        if (!largest_expr(t, &d->start.at[i], out))
            return false;
        expr_push(arena, out, EXPR_add, 0);
    }
    return true;
}

/* Behind the array's last byte. False: nobody knows. */
static bool end_expr(struct affine_table *t, const struct access *a, const struct op *access,
                     struct expr *out)
{
    struct arena *arena = t->f->module->arena;
    const struct type *tile = op_opnd(access, 0)->type;
    if (!base_expr(t, a, out))
        return false;
    for (int d = 0; d < a->ndims; d++) {
        if (!last_expr(t, &a->dims[d], tile, out) || !poly_expr(t, &a->dims[d].stride, out))
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

/* One array ends before the other begins. */
static bool guard_apart(struct affine_table *t, const struct op *load, const struct access *a,
                        const struct op *store, struct guards *g)
{
    struct access to;
    struct arena *arena = t->f->module->arena;
    struct expr *e = guard_new(g);
    if (!e || access_of(t, store, &to) || to.base == a->base || to.nguards)
        return false;
    bool good = base_expr(t, &to, e) && end_expr(t, a, load, e);
    expr_push(arena, e, EXPR_sub, 0);
    good = good && base_expr(t, a, e) && end_expr(t, &to, store, e);
    expr_push(arena, e, EXPR_sub, 0);
    expr_push(arena, e, EXPR_max, 0);
    return good && guard_forward(t, &to, g);
}

/* -- earlier stores -- */

struct writes {
    const struct affine_table *t;
    const struct op *from, *load;
    bool begun, passed; /* from, the load */
    bool unknown;       /* something that may come before it writes who knows where */
    const struct op *stores[GUARDS_MOST];
    int n;
};

bool share_a_loop(const struct affine_table *t, const struct op *a, const struct op *b)
{
    for (const struct op *o = a->block->parent; o; o = o->block->parent)
        if ((o->code == OP_for || o->code == OP_while) && op_is_inside(b, o) && !runs_once(t, o))
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

static void visit_write(struct op *o, void *ctx)
{
    struct writes *w = ctx;
    w->begun = w->begun || !w->from || o == w->from;
    w->passed = w->passed || o == w->load;
    if (!op_has(o, WRITES) || is_on_way_out(o, w->load) ||
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
