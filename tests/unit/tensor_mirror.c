/* SPDX-License-Identifier: MIT */
/* tensor_mirror.c: tests that a storage is copied to and from a device with its own memory only when this is
 * necessary, and that empty tensors are not copied. */
#include "runtime/host/tensor.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

struct fake {
    int allocs, frees, zeros, up, down;
};

static void *host_alloc(void *ctx, size_t bytes)
{
    (void)ctx;
    return malloc(bytes);
}

static void host_free(void *ctx, void *p, size_t bytes)
{
    (void)ctx;
    (void)bytes;
    free(p);
}

static bool device_alloc(void *ctx, size_t bytes, uint64_t *address)
{
    ((struct fake *)ctx)->allocs++;
    char *p = malloc(bytes);
    if (p)
        memset(p, 0x77, bytes);
    *address = (uint64_t)(uintptr_t)p;
    return p != NULL;
}

static void device_free(void *ctx, uint64_t address, size_t bytes)
{
    (void)bytes;
    ((struct fake *)ctx)->frees++;
    free((void *)(uintptr_t)address);
}

static bool device_zero(void *ctx, uint64_t address, size_t bytes)
{
    ((struct fake *)ctx)->zeros++;
    memset((void *)(uintptr_t)address, 0, bytes);
    return true;
}

static bool copy_up(void *ctx, uint64_t address, const void *host, size_t bytes)
{
    ((struct fake *)ctx)->up++;
    memcpy((void *)(uintptr_t)address, host, bytes);
    return true;
}

static bool copy_down(void *ctx, void *host, uint64_t address, size_t bytes)
{
    ((struct fake *)ctx)->down++;
    memcpy(host, (const void *)(uintptr_t)address, bytes);
    return true;
}

struct setting {
    struct fake fake;
    struct memory mem;
    struct mirror mirror;
    struct tensor_pool pool;
    struct tensor t;
};

static void set_up(struct setting *s)
{
    int64_t shape[] = {4};
    *s = (struct setting){.mem = {host_alloc, host_free, NULL}};
    s->mirror = (struct mirror){&s->fake, device_alloc, device_free, device_zero, copy_up, copy_down};
    pool_init(&s->pool, &s->mem, &s->mem, &s->mirror);
    CHECK(tensor_init(&s->pool, &s->t, TORCH_int32, 1, shape));
}

static int32_t *on_device(struct setting *s)
{
    return (int32_t *)(uintptr_t)tensor_device(&s->pool, &s->t, true);
}

TEST(blank_tensors_are_zeroed_there)
{
    struct setting s;
    set_up(&s);
    CHECK_INT(on_device(&s)[3], 0);
    CHECK_INT(s.fake.zeros, 1);
    CHECK_INT(s.fake.up, 0);
    on_device(&s)[3] = 5;
    CHECK_INT(s.fake.zeros, 1);
    CHECK_INT(tensor_get(tensor_host(&s.pool, &s.t, false), &s.t, 3).i, 5);
    CHECK_INT(s.fake.down, 1);
    pool_free(&s.pool);
    CHECK_INT(s.fake.frees, s.fake.allocs);
}

TEST(undefined_tensors_cost_nothing)
{
    struct setting s;
    set_up(&s);
    s.t.storage->is_undefined = true;
    on_device(&s)[0] = 9;
    CHECK_INT(s.fake.zeros + s.fake.up, 0);
    CHECK_INT(tensor_get(tensor_host(&s.pool, &s.t, false), &s.t, 0).i, 9);
    pool_free(&s.pool);
}

TEST(what_the_host_wrote_is_copied_once)
{
    struct setting s;
    set_up(&s);
    char *host = tensor_host(&s.pool, &s.t, true);
    tensor_set(host, &s.t, 1, (struct number){.i = 7});
    CHECK_INT(on_device(&s)[1], 7);
    CHECK_INT(on_device(&s)[1], 7);
    CHECK_INT(s.fake.up, 1);
    on_device(&s)[2] = 8;
    host = tensor_host(&s.pool, &s.t, true);
    CHECK_INT(tensor_get(host, &s.t, 2).i, 8);
    tensor_set(host, &s.t, 2, (struct number){.i = 6});
    CHECK_INT(on_device(&s)[2], 6);
    CHECK_INT(s.fake.up, 2);
    pool_free(&s.pool);
}

TEST(released_tensors_are_refused)
{
    struct setting s;
    set_up(&s);
    on_device(&s);
    pool_release(&s.pool, NULL);
    CHECK_INT(s.fake.frees, 1);
    CHECK(!tensor_host(&s.pool, &s.t, false));
    CHECK(tensor_device(&s.pool, &s.t, true) == 0);
    pool_free(&s.pool);
    CHECK_INT(s.fake.frees, 1);
}
