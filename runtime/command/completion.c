/* SPDX-License-Identifier: MIT */
/* completion.c: implements `neso completion SHELL`, which prints a script that completes neso's command line. The
 * script is made from the tables of commands and options, so it is always complete.
 *
 *     bash    source <(neso completion bash)                       in ~/.bashrc
 *     zsh     neso completion zsh >"${fpath[1]}/_neso"
 *     fish    neso completion fish >~/.config/fish/completions/neso.fish
 */
#include "runtime/command/inspect/inspect.h"

#include <ctype.h>
#include <string.h>

/* -- the values of options -- */

void add_names(struct buffer *out, const char *topic, const char *end_of_name)
{
    neso_context *ctx;
    const char *text = "";
    if (neso_context_create(NULL, &ctx) != NESO_OK)
        return;
    neso_help(ctx, topic, &text);
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        size_t n = strcspn(line, " :\n");
        end = line + strcspn(line, "\n");
        if (n && !isspace((unsigned char)*line) && strncmp(line + n, end_of_name, strlen(end_of_name)) == 0) {
            put_string(out, out->n ? " " : "");
            put_bytes(out, line, n);
        }
    }
    neso_context_release(ctx);
}

/* Returns the values that an option accepts, separated by blanks; "" if the option accepts any text. */
static struct buffer values_of(int option)
{
    struct buffer out = {0};
    put_string(&out, "");
    switch (option) {
    case OPTION_device: put_string(&out, "best cuda interpreter emulator"); break;
    case OPTION_races: put_string(&out, "start all off"); break;
    case OPTION_trace: put_string(&out, "nan precision"); break;
    case OPTION_break_on: put_string(&out, "nan"); break;
    case OPTION_emit: put_string(&out, "ast ir opt mir ptx json explain record bundle cubin sass c"); break;
    case OPTION_target:
    case OPTION_to_target: add_names(&out, "targets", " "); break;
    case OPTION_passes:
    case OPTION_skip:
    case OPTION_stop_after:
    case OPTION_print_after:
    case OPTION_explain: add_names(&out, "passes", ":"); break;
    case OPTION_num_warps:
    case OPTION_to_num_warps: put_string(&out, "1 2 4 8 16 32"); break;
    default: break;
    }
    return out;
}

static bool takes_value(const struct option_row *o)
{
    return o->argument && *o->argument != '[';
}

static bool takes_file(const struct option_row *o)
{
    return takes_value(o) && (strcmp(o->argument, "FILE") == 0 || strcmp(o->argument, "DIR") == 0 ||
                              strcmp(o->argument, "OUT") == 0);
}

/* -- the arguments of commands -- */

static void add_topics(struct buffer *out)
{
    for (size_t i = 0; neso_help_topic(i); i++) {
        put_string(out, " ");
        put_string(out, neso_help_topic(i));
    }
    for (int i = 0; i < ncommand_rows; i++) {
        put_string(out, " ");
        put_string(out, command_rows[i].word);
    }
}

/* Returns the words that a command accepts as arguments; "" if its arguments are files. */
static struct buffer arguments_of(const struct command_row *c)
{
    struct buffer out = {0};
    put_string(&out, c->bit == COMPLETION ? "bash zsh fish" : "");
    if (c->bit == HELP)
        add_topics(&out);
    return out;
}

/* -- bash -- */

static void print_bash(void)
{
    printf("_neso() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words=\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
           "        COMPREPLY=($(compgen -W '");
    for (int i = 0; i < ncommand_rows; i++)
        printf("%s ", command_rows[i].word);
    printf("--help --version' -- \"$cur\"))\n"
           "        return\n"
           "    fi\n"
           "    case $prev in\n");
    for (int i = 0; i < OPTIONS_END; i++) {
        struct buffer values = values_of(i);
        if (values.n)
            printf("    --%s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", option_rows[i].word,
                   values.s);
        else if (takes_value(&option_rows[i]))
            printf("    --%s) %s return ;;\n", option_rows[i].word,
                   takes_file(&option_rows[i]) ? "COMPREPLY=($(compgen -f -- \"$cur\"));" : "");
        buffer_free(&values);
    }
    printf("    esac\n"
           "    case ${COMP_WORDS[1]} in\n");
    for (int i = 0; i < ncommand_rows; i++) {
        struct buffer words = arguments_of(&command_rows[i]);
        printf("    %s) words='%s", command_rows[i].word, words.s);
        for (int k = 0; k < OPTIONS_END; k++)
            if (option_rows[k].where & (int)command_rows[i].bit)
                printf(" --%s", option_rows[k].word);
        printf(" --help' ;;\n");
        buffer_free(&words);
    }
    printf("    esac\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
           "    [ \"${cur#-}\" != \"$cur\" ] || COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
           "}\n"
           "complete -o filenames -F _neso neso\n");
}

/* -- zsh -- */

/* Prints the meaning of an option, which zsh reads in the form '...[meaning]'. Escapes the characters that
 * would end the meaning, such as quotes and brackets. */
static void print_quoted(const char *s)
{
    for (; *s; s++)
        if (*s == '\'')
            printf("'\\''");
        else
            printf(strchr("[]:\\", *s) ? "\\%c" : "%c", *s);
}

static void print_zsh_option(int option)
{
    const struct option_row *o = &option_rows[option];
    struct buffer values = values_of(option);
    printf(" \\\n            '--%s%s[", o->word, takes_value(o) ? "=" : "");
    print_quoted(o->meaning);
    printf("]");
    if (takes_value(o)) {
        printf(":");
        print_quoted(o->argument);
        printf(values.n ? ":(%s)" : takes_file(o) ? ":_files" : ":", values.s);
    }
    printf("'");
    buffer_free(&values);
}

static void print_zsh(void)
{
    printf("#compdef neso\n"
           "_neso() {\n"
           "    local -a commands\n"
           "    commands=(");
    for (int i = 0; i < ncommand_rows; i++) {
        printf("\n        '%s:", command_rows[i].word);
        print_quoted(command_rows[i].meaning);
        printf("'");
    }
    printf(")\n"
           "    if (( CURRENT == 2 )); then\n"
           "        _describe command commands\n"
           "        return\n"
           "    fi\n"
           "    local command=$words[2]\n"
           "    shift words\n"
           "    (( CURRENT-- ))\n"
           "    case $command in\n");
    for (int i = 0; i < ncommand_rows; i++) {
        struct buffer words = arguments_of(&command_rows[i]);
        printf("    %s)\n        _arguments", command_rows[i].word);
        for (int k = 0; k < OPTIONS_END; k++)
            if (option_rows[k].where & (int)command_rows[i].bit)
                print_zsh_option(k);
        if (words.n)
            printf(" \\\n            '*:word:(%s)'\n        ;;\n", words.s);
        else
            printf(" \\\n            '*:file:_files'\n        ;;\n");
        buffer_free(&words);
    }
    printf("    esac\n"
           "}\n"
           "if [ \"$funcstack[1]\" = _neso ]; then _neso; else compdef _neso neso; fi\n");
}

/* -- fish -- */

static void print_fish_text(const char *s)
{
    for (; *s; s++)
        printf(strchr("'\\", *s) ? "\\%c" : "%c", *s);
}

static void print_fish_option(const struct command_row *c, int option)
{
    const struct option_row *o = &option_rows[option];
    struct buffer values = values_of(option);
    printf("complete -c neso -n '__fish_seen_subcommand_from %s' -l %s", c->word, o->word);
    if (o->letter)
        printf(" -s %c", o->letter);
    if (takes_value(o))
        printf(takes_file(o) ? " -r -F" : values.n ? " -x -a '%s'" : " -x", values.s);
    printf(" -d '");
    print_fish_text(o->meaning);
    printf("'\n");
    buffer_free(&values);
}

static void print_fish(void)
{
    for (int i = 0; i < ncommand_rows; i++) {
        const struct command_row *c = &command_rows[i];
        struct buffer words = arguments_of(c);
        printf("complete -c neso -n __fish_use_subcommand -a %s -d '", c->word);
        print_fish_text(c->meaning);
        printf("'\n");
        if (words.n)
            printf("complete -c neso -n '__fish_seen_subcommand_from %s' -f -a '%s'\n", c->word, words.s);
        for (int k = 0; k < OPTIONS_END; k++)
            if (option_rows[k].where & (int)c->bit)
                print_fish_option(c, k);
        buffer_free(&words);
    }
}

int completion_command(const struct given *g)
{
    static const struct {
        const char *shell;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shells[i].shell, g->argv[0]) == 0) {
            shells[i].print();
            return GOOD;
        }
    return complain("no completion for '%s': expected bash, zsh or fish", g->argv[0]);
}
