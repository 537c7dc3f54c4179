/* cache.c: any bytes as a payload of the cache, behind the right key and before the right digest, and as a whole file. What is not
 * well-formed must be taken for absent: the kernel compiles to the PTX that it has without a cache. The rest must not crash, hang or leak.
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

/* A folder with one entry, as the library writes it; the key and name of that entry. */
struct kept {
    char folder[40], path[400], key[CACHE_KEY_MOST], *file;
    size_t bytes, head; /* head: where the payload begins */
};

static neso_status compile(const char *folder, char **ptx)
{
    neso_context_options options = {
        .size = sizeof options, .cache = folder, .memory_limit = (size_t)64 << 20};
    neso_compile_options how = {.size = sizeof how, .signature = "*fp32:16, i32"};
    neso_context *ctx;
    neso_module *module;
    neso_kernel *kernel;
    const char *text;
    if (neso_context_create(&options, &ctx) != NESO_OK ||
        neso_module_from_source(ctx, "k.py", source, sizeof source - 1, &module) != NESO_OK)
        abort();
    neso_status status = neso_kernel_compile(module, "k", &how, &kernel);
    if (status == NESO_OK) {
        neso_resources r = {.size = sizeof r};
        if (neso_kernel_text(kernel, NESO_TEXT_PTX, &text, NULL) != NESO_OK ||
            neso_kernel_resources(kernel, &r) != NESO_OK)
            abort();
        *ptx = strdup(text);
        neso_kernel_text(kernel, NESO_TEXT_JSON, &text, NULL);
        neso_kernel_release(kernel);
    }
    neso_module_release(module);
    neso_context_release(ctx);
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
    if (!mkdtemp(k->folder) || compile(k->folder, &ptx) != NESO_OK)
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

static void leave(void);
static struct kept kept;

static void leave(void)
{
    unlink(kept.path);
    rmdir(kept.folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!kept.bytes) {
        make(&kept);
        atexit(leave);
    }
    char *ptx = NULL, *file = malloc(kept.head + size + DIGEST_BYTES);
    struct digest d;
    memcpy(file, kept.file, kept.head);
    memcpy(file + kept.head, data, size);
    digest_init(&d);
    digest_add(&d, file, kept.head + size);
    digest_end(&d, (unsigned char *)file + kept.head + size);
    write_all(kept.path, file, kept.head + size + DIGEST_BYTES);
    if (compile(kept.folder, &ptx) != NESO_OK)
        abort();
    free(ptx);
    ptx = NULL;
    write_all(kept.path, data, size);
    if (compile(kept.folder, &ptx) != NESO_OK || strcmp(ptx, strstr(kept.file + kept.head, "\n") + 1) >= 0)
        abort(); /* the file ends with a digest where the text ends with a terminator */
    free(ptx);
    free(file);
    return 0;
}
