/* SPDX-License-Identifier: MIT */
/* asm.c: emits the user's inline assembly, for `pack` elements of each operand at a time.
 *
 *     asm %x text="shl.b32 $0, $1, 3;" constraints="=r,r"     =>     { .reg .b32 $a0; shl.b32 $a0, %r1, 3; mov.b32 %r2, $a0; }
 *
 * Elements narrower than 32 bits share a register, up to `pack` of them. Inside the braces, results have
 * registers of their own ($a0), because the user's text may write a result before it has read all operands.
 * The frontend has checked the constraints. */
#include "codegen/select/select.h"

#include <string.h>

static enum reg_class class_of_letter(char letter)
{
    return letter == 'h'   ? CLASS_b16
           : letter == 'l' ? CLASS_b64
           : letter == 'f' ? CLASS_f32
           : letter == 'd' ? CLASS_f64
                           : CLASS_b32;
}

/* Returns the bits of x in a register of class cls. If the classes have different sizes, adds zero bits at
 * the top or drops upper bits. */
static struct opnd as_class(struct select *s, enum reg_class cls, struct opnd x)
{
    x = in_reg(s, x);
    int from = class_info[x.cls].bits, to = class_info[cls].bits;
    if (from != to)
        return emit1(s, form_cvt(to == 32 ? PT_u32 : PT_u16, from == 32 ? PT_u32 : PT_u16, MOD_none), x);
    return emit_bits(s, cls, x);
}

static struct word_shape shape_of(const struct value *v, int pack)
{
    int per = asm_elems_per_register(type_elem_bits(v->type), pack);
    return word_shape(elem_dtype(v->type), per);
}

/* Returns the letter of the next constraint, without `=` and `&`, and advances *constraints. */
static char next_letter(const char **constraints)
{
    const char *s = *constraints + strspn(*constraints, "=&, ");
    *constraints = s + strcspn(s, ",");
    return *s;
}

void select_asm(struct select *s, const struct op *o)
{
    enum { PACK_MOST = 16, OPNDS_MOST = 128 };
    const char *constraints = op_attr(o, ATTR_constraints)->s;
    const struct value *shaped = o->nresults ? op_result(o) : op_opnd(o, 0);
    int pack = (int)op_int(o, ATTR_pack), nregs = tile_nregs(shaped->type);
    for (int i = 0; i < o->nresults; i++)
        tile_new(s, &o->results[i]);
    for (int at = 0; at < nregs; at += pack) {
        struct opnd x[OPNDS_MOST], elems[PACK_MOST];
        const char *next = constraints;
        int n = 0;
        for (int i = 0; i < o->nresults; i++)
            for (int k = 0; k < pack; k += shape_of(&o->results[i], pack).vec)
                x[n++] = mir_reg(s->m, class_of_letter(next_letter(&next)));
        int ndefs = n;
        for (int i = 0; i < o->nopnds; i++) {
            struct word_shape a = shape_of(op_opnd(o, i), pack);
            for (int k = 0; k < pack; k += a.vec) {
                for (int j = 0; j < a.vec; j++)
                    elems[j] = tile_of(s, op_opnd(o, i))[at + k + j < nregs ? at + k + j : nregs - 1];
                x[n++] = as_class(s, class_of_letter(next_letter(&next)), join_elems(s, &a, elems));
            }
        }
        emit_insn(s, form0(INSN_asm, PT_none), ndefs, n, x);
        n = 0;
        for (int i = 0; i < o->nresults; i++) {
            struct word_shape a = shape_of(&o->results[i], pack);
            for (int k = 0; k < pack; k += a.vec) {
                split_word(s, &a, as_class(s, ptype_info[a.type].cls, x[n++]), elems);
                for (int j = 0; j < a.vec && at + k + j < nregs; j++)
                    tile_of(s, &o->results[i])[at + k + j] = elems[j];
            }
        }
    }
}
