/* machine.h: the emulator, a device that executes PTX on this CPU, warp by warp, and checks its accesses.
 *
 *     PTX text ──load──► emu_code: instructions on numbered registers ──run──► every CTA of the grid, on all cores
 *
 * A register is an array of 32 lanes, so one instruction is one loop. The emulator shares only the spelling
 * and the classes of instructions with codegen (codegen/insns.h); it implements their meaning from the PTX ISA, whose
 * sections the files name.
 *
 *     load.c       text to emu_code                       memory.c     ld, st, atom: bounds, alignment
 *     decode.c     which function executes an instruction shared.c     shared memory, and who accessed it when
 *     exec.c       warps, divergence, the grid            undefined.c  use of registers that were never written
 *     barrier.c    barriers and deadlocks                  order.c      which accesses are ordered
 *     arith.c      integers, bits, comparisons            warp.c       moves between registers and lanes
 *     float.c      floats                                 convert.c    cvt
 *     tensor.c     mma, ldmatrix, stmatrix                async.c      asynchronous copies: cp.async
 *     mbarrier.c   mbarriers and fences                   tma.c        bulk copies, with tensor maps
 *     wgmma.c      wgmma, and accesses to its registers   device.c     the device `emulator`
 *     sums.c       how tensor cores add and round
 *     counts.c     what launches cost                     live.c       how many registers are live
 *     overflow.c   addresses that overflowed 32 bits      operands.c   do operands fit the instruction's row?
 *     words.c      do the words behind a mnemonic make one of its forms? */
#ifndef NESO_RUNTIME_EMULATOR_MACHINE_H
#define NESO_RUNTIME_EMULATOR_MACHINE_H

#include "codegen/mir.h"
#include "runtime/budget.h"
#include "runtime/devices/cpu.h"

#include <setjmp.h>

enum { LANES = 32, WARPS_MOST = 32, EMU_OPNDS_MOST = 144, EMU_MODS_MOST = 8 };
#define ALL_LANES UINT32_MAX
/* Where the window of shared memory begins: the system reserves the addresses below, as on sm_90. */
enum { SHARED_BASE = 1024 };
/* In a cluster, a shared address has the rank of its CTA in the bits from this one up. */
enum { RANK_SHIFT = 24, CLUSTER_MOST = 16 };
/* The address of parameter i: PARAM_BASE + i * PARAM_STEP, in the parameter space and in the generic one. */
#define PARAM_BASE (UINT64_C(0x7fe) << 52)
#define PARAM_STEP (UINT64_C(1) << 20)
/* Where the windows of shared and local memory are in the generic space. */
enum { WINDOW_SHIFT = 52 };
#define SHARED_WINDOW (UINT64_C(0x7fd) << WINDOW_SHIFT)
#define LOCAL_WINDOW (UINT64_C(0x7fc) << WINDOW_SHIFT)

/* The error that stopped a launch (or a load: pid and thread are then 0). */
struct emu_report {
    enum error error; /* ERR_count: no error */
    struct loc loc;   /* in the kernel's sources, from .loc; line 0: none */
    int ptx_line;
    int pid[3], thread;
    char what[320];
};

/* -- code -- */

/* An operand with 32 lanes, to be read or written. */
struct emu_opnd {
    int reg;        /* number of the register; -1: a constant */
    uint8_t cls;    /* enum reg_class */
    size_t at;      /* of a register: byte offset in the warp's values; of a constant: in those of the code */
    int64_t offset; /* of an address: added to the register */
};

struct emu_warp;
struct emu_insn;
/* d = f(a, b, c) for all lanes; d overlaps no operand. Predicates are bit masks. */
typedef void emu_compute(void *restrict d, const void *a, const void *b, const void *c, const struct emu_insn *in);
/* Executes the instruction for the lanes `on`. */
typedef void emu_run(struct emu_warp *w, const struct emu_insn *in, uint32_t on);

struct emu_insn {
    uint8_t code, type, from; /* as in struct form of mir.h */
    uint8_t mods[EMU_MODS_MOST];
    uint8_t nopnds, ndefs, nvec; /* nvec: operands in the first braces */
    bool guard_not, joins; /* joins: lanes may arrive here from elsewhere */
    bool has_address;      /* opnds[address] */
    bool follows;          /* its result may be part of a global address (overflow.c) */
    uint8_t dropped;       /* enum emu_dropped */
    uint8_t address;
    int guard;             /* number of a predicate register, or -1 */
    uint16_t number;       /* the number for `#` of the row */
    struct emu_opnd *opnds;
    int target;            /* of bra: index of an instruction; of ld.param: index of the parameter */
    emu_run *run;          /* NULL: exec.c executes it (control flow, and instructions that may wait) */
    emu_compute *compute;
    int line;              /* line of the PTX */
    struct loc loc;
    const char *text;      /* for reports */
};

/* `_` as the first operand, or `_|` before it: an unused result. */
enum emu_dropped { DROPPED_none, DROPPED_operand, DROPPED_first };

struct emu_register {
    uint8_t cls;
    uint8_t type; /* enum ptype, as declared */
    size_t at; /* byte offset in a warp's values */
};

/* A variable in shared memory whose address depends on the rank of the CTA. */
struct emu_symbol {
    int reg, address;
};

struct emu_code {
    const char *name;
    VEC(struct emu_insn) insns;
    VEC(struct emu_register) regs; /* the special registers first */
    size_t values_bytes;           /* of all registers of a warp */
    char *constants;
    size_t constants_bytes, constants_room;
    int nparams;
    int num_threads;               /* .maxntid */
    int cluster[3];                /* .reqnctapercluster */
    VEC(struct emu_symbol) symbols; /* if the kernel runs in clusters */
    VEC(char) texts;               /* texts that vprintf uses as formats */
    bool is_async;                 /* contains asynchronous copies */
    bool has_wgmma;
    bool follows;                  /* one of its instructions has `follows` set */
    bool has_atomics;              /* results of a CTA may depend on earlier CTAs */
    int static_shared_bytes;
    int local_bytes;               /* local memory of a thread */
    int max_registers;             /* .maxnreg; 0: none */
    int min_ctas;                  /* .minnctapersm; 0: none */
    const char *target;            /* .target */
    /* live registers before each instruction; NULL: no warp has a register budget */
    const uint16_t *live;
    VEC(const char *) files;       /* the files of locs */
};

static inline bool emu_has_mod(const struct emu_insn *in, enum mod m)
{
    for (int i = 0; i < EMU_MODS_MOST && in->mods[i]; i++)
        if (in->mods[i] == m)
            return true;
    return false;
}

/* -- load.c -- */
/* NULL: *r has the error. */
const struct emu_code *emulator_load(struct arena *a, const char *ptx, size_t bytes, struct emu_report *r);

/* An operand as written in the text. */
enum emu_form { WRITTEN_register, WRITTEN_special, WRITTEN_constant, WRITTEN_variable, WRITTEN_name };
enum { EMU_DECIMAL = -1 };
struct emu_written {
    struct emu_opnd o; /* of a constant: its bits are in `offset` until its width is known */
    uint8_t form;
    bool in_braces, in_brackets;
    uint8_t type;      /* enum ptype of a register, as declared */
    uint8_t want;      /* enum ptype that the instruction gives it; set by emu_check_operands */
    uint8_t space;     /* enum mod: a variable's state space */
    int float_bits;    /* of a constant: 32 and 64 for 0f and 0d, EMU_DECIMAL with a point, else 0 */
    const char *s;     /* the name's text */
    size_t len;
};
/* -- operands.c -- */
/* Returns false if they do not fit: `text` says why. */
bool emu_check_operands(const struct emu_insn *in, struct emu_written *w, char *text, size_t room);

/* -- words.c -- */
/* The words behind the mnemonic, from s to `end`, a dot before each. */
bool emu_words_fit(int code, const char *s, const char *end);

/* -- decode.c -- */
/* Sets in->run and in->compute; false: the emulator does not know the instruction. */
bool emu_decode(struct emu_insn *in);

/* A row of a table of functions: `key` is an instruction or a modifier. */
struct emu_row {
    uint8_t key, type;
    emu_compute *compute;
};
emu_compute *emu_find(const struct emu_row *rows, size_t n, int key, int type);
#define EMU_FIND(rows, key, type) emu_find(rows, sizeof(rows) / sizeof *(rows), key, type)

/* -- arith.c, float.c, convert.c: NULL if there is no such instruction -- */
emu_compute *emu_arith(const struct emu_insn *in);
emu_compute *emu_compare(const struct emu_insn *in);
emu_compute *emu_float(const struct emu_insn *in);
emu_compute *emu_convert(const struct emu_insn *in);
/* f16 and bf16 (convert.c). */
double emu_half_value(enum ptype t, uint16_t bits) __attribute__((pure));
void emu_half_values(enum ptype t, int n, const uint16_t *bits, double *x);
double emu_small_value(enum ptype pair, uint8_t bits); /* one half of an fp8 pair */
uint16_t emu_half_round(enum ptype t, double x) __attribute__((pure));

/* -- running (exec.c) -- */

struct emu_launch {
    int grid[3];
    const uint64_t *args;
    const struct cpu_buffer *buffers;
    int nbuffers;
    int shared_bytes; /* dynamic */
    /* the number of programs that each CTA runs, one warp each; 0: one program, with the code's number of warps */
    int packs;
    bool pairs;       /* CTAs in clusters of two along x, if the code does not give clusters */
    int cluster[3];   /* set by the run */
    int num_workers;  /* 0: all cores */
    uint64_t seed;    /* for the order of asynchronous work */
    struct emu_tally *tallies; /* one for each instruction, which gets its costs; NULL: counting is off */
    long long sample; /* the number of CTAs to run, spread over the grid; 0: all */
    const struct memory *mem;
    struct budget *budget; /* an instruction of a warp is a step; NULL: time and steps are not limited */
    /* Gets printed output; NULL: it is discarded. */
    void (*write)(void *ctx, const char *s, size_t n);
    void *write_ctx;
    struct emu_report report;
};
/* Returns false on an error: see l->report. */
bool emulator_run(const struct emu_code *code, struct emu_launch *l);

/* The event that lanes wait for: a barrier from 0 to 15, or one of these. */
enum { WAIT_nothing = -1, BARRIERS = 16, WAIT_lanes = BARRIERS, WAIT_warpgroup, WAIT_cluster, WAIT_mbarrier, WAIT_registers };

/* Lanes at one pc: running, or waiting. */
struct emu_group {
    int pc; /* where they continue */
    uint32_t mask;
    int waits;
};

/* The accesses to a byte of shared memory. Times increase over a worker's whole life, so that nothing needs
 * clearing when a CTA begins. Of several unordered readers three are recorded, including the oldest and the
 * newest. */
enum { READERS = 3, COPY_generic = 1, COPY_async = 2 };
struct emu_shadow {
    uint32_t written, read[READERS]; /* times; 0: never */
    int write_line, read_line[READERS]; /* of the PTX */
    uint16_t writer, reader[READERS]; /* actors (order.c) */
    uint8_t undefined;      /* bits of the byte that depend on a value never written */
    uint8_t by_copy;        /* if a copy wrote it instead of a warp: COPY_generic, COPY_async */
    uint8_t laid;           /* 1 + swizzle (tensormap.h) of the tensor map that loaded it; 0: none did */
};

/* The largest n for which the emulator can wait for all groups of copies but the last n. */
enum { GROUPS_KNOWN = 32 };

/* A barrier of a CTA (bar.sync, bar.arrive): how many threads have arrived. */
struct emu_barrier {
    int arrived, expected; /* threads; expected 0: none has come yet */
    uint32_t *seen;        /* accesses visible to these threads */
};

struct emu_event {
    uint32_t time; /* 0: never */
    struct emu_warp *w;
    const struct emu_insn *in;
};

/* The last wait of a warp at an mbarrier that has ended: for which phase, when, and where. */
struct emu_ask {
    uint32_t phase, time;
    const struct emu_insn *in; /* NULL: none */
};

/* An mbarrier: its phase completes when no arrival and no byte is pending. */
enum { MBARRIERS_MOST = 64 };
struct emu_mbarrier {
    int at; /* its address in shared memory */
    bool live, fenced; /* fenced: visible to copies and other CTAs */
    int count, pending;
    /* expected bytes that have not arrived; below 0: bytes that arrived before they were expected */
    int64_t bytes;
    uint32_t phase;
    uint32_t landed;        /* when the latest copy whose bytes arrived was issued, */
    struct emu_event copy;  /* and the last such copy, in any phase */
    uint32_t *coming, *done; /* accesses visible to the warps that arrived, in this phase and in the last */
    struct emu_ask *asked;   /* the waits of each warp of its CTA */
    struct emu_warp *maker; /* the warp that initialized it */
    const struct emu_insn *expects; /* the last instruction that changed `bytes` in this phase */
    struct emu_warp *expecter;
};

struct emu_cta {
    const struct emu_code *code;
    const struct emu_launch *launch;
    struct emu_cluster *cluster;
    int rank; /* in the cluster */
    int pid[3];
    int nwarps;
    struct emu_warp *warps;
    unsigned char *shared;
    struct emu_shadow *shadow;
    int shared_bytes;
    const struct cpu_buffer *last; /* buffer of the last access */
    struct emu_barrier barriers[BARRIERS];
    struct emu_mbarrier *mbarriers;
    int nmbarriers;
    int spare_registers; /* registers of a thread of each warp that setmaxnreg has released */
    struct emu_event *arrivals; /* the last arrival of each actor of other CTAs at an mbarrier of this CTA */
};

/* CTAs that run together; usually one. */
struct emu_cluster {
    const struct emu_code *code;
    const struct emu_launch *launch;
    int nctas, nactors;
    struct emu_cta *ctas;
    uint32_t time, began;  /* the current time, and when these CTAs began */
    bool may_release;      /* an event has happened for which warps may wait */
    uint64_t random;
    uint32_t phase;        /* of the cluster's barrier */
    uint32_t *coming, *done; /* accesses visible to warps that arrived there, in this phase and in the last */
    struct emu_op *ops;    /* pending asynchronous work, in the order of issue */
    int nops;
    uint32_t issued;       /* number of issued operations since the cluster began */
    struct emu_tally *tallies; /* the worker's; NULL: counting is off */
    int unasked;           /* instructions to execute before the budget is asked next */
    struct emu_report report;
    jmp_buf fail;
};

struct emu_warp {
    struct emu_cta *cta;
    int index;
    int actor;        /* for the warp's own accesses */
    int pc;
    uint32_t mask;    /* lanes that run now; 0: none */
    uint32_t exited;
    struct emu_group waiting[LANES];
    int nwaiting;
    char *values;
    uint32_t *defined;             /* by register: lanes in which every bit is defined */
    uint64_t (*undefined)[LANES];  /* by register, for the other lanes: undefined bits */
    unsigned char *local, *local_undefined; /* local memory, lane by lane; its undefined bits */
    /* by register: lanes whose 32-bit arithmetic overflowed; NULL: irrelevant for this kernel */
    uint32_t *wrapped;
    int64_t (*exact)[LANES];       /* the exact results in those lanes */
    const struct emu_insn *wrapping; /* the last instruction whose result overflowed */
    uint64_t scratch[4 * LANES];   /* output of compute functions */
    uint32_t *seen;                /* by actor: up to which time its accesses are ordered before this warp */
    uint32_t *released;            /* the same at its last fence */
    uint32_t unfenced;             /* lanes that have written shared memory since their last proxy fence */
    int budget;                    /* of registers, set by setmaxnreg; 0: none */
    /* lanes that have arrived at the cluster's barrier, and wait or will wait */
    uint32_t cluster_arrived;
    /* lanes that may pass it: all lanes have arrived since, and these have not waited yet */
    uint32_t cluster_passed;
    int store_groups;              /* committed groups of bulk stores */
    struct emu_group_time { uint32_t time; int lane; } store_times[GROUPS_KNOWN];
    uint32_t stored;               /* when and by which instruction the last bulk store was issued */
    const struct emu_insn *last_store;
    int mma_groups;                /* committed groups of wgmma, */
    uint32_t mma_times[GROUPS_KNOWN]; /* the times of the last of them, */
    int mma_awaited;               /* and the group for which the warp waits */
    /* by register: 2 (group + 1) of the wgmma that uses it, + 1 if it is its D; 0: none */
    uint32_t *flying;
    bool *fresh;                   /* by register: written since the last wgmma.fence */
    int copy_groups;               /* committed groups of cp.async */
    uint32_t copy_times[GROUPS_KNOWN]; /* the times of the last of them */
};

/* Stops the CTA with a report at `in` that names `lane` of the warp. */
_Noreturn void emu_fail(struct emu_warp *w, const struct emu_insn *in, int lane, enum error e, const char *format, ...)
    PRINTF_LIKE(5, 6);
/* Bytes of a thread's local memory, by address in its space. */
unsigned char *emu_local_at(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t at, int bytes);
/* -- print.c -- */
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
/* Lanes stop at `pc` and wait. */
void emu_park(struct emu_warp *w, int pc, uint32_t mask, int waits);

/* -- barrier.c -- */
/* The lanes `on` of w reach an instruction that may wait; sets where each continues. */
void emu_arrive(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
/* Releases the warps that can continue; false: there are none. */
bool emu_release(struct emu_cluster *c);
_Noreturn void emu_deadlock(struct emu_cluster *c);

/* -- order.c -- */
/* Actors that access shared memory. A warp's copies are separate actors: their accesses are ordered before
 * the warp only after it has waited for them. */
enum emu_actor {
    ACTOR_warp,
    ACTOR_fenced,  /* the warp's writes before its last proxy fence: not an actor, only a time */
    ACTOR_copies,  /* cp.async of a warp */
    ACTOR_stores,  /* bulk copies that a warp issued, reading shared memory */
    /* reads of wgmma: its times are numbers of groups, after the time when the cluster began */
    ACTOR_warpgroup,
    ACTOR_mbarrier /* bulk copies that an mbarrier counts */
};
int emu_actors(const struct emu_code *code); /* number of actors of one CTA */
int emu_actor(const struct emu_cta *c, enum emu_actor kind, int index) __attribute__((pure));
/* Are the accesses of `who` at `time` ordered before w's next access? */
static inline bool emu_is_over(const struct emu_warp *w, int who, uint32_t time)
{
    return who == w->actor || time <= w->seen[who];
}
/* Sets `seen` to all accesses that w has made or seen; a warp that then merges `seen` sees them, but no later ones. */
void emu_publish(struct emu_warp *w, uint32_t *seen);
void emu_see(struct emu_warp *w, const uint32_t *seen);
void emu_see_until(struct emu_warp *w, int actor, uint32_t time);
void emu_join(const struct emu_cluster *c, uint32_t *seen, const uint32_t *other);

/* -- async.c -- */
emu_run emu_run_cp_async, emu_run_cp_commit, emu_run_cp_wait, emu_run_cp_arrive;
bool emu_decode_cp_async(struct emu_insn *in);
/* Begins asynchronous work, which `finish` will do later. */
struct emu_op *emu_begin_op(struct emu_warp *w, const struct emu_insn *in, int lane);
void emu_finish_op(struct emu_cluster *c, int number);
/* The copy of one active lane of a cp.async. */
struct emu_copy {
    unsigned char *to;
    const unsigned char *from;
    uint8_t bytes, taken; /* taken: how many bytes are copied; the others are zeros */
};
struct emu_op {
    void (*finish)(struct emu_op *op);
    struct emu_warp *w;
    const struct emu_insn *in;
    int lane, group;
    uint32_t time, number; /* of issue: time, and number of copies before */
    int ncopies;
    union {
        struct emu_copy copies[LANES];
        struct emu_mbarrier *arrives; /* for cp.async.mbarrier.arrive */
        struct {
            const struct packed_map *map; /* NULL: `bytes` contiguous bytes */
            int32_t coords[5];
            uint64_t global;
            int bytes, at; /* in shared memory */
            struct emu_cta *cta;
            struct emu_mbarrier *mbarrier;
        } bulk;
    };
};

/* -- mbarrier.c -- */
emu_run emu_run_mbarrier_init, emu_run_mbarrier_arrive, emu_run_mbarrier_test, emu_run_fence;
/* The lanes whose awaited phase has completed. */
uint32_t emu_mbarrier_ready(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
/* The mbarrier at an address; `remote`: it may belong to another CTA, or copies will use it. */
struct emu_mbarrier *emu_mbarrier_at(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address, bool remote,
                                     struct emu_cta **cta);
void emu_mbarrier_land(const struct emu_op *copy);
/* n arrivals for accesses of `actor` up to `time`: the warp's own accesses are not published. */
void emu_mbarrier_arrive_for(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_mbarrier *m, int n, int actor,
                             uint32_t time);
/* The mbarrier at the instruction's address operand. */
struct emu_mbarrier *emu_mbarrier_of(struct emu_warp *w, const struct emu_insn *in, int lane);
/* Describes what a group waits for; reports wrong numbers of expected bytes. */
void emu_mbarrier_say(struct emu_warp *w, const struct emu_group *g, char *text, size_t bytes);

/* -- tma.c -- */
emu_run emu_run_tma_load, emu_run_tma_store, emu_run_bulk_load, emu_run_bulk_commit, emu_run_bulk_wait,
    emu_run_bulk_prefetch, emu_run_nothing;
bool emu_decode_bulk(struct emu_insn *in);
/* At the end of a cluster: reports stores for which no warp has waited. */
void emu_check_end(struct emu_cluster *c);

/* -- sums.c -- */

enum { EMU_DEPTH_MOST = 32, EMU_ROWS = 16, EMU_COLUMNS_MOST = 256 };

/* c = a b + c for a warp's 16 rows. Element types: f16, bf16, f32 (tf32), s8, u8, or a pair of fp8; of c: f32,
 * f16 or s32. */
struct emu_dot {
    enum ptype a_type, b_type, c_type;
    int depth, columns;
    double a[EMU_DEPTH_MOST][EMU_ROWS], b[EMU_DEPTH_MOST][EMU_COLUMNS_MOST], c[EMU_ROWS][EMU_COLUMNS_MOST];
};
/* Computes c as one instruction of an H200 does. The operands may change. */
void emu_sum(struct emu_dot *m);

/* -- wgmma.c -- */
bool emu_is_wgmma(const struct emu_insn *in) __attribute__((pure));
/* Is it a wgmma that adds to D, unless a predicate says otherwise at run time? */
bool emu_wgmma_adds(const struct emu_insn *in) __attribute__((pure));
bool emu_decode_wgmma(struct emu_insn *in);
int emu_wgmma_operations(const struct emu_insn *in) __attribute__((pure));
emu_run emu_run_wgmma, emu_run_wgmma_fence, emu_run_wgmma_commit;
int emu_first_registers(const struct emu_code *c); /* registers of a thread before setmaxnreg */
/* Executes setmaxnreg; returns false if the registers are not available yet. */
bool emu_set_registers(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
/* Completes all groups but the last ones. */
void emu_wgmma_wait(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
/* For kernels with wgmma: checks that an instruction does not access registers in use. */
void emu_wgmma_watch(struct emu_warp *w, const struct emu_insn *in);
size_t emu_async_bytes(const struct emu_code *code); /* memory for pending asynchronous work of a cluster */
/* Does one piece of pending work; returns false if there is none. */
bool emu_async_step(struct emu_cluster *c);
uint32_t emu_random(struct emu_cluster *c, uint32_t below);

/* -- warp.c: registers -- */
uint64_t emu_lane(const struct emu_warp *w, const struct emu_opnd *o, int lane);
/* Stores one lane of a register, with its undefined bits. */
void emu_set_lane(struct emu_warp *w, const struct emu_opnd *o, int lane, uint64_t bits, uint64_t undefined);
/* Stores the lanes `on` of `values`, which have o's class. */
void emu_commit(struct emu_warp *w, const struct emu_opnd *o, uint32_t on, const void *values);
emu_run emu_run_compute, emu_run_pack, emu_run_unpack, emu_run_param, emu_run_shfl, emu_run_redux, emu_run_policy, emu_run_vote, emu_run_activemask, emu_run_elect, emu_run_timer;
emu_compute *emu_address_compute(const struct emu_insn *in);

/* -- undefined.c -- */
/* The undefined bits of a lane of o. */
uint64_t emu_undefined_opnd(const struct emu_warp *w, const struct emu_opnd *o, int lane);
/* The undefined bits of the result of a compute instruction. */
uint64_t emu_undefined_result(const struct emu_warp *w, const struct emu_insn *in, int lane);
/* Reports the first of the lanes `on` in which one of the low `bits` of o is undefined; `what` names o. */
void emu_need_defined(struct emu_warp *w, const struct emu_insn *in, const struct emu_opnd *o, int bits, uint32_t on,
                      const char *what);

/* -- memory.c -- */
emu_run emu_run_ld, emu_run_st, emu_run_atom;
/* The addresses of operand o in all lanes. */
void emu_addresses(struct emu_warp *w, const struct emu_insn *in, const struct emu_opnd *o, uint32_t on, uint64_t *at);
/* Reports an access of `bytes` per lane that is not inside one buffer or not aligned to `bytes`. */
void emu_check_global(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *at, int bytes);

/* -- tensor.c -- */
bool emu_is_mma(const struct emu_insn *in);
/* Multiplications and additions of a warp's instruction; 0: it is not an mma. */
int emu_mma_operations(const struct emu_insn *in) __attribute__((pure));
emu_run emu_run_mma, emu_run_ldmatrix, emu_run_stmatrix;

/* -- shared.c -- */
/* Checks one access; returns its memory. */
unsigned char *emu_shared_at(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address, int bytes);
void emu_shared_read(struct emu_warp *w, const struct emu_insn *in, int lane, const unsigned char *p, int bytes, uint64_t *undefined);
void emu_shared_write(struct emu_warp *w, const struct emu_insn *in, int lane, unsigned char *p, int bytes, uint64_t value,
                      uint64_t undefined);
/* The offset of a range in another CTA's shared memory, which is selected by the address; sets that CTA. */
int emu_shared_range(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address, int bytes, int align,
                     struct emu_cta **cta);
/* claim: `actor` will write bytes of a CTA for w; lend: it reads them at `time`. */
void emu_shared_claim(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_cta *c, int at, int bytes,
                      int actor);
/* Returns whether some of the bytes are undefined. */
bool emu_shared_lend(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_cta *c, int at, int bytes,
                     int actor, uint32_t time);
/* Checks that the initialization of an mbarrier is visible to a warp that uses it. */
void emu_shared_need_seen(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_cta *c, int at);
/* The shared memory of an atomic operation: atomic operations of different warps do not race with each other. */
unsigned char *emu_shared_atomic(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address, int bytes);

/* -- overflow.c -- */
void emu_find_addresses(struct arena *a, struct emu_code *code);
/* Called before an instruction with `follows` is executed. */
void emu_follow(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
/* Reports an address that was computed from an overflowed number. */
void emu_need_fit(struct emu_warp *w, const struct emu_insn *in, const struct emu_opnd *o, uint32_t on);

/* -- live.c -- */
/* Live 32-bit registers of a thread before each instruction; `surely`: without registers that are equal in
 * all lanes. */
uint16_t *emu_live_registers(struct arena *a, const struct emu_code *code, bool surely);

/* -- counts.c -- */
/* The costs of one instruction, over all warps. */
struct emu_tally {
    uint64_t executed, lanes;               /* warps that executed it; lanes for which they did */
    uint64_t bytes, sectors, sectors_least; /* of global memory; a sector has 32 bytes */
    /* of shared memory: wavefronts, and those of them that bank conflicts cost */
    uint64_t wavefronts, conflicts;
};
/* Sums over all launches since its creation. */
struct emu_counts;
struct emu_counts *emu_counts_new(const struct memory *mem, int64_t programs); /* NULL: no memory */
void emu_counts_free(struct emu_counts *c); /* may be NULL */
/* Runs as emulator_run does, and counts; `id` is the kernel's. Launches of one id are summed. */
bool emu_counts_run(struct emu_counts *c, const struct emu_code *code, const char *name, const char *id, struct emu_launch *l);
void emu_counts_each(struct emu_counts *c, neso_counts_fn *each, void *user);
void emu_counts_help(struct text *out);
/* Counts accesses of `bytes` by each of the lanes `on`, at aligned addresses. */
void emu_count_global(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *at, int bytes);
void emu_count_shared(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *at, int bytes);
/* Counts a bulk copy of contiguous bytes. */
void emu_count_row(struct emu_warp *w, const struct emu_insn *in, uint64_t at, uint64_t bytes);

#endif
