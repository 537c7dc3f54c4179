/* depends.c: what a scalar depends on besides the parameters and the size of the grid: found backwards over pure ops.
 *
 *     %p = program_id axis=0
 *     %n = load %x                     %p * 128: DEPENDS_ON_axis_0;  %p + %n: DEPENDS_ON_axis_0 | DEPENDS_ON_more
 */
#include "opt/analysis/analysis.h"

static int depends_on(const struct value *v, int *budget)
{
    const struct op *o = v->def;
    if (!o)
        return v->block->parent ? DEPENDS_ON_more : 0;
    if (--*budget < 0 || !op_has(o, PURE) || o->nregions || o->nresults != 1)
        return DEPENDS_ON_more;
    int found = o->code != OP_program_id    ? 0
                : op_int(o, ATTR_axis) == 0 ? DEPENDS_ON_axis_0
                                            : DEPENDS_ON_other_axes;
    for (int i = 0; i < o->nopnds && !(found & DEPENDS_ON_more); i++)
        found |= depends_on(op_opnd(o, i), budget);
    return found;
}

int value_depends_on(const struct value *v)
{
    int budget = value_params(v)->depends_ops; /* behind so many ops the answer is DEPENDS_ON_more */
    return depends_on(v, &budget);
}
