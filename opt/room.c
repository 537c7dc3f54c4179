/* room.c: do two CTAs fit on an SM, by what their rings and accumulators take? Then one multiplies while the
 * other stores its tile or begins the next, and needs no other program's work in between (persist.c), nor all
 * registers of an SM (warps.c). */
#include "opt/passes.h"

struct room {
    const struct func *func;
    int64_t ring_bytes;
    int64_t sums; /* registers of a thread that hold accumulators */
};

static void take(struct op *o, void *ctx)
{
    struct room *r = ctx;
    const struct op *loop = o->block->parent;
    const struct type *t = o->nresults ? op_result(o)->type : NULL;
    bool in_loop = loop && loop->code == OP_for;
    if (o->code == OP_tensor_load) {
        int64_t stages = in_loop ? op_int(loop, ATTR_stages) : 1;
        r->ring_bytes += type_elems(t) * type_elem_bytes(t) * (stages ? stages : r->func->num_stages);
    }
    if (in_loop && (o->code == OP_dot || o->code == OP_wgmma))
        r->sums += type_elems(t) / (32 * r->func->num_warps);
}

bool opt_has_room_for_two(struct func *f)
{
    enum { BARRIERS_BYTES = 1 << 10, FEEDER_WARPS = 1 };
    struct room r = {.func = f};
    func_walk(f, take, &r);
    const struct target *t = f->target;
    int regs = target_regs(t, 2 * 32 * (f->num_warps + FEEDER_WARPS));
    return r.sums <= regs * 2 / 3 && target_ctas_by_memory(t, r.ring_bytes + BARRIERS_BYTES) >= 2;
}
