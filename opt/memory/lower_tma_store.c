/* SPDX-License-Identifier: MIT */
/* lower_tma_store.c: lowers tensor_store to two steps. The threads store the tile to a buffer in shared
 * memory. A bulk copy (TMA) then copies the tile from the buffer to global memory.
 *
 *                                                    %b = shared_alloc
 *     for ... {                                      for ... {
 *       tensor_store %x, %i, %j map=1        =>        bulk_wait read=1
 *                                                      %s = to_shared %x, %b
 *                                                      tensor_put %s, %i, %j map=1
 *     }                                              }
 *                                                    bulk_wait read=1
 *
 * The kernel waits for a copy only before it writes to the copy's buffer again, and after the outermost loop (after
 * the stores if no loop contains them). Consecutive stores share a buffer: stores of one block that use the
 * same type of buffer, and have no other tensor_store between them. If their number is even, they alternate
 * between two stages of the buffer; otherwise the buffer has one stage. If a CTA has two warpgroups with
 * separate rows, each warpgroup stores its rows without a barrier with the other warpgroup, so one warpgroup
 * can store while the other runs dots.
 *
 * This file also sets the box of each tensor map, which depends on the layout of the buffer that the map's copies
 * fill or read. */
#include "opt/analysis/affine.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"

/* Counts the ops that use tensor map `number`, apart from `like` and from ops that need the same box as
 * `like`. */
struct count {
    int number, n;
    const struct op *like;
};

/* Returns whether both ops are tensor_stores of tiles of the same shape. If two such ops use the same map,
 * they need the same box. */
static bool stores_alike(const struct op *a, const struct op *b)
{
    return a->code == OP_tensor_store && b->code == OP_tensor_store &&
           type_same_shape(op_opnd(a, 0)->type, op_opnd(b, 0)->type);
}

static void count_others(struct op *o, void *ctx)
{
    struct count *c = ctx;
    const struct attr *a = op_attr(o, ATTR_map);
    c->n += a && a->i == c->number && o != c->like && !stores_alike(o, c->like);
}

static void fit_map(struct op *o, const struct type *buf, const int *order, const struct boxes *b)
{
    struct func *f = o->block->func;
    struct count others = {.number = (int)op_int(o, ATTR_map), .like = o};
    func_walk(f, count_others, &others);
    struct tensor_map m = f->maps.at[others.number];
    m.swizzle = b->swizzle;
    for (int i = 0; i < buf->rank; i++)
        m.box[m.rank - buf->rank + i] = b->shape[order[i]];
    if (others.n > 0 &&
        !tensor_map_equal(&m, &f->maps.at[others.number])) { /* other ops need the map's old box */
        others.number = map_add(f, &m);
        op_set_int(o, ATTR_map, others.number);
    }
    f->maps.at[others.number] = m;
}

void tensor_fit_map(struct op *o, const struct type *buf, const int *order, int parts)
{
    struct boxes b;
    if (!layout_boxes(&b, buf->layout, type_elem_bytes(buf), order) ||
        !boxes_cut(&b, buf->layout, type_elem_bytes(buf), order, parts))
        diag_bug(o->block->func->module->diag, o->loc, "no tensor map can have the layout of this buffer");
    fit_map(o, buf, order, &b);
}

/* -- stores -- */

static const int in_order[RANK_MAX] = {0, 1, 2, 3, 4};

/* All tensor_stores of the function, in program order. */
struct stores {
    struct func *func;
    VEC(struct op *) ops;
};

static void find_store(struct op *o, void *ctx)
{
    struct stores *s = ctx;
    if (o->code == OP_tensor_store)
        VEC_PUSH(s->func->module->scratch, &s->ops, o);
}

static const struct type *buffer_of(const struct op *store, int nstages)
{
    struct module *m = store->block->func->module;
    const struct type *t = op_opnd(store, 0)->type;
    struct layout l;
    layout_panels(&l, t->shape, type_elem_bytes(t), t->rank - 1);
    return type_shared(m, type_elem(t), t->rank, t->shape, layout_intern(m, &l), nstages);
}

static struct op *outermost_loop(const struct op *o)
{
    struct op *loop = NULL;
    for (struct op *p = o->block->parent; p; p = p->block->parent)
        if (p->code == OP_for || p->code == OP_while)
            loop = p;
    return loop;
}

/* Returns the number of rows of one warpgroup if the CTA has two warpgroups, each holds consecutive rows that
 * the other does not hold, and copies of these rows can be separate. The warpgroups then need no common
 * barrier. Otherwise returns 0. */
static int rows_of_group(const struct op *store)
{
    enum { GROUP_BIT = 2, GROUPS = 2 };
    const struct type *t = op_opnd(store, 0)->type, *buf = buffer_of(store, 1);
    const struct layout *l = t->layout;
    int index[RANK_MAX];
    struct boxes b;
    if (store->block->func->num_warps != GROUPS * WARPGROUP_WARPS || t->rank != 2 ||
        l->nbits[IN_warp] != GROUP_BIT + 1)
        return 0;
    layout_split_coord(l, layout_basis(l, IN_warp, GROUP_BIT), index);
    bool good = index[0] && !index[1] && !layout_free_bits(l, IN_warp) &&
                layout_boxes(&b, buf->layout, type_elem_bytes(buf), in_order) && b.shape[0] > index[0] &&
                boxes_cut_rows(&b, buf->layout, type_elem_bytes(buf), in_order, index[0]);
    return good ? index[0] : 0;
}

static void build_wait(struct builder *b, int pending, bool by_groups)
{
    struct op *o = build_op(b, OP_bulk_wait, 0, NULL, 0, NULL, 0);
    op_set_int(o, ATTR_read, 1);
    op_set_int(o, ATTR_pending, pending);
    if (by_groups)
        op_set_int(o, ATTR_group, WARPGROUP_WARPS);
}

static void lower_store(struct op *o, struct value *stage, int group_rows)
{
    struct value *x[1 + RANK_MAX], *from[] = {op_opnd(o, 0), stage};
    const struct type *t = stage->type;
    struct boxes boxes;
    if (!layout_boxes(&boxes, t->layout, type_elem_bytes(t), in_order) ||
        (group_rows && !boxes_cut_rows(&boxes, t->layout, type_elem_bytes(t), in_order, group_rows)))
        diag_bug(o->block->func->module->diag, o->loc, "no tensor map can have the layout of this buffer");
    fit_map(o, t, in_order, &boxes);
    struct builder b = build_before(o);
    x[0] = op_result(build_op(&b, OP_to_shared, 2, from, 1, &stage->type, 0));
    for (int i = 1; i < o->nopnds; i++)
        x[i] = op_opnd(o, i);
    struct op *put = build_op(&b, OP_tensor_put, o->nopnds, x, 0, NULL, 0);
    op_set_int(put, ATTR_map, op_int(o, ATTR_map));
    if (group_rows)
        op_set_int(put, ATTR_group, WARPGROUP_WARPS);
    op_erase(o);
}

/* Lowers n consecutive stores of one block. Before each store, the kernel waits until the previous copy from the
 * same stage of the buffer, if there is one, has read that stage. */
static void lower_stores(struct op *const *ops, int n)
{
    struct op *loop = outermost_loop(ops[0]), *last = ops[n - 1]->next;
    int nstages = n % 2 ? 1 : 2, group_rows = rows_of_group(ops[0]);
    for (int i = 1; i < n; i++)
        group_rows = rows_of_group(ops[i]) == group_rows ? group_rows : 0;
    const struct type *t = buffer_of(ops[0], nstages);
    struct builder b = build_before(loop ? loop : ops[0]);
    struct value *buf = op_result(build_op(&b, OP_shared_alloc, 0, NULL, 1, &t, 0));
    if (group_rows)
        op_set_int(buf->def, ATTR_group, WARPGROUP_WARPS);
    for (int i = 0; i < n; i++) {
        b = build_before(ops[i]);
        if (loop || i >= nstages)
            build_wait(&b, nstages - 1, group_rows);
        struct value *stage = buf;
        if (nstages > 1)
            stage = build_binary(&b, OP_shared_stage, buf, build_const_i32(&b, i % nstages));
        lower_store(ops[i], stage, group_rows);
    }
    b = loop ? build_after(loop) : build_before(last);
    build_wait(&b, 0, group_rows);
}

void opt_lower_tma_store(struct func *f)
{
    struct stores s = {.func = f};
    func_walk(f, find_store, &s);
    for (int n, i = 0; i < s.ops.n; i += n) {
        const struct type *t = buffer_of(s.ops.at[i], 1);
        for (n = 1; i + n < s.ops.n && s.ops.at[i + n]->block == s.ops.at[i]->block &&
                    buffer_of(s.ops.at[i + n], 1) == t;)
            n++;
        lower_stores(&s.ops.at[i], n);
    }
}
