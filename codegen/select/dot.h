/* SPDX-License-Identifier: MIT */
/* dot.h: represents the tiles of a dot as matrices in registers, for the instructions of tensor cores (dot.c). */
#ifndef NESO_CODEGEN_SELECT_DOT_H
#define NESO_CODEGEN_SELECT_DOT_H

#include "codegen/select/select.h"
#include "ir/target/fragments.h"
#include "ir/support/span.h"

/* One of the three tiles of a dot, as an array x of registers. Each register holds one element. After
 * matrix_pack, each of the first n / word_elems registers holds a word of several elements instead. */
struct matrix {
    const struct layout *l;
    struct span regs; /* maps coordinates to registers */
    struct opnd *x;
    int n;
};

/* A position in a dot: row m and column n of the result of batch number `batch`, and index k along K. */
struct spot {
    int batch, m, n, k;
};

struct matrix matrix_of(struct select *s, const struct value *v);
/* Returns the position of the element that the first thread holds in register `reg` of the accumulator. */
struct spot matrix_spot(const struct matrix *acc, int reg);
/* Packs the elements of an operand into words of 32 bits, because the instructions of fragment g read
 * operands as untyped registers of 32 bits. The elements of a word come from consecutive registers. */
void matrix_pack(struct select *s, struct matrix *a, const struct fragment *g);
/* Writes to `out` the registers of operand `role` (A or B) that one instruction reads. `at` is the position
 * of the instruction's first element. Returns the number of registers. */
int matrix_words(struct select *s, const struct fragment *g, const struct matrix *a, enum dot_role role,
                 struct spot at, struct opnd *out);
enum insn_code insn_named(const char *name);

#endif
