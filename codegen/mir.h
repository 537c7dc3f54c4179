/* SPDX-License-Identifier: MIT */
/* mir.h: declares machine IR: a kernel as PTX instructions on virtual registers, in basic blocks.
 *
 *     select       tile ops -> instructions that are not optimized, one for each register of a tile
 *     peephole     fewer instructions: CSE, fusion, constants moved into addresses, dead code removed
 *     remat        if registers do not suffice, computes cheap values again for each tile op that uses them
 *     schedule     list scheduling within each block
 *     branch_over_masked   inserts branches around instructions whose results only a masked store needs
 *     regalloc     virtual registers -> fewer registers, named by class
 *     resources    the number of CTAs that must fit on an SM
 *     emit         machine IR -> PTX text
 *
 * Most registers have one definition. Three kinds of registers have several definitions: variables (values
 * that loops carry or branches yield), results of guarded instructions, which an earlier instruction sets for
 * the threads whose guard is false (for a load: to its `other` value), and results of TIED instructions. A
 * guarded instruction may leave its results unchanged, and a TIED instruction reads the old values of its
 * results. So guarded and TIED instructions count as uses of their results, unless they are marked `fresh`.
 *
 * In the order of blocks, every block follows its dominators. A block falls through to the next block unless it ends
 * in an unguarded jump or return. */
#ifndef NESO_CODEGEN_MIR_H
#define NESO_CODEGEN_MIR_H

#include "codegen/codegen.h"
#include "ir/ir.h"

/* -- the tables of insns.h -- */

enum reg_class {
#define CLASS(word, prefix, type, bits, regs) CLASS_##word,
#include "codegen/insns.h"
#undef CLASS
    CLASS_count
};

enum ptype {
#define PTYPE(word, cls, bits, kind, ptx) PT_##word,
#include "codegen/insns.h"
#undef PTYPE
    PT_count
};

enum mod {
    MOD_none, /* ends a list of modifiers */
#define MOD(word, text, ptx) MOD_##word,
#include "codegen/insns.h"
#undef MOD
    MOD_count
};

enum insn_code {
#define INSN(name, mnemonic, operands, result, traits, ptx, latency, counts, overflow, undefined, meaning) INSN_##name,
#include "codegen/insns.h"
#undef INSN
    INSN_count
};

enum ptype_kind { KIND_none, KIND_pred, KIND_bits, KIND_unsigned, KIND_signed, KIND_float };

/* The emulator's counters, one for each kind of instruction. The emulator splits the count `access` further by
 * operation and state space, and `arithmetic` by type. */
#define INSN_COUNTS(X) \
    X(arithmetic) X(conversions) X(moves) X(special) X(access) X(shared) X(copies) X(tensor) X(warp) X(barriers) \
    X(waits) X(synchronization) X(control)
enum insn_counts {
#define X(word) COUNTS_##word,
    INSN_COUNTS(X)
#undef X
};
enum insn_overflow {
    OVERFLOW_none, OVERFLOW_copies, OVERFLOW_computes, OVERFLOW_shifts, OVERFLOW_widens, OVERFLOW_converts
};
enum insn_undefined {
    UNDEFINED_whole, UNDEFINED_bits, UNDEFINED_and, UNDEFINED_or, UNDEFINED_chosen, UNDEFINED_and_also, UNDEFINED_shifted,
    UNDEFINED_permuted, UNDEFINED_pair, UNDEFINED_converted
};

enum insn_result { RESULT_none, RESULT_own, RESULT_wide, RESULT_pred };

struct class_info {
    const char *prefix, *type;
    int bits, regs;
};
struct ptype_info {
    const char *word;
    enum reg_class cls;
    int bits;
    enum ptype_kind kind;
    int ptx;
};
struct mod_info {
    const char *text;
    int ptx;
};
struct insn_info {
    const char *name, *mnemonic, *operands;
    uint8_t latency, undefined, overflow; /* enum latency, insn_undefined, insn_overflow */
    uint8_t ptx;
    uint16_t traits;                      /* PURE etc. */
    uint8_t result, counts;               /* enum insn_result, insn_counts */
};
/* traits of instructions in addition to those of ir.h */
enum { WARP = 512, TIED = 1024, PINNED = 2048, ASYNC = 4096, CALL = 8192 };

/* The kinds of words in the operand column of insns.h. */
enum word_kind {
    WORD_result,
    WORD_value,    /* register or constant */
    WORD_register,
    WORD_constant,
    WORD_place,    /* register, constant, or the address of a variable or parameter */
    WORD_address,
    WORD_map,      /* the address of a tensor map, and the coordinates that follow it */
    WORD_nothing   /* no operand */
};
enum { VECTOR_as_written = -1 };
struct insn_word {
    enum word_kind kind;
    bool optional;
    bool drops;        /* the operand `_` (an unused result) precedes this word */
    const char *name;  /* points to the word's letter in the row's text */
    /* the number of operands in braces; VECTOR_as_written: each instruction has its own number (insn.nvec);
     * 0: no braces */
    int vector;
    /* The name of the operand's type; for an address, the name of its state space. The name ends before the
     * first character that is not a letter or digit. NULL: the operand has the instruction's type. */
    const char *type;
    const char *other; /* the alternative word, which follows `|`; NULL: none */
};
/* Parses the first word of `operands` into *w, and returns the text after this word. Returns NULL if
 * `operands` contains no word. */
const char *insn_word(const char *operands, struct insn_word *w);
/* Returns the number of operands that the word describes, not counting a tensor map's coordinates. nvec is
 * the number of operands in braces if w->vector is VECTOR_as_written. */
int insn_word_opnds(const struct insn_word *w, int nvec);

extern const struct class_info class_info[CLASS_count];
extern const struct ptype_info ptype_info[PT_count];
extern const struct mod_info mod_info[MOD_count];
extern const struct insn_info insn_info[INSN_count];

/* -- instructions -- */

enum opnd_kind {
    OPND_none,
    OPND_reg,    /* register n */
    OPND_imm, /* the constant i; if the class cls is f32 or f64, i holds the bits of the float */
    OPND_addr,   /* [register n + i] */
    OPND_param,  /* [parameter n] */
    OPND_place,  /* the address of parameter n, in the parameter space */
    OPND_smem,   /* the address of dynamic shared memory */
    OPND_text,   /* the address of mir.texts[n] */
    OPND_local,  /* the address of the thread's local memory */
    OPND_label,  /* block n */
    OPND_special /* special register n */
};

enum special {
    SPECIAL_tid,
    SPECIAL_tid_y, /* always 0; but ptxas does not know that all lanes read the same value */
    SPECIAL_ctaid_x,
    SPECIAL_ctaid_y,
    SPECIAL_ctaid_z,
    SPECIAL_nctaid_x,
    SPECIAL_nctaid_y,
    SPECIAL_nctaid_z,
    SPECIAL_ntid,
    SPECIAL_laneid,
    SPECIAL_cluster_ctarank,
    SPECIAL_cluster_nctarank,
    SPECIAL_clusterid_x,
    SPECIAL_nclusterid_x,
    SPECIAL_smid,
    SPECIAL_globaltimer, /* the only special register of 64 bits */
    SPECIAL_count
};
extern const char *const special_names[SPECIAL_count];

struct opnd {
    uint8_t kind; /* enum opnd_kind */
    uint8_t cls;  /* enum reg_class */
    int n;
    int64_t i;
};

/* Returns whether the operand is a register, or an address that contains a register. */
static inline bool opnd_has_reg(const struct opnd *x)
{
    return x->kind == OPND_reg || x->kind == OPND_addr;
}

/* An instruction without its operands: code, types and modifiers. */
enum { MODS_MOST = 5 };
struct form {
    uint8_t code;            /* enum insn_code */
    uint8_t type, from;      /* enum ptype; PT_none: not printed */
    uint8_t mods[MODS_MOST]; /* enum mod, in the order in which they print; MOD_none ends the list */
    uint16_t number;         /* the number that replaces `#` in the mnemonic */
};

struct insn {
    struct form form;
    /* the first ndefs operands are the results (a store has no result: its first operand is the address) */
    uint8_t ndefs, nopnds;
    uint8_t nvec;          /* number of operands in braces; 0: none */
    bool guard_not;
    bool needed; /* set by the dead code removal of the peephole: the instruction is needed */
    bool fresh;  /* the instruction is guarded or TIED, but the old values of its results do not matter */
    int guard;   /* predicate register, or -1 */
    struct opnd *opnds;
    struct loc loc;
    const struct op *op; /* the tile op for which the instruction was selected */
};

struct mblock {
    int index;     /* index in mir.blocks; blocks print in this order */
    int dominator; /* the immediate dominator; -1 for the first block */
    int depth;     /* loop nesting depth */
    VEC(struct insn *) insns;
};

struct mir {
    struct arena *arena;
    struct func *func;
    VEC(struct mblock *) blocks;
    VEC(uint8_t) regs; /* class of each virtual register */
    int nthreads; /* the maximum number of threads of a CTA */
    int ctas;                /* .minnctapersm: the number of CTAs that must fit on an SM; 0: ptxas chooses */
    int regs_most;           /* .maxnreg: the maximum number of registers per thread; 0: ptxas chooses */
    int regs_least;          /* the fewest registers per thread with which ptxas compiles the largest wgmma */
    VEC(const char *) texts; /* constants in global memory */
    int local_bytes;         /* size of a thread's local memory */
};

/* -- mir.c -- */
struct mir *mir_new(struct func *f, struct arena *a);
struct mblock *mir_block(struct mir *m, int dominator, int depth);
struct opnd mir_reg(struct mir *m, enum reg_class cls);
/* Appends an instruction; the first ndefs operands are its results. */
struct insn *mir_append(struct mir *m, struct mblock *b, struct form form, int ndefs, int nopnds,
                        const struct opnd *opnds);
enum reg_class form_class(struct form form); /* the register class of the result */
struct form form_mov(enum reg_class cls);
/* Returns whether operand k may be a constant. It must be a register in three cases: the instruction is a
 * pack, inline assembly or TIED, it reads 16-bit, packed or 8-bit floats, or the operand's word in insns.h allows only
 * registers. nvec is the number of operands in braces, as in struct insn. */
bool form_takes_imm(struct form form, int k, int nvec);
struct opnd opnd_int(enum reg_class cls, int64_t i);
/* Returns a constant of class cls with the low bits of the constant x: sign-extended for b16, b32 and b64,
 * zero-extended for other classes. */
struct opnd opnd_as(enum reg_class cls, struct opnd x);
bool opnd_same(struct opnd a, struct opnd b);
bool opnd_is_imm(struct opnd o, int64_t i);
/* Sets `successors` to the blocks that can execute directly after b. Returns their number, which is at most
 * two. */
int mblock_successors(const struct mir *m, const struct mblock *b, int successors[2]);
/* Returns whether `holds` returns true for at least one instruction of the kernel. */
bool mir_any(const struct mir *m, bool (*holds)(const struct insn *in));
static inline bool insn_has(const struct insn *in, unsigned traits)
{
    return (insn_info[in->form.code].traits & traits) == traits;
}
/* Returns whether the instruction depends on the old values of its results, because it is guarded or TIED. */
static inline bool insn_keeps_old(const struct insn *in)
{
    return (in->guard >= 0 || insn_has(in, TIED)) && !in->fresh;
}
static inline bool form_has_mod(struct form form, enum mod mod)
{
    for (int i = 0; i < MODS_MOST && form.mods[i]; i++)
        if (form.mods[i] == mod)
            return true;
    return false;
}

/* -- select.c -- */
struct mir *select_func(struct func *f, struct arena *a, struct ptx_info *info);

/* -- peephole.c -- */
void peephole(struct mir *m);

/* -- remat.c: computes cheap values again for each tile op that uses them -- */
void remat(struct mir *m);

/* -- liveness.c: where each register is live -- */
/* A position is the number of an instruction in text order. In a segment, a register is live after the
 * instruction at `from` has read its operands, until the instruction at `to` reads its operands. Segments are
 * sorted and disjoint. */
struct segment {
    int from, to;
};
struct live_range {
    VEC(struct segment) segments;
};
struct liveness {
    int npositions, nregs;
    struct live_range *ranges;   /* the live range of each virtual register */
    int peak_regs;             /* the maximum number of 32-bit registers live at once */
    struct loc peak;
    /* the maximum number of 16-bit halves of registers live at once, as ptxas counts them: the temporaries of
     * its divisions count, parameters do not */
    int peak_halves;
    int peak_preds;
    bool unpacks;       /* the kernel unpacks registers into two 16-bit halves */
    bool loads_halves; /* the kernel loads 16-bit halves one by one, under masks */
    bool peak_unpacked; /* unpacked halves are live at the position where the most halves are live */
};
struct liveness *liveness_of(const struct mir *m);

/* -- schedule.c -- */
struct liveness *schedule(struct mir *m); /* returns the liveness for the new order */

/* -- resources.c -- */
/* Returns the maximum number of registers that a thread of this kernel can have. */
int func_regs_most(const struct func *f);
/* Estimates of the registers per thread that ptxas uses. Each estimate was measured on one kind of kernel and is
 * valid for that kind: */
enum ptxas_kernel {
    PTXAS_counted,       /* the live registers as ptxas counts them (peak_halves), without any reserve */
    PTXAS_rows,          /* kernels that reduce rows: an upper bound, since with too few registers ptxas spills */
    PTXAS_pipeline,      /* kernels with a software pipeline whose blocks the scheduler does not reorder */
    PTXAS_mma,           /* kernels of mma.sync */
    PTXAS_async,         /* kernels with asynchronous dots */
    /* kernels with two chained asynchronous dots: the fewest registers with which ptxas compiles them */
    PTXAS_chained,
    PTXAS_any            /* any kernel: --explain=registers predicts spills from this estimate */
};
int ptxas_regs(const struct mir *m, const struct liveness *live, enum ptxas_kernel kernel);
/* Returns how many CTAs fit on an SM if each thread has `regs` registers. Does not count shared memory. */
int resources_ctas(const struct mir *m, int regs);
/* Returns how many CTAs fit on an SM with the registers that setmaxnreg gives to the warp roles (op `warps`).
 * Returns 0 if the kernel has no setmaxnreg. */
int resources_ctas_of_roles(const struct func *f);
/* Returns whether the kernel has neither loops nor branches, and exactly one reduction of a tile with more
 * elements than threads. */
bool reduces_once(const struct mir *m);
/* Sets m->ctas and, for a persistent kernel, info->persistent. Removes setmaxnreg if more CTAs share an SM
 * than resources_ctas_of_roles returns. Runs after register allocation. */
void resources_choose(struct mir *m, const struct liveness *live, struct ptx_info *info);

/* -- branch_over_masked.c: inserts the branches; returns whether there are any -- */
bool skip(struct mir *m);

/* -- pressure.c: reports register pressure and live ranges -- */
void pressure_explain(const struct mir *m, const struct liveness *live, const struct codegen_options *o);
/* Prints the live ranges of registers as comments after the machine IR. */
void pressure_ranges(const struct mir *m, const struct liveness *live, struct text *out);

/* -- regalloc.c -- */
struct allocation {
    /* number[r]: the number of virtual register r in its class, from 1; 0: r is never used */
    int *number;
    int count[CLASS_count]; /* number of registers of each class */
};
/* Assigns the registers, and removes moves between registers that got the same number. If `coalesces` is
 * false, does not try to give the source and the destination of a move the same number. */
struct allocation *regalloc(struct mir *m, const struct liveness *live, bool coalesces);

/* -- emit.c -- */
/* If the allocation is NULL, registers print with their virtual numbers. */
void emit_ptx(const struct mir *m, const struct allocation *alloc, const struct codegen_options *o,
              struct ptx_info *info, struct text *out);

#endif
