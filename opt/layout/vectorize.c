/* SPDX-License-Identifier: MIT */
/* vectorize.c: chooses the vector widths of memory accesses.
 *
 *     %x = load %p, %m : tile<512xf32,#l>      =>      %x = load %p, %m vec=4 tail=1
 *
 * A vector is as wide as the addresses allow (consecutive and aligned: axis_info.c) and as the layout allows
 * (consecutive elements in consecutive registers), and has 16 bytes at most. If the elements of a vector may have
 * different mask values, the access gets the attribute `tail`: codegen then emits code that accesses the
 * elements of a partly masked vector one by one. But if the mask is computed from a loaded tile, the pass
 * instead makes vectors so narrow that all elements of a vector have the same mask value. The pass also sets
 * the attribute `same` of comparisons (most of which compute masks) and of divisions: the number of
 * neighbouring registers that hold equal results. Codegen computes such results once, in one register. Needs:
 * final layouts. Changes only attributes. */
#include "opt/analysis/analysis.h"
#include "opt/passes.h"

enum { RUN_LOG_MOST = 20 /* log2 of the largest tile */ };

/* Returns the largest vector width in elements that addresses and layout allow. Sets *dim to the dimension
 * along which the vector's elements are consecutive. */
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

/* Returns the reason why a vector of `width` elements has less than 16 bytes, as the end of a message; "" if
 * the vector has 16 bytes. */
static const char *limit_of(const struct axis_table *axes, const struct op *o, int dim, int width)
{
    const struct value *p = op_opnd(o, 0);
    if (width * dtype_info[p->type->elem->elem->dtype].bytes >= 16)
        return "";
    if (1 << axis_of(axes, p)->log_contiguous[dim] <= width)
        return "; no more are known to be neighbours in memory";
    if (axis_access(axes, o, dim) <= width)
        return "; memory is not known to be aligned for more";
    return "; a thread has no more neighbours";
}

/* Sets attribute `same` of a comparison or division: the number of neighbouring registers with equal results.
 * The number for a division may follow from a hint that modulo_contiguity.c has added. */
static void set_same(const struct axis_table *axes, struct op *o)
{
    const struct value *r = op_result(o);
    const struct op *user = r->uses ? r->uses->user : NULL;
    const struct axis *a = axis_of(axes, user && user->code == OP_hint ? op_result(user) : r);
    int same = 1;
    for (int d = 0; d < r->type->rank; d++) {
        int run = a->log_constant[d] < RUN_LOG_MOST ? a->log_constant[d] : RUN_LOG_MOST;
        int found = layout_vector(r->type->layout, d, 1 << run);
        same = found > same ? found : same;
    }
    op_set_int(o, ATTR_same, same);
}

/* Sets the vector width of an atomic addition of f32 elements whose old values are unused, if the target has a
 * vector instruction for it. All elements of a vector must have the same mask value. */
static void visit_atomic(const struct axis_table *axes, struct op *o)
{
    const struct type *t = op_result(o)->type;
    const struct target *target = o->block->func->target;
    if (op_int(o, ATTR_rmw) != RMW_fadd || type_elem(t)->dtype != DT_f32 || has_uses(op_result(o)) ||
        !target || !target_has(target, HAS_red_vec))
        return;
    int dim, width = width_of(axes, o, &dim), mask = axis_mask(axes, o, dim);
    width = mask < width ? mask : width;
    if (width > 1)
        op_set_int(o, ATTR_vec, width);
}

/* Returns whether the mask v is computed from a loaded tile. Most vectors may then be partly masked, and the
 * code for the tail would run often. A mask that is computed from indices and scalars alone usually marks the
 * end of a row, and at most one vector of the row is then partly masked. */
static bool is_from_memory(const struct value *v, int *budget)
{
    const struct op *o = type_is_tile(v->type) ? v->def : NULL;
    if (!o || --*budget < 0)
        return false;
    if (o->code == OP_load)
        return true;
    for (int i = 0; i < o->nopnds; i++)
        if (op_opnd(o, i) && is_from_memory(op_opnd(o, i), budget))
            return true;
    return false;
}

static void visit(struct op *o, void *ctx)
{
    const struct axis_table *axes = ctx;
    if (o->code == OP_atomic_rmw && type_is_tile(op_result(o)->type))
        visit_atomic(axes, o);
    if ((o->code == OP_cmp || o->code == OP_divs) && type_is_tile(op_result(o)->type))
        set_same(axes, o);
    if ((o->code != OP_load && o->code != OP_store) || !type_is_tile(op_opnd(o, 0)->type))
        return;
    int dim, width = width_of(axes, o, &dim), mask = axis_mask(axes, o, dim),
             budget = op_params(o)->depends_ops;
    const struct value *given = op_opnd(o, o->code == OP_load ? 1 : 2);
    if (mask < width && given && is_from_memory(given, &budget))
        width = mask;
    if (width > 1)
        op_set_int(o, ATTR_vec, width);
    if (mask < width)
        op_set_int(o, ATTR_tail, 1);
    const enum decision how = mask < width ? DECISION_vectors_with_tail
                              : width > 1  ? DECISION_vectors
                                           : DECISION_scalars;
    opt_explain(o->block->func, &(struct explanation){how, .at = o, .numbers = {width},
                                                      .words = {limit_of(axes, o, dim, width)}});
}

void opt_vectorize(struct func *f)
{
    func_walk(f, visit, axis_analyse(f));
}
