/* SPDX-License-Identifier: MIT */
/* tma.c: executes bulk copies, with and without tensor maps (PTX ISA, "Data Movement and Conversion Instructions:
 * Tensor copy", "cp.async.bulk", "cp.async.bulk.tensor", "Swizzling modes").
 *
 *     load    global ─► shared memory of one or several CTAs; an mbarrier in each CTA counts the bytes
 *     store   shared ─► global; the thread that issued the stores waits for them
 *
 * A row of a box extends along dimension 0. The rows are consecutive in shared memory. A swizzle of W = 32,
 * 64 or 128 bytes permutes the 16-byte chunks of each W bytes: it XORs the n bits of the address from bit 7
 * up into the n bits from bit 4 up, where n = log2(W / 16). The swizzle depends on the address in shared
 * memory, not on the offset in the box. A load writes zeros or NaNs for elements outside of the tensor, and
 * the mbarrier counts their bytes too. Stores skip elements outside of the tensor. */
#include "runtime/devices/emulator/machine.h"
#include "runtime/devices/tensormap.h"

#include <inttypes.h>
#include <string.h>

enum { PARAM_ALIGN = 64, BOX_ALIGN = 128, BULK_ALIGN = 16, CHUNK = 16 };

/* -- operands -- */

static uint64_t value(struct emu_warp *w, const struct emu_insn *in, int i, int lane, const char *what)
{
    const struct emu_opnd *o = &in->opnds[i];
    emu_need_defined(w, in, o, class_info[o->cls].bits, UINT32_C(1) << lane, what);
    return emu_lane(w, o, lane);
}

static uint64_t address(struct emu_warp *w, const struct emu_insn *in, int i, int lane)
{
    const struct emu_opnd *o = &in->opnds[i];
    uint64_t at = value(w, in, i, lane, "the address") + (uint64_t)o->offset;
    return o->cls == CLASS_b32 ? (uint32_t)at : at;
}

/* Returns the tensor map at the address in operand i. The tensor map is a parameter of the kernel, or is in global
 * memory. */
static const struct packed_map *find_map(struct emu_warp *w, const struct emu_insn *in, int i, int lane)
{
    const struct emu_launch *l = w->cta->launch;
    uint64_t at = address(w, in, i, lane), number = (at - PARAM_BASE) / PARAM_STEP;
    if (at >= PARAM_BASE && number < (uint64_t)w->cta->code->nparams && at % PARAM_STEP == 0)
        at = l->args[number];
    else if (!cpu_is_inside(cpu_buffer_at(l->buffers, l->nbuffers, at), at, MAP_BYTES))
        emu_fail(w, in, lane, ERR_out_of_bounds, "no tensor map is at address 0x%" PRIx64, at);
    if (at % PARAM_ALIGN)
        emu_fail(w, in, lane, ERR_misaligned, "the tensor map at 0x%" PRIx64 " is at no multiple of %d", at,
                 PARAM_ALIGN);
    const struct packed_map *m = (const void *)(uintptr_t)at;
    if (m->magic != MAP_MAGIC)
        emu_fail(w, in, lane, ERR_out_of_bounds, "the data at address 0x%" PRIx64 " is not a tensor map", at);
    return m;
}

static int box_bytes(const struct packed_map *m)
{
    int bytes = map_elem_bytes(m->type);
    for (int d = 0; d < m->rank; d++)
        bytes *= m->box[d];
    return bytes;
}

static int row_bytes(const struct packed_map *m)
{
    return m->box[0] * map_elem_bytes(m->type);
}

static bool holds_float(const struct packed_map *m)
{
    return m->type == MAP_f16 || m->type == MAP_bf16 || m->type == MAP_f32 || m->type == MAP_f64;
}

/* Returns whether the map is valid. For an invalid map, cuTensorMapEncodeTiled would fail, or a copy would
 * trap on an H200. */
static bool is_valid(const struct packed_map *m)
{
    bool good = m->rank >= 1 && m->rank <= MAP_RANK_MAX && m->type < MAP_type_count &&
                m->swizzle < SWIZZLE_count && m->base % 16 == 0;
    for (int d = 0; good && d < m->rank; d++)
        good = m->extent[d] >= 1 && m->extent[d] <= MAP_EXTENT_MOST && m->box[d] >= 1 &&
               m->box[d] <= MAP_BOX_MOST && m->step[d] == 1 &&
               (d == 0 || (m->stride[d - 1] % 16 == 0 && m->stride[d - 1] < UINT64_C(1) << 40));
    int inner = good ? row_bytes(m) : 0;
    return good && inner % 16 == 0 && (!m->swizzle || inner <= 16 << m->swizzle) &&
           (!m->fills_nan || holds_float(m));
}

/* -- boxes -- */

/* Returns the offset in a CTA's shared memory to which the map's swizzle moves the 16-byte chunk at offset
 * `at` (PTX ISA, "Swizzling modes"). */
static int swizzled(const struct packed_map *m, int at)
{
    int address = at + SHARED_BASE, mask = m && m->swizzle ? (1 << m->swizzle) - 1 : 0;
    return (address ^ (address >> 7 & mask) << 4) - SHARED_BASE;
}

/* One row of a box that is copied. Only the row's elements `first` to end - 1 are inside the tensor. */
struct row {
    const struct emu_op *op;
    unsigned char *global; /* the address of the row's element 0 */
    int at, first, end;    /* at: the offset in shared memory */
};

/* Fills a row with NaNs: the 16-bit pattern, repeated, is a NaN in every float type of 16, 32 or 64 bits. */
static void fill_nan(unsigned char *line, int bytes)
{
    static const uint16_t nan = 0x7ff7;
    for (int i = 0; i < bytes; i += 2)
        memcpy(line + i, &nan, sizeof nan);
}

static void load_row(const struct row *r)
{
    const struct packed_map *m = &r->op->bulk.map;
    int elem = map_elem_bytes(m->type), bytes = row_bytes(m);
    unsigned char line[MAP_BOX_MOST * 8] = {0};
    if (m->fills_nan)
        fill_nan(line, bytes);
    if (r->end > r->first)
        memcpy(line + r->first * elem, r->global + r->first * elem, (size_t)((r->end - r->first) * elem));
    for (int i = 0; i < bytes; i += CHUNK)
        memcpy(r->op->bulk.cta->shared + swizzled(m, r->at + i), line + i, CHUNK);
    uint64_t n = (uint64_t)(r->end > r->first ? (r->end - r->first) * elem : 0);
    const unsigned char *bad =
        n ? emu_global_undefined(r->op->w, (uint64_t)(uintptr_t)(r->global + r->first * elem), n) : NULL;
    for (uint64_t i = 0; bad && i < n; i++) {
        int at = r->first * elem + (int)i;
        r->op->bulk.cta->shadow[swizzled(m, r->at + at / CHUNK * CHUNK) + at % CHUNK].undefined = bad[i];
    }
}

static void store_row(const struct row *r)
{
    const struct packed_map *m = &r->op->bulk.map;
    int elem = map_elem_bytes(m->type), bytes = row_bytes(m);
    unsigned char line[MAP_BOX_MOST * 8];
    for (int i = 0; i < bytes; i += CHUNK)
        memcpy(line + i, r->op->bulk.cta->shared + swizzled(m, r->at + i), CHUNK);
    if (r->end <= r->first)
        return;
    size_t n = (size_t)((r->end - r->first) * elem);
    emu_global_write(r->op->w, r->op->in, r->op->lane, (uint64_t)(uintptr_t)(r->global + r->first * elem), n,
                     line + r->first * elem);
    memcpy(r->global + r->first * elem, line + r->first * elem, n);
}

/* Checks the access to global memory: to the elements of the row that are inside the tensor. */
static void check_row(const struct row *r)
{
    const struct emu_launch *l = r->op->w->cta->launch;
    int elem = map_elem_bytes(r->op->bulk.map.type);
    uint64_t from = (uint64_t)(uintptr_t)r->global + (uint64_t)(int64_t)(r->first * elem),
             bytes = (uint64_t)((r->end - r->first) * elem);
    if (r->end > r->first && r->op->w->cta->cluster->tallies)
        emu_count_row(r->op->w, r->op->in, from, bytes);
    if (r->end > r->first && !cpu_is_inside(cpu_buffer_at(l->buffers, l->nbuffers, from), from, bytes))
        emu_fail(r->op->w, r->op->in, r->op->lane, ERR_out_of_bounds,
                 "the tensor map leads to address 0x%" PRIx64 " (%" PRIu64 " bytes), which no tensor has",
                 from, bytes);
    if (r->end > r->first && r->op->in->code == INSN_tma_load)
        emu_global_read(r->op->w, r->op->in, r->op->lane, from, bytes);
}

/* Returns whether the whole box is outside of the tensor. */
static bool is_outside(const struct emu_op *op)
{
    const struct packed_map *m = &op->bulk.map;
    for (int d = 0; d < m->rank; d++)
        if (op->bulk.coords[d] >= (int64_t)m->extent[d] || (int64_t)op->bulk.coords[d] + m->box[d] <= 0)
            return true;
    return false;
}

static void for_rows(struct emu_op *op, void (*act)(const struct row *r))
{
    const struct packed_map *m = &op->bulk.map;
    int elem = map_elem_bytes(m->type), index[MAP_RANK_MAX] = {0}, d;
    int64_t x0 = op->bulk.coords[0], left = (int64_t)m->extent[0] - x0;
    struct row r = {.op = op, .at = op->bulk.at};
    do {
        uint64_t at = m->base + (uint64_t)(x0 * elem);
        bool inside = true;
        for (d = 1; d < m->rank; d++) {
            int64_t x = (int64_t)op->bulk.coords[d] + index[d];
            inside &= x >= 0 && (uint64_t)x < m->extent[d];
            at += (uint64_t)x * m->stride[d - 1];
        }
        r.global = (unsigned char *)(uintptr_t)at;
        r.first = !inside || x0 <= -m->box[0] ? 0 : x0 < 0 ? (int)-x0 : 0;
        r.end = !inside || x0 <= -m->box[0] || left <= 0 ? 0 : left < m->box[0] ? (int)left : m->box[0];
        act(&r);
        r.at += m->box[0] * elem;
        for (d = 1; d < m->rank && ++index[d] == m->box[d]; d++)
            index[d] = 0;
    } while (d < m->rank);
}

/* -- at the end of a copy -- */

static void finish_bytes(const struct emu_op *op)
{
    struct emu_cta *c = op->bulk.cta;
    const unsigned char *bad = emu_global_undefined(op->w, op->bulk.global, (uint64_t)op->bulk.bytes);
    memcpy(c->shared + op->bulk.at, (const void *)(uintptr_t)op->bulk.global, (size_t)op->bulk.bytes);
    for (int i = 0; bad && i < op->bulk.bytes; i++)
        c->shadow[op->bulk.at + i].undefined = bad[i];
}

static void finish_load(struct emu_op *op)
{
    if (op->bulk.map.rank)
        for_rows(op, load_row);
    else
        finish_bytes(op);
    emu_mbarrier_land(op);
}

static void finish_store(struct emu_op *op)
{
    for_rows(op, store_row);
}

/* -- loads -- */

/* Issues a load to the shared address `to`, which also selects the CTA. `mbarrier` is the address of the
 * mbarrier, which must be in the same CTA. `what` contains the source of the load. */
static void load_to(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_op *what, uint64_t to,
                    uint64_t mbarrier, int align)
{
    struct emu_cta *c, *at_mbarrier;
    struct emu_mbarrier *m = emu_mbarrier_at(w, in, lane, mbarrier, true, &at_mbarrier);
    int at = emu_shared_range(w, in, lane, to, what->bulk.bytes, align, &c);
    if (c != at_mbarrier)
        emu_fail(w, in, lane, ERR_emulator_barrier, "the mbarrier is in another CTA than the bytes");
    emu_shared_claim(w, in, lane, c, at, what->bulk.bytes,
                     emu_actor(c, ACTOR_mbarrier, (int)(m - c->mbarriers)));
    for (int i = 0; i < what->bulk.bytes && what->bulk.map.rank; i++)
        c->shadow[at + i].laid = (uint8_t)(1 + what->bulk.map.swizzle);
    struct emu_op *op = emu_begin_op(w, in, lane);
    op->finish = finish_load;
    op->bulk = what->bulk;
    op->bulk.at = at;
    op->bulk.cta = c;
    op->bulk.mbarrier = m;
}

static uint64_t in_rank(uint64_t address, int rank)
{
    return (address & ((UINT64_C(1) << RANK_SHIFT) - 1)) | (uint64_t)rank << RANK_SHIFT;
}

/* Executes a load. `what` contains the source of the load. `mbarrier` is the index of the operand with the
 * address of the mbarrier, and `mask` is the index of the operand with the mask of CTA ranks. Only a
 * multicast has a mask; it loads to every CTA in the mask. */
static void load(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_op *what, int mbarrier,
                 int mask, int align)
{
    struct emu_cluster *c = w->cta->cluster;
    uint64_t to = address(w, in, 0, lane), counts = address(w, in, mbarrier, lane);
    if (!emu_has_mod(in, MOD_multicast)) {
        load_to(w, in, lane, what, to, counts, align);
        return;
    }
    uint64_t ranks = value(w, in, mask, lane, "the mask");
    if (!ranks || ranks >> c->nctas)
        emu_fail(w, in, lane, ERR_out_of_bounds, "a mask of CTAs 0x%" PRIx64 " in a cluster of %d", ranks,
                 c->nctas);
    for (int r = 0; r < c->nctas; r++)
        if (ranks >> r & 1)
            load_to(w, in, lane, what, in_rank(to, r), in_rank(counts, r), align);
}

static struct emu_op tensor_op(struct emu_warp *w, const struct emu_insn *in, int lane, int map)
{
    struct emu_op op = {.w = w, .in = in, .lane = lane, .bulk = {.map = *find_map(w, in, map, lane)}};
    const struct packed_map *m = &op.bulk.map;
    if (!is_valid(m))
        emu_fail(w, in, lane, ERR_out_of_bounds, "the driver could not have made the tensor map");
    if (m->rank != in->number)
        emu_fail(w, in, lane, ERR_out_of_bounds, "the tensor map has %d dimensions", m->rank);
    if (m->swizzle && row_bytes(m) < 16 << m->swizzle)
        emu_fail(w, in, lane, ERR_emulator_swizzle,
                 "rows of %d bytes, narrower than the swizzle: an H200 leaves gaps between them",
                 row_bytes(m));
    for (int d = 0; d < m->rank; d++)
        op.bulk.coords[d] = (int32_t)value(w, in, map + 1 + d, lane, "a coordinate");
    int64_t byte = (int64_t)op.bulk.coords[0] * map_elem_bytes(m->type);
    if (byte % BULK_ALIGN)
        emu_fail(w, in, lane, ERR_misaligned, "a box from byte %" PRId64 " of rows, no multiple of %d", byte,
                 BULK_ALIGN);
    op.bulk.bytes = box_bytes(m);
    for_rows(&op, check_row);
    const struct emu_launch *l = w->cta->launch;
    if (is_outside(&op) && !cpu_is_inside(cpu_buffer_at(l->buffers, l->nbuffers, m->base), m->base, CHUNK))
        emu_fail(w, in, lane, ERR_out_of_bounds,
                 "a box outside of the tensor touches the tensor map's base 0x%" PRIx64
                 " on an H200, which no tensor has",
                 m->base);
    return op;
}

void emu_run_tma_load(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    for (; on; on &= on - 1) {
        int lane = emu_first_lane(on);
        struct emu_op op = tensor_op(w, in, lane, 1);
        load(w, in, lane, &op, 2 + in->number, 3 + in->number, BOX_ALIGN);
    }
}

static void check_range(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t at, int bytes)
{
    const struct emu_launch *l = w->cta->launch;
    if (at % BULK_ALIGN || bytes % BULK_ALIGN)
        emu_fail(w, in, lane, ERR_misaligned, "address 0x%" PRIx64 " or %d bytes are no multiple of %d", at,
                 bytes, BULK_ALIGN);
    if (bytes <= 0 || !cpu_is_inside(cpu_buffer_at(l->buffers, l->nbuffers, at), at, (uint64_t)bytes))
        emu_fail(w, in, lane, ERR_out_of_bounds, "%d bytes at address 0x%" PRIx64 "%s are in no tensor",
                 bytes, at, in->code == INSN_bulk_prefetch ? ", which are prefetched for this load," : "");
    if (w->cta->cluster->tallies && in->code != INSN_bulk_prefetch)
        emu_count_row(w, in, at, (uint64_t)bytes);
}

void emu_run_bulk_prefetch(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    for (; on; on &= on - 1) {
        int lane = emu_first_lane(on);
        check_range(w, in, lane, address(w, in, 0, lane), (int)value(w, in, 1, lane, "the number of bytes"));
    }
}

void emu_run_bulk_load(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    for (; on; on &= on - 1) {
        int lane = emu_first_lane(on);
        struct emu_op op = {.bulk = {.global = address(w, in, 1, lane),
                                     .bytes = (int)value(w, in, 2, lane, "the number of bytes")}};
        check_range(w, in, lane, op.bulk.global, op.bulk.bytes);
        emu_global_read(w, in, lane, op.bulk.global, (uint64_t)op.bulk.bytes);
        load(w, in, lane, &op, 3, 4, BULK_ALIGN);
    }
}

/* -- stores -- */

/* Ends the launch with an error if the row has an undefined byte in an element inside the tensor. Elements
 * outside of the tensor are not stored, so they may be undefined. */
static void need_row(const struct row *r)
{
    const struct packed_map *m = &r->op->bulk.map;
    int elem = map_elem_bytes(m->type);
    for (int i = r->first * elem; i < r->end * elem; i++)
        if (r->op->bulk.cta->shadow[swizzled(m, r->at + i / CHUNK * CHUNK) + i % CHUNK].undefined)
            emu_fail(r->op->w, r->op->in, r->op->lane, ERR_emulator_undefined,
                     "the value stored depends on something never written");
}

static void store(struct emu_warp *w, const struct emu_insn *in, int lane, const struct emu_op *what,
                  int from)
{
    struct emu_cta *c;
    int at = emu_shared_range(w, in, lane, address(w, in, from, lane), what->bulk.bytes, BOX_ALIGN, &c);
    bool has_undefined = emu_shared_lend(w, in, lane, c, at, what->bulk.bytes,
                                         emu_actor(w->cta, ACTOR_stores, w->index), w->cta->cluster->time);
    struct emu_op *op = emu_begin_op(w, in, lane);
    op->finish = finish_store;
    op->group = w->store_groups;
    op->bulk = what->bulk;
    op->bulk.at = at;
    op->bulk.cta = c;
    if (has_undefined)
        for_rows(op, need_row);
    w->stored = op->time;
    w->last_store = in;
}

void emu_run_tma_store(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    for (; on; on &= on - 1) {
        int lane = emu_first_lane(on);
        struct emu_op op = tensor_op(w, in, lane, 0);
        const struct packed_map *m = &op.bulk.map;
        int64_t elem = map_elem_bytes(m->type), extent = (int64_t)m->extent[0];
        for (int d = 0; d < m->rank; d++)
            if (op.bulk.coords[d] < 0)
                emu_fail(w, in, lane, ERR_out_of_bounds,
                         "a box from %d along dimension %d, which only a load may: an H200 traps",
                         op.bulk.coords[d], d);
        if (op.bulk.coords[0] + (int64_t)m->box[0] > extent && extent * elem % BULK_ALIGN)
            emu_fail(w, in, lane, ERR_misaligned,
                     "rows end after %" PRId64 " bytes, no multiple of %d: an H200 writes on to the next",
                     extent * elem, BULK_ALIGN);
        store(w, in, lane, &op, 1 + in->number);
    }
}

/* Executes cp.async.bulk.commit_group. Each thread has its own groups of stores, so each active lane commits
 * a group. The warp records the time and the lane of each commit. */
void emu_run_bulk_commit(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    (void)in;
    for (; on; on &= on - 1)
        w->store_times[w->store_groups++ % GROUPS_KNOWN] =
            (struct emu_group_time){w->cta->cluster->time, emu_first_lane(on)};
    w->cta->cluster->time++;
}

static void wait_lane(struct emu_warp *w, int lane, int running)
{
    struct emu_cluster *c = w->cta->cluster;
    for (int g = w->store_groups - 1; g >= 0 && g > w->store_groups - 1 - GROUPS_KNOWN; g--) {
        const struct emu_group_time *t = &w->store_times[g % GROUPS_KNOWN];
        if (t->lane != lane || running-- > 0)
            continue;
        for (int i = c->nops - 1; i >= 0; i--)
            if (c->ops[i].finish == finish_store && c->ops[i].w == w && c->ops[i].lane == lane &&
                c->ops[i].group <= g)
                emu_finish_op(c, i);
        emu_see_until(w, emu_actor(w->cta, ACTOR_stores, w->index), t->time);
        return;
    }
}

void emu_run_bulk_wait(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    for (; on; on &= on - 1)
        wait_lane(w, emu_first_lane(on), (int)in->opnds[0].offset);
}

/* -- the end of a CTA -- */

static bool is_seen(const struct emu_cta *c, int actor, uint32_t time)
{
    for (int i = 0; i < c->nwarps; i++)
        if (time <= c->warps[i].seen[actor])
            return true;
    return false;
}

/* Checks that nothing can access a CTA's shared memory after the CTA has exited. Each warp must have waited
 * until its bulk stores have read the memory (PTX ISA, "cp.async.bulk"). At least one warp of the CTA must
 * have waited for each copy into the memory, and for each arrival of another CTA at an mbarrier of the CTA.
 * Without a wait, the arrival may still be in flight (PTX ISA, "mbarrier.arrive" on shared::cluster), even
 * after the other CTA has made a relaxed arrival at barrier.cluster. */
static void check_end(struct emu_cta *c)
{
    for (int i = 0; i < c->nwarps; i++) {
        struct emu_warp *w = &c->warps[i];
        if (w->stored > w->seen[emu_actor(c, ACTOR_stores, i)])
            emu_fail(w, w->last_store, 0, ERR_emulator_race,
                     "the CTA ends, and no thread has waited until its shared memory was read");
    }
    for (int i = 0; i < c->nmbarriers; i++) {
        const struct emu_event *e = &c->mbarriers[i].copy;
        if (e->time && !is_seen(c, emu_actor(c, ACTOR_mbarrier, i), e->time))
            emu_fail(e->w, e->in, 0, ERR_emulator_race,
                     "the CTA of rank %d ends, and no thread of it has waited for this copy", c->rank);
    }
    for (int i = 0; i < c->cluster->nactors; i++)
        if (c->arrivals[i].time && !is_seen(c, i, c->arrivals[i].time))
            emu_fail(c->arrivals[i].w, c->arrivals[i].in, 0, ERR_emulator_race,
                     "the CTA of rank %d ends, and no thread of it has waited for this arrival", c->rank);
}

void emu_check_end(struct emu_cluster *c)
{
    while (emu_async_step(c))
        ;
    for (int i = 0; c->code->is_async && i < c->nctas; i++)
        check_end(&c->ctas[i]);
}

/* -- tensor maps of a launch -- */

static enum map_type packed_type(int dtype)
{
    switch (dtype) {
    case DT_f16: return MAP_f16;
    case DT_bf16: return MAP_bf16;
    case DT_f32: return MAP_f32;
    case DT_f64: return MAP_f64;
    case DT_i16: return MAP_u16;
    case DT_i32: return MAP_s32;
    case DT_i64: return MAP_s64;
    default: return MAP_u8;
    }
}

void map_pack(const struct tensor_map_values *v, struct packed_map *m)
{
    int bytes = v->swizzle;
    *m = (struct packed_map){.magic = MAP_MAGIC,
                             .type = (uint8_t)packed_type(v->dtype),
                             .rank = (uint8_t)v->rank,
                             .fills_nan = v->nan,
                             .base = v->base};
    m->swizzle = bytes == 128  ? SWIZZLE_128
                 : bytes == 64 ? SWIZZLE_64
                 : bytes == 32 ? SWIZZLE_32
                               : SWIZZLE_none;
    for (int d = 0; d < v->rank; d++) {
        int from = v->rank - 1 - d;
        m->extent[d] = v->extents[from];
        m->box[d] = (uint16_t)v->box[from];
        m->step[d] = 1;
        if (d > 0)
            m->stride[d - 1] = v->strides[from];
    }
}

/* -- instructions -- */

void emu_run_nothing(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    (void)w, (void)in, (void)on;
}

bool emu_decode_bulk(struct emu_insn *in)
{
    int hint = emu_has_mod(in, MOD_l2_hint), multicast = emu_has_mod(in, MOD_multicast), n = in->number;
    bool fits = n <= MAP_RANK_MAX;
    switch (in->code) {
    case INSN_tma_load: in->run = emu_run_tma_load; return fits && in->nopnds == 3 + n + multicast + hint;
    case INSN_tma_store: in->run = emu_run_tma_store; return fits && in->nopnds == 2 + n + hint;
    case INSN_bulk_load: in->run = emu_run_bulk_load; return in->nopnds == 4 + multicast + hint;
    case INSN_bulk_commit: in->run = emu_run_bulk_commit; return true;
    default: in->run = emu_run_bulk_wait; return in->nopnds == 1 && in->opnds[0].reg < 0;
    }
}
