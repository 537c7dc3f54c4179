/* SPDX-License-Identifier: MIT */
/* invariant_loads.c: marks a load in a loop with dots as invariant if no op of the loop writes the memory that the load
 * reads.
 *
 *     for %k ... {                                       guard: New and W are apart
 *       %w = load %W + ...                               for %k ... {
 *       %d = dot %w, ...                         =>        %w = load %W + ... invariant=1
 *       store %New + ..., %d                               %d = dot %w, ...
 *     }                                                    store %New + ..., %d
 *
 * pipeline_loops.c may then copy the tiles of marked loads several iterations ahead, across the stores. Different
 * parameters may point to the same array, so the pass adds guards: at launch, each guard compares the address range
 * of the load with the address range of a store (alias.c). If ranges overlap, the launch uses the fallback kernel,
 * which is compiled without this pass. If a loop writes nothing, its loads need no mark. The pass runs only
 * for targets with cp.async. It considers the loads directly in the body of a `for` with two pipeline stages
 * or more, except volatile loads. Needs: traced ops. */
#include "opt/analysis/affine.h"
#include "opt/passes.h"

#include "ir/target/target.h"

struct contents {
    bool dot, writes;
};

static void look(struct op *o, void *ctx)
{
    struct contents *c = ctx;
    c->dot |= o->code == OP_dot;
    c->writes |= op_has(o, WRITES);
}

static void mark(struct affine_table *t, struct op *loop)
{
    struct contents c = {0};
    struct block *body = loop->regions[0];
    block_walk(body, look, &c);
    if (!c.dot || !c.writes || opt_stages(t->f, loop) < 2)
        return;
    for (struct op *o = body->first; o; o = o->next) {
        struct guards g = {0};
        if (o->code != OP_load || op_int(o, ATTR_volatile))
            continue;
        if (may_be_written_in_loop(t, o, &g)) {
            opt_explain(t->f,
                        &(struct explanation){DECISION_may_be_written, .at = o, .values = {op_result(o)}});
            continue;
        }
        op_set_int(o, ATTR_invariant, 1);
        guards_add(t->f, &g);
        opt_explain(t->f,
                    &(struct explanation){DECISION_marked_invariant, .at = o, .values = {op_result(o)}});
    }
}

static void visit(struct op *o, void *ctx)
{
    if (o->code == OP_for)
        mark(ctx, o);
}

void opt_invariant_loads(struct func *f)
{
    if (f->target && target_has(f->target, HAS_cp_async))
        func_walk(f, visit, affine_new(f));
}
