/* SPDX-License-Identifier: MIT */
/* conversion.c: chooses how to move the data when a tile is converted from one distributed layout to another: not at
 * all, by renaming registers, by warp shuffles, or through shared memory. Also finds the sequence of shuffles for a
 * conversion within a warp.
 *
 * Example: 4 elements in 2 lanes with 2 registers each change from layout A = reg[1] lane[2] (left) to layout
 * B = reg[2] lane[1] (right):
 *
 *              lane 0   lane 1                 lane 0   lane 1
 *     reg 0      0        2           reg 0      0        1
 *     reg 1      1        3           reg 1      2        3
 *
 * The conversion takes several rounds. In a round, which is one shuffle, every lane offers one of its
 * registers, and reads the register that a lane of its choice offers. A round cannot fill the same register
 * of B in every lane: to fill register 0 of both lanes, lane 0 would have to offer both of its elements, 0
 * and 1. Instead, in round k lane l fills its register l ^ k:
 *
 *     round 0: lane 0 fills reg 0 with its own element 0, lane 1 fills reg 1 with its own element 3  (no shuffle)
 *     round 1: lane 0 fills reg 1 with element 2 of lane 1, lane 1 fills reg 0 with element 1 of lane 0
 *
 * In general, the places (register, lane) of B that round 0 fills form a subspace C; each other round fills C XORed
 * with a constant. Let U be the places in lane 0 of B. Let M map each place of B to the place of A with the
 * same element, and let K be the kernel of M. Let W be the places of B that M maps to lane 0. C must satisfy
 * two conditions:
 *   - each lane fills one register: C is a complement of U;
 *   - each source lane offers one register: if M maps a place in C to lane 0, M must map it to register 0
 *     too. So C may intersect W only in K.
 * As C, find_round chooses the sum of K and a complement of U + K that has only zero in common with W. This
 * complement exists unless the dimension of W is larger than the dimension of U + K. In that case one lane
 * holds more different elements of the result than there are rounds, but a lane can offer only one element in
 * each round. If several lanes of A hold an element, M prefers a source lane near the destination lane: a
 * lane bit that has the same vector in A and B stays unchanged.
 *
 * The cost estimate counts issue slots of a warp. A round costs one slot for the shuffle, plus selects if the
 * register that a lane offers or fills depends on the lane. A conversion through shared memory costs a store
 * and a load for each register, plus a barrier. */
#include "ir/layout/layout.h"

#include "ir/params.h"
#include "ir/support/span.h"

#include <string.h>

/* A place in a warp is one word: the register's bits are the lowest, the lane's bits follow. */
struct places {
    int reg_bits, lane_bits;
};

static uint32_t reg_part(const struct places *p, uint32_t place)
{
    return place & ((UINT32_C(1) << p->reg_bits) - 1);
}

static uint32_t lane_part(const struct places *p, uint32_t place)
{
    return place >> p->reg_bits;
}

/* The map M: bit i of a place of B (register bits lowest, then lane bits, then warp bits) adds of[i], by XOR,
 * to the place of A. */
struct moves {
    struct places from, to;
    int nwarp; /* number of input bits for warps and CTAs */
    uint32_t of[LAYOUT_BITS_MAX], flip;
    uint32_t free_regs; /* replicated register bits of `to` */
};

static bool find_moves(struct moves *m, const struct layout *from, const struct layout *to)
{
    if (memcmp(&from->nbits[IN_lane], &to->nbits[IN_lane], sizeof from->nbits - IN_lane) != 0)
        return false;
    struct span s = {0};
    for (int i = 0; i < from->nbits[IN_reg] + from->nbits[IN_lane]; i++)
        span_add(&s, from->basis[i], UINT64_C(1) << i);
    *m = (struct moves){.from = {from->nbits[IN_reg], from->nbits[IN_lane]},
                        .to = {to->nbits[IN_reg], to->nbits[IN_lane]},
                        .nwarp = to->nbits[IN_warp] + to->nbits[IN_cta],
                        .free_regs = layout_free_bits(to, IN_reg)};
    int n = m->to.reg_bits + m->to.lane_bits + m->nwarp;
    for (int i = 0; i <= n; i++) {
        uint32_t vector = i < n ? to->basis[i] : from->flip ^ to->flip, stay = 0;
        if (i >= m->to.reg_bits && i < n) {
            int at = i - m->to.reg_bits;
            vector ^= from->basis[m->from.reg_bits + at];
            stay = at < m->from.lane_bits ? UINT32_C(1) << (m->from.reg_bits + at) : 0;
        }
        uint64_t place = 0;
        if (span_reduce(&s, vector, &place))
            return false;
        *(i < n ? &m->of[i] : &m->flip) = stay ^ (uint32_t)place;
    }
    return true;
}

/* Computes the subspace of the places of B that M maps to places with zeros in all bits of `mask`. Leaves out
 * places in which a replicated register bit is 1. */
static void kernel(struct basis *out, const struct moves *m, uint32_t mask)
{
    struct span images = {0};
    *out = (struct basis){0};
    for (int i = 0; i < m->to.reg_bits + m->to.lane_bits; i++) {
        if (m->free_regs >> i & 1 && i < m->to.reg_bits)
            continue;
        uint64_t place = UINT64_C(1) << i;
        uint32_t rest = span_reduce(&images, m->of[i] & mask, &place);
        if (rest)
            span_add(&images, m->of[i] & mask, UINT64_C(1) << i);
        else
            basis_add(out, (uint32_t)place);
    }
}

/* Finds the subspace C (see the head of this file). Bit i of a lane's number adds put[i] (by XOR) to the number
 * of the register that the lane fills. Returns false if there is no C. */
static bool find_round(uint32_t *put, const struct moves *m)
{
    uint32_t regs = ((UINT32_C(1) << m->to.reg_bits) - 1) & ~m->free_regs;
    uint32_t lanes = ((UINT32_C(1) << m->to.lane_bits) - 1) << m->to.reg_bits;
    struct basis k, w, u, c;
    kernel(&k, m, UINT32_MAX);
    kernel(&w, m, UINT32_MAX << m->from.reg_bits);
    u = k;
    for (int i = 0; i < m->to.reg_bits; i++)
        if (regs >> i & 1)
            basis_add(&u, UINT32_C(1) << i);
    if (w.n > u.n)
        return false;
    int n = u.n;
    basis_complement(&c, &u, &w, regs | lanes, n);
    basis_extend(&c, k.vector, k.n, SPAN_BITS);
    struct span by_lane = {0};
    for (int i = 0; i < c.n; i++)
        span_add(&by_lane, lane_part(&m->to, c.vector[i]), reg_part(&m->to, c.vector[i]));
    for (int i = 0; i < m->to.lane_bits; i++) {
        uint64_t reg = 0;
        span_reduce(&by_lane, UINT32_C(1) << i, &reg);
        put[i] = (uint32_t)reg;
    }
    return true;
}

/* Returns the word that bit i of the destination lane's number adds (by XOR) to the source place, if this bit
 * adds put[i] to the number of the filled register. */
static uint32_t place_of_lane(const struct moves *m, const uint32_t *put, int i)
{
    uint32_t place = m->of[m->to.reg_bits + i];
    for (int r = 0; r < m->to.reg_bits; r++)
        if (put[i] >> r & 1)
            place ^= m->of[r];
    return place;
}

/* Finds the register that each source lane offers, as a linear map from the lane's number (a vector of
 * *offer) to the register (the vector's combo, see span.h). put[i] is as in find_round. Returns false if a
 * lane would have to offer two registers in one round. */
static bool find_offers(struct span *offer, const struct moves *m, const uint32_t *put)
{
    *offer = (struct span){0};
    for (int i = 0; i < m->to.lane_bits; i++) {
        uint32_t place = place_of_lane(m, put, i);
        uint64_t reg = reg_part(&m->from, place);
        if (span_reduce(offer, lane_part(&m->from, place), &reg) == 0 && reg != 0)
            return false;
        span_add(offer, lane_part(&m->from, place), reg_part(&m->from, place));
    }
    for (int i = 0; i < m->from.lane_bits; i++) /* a lane from which no lane reads may offer any register */
        span_add(offer, UINT32_C(1) << i, 0);
    return true;
}

/* Returns the step whose XOR into a round changes the source place by `place`, and the number of the filled
 * register by `put`. */
static struct shuffle_step step_for(const struct moves *m, const struct span *offer, uint32_t place,
                                    uint32_t put)
{
    uint64_t reg = reg_part(&m->from, place);
    span_reduce(offer, lane_part(&m->from, place), &reg);
    return (struct shuffle_step){.offer = (uint32_t)reg, .source = lane_part(&m->from, place), .put = put};
}

static void fill_steps(struct shuffle *s, const struct moves *m, const struct span *offer,
                       const uint32_t *put)
{
    *s = (struct shuffle){.nthread = m->to.lane_bits + m->nwarp, .first = step_for(m, offer, m->flip, 0)};
    for (int i = 0; i < m->to.reg_bits; i++)
        if (!(m->free_regs >> i & 1))
            s->round[s->nround++] = step_for(m, offer, m->of[i], UINT32_C(1) << i);
    for (int i = 0; i < m->to.lane_bits; i++) {
        uint32_t place = place_of_lane(m, put, i);
        uint64_t reg = 0;
        span_reduce(offer, UINT32_C(1) << i, &reg);
        s->thread[i] = (struct shuffle_step){
            .offer = (uint32_t)reg, .source = lane_part(&m->from, place), .put = put[i]};
    }
    for (int i = 0; i < m->nwarp; i++)
        s->thread[m->to.lane_bits + i] = step_for(m, offer, m->of[m->to.reg_bits + m->to.lane_bits + i], 0);
}

bool layout_shuffle(struct shuffle *s, const struct layout *from, const struct layout *to)
{
    struct moves m;
    struct span offer;
    uint32_t put[LAYOUT_BITS_MAX] = {0};
    if (!find_moves(&m, from, to))
        return false;
    if (!find_offers(&offer, &m, put) && !(find_round(put, &m) && find_offers(&offer, &m, put)))
        return false;
    fill_steps(s, &m, &offer, put);
    return true;
}

struct shuffle_step shuffle_at(const struct shuffle *s, uint32_t round, uint32_t thread)
{
    struct shuffle_step r = s->first;
    for (int i = 0; i < s->nround + s->nthread; i++) {
        bool set = i < s->nround ? round >> i & 1 : thread >> (i - s->nround) & 1;
        const struct shuffle_step *step = i < s->nround ? &s->round[i] : &s->thread[i - s->nround];
        if (set)
            r = (struct shuffle_step){r.offer ^ step->offer, r.source ^ step->source, r.put ^ step->put};
    }
    return r;
}

/* -- kinds of conversion -- */

/* Returns whether every lane reads its own registers in every round. */
static bool stays_in_lane(const struct shuffle *s, int lane_bits)
{
    uint32_t moved = s->first.source;
    for (int i = 0; i < s->nround; i++)
        moved |= s->round[i].source;
    for (int i = 0; i < s->nthread; i++)
        moved |= s->thread[i].source ^ (i < lane_bits ? UINT32_C(1) << i : 0);
    return moved == 0;
}

/* Counts the issue slots of all rounds: each round takes a shuffle, and selects if the offered or the filled
 * register depends on the thread. */
static int shuffle_slots(const struct shuffle *s)
{
    struct span offers = {0}, puts = {0};
    for (int i = 0; i < s->nthread; i++) {
        span_add(&offers, s->thread[i].offer, 0);
        span_add(&puts, s->thread[i].put, 0);
    }
    return (1 + offers.rank + puts.rank) << s->nround;
}

static bool is_same_map(const struct layout *a, const struct layout *b)
{
    return memcmp(a->nbits, b->nbits, sizeof a->nbits) == 0 && a->flip == b->flip &&
           memcmp(a->basis, b->basis, (size_t)layout_first(a, IN_count) * sizeof a->basis[0]) == 0;
}

enum conversion layout_conversion(const struct layout *from, const struct layout *to,
                                  const struct params *params)
{
    struct shuffle s;
    if (is_same_map(from, to))
        return CONVERSION_none;
    if (!layout_shuffle(&s, from, to))
        return CONVERSION_shared;
    if (stays_in_lane(&s, to->nbits[IN_lane]))
        return CONVERSION_registers;
    int shared_slots = params->lower_layout_conversion_shared_slots +
                       (params->lower_layout_conversion_register_slots << s.nround);
    bool cheap = shuffle_slots(&s) <= shared_slots;
    return cheap ? CONVERSION_shuffle : CONVERSION_shared;
}
