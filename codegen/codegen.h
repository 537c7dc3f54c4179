/* SPDX-License-Identifier: MIT */
/* codegen.h: declares code generation, from scheduled IR to PTX text.
 *
 * The files of codegen/ in reading order: mir.h (machine IR and the stages), insns.h (PTX instructions as
 * data), select/ (tile ops to instructions), peephole.c with simplify.c and fuse.c (fewer instructions),
 * remat.c (rematerialization), schedule.c (order of instructions in blocks), branch_over_masked.c (branches around
 * masked stores), liveness.c, pressure.c (register reports), regalloc.c (register names), resources.c (registers per
 * thread, CTAs per SM), emit.c (PTX text), codegen.c (the driver). */
#ifndef NESO_CODEGEN_CODEGEN_H
#define NESO_CODEGEN_CODEGEN_H

#include "ir/ir.h"

/* One kernel parameter as the launcher packs it. */
struct ptx_param {
    const char *name;
    const struct type *type;
    int offset_bytes, bytes;
};

/* What the runtime must know about the PTX to launch it. */
struct ptx_info {
    int num_threads;
    int shared_bytes;
    /* 0: each CTA runs one program. Otherwise the kernel is persistent, and this is the number of CTAs that are
     * launched on each SM. The kernel then has three more u32 parameters before the tensor maps: the sizes of the
     * grid. */
    int persistent;
    /* Only for a persistent kernel. If late_part is at least 2, up to 1/late_part of the programs run in CTAs of one
     * program each. These CTAs start later, because they are further rows of the launched grid. If late_part is less
     * than 2, the launched grid has one row. */
    int late_part;
    int stored_maps;   /* bit i: TMA stores use tensor map i */
    bool turned; /* consecutive CTAs run programs that are consecutive along axis 1, not axis 0 */
    /* if not 0: each warp runs its own program, and a CTA has at most `packs` warps, with consecutive programs
     * along axis 0 */
    int packs;
    /* CTAs are launched as clusters of two if the size of the grid's axis 0 is a multiple of this number. For a
     * persistent kernel, the number of programs must be a multiple instead. 0: no clusters. */
    int pair_multiple;
    int ptx_version;   /* the lowest PTX version with the target and all used instructions: 80 is 8.0 */
    int live_regs;     /* the maximum number of 32-bit registers live at once, as counted before ptxas */
    struct loc peak;   /* the source line with the most live registers */
    VEC(struct ptx_param) params;
    /* The launch plan. Tensor maps follow the parameters, 128 bytes each. Guards are conditions that the arguments
     * must satisfy. */
    const struct tensor_map *maps;
    const struct expr *guards;
    int nmaps, nguards;
};

struct codegen_options {
    bool verbose;           /* print each tile op as a comment above its instructions */
    bool debug_loc;         /* print .loc lines (default: on) */
    bool emit_mir;          /* print machine IR instead of PTX */
    const char *skip;       /* stages to leave out: peephole, schedule, branch_over_masked, coalesce; NULL: none */
    struct text *registers; /* receives a report of the live registers at each place; NULL: no report */
    /* Called for each source line with the maximum number of registers that are live at the line's instructions;
     * NULL: no report. */
    void (*line_registers)(void *ctx, int line, int registers);
    void *ctx;
};

/* Appends the text of f (one .entry) with its module header to `out`. All optimization passes must have run on f.
 * Fatal errors longjmp; other errors are in the module's diag. */
void codegen_emit(struct func *f, const struct codegen_options *o, struct text *out, struct ptx_info *info);

/* Estimates how many registers of a thread ptxas will spill in the code of f: the number of registers that the code
 * needs beyond those that a thread can have. Does not change f. */
int codegen_spilled_regs(struct func *f);

/* Returns the name of parameter i; `info` is a struct ptx_info. The function can be the callback `name` of
 * expr_print. */
const char *ptx_param_name(const void *info, int64_t i);

/* Prints the instruction table, for `neso help insns`. */
void codegen_help_insns(struct text *out);

#endif
