/* SPDX-License-Identifier: MIT */
/* embed.h: declares what embed.c and embed_plan.c share: the C file that is being written, and the launch plans of
 * the kernels in it. */
#ifndef NESO_RUNTIME_COMMAND_EMBED_H
#define NESO_RUNTIME_COMMAND_EMBED_H

#include "runtime/command/command.h"
#include "runtime/command/inspect/inspect.h"

#include <stdio.h>

/* One compiled variant of a kernel in the C file. A launch uses the first image whose promises and conditions
 * hold. */
struct image {
    neso_kernel *kernel;
    struct json *whole;      /* the JSON of the kernel's launch plans; owned */
    /* the part of `whole` that is this image's plan; NULL if a launch only passes arguments, one CTA per
     * program */
    const struct json *plan;
    /* The grids for which launches use this image. '<': grids with at most one program per multiprocessor.
     * '>': grids with more programs than CTAs of the next image fit on the GPU at once, provided that more
     * CTAs of this image than of the next one fit. 0: all grids */
    char grids;
};

struct embedding {
    const struct given *given;
    neso_context *ctx;
    const char *name; /* the prefix of the names of files and functions */
    struct image *images;
    int nimages, nparams; /* nparams: the number of the kernel's parameters */
    bool has_plan; /* at least one image has a plan */
    FILE *to;
};

/* -- embed_plan.c -- */
/* Sets image->whole and image->plan. Returns false after a message if the plan cannot be made. */
bool plan_read(struct embedding *e, struct image *image);
/* Returns the largest number of tensor maps of an image. */
int plan_maps_most(const struct embedding *e);
/* Writes the tables of steps, guards and tensor maps of all images, and the types of their entries. */
void put_plan_tables(const struct embedding *e);
/* In the generated table `variants`, put_plan_members declares the members that plans need, and put_plan_row writes
 * their values for image number `which`. */
void put_plan_members(const struct embedding *e);
void put_plan_row(const struct embedding *e, int which);
extern const char plan_driver[], plan_functions[], plan_start[];

#endif
