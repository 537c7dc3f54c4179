/* SPDX-License-Identifier: MIT */
/* compiled_kernel.c: implements the objects that represent compiled kernels in host programs. A launch and
 * kernel.warmup(...) return such an object.
 *
 *     k = add.warmup(x, y, n, BLOCK=512, grid=(1,))      compiles without launching
 *     k.asm['ptx']  k.n_regs  k.n_spills  k.metadata.shared
 *     k[(132,)](x, y, n)                                 launches with k's options */
#include "frontend/python/python.h"
#include "runtime/runtime.h"

#include <string.h>

/* The value of the attribute n_regs if no driver has assembled the kernel and neso has not counted its
 * registers. This number is not 0, because programs divide by it. */
enum { REGISTERS_USUAL = 32 };

static struct neso_kernel *kernel_of(const struct obj *self)
{
    return self->native.data;
}

/* -- asm: the kernel's texts -- */

static const char *const stages[] = {"source", "ptx"};
enum { STAGES = sizeof stages / sizeof *stages };

static struct obj *ptx_text(struct eval *e, struct neso_kernel *k, struct loc at)
{
    int nerrors = e->diag->nerrors;
    struct spec spec = k->spec;
    if (!k->texts[NESO_TEXT_PTX].s) {
        k->spec.interpreter = k->spec.stops = false; /* compile as for a GPU */
        kernel_make(k, NESO_TEXT_PTX);
        k->spec = spec;
    }
    if (e->diag->nerrors > nerrors)
        eval_raise(e, at, "CompilationError", ERR_launch_compile, k->name);
    return obj_str(e, k->texts[NESO_TEXT_PTX].s, k->texts[NESO_TEXT_PTX].len);
}

static struct obj *asm_item(struct eval *e, struct obj *self, struct obj *key, struct loc at)
{
    struct neso_kernel *k = kernel_of(self);
    const char *word = key->kind == OBJ_str ? key->str.s : "";
    if (strcmp(word, "ptx") == 0)
        return ptx_text(e, k, at);
    if (strcmp(word, "source") == 0)
        return eval_getattr(e, k->jit, "src", at);
    eval_raise(e, at, "KeyError", ERR_launch_stage, obj_to_str(e, key, true)->str.s);
}

static struct obj *asm_iter(struct eval *e, struct obj *self, int64_t i, struct loc at)
{
    (void)self, (void)at;
    return i < STAGES ? obj_cstr(e, stages[i]) : NULL;
}

static struct obj *run_keys(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args, (void)call;
    struct obj *list = obj_list(e, 0, NULL);
    for (int i = 0; i < STAGES; i++)
        VEC_PUSH(e->arena, &list->seq, obj_cstr(e, stages[i]));
    return list;
}

static const struct builtin asm_keys = {"asm.keys", "self", run_keys, NULL};

static struct obj *asm_get(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    (void)at;
    return strcmp(name, "keys") == 0 ? obj_method(e, self, obj_builtin(e, &asm_keys)) : NULL;
}

static const struct native_class asm_class = {
    .name = "asm", .getattr = asm_get, .getitem = asm_item, .iter = asm_iter};

/* -- facts that neso knows -- */

/* Returns the value of a numeric attribute that both the kernel and its `metadata` have. */
static struct obj *number_named(struct eval *e, const struct neso_kernel *k, const char *name)
{
    const struct {
        const char *name;
        int value;
    } numbers[] = {{"num_warps", k->spec.num_warps},
                   {"num_stages", k->spec.num_stages},
                   {"num_ctas", k->spec.num_ctas},
                   {"shared", k->info.shared_bytes},
                   {"n_max_threads", 1024}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(numbers[i].name, name) == 0)
            return obj_int(e, numbers[i].value);
    return NULL;
}

static struct obj *metadata_get(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    if (strcmp(name, "shared") == 0) /* shared memory exists only in a kernel compiled for a GPU */
        ptx_text(e, kernel_of(self), at);
    return strcmp(name, "name") == 0 ? obj_cstr(e, kernel_of(self)->name)
                                     : number_named(e, kernel_of(self), name);
}

static const struct native_class metadata_class = {.name = "KernelMetadata", .getattr = metadata_get};

/* Loads the kernel, and returns what the driver reports for a thread: the number of spilled 4-byte words if
 * `spills` is true, else the number of registers. Without a driver, returns 0 words, or neso's own count of
 * registers (REGISTERS_USUAL if there is none). */
static struct obj *resource(struct eval *e, struct neso_kernel *k, bool spills, struct loc at)
{
    struct fault f;
    int registers = -1, local_bytes = -1;
    if (!kernel_load(k, &f))
        program_raise(e, at, &f);
    k->device->class->resources(k->device, k->loaded, &registers, &local_bytes);
    if (spills)
        return obj_int(e, local_bytes < 0 ? 0 : local_bytes / 4);
    return obj_int(e, registers > 0 ? registers : k->info.live_regs ? k->info.live_regs : REGISTERS_USUAL);
}

static struct obj *run_nothing(struct eval *e, struct obj **args, const struct args *call)
{
    resource(e, kernel_of(args[0]), true, call->loc);
    return obj_none;
}

static const struct builtin init_handles = {"CompiledKernel._init_handles", "self", run_nothing, NULL};

static struct obj *kernel_get(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    struct neso_kernel *k = kernel_of(self);
    if (strcmp(name, "asm") == 0)
        return obj_native(e, &asm_class, k);
    if (strcmp(name, "metadata") == 0)
        return obj_native(e, &metadata_class, k);
    if (strcmp(name, "n_regs") == 0 || strcmp(name, "n_spills") == 0)
        return resource(e, k, name[2] == 's', at);
    if (strcmp(name, "_init_handles") == 0)
        return obj_method(e, self, obj_builtin(e, &init_handles));
    return metadata_get(e, self, name, at);
}

/* -- further launches -- */

struct launcher {
    struct neso_kernel *kernel;
    struct obj *grid;
};

/* A call may omit the constants for which the kernel was compiled. If it passes only positional arguments,
 * one for each parameter that is not such a constant (an int that is promised to be 1 is passed), returns
 * the arguments with the constants inserted. Otherwise, or if an argument is a tuple, returns the arguments
 * unchanged. */
static struct args filled(struct eval *e, const struct spec *spec, const struct args *args)
{
    int nconst = 0, given = 0;
    if (spec->parts)
        return *args;
    for (int i = 0; i < spec->nargs; i++)
        nconst += spec->args[i].is_const && !spec->args[i].equals_one;
    if (args->nkw || args->n + nconst != spec->nargs)
        return *args;
    struct args all = {
        .n = spec->nargs, .at = NEW_ARRAY(e->arena, spec->nargs + 1, struct obj *), .loc = args->loc};
    for (int i = 0; i < spec->nargs; i++)
        all.at[i] =
            spec->args[i].is_const && !spec->args[i].equals_one ? spec->args[i].value : args->at[given++];
    return all;
}

static struct obj *launch(struct eval *e, struct obj *self, const struct args *args)
{
    const struct launcher *l = self->native.data;
    struct args all = filled(e, &l->kernel->spec, args);
    return launch_plain(e->host->ctx, e, l->kernel->jit, l->grid, &all,
                        (struct launch_how){.like = &l->kernel->spec});
}

static const struct native_class launcher_class = {.name = "launcher", .call = launch};

static struct obj *kernel_item(struct eval *e, struct obj *self, struct obj *grid, struct loc at)
{
    (void)at;
    struct launcher *l = NEW(e->arena, struct launcher);
    *l = (struct launcher){kernel_of(self), grid};
    return obj_native(e, &launcher_class, l);
}

static const struct native_class kernel_class = {
    .name = "CompiledKernel", .getattr = kernel_get, .getitem = kernel_item};

struct obj *compiled_obj(struct eval *e, struct neso_kernel *k)
{
    if (!k->object)
        k->object = obj_native(e, &kernel_class, k);
    return k->object;
}
