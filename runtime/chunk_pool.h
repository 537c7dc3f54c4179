/* SPDX-License-Identifier: MIT */
/* chunk_pool.h: keeps the freed chunks of arenas for later arenas. A chunk is a piece of memory that an arena
 * allocates.
 *
 * Without the pool, free() would return a chunk of a megabyte to the operating system, which would then have
 * to map and clear new pages for the next compilation. This took 40 % of the time from source to PTX. */
#ifndef NESO_RUNTIME_CHUNK_POOL_H
#define NESO_RUNTIME_CHUNK_POOL_H

#include "ir/support/arena.h"

struct pooled_chunk;

struct chunk_pool {
    const struct memory *below; /* allocates the chunks; must outlive the pool */
    struct pooled_chunk *top;   /* the kept chunks, the last freed first */
    size_t kept_bytes;
    size_t limit_bytes; /* limit of kept_bytes; 0: the pool keeps nothing */
};

/* Returns a kept chunk of this size, or else allocates a new one. Returns NULL if pool->below has no memory even after
 * the pool has returned all kept chunks to it. */
void *chunk_pool_alloc(struct chunk_pool *pool, size_t bytes);
/* Keeps the chunk if the limit allows it, else frees it. */
void chunk_pool_free(struct chunk_pool *pool, void *chunk, size_t bytes);
/* Frees all kept chunks. */
void chunk_pool_empty(struct chunk_pool *pool);

#endif
