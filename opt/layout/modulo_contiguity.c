/* SPDX-License-Identifier: MIT */
/* modulo_contiguity.c: marks remainders that are consecutive, and quotients that are equal, within runs of indices.
 *
 *     %o = 128 pid + (0 .. 128)
 *     %b = rems %o, %N             (16 divides N)     =>     %b = hint (rems %o, %N) contiguous=[16] divisible=[16]
 *     %q = divs %o, %N                                =>     %q = hint (divs %o, %N) constant=[16]
 *
 * Consider a run of consecutive nonnegative indices that starts at a multiple of the run's length. If the
 * length divides the divisor, the remainders are consecutive too, and start at a multiple of the length, and
 * the quotients are equal. axis_info.c cannot exclude negative indices, because an index may have overflowed.
 * This pass assumes, like affine.c, that indices do not overflow. If a constant is subtracted from an index,
 * the difference may be negative. The pass adds a hint nevertheless if the quotient or remainder is used only
 * in addresses of loads, and if the masks of these loads exclude all elements whose difference is negative,
 * as in a concatenation:
 *
 *     %o = add %i, -512;  %b = rems %o, 64;  load (%x + %b), (%i >= 512)
 *
 * Needs: traced ops. Leaves: a hint after each such division or remainder, for axis_info.c. */
#include "opt/analysis/affine.h"
#include "opt/analysis/analysis.h"
#include "opt/passes.h"

struct modulo_runs {
    struct affine_table *t;
    const struct axis_table *axes;
    bool changed;
};

/* Returns log2 of the length of the runs along d in which the results of o are consecutive, if o is a
 * remainder, or equal, if o is a division. Assumes that no dividend is negative. */
static int run_along(const struct modulo_runs *w, const struct op *o, int d)
{
    const struct axis *x = axis_of(w->axes, op_opnd(o, 0)), *y = axis_of(w->axes, op_opnd(o, 1));
    int logs[] = {x->log_contiguous[d], x->log_divisible[d], y->log_constant[d], y->log_divisible[d]},
        run = 30;
    for (int i = 0; i < 4; i++)
        run = logs[i] < run ? logs[i] : run;
    return run;
}

/* Sets runs[d] to the length of the runs (run_along) of the result of o, a division or remainder, along
 * dimension d. Returns true if some run is longer than axis_info.c has found, and if the result has no hint
 * yet. */
static bool find_runs(const struct modulo_runs *w, const struct op *o, int runs[RANK_MAX])
{
    const struct value *r = op_result(o);
    const struct axis *known = axis_of(w->axes, r);
    bool better = false, is_marked = r->uses && r->uses->user->code == OP_hint;
    for (int d = 0; d < r->type->rank; d++) {
        runs[d] = 1 << run_along(w, o, d);
        better |= runs[d] > 1 << (o->code == OP_rems ? known->log_contiguous[d] : known->log_constant[d]);
    }
    return better && !is_marked;
}

/* Returns whether v, an index, is known to be at least 0, if no op that computes v overflows. */
static bool is_nonnegative(const struct modulo_runs *w, const struct value *v, int *budget)
{
    const struct affine *index = affine_of(w->t, v);
    const struct op *o = v->def;
    if (index ? index->base < 0 && poly_is_nonnegative(w->t, &index->p, NULL)
              : axis_of(w->axes, v)->nonnegative)
        return true;
    if (!o || index || --*budget < 0)
        return false;
    switch (o->code) {
    case OP_add:
    case OP_mul: return is_nonnegative(w, op_opnd(o, 0), budget) && is_nonnegative(w, op_opnd(o, 1), budget);
    case OP_divs:
        return is_nonnegative(w, op_opnd(o, 0), budget) && axis_of(w->axes, op_opnd(o, 1))->nonnegative;
    case OP_shl:
    case OP_rems:
    case OP_hint:
    case OP_splat:
    case OP_broadcast:
    case OP_expand_dims: return is_nonnegative(w, op_opnd(o, 0), budget);
    default: return false;
    }
}

/* If divisions and remainders by positive constants, hints and broadcasts compute v from the sum of a
 * nonnegative index and a negative constant, returns the op that computes this sum; else NULL. */
static const struct op *difference_below(const struct modulo_runs *w, const struct value *v, int *budget)
{
    const struct op *o = v->def;
    int64_t n;
    while (o && (o->code == OP_hint || o->code == OP_broadcast || o->code == OP_rems || o->code == OP_divs)) {
        if ((o->code == OP_rems || o->code == OP_divs) && (!value_const_int(op_opnd(o, 1), &n) || n <= 0))
            return NULL;
        o = op_opnd(o, 0)->def;
    }
    bool found = o && o->code == OP_add && value_const_int(op_opnd(o, 1), &n) && n < 0 &&
                 is_nonnegative(w, op_opnd(o, 0), budget);
    return found ? o : NULL;
}

/* Returns whether the mask implies that the result of `difference` is at least 0, because a condition of the
 * mask compares the first operand of `difference` with a constant. */
static bool implies_nonnegative(const struct value *mask, const struct op *difference, int *budget)
{
    const struct op *o = mask->def;
    int64_t least, minus;
    if (!o || --*budget < 0)
        return false;
    if (o->code == OP_broadcast)
        return implies_nonnegative(op_opnd(o, 0), difference, budget);
    if (o->code == OP_and)
        return implies_nonnegative(op_opnd(o, 0), difference, budget) ||
               implies_nonnegative(op_opnd(o, 1), difference, budget);
    if (o->code != OP_cmp || op_opnd(o, 0) != op_opnd(difference, 0) ||
        !value_const_int(op_opnd(o, 1), &least) || !value_const_int(op_opnd(difference, 1), &minus))
        return false;
    enum pred p = (enum pred)op_int(o, ATTR_pred);
    return (p == PRED_sge && least + minus >= 0) || (p == PRED_sgt && least + 1 + minus >= 0);
}

/* Returns whether v is used only in the addresses of loads whose masks imply that the result of `difference`
 * is at least 0. */
static bool is_guarded(const struct value *v, const struct op *difference, int *budget)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct op *o = u->user;
        bool good = --*budget >= 0;
        switch (o->code) {
        case OP_add:
        case OP_mul:
        case OP_shl:
        case OP_rems:
        case OP_divs:
        case OP_broadcast:
        case OP_hint:
        case OP_addptr: good = good && is_guarded(op_result(o), difference, budget); break;
        case OP_load:
            good = good && op_opnd(o, 0) == v && o->nopnds > 1 && op_opnd(o, 1) &&
                   implies_nonnegative(op_opnd(o, 1), difference, budget);
            break;
        default: good = false;
        }
        if (!good)
            return false;
    }
    return true;
}

static void visit(struct op *o, void *ctx)
{
    struct modulo_runs *w = ctx;
    int runs[RANK_MAX];
    if ((o->code != OP_rems && o->code != OP_divs) || !find_runs(w, o, runs))
        return;
    int budget = op_params(o)->depends_ops;
    if (!is_nonnegative(w, op_opnd(o, 0), &budget)) {
        budget = op_params(o)->depends_ops;
        const struct op *difference = difference_below(w, op_opnd(o, 0), &budget);
        if (!difference || !is_guarded(op_result(o), difference, &budget))
            return;
    }
    struct builder b = build_after(o);
    struct value *r = op_result(o);
    int rank = r->type->rank;
    struct op *hint = build_op(&b, OP_hint, 1, &r, 1, &r->type, 0);
    if (o->code == OP_rems) {
        op_set_list(hint, ATTR_contiguous, rank, runs);
        op_set_list(hint, ATTR_divisible, rank, runs);
    } else {
        op_set_list(hint, ATTR_constant, rank, runs);
    }
    value_replace(r, op_result(hint));
    op_set_opnd(hint, 0, r);
    w->changed = true;
    opt_explain(w->t->f,
                &(struct explanation){o->code == OP_rems ? DECISION_contiguous : DECISION_equal_quotients,
                                      .at = o, .values = {r}});
}

/* Repeats the analysis after each round of hints, because a quotient or remainder may be divided again. */
void opt_modulo_contiguity(struct func *f)
{
    enum { ROUNDS_MOST = 4 };
    struct modulo_runs w = {.changed = true};
    for (int i = 0; i < ROUNDS_MOST && w.changed; i++) {
        w = (struct modulo_runs){.t = affine_new(f), .axes = axis_analyse(f)};
        func_walk(f, visit, &w);
    }
}
