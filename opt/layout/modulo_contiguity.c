/* SPDX-License-Identifier: MIT */
/* modulo_contiguity.c: marks the remainder of indices modulo a bound as contiguous in runs whose length divides the
 * bound.
 *
 *     %o = 128 pid + (0 .. 128)
 *     %b = rems %o, %N             (16 divides N)     =>     %b = hint (rems %o, %N) contiguous=[16] divisible=[16]
 *
 * The remainders of a run that starts at a multiple of its length also form such a run, unless indices are negative.
 * axis_info.c cannot exclude negative indices, because an index may have overflowed. This pass assumes that indices
 * do not overflow, like affine.c. Needs: traced ops. Leaves: a hint after the remainder, for axis_info.c. */
#include "opt/analysis/affine.h"
#include "opt/analysis/analysis.h"
#include "opt/passes.h"

struct modulo_runs {
    struct affine_table *t;
    const struct axis_table *axes;
};

/* The exponent of the length of the runs along d that the remainder preserves. */
static int run_along(const struct modulo_runs *w, const struct op *o, int d)
{
    const struct axis *x = axis_of(w->axes, op_opnd(o, 0)), *y = axis_of(w->axes, op_opnd(o, 1));
    int logs[] = {x->log_contiguous[d], x->log_divisible[d], y->log_constant[d], y->log_divisible[d]},
        run = 30;
    for (int i = 0; i < 4; i++)
        run = logs[i] < run ? logs[i] : run;
    return run;
}

static void visit(struct op *o, void *ctx)
{
    const struct modulo_runs *w = ctx;
    int runs[RANK_MAX], rank = o->code == OP_rems ? op_result(o)->type->rank : 0;
    bool better = false;
    for (int d = 0; d < rank; d++) {
        runs[d] = 1 << run_along(w, o, d);
        better |= runs[d] > 1 << axis_of(w->axes, op_result(o))->log_contiguous[d];
    }
    const struct affine *index = better ? affine_of(w->t, op_opnd(o, 0)) : NULL;
    if (!index || index->base >= 0 || !poly_is_nonnegative(w->t, &index->p, NULL))
        return;
    struct builder b = build_after(o);
    struct value *r = op_result(o);
    struct op *hint = build_op(&b, OP_hint, 1, &r, 1, &r->type, 0);
    op_set_list(hint, ATTR_contiguous, rank, runs);
    op_set_list(hint, ATTR_divisible, rank, runs);
    value_replace(r, op_result(hint));
    op_set_opnd(hint, 0, r);
    opt_explain(w->t->f, (struct explanation){DECISION_contiguous, .at = o, .values = {r}});
}

void opt_modulo_contiguity(struct func *f)
{
    struct modulo_runs w = {.t = affine_new(f), .axes = axis_analyse(f)};
    func_walk(f, visit, &w);
}
