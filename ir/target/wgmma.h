/* SPDX-License-Identifier: MIT */
/* wgmma.h: decides which dots wgmma can compute, and gives the layouts of its operands in registers and in
 * shared memory. */
#ifndef NESO_IR_WGMMA_H
#define NESO_IR_WGMMA_H

#include "ir/target/fragments.h"
#include "ir/target/target.h"

enum {
    WGMMA_ROWS = 64,
    WGMMA_COLUMNS = 256, /* maximum of columns of one instruction */
    WGMMA_WARPS = WARPGROUP_WARPS,
    STAGGER_GROUPS_MOST = 4 /* maximum of staggered warpgroups: each pair of neighbours needs two named barriers */
};

/* A wgmma instruction. It computes 64 rows and up to 256 columns. */
struct wgmma {
    const char *name;  /* name of codegen's instruction: wgmma_f32_f16 */
    uint8_t a, b, acc; /* element types (enum dtype) */
    uint8_t k;
    const struct fragment *fragment; /* the layout of A in registers, for each warp's 16 rows */
};

/* Returns the instruction for a dot; the operands may already be buffers. If wgmma cannot compute the dot,
 * returns NULL and sets *why_not (may be NULL) to the reason. */
const struct wgmma *wgmma_for(const struct op *dot, const char **why_not);
/* Returns how warps divide the accumulator: warpgroups divide the rows first, then the columns. */
struct warp_split wgmma_split(const struct type *acc, int num_warps);

/* Returns how many registers a thread must have, in addition to those of all other values, for an instruction
 * of so many columns. */
int wgmma_regs_least(int columns, bool a_in_regs);

/* -- operands in shared memory -- */

/* Gives the layout of a buffer of rank 2 in which dimension `inner` is contiguous. It divides `inner` into panels of
 * 128 bytes (or 64, 32, 16, if the tile is narrower). A panel spans the whole other dimension, and has the swizzle of a
 * TMA box whose rows are as long as those of the panel. */
void layout_wgmma_operand(struct layout *out, const int *shape, int elem_bytes, int inner);
/* How an instruction that reads mn x k elements addresses its buffer. */
struct wgmma_view {
    bool trans;      /* the buffer is contiguous along m or n instead of k */
    int swizzle;     /* the descriptor's code of the swizzle */
    int align_bytes; /* required alignment of the buffer */
    int lbo_bytes, sbo_bytes;
    int mn_bits, k_bits; /* log2 of the whole buffer's sizes */
    uint32_t mn[COORD_BITS_MAX],
        k[COORD_BITS_MAX]; /* bit i of an index along k (m or n) adds k[i] (mn[i]) bytes to the start address */
};
/* Dimension `mn_dim` of the buffer is m or n. Returns false if no descriptor can describe the buffer. */
bool wgmma_view(struct wgmma_view *v, const struct layout *l, int elem_bytes, int mn_dim, int mn, int k);
/* Returns the start address of the part that begins at (mn, k), as bytes from the buffer's start. */
uint32_t wgmma_start(const struct wgmma_view *v, uint32_t mn, uint32_t k);
/* Returns the descriptor's bits without the address. */
uint64_t wgmma_descriptor(const struct wgmma_view *v);

#endif
