/* SPDX-License-Identifier: MIT */
/* embed.h: declares what embed.c and embed_plan.c share: the C file that is being written, and the launch plans of
 * the kernels in it. */
#ifndef NESO_RUNTIME_COMMAND_EMBED_H
#define NESO_RUNTIME_COMMAND_EMBED_H

#include "runtime/command/command.h"
#include "runtime/command/inspect/inspect.h"

#include <stdio.h>

/* One variant of a kernel in the C file. A launch uses the first variant whose promises and conditions hold. */
struct image {
    neso_kernel *kernel;
    struct json *whole;      /* the JSON of the kernel's launch plan */
    /* the part of `whole` that a launch must execute; NULL if a launch only passes arguments */
    const struct json *plan;
    /* '<': only for grids with at most one program per multiprocessor. '>': only for grids with more programs than the
     * GPU can hold CTAs of the next image, and only if the GPU can hold more CTAs of this image. 0: for all grids */
    char grids;
};

struct embedding {
    const struct given *given;
    neso_context *ctx;
    const char *name; /* the prefix of the names of files and functions */
    struct image *images;
    int nimages, nparams;
    bool has_plan; /* at least one image has a plan */
    FILE *to;
};

/* -- embed_plan.c -- */
/* Reads the plan of a kernel; returns false after a message. */
bool plan_read(struct embedding *e, struct image *image);
int plan_maps_most(const struct embedding *e);
/* Writes the tables of all images, with their types. */
void put_plan_tables(const struct embedding *e);
/* In the generated table `variants`, put_plan_members declares the members that plans need, and put_plan_row writes
 * their values for image number `which`. */
void put_plan_members(const struct embedding *e);
void put_plan_row(const struct embedding *e, int which);
extern const char plan_driver[], plan_functions[], plan_start[];

#endif
