/* SPDX-License-Identifier: MIT */
/* world.h: provides the environment of a unit test of the compiler: memory, a diag and an empty module. Use: `struct
 * world w; world_init(&w); ... world_free(&w);`. A fatal error or a bug ends the test program. */
#ifndef NESO_TESTS_WORLD_H
#define NESO_TESTS_WORLD_H

#include "ir/ir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world {
    struct arena arena, scratch;
    struct diag diag;
    struct module m;
};

static void *world_alloc(void *ctx, size_t bytes)
{
    (void)ctx;
    return malloc(bytes);
}

static void world_release(void *ctx, void *p, size_t bytes)
{
    (void)ctx;
    (void)bytes;
    free(p);
}

static void world_fail(void *ctx, size_t asked_bytes)
{
    (void)ctx;
    fprintf(stderr, "out of memory: %zu bytes\n", asked_bytes);
    abort();
}

static inline void world_init(struct world *w)
{
    static const struct memory memory = {world_alloc, world_release, NULL};
    memset(w, 0, sizeof *w);
    arena_init(&w->arena, &memory, 0, world_fail, NULL);
    arena_init(&w->scratch, &memory, 0, world_fail, NULL);
    diag_init(&w->diag, &w->arena);
    module_init(&w->m, &w->arena, &w->scratch, &w->diag);
}

static inline void world_free(struct world *w)
{
    arena_free(&w->arena);
    arena_free(&w->scratch);
}

/* Parses IR. After an error, prints the error and returns false. */
static inline bool world_parse(struct world *w, const char *text)
{
    struct source *src = diag_add_source(&w->diag, "test.ir", text, strlen(text));
    if (module_parse(&w->m, src))
        return true;
    struct text out;
    text_init(&out, &w->arena);
    diag_render_all(&w->diag, &out);
    fputs(out.s, stderr);
    return false;
}

/* WORLD_CATCH(&w, { ... }) executes the block. After a fatal error in it, execution continues after the block, and
 * w.diag has the error. */
#define WORLD_CATCH(w, ...)                 \
    do {                                    \
        jmp_buf boundary;                   \
        (w)->diag.fatal = &boundary;        \
        if (setjmp(boundary) == 0)          \
            __VA_ARGS__                     \
        (w)->diag.fatal = NULL;             \
    } while (0)

#endif
