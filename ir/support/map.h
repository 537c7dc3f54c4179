/* SPDX-License-Identifier: MIT */
/* map.h: declares a hash map from byte strings (or pointers, or integers) to pointers. Iteration follows the
 * order of insertion, so that no output depends on addresses. */
#ifndef NESO_IR_MAP_H
#define NESO_IR_MAP_H

#include "ir/support/arena.h"

#include <stdint.h>

struct map_entry {
    const void *key;
    size_t key_bytes; /* 0: the key is the pointer `key` itself */
    uint64_t hash;
    void *value;
};

struct map {
    struct arena *arena;
    struct map_entry *entries; /* keys and values, in order of insertion */
    int n, cap;
    int *slots; /* open addressing: 1 + index into entries; 0: empty */
    int nslots;
};

void map_init(struct map *m, struct arena *a);
/* map_get and map_at return the address of a key's value. If the key is absent, map_get returns NULL, and
 * map_at inserts the key with the value NULL. The next insertion may move all values, which makes the
 * returned address invalid. Byte keys are not copied: the caller keeps them alive. For map_get_ptr and
 * map_at_ptr, the key is the pointer itself. */
void **map_get(const struct map *m, const void *key, size_t key_bytes);
void **map_at(struct map *m, const void *key, size_t key_bytes);
void **map_get_ptr(const struct map *m, const void *key);
void **map_at_ptr(struct map *m, const void *key);

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);

#endif
