/* SPDX-License-Identifier: MIT */
/* machine.h: the emulator, a device that executes PTX on this CPU, warp by warp, and checks the accesses to memory.
 *
 *     PTX text ──load──► emu_code: instructions on numbered registers ──run──► the CTAs of the grid, on all cores
 *
 * A register is an array of 32 lanes, so one loop executes an instruction for the whole warp. The emulator and codegen
 * share only the table of instructions (codegen/insns.h). The emulator implements each instruction as the PTX ISA
 * specifies, and its files cite the sections of the PTX ISA.
 *
 *     load.c       text to emu_code                       memory.c     ld, st, atom: bounds, alignment
 *     decode.c     which function executes an instruction shared.c     shared memory, and who accessed it when
 *     exec.c       warps, divergence, the grid            undefined.c  use of registers that were never written
 *     barrier.c    barriers and deadlocks                 order.c      which accesses are ordered
 *     arith.c      integers, bits, comparisons            warp.c       moves between registers and lanes
 *     float.c      floats                                 convert.c    cvt
 *     tensor.c     mma, ldmatrix, stmatrix                async.c      asynchronous copies: cp.async
 *     mbarrier.c   mbarriers and fences                   tma.c        bulk copies, with tensor maps
 *     wgmma.c      wgmma, and accesses to its registers   device.c     the device `emulator`
 *     sums.c       sums of tensor cores
 *     counts.c     what launches cost                     live.c       how many registers are live
 *     overflow.c   addresses that overflowed 32 bits      operands.c   checks that operands fit the instruction's row
 *     special.c    the special function unit              print.c      vprintf and __assertfail
 *     words.c      checks that the words after a mnemonic make one of its forms
 *     loads.c      loads from shared memory that are still in flight
 *     global.c     bytes of global memory that nobody wrote, and races between programs */
#ifndef NESO_RUNTIME_EMULATOR_MACHINE_H
#define NESO_RUNTIME_EMULATOR_MACHINE_H

#include "codegen/mir.h"
#include "runtime/budget.h"
#include "runtime/devices/cpu.h"
#include "runtime/devices/race.h"
#include "runtime/devices/tensormap.h"

#include <math.h>
#include <setjmp.h>

enum { LANES = 32, WARPS_MOST = 32, EMU_OPNDS_MOST = 144, EMU_MODS_MOST = 8 };
#define ALL_LANES UINT32_MAX
/* The first address of a kernel's variables in shared memory. The lower addresses are reserved, as on sm_90. */
enum { SHARED_BASE = 1024 };
/* In a cluster, a shared address is the offset in the CTA's shared memory plus the CTA's rank << RANK_SHIFT. */
enum { RANK_SHIFT = 24, CLUSTER_MOST = 16 };
/* The address of parameter i is PARAM_BASE + i * PARAM_STEP, both in the parameter space and in the generic space. */
#define PARAM_BASE (UINT64_C(0x7fe) << 52)
#define PARAM_STEP (UINT64_C(1) << 20)
/* A generic address is in the window of shared or of local memory if its upper bits, from bit WINDOW_SHIFT on, equal
 * the upper bits of the window's address. */
enum { WINDOW_SHIFT = 52 };
#define SHARED_WINDOW (UINT64_C(0x7fd) << WINDOW_SHIFT)
#define LOCAL_WINDOW (UINT64_C(0x7fc) << WINDOW_SHIFT)

/* The error that stopped a launch or the loading of PTX. For an error in loading, pid and thread are 0. */
struct emu_report {
    enum error error; /* ERR_count: no error */
    struct loc loc;   /* the position in the kernel's sources, from .loc; line 0: unknown */
    int ptx_line;
    int pid[3], thread;
    char what[320];
};

/* -- code -- */

/* An operand of an instruction. The operand has 32 values, one for each lane; the struct says where they are
 * stored. */
struct emu_opnd {
    int reg;        /* the number of the register; -1: the operand is a constant */
    uint8_t cls;    /* enum reg_class */
    size_t at;      /* the byte offset of a register in the warp's values, or of a constant in the code's constants */
    int64_t offset; /* for an address: the constant that is added to the register */
};

struct emu_warp;
struct emu_insn;
/* Computes d = f(a, b, c) for all lanes. d must not overlap an operand. Predicates are bit masks of lanes. */
typedef void emu_compute(void *restrict d, const void *a, const void *b, const void *c, const struct emu_insn *in);
/* Executes the instruction for the lanes `on`. */
typedef void emu_run(struct emu_warp *w, const struct emu_insn *in, uint32_t on);

struct emu_insn {
    uint8_t code, type, from; /* as in struct form (mir.h) */
    uint8_t mods[EMU_MODS_MOST];
    uint8_t nopnds, ndefs, nvec; /* ndefs: results, which come first; nvec: operands in the first braces */
    bool guard_not, joins; /* joins: lanes may reconverge here, because the instruction follows a branch or is a branch
                            * target */
    bool has_address;      /* opnds[address] is an address */
    bool follows;          /* a global address may depend on the instruction's result (overflow.c) */
    uint8_t dropped;       /* enum emu_dropped */
    uint8_t address;
    int guard;             /* the number of the guard's predicate register; -1: no guard */
    uint16_t number;       /* the number that the instruction has in place of `#` in its row of insns.h */
    struct emu_opnd *opnds;
    int target;            /* for bra: the index of an instruction; for ld.param: the index of a parameter */
    emu_run *run;          /* NULL: exec.c executes the instruction (control flow, and instructions that may wait) */
    emu_compute *compute;
    int line;              /* the line number in the PTX */
    struct loc loc;
    const char *text;      /* the instruction's text, for reports */
};

/* How the PTX text marks an unused result. DROPPED_operand: `_` stands in place of the first operand.
 * DROPPED_first: `_|` stands before the first operand. */
enum emu_dropped { DROPPED_none, DROPPED_operand, DROPPED_first };

struct emu_register {
    uint8_t cls;
    uint8_t type; /* the declared type, enum ptype */
    size_t at; /* byte offset in a warp's values */
};

/* A variable in shared memory, in code that may run in clusters. Its address contains the rank of the CTA, so
 * the address is in register `reg` of each warp. `address` is the address without the rank. */
struct emu_symbol {
    int reg, address;
};

struct emu_code {
    const char *name;
    VEC(struct emu_insn) insns;
    VEC(struct emu_register) regs; /* the special registers, and then the declared registers */
    size_t values_bytes;           /* the size of all registers of a warp */
    char *constants;
    size_t constants_bytes, constants_room;
    int nparams;
    int num_threads;               /* the number of threads of a CTA, from .maxntid or .reqntid */
    int cluster[3];                /* the sizes of a cluster, from .reqnctapercluster */
    VEC(struct emu_symbol) symbols; /* variables in shared memory, if the kernel may run in clusters */
    VEC(char) texts;               /* format strings for vprintf */
    bool is_async;                 /* the code has asynchronous copies */
    bool has_wgmma;
    bool follows;                  /* at least one instruction has `follows` set */
    /* the code has atomics, fences, or loads that are acquire, relaxed or volatile, so the results of a CTA may depend
     * on CTAs that ran before */
    bool has_atomics;
    int static_shared_bytes;
    int local_bytes;               /* the size of a thread's local memory */
    int max_registers;             /* .maxnreg; 0: none */
    int min_ctas;                  /* .minnctapersm; 0: none */
    const char *target;
    /* live[i]: a lower bound of the number of live registers of a thread before instruction i; NULL: the code
     * has no setmaxnreg */
    const uint16_t *live;
    VEC(const char *) files;       /* the source files to which .loc refers */
};

static inline bool emu_has_mod(const struct emu_insn *in, enum mod m)
{
    for (int i = 0; i < EMU_MODS_MOST && in->mods[i]; i++)
        if (in->mods[i] == m)
            return true;
    return false;
}

/* -- load.c -- */
/* Parses PTX. After an error, stores the error in *r and returns NULL. */
const struct emu_code *emulator_load(struct arena *a, const char *ptx, size_t bytes, struct emu_report *r);

/* How an operand is written in the PTX text. */
enum emu_form { WRITTEN_register, WRITTEN_special, WRITTEN_constant, WRITTEN_variable, WRITTEN_name };
enum { EMU_DECIMAL = -1 };
struct emu_written {
    struct emu_opnd o; /* for a constant, o.offset has its bits until load.c knows the type that the
                        * instruction requires */
    uint8_t form;
    bool in_braces, in_brackets;
    uint8_t type;      /* the declared type of a register, enum ptype */
    uint8_t want;      /* the type that the instruction requires, enum ptype; set by emu_check_operands */
    uint8_t space;     /* a variable's state space, enum mod */
    int float_bits;    /* for a constant: 32 or 64 for 0f or 0d, EMU_DECIMAL for a decimal with a point, else 0 */
    const char *s;     /* the text of a name */
    size_t len;
};
/* -- operands.c -- */
/* Checks the operands against the instruction's row. If an operand does not fit, writes the reason to `text` and
 * returns false. */
bool emu_check_operands(const struct emu_insn *in, struct emu_written *w, char *text, size_t room);

/* -- words.c -- */
/* Returns whether the words after the mnemonic form a valid variant of instruction `code`. The words are the
 * text from s to `end`, with a dot before each word. */
bool emu_words_fit(int code, const char *s, const char *end);

/* -- decode.c -- */
/* Sets in->run, and for a computation also in->compute. Sets neither if exec.c executes the instruction
 * itself. Returns false if the emulator does not support the instruction. */
bool emu_decode(struct emu_insn *in);

/* A row of a table of functions. `key` is an instruction (enum insn_code) or a modifier (enum mod). emu_find
 * returns the function of the row with the given key and type, or NULL if no row has them. */
struct emu_row {
    uint8_t key, type;
    emu_compute *compute;
};
emu_compute *emu_find(const struct emu_row *rows, size_t n, int key, int type);
#define EMU_FIND(rows, key, type) emu_find(rows, sizeof(rows) / sizeof *(rows), key, type)

/* -- arith.c, float.c, convert.c: return NULL if the emulator does not support the instruction -- */
emu_compute *emu_arith(const struct emu_insn *in);
emu_compute *emu_compare(const struct emu_insn *in);
emu_compute *emu_float(const struct emu_insn *in);
emu_compute *emu_convert(const struct emu_insn *in);
/* The following functions convert between 8-bit or 16-bit floats and double (convert.c). */
double emu_half_value(enum ptype t, uint16_t bits) __attribute__((pure));
void emu_half_values(enum ptype t, int n, const uint16_t *bits, double *x);
double emu_small_value(enum ptype pair, uint8_t bits); /* the value of one float of an fp8 pair */
uint16_t emu_half_round(enum ptype t, double x) __attribute__((pure));

/* Replaces a subnormal number by 0 of the same sign, as .ftz requires. */
static inline float emu_flush(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

/* -- special.c: the special function unit, for .approx and .approx.ftz -- */
float special_ex2(float x);
float special_ex2_ftz(float x);
float special_lg2(float x);
float special_lg2_ftz(float x);
float special_rcp_ftz(float x);
float special_rsqrt_ftz(float x);
float special_sqrt_ftz(float x);

/* -- running (exec.c) -- */

struct emu_launch {
    int grid[3];
    const uint64_t *args;
    const struct cpu_buffer *buffers;
    int nbuffers;
    int shared_bytes; /* the size of dynamic shared memory */
    /* the number of programs that each CTA runs, one in each warp; 0: a CTA runs one program, in all its
     * warps */
    int packs;
    bool turned;      /* consecutive CTAs run programs that are consecutive along axis 1, not axis 0 */
    bool pairs;       /* clusters have two CTAs along x, unless the code declares more along x */
    int cluster[3];   /* the sizes of a cluster; emulator_run sets them */
    int num_workers;  /* the largest number of threads; 0: one for each core */
    uint64_t seed;    /* determines the order of asynchronous operations */
    struct emu_tally *tallies; /* receives the costs of each instruction; NULL: counting is off */
    long long sample; /* the number of evenly spaced CTAs to run, rounded up to whole clusters; 0: all */
    struct race *race;  /* the race detector, with which the launch runs on one thread; NULL: races are not
                         * checked */
    bool has_undefined; /* a buffer has bytes that were never written */
    const struct memory *mem;
    struct budget *budget; /* limits the time and the number of steps; a step is one instruction of a warp; NULL: no limits */
    /* Receives printed output; NULL: the output is discarded. */
    void (*write)(void *ctx, const char *s, size_t n);
    void *write_ctx;
    struct emu_report report;
};
/* Returns the number of CTAs in a cluster. `pairs` is the launch's field of this name. */
int emulator_cluster_ctas(const struct emu_code *code, bool pairs);
/* Runs a launch. After an error, stores the error in l->report and returns false. */
bool emulator_run(const struct emu_code *code, struct emu_launch *l);

/* An event for which lanes wait: the number of a barrier of the CTA (0 to 15), or a constant WAIT_*. */
enum { WAIT_nothing = -1, BARRIERS = 16, WAIT_lanes = BARRIERS, WAIT_warpgroup, WAIT_cluster, WAIT_mbarrier,
       WAIT_registers };

/* A group of lanes that have the same pc, and that run or wait together. */
struct emu_group {
    int pc; /* the index of the instruction at which the lanes continue */
    uint32_t mask;
    int waits; /* the event for which the lanes wait */
};

/* The shadow of a byte of shared memory records the accesses to the byte. Several clusters run one after the
 * other in the same memory, and the times of accesses (order.c) increase from cluster to cluster. A cluster
 * can therefore recognize and ignore the accesses of earlier clusters, and begin_cluster clears the shadows
 * only before the times could overflow. A shadow holds READERS reads. A read that is ordered before the
 * newest read is not needed any more. If more than READERS reads are needed, the shadow keeps the oldest, the
 * newest, and some of the others. */
enum { READERS = 3, COPY_generic = 1, COPY_async = 2 };
struct emu_shadow {
    uint32_t written, read[READERS]; /* times of the accesses; 0: none */
    int write_line, read_line[READERS]; /* PTX lines of the accesses */
    uint16_t writer, reader[READERS]; /* actors (order.c) that made the accesses */
    uint8_t undefined;      /* the byte's undefined bits */
    /* COPY_generic: a cp.async wrote the byte; COPY_async: a bulk copy, which uses the async proxy, wrote it;
     * 0: a warp wrote it */
    uint8_t by_copy;
    /* 1 + the swizzle (tensormap.h) of the tensor map that loaded the byte; 0: no copy with a tensor map loaded it */
    uint8_t laid;
};

/* wait_group n waits for all groups of asynchronous operations except the last n. The emulator supports n up
 * to GROUPS_KNOWN - 1. */
enum { GROUPS_KNOWN = 32 };

/* A barrier of a CTA (bar.sync, bar.arrive). */
struct emu_barrier {
    int arrived, expected; /* numbers of threads; expected is 0 until the first arrival */
    uint32_t *seen;        /* a vector clock (order.c), to which each arriving warp publishes its accesses
                            * (emu_publish) */
};

/* A copy or an arrival. At the end of a cluster, emu_check_end checks that a warp of the CTA has waited for
 * it. */
struct emu_event {
    uint32_t time; /* the time of the event; 0: it never happened */
    struct emu_warp *w;
    const struct emu_insn *in;
};

/* The last completed wait of a warp at an mbarrier: the number of the phase for which the warp waited, and
 * the time at which the wait ended. */
struct emu_ask {
    uint32_t phase, time;
    const struct emu_insn *in; /* the wait instruction; NULL: there was no wait */
};

/* An mbarrier. Its phase completes when no arrivals and no bytes are pending. */
enum { MBARRIERS_MOST = 64 };
struct emu_mbarrier {
    int at; /* the mbarrier's offset in shared memory */
    bool live, fenced; /* live: the mbarrier is initialized; fenced: its initialization is visible to copies
                        * and to other CTAs */
    int count, pending;
    /* the number of expected bytes that have not arrived; negative if bytes arrived before expect_tx */
    int64_t bytes;
    uint32_t phase;
    uint32_t landed;        /* of the copies whose bytes have arrived, the latest time of issue */
    struct emu_event copy;  /* the last copy whose bytes arrived, in any phase */
    /* vector clocks (order.c) to which arriving warps publish their accesses: in this phase (coming), and in
     * the previous phase (done) */
    uint32_t *coming, *done;
    struct emu_ask *asked;   /* the last completed wait of each warp of the CTA */
    struct emu_warp *maker; /* the warp that initialized the mbarrier */
    const struct emu_insn *expects; /* the last expect_tx in this phase */
    struct emu_warp *expecter;
};

struct emu_cta {
    const struct emu_code *code;
    const struct emu_launch *launch;
    struct emu_cluster *cluster;
    int rank; /* the CTA's rank in its cluster */
    int pid[3];
    int nwarps;
    struct emu_warp *warps;
    unsigned char *shared;
    struct emu_shadow *shadow;
    int shared_bytes;
    const struct cpu_buffer *last; /* the buffer of the last global access, as a cache */
    bool is_in_last; /* all lanes of the last access are in the buffer `last` */
    struct emu_barrier barriers[BARRIERS];
    struct emu_mbarrier *mbarriers;
    int nmbarriers;
    /* the number of registers that setmaxnreg has released and that no warp has acquired again. This is the
     * sum, over all warps, of a warp's registers per thread */
    int spare_registers;
    struct race_party party;
    struct emu_event *arrivals; /* for each actor of another CTA: the actor's last arrival at an mbarrier of this CTA */
};

/* A cluster: CTAs that run together. Usually, a cluster has only one CTA. */
struct emu_cluster {
    const struct emu_code *code;
    const struct emu_launch *launch;
    int nctas, nactors;
    struct emu_cta *ctas;
    uint32_t time, began;  /* the current time, and the time at which the cluster began */
    bool may_release;      /* something has happened that may release waiting warps */
    uint64_t random;
    /* vector clocks to which warps that arrive at the cluster's barrier publish their accesses: in this phase
     * (coming), and in the previous phase (done) */
    uint32_t *coming, *done;
    struct emu_op *ops;    /* pending asynchronous operations, in no particular order */
    int nops;
    uint32_t issued;       /* the number of operations issued since the cluster began */
    struct emu_tally *tallies; /* the tallies of the thread that runs the cluster; NULL: counting is off */
    int unasked;           /* the number of instructions that warps may execute until the next check of the
                            * budget */
    struct emu_report report;
    jmp_buf fail;
};

enum { LOADS_MOST = 32, RANGES_MOST = 64 };

/* A load from shared memory whose data may not have arrived in registers yet, and the ranges of bytes that it reads. */
struct emu_load {
    const struct emu_insn *in;
    int nranges;
    struct emu_range { int at, bytes; } ranges[RANGES_MOST];
};

struct emu_warp {
    struct emu_cta *cta;
    int index;
    int actor;        /* the number of the actor (order.c) for the warp's own accesses */
    /* the program to which the warp's accesses to global memory belong: the CTA's program, or own_party if programs
     * are packed */
    struct race_party *party, own_party;
    int pc;
    uint32_t mask;    /* the lanes of the current group; 0: none */
    uint32_t exited;
    struct emu_group waiting[LANES];
    int nwaiting;
    char *values;
    uint32_t *defined;             /* defined[r]: a mask of the lanes of register r in which every bit is
                                    * defined */
    uint64_t (*undefined)[LANES];  /* undefined[r]: the undefined bits of the lanes of r that are not in
                                    * defined[r] */
    unsigned char *local, *local_undefined; /* local memory, lane by lane, and its undefined bits */
    /* wrapped[r]: a mask of the lanes of register r whose value came from 32-bit arithmetic that overflowed;
     * NULL: no address of the kernel depends on 32-bit arithmetic */
    uint32_t *wrapped;
    int64_t (*exact)[LANES];       /* exact[r]: the results without overflow, in the lanes wrapped[r] */
    const struct emu_insn *wrapping; /* the last instruction whose result overflowed */
    uint64_t scratch[4 * LANES];   /* the output of compute functions */
    /* the warp's vector clock: the accesses of actor a up to time seen[a] are ordered before the warp's next access */
    uint32_t *seen;
    uint32_t *released;            /* the warp's vector clock at its last fence, not counting proxy fences */
    uint32_t unfenced;             /* the lanes that have written shared memory since their last proxy fence */
    int budget;                    /* the number of registers per thread that setmaxnreg has set; 0: the warp
                                    * has executed no setmaxnreg */
    /* the lanes that have arrived at the cluster's barrier in this phase */
    uint32_t cluster_arrived;
    /* the lanes that have arrived in a phase that is complete, and have not waited for this phase yet */
    uint32_t cluster_passed;
    int store_groups;              /* the number of committed groups of bulk stores */
    /* the times and lanes of the last commits of groups of bulk stores */
    struct emu_group_time { uint32_t time; int lane; } store_times[GROUPS_KNOWN];
    uint32_t stored;               /* the issue time of the last bulk store; last_store is its instruction */
    const struct emu_insn *last_store;
    int mma_groups;                /* the number of committed groups of wgmma */
    uint32_t mma_times[GROUPS_KNOWN]; /* the commit times of the last groups of wgmma */
    int mma_awaited;               /* the warp waits for the wgmma groups with numbers below mma_awaited; 0:
                                    * the warp does not wait */
    /* flying[r] is 0 if no wgmma in flight uses register r; otherwise, it is 2 * (the wgmma's group + 1), plus 1 if r
     * belongs to the wgmma's D */
    uint32_t *flying;
    bool *fresh;                   /* fresh[r]: register r was written after the last wgmma.fence */
    struct emu_load *loads;        /* NULL: the kernel has no asynchronous operations */
    uint32_t loading;              /* bit i: the data of loads[i] may not have arrived yet */
    uint32_t *carried;             /* bit i of carried[r]: register r is computed from the data of loads[i] */
    int load_now;                  /* the index in `loads` of the load that the current instruction executes;
                                    * -1: it executes none */
    int copy_groups;               /* the number of committed groups of cp.async */
    uint32_t copy_times[GROUPS_KNOWN]; /* the commit times of the last groups of cp.async */
};

/* Ends the launch with a report that names instruction `in` and the thread of `lane`. */
_Noreturn void emu_fail(struct emu_warp *w, const struct emu_insn *in, int lane, enum error e, const char *format, ...)
    PRINTF_LIKE(5, 6);
/* Returns a pointer to the `bytes` bytes at address `at` of a lane's local memory. Fails with a report if
 * they are out of bounds or not aligned. */
unsigned char *emu_local_at(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t at, int bytes);
/* -- print.c -- */
void emu_run_assertfail(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
void emu_run_vprintf(struct emu_warp *w, const struct emu_insn *in, uint32_t on);

static inline const void *emu_read(const struct emu_warp *w, const struct emu_opnd *o)
{
    return (o->reg < 0 ? w->cta->code->constants : w->values) + o->at;
}

static inline uint32_t emu_defined(const struct emu_warp *w, const struct emu_opnd *o)
{
    return o->reg < 0 ? ALL_LANES : w->defined[o->reg];
}

static inline int emu_class_bytes(enum reg_class cls)
{
    return class_info[cls].bits < 16 ? 4 : class_info[cls].bits / 8;
}

static inline int emu_first_lane(uint32_t lanes)
{
    return __builtin_ctz(lanes);
}

/* -- exec.c -- */
/* Puts the lanes `mask` into a waiting group, which continues at `pc` after the event `waits` (WAIT_nothing:
 * at any time). */
void emu_park(struct emu_warp *w, int pc, uint32_t mask, int waits);

/* -- barrier.c -- */
/* Executes an instruction at which the lanes `on` may have to wait, and puts each lane into a waiting group
 * (emu_park). */
void emu_arrive(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
/* Ends the waits whose events have happened. If c->may_release is set, also ends the waits for mbarriers and
 * for registers, so that their instructions check again. Returns false if no warp can continue. */
bool emu_release(struct emu_cluster *c);
/* Ends the launch with a report of a deadlock. */
_Noreturn void emu_deadlock(struct emu_cluster *c);

/* -- order.c -- */
/* The kinds of actors that access shared memory. A warp's asynchronous copies are actors of their own,
 * because their accesses are ordered before the warp's next access only after the warp has waited for
 * them. */
enum emu_actor {
    ACTOR_warp,
    ACTOR_fenced,  /* not an actor; its entry in a vector clock is the time of the warp's last proxy fence */
    ACTOR_copies,  /* the warp's cp.async */
    ACTOR_stores,  /* the warp's bulk stores, which read shared memory */
    /* the reads of shared memory by a warpgroup's wgmmas; the time of a read is the cluster's start time plus the
     * number of the wgmma's group */
    ACTOR_warpgroup,
    ACTOR_mbarrier /* bulk loads that an mbarrier counts */
};
int emu_actors(const struct emu_code *code); /* the number of actors of one CTA */
/* Returns the number of an actor. `index` is the number of its warp, warpgroup (ACTOR_warpgroup) or mbarrier
 * (ACTOR_mbarrier) in CTA c. */
int emu_actor(const struct emu_cta *c, enum emu_actor kind, int index) __attribute__((pure));
/* Returns whether an access of actor `who` at `time` is ordered before w's next access. */
static inline bool emu_is_over(const struct emu_warp *w, int who, uint32_t time)
{
    return who == w->actor || time <= w->seen[who];
}
/* Publishes all accesses that w has made or seen so far: merges w's vector clock and the current time into the vector
 * clock `seen`. A later emu_see(other, seen) orders these accesses before the next access of warp `other`. */
void emu_publish(struct emu_warp *w, uint32_t *seen);
void emu_see(struct emu_warp *w, const uint32_t *seen);
/* Orders the accesses of `actor` up to `time` before w's next access. */
void emu_see_until(struct emu_warp *w, int actor, uint32_t time);
/* Merges the vector clock `other` into `seen`: each entry becomes the greater of the two. */
void emu_join(const struct emu_cluster *c, uint32_t *seen, const uint32_t *other);

/* -- async.c -- */
emu_run emu_run_cp_async, emu_run_cp_commit, emu_run_cp_wait, emu_run_cp_arrive;
bool emu_decode_cp_async(struct emu_insn *in);
/* Adds an asynchronous operation to the pending operations. The caller sets the operation's member `finish`,
 * a function that performs the operation later. */
struct emu_op *emu_begin_op(struct emu_warp *w, const struct emu_insn *in, int lane);
/* Removes c->ops[number] from the pending operations, and performs it. */
void emu_finish_op(struct emu_cluster *c, int number);
/* The copy that one active lane of a cp.async makes. */
struct emu_copy {
    unsigned char *to;
    const unsigned char *from;
    /* bytes: the number of bytes that are written; taken: the number of bytes that are read. The written
     * bytes after these are zeros */
    uint8_t bytes, taken;
};
struct emu_op {
    void (*finish)(struct emu_op *op);
    struct emu_warp *w;
    const struct emu_insn *in;
    int lane, group;
    uint32_t time, number; /* the time of issue, and the number of operations that the cluster has issued
                            * before */
    int ncopies;
    union {
        struct emu_copy copies[LANES];
        struct emu_mbarrier *arrives; /* the mbarrier of a cp.async.mbarrier.arrive */
        struct {
            /* the tensor map as it was when the copy was issued, because the kernel may store to a map in global
             * memory; rank 0: the copy has `bytes` contiguous bytes */
            struct packed_map map;
            int32_t coords[5];
            uint64_t global;
            int bytes, at; /* size of the copy, and its offset in shared memory */
            struct emu_cta *cta;
            struct emu_mbarrier *mbarrier;
        } bulk;
    };
};

/* -- mbarrier.c -- */
emu_run emu_run_mbarrier_init, emu_run_mbarrier_arrive, emu_run_mbarrier_test, emu_run_fence;
/* Returns the lanes of `on` whose awaited phase is complete. */
uint32_t emu_mbarrier_ready(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
/* Returns the mbarrier at an address, and sets *cta to its CTA. Fails with a report if there is no mbarrier, if its
 * initialization is not visible to the warp, or if the mbarrier is in a CTA that has ended. If the mbarrier is in
 * another CTA, or if a copy uses it (`remote`), a fence.mbarrier_init or fence.proxy.async must also have followed the
 * initialization. */
struct emu_mbarrier *emu_mbarrier_at(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address,
                                     bool remote, struct emu_cta **cta);
/* Tells the mbarrier of the bulk load `copy` that the bytes of the load have arrived. */
void emu_mbarrier_land(const struct emu_op *copy);
/* Performs n arrivals, which publish only the accesses of `actor` up to `time`. */
void emu_mbarrier_arrive_for(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_mbarrier *m, int n,
                             int actor, uint32_t time);
/* Returns the mbarrier at the instruction's address operand. */
struct emu_mbarrier *emu_mbarrier_of(struct emu_warp *w, const struct emu_insn *in, int lane);
/* Describes in `text` the wait of the group g of lanes for an mbarrier. If all arrivals are complete, but the
 * number of expected bytes is wrong, fails with a report at the expect_tx instead. */
void emu_mbarrier_say(struct emu_warp *w, const struct emu_group *g, char *text, size_t bytes);

/* -- tma.c -- */
emu_run emu_run_tma_load, emu_run_tma_store, emu_run_bulk_load, emu_run_bulk_commit, emu_run_bulk_wait,
    emu_run_bulk_prefetch, emu_run_nothing;
bool emu_decode_bulk(struct emu_insn *in);
/* Called at the end of a cluster: performs the pending operations. Some operations require that a warp waits
 * for them (tma.c). Fails with a report if no warp has waited for such an operation. */
void emu_check_end(struct emu_cluster *c);

/* -- sums.c -- */

enum { EMU_DEPTH_MOST = 32, EMU_ROWS = 16, EMU_COLUMNS_MOST = 256 };

/* The operands of c = a b + c for a warp's 16 rows. The elements of a and b have type f16, bf16, f32 (for tf32), s8,
 * u8, or a pair of fp8. The elements of c have type f32, f16 or s32. */
struct emu_dot {
    enum ptype a_type, b_type, c_type;
    int depth, columns;
    double a[EMU_DEPTH_MOST][EMU_ROWS], b[EMU_DEPTH_MOST][EMU_COLUMNS_MOST], c[EMU_ROWS][EMU_COLUMNS_MOST];
};
/* Replaces c by a b + c, with the rounding of one instruction of the tensor cores (mma or wgmma) on an H200 (sums.c).
 * Overwrites operands that are not finite. */
void emu_sum(struct emu_dot *m);

/* -- wgmma.c -- */
bool emu_is_wgmma(const struct emu_insn *in) __attribute__((pure));
/* Returns whether the instruction is a wgmma that may add to D, that is, whose operand scale-d is not the
 * constant false. A register as scale-d may still disable the addition at run time. */
bool emu_wgmma_adds(const struct emu_insn *in) __attribute__((pure));
bool emu_decode_wgmma(struct emu_insn *in);
/* Returns the number of multiplications and additions of one warp in a wgmma; 0 if the instruction is not a
 * wgmma. */
int emu_wgmma_operations(const struct emu_insn *in) __attribute__((pure));
emu_run emu_run_wgmma, emu_run_wgmma_fence, emu_run_wgmma_commit;
int emu_first_registers(const struct emu_code *c); /* the registers per thread before any setmaxnreg */
/* Executes setmaxnreg. Returns false, without an effect, if the registers are not available yet. */
bool emu_set_registers(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
/* Executes wgmma.wait_group n, which waits for all groups except the last n. */
void emu_wgmma_wait(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
/* Checks the registers of an instruction that is not a wgmma. Fails with a report if the instruction writes a
 * register that a wgmma in flight uses, or reads a register that a wgmma in flight writes. */
void emu_wgmma_watch(struct emu_warp *w, const struct emu_insn *in);

/* -- async.c again -- */
/* Returns the size in bytes of the array of a cluster's pending asynchronous operations. */
size_t emu_async_bytes(const struct emu_code *code);
/* Performs one pending asynchronous operation, chosen at random. Returns false if there is none. */
bool emu_async_step(struct emu_cluster *c);
/* Returns a pseudorandom number from 0 to below - 1. */
uint32_t emu_random(struct emu_cluster *c, uint32_t below);

/* -- warp.c: registers -- */
/* Returns the bits of operand o in a lane. */
uint64_t emu_lane(const struct emu_warp *w, const struct emu_opnd *o, int lane);
/* Stores one lane of a register, together with the mask of its undefined bits. */
void emu_set_lane(struct emu_warp *w, const struct emu_opnd *o, int lane, uint64_t bits, uint64_t undefined);
/* Stores the lanes `on` of `values` to register o. `values` has the register class of o. */
void emu_commit(struct emu_warp *w, const struct emu_opnd *o, uint32_t on, const void *values);
emu_run emu_run_compute, emu_run_pack, emu_run_unpack, emu_run_param, emu_run_shfl, emu_run_redux, emu_run_policy,
    emu_run_vote, emu_run_activemask, emu_run_elect, emu_run_timer;
emu_compute *emu_address_compute(const struct emu_insn *in);

/* -- undefined.c -- */
/* Returns a mask of the undefined bits of operand o in a lane. */
uint64_t emu_undefined_opnd(const struct emu_warp *w, const struct emu_opnd *o, int lane);
/* Returns a mask of the undefined bits of a compute instruction's result in a lane. */
uint64_t emu_undefined_result(const struct emu_warp *w, const struct emu_insn *in, int lane);
/* Fails with a report if one of the low `bits` bits of operand o is undefined in one of the lanes `on`.
 * `what` describes o in the report. */
void emu_need_defined(struct emu_warp *w, const struct emu_insn *in, const struct emu_opnd *o, int bits, uint32_t on,
                      const char *what);

/* -- memory.c -- */
emu_run emu_run_ld, emu_run_st, emu_run_atom;
/* Computes the addresses of operand o in all lanes. */
void emu_addresses(struct emu_warp *w, const struct emu_insn *in, const struct emu_opnd *o, uint32_t on, uint64_t *at);
/* Checks the accesses of the lanes `on`: lane i accesses `bytes` bytes at address at[i] of global memory.
 * Fails with a report if an access is not inside one buffer, or not aligned to its size. */
void emu_check_global(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *at, int bytes);

/* -- global.c -- */
/* Called when a warp begins. Tells race.c that a program begins: if programs are packed, the warp's own
 * program; otherwise, if w is the CTA's first warp, the CTA's program. */
void emu_begin_party(struct emu_warp *w);
/* These functions record an acquire or a release by the warp's program (race.c). */
void emu_acquire(struct emu_warp *w);
void emu_release_accesses(struct emu_warp *w);
int emu_granule(const struct emu_code *code); /* returns the granule for race_begin */
/* These functions check and record an access to global memory before it happens. The access must be inside one buffer.
 * `value` points to the bytes to be written; it is NULL if the access is an atomic. */
void emu_global_read(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t at, uint64_t bytes);
void emu_global_write(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t at, uint64_t bytes,
                      const void *value);
/* Returns the masks of the undefined bits of a range of global memory, one for each byte; NULL if all bits
 * are defined. */
const unsigned char *emu_global_undefined(struct emu_warp *w, uint64_t at, uint64_t bytes);
/* Returns the lanes of `on` that read undefined bits. */
uint32_t emu_undefined_lanes(struct emu_warp *w, uint32_t on, const uint64_t *at, int bytes);

/* -- tensor.c -- */
bool emu_is_mma(const struct emu_insn *in);
/* Returns the number of multiplications and additions of an mma of a warp; 0 if the instruction is not an mma. */
int emu_mma_operations(const struct emu_insn *in) __attribute__((pure));
emu_run emu_run_mma, emu_run_ldmatrix, emu_run_stmatrix;

/* -- shared.c -- */
/* Checks the bounds and the alignment of an access to the shared memory of the warp's CTA, and returns a
 * pointer to the memory. */
unsigned char *emu_shared_at(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address, int bytes);
/* Checks that a read by the warp is not a race, and records the read. ORs the undefined bits of the bytes to
 * *undefined. Does not copy the bytes. */
void emu_shared_read(struct emu_warp *w, const struct emu_insn *in, int lane, const unsigned char *p, int bytes,
                     uint64_t *undefined);
/* Checks that a write by the warp is not a race, records the write, and performs it. */
void emu_shared_write(struct emu_warp *w, const struct emu_insn *in, int lane, unsigned char *p, int bytes,
                      uint64_t value, uint64_t undefined);
/* Checks the bounds and the alignment of a range of shared memory. Sets *cta to the CTA of the cluster that
 * the address selects, and returns the offset of the range in the shared memory of this CTA. */
int emu_shared_range(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address, int bytes, int align,
                     struct emu_cta **cta);
/* Checks that a copy that w has issued may write to the shared memory of CTA c without a race, and records
 * the write as an access of `actor`. */
void emu_shared_claim(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_cta *c, int at, int bytes,
                      int actor);
/* Checks that a bulk store or wgmma that w has issued may read the shared memory of CTA c at `time` without a
 * race, and records the read as an access of `actor`. Returns true if some of the bytes are undefined. */
bool emu_shared_lend(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_cta *c, int at, int bytes,
                     int actor, uint32_t time);
/* Checks that the initialization of the mbarrier at offset `at` of CTA c is visible to w, which uses the
 * mbarrier. */
void emu_shared_need_seen(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_cta *c, int at);
/* Checks that an atomic access to shared memory is in bounds, is aligned, and accesses only defined bytes. Does not
 * detect races. Returns a pointer to the memory. */
unsigned char *emu_shared_atomic(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address, int bytes);

/* Records a second time that an earlier load of the warp has read shared memory, now with the current time.
 * `line` is the load's line of the PTX. */
void emu_shared_read_again(struct emu_warp *w, int at, int bytes, int line);

/* -- loads.c -- */
size_t emu_loads_bytes(void); /* the size in bytes of emu_warp.loads */
/* Called before each instruction. If the operands of `in` contain the data of loads, or values computed from
 * the data, there are two cases. If `in` is pure arithmetic, its results are recorded as computed from the
 * data. Otherwise, the data are recorded as arrived. */
void emu_loads_watch(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
/* Records that `in`, the current instruction, loads bytes that a bulk copy has written. `at` is their offset
 * in the shared memory of the CTA. */
void emu_loads_note(struct emu_warp *w, const struct emu_insn *in, int at, int bytes);
/* Records that the data of some loads of the warp have arrived. Bit i of `loads` stands for w->loads[i]. */
void emu_loads_arrive(struct emu_warp *w, uint32_t loads);
/* Checks a bulk copy, issued by w, that overwrites bytes of CTA c. Fails with a report if a load of CTA c
 * reads some of these bytes, and the data of the load may not have arrived yet. */
void emu_loads_check(struct emu_warp *w, const struct emu_insn *in, int lane, const struct emu_cta *c, int at,
                     int bytes);

/* -- overflow.c -- */
/* Sets `follows` of the code and of its instructions. */
void emu_find_addresses(struct arena *a, struct emu_code *code);
/* Called before an instruction with `follows` is executed: finds the lanes in which the result is wrong
 * because 32-bit arithmetic has overflowed. */
void emu_follow(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
/* Fails with a report if operand o, an address, was computed from 32-bit arithmetic that overflowed in one of the lanes
 * `on`. */
void emu_need_fit(struct emu_warp *w, const struct emu_insn *in, const struct emu_opnd *o, uint32_t on);

/* -- live.c -- */
/* Returns an array, allocated in `a`, that contains for each instruction the number of 32-bit registers of a
 * thread that are live before the instruction. If `surely` is true, does not count registers that have the
 * same value in all lanes. */
uint16_t *emu_live_registers(struct arena *a, const struct emu_code *code, bool surely);

/* -- counts.c -- */
/* The costs of one instruction, summed over all warps. */
struct emu_tally {
    /* the number of times that warps executed the instruction, and the sum of their active lanes */
    uint64_t executed, lanes;
    /* accesses to global memory: the number of bytes and of 32-byte sectors, and the number of sectors that the bytes
     * would fill if they were contiguous */
    uint64_t bytes, sectors, sectors_least;
    /* accesses to shared memory: the number of wavefronts, and the number of wavefronts that bank conflicts cause */
    uint64_t wavefronts, conflicts;
};
/* The counters of all launches since emu_counts_new. */
struct emu_counts;
/* `programs` is the number of CTAs of each launch to run; 0 means all. Returns NULL if there is no memory. */
struct emu_counts *emu_counts_new(const struct memory *mem, int64_t programs);
void emu_counts_free(struct emu_counts *c); /* c may be NULL */
/* Runs a launch as emulator_run does, and updates the counters. Sums the counts of all launches of kernels with the
 * same `id`. */
bool emu_counts_run(struct emu_counts *c, const struct emu_code *code, const char *name, const char *id,
                    struct emu_launch *l);
void emu_counts_each(struct emu_counts *c, neso_counts_fn *each, void *user);
void emu_counts_help(struct text *out);
/* Counts an access of `bytes` bytes by each of the lanes `on`, at aligned addresses. */
void emu_count_global(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *at, int bytes);
void emu_count_shared(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *at, int bytes);
/* Counts a bulk copy of contiguous bytes. */
void emu_count_row(struct emu_warp *w, const struct emu_insn *in, uint64_t at, uint64_t bytes);

#endif
