/* SPDX-License-Identifier: MIT */
/* shared.c: performs accesses to shared memory, and records the accesses to each byte to detect races.
 *
 *     warp 0: st.shared [64]        warp 1: ld.shared [64]       a race, unless a barrier separates them
 *
 * Two accesses by different actors (warps, asynchronous copies, wgmmas; order.c) race if they access the same byte, at
 * least one of them writes it, and the access that the emulator executes first is not ordered before the other (PTX
 * ISA, "Memory Consistency Model"). There are two exceptions. Atomics are not checked, because morally strong
 * accesses (a term of the PTX ISA) do not race. A warp may also write the value that the memory already has,
 * unless an asynchronous copy wrote this value. */
#include "runtime/devices/emulator/machine.h"

#include <inttypes.h>
#include <string.h>

unsigned char *emu_shared_at(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address,
                             int bytes)
{
    struct emu_cta *c = w->cta;
    if (address >> RANK_SHIFT == (uint64_t)c->rank)
        address &= (UINT64_C(1) << RANK_SHIFT) - 1;
    if (address < SHARED_BASE || address - SHARED_BASE + (uint64_t)bytes > (uint64_t)c->shared_bytes)
        emu_fail(w, in, lane, ERR_out_of_bounds,
                 "byte %" PRId64 " of shared memory, which has %d (%d bytes are accessed)",
                 (int64_t)address - SHARED_BASE, c->shared_bytes, bytes);
    if (address & (uint64_t)(bytes - 1))
        emu_fail(w, in, lane, ERR_misaligned, "byte %" PRIu64 " of shared memory is no multiple of %d",
                 address - SHARED_BASE, bytes);
    return c->shared + (address - SHARED_BASE);
}

static int byte_number(const struct emu_warp *w, const unsigned char *p)
{
    return (int)(p - w->cta->shared);
}

static bool was_written(const struct emu_cta *c, const struct emu_shadow *s)
{
    return s->written >= c->cluster->began;
}

/* Reports a race between the current access by w and an earlier access by `actor`. If `done` is "read" and `verb` is
 * "write", the report says "byte 64 is read, which warp 3 writes at line 17". */
static _Noreturn void race(struct emu_warp *w, const struct emu_insn *in, int lane, int byte,
                           const char *done, int actor, const char *verb, int line)
{
    static const char *const copies[] = {"a copy", "a store", "a wgmma", "a copy"};
    const struct emu_cta *c = w->cta;
    int number = actor % emu_actors(c->code), kind = number / c->nwarps;
    if (kind == ACTOR_warp)
        emu_fail(w, in, lane, ERR_emulator_race, "byte %d is %s, which warp %d %ss at line %d", byte, done,
                 number, verb, line);
    emu_fail(w, in, lane, ERR_emulator_race,
             "byte %d is %s, which %s %ss that it has not waited for, line %d", byte, done,
             copies[kind < ACTOR_mbarrier ? kind - ACTOR_copies : 3], verb, line);
}

/* Records a read of a byte. Entry 0 holds the newest read, so the new read is stored there, and the old
 * contents of entry 0 move to entry `at`. `at` is the first entry whose read is no longer needed, because it
 * is by the same actor as the new read, or is ordered before the new read. If `at` is 0, nothing moves. If
 * all entries are needed, `at` is the entry with the newest read among entries 1 to READERS - 1, so the
 * oldest read remains. A later write that races with any read usually races with the oldest or the newest
 * read. */
static void add_reader(struct emu_warp *w, struct emu_shadow *s, int actor, uint32_t time, int line)
{
    int at = 1;
    for (int i = 0; i < READERS; i++) {
        if (s->reader[i] == actor || s->read[i] <= w->seen[s->reader[i]]) {
            at = i;
            break;
        }
        at = i > 1 && s->read[i] > s->read[at] ? i : at;
    }
    s->read[at] = s->read[0];
    s->reader[at] = s->reader[0];
    s->read_line[at] = s->read_line[0];
    s->read[0] = time;
    s->reader[0] = (uint16_t)actor;
    s->read_line[0] = line;
}

/* Records a read by the warp at the current time. Does nothing if entry 0 already has a read by this warp at
 * this time. */
static void note_read(struct emu_warp *w, struct emu_shadow *s, int line)
{
    uint32_t time = w->cta->cluster->time;
    if (s->reader[0] != w->actor || s->read[0] != time)
        add_reader(w, s, w->actor, time, line);
}

void emu_shared_read(struct emu_warp *w, const struct emu_insn *in, int lane, const unsigned char *p,
                     int bytes, uint64_t *undefined)
{
    struct emu_cta *c = w->cta;
    int number = byte_number(w, p);
    struct emu_shadow *s = &c->shadow[number];
    for (int i = 0; i < bytes; i++, s++) {
        if (!was_written(c, s))
            emu_fail(w, in, lane, ERR_emulator_undefined, "byte %d of shared memory was never written",
                     number + i);
        if (!emu_is_over(w, s->writer, s->written))
            race(w, in, lane, number + i, "read", s->writer, "write", s->write_line);
        note_read(w, s, in->line);
        *undefined |= (uint64_t)s->undefined << 8 * i;
    }
    if (w->loads && c->shadow[number].by_copy == COPY_async)
        emu_loads_note(w, in, number, bytes);
}

void emu_shared_read_again(struct emu_warp *w, int at, int bytes, int line)
{
    for (int i = 0; i < bytes; i++)
        note_read(w, &w->cta->shadow[at + i], line);
}

static void check_write(struct emu_warp *w, const struct emu_insn *in, int lane, const struct emu_shadow *s,
                        int byte)
{
    if (was_written(w->cta, s) && !emu_is_over(w, s->writer, s->written))
        race(w, in, lane, byte, "written", s->writer, "write", s->write_line);
    for (int i = 0; i < READERS; i++)
        if (s->read[i] >= w->cta->cluster->began && !emu_is_over(w, s->reader[i], s->read[i]))
            race(w, in, lane, byte, "written", s->reader[i], "read", s->read_line[i]);
}

/* Checks a write for races, performs it, and records it. */
void emu_shared_write(struct emu_warp *w, const struct emu_insn *in, int lane, unsigned char *p, int bytes,
                      uint64_t value, uint64_t undefined)
{
    struct emu_cta *c = w->cta;
    struct emu_shadow *s = &c->shadow[byte_number(w, p)];
    w->unfenced |= UINT32_C(1) << lane;
    for (int i = 0; i < bytes; i++, s++) {
        unsigned char next = (unsigned char)(value >> 8 * i);
        if (s->by_copy || !was_written(c, s) || p[i] != next)
            check_write(w, in, lane, s, byte_number(w, p) + i);
        s->written = c->cluster->time;
        s->write_line = in->line;
        s->writer = (uint16_t)w->actor;
        s->by_copy = s->laid = 0;
        s->undefined = (uint8_t)(undefined >> 8 * i);
        p[i] = next;
    }
}

/* -- accesses by copies and wgmma -- */

int emu_shared_range(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address, int bytes,
                     int align, struct emu_cta **cta)
{
    struct emu_cluster *cl = w->cta->cluster;
    uint64_t rank = address >> RANK_SHIFT;
    struct emu_cta *c = *cta = rank < (uint64_t)cl->nctas ? &cl->ctas[rank] : w->cta;
    int64_t at = (int64_t)(address - (rank << RANK_SHIFT)) - SHARED_BASE;
    if (rank >= (uint64_t)cl->nctas || at < 0 || at + bytes > c->shared_bytes)
        emu_fail(w, in, lane, ERR_out_of_bounds,
                 "byte %" PRId64 " of shared memory of CTA %d, which has %d (%d bytes are accessed)", at,
                 (int)rank, c->shared_bytes, bytes);
    if (address % (uint64_t)align)
        emu_fail(w, in, lane, ERR_misaligned, "shared address 0x%" PRIx64 " is no multiple of %d", address,
                 align);
    return (int)at;
}

void emu_shared_claim(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_cta *c, int at,
                      int bytes, int actor)
{
    struct emu_shadow *s = &c->shadow[at];
    bool is_generic = actor % emu_actors(c->code) / c->nwarps == ACTOR_copies;
    uint8_t by = is_generic ? COPY_generic : COPY_async;
    if (!is_generic)
        emu_loads_check(w, in, lane, c, at, bytes);
    for (int i = 0; i < bytes; i++, s++) {
        check_write(w, in, lane, s, at + i);
        s->written = c->cluster->time;
        s->write_line = in->line;
        s->writer = (uint16_t)actor;
        s->by_copy = by;
        s->laid = 0;
        s->undefined = 0;
    }
}

/* An asynchronous read must be ordered after the last write. If a thread or a cp.async wrote, a proxy fence
 * must also separate the write from the read (PTX ISA, "Proxies"). */
bool emu_shared_lend(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_cta *c, int at,
                     int bytes, int actor, uint32_t time)
{
    struct emu_shadow *s = &c->shadow[at];
    int nwarps = c->nwarps;
    bool undefined = false;
    for (int i = 0; i < bytes; i++, s++) {
        if (!was_written(c, s))
            emu_fail(w, in, lane, ERR_emulator_undefined, "byte %d of shared memory was never written",
                     at + i);
        if (!emu_is_over(w, s->writer, s->written))
            race(w, in, lane, at + i, "read", s->writer, "write", s->write_line);
        int fence = s->writer + nwarps * (s->by_copy ? ACTOR_fenced - ACTOR_copies : ACTOR_fenced);
        if (s->by_copy != COPY_async && s->written > w->seen[fence])
            emu_fail(w, in, lane, ERR_emulator_race,
                     "byte %d is read, which is written at line %d without a following fence.proxy.async",
                     at + i, s->write_line);
        add_reader(w, s, actor, time, in->line);
        undefined |= s->undefined != 0;
    }
    return undefined;
}

void emu_shared_need_seen(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_cta *c, int at)
{
    const struct emu_shadow *s = &c->shadow[at];
    if (!emu_is_over(w, s->writer, s->written))
        race(w, in, lane, at, "used", s->writer, "initialize", s->write_line);
}

unsigned char *emu_shared_atomic(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address,
                                 int bytes)
{
    unsigned char *p = emu_shared_at(w, in, lane, address, bytes);
    const struct emu_shadow *s = &w->cta->shadow[byte_number(w, p)];
    for (int i = 0; i < bytes; i++)
        if (!was_written(w->cta, &s[i]) || s[i].undefined)
            emu_fail(w, in, lane, ERR_emulator_undefined, "byte %d of shared memory was never written",
                     byte_number(w, p) + i);
    return p;
}
