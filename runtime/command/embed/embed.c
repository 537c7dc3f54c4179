/* SPDX-License-Identifier: MIT */
/* embed.c: implements `neso compile --emit c`, which writes a kernel as a C file and header that need only the CUDA
 * driver.
 *
 *     neso compile add.py::add --signature "*fp32, *fp32, i32, 1024" --variants --emit c -o add
 *         add.h   struct add_module; add_load, add_launch(&module, stream, grid_x, grid_y, grid_z, X, Y, n), add_unload
 *         add.c   the PTX of each variant, and a table of the variants' promises; a launch uses the first
 *                 variant whose promises are true for the launch's arguments
 *
 * The generated text is valid C11 and C++17. The text contains PTX as a string literal, with one source line for each
 * line of PTX. */
#include "runtime/command/embed/embed.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIANTS_MOST = 4096 };

/* -- names -- */

static bool is_identifier(const char *s)
{
    static const char *const taken[] = {
        "alignas", "alignof", "and", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch",
        "char", "class", "compl", "const", "constexpr", "continue", "decltype", "default", "delete", "do",
        "double", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto",
        "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "nullptr",
        "operator", "or", "private", "protected", "public", "register", "restrict", "return", "short",
        "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw", "true", "try",
        "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
        "wchar_t", "while", "xor", "unix", "linux", "NULL",
        /* names that the generated code uses */
        "module", "stream", "grid_x", "grid_y", "grid_z", "values", "bits", "variants", "keeps", "params",
        "used", "at", "next", "programs", "variant", "storage", "made", "steps", "guards", "maps", "apply",
        "evaluate", "encode", "prepare", "start"};
    if (!isalpha((unsigned char)*s))
        return false;
    for (const char *c = s; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            return false;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(s, taken[i]) == 0)
            return false;
    return true;
}

static neso_param param_at(const neso_kernel *k, int i)
{
    neso_param p = {.size = sizeof p};
    neso_kernel_param(k, (size_t)i, &p);
    return p;
}

static void put_param_name(const struct embedding *e, int i)
{
    neso_param p = param_at(e->images[0].kernel, i);
    if (is_identifier(p.name))
        fputs(p.name, e->to);
    else
        fprintf(e->to, "arg_%d", i);
}

/* Returns the C type of the launch function's parameter for a kernel parameter of the given type. If C lacks
 * the type, as for fp16, returns an unsigned integer type for the bits of the value. */
static const char *c_type(const char *type)
{
    static const struct {
        const char *type, *c;
    } types[] = {{"i1", "uint8_t"},    {"i8", "int8_t"},  {"i16", "int16_t"},  {"i32", "int32_t"},
                 {"i64", "int64_t"},   {"u8", "uint8_t"}, {"u16", "uint16_t"}, {"u32", "uint32_t"},
                 {"u64", "uint64_t"},  {"fp32", "float"}, {"fp64", "double"},  {"fp16", "uint16_t"},
                 {"bf16", "uint16_t"}, {"f32", "float"},  {"f64", "double"},   {"f16", "uint16_t"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].type, type) == 0)
            return types[i].c;
    return *type == '*' ? "uint64_t" : "uint8_t";
}

static void put_upper(const struct embedding *e)
{
    for (const char *s = e->name; *s; s++)
        fputc(toupper((unsigned char)*s), e->to);
}

/* -- the header -- */

static void put_prototype(const struct embedding *e, const char *end)
{
    fprintf(e->to,
            "int %s_launch(const struct %s_module *module, void *stream, unsigned grid_x, unsigned grid_y,\n"
            "    unsigned grid_z",
            e->name, e->name);
    for (int i = 0; i < e->nparams; i++) {
        fprintf(e->to, ", %s ", c_type(param_at(e->images[0].kernel, i).type));
        put_param_name(e, i);
    }
    fprintf(e->to, ")%s\n", end);
}

static void put_header(struct embedding *e)
{
    const char *name = e->name;
    fprintf(e->to, "/* %s.h: kernel %s, compiled by neso %s. Needs the CUDA driver: link with -lcuda.\n *\n",
            name, neso_kernel_name(e->images[0].kernel), neso_version());
    fputs(" * Results are the driver's (CUresult): 0 is success. Any thread may launch.\n *\n", e->to);
    for (int i = 0; i < e->nparams; i++) {
        fputs(" *     ", e->to);
        put_param_name(e, i);
        neso_param p = param_at(e->images[0].kernel, i);
        fprintf(e->to, ": %s%s\n", p.type, *p.type == '*' ? ", an address on the device" : "");
    }
    fputs(" */\n#ifndef ", e->to);
    put_upper(e);
    fputs("_H\n#define ", e->to);
    put_upper(e);
    fprintf(e->to,
            "_H\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
            "/* Filled by %s_load; valid until %s_unload. */\n"
            "struct %s_module {\n    void *modules[%d];\n    void *functions[%d];\n%s};\n\n",
            name, name, name, e->nimages, e->nimages, e->has_plan ? "    int multiprocessors;\n" : "");
    fprintf(e->to,
            "/* Loads the kernel into the current CUcontext. */\nint %s_load(struct %s_module *module);\n"
            "int %s_unload(struct %s_module *module);\n"
            "/* Starts grid_x * grid_y * grid_z program instances on a CUstream. Returns 1 "
            "(CUDA_ERROR_INVALID_VALUE) if the\n"
            " * kernel was not compiled for such arguments. */\n",
            name, name, name, name);
    put_prototype(e, ";");
    fputs("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n", e->to);
}

/* -- the C file -- */

static const char driver[] =
    "#ifdef __cplusplus\n"
    "extern \"C\" {\n"
    "#endif\n"
    "extern int cuModuleLoadData(void **module, const void *image);\n"
    "extern int cuModuleUnload(void *module);\n"
    "extern int cuModuleGetFunction(void **function, void *module, const char *name);\n"
    "extern int cuFuncSetAttribute(void *function, int attribute, int value);\n"
    "extern int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned "
    "block_x,\n"
    "    unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **params, void "
    "**extra);\n"
    "DRIVER_FOR_PLANS"
    "#ifdef __cplusplus\n"
    "}\n"
    "#endif\n\n";

/* The functions of the C file. put_filled replaces NAME by e->name, COUNT by the number of variants, PARAMS
 * by the number of parameters, KERNEL by the kernel's name, and MULTIPROCESSORS by count_multiprocessors, if
 * needed. */
static const char functions[] =
    "int NAME_load(struct NAME_module *module)\n"
    "{\n"
    "    int result = 0;\n"
    "    for (int i = 0; i < COUNT; i++)\n"
    "        module->modules[i] = module->functions[i] = 0;\n"
    "    for (int i = 0; i < COUNT && result == 0; i++) {\n"
    "        result = cuModuleLoadData(&module->modules[i], variants[i].ptx);\n"
    "        if (result == 0)\n"
    "            result = cuModuleGetFunction(&module->functions[i], module->modules[i], \"KERNEL\");\n"
    "        if (result == 0 && variants[i].shared_bytes > 49152) /* the driver's default limit */\n"
    "            result = cuFuncSetAttribute(module->functions[i], 8, (int)variants[i].shared_bytes);\n"
    "    }\n"
    "MULTIPROCESSORS"
    "    if (result)\n"
    "        NAME_unload(module);\n"
    "    return result;\n"
    "}\n\n"
    "int NAME_unload(struct NAME_module *module)\n"
    "{\n"
    "    int result = 0;\n"
    "    for (int i = 0; i < COUNT; i++) {\n"
    "        int r = module->modules[i] ? cuModuleUnload(module->modules[i]) : 0;\n"
    "        result = result ? result : r;\n"
    "        module->modules[i] = module->functions[i] = 0;\n"
    "    }\n"
    "    return result;\n"
    "}\n\n"
    "/* Do the arguments keep the promises? 'd': a multiple of 16, '1': it is 1, '-': nothing is promised. "
    "*/\n"
    "static int keeps(const char *promises, const uint64_t *bits)\n"
    "{\n"
    "    for (int i = 0; i < PARAMS; i++)\n"
    "        if ((promises[i] == 'd' && bits[i] % 16 != 0) || (promises[i] == '1' && bits[i] != 1))\n"
    "            return 0;\n"
    "    return 1;\n"
    "}\n\n";

static const char launch[] = "    for (int at = 0; at < COUNT; at++) {\n"
                             "        void *params[PARAMS + 1];\n"
                             "        int used = 0;\n"
                             "        if (!keeps(variants[at].promises, bits))\n"
                             "            continue;\n"
                             "        if (grid_x == 0 || grid_y == 0 || grid_z == 0)\n"
                             "            return 0;\n"
                             "        for (int next = 0; next < PARAMS; next++)\n"
                             "            if (variants[at].promises[next] != '1')\n"
                             "                params[used++] = values[next];\n"
                             "        return cuLaunchKernel(module->functions[at], grid_x, grid_y, grid_z, "
                             "variants[at].threads, 1, 1,\n"
                             "                              variants[at].shared_bytes, stream, params, 0);\n"
                             "    }\n"
                             "    return 1;\n"
                             "}\n";

/* The body of a launch function if some variant has a launch plan. MAPS is the largest number of tensor maps of a
 * variant; each map has 128 bytes, aligned to 64. */
static const char planned_launch[] =
    "    const unsigned programs[3] = {grid_x, grid_y, grid_z};\n"
    "    for (int at = 0; at < COUNT; at++) {\n"
    "        const struct variant *variant = &variants[at];\n"
    "        uint64_t storage[16 * MAPS + 8], *made = (uint64_t *)(((uintptr_t)storage + 63) & "
    "~(uintptr_t)63);\n"
    "        void *params[PARAMS + 3 + MAPS + 1];\n"
    "        int used = 0;\n"
    "        if (!keeps(variant->promises, bits))\n"
    "            continue;\n"
    "        if (grid_x == 0 || grid_y == 0 || grid_z == 0)\n"
    "            return 0;\n"
    "        if (!suits(variant, &module->functions[at], module->multiprocessors, programs) ||\n"
    "            !prepare(variant, bits, programs, made))\n"
    "            continue;\n"
    "        for (int next = 0; next < PARAMS; next++)\n"
    "            if (variant->promises[next] != '1')\n"
    "                params[used++] = values[next];\n"
    "        for (int next = 0; variant->persistent && next < 3; next++)\n"
    "            params[used++] = (void *)(uintptr_t)&programs[next];\n"
    "        for (int next = 0; next < variant->maps.count; next++)\n"
    "            params[used++] = made + 16 * next;\n"
    "        return start(variant, module->functions[at], module->multiprocessors, programs, stream, "
    "params);\n"
    "    }\n"
    "    return 1;\n"
    "}\n";

static const char count_multiprocessors[] =
    "    if (result == 0) {\n"
    "        int device = 0;\n"
    "        result = cuCtxGetDevice(&device);\n"
    "        if (result == 0)\n"
    "            result = cuDeviceGetAttribute(&module->multiprocessors, 16, device);\n"
    "    }\n";

static void put_word(const struct embedding *e, const char *word)
{
    if (strcmp(word, "NAME") == 0)
        fputs(e->name, e->to);
    else if (strcmp(word, "KERNEL") == 0)
        fputs(neso_kernel_name(e->images[0].kernel), e->to);
    else if (strcmp(word, "DRIVER_FOR_PLANS") == 0)
        fputs(e->has_plan ? plan_driver : "", e->to);
    else if (strcmp(word, "MULTIPROCESSORS") == 0)
        fputs(e->has_plan ? count_multiprocessors : "", e->to);
    else
        fprintf(e->to, "%d",
                strcmp(word, "COUNT") == 0  ? e->nimages
                : strcmp(word, "MAPS") == 0 ? plan_maps_most(e)
                                            : e->nparams);
}

static void put_filled(const struct embedding *e, const char *s)
{
    static const char *const words[] = {
        "NAME", "COUNT", "PARAMS", "KERNEL", "MAPS", "DRIVER_FOR_PLANS", "MULTIPROCESSORS", NULL};
    while (*s) {
        const char *const *w = words;
        while (*w && strncmp(s, *w, strlen(*w)) != 0)
            w++;
        if (*w)
            put_word(e, *w);
        else
            fputc(*s, e->to);
        s += *w ? strlen(*w) : 1;
    }
}

/* Writes n bytes as a string literal on a separate line. */
static void put_literal(const struct embedding *e, const char *s, size_t n)
{
    fputs("\n    \"", e->to);
    for (size_t i = 0; i < n; i++) {
        static const char special[] = "\n\t\"\\", letters[] = "nt\"\\";
        const char *found = strchr(special, s[i]);
        if (found)
            fprintf(e->to, "\\%c", letters[found - special]);
        else
            fputc(s[i], e->to);
    }
    fputc('"', e->to);
}

static int put_ptx(const struct embedding *e, int which)
{
    const char *ptx;
    size_t n;
    neso_status status = neso_kernel_text(e->images[which].kernel, NESO_TEXT_PTX, &ptx, &n);
    if (status != NESO_OK)
        return report(e->given, e->ctx, status);
    fprintf(e->to, "static const char ptx_%d[] =", which);
    for (const char *s = ptx, *end; *s; s = end) {
        end = s + strcspn(s, "\n");
        end += *end == '\n';
        put_literal(e, s, (size_t)(end - s));
    }
    fputs(";\n\n", e->to);
    return GOOD;
}

static void put_variant(const struct embedding *e, int which)
{
    neso_resources r = {.size = sizeof r};
    neso_kernel_resources(e->images[which].kernel, &r);
    fprintf(e->to, "    {ptx_%d, %d, %d, \"", which, r.num_threads, r.shared_bytes);
    for (int i = 0; i < e->nparams; i++) {
        neso_param p = param_at(e->images[which].kernel, i);
        fputc(p.equals_one ? '1' : p.divisible == 16 ? 'd' : '-', e->to);
    }
    fputs("\"", e->to);
    if (e->has_plan)
        put_plan_row(e, which);
    fputs("},\n", e->to);
}

static void put_launch(const struct embedding *e)
{
    put_prototype(e, "");
    fprintf(e->to, "{\n    void *const values[%d] = {", e->nparams + 1);
    for (int i = 0; i < e->nparams; i++) {
        fputs("&", e->to);
        put_param_name(e, i);
        fputs(", ", e->to);
    }
    fprintf(e->to, "0};\n    const uint64_t bits[%d] = {", e->nparams + 1);
    for (int i = 0; i < e->nparams; i++) {
        const char *type = c_type(param_at(e->images[0].kernel, i).type);
        fputs(type[0] == 'f' || type[0] == 'd' ? "0" : "(uint64_t)", e->to);
        if (type[0] != 'f' && type[0] != 'd')
            put_param_name(e, i);
        fputs(", ", e->to);
    }
    fputs("0};\n", e->to);
    put_filled(e, e->has_plan ? planned_launch : launch);
}

static int put_source(struct embedding *e)
{
    fprintf(e->to, "/* %s.c: see %s.h. */\n#include \"%s.h\"\n\n", e->name, e->name, e->name);
    put_filled(e, driver);
    /* The C standard guarantees string literals of 4,095 characters only; GCC and clang accept longer string
     * literals. */
    fputs("#ifdef __GNUC__\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n#endif\n\n", e->to);
    for (int i = 0; i < e->nimages; i++)
        if (put_ptx(e, i))
            return BAD;
    if (e->has_plan)
        put_plan_tables(e);
    fputs("static const struct variant {\n    const char *ptx;\n    unsigned threads, shared_bytes;\n"
          "    const char *promises; /* one letter for each parameter */\n",
          e->to);
    if (e->has_plan)
        put_plan_members(e);
    fputs("} variants[] = {\n", e->to);
    for (int i = 0; i < e->nimages; i++)
        put_variant(e, i);
    fputs("};\n\n", e->to);
    if (e->has_plan) {
        fputs(plan_functions, e->to);
        fputs(plan_start, e->to);
    }
    put_filled(e, functions);
    put_launch(e);
    return GOOD;
}

/* -- files -- */

static int write_part(struct embedding *e, const char *stem, const char *ending, bool is_header)
{
    char file[PATH_MAX];
    int result = GOOD;
    if (snprintf(file, sizeof file, "%s%s", stem, ending) >= (int)sizeof file)
        return complain("the path %s is too long", stem);
    e->to = fopen(file, "wb");
    if (!e->to)
        return complain("cannot write %s: %s", file, strerror(errno));
    if (is_header)
        put_header(e);
    else
        result = put_source(e);
    bool failed = ferror(e->to) != 0;
    if ((fclose(e->to) != 0 || failed) && result == GOOD)
        result = complain("cannot write %s: %s", file, strerror(errno));
    return result;
}

static int compile_one(struct embedding *e, neso_module *module, const char *kernel,
                       const neso_compile_options *options, const char *skip, char grids)
{
    char all[512];
    neso_compile_options o = *options;
    struct image *image = &e->images[e->nimages];
    snprintf(all, sizeof all, "%s%s%s", o.skip ? o.skip : "", o.skip && *o.skip && *skip ? "," : "", skip);
    o.skip = *all ? all : NULL;
    o.until = NESO_TEXT_PTX;
    if (e->nimages == VARIANTS_MOST)
        return complain("--emit c writes at most %d variants", VARIANTS_MOST);
    int result = report(e->given, e->ctx, neso_kernel_compile(module, kernel, &o, &image->kernel));
    if (result)
        return result;
    e->nimages++;
    image->grids = grids;
    return plan_read(e, image) ? GOOD : BAD;
}

/* Compiles the kernel for a signature, and the variants that its launch plan lists, each without some passes.
 * Adds these images in the order in which launches try them (see runtime/launch_plan.c): a variant that is
 * only for some grids comes before the kernel itself. A kernel has at most one such variant. */
static int compile_signature(struct embedding *e, neso_module *module, const char *kernel,
                             const neso_compile_options *options)
{
    int whole = e->nimages, result = compile_one(e, module, kernel, options, "", 0);
    const struct json *variants = result ? NULL : json_member(e->images[whole].whole, "variants");
    for (const struct json *v = variants ? variants->first->next : NULL; v && !result; v = v->next) {
        const struct json *where = json_member(v, "where");
        const char grids = where ? where->string[strlen("programs ")] : 0;
        result = compile_one(e, module, kernel, options, json_member(v, "without")->string, grids);
        if (!result && grids) {
            struct image first = e->images[e->nimages - 1];
            e->images[e->nimages - 1] = e->images[whole];
            e->images[whole] = first;
        }
    }
    return result;
}

/* If a promise, ":16" or ":1", begins at s, returns its end; otherwise returns s. */
static const char *skip_promise(const char *s)
{
    return *s == ':' ? s + strcspn(s, ", \n") : s;
}

/* Returns whether two signatures differ only in promises. A signature ends at the end of its line. */
static bool same_constants(const char *a, const char *b)
{
    for (a = skip_promise(a), b = skip_promise(b); *a && *a != '\n' && *a == *b;)
        a = skip_promise(a + 1), b = skip_promise(b + 1);
    return (*a == '\0' || *a == '\n') && (*b == '\0' || *b == '\n');
}

/* Returns the first line of the list that equals a signature except for promises; NULL if there is none. */
static const char *line_like(const char *list, const char *signature)
{
    while (*list && !same_constants(list, signature))
        list += strcspn(list, "\n") + 1;
    return *list ? list : NULL;
}

/* Compiles each signature of the list, which has one signature on each line. The signatures of a bundle may differ in
 * constants and types, but the signatures of one C file must not. So this function compiles only the signatures that
 * equal options->signature, except for promises. If options->signature is NULL, all signatures of the list must differ
 * only in promises. */
static int compile_all(struct embedding *e, neso_module *module, const char *kernel,
                       const neso_compile_options *options, char *list)
{
    neso_compile_options o = *options;
    const char *chosen = options->signature ? line_like(list, options->signature) : NULL;
    int result = GOOD;
    for (char *s = list, *end; *s && result == GOOD; s = end + 1) {
        end = strchr(s, '\n');
        *end = '\0';
        /* a line that consists of a blank stands for no signature (see list_signatures) */
        o.signature = options->signature || *s != ' ' ? s : NULL;
        if (same_constants(s, chosen ? chosen : list))
            result = compile_signature(e, module, kernel, &o);
        else if (!chosen)
            result = complain("%s has other constants in '%s' than in '%s': choose by --signature", kernel, s,
                              list);
    }
    e->nparams = result == GOOD ? (int)neso_kernel_param_count(e->images[0].kernel) : 0;
    return result;
}

/* Returns a list of signatures, one on each line: the given signature (a blank if none is given), or, with
 * --variants, all signatures that result from it by adding promises. Returns NULL after a message. The
 * caller frees the list. */
static char *list_signatures(const struct embedding *e, neso_module *module, const char *kernel,
                             const neso_compile_options *options)
{
    const char *text = options->signature ? options->signature : "";
    bool all = e->given->options[OPTION_variants] != NULL;
    if (all && report(e->given, e->ctx, neso_module_variants(module, kernel, options, &text)) != GOOD)
        return NULL;
    size_t n = strlen(text);
    char *list = malloc(n + 3);
    if (!list) {
        complain("out of memory");
        return NULL;
    }
    memcpy(list, text, n + 1);
    for (char *s = list; !all && *s; s++)
        *s = *s == '\n' ? ' ' : *s;
    if (!all)
        memcpy(list + n, n ? "\n" : " \n", n ? 2 : 3);
    return list;
}

/* Writes the path without the ending .c or .h to `stem`: "dir/k" for "dir/k", "dir/k.c" and "dir/k.h". Returns false
 * if the result is too long. */
static bool find_stem(const char *path, char *stem, size_t room)
{
    size_t n = strlen(path);
    if (n > 2 && path[n - 2] == '.' && (path[n - 1] == 'c' || path[n - 1] == 'h'))
        n -= 2;
    return snprintf(stem, room, "%.*s", (int)n, path) < (int)room;
}

int embed(const struct given *g, neso_context *ctx, neso_module *module, const char *kernel,
          const neso_compile_options *options, const char *path)
{
    char stem[PATH_MAX];
    if (!find_stem(path, stem, sizeof stem))
        return complain("the path %s is too long", path);
    const char *slash = strrchr(stem, '/');
    struct embedding e = {.given = g, .ctx = ctx, .name = slash ? slash + 1 : stem};
    if (!is_identifier(e.name))
        return complain(
            "--emit c: -o NAME or -o NAME.c makes NAME.c and NAME.h with functions NAME_launch and so on, "
            "and '%s' is no name in C",
            e.name);
    char *list = list_signatures(&e, module, kernel, options);
    e.images = calloc(VARIANTS_MOST, sizeof *e.images);
    int result = list && e.images ? compile_all(&e, module, kernel, options, list) : BAD;
    if (result == GOOD)
        result = write_part(&e, stem, ".h", true);
    if (result == GOOD)
        result = write_part(&e, stem, ".c", false);
    for (int i = 0; i < e.nimages; i++) {
        json_free(e.images[i].whole);
        neso_kernel_release(e.images[i].kernel);
    }
    free(e.images);
    free(list);
    return result;
}
