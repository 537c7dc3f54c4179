/* runtime.h: the objects behind neso.h, and the functions that the files of runtime/ share.
 *
 *     context ◄── module: source, syntax tree, evaluator ◄── kernel: IR, PTX, loaded code
 *                    ▲
 *                 program: a module whose host code runs, with the kernels that it launched
 *
 * A module's memory is one arena; a kernel adds two. All code that may unwind runs under guard(), the one
 * setjmp of the library.
 *
 * The files of runtime/ in reading order: neso.h (the API), api.c (contexts and modules), signature.c
 * (signatures to specializations), compile.c (kernels), ptx_cache.c with cache.h (the cache), launch.c and
 * launch_plan.c (launches), specialize.c and compiled_kernel.c (launches of host programs), budget.h
 * (limits), help.c. Folders: devices/ (cuda, interpreter, emulator), host/ (torch, tuning and testing for
 * programs), command/ (the command `neso`), python/ (the binding). */
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
    int refs; /* the user's reference, and one for each module */
    bool released; /* the user has released the context, so messages of calls are not kept */
    struct memory given; /* the caller's allocator */
    struct budget budget; /* of the current call */
    struct memory mem;   /* the budget's counted memory */
    int busy;            /* nesting depth of the current calls */
    size_t memory_limit, source_limit;
    size_t whole_limit;  /* the given limit of a program's memory with its tensors; 0: none was given */
    int64_t step_limit, ir_limit, time_limit_ms;
    int64_t run_step_limit; /* the given limit of steps; 0: none was given */
    struct disk_cache cache;
    struct device device;
    void (*write)(void *user, const char *text, size_t length); /* receives the output of kernels; NULL: it is discarded */
    void *write_user;
    /* The results of the last call. */
    neso_status status;
    int driver_code;
    struct neso_module *reported; /* the module that has its messages; NULL: there are none */
};

struct neso_module {
    int refs; /* the user's reference, and one for each kernel */
    int busy; /* nesting depth of calls: a program's callback may make one inside another */
    struct neso_context *context;
    struct memory mem; /* the context's memory; it records refused allocations */
    bool refused;
    struct arena arena;
    struct diag diag;
    struct interner strings;
    struct eval eval;
    const struct source *source;
    /* of the kernel being compiled: always source 1, so that the numbers of files are as in a run */
    struct source *signature;
    bool is_ir;
    struct obj *object; /* the Python module; NULL for IR */
    struct module *ir;  /* an IR file, for the names of its kernels */
};

/* A kernel and what it was compiled for. The context's thread makes it; any thread may launch it. */
struct neso_kernel {
    int refs; /* the user's reference, and the one of the program's cache */
    struct neso_module *module;
    struct device *device; /* the context's; NULL: none */
    struct arena arena, scratch;
    const char *name, *id;
    struct obj *jit; /* NULL: from an IR file */
    struct obj *object; /* the object that represents it in the host program; NULL: not made yet */
    bool whole_file; /* all kernels of an IR file together: none was named, and no PTX is wanted */
    struct spec spec;
    struct neso_compile_options options; /* with copied strings */
    struct params thresholds; /* the values of options.params */
    struct module *ir;  /* of the latest build */
    struct func *traced; /* for a device that executes traced IR; else NULL */
    struct {
        const char *s; /* NULL: not made yet */
        size_t len;
    } texts[TEXT_count];
    struct ptx_info info; /* valid once there is PTX */
    struct neso_param *params; /* one for each type in the signature */
    int nparams;
    double seconds[STAGE_count];
    pthread_mutex_t lock; /* held while loading */
    void *_Atomic loaded;
    struct fallback_source {
        const char *ir; /* the text of the traced IR; NULL: nothing in the plan can fail */
        size_t bytes;
        struct source **files; /* the files that its places refer to */
        int nfiles;
    } fallback_source;
    struct map_cache *_Atomic maps;   /* NULL: the plan has no maps; made at the first launch */
    struct fallback *_Atomic variants[VARIANT_count]; /* NULL: not needed yet */
};

/* -- api.c -- */

/* Runs body(arg), which may unwind; its messages stay in m's diag. */
neso_status guard(struct neso_module *m, void (*body)(void *), void *arg);
struct neso_module *module_new(struct neso_context *c); /* NULL: no memory */
void module_drop(struct neso_module *m);
void module_arena(struct neso_module *m, struct arena *a); /* initializes a further arena under the module's memory limit */
bool module_add_source(struct neso_module *m, const char *name, const char *text, size_t length);
/* the module's kernel number `index`; NULL: past the end */
struct obj *module_jit(const struct neso_module *m, size_t index);
/* Reads options of at most `bytes`; returns false for a size that no version has. `from` NULL: all 0. */
bool options_read(void *to, size_t bytes, const void *from);

/* Every call on a context begins by dropping the results of the last one. enter and leave enclose work on a
 * module; the context then keeps its messages. */
void report_begin(struct neso_context *c);
void report_enter(struct neso_module *m);
neso_status report_leave(struct neso_module *m, neso_status status);
void report_add_fault(struct neso_module *m, const struct fault *f);   /* between enter and leave */
/* report_enter, report_add_fault and report_leave in one call */
neso_status report_fault(struct neso_context *c, const struct fault *f);

/* -- compile.c: from spec to texts -- */

/* A kernel with only its module and device set; NULL: no memory. Does not unwind. */
struct neso_kernel *kernel_new(struct neso_module *m);
void kernel_drop(struct neso_kernel *k);
/* Under guard, with name, jit, spec and options set: traces and compiles, as far as the device needs or
 * options.until says. */
void kernel_build(struct neso_kernel *k);
/* Under guard: makes a text that does not exist yet. */
void kernel_make(struct neso_kernel *k, neso_text which);

/* -- signature.c -- */

/* Sets k->spec's arguments from a signature. */
bool signature_read(struct neso_kernel *k, const char *signature);
/* Lists every signature that a launch can make of one, a line each: arguments of 1, multiples of 16. */
bool signature_variants(struct neso_kernel *k, const char *signature, struct text *out);
/* Sets k->params and k->id from the spec; for a kernel of an IR file, from f. */
void kernel_describe(struct neso_kernel *k, const struct func *f);
/* -- written.c -- */

/* Fills `written` of k's parameters; f is as traced. */
void kernel_note_written(struct neso_kernel *k, const struct func *f);

/* -- signature.c -- */

/* Prints the part of the specialization that distinguishes k from other specializations of its kernel, without
 * options: "x=*fp32:16, BLOCK=512:1". */
void spec_print(struct neso_kernel *k, struct text *out);
/* How a jit function declares one of its parameters. */
struct param_rule {
    const char *name;
    struct loc loc;
    enum ast_role role;
    bool is_constexpr;
    bool is_const_pointer;
    const struct lang_type *type; /* the type that the annotation forces, or NULL */
    struct obj *dflt;             /* the default, or NULL */
    bool no_one, no_divisible;    /* set by do_not_specialize and do_not_specialize_on_alignment */
};
/* One for each parameter; returns their number. */
int jit_rules(struct eval *e, const struct jit *jit, struct param_rule **rules);

/* -- ptx_cache.c: kernels in the cache; under guard -- */

/* Can the cache keep k? */
bool ptx_cache_applies(const struct neso_kernel *k);
/* f is the traced IR, which no pass has changed. */
const char *ptx_cache_key(struct neso_kernel *k, const struct func *f);
/* Reads k's PTX and info from the cache; false: there is no entry. */
bool ptx_cache_read(struct neso_kernel *k, const struct func *f, const char *key);
void ptx_cache_write(struct neso_kernel *k, const struct func *f, const char *key);
/* Reports that there is no entry for the key, and the probable reason. */
void ptx_cache_miss(struct neso_kernel *k, const struct func *f, const char *key);

/* -- launch_plan.c -- */

/* Does k's plan contain anything that a launch may fail to fulfil? */
bool has_plan(const struct neso_kernel *k);
/* Before passes change f: keeps the text from which fallbacks are compiled, if f may need some. */
void plan_keep(struct neso_kernel *k, const struct func *f);
bool plan_launch(struct neso_kernel *k, const struct launch *l, struct fault *f);
/* The traits that decide which variants a kernel has (opt/variants.h). */
struct launch_traits plan_traits(const struct ptx_info *info);
void plan_release(struct neso_kernel *k);
/* Prints for the launch plan's text. */
void plan_print(const struct neso_kernel *k, struct text *out);

/* -- launch.c -- */

bool kernel_load(struct neso_kernel *k, struct fault *f);
/* args: a value for each parameter that is not a constant. A grid that contains a 0 does nothing. */
bool kernel_launch(struct neso_kernel *k, const struct launch *l, struct fault *f);
/* Launches one of k's variants: programs of one warp share CTAs if several CTAs remain for each
 * multiprocessor. */
bool launch_packed(struct neso_kernel *k, const struct ptx_info *info, void *loaded, const struct launch *whole,
                   struct fault *f);
struct program;

/* -- specialize.c -- */

struct launch_how {
    bool warmup;             /* compile only; the caller may pass dtypes in place of tensors */
    const struct spec *like; /* use the options of this spec; NULL: the call's own options, or the defaults */
};
/* One launch below the decorators: binds, specializes, compiles what is not in p->kernels yet, launches.
 * Returns the compiled kernel. */
struct obj *launch_plain(struct program *p, struct eval *e, struct obj *jit, struct obj *grid, const struct args *args,
                         struct launch_how how);

/* breakpoint() in a function that a running kernel has called. */
void call_breakpoint(void *program, struct eval *e, struct loc at);

/* -- compiled_kernel.c -- */

struct obj *compiled_obj(struct eval *e, struct neso_kernel *k);

/* -- tune.c -- */

/* kernel[grid](...) of a host program: tuning and heuristics, then launch_plain. */
struct obj *launch_call(void *program, struct eval *e, struct obj *jit, struct obj *grid, const struct args *args);
/* Attributes that decorators add to a kernel: best_config, cache, configs_timings, run, warmup; NULL: there
 * is no such attribute. */
struct obj *tune_attribute(void *program, struct eval *e, struct obj *jit, const char *name);

/* -- bench.c -- */

/* The kernels that a timed call launches. */
struct bench_notes {
    int n;
    struct neso_kernel *at[16];
};
/* A call to be timed, as do_bench does it. */
struct bench {
    double warmup_ms, rep_ms;
    bool once;                                /* one call only, because times mean little */
    bool dry;                                 /* compile the call's kernels, and do not launch them */
    bool settles;                             /* to compare builds: warms up until the times are stable */
    struct bench_notes *notes;                /* gets the kernels that one call launches; may be NULL */
    void (*call)(struct eval *e, void *ctx);  /* may raise exceptions */
    void *ctx;
};
/* Gives the times in ms, in the program's arena; returns how many. */
int bench_run(struct program *p, struct eval *e, const struct bench *b, struct loc at, double **times_ms);
/* Frees the resources of a benchmark that a limit has ended. */
void bench_close(struct program *p);
/* Like bench_run, in the way that neso_run_options.timing selects; also reports the times to the callback. */
int bench_told(struct program *p, struct eval *e, struct bench *b, struct loc at, double **times_ms);
double bench_quantile(const double *sorted, int n, double q);
void bench_sort(double *times, int n);
void bench_note(struct bench_notes *notes, struct neso_kernel *k);
/* Times a launch that was just made, if the caller wants times; a second equal launch is not timed.
 * Afterwards its tensors are as they were. */
void bench_launch(struct program *p, struct eval *e, struct neso_kernel *k, const struct launch *l, struct loc at);

/* -- program.c -- */

/* The result of `find` for an import, as a source; NULL: there is none. */
const struct source *program_find_source(struct eval *e, neso_find *find, void *user, const char *module, size_t limit);

/* -- modules.c -- */

extern const char modules_py[]; /* modules.py */
struct obj *modules_import(struct program *p, struct eval *e, const char *name, struct loc at);

/* -- program.c -- */

/* A tensor-like object as a kernel argument. */
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
    struct params thresholds; /* the values of options.params */
    struct host host;
    struct map callees; /* maps a jit function (struct obj *) to specialize.c's record of it */
    struct map kernels; /* maps a specialization's key to struct neso_kernel * */
    struct arena scratch; /* for keys; reset to `empty` after each launch */
    struct arena_mark empty;
    /* set by host.c: is x tensor-like? The address is 0 if the device has no memory for it: `fault` has the
     * reason. */
    bool (*as_pointer)(struct eval *e, struct obj *x, struct pointer *out);
    /* set by host.c: the dtype that represents a tensor when only compiling. NULL: x is none. */
    const struct lang_type *(*as_pointee)(struct eval *e, struct obj *x);
    struct fault fault; /* of the latest failed access to the device's memory */
    void *lent;         /* private to host.c */
    struct hosting *hosting; /* of the running launch: private to specialize.c */
    struct debugger debugger;
    uint64_t launches;  /* number so far */
    uint64_t products;  /* number so far, by the device's library */
    bool debug;         /* TRITON_DEBUG: kernels' assertions are checked */
    bool is_timing;     /* a benchmark is running */
    bool is_dry;        /* that benchmark only compiles its kernels */
    const char *line;   /* the line of a report that is being measured; NULL: none */
    struct bench_notes *notes; /* NULL: launches are not recorded */
    struct clock *clock; /* bench.c's record of the running benchmark */
    struct timed_launch *timed; /* bench.c's record of the launches that were timed */
    /* the library that computed a benchmark's calls without kernels: "cuBLAS"; NULL: none */
    const char *oracle;
};

/* Raises a device's error as the program's RuntimeError, with the place in the kernel as a note if it is
 * known. */
_Noreturn void program_raise(struct eval *e, struct loc at, const struct fault *f);

/* -- host.c -- */

/* From here on the program's kernels run on the interpreter, as after os.environ['TRITON_INTERPRET'] = '1';
 * raises if there are tensors on another device already. */
void host_interpret(struct program *p, struct eval *e, struct loc at);

/* Sets p->host.import and jit_attr, p->as_pointer and p->lent; program.c sets the rest. host_close frees
 * everything on the device that was not freed, however the program ended. */
void host_open(struct program *p);
void host_close(struct program *p);

#endif
