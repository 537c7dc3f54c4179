/* SPDX-License-Identifier: MIT */
/* compile.c: measures the time of compilation from source to PTX on one core. The program compiles in a loop in one
 * context, and times each stage. If its argument is the path of the command `neso`, it also times whole processes of
 * the command. It prints the medians of many runs in milliseconds:
 *
 *     kernel      all    read   trace     opt codegen | process
 *     add        0.31    0.05    0.06    0.12    0.08 |    1.10 */
#include "neso.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 201, PROCESSES = 21, COLUMNS = 5 };

static const struct {
    const char *name, *signature, *goal, *source;
    int num_warps, num_stages; /* 0: the defaults */
    const char *target;        /* NULL: the default */
} kernels[] = {
    {"add", "*fp32:16, *fp32:16, *fp32:16, i32:16", "1.00",
     "from triton import jit\n"
     "from triton.language import program_id, arange, load, store\n"
     "BLOCK = 512\n"
     "@jit\n"
     "def add(X, Y, Z, N):\n"
     "   pid = program_id(0)\n"
     "   idx = pid * BLOCK + arange(BLOCK)\n"
     "   mask = idx < N\n"
     "   x = load(X + idx, mask=mask)\n"
     "   y = load(Y + idx, mask=mask)\n"
     "   store(Z + idx, x + y, mask=mask)\n",
     0, 0, NULL},
    {"softmax", "*fp32:16, i32, i32:1, *fp32:16, i32, i32:1, i32, i32", "2.00",
     "import triton\n"
     "import triton.language as tl\n"
     "@triton.jit\n"
     "def softmax(Y, stride_ym, stride_yn, X, stride_xm, stride_xn, M, N):\n"
     "    m = tl.program_id(0)\n"
     "    BLOCK_SIZE = 1024\n"
     "    n = tl.arange(0, BLOCK_SIZE)\n"
     "    X = X + m * stride_xm + n * stride_xn\n"
     "    x = tl.load(X, mask=n < N, other=-float('inf'))\n"
     "    z = x - tl.max(x, axis=0)\n"
     "    num = tl.exp(z)\n"
     "    denom = tl.sum(num, axis=0)\n"
     "    y = num / denom\n"
     "    Y = Y + m * stride_ym + n * stride_yn\n"
     "    tl.store(Y, y, mask=n < N)\n",
     0, 0, NULL},
    {"matmul", "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, i32:16, i32:16", "8.00",
     "import triton\n"
     "import triton.language as tl\n"
     "@triton.jit\n"
     "def matmul(A, B, C, M, N, K, stride_am, stride_bk, stride_cm):\n"
     "    BLOCK_M, BLOCK_N, BLOCK_K = 128, 256, 64\n"
     "    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)\n"
     "    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)\n"
     "    rk = tl.arange(0, BLOCK_K)\n"
     "    A = A + (rm[:, None] * stride_am + rk[None, :])\n"
     "    B = B + (rk[:, None] * stride_bk + rn[None, :])\n"
     "    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n"
     "    for k in range(K, 0, -BLOCK_K):\n"
     "        acc += tl.dot(tl.load(A), tl.load(B))\n"
     "        A += BLOCK_K\n"
     "        B += BLOCK_K * stride_bk\n"
     "    C = C + (rm[:, None] * stride_cm + rn[None, :])\n"
     "    tl.store(C, acc, mask=(rm[:, None] < M) & (rn[None, :] < N))\n",
     8, 3, "sm_80"},
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return x[n / 2];
}

/* Compiles a source to PTX, and sets ms to the times of the columns all, read, trace, opt and codegen. Returns 0 if
 * the compilation fails. */
static int compile(neso_context *ctx, int which, double ms[COLUMNS])
{
    neso_module *module;
    neso_kernel *kernel;
    neso_resources r = {.size = sizeof r};
    neso_compile_options o = {.size = sizeof o};
    o.signature = kernels[which].signature;
    o.num_warps = kernels[which].num_warps;
    o.num_stages = kernels[which].num_stages;
    o.target = kernels[which].target;
    double start = now_ms();
    neso_status status = neso_module_from_source(ctx, kernels[which].name, kernels[which].source,
                                                 strlen(kernels[which].source), &module);
    double read = now_ms();
    if (status == NESO_OK)
        status = neso_kernel_compile(module, kernels[which].name, &o, &kernel);
    if (status != NESO_OK) {
        fputs(neso_error_text(ctx), stderr);
        return 0;
    }
    neso_kernel_resources(kernel, &r);
    neso_kernel_release(kernel);
    neso_module_release(module);
    ms[0] = now_ms() - start;
    ms[1] = read - start;
    ms[2] = 1e3 * r.trace_seconds;
    ms[3] = 1e3 * r.opt_seconds;
    ms[4] = 1e3 * r.codegen_seconds;
    return 1;
}

/* Runs the command on a file, and returns the time of the whole process; a negative number if the process fails. */
static double run_process(const char *neso, const char *path, int which)
{
    double start = now_ms();
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        char warps[16], stages[16];
        snprintf(warps, sizeof warps, "%d", kernels[which].num_warps ? kernels[which].num_warps : 4);
        snprintf(stages, sizeof stages, "%d", kernels[which].num_stages ? kernels[which].num_stages : 3);
        execl(neso, neso, "compile", path, "--signature", kernels[which].signature, "-o", "/dev/null",
              "--num-warps", warps, "--num-stages", stages, "--target",
              kernels[which].target ? kernels[which].target : "sm_90a", (char *)NULL);
        _exit(127);
    }
    int status = -1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        return -1;
    return now_ms() - start;
}

static double time_process(const char *neso, int which)
{
    char path[PATH_MAX];
    const char *parent = getenv("TMPDIR");
    double ms[PROCESSES];
    snprintf(path, sizeof path, "%s/neso-XXXXXX.py", parent && *parent ? parent : "/tmp");
    int file = mkstemps(path, 3);
    size_t length = strlen(kernels[which].source);
    int good = file >= 0 && write(file, kernels[which].source, length) == (ssize_t)length;
    for (int i = 0; good && i < PROCESSES; i++)
        good = (ms[i] = run_process(neso, path, which)) >= 0;
    if (file >= 0)
        close(file);
    unlink(path);
    return good ? middle(ms, PROCESSES) : -1;
}

int main(int argc, char **argv)
{
    neso_context *ctx;
    if (neso_context_create(NULL, &ctx) != NESO_OK)
        return 1;
    printf("%-10s %7s %7s %7s %7s %7s |%8s   goal, in milliseconds\n", "kernel", "all", "read", "trace",
           "opt", "codegen", "process");
    for (int k = 0; k < (int)(sizeof kernels / sizeof *kernels); k++) {
        double times[COLUMNS][RUNS];
        for (int i = 0; i < RUNS; i++) {
            double ms[COLUMNS];
            if (!compile(ctx, k, ms))
                return 1;
            for (int c = 0; c < COLUMNS; c++)
                times[c][i] = ms[c];
        }
        printf("%-10s", kernels[k].name);
        for (int c = 0; c < COLUMNS; c++)
            printf(" %7.3f", middle(times[c], RUNS));
        if (argc > 1)
            printf(" |%8.3f   < %s\n", time_process(argv[1], k), kernels[k].goal);
        else
            printf(" |%8s   < %s\n", "", kernels[k].goal);
    }
    neso_context_release(ctx);
    return 0;
}
