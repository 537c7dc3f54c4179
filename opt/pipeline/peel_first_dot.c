/* peel_first_dot.c: peels the first iteration of a loop, so that its dot starts the accumulator instead of adding to
 * zeros.
 *
 *     for %t = ... {                                      for %t = ... {
 *       %r = for %k = %lo to %hi ... carry(%s = 0) {        %e = if %lo < %hi {
 *         %d = wgmma %a, %b, %s                      =>       %d.1 = wgmma %a, %b, 0          reads no accumulator
 *         %w = dot_wait %d pending=1                          %w.1 = dot_wait %d.1 pending=1
 *         yield %w                                            %r = for %k = %lo + step to %hi ... carry(%s = %w.1) { ... }
 *       }                                                     %e.1 = dot_wait %r
 *       %e = dot_wait %r                                      yield %e.1
 *     }                                                     } else { yield 0 }
 *                                                         }
 *
 * Setting the accumulator to zero takes one instruction for each register, at a time when the tensor cores are idle:
 * between the last dot of one tile and the first dot of the next. The pass moves the first iteration in front of the
 * loop. There the accumulator is a constant, for which codegen needs no registers. If the loop has no iteration, the
 * other branch gives zeros; it stands behind the wait, because ptxas serializes dots if accumulator registers are set
 * while dots may be in flight.
 *
 * The ops between the loop and the wait behind it (sink.c) move along; the arrival that releases the last stage
 * stands directly behind the wait.
 *
 * The predicate scale-d, false in the first iteration, would be an alternative, but it would keep the accumulator's
 * registers live between two tiles. The pass applies only in loops over programs: code that runs once sets its zeros
 * before its first operands arrive. It applies only to short loops, of dots, scalars and branches without tile
 * results (overlap_epilogue.c), and not if another loop's dots continue the accumulator, again because of ptxas.
 * Needs: layouts. Leaves: dead ops. */
#include "opt/passes.h"
#include "opt/simplify/simplify.h"

/* A loop to peel, and the ops around it. */
struct peel {
    struct op *loop, *wait; /* wait: the dot_wait behind the loop, or NULL */
    struct arena *arena;
    VEC(struct op *) moved;  /* the ops between the loop and the wait */
    VEC(struct value *) out; /* their results that other ops use */
};

static bool is_in_loop(const struct op *o)
{
    for (const struct op *p = o->block->parent; p; p = p->block->parent)
        if (p->code == OP_for || p->code == OP_while)
            return true;
    return false;
}

static bool is_dot_or_scalar(const struct op *o)
{
    bool is_dot = o->code == OP_wgmma || o->code == OP_dot_wait;
    if (o->code == OP_for || o->code == OP_while || o->code == OP_async_copy || o->code == OP_barrier)
        return false;
    for (int i = 0; i < o->nresults && !is_dot; i++)
        if (type_is_tile(o->results[i].type))
            return false;
    return true;
}

/* Is the dot's accumulator zero before the first iteration, and has the zero no other use? */
static bool begins_sum(const struct op *loop, const struct op *o)
{
    uint64_t bits;
    const struct value *acc = o->code == OP_wgmma ? op_opnd(o, 2) : NULL;
    return acc && !acc->def && acc->block == loop->regions[0] && value_nuses(acc) == 1 &&
           value_const_bits(op_opnd(loop, 2 + acc->index), &bits) && bits == 0;
}

/* Does a dot behind the loop add to v? Then v must not be set to zero in between. */
static bool goes_on(const struct value *v)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct op *o = u->user;
        if (o->code == OP_for || o->code == OP_wgmma || (o->code == OP_dot_wait && goes_on(op_result(o))))
            return true;
    }
    return false;
}

static bool can_peel(const struct op *loop)
{
    bool begins = false;
    for (int i = 0; i < loop->nresults; i++)
        if (type_is_tile(loop->results[i].type) && goes_on(&loop->results[i]))
            return false;
    for (const struct op *o = loop->regions[0]->first; o; o = o->next) {
        if (!is_dot_or_scalar(o))
            return false;
        begins |= begins_sum(loop, o);
    }
    return begins && is_in_loop(loop);
}

static void run_always(struct op *either)
{
    struct block *runs = either->regions[0];
    while (runs->first != runs->last)
        op_move_before(runs->first, either);
    op_erase(either);
}

/* Folds the test for the first iteration, whose result is known now; arrivals and other effects for all but the first
 * iteration are kept or removed accordingly. */
static void fold_first_test(struct block *b, const struct value *count, const struct value *lo, bool first)
{
    for (struct op *next, *o = b->first; o; o = next) {
        next = o->next;
        int c = o->code == OP_mbar_arrive ? 1 : o->code == OP_if && o->nresults == 0 ? 0 : -1;
        const struct op *on = c >= 0 && op_opnd(o, c) ? op_opnd(o, c)->def : NULL;
        if (!on || on->code != OP_cmp || op_int(on, ATTR_pred) != PRED_ne || op_opnd(on, 0) != count ||
            op_opnd(on, 1) != lo)
            continue;
        if (first)
            op_erase(o);
        else if (o->code == OP_if)
            run_always(o);
        else
            op_set_opnd(o, 1, NULL);
    }
}

/* -- the ops behind the loop -- */

static bool is_number(const struct op *o)
{
    return is_pure(o) && o->nregions == 0 && o->nresults == 1 && op_result(o)->type->kind == TY_scalar;
}

static bool is_moved(const struct peel *p, const struct op *o)
{
    for (int i = 0; i < p->moved.n; i++)
        if (p->moved.at[i] == o)
            return true;
    return false;
}

/* Finds the wait for the last dots, and the scalars that are computed while these are in flight. */
static void find_wait(struct peel *p)
{
    struct op *o = p->loop->next;
    for (; is_number(o); o = o->next)
        VEC_PUSH(p->arena, &p->moved, o);
    if (o->code == OP_dot_wait && o->nopnds == 1 && op_opnd(o, 0)->def == p->loop &&
        value_nuses(op_opnd(o, 0)) == 1)
        p->wait = o;
    else
        p->moved.n = 0;
    for (int i = 0; i < p->moved.n; i++) {
        bool used = false;
        for (const struct use *u = op_result(p->moved.at[i])->uses; u; u = u->next)
            used |= !is_moved(p, u->user);
        if (used)
            VEC_PUSH(p->arena, &p->out, op_result(p->moved.at[i]));
    }
}

/* -- the rewrite -- */

/* Builds the first iteration at b; the loop then starts with the second. */
static void split(struct op *loop, struct builder *b)
{
    struct block *body = loop->regions[0];
    struct value *lo = op_opnd(loop, 0), *count = body->args.at[0];
    struct map copies;
    map_init(&copies, b->func->module->scratch);
    *map_at_ptr(&copies, count) = lo;
    for (int i = 0; i < loop->nresults; i++)
        *map_at_ptr(&copies, body->args.at[1 + i]) = op_opnd(loop, 3 + i);
    for (const struct op *o = body->first; o != body->last; o = o->next)
        op_clone(b, o, &copies);
    fold_first_test(b->block, lo, lo, true);
    fold_first_test(body, count, lo, false);
    b->loc = loop->loc;
    op_set_opnd(loop, 0, build_binary(b, OP_add, lo, op_opnd(loop, 2)));
    for (int i = 0; i < loop->nresults; i++)
        op_set_opnd(loop, 3 + i, value_mapped(&copies, op_opnd(body->last, i)));
}

/* Computes v at b by copies of the pure ops behind the loop. */
static struct value *compute_at(struct builder *b, struct map *copies, struct value *v,
                                const struct block *block)
{
    struct op *o = v->def;
    if (value_mapped(copies, v) != v || !o || o->block != block || !is_pure(o) || o->nregions)
        return value_mapped(copies, v);
    for (int i = 0; i < o->nopnds; i++)
        if (op_opnd(o, i))
            compute_at(b, copies, op_opnd(o, i), block);
    op_clone(b, o, copies);
    return value_mapped(copies, v);
}

/* Moves the arrival that is conditional on the loop having run to b, where the condition is true. An arrival behind
 * the next loop belongs to that loop, which may have the same bounds. */
static void move_arrival(struct peel *p, struct builder *b, struct op *either)
{
    struct map copies;
    map_init(&copies, p->arena);
    for (int i = 0; i < p->loop->nresults; i++)
        *map_at_ptr(&copies, &either->results[i]) = &p->loop->results[i];
    for (struct op *next, *o = either->next; o && o->code != OP_for && o->code != OP_while; o = next) {
        next = o->next;
        const struct op *on = o->code == OP_mbar_arrive && op_opnd(o, 1) ? op_opnd(o, 1)->def : NULL;
        const struct op *ran = op_opnd(either, 0)->def;
        if (!on || on->code != OP_cmp || op_int(on, ATTR_pred) != op_int(ran, ATTR_pred) ||
            op_opnd(on, 0) != op_opnd(ran, 0) || op_opnd(on, 1) != op_opnd(ran, 1))
            continue;
        struct op *arrive = op_clone(b, o, &copies);
        op_set_opnd(arrive, 1, NULL);
        struct builder before = build_before(arrive);
        op_set_opnd(arrive, 0, compute_at(&before, &copies, op_opnd(o, 0), o->block));
        op_erase(o);
    }
}

static void compute_numbers(const struct peel *p, struct builder *b, struct value **out)
{
    struct map copies;
    map_init(&copies, p->arena);
    for (int i = 0; i < p->moved.n; i++)
        op_clone(b, p->moved.at[i], &copies);
    for (int i = 0; i < p->out.n; i++)
        out[i] = value_mapped(&copies, p->out.at[i]);
}

static struct op *build_either(struct peel *p, int nloop)
{
    struct op *loop = p->loop;
    const struct type **types = NEW_ARRAY(p->arena, nloop + p->out.n + 1, const struct type *);
    struct builder b = build_before(loop);
    struct value *ran = loop_runs(&b, loop);
    for (int i = 0; i < nloop; i++)
        types[i] = loop->results[i].type;
    for (int i = 0; i < p->out.n; i++)
        types[nloop + i] = p->out.at[i]->type;
    return build_if(&b, ran, nloop + p->out.n, types);
}

/* Makes uses of the results of the loop, its wait and the moved scalars use the results of the `if`. */
static void replace_results(struct peel *p, struct op *either, int nloop)
{
    for (int i = 0; i < nloop; i++) {
        struct value *v = &p->loop->results[i];
        if (p->wait && op_opnd(p->wait, 0) == v)
            v = op_result(p->wait);
        value_replace(v, &either->results[i]);
        value_rename(&either->results[i], v->name);
    }
    for (int i = 0; i < p->out.n; i++) {
        value_replace(p->out.at[i], &either->results[nloop + i]);
        value_rename(&either->results[nloop + i], p->out.at[i]->name);
    }
    for (int i = p->moved.n - 1; i >= 0; i--)
        op_erase(p->moved.at[i]);
}

static void peel_perhaps(struct peel *p)
{
    struct op *loop = p->loop;
    int n = loop->nresults;
    struct op *either = build_either(p, n);
    struct value **x = NEW_ARRAY(p->arena, n + p->out.n + 1, struct value *);
    struct builder b = build_at_end(either->regions[1], loop->loc);
    for (int i = 0; i < n; i++)
        x[i] = op_opnd(loop, 3 + i);
    compute_numbers(p, &b, x + n);
    build_yield(&b, n + p->out.n, x);

    struct block *runs = either->regions[0];
    b = build_at_end(runs, loop->loc);
    split(loop, &b);
    op_move_to_end(loop, runs);
    compute_numbers(p, &b, x + n);
    replace_results(p, either, n);
    for (int i = 0; i < n; i++)
        x[i] = &loop->results[i];
    if (p->wait) {
        op_move_to_end(p->wait, runs);
        x[op_opnd(p->wait, 0)->index] = op_result(p->wait);
    }
    move_arrival(p, &b, either);
    build_yield(&b, n + p->out.n, x);
}

static void peel(struct op *loop)
{
    struct peel p = {.loop = loop, .arena = loop->block->func->module->scratch};
    int64_t lo, hi, by;
    opt_explain(loop->block->func, (struct explanation){DECISION_peeled, .at = loop});
    if (value_const_int(op_opnd(loop, 0), &lo) && value_const_int(op_opnd(loop, 1), &hi) &&
        value_const_int(op_opnd(loop, 2), &by) && (by < 0 ? lo > hi : lo < hi)) {
        struct builder b = build_before(loop);
        split(loop, &b);
        return;
    }
    find_wait(&p);
    peel_perhaps(&p);
}

static void visit(struct block *b)
{
    for (struct op *next, *o = b->first; o; o = next) {
        next = o->next;
        for (int i = 0; i < o->nregions; i++)
            visit(o->regions[i]);
        if (o->code == OP_for && can_peel(o))
            peel(o);
    }
}

void opt_peel_first_dot(struct func *f)
{
    visit(f->body);
}
