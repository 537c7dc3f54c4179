/* fragments.h: how the tensor cores of a warp want their operands in registers: data, and
 * the layouts made of it. */
#ifndef NESO_IR_FRAGMENTS_H
#define NESO_IR_FRAGMENTS_H

#include "ir/ir.h"

/* Operands of `dot a b acc`, in order; D is laid out as the accumulator. */
enum dot_role { DOT_a, DOT_b, DOT_acc, DOT_count };

/* One matrix of an instruction: rows x columns, as a layout of registers and lanes. */
struct fragment_part {
    int rows, columns;
    int nregs; /* log2 of the elements in a lane */
    struct fragment_step {
        uint8_t row, column;
    } reg[4], lane[LANE_BITS];
};

/* An mma instruction: M x N x K. */
struct fragment {
    const char *name; /* as codegen's row: m16n8k16_f16 */
    enum dtype dtype; /* of a */
    enum dtype dtype_b;
    int k;
    int word_elems;   /* of a and b: elements in a 32-bit register */
    struct fragment_part part[DOT_count];
};

extern const struct fragment fragments[];
extern const int nfragments;

/* The instruction with the largest K for a dot of these operands; NULL: none has its types or is so small. */
const struct fragment *fragment_for(const struct op *dot);

/* How warps share the accumulator of a dot: exponents. Idle warps compute what others compute. A `group` of
 * warps does one instruction, each the matrix below the one before (wgmma); m and n then count groups. */
struct warp_split {
    int batch, m, n, idle, group;
};
/* Square parts, so that operands are read least often; `rows_first`: rows of one warp stay together where
 * they can, so that what follows along a row needs no other warp. */
struct warp_split warp_split_for(const struct fragment *g, const struct type *acc, int num_warps, bool rows_first);

/* The layout of a whole tile, of operand `role`: each warp its part, made of the instruction's matrices. */
void layout_fragment(struct layout *out, const struct fragment *g, enum dot_role role, const struct type *t,
                     struct warp_split split);
/* Do the instruction's matrices stand in l's lowest registers and in its lanes, as `role` wants them? */
bool fragment_matches(const struct fragment *g, enum dot_role role, const struct layout *l);
/* Without tensor cores: each thread computes its own elements of the accumulator, about as
 * many rows as columns. */
void layout_fma_acc(struct layout *out, const struct type *t, int num_warps);
/* What operand `role` (a or b) needs for that: all of K in registers, and what the accumulator's registers,
 * lanes and warps have of the other dimension. */
void layout_fma_operand(struct layout *out, enum dot_role role, const struct type *t, const struct layout *acc);

#endif
