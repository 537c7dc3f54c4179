/* codegen.h: from scheduled IR to PTX text. */
#ifndef NESO_CODEGEN_CODEGEN_H
#define NESO_CODEGEN_CODEGEN_H

#include "ir/ir.h"

/* One kernel parameter as the launcher packs it. */
struct ptx_param {
    const char *name;
    const struct type *type;
    int offset_bytes, bytes;
};

/* What codegen learnt. */
struct ptx_info {
    int num_threads;
    int shared_bytes;
    int persistent;    /* CTAs on each SM run all programs; the grid's three axes, as u32, follow the parameters (maps
                        * come after); 0: a CTA a program */
    bool puts;         /* some maps are stored through */
    int packs;         /* a CTA of n warps runs as many programs along axis 0, for n up to this; 0: one program */
    int pair_multiple; /* CTAs go in pairs where axis 0 (persistent: the grid) is a multiple of it; 0: never */
    int ptx_version;   /* the lowest that suffices: 80 is 8.0 */
    int live_regs;     /* most 32-bit registers live at once, as computed here */
    struct loc peak;   /* where */
    VEC(struct ptx_param) params;
    /* The launch plan: tensor maps follow the parameters, 128 bytes each; guards that must hold. */
    const struct tensor_map *maps;
    const struct expr *guards;
    int nmaps, nguards;
};

struct codegen_options {
    bool verbose;           /* a comment per tile op */
    bool debug_loc;         /* .loc lines (default on) */
    bool emit_mir;          /* print machine IR instead of PTX */
    struct text *registers; /* gets how many are live where; NULL: nobody asks */
};

/* Appends the text of f (one .entry) with its module header to `out`. f must be scheduled. Errors unwind or
 * stand in diag. */
void codegen_emit(struct func *f, const struct codegen_options *o, struct text *out, struct ptx_info *info);

/* Of a struct ptx_info, as expr_print asks for it. */
const char *ptx_param_name(const void *info, int64_t i);

/* Prints the instruction table, for `neso help insns`. */
void codegen_help_insns(struct text *out);

#endif
