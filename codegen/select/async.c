/* SPDX-License-Identifier: MIT */
/* async.c: selects mbarriers, TMA copies, warp roles and the staggering of warpgroups.
 *
 *     mbar_wait %bar, %parity      =>      L: mbarrier.try_wait.parity... %p1, [%r1], %r2;  @!%p1 bra L;
 *
 *     warps warps=[8 4] {..} {..}  =>      @tid < 256 bra L;  @leader != 256 ret;  elect;
 *                                          (code of the second role)  ret;
 *                                       L: (code of the first role)  ret;
 *
 *     stagger_wait                 =>      @second bar.sync 4, 256;  @second bar.arrive 5, 256;
 *     stagger_arrive               =>      @first bar.arrive 4, 256;
 *     stagger_end                  =>      @first bar.sync 5, 256;
 *
 *     stagger_wait turns=1         =>      @second bar.sync 4, 256;
 *     stagger_arrive turns=1       =>      bar.arrive 4 (first) or 5 (second), 256;
 *
 * "@first" and "@second" stand for a guard that is true in the first or in the second of two warpgroups.
 * Staggered warpgroups execute the same code, but each starts later than the preceding one: at stagger_wait,
 * a warpgroup waits until the preceding one has reached stagger_arrive.
 *
 * The control flow of the two roles never joins, so that each role can have its own number of registers
 * (setmaxnreg). The second role, the producer, only starts copies and waits, so a single thread executes its
 * code. */
#include "codegen/select/select.h"

#include "ir/families.h"

/* -- which thread executes an instruction -- */

enum { PRODUCER = 2 }; /* the number of the second role, which a single thread executes */

static struct opnd thread_is(struct select *s, uint32_t mask, int64_t value)
{
    struct opnd x = emit2(s, form0(INSN_and, PT_b32), s->thread, opnd_int(CLASS_b32, mask));
    return emit2(s, form1(INSN_setp, PT_s32, MOD_eq), x, opnd_int(CLASS_b32, value));
}

/* Returns a predicate that is true in the one thread that executes instructions for the whole role. */
static struct opnd acts(struct select *s)
{
    if (s->role == PRODUCER)
        return s->elected;
    return emit2(s, form1(INSN_setp, PT_s32, MOD_eq), s->thread, opnd_int(CLASS_b32, 0));
}

/* Returns a predicate that is true in one thread of each group of warps, if the op has the attribute `group`
 * (the number of warps in a group); otherwise in one thread of the role. */
static struct opnd acts_for_group(struct select *s, const struct op *o)
{
    const struct attr *warps = op_attr(o, ATTR_group);
    return warps ? thread_is(s, 32 * (uint32_t)warps->i - 1, 0) : acts(s);
}

/* Returns the CTA's rank in its pair (a cluster of two CTAs); 0 if the kernel has no pairs. */
static struct opnd pair_rank(struct select *s)
{
    return emit_special(s, SPECIAL_cluster_ctarank);
}

/* -- mbarriers -- */

static struct opnd address_of(struct select *s, const struct value *buf, int64_t more)
{
    struct place p = buffer_place(s, buf);
    return (struct opnd){.kind = OPND_addr, .cls = CLASS_b32, .n = p.base.n, .i = p.bytes + more};
}

static struct form mbar_form(enum insn_code code)
{
    return form1(code, PT_b64, MOD_shared_cta);
}

static void select_mbar_init(struct select *s, const struct op *o)
{
    struct opnd mine = acts(s);
    const struct type *t = op_opnd(o, 0)->type;
    struct opnd arrivals = opnd_int(CLASS_b32, op_int(o, ATTR_arrivals));
    if (op_opnd(o, 1))
        arrivals = emit2(s, form0(INSN_mul_lo, PT_s32), tile_of(s, op_opnd(o, 1))[0], arrivals);
    for (int i = 0; i < t->nstages; i++) {
        struct opnd x[] = {address_of(s, op_opnd(o, 0), i * (int64_t)type_elem_bytes(t)), arrivals};
        set_guard(emit_insn(s, mbar_form(INSN_mbarrier_init), 0, 2, x), mine);
    }
}

static void select_mbar_expect(struct select *s, const struct op *o)
{
    struct opnd x[] = {address_of(s, op_opnd(o, 0), 0), opnd_int(CLASS_b32, op_int(o, ATTR_bytes))};
    struct opnd mine = acts(s);
    set_guard(emit_insn(s, mbar_form(INSN_mbarrier_arrive_tx), 0, 2, x), mine);
}

/* Returns the distance in bytes from this CTA's shared memory to the shared memory of the other CTA of the
 * pair. select_warps computes the distance once, before all loops. */
static struct opnd distance_to_peer(struct select *s)
{
    struct opnd smem = emit1(s, form0(INSN_mov, PT_u32), (struct opnd){.kind = OPND_smem, .cls = CLASS_b32});
    struct opnd peer = emit2(s, form0(INSN_xor, PT_b32), pair_rank(s), opnd_int(CLASS_b32, 1));
    return emit2(s, form0(INSN_sub, PT_s32), emit2(s, form0(INSN_mapa, PT_u32), smem, peer), smem);
}

/* Selects an arrival at an mbarrier. In the producer, one thread arrives; in other code, one thread of each
 * group of warps. Attribute `group` is the number of warps in a group; it can exceed 1 if the wait for a dot
 * has synchronized the warps of a group. */
static void select_mbar_arrive(struct select *s, const struct op *o)
{
    uint32_t others = 32 * (uint32_t)op_int(o, ATTR_group) - 1;
    struct opnd x = address_of(s, op_opnd(o, 0), 0);
    struct opnd mine = s->role == PRODUCER ? acts(s) : thread_is(s, others, 0);
    if (op_opnd(o, 1))
        mine = pred_and(s, mine, tile_of(s, op_opnd(o, 1))[0]);
    set_guard(emit_insn(s, mbar_form(INSN_mbarrier_arrive), 0, 1, &x), mine);
    if (!op_opnd(o, 2))
        return;
    struct opnd here = {.kind = OPND_reg, .cls = CLASS_b32, .n = x.n};
    x.n = emit2(s, form0(INSN_add, PT_s32), here, s->to_peer).n;
    mine = pred_and(s, mine, tile_of(s, op_opnd(o, 2))[0]);
    set_guard(emit_insn(s, form1(INSN_mbarrier_arrive, PT_b64, MOD_shared_cluster), 0, 1, &x), mine);
}

static void select_mbar_wait(struct select *s, const struct op *o)
{
    struct opnd bar = address_of(s, op_opnd(o, 0), 0), parity = in_reg(s, tile_of(s, op_opnd(o, 1))[0]);
    struct mblock *before = s->b, *again = s->b = mir_block(s->m, before->index, before->depth);
    struct opnd x[] = {mir_reg(s->m, CLASS_pred), bar, parity};
    emit_insn(s, mbar_form(INSN_mbarrier_try_wait), 1, 3, x);
    jump_to(emit_jump(s, x[0], true), again);
    s->b = mir_block(s->m, again->index, before->depth);
}

/* -- staggered warpgroups -- */

/* Each pair of neighbouring warpgroups has two named barriers: the second warpgroup waits at GO until the
 * first has arrived there, and the first waits at GONE until the second has arrived there. Without GONE, the
 * first warpgroup could arrive at GO twice before the second warpgroup arrives once, for example if a loop of
 * one iteration is inside a loop over tiles. GO would then count both arrivals in one phase. The numbers of
 * GO and GONE follow the numbers of the CTA's barrier and of the barriers of roles and groups. */
enum { GO, GONE, PAIR_BARRIERS, ROLES = 1, NAMED_BARRIERS = 16 };
_Static_assert(1 + ROLES + STAGGER_GROUPS_MOST + PAIR_BARRIERS * (STAGGER_GROUPS_MOST - 1) <= NAMED_BARRIERS,
               "a CTA has 16 named barriers");

static void come_to_pair(struct select *s, enum insn_code code, int group, int pair, int which)
{
    int threads = 32 * WARPGROUP_WARPS, behind = s->role + 1 + s->f->num_warps / WARPGROUP_WARPS;
    struct opnd x[] = {opnd_int(CLASS_b32, behind + PAIR_BARRIERS * pair + which),
                       opnd_int(CLASS_b32, 2 * threads)};
    struct opnd start = emit2(s, form0(INSN_and, PT_b32), s->leader, opnd_int(CLASS_b32, -threads));
    struct opnd mine =
        emit2(s, form1(INSN_setp, PT_s32, MOD_eq), start, opnd_int(CLASS_b32, group * threads));
    set_guard(emit_insn(s, form0(code, PT_none), 0, 2, x), mine);
}

/* Emits an arrival of the first of two warpgroups at the barrier GO, and of the second at the barrier GONE.
 * Both warpgroups execute the same instruction, with the barrier's number in a register. If there were two
 * guarded instructions, ptxas would move both down past the arithmetic that follows. */
static void pass_turn(struct select *s)
{
    int threads = 32 * WARPGROUP_WARPS, behind = s->role + 1 + s->f->num_warps / WARPGROUP_WARPS;
    struct opnd group =
        emit2(s, form0(INSN_shr, PT_u32), s->leader, opnd_int(CLASS_b32, log2_floor(threads)));
    struct opnd x[] = {emit2(s, form0(INSN_add, PT_s32), group, opnd_int(CLASS_b32, behind + GO)),
                       opnd_int(CLASS_b32, 2 * threads)};
    emit_insn(s, form0(INSN_bar_arrive, PT_none), 0, 2, x);
}

static void select_stagger(struct select *s, const struct op *o)
{
    for (int pair = 0; pair < s->f->num_warps / WARPGROUP_WARPS - 1; pair++)
        if (o->code == OP_stagger_wait) {
            come_to_pair(s, INSN_bar, pair + 1, pair, GO);
            if (!op_int(o, ATTR_turns))
                come_to_pair(s, INSN_bar_arrive, pair + 1, pair, GONE);
        } else if (o->code == OP_stagger_arrive) {
            if (op_int(o, ATTR_turns))
                pass_turn(s);
            else
                come_to_pair(s, INSN_bar_arrive, pair, pair, GO);
        } else {
            come_to_pair(s, INSN_bar, pair, pair, GONE);
        }
}

/* -- copies that use tensor maps -- */

static struct boxes boxes_of(struct select *s, const struct op *o, const struct type *t, int *order)
{
    const struct attr *a = op_attr(o, ATTR_order);
    for (int i = 0; i < t->rank; i++)
        order[i] = a ? a->list[i] : i;
    struct boxes b;
    int parts = o->code == OP_tensor_copy ? (int)op_int(o, ATTR_parts) : 1, bytes = type_elem_bytes(t);
    if (!layout_boxes(&b, t->layout, bytes, order) || !boxes_cut(&b, t->layout, bytes, order, parts))
        diag_bug(s->diag, o->loc, "no tensor map copies a buffer like this");
    if (o->code == OP_tensor_put && op_attr(o, ATTR_group)) {
        const struct tensor_map *m = &s->f->maps.at[op_int(o, ATTR_map)];
        boxes_cut_rows(&b, t->layout, bytes, order, m->box[m->rank - t->rank]);
    }
    return b;
}

/* Writes the coordinates of a box to x, innermost first: the coordinates of the tile plus the position of the
 * box in the tile, which is `coord`. The op's operands from number `first` on are the coordinates of the
 * tile, outermost first. A tensor map may have additional outer dimensions, which the tile lacks; along
 * these, all boxes have the same coordinate. */
static void box_coords(struct select *s, const struct op *o, int first, const struct type *t,
                       const int *order, uint32_t coord, struct opnd *x)
{
    int n = o->nopnds - first, index[RANK_MAX];
    layout_split_coord(t->layout, coord, index);
    for (int i = 0; i < n; i++) {
        int d = i - (n - t->rank);
        x[n - 1 - i] = tile_of(s, op_opnd(o, first + i))[0];
        if (d >= 0 && index[order[d]])
            x[n - 1 - i] =
                emit2(s, form0(INSN_add, PT_s32), x[n - 1 - i], opnd_int(CLASS_b32, index[order[d]]));
    }
}

/* Two CTAs of a pair, or two groups of warps, each copy one half of a tile; `rank` (0 or 1) is the number of
 * this CTA or group. Advances the address *at and the coordinates x of a box in half 0 to the corresponding
 * box in half `rank`. Bit `top` of a box's number says in which half the box is. */
static void take_half(struct select *s, const struct type *t, const int *order, const struct boxes *b,
                      int top, struct opnd rank, struct opnd *at, struct opnd *x)
{
    int index[RANK_MAX];
    struct opnd base = {.kind = OPND_reg, .cls = CLASS_b32, .n = at->n};
    at->n = emit3(s, form0(INSN_mad_lo, PT_s32), rank,
                  opnd_int(CLASS_b32, b->more[top].offset * type_elem_bytes(t)), base)
                .n;
    layout_split_coord(t->layout, b->more[top].coord, index);
    for (int i = 0; i < t->rank; i++)
        if (index[order[i]]) {
            struct opnd *c = &x[t->rank - 1 - i];
            *c = emit3(s, form0(INSN_mad_lo, PT_s32), rank, opnd_int(CLASS_b32, index[order[i]]), *c);
        }
}

/* Emits a TMA load or store for each box of the buffer, with the address and the coordinates of the box. The
 * op's operands from number `first` on are the coordinates of the tile. */
static void select_boxes(struct select *s, const struct op *o, int first, bool load)
{
    enum { BOTH = 3, GROUP_BITS = 7 };
    const struct value *buf = op_opnd(o, 0);
    int order[RANK_MAX], rank = o->nopnds - first;
    bool shared = load && op_int(o, ATTR_multicast);
    struct boxes b = boxes_of(s, o, buf->type, order);
    int group = -1;
    if (!load && op_attr(o, ATTR_group))
        for (group = 0; b.more[group].coord >> buf->type->layout->dim_bits[1] != (uint32_t)b.shape[0];)
            group++;
    struct opnd mine = load ? acts(s) : acts_for_group(s, o), half = {.kind = OPND_none},
                map = tensor_map_address(s, (int)op_int(o, ATTR_map)), x[RANK_MAX + 4];
    if (shared)
        half = pair_rank(s);
    else if (group >= 0)
        half = emit2(s, form0(INSN_shr, PT_u32), s->leader, opnd_int(CLASS_b32, GROUP_BITS));
    for (int i = 0; i < 1 << (b.nmore - shared); i++) {
        if (group >= 0 && i >> group & 1)
            continue;
        int64_t offset = 0;
        uint32_t coord = 0;
        for (int k = 0; k < b.nmore; k++)
            if (i >> k & 1) {
                offset += b.more[k].offset;
                coord ^= b.more[k].coord;
            }
        struct opnd at = address_of(s, buf, offset * type_elem_bytes(buf->type));
        int n = 0;
        if (load)
            x[n++] = at;
        x[n++] = map;
        box_coords(s, o, first, buf->type, order, coord, x + n);
        if (shared)
            take_half(s, buf->type, order, &b, b.nmore - 1, half, &x[0], x + n);
        else if (group >= 0)
            take_half(s, buf->type, order, &b, group, half, &at, x + n);
        n += rank;
        x[n++] = load ? address_of(s, op_opnd(o, 1), 0) : at;
        if (shared)
            x[n++] = opnd_int(CLASS_b16, BOTH);
        struct form f =
            form1(load ? INSN_tma_load : INSN_tma_store, PT_none, shared ? MOD_multicast : MOD_none);
        f.number = (uint16_t)rank;
        set_guard(emit_insn(s, f, 0, n, x), mine);
    }
    if (load)
        return;
    set_guard(emit_insn(s, form0(INSN_bulk_commit, PT_none), 0, 0, NULL), mine);
    s->info->stored_maps |= 1 << op_int(o, ATTR_map);
}

static void select_bulk_wait(struct select *s, const struct op *o)
{
    struct opnd n = opnd_int(CLASS_b32, op_int(o, ATTR_pending));
    enum insn_code code = op_int(o, ATTR_read) ? INSN_bulk_wait_read : INSN_bulk_wait;
    struct opnd mine = acts_for_group(s, o);
    set_guard(emit_insn(s, form0(code, PT_none), 0, 1, &n), mine);
}

/* -- roles -- */

static void set_registers(struct select *s, const struct op *o, int role)
{
    const struct attr *regs = op_attr(o, ATTR_regs);
    if (!regs || !regs->list[role])
        return;
    struct opnd n = opnd_int(CLASS_b32, regs->list[role]);
    emit_insn(s, form0(role == 0 ? INSN_setmaxnreg_inc : INSN_setmaxnreg_dec, PT_u32), 0, 1, &n);
}

/* Emits one fence for all mbarriers that the producer has initialized. */
static void end_making(struct select *s)
{
    set_guard(emit_insn(s, form0(INSN_fence_init, PT_none), 0, 0, NULL), s->elected);
}

/* Ends the producer's setup: all threads of the producer's warp exit, except for the elected thread. */
static void go_alone(struct select *s)
{
    struct insn *end = emit_insn(s, form0(INSN_ret, PT_none), 0, 0, NULL);
    end->guard = s->elected.n;
    end->guard_not = true;
    s->b = mir_block(s->m, s->b->index, s->b->depth);
    s->elected = (struct opnd){.kind = OPND_none};
}

static void select_ready(struct select *s)
{
    struct opnd x[] = {opnd_int(CLASS_b32, 0), opnd_int(CLASS_b32, 32 * (s->f->num_warps + 1))};
    if (s->role == PRODUCER)
        end_making(s);
    emit_insn(s, form0(s->role == PRODUCER ? INSN_bar_arrive : INSN_bar, PT_none), 0, 2, x);
    /* After `ready`, only the elected thread of the producer's warp runs. (In a branch that returns early,
     * the other threads need not exit here, because the return ends all threads.) */
    if (s->role == PRODUCER && s->op->block->parent->code == OP_warps)
        go_alone(s);
}

/* Selects an arrival at the cluster's barrier. The arrival is relaxed: an arrival with release semantics
 * would wait for all stores, but the other CTA must see only the initializations of mbarriers, and a separate
 * fence makes these visible. */
static void select_cluster_arrive(struct select *s)
{
    if (s->elected.kind == OPND_reg) {
        end_making(s);
        go_alone(s); /* the cluster barrier does not wait for the threads that have exited */
    }
    emit_insn(s, form1(INSN_cluster_arrive, PT_none, MOD_relaxed), 0, 0, NULL);
}

/* Selects the roles of an op `warps`. The producer's code precedes the consumers' code, because the
 * producer's copies have a long latency and should start early, when the instruction cache is still empty. */
static void select_warps(struct select *s, const struct op *o)
{
    struct opnd own = opnd_int(CLASS_b32, 32 * s->f->num_warps);
    s->to_peer = distance_to_peer(s);
    struct opnd is_own = emit2(s, form1(INSN_setp, PT_s32, MOD_lt), s->thread, own);
    struct mblock *before = s->b;
    struct insn *to_own = emit_jump(s, is_own, false);
    s->b = mir_block(s->m, before->index, before->depth);
    set_registers(s, o, 1);
    s->role = PRODUCER;
    struct opnd idle = emit2(s, form1(INSN_setp, PT_s32, MOD_ne), s->leader, own);
    emit_insn(s, form0(INSN_ret, PT_none), 0, 0, NULL)->guard = idle.n;
    s->b = mir_block(s->m, s->b->index, before->depth);
    /* Elects the thread by elect.sync. If the thread were chosen by its number, ptxas would not know that only one
     * thread continues, and would generate a loop over threads around each copy. */
    s->elected = emit1(s, form0(INSN_elect, PT_none), opnd_int(CLASS_b32, -1));
    select_inline(s, o->regions[1]);
    emit_insn(s, form0(INSN_ret, PT_none), 0, 0, NULL);

    s->b = mir_block(s->m, before->index, before->depth);
    jump_to(to_own, s->b);
    set_registers(s, o, 0);
    s->role = 1;
    select_inline(s, o->regions[0]);
    s->role = 0;
}

void select_async(struct select *s, const struct op *o)
{
    switch ((enum async_op)o->code) {
    case ASYNC_OP_async_copy: select_copy(s, o); break;
    case ASYNC_OP_async_commit: emit_insn(s, form0(INSN_cp_async_commit, PT_none), 0, 0, NULL); break;
    case ASYNC_OP_async_wait: select_copy_wait(s, o); break;
    case ASYNC_OP_mma_start: select_wgmma(s, o); break;
    case ASYNC_OP_mma_wait: select_wgmma_wait(s, o); break;
    case ASYNC_OP_fence_async:
        emit_insn(s, form1(INSN_fence_async, PT_none, MOD_shared_cta), 0, 0, NULL);
        break;
    case ASYNC_OP_mbar_init: select_mbar_init(s, o); break;
    case ASYNC_OP_mbar_expect: select_mbar_expect(s, o); break;
    case ASYNC_OP_mbar_arrive: select_mbar_arrive(s, o); break;
    case ASYNC_OP_mbar_wait: select_mbar_wait(s, o); break;
    case ASYNC_OP_ready: select_ready(s); break;
    case ASYNC_OP_stagger_wait:
    case ASYNC_OP_stagger_arrive:
    case ASYNC_OP_stagger_end: select_stagger(s, o); break;
    case ASYNC_OP_tensor_copy: select_boxes(s, o, 2, true); break;
    case ASYNC_OP_tensor_put: select_boxes(s, o, 1, false); break;
    case ASYNC_OP_bulk_wait: select_bulk_wait(s, o); break;
    case ASYNC_OP_warps: select_warps(s, o); break;
    case ASYNC_OP_cluster_rank:
        tile_new(s, op_result(o))[0] = emit_special(s, SPECIAL_cluster_ctarank);
        break;
    case ASYNC_OP_cluster_size:
        tile_new(s, op_result(o))[0] = emit_special(s, SPECIAL_cluster_nctarank);
        break;
    case ASYNC_OP_cluster_arrive: select_cluster_arrive(s); break;
    case ASYNC_OP_cluster_wait: emit_insn(s, form0(INSN_cluster_wait, PT_none), 0, 0, NULL); break;
    case ASYNC_OP_tensor_load:
    case ASYNC_OP_tensor_store: diag_bug(s->diag, o->loc, "%s is not scheduled", op_info[o->code].name);
    }
}
