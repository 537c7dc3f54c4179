/* SPDX-License-Identifier: MIT */
/* cluster_multicast.c: runs pairs of programs as clusters of two CTAs, and multicasts the tiles that both programs
 * load.
 *
 *     %m = program_id axis=0                   %pid = the program's number, so that partners are `stride` apart
 *     warps {                                  warps {
 *       ... mbar_arrive %empty                   ... mbar_arrive %empty, _, %paired        at both programs' barriers
 *     } {                               =>     } {
 *       for ... {                                %same = is there a partner, and is its %n the same?
 *         tensor_copy %x, %bar, %k, %n           for ... {
 *       }                                          if %same { tensor_copy ... multicast=1 }   half a tile, to both
 *     }                                            else { tensor_copy ... }
 *                                                }
 *                                              }
 *
 * Two CTAs that load the same tile at the same time read the tile from L2 twice. In a cluster, each CTA loads one
 * half of the tile, and the multicast copy writes this half to the shared memory of both CTAs. The programs of the
 * two CTAs (partners) are `stride` apart along axis 0. To choose the stride, the pass computes the
 * coordinates of the tiles that sample programs load, and takes the stride at which partners share the most
 * bytes. A badly chosen stride costs only speed, because partners compare the coordinates of their tiles at
 * run time. The launcher makes clusters only if func.pair_multiple divides the grid; otherwise the same code
 * runs without partners. The hardware numbers the CTAs of a cluster consecutively, so the pass renumbers the
 * programs within blocks of twice `stride` programs:
 *
 *     hardware    0  1  2  3 | 4  5  6  7 | 8  9      stride 2, 10 programs: CTAs 0 and 1 are partners and run
 *     %pid        0  2  1  3 | 4  6  5  7 | 8  9      programs 0 and 2. The last, incomplete block keeps its numbers.
 *
 * The CTAs of a cluster start together and wait for each other, which takes time. If each CTA runs one
 * program, each program pays this cost, so the pass applies only if the dots would otherwise wait for L2,
 * which delivers less than 100 bytes per cycle to an SM. If a CTA loops over many programs, the CTA pays the
 * cost once, so the pass applies even if the dots load fewer bytes per cycle. For example, a tile of
 * 128x256x64 loads 48 bytes per cycle. On an H200, a product with this tile gains 3 percent if partners share
 * the 32 KiB operand, and loses 1 to 3 percent if they share the 16 KiB operand.
 *
 * The producer warp copies tiles into the stages of a ring (warp_specialize.c). The producer may overwrite a
 * stage only after the dots of both programs have read it, so the stage's `empty` barrier, at which the
 * producer waits, counts the warps of both programs. Partners must run the same number of iterations, so the
 * bounds of loops must not depend on the program. Each program arrives at barriers in the partner's shared
 * memory, so a CTA must not exit before its partner has released all stages. */
#include "opt/analysis/analysis.h"
#include "opt/cost.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"
#include "opt/pipeline/pipeline.h"

#include <string.h>

struct pairing {
    struct func *func;
    struct arena *arena;
    struct op *roles;
    VEC(struct op *) copies;  /* the copies that partners may share */
    int64_t iteration_bytes;  /* the bytes of all copies in loops, in one iteration */
    int64_t iteration_cycles; /* the cycles of the dots that read these copies, in one iteration */
    int stride;               /* in programs; 0: no copies can be shared; -1: the pass does not apply */
    int64_t shared_bytes;     /* the bytes of the copies that partners share, in one iteration */
    /* pid: the new number of the program along axis 0; paired: an i1, 1 if the cluster has two CTAs; size:
     * the number of CTAs of the cluster */
    struct value *pid, *paired, *size;
    struct value *has_peer; /* an i1: 1 if the program has a partner */
    VEC(struct op *) users; /* the ops that note_users or note_wait found last */
};

static struct op *outermost_loop(const struct op *o)
{
    struct op *found = NULL;
    for (struct op *l = o->block->parent; l && l->code != OP_warps && !is_over_programs(l);
         l = l->block->parent)
        found = l;
    return found;
}

/* -- sample programs -- */

struct sample {
    int64_t pid[3], arg;
};

static int64_t wrap(const struct type *t, int64_t x)
{
    return type_elem_bits(t) == 32 ? (int32_t)x : x;
}

/* Computes the value that v has in a sample program. All arguments of the kernel, and values that cannot be
 * computed, count as s->arg. */
static int64_t value_in(const struct sample *s, const struct value *v)
{
    const struct op *o = v->def;
    int64_t x[3] = {0}, i;
    if (value_const_int(v, &i))
        return i;
    if (!o && v->index == 0 && v->block->parent && is_over_programs(v->block->parent))
        return s->pid[0];
    if (!o || o->nopnds > 3)
        return s->arg;
    for (int k = 0; k < o->nopnds; k++)
        x[k] = op_opnd(o, k) ? value_in(s, op_opnd(o, k)) : 0;
    switch (o->code) {
    case OP_program_id: return s->pid[op_int(o, ATTR_axis)];
    case OP_add: return wrap(v->type, x[0] + x[1]);
    case OP_sub: return wrap(v->type, x[0] - x[1]);
    case OP_mul: return wrap(v->type, (int64_t)((uint64_t)x[0] * (uint64_t)x[1]));
    case OP_shl: return wrap(v->type, (int64_t)((uint64_t)x[0] << (x[1] & 63)));
    case OP_shrs:
    case OP_shru: return x[0] >> (x[1] & 63);
    case OP_and: return x[0] & x[1];
    case OP_or: return x[0] | x[1];
    case OP_xor: return x[0] ^ x[1];
    case OP_divs:
    case OP_divu: return x[1] ? x[0] / x[1] : 0;
    case OP_rems:
    case OP_remu: return x[1] ? x[0] % x[1] : x[0];
    case OP_mins: return x[0] < x[1] ? x[0] : x[1];
    case OP_maxs: return x[0] > x[1] ? x[0] : x[1];
    case OP_select: return x[0] ? x[1] : x[2];
    case OP_cmp: {
        int64_t sign = x[0] < x[1] ? -1 : x[0] > x[1];
        enum pred pred = (enum pred)op_int(o, ATTR_pred);
        return pred == PRED_eq    ? sign == 0
               : pred == PRED_ne  ? sign != 0
               : pred == PRED_slt ? sign < 0
               : pred == PRED_sle ? sign <= 0
               : pred == PRED_sgt ? sign > 0
                                  : sign >= 0;
    }
    case OP_sext:
    case OP_zext:
    case OP_trunc:
    case OP_hint: return wrap(v->type, x[0]);
    default: return s->arg;
    }
}

/* Returns whether `copy` loads the same tile in nearly every sample program p and in program p + stride. (The
 * two programs may load different tiles where a row of tiles ends between them.) */
static bool agree(const struct op *copy, int stride)
{
    static const int64_t args[] = {4096, 5000, 8192};
    const struct params *params = op_params(copy);
    const int samples = params->cluster_multicast_samples,
              most = samples / params->cluster_multicast_disagree_part;
    int differ = 0;
    for (int i = 0; i < samples && differ <= most; i++) {
        int64_t pid = i & ~stride;
        struct sample a = {{pid, i % 5, i % 3}, args[i % 3]}, b = {{pid + stride, i % 5, i % 3}, args[i % 3]};
        bool same = true;
        for (int k = 2; k < copy->nopnds; k++)
            same &= value_in(&a, op_opnd(copy, k)) == value_in(&b, op_opnd(copy, k));
        differ += !same;
    }
    return differ <= most;
}

/* -- the choice of the stride -- */

static void find_copies(struct op *o, void *ctx)
{
    struct pairing *p = ctx;
    struct op *loop = o->code == OP_tensor_copy ? outermost_loop(o) : NULL;
    if (!loop)
        return;
    p->iteration_bytes += buffer_bytes(op_opnd(o, 0)->type);
    for (int k = 2; k < o->nopnds; k++)
        if (value_depends_on(op_opnd(o, k), true) && !value_is_outside(op_opnd(o, k), loop))
            return;
    VEC_PUSH(p->arena, &p->copies, o);
}

static void find_obstacle(struct op *o, void *ctx)
{
    struct pairing *p = ctx;
    bool differs = o->code == OP_for && !is_over_programs(o) &&
                   (value_depends_on(op_opnd(o, 0), true) || value_depends_on(op_opnd(o, 1), true) ||
                    value_depends_on(op_opnd(o, 2), true));
    if (o->code == OP_return || o->code == OP_while || (differs && op_is_inside(o, p->roles)))
        p->stride = -1;
}

static bool can_be_cut(const struct op *copy)
{
    const struct type *t = op_opnd(copy, 0)->type;
    const struct attr *a = op_attr(copy, ATTR_order);
    int order[RANK_MAX];
    struct boxes b;
    for (int i = 0; i < t->rank; i++)
        order[i] = a ? a->list[i] : i;
    return layout_boxes(&b, t->layout, type_elem_bytes(t), order) &&
           boxes_cut(&b, t->layout, type_elem_bytes(t), order, 2);
}

static void choose(struct pairing *p)
{
    block_walk(p->roles->regions[0], find_obstacle, p);
    block_walk(p->roles->regions[1], find_obstacle, p);
    if (p->stride)
        return;
    for (int s = 1; s <= p->func->module->params->cluster_multicast_stride_most; s *= 2) {
        int64_t bytes = 0;
        for (int i = 0; i < p->copies.n; i++)
            if (agree(p->copies.at[i], s) && can_be_cut(p->copies.at[i]))
                bytes += buffer_bytes(op_opnd(p->copies.at[i], 0)->type);
        if (bytes > p->shared_bytes) {
            p->shared_bytes = bytes;
            p->stride = s;
        }
    }
}

static bool pays(const struct pairing *p)
{
    const struct params *params = p->func->module->params;
    if (p->iteration_bytes >= params->cluster_multicast_bytes_per_cycle * p->iteration_cycles)
        return params->cluster_multicast_share_part * p->shared_bytes >= p->iteration_bytes;
    return p->func->persistent &&
           params->cluster_multicast_persistent_share_part * p->shared_bytes >= p->iteration_bytes;
}

static void count_cycles(struct op *o, void *ctx)
{
    struct pairing *p = ctx;
    if (starts_dot(o) && outermost_loop(o))
        p->iteration_cycles += cost_dot_cycles(o);
}

/* -- the rewrite -- */

/* Builds the number of the program that the CTA with number `own` runs, so that the CTAs of a cluster run
 * partners: bit 0 of `own` moves to bit log2(stride), and the bits in between move down by one. `count` is
 * the number of programs; the programs of an incomplete last block (of 2 * stride programs) keep their
 * numbers. If `count` is NULL, all blocks are complete. Sets p->has_peer. */
static struct value *renumbered(struct pairing *p, struct builder *b, struct value *own, struct value *count)
{
    p->has_peer = p->paired;
    if (p->stride == 1)
        return own;
    if (count) {
        struct value *end = build_binary(b, OP_or, own, build_const_i32(b, 2 * p->stride - 1));
        p->has_peer = build_binary(b, OP_and, p->paired, build_cmp(b, PRED_slt, end, count));
    }
    int log = __builtin_ctz((unsigned)p->stride);
    struct value *high = build_binary(b, OP_and, own, build_const_i32(b, ~(int64_t)(2 * p->stride - 1)));
    struct value *by = build_const_i32(b, log);
    struct value *rank = build_binary(b, OP_shl, build_i32(b, OP_cluster_rank), by);
    struct value *mask = build_const_i32(b, p->stride - 1);
    struct value *low = build_binary(b, OP_and, build_binary(b, OP_shrs, own, build_const_i32(b, 1)), mask);
    struct value *number = build_binary(b, OP_or, build_binary(b, OP_or, high, rank), low);
    struct value *pid = build_select(b, p->has_peer, number, own);
    value_rename(pid, "pid");
    return pid;
}

static void renumber(struct op *o, void *ctx)
{
    struct pairing *p = ctx;
    if (o->code != OP_program_id || op_int(o, ATTR_axis) != 0 || !op_is_inside(o, p->roles))
        return;
    value_replace(op_result(o), p->pid);
    op_erase(o);
}

/* In the body of the role's loop over programs, replaces the loop's counter by the new program number; the
 * loop still counts in the old order. */
static void renumber_loop(struct pairing *p, struct block *role)
{
    for (struct op *o = role->first; o; o = o->next) {
        if (!is_over_programs(o))
            continue;
        struct block *body = o->regions[0];
        struct builder b = build_before(body->first);
        struct value *count = body->args.at[0], *stand_in = build_const_i32(&b, 0);
        value_replace(count, stand_in);
        p->pid = renumbered(p, &b, count, op_opnd(o, 1));
        value_replace(stand_in, p->pid);
        op_erase(stand_in->def);
    }
}

static void renumber_programs(struct pairing *p)
{
    struct builder b = build_before(p->func->body->first);
    p->size = build_i32(&b, OP_cluster_size);
    p->paired = build_cmp(&b, PRED_eq, p->size, build_const_i32(&b, 2));
    if (p->func->persistent) {
        renumber_loop(p, p->roles->regions[0]);
        renumber_loop(p, p->roles->regions[1]);
        return;
    }
    p->pid = renumbered(p, &b, build_program_id(&b, 0), NULL);
    func_walk(p->func, renumber, p);
}

static void share(struct pairing *p, struct op *copy)
{
    struct builder b = build_before(outermost_loop(copy));
    struct value *peer = build_binary(&b, OP_xor, p->pid, build_const_i32(&b, p->stride)),
                 *same = p->has_peer;
    struct map copies;
    map_init(&copies, p->arena);
    *map_at_ptr(&copies, p->pid) = peer;
    for (int k = 2; k < copy->nopnds; k++)
        if (value_depends_on(op_opnd(copy, k), true)) {
            struct value *other = value_clone(&b, &copies, op_opnd(copy, k));
            same = build_binary(&b, OP_and, same, build_cmp(&b, PRED_eq, op_opnd(copy, k), other));
        }
    const struct type *t = op_opnd(copy, 0)->type;
    const struct attr *a = op_attr(copy, ATTR_order);
    int order[RANK_MAX];
    for (int i = 0; i < t->rank; i++)
        order[i] = a ? a->list[i] : i;
    tensor_fit_map(copy, t, order, 2);
    op_set_int(copy, ATTR_parts, 2);
    b = build_before(copy);
    struct op *either = build_if(&b, same, 0, NULL);
    struct map none;
    map_init(&none, p->arena);
    for (int arm = 0; arm < 2; arm++) {
        struct builder in = build_at_end(either->regions[arm], copy->loc);
        struct op *part = op_clone(&in, copy, &none);
        if (arm == 0)
            op_set_int(part, ATTR_multicast, 1);
        build_yield(&in, 0, NULL);
    }
    op_erase(copy);
}

static void note_users(struct pairing *p, const struct value *v, enum opcode code)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        if (u->user->code == code)
            VEC_PUSH(p->arena, &p->users, u->user);
        if (u->user->code == OP_shared_stage)
            note_users(p, op_result(u->user), code);
    }
}

/* If o waits at an `empty` barrier (the producer waits there before it fills a stage), makes the barrier
 * count the warps of both programs. */
static void count_both(struct op *o, void *ctx)
{
    struct pairing *p = ctx;
    if (o->code != OP_mbar_wait)
        return;
    struct value *empty = op_result(buffer_alloc(op_opnd(o, 0), NULL));
    p->users.n = 0;
    note_users(p, empty, OP_mbar_init);
    for (int i = 0; i < p->users.n; i++)
        op_set_opnds(p->users.at[i], 2, (struct value *[]){empty, p->size});
    p->users.n = 0;
    note_users(p, empty, OP_mbar_arrive);
    for (int i = 0; i < p->users.n; i++) {
        struct op *a = p->users.at[i];
        op_set_opnds(a, 3, (struct value *[]){op_opnd(a, 0), op_opnd(a, 1), p->paired});
    }
}

static void build_plain(struct builder *b, enum opcode code)
{
    build_op(b, code, 0, NULL, 0, NULL, 0);
}

/* Replaces the role's op `ready`, which waits until the CTA's own mbarriers are initialized, by a cluster
 * barrier: each CTA waits until the mbarriers of both CTAs are initialized. */
static void wait_for_both_inits(const struct pairing *p, struct block *role)
{
    struct op *ready = role->first;
    while (ready && ready->code != OP_ready)
        ready = ready->next;
    if (!ready)
        diag_bug(p->func->module->diag, p->func->loc, "a role without an op `ready`");
    struct builder b = build_before(ready);
    build_plain(&b, OP_cluster_arrive);
    build_plain(&b, OP_cluster_wait);
    op_erase(ready);
}

/* -- the end of the kernel -- */

static void note_wait(struct op *o, void *ctx)
{
    struct pairing *p = ctx;
    if (o->code != OP_mbar_wait)
        return;
    const struct op *ring = buffer_alloc(op_opnd(o, 0), NULL);
    for (int i = 0; i < p->users.n; i++)
        if (buffer_alloc(op_opnd(p->users.at[i], 0), NULL) == ring) {
            p->users.at[i] = o; /* in p->users, the last wait for a ring replaces an earlier wait */
            return;
        }
    VEC_PUSH(p->arena, &p->users, o);
}

/* v is a value that the loop around `wait` carries. Returns the value that v has after all loops of the
 * producer. */
static struct value *after_loops(const struct pairing *p, const struct op *wait, struct value *v)
{
    const struct block *role = p->roles->regions[1];
    struct op *loop = wait->block->parent;
    if (v->def || v->block != wait->block || loop->code != OP_for)
        diag_bug(p->func->module->diag, wait->loc, "a stage number that no loop carries");
    v = &loop->results[v->index - 1];
    for (; loop->block != role; loop = loop->block->parent) {
        const struct op *end = block_terminator(loop->block);
        int i = 0;
        while (i < end->nopnds && op_opnd(end, i) != v)
            i++;
        if (i == end->nopnds)
            diag_bug(p->func->module->diag, wait->loc, "a stage number that the outer loop does not carry");
        v = &loop->block->parent->results[i];
    }
    return v;
}

/* Builds a loop that waits until both programs have released all stages of a ring. `wait` is a wait for a stage of
 * this ring. */
static void wait_for_all_stages(const struct pairing *p, struct builder *b, const struct op *wait)
{
    struct value *stage, *x[2];
    struct op *ring = buffer_alloc(op_opnd(wait, 0), &stage);
    int stages = op_result(ring)->type->nstages;
    x[0] = stage;
    x[1] = op_opnd(wait, 1);
    if (wait->block == p->roles->regions[1])
        ring_advance(b, stages, &x[0], &x[1]);
    else
        for (int i = 0; i < 2; i++)
            x[i] = after_loops(p, wait, x[i]);
    struct value *step = build_const_i32(b, 1), *hi = build_const_i32(b, stages), *lo = build_const_i32(b, 0);
    struct op *loop = build_for(b, lo, hi, step, 2, x);
    struct block *body = loop->regions[0];
    struct builder in = build_at_end(body, b->loc);
    for (int i = 0; i < 2; i++)
        x[i] = body->args.at[1 + i];
    build_op(&in, OP_mbar_wait, 2,
             (struct value *[]){build_binary(&in, OP_shared_stage, op_result(ring), x[0]), x[1]}, 0, NULL, 0);
    ring_advance(&in, stages, &x[0], &x[1]);
    build_yield(&in, 2, x);
}

/* The partner arrives at mbarriers in a CTA's shared memory, which must stay valid until the last of these
 * arrivals. So the function makes each CTA wait for these arrivals before it exits. A cluster barrier at the
 * kernel's end would not suffice: an arrival at the partner's mbarrier may be queued behind bulk stores. On
 * an H200, a CTA arrived first at the partner's mbarrier and then (relaxed) at the cluster barrier, but the
 * second arrival took effect first. (An arrival with release semantics would wait for all stores.) All copies
 * to the CTA's shared memory are complete before the CTA exits, because the consumers have waited for
 * them. */
static void stay_for_arrivals(struct pairing *p)
{
    struct block *role = p->roles->regions[1];
    p->users.n = 0;
    block_walk(role, note_wait, p);
    struct builder b = build_before(block_terminator(role));
    for (int i = 0; i < p->users.n; i++)
        wait_for_all_stages(p, &b, p->users.at[i]);
}

static void pair_up(struct pairing *p)
{
    renumber_programs(p);
    for (int i = 0; i < p->copies.n; i++)
        if (agree(p->copies.at[i], p->stride) && can_be_cut(p->copies.at[i]))
            share(p, p->copies.at[i]);
    block_walk(p->roles->regions[1], count_both, p);
    stay_for_arrivals(p);
    for (int i = 0; i < 2; i++)
        wait_for_both_inits(p, p->roles->regions[i]);
    p->func->pair_multiple = p->func->persistent ? 2 : 2 * p->stride;
    opt_explain(p->func, &(struct explanation){DECISION_pairs, .at = p->roles,
                                               .numbers = {p->stride, p->shared_bytes, p->iteration_bytes}});
}

void opt_cluster_multicast(struct func *f)
{
    struct pairing p = {.func = f, .arena = f->module->scratch, .roles = func_roles(f)};
    if (!p.roles || !target_has(f->target, HAS_cluster) || f->num_ctas != 1 || f->persistent > 1)
        return;
    block_walk(p.roles->regions[1], find_copies, &p);
    block_walk(p.roles->regions[0], count_cycles, &p);
    const struct params *params = f->module->params;
    int least = f->persistent ? params->cluster_multicast_persistent_bytes_per_cycle
                              : params->cluster_multicast_bytes_per_cycle;
    if (p.iteration_bytes < least * p.iteration_cycles)
        return;
    choose(&p);
    if (p.stride > 0 && pays(&p))
        pair_up(&p);
}
