/* What a caller who compiles strangers' sources sets: each limit (bytes of source, statements, operations,
 * memory, time) stops its own hostile input with its own error, soon, and the context goes on working. Then
 * what may be asked of a kernel. */
#include "neso.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HEAD                                                                                                 \
    "import triton\n"                                                                                        \
    "import triton.language as tl\n"                                                                         \
    "@triton.jit\n"                                                                                          \
    "def k(X, N: tl.constexpr):\n"

static const char good[] = HEAD "    i = tl.arange(0, 64)\n"
                                "    tl.store(X + i, i + N)\n";
static const char unrolled[] = HEAD "    for i in tl.static_range(N):\n"
                                    "        tl.store(X + i, i)\n";
static const char endless[] = HEAD "    for i in tl.static_range(N):\n"
                                   "        pass\n";
static const char constant_that_grows[] = HEAD "    t = (1, 2)\n"
                                               "    for i in tl.static_range(64):\n"
                                               "        t = t + t\n";

static int passed, failed;

static void check(int is_good, const char *what, const char *said)
{
    *(is_good ? &passed : &failed) += 1;
    if (!is_good)
        fprintf(stderr, "failed: %s: %s\n", what, said);
}

/* The tag of the first error; "": none. */
static const char *compile(neso_context *ctx, const char *source, const char *signature, neso_status *status)
{
    static char tag[64];
    neso_module *module;
    neso_kernel *kernel = NULL;
    neso_diagnostic d = {.size = sizeof d};
    neso_compile_options o = {.size = sizeof o};
    o.signature = signature;
    *status = neso_module_from_source(ctx, "k.py", source, strlen(source), &module);
    if (*status == NESO_OK)
        *status = neso_kernel_compile(module, "k", &o, &kernel);
    tag[0] = '\0';
    if (neso_diagnostic_get(ctx, 0, &d))
        snprintf(tag, sizeof tag, "%s", d.tag);
    neso_kernel_release(kernel);
    neso_module_release(module);
    return tag;
}

static void stops(const char *what, const neso_context_options *limits, const char *source, const char *tag,
                  neso_status expected)
{
    neso_context *ctx;
    neso_status status;
    if (neso_context_create(limits, &ctx) != NESO_OK)
        abort();
    clock_t start = clock();
    const char *found = compile(ctx, source, "*i32:16, 100000000", &status);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    check(strcmp(found, tag) == 0, what, found);
    check(status == expected, what, neso_status_name(status));
    check(seconds < 20, what, "it took long");
    if (strcmp(tag, "source-too-large") != 0)
        check(strcmp(compile(ctx, good, "*i32:16, 3", &status), "") == 0, "a good source after it",
              neso_error_text(ctx));
    neso_context_release(ctx);
}

static void ask(void)
{
    neso_context *ctx;
    neso_module *module;
    neso_kernel *kernel;
    const char *text;
    size_t length;
    neso_compile_options o = {.size = sizeof o, .signature = "*i32:16, 3"};
    if (neso_context_create(NULL, &ctx) != NESO_OK)
        abort();
    check(neso_module_from_source(ctx, "k.py", good, strlen(good), &module) == NESO_OK, "a module", "");
    check(neso_kernel_compile(module, NULL, &o, &kernel) == NESO_OK, "a kernel", neso_error_text(ctx));
    for (int i = 1; neso_text_name((neso_text)i); i++) {
        check(neso_kernel_text(kernel, (neso_text)i, &text, &length) == NESO_OK, neso_text_name((neso_text)i),
              neso_error_text(ctx));
        check(length > 0 && length == strlen(text), neso_text_name((neso_text)i), "an empty text");
    }
    check(neso_kernel_text(kernel, (neso_text)0, &text, NULL) == NESO_INVALID, "no text 0", "");
    check(neso_kernel_text(kernel, NESO_TEXT_EXPLAIN, &text, NULL) == NESO_OK && strstr(text, "assign: "),
          "why", text);
    neso_kernel_release(kernel);
    neso_module_release(module);
    neso_context_release(ctx);
}

int main(void)
{
    neso_context_options none = {.size = sizeof none}, few = none, small = none, little = none, brief = none;
    few.step_limit = 10000;
    small.ir_limit = 5000;
    little.memory_limit = 1 << 22;
    brief.time_limit_ms = 50;
    stops("statements", &few, endless, "steps", NESO_INVALID);
    stops("operations", &small, unrolled, "ir-limit", NESO_OUT_OF_MEMORY);
    stops("memory", &little, unrolled, "memory-limit", NESO_OUT_OF_MEMORY);
    stops("memory of a constant", &little, constant_that_grows, "memory-limit", NESO_OUT_OF_MEMORY);
    stops("time, unrolling", &brief, unrolled, "time-limit", NESO_OUT_OF_MEMORY);
    stops("time, counting", &brief, endless, "time-limit", NESO_OUT_OF_MEMORY);
    stops("operations, by default", &none, unrolled, "ir-limit", NESO_OUT_OF_MEMORY);
    few.source_limit = 10;
    stops("bytes", &few, good, "source-too-large", NESO_INVALID);
    ask();
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
