/* SPDX-License-Identifier: MIT */
/* peephole.h: declares the types and functions that the files of the peephole optimizer share. peephole.c has
 * the walk over the instructions, CSE and dead code removal. simplify.c simplifies an instruction, given the
 * definitions of its operands. fuse.c fuses several instructions into one. */
#ifndef NESO_CODEGEN_PEEPHOLE_H
#define NESO_CODEGEN_PEEPHOLE_H

#include "codegen/mir.h"

struct reg_info {
    struct opnd alias;   /* the operand that replaces the register; OPND_none: the register is not replaced */
    /* the only definition of the register, after the walk has rewritten it; NULL if the register has several
     * definitions, if the definition is guarded, or if the walk has not reached it yet */
    struct insn *def;
    uint64_t bits;       /* the bits of the register that may be 1 */
    int block;           /* index of the block that contains the register's (last) definition */
    int ndefs, nuses;
    /* All uses read the same value: the register has one definition, or an unguarded definition and then
     * guarded definitions in the same block (a move of a load's `other` value, then the guarded load). */
    bool stable;
};

struct peep {
    struct mir *m;
    VEC(struct reg_info) regs;
    struct mblock *b;              /* the block that is being rewritten */
    VEC(struct insn *) out;        /* the rewritten instructions of the block */
    struct insn **table;           /* hash table of instructions for CSE, with open addressing */
    int *table_block;              /* the block of each instruction in `table` */
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
/* Inserts an instruction with the n operands x before the current instruction, and simplifies the new
 * instruction. Returns its result, which may turn out to be an existing register or a constant. */
struct opnd peep_make(struct peep *p, struct form form, int n, const struct opnd *x);
/* Returns the definition of x if x is a register with one known definition (reg_info.def) whose code is
 * `code`; else NULL. */
struct insn *peep_def(const struct peep *p, struct opnd x, enum insn_code code);

/* -- simplify.c -- */
bool insn_is_integer(const struct insn *in);
uint64_t peep_result_bits(const struct peep *p, const struct insn *in); /* the bits of the result that may be 1 */
/* Returns the bits that this definition of a register may set to 1, without regard to the other definitions.
 * The result is exact only for moves of constants and for increments by constants; for other instructions it
 * has all bits. */
uint64_t peep_step_bits(const struct insn *in);
/* Simplifies the instruction, or replaces its result by another operand in all later instructions. Returns
 * true if the instruction is no longer needed. */
bool peep_simplify(struct peep *p, struct insn *in);

/* -- fuse.c -- */
void peep_fuse_block(struct peep *p, const struct mblock *b);

#endif
