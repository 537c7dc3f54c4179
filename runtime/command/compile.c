/* SPDX-License-Identifier: MIT */
/* compile.c: implements `neso compile`, which compiles one kernel to the requested stage. The stages cubin
 * and sass need CUDA's tools. */
#include "runtime/command/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int write_output(const struct given *g, const void *bytes, size_t length)
{
    const char *path = g->options[OPTION_output];
    if (path)
        return write_file(path, bytes, length);
    return fwrite(bytes, 1, length, stdout) == length
               ? GOOD
               : complain("cannot write the output: %s", strerror(errno));
}

/* Assembles the kernel with ptxas into the file w->cubin. */
static int assemble(const struct given *g, neso_context *ctx, neso_kernel *kernel, struct workshop *w)
{
    char ptxas[PATH_MAX];
    const char *ptx;
    size_t length;
    neso_status status = neso_kernel_text(kernel, NESO_TEXT_PTX, &ptx, &length);
    if (status != NESO_OK)
        return report(g, ctx, status);
    if (!find_tool("ptxas", ptxas, sizeof ptxas))
        return complain("--emit cubin and --emit sass need ptxas, of " TOOLKIT);
    return workshop_assemble(w, ptxas, ptx, length, false);
}

static int emit_cubin(const struct given *g, const struct workshop *w)
{
    size_t length = 0;
    char *bytes = read_file(w->cubin, &length);
    if (!bytes)
        return complain("cannot read %s: %s", w->cubin, strerror(errno));
    int result = write_output(g, bytes, length);
    free(bytes);
    return result;
}

static int emit_sass(const struct given *g, struct workshop *w)
{
    char tool[PATH_MAX];
    char *nvdisasm[] = {tool, "-c", "-g", w->cubin, NULL}, *cuobjdump[] = {tool, "-sass", w->cubin, NULL};
    const char *path = g->options[OPTION_output];
    bool has_nvdisasm = find_tool("nvdisasm", tool, sizeof tool);
    if (!has_nvdisasm && !find_tool("cuobjdump", tool, sizeof tool))
        return complain("--emit sass needs nvdisasm or cuobjdump, of " TOOLKIT);
    if (path && !freopen(path, "wb", stdout))
        return complain("cannot write %s: %s", path, strerror(errno));
    return tool_run(has_nvdisasm ? nvdisasm : cuobjdump, NULL);
}

static int emit_assembled(const struct given *g, neso_context *ctx, neso_kernel *kernel, bool sass)
{
    struct workshop w;
    if (!workshop_open(&w))
        return BAD;
    int result = assemble(g, ctx, kernel, &w);
    if (result == GOOD)
        result = sass ? emit_sass(g, &w) : emit_cubin(g, &w);
    workshop_close(&w);
    return result;
}

/* -- compile -- */

/* Writes a dump, an explanation or a time. A dump of IR does not name the pass that made it, so this function
 * writes a line such as "// after cse" before the dump. */
static void write_dump(void *user, const char *pass, const char *text, size_t length)
{
    (void)user;
    if (strncmp(text, "kernel @", 8) == 0)
        fprintf(stderr, "// after %s\n", pass);
    fwrite(text, 1, length, stderr);
}

enum emit { EMIT_CUBIN = 100, EMIT_SASS, EMIT_C };

/* Returns the value of --emit as a neso_text or enum emit; 0, after a message, for an unknown word. */
static int find_emit(const struct given *g)
{
    const char *word = g->options[OPTION_emit];
    bool partial = g->options[OPTION_passes] || g->options[OPTION_stop_after];
    if (!word)
        return partial ? NESO_TEXT_OPT : NESO_TEXT_PTX;
    if (strcmp(word, "cubin") == 0 || strcmp(word, "sass") == 0)
        return *word == 'c' ? EMIT_CUBIN : EMIT_SASS;
    if (strcmp(word, "c") == 0)
        return g->options[OPTION_output]
                   ? EMIT_C
                   : (complain("--emit c writes two files: -o NAME or -o NAME.c makes NAME.c and NAME.h"), 0);
    for (int i = 1; neso_text_name((neso_text)i); i++)
        if (strcmp(neso_text_name((neso_text)i), word) == 0)
            return i;
    complain("--emit: unknown '%s': expected %s", word, option_rows[OPTION_emit].meaning);
    return 0;
}

bool read_options(const struct given *g, neso_compile_options *o)
{
    const char *const *s = g->options;
    *o = (neso_compile_options){.size = sizeof *o};
    o->signature = s[OPTION_signature];
    o->target = s[OPTION_target];
    o->passes = s[OPTION_passes];
    o->skip = s[OPTION_skip];
    o->params = s[OPTION_param];
    o->no_fp_fusion = s[OPTION_no_fp_fusion] != NULL;
    o->deterministic = s[OPTION_deterministic] != NULL || is_switched_on("NESO_DETERMINISTIC");
    o->fp_reassoc = s[OPTION_fp_reassoc] != NULL || is_switched_on("NESO_FP_REASSOC");
    o->stop_after = s[OPTION_stop_after];
    o->print_after = s[OPTION_print_after];
    o->explain = s[OPTION_explain];
    o->print_changed = s[OPTION_print_changed] != NULL;
    o->verify_each = s[OPTION_verify_each] != NULL;
    o->verbose_ptx = s[OPTION_verbose] != NULL;
    o->time = s[OPTION_time] != NULL;
    o->write = write_dump;
    o->debug = is_switched_on("TRITON_DEBUG");
    return number(g, OPTION_num_warps, &o->num_warps) && number(g, OPTION_num_stages, &o->num_stages) &&
           number(g, OPTION_maxnreg, &o->max_registers);
}

bool check_passes(const struct given *g)
{
    static const char text[] = "import triton\n@triton.jit\ndef k():\n    pass\n";
    neso_compile_options o = {
        .size = sizeof o, .skip = g->options[OPTION_skip], .params = g->options[OPTION_param]};
    neso_context *ctx;
    neso_module *module;
    neso_kernel *kernel;
    if (!o.skip && !o.params)
        return true;
    if (neso_context_create(NULL, &ctx) != NESO_OK)
        return complain("out of memory") == GOOD;
    neso_status status = neso_module_from_source(ctx, "neso", text, sizeof text - 1, &module);
    if (status == NESO_OK)
        status = neso_kernel_compile(module, NULL, &o, &kernel);
    if (status != NESO_OK)
        report(g, ctx, status);
    neso_kernel_release(status == NESO_OK ? kernel : NULL);
    neso_module_release(module);
    neso_context_release(ctx);
    return status == NESO_OK;
}

static void print_times(neso_kernel *kernel)
{
    neso_resources r = {.size = sizeof r};
    neso_kernel_resources(kernel, &r);
    fprintf(stderr, "trace %.3f ms, opt %.3f ms, codegen %.3f ms\n", 1e3 * r.trace_seconds,
            1e3 * r.opt_seconds, 1e3 * r.codegen_seconds);
}

/* What the command line requests: the kernel, the options of its compilation, and the output. */
struct order {
    const char *kernel; /* NULL: the file's only kernel */
    int emit;
    neso_compile_options options;
};

static int compile_module(const struct given *g, neso_context *ctx, neso_module *module,
                          const struct order *order)
{
    neso_kernel *kernel;
    const char *text;
    size_t length;
    int emit = order->emit;
    if (emit == EMIT_C)
        return embed(g, ctx, module, order->kernel, &order->options, g->options[OPTION_output]);
    neso_status status = neso_kernel_compile(module, order->kernel, &order->options, &kernel);
    int result = report(g, ctx, status);
    if (result)
        return result;
    if (order->options.time)
        print_times(kernel);
    if (emit >= EMIT_CUBIN) {
        result = emit_assembled(g, ctx, kernel, emit == EMIT_SASS);
    } else {
        status = neso_kernel_text(kernel, (neso_text)emit, &text, &length);
        result = status == NESO_OK ? write_output(g, text, length) : report(g, ctx, status);
    }
    neso_kernel_release(kernel);
    return result;
}

/* Makes a module from a source, or, if the path ends in .neso, from a bundle. */
static neso_status read_module(neso_context *ctx, const char *path, const char *text, size_t length,
                               neso_module **module)
{
    size_t n = strlen(path);
    if (n > 5 && strcmp(path + n - 5, ".neso") == 0) {
        neso_status status = neso_context_use_bundle(ctx, path, text, length);
        return status == NESO_OK ? neso_module_from_bundle(ctx, module) : status;
    }
    struct beside beside;
    beside_open(&beside, path);
    neso_status status = neso_module_from_files(ctx, path, text, length, beside_find, &beside, module);
    beside_close(&beside);
    return status;
}

static int compile_file(const struct given *g, const char *path, struct order *order)
{
    struct launches launches = {.n = 0};
    neso_context *ctx;
    neso_module *module;
    size_t length = 0;
    char *text = read_file(path, &length);
    if (!text)
        return complain("cannot read %s: %s", path, strerror(errno));
    if (launches_choose(g, path, text, length, &launches, &order->kernel, &order->options) != GOOD ||
        !context_open(g, 0, 0, &ctx)) {
        launches_free(&launches);
        free(text);
        return BAD;
    }
    neso_status status = read_module(ctx, path, text, length, &module);
    free(text);
    int result = report(g, ctx, status);
    if (status == NESO_OK) {
        result = compile_module(g, ctx, module, order);
        neso_module_release(module);
    }
    launches_free(&launches);
    neso_context_release(ctx);
    return result;
}

int compile_command(const struct given *g)
{
    char *path = g->argv[0], *colons = strstr(path, "::");
    struct order order = {.emit = find_emit(g)};
    if (!order.emit || !read_options(g, &order.options))
        return BAD;
    order.options.until = order.emit < EMIT_CUBIN ? (neso_text)order.emit : NESO_TEXT_PTX;
    if (colons) {
        *colons = '\0';
        order.kernel = colons + 2;
    }
    return compile_file(g, path, &order);
}
