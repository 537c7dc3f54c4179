/* shared.c: shared memory, with a record of who touched each byte since the last barrier.
 *
 *     warp 0: st.shared [64]        warp 1: ld.shared [64]         between them no bar.sync: a race, whatever the order was here
 *
 * Two warps race where they touch the same byte in the same epoch and one of them writes (PTX ISA, "Memory Consistency Model":
 * morally strong accesses apart). Two that write the same value do no harm. Within a warp the order is the program's. */
#include "runtime/emulator/machine.h"

#include <inttypes.h>
#include <string.h>

unsigned char *emu_shared_at(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address,
                             int bytes)
{
    struct emu_cta *c = w->cta;
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
    return s->written >= c->first_epoch;
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
        if (s->written == c->epoch && s->writer != w->index)
            emu_fail(w, in, lane, ERR_emulator_race, "byte %d is read, which warp %d writes at line %d",
                     number + i, s->writer, s->write_line);
        s->readers = (s->read == c->epoch ? s->readers : 0) | UINT32_C(1) << w->index;
        s->read = c->epoch;
        s->read_line = in->line;
        *undefined |= (uint64_t)s->undefined << 8 * i;
    }
}

/* Writing what is there already does no harm. */
static void check_write(struct emu_warp *w, const struct emu_insn *in, int lane, const struct emu_shadow *s,
                        int byte)
{
    const struct emu_cta *c = w->cta;
    uint32_t others = s->read == c->epoch ? s->readers & ~(UINT32_C(1) << w->index) : 0;
    if (s->written == c->epoch && s->writer != w->index)
        emu_fail(w, in, lane, ERR_emulator_race, "byte %d is written, which warp %d writes at line %d", byte,
                 s->writer, s->write_line);
    if (others)
        emu_fail(w, in, lane, ERR_emulator_race, "byte %d is written, which warp %d reads at line %d", byte,
                 emu_first_lane(others), s->read_line);
}

void emu_shared_write(struct emu_warp *w, const struct emu_insn *in, int lane, unsigned char *p, int bytes,
                      uint64_t value, uint64_t undefined)
{
    struct emu_cta *c = w->cta;
    struct emu_shadow *s = &c->shadow[byte_number(w, p)];
    for (int i = 0; i < bytes; i++, s++) {
        unsigned char next = (unsigned char)(value >> 8 * i);
        if (!was_written(c, s) || p[i] != next)
            check_write(w, in, lane, s, byte_number(w, p) + i);
        s->written = c->epoch;
        s->write_line = in->line;
        s->writer = (uint8_t)w->index;
        s->undefined = (uint8_t)(undefined >> 8 * i);
        p[i] = next;
    }
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
