/* wgmma.h: which dots wgmma can do, and how its operands lie in registers and in shared memory. */
#ifndef NESO_IR_WGMMA_H
#define NESO_IR_WGMMA_H

#include "ir/target/fragments.h"

enum {
    WGMMA_ROWS = 64,
    WGMMA_COLUMNS = 256, /* most of one instruction */
    WGMMA_WARPS = 4,
    STAGGER_GROUPS_MOST = 4 /* in warpgroups: each pair of neighbours needs two named barriers */
};

/* An instruction: 64 rows, up to 256 columns. */
struct wgmma {
    const char *name;  /* codegen's instruction: wgmma_f32_f16 */
    uint8_t a, b, acc; /* enum dtype */
    uint8_t k;
    const struct fragment *fragment; /* the layout of A in registers, for each warp's 16 rows */
};

/* The instruction for a dot (also one whose operands are buffers already). If it is NULL, `why_not` (may be
 * NULL) gets the reason. */
const struct wgmma *wgmma_for(const struct op *dot, const char **why_not);
/* How warps divide the accumulator: warpgroups are beside each other in rows first, then in columns. */
struct warp_split wgmma_split(const struct type *acc, int num_warps);

/* How many registers a thread must have for an instruction of so many columns, besides all other values. */
int wgmma_regs_least(int columns, bool a_in_regs);

/* -- operands in shared memory -- */

/* A layout of a buffer of rank 2 in which dimension `inner` is contiguous: it has columns of 128 bytes (or
 * 64, 32, 16: as wide as the tile), each with all of the other dimension, swizzled as TMA swizzles a box that
 * is as wide as its swizzle. */
void layout_wgmma_operand(struct layout *out, const int *shape, int elem_bytes, int inner);
/* How an instruction that reads mn x k elements addresses a buffer. */
struct wgmma_view {
    bool trans;      /* contiguous along m or n, not along k */
    int swizzle;     /* the descriptor's code of the swizzle */
    int align_bytes; /* of the buffer */
    int lbo_bytes, sbo_bytes;
    int mn_bits, k_bits; /* of the whole buffer */
    uint32_t mn[COORD_BITS_MAX],
        k[COORD_BITS_MAX]; /* k[i]: what bit i of the index adds to the start address, in bytes */
};
/* Dimension `mn_dim` is m or n. Returns false if no descriptor describes the buffer. */
bool wgmma_view(struct wgmma_view *v, const struct layout *l, int elem_bytes, int mn_dim, int mn, int k);
/* The start address of the part that begins at (mn, k), in bytes from the buffer's start. */
uint32_t wgmma_start(const struct wgmma_view *v, uint32_t mn, uint32_t k);
/* The descriptor's bits without the address. */
uint64_t wgmma_descriptor(const struct wgmma_view *v);

#endif
