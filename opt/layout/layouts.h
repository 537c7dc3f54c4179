/* layouts.h: what the passes of this folder share: they choose where the elements of each tile live, and lower
 * what moves them between threads. */
#ifndef NESO_OPT_LAYOUT_LAYOUTS_H
#define NESO_OPT_LAYOUT_LAYOUTS_H

#include "ir/ir.h"

/* -- lower_scan.c: the layout in which a scan is computed -- */
const struct layout *scan_layout(const struct op *o);

/* -- lower_reduce.c: a reduction or scan whose region computes what another's does; fills it -- */
void region_copy(struct op *to, const struct op *from);

/* -- assign_layouts.c: the layout of a join (rank and shape are its) whose operands are laid out as l -- */
void layout_join(struct layout *out, const struct layout *l, int rank, const int *shape);

/* -- swap_dot_operands.c: true: the dot became another, of transposed operands -- */
bool dot_turn(struct op *dot);

/* -- lower_layout_conversion.c -- */
bool convert_is_shared(const struct op *o); /* is o a convert that goes through shared memory? */
/* The best layout of a buffer through which x becomes y; so that matrices can be loaded, where that is no slower. */
void buffer_layout(struct layout *out, const struct value *x, const struct value *y, int elem_bytes);
/* A buffer's tile, as type t. */
struct value *buffer_load(struct builder *b, struct value *buf, const struct type *t);

/* -- legalize_dot.c: what assign asks about dots -- */

/* Is it one for a warpgroup's tensor cores, which read shared memory? (wgmma_for says why not) */
bool dot_is_wgmma(const struct op *dot);
/* Has it an operand of 8-bit floats, which no engine of the target takes? */
bool dot_is_narrow(const struct op *dot);
/* Does an operand of some dot follow from another's result? */
bool dots_are_chained(struct func *f);
/* The layout that the dot's accumulator must have. */
const struct layout *dot_acc_layout(const struct op *o, bool rows_first);
/* Where operand i of a wgmma is read, given how it is laid out in registers: the type of a buffer, or NULL: from registers,
 * because it was just computed there, nearly as it must lie. */
const struct type *dot_operand_buffer(const struct op *o, int i, const struct layout *x);
/* And operand i in registers, given the accumulator's layout. */
const struct layout *dot_operand_layout(const struct op *o, int i, const struct layout *acc, bool rows_first);

#endif
