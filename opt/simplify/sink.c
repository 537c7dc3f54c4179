/* SPDX-License-Identifier: MIT */
/* sink.c: moves the computation of a value from before a loop to after the loop, if only code after the loop uses
 * the value.
 *
 *     %c = addptr %p, %o : tile<128x128xptr<f32>>        for %i = ... {
 *     for %i = ... {                                =>     ... (64 more registers are free) ...
 *       ...                                              }
 *     }                                                  %c = addptr %p, %o
 *     store %c, %x                                       store %c, %x
 *
 * A pure op moves to directly before its first user if a loop is between the two ops. The op's operands then
 * stay live throughout the loop, so the operands must take no more registers than the op's result. The pass
 * walks from the end of the block to its start, so that users move before the ops that compute their
 * operands. Ops do not move past a loop that waits for other programs (a lock), because the other programs
 * may wait for the code after that loop. If a dot is still in flight after the loop, scalars move before the
 * wait for this dot, so that threads compute them while the dot runs. Needs: layouts. */
#include "ir/target/fragments.h"
#include "opt/analysis/analysis.h"
#include "opt/passes.h"

struct sink {
    struct map place; /* maps an op to its position in the block; a moved op has its new position */
    /* maps an op to the number of loops before it in its block, except loops that wait for other programs */
    struct map loops;
    struct map along; /* the set of scalars that move together with their users, which are scalars too */
};

static int number_of(const struct map *m, const struct op *o)
{
    void **at = map_get_ptr(m, o);
    return at ? (int)(intptr_t)*at : 0;
}

static void set_number(struct map *m, const struct op *o, int n)
{
    *map_at_ptr(m, o) = (void *)(intptr_t)n;
}

/* Returns how many 32-bit registers of a thread hold v; 0 if codegen computes v from constants or from a scalar at
 * each use. */
static int regs_of(const struct value *v)
{
    enum { REGISTER_BITS = 32 };
    if (v->def && (v->def->code == OP_range || v->def->code == OP_const))
        return 0;
    if (v->def && v->def->code == OP_splat)
        v = op_opnd(v->def, 0);
    return tile_regs(v->type, v->block->func->num_warps, REGISTER_BITS);
}

/* Returns whether a is before b. (In s->place, an op that has moved to directly before another op has the
 * position of the other op.) */
static bool stands_before(const struct sink *s, const struct op *a, const struct op *b)
{
    int place = number_of(&s->place, a), other = number_of(&s->place, b);
    if (place != other)
        return place < other;
    while (a && a != b && number_of(&s->place, a) == place)
        a = a->next;
    return a == b;
}

static struct op *first_user(const struct sink *s, const struct op *o)
{
    struct op *first = NULL;
    for (int i = 0; i < o->nresults; i++)
        for (const struct use *u = o->results[i].uses; u; u = u->next) {
            struct op *user = op_ancestor_in(u->user, o->block);
            if (!first || stands_before(s, user, first))
                first = user;
        }
    return first;
}

/* Returns whether b is the body of a loop, and v is live throughout this loop, because v is defined outside
 * of the body or is the loop's counter. */
static bool lives_in_loop(const struct value *v, const struct block *b)
{
    const struct op *loop = b->parent;
    if (!loop || (loop->code != OP_for && loop->code != OP_while))
        return false;
    return (v->def ? v->def->block : v->block) != b || (!v->def && v->index == 0 && loop->code == OP_for);
}

/* Returns whether v is live throughout all loops before `user` even if no op moves, because an op after the
 * last of these loops uses v, or because v is live throughout a loop that contains `user`. */
static bool is_kept_for(const struct sink *s, const struct value *v, const struct op *user)
{
    if (lives_in_loop(v, user->block))
        return true;
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct op *o = op_ancestor_in(u->user, user->block);
        if (o && number_of(&s->loops, o) >= number_of(&s->loops, user))
            return true;
    }
    return false;
}

/* Returns how many more registers o's operands would occupy throughout the loop if o moved to directly before
 * `user`. */
static int cost_of(const struct sink *s, const struct op *o, const struct op *user)
{
    int regs = 0;
    for (int i = 0; i < o->nopnds; i++) {
        const struct value *v = op_opnd(o, i);
        if (v && v->type->kind != TY_shared && !is_kept_for(s, v, user))
            regs += regs_of(v);
    }
    return regs;
}

static bool can_move(const struct op *o)
{
    return is_pure(o) && o->nregions == 0 && o->nresults == 1 && !op_has(o, TERMINATOR) &&
           o->code != OP_convert && o->code != OP_dot && op_result(o)->type->kind != TY_shared;
}

static bool is_source(const struct op *o)
{
    return o->code == OP_range || o->code == OP_const || o->code == OP_splat;
}

static bool is_loop(const struct op *o)
{
    return o->code == OP_for || o->code == OP_while;
}

static void find_wait(struct op *o, void *ctx)
{
    *(bool *)ctx |= op_may_acquire(o);
}

/* Returns whether the loop may wait for other programs. */
static bool waits_for_others(struct op *loop)
{
    bool waits = false;
    for (int i = 0; loop->code == OP_while && i < loop->nregions; i++)
        block_walk(loop->regions[i], find_wait, &waits);
    return waits;
}

/* Returns whether an op may move to before `wait`, a wait for a dot. If the dot reads operand a from
 * registers, the moved op must not overwrite these registers before the wait. The registers are safe if
 * operand a is an operand of the wait too, and so stays live. If the dot reads operand a from shared memory,
 * the moved op can overwrite nothing. */
static bool keeps_operand(const struct op *wait)
{
    const struct op *dot = op_opnd(wait, 0)->def;
    return !dot || !starts_dot(dot) || op_opnd(dot, DOT_a)->type->kind == TY_shared || wait->nopnds > 1;
}

/* Returns the op before which o moves: `user` or, for scalars, the first wait for a dot between the last loop and
 * `user`. */
static struct op *place_of(const struct op *o, struct op *user)
{
    struct op *at = user;
    if (type_is_tile(op_result(o)->type))
        return at;
    for (struct op *p = user->prev; p && !is_loop(p); p = p->prev)
        at = p->code == OP_mma_wait && keeps_operand(p) ? p : at;
    return at;
}

static void move(struct sink *s, struct op *o, struct op *user)
{
    struct op *at = place_of(o, user);
    op_move_before(o, at);
    set_number(&s->place, o, number_of(&s->place, at));
    set_number(&s->loops, o, number_of(&s->loops, at));
    opt_explain(o->block->func, &(struct explanation){DECISION_sunk, .at = o, .values = {op_result(o)}});
}

static void sink_op(struct sink *s, struct op *o)
{
    struct op *user = can_move(o) ? first_user(s, o) : NULL;
    if (!user || number_of(&s->loops, user) == number_of(&s->loops, o) ||
        (!is_source(o) && cost_of(s, o, user) > regs_of(op_result(o))))
        return;
    move(s, o, user);
}

/* -- moving scalars together with their operands -- */

static bool goes_along(const struct sink *s, const struct op *o)
{
    return map_get_ptr(&s->along, o) && *map_get_ptr(&s->along, o);
}

/* Returns whether o is a scalar, and each user of o either is after the next loop, or is a scalar that will
 * move to after the next loop (goes_along). */
static bool is_wanted_behind(const struct sink *s, const struct op *o)
{
    bool wanted = can_move(o) && !type_is_tile(op_result(o)->type) && op_result(o)->uses;
    for (const struct use *u = wanted ? op_result(o)->uses : NULL; u; u = u->next) {
        const struct op *user = op_ancestor_in(u->user, o->block);
        wanted &= goes_along(s, user) || number_of(&s->loops, user) > number_of(&s->loops, o);
    }
    return wanted;
}

/* Returns whether o's result takes at least as many registers as those operands of o that would stay live
 * only because o moves. */
static bool pays_along(const struct sink *s, const struct op *o)
{
    int regs = 0;
    for (int i = 0; i < o->nopnds; i++) {
        const struct value *v = op_opnd(o, i);
        if (v && !(v->def && goes_along(s, v->def)) && !is_kept_for(s, v, o->block->last))
            regs += regs_of(v);
    }
    return regs <= regs_of(op_result(o));
}

/* Moves whole expressions of scalars. In `a % b - a / b`, no op alone would move: `-` would keep two values live
 * instead of one, and `%` and `/` stay because their user `-` stays. But if a and b stay live for other ops
 * in any case, moving the whole expression keeps no more values live. */
static void sink_numbers(struct sink *s, struct block *b)
{
    for (struct op *o = b->last; o; o = o->prev)
        if (is_wanted_behind(s, o))
            *map_at_ptr(&s->along, o) = o;
    for (bool changed = true; changed;) {
        changed = false;
        for (struct op *o = b->last; o; o = o->prev)
            if (goes_along(s, o) && !(is_wanted_behind(s, o) && pays_along(s, o))) {
                *map_at_ptr(&s->along, o) = NULL;
                changed = true;
            }
    }
    for (struct op *prev, *o = b->last; o; o = prev) {
        prev = o->prev;
        if (goes_along(s, o))
            move(s, o, first_user(s, o));
    }
}

/* Returns whether a dot may be in flight after a loop of block b: whether a wait for a dot follows a loop. */
static bool ends_with_wait(const struct block *b)
{
    const struct op *loop = NULL;
    for (const struct op *o = b->first; o; o = o->next) {
        loop = is_loop(o) ? o : loop;
        if (loop && o->code == OP_mma_wait)
            return true;
    }
    return false;
}

static void visit(struct sink *s, struct block *b)
{
    int place = 0, loops = 0;
    for (struct op *o = b->first; o; o = o->next) {
        set_number(&s->place, o, ++place);
        set_number(&s->loops, o, loops);
        loops += is_loop(o) && !waits_for_others(o);
    }
    for (struct op *prev, *o = b->last; o; o = prev) {
        prev = o->prev;
        for (int i = 0; i < o->nregions; i++)
            visit(s, o->regions[i]);
        if (loops)
            sink_op(s, o);
    }
    if (ends_with_wait(b))
        sink_numbers(s, b);
}

void opt_sink(struct func *f)
{
    struct sink s = {0};
    map_init(&s.place, f->module->scratch);
    map_init(&s.loops, f->module->scratch);
    map_init(&s.along, f->module->scratch);
    visit(&s, f->body);
}
