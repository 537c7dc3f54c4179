/* SPDX-License-Identifier: MIT */
/* reduce.h: what reduce.c (grid, memory, arguments) and reduce_source.c (source) share. */
#ifndef NESO_RUNTIME_REDUCE_H
#define NESO_RUNTIME_REDUCE_H

#include "runtime/command/command.h"

#include <stdlib.h>
#include <time.h>

/* Memory that lives until the reduction ends. */
struct block {
    struct block *next;
};

/* What a variant did, in memory that is shared with the process that ran it. */
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
    neso_capsule now; /* the smallest capsule so far that fails */
    neso_capsule_file *files; /* what `now` points to */
    neso_capsule_argument *args;
    neso_capsule_buffer *buffers;
    struct block *blocks;
    /* what it means to fail in the same way */
    neso_seen seen;
    char tag[64], name[64], pass[64];
    char on[160];   /* the device, in words */
    char text[512]; /* the message of the last failing try */
    uint32_t line;
    int ntries, tries_most;
    time_t until; /* no try begins after this time; 0: they may take any time */
    struct progress progress;
};

/* Allocates zeroed memory that reduce() frees at its end. */
void *reducer_alloc(struct reducer *r, size_t bytes);
/* Does the changed capsule fail in the same way? */
bool reducer_fails(struct reducer *r, const neso_capsule *changed);

/* Makes the source shorter, as long as it fails. Returns true if it has changed. */
bool reduce_source(struct reducer *r);
/* Removes parameters that the kernel does not need, with their arguments. */
bool reduce_parameters(struct reducer *r);
/* Replaces tl.program_id(...) by the numbers of one program; false: the source does not fail then. */
bool reduce_to_program(struct reducer *r, const unsigned pid[3]);
/* Lines of all files. */
int source_lines(const neso_capsule *c);

#endif
