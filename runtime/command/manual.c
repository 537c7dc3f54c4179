/* SPDX-License-Identifier: MIT */
/* manual.c: prints the parts of the manual that are made from tables, as Markdown: the language, the unsupported
 * features, the commands, and each topic of help. `make manual` inserts these parts between the handwritten pages.
 * This file also prints the command's page for man(1). */
#include "runtime/command/command.h"

#include <string.h>

/* -- the language -- */

/* Prints the tags of messages, which blanks separate, as a list: `axis-range`, `wants-block`. */
static void print_tags(const char *tags)
{
    const char *comma = "";
    for (const char *s = tags, *end; *s; s = *end ? end + 1 : end) {
        end = s + strcspn(s, " ");
        printf("%s`%.*s`", comma, (int)(end - s), s);
        comma = ", ";
    }
}

static void print_entry(const struct language_row *r)
{
    printf("### %s%s\n\n`%s%s(%s)`", r->prefix, r->name, r->prefix, r->name, r->parameters);
    if (strcmp(r->where, "method") == 0 || strcmp(r->where, "math") == 0)
        printf(", also a method of tensors");
    printf("\n\n%s\n", r->meaning);
    if (*r->types)
        printf("\nTypes: %s.\n", r->types);
    if (*r->errors) {
        printf("\nErrors: ");
        print_tags(r->errors);
        printf(".\n");
    }
    if (*r->example)
        printf("\n```python\n%s\n```\n", r->example);
    putchar('\n');
}

static void print_language(void)
{
    puts("# Language reference\n\n"
         "Every name of `triton` and `triton.language`: what it does, what it takes, the messages that its "
         "misuse gives, and an\n"
         "example with its result. `neso help NAME` prints one entry on the terminal, with the texts of its "
         "messages. Any\n"
         "builtin may also give the messages of calls (`missing-argument`, `unexpected-keyword`).\n\n"
         "In the examples `X` points to the float32 numbers 1, 2, 3, 4 and `N` to the int32 numbers 1, 2, 3, "
         "4; `i` is\n"
         "`tl.arange(0, 4)`, and `x` is `i + 1.0`. `helper(a)` is a function that returns `a * 10` if `a > "
         "2`, else `a`;\n"
         "`larger(a, b)` returns `tl.maximum(a, b)`. A scalar is shown as a tile of one element.\n");
    for (const struct language_row *r = language_rows; r->heading || r->name; r++)
        if (r->heading)
            printf("## %s\n\n", r->heading);
        else if (row_is_shown(r) && row_is_supported(r))
            print_entry(r);
}

/* -- unsupported features -- */

/* The tags of messages that refuse a feature of Triton or Python although their texts do not contain "not
 * supported". */
static const char more_refusals[] = " int-overflow kernel-def kernel-condition kernel-comprehension "
                                    "kernel-comprehension-over plain-function fstring-tensor "
                                    "loop-iterator loop-target index-kind recursion yields breakpoint-kernel "
                                    "not-available only-python no-library "
                                    "module-elsewhere launch-stage torch-one-tensor asm-interpreter asm-type "
                                    "host-call type-called descriptor-stride "
                                    "signature-descriptor codegen-unsupported ";

static void print_refusal(void *user, const char *tag, const char *text)
{
    char word[80];
    (void)user;
    snprintf(word, sizeof word, " %s ", tag);
    /* omit the tag "not-supported", which the first table explains, and the errors about operands and formats
     * that Python reports too */
    bool is_python = strncmp(text, "unsupported operand", 19) == 0 ||
                     strncmp(text, "unsupported format", 18) == 0 || strstr(text, "supported between") ||
                     strcmp(tag, "not-supported") == 0;
    if (!is_python && (strstr(text, "not supported") || strncmp(text, "unsupported", 11) == 0 ||
                       strstr(more_refusals, word)))
        printf("| `%s` | %s |\n", tag, text);
}

static void print_limits(void)
{
    puts("# What is not supported\n\n"
         "This page is made of the compiler's tables. Whatever is not supported is a message with a place, "
         "never a wrong result.\n\n"
         "## Names of the language without code\n\n| name | instead |\n| --- | --- |");
    for (const struct language_row *r = language_rows; r->heading || r->name; r++)
        if (row_is_shown(r) && !row_is_supported(r))
            printf("| `%s%s` | %s |\n", r->prefix, r->name, r->meaning);
    puts("\n## Names that are accepted and have no effect\n\n| name | meaning |\n| --- | --- |");
    for (const struct language_row *r = language_rows; r->heading || r->name; r++)
        if (row_is_shown(r) && (strcmp(r->handler, "nothing") == 0 || strcmp(r->handler, "same") == 0))
            printf("| `%s%s` | %s |\n", r->prefix, r->name, r->meaning);
    puts("\n## Statements and expressions\n\nThe messages of the compiler that refuse a part of the "
         "language; `%s` stands for a part of your "
         "program.\n\n| message | text |\n| --- | --- |");
    each_message(print_refusal, NULL);
}

/* -- the commands -- */

/* Prints a cell of a Markdown table. Escapes `|`, which would end the cell, and `<`, which would begin an
 * HTML tag. */
static void print_cell(const char *s)
{
    for (; *s; s++)
        printf(*s == '|' ? "\\|" : *s == '<' ? "&lt;" : "%c", *s);
}

static void print_commands(void)
{
    puts("# The command\n");
    for (int i = 0; i < ncommand_rows; i++) {
        const struct command_row *c = &command_rows[i];
        const char *head = "\n| option | meaning |\n| --- | --- |\n";
        printf("## neso %s\n\n    neso %s%s%s\n\n", c->word, c->word, *c->arguments ? " " : "", c->arguments);
        print_cell(c->meaning);
        puts(".");
        for (int k = 0; k < OPTIONS_END; k++) {
            char left[64];
            if (!(option_rows[k].where & (int)c->bit))
                continue;
            option_text(&option_rows[k], left, sizeof left);
            printf("%s| `%s` | ", head, left);
            print_cell(option_rows[k].meaning);
            puts(" |");
            head = "";
        }
        putchar('\n');
    }
    puts(environment_text);
}

bool print_page(const char *name)
{
    if (strcmp(name, "language") == 0)
        print_language();
    else if (strcmp(name, "limits") == 0)
        print_limits();
    else if (strcmp(name, "commands") == 0)
        print_commands();
    else
        return false;
    return true;
}

/* -- man(1) -- */

/* Prints a text for roff. Escapes backslashes and minus signs, because roff would interpret them. */
static void print_roff(const char *s)
{
    for (; *s; s++)
        printf(*s == '\\' ? "\\e" : *s == '-' ? "\\-" : "%c", *s);
}

static void print_man_option(const struct option_row *o)
{
    char left[64];
    option_text(o, left, sizeof left);
    printf(".TP\n\\fB");
    print_roff(left);
    printf("\\fR\n");
    print_roff(o->meaning);
    putchar('\n');
}

void print_man(void)
{
    printf(".TH NESO 1 \"\" \"neso %s\"\n.SH NAME\nneso \\- compile Triton kernels to PTX, run and inspect "
           "them\n.SH SYNOPSIS\n",
           neso_version());
    for (int i = 0; i < ncommand_rows; i++) {
        printf("%s\\fBneso %s\\fR ", i ? ".br\n" : "", command_rows[i].word);
        print_roff(command_rows[i].arguments);
        putchar('\n');
    }
    puts(".SH DESCRIPTION\nneso compiles kernels that are written in Triton's language to PTX, and runs "
         "whole programs of such "
         "kernels\non a GPU, or on the CPU where there is none.");
    for (int i = 0; i < ncommand_rows; i++) {
        const struct command_row *c = &command_rows[i];
        printf(".SH NESO ");
        for (const char *s = c->word; *s; s++)
            putchar(*s - 'a' + 'A');
        printf("\n\\fBneso %s\\fR ", c->word);
        print_roff(c->arguments);
        printf("\n.PP\n");
        print_roff(c->meaning);
        puts(".");
        for (int k = 0; k < OPTIONS_END; k++)
            if (option_rows[k].where & (int)c->bit)
                print_man_option(&option_rows[k]);
    }
    puts(".SH ENVIRONMENT AND EXIT STATUS");
    print_roff(environment_text);
    puts(".SH SEE ALSO\nptxas(1), nvdisasm(1)");
}
