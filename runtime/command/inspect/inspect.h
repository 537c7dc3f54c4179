/* SPDX-License-Identifier: MIT */
/* inspect.h: declares the data of one inspected kernel, and the functions of `neso inspect` and `neso diff` that
 * gather, write and compare these data.
 *
 *     inspect.c ──► build.c ──► struct build ──► json.c ──► JSON ──► the page (inspect.html)
 *                               │    ▲                                             └─► diff.c
 *                               └────┴── assembled.c (output of ptxas and a disassembler), hints.c (compiles
 *                                        with more promises) */
#ifndef NESO_RUNTIME_COMMAND_INSPECT_H
#define NESO_RUNTIME_COMMAND_INSPECT_H

#include "runtime/command/command.h"

#include <stddef.h>

/* -- text.c: text that grows -- */

/* `s` ends with a zero byte; it is NULL while the buffer is empty. If memory runs out, the command ends with a
 * message. */
struct buffer {
    char *s;
    size_t n, room;
};
void put_bytes(struct buffer *b, const char *s, size_t n);
void put_string(struct buffer *b, const char *s);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void put_format(struct buffer *b, const char *format, ...);
/* Appends a text as a JSON string, in quotes. Bytes that are not UTF-8 become U+FFFD. `<` is written as an escape,
 * because JSON inside an HTML page must not contain tags. */
void put_json(struct buffer *b, const char *s, size_t n);
void buffer_free(struct buffer *b);
/* Returns the array of n elements (of `bytes` bytes each) with room for one more element. If the array is
 * full, doubles its capacity by realloc, which may move it. */
void *array_grown(void *array, size_t n, size_t bytes);

/* -- the parts of an inspection -- */

/* A place in a source file. Line 0: no place. File 0: the inspected file. */
struct place {
    int file, line, column;
};

struct stage {
    char name[24];
    const char *kind; /* "ir", "mir", "ptx", "sass" */
    struct buffer text;
};

/* One explanation of a pass. */
struct note {
    char pass[32], decision[32];
    struct place at;
    int grade, number; /* as in neso_note */
    char *text;
    /* `better` explains a better decision. The pass would make this decision with the promises in `needs`. NULL: no
     * better decision is known */
    char *better, *needs;
};

/* The resources that ptxas reports, for a thread (`barriers`: for a CTA); -1: unknown. */
struct assembled {
    int registers, spill_bytes, barriers;
};

/* Measurements of ncu; their strings are parts of `text` in struct profile. */
struct metric {
    const char *name, *value, *unit;
};
struct stall {
    const char *reason; /* "long_sb" */
    double samples;
};
struct sampled { /* one SASS instruction, in program order */
    const char *text;
    double samples, executed;
    struct stall *stalls;
    size_t nstalls;
};
struct profile {
    char *text;
    struct metric *metrics;
    struct sampled *instructions;
    size_t nmetrics, ninstructions;
};

struct build {
    char file[256]; /* without folders */
    const char *kernel, *signature;
    char target[24];
    neso_compile_options options;
    struct buffer source, live; /* `live` has the live ranges of the machine IR */
    struct stage *stages;
    size_t nstages;
    struct note *notes;
    size_t nnotes;
    neso_param *params; /* their strings belong to `kernel_object` */
    size_t nparams;
    neso_resources resources;
    neso_limits limits;
    struct assembled assembled;
    struct profile profile; /* the measurements of ncu; empty if no profile was given */
    const char *plan; /* the launch plan, as JSON */
    neso_kernel *kernel_object;
};

/* -- build.c -- */
/* Compiles a kernel and sets *b, which must be zeroed except for `file` and `source`. After an error, the
 * module's context has the message. `module` and the strings of `options` must outlive the build. */
neso_status build_make(struct build *b, neso_module *module, const char *kernel, const neso_compile_options *options);
void build_free(struct build *b);
/* Adds a stage. If the build already has a stage with this name, names the new stage NAME.2, NAME.3, ... */
struct stage *build_add_stage(struct build *b, const char *name, const char *kind, const char *text, size_t n);
/* Returns the first stage of a kind ("ptx"); NULL if there is none. */
const struct stage *build_stage(const struct build *b, const char *kind);
/* Returns whether the note explains a decision. Other notes are about clean-ups, registers or the schedule of
 * a loop. */
bool note_decides(const struct note *n);
/* Appends a note to the array *notes of *n notes. */
void notes_add(struct note **notes, size_t *n, const neso_note *note);
void notes_free(struct note *notes, size_t n);
/* Returns an array with the source location of each line of a stage, and sets *nlines to its length. The
 * caller frees the array. */
struct place *stage_places(const struct build *b, const struct stage *s, size_t *nlines);
/* Returns the name of the instruction in a line of PTX or machine IR, and sets *length to its length; NULL if the
 * line has no instruction. */
const char *line_instruction(const char *line, size_t n, size_t *length);
/* Finds the first .file directive in PTX at or after `at`. Returns the name of the file, which has *length
 * bytes, and sets *file to the number that struct place has for the file. Returns NULL if there is no such
 * directive. */
const char *build_next_file(const char *at, int *file, size_t *length);
/* Returns an estimate of the number of program instances that fit on a multiprocessor, and sets *limit to the
 * name of the resource that limits this number ("registers"). */
int build_occupancy(const struct build *b, const char **limit);
/* The number of instructions with one name in a stage's text. */
struct count {
    char name[48];
    int n;
};
/* Returns the counts of all instructions in PTX or SASS, sorted by name, and sets *n to their number. The
 * caller frees the array. */
struct count *stage_histogram(const struct stage *s, size_t *n);

/* -- assembled.c -- */
/* If ptxas is installed, adds the resources that it reports, and, if a disassembler is installed too, the
 * SASS. */
void build_assemble(struct build *b);

/* -- ncu.c -- */
/* Reads the measurements of the build's kernel from an output file of ncu. Returns false after a message if the file
 * has none. */
bool build_profile(struct build *b, const char *path);
void profile_free(struct profile *p);
void put_profile_json(const struct profile *p, struct buffer *out);
/* Appends one line for the terminal that summarizes the profile. */
void put_profile(const struct profile *p, struct buffer *out);

/* -- hints.c -- */
/* Finds promises that would improve decisions of passes if the signature had them, and sets `better` and
 * `needs` of these decisions' notes. */
void build_hints(struct build *b, neso_module *module);

/* -- losses.c -- */
/* Runs the program on the interpreter, and adds a note for each finding of --trace. Returns false after a
 * message if the program fails without a finding, or if the value of --trace is malformed. */
bool build_losses(struct build *b, const struct given *g, const char *path, const char *text, size_t length);

/* -- check.c -- */
/* Appends the array that `neso check --json` would print if the file `path` contained `text`. */
void check_json(const struct given *g, const char *path, const char *text, size_t length, struct buffer *out);
/* Appends a guessed signature for a kernel that the program does not launch: the names of the parameters
 * suggest types, and changes of single types are tried. Returns false if the kernel does not compile with
 * this signature. */
bool check_guess(neso_context *ctx, neso_module *module, const char *kernel, struct buffer *signature);
/* -- accesses.c -- */
/* The getenv and save callbacks for programs that run only for inspection: NESO_DEVICE is the interpreter, and no file
 * is saved. */
const char *interpreter_variable(void *user, const char *name);
int save_nothing(void *user, const char *path, const char *text, size_t length);
/* Executes `neso check --accesses` for one file. Returns GOOD, or FAILED if the program fails. */
int check_accesses(const struct given *g, const char *path, const char *text, size_t length);


/* -- json.c -- */
void build_json(const struct build *b, struct buffer *out);
/* A parsed JSON value. `first` is the first member of an object or the first element of an array. `next` is
 * the next member or element of the object or array that contains this value. */
enum json_kind { JSON_null, JSON_bool, JSON_number, JSON_string, JSON_array, JSON_object };
struct json {
    enum json_kind kind;
    char *name, *string; /* `name` is the name of a member of an object; `string` is the text of a string or number */
    struct json *first, *next;
};
/* Parses JSON. Returns NULL if the text is not JSON. The caller frees the value by json_free. */
struct json *json_read(const char *text);
void json_free(struct json *j);
/* Returns the member of an object with this name; NULL if there is none, or if j is NULL. */
const struct json *json_member(const struct json *j, const char *name);

/* -- inspect.c -- */
/* Compiles the kernel that `path` (FILE or FILE::KERNEL) names, and calls `use` with the build. Replaces the
 * first colon in `path` by a zero byte. Returns the result of `use`; if there is no build, returns an exit
 * status other than GOOD, after a message. */
int inspect_file(const struct given *g, char *path, const neso_compile_options *options,
                 int (*use)(const struct given *g, const struct build *b, void *ctx), void *ctx);

/* -- completion.c -- */
/* Appends the names in the table of a help topic, separated by blanks: the first word of each line that is
 * not indented, if `end_of_name` follows the word. */
void add_names(struct buffer *out, const char *topic, const char *end_of_name);

/* -- live.c: the builds that the page of `neso inspect --serve` requests -- */
struct live {
    const struct given *given;
    /* the file and kernel that the command line names; if `kernel` is NULL, the page shows the kernel of the
     * program's first launch */
    const char *path, *kernel;
};
/* One request: the query of its URL, and the source that the user has edited in the page (NULL: use the source in the
 * file). */
struct wish {
    const char *query, *source;
};
/* Appends the answer to a request: {"build": ..., "ms": ..., "messages": ...}, where "build" is null if the
 * kernel does not compile. */
void live_build(const struct live *l, const struct wish *w, struct buffer *out);
/* Appends the data of the page, as JSON. */
void live_page_data(const struct live *l, const struct wish *w, struct buffer *out);
/* Returns a number that changes when the file or another Python file in its folder is saved. */
unsigned long sources_stamp(const char *file);

/* -- serve.c -- */
/* Serves the page until the process ends. `port` is a number; "": the system chooses a port. Returns only if
 * the file cannot be read or the port cannot be opened: BAD after a message. */
int serve(const struct live *l, const char *port);

/* -- page.c: the page, one file that contains data and the code that shows it -- */
/* Appends the page with its data, which is JSON. If `data` is NULL, the page has the mark @DATA@ in place of the
 * data. */
void put_page(struct buffer *out, const char *data);
/* Appends the data of a page, as JSON: the JSON of a build, and the JSON of the build with which it is compared
 * (`base`; NULL: none). */
void put_page_data(struct buffer *out, const char *base, const char *build);

#endif
