/* interpreter.h: executes traced tile IR on the CPU: the third device, and the definition of what a kernel
 * means.
 *
 *     traced func ──decode──► code: steps on slots of a frame ──run──► every program of the grid, on all cores
 *
 * A frame is one worker's memory: each value has a slot in it, an array of its elements in memory form (i1:
 * bytes 0 and 1; pointers: 8 bytes). Constants, ranges and other ops that depend on nothing of the program
 * are computed once a worker.
 */
#ifndef NESO_RUNTIME_INTERPRETER_H
#define NESO_RUNTIME_INTERPRETER_H

#include "ir/ir.h"
#include "runtime/budget.h"
#include "runtime/devices/cpu.h"

#include <setjmp.h>
#include <stdatomic.h>

/* What stopped a launch: what the lowest of the programs that failed ran into, so that
 * every run tells the same. */
struct interp_report {
    enum error error; /* ERR_count: nothing */
    struct loc loc;
    int pid[3];
    char what[600]; /* formatted detail */
};

struct interp_launch {
    const struct func *func;
    int grid[3];
    const uint64_t *args; /* one per parameter: its value in the low bytes */
    const struct launch_tensor *tensors; /* the same; NULL: unknown */
    const struct cpu_buffer *buffers;
    int nbuffers;
    int num_threads;      /* 0: all cores */
    const struct memory *mem;
    struct budget *budget; /* NULL: time and steps are not limited */
    struct race *race;    /* NULL: races are not looked for */
    bool races_all;       /* to the end, not only at the start */
    /* Output of prints; called under a lock. */
    void (*write)(void *ctx, const char *s, size_t n);
    void *write_ctx;
    /* One program at a time; see device.h. */
    bool (*host)(void *ctx, const struct host_call *call);
    void *host_ctx;
    struct interp_report report;
};

struct code;
/* Decodes f once; lives in `a`. */
const struct code *interpreter_decode(struct arena *a, const struct func *f);
/* Runs all programs. False: see l->report. */
bool interpreter_run(const struct code *c, struct interp_launch *l);

/* -- among the files of the interpreter -- */

struct frame;

/* One op, decoded. Slots are byte offsets in the frame. */
struct step {
    const struct op *op;
    void (*run)(struct frame *f, const struct step *s);
    int64_t n;         /* elements of the result (of the value stored, where there is none) */
    int nin, nout;
    const size_t *in;  /* SLOT_NONE: absent operand */
    const size_t *out;
    const struct code *body[2];
    int origin; /* of a memory op: the parameter that its pointers were made from, or ORIGIN_any */
    uint16_t place; /* of a memory op: its index in code.accesses */
    bool waits;     /* a while loop that reads memory: maybe until another program writes */
};
#define SLOT_NONE ((size_t)-1)
enum { FRAME_ALIGN = 64, ORIGIN_none = -2, ORIGIN_any = -1 };

/* A block, decoded. `hoisted` steps depend on nothing of the program (top level only). */
struct code {
    const struct step *steps;
    int nsteps;
    const struct step *hoisted;
    int nhoisted;
    const size_t *args;   /* slots of the block's arguments */
    const size_t *arg_bytes;
    int nargs;
    size_t frame_bytes;   /* top level */
    long long work;       /* elements computed, about, without those of inner blocks */
    /* Top level only: */
    struct map slots;     /* struct value * to its slot + 1 */
    struct {
        const struct op *const *at;
        int n;
    } accesses;           /* memory ops */
    struct {
        const int *at;
        int n;
    } written;            /* origins of what stores and atomics write */
    int granule;          /* bytes of the smallest element accessed */
    bool waits;           /* some loop waits for memory */
    bool in_order;        /* programs run one after the other: they print, or ask the host */
    bool one_by_one;      /* a reduction's region that has control flow: no vectors of elements */
};

struct frame {
    char *mem;
    const struct code *code; /* top level */
    struct interp_launch *launch;
    int pid[3];
    int64_t width;       /* in a reduction's region: elements computed at once; else 0 */
    bool returned;       /* a `return` was met */
    bool wrapped;        /* arithmetic of an address did not fit 32 bits */
    bool wrapped_once;   /* the same among the hoisted steps */
    long long program;   /* its number in the grid */
    const struct cpu_buffer *const *homes; /* per parameter: where it points to, NULL: it is no pointer, or to nothing known */
    const struct cpu_buffer *last; /* of the last access through a pointer of any origin */
    struct race *race;   /* NULL: not watched */
    uint32_t epoch, acquired; /* see race.c */
    long long work;      /* done since it was last asked */
    bool wrote;          /* memory has changed; kept where a loop waits for memory */
    int64_t unasked;     /* elements to compute before the budget is asked again; < 0: it is spent */
    enum error spent;    /* then: which limit is passed */
    struct held *held;   /* scratch memory of the steps under way */
    struct worker *worker;
    jmp_buf *fail;
    struct interp_shared *shared;
};

typedef void step_function(struct frame *f, const struct step *s);
extern step_function *const interpreter_steps[OP_count]; /* ops.c; control flow is interpreter.c's */
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

/* The dtype of a value's elements; of pointers, that of their addresses. */
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
/* Is there budget left, elements having been computed? Asked where frame_spend has run out. */
bool interpreter_ask(struct frame *f);
static inline bool frame_spend(struct frame *f, int64_t elems)
{
    return (f->unasked -= elems) >= 0 || interpreter_ask(f);
}
/* Ends the launch, the budget being spent, with a report at the step's place. */
_Noreturn void interpreter_stop(struct frame *f, const struct step *s);
/* Scratch memory of a step that may fail: dropped in reverse order, or when the programs of this worker end. */
void *interpreter_hold(struct frame *f, const struct step *s, size_t bytes);
void interpreter_drop(struct frame *f);
/* Which program of the grid number i is. */
void interpreter_pid(const struct frame *f, long long i, int *pid);
/* A lower program has failed: this one need not go on. */
bool interpreter_is_over(const struct frame *f);
/* A loop that reads memory has turned many times: others may be what it waits for. `counts`: the values it
 * carries change. True: others run all the time, or there are none. */
bool interpreter_wait(struct frame *f, const struct step *at, bool counts);

/* -- ops.c -- */

/* One element as a print shows it. */
void interpreter_value(char *out, size_t room, const struct type *t, const char *p, bool hex, bool is_unsigned);

/* -- memory.c -- */

/* What one op touches. */
struct interp_access {
    const uint64_t *p;
    const char *mask; /* NULL: all on */
    int64_t n;
    uint64_t bytes; /* of an element */
    const struct cpu_buffer *home; /* of the element last checked */
};

step_function step_load, step_store, step_atomic;
int interpreter_origin(struct arena *a, const struct value *pointer);
/* How a report calls element i of a t. */
void interpreter_element(char *out, size_t room, const struct type *t, int64_t i);
/* And the place in the tensor b, reached by s: "index 12, [3, 0], of 'x_ptr', which is float32[3, 4]". */
void interpreter_place(const struct frame *f, const struct step *s, const struct cpu_buffer *b, uint64_t at, uint64_t bytes,
                       char *out, size_t room);

/* -- race.c -- */

struct race *race_new(const struct memory *m); /* NULL: no memory */
void race_free(struct race *r);
struct race_shadow *race_shadow_new(const struct memory *m);
void race_shadow_free(struct race_shadow *s, const struct memory *m);
/* Around a launch; false: this one is not watched. granule: bytes of the smallest element
 * that the kernel accesses. */
bool race_begin(struct race *r, int granule);
void race_end(struct race *r);
/* f->program begins; false: no memory to watch it. */
bool race_program(struct race *r, struct frame *f);
void race_acquire(struct race *r, struct frame *f);
bool race_release(struct race *r, struct frame *f);
/* Elements i .. i + run - 1, side by side, are about to be accessed; value NULL: by an atomic. */
void race_read(struct frame *f, const struct step *s, const struct interp_access *a, int64_t i, int64_t run);
void race_write(struct frame *f, const struct step *s, const struct interp_access *a, int64_t i, int64_t run, const char *value);

/* -- overflow.c -- */

/* Notes the values that addresses in b are made of. */
void interpreter_mark_addresses(struct map *marked, const struct block *b);
bool interpreter_may_wrap(const struct map *marked, const struct op *o);
/* Of a step that has just run. */
bool interpreter_wraps(const struct frame *f, const struct step *s);
/* Fails where an address in use differs from what unbounded arithmetic makes it. */
void interpreter_check_wraps(struct frame *f, const struct step *s, const uint64_t *p, const char *mask);

#endif
