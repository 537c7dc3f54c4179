/* SPDX-License-Identifier: MIT */
/* convert.c: selects layout conversions, and loads and stores of tiles in shared memory.
 *
 * The quotient of two layouts maps each place (register, lane, warp) of the result to the place of the same
 * element in the operand. A conversion within warps takes several rounds of shuffles (see layout_shuffle). If
 * the source register of a shuffle depends on the lane, selp instructions permute the registers before the
 * shuffles. If the destination register depends on the lane, selp instructions permute the registers after
 * the shuffles. The offset of an element in a shared buffer is the XOR of a constant that depends on the
 * register, and of a value that depends on the thread. */
#include "codegen/select/select.h"
#include "ir/families.h"

#include <string.h>

/* -- between the lanes of a warp -- */

static struct opnd shuffle_word(struct select *s, enum mod mode, struct opnd x, struct opnd lane)
{
    enum { LAST_LANE = 31 };
    struct opnd all[] = {mir_reg(s->m, x.cls), x, lane, opnd_int(CLASS_b32, LAST_LANE),
                         opnd_int(CLASS_b32, -1)};
    emit_insn(s, form1(INSN_shfl, PT_b32, mode), 1, 5, all);
    return all[0];
}

static struct opnd shuffle_64(struct select *s, enum mod mode, struct opnd x, struct opnd lane)
{
    struct opnd halves[] = {mir_reg(s->m, CLASS_b32), mir_reg(s->m, CLASS_b32), x};
    emit_insn(s, form0(INSN_unpack, PT_b64), 2, 3, halves)->nvec = 2;
    struct opnd both[] = {mir_reg(s->m, x.cls), shuffle_word(s, mode, halves[0], lane),
                          shuffle_word(s, mode, halves[1], lane)};
    emit_insn(s, form0(INSN_pack, PT_b64), 1, 3, both)->nvec = 2;
    return both[0];
}

struct opnd shuffle(struct select *s, enum mod mode, struct opnd x, struct opnd lane)
{
    if (x.kind == OPND_imm)
        return x;
    switch (x.cls) {
    case CLASS_pred:
        x = emit3(s, form0(INSN_selp, PT_b32), opnd_int(CLASS_b32, 1), opnd_int(CLASS_b32, 0), x);
        return emit2(s, form1(INSN_setp, PT_s32, MOD_ne), shuffle_word(s, mode, x, lane),
                     opnd_int(CLASS_b32, 0));
    case CLASS_b16:
        x = emit1(s, form_cvt(PT_u32, PT_u16, MOD_none), x);
        return emit1(s, form_cvt(PT_u16, PT_u32, MOD_none), shuffle_word(s, mode, x, lane));
    case CLASS_b64:
    case CLASS_f64: return shuffle_64(s, mode, x, lane);
    default: return shuffle_word(s, mode, x, lane);
    }
}

/* -- conversions -- */

struct opnd thread_bit(struct select *s, int bit)
{
    struct opnd x = emit2(s, form0(INSN_and, PT_b32), s->thread, opnd_int(CLASS_b32, INT64_C(1) << bit));
    return emit2(s, form1(INSN_setp, PT_s32, MOD_ne), x, opnd_int(CLASS_b32, 0));
}

struct opnd choose_elem(struct select *s, enum dtype dt, struct opnd c, struct opnd yes, struct opnd no)
{
    if (opnd_same(yes, no))
        return yes;
    if (dt == DT_i1) {
        struct opnd a = emit2(s, form0(INSN_and, PT_pred), c, yes);
        struct opnd b = emit2(s, form0(INSN_and, PT_pred), pred_not(s, c), no);
        return emit2(s, form0(INSN_or, PT_pred), a, b);
    }
    return emit3(s, form0(INSN_selp, dtype_ptype(dt, READ_bits)), yes, no, c);
}

/* Permutes the n registers x: x[i] becomes the old x[i ^ m], where m is the XOR of step[b] over the bits b
 * that are set in the thread's number. So each set bit b swaps each register i with register i ^ step[b].
 * Entries without a value (OPND_none) are swapped only with each other, and do not change. */
static void exchange(struct select *s, int n, struct opnd *x, int nbits, const uint32_t *step)
{
    enum dtype dt = elem_dtype(op_result(s->op)->type);
    struct opnd *old = NEW_ARRAY(s->m->arena, n, struct opnd);
    for (int b = 0; b < nbits; b++) {
        if (!step[b])
            continue;
        memcpy(old, x, (size_t)n * sizeof *x);
        struct opnd c = thread_bit(s, b);
        for (int i = 0; i < n; i++)
            if (old[i].kind != OPND_none)
                x[i] = choose_elem(s, dt, c, old[(uint32_t)i ^ step[b]], old[i]);
    }
}

/* Returns whether, in each round of shuffles, every lane reads from the lane whose number is its own number
 * XOR a constant of the round. */
static bool is_own_lane(const struct shuffle *g)
{
    for (int b = 0; b < g->nthread; b++)
        if (g->thread[b].source != (b < LANE_BITS ? UINT32_C(1) << b : 0))
            return false;
    return true;
}

static struct opnd take(struct select *s, const struct shuffle *g, struct opnd offered, uint32_t lane)
{
    uint32_t basis[LAYOUT_BITS_MAX];
    if (is_own_lane(g))
        return lane ? shuffle(s, MOD_bfly, offered, opnd_int(CLASS_b32, lane)) : offered;
    for (int b = 0; b < g->nthread; b++)
        basis[b] = g->thread[b].source;
    struct opnd from = emit_thread_map(s, g->nthread, basis);
    if (lane)
        from = emit2(s, form0(INSN_xor, PT_b32), from, opnd_int(CLASS_b32, lane));
    return shuffle(s, MOD_idx, offered, from);
}

static void select_convert(struct select *s, const struct op *o)
{
    struct value *r = op_result(o), *x = op_opnd(o, 0);
    struct shuffle g;
    if (!layout_shuffle(&g, x->type->layout, r->type->layout))
        diag_bug(s->diag, o->loc, "a conversion across warps has not been carried through shared memory");
    uint32_t offer[LAYOUT_BITS_MAX], put[LAYOUT_BITS_MAX];
    for (int b = 0; b < g.nthread; b++) {
        offer[b] = g.thread[b].offer;
        put[b] = g.thread[b].put;
    }
    int nfrom = tile_nregs(x->type), nto = tile_nregs(r->type),
        free_bits = (int)layout_free_bits(r->type->layout, IN_reg);
    struct opnd *from = NEW_ARRAY(s->m->arena, nfrom, struct opnd), *tile = tile_new(s, r);
    memcpy(from, tile_of(s, x), (size_t)nfrom * sizeof *from);
    exchange(s, nfrom, from, g.nthread, offer);
    for (uint32_t round = 0; round < UINT32_C(1) << g.nround; round++) {
        struct shuffle_step at = shuffle_at(&g, round, 0);
        tile[at.put] = take(s, &g, from[at.offer], at.source);
    }
    exchange(s, nto, tile, g.nthread, put);
    for (int k = 0; k < nto; k++)
        tile[k] = tile[k & ~free_bits];
}

/* -- shared memory -- */

struct place buffer_place(struct select *s, const struct value *buf)
{
    const struct op *o = buf->def;
    if (o && o->code == OP_shared_stage) {
        const struct type *t = op_opnd(o, 0)->type;
        struct place p = buffer_place(s, op_opnd(o, 0));
        int64_t i, stage = type_elems(t) * type_elem_bytes(t);
        if (value_const_int(op_opnd(o, 1), &i)) {
            p.bytes += i * stage;
            return p;
        }
        struct opnd skip =
            emit2(s, form0(INSN_mul_lo, PT_s32), tile_of(s, op_opnd(o, 1))[0], opnd_int(CLASS_b32, stage));
        p.base = emit2(s, form0(INSN_add, PT_s32), p.base, skip);
        return p;
    }
    if (!o || o->code != OP_shared_alloc || op_int(o, ATTR_offset) < 0)
        diag_bug(s->diag, s->op->loc, "a buffer has no place in shared memory");
    struct opnd smem = {.kind = OPND_smem, .cls = CLASS_b32};
    return (struct place){emit1(s, form0(INSN_mov, PT_u32), smem), op_int(o, ATTR_offset)};
}

struct buffer buffer_of(struct select *s, const struct op *o, const struct layout *l)
{
    int vec = (int)op_int(o, ATTR_vec);
    const struct value *v = op_opnd(o, 0);
    struct buffer b = {.elem_bytes = type_elem_bytes(v->type), .reg_bits = l->nbits[IN_reg]};
    struct place place = buffer_place(s, v);
    b.smem = place.base;
    b.offset_bytes = place.bytes;
    layout_divide(&b.map, l, v->type->layout);
    if (layout_shared_vector(v->type->layout, l, vec, b.reg_of) < vec)
        diag_bug(s->diag, o->loc, "a vector of %d is wider than the layouts allow", vec);
    for (int i = 1; i < vec; i *= 2)
        b.vector_bits |= b.reg_of[i];
    uint32_t basis[LAYOUT_BITS_MAX];
    int nbits = l->nbits[IN_lane] + l->nbits[IN_warp];
    for (int i = 0; i < nbits; i++) {
        basis[i] = (uint32_t)b.map.basis[b.reg_bits + i] * (uint32_t)b.elem_bytes;
        b.thread_mask |= basis[i];
    }
    b.thread = emit_thread_map(s, nbits, basis);
    return b;
}

/* The offset of an element in the buffer is the XOR of a part that depends on the thread, and of a part that
 * depends on the register. Only the bits that the thread's part may set need an XOR instruction. The other
 * bits of the register's part become the constant in the address. */
struct opnd buffer_address(struct select *s, const struct buffer *b, int reg)
{
    uint32_t part = (uint32_t)place_apply(&b->map, (uint64_t)reg) * (uint32_t)b->elem_bytes;
    struct opnd x = b->thread;
    if (part & b->thread_mask)
        x = emit2(s, form0(INSN_xor, PT_b32), x, opnd_int(CLASS_b32, part & b->thread_mask));
    x = emit2(s, form0(INSN_add, PT_s32), b->smem, x);
    return (struct opnd){
        .kind = OPND_addr, .cls = CLASS_b32, .n = x.n, .i = b->offset_bytes + (part & ~b->thread_mask)};
}

static struct form shared_form(enum insn_code code, const struct word_shape *a)
{
    return access_shape(form1(code, PT_none, MOD_shared), a->type, a->nwords);
}

static void store_vector(struct select *s, const struct buffer *b, const struct word_shape *a,
                         const struct opnd *x, int first, struct opnd owner)
{
    struct opnd elems[WORDS_MOST], words[1 + WORDS_MOST] = {buffer_address(s, b, first)};
    for (int i = 0; i < a->vec; i++)
        elems[i] = x[first ^ b->reg_of[i]];
    for (int w = 0; w < a->nwords; w++)
        words[1 + w] = join_elems(s, a, elems + w * a->per_word);
    struct insn *in = emit_insn(s, shared_form(INSN_st, a), 0, 1 + a->nwords, words);
    in->nvec = (uint8_t)(a->nwords > 1 ? a->nwords : 0);
    set_guard(in, owner);
}

static bool select_matrix_store(struct select *s, const struct op *o);

static void select_shared_store(struct select *s, const struct op *o)
{
    const struct type *t = op_opnd(o, 1)->type;
    if (select_matrix_store(s, o))
        return;
    struct word_shape a = word_shape(elem_dtype(t), (int)op_int(o, ATTR_vec));
    struct buffer b = buffer_of(s, o, t->layout);
    struct opnd owner = emit_is_owner(s, t->layout);
    int skip = b.vector_bits | (int)layout_free_bits(t->layout, IN_reg);
    for (int k = 0; k < tile_nregs(t); k++)
        if (!(k & skip))
            store_vector(s, &b, &a, tile_of(s, op_opnd(o, 1)), k, owner);
}

static void load_vector(struct select *s, const struct buffer *b, const struct word_shape *a, struct opnd *x,
                        int first)
{
    struct opnd elems[WORDS_MOST], words[WORDS_MOST + 1];
    for (int w = 0; w < a->nwords; w++)
        words[w] = mir_reg(s->m, ptype_info[a->type].cls);
    words[a->nwords] = buffer_address(s, b, first);
    emit_insn(s, shared_form(INSN_ld, a), a->nwords, a->nwords + 1, words)->nvec =
        (uint8_t)(a->nwords > 1 ? a->nwords : 0);
    for (int w = 0; w < a->nwords; w++)
        split_word(s, a, words[w], elems + w * a->per_word);
    for (int i = 0; i < a->vec; i++)
        x[first ^ b->reg_of[i]] = from_memory(s, a, elems[i]);
}

/* -- ldmatrix and stmatrix -- */

/* Returns how ldmatrix or stmatrix addresses the buffer of op o: in contrast to buffer_of, each lane supplies
 * the address of a row of an 8x8 matrix, not of its own elements. */
static struct buffer matrix_buffer(struct select *s, const struct op *o, const struct layout *l,
                                   const struct matrix_load *x)
{
    struct buffer b = buffer_of(s, o, l);
    uint32_t basis[LAYOUT_BITS_MAX];
    b.thread_mask = 0;
    for (int i = 0; i < x->nrows; i++) {
        basis[i] = (uint32_t)(place_apply(&b.map, x->row[i]) ^ b.map.flip) * (uint32_t)b.elem_bytes;
        b.thread_mask |= basis[i];
    }
    b.thread = emit_thread_map(s, x->nrows, basis);
    return b;
}

/* Splits a loaded b32 word into elements. If the word is a single f32, copies it to a float register. */
static void split_matrix_word(struct select *s, const struct word_shape *a, struct opnd word,
                              struct opnd *elems)
{
    if (a->per_word > 1) {
        split_word(s, a, word, elems);
        return;
    }
    elems[0] = word;
    if (ptype_info[a->type].cls != CLASS_b32) {
        elems[0] = mir_reg(s->m, ptype_info[a->type].cls);
        emit_mov(s, elems[0], word);
    }
}

enum { MATRICES_MOST = 4 };

static struct form matrix_form(enum insn_code code, const struct matrix_load *x)
{
    static const enum mod counts[] = {[1] = MOD_x1, [2] = MOD_x2, [4] = MOD_x4};
    struct form f = {.code = (uint8_t)code, .type = PT_b16, .mods = {(uint8_t)counts[x->nmatrices]}};
    f.mods[1] = (uint8_t)(x->trans ? MOD_trans : MOD_shared);
    f.mods[2] = (uint8_t)(x->trans ? MOD_shared : MOD_none);
    return f;
}

/* Selects the store as stmatrix instructions, if elements have two bytes, ordinary stores would write less
 * than 16 bytes at once, and stmatrix fits the layouts. Returns false, and selects nothing, in all other
 * cases. */
static bool select_matrix_store(struct select *s, const struct op *o)
{
    const struct value *v = op_opnd(o, 1);
    const struct layout *l = v->type->layout;
    struct matrix_load x;
    int elem_bytes = type_elem_bytes(v->type);
    if (!target_has(s->target, HAS_stmatrix) || elem_bytes != 2 || op_int(o, ATTR_vec) * elem_bytes >= 16 ||
        layout_free_bits(l, IN_reg) || layout_free_bits(l, IN_lane) || layout_free_bits(l, IN_warp) ||
        !layout_matrix_load(&x, op_opnd(o, 0)->type->layout, l, elem_bytes))
        return false;
    struct buffer b = matrix_buffer(s, o, l, &x);
    struct word_shape a = word_shape(elem_dtype(v->type), 1 << x.word_bits);
    struct opnd *tile = tile_of(s, v);
    for (int k = 0; k < tile_nregs(v->type); k += x.nmatrices << x.word_bits) {
        struct opnd words[MATRICES_MOST + 1] = {buffer_address(s, &b, k)};
        for (int i = 0; i < x.nmatrices; i++)
            words[1 + i] = in_reg(s, join_elems(s, &a, tile + k + (i << x.word_bits)));
        emit_insn(s, matrix_form(INSN_stmatrix, &x), 0, x.nmatrices + 1, words)->nvec = (uint8_t)x.nmatrices;
    }
    return true;
}

static void select_matrix_load(struct select *s, const struct op *o, const struct layout *l,
                               const struct matrix_load *x)
{
    struct value *r = op_result(o);
    struct buffer b = matrix_buffer(s, o, l, x);
    struct word_shape a = word_shape(elem_dtype(r->type), 1 << x->word_bits);
    struct form f = matrix_form(INSN_ldmatrix, x);
    struct opnd *tile = tile_new(s, r);
    /* the lowest bits of a register's number are the number of the element in its word, and the next bits are
     * the number of the matrix among the matrices that one instruction loads */
    int step = x->nmatrices << x->word_bits;
    for (int k = 0; k < tile_nregs(r->type); k += step) {
        struct opnd words[MATRICES_MOST + 1];
        for (int i = 0; i < x->nmatrices; i++)
            words[i] = mir_reg(s->m, CLASS_b32);
        words[x->nmatrices] = buffer_address(s, &b, k);
        emit_insn(s, f, x->nmatrices, x->nmatrices + 1, words)->nvec = (uint8_t)x->nmatrices;
        for (int i = 0; i < x->nmatrices; i++)
            split_matrix_word(s, &a, words[i], tile + k + (i << x->word_bits));
    }
}

static bool feeds_dot(const struct value *v)
{
    for (const struct use *u = v->uses; u; u = u->next)
        if (u->user->code == OP_dot || u->user->code == OP_yield || u->user->code == OP_for)
            return true;
    return false;
}

/* Returns whether elements have two bytes, ordinary loads would read less than 16 bytes at once, and no
 * element has replicas in other registers or threads. */
static bool reads_narrow(const struct op *o, const struct layout *l)
{
    const int bytes = type_elem_bytes(op_result(o)->type);
    return bytes == 2 && op_int(o, ATTR_vec) * bytes < 16 && !layout_free_bits(l, IN_reg) &&
           !layout_free_bits(l, IN_lane) && !layout_free_bits(l, IN_warp);
}

static void select_shared_load(struct select *s, const struct op *o)
{
    struct value *r = op_result(o);
    const struct type *buf = op_opnd(o, 0)->type;
    const struct attr *at = op_attr(o, ATTR_at);
    struct matrix_load matrices;
    struct layout l = *r->type->layout;
    if (at)
        layout_part(&l, r->type->layout, buf->shape, at->list);
    if (target_has(s->target, HAS_ldmatrix) && (feeds_dot(r) || reads_narrow(o, &l)) &&
        layout_matrix_load(&matrices, buf->layout, &l, type_elem_bytes(r->type))) {
        select_matrix_load(s, o, &l, &matrices);
        return;
    }
    struct word_shape a = word_shape(elem_dtype(r->type), (int)op_int(o, ATTR_vec));
    struct buffer b = buffer_of(s, o, &l);
    int free_bits = (int)layout_free_bits(r->type->layout, IN_reg);
    struct opnd *tile = tile_new(s, r);
    for (int k = 0; k < tile_nregs(r->type); k++)
        if (!(k & (b.vector_bits | free_bits)))
            load_vector(s, &b, &a, tile, k);
    for (int k = 0; k < tile_nregs(r->type); k++)
        tile[k] = tile[k & ~free_bits];
}

/* -- opaque values -- */

/* Selects an `opaque` op (opt/simplify/remat.c): adds to each pair of 16-bit elements a register that is
 * always 0. ptxas and the peephole optimizer do not know that it is 0, so they do not merge computations of
 * the op's operand with computations of its result. Elements of other types are passed on unchanged. */
static void select_opaque(struct select *s, const struct op *o)
{
    struct value *r = op_result(o);
    const struct opnd *from = tile_of(s, op_opnd(o, 0));
    struct opnd *to = tile_new(s, r);
    struct opnd zero =
        emit2(s, form0(INSN_and, PT_b32), s->leader, opnd_int(CLASS_b32, (1 << LANE_BITS) - 1));
    memcpy(to, from, (size_t)tile_nregs(r->type) * sizeof *to);
    for (int k = 0; k + 1 < tile_nregs(r->type); k += 2) {
        if (from[k].cls != CLASS_b16 || from[k].kind != OPND_reg || from[k + 1].kind != OPND_reg)
            continue;
        struct opnd pair[] = {mir_reg(s->m, CLASS_b32), from[k], from[k + 1]};
        emit_insn(s, form0(INSN_pack, PT_b32), 1, 3, pair)->nvec = 2;
        struct opnd sum = emit2(s, form0(INSN_add, PT_s32), pair[0], zero);
        struct opnd halves[] = {mir_reg(s->m, CLASS_b16), mir_reg(s->m, CLASS_b16), sum};
        emit_insn(s, form0(INSN_unpack, PT_b32), 2, 3, halves)->nvec = 2;
        to[k] = halves[0];
        to[k + 1] = halves[1];
    }
}

/* -- votes -- */

static void select_warp_all(struct select *s, const struct op *o)
{
    const struct opnd *x = tile_of(s, op_opnd(o, 0));
    struct opnd all = in_reg(s, x[0]);
    for (int k = 1; k < tile_nregs(op_opnd(o, 0)->type); k++)
        all = emit2(s, form0(INSN_and, PT_pred), all, x[k]);
    tile_new(s, op_result(o))[0] =
        emit2(s, form1(INSN_vote, PT_pred, MOD_all), all, opnd_int(CLASS_b32, UINT32_MAX));
}

void select_layout(struct select *s, const struct op *o)
{
    switch ((enum layout_op)o->code) {
    case LAYOUT_OP_convert: select_convert(s, o); break;
    case LAYOUT_OP_opaque: select_opaque(s, o); break;
    case LAYOUT_OP_warp_all: select_warp_all(s, o); break;
    case LAYOUT_OP_shared_store: select_shared_store(s, o); break;
    case LAYOUT_OP_shared_load: select_shared_load(s, o); break;
    case LAYOUT_OP_shared_gather: select_shared_gather(s, o); break;
    case LAYOUT_OP_shared_count: select_shared_count(s, o); break;
    case LAYOUT_OP_shared_alloc:
    /* shared_stage has no instruction: ops that use a stage compute its address (buffer_place) */
    case LAYOUT_OP_shared_stage: break;
    case LAYOUT_OP_to_shared: diag_bug(s->diag, o->loc, "a tile has not been stored to shared memory");
    }
}
