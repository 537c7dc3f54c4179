/* SPDX-License-Identifier: MIT */
/* cost.h: estimates of registers, CTAs per SM, shared memory and cycles that several passes use. The functions do not
 * change the IR. */
#ifndef NESO_OPT_COST_H
#define NESO_OPT_COST_H

#include "ir/ir.h"
#include "ir/target/target.h"

/* Do two CTAs fit on an SM, according to the sizes of their rings of buffers and accumulators? Then one CTA runs its
 * dots while the other stores its tile or begins its next program. Such a kernel needs no overlap between programs
 * of one CTA (persistent_grid.c), and a CTA must not take all registers of an SM (warp_specialize.c). */
bool cost_two_ctas_fit(struct func *f);
/* The number of CTAs on an SM, if setmaxnreg should divide the SM's registers among the roles of these CTAs; 0: all
 * threads keep the same number of registers. */
int cost_ctas_of_roles(struct func *f);
/* Computes the registers that setmaxnreg gives to a thread if `ctas` CTAs share an SM: regs[0] to a thread of a
 * consumer, regs[1] to one of the producer. */
void cost_role_regs(const struct func *f, int ctas, int regs[2]);
/* The shared memory of a CTA that rings and the buffers live together with them may take: all but what barriers need;
 * most of it; or so much that two CTAs fit on an SM. */
enum shared_share { SHARE_all, SHARE_most, SHARE_of_two_ctas };
int64_t cost_shared_bytes(const struct func *f, enum shared_share share);
/* Estimates for how many cycles o keeps each unit of an SM busy. Four warps, one on each partition of the SM, execute
 * ops together; if the program has more, each such group does its part of an op, and the result is for one group. */
void cost_cycles(const struct op *o, int cycles[UNIT_count]);
/* The cycles for which a dot keeps the tensor cores of an SM busy, for all warps of a CTA. */
int64_t cost_dot_cycles(const struct op *o);
/* The cycles from the last one in which o occupies its units to its result. */
int cost_latency(const struct op *o);
int cost_groups(const struct func *f); /* the groups of four warps, without the producer's */

#endif
