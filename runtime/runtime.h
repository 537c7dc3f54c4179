/* SPDX-License-Identifier: MIT */
/* runtime.h: defines the objects of neso.h, and declares the functions that the files of runtime/ share. In
 * this diagram, an arrow leads from an object to the object that it keeps alive:
 *
 *     context ◄── module: source, syntax tree, evaluator ◄── kernel: IR, PTX, loaded code
 *                    ▲
 *                 program: a module whose host code runs, with the kernels that it launched
 *
 * A module's memory is one arena; each kernel has two more arenas. Code that works on a module and may fail
 * fatally runs inside a call of guard(). A fatal error jumps back to guard() (longjmp); these comments call
 * this unwinding. Any thread may call the functions of check/rebuild.c, which therefore have their own
 * setjmp. A function with a parameter `struct fault *f` returns false or NULL if it fails, and sets *f to
 * the failure.
 *
 * The files of runtime/ in reading order: neso.h (the API), api.c with chunk_pool.h (contexts and modules),
 * signature.c and spec_print.c (signatures and specializations), compile.c and written.c (kernels),
 * ptx_cache.c with cache.h (the cache), bundle.c (kernels compiled earlier), launch.c, launch_plan.c,
 * padded_maps.c and row_alignment.c (launches), specialize.c and compiled_kernel.c (launches of host
 * programs), budget.h (limits), help.c. Folders: devices/ (cuda, interpreter, emulator), check/ (comparison
 * of a kernel's PTX with its traced IR; proofs about accesses), capsule/ (a launch in a file), host/ (torch,
 * tuning and testing for programs), command/ (the command `neso`), python/ (the binding). */
#ifndef NESO_RUNTIME_RUNTIME_H
#define NESO_RUNTIME_RUNTIME_H

#include "codegen/codegen.h"
#include "frontend/frontend.h"
#include "opt/variants.h"
#include "runtime/budget.h"
#include "runtime/bundle.h"
#include "runtime/cache.h"
#include "runtime/chunk_pool.h"
#include "runtime/devices/interpreter/debugger.h"
#include "runtime/devices/device.h"

#include <pthread.h>

enum { TEXT_count = NESO_TEXT_BUNDLE + 1 };
/* The alignments of an array's rows. A kernel's fallback, which is code that uses no tensor maps, may be
 * compiled once for each alignment (row_alignment.c). */
enum rows { ROWS_any, ROWS_of_4_bytes, ROWS_of_8_bytes, ROWS_count };
enum stage { STAGE_trace, STAGE_opt, STAGE_codegen, STAGE_count };

struct neso_context {
    int refs; /* references: the user's, and one for each module */
    bool released; /* the user has released the context, which from then on keeps no messages */
    struct memory given; /* the user's allocator */
    struct budget budget; /* limits of the current call */
    struct memory mem;   /* allocates by `given`; the budget counts the bytes */
    struct chunk_pool chunks; /* the memory of modules' arenas */
    int busy;            /* nesting depth of the active calls */
    size_t memory_limit, source_limit;
    size_t whole_limit;  /* the user's limit in bytes of a program's memory, tensors included; 0: none */
    int64_t step_limit, ir_limit, time_limit_ms;
    int64_t run_step_limit; /* the user's limit of steps; 0: none */
    struct disk_cache cache;
    struct bundle bundle;
    struct device device;
    /* The user's callbacks, each of which may be NULL, and their argument. */
    void (*record)(void *user, const char *text, size_t length);
    void (*event)(void *user, neso_event event, const char *text);
    int (*wants_capsule)(void *user, const char *kernel);
    void (*capsule)(void *user, const neso_capsule *seen, const void *data, size_t length);
    void *user;
    /* Gets the output of kernels; NULL: the output is discarded. */
    void (*write)(void *user, const char *text, size_t length);
    void *write_user;
    /* The results of the last call. */
    neso_status status;
    int driver_code;
    struct neso_module *reported; /* the module that has the messages of the last call; NULL if there are none */
};

struct neso_module {
    int refs; /* references: the user's, and one for each kernel */
    int busy; /* nesting depth of calls: a callback of a program may call the API again */
    struct neso_context *context;
    struct memory mem; /* allocates from context->chunks, and sets `refused` */
    bool refused; /* an allocation failed although no limit was exceeded */
    struct arena arena;
    struct diag diag;
    struct interner strings;
    struct eval eval;
    struct host printer; /* the host of `eval` after the module has been read; it only passes on the output of
                          * tl.static_print */
    const struct source *source;
    /* The signature of the kernel being compiled. The signature is always source 1, so that the numbers of other
     * sources are the same with and without a signature. */
    struct source *signature;
    bool is_ir;
    bool is_bundle; /* the kernels are in the context's bundle, and have no source */
    VEC(const char *) names; /* the names of a bundle's kernels */
    struct obj *object; /* the Python module; NULL for an IR file */
    struct module *ir;  /* the parsed IR file, from which the names of its kernels come */
};

/* A kernel with its specialization and options. The context's thread makes it; any thread may launch it. */
struct neso_kernel {
    int refs; /* references: the user's reference, and the reference of the program's table of kernels */
    struct neso_module *module;
    struct device *device; /* the context's device, or NULL */
    struct arena arena, scratch;
    const char *name, *id;
    struct obj *jit; /* NULL for a kernel of an IR file */
    struct obj *object; /* the kernel's object in the host program; NULL until it is created */
    /* this object represents all kernels of an IR file: the caller named no kernel, and requested no text after
     * NESO_TEXT_OPT */
    bool whole_file;
    struct spec spec;
    struct neso_compile_options options; /* the options, with copied strings */
    /* plan_keep sets fallback_source even if the context has no device, so that variants can be compiled */
    bool keeps_plan;
    struct params thresholds; /* the values of options.params */
    struct module *ir;  /* IR module of the latest build */
    struct func *traced; /* the traced IR, for a device that executes it; else NULL */
    struct {
        const char *s; /* the text; NULL until it is made */
        size_t len;
    } texts[TEXT_count];
    struct ptx_info info; /* valid if there is PTX */
    const struct bundle_entry *entry; /* the entry from which the PTX was read; NULL: the PTX is not from a bundle */
    /* the data that all capsules of the kernel's launches share; NULL: launches make no capsules */
    const neso_capsule *capsule;
    struct neso_param *params; /* one for each type in the signature */
    int nparams;
    double seconds[STAGE_count];
    struct machine_code *codes; /* machine code for PTX texts of the kernel and its variants (launch.c); NULL: none */
    pthread_mutex_t lock; /* held while a thread loads the code or compiles a fallback */
    void *_Atomic loaded;
    _Atomic bool checked;   /* the first launch has made the check that options.check requests */
    /* code without the pass that caused a difference; NULL: launches use the kernel's code */
    struct rebuild *replacement;
    struct fallback_source {
        const char *ir; /* the text of the traced IR; NULL if no launch can need a variant or a check */
        size_t bytes;
        struct source **files; /* the files to which source locations in `ir` refer */
        int nfiles;
    } fallback_source;
    /* the number of the kernel's CTAs that fit on an SM; 0: not yet computed; -1: no launch uses the variant
     * without a producer warp (without_producer in launch_plan.c) */
    _Atomic int ctas;
    struct map_cache *_Atomic maps;   /* made at the first launch; NULL if the plan has no maps */
    struct fallback *_Atomic variants[VARIANT_count]; /* each is NULL until a launch needs it */
    /* fallbacks for aligned rows; each is NULL until a launch needs it */
    struct fallback *_Atomic by_rows[ROWS_count];
    _Atomic bool has_copied; /* a launch has made copies for tensor maps */
};

/* -- api.c -- */

/* Calls body(arg). If body unwinds, the jump ends here. Returns the status that follows from the messages in
 * m's diag, and keeps the messages. */
neso_status guard(struct neso_module *m, void (*body)(void *), void *arg);
struct neso_module *module_new(struct neso_context *c); /* NULL if there is no memory */
void module_drop(struct neso_module *m);
/* Initializes an arena with the module's memory limit. */
void module_arena(struct neso_module *m, struct arena *a);
/* Sets m->source and m->signature. Returns false after an error, which it reports. */
bool module_add_source(struct neso_module *m, const char *name, const char *text, size_t length);
/* Returns the module's kernel number `index`; NULL past the end. */
struct obj *module_jit(const struct neso_module *m, size_t index);
/* Copies a structure of options from `from` to `to`. The latest version of the structure has `bytes` bytes;
 * members that `from` lacks become 0. If `from` is NULL, all members become 0. Returns false if no version of
 * the structure has the size that the first member of `from` gives. */
bool options_read(void *to, size_t bytes, const void *from);
/* Reports that no version of a structure of options has `size` bytes. Must be called between report_enter and
 * report_leave. */
neso_status options_refuse(struct neso_module *m, size_t size);

/* Every call on a context begins with report_begin, which drops the results of the last call. Work on a
 * module is between report_enter and report_leave; after it, the context keeps the module's messages.
 * report_leave returns `status`. */
void report_begin(struct neso_context *c);
void report_enter(struct neso_module *m);
neso_status report_leave(struct neso_module *m, neso_status status);
/* Adds the fault to m's messages. Must be called between report_enter and report_leave. */
void report_add_fault(struct neso_module *m, const struct fault *f);
/* Reports a fault as the message of a new module, and returns f->status. */
neso_status report_fault(struct neso_context *c, const struct fault *f);

/* Calls the context's callback for events, if there is one. Any thread may call this function. */
void context_event(const struct neso_context *c, neso_event event, const char *format, ...) PRINTF_LIKE(3, 4);
/* Calls the context's callback for records, if there is one, for a kernel that was just compiled. */
void context_record(struct neso_kernel *k);

/* -- compile.c: from spec to texts -- */

/* Creates a kernel and sets only its module and device. Returns NULL if there is no memory. */
struct neso_kernel *kernel_new(struct neso_module *m);
void kernel_drop(struct neso_kernel *k);
/* Traces and compiles the kernel as far as the device needs or as options.until specifies. Must be called
 * inside guard, with name, jit, spec and options set. */
void kernel_build(struct neso_kernel *k);
/* Makes the text `which` of k, which must not exist yet, and stores it in k->texts. Reports an error if that
 * fails. Must be called inside guard. */
void kernel_make(struct neso_kernel *k, neso_text which);

/* -- signature.c -- */

/* Sets k->spec's arguments from a signature. Returns false after an error, which it reports. */
bool signature_read(struct neso_kernel *k, const char *signature);
/* Appends variants of the given signature, one on each line: every combination of the promises that a launch
 * can make (an argument is 1, or is a multiple of 16). Returns false after an error, which it reports. */
bool signature_variants(struct neso_kernel *k, const char *signature, struct text *out);
/* Prints the signature of k's specialization. Returns false if no signature can describe it. */
bool signature_print(struct neso_kernel *k, struct text *out);
/* Sets k->params and k->id from the spec; for a kernel of an IR file, from f. */
void kernel_describe(struct neso_kernel *k, const struct func *f);
/* Prints the types, promises and constants of k's arguments: "x=*fp32:16, n=i32:1, BLOCK=512". They
 * distinguish k from other specializations of its jit function with the same options. */
void spec_print(struct neso_kernel *k, struct text *out);
/* How a jit function declares one of its parameters. */
struct param_rule {
    const char *name;
    struct loc loc;
    enum ast_role role;
    bool is_constexpr;
    bool is_const_pointer;
    const struct lang_type *type; /* the type that the annotation demands, or NULL */
    struct obj *dflt;             /* the default value, or NULL */
    /* no_one: an int argument 1 does not become a constant (do_not_specialize). no_divisible: a launch does
     * not promise that the argument is a multiple of 16 (do_not_specialize,
     * do_not_specialize_on_alignment). */
    bool no_one, no_divisible;
};
/* Sets *rules to an array with one rule for each parameter of a jit function, and returns the array's
 * length. */
int jit_rules(struct eval *e, const struct jit *jit, struct param_rule **rules);

/* -- written.c -- */

/* Sets the member `written` of each of k's parameters. f is the traced IR. */
void kernel_note_written(struct neso_kernel *k, const struct func *f);

/* -- ptx_cache.c: kernels in the cache (to be called inside guard) -- */

enum { PTX_SOURCE_DIGITS = 40 };
/* Returns whether the options keep the default list of passes, and request no dumps, explanations or times. Only
 * PTX that is made with such options is stored in the cache. */
bool ptx_is_plain(const struct neso_compile_options *o);
/* Sets `out` to the digest of the traced IR with its source locations and file names. If `is_portable`, the digest
 * does not depend on the program that contains the kernel. */
void ptx_source_digest(struct neso_kernel *k, const struct func *f, bool is_portable, char out[PTX_SOURCE_DIGITS + 1]);
/* ptx_info_write appends a kernel's ptx_info as one line, without a newline. ptx_info_read reads such a line,
 * which ends at `end`. The line lacks the names and types of the parameters, which ptx_info_read takes from
 * `params`; nfiles is the number of source files. ptx_info_read returns false if the line is malformed. */
void ptx_info_write(const struct ptx_info *i, struct text *out);
bool ptx_info_read(struct arena *a, struct ptx_info *i, const struct ptx_param *params, int nparams, int nfiles,
                   const char *s, const char *end);
/* Appends a field to a key, as one line even if the value contains newlines. */
void key_field(struct text *out, const char *name, const char *value);
/* Adds a note to the last error for each field of `key`. If `nearest`, which may be NULL, has another value
 * in this field, the note also shows this other value. For the field `source`, it does so only if the
 * signatures are equal, because kernels with different signatures always have different IR. */
void key_explain(struct diag *d, const char *key, const char *nearest);
/* Returns whether the cache may store k's PTX. */
bool ptx_cache_applies(const struct neso_kernel *k);
/* Returns the key of k's PTX. f is the traced IR, before any pass. */
const char *ptx_cache_key(struct neso_kernel *k, const struct func *f);
/* Reads k's PTX and info from the cache. Returns false if there is no entry, or if the entry is damaged. */
bool ptx_cache_read(struct neso_kernel *k, const struct func *f, const char *key);
void ptx_cache_write(struct neso_kernel *k, const struct func *f, const char *key);
/* Reports that there is no entry for the key, and the probable reason. */
void ptx_cache_miss(struct neso_kernel *k, const struct func *f, const char *key);

/* -- launch_plan.c -- */

/* Returns whether k's launch plan (ir/plan.h) contains a tensor map or a guard; either may fail at a launch.
 * Returns false if the device executes the traced IR, which needs no plan. */
bool has_plan(const struct neso_kernel *k);
/* If k may need a fallback, stores the text of f, from which fallbacks are compiled. Must be called before passes
 * change f. */
void plan_keep(struct neso_kernel *k, const struct func *f);
/* Launches k, or one of its variants, by its launch plan. */
bool plan_launch(struct neso_kernel *k, const struct launch *l, struct fault *f);
/* Sets `args` to the launch's arguments, sign-extended: the values of the parameters in the plan's expressions.
 * Returns whether all guards hold. */
bool plan_guards(const struct ptx_info *info, const struct launch *l, int64_t *args);
/* Compiles each variant of k, and passes its PTX to `each`; skips variants that do not compile. plan_keep must have
 * been called for k. */
void plan_each_variant(struct neso_kernel *k, void (*each)(void *user, enum variant which, const struct ptx_info *info,
                                                           const char *ptx, size_t bytes), void *user);
/* Returns the traits that determine which variants a kernel has (opt/variants.h). */
struct launch_traits plan_traits(const struct ptx_info *info);
void plan_release(struct neso_kernel *k);
/* Prints the guards and tensor maps of k's launch plan, as members of a JSON object. */
void plan_print(const struct neso_kernel *k, struct text *out);

/* -- rebuild.c -- */

/* A kernel that is compiled, or only parsed, from the text of its traced IR; or a variant read from the bundle. */
struct rebuild {
    struct memory mem;
    struct arena arena, scratch;
    struct diag diag;
    struct module module;
    struct ptx_info info;
    struct text ptx;
    bool is_full; /* memory ran out */
    struct budget *budget;
    const char *skip; /* the passes left out */
    jmp_buf unwind;
};
/* Compiles k without the passes in `without` and in k's options.skip. The code is valid for launches in which
 * each argument i is a multiple of divisible[i]. If `divisible` is NULL, only the promises of the signature
 * apply. Returns false after errors, which are in r->diag. The caller must call rebuild_free in either
 * case. */
bool rebuild_make(struct neso_kernel *k, struct rebuild *r, const char *without, const int *divisible,
                  struct budget *budget);
/* Reads a variant from the kernel's bundle instead of compiling it. Returns false if the bundle lacks the variant, or
 * if memory ran out (r->is_full). */
bool rebuild_read(struct neso_kernel *k, struct rebuild *r, enum variant which, struct budget *budget);
/* Parses k's traced IR into r without compiling it, and returns it; NULL after errors. */
const struct func *rebuild_trace(struct neso_kernel *k, struct rebuild *r, struct budget *budget);
void rebuild_free(struct rebuild *r);
/* Initializes r, with arenas that are separate from k's arenas. Before the caller calls rebuild_parse, it
 * must call setjmp(r->unwind). Code that works on r jumps there when memory runs out. */
void rebuild_open(struct neso_kernel *k, struct rebuild *r, struct budget *budget);
/* Parses a traced IR into r; NULL after errors. */
struct func *rebuild_parse(struct neso_kernel *k, struct rebuild *r, const struct fallback_source *from);

/* -- row_alignment.c -- */

/* Chooses a divisor divisible[i] for each argument i. If all arguments are multiples of their divisors, each row of
 * each array that a map describes begins and ends at an address with the alignment `rows`. */
void rows_promise(const struct ptx_info *info, enum rows rows, int *divisible);
/* Returns the largest alignment that all rows of the launch's arrays have, unless k's signature already
 * promises it; ROWS_any if there is no such alignment. */
enum rows rows_of_launch(const struct neso_kernel *k, const struct launch *l);

/* -- padded_maps.c -- */

typedef uint64_t map_words[MAP_BYTES / 8];

/* Encodes the tensor maps of a launch. If an array is only loaded, and its row pitch is not a multiple of 16 bytes, the
 * map describes a copy of the array in *workspace, which the caller releases (workspace_end) after the launch.
 * Returns false, without a workspace, if a guard fails, if no array needs a copy, or if an array that needs one
 * cannot be copied or is too large. */
bool padded_maps(struct neso_kernel *k, const struct ptx_info *info, const struct launch *l, map_words *maps,
                 uint64_t *workspace);

/* -- proofs.c -- */

/* Calls neso_run_options.accessed with the proofs about k's accesses in launch l, which the interpreter executed.
 * `ran` is true if the launch ended without an error. */
void proofs_tell(struct program *p, struct neso_kernel *k, const struct launch *l, bool ran);
void proofs_free(struct program *p);

/* -- cross_check.c -- */

/* Compares the results of k's PTX in the emulator with the results of its traced IR in the interpreter, on inputs made
 * from the first launch, l. If a pass causes a difference, replaces the code by code that is compiled without this
 * pass. Calls options.checked. Must be called once, with k->lock held. */
void cross_check(struct neso_kernel *k, const struct launch *l);

/* -- capsule_source.c -- */

/* Sets k->capsule. Must be called inside guard, after k is compiled. */
void capsule_prepare(struct neso_kernel *k);

/* -- capsule.c -- */

/* Launches a kernel whose k->capsule is set. If l->give_capsule is set, or if the context's wants_capsule
 * asks for a capsule of this launch, makes the capsule and passes it to l->give_capsule or to the context's
 * `capsule`. */
bool capsule_launch(struct neso_kernel *k, const struct launch *l, struct fault *f);

/* -- launch.c -- */

/* Loads k's code on its device, unless it is loaded already. */
bool kernel_load(struct neso_kernel *k, struct fault *f);
/* Returns the machine code that the caller of neso_kernel_load_code gave for a PTX text; NULL if there is none. */
const void *code_for(const struct neso_kernel *k, const char *ptx, size_t bytes);
void codes_free(struct neso_kernel *k);
/* Launches k. l->args has a value for each parameter that is not a constant. A launch whose grid contains a 0
 * does nothing. */
bool kernel_launch(struct neso_kernel *k, const struct launch *l, struct fault *f);
/* Launches k without making a capsule. */
bool kernel_run(struct neso_kernel *k, const struct launch *l, struct fault *f);
/* Returns whether a value keeps the signature's promises for parameter p; if not, sets f. */
bool param_allows(const struct neso_param *p, uint64_t value, struct fault *f);
/* Launches k or one of its variants: the code `loaded`, which `info` describes. If programs have only one
 * warp, several programs may share a CTA, as long as there are still at least launch_pack_ctas CTAs for each
 * multiprocessor. */
bool launch_packed(struct neso_kernel *k, const struct ptx_info *info, void *loaded, const struct launch *whole,
                   struct fault *f);
struct program;

/* -- specialize.c -- */

struct launch_how {
    bool warmup;             /* only compile; the caller may pass dtypes in place of tensors */
    /* has the values of options that the call does not set, such as num_warps; NULL: neso's defaults */
    const struct spec *like;
};
/* Executes one launch, without decorators: binds and specializes the arguments, compiles the specialization if
 * it is not in p->kernels, and launches. Returns the compiled kernel. */
struct obj *launch_plain(struct program *p, struct eval *e, struct obj *jit, struct obj *grid, const struct args *args,
                         struct launch_how how);

/* Executes breakpoint() in a function that a running kernel has called. */
void call_breakpoint(void *program, struct eval *e, struct loc at);

/* -- compiled_kernel.c -- */

struct obj *compiled_obj(struct eval *e, struct neso_kernel *k);

/* -- tune.c -- */

/* Executes kernel[grid](...) of a host program: autotuning and heuristics, then launch_plain. */
struct obj *launch_call(void *program, struct eval *e, struct obj *jit, struct obj *grid, const struct args *args);
/* Returns an attribute of a kernel: `run`, `warmup`, or one that a decorator adds (best_config, cache,
 * configs_timings, bench_time); NULL if there is no such attribute. */
struct obj *tune_attribute(void *program, struct eval *e, struct obj *jit, const char *name);

/* -- bench.c -- */

/* The kernels that a timed call launches. */
struct bench_notes {
    int n;
    struct neso_kernel *at[16];
};
/* A call to be timed as do_bench times it. */
struct bench {
    double warmup_ms, rep_ms;
    bool once;                                /* make only one call, because times are meaningless */
    bool dry;                                 /* compile the call's kernels without launching them */
    bool settles;                             /* warm up until the times are stable, to compare builds */
    struct bench_notes *notes;                /* receives the kernels that one call launches; may be NULL */
    void (*call)(struct eval *e, void *ctx);  /* the call to be timed; may raise exceptions */
    void *ctx;
};
/* Times the calls: sets *times_ms to an array of times in ms, in the program's arena, and returns its length. */
int bench_run(struct program *p, struct eval *e, const struct bench *b, struct loc at, double **times_ms);
/* Frees the resources of a benchmark that a limit has aborted. */
void bench_close(struct program *p);
/* Like bench_run, but times the call as neso_run_options.timing specifies, and also reports the times to the
 * callback neso_run_options.measured. */
int bench_told(struct program *p, struct eval *e, struct bench *b, struct loc at, double **times_ms);
double bench_quantile(const double *sorted, int n, double q);
void bench_sort(double *times, int n);
void bench_note(struct bench_notes *notes, struct neso_kernel *k);
/* Times repetitions of k's launch l, unless a launch of k with the same source location and grid was timed
 * before. Called if neso_run_options.timing is NESO_TIMING_LAUNCHES. Afterwards the launch's tensors have the
 * same contents as before. */
void bench_launch(struct program *p, struct eval *e, struct neso_kernel *k, const struct launch *l, struct loc at);

/* -- digests.c -- */

/* Returns the number of bytes from the start of a tensor's first element to the end of its last element; 0 if the
 * tensor has no elements. */
size_t tensor_span(const struct launch_tensor *t);
/* Calls neso_run_options.launched with the digests of the tensors after launch l of kernel k. If the device cannot
 * read the tensors, sets p->fault and returns false. */
bool digests_tell(struct program *p, struct eval *e, const struct neso_kernel *k, const struct launch *l);

/* -- program.c -- */

/* Calls `find` for the file of an imported module, and returns the file as a source; NULL if there is no such
 * file. Raises an ImportError if the file has more than `limit` bytes. */
const struct source *program_find_source(struct eval *e, neso_find *find, void *user, const char *module, size_t limit);

/* -- modules.c -- */

extern const char modules_py[], standard_py[]; /* the texts of modules.py and standard.py */
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
    struct map callees; /* maps a jit function (struct obj *) to its struct callee (specialize.c) */
    struct map kernels; /* maps a specialization's key to struct neso_kernel * */
    struct map traced;  /* ops (struct op *) about which neso_run_options.trace has already warned */
    struct arena scratch; /* for keys; reset to the mark `empty` after each launch */
    struct arena_mark empty;
    /* Returns whether x is tensor-like, and describes it in `out`. If the device has no memory for x, sets the
     * address to 0 and `fault` to the reason. host.c implements this function. */
    bool (*as_pointer)(struct eval *e, struct obj *x, struct pointer *out);
    /* If x stands for a tensor in a call that only compiles a kernel, as a dtype does, returns the element
     * type of the tensor; otherwise NULL. host.c implements this function. */
    const struct lang_type *(*as_pointee)(struct eval *e, struct obj *x);
    struct fault fault; /* error of the latest failed access to device memory */
    void *lent;         /* the pool of tensors and spare device memory, private to host.c */
    struct hosting *hosting; /* state of the running launch, private to specialize.c */
    struct debugger debugger;
    struct kernel_proofs *proofs; /* private to proofs.c */
    uint64_t launches;  /* launches made so far */
    uint64_t products;  /* matrix products computed so far by the device's library */
    bool deterministic; /* NESO_DETERMINISTIC is set: launches are deterministic by default */
    bool fp_reassoc;    /* NESO_FP_REASSOC is set: launches have fp_reassoc by default */
    bool debug;         /* TRITON_DEBUG is set: kernels' assertions are checked */
    bool is_timing;     /* a benchmark is running */
    bool is_dry;        /* the benchmark, or the whole program, only compiles its kernels */
    const char *line;   /* the name under which times are reported (neso_measurement.name); NULL: none */
    struct bench_notes *notes; /* NULL: launches are not recorded */
    struct clock *clock; /* the running benchmark's state, private to bench.c */
    struct timed_launch *timed; /* list of the launches that were timed, private to bench.c */
    /* If the timed calls of a benchmark launched no kernels: the library that computed them, "cuBLAS" or "CPU
     * oracle" (torch functions on the CPU). NULL if the calls launched kernels or computed nothing. */
    const char *oracle;
};

/* Raises a device's error as a RuntimeError of the program. If the source location in the kernel is known, a note
 * shows it. */
_Noreturn void program_raise(struct eval *e, struct loc at, const struct fault *f);

/* -- host.c -- */

/* Changes the program's device to the interpreter, as os.environ['TRITON_INTERPRET'] = '1' does. Raises an
 * exception if there are already tensors on another device. */
void host_interpret(struct program *p, struct eval *e, struct loc at);

/* host_open sets p->host.import, p->host.jit_attr, p->as_pointer, p->as_pointee and p->lent; program.c sets the other
 * members. host_close frees all device memory that is not yet freed. It must be called even if the program ended with
 * an error. */
void host_open(struct program *p);
void host_close(struct program *p);

#endif
