/* SPDX-License-Identifier: MIT */
/* wgmma.h: decides which dots wgmma can compute, and describes wgmma's operands in shared memory. */
#ifndef NESO_IR_WGMMA_H
#define NESO_IR_WGMMA_H

#include "ir/target/engine.h"

/* Implements `choose` of struct mma_engine for wgmma. Warpgroups divide the accumulator's rows first, then its
 * columns. */
const char *choose_wgmma(struct mma_choice *c, const struct op *dot, bool rows_first);

/* Returns the fewest registers per thread with which ptxas compiles an instruction of `columns` columns. */
int wgmma_regs_least(int columns, bool a_in_regs);

/* -- operands in shared memory -- */

/* Describes how an instruction that reads mn x k elements addresses its buffer. */
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
