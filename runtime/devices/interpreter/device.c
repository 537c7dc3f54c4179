/* SPDX-License-Identifier: MIT */
/* device.c: implements the device `interpreter`: loads traced kernels, launches them, and passes on reports. */
#include "runtime/devices/cpu.h"
#include "runtime/devices/interpreter/interpreter.h"

#include <stdio.h>

static bool machine_open(struct device *d, int ordinal, void *cuda_context, struct fault *f)
{
    (void)cuda_context;
    if (!cpu_open(d, ordinal, f))
        return false;
    ((struct cpu *)d->state)->race = race_new(d->mem);
    snprintf(d->text, sizeof d->text, "the interpreter, on this CPU");
    return true;
}

struct loaded {
    struct arena arena;
    const struct func *func;
    const struct code *code;
    const char **names; /* names[i]: the name of parameter i if it is a pointer; else NULL */
    jmp_buf full;
};

static void arena_full(void *ctx, size_t bytes)
{
    (void)bytes;
    longjmp(((struct loaded *)ctx)->full, 1);
}

static bool machine_load(struct device *d, const struct image *image, void **out, struct fault *f)
{
    struct loaded *l = d->mem->alloc(d->mem->ctx, sizeof *l);
    if (!l)
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "for the interpreter");
    *l = (struct loaded){.func = image->func};
    arena_init(&l->arena, d->mem, 0, arena_full, l);
    if (setjmp(l->full) != 0) {
        arena_free(&l->arena);
        d->mem->free(d->mem->ctx, l, sizeof *l);
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "%s", "while decoding");
    }
    l->code = interpreter_decode(&l->arena, image->func);
    l->names = NEW_ARRAY(&l->arena, image->func->params.n, const char *);
    for (int i = 0; i < image->func->params.n; i++)
        l->names[i] =
            type_is_ptr(image->func->body->args.at[i]->type) ? image->func->params.at[i].name : NULL;
    *out = l;
    return true;
}

static void machine_unload(struct device *d, void *loaded)
{
    struct loaded *l = loaded;
    arena_free(&l->arena);
    d->mem->free(d->mem->ctx, l, sizeof *l);
}

static bool may_write(const struct code *c, const struct launch *l, const struct cpu_buffer *b)
{
    for (int i = 0; i < c->written.n; i++) {
        int origin = c->written.at[i];
        if (origin < 0 || (l->args[origin] >= b->base && l->args[origin] <= b->base + b->bytes))
            return true;
    }
    return false;
}

/* Switches off race detection for the buffers to which the kernel cannot write, because no race can occur
 * there. */
static void watch_written(const struct code *c, const struct launch *l, struct cpu_buffer *list, int n)
{
    for (int i = 0; i < n; i++)
        if (!may_write(c, l, &list[i]))
            list[i].shadow = NULL;
}

static bool report(const struct interp_launch *run, struct fault *f)
{
    const struct interp_report *r = &run->report;
    bool is_limit = budget_ends(r->error) || r->error == ERR_steps;
    if (r->error == ERR_out_of_memory)
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "%s", "for a launch");
    if (is_limit)
        fault_set(f, fault_status(r->error), r->error, "%s", r->what);
    else
        fault_set(f, NESO_FAILED, r->error, "program (%d, %d, %d): %s", r->pid[0], r->pid[1], r->pid[2],
                  r->what);
    f->loc = r->loc;
    return false;
}

static bool machine_launch(struct device *d, void *loaded, const struct launch *l, struct fault *f)
{
    const struct loaded *k = loaded;
    int n;
    struct cpu_buffer *buffers = cpu_buffers(d, k->func->params.n, k->names, l->args, &n);
    if (!buffers)
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "%s", "for a launch");
    watch_written(k->code, l, buffers, n);
    struct interp_launch run = {.func = k->func,
                                .grid = {(int)l->grid[0], (int)l->grid[1], (int)l->grid[2]},
                                .args = l->args,
                                .tensors = l->tensors,
                                .buffers = buffers,
                                .nbuffers = n,
                                .mem = l->budget ? &l->budget->mem : d->mem,
                                .budget = l->budget,
                                .race = l->races == RACES_off ? NULL : ((struct cpu *)d->state)->race,
                                .races_all = l->races == RACES_all,
                                .sample = l->sample,
                                .only = l->only,
                                .finds_nan = l->finds_nan,
                                .trace = l->trace,
                                .write = l->write,
                                .write_ctx = l->write_ctx,
                                .host = l->host,
                                .host_ctx = l->host_ctx};
    bool done = interpreter_run(k->code, &run);
    cpu_buffers_free(d, buffers, n);
    return done || report(&run, f);
}

const struct device_class device_interpreter = {
    .name = "interpreter",
    .meaning = "the traced kernel on this CPU, with checks",
    .takes_ptx = false,
    .open = machine_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .lend = cpu_lend,
    .extent = cpu_extent,
    .write = cpu_write,
    .read = cpu_read,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .sync = cpu_sync,
    .load = machine_load,
    .unload = machine_unload,
    .launch = machine_launch,
    .resources = cpu_resources,
    .event_new = cpu_event_new,
    .event_free = cpu_event_free,
    .event_record = cpu_event_record,
    .event_seconds = cpu_event_seconds,
};
