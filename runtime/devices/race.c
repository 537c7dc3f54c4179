/* SPDX-License-Identifier: MIT */
/* race.c: detects races between the programs of a launch. A race occurs if two programs access the same
 * bytes, at least one of them writes, and the accesses are not ordered.
 *
 *     cell of bytes 4..7 of x_ptr:   written by program 0 at its 2nd memory op   ◄── program 1 reads it: a race
 *
 * Memory is divided into granules, which have the size of the smallest element that the kernel accesses. Each
 * granule has a cell, which records the last write and the last reads. A single thread runs all checked
 * programs, so reports are the same in every run.
 *
 * A release (a fence, or an atomic with release semantics) ends the current epoch of its program, and begins
 * the next epoch. The accesses of program A in an epoch count as ordered before a later access of program B
 * if A has executed a release, and B an acquire, since the epoch began. The check ignores the addresses and
 * the order of releases and acquires. Therefore, some races are not detected, but every reported race is
 * real. Two atomics do not race. A write of the value that memory already has does not race with an earlier
 * write. Volatile, relaxed and acquire loads are not checked, but count as acquires. */
#include "runtime/devices/race.h"

#include <pthread.h>
#include <string.h>

enum { CELLS_AT_ONCE = 1 << 14, EPOCHS_MOST = 1 << 30, CHUNKS_MOST = 1 << 16 };
#define ATOMIC_FLAG 0x80000000u

/* A cell contains the numbers of three epochs: of the granule's last write, of its last read, and of the last
 * read by a program other than the last reader. ATOMIC_FLAG in `write` marks an atomic. writer and reader are
 * the places (race_access.place) of the last write and the last read. */
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
    /* the epochs of this launch have the numbers from `base` to next - 1; cells may contain epochs of earlier
     * launches, which are ignored */
    uint32_t base, next;
    uint32_t time;    /* the number of releases and acquires in this launch, plus 1 */
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

/* Grows an array of elements of `size` bytes to at least `count` elements: to 64 elements first, and then by doubling.
 * Returns false if there is no memory. */
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

/* Returns a pointer to cell i, and reduces *n to the number of cells that are contiguous in memory from there
 * on. Returns NULL if s is NULL, or if the cell cannot be allocated or is beyond CHUNKS_MOST chunks; the
 * accesses to these *n cells are then not checked. */
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

static bool new_epoch(struct race *r, struct race_party *p)
{
    void *epochs = r->epochs;
    bool room = reserve(r->mem, &epochs, &r->epochs_cap, r->next - r->base + 1, sizeof *r->epochs);
    r->epochs = epochs;
    if (!room)
        return false;
    r->epochs[r->next - r->base] = (struct epoch){p->program, r->time};
    p->epoch = r->next++;
    return true;
}

bool race_program(struct race *r, struct race_party *p, uint32_t program)
{
    void *released = r->released;
    bool room = reserve(r->mem, &released, &r->programs_cap, (size_t)program + 1, sizeof *r->released);
    *p = (struct race_party){.program = program};
    r->released = released;
    if (!room || !new_epoch(r, p))
        return false;
    r->released[program] = 0;
    return true;
}

void race_acquire(struct race *r, struct race_party *p)
{
    p->acquired = ++r->time;
}

bool race_release(struct race *r, struct race_party *p)
{
    r->released[p->program] = ++r->time;
    return new_epoch(r, p);
}

/* -- accesses -- */

/* Returns whether the epoch belongs to another program and is not ordered before the current access of program p. */
static bool conflicts(const struct race *r, const struct race_party *p, uint32_t epoch)
{
    epoch &= ~ATOMIC_FLAG;
    if (epoch < r->base || epoch == p->epoch)
        return false;
    const struct epoch *e = &r->epochs[epoch - r->base];
    return e->program != p->program && !(r->released[e->program] > e->time && p->acquired > e->time);
}

static bool is_found(const struct race *r, const struct race_party *p, uint32_t epoch, uint16_t place,
                     const char *did, struct race_other *other)
{
    if (!conflicts(r, p, epoch))
        return false;
    *other = (struct race_other){r->epochs[(epoch & ~ATOMIC_FLAG) - r->base].program, place, did};
    return true;
}

static void note_read(const struct race *r, const struct race_party *p, struct cell *c, uint16_t place)
{
    if (c->read == p->epoch)
        return;
    if (c->read >= r->base && r->epochs[c->read - r->base].program != p->program)
        c->other_read = c->read;
    c->read = p->epoch;
    c->reader = place;
}

/* Fast path: records an access in n consecutive cells, but stops at the first cell in which another epoch of this
 * launch is recorded. Returns the number of cells before that cell; n if there is no such cell. */
static uint64_t take_untouched(const struct race *r, const struct race_party *p, uint16_t place,
                               struct cell *c, uint64_t n, bool writes)
{
    uint32_t base = r->base, me = p->epoch;
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

int64_t race_read(const struct race *r, const struct race_party *p, const struct race_access *a,
                  struct race_other *other)
{
    uint64_t first = a->at / r->granule, left = a->bytes / r->granule, n;
    for (uint64_t done = 0; left > 0; done += n, left -= n) {
        n = left;
        struct cell *c = cells_at(r, a->shadow, first + done, &n);
        for (uint64_t k = c ? take_untouched(r, p, a->place, c, n, false) : n; k < n; k++) {
            if (is_found(r, p, c[k].write, c[k].writer, verb(c[k].write), other))
                return (int64_t)((done + k) * r->granule);
            note_read(r, p, &c[k], a->place);
        }
    }
    return -1;
}

int64_t race_write(const struct race *r, const struct race_party *p, const struct race_access *a,
                   const void *value, const void *there, struct race_other *other)
{
    uint64_t first = a->at / r->granule, left = a->bytes / r->granule, n;
    for (uint64_t done = 0; left > 0; done += n, left -= n) {
        n = left;
        struct cell *c = cells_at(r, a->shadow, first + done, &n);
        for (uint64_t k = c && value ? take_untouched(r, p, a->place, c, n, true) : 0; c && k < n; k++) {
            uint64_t at = (done + k) * r->granule;
            bool both_atomic = !value && c[k].write & ATOMIC_FLAG;
            /* a write of the value that memory already has does not race with writes */
            bool is_same =
                value && memcmp((const char *)there + at, (const char *)value + at, r->granule) == 0;
            if ((!both_atomic && !is_same &&
                 is_found(r, p, c[k].write, c[k].writer, verb(c[k].write), other)) ||
                is_found(r, p, c[k].read, c[k].reader, "has read", other) ||
                is_found(r, p, c[k].other_read, c[k].reader, "has read", other))
                return (int64_t)at;
            c[k].write = p->epoch | (value ? 0 : ATOMIC_FLAG);
            c[k].writer = a->place;
        }
    }
    return -1;
}
