/* SPDX-License-Identifier: MIT */
/* jit.c: assembles and loads PTX through the driver, and reports the assembler's errors.
 *
 *     PTX, or a cubin that ptxas made of it ──module_load──► function
 *
 * If there is no usable cubin, jit.c passes the PTX to cuModuleLoadDataEx, and the driver caches the
 * assembled code. The driver's linker (cuLinkAddData) also accepts PTX, but jit.c does not use the linker,
 * because the linker assembles PTX to relocatable code. In relocatable code, `setmaxnreg` has no effect, and
 * warp-uniform values are not in uniform registers: a matmul of n = 4096 executes 1.6 times as many
 * instructions, and takes 1.5 % longer.
 *
 * The assembler's messages name a line of the PTX. The `.loc` before this line names the line of Python from
 * which the PTX was compiled. jit.c reports the assembler's message (before =>) as an error at the line of
 * Python (after =>):
 *
 *     ptxas application ptx input, line 41; error : Unknown symbol '%q3'
 *       =>  softmax.py:14:11, "line 41 of the PTX: Unknown symbol '%q3' (in `add.f32 %f1, %f2, %q3;`)" */
#include "runtime/devices/cuda/cuda.h"

#include "codegen/codegen.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the assembler's log -- */

/* Returns line n of the PTX, and sets *len to its length; the first line has number 1. Returns NULL if there
 * is no such line. */
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

/* Returns the source position in the last `.loc FILE LINE COLUMN` at or before `line`, a pointer into the
 * PTX. If there is no .loc, returns a position with line 0. */
static struct loc find_loc(const struct image *image, const char *line)
{
    for (const char *s = line; s > image->ptx; s--) {
        unsigned file, row, column;
        if (*s == '.' && sscanf(s, ".loc %u %u %u", &file, &row, &column) == 3 && file > 0)
            return (struct loc){.file = (uint16_t)(file - 1), .line = row, .col = (uint16_t)column};
    }
    return (struct loc){0};
}

static int first_line(const char *s)
{
    return (int)strcspn(s, "\n");
}

/* Reports the first error in the log, with its line of the PTX. If the log does not name a line of the PTX,
 * reports the log's first line. Returns false. */
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

/* Loads the image's cubin. Returns false if there is no cubin, or if the driver rejects the cubin, for example because
 * the ptxas that made it is newer than the driver. */
static bool load_code(struct gpu *g, const struct image *image, struct cuda_code *code)
{
    return image->code && g->driver.module_load(&code->module, image->code, 0, NULL, NULL) == 0;
}

static bool load_module(struct gpu *g, const struct memory *mem, const struct image *image,
                        struct cuda_code *code, struct fault *f)
{
    if (load_code(g, image, code))
        return true;
    char *log = mem->alloc(mem->ctx, LOG_BYTES);
    if (!log)
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "for the assembler's log");
    log[0] = '\0';
    int options[] = {CU_ERROR_LOG, CU_ERROR_LOG_BYTES, CU_LINE_INFO};
    void *values[] = {log, (void *)(uintptr_t)LOG_BYTES, (void *)(uintptr_t)1};
    cu_result r =
        g->driver.module_load(&code->module, image->ptx, sizeof options / sizeof *options, options, values);
    bool good = r && log[0] ? refuse(image, log, f) : driver_check(&g->driver, r, "cuModuleLoadDataEx", f);
    mem->free(mem->ctx, log, LOG_BYTES);
    return good;
}

/* Requests dynamic shared memory. The driver requires such a request for more than 48 KiB. */
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
    bool good =
        load_module(g, mem, image, code, f) &&
        driver_check(&g->driver, g->driver.module_function(&code->function, code->module, image->name),
                     "cuModuleGetFunction", f) &&
        reserve_shared(g, image, code, f);
    if (!good && code->module)
        g->driver.module_unload(code->module);
    return good;
}
