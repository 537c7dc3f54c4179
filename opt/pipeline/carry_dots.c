/* SPDX-License-Identifier: MIT */
/* carry_dots.c: lets the last dot of a loop with several dots run during the first dots of the next iteration.
 *
 *     for %k = %lo to %hi carry(%sum, %stage) {      for %k = %lo to %hi carry(%sum, %stage, %p = 0, %old = 0) {
 *       mbar_wait %full[%stage]                        mbar_wait %full[%stage]
 *       %s = mma_start %x, %buf[%stage], 0             %s = mma_start %x, %buf[%stage], 0
 *       %s.1 = mma_wait %s                             %sum.1, %p.1 = mma_wait %sum, %p pending=1
 *       %p = f(%s.1)                                   mbar_arrive %empty[%old], (%k != %lo)
 *       %d = mma_start %p, %buf[%stage], %sum   =>     %s.1 = mma_wait %s
 *       %w = mma_wait %d                               %p.2 = f(%s.1)
 *       mbar_arrive %empty[%stage]                     %d = mma_start %p.2, %buf[%stage], %sum.1
 *       yield %w, next stage                           yield %d, next stage, %p.2, %stage
 *     }                                              }
 *                                                    %w, %p.3 = mma_wait %d, %p
 *                                                    mbar_arrive %empty[%old], (%lo < %hi)
 *
 * The loop carries the dot in flight, the operand that the dot reads from registers, and the numbers of the
 * stages that the loop releases after the dot. The wait for the dot moves into the next iteration, before
 * that iteration's first wait for a dot. The first wait would wait for this dot anyway, because dots end
 * in the order in which they start. So the moved wait costs nothing, and tensor cores run from one iteration
 * into the next.
 *
 * The pass rewrites a loop of at least LEAST_DOTS dots if all of these conditions hold:
 * - The body has no branches: a branch that computes the dot's operand (keep_maximum.c) would write the
 *   operand's registers while the dot of the previous iteration still reads them.
 * - The loop does nothing with the last dot's accumulator but carry it.
 * - The loop's body writes no buffer that the dot reads, and copies no registers that the dot reads.
 * - After the wait for the dot, the only ops with effects are releases of stages.
 * - The rings of these stages have several stages, because the producer must fill a stage for the first dot
 *   before the loop releases the last dot's stage.
 * - The accumulators and the operand fit into the registers that setmaxnreg gives to a consumer thread.
 * Loops of two dots are left to overlap_dots.c. In loops of three dots the gain is smaller than the noise:
 * the measured times of attention backward's loop for dQ, D = 64, changed by +1.6 and -1.5 percent. Needs:
 * layouts. */
#include "ir/target/engine.h"
#include "ir/target/fragments.h"
#include "opt/analysis/analysis.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"
#include "opt/pipeline/pipeline.h"
#include "opt/simplify/simplify.h"

enum { LEAST_DOTS = 4, RELEASES_MOST = 4 };

struct op *build_dot_wait(struct builder *b, struct value *sum, struct value *a)
{
    const int n = a && a->type->kind == TY_tile ? 2 : 1; /* operands and results */
    return build_op(b, OP_mma_wait, n, (struct value *[]){sum, a}, n,
                    (const struct type *[]){sum->type, a ? a->type : NULL}, 0);
}

struct op *await_behind(struct op *loop, int i, struct value *a)
{
    struct value *sum = &loop->results[i];
    struct builder b = build_after(loop);
    struct op *wait = build_dot_wait(&b, sum, a);
    value_replace(sum, op_result(wait));
    op_set_opnd(wait, 0, sum);
    return wait;
}

struct op *keep_operand(struct op *wait, struct value *a)
{
    struct builder b = build_before(wait);
    struct op *kept = build_dot_wait(&b, op_opnd(wait, 0), a);
    if (op_int(wait, ATTR_pending))
        op_set_int(kept, ATTR_pending, op_int(wait, ATTR_pending));
    value_replace(op_result(wait), op_result(kept));
    value_take_name(op_result(kept), op_result(wait));
    op_erase(wait);
    return kept;
}

struct op *wait_if_carried(const struct op *dot)
{
    const struct value *acc = op_opnd(dot, DOT_acc), *sum = op_result(dot);
    struct op *wait = value_nuses(sum) == 1 ? sum->uses->user : NULL, *end = block_terminator(dot->block);
    if (!end || !wait || wait->code != OP_mma_wait || wait->block != dot->block || op_opnd(wait, 0) != sum ||
        op_int(wait, ATTR_pending) || acc->def || acc->block != dot->block || acc->index == 0 ||
        value_nuses(acc) != 1)
        return NULL;
    for (int i = 1; i < wait->nresults; i++)
        if (has_uses(&wait->results[i]))
            return NULL;
    const struct value *done = op_result(wait);
    return value_nuses(done) == 1 && op_opnd(end, acc->index - 1) == done ? wait : NULL;
}

struct carried_dot {
    struct op *loop, *dot, *wait;
    struct op *first_wait;             /* the first wait for a dot in the body */
    int started;                       /* the number of dots that start before first_wait */
    struct op *release[RELEASES_MOST]; /* the releases after the wait */
    int nreleases;
};

/* Sets c->dot to the last dot, c->first_wait to the first wait for a dot, and c->started to the number of
 * dots before that wait. Returns the number of all dots, or 0 if the body has branches or loops. */
static int find_dots(struct carried_dot *c)
{
    int dots = 0;
    for (struct op *o = c->loop->regions[0]->first; o; o = o->next)
        if (o->code == OP_if || o->code == OP_for || o->code == OP_while) {
            return 0;
        } else if (starts_dot(o)) {
            dots++;
            c->dot = o;
            c->started += !c->first_wait;
        } else if (op_awaits(o) == COMPLETION_dots && !c->first_wait) {
            c->first_wait = o;
        }
    return dots;
}

/* Returns whether an op of the loop's body writes the buffer x or another stage of x. */
static bool is_written(const struct carried_dot *c, const struct value *x)
{
    const struct op *alloc = buffer_alloc(x, NULL);
    for (const struct op *o = c->loop->regions[0]->first; o; o = o->next)
        if (op_has(o, WRITES) && op_opnd(o, 0)->type->kind == TY_shared &&
            buffer_alloc(op_opnd(o, 0), NULL) == alloc)
            return true;
    return false;
}

/* Returns whether the dot's operand x stays as it is while the dot is in flight. x may be in a buffer that is filled
 * outside the loop, or in a ring that a producer fills: it waits for the release of a stage. If the loop itself
 * copies into the ring, only the order of the loop's ops protects the stage that the dot reads. x may also be
 * in registers, but not if the dot reads copies of these registers (32-bit elements: words_of in
 * codegen/select/wgmma.c), which the carried value does not keep. */
static bool is_safe(const struct carried_dot *c, const struct value *x)
{
    if (x->type->kind == TY_tile)
        return mma_choose(c->dot, true, false).fragment->word_elems > 1;
    return value_is_outside(x, c->loop) || (x->def->code == OP_shared_stage && !is_written(c, x));
}

/* Returns the number of the stage that `release` releases. */
static struct value *stage_of(const struct op *release)
{
    struct value *stage = NULL;
    buffer_alloc(op_opnd(release, 0), &stage);
    return stage;
}

/* Finds the releases after the wait. Returns false if another op with effects follows the wait, if a release
 * depends on a condition, if there are more than RELEASES_MOST releases, or if a ring has one stage. */
static bool find_releases(struct carried_dot *c)
{
    for (struct op *o = c->wait->next; o != c->loop->regions[0]->last; o = o->next) {
        if (is_pure(o))
            continue;
        if (o->code != OP_mbar_arrive || o->nopnds > 1 || c->nreleases == RELEASES_MOST || !stage_of(o) ||
            op_result(buffer_alloc(op_opnd(o, 0), NULL))->type->nstages < 2)
            return false;
        c->release[c->nreleases++] = o;
    }
    return true;
}

/* Returns whether a thread's registers suffice for the accumulators that the loop carries, the accumulators of the
 * next iteration's first dots, and the operand of the dot in flight. Returns false if setmaxnreg sets no
 * limit for the consumers: the number of CTAs on an SM, and so the number of registers of a thread, is then
 * not known yet. */
static bool has_registers(const struct carried_dot *c)
{
    const struct func *f = c->loop->block->func;
    int needed = f->module->params->carry_dots_other_regs +
                 tile_regs(op_opnd(c->dot, DOT_a)->type, f->num_warps, 0),
        n = 0;
    for (const struct op *o = c->loop->regions[0]->first; o; o = o->next)
        if (starts_dot(o) &&
            (n++ < c->started || (!op_opnd(o, DOT_acc)->def && op_opnd(o, DOT_acc)->block == o->block)))
            needed += tile_regs(op_result(o)->type, f->num_warps, 0);
    const struct op *roles = func_roles(f);
    return roles && op_attr(roles, ATTR_regs) && needed <= consumer_regs(f);
}

static bool plan(struct carried_dot *c)
{
    if (find_dots(c) < LEAST_DOTS)
        return false;
    c->wait = wait_if_carried(c->dot);
    return c->wait && c->wait != c->first_wait && is_safe(c, op_opnd(c->dot, DOT_a)) &&
           is_safe(c, op_opnd(c->dot, DOT_b)) && find_releases(c) && has_registers(c);
}

/* Builds a copy of each release i for stage number stages[i]. The copies have an effect only if `on` is
 * true. */
static void build_releases(const struct carried_dot *c, struct builder *b, struct value **stages,
                           struct value *on)
{
    for (int i = 0; i < c->nreleases; i++) {
        struct op *bar = buffer_alloc(op_opnd(c->release[i], 0), NULL),
                  *view = op_opnd(c->release[i], 0)->def;
        struct value *x[] = {op_result(bar), stages[i]};
        struct value *at = op_result(build_op(b, OP_shared_stage, 2, x, 1, &op_result(view)->type, 0));
        struct op *arrive = build_op(b, OP_mbar_arrive, 2, (struct value *[]){at, on}, 0, NULL, 0);
        op_set_int(arrive, ATTR_group, (int)op_int(c->release[i], ATTR_group));
    }
}

/* Rewrites the loop. The new loop also carries the stage number of each release, and then operand a of the
 * dot if this operand is in registers. */
static void carry(struct carried_dot *c)
{
    struct value *x[RELEASES_MOST + 1], *a = op_opnd(c->dot, DOT_a);
    const bool in_registers = a->type->kind == TY_tile;
    const int was = c->loop->nresults, n = c->nreleases + in_registers,
              at = op_opnd(c->dot, DOT_acc)->index - 1;
    struct op *old = c->loop;
    struct builder b = build_before(old);
    for (int i = 0; i < n; i++)
        x[i] = build_const_bits(&b, i < c->nreleases ? stage_of(c->release[i])->type : a->type, 0);
    struct op *loop = c->loop = loop_carry(old, NULL, n, x);
    op_erase(old);
    for (int i = 0; i < n; i++)
        x[i] = i < c->nreleases ? stage_of(c->release[i]) : a;
    loop_yield(loop, n, x);
    struct block *body = loop->regions[0];
    op_set_opnd(body->last, at, op_result(c->dot));
    struct value **args = &body->args.at[1 + was];
    b = build_before(c->first_wait);
    struct op *wait = build_dot_wait(&b, body->args.at[1 + at], in_registers ? args[n - 1] : NULL);
    op_set_int(wait, ATTR_pending, c->started);
    op_set_opnd(c->dot, DOT_acc, op_result(wait));
    build_releases(c, &b, args, build_cmp(&b, PRED_ne, body->args.at[0], op_opnd(loop, 0)));
    for (int i = 0; i < n; i++)
        x[i] = &loop->results[was + i];
    b = build_after(await_behind(loop, at, in_registers ? x[n - 1] : NULL));
    build_releases(c, &b, x, loop_runs(&b, loop));
    op_erase(c->wait);
    for (int i = 0; i < c->nreleases; i++) {
        struct op *view = op_opnd(c->release[i], 0)->def;
        op_erase(c->release[i]);
        if (!has_uses(op_result(view)))
            op_erase(view);
    }
}

static void visit(struct op *o, void *ctx)
{
    (void)ctx;
    struct carried_dot c = {.loop = o};
    if (o->code != OP_for || !plan(&c))
        return;
    opt_explain(o->block->func,
                &(struct explanation){DECISION_dot_carried, .at = c.dot, .values = {&c.wait->results[0]}});
    carry(&c);
}

void opt_carry_dots(struct func *f)
{
    block_walk_up(f->body, visit, NULL);
}
