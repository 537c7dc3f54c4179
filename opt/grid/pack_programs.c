/* pack_programs.c: runs several programs of one warp each in one CTA.
 *
 *     kernel @softmax(..) warps=1      =>      kernel @softmax(..) warps=1 packs=4
 *
 * A GPU starts about one CTA a nanosecond: 4,096 rows of 1 KB take as long to start as to copy. With four programs in
 * a CTA they start in a quarter of that time. The launch chooses the number of programs in a CTA, and the kernel
 * reads it from %ntid: program %ctaid * (%ntid / 32) + %tid / 32. With 32 threads this is the kernel without packing.
 * The launch does not pack a small grid, since each program then has a warp scheduler for itself.
 *
 * The pass is legal if a program's lanes communicate by shuffles only: a barrier or shared memory would concern all
 * programs of the CTA. Needs: barriers and shared memory are final. */
#include "opt/passes.h"

/* Prints and assertions report the thread's number within its program. */
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
