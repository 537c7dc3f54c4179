/* SPDX-License-Identifier: MIT */
/* cache.c: writes any bytes as an entry of the cache: once as the payload between the right key and the right digest,
 * and once as the whole file. A malformed entry must count as missing. So with a strict cache, the compilation must
 * fail, and with any other cache, the kernel must be compiled to the same PTX as without a cache. The cache that is
 * not strict is tested only for one input in 64, because a compilation takes as long as the other checks of 30 inputs.
 * No input may crash, hang or leak.
 *
 *   make fuzz-cache && build/fuzz/fuzz_cache tests/fuzz/cache -max_len=4000 -runs=1000000 */
#include "runtime/cache.h"
#include "runtime/neso.h"
#include "tests/fuzz/mutate.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char fuzz_corpus[] = "tests/fuzz/cache";
const char fuzz_words[] = "0 1 2 -1 128 232448 2147483647 -2147483648 99999999999 .version 8.0 .entry k ";

static const char source[] =
    "import triton\nimport triton.language as tl\n@triton.jit\ndef k(X, n):\n    tl.store(X + n, 1.0)\n";

enum { INPUTS_OF_A_MODULE = 500 };

/* The folder of the cache, which has one entry that the library wrote, and the path and contents of this entry. */
struct kept {
    char folder[40], path[400], *file;
    size_t bytes, head; /* `head` is the offset of the payload */
};

/* A module whose kernel is compiled for each input. */
struct subject {
    neso_context *ctx;
    neso_module *module;
    int inputs;
};

static void subject_open(struct subject *s, const char *folder, int strict)
{
    neso_context_options options = {
        .size = sizeof options, .cache = folder, .cache_strict = strict, .memory_limit = (size_t)64 << 20};
    *s = (struct subject){.inputs = 0};
    if (neso_context_create(&options, &s->ctx) != NESO_OK ||
        neso_module_from_source(s->ctx, "k.py", source, sizeof source - 1, &s->module) != NESO_OK)
        abort();
}

static void subject_close(struct subject *s)
{
    if (s->module)
        neso_module_release(s->module);
    if (s->ctx)
        neso_context_release(s->ctx);
    *s = (struct subject){.inputs = 0};
}

static neso_status compile(const struct subject *s, char **ptx)
{
    neso_compile_options how = {.size = sizeof how, .signature = "*fp32:16, i32"};
    neso_resources r = {.size = sizeof r};
    neso_kernel *kernel;
    const char *text;
    neso_status status = neso_kernel_compile(s->module, "k", &how, &kernel);
    if (status != NESO_OK)
        return status;
    if (neso_kernel_text(kernel, NESO_TEXT_PTX, &text, NULL) != NESO_OK ||
        neso_kernel_resources(kernel, &r) != NESO_OK)
        abort();
    *ptx = strdup(text);
    neso_kernel_text(kernel, NESO_TEXT_JSON, &text, NULL);
    neso_kernel_release(kernel);
    return status;
}

/* Compiles the kernel in a context without cache_strict. Such a context compiles the kernel if the cache lacks it. */
static neso_status compile_anyway(const char *folder, char **ptx)
{
    struct subject s;
    subject_open(&s, folder, 0);
    neso_status status = compile(&s, ptx);
    subject_close(&s);
    return status;
}

static char *read_all(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    char *text = malloc(1 << 20);
    *bytes = f && text ? fread(text, 1, 1 << 20, f) : 0;
    if (f)
        fclose(f);
    return text;
}

static void write_all(const char *path, const void *text, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(text, 1, bytes, f) != bytes || fclose(f) != 0)
        abort();
}

static void make(struct kept *k)
{
    char *ptx = NULL;
    snprintf(k->folder, sizeof k->folder, "/dev/shm/fuzz-cache-XXXXXX");
    if (!mkdtemp(k->folder) || compile_anyway(k->folder, &ptx) != NESO_OK)
        abort();
    DIR *dir = opendir(k->folder);
    for (const struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.')
            snprintf(k->path, sizeof k->path, "%s/%s", k->folder, e->d_name);
    closedir(dir);
    k->file = read_all(k->path, &k->bytes);
    const char *end = strstr(k->file, "\n\n");
    if (!end)
        abort();
    k->head = (size_t)(end + 2 - k->file);
    free(ptx);
}

static struct kept kept;
static struct subject strict;

static void leave(void)
{
    subject_close(&strict);
    free(kept.file);
    unlink(kept.path);
    rmdir(kept.folder);
}

static void refresh(void)
{
    if (!kept.bytes) {
        make(&kept);
        atexit(leave);
    }
    if (strict.inputs++ % INPUTS_OF_A_MODULE == 0) {
        subject_close(&strict);
        subject_open(&strict, kept.folder, 1);
        strict.inputs = 1;
    }
}

/* Writes an entry with the right key, the given payload, and the digest of both. */
static void write_payload(const uint8_t *data, size_t size)
{
    size_t n = kept.head + size;
    char *file = malloc(n + DIGEST_BYTES);
    struct digest d;
    memcpy(file, kept.file, kept.head);
    memcpy(file + kept.head, data, size);
    digest_init(&d);
    digest_add(&d, file, n);
    digest_end(&d, (unsigned char *)file + n);
    write_all(kept.path, file, n + DIGEST_BYTES);
    free(file);
}

static void expect_compiled(void)
{
    char *ptx = NULL;
    if (compile_anyway(kept.folder, &ptx) != NESO_OK ||
        strcmp(ptx, strstr(kept.file + kept.head, "\n") + 1) >= 0)
        abort(); /* even an entry with equal PTX compares as less, because the digest directly follows the PTX in the
                  * file */
    free(ptx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *ptx = NULL;
    bool is_checked = size > 0 && (data[size / 2] ^ size) % 64 == 0;
    refresh();
    write_payload(data, size);
    neso_status status = compile(&strict, &ptx);
    free(ptx);
    if (status != NESO_OK && (status != NESO_INVALID || !strstr(neso_error_text(strict.ctx), "[cache-miss]")))
        abort();
    if (status != NESO_OK && is_checked)
        expect_compiled();
    write_all(kept.path, data, size);
    if (compile(&strict, &ptx) != NESO_INVALID)
        abort();
    if (is_checked)
        expect_compiled();
    return 0;
}
