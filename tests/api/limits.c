/* SPDX-License-Identifier: MIT */
/* limits.c: tests the limits, which protect callers that compile and run untrusted sources. For each limit (bytes of
 * source, statements, operations, memory, time) there is an input that exceeds it. The call must soon end with the
 * limit's error, at the right location, and the context must stay usable. Then the test calls the functions that
 * describe a kernel. */
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

/* Compiles a source, and returns the tag of the first error; "" if there is none. */
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

/* -- programs -- */

#define PROGRAM                                                                                              \
    "import torch\n"                                                                                         \
    "import triton\n"                                                                                        \
    "import triton.language as tl\n"                                                                         \
    "x = torch.zeros(1024, dtype=torch.int32, device='cuda')\n"                                              \
    "@triton.jit\n"                                                                                          \
    "def k(X, n, N: tl.constexpr):\n"                                                                        \
    "    i = tl.arange(0, N)\n"

static const char kernel_without_end[] = PROGRAM "    while n >= 0:\n"
                                                 "        n = (n + 1) % 1000\n"
                                                 "    tl.store(X + i, n)\n"
                                                 "k[(1,)](x, 2, 16)\n";
static const char caught[] = PROGRAM "    while n >= 0:\n"
                                     "        n = (n + 1) % 1000\n"
                                     "    tl.store(X + i, n)\n"
                                     "while True:\n"
                                     "    try:\n"
                                     "        k[(1,)](x, 2, 16)\n"
                                     "    except BaseException:\n"
                                     "        pass\n";
static const char large_grid[] = PROGRAM "    tl.store(X, n)\n"
                                         "k[(2**31 - 1,)](x, 2, 1)\n";
static const char large_dots[] = PROGRAM "    a = tl.load(X + i % 16 + i[:, None] * 0).to(tl.float32)\n"
                                         "    for j in range(n):\n"
                                         "        a = tl.dot(a, a)\n"
                                         "    tl.store(X + i + i[:, None] * 0, a.to(tl.int32))\n"
                                         "k[(1,)](x, 100000000, 128)\n";
static const char sorts[] = PROGRAM "    a = i\n"
                                    "    for j in range(n):\n"
                                    "        a = tl.cumsum(tl.sort(a ^ j), 0)\n"
                                    "    tl.store(X + i, a)\n"
                                    "k[(4,)](x, 100000000, 1024)\n";
static const char timed[] =
    PROGRAM "    tl.store(X + i, n)\n"
            "triton.testing.do_bench(lambda: k[(10,)](x, 2, 16), warmup=1000, rep=1e9)\n";
static const char tuned[] = "import torch\n"
                            "import triton\n"
                            "import triton.language as tl\n"
                            "@triton.autotune([triton.Config({'N': b}, num_warps=w) for b in (16, 32, 64) "
                            "for w in (1, 2)], key=['n'])\n"
                            "@triton.jit\n"
                            "def k(X, n, N: tl.constexpr):\n"
                            "    tl.store(X + tl.arange(0, N), n)\n"
                            "x = torch.zeros(1024, dtype=torch.int32, device='cuda')\n"
                            "for n in range(2, 10**9):\n"
                            "    k[(10,)](x, n)\n";
static const char large_product[] = "import torch\n"
                                    "a = torch.empty(8192, 8192)\n"
                                    "b = a @ a\n";
static const char factories[] = "import torch\n"
                                "while True:\n"
                                "    x = torch.randn(1000, 1000)\n"
                                "    y = (x * 2).exp().sum(0).sort()\n";
static const char large_functions[] = "import torch\n"
                                      "x = torch.empty(1, 1).expand(1 << 20, 1 << 20)\n"
                                      "x.softmax(-1)\n";
static const char prints[] = "import torch\n"
                             "while True:\n"
                             "    print(torch.zeros(3), 'and so on')\n";
static const char counts[] = "x = 0\n"
                             "for i in range(10**12):\n"
                             "    x += i\n";
static const char sums[] = "print(sum(range(10**12)))\n";
static const char search[] = "x, y = 'a' * 10**6 + 'b', 'a' * (5 * 10**5) + 'c'\n"
                             "while True:\n"
                             "    x.find(y), x.count(y), y in x, x.replace(y, '')\n";
static const char words_of_a_text[] = "x = 'a ' * 10**6\n"
                                      "while True:\n"
                                      "    y = x.split()\n";
static const char lists_of_lists[] = "a, b = [0], [0]\n"
                                     "for i in range(60):\n"
                                     "    a, b = [a, a], [b, b]\n"
                                     "print(a == b)\n";
static const char hash_of_tuples[] = "a = (0,)\n"
                                     "for i in range(60):\n"
                                     "    a = (a, a)\n"
                                     "print({a: 1})\n";
static const char copy_of_lists[] = "import copy\n"
                                    "a = [0]\n"
                                    "for i in range(60):\n"
                                    "    a = [a, a]\n"
                                    "copy.deepcopy(a)\n";
static const char many_tensors[] = "import torch\n"
                                   "x = [torch.ones(1000, 1000) for i in range(10**6)]\n";
static const char one_tensor[] = "import torch\n"
                                 "x = torch.empty(1 << 28)\n"
                                 "x[0] = 1\n";
static const char lists[] = "x = []\n"
                            "while True:\n"
                            "    x.append([1] * 1000)\n";
static const char text_grows[] = "x = 'a'\n"
                                 "while True:\n"
                                 "    x = x + x\n";
static const char many_kernels[] =
    PROGRAM "    tl.store(X + i, tl.sum(tl.exp(i * 1.0)) + n)\n"
            "for n in range(10**9):\n"
            "    k[(1,)](x, 2, 16, num_warps=2 ** (n % 6), num_stages=1 + n % 99)\n";
/* A kernel whose frame in the interpreter is large: 200 MB of values. */
static const char large_tiles[] = PROGRAM "    a = i[:, None] + i\n"
                                          "    for j in tl.static_range(50):\n"
                                          "        a = a * 3 + j + n\n"
                                          "    tl.store(X, tl.sum(tl.sum(a, 1), 0))\n"
                                          "k[(4,)](x, 2, 1024)\n";

/* An allocator that records the maximum of allocated bytes. */
struct tally {
    long out, most;
};

static void *allocate(void *user, size_t bytes)
{
    struct tally *t = user;
    void *p = bytes >> 36 ? NULL
                          /* malloc would fail for this size, and a sanitizer would then end the program */
                          : malloc(bytes);
    long now = p ? __atomic_add_fetch(&t->out, (long)bytes, __ATOMIC_RELAXED) : 0;
    if (now > __atomic_load_n(&t->most, __ATOMIC_RELAXED))
        __atomic_store_n(&t->most, now, __ATOMIC_RELAXED);
    return p;
}

static void release(void *user, void *memory, size_t bytes)
{
    __atomic_sub_fetch(&((struct tally *)user)->out, (long)bytes, __ATOMIC_RELAXED);
    free(memory);
}

/* Runs a program, and returns its processor time in seconds, which does not depend on the load of the machine. */
static double run(neso_context *ctx, const char *source, neso_status *status)
{
    clock_t start = clock();
    *status = neso_program_run(ctx, "k.py", source, strlen(source), NULL);
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* SLACK_BYTES is the memory that the message about an exceeded memory limit may occupy beyond the limit: one chunk of
 * an arena. */
enum { THREADS_MOST = 16, SLACK_BYTES = 5 << 20 };

static void ends(const char *what, neso_context_options limits, const char *device, const char *source,
                 const char *tag, neso_status expected)
{
    neso_context *ctx;
    neso_status status;
    neso_diagnostic d = {.size = sizeof d};
    struct tally tally = {0, 0};
    char name[100];
    snprintf(name, sizeof name, "%s, on the %s", what, device);
    limits.allocator = (neso_allocator){allocate, release, &tally};
    if (neso_context_create(&limits, &ctx) != NESO_OK ||
        neso_context_use_device(ctx, device, NULL) != NESO_OK)
        abort();
    double seconds = run(ctx, source, &status), limit = (double)limits.time_limit_ms * 1e-3;
    check(status == expected, name, neso_status_name(status));
    check(neso_diagnostic_get(ctx, 0, &d) && strcmp(d.tag, tag) == 0, name, neso_error_text(ctx));
    check(d.line > 0, name, "it is not said where");
    check(seconds < (limit > 0 ? THREADS_MOST * (1.1 * limit + 0.05) : 20), name, "it took long");
    if (limits.memory_limit)
        check(tally.most <= (long)limits.memory_limit + SLACK_BYTES, name, "more memory");
    run(ctx, "import torch\nassert torch.ones(3).sum() == 3\n", &status);
    check(status == NESO_OK, name, "the context is not what it was");
    neso_context_release(ctx);
    check(tally.out == 0, name, "memory is kept");
}

/* Writes a kernel with 40 nested loops; the innermost loop has a reduction, which needs barriers. */
static void write_loops(char *out, size_t room)
{
    size_t n = (size_t)snprintf(out, room, "%s", PROGRAM);
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(out + n, room - n, "%*sfor j%d in range(n):\n", 4 + i, "", i);
    snprintf(out + n, room - n, "%*si += tl.sum(i)\n    tl.store(X + i, i)\nk[(1,)](x, 2**30, 1024)\n", 44,
             "");
}

static void end_programs(const char *device)
{
    char loops_in_loops[8000];
    write_loops(loops_in_loops, sizeof loops_in_loops);
    neso_context_options none = {.size = sizeof none}, few = none, little = none, brief = none;
    int is_interpreter = strcmp(device, "interpreter") == 0;
    few.step_limit = 10000;
    little.memory_limit = 1 << 26;
    brief.time_limit_ms = 100;
    const struct {
        const char *what, *source;
    } endless_ones[] = {{"a kernel without end", kernel_without_end},
                        {"a kernel without end, caught", caught},
                        {"a grid of 2^31", large_grid},
                        {"large dots", large_dots},
                        {"sorts and scans", sorts},
                        {"a benchmark", timed},
                        {"tuning", tuned},
                        {"a large product", large_product},
                        {"factories", factories},
                        {"a large function", large_functions},
                        {"prints", prints},
                        {"counting", counts},
                        {"a sum", sums},
                        {"a search", search},
                        {"words", words_of_a_text},
                        {"lists that are equal", lists_of_lists},
                        {"a hash", hash_of_tuples},
                        {"a copy", copy_of_lists},
                        {"loops in loops", loops_in_loops}};
    for (size_t i = 0; i < sizeof endless_ones / sizeof *endless_ones; i++) {
        neso_status status = NESO_OUT_OF_MEMORY;
        /* this input exceeds the memory limit before the time limit ends it */
        int is_memory = endless_ones[i].source == large_functions;
        ends(endless_ones[i].what, brief, device, endless_ones[i].source,
             is_memory ? "torch-memory" : "time-limit", status);
        if (!is_memory)
            ends(endless_ones[i].what, few, device, endless_ones[i].source, "steps", NESO_FAILED);
    }
    ends("many tensors", little, device, many_tensors, "torch-memory", NESO_OUT_OF_MEMORY);
    ends("one tensor", little, device, one_tensor, "torch-memory", NESO_OUT_OF_MEMORY);
    ends("lists", little, device, lists, "memory-limit", NESO_OUT_OF_MEMORY);
    ends("text", little, device, text_grows, "memory-limit", NESO_OUT_OF_MEMORY);
    ends("many kernels", little, device, many_kernels, "memory-limit", NESO_OUT_OF_MEMORY);
    if (is_interpreter)
        ends("large tiles", little, device, large_tiles, "launch-memory", NESO_OUT_OF_MEMORY);
}

/* Tests that the limits of the context apply to neso_launch. */
static void launch(const char *device)
{
    neso_context_options limits = {.size = sizeof limits, .time_limit_ms = 100};
    neso_context *ctx;
    neso_module *module;
    neso_kernel *kernel;
    neso_compile_options o = {.size = sizeof o, .signature = "*i32:16, i32, 16"};
    neso_error error = {.size = sizeof error};
    const uint32_t grid[3] = {1, 1, 1};
    uint64_t memory;
    int32_t n = 2;
    const char source[] = HEAD "    pass\n"
                               "@triton.jit\n"
                               "def endless(X, n, N: tl.constexpr):\n"
                               "    while n >= 0:\n"
                               "        n = (n + 1) % 1000\n"
                               "    tl.store(X + tl.arange(0, N), n)\n";
    if (neso_context_create(&limits, &ctx) != NESO_OK ||
        neso_context_use_device(ctx, device, NULL) != NESO_OK ||
        neso_module_from_source(ctx, "k.py", source, strlen(source), &module) != NESO_OK ||
        neso_kernel_compile(module, "endless", &o, &kernel) != NESO_OK ||
        neso_memory_allocate(ctx, 64, &memory) != NESO_OK)
        abort();
    neso_status status = neso_launch(kernel, grid, NULL, (const void *const[]){&memory, &n}, &error);
    check(status == NESO_OUT_OF_MEMORY && error.status == status, "a launch", neso_status_name(status));
    check(strstr(error.message, "100 ms") != NULL, "a launch", error.message);
    neso_kernel_release(kernel);
    neso_module_release(module);
    neso_context_release(ctx);
}

/* Launches a kernel with a pointer and n ints. `tag` is the tag of the expected error; "" if the launch must
 * succeed. */
static void parameters(const char *device, int n, const char *tag, neso_status expected)
{
    enum { NAME_BYTES = 10 };
    neso_context *ctx;
    neso_status status;
    neso_diagnostic d = {.size = sizeof d};
    char what[100];
    size_t room = 1000 + NAME_BYTES * (size_t)n, used;
    char *source = malloc(room);
    if (!source || neso_context_create(NULL, &ctx) != NESO_OK ||
        neso_context_use_device(ctx, device, NULL) != NESO_OK)
        abort();
    snprintf(what, sizeof what, "%d parameters, on the %s", n, device);
    used = (size_t)snprintf(
        source, room, "import torch\nimport triton\nimport triton.language as tl\n@triton.jit\ndef k(X");
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(source + used, room - used, ", n%d", i);
    snprintf(source + used, room - used,
             "):\n    tl.store(X, n0 + n%d)\nx = torch.zeros(1, dtype=torch.int32)\n"
             "k[(1,)](x, *range(2, %d))\nassert x[0] == %d\n",
             n - 1, n + 2, n + 3);
    run(ctx, source, &status);
    const char *found = neso_diagnostic_get(ctx, 0, &d) ? d.tag : "";
    check(status == expected && strcmp(found, tag) == 0, what, neso_error_text(ctx));
    neso_context_release(ctx);
    free(source);
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
    check(neso_kernel_text(kernel, NESO_TEXT_EXPLAIN, &text, NULL) == NESO_OK &&
              strstr(text, "assign_layouts: "),
          "why", text);
    neso_kernel_release(kernel);
    neso_module_release(module);
    neso_context_release(ctx);
}

/* Tests that options are refused if their size is not the size of a version of the structure: for example, a size that
 * ends inside a pointer. The size of an older, shorter version is accepted. */
static void sizes(void)
{
    neso_context *ctx;
    neso_module *module;
    neso_kernel *kernel;
    neso_compile_options o = {.signature = "*fp32, 64"};
    const size_t bad[] = {0, 4, 12, sizeof o - 4, sizeof o + 8};
    neso_context_create(NULL, &ctx);
    neso_module_from_source(ctx, "k.py", good, strlen(good), &module);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o.size = bad[i];
        neso_status status = neso_kernel_compile(module, "k", &o, &kernel);
        check(status == NESO_INVALID && strstr(neso_error_text(ctx), "[options-size]"), "size of options",
              neso_error_text(ctx));
    }
    o.size = sizeof o - 2 * sizeof(void *);
    check(neso_kernel_compile(module, "k", &o, &kernel) == NESO_OK, "shorter options", neso_error_text(ctx));
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
    end_programs("interpreter");
    end_programs("emulator");
    launch("interpreter");
    launch("emulator");
    parameters("interpreter", 1087, "", NESO_OK); /* 1088 parameters, the limit */
    parameters("interpreter", 1088, "launch-failed", NESO_FAILED);
    parameters("emulator", 1086, "", NESO_OK); /* 4352 bytes, the limit */
    parameters("emulator", 1087, "params-too-large", NESO_INVALID);
    ask();
    sizes();
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
