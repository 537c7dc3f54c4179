/* SPDX-License-Identifier: MIT */
/* launches.c: finds the specializations that a program launches, so that a user need not write the signature of a
 * kernel that the program launches:
 *
 *     neso compile matmul.py
 *     neso compile matmul.py::matmul --signature "*fp16:16, ..., 128, 128, 64" --num-warps 8    is equivalent
 *
 * To find the specializations, the command runs the program's host code. Launches compile their kernels but
 * do not execute them. Assertions of the host code never fail, because the kernels' results, which they test,
 * are missing. */
#include "runtime/command/inspect/inspect.h"

#include <stdlib.h>
#include <string.h>

enum { SECONDS_MOST = 10 };

struct finder {
    struct launches *out;
    struct beside beside;
    neso_context *ctx;
};

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same(const struct launched *x, const char *kernel, const neso_compile_options *o)
{
    return strcmp(x->kernel, kernel) == 0 && is_same_text(x->signature, o->signature) &&
           x->options.num_warps == o->num_warps && x->options.num_stages == o->num_stages &&
           x->options.max_registers == o->max_registers && x->options.no_fp_fusion == o->no_fp_fusion &&
           x->options.deterministic == o->deterministic && x->options.fp_reassoc == o->fp_reassoc &&
           x->options.debug == o->debug;
}

static char *copy(const char *s)
{
    struct buffer b = {0};
    if (s)
        put_string(&b, s);
    return b.s;
}

static void add(void *user, neso_kernel *kernel)
{
    struct launches *l = ((struct finder *)user)->out;
    neso_compile_options o = {.size = sizeof o};
    if (neso_kernel_options(kernel, &o) != NESO_OK)
        return;
    for (int i = 0; i < l->n; i++)
        if (is_same(&l->at[i], neso_kernel_name(kernel), &o))
            return;
    l->at = array_grown(l->at, (size_t)l->n, sizeof *l->at);
    l->at[l->n++] = (struct launched){copy(neso_kernel_name(kernel)), copy(o.signature), o};
}

static const char *find_module(void *user, const char *module, size_t *length)
{
    return beside_find(&((struct finder *)user)->beside, module, length);
}

static const char *get_variable(void *user, const char *name)
{
    struct finder *f = user;
    return strcmp(name, "NESO_DEVICE") == 0 ? neso_context_device(f->ctx) : getenv(name);
}

neso_status launches_find(const struct given *g, const char *path, const char *text, size_t length,
                          neso_context **ctx, struct launches *out)
{
    struct finder f = {.out = out};
    neso_context_options limits = {.size = sizeof limits, .time_limit_ms = 1000 * SECONDS_MOST};
    const char *argv[] = {path};
    neso_run_options o = {.size = sizeof o, .argc = 1, .argv = argv, .user = &f};
    *out = (struct launches){.n = 0};
    *ctx = NULL;
    neso_status status = neso_context_create(&limits, ctx);
    if (status == NESO_OK)
        status = neso_context_use_device(*ctx, "emulator", NULL); /* so launches compile to PTX */
    if (status != NESO_OK)
        return status;
    f.ctx = *ctx;
    o.getenv = get_variable;
    o.find = find_module;
    o.save = save_nothing;
    o.compiled = add;
    o.timing = NESO_TIMING_COMPILE;
    o.skip = g->options[OPTION_skip];
    o.params = g->options[OPTION_param];
    o.compile_only = 1;
    beside_open(&f.beside, path);
    status = neso_program_run(*ctx, path, text, length, &o);
    beside_close(&f.beside);
    return status;
}

void launches_free(struct launches *l)
{
    for (int i = 0; i < l->n; i++) {
        free(l->at[i].kernel);
        free(l->at[i].signature);
    }
    free(l->at);
    *l = (struct launches){.n = 0};
}

/* -- choosing -- */

static void print_choice(int number, const char *path, const struct launched *x)
{
    fprintf(stderr, "    --launch %d    %s::%s", number, path, x->kernel);
    if (x->signature)
        fprintf(stderr, " --signature \"%s\"", x->signature);
    else
        fprintf(stderr, " (with an argument that no signature can describe)");
    if (x->options.num_warps != 4)
        fprintf(stderr, " --num-warps %d", x->options.num_warps);
    if (x->options.num_stages != 3)
        fprintf(stderr, " --num-stages %d", x->options.num_stages);
    if (x->options.max_registers)
        fprintf(stderr, " --maxnreg %d", x->options.max_registers);
    if (x->options.no_fp_fusion)
        fprintf(stderr, " --no-fp-fusion");
    if (x->options.deterministic)
        fprintf(stderr, " --deterministic");
    if (x->options.fp_reassoc)
        fprintf(stderr, " --fp-reassoc");
    fputc('\n', stderr);
}

/* Lists the launches of a kernel, or, if `kernel` is NULL, of all kernels. */
static void print_choices(const char *path, const struct launches *l, const char *kernel)
{
    for (int i = 0, k = 0; i < l->n; i++)
        if (!kernel || strcmp(l->at[i].kernel, kernel) == 0)
            print_choice(++k, path, &l->at[i]);
}

static void take(const struct launched *x, const char **kernel, neso_compile_options *o)
{
    *kernel = x->kernel;
    o->signature = x->signature;
    o->num_warps = o->num_warps ? o->num_warps : x->options.num_warps;
    o->num_stages = o->num_stages ? o->num_stages : x->options.num_stages;
    o->max_registers = o->max_registers ? o->max_registers : x->options.max_registers;
    o->no_fp_fusion |= x->options.no_fp_fusion;
    o->deterministic |= x->options.deterministic;
    o->fp_reassoc |= x->options.fp_reassoc;
    o->debug |= x->options.debug;
}

/* Chooses one of the launches of *kernel, or, if *kernel is NULL, of all kernels. With --launch N, chooses the Nth
 * launch; otherwise there must be only one launch. */
static int choose(const struct given *g, const char *path, const struct launches *l, const char **kernel,
                  neso_compile_options *options)
{
    const char *wanted = *kernel;
    int n = 0, number_given;
    const struct launched *found = NULL;
    if (!number(g, OPTION_launch, &number_given))
        return BAD;
    for (int i = 0; i < l->n; i++)
        if ((!wanted || strcmp(l->at[i].kernel, wanted) == 0) && (++n == number_given || !number_given))
            found = &l->at[i];
    if (number_given && !found) {
        complain("--launch %d: %s launches %d specialization%s%s%s", number_given, path, n, n == 1 ? "" : "s",
                 wanted ? " of " : "", wanted ? wanted : "");
        print_choices(path, l, n ? wanted : NULL);
        return BAD;
    }
    if (!number_given && n > 1) {
        complain("%s launches %d specializations: choose one", path, n);
        print_choices(path, l, wanted);
        return BAD;
    }
    if (found && !found->signature)
        return complain("no signature can describe how %s launches %s: an argument is a named tuple, a "
                        "function, or a descriptor with a size of 1",
                        path, found->kernel);
    if (found)
        take(found, kernel, options);
    return GOOD;
}

static bool launches_any(const struct launches *l, const char *kernel)
{
    for (int i = 0; i < l->n; i++)
        if (!kernel || strcmp(l->at[i].kernel, kernel) == 0)
            return true;
    return false;
}

int launches_choose(const struct given *g, const char *path, const char *text, size_t length,
                    struct launches *l, const char **kernel, neso_compile_options *options)
{
    size_t n = strlen(path);
    neso_context *ctx;
    if (options->signature || n < 3 || strcmp(path + n - 3, ".py") != 0)
        return GOOD;
    if (!check_passes(g))
        return BAD;
    neso_status status = launches_find(g, path, text, length, &ctx, l);
    int result = BAD;
    if (ctx && status != NESO_OK && !launches_any(l, *kernel))
        report(g, ctx, status); /* report why the program ended before it launched the kernel */
    else
        result = choose(g, path, l, kernel, options);
    if (ctx)
        neso_context_release(ctx);
    return result;
}
