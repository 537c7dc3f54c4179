/* SPDX-License-Identifier: MIT */
/* insns_tma.c: defines the trials of bulk copies. The trials cover tensor maps of one to five dimensions with every
 * swizzle, boxes that extend beyond each side of the tensor, and multicast.
 *
 * The elements of a box are consecutive in shared memory; dimension 0 varies fastest. In row r of 128 bytes of this
 * memory, a swizzle of W bytes moves the 16-byte chunk number c to position c ^ (r % (W / 16)) of the row. Loads set
 * elements outside of the tensor to zero, or to NaN if the map requests NaN; stores skip these elements.
 *
 * The PTX ISA does not specify the following cases. The description is of an H200. A copy of a box that does not begin
 * at a multiple of 16 bytes, and a store of a box that begins at a negative coordinate, are illegal instructions. The
 * NaNs for elements outside of the tensor have 0x7ff7 in each group of 16 bits; maps of integers cannot fill with NaN.
 * If rows are narrower than the swizzle, the distance between rows is the width of the swizzle; the emulator rejects
 * such maps, so no trial has one. */
#include "tests/gpu/insns.h"

#include <stdio.h>
#include <string.h>

enum {
    THREADS = 128,
    OWN = 64,
    REGION = THREADS * OWN,
    BARRIER = 2 * REGION,
    SHARED = 2 * REGION + 16,
    BASE = 256, /* the offset of the tensor in its buffer */
    PLACES = 6
};

/* -- maps, and the positions of elements -- */

static const int8_t boxes[MAP_RANK_MAX] = {0, 4, 3, 2, 2}, extents[MAP_RANK_MAX] = {0, 7, 5, 4, 3};

/* The positions of boxes relative to the tensor: inside, across the upper sides, beyond the upper sides; then, only
 * for loads, across the lower sides, across lower and upper sides, below the lower sides. Coordinates of dimension 0
 * are in units of 16 bytes. */
enum { STORED_PLACES = 3 };
static const int8_t places[PLACES][MAP_RANK_MAX] = {{1, 1, 1, 1, 1},   {2, 5, 3, 3, 2},
                                                    {0, 7, 0, 0, 0},   {-1, -1, -2, -1, -1},
                                                    {-2, 5, -1, 3, 1}, {-8, 0, 0, 0, 0}};

struct at {
    int8_t of[MAP_RANK_MAX]; /* coordinates in elements */
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

/* Returns m with rows whose length is not a multiple of 16 bytes. Such a map is used only for loads: an H200 would
 * store beyond the end of the rows, up to the next multiple of 16 bytes. */
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

/* Returns the error that the emulator must report for a load (if `loads`) or store of the box at `at`; ERR_count if
 * it must report none. */
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

/* Returns the offset in the tensor's buffer of element `i` of a box; -1 if the element is outside of the tensor. */
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
    int pieces = m->swizzle ? 1 << m->swizzle : 1; /* the number of 16-byte chunks in W bytes */
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

/* Prints code that fills shared memory, so that all bytes have known values, even if no copy writes them. */
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

/* Prints the operand that names a map and the coordinates of a box: "[%map, {%c0, %c1}]". */
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

/* Prints a load of the map's box to shared memory at `first`. */
static void print_load(const struct trial *t, struct text *p, int first, bool hint)
{
    const struct packed_map *m = &t->maps[0];
    text_printf(p,
                "@%%q mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%sm+%d], %d;\n"
                "@%%q cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes%s "
                "[%%sm+%d], ",
                BARRIER, box_elems(m) * map_elem_bytes(m->type), m->rank, hint ? ".L2::cache_hint" : "",
                first);
    print_box(p, m->rank);
    text_printf(p, ", [%%sm+%d]%s;\n", BARRIER, hint ? ", %policy" : "");
}

/* Loads the boxes at positions `from` to `to`, one after the other. */
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
    trial_check(t, INSN_map_prefetch, 0, REGION / 4, 4, 4, "prefetch.tensormap");
    text_printf(p, "ret;\n}\n");
    trial_run(b, t);
}

static void try_load(struct bench *b, struct packed_map m, int first, bool hint)
{
    try_boxes(b, m, first, hint, 0, PLACES);
}

/* Loads one box, which may be invalid. */
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

/* Loads rows of every type and length, each box in a separate trial. */
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

/* -- a prefetch without a map, and copies to all CTAs of a cluster -- */

static void try_bulk_prefetch(struct bench *b)
{
    struct trial *t = trial_new(b, REGION, REGION);
    head(t, "");
    text_printf(&t->ptx, "@%%q cp.async.bulk.prefetch.L2.global [%%in], %d;\nret;\n}\n", REGION);
    trial_check(t, INSN_bulk_prefetch, 0, REGION / 4, 4, 4, "cp.async.bulk.prefetch");
    trial_run(b, t);
}

/* The CTA with rank 0 loads a box into both CTAs of a cluster. */
static void try_multicast(struct bench *b)
{
    struct packed_map m = ragged(map_of(MAP_f16, 2, SWIZZLE_64, 64, false));
    struct trial *t = trial_new(b, tensor_bytes(&m), 2 * REGION);
    struct text *p = &t->ptx;
    int bytes = box_elems(&m) * 2;
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
    text_printf(p, "mov.u16 %%mask, 3;\n@%%q "
                   "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                   ".multicast::cluster [%%sm+128], ");
    print_box(p, m.rank);
    text_printf(p, ", [%%sm+%d], %%mask;\n", BARRIER);
    print_wait(p, 0);
    text_printf(p, "mul.wide.u32 %%wide, %%cta, %d;\nadd.s64 %%to, %%to, %%wide;\n", REGION);
    print_result(p, 0);
    text_printf(p,
                "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\nret;\n}\n");
    for (int rank = 0; rank < 2; rank++)
        want_box(t, &m, place_of(&m, 1).of, 128, t->want + rank * REGION);
    trial_check(t, INSN_tma_load, 0, 2 * REGION / 4, 4, 4, "tma_load 2d.multicast");
    trial_run(b, t);
}

/* -- all trials of copies -- */

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
        try_load(b, map_of(type, 2, SWIZZLE_128, 128, type >= MAP_f16), 0, type % 2);
}

/* Tests stores of boxes with one negative coordinate each. */
static void try_negative(struct bench *b)
{
    for (int rank = 1; rank <= MAP_RANK_MAX; rank++)
        for (int d = 0; d < rank; d++) {
            struct packed_map m = map_of(MAP_u32, rank, (enum map_swizzle)(d % SWIZZLE_count),
                                         d % SWIZZLE_count ? 16 << d % SWIZZLE_count : 48, false);
            struct at at = place_of(&m, 0);
            at.of[d] = -4;
            try_store(b, m, 0, at.of, d % 2);
        }
}

/* -- trials of `first` -- */

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
enum { STARTS = sizeof starts / sizeof *starts, COPIES = 2 };

bool first_name(int i, char *out, size_t room)
{
    static const char *const copies[COPIES] = {"load", "store"};
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
    if (i / STARTS % COPIES)
        try_store(b, m, 1024, at, false);
    else
        try_load_at(b, m, at);
}

void try_tma(struct bench *b)
{
    char name[NAME_BYTES];
    try_rows(b);
    try_maps(b);
    try_negative(b);
    for (int i = 0; first_name(i, name, sizeof name); i++)
        try_first(b, i);
    try_bulk_prefetch(b);
    try_multicast(b);
}
