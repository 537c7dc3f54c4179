/* SPDX-License-Identifier: MIT */
/* capsule.c: records a launch as a capsule: the memory before the launch, and the fault if the launch
 * failed, or else the memory after the launch.
 *
 *     args ─► the memory to which they point ─► copy ─► launch, wait ─► fault?  ─► capsule: fault
 *                                                              └──► copy again ─► capsule: result
 *
 * Each launch has its own copies, so any thread may launch. Even if only failed launches get capsules, memory
 * is copied before every launch, because a GPU's memory cannot be read after a fault. */
#include "runtime/capsule/capsule.h"

#include <stdio.h>
#include <string.h>

/* A launch and the memory into which its arguments point. */
struct taking {
    struct neso_kernel *kernel;
    const struct launch *launch;
    const struct memory *mem;
    neso_capsule capsule;
    neso_capsule_argument args[LAUNCH_PARAMS_MOST];
    neso_capsule_buffer buffers[LAUNCH_PARAMS_MOST];
    struct range {
        uint64_t base, bytes;
        unsigned char *before, *after;
    } ranges[LAUNCH_PARAMS_MOST];
    int nranges;
    char text[700], tag[48];
};

/* -- ranges -- */

/* Finds the range of memory into which argument `arg` points. On a GPU, an allocation may contain many tensors, so the
 * range is the tensor that was passed. On a CPU, or if the launch does not know the tensor, the range is the
 * allocation. */
static bool find_range(const struct taking *x, int arg, struct range *r)
{
    struct device *d = x->kernel->device;
    const struct launch_tensor *t = x->launch->tensors ? &x->launch->tensors[arg] : NULL;
    uint64_t at = x->launch->args[arg];
    *r = (struct range){.base = at};
    if (d->class == &device_cuda && t && t->dtype) {
        r->bytes = tensor_span(t);
        return true;
    }
    return d->class->extent(d, at, &r->base, &r->bytes);
}

/* Adds a range, and merges it with ranges that it overlaps. Ranges that only touch are different tensors and are not
 * merged, except that an empty range is merged with a range that it touches. */
static void add_range(struct taking *x, struct range r)
{
    for (int i = 0; i < x->nranges; i++) {
        struct range *old = &x->ranges[i];
        uint64_t end = old->base + old->bytes, new_end = r.base + r.bytes;
        bool is_empty = !r.bytes || !old->bytes;
        if (is_empty ? r.base > end || old->base > new_end : r.base >= end || old->base >= new_end)
            continue;
        r.base = r.base < old->base ? r.base : old->base;
        r.bytes = (end > new_end ? end : new_end) - r.base;
        *old = x->ranges[--x->nranges];
        add_range(x, r);
        return;
    }
    x->ranges[x->nranges++] = r;
}

/* Returns the index of the range that contains the byte at address `at`. If no range contains this byte, returns the
 * index of a range that ends at this address; -1 if there is none. */
static int range_with(const struct taking *x, uint64_t at)
{
    int ends = -1;
    for (int i = 0; i < x->nranges; i++) {
        if (at - x->ranges[i].base < x->ranges[i].bytes)
            return i;
        if (at - x->ranges[i].base == x->ranges[i].bytes)
            ends = i;
    }
    return ends;
}

static bool copy_memory(struct taking *x, uint64_t base, uint64_t bytes, unsigned char **to)
{
    struct fault f;
    struct device *d = x->kernel->device;
    *to = x->mem->alloc(x->mem->ctx, bytes + 1);
    return *to && d->class->read(d, *to, base, bytes, x->launch->stream, &f);
}

/* Lists the arguments and buffers, and copies the contents that the buffers have now. Returns false if this
 * is impossible. */
static bool take_memory(struct taking *x)
{
    const struct neso_kernel *k = x->kernel;
    int n = 0;
    for (int i = 0; i < k->nparams && n < x->launch->nargs && n < LAUNCH_PARAMS_MOST; i++) {
        const struct neso_param *p = &k->params[i];
        struct range r;
        if (p->equals_one)
            continue;
        x->args[n] = (neso_capsule_argument){p->name, p->type, -1, x->launch->args[n]};
        if (p->type[0] == '*' && x->launch->args[n] && find_range(x, n, &r))
            add_range(x, r);
        n++;
    }
    if (n != x->launch->nargs)
        return false;
    for (int i = 0; i < n; i++) {
        int at = x->args[i].type[0] == '*' && x->args[i].value ? range_with(x, x->args[i].value) : -1;
        if (at < 0)
            continue;
        x->args[i].buffer = at;
        x->args[i].value -= x->ranges[at].base;
        x->buffers[at].name = x->buffers[at].name ? x->buffers[at].name : x->args[i].name;
    }
    x->capsule.arguments = x->args;
    x->capsule.argument_count = (size_t)n;
    for (int i = 0; i < x->nranges; i++) {
        struct range *r = &x->ranges[i];
        if (!copy_memory(x, r->base, r->bytes, &r->before))
            return false;
        x->buffers[i].bytes = r->bytes;
        x->buffers[i].skew = r->base % 256;
        x->buffers[i].before = r->before;
    }
    x->capsule.buffers = x->buffers;
    x->capsule.buffer_count = (size_t)x->nranges;
    return true;
}

static void free_memory(struct taking *x)
{
    for (int i = 0; i < x->nranges; i++) {
        struct range *r = &x->ranges[i];
        if (r->before)
            x->mem->free(x->mem->ctx, r->before, r->bytes + 1);
        if (r->after)
            x->mem->free(x->mem->ctx, r->after, r->bytes + 1);
    }
}

/* -- passing the capsule to the caller -- */

typedef void give_fn(void *user, const neso_capsule *seen, const void *data, size_t length);

static void give_file(const struct memory *mem, const neso_capsule *c, give_fn *give, void *user)
{
    struct capsule_bytes out = {.mem = mem};
    capsule_put(c, &out);
    neso_capsule failed = *c;
    failed.text = "there is no memory for its capsule";
    give(user, out.is_full ? &failed : c, out.is_full ? NULL : out.s, out.is_full ? 0 : out.n);
    capsule_bytes_free(&out);
}

/* Returns whether the kernel itself failed: whether the launch did not just run out of memory, exceed a
 * limit or get cancelled. */
static bool is_fault(const struct fault *f)
{
    return f->status != NESO_OUT_OF_MEMORY && f->status != NESO_CANCELLED && !budget_ends(f->error) &&
           f->error != ERR_steps;
}

static void note_fault(struct taking *x, const struct fault *f)
{
    x->capsule.seen = NESO_SEEN_FAULT;
    snprintf(x->tag, sizeof x->tag, "%s", error_tag(f->error));
    for (char *s = x->tag; *s; s++)
        *s = *s == '_' ? '-' : *s;
    fault_text(f, x->text, sizeof x->text);
    x->capsule.tag = x->tag;
    x->capsule.text = x->text;
    x->capsule.line = f->loc.line;
}

static bool note_result(struct taking *x)
{
    for (int i = 0; i < x->nranges; i++) {
        struct range *r = &x->ranges[i];
        if (!copy_memory(x, r->base, r->bytes, &r->after))
            return false;
        x->buffers[i].after = r->after;
    }
    return true;
}

/* Launches, and waits for the launch. Then calls `give` with a capsule if the launch ended with a fault
 * (is_fault), or if the launch succeeded and `always` is true. Returns whether the launch succeeded. */
static bool launch_and_give(struct taking *x, bool always, give_fn *give, void *user, struct fault *f)
{
    struct device *d = x->kernel->device;
    bool is_taken = take_memory(x);
    bool good = kernel_run(x->kernel, x->launch, f) && d->class->sync(d, x->launch->stream, f);
    if (good ? !always : !is_fault(f))
        return good;
    if (!good)
        note_fault(x, f);
    if (is_taken && (!good || note_result(x))) {
        give_file(x->mem, &x->capsule, give, user);
        return good;
    }
    x->capsule.text = "there is no memory for copies of its tensors, or the device does not give them";
    give(user, &x->capsule, NULL, 0);
    return good;
}

bool capsule_launch(struct neso_kernel *k, const struct launch *l, struct fault *f)
{
    const struct neso_context *c = k->module->context;
    int wants = l->give_capsule ? 2 : c->wants_capsule(c->user, k->name);
    struct taking *x = wants && k->device ? c->mem.alloc(c->mem.ctx, sizeof *x) : NULL;
    if (!x || l->grid[0] == 0 || l->grid[1] == 0 || l->grid[2] == 0) {
        if (x)
            c->mem.free(c->mem.ctx, x, sizeof *x);
        return kernel_run(k, l, f);
    }
    memset(x, 0, sizeof *x);
    x->kernel = k;
    x->launch = l;
    x->mem = &c->mem;
    x->capsule = *k->capsule;
    memcpy(x->capsule.grid, l->grid, sizeof l->grid);
    x->capsule.programs = l->sample;
    x->capsule.device = k->device->text;
    bool good = launch_and_give(x, wants > 1, l->give_capsule ? l->give_capsule : c->capsule,
                                l->give_capsule ? l->give_user : c->user, f);
    free_memory(x);
    c->mem.free(c->mem.ctx, x, sizeof *x);
    return good;
}

/* -- differences that a check has found -- */

void capsule_of_check(struct checking *c, const neso_checked *found)
{
    struct neso_kernel *k = c->kernel;
    const struct neso_context *context = k->module->context;
    struct taking *x = k->capsule ? c->mem.alloc(c->mem.ctx, sizeof *x) : NULL;
    if (!x)
        return;
    memset(x, 0, sizeof *x);
    neso_capsule *to = &x->capsule;
    *to = *k->capsule;
    memcpy(to->grid, c->grid, sizeof c->grid);
    to->programs = c->sample;
    to->device = "the emulator beside the interpreter";
    to->seen = NESO_SEEN_DIFFERENCE;
    to->tag = "check-differs";
    to->text = found->text;
    to->pass = found->pass;
    to->without = found->without;
    to->line = found->line;
    int n = 0;
    for (int i = 0; i < k->nparams && n < c->nargs; i++) {
        const struct neso_param *p = &k->params[i];
        if (p->equals_one)
            continue;
        const struct check_window *w = c->window_of[n] >= 0 ? &c->windows[c->window_of[n]] : NULL;
        x->args[n] =
            (neso_capsule_argument){p->name, p->type, c->window_of[n], w ? c->args[n] - w->from : c->args[n]};
        n++;
    }
    for (int i = 0; i < c->nwindows; i++)
        x->buffers[i] = (neso_capsule_buffer){.name = c->windows[i].name,
                                              .bytes = c->windows[i].bytes,
                                              .skew = c->windows[i].skew,
                                              .before = (const unsigned char *)c->windows[i].start};
    to->arguments = x->args;
    to->argument_count = (size_t)n;
    to->buffers = x->buffers;
    to->buffer_count = (size_t)c->nwindows;
    give_file(&context->mem, to, context->capsule, context->user);
    c->mem.free(c->mem.ctx, x, sizeof *x);
}
