/* SPDX-License-Identifier: MIT */
/* files.c: writes the files of a running program (tables, plots) below one folder. Refuses paths outside of this
 * folder.
 *
 *     --output out, save_path='a'           out/a/plot.csv
 *     save_path='..', '/etc', a link        refused
 *
 * A path is opened component by component, beginning at the folder. Symbolic links are refused, because they
 * could lead out of the folder. */
#include "runtime/command/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAVED, NOT_SAVED, NOT_BELOW = NESO_SAVE_OUTSIDE };

/* Returns the part of `path` that is relative to `folder`: the whole path if it is relative, or the part of
 * an absolute path after the folder. Returns NULL if an absolute path is not below the folder. */
static const char *relative(const char *folder, const char *path)
{
    char real[PATH_MAX];
    if (path[0] != '/')
        return path;
    size_t n = realpath(folder, real) ? strlen(real) : 0;
    bool is_root = n == 1;
    return n && strncmp(path, real, n) == 0 && (is_root || path[n] == '/' || !path[n]) ? path + n : NULL;
}

static bool is_link(int folder, const char *name)
{
    struct stat s;
    return fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(s.st_mode);
}

/* Opens the folder `name` inside the open folder `folder`, and closes `folder`. Creates the inner folder if needed.
 * Returns the file descriptor of the inner folder; -1 on failure, with the reason in errno. */
static int enter(int folder, const char *name)
{
    int inner = mkdirat(folder, name, 0777) == 0 || errno == EEXIST
                    ? openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                    : -1;
    int error = errno;
    close(folder);
    errno = error;
    return inner;
}

static int write_in(int folder, const char *name, const char *text, size_t length)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666);
    struct stat s;
    bool good = fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
    for (ssize_t n; good && length; text += n, length -= (size_t)n) {
        n = write(fd, text, length);
        good = n > 0;
        n = good ? n : 0;
    }
    if (fd >= 0 && close(fd) != 0)
        good = false;
    return good ? SAVED : NOT_SAVED;
}

/* Writes the file `path`, which is relative to the open folder `folder`, and closes the folder. If the result
 * is NOT_SAVED, errno has the reason. */
static int walk(int folder, const char *path, const char *text, size_t length)
{
    char name[NAME_MAX + 1];
    int result = NOT_SAVED;
    while (folder >= 0) {
        path += strspn(path, "/");
        size_t n = strcspn(path, "/");
        if (n > NAME_MAX) {
            errno = ENAMETOOLONG;
            break;
        }
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        path += n;
        bool is_last = path[strspn(path, "/")] == '\0';
        if (strcmp(name, "..") == 0 || is_link(folder, name)) {
            result = NOT_BELOW;
            break;
        }
        if (is_last) {
            result = write_in(folder, name, text, length);
            break;
        }
        if (strcmp(name, ".") != 0)
            folder = enter(folder, name);
    }
    int error = errno;
    if (folder >= 0)
        close(folder);
    errno = error;
    return result;
}

int save_below(const char *folder, const char *path, const char *text, size_t length)
{
    const char *rest = relative(folder, path);
    if (!rest)
        return NOT_BELOW;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return complain("cannot make the folder %s: %s", folder, strerror(errno)), NOT_SAVED;
    int result = walk(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rest, text, length);
    if (result == NOT_SAVED)
        complain("cannot write %s: %s", path, strerror(errno));
    return result;
}

/* Returns whether the path names a choice of autotuning in the folder `cache`. */
static bool is_choice(const char *cache, const char *path)
{
    size_t n = cache ? strlen(cache) : 0, length = strlen(path);
    static const char ending[] = ".autotune";
    return n && strncmp(path, cache, n) == 0 && path[n] == '/' && !strchr(path + n + 1, '/') &&
           length >= sizeof ending && strcmp(path + length - (sizeof ending - 1), ending) == 0;
}

int save_choice(const char *cache, const char *path, const char *text, size_t length)
{
    if (!is_choice(cache, path))
        return NOT_BELOW;
    return save_below(cache, path + strlen(cache) + 1, text, length);
}
