/* SPDX-License-Identifier: MIT */
/* capsule.c: tests capsules in the API. neso_capsule_launch makes a file of a successful and of a failed launch. The
 * file can be read, and its launch has the same outcome on another device. A changed copy of a capsule can be run. A
 * file that is truncated to any length is refused. If an allocation fails, the call reports exhausted memory. */
#include "neso.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] = "import triton\n"
                             "import triton.language as tl\n"
                             "\n"
                             "WHAT = 'this is not needed'\n"
                             "\n"
                             "@triton.jit\n"
                             "def double(x, y, n):\n"
                             "    i = tl.program_id(0) * 128 + tl.arange(0, 128)\n"
                             "    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)\n";

static int passed, failed;

static void expect(const char *what, int good)
{
    passed += good;
    failed += !good;
    if (!good)
        printf("failed: %s\n", what);
}

struct file {
    char *data;
    size_t length;
    neso_seen seen;
};

static void keep(void *user, const neso_capsule *seen, const void *data, size_t length)
{
    struct file *f = user;
    f->seen = seen->seen;
    f->data = data ? malloc(length) : NULL;
    f->length = length;
    if (f->data)
        memcpy(f->data, data, length);
}

static int wants(void *user, const char *kernel)
{
    return (void)user, (void)kernel, 0;
}

static void ignore(void *user, const neso_capsule *seen, const void *data, size_t length)
{
    (void)user, (void)seen, (void)data, (void)length;
}

/* Launches 3 programs on 300 numbers. Tensor y has room for only `room` numbers. */
static neso_status launch(const char *device, int room, int with_capsules, struct file *f)
{
    neso_context *c = NULL;
    neso_module *m = NULL;
    neso_kernel *k = NULL;
    neso_context_options how = {.size = sizeof how};
    neso_compile_options o = {.size = sizeof o, .signature = "*i32:16, *i32:16, i32"};
    neso_error error = {.size = sizeof error};
    uint64_t x = 0, y = 0;
    int numbers[300], n = 300;
    for (int i = 0; i < n; i++)
        numbers[i] = i + 1;
    how.wants_capsule = with_capsules ? wants : NULL;
    how.capsule = with_capsules ? ignore : NULL;
    *f = (struct file){NULL, 0, NESO_SEEN_REFUSED};
    if (neso_context_create(&how, &c) || neso_context_use_device(c, device, NULL) ||
        neso_module_from_source(c, "double.py", source, strlen(source), &m) ||
        neso_kernel_compile(m, "double", &o, &k) || neso_memory_allocate(c, sizeof numbers, &x) ||
        neso_memory_allocate(c, (size_t)room * 4, &y) || neso_memory_write(c, x, numbers, sizeof numbers) ||
        neso_memory_write(c, y, numbers, (size_t)room * 4))
        printf("%s\n", c ? neso_error_text(c) : "no memory");
    const void *args[] = {&x, &y, &n};
    neso_status status = neso_capsule_launch(k, (const uint32_t[3]){3, 1, 1}, NULL, args, keep, f, &error);
    neso_kernel_release(k);
    neso_module_release(m);
    neso_context_release(c);
    return status;
}

static void run_on(const char *device, const struct file *f)
{
    neso_context *c = NULL;
    neso_capsule *capsule = NULL;
    neso_replay r = {.size = sizeof r};
    neso_context_create(NULL, &c);
    expect("a device", neso_context_use_device(c, device, NULL) == NESO_OK);
    expect("a capsule reads", neso_capsule_read(c, "it", f->data, f->length, &capsule) == NESO_OK);
    if (capsule) {
        expect("its parts", strcmp(capsule->kernel, "double") == 0 && capsule->grid[0] == 3 &&
                                capsule->argument_count == 3 && capsule->buffer_count == 2 &&
                                capsule->arguments[2].value == 300 &&
                                !strstr(capsule->files[0].text, "WHAT"));
        expect("it runs", neso_capsule_run(c, capsule, 0, &r) == NESO_OK);
        expect("it does the same", r.same && r.seen == f->seen);
        neso_capsule changed = *capsule;
        changed.grid[0] = 2; /* without the third program, which fails */
        expect("a copy runs",
               neso_capsule_run(c, &changed, 1, &r) == NESO_OK && !r.same && r.seen == NESO_SEEN_RESULT);
    }
    neso_capsule_release(capsule);
    neso_context_release(c);
}

static void refuse_shorter(const struct file *f)
{
    neso_context *c = NULL;
    int refused = 0;
    neso_context_create(NULL, &c);
    for (size_t n = 0; n < f->length; n++) {
        neso_capsule *capsule = NULL;
        char *part = malloc(n ? n : 1);
        memcpy(part, f->data, n);
        refused += neso_capsule_read(c, "part", part, n, &capsule) == NESO_INVALID &&
                   strstr(neso_error_text(c), "part cannot");
        free(part);
    }
    expect("shorter files are refused", refused == (int)f->length);
    neso_context_release(c);
}

/* -- failing allocations -- */

static long left;

static void *allocate(void *user, size_t bytes)
{
    return (void)user, left-- > 0 ? malloc(bytes) : NULL;
}

static void release(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

static void write_nothing(void *user, const void *data, size_t length)
{
    (void)user, (void)data, (void)length;
}

/* Reads, runs and writes a capsule, with an allocator that fails after n allocations. Returns 1 if no allocation
 * fails. */
static int run_with_allocations(const struct file *f, long n)
{
    neso_context_options how = {.size = sizeof how, .allocator = {allocate, release, NULL}};
    neso_context *c = NULL;
    neso_capsule *capsule = NULL;
    neso_replay r = {.size = sizeof r};
    left = n;
    int good = neso_context_create(&how, &c) == NESO_OK &&
               neso_context_use_device(c, "interpreter", NULL) == NESO_OK &&
               neso_capsule_read(c, "it", f->data, f->length, &capsule) == NESO_OK &&
               neso_capsule_run(c, capsule, 0, &r) == NESO_OK && r.same &&
               neso_capsule_write(c, capsule, write_nothing, NULL) == NESO_OK;
    neso_capsule_release(capsule);
    neso_context_release(c);
    return good;
}

int main(void)
{
    struct file good, bad, none;
    for (int i = 0; i < 2; i++) {
        const char *device = i ? "interpreter" : "emulator", *other = i ? "emulator" : "interpreter";
        expect("a launch",
               launch(device, 300, 1, &good) == NESO_OK && good.data && good.seen == NESO_SEEN_RESULT);
        expect("a failing launch",
               launch(device, 299, 1, &bad) != NESO_OK && bad.data && bad.seen == NESO_SEEN_FAULT);
        run_on(device, &good);
        run_on(other, &good);
        run_on(device, &bad);
        run_on(other, &bad);
        if (i == 0)
            refuse_shorter(&bad);
        free(bad.data);
        long n = 0;
        while (i == 1 && n < 20000 && !run_with_allocations(&good, n))
            n++;
        expect("enough allocations", n < 20000);
        free(good.data);
    }
    expect("no capsules", launch("emulator", 300, 0, &none) == NESO_INVALID && !none.data);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
