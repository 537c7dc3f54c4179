/* SPDX-License-Identifier: MIT */
/* params.c: prints the thresholds of optimisations, including the columns of ir/params.h that the library does not
 * contain. */
#include "runtime/command/command.h"

#include <stdbool.h>
#include <string.h>

static const struct row {
    const char *name;
    int dflt, least, most;
    const char *unit, *meaning, *measured;
} rows[] = {
#define PARAM(name, dflt, least, most, unit, meaning, measured)                                              \
    {#name, dflt, least, most, unit, meaning, measured},
#include "ir/params.h"
#undef PARAM
};

void print_params(FILE *to)
{
    fputs("thresholds of optimisations; --param NAME=VALUE,... changes them for one compilation or run\n",
          to);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *r = &rows[i];
        bool is_measured = strncmp(r->measured, "not measured", strlen("not measured")) != 0;
        fprintf(to, "\n%s = %d (%d to %d, %s)\n    %s\n    %s%s\n", r->name, r->dflt, r->least, r->most,
                r->unit, r->meaning, is_measured ? "measured: " : "", r->measured);
    }
}
