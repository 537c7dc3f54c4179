/* SPDX-License-Identifier: MIT */
/* race.h: detects races between the programs of a launch (race.c), for the interpreter and the emulator. */
#ifndef NESO_RUNTIME_RACE_H
#define NESO_RUNTIME_RACE_H

#include "ir/ir.h"

struct race;
struct race_shadow; /* the recorded accesses to a buffer */

/* A program whose accesses are checked. */
struct race_party {
    uint32_t program;         /* its number in the grid */
    uint32_t epoch, acquired; /* its epoch, and the time of its last acquire */
};

/* An access to `bytes` bytes from offset `at` of a buffer on. */
struct race_access {
    struct race_shadow *shadow;
    uint64_t at, bytes;
    uint16_t place; /* a number of the op or instruction, for reports */
};

/* The earlier access with which an access races. */
struct race_other {
    uint32_t program;
    uint16_t place;
    const char *did; /* "has written" */
};

struct race *race_new(const struct memory *m); /* Returns NULL if there is no memory. */
void race_free(struct race *r);
struct race_shadow *race_shadow_new(const struct memory *m);
void race_shadow_free(struct race_shadow *s, const struct memory *m);
/* Begin and end a launch; race_begin returns false if the launch cannot be checked. granule: the size of the smallest
 * access; the size of every access is a multiple of it. */
bool race_begin(struct race *r, int granule);
void race_end(struct race *r);
/* Begins a program; returns false if there is no memory to check it. */
bool race_program(struct race *r, struct race_party *p, uint32_t program);
void race_acquire(struct race *r, struct race_party *p);
bool race_release(struct race *r, struct race_party *p);
/* Check and record an access, before it happens. Return the offset from a->at of the first bytes that race with *other;
 * -1: none do. `value`: the bytes that the access writes over the bytes `there`; NULL: the access is an atomic. */
int64_t race_read(const struct race *r, const struct race_party *p, const struct race_access *a,
                  struct race_other *other);
int64_t race_write(const struct race *r, const struct race_party *p, const struct race_access *a, const void *value,
                   const void *there, struct race_other *other);

#endif
