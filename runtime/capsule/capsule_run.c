/* SPDX-License-Identifier: MIT */
/* capsule_run.c: repeats the launch of a capsule on the context's device, and compares the outcome with the recorded
 * outcome.
 *
 *     files ─► kernel ─┐
 *     buffers ─► memory┴─► check, launch ─► fault, difference or memory ─► the same? */
#include "runtime/capsule/capsule.h"

#include <stdio.h>
#include <string.h>

enum { ALIGN = 256, GUARD = 256 };

struct replaying {
    struct neso_context *context;
    const neso_capsule *capsule;
    struct neso_module *module;
    struct neso_kernel *kernel;
    struct arena *arena; /* the memory of the result's strings */
    neso_replay *out;
    struct placed {
        uint64_t address; /* the buffer's address, as arguments use it */
        /* the address of the memory that the device allocated, or that was lent to it; 0: none */
        uint64_t base;
        char *block; /* memory lent to the device */
        size_t block_bytes;
    } * placed;
    bool check, differs;
};

static const char *copy(struct replaying *r, const char *s)
{
    return arena_strndup(r->arena, s, strlen(s));
}

static void see(struct replaying *r, neso_seen seen, const char *error, const char *text, uint32_t line)
{
    char *tag = arena_strndup(r->arena, error, strlen(error));
    for (char *s = tag; *s; s++)
        *s = *s == '_' ? '-' : *s;
    r->out->seen = seen;
    r->out->tag = tag;
    r->out->text = copy(r, text);
    r->out->line = line;
}

static void see_fault(struct replaying *r, const struct fault *f)
{
    char text[sizeof f->detail + 200];
    fault_text(f, text, sizeof text);
    see(r, NESO_SEEN_FAULT, error_tag(f->error), text, f->loc.line);
}

/* -- memory -- */

/* Copies a buffer to the device. On a CPU, only the bytes of the buffer become memory of the device, as in the
 * recorded launch, so that accesses out of its bounds fail. */
static bool place_buffer(struct replaying *r, int i, struct fault *f)
{
    const neso_capsule_buffer *b = &r->capsule->buffers[i];
    struct device *d = &r->context->device;
    struct placed *p = &r->placed[i];
    const struct memory *mem = &r->context->mem;
    if (d->class->lend) {
        p->block_bytes = b->bytes + b->skew + ALIGN + 2 * GUARD;
        p->block = mem->alloc(mem->ctx, p->block_bytes);
        if (!p->block)
            return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "for %zu bytes", b->bytes);
        uint64_t at = (uint64_t)(uintptr_t)p->block + GUARD;
        p->address = at + (ALIGN - at % ALIGN) % ALIGN + b->skew;
        if (!d->class->lend(d, p->address, b->bytes, f))
            return false;
        p->base = p->address;
    } else {
        if (!d->class->alloc(d, b->bytes + b->skew, &p->base, f))
            return false;
        p->address = p->base + b->skew;
    }
    return d->class->write(d, p->address, b->before, b->bytes, NULL, f);
}

static void drop_buffers(struct replaying *r)
{
    struct fault ignored;
    struct device *d = &r->context->device;
    for (size_t i = 0; r->placed && i < r->capsule->buffer_count; i++) {
        struct placed *p = &r->placed[i];
        if (p->base)
            d->class->release(d, p->base, &ignored);
        if (p->block)
            r->context->mem.free(r->context->mem.ctx, p->block, p->block_bytes);
    }
}

/* -- arguments -- */

static bool refuse(struct replaying *r, const char *text)
{
    see(r, NESO_SEEN_REFUSED, error_tag(ERR_capsule_refused), text, 0);
    return false;
}

static bool pack(struct replaying *r, uint64_t *values, struct launch_tensor *tensors, int64_t (*sizes)[2],
                 int *n)
{
    const neso_capsule *c = r->capsule;
    struct fault f;
    *n = 0;
    for (int i = 0; i < r->kernel->nparams; i++) {
        const struct neso_param *p = &r->kernel->params[i];
        if (p->equals_one)
            continue;
        if (*n >= LAUNCH_PARAMS_MOST || (size_t)*n >= c->argument_count)
            return refuse(r, "the kernel has more parameters than the capsule has arguments");
        const neso_capsule_argument *a = &c->arguments[*n];
        bool is_placed = a->buffer >= 0 && a->buffer < (int)c->buffer_count;
        if ((p->type[0] == '*') != (a->type[0] == '*') || (is_placed && p->type[0] != '*'))
            return refuse(r, "an argument is a pointer, and its parameter is none, or the other way round");
        uint64_t value = is_placed ? r->placed[a->buffer].address + a->value : a->value;
        if (!param_allows(p, value, &f)) {
            see_fault(r, &f);
            r->out->seen = NESO_SEEN_REFUSED;
            return false;
        }
        sizes[*n][0] = is_placed ? (int64_t)(c->buffers[a->buffer].bytes - a->value) : 0;
        sizes[*n][1] = 1;
        if (is_placed)
            tensors[*n] = (struct launch_tensor){"uint8", 1, 1, &sizes[*n][0], &sizes[*n][1]};
        values[(*n)++] = value;
    }
    return (size_t)*n == c->argument_count ||
           refuse(r, "the capsule has more arguments than the kernel has parameters");
}

/* -- results -- */

/* Compares the memory with the contents that the capsule recorded after its launch. Sets r->differs, and the
 * text of the result. Returns false after a fault. */
static bool compare(struct replaying *r, struct fault *f)
{
    const neso_capsule *c = r->capsule;
    struct device *d = &r->context->device;
    size_t bytes = 0, buffers = 0;
    char first[160] = "", text[240];
    for (size_t i = 0; i < c->buffer_count; i++) {
        const neso_capsule_buffer *b = &c->buffers[i];
        unsigned char *now = b->after ? arena_alloc(r->arena, b->bytes + 1) : NULL;
        if (!now)
            continue;
        if (!d->class->read(d, now, r->placed[i].address, b->bytes, NULL, f))
            return false;
        size_t at = bytes;
        for (size_t k = 0; k < b->bytes && (k || memcmp(now, b->after, b->bytes) != 0); k++) {
            if (now[k] == b->after[k])
                continue;
            if (!bytes)
                snprintf(first, sizeof first, "byte %zu of '%s' is 0x%02x, and was 0x%02x", k, b->name,
                         now[k], b->after[k]);
            bytes++;
        }
        buffers += bytes > at;
    }
    snprintf(text, sizeof text, "%s; %zu bytes of %zu buffers differ", first, bytes, buffers);
    see(r, NESO_SEEN_RESULT, "", bytes ? text : "", 0);
    r->differs = bytes > 0;
    return true;
}

static void note_check(void *user, const neso_checked *x)
{
    struct replaying *r = user;
    r->out->verdict = x->verdict;
    if (x->verdict == NESO_CHECK_UNKNOWN)
        r->out->why = copy(r, x->text);
    if (x->verdict != NESO_CHECK_DIFFERS)
        return;
    see(r, NESO_SEEN_DIFFERENCE, error_tag(ERR_check_differs), x->text, x->line);
    r->out->pass = copy(r, x->pass);
    r->out->without = copy(r, x->without);
}

static bool is_device_fault(const char *tag)
{
    static const char *const tags[] = {"driver-call", "out-of-bounds", "misaligned", "device-assert",
                                       "emulator-trap"};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (strcmp(tag, tags[i]) == 0)
            return true;
    return false;
}

/* Returns whether two tags may describe the same fault. A fault on a GPU has the tag of a driver error. This
 * tag counts as equal to the tags that its possible causes have on a CPU: an access, an assertion or a
 * trap. */
static bool is_same_tag(const char *was, const char *is)
{
    bool is_gpu = strcmp(was, "driver-call") == 0 || strcmp(is, "driver-call") == 0;
    return strcmp(was, is) == 0 || (is_gpu && is_device_fault(was) && is_device_fault(is));
}

/* -- running -- */

static bool compile(struct replaying *r)
{
    const neso_capsule *c = r->capsule;
    struct neso_context *context = r->context;
    neso_compile_options o;
    capsule_options(c, &o);
    if (context->device.target)
        o.target = NULL; /* compile for the target of this GPU */
    o.check = r->check ? 2 : 0;
    o.checked = note_check;
    o.user = r;
    neso_diagnostic why = {.size = sizeof why};
    if (c->file_count &&
        neso_module_from_files(context, c->files[0].name, c->files[0].text, c->files[0].length,
                               capsule_find_file, (void *)(uintptr_t)c, &r->module) == NESO_OK &&
        neso_kernel_compile(r->module, c->kernel, &o, &r->kernel) == NESO_OK)
        return true;
    refuse(r, "its kernel does not compile");
    for (size_t i = 0; neso_diagnostic_get(context, i, &why); i++)
        if (why.severity == NESO_ERROR) {
            r->out->tag = copy(r, why.tag);
            r->out->text = copy(r, why.message);
            r->out->line = why.line;
            break;
        }
    return false;
}

static void launch(struct replaying *r, const uint64_t *values, int n, const struct launch_tensor *tensors)
{
    struct fault f;
    struct neso_context *context = r->context;
    struct device *d = &context->device;
    struct budget budget;
    struct launch l = {
        .args = values, .nargs = n, .tensors = tensors, .budget = &budget, .sample = r->capsule->programs};
    memcpy(l.grid, r->capsule->grid, sizeof l.grid);
    l.races = strcmp(r->capsule->tag, "race") == 0 ? RACES_all : RACES_start;
    budget_init(&budget, &context->mem);
    budget_begin(&budget, context->time_limit_ms, context->run_step_limit);
    budget.cancelled = context->budget.cancelled;
    budget.user = context->user;
    bool good = kernel_run(r->kernel, &l, &f) && d->class->sync(d, NULL, &f);
    if (r->out->seen == NESO_SEEN_DIFFERENCE)
        return;
    if (!good || !compare(r, &f))
        see_fault(r, &f);
}

static void run(void *arg)
{
    struct replaying *r = arg;
    struct fault f;
    uint64_t values[LAUNCH_PARAMS_MOST];
    struct launch_tensor tensors[LAUNCH_PARAMS_MOST] = {{0}};
    int64_t sizes[LAUNCH_PARAMS_MOST][2];
    int n;
    r->placed = NEW_ARRAY(r->arena, r->capsule->buffer_count + 1, struct placed);
    r->out->tag = r->out->text = r->out->pass = r->out->without = r->out->why = "";
    if (!compile(r))
        return;
    for (int i = 0; i < (int)r->capsule->buffer_count; i++)
        if (!place_buffer(r, i, &f)) {
            see_fault(r, &f);
            return;
        }
    if (pack(r, values, tensors, sizes, &n))
        launch(r, values, n, tensors);
}

static void judge(const struct replaying *r)
{
    const neso_capsule *c = r->capsule;
    neso_replay *out = r->out;
    bool has_tag = c->seen == NESO_SEEN_FAULT || c->seen == NESO_SEEN_REFUSED;
    out->same = out->seen == c->seen && !r->differs && (!has_tag || is_same_tag(c->tag, out->tag));
}

neso_status neso_capsule_run(neso_context *context, const neso_capsule *capsule, int check, neso_replay *out)
{
    struct fault f;
    *out = (neso_replay){.size = sizeof *out, .verdict = NESO_CHECK_UNKNOWN};
    report_begin(context);
    if (!context->device.class) {
        fault_set(&f, NESO_NO_DEVICE, ERR_device_none, "run a capsule on");
        return report_fault(context, &f);
    }
    struct neso_module *m = module_new(context);
    if (!m)
        return context->status = NESO_OUT_OF_MEMORY;
    struct replaying r = {.context = context,
                          .capsule = capsule,
                          .arena = &m->arena,
                          .out = out,
                          .check = check || capsule->seen == NESO_SEEN_DIFFERENCE};
    report_enter(m);
    neso_status status = guard(m, run, &r);
    neso_kernel_release(r.kernel);
    neso_module_release(r.module);
    drop_buffers(&r);
    report_leave(m, status);
    if (status != NESO_OK) {
        module_drop(m);
        return status;
    }
    judge(&r);
    report_begin(context);
    context->reported = m; /* the context keeps m, because m owns the strings of the result */
    return status;
}
