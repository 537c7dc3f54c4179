/* interpreter.h: the interpreter, a device that executes traced tile IR on the CPU, and defines what a kernel
 * means. In reading order: interpreter.c (decoding, control flow), ops.c and memory.c (ops), run.c (threads),
 * race.c and overflow.c (checks), debugger.c, device.c.
 *
 *     traced func ──decode──► code: steps on slots of a frame ──run──► every program of the grid, on all cores
 *
 * A frame is one worker's memory: each value has a slot in it, an array of its elements in memory form (i1:
 * bytes 0 and 1; pointers: 8 bytes). Constants, ranges and other ops that do not depend on the program id are
 * computed once for each worker. */
#ifndef NESO_RUNTIME_INTERPRETER_H
#define NESO_RUNTIME_INTERPRETER_H

#include "ir/ir.h"
#include "runtime/budget.h"
#include "runtime/devices/cpu.h"

#include <setjmp.h>
#include <stdatomic.h>

/* The error that stopped a launch: that of the lowest program that failed, so that every run reports the
 * same. */
struct interp_report {
    enum error error; /* ERR_count: no error */
    struct loc loc;
    int pid[3];
    char what[600]; /* formatted detail */
};

struct interp_launch {
    const struct func *func;
    int grid[3];
    const uint64_t *args; /* the parameters' values, in the low bytes */
    const struct launch_tensor *tensors; /* by parameter; NULL: unknown */
    const struct cpu_buffer *buffers;
    int nbuffers;
    int num_threads;      /* 0: all cores */
    const struct memory *mem;
    struct budget *budget; /* NULL: time and steps are not limited */
    struct race *race;    /* NULL: races are not checked */
    bool races_all;       /* checks races during the whole launch, not only at its start */
    /* Gets output of prints; called under a lock. */
    void (*write)(void *ctx, const char *s, size_t n);
    void *write_ctx;
    /* Called by one program at a time; see device.h. */
    bool (*host)(void *ctx, const struct host_call *call);
    void *host_ctx;
    struct interp_report report;
};

struct code;
/* Decodes f once; the code lives in `a`. */
const struct code *interpreter_decode(struct arena *a, const struct func *f);
/* Runs all programs. Returns false on an error: see l->report. */
bool interpreter_run(const struct code *c, struct interp_launch *l);

/* -- among the files of the interpreter -- */

struct frame;

/* One decoded op. Slots are byte offsets in the frame. */
struct step {
    const struct op *op;
    void (*run)(struct frame *f, const struct step *s);
    int64_t n;         /* number of elements of the result (of the stored value, if there is no result) */
    int nin, nout;
    const size_t *in;  /* operands; SLOT_NONE: absent */
    const size_t *out;
    const struct code *body[2];
    int origin; /* of a memory op: the parameter from which its pointers were computed, or ORIGIN_any */
    uint16_t place; /* of a memory op: its index in code.accesses */
    bool waits;     /* a while loop that reads memory, and so may wait for another program's write */
};
#define SLOT_NONE ((size_t)-1)
enum { FRAME_ALIGN = 64, ORIGIN_none = -2, ORIGIN_any = -1 };

/* A decoded block. `hoisted` steps do not depend on the program (top level only). */
struct code {
    const struct step *steps;
    int nsteps;
    const struct step *hoisted;
    int nhoisted;
    const size_t *args;   /* slots of the block's arguments */
    const size_t *arg_bytes;
    int nargs;
    size_t frame_bytes;   /* top level */
    long long work;       /* approximate elements computed, without those of inner blocks */
    /* The rest is for the top level only: */
    struct map slots;     /* maps struct value * to its slot + 1 */
    struct {
        const struct op *const *at;
        int n;
    } accesses;           /* memory ops */
    struct {
        const int *at;
        int n;
    } written;            /* origins of the pointers of stores and atomics */
    int granule;          /* bytes of the smallest element accessed */
    bool waits;           /* some loop may wait for memory */
    bool in_order;        /* programs run one after the other, because they print or call the host */
    bool one_by_one;      /* a reduction's region with control flow: it computes single elements */
};

struct frame {
    char *mem;
    const struct code *code; /* the kernel's block */
    struct interp_launch *launch;
    int pid[3];
    int64_t width;       /* in a reduction's region: elements computed at once; else 0 */
    bool returned;       /* a `return` was executed */
    bool wrapped;        /* 32-bit arithmetic of an address has overflowed */
    bool wrapped_once;   /* likewise in the hoisted steps */
    long long program;   /* the program's number in the grid */
    /* by parameter: the buffer that it points into; NULL: it is not a pointer, or points to no known
     * buffer */
    const struct cpu_buffer *const *homes;
    const struct cpu_buffer *last; /* buffer of the last access through a pointer of any origin */
    struct race *race;   /* NULL: not watched */
    uint32_t epoch, acquired; /* see race.c */
    long long work;      /* work since the counter was last read */
    bool wrote;          /* memory has changed; only maintained if a loop may wait for memory */
    int64_t unasked;     /* elements to compute before the budget is asked next; < 0: it is exhausted */
    enum error spent;    /* the limit that was exceeded */
    struct held *held;   /* scratch memory of the running steps */
    struct worker *worker;
    jmp_buf *fail;
    struct interp_shared *shared;
};

typedef void step_function(struct frame *f, const struct step *s);
extern step_function *const interpreter_steps[OP_count]; /* in ops.c; interpreter.c has control flow */
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

/* The dtype of a value's elements; for pointers, that of their addresses. */
static inline enum dtype step_dtype(const struct value *v)
{
    const struct type *t = type_elem(v->type);
    return t->kind == TY_ptr ? DT_i64 : t->dtype;
}

/* -- run.c -- */

/* Stops the launch with a report at the step's place. */
_Noreturn void interpreter_fail(struct frame *f, const struct step *s, enum error e, const char *format, ...)
    PRINTF_LIKE(4, 5);
_Noreturn void interpreter_fail_at(struct frame *f, struct loc loc, enum error e, const char *format, ...) PRINTF_LIKE(4, 5);
void interpreter_write(struct frame *f, const char *s, size_t n);
/* Is there budget left for further elements? Called when frame_spend has run out. */
bool interpreter_ask(struct frame *f);
static inline bool frame_spend(struct frame *f, int64_t elems)
{
    return (f->unasked -= elems) >= 0 || interpreter_ask(f);
}
/* Ends the launch with a report at the step's place, because the budget is exhausted. */
_Noreturn void interpreter_stop(struct frame *f, const struct step *s);
/* Scratch memory of a step that may fail: freed in reverse order, or when the programs of this worker end. */
void *interpreter_hold(struct frame *f, const struct step *s, size_t bytes);
void interpreter_drop(struct frame *f);
/* The program id of the grid's program number i. */
void interpreter_pid(const struct frame *f, long long i, int *pid);
/* Has a lower program failed, so that this one can stop? */
bool interpreter_is_over(const struct frame *f);
/* A loop that reads memory has iterated many times: yields to programs for which it may be waiting. `counts`:
 * its carried values change. Returns true if others run all the time, or there are none. */
bool interpreter_wait(struct frame *f, const struct step *at, bool counts);

/* -- ops.c -- */

/* Formats one element as a print shows it. */
void interpreter_value(char *out, size_t room, const struct type *t, const char *p, bool hex, bool is_unsigned);

/* -- memory.c -- */

/* The elements that one op accesses. */
struct interp_access {
    const uint64_t *p;
    const char *mask; /* NULL: all are accessed */
    int64_t n;
    uint64_t bytes; /* of an element */
    const struct cpu_buffer *home; /* of the element that was checked last */
};

step_function step_load, step_store, step_atomic;
int interpreter_origin(struct arena *a, const struct value *pointer);
/* How a report names element i of a tile. */
void interpreter_element(char *out, size_t room, const struct type *t, int64_t i);
/* How a report names the place in buffer b, accessed by s: "index 12, [3, 0], of 'x_ptr', which is float32[3,
 * 4]". */
void interpreter_place(const struct frame *f, const struct step *s, const struct cpu_buffer *b, uint64_t at, uint64_t bytes,
                       char *out, size_t room);

/* -- race.c -- */

struct race *race_new(const struct memory *m); /* NULL: no memory */
void race_free(struct race *r);
struct race_shadow *race_shadow_new(const struct memory *m);
void race_shadow_free(struct race_shadow *s, const struct memory *m);
/* Enclose a launch; false: this one is not watched. granule: bytes of the smallest element that the kernel
 * accesses. */
bool race_begin(struct race *r, int granule);
void race_end(struct race *r);
/* Begins program f->program; false: no memory to watch it. */
bool race_program(struct race *r, struct frame *f);
void race_acquire(struct race *r, struct frame *f);
bool race_release(struct race *r, struct frame *f);
/* Checks elements i .. i + run - 1, which are contiguous, before they are accessed; value NULL: by an
 * atomic. */
void race_read(struct frame *f, const struct step *s, const struct interp_access *a, int64_t i, int64_t run);
void race_write(struct frame *f, const struct step *s, const struct interp_access *a, int64_t i, int64_t run, const char *value);

/* -- overflow.c -- */

/* Marks the values from which addresses in b are computed. */
void interpreter_mark_addresses(struct map *marked, const struct block *b);
bool interpreter_may_wrap(const struct map *marked, const struct op *o);
/* Has the step that just ran overflowed? */
bool interpreter_wraps(const struct frame *f, const struct step *s);
/* Fails if an address in use differs from that of unbounded arithmetic. */
void interpreter_check_wraps(struct frame *f, const struct step *s, const uint64_t *p, const char *mask);

#endif
