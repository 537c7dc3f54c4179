/* cost.h: questions about registers and CTAs that several passes ask; each answer changes nothing. */
#ifndef NESO_OPT_COST_H
#define NESO_OPT_COST_H

#include "ir/ir.h"

/* Do two CTAs fit on an SM, by what their rings and accumulators take? Then one multiplies while the other stores its tile or
 * begins the next, and needs no other program's work in between (persistent_grid.c), nor all registers of an SM
 * (warp_specialize.c). */
bool cost_two_ctas_fit(struct func *f);
/* What setmaxnreg leaves a thread of each of `groups` consumer warpgroups (regs[0]) and of the producer's (regs[1]), where
 * they share out all registers of an SM. */
void cost_role_regs(const struct func *f, int groups, int regs[2]);

#endif
