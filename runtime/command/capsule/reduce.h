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

/* The outcome of a try (a launch of a changed capsule). The process that runs the try writes the outcome to
 * memory that it shares with the reducer. */
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
    const char *device; /* the device that the process of each try opens; NULL: the tries use the context's device */
    struct tried *tried;
    neso_capsule now; /* the smallest failing capsule so far */
    neso_capsule_file *files; /* the arrays to which `now` points */
    neso_capsule_argument *args;
    neso_capsule_buffer *buffers;
    struct block *blocks;
    /* the failure of the original launch: a try fails in the same way if its outcome has the same values */
    neso_seen seen;
    char tag[64], name[64], pass[64];
    char on[160];   /* the description of the device of the tries */
    char text[512]; /* the message of the last try that failed in the same way */
    uint32_t line;
    int ntries, tries_most;
    time_t until; /* no try begins after this time; 0: no time limit */
    struct progress progress;
};

/* Allocates zeroed memory that reduce() frees at its end. */
void *reducer_alloc(struct reducer *r, size_t bytes);
/* Returns whether the launch of the changed capsule fails in the same way as the original launch. Also
 * returns false, without a launch, if the limit of tries or time is reached. */
bool reducer_fails(struct reducer *r, const neso_capsule *changed);

/* Makes the source shorter by changes after which the launch still fails in the same way. Returns whether it has
 * changed the source. */
bool reduce_source(struct reducer *r);
/* Removes parameters that the kernel does not need, with their arguments. */
bool reduce_parameters(struct reducer *r);
/* Replaces tl.program_id(...) by the ids of one program, and sets the grid to 1 x 1 x 1. Returns false,
 * without a change, if the launch would then no longer fail in the same way. */
bool reduce_to_program(struct reducer *r, const unsigned pid[3]);
/* Returns the total number of lines of the capsule's files. */
int source_lines(const neso_capsule *c);

#endif
