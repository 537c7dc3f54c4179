/* SPDX-License-Identifier: MIT */
/* diag.h: represents diagnostics as data: errors, warnings, notes and hints with their source locations.
 *
 *     softmax.py:14:11: error: shapes do not broadcast: dimension 0 is 1024 against 512 [shape-broadcast]
 *        14 |     z = x + m
 *           |           ^
 *     softmax.py:9:9: note: this operand has shape [512]
 *
 * ir/support/errors.h contains the texts. No function of diag.c prints: diag_render composes the text, and the
 * caller shows it.
 *
 * The files of ir/support/ in reading order: arena.h (memory), vec.h (growing arrays), map.h (hash maps),
 * text.h (string buffers), span.h (subspaces of bit vectors), smallfloat.c (f16, bf16, fp8), diag.h and
 * errors.h (diagnostics and their texts). */
#ifndef NESO_IR_DIAG_H
#define NESO_IR_DIAG_H

#include "ir/support/arena.h"
#include "ir/support/text.h"
#include "ir/support/vec.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

/* A source text. Lines and columns are numbered from 1. Columns count bytes, not characters. */
struct source {
    const char *name; /* the path as the user gave it */
    const char *text; /* len bytes, then a terminating zero */
    size_t len;
    int index; /* index in diag.sources; 0 is the main file */
    bool is_own; /* the source is part of neso: errors in it are reported at the user's call */
};

/* A source location: file, line, column, and the number of bytes from this column on that belong to it (0:
 * the number is unknown, and a message shows a single caret). Line 0 means "no location". For inlined code,
 * file, line and column are a place in the callee, and `call` identifies the inlined call. */
struct loc {
    uint16_t file;
    uint16_t len;
    uint32_t line;
    uint16_t col;
    uint16_t call; /* index into diag.calls; 0: the code is not inlined */
};

/* One level of inlining: the location of the call, and the name of the called function. */
struct call_site {
    struct loc at;      /* at.call is the next outer level */
    const char *callee; /* name of the called function */
};

enum error {
#define ERROR(tag, text) ERR_##tag,
#include "ir/support/errors.h"
#undef ERROR
    ERR_count
};

enum severity { SEV_error, SEV_warning, SEV_note, SEV_hint };

/* A note or hint belongs to the error or warning before it. */
struct diagnostic {
    enum severity severity;
    enum error error;
    struct loc loc;
    const char *message;
};

/* The most errors that are kept. One more ends the compilation (ERR_too_many_errors) if d->fatal is set. */
enum { DIAG_ERRORS_MOST = 20 };

struct diag {
    struct arena *arena;
    VEC(struct source *) sources;
    VEC(struct call_site) calls; /* calls.at[0] is unused, since loc.call 0 means "not inlined" */
    VEC(struct diagnostic) list;
    int nerrors;
    jmp_buf *fatal; /* the target to which fatal errors unwind; the API function that entered the compiler sets it */
    bool internal;  /* an internal error was reported; the API then returns NESO_INTERNAL */
    bool exhausted; /* memory or a limit was exhausted */
    /* Loops that may take long call `hurry` with the source location on which they work. `hurry` unwinds if the
     * time limit is exceeded or the caller has cancelled the compilation. NULL: there is no limit. */
    void (*hurry)(void *ctx, struct loc at);
    void *hurry_ctx;
    const char *stage; /* the running pass or stage, for diag_bug */
};

/* Calls d->hurry if it is set. */
void diag_hurry(const struct diag *d, struct loc at);
void diag_init(struct diag *d, struct arena *a);
struct source *diag_add_source(struct diag *d, const char *name, const char *text, size_t len);
/* Records a call that is inlined. The caller stores the result in loc.call of every location of the inlined code.
 * If no more calls can be recorded, returns at.call, the inlined call that contains this call. */
uint16_t diag_push_call(struct diag *d, struct loc at, const char *callee);

/* The format verbs of the messages in errors.h: %s string, %d int, %l int64_t, %c char, %g double, %T const
 * struct type *, %V const struct value *, %L const struct layout *, %D enum dtype, %% percent. diag.c formats
 * %T, %V, %L and %D by functions of type.c and layout.c. */
void diag_error(struct diag *d, struct loc at, enum error e, ...);
void diag_verror(struct diag *d, struct loc at, enum error e, va_list args);
void diag_warn(struct diag *d, struct loc at, enum error e, ...);
/* Returns whether this location already has a warning `e`. (A kernel is traced again for each specialization.) */
bool diag_has_warned(const struct diag *d, struct loc at, enum error e);
/* Drops all diagnostics but the first n. The caller passes how many of the first n are errors (`nerrors`). */
void diag_forget(struct diag *d, int n, int nerrors);
/* Adds a note or hint to the last error or warning. */
void diag_note(struct diag *d, struct loc at, enum error e, ...);
void diag_hint(struct diag *d, enum error e, ...);
/* Reports an error after which the compilation cannot continue, and unwinds to d->fatal. */
_Noreturn void diag_fatal(struct diag *d, struct loc at, enum error e, ...);
/* Reports that an internal invariant is violated, names the stage, asks the user to report the input, and
 * unwinds to d->fatal. */
_Noreturn void diag_bug(struct diag *d, struct loc at, const char *format, ...) PRINTF_LIKE(3, 4);

void diag_vformat(struct text *t, const char *format, va_list args);
/* diag_render appends one diagnostic: an error or warning with its source line, the caret and the chain of
 * inlined calls, a note or hint on one line. diag_render_all appends all diagnostics, and diag_render_json
 * appends them as JSON. */
void diag_render(const struct diag *d, const struct diagnostic *x, struct text *out);
void diag_render_all(const struct diag *d, struct text *out);
void diag_render_json(const struct diag *d, struct text *out);
/* Appends the string as a JSON string in quotes; bytes that are not UTF-8 become U+FFFD. */
void text_json_string(struct text *out, const char *s);
const char *error_tag(enum error e); /* the tag in errors.h: "shape_broadcast"; messages show "shape-broadcast" */
const char *error_text(enum error e);
/* Returns whether the error means that memory ran out, that a limit was exceeded, or that the caller
 * cancelled the compilation. */
bool error_is_exhaustion(enum error e);

#endif
