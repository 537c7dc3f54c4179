/* SPDX-License-Identifier: MIT */
/* cross_check.h: declares the data and functions that two files share: cross_check.c, which runs a kernel on both CPU
 * devices and finds the faulty pass, and check_inputs.c, which makes the inputs and compares the results. */
#ifndef NESO_RUNTIME_CROSS_CHECK_H
#define NESO_RUNTIME_CROSS_CHECK_H

#include "runtime/devices/interpreter/trace.h"
#include "runtime/runtime.h"

enum { CHECK_ARGS = 128 };

/* The source of the floats in memory: the launch's values, small integers, ordinary random numbers, or random numbers
 * that include special values. */
enum floats { FLOATS_own, FLOATS_integers, FLOATS_general, FLOATS_adversarial };
/* How one set of inputs is made. */
struct check_draw {
    const char *name; /* describes the set in messages */
    enum floats floats;
    /* true: integer arguments keep the launch's values; false: smaller values replace those integer arguments
     * that are probably sizes */
    bool own_sizes;
    /* true: integers in memory have random bits; false: they have the launch's values (0 if these values
     * cannot be read) */
    bool wild_ints;
    /* the number of steps by which a replaced size exceeds a block of the kernel (the end of a tl.arange);
     * a step is 3, or 16 if the size is promised to be a multiple of 16 */
    int ragged;
    bool whole_grid;  /* true: some programs spread over the launch's grid run; false: a small grid runs */
};

/* The part of a tensor's memory into which arguments point. The interpreter and the emulator each have a copy
 * of this part. */
struct check_window {
    uint64_t from, bytes, skew; /* the part's address and size in the launch, and the address modulo 256 */
    enum dtype dtype;           /* the element type of the first argument that points into the part */
    bool is_known;              /* the contents that the memory has at the launch can be read */
    const char *name;           /* the name of that first argument's parameter */
    char *start;                /* the contents before a run of the kernel */
    uint64_t interpreter, emulator; /* each copy begins at this address plus `skew` */
};

struct checking {
    struct neso_kernel *kernel;
    const struct launch *launch;
    const struct func *func;        /* the traced kernel */
    struct memory mem;
    struct device interpreter, emulator;
    void *traced, *loaded;          /* the kernel on each device */
    const struct ptx_info *info;    /* describes the loaded PTX */
    struct check_window windows[CHECK_ARGS];
    int nwindows, nargs;
    int window_of[CHECK_ARGS];      /* for each argument the index of its window; -1: the argument is not a pointer */
    uint64_t args[CHECK_ARGS];      /* the arguments of this set; pointers have the launch's values */
    uint32_t grid[3];
    int64_t sample;                 /* how many programs of the grid run; 0: all */
    uint64_t seed;                  /* the state of the random numbers */
    /* options.check is 2: the check compares only on the launch's inputs, with the launch's whole memory and
     * grid, and without its own time limits */
    bool is_exact;
    bool own_sizes;                 /* this set has the launch's integer arguments */
    struct float_trace trace;
    struct budget budget;
    bool is_search;                 /* the runs belong to the search for the faulty pass, and have more time */
    char what[400];                 /* the first difference, or why nothing was compared */
    struct loc at;                  /* where the emulator's last run failed; line 0: unknown */
    /* the error in the order of accesses that ended the emulator's last run: none, a race of warps, a race of
     * a copy or wgmma, or a deadlock at a barrier */
    enum order { ORDER_good, ORDER_warps, ORDER_copies, ORDER_barrier } unordered;
};

/* -- check_inputs.c -- */

/* Finds the memory into which the arguments point, and allocates the copies. On failure, returns false, with
 * the reason in c->what. */
bool check_windows(struct checking *c);
void check_windows_free(struct checking *c);
/* Makes the arguments, the grid and the memory contents that `d` describes. */
void check_prepare(struct checking *c, const struct check_draw *d);
/* Writes the memory contents that check_prepare made to the copies of one device (the emulator or the
 * interpreter), and sets `args` to the arguments, with addresses of these copies. */
void check_place(struct checking *c, bool in_emulator, uint64_t *args);
/* Returns whether the emulator's run and the interpreter's run left equal memory contents, except for
 * permitted errors of floats. If not, sets c->what to a description of the first difference. */
bool check_compare(struct checking *c);

#endif
