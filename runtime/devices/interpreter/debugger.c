/* debugger.c: debugs kernels on the interpreter: stops at breakpoint() and --break FILE:LINE[@pid], shows variables,
 * and continues.
 *
 *     > copy.py:12 in copy_k, program (3, 0, 0)
 *           x = tl.load(x_ptr + offs, mask)
 *     (neso) p offs[0]
 *     6
 *
 * The tracer inserts a site, which records the variables, before each statement (hostcall.c); specialize.c asks the
 * debugger whether to stop at a site. The debugger evaluates expressions as host code, on copies of the values. */
#include "runtime/devices/interpreter/debugger.h"
#include "frontend/python/python.h"
#include "runtime/runtime.h"

#include <stdio.h>
#include <string.h>

static void say(struct program *p, const struct text *t)
{
    if (p->options.write)
        p->options.write(p->options.user, t->s ? t->s : "", t->len, false);
}

/* -- breakpoints -- */

/* Parses a program id: "3", or "1,2,0". */
static bool read_pid(const char *s, int *pid)
{
    int used = 0;
    pid[0] = pid[1] = pid[2] = 0;
    int n = sscanf(s, "%d%n,%d%n,%d%n", &pid[0], &used, &pid[1], &used, &pid[2], &used);
    return n >= 1 && s[used] == '\0';
}

bool debugger_open(struct debugger *d, const char *where)
{
    const char *colon = where ? strrchr(where, ':') : NULL;
    int used = 0;
    *d = (struct debugger){.asked = where};
    if (!where)
        return true;
    d->file_bytes = colon ? (size_t)(colon - where) : 0;
    if (!d->file_bytes || sscanf(colon + 1, "%d%n", &d->line, &used) != 1 || d->line < 1)
        return false;
    const char *rest = colon + 1 + used;
    d->has_pid = *rest == '@';
    return d->has_pid ? read_pid(rest + 1, d->pid) : !*rest;
}

/* Does path `name` end in the file name of the breakpoint? */
static bool is_file(const struct debugger *d, const char *name)
{
    size_t n = strlen(name);
    if (n < d->file_bytes || memcmp(name + n - d->file_bytes, d->asked, d->file_bytes) != 0)
        return false;
    return n == d->file_bytes || name[n - d->file_bytes - 1] == '/';
}

bool debugger_stops(struct program *p, const struct host_site *site, const int *pid)
{
    struct debugger *d = &p->debugger;
    if (d->stepping)
        return true;
    if (!d->asked || (int)site->loc.line != d->line ||
        !is_file(d, p->module->diag.sources.at[site->loc.file]->name))
        return false;
    if (d->has_pid && memcmp(pid, d->pid, sizeof d->pid) != 0)
        return false;
    memcpy(d->pid, pid, sizeof d->pid);
    d->has_pid = d->was_reached = true;
    return true;
}

/* -- showing elements -- */

static void show_place(struct program *p, struct loc at, const char *function, struct text *out)
{
    text_printf(out, "%s:%d in %s", p->module->diag.sources.at[at.file]->name, (int)at.line, function);
}

static void show_line(struct program *p, struct loc at, struct text *out)
{
    const char *s = p->module->diag.sources.at[at.file]->text;
    for (uint32_t i = 1; i < at.line && strchr(s, '\n'); i++)
        s = strchr(s, '\n') + 1;
    s += strspn(s, " \t");
    text_printf(out, "      %.*s\n", (int)strcspn(s, "\n"), s);
}

static void show_stop(struct program *p, const struct stop *stop)
{
    struct text out;
    const int *pid = stop->call->pid;
    text_init(&out, &p->module->arena);
    text_str(&out, "> ");
    show_place(p, stop->site->loc, stop->site->function, &out);
    text_printf(&out, ", program (%d, %d, %d)\n", pid[0], pid[1], pid[2]);
    show_line(p, stop->site->loc, &out);
    say(p, &out);
}

/* Shows the call stack, innermost call first: functions inlined into the kernel, the kernel, then host functions. */
static void show_where(struct program *p, struct eval *e, const struct stop *stop)
{
    struct text out;
    struct loc at = stop->site->loc;
    const char *function = stop->site->function;
    const struct diag *d = &p->module->diag;
    text_init(&out, e->arena);
    for (const struct call_record *c = e->calls; c && c != stop->outside; c = c->outer)
        text_printf(&out, "  in %s\n", c->callee);
    for (;;) {
        text_str(&out, "  ");
        show_place(p, at, function, &out);
        text_char(&out, '\n');
        if (!at.call)
            break;
        at = d->calls.at[at.call].at;
        function = at.call ? d->calls.at[at.call].callee : stop->kernel;
    }
    say(p, &out);
}

static void show_expression(struct program *p, struct eval *e, struct scope *s, const char *text)
{
    struct text out;
    struct handler h;
    text_init(&out, e->arena);
    handler_push(e, &h);
    if (setjmp(h.jump) == 0) {
        obj_print(e, eval_text(e, s, text, strlen(text), (struct loc){0}), &out, false);
        handler_pop(e, &h);
    } else {
        e->diag->list.n = h.ndiagnostics;
        e->diag->nerrors = h.nerrors;
        text_printf(&out, "%s: %s", h.raised.class ? h.raised.class->class.name : "error",
                    h.raised.class ? exception_message(e, &h.raised) : "it cannot be evaluated");
    }
    text_char(&out, '\n');
    say(p, &out);
}

/* -- the prompt -- */

static const struct command {
    char letter;
    const char *word, *meaning;
} commands[] = {
    {'p', "print", "EXPR    show an expression of the kernel's variables; EXPR alone does it too"},
    {'s', "step", "        go on to the next statement"},
    {'c', "continue", "    go on to the next breakpoint"},
    {'w', "where", "       the calls that lead here"},
    {'q', "quit", "        end the program"},
    {'h', "help", "        this"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

/* The letter of the command at the start of a line; 0: the line has none. Sets *rest to the text after the
 * command. */
static char command_of(const char *line, const char **rest)
{
    size_t n = strcspn(line, " ");
    *rest = line + n + strspn(line + n, " ");
    for (int i = 0; i < COMMANDS; i++)
        if ((n == 1 && *line == commands[i].letter) ||
            (strlen(commands[i].word) == n && memcmp(line, commands[i].word, n) == 0))
            return commands[i].letter;
    *rest = line;
    return 0;
}

static void show_help(struct program *p)
{
    struct text out;
    text_init(&out, &p->module->arena);
    for (int i = 0; i < COMMANDS; i++)
        text_printf(&out, "  %c, %s %s\n", commands[i].letter, commands[i].word, commands[i].meaning);
    say(p, &out);
}

_Noreturn static void quit(struct eval *e, struct loc at)
{
    struct obj *status = obj_int(e, 1), *class = builtin_class(e, "SystemExit");
    struct obj *value = call_with(e, class, 1, &status, at);
    eval_throw(e, &(struct exception){.class = class, .value = value, .loc = at, .error = ERR_exception});
}

void debugger_prompt(struct program *p, struct eval *e, const struct stop *stop)
{
    struct scope *s = host_site_scope(e, stop->site, stop->call->values);
    char last = 0;
    p->debugger.stepping = false;
    show_stop(p, stop);
    for (;;) {
        const char *line = p->options.ask ? p->options.ask(p->options.user, "(neso) ") : NULL, *rest;
        if (!line)
            quit(e, stop->site->loc);
        line += strspn(line, " ");
        char command = *line ? command_of(line, &rest) : last;
        if (!*line)
            rest = "";
        last = command == 'p' ? 0 : command;
        switch (command) {
        case 's': p->debugger.stepping = true; return;
        case 'c': return;
        case 'q': quit(e, stop->site->loc);
        case 'w': show_where(p, e, stop); break;
        case 'h': show_help(p); break;
        default:
            if (*rest)
                show_expression(p, e, s, rest);
        }
    }
}
