/* SPDX-License-Identifier: MIT */
/* cache.c: tests the cache on disk. 64 processes that compile one kernel must leave one entry and report no error. If
 * any byte of an entry is changed, or the entry is truncated anywhere, a compilation must still give the right PTX. A
 * strict context must report a missing entry, and read the same PTX and resources from an existing entry. The folder
 * must stay within its limit. */
#define _DEFAULT_SOURCE
#include "neso.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char source[] = "import triton\n"
                             "import triton.language as tl\n"
                             "\n"
                             "@triton.jit\n"
                             "def scale(X, n, BLOCK: tl.constexpr):\n"
                             "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
                             "    tl.store(X + i, 2 * tl.load(X + i, mask=i < n), mask=i < n)\n";

enum { PROCESSES = 64, ENTRY_MOST = 1 << 16, PTX_MOST = 1 << 16 };
static char folder[] = "/tmp/neso-cache-XXXXXX", entry[512];
static int passed, failed;

static void check(int good, const char *what, long at)
{
    *(good ? &passed : &failed) += 1;
    if (!good && failed < 20)
        fprintf(stderr, "failed: %s, at %ld\n", what, at);
}

/* Compiles a kernel with or without the cache. Writes its PTX and resources to `ptx`, and the messages to `error`. */
static neso_status compile(int block, const neso_context_options *limits, char *ptx, char *error)
{
    neso_context *ctx;
    neso_module *module;
    neso_kernel *kernel = NULL;
    const char *text = "";
    char signature[64];
    neso_resources r = {.size = sizeof r};
    neso_compile_options o = {.size = sizeof o};
    snprintf(signature, sizeof signature, "*fp32:16, i32, %d", block);
    o.signature = signature;
    neso_status status = neso_context_create(limits, &ctx);
    if (status != NESO_OK)
        return status;
    status = neso_module_from_source(ctx, "scale.py", source, strlen(source), &module);
    if (status == NESO_OK)
        status = neso_kernel_compile(module, "scale", &o, &kernel);
    if (error)
        snprintf(error, PTX_MOST, "%s", neso_error_text(ctx));
    if (status == NESO_OK)
        status = neso_kernel_text(kernel, NESO_TEXT_PTX, &text, NULL);
    if (status == NESO_OK)
        neso_kernel_resources(kernel, &r);
    snprintf(ptx, PTX_MOST, "%s|%d %d %d %d", text, r.num_threads, r.shared_bytes, r.ptx_version,
             r.live_registers);
    neso_kernel_release(kernel);
    neso_module_release(module);
    neso_context_release(ctx);
    return status;
}

static neso_context_options cached(int strict)
{
    neso_context_options o = {.size = sizeof o, .cache = folder, .cache_strict = strict};
    return o;
}

/* Returns the number of files in the folder, and sets `path` to the path of the last file. */
static int count_files(char *path)
{
    DIR *d = opendir(folder);
    int n = 0;
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.' && (!e->d_name[1] || e->d_name[1] == '.'))
            continue;
        n++;
        snprintf(path, 512, "%s/%.255s", folder, e->d_name);
    }
    if (d)
        closedir(d);
    return n;
}

static void remove_files(void)
{
    while (count_files(entry) > 0)
        unlink(entry);
}

static void write_entry(const char *bytes, size_t n)
{
    FILE *f = fopen(entry, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
        abort();
}

/* Compiles the kernel in many processes at the same time. Each process either finds the entry or writes it. The
 * processes are forked before any of them uses the library. */
static void race(const char *right)
{
    static char ptx[PTX_MOST];
    neso_context_options o = cached(0);
    pid_t pids[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(compile(256, &o, ptx, NULL) == NESO_OK && strcmp(ptx, right) == 0 ? 0 : 1);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 1;
        waitpid(pids[i], &status, 0);
        check(status == 0, "a process compiles", i);
    }
    check(count_files(entry) == 1, "one key, one entry", count_files(entry));
}

/* Changes one bit in each byte of the entry, one byte after the other. Then truncates the entry to many lengths. If
 * `all` is set, tries every bit and every length. The kernel must compile to the right PTX every time. */
static void damage(const char *right, int all)
{
    static char bytes[ENTRY_MOST], ptx[PTX_MOST];
    neso_context_options o = cached(0);
    FILE *f = fopen(entry, "rb");
    size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f)
        fclose(f);
    check(n > 500 && n < sizeof bytes, "an entry has a size", (long)n);
    for (size_t i = 0; i < n; i++)
        for (int bit = all ? 0 : (int)(i % 8); bit < (all ? 8 : (int)(i % 8) + 1); bit++) {
            bytes[i] = (char)(bytes[i] ^ 1 << bit);
            write_entry(bytes, n);
            bytes[i] = (char)(bytes[i] ^ 1 << bit);
            check(compile(256, &o, ptx, NULL) == NESO_OK && strcmp(ptx, right) == 0, "a changed byte",
                  (long)i);
        }
    for (size_t i = 0; i < n; i += all ? 1 : 37) {
        write_entry(bytes, i);
        check(compile(256, &o, ptx, NULL) == NESO_OK && strcmp(ptx, right) == 0, "an entry cut off", (long)i);
    }
}

static void strict(const char *right)
{
    static char ptx[PTX_MOST], error[PTX_MOST];
    neso_context_options o = cached(1);
    check(compile(256, &o, ptx, NULL) == NESO_OK && strcmp(ptx, right) == 0, "what is there suffices", 0);
    check(compile(512, &o, ptx, error) == NESO_INVALID, "what is not there is an error", 0);
    check(strstr(error, "[cache-miss]") &&
              strstr(error, "signature is X=*fp32:16, n=i32, BLOCK=512, and the nearest entry's is "
                            "X=*fp32:16, n=i32, BLOCK=256"),
          "that says why", 0);
    check(strstr(error, "target is sm_90a\n") != NULL, "field by field", 0);
    write_entry("neso cache 1\n", 13);
    check(compile(256, &o, ptx, error) == NESO_INVALID, "a damaged entry is none", 0);
}

static void limit(void)
{
    static char ptx[PTX_MOST];
    neso_context_options o = cached(0);
    o.cache_limit = 20000;
    remove_files();
    for (int block = 16; block <= 4096; block *= 2)
        for (int again = 0; again < 3; again++)
            check(compile(block, &o, ptx, NULL) == NESO_OK, "compiles", block);
    int n = count_files(entry);
    check(n > 1 && n < 8, "the oldest went", n);
    o.cache_strict = 1;
    check(compile(4096, &o, ptx, NULL) == NESO_OK, "the newest is there", 0);
    check(compile(16, &o, ptx, NULL) == NESO_INVALID, "the oldest is not", 0);
    remove_files();
    o.cache = "/proc/no/such/folder";
    o.cache_strict = 0;
    check(compile(16, &o, ptx, NULL) == NESO_OK, "a disk that refuses is no error", 0);
}

int main(void)
{
    static char right[PTX_MOST];
    if (!mkdtemp(folder))
        return 1;
    check(compile(256, NULL, right, NULL) == NESO_OK, "without a cache", 0);
    race(right);
    damage(right, getenv("EVERY") != NULL);
    check(compile(256, &(neso_context_options){.size = sizeof(neso_context_options), .cache = folder}, right,
                  NULL) == NESO_OK,
          "mended", 0);
    check(count_files(entry) == 1, "one entry", 0);
    strict(right);
    limit();
    remove_files();
    check(rmdir(folder) == 0, "nothing is left", 0);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
