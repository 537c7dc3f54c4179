/* put.c: stores of tiles become copies by tensor maps.
 *
 *     %m = (128 pid + i0 < M) & (i1 < N)
 *     store %p, %c, %m                      =>      tensor_store %c, %start0, %start1 map=2
 *
 * What is outside of the map's extents is dropped: they are the mask. Where the tile's dimensions lie in memory in another
 * order, a `trans` comes first. Such a store ends some time after it began, and in no order with other accesses: nothing that
 * follows may read memory or tell others that it is done, and no other store may touch the same block. Unlike a load, a store
 * for which the launcher finds no map would cost the kernel its other maps: alignment must be known here.
 *
 * So far only what comes of dots pays, which does not lie in registers as memory wants it.
 * Needs: traced ops. Leaves: the addresses' ops, for dce. */
#include "opt/affine.h"
#include "opt/passes.h"

struct putting {
    struct func *f;
    struct affine_table *t;
};

/* -- what follows -- */

struct following {
    struct affine_table *t;
    const struct op *store;
    const struct access *a; /* the store's */
    bool passed;
    const char *why;
};

/* Do two boxes of one array lie side by side: at a distance, along one dimension, of at least the size of the first? */
static bool are_apart(const struct affine_table *t, const struct access *a, const struct type *tile_a,
                      const struct access *b, const struct type *tile_b)
{
    int64_t apart = 0, by;
    if (a->base != b->base || a->ndims != b->ndims || a->tile_rank != b->tile_rank ||
        !poly_equal(&a->offset, &b->offset))
        return false;
    for (int d = 0; d < a->ndims; d++) {
        struct poly distance;
        bool is_known = poly_equal(&a->dims[d].stride, &b->dims[d].stride) &&
                        poly_add(t, &distance, &b->dims[d].start, &a->dims[d].start, -1) &&
                        poly_const(&distance, &by) && by > -INT32_MAX;
        if (!is_known)
            return false;
        if (d < a->tile_rank)
            apart += by >= tile_a->shape[d] || -by >= tile_b->shape[d];
    }
    return apart > 0;
}

/* May another store touch what this one writes? Not even one before: copies are in no order with what threads write. */
static bool may_touch(struct following *x, const struct op *o)
{
    const struct affine *to = affine_of(x->t, op_opnd(o, 0));
    struct access b;
    if (!to || to->base < 0 || to->base != x->a->base)
        return !to || to->base < 0;
    return access_of(x->t, o, &b) ||
           !are_apart(x->t, x->a, op_opnd(x->store, 0)->type, &b, op_opnd(o, 0)->type);
}

static bool loops_around(const struct op *a, const struct op *b)
{
    for (const struct op *o = a->block->parent; o; o = o->block->parent)
        if ((o->code == OP_for || o->code == OP_while) && op_is_inside(b, o))
            return true;
    return false;
}

static void visit_follower(struct op *o, void *ctx)
{
    struct following *x = ctx;
    bool follows = x->passed || loops_around(o, x->store);
    if (o == x->store) {
        x->passed = true;
        return;
    }
    if (x->why || (!follows && o->code != OP_store))
        return;
    if (o->code == OP_store) {
        if (may_touch(x, o))
            x->why = "another store may write what it writes";
    } else if (o->code == OP_tensor_load) {
        /* pass tma has seen to it that the arrays are apart */
    } else if (o->code != OP_tensor_store && op_has(o, READS)) {
        x->why = "the kernel may read memory after it";
    } else if (op_has(o, WRITES) && o->code != OP_tensor_store) {
        x->why = "the kernel writes memory in order after it";
    }
}

/* -- does it pay, and is it certain? -- */

enum { DEPTH_MOST = 16 };

static bool comes_of_dot(const struct value *v, int depth)
{
    const struct op *o = v->def;
    if (!o || depth == DEPTH_MOST)
        return false;
    if (o->code == OP_for)
        return comes_of_dot(op_opnd(block_terminator(o->regions[0]), v->index), depth + 1);
    if (o->code == OP_dot)
        return dot_is_wgmma(o);
    for (int i = 0; op_has(o, PURE) && !o->nregions && i < o->nopnds; i++)
        if (op_opnd(o, i) && type_is_tile(op_opnd(o, i)->type) && comes_of_dot(op_opnd(o, i), depth + 1))
            return true;
    return false;
}

static int64_t divisor_of(const struct affine_table *t, const struct term *x)
{
    int64_t n = x->factor;
    for (int i = 0; i < x->natoms; i++) {
        struct atom a = atom_of(t, x->atoms[i]);
        if (a.kind == ATOM_uniform && !a.value->def)
            n *= t->f->params.at[a.value->index].divisible;
    }
    return n;
}

static bool is_aligned(const struct affine_table *t, const struct poly *p)
{
    for (int i = 0; i < p->n; i++)
        if (divisor_of(t, &p->at[i]) % MAP_ALIGN != 0)
            return false;
    return true;
}

/* Does the row end at a multiple of 16 bytes? On an H200 a copy of elements of 32 bits with an odd bound wrote one more. */
static bool ends_aligned(const struct affine_table *t, const struct access_dim *d)
{
    int64_t bytes = d->stride.n == 1 && d->stride.at[0].natoms == 0 ? d->stride.at[0].factor : 1;
    for (int i = 0; i < d->nbounds; i++)
        for (int k = 0; k < d->bounds[i].more.n; k++)
            if (divisor_of(t, &d->bounds[i].more.at[k]) * bytes % MAP_ALIGN != 0)
                return false;
    return true;
}

static const char *find_doubt(struct putting *x, const struct access *a)
{
    if (x->f->params.at[a->base].divisible % MAP_ALIGN != 0 || !is_aligned(x->t, &a->offset))
        return "where it begins may be no multiple of 16 bytes";
    if (!ends_aligned(x->t, &a->dims[a->contiguous]))
        return "its rows may end at no multiple of 16 bytes";
    for (int d = 0; d < a->ndims; d++) {
        if (d != a->contiguous && !is_aligned(x->t, &a->dims[d].stride))
            return "a stride may be no multiple of 16 bytes";
        for (int i = 0; i < a->dims[d].nbounds; i++)
            if (a->dims[d].bounds[i].is_wrap)
                return "rows are wrapped";
    }
    return a->nguards ? "it needs a guard" : NULL;
}

/* -- the rewrite -- */

static void rewrite(struct putting *x, struct op *o, const struct access *a, const int *dims, int map)
{
    struct builder b = build_before(o);
    struct value *opnds[1 + MAP_RANK_MAX] = {op_opnd(o, 1)};
    int order[RANK_MAX], nouter = a->ndims - a->tile_rank;
    bool moves = false;
    for (int i = 0; i < a->tile_rank; i++) {
        order[i] = dims[nouter + i];
        moves = moves || order[i] != i;
    }
    if (moves)
        opnds[0] = build_trans(&b, opnds[0], order);
    for (int i = 0; i < a->ndims; i++)
        opnds[1 + i] = poly_build(x->t, &b, &a->dims[dims[i]].start);
    op_set_int(build_op(&b, OP_tensor_store, 1 + a->ndims, opnds, 0, NULL, 0), ATTR_map, map);
    op_erase(o);
}

/* NULL: done. */
static const char *put(struct putting *x, struct op *o)
{
    struct access a;
    struct tensor_map m = {0};
    int dims[MAP_RANK_MAX];
    if (!comes_of_dot(op_opnd(o, 1), 0))
        return "it is no result of a warpgroup's dot";
    const char *why = access_of(x->t, o, &a);
    if (!why)
        why = find_doubt(x, &a);
    if (why)
        return why;
    struct following f = {.t = x->t, .store = o, .a = &a};
    func_walk(x->f, visit_follower, &f);
    map_order(&a, dims);
    why = f.why ? f.why : map_of(x->t, &a, op_opnd(o, 1)->type, dims, &m);
    if (!why)
        rewrite(x, o, &a, dims, map_add(x->f, &m));
    return why;
}

static void visit(struct op *o, void *ctx)
{
    struct putting *x = ctx;
    if (o->code != OP_store || !type_is_tile(op_opnd(o, 0)->type))
        return;
    struct op at = *o;
    const char *why = put(x, o);
    opt_explain(x->f, &at, "%s%s", why ? "stays a store: " : "a copy by a tensor map", why ? why : "");
}

void opt_put(struct func *f)
{
    struct putting x = {.f = f, .t = affine_new(f)};
    if (f->target && target_has(f->target, HAS_tma))
        func_walk(f, visit, &x);
}
