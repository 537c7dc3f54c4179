/* select_convert.c: the same tile in another layout, and tiles in shared memory.
 *
 * Dividing one layout by another says, for each place of the result, the place where its element is now; all that follows is
 * XOR of constants for the register and of the thread's bits. Where a lane's source register depends on which lane it is,
 * each candidate is sent and the receiver selects.
 */
#include "codegen/select.h"

/* -- between the lanes of a warp -- */

static struct opnd shuffle_word(struct select *s, enum mod mode, struct opnd x, struct opnd lane)
{
    enum { LAST_LANE = 31 };
    struct opnd all[] = {mir_reg(s->m, x.cls), x, lane, opnd_int(CLASS_b32, LAST_LANE), opnd_int(CLASS_b32, -1)};
    emit_insn(s, form1(INSN_shfl, PT_b32, mode), 1, 5, all);
    return all[0];
}

static struct opnd shuffle_64(struct select *s, enum mod mode, struct opnd x, struct opnd lane)
{
    struct opnd halves[] = {mir_reg(s->m, CLASS_b32), mir_reg(s->m, CLASS_b32), x};
    emit_insn(s, form0(INSN_unpack, PT_b64), 2, 3, halves)->nvec = 2;
    struct opnd both[] = {mir_reg(s->m, x.cls), shuffle_word(s, mode, halves[0], lane), shuffle_word(s, mode, halves[1], lane)};
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
        return emit2(s, form1(INSN_setp, PT_s32, MOD_ne), shuffle_word(s, mode, x, lane), opnd_int(CLASS_b32, 0));
    case CLASS_b16:
        x = emit1(s, form_cvt(PT_u32, PT_u16, MOD_none), x);
        return emit1(s, form_cvt(PT_u16, PT_u32, MOD_none), shuffle_word(s, mode, x, lane));
    case CLASS_b64:
    case CLASS_f64: return shuffle_64(s, mode, x, lane);
    default:        return shuffle_word(s, mode, x, lane);
    }
}

/* -- conversions -- */

/* Where elements come from: a place of the operand for each place of the result, with bits as their layouts count them. */
struct origin {
    struct place_map map;
    int reg_bits, thread_bits; /* of the result's places: registers, then lanes and warps */
    int from_reg_bits;         /* of the operand's */
    uint32_t lane_basis[LAYOUT_BITS_MAX]; /* of the source lane, by the thread's bits */
    bool same_lane;            /* the thread's bits give its own lane */
};

static uint32_t source_reg(const struct origin *g, uint64_t place)
{
    return (uint32_t)(place & ((UINT64_C(1) << g->from_reg_bits) - 1));
}

static uint32_t source_lane(const struct origin *g, uint64_t place)
{
    return (uint32_t)(place >> g->from_reg_bits) & ((1u << LANE_BITS) - 1);
}

/* Lanes of the operand that hold the same as others may as well read their own copy. */
static void stay_in_own_lane(struct origin *g, const struct layout *from)
{
    for (int i = 0; i < from->nbits[IN_lane]; i++)
        if (layout_basis(from, IN_lane, i) == 0)
            g->map.basis[g->reg_bits + i] |= UINT64_C(1) << (g->from_reg_bits + i);
}

static struct origin origin_of(const struct layout *to, const struct layout *from)
{
    struct origin g = {.reg_bits = to->nbits[IN_reg], .thread_bits = to->nbits[IN_lane] + to->nbits[IN_warp],
                       .from_reg_bits = from->nbits[IN_reg], .same_lane = true};
    layout_divide(&g.map, to, from);
    stay_in_own_lane(&g, from);
    for (int i = 0; i < g.thread_bits; i++) {
        g.lane_basis[i] = source_lane(&g, g.map.basis[g.reg_bits + i]);
        g.same_lane = g.same_lane && g.lane_basis[i] == (i < LANE_BITS ? UINT32_C(1) << i : 0);
    }
    return g;
}

static struct opnd thread_bit(struct select *s, int bit)
{
    struct opnd x = emit2(s, form0(INSN_and, PT_b32), s->thread, opnd_int(CLASS_b32, INT64_C(1) << bit));
    return emit2(s, form1(INSN_setp, PT_s32, MOD_ne), x, opnd_int(CLASS_b32, 0));
}

static struct opnd choose(struct select *s, struct opnd c, struct opnd yes, struct opnd no)
{
    enum dtype dt = elem_dtype(op_result(s->op)->type);
    if (dt == DT_i1) {
        struct opnd a = emit2(s, form0(INSN_and, PT_pred), c, yes);
        struct opnd b = emit2(s, form0(INSN_and, PT_pred), pred_not(s, c), no);
        return emit2(s, form0(INSN_or, PT_pred), a, b);
    }
    return emit3(s, form0(INSN_selp, dtype_ptype(dt, READ_bits)), yes, no, c);
}

/* The element of register `reg`, and, from thread bit `bit` on, whichever register the thread's bits ask for. */
static struct opnd fetch(struct select *s, const struct origin *g, const struct opnd *x, uint32_t reg, uint32_t lane, int bit)
{
    while (bit < g->thread_bits && !source_reg(g, g->map.basis[g->reg_bits + bit]))
        bit++;
    if (bit < g->thread_bits) {
        uint32_t other = reg ^ source_reg(g, g->map.basis[g->reg_bits + bit]);
        struct opnd no = fetch(s, g, x, reg, lane, bit + 1), yes = fetch(s, g, x, other, lane, bit + 1);
        return opnd_same(no, yes) ? no : choose(s, thread_bit(s, bit), yes, no);
    }
    if (g->same_lane)
        return lane ? shuffle(s, MOD_bfly, x[reg], opnd_int(CLASS_b32, lane)) : x[reg];
    struct opnd from = emit_thread_map(s, g->thread_bits, g->lane_basis);
    if (lane)
        from = emit2(s, form0(INSN_xor, PT_b32), from, opnd_int(CLASS_b32, lane));
    return shuffle(s, MOD_idx, x[reg], from);
}

static void select_convert(struct select *s, const struct op *o)
{
    struct value *r = op_result(o);
    const struct layout *to = r->type->layout, *from = op_opnd(o, 0)->type->layout;
    const struct opnd *x = tile_of(s, op_opnd(o, 0));
    if (layout_conversion(from, to) == CONVERSION_shared)
        diag_bug(s->diag, o->loc, "a conversion across warps has not been carried through shared memory");
    struct origin g = origin_of(to, from);
    int free_bits = (int)layout_free_bits(to, IN_reg);
    struct opnd *tile = tile_new(s, r);
    for (int k = 0; k < tile_nregs(r->type); k++) {
        uint64_t place = place_apply(&g.map, (uint64_t)k);
        tile[k] = k & free_bits ? tile[k & ~free_bits] : fetch(s, &g, x, source_reg(&g, place), source_lane(&g, place), 0);
    }
}

/* -- shared memory -- */

/* A buffer seen by threads that hold a tile in some layout. */
struct buffer {
    struct place_map map; /* from places of the layout to offsets in elements */
    int elem_bytes, reg_bits;
    int64_t offset_bytes;
    uint32_t thread_mask; /* bits of byte offsets that depend on the thread */
    struct opnd smem;     /* address of all buffers */
    struct opnd thread;   /* the thread's part of the offset */
};

static struct buffer buffer_of(struct select *s, const struct op *o, const struct layout *l)
{
    const struct value *v = op_opnd(o, 0);
    struct buffer b = {.elem_bytes = type_elem_bytes(v->type), .reg_bits = l->nbits[IN_reg]};
    if (!v->def || v->def->code != OP_shared_alloc || op_int(v->def, ATTR_offset) < 0)
        diag_bug(s->diag, o->loc, "a buffer has no place in shared memory");
    b.offset_bytes = op_int(v->def, ATTR_offset);
    layout_divide(&b.map, l, v->type->layout);
    uint32_t basis[LAYOUT_BITS_MAX];
    int nbits = l->nbits[IN_lane] + l->nbits[IN_warp];
    for (int i = 0; i < nbits; i++) {
        basis[i] = (uint32_t)b.map.basis[b.reg_bits + i] * (uint32_t)b.elem_bytes;
        b.thread_mask |= basis[i];
    }
    b.thread = emit_thread_map(s, nbits, basis);
    struct opnd smem = {.kind = OPND_smem, .cls = CLASS_b32};
    b.smem = emit1(s, form0(INSN_mov, PT_u32), smem);
    return b;
}

/* The address of register `reg`'s element: bits that threads have too are flipped in the thread's part, others added. */
static struct opnd buffer_address(struct select *s, const struct buffer *b, int reg)
{
    uint32_t part = (uint32_t)place_apply(&b->map, (uint64_t)reg) * (uint32_t)b->elem_bytes;
    struct opnd x = b->thread;
    if (part & b->thread_mask)
        x = emit2(s, form0(INSN_xor, PT_b32), x, opnd_int(CLASS_b32, part & b->thread_mask));
    x = emit2(s, form0(INSN_add, PT_s32), b->smem, x);
    return (struct opnd){.kind = OPND_addr, .cls = CLASS_b32, .n = x.n, .i = b->offset_bytes + (part & ~b->thread_mask)};
}

static void select_shared_store(struct select *s, const struct op *o)
{
    const struct type *t = op_opnd(o, 1)->type;
    const struct opnd *x = tile_of(s, op_opnd(o, 1));
    struct word_shape a = word_shape(elem_dtype(t), (int)op_int(o, ATTR_vec));
    struct buffer b = buffer_of(s, o, t->layout);
    struct opnd owner = emit_is_owner(s, t->layout);
    int free_bits = (int)layout_free_bits(t->layout, IN_reg);
    for (int k = 0; k < tile_nregs(t); k += a.vec) {
        if (k & free_bits)
            continue;
        struct opnd words[1 + WORDS_MOST] = {buffer_address(s, &b, k)};
        for (int w = 0; w < a.nwords; w++)
            words[1 + w] = join_elems(s, &a, x + k + w * a.per_word);
        struct insn *in = emit_insn(s, access_shape(form1(INSN_st, PT_none, MOD_shared), a.type, a.nwords), 0, 1 + a.nwords, words);
        in->nvec = (uint8_t)(a.nwords > 1 ? a.nwords : 0);
        set_guard(in, owner);
    }
}

static void select_shared_load(struct select *s, const struct op *o)
{
    struct value *r = op_result(o);
    struct word_shape a = word_shape(elem_dtype(r->type), (int)op_int(o, ATTR_vec));
    struct buffer b = buffer_of(s, o, r->type->layout);
    int free_bits = (int)layout_free_bits(r->type->layout, IN_reg);
    struct opnd *tile = tile_new(s, r);
    for (int k = 0; k < tile_nregs(r->type); k += a.vec) {
        if (k & free_bits) {
            for (int i = 0; i < a.vec; i++)
                tile[k + i] = tile[(k & ~free_bits) + i];
            continue;
        }
        struct opnd words[WORDS_MOST + 1];
        for (int w = 0; w < a.nwords; w++)
            words[w] = mir_reg(s->m, ptype_info[a.type].cls);
        words[a.nwords] = buffer_address(s, &b, k);
        struct form f = access_shape(form1(INSN_ld, PT_none, MOD_shared), a.type, a.nwords);
        emit_insn(s, f, a.nwords, a.nwords + 1, words)->nvec = (uint8_t)(a.nwords > 1 ? a.nwords : 0);
        for (int w = 0; w < a.nwords; w++)
            split_word(s, &a, words[w], tile + k + w * a.per_word);
        for (int i = 0; i < a.vec; i++)
            tile[k + i] = from_memory(s, &a, tile[k + i]);
    }
}

void select_layout(struct select *s, const struct op *o)
{
    switch (o->code) {
    case OP_convert:      select_convert(s, o); break;
    case OP_shared_store: select_shared_store(s, o); break;
    case OP_shared_load:  select_shared_load(s, o); break;
    default:              break; /* shared_alloc: its users look at it */
    }
}
