/* SPDX-License-Identifier: MIT */
/* schedule_dots.c: starts each dot as soon as its operands exist, and waits for the dot where its result is first
 * used.
 *
 *     %s = mma_start %k, %q, 0                    %s = mma_start %k, %q, 0
 *     %s.1 = mma_wait %s                          mbar_wait %do
 *     %p = exp2 %s.1                              %dp = mma_start %v, %do, 0
 *     mbar_wait %do                               %s.1 = mma_wait %s pending=1
 *     %dv = mma_start %p, %do, %sum               %p = exp2 %s.1
 *     %dv.1 = mma_wait %dv                   =>   %dv = mma_start %p, %do, %sum
 *     store %at, %p                               store %at, %p
 *     %dp = mma_start %v, %do, 0                  %dp.1 = mma_wait %dp pending=1
 *     %dp.1 = mma_wait %dp                        %ds = mul %p, %dp.1
 *     %ds = mul %p, %dp.1                         %dv.1, %p.1 = mma_wait %dv, %p
 *
 * The pass is a list scheduler of whole ops. A segment is a run of ops of one block. Loops and branches with effects,
 * volatile loads, atomics and some other ops (WALL) end a segment. The pass chooses a new order for the ops
 * of a segment, and places one op after the other in this order. A dot is ready if all waits for dots on
 * which it depends are already placed. The pass always places next the first dot in program order that is
 * ready and not placed yet. If no dot is ready, it takes the first dot that is not placed yet.
 * - Before each dot, the pass places the ops that the dot needs: first the ops that need no result of a
 *   dot in flight, then the other ops. A wait is placed directly before the first op that needs the
 *   wait.
 * - Reads of vectors in shared memory are also placed before the dot if ops after the wait for the dot
 *   use their values.
 * - After each dot, the pass places the stores, copies and other ops with effects that no later dot needs,
 *   because they execute while the dot runs.
 * A wait leaves in flight all dots that have started after the dot for which it waits. If operand
 * a of a dot is in registers, operand a becomes an operand of the wait for this dot, and the wait returns it
 * as a result, so that the registers keep their values until the dot has ended. (keep_operand_of lists two
 * cases in which this is not necessary.)
 *
 * The pass leaves a segment as it is in four cases:
 * - The waits do not match the segment's dots. The only user of each dot's result must be a wait in the
 *   segment. This wait must leave no dot pending, and must have no other operand. The segment must have no
 *   other wait for a dot.
 * - The segment has only one dot. An earlier version of the pass moved ops to after such a dot. Copies then
 *   started later and values lived longer: mixtures of experts and matrix products with block scales became 3
 *   to 25 percent slower.
 * - In the new order, arithmetic would read, during a dot, registers that a dot of the previous iteration has
 *   written. ptxas would insert a wait before this arithmetic (message C7517).
 * - find_order finds no order in which at most regs_allowed registers are live.
 *
 * A dot that starts early makes accumulators and operands live longer. If these values would need too many registers,
 * the pass starts the next dot in program order instead, after all ops that precede it in the program.
 *
 * A load for a later iteration may write the registers of a carried value (rotate_loads.c). The load stays
 * after the ops that read this value.
 *
 * The function keeps_order tells which pairs of ops with side effects must keep their order. Waits for
 * mbarriers keep their order among each other and relative to arrivals, so that a producer cannot deadlock.
 * Needs: layouts; all passes that turn loads into copies have run. */
#include "ir/target/fragments.h"
#include "ir/target/target.h"
#include "opt/analysis/analysis.h"
#include "opt/layout/layouts.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"
#include "opt/pipeline/pipeline.h"
#include "opt/pipeline/rotate_loads.h"
#include "opt/simplify/simplify.h"

#include <limits.h>

/* The side effect of an op. */
enum effect {
    NOTHING,
    STARTS_DOT,
    AWAITS_DOT,
    READS_GLOBAL,
    WRITES_GLOBAL,
    IN_SHARED, /* threads access a buffer in shared memory */
    COPIES,    /* cp.async, the waits for cp.async, fences and barriers */
    PUTS,      /* bulk stores, and the waits for bulk stores */
    AWAITS_PHASE,
    ARRIVES,
    WALL /* ends a segment */
};

/* An op of the segment. */
struct node {
    struct op *op;
    enum effect effect;
    VEC(int) before; /* the nodes that must precede this node */
    /* the values in registers that the op defines, and those that the op reads, as indices of segment.held */
    VEC(int) makes, reads;
    bool done;    /* the node is placed */
    bool wanted;  /* mark_wanted has marked the node */
    bool blocked; /* the node is a wait for a dot and is not placed yet, or depends on such a wait */
    bool behind;  /* the node is the wait that mark_behind has marked, or depends on this wait */
};

/* A value in registers. */
struct held {
    int regs;
    /* readers: the number of nodes that read the value, plus the number of uses after the segment. to_come:
     * the number of readers that are not placed yet. Uses after the segment never count as placed, so a value
     * with such a use stays live. */
    int readers, to_come;
};

struct segment {
    struct func *func;
    struct arena *arena;
    VEC(struct node) nodes;
    struct map number; /* from an op to the number of its node, plus 1 */
    VEC(struct held) held;
    VEC(int) order;  /* the numbers of the placed nodes, in their new order */
    int ndots, ctas; /* ctas: the number of CTAs that should fit on an SM (ctas_wanted) */
    /* live: the registers that are live after the last placed node; peak: the maximum of `live` so far */
    int live, peak;
};

/* -- effects -- */

static enum effect effect_of_access(const struct op *o)
{
    switch (o->code) {
    case OP_load: return op_int(o, ATTR_volatile) ? WALL : READS_GLOBAL;
    case OP_store: return WRITES_GLOBAL;
    case OP_shared_alloc: return NOTHING;
    case OP_mma_wait: return AWAITS_DOT;
    case OP_async_copy:
    case OP_async_commit:
    case OP_async_wait:
    case OP_fence_async:
    case OP_barrier: return COPIES;
    case OP_tensor_put:
    case OP_bulk_wait: return PUTS;
    case OP_mbar_wait: return AWAITS_PHASE;
    case OP_mbar_arrive: return ARRIVES;
    default: return op_info[o->code].family == FAMILY_layout ? IN_SHARED : WALL;
    }
}

static enum effect effect_of(const struct op *o)
{
    if (op_has(o, TERMINATOR))
        return WALL;
    if (starts_dot(o))
        return STARTS_DOT;
    if (o->code == OP_to_shared && op_opnd(o, 1))
        return IN_SHARED;
    return is_pure(o) ? NOTHING : effect_of_access(o);
}

static bool writes_shared(const struct op *o)
{
    return o->code == OP_to_shared || op_has(o, WRITES);
}

/* Returns the shared_alloc of the buffer to which operand i of o refers, or NULL if the operand is not a buffer. */
static const struct op *buffer_at(const struct op *o, int i)
{
    const struct value *v = op_opnd(o, i);
    return v && v->type->kind == TY_shared ? buffer_alloc(v, NULL) : NULL;
}

static bool share_buffer(const struct op *a, const struct op *b)
{
    for (int i = 0; i < a->nopnds; i++)
        for (int k = 0; k < b->nopnds; k++)
            if (buffer_at(a, i) && buffer_at(a, i) == buffer_at(b, k))
                return true;
    return false;
}

/* The copies whose completion the mbarrier `bar` signals, and an op that may read the copied tiles. */
struct filling {
    const struct op *bar, *reader;
    /* known: `bar` signals the completion of some copy; fills: such a copy fills a buffer that `reader`
     * reads */
    bool fills, known;
};

static void note_filling(struct op *o, void *ctx)
{
    struct filling *x = ctx;
    if (o->code != OP_tensor_copy || buffer_at(o, 1) != x->bar)
        return;
    x->known = true;
    for (int i = 0; i < x->reader->nopnds; i++)
        x->fills |= buffer_at(x->reader, i) == buffer_at(o, 0);
}

/* Returns whether `wait` waits for a copy that fills a buffer which `reader` reads. Returns true also if the
 * function contains no copy for which `wait` waits. */
static bool needs_phase(const struct op *wait, const struct op *reader)
{
    struct filling x = {.bar = buffer_at(wait, 0), .reader = reader};
    block_walk(wait->block->func->body, note_filling, &x);
    return x.fills || !x.known;
}

/* -- the dependence graph -- */

static bool may_change(const struct op *load)
{
    return !op_int(load, ATTR_invariant);
}

/* Op a precedes op b in the program. Returns whether a must stay before b because of their effects. */
static bool keeps_order(const struct node *a, const struct node *b)
{
    switch (a->effect) {
    case STARTS_DOT: return b->effect == COPIES;
    case AWAITS_DOT:
        return b->effect == COPIES || b->effect == ARRIVES ||
               (b->effect == IN_SHARED && writes_shared(b->op));
    case READS_GLOBAL:
        return b->effect == COPIES ||
               ((b->effect == WRITES_GLOBAL || b->effect == PUTS) && may_change(a->op));
    case WRITES_GLOBAL:
    case PUTS:
        return b->effect == WRITES_GLOBAL || b->effect == COPIES || b->effect == PUTS ||
               (b->effect == READS_GLOBAL && may_change(b->op)) ||
               (a->effect == PUTS && b->effect == IN_SHARED);
    case IN_SHARED:
        if (b->effect == IN_SHARED || b->effect == STARTS_DOT)
            return (writes_shared(a->op) || writes_shared(b->op)) && share_buffer(a->op, b->op);
        return b->effect == COPIES || b->effect == PUTS || b->effect == ARRIVES;
    case COPIES: return b->effect != NOTHING && b->effect != AWAITS_DOT && b->effect != AWAITS_PHASE;
    case AWAITS_PHASE:
        if (b->effect == STARTS_DOT || b->effect == IN_SHARED)
            return needs_phase(a->op, b->op);
        return b->effect == AWAITS_PHASE || b->effect == ARRIVES;
    case ARRIVES: return b->effect == AWAITS_PHASE || b->effect == ARRIVES;
    case NOTHING:
    case WALL: break;
    }
    return false;
}

static int number_of(const struct segment *s, const struct op *o)
{
    void **at = map_get_ptr(&s->number, o);
    return at ? (int)(intptr_t)*at - 1 : -1;
}

/* Adds to the nodes that must precede n all nodes whose results are used by o or by an op in the regions of
 * o. */
static void note_uses(const struct segment *s, struct node *n, const struct op *o)
{
    for (int i = 0; i < o->nopnds; i++) {
        const struct value *v = op_opnd(o, i);
        int def = v && v->def ? number_of(s, v->def) : -1;
        if (def >= 0)
            VEC_PUSH(s->arena, &n->before, def);
    }
    for (int r = 0; r < o->nregions; r++)
        for (const struct op *inner = o->regions[r]->first; inner; inner = inner->next)
            note_uses(s, n, inner);
}

/* Adds to the nodes that must precede n the nodes that compute with v. */
static void note_readers(const struct segment *s, struct node *n, const struct value *v)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        struct op *o = op_ancestor_in(u->user, n->op->block);
        const int reader = number_of(s, o);
        if (passes_registers(o))
            note_readers(s, n, op_result(o));
        else if (reader >= 0)
            VEC_PUSH(s->arena, &n->before, reader);
    }
}

static void add_node(struct segment *s, struct op *o, enum effect effect)
{
    struct node n = {.op = o, .effect = effect};
    const struct value *replaced = effect == READS_GLOBAL ? value_replaced_by(o) : NULL;
    note_uses(s, &n, o);
    if (replaced)
        note_readers(s, &n, replaced);
    for (int i = 0; i < s->nodes.n && effect != NOTHING; i++)
        if (keeps_order(&s->nodes.at[i], &n))
            VEC_PUSH(s->arena, &n.before, i);
    VEC_PUSH(s->arena, &s->nodes, n);
    *map_at_ptr(&s->number, o) = (void *)(intptr_t)s->nodes.n;
    s->ndots += effect == STARTS_DOT;
}

/* Returns the wait for a dot if this wait is the only user of the dot and leaves no dot pending. Otherwise returns
 * NULL. */
static struct op *wait_of(const struct op *dot)
{
    const struct value *v = op_result(dot);
    struct op *wait = value_nuses(v) == 1 ? v->uses->user : NULL;
    return wait && wait->code == OP_mma_wait && wait->nopnds == 1 && op_int(wait, ATTR_pending) == 0 ? wait
                                                                                                     : NULL;
}

/* Returns whether the segment contains several dots, the wait for each of them, and no other wait for a dot. */
static bool is_closed(const struct segment *s)
{
    int nwaits = 0;
    for (int i = 0; i < s->nodes.n; i++) {
        const struct node *n = &s->nodes.at[i];
        nwaits += n->effect == AWAITS_DOT;
        if (n->effect != STARTS_DOT)
            continue;
        const struct op *wait = wait_of(n->op);
        if (!wait || number_of(s, wait) < 0)
            return false;
    }
    return s->ndots > 1 && nwaits == s->ndots;
}

/* -- registers -- */

static int regs_of(const struct segment *s, const struct value *v)
{
    return tile_regs(v->type, s->func->num_warps, 0);
}

/* Returns whether the pass counts the registers of v while v is live. The pass does not count tiles of integers
 * and addresses, because most of these tiles are computed where they are used. */
static bool takes_registers(const struct value *v)
{
    const struct op *o = v->def;
    return v->type->kind != TY_shared && type_elem_bits(v->type) > 1 &&
           (!type_is_tile(v->type) || type_is_float(type_elem(v->type))) &&
           !(o && (o->code == OP_const || passes_registers(o)));
}

/* Returns whether an op of `rest`, or an op in the regions of such an op, uses v. The bounds and initial values of
 * `around` do not count as uses. */
static bool has_user_in(const struct map *rest, const struct value *v, const struct op *around)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct op *o = op_ancestor_in(u->user, around->block);
        if (u->user != around && map_get_ptr(rest, o))
            return true;
    }
    return false;
}

/* Returns the number of registers of the values that live through the op `around`: values that are computed
 * before `around` in its block, and used inside or after `around`. */
static int regs_through(const struct segment *s, const struct op *around)
{
    int regs = 0;
    struct map rest;
    map_init(&rest, s->arena);
    for (const struct op *o = around; o; o = o->next)
        *map_at_ptr(&rest, o) = (void *)(uintptr_t)o;
    for (const struct op *o = around->prev; o; o = o->prev)
        for (int i = 0; i < o->nresults; i++)
            if (takes_registers(&o->results[i]) && has_user_in(&rest, &o->results[i], around))
                regs += regs_of(s, &o->results[i]);
    return regs;
}

/* Notes that node number `reader` reads the held value. If `reader` is -1, code after the segment reads the
 * value. */
static void note_reader(struct segment *s, int held, int reader)
{
    const struct node *n = reader < 0 ? NULL : &s->nodes.at[reader];
    for (int i = 0; n && i < n->reads.n; i++)
        if (n->reads.at[i] == held)
            return;
    s->held.at[held].readers++;
    s->held.at[held].to_come++;
    if (n)
        VEC_PUSH(s->arena, &s->nodes.at[reader].reads, held);
}

/* Adds v to the held values, and notes the nodes that read v. `maker` is the number of the node that defines
 * v, or -1 if v is defined before the segment. `behind` contains the ops after the segment. A dot reads
 * the registers of its operand a until it has ended, so the wait for the dot counts as the reader of operand
 * a. */
static void hold(struct segment *s, struct value *v, int maker, const struct map *behind)
{
    const struct block *b = s->nodes.at[0].op->block;
    const int held = s->held.n;
    if (!takes_registers(v))
        return;
    VEC_PUSH(s->arena, &s->held, (struct held){.regs = regs_of(s, v)});
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct op *o = op_ancestor_in(u->user, b);
        if (starts_dot(o) && v == op_opnd(o, DOT_a))
            o = wait_of(o);
        const int reader = number_of(s, o);
        if (reader >= 0 || map_get_ptr(behind, o))
            note_reader(s, held, reader);
    }
    if (maker >= 0)
        VEC_PUSH(s->arena, &s->nodes.at[maker].makes, held);
    else if (s->held.at[held].readers)
        s->live += s->held.at[held].regs;
}

/* Finds the values that take registers in the segment, and sets s->live to the registers that are live at its
 * start. A value that lives through a loop around the segment takes registers in the whole segment. */
static void find_held(struct segment *s)
{
    struct op *last = s->nodes.at[s->nodes.n - 1].op;
    const struct block *b = last->block;
    struct map behind;
    map_init(&behind, s->arena);
    for (const struct op *o = last->next; o; o = o->next)
        *map_at_ptr(&behind, o) = (void *)(uintptr_t)o;
    for (const struct op *loop = b->parent; loop; loop = loop->block->parent)
        s->live += regs_through(s, loop);
    for (int i = 0; i < b->args.n; i++)
        hold(s, b->args.at[i], -1, &behind);
    for (struct op *o = b->first; o != last->next; o = o->next)
        for (int i = 0; i < o->nresults; i++)
            hold(s, &o->results[i], number_of(s, o), &behind);
}

static int64_t bytes_of(const struct op *o, void *ctx)
{
    (void)ctx;
    return shared_bytes_of(o);
}

/* Returns the number of registers that a thread may use: the limit that setmaxnreg sets for the consumers. If
 * there is no such limit, returns the number with which `ctas` CTAs fit on an SM. */
static int most_regs(const struct func *f, int ctas)
{
    const struct op *roles = func_roles(f);
    const struct attr *given = roles ? op_attr(roles, ATTR_regs) : NULL;
    const int threads = 32 * (f->num_warps + f->extra_warps);
    return given ? given->list[0] : func_regs(f, ctas * threads, true) / REGS_UNIT * REGS_UNIT;
}

/* Returns the largest number of registers that may be live. In a CTA of one warpgroup, this number exceeds
 * the registers of a thread by a few: spilling a few registers costs less time than the tensor cores lose if
 * they wait for arithmetic. In a CTA of several warpgroups, another warpgroup uses the tensor cores during
 * this time. So there the number is smaller than the registers of a thread, which leaves registers for values
 * that ptxas adds. */
static int regs_allowed(const struct func *f, int ctas)
{
    const struct params *p = f->module->params;
    return most_regs(f, ctas) +
           (f->num_warps > WARPGROUP_WARPS ? -p->ptxas_spare_regs : p->schedule_dots_spilled_regs);
}

/* Returns 2 if the shared memory of an SM is sufficient for two CTAs or more, otherwise 1. */
static int ctas_wanted(const struct func *f)
{
    return target_ctas(f->target, 0, 0, shared_pressure(f->body, bytes_of, NULL)) > 1 ? 2 : 1;
}

/* -- the order -- */

/* Places all nodes that must precede node i, and then node i. */
static void place(struct segment *s, int i)
{
    struct node *n = &s->nodes.at[i];
    if (n->done)
        return;
    for (int k = 0; k < n->before.n; k++)
        place(s, n->before.at[k]);
    n->done = true;
    VEC_PUSH(s->arena, &s->order, i);
    for (int k = 0; k < n->makes.n; k++)
        s->live += s->held.at[n->makes.at[k]].readers ? s->held.at[n->makes.at[k]].regs : 0;
    for (int k = 0; k < n->reads.n; k++) {
        struct held *h = &s->held.at[n->reads.at[k]];
        s->live -= --h->to_come == 0 ? h->regs : 0;
    }
    s->peak = s->live > s->peak ? s->live : s->peak;
}

/* Removes all nodes but the first n from the order, and sets the peak back to `peak`. */
static void unplace(struct segment *s, int n, int peak)
{
    for (; s->order.n > n; s->order.n--) {
        struct node *last = &s->nodes.at[s->order.at[s->order.n - 1]];
        last->done = false;
        for (int k = 0; k < last->reads.n; k++) {
            struct held *h = &s->held.at[last->reads.at[k]];
            s->live += h->to_come++ == 0 ? h->regs : 0;
        }
        for (int k = 0; k < last->makes.n; k++)
            s->live -= s->held.at[last->makes.at[k]].readers ? s->held.at[last->makes.at[k]].regs : 0;
    }
    s->peak = peak;
}

/* Marks as blocked each node that waits for a dot and is not placed yet, and all nodes that depend on such a
 * node. */
static void mark_blocked(struct segment *s)
{
    for (int i = 0; i < s->nodes.n; i++) {
        struct node *n = &s->nodes.at[i];
        n->blocked = !n->done && n->effect == AWAITS_DOT;
        for (int k = 0; k < n->before.n && !n->done; k++)
            n->blocked |= s->nodes.at[n->before.at[k]].blocked;
    }
}

/* Marks as wanted node `last` and the nodes that must precede it. If `last` equals the number of nodes, marks all dots
 * that are not placed yet, and the nodes that must precede these dots. */
static void mark_wanted(struct segment *s, int last)
{
    for (int i = s->nodes.n - 1; i >= 0; i--) {
        struct node *n = &s->nodes.at[i];
        n->wanted = i == last || (last == s->nodes.n && n->effect == STARTS_DOT);
    }
    for (int i = s->nodes.n - 1; i >= 0; i--) {
        const struct node *n = &s->nodes.at[i];
        for (int k = 0; k < n->before.n && n->wanted && !n->done; k++)
            s->nodes.at[n->before.at[k]].wanted = true;
    }
}

static bool is_dot_to_come(const struct segment *s, int i)
{
    return s->nodes.at[i].effect == STARTS_DOT && !s->nodes.at[i].done;
}

/* Returns the dot to start next, or -1 if all dots are placed. */
static int next_dot(struct segment *s)
{
    int first = -1;
    mark_blocked(s);
    for (int i = 0; i < s->nodes.n; i++) {
        if (!is_dot_to_come(s, i))
            continue;
        first = first < 0 ? i : first;
        if (!s->nodes.at[i].blocked)
            return i;
    }
    return first;
}

/* Returns the node that computes the accumulator of the dot, or -1 if the segment has no such node. */
static int accumulator_of(const struct segment *s, const struct node *dot)
{
    const struct op *o = dot->effect == STARTS_DOT ? op_opnd(dot->op, DOT_acc)->def : NULL;
    return o ? number_of(s, o) : -1;
}

/* Marks the wait for the dot, and the nodes that depend on this wait. */
static void mark_behind(struct segment *s, int dot)
{
    const struct op *wait = wait_of(s->nodes.at[dot].op);
    for (int i = 0; i < s->nodes.n; i++) {
        struct node *n = &s->nodes.at[i];
        n->behind = n->op == wait;
        for (int k = 0; k < n->before.n; k++)
            n->behind |= s->nodes.at[n->before.at[k]].behind;
    }
}

/* Returns whether a node that mark_behind has marked computes with v. */
static bool is_used_behind(const struct segment *s, const struct value *v)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct op *o = op_ancestor_in(u->user, s->nodes.at[0].op->block);
        const int i = number_of(s, o);
        if (passes_registers(o) ? is_used_behind(s, op_result(o)) : i >= 0 && s->nodes.at[i].behind)
            return true;
    }
    return false;
}

/* Places the reads of vectors in shared memory whose values are used after the wait for the dot. So the
 * latency of such a read passes before the dot starts. If the read were between the start of the dot and the
 * wait, it would delay the arithmetic after the wait. */
static void place_vector_reads(struct segment *s, int dot)
{
    mark_blocked(s);
    mark_behind(s, dot);
    for (int i = 0; i < s->nodes.n; i++) {
        const struct op *o = s->nodes.at[i].op;
        if (o->code == OP_shared_load && op_result(o)->type->rank == 1 && !s->nodes.at[i].blocked &&
            is_used_behind(s, op_result(o)))
            place(s, i);
    }
}

/* Places the ops that the dot needs, and then the dot. The ops that are not blocked come first, then the blocked ops,
 * and last the op that computes the accumulator. A wait is placed directly before the first op that depends
 * on the wait. Vectors are read early only if at most `room` registers are then live. */
static void start_dot(struct segment *s, int dot, int room)
{
    const int acc = accumulator_of(s, &s->nodes.at[dot]);
    mark_wanted(s, dot);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < dot; i++) {
            const struct node *n = &s->nodes.at[i];
            if (n->wanted && i != acc && n->effect != AWAITS_DOT && (pass > 0 || !n->blocked))
                place(s, i);
        }
    const int placed = s->order.n, peak = s->peak;
    place_vector_reads(s, dot);
    place(s, dot);
    if (s->peak > room) {
        unplace(s, placed, peak);
        place(s, dot);
    }
}

/* Places after the current dot the ops with effects that are not blocked and that no remaining dot needs. */
static void place_under_dot(struct segment *s)
{
    mark_blocked(s);
    mark_wanted(s, s->nodes.n);
    for (int i = 0; i < s->nodes.n; i++) {
        const struct node *n = &s->nodes.at[i];
        if (n->effect != NOTHING && n->effect != AWAITS_DOT && !n->wanted && !n->blocked)
            place(s, i);
    }
}

/* Returns whether o is not a dot, and reads registers that a dot of the previous iteration has written. */
static bool reads_carried_sum(const struct op *o)
{
    const struct op *end = block_terminator(o->block);
    for (int i = 0; i < o->nopnds && !starts_dot(o); i++) {
        const struct value *v = op_opnd(o, i);
        const bool is_carried = v && !v->def && v->block == o->block && v->index > 0 && end->code == OP_yield;
        const struct op *by = is_carried ? op_opnd(end, v->index - 1)->def : NULL;
        while (by && by->code == OP_trans)
            by = op_opnd(by, 0)->def;
        if (by && by->code == OP_mma_wait)
            return true;
    }
    return false;
}

/* Finds the first dot in program order that is not placed, and places all nodes that precede it in program order.
 * Returns the dot. */
static int place_before_first_dot(struct segment *s)
{
    int i = 0;
    for (; !is_dot_to_come(s, i); i++)
        place(s, i);
    return i;
}

/* Finds an order that starts dots early. If more than `room` registers would be live when a dot starts early,
 * the function starts the next dot in program order instead, after all ops that precede that dot in the
 * program. */
static void find_order_in(struct segment *s, int room)
{
    for (int dot; (dot = next_dot(s)) >= 0;) {
        const int placed = s->order.n, peak = s->peak;
        start_dot(s, dot, room);
        if (s->peak > room) {
            unplace(s, placed, peak);
            start_dot(s, place_before_first_dot(s), room);
        }
        place_under_dot(s);
    }
    for (int pass = 0; pass < 2; pass++) /* waits that only the next segment needs come last */
        for (int i = 0; i < s->nodes.n; i++)
            if (pass > 0 || s->nodes.at[i].effect != AWAITS_DOT)
                place(s, i);
}

/* Returns whether the order puts an op for which reads_carried_sum holds between the start of a dot and the wait
 * for that dot. */
static bool reads_sum_under_dot(const struct segment *s)
{
    int in_flight = 0;
    for (int i = 0; i < s->order.n; i++) {
        const struct node *n = &s->nodes.at[s->order.at[i]];
        in_flight += (n->effect == STARTS_DOT) - (n->effect == AWAITS_DOT);
        if (in_flight > 0 && n->effect == NOTHING && reads_carried_sum(n->op))
            return true;
    }
    return false;
}

/* -- the rewrite -- */

/* Returns the number of dots that start before `dot` in the segment's order. */
static int dots_before(const struct segment *s, const struct op *dot)
{
    int n = 0;
    for (int i = 0; s->nodes.at[s->order.at[i]].op != dot; i++)
        n += s->nodes.at[s->order.at[i]].effect == STARTS_DOT;
    return n;
}

/* Sets the attribute `pending` of each wait: the number of dots that have started after the dot for which it waits. If
 * an earlier wait leaves fewer dots in flight, these are all that this wait can leave: with a larger number, ptxas does
 * not know that the dot has ended, and inserts a wait (message C7517). */
static void set_pending(struct segment *s)
{
    int started = 0,
        in_flight = INT_MAX; /* the dots of the segment; those that the last wait leaves, and later ones */
    for (int i = 0; i < s->order.n; i++) {
        const struct node *n = &s->nodes.at[s->order.at[i]];
        if (n->effect == STARTS_DOT) {
            started++;
            in_flight += in_flight < INT_MAX;
        } else if (n->effect == AWAITS_DOT) {
            const int newer = started - 1 - dots_before(s, op_opnd(n->op, 0)->def);
            in_flight = newer < in_flight ? newer : in_flight;
            if (in_flight)
                op_set_int(n->op, ATTR_pending, in_flight);
        }
    }
}

/* Returns whether another dot reads `a` too, and the wait for that dot comes after `wait`. */
static bool is_read_longer(const struct value *a, const struct op *wait)
{
    for (const struct use *u = a->uses; u; u = u->next)
        for (const struct op *o = wait->next; starts_dot(u->user) && o; o = o->next)
            if (o->code == OP_mma_wait && op_opnd(o, 0)->def == u->user)
                return true;
    return false;
}

/* If operand a of the dot is in registers, makes operand a an operand and a result of the wait for the dot, so that
 * these registers keep their values until the wait. This is not necessary if the wait is directly after the
 * dot, or if a later wait keeps the operand anyway. */
static void keep_operand_of(const struct op *dot)
{
    struct value *a = op_opnd(dot, DOT_a);
    struct op *wait = op_result(dot)->uses->user;
    if (a->type->kind == TY_tile && wait->prev != dot && !is_read_longer(a, wait))
        keep_operand(wait, a);
}

static bool is_changed(const struct segment *s)
{
    for (int i = 0; i < s->order.n; i++)
        if (s->order.at[i] != i)
            return true;
    return false;
}

static void rewrite(struct segment *s)
{
    struct op *last = s->nodes.at[s->nodes.n - 1].op->next;
    set_pending(s);
    for (int i = 0; i < s->order.n; i++)
        op_move_before(s->nodes.at[s->order.at[i]].op, last);
    for (int i = 0; i < s->nodes.n; i++) {
        struct op *o = s->nodes.at[i].op;
        if (s->nodes.at[i].effect != STARTS_DOT)
            continue;
        const struct op *wait = wait_of(o) ? wait_of(o) : op_result(o)->uses->user;
        opt_explain(s->func,
                    &(struct explanation){DECISION_dot_scheduled, .at = o, .values = {op_result(wait)},
                                          .numbers = {(int)op_int(wait, ATTR_pending)}});
        keep_operand_of(o);
    }
}

/* Returns the largest number of registers that are live at once if all nodes keep their program order. */
static int peak_in_program_order(struct segment *s)
{
    const int live = s->live;
    for (int i = 0; i < s->nodes.n; i++)
        place(s, i);
    const int peak = s->peak;
    unplace(s, 0, live);
    return peak;
}

/* Finds an order for which the allowed registers suffice. If two CTAs should fit on an SM, but program order
 * already needs more registers than a thread then has, only one CTA will run on an SM. A thread may then use
 * as many registers as it has if one CTA runs on an SM. Dots that start early may leave too few registers for
 * the ops after them. In this case the function tries again with a lower limit for early dots, so that fewer
 * dots start early. Returns false if it finds no order. */
static bool find_order(struct segment *s)
{
    enum { PARTS = 8 };
    const int live = s->live;
    const bool fits = s->ctas == 1 || peak_in_program_order(s) <= most_regs(s->func, s->ctas);
    const int allowed = regs_allowed(s->func, fits ? s->ctas : 1);
    for (int part = PARTS; part > PARTS / 2; part--) {
        unplace(s, 0, live);
        find_order_in(s, allowed * part / PARTS);
        if (s->peak <= allowed)
            return true;
    }
    return false;
}

/* Rewrites the segment if the pass finds a better order, and starts a new, empty segment. */
static void end_segment(struct segment *s)
{
    if (is_closed(s)) {
        find_held(s);
        if (find_order(s) && is_changed(s) && !reads_sum_under_dot(s))
            rewrite(s);
    }
    s->nodes.n = s->held.n = s->order.n = s->ndots = s->live = s->peak = 0;
    map_init(&s->number, s->arena);
}

static void visit(struct func *f, struct block *b, int ctas)
{
    struct segment s = {.func = f, .arena = f->module->scratch, .ctas = ctas};
    map_init(&s.number, s.arena);
    for (struct op *next, *o = b->first; o; o = next) {
        next = o->next;
        enum effect effect = effect_of(o);
        if (effect == WALL)
            end_segment(&s);
        else
            add_node(&s, o, effect);
        for (int i = 0; i < o->nregions; i++)
            visit(f, o->regions[i], ctas);
    }
}

static void look_for_dot(struct op *o, void *ctx)
{
    *(bool *)ctx |= starts_dot(o);
}

void opt_schedule_dots(struct func *f)
{
    bool any = false;
    func_walk(f, look_for_dot, &any);
    if (any)
        visit(f, f->body, ctas_wanted(f));
}
