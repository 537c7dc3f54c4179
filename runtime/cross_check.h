/* SPDX-License-Identifier: MIT */
/* cross_check.h: what cross_check.c (which kernels and passes) and check_inputs.c (arguments and memory) share. */
#ifndef NESO_RUNTIME_CROSS_CHECK_H
#define NESO_RUNTIME_CROSS_CHECK_H

#include "runtime/devices/interpreter/trace.h"
#include "runtime/runtime.h"

enum { CHECK_ARGS = 128 };

/* How the inputs of one comparison are made. */
enum floats { FLOATS_own, FLOATS_integers, FLOATS_general, FLOATS_adversarial };
struct check_draw {
    const char *name;
    enum floats floats;
    bool own_sizes;   /* integer arguments are the launch's; else they are smaller, and no multiples of a block */
    bool wild_ints;   /* memory of integers has any bits; else what the launch has there */
    int ragged;
    bool whole_grid;  /* programs are spread over the launch's grid; else the grid is cut off */
};

/* Memory that arguments point into: a copy of a part of one tensor, for each device. */
struct check_window {
    uint64_t from, bytes, skew; /* the address in the launch; bytes of the copy; its address modulo 256 */
    enum dtype dtype;           /* of the elements, of the first argument that points into it */
    bool is_known;              /* the launch's memory can be read */
    const char *name;
    char *start;                /* the contents before the run */
    uint64_t interpreter, emulator; /* addresses of the copies */
};

struct checking {
    struct neso_kernel *kernel;
    const struct launch *launch;
    const struct func *func;        /* the traced kernel */
    struct memory mem;
    struct device interpreter, emulator;
    void *traced, *loaded;          /* the kernel on each device */
    const struct ptx_info *info;    /* of the loaded PTX */
    struct check_window windows[CHECK_ARGS];
    int nwindows, nargs;
    int window_of[CHECK_ARGS];      /* of each argument; -1: it is no pointer */
    uint64_t args[CHECK_ARGS];      /* values of this set; pointers as in the launch */
    uint32_t grid[3];
    int64_t sample;
    uint64_t seed;
    bool is_exact;                  /* only the launch's inputs: all of its memory, its grid, without a limit of time */
    bool own_sizes;                 /* this set has the launch's integers */
    struct float_trace trace;
    struct budget budget;
    bool is_search;                 /* runs look for the pass of a difference, and have more time */
    char what[400];                 /* the first difference */
    struct loc at;
    /* what the emulator has reported of the last run's order: warps race, a copy or wgmma races, a barrier deadlocks */
    enum order { ORDER_good, ORDER_warps, ORDER_copies, ORDER_barrier } unordered;
};

/* -- check_inputs.c -- */

/* From a tensor's first element to its last. */
uint64_t launch_tensor_bytes(const struct launch_tensor *t);
/* Finds what memory the arguments point into, and allocates copies. Returns false with the reason in c->what. */
bool check_windows(struct checking *c);
void check_windows_free(struct checking *c);
/* Makes the arguments and the contents of a set. */
void check_prepare(struct checking *c, const struct check_draw *d);
/* Puts the contents of the set into a device's copies, and that device's addresses into `args`. */
void check_place(struct checking *c, bool in_emulator, uint64_t *args);
/* Is what the emulator has left equal to what the interpreter has left? If not, c->what says where it is not. */
bool check_compare(struct checking *c);

#endif
