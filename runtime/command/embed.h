/* embed.h: between the two files that write kernels as C: what is written, and the launch plan in
 * it. */
#ifndef NESO_RUNTIME_COMMAND_EMBED_H
#define NESO_RUNTIME_COMMAND_EMBED_H

#include "runtime/command/command.h"
#include "runtime/command/inspect.h"

#include <stdio.h>

/* One PTX of the file; launches take the first that fits. */
struct image {
    neso_kernel *kernel;
    struct json *whole;      /* its plan */
    const struct json *plan; /* in it, what a launch has to do besides passing arguments; NULL: nothing */
    bool is_single;          /* for grids of which each program has a multiprocessor for itself */
};

struct embedding {
    const struct given *given;
    neso_context *ctx;
    const char *name; /* of files and functions */
    struct image *images;
    int nimages, nparams;
    bool has_plan; /* some image */
    FILE *to;
};

/* -- embed_plan.c -- */
/* What the plan of a kernel says; false: the user was told. */
bool plan_read(struct embedding *e, struct image *image);
int plan_maps_most(const struct embedding *e);
/* Tables of all images, types included. */
void put_plan_tables(const struct embedding *e);
/* An image's part of its row in `variants`, which put_plan_members declares. */
void put_plan_members(const struct embedding *e);
void put_plan_row(const struct embedding *e, int which);
extern const char plan_driver[], plan_functions[];

#endif
