/* SPDX-License-Identifier: MIT */
/* dot.c: selects dots as mma instructions of the tensor cores, or as fused multiply-adds.
 *
 *     %d = dot %a, %b, %c     =>     mma.sync.aligned.m16n8k16... {%f1..%f4}, {%r1..%r4}, {%r5, %r6}, {%f5..%f8};
 *                                    for each 16 x 8 part of the warp's accumulator, and each 16 along K
 *
 * The layouts say which register holds which element. The accumulator and the operands distribute rows (M)
 * and columns (N) over the threads in the same way. So selection finds the registers that an instruction
 * combines by looking at the first thread; they also belong together in all other threads. Selection moves no
 * data, because assign_layouts has given the operands the layouts that the instruction needs. */
#include "codegen/select/dot.h"

#include "ir/families.h"

#include <string.h>

struct matrix matrix_of(struct select *s, const struct value *v)
{
    struct matrix a = {.l = v->type->layout, .n = tile_nregs(v->type)};
    for (int i = 0; i < a.l->nbits[IN_reg]; i++)
        span_add(&a.regs, layout_basis(a.l, IN_reg, i), UINT64_C(1) << i);
    a.x = NEW_ARRAY(s->m->arena, a.n, struct opnd);
    memcpy(a.x, tile_of(s, v), (size_t)a.n * sizeof *a.x);
    return a;
}

struct spot matrix_spot(const struct matrix *acc, int reg)
{
    int index[RANK_MAX], rank = acc->l->rank;
    layout_split_coord(acc->l, layout_apply(acc->l, (uint32_t)reg, 0, 0, 0), index);
    return (struct spot){.batch = rank > 2 ? index[0] : 0, .m = index[rank - 2], .n = index[rank - 1]};
}

/* Returns the register in which the first thread holds the element of operand `role` at position `at`. */
static int matrix_reg(struct select *s, const struct matrix *a, enum dot_role role, struct spot at)
{
    int row = role == DOT_a ? at.m : at.k, column = role == DOT_a ? at.k : at.n, rank = a->l->rank;
    int row_bits = a->l->dim_bits[rank - 2], column_bits = a->l->dim_bits[rank - 1];
    uint32_t coord =
        (uint32_t)at.batch << (row_bits + column_bits) | (uint32_t)row << column_bits | (uint32_t)column;
    uint64_t reg = 0;
    if (span_reduce(&a->regs, coord ^ a->l->flip, &reg))
        diag_bug(s->diag, s->op->loc, "a thread has no part of operand %d that its part of the dot needs",
                 (int)role);
    return (int)reg;
}

/* -- 16-bit accumulators, which are summed in f32 -- */

static void widen_all(struct select *s, struct matrix *a, enum dtype dt)
{
    for (int i = 0; i < a->n; i++)
        a->x[i] = widen_to_f32(s, dt, a->x[i]);
}

static void give_result(struct select *s, const struct op *o, const struct matrix *acc, bool narrow)
{
    struct value *r = op_result(o);
    struct opnd *tile = tile_new(s, r);
    for (int i = 0; i < acc->n; i++)
        tile[i] = narrow ? narrow_from_f32(s, elem_dtype(r->type), acc->x[i], ROUND_rn) : acc->x[i];
}

/* -- tensor cores -- */

enum insn_code insn_named(const char *name)
{
    for (int i = 0; i < INSN_count; i++)
        if (strcmp(insn_info[i].name, name) == 0)
            return (enum insn_code)i;
    return INSN_count;
}

void matrix_pack(struct select *s, struct matrix *a, const struct fragment *g)
{
    struct word_shape word = word_shape(g->dtype, g->word_elems);
    for (int i = 0; i < a->n; i += g->word_elems) {
        struct opnd x = in_reg(s, join_elems(s, &word, a->x + i));
        if (x.cls != CLASS_b32) {
            struct opnd bits = mir_reg(s->m, CLASS_b32);
            emit_mov(s, bits, x);
            x = bits;
        }
        a->x[i / g->word_elems] = x;
    }
}

int matrix_words(struct select *s, const struct fragment *g, const struct matrix *a, enum dot_role role,
                 struct spot at, struct opnd *out)
{
    int first = matrix_reg(s, a, role, at) / g->word_elems, n = (1 << g->part[role].nregs) / g->word_elems;
    for (int i = 0; i < n; i++)
        out[i] = a->x[first + i];
    return n;
}

static void emit_mma(struct select *s, const struct fragment *g, enum insn_code code, const struct matrix *a,
                     const struct matrix *b, struct opnd *acc, struct spot at)
{
    enum { RESULTS = 4, OPNDS_MOST = 14 };
    struct opnd x[OPNDS_MOST];
    int n = RESULTS;
    n += matrix_words(s, g, a, DOT_a, at, x + n);
    n += matrix_words(s, g, b, DOT_b, at, x + n);
    for (int i = 0; i < RESULTS; i++) {
        x[n++] = in_reg(s, acc[i]);
        x[i] = acc[i] = mir_reg(s->m, (enum reg_class)acc[i].cls);
    }
    emit_insn(s, form0(code, PT_none), RESULTS, n, x);
}

/* Returns how many elements along K the tensor core sums before an add.f32 adds this partial sum to the
 * accumulator. This is all of K, unless the operands are fp8 and the kernel sets max_num_imprecise_acc
 * (attribute `limit`) below K. (Some tensor cores round sums of fp8 products to fewer bits.) */
static int part_of_k(const struct op *o, const struct fragment *g)
{
    const struct type *t = op_opnd(o, DOT_a)->type;
    int k = t->shape[t->rank - 1], limit = (int)op_int(o, ATTR_limit);
    bool rounds = type_is_float(t) && type_elem_bits(t) == 8;
    if (!rounds || limit <= 0 || limit >= k)
        return k;
    int part = g->k;
    while (part * 2 <= limit)
        part *= 2;
    return part;
}

static void select_mma(struct select *s, const struct op *o, const struct fragment *g)
{
    enum dtype sum = elem_dtype(op_result(o)->type);
    struct matrix a = matrix_of(s, op_opnd(o, DOT_a)), b = matrix_of(s, op_opnd(o, DOT_b)),
                  acc = matrix_of(s, op_opnd(o, DOT_acc));
    bool narrow = sum == DT_f16;
    if (narrow)
        widen_all(s, &acc, sum);
    matrix_pack(s, &a, g);
    matrix_pack(s, &b, g);
    enum insn_code code = insn_named(g->name);
    const struct type *t = op_opnd(o, DOT_a)->type;
    int part = part_of_k(o, g), nk = t->shape[t->rank - 1];
    struct opnd *sums = part < nk ? NEW_ARRAY(s->m->arena, acc.n, struct opnd) : acc.x;
    for (int k = 0; k < nk; k += g->k) {
        for (int i = 0; part < nk && k % part == 0 && i < acc.n; i++)
            sums[i] = opnd_int(CLASS_f32, 0);
        for (int i = 0; i < acc.n; i += 1 << g->part[DOT_acc].nregs) {
            struct spot at = matrix_spot(&acc, i);
            at.k = k;
            emit_mma(s, g, code, &a, &b, sums + i, at);
        }
        for (int i = 0; part < nk && (k + g->k) % part == 0 && i < acc.n; i++)
            acc.x[i] = emit2(s, form1(INSN_add, PT_f32, MOD_rn), acc.x[i], sums[i]);
    }
    give_result(s, o, &acc, narrow);
}

/* -- multiply-adds -- */

static void sign_extend_all(struct select *s, struct matrix *a)
{
    for (int i = 0; i < a->n; i++)
        a->x[i] = emit1(s, form_cvt(PT_s32, PT_s16, MOD_none), extend_i8(s, DT_i8, a->x[i], true));
}

static void select_multiply_adds(struct select *s, const struct op *o)
{
    enum dtype sum = elem_dtype(op_result(o)->type), from = elem_dtype(op_opnd(o, DOT_a)->type);
    struct matrix m[DOT_count];
    for (int i = 0; i < DOT_count; i++)
        m[i] = matrix_of(s, op_opnd(o, i));
    bool is_int = dtype_info[sum].kind == DTYPE_int, narrow = sum == DT_f16;
    for (int i = DOT_a; i <= DOT_b; i++)
        if (is_int)
            sign_extend_all(s, &m[i]);
        else if (dtype_info[from].bits < 32)
            widen_all(s, &m[i], elem_dtype(op_opnd(o, i)->type));
    if (narrow)
        widen_all(s, &m[DOT_acc], sum);
    struct form form =
        is_int ? form0(INSN_mad_lo, PT_s32) : form1(INSN_fma, sum == DT_f64 ? PT_f64 : PT_f32, MOD_rn);
    const struct type *t = op_opnd(o, DOT_a)->type;
    for (int k = 0; k < t->shape[t->rank - 1]; k++)
        for (int i = 0; i < m[DOT_acc].n; i++) {
            struct spot at = matrix_spot(&m[DOT_acc], i);
            at.k = k;
            struct opnd x = m[DOT_a].x[matrix_reg(s, &m[DOT_a], DOT_a, at)],
                        y = m[DOT_b].x[matrix_reg(s, &m[DOT_b], DOT_b, at)];
            m[DOT_acc].x[i] = emit3(s, form, x, y, m[DOT_acc].x[i]);
        }
    give_result(s, o, &m[DOT_acc], narrow);
}

/* -- the op -- */

static void select_product(struct select *s, const struct op *o)
{
    const struct fragment *g = fragment_for(o);
    for (int i = 0; g && i < DOT_count; i++)
        if (!fragment_matches(g, (enum dot_role)i, op_opnd(o, i)->type->layout))
            g = NULL;
    if (g)
        select_mma(s, o, g);
    else
        select_multiply_adds(s, o);
}

void select_dot(struct select *s, const struct op *o)
{
    switch ((enum dot_op)o->code) {
    case DOT_OP_dot: select_product(s, o); break;
    }
}
