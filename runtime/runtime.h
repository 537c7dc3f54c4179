/* runtime.h: the objects behind neso.h, and what the files of this room ask of each other.
 *
 *     context ◄── module: source, syntax tree, evaluator ◄── kernel: IR, PTX, loaded code
 *                    ▲
 *                 program: a module whose host part runs, with the kernels that it launched
 *
 * A module's memory is one arena; a kernel adds two of its own. Everything that may unwind runs under
 * guard(), the one setjmp of the library.
 */
#ifndef NESO_RUNTIME_RUNTIME_H
#define NESO_RUNTIME_RUNTIME_H

#include "codegen/codegen.h"
#include "frontend/frontend.h"
#include "opt/variants.h"
#include "runtime/budget.h"
#include "runtime/cache.h"
#include "runtime/devices/interpreter/debugger.h"
#include "runtime/devices/device.h"

#include <pthread.h>

enum { TEXT_count = NESO_TEXT_EXPLAIN + 1 };
enum stage { STAGE_trace, STAGE_opt, STAGE_codegen, STAGE_count };

struct neso_context {
    int refs; /* the user's, and one for each module */
    bool released; /* by the user: nobody will ask what a call had to say */
    struct memory given; /* the caller's */
    struct budget budget; /* of the call under way */
    struct memory mem;   /* its counted memory */
    int busy;            /* calls under way, one inside the other */
    size_t memory_limit, source_limit;
    size_t whole_limit;  /* of memory for a program with its tensors; 0: none was given */
    int64_t step_limit, ir_limit, time_limit_ms;
    int64_t run_step_limit; /* likewise; 0: none was given */
    struct disk_cache cache;
    struct device device;
    void (*write)(void *user, const char *text, size_t length); /* what kernels print; NULL: nowhere */
    void *write_user;
    /* What the last call left. */
    neso_status status;
    int driver_code;
    struct neso_module *reported; /* kept for its messages; NULL: there are none */
};

struct neso_module {
    int refs; /* the user's, and one for each kernel */
    int busy; /* calls under way: a program's callback may make one inside another */
    struct neso_context *context;
    struct memory mem; /* the context's, noting refusals */
    bool refused;
    struct arena arena;
    struct diag diag;
    struct interner strings;
    struct eval eval;
    const struct source *source;
    struct source *signature; /* of the kernel that is compiled: always source 1, so that those of the file are as in a run */
    bool is_ir;
    struct obj *object; /* the Python module; NULL for IR */
    struct module *ir;  /* the IR file, for its kernels' names */
};

/* A kernel and what it was compiled for. Made on the context's thread; launched by any. */
struct neso_kernel {
    int refs; /* the user's, and the program's cache's */
    struct neso_module *module;
    struct device *device; /* the context's; NULL: none */
    struct arena arena, scratch;
    const char *name, *id;
    struct obj *jit; /* NULL: from an IR file */
    struct obj *object; /* as the host program holds it; NULL: it never asked */
    bool whole_file; /* of an IR file, all kernels together: no kernel was named, and no PTX is wanted */
    struct spec spec;
    struct neso_compile_options options; /* strings copied */
    struct params thresholds; /* what options.params says */
    struct module *ir;  /* of the latest making */
    struct func *traced; /* for a device that runs it so; else NULL */
    struct {
        const char *s; /* NULL: not made yet */
        size_t len;
    } texts[TEXT_count];
    struct ptx_info info; /* once there is PTX */
    struct neso_param *params; /* one per type in the signature */
    int nparams;
    double seconds[STAGE_count];
    pthread_mutex_t lock; /* around loading */
    void *_Atomic loaded;
    struct general_source {
        const char *ir; /* as it was traced; NULL: nothing in the plan can fail */
        size_t bytes;
        struct source **files; /* that its places name */
        int nfiles;
    } general_source;
    struct map_cache *_Atomic maps;   /* NULL: it has none; made when it is first launched */
    struct general *_Atomic variants[VARIANT_count]; /* NULL: nobody needed it yet */
};

/* -- api.c -- */

/* Runs body(arg) where it may unwind; what it reported stays in m's diag. */
neso_status guard(struct neso_module *m, void (*body)(void *), void *arg);
struct neso_module *module_new(struct neso_context *c); /* NULL: no memory */
void module_drop(struct neso_module *m);
void module_arena(struct neso_module *m, struct arena *a); /* one more, under the same limit */
bool module_add_source(struct neso_module *m, const char *name, const char *text, size_t length);
struct obj *module_jit(const struct neso_module *m, size_t index); /* its kernels in order; NULL: past the end */
/* Reads options of at most `bytes`; false: a size that no version knows. `from` NULL: all 0. */
bool options_read(void *to, size_t bytes, const void *from);

/* A call on a context begins by forgetting what the last one left; enter and leave stand around work on a
 * module, whose messages the context then keeps. */
void report_begin(struct neso_context *c);
void report_enter(struct neso_module *m);
neso_status report_leave(struct neso_module *m, neso_status status);
void report_add_fault(struct neso_module *m, const struct fault *f);   /* between enter and leave */
neso_status report_fault(struct neso_context *c, const struct fault *f); /* a whole report */

/* -- compile.c: from spec to texts -- */

/* Empty but for its module and device; NULL: no memory. Does not unwind. */
struct neso_kernel *kernel_new(struct neso_module *m);
void kernel_drop(struct neso_kernel *k);
/* Under guard, name, jit, spec and options being set: traces and compiles, as the device wants it
 * or options.until says. */
void kernel_build(struct neso_kernel *k);
/* Under guard: makes a text that is not there yet. */
void kernel_make(struct neso_kernel *k, neso_text which);

/* -- signature.c -- */

/* Fills k->spec's arguments from a signature. */
bool signature_read(struct neso_kernel *k, const char *signature);
/* Every signature that a launch can make of one, a line each: arguments of 1, multiples of 16. */
bool signature_variants(struct neso_kernel *k, const char *signature, struct text *out);
/* k->params and k->id, from the spec; of an IR file's kernel, from f. */
void kernel_describe(struct neso_kernel *k, const struct func *f);
/* What distinguishes k from its kernel's other specializations, the options apart:
 * "x=*fp32:16, BLOCK=512:1". */
void spec_print(struct neso_kernel *k, struct text *out);
/* What a parameter of a jit function wants. */
struct param_rule {
    const char *name;
    struct loc loc;
    enum ast_role role;
    bool is_constexpr;
    bool is_const_pointer;
    const struct lang_type *type; /* forced by the annotation, or NULL */
    struct obj *dflt;             /* or NULL */
    bool no_one, no_divisible;    /* do_not_specialize and do_not_specialize_on_alignment */
};
/* One per parameter; returns their number. */
int jit_rules(struct eval *e, const struct jit *jit, struct param_rule **rules);

/* -- ptx_cache.c: kernels in the cache; under guard -- */

/* Is k one that the cache keeps, if there is one? */
bool kept_applies(const struct neso_kernel *k);
/* f is as traced, and not yet touched by a pass. */
const char *kept_key(struct neso_kernel *k, const struct func *f);
/* k's PTX and info from the cache; false: it is not there. */
bool kept_read(struct neso_kernel *k, const struct func *f, const char *key);
void kept_write(struct neso_kernel *k, const struct func *f, const char *key);
/* Reports that the key is not there, and why that may be. */
void kept_miss(struct neso_kernel *k, const struct func *f, const char *key);

/* -- launch_plan.c -- */

/* Is there anything in k's plan that a launch may not fulfil? */
bool has_plan(const struct neso_kernel *k);
/* Before passes change f: keeps what the kernel without maps and guards is made of, if f
 * may come to have some. */
void plan_keep(struct neso_kernel *k, const struct func *f);
bool plan_launch(struct neso_kernel *k, const struct launch *l, struct fault *f);
/* What decides which variants a kernel has (opt/variants.h). */
struct launch_traits plan_traits(const struct ptx_info *info);
void plan_release(struct neso_kernel *k);
/* For the launch plan's text. */
void plan_print(const struct neso_kernel *k, struct text *out);

/* -- launch.c -- */

bool kernel_load(struct neso_kernel *k, struct fault *f);
/* args: a value for each parameter that is no constant. A grid with a 0 does nothing. */
bool kernel_launch(struct neso_kernel *k, const struct launch *l, struct fault *f);
/* One of k's variants: programs of one warp share CTAs where that leaves several for each multiprocessor. */
bool launch_packed(struct neso_kernel *k, const struct ptx_info *info, void *loaded, const struct launch *whole,
                   struct fault *f);
struct program;

/* -- specialize.c -- */

struct launch_how {
    bool warmup;             /* compile only; dtypes may stand for tensors */
    const struct spec *like; /* the options are its; NULL: the call's own, or as they are by themselves */
};
/* One launch, past the decorators: binds, specializes, compiles what is not in p->kernels yet,
 * launches. The compiled kernel. */
struct obj *launch_plain(struct program *p, struct eval *e, struct obj *jit, struct obj *grid, const struct args *args,
                         struct launch_how how);

/* breakpoint(), in what a running kernel has called. */
void call_breakpoint(void *program, struct eval *e, struct loc at);

/* -- compiled_kernel.c -- */

struct obj *compiled_obj(struct eval *e, struct neso_kernel *k);

/* -- tune.c -- */

/* kernel[grid](...) of a host program: tuning and heuristics, then launch_plain. */
struct obj *launch_call(void *program, struct eval *e, struct obj *jit, struct obj *grid, const struct args *args);
/* Attributes that a kernel has by them: best_config, cache, configs_timings, run, warmup; NULL: no such. */
struct obj *tune_attribute(void *program, struct eval *e, struct obj *jit, const char *name);

/* -- bench.c -- */

/* The kernels that a timed call launches. */
struct bench_notes {
    int n;
    struct neso_kernel *at[16];
};
/* How long a call takes, as do_bench measures it. */
struct bench {
    double warmup_ms, rep_ms;
    bool once;                                /* one call only: where times mean little */
    bool dry;                                 /* and its kernels are compiled only */
    bool settles;                             /* for a verdict: warms up until the times are stable */
    struct bench_notes *notes;                /* of the kernels that one call launches; NULL: nobody asks */
    void (*call)(struct eval *e, void *ctx);  /* may raise */
    void *ctx;
};
/* The times in ms, in the program's arena; their number. */
int bench_run(struct program *p, struct eval *e, const struct bench *b, struct loc at, double **times_ms);
/* What a benchmark that a limit has ended left behind goes. */
void bench_close(struct program *p);
/* The same as the caller of the program wants it, who is told. */
int bench_told(struct program *p, struct eval *e, struct bench *b, struct loc at, double **times_ms);
double bench_quantile(const double *sorted, int n, double q);
void bench_sort(double *times, int n);
void bench_note(struct bench_notes *notes, struct neso_kernel *k);
/* Times a launch that has just been made, for the caller who asks; a second one like it is not timed. Its
 * tensors are then as they were. */
void bench_launch(struct program *p, struct eval *e, struct neso_kernel *k, const struct launch *l, struct loc at);

/* -- program.c -- */

/* What `find` has for an import, as a source; NULL: nothing. */
const struct source *program_find_source(struct eval *e, neso_find *find, void *user, const char *module, size_t limit);

/* -- modules.c -- */

extern const char modules_py[]; /* modules.py */
struct obj *modules_import(struct program *p, struct eval *e, const char *name, struct loc at);

/* -- program.c -- */

/* A tensor-like object, as a kernel sees it. */
struct pointer {
    const struct lang_type *elem;
    uint64_t address;
    struct launch_tensor tensor;
};

struct program {
    struct neso_context *context;
    struct neso_module *module;
    struct device *device;
    struct neso_run_options options;
    struct params thresholds; /* what options.params says */
    struct host host;
    struct map callees; /* struct obj * of a jit function to specialize.c's record of it */
    struct map kernels; /* specialization's key to struct neso_kernel * */
    struct arena scratch; /* for keys; back to `empty` after each launch */
    struct arena_mark empty;
    /* host.c's: is x tensor-like? An address of 0 where the device had no memory for it: `fault` says why. */
    bool (*as_pointer)(struct eval *e, struct obj *x, struct pointer *out);
    /* host.c's: what stands for a tensor when only compiling: a dtype. NULL: it does not. */
    const struct lang_type *(*as_pointee)(struct eval *e, struct obj *x);
    struct fault fault; /* of the latest access to the device's memory that failed */
    void *lent;         /* host.c's own */
    struct hosting *hosting; /* of the launch that runs: specialize.c's own */
    struct debugger debugger;
    uint64_t launches;  /* so far */
    uint64_t products;  /* by the device's library, so far */
    bool debug;         /* TRITON_DEBUG: kernels' assertions are checked */
    bool is_timing;     /* a benchmark measures what runs */
    bool is_dry;        /* and compiles its kernels only */
    const char *line;   /* of a report, that is being measured; NULL: none */
    struct bench_notes *notes; /* NULL: nobody asks what is launched */
    struct clock *clock; /* bench.c's: of the benchmark that runs */
    struct timed_launch *timed; /* bench.c's: the launches that were timed */
    const char *oracle; /* what a benchmark's calls that launched no kernel were computed by: "cuBLAS"; NULL: none such */
};

/* Raises a device's refusal as the program's RuntimeError, noting the kernel's place where it is known. */
_Noreturn void program_raise(struct eval *e, struct loc at, const struct fault *f);

/* -- host.c -- */

/* The program's kernels run on the interpreter from here on, as os.environ['TRITON_INTERPRET'] = '1' wants
 * it; raises where tensors are on another device already. */
void host_interpret(struct program *p, struct eval *e, struct loc at);

/* Sets p->host.import and jit_attr, p->as_pointer and p->lent; program.c sets the rest. Whatever lives on the
 * device and was not freed goes with host_close, after the program's end, however it ended. */
void host_open(struct program *p);
void host_close(struct program *p);

#endif
