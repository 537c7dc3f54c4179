/* SPDX-License-Identifier: MIT */
/* unroll.c: unrolls a loop by the factor that the program asks for (loop_unroll_factor of tl.range).
 * load_ahead.c uses loop_unroll too, with factors that it chooses.
 *
 *                                                  %n = ((%lo < %hi ? (%hi - %lo - 1) / 2 + 1 : 0) / 2) * 2
 *     for %i = %lo to %hi step 2 unroll=2          %mid = %lo + 2 %n
 *         carry(%s = %a) {                         %r = for %i = %lo to %mid step 4 carry(%s = %a) {
 *       %s.1 = f(%i, %s)                     =>      %s.1 = f(%i, %s)
 *       yield %s.1                                   %s.2 = f(%i + 2, %s.1)
 *     }                                              yield %s.2
 *                                                  }
 *                                                  for %i = %mid to %hi step 2 stages=1 carry(%s = %r) { ... }
 *
 * The iterations and their memory accesses keep their order. The remaining iterations, whose number is less
 * than the factor, run in the original loop, without a software pipeline. The pass erases the original loop
 * if constant bounds show that no iterations remain. The pass runs early, so later passes treat the unrolled
 * loop like any other loop: if they pipeline it, each stage holds the tiles of one unrolled iteration. Needs:
 * traced ops. Leaves: arithmetic for fold. */
#include "opt/passes.h"
#include "opt/simplify/simplify.h"

bool loop_trips(const struct op *loop, int64_t *trips)
{
    int64_t lo, hi, step;
    if (loop->code != OP_for || !value_const_int(op_opnd(loop, 0), &lo) ||
        !value_const_int(op_opnd(loop, 1), &hi) || !value_const_int(op_opnd(loop, 2), &step) || step == 0)
        return false;
    uint64_t distance = step > 0 ? (uint64_t)hi - (uint64_t)lo : (uint64_t)lo - (uint64_t)hi;
    uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    bool runs = step > 0 ? lo < hi : lo > hi;
    *trips = runs ? (int64_t)((distance - 1) / by + 1) : 0;
    return true;
}

/* Computes how many iterations of the original loop run in the unrolled loop (*rounds, a multiple of
 * `factor`), and how many remain (*left). Returns false if the bounds or the step are not constant. */
static bool known_rounds(const struct op *loop, int64_t factor, int64_t *rounds, int64_t *left)
{
    if (!loop_trips(loop, rounds))
        return false;
    *left = *rounds % factor;
    *rounds -= *left;
    return true;
}

/* Builds the value at which the unrolled loop ends and the original loop continues. Computes the number of iterations
 * with unsigned arithmetic, because hi - lo may exceed the signed type. */
static struct value *build_middle(struct builder *b, const struct op *loop, int64_t factor)
{
    struct value *lo = op_opnd(loop, 0), *hi = op_opnd(loop, 1), *step = op_opnd(loop, 2);
    const struct type *t = lo->type;
    int64_t by;
    bool down = value_const_int(step, &by) && by < 0;
    struct value *from = down ? hi : lo, *to = down ? lo : hi;
    struct value *size = down ? build_const_int(b, t, -by) : step, *one = build_const_int(b, t, 1);
    struct value *distance = build_binary(b, OP_sub, build_binary(b, OP_sub, to, from), one);
    struct value *rounds = build_binary(b, OP_add, build_binary(b, OP_divu, distance, size), one);
    struct value *n = build_const_int(b, t, factor);
    rounds = build_binary(b, OP_mul, build_binary(b, OP_divu, rounds, n), n);
    struct value *zero = build_const_int(b, t, 0);
    rounds = build_select(b, build_cmp(b, PRED_slt, from, to), rounds, zero);
    return build_binary(b, OP_add, lo, build_binary(b, OP_mul, rounds, step));
}

/* Builds i + k * step. */
static struct value *build_ahead(struct builder *b, struct value *i, struct value *step, int64_t k)
{
    if (k == 0)
        return i;
    struct value *more = build_binary(b, OP_mul, step, build_const_int(b, step->type, k));
    return build_binary(b, OP_add, i, more);
}

/* Builds the unrolled loop before the original loop. The unrolled loop runs the iterations up to `middle`. */
static struct op *build_long(struct builder *b, const struct op *loop, struct value *middle, int64_t factor)
{
    struct block *from = loop->regions[0];
    int n = loop->nresults;
    struct value *step = op_opnd(loop, 2), **x = NEW_ARRAY(b->func->module->arena, n + 1, struct value *);
    for (int i = 0; i < n; i++)
        x[i] = op_opnd(loop, 3 + i);
    int64_t by;
    struct value *stride = value_const_int(step, &by) ? build_const_int(b, step->type, by * factor)
                                                      : build_ahead(b, step, step, factor - 1);
    struct op *to = build_for(b, op_opnd(loop, 0), middle, stride, n, x);
    op_set_int(to, ATTR_stages, op_int(loop, ATTR_stages));
    struct block *body = to->regions[0];
    for (int i = 0; i < n; i++)
        x[i] = body->args.at[1 + i];
    struct builder in = build_at_end(body, loop->loc);
    for (int64_t k = 0; k < factor; k++) {
        struct map map;
        map_init(&map, b->func->module->scratch);
        *map_at_ptr(&map, from->args.at[0]) = build_ahead(&in, body->args.at[0], step, k);
        for (int i = 0; i < n; i++)
            *map_at_ptr(&map, from->args.at[1 + i]) = x[i];
        for (const struct op *o = from->first; o != from->last; o = o->next)
            op_clone(&in, o, &map);
        for (int i = 0; i < n; i++)
            x[i] = value_mapped(&map, op_opnd(from->last, i));
    }
    build_yield(&in, n, x);
    return to;
}

struct op *loop_unroll(struct op *loop, int64_t factor)
{
    int64_t rounds = 0, left = 0, lo, step;
    struct builder b = build_before(loop);
    struct value *middle;
    bool is_known = known_rounds(loop, factor, &rounds, &left);
    op_drop_attr(loop, ATTR_unroll);
    if (is_known && rounds == 0)
        return loop;
    if (is_known && value_const_int(op_opnd(loop, 0), &lo) && value_const_int(op_opnd(loop, 2), &step))
        middle = build_const_int(&b, op_opnd(loop, 0)->type, lo + rounds * step);
    else
        middle = build_middle(&b, loop, factor);
    struct op *to = build_long(&b, loop, middle, factor);
    const enum decision how = is_known && !left ? DECISION_unrolled_whole : DECISION_unrolled_with_rest;
    opt_explain(b.func, &(struct explanation){how, .at = loop, .numbers = {factor}});
    for (int i = 0; i < loop->nresults && is_known && !left; i++)
        value_replace(&loop->results[i], &to->results[i]);
    if (is_known && !left) {
        op_erase(loop);
        return to;
    }
    op_set_opnd(loop, 0, middle);
    for (int i = 0; i < loop->nresults; i++)
        op_set_opnd(loop, 3 + i, &to->results[i]);
    op_set_int(loop, ATTR_stages, 1);
    return to;
}

static void visit(struct op *o, void *ctx)
{
    (void)ctx;
    if (o->code == OP_for && op_int(o, ATTR_unroll) > 1)
        loop_unroll(o, op_int(o, ATTR_unroll));
}

void opt_unroll(struct func *f)
{
    block_walk_up(f->body, visit, NULL);
}
