/* SPDX-License-Identifier: MIT */
/* baseline.c: reads any bytes as a baseline of `neso bench`, writes the baseline back, and judges it against itself
 * and against an empty baseline. No input may crash, hang or leak; writing an accepted input must give the same bytes.
 *
 *   make fuzz-baseline && build/fuzz/fuzz_baseline tests/fuzz/baseline -max_len=4000 -runs=1000000 */
#include "runtime/command/bench/bench.h"
#include "tests/fuzz/mutate.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char fuzz_corpus[] = "tests/fuzz/baseline";
const char fuzz_words[] =
    "neso bench 1 gpu clock_khz time kernel at name key calls stretches values cost registers spill_bytes "
    "run.instructions run.global_sectors@12 0 -1 1e308 nan inf 028eb708fcffe6c5 k.py:87 a/b a/b/c ";

/* set.c and judge.c need functions of other files of the command. The following functions replace these functions. */
int complain(const char *format, ...)
{
    (void)format;
    return BAD;
}

char *read_file(const char *name, size_t *length)
{
    FILE *f = fopen(name, "rb");
    char *text = malloc(1 << 20);
    *length = f && text ? fread(text, 1, (1 << 20) - 1, f) : 0;
    if (text)
        text[*length] = '\0';
    if (f)
        fclose(f);
    return text;
}

static char path[40], other[40];

static void leave(void)
{
    unlink(path);
    unlink(other);
}

static void open_files(void)
{
    strcpy(path, "/dev/shm/fuzz-baseline-XXXXXX");
    strcpy(other, path);
    int a = mkstemp(path), b = mkstemp(other);
    if (a < 0 || b < 0)
        abort();
    close(a), close(b);
    atexit(leave);
}

static void judge_both(const struct bench_set *a, const struct bench_set *b, FILE *to)
{
    struct judgement j = {.n = 0};
    struct rules rules = {.threshold = 0.02};
    judge(&j, a, b, &rules);
    report_table(&j, to);
    report_annotations(&j, to);
    if (b == a && j.counts[VERDICT_slower])
        abort();
    judgement_status(&j);
    judgement_free(&j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bench_set s = {.n = 0}, again = {.n = 0}, empty = {.n = 0};
    static FILE *nowhere;
    if (!*path) {
        open_files();
        nowhere = fopen("/dev/null", "w");
    }
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0)
        abort();
    if (set_read(&s, path) == GOOD && set_write(&s, other) == GOOD) {
        if (set_read(&again, other) != GOOD || again.n != s.n)
            abort();
        judge_both(&s, &s, nowhere);
        judge_both(&s, &again, nowhere);
        judge_both(&s, &empty, nowhere);
        judge_both(&empty, &s, nowhere);
    }
    set_free(&s);
    set_free(&again);
    return 0;
}
