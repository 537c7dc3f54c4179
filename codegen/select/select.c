/* SPDX-License-Identifier: MIT */
/* select.c: selects instructions for tile ops.
 *
 *     %y = add %x, %x : tile<512xf32,#l>     =>     add.rn.f32 %f5, %f1, %f1;   one for each register of #l
 *                                                   add.rn.f32 %f6, %f2, %f2; ...
 *
 * Selection handles one op at a time, register by register, and does not optimize. The peephole optimizer
 * later folds constants, and removes equal and dead instructions. Layouts, vector widths, buffers and
 * barriers are already in the IR, so selection does not choose them. */
#include "codegen/select/select.h"

#include "ir/families.h"

#include <string.h>

/* -- instructions -- */

struct insn *emit_insn(struct select *s, struct form form, int ndefs, int n, const struct opnd *x)
{
    struct insn *in = mir_append(s->m, s->b, form, ndefs, n, x);
    if (s->op) {
        in->loc = s->op->loc;
        in->op = s->op;
    }
    return in;
}

struct opnd in_reg(struct select *s, struct opnd x)
{
    if (x.kind == OPND_reg)
        return x;
    struct opnd d = mir_reg(s->m, x.cls);
    emit_mov(s, d, x);
    return d;
}

struct opnd emit(struct select *s, struct form form, int n, const struct opnd *x)
{
    enum { MOST = 4 };
    struct opnd all[1 + MOST];
    for (int i = 0; i < n; i++)
        all[1 + i] = form_takes_imm(form, 1 + i, 0) ? x[i] : in_reg(s, x[i]);
    all[0] = mir_reg(s->m, form_class(form));
    emit_insn(s, form, 1, 1 + n, all);
    return all[0];
}

struct opnd emit1(struct select *s, struct form form, struct opnd x)
{
    return emit(s, form, 1, &x);
}

struct opnd emit2(struct select *s, struct form form, struct opnd x, struct opnd y)
{
    return emit(s, form, 2, (struct opnd[]){x, y});
}

struct opnd emit3(struct select *s, struct form form, struct opnd x, struct opnd y, struct opnd z)
{
    return emit(s, form, 3, (struct opnd[]){x, y, z});
}

struct opnd emit_bits(struct select *s, enum reg_class cls, struct opnd x)
{
    if (x.kind == OPND_imm)
        return opnd_as(cls, x);
    if (x.cls == cls)
        return x;
    struct opnd d = mir_reg(s->m, cls);
    emit_insn(s, form0(INSN_mov, class_info[cls].bits == 64 ? PT_b64 : PT_b32), 1, 2, (struct opnd[]){d, x});
    return d;
}

void emit_mov(struct select *s, struct opnd to, struct opnd from)
{
    emit_insn(s, form_mov(to.cls), 1, 2, (struct opnd[]){to, from});
}

void emit_moves(struct select *s, int n, const struct opnd *to, struct opnd *from)
{
    for (int i = 1; i < n; i++)
        for (int k = 0; k < i; k++)
            if (opnd_same(to[k], from[i]) && !opnd_same(to[k], from[k])) {
                struct opnd kept = mir_reg(s->m, from[i].cls);
                emit_mov(s, kept, from[i]);
                from[i] = kept;
                break;
            }
    for (int i = 0; i < n; i++)
        if (!opnd_same(to[i], from[i]))
            emit_mov(s, to[i], from[i]);
}

/* -- threads -- */

/* Emits code that extracts the bits in `mask` from the thread's number, which has nbits bits, and shifts them
 * left by `shift`, or right by -shift if `shift` is negative. */
static struct opnd emit_shifted(struct select *s, int nbits, uint32_t mask, int shift)
{
    uint32_t all = (UINT32_C(1) << nbits) - 1, shifted_out = shift < 0 ? (UINT32_C(1) << -shift) - 1 : 0;
    struct opnd x = s->thread;
    if ((mask | shifted_out) != all && (mask & ~shifted_out) != (all & ~shifted_out))
        x = emit2(s, form0(INSN_and, PT_b32), x, opnd_int(CLASS_b32, mask));
    if (shift > 0)
        x = emit2(s, form0(INSN_shl, PT_b32), x, opnd_int(CLASS_b32, shift));
    if (shift < 0)
        x = emit2(s, form0(INSN_shr, PT_u32), x, opnd_int(CLASS_b32, -shift));
    return x;
}

struct opnd emit_thread_map(struct select *s, int nbits, const uint32_t *basis)
{
    struct opnd sum = opnd_int(CLASS_b32, 0);
    uint32_t seen = 0;
    for (int shift = -nbits; shift < 32; shift++) {
        uint32_t mask = 0, image = 0;
        for (int i = 0; i < nbits; i++)
            if (i + shift >= 0 && i + shift < 32 && basis[i] >> (i + shift) & 1) {
                mask |= UINT32_C(1) << i;
                image |= UINT32_C(1) << (i + shift);
            }
        if (!mask)
            continue;
        struct opnd term = emit_shifted(s, nbits, mask, shift);
        if (seen)
            term = emit2(s, form0(seen & image ? INSN_xor : INSN_or, PT_b32), sum, term);
        sum = term;
        seen |= image;
    }
    return sum;
}

struct opnd emit_is_owner(struct select *s, const struct layout *l)
{
    uint32_t free_bits = layout_free_bits(l, IN_lane) | layout_free_bits(l, IN_warp) << LANE_BITS;
    uint32_t all = 32 * (uint32_t)s->f->num_warps - 1;
    if (!free_bits)
        return (struct opnd){.kind = OPND_none};
    struct opnd bits = s->thread;
    if (free_bits != all)
        bits = emit2(s, form0(INSN_and, PT_b32), bits, opnd_int(CLASS_b32, free_bits));
    return emit2(s, form1(INSN_setp, PT_s32, MOD_eq), bits, opnd_int(CLASS_b32, 0));
}

struct opnd pred_and(struct select *s, struct opnd x, struct opnd y)
{
    if (x.kind == OPND_none || (x.kind == OPND_imm && x.i))
        return y;
    if (y.kind == OPND_none || (y.kind == OPND_imm && y.i))
        return x;
    return emit2(s, form0(INSN_and, PT_pred), x, y);
}

/* -- tiles -- */

struct opnd *tile_of(struct select *s, const struct value *v)
{
    if (!v->scratch)
        diag_bug(s->diag, s->op ? s->op->loc : s->f->loc, "%%%s is used before its definition", v->name);
    return v->scratch;
}

struct opnd *tile_new(struct select *s, struct value *v)
{
    struct opnd *x = NEW_ARRAY(s->m->arena, tile_nregs(v->type), struct opnd);
    v->scratch = x;
    return x;
}

const struct layout *tile_layout(const struct select *s, const struct type *t, struct layout *scalar)
{
    if (t->kind == TY_tile)
        return t->layout;
    layout_init(scalar, 0, NULL);
    for (int i = 0; i < LANE_BITS; i++)
        layout_add(scalar, IN_lane, 0);
    for (int i = 1; i < s->f->num_warps; i *= 2)
        layout_add(scalar, IN_warp, 0);
    return scalar;
}

enum dtype elem_dtype(const struct type *t)
{
    const struct type *e = type_elem(t);
    return e->kind == TY_ptr ? DT_i64 : e->dtype;
}

static const struct {
    uint8_t bits, as_signed, as_unsigned, own; /* own: the float type itself */
} ptypes[DT_count] = {
    [DT_i1] = {PT_pred, PT_pred, PT_pred, PT_pred},  [DT_i8] = {PT_b16, PT_s16, PT_u16, PT_b16},
    [DT_i16] = {PT_b16, PT_s16, PT_u16, PT_b16},     [DT_i32] = {PT_b32, PT_s32, PT_u32, PT_b32},
    [DT_i64] = {PT_b64, PT_s64, PT_u64, PT_b64},     [DT_f8e4] = {PT_b16, PT_b16, PT_b16, PT_b16},
    [DT_f8e5] = {PT_b16, PT_b16, PT_b16, PT_b16},    [DT_f16] = {PT_b16, PT_f16, PT_f16, PT_f16},
    [DT_bf16] = {PT_b16, PT_bf16, PT_bf16, PT_bf16}, [DT_f32] = {PT_f32, PT_f32, PT_f32, PT_f32},
    [DT_f64] = {PT_f64, PT_f64, PT_f64, PT_f64},
};

enum ptype dtype_ptype(enum dtype dt, enum reading r)
{
    return r == READ_bits     ? ptypes[dt].bits
           : r == READ_signed ? ptypes[dt].as_signed
                              : ptypes[dt].as_unsigned;
}

enum reg_class dtype_class(enum dtype dt)
{
    return ptype_info[ptypes[dt].bits].cls;
}

/* -- elementwise -- */

typedef struct opnd select_elem(struct select *s, const struct op *o, const struct opnd *x);

static void select_elementwise(struct select *s, const struct op *o, select_elem *elem)
{
    enum { OPNDS_MOST = 3 };
    struct value *r = op_result(o);
    const struct opnd *tiles[OPNDS_MOST];
    for (int i = 0; i < o->nopnds; i++)
        tiles[i] = tile_of(s, op_opnd(o, i));
    struct opnd last[OPNDS_MOST], *result = tile_new(s, r);
    int group = o->code == OP_cmp || o->code == OP_divs ? (int)op_int(o, ATTR_same) : 1;
    for (int k = 0; k < tile_nregs(r->type); k++) {
        if (k % group) {
            result[k] = result[k - 1];
            continue;
        }
        struct opnd x[OPNDS_MOST];
        bool same = k > 0; /* the operands equal the operands for the preceding register, as in a splat */
        for (int i = 0; i < o->nopnds; i++) {
            x[i] = tiles[i][k];
            same = same && opnd_same(x[i], last[i]);
            last[i] = x[i];
        }
        result[k] = same ? result[k - 1] : elem(s, o, x);
    }
}

/* -- debug -- */

struct opnd emit_special(struct select *s, int number)
{
    return emit1(s, form0(INSN_mov, PT_u32),
                 (struct opnd){.kind = OPND_special, .cls = CLASS_b32, .n = number});
}

void emit_barrier(struct select *s)
{
    struct opnd x[] = {opnd_int(CLASS_b32, s->role), opnd_int(CLASS_b32, 32 * s->f->num_warps)};
    emit_insn(s, form0(INSN_bar, PT_none), 0, s->role ? 2 : 1, x);
}

/* Emits one barrier for each group of warps; a group has `threads` threads. The numbers of these barriers
 * follow the number of the barrier that emit_barrier uses. Each group has a guarded instruction of its own,
 * whose barrier number is a constant: if the number were in a register, ptxas would reserve all 16
 * barriers. */
static void emit_group_barriers(struct select *s, int threads)
{
    for (int i = 0; i < 32 * s->f->num_warps / threads; i++) {
        struct opnd x[] = {opnd_int(CLASS_b32, s->role + 1 + i), opnd_int(CLASS_b32, threads)};
        struct opnd group = emit2(s, form0(INSN_and, PT_b32), s->leader, opnd_int(CLASS_b32, -threads));
        struct opnd mine =
            emit2(s, form1(INSN_setp, PT_s32, MOD_eq), group, opnd_int(CLASS_b32, i * threads));
        emit_insn(s, form0(INSN_bar, PT_none), 0, 2, x)->guard = mine.n;
    }
}

static void select_barrier(struct select *s, const struct op *o)
{
    if (op_attr(o, ATTR_group))
        emit_group_barriers(s, 32 * (int)op_int(o, ATTR_group));
    else
        emit_barrier(s);
}

static void select_assert(struct select *s, const struct op *o)
{
    const struct value *v = op_opnd(o, 0), *mask = op_opnd(o, 1);
    const struct opnd *c = tile_of(s, v), *on = mask ? tile_of(s, mask) : NULL;
    struct opnd holds = {0};
    for (int i = 0; i < tile_nregs(v->type); i++) {
        struct opnd fails = pred_not(s, c[i]);
        holds = pred_and(s, holds, on ? pred_not(s, pred_and(s, fails, on[i])) : c[i]);
    }
    select_failure(s, o, holds);
}

void select_debug(struct select *s, const struct op *o)
{
    switch ((enum debug_op)o->code) {
    case DEBUG_OP_print: select_print(s, o); break;
    case DEBUG_OP_assert: select_assert(s, o); break;
    case DEBUG_OP_barrier: select_barrier(s, o); break;
    case DEBUG_OP_asm:
    case DEBUG_OP_asm_effect: select_asm(s, o); break;
    case DEBUG_OP_host_call: select_unsupported(s, "a call of plain Python");
    }
}

/* -- ops -- */

void select_unsupported(struct select *s, const char *what)
{
    diag_fatal(s->diag, s->op->loc, ERR_codegen_unsupported, what, s->target->name);
}

static void select_op(struct select *s, const struct op *o)
{
    s->op = o;
    switch (op_info[o->code].family) {
    case FAMILY_create: select_create(s, o); break;
    case FAMILY_arith: select_elementwise(s, o, select_arith); break;
    case FAMILY_math: select_elementwise(s, o, select_math); break;
    case FAMILY_cast: select_elementwise(s, o, select_cast); break;
    case FAMILY_shape: select_shape(s, o); break;
    case FAMILY_memory: select_memory(s, o); break;
    case FAMILY_reduce: select_reduce(s, o); break;
    case FAMILY_layout: select_layout(s, o); break;
    case FAMILY_control: select_control(s, o); break;
    case FAMILY_debug: select_debug(s, o); break;
    case FAMILY_dot: select_dot(s, o); break;
    case FAMILY_async: select_async(s, o); break;
    case FAMILY_count: break;
    }
}

static void select_block(struct select *s, struct block *b)
{
    for (const struct op *o = b->first; o; o = o->next)
        select_op(s, o);
}

const struct op *select_inline(struct select *s, struct block *b)
{
    select_block(s, b);
    return block_terminator(b);
}

/* -- the kernel -- */

struct opnd tensor_map_address(struct select *s, int map)
{
    struct opnd place = {
        .kind = OPND_place, .cls = CLASS_b64, .n = s->f->params.n + (s->f->persistent ? 3 : 0) + map};
    return emit1(s, form1(INSN_cvta, PT_u64, MOD_param), emit1(s, form0(INSN_mov, PT_b64), place));
}

/* Loads a kernel parameter. An i1 is passed as a byte. */
static struct opnd load_param(struct select *s, const struct type *t, int index)
{
    enum dtype dt = elem_dtype(t);
    struct opnd at = {.kind = OPND_param, .n = index};
    enum ptype type = dt == DT_i1 || dtype_info[dt].bits == 8 ? PT_u8 : dtype_ptype(dt, READ_unsigned);
    if (type == PT_f16 || type == PT_bf16)
        type = PT_b16;
    struct opnd x = emit1(s, form0(INSN_ld_param, type), at);
    return dt == DT_i1 ? emit2(s, form1(INSN_setp, PT_s16, MOD_ne), x, opnd_int(CLASS_b16, 0)) : x;
}

static void select_params(struct select *s, struct ptx_info *info)
{
    int offset = 0;
    for (int i = 0; i < s->f->body->args.n; i++) {
        struct value *v = s->f->body->args.at[i];
        int bytes = v->type->kind == TY_ptr ? 8 : dtype_info[v->type->dtype].bytes;
        offset = (offset + bytes - 1) / bytes * bytes;
        struct ptx_param p = {s->f->params.at[i].name, v->type, offset, bytes};
        VEC_PUSH(s->f->module->arena, &info->params, p);
        offset += bytes;
        tile_new(s, v)[0] = load_param(s, v->type, i);
    }
    info->maps = s->f->maps.at;
    info->nmaps = s->f->maps.n;
    info->guards = s->f->guards.at;
    info->nguards = s->f->guards.n;
}

struct mir *select_func(struct func *f, struct arena *a, struct ptx_info *info)
{
    struct select s = {
        .m = mir_new(f, a), .f = f, .target = f->target, .diag = f->module->diag, .info = info};
    map_init(&s.words, a);
    block_clear_notes(f->body);
    s.b = mir_block(s.m, -1, 0);
    select_params(&s, info);
    s.thread = emit_special(&s, SPECIAL_tid);
    s.zero = emit_special(&s, SPECIAL_tid_y);
    if (f->packs)
        s.thread = emit2(&s, form0(INSN_and, PT_b32), s.thread, opnd_int(CLASS_b32, 31));
    s.leader = shuffle(&s, MOD_idx, s.thread, opnd_int(CLASS_b32, 0));
    select_block(&s, f->body);
    block_clear_notes(f->body);
    return s.m;
}
