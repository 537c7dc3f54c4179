/* SPDX-License-Identifier: MIT */
/* lsp.c: implements `neso lsp`, a server for editors, which speaks the Language Server Protocol over standard input and
 * output. The server answers events and requests of the editor (left) with data (right):
 *
 *     a file is opened or changed            the messages of `neso check` for it, as diagnostics
 *     hover over a variable of a kernel      x: tile<256xf32,#l0>, and the definition of layout #l0
 *     hover over tl.load                     its entry of the language reference
 *     completion after tl.                   the names of the language
 *
 * The types of variables come from the IR of the file's kernels. A kernel is compiled with the signatures
 * with which the file launches it. If the file does not launch the kernel, the signature is guessed
 * (check.c). The kernels are compiled at the first hover after a change of the file. */
#include "runtime/command/inspect/inspect.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS_MOST = 16, BODY_MOST = 1 << 26 };

/* The IR of one kernel: as traced, and after the passes, with layouts (`laid_out`). Both texts are "" if the kernel
 * does not compile. */
struct shown {
    char *kernel, *signature;
    struct buffer laid_out, traced;
};

struct document {
    char *uri, *path, *text;
    bool is_compiled;
    struct shown kernels[KERNELS_MOST];
    int nkernels;
    struct document *next;
};

struct server {
    const struct given *given;
    struct document *documents;
    bool is_shut; /* the editor has sent the request "shutdown" */
};

static char *copy(const char *s)
{
    struct buffer b = {0};
    put_string(&b, s);
    return b.s;
}

/* -- messages -- */

/* Reads a message, and returns its body; NULL if the input has ended. The caller frees the body. */
static char *read_message(void)
{
    char line[256];
    size_t length = 0;
    while (fgets(line, sizeof line, stdin) && strcmp(line, "\r\n") != 0)
        if (strncmp(line, "Content-Length:", 15) == 0)
            length = (size_t)strtoul(line + 15, NULL, 10);
    if (length == 0 || length > BODY_MOST)
        return NULL;
    char *body = malloc(length + 1);
    if (!body)
        exit(complain("out of memory"));
    size_t n = fread(body, 1, length, stdin);
    body[n] = '\0';
    if (n == length)
        return body;
    free(body);
    return NULL;
}

static void send(struct buffer *body)
{
    printf("Content-Length: %zu\r\n\r\n%s", body->n, body->s);
    fflush(stdout);
    buffer_free(body);
}

static void put_id(struct buffer *out, const struct json *id)
{
    if (id && id->kind == JSON_string)
        put_json(out, id->string, strlen(id->string));
    else
        put_string(out, id && id->string ? id->string : "null");
}

/* Answers a request with a result, which is JSON. */
static void answer(const struct json *id, const char *result)
{
    struct buffer b = {0};
    put_string(&b, "{\"jsonrpc\": \"2.0\", \"id\": ");
    put_id(&b, id);
    put_format(&b, ", \"result\": %s}", result);
    send(&b);
}

static void refuse(const struct json *id, int code, const char *message)
{
    struct buffer b = {0};
    put_string(&b, "{\"jsonrpc\": \"2.0\", \"id\": ");
    put_id(&b, id);
    put_format(&b, ", \"error\": {\"code\": %d, \"message\": ", code);
    put_json(&b, message, strlen(message));
    put_string(&b, "}}");
    send(&b);
}

static const struct json *member(const struct json *j, const char *a, const char *b)
{
    const struct json *x = json_member(j, a);
    return b ? json_member(x, b) : x;
}

static const char *text_of(const struct json *j)
{
    return j && j->kind == JSON_string ? j->string : "";
}

static int number_of(const struct json *j)
{
    return j && j->kind == JSON_number ? atoi(j->string) : 0;
}

/* -- places: the protocol counts lines and UTF-16 code units from 0 -- */

/* Returns the start of line number `line`, counted from 0, or the end of the text if the text has fewer
 * lines. */
static const char *line_at(const char *text, int line)
{
    for (const char *end; line > 0 && *text; line--) {
        end = text + strcspn(text, "\n");
        text = *end ? end + 1 : end;
    }
    return text;
}

static int units_of(const char *line, size_t bytes)
{
    int n = 0;
    for (size_t i = 0; i < bytes && line[i] && line[i] != '\n'; i++)
        n += ((unsigned char)line[i] & 0xc0) != 0x80 ? ((unsigned char)line[i] >= 0xf0 ? 2 : 1) : 0;
    return n;
}

static size_t bytes_of(const char *line, int units)
{
    size_t i = 0;
    for (int n = 0; n < units && line[i] && line[i] != '\n';) {
        n += (unsigned char)line[i] >= 0xf0 ? 2 : 1;
        do
            i++;
        while (((unsigned char)line[i] & 0xc0) == 0x80);
    }
    return i;
}

/* Appends a source location of a neso message as a range of the protocol. In neso's messages, lines and
 * columns count from 1, and columns and lengths count bytes. */
static void put_range(struct buffer *out, const char *text, int line, int column, int length)
{
    line = line > 0 ? line - 1 : 0;
    const char *s = line_at(text, line);
    size_t from = column > 0 ? (size_t)column - 1 : 0;
    put_format(out,
               "{\"start\": {\"line\": %d, \"character\": %d}, \"end\": {\"line\": %d, \"character\": %d}}",
               line, units_of(s, from), line, units_of(s, from + (size_t)(length > 0 ? length : 1)));
}

/* -- documents -- */

static void forget_kernels(struct document *d)
{
    for (int i = 0; i < d->nkernels; i++) {
        free(d->kernels[i].kernel);
        free(d->kernels[i].signature);
        buffer_free(&d->kernels[i].laid_out);
        buffer_free(&d->kernels[i].traced);
    }
    d->nkernels = 0;
    d->is_compiled = false;
}

/* Returns the path of a URI: "/a b.py" for "file:///a%20b.py". The caller frees the path. */
static char *path_of(const char *uri)
{
    struct buffer b = {0};
    const char *s = strncmp(uri, "file://", 7) == 0 ? uri + 7 : uri;
    put_string(&b, "");
    for (; *s; s++) {
        char digits[3] = {s[0] == '%' ? s[1] : '\0', s[0] == '%' && s[1] ? s[2] : '\0'};
        bool is_code = isxdigit((unsigned char)digits[0]) && isxdigit((unsigned char)digits[1]);
        char c = is_code ? (char)strtol(digits, NULL, 16) : *s;
        put_bytes(&b, &c, 1);
        s += is_code ? 2 : 0;
    }
    return b.s;
}

static struct document *find_document(const struct server *s, const char *uri)
{
    for (struct document *d = s->documents; d; d = d->next)
        if (strcmp(d->uri, uri) == 0)
            return d;
    return NULL;
}

static void drop_document(struct server *s, const char *uri)
{
    for (struct document **at = &s->documents; *at; at = &(*at)->next) {
        struct document *d = *at;
        if (strcmp(d->uri, uri) != 0)
            continue;
        *at = d->next;
        forget_kernels(d);
        free(d->uri);
        free(d->path);
        free(d->text);
        free(d);
        return;
    }
}

static struct document *set_document(struct server *s, const char *uri, const char *text)
{
    struct document *d = find_document(s, uri);
    if (!d) {
        d = calloc(1, sizeof *d);
        if (!d)
            exit(complain("out of memory"));
        *d = (struct document){.uri = copy(uri), .path = path_of(uri), .next = s->documents};
        s->documents = d;
    }
    free(d->text);
    d->text = copy(text);
    forget_kernels(d);
    return d;
}

/* -- diagnostics -- */

static int severity_of(const char *word)
{
    return strcmp(word, "error") == 0     ? 1
           : strcmp(word, "warning") == 0 ? 2
           : strcmp(word, "note") == 0    ? 3
                                          : 4;
}

/* Appends the source location of a message as the member "range". If the location is in another file, appends the
 * range of this file's first character instead, and returns false. */
static bool put_place(struct buffer *out, const struct document *d, const struct json *x)
{
    bool is_here = strcmp(text_of(json_member(x, "file")), d->path) == 0;
    put_string(out, "\"range\": ");
    put_range(out, d->text, is_here ? number_of(json_member(x, "line")) : 1,
              is_here ? number_of(json_member(x, "column")) : 1,
              is_here ? number_of(json_member(x, "length")) : 1);
    return is_here;
}

/* Adds the notes of a message. A note with a source location becomes an element of `related`; the text of any other
 * note is appended to `words`, the text of the message. */
static void put_notes(struct buffer *related, struct buffer *words, const struct document *d,
                      const struct json *notes)
{
    for (const struct json *x = notes ? notes->first : NULL; x; x = x->next) {
        const char *message = text_of(json_member(x, "message"));
        if (strcmp(text_of(json_member(x, "file")), d->path) != 0) {
            put_format(words, "\n%s: %s", text_of(json_member(x, "severity")), message);
            continue;
        }
        put_string(related, related->n ? ", {\"location\": {\"uri\": " : "{\"location\": {\"uri\": ");
        put_json(related, d->uri, strlen(d->uri));
        put_string(related, ", ");
        put_place(related, d, x);
        put_string(related, "}, \"message\": ");
        put_json(related, message, strlen(message));
        put_string(related, "}");
    }
}

static void put_diagnostic(struct buffer *out, const struct document *d, const struct json *x)
{
    struct buffer words = {0}, related = {0};
    const char *tag = text_of(json_member(x, "tag"));
    put_string(out, "{");
    if (!put_place(out, d, x) && *text_of(json_member(x, "file")))
        put_format(&words, "%s:%d: ", text_of(json_member(x, "file")), number_of(json_member(x, "line")));
    put_string(&words, text_of(json_member(x, "message")));
    put_string(&related, "");
    put_notes(&related, &words, d, json_member(x, "notes"));
    put_format(out, ", \"severity\": %d, \"source\": \"neso\", \"code\": ",
               severity_of(text_of(json_member(x, "severity"))));
    put_json(out, tag, strlen(tag));
    put_string(out, ", \"message\": ");
    put_json(out, words.s, words.n);
    put_format(out, ", \"relatedInformation\": [%s]}", related.s);
    buffer_free(&words);
    buffer_free(&related);
}

static void publish(struct server *s, const struct document *d)
{
    struct buffer found = {0}, b = {0};
    check_json(s->given, d->path, d->text, strlen(d->text), &found);
    struct json *list = json_read(found.s);
    put_string(
        &b, "{\"jsonrpc\": \"2.0\", \"method\": \"textDocument/publishDiagnostics\", \"params\": {\"uri\": ");
    put_json(&b, d->uri, strlen(d->uri));
    put_string(&b, ", \"diagnostics\": [");
    for (const struct json *x = list ? list->first : NULL; x; x = x->next) {
        put_diagnostic(&b, d, x);
        put_string(&b, x->next ? ", " : "");
    }
    put_string(&b, "]}}");
    send(&b);
    json_free(list);
    buffer_free(&found);
}

/* -- the IR of the kernels -- */

static void keep_text(neso_module *module, const char *kernel, const neso_compile_options *options,
                      neso_text which, struct buffer *out)
{
    neso_compile_options o = *options;
    neso_kernel *made = NULL;
    const char *text;
    size_t length;
    o.size = sizeof o;
    o.until = which;
    put_string(out, "");
    if (neso_kernel_compile(module, kernel, &o, &made) != NESO_OK)
        return;
    if (neso_kernel_text(made, which, &text, &length) == NESO_OK)
        put_bytes(out, text, length);
    neso_kernel_release(made);
}

static void show_kernel(struct document *d, neso_module *module, const char *kernel,
                        const neso_compile_options *o)
{
    if (d->nkernels == KERNELS_MOST)
        return;
    struct shown *x = &d->kernels[d->nkernels++];
    *x = (struct shown){.kernel = copy(kernel), .signature = copy(o->signature)};
    keep_text(module, kernel, o, NESO_TEXT_OPT, &x->laid_out);
    keep_text(module, kernel, o, NESO_TEXT_IR, &x->traced);
}

static bool is_shown(const struct document *d, const char *kernel)
{
    for (int i = 0; i < d->nkernels; i++)
        if (strcmp(d->kernels[i].kernel, kernel) == 0)
            return true;
    return false;
}

static void show_kernels(struct document *d, neso_context *ctx, neso_module *module, const struct launches *l)
{
    const char *name;
    for (int i = 0; i < l->n; i++)
        if (l->at[i].signature) {
            neso_compile_options o = l->at[i].options;
            o.signature = l->at[i].signature;
            show_kernel(d, module, l->at[i].kernel, &o);
        }
    for (size_t i = 0; (name = neso_module_entry(module, i)) != NULL; i++) {
        struct buffer signature = {0};
        neso_compile_options o = {.size = sizeof o};
        if (!is_shown(d, name) && check_guess(ctx, module, name, &signature)) {
            o.signature = signature.s;
            show_kernel(d, module, name, &o);
        }
        buffer_free(&signature);
    }
}

/* Compiles the kernels of the file, once after each change. */
static void compile(const struct server *s, struct document *d)
{
    struct launches l;
    neso_context *ctx = NULL;
    neso_module *module = NULL;
    struct beside beside;
    if (d->is_compiled)
        return;
    d->is_compiled = true;
    launches_find(s->given, d->path, d->text, strlen(d->text), &ctx, &l);
    if (ctx)
        neso_context_release(ctx);
    ctx = NULL;
    if (neso_context_create(NULL, &ctx) == NESO_OK) {
        beside_open(&beside, d->path);
        neso_module_from_files(ctx, d->path, d->text, strlen(d->text), beside_find, &beside, &module);
        beside_close(&beside);
        if (module)
            show_kernels(d, ctx, module, &l);
        neso_module_release(module);
        neso_context_release(ctx);
    }
    launches_free(&l);
}

/* -- hover -- */

/* The name under the cursor, with the names before its dots: "tl.load". */
struct word {
    char dotted[128];
    const char *name;         /* after the last dot */
    int line, column, length; /* the place of `dotted`, counted from 1, and its length in bytes */
};

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool find_word(const struct document *d, const struct json *position, struct word *w)
{
    int line = number_of(json_member(position, "line"));
    const char *s = line_at(d->text, line);
    size_t at = bytes_of(s, number_of(json_member(position, "character"))), from = at, to = at;
    while (is_letter(s[to]))
        to++;
    while (from > 0 && (is_letter(s[from - 1]) || s[from - 1] == '.'))
        from--;
    if (to == from || to - from >= sizeof w->dotted)
        return false;
    snprintf(w->dotted, sizeof w->dotted, "%.*s", (int)(to - from), s + from);
    const char *dot = strrchr(w->dotted, '.');
    w->name = dot ? dot + 1 : w->dotted;
    w->line = line + 1;
    w->column = (int)from + 1;
    w->length = (int)(to - from);
    return true;
}

/* Returns whether the name (n bytes) denotes the module triton.language in the file: "tl", or NAME after `import
 * triton.language as NAME`. */
static bool is_language(const char *text, const char *name, size_t n)
{
    static const char import[] = "triton.language as ";
    if (n == 2 && strncmp(name, "tl", 2) == 0)
        return true;
    for (const char *s = text; (s = strstr(s, import)) != NULL; s++)
        if (strncmp(s + sizeof import - 1, name, n) == 0 && !is_letter(s[sizeof import - 1 + n]))
            return true;
    return false;
}

/* Translates the module name in a dotted name (its first n bytes, including the last dot) to the prefix that
 * the language tables use for this module. Example: if the file has `import triton.language as lang`, the
 * prefix for "lang." is "tl.". Returns false if the bytes do not name a module of the language. */
static bool find_prefix(const char *text, const char *dotted, size_t n, char prefix[64])
{
    static const char extra[] = "tl.extra.libdevice.";
    size_t first = strcspn(dotted, ".");
    if (first >= n)
        return false;
    if (strncmp(dotted, "libdevice.", n) == 0)
        snprintf(prefix, 64, "libdevice.");
    else if (is_language(text, dotted, first))
        snprintf(prefix, 64, "tl%.*s", (int)(n - first), dotted + first);
    else
        return false;
    if (strcmp(prefix, extra) == 0 || strcmp(prefix, "tl.extra.cuda.libdevice.") == 0)
        snprintf(prefix, 64, "libdevice.");
    return true;
}

static bool is_behind(const struct language_row *r, const char *prefix)
{
    if (!row_is_shown(r))
        return false;
    return strcmp(r->prefix, prefix) == 0 ||
           (strcmp(prefix, "tl.math.") == 0 && strcmp(r->where, "math") == 0);
}

/* Returns the row of language_rows for a dotted name; NULL if the name is not part of the language. */
static const struct language_row *find_row(const char *text, const char *dotted)
{
    const char *dot = strrchr(dotted, '.');
    char prefix[64];
    if (!dot || !find_prefix(text, dotted, (size_t)(dot + 1 - dotted), prefix))
        return NULL;
    for (const struct language_row *r = language_rows; r->heading || r->name; r++)
        if (is_behind(r, prefix) && strcmp(r->name, dot + 1) == 0)
            return r;
    return NULL;
}

/* Extracts the type and the source line from a line of IR: "... : TYPE @LINE:COLUMN+LENGTH". Returns false if the
 * line of IR lacks them, or if its source line is in another file. */
static bool read_type(const char *s, const char *end, const char **type, int *type_bytes, int *line)
{
    int column, used = 0;
    const char *at = end;
    while (at > s && strncmp(at, " @", 2) != 0)
        at--;
    if (at == s || sscanf(at, " @%d:%d%n", line, &column, &used) != 2 || at[used] == ':')
        return false;
    for (const char *colon = at; colon > s; colon--)
        if (strncmp(colon, " : ", 3) == 0) {
            *type = colon + 3;
            *type_bytes = (int)(at - *type);
            return true;
        }
    return false;
}

/* Sets *type to the type of a variable at a source line: the type of the last value that is assigned to the variable
 * at or above the line. Returns the end of the line of IR that defines this value; NULL if there is no such value. */
static const char *find_value(const char *ir, const char *name, int line, const char **type, int *type_bytes)
{
    const char *found = NULL;
    int best = 0;
    size_t n = strlen(name);
    for (const char *s = ir, *end; *s; s = *end ? end + 1 : end) {
        const char *t;
        int bytes, at;
        end = s + strcspn(s, "\n");
        const char *value = s + strspn(s, " ");
        bool is_value = *value == '%' && strncmp(value + 1, name, n) == 0;
        const char *after = value + 1 + n;
        if (is_value && *after == '.')
            after += 1 + strspn(after + 1, "0123456789");
        if (!is_value || strncmp(after, " = ", 3) != 0 || !read_type(s, end, &t, &bytes, &at))
            continue;
        if (at > line || at < best)
            continue;
        best = at;
        *type = t;
        *type_bytes = bytes;
        found = end;
    }
    return found;
}

/* Sets *type to the type of a parameter, which is in the first line of the kernel's IR: "%X: ptr<f32> {divisible=16}
 * @6:11+1". Returns false if there is no such parameter. */
static bool find_parameter(const char *ir, const char *name, const char **type, int *type_bytes)
{
    char word[160];
    snprintf(word, sizeof word, "%%%s: ", name);
    const char *end = ir + strcspn(ir, "\n"), *s = strstr(ir, word), *at = s ? strstr(s, " @") : NULL;
    if (!s || !at || at > end)
        return false;
    *type = s + strlen(word);
    *type_bytes = (int)(at - *type);
    return true;
}

/* Returns whether the kernel contains the source line. This is true if the last function definition at or above the
 * line defines the kernel. */
static bool is_inside(const char *text, const char *kernel, int line)
{
    char word[128], current[128] = "";
    int number = 1;
    for (const char *s = text; *s && number <= line; number++) {
        if (sscanf(s, "def %127[A-Za-z0-9_]", word) == 1)
            snprintf(current, sizeof current, "%s", word);
        s += strcspn(s, "\n");
        s += *s == '\n';
    }
    return strcmp(current, kernel) == 0;
}

/* Appends the definition of the layout that a type names. */
static void put_layout(struct buffer *out, const char *ir, const char *type, int bytes)
{
    char name[32], word[48];
    const char *hash = memchr(type, '#', (size_t)bytes);
    if (!hash || sscanf(hash, "#%31[a-z0-9]", name) != 1)
        return;
    snprintf(word, sizeof word, "  layout #%s = ", name);
    const char *s = strstr(ir, word);
    if (s)
        put_format(out, "%.*s\n", (int)strcspn(s + 2, "\n"), s + 2);
}

/* Returns the end of the list item at s: the next comma, the bracket that closes the list, or the end of the text. */
static const char *item_end(const char *s)
{
    int depth = 0;
    for (char quote = 0; *s && (quote || depth || (*s != ',' && *s != ')')); s++) {
        if (quote)
            quote = *s == quote ? 0 : quote;
        else if (*s == '\'' || *s == '"')
            quote = *s;
        else if (strchr("([{", *s))
            depth++;
        else if (strchr(")]}", *s))
            depth--;
    }
    return s;
}

/* Appends the value of a constant parameter: `BLOCK = 256`. Entries of the signature are in the order of the
 * parameters, or have the form NAME=VALUE. Returns false if the kernel has no such parameter. */
static bool put_constant(struct buffer *out, const struct document *d, const struct shown *x,
                         const char *name)
{
    char head[160];
    size_t n = strlen(name);
    snprintf(head, sizeof head, "def %s(", x->kernel);
    const char *param = strstr(d->text, head), *entry = x->signature;
    for (param = param ? param + strlen(head) : ""; *param && *param != ')' && *entry;) {
        param += strspn(param, ", \t\r\n");
        entry += strspn(entry, ", ");
        const char *end = item_end(entry);
        bool is_named = strncmp(entry, name, n) == 0 && entry[n] == '=';
        if (is_named || (strncmp(param, name, n) == 0 && !is_letter(param[n]))) {
            entry += is_named ? n + 1 : 0;
            put_format(out, "```\n%s = %.*s\n```\nin %s(%s)", name, (int)(end - entry), entry, x->kernel,
                       x->signature);
            return true;
        }
        param = item_end(param);
        entry = end;
    }
    return false;
}

/* Appends the type or the constant value of the variable w in a kernel. If is_certain is true, considers only
 * kernels that contain w's line; otherwise all kernels, since a kernel may call the function that contains
 * the line. Returns false if no kernel has such a variable. */
static bool put_value(struct buffer *out, const struct document *d, const struct word *w, bool is_certain)
{
    for (int i = 0; i < d->nkernels; i++) {
        const struct shown *x = &d->kernels[i];
        const char *texts[] = {x->laid_out.s, x->traced.s}, *type;
        int bytes;
        if (is_certain && !is_inside(d->text, x->kernel, w->line))
            continue;
        for (int k = 0; k < 2; k++)
            if (find_value(texts[k], w->name, w->line, &type, &bytes) ||
                (is_certain && find_parameter(texts[k], w->name, &type, &bytes))) {
                put_format(out, "```\n%s: %.*s\n", w->name, bytes, type);
                put_layout(out, texts[k], type, bytes);
                put_format(out, "```\nin %s(%s)", x->kernel, x->signature);
                return true;
            }
        if (is_certain && put_constant(out, d, x, w->name))
            return true;
    }
    return false;
}

static void hover(const struct server *s, const struct json *id, struct document *d,
                  const struct json *position)
{
    struct word w;
    struct buffer words = {0}, b = {0};
    const struct language_row *r = NULL;
    bool found = find_word(d, position, &w);
    if (found && (r = find_row(d->text, w.dotted)) != NULL) {
        put_format(&words, "```python\n%s%s(%s)\n```\n%s", r->prefix, r->name, r->parameters, r->meaning);
        if (*r->types)
            put_format(&words, "\n\nTypes: %s.", r->types);
        if (*r->example)
            put_format(&words, "\n```python\n%s\n```", r->example);
    } else if (found) {
        compile(s, d);
        found = strcmp(w.name, w.dotted) == 0 &&
                (put_value(&words, d, &w, true) || put_value(&words, d, &w, false));
    }
    if (!found) {
        answer(id, "null");
        return;
    }
    put_string(&b, "{\"contents\": {\"kind\": \"markdown\", \"value\": ");
    put_json(&b, words.s, words.n);
    put_string(&b, "}, \"range\": ");
    put_range(&b, d->text, w.line, w.column, w.length);
    put_string(&b, "}");
    answer(id, b.s);
    buffer_free(&words);
    buffer_free(&b);
}

/* -- completion -- */

/* Answers a request for completion with all names of the language module that stands before the cursor
 * ("tl."). */
static void complete(const struct json *id, const struct document *d, const struct json *position)
{
    const char *s = line_at(d->text, number_of(json_member(position, "line")));
    size_t at = bytes_of(s, number_of(json_member(position, "character"))), from;
    char prefix[64];
    struct buffer b = {0};
    while (at > 0 && is_letter(s[at - 1]))
        at--;
    for (from = at; from > 0 && (is_letter(s[from - 1]) || s[from - 1] == '.');)
        from--;
    bool is_any = find_prefix(d->text, s + from, at - from, prefix);
    put_string(&b, "[");
    for (const struct language_row *r = language_rows; is_any && (r->heading || r->name); r++) {
        if (!is_behind(r, prefix) || !row_is_supported(r))
            continue;
        put_format(&b, "%s{\"label\": \"%s\", \"kind\": 3, \"detail\": ", b.n > 1 ? ", " : "", r->name);
        struct buffer detail = {0};
        put_format(&detail, "%s%s(%s)", r->prefix, r->name, r->parameters);
        put_json(&b, detail.s, detail.n);
        buffer_free(&detail);
        put_string(&b, ", \"documentation\": ");
        put_json(&b, r->meaning, strlen(r->meaning));
        put_string(&b, "}");
    }
    put_string(&b, "]");
    answer(id, b.s);
    buffer_free(&b);
}

/* -- methods -- */

static const char capabilities[] =
    "{\"capabilities\": {\"positionEncoding\": \"utf-16\", \"textDocumentSync\": 1, \"hoverProvider\": true, "
    "\"completionProvider\": {\"triggerCharacters\": [\".\"]}}, \"serverInfo\": {\"name\": \"neso\"}}";

static const struct json *last_change(const struct json *params)
{
    const struct json *x = json_member(params, "contentChanges");
    x = x ? x->first : NULL;
    while (x && x->next)
        x = x->next;
    return json_member(x, "text");
}

static void notify(struct server *s, const char *method, const struct json *params)
{
    const char *uri = text_of(member(params, "textDocument", "uri"));
    if (strcmp(method, "textDocument/didOpen") == 0)
        publish(s, set_document(s, uri, text_of(member(params, "textDocument", "text"))));
    else if (strcmp(method, "textDocument/didChange") == 0 && last_change(params))
        publish(s, set_document(s, uri, text_of(last_change(params))));
    else if (strcmp(method, "textDocument/didClose") == 0)
        drop_document(s, uri);
}

static void request(struct server *s, const struct json *id, const char *method, const struct json *params)
{
    struct document *d = find_document(s, text_of(member(params, "textDocument", "uri")));
    const struct json *position = json_member(params, "position");
    bool is_hover = strcmp(method, "textDocument/hover") == 0;
    bool is_completion = strcmp(method, "textDocument/completion") == 0;
    if (strcmp(method, "initialize") == 0)
        answer(id, capabilities);
    else if (strcmp(method, "shutdown") == 0) {
        s->is_shut = true;
        answer(id, "null");
    } else if (!is_hover && !is_completion)
        refuse(id, -32601, "neso does not implement this method");
    else if (!d)
        refuse(id, -32602, "this file is not open");
    else if (is_hover)
        hover(s, id, d, position);
    else
        complete(id, d, position);
}

int lsp_command(const struct given *g)
{
    struct server s = {.given = g};
    bool is_over = false;
    for (char *body; !is_over && (body = read_message()) != NULL; free(body)) {
        struct json *message = json_read(body);
        const struct json *id = json_member(message, "id");
        const char *method = text_of(json_member(message, "method"));
        if (!message)
            refuse(NULL, -32700, "this is not JSON");
        else if (strcmp(method, "exit") == 0)
            is_over = true;
        else if (id)
            request(&s, id, method, json_member(message, "params"));
        else
            notify(&s, method, json_member(message, "params"));
        json_free(message);
    }
    while (s.documents)
        drop_document(&s, s.documents->uri);
    return s.is_shut ? GOOD : FAILED;
}
