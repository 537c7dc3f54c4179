/* jit.c: PTX to code on the GPU, through the driver's assembler.
 *
 *     PTX ──link_create, link_add, link_complete──► cubin ──module_load──► function
 *      │                                              ▲ │                      ▲
 *      │                                        cache ┘ └► cache               │
 *      └──────────────── where the linker fails for a reason of its own ─────┘
 *
 * The linker hands back the cubin, and takes about as long as loading PTX directly. What the assembler complains of names a
 * line of PTX; the `.loc` before that line names the line of Python that it came from:
 *
 *     ptxas application ptx input, line 41; error : Unknown symbol '%q3'
 *       =>  softmax.py:14:11, "line 41 of the PTX: Unknown symbol '%q3' (in `add.f32 %f1, %f2, %q3;`)"
 */
#include "runtime/cuda.h"

#include "codegen/codegen.h"
#include "runtime/cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the assembler's log -- */

/* Line `n` of the PTX, from 1; NULL if there is none. */
static const char *find_line(const struct image *image, long n, int *len)
{
    const char *s = image->ptx, *end = s + image->ptx_bytes;
    for (long i = 1; i < n && s; i++) {
        s = memchr(s, '\n', (size_t)(end - s));
        s = s ? s + 1 : NULL;
    }
    if (!s || s == end)
        return NULL;
    const char *stop = memchr(s, '\n', (size_t)(end - s));
    *len = (int)((stop ? stop : end) - s);
    return s;
}

/* The place that the last `.loc FILE LINE COLUMN` at or before `line` names. */
static struct loc find_loc(const struct image *image, const char *line)
{
    for (const char *s = line; s > image->ptx; s--) {
        unsigned file, row, column;
        if (*s == '.' && sscanf(s, ".loc %u %u %u", &file, &row, &column) == 3 && file > 0)
            return (struct loc){.file = (uint16_t)(file - 1), .line = row, .col = (uint16_t)column};
    }
    return (struct loc){0};
}

/* Copies up to the line's end; returns the bytes. */
static int first_line(const char *s)
{
    return (int)strcspn(s, "\n");
}

/* Reads the first error of the log; what has another form is passed on as it is. */
static bool refuse(const struct image *image, const char *log, struct fault *f)
{
    const char *at = strstr(log, "line "), *what = strstr(log, "error");
    long n = at && what && at < what ? strtol(at + 5, NULL, 10) : 0;
    int len = 0;
    const char *line = n > 0 ? find_line(image, n, &len) : NULL;
    if (!line)
        return fault_set(f, NESO_INTERNAL, ERR_assembler, "%.*s", first_line(log), log);
    what += strcspn(what, ":\n");
    what += strspn(what, ": ");
    line += strspn(line, " \t");
    fault_set(f, NESO_INTERNAL, ERR_assembler, "line %ld of the PTX: %.*s (in `%.*s`)", n, first_line(what),
              what, first_line(line), line);
    f->loc = find_loc(image, line);
    return false;
}

/* -- assembling -- */

enum { LOG_BYTES = 8192 };

/* True: the code has its cubin. False with log empty: the linker is not to be had. */
static bool assemble(struct gpu *g, const struct memory *mem, const struct image *image,
                     struct cuda_code *code, char *log)
{
    int options[] = {CU_ERROR_LOG, CU_ERROR_LOG_BYTES, CU_LINE_INFO};
    void *values[] = {log, (void *)(uintptr_t)LOG_BYTES, (void *)(uintptr_t)1};
    cu_link link;
    void *cubin;
    size_t bytes;
    if (g->driver.link_create(sizeof options / sizeof *options, options, values, &link))
        return false;
    /* The driver reads the PTX as a string, terminator included, and does not write to it. */
    void *ptx = (void *)(uintptr_t)image->ptx;
    bool good =
        g->driver.link_add(link, CU_INPUT_PTX, ptx, image->ptx_bytes + 1, image->name, 0, NULL, NULL) == 0 &&
        g->driver.link_complete(link, &cubin, &bytes) == 0;
    /* The linker owns its cubin: it goes with the link. */
    code->cubin = good ? mem->alloc(mem->ctx, bytes) : NULL;
    if (code->cubin) {
        memcpy(code->cubin, cubin, bytes);
        code->cubin_bytes = bytes;
    }
    g->driver.link_destroy(link);
    return code->cubin != NULL;
}

static bool load_image(struct gpu *g, const struct image *image, const char *log, struct cuda_code *code,
                       struct fault *f)
{
    cu_result r = g->driver.module_load(&code->module, code->cubin ? code->cubin : image->ptx);
    if (r && log[0])
        return refuse(image, log, f);
    return driver_check(&g->driver, r, "cuModuleLoadData", f);
}

/* From the cache; one that the driver does not take is as good as none. */
static bool load_kept(struct gpu *g, const struct memory *mem, const struct image *image,
                      struct cuda_code *code)
{
    code->cubin = kept_cubin_read(image, mem, &g->about, &code->cubin_bytes);
    if (code->cubin && g->driver.module_load(&code->module, code->cubin) == 0)
        return true;
    if (code->cubin)
        mem->free(mem->ctx, code->cubin, code->cubin_bytes);
    code->cubin = NULL;
    code->module = NULL;
    return false;
}

/* Above 48 KiB, dynamic shared memory must be asked for. */
static bool reserve_shared(struct gpu *g, const struct image *image, struct cuda_code *code, struct fault *f)
{
    enum { WITHOUT_ASKING = 48 * 1024 };
    code->num_threads = image->info->num_threads;
    code->shared_bytes = image->info->shared_bytes;
    if (code->shared_bytes <= WITHOUT_ASKING)
        return true;
    cu_result r = g->driver.function_set(code->function, CU_MAX_DYNAMIC_SHARED, code->shared_bytes);
    if (r)
        return fault_set(f, NESO_INVALID, ERR_kernel_too_large, "it needs %d bytes of shared memory",
                         code->shared_bytes);
    return true;
}

bool jit_load(struct gpu *g, const struct memory *mem, const struct image *image, struct cuda_code *code,
              struct fault *f)
{
    char *log = mem->alloc(mem->ctx, LOG_BYTES);
    if (!log)
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "for the assembler's log");
    log[0] = '\0';
    bool good = load_kept(g, mem, image, code);
    if (!good && image->cache && image->cache->strict && image->cache->folder) {
        kept_cubin_miss(image, &g->about, f);
    } else if (!good) {
        assemble(g, mem, image, code, log);
        good = load_image(g, image, log, code, f);
        if (good && code->cubin)
            kept_cubin_write(image, &g->about, code->cubin, code->cubin_bytes);
    }
    mem->free(mem->ctx, log, LOG_BYTES);
    good = good &&
           driver_check(&g->driver, g->driver.module_function(&code->function, code->module, image->name),
                        "cuModuleGetFunction", f) &&
           reserve_shared(g, image, code, f);
    if (good)
        return true;
    if (code->module)
        g->driver.module_unload(code->module);
    if (code->cubin)
        mem->free(mem->ctx, code->cubin, code->cubin_bytes);
    return false;
}
