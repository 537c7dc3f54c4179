/* SPDX-License-Identifier: MIT */
/* wgmma.c: tests the layouts of wgmma operands. Layouts in shared memory are compared with formulas for the addresses
 * that the hardware computes; layouts of the accumulator and of A in registers are compared with the tables of the PTX
 * ISA. */
#include "ir/target/wgmma.h"
#include "tests/unit/test.h"

enum { WIDEST = 128 };

/* Returns the address from which the instruction reads element (mn, k) of the part that starts at `start`, according
 * to the tables of descriptors in the PTX ISA. A swizzle of 32, 64 or 128 bytes XORs 1, 2 or 3 address bits, from bit
 * 7 up, into the bits from bit 4 up. */
static uint32_t hardware_address(const struct wgmma_view *v, uint32_t start, int elem_bytes, int mn, int k)
{
    static const int widths[] = {16, 128, 64, 32};
    int width = widths[v->swizzle], lbo = v->lbo_bytes, sbo = v->sbo_bytes;
    int inner = (v->trans ? mn : k) * elem_bytes, row = v->trans ? k : mn;
    int inner_stride = lbo, row_stride = sbo;
    if (v->trans && width == 16) {
        inner_stride = sbo;
        row_stride = lbo;
    }
    uint32_t at = start + (uint32_t)(inner % width + inner / width * inner_stride + row % 8 * width +
                                     row / 8 * row_stride);
    return at ^ (at >> 7 & (uint32_t)(width / 16 - 1)) << 4;
}

static uint32_t offset_of(const struct layout *l, int row, int column)
{
    uint32_t coord = (uint32_t)row << l->dim_bits[1] | (uint32_t)column;
    for (uint32_t i = 0; i < UINT32_C(1) << l->nbits[IN_offset]; i++)
        if (layout_apply_offset(l, i) == coord)
            return i;
    return UINT32_MAX;
}

/* Returns whether the hardware reads every element of every part from the element's address in the layout. */
static bool reads_all(const struct layout *l, const struct wgmma_view *v, int elem_bytes, int mn_dim, int mn,
                      int k)
{
    int extent[2] = {1 << l->dim_bits[0], 1 << l->dim_bits[1]};
    for (int m0 = 0; m0 < extent[mn_dim]; m0 += mn)
        for (int k0 = 0; k0 < extent[!mn_dim]; k0 += k)
            for (int m = 0; m < mn; m += m < 16 ? 1 : 13)
                for (int i = 0; i < k; i += i < 4 ? 1 : 5) {
                    int row = mn_dim ? k0 + i : m0 + m, column = mn_dim ? m0 + m : k0 + i;
                    uint32_t start = wgmma_start(v, (uint32_t)m0, (uint32_t)k0);
                    if (hardware_address(v, start, elem_bytes, m, i) !=
                        offset_of(l, row, column) * (uint32_t)elem_bytes)
                        return false;
                }
    return true;
}

TEST(buffers_are_described)
{
    static const struct {
        int rows, columns, elem_bytes, inner, mn_dim, mn, k;
    } cases[] = {
        {128, 64, 2, 1, 0, 64, 16}, /* A, contiguous along k: rows of 128 bytes */
        {64, 128, 2, 1, 0, 64, 16}, /* rows of 256 bytes, in two panels */
        {64, 32, 2, 1, 0, 64, 16},  /* rows of 64 bytes */
        {64, 16, 2, 1, 0, 64, 16},  /* rows of 32 bytes */
        {64, 64, 2, 0, 0, 64, 16},  /* A, contiguous along m */
        {128, 32, 2, 0, 0, 64, 16},
        {64, 256, 2, 1, 1, 256, 16}, /* B, contiguous along n: four panels */
        {64, 256, 2, 1, 1, 128, 16}, /* B for two instructions */
        {32, 64, 2, 1, 1, 32, 16},   /* B for instructions whose part starts inside a row */
        /* rows too short for a swizzle */
        {32, 32, 2, 1, 1, 32, 16},
        {32, 16, 2, 1, 1, 16, 16},
        {32, 8, 2, 1, 1, 8, 16},
        {64, 64, 2, 0, 1, 64, 16},
        {64, 8, 2, 0, 1, 8, 16}, /* B, contiguous along k */
        {64, 32, 4, 1, 0, 64, 8},
        {16, 64, 4, 0, 1, 64, 8}, /* tf32 */
        {64, 128, 1, 1, 0, 64, 32},
        {32, 64, 1, 0, 1, 64, 32},
        {256, 16, 1, 0, 1, 16, 32}, /* one-byte elements */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct layout l;
        struct wgmma_view v;
        int shape[] = {cases[i].rows, cases[i].columns}, bytes = cases[i].elem_bytes;
        layout_panels(&l, shape, bytes, cases[i].inner);
        CHECK(layout_is_surjective(&l));
        bool found = wgmma_view(&v, &l, bytes, cases[i].mn_dim, cases[i].mn, cases[i].k);
        CHECK(found);
        CHECK_INT(v.trans, cases[i].inner == cases[i].mn_dim);
        CHECK(reads_all(&l, &v, bytes, cases[i].mn_dim, cases[i].mn, cases[i].k));
    }
}

/* Checks the offsets in tiles that are often used. */
TEST(familiar_tiles)
{
    struct layout l;
    struct wgmma_view v;
    layout_panels(&l, (int[]){128, 64}, 2, 1);
    CHECK_INT(offset_of(&l, 0, 1) * 2, 2);
    CHECK_INT(offset_of(&l, 0, 32) * 2, 64);
    CHECK_INT(offset_of(&l, 1, 0) * 2, 128 ^ 16);
    CHECK_INT(offset_of(&l, 4, 0) * 2, 512 ^ 64);
    CHECK_INT(offset_of(&l, 8, 0) * 2, 1024);
    CHECK(wgmma_view(&v, &l, 2, 0, 64, 16));
    CHECK_INT(v.sbo_bytes, 1024);
    CHECK_INT(v.align_bytes, 1024);
    CHECK_INT(wgmma_start(&v, 64, 0), 64 * WIDEST);
    CHECK_INT(wgmma_start(&v, 0, 48), 96);
    CHECK(wgmma_descriptor(&v) == (UINT64_C(1) << 62 | UINT64_C(64) << 32 | UINT64_C(1) << 16));
    layout_panels(&l, (int[]){64, 256}, 2, 1);
    CHECK(wgmma_view(&v, &l, 2, 1, 256, 16));
    CHECK_INT(v.lbo_bytes, 64 * WIDEST);
    CHECK_INT(v.sbo_bytes, 1024);
    CHECK_INT(wgmma_start(&v, 0, 16), 2048);
    layout_panels(&l, (int[]){64, 128}, 1, 1);
    CHECK(wgmma_view(&v, &l, 1, 0, 64, 32));
    CHECK_INT(wgmma_start(&v, 0, 32), 32);
}

TEST(other_buffers_are_not)
{
    struct layout l;
    struct wgmma_view v;
    layout_init(&l, 2, (int[]){64, 64}); /* rows without a swizzle */
    for (int i = 0; i < 12; i++)
        layout_add(&l, IN_offset, UINT32_C(1) << i);
    CHECK(!wgmma_view(&v, &l, 2, 0, 64, 16));
    layout_panels(&l, (int[]){64, 64}, 1, 0); /* one-byte elements contiguous along m */
    CHECK(!wgmma_view(&v, &l, 1, 0, 64, 32));
    layout_panels(&l, (int[]){64, 64}, 2, 1); /* a layout with a nonzero offset (flip) */
    l.flip = 1;
    CHECK(!wgmma_view(&v, &l, 2, 0, 64, 16));
}

/* Sets *row and *column to the place of element e of a lane of warp w in the accumulator; the row is one of the
 * warpgroup's 64 rows. */
static void spot_in_sum(int e, int lane, int w, int *row, int *column)
{
    *row = lane / 4 + 8 * (e >> 1 & 1) + 16 * w;
    *column = lane % 4 * 2 + (e & 1) + 8 * (e >> 2);
}

TEST(registers)
{
    static const int shapes[][4] = {/* rows, columns, warps, rows per warpgroup */
                                    {64, 8, 4, 64},    {64, 256, 4, 64},  {128, 256, 8, 64}, {64, 64, 8, 64},
                                    {256, 16, 4, 256}, {256, 64, 8, 128}, {128, 64, 16, 64}};
    for (int i = 0; i < 7; i++) {
        const int *x = shapes[i];
        struct type sum = {.kind = TY_tile, .rank = 2, .shape = {x[0], x[1]}};
        struct warp_split split = group_split_for(&sum, x[2], 4, 64);
        CHECK_INT(64 << split.m <= x[0], 1);
        CHECK_INT(x[0] >> split.m, x[3]);
        CHECK_INT(4 << (split.m + split.n), x[2]);
        struct layout l;
        layout_fragment(&l, &fragments[0], DOT_acc, &sum, split);
        CHECK(layout_is_surjective(&l));
        CHECK_INT(layout_free_bits(&l, IN_reg) | layout_free_bits(&l, IN_warp), 0);
        int columns = x[1] >> split.n;
        for (int e = 0; e < 1 << l.nbits[IN_reg]; e++)
            for (int lane = 0; lane < 32; lane += 3)
                for (int w = 0; w < x[2]; w++) {
                    int row, column, group = w / 4, below = group & ((1 << split.m) - 1);
                    spot_in_sum(e % (columns / 2), lane, w % 4, &row, &column);
                    row += e / (columns / 2) * 64 + below * x[3];
                    column += (group >> split.m) * columns;
                    CHECK_INT(layout_apply(&l, (uint32_t)e, (uint32_t)lane, (uint32_t)w, 0),
                              row * x[1] + column);
                }
        /* The accumulator, rounded to 16 bits and packed in pairs, must have the layout of operand A in registers. */
        struct layout a;
        layout_fragment(&a, &fragments[0], DOT_a, &sum, split);
        CHECK(columns < 16 || split.n > 0 || layout_equal(&a, &l));
    }
}
