/* machine.h: executes the PTX that neso emits on this CPU, warp by warp, and checks what it does.
 *
 *     PTX text ──load──► emu_code: instructions on numbered registers ──run──► every CTA of the grid, on all cores
 *
 * A register is an array of 32 lanes, so one instruction is one loop. What is shared with codegen is
 * the spelling, and what each instruction counts as (codegen/insns.h); what an instruction computes is written here from the
 * PTX ISA, whose sections the files name.
 *
 *     load.c       text to emu_code                       memory.c     ld, st, atom: bounds, alignment
 *     decode.c     which function executes an instruction allocate_shared.c     shared memory, who touched it and when
 *     exec.c       warps, divergence, the grid            undefined.c  what depends on a register never written
 *     insert_barriers.c    what warps wait for, deadlocks         order.c      what is known to be over, and to whom
 *     arith.c      integers, bits, comparisons            warp.c       moves between registers and lanes
 *     float.c      floats                                 lower_layout_conversion.c    cvt
 *     lower_tma_store.c     mma, ldmatrix, stmatrix                async.c      copies that go on by themselves: cp.async
 *     mbarrier.c   mbarriers and fences                   raise_tma_load.c        bulk copies, with tensor maps
 *     wgmma.c      wgmma, and who may touch its registers device.c     the device `emulator`
 *     counts.c     what launches cost                     live.c       how many registers are live
 *     overflow.c   addresses that 32 bits were too few for    operands.c   do operands fit the instruction's row?
 *     words.c      do the words behind a mnemonic make one of its forms?
 */
#ifndef NESO_RUNTIME_EMULATOR_MACHINE_H
#define NESO_RUNTIME_EMULATOR_MACHINE_H

#include "codegen/mir.h"
#include "runtime/budget.h"
#include "runtime/devices/cpu.h"

#include <setjmp.h>

enum { LANES = 32, WARPS_MOST = 32, EMU_OPNDS_MOST = 144, EMU_MODS_MOST = 8 };
#define ALL_LANES UINT32_MAX
/* Where the window of shared memory begins: what lies below is the system's, as on sm_90. */
enum { SHARED_BASE = 1024 };
/* In a cluster a shared address has the rank of its CTA above this bit. */
enum { RANK_SHIFT = 24, CLUSTER_MOST = 16 };
/* The address of parameter i: PARAM_BASE + i * PARAM_STEP, in its own space as in the generic one. */
#define PARAM_BASE (UINT64_C(0x7fe) << 52)
#define PARAM_STEP (UINT64_C(1) << 20)
/* Where shared memory and a thread's own lie in the generic space. */
enum { WINDOW_SHIFT = 52 };
#define SHARED_WINDOW (UINT64_C(0x7fd) << WINDOW_SHIFT)
#define LOCAL_WINDOW (UINT64_C(0x7fc) << WINDOW_SHIFT)

/* What stopped a launch (or a load: pid and thread are 0 then). */
struct emu_report {
    enum error error; /* ERR_count: nothing */
    struct loc loc;   /* in the kernel's sources, from .loc; line 0: none */
    int ptx_line;
    int pid[3], thread;
    char what[320];
};

/* -- code -- */

/* 32 lanes to read, or to write. */
struct emu_opnd {
    int reg;        /* number of the register; -1: a constant */
    uint8_t cls;    /* enum reg_class */
    size_t at;      /* of a register: byte offset in the warp's values; of a constant: in the code's */
    int64_t offset; /* of an address: added to the register */
};

struct emu_warp;
struct emu_insn;
/* d = f(a, b, c) for all lanes; d overlaps none. Predicates are bit masks. */
typedef void emu_compute(void *restrict d, const void *a, const void *b, const void *c, const struct emu_insn *in);
/* Executes for the lanes `on`. */
typedef void emu_run(struct emu_warp *w, const struct emu_insn *in, uint32_t on);

struct emu_insn {
    uint8_t code, type, from; /* as in mir.h's form */
    uint8_t mods[EMU_MODS_MOST];
    uint8_t nopnds, ndefs, nvec; /* nvec: operands in the first braces */
    bool guard_not, joins; /* joins: lanes may arrive here from elsewhere */
    bool has_address;      /* opnds[address] */
    bool follows;          /* a global address may be made of its result (overflow.c) */
    uint8_t dropped;       /* enum emu_dropped */
    uint8_t address;
    int guard;             /* number of a predicate register, or -1 */
    uint16_t number;       /* that `#` of the row stands for */
    struct emu_opnd *opnds;
    int target;            /* of bra: index of an instruction; of ld.param: index of the parameter */
    emu_run *run;          /* NULL: exec.c's own (control, and what may wait) */
    emu_compute *compute;
    int line;              /* of the PTX */
    struct loc loc;
    const char *text;      /* for reports */
};

/* `_` as the first operand, or as `_|` before it: a result that nobody wants. */
enum emu_dropped { DROPPED_none, DROPPED_operand, DROPPED_first };

struct emu_register {
    uint8_t cls;
    uint8_t type; /* enum ptype: as it was declared */
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
    size_t values_bytes;           /* of a warp */
    char *constants;
    size_t constants_bytes, constants_room;
    int nparams;
    int num_threads;               /* .maxntid */
    int cluster[3];                /* .reqnctapercluster */
    VEC(struct emu_symbol) symbols; /* of a cluster's kernel */
    VEC(char) texts;               /* what vprintf takes as formats */
    bool is_async;                 /* has copies that go on by themselves */
    bool has_wgmma;
    bool follows;                  /* one of its instructions does */
    bool has_atomics;              /* what a CTA does may depend on what others did before */
    int static_shared_bytes;
    int local_bytes;               /* of a thread */
    int max_registers;             /* .maxnreg; 0: none */
    int min_ctas;                  /* .minnctapersm; 0: none */
    const char *target;            /* .target */
    const uint16_t *live;          /* registers, before each instruction; NULL: no warp has a budget */
    VEC(const char *) files;       /* of locs */
};

static inline bool emu_has_mod(const struct emu_insn *in, enum mod m)
{
    for (int i = 0; i < EMU_MODS_MOST && in->mods[i]; i++)
        if (in->mods[i] == m)
            return true;
    return false;
}

/* -- load.c -- */
/* NULL: *r says why not. */
const struct emu_code *emulator_load(struct arena *a, const char *ptx, size_t bytes, struct emu_report *r);

/* An operand as it stands there. */
enum emu_form { WRITTEN_register, WRITTEN_special, WRITTEN_constant, WRITTEN_variable, WRITTEN_name };
enum { EMU_DECIMAL = -1 };
struct emu_written {
    struct emu_opnd o; /* of a constant: its bits in `offset`, until its width is known */
    uint8_t form;
    bool in_braces, in_brackets;
    uint8_t type;      /* enum ptype: a register's, as it was declared */
    uint8_t want;      /* enum ptype: that the instruction gives it; set by emu_check_operands */
    uint8_t space;     /* enum mod: a variable's */
    int float_bits;    /* of a constant: 32 and 64 as 0f and 0d say, EMU_DECIMAL with a point, else 0 */
    const char *s;     /* of a name */
    size_t len;
};
/* -- operands.c -- */
/* False: `text` says what is wrong. */
bool emu_check_operands(const struct emu_insn *in, struct emu_written *w, char *text, size_t room);

/* -- words.c -- */
/* The words behind the mnemonic, from s to `end`, a dot before each. */
bool emu_words_fit(int code, const char *s, const char *end);

/* -- decode.c -- */
/* Fills in->run and in->compute; false: no instruction that the emulator knows. */
bool emu_decode(struct emu_insn *in);

/* A table of functions: `key` is an instruction or a modifier. */
struct emu_row {
    uint8_t key, type;
    emu_compute *compute;
};
emu_compute *emu_find(const struct emu_row *rows, size_t n, int key, int type);
#define EMU_FIND(rows, key, type) emu_find(rows, sizeof(rows) / sizeof *(rows), key, type)

/* -- arith.c, float.c, lower_layout_conversion.c: NULL where there is no such instruction -- */
emu_compute *emu_arith(const struct emu_insn *in);
emu_compute *emu_compare(const struct emu_insn *in);
emu_compute *emu_float(const struct emu_insn *in);
emu_compute *emu_convert(const struct emu_insn *in);
/* f16 and bf16 (lower_layout_conversion.c). */
double emu_half_value(enum ptype t, uint16_t bits) __attribute__((pure));
void emu_half_values(enum ptype t, int n, const uint16_t *bits, double *x);
double emu_small_value(enum ptype pair, uint8_t bits); /* one of an fp8 pair */
uint16_t emu_half_round(enum ptype t, double x) __attribute__((pure));

/* -- running (exec.c) -- */

struct emu_launch {
    int grid[3];
    const uint64_t *args;
    const struct cpu_buffer *buffers;
    int nbuffers;
    int shared_bytes; /* dynamic */
    int packs;        /* each CTA runs so many programs, a warp each; 0: one, in as many warps as the code says */
    bool pairs;       /* CTAs in clusters of two along x, where the code does not say */
    int cluster[3];   /* set by the run */
    int num_workers;  /* 0: all cores */
    uint64_t seed;    /* of when asynchronous work is done */
    struct emu_tally *tallies; /* one an instruction, which get what it costs; NULL: nobody counts */
    long long sample; /* run so many CTAs only, spread over the grid; 0: all */
    const struct memory *mem;
    struct budget *budget; /* an instruction of a warp is a step; NULL: time and steps are not limited */
    /* Where what is printed goes; NULL: nowhere. */
    void (*write)(void *ctx, const char *s, size_t n);
    void *write_ctx;
    struct emu_report report;
};
/* False: see l->report. */
bool emulator_run(const struct emu_code *code, struct emu_launch *l);

/* What lanes wait for: a barrier from 0 to 15, or one of these. */
enum { WAIT_nothing = -1, BARRIERS = 16, WAIT_lanes = BARRIERS, WAIT_warpgroup, WAIT_cluster, WAIT_mbarrier, WAIT_registers };

/* Lanes at one place: running, or waiting. */
struct emu_group {
    int pc; /* where they go on */
    uint32_t mask;
    int waits;
};

/* Who touched a byte of shared memory, and when: times count on over a worker's whole life, so that
 * nothing needs clearing when a CTA begins. Of several readers that nothing orders three are kept, the
 * oldest and the newest among them. */
enum { READERS = 3, COPY_generic = 1, COPY_async = 2 };
struct emu_shadow {
    uint32_t written, read[READERS]; /* times; 0: never */
    int write_line, read_line[READERS]; /* of the PTX */
    uint16_t writer, reader[READERS]; /* actors (order.c) */
    uint8_t undefined;      /* bits of the byte that depend on something never written */
    uint8_t by_copy;        /* the writer is no warp: COPY_generic, COPY_async */
    uint8_t laid;           /* 1 + swizzle (tensormap.h) of the tensor map that brought it; 0: none did */
};

/* A wait for all groups of copies but the last n looks back no further. */
enum { GROUPS_KNOWN = 32 };

/* A barrier of a CTA (bar.sync): who has arrived without waiting. */
struct emu_barrier {
    int arrived, expected; /* threads; expected 0: nobody has come yet */
    uint32_t *seen;        /* what those have seen */
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

/* An mbarrier: its phase is over when no arrival and no byte is missing. */
enum { MBARRIERS_MOST = 64 };
struct emu_mbarrier {
    int at; /* byte of shared memory */
    bool live, fenced; /* fenced: copies and other CTAs may use it */
    int count, pending;
    int64_t bytes; /* expected and not yet here; below 0: here and not yet expected */
    uint32_t phase;
    uint32_t landed;        /* when the latest of the bytes that are here were asked for, */
    struct emu_event copy;  /* and the last copy to say so, in any phase */
    uint32_t *coming, *done; /* what was seen by who arrived, in this phase and in the last */
    struct emu_ask *asked;   /* by each warp of its CTA */
    struct emu_warp *maker; /* who initialized it */
    const struct emu_insn *expects; /* the last that changed `bytes` for this phase */
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
    int spare_registers; /* of a thread of each warp: what setmaxnreg has left over */
    struct emu_event *arrivals; /* the last of each actor of other CTAs at an mbarrier here */
};

/* CTAs that run together; mostly one. */
struct emu_cluster {
    const struct emu_code *code;
    const struct emu_launch *launch;
    int nctas, nactors;
    struct emu_cta *ctas;
    uint32_t time, began;  /* now, and when these CTAs began */
    bool may_release;      /* something that warps wait for has happened */
    uint64_t random;
    uint32_t phase;        /* of the cluster's barrier */
    uint32_t *coming, *done; /* what was seen by who arrived there, now and the last time */
    struct emu_op *ops;    /* asynchronous work under way, in the order of issue */
    int nops;
    uint32_t issued;       /* ... since the cluster began */
    struct emu_tally *tallies; /* the worker's; NULL: nobody counts */
    int unasked;           /* instructions to execute before the budget is asked again */
    struct emu_report report;
    jmp_buf fail;
};

struct emu_warp {
    struct emu_cta *cta;
    int index;
    int actor;        /* of what it does itself */
    int pc;
    uint32_t mask;    /* running now; 0: nobody is */
    uint32_t exited;
    struct emu_group waiting[LANES];
    int nwaiting;
    char *values;
    uint32_t *defined;             /* of each register: lanes in which every bit is */
    uint64_t (*undefined)[LANES];  /* of each register, in the other lanes: bits that are not */
    unsigned char *local, *local_undefined; /* of one lane after the other; bits that were never written */
    uint32_t *wrapped;             /* of each register: lanes whose 32-bit arithmetic did not fit; NULL: none can matter */
    int64_t (*exact)[LANES];       /* what it would be in those */
    const struct emu_insn *wrapping; /* the last whose result did not fit */
    uint64_t scratch[4 * LANES];   /* what compute functions write */
    uint32_t *seen;                /* of each actor: until when its doings are known to be over */
    uint32_t *released;            /* the same when it last made a fence */
    uint32_t unfenced;             /* lanes that have written shared memory since their last proxy fence */
    int budget;                    /* of registers, by setmaxnreg; 0: none */
    uint32_t cluster_arrived;      /* lanes that have come to the cluster's barrier, and wait or will */
    uint32_t cluster_passed;       /* lanes that may pass it: all came since, and they have not waited yet */
    int store_groups;              /* of bulk stores: committed */
    struct emu_group_time { uint32_t time; int lane; } store_times[GROUPS_KNOWN];
    uint32_t stored;               /* when the last bulk store was issued, by what */
    const struct emu_insn *last_store;
    int mma_groups;                /* of wgmma: committed, */
    uint32_t mma_times[GROUPS_KNOWN]; /* of the last of them: when, */
    int mma_awaited;               /* and up to which the warp waits */
    uint32_t *flying;              /* of each register: 2 (group + 1) of the wgmma that uses it, + 1 where it is its D; 0: none */
    bool *fresh;                   /* of each register: written since the last wgmma.fence */
    int copy_groups;               /* of cp.async: committed */
    uint32_t copy_times[GROUPS_KNOWN]; /* of the last of them: when */
};

/* Stops the CTA with a report at `in`; `lane` of the warp is the one to name. */
_Noreturn void emu_fail(struct emu_warp *w, const struct emu_insn *in, int lane, enum error e, const char *format, ...)
    PRINTF_LIKE(5, 6);
/* Bytes of a thread's own memory, in its space's addresses. */
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

/* -- insert_barriers.c -- */
/* The lanes `on` of w come to an instruction that may wait; sets where each goes on. */
void emu_arrive(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
/* Lets go on whoever can; false: nobody. */
bool emu_release(struct emu_cluster *c);
_Noreturn void emu_deadlock(struct emu_cluster *c);

/* -- order.c -- */
/* Who acts on shared memory. A warp's copies act apart from it: what they do is over when
 * it has waited for them. */
enum emu_actor {
    ACTOR_warp,
    ACTOR_fenced,  /* what the warp wrote before its last proxy fence: acts not, is only known of */
    ACTOR_copies,  /* cp.async of a warp */
    ACTOR_stores,  /* bulk copies that a warp issued, reading shared memory */
    ACTOR_warpgroup, /* wgmma, reading: its times are numbers of groups, after the time when the cluster began */
    ACTOR_mbarrier /* bulk copies that an mbarrier waits for */
};
int emu_actors(const struct emu_code *code); /* of one CTA */
int emu_actor(const struct emu_cta *c, enum emu_actor kind, int index) __attribute__((pure));
/* Are `who`'s doings at `time` over, as w knows? */
static inline bool emu_is_over(const struct emu_warp *w, int who, uint32_t time)
{
    return who == w->actor || time <= w->seen[who];
}
/* All that w has done and seen is seen by whoever takes `seen` over, and what it does from now on is not. */
void emu_publish(struct emu_warp *w, uint32_t *seen);
void emu_see(struct emu_warp *w, const uint32_t *seen);
void emu_see_until(struct emu_warp *w, int actor, uint32_t time);
void emu_join(const struct emu_cluster *c, uint32_t *seen, const uint32_t *other);

/* -- async.c -- */
emu_run emu_run_cp_async, emu_run_cp_commit, emu_run_cp_wait, emu_run_cp_arrive;
bool emu_decode_cp_async(struct emu_insn *in);
/* Work that will be done later: `finish` of it. */
struct emu_op *emu_begin_op(struct emu_warp *w, const struct emu_insn *in, int lane);
void emu_finish_op(struct emu_cluster *c, int number);
/* Of cp.async: one for each lane that takes part. */
struct emu_copy {
    unsigned char *to;
    const unsigned char *from;
    uint8_t bytes, taken; /* of which are copied; the others are zeros */
};
struct emu_op {
    void (*finish)(struct emu_op *op);
    struct emu_warp *w;
    const struct emu_insn *in;
    int lane, group;
    uint32_t time, number; /* of issue: when, and how many before it */
    int ncopies;
    union {
        struct emu_copy copies[LANES];
        struct emu_mbarrier *arrives; /* of cp.async.mbarrier.arrive */
        struct {
            const struct packed_map *map; /* NULL: `bytes` in a row */
            int32_t coords[5];
            uint64_t global;
            int bytes, at; /* of shared memory */
            struct emu_cta *cta;
            struct emu_mbarrier *mbarrier;
        } bulk;
    };
};

/* -- mbarrier.c -- */
emu_run emu_run_mbarrier_init, emu_run_mbarrier_inval, emu_run_mbarrier_arrive, emu_run_mbarrier_test, emu_run_fence;
/* Lanes for which the phase that they ask for is over. */
uint32_t emu_mbarrier_ready(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
/* Of an address; `remote`: another CTA's may be meant, or copies will use it. */
struct emu_mbarrier *emu_mbarrier_at(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address, bool remote,
                                     struct emu_cta **cta);
void emu_mbarrier_land(const struct emu_op *copy);
/* n arrivals of what `actor` had asked for until `time`: the warp itself shows nothing with them. */
void emu_mbarrier_arrive_for(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_mbarrier *m, int n, int actor,
                             uint32_t time);
/* Of the instruction's address operand. */
struct emu_mbarrier *emu_mbarrier_of(struct emu_warp *w, const struct emu_insn *in, int lane);
/* Says what a group waits for; reports bytes that were announced wrongly. */
void emu_mbarrier_say(struct emu_warp *w, const struct emu_group *g, char *text, size_t bytes);

/* -- raise_tma_load.c -- */
emu_run emu_run_tma_load, emu_run_tma_store, emu_run_bulk_load, emu_run_bulk_store, emu_run_bulk_send, emu_run_bulk_commit, emu_run_bulk_wait,
    emu_run_bulk_prefetch, emu_run_nothing;
bool emu_decode_bulk(struct emu_insn *in);
/* At the end of a cluster: stores that nobody has waited for. */
void emu_check_end(struct emu_cluster *c);

/* -- wgmma.c -- */
bool emu_is_wgmma(const struct emu_insn *in) __attribute__((pure));
/* A wgmma whose D is what it adds to, unless a predicate says otherwise when it runs. */
bool emu_wgmma_adds(const struct emu_insn *in) __attribute__((pure));
bool emu_decode_wgmma(struct emu_insn *in);
int emu_wgmma_operations(const struct emu_insn *in) __attribute__((pure));
emu_run emu_run_wgmma, emu_run_wgmma_fence, emu_run_wgmma_commit;
int emu_first_registers(const struct emu_code *c); /* of a thread, before it gives some away or takes more */
/* setmaxnreg; false: so many registers are not there yet. */
bool emu_set_registers(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
/* What is under way is over, but for the last groups. */
void emu_wgmma_wait(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
/* Of a kernel with wgmma: an instruction may not touch registers that are in use. */
void emu_wgmma_watch(struct emu_warp *w, const struct emu_insn *in);
size_t emu_async_bytes(const struct emu_code *code); /* that the work under way takes in a cluster */
/* Does one piece of the work under way; false: there is none. */
bool emu_async_step(struct emu_cluster *c);
uint32_t emu_random(struct emu_cluster *c, uint32_t below);

/* -- warp.c: registers -- */
uint64_t emu_lane(const struct emu_warp *w, const struct emu_opnd *o, int lane);
/* Stores one lane of a register, as defined as `undefined` says. */
void emu_set_lane(struct emu_warp *w, const struct emu_opnd *o, int lane, uint64_t bits, uint64_t undefined);
/* Stores the lanes `on` of `values`, which has o's class. */
void emu_commit(struct emu_warp *w, const struct emu_opnd *o, uint32_t on, const void *values);
emu_run emu_run_compute, emu_run_pack, emu_run_unpack, emu_run_param, emu_run_shfl, emu_run_redux, emu_run_policy, emu_run_vote, emu_run_activemask, emu_run_elect, emu_run_timer;
emu_compute *emu_address_compute(const struct emu_insn *in);

/* -- undefined.c -- */
/* Bits of the lane of o that were never written. */
uint64_t emu_undefined_opnd(const struct emu_warp *w, const struct emu_opnd *o, int lane);
/* Of the result of a compute instruction. */
uint64_t emu_undefined_result(const struct emu_warp *w, const struct emu_insn *in, int lane);
/* Reports the first of the lanes `on` in which one of the low `bits` of o was never written;
 * `what` says what o is. */
void emu_need_defined(struct emu_warp *w, const struct emu_insn *in, const struct emu_opnd *o, int bits, uint32_t on,
                      const char *what);

/* -- memory.c -- */
emu_run emu_run_ld, emu_run_st, emu_run_atom;
/* Of operand o, in all lanes. */
void emu_addresses(struct emu_warp *w, const struct emu_insn *in, const struct emu_opnd *o, uint32_t on, uint64_t *at);
/* *p = what the reduction `m` makes of *p and x, of type t. */
void emu_combine_at(unsigned char *p, enum mod m, enum ptype t, uint64_t x);
/* Reports what of an access of `bytes` per lane is not inside one buffer, or no multiple of `bytes`. */
void emu_check_global(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *at, int bytes);

/* -- lower_tma_store.c -- */
bool emu_is_mma(const struct emu_insn *in);
/* Multiplications and additions that a warp makes with it; 0: it is none. */
int emu_mma_operations(const struct emu_insn *in) __attribute__((pure));
emu_run emu_run_mma, emu_run_ldmatrix, emu_run_stmatrix;

/* -- allocate_shared.c -- */
/* Checks one access; returns where it goes. */
unsigned char *emu_shared_at(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address, int bytes);
void emu_shared_read(struct emu_warp *w, const struct emu_insn *in, int lane, const unsigned char *p, int bytes, uint64_t *undefined);
void emu_shared_write(struct emu_warp *w, const struct emu_insn *in, int lane, unsigned char *p, int bytes, uint64_t value,
                      uint64_t undefined);
/* Where a range of another CTA's shared memory begins, which the address says; sets that CTA. */
int emu_shared_range(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address, int bytes, int align,
                     struct emu_cta **cta);
/* `actor` will write bytes of a CTA for w; or reads them at `time`. */
void emu_shared_claim(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_cta *c, int at, int bytes,
                      int actor);
/* Returns whether some of the bytes depend on something never written. */
bool emu_shared_lend(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_cta *c, int at, int bytes,
                     int actor, uint32_t time);
/* A warp that uses an mbarrier there has to know that it was initialized. */
void emu_shared_need_seen(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_cta *c, int at);
/* Of an atomic operation: those of several warps do not race with each other. */
unsigned char *emu_shared_atomic(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address, int bytes);

/* -- overflow.c -- */
void emu_find_addresses(struct arena *a, struct emu_code *code);
/* Before an instruction that follows is executed. */
void emu_follow(struct emu_warp *w, const struct emu_insn *in, uint32_t on);
/* Reports an address that is made of what did not fit. */
void emu_need_fit(struct emu_warp *w, const struct emu_insn *in, const struct emu_opnd *o, uint32_t on);

/* -- live.c -- */
/* 32-bit registers of a thread that are live before each instruction; `surely`: without those that
 * lanes have in common. */
uint16_t *emu_live_registers(struct arena *a, const struct emu_code *code, bool surely);

/* -- counts.c -- */
/* What one instruction cost, over all warps. */
struct emu_tally {
    uint64_t executed, lanes;               /* warps that came to it; lanes that it was done for */
    uint64_t bytes, sectors, sectors_least; /* of global memory; a sector is 32 bytes */
    uint64_t wavefronts, conflicts;         /* of shared memory: passes, and those of them that banks in common cost */
};
/* Sums over all launches since it was made. */
struct emu_counts;
struct emu_counts *emu_counts_new(const struct memory *mem, int64_t programs); /* NULL: no memory */
void emu_counts_free(struct emu_counts *c); /* may be NULL */
/* Runs as emulator_run does, and counts; `id`: of the kernel. Launches of one id are summed. */
bool emu_counts_run(struct emu_counts *c, const struct emu_code *code, const char *name, const char *id, struct emu_launch *l);
void emu_counts_each(struct emu_counts *c, neso_counts_fn *each, void *user);
void emu_counts_help(struct text *out);
/* The lanes `on` access `bytes` each, at multiples of `bytes`. */
void emu_count_global(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *at, int bytes);
void emu_count_shared(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *at, int bytes);
/* A bulk copy accesses bytes in a row. */
void emu_count_row(struct emu_warp *w, const struct emu_insn *in, uint64_t at, uint64_t bytes);

#endif
