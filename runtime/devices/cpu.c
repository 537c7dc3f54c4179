/* SPDX-License-Identifier: MIT */
/* cpu.c: implements the device memory of the interpreter and the emulator with memory of this process. */
#include "runtime/devices/emulator/machine.h"
#include "runtime/devices/interpreter/interpreter.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Two allocations are separated by at least GUARD_BYTES unused bytes, so that an access just past the end of an
 * allocation is detected. */
enum { ADDRESS_ALIGN = 256, GUARD_BYTES = 256 };

bool cpu_open(struct device *d, int ordinal, struct fault *f)
{
    const char *name = d->class->name;
    if (ordinal != 0)
        return fault_set(f, NESO_NO_DEVICE, ERR_device_unknown, "'%s:%d' (there is one %s)", name, ordinal,
                         name);
    struct cpu *m = d->mem->alloc(d->mem->ctx, sizeof *m);
    if (!m)
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "for the %s", name);
    *m = (struct cpu){0};
    pthread_mutex_init(&m->lock, NULL);
    d->state = m;
    return true;
}

static void free_allocation(struct device *d, struct cpu_allocation *a)
{
    race_shadow_free(a->buffer.shadow, d->mem);
    if (a->buffer.undefined)
        d->mem->free(d->mem->ctx, a->buffer.undefined, a->buffer.bytes);
    if (a->block)
        d->mem->free(d->mem->ctx, a->block, a->bytes);
}

void cpu_close(struct device *d)
{
    struct cpu *m = d->state;
    for (int i = 0; i < m->n; i++)
        free_allocation(d, &m->list[i]);
    if (m->list)
        d->mem->free(d->mem->ctx, m->list, (size_t)m->cap * sizeof *m->list);
    race_free(m->race);
    emu_counts_free(m->counts);
    pthread_mutex_destroy(&m->lock);
    d->mem->free(d->mem->ctx, m, sizeof *m);
}

static bool grow(struct device *d, struct cpu *m)
{
    int cap = m->cap ? 2 * m->cap : 16;
    struct cpu_allocation *list = d->mem->alloc(d->mem->ctx, (size_t)cap * sizeof *list);
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

/* Returns the index of the first allocation whose base is at least `base`. */
static int position(const struct cpu *m, uint64_t base)
{
    int i = 0;
    while (i < m->n && m->list[i].buffer.base < base)
        i++;
    return i;
}

static bool insert(struct device *d, struct cpu *m, struct cpu_allocation a)
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

bool cpu_alloc(struct device *d, size_t bytes, uint64_t *address, struct fault *f)
{
    size_t total = bytes + ADDRESS_ALIGN + 2 * GUARD_BYTES;
    struct cpu_allocation a = {.block = total > bytes ? d->mem->alloc(d->mem->ctx, total) : NULL,
                               .bytes = total};
    if (!a.block)
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "for %zu bytes", bytes);
    uint64_t base = (uint64_t)(uintptr_t)a.block + GUARD_BYTES;
    base += (ADDRESS_ALIGN - base % ADDRESS_ALIGN) % ADDRESS_ALIGN;
    a.buffer = (struct cpu_buffer){.base = base,
                                   .bytes = bytes,
                                   .shadow = ((struct cpu *)d->state)->race ? race_shadow_new(d->mem) : NULL};
    if (!insert(d, d->state, a)) {
        free_allocation(d, &a);
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "for %zu bytes", bytes);
    }
    *address = base;
    return true;
}

/* Returns whether the `bytes` bytes at address `base` are outside of every allocation. The caller holds the lock. */
static bool is_free(const struct cpu *m, uint64_t base, uint64_t bytes)
{
    int i = position(m, base);
    if (i < m->n && m->list[i].buffer.base - base < (bytes ? bytes : 1))
        return false;
    return i == 0 || base - m->list[i - 1].buffer.base >= m->list[i - 1].buffer.bytes;
}

bool cpu_lend(struct device *d, uint64_t address, size_t bytes, struct fault *f)
{
    struct cpu *m = d->state;
    struct cpu_allocation a = {.buffer = {.base = address, .bytes = bytes}, .is_defined = true};
    pthread_mutex_lock(&m->lock);
    bool is_new = is_free(m, address, bytes);
    pthread_mutex_unlock(&m->lock);
    if (!is_new)
        return fault_set(f, NESO_INVALID, ERR_device_lent, "%zu bytes at 0x%llx", bytes,
                         (unsigned long long)address);
    a.buffer.shadow = m->race ? race_shadow_new(d->mem) : NULL;
    if (insert(d, m, a))
        return true;
    free_allocation(d, &a);
    return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "for a lent address");
}

bool cpu_release(struct device *d, uint64_t address, struct fault *f)
{
    struct cpu *m = d->state;
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

bool cpu_extent(struct device *d, uint64_t address, uint64_t *base, uint64_t *bytes)
{
    struct cpu *m = d->state;
    pthread_mutex_lock(&m->lock);
    int i = position(m, address);
    bool is_base = i < m->n && m->list[i].buffer.base == address;
    const struct cpu_buffer *b = is_base ? &m->list[i].buffer : i > 0 ? &m->list[i - 1].buffer : NULL;
    bool found = b && address - b->base <= b->bytes;
    if (found)
        *base = b->base, *bytes = b->bytes;
    pthread_mutex_unlock(&m->lock);
    return found;
}

/* -- undefined memory -- */

/* Creates a->buffer.undefined if it does not exist, and the host has not written all bytes of the allocation
 * at once. If there is no memory for a->buffer.undefined, all bytes count as written. */
static void need_record(struct device *d, struct cpu_allocation *a)
{
    if (a->is_defined || a->buffer.undefined)
        return;
    a->buffer.undefined = a->buffer.bytes ? d->mem->alloc(d->mem->ctx, a->buffer.bytes) : NULL;
    a->is_defined = !a->buffer.undefined;
    if (!a->is_defined)
        memset(a->buffer.undefined, 0xff, a->buffer.bytes);
}

void cpu_define(struct device *d, uint64_t at, uint64_t bytes)
{
    struct cpu *m = d->state;
    if (!m->tracks_undefined)
        return;
    pthread_mutex_lock(&m->lock);
    int i = position(m, at + 1) - 1;
    struct cpu_allocation *a = i >= 0 ? &m->list[i] : NULL;
    if (a && !a->is_defined && cpu_is_inside(&a->buffer, at, bytes)) {
        a->is_defined = bytes == a->buffer.bytes;
        need_record(d, a);
        if (!a->is_defined)
            memset(a->buffer.undefined + (at - a->buffer.base), 0, bytes);
    }
    pthread_mutex_unlock(&m->lock);
}

/* -- memory: addresses are pointers -- */

bool cpu_write(struct device *d, uint64_t to, const void *from, size_t bytes, void *stream, struct fault *f)
{
    (void)stream, (void)f;
    memcpy((void *)(uintptr_t)to, from, bytes);
    cpu_define(d, to, bytes);
    return true;
}

bool cpu_read(struct device *d, void *to, uint64_t from, size_t bytes, void *stream, struct fault *f)
{
    (void)d, (void)stream, (void)f;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return true;
}

bool cpu_copy(struct device *d, uint64_t to, uint64_t from, size_t bytes, void *stream, struct fault *f)
{
    (void)stream, (void)f;
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    cpu_define(d, to, bytes);
    return true;
}

bool cpu_fill(struct device *d, uint64_t to, uint8_t byte, size_t bytes, void *stream, struct fault *f)
{
    (void)stream, (void)f;
    memset((void *)(uintptr_t)to, byte, bytes);
    cpu_define(d, to, bytes);
    return true;
}

bool cpu_workspace(struct device *d, size_t bytes, void *stream, uint64_t *address, struct fault *f)
{
    (void)stream;
    return cpu_alloc(d, bytes, address, f);
}

void cpu_workspace_end(struct device *d, uint64_t address, void *stream)
{
    struct fault ignored;
    (void)stream;
    cpu_release(d, address, &ignored);
}

bool cpu_copy_rows(struct device *d, const struct row_copy *c, int n, void *stream, struct fault *f)
{
    for (const struct row_copy *end = c + n; c < end; c++)
        for (uint64_t i = 0; i < c->rows; i++)
            cpu_copy(d, c->to + i * c->to_pitch, c->from + i * c->from_pitch, (size_t)c->bytes, stream, f);
    return true;
}

bool cpu_sync(struct device *d, void *stream, struct fault *f)
{
    (void)d, (void)stream, (void)f;
    return true;
}

/* -- queries about a kernel; a CPU cannot answer them -- */

void cpu_resources(struct device *d, void *loaded, int *registers, int *local_bytes)
{
    (void)d, (void)loaded;
    *registers = *local_bytes = -1;
}

/* -- events -- */

bool cpu_event_new(struct device *d, void **event, struct fault *f)
{
    *event = d->mem->alloc(d->mem->ctx, sizeof(struct timespec));
    return *event || fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "%s", "for an event");
}

void cpu_event_free(struct device *d, void *event)
{
    d->mem->free(d->mem->ctx, event, sizeof(struct timespec));
}

bool cpu_event_record(struct device *d, void *event, void *stream, struct fault *f)
{
    (void)d, (void)stream, (void)f;
    clock_gettime(CLOCK_MONOTONIC, event);
    return true;
}

bool cpu_event_seconds(struct device *d, void *from, void *to, double *seconds, struct fault *f)
{
    (void)d, (void)f;
    const struct timespec *a = from, *b = to;
    *seconds = (double)(b->tv_sec - a->tv_sec) + 1e-9 * (double)(b->tv_nsec - a->tv_nsec);
    return true;
}

/* -- the buffers of a launch -- */

struct cpu_buffer *cpu_buffers(struct device *d, int nnames, const char *const *names,
                               const uint64_t *pointers, int *n)
{
    struct cpu *m = d->state;
    pthread_mutex_lock(&m->lock);
    *n = m->n;
    struct cpu_buffer *list = d->mem->alloc(d->mem->ctx, (size_t)(m->n + 1) * sizeof *list);
    for (int i = 0; list && i < m->n; i++) {
        if (m->tracks_undefined)
            need_record(d, &m->list[i]);
        list[i] = m->list[i].buffer;
        list[i].undefined = m->list[i].is_defined ? NULL : list[i].undefined;
        for (int k = nnames - 1; k >= 0; k--)
            if (names[k] && pointers[k] >= list[i].base && pointers[k] <= list[i].base + list[i].bytes)
                list[i].name = names[k];
    }
    pthread_mutex_unlock(&m->lock);
    return list;
}

void cpu_buffers_free(struct device *d, struct cpu_buffer *list, int n)
{
    d->mem->free(d->mem->ctx, list, (size_t)(n + 1) * sizeof *list);
}

const struct cpu_buffer *cpu_buffer_at(const struct cpu_buffer *list, int n, uint64_t at)
{
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (list[mid].base <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? &list[lo - 1] : NULL;
}

int64_t cpu_nanoseconds(void)
{
    enum { NANOSECONDS = 1000000000 };
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (int64_t)t.tv_sec * NANOSECONDS + t.tv_nsec;
}
