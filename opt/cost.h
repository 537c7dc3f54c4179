/* cost.h: estimates of registers and of CTAs per SM that several passes use. The functions do not change the IR. */
#ifndef NESO_OPT_COST_H
#define NESO_OPT_COST_H

#include "ir/ir.h"

/* Do two CTAs fit on an SM, according to the sizes of their rings of buffers and accumulators? Then one CTA runs its
 * dots while the other stores its tile or begins its next program. Such a kernel needs no overlap between programs
 * of one CTA (persistent_grid.c), and a CTA must not take all registers of an SM (warp_specialize.c). */
bool cost_two_ctas_fit(struct func *f);
/* Computes the register limits for setmaxnreg, with which consumers and producer together use all registers of an
 * SM: regs[0] for a thread of each of the `groups` consumer warpgroups, regs[1] for a thread of the producer. */
void cost_role_regs(const struct func *f, int groups, int regs[2]);

#endif
