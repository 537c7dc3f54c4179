/* SPDX-License-Identifier: MIT */
/* load_ahead.c: makes each iteration of a loop load, into registers, the tiles that the next iteration uses.
 *
 *     for %t = 0 to %n step 1 carry(%y = %a) {       guard: X and Y are apart
 *       %x = load %X + %t ...                        %first = load %X + 0 ..., 0 < %n
 *       %z = f(%x, %y)                           =>  for %t = 0 to %n step 1 carry(%y = %a, %x = %first) {
 *       store %Y + %t ..., %z                          %next = load %X + (%t + 1) ..., (is there such an iteration?)
 *       yield %z                                       %z = f(%x, %y)
 *     }                                                store %Y + %t ..., %z
 *                                                      yield %z, %next
 *                                                    }
 *
 * In a loop that carries a state (a recurrence, or a sum or a maximum over warps), each iteration waits for its own
 * loads and for the previous iteration. So each iteration takes at least the latency of memory, even if its
 * arithmetic is short. If tiles are loaded an iteration ahead, they arrive while the arithmetic runs. If an
 * iteration is short and reads little, the pass first unrolls the loop, so that the loads of several
 * iterations are in flight at the same time. The pass does not change a loop with much arithmetic if many
 * CTAs share an SM: some CTAs then load while others compute.
 *
 * The addresses must be computed from the loop's counter and carried values by pure ops (rotate_loads.c). The stores
 * of the loop must not write to the loaded memory. Guards compare the address ranges at launch (alias.c); if ranges
 * overlap, the launch uses the fallback kernel, which is compiled without this pass. The pass does not change a loop
 * that contains loops, branches, atomics, volatile loads, or other ops with effects (such as assertions). The pass
 * does not change kernels with dots, because pipeline_loops.c copies the tiles of such kernels ahead. Needs: traced
 * ops, after single_trip_loops. */
#include "opt/analysis/affine.h"
#include "opt/passes.h"
#include "opt/pipeline/rotate_loads.h"
#include "opt/simplify/simplify.h"

#include "ir/target/target.h"

enum { LANES = 32, WHOLE = 100, REGISTER_BITS = 32, COSTLY_SLOTS = 8, OTHER_REGS = 20 };

/* Counts and properties of the ops in a loop's body. */
struct contents {
    /* writes: the body contains a store; waits: threads wait for other threads, in a reduction or a scan; other: the
     * body contains an op that excludes the rewrite */
    bool writes, waits, other;
    int slots;       /* an estimate of the instructions that a thread executes for elementwise ops */
    int float_slots; /* the part of `slots` that computes with floats */
    int regs;        /* the registers of a thread that the largest tile of floats takes */
    int64_t bytes;   /* the bytes of the tiles that an iteration loads */
};

static void look(struct op *o, void *ctx)
{
    struct contents *c = ctx;
    c->writes |= o->code == OP_store;
    c->waits |= op_has(o, COSTLY) && o->nregions > 0;
    c->other |= (op_has(o, WRITES) && o->code != OP_store) || op_has(o, EFFECT) ||
                (o->code == OP_load && op_int(o, ATTR_volatile));
    const struct type *t = o->nresults ? op_result(o)->type : NULL;
    if (!t || !type_is_tile(t))
        return;
    const int regs = tile_regs(t, o->block->func->num_warps, REGISTER_BITS),
              slots = op_has(o, ELEMENTWISE) ? regs * (op_has(o, COSTLY) ? COSTLY_SLOTS : 1) : 0;
    c->slots += slots;
    c->float_slots += slots && (type_is_float(t) || type_is_float(op_opnd(o, 0)->type)) ? slots : 0;
    c->regs = type_is_float(t) && regs > c->regs ? regs : c->regs;
    c->bytes += o->code == OP_load ? type_elems(t) * type_elem_bytes(t) : 0;
}

/* Marks as invariant the loads that may move to the previous iteration. If the loop writes memory (`writes`),
 * adds guards. Marks the load of a tile only if all marked loads then take at most `most` registers of a
 * thread; for scalars there is no limit. Returns the number of registers that the marked loads take. */
static int mark(struct affine_table *t, struct op *loop, bool writes, int most)
{
    int regs = 0;
    for (struct op *o = loop->regions[0]->first; o; o = o->next) {
        struct guards g = {0};
        if (o->code != OP_load || !can_rotate_load(o))
            continue;
        const int own = tile_regs(op_result(o)->type, t->f->num_warps, 0), more = own ? own : 1;
        const bool is_much = type_is_tile(op_result(o)->type) && regs + more > most;
        if (is_much || (writes && may_be_written_in_loop(t, o, &g))) {
            opt_explain(t->f, &(struct explanation){is_much ? DECISION_no_registers_ahead
                                                            : DECISION_may_be_written_behind,
                                                    .at = o, .values = {op_result(o)}});
            continue;
        }
        op_set_int(o, ATTR_invariant, 1);
        guards_add(t->f, &g);
        regs += more;
    }
    return regs;
}

/* Returns the unroll factor. The factor doubles until the arithmetic takes as long as the loads
 * (load_ahead_slots), but only while the tiles fit into `most` registers, and at most to
 * load_ahead_iterations. `regs` is the number of registers that the tiles of one iteration take. The factor
 * is 1 if the body has a reduction or a scan in which threads wait for each other: one iteration then takes as
 * long as its loads. */
static int factor_of(const struct op *loop, const struct contents *c, int regs, int most)
{
    const struct params *params = op_params(loop);
    int n = 1;
    while (!c->waits && 2 * n * regs <= most && 2 * n <= params->load_ahead_iterations &&
           n * c->slots < params->load_ahead_slots)
        n *= 2;
    return n;
}

/* Returns whether other CTAs on the SM compute while one CTA waits for its loads. This holds if an
 * iteration's arithmetic is long, and if enough CTAs, with enough bytes in flight, fit on the SM. (The
 * registers of the tiles that are live throughout an iteration limit the number of CTAs.) In this case,
 * loading ahead would cost more than it gains, because the registers of the tiles loaded ahead would reduce
 * the number of CTAs. If threads wait for each other, all warps of a CTA load at the same time, so one more
 * CTA and twice as many bytes are necessary. */
static bool others_compute(const struct func *f, const struct op *loop, const struct contents *c)
{
    const struct params *p = op_params(loop);
    int regs = c->regs + OTHER_REGS;
    for (int i = 0; i < loop->nresults; i++)
        regs += type_is_tile(loop->results[i].type)
                    ? tile_regs(loop->results[i].type, f->num_warps, REGISTER_BITS)
                    : 0;
    const int ctas = target_ctas(f->target, LANES * f->num_warps, regs, 0);
    const int64_t bytes = ctas * c->bytes;
    return c->float_slots >= p->load_ahead_slots && ctas >= p->load_ahead_ctas + c->waits &&
           bytes >= p->load_ahead_bytes * (c->waits ? 2 : 1);
}

/* Returns whether constant bounds show that the loop runs at most one iteration. */
static bool runs_once(const struct op *loop, int64_t step)
{
    int64_t lo, hi;
    return step && value_const_int(op_opnd(loop, 0), &lo) && value_const_int(op_opnd(loop, 1), &hi) &&
           (step > 0 ? hi - lo <= step : lo - hi <= -step);
}

/* Returns the loop's step; 0 if the step is not a constant. */
static int64_t step_of(const struct op *loop)
{
    int64_t step;
    return value_const_int(op_opnd(loop, 2), &step) ? step : 0;
}

static void rewrite(struct affine_table *t, struct op *loop)
{
    struct contents c = {0};
    int64_t zero;
    block_walk(loop->regions[0], look, &c);
    if (c.other || others_compute(t->f, loop, &c) || runs_once(loop, step_of(loop)) ||
        (value_const_int(op_opnd(loop, 2), &zero) && !zero))
        return;
    const int most =
        func_regs(t->f, LANES * t->f->num_warps, true) * op_params(loop)->load_ahead_percent / WHOLE;
    const int regs = mark(t, loop, c.writes, most), n = factor_of(loop, &c, regs, most);
    if (!regs)
        return;
    if (n > 1 && op_int(loop, ATTR_unroll) <= 1)
        loop = loop_unroll(loop, n);
    rotate_loads(loop, step_of(loop), true, ROTATES_tiles);
}

struct loops {
    struct func *f;
    VEC(struct op *) at;
    bool has_dot;
};

static void find_loops(struct op *o, void *ctx)
{
    struct loops *all = ctx;
    all->has_dot |= o->code == OP_dot;
    if (o->code == OP_for)
        VEC_PUSH(all->f->module->scratch, &all->at, o);
}

void opt_load_ahead(struct func *f)
{
    struct loops all = {.f = f};
    func_walk(f, find_loops, &all);
    for (int i = 0; i < all.at.n && f->target && !all.has_dot; i++)
        rewrite(affine_new(f), all.at.at[i]);
}
