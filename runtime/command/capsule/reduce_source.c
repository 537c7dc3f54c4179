/* SPDX-License-Identifier: MIT */
/* reduce_source.c: makes the source of a capsule shorter: deletes statements, unwraps blocks, replaces expressions by
 * their parts.
 *
 *     for k in range(3):             y = tl.load(X + i, mask=i < n)
 *         y += tl.exp(x) * k   =>    y = tl.load(X + i)
 *
 * This file recognizes only lines, blocks (by their indentation), brackets and operators, and does not parse Python.
 * The compilation of a changed source shows whether the change was valid. */
#include "runtime/command/capsule/reduce.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* -- edits -- */

/* Replaces `length` bytes at the offset `at` of a file by another text. If the launch then no longer fails in
 * the same way, undoes the change and returns false. */
static bool try_edit(struct reducer *r, size_t file, size_t at, size_t length, const char *with,
                     size_t with_bytes)
{
    neso_capsule_file *f = &r->files[file], was = *f;
    char *text = reducer_alloc(r, was.length - length + with_bytes + 1);
    memcpy(text, was.text, at);
    memcpy(text + at, with, with_bytes);
    memcpy(text + at + with_bytes, was.text + at + length, was.length - at - length);
    f->text = text;
    f->length = was.length - length + with_bytes;
    if (reducer_fails(r, &r->now))
        return true;
    *f = was;
    return false;
}

int source_lines(const neso_capsule *c)
{
    int n = 0;
    for (size_t i = 0; i < c->file_count; i++)
        for (size_t k = 0; k < c->files[i].length; k++)
            n += c->files[i].text[k] == '\n';
    return n;
}

/* -- lines -- */

/* Returns the end of the string literal or comment that begins at s; if none begins at s, returns s + 1. */
static const char *skip(const char *s)
{
    if (*s == '#')
        return s + strcspn(s, "\n");
    if (*s != '"' && *s != '\'')
        return s + 1;
    const char quote = *s;
    bool is_long = s[1] == quote && s[2] == quote;
    for (s += is_long ? 3 : 1; *s; s++) {
        if (*s == '\\' && s[1])
            s++;
        else if (*s == quote && (!is_long || (s[1] == quote && s[2] == quote)))
            return s + (is_long ? 3 : 1);
        else if (*s == '\n' && !is_long)
            return s;
    }
    return s;
}

/* Returns the start of the next logical line: a line break inside of brackets or after `\` does not end a
 * line. */
static const char *next_line(const char *s)
{
    for (int depth = 0; *s;) {
        if (*s == '\n' && depth <= 0)
            return s + 1;
        depth += strchr("([{", *s) ? 1 : strchr(")]}", *s) ? -1 : 0;
        s += *s == '\\' && s[1] == '\n' ? 2 : (size_t)(skip(s) - s);
    }
    return s;
}

static size_t indent_of(const char *line)
{
    return strspn(line, " \t");
}

static bool is_blank(const char *line)
{
    line += indent_of(line);
    return *line == '\n' || *line == '#' || !*line;
}

/* Returns the end of a statement, including its block; for a decorator, the end of the decorated definition. */
static const char *statement_end(const char *line)
{
    const char *end = next_line(line);
    size_t indent = indent_of(line);
    bool is_decorator = line[indent] == '@';
    while (*end && (is_blank(end) || indent_of(end) > indent || (is_decorator && indent_of(end) == indent))) {
        is_decorator =
            is_decorator && (is_blank(end) || end[indent_of(end)] == '@' || indent_of(end) > indent);
        end = next_line(end);
    }
    return end;
}

/* Deletes comments and empty lines. */
static bool drop_blank_lines(struct reducer *r, size_t file)
{
    bool any = false;
    for (size_t at = 0; at < r->files[file].length;) {
        const char *line = r->files[file].text + at, *end = next_line(line);
        if (is_blank(line) && try_edit(r, file, at, (size_t)(end - line), "", 0))
            any = true;
        else
            at += (size_t)(end - line);
    }
    return any;
}

/* -- statements -- */

/* Replaces a statement that has a block, such as `if` or `for`, by its block. */
static bool unwrap(struct reducer *r, size_t file, size_t at)
{
    const char *line = r->files[file].text + at, *body = next_line(line), *end = statement_end(line);
    size_t indent = indent_of(line);
    if (body >= end || line[indent] == '@' || strncmp(line + indent, "def ", 4) == 0)
        return false;
    size_t more = indent_of(body) > indent ? indent_of(body) - indent : 0, n = 0;
    char *text = reducer_alloc(r, (size_t)(end - body) + 1);
    for (const char *s = body, *next; s < end; s = next) {
        next = s + strcspn(s, "\n");
        next += *next == '\n';
        size_t cut = indent_of(s) >= indent + more ? more : 0;
        memcpy(text + n, s + cut, (size_t)(next - s) - cut);
        n += (size_t)(next - s) - cut;
    }
    return try_edit(r, file, at, (size_t)(end - line), text, n);
}

static bool reduce_statement(struct reducer *r, size_t file, size_t at)
{
    const char *line = r->files[file].text + at, *end = statement_end(line);
    size_t indent = indent_of(line);
    char pass[80];
    if (is_blank(line) || strncmp(line + indent, "pass\n", 5) == 0)
        return false;
    if (try_edit(r, file, at, (size_t)(end - line), "", 0) || unwrap(r, file, at))
        return true;
    if (line[indent] == '@' && try_edit(r, file, at, (size_t)(next_line(line) - line), "", 0))
        return true;
    if (indent == 0 || indent > 60)
        return false;
    int n = snprintf(pass, sizeof pass, "%.*spass\n", (int)indent, line);
    return end - line > n && try_edit(r, file, at, (size_t)(end - line), pass, (size_t)n);
}

/* Tries to delete or unwrap each statement, from the last to the first: the uses of a variable, which follow its
 * definition, must be deleted before the definition. */
static bool reduce_statements(struct reducer *r, size_t file)
{
    bool any = false;
    size_t *starts = reducer_alloc(r, (r->files[file].length + 1) * sizeof *starts), n = 0;
    for (const char *text = r->files[file].text, *s = text; *s; s = next_line(s))
        starts[n++] = (size_t)(s - text);
    while (n-- > 0)
        while (starts[n] < r->files[file].length && reduce_statement(r, file, starts[n]))
            any = true;
    return any;
}

/* -- expressions -- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static const char *closing(const char *open, const char *end)
{
    int depth = 0;
    for (const char *s = open; s < end; s = skip(s)) {
        depth += strchr("([{", *s) ? 1 : strchr(")]}", *s) ? -1 : 0;
        if (depth == 0)
            return s;
    }
    return NULL;
}

/* Returns the end of a name, number or bracket, including the calls and subscripts that follow it. */
static const char *primary_end(const char *s, const char *end)
{
    const char *at = s;
    while (at < end && strchr("-+~", *at))
        at++;
    while (at < end && (is_word(*at) || strchr("([", *at))) {
        const char *close = strchr("([", *at) ? closing(at, end) : at;
        if (!close)
            return s;
        at = close + 1;
    }
    return at;
}

/* Returns the start of the name, number or bracket that ends at `end`. */
static const char *primary_start(const char *from, const char *end)
{
    const char *s = end;
    while (s > from && (is_word(s[-1]) || strchr(")]", s[-1]))) {
        int depth = 0;
        bool is_bracket = !is_word(s[-1]);
        do {
            s--;
            depth += strchr(")]", *s) ? 1 : strchr("([", *s) ? -1 : 0;
        } while (is_bracket && depth > 0 && s > from);
        if (depth > 0)
            return end;
    }
    return s;
}

static size_t operator_bytes(const char *s)
{
    static const char *const operators[] = {
        " and ", " or ", "//", "**", "<<", ">>", "<=", ">=", "==", "!=", "+",
        "-",     "*",    "/",  "%",  "<",  ">",  "&",  "|",  "^",  "@"};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strncmp(s, operators[i], strlen(operators[i])) == 0)
            return strlen(operators[i]);
    return 0;
}

/* The line to edit: the file's index, and the line's offset in the file. */
struct place {
    size_t file, line;
};

static const char *text_of(const struct reducer *r, struct place p)
{
    return r->files[p.file].text;
}

static bool replace(struct reducer *r, struct place p, const char *from, const char *end, const char *with,
                    size_t n)
{
    return try_edit(r, p.file, (size_t)(from - text_of(r, p)), (size_t)(end - from), with, n);
}

/* Deletes one of the arguments in brackets, or replaces the whole call or bracket by one of the arguments. */
static bool reduce_brackets(struct reducer *r, struct place p, const char *line, const char *open,
                            const char *end)
{
    const char *close = closing(open, end), *callee = primary_start(line, open);
    if (!close)
        return false;
    for (const char *s = open + 1, *next; s < close; s = next) {
        const char *comma = s;
        while (comma < close && *comma != ',') {
            const char *inner = strchr("([{", *comma) ? closing(comma, close) : NULL;
            comma = inner ? inner + 1 : skip(comma);
        }
        next = comma < close ? comma + 1 + strspn(comma + 1, " ") : close;
        const char *from = s + strspn(s, " \n"), *equals = from;
        while (equals < comma && is_word(*equals))
            equals++;
        if (equals < comma && *equals == '=' && equals[1] != '=')
            from = equals + 1;
        if (*open == '(' && replace(r, p, callee, close + 1, from, (size_t)(comma - from)))
            return true;
        if (comma < close ? replace(r, p, s, next, "", 0)
                          : s > open + 1 && replace(r, p, s - 1, close, "", 0))
            return true;
    }
    return (*open == '[' && replace(r, p, open, close + 1, "", 0)) ||
           (close > callee + 1 && replace(r, p, callee, close + 1, "0", 1));
}

/* Replaces an operation by one of its operands. */
static bool reduce_operator(struct reducer *r, struct place p, const char *line, const char *at,
                            const char *end)
{
    size_t n = operator_bytes(at);
    const char *left_end = at, *right = at + n;
    while (left_end > line && left_end[-1] == ' ')
        left_end--;
    while (right < end && *right == ' ')
        right++;
    const char *left = primary_start(line, left_end), *right_end = primary_end(right, end);
    if (left == left_end || right == right_end)
        return false;
    return replace(r, p, left_end, right_end, "", 0) || replace(r, p, left, right, "", 0);
}

static bool reduce_number(struct reducer *r, struct place p, const char *at)
{
    char half[16];
    size_t digits = strspn(at, "0123456789");
    long n = strtol(at, NULL, 10);
    if (digits > 7 || n < 2 || is_word(at[digits]))
        return false;
    int length = snprintf(half, sizeof half, "%ld", n / 2);
    return replace(r, p, at, at + digits, "1", 1) || replace(r, p, at, at + digits, half, (size_t)length);
}

/* Replaces a variable by 0 or 1. */
static bool reduce_name(struct reducer *r, struct place p, const char *at, const char *end)
{
    static const char *const keywords[] = {"def",   "if",     "elif",   "else", "for", "in",
                                           "while", "return", "import", "from", "as",  "not",
                                           "and",   "or",     "pass",   "with", "is"};
    size_t n = 0;
    while (is_word(at[n]))
        n++;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strlen(keywords[i]) == n && memcmp(at, keywords[i], n) == 0)
            return false;
    const char *next = at + n + strspn(at + n, " ");
    bool is_target = next < end && *next == '=' && next[1] != '=';
    return !is_target && !strchr("([:", *next) &&
           (replace(r, p, at, at + n, "0", 1) || replace(r, p, at, at + n, "1", 1));
}

/* Makes one change in the line at p after which the launch still fails in the same way. Returns false if
 * there is no such change. */
static bool reduce_line(struct reducer *r, struct place p)
{
    const char *line = text_of(r, p) + p.line, *end = next_line(line);
    if (is_blank(line) || line[indent_of(line)] == '@' || strncmp(line + indent_of(line), "def ", 4) == 0)
        return false;
    if (end > line && end[-1] == '\n')
        end--;
    for (const char *s = line; s < end;
         s = is_word(*s) ? s + strspn(s, "0123456789") + !isdigit((unsigned char)*s) : skip(s)) {
        bool is_start = s == line || !is_word(s[-1]);
        if (strchr("([", *s) && reduce_brackets(r, p, line, s, end))
            return true;
        if (operator_bytes(s) && (s == line || !operator_bytes(s - 1)) && reduce_operator(r, p, line, s, end))
            return true;
        if (is_start && isdigit((unsigned char)*s) && reduce_number(r, p, s))
            return true;
        if (is_start && is_word(*s) && !isdigit((unsigned char)*s) && reduce_name(r, p, s, end))
            return true;
    }
    return false;
}

static bool reduce_expressions(struct reducer *r, size_t file)
{
    bool any = false;
    for (size_t at = 0; at < r->files[file].length;) {
        while (reduce_line(r, (struct place){file, at}))
            any = true;
        const char *line = r->files[file].text + at;
        at += (size_t)(next_line(line) - line);
    }
    return any;
}

/* Deletes commas and blanks that remain where arguments were deleted. */
static bool tidy(struct reducer *r, size_t file)
{
    static const char *const rows[][2] = {{", )", ")"}, {",)", ")"}, {"( ", "("}, {", ]", "]"}};
    bool any = false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t at = 0; at < r->files[file].length;) {
            const char *text = r->files[file].text, *found = strstr(text + at, rows[i][0]);
            if (!found)
                break;
            at = (size_t)(found - text);
            if (try_edit(r, file, at, strlen(rows[i][0]), rows[i][1], 1))
                any = true;
            else
                at++;
        }
    return any;
}

bool reduce_source(struct reducer *r)
{
    bool any = false;
    size_t n = strlen(r->files[0].name);
    if (n > 3 && strcmp(r->files[0].name + n - 3, ".ir") == 0)
        return reduce_statements(r, 0);
    for (size_t i = r->now.file_count; i-- > 1;) {
        const neso_capsule_file was = r->files[i];
        r->now.file_count--;
        memmove(r->files + i, r->files + i + 1, (r->now.file_count - i) * sizeof *r->files);
        if (reducer_fails(r, &r->now)) {
            any = true;
            continue;
        }
        memmove(r->files + i + 1, r->files + i, (r->now.file_count - i) * sizeof *r->files);
        r->files[i] = was;
        r->now.file_count++;
    }
    for (size_t i = 0; i < r->now.file_count; i++) {
        any |= drop_blank_lines(r, i);
        any |= reduce_statements(r, i);
        any |= reduce_expressions(r, i);
        any |= tidy(r, i);
    }
    return any;
}

/* -- the program -- */

bool reduce_to_program(struct reducer *r, const unsigned pid[3])
{
    const neso_capsule_file was = r->files[0];
    uint32_t grid[3];
    int64_t programs = r->now.programs;
    memcpy(grid, r->now.grid, sizeof grid);
    char *text = reducer_alloc(r, 2 * was.length + 64), *to = text;
    for (const char *s = was.text; *s;) {
        unsigned axis;
        int n = 0;
        if (sscanf(s, "tl.program_id(%u)%n", &axis, &n) != 1 || !n)
            n = 0;
        if (!n && (sscanf(s, "tl.program_id(axis=%u)%n", &axis, &n) != 1 || !n))
            n = 0;
        if (n && axis < 3 && to - text + 64 < (ptrdiff_t)(2 * was.length)) {
            to += sprintf(to, "%u", pid[axis]);
            s += n;
        } else {
            *to++ = *s++;
        }
    }
    r->files[0].text = text;
    r->files[0].length = (size_t)(to - text);
    r->now.grid[0] = r->now.grid[1] = r->now.grid[2] = 1;
    r->now.programs = 0;
    if (reducer_fails(r, &r->now))
        return true;
    r->files[0] = was;
    memcpy(r->now.grid, grid, sizeof grid);
    r->now.programs = programs;
    return false;
}

/* -- parameters -- */

/* Sets *from and *to to the start and end of entry number `index` in a list that is separated by commas. If
 * with_comma is true, the range includes one of the commas beside the entry. Returns false if there is no
 * such entry. */
static bool entry(const char *s, const char *end, int index, bool with_comma, const char **from,
                  const char **to)
{
    for (int i = 0; s < end; i++) {
        const char *comma = s;
        while (comma < end && *comma != ',') {
            const char *inner = strchr("([{", *comma) ? closing(comma, end) : NULL;
            comma = inner ? inner + 1 : skip(comma);
        }
        if (i == index) {
            *from = s - (with_comma && comma == end && i > 0);
            *to = comma + (with_comma && comma < end);
            *to += with_comma && i == 0 ? strspn(*to, " ") : 0;
            return true;
        }
        s = comma < end ? comma + 1 : end;
    }
    return false;
}

static size_t argument_named(const struct reducer *r, const char *name, size_t n)
{
    size_t i = 0;
    while (i < r->now.argument_count &&
           (strlen(r->args[i].name) != n || memcmp(r->args[i].name, name, n) != 0))
        i++;
    return i;
}

/* Sets *from and *to to the start and end of a parameter's entry in the signature. Finds the entry by the
 * name if entries have the form NAME=..., otherwise by the parameter's index. Returns false if there is no
 * such entry. */
static bool signature_entry(const char *s, const char *name, size_t n, int index, const char **from,
                            const char **to)
{
    const char *end = s + strlen(s), *a, *b;
    for (int i = 0; entry(s, end, i, false, &a, &b); i++) {
        a += strspn(a, " ");
        if (strncmp(a, name, n) == 0 && a[n] == '=')
            return entry(s, end, i, true, from, to);
    }
    return !strchr(s, '=') && entry(s, end, index, true, from, to);
}

static bool drop_parameter(struct reducer *r, size_t open, int index)
{
    const char *text = r->files[0].text, *close = closing(text + open, text + r->files[0].length);
    const char *from, *to, *name, *sig_from, *sig_to, *was = r->now.signature;
    if (!close || !entry(text + open + 1, close, index, false, &from, &to))
        return false;
    name = from + strspn(from, " \n");
    size_t n = 0;
    while (is_word(name[n]))
        n++;
    entry(text + open + 1, close, index, true, &from, &to);
    if (!n || !signature_entry(was, name, n, index, &sig_from, &sig_to))
        return false;
    size_t at = argument_named(r, name, n), left = r->now.argument_count;
    neso_capsule_argument dropped = {0};
    char *signature = reducer_alloc(r, strlen(was) + 1);
    snprintf(signature, strlen(was) + 1, "%.*s%s", (int)(sig_from - was), was, sig_to);
    r->now.signature = signature;
    if (at < left) {
        dropped = r->args[at];
        memmove(r->args + at, r->args + at + 1, (left - at - 1) * sizeof *r->args);
        r->now.argument_count--;
    }
    if (try_edit(r, 0, (size_t)(from - text), (size_t)(to - from), "", 0))
        return true;
    r->now.signature = was;
    if (at < left) {
        memmove(r->args + at + 1, r->args + at, (left - at - 1) * sizeof *r->args);
        r->args[at] = dropped;
        r->now.argument_count = left;
    }
    return false;
}

/* Removes a parameter from a function's definition and from all calls. Returns false, without a change, if the
 * function has no such parameter, or if the launch would then no longer fail in the same way. */
static bool drop_everywhere(struct reducer *r, size_t file, const char *name, int index)
{
    const neso_capsule_file *f = &r->files[file];
    const char *text = f->text, *from, *to;
    char *kept = reducer_alloc(r, f->length + 1), *is_dropped = reducer_alloc(r, f->length + 1);
    size_t bytes = strlen(name), n = 0;
    bool any = false;
    for (const char *s = text; (s = strstr(s, name)); s += bytes) {
        const char *open = s + bytes, *close = *open == '(' && (s == text || !is_word(s[-1]))
                                                   ? closing(open, text + f->length)
                                                   : NULL;
        if (!close || !entry(open + 1, close, index, true, &from, &to))
            continue;
        memset(is_dropped + (from - text), 1, (size_t)(to - from));
        any = true;
    }
    for (size_t i = 0; i < f->length; i++)
        if (!is_dropped[i])
            kept[n++] = text[i];
    return any && try_edit(r, file, 0, f->length, kept, n);
}

/* Removes parameters of the functions that the kernel calls. */
static bool reduce_helpers(struct reducer *r, size_t file)
{
    char names[32][100];
    int n = 0;
    bool any = false;
    for (const char *s = r->files[file].text; n < 32 && (s = strstr(s, "def ")); s += 4)
        n += sscanf(s, "def %99[A-Za-z0-9_](", names[n]) == 1 && strcmp(names[n], r->now.kernel) != 0;
    for (int i = 0; i < n; i++)
        for (int k = 40; k-- > 0;)
            any |= drop_everywhere(r, file, names[i], k);
    return any;
}

bool reduce_parameters(struct reducer *r)
{
    bool any = reduce_helpers(r, 0);
    char head[200];
    snprintf(head, sizeof head, "def %.150s(", r->now.kernel);
    const char *def = strstr(r->files[0].text, head);
    if (!def)
        return false;
    size_t open = (size_t)(def - r->files[0].text) + strlen(head) - 1;
    for (int i = 64; i-- > 0;)
        any |= drop_parameter(r, open, i);
    return any;
}
