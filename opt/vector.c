/* vector.c: choose vector widths of memory accesses.
 *
 *     %x = load %p, %m : tile<512xf32,#l>      =>      %x = load %p, %m vec=4 tail=1
 *
 * A vector is as wide as the addresses allow (consecutive, aligned: axis.c) and as the layout has it (consecutive elements
 * in consecutive registers), 16 bytes at most. Where neighbours need not share one mask value, the access gets a tail.
 * Needs: final layouts. Leaves: nothing else changed.
 */
#include "opt/passes.h"

static int width_of(const struct axis_table *axes, const struct op *o, int *dim)
{
    const struct type *t = op_opnd(o, 0)->type;
    int best = 1;
    *dim = t->rank - 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        int width = layout_vector(t->layout, d, axis_access(axes, o, d));
        if (width > best) {
            best = width;
            *dim = d;
        }
    }
    return best;
}

static void visit(struct op *o, void *ctx)
{
    const struct axis_table *axes = ctx;
    if ((o->code != OP_load && o->code != OP_store) || !type_is_tile(op_opnd(o, 0)->type))
        return;
    int dim, width = width_of(axes, o, &dim), mask = axis_mask(axes, o, dim);
    if (width == 1)
        return;
    op_set_int(o, ATTR_vec, width);
    if (mask < width)
        op_set_int(o, ATTR_tail, 1);
    opt_explain(o->block->func, o, "%d elements at once%s", width,
                mask < width ? ", one by one at the mask's edge" : "");
}

void opt_vector(struct func *f)
{
    func_walk(f, visit, axis_analyse(f));
}
