/* SPDX-License-Identifier: MIT */
/* inspect.c: implements `neso inspect`, which shows all stages, decisions and resources of one compiled kernel: on the
 * terminal, as JSON, or as an HTML page.
 *
 *     25 |     x = tl.load(X, mask=mask)
 *        |       vector: 1 element at once; memory is not known to be aligned for more
 *        |         with X:16, Y:16: 4 elements at once
 *        |       8 registers, 2 instructions
 *
 * page.c makes the page, which contains the JSON. */
#include "runtime/command/inspect/inspect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- on the terminal -- */

static void put_summary(const struct build *b, struct buffer *out)
{
    const char *limit;
    const neso_resources *r = &b->resources;
    int programs = build_occupancy(b, &limit);
    put_format(out, "%s, %s of %s\n", b->kernel, b->target, b->file);
    if (b->signature)
        put_format(out, "  signature      %s\n", b->signature);
    put_format(out, "  threads        %d (%d warps%s)\n", r->num_threads, r->num_threads / 32,
               r->num_threads > 32 * r->num_warps ? ", some of which only copy" : "");
    put_format(out, "  registers      %d live at most, of %d", r->live_registers, b->limits.registers);
    if (b->assembled.registers >= 0)
        put_format(out, "; assembled: %d, %d bytes of spills, %d barrier%s", b->assembled.registers,
                   b->assembled.spill_bytes, b->assembled.barriers, b->assembled.barriers == 1 ? "" : "s");
    put_format(out, "\n  shared memory  %d bytes of %d\n", r->shared_bytes, b->limits.shared_bytes);
    put_format(out,
               "  occupancy      about %d program%s on a multiprocessor, %d of %d threads; limited by %s\n",
               programs, programs == 1 ? "" : "s", programs * r->num_threads, b->limits.sm_threads, limit);
    if (b->profile.nmetrics || b->profile.ninstructions)
        put_profile(&b->profile, out);
    put_string(out, "  stages        ");
    for (size_t i = 0; i < b->nstages; i++)
        put_format(out, " %s", b->stages[i].name);
    put_string(out, "\n");
}

static void put_note(struct buffer *out, const struct note *x, const char *margin)
{
    put_format(out, "%s%s: %s\n", margin, x->pass, x->text);
    if (x->better)
        put_format(out, "%s  with %s: %s\n", margin, x->needs, x->better);
}

static int line_pressure(const struct build *b, int line)
{
    for (size_t i = 0; i < b->nnotes; i++)
        if (strcmp(b->notes[i].pass, "registers") == 0 && b->notes[i].at.line == line)
            return b->notes[i].number;
    return 0;
}

/* Returns an array with the number of PTX instructions of each source line, from 1 to `lines`. The caller
 * frees it. */
static int *count_instructions(const struct build *b, int lines)
{
    size_t n, i = 0, length;
    const struct stage *ptx = build_stage(b, "ptx");
    struct place *places = stage_places(b, ptx, &n);
    int *counts = calloc((size_t)lines + 1, sizeof *counts);
    if (!counts)
        exit(complain("out of memory"));
    for (const char *s = ptx->text.s, *end; *s; s = *end ? end + 1 : end, i++) {
        end = s + strcspn(s, "\n");
        if (places[i].file == 0 && places[i].line <= lines && line_instruction(s, (size_t)(end - s), &length))
            counts[places[i].line]++;
    }
    free(places);
    return counts;
}

static int last_line(const struct build *b)
{
    int n = 0;
    for (const char *s = b->source.s; s && *s; s++)
        n += *s == '\n' || !s[1];
    return n;
}

/* Prints each source line that has decisions or instructions, and below the line its decisions and counts. */
static void put_source(const struct build *b, struct buffer *out)
{
    int line = 1, *counts = count_instructions(b, last_line(b));
    for (const char *s = b->source.s, *end; s && *s; s = *end ? end + 1 : end, line++) {
        int pressure = line_pressure(b, line);
        bool shown = pressure || counts[line];
        end = s + strcspn(s, "\n");
        for (size_t i = 0; i < b->nnotes; i++)
            shown |= note_decides(&b->notes[i]) && b->notes[i].at.line == line && !b->notes[i].at.file;
        if (!shown)
            continue;
        put_format(out, "%5d | %.*s\n", line, (int)(end - s), s);
        for (size_t i = 0; i < b->nnotes; i++)
            if (note_decides(&b->notes[i]) && b->notes[i].at.line == line && !b->notes[i].at.file)
                put_note(out, &b->notes[i], "      |   ");
        if (pressure || counts[line])
            put_format(out, "      |   %d register%s, %d instruction%s\n", pressure, pressure == 1 ? "" : "s",
                       counts[line], counts[line] == 1 ? "" : "s");
    }
    free(counts);
}

/* Prints the notes that have no line in this file. */
static void put_elsewhere(const struct build *b, struct buffer *out)
{
    for (size_t i = 0; i < b->nnotes; i++) {
        const struct note *x = &b->notes[i];
        struct buffer margin = {0};
        int file;
        size_t length;
        if (!note_decides(x) || (x->at.line && !x->at.file))
            continue;
        const char *s = x->at.line ? build_stage(b, "ptx")->text.s : NULL;
        while (s && (s = build_next_file(s, &file, &length)) != NULL)
            if (file == x->at.file)
                put_format(&margin, "%.*s:%d: ", (int)length, s, x->at.line);
        put_format(out, "      | %s%s: %s\n", margin.n ? margin.s : "", x->pass, x->text);
        if (x->better)
            put_format(out, "      |   with %s: %s\n", x->needs, x->better);
        buffer_free(&margin);
    }
}

static void put_report(const struct build *b, struct buffer *out)
{
    size_t n;
    const struct stage *ptx = build_stage(b, "ptx");
    put_summary(b, out);
    put_string(out, "\n");
    put_source(b, out);
    put_elsewhere(b, out);
    struct count *counts = stage_histogram(ptx, &n);
    put_string(out, "\ninstructions of PTX\n");
    for (size_t i = 0; i < n; i++)
        put_format(out, "%5d %s\n", counts[i].n, counts[i].name);
    free(counts);
}

/* -- output -- */

static int write_out(const char *path, const struct buffer *text)
{
    if (path && strcmp(path, "-") != 0)
        return write_file(path, text->s, text->n);
    return fwrite(text->s, 1, text->n, stdout) == text->n
               ? GOOD
               : complain("cannot write the output: %s", strerror(errno));
}

static int show(const struct given *g, const struct build *b)
{
    struct buffer out = {0};
    const char *page = g->options[OPTION_html];
    int result = GOOD;
    if (page) {
        struct buffer json = {0}, pages = {0};
        build_json(b, &json);
        put_page_data(&pages, NULL, json.s);
        put_page(&out, pages.s);
        result = write_out(page, &out);
        buffer_free(&json);
        buffer_free(&pages);
        buffer_free(&out);
    }
    if (result == GOOD && (g->options[OPTION_as_json] || !page)) {
        (g->options[OPTION_as_json] ? build_json : put_report)(b, &out);
        result = write_out(g->options[OPTION_output], &out);
        buffer_free(&out);
    }
    return result;
}

int inspect_file(const struct given *g, char *path, const neso_compile_options *options,
                 int (*use)(const struct given *g, const struct build *b, void *ctx), void *ctx)
{
    struct build b = {.kernel = NULL};
    struct launches launches = {.n = 0};
    neso_compile_options chosen = *options;
    neso_context *context;
    neso_module *module;
    char *colons = strstr(path, "::");
    size_t length = 0;
    if (colons)
        *colons = '\0';
    char *text = read_file(path, &length);
    if (!text)
        return complain("cannot read %s: %s", path, strerror(errno));
    const char *kernel = colons ? colons + 2 : NULL;
    int result = launches_choose(g, path, text, length, &launches, &kernel, &chosen);
    if (result == GOOD && neso_context_create(NULL, &context) != NESO_OK)
        result = complain("out of memory");
    if (result != GOOD) {
        launches_free(&launches);
        free(text);
        return BAD;
    }
    struct beside beside;
    beside_open(&beside, path);
    neso_status status = neso_module_from_files(context, path, text, length, beside_find, &beside, &module);
    beside_close(&beside);
    result = report(g, context, status);
    if (status == NESO_OK) {
        const char *slash = strrchr(path, '/');
        snprintf(b.file, sizeof b.file, "%s", slash ? slash + 1 : path);
        put_bytes(&b.source, text, length);
        result = report(g, context, build_make(&b, module, kernel, &chosen)) ? BAD : GOOD;
        if (result == GOOD) {
            build_hints(&b, module);
            build_assemble(&b);
            if (g->options[OPTION_ncu] && !build_profile(&b, g->options[OPTION_ncu]))
                result = BAD;
            if (g->options[OPTION_trace] && !build_losses(&b, g, path, text, length))
                result = BAD;
        }
        if (result == GOOD) {
            result = use(g, &b, ctx);
        }
        build_free(&b);
        neso_module_release(module);
    }
    free(text);
    launches_free(&launches);
    neso_context_release(context);
    return result;
}

static int show_build(const struct given *g, const struct build *b, void *ctx)
{
    (void)ctx;
    return show(g, b);
}

/* Serves the page of --serve, which requests its builds from this process. */
static int serve_file(const struct given *g)
{
    char *path = g->argv[0], *colons = strstr(path, "::");
    if (colons)
        *colons = '\0';
    struct live l = {g, path, colons ? colons + 2 : NULL};
    return serve(&l, g->options[OPTION_serve]);
}

int inspect_command(const struct given *g)
{
    neso_compile_options options;
    if (g->options[OPTION_serve])
        return serve_file(g);
    return read_options(g, &options) ? inspect_file(g, g->argv[0], &options, show_build, NULL) : BAD;
}
