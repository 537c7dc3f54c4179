/* SPDX-License-Identifier: MIT */
/* host.c: connects host programs with the runtime: torch and other modules that they import, and tensors as
 * kernel arguments.
 *
 * A program's tensors live in one pool. If kernels read host memory (as on the interpreter), the device allocates the
 * pool's tensors, so that kernels may access them. Otherwise each storage has a second copy in the device's memory
 * (see tensor.h). */
#include "frontend/trace/lang.h"
#include "runtime/host/torch.h"
#include "runtime/runtime.h"

#include <string.h>

/* Device memory of freed tensors, which new tensors of the same size reuse. The memory is kept because a benchmarked
 * function allocates its output at each call, and an allocation by the driver may take longer than the kernel. */
struct spare {
    size_t bytes;
    uint64_t address; /* 0 if the entry is empty */
};
enum { SPARES = 32 };

/* The data of host.c for one program (struct program.lent). */
struct lent {
    struct spare spares[SPARES];
    struct tensor_pool pool;
    struct mirror mirror;
    struct memory device_memory; /* allocator of tensor contents, if kernels read host memory */
    struct program *program;
};

static struct lent *lent_of(struct eval *e)
{
    return ((struct program *)e->host->ctx)->lent;
}

struct tensor_pool *host_pool(struct eval *e)
{
    return &lent_of(e)->pool;
}

/* -- device memory for the pool -- */

static void drop_spares(struct lent *l)
{
    struct fault ignored;
    for (int i = 0; i < SPARES; i++) {
        if (l->spares[i].address)
            l->program->device->class->release(l->program->device, l->spares[i].address, &ignored);
        l->spares[i].address = 0;
    }
}

static bool mirror_alloc(void *ctx, size_t bytes, uint64_t *address)
{
    struct lent *l = ctx;
    struct program *p = l->program;
    for (int i = 0; i < SPARES; i++)
        if (l->spares[i].address && l->spares[i].bytes == bytes) {
            *address = l->spares[i].address;
            l->spares[i].address = 0;
            return true;
        }
    if (p->device->class->alloc(p->device, bytes, address, &p->fault))
        return true;
    drop_spares(l);
    return p->device->class->alloc(p->device, bytes, address, &p->fault);
}

static void mirror_free(void *ctx, uint64_t address, size_t bytes)
{
    struct lent *l = ctx;
    struct program *p = l->program;
    for (int i = 0; i < SPARES && p->device->class->takes_ptx; i++)
        if (!l->spares[i].address) {
            l->spares[i] = (struct spare){bytes, address};
            return;
        }
    p->device->class->release(p->device, address, &p->fault);
}

static bool mirror_zero(void *ctx, uint64_t address, size_t bytes)
{
    struct program *p = ((struct lent *)ctx)->program;
    return p->device->class->fill(p->device, address, 0, bytes, NULL, &p->fault);
}

static bool mirror_to_device(void *ctx, uint64_t address, const void *host, size_t bytes)
{
    struct program *p = ((struct lent *)ctx)->program;
    return p->device->class->write(p->device, address, host, bytes, NULL, &p->fault);
}

static bool mirror_to_host(void *ctx, void *host, uint64_t address, size_t bytes)
{
    struct program *p = ((struct lent *)ctx)->program;
    return p->device->class->read(p->device, host, address, bytes, NULL, &p->fault);
}

static void *direct_alloc(void *ctx, size_t bytes)
{
    uint64_t address;
    return mirror_alloc(ctx, bytes, &address) ? (void *)(uintptr_t)address : NULL;
}

static void direct_free(void *ctx, void *p, size_t bytes)
{
    mirror_free(ctx, (uint64_t)(uintptr_t)p, bytes);
}

void host_synchronize(struct eval *e, struct loc at)
{
    struct program *p = e->host->ctx;
    if (!p->device->class->sync(p->device, NULL, &p->fault))
        program_raise(e, at, &p->fault);
}

void host_raise_fault(struct eval *e, struct loc at)
{
    host_pool(e)->failed = false; /* if the program catches the exception, later allocations may succeed */
    program_raise(e, at, &((struct program *)e->host->ctx)->fault);
}

/* -- modules for programs -- */

static struct obj *import(void *ctx, struct eval *e, const char *name, struct loc at)
{
    struct obj *found = torch_module(e, name, at);
    if (!found)
        found = testing_module(e, name);
    return found ? found : modules_import(ctx, e, name, at);
}

static bool as_pointer(struct eval *e, struct obj *x, struct pointer *out)
{
    struct tensor *t = torch_tensor(x);
    if (!t)
        return false;
    const struct torch_dtype_info *d = &torch_dtypes[t->dtype];
    if (t->storage->is_released)
        eval_raise(e, (struct loc){0}, "RuntimeError", ERR_torch_released);
    *out = (struct pointer){lang_number(e, d->dtype, d->is_unsigned),
                            tensor_device(host_pool(e), t, true),
                            {d->name, (uint64_t)tensor_elem_bytes(t), t->rank, t->shape, t->stride}};
    return true;
}

static const struct lang_type *as_pointee(struct eval *e, struct obj *x)
{
    enum torch_dtype d;
    return torch_as_dtype(x, &d) ? lang_number(e, torch_dtypes[d].dtype, torch_dtypes[d].is_unsigned) : NULL;
}

void host_open(struct program *p)
{
    struct neso_context *c = p->context;
    struct lent *l = NEW(&p->module->arena, struct lent);
    l->program = p;
    l->mirror = (struct mirror){l, mirror_alloc, mirror_free, mirror_zero, mirror_to_device, mirror_to_host};
    l->device_memory = (struct memory){direct_alloc, direct_free, l};
    bool direct = !p->device->class->takes_ptx;
    pool_init(&l->pool, &c->mem, direct ? &l->device_memory : &c->mem, direct ? NULL : &l->mirror);
    l->pool.budget = &c->budget;
    p->lent = l;
    p->host.import = import;
    p->host.jit_attr = tune_attribute;
    p->as_pointer = as_pointer;
    p->as_pointee = as_pointee;
}

void host_interpret(struct program *p, struct eval *e, struct loc at)
{
    struct tensor_pool *pool = host_pool(e);
    uint64_t seed[2] = {pool->seed[0], pool->seed[1]};
    struct device interpreter;
    if (!p->device->class->takes_ptx)
        return;
    if (pool->storages || p->launches || p->context->refs > 2)
        eval_raise(e, at, "RuntimeError", ERR_interpret_late);
    if (!device_open(&interpreter, "interpreter", NULL, &p->context->mem, &p->fault))
        program_raise(e, at, &p->fault);
    host_close(p);
    device_close(p->device);
    *p->device = interpreter;
    host_open(p);
    memcpy(host_pool(e)->seed, seed, sizeof seed);
}

void host_close(struct program *p)
{
    if (p->lent) {
        pool_free(&((struct lent *)p->lent)->pool);
        drop_spares(p->lent);
    }
    p->lent = NULL;
}
