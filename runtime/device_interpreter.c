/* device_interpreter.c: the interpreter as a device: memory of this process whose bounds are known, launches that have finished
 * when they return.
 */
#include "runtime/device.h"
#include "runtime/interpreter.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Between two allocations lie at least this many bytes that are nobody's, so that an index just past an end is seen. */
enum { ADDRESS_ALIGN = 256, GUARD_BYTES = 256 };

struct allocation {
    struct interp_buffer buffer;
    char *block; /* what the allocator gave, `bytes` long */
    size_t bytes;
};

struct machine {
    pthread_mutex_t lock; /* of the list */
    struct allocation *list; /* sorted by base */
    int n, cap;
    struct race *race; /* shared by launches; its shadows are the allocations' */
};

static bool machine_open(struct device *d, int ordinal, void *cuda_context, struct fault *f)
{
    (void)cuda_context;
    if (ordinal != 0)
        return fault_set(f, NESO_NO_DEVICE, ERR_device_unknown, "'interpreter:%d' (there is one interpreter)", ordinal);
    struct machine *m = d->mem->alloc(d->mem->ctx, sizeof *m);
    if (!m)
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "for the interpreter");
    *m = (struct machine){0};
    pthread_mutex_init(&m->lock, NULL);
    m->race = race_new(d->mem);
    d->state = m;
    snprintf(d->text, sizeof d->text, "the interpreter, on this CPU");
    return true;
}

static void free_allocation(struct device *d, struct allocation *a)
{
    race_shadow_free(a->buffer.shadow, d->mem);
    d->mem->free(d->mem->ctx, a->block, a->bytes);
}

static void machine_close(struct device *d)
{
    struct machine *m = d->state;
    for (int i = 0; i < m->n; i++)
        free_allocation(d, &m->list[i]);
    if (m->list)
        d->mem->free(d->mem->ctx, m->list, (size_t)m->cap * sizeof *m->list);
    race_free(m->race);
    pthread_mutex_destroy(&m->lock);
    d->mem->free(d->mem->ctx, m, sizeof *m);
}

static bool grow(struct device *d, struct machine *m)
{
    int cap = m->cap ? 2 * m->cap : 16;
    struct allocation *list = d->mem->alloc(d->mem->ctx, (size_t)cap * sizeof *list);
    if (!list)
        return false;
    if (m->list) {
        memcpy(list, m->list, (size_t)m->n * sizeof *list);
        d->mem->free(d->mem->ctx, m->list, (size_t)m->cap * sizeof *list);
    }
    m->list = list;
    m->cap = cap;
    return true;
}

/* Index of the first allocation whose base is not below `base`. */
static int position(const struct machine *m, uint64_t base)
{
    int i = 0;
    while (i < m->n && m->list[i].buffer.base < base)
        i++;
    return i;
}

static bool insert(struct device *d, struct machine *m, struct allocation a)
{
    pthread_mutex_lock(&m->lock);
    bool room = m->n < m->cap || grow(d, m);
    if (room) {
        int i = position(m, a.buffer.base);
        memmove(m->list + i + 1, m->list + i, (size_t)(m->n - i) * sizeof *m->list);
        m->list[i] = a;
        m->n++;
    }
    pthread_mutex_unlock(&m->lock);
    return room;
}

static bool machine_alloc(struct device *d, size_t bytes, uint64_t *address, struct fault *f)
{
    size_t total = bytes + ADDRESS_ALIGN + 2 * GUARD_BYTES;
    struct allocation a = {.block = total > bytes ? d->mem->alloc(d->mem->ctx, total) : NULL, .bytes = total};
    if (!a.block)
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "for %zu bytes", bytes);
    uint64_t base = (uint64_t)(uintptr_t)a.block + GUARD_BYTES;
    base += (ADDRESS_ALIGN - base % ADDRESS_ALIGN) % ADDRESS_ALIGN;
    a.buffer = (struct interp_buffer){.base = base, .bytes = bytes, .shadow = race_shadow_new(d->mem)};
    if (!insert(d, d->state, a)) {
        free_allocation(d, &a);
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "for %zu bytes", bytes);
    }
    *address = base;
    return true;
}

static bool machine_release(struct device *d, uint64_t address, struct fault *f)
{
    struct machine *m = d->state;
    pthread_mutex_lock(&m->lock);
    int i = position(m, address);
    bool found = i < m->n && m->list[i].buffer.base == address;
    if (found) {
        free_allocation(d, &m->list[i]);
        m->n--;
        memmove(m->list + i, m->list + i + 1, (size_t)(m->n - i) * sizeof *m->list);
    }
    pthread_mutex_unlock(&m->lock);
    return found || fault_set(f, NESO_INVALID, ERR_device_address, "0x%llx", (unsigned long long)address);
}

/* -- memory: addresses are pointers -- */

static bool machine_write(struct device *d, uint64_t to, const void *from, size_t bytes, void *stream, struct fault *f)
{
    (void)d, (void)stream, (void)f;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return true;
}

static bool machine_read(struct device *d, void *to, uint64_t from, size_t bytes, void *stream, struct fault *f)
{
    (void)d, (void)stream, (void)f;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return true;
}

static bool machine_copy(struct device *d, uint64_t to, uint64_t from, size_t bytes, void *stream, struct fault *f)
{
    (void)d, (void)stream, (void)f;
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return true;
}

static bool machine_fill(struct device *d, uint64_t to, uint8_t byte, size_t bytes, void *stream, struct fault *f)
{
    (void)d, (void)stream, (void)f;
    memset((void *)(uintptr_t)to, byte, bytes);
    return true;
}

static bool machine_sync(struct device *d, void *stream, struct fault *f)
{
    (void)d, (void)stream, (void)f;
    return true;
}

/* -- kernels -- */

struct loaded {
    struct arena arena;
    const struct func *func;
    const struct code *code;
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
    *out = l;
    return true;
}

static void machine_unload(struct device *d, void *loaded)
{
    struct loaded *l = loaded;
    arena_free(&l->arena);
    d->mem->free(d->mem->ctx, l, sizeof *l);
}

/* The buffers as reports should call them: after the parameters that point into them. */
static struct interp_buffer *named_buffers(struct device *d, const struct func *func, const struct launch *l, int *n)
{
    struct machine *m = d->state;
    pthread_mutex_lock(&m->lock);
    *n = m->n;
    struct interp_buffer *list = d->mem->alloc(d->mem->ctx, (size_t)(m->n + 1) * sizeof *list);
    for (int i = 0; list && i < m->n; i++) {
        list[i] = m->list[i].buffer;
        for (int k = func->params.n - 1; k >= 0; k--)
            if (type_is_ptr(func->body->args.at[k]->type) && l->args[k] >= list[i].base && l->args[k] <= list[i].base + list[i].bytes)
                list[i].name = func->params.at[k].name;
    }
    pthread_mutex_unlock(&m->lock);
    return list;
}

static bool may_write(const struct code *c, const struct launch *l, const struct interp_buffer *b)
{
    for (int i = 0; i < c->written.n; i++) {
        int origin = c->written.at[i];
        if (origin < 0 || (l->args[origin] >= b->base && l->args[origin] <= b->base + b->bytes))
            return true;
    }
    return false;
}

/* Nobody needs to watch what is only read. */
static void watch_written(const struct code *c, const struct launch *l, struct interp_buffer *list, int n)
{
    for (int i = 0; i < n; i++)
        if (!may_write(c, l, &list[i]))
            list[i].shadow = NULL;
}

static bool report(const struct interp_launch *run, struct fault *f)
{
    const struct interp_report *r = &run->report;
    if (r->error == ERR_out_of_memory)
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "%s", r->what);
    fault_set(f, NESO_FAILED, r->error, "program (%d, %d, %d): %s", r->pid[0], r->pid[1], r->pid[2], r->what);
    f->loc = r->loc;
    return false;
}

static bool machine_launch(struct device *d, void *loaded, const struct launch *l, struct fault *f)
{
    const struct loaded *k = loaded;
    int n;
    struct interp_buffer *buffers = named_buffers(d, k->func, l, &n);
    if (!buffers)
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "%s", "for a launch");
    watch_written(k->code, l, buffers, n);
    struct interp_launch run = {.func = k->func, .grid = {(int)l->grid[0], (int)l->grid[1], (int)l->grid[2]}, .args = l->args,
                                .buffers = buffers, .nbuffers = n, .mem = d->mem,
                                .race = ((struct machine *)d->state)->race, .write = l->write, .write_ctx = l->write_ctx};
    bool done = interpreter_run(k->code, &run);
    d->mem->free(d->mem->ctx, buffers, (size_t)(n + 1) * sizeof *buffers);
    return done || report(&run, f);
}

static void machine_resources(struct device *d, void *loaded, int *registers, int *local_bytes)
{
    (void)d, (void)loaded;
    *registers = *local_bytes = -1;
}

static const void *machine_cubin(struct device *d, void *loaded, size_t *bytes)
{
    (void)d, (void)loaded;
    *bytes = 0;
    return NULL;
}

/* -- events -- */

static bool machine_event_new(struct device *d, void **event, struct fault *f)
{
    *event = d->mem->alloc(d->mem->ctx, sizeof(struct timespec));
    return *event || fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "%s", "for an event");
}

static void machine_event_free(struct device *d, void *event)
{
    d->mem->free(d->mem->ctx, event, sizeof(struct timespec));
}

static bool machine_event_record(struct device *d, void *event, void *stream, struct fault *f)
{
    (void)d, (void)stream, (void)f;
    clock_gettime(CLOCK_MONOTONIC, event);
    return true;
}

static bool machine_event_seconds(struct device *d, void *from, void *to, double *seconds, struct fault *f)
{
    (void)d, (void)f;
    const struct timespec *a = from, *b = to;
    *seconds = (double)(b->tv_sec - a->tv_sec) + 1e-9 * (double)(b->tv_nsec - a->tv_nsec);
    return true;
}

const struct device_class device_interpreter = {
    .name = "interpreter", .meaning = "the traced kernel on this CPU, with checks", .takes_ptx = false,
    .open = machine_open, .close = machine_close, .alloc = machine_alloc, .release = machine_release,
    .write = machine_write, .read = machine_read, .copy = machine_copy, .fill = machine_fill, .sync = machine_sync,
    .load = machine_load, .unload = machine_unload, .launch = machine_launch, .resources = machine_resources,
    .cubin = machine_cubin, .event_new = machine_event_new, .event_free = machine_event_free,
    .event_record = machine_event_record, .event_seconds = machine_event_seconds,
};
