/* dce.c: drop ops without use or effect.
 *
 *     %a = add %x, %y            %v = load %p
 *     %v = load %p        =>     store %q, %v
 *     store %q, %v
 *
 * Needs: valid SSA. Leaves: no unused op that could go, unless it is carried around a loop. */
#include "opt/passes.h"

static bool is_unused(const struct op *o)
{
    for (int i = 0; i < o->nresults; i++)
        if (has_uses(&o->results[i]))
            return false;
    return true;
}

/* Backwards, so that a use is gone before its definition is looked at. */
static void sweep(struct block *b)
{
    for (struct op *prev, *o = b->last; o; o = prev) {
        prev = o->prev;
        for (int i = 0; i < o->nregions; i++)
            sweep(o->regions[i]);
        if (is_unused(o) && !op_has(o, TERMINATOR) && is_removable(o))
            op_erase(o);
    }
}

void opt_dce(struct func *f)
{
    sweep(f->body);
}
