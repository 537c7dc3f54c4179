/* SPDX-License-Identifier: MIT */
/* dedup_loads.c: if several neighbouring elements of a tile have the same address, loads only one of these
 * elements, and broadcasts the result.
 *
 *     %i = range start=0 end=64                       %r = range start=0 end=8
 *     %w = div %i, 8                                  %i = mul %r, 8
 *     %p = addptr %s, %w                     =>       %w = div %i, 8
 *     %q = load %p : tile<64xi32>                     %p = addptr %s, %w
 *                                                     %t = load %p : tile<8xi32>
 *                                                     %q = reshape (broadcast (expand_dims %t)) : tile<64xi32>
 *
 * For example, eight packed weights share a word, and a group of weights shares a scale. Neighbouring
 * elements along a dimension then form runs that are loaded from one address under one mask (axis_info.c
 * computes the length of these runs). The pass loads only the first element of each run, which saves copies,
 * registers and index arithmetic. The pass clones the pure ops that compute the address from ranges and
 * scalars; the clones compute the addresses of the first elements only. If the address depends on other
 * values, the load stays unchanged. If a loop carries the pointers, the pass makes the loop carry the
 * pointers of the first elements too. Leaves: the original ops without uses, for dce. */
#include "opt/analysis/analysis.h"
#include "opt/passes.h"
#include "opt/simplify/simplify.h"

#include "ir/support/map.h"

struct dedup {
    struct module *m;
    VEC(struct op *) loads;
    const struct axis_table *axes;
    struct builder b;
    int dim, run;    /* runs have 2^run elements along dim */
    struct map copy; /* maps a value to the tile of the first elements of its runs */
};

static const struct type *thin_type(const struct dedup *t, const struct type *x)
{
    int shape[RANK_MAX];
    for (int d = 0; d < x->rank; d++)
        shape[d] = d == t->dim ? x->shape[d] >> t->run : x->shape[d];
    return type_with_shape(t->m, x, x->rank, shape);
}

/* Builds the values of the range at the first elements of its runs. */
static struct value *every(struct dedup *t, const struct op *range)
{
    const struct type *type = op_result(range)->type;
    int start = (int)op_int(range, ATTR_start), n = type->shape[0] >> t->run;
    struct value *r = build_range(&t->b, 0, n);
    r = build_binary(&t->b, OP_mul, r, build_const_int(&t->b, r->type, 1 << t->run));
    return build_binary(&t->b, OP_add, r, build_const_int(&t->b, r->type, start));
}

static struct value *kept(const struct dedup *t, struct value *v)
{
    void **at = map_get_ptr(&t->copy, v);
    return at ? *at : v;
}

/* Builds a tile with the first element of each run of v, and maps v to this tile. (A scalar, and a tile of
 * size 1 along `dim`, need no new tile.) Returns false if v depends on values other than ranges, scalars and
 * values that are mapped already. */
static bool keep_first(struct dedup *t, struct value *v)
{
    if (!v || !type_is_tile(v->type) || v->type->shape[t->dim] == 1 || map_get_ptr(&t->copy, v))
        return true;
    const struct op *o = v->def;
    if (!o)
        return false;
    if (o->code == OP_range) {
        *map_at_ptr(&t->copy, v) = every(t, o);
        return true;
    }
    bool expands = o->code == OP_expand_dims;
    if (!is_pure(o) || !(op_has(o, ELEMENTWISE) || expands || o->code == OP_broadcast || o->code == OP_hint ||
                         o->code == OP_splat || o->code == OP_const))
        return false;
    int dim = t->dim;
    t->dim -= expands && op_int(o, ATTR_axis) < dim;
    for (int i = 0; i < o->nopnds; i++)
        if (!keep_first(t, op_opnd(o, i)))
            return false;
    t->dim = dim;
    if (o->code == OP_hint) {
        *map_at_ptr(&t->copy, v) = kept(t, op_opnd(o, 0));
        return true;
    }
    struct value *r = op_result(op_clone(&t->b, o, &t->copy));
    value_set_type(r, thin_type(t, v->type));
    return true;
}

/* Empties the map of copies. Then, unless `first` is NULL, maps v to `first`. */
static void start(struct dedup *t, struct value *v, struct value *first)
{
    map_init(&t->copy, t->m->scratch);
    if (first)
        *map_at_ptr(&t->copy, v) = first;
}

/* Handles a load whose pointers are carried by the `for` that contains the load. If keep_first can build the
 * loop's initial pointers to the first elements of the runs, makes the loop carry pointers to first elements
 * in addition. The load uses them only if keep_first can also build the pointers to first elements for the
 * next iteration. */
static void carry(struct dedup *t, const struct op *load)
{
    struct value *v = op_opnd(load, 0);
    struct op *loop = load->block->parent;
    int at = v->index;
    if (v->def || v->block != load->block || !loop || loop->code != OP_for)
        return;
    t->b = build_before(loop);
    struct value *init = op_opnd(loop, at + 2);
    if (!keep_first(t, init))
        return;
    struct value *first = kept(t, init);
    struct op *more = loop_carry(loop, NULL, 1, &first);
    op_erase(loop);
    struct block *body = more->regions[0];
    first = body->args.at[more->nresults];
    start(t, op_opnd(load, 0), first);
    t->b = build_before(body->last);
    struct value *next = op_opnd(body->last, at - 1);
    bool follows = keep_first(t, next);
    struct value *rest = follows ? kept(t, next) : first;
    loop_yield(more, 1, &rest);
    /* The copies that keep_first has built at the end of the body do not dominate the load, so start() empties the
     * map. The map then contains only the pointers to first elements that the loop carries, and only if the
     * body computes them for the next iteration. */
    start(t, op_opnd(load, 0), follows ? first : NULL);
    t->axes = axis_analyse(body->func);
}

/* Returns log2 of the length of the runs along `dim` in which all elements have equal addresses, masks and values
 * `other`. */
static int run_of(const struct dedup *t, const struct op *load, int dim)
{
    int run = COORD_BITS_MAX;
    for (int i = 0; i < load->nopnds; i++) {
        const struct value *v = op_opnd(load, i);
        int own = v && type_is_tile(v->type) ? axis_of(t->axes, v)->log_constant[dim] : run;
        run = own < run ? own : run;
    }
    return run;
}

/* Repeats each element of x 2^run times along `dim`, so that the result has the given type. */
static struct value *repeat(struct dedup *t, struct value *x, const struct type *type)
{
    int shape[RANK_MAX];
    for (int d = 0; d <= type->rank; d++)
        shape[d] = d == t->dim + 1 ? 1 << t->run : x->type->shape[d - (d > t->dim)];
    x = build_broadcast(&t->b, build_expand_dims(&t->b, x, t->dim + 1), type->rank + 1, shape);
    return build_reshape(&t->b, x, type->rank, type->shape);
}

/* Replaces `load` by a load of the first elements of runs, and returns the new load. Returns `load` itself if
 * the replacement is not possible. */
static struct op *shrink(struct dedup *t, struct op *load)
{
    const struct type *type = op_result(load)->type;
    start(t, NULL, NULL);
    carry(t, load);
    t->b = build_before(load);
    for (int i = 0; i < load->nopnds; i++)
        if (!keep_first(t, op_opnd(load, i)))
            return load;
    bool one = type->shape[t->dim] == 1 << t->run;
    if (!one && type->rank == RANK_MAX)
        return load;
    struct op *less = op_clone(&t->b, load, &t->copy);
    struct value *x = op_result(less);
    value_set_type(x, thin_type(t, type));
    x = one ? build_broadcast(&t->b, x, type->rank, type->shape) : repeat(t, x, type);
    opt_explain(t->b.func,
                &(struct explanation){DECISION_neighbours_share, .at = load, .values = {op_result(load)},
                                      .numbers = {1 << t->run, t->dim}});
    value_replace(op_result(load), x);
    op_erase(load);
    return less;
}

static void note(struct op *o, void *ctx)
{
    struct dedup *t = ctx;
    if (o->code == OP_load && type_is_tile(op_opnd(o, 0)->type) && !op_int(o, ATTR_volatile))
        VEC_PUSH(t->m->scratch, &t->loads, o);
}

static void visit(struct dedup *t, struct op *o)
{
    int rank = op_result(o)->type->rank, runs[RANK_MAX];
    for (int d = 0; d < rank; d++)
        runs[d] = run_of(t, o, d);
    for (int d = 0; d < rank; d++) {
        t->dim = d;
        t->run = runs[d];
        if (t->run > 0)
            o = shrink(t, o);
    }
}

void opt_dedup_loads(struct func *f)
{
    struct dedup t = {.m = f->module, .axes = axis_analyse(f)};
    func_walk(f, note, &t);
    for (int i = 0; i < t.loads.n; i++)
        visit(&t, t.loads.at[i]);
}
