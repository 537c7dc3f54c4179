/* SPDX-License-Identifier: MIT */
/* arena.c: implements arenas (see arena.h) as a list of chunks. A new chunk is twice as large as the previous one, but
 * has at most 4 MiB unless a single allocation is larger. */
#include "ir/support/arena.h"

#include <stdint.h>
#include <string.h>

enum { FIRST_CHUNK_BYTES = 16 * 1024, LARGEST_GROWTH_BYTES = 4 * 1024 * 1024, ALIGN_BYTES = 16 };

struct arena_chunk {
    struct arena_chunk *below;
    size_t bytes; /* size of the payload */
    size_t fill;
};

/* The payload starts at a multiple of ALIGN_BYTES after the header. */
enum { HEADER_BYTES = (sizeof(struct arena_chunk) + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES };

static char *payload(struct arena_chunk *c)
{
    return (char *)c + HEADER_BYTES;
}

void arena_init(struct arena *a, const struct memory *mem, size_t limit_bytes,
                void (*fail)(void *ctx, size_t asked_bytes), void *fail_ctx)
{
    *a = (struct arena){.mem = mem, .limit_bytes = limit_bytes, .fail = fail, .fail_ctx = fail_ctx};
}

static void drop_top(struct arena *a)
{
    struct arena_chunk *c = a->top;
    a->top = c->below;
    a->used_bytes -= HEADER_BYTES + c->bytes;
    a->mem->free(a->mem->ctx, c, HEADER_BYTES + c->bytes);
}

void arena_free(struct arena *a)
{
    while (a->top)
        drop_top(a);
}

static void add_chunk(struct arena *a, size_t bytes)
{
    size_t want = a->top ? 2 * a->top->bytes : FIRST_CHUNK_BYTES;
    if (want > LARGEST_GROWTH_BYTES)
        want = LARGEST_GROWTH_BYTES;
    if (want < bytes)
        want = bytes;
    size_t total = HEADER_BYTES + want;
    if (a->limit_bytes && (total > a->limit_bytes || a->used_bytes > a->limit_bytes - total))
        a->fail(a->fail_ctx, bytes);
    struct arena_chunk *c = a->mem->alloc(a->mem->ctx, total);
    if (!c)
        a->fail(a->fail_ctx, bytes);
    c->below = a->top;
    c->bytes = want;
    c->fill = 0;
    a->top = c;
    a->used_bytes += total;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 4)
        a->fail(a->fail_ctx, bytes);
    bytes = (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    if (!a->top || a->top->bytes - a->top->fill < bytes)
        add_chunk(a, bytes);
    char *p = payload(a->top) + a->top->fill;
    a->top->fill += bytes;
    return memset(p, 0, bytes);
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
    if (size && n > SIZE_MAX / 4 / size)
        a->fail(a->fail_ctx, SIZE_MAX);
    return arena_alloc(a, n * size);
}

void *arena_grow(struct arena *a, const void *old, size_t old_n, size_t new_n, size_t size)
{
    void *p = arena_array(a, new_n, size);
    if (old_n)
        memcpy(p, old, old_n * size);
    return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *p = arena_array(a, n + 1, 1);
    if (n)
        memcpy(p, s, n);
    return p;
}

struct arena_mark arena_mark(const struct arena *a)
{
    return (struct arena_mark){a->top, a->top ? a->top->fill : 0};
}

void arena_reset(struct arena *a, struct arena_mark mark)
{
    while (a->top != mark.chunk)
        drop_top(a);
    if (a->top)
        a->top->fill = mark.fill;
}
