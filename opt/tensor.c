/* tensor.c: tiles leave through shared memory and a tensor map.
 *
 *     tensor_store %x, %i, %j map=1        =>        %s = to_shared %x : shared<...>
 *                                                    tensor_put %s, %i, %j map=1
 *                                                    bulk_wait read=1
 *
 * Also: which box a map has, once it is known how the buffer lies that it fills or empties.
 */
#include "opt/passes.h"

#include "ir/wgmma.h"

struct count {
    int number, n;
};

static void count_users(struct op *o, void *ctx)
{
    struct count *c = ctx;
    const struct attr *a = op_attr(o, ATTR_map);
    c->n += a && a->i == c->number;
}

void tensor_fit_map(struct op *o, const struct type *buf, const int *order, int parts)
{
    struct func *f = o->block->func;
    struct boxes b;
    if (!layout_boxes(&b, buf->layout, type_elem_bytes(buf), order) ||
        !boxes_cut(&b, buf->layout, type_elem_bytes(buf), order, parts))
        diag_bug(f->module->diag, o->loc, "no tensor map goes with a buffer like this");
    struct count users = {.number = (int)op_int(o, ATTR_map)};
    func_walk(f, count_users, &users);
    struct tensor_map m = f->maps.at[users.number];
    m.swizzle = b.swizzle;
    for (int i = 0; i < buf->rank; i++)
        m.box[m.rank - buf->rank + i] = b.shape[order[i]];
    if (users.n > 1 && !tensor_map_equal(&m, &f->maps.at[users.number])) { /* others have it otherwise */
        users.number = f->maps.n;
        VEC_PUSH(f->module->arena, &f->maps, m);
        op_set_int(o, ATTR_map, users.number);
    }
    f->maps.at[users.number] = m;
}

static void lower_store(struct op *o, void *ctx)
{
    struct func *f = ctx;
    if (o->code != OP_tensor_store)
        return;
    struct value *x[1 + RANK_MAX], *tile = op_opnd(o, 0);
    const struct type *t = tile->type;
    struct layout l;
    layout_wgmma_operand(&l, t->shape, type_elem_bytes(t), t->rank - 1);
    const struct type *buf =
        type_shared(f->module, type_elem(t), t->rank, t->shape, layout_intern(f->module, &l), 1);
    int order[RANK_MAX];
    for (int i = 0; i < t->rank; i++)
        order[i] = i;
    tensor_fit_map(o, buf, order, 1);
    struct builder b = build_before(o);
    x[0] = op_result(build_op(&b, OP_to_shared, 1, &tile, 1, &buf, 0));
    for (int i = 1; i < o->nopnds; i++)
        x[i] = op_opnd(o, i);
    op_set_int(build_op(&b, OP_tensor_put, o->nopnds, x, 0, NULL, 0), ATTR_map, op_int(o, ATTR_map));
    op_set_int(build_op(&b, OP_bulk_wait, 0, NULL, 0, NULL, 0), ATTR_read, 1);
    op_erase(o);
}

void opt_tensor(struct func *f)
{
    func_walk(f, lower_store, f);
}
