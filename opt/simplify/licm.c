/* SPDX-License-Identifier: MIT */
/* licm.c: moves loop-invariant pure ops out of their loop.
 *
 *     for %i = ... carry(%c = %x) {      %a = mul %x, %y
 *       %a = mul %c, %y           =>     for %i = ... carry(%c = %x) {
 *       %b = add %a, %i                    %b = add %a, %i
 *       yield %x                           yield %x
 *
 * A loop-carried value is invariant if each iteration yields the initial value or the carried value itself.
 * The pass replaces uses of an invariant carried value by uses of the initial value, and dce then removes the
 * carried value.
 *
 * The pass moves an op to before the loop if three conditions hold. The op is pure. It is directly in the
 * loop's region. The op, and the ops in its regions, use only values from outside of the loop (and of the
 * op's own regions). The pass visits inner loops first, so an op can move out of several loops. A pure op
 * cannot trap, so it may run even if the loop has no iteration. An op in a branch of an `if` stays there,
 * because the branch may never run, and the op may be expensive. Needs: valid SSA. Leaves: loops whose bodies
 * may be empty, for dce. */
#include "opt/passes.h"

static bool uses_only_outside(const struct op *o, const struct op *loop, const struct op *moved)
{
    for (int i = 0; i < o->nopnds; i++) {
        const struct value *v = op_opnd(o, i);
        bool is_own =
            v && v->block->parent && (v->block->parent == moved || op_is_inside(v->block->parent, moved));
        if (v && !is_own && !value_is_outside(v, loop))
            return false;
    }
    for (int i = 0; i < o->nregions; i++)
        for (const struct op *inner = o->regions[i]->first; inner; inner = inner->next)
            if (!uses_only_outside(inner, loop, moved))
                return false;
    return true;
}

static bool can_move(const struct op *o, const struct op *loop)
{
    return !op_has(o, TERMINATOR) && o->nresults > 0 && is_pure(o) && uses_only_outside(o, loop, o);
}

static void replace_invariant_carried(struct op *loop)
{
    struct block *body = loop->regions[0];
    for (int i = 0; i < loop->nresults; i++) {
        struct value *init = op_opnd(loop, i + 3), *arg = body->args.at[i + 1],
                     *next = op_opnd(body->last, i);
        if (next != init && next != arg)
            continue;
        value_replace(&loop->results[i], init);
        value_replace(arg, init);
    }
}

static void hoist(struct op *loop, void *ctx)
{
    (void)ctx;
    if (loop->code == OP_for)
        replace_invariant_carried(loop);
    for (int i = 0; i < loop->nregions && (loop->code == OP_for || loop->code == OP_while); i++) {
        for (struct op *next, *o = loop->regions[i]->first; o; o = next) {
            next = o->next;
            if (!can_move(o, loop))
                continue;
            opt_explain(loop->block->func,
                        &(struct explanation){DECISION_hoisted, .at = o, .values = {&o->results[0]}});
            op_move_before(o, loop);
        }
    }
}

void opt_licm(struct func *f)
{
    block_walk_up(f->body, hoist, NULL);
}
