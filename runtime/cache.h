/* SPDX-License-Identifier: MIT */
/* cache.h: declares the disk cache of compiled kernels, and the digest that detects damaged entries. An entry
 * consists of a key, which contains everything on which the compiled kernel depends, and a payload, the
 * compiled kernel.
 *
 * A key is text with one field on each line, "name value\n". The keys of all kernels have the same field
 * names in the same order. (Bundles also have keys of autotuning choices, with other field names.) Any number
 * of threads and processes may use one folder at the same time. No function of cache.c calls longjmp or keeps
 * state between calls. */
#ifndef NESO_RUNTIME_CACHE_H
#define NESO_RUNTIME_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk_cache {
    char *folder; /* NULL: the cache is off */
    size_t limit_bytes;
    bool strict; /* a missing entry is an error */
};

enum { CACHE_KEY_MOST = 4096 }; /* size in bytes of a buffer for a key; cache_nearest ignores longer keys */

/* A digest of the compiler's source, which identifies this version. */
extern const char compiler_build[];

/* Returns how many bytes of memory cache_read needs for the entry; 0 if there is no such entry. */
size_t cache_size(const struct disk_cache *c, const char *key);
/* Reads the entry into `memory`, which has the size that cache_size returned, and returns a pointer to the payload in
 * it; NULL if the entry has been removed or is damaged. */
const char *cache_read(const struct disk_cache *c, const char *key, void *memory, size_t bytes, size_t *payload_bytes);
/* Stores a payload as the entry of the key. Does nothing if the cache is off, or if the payload is larger
 * than the limit of the cache. Reports no error if a write fails; the cache then does not change. */
void cache_write(const struct disk_cache *c, const char *key, const void *payload, size_t bytes);

/* Searches the keys of all entries for the key that has the most fields in common with `key`, and copies it
 * to `nearest`. Ignores keys whose first field differs from the first field of `key`. Returns false if all
 * keys are ignored. */
bool cache_nearest(const struct disk_cache *c, const char *key, char nearest[CACHE_KEY_MOST]);
/* A field of a key: its name ends at the first blank, its value at the newline. cache_field_next moves *at to
 * the next field, and returns false at the end. */
struct cache_field {
    const char *name, *value;
    int name_bytes, value_bytes;
};
bool cache_field_next(const char **at, struct cache_field *out);
/* Returns how many fields of two keys are equal; 0 if the first fields differ. */
int cache_likeness(const char *a, const char *b);

/* The state of a SHA-256 digest. */
struct digest {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
};
enum { DIGEST_BYTES = 32 };
void digest_init(struct digest *d);
void digest_add(struct digest *d, const void *p, size_t bytes);
void digest_end(struct digest *d, unsigned char out[DIGEST_BYTES]);
/* Writes the first `digits` (at most 64) hexadecimal digits of the SHA-256 of p to `out`, and a terminating
 * zero. */
void digest_text(const void *p, size_t bytes, int digits, char *out);

#endif
