/* SPDX-License-Identifier: MIT */
/* race.c: detects races: two unordered accesses of different programs to the same bytes, at least one of which is a
 * write.
 *
 *     cell of bytes 4..7 of x_ptr:   written by program 0 at its 2nd memory op   ◄── program 1 reads it: a race
 *
 * Each granule of memory that a kernel accesses has a cell, which records the last write and the last reads; the
 * size of a granule is that of the smallest element that the kernel accesses. Checked programs run one at a time and
 * in order, so reports are the same in every run; run.c decides how many programs are checked.
 *
 * Atomics divide a program's execution into epochs. Accesses of an epoch happen before those of another program if
 * the first program has released (by an atomic that is not relaxed) after the epoch began, and the other program has
 * acquired since then. The check ignores the addresses of the atomics, so it does not detect some races after
 * unrelated atomics, but every reported race is real. Atomics do not race with each other, and neither do two writes
 * of the same value. Volatile loads count as atomic. */
#include "runtime/devices/interpreter/interpreter.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CELLS_AT_ONCE = 1 << 14, EPOCHS_MOST = 1 << 30, CHUNKS_MOST = 1 << 16 };
#define ATOMIC_FLAG 0x80000000u

/* The epochs of the last write, of the last read, and of the last read by a program other than the last reader; and
 * the ops of the last write and the last read (indices in code.accesses). */
struct cell {
    uint32_t write, read, other_read;
    uint16_t writer, reader;
};

struct race_shadow {
    struct cell **chunks; /* chunks of cells, allocated at the first access */
    size_t nchunks;
};

struct epoch {
    uint32_t program, time;
};

struct race {
    const struct memory *mem;
    pthread_mutex_t lock; /* only one launch at a time is checked */
    /* the epochs of this launch are from base to next; cells with older epochs count as empty */
    uint32_t base, next;
    uint32_t time;
    uint64_t granule; /* the number of bytes that a cell represents */
    struct epoch *epochs;
    size_t epochs_cap;
    uint32_t *released; /* for each program: the time of its latest release; 0: none */
    size_t programs_cap;
};

/* -- memory -- */

static void *zeroed(const struct memory *m, size_t bytes)
{
    void *p = m->alloc(m->ctx, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

struct race *race_new(const struct memory *m)
{
    struct race *r = zeroed(m, sizeof *r);
    if (!r)
        return NULL;
    r->mem = m;
    r->next = 1;
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

static void give_back(const struct memory *m, void *p, size_t bytes)
{
    if (p)
        m->free(m->ctx, p, bytes);
}

void race_free(struct race *r)
{
    if (!r)
        return;
    const struct memory *m = r->mem;
    give_back(m, r->epochs, r->epochs_cap * sizeof *r->epochs);
    give_back(m, r->released, r->programs_cap * sizeof *r->released);
    pthread_mutex_destroy(&r->lock);
    m->free(m->ctx, r, sizeof *r);
}

struct race_shadow *race_shadow_new(const struct memory *m)
{
    return zeroed(m, sizeof(struct race_shadow));
}

void race_shadow_free(struct race_shadow *s, const struct memory *m)
{
    for (size_t i = 0; s && i < s->nchunks; i++)
        give_back(m, s->chunks[i], CELLS_AT_ONCE * sizeof(struct cell));
    give_back(m, s ? s->chunks : NULL, s ? s->nchunks * sizeof *s->chunks : 0);
    give_back(m, s, sizeof *s);
}

/* Doubles an array of elements of `size` bytes, which has 64 at first, until it has `count` of them. Returns false if there is no
 * memory. */
static bool reserve(const struct memory *m, void **p, size_t *cap, size_t count, size_t size)
{
    if (count <= *cap)
        return true;
    size_t more = *cap ? *cap : 64;
    while (more < count)
        more *= 2;
    void *grown = zeroed(m, more * size);
    if (!grown)
        return false;
    if (*p)
        memcpy(grown, *p, *cap * size);
    give_back(m, *p, *cap * size);
    *p = grown;
    *cap = more;
    return true;
}

/* The cells from number i on; sets *n to the number of contiguous ones, at most its old value; NULL: there is no
 * memory for cells. */
static struct cell *cells_at(const struct race *r, struct race_shadow *s, uint64_t i, uint64_t *n)
{
    uint64_t chunk = i / CELLS_AT_ONCE, rest = CELLS_AT_ONCE - i % CELLS_AT_ONCE;
    *n = *n < rest ? *n : rest;
    if (!s || chunk >= CHUNKS_MOST)
        return NULL;
    while (chunk >= s->nchunks) {
        void *table = s->chunks;
        if (!reserve(r->mem, &table, &s->nchunks, s->nchunks + 1, sizeof *s->chunks))
            return NULL;
        s->chunks = table;
    }
    if (!s->chunks[chunk])
        s->chunks[chunk] = zeroed(r->mem, CELLS_AT_ONCE * sizeof(struct cell));
    return s->chunks[chunk] ? s->chunks[chunk] + i % CELLS_AT_ONCE : NULL;
}

/* -- launches, programs, epochs -- */

bool race_begin(struct race *r, int granule)
{
    if (!r || granule == 0 || pthread_mutex_trylock(&r->lock) != 0)
        return false;
    if (r->next >= EPOCHS_MOST) {
        pthread_mutex_unlock(&r->lock);
        return false;
    }
    r->base = r->next;
    r->time = 1;
    r->granule = (uint64_t)granule;
    return true;
}

void race_end(struct race *r)
{
    pthread_mutex_unlock(&r->lock);
}

static bool new_epoch(struct race *r, struct frame *f)
{
    void *epochs = r->epochs;
    bool room = reserve(r->mem, &epochs, &r->epochs_cap, r->next - r->base + 1, sizeof *r->epochs);
    r->epochs = epochs;
    if (!room)
        return false;
    r->epochs[r->next - r->base] = (struct epoch){(uint32_t)f->program, r->time};
    f->epoch = r->next++;
    return true;
}

bool race_program(struct race *r, struct frame *f)
{
    void *released = r->released;
    bool room = reserve(r->mem, &released, &r->programs_cap, (size_t)f->program + 1, sizeof *r->released);
    r->released = released;
    if (!room || !new_epoch(r, f))
        return false;
    r->released[f->program] = 0;
    f->acquired = 0;
    return true;
}

void race_acquire(struct race *r, struct frame *f)
{
    f->acquired = ++r->time;
}

bool race_release(struct race *r, struct frame *f)
{
    r->released[f->program] = ++r->time;
    return new_epoch(r, f);
}

/* -- accesses -- */

/* Does the epoch belong to another program, and is it not ordered before the current access? */
static bool conflicts(const struct race *r, const struct frame *f, uint32_t epoch)
{
    epoch &= ~ATOMIC_FLAG;
    if (epoch < r->base || epoch == f->epoch)
        return false;
    const struct epoch *e = &r->epochs[epoch - r->base];
    return e->program != f->program && !(r->released[e->program] > e->time && f->acquired > e->time);
}

static _Noreturn void tell(struct frame *f, const struct step *s, const struct interp_access *a, int64_t i,
                           uint32_t epoch, uint16_t place, const char *is, const char *has)
{
    const struct race *r = f->race;
    char element[100], where[400], value[80] = "";
    int pid[3];
    interpreter_pid(f, r->epochs[(epoch & ~ATOMIC_FLAG) - r->base].program, pid);
    interpreter_element(element, sizeof element, op_opnd(s->op, 0)->type, i);
    interpreter_place(f, s, a->home, a->p[i], a->bytes, where, sizeof where);
    if (s->op->code == OP_store) {
        const struct type *t = op_opnd(s->op, 1)->type;
        interpreter_value(value, sizeof value - 4, t, step_in(f, s, 1) + i * type_elem_bytes(t), false,
                          false);
        strcat(value, " to ");
    }
    interpreter_fail(f, s, ERR_race, "%s %s %s%s; program (%d, %d, %d) %s there at line %u", element, is,
                     value, where, pid[0], pid[1], pid[2], has,
                     (unsigned)f->code->accesses.at[place]->loc.line);
}

static void note_read(const struct race *r, const struct frame *f, struct cell *c, const struct step *s)
{
    if (c->read == f->epoch)
        return;
    if (c->read >= r->base && r->epochs[c->read - r->base].program != f->program)
        c->other_read = c->read;
    c->read = f->epoch;
    c->reader = s->place;
}

/* Records an access to those of n cells that come before the first cell that another epoch of this launch has
 * accessed. Returns their number, which is usually n. */
static uint64_t take_untouched(const struct race *r, const struct frame *f, const struct step *s,
                               struct cell *c, uint64_t n, bool writes)
{
    uint32_t base = r->base, me = f->epoch;
    uint16_t place = s->place;
    for (uint64_t k = 0; k < n; k++) {
        uint32_t w = c[k].write & ~ATOMIC_FLAG, read = c[k].read;
        if ((w >= base && w != me) || (read >= base && read != me) || c[k].other_read >= base)
            return k;
        if (writes) {
            c[k].write = me;
            c[k].writer = place;
        } else {
            c[k].read = me;
            c[k].reader = place;
        }
    }
    return n;
}

static const char *verb(uint32_t epoch)
{
    return epoch & ATOMIC_FLAG ? "has changed by an atomic" : "has written";
}

void race_read(struct frame *f, const struct step *s, const struct interp_access *a, int64_t i, int64_t run)
{
    const struct race *r = f->race;
    uint64_t first = (a->p[i] - a->home->base) / r->granule, left = (uint64_t)run * a->bytes / r->granule, n;
    for (uint64_t done = 0; left > 0; done += n, left -= n) {
        n = left;
        struct cell *c = cells_at(r, a->home->shadow, first + done, &n);
        for (uint64_t k = c ? take_untouched(r, f, s, c, n, false) : n; k < n; k++) {
            if (conflicts(r, f, c[k].write))
                tell(f, s, a, i + (int64_t)((done + k) * r->granule / a->bytes), c[k].write, c[k].writer,
                     "reads", verb(c[k].write));
            note_read(r, f, &c[k], s);
        }
    }
}

/* Does memory already contain the value to be written? */
static bool is_same(const struct race *r, const struct interp_access *a, int64_t i, uint64_t k,
                    const char *value)
{
    const char *there = (const char *)(uintptr_t)a->p[i];
    return value && memcmp(there + k * r->granule, value + k * r->granule, r->granule) == 0;
}

void race_write(struct frame *f, const struct step *s, const struct interp_access *a, int64_t i, int64_t run,
                const char *value)
{
    const struct race *r = f->race;
    uint64_t first = (a->p[i] - a->home->base) / r->granule, left = (uint64_t)run * a->bytes / r->granule, n;
    const char *is = value ? "writes" : "changes by an atomic";
    for (uint64_t done = 0; left > 0; done += n, left -= n) {
        n = left;
        struct cell *c = cells_at(r, a->home->shadow, first + done, &n);
        for (uint64_t k = c && value ? take_untouched(r, f, s, c, n, true) : 0; c && k < n; k++) {
            int64_t elem = i + (int64_t)((done + k) * r->granule / a->bytes);
            bool both_atomic = !value && c[k].write & ATOMIC_FLAG;
            if (!both_atomic && conflicts(r, f, c[k].write) && !is_same(r, a, i, done + k, value))
                tell(f, s, a, elem, c[k].write, c[k].writer, is, verb(c[k].write));
            if (conflicts(r, f, c[k].read))
                tell(f, s, a, elem, c[k].read, c[k].reader, is, "has read");
            if (conflicts(r, f, c[k].other_read))
                tell(f, s, a, elem, c[k].other_read, c[k].reader, is, "has read");
            c[k].write = f->epoch | (value ? 0 : ATOMIC_FLAG);
            c[k].writer = s->place;
        }
    }
}
