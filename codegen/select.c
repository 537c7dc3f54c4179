/* select.c: from tile ops to instructions.
 *
 *     %y = add %x, %x : tile<512xf32,#l>     =>     add.rn.f32 %f5, %f1, %f1;   one per register of #l
 *                                                   add.rn.f32 %f6, %f2, %f2; ...
 *
 * One op at a time, over its registers, as plainly as possible: equal, foldable and dead instructions are the peephole's
 * business. Nothing is decided here about where data is: layouts, vector widths, buffers and barriers stand in the IR.
 */
#include "codegen/select.h"

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
        all[1 + i] = form_takes_imm(form) ? x[i] : in_reg(s, x[i]);
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

/* The thread's bits in `mask` moved up by `shift` (down if negative); nbits is how many bits it has. */
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
    uint32_t all = (uint32_t)s->m->nthreads - 1;
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

int tile_nregs(const struct type *t)
{
    return t->kind == TY_tile ? 1 << t->layout->nbits[IN_reg] : 1;
}

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

/* Registers of their own, which may be written several times. */
static struct opnd *tile_variable(struct select *s, const struct type *t)
{
    int n = tile_nregs(t);
    struct opnd *x = NEW_ARRAY(s->m->arena, n, struct opnd);
    for (int i = 0; i < n; i++)
        x[i] = mir_reg(s->m, dtype_class(elem_dtype(t)));
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
    uint8_t bits, as_signed, as_unsigned, own; /* own: as a float */
} ptypes[DT_count] = {
    [DT_i1] = {PT_pred, PT_pred, PT_pred, PT_pred}, [DT_i8] = {PT_b16, PT_s16, PT_u16, PT_b16},
    [DT_i16] = {PT_b16, PT_s16, PT_u16, PT_b16},    [DT_i32] = {PT_b32, PT_s32, PT_u32, PT_b32},
    [DT_i64] = {PT_b64, PT_s64, PT_u64, PT_b64},    [DT_f8e4] = {PT_b16, PT_b16, PT_b16, PT_b16},
    [DT_f8e5] = {PT_b16, PT_b16, PT_b16, PT_b16},   [DT_f16] = {PT_b16, PT_f16, PT_f16, PT_f16},
    [DT_bf16] = {PT_b16, PT_bf16, PT_bf16, PT_bf16}, [DT_f32] = {PT_f32, PT_f32, PT_f32, PT_f32},
    [DT_f64] = {PT_f64, PT_f64, PT_f64, PT_f64},
};

enum ptype dtype_ptype(enum dtype dt, enum reading r)
{
    return r == READ_bits ? ptypes[dt].bits : r == READ_signed ? ptypes[dt].as_signed : ptypes[dt].as_unsigned;
}

enum reg_class dtype_class(enum dtype dt)
{
    return ptype_info[ptypes[dt].bits].cls;
}

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
    struct opnd d = mir_reg(s->m, CLASS_b32);
    struct opnd special = {.kind = OPND_special, .cls = CLASS_b32, .n = (int)first + (int)op_int(o, ATTR_axis)};
    emit_insn(s, form0(INSN_mov, PT_u32), 1, 2, (struct opnd[]){d, special});
    tile_new(s, op_result(o))[0] = d;
}

static uint32_t reg_part(const struct layout *l, int reg)
{
    return layout_apply(l, (uint32_t)reg, 0, 0, 0);
}

/* The vectors of the thread's bits, lanes then warps. */
static int thread_basis(const struct layout *l, uint32_t *basis)
{
    int n = 0;
    for (int i = 0; i < l->nbits[IN_lane]; i++)
        basis[n++] = layout_basis(l, IN_lane, i);
    for (int i = 0; i < l->nbits[IN_warp]; i++)
        basis[n++] = layout_basis(l, IN_warp, i);
    return n;
}

/* start + (thread's part XOR register's part); the XOR is a sum where their bits are apart, as in blocked layouts. */
static void select_range(struct select *s, const struct op *o)
{
    struct value *r = op_result(o);
    const struct layout *l = r->type->layout;
    uint32_t basis[LAYOUT_BITS_MAX], thread_bits = 0;
    int nbits = thread_basis(l, basis);
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

void select_create(struct select *s, const struct op *o)
{
    switch (o->code) {
    case OP_const:        select_const(s, o); break;
    case OP_program_id:   select_special(s, o, SPECIAL_ctaid_x); break;
    case OP_num_programs: select_special(s, o, SPECIAL_nctaid_x); break;
    case OP_range:        select_range(s, o); break;
    case OP_splat: {
        struct value *r = op_result(o);
        struct opnd x = tile_of(s, op_opnd(o, 0))[0], *tile = tile_new(s, r);
        for (int i = 0; i < tile_nregs(r->type); i++)
            tile[i] = x;
        break;
    }
    default: diag_bug(s->diag, o->loc, "no instructions for '%s'", op_info[o->code].name);
    }
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
    for (int k = 0; k < tile_nregs(r->type); k++) {
        struct opnd x[OPNDS_MOST];
        bool same = k > 0; /* as the element before: splats */
        for (int i = 0; i < o->nopnds; i++) {
            x[i] = tiles[i][k];
            same = same && opnd_same(x[i], last[i]);
            last[i] = x[i];
        }
        result[k] = same ? result[k - 1] : elem(s, o, x);
    }
}

/* -- shapes: the same elements, found in the operand's registers -- */

/* The operand's register that holds what register i of the result holds, given the coordinate that it has there; most
 * often it is register i as well. */
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

/* A coordinate of the broadcast tile in the operand: dimensions that were 1 have no bits there. */
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

/* The last dimension, whose bit is the coordinate's lowest, chooses between x and y. */
static void select_join(struct select *s, const struct op *o)
{
    struct value *r = op_result(o);
    const struct layout *to = r->type->layout;
    struct layout scalar;
    const struct layout *from = tile_layout(s, op_opnd(o, 0)->type, &scalar);
    struct opnd *tile = tile_new(s, r);
    for (int i = 0; i < tile_nregs(r->type); i++) {
        uint32_t coord = reg_part(to, i);
        tile[i] = tile_of(s, op_opnd(o, (int)(coord & 1)))[reg_at(s, from, coord >> 1, i)];
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
    switch (o->code) {
    case OP_broadcast: select_broadcast(s, o); break;
    case OP_join:      select_join(s, o); break;
    case OP_split:     select_split(s, o); break;
    case OP_gather:    select_unsupported(s, "gather");
    default:           op_result(o)->scratch = tile_of(s, op_opnd(o, 0)); /* the same registers */
    }
}

/* -- control -- */

/* What v is here: a copy of a variable, so that nothing after sees the variable change. The copies of those that do not
 * outlive the change are dropped when registers are allocated. */
static void set_copy(struct select *s, struct value *v, const struct opnd *variable)
{
    struct opnd *copy = tile_new(s, v);
    for (int i = 0; i < tile_nregs(v->type); i++) {
        copy[i] = mir_reg(s->m, variable[i].cls);
        emit_mov(s, copy[i], variable[i]);
    }
}

/* Moves the values that a terminator passes on (from operand `first`) into variables. */
static void pass_on(struct select *s, const struct op *o, int first, int n, struct opnd *const *variables)
{
    int nregs = 0;
    for (int i = 0; i < n; i++)
        nregs += tile_nregs(op_opnd(o, first + i)->type);
    struct opnd *to = NEW_ARRAY(s->m->arena, nregs ? nregs : 1, struct opnd);
    struct opnd *from = NEW_ARRAY(s->m->arena, nregs ? nregs : 1, struct opnd);
    for (int i = 0, at = 0; i < n; i++) {
        const struct opnd *x = tile_of(s, op_opnd(o, first + i));
        for (int k = 0; k < tile_nregs(op_opnd(o, first + i)->type); k++, at++) {
            to[at] = variables[i][k];
            from[at] = x[k];
        }
    }
    emit_moves(s, nregs, to, from);
}

static struct opnd **new_variables(struct select *s, int n, struct value *const *like)
{
    struct opnd **v = NEW_ARRAY(s->m->arena, n ? n : 1, struct opnd *);
    for (int i = 0; i < n; i++)
        v[i] = tile_variable(s, like[i]->type);
    return v;
}

struct insn *emit_jump(struct select *s, struct opnd when, bool negated)
{
    struct opnd label = {.kind = OPND_label};
    struct insn *in = emit_insn(s, form0(INSN_bra, PT_none), 0, 1, &label);
    if (when.kind == OPND_reg) {
        in->guard = when.n;
        in->guard_not = negated;
    }
    return in;
}

void jump_to(struct insn *jump, const struct mblock *b)
{
    jump->opnds[0].n = b->index;
}

static bool const_below(const struct value *lo, const struct value *hi)
{
    int64_t l, h;
    return value_const_int(lo, &l) && value_const_int(hi, &h) && l < h;
}

/*      i = lo, carried = init             The test stands at the end, so that one jump a turn is enough;
 *      if (!(i < hi)) goto exit           the one in front goes where the bounds are constants.
 *  body:
 *      ...; carried = yielded; i += step
 *      if (i < hi) goto body
 *  exit:
 */
static void select_for(struct select *s, const struct op *o)
{
    struct block *region = o->regions[0];
    int ncarried = region->args.n - 1;
    struct opnd **carried = new_variables(s, ncarried, region->args.at + 1);
    struct opnd *i = tile_variable(s, region->args.at[0]->type);
    struct opnd hi = tile_of(s, op_opnd(o, 1))[0], step = tile_of(s, op_opnd(o, 2))[0];
    enum ptype type = dtype_ptype(elem_dtype(region->args.at[0]->type), READ_signed);
    int64_t by;
    bool down = value_const_int(op_opnd(o, 2), &by) && by < 0;

    struct opnd lo = tile_of(s, op_opnd(o, 0))[0];
    emit_moves(s, 1, i, &lo);
    pass_on(s, o, 3, ncarried, carried);
    struct insn *skip = NULL;
    struct value *first = op_opnd(o, 0), *last = op_opnd(o, 1);
    if (!(down ? const_below(last, first) : const_below(first, last)))
        skip = emit_jump(s, emit2(s, form1(INSN_setp, type, down ? MOD_le : MOD_ge), lo, hi), false);

    struct mblock *before = s->b;
    struct mblock *body = s->b = mir_block(s->m, before->index, before->depth + 1);
    set_copy(s, region->args.at[0], i);
    for (int k = 0; k < ncarried; k++)
        set_copy(s, region->args.at[1 + k], carried[k]);
    const struct op *yield = select_inline(s, region);
    s->op = o;
    pass_on(s, yield, 0, ncarried, carried);
    emit_insn(s, form0(INSN_add, type), 1, 3, (struct opnd[]){i[0], i[0], step});
    struct opnd more = emit2(s, form1(INSN_setp, type, down ? MOD_gt : MOD_lt), i[0], hi);
    jump_to(emit_jump(s, more, false), body);

    s->b = mir_block(s->m, skip ? before->index : s->b->index, before->depth);
    if (skip)
        jump_to(skip, s->b);
    for (int k = 0; k < ncarried; k++)
        set_copy(s, &o->results[k], carried[k]);
}

static void select_while(struct select *s, const struct op *o)
{
    struct block *test = o->regions[0], *region = o->regions[1];
    struct opnd **carried = new_variables(s, test->args.n, test->args.at);
    pass_on(s, o, 0, test->args.n, carried);
    struct mblock *before = s->b;
    struct mblock *head = s->b = mir_block(s->m, before->index, before->depth + 1);
    for (int k = 0; k < test->args.n; k++)
        set_copy(s, test->args.at[k], carried[k]);
    const struct op *condition = select_inline(s, test);
    struct opnd go_on = in_reg(s, tile_of(s, op_opnd(condition, 0))[0]);
    struct insn *leave = emit_jump(s, go_on, true);
    int test_end = s->b->index;

    for (int k = 0; k < region->args.n; k++)
        region->args.at[k]->scratch = tile_of(s, op_opnd(condition, 1 + k));
    s->b = mir_block(s->m, test_end, head->depth);
    const struct op *yield = select_inline(s, region);
    pass_on(s, yield, 0, test->args.n, carried);
    jump_to(emit_jump(s, (struct opnd){.kind = OPND_none}, false), head);

    s->b = mir_block(s->m, test_end, before->depth);
    jump_to(leave, s->b);
    for (int k = 0; k < o->nresults; k++)
        o->results[k].scratch = tile_of(s, op_opnd(condition, 1 + k));
}

/* One arm of an `if`; returns its first block. */
static struct mblock *select_arm(struct select *s, struct block *region, const struct mblock *from,
                                 struct opnd *const *results)
{
    struct mblock *first = s->b = mir_block(s->m, from->index, from->depth);
    const struct op *end = select_inline(s, region);
    if (end->code == OP_yield)
        pass_on(s, end, 0, end->nopnds, results);
    return first;
}

static bool is_empty_arm(const struct block *b)
{
    return b->first->code == OP_yield && b->first->nopnds == 0;
}

/* Where one arm is a mere return: the threads are done, the rest goes on with the other arm. */
static bool select_exit(struct select *s, const struct op *o)
{
    for (int arm = 0; arm < 2; arm++) {
        if (o->regions[arm]->first->code != OP_return)
            continue;
        struct opnd c = in_reg(s, tile_of(s, op_opnd(o, 0))[0]);
        struct insn *exit = emit_insn(s, form0(INSN_ret, PT_none), 0, 0, NULL);
        exit->guard = c.n;
        exit->guard_not = arm == 1;
        s->b = mir_block(s->m, s->b->index, s->b->depth);
        const struct op *end = select_inline(s, o->regions[!arm]);
        for (int i = 0; i < o->nresults && end->code == OP_yield; i++)
            o->results[i].scratch = tile_of(s, op_opnd(end, i));
        return true;
    }
    return false;
}

static void select_if(struct select *s, const struct op *o)
{
    if (select_exit(s, o))
        return;
    struct value **like = NEW_ARRAY(s->m->arena, o->nresults + 1, struct value *);
    for (int i = 0; i < o->nresults; i++)
        like[i] = &o->results[i];
    struct opnd **results = new_variables(s, o->nresults, like);
    struct opnd c = in_reg(s, tile_of(s, op_opnd(o, 0))[0]);
    struct mblock *before = s->b;
    struct insn *to_else = emit_jump(s, c, true), *to_join = NULL;
    select_arm(s, o->regions[0], before, results);
    bool has_else = !is_empty_arm(o->regions[1]);
    if (has_else) {
        if (block_terminator(o->regions[0])->code == OP_yield)
            to_join = emit_jump(s, (struct opnd){.kind = OPND_none}, false);
        jump_to(to_else, select_arm(s, o->regions[1], before, results));
    }
    s->op = o;
    s->b = mir_block(s->m, before->index, before->depth);
    if (!has_else)
        jump_to(to_else, s->b);
    if (to_join)
        jump_to(to_join, s->b);
    for (int i = 0; i < o->nresults; i++)
        set_copy(s, &o->results[i], results[i]);
}

void select_control(struct select *s, const struct op *o)
{
    switch (o->code) {
    case OP_for:    select_for(s, o); break;
    case OP_while:  select_while(s, o); break;
    case OP_if:     select_if(s, o); break;
    case OP_return: emit_insn(s, form0(INSN_ret, PT_none), 0, 0, NULL); break;
    default:        break; /* yield, condition: their parent looks at them */
    }
}

/* -- debug -- */

void select_debug(struct select *s, const struct op *o)
{
    if (o->code == OP_barrier) {
        emit_insn(s, form0(INSN_bar, PT_none), 0, 1, (struct opnd[]){opnd_int(CLASS_b32, 0)});
        return;
    }
    if (o->code == OP_print)
        select_unsupported(s, "device_print");
    const struct value *v = op_opnd(o, 0), *mask = op_opnd(o, 1);
    const struct opnd *c = tile_of(s, v), *on = mask ? tile_of(s, mask) : NULL;
    for (int i = 0; i < tile_nregs(v->type); i++) {
        struct opnd fails = pred_not(s, c[i]);
        if (on)
            fails = pred_and(s, fails, on[i]);
        emit_insn(s, form0(INSN_trap, PT_none), 0, 0, NULL)->guard = in_reg(s, fails).n;
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
    case FAMILY_create:  select_create(s, o); break;
    case FAMILY_arith:   select_elementwise(s, o, select_arith); break;
    case FAMILY_math:    select_elementwise(s, o, select_math); break;
    case FAMILY_cast:    select_elementwise(s, o, select_cast); break;
    case FAMILY_shape:   select_shape(s, o); break;
    case FAMILY_memory:  select_memory(s, o); break;
    case FAMILY_reduce:  select_reduce(s, o); break;
    case FAMILY_layout:  select_layout(s, o); break;
    case FAMILY_control: select_control(s, o); break;
    case FAMILY_debug:   select_debug(s, o); break;
    case FAMILY_dot:     select_unsupported(s, "dot");
    case FAMILY_count:   break;
    }
}

void select_block(struct select *s, struct block *b)
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

/* How a parameter arrives: pointers and integers by value, i1 as a byte. */
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
}

static void forget_block(struct block *b)
{
    for (int i = 0; i < b->args.n; i++)
        b->args.at[i]->scratch = NULL;
    for (const struct op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->nresults; i++)
            o->results[i].scratch = NULL;
        for (int i = 0; i < o->nregions; i++)
            forget_block(o->regions[i]);
    }
}

struct mir *select_func(struct func *f, struct arena *a, struct ptx_info *info)
{
    struct select s = {.m = mir_new(f, a), .f = f, .target = f->target, .diag = f->module->diag};
    forget_block(f->body);
    s.b = mir_block(s.m, -1, 0);
    select_params(&s, info);
    s.thread = mir_reg(s.m, CLASS_b32);
    struct opnd tid = {.kind = OPND_special, .cls = CLASS_b32, .n = SPECIAL_tid};
    emit_insn(&s, form0(INSN_mov, PT_u32), 1, 2, (struct opnd[]){s.thread, tid});
    select_block(&s, f->body);
    forget_block(f->body);
    return s.m;
}
