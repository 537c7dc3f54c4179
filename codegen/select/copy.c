/* SPDX-License-Identifier: MIT */
/* copy.c: selects asynchronous copies from global into shared memory (cp.async).
 *
 *     async_copy %buf, %p, %m vec=8     =>     selp.b32 %r1, 16, 0, %m0;
 *                                              cp.async.cg.shared.global [%r0], [%p0], 16, %r1;
 *
 * The last operand of the instruction is the number of bytes that the copy reads: 0 if the mask is false. The
 * copy writes zeros for the bytes that it does not read. All elements of a vector have the same mask value.
 * Copies of 16 bytes bypass L1, because the threads read the data from shared memory. */
#include "codegen/select/select.h"

enum { WIDEST_BYTES = 16 };

/* Returns the number of bytes to read: `bytes`, or 0 if the mask is false. */
static struct opnd bytes_read(struct select *s, struct opnd mask, int bytes)
{
    if (mask.kind == OPND_imm)
        return opnd_int(CLASS_b32, mask.i ? bytes : 0);
    return emit3(s, form0(INSN_selp, PT_b32), opnd_int(CLASS_b32, bytes), opnd_int(CLASS_b32, 0), mask);
}

void select_copy(struct select *s, const struct op *o)
{
    const struct value *ptr = op_opnd(o, 1);
    const struct layout *l = ptr->type->layout;
    struct buffer b = buffer_of(s, o, l);
    const struct opnd *at = tile_of(s, ptr), *mask = op_opnd(o, 2) ? tile_of(s, op_opnd(o, 2)) : NULL;
    struct opnd owner = emit_is_owner(s, l), same = {.kind = OPND_none}, read = same;
    int vec = (int)op_int(o, ATTR_vec), bytes = vec * b.elem_bytes, skip = (int)layout_free_bits(l, IN_reg);
    struct form f = form2(INSN_cp_async, PT_none, bytes == WIDEST_BYTES ? MOD_cg : MOD_ca, MOD_shared);
    f.mods[2] = MOD_global;
    for (int k = 0; k < tile_nregs(ptr->type); k += vec) {
        if (k & skip)
            continue;
        struct opnd from = in_reg(s, at[k]);
        struct opnd x[] = {buffer_address(s, &b, k),
                           {.kind = OPND_addr, .cls = CLASS_b64, .n = from.n},
                           opnd_int(CLASS_b32, bytes),
                           read};
        if (mask && !opnd_same(mask[k], same)) {
            same = mask[k];
            x[3] = read = bytes_read(s, same, bytes);
        }
        set_guard(emit_insn(s, f, 0, mask ? 4 : 3, x), owner);
    }
}

void select_copy_wait(struct select *s, const struct op *o)
{
    struct opnd pending = opnd_int(CLASS_b32, op_int(o, ATTR_pending));
    emit_insn(s, form0(INSN_cp_async_wait, PT_none), 0, 1, &pending);
}
