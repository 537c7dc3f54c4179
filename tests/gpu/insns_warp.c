/* SPDX-License-Identifier: MIT */
/* insns_warp.c: defines the trials of instructions that synchronize lanes, warps or CTAs, or move data between them
 * (shuffles, votes, reductions, barriers, fences, mbarriers, clusters), and of control flow.
 *
 * A thread's results are words: result k of thread t is at offset 4 (k * threads + t) in the CTA's part of the
 * output. */
#include "tests/gpu/insns.h"

#include <stdio.h>
#include <string.h>

enum { WORD = 4, RESULTS = 64 };

struct sheet {
    struct bench *b;
    struct trial *t;
    int n; /* the number of results */
};

static struct sheet begin(struct bench *b, int threads, int grid, const char *directives)
{
    struct sheet s = {.b = b};
    int all = threads * grid;
    s.t = trial_new(b, (size_t)(RESULTS * all * WORD), (size_t)(RESULTS * all * WORD));
    s.t->threads = threads;
    s.t->grid = grid;
    s.t->shared_bytes = 4096;
    for (size_t i = 0; i < s.t->in_bytes; i++)
        s.t->in[i] = (uint8_t)random_bits();
    kernel_head_with(s.t, directives);
    text_printf(
        &s.t->ptx,
        ".reg .b32 %%x, %%y, %%z, %%d, %%at, %%other;\n.reg .b64 %%l;\n.reg .pred %%p, %%q;\n"
        "mad.lo.u32 %%at, %%cta, %d, %%t;\nmul.wide.u32 %%wide, %%at, 4;\nadd.s64 %%in, %%in, %%wide;\n"
        "add.s64 %%out, %%out, %%wide;\nshl.b32 %%at, %%t, 2;\nadd.s32 %%at, %%at, %%sm;\n",
        threads);
    return s;
}

static void end(struct sheet *s)
{
    text_printf(&s->t->ptx, "ret;\n}\n");
    trial_run(s->b, s->t);
}

static int threads_of(const struct sheet *s)
{
    return s->t->threads * s->t->grid;
}

/* Prints a load of word k of the input to a register. */
static void load(struct sheet *s, const char *reg, int k)
{
    text_printf(&s->t->ptx, "ld.global.b32 %s, [%%in+%d];\n", reg, k * threads_of(s) * WORD);
}

static uint32_t input(const struct sheet *s, int k, int thread)
{
    uint32_t x;
    memcpy(&x, s->t->in + (k * threads_of(s) + thread) * WORD, sizeof x);
    return x;
}

/* Prints a store of a register as the next result; want[t] is the expected value of thread t. */
static void store(struct sheet *s, const char *reg, enum insn_code code, const char *name,
                  const uint32_t *want)
{
    int all = threads_of(s);
    size_t at = (size_t)(s->n++ * all * WORD);
    text_printf(&s->t->ptx, "st.global.b32 [%%out+%zu], %s;\n", at, reg);
    memcpy(s->t->want + at, want, (size_t)(all * WORD));
    trial_check(s->t, code, at, all, WORD, WORD, "%s", name);
}

static void store_predicate(struct sheet *s, enum insn_code code, const char *name, const uint32_t *want)
{
    text_printf(&s->t->ptx, "selp.u32 %%d, 1, 0, %%p;\n");
    store(s, "%d", code, name, want);
}

static void fill(uint32_t *want, int n, uint32_t x)
{
    for (int i = 0; i < n; i++)
        want[i] = x;
}

/* -- shuffles, reductions, votes -- */

static void try_shuffles(struct sheet *s)
{
    uint32_t want[LANES];
    load(s, "%x", 0);
    load(s, "%y", 1);
    /* k is a lane or distance from 0 to 31; the operand is a constant, except in the last test, where it is a
     * register */
    for (int k = 0; k <= 12; k++) {
        int by = k < 6 ? 1 << k >> 1 : k < 12 ? k * 2 + 7 : -1;
        for (int bfly = 0; bfly < 2; bfly++) {
            char name[NAME_BYTES], lane[20];
            for (int i = 0; i < LANES; i++) {
                int n = (by < 0 ? (int)input(s, 1, i) : by) & 31;
                want[i] = input(s, 0, bfly ? i ^ n : n);
            }
            snprintf(lane, sizeof lane, by < 0 ? "%%y" : "%d", by);
            snprintf(name, sizeof name, "shfl.sync.%s.b32, lane %s", bfly ? "bfly" : "idx", lane);
            text_printf(&s->t->ptx, "shfl.sync.%s.b32 %%d, %%x, %s, 31, -1;\n", bfly ? "bfly" : "idx", lane);
            store(s, "%d", INSN_shfl, name, want);
        }
    }
}

static uint32_t combined(const char *op, bool is_signed, uint32_t x, uint32_t y)
{
    bool below = is_signed ? (int32_t)x < (int32_t)y : x < y;
    switch (op[1]) {
    case 'd': return x + y;
    case 'i': return below ? x : y;
    case 'a': return below ? y : x;
    case 'n': return x & y;
    case 'r': return x | y;
    default: return x ^ y;
    }
}

static void try_reductions(struct sheet *s)
{
    static const char *const forms[] = {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32",
                                        "max.s32", "and.b32", "or.b32",  "xor.b32"};
    uint32_t want[LANES];
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        char name[NAME_BYTES];
        uint32_t r = input(s, 0, 0);
        for (int i = 1; i < LANES; i++)
            r = combined(forms[f], strchr(forms[f], 's') != NULL, r, input(s, 0, i));
        fill(want, LANES, r);
        snprintf(name, sizeof name, "redux.sync.%s", forms[f]);
        text_printf(&s->t->ptx, "%s %%d, %%x, -1;\n", name);
        store(s, "%d", INSN_redux, name, want);
    }
}

static void try_votes(struct sheet *s)
{
    static const char *const forms[] = {"any.pred", "all.pred", "uni.pred", "ballot.b32"};
    uint32_t want[LANES];
    /* predicates that are true in no lane, in all lanes, and in lanes with an even word */
    for (int what = 0; what < 3; what++)
        for (int f = 0; f < 4; f++) {
            char name[NAME_BYTES];
            uint32_t yes = what == 0 ? 0 : UINT32_MAX;
            for (int i = 0; i < LANES && what == 2; i++)
                yes &= ~((input(s, 0, i) & 1) << i);
            uint32_t r = f == 0   ? yes != 0
                         : f == 1 ? yes == UINT32_MAX
                         : f == 2 ? yes == 0 || yes == UINT32_MAX
                                  : yes;
            fill(want, LANES, r);
            snprintf(name, sizeof name, "vote.sync.%s", forms[f]);
            text_printf(&s->t->ptx, "and.b32 %%y, %%x, 1;\nsetp.%s %%q, %%y, %d;\n",
                        what == 2 ? "eq.u32" : "lt.u32",
                        what == 0   ? 0
                        : what == 1 ? 2
                                    : 0);
            text_printf(&s->t->ptx, "%s %s, %%q, -1;\n", name, f == 3 ? "%d" : "%p");
            if (f == 3)
                store(s, "%d", INSN_vote, name, want);
            else
                store_predicate(s, INSN_vote, name, want);
        }
}

/* The ISA does not specify which lane is elected; exactly one must be. */
static void try_elections(struct sheet *s)
{
    uint32_t want[LANES];
    fill(want, LANES, 1);
    text_printf(&s->t->ptx,
                "elect.sync _|%%p, -1;\nselp.u32 %%d, 1, 0, %%p;\nredux.sync.add.u32 %%d, %%d, -1;\n");
    store(s, "%d", INSN_elect, "elect.sync", want);
    fill(want, LANES, UINT32_MAX);
    text_printf(&s->t->ptx, "activemask.b32 %%d;\n");
    store(s, "%d", INSN_activemask, "activemask.b32", want);
}

static void try_lanes(struct bench *b)
{
    struct sheet s = begin(b, LANES, 1, "");
    try_shuffles(&s);
    try_reductions(&s);
    try_votes(&s);
    try_elections(&s);
    end(&s);
}

/* -- barriers: one thread stores to shared memory, another reads the value after the barrier -- */

struct exchange {
    enum insn_code code;
    const char *name;
    int distance;       /* thread t reads the value that thread t ^ distance has stored */
    const char *before; /* the PTX between the store and the load */
};

static const struct exchange exchanges[] = {
    {INSN_bar, "bar.sync 0", 127, "bar.sync 0;\n"},
    {INSN_bar, "bar.sync of some", 33, "shr.u32 %z, %t, 6;\nadd.s32 %z, %z, 1;\nbar.sync %z, 64;\n"},
    {INSN_barrier, "barrier.sync", 127, "barrier.sync 2;\n"},
    {INSN_barrier, "barrier.sync of some", 33,
     "shr.u32 %z, %t, 6;\nadd.s32 %z, %z, 3;\nbarrier.sync %z, 64;\n"},
    {INSN_barrier, "barrier.sync.aligned", 127, "barrier.sync.aligned 5;\n"},
    {INSN_bar_warp, "bar.warp.sync", 21, "bar.warp.sync -1;\n"},
    {INSN_fence, "fence.acq_rel.cta", 127, "fence.acq_rel.cta;\nbar.sync 0;\n"},
    {INSN_fence, "fence.acq_rel.gpu", 127, "fence.acq_rel.gpu;\nbar.sync 0;\n"},
    {INSN_fence, "fence.acq_rel.cluster", 127, "fence.acq_rel.cluster;\nbar.sync 0;\n"},
    {INSN_fence, "fence.acq_rel.sys", 127, "fence.acq_rel.sys;\nbar.sync 0;\n"},
    {INSN_fence, "fence.sc.gpu", 127, "fence.sc.gpu;\nbar.sync 0;\n"},
    {INSN_fence_async, "fence.proxy.async", 127, "fence.proxy.async;\nbar.sync 0;\n"},
    {INSN_fence_async, "fence.proxy.async.shared::cta", 127, "fence.proxy.async.shared::cta;\nbar.sync 0;\n"},
    {INSN_grid_wait, "griddepcontrol.wait", 127, "griddepcontrol.wait;\nbar.sync 0;\n"},
    {INSN_grid_launch, "griddepcontrol.launch_dependents", 127,
     "griddepcontrol.launch_dependents;\nbar.sync 0;\n"},
};

enum { BLOCK = 128 };

static void try_exchanges(struct bench *b)
{
    struct sheet s = begin(b, BLOCK, 1, "");
    uint32_t want[BLOCK];
    for (size_t k = 0; k < sizeof exchanges / sizeof *exchanges; k++) {
        const struct exchange *x = &exchanges[k];
        load(&s, "%x", (int)k);
        text_printf(&s.t->ptx,
                    "st.shared.b32 [%%at], %%x;\n%sxor.b32 %%other, %%t, %d;\n"
                    "mad.lo.u32 %%other, %%other, 4, %%sm;\nld.shared.b32 %%d, [%%other];\nbar.sync 0;\n",
                    x->before, x->distance);
        for (int i = 0; i < BLOCK; i++)
            want[i] = input(&s, (int)k, i ^ x->distance);
        store(&s, "%d", x->code, x->name, want);
    }
    end(&s);
}

/* The first half of the threads arrives and continues; the second half waits, and reads the first half's stores. */
static void try_arrivals(struct bench *b)
{
    struct sheet s = begin(b, BLOCK, 1, "");
    uint32_t want[BLOCK];
    load(&s, "%x", 0);
    text_printf(&s.t->ptx,
                "mov.u32 %%d, %%x;\nsetp.ge.u32 %%q, %%t, 64;\n@%%q bra WAIT;\nst.shared.b32 [%%at], %%x;\n"
                "bar.arrive 1, 128;\nbra BEHIND;\nWAIT:\nbar.sync 1, 128;\nxor.b32 %%other, %%t, 64;\n"
                "mad.lo.u32 %%other, %%other, 4, %%sm;\nld.shared.b32 %%d, [%%other];\nBEHIND:\n");
    for (int i = 0; i < BLOCK; i++)
        want[i] = input(&s, 0, i < 64 ? i : i ^ 64);
    store(&s, "%d", INSN_bar_arrive, "bar.arrive", want);
    trial_check(s.t, INSN_bra, 0, BLOCK, WORD, WORD, "bra");
    /* the output of threads that exit before the barrier keeps its initial value 0xee */
    text_printf(&s.t->ptx, "setp.lt.u32 %%p, %%t, 50;\n@%%p ret;\n");
    fill(want, BLOCK, 0xeeeeeeee);
    memcpy(want + 50, s.t->want + 50 * WORD, sizeof want - 50 * WORD);
    store(&s, "%d", INSN_ret, "ret of some threads", want);
    end(&s);
}

static void try_registers(struct bench *b)
{
    struct sheet s = begin(b, 2 * BLOCK, 1, ".minnctapersm 1\n");
    uint32_t want[2 * BLOCK];
    load(&s, "%x", 0);
    text_printf(&s.t->ptx,
                "setp.ge.u32 %%q, %%t, 128;\n@%%q bra LESS;\nsetmaxnreg.inc.sync.aligned.u32 240;\n"
                "add.s32 %%x, %%x, 1;\nbra BEHIND;\nLESS:\nsetmaxnreg.dec.sync.aligned.u32 24;\nBEHIND:\n");
    for (int i = 0; i < 2 * BLOCK; i++)
        want[i] = input(&s, 0, i) + (i < BLOCK);
    store(&s, "%x", INSN_setmaxnreg_inc, "setmaxnreg.inc", want);
    trial_check(s.t, INSN_setmaxnreg_dec, 0, 2 * BLOCK, WORD, WORD, "setmaxnreg.dec");
    end(&s);
}

/* -- addresses -- */

/* The generic address of the input must equal its global address. Converting a shared address to a generic address and
 * back must give the same address. */
static void try_addresses(struct bench *b)
{
    struct sheet s = begin(b, LANES, 1, "");
    uint32_t want[LANES];
    text_printf(&s.t->ptx, "cvta.global.u64 %%l, %%in;\nld.global.b32 %%d, [%%l];\n");
    for (int i = 0; i < LANES; i++)
        want[i] = input(&s, 0, i);
    store(&s, "%d", INSN_cvta, "cvta.global", want);
    text_printf(&s.t->ptx, "cvta.to.global.u64 %%l, %%l;\nld.global.b32 %%d, [%%l];\n");
    store(&s, "%d", INSN_cvta, "cvta.to.global", want);
    text_printf(&s.t->ptx, "cvt.u64.u32 %%l, %%at;\ncvta.shared.u64 %%l, %%l;\ncvta.to.shared.u64 %%l, %%l;\n"
                           "cvt.u32.u64 %%d, %%l;\nsub.s32 %%d, %%d, %%at;\n");
    fill(want, LANES, 0);
    store(&s, "%d", INSN_cvta, "cvta.shared and back", want);
    end(&s);
}

/* -- mbarriers: one thread completes several phases, and tests them -- */

/* Prints tests of the phases of parity 0 and 1. Bit i of `phases` is 1 if the phase of parity i must be complete. */
static void test_phases(struct sheet *s, enum insn_code code, const char *name, uint32_t phases)
{
    uint32_t want[LANES];
    fill(want, LANES, phases);
    for (int parity = 0; parity < 2; parity++)
        text_printf(
            &s->t->ptx,
            "mbarrier.test_wait.parity.shared::cta.b64 %%p, [%%sm], %d;\nselp.u32 %%%c, %d, 0, %%p;\n",
            parity, parity ? 'y' : 'z', 1 << parity);
    text_printf(&s->t->ptx, "or.b32 %%d, %%y, %%z;\n");
    store(s, "%d", code, name, want);
}

static void try_phases(struct bench *b)
{
    struct sheet s = begin(b, LANES, 1, "");
    struct text *p = &s.t->ptx;
    static const char one[] = "@%q ", open[] = "bar.warp.sync -1;\n";
    text_printf(p,
                "setp.eq.u32 %%q, %%t, 0;\n%smbarrier.init.shared::cta.b64 [%%sm], 3;\n"
                "fence.mbarrier_init.release.cluster;\n%s",
                one, open);
    test_phases(&s, INSN_mbarrier_init, "mbarrier.init, 3", 2);
    test_phases(&s, INSN_fence_init, "fence.mbarrier_init", 2);
    text_printf(p, "%smbarrier.arrive.shared::cta.b64 _, [%%sm];\n%s", one, open);
    test_phases(&s, INSN_mbarrier_arrive, "mbarrier.arrive, 1 of 3", 2);
    text_printf(p, "%smbarrier.arrive.shared::cta.b64 _, [%%sm], 2;\n%s", one, open);
    test_phases(&s, INSN_mbarrier_arrive, "mbarrier.arrive, 3 of 3", 1);
    text_printf(p, "%smbarrier.arrive.shared::cta.b64 _, [%%sm], 3;\n%s", one, open);
    test_phases(&s, INSN_mbarrier_test_wait, "mbarrier.test_wait.parity of phase 2", 2);
    text_printf(p, "%smbarrier.arrive.shared::cta.b64 _, [%%sm], 2;\n%s", one, open);
    test_phases(&s, INSN_mbarrier_arrive, "mbarrier.arrive, 2 of 3", 2);
    text_printf(p, "%smbarrier.arrive.expect_tx.shared::cta.b64 _, [%%sm], 48;\n%s", one, open);
    test_phases(&s, INSN_mbarrier_arrive_tx, "mbarrier.arrive.expect_tx, all arrivals", 2);
    text_printf(p,
                "%scp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%%sm+128], [%%in], 48, "
                "[%%sm];\n"
                "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %%p, [%%sm], 0;\n@!%%p bra WAIT;\n",
                one);
    test_phases(&s, INSN_mbarrier_try_wait, "mbarrier.try_wait.parity, the bytes are there", 1);
    uint32_t want[LANES];
    text_printf(
        p, "and.b32 %%z, %%t, 7;\nmad.lo.u32 %%other, %%z, 4, %%sm;\nld.shared.b32 %%d, [%%other+128];\n");
    for (int i = 0; i < LANES; i++)
        want[i] = input(&s, 0, i % 8);
    store(&s, "%d", INSN_bulk_load, "cp.async.bulk from global memory", want);
    end(&s);
}

/* Tests that each lane's completed cp.async counts as one arrival at the mbarrier. */
static void try_copy_arrivals(struct bench *b)
{
    struct sheet s = begin(b, LANES, 1, "");
    uint32_t want[LANES];
    text_printf(
        &s.t->ptx,
        "setp.eq.u32 %%q, %%t, 0;\n@%%q mbarrier.init.shared::cta.b64 [%%sm+1024], 32;\nbar.warp.sync -1;\n"
        "cp.async.ca.shared.global [%%at], [%%in], 4;\n"
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%%sm+1024];\n"
        "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %%p, [%%sm+1024], 0;\n@!%%p bra WAIT;\n"
        "xor.b32 %%other, %%t, 9;\nmad.lo.u32 %%other, %%other, 4, %%sm;\nld.shared.b32 %%d, [%%other];\n");
    for (int i = 0; i < LANES; i++)
        want[i] = input(&s, 0, i ^ 9);
    store(&s, "%d", INSN_cp_async_arrive, "cp.async.mbarrier.arrive.noinc", want);
    end(&s);
}

/* -- clusters: thread 0 of rank r arrives at the mbarrier of the other CTA, and the other CTA waits for this arrival
 * -- */

static void try_cluster(struct bench *b, const char *arrive, const char *wait)
{
    struct sheet s = begin(b, LANES, 4, ".explicitcluster\n.reqnctapercluster 2, 1, 1\n");
    struct text *p = &s.t->ptx;
    uint32_t want[4 * LANES];
    text_printf(p,
                "setp.eq.u32 %%q, %%t, 0;\n@%%q mbarrier.init.shared::cta.b64 [%%sm], 1;\n"
                "@%%q fence.mbarrier_init.release.cluster;\nbar.warp.sync "
                "-1;\nbarrier.cluster.%s;\nbarrier.cluster.%s;\n"
                "mov.u32 %%x, %%cluster_ctarank;\nxor.b32 %%y, %%x, 1;\nmapa.shared::cluster.u32 %%other, "
                "%%sm, %%y;\n"
                "@%%q mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%%other];\n"
                "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %%p, [%%sm], 0;\n@!%%p bra WAIT;\n",
                arrive, wait);
    for (int i = 0; i < 4 * LANES; i++)
        want[i] = (uint32_t)(i / LANES % 2);
    store(&s, "%x", INSN_cluster_arrive, arrive, want);
    trial_check(s.t, INSN_cluster_wait, 0, 4 * LANES, WORD, WORD, "%s", wait);
    trial_check(s.t, INSN_mapa, 0, 4 * LANES, WORD, WORD, "mapa.shared::cluster.u32");
    text_printf(p, "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n");
    end(&s);
}

void try_warp(struct bench *b)
{
    try_lanes(b);
    try_exchanges(b);
    try_arrivals(b);
    try_registers(b);
    try_addresses(b);
    try_phases(b);
    try_copy_arrivals(b);
    try_cluster(b, "arrive.release.aligned", "wait.acquire.aligned");
    try_cluster(b, "arrive.relaxed.aligned", "wait.acquire.aligned");
    try_cluster(b, "arrive", "wait");
    bench_untested(b, INSN_assertfail, "ends a GPU's context; tests/cli/prints.sh runs it on the emulator");
    bench_untested(b, INSN_trap, "ends a GPU's context; tests/unit/emulator.c runs it");
    bench_untested(b, INSN_read_now,
                   "gives another value each time; tests/programs/inline_assembly.py has some");
    bench_untested(b, INSN_asm, "is a text of the user's; tests/programs/inline_assembly.py has some");
    bench_untested(b, INSN_vprintf,
                   "writes to a stream, not to memory; tests/programs run device_print on every device");
}
