/* mir.h: machine IR: a kernel as PTX instructions on virtual registers, in basic blocks.
 *
 *     select       tile ops       -> instructions, one register element at a time, as plain as they come
 *     peephole     fewer of them: equal ones once, fused, constants moved into addresses, dead ones gone
 *     schedule     in a better order within each block
 *     skip         what only a masked store needs, only where it is on
 *     regalloc     virtual registers -> few, named by class
 *     emit         -> text
 *
 * Most registers have one definition. Those with several are the values that loops and branches carry, and
 * the destinations of guarded loads, which are given their other value first. A guarded instruction may
 * leave its results as they were, so it counts as a use of them (unless it is marked
 * `fresh`); a TIED one reads them.
 *
 * Blocks stand in an order in which a block comes after its dominators. A block falls through to the next
 * one unless it ends in an unguarded jump.
 */
#ifndef NESO_CODEGEN_MIR_H
#define NESO_CODEGEN_MIR_H

#include "codegen/codegen.h"
#include "ir/ir.h"

/* -- the vocabulary (insns.h) -- */

enum reg_class {
#define CLASS(word, prefix, type, bits, regs) CLASS_##word,
#include "codegen/insns.h"
#undef CLASS
    CLASS_count
};

enum ptype {
#define PTYPE(word, cls, bits, ptx) PT_##word,
#include "codegen/insns.h"
#undef PTYPE
    PT_count
};

enum mod {
    MOD_none, /* ends a list */
#define MOD(word, text, ptx) MOD_##word,
#include "codegen/insns.h"
#undef MOD
    MOD_count
};

enum latency {
#define LATENCY(word, cycles) LATENCY_##word,
#include "codegen/insns.h"
#undef LATENCY
    LATENCY_count
};

enum insn_code {
#define INSN(name, mnemonic, operands, result, traits, ptx, latency, meaning) INSN_##name,
#include "codegen/insns.h"
#undef INSN
    INSN_count
};

enum insn_result { RESULT_none, RESULT_own, RESULT_wide, RESULT_pred };

struct class_info {
    const char *prefix, *type;
    int bits, regs;
};
struct ptype_info {
    const char *word;
    enum reg_class cls;
    int bits, ptx;
};
struct mod_info {
    const char *text;
    int ptx;
};
struct insn_info {
    const char *name, *mnemonic, *operands;
    enum insn_result result;
    unsigned traits; /* PURE etc. */
    int ptx;
    enum latency latency;
    const char *meaning;
};
enum { WARP = 512, TIED = 1024, PINNED = 2048 }; /* more than ir.h's traits */

/* One word of a row's operands. */
enum word_kind {
    WORD_result,
    WORD_value,    /* register or constant */
    WORD_register,
    WORD_constant,
    WORD_place,    /* register, constant, variable or parameter */
    WORD_address,
    WORD_map,      /* and the coordinates behind it */
    WORD_nothing   /* stands for no operand */
};
enum { VECTOR_as_written = -1 };
struct insn_word {
    enum word_kind kind;
    bool optional;
    bool drops;        /* a result that nobody wants stands before it */
    const char *name;  /* and what is behind it */
    int vector;        /* operands in braces: a number, or VECTOR_as_written; 0: it is none */
    const char *type;  /* up to what is no letter or digit; of an address: the space; NULL: the instruction's */
    const char *other; /* the word that may stand for it instead; NULL: none */
};
/* Reads the first word; returns where the next one begins, NULL behind the last. */
const char *insn_word(const char *operands, struct insn_word *w);
/* How many operands it stands for, but for a map's coordinates; nvec: how many stand in braces. */
int insn_word_opnds(const struct insn_word *w, int nvec);

extern const struct class_info class_info[CLASS_count];
extern const struct ptype_info ptype_info[PT_count];
extern const struct mod_info mod_info[MOD_count];
extern const int latency_cycles[LATENCY_count];
extern const struct insn_info insn_info[INSN_count];

/* -- instructions -- */

enum opnd_kind {
    OPND_none,
    OPND_reg,    /* register n */
    OPND_imm,    /* i, spelled as class cls wants: f32 and f64 hold the float's bits */
    OPND_addr,   /* [register n + i] */
    OPND_param,  /* [parameter n] */
    OPND_place,  /* the address of parameter n, in the parameters' space */
    OPND_smem,   /* the address of dynamic shared memory */
    OPND_text,   /* the address of mir.texts[n] */
    OPND_local,  /* the address of the thread\'s own memory */
    OPND_label,  /* block n */
    OPND_special /* special register n */
};

enum special {
    SPECIAL_tid,
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
    SPECIAL_globaltimer, /* 64 bits */
    SPECIAL_count
};
extern const char *const special_names[SPECIAL_count];

struct opnd {
    uint8_t kind; /* enum opnd_kind */
    uint8_t cls;  /* enum reg_class */
    int n;
    int64_t i;
};

/* Does the operand name a register, its own or an address's? */
static inline bool opnd_has_reg(const struct opnd *x)
{
    return x->kind == OPND_reg || x->kind == OPND_addr;
}

/* What an instruction is, without its operands. */
enum { MODS_MOST = 5 };
struct form {
    uint8_t code;            /* enum insn_code */
    uint8_t type, from;      /* enum ptype; PT_none: not spelled */
    uint8_t mods[MODS_MOST]; /* enum mod, as they are spelled; MOD_none ends them */
    uint16_t number;         /* that `#` of the mnemonic stands for */
};

struct insn {
    struct form form;
    uint8_t ndefs, nopnds; /* results are the first operands (of a store the address is first) */
    uint8_t nvec;          /* operands in braces; 0: none */
    bool guard_not;
    bool needed; /* the peephole's mark */
    bool fresh;  /* guarded or TIED, but what its results held before does not matter */
    int guard;   /* predicate register, or -1 */
    struct opnd *opnds;
    struct loc loc;
    const struct op *op; /* the tile op it came from */
};

struct mblock {
    int index;     /* in mir.blocks, which is the order of the text */
    int dominator; /* the block that all paths here went through, -1 for the first */
    int depth;     /* of loops */
    VEC(struct insn *) insns;
};

struct mir {
    struct arena *arena;
    struct func *func;
    VEC(struct mblock *) blocks;
    VEC(uint8_t) regs; /* class of each virtual register */
    int nthreads;
    int regs_most;           /* that the assembler shall give a thread; 0: as it likes */
    int regs_least;          /* that an instruction needs; with fewer the assembler gives up */
    VEC(const char *) texts; /* constants in global memory */
    int local_bytes;         /* of a thread's own memory */
};

/* -- mir.c -- */
struct mir *mir_new(struct func *f, struct arena *a);
struct mblock *mir_block(struct mir *m, int dominator, int depth);
struct opnd mir_reg(struct mir *m, enum reg_class cls);
/* Appends; defs are the first ndefs operands. */
struct insn *mir_append(struct mir *m, struct mblock *b, struct form form, int ndefs, int nopnds,
                        const struct opnd *opnds);
enum reg_class form_class(struct form form); /* of the result */
struct form form_mov(enum reg_class cls);
/* Can operand k be a constant? Not one of 16-bit floats, and not where the row says so; nvec as in insn. */
bool form_takes_imm(struct form form, int k, int nvec);
struct opnd opnd_int(enum reg_class cls, int64_t i);
/* The bits of a constant as another class holds them. */
struct opnd opnd_as(enum reg_class cls, struct opnd x);
bool opnd_same(struct opnd a, struct opnd b);
bool opnd_is_imm(struct opnd o, int64_t i);
/* Blocks that control may go to from here: at most two; returns how many. */
int mblock_successors(const struct mir *m, const struct mblock *b, int successors[2]);
/* Is there an instruction of such a tile op? */
bool mir_has(const struct mir *m, enum opcode code);
static inline bool insn_has(const struct insn *in, unsigned traits)
{
    return (insn_info[in->form.code].traits & traits) == traits;
}
/* Does what the results held before matter? */
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

/* -- remat.c: what is cheap is computed again for each op -- */
void remat(struct mir *m);

/* -- liveness.c: where each register's value is needed -- */
/* Positions count instructions in text order; a segment [from, to) says that the value is in the register
 * after the instruction at `from` has read its operands until the one at `to` reads its. Sorted, apart. */
struct segment {
    int from, to;
};
struct live_range {
    VEC(struct segment) segments;
};
struct liveness {
    int npositions, nregs;
    struct live_range *ranges; /* of each virtual register */
    int peak_regs;             /* most 32-bit registers live at once */
    struct loc peak;
    int peak_halves; /* the most as the assembler counts, in 16 bits */
    int peak_preds;
    bool unpacks; /* are there registers of two halves? */
};
struct liveness *liveness_of(const struct mir *m);

/* -- schedule.c -- */
struct liveness *schedule(struct mir *m); /* and where registers are live then */
/* Registers that a thread of this kernel can have. */
int func_regs_most(const struct func *f);

/* -- branch_over_masked.c: false: nothing changed -- */
bool skip(struct mir *m);

/* -- pressure.c: where registers are live, in words -- */
void pressure_explain(const struct mir *m, const struct liveness *live, struct text *out);
/* Where each register is live, as comments behind machine IR. */
void pressure_ranges(const struct mir *m, const struct liveness *live, struct text *out);

/* -- regalloc.c -- */
struct allocation {
    int *number;            /* of each virtual register, in its class, from 1; 0: never used */
    int count[CLASS_count]; /* registers of each class */
};
/* Also drops moves between registers that became the same. */
struct allocation *regalloc(struct mir *m, const struct liveness *live);

/* -- emit.c -- */
/* With allocation NULL, registers have their virtual numbers. */
void emit_ptx(const struct mir *m, const struct allocation *alloc, const struct codegen_options *o,
              struct ptx_info *info, struct text *out);

#endif
