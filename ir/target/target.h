/* SPDX-License-Identifier: MIT */
/* target.h: describes the GPUs as data. Generic code calls target_has() or reads a limit, and never compares
 * architecture numbers. The files of ir/target/: target.c (the GPUs), engine.h (the engines that compute dots),
 * fragments.h (operands of mma.sync), wgmma.h (operands of wgmma). */
#ifndef NESO_IR_TARGET_H
#define NESO_IR_TARGET_H

#include <stdbool.h>
#include <stdint.h>

/* Features of GPUs, one row each: word, meaning. */
#define FEATURES(X) \
    X(cp_async, "asynchronous copies global to shared (cp.async)") \
    X(ldmatrix, "matrix loads from shared memory") \
    X(mma_bf16, "mma.sync for bf16 and tf32") \
    X(mma_fp8, "mma.sync for fp8") \
    X(cvt_fp8, "conversions to and from fp8") \
    X(redux, "warp-wide integer reductions (redux.sync)") \
    X(stmatrix, "matrix stores to shared memory") \
    X(mbarrier, "mbarrier with transaction counts") \
    X(cluster, "thread block clusters") \
    X(tma, "tensor memory accelerator") \
    X(setmaxnreg, "registers moved between warpgroups") \
    X(atom_bf16, "atomic add of bf16") \
    X(red_vec, "atomic adds of two or four neighbouring f32 in one instruction") \
    X(bf16_arith, "bf16 add, sub, mul") \
    X(ex2_bf16, "packed bf16 min, max, fma and relatives") \
    X(ld_v8, "256-bit global accesses")

enum feature {
#define X(word, meaning) HAS_##word,
    FEATURES(X)
#undef X
    HAS_count
};

/* Kinds of instructions by the latency of their results; codegen/insns.h lists the kind of each instruction. */
#define LATENCIES(X) \
    X(alu) X(wide) X(slow) X(sfu) X(param) X(global) X(shared) X(warp) X(mma) X(mma_async) X(none)

enum latency {
#define X(word) LATENCY_##word,
    LATENCIES(X)
#undef X
    LATENCY_count
};

/* The units of an SM that its warps share, one row each: word, name, and the quantity that struct target's
 * `rates` counts. */
#define UNITS(X) \
    X(memory, "global memory", "bytes that an SM gets from L2") \
    X(shared, "shared memory", "bytes") \
    X(tensor, "tensor cores", "nothing: the rate is the engine's (mma_rates)") \
    X(special, "special functions", "results") \
    X(issue, "issue slots", "instructions of warps")

enum unit {
#define X(word, name, meaning) UNIT_##word,
    UNITS(X)
#undef X
    UNIT_count
};

/* The engines that compute dots (see engine.h), the slowest first. */
#define ENGINES(X) X(fma) X(mma) X(wgmma)

enum engine {
#define X(word) ENGINE_##word,
    ENGINES(X)
#undef X
    ENGINE_count
};

/* A warpgroup is WARPGROUP_WARPS consecutive warps. They execute a wgmma together, and setmaxnreg applies to
 * all of them. */
enum {
    WARPGROUP_WARPS = 4,
    /* maximum of warpgroups in a kernel with the op stagger_wait: each pair of neighbouring warpgroups needs
     * two named barriers */
    STAGGER_GROUPS_MOST = 4
};

struct target {
    const char *name;        /* for example "sm_90a" */
    const char *generation;  /* for example "Hopper" */
    int capability;          /* major * 10 + minor, to match a device; no pass depends on this number */
    bool arch_specific;      /* the code runs only on this capability (the "a" of the name) */
    int ptx_version;         /* the lowest PTX .version that has the target; 80 means 8.0 */
    uint64_t features;       /* one bit for each enum feature */
    int smem_bytes;          /* maximum of dynamic shared memory of a CTA */
    int smem_sm_bytes;       /* shared memory of an SM */
    int regs_sm;             /* 32-bit registers of an SM */
    int regs_thread;         /* maximum of 32-bit registers of a thread */
    int threads_sm, ctas_sm; /* maximum of threads, and of CTAs, on an SM at once */
    const int *latency_cycles; /* indexed by enum latency; estimates */
    /* work per cycle of each unit of an SM, in the quantity that UNITS names; estimates */
    int rates[UNIT_count];
    /* rows x columns x bytes of K that an SM multiplies per cycle with each engine; estimates; 0: the target
     * lacks the engine */
    int mma_rates[ENGINE_count];
};

extern const struct target targets[];
extern const int ntargets;

const struct target *target_by_name(const char *name);
/* Returns the target of the highest capability that runs on a device of this compute capability; NULL if
 * there is none. */
const struct target *target_for_capability(int major, int minor);
bool target_has(const struct target *t, enum feature f);
/* Returns how many CTAs fit on an SM at once. The limits are the SM's threads and CTAs, its registers (the hardware
 * allocates a thread's registers in multiples of REGS_UNIT), and shared memory (the system reserves a part for each
 * CTA). `threads` and `smem_bytes` are those of a CTA, `regs` (at least 1) those of a thread. If `threads` is
 * 0, only shared memory limits the CTAs. If `smem_bytes` is 0, shared memory does not limit the CTAs. */
enum { REGS_UNIT = 8 };
int target_ctas(const struct target *t, int threads, int regs, int64_t smem_bytes);
/* Returns each thread's share of an SM's registers if `threads` threads (at least 1) share the SM, but at
 * most regs_thread + 1. The result need not be a multiple of REGS_UNIT. */
int target_regs(const struct target *t, int threads);

#endif
