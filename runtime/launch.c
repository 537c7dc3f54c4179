/* SPDX-License-Identifier: MIT */
/* launch.c: loads and launches compiled kernels. The first launch that needs a kernel's code loads this code.
 * neso_launch checks that the arguments keep the promises of the signature, and packs the arguments. This
 * file also implements the functions of neso.h on device memory, streams and counts.
 *
 *     args[0] ─► 0x7f..00 (*fp32:16, checked)  ┐
 *     args[1] ─► 98432    (i32:16, checked)    ├─► values[], 8 bytes each ─► device
 *     args[2] ─► 1        (i32:1, checked)     ┘   without arguments that the signature promises to be 1
 *
 * Any thread may launch. Launches change only atomic members of the kernel (such as the loaded code), and members that
 * the kernel's lock guards. */
#include "runtime/runtime.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* -- machine code made ahead of time -- */

/* A machine code that the caller gave (neso_kernel_load_code), as an element of the list k->codes. */
struct machine_code {
    struct machine_code *next;
    size_t bytes; /* size of the allocation */
    char ptx_digest[2 * DIGEST_BYTES + 1];
    _Alignas(16) unsigned char code[];
};

const void *code_for(const struct neso_kernel *k, const char *ptx, size_t bytes)
{
    char digest[2 * DIGEST_BYTES + 1];
    if (!k->codes || !ptx)
        return NULL;
    digest_text(ptx, bytes, 2 * DIGEST_BYTES, digest);
    for (const struct machine_code *c = k->codes; c; c = c->next)
        if (strcmp(c->ptx_digest, digest) == 0)
            return c->code;
    return NULL;
}

void codes_free(struct neso_kernel *k)
{
    struct memory *mem = &k->module->context->mem;
    for (struct machine_code *c = k->codes, *next; c; c = next) {
        next = c->next;
        mem->free(mem->ctx, c, c->bytes);
    }
    k->codes = NULL;
}

static bool add_code(struct neso_kernel *k, const struct neso_code *from)
{
    struct memory *mem = &k->module->context->mem;
    size_t bytes = sizeof(struct machine_code) + from->length;
    struct machine_code *c = mem->alloc(mem->ctx, bytes);
    if (!c)
        return false;
    *c = (struct machine_code){.next = k->codes, .bytes = bytes};
    snprintf(c->ptx_digest, sizeof c->ptx_digest, "%s", from->ptx_digest);
    memcpy(c->code, from->code, from->length);
    k->codes = c;
    return true;
}

static bool add_codes(struct neso_kernel *k, const struct neso_code *codes, size_t count, struct fault *f)
{
    bool good = true;
    for (size_t i = 0; i < count; i++)
        if (codes[i].size != sizeof codes[i])
            return fault_set(f, NESO_INVALID, ERR_options_size, "%zu", codes[i].size);
    pthread_mutex_lock(&k->lock);
    bool is_first = !k->codes;
    for (size_t i = 0; i < count && is_first && good; i++)
        good = add_code(k, &codes[i]);
    pthread_mutex_unlock(&k->lock);
    return good || fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "for the kernel's machine code");
}

/* -- loading -- */

static bool load(struct neso_kernel *k, struct fault *f)
{
    struct image image = {
        .name = k->name,
        .id = neso_kernel_id(k),
        .ptx = k->texts[NESO_TEXT_PTX].s,
        .ptx_bytes = k->texts[NESO_TEXT_PTX].len,
        .code = code_for(k, k->texts[NESO_TEXT_PTX].s, k->texts[NESO_TEXT_PTX].len),
        .info = &k->info,
        .func = k->traced,
    };
    if (k->device->class->takes_ptx ? !image.ptx : !image.func)
        return fault_set(f, NESO_INVALID, ERR_not_compiled, "%s", k->name);
    void *loaded = NULL;
    if (!k->device->class->load(k->device, &image, &loaded, f))
        return false;
    k->loaded = loaded;
    context_event(k->module->context, NESO_EVENT_LOADED, "%s on %s", image.id, k->device->text);
    return true;
}

bool kernel_load(struct neso_kernel *k, struct fault *f)
{
    if (!k->device)
        return fault_set(f, NESO_NO_DEVICE, ERR_device_none, "launch kernels on");
    if (k->loaded)
        return true;
    pthread_mutex_lock(&k->lock);
    bool good = k->loaded || load(k, f);
    pthread_mutex_unlock(&k->lock);
    return good;
}

bool launch_packed(struct neso_kernel *k, const struct ptx_info *info, void *loaded,
                   const struct launch *whole, struct fault *f)
{
    struct launch packed = *whole, *l = &packed;
    l->turned = info->turned;
    if (!info->packs || k->traced)
        return k->device->class->launch(k->device, loaded, l, f);
    uint64_t programs = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    uint64_t least = (uint64_t)k->thresholds.launch_pack_ctas * (uint64_t)k->device->multiprocessors;
    int n = 1;
    while (2 * n <= info->packs && l->grid[0] % (2u * (unsigned)n) == 0 &&
           programs / (2u * (unsigned)n) >= least)
        n *= 2;
    l->packs = n;
    l->grid[0] /= (unsigned)n;
    return k->device->class->launch(k->device, loaded, l, f);
}

static void check_once(struct neso_kernel *k, const struct launch *l)
{
    pthread_mutex_lock(&k->lock);
    if (!k->checked)
        cross_check(k, l);
    k->checked = true;
    pthread_mutex_unlock(&k->lock);
}

bool kernel_launch(struct neso_kernel *k, const struct launch *l, struct fault *f)
{
    return k->capsule ? capsule_launch(k, l, f) : kernel_run(k, l, f);
}

static bool params_fit(int nparams, struct fault *f)
{
    return nparams <= LAUNCH_PARAMS_MOST ||
           fault_set(f, NESO_INVALID, ERR_kernel_too_large,
                     "it has %d parameters, and a launch passes at most %d", nparams, LAUNCH_PARAMS_MOST);
}

bool kernel_run(struct neso_kernel *k, const struct launch *l, struct fault *f)
{
    if (!params_fit(l->nargs, f))
        return false;
    if (k->options.check && !k->checked)
        check_once(k, l);
    bool planned = has_plan(k);
    if (!planned && !kernel_load(k, f))
        return false;
    if (l->grid[0] == 0 || l->grid[1] == 0 || l->grid[2] == 0)
        return true;
    return planned ? plan_launch(k, l, f) : launch_packed(k, &k->info, k->loaded, l, f);
}

/* -- values -- */

static uint64_t read_value(const void *from, int bytes)
{
    uint64_t value = 0;
    /* Copies into the first bytes of `value`. These are the low bytes, because every machine with a GPU
     * driver is little-endian. For the usual sizes, the size of the copy is a constant, so that the C
     * compiler generates one instruction for the copy. */
    switch (bytes) {
    case 4: memcpy(&value, from, 4); break;
    case 8: memcpy(&value, from, 8); break;
    default: memcpy(&value, from, (size_t)bytes);
    }
    return value;
}

bool param_allows(const struct neso_param *p, uint64_t value, struct fault *f)
{
    if (p->equals_one && value != 1)
        return fault_set(f, NESO_INVALID, ERR_promise_broken, "'%s' is %lld, and should be 1", p->name,
                         (long long)value);
    if (value & (uint64_t)(p->divisible - 1)) /* divisible is 16 or 1 */
        return fault_set(f, NESO_INVALID, ERR_promise_broken,
                         "'%s' is %s%lld, and should be a multiple of %d", p->name,
                         p->type[0] == '*' ? "at address " : "", (long long)value, p->divisible);
    return true;
}

static bool launch_values(struct neso_kernel *k, struct launch *l, const void *const *args, struct fault *f)
{
    uint64_t values[LAUNCH_PARAMS_MOST];
    if (!k->options.check && !has_plan(k) && !kernel_load(k, f))
        return false;
    if (!params_fit(k->nparams, f))
        return false;
    for (int i = 0; i < k->nparams; i++) {
        const struct neso_param *p = &k->params[i];
        uint64_t value = read_value(args[i], p->bytes);
        if (!param_allows(p, value, f))
            return false;
        if (!p->equals_one)
            values[l->nargs++] = value;
    }
    l->args = values;
    return kernel_launch(k, l, f);
}

/* Fills in the caller's error. The message consists of the source location (if it is known), the text and the
 * tag: "scale.py:6:29: error: access out of bounds in program (3, 0, 0): ... [out-of-bounds]". If the text is
 * too long, its end is cut off, but the tag stays whole. */
static void error_set(struct neso_error *error, const struct neso_kernel *k, const struct fault *f)
{
    char text[sizeof f->detail + 100], tag[40];
    size_t n = 0, length = strlen(error_tag(f->error)), room = sizeof error->message;
    const struct diag *d = &k->module->diag;
    if (!error || error->size != sizeof *error)
        return;
    error->status = f->status;
    error->driver_code = f->driver_code;
    fault_text(f, text, sizeof text);
    for (size_t i = 0; i <= length; i++)
        tag[i] = error_tag(f->error)[i] == '_' ? '-' : error_tag(f->error)[i];
    if (f->loc.line && f->loc.file < d->sources.n)
        n = (size_t)snprintf(error->message, room - 100,
                             "%.240s:%u:%u: error: ", d->sources.at[f->loc.file]->name, (unsigned)f->loc.line,
                             (unsigned)f->loc.col);
    snprintf(error->message + n, room - n, "%.*s [%s]", (int)(room - n - length - 4), text, tag);
}

/* Launches the kernel under the limits of the context. `how` has the stream and the receiver of a capsule;
 * start sets the other members of the launch, in a copy of `how`. */
static neso_status start(neso_kernel *kernel, const uint32_t grid[3], const struct launch *how,
                         const void *const *args, const neso_launch_options *options, neso_error *error)
{
    struct fault f;
    neso_launch_options read;
    const struct neso_context *c = kernel->module->context;
    struct budget budget;
    struct launch l = *how;
    memcpy(l.grid, grid, sizeof l.grid);
    l.budget = &budget;
    l.write = c->write;
    l.write_ctx = c->write_user;
    budget_init(&budget, &c->mem);
    budget_begin(&budget, c->time_limit_ms, c->run_step_limit);
    budget.cancelled = c->budget.cancelled;
    budget.user = c->user;
    budget.limit_bytes = c->whole_limit;
    bool good = !options || options_read(&read, sizeof read, options);
    if (options && good)
        l.options = &read;
    if (!good)
        fault_set(&f, NESO_INVALID, ERR_options_size, "%zu", options->size);
    if (good && launch_values(kernel, &l, args, &f))
        return NESO_OK;
    error_set(error, kernel, &f);
    return f.status;
}

neso_status neso_launch(neso_kernel *kernel, const uint32_t grid[3], void *stream, const void *const *args,
                        neso_error *error)
{
    return start(kernel, grid, &(struct launch){.stream = stream}, args, NULL, error);
}

neso_status neso_launch_with(neso_kernel *kernel, const uint32_t grid[3], void *stream,
                             const void *const *args, const neso_launch_options *options, neso_error *error)
{
    return start(kernel, grid, &(struct launch){.stream = stream}, args, options, error);
}

neso_status
neso_capsule_launch(neso_kernel *kernel, const uint32_t grid[3], void *stream, const void *const *args,
                    void (*write)(void *user, const neso_capsule *seen, const void *data, size_t length),
                    void *user, neso_error *error)
{
    struct fault f;
    struct launch l = {.stream = stream, .give_capsule = write, .give_user = user};
    if (kernel->capsule)
        return start(kernel, grid, &l, args, NULL, error);
    fault_set(&f, NESO_INVALID, ERR_capsule_none, "%s", kernel->name);
    error_set(error, kernel, &f);
    return f.status;
}

neso_status neso_kernel_load_code(neso_kernel *kernel, const neso_code *codes, size_t count,
                                  neso_error *error)
{
    struct fault f;
    if (add_codes(kernel, codes, count, &f) && kernel_load(kernel, &f))
        return NESO_OK;
    error_set(error, kernel, &f);
    return f.status;
}

/* -- device calls that report to the context -- */

static neso_status report(struct neso_context *c, bool good, const struct fault *f)
{
    return good ? NESO_OK : report_fault(c, f);
}

/* Begins a call, and returns the context's device. If there is none, returns NULL, and sets f to a fault
 * whose message ends in `what`. */
static struct device *begin(struct neso_context *c, const char *what, struct fault *f)
{
    report_begin(c);
    if (c->device.class)
        return &c->device;
    fault_set(f, NESO_NO_DEVICE, ERR_device_none, "%s", what);
    return NULL;
}

neso_status neso_kernel_load(neso_kernel *kernel)
{
    struct fault f;
    struct neso_module *m = kernel->module;
    report_enter(m);
    bool good = kernel_load(kernel, &f);
    if (!good)
        report_add_fault(m, &f);
    return report_leave(m, good ? NESO_OK : f.status);
}

static bool find_function(struct neso_kernel *k, void **function, struct fault *f)
{
    if (!kernel_load(k, f))
        return false;
    if (!k->device->class->function)
        return fault_set(f, NESO_NO_DEVICE, ERR_no_function, "%s", k->device->text);
    if (has_plan(k))
        return fault_set(f, NESO_INVALID, ERR_function_planned, "%s", k->name);
    *function = k->device->class->function(k->loaded);
    return true;
}

neso_status neso_kernel_function(neso_kernel *kernel, void **function)
{
    struct fault f;
    struct neso_module *m = kernel->module;
    *function = NULL;
    report_enter(m);
    bool good = find_function(kernel, function, &f);
    if (!good)
        report_add_fault(m, &f);
    return report_leave(m, good ? NESO_OK : f.status);
}

neso_status neso_memory_allocate(neso_context *context, size_t bytes, uint64_t *address)
{
    struct fault f;
    struct device *d = begin(context, "have memory on", &f);
    return report(context, d && d->class->alloc(d, bytes, address, &f), &f);
}

neso_status neso_memory_release(neso_context *context, uint64_t address)
{
    struct fault f;
    struct device *d = begin(context, "have memory on", &f);
    return report(context, d && d->class->release(d, address, &f), &f);
}

neso_status neso_memory_lend(neso_context *context, uint64_t address, size_t bytes)
{
    struct fault f;
    struct device *d = begin(context, "lend memory to", &f);
    return report(context, d && (!d->class->lend || d->class->lend(d, address, bytes, &f)), &f);
}

void neso_context_on_print(neso_context *context, void (*write)(void *user, const char *text, size_t length),
                           void *user)
{
    context->write = write;
    context->write_user = user;
}

neso_status neso_memory_write(neso_context *context, uint64_t address, const void *from, size_t bytes)
{
    struct fault f;
    struct device *d = begin(context, "have memory on", &f);
    return report(context, d && d->class->write(d, address, from, bytes, NULL, &f), &f);
}

neso_status neso_memory_read(neso_context *context, void *to, uint64_t address, size_t bytes)
{
    struct fault f;
    struct device *d = begin(context, "have memory on", &f);
    return report(context, d && d->class->read(d, to, address, bytes, NULL, &f), &f);
}

neso_status neso_synchronize(neso_context *context, void *stream)
{
    struct fault f;
    struct device *d = begin(context, "wait for", &f);
    return report(context, d && d->class->sync(d, stream, &f), &f);
}

neso_status neso_counts_start(neso_context *context, int64_t programs)
{
    struct fault f;
    struct device *d = &context->device;
    report_begin(context);
    if (!d->class || !d->class->count)
        return report(context,
                      fault_set(&f, NESO_NO_DEVICE, ERR_not_here,
                                "count: only the emulator does (--device emulator), and it is %s",
                                d->class ? d->class->name : "none"),
                      &f);
    return report(context, d->class->count(d, programs, &f), &f);
}

void neso_counts_each(neso_context *context, neso_counts_fn *each, void *user)
{
    struct device *d = &context->device;
    if (d->class && d->class->counts)
        d->class->counts(d, each, user);
}
