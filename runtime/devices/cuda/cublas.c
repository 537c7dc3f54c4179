/* SPDX-License-Identifier: MIT */
/* cublas.c: computes products of matrices with cuBLAS, if cuBLAS is installed. Programs compare the speed of
 * their kernels with the speed of these products. The first product opens the library, which may belong to
 * the system, a toolkit or a Python environment. If there is no library, the caller multiplies on the CPU.
 *
 * cuBLAS is column-major, so it reads the bytes of row-major A, B and C as their transposes:
 *
 *     C = A B, row-major               is computed as     C' = B' A', column-major
 *     m x n = (m x k) (k x n)                             n x m = (n x k) (k x m) */
#include "runtime/devices/cuda/cuda.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

// clang-format off
/*    function   symbol                          arguments */
#define CUBLAS_CALLS(X) \
    X(create,    "cublasCreate_v2",              (void **handle)) \
    X(destroy,   "cublasDestroy_v2",             (void *handle)) \
    X(stream,    "cublasSetStream_v2",           (void *handle, cu_stream s)) \
    X(multiply,  "cublasGemmStridedBatchedEx",   (void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, \
                                                  const void *a, int type_a, int lead_a, long long batch_a, \
                                                  const void *b, int type_b, int lead_b, long long batch_b, \
                                                  const void *beta, void *c, int type_c, int lead_c, long long batch_c, \
                                                  int count, int compute, int algorithm))
// clang-format on

struct cublas {
    void *library, *handle; /* library: NULL if cuBLAS is not installed */
#define X(name, symbol, arguments) int(*name) arguments;
    CUBLAS_CALLS(X)
#undef X
};

static const struct {
    const char *symbol;
    size_t offset;
} entries[] = {
#define X(name, symbol, arguments) {symbol, offsetof(struct cublas, name)},
    CUBLAS_CALLS(X)
#undef X
};

/* Constants of the cuBLAS API. */
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_TF32 = 77, GEMM_DEFAULT = -1 };

/*  dtype   cudaDataType  cublasComputeType_t */
static const struct {
    enum dtype dtype;
    int data, compute;
} types[] = {
    {DT_f32, 0, COMPUTE_32F}, {DT_f64, 1, COMPUTE_64F}, {DT_f16, 2, COMPUTE_32F}, {DT_bf16, 14, COMPUTE_32F}};

/* -- finding the library -- */

/* Opens the library at `path`. Returns false if it cannot be opened, lacks a function, or does not work with this
 * driver. The GPU's context must be current. */
static bool try_library(struct cublas *c, const char *path)
{
    *c = (struct cublas){.library = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    bool good = c->library != NULL;
    for (size_t i = 0; good && i < sizeof entries / sizeof *entries; i++) {
        void *entry = dlsym(c->library, entries[i].symbol);
        /* memcpy, because ISO C does not allow a cast from an object pointer to a function pointer */
        memcpy((char *)c + entries[i].offset, &entry, sizeof entry);
        good = entry != NULL;
    }
    if (good && c->create(&c->handle) == 0)
        return true;
    if (c->library)
        dlclose(c->library);
    c->library = NULL;
    return false;
}

/* Tries the libraries whose paths match the prefix followed by the pattern, in descending order of their
 * paths, so that newer versions come first. */
static bool try_pattern(struct cublas *c, const char *prefix, const char *pattern)
{
    char path[500];
    glob_t found;
    bool good = false;
    int n = snprintf(path, sizeof path, "%s%s", prefix, pattern);
    if (n < 0 || (size_t)n >= sizeof path || glob(path, 0, NULL, &found) != 0)
        return false;
    for (size_t i = found.gl_pathc; i > 0 && !good; i--)
        good = try_library(c, found.gl_pathv[i - 1]);
    globfree(&found);
    return good;
}

static bool find_library(struct cublas *c, const char *const *prefixes)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
    static const char *const usual[] = {"/usr/local", "/usr", "/opt/conda", NULL};
    static const char *const patterns[] = {"/lib/python3*/*-packages/nvidia/cu*/lib/libcublas.so.1?",
                                           "/cuda*/lib64/libcublas.so.1?"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (try_library(c, names[i]))
            return true;
    for (int own = 1; own >= 0; own--)
        for (const char *const *prefix = own ? prefixes : usual; prefix && *prefix; prefix++)
            for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
                if (try_pattern(c, *prefix, patterns[i]))
                    return true;
    return false;
}

/* -- multiplying -- */

void cublas_close(struct gpu *g, const struct memory *mem)
{
    if (!g->cublas)
        return;
    if (g->cublas->library) {
        g->cublas->destroy(g->cublas->handle);
        dlclose(g->cublas->library);
    }
    mem->free(mem->ctx, g->cublas, sizeof *g->cublas);
    g->cublas = NULL;
}

static int call(const struct cublas *c, const struct product *p, size_t type)
{
    static const double one_f64 = 1, zero = 0; /* the bits of zero are the same in every type */
    static const float one_f32 = 1;
    const struct factor *a = &p->a, *b = &p->b;
    int data = types[type].data,
        compute = p->may_round && types[type].dtype == DT_f32 ? COMPUTE_TF32 : types[type].compute;
    const void *one = compute == COMPUTE_64F ? (const void *)&one_f64 : &one_f32;
    int r = c->stream(c->handle, NULL);
    return r ? r
             : c->multiply(c->handle, b->is_transposed, a->is_transposed, p->n, p->m, p->k, one,
                           (const void *)(uintptr_t)b->address, data, b->lead, b->batch,
                           (const void *)(uintptr_t)a->address, data, a->lead, a->batch, &zero,
                           (void *)(uintptr_t)p->out, data, p->n, (long long)p->m * p->n, p->count, compute,
                           GEMM_DEFAULT);
}

bool cublas_multiply(struct gpu *g, const struct memory *mem, const struct product *p, struct fault *f)
{
    size_t type = 0;
    *f = (struct fault){.status = NESO_OK};
    while (type < sizeof types / sizeof *types && types[type].dtype != p->dtype)
        type++;
    if (type == sizeof types / sizeof *types)
        return false;
    if (!g->cublas) {
        g->cublas = mem->alloc(mem->ctx, sizeof *g->cublas);
        if (!g->cublas)
            return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "for cuBLAS's record");
        find_library(g->cublas, p->prefixes);
    }
    if (!g->cublas->library)
        return false;
    int r = call(g->cublas, p, type);
    return r == 0 ||
           fault_set(f, NESO_DRIVER, ERR_driver_call, "cublasGemmStridedBatchedEx gave status %d", r);
}
