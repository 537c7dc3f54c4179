/* SPDX-License-Identifier: MIT */
/* losses.c: implements `neso inspect --trace`, which runs the program on the interpreter. The command adds a note to
 * each line of the kernel at which a result that is stored later became NaN or inf, or began to lose
 * precision.
 *
 *     11 |     var = tl.sum(x * x, axis=0) / n - mean * mean
 *        |       trace: results stored from here lost precision: 4 of them, up to 17 bits */
#include "runtime/command/inspect/inspect.h"

#include <stdlib.h>
#include <string.h>

enum { SECONDS_MOST = 60 };

static void note(struct build *b, const neso_diagnostic *d)
{
    const char *slash = d->file ? strrchr(d->file, '/') : NULL;
    if (!d->file || strcmp(slash ? slash + 1 : d->file, b->file) != 0)
        return;
    const neso_note x = {
        .pass = "trace", .line = (int)d->line, .column = (int)d->column, .grade = 1, .text = d->message};
    notes_add(&b->notes, &b->nnotes, &x);
}

bool build_losses(struct build *b, const struct given *g, const char *path, const char *text, size_t length)
{
    neso_context *ctx;
    struct beside beside;
    neso_context_options limits = {.size = sizeof limits, .time_limit_ms = 1000 * SECONDS_MOST};
    const char *argv[] = {path};
    neso_run_options o = {.size = sizeof o, .argc = 1, .argv = argv, .user = &beside, .keep_device = 1};
    neso_diagnostic d = {.size = sizeof d};
    bool any = false;
    if (!choose_trace(g, &o.trace, &o.trace_bits))
        return false;
    if (neso_context_create(&limits, &ctx) != NESO_OK ||
        neso_context_use_device(ctx, "interpreter", NULL) != NESO_OK)
        exit(complain("out of memory"));
    o.find = beside_find;
    o.getenv = interpreter_variable;
    o.save = save_nothing;
    beside_open(&beside, path);
    neso_status status = neso_program_run(ctx, path, text, length, &o);
    beside_close(&beside);
    for (size_t i = 0; neso_diagnostic_get(ctx, i, &d); i++)
        if (strcmp(d.tag, "precision") == 0 || strncmp(d.tag, "trace-", 6) == 0) {
            note(b, &d);
            any = true;
        }
    bool good = status == NESO_OK || any;
    if (!good)
        print_messages(g, neso_error_text(ctx));
    neso_context_release(ctx);
    return good;
}
