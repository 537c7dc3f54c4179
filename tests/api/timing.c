/* SPDX-License-Identifier: MIT */
/* timing.c: tests the data that neso_run_options.measured receives about a program's timed calls: how often a call
 * runs, and which kernels it launches. After neso has timed a launch, the program's tensors must have the contents
 * that a single launch gives them. The test uses the emulator, which runs PTX as a GPU does. */
#include "neso.h"

#include <stdio.h>
#include <string.h>

static const char source[] = "import torch\n"
                             "import triton\n"
                             "import triton.language as tl\n"
                             "\n"
                             "@triton.jit\n"
                             "def bump(X, n, BLOCK: tl.constexpr):\n"
                             "    i = tl.arange(0, BLOCK)\n"
                             "    tl.store(X + i, tl.load(X + i, mask=i < n) + 1.0, mask=i < n)\n"
                             "\n"
                             "x = torch.zeros(40, device='cuda')\n"
                             "half = x[::2]\n"
                             "for _ in range(2):\n"
                             "    bump[(1,)](x, 40, BLOCK=64)\n"
                             "assert x.tolist() == [2.0] * 40\n"
                             "bump[(1,)](half, 1, BLOCK=64)\n"
                             "assert x.tolist() == [3.0] + [2.0] * 39\n";
static const char times_itself[] =
    "y = torch.zeros(40, device='cuda')\n"
    "ms = triton.testing.do_bench(lambda: bump[(1,)](y, 40, BLOCK=64), warmup=1, rep=1)\n"
    "assert ms >= 0\n"
    "triton.testing.do_bench(lambda: y + y, warmup=1, rep=1)\n"
    "print(int(y[0].item()))\n";

static int passed, failed;

static void check(int good, const char *what)
{
    *(good ? &passed : &failed) += 1;
    if (!good)
        fprintf(stderr, "failed: %s\n", what);
}

struct told {
    size_t measurements, times;
    uint32_t lines[8];
    char kernel[32], printed[32];
};

static void note(void *user, const neso_measurement *m)
{
    struct told *t = user;
    check(m->size == sizeof *m && m->kernel_count == 1 && !m->name && strcmp(m->file, "bump.py") == 0,
          "a measurement");
    int good = m->count > 0;
    for (size_t i = 0; i < m->count; i++)
        good &= m->times_ms[i] >= 0;
    check(good, "its times");
    snprintf(t->kernel, sizeof t->kernel, "%s", neso_kernel_name(m->kernels[0]));
    t->lines[t->measurements++ % 8] = m->line;
    t->times += m->count;
}

static void print(void *user, const char *text, size_t length, int to_stderr)
{
    struct told *t = user;
    if (!to_stderr && length < sizeof t->printed && *text != '\n')
        snprintf(t->printed, sizeof t->printed, "%.*s", (int)length, text);
}

static struct told run(const char *device, neso_timing timing, int with_bench)
{
    char text[4096];
    struct told t = {0, 0, {0}, "", ""};
    neso_context *ctx;
    neso_run_options o = {.size = sizeof o, .user = &t};
    o.write = print;
    o.measured = note;
    o.timing = timing;
    snprintf(text, sizeof text, "%s%s", source, with_bench ? times_itself : "");
    neso_context_create(NULL, &ctx);
    neso_context_use_device(ctx, device, NULL);
    check(neso_program_run(ctx, "bump.py", text, strlen(text), &o) == NESO_OK, neso_error_text(ctx));
    neso_context_release(ctx);
    return t;
}

int main(void)
{
    struct told t = run("emulator", NESO_TIMING_LAUNCHES, 0);
    check(t.measurements == 2 && t.times >= 120, "each launch once, and often enough");
    check(t.lines[0] == 13 && t.lines[1] == 15 && strcmp(t.kernel, "bump") == 0, "where they are");
    t = run("emulator", NESO_TIMING_STABLE, 1);
    check(t.measurements == 1 && t.times >= 60 && t.lines[0] == 18, "the timed call that launches a kernel");
    t = run("interpreter", NESO_TIMING_ONCE, 1);
    check(t.measurements == 1 && t.times == 1 && *t.printed == '2', "once, after a first to compile");
    t = run("interpreter", NESO_TIMING_COMPILE, 1);
    check(t.measurements == 1 && *t.printed == '0', "compiled and not launched");
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
