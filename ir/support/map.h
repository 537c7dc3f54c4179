/* map.h: a hash map from byte strings (or pointers, or integers) to pointers. Iteration is in order of
 * insertion, so that its order never depends on addresses. */
#ifndef NESO_IR_MAP_H
#define NESO_IR_MAP_H

#include "ir/support/arena.h"

#include <stdint.h>

struct map_entry {
    const void *key;
    size_t key_bytes; /* 0: the pointer itself is the key */
    uint64_t hash;
    void *value;
};

struct map {
    struct arena *arena;
    struct map_entry *entries; /* in order of insertion */
    int n, cap;
    int *slots; /* open addressing: index into entries + 1, or 0 */
    int nslots;
};

void map_init(struct map *m, struct arena *a);
/* The address of a key's value: map_get returns NULL if the key is absent, map_at inserts it with the value
 * NULL. Addresses change at the next insertion. Byte keys are not copied: the caller keeps them alive. */
void **map_get(const struct map *m, const void *key, size_t key_bytes);
void **map_at(struct map *m, const void *key, size_t key_bytes);
void **map_get_ptr(const struct map *m, const void *key);
void **map_at_ptr(struct map *m, const void *key);

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);

#endif
