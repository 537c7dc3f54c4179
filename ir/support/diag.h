/* diag.h: what went wrong, where, and how to mend it, as data.
 *
 *     softmax.py:14:11: error: shapes do not broadcast: 1024 against 512 [shape-broadcast]
 *        14 |     z = x + m
 *           |         ~ ^ ~
 *     softmax.py:9:9: note: 'm' is a tile of 512 float32, loaded here
 *
 * The texts live in ir/support/errors.h. Nothing here prints: diag_render makes the text, whoever
 * owns the terminal shows it.
 */
#ifndef NESO_IR_DIAG_H
#define NESO_IR_DIAG_H

#include "ir/support/arena.h"
#include "ir/support/text.h"
#include "ir/support/vec.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

/* A source text. Lines and columns count from 1, columns in bytes (shown as characters). */
struct source {
    const char *name; /* as the user gave it */
    const char *text; /* len bytes and a terminator */
    size_t len;
    int index; /* in diag.sources; 0 is the main file */
    bool is_own; /* neso's: errors in it are told where the user's code called it */
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

/* One level of inlining: the call's place, what was called. */
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
    jmp_buf *fatal; /* the API boundary; set by whoever calls into the compiler */
    bool internal;  /* a BUG was hit: status NESO_INTERNAL */
    bool exhausted; /* memory or a limit ran out */
    /* Asked now and then by what may take long, with the place it is at: unwinds when the caller's time is
     * over. NULL: there is no hurry. */
    void (*hurry)(void *ctx, struct loc at);
    void *hurry_ctx;
    const char *stage; /* pass or stage now running, for BUG */
};

/* Asks. */
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
/* Is there such a warning of this place already? (A kernel is traced for each specialization.) */
bool diag_has_warned(const struct diag *d, struct loc at, enum error e);
/* Drops what was reported since the list had n entries, nerrors of them errors. */
void diag_forget(struct diag *d, int n, int nerrors);
/* Follow an error or warning. */
void diag_note(struct diag *d, struct loc at, enum error e, ...);
void diag_hint(struct diag *d, enum error e, ...);
/* An error after which nothing can go on: unwinds to d->fatal. */
_Noreturn void diag_fatal(struct diag *d, struct loc at, enum error e, ...);
/* Our own invariant broke. Says the stage, asks for the input, unwinds to d->fatal. */
_Noreturn void diag_bug(struct diag *d, struct loc at, const char *format, ...) PRINTF_LIKE(3, 4);

void diag_vformat(struct text *t, const char *format, va_list args);
/* One diagnostic with its source line and caret, and its call chain; or all of them. */
void diag_render(const struct diag *d, const struct diagnostic *x, struct text *out);
void diag_render_all(const struct diag *d, struct text *out);
void diag_render_json(const struct diag *d, struct text *out);
/* A string as JSON has it, quotes included; bytes that are no UTF-8 become U+FFFD. */
void text_json_string(struct text *out, const char *s);
const char *error_tag(enum error e); /* as in errors.h: "shape_broadcast"; shown as shape-broadcast */
const char *error_text(enum error e);
/* Is it about memory, or a limit of the caller's, rather than about the input? */
bool error_is_exhaustion(enum error e);

#endif
