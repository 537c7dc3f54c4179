/* SPDX-License-Identifier: MIT */
/* cost.h: declares the estimates of registers, CTAs per SM, shared memory and cycles that several passes use. The
 * functions do not change the IR. */
#ifndef NESO_OPT_COST_H
#define NESO_OPT_COST_H

#include "ir/ir.h"
#include "ir/target/target.h"

/* Returns whether two CTAs fit on an SM, as estimated from the sizes of their rings of buffers and of their
 * accumulators. If two CTAs fit, one CTA runs its dots while the other CTA stores its tile or begins its next
 * program. Overlap between programs of one CTA (persistent_grid.c) then gains nothing, and a CTA must not take
 * all registers of an SM (warp_specialize.c). */
bool cost_two_ctas_fit(struct func *f);
/* Returns how many CTAs run on an SM if setmaxnreg should give the roles of these CTAs different numbers of
 * registers; 0: all threads keep the same number of registers. */
int cost_ctas_of_roles(struct func *f);
/* Computes the registers that setmaxnreg gives to a thread if `ctas` CTAs share an SM: regs[0] to a thread of a
 * consumer, regs[1] to a thread of the producer. */
void cost_role_regs(const struct func *f, int ctas, int regs[2]);
/* Returns whether the dot, which wgmma computes, should keep its first operand in registers, because this operand
 * is the same in each iteration of the dot's loop. An instruction of 64 columns or fewer takes all of shared
 * memory's bandwidth to read both operands. The result is false if a warpgroup has more rows than one instruction
 * computes, if the accumulators leave registers for two CTAs on an SM, or if some loop of the function has too few
 * registers for the operand. */
bool cost_keeps_operand(const struct op *dot);
/* The part of a CTA's shared memory that rings may occupy, together with the buffers that are live at the same time.
 * SHARE_all: all shared memory except a reserve for barriers. SHARE_most: all except a larger reserve (params.h).
 * SHARE_of_two_ctas: at most so much that two CTAs fit on an SM. */
enum shared_share { SHARE_all, SHARE_most, SHARE_of_two_ctas };
int64_t cost_shared_bytes(const struct func *f, enum shared_share share);
/* Estimates for how many cycles o keeps each unit of an SM busy. Four warps, one on each partition of the SM,
 * execute an op at the same time. If the program has more warps, each group of four executes its part of the op,
 * and the result is for one group. */
void cost_cycles(const struct op *o, int cycles[UNIT_count]);
/* Returns for how many cycles the dots of all warps of a CTA keep the tensor cores of an SM busy. */
int64_t cost_dot_cycles(const struct op *o);
/* Returns the latency of o: the cycles from the end of its use of the units until its result is available. */
int cost_latency(const struct op *o);
int cost_groups(const struct func *f); /* number of groups of four warps; the producer's warps do not count */

#endif
