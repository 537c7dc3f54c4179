/* SPDX-License-Identifier: MIT */
/* cross_check.c: tests the option `check`. Only the first launch of a kernel runs the check. The check reports
 * agreement, or a difference (here because of a race in the program), or the reason why it compared nothing. Without
 * the callback `checked`, the library reports nothing. The launch has the same result as without the option. */
#include "neso.h"

#include <stdio.h>
#include <string.h>

static const char source[] = "import triton\n"
                             "import triton.language as tl\n"
                             "\n"
                             "@triton.jit\n"
                             "def double(x, y, n):\n"
                             "    i = tl.program_id(0) * 128 + tl.arange(0, 128)\n"
                             "    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)\n"
                             "\n"
                             "@triton.jit\n"
                             "def reverse(x, y, n):\n"
                             "    i = tl.arange(0, 256)\n"
                             "    tl.store(x + i, tl.load(x + i) + 1)\n"
                             "    tl.store(y + i, tl.load(x + 255 - i))\n"
                             "\n"
                             "@triton.jit\n"
                             "def wait(x, y, n):\n"
                             "    while tl.atomic_cas(x, 0, 1) == 2:\n"
                             "        n += 1\n"
                             "    tl.store(y, n)\n";

static int passed, failed;

static void expect(const char *what, int good)
{
    passed += good;
    failed += !good;
    if (!good)
        printf("failed: %s\n", what);
}

struct seen {
    int calls, inputs;
    neso_verdict verdict;
    char pass[40], text[200];
};

static void checked(void *user, const neso_checked *x)
{
    struct seen *s = user;
    s->calls++;
    s->inputs = x->inputs;
    s->verdict = x->verdict;
    snprintf(s->pass, sizeof s->pass, "%s", x->pass);
    snprintf(s->text, sizeof s->text, "%s", x->text);
}

/* Compiles and launches a kernel twice on 256 numbers. */
static struct seen launch(const char *device, const char *name, int reports, int *first)
{
    struct seen seen = {0};
    neso_context *c = NULL;
    neso_module *m = NULL;
    neso_kernel *k = NULL;
    neso_compile_options o = {
        .size = sizeof o, .signature = "*i32:16, *i32:16, i32", .check = 1, .user = &seen};
    neso_error error = {.size = sizeof error};
    uint64_t x = 0, y = 0;
    int numbers[256] = {3, 5}, n = 250;
    o.checked = reports ? checked : NULL;
    if (neso_context_create(NULL, &c) || neso_context_use_device(c, device, NULL) ||
        neso_module_from_source(c, "check.py", source, strlen(source), &m) ||
        neso_kernel_compile(m, name, &o, &k) || neso_memory_allocate(c, sizeof numbers, &x) ||
        neso_memory_allocate(c, sizeof numbers, &y) || neso_memory_write(c, x, numbers, sizeof numbers) ||
        neso_memory_write(c, y, numbers, sizeof numbers))
        printf("%s: %s\n", name, c ? neso_error_text(c) : "no memory");
    const void *args[] = {&x, &y, &n};
    for (int i = 0; k && i < 2; i++)
        if (neso_launch(k, (const uint32_t[3]){strcmp(name, "double") == 0 ? 2 : 1, 1, 1}, NULL, args,
                        &error))
            printf("%s: %s\n", name, error.message);
    neso_memory_read(c, first, y, sizeof *first);
    neso_kernel_release(k);
    neso_module_release(m);
    neso_context_release(c);
    return seen;
}

int main(void)
{
    static const char *const devices[] = {"emulator", "interpreter"};
    int first = 0;
    for (int i = 0; i < 2; i++) {
        struct seen s = launch(devices[i], "double", 1, &first);
        expect("one report", s.calls == 1);
        expect("agreement", s.verdict == NESO_CHECK_AGREES && s.inputs >= 3 && !*s.pass);
        expect("results", first == 6);
        s = launch(devices[i], "double", 0, &first);
        expect("silence", s.calls == 0 && first == 6);
        s = launch(devices[i], "wait", 1, &first);
        expect("no comparison", s.verdict == NESO_CHECK_UNKNOWN && strstr(s.text, "may wait"));
    }
    struct seen r = launch("emulator", "reverse", 1, &first);
    expect("a difference", r.verdict == NESO_CHECK_DIFFERS && strstr(r.text, "'y'["));
    expect("no pass made it", strcmp(r.pass, "select") == 0);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
