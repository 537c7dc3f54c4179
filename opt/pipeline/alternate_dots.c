/* SPDX-License-Identifier: MIT */
/* alternate_dots.c: starts the only dot of a loop one iteration early, so that the dot runs during the arithmetic on
 * the previous dot's result. The results of consecutive dots alternate between two sets of registers.
 *
 *     for %k = %lo to %hi step %s carry(%sum) {       %r = if %lo < %hi {
 *       mbar_wait %full[%k]                             mbar_wait %full[%lo]; %d = mma_start %a[%lo], %b[%lo], 0
 *       %d = mma_start %a[%k], %b[%k], 0                for %k = %lo to %hi - 2 %s step 2 %s carry(%sum, %d) {
 *       %w = mma_wait %d                                  mbar_wait %full[%k + %s]; %e = mma_start %a[%k + %s], ...
 *       mbar_arrive %empty[%k]                            %w = mma_wait %d pending=1; mbar_arrive %empty[%k]
 *       %next = %sum + %w * %scale         =>             %next = %sum + %w * %scale
 *       yield %next                                       mbar_wait %full[%k + 2 %s]; %d.1 = mma_start ...
 *     }                                                   %w.1 = mma_wait %e pending=1; mbar_arrive %empty[%k + %s]
 *                                                         %next.1 = %next + %w.1 * %scale.1
 *                                                         yield %next.1, %d.1
 *                                                       }
 *                                                       the last iteration or the last two, without a further dot
 *                                                     } else { yield %sum }
 *
 * The pass divides an iteration into two parts. The early part contains the dot, the mbar_waits before
 * the dot, and the ops that compute operands of the dot or of these waits. The late part contains all other
 * ops. The loop carries the values of the early part that the late part uses, among them the result of the
 * dot in flight. A pair of iterations of the old loop becomes one iteration of the new loop. If the new loop
 * had only one copy of the body, it would have to move the result of the dot in flight to other registers,
 * and ptxas would insert a wait for the dot there.
 *
 * If the pointer of a load advances linearly with the loop's counter, the new loop carries the pointer
 * (carry_pointers), so that the loads of both iterations use one pointer. The loads of the second iteration
 * move up to the loads of the first iteration (gather_loads).
 *
 * The pass rewrites a loop if
 * - the early part uses no value of the late part, and the dot's accumulator starts as a constant;
 * - a producer, or code outside of the loop, fills the buffers that the dot reads, and the ring has enough stages;
 * - the late part has no side effects other than the wait for the dot, arrivals at mbarriers, and loads;
 * - a thread has registers for both dots and for the values that the loop carries (alternate_dots_arithmetic_regs);
 * - the loop counts up from a constant that is not negative, so that %hi - 2 %s does not overflow.
 * Needs: layouts. Leaves: dead ops. */
#include "ir/support/map.h"
#include "ir/target/target.h"
#include "opt/analysis/analysis.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"
#include "opt/pipeline/pipeline.h"
#include "opt/pipeline/rotate_loads.h"
#include "opt/simplify/simplify.h"

enum {
    DOTS = 2 /* dots in flight at the same time */,
    ACC = 2 /* the operand of a dot that is its accumulator */
};

struct alternation {
    struct arena *arena;
    struct op *loop;
    struct block *body;
    int64_t step;
    struct op *dot, *wait;
    struct map early;             /* the ops and the carried arguments of the early part */
    VEC(struct value *) crossing; /* the values of the early part that the late part uses */
    struct value **carried;       /* while a part is built: the current values of the carried arguments */
};

static bool is_early(const struct alternation *a, const void *x)
{
    return map_get_ptr(&a->early, x) != NULL;
}

/* -- whether the pass rewrites the loop -- */

/* Returns whether o is pure, or has only a side effect that is allowed at its place. Sets a->dot or a->wait
 * if o is the dot or the wait for the dot. */
static bool fits_here(struct alternation *a, struct op *o)
{
    switch (o->code) {
    case OP_mbar_wait:
        return !a->dot && op_result(buffer_alloc(op_opnd(o, 0), NULL))->type->nstages >=
                              a->body->func->module->params->alternate_dots_stages_least;
    case OP_mbar_arrive: return a->wait;
    case OP_load: return !op_int(o, ATTR_volatile);
    case OP_mma_start:
        if (a->dot)
            return false;
        a->dot = o;
        return true;
    case OP_mma_wait:
        if (a->wait || !a->dot || o->nopnds != 1 || op_opnd(o, 0) != op_result(a->dot))
            return false;
        a->wait = o;
        return true;
    default: return is_pure(o);
    }
}

static bool has_one_dot(struct alternation *a)
{
    for (struct op *o = a->body->first; o != a->body->last; o = o->next)
        if (!fits_here(a, o))
            return false;
    return a->wait && value_nuses(op_result(a->dot)) == 1;
}

/* Returns whether v is a buffer that no thread writes inside the loop. */
static bool is_filled(const struct alternation *a, const struct value *v)
{
    return v->type->kind == TY_shared && (value_is_outside(v, a->loop) || v->def->code == OP_shared_stage);
}

static bool starts_anew(const struct alternation *a)
{
    const struct value *acc = op_opnd(a->dot, ACC);
    return acc->def && acc->def->code == OP_const && is_filled(a, op_opnd(a->dot, 0)) &&
           is_filled(a, op_opnd(a->dot, 1));
}

static bool counts_up(struct alternation *a)
{
    int64_t lo;
    return value_const_int(op_opnd(a->loop, 0), &lo) && lo >= 0 &&
           value_const_int(op_opnd(a->loop, 2), &a->step) && a->step > 0;
}

static bool has_registers(const struct alternation *a)
{
    const struct func *f = a->loop->block->func;
    int needed = f->module->params->alternate_dots_arithmetic_regs +
                 DOTS * tile_regs(op_result(a->dot)->type, f->num_warps, 0);
    for (int i = 0; i < a->loop->nresults; i++)
        if (type_is_tile(a->loop->results[i].type) && !type_is_ptr(a->loop->results[i].type))
            needed += tile_regs(a->loop->results[i].type, f->num_warps, 0);
    return needed <= consumer_regs(f);
}

/* Marks as early v and all values of the loop from which v is computed. */
static void mark(struct alternation *a, struct value *v)
{
    void *x = v && v->def ? (void *)v->def : v;
    const bool is_here = v && (v->def ? v->def->block : v->block) == a->body;
    if (!is_here || is_early(a, x) || v == a->body->args.at[0])
        return;
    *map_at_ptr(&a->early, x) = x;
    if (!v->def)
        mark(a, op_opnd(a->body->last, v->index - 1));
    for (int i = 0; v->def && i < v->def->nopnds; i++)
        mark(a, op_opnd(v->def, i));
}

static bool is_split(struct alternation *a)
{
    for (struct op *o = a->body->first; o != a->wait; o = o->next)
        if (o->code == OP_mbar_wait || o == a->dot) {
            *map_at_ptr(&a->early, o) = o;
            for (int i = 0; i < o->nopnds; i++)
                mark(a, op_opnd(o, i));
        }
    for (struct op *o = a->body->first; o != a->body->last; o = o->next)
        if ((o->code == OP_load || o == a->wait) && is_early(a, o))
            return false;
    return true;
}

/* -- the rewrite -- */

static void note_crossing(struct alternation *a, struct value *v, struct map *seen)
{
    if (!v || map_get_ptr(seen, v) || !is_early(a, v->def ? (void *)v->def : v))
        return;
    *map_at_ptr(seen, v) = v;
    VEC_PUSH(a->arena, &a->crossing, v);
}

static void find_crossing(struct alternation *a)
{
    struct map seen;
    map_init(&seen, a->arena);
    for (struct op *o = a->body->first; o; o = o->next)
        for (int i = 0; !is_early(a, o) && i < o->nopnds; i++)
            if (o != a->body->last || !is_early(a, a->body->args.at[1 + i]))
                note_crossing(a, op_opnd(o, i), &seen);
}

/* Builds the early or the late part of the iteration whose counter is k. On entry a->carried holds the values
 * of the loop's carried arguments. For the arguments of the part that it builds, the function replaces these
 * values by the values that the iteration yields. The early part writes the crossing values to `dot`, and the
 * late part reads them from `dot`. `pending` is the number of dots that may stay in flight after the wait of
 * the late part. */
static void build_part(struct alternation *a, struct builder *b, bool early, struct value *k,
                       struct value **dot, int pending)
{
    struct map map;
    map_init(&map, a->arena);
    *map_at_ptr(&map, a->body->args.at[0]) = k;
    for (int i = 0; i < a->loop->nresults; i++)
        *map_at_ptr(&map, a->body->args.at[1 + i]) = a->carried[i];
    for (int i = 0; !early && i < a->crossing.n; i++)
        *map_at_ptr(&map, a->crossing.at[i]) = dot[i];
    for (struct op *o = a->body->first; o != a->body->last; o = o->next) {
        if (is_early(a, o) != early)
            continue;
        struct op *copy = op_clone(b, o, &map);
        if (o == a->wait)
            op_set_int(copy, ATTR_pending, pending);
    }
    for (int i = 0; early && i < a->crossing.n; i++)
        dot[i] = value_mapped(&map, a->crossing.at[i]);
    for (int i = 0; i < a->loop->nresults; i++)
        if (is_early(a, a->body->args.at[1 + i]) == early)
            a->carried[i] = value_mapped(&map, op_opnd(a->body->last, i));
}

/* The early part of iteration k is already built; `dot` holds its crossing values. Builds the early part of
 * the next iteration, and then the late part of iteration k. Sets `next` to the crossing values of the next
 * iteration. Returns the counter of the next iteration. */
static struct value *build_step(struct alternation *a, struct builder *b, struct value *k, struct value **dot,
                                struct value **next)
{
    struct value *then = build_binary(b, OP_add, k, op_opnd(a->loop, 2));
    build_part(a, b, true, then, next, 0);
    build_part(a, b, false, k, dot, DOTS - 1);
    return then;
}

/* -- the loads of a pair -- */

/* Moves the pure ops that read v to the place before `at`, and then the pure ops that read the results of
 * moved ops. Ops that cannot move there stay where they are. */
static void move_readers(const struct value *v, struct op *at)
{
    for (const struct use *next, *u = v->uses; u; u = next) {
        struct op *o = u->user;
        next = u->next;
        if (o->block != at->block || !is_pure(o) || !op_can_move(o, at))
            continue;
        op_move_with_operands(o, at);
        move_readers(op_result(o), at);
    }
}

/* The op `second` is the first op of a pair's second iteration. Moves the loads of this iteration to the
 * place before the last load of the first iteration. The reason: ptxas often gives all loads of a loop the
 * same scoreboard, so that the first reader of a loaded value also waits for the newest load. Each moved load
 * replaces a carried value. The readers of the carried value move to the place before the first iteration's
 * wait for a dot. codegen/schedule.c moves no instruction across this wait, so the load can write the
 * registers of the carried value. */
static void gather_loads(struct op *second)
{
    enum { MOST = 32 };
    struct op *wait = NULL, *last = NULL, *loads[MOST];
    int n = 0;
    for (struct op *o = second->block->first; o != second; o = o->next) {
        wait = o->code == OP_mma_wait ? o : wait;
        last = o->code == OP_load ? o : last;
    }
    for (struct op *o = second; o && last && n < MOST; o = o->next)
        if (o->code == OP_load && value_replaced_by(o) && op_can_move(o, last))
            loads[n++] = o;
    for (int i = 0; i < n; i++) {
        move_readers(value_replaced_by(loads[i]), wait);
        op_move_with_operands(loads[i], last);
    }
}

/* Builds the loop over pairs of iterations. x holds the carried values, the crossing values, and the counter
 * of the iteration whose late part comes next. On entry, these are the values before the loop; on
 * return, the values after the loop. `other` has room for the crossing values of a second iteration. */
static void build_pairs(struct alternation *a, struct builder *b, struct value **x, struct value **other)
{
    const int n = a->loop->nresults, all = n + a->crossing.n + 1;
    struct value *step = op_opnd(a->loop, 2), *two = build_binary(b, OP_add, step, step);
    struct value *end = build_binary(b, OP_sub, op_opnd(a->loop, 1), two);
    struct op *pairs = build_for(b, op_opnd(a->loop, 0), end, two, all, x);
    struct block *body = pairs->regions[0];
    struct builder in = build_at_end(body, a->loop->loc);
    for (int i = 0; i < all; i++)
        x[i] = body->args.at[1 + i];
    x[all - 1] = build_step(a, &in, body->args.at[0], x + n, other);
    struct op *first = body->last;
    x[all - 1] = build_step(a, &in, x[all - 1], other, x + n);
    build_yield(&in, all, x);
    gather_loads(first->next);
    for (int i = 0; i < all; i++)
        x[i] = &pairs->results[i];
}

/* Builds the one or two iterations that remain after the loop over pairs. Returns the `if` that chooses
 * between two iterations and one. The results of this `if` are the results of the old loop. */
static struct op *build_rest(struct alternation *a, struct builder *b, struct value **x, struct value **other)
{
    const int n = a->loop->nresults;
    struct value *k = x[n + a->crossing.n];
    struct value *left = build_binary(b, OP_sub, op_opnd(a->loop, 1), k);
    struct op *rest = build_if_like(b, a->loop, build_cmp(b, PRED_sgt, left, op_opnd(a->loop, 2)));
    a->carried = NEW_ARRAY(a->arena, n + 1, struct value *);
    for (int arm = 0; arm < 2; arm++) {
        struct builder in = build_at_end(rest->regions[arm], a->loop->loc);
        for (int i = 0; i < n; i++)
            a->carried[i] = x[i];
        struct value *last = arm ? k : build_step(a, &in, k, x + n, other);
        build_part(a, &in, false, last, arm ? x + n : other, 0);
        build_yield(&in, n, a->carried);
    }
    return rest;
}

static void rewrite(struct alternation *a)
{
    struct op *loop = a->loop;
    const int n = loop->nresults, all = n + a->crossing.n + 1;
    struct value **x = NEW_ARRAY(a->arena, all, struct value *);
    struct value **other = NEW_ARRAY(a->arena, all, struct value *);
    struct op *either = build_either(loop);
    struct builder b = build_at_end(either->regions[0], loop->loc);
    for (int i = 0; i < n; i++)
        x[i] = op_opnd(loop, 3 + i);
    x[all - 1] = op_opnd(loop, 0);
    a->carried = x;
    build_part(a, &b, true, x[all - 1], x + n, 0);
    build_pairs(a, &b, x, other);
    struct op *rest = build_rest(a, &b, x, other);
    for (int i = 0; i < n; i++) {
        x[i] = &rest->results[i];
        value_replace(&loop->results[i], &either->results[i]);
        value_take_name(&either->results[i], &loop->results[i]);
    }
    build_yield(&b, n, x);
    op_erase(loop);
}

/* Initializes *a for the loop, and finds the dot and the early part. Returns false if the pass cannot rewrite
 * the loop. */
static bool plan(struct alternation *a, struct op *loop)
{
    *a = (struct alternation){
        .arena = loop->block->func->module->scratch, .loop = loop, .body = loop->regions[0]};
    map_init(&a->early, a->arena);
    if (!counts_up(a) || !has_one_dot(a) || !starts_anew(a) || !has_registers(a))
        return false;
    hoist_constants(loop);
    return is_split(a);
}

/* -- pointers -- */

/* Sets *step to the difference between the values of v in two consecutive iterations; builds, at b, the ops
 * that compute this difference. If v is defined outside the loop, sets *step to NULL. Returns true in both
 * cases. Returns false if this function does not find v to be a linear function of the loop's counter, or if
 * the search would visit more than *budget operands. */
static bool find_step(struct op *loop, struct builder *b, struct value *v, struct value **step, int *budget)
{
    enum { LEFT = 1, RIGHT = 2 };
    const struct op *o = v ? v->def : NULL;
    struct map steps;
    int varying = 0;
    *step = v == loop->regions[0]->args.at[0] ? op_opnd(loop, 2) : NULL;
    if (*step || (v && value_is_outside(v, loop)))
        return true;
    map_init(&steps, b->func->module->scratch);
    for (int i = 0; o && i < o->nopnds; i++) {
        struct value *x;
        if (i > 1 || --*budget < 0 || !find_step(loop, b, op_opnd(o, i), &x, budget))
            return false;
        if (!x)
            continue;
        *map_at_ptr(&steps, op_opnd(o, i)) = *step = x;
        varying |= LEFT << i;
    }
    const bool both = varying == (LEFT | RIGHT);
    if (!varying || (both && o->code != OP_add))
        return false;
    if (o->code == OP_addptr || (o->code == OP_add && !both))
        return true;
    if (o->code != OP_add && o->code != OP_mul && !(o->code == OP_shl && varying == LEFT) &&
        !passes_registers(o))
        return false;
    const struct type *elem = type_elem((*step)->type); /* the step of a pointer is an integer */
    *step = op_result(op_clone(b, o, &steps));
    value_set_type(*step, type_with_elem(b->func->module, (*step)->type, elem));
    return true;
}

/* Makes the loop carry the pointers from which the loop loads, if these pointers are linear functions of the loop's
 * counter. The two iterations of a pair then load from one pointer with different offsets, and need no
 * multiplications to compute addresses. Returns the new loop. */
static struct op *carry_pointers(struct op *loop)
{
    enum { MOST = 8, OPS_MOST = 64 };
    struct value *old[MOST], *steps[MOST], *x[MOST];
    struct builder b = build_before(loop);
    struct map first;
    int n = 0;
    hoist_constants(loop);
    map_init(&first, b.func->module->scratch);
    *map_at_ptr(&first, loop->regions[0]->args.at[0]) = op_opnd(loop, 0);
    for (struct op *o = loop->regions[0]->first; o && n < MOST; o = o->next)
        if (o->code == OP_load && find_step(loop, &b, op_opnd(o, 0), &steps[n], &(int){OPS_MOST}) &&
            steps[n]) {
            old[n] = op_opnd(o, 0);
            x[n++] = value_clone(&b, &first, op_opnd(o, 0));
        }
    const int nold = loop->nresults;
    struct op *carrying = loop_carry(loop, NULL, n, x);
    op_erase(loop);
    b = build_before(carrying->regions[0]->last);
    for (int i = 0; i < n; i++) {
        struct value *ptr = carrying->regions[0]->args.at[1 + nold + i];
        value_replace(old[i], ptr);
        x[i] = build_binary(&b, OP_addptr, ptr, steps[i]);
    }
    loop_yield(carrying, n, x);
    return carrying;
}

/* Rewrites o if o is a loop that the pass can rewrite. pipeline_loops.c has moved loads of vectors one
 * iteration ahead. With two dots in flight, an iteration takes less time than such a load, so the pass first
 * moves these loads ahead by another iteration. */
static void visit(struct op *o, void *ctx)
{
    struct alternation a;
    (void)ctx;
    if (o->code != OP_for || !plan(&a, o) ||
        !plan(&a, carry_pointers(rotate_loads(o, a.step, false, ROTATES_vectors))))
        return;
    opt_explain(a.loop->block->func,
                &(struct explanation){DECISION_alternates, .at = a.dot, .values = {op_result(a.wait)}});
    find_crossing(&a);
    rewrite(&a);
}

void opt_alternate_dots(struct func *f)
{
    func_walk(f, visit, NULL);
}
