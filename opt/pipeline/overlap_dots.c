/* SPDX-License-Identifier: MIT */
/* overlap_dots.c: rewrites loops with two dots in which the second dot reads an operand that is computed from
 * the first dot's result. The second dot of iteration i then runs during the first dot and the arithmetic of
 * iteration i+1.
 *
 *     for %k = %lo to %hi carry(%sum, %m) {       %e = if %lo < %hi {
 *       mbar_wait %K                                 mbar_wait %K; %s = mma_start %q, %K, 0; mma_wait; %p, %a = f(...)
 *       %s = mma_start %q, %K, 0                     for %k = %lo + step to %hi carry(%sum, %m.1, %p, %a) {
 *       %t = mma_wait %s                               mbar_wait %K.1
 *       %p, %a, %m.1 = f(%t, %m)                       %s.1 = mma_start %q, %K.1, 0
 *       mbar_wait %V                          =>       mbar_wait %V
 *       %d = mma_start %p, %V, %sum * %a               %d = mma_start %p, %V, %sum * %a
 *       %w = mma_wait %d                               %t.1 = mma_wait %s.1 pending=1
 *       yield %w, %m.1                                 %p.1, %a.1, %m.2 = f(%t.1, %m.1)
 *     }                                                %w = mma_wait %d, %p
 *                                                      yield %w, %m.2, %p.1, %a.1
 *                                                    }
 *                                                    mbar_wait %V; %d.1 = mma_start %p, %V, %sum * %a; mma_wait
 *                                                  } else { yield %sum, %m }
 *
 * The pass splits the body into two parts. The early part contains the first dot and computes the second
 * dot's operand. The late part consists of the second dot and of the ops that compute its accumulator. The
 * split is legal if the early part uses no value of the late part. Only the two dots and their barriers may
 * have side effects, in the order of the array `expected`. The loop carries the values of the early part that
 * the late part uses, here %p and %a. The registers of the second dot's operand must not change until that
 * dot has ended. So the pass makes the operand a second operand of the wait for that dot; the wait returns it
 * as a second result.
 *
 * The product %sum * %a may be in a branch that skips it in some iterations (skip_rescaling.c,
 * keep_maximum.c). Then the conversion of the second dot's operand to its narrow type becomes late, too, if a
 * thread has registers for the unconverted tile:
 *
 *     %p.1 = ftrunc %x; ... carry %p.1                 carry %x
 *     %s.1 = mma_start %q, %K.1, 0              =>     %s.1 = mma_start %q, %K.1, 0
 *     %t = if %keep { ... }                            %t = if %keep { ... }
 *     %d = mma_start %p, %V, %t                        %p = ftrunc %x
 *                                                      %d = mma_start %p, %V, %t
 *
 * Then the conversion runs during the first dot, and no longer between the end of one iteration and the first dot of
 * the next. Without the branch, ptxas would move the conversion before the first dot. Times of attention
 * in us (D = 64, H200; in both columns, a branch skips the product):
 *
 *                                    conversion early   conversion late
 *     128 heads of 4096 rows                     1291              1233
 *     128 heads of 4096 rows, causal              693               678
 *     32 heads of 16384 rows                     5060              4691
 *     32 heads of 16384 rows, causal             2493              2429
 *
 * A branch may also compute the second dot's operand (keep_maximum.c). The pass puts this branch before the
 * wait for the second dot: ptxas moves waits up, but not across a branch. So, while the branch computes the
 * next operand, the second dot still reads the operand of the previous iteration. Unless the conversion is
 * late, the pass therefore unrolls the loop by two, so that the operands of two iterations have different
 * registers. If the second dot's ring has a stage to spare, the first iteration's wait for the second dot
 * moves to after the start of the second iteration's first dot. Before the loop, where the first operand is
 * computed, the branch's second arm replaces the branch.
 *
 * Some loops are known to run one or two iterations, like the loop over the diagonal blocks of causal attention. The
 * new loop, which runs one iteration less, would then run no iteration or one. The pass drops the new loop in
 * the first case, and replaces it by its body in the second.
 *
 * If a CTA has two to four warpgroups, the pass staggers them once per tile: each warpgroup starts its first
 * dot only when the previous warpgroup has ended its first dot. If there are two warpgroups, the second also
 * waits until the first has computed its operand of the second dot:
 *
 *     mbar_wait %K; stagger_wait; %s = mma_start %q, %K, 0; mma_wait; %p = ...; stagger_arrive   of the first iteration
 *     ...
 *     mbar_wait %V; %d = mma_start %p, %V, %sum * %a; mma_wait; stagger_end        of the last iteration
 *
 * Without staggering, all warpgroups would reach their arithmetic at the same time, and the tensor cores would idle
 * during this arithmetic. Warpgroups that start at the same time stay close together. In an attention kernel on an
 * H200, an iteration takes about 2850 cycles. Two warpgroups were 358 cycles apart without staggering, and
 * 1025 cycles apart if the second warpgroup started when the first had ended its first dot. TFLOP/s of
 * attention (64 heads of 4096 rows, f16) without staggering, with staggering once per tile, and with
 * staggering in every iteration:
 *
 *     staggered                  never   once per tile   in every iteration
 *     128 x 128, D = 128           453             565                  566
 *     128 x 128, D = 128, causal   454             467                  473
 *     128 x 128, D = 64            348             385                  392
 *     128 x 128, D = 64, causal    343             346                  334
 *     128 x 64                     473             473                  474
 *
 * Two warpgroups should be half an iteration apart. If they are closer, both wait for the special functions, and then
 * both wait for the tensor cores. The first dot takes less than half an iteration if D = 64. This is why the
 * second of two warpgroups also waits for the arithmetic of the first. Times of attention in us (D = 64, 128
 * x 128) if the second warpgroup starts one dot after the first, and if it also waits for the arithmetic:
 *
 *                                                    after the dot   after the arithmetic
 *     from descriptors, 128 heads of 4096 rows                1327                   1228
 *     from descriptors, 128 heads of 4096 rows, causal         683                    670
 *     from descriptors, 32 heads of 16384 rows                5299                   4678
 *     from pointers, 128 heads of 4096 rows                   1207                   1223
 *     from pointers, 32 heads of 16384 rows                   4635                   4620
 *
 * The kernels that load from pointers and from descriptors differ only in the addresses in their SASS. With
 * pointers, the warpgroups happened to be far enough apart already when the second started after the dot.
 *
 * If a branch computes the operand, staggering once per tile is not enough. The arithmetic is then short. Two
 * warpgroups that reach the arithmetic at the same time in one iteration also do so in all later iterations. Both
 * wait for the special functions, and then both wait for the tensor cores. So two warpgroups take turns: in
 * each iteration, a warpgroup starts its first dot when the other warpgroup has ended its first dot. Cycles
 * of attention (128 heads of 4096 rows, 128 x 128, f16, fp_reassoc; one launch on an H200):
 *
 *                                once per tile   turns
 *     D = 128, from pointers         2,353,711   2,351,696
 *     D = 64, from pointers          2,091,662   1,755,410
 *     D = 64, from descriptors       1,833,225   1,729,689
 *     D = 128, causal                1,388,739   1,368,726
 *     D = 64, causal                 1,124,932   1,089,527
 *
 * If no branch computes the operand, the pass staggers only the first loop of a tile, because the warpgroups
 * stay apart in the loops after it. The bounds of the loop are scalars, so either all warpgroups execute the
 * three stagger ops, or no warpgroup executes them. The pass does not stagger warpgroups that share rows: a
 * barrier brings such warpgroups together in each iteration.
 *
 * The pass rewrites a loop only if, in addition,
 * - the first dot's accumulator starts as a value from outside the loop, and the second dot's operand is a tile of
 *   elements narrower than 32 bits that the loop computes (is_packed_tile);
 * - the loop does not store to the buffers that the dots read, except by asynchronous copies;
 * - the ring of the second dot has enough stages (spare_stages);
 * - both accumulators, the second dot's operand and the values of the arithmetic fit in the registers of a
 *   consumer thread (consumer_regs).
 * Needs: layouts. Leaves: dead ops. */
#include "ir/target/fragments.h"
#include "ir/support/map.h"
#include "ir/target/target.h"
#include "opt/analysis/analysis.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"
#include "opt/pipeline/pipeline.h"
#include "opt/simplify/simplify.h"

/* The ops of an iteration that have side effects, in order. */
enum { WAIT_A, FIRST, FIRST_DONE, FREE_A, WAIT_B, SECOND, SECOND_DONE, FREE_B, NEFFECTS };
static const enum opcode expected[NEFFECTS] = {OP_mbar_wait, OP_mma_start, OP_mma_wait, OP_mbar_arrive,
                                               OP_mbar_wait, OP_mma_start, OP_mma_wait, OP_mbar_arrive};

struct rotation {
    struct arena *arena;
    struct op *loop;
    struct block *body;
    struct op *effects[NEFFECTS];
    bool turns; /* two warpgroups take turns at their first dots in each iteration */
    /* in the first iteration, each warpgroup waits for the previous warpgroup before it starts its first dot;
     * also true if the warpgroups take turns */
    bool staggers;
    bool is_far; /* the second of two warpgroups also waits until the first has done its arithmetic */
    /* the op that computes operand a of the second dot; if the conversion of this operand to its narrow type
     * is late, the op that computes the unconverted tile */
    struct op *operand;
    struct op *conversion;        /* the late conversion; NULL: the conversion, if any, is early */
    struct map late;              /* the ops of the late part, and the carried arguments that these ops use */
    bool spreads;                 /* the last call of `spread` has marked an op or an argument */
    VEC(struct value *) crossing; /* the values of the early part that the late part uses */
    bool two_sets; /* a branch writes the next operand during the second dot, so the loop must be unrolled */
    struct map handed; /* maps each crossing value to the argument that holds it one iteration later */
};

static bool is_late(const struct rotation *r, const void *x)
{
    return map_get_ptr(&r->late, x) != NULL;
}

static bool is_late_value(const struct rotation *r, const struct value *v)
{
    return v && (v->def ? is_late(r, v->def) : is_late(r, v));
}

static bool mark(struct rotation *r, void *x)
{
    if (is_late(r, x))
        return false;
    *map_at_ptr(&r->late, x) = x;
    return true;
}

static bool is_in(const struct rotation *r, const struct value *v)
{
    return v && v->def && v->def->block == r->body;
}

/* Calls `visit` for each operand of o and of the ops in its regions. */
static void visit_operands(struct rotation *r, struct op *o,
                           void (*visit)(struct rotation *r, struct op *o, int i))
{
    for (int i = 0; i < o->nopnds; i++)
        if (op_opnd(o, i))
            visit(r, o, i);
    for (int k = 0; k < o->nregions; k++)
        for (struct op *inner = o->regions[k]->first; inner; inner = inner->next)
            visit_operands(r, inner, visit);
}

/* Returns whether `holds` is true of an operand of o, or of an operand of an op in the regions of o. */
static bool any_operand(const struct rotation *r, const struct op *o,
                        bool (*holds)(const struct rotation *r, const struct value *v))
{
    for (int i = 0; i < o->nopnds; i++)
        if (op_opnd(o, i) && holds(r, op_opnd(o, i)))
            return true;
    for (int k = 0; k < o->nregions; k++)
        for (const struct op *inner = o->regions[k]->first; inner; inner = inner->next)
            if (any_operand(r, inner, holds))
                return true;
    return false;
}

static bool is_argument(const struct rotation *r, const struct value *v)
{
    return !v->def && v->block == r->body;
}

static bool only_late_uses(const struct rotation *r, const struct op *o)
{
    int n = 0;
    for (int i = 0; i < o->nresults; i++)
        for (const struct use *u = o->results[i].uses; u; u = u->next, n++) {
            if (!is_late(r, op_ancestor_in(u->user, r->body)))
                return false;
        }
    return n > 0;
}

/* Returns whether v is a carried argument of the early part. The late part runs one iteration after the early
 * part, so it would need the value that this argument had in the previous iteration. */
static bool is_early_argument(const struct rotation *r, const struct value *v)
{
    return is_argument(r, v) && !is_late(r, v);
}

static bool becomes_late(const struct rotation *r, const struct op *o)
{
    if (any_operand(r, o, is_late_value))
        return true;
    return is_pure(o) && o != r->operand && only_late_uses(r, o) &&
           (o->code == OP_shared_stage || !any_operand(r, o, is_early_argument));
}

static void mark_argument(struct rotation *r, struct op *o, int i)
{
    struct value *v = op_opnd(o, i);
    if (is_argument(r, v))
        r->spreads |= mark(r, v);
}

/* Marks as late the ops and carried arguments that must be late because of the ops and arguments that are already
 * marked. Returns whether the function has marked anything. */
static bool spread(struct rotation *r)
{
    r->spreads = false;
    for (struct op *o = r->body->first; o != r->body->last; o = o->next) {
        if (!is_late(r, o) && !becomes_late(r, o))
            continue;
        r->spreads |= mark(r, o);
        visit_operands(r, o, mark_argument);
    }
    for (int i = 0; i < r->body->last->nopnds; i++)
        if (is_late_value(r, op_opnd(r->body->last, i)))
            r->spreads |= mark(r, r->body->args.at[1 + i]);
    return r->spreads;
}

static bool find_effects(struct rotation *r)
{
    int n = 0;
    for (struct op *o = r->body->first; o != r->body->last; o = o->next) {
        if (is_pure(o))
            continue;
        if (n == NEFFECTS || o->code != expected[n])
            return false;
        r->effects[n++] = o;
    }
    return n == NEFFECTS;
}

static bool waits_for(const struct op *wait, const struct op *dot)
{
    return wait->nopnds == 1 && op_opnd(wait, 0) == op_result(dot) && value_nuses(op_result(dot)) == 1 &&
           op_int(wait, ATTR_pending) == 0;
}

/* Returns whether the loop can be split into the two parts. The early part must not use values of the late
 * part. If a carried argument belongs to a part, this part must also compute the value that the loop yields
 * for the argument. */
static bool is_split(struct rotation *r)
{
    const struct op *yield = r->body->last;
    if (is_late(r, r->operand) || is_late(r, r->body->args.at[0]))
        return false;
    for (int i = WAIT_A; i <= FREE_A; i++)
        if (is_late(r, r->effects[i]))
            return false;
    for (int i = 0; i < yield->nopnds; i++) {
        const struct value *y = op_opnd(yield, i);
        bool is_inside = is_in(r, y) || y->block == r->body;
        if (is_inside && is_late_value(r, y) != is_late(r, r->body->args.at[1 + i]))
            return false;
    }
    return true;
}

/* Returns whether both accumulators, the tile v, and the values of the arithmetic between the dots fit into a
 * thread's registers. v crosses from the early to the late part. */
static bool has_registers(const struct rotation *r, const struct value *v)
{
    const struct func *f = r->loop->block->func;
    int needed = f->module->params->overlap_dots_arithmetic_regs +
                 tile_regs(op_result(r->effects[FIRST])->type, f->num_warps, 0) +
                 tile_regs(op_result(r->effects[SECOND])->type, f->num_warps, 0) +
                 tile_regs(v->type, f->num_warps, 0);
    return needed <= consumer_regs(f);
}

/* Returns whether v is a tile in registers that hold several elements each. If an element had 32 bits, the
 * second dot would need a copy of the tile in other registers. */
static bool is_packed_tile(const struct value *v)
{
    return v->type->kind == TY_tile && type_elem_bytes(v->type) < 4;
}

/* Returns whether no thread writes the buffer v inside the loop, because asynchronous copies fill the buffer,
 * or because it is filled outside the loop. A thread's stores would have to wait for the dots that read the
 * buffer. */
static bool is_filled(const struct rotation *r, const struct value *v)
{
    return value_is_outside(v, r->loop) || v->def->code == OP_shared_stage;
}

static bool are_dots(const struct rotation *r)
{
    const struct op *first = r->effects[FIRST], *second = r->effects[SECOND];
    return waits_for(r->effects[FIRST_DONE], first) && waits_for(r->effects[SECOND_DONE], second) &&
           value_is_outside(op_opnd(first, DOT_acc), r->loop) && is_filled(r, op_opnd(first, DOT_a)) &&
           is_filled(r, op_opnd(first, DOT_b)) && is_filled(r, op_opnd(second, DOT_b)) &&
           is_packed_tile(op_opnd(second, DOT_a)) && is_in(r, op_opnd(second, DOT_a));
}

void hoist_constants(struct op *loop)
{
    for (struct op *next, *o = loop->regions[0]->first; o; o = next) {
        next = o->next;
        if (o->code == OP_const)
            op_move_before(o, loop);
    }
}

/* In which order the producer copies the tiles of the two dots. */
struct copy_order {
    const struct op *first_bar, *second_bar; /* the mbarriers that the copies for each dot complete */
    const struct block *first, *second;      /* the blocks of the latest such copies; NULL: none */
    bool is_second_early; /* in some block, a copy for the second dot precedes all copies for the first dot */
};

static void note_copy(struct op *o, void *ctx)
{
    struct copy_order *c = ctx;
    const struct op *bar = o->code == OP_tensor_copy ? buffer_alloc(op_opnd(o, 1), NULL) : NULL;
    if (bar && bar == c->second_bar)
        c->second = o->block;
    if (bar && bar == c->first_bar) {
        c->is_second_early |= c->second == o->block && c->first != o->block;
        c->first = o->block;
    }
}

/* Returns the number of stages of the second dot's ring minus the number of stages that this ring needs. If the
 * result is negative, the producer could deadlock. The ring needs a stage for the second dot of this iteration, which
 * still reads its stage while the producer copies for the first dot of the next iteration. The ring needs one more
 * stage if the producer copies the tile of the second dot before the tile of the first dot: then the tile for
 * the second dot of the next iteration occupies a stage, too. Several loops may share the rings, and copy in
 * different orders; the function does not know which of the producer's loops belongs to r->loop. Returns 0 if there is
 * no producer, or if both dots wait for the same copies. */
static int spare_stages(const struct rotation *r)
{
    struct copy_order c = {.first_bar = buffer_alloc(op_opnd(r->effects[WAIT_A], 0), NULL),
                           .second_bar = buffer_alloc(op_opnd(r->effects[WAIT_B], 0), NULL)};
    int stages = op_result(c.second_bar)->type->nstages;
    block_walk(r->loop->block->func->body, note_copy, &c);
    return !c.first || !c.second || c.first_bar == c.second_bar ? 0 : stages - (c.is_second_early ? 2 : 1);
}

/* Returns whether there are 2 to STAGGER_GROUPS_MOST warpgroups, each of which computes rows of its own. */
static bool has_groups_of_rows(const struct rotation *r)
{
    enum { GROUP_BITS = 2, COLUMNS = 1 };
    const struct layout *l = op_result(r->effects[FIRST])->type->layout;
    int groups = r->loop->block->func->num_warps / WARPGROUP_WARPS;
    for (int i = GROUP_BITS; i < l->nbits[IN_warp]; i++) {
        int index[RANK_MAX];
        layout_split_coord(l, layout_basis(l, IN_warp, i), index);
        if (index[COLUMNS])
            return false;
    }
    return groups >= 2 && groups <= STAGGER_GROUPS_MOST;
}

/* Makes the conversion of the operand to its narrow type late, if possible. Then the unconverted tile crosses
 * from the early to the late part, and takes more registers. (If a branch computes this tile, keep_maximum.c
 * has already counted these registers.) A branch must compute the second dot's accumulator: without this
 * branch, ptxas would move the conversion up, before the first dot. */
static void convert_late(struct rotation *r)
{
    const struct op *rescaling = op_opnd(r->effects[SECOND], DOT_acc)->def;
    struct op *convert = r->operand;
    if (convert->code != OP_ftrunc || value_nuses(op_result(convert)) > 1 || !rescaling ||
        rescaling->code != OP_if || rescaling->block != r->body || !is_in(r, op_opnd(convert, 0)) ||
        (op_opnd(convert, 0)->def->code != OP_if && !has_registers(r, op_opnd(convert, 0))))
        return;
    mark(r, convert);
    r->conversion = convert;
    r->operand = op_opnd(convert, 0)->def;
}

static void note_other_warps(struct op *o, void *ctx)
{
    *(bool *)ctx |= needs_other_warps(o);
}

/* Returns whether there are two warpgroups, and the second may wait until the first has computed its operand.
 * If the warpgroups could meet at a barrier before that, the wait would be a deadlock. */
static bool may_be_far(const struct rotation *r)
{
    bool meets = false;
    block_walk(r->body, note_other_warps, &meets);
    return !meets && r->loop->block->func->num_warps == 2 * WARPGROUP_WARPS;
}

static bool plan(struct rotation *r)
{
    if (!find_effects(r) || !are_dots(r))
        return false;
    hoist_constants(r->loop);
    r->operand = op_opnd(r->effects[SECOND], DOT_a)->def;
    convert_late(r);
    for (int i = WAIT_B; i < NEFFECTS; i++)
        mark(r, r->effects[i]);
    while (spread(r))
        ;
    return is_split(r) && has_registers(r, op_opnd(r->effects[SECOND], DOT_a)) && spare_stages(r) >= 0;
}

/* -- the rewrite -- */

static void note_crossing(struct rotation *r, struct op *o, int i)
{
    struct value *v = op_opnd(o, i);
    if (!is_in(r, v) || is_late_value(r, v) || map_get_ptr(&r->handed, v))
        return;
    *map_at_ptr(&r->handed, v) = v;
    VEC_PUSH(r->arena, &r->crossing, v);
}

static void hand_over(struct rotation *r, struct op *o, int i)
{
    if (map_get_ptr(&r->handed, op_opnd(o, i)))
        op_set_opnd(o, i, value_mapped(&r->handed, op_opnd(o, i)));
}

static void visit_late(struct rotation *r, void (*visit)(struct rotation *r, struct op *o, int i))
{
    for (struct op *o = r->body->first; o; o = o->next)
        if (is_late(r, o))
            visit_operands(r, o, visit);
}

/* Builds the stagger op `code` if the pass staggers the warpgroups. */
static void build_stagger(const struct rotation *r, struct builder *b, enum opcode code)
{
    if (!r->staggers)
        return;
    struct op *o = build_op(b, code, 0, NULL, 0, NULL, 0);
    if (r->turns && code != OP_stagger_end)
        op_set_int(o, ATTR_turns, 1);
}

/* Copies an op of the first iteration to b. If the op is a vote (keep_maximum.c), the copy is the constant false, as
 * if the vote were lost, and the second arm replaces the branch that the vote decides. The maximum before
 * the first iteration is usually -inf, so the vote would be lost anyway. The second arm is correct in
 * either case. */
static void copy_first(struct builder *b, const struct op *o, struct map *first)
{
    if (o->code == OP_warp_all) {
        *map_at_ptr(first, op_result(o)) = build_const_int(b, op_result(o)->type, 0);
        return;
    }
    struct op *copy = op_clone(b, o, first);
    int64_t yes;
    if (copy->code != OP_if || !value_const_int(op_opnd(copy, 0), &yes) || yes)
        return;
    struct block *arm = copy->regions[1];
    for (int i = 0; i < o->nresults; i++)
        *map_at_ptr(first, &o->results[i]) = op_opnd(arm->last, i);
    op_erase(arm->last);
    while (arm->first)
        op_move_before(arm->first, copy);
    op_erase(copy);
}

/* Builds, at b, the early part of the first iteration, and makes the loop start with the second iteration.
 * Sets `crossing` to the crossing values of the first iteration. */
static void build_first(struct rotation *r, struct builder *b, struct value **crossing)
{
    struct op *loop = r->loop;
    struct map first;
    map_init(&first, r->arena);
    for (int i = 0; i <= loop->nresults; i++)
        *map_at_ptr(&first, r->body->args.at[i]) = op_opnd(loop, i ? 2 + i : 0);
    for (struct op *o = r->body->first; o != r->body->last; o = o->next)
        if (!is_late(r, o)) {
            if (o == r->effects[FIRST])
                build_stagger(r, b, OP_stagger_wait);
            copy_first(b, o, &first);
            if (o == r->effects[FIRST_DONE] && !r->is_far)
                build_stagger(r, b, OP_stagger_arrive);
        }
    if (r->is_far)
        build_stagger(r, b, OP_stagger_arrive);
    if (r->turns)
        build_stagger(r, b, OP_stagger_end);
    b->loc = loop->loc;
    for (int i = 0; i < r->crossing.n; i++)
        crossing[i] = value_mapped(&first, r->crossing.at[i]);
    for (int i = 0; i < loop->nresults; i++)
        if (!is_late(r, r->body->args.at[1 + i]))
            op_set_opnd(loop, 3 + i, value_mapped(&first, op_opnd(r->body->last, i)));
    op_set_opnd(loop, 0, build_binary(b, OP_add, op_opnd(loop, 0), op_opnd(loop, 2)));
}

/* Makes the late part use the crossing values of the previous iteration. They are the loop's arguments after
 * its first `ncarried` carried arguments. */
static void take_over(struct rotation *r, int ncarried)
{
    for (int i = 0; i < r->crossing.n; i++)
        *map_at_ptr(&r->handed, r->crossing.at[i]) = r->body->args.at[1 + ncarried + i];
    visit_late(r, hand_over);
}

/* Starts the second dot directly after the first dot. Puts the wait for the second dot at the end of the
 * body, before the op that writes the next operand. ptxas would move this wait up, but ptxas does not move a
 * wait across a branch. So there must be a branch before the wait. An `if` that computes the operand is such
 * a branch. Otherwise the pass builds a copy of the mbar_wait for the second dot's operand: the code of an
 * mbar_wait contains a branch, and the phase for which the copy waits is already complete. (Other kinds of
 * branches also stop ptxas, but the kernel was slower: 527 instead of 624 TFLOP/s for 128 x 128, D = 128.)
 * The copied mbar_wait would hang if the next phase of the mbarrier were complete as well. Therefore each
 * warp now releases the stage itself, after the copied mbar_wait. Before the rewrite, one warp released the
 * stage for its whole warpgroup. */
static void reorder(struct rotation *r)
{
    struct op **e = r->effects, *yield = r->body->last;
    if (r->conversion)
        op_move_before(r->conversion, e[SECOND]);
    VEC(struct op *) late = {0};
    for (struct op *o = r->body->first; o != yield; o = o->next)
        if (is_late(r, o))
            VEC_PUSH(r->arena, &late, o);
    struct op *place = e[FIRST_DONE];
    for (int i = 0; i < late.n; i++) {
        op_move_before(late.at[i], place);
        place = late.at[i] == e[SECOND] ? yield : place;
    }
    op_set_int(e[FIRST_DONE], ATTR_pending, 1);
    r->two_sets = r->operand->code == OP_if && !r->conversion;
    if (r->operand->code == OP_if)
        return;
    if (!has_uses(op_result(r->operand)))
        op_move_before(r->operand, yield);
    struct builder b = build_before(e[SECOND_DONE]);
    struct map same;
    map_init(&same, r->arena);
    op_clone(&b, e[WAIT_B], &same);
    release_by_warps(r->loop->block->func, op_result(buffer_alloc(op_opnd(e[FREE_B], 0), NULL)));
}

/* Builds, at b after the loop, the late part of the last iteration. Sets results[i] to the final value of
 * the loop's result i, for the n results that the loop had before the rewrite. */
static void build_last(struct rotation *r, struct builder *b, struct value **results, int n)
{
    struct map last;
    map_init(&last, r->arena);
    for (int i = 0; i < r->loop->nresults; i++)
        *map_at_ptr(&last, r->body->args.at[1 + i]) = &r->loop->results[i];
    for (struct op *o = r->body->first; o != r->body->last; o = o->next)
        if (is_late(r, o))
            op_clone(b, o, &last);
    if (!r->turns)
        build_stagger(r, b, OP_stagger_end);
    for (int i = 0; i < n; i++)
        results[i] = is_late(r, r->body->args.at[1 + i]) ? value_mapped(&last, op_opnd(r->body->last, i))
                                                         : &r->loop->results[i];
}

static struct op *next_of(struct op *o, enum opcode code)
{
    while (o && o->code != code)
        o = o->next;
    return o;
}

/* The loop's body consists of two iterations. Moves the first iteration's wait for its second dot to after
 * the start of the second iteration's first dot, and the release of the stage to after this wait. The wait
 * then leaves one dot pending. Does nothing if an op in between uses the result of the wait. */
static void delay_wait(const struct op *loop)
{
    struct op *second = next_of(next_of(loop->regions[0]->first, OP_mma_start)->next, OP_mma_start),
              *first = next_of(second->next, OP_mma_start), *wait = op_result(second)->uses->user,
              *release = next_of(wait, OP_mbar_arrive);
    for (const struct op *o = wait->next; o != first->next; o = o->next)
        for (int i = 0; i < o->nopnds; i++)
            if (op_opnd(o, i) && op_opnd(o, i)->def == wait)
                return;
    op_move_before(wait, first->next);
    op_move_before(release, wait->next);
    op_set_int(wait, ATTR_pending, 1);
}

struct op *build_if_like(struct builder *b, const struct op *loop, struct value *when)
{
    const struct type **types = NEW_ARRAY(b->func->module->scratch, loop->nresults + 1, const struct type *);
    for (int i = 0; i < loop->nresults; i++)
        types[i] = loop->results[i].type;
    return build_if(b, when, loop->nresults, types);
}

struct op *build_either(struct op *loop)
{
    struct builder b = build_before(loop);
    struct op *either = build_if_like(&b, loop, loop_runs(&b, loop));
    struct value **x = NEW_ARRAY(b.func->module->scratch, loop->nresults + 1, struct value *);
    for (int i = 0; i < loop->nresults; i++)
        x[i] = op_opnd(loop, 3 + i);
    b = build_at_end(either->regions[1], loop->loc);
    build_yield(&b, loop->nresults, x);
    return either;
}

/* Replaces the loop by a loop that also carries the crossing values. They start as `crossing`. Copies the
 * marks of late arguments to the new loop's arguments. */
static void carry_more(struct rotation *r, struct value *const *crossing)
{
    struct block *old = r->body;
    struct op *loop = loop_carry(r->loop, NULL, r->crossing.n, crossing);
    for (int i = 0; i < r->loop->nresults; i++)
        if (is_late(r, old->args.at[1 + i]))
            mark(r, loop->regions[0]->args.at[1 + i]);
    op_erase(r->loop);
    r->loop = loop;
    r->body = loop->regions[0];
}

/* Lets two warpgroups take turns at their first dots: each warpgroup starts its first dot when the other
 * warpgroup has ended its first dot. If the conversion is late, a warpgroup starts its first dot already when
 * the other has started its second dot. The reason: if the stagger_arrive stood after the wait for the first
 * dot, ptxas would move it far down; before this wait it stays, because ptxas never moves it across a
 * wait. (128 heads of 4096 rows, D = 128, from descriptors: 1994 us became 1523.) */
static void take_turns(struct rotation *r)
{
    struct builder b = build_before(r->effects[FIRST]);
    build_stagger(r, &b, OP_stagger_wait);
    b = build_after(r->effects[r->conversion ? SECOND : FIRST_DONE]);
    build_stagger(r, &b, OP_stagger_arrive);
    b = build_before(r->body->last);
    build_stagger(r, &b, OP_stagger_end);
}

/* Returns 1 or 2 if the loop's bounds are known to be exactly one or two steps apart, so that the loop runs one or
 * two iterations; otherwise returns 0. */
static int known_iterations(const struct op *loop)
{
    int64_t length, step;
    if (!value_distance(op_opnd(loop, 0), op_opnd(loop, 1), &length) ||
        !value_const_int(op_opnd(loop, 2), &step))
        return 0;
    return length == step ? 1 : length == 2 * step ? 2 : 0;
}

/* Removes a loop that runs no iteration, and replaces a loop that runs one iteration by its body. */
static void dissolve(struct op *loop, int iterations)
{
    if (iterations) {
        loop_inline(loop);
        return;
    }
    for (int i = 0; i < loop->nresults; i++)
        value_replace(&loop->results[i], op_opnd(loop, 3 + i));
    op_erase(loop);
}

static void unroll(const struct rotation *r)
{
    const bool delays = spare_stages(r) > 0;
    struct op *loop = r->loop, *unrolled = loop_unroll(loop, 2);
    if (delays && unrolled != loop)
        delay_wait(unrolled);
}

/* Rewrites the loop as planned. */
static void rotate(struct rotation *r)
{
    const int iterations = known_iterations(r->loop), n = r->loop->nresults;
    visit_late(r, note_crossing);
    struct value **x = NEW_ARRAY(r->arena, n + r->crossing.n + 1, struct value *);
    struct op *either = build_either(r->loop);
    struct builder b = build_at_end(either->regions[0], r->loop->loc);
    build_first(r, &b, x);
    op_move_to_end(r->loop, either->regions[0]);
    carry_more(r, x);
    for (int i = 0; i < n; i++) {
        value_replace(&r->loop->results[i], &either->results[i]);
        value_rename(&either->results[i], r->loop->results[i].name);
    }
    take_over(r, n);
    reorder(r);
    r->effects[SECOND_DONE] = keep_operand(r->effects[SECOND_DONE], op_opnd(r->effects[SECOND], DOT_a));
    mark(r, r->effects[SECOND_DONE]);
    if (r->turns)
        take_turns(r);
    loop_yield(r->loop, r->crossing.n, r->crossing.at);
    b = build_at_end(either->regions[0], r->loop->loc);
    build_last(r, &b, x, n);
    build_yield(&b, n, x);
    if (iterations)
        dissolve(r->loop, iterations - 1);
    else if (r->two_sets)
        unroll(r);
}

static bool visit(struct block *b, bool is_staggered);

/* Visits the regions of o. Of an `if`, only one region runs, so warpgroups that one region staggers are not staggered
 * in the other region. The regions of other ops count as executed one after the other. Returns whether warpgroups are
 * staggered after o: they were staggered before o (is_staggered), or some region of o staggers them. */
static bool visit_regions(struct op *o, bool is_staggered)
{
    bool any = is_staggered;
    for (int i = 0; i < o->nregions; i++)
        any |= visit(o->regions[i], o->code == OP_if ? is_staggered : any);
    return any;
}

/* Rewrites the loops of b. `is_staggered` tells whether warpgroups are staggered before b. Returns
 * whether they are staggered after b. */
static bool visit(struct block *b, bool is_staggered)
{
    for (struct op *next, *o = b->first; o; o = next) {
        next = o->next;
        is_staggered = visit_regions(o, is_staggered);
        if (o->code != OP_for)
            continue;
        struct rotation r = {.arena = b->func->module->scratch, .loop = o, .body = o->regions[0]};
        map_init(&r.late, r.arena);
        map_init(&r.handed, r.arena);
        if (!plan(&r))
            continue;
        r.turns =
            r.operand->code == OP_if && b->func->num_warps == 2 * WARPGROUP_WARPS && has_groups_of_rows(&r);
        r.staggers = r.turns || (!is_staggered && has_groups_of_rows(&r));
        r.is_far = r.staggers && !r.turns && may_be_far(&r);
        const enum decision how = r.staggers ? DECISION_dot_ahead_staggered : DECISION_dot_ahead;
        opt_explain(b->func, &(struct explanation){how, .at = r.effects[FIRST],
                                                   .values = {op_result(r.effects[FIRST_DONE]),
                                                              op_result(r.effects[SECOND_DONE])}});
        is_staggered |= r.staggers;
        rotate(&r);
    }
    return is_staggered;
}

void opt_overlap_dots(struct func *f)
{
    visit(f->body, false);
}
