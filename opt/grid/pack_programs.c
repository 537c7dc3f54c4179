/* SPDX-License-Identifier: MIT */
/* pack_programs.c: runs several programs of one warp each in one CTA.
 *
 *     kernel @softmax(..) warps=1      =>      kernel @softmax(..) warps=1 packs=4
 *
 * A GPU starts about one CTA per nanosecond: starting 4,096 CTAs takes as long as copying their 4,096 rows of 1 KB.
 * With four programs in a CTA, starting the CTAs takes a quarter of the time. The launcher chooses the number
 * of programs in a CTA (at most func.packs), and each warp computes its program id as %ctaid * (%ntid / 32) +
 * %tid / 32. (So a CTA of 32 threads runs one program.) If the grid is so small that every program can have
 * its own warp scheduler, the launcher does not pack programs.
 *
 * Packing is legal only if the lanes of a program communicate only by shuffles, because the programs of a CTA would
 * share its barriers and shared memory. So the pass runs after the passes that place barriers and shared
 * buffers. */
#include "opt/passes.h"

/* Notes whether o forbids packing: o is a barrier, a buffer in shared memory, or an op for which CTA i must
 * run program i. (Prints and assertions report the CTA's number as the program's number
 * (codegen/select/print.c), and inline assembly may read the CTA's number.) */
static void look_at(struct op *o, void *ctx)
{
    bool *forbidden = ctx;
    *forbidden |= o->code == OP_barrier || o->code == OP_shared_alloc || o->code == OP_print ||
                  o->code == OP_assert || op_asks_for_cta(o);
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
    opt_explain(f, &(struct explanation){DECISION_packed, .numbers = {f->packs}});
}
