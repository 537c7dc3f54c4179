/* SPDX-License-Identifier: MIT */
/* fragments.c: tests the layouts of tensor core operands against formulas for each register and lane, and by
 * computing a product with these layouts. */
#include "ir/target/fragments.h"
#include "tests/unit/test.h"

/* spot_in_a sets *row and *k to the row and column of element e of a lane in A, according to the tables of the PTX
 * ISA; spot_in_b does this for B. */
static void spot_in_a(const struct fragment *g, int lane, int e, int *row, int *k)
{
    int w = g->word_elems, word = e / w, in_word = e % w, group = lane / 4, of_group = lane % 4;
    *row = group + (word & 1 ? 8 : 0);
    *k = of_group * w + in_word + (word & 2 ? g->k / 2 : 0);
    if (g->part[DOT_a].nregs == 3 && w == 4)
        *k = of_group * w + in_word;
}

static void spot_in_b(const struct fragment *g, int lane, int e, int *k, int *column)
{
    int w = g->word_elems, word = e / w, in_word = e % w;
    *column = lane / 4;
    *k = lane % 4 * w + in_word + (word & 1 ? g->k / 2 : 0);
}

static struct type tile(int rows, int columns)
{
    return (struct type){.kind = TY_tile, .rank = 2, .shape = {rows, columns}};
}

TEST(one_instruction)
{
    for (int i = 0; i < nfragments; i++) {
        const struct fragment *g = &fragments[i];
        struct type ta = tile(16, g->k), tb = tile(g->k, 8), tc = tile(16, 8);
        struct warp_split one = {0};
        struct layout a, b, c;
        layout_fragment(&a, g, DOT_a, &ta, one);
        layout_fragment(&b, g, DOT_b, &tb, one);
        layout_fragment(&c, g, DOT_acc, &tc, one);
        CHECK(fragment_matches(g, DOT_a, &a) && fragment_matches(g, DOT_b, &b) &&
              fragment_matches(g, DOT_acc, &c));
        CHECK(!fragment_matches(g, DOT_a, &b));
        for (int lane = 0; lane < 32; lane++) {
            int row, column;
            for (int e = 0; e < 16 * g->k / 32; e++) {
                spot_in_a(g, lane, e, &row, &column);
                CHECK_INT(layout_apply(&a, (uint32_t)e, (uint32_t)lane, 0, 0), row * g->k + column);
            }
            for (int e = 0; e < 8 * g->k / 32; e++) {
                spot_in_b(g, lane, e, &row, &column);
                CHECK_INT(layout_apply(&b, (uint32_t)e, (uint32_t)lane, 0, 0), row * 8 + column);
            }
            for (int e = 0; e < 4; e++)
                CHECK_INT(layout_apply(&c, (uint32_t)e, (uint32_t)lane, 0, 0),
                          (lane / 4 + e / 2 * 8) * 8 + lane % 4 * 2 + e % 2);
        }
    }
}

/* The layouts of whole tiles must give each warp the rows of A and the columns of B from which mma computes the warp's
 * elements of the accumulator. So the first element of a warp in A must be in the same row as its first element in the
 * accumulator, and its first element in B in the same column. */
TEST(whole_tiles)
{
    enum { K = 64 };
    static const int shapes[][3] = {{16, 8, 1}, {64, 64, 4}, {128, 32, 8}, {32, 128, 4}, {16, 16, 8}};
    for (int i = 0; i < nfragments; i++)
        for (int s = 0; s < 5; s++)
            for (int rows_first = 0; rows_first < 2; rows_first++) {
                int rows = shapes[s][0], columns = shapes[s][1], warps = shapes[s][2];
                struct type ta = tile(rows, K), tb = tile(K, columns), tc = tile(rows, columns);
                struct warp_split split = warp_split_for(&fragments[i], &tc, warps, rows_first);
                CHECK_INT(1 << (split.m + split.n + split.batch + split.idle), warps);
                struct layout l[DOT_count];
                layout_fragment(&l[DOT_a], &fragments[i], DOT_a, &ta, split);
                layout_fragment(&l[DOT_b], &fragments[i], DOT_b, &tb, split);
                layout_fragment(&l[DOT_acc], &fragments[i], DOT_acc, &tc, split);
                for (int r = 0; r < DOT_count; r++) {
                    CHECK(layout_is_surjective(&l[r]));
                    CHECK_INT(layout_free_bits(&l[r], IN_reg), 0);
                    CHECK_INT(1 << l[r].nbits[IN_warp], warps);
                }
                for (uint32_t w = 0; w < (uint32_t)warps; w++) {
                    uint32_t acc = layout_apply(&l[DOT_acc], 0, 0, w, 0);
                    CHECK_INT(layout_apply(&l[DOT_a], 0, 0, w, 0), acc / (uint32_t)columns * K);
                    CHECK_INT(layout_apply(&l[DOT_b], 0, 0, w, 0), acc % (uint32_t)columns);
                }
                CHECK_INT((1 << l[DOT_a].nbits[IN_reg]) * 32 << split.m, rows * K);
                CHECK_INT((1 << l[DOT_b].nbits[IN_reg]) * 32 << split.n, columns * K);
            }
}

TEST(without_tensor_cores)
{
    static const int shapes[][3] = {{8, 32, 2}, {1, 1, 4},   {128, 256, 8},
                                    {4, 4, 1},  {256, 2, 4}, {2, 128, 8}};
    for (int s = 0; s < 6; s++) {
        int rows = shapes[s][0], columns = shapes[s][1], warps = shapes[s][2];
        struct type ta = tile(rows, 16), tb = tile(16, columns), tc = tile(rows, columns);
        struct layout acc, a, b;
        layout_fma_acc(&acc, &tc, warps);
        layout_fma_operand(&a, DOT_a, &ta, &acc);
        layout_fma_operand(&b, DOT_b, &tb, &acc);
        CHECK(layout_is_surjective(&acc) && layout_is_surjective(&a) && layout_is_surjective(&b));
        CHECK_INT(1 << acc.nbits[IN_warp], warps);
        CHECK_INT(layout_free_bits(&acc, IN_reg), 0);
        for (uint32_t thread = 0; thread < 32 * (uint32_t)warps; thread++) {
            uint32_t coord = layout_apply(&acc, 0, thread % 32, thread / 32, 0);
            CHECK_INT(layout_apply(&a, 0, thread % 32, thread / 32, 0), coord / (uint32_t)columns * 16);
            CHECK_INT(layout_apply(&b, 0, thread % 32, thread / 32, 0), coord % (uint32_t)columns);
        }
    }
    struct type large = tile(128, 256);
    struct layout acc;
    layout_fma_acc(&acc, &large, 8);
    CHECK_INT(acc.nbits[IN_lane], 5);
    CHECK_INT(acc.nbits[IN_reg], 7);
}
