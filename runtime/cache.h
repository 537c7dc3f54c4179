/* cache.h: files that keep what was compiled, by a key that says everything it depends on; and the
 * digest they are checked by.
 *
 * A key is text, one field a line, "name value\n", the same names in the same order for all entries of
 * a kind. Any number of threads and processes may use one folder; nothing here unwinds or holds
 * anything between calls. */
#ifndef NESO_RUNTIME_CACHE_H
#define NESO_RUNTIME_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk_cache {
    char *folder; /* NULL: nothing is kept */
    size_t limit_bytes;
    bool strict; /* what is not there is an error */
};

enum { CACHE_KEY_MOST = 4096 }; /* bytes of a key that are looked at to explain a miss */

/* Which compiler this is: a digest of its source. */
extern const char compiler_build[];

/* The bytes of memory that reading an entry takes; 0: there is none. */
size_t cache_size(const struct disk_cache *c, const char *key);
/* Reads the entry into memory of that size; its payload stands inside. NULL: it is gone, or is
 * not as it was written. */
const char *cache_read(const struct disk_cache *c, const char *key, void *memory, size_t bytes, size_t *payload_bytes);
/* Keeps a payload. A disk that refuses is no error: then it is not kept. */
void cache_write(const struct disk_cache *c, const char *key, const void *payload, size_t bytes);

/* The key of the entry that has most fields of `key`, and its first one; false: none is like it. */
bool cache_nearest(const struct disk_cache *c, const char *key, char nearest[CACHE_KEY_MOST]);
/* A field: its name ends at the first blank, its value at the line's end. Moves *at to the next;
 * false: there is none. */
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
/* The first `digits` (up to 64) hexadecimal ones and a terminator. */
void digest_text(const void *p, size_t bytes, int digits, char *out);

#endif
