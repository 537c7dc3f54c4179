/* SPDX-License-Identifier: MIT */
/* wgmma.c: selects asynchronous dots of warpgroups (wgmma) and the waits for them.
 *
 *     %d = mma_start %a, %b, %c   =>   wgmma.fence.sync.aligned;
 *                                      wgmma.mma_async.sync.aligned.m64n256k16... {%f1..%f128}, %rd1, %rd2, 1, 1, 1, 0, 1;
 *                                      for each 64 rows of the warpgroup, 256 columns and 16 elements of K
 *                                      wgmma.commit_group.sync.aligned;
 *     %e = mma_wait %d            =>   wgmma.wait_group.sync.aligned 0;
 *
 * Selection copies the accumulator before the fence. Register allocation drops this copy, so that the
 * accumulator stays in its registers, unless the old value of the accumulator is used later. If the
 * accumulator is known to be zero, the first wgmma does not read it. A 64-bit descriptor contains the address
 * and layout of the warpgroup's part of a buffer (wgmma_view). The descriptors for the other wgmmas of the
 * dot are the descriptor for the first wgmma plus a constant. The warp's number comes from a shuffle that
 * reads the first lane. ptxas then knows that the number is equal in all lanes, and keeps descriptors in
 * uniform registers. */
#include "codegen/select/dot.h"

#include "ir/target/wgmma.h"

#include <string.h>

/* A descriptor holds an address of 18 bits in units of 16 (2^UNIT_BITS) bytes. (Higher address bits select
 * another CTA of the cluster.) A warpgroup has four (2^GROUP_BITS) warps. */
enum { UNIT_BITS = 4, ADDRESS_BITS = 18, GROUP_BITS = 2, OPNDS_MOST = 9 };

/* An operand in shared memory, as the wgmmas of a warpgroup address it. */
struct operand {
    struct wgmma_view view;
    struct opnd first; /* the descriptor for the first wgmma */
};

/* Returns the offset in bytes of this warpgroup's part of operand `dim` (0 or 1). Warpgroups divide dimension
 * `dim` of this operand as they divide dimension `dim` of the accumulator, which has layout `acc`. */
static struct opnd warpgroup_start(struct select *s, const struct layout *acc, const struct wgmma_view *v,
                                   int dim)
{
    uint32_t basis[LAYOUT_BITS_MAX] = {0};
    int nbits = acc->nbits[IN_lane] + acc->nbits[IN_warp];
    for (int i = LANE_BITS + GROUP_BITS; i < nbits; i++) {
        int index[RANK_MAX];
        layout_split_coord(acc, layout_basis(acc, IN_warp, i - LANE_BITS), index);
        basis[i] = wgmma_start(v, (uint32_t)index[dim], 0);
    }
    struct opnd thread = s->thread;
    s->thread = s->leader;
    struct opnd start = emit_thread_map(s, nbits, basis);
    s->thread = thread;
    return start;
}

/* Returns the descriptor of a stage of a buffer. `first` is the descriptor of the buffer's first stage; the
 * two differ only in the address. */
static struct opnd descriptor_of_stage(struct select *s, struct opnd first, const struct value *stage)
{
    const struct type *t = op_opnd(stage->def, 0)->type;
    int64_t skip = type_elems(t) * type_elem_bytes(t) >> UNIT_BITS;
    struct opnd stage_address = in_reg(s, tile_of(s, op_opnd(stage->def, 1))[0]),
                d = mir_reg(s->m, CLASS_b64);
    struct opnd x[] = {d, stage_address, opnd_int(CLASS_b32, skip), first};
    emit_insn(s, form0(INSN_mad_wide, PT_u32), 1, 4, x);
    return d;
}

static struct operand operand_of(struct select *s, const struct op *o, int i, int mn, int k)
{
    int64_t number;
    const struct value *buf = op_opnd(o, i), *stage = NULL;
    if (buf->def && buf->def->code == OP_shared_stage && !value_const_int(op_opnd(buf->def, 1), &number)) {
        stage = buf;
        buf = op_opnd(buf->def, 0);
    }
    struct operand x;
    if (!wgmma_view(&x.view, op_opnd(o, i)->type->layout, type_elem_bytes(buf->type), i, mn, k))
        diag_bug(s->diag, o->loc, "no descriptor tells how operand %d is laid out", i);
    struct place place = buffer_place(s, buf);
    if (place.bytes % x.view.align_bytes)
        diag_bug(s->diag, o->loc, "operand %d begins at %d, inside of a swizzle's pattern", i,
                 (int)place.bytes);
    struct opnd start = warpgroup_start(s, op_result(o)->type->layout, &x.view, i);
    struct opnd at = emit2(s, form0(INSN_add, PT_s32), place.base, opnd_int(CLASS_b32, place.bytes));
    at = emit2(s, form0(INSN_add, PT_s32), at, start);
    at = emit2(s, form0(INSN_and, PT_b32), at, opnd_int(CLASS_b32, (INT64_C(1) << ADDRESS_BITS) - 1));
    at = emit2(s, form0(INSN_shr, PT_u32), at, opnd_int(CLASS_b32, UNIT_BITS));
    at = emit1(s, form_cvt(PT_u64, PT_u32, MOD_none), at);
    x.first = emit2(s, form0(INSN_or, PT_b64), at, opnd_int(CLASS_b64, (int64_t)wgmma_descriptor(&x.view)));
    if (stage)
        x.first = descriptor_of_stage(s, x.first, stage);
    return x;
}

static struct opnd descriptor_at(struct select *s, const struct operand *x, int mn, int k)
{
    int64_t skip = wgmma_start(&x->view, (uint32_t)mn, (uint32_t)k) >> UNIT_BITS;
    return skip ? emit2(s, form0(INSN_add, PT_s64), x->first, opnd_int(CLASS_b64, skip)) : x->first;
}

/* The operands of one dot, and the properties that all its wgmmas share. */
struct warpgroup_dot {
    struct mma_choice by;
    struct form form;
    int nsum; /* number of registers in the accumulator of one wgmma */
    bool a_in_regs, sums_integers;
    struct matrix words; /* operand a, if it is in registers */
    struct operand a, b; /* the operands that are in shared memory */
    struct opnd *sum;
};

/* Writes to x the operands that follow the accumulator in the wgmma for position `at`. If `adds` is true, the
 * wgmma adds to the accumulator's old value. Returns the number of operands written. */
static int put_operands(struct select *s, const struct warpgroup_dot *d, struct spot at, bool adds,
                        struct opnd *x)
{
    int n = 1;
    if (d->a_in_regs)
        n = matrix_words(s, d->by.fragment, &d->words, DOT_a, at, x);
    else
        x[0] = descriptor_at(s, &d->a, at.m, at.k);
    x[n++] = descriptor_at(s, &d->b, at.n, at.k);
    x[n++] = opnd_int(CLASS_pred, adds);
    if (d->sums_integers)
        return n;
    x[n++] = opnd_int(CLASS_b32, 1); /* the factors of both operands are 1: neither is negated */
    x[n++] = opnd_int(CLASS_b32, 1);
    if (d->by.fragment->word_elems != 2)
        return n;
    if (!d->a_in_regs)
        x[n++] = opnd_int(CLASS_b32, d->a.view.trans);
    x[n++] = opnd_int(CLASS_b32, d->b.view.trans);
    return n;
}

static bool is_zero(const struct opnd *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!opnd_is_imm(x[i], 0))
            return false;
    return true;
}

/* Creates the n registers of an accumulator, and moves into them the values `from`, to which the dot adds. If
 * `zero` is true, these values are 0, and no moves are needed. */
static void set_sum(struct select *s, struct opnd *sum, const struct opnd *from, int n, bool zero)
{
    for (int i = 0; i < n; i++) {
        sum[i] = mir_reg(s->m, (enum reg_class)from[i].cls);
        if (!zero)
            emit_mov(s, sum[i], from[i]);
    }
}

/* Returns the registers of operand A, packed into words. Copies words of tf32 by an `and` that clears only
 * bits that the tensor core ignores. ptxas would remove plain moves, and could then not place the words in
 * the consecutive registers that a wgmma needs (warning C7511). */
static struct matrix words_of(struct select *s, const struct value *a, const struct fragment *g)
{
    enum { UNREAD_BITS = 13 };
    struct matrix words = matrix_of(s, a);
    matrix_pack(s, &words, g);
    for (int i = 0; i < words.n && g->word_elems == 1; i++)
        words.x[i] = emit2(s, form0(INSN_and, PT_b32), words.x[i],
                           opnd_int(CLASS_b32, (int64_t)(UINT32_MAX << UNREAD_BITS)));
    return words;
}

/* Records `words` as the registers of operand A of the dot, for select_wgmma_wait and select_reads_behind.
 * Returns `words`. */
static struct matrix keep_words(struct select *s, const struct op *dot, struct matrix words)
{
    struct matrix *kept = NEW(s->m->arena, struct matrix);
    *kept = words;
    *map_at_ptr(&s->words, dot) = kept;
    return words;
}

/* Returns the number of columns that one wgmma computes: all `columns` columns of the warpgroup, or as many
 * as the instruction and a thread's registers allow. Reports an error if the registers do not suffice for 8
 * columns. ptxas assumes that all threads on an SM have equal parts of its registers, even if setmaxnreg
 * gives a thread more. */
static int columns_of(struct select *s, const struct op *o, const struct mma_engine *e, int columns,
                      bool a_in_regs)
{
    enum { COLUMNS_LEAST = 8 };
    const struct func *f = s->f;
    int ctas = resources_ctas_of_roles(f), threads = 32 * (f->num_warps + f->extra_warps);
    int regs = func_regs(f, ctas > 1 ? ctas * threads : threads, false);
    columns = columns < e->columns ? columns : e->columns;
    while (columns > COLUMNS_LEAST && wgmma_regs_least(columns, a_in_regs) > regs)
        columns /= 2;
    int least = wgmma_regs_least(columns, a_in_regs);
    if (least > regs)
        diag_error(s->diag, o->loc, ERR_dot_registers, least, regs);
    s->m->regs_least = least > s->m->regs_least ? least : s->m->regs_least;
    return columns;
}

static struct warpgroup_dot dot_of(struct select *s, const struct op *o)
{
    const struct value *a = op_opnd(o, DOT_a), *acc = op_opnd(o, DOT_acc);
    struct warpgroup_dot d = {.by = mma_choose(o, true, false),
                              .a_in_regs = a->type->kind == TY_tile,
                              .sums_integers = type_is_int(acc->type)};
    if (!d.by.engine->is_async)
        diag_bug(s->diag, o->loc, "no instruction of warpgroups does this dot");
    struct layout expected;
    layout_fragment(&expected, d.by.fragment, DOT_acc, acc->type, d.by.split);
    if (!layout_equal(&expected, acc->type->layout))
        diag_bug(s->diag, o->loc, "the sum is not laid out as a warpgroup's");
    int columns = columns_of(s, o, d.by.engine, acc->type->shape[1] >> d.by.split.n, d.a_in_regs);
    d.form = form0(insn_named(d.by.name), PT_none);
    d.form.number = (uint16_t)columns;
    d.nsum = columns / 2;
    d.b = operand_of(s, o, DOT_b, columns, d.by.fragment->k);
    if (d.a_in_regs)
        d.words = keep_words(s, o, words_of(s, a, d.by.fragment));
    else
        d.a = operand_of(s, o, DOT_a, d.by.engine->rows, d.by.fragment->k);
    return d;
}

/* A wgmma that will be emitted after the fence. Its accumulator's registers are set before the fence. Its
 * descriptors are computed between the wgmmas: if they were all computed before the fence, they would take
 * too many registers. */
struct planned {
    struct spot at;
    struct opnd *x; /* the operands: first the accumulator */
    bool fresh;     /* the instruction does not add to the accumulator's old value */
};

void select_wgmma(struct select *s, const struct op *o)
{
    struct warpgroup_dot d = dot_of(s, o);
    const struct value *acc = op_opnd(o, DOT_acc);
    const struct matrix from = matrix_of(s, acc);
    int n = 0, k = op_opnd(o, DOT_a)->type->shape[1], steps = k / d.by.fragment->k;
    struct planned *plan = NEW_ARRAY(s->m->arena, from.n / d.nsum * steps, struct planned);
    struct opnd *sum = tile_new(s, op_result(o));
    for (int i = 0; i < from.n; i += d.nsum) {
        bool zero = is_zero(from.x + i, d.nsum);
        set_sum(s, sum + i, from.x + i, d.nsum, zero);
        for (int step = 0; step < steps; step++, n++) {
            struct planned *p = &plan[n];
            p->at = matrix_spot(&from, i);
            p->at.k = step * d.by.fragment->k;
            p->fresh = zero && step == 0;
            p->x = NEW_ARRAY(s->m->arena, d.nsum + OPNDS_MOST, struct opnd);
            memcpy(p->x, sum + i, (size_t)d.nsum * sizeof *p->x);
        }
    }
    emit_insn(s, form0(INSN_wgmma_fence, PT_none), 0, 0, NULL);
    for (int i = 0; i < n; i++) {
        int more = put_operands(s, &d, plan[i].at, !plan[i].fresh, plan[i].x + d.nsum);
        struct insn *in = emit_insn(s, d.form, d.nsum, d.nsum + more, plan[i].x);
        in->nvec = (uint8_t)d.nsum;
        in->fresh = plan[i].fresh;
    }
    emit_insn(s, form0(INSN_wgmma_commit, PT_none), 0, 0, NULL);
}

/* If v is a value that a `for` loop carries, or a result of such a loop, returns the value that the loop
 * yields for v. Otherwise, returns v. */
static const struct value *yielded_for(const struct value *v)
{
    const struct op *loop = v->def ? v->def : v->block->parent;
    const int i = v->def ? v->index : v->index - 1;
    return loop && loop->code == OP_for && i >= 0 ? op_opnd(loop->regions[0]->last, i) : v;
}

static bool reads_as_a(const struct op *o, const struct value *v)
{
    return o->code == OP_mma_start && op_opnd(o, DOT_a) == v;
}

/* Returns a dot that reads v from registers as its operand A, or NULL. */
static const struct op *dot_of_operand(const struct value *v)
{
    for (const struct use *u = v->uses; u; u = u->next)
        if (reads_as_a(u->user, v))
            return u->user;
    return NULL;
}

/* v is an operand of a wait for dots: a result of a dot, or operand A of a dot in flight. Returns the dot
 * that reads v in this iteration, or has read v in the previous one; NULL if v is a result of a dot. */
static const struct op *reader_of(const struct value *v)
{
    const struct op *dot = dot_of_operand(v);
    return dot ? dot : dot_of_operand(yielded_for(v));
}

/* The largest number of groups that wgmma.wait_group can leave in flight: SASS has three bits for the number,
 * and ptxas replaces a larger number by 7. */
enum { MOST_PENDING = 7 };

/* Appends the registers of operand A to the n operands in x, and returns the new number of operands. */
static int add_words(const struct matrix *words, const struct fragment *g, struct opnd *x, int n)
{
    for (int k = 0; k < words->n / g->word_elems && n < UINT8_MAX; k++)
        x[n++] = words->x[k];
    return n;
}

/* The results of the wait are already in the registers of the accumulators. If a dot in flight reads operand
 * A from registers, these registers must not change before the wait. So they become operands of the
 * wgmma.wait_group. Several dots may read the same operand A, each from registers of its own. */
void select_wgmma_wait(struct select *s, const struct op *o)
{
    int64_t pending = op_int(o, ATTR_pending);
    struct opnd x[UINT8_MAX] = {opnd_int(CLASS_b32, pending < MOST_PENDING ? pending : MOST_PENDING)};
    int n = 1;
    for (int i = 0; i < o->nopnds; i++) {
        const struct value *v = op_opnd(o, i);
        const struct op *dot = reader_of(v);
        const struct fragment *g = dot ? mma_choose(dot, true, false).fragment : NULL;
        bool is_kept = false;
        for (const struct use *u = v->uses; u && dot; u = u->next) {
            void **kept = reads_as_a(u->user, v) ? map_get_ptr(&s->words, u->user) : NULL;
            n = kept ? add_words(*kept, g, x, n) : n;
            is_kept |= kept != NULL;
        }
        if (dot && !is_kept) {
            const struct matrix words = words_of(s, v, g);
            n = add_words(&words, g, x, n);
        }
    }
    emit_insn(s, form0(INSN_wgmma_wait, PT_none), 0, n, x);
    for (int i = 0; i < o->nresults; i++)
        memcpy(tile_new(s, &o->results[i]), tile_of(s, op_opnd(o, i)),
               (size_t)tile_nregs(o->results[i].type) * sizeof(struct opnd));
}

/* Returns a predicate that is false in every launch, although ptxas cannot know this: whether the first
 * pointer among the kernel's arguments is 1. Returns OPND_none if no argument is a pointer. */
static struct opnd never(struct select *s)
{
    const struct block *body = s->f->body;
    for (int i = 0; i < body->args.n; i++)
        if (type_is_ptr(body->args.at[i]->type))
            return emit2(s, form1(INSN_setp, PT_s64, MOD_eq), in_reg(s, tile_of(s, body->args.at[i])[0]),
                         opnd_int(CLASS_b64, 1));
    return (struct opnd){.kind = OPND_none};
}

/* Wgmmas of a loop may read operand A from the same registers in each iteration. A fault of ptxas (12.8 and
 * 13.0) is that it also assigns these registers to other values of the loop
 * (tests/programs/attention_backward.py). ptxas does not do this if code after the loop reads the registers
 * too. So this function emits, after the loop, a store of the registers to shared memory, whose guard
 * (`never`) is false in all threads. */
void select_reads_behind(struct select *s, const struct op *loop)
{
    enum { WORDS = 4 };
    struct opnd when = {.kind = OPND_none}, at = {.kind = OPND_none};
    for (const struct op *o = loop->regions[0]->first; o; o = o->next) {
        void **kept = o->code == OP_mma_start && op_opnd(o, DOT_a)->type->kind == TY_tile &&
                              value_is_outside(op_opnd(o, DOT_a), loop)
                          ? map_get_ptr(&s->words, o)
                          : NULL;
        if (!kept)
            continue;
        const struct matrix *words = *kept;
        if (when.kind == OPND_none) {
            struct opnd smem = {.kind = OPND_smem, .cls = CLASS_b32};
            at = emit1(s, form0(INSN_mov, PT_u32), smem);
            when = never(s);
        }
        for (int k = 0; k < words->n / mma_choose(o, true, false).fragment->word_elems; k += WORDS) {
            struct opnd x[1 + WORDS] = {{.kind = OPND_addr, .cls = CLASS_b32, .n = at.n}};
            memcpy(x + 1, words->x + k, WORDS * sizeof *x);
            struct insn *in = emit_insn(s, access_shape(form1(INSN_st, PT_none, MOD_shared), PT_b32, WORDS),
                                        0, 1 + WORDS, x);
            in->nvec = WORDS;
            set_guard(in, when);
        }
    }
}
