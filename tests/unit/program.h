/* SPDX-License-Identifier: MIT */
/* program.h: for tests of the evaluator, runs a program from a string, and records its output and diagnostics. The
 * expected outputs in these tests are the outputs of CPython 3.11. */
#ifndef NESO_TESTS_PROGRAM_H
#define NESO_TESTS_PROGRAM_H

#include "frontend/frontend.h"
#include "tests/unit/test.h"
#include "tests/unit/world.h"

struct program {
    struct world w;
    struct interner strings;
    struct eval e;
    struct text output; /* the output, followed by the diagnostics */
    bool failed;
    struct obj *module;
};

static void program_write(void *ctx, const char *s, size_t n, bool to_stderr)
{
    struct program *p = ctx;
    if (!to_stderr)
        text_bytes(&p->output, s, n);
}

static const char *program_getenv(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "HOME") == 0 ? "/home/test" : NULL;
}

static int64_t program_nanoseconds(void *ctx, enum host_clock clock)
{
    (void)ctx;
    return clock == CLOCK_steady ? 12500000000 : 0;
}

/* Returns the source of a module that the program imports; NULL if there is none. */
static const struct source *program_find_source(void *ctx, struct eval *e, const char *module)
{
    static const char *const files[][3] = {
        {"helpers", "helpers.py", "print('loading', __name__)\nfrom pack.one import K, unit\ndef twice(x): return 2 * x * unit()\n"},
        {"base", "base.py", "K = 5\n"},
        {"pack", "pack/__init__.py", "from .one import unit\nfrom . import two\n"},
        {"pack.one", "pack/one.py", "from .two import deep\nfrom ..base import K\ndef unit(): return deep()\n"},
        {"pack.two", "pack/two.py", "def deep(): return 1\n"},
        {"broken", "broken.py", "x = 1\ny = = 2\n"},
    };
    (void)ctx;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(files[i][0], module) == 0)
            return diag_add_source(e->diag, files[i][1], files[i][2], strlen(files[i][2]));
    return NULL;
}

/* Runs the program. If with_host is false, executes only the definitions that kernels need. */
static inline void program_run(struct program *p, const char *text, bool with_host, int64_t step_limit)
{
    static struct host host;
    host = (struct host){.ctx = p, .write = program_write, .getenv = program_getenv, .nanoseconds = program_nanoseconds,
                         .find_source = program_find_source};
    jmp_buf fatal;
    world_init(&p->w);
    interner_init(&p->strings, &p->w.arena);
    text_init(&p->output, &p->w.arena);
    p->w.diag.fatal = &fatal;
    p->module = NULL;
    if (setjmp(fatal) == 0) {
        eval_init(&p->e, &p->w.arena, &p->strings, &p->w.diag, with_host ? &host : NULL);
        p->e.step_limit = step_limit;
        struct source *src = diag_add_source(&p->w.diag, "t.py", text, strlen(text));
        p->module = eval_file(&p->e, src, with_host ? "__main__" : "t", &p->failed);
    }
    diag_render_all(&p->w.diag, &p->output);
}

/* Compares texts line by line, and prints the first line that differs. */
static inline void check_lines(const char *found, const char *expected)
{
    for (int line = 1; *found || *expected; line++) {
        size_t n = strcspn(found, "\n"), m = strcspn(expected, "\n");
        if (n != m || memcmp(found, expected, n) != 0) {
            char what[60];
            snprintf(what, sizeof what, "output differs in line %d", line);
            test_fail(__FILE__, __LINE__, what);
            fprintf(stderr, "  found:    %.*s\n  expected: %.*s\n", (int)n, found, (int)m, expected);
            return;
        }
        found += n + (found[n] != 0);
        expected += m + (expected[m] != 0);
    }
}

/* Runs a program and compares its output. Both texts are arrays of pieces that end with NULL, because C limits the
 * length of a string literal. */
static inline void check_program(const char *const *text, const char *const *expected)
{
    static char program[1 << 14], output[1 << 14];
    *program = *output = 0;
    for (; *text; text++)
        strcat(program, *text);
    for (; *expected; expected++)
        strcat(output, *expected);
    struct program p;
    program_run(&p, program, true, 0);
    check_lines(p.output.s, output);
    world_free(&p.w);
}

#endif
