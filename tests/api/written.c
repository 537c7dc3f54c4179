/* SPDX-License-Identifier: MIT */
/* written.c: tests neso_param.written. This member must be set for each pointer through which a kernel stores or
 * executes an atomic, also in loops, branches, tuples and functions. It must be set for all pointers if the address of
 * a store was loaded from memory or is chosen among several pointers.
 **/
#include "neso.h"

#include <stdio.h>
#include <string.h>

static const char source[] = "import triton\n"
                             "import triton.language as tl\n"
                             "\n"
                             "@triton.jit\n"
                             "def put(at, x):\n"
                             "    tl.store(at, x)\n"
                             "\n"
                             "@triton.jit\n"
                             "def copy(x, y, n):\n"
                             "    i = tl.arange(0, 16)\n"
                             "    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)\n"
                             "\n"
                             "@triton.jit\n"
                             "def count(a, b, c, n):\n"
                             "    for k in range(n):\n"
                             "        if tl.load(a + k) > 0:\n"
                             "            tl.atomic_add(b, 1)\n"
                             "        a += 1\n"
                             "\n"
                             "@triton.jit\n"
                             "def called(a, b, c, n):\n"
                             "    put(c + n, tl.load(a) + tl.load(b))\n"
                             "\n"
                             "@triton.jit\n"
                             "def either(a, b, c, n):\n"
                             "    tl.store(tl.where(n > 1, a, b), 1.0)\n"
                             "\n"
                             "@triton.jit\n"
                             "def moved(a, b, n):\n"
                             "    for k in range(n):\n"
                             "        tl.store(b, k)\n"
                             "        b += 4\n"
                             "\n"
                             "@triton.jit\n"
                             "def read_only(a, b):\n"
                             "    tl.device_print('a', tl.load(a) + tl.load(b))\n"
                             "\n"
                             "@triton.jit\n"
                             "def indirect(a, table):\n"
                             "    tl.store(tl.load(table).to(tl.pointer_type(tl.float32)), tl.load(a))\n";

static int passed, failed;

static void check(neso_module *module, neso_context *ctx, const char *name, const char *signature,
                  const char *expected)
{
    neso_kernel *kernel = NULL;
    neso_compile_options o = {.size = sizeof o, .signature = signature};
    char found[200] = "";
    if (neso_kernel_compile(module, name, &o, &kernel) != NESO_OK)
        fprintf(stderr, "%s: %s\n", name, neso_error_text(ctx));
    for (size_t i = 0; kernel && i < neso_kernel_param_count(kernel); i++) {
        neso_param p = {.size = sizeof p};
        neso_kernel_param(kernel, i, &p);
        if (p.written)
            strcat(strcat(found, found[0] ? " " : ""), p.name);
    }
    *(strcmp(found, expected) == 0 ? &passed : &failed) += 1;
    if (strcmp(found, expected) != 0)
        fprintf(stderr, "%s writes '%s', expected '%s'\n", name, found, expected);
    neso_kernel_release(kernel);
}

int main(void)
{
    neso_context *ctx = NULL;
    neso_module *module = NULL;
    neso_context_create(NULL, &ctx);
    if (neso_module_from_source(ctx, "written.py", source, sizeof source - 1, &module) != NESO_OK)
        fprintf(stderr, "%s\n", neso_error_text(ctx));
    check(module, ctx, "copy", "*fp32, *fp32:16, i32", "y");
    check(module, ctx, "copy", "*fp32, *fp32:16, i32:1", "y");
    check(module, ctx, "count", "*i32, *i32, *i32, i32", "b");
    check(module, ctx, "called", "*fp32, *fp32, *fp32, i32", "c");
    check(module, ctx, "called", "n=i32:1, a=*fp32, b=*fp32, c=*fp32", "c");
    check(module, ctx, "either", "*fp32, *fp32, *fp32, i32", "a b c");
    check(module, ctx, "moved", "*i32, *i32, i32", "b");
    check(module, ctx, "read_only", "*fp32, *fp32", "");
    check(module, ctx, "indirect", "*fp32, *i64", "a table");
    neso_module_release(module);
    neso_context_release(ctx);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
