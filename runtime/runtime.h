/* runtime.h: the objects behind neso.h, and what the files of this room ask of each other.
 *
 *     context ◄── module: source, syntax tree, evaluator ◄── kernel: IR, PTX, loaded code
 *                    ▲
 *                 program: a module whose host part runs, with the kernels that it launched
 *
 * A module's memory is one arena; a kernel adds two of its own. Everything that may unwind runs under guard(), the
 * one setjmp of the library.
 */
#ifndef NESO_RUNTIME_RUNTIME_H
#define NESO_RUNTIME_RUNTIME_H

#include "codegen/codegen.h"
#include "frontend/frontend.h"
#include "runtime/device.h"

#include <pthread.h>

enum { TEXT_count = NESO_TEXT_JSON + 1 };

struct neso_context {
    int refs; /* the user's, and one for each module */
    struct memory mem;
    size_t memory_limit, source_limit;
    int64_t step_limit;
    struct device device;
    /* What the last call left: messages of a module (which is kept for them), or a fault. */
    struct neso_module *reported;
    struct fault fault;
    struct arena answers; /* texts of the last call */
};

struct neso_module {
    int refs; /* the user's, and one for each kernel */
    struct neso_context *context;
    struct arena arena;
    struct diag diag;
    struct interner strings;
    struct eval eval;
    const struct source *source;
    bool is_ir;
    struct obj *object; /* the Python module; NULL for IR */
    struct module *ir;  /* the IR file, for its kernels' names */
};

/* A kernel and what it was compiled for. Made on the context's thread; launched by any. */
struct neso_kernel {
    int refs; /* the user's, and the program's cache's */
    struct neso_module *module;
    struct arena arena, scratch;
    struct module ir;
    const char *name, *id;
    struct obj *jit; /* NULL: from an IR file */
    struct spec spec;
    struct neso_compile_options options; /* strings copied */
    struct func *func;  /* as far as `made` */
    bool traced_only;   /* func stays as traced, for a device that runs it so */
    struct {
        const char *s;
        size_t len;
    } texts[TEXT_count]; /* s NULL: not made yet */
    struct ptx_info info;
    struct neso_param *params; /* one per type in the signature */
    int nparams;
    double seconds[3];  /* trace, opt, codegen */
    /* Loaded code; `lock` guards loading. */
    pthread_mutex_t lock;
    struct device *device;
    void *_Atomic loaded;
};

/* -- api.c -- */

/* Runs body(arg) where it may unwind; what it reported stays in m's diag. */
neso_status guard(struct neso_module *m, void (*body)(void *), void *arg);
struct neso_module *module_new(struct neso_context *c);
void module_drop(struct neso_module *m);
/* For a call on c: forgets what the last one left; then keeps what m has to say, or a fault. */
void report_begin(struct neso_context *c);
neso_status report_module(struct neso_context *c, struct neso_module *m, neso_status status);
neso_status report_fault(struct neso_context *c, const struct fault *f);

/* -- compile.c: spec to texts; under guard, errors in diag -- */

/* A kernel for k->spec, name, jit and options filled by the caller, traced, and compiled as far as options.until. NULL: errors. */
struct neso_kernel *kernel_new(struct neso_module *m);
bool kernel_build(struct neso_kernel *k);
const char *kernel_text(struct neso_kernel *k, neso_text which, size_t *len);
void kernel_drop(struct neso_kernel *k);

/* -- signature.c -- */

/* Fills k->spec and k->params from the signature. */
bool signature_read(struct neso_kernel *k, const char *signature);
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
int jit_rules(struct eval *e, struct jit *jit, struct param_rule **rules);

/* -- launch.c -- */

bool kernel_load(struct neso_kernel *k, struct device *d, struct fault *f);
/* args: one value per parameter of k->params. */
bool kernel_launch(struct neso_kernel *k, const struct launch *l, struct fault *f);
/* kernel[grid](...) of a host program: binds, specializes, compiles what is not in p->kernels yet, launches. */
struct obj *launch_call(void *program, struct eval *e, struct obj *jit, struct obj *grid, const struct args *args);

/* -- program.c -- */

/* A tensor-like object, as a kernel sees it. */
struct pointer {
    const struct lang_type *elem;
    uint64_t address;
};

struct program {
    struct neso_context *context;
    struct neso_module *module;
    struct device *device;
    const struct neso_run_options *options;
    struct host host;
    struct map kernels; /* specialization's key to struct neso_kernel * */
    /* host.c's: is x tensor-like? */
    bool (*as_pointer)(struct eval *e, struct obj *x, struct pointer *out);
    void *lent; /* host.c's own */
};

/* Raises a device's refusal as the program's RuntimeError, noting the kernel's place where it is known. */
_Noreturn void program_raise(struct eval *e, struct loc at, const struct fault *f);

/* -- host.c -- */

/* Sets p->host.import and jit_attr, p->as_pointer and p->lent; program.c sets the rest. Whatever lives on the device and was
 * not freed goes with host_close, after the program's end, however it ended. */
void host_open(struct program *p);
void host_close(struct program *p);

/* -- help.c -- */
bool help_write(const char *topic, struct text *out);
const char *help_topic(size_t i);

#endif
