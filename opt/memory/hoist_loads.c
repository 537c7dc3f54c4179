/* SPDX-License-Identifier: MIT */
/* hoist_loads.c: moves loads from the regions of an `if` to before the `if`, if a store after the `if` accesses the
 * same memory in any case.
 *
 *     %n = load %COUNT                          %n = load %COUNT
 *     %y = if %n == 0 {                         %old = load %P, %mask
 *       yield %x                                %y = if %n == 0 {
 *     } else {                           =>       yield %x
 *       %old = load %P, %mask                   } else {
 *       %sum = add %x, %old                       %sum = add %x, %old
 *       yield %sum                                yield %sum
 *     }                                         }
 *     store %P, %y, %mask                       store %P, %y, %mask
 *
 * If the condition is loaded from memory, a load inside the branch starts only when the condition has arrived. If
 * the load is before the branch, its latency overlaps the latency of the condition's load. Programs that add to one
 * array under a lock spend most of their time on such loads. On a path that did not contain the load, the
 * hoisted load is an additional access, so its address must be valid. The store after the branch proves this,
 * because it has the same address and mask as the load. The store must run in any case: no op in the regions,
 * or between the branch and the store, may end the program or wait. The load must not be volatile, and must
 * precede all writes of its region. The hoisted load still follows all ops that precede the branch. So it
 * still sees the writes that these ops order before it (for example by acquiring a lock). Needs: traced
 * ops. */
#include "opt/analysis/analysis.h"
#include "opt/passes.h"
#include "opt/simplify/simplify.h"

/* Returns whether a and b certainly have the same value. Compares their backward slices, at most `depth` ops
 * deep. */
static bool is_same(const struct value *a, const struct value *b, int depth)
{
    if (a == b)
        return true;
    const struct op *x = a ? a->def : NULL, *y = b ? b->def : NULL;
    if (!x || !y || !depth || x->code != y->code || x->nopnds != y->nopnds || x->nregions || !is_pure(x) ||
        a->type != b->type || !attrs_equal(x, y))
        return false;
    for (int i = 0; i < x->nopnds; i++)
        if (!is_same(op_opnd(x, i), op_opnd(y, i), depth - 1))
            return false;
    return true;
}

/* Returns whether the op after o certainly runs, and o does not wait for another program. */
static bool goes_on(const struct op *o)
{
    return !o->nregions && (o->code == OP_barrier || !(op_has(o, EFFECT) || op_has(o, TERMINATOR)));
}

/* Returns whether a store after the branch certainly runs, and accesses the same memory as the load. */
static bool is_stored_behind(const struct op *branch, const struct op *load)
{
    const int depth = branch->block->func->module->params->hoist_loads_depth;
    for (const struct op *o = branch->next; o && goes_on(o); o = o->next)
        if (o->code == OP_store && is_same(op_opnd(o, 0), op_opnd(load, 0), depth) &&
            is_same(op_opnd(o, 2), op_opnd(load, 1), depth))
            return true;
    return false;
}

bool op_can_move(const struct op *o, const struct op *before)
{
    for (int i = 0; i < o->nopnds; i++) {
        const struct value *v = op_opnd(o, i);
        if (v && !value_dominates(v, before) && !(v->def && is_pure(v->def) && op_can_move(v->def, before)))
            return false;
    }
    return o->nregions == 0;
}

void op_move_with_operands(struct op *o, struct op *before)
{
    for (int i = 0; i < o->nopnds; i++)
        if (op_opnd(o, i) && !value_dominates(op_opnd(o, i), before))
            op_move_with_operands(op_opnd(o, i)->def, before);
    op_move_before(o, before);
}

static bool ends_well(const struct block *b)
{
    const struct op *o = b->first;
    while (o && goes_on(o))
        o = o->next;
    return o && o->code == OP_yield;
}

static void hoist(struct op *branch)
{
    if (!ends_well(branch->regions[0]) || !ends_well(branch->regions[1]) ||
        !(value_depends_on(op_opnd(branch, 0), false) & DEPENDS_ON_more))
        return;
    for (int i = 0; i < branch->nregions; i++)
        for (struct op *o = branch->regions[i]->first, *next; o && !op_may_write(o); o = next) {
            next = o->next;
            if (o->code != OP_load || op_int(o, ATTR_volatile) || !op_can_move(o, branch) ||
                !is_stored_behind(branch, o))
                continue;
            opt_explain(branch->block->func, &(struct explanation){DECISION_loaded_before_branch, .at = o,
                                                                   .values = {op_result(o)}});
            op_move_with_operands(o, branch);
        }
}

static void visit(struct op *o, void *ctx)
{
    (void)ctx;
    if (o->code == OP_if)
        hoist(o);
}

void opt_hoist_loads(struct func *f)
{
    func_walk(f, visit, NULL);
}
