/* SPDX-License-Identifier: MIT */
/* layouts.h: the passes of this folder choose the layout of each tile (which thread and register holds which
 * element), and lower the ops that move data between threads. In reading order: legalize_dot.c (instructions and
 * warps for dots), swap_dot_operands.c (a part of legalize_dot), modulo_contiguity.c (hints for axis_info.c),
 * assign_layouts.c, layout_of_shape.c, blocked_layout.c and pair_reductions.c (parts of assign_layouts),
 * lower_scan.c, lower_reduce.c, lower_layout_conversion.c, vectorize.c. Below are the functions that several of
 * these files, or passes of other folders, call. */
#ifndef NESO_OPT_LAYOUT_LAYOUTS_H
#define NESO_OPT_LAYOUT_LAYOUTS_H

#include "ir/ir.h"

/* -- pair_reductions.c -- */
/* A pairwise reduction is a reduction along a dimension of size 2. crossings[n][b]: the number of pairwise
 * reductions of tiles of 2^n elements in which the coordinates (ir/layout/layout.h) of the two elements of a
 * pair differ in bit b. */
struct pair_reductions {
    int crossings[COORD_BITS_MAX + 1][COORD_BITS_MAX];
};
void count_pair_reductions(struct pair_reductions *p, struct func *f);
/* Swaps coordinate bits between warps and registers in layout l if this reduces the number of pairwise
 * reductions that combine elements of different warps. Keeps the lowest `vector` register bits, because they
 * select the elements of a vector access. */
void keep_pairs_in_warps(struct layout *l, const struct pair_reductions *p, int vector);

/* -- layout_of_shape.c -- */
bool is_shape_change(const struct op *o);
/* Returns the layout that o's operands must have so that o computes a result with layout l without moving
 * data between threads. This layout is l itself, unless o is a shape op. */
const struct layout *layout_before(const struct op *o, const struct layout *l);
/* Returns the layout of the result of o, a shape op or reduction, for an operand with layout l. Returns NULL
 * if the operand's layout does not determine the result's layout. */
const struct layout *layout_after(const struct op *o, const struct layout *l);

/* -- blocked_layout.c -- */
struct axis_table;
/* Sets `order` to the dimensions of an access with addresses `ptr`, sorted by the length of runs of
 * consecutive addresses, longest first; for equal lengths, later dimensions come first. Dimensions without
 * such runs are sorted by their step, the distance between neighbouring addresses, smallest first, because
 * the lanes of a warp then access the fewest cache lines. Visits at most `most` ops to estimate a step. */
void order_in_memory(struct axis_table *axes, const struct value *ptr, int most, int *order);

/* Computes the layout that coalesces accesses to a tile of type t. `order` lists the dimensions, the most
 * contiguous one first. Each thread holds n consecutive elements of the first of these dimensions. The
 * remaining elements are distributed over the lanes of a warp, then over warps, then over additional
 * registers. The dimensions in the mask `reduced` are distributed over warps last, because a reduction inside
 * a warp needs no shared memory. Returns log2 of the number of consecutive elements: n, or fewer if the tile
 * is small. */
int blocked_layout(struct layout *l, const struct type *t, const int *order, int n, int num_warps,
                   uint32_t reduced);

/* Returns the length of the runs of consecutive elements along `dim` that one warp holds in layout l. Finds
 * only runs whose lowest index bits are the lowest register bits, followed by the lowest lane bits. */
int layout_run_of_warp(const struct layout *l, int dim);

/* Computes the layout of a broadcast's result, of type r, for an operand of type x with layout l. If the
 * basis vector of a register, lane or warp bit of l is zero, registers, lanes or warps that differ in this
 * bit hold replicas. In the result, such a bit selects between elements that the broadcast adds. If there are
 * too few such bits, additional register bits select between the remaining elements. */
void layout_widen(struct layout *out, const struct type *x, const struct type *r, const struct layout *l);

/* -- lower_scan.c -- */
const struct layout *scan_layout(const struct op *o); /* the layout that scan o requires of its operands */

/* -- lower_reduce.c -- */
void region_copy(struct op *to, const struct op *from); /* copies the region of a reduction or scan */
/* Builds the part of the one-operand reduction o that each thread computes from its own elements, and returns
 * its result: along the axis of o, it has an element for the partial result of each lane. Returns NULL if
 * lanes hold no bit of the index along the axis or all of them, or if the layout does not allow the split. */
struct value *reduce_in_threads(struct builder *b, const struct op *o);

/* -- swap_dot_operands.c -- */
/* Replaces the dot by a dot with swapped and transposed operands, if that is faster, and replaces an f16
 * accumulator by an f32 accumulator. `chains` is the result of dot_chains_swapped for the dot. Returns
 * whether the operands are swapped. */
bool dot_swap_operands(struct op *dot, bool chains);
/* Returns whether the dot is part of a chain of dots in a loop, and swapped operands improve the chain: each dot
 * could then read the previous dot's result from registers. */
bool dot_chains_swapped(struct op *dot);

/* -- lower_layout_conversion.c -- */
bool convert_is_shared(const struct op *o); /* whether o is a convert through shared memory */
/* Computes the layout of the shared buffer through which x is converted to the layout of y: the layout with
 * which the store and the load take the fewest wavefronts of shared memory. Of layouts that take equally
 * many, prefers one with which ldmatrix can load y or stmatrix can store x. */
void buffer_layout(struct layout *out, const struct value *x, const struct value *y, int elem_bytes);
/* Builds a load of the whole buffer as a tile of type t. */
struct value *buffer_load(struct builder *b, struct value *buf, const struct type *t);

/* -- legalize_dot.c: queries about dots -- */

/* Returns whether the target can compute the dot asynchronously, from operands in shared memory. */
bool dot_is_async(const struct op *dot);
/* Returns whether the dot's operands go through shared memory. There are two cases: an asynchronous engine
 * computes the dot; or the target has no asynchronous engine, and mma.sync computes the dot. In the second
 * case, each warp loads its part of an operand from a buffer into registers. */
bool dot_is_staged(const struct op *dot);
/* Returns whether the dot has an operand of 8-bit floats, although no instruction of the target multiplies such
 * operands. */
bool dot_is_narrow(const struct op *dot);
/* Returns whether operand a or b of some dot of f is computed from another dot's result in the same
 * iteration. */
bool dots_are_chained(struct func *f);
/* Returns the layout that the dot's accumulator must have. If rows_first, warps divide all rows before they
 * divide columns (warp_split_for in ir/target/fragments.h). */
const struct layout *dot_acc_layout(const struct op *o, bool rows_first);
/* x is the layout of operand i in registers. Returns the type of the buffer in shared memory from which the
 * dot's engine reads the operand; NULL if the engine reads it from registers. An engine that can read the
 * operand from either place reads it from registers in two cases: the operand is computed from another dot's
 * result, and its conversion to the layout that the engine requires needs no shared memory; or i is 0 and
 * cost_keeps_operand holds. */
const struct type *dot_operand_buffer(const struct op *o, int i, const struct layout *x);
/* Returns the layout that operand i (2: the accumulator) must have in registers if the accumulator has layout
 * acc. acc may be NULL if a tensor core computes the dot, or if i is 2. */
const struct layout *dot_operand_layout(const struct op *o, int i, const struct layout *acc, bool rows_first);

#endif
