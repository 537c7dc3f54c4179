/* SPDX-License-Identifier: MIT */
/* cuda.c: the device `cuda`: implements device.h with the CUDA driver library, which cuda_open opens.
 *
 * Each function that needs the device's context makes this context current, unless it is current already, and restores
 * the thread's previous context at the end. There is no other per-thread state, so any thread may launch. */
#include "runtime/devices/cuda/cuda.h"

#include "codegen/codegen.h"
#include "runtime/devices/tensormap.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* -- the driver -- */

static const struct {
    const char *symbol;
    size_t offset;
} entries[] = {
#define X(name, symbol, arguments) {symbol, offsetof(struct driver, name)},
    DRIVER_CALLS(X)
#undef X
};

void driver_close(struct driver *d)
{
    if (d->library)
        dlclose(d->library);
    d->library = NULL;
}

static bool find_entries(struct driver *d, struct fault *f)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *entry = dlsym(d->library, entries[i].symbol);
        if (!entry)
            return fault_set(f, NESO_NO_DEVICE, ERR_driver_missing, "libcuda.so.1 is too old: it has no %s",
                             entries[i].symbol);
        /* ISO C does not allow a cast from an object pointer to a function pointer, but POSIX guarantees that both have
         * the same representation. */
        memcpy((char *)d + entries[i].offset, &entry, sizeof entry);
    }
    return true;
}

bool driver_check(const struct driver *d, cu_result r, const char *call, struct fault *f)
{
    if (r == 0)
        return true;
    const char *name = NULL, *text = NULL;
    d->error_name(r, &name);
    d->error_string(r, &text);
    enum neso_status status = r == CU_OUT_OF_MEMORY ? NESO_OUT_OF_MEMORY : NESO_DRIVER;
    fault_set(f, status, ERR_driver_call, "%s gave %s (%d): %s", call, name ? name : "an unknown error", r,
              text ? text : "it has no text for it");
    f->driver_code = r;
    return false;
}

bool driver_open(struct driver *d, struct fault *f)
{
    /* RTLD_NODELETE keeps the driver's code in memory: after a fault of the GPU, threads of the driver may still run
     * when neso closes the library. */
    *d = (struct driver){.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)};
    if (!d->library)
        return fault_set(f, NESO_NO_DEVICE, ERR_driver_missing, "%s", dlerror());
    if (!find_entries(d, f)) {
        driver_close(d);
        return false;
    }
    cu_result r = d->init(0);
    if (r == 0)
        return true;
    if (r == CU_NO_DEVICE)
        fault_set(f, NESO_NO_DEVICE, ERR_gpu_missing, "the driver sees none");
    else
        driver_check(d, r, "cuInit", f);
    driver_close(d);
    return false;
}

bool driver_gpu(const struct driver *d, int ordinal, struct neso_gpu *out, struct fault *f)
{
    cu_device device;
    size_t bytes = 0;
    int n = 0;
    if (!driver_check(d, d->device_count(&n), "cuDeviceGetCount", f))
        return false;
    if (ordinal < 0 || ordinal >= n)
        return fault_set(f, NESO_NO_DEVICE, ERR_gpu_missing, "number %d was asked for, and there %s %d",
                         ordinal, n == 1 ? "is" : "are", n);
    bool good =
        driver_check(d, d->device_get(&device, ordinal), "cuDeviceGet", f) &&
        driver_check(d, d->device_name(out->name, sizeof out->name, device), "cuDeviceGetName", f) &&
        driver_check(d, d->device_memory(&bytes, device), "cuDeviceTotalMem", f) &&
        driver_check(d, d->device_attribute(&out->major, CU_MAJOR, device), "cuDeviceGetAttribute", f) &&
        driver_check(d, d->device_attribute(&out->minor, CU_MINOR, device), "cuDeviceGetAttribute", f) &&
        driver_check(d, d->device_attribute(&out->multiprocessors, CU_MULTIPROCESSORS, device),
                     "cuDeviceGetAttribute", f) &&
        driver_check(d, d->device_attribute(&out->clock_khz, CU_CLOCK_KHZ, device), "cuDeviceGetAttribute",
                     f);
    const struct target *t = good ? target_for_capability(out->major, out->minor) : NULL;
    out->target = t ? t->name : NULL;
    out->memory_bytes = bytes;
    return good;
}

/* -- opening -- */

static struct gpu *gpu_of(const struct device *d)
{
    return d->state;
}

/* Sets g->device to the GPU with number *ordinal if cuda_context is NULL. Otherwise, sets g->device and
 * *ordinal to the GPU of this context. */
static bool choose(struct gpu *g, int *ordinal, void *cuda_context, struct fault *f)
{
    if (!cuda_context)
        return driver_check(&g->driver, g->driver.device_get(&g->device, *ordinal), "cuDeviceGet", f);
    cu_context popped;
    if (!driver_check(&g->driver, g->driver.context_push(cuda_context), "cuCtxPushCurrent", f))
        return false;
    cu_result r = g->driver.context_device(&g->device);
    g->driver.context_pop(&popped);
    *ordinal = g->device;
    return driver_check(&g->driver, r, "cuCtxGetDevice", f);
}

static bool open_gpu(struct device *d, struct gpu *g, int ordinal, void *cuda_context, struct fault *f)
{
    struct neso_gpu about = {.size = sizeof about};
    if (!driver_gpu(&g->driver, ordinal, &about, f) || !choose(g, &ordinal, cuda_context, f))
        return false;
    if (cuda_context && !driver_gpu(&g->driver, ordinal, &about, f))
        return false;
    d->multiprocessors = about.multiprocessors;
    d->target = target_for_capability(about.major, about.minor);
    if (!d->target)
        return fault_set(f, NESO_NO_DEVICE, ERR_gpu_missing,
                         "%s has compute capability %d.%d, which is not supported", about.name, about.major,
                         about.minor);
    g->context = cuda_context;
    g->owns_context = !cuda_context;
    if (g->owns_context && !driver_check(&g->driver, g->driver.primary_retain(&g->context, g->device),
                                         "cuDevicePrimaryCtxRetain", f))
        return false;
    snprintf(d->text, sizeof d->text, "%.100s (cuda:%d, %s)", about.name, ordinal, d->target->name);
    return true;
}

static bool cuda_open(struct device *d, int ordinal, void *cuda_context, struct fault *f)
{
    struct gpu *g = d->mem->alloc(d->mem->ctx, sizeof *g);
    if (!g)
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "for the device's state");
    *g = (struct gpu){0};
    pthread_mutex_init(&g->lock, NULL);
    bool has_driver = driver_open(&g->driver, f);
    if (has_driver && open_gpu(d, g, ordinal, cuda_context, f)) {
        d->state = g;
        return true;
    }
    if (has_driver)
        driver_close(&g->driver);
    pthread_mutex_destroy(&g->lock);
    d->mem->free(d->mem->ctx, g, sizeof *g);
    return false;
}

/* -- the current context during a call -- */

static bool enter(struct gpu *g, bool *pushed, struct fault *f)
{
    cu_context current = NULL;
    *pushed = false;
    if (g->driver.context_current(&current) == 0 && current == g->context)
        return true;
    *pushed = driver_check(&g->driver, g->driver.context_push(g->context), "cuCtxPushCurrent", f);
    return *pushed;
}

static void leave(struct gpu *g, bool pushed)
{
    cu_context popped;
    if (pushed)
        g->driver.context_pop(&popped);
}

static void cuda_close(struct device *d)
{
    struct gpu *g = gpu_of(d);
    struct fault ignored;
    bool pushed;
    if ((g->cublas || g->pool) && enter(g, &pushed, &ignored)) {
        cublas_close(g, d->mem);
        workspace_close(g);
        leave(g, pushed);
    }
    if (g->owns_context)
        g->driver.primary_release(g->device);
    driver_close(&g->driver);
    pthread_mutex_destroy(&g->lock);
    d->mem->free(d->mem->ctx, g, sizeof *g);
}

/* Restores the thread's previous context. Then checks r, which is the result of the driver call named `call`
 * (driver_check). */
static bool finish(struct gpu *g, bool pushed, cu_result r, const char *call, struct fault *f)
{
    leave(g, pushed);
    return driver_check(&g->driver, r, call, f);
}

/* -- memory -- */

static bool cuda_alloc(struct device *d, size_t bytes, uint64_t *address, struct fault *f)
{
    struct gpu *g = gpu_of(d);
    bool pushed;
    cu_address p = 0;
    if (!enter(g, &pushed, f))
        return false;
    cu_result r = g->driver.mem_alloc(&p, bytes ? bytes : 1);
    *address = p;
    return finish(g, pushed, r, "cuMemAlloc", f);
}

static bool cuda_release(struct device *d, uint64_t address, struct fault *f)
{
    struct gpu *g = gpu_of(d);
    bool pushed;
    return enter(g, &pushed, f) && finish(g, pushed, g->driver.mem_free(address), "cuMemFree", f);
}

static bool cuda_extent(struct device *d, uint64_t address, uint64_t *base, uint64_t *bytes)
{
    struct gpu *g = gpu_of(d);
    struct fault f;
    bool pushed;
    cu_address from = 0;
    size_t n = 0;
    if (!enter(g, &pushed, &f))
        return false;
    bool found = finish(g, pushed, g->driver.mem_range(&from, &n, address), "cuMemGetAddressRange", &f);
    *base = from;
    *bytes = n;
    return found;
}

static cu_result then_sync(struct gpu *g, cu_result r, void *stream)
{
    return r ? r : g->driver.stream_sync(stream);
}

static bool cuda_write(struct device *d, uint64_t to, const void *from, size_t bytes, void *stream,
                       struct fault *f)
{
    struct gpu *g = gpu_of(d);
    bool pushed;
    if (!enter(g, &pushed, f))
        return false;
    cu_result r = then_sync(g, g->driver.copy_to_device(to, from, bytes, stream), stream);
    return finish(g, pushed, r, "cuMemcpyHtoDAsync", f);
}

static bool cuda_read(struct device *d, void *to, uint64_t from, size_t bytes, void *stream, struct fault *f)
{
    struct gpu *g = gpu_of(d);
    bool pushed;
    if (!enter(g, &pushed, f))
        return false;
    cu_result r = then_sync(g, g->driver.copy_from_device(to, from, bytes, stream), stream);
    return finish(g, pushed, r, "cuMemcpyDtoHAsync", f);
}

static bool cuda_copy(struct device *d, uint64_t to, uint64_t from, size_t bytes, void *stream,
                      struct fault *f)
{
    struct gpu *g = gpu_of(d);
    bool pushed;
    return enter(g, &pushed, f) &&
           finish(g, pushed, g->driver.copy_on_device(to, from, bytes, stream), "cuMemcpyDtoDAsync", f);
}

static bool cuda_fill(struct device *d, uint64_t to, uint8_t byte, size_t bytes, void *stream,
                      struct fault *f)
{
    struct gpu *g = gpu_of(d);
    bool pushed;
    return enter(g, &pushed, f) &&
           finish(g, pushed, g->driver.fill(to, byte, bytes, stream), "cuMemsetD8Async", f);
}

static bool cuda_sync(struct device *d, void *stream, struct fault *f)
{
    struct gpu *g = gpu_of(d);
    bool pushed;
    return enter(g, &pushed, f) && finish(g, pushed, g->driver.stream_sync(stream), "cuStreamSynchronize", f);
}

static bool cuda_workspace(struct device *d, size_t bytes, void *stream, uint64_t *address, struct fault *f)
{
    struct gpu *g = gpu_of(d);
    bool pushed;
    if (!enter(g, &pushed, f))
        return false;
    bool good = workspace_alloc(g, bytes, stream, address, f);
    leave(g, pushed);
    return good;
}

static void cuda_workspace_end(struct device *d, uint64_t address, void *stream)
{
    struct gpu *g = gpu_of(d);
    struct fault ignored;
    bool pushed;
    if (!enter(g, &pushed, &ignored))
        return;
    workspace_free(g, address, stream);
    leave(g, pushed);
}

static bool cuda_copy_rows(struct device *d, const struct row_copy *c, int n, void *stream, struct fault *f)
{
    struct gpu *g = gpu_of(d);
    bool pushed;
    if (!enter(g, &pushed, f))
        return false;
    bool good = workspace_copy_rows(g, d->multiprocessors, c, n, stream, f);
    leave(g, pushed);
    return good;
}

/* -- kernels -- */

static bool cuda_load(struct device *d, const struct image *image, void **loaded, struct fault *f)
{
    struct gpu *g = gpu_of(d);
    bool pushed;
    struct cuda_code *code = d->mem->alloc(d->mem->ctx, sizeof *code);
    if (!code)
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "for the kernel's record");
    *code = (struct cuda_code){0};
    bool good = enter(g, &pushed, f);
    if (good) {
        good = jit_load(g, d->mem, image, code, f);
        leave(g, pushed);
    }
    if (!good)
        d->mem->free(d->mem->ctx, code, sizeof *code);
    *loaded = good ? code : NULL;
    return good;
}

static void cuda_unload(struct device *d, void *loaded)
{
    struct gpu *g = gpu_of(d);
    struct cuda_code *code = loaded;
    struct fault ignored;
    bool pushed;
    if (enter(g, &pushed, &ignored)) {
        g->driver.module_unload(code->module);
        leave(g, pushed);
    }
    d->mem->free(d->mem->ctx, code, sizeof *code);
}

static bool cuda_encode(struct device *d, const struct tensor_map_values *v, void *map)
{
    static const uint32_t steps[MAP_RANK_MAX] = {1, 1, 1, 1, 1};
    struct packed_map m;
    uint32_t box[MAP_RANK_MAX];
    map_pack(v, &m);
    for (int i = 0; i < MAP_RANK_MAX; i++)
        box[i] = m.box[i];
    struct gpu *g = gpu_of(d);
    struct fault ignored;
    bool pushed;
    if (!enter(g, &pushed, &ignored))
        return false;
    cu_result r = g->driver.encode_map(map, m.type, m.rank, (void *)(uintptr_t)m.base, m.extent, m.stride,
                                       box, steps, CU_NO_INTERLEAVE, m.swizzle, CU_PROMOTE_128, m.fills_nan);
    leave(g, pushed);
    return r == 0;
}

static bool grid_fits(const struct launch *l, struct fault *f)
{
    static const uint32_t most[3] = {0x7fffffff, 65535, 65535};
    for (int i = 0; i < 3; i++)
        if (l->grid[i] > most[i])
            return fault_set(f, NESO_INVALID, ERR_grid_too_large,
                             "axis %d has %u programs, and a GPU takes %u", i, l->grid[i], most[i]);
    return true;
}

/* Launches the kernel with launch attributes: the attributes that neso_launch_options requests and, if l->pairs is set,
 * clusters of two CTAs along axis 0. */
static cu_result launch_with(struct gpu *g, const struct cuda_code *code, const struct launch *l,
                             void **params)
{
    struct cu_launch_attribute list[3];
    unsigned n = 0;
    const neso_launch_options *o = l->options;
    if (l->pairs)
        list[n++] = (struct cu_launch_attribute){CU_CLUSTER_DIMENSION, {[1] = 2, 1, 1}};
    if (o && o->cooperative)
        list[n++] = (struct cu_launch_attribute){CU_COOPERATIVE, {[1] = 1}};
    if (o && o->priority)
        list[n++] = (struct cu_launch_attribute){CU_PRIORITY, {[1] = (unsigned)o->priority}};
    const struct cu_launch how = {.grid = {l->grid[0], l->grid[1], l->grid[2]},
                                  .block = {(unsigned)(code->num_threads * (l->packs ? l->packs : 1)), 1, 1},
                                  .shared = (unsigned)code->shared_bytes,
                                  .stream = l->stream,
                                  .attributes = list,
                                  .nattributes = n};
    return g->driver.launch_with(&how, code->function, params, NULL);
}

static bool cuda_launch(struct device *d, void *loaded, const struct launch *l, struct fault *f)
{
    struct gpu *g = gpu_of(d);
    const struct cuda_code *code = loaded;
    void *params[LAUNCH_ARGS_MOST];
    bool pushed;
    if (!grid_fits(l, f) || !enter(g, &pushed, f))
        return false;
    /* params[i] points to the value of parameter i. The driver knows the size of each parameter, and reads only that
     * many low bytes. The argument for a tensor map is already the address of the map. */
    for (int i = 0; i < l->nargs; i++)
        params[i] = i < l->nargs - l->nmaps ? (void *)(uintptr_t)&l->args[i] : (void *)(uintptr_t)l->args[i];
    cu_result r = l->pairs || l->options
                      ? launch_with(g, code, l, params)
                      : g->driver.launch(code->function, l->grid[0], l->grid[1], l->grid[2],
                                         (unsigned)(code->num_threads * (l->packs ? l->packs : 1)), 1, 1,
                                         (unsigned)code->shared_bytes, l->stream, params, NULL);
    return finish(g, pushed, r, "cuLaunchKernel", f);
}

static void cuda_resources(struct device *d, void *loaded, int *registers, int *local_bytes)
{
    struct gpu *g = gpu_of(d);
    struct cuda_code *code = loaded;
    struct fault ignored;
    bool pushed;
    *registers = *local_bytes = -1;
    if (!enter(g, &pushed, &ignored))
        return;
    g->driver.function_attribute(registers, CU_REGISTERS, code->function);
    g->driver.function_attribute(local_bytes, CU_LOCAL_BYTES, code->function);
    leave(g, pushed);
}

static void *cuda_function(void *loaded)
{
    return ((struct cuda_code *)loaded)->function;
}

static bool cuda_attribute(struct device *d, int number, int64_t *value, struct fault *f)
{
    struct gpu *g = gpu_of(d);
    size_t bytes = 0;
    int found = 0;
    cu_result r = number == DEVICE_MEMORY ? g->driver.device_memory(&bytes, g->device)
                                          : g->driver.device_attribute(&found, number, g->device);
    *value = number == DEVICE_MEMORY ? (int64_t)bytes : found;
    return driver_check(&g->driver, r, "cuDeviceGetAttribute", f);
}

static bool cuda_multiply(struct device *d, const struct product *p, struct fault *f)
{
    struct gpu *g = gpu_of(d);
    bool pushed;
    if (!enter(g, &pushed, f))
        return false;
    bool good = cublas_multiply(g, d->mem, p, f);
    leave(g, pushed);
    return good;
}

/* -- time -- */

static bool cuda_event_new(struct device *d, void **event, struct fault *f)
{
    struct gpu *g = gpu_of(d);
    bool pushed;
    return enter(g, &pushed, f) && finish(g, pushed, g->driver.event_create(event, 0), "cuEventCreate", f);
}

static void cuda_event_free(struct device *d, void *event)
{
    struct gpu *g = gpu_of(d);
    struct fault ignored;
    bool pushed;
    if (!enter(g, &pushed, &ignored))
        return;
    g->driver.event_destroy(event);
    leave(g, pushed);
}

static bool cuda_event_record(struct device *d, void *event, void *stream, struct fault *f)
{
    struct gpu *g = gpu_of(d);
    bool pushed;
    return enter(g, &pushed, f) &&
           finish(g, pushed, g->driver.event_record(event, stream), "cuEventRecord", f);
}

static bool cuda_event_seconds(struct device *d, void *from, void *to, double *seconds, struct fault *f)
{
    struct gpu *g = gpu_of(d);
    bool pushed;
    float ms = 0;
    if (!enter(g, &pushed, f))
        return false;
    cu_result r = g->driver.event_sync(to);
    if (r == 0)
        r = g->driver.event_elapsed(&ms, from, to);
    *seconds = (double)ms * 1e-3;
    return finish(g, pushed, r, "cuEventElapsedTime", f);
}

const struct device_class device_cuda = {
    .name = "cuda",
    .meaning = "a GPU, through the driver",
    .takes_ptx = true,
    .open = cuda_open,
    .close = cuda_close,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .extent = cuda_extent,
    .write = cuda_write,
    .read = cuda_read,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .sync = cuda_sync,
    .workspace = cuda_workspace,
    .workspace_end = cuda_workspace_end,
    .copy_rows = cuda_copy_rows,
    .load = cuda_load,
    .unload = cuda_unload,
    .encode = cuda_encode,
    .launch = cuda_launch,
    .resources = cuda_resources,
    .function = cuda_function,
    .attribute = cuda_attribute,
    .multiply = cuda_multiply,
    .event_new = cuda_event_new,
    .event_free = cuda_event_free,
    .event_record = cuda_event_record,
    .event_seconds = cuda_event_seconds,
};
