/* cost.c: the cost model that passes share (cost.h). The target row of the GPU gives the hardware's facts
 * (ir/target/target.h), and ir/params.h gives the thresholds.
 *
 * The question whether two CTAs fit on an SM is asked before layouts and buffers exist. So the answer is an estimate
 * from the rings, operands and accumulators that the kernel will have. Consecutive loops share a ring where they load tiles of
 * the same types, and they share the registers of accumulators. */
#include "opt/cost.h"
#include "opt/passes.h"
#include "ir/target/wgmma.h"

/* -- two CTAs on an SM -- */

struct room {
    const struct func *func;
    VEC(const struct op *) loads;
    int64_t ring_bytes;
};

/* Do both loads read tiles of the same elements and extents, in one order or the other? Such tiles may lie alike in
 * memory, and then their buffers have one type. */
static bool are_alike(const struct op *a, const struct op *b)
{
    const struct type *x = op_result(a)->type, *y = op_result(b)->type;
    if (a->code != b->code || type_elem(x) != type_elem(y) || x->rank != y->rank)
        return false;
    return x == y || (x->rank == 2 && x->shape[0] == y->shape[1] && x->shape[1] == y->shape[0]);
}

/* The number of loads in o's block, up to o and with o, that load tiles like o's. */
static int place_among_alike(const struct op *o)
{
    int n = 0;
    for (const struct op *x = o; x; x = x->prev)
        n += x->code == o->code && are_alike(x, o);
    return n;
}

/* Can load o use the ring of a load in another loop? */
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

static void take(struct op *o, void *ctx)
{
    struct room *r = ctx;
    const struct op *loop = o->block->parent;
    if (o->code != OP_tensor_load)
        return;
    const struct type *t = op_result(o)->type;
    int stages = loop && loop->code == OP_for ? opt_stages(r->func, loop) : 1;
    if (!shares_ring(r, o))
        r->ring_bytes += type_elems(t) * type_elem_bytes(t) * stages;
    VEC_PUSH(r->func->module->scratch, &r->loads, o);
}

/* The number of registers of a thread that hold the accumulators of dots in loops. */
static int64_t sums(const struct block *b)
{
    enum { REGISTER_BITS = 32 };
    const bool in_loop = b->parent && b->parent->code == OP_for;
    int64_t own = 0, most = 0;
    for (const struct op *o = b->first; o; o = o->next) {
        if (in_loop && (o->code == OP_dot || o->code == OP_wgmma))
            own += tile_regs(op_result(o)->type, b->func->num_warps, REGISTER_BITS);
        for (int i = 0; i < o->nregions; i++) {
            int64_t inner = sums(o->regions[i]);
            most = inner > most ? inner : most;
        }
    }
    return own + most;
}

/* Does a copy by a tensor map fill v? */
static bool is_copied(const struct value *v)
{
    const struct op *o = v->def;
    while (o && (o->code == OP_to_shared || o->code == OP_trans || o->code == OP_convert))
        o = op_opnd(o, 0)->def;
    return o && o->code == OP_tensor_load;
}

/* The bytes of the operands that dots of a loop read from shared memory in each iteration, and that threads store there
 * in front of the loop. */
static int64_t kept_operands(const struct block *b)
{
    const bool in_loop = b->parent && b->parent->code == OP_for;
    int64_t own = 0, most = 0;
    for (const struct op *o = b->first; o; o = o->next) {
        for (int i = 0; i < 2 && in_loop && (o->code == OP_dot || o->code == OP_wgmma); i++) {
            const struct value *v = op_opnd(o, i);
            if (value_is_outside(v, b->parent) && !is_copied(v))
                own += type_elems(v->type) * type_elem_bytes(v->type);
        }
        for (int i = 0; i < o->nregions; i++) {
            int64_t inner = kept_operands(o->regions[i]);
            most = inner > most ? inner : most;
        }
    }
    return own > most ? own : most;
}

/* The most dots that stand in one loop. */
static int dots_together(const struct block *b)
{
    int own = 0, most = 0;
    for (const struct op *o = b->first; o; o = o->next) {
        own += b->parent && (o->code == OP_dot || o->code == OP_wgmma);
        for (int i = 0; i < o->nregions; i++) {
            int inner = dots_together(o->regions[i]);
            most = inner > most ? inner : most;
        }
    }
    return own > most ? own : most;
}

enum { PRODUCER_WARPS = 1, PERMILLE = 1000, THREADS_WARPGROUP = 32 * WGMMA_WARPS };

static bool fit_by_memory(struct func *f)
{
    struct room r = {.func = f};
    func_walk(f, take, &r);
    int64_t bytes = r.ring_bytes + kept_operands(f->body) + f->module->params->persistent_grid_barrier_bytes;
    return target_ctas(f->target, 0, 0, bytes) >= 2;
}

/* Do two CTAs fit by registers, if each thread has as many? */
static bool fit_by_equal_registers(const struct func *f)
{
    int regs = target_regs(f->target, 2 * 32 * (f->num_warps + PRODUCER_WARPS));
    return sums(f->body) <= regs * f->module->params->persistent_grid_sums_permille / PERMILLE;
}

/* Do two CTAs fit by registers, if setmaxnreg gives most of them to one consumer warpgroup? Where a loop has one dot,
 * which the producer alone keeps busy, the consumer does better with all registers (overlap_epilogue.c). */
static bool fit_by_divided_registers(const struct func *f)
{
    const struct params *params = f->module->params;
    int regs[2];
    if (f->num_warps != WGMMA_WARPS || dots_together(f->body) < 2)
        return false;
    cost_role_regs(f, 2, regs);
    return sums(f->body) <= regs[0] * params->warp_specialize_divided_permille / PERMILLE;
}

bool cost_two_ctas_fit(struct func *f)
{
    return fit_by_memory(f) && (fit_by_equal_registers(f) || fit_by_divided_registers(f));
}

/* -- registers of roles -- */

void cost_role_regs(const struct func *f, int ctas, int regs[2])
{
    enum { CONSUMER, PRODUCER };
    const struct params *params = f->module->params;
    int groups = f->num_warps / WGMMA_WARPS,
        own = ctas > 1 ? params->warp_specialize_producer_regs_least : params->warp_specialize_producer_regs;
    regs[PRODUCER] = own / REGS_UNIT * REGS_UNIT;
    int left = f->target->regs_sm / THREADS_WARPGROUP / ctas - regs[PRODUCER];
    int each = left / groups, most = params->warp_specialize_consumer_regs_most;
    regs[CONSUMER] = (each < most ? each : most) / REGS_UNIT * REGS_UNIT;
}

int cost_ctas_of_roles(struct func *f)
{
    if (f->num_warps > WGMMA_WARPS)
        return cost_two_ctas_fit(f) ? 0 : 1;
    return fit_by_memory(f) && !fit_by_equal_registers(f) && fit_by_divided_registers(f) ? 2 : 0;
}
