/* convert.c: carry conversions across warps through shared memory.
 *
 *     %y = convert %x : tile<64x64xf32,#b>      =>      %buf = shared_alloc : shared<64x64xf32,#s>
 *                                                       shared_store %buf, %x vec=4
 *                                                       %y = shared_load %buf vec=4 : tile<64x64xf32,#b>
 *
 * #s is swizzled so that neither side has bank conflicts where the algebra finds such a layout (layout_shared_for). What
 * stays inside a thread or a warp stays a `convert`: codegen moves registers or shuffles. Predicates travel as bytes,
 * pointers as integers. Needs: layouts everywhere. Leaves: shared buffers without offsets, accesses without barriers.
 */
#include "opt/passes.h"

enum { VECTOR_BYTES = 16 };

static int widest(const struct layout *shared, const struct layout *l, int elem_bytes)
{
    return layout_shared_vector(shared, l, VECTOR_BYTES / elem_bytes, NULL);
}

/* The integer type that an element travels as; itself where it may stay. */
static const struct type *carrier(struct module *m, const struct type *elem)
{
    if (elem->kind == TY_ptr)
        return type_scalar(m, DT_i64);
    return elem->dtype == DT_i1 ? type_scalar(m, DT_i8) : elem;
}

static struct value *pack(struct builder *b, struct value *x, const struct type *as)
{
    if (type_elem(x->type) == as)
        return x;
    return build_cast(b, type_is_ptr(x->type) ? OP_bitcast : OP_zext, x, as);
}

static struct value *unpack(struct builder *b, struct value *x, const struct type *elem)
{
    if (type_elem(x->type) == elem)
        return x;
    return build_cast(b, elem->kind == TY_ptr ? OP_bitcast : OP_trunc, x, elem);
}

static void through_shared(struct op *o)
{
    struct func *f = o->block->func;
    struct module *m = f->module;
    struct value *x = op_opnd(o, 0), *y = op_result(o);
    const struct type *elem = type_elem(x->type), *as = carrier(m, elem);
    struct layout chosen;
    layout_shared_for(&chosen, x->type->layout, y->type->layout, type_elem_bytes(as));
    const struct layout *shared = layout_intern(m, &chosen);
    const struct type *buffer = type_shared(m, as, x->type->rank, x->type->shape, shared, 1);
    int store_vec = widest(shared, x->type->layout, type_elem_bytes(as));
    int load_vec = widest(shared, y->type->layout, type_elem_bytes(as));

    struct builder b = build_before(o);
    struct value *from = pack(&b, x, as);
    struct value *buf = op_result(build_op(&b, OP_shared_alloc, 0, NULL, 1, &buffer, 0));
    struct op *store = build_op(&b, OP_shared_store, 2, (struct value *[]){buf, from}, 0, NULL, 0);
    op_set_int(store, ATTR_vec, store_vec);
    const struct type *loaded = type_with_elem(m, y->type, as);
    struct op *load = build_op(&b, OP_shared_load, 1, &buf, 1, &loaded, 0);
    op_set_int(load, ATTR_vec, load_vec);
    opt_explain(f, o, "through shared memory: %d elements of %d bytes at once in, %d out",
                store_vec, type_elem_bytes(as), load_vec);
    struct value *back = unpack(&b, op_result(load), elem);
    value_replace(y, back);
    op_erase(o);
}

static void visit(struct op *o, void *ctx)
{
    (void)ctx;
    if (o->code != OP_convert)
        return;
    const struct layout *from = op_opnd(o, 0)->type->layout, *to = op_result(o)->type->layout;
    if (layout_conversion(from, to) == CONVERSION_shared)
        through_shared(o);
}

void opt_convert(struct func *f)
{
    func_walk(f, visit, NULL);
}
