/* SPDX-License-Identifier: MIT */
/* tables.c: prints the ops of the IR and the instructions of the machine IR with their meanings: a column of ir/ops.h
 * and codegen/insns.h that the library does not contain. */
#include "runtime/command/command.h"

#include <string.h>

static const struct op_row {
    const char *name, *operands, *family, *meaning;
} ops[] = {
#define OP(name, operands, results, regions, attributes, family, traits, rule, meaning)                      \
    {#name, operands, #family, meaning},
#include "ir/ops.h"
#undef OP
};

static const struct attr_row {
    const char *word, *meaning;
} attrs[] = {
#define ATTR(word, kind, dflt, meaning) {#word, meaning},
#include "ir/ops.h"
#undef ATTR
};

static const struct insn_row {
    const char *mnemonic, *operands;
    int ptx;
    const char *meaning;
} insns[] = {
#define INSN(name, mnemonic, operands, result, traits, ptx, latency, counts, overflow, undefined, meaning)   \
    {mnemonic, operands, ptx, meaning},
#include "codegen/insns.h"
#undef INSN
};

void print_ops(FILE *to)
{
    const char *family = "";
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const struct op_row *r = &ops[i];
        if (strcmp(r->family, family) != 0)
            fprintf(to, "%s%s\n", *family ? "\n" : "", r->family);
        family = r->family;
        fprintf(to, "  %-14s %-20s %s\n", r->name, r->operands, r->meaning);
    }
    fputs("\nattributes\n", to);
    for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++)
        fprintf(to, "  %-14s %s\n", attrs[i].word, attrs[i].meaning);
}

void print_insns(FILE *to)
{
    for (size_t i = 0; i < sizeof insns / sizeof *insns; i++) {
        const struct insn_row *r = &insns[i];
        fprintf(to, "%-24s %-16s PTX %d.%d  %s\n", r->mnemonic, r->operands, r->ptx / 10, r->ptx % 10,
                r->meaning);
    }
}
