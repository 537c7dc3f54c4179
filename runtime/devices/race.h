/* SPDX-License-Identifier: MIT */
/* race.h: detects races between the programs of a launch (race.c), for the interpreter and the emulator. */
#ifndef NESO_RUNTIME_RACE_H
#define NESO_RUNTIME_RACE_H

#include "ir/ir.h"

struct race;
struct race_shadow; /* the accesses to a buffer that race.c has recorded */

/* A program whose accesses are checked. */
struct race_party {
    uint32_t program;         /* the program's number in the grid */
    uint32_t epoch, acquired; /* the number of the program's current epoch (race.c), and the time of its last
                               * acquire; 0: none */
};

/* An access to `bytes` bytes of a buffer, beginning at offset `at`. */
struct race_access {
    struct race_shadow *shadow;
    uint64_t at, bytes;
    uint16_t place; /* the number of the op or instruction, for reports */
};

/* The earlier access with which an access races. */
struct race_other {
    uint32_t program;
    uint16_t place;
    const char *did; /* what the program did, for a report: "has written" */
};

struct race *race_new(const struct memory *m); /* Returns NULL if there is no memory. */
void race_free(struct race *r);
struct race_shadow *race_shadow_new(const struct memory *m);
void race_shadow_free(struct race_shadow *s, const struct memory *m);
/* race_begin and race_end begin and end the check of a launch. race_begin returns false if the launch cannot
 * be checked, for example because another launch is being checked. `granule` is the size of the smallest
 * access in bytes; it must divide the size of every access. */
bool race_begin(struct race *r, int granule);
void race_end(struct race *r);
/* Initializes *p, and begins the program. Returns false if there is no memory to check the program. */
bool race_program(struct race *r, struct race_party *p, uint32_t program);
/* race_acquire and race_release record that the program executes an acquire or a release. race_release
 * returns false if there is no memory for a new epoch. */
void race_acquire(struct race *r, struct race_party *p);
bool race_release(struct race *r, struct race_party *p);
/* race_read and race_write check and record an access before it happens. If the access races with an earlier
 * access, they set *other to the earlier access, and return the offset from a->at of the first granule with a
 * race. Otherwise, they return -1. `value` points to the bytes to be written, and `there` to the bytes that
 * will be overwritten. `value` is NULL if the access is an atomic. */
int64_t race_read(const struct race *r, const struct race_party *p, const struct race_access *a,
                  struct race_other *other);
int64_t race_write(const struct race *r, const struct race_party *p, const struct race_access *a, const void *value,
                   const void *there, struct race_other *other);

#endif
