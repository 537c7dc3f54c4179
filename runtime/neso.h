/* neso.h: Triton kernels to PTX, without Python or LLVM, in a C library.
 *
 *     neso_module_from_source(ctx, "add.py", text, length, &module);
 *     neso_kernel_compile(module, "add", &options, &kernel);       options.signature = "*fp32:16, *fp32:16, *fp32:16, i32, 1024"
 *     neso_launch(kernel, grid, stream, args, &error);
 *
 * Results. A function that can fail returns a status. What a failed call on a context has to say is kept
 * there until the next call on it: neso_error_text, or as data neso_diagnostic_get. neso_launch, which any
 * thread may call, fills the caller's neso_error instead.
 *
 * Ownership. What a `_create`, `_from_source` or `_compile` gives is the caller's, until it is handed to
 * the `_release` of its kind. A kernel keeps its module alive, a module its context: any order of
 * release is right. Strings that are returned belong to the object asked and live as long as it does,
 * unless a sentence says less.
 *
 * Threads. Different contexts are independent. One context, with its modules and kernels, is for one
 * thread at a time; only neso_launch may be called on one kernel by any number of threads at once.
 * There is no global state.
 *
 * Nothing here prints, exits or reads the environment. Files are opened in the cache's folder only, if there
 * is one; the one library opened at run time is the CUDA driver's, by neso_context_use_device. Structures of
 * options start with their size, so that they can grow: set `size` to sizeof the structure and the rest to 0
 * where the default will do.
 */
#ifndef NESO_H
#define NESO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NESO_API __attribute__((visibility("default")))
#else
#define NESO_API
#endif

typedef struct neso_context neso_context; /* a device (or none), limits, an allocator, the last call's complaints */
typedef struct neso_module neso_module;   /* a source, read */
typedef struct neso_kernel neso_kernel;   /* a kernel, compiled for one signature */

typedef enum neso_status {
    NESO_OK,
    NESO_INVALID,       /* the input is wrong: the diagnostics say where */
    NESO_FAILED,        /* a program ran, and failed: an exception or assertion of its own */
    NESO_NO_DEVICE,     /* no driver, no GPU, or no device was chosen */
    NESO_DRIVER,        /* the CUDA driver refused: neso_driver_code */
    NESO_OUT_OF_MEMORY, /* the allocator gave nothing, or a limit was reached */
    NESO_INTERNAL       /* a defect of neso: please report it with the input */
} neso_status;

/* "0.1" */
NESO_API const char *neso_version(void);
/* "NESO_OK" and so on; "?" for a number that is no status. */
NESO_API const char *neso_status_name(neso_status status);

/* -- contexts -- */

/* Where all memory comes from. `release` gets the size that was asked for. Both may be called by any thread
 * that calls into the library. `allocate` may return NULL. */
typedef struct neso_allocator {
    void *(*allocate)(void *user, size_t bytes);
    void (*release)(void *user, void *memory, size_t bytes);
    void *user;
} neso_allocator;

/* Each limit has an error of its own, with the place where it was reached: memory-limit (of a tensor
 * torch-memory, of a launch launch-memory), source-too-large, steps, ir-limit, time-limit. Past those of memory,
 * IR and time the status is NESO_OUT_OF_MEMORY; a program cannot catch memory-limit and time-limit. A
 * GPU's own memory is not counted, and what runs on a GPU already is waited for. */
typedef struct neso_context_options {
    size_t size;
    neso_allocator allocator; /* functions NULL: malloc and free */
    size_t memory_limit;      /* bytes for a module, for each of its kernels, for what a launch needs on a CPU, and for a
                               * program with all its kernels, tensors and launches; 0: 1 GiB, and any number for
                               * tensors and launches */
    size_t source_limit;      /* bytes of one source; 0: 16 MiB */
    int64_t step_limit;       /* statements executed to read a module or trace a kernel; 0: 100 million. Where it is not 0
                               * it holds for the host part of a program, and once more for its kernels and tensors,
                               * where 1024 elements computed, or an instruction of a warp, are a step */
    int64_t ir_limit;         /* operations made while compiling a kernel; 0: 1 million */
    int64_t time_limit_ms;    /* of one call that reads, compiles, launches or runs, about; 0: none */
    const char *cache;        /* a folder for what is compiled, made when first needed (copied); NULL: nothing is kept */
    size_t cache_limit;       /* bytes in it, about: what was not used for longest goes; 0: 256 MiB */
    int cache_strict;         /* 1: PTX that is not there is an error, which says what differs from what is */
} neso_context_options;

/* Makes a context without a device, which suffices to compile. `options` may be NULL. Fails with
 * NESO_OUT_OF_MEMORY, or NESO_INVALID for a size this library does not know. */
NESO_API neso_status neso_context_create(const neso_context_options *options, neso_context **context);
NESO_API void neso_context_release(neso_context *context);

/* Chooses where kernels run: "cuda" or "cuda:1" (a GPU, by number), "interpreter" or "emulator" (the CPU),
 * or "best": cuda where there is a driver and a GPU, else the interpreter. Refused (NESO_INVALID) while
 * the context has modules.
 * `cuda_context` is a CUcontext of the caller's to work in (its device is then the one used), or
 * NULL: the primary one. */
NESO_API neso_status neso_context_use_device(neso_context *context, const char *device, void *cuda_context);
/* The device's kind ("cuda", "interpreter", "emulator", "none"), and a line for people: "NVIDIA
 * H200 (cuda:0, sm_90a)". */
NESO_API const char *neso_context_device(const neso_context *context);
NESO_API const char *neso_context_device_text(const neso_context *context);

/* -- what went wrong -- */

typedef enum neso_severity { NESO_ERROR, NESO_WARNING, NESO_NOTE, NESO_HINT } neso_severity;

/* One message. Notes and hints belong to the error or warning before them. Strings live until the next
 * call. */
typedef struct neso_diagnostic {
    size_t size;
    neso_severity severity;
    char tag[48];        /* stable: "shape-broadcast" */
    const char *message;
    const char *file;    /* as the source was named; NULL: no place */
    uint32_t line, column, length; /* from 1, in bytes; length 0: unknown */
} neso_diagnostic;

/* Of the last call on the context: everything it has to say, as a terminal shows it; "" if nothing. A call
 * that succeeded may have left warnings. */
NESO_API const char *neso_error_text(neso_context *context);
/* The driver's own number when the status was NESO_DRIVER (CUresult), else 0. */
NESO_API int neso_driver_code(const neso_context *context);
NESO_API size_t neso_diagnostic_count(const neso_context *context);
/* False (0) if there is no message number `index`. `out->size` is set by the caller. */
NESO_API int neso_diagnostic_get(const neso_context *context, size_t index, neso_diagnostic *out);
/* All messages as a JSON array; lives until the next call. */
NESO_API const char *neso_diagnostics_json(neso_context *context);

/* -- source to kernel -- */

/* Reads a Triton source (length bytes, copied). Its top level is executed as far as kernels need: imports,
 * definitions, assignments that can be evaluated. `name` is for messages; where it ends in ".ir"
 * the text is neso's IR. */
NESO_API neso_status neso_module_from_source(neso_context *context, const char *name, const char *text, size_t length,
                                             neso_module **module);
/* The text of an imported user module ("helpers", "pkg.helpers"), or NULL: there is none. A package is asked
 * for as "pkg", then as "pkg.__init__". */
typedef const char *neso_find(void *user, const char *module, size_t *length);
/* The same for a source that imports files of its own; the texts stay valid until it returns. */
NESO_API neso_status neso_module_from_files(neso_context *context, const char *name, const char *text, size_t length,
                                            neso_find *find, void *user, neso_module **module);
NESO_API void neso_module_release(neso_module *module);
/* The kernels of a module, in source order; NULL past the end. */
NESO_API const char *neso_module_kernel(const neso_module *module, size_t index);

/* A kernel's texts. Each stage is made from the one before. */
typedef enum neso_text {
    NESO_TEXT_AST = 1, /* the kernel's syntax tree */
    NESO_TEXT_IR,      /* as traced: no layouts */
    NESO_TEXT_OPT,     /* after the passes: every layout, conversion and barrier */
    NESO_TEXT_MIR,     /* PTX instructions on virtual registers */
    NESO_TEXT_PTX,
    NESO_TEXT_JSON,    /* the launch plan */
    NESO_TEXT_EXPLAIN  /* why the passes decided as they did */
} neso_text;

/* "ast", "ir", ...; NULL for a number that is none. */
NESO_API const char *neso_text_name(neso_text text);

/* Why a pass decided as it did, or what code generation found: a record of what --explain prints. */
typedef struct neso_note {
    size_t size;
    const char *pass;     /* or "registers", of code generation */
    const char *decision; /* a name, see `neso help decisions`; of "registers": "line_registers" */
    int file, line, column; /* the place; line 0: none. File 0 is the one that was asked for */
    int grade;            /* of decisions of one pass about one place the best has most; 0: there is no choice, -1: it only tidies */
    long long number;     /* the first that the text has; of "line_registers" the most that are live there */
    const char *text;     /* valid until the function returns, as all strings here */
} neso_note;

typedef struct neso_compile_options {
    size_t size;
    /* One entry a parameter, with commas between: a type ("*fp16" a pointer, "*kfp16" one only read
     * through, "i32", "u8", "fp32"), after which ":16" promises a multiple of 16 (a pointer: bytes) and
     * ":1" the value 1; or a Python expression, which makes the parameter a constant; or NAME=either, for a
     * parameter or entry of **META by name. A tuple is its entries in parentheses, "(*fp32, (i32, None))", a named
     * one with the class in front, "Matrix(*fp16:16, (i32, i32), stride=1)"; "tensordesc<fp16[128, 64]>" is a
     * host's tensor descriptor, with "nan" behind a comma one that is padded so. Parameters left out take their
     * defaults, as constants. An IR file has its own: NULL. */
    const char *signature;
    const char *target;  /* "sm_90a"; NULL: the device's, else sm_90a */
    int num_warps;       /* 0: 4 */
    int num_stages;      /* 0: 3 */
    int max_registers;   /* 0: no cap */
    int no_fp_fusion;    /* 1: a * b + c rounds twice */
    int debug;           /* 1: assertions of the kernel are checked; of @triton.jit(debug=True) always */
    neso_text until;     /* go as far as this text; 0: as far as the device needs, without one NESO_TEXT_PTX */
    /* For a look inside; names with commas between, or "all". See `neso help passes`. */
    const char *passes;      /* run these instead of the list */
    const char *skip;        /* leave these out */
    const char *stop_after;
    const char *print_after; /* dump after these */
    const char *explain;     /* why these decided as they did */
    int print_changed;       /* dump only where a pass changed something */
    int verify_each;         /* check the IR after every pass */
    int verbose_ptx;         /* a comment per operation in the PTX */
    int time;                /* write what each pass took */
    /* Gets dumps, explanations and times; `pass` names the writer. NULL: they go nowhere. */
    void (*write)(void *user, const char *pass, const char *text, size_t length);
    void *user;
    /* "NAME=VALUE,NAME=VALUE": other thresholds of optimisations than the defaults, for experiments. See `neso help params`. */
    const char *params;
    /* Gets explanations as records, with `user`; NULL: their text is written. */
    void (*note)(void *user, const neso_note *note);
} neso_compile_options;

/* Compiles one kernel. `name` may be NULL where the module has just one, and for all of an IR
 * file's up to NESO_TEXT_OPT. */
NESO_API neso_status neso_kernel_compile(neso_module *module, const char *name, const neso_compile_options *options,
                                         neso_kernel **kernel);
/* The specializations that launches can make of options->signature, as signatures, a line each: an entry
 * without a promise stands for an argument that is 1, that is a multiple of 16, or neither, in this order: of
 * those that an argument keeps the promises of, the first is the best. The module's string. */
NESO_API neso_status neso_module_variants(neso_module *module, const char *name, const neso_compile_options *options,
                                          const char **text);
NESO_API void neso_kernel_release(neso_kernel *kernel);

NESO_API const char *neso_kernel_name(const neso_kernel *kernel);
/* A name for this specialization, good for files: the kernel's, and 16 hexadecimal digits of
 * what it was compiled for. */
NESO_API const char *neso_kernel_id(const neso_kernel *kernel);
/* Any text of the kernel; made when first asked for. `length` may be NULL. */
NESO_API neso_status neso_kernel_text(neso_kernel *kernel, neso_text which, const char **text, size_t *length);

typedef struct neso_resources {
    size_t size;
    int num_warps, num_threads; /* of a program instance */
    int shared_bytes;           /* of dynamic shared memory */
    int ptx_version;            /* the lowest that the PTX needs: 80 is 8.0 */
    int live_registers;         /* most 32-bit registers live at once, as the compiler counts */
    int registers;              /* per thread, as assembled; -1: not loaded on a GPU */
    int local_bytes;            /* per thread (spills), as assembled; -1: not loaded on a GPU */
    double trace_seconds, opt_seconds, codegen_seconds; /* what compiling took */
} neso_resources;

/* `out->size` is set by the caller. Registers are known after neso_kernel_load, or a launch. */
NESO_API neso_status neso_kernel_resources(neso_kernel *kernel, neso_resources *out);

/* A parameter that a launch passes a value for: one for each type in the signature, in order; those of a tuple
 * are named after it and their place in it ("x_0", "x_stride"). A descriptor is several: its address, its
 * sizes, its strides but the last. */
typedef struct neso_param {
    size_t size;
    const char *name;
    const char *type;   /* "*fp32", "i32" */
    int bytes;          /* of the value: 1, 2, 4 or 8 */
    int divisible;      /* promised: 16, or 1 for nothing */
    int equals_one;     /* promised: it is 1 */
} neso_param;

NESO_API size_t neso_kernel_param_count(const neso_kernel *kernel);
NESO_API int neso_kernel_param(const neso_kernel *kernel, size_t index, neso_param *out);

/* -- launching -- */

/* What a failed launch has to say. */
typedef struct neso_error {
    size_t size;
    neso_status status;
    int driver_code; /* CUresult, when the status is NESO_DRIVER */
    char message[496];
} neso_error;

/* Assembles the kernel for the context's device now rather than at its first launch. */
NESO_API neso_status neso_kernel_load(neso_kernel *kernel);

/* Starts grid[0] x grid[1] x grid[2] program instances on `stream` (a CUstream; NULL: the default one) and
 * returns. args[i] points to the value of parameter i, of the size that neso_kernel_param gives: as for
 * cuLaunchKernel. A pointer parameter's value is an address on the device. The promises of the signature are
 * checked (NESO_INVALID). A grid with a 0 does nothing. The interpreter has finished when this returns.
 * `error` may be NULL. Any thread. */
NESO_API neso_status neso_launch(neso_kernel *kernel, const uint32_t grid[3], void *stream, const void *const *args,
                                 neso_error *error);

/* From now on `write` gets what kernels print on a CPU that are launched by neso_launch, in the thread that
 * launches. NULL, as in the beginning: nobody does. A GPU's driver writes to standard output. */
NESO_API void neso_context_on_print(neso_context *context, void (*write)(void *user, const char *text, size_t length),
                                    void *user);

/* Memory of the context's device, for callers who have no other way to it. The interpreter's is plain memory
 * of this process. Copies are in order with launches on the default stream, and are done when they return. */
NESO_API neso_status neso_memory_allocate(neso_context *context, size_t bytes, uint64_t *address);
NESO_API neso_status neso_memory_release(neso_context *context, uint64_t address);
/* On a CPU, kernels may touch what was allocated here, and nothing else. This lends them memory of the caller's,
 * until neso_memory_release(address), which does not free it. NESO_INVALID: it overlaps what the device has
 * already. On a GPU, kernels reach whatever the driver lets them: nothing is to be done there. */
NESO_API neso_status neso_memory_lend(neso_context *context, uint64_t address, size_t bytes);
NESO_API neso_status neso_memory_write(neso_context *context, uint64_t address, const void *from, size_t bytes);
NESO_API neso_status neso_memory_read(neso_context *context, void *to, uint64_t address, size_t bytes);
/* Waits for everything launched on the stream, and reports what went wrong there. */
NESO_API neso_status neso_synchronize(neso_context *context, void *stream);

/* -- what launches cost -- */

/* From now on launches are counted; the device has to be the emulator (else NESO_NO_DEVICE). With `programs`
 * not 0 only so many program instances of each launch run, spread over its grid: what they write is written,
 * the rest of the results is not. */
NESO_API neso_status neso_counts_start(neso_context *context, int64_t programs);

/* One sum over all launches of a kernel since then. The same on every machine. */
typedef struct neso_count {
    size_t size;
    const char *kernel, *id; /* as neso_kernel_name and neso_kernel_id have them */
    const char *file;        /* of the kernel's source */
    uint32_t line;           /* 0: the whole kernel, and `file` is NULL */
    const char *name;        /* "global_sectors": see `neso help counts` */
    uint64_t value;
} neso_count;

/* Calls `each` for all counts: kernels in the order of their first launch, of each the whole kernel, then its
 * lines in order; of lines no zeros. Nothing where nobody counts. Strings live as long as the device. */
typedef void neso_counts_fn(void *user, const neso_count *count);
NESO_API void neso_counts_each(neso_context *context, neso_counts_fn *each, void *user);

/* -- whole programs -- */

/* How the calls that a program times (triton.testing.do_bench) are run. */
typedef enum neso_timing {
    NESO_TIMING_PROGRAM, /* as the program says */
    NESO_TIMING_COMPILE, /* once, and their kernels are compiled and not launched: on a CPU, times mean nothing */
    NESO_TIMING_ONCE,    /* once */
    NESO_TIMING_STABLE,  /* for a verdict: after a warm-up that lasts until the times are stable, and often enough */
    NESO_TIMING_LAUNCHES /* as before, and each launch outside such calls too: where it is, of each grid, the first; the
                          * tensors it gets are afterwards as one launch leaves them */
} neso_timing;

/* What one timed call took. It lives as long as the callback. */
typedef struct neso_measurement {
    size_t size;
    const char *name;  /* of a report's line: "matmul/N=1024/Triton"; NULL: it is no report's */
    const char *file;  /* and line: the call's place */
    uint32_t line;
    neso_kernel *const *kernels; /* that it launches; at most the first 16 */
    size_t kernel_count;
    const double *times_ms; /* in order */
    size_t count;
} neso_measurement;

/* What `save` returns for a path that programs may not write to. */
#define NESO_SAVE_OUTSIDE 2

typedef struct neso_run_options {
    size_t size;
    int argc; /* the program's own: argv[0] is its name */
    const char *const *argv;
    /* What the program prints. NULL: nowhere. */
    void (*write)(void *user, const char *text, size_t length, int to_stderr);
    /* A variable of the environment that the program asks for. NULL: none is set. TRITON_DEBUG is asked for at the
     * start: kernels' assertions are checked. TRITON_INTERPRET reads "1" where the device is the interpreter, only. */
    const char *(*getenv)(void *user, const char *name);
    /* Texts stay valid until the run ends. NULL: no imports of files. */
    neso_find *find;
    /* Told of each kernel that was compiled, before its first launch; may ask it for texts,
     * and must not release it. */
    void (*compiled)(void *user, neso_kernel *kernel);
    void *user;
    /* Files that the program writes (tables, plots), and what neso keeps for later runs: 0 on success,
     * NESO_SAVE_OUTSIDE where it may not write there. `path` is as the program has it, ".." and all: the
     * callback decides. NULL: refused. */
    int (*save)(void *user, const char *path, const char *text, size_t length);
    /* The text of such a file, or NULL: there is none. It stays valid until the next call. */
    const char *(*load)(void *user, const char *path, size_t *length);
    const char *cache; /* a folder for choices of autotuning, kept by save and load; NULL: they are not kept */
    /* 0: a program that sets os.environ['TRITON_INTERPRET'] = '1' makes the interpreter the context's
     * device. 1: it does not. */
    int keep_device;
    /* On the interpreter: stop where a kernel comes to "FILE:LINE", in the first program that does or in
     * "FILE:LINE@3", "FILE:LINE@1,2,0". NULL: only at the kernel's own breakpoint(). */
    const char *break_at;
    /* The interpreter looks for races between the programs of a launch at its start (about a tenth of a
     * second of work, on one core); 1: never; 2: to its end. */
    int races;
    /* A command of the debugger, after showing the prompt; valid until the next call. NULL: the input has
     * ended. */
    const char *(*ask)(void *user, const char *prompt);
    neso_timing timing;
    /* Told of each call that was timed and launched a kernel. NULL: nobody asks. */
    void (*measured)(void *user, const neso_measurement *m);
    const char *skip; /* passes that kernels are compiled without; see `neso help passes` */
    const char *params; /* as in neso_compile_options, of all kernels */
} neso_run_options;

/* Runs a program, host part and kernels, on the context's device. NESO_FAILED: it raised an exception or left
 * with a status other than 0. NESO_OUT_OF_MEMORY: it came to a limit, or the allocator gave nothing, and it
 * did not catch the exception. NESO_INVALID: it is no program of the language. */
NESO_API neso_status neso_program_run(neso_context *context, const char *name, const char *text, size_t length,
                                      const neso_run_options *options);

/* -- what is here -- */

/* A table of the language or compiler, as text: "ops", "passes", "params", "insns", "errors",
 * "targets", "language", "counts". */
NESO_API neso_status neso_help(neso_context *context, const char *topic, const char **text);
/* The topics; NULL past the end. */
NESO_API const char *neso_help_topic(size_t index);

/* What a target has room for. */
typedef struct neso_limits {
    size_t size;
    int shared_bytes;                     /* of a program instance, most */
    int registers;                        /* of a thread, most */
    int sm_shared_bytes, sm_registers;    /* of a multiprocessor */
    int sm_threads, sm_programs;
} neso_limits;

/* False (0) if there is no such target. `out->size` is set by the caller. */
NESO_API int neso_target_limits(const char *target, neso_limits *out);

typedef struct neso_gpu {
    size_t size;
    char name[128];
    int major, minor;     /* compute capability */
    const char *target;   /* the row that fits, NULL: none */
    uint64_t memory_bytes;
    int multiprocessors;
    int clock_khz; /* of a multiprocessor, at most */
} neso_gpu;

/* Looks for the driver and its GPUs. NESO_OK: *driver_version is 13000 for 13.0, *gpus their number.
 * NESO_NO_DEVICE or NESO_DRIVER: neso_error_text says what is missing. */
NESO_API neso_status neso_find_gpus(neso_context *context, int *driver_version, int *gpus);
NESO_API neso_status neso_gpu_get(neso_context *context, int index, neso_gpu *out);

#ifdef __cplusplus
}
#endif

#endif
