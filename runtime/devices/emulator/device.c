/* SPDX-License-Identifier: MIT */
/* device.c: implements the device `emulator`: loads PTX, launches kernels, and passes on reports. */
#include "runtime/devices/emulator/machine.h"
#include "runtime/devices/tensormap.h"

#include <stdio.h>
#include <string.h>

struct loaded {
    struct arena arena;
    const struct emu_code *code;
    int shared_bytes, nparams;
    const char **names; /* names[i]: the name of parameter i if it is a pointer; else NULL */
    const char *name, *id;
    jmp_buf full;
};

static bool machine_open(struct device *d, int ordinal, void *cuda_context, struct fault *f)
{
    enum { MULTIPROCESSORS = 4 };
    (void)cuda_context;
    d->multiprocessors = MULTIPROCESSORS;
    snprintf(d->text, sizeof d->text, "the emulator of PTX, on this CPU");
    if (!cpu_open(d, ordinal, f))
        return false;
    struct cpu *m = d->state;
    m->race = race_new(d->mem);
    m->tracks_undefined = true;
    return true;
}

static void arena_full(void *ctx, size_t bytes)
{
    (void)bytes;
    longjmp(((struct loaded *)ctx)->full, 1);
}

static void machine_unload(struct device *d, void *loaded)
{
    struct loaded *l = loaded;
    arena_free(&l->arena);
    d->mem->free(d->mem->ctx, l, sizeof *l);
}

static void read_image(struct loaded *l, const struct image *image, struct emu_report *r)
{
    const struct ptx_info *info = image->info;
    l->code = emulator_load(&l->arena, image->ptx, image->ptx_bytes, r);
    l->shared_bytes = info->shared_bytes;
    l->nparams = info->params.n;
    l->name = arena_strndup(&l->arena, image->name, strlen(image->name));
    l->id = arena_strndup(&l->arena, image->id, strlen(image->id));
    l->names = NEW_ARRAY(&l->arena, info->params.n, const char *);
    for (int i = 0; i < info->params.n; i++)
        l->names[i] = type_is_ptr(info->params.at[i].type)
                          ? arena_strndup(&l->arena, info->params.at[i].name, strlen(info->params.at[i].name))
                          : NULL;
}

static bool machine_load(struct device *d, const struct image *image, void **out, struct fault *f)
{
    struct emu_report r;
    struct loaded *l = d->mem->alloc(d->mem->ctx, sizeof *l);
    if (!l)
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "for the emulator");
    *l = (struct loaded){0};
    arena_init(&l->arena, d->mem, 0, arena_full, l);
    if (setjmp(l->full) != 0) {
        machine_unload(d, l);
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "%s", "while reading PTX");
    }
    read_image(l, image, &r);
    *out = l;
    if (l->code)
        return true;
    fault_set(f, NESO_INTERNAL, r.error, "%s", r.what);
    f->loc = r.loc;
    machine_unload(d, l);
    return false;
}

static bool report(const struct emu_report *r, struct fault *f)
{
    if (r->error == ERR_out_of_memory)
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "%s", "for a launch");
    fault_set(f, fault_status(r->error), r->error, "%s", r->what);
    f->loc = r->loc;
    return false;
}

static bool machine_encode(struct device *d, const struct tensor_map_values *v, void *map)
{
    (void)d;
    map_pack(v, map);
    return true;
}

static bool machine_launch(struct device *d, void *loaded, const struct launch *l, struct fault *f)
{
    const struct loaded *k = loaded;
    int n;
    struct cpu_buffer *buffers = cpu_buffers(d, k->nparams, k->names, l->args, &n);
    if (!buffers)
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "%s", "for a launch");
    struct emu_launch run = {.grid = {(int)l->grid[0], (int)l->grid[1], (int)l->grid[2]},
                             .args = l->args,
                             .buffers = buffers,
                             .nbuffers = n,
                             .shared_bytes = k->shared_bytes,
                             .packs = l->packs,
                             .turned = l->turned,
                             .pairs = l->pairs,
                             /* a kernel that prints (it has texts) runs on one worker, so that the output is
                              * in order */
                             .num_workers = k->code->texts.n || l->one_thread ? 1 : 0,
                             .sample = l->sample,
                             .race = l->races == RACES_all ? ((struct cpu *)d->state)->race : NULL,
                             .mem = l->budget ? &l->budget->mem : d->mem,
                             .budget = l->budget,
                             .write = l->write,
                             .write_ctx = l->write_ctx};
    for (int i = 0; i < n; i++)
        run.has_undefined |= buffers[i].undefined != NULL;
    struct emu_counts *counts = ((struct cpu *)d->state)->counts;
    bool done = counts ? emu_counts_run(counts, k->code, k->name, k->id, &run) : emulator_run(k->code, &run);
    cpu_buffers_free(d, buffers, n);
    return done || report(&run.report, f);
}

static bool machine_count(struct device *d, int64_t programs, struct fault *f)
{
    struct cpu *m = d->state;
    emu_counts_free(m->counts);
    m->counts = emu_counts_new(d->mem, programs);
    return m->counts || fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "%s", "for counts");
}

static void machine_counts(struct device *d, neso_counts_fn *each, void *user)
{
    struct emu_counts *counts = ((struct cpu *)d->state)->counts;
    if (counts)
        emu_counts_each(counts, each, user);
}

const struct device_class device_emulator = {
    .name = "emulator",
    .meaning = "the compiled kernel's PTX on this CPU, with checks",
    .takes_ptx = true,
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
    .workspace = cpu_workspace,
    .workspace_end = cpu_workspace_end,
    .copy_rows = cpu_copy_rows,
    .load = machine_load,
    .unload = machine_unload,
    .encode = machine_encode,
    .launch = machine_launch,
    .count = machine_count,
    .counts = machine_counts,
    .resources = cpu_resources,
    .event_new = cpu_event_new,
    .event_free = cpu_event_free,
    .event_record = cpu_event_record,
    .event_seconds = cpu_event_seconds,
};
