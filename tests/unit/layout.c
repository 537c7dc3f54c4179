/* SPDX-License-Identifier: MIT */
/* layout.c: tests the layout algebra by brute force. The test enumerates all places (a register of a lane of a warp),
 * simulates conversions by moving the number of each element from place to place, and counts accesses to banks. */
#include "ir/layout/layout.h"
#include "ir/params.h"
#include "ir/support/text.h"
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

/* -- random layouts -- */

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

/* Makes a random surjective layout of a small random shape. The layout has the vectors of a random basis (the unit
 * vectors in random order, some added to others), and additional vectors that are zero or linearly dependent on this
 * basis. */
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
            layout_add(l, kinds[random_below((uint32_t)nkinds)],
                       random_below(2) ? 0 : random_below(UINT32_C(1) << n));
        for (int i = 0; i < 20; i++) { /* add basis vectors to others, so that they have several bits */
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

/* Returns the element at a place, by the definition of layouts: the XOR of basis vectors. The bits of `place` are the
 * input bits of all kinds, one kind after the other. */
static uint32_t element(const struct layout *l, uint64_t place)
{
    uint32_t coord = l->flip;
    for (int i = 0; i < place_bits(l); i++)
        if (place >> i & 1)
            coord ^= l->basis[i];
    return coord;
}

/* -- construction and queries -- */

TEST(the_lesson)
{
    struct layout l;
    layout_init(&l, 2, (int[]){4, 4});
    layout_add(&l, IN_reg, 1);
    layout_add(&l, IN_warp, 8);
    layout_add(&l, IN_lane, 2);
    layout_add(&l, IN_lane, 4);
    static const char *const held[4][4] = {{"000", "001", "010", "011"},
                                           {"020", "021", "030", "031"},
                                           {"100", "101", "110", "111"},
                                           {"120", "121", "130", "131"}};
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
        CHECK(seen[i] == 1);
}

TEST(blocked)
{
    struct layout l;
    layout_blocked(&l, 1, (int[]){512}, (int[]){4}, (int[]){0}, 4);
    struct layout expected;
    CHECK(layout_parse(&expected, "reg[1 2] lane[4 8 16 32 64] warp[128 256]"));
    CHECK(layout_equal(&l, &expected));
    layout_blocked(&l, 2, (int[]){16, 64}, (int[]){1, 4}, (int[]){1, 0}, 4);
    CHECK(layout_parse(&expected,
                       "reg[(0,1) (0,2) (8,0)] lane[(0,4) (0,8) (0,16) (0,32) (1,0)] warp[(2,0) (4,0)]"));
    CHECK(layout_equal(&l, &expected));
    for (int a = 1; a <= 64; a *= 2)
        for (int b = 1; b <= 64; b *= 2)
            for (int v = 1; v <= 8; v *= 2)
                for (int turn = 0; turn < 2; turn++) {
                    int order[2] = {turn, !turn}, per[2] = {turn ? 1 : v, turn ? v : 1};
                    layout_blocked(&l, 2, (int[]){a, b}, per, order, 8);
                    blocked_holds_each_element(&l, a * b, 8);
                    int fit = (turn ? b : a) < v ? (turn ? b : a) : v;
                    CHECK(layout_vector(&l, turn, 16) >= fit);
                }
}

/* A bit of places is free if changing it leads to another place of the same element. The owner of an element is the
 * place of the element whose free bits are all 0. Each element must have exactly one owner. */
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
            uint64_t reg = p & ((UINT64_C(1) << dropped.nbits[IN_reg]) - 1),
                     rest = p >> dropped.nbits[IN_reg];
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
            CHECK(element(&to, place_apply(&m, p)) == element(&from, p));
            CHECK((place_apply(&m, p) & free_bits) == 0);
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
    static const char *const good[] = {"reg[1 2] lane[4 8 16 32 64] warp[128 256]",
                                       "lane[() () () () ()]",
                                       "flip[(0,0)]",
                                       "flip[0]",
                                       "offset[(0,1) (0,2) (1,1) (2,2)]",
                                       "reg[1 0] lane[0 0 2 0 0] flip[3]",
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
        "",
        "reg",
        "reg[1",
        "reg[1 3",
        "reg[1 4]",
        "reg[1 (1,0)]",
        "reg[(1,)]",
        "reg[99999999999]",
        "lane[1] reg[2]",
        "reg[1] flip[2]",
        "reg[1048576]",
        "reg[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct layout l;
        const char *end = layout_parse(&l, bad[i]);
        CHECK(!end || *end);
    }
    arena_free(&a);
}

/* -- conversions -- */

/* Makes two random layouts of the same shape, with the same numbers of lanes, warps and CTAs. */
static void random_pair(struct layout *from, struct layout *to)
{
    do {
        random_layout(from, 3, thread_kinds);
        int mix = (int)random_below(3);
        if (mix == 0) {
            random_layout(to, 3, thread_kinds);
        } else { /* or a layout similar to `from`, in which some basis vectors are added to others */
            *to = *from;
            for (int i = 0; i < mix + 1; i++) {
                int a = (int)random_below((uint32_t)place_bits(to) + 1),
                    b = (int)random_below((uint32_t)place_bits(to) + 1);
                if (a < place_bits(to) && b < place_bits(to))
                    to->basis[a] = random_below(3) ? to->basis[a] ^ to->basis[b] : to->basis[b];
            }
        }
    } while (layout_coord_bits(from) != layout_coord_bits(to) || from->nbits[IN_lane] != to->nbits[IN_lane] ||
             from->nbits[IN_warp] != to->nbits[IN_warp] || !layout_is_surjective(to));
}

/* Returns whether each lane holds in `from` all elements that it holds in `to`. If same_lane is false, compares the
 * elements of warps instead of lanes. */
static bool is_within(const struct layout *from, const struct layout *to, bool same_lane)
{
    int nreg = 1 << to->nbits[IN_reg], nlane = 1 << to->nbits[IN_lane], nwarp = 1 << to->nbits[IN_warp];
    for (int w = 0; w < nwarp; w++)
        for (int lane = 0; lane < nlane; lane++)
            for (int r = 0; r < nreg; r++) {
                uint32_t wanted = layout_apply(to, (uint32_t)r, (uint32_t)lane, (uint32_t)w, 0);
                bool found = false;
                for (int k = same_lane ? lane : 0; k < (same_lane ? lane + 1 : nlane); k++)
                    for (int s = 0; s < 1 << from->nbits[IN_reg]; s++)
                        found |= layout_apply(from, (uint32_t)s, (uint32_t)k, (uint32_t)w, 0) == wanted;
                if (!found)
                    return false;
            }
    return true;
}

/* Simulates a conversion by shuffles. In each round, all lanes provide the value of a register before any lane
 * receives one. */
static void check_shuffle(const struct shuffle *s, const struct layout *from, const struct layout *to)
{
    uint32_t free_regs = layout_free_bits(to, IN_reg);
    int nlane = 1 << to->nbits[IN_lane], nwarp = 1 << to->nbits[IN_warp];
    for (int w = 0; w < nwarp; w++) {
        int64_t got[64][512];
        memset(got, -1, sizeof got);
        for (int k = 0; k < 1 << s->nround; k++) {
            int64_t offered[512];
            for (int lane = 0; lane < nlane; lane++) {
                struct shuffle_step step = shuffle_at(s, (uint32_t)k, (uint32_t)(w * nlane + lane));
                CHECK(step.offer < 1u << from->nbits[IN_reg]);
                offered[lane] = layout_apply(from, step.offer, (uint32_t)lane, (uint32_t)w, 0);
            }
            for (int lane = 0; lane < nlane; lane++) {
                struct shuffle_step step = shuffle_at(s, (uint32_t)k, (uint32_t)(w * nlane + lane));
                CHECK(step.source < (uint32_t)nlane && !(step.put & free_regs));
                got[step.put & 63][lane] = offered[step.source];
            }
        }
        for (int lane = 0; lane < nlane; lane++)
            for (uint32_t r = 0; r < 1u << to->nbits[IN_reg]; r++)
                if (!(r & free_regs))
                    CHECK(got[r][lane] == layout_apply(to, r, (uint32_t)lane, (uint32_t)w, 0));
    }
}

TEST(conversion_classes)
{
    int count[4] = {0}, impossible = 0;
    for (int round = 0; round < 20000; round++) {
        struct layout from, to;
        random_pair(&from, &to);
        if (to.nbits[IN_reg] > 6)
            continue;
        enum conversion c = layout_conversion(&from, &to, &params_default);
        count[c]++;
        bool in_lane = is_within(&from, &to, true), in_warp = is_within(&from, &to, false);
        bool same = from.nbits[IN_reg] == to.nbits[IN_reg];
        for (uint64_t p = 0; same && p < UINT64_C(1) << place_bits(&from); p++)
            same = element(&from, p) == element(&to, p);
        CHECK_INT(c == CONVERSION_none, same);
        CHECK_INT(c <= CONVERSION_registers, in_lane);
        CHECK(c != CONVERSION_shuffle || in_warp);
        struct shuffle s;
        bool can = layout_shuffle(&s, &from, &to);
        CHECK(!can || in_warp);
        if (can)
            check_shuffle(&s, &from, &to);
        impossible += in_warp && !can;
    }
    printf("conversions: %d none, %d registers, %d shuffle, %d shared; %d within warps that no rounds do\n",
           count[0], count[1], count[2], count[3], impossible);
    CHECK(count[0] > 500 && count[1] > 500 && count[2] > 500 && count[3] > 500);
    CHECK(impossible * 50 < count[2]);
}

/* If no element occurs twice in either layout, a sequence of shuffles always exists. */
TEST(every_permutation_within_a_warp_shuffles)
{
    for (int round = 0; round < 3000; round++) {
        struct layout from, to;
        do
            random_pair(&from, &to);
        while (place_bits(&from) != layout_coord_bits(&from) || place_bits(&to) != layout_coord_bits(&to));
        struct shuffle s;
        CHECK_INT(layout_shuffle(&s, &from, &to), is_within(&from, &to, false));
    }
}

/* -- vectors and banks -- */

TEST(vector_counts_neighbours)
{
    for (int round = 0; round < 3000; round++) {
        struct layout l;
        random_layout(&l, 4, thread_kinds);
        int dim = (int)random_below(l.rank), n = layout_vector(&l, dim, 8), nreg = l.nbits[IN_reg];
        bool runs[4] = {true, true, true, true}; /* whether runs of 1, 2, 4 and 8 elements are contiguous */
        for (int k = 0; k < 4; k++)
            for (uint64_t p = 0; runs[k] && p < UINT64_C(1) << place_bits(&l); p++) {
                int at[RANK_MAX], first[RANK_MAX];
                uint64_t low = p & ((UINT64_C(1) << k) - 1);
                layout_split_coord(&l, element(&l, p), at);
                layout_split_coord(&l, element(&l, p ^ low), first);
                first[dim] += (int)low;
                runs[k] = k <= nreg && join_index(&l, first) == join_index(&l, at) &&
                          first[dim] < 1 << l.dim_bits[dim] && (first[dim] - (int)low) % (1 << k) == 0;
            }
        for (int k = 0; k < 4; k++)
            CHECK_INT(n >= 1 << k, runs[k]);
    }
}

/* Counts wavefronts: simulates the accesses of all lanes to the banks, phase by phase of a vector access. */
static int simulate(const struct layout *shared, const struct layout *l, int elem_bytes, int vector,
                    const int *reg_of)
{
    struct place_map m;
    layout_divide(&m, l, shared);
    int access = vector * elem_bytes, lanes = access > 4 ? 128 / access : 32, wavefronts = 0, in_vector = 0;
    for (int i = 0; i < vector; i++)
        in_vector |= reg_of[i];
    for (int r = 0; r < 1 << l->nbits[IN_reg]; r++) {
        if (r & in_vector || (uint32_t)r & layout_free_bits(l, IN_reg))
            continue;
        for (int phase = 0; phase < 32; phase += lanes) {
            uint64_t words[32][32];
            int nwords[32] = {0}, most = 0;
            for (int lane = phase; lane < phase + lanes; lane++)
                for (int i = 0; i < vector * elem_bytes; i++) {
                    uint64_t place = (uint64_t)(r ^ reg_of[i / elem_bytes]) | (uint64_t)lane
                                                                                  << l->nbits[IN_reg];
                    uint64_t byte =
                        place_apply(&m, place) * (uint64_t)elem_bytes + (uint64_t)(i % elem_bytes);
                    uint64_t start = place_apply(&m, (uint64_t)r | (uint64_t)lane << l->nbits[IN_reg]) *
                                     (uint64_t)elem_bytes;
                    CHECK(byte == start + (uint64_t)i);
                    CHECK(start % (uint64_t)access == 0);
                    int bank = (int)(byte / 4 % 32), k = 0;
                    while (k < nwords[bank] && words[bank][k] != byte / 4)
                        k++;
                    if (k == nwords[bank])
                        words[bank][nwords[bank]++] = byte / 4;
                    most = nwords[bank] > most ? nwords[bank] : most;
                }
            wavefronts += most;
        }
    }
    return wavefronts;
}

/* Sets `out` to all blocked layouts of shape a x b with 32 lanes and some warps, for all orders of dimensions and all
 * widths of vectors. Returns their number. */
static int all_blocked(struct layout *out, int a, int b)
{
    int n = 0;
    for (int warps = 1; warps <= 4; warps *= 4)
        for (int turn = 0; turn < 2; turn++)
            for (int v = 1; v <= 8; v *= 2) {
                if ((turn ? a : b) < v)
                    continue;
                int per[2] = {turn ? v : 1, turn ? 1 : v}, order[2] = {!turn, turn};
                layout_blocked(&out[n++], 2, (int[]){a, b}, per, order, warps);
            }
    return n;
}

struct tally {
    int pairs, conflicts;
};

static void check_side(const struct layout *shared, const struct layout *l, int elem_bytes, struct tally *t)
{
    int reg_of[16], vector = layout_shared_vector(shared, l, 16 / elem_bytes, reg_of);
    int found = layout_wavefronts(shared, l, elem_bytes, vector);
    CHECK_INT(found, simulate(shared, l, elem_bytes, vector, reg_of));
    t->pairs++;
    t->conflicts += found != layout_wavefronts_least(l, elem_bytes, vector);
}

TEST(shared_layouts)
{
    struct tally t = {0};
    for (int a = 1; a <= 64; a *= 4)
        for (int b = 1; b <= 64; b *= 4) {
            struct layout l[32];
            int n = all_blocked(l, a, b);
            for (int i = 0; i < n * n; i++)
                for (int bytes = 1; bytes <= 8; bytes *= 2) {
                    const struct layout *from = &l[i / n], *to = &l[i % n];
                    struct layout shared;
                    if (from->nbits[IN_warp] != to->nbits[IN_warp])
                        continue;
                    layout_shared_for(&shared, from, to, bytes);
                    CHECK_INT(shared.nbits[IN_offset], layout_coord_bits(from));
                    CHECK_INT(place_bits(&shared), layout_coord_bits(from));
                    CHECK(layout_is_surjective(&shared));
                    check_side(&shared, from, bytes, &t);
                    check_side(&shared, to, bytes, &t);
                }
        }
    printf("shared layouts: %d accesses, %d with conflicts\n", t.pairs, t.conflicts);
    CHECK_INT(t.conflicts, 0);
}

/* A conversion between random layouts through shared memory must have exactly the predicted number of bank
 * conflicts. */
TEST(shared_layouts_of_random_pairs)
{
    struct tally t = {0};
    for (int round = 0; round < 3000; round++) {
        struct layout from, to, shared;
        random_pair(&from, &to);
        for (struct layout *l = &from; l; l = l == &from ? &to : NULL)
            while (l->nbits[IN_lane] < LANE_BITS)
                layout_add(l, IN_lane, 0);
        if (from.nbits[IN_lane] > LANE_BITS)
            continue;
        int bytes = 1 << random_below(4);
        layout_shared_for(&shared, &from, &to, bytes);
        CHECK(layout_is_surjective(&shared) && place_bits(&shared) == layout_coord_bits(&from));
        check_side(&shared, &from, bytes, &t);
        check_side(&shared, &to, bytes, &t);
    }
    printf("random pairs: %d accesses, %d with conflicts\n", t.pairs, t.conflicts);
    CHECK_INT(t.conflicts, 0);
}

TEST(shared_layouts_that_we_expect)
{
    struct layout row, column, shared, expected;
    layout_blocked(&row, 2, (int[]){64, 64}, (int[]){1, 4}, (int[]){1, 0}, 4);
    layout_blocked(&column, 2, (int[]){64, 64}, (int[]){4, 1}, (int[]){0, 1}, 4);
    layout_shared_for(&shared, &row, &row, 4); /* equal layouts need no swizzle */
    CHECK_INT(layout_shared_vector(&shared, &row, 4, NULL), 4);
    for (int i = 0; i < 12; i++)
        CHECK_INT(__builtin_popcount(shared.basis[i]), 1);
    layout_shared_for(&shared, &row, &column, 4);
    CHECK_INT(layout_wavefronts(&shared, &column, 4, layout_shared_vector(&shared, &column, 4, NULL)), 32);
    CHECK(layout_parse(&expected, "offset[1 2 4 8]"));
    layout_blocked(&row, 1, (int[]){16}, (int[]){1}, (int[]){0}, 1);
    layout_shared_for(&shared, &row, &row, 4); /* a tile with fewer elements than a warp has lanes */
    CHECK(layout_equal(&shared, &expected));
}
