/* cpu.h: memory of this process as a device's memory, which the interpreter and the emulator share.
 * Allocations have known bounds and unused bytes between them; addresses are pointers; every function
 * completes its work before it returns. A device's state begins with a struct cpu. */
#ifndef NESO_RUNTIME_CPU_H
#define NESO_RUNTIME_CPU_H

#include "runtime/devices/device.h"

#include <pthread.h>

/* Memory that programs may access; reports name it after the argument. */
struct cpu_buffer {
    uint64_t base;
    uint64_t bytes;
    const char *name;
    struct race_shadow *shadow; /* records accesses; NULL: not watched */
};

struct cpu_allocation {
    struct cpu_buffer buffer;
    char *block; /* the allocator's block, `bytes` long; NULL: the memory is lent */
    size_t bytes;
};

struct cpu {
    pthread_mutex_t lock; /* protects the list */
    struct cpu_allocation *list; /* sorted by base, not overlapping */
    int n, cap;
    /* of the interpreter, shared by its launches, with the allocations' shadows; NULL: none */
    struct race *race;
    struct emu_counts *counts; /* of the emulator; NULL: counting is off */
};

/* The functions of a device_class, except for `open`, since only the class knows its name. */
bool cpu_open(struct device *d, int ordinal, struct fault *f);
void cpu_close(struct device *d);
bool cpu_alloc(struct device *d, size_t bytes, uint64_t *address, struct fault *f);
bool cpu_release(struct device *d, uint64_t address, struct fault *f);
bool cpu_lend(struct device *d, uint64_t address, size_t bytes, struct fault *f);
bool cpu_write(struct device *d, uint64_t to, const void *from, size_t bytes, void *stream, struct fault *f);
bool cpu_read(struct device *d, void *to, uint64_t from, size_t bytes, void *stream, struct fault *f);
bool cpu_copy(struct device *d, uint64_t to, uint64_t from, size_t bytes, void *stream, struct fault *f);
bool cpu_fill(struct device *d, uint64_t to, uint8_t byte, size_t bytes, void *stream, struct fault *f);
bool cpu_sync(struct device *d, void *stream, struct fault *f);
void cpu_resources(struct device *d, void *loaded, int *registers, int *local_bytes);
bool cpu_event_new(struct device *d, void **event, struct fault *f);
void cpu_event_free(struct device *d, void *event);
bool cpu_event_record(struct device *d, void *event, void *stream, struct fault *f);
bool cpu_event_seconds(struct device *d, void *from, void *to, double *seconds, struct fault *f);

/* A sorted snapshot of the buffers in memory of the device's allocator, to be freed with its count. NULL: no
 * memory. `pointers[k]` points into the buffer that gets names[k]; a NULL name is skipped. */
struct cpu_buffer *cpu_buffers(struct device *d, int nnames, const char *const *names, const uint64_t *pointers, int *n);
void cpu_buffers_free(struct device *d, struct cpu_buffer *list, int n);
/* The last buffer that does not begin above `at`; NULL: none. */
const struct cpu_buffer *cpu_buffer_at(const struct cpu_buffer *list, int n, uint64_t at);

static inline bool cpu_is_inside(const struct cpu_buffer *b, uint64_t at, uint64_t bytes)
{
    return b && at >= b->base && at - b->base <= b->bytes && b->bytes - (at - b->base) >= bytes;
}

/* The time by the system's clock. */
int64_t cpu_nanoseconds(void);

#endif
