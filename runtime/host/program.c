/* SPDX-License-Identifier: MIT */
/* program.c: runs a whole program: the evaluator runs the host code, the device runs kernels, and the
 * caller's callbacks (neso_run_options) provide output, environment and imported files. specialize.c
 * implements launches, and host.c provides torch and other modules. */
#include "runtime/runtime.h"

#include <string.h>
#include <strings.h>
#include <time.h>

/* -- services for host code -- */

static void host_write(void *ctx, const char *s, size_t n, bool to_stderr)
{
    struct program *p = ctx;
    if (p->options.write)
        p->options.write(p->options.user, s, n, to_stderr);
}

/* Returns whether Triton reads this value of an environment variable as true. */
static bool is_on(const char *value)
{
    static const char *const words[] = {"1", "y", "on", "yes", "true"};
    for (size_t i = 0; value && i < sizeof words / sizeof *words; i++)
        if (strcasecmp(value, words[i]) == 0)
            return true;
    return false;
}

/* Returns the value of an environment variable; NULL if it is not set. The value of TRITON_INTERPRET is
 * always true (is_on) if the device is the interpreter, and never otherwise, whatever value the caller's
 * variable has. */
static const char *host_getenv(void *ctx, const char *name)
{
    struct program *p = ctx;
    const char *value = p->options.getenv ? p->options.getenv(p->options.user, name) : NULL;
    if (strcmp(name, "TRITON_INTERPRET") != 0)
        return value;
    if (p->device->class->takes_ptx)
        return is_on(value) ? NULL : value;
    return is_on(value) ? value : "1";
}

static void host_setenv(void *ctx, struct eval *e, const char *name, const char *value, struct loc at)
{
    struct program *p = ctx;
    if (strcmp(name, "TRITON_INTERPRET") == 0 && is_on(value) && !p->options.keep_device)
        host_interpret(p, e, at);
    if (strcmp(name, "TRITON_DEBUG") == 0)
        p->debug = is_on(value);
    if (strcmp(name, "NESO_DETERMINISTIC") == 0)
        p->deterministic = is_on(value);
    if (strcmp(name, "NESO_FP_REASSOC") == 0)
        p->fp_reassoc = is_on(value);
}

static int64_t host_nanoseconds(void *ctx, enum host_clock clock)
{
    static const clockid_t clocks[] = {[CLOCK_wall] = CLOCK_REALTIME,
                                       [CLOCK_steady] = CLOCK_MONOTONIC,
                                       [CLOCK_processor] = CLOCK_PROCESS_CPUTIME_ID};
    struct timespec t;
    (void)ctx;
    clock_gettime(clocks[clock], &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Returns the file name that messages show for a module: "pkg/helpers.py" for "pkg.helpers". */
static const char *file_name(struct arena *a, const char *module)
{
    struct text t;
    text_init(&t, a);
    for (const char *s = module; *s; s++)
        text_char(&t, *s == '.' ? '/' : *s);
    text_str(&t, ".py");
    return t.s;
}

static const struct source *host_find_source(void *ctx, struct eval *e, const char *module)
{
    struct program *p = ctx;
    return program_find_source(e, p->options.find, p->options.user, module, p->context->source_limit);
}

const struct source *program_find_source(struct eval *e, neso_find *find, void *user, const char *module,
                                         size_t limit)
{
    size_t length = 0;
    const char *text = find ? find(user, module, &length) : NULL;
    if (find && !text) {
        struct text package;
        text_init(&package, e->arena);
        text_printf(&package, "%s.__init__", module);
        text = find(user, module = package.s, &length);
    }
    if (!text)
        return NULL;
    if (length > limit)
        eval_raise(e, (struct loc){0}, "ImportError", ERR_import_source, module, (int64_t)length,
                   (int64_t)limit);
    return diag_add_source(e->diag, file_name(e->arena, module), text, length);
}

void program_raise(struct eval *e, struct loc at, const struct fault *f)
{
    char text[sizeof f->detail + 200];
    if (budget_ends(f->error))
        diag_fatal(e->diag, f->loc.line ? f->loc : eval_place(e, at), f->error, f->detail);
    fault_text(f, text, sizeof text);
    if (f->loc.line)
        diag_error(e->diag, f->loc, f->error, f->detail);
    enum error error = f->error == ERR_steps             ? ERR_steps
                       : f->status == NESO_OUT_OF_MEMORY ? ERR_launch_memory
                                                         : ERR_launch_failed;
    eval_raise(e, at, "RuntimeError", error, error == ERR_steps ? f->detail : text);
}

/* -- running -- */

struct running {
    struct program *program;
    const char *name, *text;
    size_t length;
    bool failed;
};

static void run(void *arg)
{
    struct running *r = arg;
    struct program *p = r->program;
    struct neso_module *m = p->module;
    if (!params_read(&p->thresholds, p->options.params, &m->diag) ||
        !module_add_source(m, r->name, r->text, r->length))
        return;
    map_init(&p->callees, &m->arena);
    map_init(&p->traced, &m->arena);
    map_init(&p->kernels, &m->arena);
    /* makes the arena allocate its first chunk, which stays allocated when the arena is reset */
    arena_alloc(&p->scratch, 1);
    p->empty = arena_mark(&p->scratch);
    p->host = (struct host){.ctx = p,
                            .find_source = host_find_source,
                            .launch = launch_call,
                            .write = host_write,
                            .getenv = host_getenv,
                            .setenv = host_setenv,
                            .nanoseconds = host_nanoseconds,
                            .breakpoint = call_breakpoint,
                            .assertions_hold = p->options.compile_only,
                            .argc = p->options.argc,
                            .argv = p->options.argv};
    p->is_dry = p->options.compile_only;
    p->debug = is_on(host_getenv(p, "TRITON_DEBUG"));
    p->deterministic = is_on(host_getenv(p, "NESO_DETERMINISTIC"));
    p->fp_reassoc = is_on(host_getenv(p, "NESO_FP_REASSOC"));
    host_open(p);
    eval_init(&m->eval, &m->arena, &m->strings, &m->diag, &p->host);
    m->eval.step_limit = p->context->run_step_limit;
    m->object = eval_file(&m->eval, m->source, "__main__", &r->failed);
}

/* After the program has ended, waits for kernels that are still running, and reports their errors. */
static neso_status wait_for_kernels(struct program *p)
{
    struct fault f;
    if (p->device->class->sync(p->device, NULL, &f))
        return NESO_OK;
    report_add_fault(p->module, &f);
    return NESO_FAILED;
}

static void drop_kernels(struct program *p)
{
    for (int i = 0; i < p->kernels.n; i++)
        if (p->kernels.entries[i].value)
            kernel_drop(p->kernels.entries[i].value);
}

neso_status neso_program_run(neso_context *context, const char *name, const char *text, size_t length,
                             const neso_run_options *options)
{
    struct fault f;
    struct program p = {.context = context, .device = &context->device};
    report_begin(context);
    if (!options_read(&p.options, sizeof p.options, options)) {
        fault_set(&f, NESO_INVALID, ERR_options_size, "%zu", options->size);
        return report_fault(context, &f);
    }
    if (!context->device.class) {
        fault_set(&f, NESO_NO_DEVICE, ERR_device_none, "run a program on");
        return report_fault(context, &f);
    }
    if (!debugger_open(&p.debugger, p.options.break_at)) {
        fault_set(&f, NESO_INVALID, ERR_break_at, "%s", p.options.break_at);
        return report_fault(context, &f);
    }
    p.debugger.finds_nan = p.options.break_nan;
    p.module = module_new(context);
    if (!p.module)
        return context->status = NESO_OUT_OF_MEMORY;
    module_arena(p.module, &p.scratch);
    struct running r = {&p, name, text, length, false};
    struct budget *budget = &context->budget;
    report_enter(p.module);
    budget->step_limit = context->run_step_limit;
    budget->limit_bytes = context->whole_limit ? budget->used_bytes + context->whole_limit : 0;
    neso_status status = guard(p.module, run, &r);
    if (r.failed && (status == NESO_OK || status == NESO_INVALID))
        status = NESO_FAILED;
    if (status == NESO_OK)
        status = wait_for_kernels(&p);
    if (p.debugger.asked && !p.debugger.was_reached)
        diag_warn(&p.module->diag, (struct loc){0}, ERR_break_missed, p.debugger.asked);
    budget->limit_bytes = 0; /* no limit, so that the remaining messages can be allocated */
    bench_close(&p);
    host_close(&p);
    proofs_free(&p);
    drop_kernels(&p);
    arena_free(&p.scratch);
    report_leave(p.module, status);
    module_drop(p.module);
    return status;
}
