/* SPDX-License-Identifier: MIT */
/* codegen.h: declares code generation, which translates optimized IR to PTX text.
 *
 * The files of codegen/ in reading order: mir.h (machine IR and the stages), insns.h (PTX instructions as
 * data), select/ (tile ops to instructions), peephole.c with simplify.c and fuse.c (fewer instructions),
 * remat.c (rematerialization), schedule.c (order of instructions in blocks), branch_over_masked.c (branches around
 * masked stores), liveness.c, pressure.c (register reports), regalloc.c (register names), resources.c (registers per
 * thread, CTAs per SM), emit.c (PTX text), codegen.c (the driver). */
#ifndef NESO_CODEGEN_CODEGEN_H
#define NESO_CODEGEN_CODEGEN_H

#include "ir/ir.h"

/* One kernel parameter, with its place in the buffer of arguments that a launch passes. */
struct ptx_param {
    const char *name;
    const struct type *type;
    int offset_bytes, bytes;
};

/* The facts about a kernel's PTX that the runtime needs for a launch. */
struct ptx_info {
    int num_threads;
    int shared_bytes;
    /* 0: the kernel is not persistent. Otherwise each CTA runs several programs in turn, and `persistent` is
     * the number of CTAs that are launched for each SM. A persistent kernel has three more u32 parameters
     * before the tensor maps: the sizes of the program's grid. */
    int persistent;
    /* Only for a persistent kernel. The first row (y = 0) of the launched grid has the CTAs that run several
     * programs. If late_part is at least 2, the launched grid may have more rows, whose CTAs start later.
     * Each CTA of these rows runs a single program; together they run up to 1/late_part of the programs. If
     * late_part is less than 2, the launched grid has one row. */
    int late_part;
    int stored_maps;   /* bit i: TMA stores use tensor map i */
    bool turned; /* consecutive CTAs run programs that are consecutive along axis 1, not axis 0 */
    /* If not 0, each warp runs a program of its own. A CTA has at most `packs` warps, which run consecutive
     * programs along axis 0. */
    int packs;
    /* 0: CTAs are never launched in clusters of two. Otherwise they may be, if the size of the grid's axis 0
     * (in a persistent kernel: the number of all programs) is a multiple of pair_multiple. */
    int pair_multiple;
    int ptx_version;   /* the lowest PTX version with the target and all used instructions: 80 is 8.0 */
    int live_regs;     /* the maximum number of 32-bit registers that are live at once in the machine IR */
    struct loc peak;   /* the source line at which live_regs registers are live */
    VEC(struct ptx_param) params;
    /* The launch plan. The launch passes the tensor maps as parameters after `params`, 128 bytes each. Each
     * guard is an expression of the arguments that must be at least 0. */
    const struct tensor_map *maps;
    const struct expr *guards;
    int nmaps, nguards;
};

struct codegen_options {
    bool verbose;           /* print each tile op as a comment above its instructions */
    bool debug_loc;         /* print .file and .loc lines */
    bool emit_mir;          /* print machine IR instead of PTX */
    const char *skip;       /* stages to leave out, for example "peephole,schedule"; NULL: none */
    struct text *registers; /* receives a report of the live registers of each source line; NULL: no report */
    /* Called for each source line with the maximum number of registers that are live at the line's instructions;
     * NULL: no report. */
    void (*line_registers)(void *ctx, int line, int registers);
    void *ctx;
};

/* Appends the PTX text of f (a module with one .entry) to `out`, and sets *info. All optimization passes must
 * have run on f. Fatal errors longjmp. Other errors are reported to the module's diag. */
void codegen_emit(struct func *f, const struct codegen_options *o, struct text *out, struct ptx_info *info);

/* Estimates how many registers per thread ptxas will spill in the code of f: the number of registers that the
 * code needs, minus the number that a thread can have; 0 if the difference is negative. Does not change f. */
int codegen_spilled_regs(struct func *f);

/* Returns the name of parameter i; `info` is a struct ptx_info. The function can be the callback `name` of
 * expr_print. */
const char *ptx_param_name(const void *info, int64_t i);

/* Prints the instruction table, for `neso help insns`. */
void codegen_help_insns(struct text *out);

#endif
