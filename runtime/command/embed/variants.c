/* SPDX-License-Identifier: MIT */
/* variants.c: implements `neso variants`, which lists the specializations of one signature: the signature with each
 * combination of promises (:1, :16 or none). With --precompile, it also compiles them into the cache.
 *
 *     neso variants add.py::add --signature "*fp32, *fp32, i32, 1024"
 *         *fp32:16, *fp32:16, i32:1, 1024
 *         *fp32:16, *fp32:16, i32:16, 1024
 *         *fp32:16, *fp32:16, i32, 1024 ... */
#include "runtime/command/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct variants {
    const struct given *given;
    neso_context *ctx;
    neso_module *module;
    const char *kernel;
    neso_compile_options options;
};

/* Compiles each signature of the list (one on each line) into the cache. If there is a GPU, its driver also assembles
 * the PTX. */
static int precompile(struct variants *v, char *list, int has_gpu)
{
    int n = 0;
    for (char *s = list, *end; *s; s = end + 1, n++) {
        neso_kernel *kernel;
        end = strchr(s, '\n');
        *end = '\0';
        v->options.signature = s;
        neso_status status = neso_kernel_compile(v->module, v->kernel, &v->options, &kernel);
        if (status == NESO_OK && has_gpu)
            status = neso_kernel_load(kernel);
        int result = report(v->given, v->ctx, status);
        neso_kernel_release(kernel);
        if (result)
            return result;
        printf("%s\n", s);
    }
    fprintf(stderr, "neso: %d compiled%s\n", n,
            has_gpu ? " and assembled" : "; without a GPU, they are assembled at their first launch");
    return GOOD;
}

static int list(struct variants *v)
{
    const struct given *g = v->given;
    const char *text;
    neso_status status = neso_module_variants(v->module, v->kernel, &v->options, &text);
    int result = report(g, v->ctx, status);
    if (result)
        return result;
    if (!g->options[OPTION_precompile]) {
        fputs(text, stdout);
        return GOOD;
    }
    char *copy = malloc(strlen(text) + 1);
    if (!copy)
        return complain("out of memory");
    result = precompile(v, strcpy(copy, text), strcmp(neso_context_device(v->ctx), "cuda") == 0);
    free(copy);
    return result;
}

/* Removes the promises from the signature of a launch, in place: "*fp32:16, i32:1, 64" becomes "*fp32, i32,
 * 64". */
static void remove_promises(char *signature)
{
    char *to = signature;
    bool quoted = false; /* s is inside a string constant */
    for (const char *s = signature; *s;) {
        size_t n = *s == ':' && !quoted ? strspn(s + 1, "0123456789") : 0;
        quoted ^= *s == '\'';
        if (n)
            s += n + 1;
        else
            *to++ = *s++;
    }
    *to = '\0';
}

/* If the command line gives no signature, uses the signature of a launch of the file, without its promises.
 * Returns an exit status. */
static int choose_signature(struct variants *v, const char *path, const char *text, size_t length,
                            struct launches *l)
{
    int result = launches_choose(v->given, path, text, length, l, &v->kernel, &v->options);
    for (int i = 0; i < l->n; i++)
        if (l->at[i].signature && l->at[i].signature == v->options.signature)
            remove_promises(l->at[i].signature);
    return result;
}

int variants_command(const struct given *g)
{
    struct variants v = {.given = g};
    struct launches launches = {.n = 0};
    char *path = g->argv[0], *colons = strstr(path, "::"), folder[4096];
    size_t length = 0;
    if (!read_options(g, &v.options))
        return BAD;
    if (g->options[OPTION_precompile] && !cache_folder(folder, sizeof folder))
        return complain("--precompile fills the cache, and it is off: set NESO_CACHE_DIR");
    if (colons) {
        *colons = '\0';
        v.kernel = colons + 2;
    }
    char *text = read_file(path, &length);
    if (!text)
        return complain("cannot read %s: %s", path, strerror(errno));
    int result = choose_signature(&v, path, text, length, &launches);
    if (result == GOOD && !context_open(g, 0, 0, &v.ctx))
        result = BAD;
    if (result == GOOD) {
        if (g->options[OPTION_precompile])
            neso_context_use_device(v.ctx, "cuda", NULL);
        struct beside beside;
        beside_open(&beside, path);
        result = report(g, v.ctx,
                        neso_module_from_files(v.ctx, path, text, length, beside_find, &beside, &v.module));
        beside_close(&beside);
        if (v.module)
            result = list(&v);
        neso_module_release(v.module);
        neso_context_release(v.ctx);
    }
    launches_free(&launches);
    free(text);
    return result;
}
