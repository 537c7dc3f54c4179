/* SPDX-License-Identifier: MIT */
/* depends.c: finds what a scalar depends on, apart from the parameters and the size of the grid. The search
 * walks the scalar's backward slice of pure ops.
 *
 *     %p = program_id axis=0
 *     %n = load %x                     %p * 128: DEPENDS_ON_axis_0;  %p + %n: DEPENDS_ON_axis_0 | DEPENDS_ON_more */
#include "opt/analysis/analysis.h"

struct dependence {
    bool through_loops;
    /* if through_loops: the visited values; the search visits no value twice, so it ends although loops make
     * cycles */
    struct map seen;
    /* if not through_loops: how many more ops the search may visit; further ops give DEPENDS_ON_more */
    int budget;
};

static int depends_on(struct dependence *d, const struct value *v);

/* Returns the dependences of v, an argument of a block. A loop's counter depends on the loop's bounds and
 * step. A carried value depends on its initial value and on the yielded value. */
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
            return 0; /* the first visit of v returns its dependences to another caller */
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

/* An integer as times * root + plus, where arithmetic wraps at the width of the integer's type. */
struct linear {
    const struct value *root;
    uint64_t times, plus;
};

static struct linear linear_of(const struct value *v)
{
    struct linear l = {v, 1, 0};
    for (int64_t c; l.root->def && l.root->def->nopnds == 2; l.root = op_opnd(l.root->def, 0)) {
        const struct op *o = l.root->def;
        if (!value_const_int(op_opnd(o, 1), &c))
            break;
        if (o->code == OP_add)
            l.plus += l.times * (uint64_t)c;
        else if (o->code == OP_mul)
            l.times *= (uint64_t)c;
        else if (o->code == OP_shl && c >= 0 && c < 64)
            l.times <<= c;
        else
            break;
    }
    return l;
}

bool value_distance(const struct value *from, const struct value *to, int64_t *distance)
{
    const struct linear a = linear_of(from), b = linear_of(to);
    *distance = (int64_t)(b.plus - a.plus);
    return a.root == b.root && a.times == b.times && from->type == to->type;
}
