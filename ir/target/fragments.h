/* fragments.h: in which registers and lanes mma instructions of a warp expect their operands: data, and the
 * layouts made from it. */
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
    const char *name; /* codegen's instruction: m16n8k16_f16 */
    enum dtype dtype; /* of a */
    enum dtype dtype_b;
    int k;
    int word_elems;   /* of a and b: elements in a 32-bit register */
    struct fragment_part part[DOT_count];
};

extern const struct fragment fragments[];
extern const int nfragments;

/* The instruction with the largest K for a dot of these operands; NULL if none takes its types, or the tile
 * is too small. */
const struct fragment *fragment_for(const struct op *dot);

/* How warps divide the accumulator of a dot: exponents. Excess warps compute what others compute. A `group`
 * of warps executes one instruction, each warp 16 rows further down (wgmma); m and n then count groups. */
struct warp_split {
    int batch, m, n, idle, group;
};
/* Divides into parts that are as square as possible, so that operands are read least often. `rows_first`
 * keeps the rows of a warp whole where it can, so that reductions along a row need no other warp. */
struct warp_split warp_split_for(const struct fragment *g, const struct type *acc, int num_warps, bool rows_first);

/* The layout of a whole tile as operand `role`: each warp holds its part, which consists of the instruction's
 * matrices. */
void layout_fragment(struct layout *out, const struct fragment *g, enum dot_role role, const struct type *t,
                     struct warp_split split);
/* Are the instruction's matrices in l's lowest registers and in its lanes, as `role` requires? */
bool fragment_matches(const struct fragment *g, enum dot_role role, const struct layout *l);
/* The accumulator's layout without tensor cores: each thread computes its own elements, about as many rows as
 * columns. */
void layout_fma_acc(struct layout *out, const struct type *t, int num_warps);
/* The layout of operand `role` (a or b) for it: all of K in registers, and the accumulator's registers, lanes
 * and warps for the other dimension. */
void layout_fma_operand(struct layout *out, enum dot_role role, const struct type *t, const struct layout *acc);

#endif
