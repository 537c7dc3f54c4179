/* SPDX-License-Identifier: MIT */
/* accesses.c: implements `neso check --accesses FILE`. For each load, store and atomic of the kernels that a program
 * launches, it prints whether neso has proven two properties: every access is within its tensor, and the programs of
 * the grid do not race.
 *
 *     scale.py:9:35: load X of scale
 *         bounds    proven: elements 0 to n - 1
 *         programs  proven: the kernel does not write the tensor
 *
 * FILE runs on the interpreter, which checks every access. A property counts as proven if it is proven in
 * every launch with the access. Otherwise it counts as checked, or, if FILE or a launch with the access ends
 * with an error, as unknown. */
#include "runtime/command/inspect/inspect.h"

#include <stdlib.h>
#include <string.h>

enum { SECONDS_MOST = 60, PROPERTIES = 2 };

struct found {
    char *place, *head; /* "FILE:LINE:COLUMN", and "load X of scale" */
    bool proven[PROPERTIES];
    bool ran; /* every launch with this access has ended without an error */
    char *text[PROPERTIES];
};

struct run {
    struct found *at;
    int n;
    struct beside beside;
};

static char *text_of(const char *s)
{
    struct buffer b = {0};
    put_string(&b, s);
    return b.s;
}

static void take(struct found *x, int i, bool proven, const char *text)
{
    if (x->text[i] && (!x->proven[i] || proven))
        return; /* keep the verdict of the earlier launch, because this launch's verdict is not worse */
    free(x->text[i]);
    x->proven[i] = proven;
    x->text[i] = text_of(text);
}

static void accessed(void *user, const neso_access *a)
{
    struct run *r = user;
    struct buffer place = {0}, head = {0};
    put_format(&place, "%s:%u:%u", a->file ? a->file : "?", (unsigned)a->line, (unsigned)a->column);
    put_format(&head, "%s %s of %s", a->kind, a->tensor ? a->tensor : "somewhere", a->kernel);
    struct found *x = NULL;
    for (int i = 0; i < r->n && !x; i++)
        if (strcmp(r->at[i].place, place.s) == 0 && strcmp(r->at[i].head, head.s) == 0)
            x = &r->at[i];
    if (x) {
        buffer_free(&place);
        buffer_free(&head);
    } else {
        r->at = array_grown(r->at, (size_t)r->n, sizeof *r->at);
        x = &r->at[r->n++];
        *x = (struct found){.place = place.s, .head = head.s, .ran = true};
    }
    x->ran = x->ran && a->ran;
    take(x, 0, a->in_bounds, a->bounds);
    take(x, 1, a->apart, a->programs);
}

static const char *find_module(void *user, const char *module, size_t *length)
{
    return beside_find(&((struct run *)user)->beside, module, length);
}

const char *interpreter_variable(void *user, const char *name)
{
    (void)user;
    return strcmp(name, "NESO_DEVICE") == 0 ? "interpreter" : getenv(name);
}

int save_nothing(void *user, const char *path, const char *text, size_t length)
{
    (void)user, (void)path, (void)text, (void)length;
    return 0;
}

static const char *verdict(const struct found *x, int i, bool ended)
{
    return x->proven[i] ? "proven" : ended && x->ran ? "checked in this run" : "unknown";
}

static void print_found(const struct run *r, bool ended)
{
    static const char *const words[PROPERTIES] = {"bounds", "programs"};
    int proven[PROPERTIES] = {0};
    for (int i = 0; i < r->n; i++) {
        const struct found *x = &r->at[i];
        printf("%s: %s\n", x->place, x->head);
        for (int k = 0; k < PROPERTIES; k++) {
            printf("    %-9s %s: %s\n", words[k], verdict(x, k, ended), x->text[k]);
            proven[k] += x->proven[k];
        }
    }
    printf("%d accesses: bounds of %d proven, programs of %d\n", r->n, proven[0], proven[1]);
}

static void put_member(struct buffer *out, const char *name, const char *text)
{
    put_format(out, "\"%s\": ", name);
    put_json(out, text, strlen(text));
}

static void put_found(const struct run *r, bool ended, struct buffer *out)
{
    static const char *const words[PROPERTIES][2] = {{"bounds", "bounds_text"},
                                                     {"programs", "programs_text"}};
    put_string(out, "[");
    for (int i = 0; i < r->n; i++) {
        put_string(out, i ? ",\n{" : "{");
        put_member(out, "place", r->at[i].place);
        put_string(out, ", ");
        put_member(out, "access", r->at[i].head);
        for (int k = 0; k < PROPERTIES; k++) {
            put_string(out, ", ");
            put_member(out, words[k][0], verdict(&r->at[i], k, ended));
            put_string(out, ", ");
            put_member(out, words[k][1], r->at[i].text[k]);
        }
        put_string(out, "}");
    }
    put_string(out, "]\n");
}

static void run_free(struct run *r)
{
    for (int i = 0; i < r->n; i++) {
        free(r->at[i].place);
        free(r->at[i].head);
        for (int k = 0; k < PROPERTIES; k++)
            free(r->at[i].text[k]);
    }
    free(r->at);
}

int check_accesses(const struct given *g, const char *path, const char *text, size_t length)
{
    neso_context *ctx;
    struct run r = {.n = 0};
    neso_context_options limits = {.size = sizeof limits, .time_limit_ms = 1000 * SECONDS_MOST};
    const char *argv[] = {path};
    neso_run_options o = {.size = sizeof o, .argc = 1, .argv = argv, .user = &r, .keep_device = 1};
    if (neso_context_create(&limits, &ctx) != NESO_OK ||
        neso_context_use_device(ctx, "interpreter", NULL) != NESO_OK)
        exit(complain("out of memory"));
    o.find = find_module;
    o.getenv = interpreter_variable;
    o.save = save_nothing;
    o.accessed = accessed;
    beside_open(&r.beside, path);
    neso_status status = neso_program_run(ctx, path, text, length, &o);
    beside_close(&r.beside);
    if (status != NESO_OK)
        print_messages(g, neso_error_text(ctx));
    if (g->options[OPTION_json]) {
        struct buffer out = {0};
        put_found(&r, status == NESO_OK, &out);
        fputs(out.s, stdout);
        buffer_free(&out);
    } else {
        print_found(&r, status == NESO_OK);
    }
    run_free(&r);
    neso_context_release(ctx);
    return status == NESO_OK ? GOOD : FAILED;
}
