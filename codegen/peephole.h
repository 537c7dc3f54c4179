/* peephole.h: what the files of the peephole share: peephole.c (the walk, what was computed before, what is
 * dead), simplify.c (one instruction by itself and the definitions of its operands), fuse.c (two
 * instructions into one).
 */
#ifndef NESO_CODEGEN_PEEPHOLE_H
#define NESO_CODEGEN_PEEPHOLE_H

#include "codegen/mir.h"

struct reg_info {
    struct opnd alias;   /* OPND_none, or what to use instead */
    struct insn *def;    /* the only definition, already rewritten; NULL: several, or not yet seen */
    uint64_t bits;       /* those that may be set */
    int block;           /* of def */
    int ndefs, nuses;
    bool stable;         /* every use sees the same value: one definition, and guarded ones right after it */
};

struct peep {
    struct mir *m;
    VEC(struct reg_info) regs;
    struct mblock *b;              /* being rewritten */
    VEC(struct insn *) out;        /* its new instructions */
    struct insn **table;           /* open addressing: instructions that compute something anew */
    int *table_block;              /* where they stand */
    int table_size, table_used;
};

static inline bool is_reg(struct opnd x)
{
    return x.kind == OPND_reg;
}

static inline bool is_imm(struct opnd x)
{
    return x.kind == OPND_imm;
}

static inline struct form form_of(enum insn_code code, enum ptype type)
{
    return (struct form){.code = (uint8_t)code, .type = (uint8_t)type};
}

static inline int insn_bits(const struct insn *in)
{
    return ptype_info[in->form.type].bits;
}

/* -- peephole.c -- */
/* The result of a new instruction in front of the one that is being looked at. */
struct opnd peep_make(struct peep *p, struct form form, int n, const struct opnd *x);
/* The single definition of x by this instruction, or NULL. */
struct insn *peep_def(const struct peep *p, struct opnd x, enum insn_code code);

/* -- simplify.c -- */
bool insn_is_integer(const struct insn *in);
uint64_t peep_result_bits(const struct peep *p, const struct insn *in); /* those that may be set */
/* Of a register that a loop steps by constants, what the constants leave zero. */
uint64_t peep_step_bits(const struct insn *in);
/* True if the instruction is no longer needed. */
bool peep_simplify(struct peep *p, struct insn *in);

/* -- fuse.c -- */
void peep_fuse_block(struct peep *p, const struct mblock *b);

#endif
