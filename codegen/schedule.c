/* SPDX-License-Identifier: MIT */
/* schedule.c: chooses the order of the instructions of each block.
 *
 *     ld a; add x, a, 1; ld b; add y, b, 1     =>     ld a; ld b; add x, a, 1; add y, b, 1
 *
 * The scheduler is a list scheduler that works from the block's first instruction down. Of the ready
 * instructions, the scheduler chooses the one with the longest latency path (in cycles) to the block's end,
 * so that loads come early and instructions without dependents come late. While many registers are live, the
 * scheduler instead chooses the instruction that frees the most registers. It then chooses an instruction
 * that increases the number of live registers (a load, shuffle or constant) only if no other instruction is
 * ready; of several such instructions, it chooses the one with the longest path.
 *
 * If the schedule needs more registers than a thread can have, all blocks are scheduled a second time. While
 * many registers are live in this second schedule, the scheduler completes the block's stores in order: it
 * first chooses the instructions on which the first store depends, then those on which the second store
 * depends, and so on. ptxas schedules the instructions again with more knowledge of the hardware, but does
 * not move instructions far. So the order in the PTX should already hide latencies and fit the registers. */
#include "codegen/mir.h"

#include <string.h>

struct edge {
    int to, cycles;
};

struct node {
    struct insn *insn;
    VEC(struct edge) after; /* edges to the instructions that depend on `insn` */
    int waits;              /* number of unscheduled instructions on which `insn` depends */
    int height;             /* length in cycles of the longest path from `insn` to the block's end */
    VEC(int) before;        /* the nodes on which `insn` depends; filled only if scheduler.ranks is set */
    /* the node's position in an order that completes the block's stores one after the other */
    int rank;
    bool done;
};

/* The uses and definitions of a register in the current block. */
struct reg_use {
    int block;      /* the block for which the other fields are valid */
    int def;        /* the latest node that defines the register, or -1 */
    VEC(int) reads; /* the nodes after `def` that read the register */
    int remaining;  /* number of reads in this block that are not scheduled yet */
    /* number of unguarded definitions in this block that are not scheduled yet; while there are any, no other
     * block can read the register's current value */
    int changes;
    bool elsewhere; /* other blocks use or define the register too */
    bool live;      /* at the point in the block up to which instructions are scheduled */
};

/* A heap of ready instructions (all instructions on which they depend are scheduled). They are ordered by
 * rank if by_rank is set; otherwise by height, and for equal heights by their original position. */
struct heap {
    VEC(int) nodes;
    bool by_rank;
};

struct scheduler {
    struct mir *m;
    struct reg_use *regs;
    struct node *nodes;
    int nnodes;
    /* ready instructions: ready[1] has those that increase the number of live registers, ready[0] the others */
    struct heap ready[2];
    struct heap ranked; /* all ready instructions, ordered by rank */
    bool ranks;         /* while live_regs exceeds limit_regs, choose the instruction with the lowest rank */
    int live_regs, limit_regs;
    bool keeps_pipelines; /* pipelined blocks keep their original order, because registers suffice for it */
};

/* -- dependences -- */

static void add_edge(struct scheduler *s, int from, int to, int cycles)
{
    if (from < 0 || from == to)
        return;
    VEC_PUSH(s->m->arena, &s->nodes[from].after, ((struct edge){to, cycles}));
    if (s->ranks)
        VEC_PUSH(s->m->arena, &s->nodes[to].before, from);
    s->nodes[to].waits++;
}

static struct reg_use *reg_use(struct scheduler *s, int reg, int block)
{
    struct reg_use *r = &s->regs[reg];
    if (r->block != block) {
        r->block = block;
        r->def = -1;
        r->reads.n = 0;
        r->remaining = r->changes = 0;
        r->live = false;
    }
    return r;
}

/* Returns the instruction's latency in cycles. For a ld or atom of shared memory, returns the latency of
 * shared memory instead of the latency in the row of insns.h. */
static int cycles_of(const struct target *t, const struct insn *in)
{
    enum latency row = insn_info[in->form.code].latency;
    bool is_shared = row == LATENCY_global && form_has_mod(in->form, MOD_shared);
    return t->latency_cycles[is_shared ? LATENCY_shared : row];
}

static void add_read(struct scheduler *s, int reg, int at, int block)
{
    struct reg_use *r = reg_use(s, reg, block);
    if (r->def < 0 && r->remaining == 0) {
        r->live = true; /* live on entry: the block reads the register before any definition */
        s->live_regs += class_info[s->m->regs.at[reg]].regs;
    }
    if (r->def >= 0)
        add_edge(s, r->def, at, cycles_of(s->m->func->target, s->nodes[r->def].insn));
    VEC_PUSH(s->m->arena, &r->reads, at);
    r->remaining++;
}

static void add_def(struct scheduler *s, int reg, int at, int block)
{
    struct reg_use *r = reg_use(s, reg, block);
    bool is_read =
        /* the instruction also reads the register, so add_read has already made it depend on r->def */
        r->reads.n > 0 && r->reads.at[r->reads.n - 1] == at;
    add_edge(s, is_read ? -1 : r->def, at, 1);
    for (int i = 0; i < r->reads.n; i++)
        add_edge(s, r->reads.at[i], at, 0);
    r->reads.n = 0;
    r->def = at;
    r->changes += s->nodes[at].insn->guard < 0;
}

static void add_registers(struct scheduler *s, int at, int block)
{
    const struct insn *in = s->nodes[at].insn;
    for (int i = in->ndefs; i < in->nopnds; i++)
        if (opnd_has_reg(&in->opnds[i]))
            add_read(s, in->opnds[i].n, at, block);
    if (in->guard >= 0)
        add_read(s, in->guard, at, block);
    for (int i = 0; i < in->ndefs; i++)
        add_def(s, in->opnds[i].n, at, block);
}

/* The last write and the reads after it, among the accesses so far to shared memory, or to all other memory.
 * Two reads may be reordered. A write must not be reordered with other accesses. */
struct memory_order {
    int last_write;
    VEC(int) reads;
};

static void order_access(struct scheduler *s, struct memory_order *o, int at, bool writes)
{
    add_edge(s, o->last_write, at, 1);
    if (!writes) {
        VEC_PUSH(s->m->arena, &o->reads, at);
        return;
    }
    for (int i = 0; i < o->reads.n; i++)
        add_edge(s, o->reads.at[i], at, 0);
    o->reads.n = 0;
    o->last_write = at;
}

/* Adds the dependences of an instruction on earlier accesses. memories[1] is shared memory, and memories[0]
 * is all other memory. An instruction with the trait EFFECT, such as a barrier, counts as a write to both. A
 * volatile load counts as a write. */
static void add_memory(struct scheduler *s, struct memory_order memories[2], int at)
{
    const struct insn *in = s->nodes[at].insn;
    bool all = insn_has(in, EFFECT),
         writes = all || insn_has(in, WRITES) || form_has_mod(in->form, MOD_volatile);
    if (!all && !writes && !insn_has(in, READS))
        return;
    bool shared = form_has_mod(in->form, MOD_shared);
    for (int i = 0; i < 2; i++)
        if (all || shared == (i == 1))
            order_access(s, &memories[i], at, writes);
}

/* Adds the dependences that keep instructions from moving past PINNED instructions. `last` is the last PINNED
 * node before node `at`, or -1. Returns the last PINNED node up to `at`, or -1. */
static int add_pin(struct scheduler *s, int at, int last)
{
    add_edge(s, last, at, 0);
    if (!insn_has(s->nodes[at].insn, PINNED))
        return last;
    for (int i = last + 1; i < at; i++)
        add_edge(s, i, at, 0);
    return at;
}

/* -- the order -- */

static bool goes_before(const struct scheduler *s, const struct heap *h, int a, int b)
{
    const struct node *x = &s->nodes[a], *y = &s->nodes[b];
    if (h->by_rank)
        return x->rank < y->rank;
    return x->height != y->height ? x->height > y->height : a < b;
}

/* Returns whether the register is dead after the last of its remaining reads in this block: no other block
 * uses it, or this block defines it again. */
static bool is_private(const struct reg_use *r)
{
    return !r->elsewhere || r->changes > 0;
}

/* Returns the number of 32-bit registers that become live at an instruction, minus the number that die. */
static int growth(const struct scheduler *s, const struct insn *in)
{
    int n = 0;
    for (int i = 0; i < in->nopnds; i++) {
        if (!opnd_has_reg(&in->opnds[i]))
            continue;
        const struct reg_use *r = &s->regs[in->opnds[i].n];
        int regs = class_info[s->m->regs.at[in->opnds[i].n]].regs;
        if (i < in->ndefs)
            n += r->live ? 0 : regs;
        else if (r->remaining == 1 && is_private(r))
            n -= regs;
    }
    return n;
}

static void heap_push(struct scheduler *s, struct heap *h, int node)
{
    VEC_PUSH(s->m->arena, &h->nodes, node);
    int *heap = h->nodes.at;
    for (int i = h->nodes.n - 1; i > 0 && goes_before(s, h, heap[i], heap[(i - 1) / 2]); i = (i - 1) / 2) {
        int kept = heap[i];
        heap[i] = heap[(i - 1) / 2];
        heap[(i - 1) / 2] = kept;
    }
}

static void push_ready(struct scheduler *s, int node)
{
    heap_push(s, &s->ready[growth(s, s->nodes[node].insn) > 0], node);
    if (s->ranks)
        heap_push(s, &s->ranked, node);
}

/* Removes entry i of the heap and returns its node. The heap's last entry takes the removed entry's place,
 * and then moves up or down the heap. */
static int take_ready(struct scheduler *s, struct heap *h, int i)
{
    int *heap = h->nodes.at, node = heap[i], last = VEC_POP(&h->nodes), n = h->nodes.n;
    if (i == n)
        return node;
    for (; i > 0 && goes_before(s, h, last, heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && goes_before(s, h, heap[child + 1], heap[child]))
            child++;
        if (!goes_before(s, h, heap[child], last))
            break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return node;
}

/* Returns the index in the heap of the instruction that frees the most registers. Looks only at the first
 * schedule_ready_most entries. */
static int thriftiest(const struct scheduler *s, const struct heap *h)
{
    const int *nodes = h->nodes.at;
    int best = 0, least = growth(s, s->nodes[nodes[0]].insn);
    for (int i = 1; i < h->nodes.n && i < s->m->func->module->params->schedule_ready_most; i++) {
        int g = growth(s, s->nodes[nodes[i]].insn);
        if (g < least || (g == least && goes_before(s, h, nodes[i], nodes[best]))) {
            least = g;
            best = i;
        }
    }
    return best;
}

/* Removes the top of the heap as long as it is an instruction that is already scheduled. (Each ready
 * instruction is in two heaps, and is taken from one of them.) */
static void forget_done(struct scheduler *s, struct heap *h)
{
    while (h->nodes.n && s->nodes[h->nodes.at[0]].done)
        take_ready(s, h, 0);
}

static int choose(struct scheduler *s)
{
    struct heap *rest = &s->ready[0], *takers = &s->ready[1];
    bool is_short = s->live_regs > s->limit_regs;
    if (s->ranks) {
        forget_done(s, rest);
        forget_done(s, takers);
        forget_done(s, &s->ranked);
        if (is_short)
            return take_ready(s, &s->ranked, 0);
    }
    if (!rest->nodes.n)
        return take_ready(s, takers, 0);
    if (takers->nodes.n && !is_short && goes_before(s, takers, takers->nodes.at[0], rest->nodes.at[0]))
        return take_ready(s, takers, 0);
    return take_ready(s, rest, is_short ? thriftiest(s, rest) : 0);
}

static void retire_read(struct scheduler *s, int reg)
{
    struct reg_use *r = &s->regs[reg];
    if (--r->remaining == 0 && is_private(r) && r->live) {
        r->live = false;
        s->live_regs -= class_info[s->m->regs.at[reg]].regs;
    }
}

static void issue(struct scheduler *s, int node)
{
    const struct insn *in = s->nodes[node].insn;
    for (int i = in->ndefs; i < in->nopnds; i++)
        if (opnd_has_reg(&in->opnds[i]))
            retire_read(s, in->opnds[i].n);
    if (in->guard >= 0)
        retire_read(s, in->guard);
    for (int i = 0; i < in->ndefs; i++) {
        struct reg_use *r = &s->regs[in->opnds[i].n];
        r->changes -= in->guard < 0;
        if (!r->live && (r->remaining || r->elsewhere)) {
            r->live = true;
            s->live_regs += class_info[s->m->regs.at[in->opnds[i].n]].regs;
        }
    }
    for (int i = 0; i < s->nodes[node].after.n; i++)
        if (--s->nodes[s->nodes[node].after.at[i].to].waits == 0)
            push_ready(s, s->nodes[node].after.at[i].to);
}

static void measure_heights(struct scheduler *s)
{
    for (int i = s->nnodes - 1; i >= 0; i--) {
        struct node *n = &s->nodes[i];
        for (int k = 0; k < n->after.n; k++) {
            int height = s->nodes[n->after.at[k].to].height + n->after.at[k].cycles;
            n->height = height > n->height ? height : n->height;
        }
    }
}

/* Assigns the next ranks to the instructions on which `node` depends directly or indirectly, and then to
 * `node`. *rank is the last assigned rank. Instructions that have a rank keep it. */
static void rank_node(struct scheduler *s, int node, int *rank)
{
    VEC(int) path = {0};
    VEC_PUSH(s->m->arena, &path, node);
    while (path.n) {
        struct node *n = &s->nodes[path.at[path.n - 1]];
        if (n->rank == 0 && n->before.n)
            VEC_PUSH(s->m->arena, &path, VEC_POP(&n->before));
        else if (path.n--, n->rank == 0)
            n->rank = ++*rank;
    }
}

static void rank_nodes(struct scheduler *s)
{
    int rank = 0;
    for (int i = 0; i < s->nnodes; i++)
        if (insn_has(s->nodes[i].insn, WRITES) || insn_has(s->nodes[i].insn, EFFECT) || !s->nodes[i].after.n)
            rank_node(s, i, &rank);
    for (int i = 0; i < s->nnodes; i++)
        rank_node(s, i, &rank);
}

/* Returns whether the block is the body of a pipelined loop (opt/pipeline/pipeline_loops.c), in which a wait
 * for asynchronous copies follows a dot. If registers suffice, such a block keeps its order, because the
 * loads of each part of the operands already overlap the dots of the previous part. */
static bool is_pipelined(const struct mblock *b)
{
    bool multiplies = false;
    for (int i = 0; i < b->insns.n; i++) {
        const struct insn *in = b->insns.at[i];
        multiplies |= insn_info[in->form.code].latency == LATENCY_mma;
        if (multiplies && in->form.code == INSN_cp_async_wait)
            return true;
    }
    return false;
}

/* Schedules one block. The jumps and returns at its end stay there. */
static void schedule_block(struct scheduler *s, struct mblock *b)
{
    if (s->keeps_pipelines && is_pipelined(b))
        return;
    int n = 0;
    while (n < b->insns.n && !insn_has(b->insns.at[n], TERMINATOR))
        n++;
    s->nodes = NEW_ARRAY(s->m->arena, n ? n : 1, struct node);
    s->nnodes = n;
    s->live_regs = 0;
    struct memory_order memories[2] = {{.last_write = -1}, {.last_write = -1}};
    for (int i = 0, pin = -1; i < n; i++) {
        s->nodes[i].insn = b->insns.at[i];
        add_registers(s, i, b->index);
        add_memory(s, memories, i);
        pin = add_pin(s, i, pin);
    }
    measure_heights(s);
    if (s->ranks)
        rank_nodes(s);
    for (int i = 0; i < n; i++)
        if (!s->nodes[i].waits)
            push_ready(s, i);
    for (int i = 0; i < n; i++) {
        int node = choose(s);
        s->nodes[node].done = true;
        b->insns.at[i] = s->nodes[node].insn;
        issue(s, node);
    }
    s->ready[0].nodes.n = s->ready[1].nodes.n = s->ranked.nodes.n = 0;
}

/* -- registers that several blocks use -- */

static void note_block(struct scheduler *s, int reg, int block)
{
    struct reg_use *r = &s->regs[reg];
    if (r->block >= 0 && r->block != block)
        r->elsewhere = true;
    r->block = block;
}

/* Sets `elsewhere` for the registers that occur in more than one block. */
static void find_elsewhere(struct scheduler *s)
{
    for (int r = 0; r < s->m->regs.n; r++)
        s->regs[r].block = -1;
    for (int b = 0; b < s->m->blocks.n; b++)
        for (int i = 0; i < s->m->blocks.at[b]->insns.n; i++) {
            const struct insn *in = s->m->blocks.at[b]->insns.at[i];
            for (int k = 0; k < in->nopnds; k++)
                if (opnd_has_reg(&in->opnds[k]))
                    note_block(s, in->opnds[k].n, b);
            if (in->guard >= 0)
                note_block(s, in->guard, b);
        }
    for (int r = 0; r < s->m->regs.n; r++)
        s->regs[r].block = -1;
}

/* Returns whether a thread has enough registers for pipelined blocks in their original order; true if the
 * kernel has no pipelined blocks. */
static bool has_room(const struct mir *m)
{
    for (int b = 0; b < m->blocks.n; b++)
        if (is_pipelined(m->blocks.at[b]))
            return ptxas_regs(m, liveness_of(m), PTXAS_pipeline) <= func_regs_most(m->func);
    return true;
}

/* -- the kernel: one schedule, or two if the first needs too many registers -- */

static struct insn **order_of(const struct mblock *b, struct arena *a)
{
    struct insn **order = NEW_ARRAY(a, b->insns.n + 1, struct insn *);
    if (b->insns.n)
        memcpy(order, b->insns.at, (size_t)b->insns.n * sizeof *order);
    return order;
}

/* Returns a copy of the order of each block, for restore_orders. */
static struct insn ***keep_orders(const struct mir *m)
{
    struct insn ***kept = NEW_ARRAY(m->arena, m->blocks.n + 1, struct insn **);
    for (int b = 0; b < m->blocks.n; b++)
        kept[b] = order_of(m->blocks.at[b], m->arena);
    return kept;
}

static void restore_orders(const struct mir *m, struct insn **const *kept)
{
    for (int b = 0; b < m->blocks.n; b++)
        for (int i = 0; i < m->blocks.at[b]->insns.n; i++)
            m->blocks.at[b]->insns.at[i] = kept[b][i];
}

static struct liveness *schedule_blocks(struct mir *m, bool keeps_pipelines, bool ranks, int limit_regs)
{
    struct scheduler s = {.m = m,
                          .limit_regs = limit_regs,
                          .keeps_pipelines = keeps_pipelines,
                          .ranked.by_rank = true,
                          .ranks = ranks};
    s.regs = NEW_ARRAY(m->arena, m->regs.n + 1, struct reg_use);
    find_elsewhere(&s);
    for (int b = 0; b < m->blocks.n; b++)
        schedule_block(&s, m->blocks.at[b]);
    return liveness_of(m);
}

static struct liveness *schedule_once_or_twice(struct mir *m, struct insn **const *before,
                                               bool keeps_pipelines)
{
    int limit = func_regs_most(m->func) * m->func->module->params->schedule_regs_percent / 100;
    struct liveness *live = schedule_blocks(m, keeps_pipelines, false, limit);
    if (live->peak_regs <= func_regs_most(m->func))
        return live;
    struct insn ***urgent = keep_orders(m);
    restore_orders(m, before);
    struct liveness *ranked = schedule_blocks(m, keeps_pipelines, true, limit);
    if (ranked->peak_regs < live->peak_regs)
        return ranked;
    restore_orders(m, urgent);
    return live;
}

/* -- orders for more CTAs on an SM -- */

static bool uses_tensor_cores(const struct insn *in)
{
    enum latency kind = insn_info[in->form.code].latency;
    return kind == LATENCY_mma || kind == LATENCY_mma_async;
}

/* Schedules the kernel so that n CTAs fit on an SM and as many loads as possible are in flight. Tries limits
 * on the number of live registers from high to low, because a higher limit lets the scheduler group more
 * loads, and keeps the first order with which n CTAs fit; if there is none, keeps the order for limit 0. */
static struct liveness *schedule_in_room(struct mir *m, struct insn **const *before, bool keeps_pipelines,
                                         int n)
{
    const struct params *params = m->func->module->params;
    const int steps = params->schedule_steps;
    struct liveness *live = NULL;
    for (int step = steps; step >= 0; step--) {
        int most = target_regs(m->func->target, m->nthreads * n);
        restore_orders(m, before);
        live = schedule_blocks(m, keeps_pipelines, true, most * step / steps);
        if (resources_ctas(m, ptxas_regs(m, live, PTXAS_rows)) >= n &&
            live->peak_preds <= params->schedule_preds_most)
            break;
    }
    return live;
}

static bool is_global_load(const struct insn *in)
{
    return in->form.code == INSN_ld && !form_has_mod(in->form, MOD_shared) && in->op &&
           in->op->code == OP_load;
}

/* Returns the maximum number of 32-bit registers of a thread that wait for loads from global memory at the
 * same time, in the block's current order. When an instruction reads a waiting register, all earlier loads
 * are assumed to be complete. */
static int most_in_flight(const struct mir *m, const struct mblock *b)
{
    int *load_of = NEW_ARRAY(m->arena, m->regs.n + 1, int), flying = 0, most = 0, arrived = 0;
    for (int i = 0; i < b->insns.n; i++) {
        const struct insn *in = b->insns.at[i];
        for (int k = in->ndefs; k < in->nopnds; k++)
            if (opnd_has_reg(&in->opnds[k]) && load_of[in->opnds[k].n] > arrived) {
                arrived = i;
                flying = 0;
            }
        for (int k = 0; k < in->ndefs; k++) {
            load_of[in->opnds[k].n] = is_global_load(in) ? i + 1 : 0;
            flying += is_global_load(in) ? class_info[m->regs.at[in->opnds[k].n]].regs : 0;
        }
        most = flying > most ? flying : most;
    }
    return most;
}

/* Returns the minimum of most_in_flight over all blocks in loops that load from global memory; 0 if there is
 * no such block. */
static int in_flight_in_loops(const struct mir *m)
{
    int least = 0;
    for (int b = 0; b < m->blocks.n; b++) {
        int most = m->blocks.at[b]->depth ? most_in_flight(m, m->blocks.at[b]) : 0;
        least = most && (!least || most < least) ? most : least;
    }
    return least;
}

/* Returns the .maxnreg with which n CTAs fit on an SM; 0 if no .maxnreg is necessary. */
static int regs_for(const struct mir *m, int n)
{
    int most = target_regs(m->func->target, m->nthreads * n) / REGS_UNIT * REGS_UNIT;
    return most < m->func->target->regs_thread ? most : 0;
}

/* With the order `urgent`, `was` CTAs fit on an SM. Looks for an order with which more CTAs fit, up to n. The
 * kernel's loops load from global memory, so more CTAs are faster only if at least as many registers as
 * before wait for loads, counted over all CTAs on the SM. Tries n CTAs, then repeatedly halves the difference
 * to `was`, and chooses the order with the most waiting registers. Sets .maxnreg for this order; chooses
 * `urgent` without .maxnreg if no order is good enough. */
static struct liveness *make_room_in_loops(struct mir *m, struct insn **const *before, struct insn ***urgent,
                                           bool keeps_pipelines, int was, int n)
{
    struct insn ***best = urgent;
    int most = was * in_flight_in_loops(m) - 1;
    m->regs_most = 0;
    for (int k = n; k > was; k -= (k - was + 1) / 2) {
        schedule_in_room(m, before, keeps_pipelines, k);
        if (k * in_flight_in_loops(m) <= most)
            continue;
        most = k * in_flight_in_loops(m);
        best = keep_orders(m);
        m->regs_most = regs_for(m, k);
    }
    restore_orders(m, best);
    return liveness_of(m);
}

/* While a CTA reduces, it has no loads in flight, so other CTAs on the SM must hide the latency of memory. If
 * many more CTAs fit on an SM with an order that needs few registers, chooses such an order and sets
 * .maxnreg. ptxas then moves loads up as far as the registers allow. Without .maxnreg, ptxas would use either
 * more registers, or so few registers that it spills. Otherwise returns `live`, the liveness of the current
 * order, and keeps this order. */
static struct liveness *make_room(struct mir *m, struct liveness *live, struct insn **const *before,
                                  bool keeps_pipelines)
{
    const struct params *params = m->func->module->params;
    struct insn ***urgent = keep_orders(m);
    int in_loops = in_flight_in_loops(m);
    restore_orders(m, before);
    struct liveness *thrifty = schedule_blocks(m, keeps_pipelines, true, 0);
    int n = resources_ctas(m, ptxas_regs(m, thrifty, PTXAS_rows));
    int was = resources_ctas(m, ptxas_regs(m, live, PTXAS_counted));
    bool is_worth_it =
        n - was > was / params->schedule_gain_part && thrifty->peak_preds <= params->schedule_preds_most;
    if (is_worth_it && !in_loops) {
        m->regs_most = regs_for(m, n);
        return reduces_once(m) ? schedule_in_room(m, before, keeps_pipelines, n) : thrifty;
    }
    restore_orders(m, urgent);
    return is_worth_it ? make_room_in_loops(m, before, urgent, keeps_pipelines, was, n) : live;
}

/* Returns whether an instruction stores a tile of many registers to shared memory. In a kernel with such a
 * store, shared memory limits the number of CTAs on an SM. ptxas does not know how much shared memory the
 * kernel uses, so without .maxnreg, it would spill to reach an occupancy that shared memory does not
 * allow. */
static bool carries_much(const struct insn *in)
{
    const struct op *o = in->op;
    const struct type *t = o && o->code == OP_shared_store ? op_opnd(o, 1)->type : NULL;
    return t && tile_regs(t, o->block->func->num_warps, 0) >= op_params(o)->schedule_carried_regs;
}

/* Returns whether an instruction belongs to a reduction of more than two elements. A reduction of two elements is
 * assumed to be part of a compare-exchange step of a sort. A sort keeps a whole tile live, and needs no other CTAs to
 * hide the latency of a shuffle: the instructions of other elements hide this latency. */
static bool reduces_rows(const struct insn *in)
{
    const struct op *o = in->op;
    return o && o->code == OP_reduce && op_opnd(o, 0)->type->shape[op_int(o, ATTR_axis)] > 2;
}

struct liveness *schedule(struct mir *m)
{
    bool keeps_pipelines = has_room(m);
    struct insn ***before = keep_orders(m);
    struct liveness *live = schedule_once_or_twice(m, before, keeps_pipelines);
    m->regs_most = m->func->maxnreg;
    if (m->regs_most || mir_any(m, uses_tensor_cores))
        return live;
    if (mir_any(m, reduces_rows))
        return make_room(m, live, before, keeps_pipelines);
    if (mir_any(m, carries_much))
        m->regs_most = func_regs_most(m->func);
    return live;
}
