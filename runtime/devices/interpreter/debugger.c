/* SPDX-License-Identifier: MIT */
/* debugger.c: debugs kernels on the interpreter: stops at breakpoint() and --break FILE:LINE[@pid], shows variables,
 * and continues.
 *
 *     > copy.py:12 in copy_k, program (3, 0, 0)
 *           x = tl.load(x_ptr + offs, mask)
 *     (neso) p offs[0]
 *     6
 *     (neso) b 14 if offs[0] > 100
 *       breakpoint 1 at line 14
 *
 * The tracer inserts a site, which records the variables, before each statement (hostcall.c); specialize.c asks the
 * debugger whether to stop at a site. The debugger evaluates expressions as host code, on copies of the values. */
#include "runtime/devices/interpreter/debugger.h"
#include "frontend/python/python.h"
#include "frontend/trace/tile.h"
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

/* The depth of a place in the kernel: the number of inlined calls that contain it. */
static int depth_of(const struct program *p, struct loc at)
{
    int n = 0;
    for (; at.call; at = p->module->diag.calls.at[at.call].at)
        n++;
    return n;
}

static bool ends_step(const struct program *p, const struct host_site *site, const int *pid)
{
    const struct debugger *d = &p->debugger;
    return d->step == STEP_into ||
           (d->step == STEP_over &&
            (depth_of(p, site->loc) <= d->depth || memcmp(pid, d->step_pid, sizeof d->step_pid) != 0));
}

static bool is_at(const struct point *b, const struct host_site *site)
{
    return b->line == (int)site->loc.line && b->file == site->loc.file;
}

static bool is_at_break(struct program *p, const struct host_site *site, const int *pid)
{
    struct debugger *d = &p->debugger;
    if (!d->asked || (int)site->loc.line != d->line ||
        !is_file(d, p->module->diag.sources.at[site->loc.file]->name))
        return false;
    if (d->has_pid && memcmp(pid, d->pid, sizeof d->pid) != 0)
        return false;
    memcpy(d->pid, pid, sizeof d->pid);
    d->has_pid = d->was_reached = true;
    return true;
}

bool debugger_stops(struct program *p, const struct host_site *site, const int *pid)
{
    const struct debugger *d = &p->debugger;
    if (ends_step(p, site, pid) || is_at_break(p, site, pid))
        return true;
    for (int i = 0; i < d->npoints; i++)
        if (is_at(&d->points[i], site))
            return true;
    return false;
}

/* -- what the debugger shows -- */

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

/* Shows the source lines around the one at which the kernel has stopped. */
static void show_source(struct program *p, struct loc at)
{
    enum { AROUND = 5 };
    struct text out;
    uint32_t line = 1;
    text_init(&out, &p->module->arena);
    for (const char *s = p->module->diag.sources.at[at.file]->text; *s; line++) {
        size_t n = strcspn(s, "\n");
        if (line + AROUND >= at.line && line <= at.line + AROUND)
            text_printf(&out, "%5u %s %.*s\n", line, line == at.line ? "->" : "  ", (int)n, s);
        s += n + (s[n] != '\0');
    }
    say(p, &out);
}

/* Evaluates an expression. If that fails, prints the reason and returns NULL. */
static struct obj *evaluate(struct program *p, struct eval *e, struct scope *s, const char *text)
{
    struct text out;
    struct handler h;
    handler_push(e, &h);
    if (setjmp(h.jump) == 0) {
        struct obj *x = eval_text(e, s, text, strlen(text), (struct loc){0});
        handler_pop(e, &h);
        return x;
    }
    e->diag->list.n = h.ndiagnostics;
    e->diag->nerrors = h.nerrors;
    text_init(&out, e->arena);
    text_printf(&out, "%s: %s\n", h.raised.class ? h.raised.class->class.name : "error",
                h.raised.class ? exception_message(e, &h.raised) : "it cannot be evaluated");
    say(p, &out);
    return NULL;
}

/* Of the arguments whose tensors begin at or before an address, the one whose tensor begins last; -1: none does. */
static int argument_of(const struct launch *l, uint64_t at)
{
    int found = -1;
    for (int i = 0; i < l->nargs && l->tensors; i++)
        if (l->tensors[i].dtype && l->args[i] <= at && (found < 0 || l->args[i] > l->args[found]))
            found = i;
    return found;
}

/* Shows pointers as "x_ptr, float32[8], at offset [4 5]". Returns false if x contains no pointers, or if
 * no argument's tensor begins at or before the first of them. */
static bool show_pointers(struct eval *e, const struct stop *stop, const struct obj *x, struct text *out)
{
    const struct tile *t = obj_tile(x);
    int n = t ? (int)tile_elems(t) : 0,
        i = n && t->scalar->kind == LT_ptr ? argument_of(stop->launch, tile_bits(t, 0)) : -1;
    if (i < 0)
        return false;
    const struct launch_tensor *tensor = &stop->launch->tensors[i];
    int64_t *offsets = NEW_ARRAY(e->arena, n, int64_t);
    for (int k = 0; k < n; k++)
        offsets[k] = (int64_t)(tile_bits(t, k) - stop->launch->args[i]) / (int64_t)tensor->elem_bytes;
    text_printf(out, "%s, %s[", stop->func->params.at[i].name, tensor->dtype);
    for (int d = 0; d < tensor->rank; d++)
        text_printf(out, "%s%lld", d ? ", " : "", (long long)tensor->shape[d]);
    text_str(out, "], at offset ");
    obj_print(e, obj_tile_new(e, lang_number(e, DT_i64, false), t->rank, t->shape, offsets), out, false);
    return true;
}

static void show_value(struct eval *e, const struct stop *stop, struct obj *x, struct text *out)
{
    if (!show_pointers(e, stop, x, out))
        obj_print(e, x, out, false);
}

static void show_expression(struct program *p, struct eval *e, struct scope *s, const struct stop *stop,
                            const char *text)
{
    struct text out;
    struct obj *x = evaluate(p, e, s, text);
    text_init(&out, e->arena);
    if (!x)
        return;
    show_value(e, stop, x, &out);
    text_char(&out, '\n');
    say(p, &out);
}

/* Shows the kernel's variables, one per line. Of a long value, shows only the beginning. */
static void show_variables(struct program *p, struct eval *e, struct scope *s, const struct host_site *site,
                           const struct stop *stop)
{
    enum { WIDTH = 70 };
    struct text out;
    text_init(&out, e->arena);
    for (int i = 0; i < site->nnames; i++) {
        struct text value;
        struct obj *x = scope_get(s, site->names[i]);
        text_init(&value, e->arena);
        if (!x || x->kind == OBJ_module || x->kind == OBJ_function || x->kind == OBJ_builtin)
            continue;
        show_value(e, stop, x, &value);
        size_t n = strcspn(value.s ? value.s : "", "\n"), shown = n < WIDTH ? n : WIDTH;
        text_printf(&out, "  %s = %.*s%s\n", site->names[i], (int)shown, value.s ? value.s : "",
                    value.len > shown ? " ..." : "");
    }
    say(p, &out);
}

/* -- breakpoints of the prompt -- */

static void show_points(struct program *p)
{
    const struct debugger *d = &p->debugger;
    struct text out;
    text_init(&out, &p->module->arena);
    text_str(&out, d->npoints ? "" : "  no breakpoints: b LINE sets one\n");
    for (int i = 0; i < d->npoints; i++)
        text_printf(&out, "  %d: %s:%d%s%s%s\n", d->points[i].number,
                    p->module->diag.sources.at[d->points[i].file]->name, d->points[i].line,
                    d->points[i].is_temporary ? ", once" : "", *d->points[i].condition ? " if " : "",
                    d->points[i].condition);
    say(p, &out);
}

/* Sets a breakpoint. `text` is a line, perhaps with a condition: "12", or "12 if pid > 3". */
static void set_point(struct program *p, const struct stop *stop, const char *text, bool is_temporary)
{
    struct debugger *d = &p->debugger;
    struct point b = {.file = stop->site->loc.file, .is_temporary = is_temporary};
    struct text out;
    int used = 0;
    text_init(&out, &p->module->arena);
    bool good = sscanf(text, "%d %n", &b.line, &used) == 1 && b.line > 0 && d->npoints < POINTS_MOST;
    const char *rest = text + used;
    if (good && strncmp(rest, "if ", 3) == 0)
        snprintf(b.condition, sizeof b.condition, "%s", rest + 3);
    else
        good = good && !*rest;
    if (good) {
        b.number = ++d->nset;
        d->points[d->npoints++] = b;
        text_printf(&out, "  breakpoint %d at line %d\n", b.number, b.line);
    } else {
        text_str(&out, d->npoints < POINTS_MOST ? "  b LINE, or b LINE if CONDITION\n"
                                                : "  there are too many breakpoints\n");
    }
    say(p, &out);
}

static void drop_point(struct debugger *d, int i)
{
    d->npoints--;
    memmove(&d->points[i], &d->points[i + 1], (size_t)(d->npoints - i) * sizeof *d->points);
}

/* Deletes the breakpoint whose number is in `text`, or all breakpoints if `text` is empty. */
static void clear_points(struct program *p, const char *text)
{
    struct debugger *d = &p->debugger;
    int number = 0;
    bool all = !*text;
    sscanf(text, "%d", &number);
    for (int i = d->npoints - 1; i >= 0; i--)
        if (all || d->points[i].number == number)
            drop_point(d, i);
    show_points(p);
}

/* Does the kernel stop at this site, if the conditions of breakpoints are taken into account? Deletes temporary
 * breakpoints whose condition is true. */
static bool holds(struct program *p, struct eval *e, struct scope *s, const struct stop *stop)
{
    struct debugger *d = &p->debugger;
    bool stops = stop->site->kind != SITE_statement || ends_step(p, stop->site, stop->call->pid) ||
                 is_at_break(p, stop->site, stop->call->pid);
    for (int i = d->npoints - 1; i >= 0; i--) {
        if (!is_at(&d->points[i], stop->site))
            continue;
        struct obj *x = *d->points[i].condition ? evaluate(p, e, s, d->points[i].condition) : obj_true;
        bool is_met =
            !x || obj_truth(e, x, stop->site->loc); /* if a condition cannot be evaluated, the kernel stops */
        if (is_met && d->points[i].is_temporary)
            drop_point(d, i);
        stops |= is_met;
    }
    return stops;
}

/* -- frames: the function that is shown, `up` calls above the site -- */

static const struct host_site *frame_of(const struct stop *stop, int up)
{
    const struct host_site *site = stop->site;
    while (up-- > 0)
        site = site->caller;
    return site;
}

/* Returns where the frame stands: at the site, or at the call of the frame below. */
static struct loc place_of(const struct program *p, const struct stop *stop, int up)
{
    struct loc at = stop->site->loc;
    while (up-- > 0)
        at = p->module->diag.calls.at[at.call].at;
    return at;
}

/* Goes one frame up (1) or down (-1), and shows it. */
static void move(struct program *p, const struct stop *stop, int *up, int by)
{
    struct text out;
    int to = *up + by;
    text_init(&out, &p->module->arena);
    bool is_last = by > 0 && (!frame_of(stop, *up)->caller || !place_of(p, stop, *up).call);
    if (to < 0 || is_last) {
        text_str(&out, by > 0 ? "  the kernel is the outermost\n" : "  no further call leads to this line\n");
    } else {
        *up = to;
        text_str(&out, "> ");
        show_place(p, place_of(p, stop, to), frame_of(stop, to)->function, &out);
        text_char(&out, '\n');
        show_line(p, place_of(p, stop, to), &out);
    }
    say(p, &out);
}

/* -- the prompt -- */

static const struct command {
    const char *letter, *word, *arguments, *meaning; /* a capital letter is not a command */
} commands[] = {
    {"p", "print", "EXPR", "show an expression of the kernel's variables; EXPR alone does it too"},
    {"V", "vars", "", "show all variables"},
    {"s", "step", "", "go on to the next statement, into calls"},
    {"n", "next", "", "go on to the next statement, over calls"},
    {"c", "continue", "", "go on to the next breakpoint"},
    {"b", "break", "LINE [if COND]",
     "stop at a line of this file, in any program; b alone lists breakpoints"},
    {"T", "tbreak", "LINE [if COND]", "the same, once"},
    {"D", "clear", "[NUMBER]", "forget a breakpoint, or all"},
    {"l", "list", "", "the source around this line"},
    {"w", "where", "", "the calls that lead here"},
    {"u", "up", "", "show the function that called this one: its line and variables"},
    {"d", "down", "", "back to the function that it called"},
    {"q", "quit", "", "end the program"},
    {"h", "help", "", "this; an empty line repeats the last command"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

/* Returns the letter of the command at the start of a line, and sets *rest to the text after the command. Returns 0 if
 * the line is an expression: no command, or a command followed by text that cannot be its argument (`n * 2`). */
static char command_of(const char *line, const char **rest)
{
    size_t n = strcspn(line, " ");
    const char *behind = line + n + strspn(line + n, " ");
    for (int i = 0; i < COMMANDS; i++) {
        const struct command *c = &commands[i];
        bool is_word = (n == 1 && *line == *c->letter && *line >= 'a') ||
                       (strlen(c->word) == n && memcmp(line, c->word, n) == 0) ||
                       (n == 2 && *c->letter == 'p' && memcmp(line, "pp", 2) == 0);
        bool takes = *c->arguments == 'E' || (*behind >= '0' && *behind <= '9');
        if (is_word && (!*behind || (*c->arguments && takes))) {
            *rest = behind;
            return *c->letter;
        }
    }
    *rest = line;
    return 0;
}

static void show_help(struct program *p)
{
    struct text out;
    text_init(&out, &p->module->arena);
    for (int i = 0; i < COMMANDS; i++)
        text_printf(&out, "  %s%s%-9s%-15s %s\n", *commands[i].letter >= 'a' ? commands[i].letter : " ",
                    *commands[i].letter >= 'a' ? ", " : "  ", commands[i].word, commands[i].arguments,
                    commands[i].meaning);
    say(p, &out);
}

_Noreturn static void quit(struct eval *e, struct loc at)
{
    struct obj *status = obj_int(e, 1), *class = builtin_class(e, "SystemExit");
    struct obj *value = call_with(e, class, 1, &status, at);
    eval_throw(e, &(struct exception){.class = class, .value = value, .loc = at, .error = ERR_exception});
}

static void go_on(struct program *p, const struct stop *stop, char command)
{
    struct debugger *d = &p->debugger;
    d->step = command == 's' ? STEP_into : command == 'n' ? STEP_over : STEP_none;
    d->depth = depth_of(p, stop->site->loc);
    memcpy(d->step_pid, stop->call->pid, sizeof d->step_pid);
}

void debugger_prompt(struct program *p, struct eval *e, const struct stop *stop)
{
    struct scope *s = host_site_scope(e, stop->site, stop->call->values, 0);
    int up = 0;
    struct debugger *d = &p->debugger;
    if (!holds(p, e, s, stop))
        return;
    d->step = STEP_none;
    show_stop(p, stop);
    for (;;) {
        const char *line = p->options.ask ? p->options.ask(p->options.user, "(neso) ") : NULL, *rest;
        if (!line)
            quit(e, stop->site->loc);
        line += strspn(line, " ");
        char command = *line ? command_of(line, &rest) : d->last;
        if (!*line)
            rest = "";
        d->last = command == 'p' || command == 'b' || command == 'T' ? 0 : command;
        switch (command) {
        case 's':
        case 'n':
        case 'c': go_on(p, stop, command); return;
        case 'q': quit(e, stop->site->loc);
        case 'V': show_variables(p, e, s, frame_of(stop, up), stop); break;
        case 'b':
        case 'T':
            if (*rest)
                set_point(p, stop, rest, command == 'T');
            else
                show_points(p);
            break;
        case 'D': clear_points(p, rest); break;
        case 'l': show_source(p, place_of(p, stop, up)); break;
        case 'u':
        case 'd':
            move(p, stop, &up, command == 'u' ? 1 : -1);
            s = host_site_scope(e, stop->site, stop->call->values, up);
            break;
        case 'w': show_where(p, e, stop); break;
        case 'h': show_help(p); break;
        default:
            if (*rest)
                show_expression(p, e, s, stop, rest);
        }
    }
}
