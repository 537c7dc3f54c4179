/* SPDX-License-Identifier: MIT */
/* shape.c: selects constants, ranges, program ids, splats and changes of shape.
 *
 * A range computes its elements from the thread's number and the register's number: each bit that is set in
 * one of these numbers XORs a constant into the element. A shape op moves no data between threads: its result
 * consists of the operands' registers in another order. */
#include "codegen/select/select.h"
#include "ir/families.h"

/* -- create -- */

static void select_const(struct select *s, const struct op *o)
{
    struct value *r = op_result(o);
    struct opnd x = opnd_int(dtype_class(elem_dtype(r->type)), op_int(o, ATTR_value));
    struct opnd *tile = tile_new(s, r);
    for (int i = 0; i < tile_nregs(r->type); i++)
        tile[i] = x;
}

static void select_special(struct select *s, const struct op *o, enum special first)
{
    tile_new(s, op_result(o))[0] = emit_special(s, (int)first + (int)op_int(o, ATTR_axis));
}

static uint32_t reg_part(const struct layout *l, int reg)
{
    return layout_apply(l, (uint32_t)reg, 0, 0, 0);
}

int layout_threads(const struct layout *l, uint32_t *basis)
{
    int n = 0;
    for (int i = 0; i < l->nbits[IN_lane]; i++)
        basis[n++] = layout_basis(l, IN_lane, i);
    for (int i = 0; i < l->nbits[IN_warp]; i++)
        basis[n++] = layout_basis(l, IN_warp, i);
    return n;
}

/* An element of a range is start + (t XOR r), where t depends on the thread and r on the register. If t and r
 * have no bits in common, as in blocked layouts, an addition replaces the XOR. */
static void select_range(struct select *s, const struct op *o)
{
    struct value *r = op_result(o);
    const struct layout *l = r->type->layout;
    uint32_t basis[LAYOUT_BITS_MAX], thread_bits = 0;
    int nbits = layout_threads(l, basis);
    for (int i = 0; i < nbits; i++)
        thread_bits |= basis[i];
    struct opnd thread = emit_thread_map(s, nbits, basis);
    struct opnd *tile = tile_new(s, r);
    int64_t start = op_int(o, ATTR_start);
    for (int i = 0; i < tile_nregs(r->type); i++) {
        int64_t part = reg_part(l, i);
        struct opnd x = thread;
        if (part & thread_bits) {
            x = emit2(s, form0(INSN_xor, PT_b32), x, opnd_int(CLASS_b32, part));
            part = 0;
        }
        tile[i] = start + part ? emit2(s, form0(INSN_add, PT_s32), x, opnd_int(CLASS_b32, start + part)) : x;
    }
}

static struct opnd emit_warp_number(struct select *s, enum special threads)
{
    return emit2(s, form0(INSN_shr, PT_u32), emit_special(s, (int)threads), opnd_int(CLASS_b32, 5));
}

/* For a kernel in which each warp runs a program of its own: computes the program id, or the number of
 * programs, along axis 0. */
static void select_packed(struct select *s, const struct op *o)
{
    bool counts = o->code == OP_num_programs;
    struct opnd ctas = emit_special(s, counts ? SPECIAL_nctaid_x : SPECIAL_ctaid_x);
    struct opnd warps = emit_warp_number(s, SPECIAL_ntid), zero = opnd_int(CLASS_b32, 0);
    struct opnd own = counts ? zero : emit_warp_number(s, SPECIAL_tid);
    tile_new(s, op_result(o))[0] = emit3(s, form0(INSN_mad_lo, PT_s32), ctas, warps, own);
}

static void select_program_id(struct select *s, const struct op *o)
{
    if (s->f->packs && op_int(o, ATTR_axis) == 0)
        select_packed(s, o);
    else
        select_special(s, o, SPECIAL_ctaid_x);
}

/* Computes the number of programs along an axis. A persistent kernel gets the grid's sizes as additional parameters
 * after its own parameters. */
static void select_num_programs(struct select *s, const struct op *o)
{
    if (!s->f->persistent) {
        if (s->f->packs && op_int(o, ATTR_axis) == 0)
            select_packed(s, o);
        else
            select_special(s, o, SPECIAL_nctaid_x);
        return;
    }
    struct opnd at = {.kind = OPND_param, .n = s->f->params.n + (int)op_int(o, ATTR_axis)};
    tile_new(s, op_result(o))[0] = emit1(s, form0(INSN_ld_param, PT_u32), at);
}

/* Reads a special register whose value changes, such as a clock. Two such reads must not be merged. */
static void select_now(struct select *s, const struct op *o, enum ptype type, enum special which)
{
    struct opnd x = {.kind = OPND_special, .cls = (uint8_t)ptype_info[type].cls, .n = (int)which};
    tile_new(s, op_result(o))[0] = emit1(s, form0(INSN_read_now, type), x);
}

void select_create(struct select *s, const struct op *o)
{
    switch ((enum create_op)o->code) {
    case CREATE_OP_const: select_const(s, o); break;
    case CREATE_OP_program_id: select_program_id(s, o); break;
    case CREATE_OP_num_programs: select_num_programs(s, o); break;
    case CREATE_OP_cta_id: select_special(s, o, SPECIAL_ctaid_x); break;
    case CREATE_OP_cta_count: select_special(s, o, SPECIAL_nctaid_x); break;
    case CREATE_OP_sm_id: select_now(s, o, PT_u32, SPECIAL_smid); break;
    case CREATE_OP_clock: select_now(s, o, PT_u64, SPECIAL_globaltimer); break;
    case CREATE_OP_range: select_range(s, o); break;
    case CREATE_OP_splat: {
        struct value *r = op_result(o);
        struct opnd x = tile_of(s, op_opnd(o, 0))[0], *tile = tile_new(s, r);
        for (int i = 0; i < tile_nregs(r->type); i++)
            tile[i] = x;
        break;
    }
    }
}

/* -- shape ops, which reuse the operand's registers -- */

/* Returns the number of the register that holds the element at `coord` of the operand, which has layout l.
 * Tries register i first: the register that will hold this element in the result. */
static int reg_at(struct select *s, const struct layout *l, uint32_t coord, int i)
{
    int n = 1 << l->nbits[IN_reg];
    if (i < n && reg_part(l, i) == coord)
        return i;
    for (i = 0; i < n; i++)
        if (reg_part(l, i) == coord)
            return i;
    diag_bug(s->diag, s->op->loc, "'%s' would move data between threads", op_info[s->op->code].name);
}

/* Converts a coordinate of the broadcast tile to a coordinate of the operand, whose dimensions of size 1 have no
 * coordinate bits. */
static uint32_t unbroadcast(const struct layout *to, const struct layout *from, uint32_t coord)
{
    uint32_t result = 0;
    int at = 0, at_from = 0;
    for (int d = to->rank - 1; d >= 0; d--) {
        uint32_t mask = (UINT32_C(1) << from->dim_bits[d]) - 1;
        result |= (coord >> at & mask) << at_from;
        at += to->dim_bits[d];
        at_from += from->dim_bits[d];
    }
    return result;
}

static void select_broadcast(struct select *s, const struct op *o)
{
    struct value *r = op_result(o);
    const struct layout *to = r->type->layout, *from = op_opnd(o, 0)->type->layout;
    const struct opnd *x = tile_of(s, op_opnd(o, 0));
    struct opnd *tile = tile_new(s, r);
    for (int i = 0; i < tile_nregs(r->type); i++)
        tile[i] = x[reg_at(s, from, unbroadcast(to, from, reg_part(to, i)), i)];
}

/* Returns a predicate that is true in the threads whose part of a coordinate in layout l is odd; OPND_none if
 * this part is even in every thread. */
static struct opnd thread_is_odd(struct select *s, const struct layout *l)
{
    uint32_t basis[LAYOUT_BITS_MAX], any = 0;
    int n = layout_threads(l, basis);
    for (int i = 0; i < n; i++)
        any |= basis[i] &= 1;
    if (!any)
        return (struct opnd){.kind = OPND_none};
    struct opnd odd = emit_thread_map(s, n, basis);
    return emit2(s, form1(INSN_setp, PT_s32, MOD_ne), odd, opnd_int(CLASS_b32, 0));
}

/* Selects a join. The lowest bit of a result's coordinate is the index in the new last dimension: 0 for an
 * element of the first operand, 1 for an element of the second. */
static void select_join(struct select *s, const struct op *o)
{
    struct value *r = op_result(o);
    const struct layout *to = r->type->layout;
    struct layout scalar;
    const struct layout *from = tile_layout(s, op_opnd(o, 0)->type, &scalar);
    struct opnd *tile = tile_new(s, r), odd = thread_is_odd(s, to);
    for (int i = 0; i < tile_nregs(r->type); i++) {
        uint32_t coord = reg_part(to, i);
        int at = reg_at(s, from, coord >> 1, i), own = (int)(coord & 1);
        struct opnd even_one = tile_of(s, op_opnd(o, own))[at];
        tile[i] = odd.kind == OPND_none
                      ? even_one
                      : choose_elem(s, elem_dtype(r->type), odd, tile_of(s, op_opnd(o, !own))[at], even_one);
    }
}

static void select_split(struct select *s, const struct op *o)
{
    const struct layout *from = op_opnd(o, 0)->type->layout;
    const struct opnd *x = tile_of(s, op_opnd(o, 0));
    for (uint32_t half = 0; half < 2; half++) {
        struct value *r = &o->results[half];
        struct layout scalar;
        const struct layout *to = tile_layout(s, r->type, &scalar);
        struct opnd *tile = tile_new(s, r);
        for (int i = 0; i < tile_nregs(r->type); i++)
            tile[i] = x[reg_at(s, from, reg_part(to, i) << 1 | half, i)];
    }
}

void select_shape(struct select *s, const struct op *o)
{
    switch ((enum shape_op)o->code) {
    case SHAPE_OP_broadcast: select_broadcast(s, o); break;
    case SHAPE_OP_join: select_join(s, o); break;
    case SHAPE_OP_split: select_split(s, o); break;
    case SHAPE_OP_expand_dims:
    case SHAPE_OP_reshape:
    case SHAPE_OP_trans:
    /* no instruction: the result consists of the operand's registers */
    case SHAPE_OP_hint: op_result(o)->scratch = tile_of(s, op_opnd(o, 0)); break;
    case SHAPE_OP_gather: diag_bug(s->diag, o->loc, "a gather has not been carried through shared memory");
    }
}
