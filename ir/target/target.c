/* SPDX-License-Identifier: MIT */
/* target.c: lists the GPUs, one row each (see target.h). The limits come from NVIDIA's tables of compute
 * capabilities. */
#include "ir/target/target.h"

#include <stddef.h>
#include <string.h>

#define BIT(feature) (UINT64_C(1) << HAS_##feature)

/* The features of each generation. A generation has all features of the previous generation, except that
 * later GPUs may lack cluster and mma_fp8. mma_fp8 means that the hardware's mma takes fp8 operands; on other
 * GPUs ptxas converts fp8 to f16 for every mma.sync. */
#define AMPERE (BIT(cp_async) | BIT(ldmatrix) | BIT(mma_bf16) | BIT(redux) | BIT(ex2_bf16))
#define ADA (AMPERE | BIT(mma_fp8) | BIT(cvt_fp8))
#define SM90                                                                                                 \
    ((ADA & ~BIT(mma_fp8)) | BIT(stmatrix) | BIT(mbarrier) | BIT(tma) | BIT(setmaxnreg) | BIT(atom_bf16) |   \
     BIT(red_vec) | BIT(bf16_arith))
#define HOPPER (SM90 | BIT(cluster))
#define SM100 (SM90 | BIT(cluster) | BIT(ld_v8))
#define SM120 (SM90 | BIT(ld_v8) | BIT(mma_fp8))

enum { KIB = 1024 };

/* The latencies are estimates for all GPUs: the scheduler only needs to know which kind of instruction takes
 * longer. */
static const int cycles[LATENCY_count] = {
    [LATENCY_alu] = 5,    [LATENCY_wide] = 8,        [LATENCY_slow] = 40,   [LATENCY_sfu] = 20,
    [LATENCY_param] = 20, [LATENCY_global] = 400,    [LATENCY_shared] = 30, [LATENCY_warp] = 25,
    [LATENCY_mma] = 33,   [LATENCY_mma_async] = 130, [LATENCY_none] = 1,
};

/* The rates of an SM per cycle. On all GPUs the rates are 128 bytes of shared memory, 16 results of special functions
 * and 4 instructions. The other rates depend on the GPU. `memory` is the number of bytes that each SM gets from L2
 * while all SMs read. `fma`, `mma` and `wgmma` are the rates of the engines for dense dots, as mma_rates
 * counts them (an f32 unit multiplies one f32 per cycle, which is 4 bytes of K). For Hopper, `memory` was
 * measured on an H100, with one program on each SM and 32 KiB of operands in each iteration. An iteration
 * took 988 cycles in a matrix product, and 1010 cycles in a mixture of experts (both 128 x 128 x 64 elements
 * of f16). In a product of fp8 (128 x 128 x 128), an iteration took 1050 cycles. `wgmma` follows from m64n256
 * with 32 bytes of K, which takes 128 cycles. The rates of the other GPUs are estimates. */
#define RATES(memory, fma, mma, wgmma)                                                                       \
    .rates = {[UNIT_memory] = memory, [UNIT_shared] = 128, [UNIT_special] = 16, [UNIT_issue] = 4},           \
    .mma_rates = {fma, mma, wgmma}

const struct target targets[] = {
    {.name = "sm_80",
     .generation = "Ampere",
     .capability = 80,
     .arch_specific = false,
     .ptx_version = 70,
     .features = AMPERE,
     .smem_bytes = 163 * KIB,
     .smem_sm_bytes = 164 * KIB,
     .regs_sm = 64 * KIB,
     .regs_thread = 255,
     .threads_sm = 2048,
     .ctas_sm = 32,
     .latency_cycles = cycles,
     RATES(32, 256, 2048, 0)},
    {.name = "sm_86",
     .generation = "Ampere",
     .capability = 86,
     .arch_specific = false,
     .ptx_version = 71,
     .features = AMPERE,
     .smem_bytes = 99 * KIB,
     .smem_sm_bytes = 100 * KIB,
     .regs_sm = 64 * KIB,
     .regs_thread = 255,
     .threads_sm = 1536,
     .ctas_sm = 16,
     .latency_cycles = cycles,
     RATES(16, 512, 1024, 0)},
    {.name = "sm_89",
     .generation = "Ada",
     .capability = 89,
     .arch_specific = false,
     .ptx_version = 78,
     .features = ADA,
     .smem_bytes = 99 * KIB,
     .smem_sm_bytes = 100 * KIB,
     .regs_sm = 64 * KIB,
     .regs_thread = 255,
     .threads_sm = 1536,
     .ctas_sm = 24,
     .latency_cycles = cycles,
     RATES(16, 512, 1024, 0)},
    {.name = "sm_90a",
     .generation = "Hopper",
     .capability = 90,
     .arch_specific = true,
     .ptx_version = 80,
     .features = HOPPER,
     .smem_bytes = 227 * KIB,
     .smem_sm_bytes = 228 * KIB,
     .regs_sm = 64 * KIB,
     .regs_thread = 255,
     .threads_sm = 2048,
     .ctas_sm = 32,
     .latency_cycles = cycles,
     RATES(32, 512, 2560, 4096)},
    {.name = "sm_100a",
     .generation = "Blackwell",
     .capability = 100,
     .arch_specific = true,
     .ptx_version = 86,
     .features = SM100,
     .smem_bytes = 227 * KIB,
     .smem_sm_bytes = 228 * KIB,
     .regs_sm = 64 * KIB,
     .regs_thread = 255,
     .threads_sm = 2048,
     .ctas_sm = 32,
     .latency_cycles = cycles,
     RATES(32, 512, 2048, 0)},
    {.name = "sm_120a",
     .generation = "Blackwell",
     .capability = 120,
     .arch_specific = true,
     .ptx_version = 87,
     .features = SM120,
     .smem_bytes = 99 * KIB,
     .smem_sm_bytes = 100 * KIB,
     .regs_sm = 64 * KIB,
     .regs_thread = 255,
     .threads_sm = 1536,
     .ctas_sm = 24,
     .latency_cycles = cycles,
     RATES(16, 512, 1024, 0)},
};

const int ntargets = (int)(sizeof targets / sizeof targets[0]);

const struct target *target_by_name(const char *name)
{
    for (int i = 0; i < ntargets; i++)
        if (strcmp(targets[i].name, name) == 0)
            return &targets[i];
    return NULL;
}

/* Code for a target without "a" also runs on later devices of the same major capability; code for a target with
 * "a" runs only on its own capability. */
static bool runs_on(const struct target *t, int capability)
{
    if (t->arch_specific)
        return t->capability == capability;
    return t->capability <= capability && t->capability / 10 == capability / 10;
}

const struct target *target_for_capability(int major, int minor)
{
    const struct target *best = NULL;
    for (int i = 0; i < ntargets; i++)
        if (runs_on(&targets[i], 10 * major + minor) && (!best || best->capability < targets[i].capability))
            best = &targets[i];
    return best;
}

bool target_has(const struct target *t, enum feature f)
{
    return (t->features & UINT64_C(1) << f) != 0;
}

enum {
    WARP = 32,
    QUARTERS = 4 /* an SM has four partitions; each has its own registers and runs every fourth warp */
};

int target_regs(const struct target *t, int threads)
{
    int warps = (threads + WARP * QUARTERS - 1) / (WARP * QUARTERS),
        n = t->regs_sm / (WARP * QUARTERS) / warps;
    return n < t->regs_thread ? n : t->regs_thread + 1;
}

int target_ctas(const struct target *t, int threads, int regs, int64_t smem_bytes)
{
    enum { UNIT_BYTES = 128, SYSTEM_BYTES = KIB };
    int64_t cta_bytes = (smem_bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES + SYSTEM_BYTES;
    int by_memory = (int)(t->smem_sm_bytes / cta_bytes);
    if (!threads)
        return by_memory;
    int warps = t->regs_sm / (WARP * QUARTERS) / ((regs + REGS_UNIT - 1) / REGS_UNIT * REGS_UNIT);
    int n = warps * QUARTERS / ((threads + WARP - 1) / WARP), most = t->threads_sm / threads;
    most = most < t->ctas_sm ? most : t->ctas_sm;
    n = n < most ? n : most;
    return n < by_memory ? n : by_memory;
}
