/* SPDX-License-Identifier: MIT */
/* properties.c: implements the device properties of torch.cuda and triton.runtime.driver. The GPU's driver provides
 * these properties. If kernels run on the CPU, programs get the properties of an H200 instead, so that they
 * make the same choices as on an H200. */
#include "frontend/python/python.h"
#include "runtime/runtime.h"
#include "runtime/host/torch.h"

#include <string.h>

// clang-format off
/*    torch's name                          driver's number  an H200's answer */
#define PROPERTIES(X) \
    X(multi_processor_count,                16,              132) \
    X(max_threads_per_multi_processor,      39,              2048) \
    X(max_threads_per_block,                1,               1024) \
    X(warp_size,                            10,              32) \
    X(major,                                75,              9) \
    X(minor,                                76,              0) \
    X(regs_per_multiprocessor,              82,              65536) \
    X(shared_memory_per_block,              8,               49152) \
    X(shared_memory_per_block_optin,        97,              232448) \
    X(shared_memory_per_multiprocessor,     81,              233472) \
    X(L2_cache_size,                        38,              62914560) \
    X(clock_rate,                           13,              1980000) \
    X(memory_clock_rate,                    36,              3201000) \
    X(memory_bus_width,                     37,              6144)
// clang-format on

static const struct {
    const char *name;
    int attribute;
    int64_t usual;
} properties[] = {
#define X(name, attribute, usual) {#name, attribute, usual},
    PROPERTIES(X)
#undef X
};

static const int64_t usual_memory = (int64_t)143167 << 20;

static struct device *device_of(struct eval *e)
{
    return ((struct program *)e->host->ctx)->device;
}

static int64_t ask(struct eval *e, int attribute, int64_t usual, struct loc at)
{
    struct device *d = device_of(e);
    struct fault f;
    int64_t value;
    if (!d->class->attribute)
        return usual;
    if (!d->class->attribute(d, attribute, &value, &f))
        program_raise(e, at, &f);
    return value;
}

/* Returns the device's name: "NVIDIA H200" for "NVIDIA H200 (cuda:0, sm_90a)". */
static struct obj *name_obj(struct eval *e)
{
    struct device *d = device_of(e);
    const char *end = strstr(d->text, " (cuda");
    return d->class->attribute && end ? obj_str(e, d->text, (size_t)(end - d->text))
                                      : obj_cstr(e, "NVIDIA H200");
}

static struct obj *properties_get(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    (void)self;
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (strcmp(properties[i].name, name) == 0)
            return obj_int(e, ask(e, properties[i].attribute, properties[i].usual, at));
    if (strcmp(name, "total_memory") == 0)
        return obj_int(e, ask(e, DEVICE_MEMORY, usual_memory, at));
    return strcmp(name, "name") == 0 ? name_obj(e) : NULL;
}

static const struct native_class properties_class = {.name = "_CudaDeviceProperties",
                                                     .getattr = properties_get};

static struct obj *run_properties(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args, (void)call;
    return obj_native(e, &properties_class, NULL);
}

static struct obj *run_name(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args, (void)call;
    return name_obj(e);
}

static struct obj *run_capability(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args;
    struct obj *device = obj_native(e, &properties_class, NULL);
    return obj_pair(e, properties_get(e, device, "major", call->loc),
                    properties_get(e, device, "minor", call->loc));
}

/* Implements device_count, which returns 1, and current_device, which returns 0: there is only one device. */
static struct obj *run_count(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args;
    return obj_int(e, strcmp(builtin_short_name(call->callee), "device_count") == 0);
}

const struct builtin torch_device_functions[] = {
    {"torch.cuda.get_device_properties", "device=None", run_properties, NULL},
    {"torch.cuda.get_device_name", "device=None", run_name, NULL},
    {"torch.cuda.get_device_capability", "device=None", run_capability, NULL},
    {"torch.cuda.current_device", "", run_count, NULL},
    {"torch.cuda.device_count", "", run_count, NULL},
    {0},
};
