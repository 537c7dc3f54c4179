/* SPDX-License-Identifier: MIT */
/* help.c: implements `neso help`, which prints the commands with their options, the compiler's tables, and
 * the entry of a name in the language reference.
 *
 *     $ neso help tl.cdiv
 *     tl.cdiv(x, div), also x.cdiv(div)
 *         x / div, rounded up.
 *         types    integers; of constexprs a constexpr
 *         ...
 */
#include "runtime/command/command.h"

#include <stdlib.h>
#include <string.h>

/* -- commands -- */

const struct command_row *find_command(const char *word)
{
    for (int i = 0; i < ncommand_rows; i++)
        if (strcmp(command_rows[i].word, word) == 0)
            return &command_rows[i];
    return NULL;
}

void option_text(const struct option_row *o, char *out, size_t n)
{
    const char *space = o->argument && *o->argument != '[' ? " " : "",
               *argument = o->argument ? o->argument : "";
    if (o->letter)
        snprintf(out, n, "-%c, --%s%s%s", o->letter, o->word, space, argument);
    else
        snprintf(out, n, "--%s%s%s", o->word, space, argument);
}

void print_command(FILE *to, const struct command_row *c)
{
    fprintf(to, "neso %s%s%s\n    %s\n", c->word, *c->arguments ? " " : "", c->arguments, c->meaning);
    for (int i = 0; i < OPTIONS_END; i++) {
        char left[64];
        if (!(option_rows[i].where & (int)c->bit))
            continue;
        option_text(&option_rows[i], left, sizeof left);
        fprintf(to, "    %-24s %s\n", left, option_rows[i].meaning);
    }
}

const char environment_text[] =
    "Devices: cuda is a GPU; interpreter and emulator run on the CPU:\n"
    "the interpreter runs the traced IR, the emulator the PTX that a GPU would get.\n"
    "Environment: NESO_DEVICE is the default of --device, NESO_RACES of --races. TRITON_INTERPRET=1\n"
    "chooses the interpreter, also if the program sets it, unless --device is given. TRITON_DEBUG=1\n"
    "checks the assertions of kernels. NESO_DETERMINISTIC=1: launches are deterministic unless they say\n"
    "otherwise (every sum has one order, order-dependent atomics are errors). NESO_FP_REASSOC=1: launches\n"
    "may associate floats in other ways (fp_reassoc), unless they say otherwise. NESO_CACHE_DIR is the "
    "folder "
    "of compiled kernels (default: neso\n"
    "in XDG_CACHE_HOME or ~/.cache); NESO_CACHE=off keeps none; with NESO_CACHE=strict a kernel that\n"
    "the cache lacks is an error. NESO_CAPSULE=on, or a folder, keeps launches that fail as capsules, for\n"
    "`neso replay`. NO_COLOR turns the colours of messages off.\n"
    "Exit status: 0 success; 1 the program failed, reached a limit or is slower; 2 bad usage or input;\n"
    "3 bench is undecided; 4 bench did not measure everything in the base.\n";

void print_usage(FILE *to)
{
    fprintf(to, "neso %s: Triton kernels to PTX\n", neso_version());
    for (int i = 0; i < ncommand_rows; i++) {
        fputc('\n', to);
        print_command(to, &command_rows[i]);
    }
    fputs("\nTopics of help:", to);
    for (size_t i = 0; neso_help_topic(i); i++)
        fprintf(to, " %s", neso_help_topic(i));
    fprintf(to, "\n\n%s", environment_text);
}

/* -- messages -- */

int each_message(void (*each)(void *user, const char *tag, const char *text), void *user)
{
    neso_context *ctx;
    const char *text = NULL;
    if (neso_context_create(NULL, &ctx) != NESO_OK || neso_help(ctx, "errors", &text) != NESO_OK)
        return complain("out of memory");
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        char tag[64], message[1024];
        end = line + strcspn(line, "\n");
        if (sscanf(line, "%63s %1023[^\n]", tag, message) == 2)
            each(user, tag, message);
    }
    neso_context_release(ctx);
    return GOOD;
}

/* -- names of the language -- */

bool row_is_supported(const struct language_row *r)
{
    return strcmp(r->handler, "unsupported") != 0;
}

bool row_is_shown(const struct language_row *r)
{
    return r->name && strcmp(r->where, "hidden") != 0;
}

/* Returns whether `name` is the row's name, with or without its prefix ("tl.load" or "load"). */
static bool is_called(const struct language_row *r, const char *name)
{
    if (!row_is_shown(r))
        return false;
    size_t n = strlen(r->prefix);
    return strcmp(name, r->name) == 0 || (strncmp(name, r->prefix, n) == 0 && strcmp(name + n, r->name) == 0);
}

struct wanted {
    const char *tags;
};

static void print_wanted(void *user, const char *tag, const char *text)
{
    const struct wanted *w = user;
    size_t n = strlen(tag);
    for (const char *s = w->tags; *s; s += strcspn(s, " "), s += *s == ' ')
        if (strncmp(s, tag, n) == 0 && (s[n] == ' ' || !s[n]))
            printf("    error    %s: %s\n", tag, text);
}

static void print_name(const struct language_row *r)
{
    struct wanted w = {r->errors};
    printf("%s%s(%s)", r->prefix, r->name, r->parameters);
    if (strcmp(r->where, "method") == 0 || strcmp(r->where, "math") == 0)
        printf(", also as a method of tensors");
    printf("\n    %s\n", r->meaning);
    if (*r->types)
        printf("    types    %s\n", r->types);
    each_message(print_wanted, &w);
    for (const char *s = r->example, *end; *s; s = *end ? end + 1 : end) {
        end = s + strcspn(s, "\n");
        printf("    %-8s %.*s\n", s == r->example ? "example" : "", (int)(end - s), s);
    }
}

static bool print_names(const char *name)
{
    bool any = false;
    for (const struct language_row *r = language_rows; r->heading || r->name; r++)
        if (is_called(r, name)) {
            print_name(r);
            any = true;
        }
    return any;
}

static bool is_topic(const char *word)
{
    for (size_t i = 0; neso_help_topic(i); i++)
        if (strcmp(neso_help_topic(i), word) == 0)
            return true;
    return false;
}

static size_t distance_to(const struct language_row *r, const char *word)
{
    size_t n = strlen(r->prefix);
    return row_is_shown(r) ? word_distance(strncmp(word, r->prefix, n) == 0 ? word + n : word, r->name)
                           : SIZE_MAX;
}

/* Prints the names of the language that are most similar to the word; returns false if no name is similar. */
static bool suggest_names(const char *word)
{
    char names[120] = "";
    size_t best = 3, used = 0;
    for (const struct language_row *r = language_rows; r->heading || r->name; r++)
        if (r->name && distance_to(r, word) < best && distance_to(r, word) < strlen(r->name))
            best = distance_to(r, word);
    for (const struct language_row *r = language_rows; best < 3 && (r->heading || r->name); r++)
        if (r->name && distance_to(r, word) == best && used < sizeof names / 2)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s%s", used ? ", " : "", r->prefix,
                                     r->name);
    if (best < 3)
        complain("there is no help on '%s'; did you mean %s?", word, names);
    return best < 3;
}

/* -- the command -- */

static int print_topic(const struct given *g, const char *topic)
{
    neso_context *ctx;
    const char *text;
    if (neso_context_create(NULL, &ctx) != NESO_OK)
        return complain("out of memory");
    neso_status status = neso_help(ctx, topic, &text);
    int result = status == NESO_OK ? GOOD : report(g, ctx, status);
    fputs(text, stdout);
    neso_context_release(ctx);
    return result;
}

/* For these topics, `neso help` prints tables with a column that the tables of neso_help lack. */
static const struct {
    const char *word;
    void (*print)(FILE *to);
} own_topics[] = {{"ops", print_ops}, {"insns", print_insns}, {"params", print_params}};

int help_command(const struct given *g)
{
    const char *word = g->argc ? g->argv[0] : NULL;
    const struct command_row *c = word ? find_command(word) : NULL;
    if (g->options[OPTION_man]) {
        print_man();
        return GOOD;
    }
    if (g->options[OPTION_as_page] && word && print_page(word))
        return GOOD;
    if (!word) {
        print_usage(stdout);
        return GOOD;
    }
    if (c)
        print_command(stdout, c);
    if (c && c->bit == BENCH)
        bench_rules_print();
    if (c || print_names(word))
        return GOOD;
    for (size_t i = 0; i < sizeof own_topics / sizeof *own_topics; i++)
        if (strcmp(own_topics[i].word, word) == 0) {
            own_topics[i].print(stdout);
            return GOOD;
        }
    if (!is_topic(word) && print_page(word))
        return GOOD;
    if (!is_topic(word) && suggest_names(word))
        return BAD;
    return print_topic(g, word);
}
