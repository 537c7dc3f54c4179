/* SPDX-License-Identifier: MIT */
/* arena.h: declares an allocator whose memory is freed all at once.
 *
 * Everything from tokens to machine IR lives in an arena owned by the compilation. The memory is zeroed and aligned
 * to 16 bytes; single allocations cannot be freed. An allocation never returns NULL: if the allocation would
 * exceed the arena's byte limit, or if the underlying allocator fails, the arena calls `fail`. This callback
 * must not return: it reports an error, and unwinds to the API boundary.
 */
#ifndef NESO_IR_ARENA_H
#define NESO_IR_ARENA_H

#include <stddef.h>

/* The underlying allocator. `alloc` may return NULL; `free` gets the size that was passed to `alloc`. */
struct memory {
    void *(*alloc)(void *ctx, size_t bytes);
    void (*free)(void *ctx, void *p, size_t bytes);
    void *ctx;
};

struct arena_chunk;

struct arena {
    const struct memory *mem;
    struct arena_chunk *top; /* the newest chunk, which links to the older ones */
    size_t used_bytes;       /* bytes from the underlying allocator, headers included */
    size_t limit_bytes;      /* 0: no limit */
    void (*fail)(void *ctx, size_t asked_bytes);
    void *fail_ctx;
};

struct arena_mark {
    struct arena_chunk *chunk;
    size_t fill;
};

void arena_init(struct arena *a, const struct memory *mem, size_t limit_bytes,
                void (*fail)(void *ctx, size_t asked_bytes), void *fail_ctx);
void arena_free(struct arena *a);

void *arena_alloc(struct arena *a, size_t bytes);
/* Allocates n * size bytes; an overflow of the product is an error. */
void *arena_array(struct arena *a, size_t n, size_t size);
/* Returns a larger copy of an array: the first old_n elements are copied, the others are zero. */
void *arena_grow(struct arena *a, const void *old, size_t old_n, size_t new_n, size_t size);
char *arena_strndup(struct arena *a, const char *s, size_t n);

struct arena_mark arena_mark(const struct arena *a);
/* Frees everything that was allocated since the mark; with a zeroed mark, frees everything. */
void arena_reset(struct arena *a, struct arena_mark mark);

#define NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define NEW_ARRAY(arena, n, type) ((type *)arena_array((arena), (size_t)(n), sizeof(type)))

#endif
