/* SPDX-License-Identifier: MIT */
/* cache.c: stores each entry of the cache in a separate file on disk. The file's name is the digest of the entry's
 * key.
 *
 *     FOLDER/6d1f…c2.neso:   "neso cache 1\n"  key  "\n"  payload  digest of all preceding bytes
 *
 * A writer writes a temporary file and renames it, so that a reader sees a whole entry or none, even if other
 * processes write or a writer is killed. A reader accepts a file only if it begins with the key and ends with the
 * right digest. A reader updates the file's time stamp, so the entries with the oldest time stamps are the
 * least recently used. From time to time a writer removes temporary files of killed writers. It then removes
 * the oldest entries until the total size of the entries is within the limit. */
#include "runtime/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char magic[] = "neso cache 1\n", ending[] = ".neso", unfinished[] = ".neso-";
enum { MAGIC_BYTES = sizeof magic - 1, NAME_DIGITS = 40, UNFINISHED_SECONDS = 600 };

/* Sets `path` to the path of the key's entry. Returns false if the path does not fit into PATH_MAX bytes. */
static bool entry_path(const struct disk_cache *c, const char *key, char path[PATH_MAX])
{
    char name[NAME_DIGITS + 1];
    digest_text(key, strlen(key), NAME_DIGITS, name);
    return snprintf(path, PATH_MAX, "%s/%s%s", c->folder, name, ending) < PATH_MAX;
}

/* -- reading -- */

size_t cache_size(const struct disk_cache *c, const char *key)
{
    char path[PATH_MAX];
    struct stat s;
    if (!c->folder || !entry_path(c, key, path) || stat(path, &s) != 0 || !S_ISREG(s.st_mode))
        return 0;
    return (size_t)s.st_size;
}

/* Reads the whole file, which must have `bytes` bytes, and sets the file's time stamp to the current time.
 * This marks the file as the most recently used one. */
static bool read_all(const char *path, char *to, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t n = 0;
    ssize_t got = 1;
    while (got > 0 && n < bytes) {
        got = read(fd, to + n, bytes - n);
        n += got > 0 ? (size_t)got : 0;
    }
    char more;
    bool good = n == bytes && read(fd, &more, 1) == 0;
    if (good)
        futimens(fd, NULL);
    close(fd);
    return good;
}

static void sum_of(const char *p, size_t bytes, unsigned char sum[DIGEST_BYTES])
{
    struct digest d;
    digest_init(&d);
    digest_add(&d, p, bytes);
    digest_end(&d, sum);
}

const char *cache_read(const struct disk_cache *c, const char *key, void *memory, size_t bytes,
                       size_t *payload_bytes)
{
    char path[PATH_MAX];
    unsigned char sum[DIGEST_BYTES];
    const char *s = memory;
    size_t key_bytes = strlen(key), head = MAGIC_BYTES + key_bytes + 1;
    if (bytes < head + DIGEST_BYTES || !entry_path(c, key, path) || !read_all(path, memory, bytes))
        return NULL;
    if (memcmp(s, magic, MAGIC_BYTES) != 0 || memcmp(s + MAGIC_BYTES, key, key_bytes) != 0 ||
        s[head - 1] != '\n')
        return NULL;
    sum_of(s, bytes - DIGEST_BYTES, sum);
    if (memcmp(s + bytes - DIGEST_BYTES, sum, DIGEST_BYTES) != 0)
        return NULL;
    *payload_bytes = bytes - head - DIGEST_BYTES;
    return s + head;
}

/* -- removing entries -- */

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

struct census {
    size_t bytes;                          /* the total size of the entries */
    long oldest_second, oldest_nanosecond; /* time stamp of the oldest entry */
    /* the file name of the oldest entry; "": there are no entries */
    char oldest[NAME_DIGITS + sizeof ending];
};

/* Sets `out` to the total size of the entries and to the oldest entry. Also removes temporary files that are
 * older than UNFINISHED_SECONDS, because their writers no longer run. */
static void take_census(const struct disk_cache *c, struct census *out)
{
    DIR *folder = opendir(c->folder);
    *out = (struct census){.oldest_second = LONG_MAX};
    if (!folder)
        return;
    for (const struct dirent *e; (e = readdir(folder)) != NULL;) {
        struct stat s;
        bool is_entry = ends_with(e->d_name, ending) && strlen(e->d_name) < sizeof out->oldest;
        bool is_unfinished = strncmp(e->d_name, unfinished, sizeof unfinished - 1) == 0;
        if ((!is_entry && !is_unfinished) || fstatat(dirfd(folder), e->d_name, &s, 0) != 0)
            continue;
        if (is_unfinished && s.st_mtim.tv_sec + UNFINISHED_SECONDS < time(NULL))
            unlinkat(dirfd(folder), e->d_name, 0);
        if (!is_entry)
            continue;
        out->bytes += (size_t)s.st_size;
        if (s.st_mtim.tv_sec > out->oldest_second ||
            (s.st_mtim.tv_sec == out->oldest_second && s.st_mtim.tv_nsec >= out->oldest_nanosecond))
            continue;
        out->oldest_second = s.st_mtim.tv_sec;
        out->oldest_nanosecond = s.st_mtim.tv_nsec;
        memcpy(out->oldest, e->d_name, strlen(e->d_name) + 1);
    }
    closedir(folder);
}

/* Removes the oldest entries until the total size is within the limit. A reader that has opened a removed
 * file can still read all of this file. */
static void make_room(const struct disk_cache *c)
{
    char path[PATH_MAX];
    struct census now;
    for (take_census(c, &now); now.bytes > c->limit_bytes && now.oldest[0]; take_census(c, &now))
        if (snprintf(path, sizeof path, "%s/%s", c->folder, now.oldest) >= PATH_MAX || unlink(path) != 0)
            return;
}

/* -- writing -- */

static bool write_all(int fd, const void *p, size_t bytes)
{
    for (size_t n = 0; n < bytes;) {
        ssize_t put = write(fd, (const char *)p + n, bytes - n);
        if (put < 0)
            return false;
        n += (size_t)put;
    }
    return true;
}

/* Creates the folder, and its parents. */
static void make_folder(const char *path)
{
    char part[PATH_MAX];
    for (const char *s = path; *s; s++)
        if (s > path && *s == '/' && snprintf(part, sizeof part, "%.*s", (int)(s - path), path) < PATH_MAX)
            mkdir(part, 0777);
    mkdir(path, 0777);
}

static bool write_entry(int fd, const char *key, const void *payload, size_t bytes)
{
    struct digest d;
    unsigned char sum[DIGEST_BYTES];
    const struct {
        const void *at;
        size_t bytes;
    } parts[] = {{magic, MAGIC_BYTES}, {key, strlen(key)}, {"\n", 1}, {payload, bytes}};
    digest_init(&d);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        digest_add(&d, parts[i].at, parts[i].bytes);
        if (!write_all(fd, parts[i].at, parts[i].bytes))
            return false;
    }
    digest_end(&d, sum);
    return write_all(fd, sum, sizeof sum);
}

/* Opens a new temporary file in the folder of the entries; creates the folder if it does not exist. Sets
 * `path` to the file's path, and returns its file descriptor; -1 on failure. */
static int open_unfinished(const struct disk_cache *c, char path[PATH_MAX])
{
    for (int attempt = 0; attempt < 2; attempt++) {
        if (snprintf(path, PATH_MAX, "%s/%sXXXXXX", c->folder, unfinished) >= PATH_MAX)
            return -1;
        int fd = mkstemp(path);
        if (fd >= 0 || errno != ENOENT)
            return fd;
        make_folder(c->folder);
    }
    return -1;
}

void cache_write(const struct disk_cache *c, const char *key, const void *payload, size_t bytes)
{
    char path[PATH_MAX], mine[PATH_MAX];
    if (!c->folder || bytes > c->limit_bytes || !entry_path(c, key, path))
        return;
    int fd = open_unfinished(c, mine);
    if (fd < 0)
        return;
    bool good = write_entry(fd, key, payload, bytes);
    good = close(fd) == 0 && good;
    if (!good || rename(mine, path) != 0) {
        unlink(mine);
        return;
    }
    /* Counting the entries of a large folder takes long. So a writer counts them only if its entry is large relative
     * to the limit, or if the last digit of the entry's file name is 0. This digit is 0 for one entry in 16. */
    if (bytes > c->limit_bytes / 64 || ends_with(path, "0.neso"))
        make_room(c);
}

/* -- the nearest key -- */

bool cache_field_next(const char **at, struct cache_field *out)
{
    const char *s = *at, *end = strchr(s, '\n'), *blank = strchr(s, ' ');
    if (!end || !blank || blank > end)
        return false;
    *out = (struct cache_field){s, blank + 1, (int)(blank - s), (int)(end - blank - 1)};
    *at = end + 1;
    return true;
}

static bool same(const struct cache_field *a, const struct cache_field *b)
{
    return a->name_bytes == b->name_bytes && a->value_bytes == b->value_bytes &&
           memcmp(a->name, b->name, (size_t)(a->value - a->name + a->value_bytes)) == 0;
}

int cache_likeness(const char *a, const char *b)
{
    struct cache_field x, y;
    int n = 0;
    for (int i = 0; cache_field_next(&a, &x) && cache_field_next(&b, &y); i++) {
        if (i == 0 && !same(&x, &y))
            return 0;
        n += same(&x, &y);
    }
    return n;
}

/* Reads the key at the head of an entry; "" if there is none. */
static void read_key(int folder, const char *name, char key[CACHE_KEY_MOST])
{
    char head[MAGIC_BYTES + CACHE_KEY_MOST];
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof head - 1) : 0;
    if (fd >= 0)
        close(fd);
    head[n > 0 ? n : 0] = '\0';
    char *end = strstr(head, "\n\n");
    bool good = end && strncmp(head, magic, MAGIC_BYTES) == 0;
    if (good)
        end[1] = '\0';
    snprintf(key, CACHE_KEY_MOST, "%s", good ? head + MAGIC_BYTES : "");
}

bool cache_nearest(const struct disk_cache *c, const char *key, char nearest[CACHE_KEY_MOST])
{
    char found[CACHE_KEY_MOST];
    int most = 0;
    DIR *folder = c->folder ? opendir(c->folder) : NULL;
    if (!folder)
        return false;
    for (const struct dirent *e; (e = readdir(folder)) != NULL;) {
        if (!ends_with(e->d_name, ending))
            continue;
        read_key(dirfd(folder), e->d_name, found);
        int n = cache_likeness(key, found);
        /* among equally near entries, take the first by name, so that the result does not depend on the folder's
         * order */
        if (n > most || (n == most && n > 0 && strcmp(found, nearest) < 0)) {
            most = n;
            memcpy(nearest, found, sizeof found);
        }
    }
    closedir(folder);
    return most > 0;
}
