/* SPDX-License-Identifier: MIT */
/* keep.c: implements the options --keep-ptx and --keep-ir, which write the PTX and the IR of a program's kernels into
 * folders.
 *
 *     neso run --keep-ir DIR program.py
 *     neso compile DIR/kernel-0123456789abcdef.ir --target sm_80 --emit ptx
 *
 * The name of a kernel's file is the kernel's id (neso_kernel_id). The IR is the traced IR, before any pass.
 * A compilation depends only on the traced IR, the target and the thresholds of --param. So the second
 * command compiles the kernel that the program launched, for any target. */
#include "runtime/command/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct kept_text {
    enum option option;
    neso_text text;
    const char *what, *ending;
} kept_texts[] = {{OPTION_keep_ptx, NESO_TEXT_PTX, "PTX", "ptx"}, {OPTION_keep_ir, NESO_TEXT_IR, "IR", "ir"}};
enum { NKEPT = sizeof kept_texts / sizeof *kept_texts };

bool keeps_texts(const struct given *g)
{
    return g->options[OPTION_keep_ptx] || g->options[OPTION_keep_ir];
}

int keep_folders(const struct given *g)
{
    for (int i = 0; i < NKEPT; i++) {
        const char *folder = g->options[kept_texts[i].option];
        if (folder && mkdir(folder, 0777) != 0 && errno != EEXIST)
            return complain("cannot make the folder %s: %s", folder, strerror(errno));
    }
    return GOOD;
}

/* Writes one text of a kernel, or prints a message if the text cannot be made. On the interpreter, which
 * needs no PTX, only this request compiles the kernel to PTX, and the compilation may fail. */
static void keep_text(const struct given *g, neso_context *ctx, neso_kernel *kernel,
                      const struct kept_text *k)
{
    const char *folder = g->options[k->option], *text;
    char path[PATH_MAX];
    size_t length;
    if (!folder)
        return;
    if (neso_kernel_text(kernel, k->text, &text, &length) != NESO_OK) {
        complain("no %s for kernel %s", k->what, neso_kernel_name(kernel));
        print_messages(g, neso_error_text(ctx));
        return;
    }
    snprintf(path, sizeof path, "%s/%s.%s", folder, neso_kernel_id(kernel), k->ending);
    if (write_file(path, text, length) == GOOD && g->options[OPTION_verbose])
        fprintf(stderr, "neso: the %s of %s is in %s\n", k->what, neso_kernel_name(kernel), path);
}

void keep_texts(const struct given *g, neso_context *ctx, neso_kernel *kernel)
{
    for (int i = 0; i < NKEPT; i++)
        keep_text(g, ctx, kernel, &kept_texts[i]);
}
