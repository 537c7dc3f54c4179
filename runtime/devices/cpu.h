/* SPDX-License-Identifier: MIT */
/* cpu.h: implements the device memory of the interpreter and the emulator with memory of this process. The
 * bounds of every allocation are known, and unused bytes separate allocations. Device addresses are pointers
 * of this process. No function works asynchronously: each has finished its work when it returns. The state of
 * such a device (device.state) is a struct cpu. */
#ifndef NESO_RUNTIME_CPU_H
#define NESO_RUNTIME_CPU_H

#include "runtime/devices/device.h"

#include <pthread.h>

/* Memory that programs may access. `name` is the name of the kernel's argument that points into the buffer, for
 * reports. */
struct cpu_buffer {
    uint64_t base;
    uint64_t bytes;
    const char *name;
    struct race_shadow *shadow; /* the recorded accesses (race.h); NULL: accesses are not recorded */
    /* for each byte, a mask of the bits that neither the host nor a kernel has written; NULL: all bits were
     * written, or the device does not track this */
    unsigned char *undefined;
};

struct cpu_allocation {
    struct cpu_buffer buffer;
    char *block; /* the block of memory that contains the buffer, and that cpu.c must free; NULL: the memory
                  * belongs to the caller of device_class.lend */
    size_t bytes; /* the size of the block */
    bool is_defined; /* all bytes count as written by the host, so the buffer's `undefined` is not used */
};

struct cpu {
    pthread_mutex_t lock; /* protects the list */
    struct cpu_allocation *list; /* sorted by base, not overlapping */
    int n, cap;
    /* the race detector, which the device's launches share; NULL: there is none */
    struct race *race;
    bool tracks_undefined; /* the device reports the use of memory that was never written */
    struct emu_counts *counts; /* the emulator's counters; NULL: counting is off */
};

/* Most of the following functions implement the member of device_class with the same name. Exceptions: the
 * `open` of each class calls cpu_open, and cpu_define has a comment of its own. */
bool cpu_open(struct device *d, int ordinal, struct fault *f);
void cpu_close(struct device *d);
bool cpu_alloc(struct device *d, size_t bytes, uint64_t *address, struct fault *f);
bool cpu_release(struct device *d, uint64_t address, struct fault *f);
bool cpu_lend(struct device *d, uint64_t address, size_t bytes, struct fault *f);
bool cpu_extent(struct device *d, uint64_t address, uint64_t *base, uint64_t *bytes);
bool cpu_write(struct device *d, uint64_t to, const void *from, size_t bytes, void *stream, struct fault *f);
bool cpu_read(struct device *d, void *to, uint64_t from, size_t bytes, void *stream, struct fault *f);
bool cpu_copy(struct device *d, uint64_t to, uint64_t from, size_t bytes, void *stream, struct fault *f);
bool cpu_fill(struct device *d, uint64_t to, uint8_t byte, size_t bytes, void *stream, struct fault *f);
/* Records that the host has written the bytes from address `at` on, if the device tracks undefined memory. */
void cpu_define(struct device *d, uint64_t at, uint64_t bytes);
bool cpu_workspace(struct device *d, size_t bytes, void *stream, uint64_t *address, struct fault *f);
void cpu_workspace_end(struct device *d, uint64_t address, void *stream);
bool cpu_copy_rows(struct device *d, const struct row_copy *c, int n, void *stream, struct fault *f);
bool cpu_sync(struct device *d, void *stream, struct fault *f);
void cpu_resources(struct device *d, void *loaded, int *registers, int *local_bytes);
bool cpu_event_new(struct device *d, void **event, struct fault *f);
void cpu_event_free(struct device *d, void *event);
bool cpu_event_record(struct device *d, void *event, void *stream, struct fault *f);
bool cpu_event_seconds(struct device *d, void *from, void *to, double *seconds, struct fault *f);

/* Returns a list of the device's current buffers, sorted by address, and sets *n to their number. The caller
 * frees the list with cpu_buffers_free. Returns NULL if there is no memory. names[k] becomes the name of the
 * buffer into which, or at whose end, pointers[k] points. It may be NULL. `nnames` is the length of names and
 * pointers. */
struct cpu_buffer *cpu_buffers(struct device *d, int nnames, const char *const *names, const uint64_t *pointers,
                               int *n);
void cpu_buffers_free(struct device *d, struct cpu_buffer *list, int n);
/* Returns the last buffer in the list that begins at or below address `at`, even if the buffer ends below
 * `at`; NULL if no buffer does. */
const struct cpu_buffer *cpu_buffer_at(const struct cpu_buffer *list, int n, uint64_t at);

static inline bool cpu_is_inside(const struct cpu_buffer *b, uint64_t at, uint64_t bytes)
{
    return b && at >= b->base && at - b->base <= b->bytes && b->bytes - (at - b->base) >= bytes;
}

/* Returns the time of the system's clock, in nanoseconds since 1970. */
int64_t cpu_nanoseconds(void);

#endif
