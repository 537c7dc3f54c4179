/* SPDX-License-Identifier: MIT */
/* wgmma.h: decides which dots wgmma can compute, and describes wgmma's operands in shared memory. */
#ifndef NESO_IR_WGMMA_H
#define NESO_IR_WGMMA_H

#include "ir/target/engine.h"

/* Implements `choose` of struct mma_engine for wgmma. Ignores rows_first: warpgroups always divide the
 * accumulator's rows first, then its columns. */
const char *choose_wgmma(struct mma_choice *c, const struct op *dot, bool rows_first);

/* Returns the fewest registers per thread with which ptxas compiles a wgmma of `columns` columns (N). */
int wgmma_regs_least(int columns, bool a_in_regs);

/* -- operands in shared memory -- */

/* Describes how a wgmma addresses operand a or b in a buffer. In names, `mn` stands for dimension m of
 * operand a, or dimension n of operand b. */
struct wgmma_view {
    bool trans;      /* the buffer is contiguous along m or n instead of k */
    int swizzle;     /* the code of the swizzle in the descriptor */
    int align_bytes; /* required alignment of the buffer */
    int lbo_bytes, sbo_bytes; /* the descriptor's leading and stride byte offsets */
    int mn_bits, k_bits; /* log2 of the buffer's sizes along mn and along k */
    /* Bit i of an index along m or n adds mn[i] bytes to the start address; bit i of an index along k adds
     * k[i]. */
    uint32_t mn[COORD_BITS_MAX],
        k[COORD_BITS_MAX];
};
/* Sets *v for an instruction that reads mn x k elements of a buffer of layout l. Dimension `mn_dim` of the
 * buffer is m or n; the other dimension is k. Returns false if no descriptor can describe the buffer. */
bool wgmma_view(struct wgmma_view *v, const struct layout *l, int elem_bytes, int mn_dim, int mn, int k);
/* Returns the start address of the part that begins at (mn, k), as bytes from the buffer's start. */
uint32_t wgmma_start(const struct wgmma_view *v, uint32_t mn, uint32_t k);
/* Returns the descriptor's bits without the address. */
uint64_t wgmma_descriptor(const struct wgmma_view *v);

#endif
