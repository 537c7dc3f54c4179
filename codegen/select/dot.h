/* SPDX-License-Identifier: MIT */
/* dot.h: represents the tiles of a dot as matrices in registers, for the instructions of tensor cores (dot.c). */
#ifndef NESO_CODEGEN_SELECT_DOT_H
#define NESO_CODEGEN_SELECT_DOT_H

#include "codegen/select/select.h"
#include "ir/target/fragments.h"
#include "ir/support/span.h"

/* One of the three tiles of a dot, as an array of registers, each of which holds one element or a word of several
 * elements. */
struct matrix {
    const struct layout *l;
    struct span regs; /* maps coordinates to registers */
    struct opnd *x;
    int n;
};

/* A position in the product: element (m, n) of a batch, at k. */
struct spot {
    int batch, m, n, k;
};

struct matrix matrix_of(struct select *s, const struct value *v);
/* Returns the position of the element that the first thread holds in register `reg`. */
struct spot matrix_spot(const struct matrix *acc, int reg);
/* Packs elements into 32-bit registers, which the instructions read as untyped bits; the elements of a word are in
 * consecutive registers of the layout. */
void matrix_pack(struct select *s, struct matrix *a, const struct fragment *g);
/* Writes to `out` the registers of operand `role` for the instruction whose first element is at position `at`.
 * Returns their number. */
int matrix_words(struct select *s, const struct fragment *g, const struct matrix *a, enum dot_role role,
                 struct spot at, struct opnd *out);
enum insn_code insn_named(const char *name);

#endif
