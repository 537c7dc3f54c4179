/* simplify.h: what the passes of this folder share. They make fewer or cheaper ops of the same meaning, at any
 * degree or while the function is traced. */
#ifndef NESO_OPT_SIMPLIFY_SIMPLIFY_H
#define NESO_OPT_SIMPLIFY_SIMPLIFY_H

#include "ir/ir.h"

/* -- cse.c -- */
bool attrs_equal(const struct op *a, const struct op *b);

/* -- dce.c -- */
bool op_is_dead(const struct op *o); /* has it neither a use nor an effect? */
/* The `for` again in front of `old`, which is left empty, to be erased: it carries what `keep` says (NULL: all) and more;
 * what it yields for these is to be added (loop_yield). */
struct op *loop_carry(struct op *old, const bool *keep, int nmore, struct value *const *more);
void loop_yield(struct op *loop, int nmore, struct value *const *more);
struct value *loop_runs(struct builder *b, const struct op *loop); /* at all? computed at b */

#endif
