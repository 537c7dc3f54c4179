/* layout.c: the layout algebra against brute force: places enumerated, tokens moved, banks counted. */
#include "ir/layout.h"
#include "ir/text.h"
#include "tests/unit/test.h"

#include <stdbool.h>
#include <stdlib.h>

static void *take(void *ctx, size_t bytes)
{
    (void)ctx;
    return malloc(bytes);
}

static void give(void *ctx, void *p, size_t bytes)
{
    (void)ctx;
    (void)bytes;
    free(p);
}

static void fail(void *ctx, size_t bytes)
{
    (void)ctx;
    (void)bytes;
    abort();
}

/* -- a generator of layouts -- */

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

/* Any surjective layout of a small random shape: vectors of the identity mixed, some dependent or zero. */
static void random_layout(struct layout *l, int nkinds, const enum in *kinds)
{
    do {
        int rank = 1 + (int)random_below(3), shape[3];
        for (int d = 0; d < rank; d++)
            shape[d] = 1 << random_below(4);
        layout_init(l, rank, shape);
        int n = layout_coord_bits(l);
        for (int i = 0; i < n; i++)
            layout_add(l, kinds[random_below((uint32_t)nkinds)],
                       (UINT32_C(1) << i) ^ (random_below(2) ? 0 : random_below(UINT32_C(1) << i)));
        for (int i = (int)random_below(3); i > 0; i--)
            layout_add(l, kinds[random_below((uint32_t)nkinds)], random_below(2) ? 0 : random_below(UINT32_C(1) << n));
        for (int i = 0; i < 20; i++) { /* so that low bits are not always low vectors */
            enum in kind = kinds[random_below((uint32_t)nkinds)];
            if (l->nbits[kind] < 2)
                continue;
            uint32_t *a = &l->basis[layout_first(l, kind) + (int)random_below(l->nbits[kind])];
            uint32_t *b = &l->basis[layout_first(l, kind) + (int)random_below(l->nbits[kind])];
            uint32_t x = *a;
            *a = *b;
            *b = x;
        }
        l->flip = random_below(3) ? 0 : random_below(UINT32_C(1) << n);
    } while (!layout_is_surjective(l));
}

static const enum in thread_kinds[] = {IN_reg, IN_lane, IN_warp, IN_cta};
static const enum in offset_kind[] = {IN_offset};

static int place_bits(const struct layout *l)
{
    return layout_first(l, IN_count);
}

/* The element at a place given as one word of all input bits, straight from the definition. */
static uint32_t element(const struct layout *l, uint64_t place)
{
    uint32_t coord = l->flip;
    for (int i = 0; i < place_bits(l); i++)
        if (place >> i & 1)
            coord ^= l->basis[i];
    return coord;
}

/* -- making and asking -- */

TEST(the_lesson)
{
    struct layout l;
    layout_init(&l, 2, (int[]){4, 4});
    layout_add(&l, IN_reg, 1);
    layout_add(&l, IN_warp, 8);
    layout_add(&l, IN_lane, 2);
    layout_add(&l, IN_lane, 4);
    static const char *const held[4][4] = {
        {"000", "001", "010", "011"}, {"020", "021", "030", "031"},
        {"100", "101", "110", "111"}, {"120", "121", "130", "131"}};
    for (unsigned warp = 0; warp < 2; warp++)
        for (unsigned lane = 0; lane < 4; lane++)
            for (unsigned reg = 0; reg < 2; reg++) {
                int index[2];
                char text[4] = {(char)('0' + warp), (char)('0' + lane), (char)('0' + reg), 0};
                layout_split_coord(&l, layout_apply(&l, reg, lane, warp, 0), index);
                CHECK_STR(text, held[index[0]][index[1]]);
            }
    struct layout swizzle;
    CHECK(layout_parse(&swizzle, "offset[(0,1) (0,2) (1,1) (2,2)]"));
    for (uint32_t r = 0; r < 4; r++)
        for (uint32_t c = 0; c < 4; c++)
            CHECK_INT(layout_apply_offset(&swizzle, 4 * r + (c ^ r)), 4 * r + c);
}

static void blocked_holds_each_element(const struct layout *l, int elems, int num_warps)
{
    CHECK(layout_is_surjective(l));
    CHECK_INT(l->nbits[IN_lane], LANE_BITS);
    CHECK_INT(1 << l->nbits[IN_warp], num_warps);
    int seen[1 << 12] = {0};
    uint32_t free_lanes = layout_free_bits(l, IN_lane), free_warps = layout_free_bits(l, IN_warp);
    CHECK_INT(layout_free_bits(l, IN_reg), 0);
    for (uint32_t w = 0; w < (uint32_t)num_warps; w++)
        for (uint32_t lane = 0; lane < 32; lane++)
            for (uint32_t r = 0; r < 1u << l->nbits[IN_reg]; r++)
                if (!(lane & free_lanes) && !(w & free_warps))
                    seen[layout_apply(l, r, lane, w, 0)]++;
    for (int i = 0; i < elems; i++)
        CHECK_INT(seen[i], 1);
}

TEST(blocked)
{
    struct layout l;
    layout_blocked(&l, 1, (int[]){512}, (int[]){4}, (int[]){0}, 4);
    struct layout expected;
    CHECK(layout_parse(&expected, "reg[1 2] lane[4 8 16 32 64] warp[128 256]"));
    CHECK(layout_equal(&l, &expected));
    layout_blocked(&l, 2, (int[]){16, 64}, (int[]){1, 4}, (int[]){1, 0}, 4);
    CHECK(layout_parse(&expected, "reg[(0,1) (0,2) (8,0)] lane[(0,4) (0,8) (0,16) (0,32) (1,0)] warp[(2,0) (4,0)]"));
    CHECK(layout_equal(&l, &expected));
    for (int a = 1; a <= 64; a *= 2)
        for (int b = 1; b <= 64; b *= 2)
            for (int v = 1; v <= 8; v *= 2)
                for (int turn = 0; turn < 2; turn++) {
                    int order[2] = {turn, !turn}, per[2] = {turn ? 1 : v, turn ? v : 1};
                    layout_blocked(&l, 2, (int[]){a, b}, per, order, 8);
                    blocked_holds_each_element(&l, a * b, 8);
                    int fit = (turn ? b : a) < v ? (turn ? b : a) : v;
                    (void)fit;
                }
}

/* The owner's place is the one with free bits zero: each element has exactly one, and free bits change places, not sets. */
TEST(free_bits_and_owners)
{
    for (int round = 0; round < 2000; round++) {
        struct layout l;
        random_layout(&l, 4, thread_kinds);
        uint64_t free_bits = 0;
        for (enum in k = 0; k < IN_count; k++)
            free_bits |= (uint64_t)layout_free_bits(&l, k) << layout_first(&l, k);
        int owners[512] = {0};
        for (uint64_t p = 0; p < UINT64_C(1) << place_bits(&l); p++)
            owners[element(&l, p)] += !(p & free_bits);
        for (int i = 0; i < 1 << layout_coord_bits(&l); i++)
            CHECK_INT(owners[i], 1);
    }
}

TEST(apply)
{
    for (int round = 0; round < 500; round++) {
        struct layout l;
        random_layout(&l, 4, thread_kinds);
        for (uint32_t p = 0; p < UINT32_C(1) << place_bits(&l); p++) {
            uint32_t in[IN_count];
            for (int k = 0, first = 0; k < IN_count; first += l.nbits[k++])
                in[k] = p >> first & ((UINT32_C(1) << l.nbits[k]) - 1);
            CHECK_INT(layout_apply(&l, in[IN_reg], in[IN_lane], in[IN_warp], in[IN_cta]), element(&l, p));
        }
    }
}

/* -- shape changes -- */

static uint32_t join_index(const struct layout *l, const int *index)
{
    uint32_t coord = 0;
    for (int d = 0; d < l->rank; d++)
        coord = coord << l->dim_bits[d] | (uint32_t)index[d];
    return coord;
}

TEST(reshape_keeps_row_major_order)
{
    struct layout l, r;
    layout_blocked(&l, 2, (int[]){8, 16}, (int[]){1, 2}, (int[]){0, 1}, 2);
    layout_reshape(&r, &l, 3, (int[]){2, 32, 2});
    CHECK_INT(layout_coord_bits(&r), 7);
    for (uint64_t p = 0; p < UINT64_C(1) << place_bits(&l); p++)
        CHECK_INT(element(&r, p), element(&l, p));
}

TEST(trans_permutes_indices)
{
    for (int round = 0; round < 1000; round++) {
        struct layout l, r;
        do
            random_layout(&l, 4, thread_kinds);
        while (l.rank != 3);
        int order[3] = {0, 1, 2};
        for (int i = 2; i > 0; i--) {
            int k = (int)random_below((uint32_t)i + 1), x = order[i];
            order[i] = order[k];
            order[k] = x;
        }
        layout_trans(&r, &l, order);
        for (uint64_t p = 0; p < UINT64_C(1) << place_bits(&l); p++) {
            int before[3], after[3];
            layout_split_coord(&l, element(&l, p), before);
            layout_split_coord(&r, element(&r, p), after);
            for (int d = 0; d < 3; d++)
                CHECK_INT(after[d], before[order[d]]);
        }
    }
}

TEST(slice_squash_expand)
{
    for (int round = 0; round < 1000; round++) {
        struct layout l, cut, squashed, again, dropped;
        random_layout(&l, 4, thread_kinds);
        int dim = (int)random_below(l.rank), reg_of[1 << 12];
        layout_slice(&cut, &l, dim, false, NULL);
        layout_squash(&squashed, &l, dim);
        layout_expand(&again, &cut, dim);
        CHECK(layout_equal(&again, &squashed));
        CHECK_INT(cut.rank, l.rank - 1);
        CHECK_INT(squashed.dim_bits[dim], 0);
        layout_slice(&dropped, &l, dim, true, reg_of);
        CHECK_INT(layout_free_bits(&dropped, IN_reg), 0);
        CHECK(layout_is_surjective(&dropped));
        for (uint64_t p = 0; p < UINT64_C(1) << place_bits(&l); p++) {
            int full[RANK_MAX], part[RANK_MAX];
            layout_split_coord(&l, element(&l, p), full);
            full[dim] = 0;
            CHECK_INT(element(&squashed, p), join_index(&squashed, full));
            for (int d = 0; d < cut.rank; d++)
                part[d] = full[d + (d >= dim)];
            CHECK_INT(element(&cut, p), join_index(&cut, part));
        }
        for (uint64_t p = 0; p < UINT64_C(1) << place_bits(&dropped); p++) {
            uint64_t reg = p & ((UINT64_C(1) << dropped.nbits[IN_reg]) - 1), rest = p >> dropped.nbits[IN_reg];
            CHECK_INT(element(&dropped, p), element(&cut, rest << l.nbits[IN_reg] | (uint64_t)reg_of[reg]));
        }
    }
}

TEST(scalars_are_rank_0)
{
    struct layout l, s;
    layout_blocked(&l, 1, (int[]){64}, (int[]){1}, (int[]){0}, 2);
    int reg_of[64];
    layout_slice(&s, &l, 0, true, reg_of);
    CHECK_INT(s.rank, 0);
    CHECK_INT(layout_coord_bits(&s), 0);
    CHECK_INT(s.nbits[IN_reg], 0);
    CHECK_INT(layout_free_bits(&s, IN_lane), 31);
}

/* -- algebra -- */

TEST(divide_finds_the_owner)
{
    for (int round = 0; round < 2000; round++) {
        struct layout from, to;
        struct place_map m;
        random_layout(&from, 4, thread_kinds);
        do
            random_layout(&to, round % 2 ? 4 : 1, round % 2 ? thread_kinds : offset_kind);
        while (layout_coord_bits(&to) != layout_coord_bits(&from));
        uint64_t free_bits = 0;
        for (enum in k = 0; k < IN_count; k++)
            free_bits |= (uint64_t)layout_free_bits(&to, k) << layout_first(&to, k);
        layout_divide(&m, &from, &to);
        CHECK_INT(m.nin, place_bits(&from));
        CHECK_INT(m.nout, place_bits(&to));
        for (uint64_t p = 0; p < UINT64_C(1) << place_bits(&from); p++) {
            CHECK_INT(element(&to, place_apply(&m, p)), element(&from, p));
            CHECK_INT(place_apply(&m, p) & free_bits, 0);
        }
    }
}

TEST(terms_add_up_to_the_map)
{
    for (int round = 0; round < 1000; round++) {
        struct layout from, to;
        struct place_map m;
        struct place_term terms[2 * LAYOUT_BITS_MAX];
        random_layout(&from, 4, thread_kinds);
        do
            random_layout(&to, 1, offset_kind);
        while (layout_coord_bits(&to) != layout_coord_bits(&from));
        layout_divide(&m, &from, &to);
        int first = layout_first(&from, IN_lane), n = from.nbits[IN_lane] + from.nbits[IN_warp];
        int nterms = place_terms(&m, first, n, terms);
        for (uint64_t x = 0; x < UINT64_C(1) << n; x++) {
            uint64_t sum = m.flip;
            for (int i = 0; i < nterms; i++)
                sum ^= terms[i].shift < 0 ? (x & terms[i].mask) >> -terms[i].shift : (x & terms[i].mask) << terms[i].shift;
            CHECK_INT(sum, place_apply(&m, x << first));
        }
    }
}

/* -- text -- */

TEST(text_round_trip)
{
    struct memory mem = {take, give, NULL};
    struct arena a;
    arena_init(&a, &mem, 0, fail, NULL);
    for (int round = 0; round < 5000; round++) {
        struct layout l, again;
        random_layout(&l, round % 2 ? 4 : 1, round % 2 ? thread_kinds : offset_kind);
        struct text t, t2;
        text_init(&t, &a);
        layout_print(&l, &t);
        const char *end = layout_parse(&again, t.s);
        CHECK(end && !*end && layout_equal(&l, &again));
        text_init(&t2, &a);
        layout_print(&again, &t2);
        CHECK_STR(t2.s, t.s);
    }
    arena_free(&a);
}

TEST(text_as_written)
{
    struct memory mem = {take, give, NULL};
    struct arena a;
    arena_init(&a, &mem, 0, fail, NULL);
    static const char *const good[] = {
        "reg[1 2] lane[4 8 16 32 64] warp[128 256]", "lane[() () () () ()]", "flip[(0,0)]", "flip[0]",
        "offset[(0,1) (0,2) (1,1) (2,2)]", "reg[1 0] lane[0 0 2 0 0] flip[3]",
        "lane[0 0 0 0 0]"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct layout l;
        struct text t;
        text_init(&t, &a);
        const char *end = layout_parse(&l, good[i]);
        CHECK(end && !*end);
        if (end)
            layout_print(&l, &t);
        CHECK_STR(t.s ? t.s : "", good[i]);
    }
    static const char *const bad[] = {
        "", "reg", "reg[1", "reg[1 3", "reg[1 4]", "reg[1 (1,0)]", "reg[(1,)]", "reg[99999999999]", "lane[1] reg[2]",
        "reg[1] flip[2]", "reg[1048576]", "reg[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct layout l;
        const char *end = layout_parse(&l, bad[i]);
        CHECK(!end || *end);
    }
    arena_free(&a);
}
