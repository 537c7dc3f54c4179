/* SPDX-License-Identifier: MIT */
/* loop_schedule.c: builds the schedule (loop_schedule.h) of each innermost loop with asynchronous work, and estimates
 * at which cycles of an iteration the units are busy.
 *
 *     warps {                                       ops         role      unit, cycles           ends
 *       for ... {                                   mbar_wait   consumer
 *         mbar_wait %full[%stage], %phase           mma_start   consumer  tensor cores, 512      by a group of dots
 *         %d = mma_start %a[%stage], ...       =>   mma_wait    consumer
 *         %w = mma_wait %d                          mbar_arrive consumer
 *         mbar_arrive %empty[%stage]                mbar_wait   producer
 *     } } {                                         tensor_copy producer  global memory, 256     by a phase
 *       for ... { mbar_wait; tensor_copy %a; ... }  buffers: %a, 4 stages of 16384 bytes; ...
 *     }
 *
 * The estimate simulates some iterations of the loop. Each group of four consumer warps is an actor, and so is the
 * producer. An actor issues its ops in program order. An op starts when its actor has issued all earlier ops, its
 * operands are ready, and its units are free. A wait starts when the awaited ops are complete. While an op
 * keeps a unit busy, its actor already issues the next op. The schedule shows one iteration of the first
 * group, at a time when the pipeline is full. The estimate ignores other CTAs on the SM, and bank
 * conflicts. */
#include "opt/pipeline/loop_schedule.h"

#include "opt/cost.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"
#include "opt/pipeline/pipeline.h"

enum { NONE = -1, ITERATIONS = 24, FROM_ITERATION = 12, MEAN_OF = 8 };

/* -- which loops -- */

static bool is_walked(const struct op *o)
{
    return o->code == OP_if || o->code == OP_for || o->code == OP_while;
}

/* Returns whether o is a load whose value only later iterations read: all its users are yields of loops. */
static bool is_load_ahead(const struct op *o)
{
    if (o->code != OP_load || !op_result(o)->uses)
        return false;
    for (const struct use *u = op_result(o)->uses; u; u = u->next)
        if (u->user->code != OP_yield || u->user->block->parent->code != OP_for)
            return false;
    return true;
}

static bool is_async(const struct op *o)
{
    return op_has(o, MULTIPLIES) || o->code == OP_async_copy || o->code == OP_tensor_copy || is_load_ahead(o);
}

/* Returns whether b or the regions of its ops contain asynchronous work. If `in_loops` is true, only work
 * inside loops of b counts. */
static bool has_async(const struct block *b, bool in_loops)
{
    for (const struct op *o = b->first; o; o = o->next) {
        if (!in_loops && is_async(o))
            return true;
        for (int i = 0; is_walked(o) && i < o->nregions; i++)
            if (has_async(o->regions[i], in_loops && o->code == OP_if))
                return true;
    }
    return false;
}

/* -- ops and buffers -- */

static int buffer_index(struct loop_schedule *s, const struct value *v)
{
    const struct op *alloc = v && v->type->kind == TY_shared ? buffer_alloc(v, NULL) : NULL;
    if (!alloc || alloc->code != OP_shared_alloc)
        return NONE;
    for (int i = 0; i < s->buffers.n; i++)
        if (s->buffers.at[i].alloc == alloc)
            return i;
    const struct type *t = op_result(alloc)->type;
    const struct scheduled_buffer x = {alloc, t->nstages, buffer_bytes(t) / t->nstages, NONE, NONE, 0, 0, 0};
    VEC_PUSH(s->func->module->scratch, &s->buffers, x);
    return s->buffers.n - 1;
}

/* Notes which buffers op number n fills or reads, and at which mbarrier it waits or arrives. */
static void note_buffers(struct loop_schedule *s, int n)
{
    struct scheduled_op *x = &s->ops.at[n];
    const struct op *o = x->op;
    const bool fills = o->code == OP_tensor_copy || o->code == OP_async_copy || o->code == OP_shared_store;
    const bool is_barrier = o->code == OP_mbar_wait || o->code == OP_mbar_arrive;
    if (o->code == OP_shared_stage || o->code == OP_mbar_expect)
        return;
    for (int i = 0; i < o->nopnds; i++) {
        const int at = buffer_index(s, op_opnd(o, i));
        if (at == NONE)
            continue;
        struct scheduled_buffer *b = &s->buffers.at[at];
        if (is_barrier || (o->code == OP_tensor_copy && i == 1)) {
            x->barrier = at;
            b->frees |= o->code == OP_mbar_arrive;
            b->arrivals += o->code == OP_tensor_copy ? 1 : o->code == OP_mbar_arrive ? s->groups : 0;
        } else {
            int *which = fills ? &b->fill : &b->reads;
            *which = *which == NONE ? n : *which;
        }
    }
}

/* Returns whether v is the vote of a warp, or a carried value that is a vote in all iterations but the first. */
static bool is_vote(const struct value *v)
{
    const struct block *b = v->block;
    for (int i = 0; !v->def && b->parent && b->parent->code == OP_for && i < b->parent->nresults; i++)
        if (b->args.at[1 + i] == v && op_opnd(b->last, i) && op_opnd(b->last, i)->def)
            return op_opnd(b->last, i)->def->code == OP_warp_all;
    return v->def && v->def->code == OP_warp_all;
}

/* Returns whether the estimate executes this region of o. Of the two regions of an `if`, it executes only the
 * region with more ops; if the condition is a vote, it executes the first region. It skips an `if` whose
 * second region is empty, for example a store in some iterations, unless the first region contains
 * asynchronous work. */
static bool runs_region(const struct op *o, int region)
{
    int n[2] = {0, 0};
    for (int i = 0; o->code == OP_if && i < o->nregions; i++)
        for (const struct op *x = o->regions[i]->first; !op_has(x, TERMINATOR); x = x->next)
            n[i]++;
    if (o->code == OP_if && !n[1] && !has_async(o->regions[0], false))
        return false;
    if (o->code == OP_if && is_vote(op_opnd(o, 0)))
        return region == 0;
    return o->code != OP_if || (region ? n[1] > n[0] : n[0] >= n[1]);
}

static void add_ops(struct loop_schedule *s, const struct block *b, enum role role, struct map *numbers)
{
    struct arena *a = s->func->module->scratch;
    for (struct op *o = b->first; o; o = o->next) {
        for (int i = 0; is_walked(o) && i < o->nregions; i++)
            if (runs_region(o, i))
                add_ops(s, o->regions[i], role, numbers);
        struct scheduled_op x = {.op = o, .role = role, .completion = op_completion(o), .barrier = NONE};
        cost_cycles(o, x.cycles);
        VEC_PUSH(a, &s->ops, x);
        *map_at_ptr(numbers, o) = (void *)(intptr_t)s->ops.n;
        note_buffers(s, s->ops.n - 1);
    }
}

/* Adds to x->needs the op of this or of the previous iteration that computes v. If v is the result of an
 * asynchronous dot and x is an asynchronous dot too, x does not wait for v, because tensor cores execute such
 * dots in order. */
static void add_need(struct loop_schedule *s, struct scheduled_op *x, const struct map *numbers,
                     const struct block *body, const struct value *v)
{
    int back = 0;
    if (v && !v->def && v->block == body && v->index > 0) {
        v = op_opnd(block_terminator(body), v->index - 1);
        back = 1;
    }
    void **at = v && v->def ? map_get_ptr(numbers, v->def) : NULL;
    const bool chains = at && starts_dot(x->op) && starts_dot(v->def);
    if (at && !chains)
        VEC_PUSH(s->func->module->scratch, &x->needs, ((struct dependence){(int)(intptr_t)*at - 1, back}));
}

/* Adds the ops of a role's loop, and the results that each op needs. A wait for dots needs no results,
 * because it waits for groups of dots instead. An `if` needs the values that its regions yield. */
static void add_loop(struct loop_schedule *s, const struct op *loop, enum role role)
{
    struct map numbers;
    map_init(&numbers, s->func->module->scratch);
    const int first = s->ops.n;
    add_ops(s, loop->regions[0], role, &numbers);
    for (int n = first; n < s->ops.n; n++) {
        const struct op *o = s->ops.at[n].op;
        for (int i = 0; i < o->nopnds && o->code != OP_mma_wait && !op_has(o, TERMINATOR); i++)
            add_need(s, &s->ops.at[n], &numbers, loop->regions[0], op_opnd(o, i));
        for (int i = 0; o->code == OP_if && i < o->nregions; i++) {
            const struct op *end = block_terminator(o->regions[i]);
            for (int k = 0; k < end->nopnds; k++)
                add_need(s, &s->ops.at[n], &numbers, loop->regions[0], op_opnd(end, k));
        }
    }
}

static bool awaits(const struct loop_schedule *s, const struct value *barrier)
{
    for (int i = 0; i < s->ops.n; i++)
        if (s->ops.at[i].op->code == OP_mbar_wait && s->ops.at[i].barrier != NONE &&
            s->buffers.at[s->ops.at[i].barrier].alloc == buffer_alloc(barrier, NULL))
            return true;
    return false;
}

/* Sets s->producer to the producer's loop that fills the buffers for which s->loop waits. If there are
 * several such loops, chooses the loop that has the source location of s->loop, or else the first loop. */
static void find_producer(struct loop_schedule *s, const struct block *b)
{
    for (const struct op *o = b->first; o; o = o->next) {
        const struct op *loop = b->parent;
        if (o->code == OP_tensor_copy && loop && loop->code == OP_for && awaits(s, op_opnd(o, 1)) &&
            (!s->producer || (loop->loc.line == s->loop->loc.line && loop->loc.col == s->loop->loc.col)))
            s->producer = loop;
        for (int i = 0; is_walked(o) && i < o->nregions; i++)
            find_producer(s, o->regions[i]);
    }
}

/* -- the estimate -- */

/* One phase of an mbarrier, or one execution of a barrier of all groups. */
struct phase {
    int arrivals; /* the number of arrivals so far */
    int64_t time; /* the time of the last arrival so far */
};
typedef VEC(struct phase) phase_list;
typedef VEC(int64_t) time_list;

struct actor {
    /* In each iteration, the actor executes the ops first, ..., end - 1 of loop_schedule.ops. `at` is the
     * next op, in iteration number `iteration`. */
    int first, end, at, iteration;
    bool arrived;        /* the next op is a barrier of all groups, and the actor has arrived there */
    int nbarriers;       /* how many barriers of all groups the actor has passed */
    int64_t time;        /* the time at which the actor can issue its next op */
    int64_t copies_done; /* the time at which the copies since the last commit are done */
    time_list groups[COMPLETION_count]; /* the times at which the groups of each kind are done */
    /* the times at which the results of ops are ready, in even and in odd iterations */
    int64_t *done[2];
    int open; /* the index of the last span of issue slots, or NONE */
};

struct estimate {
    struct loop_schedule *s;
    struct arena *arena;
    struct actor *actors;
    int nactors;
    /* one list for each buffer of the schedule, and one more list for the barriers of all groups */
    phase_list *phases;
    int64_t free[UNIT_count];       /* the time from which on each unit is free */
    int copies_ahead;               /* the number of iterations by which cp.async copies ahead */
    int64_t starts[ITERATIONS + 1]; /* the start times of the iterations of the first group */
};

static struct phase *phase_at(struct estimate *e, int barrier, int i)
{
    phase_list *list = &e->phases[barrier];
    while (list->n <= i)
        VEC_PUSH(e->arena, list, ((struct phase){0, 0}));
    return &list->at[i];
}

static bool is_common_barrier(const struct op *o)
{
    return o->code == OP_barrier && op_int(o, ATTR_group) <= 1;
}

/* Returns the earliest time at which x, the actor's next op, could start if its units were free. Returns NONE
 * if this time is unknown until another actor has issued more ops. */
static int64_t ready_at(struct estimate *e, struct actor *a, const struct scheduled_op *x)
{
    const struct loop_schedule *s = e->s;
    const struct op *o = x->op;
    int64_t time = a->time;
    for (int i = 0; i < x->needs.n; i++) {
        const struct dependence d = x->needs.at[i];
        const int64_t done = a->iteration < d.back ? 0 : a->done[(a->iteration - d.back) & 1][d.op];
        time = done > time ? done : time;
    }
    const struct phase *p = NULL;
    int arrivals = 0;
    if (o->code == OP_mbar_wait && x->barrier != NONE) {
        const struct scheduled_buffer *b = &s->buffers.at[x->barrier];
        const int i = a->iteration - (b->frees ? b->stages : 0);
        p = i >= 0 ? phase_at(e, x->barrier, i) : NULL;
        arrivals = b->arrivals;
    } else if (is_common_barrier(o) && x->role == ROLE_consumer && a->arrived) {
        p = phase_at(e, s->buffers.n, a->nbarriers);
        arrivals = s->groups;
    }
    if (p && p->arrivals < arrivals)
        return NONE;
    time = p && p->time > time ? p->time : time;
    const bool by_group = op_awaits(o) != COMPLETION_order && op_awaits(o) != COMPLETION_phase;
    const time_list *list = &a->groups[op_awaits(o)];
    const int group = list->n - 1 - (int)op_int(o, ATTR_pending);
    return by_group && group >= 0 && list->at[group] > time ? list->at[group] : time;
}

/* Adds to the schedule that o keeps the unit busy from cycle `from` to cycle `to`; with UNIT_count, that the
 * actor waits for o. Spans of issue slots of one actor become one span if at most GAP cycles are between
 * them. */
static void add_span(struct estimate *e, struct actor *a, enum unit unit, const struct op *o, int64_t from,
                     int64_t to)
{
    enum { GAP = 12 };
    struct loop_schedule *s = e->s;
    struct schedule_span *last = unit == UNIT_issue && a->open != NONE ? &s->spans.at[a->open] : NULL;
    if (last && from - last->to <= GAP) {
        int cycles[UNIT_count];
        cost_cycles(last->op, cycles);
        last->op = to - from > cycles[UNIT_issue] ? o : last->op;
        last->nops++;
        last->to = to;
        return;
    }
    /* The producer's iteration may be later than the iteration of the first group of consumers. Threads that
     * execute cp.async copy for a later iteration of their own loop. */
    const int lead = o->code == OP_async_copy    ? e->copies_ahead
                     : o->code == OP_tensor_copy ? a->iteration - e->actors->iteration
                                                 : 0;
    VEC_PUSH(e->arena, &s->spans, ((struct schedule_span){(int)(a - e->actors), unit, o, 1, lead, from, to}));
    if (unit == UNIT_issue)
        a->open = s->spans.n - 1;
}

/* Returns the op for which the actor waits before it starts x. If x is a wait for dots, this is the dot.
 * Otherwise it is the op that ends last among the ops whose results x needs. If x has to wait for none of
 * them, returns x. */
static const struct op *awaited_op(const struct actor *a, const struct scheduled_op *x,
                                   const struct scheduled_op *ops)
{
    const struct op *o = x->op, *found = o;
    int64_t last = a->time;
    if (o->code == OP_mma_wait && op_opnd(o, 0)->def)
        return op_opnd(o, 0)->def;
    for (int i = 0; i < x->needs.n; i++) {
        const struct dependence d = x->needs.at[i];
        const int64_t done = a->iteration < d.back ? 0 : a->done[(a->iteration - d.back) & 1][d.op];
        found = done > last ? ops[d.op].op : found;
        last = done > last ? done : last;
    }
    return found;
}

/* Makes the units of x busy, at the earliest from time `ready` on. Returns the time at which the result of x
 * is ready. Sets a->time to the time at which the actor of x can issue its next op. */
static int64_t occupy(struct estimate *e, struct actor *a, const struct scheduled_op *x, int64_t ready)
{
    /* an op that takes at most SHORT issue slots does not delay other groups: they issue their instructions
     * between the instructions of this op */
    enum { SHORT = 16 };
    const bool is_short = x->cycles[UNIT_issue] <= SHORT;
    int64_t start = ready, end, *free = e->free;
    if (!is_short && free[UNIT_issue] > start)
        start = free[UNIT_issue];
    end = a->time = start + x->cycles[UNIT_issue];
    if (x->cycles[UNIT_issue]) {
        free[UNIT_issue] = is_short ? free[UNIT_issue] : end;
        add_span(e, a, UNIT_issue, x->op, start, end);
    }
    for (enum unit u = 0; u < UNIT_issue; u++) {
        if (!x->cycles[u])
            continue;
        const int64_t from = free[u] > start ? free[u] : start;
        free[u] = from + x->cycles[u];
        add_span(e, a, u, x->op, from, free[u]);
        end = free[u] > end ? free[u] : end;
    }
    if (x->op->code == OP_dot) /* warps issue mma.sync only as fast as tensor cores execute it */
        a->time = end;
    return end + cost_latency(x->op);
}

/* The actor's next op starts at time `start`. If this op fills a buffer with the tile of iteration
 * FROM_ITERATION, subtracts `start` from the buffer's ahead_cycles. If this op is the first read of the tile,
 * adds `start`. The sum is the time from the start of the copy to the first read. */
static void note_lead(struct estimate *e, const struct actor *a, int64_t start)
{
    for (int i = 0; i < e->s->buffers.n; i++) {
        struct scheduled_buffer *b = &e->s->buffers.at[i];
        if (b->fill == NONE || b->reads == NONE)
            continue;
        const int lead = e->s->ops.at[b->fill].op->code == OP_async_copy ? e->copies_ahead : 0;
        if (b->fill == a->at && a->iteration == FROM_ITERATION - lead)
            b->ahead_cycles -= start;
        if (b->reads == a->at && a->iteration == FROM_ITERATION && a == e->actors)
            b->ahead_cycles += start;
    }
}

/* Records that x ends at time `end`, for the ops that wait for x. */
static void complete(struct estimate *e, struct actor *a, const struct scheduled_op *x, int64_t end)
{
    const struct op *o = x->op;
    if (o->code == OP_async_copy)
        a->copies_done = end > a->copies_done ? end : a->copies_done;
    else if (o->code == OP_async_commit)
        VEC_PUSH(e->arena, &a->groups[COMPLETION_copies], a->copies_done);
    else if (x->completion == COMPLETION_dots || x->completion == COMPLETION_bulk)
        VEC_PUSH(e->arena, &a->groups[x->completion], end);
    /* An arrival with a condition releases the stage of the previous iteration. */
    const int i = a->iteration - (o->code == OP_mbar_arrive && op_opnd(o, 1) != NULL);
    if (x->barrier == NONE || o->code == OP_mbar_wait || i < 0)
        return;
    struct phase *p = phase_at(e, x->barrier, i);
    p->arrivals++;
    p->time = end > p->time ? end : p->time;
}

/* Executes the actor's next op. If this op is a barrier of all groups, the first call only arrives there. */
static void step(struct estimate *e, struct actor *a)
{
    enum { LEAST_WAIT = 12 };
    const struct scheduled_op *x = &e->s->ops.at[a->at];
    if (is_common_barrier(x->op) && x->role == ROLE_consumer && !a->arrived) {
        struct phase *p = phase_at(e, e->s->buffers.n, a->nbarriers);
        p->arrivals++;
        p->time = a->time > p->time ? a->time : p->time;
        a->arrived = true;
        return;
    }
    const int64_t ready = ready_at(e, a, x);
    if (ready - a->time > LEAST_WAIT)
        add_span(e, a, UNIT_count, awaited_op(a, x, e->s->ops.at), a->time, ready);
    if (x->role == ROLE_producer || a == e->actors)
        note_lead(e, a, ready);
    const int64_t end = occupy(e, a, x, ready);
    complete(e, a, x, end);
    a->done[a->iteration & 1][a->at] = end;
    a->nbarriers += a->arrived;
    a->arrived = false;
    if (++a->at < a->end)
        return;
    a->at = a->first;
    a->iteration++;
    if (a == e->actors)
        e->starts[a->iteration] = a->time;
}

/* Returns the actor whose next op can start first. Returns NULL if no actor can start an op, or if all actors
 * have run all iterations. */
static struct actor *next_actor(struct estimate *e)
{
    struct actor *best = NULL;
    int64_t best_time = 0;
    for (int i = 0; i < e->nactors; i++) {
        struct actor *a = &e->actors[i];
        const int64_t time = a->iteration < ITERATIONS ? ready_at(e, a, &e->s->ops.at[a->at]) : NONE;
        if (time != NONE && (!best || time < best_time)) {
            best = a;
            best_time = time;
        }
    }
    return best;
}

static void look_for_stagger(struct op *o, void *ctx)
{
    *(bool *)ctx |= o->code == OP_stagger_wait;
}

/* Returns the time between the starts of two neighbouring groups: the duration of a group's first dot if
 * groups are staggered (overlap_dots.c), otherwise 0. */
static int64_t stagger_cycles(const struct loop_schedule *s)
{
    bool staggers = false;
    func_walk(s->func, look_for_stagger, &staggers);
    for (int i = 0; staggers && i < s->ops.n; i++)
        if (s->ops.at[i].cycles[UNIT_tensor])
            return s->ops.at[i].cycles[UNIT_tensor];
    return 0;
}

static void run(struct loop_schedule *s)
{
    struct estimate e = {
        .s = s, .arena = s->func->module->scratch, .nactors = s->groups + (s->producer != NULL)};
    e.actors = NEW_ARRAY(e.arena, e.nactors, struct actor);
    e.phases = NEW_ARRAY(e.arena, s->buffers.n + 1, phase_list);
    for (int i = 0; i < e.nactors; i++) {
        struct actor *a = &e.actors[i];
        const bool consumes = i < s->groups;
        *a = (struct actor){
            .first = consumes ? 0 : s->nconsumer, .end = consumes ? s->nconsumer : s->ops.n, .open = NONE};
        a->at = a->first;
        a->time = consumes ? i * stagger_cycles(s) : 0;
        for (int k = 0; k < 2; k++)
            a->done[k] = NEW_ARRAY(e.arena, s->ops.n, int64_t);
    }
    for (int i = 0; i < s->ops.n; i++)
        if (s->ops.at[i].op->code == OP_async_wait)
            e.copies_ahead = 1 + (int)op_int(s->ops.at[i].op, ATTR_pending);
    for (struct actor *a; (a = next_actor(&e)) != NULL;)
        step(&e, a);
    s->begin = e.starts[FROM_ITERATION];
    if (e.starts[FROM_ITERATION + MEAN_OF])
        s->cycles = (e.starts[FROM_ITERATION + MEAN_OF] - s->begin) / MEAN_OF;
}

int schedule_busy(const struct loop_schedule *s, enum unit unit)
{
    int64_t sum = 0;
    for (int i = 0; i < s->ops.n; i++)
        sum += (int64_t)s->ops.at[i].cycles[unit] * (s->ops.at[i].role == ROLE_consumer ? s->groups : 1);
    return (int)sum;
}

/* -- all loops -- */

static void visit(struct func *f, const struct block *b, const struct op *roles,
                  void (*use)(const struct loop_schedule *s))
{
    for (const struct op *o = b->first; o; o = o->next) {
        if (o->code == OP_for && has_async(o->regions[0], false) && !has_async(o->regions[0], true)) {
            struct loop_schedule s = {.func = f, .loop = o, .groups = cost_groups(f)};
            add_loop(&s, o, ROLE_consumer);
            s.nconsumer = s.ops.n;
            if (roles)
                find_producer(&s, roles->regions[1]);
            if (s.producer)
                add_loop(&s, s.producer, ROLE_producer);
            run(&s);
            use(&s);
            continue;
        }
        for (int i = 0; i < o->nregions && (is_walked(o) || (o == roles && i == 0)); i++)
            visit(f, o->regions[i], roles, use);
    }
}

void loop_schedules(struct func *f, void (*use)(const struct loop_schedule *s))
{
    visit(f, f->body, func_roles(f), use);
}
