/* SPDX-License-Identifier: MIT */
/* cost.c: the cost model that passes share (cost.h). struct target (ir/target/target.h) describes the
 * hardware, and ir/params.h contains the thresholds.
 *
 * Passes ask whether two CTAs fit on an SM before layouts and buffers exist. So the answer is an estimate, which
 * counts the rings, operands and accumulators that the kernel will have. A ring is a buffer of several stages
 * in shared memory, through which a loop loads a tile. Consecutive loops share a ring if the tiles that they
 * load are alike (are_alike). The accumulators of consecutive loops always share registers. */
#include "opt/cost.h"
#include "opt/analysis/analysis.h"
#include "opt/layout/layouts.h"
#include "opt/passes.h"
#include "ir/target/engine.h"

#include <string.h>

/* -- two CTAs on an SM -- */

/* The shared memory of the rings that tensor maps fill. */
struct room {
    const struct func *func;
    VEC(const struct op *) loads; /* the loads that are already counted */
    int64_t ring_bytes;
    int64_t early_bytes; /* part of ring_bytes: tiles loaded and read outside of loops and branches */
};

/* Returns whether both loads load tiles of the same element type, with shapes that are equal or transposes of
 * each other. The buffers of such tiles may have the same type. */
static bool are_alike(const struct op *a, const struct op *b)
{
    const struct type *x = op_result(a)->type, *y = op_result(b)->type;
    if (a->code != b->code || type_elem(x) != type_elem(y) || x->rank != y->rank)
        return false;
    return x == y || (x->rank == 2 && x->shape[0] == y->shape[1] && x->shape[1] == y->shape[0]);
}

/* Returns the number of loads in o's block, up to and including o, whose tiles are like the tile of o
 * (are_alike). */
static int place_among_alike(const struct op *o)
{
    int n = 0;
    for (const struct op *x = o; x; x = x->prev)
        n += x->code == o->code && are_alike(x, o);
    return n;
}

/* Returns whether load o can use the ring of a load that is already counted and is in another loop. */
static bool shares_ring(const struct room *r, const struct op *o)
{
    for (int i = 0; i < r->loads.n; i++) {
        const struct op *x = r->loads.at[i];
        if (are_alike(x, o) && !block_is_inside(x->block, o->block) && !block_is_inside(o->block, x->block) &&
            place_among_alike(x) == place_among_alike(o))
            return true;
    }
    return false;
}

/* Returns whether all ops that read the tile v are directly in v's block, and not in loops or branches inside
 * it. */
static bool is_read_early(const struct value *v)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct op *o = u->user;
        const bool passes = o->code == OP_to_shared || o->code == OP_trans || o->code == OP_convert;
        if (o->block != v->block || (passes && !is_read_early(op_result(o))))
            return false;
    }
    return true;
}

/* Adds to the room the ring of o if o is a tensor_load that needs a ring of its own. */
static void take(struct op *o, void *ctx)
{
    struct room *r = ctx;
    const struct op *loop = o->block->parent;
    if (o->code != OP_tensor_load)
        return;
    const struct type *t = op_result(o)->type;
    int stages = loop && loop->code == OP_for ? opt_stages(r->func, loop) : 1;
    if (!shares_ring(r, o)) {
        int64_t bytes = type_elems(t) * type_elem_bytes(t) * stages;
        r->ring_bytes += bytes;
        r->early_bytes += loop || !is_read_early(op_result(o)) ? 0 : bytes;
    }
    VEC_PUSH(r->func->module->scratch, &r->loads, o);
}

/* The registers and the shared memory that a loop with dots needs, in addition to the rings that tensor maps
 * fill. */
struct needs {
    /* a thread's registers for the results of dots; at least `regs` if the loop has only one dot and the
     * accumulator of this dot starts anew in each iteration */
    int64_t sums;
    int64_t
        regs; /* a thread's registers for accumulators, other carried tiles, operands computed from loads */
    int64_t bytes; /* operands that stay in shared memory, and the rings of tiles that threads copy */
    bool anew;     /* the accumulator of a dot starts as a constant in each iteration */
    bool idles; /* tensor cores wait for threads that do arithmetic or load fragments of a synchronous dot */
};

static bool is_dot(const struct op *o)
{
    return op_has(o, MULTIPLIES);
}

/* Returns the op that computes v, skipping conversions and transpositions; NULL if v is an argument. */
static const struct op *source_of(const struct value *v)
{
    const struct op *o = v->def;
    while (o && (o->code == OP_to_shared || o->code == OP_trans || o->code == OP_convert))
        o = op_opnd(o, 0)->def;
    return o;
}

static int64_t regs_of(const struct value *v)
{
    enum { REGISTER_BITS = 32 };
    return tile_regs(v->type, v->block->func->num_warps, REGISTER_BITS);
}

/* Returns whether v is computed from a loaded matrix of floats, by at most `depth` ops. Then v needs
 * registers of its own. (If v is computed from a dot's result or from a carried tile, v reuses the registers
 * of that tile.) */
static bool comes_of_load(const struct value *v, int depth)
{
    const struct op *o = v->def;
    if (!o || !type_is_float(type_elem(v->type)))
        return false;
    bool comes = (o->code == OP_tensor_load || o->code == OP_load) && v->type->rank > 1;
    for (int i = 0; i < o->nopnds && depth > 0 && op_has(o, PURE) && !is_dot(o) && !comes; i++)
        comes = op_opnd(o, i) && comes_of_load(op_opnd(o, i), depth - 1);
    return comes;
}

static void need_operand(struct needs *n, const struct op *loop, const struct value *v)
{
    enum { DEPTH = 8 };
    const struct op *o = source_of(v);
    const bool is_load = o && (o->code == OP_tensor_load || o->code == OP_load);
    if (value_is_outside(v, loop)) {
        if (!o || o->code != OP_tensor_load)
            n->bytes += type_elems(v->type) * type_elem_bytes(v->type);
    } else if (!is_load) {
        n->idles = true;
        n->regs += o && comes_of_load(op_result(o), DEPTH) ? regs_of(op_result(o)) : 0;
    }
}

static void need_dot(struct needs *n, const struct op *loop, const struct op *dot)
{
    const struct value *acc = op_opnd(dot, 2);
    n->idles |= dot->code == OP_dot && !dot_is_async(dot);
    need_operand(n, loop, op_opnd(dot, 0));
    need_operand(n, loop, op_opnd(dot, 1));
    if (acc->def && (acc->def->code == OP_const || acc->def->code == OP_splat)) {
        n->idles = n->anew = true;
        n->regs += regs_of(acc);
    }
}

static struct needs needs_of_loop(const struct op *loop)
{
    const struct func *f = loop->block->func;
    const struct block *b = loop->regions[0];
    struct needs n = {0};
    int ndots = 0;
    for (const struct op *o = b->first; o; o = o->next) {
        const struct type *t = o->code == OP_load ? op_result(o)->type : NULL;
        if (t && type_is_tile(t) && t->rank > 1 && !type_is_ptr(t))
            n.bytes += type_elems(t) * type_elem_bytes(t) * opt_stages(f, loop);
        if (is_dot(o))
            need_dot(&n, loop, o);
        n.sums += is_dot(o) ? regs_of(op_result(o)) : 0;
        ndots += is_dot(o);
    }
    for (int i = 0; i < b->args.n; i++) {
        const struct type *t = b->args.at[i]->type;
        n.regs += type_is_tile(t) && type_is_float(type_elem(t)) ? regs_of(b->args.at[i]) : 0;
    }
    if (ndots == 1 && n.anew)
        n.sums = n.regs > n.sums ? n.regs : n.sums;
    n.idles |= ndots > 1;
    return ndots ? n : (struct needs){0};
}

/* Returns, for each need, the maximum over the loops of the block. The needs of a loop include the needs of
 * its inner loops. */
static struct needs needs_of(const struct block *b)
{
    struct needs most = {0};
    for (const struct op *o = b->first; o; o = o->next)
        for (int i = 0; i < o->nregions; i++) {
            struct needs n = needs_of(o->regions[i]), own = {0};
            if (o->code == OP_for)
                own = needs_of_loop(o);
            n.sums += own.sums;
            n.regs += own.regs;
            n.bytes += own.bytes;
            most.sums = n.sums > most.sums ? n.sums : most.sums;
            most.regs = n.regs > most.regs ? n.regs : most.regs;
            most.bytes = n.bytes > most.bytes ? n.bytes : most.bytes;
            most.idles |= n.idles || own.idles;
        }
    return most;
}

enum { PRODUCER_WARPS = 1, PERMILLE = 1000, THREADS_WARPGROUP = 32 * WARPGROUP_WARPS };

/* Returns the number of registers per thread that accumulators may take if two CTAs share an SM and all threads have
 * the same number of registers. */
static int64_t equal_share(const struct func *f)
{
    int regs = target_regs(f->target, 2 * 32 * (f->num_warps + PRODUCER_WARPS));
    return (int64_t)regs * f->module->params->persistent_grid_sums_permille / PERMILLE;
}

static bool fit_by_memory(const struct func *f, int64_t bytes)
{
    return target_ctas(f->target, 0, 0, bytes + f->module->params->persistent_grid_barrier_bytes) >= 2;
}

/* Returns whether two CTAs with one consumer warpgroup each fit on an SM if setmaxnreg gives most registers
 * to the consumers, but do not fit if all threads have the same number. Returns false if tensor cores never
 * wait for arithmetic: one CTA with all registers is then faster (overlap_epilogue.c). Buffers of the loops
 * reuse the shared memory of tiles that are read only before the loops. */
static bool divides(const struct func *f, const struct room *r)
{
    const struct needs n = needs_of(f->body);
    const int64_t later = n.bytes > r->early_bytes ? n.bytes - r->early_bytes : 0;
    int regs[2];
    if (f->num_warps != WARPGROUP_WARPS || !n.idles || n.regs <= equal_share(f))
        return false;
    cost_role_regs(f, 2, regs);
    return fit_by_memory(f, r->ring_bytes + later) &&
           n.regs <= (int64_t)regs[0] * f->module->params->warp_specialize_divided_permille / PERMILLE;
}

bool cost_two_ctas_fit(struct func *f)
{
    struct room r = {.func = f};
    func_walk(f, take, &r);
    return fit_by_memory(f, r.ring_bytes) && (needs_of(f->body).sums <= equal_share(f) || divides(f, &r));
}

/* Returns whether `dot` is a dot directly in a `for`, and its first operand is defined outside this loop. */
static bool repeats_operand(const struct op *dot)
{
    const struct op *loop = dot->block->parent;
    return is_dot(dot) && loop && loop->code == OP_for && value_is_outside(op_opnd(dot, 0), loop);
}

/* If o is a loop, adds up a thread's registers for the accumulators of the loop's dots and for the first
 * operands that are defined outside the loop. Raises *most to this sum if there is such an operand. */
static void find_most_regs(struct op *o, void *most)
{
    enum { REGISTER_BITS = 32 };
    int64_t bits = 0, *regs = most;
    bool repeats = false;
    for (const struct op *dot = o->code == OP_for ? o->regions[0]->first : NULL; dot; dot = dot->next)
        for (int i = 0; i <= 2 && is_dot(dot); i += 2) {
            const struct type *t = op_opnd(dot, i)->type;
            bits += i == 2 || repeats_operand(dot) ? type_elems(t) * type_elem_bits(t) : 0;
            repeats |= repeats_operand(dot);
        }
    bits = repeats ? bits / REGISTER_BITS / (32 * o->block->func->num_warps) : 0;
    *regs = bits > *regs ? bits : *regs;
}

bool cost_keeps_operand(const struct op *dot)
{
    enum { PERCENT = 100 };
    struct func *f = dot->block->func;
    const struct params *p = f->module->params;
    const struct type *t = op_result(dot)->type;
    const struct mma_engine *e = target_engine(f->target, true);
    int64_t regs = 0;
    if (!e || !repeats_operand(dot) || t->shape[1] > p->legalize_dot_kept_columns ||
        t->shape[0] * e->warps > e->rows * f->num_warps || needs_of(f->body).sums <= equal_share(f))
        return false;
    func_walk(f, find_most_regs, &regs);
    return regs * PERCENT <= (int64_t)f->target->regs_thread * p->legalize_dot_kept_percent;
}

int64_t cost_shared_bytes(const struct func *f, enum shared_share share)
{
    enum { WHOLE = 100 };
    const struct params *p = f->module->params;
    const int64_t all = f->target->smem_bytes;
    return share == SHARE_all    ? all - p->warp_specialize_reserve_bytes
           : share == SHARE_most ? all - all / p->pipeline_loops_reserve_part
                                 : all * p->pipeline_loops_shared_percent / WHOLE;
}

/* -- registers of roles -- */

static void note_vote(struct op *o, void *ctx)
{
    *(bool *)ctx |= o->code == OP_warp_all;
}

/* Returns whether warps vote (warp_all) in an online softmax. Then a thread needs more registers: it keeps
 * both the scores and their exponentials until the vote (keep_maximum.c), or the exponentials in 32 bits
 * until the next iteration (skip_rescaling.c, overlap_dots.c). */
static bool has_votes(const struct func *f)
{
    bool votes = false;
    block_walk(f->body, note_vote, &votes);
    return votes;
}

void cost_role_regs(const struct func *f, int ctas, int regs[2])
{
    enum { CONSUMER, PRODUCER };
    const struct params *params = f->module->params;
    int groups = f->num_warps / WARPGROUP_WARPS, own = ctas > 1 || has_votes(f)
                                                           ? params->warp_specialize_producer_regs_least
                                                           : params->warp_specialize_producer_regs;
    regs[PRODUCER] = own / REGS_UNIT * REGS_UNIT;
    int left = f->target->regs_sm / THREADS_WARPGROUP / ctas - regs[PRODUCER];
    int each = left / groups, most = params->warp_specialize_consumer_regs_most;
    regs[CONSUMER] = (each < most ? each : most) / REGS_UNIT * REGS_UNIT;
}

int cost_ctas_of_roles(struct func *f)
{
    if (f->num_warps > WARPGROUP_WARPS)
        return cost_two_ctas_fit(f) ? 0 : 1;
    struct room r = {.func = f};
    func_walk(f, take, &r);
    return divides(f, &r) ? 2 : 0;
}

/* -- cycles of units -- */

enum { PARTITIONS = 4, LANES = 32, WARP_BYTES = 16 * LANES };

int cost_groups(const struct func *f)
{
    return f->num_warps > PARTITIONS ? f->num_warps / PARTITIONS : 1;
}

static int divide_up(int64_t n, int64_t by)
{
    return (int)((n + by - 1) / by);
}

/* Returns the type of the buffer or tile that o moves from or to memory; NULL if o does not access memory. */
static const struct type *moved_by(const struct op *o)
{
    switch (o->code) {
    case OP_tensor_copy:
    case OP_tensor_put:
    case OP_async_copy: return op_opnd(o, 0)->type;
    case OP_store:
    case OP_shared_store: return op_opnd(o, 1)->type;
    case OP_load:
    case OP_atomic_rmw:
    case OP_shared_gather:
    case OP_shared_load: return op_result(o)->type;
    default: return NULL;
    }
}

/* Sets cycles[] to the estimated cycles of the access o, which moves a tile or buffer of type *t. One
 * instruction of a warp moves 16 bytes for each thread, or fewer if fewer bytes are contiguous. */
static void access_cycles(const struct op *o, const struct type *t, int cycles[UNIT_count])
{
    const struct func *f = o->block->func;
    const int64_t bytes = type_elems(t) * type_elem_bytes(t);
    const enum unit unit = op_info[o->code].family == FAMILY_layout ? UNIT_shared : UNIT_memory;
    const bool is_one_thread = o->code == OP_tensor_copy;
    const int groups = is_one_thread ? 1 + (int)op_int(o, ATTR_multicast) : cost_groups(f);
    cycles[unit] = divide_up(bytes, (int64_t)f->target->rates[unit] * groups);
    const int64_t vec_bytes = op_int(o, ATTR_vec) * type_elem_bytes(t) * LANES;
    if (!is_one_thread && o->code != OP_tensor_put)
        cycles[UNIT_issue] =
            divide_up(bytes, (vec_bytes > WARP_BYTES ? WARP_BYTES : vec_bytes) * f->num_warps);
}

int64_t cost_dot_cycles(const struct op *o)
{
    const struct type *b = op_opnd(o, DOT_b)->type;
    const struct target *t = o->block->func->target;
    return type_elems(op_result(o)->type) * b->shape[b->rank - 2] * type_elem_bytes(b) /
           target_rate(t, target_engine(t, starts_dot(o)));
}

static void dot_cycles(const struct op *o, int cycles[UNIT_count])
{
    enum { MMA = 16 * 8 * 32 }; /* rows x columns x bytes of K of one instruction of mma.sync */
    const struct func *f = o->block->func;
    const struct type *b = op_opnd(o, DOT_b)->type;
    const int groups = cost_groups(f);
    const int64_t products = type_elems(op_result(o)->type) * b->shape[b->rank - 2] / groups;
    if (starts_dot(o) || fragment_for(o)) {
        cycles[UNIT_tensor] = divide_up(cost_dot_cycles(o), groups);
        cycles[UNIT_issue] = starts_dot(o) ? 0 : divide_up(products * type_elem_bytes(b), MMA * PARTITIONS);
    } else {
        cycles[UNIT_issue] = divide_up(products, LANES * PARTITIONS);
    }
}

static bool is_special(const struct op *o)
{
    return op_info[o->code].family == FAMILY_math && op_has(o, COSTLY);
}

/* Returns the number of shuffle rounds of a reduction or scan. There is one round for each lane bit of the
 * layout that changes the index along the axis. */
static int shuffle_rounds(const struct op *o)
{
    const struct layout *l = op_opnd(o, 0)->type->layout;
    int n = 0, index[RANK_MAX];
    for (int i = 0; l && op_attr(o, ATTR_axis) && i < l->nbits[IN_lane]; i++) {
        layout_split_coord(l, layout_basis(l, IN_lane, i), index);
        n += index[op_int(o, ATTR_axis)] != 0;
    }
    return n;
}

int cost_latency(const struct op *o)
{
    const int *latency = o->block->func->target->latency_cycles;
    if (moved_by(o))
        return latency[op_info[o->code].family == FAMILY_layout ? LATENCY_shared : LATENCY_global];
    return is_dot(o)                                    ? latency[LATENCY_mma]
           : o->code == OP_convert                      ? latency[LATENCY_warp]
           : o->code == OP_reduce || o->code == OP_scan ? latency[LATENCY_warp] * shuffle_rounds(o)
           : is_special(o)                              ? latency[LATENCY_sfu]
                                                        : 0;
}

void cost_cycles(const struct op *o, int cycles[UNIT_count])
{
    enum {
        SHUFFLE_SLOTS = 2,
        REDUCE_LANES_SLOTS = 10,
        SPECIAL_SLOTS = 2,
        COSTLY_SLOTS = 8,
        REGISTER_BITS = 32
    };
    const struct func *f = o->block->func;
    const struct type *moved = moved_by(o), *t = o->nresults ? op_result(o)->type : NULL;
    memset(cycles, 0, UNIT_count * sizeof *cycles);
    if (is_dot(o)) {
        dot_cycles(o, cycles);
    } else if (moved) {
        access_cycles(o, moved, cycles);
    } else if (t && !op_has(o, FREE) && !op_has(o, EFFECT) && t->kind != TY_shared && o->code != OP_const &&
               o->code != OP_splat) {
        const struct type *x = o->nopnds && op_opnd(o, 0) ? op_opnd(o, 0)->type : t;
        const bool packs = type_is_float(x) && o->code != OP_cmp && o->code != OP_ftrunc;
        const int n = type_is_tile(x) ? tile_regs(x, f->num_warps, packs ? 0 : REGISTER_BITS) : 1;
        if (is_special(o))
            cycles[UNIT_special] = n * LANES * PARTITIONS / f->target->rates[UNIT_special];
        cycles[UNIT_issue] = o->code == OP_convert ? n * SHUFFLE_SLOTS
                             : o->nregions         ? n + SHUFFLE_SLOTS * shuffle_rounds(o) * tile_nregs(t)
                             : is_special(o)       ? n * SPECIAL_SLOTS
                             : op_has(o, COSTLY)   ? n * COSTLY_SLOTS
                                                   : n;
    }
}
