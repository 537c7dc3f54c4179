/* SPDX-License-Identifier: MIT */
/* raise_tma_store.c: turns stores of tiles into copies by tensor maps.
 *
 *     %m = (128 pid + i0 < M) & (i1 < N)
 *     store %p, %c, %m                      =>      tensor_store %c, %start0, %start1 map=2
 *
 * The copy drops elements outside of the map's extents, so the copy needs no mask. If the order of the tile's
 * dimensions differs from their order in memory, a `trans` precedes the tensor_store. The copy ends some time after
 * the tensor_store, and is not ordered with other accesses. So the rewrite is legal only if no other store writes the
 * same bytes, and no later op reads memory or signals other programs. (A later tensor_load is allowed, because
 * raise_tma_load has added guards which require that it reads another array.) Some conditions are known only
 * at launch, for example that addresses and strides are aligned. These conditions become guards; if a guard
 * fails, the launch uses a variant of the kernel without such stores.
 *
 * The pass rewrites only stores of results of asynchronous dots, because only such stores become faster: ordinary
 * stores in the layout of a dot's accumulator do not coalesce. Needs: traced ops. Leaves: the ops that computed
 * addresses, for dce. */
#include "opt/analysis/affine.h"
#include "opt/analysis/analysis.h"
#include "opt/layout/layouts.h"
#include "opt/passes.h"

struct putting {
    struct func *f;
    struct affine_table *t;
};

/* -- the ops around the store -- */

struct following {
    struct affine_table *t;
    const struct op *store;
    const struct access *a; /* the store's access */
    bool passed;            /* the walk has passed the store */
    const char *why;        /* the reason why the store stays a store; NULL: none has been found yet */
};

/* Returns whether two boxes are disjoint parts of one array: along some dimension, the distance of their starts is
 * at least the size of the box that starts first. */
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

/* Returns whether the store o may write bytes that x->store writes. A store before x->store matters too, because
 * copies are not ordered with the stores of threads. */
static bool may_touch(struct following *x, const struct op *o)
{
    const struct affine *to = affine_of(x->t, op_opnd(o, 0));
    struct access b;
    if (!to || to->base < 0 || to->base != x->a->base)
        return !to || to->base < 0;
    return access_of(x->t, o, &b) ||
           !are_apart(x->t, x->a, op_opnd(x->store, 0)->type, &b, op_opnd(o, 0)->type);
}

static void visit_follower(struct op *o, void *ctx)
{
    struct following *x = ctx;
    bool follows = x->passed || share_a_loop(x->t, o, x->store);
    if (o == x->store) {
        x->passed = true;
        return;
    }
    if (x->why || (!follows && o->code != OP_store))
        return;
    if (o->code == OP_store) {
        if (may_touch(x, o))
            x->why = "another store may write to the same bytes";
    } else if (o->code == OP_tensor_load) {
        /* raise_tma_load has added guards which require that the arrays do not overlap */
    } else if (o->code != OP_tensor_store && op_has(o, READS)) {
        x->why = "the kernel may read memory after it";
    } else if (op_has(o, WRITES) && o->code != OP_tensor_store) {
        x->why = "an op after it writes memory that must be ordered";
    }
}

/* -- whether the rewrite is faster and legal -- */

/* Returns whether each row of the array ends at a multiple of 16 bytes, either always or under guards that
 * this function adds. d is the contiguous dimension. On an H200, a copy of 32-bit elements with an odd bound
 * wrote one element too many. */
static bool ends_aligned(struct putting *x, const struct access_dim *d, struct guards *g)
{
    int64_t bytes;
    if (!poly_const(&d->stride, &bytes))
        return d->nbounds == 0;
    for (int i = 0; i < d->nbounds; i++)
        if (!guard_aligned(x->t, &d->bounds[i].more, bytes, g))
            return false;
    return true;
}

/* Returns whether the box starts at or above 0 along each dimension that the mask bounds from below, either always
 * or under guards that this function adds. On an H200, a load can start below 0, but a store cannot. */
static bool begins_inside(struct putting *x, struct access *a)
{
    for (int d = 0; d < a->ndims; d++)
        if (a->dims[d].is_bounded_below && !poly_is_nonnegative(x->t, &a->dims[d].start, a))
            return false;
    return true;
}

static const char *find_doubt(struct putting *x, const struct op *store, struct access *a, struct guards *g)
{
    for (int d = 0; d < a->ndims; d++)
        for (int i = 0; i < a->dims[d].nbounds; i++)
            if (a->dims[d].bounds[i].is_modulo)
                return "rows are wrapped";
    if (!ends_aligned(x, &a->dims[a->contiguous], g))
        return "its rows may end at no multiple of 16 bytes";
    if (!guard_aligned(x->t, &a->dims[a->contiguous].start, type_elem_bytes(op_opnd(store, 1)->type), g))
        return "rows of its tiles may begin at no multiple of 16 bytes";
    if (!begins_inside(x, a))
        return "its tiles may begin before the array";
    return guards_of(x->t, a, g) ? NULL : "it needs a guard";
}

/* -- the rewrite -- */

enum { ROWS_PER_WARP = 16 };

/* Returns the number of parts, each of consecutive columns, in which a tile is stored. The number is greater
 * than 1 only if three conditions hold: the tile has more than raise_tma_store_staged_bytes bytes, it is a
 * matrix with 16 rows or more per warp, and its rows are longer than raise_tma_store_row_bytes. The parts
 * alternate between two stages of a buffer. */
static int parts_of(const struct func *f, const struct type *t)
{
    const struct params *params = f->module->params;
    int64_t bytes = type_elems(t) * type_elem_bytes(t),
            row = (int64_t)t->shape[t->rank - 1] * type_elem_bytes(t);
    int parts = 1;
    if (bytes <= params->raise_tma_store_staged_bytes || t->rank != 2 ||
        t->shape[0] < ROWS_PER_WARP * f->num_warps)
        return 1;
    while (bytes / parts > params->raise_tma_store_staged_bytes / 2 &&
           row / parts > params->raise_tma_store_row_bytes)
        parts *= 2;
    return parts;
}

static void build_tensor_store(struct builder *b, struct value *const *opnds, int n, int map)
{
    op_set_int(build_op(b, OP_tensor_store, n, opnds, 0, NULL, 0), ATTR_map, map);
}

/* Builds the stores of the parts. opnds holds n operands: the tile, and then its coordinates in the map, the
 * column last. */
static void store_parts(struct builder *b, struct value **opnds, int n, int map, int parts)
{
    if (parts == 1) {
        build_tensor_store(b, opnds, n, map);
        return;
    }
    const struct type *t = opnds[0]->type;
    int half = t->shape[1] / 2;
    struct value *pair = build_reshape(b, opnds[0], 3, (int[]){t->shape[0], 2, half});
    pair = build_trans(b, pair, (int[]){0, 2, 1});
    const struct type *part = type_with_shape(b->func->module, t, 2, (int[]){t->shape[0], half});
    struct op *split = build_op(b, OP_split, 1, &pair, 2, (const struct type *[]){part, part}, 0);
    struct value *column = opnds[n - 1];
    for (int i = 0; i < 2; i++) {
        struct value *x[1 + MAP_RANK_MAX];
        for (int k = 0; k < n; k++)
            x[k] = opnds[k];
        x[0] = &split->results[i];
        if (i)
            x[n - 1] = build_binary(b, OP_add, column, build_const_int(b, column->type, half));
        store_parts(b, x, n, map, parts / 2);
    }
}

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
    store_parts(&b, opnds, 1 + a->ndims, map, moves ? 1 : parts_of(x->f, opnds[0]->type));
    op_erase(o);
}

/* Rewrites the store and returns NULL, or returns the reason why the store stays a store. */
static const char *put(struct putting *x, struct op *o)
{
    struct access a;
    struct tensor_map m = {0};
    int dims[MAP_RANK_MAX];
    if (!dot_behind(op_opnd(o, 1), true, dot_is_async))
        return "it is not the result of an asynchronous dot";
    const char *why = access_of(x->t, o, &a);
    struct guards g = {0};
    if (!why)
        why = find_doubt(x, o, &a, &g);
    if (why)
        return why;
    struct following f = {.t = x->t, .store = o, .a = &a};
    func_walk(x->f, visit_follower, &f);
    map_order(&a, dims);
    why = f.why ? f.why : map_of(x->t, &a, op_opnd(o, 1)->type, dims, &m);
    if (why)
        return why;
    rewrite(x, o, &a, dims, map_add(x->f, &m));
    guards_add(x->f, &g);
    return NULL;
}

static void visit(struct op *o, void *ctx)
{
    struct putting *x = ctx;
    if (o->code != OP_store || !type_is_tile(op_opnd(o, 0)->type))
        return;
    struct op at = *o;
    const char *why = put(x, o);
    opt_explain(x->f, &(struct explanation){why ? DECISION_stays_a_store : DECISION_store_by_map, .at = &at,
                                            .words = {why}});
}

void opt_raise_tma_store(struct func *f)
{
    struct putting x = {.f = f, .t = affine_new(f)};
    if (f->target && target_has(f->target, HAS_tma))
        func_walk(f, visit, &x);
}
