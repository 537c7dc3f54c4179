/* SPDX-License-Identifier: MIT */
/* api.c: implements the functions of neso.h on contexts, messages and modules. This file also implements
 * guard(), which calls setjmp; a fatal error of a compilation jumps back to this setjmp.
 *
 *     neso_kernel_compile ─► guard ─► setjmp ─► kernel_build ─► frontend, opt, codegen
 *                              ▲                                      │ longjmp: a fatal diagnostic, a bug, no memory
 *                              └──────────────────────────────────────┘
 *
 * The code that guard calls allocates only from arenas, so a longjmp out of this code leaks nothing. The messages of a
 * call are in the diag of its module; the context therefore keeps the module alive until the next call. */
#include "runtime/runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION "0.1"

const char *neso_version(void)
{
    return VERSION;
}

int neso_version_number(void)
{
    return NESO_VERSION_NUMBER;
}

const char *neso_status_name(neso_status status)
{
    static const char *const names[] = {"NESO_OK",        "NESO_INVALID",  "NESO_FAILED",
                                        "NESO_NO_DEVICE", "NESO_DRIVER",   "NESO_OUT_OF_MEMORY",
                                        "NESO_INTERNAL",  "NESO_CANCELLED"};
    return (unsigned)status < sizeof names / sizeof *names ? names[status] : "?";
}

/* -- memory -- */

static void *default_alloc(void *ctx, size_t bytes)
{
    (void)ctx;
    return malloc(bytes);
}

static void default_free(void *ctx, void *p, size_t bytes)
{
    (void)ctx;
    (void)bytes;
    free(p);
}

/* Allocates a zeroed object, or returns NULL. */
static void *object_new(const struct memory *mem, size_t bytes)
{
    void *p = mem->alloc(mem->ctx, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

/* A context keeps freed chunks of at most this total size for its next compilation. A typical compilation
 * needs less memory, so all its memory comes from these chunks. Under AddressSanitizer the pool keeps
 * nothing, so that accesses to a released module are detected. */
#ifdef __SANITIZE_ADDRESS__
enum { CHUNKS_KEPT_BYTES = 0 };
#else
enum { CHUNKS_KEPT_BYTES = 16 * 1024 * 1024 };
#endif

/* -- guard: where unwinding ends -- */

static neso_status diag_status(const struct diag *d)
{
    bool is_cancelled = d->exhausted && d->list.n && d->list.at[d->list.n - 1].error == ERR_cancelled;
    return d->internal    ? NESO_INTERNAL
           : is_cancelled ? NESO_CANCELLED
           : d->exhausted ? NESO_OUT_OF_MEMORY
           : d->nerrors   ? NESO_INVALID
                          : NESO_OK;
}

neso_status guard(struct neso_module *m, void (*body)(void *), void *arg)
{
    struct diag *d = &m->diag;
    /* Some fields of the evaluator may point into stack frames that a longjmp removes. After a longjmp, guard restores
     * these fields from this copy. */
    const struct eval before = m->eval;
    size_t limit = m->arena.limit_bytes;
    jmp_buf here, *outer = d->fatal;
    d->fatal = &here;
    if (setjmp(here) == 0) {
        body(arg);
    } else {
        m->eval.handler = before.handler;
        m->eval.trace = before.trace;
        m->eval.call = before.call;
        m->eval.calls = before.calls;
        m->eval.depth = before.depth;
        m->eval.handling = before.handling;
        m->eval.yields = before.yields;
    }
    d->fatal = outer;
    m->arena.limit_bytes = limit;
    return diag_status(d);
}

/* Allocates memory for a module from the context's chunks. If the user's allocator returns NULL although no
 * limit is exceeded, sets m->refused; memory_failed then reports exhausted memory instead of an exceeded
 * limit. */
static void *module_alloc(void *ctx, size_t bytes)
{
    struct neso_module *m = ctx;
    void *p = chunk_pool_alloc(&m->context->chunks, bytes);
    m->refused |= p == NULL && !m->context->budget.is_full;
    return p;
}

static void module_free(void *ctx, void *p, size_t bytes)
{
    struct neso_module *m = ctx;
    chunk_pool_free(&m->context->chunks, p, bytes);
}

/* Reports that memory is exhausted. Removes the memory limit so that the message can be allocated. If
 * allocating the message fails too, the arena calls this function again; the second call unwinds without a
 * message. */
static void memory_failed(void *ctx, size_t asked_bytes)
{
    struct neso_module *m = ctx;
    if (m->diag.exhausted)
        longjmp(*m->diag.fatal, 1);
    m->diag.exhausted = true;
    m->arena.limit_bytes = m->context->budget.limit_bytes = 0;
    struct loc at = m->eval.diag && m->eval.at.line ? eval_place(&m->eval, m->eval.at) : (struct loc){0};
    if (m->refused)
        diag_fatal(&m->diag, at, ERR_out_of_memory, (int64_t)asked_bytes);
    diag_fatal(&m->diag, at, ERR_memory_limit, (int64_t)m->context->memory_limit);
}

void module_arena(struct neso_module *m, struct arena *a)
{
    arena_init(a, &m->mem, m->context->memory_limit, memory_failed, m);
}

/* -- options -- */

bool options_read(void *to, size_t bytes, const void *from)
{
    size_t known = 0;
    memset(to, 0, bytes);
    if (!from)
        return true;
    memcpy(&known, from, sizeof known);
    if (known < sizeof known || known > bytes ||
        known % sizeof known != 0) /* the size of every version is a multiple of a word */
        return false;
    memcpy(to, from, known);
    return true;
}

neso_status options_refuse(struct neso_module *m, size_t size)
{
    struct fault f;
    fault_set(&f, NESO_INVALID, ERR_options_size, "%zu", size);
    report_add_fault(m, &f);
    return NESO_INVALID;
}

/* -- contexts -- */

static bool use_cache(struct neso_context *c, const neso_context_options *o)
{
    size_t n = strlen(o->cache) + 1;
    c->cache.folder = c->mem.alloc(c->mem.ctx, n);
    if (!c->cache.folder)
        return false;
    memcpy(c->cache.folder, o->cache, n);
    c->cache.limit_bytes = o->cache_limit ? o->cache_limit : (size_t)1 << 28;
    c->cache.strict = o->cache_strict != 0;
    return true;
}

neso_status neso_context_create(const neso_context_options *options, neso_context **context)
{
    neso_context_options o;
    *context = NULL;
    if (!options_read(&o, sizeof o, options))
        return NESO_INVALID;
    struct memory given = {default_alloc, default_free, NULL};
    if (o.allocator.allocate && o.allocator.release)
        given = (struct memory){o.allocator.allocate, o.allocator.release, o.allocator.user};
    struct neso_context *c = object_new(&given, sizeof *c);
    if (!c)
        return NESO_OUT_OF_MEMORY;
    c->refs = 1;
    c->given = given;
    budget_init(&c->budget, &c->given);
    c->mem = c->budget.mem;
    /* If the user sets an allocator or a memory limit, the pool keeps nothing. So the user's allocator gets every
     * call, and the limit counts only chunks in use. */
    c->chunks.below = &c->mem;
    c->chunks.limit_bytes = o.allocator.allocate || o.memory_limit ? 0 : CHUNKS_KEPT_BYTES;
    c->whole_limit = o.memory_limit;
    c->memory_limit = o.memory_limit ? o.memory_limit : (size_t)1 << 30;
    c->source_limit = o.source_limit ? o.source_limit : (size_t)1 << 24;
    c->run_step_limit = o.step_limit;
    c->step_limit = o.step_limit ? o.step_limit : 100000000;
    c->ir_limit = o.ir_limit ? o.ir_limit : 1000000;
    c->time_limit_ms = o.time_limit_ms;
    c->budget.cancelled = o.cancelled;
    c->budget.user = c->user = o.user;
    c->record = o.record;
    c->event = o.event;
    c->wants_capsule = o.capsule ? o.wants_capsule : NULL;
    c->capsule = o.capsule;
    if (o.cache && !use_cache(c, &o)) {
        given.free(given.ctx, c, sizeof *c);
        return NESO_OUT_OF_MEMORY;
    }
    *context = c;
    return NESO_OK;
}

static void context_drop(struct neso_context *c)
{
    if (--c->refs > 0)
        return;
    device_close(&c->device);
    struct memory given = c->given;
    chunk_pool_empty(&c->chunks);
    bundle_close(&c->bundle, &given);
    if (c->cache.folder)
        given.free(given.ctx, c->cache.folder, strlen(c->cache.folder) + 1);
    given.free(given.ctx, c, sizeof *c);
}

void neso_context_release(neso_context *context)
{
    if (!context)
        return;
    report_begin(context);
    context->released = true;
    context_drop(context);
}

neso_status neso_context_use_device(neso_context *context, const char *device, void *cuda_context)
{
    struct fault f;
    struct device d;
    report_begin(context);
    if (context->refs > 1) {
        fault_set(&f, NESO_INVALID, ERR_device_in_use, "%s", context->device.text);
        return report_fault(context, &f);
    }
    if (!device_open(&d, device ? device : "best", cuda_context, &context->mem, &f))
        return report_fault(context, &f);
    device_close(&context->device);
    context->device = d;
    return NESO_OK;
}

const char *neso_context_device(const neso_context *context)
{
    return context->device.class ? context->device.class->name : "none";
}

const char *neso_context_device_text(const neso_context *context)
{
    return context->device.class ? context->device.text : "no device";
}

/* -- reports -- */

void report_begin(struct neso_context *c)
{
    struct neso_module *m = c->reported;
    c->reported = NULL;
    c->status = NESO_OK;
    c->driver_code = 0;
    if (m)
        module_drop(m);
}

/* Unwinds if the current call has exceeded its time limit, or the user has cancelled it. */
static void check_deadline(void *ctx, struct loc at)
{
    struct neso_module *m = ctx;
    char limit[32];
    enum error passed = m->diag.exhausted ? ERR_count : budget_spend(&m->context->budget, 0);
    if (!budget_ends(passed))
        return;
    budget_text(&m->context->budget, passed, limit, sizeof limit);
    diag_fatal(&m->diag, at, passed, limit);
}

/* Begins work on a module. If a callback of a program calls the API again, the inner call keeps the messages
 * of the outer call. */
void report_enter(struct neso_module *m)
{
    struct neso_context *c = m->context;
    report_begin(c);
    if (c->busy++ == 0)
        budget_begin(&c->budget, c->time_limit_ms, 0);
    if (m->busy++ > 0)
        return;
    m->diag.list.n = m->diag.nerrors = 0;
    m->diag.internal = m->diag.exhausted = m->refused = false;
    m->eval.steps = 0;
    m->eval.at = (struct loc){0};
    m->diag.hurry = c->time_limit_ms || c->budget.cancelled ? check_deadline : NULL;
    m->diag.hurry_ctx = m;
}

neso_status report_leave(struct neso_module *m, neso_status status)
{
    struct neso_context *c = m->context;
    c->status = status;
    c->busy--;
    if (--m->busy == 0 && m->diag.list.n > 0 && !c->released) {
        m->refs++;
        c->reported = m;
    }
    return status;
}

struct complaint {
    struct diag *diag;
    const struct fault *fault;
};

static void complain(void *arg)
{
    struct complaint *x = arg;
    diag_error(x->diag, x->fault->loc, x->fault->error, x->fault->detail);
}

void report_add_fault(struct neso_module *m, const struct fault *f)
{
    guard(m, complain, &(struct complaint){&m->diag, f});
    m->context->driver_code = f->driver_code;
}

neso_status report_fault(struct neso_context *c, const struct fault *f)
{
    struct neso_module *m = module_new(c);
    c->status = f->status;
    if (!m)
        return f->status;
    report_enter(m);
    report_add_fault(m, f);
    report_leave(m, f->status);
    module_drop(m);
    return f->status;
}

struct rendering {
    struct neso_module *module;
    void (*render)(const struct diag *d, struct text *out);
    const char *result;
};

static void render(void *arg)
{
    struct rendering *r = arg;
    struct text out;
    text_init(&out, &r->module->arena);
    r->render(&r->module->diag, &out);
    r->result = out.s;
}

/* Prints the messages of the last call with the function `how`, and returns the text, which is in the
 * module's arena. Meanwhile, the arena has no memory limit. */
static const char *show(struct neso_context *c, void (*how)(const struct diag *d, struct text *out))
{
    struct rendering r = {c->reported, how, NULL};
    struct neso_module *m = c->reported;
    bool exhausted = m->diag.exhausted;
    size_t limit = m->arena.limit_bytes;
    m->diag.exhausted = false;
    m->arena.limit_bytes = 0;
    guard(m, render, &r);
    m->arena.limit_bytes = limit;
    m->diag.exhausted = exhausted;
    return r.result;
}

const char *neso_error_text(neso_context *context)
{
    const char *text = context->reported ? show(context, diag_render_all) : NULL;
    if (text)
        return text;
    return context->status == NESO_OUT_OF_MEMORY ? "error: out of memory\n" : "";
}

const char *neso_diagnostics_json(neso_context *context)
{
    const char *text = context->reported ? show(context, diag_render_json) : NULL;
    return text ? text : "[]\n";
}

int neso_driver_code(const neso_context *context)
{
    return context->driver_code;
}

size_t neso_diagnostic_count(const neso_context *context)
{
    return context->reported ? (size_t)context->reported->diag.list.n : 0;
}

int neso_diagnostic_get(const neso_context *context, size_t index, neso_diagnostic *out)
{
    neso_diagnostic found = {.size = out->size};
    if (out->size != sizeof found || index >= neso_diagnostic_count(context))
        return 0;
    const struct diag *d = &context->reported->diag;
    const struct diagnostic *x = &d->list.at[index];
    found.severity = (neso_severity)x->severity;
    found.message = x->message;
    snprintf(found.tag, sizeof found.tag, "%s", error_tag(x->error));
    for (char *s = found.tag; *s; s++)
        *s = *s == '_' ? '-' : *s;
    if (x->loc.line && x->loc.file < d->sources.n) {
        found.file = d->sources.at[x->loc.file]->name;
        found.line = x->loc.line;
        found.column = x->loc.col;
        found.length = x->loc.len;
    }
    *out = found;
    return 1;
}

/* -- callbacks -- */

void context_event(const struct neso_context *c, neso_event event, const char *format, ...)
{
    char text[512];
    va_list args;
    if (!c->event)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->event(c->user, event, text);
}

void context_record(struct neso_kernel *k)
{
    const struct neso_context *c = k->module->context;
    const char *text;
    size_t length;
    if (c->record && neso_kernel_text(k, NESO_TEXT_RECORD, &text, &length) == NESO_OK)
        c->record(c->user, text, length);
}

/* -- modules -- */

static void start(void *arg)
{
    struct neso_module *m = arg;
    jmp_buf *fatal = m->diag.fatal;
    /* This call allocates the arena's first chunk, which has space for a later message about exhausted memory. */
    arena_alloc(&m->arena, 1);
    diag_init(&m->diag, &m->arena);
    m->diag.fatal = fatal;
    interner_init(&m->strings, &m->arena);
}

struct neso_module *module_new(struct neso_context *c)
{
    struct neso_module *m = object_new(&c->mem, sizeof *m);
    if (!m)
        return NULL;
    m->refs = 1;
    m->context = c;
    c->refs++;
    m->mem = (struct memory){module_alloc, module_free, m};
    module_arena(m, &m->arena);
    m->diag.arena = &m->arena;
    if (guard(m, start, m) == NESO_OK)
        return m;
    module_drop(m);
    return NULL;
}

void module_drop(struct neso_module *m)
{
    if (--m->refs > 0)
        return;
    struct neso_context *c = m->context;
    arena_free(&m->arena);
    c->mem.free(c->mem.ctx, m, sizeof *m);
    context_drop(c);
}

void neso_module_release(neso_module *module)
{
    if (module)
        module_drop(module);
}

/* Returns a file's name without folder and extension: "kernels" for "dir/kernels.py". */
static const char *stem(struct arena *a, const char *name)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    const char *dot = strrchr(base, '.');
    return arena_strndup(a, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

struct reading {
    struct neso_module *module;
    const char *name, *text;
    size_t length;
    neso_find *find; /* NULL: imported files are unknown modules */
    void *user;
};

static const struct source *find_source(void *ctx, struct eval *e, const char *module)
{
    struct reading *r = ctx;
    return program_find_source(e, r->find, r->user, module, r->module->context->source_limit);
}

/* The kinds of files that neso writes and that a user may pass as a source by mistake. Such a file begins
 * with "neso " and the kind's `word`. `taker` names the commands that read the file. */
static const struct file_kind {
    const char *word, *taker;
} file_kinds[] = {
    {"bundle", "neso compile, or neso run --bundle"}, {"record", "neso bundle"}, {"capsule", "neso replay"}};

static const struct file_kind *kind_of_file(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof file_kinds / sizeof *file_kinds; i++) {
        size_t n = strlen(file_kinds[i].word);
        if (length > n + 5 && memcmp(text, "neso ", 5) == 0 && memcmp(text + 5, file_kinds[i].word, n) == 0)
            return &file_kinds[i];
    }
    return NULL;
}

bool module_add_source(struct neso_module *m, const char *name, const char *text, size_t length)
{
    if (length > m->context->source_limit) {
        diag_error(&m->diag, (struct loc){0}, ERR_source_too_large, name, (int64_t)length,
                   (int64_t)m->context->source_limit);
        return false;
    }
    const struct file_kind *kind = kind_of_file(text, length);
    if (kind) {
        diag_error(&m->diag, (struct loc){0}, ERR_source_not_python, name, kind->word, kind->taker);
        return false;
    }
    m->source = diag_add_source(&m->diag, name, text, length);
    m->signature = diag_add_source(&m->diag, "signature", "", 0);
    return true;
}

/* Passes the output of tl.static_print to the context's `write` while a kernel is compiled. */
static void write_static_print(void *ctx, const char *s, size_t n, bool to_stderr)
{
    const struct neso_context *c = ctx;
    (void)to_stderr;
    if (c && c->write)
        c->write(c->write_user, s, n);
}

static void read_module(void *arg)
{
    struct reading *r = arg;
    struct neso_module *m = r->module;
    if (!module_add_source(m, r->name, r->text, r->length))
        return;
    m->is_ir = ends_with(r->name, ".ir");
    if (m->is_ir) {
        m->ir = NEW(&m->arena, struct module);
        module_init(m->ir, &m->arena, &m->arena, &m->diag);
        module_parse(m->ir, m->source);
        return;
    }
    const struct host beside = {.ctx = r, .definitions_only = true, .find_source = find_source};
    eval_init(&m->eval, &m->arena, &m->strings, &m->diag, r->find ? &beside : NULL);
    m->eval.step_limit = m->context->step_limit;
    m->object = eval_file(&m->eval, m->source, stem(&m->arena, r->name), NULL);
    /* this host has no `find_source`: the imports are done, and the caller's `find` must not be called after
     * this function returns */
    m->printer = (struct host){.ctx = m->context, .definitions_only = true, .write = write_static_print};
    m->eval.host = &m->printer;
}

neso_status neso_module_from_source(neso_context *context, const char *name, const char *text, size_t length,
                                    neso_module **module)
{
    return neso_module_from_files(context, name, text, length, NULL, NULL, module);
}

neso_status neso_module_from_files(neso_context *context, const char *name, const char *text, size_t length,
                                   neso_find *find, void *user, neso_module **module)
{
    *module = NULL;
    report_begin(context);
    struct neso_module *m = module_new(context);
    if (!m)
        return context->status = NESO_OUT_OF_MEMORY;
    report_enter(m);
    neso_status status = guard(m, read_module, &(struct reading){m, name, text, length, find, user});
    report_leave(m, status);
    if (status == NESO_OK)
        *module = m;
    else
        module_drop(m);
    return status;
}

struct obj *module_jit(const struct neso_module *m, size_t index)
{
    const struct map *names = m->object ? &m->object->module.scope->names : NULL;
    for (int i = 0; names && i < names->n; i++) {
        struct obj *x = names->entries[i].value;
        if (x && x->kind == OBJ_jit && x->jit->fn.src == m->source && index-- == 0)
            return x;
    }
    return NULL;
}

const char *neso_module_kernel(const neso_module *module, size_t index)
{
    if (module->is_bundle)
        return bundle_kernel(module, index);
    if (module->is_ir)
        return index < (size_t)module->ir->funcs.n ? module->ir->funcs.at[index]->name : NULL;
    struct obj *x = module_jit(module, index);
    return x ? x->jit->fn.name : NULL;
}

/* -- kernels and their helpers -- */

/* Returns whether the tree contains a `return` with a value; ignores the bodies of nested functions. */
static bool returns_value(const struct ast *n)
{
    struct ast_cursor at = {0};
    if (n->kind == AST_return && n->return_.value)
        return true;
    for (const struct ast *c; (c = ast_child(n, &at));)
        if (c->kind != AST_def && c->kind != AST_lambda && returns_value(c))
            return true;
    return false;
}

static bool names(const struct ast *n, const char *name)
{
    struct ast_cursor at = {0};
    if (n->kind == AST_name && strcmp(n->name.id, name) == 0)
        return true;
    for (const struct ast *c; (c = ast_child(n, &at));)
        if (names(c, name))
            return true;
    return false;
}

static bool is_letter(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns whether the source contains `name[`, with which a program launches the kernel `name`. */
static bool is_launched(const struct source *source, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = source->text; (s = strstr(s, name)) != NULL; s += n)
        if ((s == source->text || !is_letter(s[-1])) && s[n] == '[')
            return true;
    return false;
}

static bool is_helper(const neso_module *m, const struct obj *x)
{
    const char *name = x->jit->fn.name;
    const struct obj *other;
    if (returns_value(x->jit->fn.def))
        return true;
    if (is_launched(m->source, name))
        return false;
    for (size_t i = 0; (other = module_jit(m, i)) != NULL; i++)
        if (other != x && names(other->jit->fn.def, name))
            return true;
    return false;
}

const char *neso_module_entry(const neso_module *module, size_t index)
{
    const struct obj *x;
    if (module->is_bundle || module->is_ir)
        return neso_module_kernel(module, index);
    for (size_t i = 0; (x = module_jit(module, i)) != NULL; i++)
        if (!is_helper(module, x) && index-- == 0)
            return x->jit->fn.name;
    return NULL;
}
