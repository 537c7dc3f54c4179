/* SPDX-License-Identifier: MIT */
/* atomic.c: selects atomic operations on global memory. For each element, the thread that owns the element
 * executes the instruction.
 *
 *     %old = atomic_rmw %p, %v, %m rmw=add     =>     mov.b32 %r5, 0;
 *                                                     @%p0 atom.acq_rel.gpu.global.add.u32 %r5, [%rd1], %r4;
 *
 * Lanes that hold replicas of an element get the owner's result by a shuffle. PTX has no atomic maximum or
 * minimum of f32 or f64, so the atomic compares the bits of such floats as integers. Positive floats have the
 * same order as their bits, so a maximum with a positive operand becomes a signed maximum. Negative floats
 * have the reverse order of their bits, so a maximum with a negative operand becomes an unsigned minimum.
 * Maxima and minima of 16-bit floats, and sums of bf16 on targets that lack the instruction, become a
 * compare-and-swap loop.
 *
 *     while {                                                  @%p0 fence.acq_rel.gpu;
 *       %old = atomic_cas %lock, 0, 1; condition %old == 1     $L1: @%p0 atom.acquire.gpu.global.cas.b32 ...
 *     }                                                  =>      bra $L1 if %old == 1
 *
 * A loop that only waits for another program writes nothing, so its atomic need not release in each
 * iteration: one fence before the loop releases all earlier writes. With a release, the atomic would wait in
 * each iteration for all writes of the thread. */
#include "codegen/select/select.h"

static const struct row {
    uint8_t mod;
    uint8_t kind; /* enum reading: how the instruction reads the value */
} rmw_rows[RMW_count] = {
    [RMW_add] = {MOD_add, READ_unsigned},  [RMW_maxs] = {MOD_max, READ_signed},
    [RMW_maxu] = {MOD_max, READ_unsigned}, [RMW_mins] = {MOD_min, READ_signed},
    [RMW_minu] = {MOD_min, READ_unsigned}, [RMW_and] = {MOD_and, READ_bits},
    [RMW_or] = {MOD_or, READ_bits},        [RMW_xor] = {MOD_xor, READ_bits},
    [RMW_xchg] = {MOD_exch, READ_bits},    [RMW_fadd] = {MOD_add, READ_signed},
    [RMW_fmax] = {MOD_max, READ_signed},   [RMW_fmin] = {MOD_min, READ_signed},
};

/* An op, and the memory order of its instructions. This order is weaker than the order that the op requires
 * if fences before and after the instructions provide the rest. */
struct atomic {
    const struct op *op;
    enum sem sem;
};

static enum mod scope_of(const struct op *o)
{
    static const uint8_t scopes[SCOPE_count] = {
        [SCOPE_gpu] = MOD_gpu, [SCOPE_cta] = MOD_cta, [SCOPE_sys] = MOD_sys};
    return (enum mod)scopes[op_int(o, ATTR_scope)];
}

static struct form atomic_form(const struct atomic *a, enum insn_code code, enum mod what, enum ptype type)
{
    static const uint8_t sems[SEM_count] = {
        [SEM_acq_rel] = MOD_acq_rel,
        [SEM_acquire] = MOD_acquire,
        [SEM_release] = MOD_release,
        [SEM_relaxed] = MOD_relaxed,
    };
    struct form f = form0(code, type);
    f.mods[0] = sems[a->sem];
    f.mods[1] = (uint8_t)scope_of(a->op);
    f.mods[2] = MOD_global;
    f.mods[3] = (uint8_t)what;
    if (type == PT_f16 || type == PT_bf16)
        f.mods[4] = MOD_noftz;
    return f;
}

/* Emits one atomic instruction of form f, which sets `old` to the old value in memory. If `old` is OPND_none,
 * the old value is not needed; the instruction is then a `red`, which returns no old value, if PTX has a
 * `red` for the operation and the memory order. */
static void emit_atomic(struct select *s, struct form f, struct opnd old, struct opnd at, struct opnd x,
                        struct opnd guard)
{
    bool wanted = old.kind == OPND_reg;
    if (wanted) {
        set_guard(emit_insn(s, f, 1, 3, (struct opnd[]){old, at, x}), guard);
        return;
    }
    if ((f.mods[0] == MOD_relaxed || f.mods[0] == MOD_release) && f.mods[3] != MOD_exch) {
        f.code = INSN_red;
        set_guard(emit_insn(s, f, 0, 2, (struct opnd[]){at, x}), guard);
        return;
    }
    old = mir_reg(s->m, form_class(f));
    struct insn *in = emit_insn(s, f, 1, 3, (struct opnd[]){old, at, x});
    set_guard(in, guard);
    in->fresh = true;
}

/* Emits the maximum or minimum of x and the float in memory as an atomic on the bits of the floats. In
 * threads where x is positive, the atomic compares the bits as signed integers. In threads where x is
 * negative, it compares the bits as unsigned integers, in reverse order. */
static void float_extreme(struct select *s, const struct atomic *a, enum dtype dt, struct opnd old,
                          struct opnd at, struct opnd x, struct opnd guard)
{
    bool wide = dt == DT_f64, is_max = op_int(a->op, ATTR_rmw) == RMW_fmax;
    enum reg_class cls = wide ? CLASS_b64 : CLASS_b32;
    struct opnd bits = emit_bits(s, cls, x);
    struct opnd positive = emit2(s, form1(INSN_setp, wide ? PT_s64 : PT_s32, MOD_ge), bits, opnd_int(cls, 0));
    struct form up = atomic_form(a, INSN_atom, is_max ? MOD_max : MOD_min, wide ? PT_s64 : PT_s32);
    struct form down = atomic_form(a, INSN_atom, is_max ? MOD_min : MOD_max, wide ? PT_u64 : PT_u32);
    emit_atomic(s, up, old, at, bits, pred_and(s, guard, positive));
    emit_atomic(s, down, old, at, bits, pred_and(s, guard, pred_not(s, positive)));
}

static struct opnd combine_halves(struct select *s, enum rmw rmw, enum dtype dt, struct opnd a, struct opnd b)
{
    enum ptype type = dtype_ptype(dt, READ_signed);
    if (rmw == RMW_fadd) /* bf16 computes the sum as a * 1 + b */
        return emit3(s, form1(INSN_fma, type, MOD_rn), a, in_reg(s, opnd_int(CLASS_b16, 0x3f80)), b);
    return emit2(s, form0(rmw == RMW_fmax ? INSN_max : INSN_min, type), a, b);
}

/* Emits a loop that combines the 16-bit value in memory with x by compare-and-swap:
 *
 *     seen = 0                        a guess of the old value; if it is wrong, the loop runs once more
 *     if (!guard) goto exit
 * body:
 *     expected = seen
 *     seen = cas at, expected, combine(expected, x)
 *     if (seen != expected) goto body
 * exit:
 *     old = seen */
static void exchange_halves(struct select *s, const struct atomic *a, enum dtype dt, struct opnd old,
                            struct opnd at, struct opnd x, struct opnd guard)
{
    struct opnd seen = mir_reg(s->m, CLASS_b16), expected = mir_reg(s->m, CLASS_b16);
    emit_mov(s, seen, opnd_int(CLASS_b16, 0));
    x = in_reg(s, x);
    struct mblock *before = s->b;
    struct insn *skip = guard.kind == OPND_reg ? emit_jump(s, guard, true) : NULL;
    struct mblock *body = s->b = mir_block(s->m, before->index, before->depth + 1);
    emit_mov(s, expected, seen);
    struct opnd all[] = {mir_reg(s->m, CLASS_b16), at, expected,
                         combine_halves(s, (enum rmw)op_int(a->op, ATTR_rmw), dt, expected, x)};
    emit_insn(s, atomic_form(a, INSN_atom, MOD_cas, PT_b16), 1, 4, all);
    emit_mov(s, seen, all[0]);
    struct opnd again = emit2(s, form1(INSN_setp, PT_s16, MOD_ne), all[0], expected);
    jump_to(emit_jump(s, again, false), body);
    s->b = mir_block(s->m, skip ? before->index : s->b->index, before->depth);
    if (skip)
        jump_to(skip, s->b);
    if (old.kind == OPND_reg)
        emit_mov(s, old, seen);
}

/* Returns whether float_extreme or a single instruction can do this operation; otherwise it takes a
 * compare-and-swap loop (exchange_halves). Reports a fatal error if the loop cannot do it either. */
static bool is_atomic_of(struct select *s, enum dtype dt, enum rmw rmw)
{
    bool is_half = dt == DT_f16 || dt == DT_bf16;
    if (is_half && rmw == RMW_fadd)
        return dt == DT_f16 || target_has(s->target, HAS_atom_bf16);
    if (dtype_info[dt].bytes < 4 && !(is_half && (rmw == RMW_fmax || rmw == RMW_fmin)))
        select_unsupported(s, "this atomic operation on types under 32 bits");
    return dtype_info[dt].bytes >= 4;
}

static void rmw_elem(struct select *s, const struct atomic *a, enum dtype dt, struct opnd old, struct opnd at,
                     struct opnd x, struct opnd guard)
{
    enum rmw rmw = (enum rmw)op_int(a->op, ATTR_rmw);
    if (!is_atomic_of(s, dt, rmw)) {
        exchange_halves(s, a, dt, old, at, x, guard);
        return;
    }
    if (rmw == RMW_fmax || rmw == RMW_fmin) {
        float_extreme(s, a, dt, old, at, x, guard);
        return;
    }
    enum ptype type = dtype_ptype(dt, (enum reading)rmw_rows[rmw].kind);
    if (rmw == RMW_xchg)
        type = dtype_info[dt].bytes == 8 ? PT_b64 : PT_b32;
    if (type == PT_f16 || type == PT_bf16)
        x = in_reg(s, x);
    emit_atomic(s, atomic_form(a, INSN_atom, rmw_rows[rmw].mod, type), old, at, x, guard);
}

static void cas_elem(struct select *s, const struct atomic *a, enum dtype dt, struct opnd old, struct opnd at,
                     struct opnd guard, struct opnd expected, struct opnd x)
{
    int bytes = dtype_info[dt].bytes;
    if (bytes == 1)
        select_unsupported(s, "compare-and-swap of 8 bits");
    enum ptype type = bytes == 2 ? PT_b16 : bytes == 4 ? PT_b32 : PT_b64;
    struct opnd all[] = {old, at, in_reg(s, expected), in_reg(s, x)};
    set_guard(emit_insn(s, atomic_form(a, INSN_atom, MOD_cas, type), 1, 4, all), guard);
}

/* Broadcasts x from the first thread, which executed the atomic, to all other threads, through a word of
 * shared memory after the buffers. A barrier directly before the store, or before the atomic if the IR has
 * one there, ensures that all threads have read what the previous broadcast wrote to the word. */
static struct opnd to_all_threads(struct select *s, enum dtype dt, struct opnd x)
{
    enum { ALIGN = 16 };
    int offset = (s->f->shared_bytes + ALIGN - 1) / ALIGN * ALIGN;
    s->info->shared_bytes = offset + ALIGN;
    struct opnd smem = {.kind = OPND_smem, .cls = CLASS_b32};
    struct opnd first = emit2(s, form1(INSN_setp, PT_s32, MOD_eq), s->thread, opnd_int(CLASS_b32, 0));
    struct opnd base = emit1(s, form0(INSN_mov, PT_u32), smem), result = mir_reg(s->m, x.cls);
    struct opnd at = {.kind = OPND_addr, .cls = CLASS_b32, .n = base.n, .i = offset};
    struct word_shape a = word_shape(dt, 1);
    const struct op *before = s->op->prev;
    if (!before || before->code != OP_barrier || op_attr(before, ATTR_group))
        emit_barrier(s);
    set_guard(emit_insn(s, access_shape(form1(INSN_st, PT_none, MOD_shared), a.type, 1), 0, 2,
                        (struct opnd[]){at, x}),
              first);
    emit_barrier(s);
    emit_insn(s, access_shape(form1(INSN_ld, PT_none, MOD_shared), a.type, 1), 1, 2,
              (struct opnd[]){result, at});
    return result;
}

/* Returns the owner's value of x, the result of an atomic, in the owner of the element and in all threads
 * that hold replicas of the element. */
static struct opnd from_owner(struct select *s, enum dtype dt, const struct layout *l, struct opnd x)
{
    uint32_t lanes = layout_free_bits(l, IN_lane), all = (UINT32_C(1) << LANE_BITS) - 1;
    uint32_t warps = layout_free_bits(l, IN_warp), all_warps = (UINT32_C(1) << l->nbits[IN_warp]) - 1;
    if (warps && warps == all_warps && lanes == all)
        return to_all_threads(s, dt, x);
    if (warps)
        diag_bug(s->diag, s->op->loc, "warps that share an atomic's result do not get it");
    if (!lanes)
        return x;
    struct opnd owner = emit2(s, form0(INSN_and, PT_b32), s->thread, opnd_int(CLASS_b32, all & ~lanes));
    return shuffle(s, MOD_idx, x, owner);
}

/* Returns a new register for the old value in memory, and sets it to 0 if some threads may not execute the
 * atomic. For maxima and minima of f32 and f64, it is an integer register. */
static struct opnd old_register(struct select *s, const struct op *o, enum dtype dt, struct opnd guard)
{
    bool extreme = o->code == OP_atomic_rmw && dtype_info[dt].bytes >= 4 &&
                   (op_int(o, ATTR_rmw) == RMW_fmax || op_int(o, ATTR_rmw) == RMW_fmin);
    enum reg_class cls = !extreme ? dtype_class(dt) : dt == DT_f64 ? CLASS_b64 : CLASS_b32;
    struct opnd old = mir_reg(s->m, cls);
    if (extreme || guard.kind == OPND_reg)
        emit_mov(s, old, opnd_int(cls, 0));
    return old;
}

/* Returns whether every use of v is a store to shared memory. Only owners store, so the other threads that
 * hold replicas of v's elements then need no values. */
static bool is_only_stored(const struct value *v)
{
    for (const struct use *u = v->uses; u; u = u->next)
        if (u->user->code != OP_shared_store)
            return false;
    return true;
}

static struct opnd atomic_elem(struct select *s, const struct atomic *a, enum dtype dt,
                               const struct layout *l, int k, struct opnd guard)
{
    const struct op *o = a->op;
    bool wanted = has_uses(op_result(o)) || o->code == OP_atomic_cas;
    struct opnd p = in_reg(s, tile_of(s, op_opnd(o, 0))[k]), x = tile_of(s, op_opnd(o, 1))[k];
    struct opnd at = {.kind = OPND_addr, .cls = CLASS_b64, .n = p.n};
    struct opnd old = wanted ? old_register(s, o, dt, guard) : (struct opnd){.kind = OPND_none};
    if (o->code == OP_atomic_cas)
        cas_elem(s, a, dt, old, at, guard, x, tile_of(s, op_opnd(o, 2))[k]);
    else
        rmw_elem(s, a, dt, old, at, x, guard);
    if (!has_uses(op_result(o)))
        return old;
    old = emit_bits(s, dtype_class(dt), old);
    return is_only_stored(op_result(o)) ? old : from_owner(s, dt, l, old);
}

/* Emits one `red` that adds `vec` neighbouring f32 elements. The old values must have no uses. */
static void atomic_vector(struct select *s, const struct atomic *a, int vec, int k, struct opnd guard)
{
    enum { VECTOR_MOST = 4 };
    struct opnd p = in_reg(s, tile_of(s, op_opnd(a->op, 0))[k]), x[1 + VECTOR_MOST];
    x[0] = (struct opnd){.kind = OPND_addr, .cls = CLASS_b64, .n = p.n};
    for (int i = 0; i < vec; i++)
        x[1 + i] = tile_of(s, op_opnd(a->op, 1))[k + i];
    struct form f = atomic_form(a, INSN_red, MOD_add, PT_f32);
    f.mods[4] = vec == 2 ? MOD_red_v2 : MOD_red_v4;
    struct insn *in = emit_insn(s, f, 0, 1 + vec, x);
    in->nvec = (uint8_t)vec;
    set_guard(in, guard);
}

/* -- the memory order -- */

/* Returns whether the kernel accesses no memory after o. */
static bool is_last_access(const struct op *o)
{
    if (o->block->parent)
        return false;
    for (const struct op *next = o->next; next; next = next->next)
        if (next->nregions || op_has(next, READS) || op_has(next, WRITES) ||
            (op_has(next, EFFECT) && !op_has(next, TERMINATOR)))
            return false;
    return true;
}

/* If the only op with effects in the `while` loop is an atomic that accesses the same word in all iterations,
 * returns this atomic; else NULL. A barrier in the loop is not allowed: the atomic would then also have to
 * release the writes that other threads made before the barrier, but the fence that replaces the release
 * (select_release_before) runs before the loop. If the word were not the same, an iteration would have to
 * release what the previous iteration has acquired. */
static const struct op *polled_by(const struct op *loop)
{
    const struct op *found = NULL;
    for (int i = 0; i < loop->nregions && loop->code == OP_while; i++)
        for (const struct op *o = loop->regions[i]->first; o; o = o->next) {
            if ((o->code == OP_atomic_cas || o->code == OP_atomic_rmw) && !found &&
                !type_is_tile(op_result(o)->type) && value_is_outside(op_opnd(o, 0), loop))
                found = o;
            else if (!is_pure(o) && !op_has(o, TERMINATOR))
                return NULL;
        }
    return found;
}

static bool acquires(enum sem sem)
{
    return sem == SEM_acq_rel || sem == SEM_acquire;
}

static bool releases(enum sem sem)
{
    return sem == SEM_acq_rel || sem == SEM_release;
}

/* Sets *found if o is an atomic that may take a lock without an acquire: the program uses the atomic's old value, and
 * the atomic's memory order does not acquire. */
static void find_weak_lock(struct op *o, void *found)
{
    bool is_atomic = o->code == OP_atomic_cas || o->code == OP_atomic_rmw;
    if (is_atomic && has_uses(op_result(o)) && !acquires((enum sem)op_int(o, ATTR_sem)))
        *(bool *)found = true;
}

/* Returns the memory order that the instructions for atomic o need. It is the order of the op, but without
 * release if o is the only effect in a loop (polled_by), because a fence before the loop replaces it. It is
 * without acquire if the old value has no uses, and the program accesses no memory after o.
 *
 * Exception: if the kernel has a lock that does not acquire (find_weak_lock), all acquires remain. PTX does
 * not order the reads that follow such a lock, so these reads may find old values in the SM's L1 cache. The
 * acquire of the atomic that unlocks empties this cache for the programs that run later on the same SM. */
static enum sem needed_order(struct select *s, const struct op *o)
{
    bool has_weak_lock = false;
    enum sem sem = (enum sem)op_int(o, ATTR_sem);
    if (o->block->parent && releases(sem) && polled_by(o->block->parent) == o)
        return sem == SEM_acq_rel ? SEM_acquire : SEM_relaxed;
    if (has_uses(op_result(o)) || !is_last_access(o))
        return sem;
    func_walk(s->f, find_weak_lock, &has_weak_lock);
    if (has_weak_lock)
        return sem;
    return sem == SEM_acq_rel ? SEM_release : sem == SEM_acquire ? SEM_relaxed : sem;
}

static struct insn *emit_fence(struct select *s, const struct op *o)
{
    return emit_insn(s, form2(INSN_fence, PT_none, MOD_acq_rel, scope_of(o)), 0, 0, NULL);
}

void select_release_before(struct select *s, const struct op *loop)
{
    struct layout scalar;
    const struct op *o = polled_by(loop);
    if (!o || !releases((enum sem)op_int(o, ATTR_sem)))
        return;
    struct opnd owner = emit_is_owner(s, tile_layout(s, op_result(o)->type, &scalar));
    set_guard(emit_fence(s, o), owner);
}

void select_atomic(struct select *s, const struct op *o)
{
    struct value *r = op_result(o), *mask = o->code == OP_atomic_rmw ? op_opnd(o, 2) : NULL;
    enum dtype dt = elem_dtype(r->type);
    struct layout scalar;
    const struct layout *l = tile_layout(s, r->type, &scalar);
    int free_bits = (int)layout_free_bits(l, IN_reg),
        vec = o->code == OP_atomic_rmw ? (int)op_int(o, ATTR_vec) : 1;
    struct opnd owner = emit_is_owner(s, l), *tile = tile_new(s, r);
    enum sem needed = needed_order(s, o);
    struct atomic a = {.op = o, .sem = needed};
    /* If the op takes several instructions, one fence is cheaper than a memory order for each of them. The
     * `red` of a vector needs a fence for an acquire, because `red` cannot acquire. */
    bool is_fenced = tile_nregs(r->type) > (vec << __builtin_popcount((unsigned)free_bits)) ||
                     (vec > 1 && acquires(needed));
    if (is_fenced) {
        if (releases(needed))
            emit_fence(s, o);
        a.sem = SEM_relaxed;
    }
    for (int k = 0; k < tile_nregs(r->type); k += vec) {
        struct opnd guard = pred_and(s, mask ? tile_of(s, mask)[k] : (struct opnd){.kind = OPND_none}, owner);
        if (guard.kind == OPND_imm)
            guard = in_reg(s, guard);
        if (k & free_bits)
            tile[k] = tile[k & ~free_bits];
        else if (vec > 1)
            atomic_vector(s, &a, vec, k, guard);
        else
            tile[k] = atomic_elem(s, &a, dt, l, k, guard);
    }
    if (is_fenced && acquires(needed))
        emit_fence(s, o);
}
