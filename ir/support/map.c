/* SPDX-License-Identifier: MIT */
/* map.c: implements the hash map of map.h by open addressing. The slots contain indices into `entries`, which
 * are in order of insertion. Entries are never removed. */
#include "ir/support/map.h"

#include <stdbool.h>
#include <string.h>

enum { FIRST_SLOTS = 16 };

void map_init(struct map *m, struct arena *a)
{
    *m = (struct map){.arena = a};
}

/* The finalizer of a multiply-and-shift hash: every input bit affects the low bits, which choose the slot. */
static uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed)
{
    const unsigned char *at = p;
    uint64_t h = mix(seed + n);
    for (; n >= 8; at += 8, n -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        h = mix(h ^ word);
    }
    uint64_t rest = 0;
    if (n)
        memcpy(&rest, at, n);
    return mix(h ^ rest);
}

static uint64_t hash_key(const void *key, size_t key_bytes)
{
    return key_bytes ? hash_bytes(key, key_bytes, 0) : mix((uint64_t)(uintptr_t)key);
}

static bool key_is(const struct map_entry *e, const void *key, size_t key_bytes, uint64_t hash)
{
    if (e->hash != hash || e->key_bytes != key_bytes)
        return false;
    return key_bytes ? memcmp(e->key, key, key_bytes) == 0 : e->key == key;
}

/* Returns the slot of the key, or the empty slot where the key would be inserted. */
static int *find_slot(const struct map *m, const void *key, size_t key_bytes, uint64_t hash)
{
    size_t mask = (size_t)m->nslots - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        int *slot = &m->slots[i];
        if (!*slot || key_is(&m->entries[*slot - 1], key, key_bytes, hash))
            return slot;
    }
}

static void grow(struct map *m)
{
    int cap = m->cap ? 2 * m->cap : FIRST_SLOTS / 2;
    m->entries = arena_grow(m->arena, m->entries, (size_t)m->n, (size_t)cap, sizeof *m->entries);
    m->cap = cap;
    m->nslots = 2 * cap;
    m->slots = NEW_ARRAY(m->arena, m->nslots, int);
    for (int i = 0; i < m->n; i++) {
        const struct map_entry *e = &m->entries[i];
        *find_slot(m, e->key, e->key_bytes, e->hash) = i + 1;
    }
}

void **map_get(const struct map *m, const void *key, size_t key_bytes)
{
    if (!m->n)
        return NULL;
    int i = *find_slot(m, key, key_bytes, hash_key(key, key_bytes));
    return i ? &m->entries[i - 1].value : NULL;
}

void **map_at(struct map *m, const void *key, size_t key_bytes)
{
    void **found = map_get(m, key, key_bytes);
    if (found)
        return found;
    if (m->n == m->cap)
        grow(m);
    uint64_t hash = hash_key(key, key_bytes);
    m->entries[m->n] = (struct map_entry){.key = key, .key_bytes = key_bytes, .hash = hash};
    *find_slot(m, key, key_bytes, hash) = m->n + 1;
    return &m->entries[m->n++].value;
}

void **map_get_ptr(const struct map *m, const void *key)
{
    return map_get(m, key, 0);
}

void **map_at_ptr(struct map *m, const void *key)
{
    return map_at(m, key, 0);
}
