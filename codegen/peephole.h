/* peephole.h: what the files of the peephole share: peephole.c (the walk, CSE, dead code removal), simplify.c
 * (one instruction and the definitions of its operands), fuse.c (two instructions into one). */
#ifndef NESO_CODEGEN_PEEPHOLE_H
#define NESO_CODEGEN_PEEPHOLE_H

#include "codegen/mir.h"

struct reg_info {
    struct opnd alias;   /* OPND_none, or the operand that replaces it */
    struct insn *def;    /* the only definition, already rewritten; NULL: several, or not reached yet */
    uint64_t bits;       /* bits that may be 1 */
    int block;           /* of def */
    int ndefs, nuses;
    /* every use reads the same value: there is one definition, perhaps with guarded ones right after it */
    bool stable;
};

struct peep {
    struct mir *m;
    VEC(struct reg_info) regs;
    struct mblock *b;              /* the block that is being rewritten */
    VEC(struct insn *) out;        /* its new instructions */
    struct insn **table;           /* open addressing: instructions for CSE */
    int *table_block;              /* the blocks of these instructions */
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
/* The result of a new instruction in front of the current one. */
struct opnd peep_make(struct peep *p, struct form form, int n, const struct opnd *x);
/* The single definition of x, if it is this instruction; else NULL. */
struct insn *peep_def(const struct peep *p, struct opnd x, enum insn_code code);

/* -- simplify.c -- */
bool insn_is_integer(const struct insn *in);
uint64_t peep_result_bits(const struct peep *p, const struct insn *in); /* bits of the result that may be 1 */
/* Bits that may be 1 in a register that a loop steps by constants, as far as the constants tell. */
uint64_t peep_step_bits(const struct insn *in);
/* Returns true if the instruction is no longer needed. */
bool peep_simplify(struct peep *p, struct insn *in);

/* -- fuse.c -- */
void peep_fuse_block(struct peep *p, const struct mblock *b);

#endif
