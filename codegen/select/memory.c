/* SPDX-License-Identifier: MIT */
/* memory.c: selects loads, stores and prefetches of global memory.
 *
 *     %x = load %p, %m, %o vec=4     =>     mov.f32 %f1..%f4, (the elements of %o);
 *                                           @%m0 ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%p0];
 *
 * Elements narrower than 32 bits are loaded in words of up to 32 bits, and unpacked afterwards. If the kernel
 * uses the values that it computes from the load only under the load's mask, as stored values or as
 * addresses, then no result depends on `other` (the third operand). The registers are then not set to
 * `other`. With attribute `tail`, a vector whose mask is true for some elements only is accessed element by
 * element:
 *
 *     @%all ld.v4 ...;  @(%m0 xor %all) ld ...;  @(%m1 xor %all) ld ...; ... */
#include "codegen/select/select.h"
#include "ir/families.h"

enum { WORD_BITS = 32, GROUP_MOST = 16 };

static enum ptype elem_type(enum dtype dt)
{
    int bits = 8 * dtype_info[dt].bytes;
    if (dtype_info[dt].kind == DTYPE_float && bits >= WORD_BITS)
        return bits == WORD_BITS ? PT_f32 : PT_f64;
    return bits == 8 ? PT_u8 : bits == 16 ? PT_b16 : bits == WORD_BITS ? PT_b32 : PT_b64;
}

struct word_shape word_shape(enum dtype dt, int vec)
{
    struct word_shape a = {
        .vec = vec, .bits = 8 * dtype_info[dt].bytes, .per_word = 1, .type = elem_type(dt), .dt = dt};
    int total = vec * a.bits;
    if (vec > 1 && a.bits < WORD_BITS) {
        int word = total < WORD_BITS ? total : WORD_BITS;
        a.per_word = word / a.bits;
        a.type = word == WORD_BITS ? PT_b32 : PT_b16;
    }
    a.nwords = vec / a.per_word;
    return a;
}

static struct opnd address(struct select *s, struct opnd p)
{
    p = in_reg(s, p);
    return (struct opnd){.kind = OPND_addr, .cls = CLASS_b64, .n = p.n};
}

/* -- words and their elements -- */

/* Joins the low bytes of two registers to 16 bits. The upper bytes of the registers are arbitrary. */
static struct opnd join_bytes(struct select *s, struct opnd low, struct opnd high)
{
    low = emit2(s, form0(INSN_and, PT_b16), low, opnd_int(CLASS_b16, 0xff));
    high = emit2(s, form0(INSN_shl, PT_b16), high, opnd_int(CLASS_b32, 8));
    return emit2(s, form0(INSN_or, PT_b16), low, high);
}

static struct opnd join_halves(struct select *s, struct opnd low, struct opnd high)
{
    struct opnd x[3] = {mir_reg(s->m, CLASS_b32), in_reg(s, low), in_reg(s, high)};
    emit_insn(s, form0(INSN_pack, PT_b32), 1, 3, x)->nvec = 2;
    return x[0];
}

static bool all_imm(int n, const struct opnd *x)
{
    for (int i = 0; i < n; i++)
        if (x[i].kind != OPND_imm)
            return false;
    return true;
}

/* Converts x to its form in memory: an i1 becomes a byte of value 0 or 1. Values of other types do not
 * change. */
static struct opnd to_memory(struct select *s, enum dtype dt, struct opnd x)
{
    if (dt != DT_i1)
        return x;
    if (x.kind == OPND_imm)
        return opnd_int(CLASS_b16, x.i & 1);
    return emit3(s, form0(INSN_selp, PT_b16), opnd_int(CLASS_b16, 1), opnd_int(CLASS_b16, 0), x);
}

struct opnd join_elems(struct select *s, const struct word_shape *a, const struct opnd *elems)
{
    enum { BYTES_0_2_OF_BOTH = 0x6420 };
    struct opnd x[WORD_BITS / 8];
    for (int i = 0; i < a->per_word; i++)
        x[i] = to_memory(s, a->dt, elems[i]);
    if (a->per_word == 1)
        return x[0];
    if (all_imm(a->per_word, x)) {
        uint64_t word = 0, mask = (UINT64_C(1) << a->bits) - 1;
        for (int i = 0; i < a->per_word; i++)
            word |= ((uint64_t)x[i].i & mask) << (i * a->bits);
        return opnd_int(ptype_info[a->type].cls, (int64_t)word);
    }
    if (a->type == PT_b16)
        return join_bytes(s, x[0], x[1]);
    if (a->per_word == 2)
        return join_halves(s, x[0], x[1]);
    struct opnd high = join_halves(s, x[2], x[3]), low = join_halves(s, x[0], x[1]);
    return emit3(s, form0(INSN_prmt, PT_b32), low, high, opnd_int(CLASS_b32, BYTES_0_2_OF_BOTH));
}

static void split_bytes(struct select *s, struct opnd half, struct opnd *elems)
{
    elems[0] = half;
    elems[1] = emit2(s, form0(INSN_shr, PT_u16), half, opnd_int(CLASS_b32, 8));
}

void split_word(struct select *s, const struct word_shape *a, struct opnd word, struct opnd *elems)
{
    if (a->per_word == 1) {
        elems[0] = word;
        return;
    }
    if (a->type == PT_b16) {
        split_bytes(s, word, elems);
        return;
    }
    struct opnd halves[3] = {mir_reg(s->m, CLASS_b16), mir_reg(s->m, CLASS_b16), word};
    emit_insn(s, form0(INSN_unpack, PT_b32), 2, 3, halves)->nvec = 2;
    for (int i = 0; i < 2; i++)
        if (a->per_word == 2)
            elems[i] = halves[i];
        else
            split_bytes(s, halves[i], elems + 2 * i);
}

struct opnd from_memory(struct select *s, const struct word_shape *a, struct opnd x)
{
    if (a->dt != DT_i1)
        return x;
    if (a->per_word > 1)
        x = emit2(s, form0(INSN_and, PT_b16), x, opnd_int(CLASS_b16, 0xff));
    return emit2(s, form1(INSN_setp, PT_s16, MOD_ne), x, opnd_int(CLASS_b16, 0));
}

/* -- modifiers -- */

static void add_mod(struct form *f, enum mod m)
{
    int i = 0;
    while (f->mods[i])
        i++;
    f->mods[i] = (uint8_t)m;
}

/* Returns the form of an access with the op's cache attributes. Sets *policy to the L2 eviction policy, which is
 * the instruction's last operand. Sets *policy to OPND_none if the op has no eviction policy. */
static struct form access_form(struct select *s, const struct op *o, enum insn_code code, struct opnd *policy)
{
    static const uint8_t cache_mods[CACHE_count] = {
        [CACHE_ca] = MOD_ca, [CACHE_cg] = MOD_cg, [CACHE_cs] = MOD_cs,
        [CACHE_cv] = MOD_cv, [CACHE_wb] = MOD_wb, [CACHE_wt] = MOD_wt,
    };
    struct form f = form0(code, PT_none);
    *policy = (struct opnd){.kind = OPND_none};
    enum evict evict = (enum evict)op_int(o, ATTR_evict);
    enum cache cache = (enum cache)op_int(o, ATTR_cache);
    if (code == INSN_ld && op_int(o, ATTR_volatile)) {
        add_mod(&f, MOD_volatile);
        add_mod(&f, MOD_global);
        return f;
    }
    add_mod(&f, MOD_global);
    if (cache != CACHE_none)
        add_mod(&f, cache_mods[cache]);
    if (evict == EVICT_normal)
        return f;
    if (cache == CACHE_none)
        add_mod(&f, evict == EVICT_first ? MOD_l1_first : MOD_l1_last);
    add_mod(&f, MOD_l2_hint);
    struct form create = form1(INSN_createpolicy, PT_b64, evict == EVICT_first ? MOD_l2_first : MOD_l2_last);
    *policy = emit(s, create, 0, NULL);
    return f;
}

struct form access_shape(struct form f, enum ptype type, int nwords)
{
    f.type = (uint8_t)type;
    if (nwords > 1)
        add_mod(&f, nwords == 2 ? MOD_v2 : MOD_v4);
    return f;
}

void set_guard(struct insn *in, struct opnd p)
{
    if (p.kind == OPND_reg)
        in->guard = p.n;
}

static bool is_never(struct opnd p)
{
    return p.kind == OPND_imm && !p.i;
}

/* -- masks -- */

/* The predicates that guard an access to a vector. `whole` guards the access to the whole vector. If `tail`
 * is true, each[i] guards the access to element i alone; each[i] is false in threads where `whole` is
 * true. */
struct guards {
    struct opnd whole;
    struct opnd each[GROUP_MOST];
    bool tail;
};

static struct guards guards_of(struct select *s, const struct opnd *mask, int vec, bool tail)
{
    struct guards g = {.whole = {.kind = OPND_none}};
    if (!mask)
        return g;
    g.whole = mask[0];
    g.tail = tail && vec > 1;
    if (!g.tail)
        return g;
    for (int i = 1; i < vec; i++)
        g.whole = pred_and(s, g.whole, mask[i]);
    for (int i = 0; i < vec; i++)
        g.each[i] = emit2(s, form0(INSN_xor, PT_pred), mask[i], g.whole);
    return g;
}

/* Returns whether the elements of v at positions where `mask` is false affect no result of the kernel.
 * Returns false if a branch in the code of an op would depend on these elements. Each use that the search
 * visits decrements *budget; the function also returns false if *budget falls below 0. */
static bool only_under_mask(const struct value *v, const struct value *mask, int *budget)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct op *o = u->user;
        if (--*budget < 0)
            return false;
        if (o->code == OP_store && op_opnd(o, 2) == mask && u != &o->opnds[2])
            continue;
        if (o->code == OP_load && op_opnd(o, 1) == mask && u == &o->opnds[0])
            continue;
        if (math_jumps(o))
            return false;
        if (!op_has(o, ELEMENTWISE) || !only_under_mask(op_result(o), mask, budget))
            return false;
    }
    return true;
}

/* -- loads -- */

struct load {
    const struct op *op;
    struct word_shape shape;
    struct form form; /* the instruction without its type and vector length */
    struct opnd policy;
    const struct opnd *ptr, *mask,
        *other;       /* the operands that represent the op's tiles; NULL: the op has no such tile */
    bool needs_other; /* an element whose mask is false must become `other`, or 0 if the op has no `other` */
};

static struct opnd other_elem(const struct load *l, int reg)
{
    return l->other ? l->other[reg] : opnd_int(dtype_class(l->shape.dt), 0);
}

static void emit_ld(struct select *s, const struct load *l, enum ptype type, int nwords,
                    const struct opnd *words, struct opnd at, struct opnd guard)
{
    struct opnd x[GROUP_MOST + 2];
    int n = 0;
    for (; n < nwords; n++)
        x[n] = words[n];
    x[n++] = at;
    if (l->policy.kind == OPND_reg)
        x[n++] = l->policy;
    struct insn *in = emit_insn(s, access_shape(l->form, type, nwords), nwords, n, x);
    in->nvec = (uint8_t)(nwords > 1 ? nwords : 0);
    set_guard(in, guard);
    in->fresh = !l->needs_other && type == l->shape.type && nwords == l->shape.nwords;
}

/* Loads the elements of a vector one by one, in threads that have not loaded the whole vector. First moves
 * each entry of elems (what load_vector has loaded, or `other`) to a register of its own, which the load
 * overwrites. */
static void load_tail(struct select *s, const struct load *l, int first, const struct guards *g,
                      struct opnd *elems)
{
    for (int i = 0; i < l->shape.vec; i++) {
        struct opnd own = mir_reg(s->m, elems[i].cls);
        emit_mov(s, own, elems[i]);
        elems[i] = own;
        struct opnd at = address(s, l->ptr[first]);
        at.i = (int64_t)i * l->shape.bits / 8;
        if (!is_never(g->each[i]))
            emit_ld(s, l, elem_type(l->shape.dt), 1, &own, at, g->each[i]);
    }
}

/* Loads all elements of a vector at once in threads where `guard` is true. In other threads, sets the
 * elements to `other` if l->needs_other. */
static void load_vector(struct select *s, const struct load *l, int first, struct opnd guard,
                        struct opnd *elems)
{
    const struct word_shape *a = &l->shape;
    struct opnd words[GROUP_MOST];
    bool partly = guard.kind == OPND_reg && l->needs_other;
    for (int w = 0; w < a->nwords; w++) {
        words[w] = mir_reg(s->m, ptype_info[a->type].cls);
        for (int i = 0; i < a->per_word; i++)
            elems[i] = other_elem(l, first + w * a->per_word + i);
        if (partly)
            emit_mov(s, words[w], join_elems(s, a, elems));
    }
    emit_ld(s, l, a->type, a->nwords, words, address(s, l->ptr[first]), guard);
    for (int w = 0; w < a->nwords; w++)
        split_word(s, a, words[w], elems + w * a->per_word);
}

static void load_group(struct select *s, const struct load *l, int first, struct opnd *result)
{
    const struct word_shape *a = &l->shape;
    struct guards g = guards_of(s, l->mask ? l->mask + first : NULL, a->vec, op_int(l->op, ATTR_tail));
    struct opnd elems[GROUP_MOST];
    if (is_never(g.whole) && !g.tail) {
        for (int i = 0; i < a->vec; i++)
            result[i] = other_elem(l, first + i);
        return;
    }
    if (is_never(g.whole))
        for (int i = 0; i < a->vec; i++)
            elems[i] = to_memory(s, a->dt, other_elem(l, first + i));
    else
        load_vector(s, l, first, g.whole, elems);
    if (g.tail)
        load_tail(s, l, first, &g, elems);
    for (int i = 0; i < a->vec; i++)
        result[i] = from_memory(s, a, elems[i]);
}

/* Returns the mask of the bits of a register's number that do not affect the coordinate of the register's
 * element. Registers whose numbers differ only in these bits hold replicas of one element. */
static int free_regs(const struct type *t)
{
    return t->kind == TY_tile ? (int)layout_free_bits(t->layout, IN_reg) : 0;
}

/* Returns whether all lanes of a warp load from the same address, and a loop passes the loaded value on to
 * the next iteration. */
static bool is_shared_ahead(const struct op *o)
{
    const struct type *t = op_result(o)->type;
    for (int i = 0; t->kind == TY_tile && i < t->layout->nbits[IN_lane]; i++)
        if (layout_basis(t->layout, IN_lane, i))
            return false;
    for (const struct use *u = op_result(o)->uses; u; u = u->next)
        if (u->user->code == OP_yield && u->user->block->parent->code == OP_for)
            return true;
    return false;
}

/* Returns the n addresses in ptr, each plus %tid.y, which is zero. All lanes load from the same address, but
 * because of the addition ptxas does not know this. Otherwise ptxas would move the loaded value to a uniform
 * register directly after the load. This move would wait for the load, although only the next iteration uses
 * the value. */
static const struct opnd *with_zero(struct select *s, const struct opnd *ptr, int n)
{
    struct opnd zero = emit1(s, form_cvt(PT_u64, PT_u32, MOD_none), s->zero);
    struct opnd *x = NEW_ARRAY(s->m->arena, n, struct opnd);
    for (int i = 0; i < n; i++)
        x[i] = emit2(s, form0(INSN_add, PT_s64), ptr[i], zero);
    return x;
}

static void select_load(struct select *s, const struct op *o)
{
    struct value *r = op_result(o), *mask = op_opnd(o, 1), *other = op_opnd(o, 2);
    int vec = (int)op_int(o, ATTR_vec), free_bits = free_regs(r->type);
    int budget = op_params(o)->select_mask_uses;
    struct load l = {
        .op = o, .shape = word_shape(elem_dtype(r->type), vec), .ptr = tile_of(s, op_opnd(o, 0))};
    if (is_shared_ahead(o))
        l.ptr = with_zero(s, l.ptr, tile_nregs(r->type));
    l.mask = mask ? tile_of(s, mask) : NULL;
    l.other = other ? tile_of(s, other) : NULL;
    l.form = access_form(s, o, INSN_ld, &l.policy);
    l.needs_other = mask && !only_under_mask(r, mask, &budget);
    struct opnd *tile = tile_new(s, r);
    for (int k = 0; k < tile_nregs(r->type); k += vec)
        for (int i = 0; i < vec; i++)
            if (k & free_bits)
                tile[k + i] = tile[(k & ~free_bits) + i];
            else if (i == 0)
                load_group(s, &l, k, tile + k);
}

/* -- stores -- */

static void emit_st(struct select *s, struct form f, enum ptype type, int nwords, const struct opnd *words,
                    struct opnd at, struct opnd policy, struct opnd guard)
{
    struct opnd x[GROUP_MOST + 2] = {at};
    int n = 1;
    for (int i = 0; i < nwords; i++)
        x[n++] = words[i];
    if (policy.kind == OPND_reg)
        x[n++] = policy;
    struct insn *in = emit_insn(s, access_shape(f, type, nwords), 0, n, x);
    in->nvec = (uint8_t)(nwords > 1 ? nwords : 0);
    set_guard(in, guard);
}

static void store_group(struct select *s, const struct op *o, const struct word_shape *a, int first,
                        struct opnd owner)
{
    struct value *mask = op_opnd(o, 2);
    const struct opnd *value = tile_of(s, op_opnd(o, 1));
    struct guards g = guards_of(s, mask ? tile_of(s, mask) + first : NULL, a->vec, op_int(o, ATTR_tail));
    if (is_never(g.whole) && !g.tail)
        return;
    struct opnd words[GROUP_MOST], policy, at = address(s, tile_of(s, op_opnd(o, 0))[first]);
    for (int w = 0; w < a->nwords; w++)
        words[w] = join_elems(s, a, value + first + w * a->per_word);
    struct form f = access_form(s, o, INSN_st, &policy);
    if (!is_never(g.whole))
        emit_st(s, f, a->type, a->nwords, words, at, policy, pred_and(s, g.whole, owner));
    for (int i = 0; g.tail && i < a->vec; i++) {
        if (is_never(g.each[i]))
            continue;
        struct opnd elem = to_memory(s, a->dt, value[first + i]), each = at;
        each.i += (int64_t)i * a->bits / 8;
        emit_st(s, f, elem_type(a->dt), 1, &elem, each, policy, pred_and(s, g.each[i], owner));
    }
}

static void select_store(struct select *s, const struct op *o)
{
    const struct type *t = op_opnd(o, 1)->type;
    struct layout scalar;
    struct opnd owner = emit_is_owner(s, tile_layout(s, t, &scalar));
    struct word_shape a = word_shape(elem_dtype(t), (int)op_int(o, ATTR_vec));
    for (int k = 0; k < tile_nregs(t); k += a.vec)
        if (!(k & free_regs(t)))
            store_group(s, o, &a, k, owner);
}

/* Selects a prefetch, which one thread executes. */
static void select_prefetch(struct select *s, const struct op *o)
{
    struct opnd n = tile_of(s, op_opnd(o, 1))[0], zero = opnd_int(CLASS_b32, 0);
    struct opnd x[] = {address(s, tile_of(s, op_opnd(o, 0))[0]), in_reg(s, n)};
    struct opnd first = emit2(s, form1(INSN_setp, PT_s32, MOD_eq), s->thread, zero);
    struct opnd some = emit2(s, form1(INSN_setp, PT_s32, MOD_gt), x[1], zero);
    struct opnd both = pred_and(s, first, some);
    set_guard(emit_insn(s, form0(INSN_bulk_prefetch, PT_none), 0, 2, x), both);
}

void select_memory(struct select *s, const struct op *o)
{
    switch ((enum memory_op)o->code) {
    case MEMORY_OP_load: select_load(s, o); break;
    case MEMORY_OP_store: select_store(s, o); break;
    case MEMORY_OP_prefetch: select_prefetch(s, o); break;
    case MEMORY_OP_atomic_rmw:
    case MEMORY_OP_atomic_cas: select_atomic(s, o); break;
    }
}
