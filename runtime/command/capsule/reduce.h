/* SPDX-License-Identifier: MIT */
/* reduce.h: declares the data and functions that reduce.c (grid, memory, arguments) and reduce_source.c (source)
 * share. */
#ifndef NESO_RUNTIME_REDUCE_H
#define NESO_RUNTIME_REDUCE_H

#include "runtime/command/command.h"

#include <stdlib.h>
#include <time.h>

/* Memory that lives until the reduction ends. */
struct block {
    struct block *next;
};

/* The outcome of a variant, in memory that is shared with the process that ran it. */
struct tried {
    bool done;
    neso_status status;
    neso_seen seen;
    uint32_t line;
    char tag[64], pass[64], text[512], device[160];
};

struct reducer {
    const struct given *given;
    neso_context *ctx;
    const char *device; /* the device that each process opens; NULL: the context's */
    struct tried *tried;
    neso_capsule now; /* the smallest failing capsule so far */
    neso_capsule_file *files; /* the arrays to which `now` points */
    neso_capsule_argument *args;
    neso_capsule_buffer *buffers;
    struct block *blocks;
    /* a launch with these properties fails in the same way */
    neso_seen seen;
    char tag[64], name[64], pass[64];
    char on[160];   /* the description of the device */
    char text[512]; /* the message of the last failing try */
    uint32_t line;
    int ntries, tries_most;
    time_t until; /* no try begins after this time; 0: no time limit */
    struct progress progress;
};

/* Allocates zeroed memory that reduce() frees at its end. */
void *reducer_alloc(struct reducer *r, size_t bytes);
/* Does the changed capsule fail in the same way? */
bool reducer_fails(struct reducer *r, const neso_capsule *changed);

/* Makes the source shorter while the capsule still fails. Returns true if the source has changed. */
bool reduce_source(struct reducer *r);
/* Removes parameters that the kernel does not need, with their arguments. */
bool reduce_parameters(struct reducer *r);
/* Replaces tl.program_id(...) by the ids of one program; returns false if the capsule then no longer fails. */
bool reduce_to_program(struct reducer *r, const unsigned pid[3]);
/* Returns the number of lines of all files. */
int source_lines(const neso_capsule *c);

#endif
