/* SPDX-License-Identifier: MIT */
/* global.c: checks accesses to global memory: finds reads of bytes that were never written, and races between programs.
 *
 *     x = torch.empty(8)      undefined: ff ff ff ff ...      ld ─► the register's lanes are undefined (undefined.c)
 *     st.global [x+4]         undefined: ff ff ff ff 00 00 00 00 ff ...
 *
 * If the host has not written all bytes of a buffer, the buffer's `undefined` has a mask for each byte: the bits that
 * were never written.
 *
 * race.c finds the races between programs. Usually, a CTA runs one program, in all its warps. If programs are
 * packed, each warp of a CTA runs its own program. A fence or atomic of a warp counts as a fence or atomic of
 * its whole program. Races between warps of one program are not found. */
#include "runtime/devices/emulator/machine.h"

#include <inttypes.h>
#include <string.h>

static const struct cpu_buffer *buffer_of(struct emu_warp *w, uint64_t at, uint64_t bytes)
{
    struct emu_cta *c = w->cta;
    if (!cpu_is_inside(c->last, at, bytes))
        c->last = cpu_buffer_at(c->launch->buffers, c->launch->nbuffers, at);
    return c->last;
}

/* -- programs -- */

/* Returns the number, in the grid, of the program that the warp runs. Sets *along to the number of programs
 * along axis 0 of the grid. */
static uint32_t program_number(const struct emu_warp *w, uint32_t *along)
{
    const struct emu_cta *c = w->cta;
    const int *grid = c->launch->grid, packs = c->launch->packs;
    uint32_t x = (uint32_t)(packs ? c->pid[0] * packs + w->index : c->pid[0]);
    *along = (uint32_t)(packs ? grid[0] * packs : grid[0]);
    return x + *along * ((uint32_t)c->pid[1] + (uint32_t)grid[1] * (uint32_t)c->pid[2]);
}

void emu_begin_party(struct emu_warp *w)
{
    struct race *r = w->cta->launch->race;
    uint32_t along;
    w->party = w->cta->launch->packs ? &w->own_party : &w->cta->party;
    if (r && (w->cta->launch->packs || w->index == 0))
        race_program(r, w->party, program_number(w, &along));
}

void emu_acquire(struct emu_warp *w)
{
    if (w->cta->launch->race)
        race_acquire(w->cta->launch->race, w->party);
}

/* Records a release by the program, which ends the program's epoch (race.c). If there is no memory for a new
 * epoch, the program's later accesses belong to the old epoch, so they count as released too. */
void emu_release_accesses(struct emu_warp *w)
{
    if (w->cta->launch->race)
        race_release(w->cta->launch->race, w->party);
}

int emu_granule(const struct emu_code *code)
{
    int least = 16;
    for (int i = 0; i < code->insns.n; i++) {
        const struct emu_insn *in = &code->insns.at[i];
        int bytes = ptype_info[in->type].bits / 8;
        bool is_access =
            in->code == INSN_ld || in->code == INSN_st || in->code == INSN_atom || in->code == INSN_red;
        if (is_access && bytes && bytes < least)
            least = bytes;
    }
    return code->is_async ? 1 : least;
}

static _Noreturn void tell(struct emu_warp *w, const struct emu_insn *in, int lane,
                           const struct cpu_buffer *b, uint64_t at, const char *does,
                           const struct race_other *other)
{
    uint32_t along;
    program_number(w, &along);
    uint32_t rows = (uint32_t)w->cta->launch->grid[1], row = other->program / along;
    emu_fail(w, in, lane, ERR_race, "%s byte %" PRIu64 " of '%s'; program (%u, %u, %u) %s there at line %d",
             does, at - b->base, b->name ? b->name : "a tensor", (unsigned)(other->program % along),
             (unsigned)(row % rows), (unsigned)(row / rows), other->did,
             w->cta->code->insns.at[other->place].line);
}

static struct race_access access_to(const struct emu_warp *w, const struct emu_insn *in,
                                    const struct cpu_buffer *b, uint64_t at, uint64_t bytes)
{
    return (struct race_access){b->shadow, at - b->base, bytes, (uint16_t)(in - w->cta->code->insns.at)};
}

/* -- accesses -- */

void emu_global_read(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t at, uint64_t bytes)
{
    struct race_other other;
    const struct race *r = w->cta->launch->race;
    const struct cpu_buffer *b = r ? buffer_of(w, at, bytes) : NULL;
    if (!b || !b->shadow)
        return;
    const struct race_access a = access_to(w, in, b, at, bytes);
    int64_t found = race_read(r, w->party, &a, &other);
    if (found >= 0)
        tell(w, in, lane, b, at + (uint64_t)found, "reads", &other);
}

void emu_global_write(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t at, uint64_t bytes,
                      const void *value)
{
    struct race_other other;
    const struct race *r = w->cta->launch->race;
    const struct cpu_buffer *b = buffer_of(w, at, bytes);
    if (b->undefined)
        memset(b->undefined + (at - b->base), 0, bytes);
    if (!r || !b->shadow)
        return;
    const struct race_access a = access_to(w, in, b, at, bytes);
    int64_t found = race_write(r, w->party, &a, value, (const void *)(uintptr_t)at, &other);
    if (found >= 0)
        tell(w, in, lane, b, at + (uint64_t)found, value ? "writes" : "changes by an atomic", &other);
}

const unsigned char *emu_global_undefined(struct emu_warp *w, uint64_t at, uint64_t bytes)
{
    const struct cpu_buffer *b = w->cta->launch->has_undefined ? buffer_of(w, at, bytes) : NULL;
    const unsigned char *p = b && b->undefined ? b->undefined + (at - b->base) : NULL;
    for (uint64_t i = 0; p && i < bytes; i++)
        if (p[i])
            return p;
    return NULL;
}

uint32_t emu_undefined_lanes(struct emu_warp *w, uint32_t on, const uint64_t *at, int bytes)
{
    uint32_t found = 0;
    bool may_be = w->cta->launch->has_undefined && !(w->cta->is_in_last && !w->cta->last->undefined);
    for (; may_be && on; on &= on - 1)
        found |= emu_global_undefined(w, at[emu_first_lane(on)], (uint64_t)bytes) ? on & -on : 0;
    return found;
}
