/* SPDX-License-Identifier: MIT */
/* neso.h: the public API of neso, a C library that compiles Triton kernels to PTX without Python or LLVM, and
 * launches them. In this example, options.signature is "*fp32:16, *fp32:16, *fp32:16, i32, 1024":
 *
 *     neso_module_from_source(ctx, "add.py", text, length, &module);
 *     neso_kernel_compile(module, "add", &options, &kernel);
 *     neso_launch(kernel, grid, stream, args, &error);
 *
 * Results. A function that can fail returns a status. The context keeps the messages of a call until the next
 * call on the context, or on one of its modules or kernels. neso_error_text returns the messages as text, and
 * neso_diagnostic_get returns them as data. The functions with a parameter `error`, such as neso_launch,
 * write their message to `error` instead, because any thread may call them.
 *
 * Ownership. neso_context_create, neso_module_from_..., neso_kernel_compile and neso_capsule_read create
 * objects. The caller owns each object, and releases it by the `_release` function of its type. A kernel
 * keeps its module alive, and a module keeps its context alive, so objects may be released in any order. A
 * returned string belongs to the object that was passed to the function, and lives as long as this object,
 * unless the function's comment states otherwise.
 *
 * Threads. Different contexts are independent. Only one thread at a time may use a context and its modules
 * and kernels. But any number of threads may call neso_launch, and other functions with a parameter `error`,
 * on one kernel at the same time. The library has no global state.
 *
 * The library never prints, ends the process or reads the environment. It opens files only in the folder of
 * the disk cache (neso_context_options.cache). It loads the CUDA driver (dlopen) when a context uses a GPU or
 * the caller lists GPUs. If cuBLAS is installed, the library also loads it, for large or timed matrix
 * products that the host code of a program computes on a GPU. Most structures start with a member `size`, so
 * that later versions can add members. The caller sets `size` to sizeof the structure. An option with the
 * value 0 selects the default. */
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

/* a device (or none), limits, an allocator, and the messages of the last call */
typedef struct neso_context neso_context;
typedef struct neso_module neso_module;   /* a parsed source */
typedef struct neso_kernel neso_kernel;   /* a kernel compiled for one signature */
typedef struct neso_capsule neso_capsule; /* one launch of a kernel, with all data that is needed to repeat the
                                           * launch */

typedef enum neso_status {
    NESO_OK,
    NESO_INVALID,       /* the input is wrong; the messages show where */
    NESO_FAILED,        /* a program raised an exception, or an assertion failed */
    NESO_NO_DEVICE,     /* there is no driver or GPU, or the context has no device */
    NESO_DRIVER,        /* the CUDA driver returned an error: see neso_driver_code */
    NESO_OUT_OF_MEMORY, /* the allocator returned NULL, or a limit was exceeded */
    NESO_INTERNAL,      /* neso has a defect: please report it with the input */
    NESO_CANCELLED      /* neso_context_options.cancelled ended the call */
} neso_status;

/* The version of this header. NESO_VERSION_NUMBER is the version as one number, major * 10000 + minor * 100 + patch,
 * for conditions of the preprocessor such as `#if NESO_VERSION_NUMBER >= 100`. */
#define NESO_VERSION_MAJOR 0
#define NESO_VERSION_MINOR 1
#define NESO_VERSION_PATCH 0
#define NESO_VERSION_NUMBER (NESO_VERSION_MAJOR * 10000 + NESO_VERSION_MINOR * 100 + NESO_VERSION_PATCH)
/* neso_version returns the version of the library in use as text ("0.1"). neso_version_number returns it as a
 * number in the format of NESO_VERSION_NUMBER (100 for 0.1.0). */
NESO_API const char *neso_version(void);
NESO_API int neso_version_number(void);
/* Returns the name of a status, for example "NESO_OK"; "?" for a number that is not a status. */
NESO_API const char *neso_status_name(neso_status status);

/* -- contexts -- */

/* The library gets all its memory from these functions. `allocate` may return NULL; `release` gets the size
 * that was allocated. Several threads may call both functions at the same time. */
typedef struct neso_allocator {
    void *(*allocate)(void *user, size_t bytes);
    void (*release)(void *user, void *memory, size_t bytes);
    void *user;
} neso_allocator;

/* The events that neso_context_options.event receives. */
typedef enum neso_event {
    /* neso compiled a kernel to PTX; the event's text is, for example:
     * "scale-81ab... for sm_90a in 1.9 ms" */
    NESO_EVENT_COMPILED = 1,
    NESO_EVENT_CACHED,       /* the PTX came from the cache */
    NESO_EVENT_BUNDLED,      /* the PTX came from the bundle */
    /* a device loaded the code; on a GPU, the driver assembled it first, unless the caller gave the cubin */
    NESO_EVENT_LOADED,
    NESO_EVENT_COPIES        /* a launch copied matrices (see neso_launch); reported once for each kernel */
} neso_event;

/* If a call exceeds a limit of these options, it reports an error at the source location where this
 * happened. If memory_limit was exceeded, the error's tag is torch-memory for a tensor, launch-memory for a
 * launch, and otherwise memory-limit. The tags of the other limits are source-too-large, steps, ir-limit
 * and time-limit. The status is NESO_OUT_OF_MEMORY for a limit of memory, IR or time. A program cannot
 * catch the errors memory-limit and time-limit as exceptions. The memory limits do not count a GPU's own
 * memory. A time limit does not interrupt kernels that run on a GPU. */
typedef struct neso_context_options {
    size_t size;
    neso_allocator allocator; /* if its functions are NULL: malloc and free */
    /* The limit in bytes of the memory of each of these: a module, a kernel, a launch on a CPU, and a program
     * with all its kernels, tensors and launches. 0: 1 GiB for a module or a kernel, no limit for launches
     * and programs. */
    size_t memory_limit;
    size_t source_limit;      /* limit of the size of one source in bytes; 0: 16 MiB */
    /* The limit of the number of statements that are executed to read a module or to trace a kernel. 0: 100
     * million. A limit other than 0 also applies to the statements of a program's host code. Furthermore, it
     * applies to the steps of one neso_launch on a CPU, and to the steps of all kernels and tensor operations
     * of a program. One step is 1024 computed elements, or, in the emulator, one instruction of a warp. */
    int64_t step_limit;
    int64_t ir_limit;         /* limit of the number of IR operations of a compilation; 0: 1 million */
    /* The approximate time limit in ms of one call that reads a module, compiles or launches a kernel, or
     * runs a program. 0: no limit. */
    int64_t time_limit_ms;
    /* The folder of the disk cache of compiled kernels. The library copies the string, and creates the folder
     * when it first needs it. NULL: no cache. */
    const char *cache;
    /* The approximate limit in bytes of the size of that folder. If the folder exceeds the limit, neso
     * removes the least recently used entries. 0: 256 MiB. */
    size_t cache_limit;
    /* 1: compiling a kernel fails if the cache lacks its PTX. The message compares the kernel with the most
     * similar entry: it shows in which fields (such as signature, options or source) they differ. */
    int cache_strict;
    void *user; /* the first argument of the callbacks below; each callback may be NULL */
    /* neso calls this function with a record of each compiled kernel and of each choice of autotuning. A record is a
     * text that identifies the kernel or choice; the command `neso bundle` and neso_bundle_check read it. A kernel
     * that cannot run on a GPU has no record. */
    void (*record)(void *user, const char *text, size_t length);
    /* neso calls this function for each event (neso_event). For an event of a launch, the launching thread calls it. */
    void (*event)(void *user, neso_event event, const char *text);
    /* neso calls this function often during a long call, from any thread that works for the call. If the function
     * returns a value other than 0, the call ends with NESO_CANCELLED, which a program cannot catch as an exception. A
     * kernel that runs on a GPU is not interrupted. */
    int (*cancelled)(void *user);
    /* neso calls this function before each launch, to ask whether to make a capsule of the launch (see
     * neso_capsule). 0: no capsule; 1: a capsule only if the launch fails; 2: a capsule in any case. If the
     * function returns 1 or 2, neso copies the memory to which the arguments point before the launch, and
     * waits for the GPU after the launch. If a check finds a difference (neso_compile_options.check), neso
     * makes a capsule whatever this function returns. NULL: no capsules. */
    int (*wants_capsule)(void *user, const char *kernel);
    /* neso calls this function with each capsule, both as the structure `seen` and as the contents `data` of
     * a file of `length` bytes, which live until the function returns. If the capsule could not be made,
     * `data` is NULL, and seen->text gives the reason. The launching thread calls this function and
     * wants_capsule. NULL: no capsules. */
    void (*capsule)(void *user, const neso_capsule *seen, const void *data, size_t length);
} neso_context_options;

/* Creates a context without a device, which suffices to compile. `options` may be NULL. Fails with NESO_OUT_OF_MEMORY
 * if there is no memory, and with NESO_INVALID if no version of the structure has the size options->size. */
NESO_API neso_status neso_context_create(const neso_context_options *options, neso_context **context);
NESO_API void neso_context_release(neso_context *context);

/* Chooses where kernels run: on a GPU ("cuda", or with a number, "cuda:1"), or on the CPU in the interpreter
 * ("interpreter", which executes the traced IR) or in the emulator ("emulator", which executes the PTX).
 * "best" or NULL chooses "cuda" if there is a driver and a GPU, else the interpreter. Fails with NESO_INVALID
 * while the context has modules. `cuda_context` is the CUcontext in which kernels run; it also determines the
 * GPU. If `cuda_context` is NULL, kernels run in the primary context of the named GPU. */
NESO_API neso_status neso_context_use_device(neso_context *context, const char *device, void *cuda_context);
/* neso_context_device returns the kind of the device ("cuda", "interpreter", "emulator", "none");
 * neso_context_device_text returns a description: "NVIDIA H200 (cuda:0, sm_90a)". */
NESO_API const char *neso_context_device(const neso_context *context);
NESO_API const char *neso_context_device_text(const neso_context *context);

/* -- bundles: kernels compiled earlier, in one file -- */

/* Makes the context read kernels, their variants (versions of a kernel for certain launches) and choices of
 * autotuning from a bundle (`length` bytes, which are copied) instead of compiling kernels. If the bundle
 * lacks a kernel or choice that a call needs, the call fails, and its message shows in which fields the
 * kernel or choice differs from the most similar entry. `name` names the bundle in messages. Fails with
 * NESO_INVALID while the context has modules, and if the bundle is damaged or another version of neso made
 * it. */
NESO_API neso_status neso_context_use_bundle(neso_context *context, const char *name, const char *text, size_t length);
/* Returns the kernels of the context's bundle as a module without a source. For such a module, neso_kernel_compile
 * accepts only the signatures in the bundle, which neso_module_variants lists. */
NESO_API neso_status neso_module_from_bundle(neso_context *context, neso_module **module);
/* Joins `count` texts into one bundle. Each text is a bundle (such as the NESO_TEXT_BUNDLE of a kernel), or the
 * record of a choice of autotuning. The result lives until the next call on the context. */
NESO_API neso_status neso_bundle_join(neso_context *context, const char *const *texts, const size_t *lengths,
                                      size_t count, const char **text, size_t *length);
/* Checks that the context's bundle has all kernels and choices of a record. If it lacks some, returns NESO_INVALID,
 * with a message for each missing kernel or choice. Also returns NESO_INVALID if the context has no bundle or the
 * record is malformed. */
NESO_API neso_status neso_bundle_check(neso_context *context, const char *record, size_t length);

/* -- errors -- */

typedef enum neso_severity { NESO_ERROR, NESO_WARNING, NESO_NOTE, NESO_HINT } neso_severity;

/* One message. A note or hint belongs to the last error or warning before it. The strings live until the next call on
 * the context. */
typedef struct neso_diagnostic {
    size_t size;
    neso_severity severity;
    char tag[48];        /* names the kind of message, in this and later versions: "shape-broadcast" */
    const char *message;
    const char *file;    /* the name of the source; NULL if the message has no location */
    uint32_t line, column, length; /* `line` and `column` count from 1; `column` and `length` count bytes; length 0:
                                    * unknown */
} neso_diagnostic;

/* Returns all messages of the last call on the context as text for a terminal; "" if there are none. A
 * successful call may have warnings. The text lives until the next call on the context. */
NESO_API const char *neso_error_text(neso_context *context);
/* Returns the driver's error number (CUresult) if the last status was NESO_DRIVER, else 0. */
NESO_API int neso_driver_code(const neso_context *context);
NESO_API size_t neso_diagnostic_count(const neso_context *context);
/* Sets *out to message number `index` (from 0) of the last call, and returns 1. Returns 0 if there is no such
 * message. The caller sets `out->size`. */
NESO_API int neso_diagnostic_get(const neso_context *context, size_t index, neso_diagnostic *out);
/* Returns all messages as a JSON array, which lives until the next call. */
NESO_API const char *neso_diagnostics_json(neso_context *context);

/* -- source to kernel -- */

/* Reads a Triton source (`length` bytes, which are copied). Of its top-level statements, executes only those
 * that kernels may need: imports, definitions, and assignments of values that neso can evaluate. `name` names
 * the source in messages. If `name` ends in ".ir", the text is neso's IR. */
NESO_API neso_status neso_module_from_source(neso_context *context, const char *name, const char *text, size_t length,
                                             neso_module **module);
/* A callback that returns the text of the module with this name ("helpers", "pkg.helpers"), which a source
 * imports, and sets *length to the number of its bytes. Returns NULL if there is no such module. For the
 * package `pkg`, neso asks for "pkg", then for "pkg.__init__". */
typedef const char *neso_find(void *user, const char *module, size_t *length);
/* Like neso_module_from_source, for a source that imports other files. The texts that `find` returns must stay valid
 * until neso_module_from_files returns. */
NESO_API neso_status neso_module_from_files(neso_context *context, const char *name, const char *text, size_t length,
                                            neso_find *find, void *user, neso_module **module);
NESO_API void neso_module_release(neso_module *module);
/* Returns the name of kernel number `index` of the module, in source order; NULL past the end. */
NESO_API const char *neso_module_kernel(const neso_module *module, size_t index);
/* Like neso_module_kernel, but skips helpers. A helper is a function that returns a value. A function that other
 * kernels call, and that the source does not launch, is also a helper. */
NESO_API const char *neso_module_entry(const neso_module *module, size_t index);

/* The texts that neso_kernel_text makes about a kernel. */
typedef enum neso_text {
    NESO_TEXT_AST = 1, /* the kernel's syntax tree */
    NESO_TEXT_IR,      /* the traced IR, without layouts */
    NESO_TEXT_OPT,     /* the IR after all passes, with layouts, layout conversions and barriers */
    NESO_TEXT_MIR,     /* PTX instructions on virtual registers */
    NESO_TEXT_PTX,
    NESO_TEXT_JSON,    /* the launch plan as JSON: the facts that a program needs to launch the PTX itself */
    NESO_TEXT_EXPLAIN, /* why the passes decided as they did */
    NESO_TEXT_RECORD,  /* the record of the kernel: see neso_context_options.record */
    NESO_TEXT_BUNDLE   /* a bundle that has this kernel, with all its variants */
} neso_text;

/* Returns the name of a text: "ast", "ir", ...; NULL for a number that is not a text. */
NESO_API const char *neso_text_name(neso_text text);

/* An explanation, which neso_compile_options.note receives: the reason for a decision of a pass, or a result
 * of code generation. */
typedef struct neso_note {
    size_t size;
    const char *pass;     /* the pass, "registers" for code generation, or "schedule" for the schedules of loops */
    /* the name of the decision (see `neso help decisions`); "line_registers" if `pass` is "registers" */
    const char *decision;
    /* The source location. `file` is the number of the file; 0: the module's source. `line` is 0 if there is
     * no location. */
    int file, line, column;
    /* Ranks the decisions that a pass can make at one location: a decision with a higher grade makes faster
     * code. 0: the pass had no choice; -1: the decision only simplifies the IR. */
    int grade;
    /* The first number in `text`. For "line_registers", this is the maximum number of live 32-bit registers in the
     * source line. */
    long long number;
    const char *text;     /* all strings of this struct live until the callback returns */
} neso_note;

/* The result of a check of a kernel: see `check` in neso_compile_options. */
typedef enum neso_verdict {
    NESO_CHECK_AGREES,
    NESO_CHECK_DIFFERS,
    NESO_CHECK_UNKNOWN /* no results were compared; `text` gives the reason */
} neso_verdict;

typedef struct neso_checked {
    size_t size;
    const char *kernel, *id;
    neso_verdict verdict;
    /* For NESO_CHECK_DIFFERS: `pass` is the pass or stage of code generation that causes the difference; if
     * several passes together cause it, `pass` is their list, separated by commas. `pass` is "select"
     * (instruction selection) if the difference remains whichever passes are left out. If warps or
     * asynchronous copies race, `pass` may also be "insert_barriers" or "warp_specialize", which cannot be
     * left out. Later launches use code that is compiled without the passes in `without`, a list separated by
     * commas; "": the code is unchanged. */
    const char *pass, *without;
    const char *text; /* the first difference, or why nothing was compared; lives until the callback returns */
    const char *file; /* the kernel's source; NULL: unknown */
    uint32_t line;       /* for a difference: where the emulator failed, or the kernel's line; otherwise 0 */
    int inputs;       /* the number of sets of inputs on which the results agreed */
    double milliseconds; /* processor time of the comparison, without the search for `pass` */
} neso_checked;

typedef struct neso_compile_options {
    size_t size;
    /* One entry for each parameter, separated by commas. An entry is
     * - a type: "i32", "u8", "fp32", "*fp16" (a pointer), or "*kfp16" (a pointer through which the kernel
     *   only reads). ":16" after a type promises that the argument is a multiple of 16 (for a pointer: of 16
     *   bytes), and ":1" promises that the argument is 1;
     * - a Python expression: the parameter is a constant with the value of the expression;
     * - the entries of a tuple's items, in parentheses: "(*fp32, (i32, None))". For a named tuple, the name
     *   of its class precedes the parentheses: "Matrix(*fp16:16, (i32, i32), stride=1)";
     * - a tensor descriptor that the host makes: "tensordesc<fp16[128, 64]>", or, if it pads with NaN,
     *   "tensordesc<fp16[128, 64], nan>". In "tensordesc<fp16[128, 64], - 16 16>", there is a word for each
     *   size and for each stride except the last: "16" promises a multiple of 16, and "-" promises nothing.
     * NAME=entry is the entry of the parameter NAME, or of a keyword of **META. A parameter without an entry
     * is a constant with its default value. An IR file contains its own signature, so `signature` is NULL for
     * it. */
    const char *signature;
    const char *target;  /* for example "sm_90a"; NULL: the device's target, or sm_90a if there is no device */
    int num_warps;       /* 0 means 4 */
    int num_stages;      /* 0 means 3 */
    int max_registers;   /* limit of the registers of a thread; 0: no limit */
    int no_fp_fusion;    /* 1: a * b + c rounds the product and the sum; 0: a * b + c may be a fused multiply-add */
    /* 1: every sum over an axis adds its elements in an order that depends only on the kernel's source, on
     * constants and on the length of the axis. So a row of a tensor gives the same result, whatever the grid,
     * the number of warps and the other arguments are. It is an error if the effect of an atomic depends on
     * the order in which programs run. */
    int deterministic;
    /* 1: the compiler may reassociate additions and multiplications of floats, which changes their rounding; NaN and
     * inf remain NaN and inf. For example, an online softmax then updates the maxima of its rows only when the
     * exponentials would become too large. Must be 0 if `deterministic` is 1. */
    int fp_reassoc;
    /* 1: the kernel checks its assertions, and checks that sums, differences and products of integers do not
     * overflow. 2: it checks only the assertions. 0: it checks nothing; but a kernel with
     * @triton.jit(debug=True) is compiled as for 1. */
    int debug;
    /* The compilation ends at the stage that makes this text. 0: it ends at the stage that the device needs,
     * or at NESO_TEXT_PTX if there is no device. */
    neso_text until;
    /* Options to inspect a compilation. Each is a list of passes separated by commas, or "all"; see `neso help
     * passes`. */
    const char *passes;      /* run only these passes */
    const char *skip;        /* skip these passes */
    const char *stop_after;
    const char *print_after; /* dump the IR after these passes */
    const char *explain;     /* explain the decisions of these passes */
    int print_changed;       /* dump only after passes that changed the IR */
    int verify_each;         /* check the IR after every pass */
    int verbose_ptx;         /* print a comment for each IR operation in the PTX */
    int time;                /* write the time of each pass */
    /* The compiler calls this function with `user` and each dump, explanation and list of times; `pass` names
     * the pass to which `text` belongs. NULL: the texts are discarded. */
    void (*write)(void *user, const char *pass, const char *text, size_t length);
    void *user;
    /* "NAME=VALUE,NAME=VALUE": values of optimization thresholds that replace the defaults, for experiments.
     * See `neso help params`. */
    const char *params;
    /* The compiler calls this function with `user` and each explanation. NULL: the compiler passes the text of the
     * explanations to `write` instead. */
    void (*note)(void *user, const neso_note *note);
    /* 1: before the first launch, neso compares the results of the PTX in the emulator with the results of
     * the traced IR in the interpreter. It compares them on the launch's inputs and on random inputs, for
     * some programs of the grid. If the results differ, all launches use code that is compiled without the
     * pass that causes the difference. The launching thread calls `checked` with the result. 2: neso compares
     * on the launch's inputs only, but for all programs of the grid, however long this takes. 0: no
     * comparison. */
    int check;
    void (*checked)(void *user, const neso_checked *result);
} neso_compile_options;

/* Compiles one kernel. `name` may be NULL if the module has only one kernel apart from helpers
 * (neso_module_entry). For an IR file, if options->until is NESO_TEXT_IR or NESO_TEXT_OPT, NULL means all
 * kernels. */
NESO_API neso_status neso_kernel_compile(neso_module *module, const char *name, const neso_compile_options *options,
                                         neso_kernel **kernel);
/* Sets *text to a list of signatures, one on each line. They are made from options->signature: each entry
 * without a promise gets :1, :16 or nothing, in every combination. For given arguments, the first signature
 * in the list whose promises hold gives the fastest kernel. The module owns the string. */
NESO_API neso_status neso_module_variants(neso_module *module, const char *name, const neso_compile_options *options,
                                          const char **text);
NESO_API void neso_kernel_release(neso_kernel *kernel);

/* Sets *out to options with which neso_kernel_compile makes the same kernel: signature, target, num_warps,
 * num_stages, max_registers, no_fp_fusion, deterministic, fp_reassoc and debug. The other members are 0. The
 * caller sets `out->size`. `out->signature` is NULL if no signature can describe an argument, for example a
 * named tuple, a function, or a descriptor with a size of 1. */
NESO_API neso_status neso_kernel_options(neso_kernel *kernel, neso_compile_options *out);

NESO_API const char *neso_kernel_name(const neso_kernel *kernel);
/* Returns a name of this specialization that is suitable as a file name: the kernel's name, and a hash of the
 * name, signature, options and target as 16 hexadecimal digits. For a kernel of neso_module_from_bundle, it
 * is only the kernel's name. */
NESO_API const char *neso_kernel_id(const neso_kernel *kernel);
/* Sets *text to the text `which` about the kernel. The first call for a text makes it; the kernel owns it.
 * `length` may be NULL. */
NESO_API neso_status neso_kernel_text(neso_kernel *kernel, neso_text which, const char **text, size_t *length);

typedef struct neso_resources {
    size_t size;
    int num_warps, num_threads; /* warps that compute, and all threads, of a program instance */
    int shared_bytes;           /* dynamic shared memory of a program instance */
    int ptx_version;            /* the lowest PTX ISA version that the PTX needs: 80 is 8.0 */
    int live_registers;         /* maximum number of live 32-bit registers, as neso counts them */
    int registers;              /* registers of a thread after assembly; -1: not loaded on a GPU */
    int local_bytes;            /* local memory (spills) of a thread after assembly; -1: not loaded on a GPU */
    double trace_seconds, opt_seconds, codegen_seconds; /* times of the stages of the compilation */
} neso_resources;

/* Sets *out to the resources of the kernel. The caller sets `out->size`. `registers` and `local_bytes` are known
 * after neso_kernel_load or a launch. */
NESO_API neso_status neso_kernel_resources(neso_kernel *kernel, neso_resources *out);

/* A parameter for which a launch passes a value. There is one for each type in the signature, in order. The name of a
 * tuple's item is the tuple's name with the item's index or field ("x_0", "x_stride"). A descriptor has several
 * parameters: its address, its sizes, and its strides except the last. */
typedef struct neso_param {
    size_t size;
    const char *name;
    const char *type;   /* for example "*fp32" or "i32" */
    int bytes;          /* size of the value: 1, 2, 4 or 8 */
    int divisible;      /* 16: the value is promised to be a multiple of 16; 1: no promise */
    int equals_one;     /* the value is promised to be 1 */
    int written;        /* 1: the parameter is a pointer through which the kernel may write */
} neso_param;

NESO_API size_t neso_kernel_param_count(const neso_kernel *kernel);
/* Sets *out to parameter number `index`. Returns 0 if there is no such parameter. The caller sets `out->size`. */
NESO_API int neso_kernel_param(const neso_kernel *kernel, size_t index, neso_param *out);

/* -- launching -- */

/* The message of a failed launch, without a newline at its end: "scale.py:6:29: error: access out of bounds in program
 * (3, 0, 0): ... [out-of-bounds]". A message that concerns no source line, such as one about a wrong argument, does
 * not begin with a location. */
typedef struct neso_error {
    size_t size;
    neso_status status;
    int driver_code; /* CUresult, if the status is NESO_DRIVER */
    char message[496];
} neso_error;

/* Loads the kernel on the context's device now instead of at its first launch; on a GPU, the driver also assembles the
 * kernel. */
NESO_API neso_status neso_kernel_load(neso_kernel *kernel);

/* The machine code of one PTX text of a kernel: a cubin, as ptxas writes it. */
typedef struct neso_code {
    size_t size;
    const char *ptx_digest; /* the SHA-256 of the PTX text: 64 hexadecimal digits */
    const void *code;
    size_t length;
} neso_code;

/* Like neso_kernel_load, but any thread may call this function, it reports a failure in `error` (which may be
 * NULL), and it uses `count` machine codes, which it copies. When neso loads a PTX text of the kernel, or of
 * a variant that a later launch needs, the driver loads the machine code that has the text's digest. The
 * driver assembles the text only if there is no such code, or if the driver refuses the code. If an earlier
 * call gave codes, `codes` is ignored. */
NESO_API neso_status neso_kernel_load_code(neso_kernel *kernel, const neso_code *codes, size_t count,
                                           neso_error *error);

/* Starts grid[0] x grid[1] x grid[2] program instances on `stream` (a CUstream; NULL: the default stream), and returns
 * without waiting for them. On the interpreter and the emulator, all instances have finished when the function
 * returns. args[i] points to the value of parameter i, as for cuLaunchKernel; neso_kernel_param gives its size. The
 * value of a pointer parameter is a device address. If an argument violates a promise of the signature, returns
 * NESO_INVALID. A launch whose grid contains a 0 does nothing. `error` may be NULL. Any thread may call this function.
 * If the kernel needs tensor maps of matrices whose row pitch is not a multiple of 16 bytes, the call first copies
 * these matrices, in stream order, to memory from a pool that the device keeps. */
NESO_API neso_status neso_launch(neso_kernel *kernel, const uint32_t grid[3], void *stream, const void *const *args,
                                 neso_error *error);

/* Options of one launch on a GPU. On a CPU, the options are checked and have no effect. */
typedef struct neso_launch_options {
    size_t size;
    /* 1: all program instances must be on the GPU at the same time, so that they may wait for each other; the launch
     * fails if the grid is too large for this. */
    int cooperative;
    int priority; /* the priority of the launch's blocks, as for cuStreamCreateWithPriority; lower numbers run first */
} neso_launch_options;

/* Like neso_launch, with options; `options` may be NULL. */
NESO_API neso_status neso_launch_with(neso_kernel *kernel, const uint32_t grid[3], void *stream,
                                      const void *const *args, const neso_launch_options *options, neso_error *error);

/* Sets *function to the driver's function (CUfunction) of the kernel, for CUDA graphs and for launches that the caller
 * makes through the driver. Each block must have neso_resources.num_threads threads and shared_bytes of dynamic shared
 * memory. The arguments are those of neso_launch, without the arguments that the signature promises to be 1.
 * Returns NESO_INVALID if each launch of the kernel must make tensor maps, check guards (conditions on the
 * arguments) or set a persistent grid. For such a kernel, capture a call of neso_launch into the graph; this
 * works for every kernel. Returns NESO_NO_DEVICE if the device is not a GPU. */
NESO_API neso_status neso_kernel_function(neso_kernel *kernel, void **function);

/* Sets the function that receives the output of kernels that neso_launch runs on a CPU. The function also receives the
 * output of tl.static_print while a kernel is compiled (but not if the kernel comes from the cache). The launching or
 * compiling thread calls it. NULL (the default) discards the output. If a kernel runs on a GPU, the driver writes the
 * kernel's output to standard output instead. */
NESO_API void neso_context_on_print(neso_context *context, void (*write)(void *user, const char *text, size_t length),
                                    void *user);

/* These functions allocate, release, write and read memory of the context's device, for callers that have no other
 * access to this memory. The device memory of the interpreter and the emulator is memory of this process. A write or
 * read begins after earlier launches on the default stream have ended, and has finished when its function returns. */
NESO_API neso_status neso_memory_allocate(neso_context *context, size_t bytes, uint64_t *address);
NESO_API neso_status neso_memory_release(neso_context *context, uint64_t address);
/* Lets kernels access memory of the caller until neso_memory_release(address), which does not free such memory. On a
 * CPU, kernels may access only memory from neso_memory_allocate and memory for which this function was called.
 * Returns NESO_INVALID if the memory overlaps memory that the device already has. On a GPU the function has no effect,
 * because the driver decides which memory kernels may access. */
NESO_API neso_status neso_memory_lend(neso_context *context, uint64_t address, size_t bytes);
NESO_API neso_status neso_memory_write(neso_context *context, uint64_t address, const void *from, size_t bytes);
NESO_API neso_status neso_memory_read(neso_context *context, void *to, uint64_t address, size_t bytes);
/* Waits for all launches on the stream, and reports their errors. */
NESO_API neso_status neso_synchronize(neso_context *context, void *stream);

/* -- capsules: one launch in a file -- */

/* The outcome of a launch. */
typedef enum neso_seen {
    NESO_SEEN_RESULT,     /* the launch succeeded; neso_capsule_buffer.after has the contents of memory after it */
    NESO_SEEN_FAULT,      /* the launch failed, with the error that neso_capsule.tag names */
    NESO_SEEN_DIFFERENCE, /* the PTX in the emulator and the traced IR in the interpreter gave different results */
    NESO_SEEN_REFUSED     /* the kernel does not compile, or an argument breaks a promise of the signature */
} neso_seen;

typedef struct neso_capsule_file {
    /* for the first file, its name ("softmax.py" or "softmax.ir"); for another file, the name of the imported module
     * ("pkg.helpers") */
    const char *name;
    const char *text;
    size_t length;
} neso_capsule_file;

/* Memory into which arguments point. */
typedef struct neso_capsule_buffer {
    const char *name; /* the name of the first argument that points into the buffer */
    size_t bytes;
    size_t skew;      /* the buffer's address modulo 256 */
    const unsigned char *before, *after; /* contents before and after the launch; `after` is NULL if unknown */
} neso_capsule_buffer;

typedef struct neso_capsule_argument {
    const char *name, *type; /* as in neso_param; arguments that the signature promises to be 1 are left out */
    int buffer;       /* the number of the buffer that a pointer points into; -1: none */
    /* the value of the argument, in the low bytes; for a pointer into a buffer, the offset from the buffer's start */
    uint64_t value;
} neso_capsule_argument;

/* A kernel with all data that is needed to repeat one of its launches, and the outcome of that launch. A caller may
 * copy this structure, change the copy and run it (neso_capsule_run). Strings are never NULL. */
struct neso_capsule {
    size_t size;
    const char *kernel, *signature, *target, *params, *skip; /* as in neso_compile_options, with "" in place of NULL */
    int num_warps, num_stages, max_registers, no_fp_fusion, deterministic, fp_reassoc, debug;
    uint32_t grid[3];
    int64_t programs;   /* the number of programs that ran, spread over the grid; 0: all */
    const char *device; /* the device of the launch, as neso_context_device_text returns it */
    neso_seen seen;
    /* for a fault, the error's tag and message; for a difference between PTX and traced IR, `text` describes the
     * first element that differs */
    const char *tag, *text;
    const char *pass, *without; /* for a difference: as in neso_checked */
    uint32_t line;              /* the line of the fault or of the kernel, in the first file; 0: unknown */
    const neso_capsule_file *files;
    size_t file_count;
    const neso_capsule_argument *arguments;
    size_t argument_count;
    const neso_capsule_buffer *buffers;
    size_t buffer_count;
};

/* Launches the kernel as neso_launch does, waits for it, and returns the status of the launch. If the launch
 * succeeds or ends with a fault, calls `write` once: `seen` is the capsule of the launch, and `data` is this
 * capsule as a file of `length` bytes. Both live until `write` returns. `data` is NULL if there is no memory
 * for the capsule, or if the contents of the tensors cannot be read from the device; seen->text gives the
 * reason. `write` is not called
 * - if the grid is empty,
 * - if an argument breaks a promise of the signature (NESO_INVALID), or the kernel has more parameters than a launch
 *   can pass,
 * - if the launch runs out of memory (NESO_OUT_OF_MEMORY), is cancelled, or exceeds a limit of time or steps,
 * - if there is no memory even to list the arguments; the kernel is launched nevertheless.
 * For a kernel that cannot be loaded, `write` may or may not be called. neso_capsule_launch fails with
 * NESO_INVALID, without a launch, if the context has no callbacks `wants_capsule` and `capsule`, if the
 * context uses a bundle, or if the kernel calls host code. */
NESO_API neso_status neso_capsule_launch(neso_kernel *kernel, const uint32_t grid[3], void *stream,
                                         const void *const *args,
                                         void (*write)(void *user, const neso_capsule *seen, const void *data,
                                                       size_t length),
                                         void *user, neso_error *error);
/* Calls `write` with the capsule as the contents of a file. Fails only with NESO_OUT_OF_MEMORY. */
NESO_API neso_status neso_capsule_write(neso_context *context, const neso_capsule *capsule,
                                        void (*write)(void *user, const void *data, size_t length), void *user);
/* Reads a capsule from a file's contents; `name` names the file in messages. Returns NESO_INVALID if the file is not
 * a capsule, is incomplete, or was changed. The caller releases the capsule. */
NESO_API neso_status neso_capsule_read(neso_context *context, const char *name, const void *data, size_t length,
                                       neso_capsule **capsule);
NESO_API void neso_capsule_release(neso_capsule *capsule);

typedef struct neso_replay {
    size_t size;
    int same;             /* 1: the outcome is the same as the outcome that the capsule records */
    neso_seen seen;
    /* as in neso_capsule; if a result differs from the recorded result, `text` shows where */
    const char *tag, *text, *pass, *without;
    uint32_t line;
    neso_verdict verdict; /* the result of the check; NESO_CHECK_UNKNOWN if there was no check */
    const char *why;      /* for NESO_CHECK_UNKNOWN: why nothing was compared */
} neso_replay;

/* Compiles the capsule's kernel and launches it on the context's device. If `check` is 1, or if the capsule records a
 * difference, first compares emulator and interpreter as neso_compile_options.check = 2 does, and finds the pass that
 * causes a difference. The strings in *out live until the next call on the context. Returns NESO_OK whatever the
 * outcome of the launch, unless there is no device or no memory. */
NESO_API neso_status neso_capsule_run(neso_context *context, const neso_capsule *capsule, int check, neso_replay *out);

/* -- costs of launches -- */

/* Starts to count the costs of launches. Returns NESO_NO_DEVICE if the device is not the emulator. If
 * `programs` is not 0, each launch runs only `programs` program instances, which are spread over its grid.
 * The results of the program instances that do not run are then missing. */
NESO_API neso_status neso_counts_start(neso_context *context, int64_t programs);

/* One count, summed over all launches of a kernel since neso_counts_start. The count is the same on every machine. */
typedef struct neso_count {
    size_t size;
    const char *kernel, *id; /* as neso_kernel_name and neso_kernel_id return them; the id of a variant is
                              * "ID-without-PASSES" */
    const char *file;        /* file of the source line */
    uint32_t line;           /* 0: the count is for the whole kernel, and `file` is NULL */
    const char *name;        /* "global_sectors": see `neso help counts` */
    uint64_t value;
} neso_count;

/* Calls `each` for every count. The kernels are in the order of their first launch. For each kernel, the counts of the
 * whole kernel come first, then the nonzero counts of its lines, in the order of the lines. If counting was not
 * started, makes no calls. The strings live as long as the device. */
typedef void neso_counts_fn(void *user, const neso_count *count);
NESO_API void neso_counts_each(neso_context *context, neso_counts_fn *each, void *user);

/* -- whole programs -- */

/* How often neso runs the calls that a program times (triton.testing.do_bench). */
typedef enum neso_timing {
    NESO_TIMING_PROGRAM, /* as often as the program specifies */
    /* One run of each call, which compiles its kernels but does not launch them. This mode is for a CPU, on which
     * times are meaningless. */
    NESO_TIMING_COMPILE,
    NESO_TIMING_ONCE,    /* one run of each call */
    /* Warm-up until the times are stable, then enough runs to compare the times of two builds of neso. */
    NESO_TIMING_STABLE,
    /* Like NESO_TIMING_STABLE, but also times launches that the program does not time. If several launches
     * have the same kernel, source location and grid, only the first is timed. After the timing, the launch's
     * tensors have the contents that a single launch gives them. */
    NESO_TIMING_LAUNCHES
} neso_timing;

/* The times of one timed call. The struct lives until the callback returns. */
typedef struct neso_measurement {
    size_t size;
    const char *name;  /* The line of a report: "matmul/N=1024/Triton". NULL: the call belongs to no report. */
    const char *file;  /* source location of the call */
    uint32_t line;
    neso_kernel *const *kernels; /* kernels that the call launches (at most 16) */
    size_t kernel_count;
    const double *times_ms; /* times of single calls, in order of measurement */
    size_t count;
} neso_measurement;

/* The callback neso_run_options.save returns this value for a path to which programs must not write. */
#define NESO_SAVE_OUTSIDE 2

/* What neso has proven about the accesses of one load, store or atomic of a kernel in one launch. The struct and its
 * texts live until the callback returns. */
typedef struct neso_access {
    size_t size;
    const char *kernel;
    const char *kind;   /* "load", "store" or "atomic" */
    const char *tensor; /* the parameter from which the address is computed; NULL: unknown */
    const char *file;   /* NULL: unknown */
    uint32_t line, column;
    /* 1: every access is within the tensor in this launch, and in every launch that fulfils the conditions in
     * `bounds`; `bounds` also names the elements that are accessed. 0: this is not proven; `bounds` gives the
     * reason. */
    int in_bounds;
    const char *bounds;
    /* 1: no two programs of the launch race through this op. Two programs race if they access the same element, at
     * least one of them writes it, and at least one access is not atomic. 0: this is not proven. In both
     * cases, `programs` gives the reason. */
    int apart;
    const char *programs;
    int ran; /* 1: the interpreter, which checks every access, has executed the launch without an error */
} neso_access;

typedef struct neso_run_options {
    size_t size;
    int argc; /* arguments of the program; argv[0] is its name */
    const char *const *argv;
    /* The program's output is passed to this function. NULL: the output is discarded. */
    void (*write)(void *user, const char *text, size_t length, int to_stderr);
    /* Returns the value of an environment variable that the program reads. If getenv is NULL, no variable is
     * set. neso itself reads three variables at the start: if TRITON_DEBUG is true (such as "1"), kernels are
     * compiled with `debug` = 1, and if NESO_DETERMINISTIC or NESO_FP_REASSOC is true, the default of
     * `deterministic` or `fp_reassoc` is 1 (neso_compile_options). For the program, TRITON_INTERPRET is true
     * (such as "1") if and only if the device is the interpreter. */
    const char *(*getenv)(void *user, const char *name);
    /* Finds imported files. Their texts must stay valid until the run ends. NULL: the program cannot import files. */
    neso_find *find;
    /* neso calls this function for each compiled kernel before its first launch. The function may request texts of the
     * kernel, and must not release the kernel. */
    void (*compiled)(void *user, neso_kernel *kernel);
    void *user;
    /* Writes a file of the program (a table or plot), or a file in which neso stores data for later runs. Returns 0
     * on success, and NESO_SAVE_OUTSIDE if the program must not write to this path. The callback must check
     * `path`, which comes from the program and may contain "..": neso does not check it. If save is NULL, the
     * program can write no files. */
    int (*save)(void *user, const char *path, const char *text, size_t length);
    /* Returns the text of a file that `save` wrote, or NULL if there is none. The text must stay valid until the next
     * call of this function. */
    const char *(*load)(void *user, const char *path, size_t *length);
    /* The folder for choices of autotuning, which neso writes with `save` and reads with `load`. NULL: choices are not
     * stored. */
    const char *cache;
    /* 0: a program that sets os.environ['TRITON_INTERPRET'] = '1' changes the context's device to the interpreter. 1:
     * such a program does not change the device. */
    int keep_device;
    /* A breakpoint for the interpreter. "FILE:LINE" stops the first program instance that reaches this line;
     * "FILE:LINE@3" or "FILE:LINE@1,2,0" stops the program instance with this index in the grid. NULL: stop only at
     * breakpoint() in the kernel. */
    const char *break_at;
    /* The part of a launch in which neso looks for races between program instances. 0: in the interpreter, during the
     * first 0.1 s (approximately) of processor time; 1: never; 2: in the interpreter and the emulator, during the
     * whole launch. */
    int races;
    /* Shows the prompt, and returns a command for the debugger; the string must stay valid until the next
     * call of this function. Returns NULL if the input has ended. */
    const char *(*ask)(void *user, const char *prompt);
    neso_timing timing;
    /* neso calls this function for each timed call that launched a kernel. May be NULL. */
    void (*measured)(void *user, const neso_measurement *m);
    const char *skip; /* passes to leave out when compiling kernels; see `neso help passes` */
    const char *params; /* as in neso_compile_options, for all kernels */
    /* 1: for a launch, neso compiles the kernel, calls `compiled`, and executes nothing. Assertions of the
     * host code never fail, and the program continues after a kernel that does not compile. */
    int compile_only;
    /* As in neso_compile_options, for all kernels. If `checked` is NULL, neso reports a difference as a warning. */
    int check;
    void (*checked)(void *user, const neso_checked *result);
    /* On the interpreter, neso follows floats from op to op. 1: if an op makes a NaN or inf from finite numbers, and
     * this NaN or inf is stored to memory, the launch ends with an error that shows the op and its operands. 2: neso
     * compares stored results with a computation in f64. If a result lost more than `trace_bits` bits (0: half of the
     * bits of its type), neso warns of the op at which the loss began. */
    int trace, trace_bits;
    /* neso calls this function after each launch, outside of benchmarks, with a line of text: the kernel's name, the
     * grid, and NAME=DIGEST for each tensor. A digest is the first 16 hexadecimal digits of the SHA-256 of the bytes
     * from the tensor's first element to its last one. So if two launches have equal lines, their tensors have equal
     * bits. To compute the digests, neso waits for each launch and copies its tensors to the host. May be NULL. */
    void (*launched)(void *user, const char *line);
    /* On the interpreter, neso calls this function after each launch, for each load, store and atomic of the kernel.
     * The proofs assume that index arithmetic does not overflow and that divisors are positive. May be NULL. */
    void (*accessed)(void *user, const neso_access *access);
    /* 1: on the interpreter, the debugger also stops at an operation that makes a NaN. It does so at most
     * once for each operation of a kernel. */
    int break_nan;
} neso_run_options;

/* Runs a program: executes its host code, and launches its kernels on the context's device. Returns NESO_FAILED if the
 * program raised an exception, or exited with a status other than 0. Returns NESO_OUT_OF_MEMORY if the program
 * exceeded a limit or the allocator returned NULL, unless the program caught this as an exception. Returns
 * NESO_INVALID if the source is not a valid program. */
NESO_API neso_status neso_program_run(neso_context *context, const char *name, const char *text, size_t length,
                                      const neso_run_options *options);

/* -- tables, limits of targets, GPUs -- */

/* Sets *text to a table of the language or compiler, which lives until the next call on the context. Topics
 * are "ops", "passes", "params", "insns", "errors", "targets", "language", "counts", "decisions". The column
 * of meanings in the tables of ops, params and insns is printed only by the command `neso help`. */
NESO_API neso_status neso_help(neso_context *context, const char *topic, const char **text);
/* Returns the name of topic number `index`; NULL past the end. */
NESO_API const char *neso_help_topic(size_t index);

/* Resource limits of a target. */
typedef struct neso_limits {
    size_t size;
    int shared_bytes;                     /* maximum shared memory of a program instance */
    int registers;                        /* maximum number of registers of a thread */
    int sm_shared_bytes, sm_registers;    /* resources of a multiprocessor */
    int sm_threads, sm_programs;
} neso_limits;

/* Sets *out to the resource limits of a target. Returns 0 if there is no such target. The caller sets `out->size`. */
NESO_API int neso_target_limits(const char *target, neso_limits *out);

typedef struct neso_gpu {
    size_t size;
    char name[128];
    int major, minor;     /* the GPU's compute capability */
    const char *target;   /* the target for which neso compiles on this GPU; NULL if neso has none */
    uint64_t memory_bytes;
    int multiprocessors;
    int clock_khz; /* the maximum clock rate of a multiprocessor */
} neso_gpu;

/* Looks for the driver and its GPUs. On NESO_OK, *driver_version is the driver's version (13000 for 13.0), and *gpus
 * the number of GPUs. If the status is NESO_NO_DEVICE or NESO_DRIVER, neso_error_text returns a message that names
 * what is missing. */
NESO_API neso_status neso_find_gpus(neso_context *context, int *driver_version, int *gpus);
/* Sets *out to a description of GPU number `index`. The caller sets `out->size`. Fails with NESO_NO_DEVICE if there
 * is no driver or no such GPU. */
NESO_API neso_status neso_gpu_get(neso_context *context, int index, neso_gpu *out);

#ifdef __cplusplus
}
#endif

#endif
