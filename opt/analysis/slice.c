/* SPDX-License-Identifier: MIT */
/* slice.c: finds a dot such that pure ops compute a given tile from the dot's result. Searches the tile's
 * backward slice of pure ops depth first, the first operand first. From the result of an `if`, the search
 * continues to the values that both arms yield.
 *
 *     %d = dot ...
 *     %x = ftrunc %d
 *     %y = add %x, %bias           the search from %y finds %d */
#include "opt/analysis/analysis.h"

struct slice {
    bool through_loops;
    bool (*accepts)(const struct op *dot);
    int left; /* the number of ops that the search may still visit */
    int nargs;
    const struct value *args[4]; /* carried values whose yielded values the search has visited */
};

static const struct op *find(struct slice *s, const struct value *v);

/* Continues the search at the value that an iteration yields for the carried value `arg`. Visits each carried
 * value only once. */
static const struct op *find_carried(struct slice *s, const struct value *arg)
{
    const struct op *loop = arg->block->parent;
    if (!loop || loop->code != OP_for || arg->index == 0 ||
        s->nargs == (int)(sizeof s->args / sizeof *s->args))
        return NULL;
    for (int i = 0; i < s->nargs; i++)
        if (s->args[i] == arg)
            return NULL;
    s->args[s->nargs++] = arg;
    return find(s, op_opnd(block_terminator(arg->block), arg->index - 1));
}

static const struct op *find(struct slice *s, const struct value *v)
{
    const struct op *o = v->def, *found = NULL;
    if (!o && s->through_loops && type_is_tile(v->type))
        return find_carried(s, v);
    if (!o || --s->left < 0 || !type_is_tile(v->type))
        return NULL;
    if (o->code == OP_for && s->through_loops)
        return find(s, op_opnd(block_terminator(o->regions[0]), v->index));
    for (int i = 0; i < o->nregions && o->code == OP_if && !found; i++)
        found = find(s, op_opnd(block_terminator(o->regions[i]), v->index));
    if (o->nregions)
        return found;
    if (o->code == OP_dot || o->code == OP_mma_wait)
        return !s->accepts || s->accepts(o) ? o : NULL;
    for (int i = 0; i < o->nopnds && !found && op_has(o, PURE); i++)
        found = op_opnd(o, i) ? find(s, op_opnd(o, i)) : NULL;
    return found;
}

const struct op *dot_behind(const struct value *v, bool through_loops, bool (*accepts)(const struct op *dot))
{
    struct slice s = {
        .through_loops = through_loops, .accepts = accepts, .left = value_params(v)->dot_chain_ops};
    return find(&s, v);
}
