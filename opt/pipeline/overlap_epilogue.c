/* SPDX-License-Identifier: MIT */
/* overlap_epilogue.c: overlaps the store of a program's tile with the dots of the next program.
 *
 *     for %t = cta_id to %n step cta_count {       for %t = ... carry(%x0 = 0, %x1 = 0, %i = 0, %due = 2) {
 *       %r = for %k = ... {                          %r, %next = for %k = ... carry(..., %p = %due) {
 *         %d = mma_start ...                           %d = mma_start ...
 *                                                      if %k != %lo { if %p < 2 { piece %p } }
 *         %w = mma_wait %d pending=1                   %w = mma_wait %d pending=1
 *         ...                                          ..., %p + 1
 *       }                                            }
 *       %e = mma_wait %r                      =>     %e = mma_wait %r
 *                                                    for %p = %next to 2 { piece %p }   the loop over K was too short
 *       %a, %b = ... %e ...                          %a, %b = ... %e ...
 *       bulk_wait pending=1 read=1                   yield %a, %b, %j, -1
 *       %s = to_shared %a, %stage0                 }
 *       tensor_put %s, %j                          for %p = %due to 2 { piece %p }      of the last program
 *       bulk_wait pending=1 read=1
 *       %s = to_shared %b, %stage1                 piece 0:  %s = to_shared %x0, %stage0   piece 1:  ... %x1, %stage1
 *       tensor_put %s, %j + 64                               bulk_wait read=1                       ...
 *     }                                                      tensor_put %s, %i                      ... %i + 64
 *
 * Tensor cores idle between the last dot of one program and the first dot of the next program, so the threads
 * should do little work between these dots. The pass leaves only the rounding of the accumulator between
 * them. The rounded tile stays in registers, divided into pieces. The iterations of the next program's loop
 * over K each store one piece while their dot runs, except the first iteration. In the figure, %p is the
 * number of the next piece. It starts as %due. In the first program, %due is 2, the number of pieces, because
 * no piece is left to store. In later programs, %due is -1, so that %p is 0 after the first iteration.
 *
 * The pieces alternate between two stages of a buffer. Before threads copy a piece to memory, they wait until the copy
 * of the previous piece has read the other stage, and then pass a barrier. After this barrier, all threads
 * also know that the next piece may overwrite the other stage. So each piece needs only one barrier.
 *
 * Needs: layouts, roles, and tiles whose pieces each warpgroup stores independently of the other warpgroups.
 * The accumulator, the rounded tile and the addresses must fit into a thread's registers. */
#include "opt/analysis/analysis.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"
#include "opt/pipeline/pipeline.h"
#include "opt/simplify/simplify.h"

enum { NSTAGES = 2, STEP_BYTES = 32 /* bytes of K that one instruction of a dot multiplies */ };

struct piece {
    struct op *wait, *stage, *put; /* bulk_wait, to_shared, tensor_put */
};

struct epilogue {
    struct arena *arena;
    struct op *tiles, *loop; /* the loop over programs, and the loop over K */
    int ndots;
    VEC(struct piece) pieces;
    VEC(struct value *) carried; /* the pieces, followed by their coordinates in memory */
};

/* -- the ops of the pattern -- */

static void look_at(struct op *o, void *ctx)
{
    struct epilogue *d = ctx;
    d->ndots += starts_dot(o);
    if (o->code == OP_mma_wait && op_int(o, ATTR_pending) == 1)
        d->loop = o->block->parent;
}

/* Finds the loop over programs, and inside it the loop over K. The loop over K must contain the consumers'
 * only dot and leave this dot in flight. Returns false if there are no such loops. */
static bool find_loops(struct epilogue *d, const struct op *roles)
{
    for (struct op *o = roles->regions[0]->first; o; o = o->next)
        if (is_over_programs(o))
            d->tiles = o;
    block_walk(roles->regions[0], look_at, d);
    return d->tiles && d->loop && d->loop->code == OP_for && d->loop->block->parent == d->tiles &&
           d->ndots == 1;
}

/* Finds the stores of pieces after the loop over K. Returns false if there are fewer than two pieces, or if
 * another op is in the way: before the pieces, only pure ops, loads, waits for dots and arrivals are allowed;
 * between and after the pieces, only pure ops. */
static bool find_pieces(struct epilogue *d)
{
    struct piece p = {0};
    for (struct op *o = d->loop->next; o != d->tiles->regions[0]->last; o = o->next) {
        if (o->code == OP_bulk_wait && !p.wait) {
            p.wait = o;
        } else if (o->code == OP_to_shared && p.wait && !p.stage && value_nuses(op_result(o)) == 1) {
            p.stage = o;
        } else if (o->code == OP_tensor_put && p.stage && op_opnd(o, 0) == op_result(p.stage) &&
                   op_attr(o, ATTR_group)) {
            p.put = o;
            VEC_PUSH(d->arena, &d->pieces, p);
            p = (struct piece){0};
        } else if (!is_pure(o) &&
                   (p.wait || d->pieces.n ||
                    (o->code != OP_mma_wait && o->code != OP_mbar_arrive && o->code != OP_load))) {
            return false;
        }
    }
    return d->pieces.n >= NSTAGES && !p.wait;
}

/* Returns whether the pieces alternate between two stages of one buffer. */
static bool alternate_stages(const struct epilogue *d)
{
    const struct op *buf = NULL;
    for (int i = 0; i < d->pieces.n; i++) {
        struct value *stage = NULL, *to = op_opnd(d->pieces.at[i].stage, 1);
        int64_t number;
        const struct op *alloc = to ? buffer_alloc(to, &stage) : NULL;
        if (!alloc || (buf && alloc != buf) || op_result(alloc)->type->nstages != NSTAGES || !stage ||
            !value_const_int(stage, &number) || number != i % NSTAGES)
            return false;
        buf = alloc;
    }
    return d->pieces.n % NSTAGES == 0;
}

static bool fits(const struct epilogue *d, const struct op *roles)
{
    const struct attr *given = op_attr(roles, ATTR_regs);
    const struct func *f = roles->block->func;
    const struct params *params = f->module->params;
    int regs = params->overlap_epilogue_other_regs;
    for (const struct op *o = d->loop->regions[0]->first; o; o = o->next)
        if (starts_dot(o)) {
            const struct type *a = op_opnd(o, 0)->type;
            regs += params->overlap_epilogue_step_regs * a->shape[1] * type_elem_bytes(a) / STEP_BYTES;
        }
    for (int i = 0; i < d->pieces.n; i++)
        regs += tile_regs(op_opnd(d->pieces.at[i].stage, 0)->type, f->num_warps, 0);
    for (int i = 0; i < d->loop->nresults; i++)
        if (type_is_tile(d->loop->results[i].type))
            regs += tile_regs(d->loop->results[i].type, f->num_warps, 0);
    return given && regs <= given->list[0];
}

/* -- the coordinates of pieces -- */

/* Splits v into a value and a constant, the sum of which is v. Returns the value, and sets *more to the
 * constant. */
static struct value *root_of(struct value *v, int64_t *more)
{
    int64_t c;
    *more = 0;
    while (v->def && v->def->code == OP_add && value_const_int(op_opnd(v->def, 1), &c)) {
        *more += c;
        v = op_opnd(v->def, 0);
    }
    return v;
}

static int find_carried(const struct epilogue *d, const struct value *v)
{
    for (int i = 0; i < d->carried.n; i++)
        if (d->carried.at[i] == v)
            return i;
    return -1;
}

/* Lists the values that the loop over programs must carry to the next program: the pieces, and the
 * coordinates that are computed inside the loop. */
static void find_all_carried(struct epilogue *d)
{
    int64_t more;
    for (int i = 0; i < d->pieces.n; i++)
        VEC_PUSH(d->arena, &d->carried, op_opnd(d->pieces.at[i].stage, 0));
    for (int i = 0; i < d->pieces.n; i++)
        for (int k = 1; k < d->pieces.at[i].put->nopnds; k++) {
            struct value *root = root_of(op_opnd(d->pieces.at[i].put, k), &more);
            if (!value_is_outside(root, d->tiles) && find_carried(d, root) < 0)
                VEC_PUSH(d->arena, &d->carried, root);
        }
}

/* -- the rewrite -- */

/* Builds the store of piece i. `now` holds the pieces of the tile and their coordinates, in the order of
 * d->carried. */
static void build_piece(struct builder *b, const struct epilogue *d, struct value *const *now, int i)
{
    const struct piece *p = &d->pieces.at[i];
    struct value *stage, *buf = op_result(buffer_alloc(op_opnd(p->stage, 1), &stage)), *x[1 + RANK_MAX];
    const struct type *t = op_result(p->stage)->type;
    stage = build_binary(b, OP_shared_stage, buf, build_const_i32(b, i % NSTAGES));
    x[0] = op_result(build_op(b, OP_to_shared, 2, (struct value *[]){now[i], stage}, 1, &t, 0));
    struct op *wait = build_op(b, OP_bulk_wait, 0, NULL, 0, NULL, 0);
    op_set_int(wait, ATTR_read, 1);
    op_set_int(wait, ATTR_group, op_int(p->put, ATTR_group));
    for (int k = 1; k < p->put->nopnds; k++) {
        int64_t more;
        struct value *root = root_of(op_opnd(p->put, k), &more);
        int at = find_carried(d, root);
        x[k] = at < 0 ? root : now[at];
        if (more)
            x[k] = build_binary(b, OP_add, x[k], build_const_int(b, root->type, more));
    }
    struct op *put = build_op(b, OP_tensor_put, p->put->nopnds, x, 0, NULL, 0);
    for (int k = 0; k < p->put->nattrs; k++)
        op_set_int(put, p->put->attrs[k].key, p->put->attrs[k].i);
}

/* Builds a binary tree of branches, which stores piece number `which`. The number `which` is at least `first` and
 * below `end`. */
static void build_one_of(struct builder *b, const struct epilogue *d, struct value *const *now,
                         struct value *which, int first, int end)
{
    if (end - first == 1) {
        build_piece(b, d, now, first);
        return;
    }
    int middle = (first + end) / 2;
    struct op *either = build_if(b, build_cmp(b, PRED_slt, which, build_const_i32(b, middle)), 0, NULL);
    for (int i = 0; i < 2; i++) {
        struct builder in = build_at_end(either->regions[i], b->loc);
        build_one_of(&in, d, now, which, i ? middle : first, i ? end : middle);
        build_yield(&in, 0, NULL);
    }
}

/* Builds a loop that stores the pieces from number `from` on. `from` is -1 if the loop over K has run no
 * iteration: the first iteration of that loop would have stored no piece and only advanced the number from -1
 * to 0. */
static void build_rest(struct builder *b, const struct epilogue *d, struct value *const *now,
                       struct value *from)
{
    from = build_binary(b, OP_maxs, from, build_const_i32(b, 0));
    struct value *one = build_const_i32(b, 1), *end = build_const_i32(b, d->pieces.n);
    struct op *rest = build_for(b, from, end, one, 0, NULL);
    struct builder in = build_at_end(rest->regions[0], b->loc);
    build_one_of(&in, d, now, rest->regions[0]->args.at[0], 0, d->pieces.n);
    build_yield(&in, 0, NULL);
}

/* Returns a builder whose ops run only if c is true. */
static struct builder build_where(struct builder *b, struct value *c)
{
    struct op *perhaps = build_if(b, c, 0, NULL);
    struct builder in[2];
    for (int i = 0; i < 2; i++) {
        in[i] = build_at_end(perhaps->regions[i], b->loc);
        build_yield(&in[i], 0, NULL);
    }
    in[0].before = perhaps->regions[0]->last;
    return in[0];
}

/* Makes each iteration of the loop over K except the first store one piece. The number of the next piece
 * starts as `due`, and grows by 1 in each iteration, also in the first. Returns the number of the first piece
 * that the loop has not stored. */
static struct value *store_in_iterations(struct epilogue *d, struct value *const *now, struct value *due)
{
    struct op *loop = loop_carry(d->loop, NULL, 1, &due);
    op_erase(d->loop);
    d->loop = loop;
    struct block *body = loop->regions[0];
    struct value *which = body->args.at[body->args.n - 1];
    struct op *wait = body->first;
    while (wait->code != OP_mma_wait)
        wait = wait->next;
    struct builder b = build_before(wait);
    b.loc = d->pieces.at[0].put->loc;
    struct builder later = build_where(&b, build_cmp(&b, PRED_ne, body->args.at[0], op_opnd(loop, 0)));
    struct builder in =
        build_where(&later, build_cmp(&later, PRED_slt, which, build_const_i32(&later, d->pieces.n)));
    build_one_of(&in, d, now, which, 0, d->pieces.n);
    b = build_before(body->last);
    struct value *next = build_binary(&b, OP_add, which, build_const_i32(&b, 1));
    loop_yield(loop, 1, &next);
    value_rename(which, "piece");
    return &loop->results[loop->nresults - 1];
}

/* Returns the op before which the remaining pieces are stored. This op follows the loop over K, the wait for
 * its dot, and the arrivals. The ops that round the accumulator come later, because they need registers that
 * the pieces still occupy. */
static struct op *place_of_rest(const struct epilogue *d)
{
    struct op *o = d->loop->next, *at = o;
    for (; o != d->pieces.at[0].wait; o = o->next)
        if (o->code == OP_mma_wait || o->code == OP_mbar_arrive)
            at = o->next;
    return at;
}

/* Rewrites the loop over programs: it carries the pieces to the next program, which stores them. */
static void defer(struct epilogue *d)
{
    int n = d->carried.n;
    struct value **x = NEW_ARRAY(d->arena, n + 1, struct value *),
                 **now = NEW_ARRAY(d->arena, n, struct value *);
    struct builder b = build_before(d->tiles);
    for (int i = 0; i < n; i++)
        x[i] = build_const_bits(&b, d->carried.at[i]->type, 0);
    x[n] = build_const_i32(&b, d->pieces.n);
    struct op *tiles = loop_carry(d->tiles, NULL, n + 1, x);
    op_erase(d->tiles);
    d->tiles = tiles;
    struct block *body = tiles->regions[0];
    int first = tiles->nresults - n - 1;
    for (int i = 0; i < n; i++)
        now[i] = body->args.at[1 + first + i];
    struct value *due = body->args.at[1 + first + n], *next = store_in_iterations(d, now, due);
    value_rename(due, "due");

    b = build_before(place_of_rest(d));
    b.loc = d->pieces.at[0].put->loc;
    build_rest(&b, d, now, next);
    for (int i = 0; i < n; i++)
        x[i] = d->carried.at[i];
    b = build_before(body->last);
    x[n] = build_const_i32(&b, -1);
    loop_yield(tiles, n + 1, x);

    b = build_after(tiles);
    b.loc = d->pieces.at[0].put->loc;
    for (int i = 0; i < n; i++)
        now[i] = &tiles->results[first + i];
    build_rest(&b, d, now, &tiles->results[first + n]);
    for (int i = 0; i < d->pieces.n; i++) {
        op_erase(d->pieces.at[i].put);
        op_erase(d->pieces.at[i].stage);
        op_erase(d->pieces.at[i].wait);
    }
}

void opt_overlap_epilogue(struct func *f)
{
    struct epilogue d = {.arena = f->module->scratch};
    struct op *roles = func_roles(f);
    if (!roles || !f->persistent || !find_loops(&d, roles) || !find_pieces(&d) || !alternate_stages(&d))
        return;
    if (!fits(&d, roles)) {
        opt_explain(f, &(struct explanation){DECISION_stored_before_dots, .at = d.pieces.at[0].put});
        return;
    }
    find_all_carried(&d);
    opt_explain(f, &(struct explanation){DECISION_stored_under_dots, .at = d.pieces.at[0].put,
                                         .numbers = {d.pieces.n}});
    defer(&d);
}
