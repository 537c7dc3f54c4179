/* SPDX-License-Identifier: MIT */
/* cuda.c: a fake CUDA driver for tests, which needs no GPU. The fake driver allocates memory with malloc, and its
 * kernels do nothing. Environment variables control the driver. The call that FAKE_FAIL names fails, and FAKE_LOG is
 * then the assembler's log. If FAKE_TRACE is set, the driver prints launches. For each image that is loaded, the
 * driver writes a line to the file FAKE_LOADED: "ptx" or "code". A thread of a kernel has FAKE_REGISTERS registers.
 * Timed calls take FAKE_MS milliseconds. In the test failures.c, each call fails in turn. The test sets fake.until,
 * and then reads the name of the failed call and the number of objects that were not released. */
#include "runtime/devices/cuda/cuda.h"

#include "tests/cli/driver/fake.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REFUSED = 218 };

struct fake fake;

static char *log_buffer;

static cu_result result(const char *symbol)
{
    if (fake.until && --fake.until == 0) {
        fake.refused = symbol;
        return REFUSED;
    }
    const char *refused = getenv("FAKE_FAIL"), *log = getenv("FAKE_LOG");
    if (!refused || strcmp(refused, symbol) != 0)
        return 0;
    if (log && log_buffer)
        strcpy(log_buffer, log);
    return REFUSED;
}

/* Defines a call that releases an object. The call releases the object even if it then returns an error. */
#define RELEASE(symbol, arguments, ...)                                                                      \
    cu_result symbol arguments;                                                                              \
    cu_result symbol arguments                                                                               \
    {                                                                                                        \
        __VA_ARGS__;                                                                                         \
        fake.held--;                                                                                         \
        return result(#symbol);                                                                              \
    }

/* Returns the time between two events: 1 ms, or FAKE_MS with noise: up to 1 % more or less, and sometimes much more. */
static float elapsed(void)
{
    static unsigned state = 1;
    const char *ms = getenv("FAKE_MS");
    state = state * 1664525 + 1013904223;
    return ms ? (float)atof(ms) * (0.99F + (float)(state >> 16) / 65536 * (state >> 28 ? 0.02F : 0.1F)) : 1;
}

#define CALL(symbol, arguments, ...)                                                                         \
    cu_result symbol arguments;                                                                              \
    cu_result symbol arguments                                                                               \
    {                                                                                                        \
        cu_result r = result(#symbol);                                                                       \
        if (r == 0) {                                                                                        \
            __VA_ARGS__;                                                                                     \
        }                                                                                                    \
        return r;                                                                                            \
    }

static int registers(void)
{
    const char *n = getenv("FAKE_REGISTERS");
    return n ? atoi(n) : 32;
}

static int something;
static _Thread_local cu_context current; /* the stack of contexts, which has at most one element */

/* Prints a launch: the grid, the threads, the bytes of shared memory, and, if the module is PTX, each parameter. */
static void trace_launch(const char *image, const unsigned *sizes, void *const *params)
{
    printf("grid %u %u %u threads %u shared %u:", sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]);
    for (const char *s = image; (s = strstr(s, "\t.param .")) != NULL; params++) {
        s += strlen("\t.param .");
        int bits = atoi(s + 1);
        uint64_t value = 0;
        memcpy(&value, *params, (size_t)bits / 8);
        printf(" %llx", (unsigned long long)value);
    }
    puts("");
}

/* Appends to the file FAKE_LOADED whether the image is PTX or machine code. */
static void note_loaded(const void *image)
{
    FILE *f = getenv("FAKE_LOADED") ? fopen(getenv("FAKE_LOADED"), "a") : NULL;
    if (!f)
        return;
    fputs(memcmp(image, "\177ELF", 4) == 0 ? "code\n" : "ptx\n", f);
    fclose(f);
}

cu_result cuModuleLoadDataEx(cu_module *m, const void *image, unsigned n, int *options, void **values);
cu_result cuModuleLoadDataEx(cu_module *m, const void *image, unsigned n, int *options, void **values)
{
    for (unsigned i = 0; i < n; i++)
        if (options[i] == CU_ERROR_LOG)
            log_buffer = values[i];
    cu_result r = result("cuModuleLoadDataEx");
    note_loaded(image);
    if (r == 0) {
        *m = (void *)(uintptr_t)image;
        fake.held++;
    }
    return r;
}

/* clang-format off */

CALL(cuInit, (unsigned flags), (void)flags)
CALL(cuDriverGetVersion, (int *version), *version = 13000)
CALL(cuDeviceGetCount, (int *n), *n = getenv("FAKE_NONE") ? 0 : 1)
CALL(cuDeviceGet, (cu_device *d, int i), *d = i)
CALL(cuDeviceGetName, (char *s, int n, cu_device d), (void)n; (void)d; strcpy(s, "Fake GPU"))
CALL(cuDeviceTotalMem_v2, (size_t *n, cu_device d), (void)d; *n = (size_t)1 << 34)
CALL(cuDeviceGetAttribute, (int *v, int a, cu_device d), (void)d; *v = a == CU_MAJOR ? 9 : a == CU_MINOR ? 0 : a == CU_CLOCK_KHZ ? 1980000 : 132)
CALL(cuDevicePrimaryCtxRetain, (cu_context *c, cu_device d), (void)d; *c = &something; fake.held++)
RELEASE(cuDevicePrimaryCtxRelease_v2, (cu_device d), (void)d)
CALL(cuCtxGetCurrent, (cu_context *c), *c = current)
CALL(cuCtxPushCurrent_v2, (cu_context c), current = c)
CALL(cuCtxPopCurrent_v2, (cu_context *c), *c = current; current = NULL)
CALL(cuCtxGetDevice, (cu_device *d), *d = 0)
CALL(cuMemAlloc_v2, (cu_address *p, size_t n), *p = (cu_address)(uintptr_t)aligned_alloc(256, (n + 255) / 256 * 256); fake.held++)
CALL(cuMemGetAddressRange_v2, (cu_address *base, size_t *n, cu_address p), *base = p; *n = malloc_usable_size((void *)(uintptr_t)p))
RELEASE(cuMemFree_v2, (cu_address p), free((void *)(uintptr_t)p))
CALL(cuMemcpyHtoDAsync_v2, (cu_address to, const void *from, size_t n, cu_stream s),
     (void)s; memcpy((void *)(uintptr_t)to, from, n))
CALL(cuMemcpyDtoHAsync_v2, (void *to, cu_address from, size_t n, cu_stream s),
     (void)s; memcpy(to, (void *)(uintptr_t)from, n))
CALL(cuMemcpyDtoDAsync_v2, (cu_address to, cu_address from, size_t n, cu_stream s),
     (void)s; memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, n))
CALL(cuMemsetD8Async, (cu_address to, unsigned char byte, size_t n, cu_stream s),
     /* skips larger memory, which only benchmarks fill and never read */
     (void)s; if (n < 1 << 28) memset((void *)(uintptr_t)to, byte, n))
CALL(cuMemPoolCreate, (cu_mem_pool *p, const struct cu_pool_props *props), (void)props; *p = &something; fake.held++)
RELEASE(cuMemPoolDestroy, (cu_mem_pool p), (void)p)
CALL(cuMemPoolSetAttribute, (cu_mem_pool p, int attribute, void *value), (void)p; (void)attribute; (void)value)
CALL(cuMemAllocFromPoolAsync, (cu_address *at, size_t n, cu_mem_pool p, cu_stream s),
     (void)p; (void)s; *at = (cu_address)(uintptr_t)aligned_alloc(256, (n + 255) / 256 * 256); fake.held++)
RELEASE(cuMemFreeAsync, (cu_address p, cu_stream s), (void)s; free((void *)(uintptr_t)p))
CALL(cuStreamCreate, (cu_stream *s, unsigned flags), (void)flags; *s = &something)
CALL(cuStreamSynchronize, (cu_stream s), (void)s)
CALL(cuEventCreate, (cu_event *e, unsigned flags), (void)flags; *e = &something; fake.held++)
RELEASE(cuEventDestroy_v2, (cu_event e), (void)e)
CALL(cuEventRecord, (cu_event e, cu_stream s), (void)e; (void)s)
CALL(cuEventSynchronize, (cu_event e), (void)e)
CALL(cuEventElapsedTime, (float *ms, cu_event a, cu_event b), (void)a; (void)b; *ms = elapsed())
CALL(cuModuleLoadData, (cu_module *m, const void *image), *m = (void *)(uintptr_t)image; fake.held++)
RELEASE(cuModuleUnload, (cu_module m), (void)m)
CALL(cuModuleGetFunction, (cu_function *f, cu_module m, const char *name), (void)name; *f = m)
CALL(cuFuncGetAttribute, (int *v, int a, cu_function f), (void)f; *v = a == CU_REGISTERS ? registers() : a)
CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *n, cu_function f, int threads, size_t shared),
     (void)f; (void)shared; *n = 65536 / (registers() * threads))
CALL(cuFuncSetAttribute, (cu_function f, int a, int v), (void)f; (void)a; (void)v)
CALL(cuTensorMapEncodeTiled, (void *map, int type, unsigned rank, void *base, const uint64_t *extents,
                              const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,
                              int swizzle, int promotion, int fill),
     (void)map; (void)type; (void)rank; (void)base; (void)extents; (void)strides; (void)box; (void)steps;
     (void)interleave; (void)swizzle; (void)promotion; (void)fill)
CALL(cuLaunchKernel, (cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, cu_stream s, void **params, void **extra),
     (void)by; (void)bz; (void)extra; (void)s;
     if (getenv("FAKE_TRACE")) trace_launch(f, (const unsigned[]){gx, gy, gz, bx, shared}, params))
CALL(cuLaunchKernelEx, (const struct cu_launch *how, cu_function f, void **params, void **extra),
     (void)extra;
     if (getenv("FAKE_TRACE"))
         for (unsigned i = 0; i < how->nattributes; i++)
             if (how->attributes[i].id != CU_CLUSTER_DIMENSION)
                 printf("attribute %d is %d\n", how->attributes[i].id, (int)how->attributes[i].cluster[1]);
     if (getenv("FAKE_TRACE")) trace_launch(f, (const unsigned[]){how->grid[0], how->grid[1], how->grid[2],
                                                                  how->block[0], how->shared}, params))
/* clang-format on */

cu_result cuGetErrorName(cu_result r, const char **name);
cu_result cuGetErrorName(cu_result r, const char **name)
{
    *name = r == REFUSED ? "CUDA_ERROR_INVALID_PTX" : NULL;
    return 0;
}

cu_result cuGetErrorString(cu_result r, const char **text);
cu_result cuGetErrorString(cu_result r, const char **text)
{
    *text = r == REFUSED ? "a PTX JIT compilation failed" : NULL;
    return 0;
}
