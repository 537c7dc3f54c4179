/* SPDX-License-Identifier: MIT */
/* carry_dots.c: leaves the last dots of an iteration in flight until the next iteration has started its first ones.
 *
 *     for ... carry(%sum, %i) {                   for ... carry(%d, %i, %p = 0, %old = -1) {
 *       %s = mma_start %k, %q[%i], 0                  %s = mma_start %k, %q[%i], 0
 *       %s.1 = mma_wait %s                            %sum, _ = mma_wait %d, %p pending=1
 *       %p = exp2 %s.1                                mbar_arrive %empty[%old], %old >= 0
 *       %d = mma_start %p, %q[%i], %sum       =>      %s.1 = mma_wait %s
 *       %d.1 = mma_wait %d                            %p.1 = exp2 %s.1
 *       mbar_arrive %empty[%i]                        %d.1 = mma_start %p.1, %q[%i], %sum
 *       yield %d.1, %i + 1                            yield %d.1, %i + 1, %p.1, %i
 *     }                                           }
 *                                                 the wait and the arrival once more
 *
 * Tensor cores then go from an iteration's last dot to the first of the next one without a pause. The waits behind the
 * last dot of the body, and the arrivals behind the first of these waits, move to the next iteration, in front of its
 * first wait. Operands in registers and stage numbers are carried to them. The pass changes a loop if
 * - each of these waits is for a dot that adds to a sum which the loop only carries, and dots start in front of the
 *   first wait of an iteration;
 * - producers or code outside the loop fill the buffers that the carried dots read, and rings have stages to spare;
 * - behind its last dot the body has no other side effects;
 * - setmaxnreg gives a thread enough registers for the accumulators and operands of all dots of any loop, and for
 *   other values. */
#include "ir/target/fragments.h"
#include "ir/target/wgmma.h"
#include "opt/analysis/analysis.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"
#include "opt/pipeline/pipeline.h"
#include "opt/pipeline/plan_rings.h"
#include "opt/simplify/simplify.h"

/* Loops carry elements with this number of bits in pairs, as wgmma reads them. */
enum { PAIRED_BITS = 16 };

struct carrying {
    struct arena *arena;
    struct op *loop;
    struct op *first;               /* the body's first wait for a dot */
    int started;                    /* the dots that start in front of it */
    VEC(struct op *) moved;         /* the waits and arrivals that move to the next iteration */
    VEC(struct value *) init, more; /* what the loop carries to them: at first, and from each iteration */
};

/* -- is the loop one that the pass changes? -- */

static int dots_behind(const struct op *o)
{
    int n = 0;
    while ((o = o->next))
        n += starts_dot(o);
    return n;
}

static bool writes(const struct op *o, const struct op *alloc)
{
    for (int i = 0; i < o->nopnds && (op_has(o, WRITES) || o->code == OP_to_shared); i++)
        if (op_opnd(o, i) && op_opnd(o, i)->type->kind == TY_shared &&
            buffer_alloc(op_opnd(o, i), NULL) == alloc)
            return true;
    return false;
}

/* Returns whether no thread writes the buffer inside the loop. */
static bool is_filled_elsewhere(const struct op *loop, const struct value *buf)
{
    const struct op *alloc = buffer_alloc(buf, NULL);
    if (!alloc || !value_is_outside(op_result(alloc), loop))
        return false;
    for (const struct op *o = loop->regions[0]->first; o; o = o->next)
        if (writes(o, alloc))
            return false;
    return true;
}

/* Returns the dot's first operand if the loop computes it in registers. Returns NULL if the operand need not be
 * carried. */
static struct value *operand_to_carry(const struct op *loop, const struct op *dot)
{
    struct value *a = op_opnd(dot, DOT_a);
    return a->type->kind == TY_tile && !value_is_outside(a, loop) ? a : NULL;
}

/* Returns whether the loop does nothing with the dot's accumulator but carry it. */
static bool only_carries(const struct carrying *c, const struct op *dot, const struct op *wait)
{
    const struct value *acc = op_opnd(dot, DOT_acc), *sum = op_result(wait);
    const struct op *end = block_terminator(wait->block);
    for (int i = 1; i < wait->nresults; i++)
        if (wait->results[i].uses)
            return false;
    return !acc->def && acc->block == wait->block && acc->index > 0 && value_nuses(acc) == 1 &&
           value_nuses(op_result(dot)) == 1 && value_nuses(sum) == 1 && sum->uses->user == end &&
           op_opnd(end, acc->index - 1) == sum && op_is_before(c->first, dot);
}

static bool can_move_wait(const struct carrying *c, const struct op *wait)
{
    const struct op *dot = op_opnd(wait, 0)->def;
    if (!dot || !starts_dot(dot) || dot->block != wait->block || !only_carries(c, dot, wait))
        return false;
    for (int i = DOT_a; i <= DOT_b; i++)
        if (op_opnd(dot, i)->type->kind == TY_shared && !is_filled_elsewhere(c->loop, op_opnd(dot, i)))
            return false;
    const struct value *a = operand_to_carry(c->loop, dot);
    return !a || type_elem_bits(a->type) == PAIRED_BITS;
}

static bool can_move_arrival(const struct op *o)
{
    const struct op *stage = op_opnd(o, 0)->def;
    return o->nopnds == 1 && !op_attr(o, ATTR_last) && stage && stage->code == OP_shared_stage &&
           op_opnd(stage, 0)->type->nstages >= o->block->func->module->params->carry_dots_stages_least;
}

static bool find_first(struct carrying *c)
{
    for (struct op *o = c->loop->regions[0]->first; o; o = o->next) {
        if (o->nregions)
            return false;
        c->started += !c->first && starts_dot(o);
        c->first = !c->first && o->code == OP_mma_wait ? o : c->first;
    }
    return c->first && c->started > 0;
}

/* Finds the ops that stand behind the last dot and move to the next iteration. Returns false if there are none, or
 * if one of the ops behind the last dot does not allow this. */
static bool find_moved(struct carrying *c)
{
    const struct op *end = block_terminator(c->loop->regions[0]);
    struct op *o = c->loop->regions[0]->last;
    while (o && !starts_dot(o))
        o = o->prev;
    while (o && (o = o->next) != end) {
        const bool waits = o->code == OP_mma_wait, arrives = o->code == OP_mbar_arrive;
        if (waits ? !can_move_wait(c, o) : arrives ? c->moved.n && !can_move_arrival(o) : !is_pure(o))
            return false;
        if (waits || (arrives && c->moved.n))
            VEC_PUSH(c->arena, &c->moved, o);
    }
    return c->moved.n > 0;
}

/* Sets *most to the largest number of registers of a thread that the accumulators and the operands of one loop's dots
 * take. */
static void find_most_regs(struct op *loop, void *most)
{
    const int num_warps = loop->block->func->num_warps;
    int regs = 0, *most_regs = most;
    for (const struct op *o = loop->code == OP_for ? loop->regions[0]->first : NULL; o; o = o->next) {
        if (!starts_dot(o))
            continue;
        const struct type *a = op_opnd(o, DOT_a)->type;
        regs += tile_regs(op_result(o)->type, num_warps, 0);
        regs += a->kind == TY_tile ? tile_regs(a, num_warps, 0) : 0;
    }
    *most_regs = regs > *most_regs ? regs : *most_regs;
}

/* Returns whether a thread has enough registers. While the first dots of an iteration run, all accumulators and
 * operands of the loop are live. The other loops count too, because ptxas spills for the function as a whole.
 * Returns false without setmaxnreg, because a second CTA may then take half of the registers (resources.c). */
static bool has_registers(const struct func *f)
{
    enum { PERCENT = 100 };
    const struct op *roles = func_roles(f);
    const struct attr *given = roles ? op_attr(roles, ATTR_regs) : NULL;
    int most = 0;
    block_walk(f->body, find_most_regs, &most);
    return given && most * PERCENT <= given->list[0] * f->module->params->carry_dots_percent;
}

/* -- the rewrite -- */

/* Notes the value that the loop carries to the moved op o in addition to the accumulator: its initial value or, if
 * `next` is true, the value that an iteration yields. */
static void note_carried(struct carrying *c, struct builder *b, const struct op *o, bool next)
{
    struct value *v = NULL;
    if (o->code == OP_mma_wait) {
        v = operand_to_carry(c->loop, op_opnd(o, 0)->def);
        if (v && !next)
            v = build_const_bits(b, v->type, 0);
    } else {
        v = next ? op_opnd(op_opnd(o, 0)->def, 1) : build_const_i32(b, -1);
    }
    if (v && next)
        VEC_PUSH(c->arena, &c->more, v);
    else if (v)
        VEC_PUSH(c->arena, &c->init, v);
}

static struct op *build_wait_for(struct builder *b, struct value *sum, struct value *a, int pending)
{
    struct value *x[] = {sum, a};
    const int n = a ? 2 : 1;
    struct op *wait =
        build_op(b, OP_mma_wait, n, x, n, (const struct type *[]){sum->type, a ? a->type : NULL}, 0);
    if (pending)
        op_set_int(wait, ATTR_pending, pending);
    return wait;
}

/* Builds an arrival like `like` that releases stage number `stage`. If this number is -1 at run time, there is no
 * such stage, and no thread arrives. */
static void build_arrival(struct builder *b, const struct op *like, struct value *stage)
{
    const struct op *old = op_opnd(like, 0)->def;
    struct value *x[] = {build_binary(b, OP_shared_stage, op_opnd(old, 0), stage),
                         build_cmp(b, PRED_sge, stage, build_const_i32(b, 0))};
    struct op *o = build_op(b, OP_mbar_arrive, 2, x, 0, NULL, 0);
    if (op_attr(like, ATTR_group))
        op_set_int(o, ATTR_group, op_int(like, ATTR_group));
}

/* Builds the moved op o in front of c->first and, once more, behind the loop (at `behind`). more[0] is the value
 * that the loop carries to o, as an argument of the body, and more[1] is this value as a result of the loop. */
static void move(struct carrying *c, struct op *o, struct builder *behind, struct value *const more[2])
{
    struct builder b = build_before(c->first);
    if (o->code == OP_mbar_arrive) {
        build_arrival(&b, o, more[0]);
        build_arrival(behind, o, more[1]);
        return;
    }
    struct op *dot = op_opnd(o, 0)->def;
    struct value *acc = op_opnd(dot, DOT_acc), *sum = &c->loop->results[acc->index - 1];
    const int newer = dots_behind(dot);
    op_set_opnd(dot, DOT_acc, op_result(build_wait_for(&b, acc, more[0], c->started + newer)));
    op_set_opnd(block_terminator(c->loop->regions[0]), acc->index - 1, op_result(dot));
    struct op *last = build_wait_for(behind, sum, more[1], newer);
    value_replace(sum, op_result(last));
    op_set_opnd(last, 0, sum);
}

static void erase_moved(struct op *o)
{
    struct op *stage = o->code == OP_mbar_arrive ? op_opnd(o, 0)->def : NULL;
    op_erase(o);
    if (stage && op_is_dead(stage))
        op_erase(stage);
}

static void rewrite(struct carrying *c)
{
    struct builder b = build_before(c->loop);
    const int n = c->loop->nresults;
    for (int i = 0; i < c->moved.n; i++)
        note_carried(c, &b, c->moved.at[i], false);
    struct op *old = c->loop;
    c->loop = loop_carry(old, NULL, c->init.n, c->init.at);
    op_erase(old);
    struct builder behind = build_after(c->loop);
    for (int i = 0; i < c->moved.n; i++) {
        struct op *o = c->moved.at[i];
        const int k = c->more.n;
        note_carried(c, &b, o, true);
        struct value *more[2] = {NULL, NULL};
        if (c->more.n > k) {
            more[0] = c->loop->regions[0]->args.at[1 + n + k];
            more[1] = &c->loop->results[n + k];
            value_rename(more[0], o->code == OP_mma_wait ? "operand" : "old");
        }
        move(c, o, &behind, more);
    }
    loop_yield(c->loop, c->more.n, c->more.at);
    for (int i = 0; i < c->moved.n; i++)
        erase_moved(c->moved.at[i]);
}

void carry_dots(struct op *loop)
{
    struct carrying c = {.arena = loop->block->func->module->scratch, .loop = loop};
    if (find_first(&c) && find_moved(&c) && has_registers(loop->block->func)) {
        opt_explain(loop->block->func, (struct explanation){DECISION_dots_carried, .at = loop});
        rewrite(&c);
    }
}
