/* SPDX-License-Identifier: MIT */
/* lent.c: tests that kernels on a CPU device use memory that the caller has lent. Kernels can read and write the lent
 * memory, and accesses outside of this memory are errors. Also tests that the output of kernels reaches the caller's
 * callback. */
#include "neso.h"

#include <stdio.h>
#include <string.h>

static const char source[] = "import triton\n"
                             "import triton.language as tl\n"
                             "\n"
                             "@triton.jit\n"
                             "def count(out, N: tl.constexpr):\n"
                             "    i = tl.arange(0, N)\n"
                             "    tl.store(out + i, i + 1)\n"
                             "    tl.device_print('first', tl.load(out))\n";

static int passed, failed;

static void check(int good, const char *what)
{
    *(good ? &passed : &failed) += 1;
    if (!good)
        fprintf(stderr, "failed: %s\n", what);
}

enum { N = 8 };

static void note(void *user, const char *text, size_t length)
{
    char *to = user;
    size_t used = strlen(to);
    if (used + length < 200)
        memcpy(to + used, text, length);
}

static neso_status launch(neso_kernel *kernel, const int *data, neso_error *error)
{
    uint64_t address = (uint64_t)(uintptr_t)data;
    const void *args[] = {&address};
    return neso_launch(kernel, (const uint32_t[]){1, 1, 1}, NULL, args, error);
}

static void check_device(const char *device)
{
    neso_context *ctx = NULL;
    neso_module *module = NULL;
    neso_kernel *kernel = NULL;
    neso_error error = {.size = sizeof error};
    char printed[200] = "";
    int data[2 * N] = {0};
    uint64_t address = (uint64_t)(uintptr_t)data;
    neso_compile_options o = {.size = sizeof o, .signature = "*i32, 8"};
    check(neso_context_create(NULL, &ctx) == NESO_OK, "a context");
    check(neso_memory_lend(ctx, address, sizeof data) == NESO_NO_DEVICE, "without a device nothing is lent");
    check(neso_context_use_device(ctx, device, NULL) == NESO_OK, device);
    neso_context_on_print(ctx, note, printed);
    check(neso_module_from_source(ctx, "count.py", source, sizeof source - 1, &module) == NESO_OK,
          neso_error_text(ctx));
    check(neso_kernel_compile(module, "count", &o, &kernel) == NESO_OK, neso_error_text(ctx));
    check(launch(kernel, data, &error) != NESO_OK, "memory that was not lent is refused");
    check(neso_memory_lend(ctx, address, sizeof data / 2) == NESO_OK, "memory is lent");
    check(neso_memory_lend(ctx, address + 4, 4) == NESO_INVALID, "a part of it cannot be lent again");
    check(neso_memory_lend(ctx, address - 4, 8) == NESO_INVALID, "nor what reaches into it");
    check(launch(kernel, data, &error) == NESO_OK, error.message);
    check(data[0] == 1 && data[N - 1] == N && data[N] == 0, "the kernel wrote into it");
    check(strstr(printed, "first") != NULL, "and what it printed has come");
    check(launch(kernel, data + 1, &error) != NESO_OK, "its end is seen");
    check(neso_memory_release(ctx, address) == NESO_OK, "it is given back");
    check(launch(kernel, data, &error) != NESO_OK, "and is the kernel's no longer");
    neso_kernel_release(kernel);
    neso_module_release(module);
    neso_context_release(ctx);
}

int main(void)
{
    check_device("interpreter");
    check_device("emulator");
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
