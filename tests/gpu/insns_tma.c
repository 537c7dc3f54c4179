/* insns_tma.c: trials of bulk copies: tensor maps of one to five dimensions with every swizzle, boxes that
 * hang over every side of the tensor, reductions of every type, multicast, and copies without a map.
 *
 * A box lies in shared memory element after element, dimension 0 first; seen as rows of 128 bytes, the piece
 * of 16 bytes at column c of row r then stands at c ^ r % (W / 16) of the row for a swizzle of W bytes.
 * Outside the tensor an element reads as zero, or where the map says so as a NaN, and is not written.
 *
 * An H200 behaves as follows where the PTX ISA is silent. A box that does not begin at a multiple of 16 bytes is an
 * illegal instruction; so is a store or reduction of a box that begins at a negative coordinate. A NaN outside the
 * tensor is 0x7ff7 in each 16 bits; maps of integers give no NaN. Rows that are narrower than the swizzle are as far
 * apart as the swizzle is wide: the emulator refuses such maps, so the trials have none. */
#include "tests/gpu/insns.h"

#include <stdio.h>
#include <string.h>

enum {
    THREADS = 128,
    OWN = 64,
    REGION = THREADS * OWN,
    BARRIER = 2 * REGION,
    SHARED = 2 * REGION + 16,
    BASE = 256, /* of the tensor in its buffer */
    PLACES = 6
};

/* -- maps and where elements are -- */

static const int8_t boxes[MAP_RANK_MAX] = {0, 4, 3, 2, 2}, extents[MAP_RANK_MAX] = {0, 7, 5, 4, 3};

/* Boxes inside, over the upper sides, outside, and those that only loads take: over the lower sides, over
 * both, and outside; dimension 0 in pieces of 16 bytes. */
enum { STORED_PLACES = 3 };
static const int8_t places[PLACES][MAP_RANK_MAX] = {{1, 1, 1, 1, 1},   {2, 5, 3, 3, 2},
                                                    {0, 7, 0, 0, 0},   {-1, -1, -2, -1, -1},
                                                    {-2, 5, -1, 3, 1}, {-8, 0, 0, 0, 0}};

struct at {
    int8_t of[MAP_RANK_MAX]; /* elements */
};

static struct packed_map map_of(enum map_type type, int rank, enum map_swizzle swizzle, int inner_bytes,
                                bool nan)
{
    int es = map_elem_bytes(type);
    struct packed_map m = {.magic = MAP_MAGIC,
                           .type = (uint8_t)type,
                           .rank = (uint8_t)rank,
                           .swizzle = (uint8_t)swizzle,
                           .fills_nan = nan,
                           .base = BASE};
    uint64_t bytes = 0;
    for (int d = 0; d < rank; d++) {
        m.box[d] = (uint16_t)(d ? boxes[d] : inner_bytes / es);
        m.extent[d] = (uint64_t)(d ? extents[d] : (inner_bytes + 16) / es);
        m.step[d] = 1;
        if (d)
            m.stride[d - 1] = bytes;
        bytes = d ? bytes * m.extent[d] + 32 : (m.extent[0] * (uint64_t)es + 31) / 16 * 16;
    }
    return m;
}

/* A map for loads, whose rows may end anywhere. Rows of stores end at multiples of 16 bytes, since an H200 writes up to the
 * next multiple. */
static struct packed_map ragged(struct packed_map m)
{
    m.extent[0] = (uint64_t)m.box[0] + 3;
    return m;
}

static struct at place_of(const struct packed_map *m, int k)
{
    struct at at;
    memcpy(at.of, places[k], sizeof at.of);
    at.of[0] = (int8_t)(at.of[0] * 16 / map_elem_bytes(m->type));
    return at;
}

/* What is reported of a copy to or from the box. */
static enum error refusal_of(const struct packed_map *m, const int8_t *at, bool loads)
{
    for (int d = 0; d < m->rank; d++)
        if (d == 0 && at[d] * map_elem_bytes(m->type) % 16)
            return ERR_misaligned;
        else if (at[d] < 0 && !loads)
            return ERR_out_of_bounds;
    return ERR_count;
}

static size_t tensor_bytes(const struct packed_map *m)
{
    size_t bytes = BASE + 256;
    for (int d = 0; d < m->rank; d++)
        bytes += (d ? m->stride[d - 1] : (uint64_t)map_elem_bytes(m->type)) * m->extent[d];
    return bytes;
}

static int box_elems(const struct packed_map *m)
{
    int n = 1;
    for (int d = 0; d < m->rank; d++)
        n *= m->box[d];
    return n;
}

/* Byte of the tensor's buffer of element `i` of a box; -1: outside. */
static long global_place(const struct packed_map *m, const int8_t *at, int i)
{
    long place = BASE;
    for (int d = 0; d < m->rank; d++) {
        long x = at[d] + i % m->box[d];
        if (x < 0 || x >= (long)m->extent[d])
            return -1;
        place += x * (d ? (long)m->stride[d - 1] : map_elem_bytes(m->type));
        i /= m->box[d];
    }
    return place;
}

static int shared_place(const struct packed_map *m, int first, int i)
{
    int at = first + i * map_elem_bytes(m->type), row = at / 128, piece = at % 128 / 16;
    int pieces = m->swizzle ? 1 << m->swizzle : 1; /* of 16 bytes in W */
    return row * 128 + (piece ^ row % pieces) * 16 + at % 16;
}

/* -- kernels -- */

static void head(struct trial *t, const char *directives)
{
    t->threads = THREADS;
    t->shared_bytes = SHARED;
    for (size_t i = 0; i < t->in_bytes; i++)
        t->in[i] = (uint8_t)random_bits();
    kernel_head_with(t, directives);
    text_printf(
        &t->ptx,
        ".reg .b32 %%x<4>, %%c<5>, %%own;\n.reg .b64 %%map, %%policy, %%from, %%to;\n.reg .b16 %%mask;\n"
        ".reg .pred %%p, %%q;\nmad.lo.u32 %%own, %%t, 64, %%sm;\nmul.wide.u32 %%wide, %%t, 64;\n"
        "add.s64 %%from, %%in, %%wide;\nadd.s64 %%to, %%out, %%wide;\nsetp.eq.u32 %%q, %%t, 0;\n");
    if (t->nmaps)
        text_printf(&t->ptx, "mov.b64 %%map, p_map0;\ncvta.param.u64 %%map, %%map;\n"
                             "@%%q prefetch.tensormap [%%map];\n");
}

static void print_barrier(struct text *p)
{
    text_printf(
        p, "@%%q mbarrier.init.shared::cta.b64 [%%sm+%d], 1;\n@%%q fence.mbarrier_init.release.cluster;\n",
        BARRIER);
}

/* Fills shared memory, so that bytes that no copy writes have known values, too. */
static void print_spoil(struct text *p)
{
    text_printf(p, "mov.u32 %%x0, 0xeeeeeeee;\n");
    for (int i = 0; i < OWN; i += 16)
        text_printf(p, "st.shared.v4.b32 [%%own+%d], {%%x0, %%x0, %%x0, %%x0};\n", i);
    text_printf(p, "fence.proxy.async;\nbar.sync 0;\n");
}

static void print_result(struct text *p, size_t at)
{
    for (size_t i = 0; i < OWN; i += 16)
        text_printf(p,
                    "ld.shared.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%own+%zu];\n"
                    "st.global.v4.b32 [%%to+%zu], {%%x0, %%x1, %%x2, %%x3};\n",
                    i, at + i);
    text_printf(p, "bar.sync 0;\n");
}

static void print_wait(struct text *p, int number)
{
    text_printf(p,
                "WAIT%d:\nmbarrier.try_wait.parity.shared::cta.b64 %%p, [%%sm+%d], %d;\n@!%%p bra WAIT%d;\n",
                number, BARRIER, number % 2, number);
}

static void print_coordinates(struct text *p, int rank, const int8_t *at)
{
    for (int d = 0; d < rank; d++)
        text_printf(p, "mov.b32 %%c%d, %d;\n", d, at[d]);
}

/* "[%map, {%c0, %c1}]" */
static void print_box(struct text *p, int rank)
{
    text_printf(p, "[%%map, {");
    for (int d = 0; d < rank; d++)
        text_printf(p, "%s%%c%d", d ? ", " : "", d);
    text_printf(p, "}]");
}

static const char *swizzle_name(const struct packed_map *m)
{
    static const char *const names[] = {"none", "32", "64", "128"};
    return names[m->swizzle];
}

/* -- loads -- */

static void want_box(struct trial *t, const struct packed_map *m, const int8_t *at, int first, uint8_t *want)
{
    size_t es = (size_t)map_elem_bytes(m->type);
    uint64_t fill = m->fills_nan ? UINT64_C(0x7ff77ff77ff77ff7) : 0;
    for (int i = 0; i < box_elems(m); i++) {
        long place = global_place(m, at, i);
        memcpy(want + shared_place(m, first, i), place < 0 ? (const void *)&fill : t->in + place, es);
    }
}

/* "[...], {...}]" of the map, from its box to shared memory at `first`. */
static void print_load(const struct trial *t, struct text *p, int first, bool hint)
{
    const struct packed_map *m = &t->maps[0];
    text_printf(p, "@%%q cp.async.bulk.prefetch.tensor.%dd.L2.global.tile ", m->rank);
    print_box(p, m->rank);
    text_printf(p, ";\n");
    text_printf(p,
                "@%%q mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%sm+%d], %d;\n"
                "@%%q cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes%s "
                "[%%sm+%d], ",
                BARRIER, box_elems(m) * map_elem_bytes(m->type), m->rank, hint ? ".L2::cache_hint" : "",
                first);
    print_box(p, m->rank);
    text_printf(p, ", [%%sm+%d]%s;\n", BARRIER, hint ? ", %policy" : "");
}

/* Boxes from `from` to `to`, one after the other. */
static void try_boxes(struct bench *b, struct packed_map m, int first, bool hint, int from, int to)
{
    m = ragged(m);
    struct trial *t = trial_new(b, tensor_bytes(&m), PLACES * REGION);
    struct text *p = &t->ptx;
    t->maps[t->nmaps++] = m;
    head(t, "");
    print_barrier(p);
    if (hint)
        text_printf(p, "createpolicy.fractional.L2::evict_first.b64 %%policy;\n");
    for (int k = from; k < to; k++) {
        struct at at = place_of(&m, k);
        print_spoil(p);
        print_coordinates(p, m.rank, at.of);
        print_load(t, p, first, hint);
        print_wait(p, k - from);
        print_result(p, (size_t)(k * REGION));
        want_box(t, &m, at.of, first, t->want + k * REGION);
        trial_check(t, INSN_tma_load, (size_t)(k * REGION), REGION / 4, 4, 4,
                    "tma_load %dd, %d bytes an element, swizzle %s, box %d%s", m.rank, map_elem_bytes(m.type),
                    swizzle_name(&m), k, m.fills_nan ? ", NaN outside" : "");
    }
    trial_check(t, INSN_tma_prefetch, 0, REGION / 4, 4, 4, "tma_prefetch %dd", m.rank);
    trial_check(t, INSN_map_prefetch, 0, REGION / 4, 4, 4, "prefetch.tensormap");
    text_printf(p, "ret;\n}\n");
    trial_run(b, t);
}

static void try_load(struct bench *b, struct packed_map m, int first, bool hint)
{
    try_boxes(b, m, first, hint, 0, PLACES);
}

/* One box, which may be none to load. */
static void try_load_at(struct bench *b, struct packed_map m, const int8_t *at)
{
    m = ragged(m);
    struct trial *t = trial_new(b, tensor_bytes(&m), REGION);
    struct text *p = &t->ptx;
    t->maps[t->nmaps++] = m;
    t->refusal = refusal_of(&m, at, true);
    head(t, "");
    print_barrier(p);
    print_spoil(p);
    print_coordinates(p, m.rank, at);
    print_load(t, p, 1024, false);
    print_wait(p, 0);
    print_result(p, 0);
    want_box(t, &m, at, 1024, t->want);
    trial_check(t, INSN_tma_load, 0, REGION / 4, 4, 4, "tma_load %dd, from %d", m.rank, at[0]);
    text_printf(p, "ret;\n}\n");
    trial_run(b, t);
}

/* Rows of every type and length, each box by itself. */
static void try_rows(struct bench *b)
{
    for (enum map_type type = MAP_u8; type < MAP_type_count; type += 3)
        for (int bytes = 16; bytes <= 64; bytes += 16)
            for (int k = 0; k < PLACES; k++)
                try_boxes(b, map_of(type, 1, SWIZZLE_none, bytes, false), 128, false, k, k + 1);
}

/* -- stores and reductions -- */

static void print_fill(struct text *p, int at)
{
    for (int i = 0; i < OWN; i += 16)
        text_printf(p,
                    "ld.global.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%from+%d];\n"
                    "st.shared.v4.b32 [%%own+%d], {%%x0, %%x1, %%x2, %%x3};\n",
                    at + i, at + i);
}

static void print_store(struct text *p, const char *mnemonic, int rank, int from, const char *tail)
{
    text_printf(p, "@%%q %s ", mnemonic);
    print_box(p, rank);
    text_printf(p, ", [%%sm+%d];\n@%%q cp.async.bulk.commit_group;\n@%%q cp.async.bulk.wait_group%s 0;\n",
                from, tail);
}

static void begin_store(struct trial *t, const struct packed_map *m, const int8_t *at)
{
    t->maps[t->nmaps] = *m;
    t->maps[t->nmaps++].base |= IN_OUTPUT;
    t->refusal = refusal_of(m, at, false);
    head(t, "");
}

static void try_store(struct bench *b, struct packed_map m, int first, const int8_t *at, bool read)
{
    size_t out = tensor_bytes(&m), es = (size_t)map_elem_bytes(m.type);
    struct trial *t = trial_new(b, 2 * REGION, out);
    char mnemonic[NAME_BYTES];
    begin_store(t, &m, at);
    print_fill(&t->ptx, 0);
    print_coordinates(&t->ptx, m.rank, at);
    text_printf(&t->ptx, "fence.proxy.async.shared::cta;\nbar.sync 0;\n");
    snprintf(mnemonic, sizeof mnemonic, "cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group",
             m.rank);
    print_store(&t->ptx, mnemonic, m.rank, first, read ? ".read" : "");
    for (int i = 0; i < box_elems(&m); i++) {
        long place = global_place(&m, at, i);
        if (place >= 0)
            memcpy(t->want + place, t->in + shared_place(&m, first, i), es);
    }
    trial_check(t, INSN_tma_store, 0, (int)(out / 4), 4, 4,
                "tma_store %dd, %zu bytes an element, swizzle %s, at %d", m.rank, es, swizzle_name(&m),
                at[0]);
    trial_check(t, INSN_bulk_commit, 0, (int)(out / 4), 4, 4, "cp.async.bulk.commit_group");
    trial_check(t, read ? INSN_bulk_wait_read : INSN_bulk_wait, 0, (int)(out / 4), 4, 4,
                "cp.async.bulk.wait_group%s", read ? ".read" : "");
    text_printf(&t->ptx, "ret;\n}\n");
    trial_run(b, t);
}

static uint64_t reduced(enum mod op, enum ptype t, uint64_t old, uint64_t x)
{
    bool below = t == PT_s32 ? (int32_t)x < (int32_t)old : t == PT_s64 ? (int64_t)x < (int64_t)old : x < old;
    if (holds_float(t))
        below = real_compare(real_of(t, x), real_of(t, old)) == -1;
    switch (op) {
    case MOD_add:
        return holds_float(t) ? real_round(t, real_add(real_of(t, old), real_of(t, x)), MOD_rn, false)
                              : old + x;
    case MOD_min: return below ? x : old;
    case MOD_max: return below ? old : x;
    case MOD_and: return old & x;
    case MOD_or: return old | x;
    case MOD_xor: return old ^ x;
    case MOD_inc: return old >= x ? 0 : old + 1;
    default: return old == 0 || old > x ? x : old - 1;
    }
}

static const enum ptype map_ptypes[MAP_type_count] = {PT_u8,  PT_u16, PT_u32, PT_s32, PT_u64,
                                                      PT_s64, PT_f16, PT_f32, PT_f64, PT_bf16};

/* A normal number: the ISA does not define the results for NaNs and subnormal numbers here. */
static uint64_t ordinary(enum ptype t)
{
    uint64_t x = random_bits();
    return !holds_float(t)
               ? (x & 3 ? x : x & 0xff)
               : real_round(
                     t, (struct real){.minus = x >> 63, .m = (x & 0xffff) + 1, .e = (int)(x >> 32 & 7) - 16},
                     MOD_rn, false);
}

/* A store of one box, then a reduction of another there. */
static void try_reduce(struct bench *b, enum mod op, struct packed_map m, const int8_t *at)
{
    enum map_type type = m.type;
    int rank = m.rank;
    size_t out = tensor_bytes(&m), es = (size_t)map_elem_bytes(type);
    struct trial *t = trial_new(b, 2 * REGION, out);
    char mnemonic[NAME_BYTES];
    begin_store(t, &m, at);
    for (size_t i = 0; i < t->in_bytes; i += es) {
        uint64_t x = ordinary(map_ptypes[type]);
        memcpy(t->in + i, &x, es);
    }
    print_fill(&t->ptx, 0);
    text_printf(&t->ptx, "add.s64 %%from, %%from, %d;\nadd.s32 %%own, %%own, %d;\n", REGION, REGION);
    print_fill(&t->ptx, 0);
    print_coordinates(&t->ptx, rank, at);
    text_printf(&t->ptx, "fence.proxy.async;\nbar.sync 0;\n");
    snprintf(mnemonic, sizeof mnemonic, "cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group", rank);
    if (t->refusal == ERR_count)
        print_store(&t->ptx, mnemonic, rank, 0, "");
    snprintf(mnemonic, sizeof mnemonic, "cp.reduce.async.bulk.tensor.%dd.global.shared::cta.%s.bulk_group",
             rank, mod_info[op].text);
    print_store(&t->ptx, mnemonic, rank, REGION, "");
    for (int i = 0; i < box_elems(&m); i++) {
        long place = global_place(&m, at, i);
        uint64_t old = 0, x = 0, after;
        memcpy(&old, t->in + shared_place(&m, 0, i), es);
        memcpy(&x, t->in + REGION + shared_place(&m, 0, i), es);
        after = reduced(op, map_ptypes[type], old, x);
        if (place >= 0)
            memcpy(t->want + place, &after, es);
    }
    trial_check(t, INSN_tma_reduce, 0, (int)(out / es), (int)es, (int)es,
                "tma_reduce %s of %s, %dd, swizzle %s", mod_info[op].text, ptype_info[map_ptypes[type]].word,
                rank, swizzle_name(&m));
    text_printf(&t->ptx, "ret;\n}\n");
    trial_run(b, t);
}

struct reduction {
    uint8_t op;
    int8_t types[8]; /* of maps; -1 ends them */
};

static const struct reduction reductions[] = {
    {MOD_add, {MAP_u32, MAP_s32, MAP_u64, MAP_f16, MAP_bf16, MAP_f32, MAP_f64, -1}},
    {MOD_min, {MAP_u32, MAP_s32, MAP_u64, MAP_s64, MAP_f16, MAP_bf16, -1}},
    {MOD_max, {MAP_u32, MAP_s32, MAP_u64, MAP_s64, MAP_f16, MAP_bf16, -1}},
    {MOD_and, {MAP_u32, MAP_u64, -1}},
    {MOD_or, {MAP_u32, MAP_u64, -1}},
    {MOD_xor, {MAP_u32, MAP_u64, -1}},
    {MOD_inc, {MAP_u32, -1}},
    {MOD_dec, {MAP_u32, -1}},
};

/* -- copies without a map; to all CTAs of a cluster -- */

static void try_bulk_store(struct bench *b)
{
    struct trial *t = trial_new(b, REGION, REGION);
    head(t, "");
    text_printf(&t->ptx, "@%%q cp.async.bulk.prefetch.L2.global [%%in], %d;\n", REGION);
    print_fill(&t->ptx, 0);
    text_printf(&t->ptx, "fence.proxy.async.shared::cta;\nbar.sync 0;\nadd.s64 %%to, %%out, 32;\n"
                         "@%%q cp.async.bulk.global.shared::cta.bulk_group [%%to], [%%sm+48], 4112;\n"
                         "@%%q cp.async.bulk.commit_group;\n@%%q cp.async.bulk.wait_group 0;\nret;\n}\n");
    memcpy(t->want + 32, t->in + 48, 4112);
    trial_check(t, INSN_bulk_store, 0, REGION / 4, 4, 4, "cp.async.bulk to global memory");
    trial_check(t, INSN_bulk_prefetch, 0, REGION / 4, 4, 4, "cp.async.bulk.prefetch");
    trial_run(b, t);
}

static void try_bulk_reduce(struct bench *b, enum mod op, enum ptype type)
{
    size_t es = (size_t)ptype_info[type].bits / 8;
    struct trial *t = trial_new(b, 2 * REGION, REGION);
    struct form f = {INSN_bulk_reduce, (uint8_t)type, 0, {(uint8_t)op}, 0};
    char spelled[NAME_BYTES];
    if (type == PT_f16 || type == PT_bf16)
        f.mods[1] = MOD_noftz;
    form_spell(f, spelled, sizeof spelled);
    head(t, "");
    for (size_t i = 0; i < t->in_bytes; i += es) {
        uint64_t x = ordinary(type);
        memcpy(t->in + i, &x, es);
    }
    print_fill(&t->ptx, 0);
    text_printf(&t->ptx, "add.s64 %%from, %%from, %d;\nadd.s32 %%own, %%own, %d;\n", REGION, REGION);
    print_fill(&t->ptx, 0);
    text_printf(&t->ptx,
                "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
                "@%%q cp.async.bulk.global.shared::cta.bulk_group [%%out], [%%sm], %d;\n"
                "@%%q cp.async.bulk.commit_group;\n@%%q cp.async.bulk.wait_group 0;\n@%%q %s [%%out], "
                "[%%sm+%d], %d;\n"
                "@%%q cp.async.bulk.commit_group;\n@%%q cp.async.bulk.wait_group 0;\nret;\n}\n",
                REGION, spelled, REGION, REGION / 2);
    memcpy(t->want, t->in, REGION);
    for (size_t i = 0; i < REGION / 2; i += es) {
        uint64_t old = 0, x = 0, after;
        memcpy(&old, t->in + i, es);
        memcpy(&x, t->in + REGION + i, es);
        after = reduced(op, type, old, x);
        memcpy(t->want + i, &after, es);
    }
    trial_check(t, INSN_bulk_reduce, 0, (int)(REGION / es), (int)es, (int)es, "%s", spelled);
    trial_run(b, t);
}

/* Each of two CTAs sends bytes to the other, whose mbarrier counts them. */
static void try_send(struct bench *b)
{
    struct trial *t = trial_new(b, 2 * REGION, 2 * REGION);
    struct text *p = &t->ptx;
    enum { BYTES = 4096 };
    t->grid = 2;
    head(t, ".explicitcluster\n.reqnctapercluster 2, 1, 1\n");
    text_printf(
        p, "mul.wide.u32 %%wide, %%cta, %d;\nadd.s64 %%from, %%from, %%wide;\nadd.s64 %%to, %%to, %%wide;\n",
        REGION);
    print_barrier(p);
    print_fill(p, 0);
    text_printf(
        p,
        "fence.proxy.async;\nbar.sync 0;\n@%%q mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%sm+%d], %d;\n"
        "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
        "mov.u32 %%x0, %%cluster_ctarank;\nxor.b32 %%x0, %%x0, 1;\nmapa.shared::cluster.u32 %%x1, %%sm, "
        "%%x0;\n"
        "@%%q cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%%x1+%d], [%%sm], %d, "
        "[%%x1+%d];\n",
        BARRIER, BYTES, BYTES, BYTES, BARRIER);
    print_wait(p, 0);
    print_result(p, 0);
    text_printf(p,
                "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\nret;\n}\n");
    for (int rank = 0; rank < 2; rank++) {
        memcpy(t->want + rank * REGION, t->in + rank * REGION, BYTES);
        memcpy(t->want + rank * REGION + BYTES, t->in + !rank * REGION, BYTES);
    }
    trial_check(t, INSN_bulk_send, 0, 2 * REGION / 4, 4, 4, "cp.async.bulk to another CTA");
    trial_run(b, t);
}

/* Rank 0 of two CTAs loads a box into both, and then a row of bytes. */
static void try_multicast(struct bench *b, bool with_map)
{
    struct packed_map m = ragged(map_of(MAP_f16, 2, SWIZZLE_64, 64, false));
    struct trial *t = trial_new(b, tensor_bytes(&m), 2 * REGION);
    struct text *p = &t->ptx;
    int bytes = with_map ? box_elems(&m) * 2 : 512;
    t->grid = 2;
    t->maps[t->nmaps++] = m;
    head(t, ".explicitcluster\n.reqnctapercluster 2, 1, 1\n");
    print_barrier(p);
    print_spoil(p);
    text_printf(p,
                "@%%q mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%sm+%d], %d;\n"
                "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
                "mov.u32 %%x0, %%cluster_ctarank;\nadd.s32 %%x0, %%x0, %%t;\nsetp.eq.u32 %%q, %%x0, 0;\n",
                BARRIER, bytes);
    print_coordinates(p, m.rank, place_of(&m, 1).of);
    text_printf(p,
                "mov.u16 %%mask, 3;\n@%%q "
                "cp.async.bulk%s.shared::cluster.global%s.mbarrier::complete_tx::bytes.multicast::cluster "
                "[%%sm+128], ",
                with_map ? ".tensor.2d" : "", with_map ? ".tile" : "");
    if (with_map)
        print_box(p, m.rank);
    else
        text_printf(p, "[%%in], %d", bytes);
    text_printf(p, ", [%%sm+%d], %%mask;\n", BARRIER);
    print_wait(p, 0);
    text_printf(p, "mul.wide.u32 %%wide, %%cta, %d;\nadd.s64 %%to, %%to, %%wide;\n", REGION);
    print_result(p, 0);
    text_printf(p,
                "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\nret;\n}\n");
    for (int rank = 0; rank < 2; rank++) {
        if (with_map)
            want_box(t, &m, place_of(&m, 1).of, 128, t->want + rank * REGION);
        else
            memcpy(t->want + rank * REGION + 128, t->in, (size_t)bytes);
    }
    trial_check(t, with_map ? INSN_tma_load : INSN_bulk_load, 0, 2 * REGION / 4, 4, 4, "%s.multicast",
                with_map ? "tma_load 2d" : "cp.async.bulk");
    trial_run(b, t);
}

/* -- which -- */

static void try_maps(struct bench *b)
{
    static const enum map_type types[] = {MAP_f16, MAP_u8, MAP_f32, MAP_s64, MAP_bf16};
    for (int rank = 1; rank <= MAP_RANK_MAX; rank++)
        for (enum map_swizzle s = SWIZZLE_none; s < SWIZZLE_count; s++) {
            int inner = s ? 16 << s : 48;
            struct packed_map m = map_of(types[(rank + (int)s) % 5], rank, s, inner, false);
            try_load(b, m, 128 * (rank % 3), false);
            for (int k = 0; k < STORED_PLACES; k++)
                try_store(b, m, 128 * (rank % 3), place_of(&m, k).of, (rank + (int)s + k) % 2);
        }
    for (enum map_type type = MAP_u8; type < MAP_type_count; type++)
        try_load(b, map_of(type, 2, SWIZZLE_128, 128, holds_float(map_ptypes[type])), 0, type % 2);
}

/* Each coordinate negative by itself: stores and reductions in turn. */
static void try_negative(struct bench *b)
{
    for (int rank = 1; rank <= MAP_RANK_MAX; rank++)
        for (int d = 0; d < rank; d++) {
            struct packed_map m = map_of(MAP_u32, rank, (enum map_swizzle)(d % SWIZZLE_count),
                                         d % SWIZZLE_count ? 16 << d % SWIZZLE_count : 48, false);
            struct at at = place_of(&m, 0);
            at.of[d] = -4;
            if ((rank + d) % 2)
                try_store(b, m, 0, at.of, d % 2);
            else
                try_reduce(b, MOD_add, m, at.of);
        }
}

/* -- from where -- */

static const struct {
    const char *name;
    int8_t pieces, elements, rows;
} starts[] = {{"inside", 1, 0, 0},
              {"inside, from no multiple of 16 bytes", 1, 1, 0},
              {"over the end", 2, 0, 0},
              {"over the end, from no multiple of 16 bytes", 2, 1, 0},
              {"over the beginning", -1, 0, 0},
              {"over the beginning, from no multiple of 16 bytes", -1, 1, 0},
              {"from the row before the first", 0, 0, -1}};
enum { STARTS = sizeof starts / sizeof *starts, COPIES = 3 };

bool first_name(int i, char *out, size_t room)
{
    static const char *const copies[COPIES] = {"load", "store", "reduction"};
    snprintf(out, room, "%s of %s, %s", copies[i / STARTS % COPIES],
             i / STARTS / COPIES ? "f16, 2d, swizzled" : "u32, 1d", starts[i % STARTS].name);
    return i < 2 * COPIES * STARTS;
}

void try_first(struct bench *b, int i)
{
    struct packed_map m = i / STARTS / COPIES ? map_of(MAP_f16, 2, SWIZZLE_128, 128, false)
                                              : map_of(MAP_u32, 1, SWIZZLE_none, 48, false);
    int8_t at[MAP_RANK_MAX] = {
        (int8_t)(starts[i % STARTS].pieces * 16 / map_elem_bytes(m.type) + starts[i % STARTS].elements),
        starts[i % STARTS].rows};
    switch (i / STARTS % COPIES) {
    case 0: try_load_at(b, m, at); break;
    case 1: try_store(b, m, 1024, at, false); break;
    default: try_reduce(b, MOD_add, m, at); break;
    }
}

void try_tma(struct bench *b)
{
    char name[NAME_BYTES];
    try_rows(b);
    try_maps(b);
    try_negative(b);
    for (int i = 0; first_name(i, name, sizeof name); i++)
        try_first(b, i);
    int n = 0;
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        for (const int8_t *type = reductions[i].types; *type >= 0; type++, n++) {
            enum map_swizzle s = (enum map_swizzle)(n % SWIZZLE_count);
            struct packed_map m =
                map_of((enum map_type) * type, 1 + n % MAP_RANK_MAX, s, s ? 16 << s : 64, false);
            try_reduce(b, (enum mod)reductions[i].op, m, place_of(&m, n / 2 % 2).of);
        }
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        for (const int8_t *type = reductions[i].types; *type >= 0; type++) {
            enum mod op = (enum mod)reductions[i].op;
            enum ptype t = map_ptypes[*type];
            if (op >= MOD_and && op <= MOD_xor)
                t = *type == MAP_u32 ? PT_b32 : PT_b64;
            if (op == MOD_add || !holds_float(t))
                try_bulk_reduce(b, op, t);
        }
    try_bulk_store(b);
    try_send(b);
    try_multicast(b, true);
    try_multicast(b, false);
}
