/* SPDX-License-Identifier: MIT */
/* keep_maximum.c: in kernels launched with `fp_reassoc`, makes an online softmax keep the old maximum of its rows
 * as long as the exponentials stay small. In an iteration that keeps the old maximum, the loop neither
 * computes maxima nor rescales.
 *
 *     for carry(%m, %l, %acc) {                    for carry(%m, %l, %acc) {
 *       %x = reduce %s axis=1 {max}                  %kp = exp2 (sub %s, %m)
 *       %n = max %m, %x                              %kr = reduce %kp axis=1 {add}
 *       %p = exp2 (sub %s, %n)                       %keep = warp_all (cmp le %kr, 2^slack)
 *       %a = exp2 (sub %m, %n)                       %n, %q, %a, %r = if %keep {
 *       %r = reduce %p axis=1 {add}                    yield %m, (ftrunc %kp), 1, %kr
 *       %q = ftrunc %p                       =>      } else {
 *       %t = mul %acc, %a                              %x = reduce %s axis=1 {max}
 *       %d = dot %q, %v, %t                            ... as on the left
 *       %u = add (mul %l, %a), %r                    }
 *       yield %n, %u, %d                             %t = if %keep { yield %acc } else { yield (mul %acc, %a) }
 *     }                                              %d = dot %q, %v, %t
 *                                                    %u = add (mul %l, %a), %r
 *                                                    yield %n, %u, %d
 *                                                  }
 *
 * In exact arithmetic, the results do not depend on the number that is used as the maximum (maximum_weights.c checks
 * this; a value of the loop that depends on the choice of this number is said to have a weight). So only the range of
 * floats limits the choice: the loop keeps %m as long as no sum of a row's exponentials exceeds 2^slack
 * (keep_maximum_slack), and computes the new maximum otherwise. If a sum is inf or NaN, the comparison is
 * false too, so the loop computes the new maximum. This happens in three cases: in the first iteration, in
 * which %m is -inf; if all elements of a row have been masked so far; and if a row contains a NaN.
 *
 * If the loop only accumulates the sums of rows, as in %l above, the pass makes the loop carry a partial sum
 * for each lane, and adds the partial sums after the loop. No iteration then adds over lanes: each lane votes
 * with the sum of its own elements.
 *
 * If a thread has too few registers for two operands of the dot (converts_later), the branch yields the
 * exponentials as f32, and the conversion to the operand's type stays after the branch.
 *
 * Each warp decides for its own rows, so the elements of a row must be in one warp. Needs: layouts. Leaves:
 * unused ops. */
#include <math.h>

#include "ir/support/map.h"
#include "ir/target/fragments.h"
#include "opt/analysis/analysis.h"
#include "opt/cost.h"
#include "opt/layout/layouts.h"
#include "opt/passes.h"
#include "opt/simplify/simplify.h"

struct keeping {
    struct arena *arena;
    struct op *loop;
    struct block *body;
    struct maximum m;
    struct op *sum;          /* the sum of the exponentials of a row */
    struct map depends;      /* the pure ops of the body that depend on max */
    struct map arms;         /* the ops that move into the branch */
    VEC(struct op *) moved;  /* the ops in `arms`, in order */
    VEC(struct value *) out; /* the values that the branch yields */
    struct op *place;        /* the op before which the branch is built */
    VEC(struct op *) later;  /* the ops that move to after the branch */
};

/* -- the plan -- */

static bool holds(const struct map *m, const void *x)
{
    void **at = map_get_ptr(m, x);
    return at && *at;
}

static void put(struct map *m, void *x)
{
    *map_at_ptr(m, x) = x;
}

static bool depends_on(const struct map *m, const struct op *o)
{
    for (int i = 0; i < o->nopnds; i++)
        if (op_opnd(o, i) && op_opnd(o, i)->def && holds(m, op_opnd(o, i)->def))
            return true;
    return false;
}

/* Returns the op that sums the rows of v, possibly after a select has masked v; NULL if there is none. */
static struct op *sum_of(const struct value *v)
{
    if (value_nuses(v) == 1 && v->uses->user->code == OP_select)
        v = op_result(v->uses->user);
    for (const struct use *u = v->uses; u; u = u->next)
        if (u->user->code == OP_reshape || u->user->code == OP_trans) {
            struct op *sum = sum_of(op_result(u->user));
            if (sum)
                return sum;
        } else if (u->user->code == OP_reduce && u->user->nopnds == 1 && u->user->block == v->block &&
                   u->user->regions[0]->first->code == OP_add && combines_either_way(u->user))
            return u->user;
    return NULL;
}

static bool is_exp(const struct op *o)
{
    return o->code == OP_exp || o->code == OP_exp2;
}

/* Returns whether one warp holds each row along the axis of the reduction. */
static bool rows_in_warps(const struct op *o)
{
    const struct layout *l = op_opnd(o, 0)->type->layout;
    for (int i = 0; l && i < l->nbits[IN_warp]; i++) {
        int index[RANK_MAX];
        layout_split_coord(l, layout_basis(l, IN_warp, i), index);
        if (index[op_int(o, ATTR_axis)])
            return false;
    }
    return l != NULL;
}

/* Finds the ops that depend on the maximum, and the sum by which the loop decides whether to keep the
 * maximum. Returns false if there is no sum, or more than one, or if the rows of the sum span several
 * warps. */
static bool find_sum(struct keeping *k)
{
    put(&k->depends, k->m.max);
    for (struct op *o = k->m.max->next; o != k->body->last; o = o->next) {
        if (!is_pure(o) || !depends_on(&k->depends, o))
            continue;
        put(&k->depends, o);
        if (!is_exp(o) || !has_weight(op_result(o)) || is_scaled_by_ratio(op_result(o)))
            continue;
        if (k->sum || !falls_with_maximum(op_result(o)) || !(k->sum = sum_of(op_result(o))) ||
            !rows_in_warps(k->sum))
            return false;
    }
    return k->sum != NULL;
}

/* o depends on the maximum. Returns whether o also depends on another carried value that has a weight, as the
 * rescaling of a sum does. */
static bool rescales(const struct keeping *k, const struct op *o)
{
    for (int i = 0; i < o->nopnds; i++) {
        const struct value *v = op_opnd(o, i);
        if (!v || v == k->m.old)
            continue;
        if (v->def ? v->def->block == k->body && holds(&k->depends, v->def) && !holds(&k->arms, v->def)
                   : v->block == k->body && has_weight(v))
            return true;
    }
    return false;
}

/* If `inside`, returns whether all users of o are in m; otherwise, whether no user of o is in m. */
static bool only_used(const struct op *o, const struct map *m, bool inside)
{
    for (int i = 0; i < o->nresults; i++)
        for (const struct use *u = o->results[i].uses; u; u = u->next)
            if (holds(m, u->user) != inside)
                return false;
    return true;
}

bool needs_other_warps(const struct op *o)
{
    return o->code == OP_convert || o->code == OP_to_shared || (o->code == OP_reduce && !rows_in_warps(o)) ||
           o->code == OP_scan || o->code == OP_gather || o->code == OP_histogram;
}

/* Returns whether o converts the exponentials to a dot's operand, and should stay after the branch. If the
 * conversion were in the branch, the loop that overlap_dots.c builds would need registers for two operands,
 * because the dot of the previous iteration still reads its operand. After the branch, the conversion can run
 * while the next dot runs. */
static bool converts_later(const struct op *o)
{
    enum { CONSUMER };
    const struct op *dot =
        o->code == OP_ftrunc && value_nuses(op_result(o)) == 1 ? op_result(o)->uses->user : NULL;
    if (!dot || !starts_dot(dot) || dot->block != o->block)
        return false;
    const struct func *f = o->block->func;
    const int needed =
        2 * tile_regs(op_opnd(o, 0)->type, f->num_warps, 0) + tile_regs(op_result(o)->type, f->num_warps, 0) +
        tile_regs(op_result(dot)->type, f->num_warps, 0) + f->module->params->keep_maximum_other_regs;
    int regs[2];
    cost_role_regs(f, 1, regs);
    return needed > regs[CONSUMER];
}

/* Chooses the ops that move into the branch: the ops that depend on the maximum and on no other carried value with
 * a weight, and the ops before the maximum whose results only these ops use. Returns false if the maximum or
 * the sum cannot move. */
static bool choose_ops(struct keeping *k)
{
    for (struct op *o = k->m.max; o != k->body->last; o = o->next)
        if (holds(&k->depends, o) && !rescales(k, o) && !needs_other_warps(o) && !converts_later(o))
            put(&k->arms, o);
        else if (o == k->m.max || o == k->sum)
            return false;
    for (struct op *o = k->body->last->prev; o; o = o->prev)
        if (holds(&k->arms, o) && is_cheap_shape(o) && only_used(o, &k->arms, false))
            *map_at_ptr(&k->arms, o) = NULL;
    for (struct op *o = k->m.max->prev; o; o = o->prev)
        if (is_pure(o) && o->nresults && has_uses(op_result(o)) && only_used(o, &k->arms, true) &&
            !needs_other_warps(o))
            put(&k->arms, o);
    for (struct op *o = k->body->first; o; o = o->next)
        if (holds(&k->arms, o))
            VEC_PUSH(k->arena, &k->moved, o);
    return true;
}

/* Returns whether v is computed only from the old and the new maximum, by sums, differences, and products
 * with factors that do not depend on the maximum. If is_factor, v may also be such a factor. (is_one uses
 * this: the exponential of a difference of the two maxima is 1 if they are equal.) */
static bool is_ratio(const struct keeping *k, const struct value *v, bool is_factor)
{
    const struct op *o = v->def;
    if (v == k->m.old || v == op_result(k->m.max))
        return true;
    if (!o || o->block != k->body || !holds(&k->depends, o))
        return is_factor;
    switch (o->code) {
    case OP_neg:
    case OP_expand_dims:
    case OP_broadcast: return is_ratio(k, op_opnd(o, 0), false);
    case OP_add:
    case OP_sub: return is_ratio(k, op_opnd(o, 0), false) && is_ratio(k, op_opnd(o, 1), false);
    case OP_mul: return is_ratio(k, op_opnd(o, 0), true) && is_ratio(k, op_opnd(o, 1), true);
    default: return false;
    }
}

/* Returns whether v equals 1 in rows whose maximum is kept. */
static bool is_one(const struct keeping *k, const struct value *v)
{
    return is_scaled_by_ratio(v) && v->def && is_exp(v->def) && is_ratio(k, op_opnd(v->def, 0), false);
}

static bool uses_any(const struct op *o, const struct map *m)
{
    if (depends_on(m, o))
        return true;
    for (int r = 0; r < o->nregions; r++)
        for (const struct op *inner = o->regions[r]->first; inner; inner = inner->next)
            if (uses_any(inner, m))
                return true;
    return false;
}

/* Sets k->place to the op before which the branch is built: the first op with effects that uses, itself or in
 * a region, a value that depends on the maximum. Returns false if an operand of the branch's ops is computed
 * after this op. */
static bool find_place(struct keeping *k)
{
    k->place = k->m.max;
    while (k->place != k->body->last && (is_pure(k->place) || !uses_any(k->place, &k->depends)))
        k->place = k->place->next;
    for (int n = 0; n < k->moved.n; n++)
        for (int i = 0; i < k->moved.at[n]->nopnds; i++) {
            const struct value *v = op_opnd(k->moved.at[n], i);
            if (v && v->def && v->block == k->body && !holds(&k->arms, v->def) &&
                !value_dominates(v, k->place))
                return false;
        }
    return true;
}

static void find_out(struct keeping *k)
{
    for (int n = 0; n < k->moved.n; n++)
        for (int i = 0; i < k->moved.at[n]->nresults; i++) {
            struct value *v = &k->moved.at[n]->results[i];
            bool leaves = false;
            for (const struct use *u = v->uses; u; u = u->next)
                leaves |= !holds(&k->arms, u->user);
            if (leaves)
                VEC_PUSH(k->arena, &k->out, v);
        }
}

/* -- the rewrite -- */

/* Builds a copy of o. If o adds to a product, or subtracts from a product, builds one fma instead, so that
 * the product need not stay in registers for both arms of the branch. */
static void copy_op(struct builder *b, const struct op *o, struct map *map)
{
    const bool fuses = (o->code == OP_add || o->code == OP_sub) && b->func->fp_fusion &&
                       type_elem(op_result(o)->type)->dtype == DT_f32;
    const struct op *mul = fuses ? op_opnd(o, 0)->def : NULL;
    if (!mul || mul->code != OP_mul) {
        op_clone(b, o, map);
        return;
    }
    b->loc = o->loc;
    struct value *z = value_mapped(map, op_opnd(o, 1));
    z = o->code == OP_sub ? build_unary(b, OP_neg, z) : z;
    struct value *x = value_mapped(map, op_opnd(mul, 0)), *y = value_mapped(map, op_opnd(mul, 1));
    *map_at_ptr(map, op_result(o)) = build_fma(b, x, y, z);
}

/* Builds copies, at b, of the ops of the branch that compute v, except of ops whose results `map` already
 * maps to copies. Returns the copy of v, or v itself if no op of the branch defines v. */
static struct value *copy_for(struct keeping *k, struct builder *b, struct value *v, struct map *map)
{
    if (map_get_ptr(map, v))
        return value_mapped(map, v);
    if (!v->def || !holds(&k->arms, v->def))
        return v;
    for (int i = 0; i < v->def->nopnds; i++)
        copy_for(k, b, op_opnd(v->def, i), map);
    copy_op(b, v->def, map);
    return value_mapped(map, v);
}

/* Builds, before op `at`, an i1 that is 1 if all rows of the warp keep their maxima. Adds to `kept` the
 * copies that it builds, which the arm that keeps the maxima uses too. */
static struct value *build_decision(struct keeping *k, struct op *at, struct map *kept)
{
    struct builder b = build_before(at);
    *map_at_ptr(kept, op_result(k->m.max)) = k->m.old;
    struct value *sum = copy_for(k, &b, op_result(k->sum), kept);
    b.loc = k->sum->loc;
    const int slack = (int)b.func->module->params->keep_maximum_slack;
    struct value *limit = build_const_float(&b, sum->type, ldexp(1, slack)),
                 *small = build_cmp(&b, PRED_le, sum, limit);
    return op_result(build_op(&b, OP_warp_all, 1, &small, 1,
                              (const struct type *[]){type_scalar(b.func->module, DT_i1)}, 0));
}

static struct op *build_branch(struct keeping *k, struct op *at, struct value *keep, struct map *kept)
{
    const int n = k->out.n;
    const struct type **types = NEW_ARRAY(k->arena, n, const struct type *);
    struct value **x = NEW_ARRAY(k->arena, n, struct value *);
    for (int i = 0; i < n; i++)
        types[i] = k->out.at[i]->type;
    struct builder b = build_before(at);
    b.loc = k->m.max->loc;
    struct op *branch = build_if(&b, keep, n, types);
    b = build_at_end(branch->regions[0], k->m.max->loc);
    for (int i = 0; i < n; i++)
        x[i] = is_one(k, k->out.at[i]) ? build_const_float(&b, types[i], 1)
                                       : copy_for(k, &b, k->out.at[i], kept);
    build_yield(&b, n, x);
    struct map map;
    map_init(&map, k->arena);
    b = build_at_end(branch->regions[1], k->m.max->loc);
    for (int i = 0; i < k->moved.n; i++)
        copy_op(&b, k->moved.at[i], &map);
    for (int i = 0; i < n; i++)
        x[i] = value_mapped(&map, k->out.at[i]);
    build_yield(&b, n, x);
    return branch;
}

/* Returns whether v is a broadcast of a value that is 1 where the maximum is kept. */
static bool repeats_one(const struct keeping *k, const struct value *v)
{
    const bool repeats = v->def && v->def->code == OP_broadcast;
    return repeats && is_one(k, behind_shapes(v));
}

/* Moves the ops that are before k->place and depend on the maximum, but are not in the branch, to after the
 * branch. */
static void move_behind(struct keeping *k)
{
    for (struct op *next, *o = k->m.max; o != k->place; o = next) {
        next = o->next;
        if (holds(&k->depends, o) && !holds(&k->arms, o))
            VEC_PUSH(k->arena, &k->later, o);
    }
    for (int i = 0; i < k->later.n; i++)
        op_move_before(k->later.at[i], k->place);
}

struct product {
    struct op *mul;
    int side; /* the number of the operand that is 1 if the maximum is kept */
};

/* Returns whether operand `side` of the product is 1 where the maximum is kept, and holds each factor in
 * several registers, so that a branch that skips the product is worthwhile. */
static bool skips(const struct keeping *k, const struct op *mul, int side)
{
    const struct value *v = op_opnd(mul, side);
    if (mul->code != OP_mul || holds(&k->arms, mul) || !repeats_one(k, v))
        return false;
    return tile_nregs(op_result(mul)->type) > tile_nregs(behind_shapes(v)->type);
}

static void rewrite(struct keeping *k)
{
    struct map kept;
    map_init(&kept, k->arena);
    find_out(k);
    VEC(struct product) products = {0};
    for (struct op *o = k->m.max; o != k->body->last; o = o->next)
        for (int side = 0; side < 2; side++)
            if (skips(k, o, side)) {
                VEC_PUSH(k->arena, &products, ((struct product){o, side}));
                break;
            }
    struct value *keep = build_decision(k, k->place, &kept);
    struct op *branch = build_branch(k, k->place, keep, &kept);
    move_behind(k);
    const char **names = NEW_ARRAY(k->arena, k->out.n, const char *);
    for (int i = 0; i < k->out.n; i++) {
        names[i] = k->out.at[i]->name;
        value_replace(k->out.at[i], &branch->results[i]);
    }
    for (int i = 0; i < products.n; i++)
        skip_product(products.at[i].mul, products.at[i].side, keep);
    for (int i = k->moved.n - 1; i >= 0; i--)
        op_erase(k->moved.at[i]);
    for (int i = 0; i < k->out.n; i++)
        value_rename(&branch->results[i], names[i]);
}

/* -- adding the lanes' partial sums after the loop -- */

struct recurrence {
    struct op *mul, *add; /* `add` is `mul` plus the sum; `mul` is `arg` (a carried value) times `factor` */
    struct value *arg, *factor;
    int at; /* the number of the carried value */
};

static bool find_recurrence(const struct keeping *k, struct recurrence *r)
{
    const struct value *sum = op_result(k->sum);
    if (value_nuses(sum) != 1 || sum->uses->user->code != OP_add || sum->uses->user->block != k->body)
        return false;
    r->add = sum->uses->user;
    r->mul = op_opnd(r->add, op_opnd(r->add, 0) == sum)->def;
    if (!r->mul || r->mul->code != OP_mul || r->mul->block != k->body ||
        value_nuses(op_result(r->mul)) != 1 || value_nuses(op_result(r->add)) != 1)
        return false;
    const int side = op_opnd(r->mul, 0)->def != NULL;
    r->arg = op_opnd(r->mul, side);
    r->factor = op_opnd(r->mul, 1 - side);
    for (r->at = 0; r->at < k->loop->nresults && k->body->args.at[1 + r->at] != r->arg; r->at++)
        continue;
    return r->at < k->loop->nresults && value_nuses(r->arg) == 1 && is_one(k, r->factor) &&
           op_opnd(k->body->last, r->at) == op_result(r->add);
}

/* Broadcasts x along a new dimension `axis`; the result has type t. */
static struct value *repeat(struct builder *b, struct value *x, int axis, const struct type *t)
{
    x = build_expand_dims(b, x, axis);
    return op_result(build_op(b, OP_broadcast, 1, &x, 1, &t, 0));
}

static struct value *sum_like(struct builder *b, const struct op *sum, struct value *x)
{
    struct op *o = build_reduce(b, 1, &x, (int)op_int(sum, ATTR_axis));
    region_copy(o, sum);
    return op_result(o);
}

/* If each iteration yields l * a + sum for the carried value l, makes the loop carry a partial sum for each
 * lane, and adds the partial sums after the loop:
 *
 *     %r = reduce %p axis=1 {add} : 128     =>     %r = reduce (reshape %p : 128x32x4) axis=1 {add} : 128x4
 *     %u = add (mul %l, %a), %r                    %u = add (mul %l, (broadcast %a)), %r
 *                                                  after the loop: %s = reduce %l axis=1 {add} : 128
 *
 * Each lane starts with an equal part of the initial value. Returns the new loop, or NULL if the loop carries
 * no sum in this form, or the layout does not allow it. */
static struct op *add_lanes_later(const struct keeping *k)
{
    struct recurrence r;
    const int axis = (int)op_int(k->sum, ATTR_axis), n = k->loop->nresults;
    struct builder b = build_before(k->sum);
    struct value *part = find_recurrence(k, &r) ? reduce_in_threads(&b, k->sum) : NULL;
    if (!part)
        return NULL;
    struct value *whole = sum_like(&b, k->sum, part);
    const bool fits = whole->type == r.arg->type;
    op_erase(whole->def);
    if (!fits)
        return NULL;
    b = build_before(k->loop);
    struct value *init = op_opnd(k->loop, 3 + r.at),
                 *share = build_const_float(&b, init->type, 1.0 / part->type->shape[axis]);
    init = repeat(&b, build_binary(&b, OP_mul, init, share), axis, part->type);
    bool *keep = NEW_ARRAY(k->arena, n, bool);
    for (int i = 0; i < n; i++)
        keep[i] = i != r.at;
    struct op *loop = loop_carry(k->loop, keep, 1, &init);
    b = build_before(r.add);
    struct value *l =
        build_binary(&b, OP_mul, loop->regions[0]->args.at[n], repeat(&b, r.factor, axis, part->type));
    l = build_binary(&b, OP_add, l, part);
    loop_yield(loop, 1, &l);
    b = build_after(loop);
    value_replace(&k->loop->results[r.at], sum_like(&b, k->sum, &loop->results[n - 1]));
    op_erase(r.add);
    op_erase(r.mul);
    op_erase(k->sum);
    op_erase(k->loop);
    return loop;
}

/* -- the pass -- */

static bool plan(struct keeping *k)
{
    int at = 0;
    while (at < k->loop->nresults && !find_maximum(k->loop, at, &k->m))
        at++;
    map_init(&k->depends, k->arena);
    map_init(&k->arms, k->arena);
    return at < k->loop->nresults && maximum_is_free(k->loop, at) && find_sum(k) && choose_ops(k) &&
           find_place(k);
}

static void keep_maximum(struct op *loop, void *ctx)
{
    struct func *f = loop->block->func;
    (void)ctx;
    for (struct op *other = loop->code == OP_for ? loop : NULL; other; loop = other) {
        struct keeping k = {.arena = f->module->scratch, .loop = loop, .body = loop->regions[0]};
        if (!plan(&k))
            return;
        other = add_lanes_later(&k);
        if (other)
            continue;
        opt_explain(f, &(struct explanation){DECISION_maximum_kept, .at = k.m.max,
                                             .values = {op_result(k.m.max), op_result(k.sum)}});
        rewrite(&k);
    }
}

void opt_keep_maximum(struct func *f)
{
    if (f->fp_reassoc)
        block_walk_up(f->body, keep_maximum, NULL);
}
