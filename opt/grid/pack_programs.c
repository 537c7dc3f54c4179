/* pack_programs.c: programs of one warp share a CTA, a warp each.
 *
 *     kernel @softmax(..) warps=1      =>      kernel @softmax(..) warps=1 packs=4
 *
 * A GPU starts CTAs one after the other, about one a nanosecond: 4,096 rows of 1 KB take as long to start as
 * to move. Four programs in a CTA start in a quarter of the time. How many share one is the launch's choice,
 * and %ntid's to tell: program %ctaid * (%ntid / 32) + %tid / 32; with 32 threads it is the kernel as it was.
 * Few programs are not packed: each has an SM's warp schedulers for itself.
 *
 * Legal where a program's lanes speak with each other by shuffles alone: a barrier or shared
 * memory would be all programs'.
 * Needs: barriers and shared memory are known.
 */
#include "opt/passes.h"

/* Prints and assertions say which thread of its program they speak of. */
static void look_at(struct op *o, void *ctx)
{
    bool *forbidden = ctx;
    *forbidden |=
        o->code == OP_barrier || o->code == OP_shared_alloc || o->code == OP_print || o->code == OP_assert;
}

void opt_pack_programs(struct func *f)
{
    bool forbidden = f->num_warps != 1 || f->extra_warps || f->num_ctas != 1 || f->shared_bytes ||
                     f->persistent || f->pair_multiple || f->maps.n;
    if (!forbidden)
        func_walk(f, look_at, &forbidden);
    if (forbidden)
        return;
    f->packs = f->module->params->pack_programs_most;
    opt_explain(f, (struct explanation){DECISION_packed, .numbers = {f->packs}});
}
