/* SPDX-License-Identifier: MIT */
/* chunk_pool.c: implements the pool (see chunk_pool.h) as a list. The chunks of every arena have the same
 * sequence of sizes. So it suffices to reuse a kept chunk only for an allocation of exactly its size. */
#include "runtime/chunk_pool.h"

/* The header that the pool writes at the start of a kept chunk. */
struct pooled_chunk {
    struct pooled_chunk *below;
    size_t bytes;
};

void *chunk_pool_alloc(struct chunk_pool *pool, size_t bytes)
{
    for (struct pooled_chunk **at = &pool->top; *at; at = &(*at)->below) {
        struct pooled_chunk *c = *at;
        if (c->bytes != bytes)
            continue;
        *at = c->below;
        pool->kept_bytes -= bytes;
        return c;
    }
    void *chunk = pool->below->alloc(pool->below->ctx, bytes);
    if (chunk || !pool->top)
        return chunk;
    chunk_pool_empty(pool);
    return pool->below->alloc(pool->below->ctx, bytes);
}

void chunk_pool_free(struct chunk_pool *pool, void *chunk, size_t bytes)
{
    if (bytes < sizeof(struct pooled_chunk) || bytes > pool->limit_bytes ||
        pool->kept_bytes > pool->limit_bytes - bytes) {
        pool->below->free(pool->below->ctx, chunk, bytes);
        return;
    }
    struct pooled_chunk *c = chunk;
    *c = (struct pooled_chunk){pool->top, bytes};
    pool->top = c;
    pool->kept_bytes += bytes;
}

void chunk_pool_empty(struct chunk_pool *pool)
{
    while (pool->top) {
        struct pooled_chunk *c = pool->top;
        pool->top = c->below;
        pool->below->free(pool->below->ctx, c, c->bytes);
    }
    pool->kept_bytes = 0;
}
