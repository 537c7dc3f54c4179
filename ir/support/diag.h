/* diag.h: diagnostics as data: errors, warnings, notes and hints with their places in the source.
 *
 *     softmax.py:14:11: error: shapes do not broadcast: 1024 against 512 [shape-broadcast]
 *        14 |     z = x + m
 *           |         ~ ^ ~
 *     softmax.py:9:9: note: 'm' is a tile of 512 float32, loaded here
 *
 * The texts live in ir/support/errors.h. Nothing here prints: diag_render makes the text, and the caller
 * shows it.
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

/* A source text. Lines and columns count from 1; columns count bytes, but messages show characters. */
struct source {
    const char *name; /* as the user gave it */
    const char *text; /* len bytes, then a terminating zero */
    size_t len;
    int index; /* in diag.sources; 0 is the main file */
    bool is_own; /* part of neso: errors in it are reported where the user's code called it */
};

/* A place: file, line, column, and how many bytes of the line the thing spans (0: unknown, one caret).
 * line 0 means "no place". Inlined code keeps the place of the callee; `call` gives the chain. */
struct loc {
    uint16_t file;
    uint16_t len;
    uint32_t line;
    uint16_t col;
    uint16_t call; /* index into diag.calls, 0: not inlined */
};

/* One level of inlining: the place of the call, and the name of the function. */
struct call_site {
    struct loc at;      /* at.call is the next outer level */
    const char *callee; /* name */
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

enum { DIAG_ERRORS_MOST = 20 };

struct diag {
    struct arena *arena;
    VEC(struct source *) sources;
    VEC(struct call_site) calls; /* calls.at[0] is unused */
    VEC(struct diagnostic) list;
    int nerrors;
    jmp_buf *fatal; /* where fatal errors unwind to; set by the API function that entered the compiler */
    bool internal;  /* an internal error was reported: the status is NESO_INTERNAL */
    bool exhausted; /* memory or a limit was exhausted */
    /* Called by loops that may take long, with the place that they work on; it unwinds when the caller's time
     * limit is over. NULL: there is no time limit. */
    void (*hurry)(void *ctx, struct loc at);
    void *hurry_ctx;
    const char *stage; /* the pass or stage that runs now, for diag_bug */
};

/* Calls d->hurry, if there is one. */
void diag_hurry(const struct diag *d, struct loc at);
void diag_init(struct diag *d, struct arena *a);
struct source *diag_add_source(struct diag *d, const char *name, const char *text, size_t len);
/* Enters a call for inlining; the result goes into loc.call of everything inside. */
uint16_t diag_push_call(struct diag *d, struct loc at, const char *callee);

/* The texts' verbs (see errors.h): %s string, %d int, %l int64_t, %c char, %g double, %T const struct type *,
 * %V const struct value *, %L const struct layout *, %D enum dtype, %% percent. diag.c gets the last four
 * through type.c's and layout.c's text functions. */
void diag_error(struct diag *d, struct loc at, enum error e, ...);
void diag_verror(struct diag *d, struct loc at, enum error e, va_list args);
void diag_warn(struct diag *d, struct loc at, enum error e, ...);
/* Has this place such a warning already? (A kernel is traced for each specialization.) */
bool diag_has_warned(const struct diag *d, struct loc at, enum error e);
/* Drops everything reported after the list had n entries, nerrors of them errors. */
void diag_forget(struct diag *d, int n, int nerrors);
/* A note or hint on the last error or warning. */
void diag_note(struct diag *d, struct loc at, enum error e, ...);
void diag_hint(struct diag *d, enum error e, ...);
/* Reports an error after which the compilation cannot go on: unwinds to d->fatal. */
_Noreturn void diag_fatal(struct diag *d, struct loc at, enum error e, ...);
/* Reports that an internal invariant is broken, with the stage; asks for the input; unwinds to d->fatal. */
_Noreturn void diag_bug(struct diag *d, struct loc at, const char *format, ...) PRINTF_LIKE(3, 4);

void diag_vformat(struct text *t, const char *format, va_list args);
/* Render one diagnostic with its source line, caret and call chain; or all of them. */
void diag_render(const struct diag *d, const struct diagnostic *x, struct text *out);
void diag_render_all(const struct diag *d, struct text *out);
void diag_render_json(const struct diag *d, struct text *out);
/* Appends a string in JSON's notation with quotes; bytes that are not UTF-8 become U+FFFD. */
void text_json_string(struct text *out, const char *s);
const char *error_tag(enum error e); /* as in errors.h: "shape_broadcast"; shown as shape-broadcast */
const char *error_text(enum error e);
/* Does the error say that memory or a limit of the caller's was exhausted, rather than that the input is
 * wrong? */
bool error_is_exhaustion(enum error e);

#endif
