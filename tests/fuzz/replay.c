/* SPDX-License-Identifier: MIT */
/* replay.c: runs a fuzz target on files, without a fuzzer: on the files given as arguments, or on the target's corpus.
 * The program prints the name of each file before it runs the target on the file. If the target finds a fault, the
 * program ends, so the last printed name is the name of the file that shows the fault. Otherwise the last line has the
 * number of files. */
#include "tests/fuzz/mutate.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int replay(const char *path)
{
    fprintf(stderr, "%s\n", path);
    FILE *f = fopen(path, "rb");
    if (!f)
        return 0;
    size_t n = 0, cap = 1 << 16;
    uint8_t *data = malloc(cap);
    for (size_t got; data && (got = fread(data + n, 1, cap - n, f)) > 0;) {
        n += got;
        if (n == cap)
            data = realloc(data, cap *= 2);
    }
    fclose(f);
    if (data)
        LLVMFuzzerTestOneInput(data, n);
    free(data);
    return data != NULL;
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0;
    for (int i = 1; i < argc; i++)
        *(replay(argv[i]) ? &passed : &failed) += 1;
    DIR *dir = argc == 1 ? opendir(fuzz_corpus) : NULL;
    failed += argc == 1 && !dir;
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        char path[1000];
        snprintf(path, sizeof path, "%s/%s", fuzz_corpus, e->d_name);
        if (e->d_name[0] != '.')
            *(replay(path) ? &passed : &failed) += 1;
    }
    if (dir)
        closedir(dir);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
