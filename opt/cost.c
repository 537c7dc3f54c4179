/* cost.c: the cost model that passes share (cost.h). The target row of the GPU gives the hardware's facts
 * (ir/target/target.h), and ir/params.h gives the thresholds.
 *
 * Passes ask whether two CTAs fit on an SM before layouts and buffers exist. So cost.c estimates the sizes of the
 * rings of buffers and of the accumulators that the kernel will have. Consecutive loops share a ring if they load
 * tiles of the same types, and they share the registers of accumulators. */
#include "opt/cost.h"
#include "opt/passes.h"
#include "ir/target/wgmma.h"

/* -- two CTAs on an SM -- */

struct room {
    const struct func *func;
    VEC(const struct op *) loads;
    int64_t ring_bytes;
};

/* The number of loads in o's block, up to and including o, that load a tile of o's type. */
static int place_among_alike(const struct op *o)
{
    int n = 0;
    for (const struct op *x = o; x; x = x->prev)
        n += x->code == o->code && op_result(x)->type == op_result(o)->type;
    return n;
}

/* Can load o use the ring of a load in another loop? */
static bool shares_ring(const struct room *r, const struct op *o)
{
    for (int i = 0; i < r->loads.n; i++) {
        const struct op *x = r->loads.at[i];
        if (op_result(x)->type == op_result(o)->type && !block_is_inside(x->block, o->block) &&
            !block_is_inside(o->block, x->block) && place_among_alike(x) == place_among_alike(o))
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

bool cost_two_ctas_fit(struct func *f)
{
    enum { PRODUCER_WARPS = 1, PERMILLE = 1000 };
    const struct params *params = f->module->params;
    struct room r = {.func = f};
    func_walk(f, take, &r);
    const struct target *t = f->target;
    int regs = target_regs(t, 2 * 32 * (f->num_warps + PRODUCER_WARPS));
    return sums(f->body) <= regs * params->persistent_grid_sums_permille / PERMILLE &&
           target_ctas(t, 0, 0, r.ring_bytes + params->persistent_grid_barrier_bytes) >= 2;
}

/* -- registers of roles -- */

void cost_role_regs(const struct func *f, int groups, int regs[2])
{
    enum { CONSUMER, PRODUCER, THREADS_WARPGROUP = 32 * WGMMA_WARPS };
    const struct params *params = f->module->params;
    regs[PRODUCER] = params->warp_specialize_producer_regs / REGS_UNIT * REGS_UNIT;
    int left = f->target->regs_sm / THREADS_WARPGROUP - regs[PRODUCER];
    int each = left / groups, most = params->warp_specialize_consumer_regs_most;
    regs[CONSUMER] = (each < most ? each : most) / REGS_UNIT * REGS_UNIT;
}
