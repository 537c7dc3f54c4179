/* SPDX-License-Identifier: MIT */
/* language.c: defines the table of the language for the manual and `neso help`, including the columns of builtins.h
 * that the library does not contain. */
#include "runtime/command/command.h"

#include "frontend/builtins/places.h"

#include <stddef.h>

const struct language_row language_rows[] = {
#define HEADING(text) {.heading = (text)},
#define ROW(where, word, parameters, handler, data, ...)                                                     \
    {NULL, #where, #handler, PREFIX_##where, #word, parameters, __VA_ARGS__},
#include "frontend/builtins/builtins.h"
#undef ROW
#undef HEADING
    {.heading = NULL},
};
