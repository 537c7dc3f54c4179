/* depends.c: what does a scalar depend on besides the parameters and the size of the grid? The search goes backwards
 * over pure ops.
 *
 *     %p = program_id axis=0
 *     %n = load %x                     %p * 128: DEPENDS_ON_axis_0;  %p + %n: DEPENDS_ON_axis_0 | DEPENDS_ON_more */
#include "opt/analysis/analysis.h"

struct dependence {
    bool through_loops;
    struct map seen; /* with through_loops: the values visited, each once, so that the search ends on loops */
    int budget;      /* without through_loops: the ops that may still be visited; 0 gives DEPENDS_ON_more */
};

static int depends_on(struct dependence *d, const struct value *v);

/* A loop's counter depends on what the loop's bounds depend on; a carried value on what its initial and yielded
 * values do. */
static int loop_value_depends_on(struct dependence *d, const struct value *v)
{
    const struct op *loop = v->block->parent;
    int found = 0;
    if (!loop || (d->through_loops && loop->code == OP_warps))
        return 0;
    if (!d->through_loops || loop->code != OP_for)
        return DEPENDS_ON_more;
    if (v->index > 0)
        return depends_on(d, op_opnd(loop, 2 + v->index)) |
               depends_on(d, op_opnd(block_terminator(loop->regions[0]), v->index - 1));
    for (int i = 0; i < 3; i++)
        found |= depends_on(d, op_opnd(loop, i));
    return found;
}

static bool may_look_at(struct dependence *d, const struct op *o)
{
    return (d->through_loops || --d->budget >= 0) && op_has(o, PURE) && !o->nregions && o->nresults == 1 &&
           o->code != OP_cta_id;
}

static int depends_on(struct dependence *d, const struct value *v)
{
    const struct op *o = v->def;
    if (d->through_loops) {
        if (map_get_ptr(&d->seen, v))
            return 0; /* the first visit reports what v depends on */
        *map_at_ptr(&d->seen, v) = (void *)1;
    }
    if (!o)
        return loop_value_depends_on(d, v);
    if (!may_look_at(d, o))
        return DEPENDS_ON_more;
    int found = o->code != OP_program_id    ? 0
                : op_int(o, ATTR_axis) == 0 ? DEPENDS_ON_axis_0
                                            : DEPENDS_ON_other_axes;
    for (int i = 0; i < o->nopnds && !(found & DEPENDS_ON_more); i++)
        if (op_opnd(o, i))
            found |= depends_on(d, op_opnd(o, i));
    return found;
}

int value_depends_on(const struct value *v, bool through_loops)
{
    struct dependence d = {.through_loops = through_loops, .budget = value_params(v)->depends_ops};
    if (through_loops)
        map_init(&d.seen, v->block->func->module->scratch);
    return depends_on(&d, v);
}
