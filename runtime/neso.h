/* neso.h: the public API of neso: a C library that compiles Triton kernels to PTX, without Python or LLVM,
 * and launches them.
 *
 *     neso_module_from_source(ctx, "add.py", text, length, &module);
 *     neso_kernel_compile(module, "add", &options, &kernel);       options.signature = "*fp32:16, *fp32:16, *fp32:16, i32, 1024"
 *     neso_launch(kernel, grid, stream, args, &error);
 *
 * Results. A function that can fail returns a status. The context keeps the messages of a failed call until
 * the next call on it: as text in neso_error_text, as data in neso_diagnostic_get. neso_launch, which any
 * thread may call, fills the caller's neso_error instead.
 *
 * Ownership. The caller owns each object that a `_create`, `_from_source` or `_compile` function returns, and
 * releases it by the `_release` function of its kind. A kernel keeps its module alive, and a module its
 * context, so objects may be released in any order. A returned string belongs to the object that the function
 * was called on, and lives as long as that object, unless its function says otherwise.
 *
 * Threads. Different contexts are independent. Only one thread at a time may use a context with its modules
 * and kernels; but any number of threads may call neso_launch on one kernel at once. There is no global
 * state.
 *
 * The library never prints, exits or reads the environment. It opens files only in the cache's folder, if
 * there is one, and loads one library at run time: the CUDA driver, in neso_context_use_device. Structures of
 * options start with their size, so that later versions can extend them: set `size` to sizeof the structure,
 * and every member to 0 for which you want the default. */
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

/* a device (or none), limits, an allocator, the messages of the last call */
typedef struct neso_context neso_context;
typedef struct neso_module neso_module;   /* a source that was read */
typedef struct neso_kernel neso_kernel;   /* a kernel that was compiled for one signature */

typedef enum neso_status {
    NESO_OK,
    NESO_INVALID,       /* the input is wrong: the diagnostics say where */
    NESO_FAILED,        /* a program ran and failed: it raised an exception or an assertion */
    NESO_NO_DEVICE,     /* there is no driver or GPU, or no device was chosen */
    NESO_DRIVER,        /* the CUDA driver returned an error: see neso_driver_code */
    NESO_OUT_OF_MEMORY, /* the allocator returned NULL, or a limit was reached */
    NESO_INTERNAL       /* a defect of neso: please report it with the input */
} neso_status;

/* "0.1" */
NESO_API const char *neso_version(void);
/* "NESO_OK" and so on; "?" for a number that is not a status. */
NESO_API const char *neso_status_name(neso_status status);

/* -- contexts -- */

/* The source of all memory. `release` gets the size that was allocated. Any thread that calls into the
 * library may call both functions. `allocate` may return NULL. */
typedef struct neso_allocator {
    void *(*allocate)(void *user, size_t bytes);
    void (*release)(void *user, void *memory, size_t bytes);
    void *user;
} neso_allocator;

/* Each limit has its own error, at the place where it was reached: memory-limit (for a tensor torch-memory,
 * for a launch launch-memory), source-too-large, steps, ir-limit, time-limit. For the limits of memory, IR
 * and time the status is NESO_OUT_OF_MEMORY; a program cannot catch memory-limit and time-limit. The limits
 * do not include a GPU's own memory, and calls wait for kernels that already run on a GPU. */
typedef struct neso_context_options {
    size_t size;
    neso_allocator allocator; /* functions NULL: malloc and free */
    /* bytes for a module, for each of its kernels, for the work of a launch on a CPU, and for a program with
     * all its kernels, tensors and launches; 0: 1 GiB, without a limit for tensors and launches */
    size_t memory_limit;
    size_t source_limit;      /* bytes of one source; 0: 16 MiB */
    /* statements executed to read a module or trace a kernel; 0: 100 million. If it is not 0, it also limits
     * the host code of a program, and once more its kernels and tensors, where 1024 computed elements, or one
     * instruction of a warp, count as a step */
    int64_t step_limit;
    int64_t ir_limit;         /* IR operations created while compiling a kernel; 0: 1 million */
    /* approximate time of one call that reads, compiles, launches or runs; 0: no limit */
    int64_t time_limit_ms;
    /* a folder (copied) that keeps compiled kernels, created when first needed; NULL: they are not kept */
    const char *cache;
    /* approximate bytes in that folder: the least recently used entries are removed; 0: 256 MiB */
    size_t cache_limit;
    /* 1: PTX that is missing in the cache is an error, which tells how the nearest entry differs */
    int cache_strict;
} neso_context_options;

/* Makes a context without a device, which suffices to compile. `options` may be NULL. Fails with
 * NESO_OUT_OF_MEMORY, or with NESO_INVALID for a size that this library does not know. */
NESO_API neso_status neso_context_create(const neso_context_options *options, neso_context **context);
NESO_API void neso_context_release(neso_context *context);

/* Chooses where kernels run: "cuda" or "cuda:1" (a GPU, by number), "interpreter" or "emulator" (the CPU), or
 * "best": cuda if there is a driver and a GPU, else the interpreter. Fails (NESO_INVALID) while the context
 * has modules. `cuda_context` is the caller's CUcontext to work in (its device is then used), or NULL: the
 * primary one. */
NESO_API neso_status neso_context_use_device(neso_context *context, const char *device, void *cuda_context);
/* The device's kind ("cuda", "interpreter", "emulator", "none"), and a description: "NVIDIA H200 (cuda:0,
 * sm_90a)". */
NESO_API const char *neso_context_device(const neso_context *context);
NESO_API const char *neso_context_device_text(const neso_context *context);

/* -- errors -- */

typedef enum neso_severity { NESO_ERROR, NESO_WARNING, NESO_NOTE, NESO_HINT } neso_severity;

/* One message. Notes and hints belong to the error or warning before them. Strings live until the next
 * call. */
typedef struct neso_diagnostic {
    size_t size;
    neso_severity severity;
    char tag[48];        /* stable: "shape-broadcast" */
    const char *message;
    const char *file;    /* the name of the source; NULL: no place */
    uint32_t line, column, length; /* from 1, in bytes; length 0: unknown */
} neso_diagnostic;

/* All messages of the last call on the context, as a terminal shows them; "" if there are none. A call that
 * succeeded may have left warnings. */
NESO_API const char *neso_error_text(neso_context *context);
/* The driver's error number (CUresult) if the status was NESO_DRIVER, else 0. */
NESO_API int neso_driver_code(const neso_context *context);
NESO_API size_t neso_diagnostic_count(const neso_context *context);
/* Returns 0 if there is no message number `index`. The caller sets `out->size`. */
NESO_API int neso_diagnostic_get(const neso_context *context, size_t index, neso_diagnostic *out);
/* All messages as a JSON array; it lives until the next call. */
NESO_API const char *neso_diagnostics_json(neso_context *context);

/* -- source to kernel -- */

/* Reads a Triton source (length bytes, copied). Executes its top level as far as kernels need it: imports,
 * definitions, assignments that can be evaluated. Messages use `name`; if it ends in ".ir", the text is
 * neso's IR. */
NESO_API neso_status neso_module_from_source(neso_context *context, const char *name, const char *text, size_t length,
                                             neso_module **module);
/* Returns the text of an imported user module ("helpers", "pkg.helpers"), or NULL if there is none. A package
 * is requested as "pkg", then as "pkg.__init__". */
typedef const char *neso_find(void *user, const char *module, size_t *length);
/* Likewise for a source that imports other files; their texts must stay valid until the function returns. */
NESO_API neso_status neso_module_from_files(neso_context *context, const char *name, const char *text, size_t length,
                                            neso_find *find, void *user, neso_module **module);
NESO_API void neso_module_release(neso_module *module);
/* The kernels of a module, in source order; NULL past the end. */
NESO_API const char *neso_module_kernel(const neso_module *module, size_t index);

/* A kernel's texts; each stage is made from the previous one. */
typedef enum neso_text {
    NESO_TEXT_AST = 1, /* the kernel's syntax tree */
    NESO_TEXT_IR,      /* as traced, without layouts */
    NESO_TEXT_OPT,     /* after the passes, with layouts, conversions and barriers */
    NESO_TEXT_MIR,     /* PTX instructions on virtual registers */
    NESO_TEXT_PTX,
    NESO_TEXT_JSON,    /* the launch plan */
    NESO_TEXT_EXPLAIN  /* why the passes decided as they did */
} neso_text;

/* "ast", "ir", ...; NULL for a number that is not a text. */
NESO_API const char *neso_text_name(neso_text text);

/* Why a pass decided as it did, or what code generation found: a record of what --explain prints. */
typedef struct neso_note {
    size_t size;
    const char *pass;     /* or "registers", of code generation */
    const char *decision; /* a name, see `neso help decisions`; of "registers": "line_registers" */
    int file, line, column; /* the place; line 0: none. File 0 is the source of the module */
    int grade;            /* of two decisions of one pass at one place, the one with the larger grade is better; 0: the pass has no choice; -1: it only tidies the IR */
    long long number;     /* the first number in the text; of "line_registers": the most 32-bit registers that are live in the line */
    const char *text;     /* valid until the function returns, as all strings here */
} neso_note;

typedef struct neso_compile_options {
    size_t size;
    /* One entry for each parameter, separated by commas. An entry is a type ("*fp16" is a pointer, "*kfp16" a
     * pointer that is only read through, "i32", "u8", "fp32"), after which ":16" promises a multiple of 16
     * (for a pointer: bytes) and ":1" the value 1; or a Python expression, which makes the parameter a
     * constant; or NAME=entry, for a parameter or an entry of **META by name. A tuple is its entries in
     * parentheses, "(*fp32, (i32, None))", a named tuple has its class in front, "Matrix(*fp16:16, (i32,
     * i32), stride=1)"; "tensordesc<fp16[128, 64]>" is a tensor descriptor of the host, and
     * "tensordesc<fp16[128, 64], nan>" one that pads with NaN. Parameters without an entry take their
     * defaults, as constants. An IR file contains its own signature: NULL. */
    const char *signature;
    const char *target;  /* "sm_90a"; NULL: the device's, else sm_90a */
    int num_warps;       /* 0: 4 */
    int num_stages;      /* 0: 3 */
    int max_registers;   /* 0: no limit */
    int no_fp_fusion;    /* 1: a * b + c rounds twice */
    /* 1: assertions of the kernel are checked; those of @triton.jit(debug=True) always are */
    int debug;
    /* compile up to this text; 0: as far as the device needs, without a device up to NESO_TEXT_PTX */
    neso_text until;
    /* Options to inspect a compilation: names separated by commas, or "all". See `neso help passes`. */
    const char *passes;      /* run these instead of the whole list */
    const char *skip;        /* leave these out */
    const char *stop_after;
    const char *print_after; /* dump the IR after these */
    const char *explain;     /* explain the decisions of these */
    int print_changed;       /* dump only after passes that changed something */
    int verify_each;         /* check the IR after every pass */
    int verbose_ptx;         /* a comment for each operation in the PTX */
    int time;                /* write how long each pass took */
    /* Gets dumps, explanations and times; `pass` names the pass that wrote them. NULL: they are discarded. */
    void (*write)(void *user, const char *pass, const char *text, size_t length);
    void *user;
    /* "NAME=VALUE,NAME=VALUE": other thresholds of optimisations than the defaults, for experiments. See `neso help params`. */
    const char *params;
    /* Gets explanations as records, with `user`; NULL: their text is written. */
    void (*note)(void *user, const neso_note *note);
} neso_compile_options;

/* Compiles one kernel. `name` may be NULL if the module has only one kernel, and, up to NESO_TEXT_OPT, for
 * all kernels of an IR file. */
NESO_API neso_status neso_kernel_compile(neso_module *module, const char *name, const neso_compile_options *options,
                                         neso_kernel **kernel);
/* Lists the specializations that launches can make of options->signature, as signatures, one a line. An entry
 * without a promise is listed as an argument that is 1, a multiple of 16, or neither, in this order, so that
 * the first signature whose promises all arguments keep is the best. The module owns the string. */
NESO_API neso_status neso_module_variants(neso_module *module, const char *name, const neso_compile_options *options,
                                          const char **text);
NESO_API void neso_kernel_release(neso_kernel *kernel);

NESO_API const char *neso_kernel_name(const neso_kernel *kernel);
/* A name for this specialization that is suitable for files: the kernel's name, and 16 hexadecimal digits of
 * a digest of everything it was compiled for. */
NESO_API const char *neso_kernel_id(const neso_kernel *kernel);
/* Any text of the kernel; it is made when first requested. `length` may be NULL. */
NESO_API neso_status neso_kernel_text(neso_kernel *kernel, neso_text which, const char **text, size_t *length);

typedef struct neso_resources {
    size_t size;
    int num_warps, num_threads; /* of a program instance */
    int shared_bytes;           /* dynamic shared memory */
    int ptx_version;            /* the lowest version that the PTX needs: 80 is 8.0 */
    int live_registers;         /* most 32-bit registers live at once, by the compiler's count */
    int registers;              /* per thread, as assembled; -1: not loaded on a GPU */
    int local_bytes;            /* per thread (spills), as assembled; -1: not loaded on a GPU */
    double trace_seconds, opt_seconds, codegen_seconds; /* how long the stages of the compilation took */
} neso_resources;

/* The caller sets `out->size`. Registers are known after neso_kernel_load or a launch. */
NESO_API neso_status neso_kernel_resources(neso_kernel *kernel, neso_resources *out);

/* A parameter for which a launch passes a value: there is one for each type in the signature, in order. The
 * parameters of a tuple are named after the tuple and their index or field ("x_0", "x_stride"). A descriptor has several: its
 * address, its sizes, and its strides but the last. */
typedef struct neso_param {
    size_t size;
    const char *name;
    const char *type;   /* "*fp32", "i32" */
    int bytes;          /* of the value: 1, 2, 4 or 8 */
    int divisible;      /* promised: 16; 1: nothing is promised */
    int equals_one;     /* promised: the value is 1 */
    int written;        /* a pointer: the kernel may write to what it points to */
} neso_param;

NESO_API size_t neso_kernel_param_count(const neso_kernel *kernel);
NESO_API int neso_kernel_param(const neso_kernel *kernel, size_t index, neso_param *out);

/* -- launching -- */

/* The message of a failed launch. */
typedef struct neso_error {
    size_t size;
    neso_status status;
    int driver_code; /* CUresult, if the status is NESO_DRIVER */
    char message[496];
} neso_error;

/* Assembles the kernel for the context's device now instead of at its first launch. */
NESO_API neso_status neso_kernel_load(neso_kernel *kernel);

/* Starts grid[0] x grid[1] x grid[2] program instances on `stream` (a CUstream; NULL: the default one) and
 * returns. args[i] points to the value of parameter i, with the size that neso_kernel_param gives, as for
 * cuLaunchKernel. The value of a pointer parameter is an address on the device. Checks the promises of the
 * signature (NESO_INVALID). A grid that contains a 0 does nothing. On the interpreter the programs have
 * finished when the function returns. `error` may be NULL. Any thread may call it. */
NESO_API neso_status neso_launch(neso_kernel *kernel, const uint32_t grid[3], void *stream, const void *const *args,
                                 neso_error *error);

/* Sets the function that gets the output of kernels that neso_launch runs on a CPU; the launching thread calls
 * it. NULL (the default) discards the output. On a GPU the driver writes the output to standard output. */
NESO_API void neso_context_on_print(neso_context *context, void (*write)(void *user, const char *text, size_t length),
                                    void *user);

/* Memory of the context's device, for callers that have no other access to it. The interpreter's device
 * memory is memory of this process. Copies are ordered with launches on the default stream, and have finished
 * when the functions return. */
NESO_API neso_status neso_memory_allocate(neso_context *context, size_t bytes, uint64_t *address);
NESO_API neso_status neso_memory_release(neso_context *context, uint64_t address);
/* Lets kernels access memory of the caller until neso_memory_release(address), which does not free it. On a CPU,
 * kernels may access only memory from neso_memory_allocate and memory lent by this function. NESO_INVALID: the
 * memory overlaps memory that the device already has. On a GPU the function has no effect: the driver decides
 * which memory kernels may access. */
NESO_API neso_status neso_memory_lend(neso_context *context, uint64_t address, size_t bytes);
NESO_API neso_status neso_memory_write(neso_context *context, uint64_t address, const void *from, size_t bytes);
NESO_API neso_status neso_memory_read(neso_context *context, void *to, uint64_t address, size_t bytes);
/* Waits for everything launched on the stream, and reports its errors. */
NESO_API neso_status neso_synchronize(neso_context *context, void *stream);

/* -- costs of launches -- */

/* Counts launches from now on; the device has to be the emulator (else NESO_NO_DEVICE). If `programs` is not
 * 0, each launch runs only that many program instances, spread over its grid, and only their results
 * are written. */
NESO_API neso_status neso_counts_start(neso_context *context, int64_t programs);

/* One sum over all launches of a kernel since neso_counts_start. It is the same on every machine. */
typedef struct neso_count {
    size_t size;
    const char *kernel, *id; /* as neso_kernel_name and neso_kernel_id return them */
    const char *file;        /* of the kernel's source */
    uint32_t line;           /* 0: the whole kernel, and `file` is NULL */
    const char *name;        /* "global_sectors": see `neso help counts` */
    uint64_t value;
} neso_count;

/* Calls `each` for all counts: kernels in the order of their first launch, for each the whole kernel, then
 * its lines in order, without zeros of lines. If counting is off, it calls nothing. Strings live as long as
 * the device. */
typedef void neso_counts_fn(void *user, const neso_count *count);
NESO_API void neso_counts_each(neso_context *context, neso_counts_fn *each, void *user);

/* -- whole programs -- */

/* How calls that a program times (triton.testing.do_bench) are run. */
typedef enum neso_timing {
    NESO_TIMING_PROGRAM, /* as the program says */
    /* once, and their kernels are compiled but not launched: on a CPU, times mean nothing */
    NESO_TIMING_COMPILE,
    NESO_TIMING_ONCE,    /* once */
    /* to compare builds: after a warm-up that lasts until the times are stable, and often enough to decide */
    NESO_TIMING_STABLE,
    /* like NESO_TIMING_STABLE, and also times launches outside of such calls: for each place and grid the
     * first launch; its tensors are afterwards as one launch leaves them */
    NESO_TIMING_LAUNCHES
} neso_timing;

/* The times of one timed call. It lives as long as the callback runs. */
typedef struct neso_measurement {
    size_t size;
    const char *name;  /* of a report's line: "matmul/N=1024/Triton"; NULL: the call belongs to no report */
    const char *file;  /* the place of the call, with `line` */
    uint32_t line;
    neso_kernel *const *kernels; /* kernels that the call launches, at most the first 16 */
    size_t kernel_count;
    const double *times_ms; /* in order of measurement */
    size_t count;
} neso_measurement;

/* The result of `save` for a path that programs may not write to. */
#define NESO_SAVE_OUTSIDE 2

typedef struct neso_run_options {
    size_t size;
    int argc; /* of the program: argv[0] is its name */
    const char *const *argv;
    /* Gets what the program prints. NULL: it is discarded. */
    void (*write)(void *user, const char *text, size_t length, int to_stderr);
    /* A variable of the environment that the program reads. NULL: none is set. TRITON_DEBUG is read at the
     * start: it turns the kernels' assertions on. The program always reads TRITON_INTERPRET as "1" if the
     * device is the interpreter, and never otherwise. */
    const char *(*getenv)(void *user, const char *name);
    /* Texts stay valid until the run ends. NULL: no files can be imported. */
    neso_find *find;
    /* Called for each compiled kernel before its first launch; may request texts of it, and must not release
     * it. */
    void (*compiled)(void *user, neso_kernel *kernel);
    void *user;
    /* Writes files of the program (tables, plots), and files that neso keeps for later runs: returns 0 on
     * success, NESO_SAVE_OUTSIDE if the program may not write there. `path` is the program's, "..", too: the
     * callback decides. NULL: writing fails. */
    int (*save)(void *user, const char *path, const char *text, size_t length);
    /* The text of such a file, or NULL if there is none. It stays valid until the next call. */
    const char *(*load)(void *user, const char *path, size_t *length);
    /* a folder for choices of autotuning, stored by save and read by load; NULL: they are not stored */
    const char *cache;
    /* 0: a program that sets os.environ['TRITON_INTERPRET'] = '1' changes the context's device to the
     * interpreter. 1: it does not. */
    int keep_device;
    /* On the interpreter: stop when a kernel reaches "FILE:LINE", in the first program that does, or in a
     * given one: "FILE:LINE@3", "FILE:LINE@1,2,0". NULL: stop only at breakpoint() in the kernel. */
    const char *break_at;
    /* 0: the interpreter checks for races between programs at the start of a launch (for about a tenth of a
     * second of work, on one core); 1: never; 2: during the whole launch. */
    int races;
    /* Shows the prompt and returns a command for the debugger, valid until the next call. NULL: the input has
     * ended. */
    const char *(*ask)(void *user, const char *prompt);
    neso_timing timing;
    /* Called for each call that was timed and launched a kernel. May be NULL. */
    void (*measured)(void *user, const neso_measurement *m);
    const char *skip; /* passes to leave out when compiling kernels; see `neso help passes` */
    const char *params; /* as in neso_compile_options, for all kernels */
} neso_run_options;

/* Runs a program, host code and kernels, on the context's device. NESO_FAILED: it raised an exception, or
 * exited with a status other than 0. NESO_OUT_OF_MEMORY: it reached a limit, or the allocator returned NULL,
 * and it did not catch the exception. NESO_INVALID: it is not a valid program. */
NESO_API neso_status neso_program_run(neso_context *context, const char *name, const char *text, size_t length,
                                      const neso_run_options *options);

/* -- doctor -- */

/* A table of the language or compiler, as text: "ops", "passes", "params", "insns", "errors",
 * "targets", "language", "counts". */
NESO_API neso_status neso_help(neso_context *context, const char *topic, const char **text);
/* The topics; NULL past the end. */
NESO_API const char *neso_help_topic(size_t index);

/* Resource limits of a target. */
typedef struct neso_limits {
    size_t size;
    int shared_bytes;                     /* the most that a program instance may have */
    int registers;                        /* the most that a thread may have */
    int sm_shared_bytes, sm_registers;    /* of a multiprocessor */
    int sm_threads, sm_programs;
} neso_limits;

/* Returns 0 if there is no such target. The caller sets `out->size`. */
NESO_API int neso_target_limits(const char *target, neso_limits *out);

typedef struct neso_gpu {
    size_t size;
    char name[128];
    int major, minor;     /* compute capability */
    const char *target;   /* the target for the GPU; NULL: none fits */
    uint64_t memory_bytes;
    int multiprocessors;
    int clock_khz; /* the highest clock of a multiprocessor */
} neso_gpu;

/* Looks for the driver and its GPUs. NESO_OK: *driver_version is 13000 for 13.0, *gpus the number of GPUs.
 * NESO_NO_DEVICE or NESO_DRIVER: neso_error_text says what is missing. */
NESO_API neso_status neso_find_gpus(neso_context *context, int *driver_version, int *gpus);
NESO_API neso_status neso_gpu_get(neso_context *context, int index, neso_gpu *out);

#ifdef __cplusplus
}
#endif

#endif
