/* SPDX-License-Identifier: MIT */
/* capsule.h: declares the data and functions that the files capsule*.c share. neso.h describes capsules.
 *
 *     compile ─► capsule_source.c ─► kernel.capsule ─► capsule.c: a launch ─► capsule_file.c ─► file
 *     file ─► capsule_file.c ─► capsule_run.c ─► the launch again */
#ifndef NESO_RUNTIME_CAPSULE_H
#define NESO_RUNTIME_CAPSULE_H

#include "runtime/check/cross_check.h"

/* A file in memory. */
struct capsule_bytes {
    const struct memory *mem;
    unsigned char *s;
    size_t n, room;
    bool is_full; /* memory ran out */
};
/* Appends the capsule as a file; sets out->is_full if memory runs out. The caller frees `out` with
 * capsule_bytes_free. */
void capsule_put(const neso_capsule *c, struct capsule_bytes *out);
void capsule_bytes_free(struct capsule_bytes *out);

/* Returns the text of an imported module from the capsule's files; NULL if there is none. This function is a
 * neso_find callback; its argument `user` is the capsule. */
const char *capsule_find_file(void *capsule, const char *module, size_t *length);
/* Sets *o to the options with which the capsule's kernel was compiled. */
void capsule_options(const neso_capsule *c, neso_compile_options *o);

/* Makes a capsule of the difference x, which a check has just found, and passes the capsule to the context's
 * callback `capsule`. The capsule contains the set of inputs that showed the difference. Does nothing if the
 * kernel's launches make no capsules. */
void capsule_of_check(struct checking *c, const neso_checked *x);

#endif
