/* simplify.h: the passes of this folder make ops fewer or cheaper and keep their meaning. In reading
 * order: fold.c (constants and identities), cse.c, licm.c, dce.c, sink.c; unroll.c, single_trip_loops.c and
 * dedup_loads.c, which rewrite loops and loads of traced functions; remat.c, which runs on scheduled functions. Below
 * are the functions that other passes share. */
#ifndef NESO_OPT_SIMPLIFY_SIMPLIFY_H
#define NESO_OPT_SIMPLIFY_SIMPLIFY_H

#include "ir/ir.h"

/* -- cse.c -- */
bool attrs_equal(const struct op *a, const struct op *b);

/* -- dce.c -- */
bool op_is_dead(const struct op *o); /* true if o has neither a use nor a side effect */
/* Builds a copy of the `for` in front of `old`, whose body moves to the copy; the caller erases `old`. The copy
 * carries those values of `old` for which `keep` is true (NULL: all) and the `more` ones, for which the caller adds
 * what the body yields (loop_yield). */
struct op *loop_carry(struct op *old, const bool *keep, int nmore, struct value *const *more);
void loop_yield(struct op *loop, int nmore, struct value *const *more);
struct value *loop_runs(struct builder *b, const struct op *loop); /* i1 built at b: does the loop run any iteration? */

#endif
