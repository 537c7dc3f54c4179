/* SPDX-License-Identifier: MIT */
/* three_calls.c: shows that three calls suffice to embed neso: the first makes a module of the source, the second
 * compiles a kernel, and the third launches the kernel. The test compiles vector add for a GPU and checks the PTX,
 * then runs vector add on the interpreter and checks every element. The test also checks that wrong uses are refused
 * with a reason. */
#include "neso.h"

#include <stdio.h>
#include <string.h>

static const char source[] = "import triton\n"
                             "import triton.language as tl\n"
                             "\n"
                             "@triton.jit\n"
                             "def add(X, Y, Z, n, BLOCK: tl.constexpr):\n"
                             "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
                             "    mask = i < n\n"
                             "    x = tl.load(X + i, mask=mask)\n"
                             "    y = tl.load(Y + i, mask=mask)\n"
                             "    tl.store(Z + i, x + y, mask=mask)\n";

static int passed, failed;

static void check(int good, const char *what)
{
    *(good ? &passed : &failed) += 1;
    if (!good)
        fprintf(stderr, "failed: %s\n", what);
}

enum { N = 1000, BLOCK = 256 };

static neso_compile_options options_for(const char *signature)
{
    neso_compile_options o = {.size = sizeof o};
    o.signature = signature;
    return o;
}

static void compile_to_ptx(void)
{
    neso_context *ctx;
    neso_module *module;
    neso_kernel *kernel;
    const char *ptx;
    size_t length;
    check(neso_context_create(NULL, &ctx) == NESO_OK, "a context");
    check(neso_module_from_source(ctx, "add.py", source, strlen(source), &module) == NESO_OK, "a module");
    neso_compile_options o = options_for("*fp32:16, *fp32:16, *fp32:16, i32:16, 1024");
    if (neso_kernel_compile(module, "add", &o, &kernel) == NESO_OK) {
        check(neso_kernel_text(kernel, NESO_TEXT_PTX, &ptx, &length) == NESO_OK && length == strlen(ptx),
              "PTX");
        check(strstr(ptx, ".entry add") != NULL, "an entry named add");
        puts(ptx);
        check(neso_kernel_param_count(kernel) == 4, "four parameters");
        uint32_t grid[3] = {1, 1, 1};
        check(neso_launch(kernel, grid, NULL, NULL, NULL) != NESO_OK, "no device, no launch");
        neso_kernel_release(kernel);
    } else {
        check(0, neso_error_text(ctx));
    }
    neso_module_release(module);
    neso_context_release(ctx);
}

/* Launches the kernel with a value for each parameter that is a type in the signature, in order. `memory` may be
 * memory of this process, because the interpreter can access such memory. */
static void launch(neso_context *ctx, neso_kernel *kernel, uint64_t memory)
{
    float *data = (float *)(uintptr_t)memory;
    for (int i = 0; i < N; i++) {
        data[i] = (float)i;
        data[N + i] = 0.5f;
    }
    uint64_t x = memory, y = memory + N * sizeof(float), z = memory + 2 * N * sizeof(float);
    int32_t n = N;
    const void *args[] = {&x, &y, &z, &n};
    const uint32_t grid[3] = {(N + BLOCK - 1) / BLOCK, 1, 1};
    neso_error error = {.size = sizeof error};
    check(neso_launch(kernel, grid, NULL, args, &error) == NESO_OK, error.message);
    check(neso_synchronize(ctx, NULL) == NESO_OK, "synchronize");
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += data[2 * N + i] != (float)i + 0.5f;
    check(wrong == 0, "every sum");
    z += 4;
    check(neso_launch(kernel, grid, NULL, args, &error) == NESO_INVALID && strstr(error.message, "'Z'"),
          "a promise of :16 is kept");
}

static void run_on_interpreter(void)
{
    neso_context *ctx;
    neso_module *module;
    neso_kernel *kernel;
    uint64_t memory;
    neso_context_create(NULL, &ctx);
    check(neso_context_use_device(ctx, "interpreter", NULL) == NESO_OK, "the interpreter");
    check(neso_memory_allocate(ctx, 3 * N * sizeof(float), &memory) == NESO_OK, "memory");
    check(neso_module_from_source(ctx, "add.py", source, strlen(source), &module) == NESO_OK, "a module");
    neso_compile_options o = options_for("*fp32, *fp32, *fp32:16, i32, BLOCK=256");
    if (neso_kernel_compile(module, NULL, &o, &kernel) == NESO_OK) {
        launch(ctx, kernel, memory);
        neso_kernel_release(kernel);
    } else {
        check(0, neso_error_text(ctx));
    }
    check(neso_memory_release(ctx, memory) == NESO_OK, "memory back");
    neso_module_release(module);
    neso_context_release(ctx);
}

static void refuse(neso_module *module, neso_context *ctx, const char *name, const char *signature,
                   const char *tag)
{
    neso_kernel *kernel;
    neso_diagnostic d = {.size = sizeof d};
    neso_compile_options o = options_for(signature);
    check(neso_kernel_compile(module, name, &o, &kernel) == NESO_INVALID && !kernel, signature);
    check(neso_diagnostic_get(ctx, 0, &d) && strcmp(d.tag, tag) == 0, tag);
}

static void refuse_wrong_uses(void)
{
    neso_context *ctx;
    neso_module *module;
    neso_context_create(NULL, &ctx);
    check(neso_context_use_device(ctx, "toaster", NULL) == NESO_INVALID, "an unknown device");
    check(strstr(neso_error_text(ctx), "toaster") != NULL, "its name in the message");
    check(neso_module_from_source(ctx, "add.py", source, strlen(source), &module) == NESO_OK, "a module");
    refuse(module, ctx, "sub", "", "no-kernel");
    refuse(module, ctx, "add", "*fp32, *fp31, *fp32, i32, 16", "signature-type");
    refuse(module, ctx, "add", "*fp32, *fp32", "signature-missing");
    refuse(module, ctx, "add", "*fp32, *fp32, *fp32, i32:8, 16", "signature-promise");
    refuse(module, ctx, "add", "*fp32, *fp32, *fp32, i32, i32", "signature-constexpr");
    refuse(module, ctx, "add", "*fp32, *fp32, *fp32, i32, 16, 17", "signature-extra");
    refuse(module, ctx, "add", "*fp32, *fp32, *fp32, i32, NOPE=16", "signature-unknown");
    neso_kernel *kernel;
    char version[40];
    snprintf(version, sizeof version, "%d.%d", NESO_VERSION_MAJOR, NESO_VERSION_MINOR);
    check(strcmp(neso_version(), version) == 0 && neso_version_number() == NESO_VERSION_NUMBER,
          "one version");
    neso_compile_options odd = {.size = 7};
    check(neso_kernel_compile(module, "add", &odd, &kernel) == NESO_INVALID, "options of an unknown size");
    check(strstr(neso_error_text(ctx), "have size 7") != NULL, "the size in the message");
    neso_module_release(module);
    neso_context_release(ctx);
}

int main(void)
{
    compile_to_ptx();
    run_on_interpreter();
    refuse_wrong_uses();
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
