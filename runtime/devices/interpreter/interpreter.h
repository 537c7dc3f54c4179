/* SPDX-License-Identifier: MIT */
/* interpreter.h: the interpreter, a device that executes traced tile IR on the CPU, and defines the semantics
 * of kernels. In reading order: interpreter.c (decoding, control flow), ops.c and memory.c (ops), run.c
 * (threads), overflow.c (overflowed addresses), trace.h, shadow.c, shadow_ops.c and origin.c (shadows of
 * floats), debugger.c and evaluate.c (the debugger), device.c.
 *
 *     traced func ──decode──► code: steps on slots of a frame ──run──► every program of the grid, on all cores
 *
 * A worker is a thread that runs programs one after the other. A frame is the memory of one worker. Each
 * value has a slot in the frame, which contains the value's elements in the same representation as in global
 * memory (an i1 is a byte, 0 or 1; a pointer has 8 bytes). A worker executes top-level ops that do not depend
 * on the program id, such as constants and ranges, only once for all its programs. */
#ifndef NESO_RUNTIME_INTERPRETER_H
#define NESO_RUNTIME_INTERPRETER_H

#include "ir/ir.h"
#include "runtime/budget.h"
#include "runtime/devices/cpu.h"
#include "runtime/devices/interpreter/trace.h"
#include "runtime/devices/race.h"

#include <setjmp.h>
#include <stdatomic.h>

/* The error that stopped a launch. If several programs fail, the error of the program with the lowest number is
 * reported, so that every run reports the same error. */
struct interp_report {
    enum error error; /* ERR_count: no error */
    struct loc loc;
    int pid[3];
    char what[600]; /* the formatted detail of the error */
};

struct interp_launch {
    const struct func *func;
    int grid[3];
    const uint64_t *args; /* the values of the parameters, in the low bytes */
    const struct launch_tensor *tensors; /* the tensor of each parameter; NULL: unknown */
    const struct cpu_buffer *buffers;
    int nbuffers;
    int num_threads;      /* the number of threads that run at once; 0: one for each core */
    const struct memory *mem;
    struct budget *budget; /* limits time and steps; NULL: no limits */
    struct race *race;    /* the race detector; NULL: races are not checked */
    bool races_all;       /* races are checked during the whole launch, not only at its start */
    long long sample;     /* the number of evenly spaced programs to run; 0: all */
    const int *only;      /* the id of the only program to run; NULL: all programs run */
    const bool *finds_nan; /* while *finds_nan is true, call `host` when an op makes a NaN; NULL: never */
    struct float_trace *trace;  /* records shadows of floats, on one thread; NULL: no shadows */
    /* Receives the output of prints. No two threads call this function at the same time. */
    void (*write)(void *ctx, const char *s, size_t n);
    void *write_ctx;
    /* Executes a host_call (device.h). Only one program at a time calls this function. */
    bool (*host)(void *ctx, const struct host_call *call);
    void *host_ctx;
    struct interp_report report;
};

struct code;
/* Decodes f; the code is allocated in `a`. */
const struct code *interpreter_decode(struct arena *a, const struct func *f);
/* Runs all programs. After an error, stores the error in l->report and returns false. */
bool interpreter_run(const struct code *c, struct interp_launch *l);

/* -- internal to the interpreter -- */

struct frame;

/* A decoded op. Slots are byte offsets in the frame. */
struct step {
    const struct op *op;
    void (*run)(struct frame *f, const struct step *s);
    int64_t n;         /* the number of elements of the result, or, without a result, of operand 0 */
    int nin, nout;
    const size_t *in;  /* the slots of the operands; SLOT_NONE: the operand is absent */
    const size_t *out;
    const struct code *body[2];
    int origin; /* for a memory op: the number of the parameter from which its pointers are computed, or
                 * ORIGIN_any */
    uint16_t place; /* for a memory op: its index in code.accesses */
    bool waits;     /* the step is a while loop that reads memory, so it may wait for another program's write */
};
#define SLOT_NONE ((size_t)-1)
/* Values of `origin`. ORIGIN_any: the pointers may point into any buffer. ORIGIN_none: memory.c has not found
 * an origin yet. */
enum { FRAME_ALIGN = 64, ORIGIN_none = -2, ORIGIN_any = -1 };

/* A decoded block. `hoisted` has the steps that each worker executes only once for all its programs, because
 * they do not depend on the program id. Only the kernel's outermost block has hoisted steps. */
struct code {
    const struct step *steps;
    int nsteps;
    const struct step *hoisted;
    int nhoisted;
    const size_t *args;   /* the slots of the block's arguments */
    const size_t *arg_bytes;
    int nargs;
    long long work;       /* the approximate number of elements that the block computes, without its inner blocks */
    /* the block contains control flow; as the region of a reduction, scan or map, it therefore computes only
     * one element at a time */
    bool one_by_one;
    /* The following fields are valid only for the kernel's outermost block: */
    size_t frame_bytes;   /* the size of a frame */
    struct map slots;     /* maps struct value * to its slot + 1 */
    struct {
        const struct op *const *at;
        int n;
    } accesses;           /* the memory ops */
    struct {
        const int *at;
        int n;
    } written;            /* the origins of the pointers of stores and atomics */
    int granule;          /* the size in bytes of the smallest element that a memory op accesses */
    bool waits;           /* the kernel has a loop that may wait until memory changes (step.waits) */
    bool in_order;        /* programs must run one after the other, because they print or call the host */
    /* shadow_at[slot / FRAME_ALIGN] is 1 + the index, in frame.shadows, of the first shadow of the floats in
     * this slot; 0: the slot has no floats */
    const uint32_t *shadow_at;
    size_t nshadows;
};

struct frame {
    char *mem;
    const struct code *code; /* the kernel's block */
    struct interp_launch *launch;
    int pid[3];
    int64_t width;       /* in the region of a reduction, scan or map, the number of elements that each step
                          * computes; otherwise 0 */
    bool returned;       /* the program has executed a `return` */
    bool wrapped;        /* 32-bit arithmetic from which an address is computed has overflowed in this
                          * program */
    bool wrapped_once;   /* the same, in the hoisted steps */
    long long program;   /* the program's number in the grid */
    /* for each parameter: the buffer into which it points; NULL: the parameter is not a pointer, or does not point into
     * a known buffer */
    const struct cpu_buffer *const *homes;
    const struct cpu_buffer *last; /* a cache for accesses by steps whose origin has no buffer in `homes`: the
                                    * buffer of the last access */
    struct race *race;   /* the race detector; NULL: races are not checked */
    struct race_party party; /* the program, for the race detector */
    long long work;      /* elements computed since `take` (run.c) last reset this counter */
    bool wrote;          /* the program has changed memory; stores set it only if code.waits is set */
    /* the number of elements that may be computed until the next check of the budget; < 0: the budget is exhausted */
    int64_t unasked;
    enum error spent;    /* the limit that the budget reported; ERR_count: none */
    struct held *held;   /* the blocks of scratch memory in use (interpreter_hold), the newest first */
    const struct step *site; /* the host_call that the program executed last; NULL: none */
    struct shadow *shadows; /* the shadows of all floats of the frame; NULL: the launch has no shadows */
    struct worker *worker;
    jmp_buf *fail;
    struct interp_shared *shared;
};

typedef void step_function(struct frame *f, const struct step *s);
/* the step function of each op. Those of control flow are in interpreter.c, those of memory ops in memory.c,
 * and all others in ops.c */
extern step_function *const interpreter_steps[OP_count];
void interpreter_block(struct frame *f, const struct code *c);
step_function step_for, step_while, step_if, step_return, step_address;

static inline char *step_in(const struct frame *f, const struct step *s, int i)
{
    return i < s->nin && s->in[i] != SLOT_NONE ? f->mem + s->in[i] : NULL;
}

static inline char *step_out(const struct frame *f, const struct step *s)
{
    return f->mem + s->out[0];
}

static inline int64_t step_elems(const struct frame *f, const struct step *s)
{
    return f->width ? f->width : s->n;
}

/* Returns the dtype of a value's elements; for pointers, the dtype of addresses. */
static inline enum dtype step_dtype(const struct value *v)
{
    const struct type *t = type_elem(v->type);
    return t->kind == TY_ptr ? DT_i64 : t->dtype;
}

/* -- run.c -- */

/* Stops the launch with a report at the step's source position. */
_Noreturn void interpreter_fail(struct frame *f, const struct step *s, enum error e, const char *format, ...)
    PRINTF_LIKE(4, 5);
_Noreturn void interpreter_fail_at(struct frame *f, struct loc loc, enum error e, const char *format,
                                   ...) PRINTF_LIKE(4, 5);
void interpreter_write(struct frame *f, const char *s, size_t n);
/* Called by frame_spend when f->unasked is below 0: checks the budget. Returns false if the budget is exhausted. */
bool interpreter_ask(struct frame *f);
static inline bool frame_spend(struct frame *f, int64_t elems)
{
    return (f->unasked -= elems) >= 0 || interpreter_ask(f);
}
/* Stops the launch, and reports at the step's source position that the budget is exhausted. */
_Noreturn void interpreter_stop(struct frame *f, const struct step *s);
/* interpreter_hold allocates a block of scratch memory for a step; if there is no memory, it stops the
 * launch. interpreter_drop frees the block that was allocated last. A step that fails need not free its
 * blocks, because a worker frees all remaining blocks when it ends. */
void *interpreter_hold(struct frame *f, const struct step *s, size_t bytes);
void interpreter_drop(struct frame *f);
/* Computes the program id of program number i of the grid. */
void interpreter_pid(const struct frame *f, long long i, int *pid);
/* Returns whether a program with a lower number than the program of f has failed. The program of f can then
 * stop. */
bool interpreter_is_over(const struct frame *f);
/* Called after many iterations of a loop that reads memory: lets other programs run, because the loop may
 * wait for what they store. `counts` is true if the loop has changed its carried values since the last call.
 * Returns true if the worker has kept its token (run.c), and false if it passed the token on and got one
 * again. */
bool interpreter_wait(struct frame *f, const struct step *at, bool counts);

/* -- ops.c -- */

/* Tells the host that a step has made a NaN, element i of its result. */
void interpreter_tell_nan(struct frame *f, const struct step *s, int64_t i);
/* Formats one element as the kernel's prints do. */
void interpreter_value(char *out, size_t room, const struct type *t, const char *p, bool hex, bool is_unsigned);

/* -- memory.c -- */

/* The elements that one op accesses. */
struct interp_access {
    const uint64_t *p; /* the addresses of the elements */
    const char *mask; /* NULL: all elements are accessed */
    int64_t n;
    uint64_t bytes; /* the size of an element */
    const struct cpu_buffer *home; /* the buffer of the element that was checked last */
};

step_function step_load, step_store, step_atomic;
/* Returns the number of the parameter from which the pointer is computed; ORIGIN_any if it may be computed
 * from several parameters or from none. */
int interpreter_origin(struct arena *a, const struct value *pointer);
/* Formats the indices of element i of a tile for a report: "element (1, 2) of the tile". */
void interpreter_element(char *out, size_t room, const struct type *t, int64_t i);
/* Describes address `at` for a report. Step s accesses `bytes` bytes there. The text gives the index of the
 * address in buffer b: "index 12, [3, 0], of 'x_ptr', which is float32[3, 4]". */
void interpreter_place(const struct frame *f, const struct step *s, const struct cpu_buffer *b, uint64_t at,
                       uint64_t bytes, char *out, size_t room);

/* -- shadow.c and shadow_ops.c -- */

/* Returns the shadows (trace.h) of the floats in a slot; NULL if the slot has no floats, or if the launch has
 * no shadows. */
struct shadow *shadows_in(const struct frame *f, size_t slot);
/* Computes the shadows of the results of a step that has been executed. */
void shadow_step(struct frame *f, const struct step *s);
/* Called after a step was executed. If the step has made a NaN, calls the host (neso's debugger). Works
 * without shadows. */
void shadow_find_nan(struct frame *f, const struct step *s);
/* Copies the shadows of elems[k] floats from slot from[k] to slot to[k], for k < n, as if all shadows were
 * read before the first is written. */
void shadow_copy(struct frame *f, const size_t *from, const size_t *to, const int64_t *elems, int n);
/* shadow_store, shadow_load and shadow_atomic check and record the shadows of floats in memory. shadow_store
 * and shadow_load are called before the step stores or loads `run` elements, beginning with element i.
 * shadow_atomic is called after the step's atomic on element i. */
void shadow_store(struct frame *f, const struct step *s, const struct interp_access *a, int64_t i, int64_t run);
void shadow_load(struct frame *f, const struct step *s, const struct interp_access *a, int64_t i, int64_t run);
void shadow_atomic(struct frame *f, const struct step *s, uint64_t at, int64_t i, uint64_t old, uint64_t stored);
/* Copies elements of an operand to a result of the given shape. Elements that are neighbours in dimension d
 * of the result are stride[d] elements apart in the operand. */
void interpreter_strided(char *out, const char *in, size_t bytes, int rank, const int *shape, const int64_t *stride);
/* Sets stride[d] to the distance in elements between neighbours in dimension d of a row-major tile. */
void interpreter_strides(const struct type *t, int64_t *stride);
void interpreter_axis(const struct step *s, int64_t *outer, int64_t *along, int64_t *inner);

/* Sets *lost to the number of low bits in which a value differs from its shadow. Returns whether *lost is
 * more than the trace allows. `scale` is the shadow_scale of the value's tile. */
bool shadow_has_lost(const struct float_trace *t, enum dtype type, double value, const struct shadow *x, double scale,
                     double *lost);
double shadow_scale(const struct shadow *x, int64_t n); /* the largest finite |x[i].exact| */

/* -- origin.c -- */

/* Writes an explanation to `out`, one line per op: how element i of a step's result was computed from
 * tensors. */
void interpreter_explain(struct frame *f, const struct step *s, int64_t i, char *out, size_t room);

/* -- overflow.c -- */

/* Adds to `marked` the values from which the addresses in block b are computed. */
void interpreter_mark_addresses(struct map *marked, const struct block *b);
/* Returns whether the op is i32 arithmetic with a marked result. */
bool interpreter_may_wrap(const struct map *marked, const struct op *o);
/* Returns whether the arithmetic of step s, an op on i32 that was just executed, has overflowed. */
bool interpreter_wraps(const struct frame *f, const struct step *s);
/* Called before a step accesses the addresses p. Computes the addresses of all elements that `mask` enables
 * (NULL: of all elements) again, without overflow. If an address differs because of an overflow, stops the
 * launch with a report. */
void interpreter_check_wraps(struct frame *f, const struct step *s, const uint64_t *p, const char *mask);

#endif
