/* cache.h: the cache of compiled kernels on disk, by keys that contain everything they depend on; and the
 * digest that verifies entries.
 *
 * A key is text, one field a line, "name value\n"; all entries of a kind have the same names in the same
 * order. Any number of threads and processes may use one folder; no function here unwinds or keeps state
 * between calls. */
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

enum { CACHE_KEY_MOST = 4096 }; /* bytes of a key that are compared to explain a miss */

/* A digest of the compiler's source, which identifies this version. */
extern const char compiler_build[];

/* How many bytes of memory cache_read needs for the entry; 0: there is no such entry. */
size_t cache_size(const struct disk_cache *c, const char *key);
/* Reads the entry into memory of that size, and returns its payload inside. NULL: the entry is gone or
 * damaged. */
const char *cache_read(const struct disk_cache *c, const char *key, void *memory, size_t bytes, size_t *payload_bytes);
/* Stores a payload. A failure to write is not an error: the entry is then missing. */
void cache_write(const struct disk_cache *c, const char *key, const void *payload, size_t bytes);

/* The key of the entry with the most fields equal to `key`'s, the first one included; false: there is
 * none. */
bool cache_nearest(const struct disk_cache *c, const char *key, char nearest[CACHE_KEY_MOST]);
/* A field: its name ends at the first blank, its value at the line's end. Moves *at to the next field;
 * returns false at the end. */
struct cache_field {
    const char *name, *value;
    int name_bytes, value_bytes;
};
bool cache_field_next(const char **at, struct cache_field *out);

/* SHA-256. */
struct digest {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
};
enum { DIGEST_BYTES = 32 };
void digest_init(struct digest *d);
void digest_add(struct digest *d, const void *p, size_t bytes);
void digest_end(struct digest *d, unsigned char out[DIGEST_BYTES]);
/* The first `digits` (up to 64) hexadecimal digits and a terminator. */
void digest_text(const void *p, size_t bytes, int digits, char *out);

#endif
