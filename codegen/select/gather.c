/* SPDX-License-Identifier: MIT */
/* gather.c: selects accesses to elements of a shared memory buffer at run-time indices.
 *
 *     shared_gather    for each element of the result, reads the buffer's element at index i along the axis,
 *                      and at the index of the result's element along all other dimensions
 *     shared_count     adds 1 to the buffer's element at index x, a bin of a histogram
 *
 * These buffers hold their elements in row-major order. */
#include "codegen/select/select.h"

static struct opnd buffer_start(struct select *s, const struct value *buf, struct opnd offset, int64_t more)
{
    struct place place = buffer_place(s, buf);
    struct opnd x = emit2(s, form0(INSN_add, PT_s32), place.base, offset);
    return (struct opnd){.kind = OPND_addr, .cls = CLASS_b32, .n = x.n, .i = place.bytes + more};
}

/* Extends or truncates an integer to 32 bits. */
static struct opnd as_b32(struct select *s, enum dtype dt, struct opnd x)
{
    if (dt == DT_i64)
        return emit1(s, form_cvt(PT_u32, PT_u64, MOD_none), in_reg(s, x));
    if (dtype_info[dt].bits < 32)
        return emit1(s, form_cvt(PT_s32, PT_s16, MOD_none), extend_i8(s, dt, in_reg(s, x), true));
    return x;
}

/* -- gather -- */

/* Returns the number of coordinate bits of the dimensions after the axis. */
static int bits_below(const struct type *t, int axis)
{
    int n = 0;
    for (int d = axis + 1; d < t->rank; d++)
        n += __builtin_ctz((unsigned)t->shape[d]);
    return n;
}

/* Converts a coordinate of the index tile to a coordinate of the buffer: with index 0 along the axis, and the
 * same index along all other dimensions. The index tile and the buffer may have different sizes along the
 * axis. */
static uint32_t place_of(const struct type *index, const struct type *buf, int axis, uint32_t coord)
{
    int below = bits_below(buf, axis), index_bits = __builtin_ctz((unsigned)index->shape[axis]),
        buf_bits = __builtin_ctz((unsigned)buf->shape[axis]);
    return (coord & ((UINT32_C(1) << below) - 1)) | coord >> (below + index_bits) << (below + buf_bits);
}

void select_shared_gather(struct select *s, const struct op *o)
{
    const struct value *buf = op_opnd(o, 0), *index = op_opnd(o, 1);
    const struct layout *l = index->type->layout;
    int axis = (int)op_int(o, ATTR_axis), bytes = type_elem_bytes(buf->type);
    struct word_shape word = word_shape(elem_dtype(op_result(o)->type), 1);
    uint32_t basis[LAYOUT_BITS_MAX], thread_mask = 0;
    int nthread = l->nbits[IN_lane] + l->nbits[IN_warp], first = l->nbits[IN_reg];
    for (int i = 0; i < nthread; i++) {
        basis[i] = place_of(index->type, buf->type, axis, l->basis[first + i]) * (uint32_t)bytes;
        thread_mask |= basis[i];
    }
    struct opnd thread = emit_thread_map(s, nthread, basis), *x = tile_of(s, index);
    struct opnd step = opnd_int(CLASS_b32, (int64_t)bytes << bits_below(buf->type, axis));
    struct opnd *tile = tile_new(s, op_result(o));
    for (int k = 0; k < tile_nregs(index->type); k++) {
        uint32_t coord = layout_apply(l, (uint32_t)k, 0, 0, 0);
        uint32_t own = place_of(index->type, buf->type, axis, coord) * (uint32_t)bytes;
        struct opnd at = own & thread_mask ? emit2(s, form0(INSN_xor, PT_b32), thread,
                                                   opnd_int(CLASS_b32, own & thread_mask))
                                           : thread;
        at = emit3(s, form0(INSN_mad_lo, PT_s32), as_b32(s, elem_dtype(index->type), x[k]), step, at);
        struct opnd all[] = {mir_reg(s->m, ptype_info[word.type].cls),
                             buffer_start(s, buf, at, own & ~thread_mask)};
        emit_insn(s, access_shape(form1(INSN_ld, PT_none, MOD_shared), word.type, 1), 1, 2, all);
        tile[k] = from_memory(s, &word, all[0]);
    }
}

/* -- histogram -- */

void select_shared_count(struct select *s, const struct op *o)
{
    const struct value *buf = op_opnd(o, 0), *x = op_opnd(o, 1), *mask = op_opnd(o, 2);
    struct opnd owner = emit_is_owner(s, x->type->layout);
    struct opnd nbins = opnd_int(CLASS_b32, buf->type->shape[0]);
    int free_bits = (int)layout_free_bits(x->type->layout, IN_reg);
    for (int k = 0; k < tile_nregs(x->type); k++) {
        if (k & free_bits)
            continue;
        struct opnd bin = as_b32(s, elem_dtype(x->type), tile_of(s, x)[k]);
        struct opnd guard = emit2(s, form1(INSN_setp, PT_u32, MOD_lt), bin, nbins);
        guard = pred_and(s, owner, guard);
        if (mask)
            guard = pred_and(s, guard, tile_of(s, mask)[k]);
        struct opnd at = emit2(s, form0(INSN_shl, PT_b32), bin, opnd_int(CLASS_b32, 2));
        struct form f = {.code = INSN_red, .type = PT_u32, .mods = {MOD_shared, MOD_add}};
        struct opnd all[] = {buffer_start(s, buf, at, 0), opnd_int(CLASS_b32, 1)};
        set_guard(emit_insn(s, f, 0, 2, all), guard);
    }
}
