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
 * Before each statement, the tracer inserts a site: a host_call op that passes the values of the variables to
 * the host (hostcall.c). specialize.c asks the debugger whether to stop at a site. evaluate.c evaluates
 * expressions. If the search for NaNs is on (`nan on`), the debugger also stops if an op makes a NaN of
 * values that are not NaNs (shadow_ops.c); it then shows the last site before this op. */
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

/* Returns whether the path `name` is FILE of --break FILE:LINE, or ends in "/FILE". */
static bool is_file(const struct debugger *d, const char *name)
{
    size_t n = strlen(name);
    if (n < d->file_bytes || memcmp(name + n - d->file_bytes, d->asked, d->file_bytes) != 0)
        return false;
    return n == d->file_bytes || name[n - d->file_bytes - 1] == '/';
}

/* Returns the call depth of a location in the kernel: the number of inlined calls around the location. */
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

/* -- frames: frame 0 is the function that contains the site, and frame `up` is the function that is `up`
 * calls further out -- */

static const struct host_site *frame_of(const struct stop *stop, int up)
{
    const struct host_site *site = stop->site;
    while (up-- > 0)
        site = site->caller;
    return site;
}

/* Returns the location at which a frame is stopped. This is the location of the site in frame 0, and the
 * location of the call that leads to the site in any other frame. */
static struct loc place_of(const struct program *p, const struct stop *stop, int up)
{
    struct loc at = stop->site->loc;
    while (up-- > 0)
        at = p->module->diag.calls.at[at.call].at;
    return at;
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

static void show_stop(struct program *p, const struct stop *stop, int up)
{
    struct text out;
    const int *pid = stop->call->pid;
    struct loc at = place_of(p, stop, up);
    text_init(&out, &p->module->arena);
    text_str(&out, "> ");
    show_place(p, at, frame_of(stop, up)->function, &out);
    text_printf(&out, ", program (%d, %d, %d)\n", pid[0], pid[1], pid[2]);
    show_line(p, at, &out);
    if (stop->call->nan_at)
        text_printf(&out, "  a NaN: %s\n", stop->call->nan_text);
    say(p, &out);
}

/* Shows the call stack, the innermost call first: the functions inlined into the kernel, the kernel, and the host
 * functions. */
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

/* -- list -- */

enum { LISTED = 11 };

/* Sets *first and *last to the first and the last line that `list` shows; `text` is the argument of `list`.
 * Returns false if `text` is malformed. `l` shows the lines around the location of the stop; a repeated `l`
 * shows the next lines. `l .` shows the lines around the location again. `l 40` shows the lines around line
 * 40. `l 40, 60` shows a range. `l 40, 5` shows 5 lines: the second number is less than the first, so it is
 * the length of the range. */
static bool choose_lines(const struct debugger *d, struct loc at, const char *text, uint32_t *first,
                         uint32_t *last)
{
    unsigned a = 0, b = 0;
    int used = 0, n = sscanf(text, "%u%n , %u%n", &a, &used, &b, &used);
    bool is_dot = strcmp(text, ".") == 0;
    if (*text && !is_dot && (n < 1 || text[used]))
        return false;
    uint32_t around = n >= 1 ? a : at.line;
    *first = around > LISTED / 2 ? around - LISTED / 2 : 1;
    if (!*text && d->listed)
        *first = d->listed + 1;
    *last = n < 1 && !is_dot ? *first + LISTED - 1 : around + LISTED / 2;
    if (n == 2)
        *first = a, *last = b < a ? a + b : b;
    return true;
}

/* Shows source lines. An arrow marks the line at which the kernel is stopped. */
static void show_source(struct program *p, struct loc at, const char *which)
{
    struct text out;
    uint32_t line = 1, first, last, shown = 0;
    text_init(&out, &p->module->arena);
    if (choose_lines(&p->debugger, at, which, &first, &last)) {
        for (const char *s = p->module->diag.sources.at[at.file]->text; *s; line++) {
            size_t n = strcspn(s, "\n");
            if (line >= first && line <= last)
                text_printf(&out, "%5u %s %.*s\n", line, line == at.line ? "->" : "  ", (int)n, s),
                    shown = line;
            s += n + (s[n] != '\0');
        }
        p->debugger.listed = shown ? shown : p->debugger.listed;
    }
    if (!shown)
        text_str(&out,
                 *which ? "  no such lines: l, l ., l LINE, l FIRST, LAST\n" : "  the end of the file\n");
    say(p, &out);
}

/* -- values -- */

/* Returns the number of the argument whose tensor probably contains address `at`: of the tensors that begin
 * at or before `at`, the one that begins last. Returns -1 if all tensors begin after `at`. */
static int argument_of(const struct launch *l, uint64_t at)
{
    int found = -1;
    for (int i = 0; i < l->nargs && l->tensors; i++)
        if (l->tensors[i].dtype && l->args[i] <= at && (found < 0 || l->args[i] > l->args[found]))
            found = i;
    return found;
}

/* Shows pointers as, for example, "x_ptr, float32[8], at offset [4 5]". Returns false, and shows nothing, if
 * x contains no pointers, or if no argument's tensor begins at or before the first pointer. */
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
    struct obj *all = obj_tile_new(e, lang_number(e, DT_i64, false), t->rank, t->shape, offsets);
    if (t->rank)
        obj_print(e, all, out, false);
    else
        text_printf(out, "%lld", (long long)offsets[0]);
    return true;
}

/* Shows a scalar as a number. (obj_print would show it as an array of one element.) */
static void show_scalar(struct eval *e, struct obj *x, struct text *out)
{
    struct text array;
    text_init(&array, e->arena);
    obj_print(e, x, &array, false); /* "[7]", "[2.]", "[1.e-06]" */
    const char *s = array.s + 1, *point = memchr(s, '.', array.len - 2);
    size_t n = array.len - 2, whole = point ? (size_t)(point - s) : n;
    bool is_bare = point && (point[1] == ']' || point[1] == 'e');
    text_bytes(out, s, whole);
    if (is_bare && point[1] == ']')
        text_str(out, ".0");
    text_bytes(out, s + whole + is_bare, n - whole - is_bare);
}

/* Shows a value: pointers and scalars as above, and other values as obj_print does. A plain tuple is shown
 * item by item, so that its items are shown in the same way. */
static void show_value(struct eval *e, const struct stop *stop, struct obj *x, struct text *out)
{
    const struct tile *t = obj_tile(x);
    bool is_plain = x->kind == OBJ_tuple && !x->class_of && !x->is_size;
    if (show_pointers(e, stop, x, out))
        return;
    if (t && t->rank == 0 && t->scalar->kind == LT_number) {
        show_scalar(e, x, out);
    } else if (is_plain) {
        text_char(out, '(');
        for (int i = 0; i < x->seq.n; i++) {
            text_str(out, i ? ", " : "");
            show_value(e, stop, x->seq.at[i], out);
        }
        text_str(out, x->seq.n == 1 ? ",)" : ")");
    } else {
        obj_print(e, x, out, x->kind == OBJ_str);
    }
}

static void show_expression(struct program *p, struct eval *e, const struct stop *stop, int up,
                            const char *text)
{
    struct text out, why;
    text_init(&out, e->arena);
    text_init(&why, e->arena);
    struct obj *x = debugger_evaluate(p, e, stop, up, text, NULL, &why);
    if (x) {
        show_value(e, stop, x, &out);
        text_char(&out, '\n');
    }
    say(p, x ? &out : &why);
}

/* Shows the variables of the frame, one per line. Shows only the beginning of a long value. */
static void show_variables(struct program *p, struct eval *e, const struct stop *stop, int up)
{
    enum { WIDTH = 70 };
    const struct host_site *site = frame_of(stop, up);
    struct scope *s = host_site_scope(e, stop->site, stop->call->values, up);
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

/* -- breakpoints set at the prompt -- */

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

/* Returns whether the kernel has a statement at the breakpoint's line. */
static bool has_statement(const struct stop *stop, const struct point *b)
{
    for (int i = 0; i < stop->spec->sites.n; i++)
        if (is_at(b, stop->spec->sites.at[i]))
            return true;
    return false;
}

/* Sets a breakpoint. `text` is a line number, optionally with a condition: "12", "12 if pid > 3", or "12, pid > 3". */
static void set_point(struct program *p, const struct stop *stop, const char *text, bool is_temporary)
{
    struct debugger *d = &p->debugger;
    struct point b = {.file = stop->site->loc.file, .is_temporary = is_temporary};
    struct text out;
    int used = 0, comma = 0;
    text_init(&out, &p->module->arena);
    bool good = sscanf(text, "%d %n", &b.line, &used) == 1 && b.line > 0 && d->npoints < POINTS_MOST;
    const char *rest = text + used;
    sscanf(rest, ", %n", &comma);
    int n = strncmp(rest, "if ", 3) == 0 ? 3 : comma;
    if (good && n)
        good = (size_t)snprintf(b.condition, sizeof b.condition, "%s", rest + n) < sizeof b.condition &&
               *b.condition;
    else
        good = good && !*rest;
    if (good) {
        b.number = ++d->nset;
        map_init(&b.traced, &p->module->arena);
        d->points[d->npoints++] = b;
        text_printf(&out, "  breakpoint %d at line %d%s\n", b.number, b.line,
                    has_statement(stop, &b) ? "" : ", where this kernel has no statement");
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

/* Returns whether a breakpoint's condition is true, or the breakpoint has none. If the condition cannot be
 * evaluated, or is a tile of several elements, reports this and returns true, so that the kernel stops. */
static bool is_met(struct program *p, struct eval *e, const struct stop *stop, struct point *b)
{
    struct text why;
    if (!*b->condition)
        return true;
    text_init(&why, e->arena);
    struct obj *x = debugger_evaluate(p, e, stop, 0, b->condition, &b->traced, &why);
    const struct tile *t = x ? obj_tile(x) : NULL;
    if (x && (!t || tile_elems(t) == 1))
        return obj_truth(e, x, stop->site->loc);
    text_printf(&why, "  breakpoint %d: ", b->number);
    if (x)
        text_printf(&why,
                    "the condition is a tile of %d elements, for example tl.max makes one value of it\n",
                    (int)tile_elems(t));
    else
        text_str(&why, "the condition cannot be evaluated\n");
    say(p, &why);
    return true;
}

/* Returns whether the kernel must stop at this site. Evaluates the conditions of the breakpoints at this
 * site, and deletes the temporary ones whose condition is true. */
static bool holds(struct program *p, struct eval *e, const struct stop *stop)
{
    struct debugger *d = &p->debugger;
    bool stops = stop->site->kind != SITE_statement || ends_step(p, stop->site, stop->call->pid) ||
                 is_at_break(p, stop->site, stop->call->pid);
    for (int i = d->npoints - 1; i >= 0; i--) {
        if (!is_at(&d->points[i], stop->site) || !is_met(p, e, stop, &d->points[i]))
            continue;
        if (d->points[i].is_temporary)
            drop_point(d, i);
        stops = true;
    }
    return stops;
}

/* Moves one frame up (by = 1) or down (by = -1), and shows this frame. */
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
        p->debugger.listed = 0;
        text_str(&out, "> ");
        show_place(p, place_of(p, stop, to), frame_of(stop, to)->function, &out);
        text_char(&out, '\n');
        show_line(p, place_of(p, stop, to), &out);
    }
    say(p, &out);
}

/* -- the prompt -- */

static const struct command {
    /* Users type the letter or the word of a command. A command with a capital letter has only a word: the
     * letter only identifies it in this file. */
    const char *letter, *word, *arguments, *meaning;
} commands[] = {
    {"p", "print", "EXPR", "show the value of an expression; pp EXPR and EXPR alone do the same"},
    {"V", "vars", "", "show all variables"},
    {"s", "step", "", "continue to the next statement, also inside calls"},
    {"n", "next", "", "continue to the next statement, but do not stop inside calls"},
    {"c", "continue", "", "continue to the next breakpoint"},
    {"b", "break", "LINE [if COND]",
     "stop at a line of this file, in any program; b alone lists breakpoints"},
    {"T", "tbreak", "LINE [if COND]", "like break, but stop only once"},
    {"D", "clear", "[NUMBER]", "delete a breakpoint, or all breakpoints"},
    {"N", "nan", "[on|off]", "stop at ops that make a NaN; nan alone shows whether this is on"},
    {"l", "list", "[LINE[, LAST]]",
     "show the source around this line, then the next lines; l . shows this line again"},
    {"w", "where", "", "show the call stack"},
    {"u", "up", "", "show the function that called this one: its line and variables"},
    {"d", "down", "", "go back to the function that this one called"},
    {"q", "quit", "", "end the program"},
    {"h", "help", "", "show this help; an empty line repeats the last command"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

/* Returns whether the text is a word that the command accepts as its argument. */
static bool is_word_of(const struct command *c, const char *text)
{
    bool is_switch = strcmp(text, "on") == 0 || strcmp(text, "off") == 0;
    return *c->letter == 'N' ? is_switch : *c->letter == 'l' && strcmp(text, ".") == 0;
}

/* Returns the letter of the command at the start of a line, and sets *rest to the text after the command.
 * Returns 0, and sets *rest to the line, if the line is an expression: if it does not begin with a command,
 * or if the text after the command cannot be the command's argument (`n * 2`). */
static char command_of(const char *line, const char **rest)
{
    size_t n = strcspn(line, " ");
    const char *behind = line + n + strspn(line + n, " ");
    for (int i = 0; i < COMMANDS; i++) {
        const struct command *c = &commands[i];
        bool is_word = (n == 1 && *line == *c->letter && *line >= 'a') ||
                       (strlen(c->word) == n && memcmp(line, c->word, n) == 0) ||
                       (n == 2 && *c->letter == 'p' && memcmp(line, "pp", 2) == 0);
        bool takes = *c->arguments == 'E' || (*behind >= '0' && *behind <= '9') || is_word_of(c, behind);
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

/* Switches the search for NaNs on or off, and prints the new state. The ops that have already stopped the
 * kernel can then stop it again. Without an argument (`word` is empty), only prints the state. */
static void switch_nan(struct program *p, const char *word)
{
    struct debugger *d = &p->debugger;
    struct text out;
    text_init(&out, &p->module->arena);
    if (*word)
        d->finds_nan = strcmp(word, "on") == 0;
    d->nans.n = *word ? 0 : d->nans.n;
    text_printf(&out, "  nan is %s\n",
                d->finds_nan ? "on: a value that becomes a NaN stops the kernel" : "off");
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

/* Executes a command, or shows the value of an expression, in the frame *up. */
static void execute(struct program *p, struct eval *e, const struct stop *stop, int *up, char command,
                    const char *rest)
{
    switch (command) {
    case 'V': show_variables(p, e, stop, *up); break;
    case 'b':
    case 'T':
        if (*rest)
            set_point(p, stop, rest, command == 'T');
        else
            show_points(p);
        break;
    case 'D': clear_points(p, rest); break;
    case 'N': switch_nan(p, rest); break;
    case 'l': show_source(p, place_of(p, stop, *up), rest); break;
    case 'u':
    case 'd': move(p, stop, up, command == 'u' ? 1 : -1); break;
    case 'w': show_where(p, e, stop); break;
    case 'h': show_help(p); break;
    default:
        if (*rest)
            show_expression(p, e, stop, *up, rest);
    }
}

/* Reads a command, and returns it without surrounding blanks. An empty line repeats the last command. At the
 * end of the input, ends the program. */
static const char *read_command(struct program *p, struct eval *e, const struct stop *stop)
{
    const char *line = p->options.ask ? p->options.ask(p->options.user, "(neso) ") : NULL;
    if (!line)
        quit(e, stop->site->loc);
    line += strspn(line, " ");
    size_t n = strlen(line);
    while (n && (line[n - 1] == ' ' || line[n - 1] == '\r'))
        n--;
    if (n)
        p->debugger.last = arena_strndup(e->arena, line, n);
    return p->debugger.last ? p->debugger.last : "";
}

static void prompt(struct program *p, struct eval *e, const struct stop *stop, int up)
{
    p->debugger.step = STEP_none;
    p->debugger.listed = 0;
    show_stop(p, stop, up);
    for (;;) {
        const char *rest, *line = read_command(p, e, stop);
        char command = command_of(line, &rest);
        if (command == 'q')
            quit(e, stop->site->loc);
        if (command == 's' || command == 'n' || command == 'c') {
            go_on(p, stop, command);
            return;
        }
        execute(p, e, stop, &up, command, rest);
    }
}

void debugger_prompt(struct program *p, struct eval *e, const struct stop *stop)
{
    if (holds(p, e, stop))
        prompt(p, e, stop, 0);
}

/* Opens the prompt in the frame of the statement whose op made the NaN. Usually, this is the frame of the
 * last site. If the function of the last site has already returned, it is the frame of a caller of this
 * function. */
void debugger_nan(struct program *p, struct eval *e, const struct stop *stop)
{
    struct debugger *d = &p->debugger;
    const struct op *o = stop->call->nan_at;
    int up = 0;
    for (int i = 0; i < d->nans.n; i++)
        if (d->nans.at[i] == o)
            return;
    VEC_PUSH(&p->module->arena, &d->nans, o);
    while (frame_of(stop, up)->caller && place_of(p, stop, up).call != o->loc.call)
        up++;
    prompt(p, e, stop, place_of(p, stop, up).call == o->loc.call ? up : 0);
}
