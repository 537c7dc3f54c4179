/* SPDX-License-Identifier: MIT */
/* capsule.c: reads any bytes as a capsule: once as the whole file, and once as the contents before the right checksum.
 * If neso accepts the bytes, it must be able to write the capsule to a file that reads as the same capsule, and to run
 * the capsule on the interpreter within limits. No input may crash, hang or leak.
 *
 *   make fuzz-capsule && build/fuzz/fuzz_capsule tests/fuzz/capsule -max_len=4000 -runs=1000000 */
#include "runtime/cache.h"
#include "runtime/neso.h"
#include "tests/fuzz/mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char fuzz_corpus[] = "tests/fuzz/capsule";
const char fuzz_words[] = "argument buffer file kernel signature grid seen 0 1 2 -1 255 256 4096 2147483647 "
                          "99999999999 *fp32 *fp32:16 i32 i64 X n " TRITON_WORDS;

enum { WORD = 4, DIGITS = 64 };

static neso_context *open_context(void)
{
    neso_context_options options = {.size = sizeof options,
                                    .memory_limit = (size_t)32 << 20,
                                    .step_limit = 20000,
                                    .ir_limit = 5000,
                                    .time_limit_ms = 500};
    neso_context *ctx;
    if (neso_context_create(&options, &ctx) != NESO_OK ||
        neso_context_use_device(ctx, "interpreter", NULL) != NESO_OK)
        abort();
    return ctx;
}

/* A written capsule must be readable, and writing it again must give the same file. */
struct written {
    void *data;
    size_t length;
};

static void keep(void *user, const void *data, size_t length)
{
    struct written *w = user;
    w->data = malloc(length);
    w->length = length;
    memcpy(w->data, data, length);
}

static void write_again(neso_context *ctx, const neso_capsule *c)
{
    struct written first = {0}, second = {0};
    neso_capsule *again = NULL;
    if (neso_capsule_write(ctx, c, keep, &first) == NESO_OK) {
        neso_status status = neso_capsule_read(ctx, "again", first.data, first.length, &again);
        if (status != NESO_OK && status != NESO_OUT_OF_MEMORY)
            abort();
        if (again && neso_capsule_write(ctx, again, keep, &second) == NESO_OK &&
            (first.length != second.length || memcmp(first.data, second.data, first.length) != 0))
            abort();
    }
    neso_capsule_release(again);
    free(first.data);
    free(second.data);
}

static void read_capsule(const void *data, size_t size)
{
    neso_context *ctx = open_context();
    neso_capsule *c = NULL;
    neso_replay replay;
    neso_status status = neso_capsule_read(ctx, "fuzzed", data, size, &c);
    if (status != NESO_OK && !*neso_error_text(ctx))
        abort();
    if (status == NESO_OK) {
        write_again(ctx, c);
        neso_capsule_run(ctx, c, 0, &replay);
    }
    neso_capsule_release(c);
    neso_context_release(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *file = malloc(size + WORD + DIGITS + 2), sum[DIGITS + 1];
    read_capsule(data, size);
    memcpy(file, data, size);
    digest_text(data, size, DIGITS, sum);
    int n = snprintf(file + size, WORD + DIGITS + 2, "sum %s\n", sum);
    read_capsule(file, size + (size_t)n);
    free(file);
    return 0;
}
