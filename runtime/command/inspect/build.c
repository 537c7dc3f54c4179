/* SPDX-License-Identifier: MIT */
/* build.c: gathers the data that `neso inspect` can show about one compiled kernel: stages, notes, resources.
 *
 * During the compilation, neso_compile_options.write and .note receive the changed IR and the explanations of every
 * pass. Afterwards neso_kernel_text gives the texts of the other stages. assembled.c then adds the output of ptxas
 * and of a disassembler, if they are installed. */
#include "runtime/command/inspect/inspect.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- collecting stages and notes -- */

struct stage *build_add_stage(struct build *b, const char *name, const char *kind, const char *text, size_t n)
{
    int again = 1;
    for (size_t i = 0; i < b->nstages; i++)
        again += strncmp(b->stages[i].name, name, strlen(name)) == 0 &&
                 (b->stages[i].name[strlen(name)] == '\0' || b->stages[i].name[strlen(name)] == '.');
    b->stages = array_grown(b->stages, b->nstages, sizeof *b->stages);
    struct stage *s = &b->stages[b->nstages++];
    *s = (struct stage){.kind = kind};
    if (again > 1)
        snprintf(s->name, sizeof s->name, "%s.%d", name, again);
    else
        snprintf(s->name, sizeof s->name, "%s", name);
    put_bytes(&s->text, text, n);
    return s;
}

/* The data of the callbacks that add the dumps of a compilation to `build` as stages, and its explanations as
 * notes. */
struct listening {
    struct build *build;
    size_t nbefore; /* the number of stages of `build` before this compilation */
};

/* Removes the stages and notes that this compilation has added so far. Called if the kernel needed too much
 * shared memory: then all passes run again with a lower limit, and dump and explain again
 * (opt/stepdown.c). */
static void forget(struct listening *l)
{
    struct build *b = l->build;
    notes_free(b->notes, b->nnotes);
    b->notes = NULL;
    b->nnotes = 0;
    while (b->nstages > l->nbefore)
        buffer_free(&b->stages[--b->nstages].text);
}

static void listen(void *user, const char *pass, const char *text, size_t length)
{
    struct listening *l = user;
    build_add_stage(l->build, pass, "ir", text, length);
}

static void listen_to_note(void *user, const neso_note *note)
{
    struct listening *l = user;
    if (strcmp(note->decision, "stepped_down") == 0)
        forget(l);
    notes_add(&l->build->notes, &l->build->nnotes, note);
}

void notes_add(struct note **notes, size_t *n, const neso_note *note)
{
    struct buffer words = {0};
    size_t length = strlen(note->text);
    while (length && note->text[length - 1] == ' ')
        length--;
    put_bytes(&words, note->text, length);
    struct note x = {.at = {note->file, note->line, note->column},
                     .grade = note->grade,
                     .number = (int)note->number,
                     .text = words.s};
    snprintf(x.pass, sizeof x.pass, "%s", note->pass);
    snprintf(x.decision, sizeof x.decision, "%s", note->decision);
    *notes = array_grown(*notes, *n, sizeof **notes);
    (*notes)[(*n)++] = x;
}

void notes_free(struct note *notes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(notes[i].text);
        free(notes[i].better);
        free(notes[i].needs);
    }
    free(notes);
}

bool note_decides(const struct note *n)
{
    return n->grade >= 0 && strcmp(n->pass, "registers") != 0 && strcmp(n->pass, "schedule") != 0;
}

/* -- lines -- */

const char *line_instruction(const char *line, size_t n, size_t *length)
{
    if (n < 3 || line[0] != '\t' || line[1] == '.' || line[n - 1] != ';')
        return NULL;
    const char *s = line + 1, *end = line + n - 1;
    if (*s == '@')
        while (s < end && *s++ != ' ')
            continue;
    *length = 0;
    while (s + *length < end && !strchr(" \t", s[*length]))
        (*length)++;
    return s;
}

/* Returns the source location that follows the last " @" in a line of IR. If there is none, the location has
 * line 0. */
static struct place place_of_ir(const char *line, size_t n)
{
    for (size_t i = n; i-- > 1;) {
        int numbers[3] = {0}, k = 0;
        const char *s = line + i + 1;
        if (line[i] != '@' || line[i - 1] != ' ')
            continue;
        while (k < 3 && isdigit((unsigned char)*s)) {
            numbers[k++] = (int)strtol(s, (char **)&s, 10);
            if (*s != ':')
                break;
            s++;
        }
        if (k == 3)
            return (struct place){numbers[0], numbers[1], numbers[2]};
        return k == 2 ? (struct place){0, numbers[0], numbers[1]} : (struct place){0};
    }
    return (struct place){0};
}

/* If the line gives the source location of the lines that follow it (".loc" in PTX, "//## File" in SASS), sets *out
 * to this location and returns true. */
static bool reads_place(const struct build *b, const char *line, size_t n, struct place *out)
{
    int file, row, column;
    char text[512], name[256];
    const char *word = line;
    while (word < line + n && (*word == ' ' || *word == '\t'))
        word++;
    if (*word != '.' && *word != '/')
        return false;
    snprintf(text, sizeof text, "%.*s", (int)(n < sizeof text ? n : sizeof text - 1), line);
    if (sscanf(text, " .loc %d %d %d", &file, &row, &column) == 3) {
        *out = (struct place){file - 1, row, column};
        return true;
    }
    if (sscanf(text, " //## File \"%255[^\"]\", line %d", name, &row) == 2) {
        const char *slash = strrchr(name, '/');
        *out = (struct place){strcmp(slash ? slash + 1 : name, b->file) != 0, row, 0};
        return true;
    }
    return false;
}

struct place *stage_places(const struct build *b, const struct stage *s, size_t *nlines)
{
    struct place *places = NULL, last = {0};
    bool is_ir = strcmp(s->kind, "ir") == 0;
    size_t n = 0;
    for (const char *line = s->text.s, *end; line && *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        size_t length = (size_t)(end - line);
        if (*line == '}')
            last = (struct place){0};
        if (!is_ir)
            reads_place(b, line, length, &last);
        places = array_grown(places, n, sizeof *places);
        places[n++] = is_ir ? place_of_ir(line, length) : last;
    }
    *nlines = n;
    return places;
}

/* -- counts -- */

static int by_name(const void *x, const void *y)
{
    return strcmp(((const struct count *)x)->name, ((const struct count *)y)->name);
}

static const char *skip(const char *s, const char *end, bool spaces)
{
    while (s < end && (isspace((unsigned char)*s) != 0) == spaces)
        s++;
    return s;
}

/* Returns the start of the instruction in a line of SASS, after the address and the guard predicate; NULL if the line
 * has no instruction. */
static const char *sass_instruction(const char *line, size_t n, size_t *length)
{
    const char *end = line + n, *s = skip(line, end, true);
    if (end - s < 4 || s[0] != '/' || s[1] != '*' || !isxdigit((unsigned char)s[2]))
        return NULL;
    s = skip(skip(s, end, false), end, true);
    if (s < end && *s == '@')
        s = skip(skip(s, end, false), end, true);
    *length = 0;
    while (s + *length < end && !strchr(" \t;", s[*length]))
        (*length)++;
    return *length ? s : NULL;
}

struct count *stage_histogram(const struct stage *s, size_t *n)
{
    struct count *counts = NULL;
    bool is_sass = strcmp(s->kind, "sass") == 0;
    *n = 0;
    for (const char *line = s->text.s, *end; line && *line; line = *end ? end + 1 : end) {
        size_t length, i = 0;
        struct count c = {.n = 1};
        end = line + strcspn(line, "\n");
        const char *name = is_sass ? sass_instruction(line, (size_t)(end - line), &length)
                                   : line_instruction(line, (size_t)(end - line), &length);
        if (!name)
            continue;
        snprintf(c.name, sizeof c.name, "%.*s", (int)length, name);
        while (i < *n && strcmp(counts[i].name, c.name) != 0)
            i++;
        if (i < *n) {
            counts[i].n++;
            continue;
        }
        counts = array_grown(counts, *n, sizeof *counts);
        counts[(*n)++] = c;
    }
    if (*n)
        qsort(counts, *n, sizeof *counts, by_name);
    return counts;
}

const char *build_next_file(const char *at, int *file, size_t *length)
{
    int n = 0;
    at = strstr(at, ".file\t");
    if (!at || sscanf(at, ".file %d \"%n", file, &n) != 1 || !n)
        return NULL;
    --*file; /* PTX numbers files from 1, and struct place numbers them from 0 */
    *length = strcspn(at + n, "\"\n");
    return at + n;
}

/* -- resources -- */

int build_occupancy(const struct build *b, const char **limit)
{
    enum {
        GRANULE = 256,
        SHARED_RESERVED = 1024,
        SHARED_GRANULE = 128
    }; /* a warp gets registers in multiples of 256; a CTA gets bytes of shared memory in multiples of 128,
        * including 1024 bytes for CUDA itself */
    const neso_limits *l = &b->limits;
    int live = b->resources.live_registers;
    int regs = b->assembled.registers > 0 ? b->assembled.registers : live < 16 ? 16 : live;
    int warps = (b->resources.num_threads + 31) / 32;
    int per_warp = (32 * regs + GRANULE - 1) / GRANULE * GRANULE;
    int shared =
        (b->resources.shared_bytes + SHARED_RESERVED + SHARED_GRANULE - 1) / SHARED_GRANULE * SHARED_GRANULE;
    const struct {
        int programs;
        const char *word;
    } all[] = {{l->sm_programs, "programs"},
               {l->sm_threads / (32 * (warps ? warps : 1)), "threads"},
               {l->sm_registers / (per_warp * (warps ? warps : 1)), "registers"},
               {l->sm_shared_bytes / shared, "shared memory"}};
    int least = 0;
    for (int i = 1; i < 4; i++)
        least = all[i].programs < all[least].programs ? i : least;
    *limit = all[least].word;
    return all[least].programs;
}

/* -- the whole -- */

const struct stage *build_stage(const struct build *b, const char *kind)
{
    for (size_t i = 0; i < b->nstages; i++)
        if (strcmp(b->stages[i].kind, kind) == 0)
            return &b->stages[i];
    return NULL;
}

static bool take_text(struct build *b, const char *name, neso_text which, const char *kind)
{
    const char *text;
    size_t length;
    if (neso_kernel_text(b->kernel_object, which, &text, &length) != NESO_OK)
        return false;
    build_add_stage(b, name, kind, text, length);
    return true;
}

/* Moves the live ranges, which are comments after the machine IR, into a separate text. */
static void cut_live(struct build *b)
{
    static const char mark[] = "\n// live ";
    struct buffer *text = &b->stages[b->nstages - 1].text;
    char *at = strstr(text->s, mark);
    put_string(&b->live, at ? at : "");
    if (at) {
        at[1] = '\0';
        text->n = (size_t)(at + 1 - text->s);
    }
}

static void take_params(struct build *b)
{
    neso_param p = {.size = sizeof p};
    for (size_t i = 0; neso_kernel_param(b->kernel_object, i, &p); i++) {
        b->params = array_grown(b->params, b->nparams, sizeof *b->params);
        b->params[b->nparams++] = p;
    }
}

neso_status build_make(struct build *b, neso_module *module, const char *kernel,
                       const neso_compile_options *options)
{
    struct listening l = {.build = b};
    neso_compile_options o = *options;
    o.until = NESO_TEXT_IR;
    neso_status status = neso_kernel_compile(module, kernel, &o, &b->kernel_object);
    if (status == NESO_OK && take_text(b, "traced", NESO_TEXT_IR, "ir")) {
        neso_kernel_release(b->kernel_object);
        o.until = NESO_TEXT_MIR;
        o.explain = "all";
        o.print_changed = 1;
        l.nbefore = b->nstages;
        o.write = listen;
        o.note = listen_to_note;
        o.user = &l;
        status = neso_kernel_compile(module, kernel, &o, &b->kernel_object);
    }
    if (status != NESO_OK)
        return status;
    take_params(b);
    b->options = *options;
    b->kernel = neso_kernel_name(b->kernel_object);
    b->signature = options->signature;
    b->resources.size = sizeof b->resources;
    b->assembled = (struct assembled){-1, -1, -1};
    bool good = take_text(b, "mir", NESO_TEXT_MIR, "mir");
    if (good)
        cut_live(b);
    good = good && take_text(b, "ptx", NESO_TEXT_PTX, "ptx") &&
           neso_kernel_text(b->kernel_object, NESO_TEXT_JSON, &b->plan, NULL) == NESO_OK &&
           neso_kernel_resources(b->kernel_object, &b->resources) == NESO_OK;
    if (!good)
        return NESO_INVALID;
    ptx_target(build_stage(b, "ptx")->text.s, b->target, sizeof b->target);
    b->limits.size = sizeof b->limits;
    neso_target_limits(b->target, &b->limits);
    return NESO_OK;
}

void build_free(struct build *b)
{
    for (size_t i = 0; i < b->nstages; i++)
        buffer_free(&b->stages[i].text);
    free(b->stages);
    notes_free(b->notes, b->nnotes);
    free(b->params);
    buffer_free(&b->source);
    buffer_free(&b->live);
    profile_free(&b->profile);
    neso_kernel_release(b->kernel_object);
}
