/* SPDX-License-Identifier: MIT */
/* cost.h: declares estimates of registers, CTAs per SM, shared memory and cycles. Several passes use these
 * estimates. The functions do not change the IR. */
#ifndef NESO_OPT_COST_H
#define NESO_OPT_COST_H

#include "ir/ir.h"
#include "ir/target/target.h"

/* Returns whether two CTAs fit on an SM. This is an estimate from the sizes of a CTA's accumulators and of
 * its rings (a ring is a buffer of several stages in shared memory, through which a loop loads a tile). If
 * two CTAs fit, one CTA runs its dots while the other CTA stores its tile or begins its next program. Overlap
 * between programs of one CTA (persistent_grid.c) then gains nothing, and a CTA must not take all registers
 * of an SM (warp_specialize.c). */
bool cost_two_ctas_fit(struct func *f);
/* The roles of a CTA are its consumer warps and its producer warps (warp_specialize.c). If setmaxnreg should
 * give the two roles different numbers of registers, returns how many CTAs then run on an SM. Returns 0 if
 * all threads should keep the same number of registers. */
int cost_ctas_of_roles(struct func *f);
/* Computes the numbers of registers that setmaxnreg gives to each thread if `ctas` CTAs share an SM: regs[0]
 * for the consumers, regs[1] for the producer. */
void cost_role_regs(const struct func *f, int ctas, int regs[2]);
/* Returns whether the dot, which wgmma computes, should keep its first operand in registers. This is possible
 * only if this operand is the same in each iteration of the dot's loop. It saves time only if the dot has few
 * columns (legalize_dot_kept_columns): reading both operands of such a dot takes all of shared memory's
 * bandwidth. Returns false if a warpgroup has more rows than one instruction computes, if two CTAs fit on an
 * SM with these accumulators, or if some loop of the function has too few registers for the operand. */
bool cost_keeps_operand(const struct op *dot);
/* Returns how many bytes of a CTA's shared memory the rings may occupy together with the buffers that are
 * live at the same time. SHARE_all: all shared memory except a reserve for barriers. SHARE_most: all except a
 * larger reserve (pipeline_loops_reserve_part). SHARE_of_two_ctas: so few that two CTAs fit on an SM. */
enum shared_share { SHARE_all, SHARE_most, SHARE_of_two_ctas };
int64_t cost_shared_bytes(const struct func *f, enum shared_share share);
/* Sets cycles[u] to the estimated number of cycles for which o keeps unit u of an SM busy. A group is four
 * warps, one on each partition of the SM; its warps execute an op at the same time. If the program has
 * several groups, each group executes its part of the op, and the numbers are for one group. */
void cost_cycles(const struct op *o, int cycles[UNIT_count]);
/* Returns for how many cycles the dot o of all warps of a CTA keeps the tensor cores of an SM busy. */
int64_t cost_dot_cycles(const struct op *o);
/* Returns the latency of o: the number of cycles from the time when o stops using the units until its result
 * is available. */
int cost_latency(const struct op *o);
/* Returns the number of groups of four warps, without the producer's warps; at least 1. */
int cost_groups(const struct func *f);

#endif
