/* SPDX-License-Identifier: MIT */
/* fragments.h: declares tables of the registers and lanes in which mma.sync instructions expect their
 * operands, and functions that compute layouts of whole tiles from these tables. */
#ifndef NESO_IR_FRAGMENTS_H
#define NESO_IR_FRAGMENTS_H

#include "ir/ir.h"

/* The operands of `dot a b acc`, in order; the result has the accumulator's layout. */
enum dot_role { DOT_a, DOT_b, DOT_acc, DOT_count };

/* One matrix (a, b or the accumulator) of an mma instruction: its size, and which (row, column) each bit of
 * an element's number in its lane (`reg`) and each bit of the lane's number (`lane`) adds. */
struct fragment_part {
    int rows, columns;
    int nregs; /* log2 of the elements that a lane holds */
    struct fragment_step {
        uint8_t row, column;
    } reg[4], lane[LANE_BITS];
};

/* An mma instruction of shape 16 x 8 x k. */
struct fragment {
    const char *name; /* the name of the instruction in codegen/insns.h, for example m16n8k16_f16 */
    enum dtype dtype; /* element type of operand a */
    enum dtype dtype_b;
    int k;
    int word_elems;   /* elements of a or b in a 32-bit register */
    struct fragment_part part[DOT_count];
};

extern const struct fragment fragments[];
extern const int nfragments;

/* Returns the mma instruction with the largest K for the dot. Returns NULL if no instruction of the target has the
 * operands' types and the dot's precision, or if the tile is too small. */
const struct fragment *fragment_for(const struct op *dot);

/* Describes how warps divide the accumulator of a dot: 2^m warps divide the rows, 2^n warps the columns, 2^batch
 * warps the batch. 2^idle warps compute the same part. If 2^group warps execute one instruction together, m
 * and n count groups of 2^group warps instead of warps. Each warp of a group computes the 16 rows below the
 * rows of the previous warp. */
struct warp_split {
    int batch, m, n, idle, group;
};
/* Divides the accumulator into parts that are as square as possible, which minimizes reads of the operands.
 * If rows_first, warps divide all rows before they divide columns, so that a reduction along a row needs no
 * other warp. */
struct warp_split warp_split_for(const struct fragment *g, const struct type *acc, int num_warps, bool rows_first);

/* Divides the accumulator among num_warps / warps groups of warps. A group computes `rows` rows with one
 * instruction. Divides the rows first, then the columns. */
struct warp_split group_split_for(const struct type *acc, int num_warps, int warps, int rows);

/* Computes the layout of a whole tile as operand `role`: each warp holds its part of the tile, which consists of
 * the instruction's matrices. */
void layout_fragment(struct layout *out, const struct fragment *g, enum dot_role role, const struct type *t,
                     struct warp_split split);
/* Returns whether the lowest register bits and the lane bits of l have the vectors of the instruction's matrix for
 * operand `role`. */
bool fragment_matches(const struct fragment *g, enum dot_role role, const struct layout *l);
/* Computes the accumulator's layout for a dot without tensor cores: each thread computes its own elements, a
 * block with about as many rows as columns. */
void layout_fma_acc(struct layout *out, const struct type *t, int num_warps);
/* Computes the layout of operand `role` (a or b) of a dot without tensor cores: a thread holds all of K in
 * registers; the other dimension is laid out as in the accumulator. */
void layout_fma_operand(struct layout *out, enum dot_role role, const struct type *t, const struct layout *acc);

#endif
