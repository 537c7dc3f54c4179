/* SPDX-License-Identifier: MIT */
/* bundle.c: tests that a context with a bundle compiles nothing. Such a context launches the kernels of the bundle,
 * even without their source. The context refuses other kernels, with a message that names the field of the key that
 * differs. The context also refuses damaged bundles. */
#include "neso.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] = "import triton\n"
                             "import triton.language as tl\n"
                             "\n"
                             "@triton.jit\n"
                             "def scale(X, Y, n, factor, BLOCK: tl.constexpr):\n"
                             "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
                             "    tl.store(Y + i, tl.load(X + i, mask=i < n) * factor, mask=i < n)\n"
                             "\n"
                             "@triton.jit\n"
                             "def product(A, B, C, n, BLOCK: tl.constexpr):\n"
                             "    i = tl.arange(0, BLOCK)\n"
                             "    sum = tl.zeros((BLOCK, BLOCK), tl.float32)\n"
                             "    for k in range(0, n, BLOCK):\n"
                             "        a = tl.load(A + i[:, None] * n + k + i[None, :])\n"
                             "        sum += tl.dot(a, tl.load(B + (k + i[:, None]) * BLOCK + i[None, :]))\n"
                             "    tl.store(C + i[:, None] * BLOCK + i[None, :], sum)\n";
static const char signature[] = "*fp32:16, *fp32:16, i32, fp32, 256";

static int passed, failed;

static void check(int good, const char *what)
{
    *(good ? &passed : &failed) += 1;
    if (!good)
        fprintf(stderr, "failed: %s\n", what);
}

/* The reports that a context has passed to its callbacks. */
struct told {
    int compiled, bundled, loaded;
    char record[4096];
};

static void on_event(void *user, neso_event event, const char *text)
{
    struct told *t = user;
    (void)text;
    t->compiled += event == NESO_EVENT_COMPILED;
    t->bundled += event == NESO_EVENT_BUNDLED;
    t->loaded += event == NESO_EVENT_LOADED;
}

static void on_record(void *user, const char *text, size_t length)
{
    struct told *t = user;
    size_t n = strlen(t->record);
    if (n + length < sizeof t->record)
        memcpy(t->record + n, text, length + 1);
}

static neso_context *context(struct told *t, const char *device)
{
    neso_context *ctx = NULL;
    neso_context_options o = {.size = sizeof o, .user = t, .event = on_event, .record = on_record};
    check(neso_context_create(&o, &ctx) == NESO_OK, "a context");
    check(!device || neso_context_use_device(ctx, device, NULL) == NESO_OK, "a device");
    return ctx;
}

static neso_compile_options with(const char *text)
{
    neso_compile_options o = {.size = sizeof o};
    o.signature = text;
    return o;
}

/* Returns a bundle with both kernels. The caller frees the bundle. Sets *t to the reports of the context, such as the
 * record of the first kernel. */
static char *make(struct told *t, size_t *length)
{
    static const char *const names[] = {"scale", "product"};
    static const char *const signatures[] = {signature, "*fp16:16, *fp16:16, *fp32:16, i32:16, 64"};
    neso_context *ctx = context(t, NULL);
    neso_module *module = NULL;
    const char *texts[2], *text = "";
    size_t lengths[2];
    neso_kernel *kernels[2];
    check(neso_module_from_source(ctx, "k.py", source, sizeof source - 1, &module) == NESO_OK, "a module");
    for (int i = 0; i < 2; i++) {
        neso_compile_options o = with(signatures[i]);
        check(neso_kernel_compile(module, names[i], &o, &kernels[i]) == NESO_OK, neso_error_text(ctx));
        check(neso_kernel_text(kernels[i], NESO_TEXT_BUNDLE, &texts[i], &lengths[i]) == NESO_OK,
              neso_error_text(ctx));
    }
    check(neso_bundle_join(ctx, texts, lengths, 2, &text, length) == NESO_OK, neso_error_text(ctx));
    char *copy = malloc(*length + 1);
    memcpy(copy, text, *length + 1);
    check(strstr(copy, "\ncode fallback ") != NULL, "the bundle has variants");
    for (int i = 0; i < 2; i++)
        neso_kernel_release(kernels[i]);
    neso_module_release(module);
    neso_context_release(ctx);
    return copy;
}

enum { N = 1000 };

static void launch(neso_context *ctx, neso_kernel *kernel)
{
    uint64_t x, y;
    float data[N], factor = 2.5F;
    int32_t n = N;
    const void *args[] = {&x, &y, &n, &factor};
    const uint32_t grid[3] = {(N + 255) / 256, 1, 1};
    neso_error error = {.size = sizeof error};
    int wrong = 0;
    for (int i = 0; i < N; i++)
        data[i] = (float)i;
    check(neso_memory_allocate(ctx, sizeof data, &x) == NESO_OK &&
              neso_memory_allocate(ctx, sizeof data, &y) == NESO_OK,
          "memory");
    neso_memory_write(ctx, x, data, sizeof data);
    check(neso_launch(kernel, grid, NULL, args, &error) == NESO_OK, error.message);
    neso_memory_read(ctx, data, y, sizeof data);
    for (int i = 0; i < N; i++)
        wrong += data[i] != (float)i * 2.5F;
    check(wrong == 0, "every element");
    neso_memory_release(ctx, x);
    neso_memory_release(ctx, y);
}

/* Tests that a launch, with or without a source, uses the kernel of the bundle. */
static void replay(const char *bundle, size_t length, int has_source)
{
    struct told t = {.compiled = 0};
    neso_context *ctx = context(&t, "emulator");
    neso_module *module = NULL;
    neso_kernel *kernel = NULL;
    neso_compile_options o = with(has_source ? signature : "*fp32:16,*fp32:16,  i32,fp32,256"),
                         found = {.size = sizeof found};
    neso_param p = {.size = sizeof p};
    const char *list = "", *ptx = "", *ir;
    check(neso_context_use_bundle(ctx, "k.neso", bundle, length) == NESO_OK, neso_error_text(ctx));
    neso_status status = has_source ? neso_module_from_source(ctx, "k.py", source, sizeof source - 1, &module)
                                    : neso_module_from_bundle(ctx, &module);
    check(status == NESO_OK, neso_error_text(ctx));
    check(neso_context_use_bundle(ctx, "k.neso", bundle, length) == NESO_INVALID, "a bundle in use");
    check(strcmp(neso_module_kernel(module, 1), "product") == 0 && !neso_module_kernel(module, 2),
          "the kernels");
    check(neso_kernel_compile(module, "scale", &o, &kernel) == NESO_OK, neso_error_text(ctx));
    check(neso_kernel_text(kernel, NESO_TEXT_PTX, &ptx, NULL) == NESO_OK && strstr(ptx, ".entry scale"),
          "PTX");
    check(neso_kernel_text(kernel, NESO_TEXT_OPT, &ir, NULL) == NESO_INVALID &&
              strstr(neso_error_text(ctx), "would have to be compiled"),
          "no other text");
    check(neso_kernel_param_count(kernel) == 4 && neso_kernel_param(kernel, 1, &p) &&
              strcmp(p.name, "Y") == 0 && strcmp(p.type, "*fp32") == 0 && p.divisible == 16 && p.written,
          "parameters");
    check(neso_kernel_options(kernel, &found) == NESO_OK && found.signature &&
              strcmp(found.signature, signature) == 0,
          "the signature");
    if (!has_source) {
        check(neso_module_variants(module, "scale", &o, &list) == NESO_OK, neso_error_text(ctx));
        check(strcmp(list, "*fp32:16, *fp32:16, i32, fp32, 256\n") == 0, list);
    }
    launch(ctx, kernel);
    check(t.compiled == 0 && t.bundled == 1 && t.loaded == 1, "nothing is compiled");
    neso_kernel_release(kernel);
    neso_module_release(module);
    neso_context_release(ctx);
}

/* Compiles in a context with the bundle; this must fail with a message that contains `words`. */
static void refuse(const char *bundle, size_t length, const char *text, const char *name,
                   neso_compile_options o, const char *device, const char *words)
{
    struct told t = {.compiled = 0};
    neso_context *ctx = context(&t, device);
    neso_module *module = NULL;
    neso_kernel *kernel = NULL;
    check(neso_context_use_bundle(ctx, "k.neso", bundle, length) == NESO_OK, neso_error_text(ctx));
    neso_status status = text ? neso_module_from_source(ctx, "k.py", text, strlen(text), &module)
                              : neso_module_from_bundle(ctx, &module);
    check(status == NESO_OK, neso_error_text(ctx));
    check(neso_kernel_compile(module, name, &o, &kernel) == NESO_INVALID && !kernel, words);
    if (!strstr(neso_error_text(ctx), words))
        fprintf(stderr, "%s\nexpected: %s\n", neso_error_text(ctx), words);
    check(strstr(neso_error_text(ctx), words) != NULL, words);
    check(t.compiled == 0 && t.bundled == 0, "nothing is compiled or taken");
    neso_module_release(module);
    neso_context_release(ctx);
}

static void mismatches(const char *bundle, size_t length)
{
    char edited[sizeof source + 16];
    snprintf(edited, sizeof edited, "%s", source);
    memcpy(strstr(edited, "* factor"), "+ factor", 8);
    for (int i = 0; i < 2; i++) {
        const char *text = i ? NULL : source;
        neso_compile_options o = with(signature);
        o.num_warps = 8;
        refuse(bundle, length, text, "scale", o, NULL, "num_warps is 8, and the nearest entry's is 4");
        o = with(signature);
        o.num_stages = 4;
        refuse(bundle, length, text, "scale", o, NULL, "num_stages is 4, and the nearest entry's is 3");
        o = with(signature);
        o.max_registers = 64;
        refuse(bundle, length, text, "scale", o, NULL, "max_registers is 64, and the nearest entry's is 0");
        o = with(signature);
        o.no_fp_fusion = 1;
        refuse(bundle, length, text, "scale", o, NULL, "fp_fusion is 0, and the nearest entry's is 1");
        o = with(signature);
        o.debug = 1;
        refuse(bundle, length, text, "scale", o, NULL, "debug is 1, and the nearest entry's is 0");
        o = with(signature);
        o.target = "sm_80";
        refuse(bundle, length, text, "scale", o, NULL, "target is sm_80, and the nearest entry's is sm_90a");
        o = with(signature);
        o.params = "launch_pack_ctas=7";
        refuse(bundle, length, text, "scale", o, NULL,
               "params is launch_pack_ctas=7, and the nearest entry's is default");
        o = with(signature);
        o.explain = "all";
        refuse(bundle, length, text, "scale", o, NULL, "its passes cannot be chosen");
        refuse(bundle, length, text, "scale", with(signature), "interpreter",
               "a bundle has PTX, which device");
        refuse(bundle, length, text, "scale", with("*fp32:16, *fp32:16, i32, fp32, 512"), NULL,
               "fp32, 512, and the nearest entry's is");
        refuse(bundle, length, text, "scale", with("*fp32, *fp32:16, i32, fp32, 256"), NULL,
               "signature is *fp32, *fp32:16");
        refuse(bundle, length, text, "scale", with("*fp16:16, *fp32:16, i32, fp32, 256"), NULL,
               "signature is *fp16:16");
        refuse(bundle, length, text, "scale", with("*fp32:16, *fp32:16, i64, fp32, 256"), NULL,
               "i64, fp32, 256, and the");
        o = with(signature);
        o.deterministic = 1;
        refuse(bundle, length, text, "scale", o, NULL, "deterministic is 1, and the nearest entry's is 0");
        refuse(bundle, length, text, "scale", with("*fp32:16, *fp32:16, i32:16, fp32, 256"), NULL,
               "i32:16, fp32, 256, and the nearest");
        refuse(bundle, length, text, "scale", with("*fp32:16, *fp32:16, 1000, fp32, 256"), NULL,
               "1000, fp32, 256, and the nearest");
        refuse(bundle, length, text, "scale", with("*fp32:16, *fp32:16, i32, fp64, 256"), NULL,
               "fp64, 256, and the nearest");
        refuse(bundle, length, text, "scale", with("*fp32:16, *fp32:16, i32, 2.5, 256"), NULL,
               "2.5, 256, and the nearest");
        refuse(bundle, length, text, "other", with(signature), NULL, "there is no kernel 'other'");
    }
    refuse(bundle, length, edited, "scale", with(signature), NULL, "source is ");
}

/* Changes byte `at` of a bundle; the context must refuse the bundle with a message that contains `words`. */
static void damage(const char *bundle, size_t length, size_t at, char c, const char *words)
{
    struct told t = {.compiled = 0};
    neso_context *ctx = context(&t, NULL);
    char *copy = malloc(length + 1);
    memcpy(copy, bundle, length);
    if (at < length)
        copy[at] = c;
    check(neso_context_use_bundle(ctx, "k.neso", copy, length) == NESO_INVALID, words);
    if (!strstr(neso_error_text(ctx), words))
        fprintf(stderr, "%s\n", neso_error_text(ctx));
    check(strstr(neso_error_text(ctx), words) != NULL, words);
    neso_context_release(ctx);
    free(copy);
}

static void damages(const char *bundle, size_t length)
{
    size_t in_ptx = (size_t)(strstr(bundle, ".entry scale") - bundle), none = length + 1;
    damage(bundle, length, in_ptx, 'x', "its sum differs");
    damage(bundle, length, 20, '#', "its sum differs");
    damage(bundle, length, length - 2, '#', "its sum differs");
    damage(bundle, length, 12, '2', "another version of the format");
    damage(bundle, length, 0, 'N', "does not begin as a bundle does");
    damage(bundle, 0, none, 0, "does not begin as a bundle does");
    damage(bundle, 40, none, 0, "its end is missing");
    for (size_t n = 64; n < length; n += length / 61)
        damage(bundle, n, none, 0, "its end is missing");
}

/* Tests neso_bundle_check: compares the record of a kernel with bundles that have the kernel, and with bundles that
 * lack it. */
static void records(const char *bundle, size_t length, const char *record)
{
    struct told t = {.compiled = 0};
    neso_context *ctx = context(&t, NULL);
    char *other = malloc(strlen(record) + 1);
    strcpy(other, record);
    check(neso_bundle_check(ctx, record, strlen(record)) == NESO_INVALID &&
              strstr(neso_error_text(ctx), "the context has no bundle"),
          "no bundle");
    check(neso_context_use_bundle(ctx, "k.neso", bundle, length) == NESO_OK, neso_error_text(ctx));
    check(neso_bundle_check(ctx, record, strlen(record)) == NESO_OK, neso_error_text(ctx));
    memcpy(strstr(other, "fp32, 256"), "fp32, 128", 9);
    check(neso_bundle_check(ctx, other, strlen(other)) == NESO_INVALID &&
              strstr(neso_error_text(ctx), "fp32, 128, and the nearest entry's is *fp32:16"),
          neso_error_text(ctx));
    check(neso_bundle_check(ctx, "what\n", 5) == NESO_INVALID &&
              strstr(neso_error_text(ctx), "record has no name"),
          "no record");
    free(other);
    neso_context_release(ctx);
}

/* A callback `cancelled` that cancels the call at its fourth invocation. */
static int soon(void *user)
{
    return ++*(int *)user > 3;
}

static void cancelling(void)
{
    int asked = 0;
    neso_context *ctx = NULL;
    neso_module *module = NULL;
    neso_kernel *kernel = NULL;
    neso_context_options o = {.size = sizeof o, .user = &asked, .cancelled = soon};
    check(neso_context_create(&o, &ctx) == NESO_OK, "a context");
    neso_status status = neso_module_from_source(ctx, "k.py", source, sizeof source - 1, &module);
    if (status == NESO_OK) {
        neso_compile_options c = with("*fp16:16, *fp16:16, *fp32:16, i32:16, 64");
        status = neso_kernel_compile(module, "product", &c, &kernel);
    }
    check(status == NESO_CANCELLED && strstr(neso_error_text(ctx), "the call was cancelled"),
          neso_error_text(ctx));
    check(strcmp(neso_status_name(status), "NESO_CANCELLED") == 0, "its name");
    neso_module_release(module);
    neso_context_release(ctx);
}

int main(void)
{
    struct told t = {.compiled = 0};
    size_t length;
    char *bundle = make(&t, &length);
    check(t.compiled > 2 && t.bundled == 0 && strstr(t.record, "kernel scale\nsignature *fp32:16, ") != NULL,
          "a record");
    replay(bundle, length, 1);
    replay(bundle, length, 0);
    mismatches(bundle, length);
    damages(bundle, length);
    records(bundle, length, t.record);
    cancelling();
    free(bundle);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
