/* dot.h: tiles of a dot as matrices in registers, for both kinds of tensor core
 * instructions (dot.c). */
#ifndef NESO_CODEGEN_SELECT_DOT_H
#define NESO_CODEGEN_SELECT_DOT_H

#include "codegen/select/select.h"
#include "ir/target/fragments.h"
#include "ir/support/span.h"

/* One of the three tiles, as registers: elements, or words of several. */
struct matrix {
    const struct layout *l;
    struct span regs; /* from coordinates to registers */
    struct opnd *x;
    int n;
};

/* Where in the product: element (m, n) of a batch, at k. */
struct spot {
    int batch, m, n, k;
};

struct matrix matrix_of(struct select *s, const struct value *v);
struct spot matrix_spot(const struct matrix *acc, int reg); /* of the first thread's register */
/* Elements into 32-bit registers, which the instructions want without a type; the layout has those of one
 * word in consecutive registers. */
void matrix_pack(struct select *s, struct matrix *a, const struct fragment *g);
/* The instruction's matrix of operand `role` whose first element stands at a spot: appended to the
 * operands. */
int matrix_words(struct select *s, const struct fragment *g, const struct matrix *a, enum dot_role role,
                 struct spot at, struct opnd *out);
enum insn_code insn_named(const char *name);

#endif
