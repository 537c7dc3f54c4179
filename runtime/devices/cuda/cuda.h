/* SPDX-License-Identifier: MIT */
/* cuda.h: the functions of the CUDA driver that neso uses, one row each. This file declares the prototypes,
 * so the build needs neither the driver's header nor its library. driver_open (cuda.c) opens libcuda.so.1,
 * and looks up the function of every row. */
#ifndef NESO_RUNTIME_CUDA_H
#define NESO_RUNTIME_CUDA_H

#include "runtime/devices/device.h"

#include <pthread.h>

typedef int cu_result;
typedef int cu_device;
typedef unsigned long long cu_address;
typedef void *cu_context, *cu_module, *cu_function, *cu_stream, *cu_event, *cu_mem_pool;
struct cu_pool_props;

/*    function              symbol                          arguments */
#define DRIVER_CALLS(X) \
    X(init,                "cuInit",                       (unsigned flags)) \
    X(driver_version,      "cuDriverGetVersion",           (int *version)) \
    X(error_name,          "cuGetErrorName",               (cu_result r, const char **name)) \
    X(error_string,        "cuGetErrorString",             (cu_result r, const char **text)) \
    X(device_count,        "cuDeviceGetCount",             (int *n)) \
    X(device_get,          "cuDeviceGet",                  (cu_device *d, int ordinal)) \
    X(device_name,         "cuDeviceGetName",              (char *name, int bytes, cu_device d)) \
    X(device_memory,       "cuDeviceTotalMem_v2",          (size_t *bytes, cu_device d)) \
    X(device_attribute,    "cuDeviceGetAttribute",         (int *value, int attribute, cu_device d)) \
    X(primary_retain,      "cuDevicePrimaryCtxRetain",     (cu_context *c, cu_device d)) \
    X(primary_release,     "cuDevicePrimaryCtxRelease_v2", (cu_device d)) \
    X(context_current,     "cuCtxGetCurrent",              (cu_context *c)) \
    X(context_push,        "cuCtxPushCurrent_v2",          (cu_context c)) \
    X(context_pop,         "cuCtxPopCurrent_v2",           (cu_context *c)) \
    X(context_device,      "cuCtxGetDevice",               (cu_device *d)) \
    X(mem_alloc,           "cuMemAlloc_v2",                (cu_address *p, size_t bytes)) \
    X(mem_free,            "cuMemFree_v2",                 (cu_address p)) \
    X(mem_range,           "cuMemGetAddressRange_v2",      (cu_address *base, size_t *bytes, cu_address p)) \
    X(copy_to_device,      "cuMemcpyHtoDAsync_v2",         (cu_address to, const void *from, size_t n, cu_stream s)) \
    X(copy_from_device,    "cuMemcpyDtoHAsync_v2",         (void *to, cu_address from, size_t n, cu_stream s)) \
    X(copy_on_device,      "cuMemcpyDtoDAsync_v2",         (cu_address to, cu_address from, size_t n, cu_stream s)) \
    X(fill,                "cuMemsetD8Async",              (cu_address to, unsigned char byte, size_t n, cu_stream s)) \
    X(pool_create,         "cuMemPoolCreate",              (cu_mem_pool *p, const struct cu_pool_props *props)) \
    X(pool_destroy,        "cuMemPoolDestroy",             (cu_mem_pool p)) \
    X(pool_set,            "cuMemPoolSetAttribute",        (cu_mem_pool p, int attribute, void *value)) \
    X(alloc_in_pool,       "cuMemAllocFromPoolAsync",      (cu_address *at, size_t n, cu_mem_pool p, cu_stream s)) \
    X(free_in_order,       "cuMemFreeAsync",               (cu_address p, cu_stream s)) \
    X(stream_sync,         "cuStreamSynchronize",          (cu_stream s)) \
    X(event_create,        "cuEventCreate",                (cu_event *e, unsigned flags)) \
    X(event_destroy,       "cuEventDestroy_v2",            (cu_event e)) \
    X(event_record,        "cuEventRecord",                (cu_event e, cu_stream s)) \
    X(event_sync,          "cuEventSynchronize",           (cu_event e)) \
    X(event_elapsed,       "cuEventElapsedTime",           (float *ms, cu_event from, cu_event to)) \
    X(module_load,         "cuModuleLoadDataEx",           (cu_module *m, const void *image, unsigned n, int *options, \
                                                            void **values)) \
    X(module_unload,       "cuModuleUnload",               (cu_module m)) \
    X(module_function,     "cuModuleGetFunction",          (cu_function *f, cu_module m, const char *name)) \
    X(function_attribute,  "cuFuncGetAttribute",           (int *value, int attribute, cu_function f)) \
    X(function_set,        "cuFuncSetAttribute",           (cu_function f, int attribute, int value)) \
    X(encode_map,          "cuTensorMapEncodeTiled",       (void *map, int type, unsigned rank, void *base, \
                                                            const uint64_t *extents, const uint64_t *strides, \
                                                            const uint32_t *box, const uint32_t *steps, int interleave, \
                                                            int swizzle, int promotion, int fill)) \
    X(launch,              "cuLaunchKernel",               (cu_function f, unsigned gx, unsigned gy, unsigned gz, \
                                                            unsigned bx, unsigned by, unsigned bz, unsigned shared, \
                                                            cu_stream s, void **params, void **extra)) \
    X(launch_with,         "cuLaunchKernelEx",             (const struct cu_launch *how, cu_function f, void **params, void **extra))

/* These structs have the layouts of CUlaunchAttribute and CUlaunchConfig. */
struct cu_launch_attribute {
    int id;
    /* cluster[0] is unused; the other 64 bytes are a union: the cluster's sizes x, y and z, or the value of another
     * attribute */
    unsigned cluster[17];
};
struct cu_launch {
    unsigned grid[3], block[3], shared;
    cu_stream stream;
    const struct cu_launch_attribute *attributes;
    unsigned nattributes;
};

struct driver {
    void *library;
#define X(name, symbol, arguments) cu_result (*name) arguments;
    DRIVER_CALLS(X)
#undef X
};

enum {
    CU_OUT_OF_MEMORY = 2, CU_NO_DEVICE = 100,
    CU_CLOCK_KHZ = 13, CU_MULTIPROCESSORS = 16, CU_MAJOR = 75, CU_MINOR = 76,           /* device attributes */
    CU_LOCAL_BYTES = 3, CU_REGISTERS = 4, CU_MAX_DYNAMIC_SHARED = 8, /* function attributes */
    /* JIT options */
    CU_INFO_LOG = 3, CU_INFO_LOG_BYTES = 4, CU_ERROR_LOG = 5, CU_ERROR_LOG_BYTES = 6, CU_LINE_INFO = 13,
    CU_COOPERATIVE = 2, CU_CLUSTER_DIMENSION = 4, CU_PRIORITY = 8, /* launch attributes */
    /* constants of tensor maps; the driver's constants for types, swizzles and fills have the values of the
     * constants in tensormap.h */
    CU_NO_INTERLEAVE = 0, CU_PROMOTE_128 = 2
};

/* The state of a `cuda` device (device.state). */
struct gpu {
    struct driver driver;
    cu_device device;
    cu_context context;
    bool owns_context; /* `context` is the GPU's primary context, and cuda_close must release it */
    struct cublas *cublas; /* NULL: not opened yet */
    pthread_mutex_t lock;  /* protects the creation of pool, copy_module and copy_rows */
    cu_mem_pool pool;      /* NULL: not created yet */
    cu_module copy_module;
    cu_function copy_rows;
};

/* -- cuda.c -- */
bool driver_open(struct driver *d, struct fault *f);
void driver_close(struct driver *d);
/* Returns true if r means success. Otherwise, returns false, and sets the fault to a message with the name of
 * the driver call `call`, and the driver's name and text of the error r. */
bool driver_check(const struct driver *d, cu_result r, const char *call, struct fault *f);
/* Queries the GPU with number `ordinal`: its name, compute capability, number of SMs, clock and memory size.
 * Sets out->target to NULL if neso does not support the GPU. */
bool driver_gpu(const struct driver *d, int ordinal, struct neso_gpu *out, struct fault *f);

/* -- cublas.c: the caller must have made the GPU's context current -- */
bool cublas_multiply(struct gpu *g, const struct memory *mem, const struct product *p, struct fault *f);
void cublas_close(struct gpu *g, const struct memory *mem);

/* -- workspace.c: the caller must have made the GPU's context current; any thread may be the caller -- */
bool workspace_alloc(struct gpu *g, size_t bytes, void *stream, uint64_t *address, struct fault *f);
void workspace_free(struct gpu *g, uint64_t address, void *stream);
void workspace_close(struct gpu *g);
bool workspace_copy_rows(struct gpu *g, int multiprocessors, const struct row_copy *c, int n, void *stream,
                         struct fault *f);

/* -- jit.c: assembles and loads PTX; the caller must have made the GPU's context current -- */
struct cuda_code {
    cu_module module;
    cu_function function;
    int num_threads, shared_bytes;
};
bool jit_load(struct gpu *g, const struct memory *mem, const struct image *image, struct cuda_code *code,
              struct fault *f);

#endif
