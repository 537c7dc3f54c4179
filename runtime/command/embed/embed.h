/* SPDX-License-Identifier: MIT */
/* embed.h: declares what embed.c and embed_plan.c share: the file being written, and the kernels' launch plans. */
#ifndef NESO_RUNTIME_COMMAND_EMBED_H
#define NESO_RUNTIME_COMMAND_EMBED_H

#include "runtime/command/command.h"
#include "runtime/command/inspect/inspect.h"

#include <stdio.h>

/* One variant in the file, with its PTX; a launch takes the first variant that fits. */
struct image {
    neso_kernel *kernel;
    struct json *whole;      /* its launch plan's JSON */
    const struct json *plan; /* the part of `whole` that a launch must execute; NULL: a launch only passes arguments */
    bool is_single;          /* only for grids with at most one program per multiprocessor */
};

struct embedding {
    const struct given *given;
    neso_context *ctx;
    const char *name; /* prefix of files and functions */
    struct image *images;
    int nimages, nparams;
    bool has_plan; /* some image has a plan */
    FILE *to;
};

/* -- embed_plan.c -- */
/* Reads the plan of a kernel; returns false after a message. */
bool plan_read(struct embedding *e, struct image *image);
int plan_maps_most(const struct embedding *e);
/* Writes the tables of all images, with their types. */
void put_plan_tables(const struct embedding *e);
/* put_plan_members declares the members of the table `variants` that plans need; put_plan_row writes their values for
 * an image. */
void put_plan_members(const struct embedding *e);
void put_plan_row(const struct embedding *e, int which);
extern const char plan_driver[], plan_functions[];

#endif
