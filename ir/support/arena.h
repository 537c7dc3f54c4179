/* arena.h: memory that is freed all at once.
 *
 * Everything from tokens to machine IR lives in an arena owned by the compilation. The memory is zeroed and
 * aligned to 16 bytes; nothing is freed one by one. An arena never returns NULL: at its byte limit,
 * or when the allocator below it fails, it calls `fail`, which must not return (it reports and
 * unwinds to the API boundary).
 */
#ifndef NESO_IR_ARENA_H
#define NESO_IR_ARENA_H

#include <stddef.h>

/* Where the bytes come from. `alloc` may return NULL; `free` gets the size that was asked for. */
struct memory {
    void *(*alloc)(void *ctx, size_t bytes);
    void (*free)(void *ctx, void *p, size_t bytes);
    void *ctx;
};

struct arena_chunk;

struct arena {
    const struct memory *mem;
    struct arena_chunk *top; /* newest chunk, linked to the older ones */
    size_t used_bytes;       /* handed out by the allocator below, headers included */
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
/* n * size bytes, checked for overflow. */
void *arena_array(struct arena *a, size_t n, size_t size);
/* A grown copy: the first old_n elements are kept, the rest is zero. */
void *arena_grow(struct arena *a, const void *old, size_t old_n, size_t new_n, size_t size);
char *arena_strndup(struct arena *a, const char *s, size_t n);

struct arena_mark arena_mark(const struct arena *a);
/* Gives back everything allocated since the mark; a zeroed mark gives back everything. */
void arena_reset(struct arena *a, struct arena_mark mark);

#define NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define NEW_ARRAY(arena, n, type) ((type *)arena_array((arena), (size_t)(n), sizeof(type)))

#endif
