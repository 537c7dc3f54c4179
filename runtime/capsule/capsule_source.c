/* SPDX-License-Identifier: MIT */
/* capsule_source.c: extracts the source of one kernel from its program. From each file, it copies the
 * top-level statements that bind a name that the kernel needs, directly or through other copied statements.
 * Here, the program is on the left, and the extracted source on the right:
 *
 *     import torch                           import triton
 *     import triton                    =>    BLOCK = tl.constexpr(256)
 *     BLOCK = tl.constexpr(256)              @triton.jit
 *     @triton.autotune(...)                  def scale(X, n): ...
 *     @triton.jit
 *     def scale(X, n): ...
 *     scale[(4,)](x, 1000)
 *
 * Scopes are ignored: in every file, each statement that binds a needed name is kept. To verify the extracted
 * source, capsule_source.c compiles it. The capsule contains the traced IR instead of the source in two
 * cases: if the traced IR of the extracted source differs from the kernel's traced IR, for example because
 * the kernel reads a global variable that the Python program computes; or if no signature can describe the
 * arguments. */
#include "runtime/capsule/capsule.h"

#include "frontend/python/ast.h"

#include <string.h>

/* Statements of a file that begin on the same line. */
struct group {
    struct ast **at;
    int n;
    bool is_kept;
};

struct part {
    const struct source *src;
    struct ast *tree;
    struct group *groups;
    int ngroups;
};

struct cutting {
    struct neso_kernel *kernel;
    struct arena *arena;
    struct interner strings;
    struct diag diag;
    jmp_buf unwind;
    struct map wanted; /* the wanted names, interned */
    VEC(struct part) parts;
};

/* -- names -- */

static void want(struct cutting *c, const char *name)
{
    *map_at_ptr(&c->wanted, name) = c;
}

/* Adds each part of a dotted name to the wanted names. */
static void want_dotted(struct cutting *c, const char *name)
{
    for (size_t n; *name; name += n + (name[n] == '.')) {
        n = strcspn(name, ".");
        want(c, intern(&c->strings, name, n));
    }
}

/* Calls `each` for the names that the statement or expression n binds in the scope that contains n.
 * `is_target` is true if n is the target of an assignment. */
static void each_bound(const struct ast *n, bool is_target, void (*each)(void *user, const char *name),
                       void *user)
{
    struct ast_cursor at = {0};
    if (n->kind == AST_def || n->kind == AST_class) {
        each(user, n->kind == AST_def ? n->def.name : n->klass.name);
        return;
    }
    if (n->kind == AST_name && is_target)
        each(user, n->name.id);
    if (n->kind == AST_alias)
        each(user, n->alias.as ? n->alias.as : n->alias.name);
    if (n->kind == AST_attribute || n->kind == AST_subscript || n->kind == AST_lambda)
        return;
    for (const struct ast *x; (x = ast_child(n, &at));) {
        bool binds = is_target && (n->kind == AST_tuple || n->kind == AST_list || n->kind == AST_starred);
        if (n->kind == AST_assign)
            for (int i = 0; i < n->assign.targets.n; i++)
                binds |= n->assign.targets.at[i] == x;
        binds |= (n->kind == AST_augmented && x == n->augmented.target) ||
                 (n->kind == AST_annotated && x == n->annotated.target) ||
                 (n->kind == AST_for && x == n->for_.target) ||
                 (n->kind == AST_with_item && x == n->with_item.target) ||
                 (n->kind == AST_walrus && x == n->walrus.target);
        each_bound(x, binds, each, user);
    }
}

static void note_local(void *locals, const char *name)
{
    *map_at_ptr(locals, name) = locals;
}

/* Adds the names that occur in a tree to the wanted names, except the names in `locals`, and except the
 * parameters and local variables of functions that the tree defines. `locals` has the parameters and local
 * variables of the outermost function that contains the tree; NULL: no function contains it. */
static void want_names(struct cutting *c, const struct ast *n, const struct map *locals)
{
    struct ast_cursor at = {0};
    struct map own;
    if (n->kind == AST_name && !(locals && map_get_ptr(locals, n->name.id)))
        want(c, n->name.id);
    if (n->kind == AST_attribute)
        want(c, n->attribute.name);
    if (n->kind == AST_alias)
        want_dotted(c, n->alias.name);
    if (n->kind == AST_def && !locals) {
        map_init(&own, c->arena);
        for (int i = 0; i < n->def.params.n; i++)
            note_local(&own, n->def.params.at[i]->param.name);
        for (int i = 0; i < n->def.body.n; i++)
            each_bound(n->def.body.at[i], false, note_local, &own);
    }
    for (const struct ast *x; (x = ast_child(n, &at));) {
        bool is_body = false;
        for (int i = 0; n->kind == AST_def && !locals && i < n->def.body.n; i++)
            is_body |= n->def.body.at[i] == x;
        want_names(c, x, is_body ? &own : locals);
    }
}

/* -- choosing the statements to keep -- */

struct asking {
    const struct cutting *cutting;
    bool found;
};

static void ask(void *user, const char *name)
{
    struct asking *a = user;
    const char *dot = name ? strchr(name, '.') : NULL;
    const struct map *wanted = &a->cutting->wanted;
    if (dot) { /* `import a.b` binds `a` */
        for (int i = 0; i < wanted->n; i++)
            a->found |= strncmp(wanted->entries[i].key, name, (size_t)(dot - name)) == 0 &&
                        !((const char *)wanted->entries[i].key)[dot - name];
        return;
    }
    a->found |= name && (strcmp(name, "*") == 0 || map_get_ptr(wanted, name));
}

/* Keeps one more group that binds a wanted name, and adds the names that occur in this group to the wanted
 * names. Returns false if every group that binds a wanted name is kept already. */
static bool keep_one(struct cutting *c)
{
    for (int p = 0; p < c->parts.n; p++)
        for (int i = 0; i < c->parts.at[p].ngroups; i++) {
            struct group *g = &c->parts.at[p].groups[i];
            struct asking a = {c, false};
            for (int k = 0; k < g->n && !g->is_kept; k++)
                each_bound(g->at[k], false, ask, &a);
            if (!a.found)
                continue;
            g->is_kept = true;
            for (int k = 0; k < g->n; k++)
                want_names(c, g->at[k], NULL);
            return true;
        }
    return false;
}

/* -- text -- */

static uint32_t first_line(const struct ast *n)
{
    const struct ast_list *d = n->kind == AST_def     ? &n->def.decorators
                               : n->kind == AST_class ? &n->klass.decorators
                                                      : NULL;
    return d && d->n ? d->at[0]->loc.line : n->loc.line;
}

static const char *line_at(const struct source *src, uint32_t line)
{
    const char *s = src->text;
    for (; line > 1 && s; line--) {
        s = strchr(s, '\n');
        s = s ? s + 1 : NULL;
    }
    return s ? s : src->text + src->len;
}

/* Returns whether the decorator is @triton.autotune or @triton.heuristics. Such decorators are removed, because the
 * signature already contains the values that they choose. */
static bool is_tuning(const struct ast *n)
{
    n = n->kind == AST_call ? n->call.func : n;
    const char *name = n->kind == AST_attribute ? n->attribute.name : n->kind == AST_name ? n->name.id : "";
    return strcmp(name, "autotune") == 0 || strcmp(name, "heuristics") == 0;
}

static void put_group(const struct part *p, int i, struct text *out)
{
    const struct group *g = &p->groups[i];
    const struct ast *n = g->at[0];
    const char *end =
        i + 1 < p->ngroups ? line_at(p->src, first_line(p->groups[i + 1].at[0])) : p->src->text + p->src->len;
    if (n->kind != AST_def || g->n > 1) {
        const char *s = line_at(p->src, first_line(n));
        while (end > s && (end[-1] == '\n' || end[-1] == ' '))
            end--;
        text_bytes(out, s, (size_t)(end - s));
        text_char(out, '\n');
        return;
    }
    text_char(out, '\n');
    for (int d = 0; d < n->def.decorators.n; d++) {
        const struct ast *x = n->def.decorators.at[d];
        const char *s = line_at(p->src, x->loc.line);
        uint32_t next = d + 1 < n->def.decorators.n ? n->def.decorators.at[d + 1]->loc.line : n->loc.line;
        if (!is_tuning(x))
            text_bytes(out, s, (size_t)(line_at(p->src, next) - s));
    }
    text_bytes(out, p->src->text + n->def.text.start, n->def.text.end - n->def.text.start);
    text_char(out, '\n');
}

/* -- files -- */

static bool is_file(const struct source *s)
{
    size_t n = strlen(s->name);
    return !s->is_own && n > 3 && strcmp(s->name + n - 3, ".py") == 0;
}

/* Returns the module name of a file: "pkg.helpers" for pkg/helpers.py. */
static const char *module_name(struct arena *a, const char *file)
{
    char *s = arena_strndup(a, file, strlen(file) - 3);
    for (char *c = s; *c; c++)
        *c = *c == '/' ? '.' : *c;
    return s;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void add_part(struct cutting *c, const struct source *src)
{
    struct part p = {.src = src, .tree = parse_module(c->arena, &c->strings, &c->diag, src)};
    const struct ast_list *body = &p.tree->module.body;
    p.groups = NEW_ARRAY(c->arena, body->n, struct group);
    for (int i = 0; i < body->n; i++) {
        bool is_new = i == 0 || first_line(body->at[i]) != first_line(body->at[i - 1]);
        if (is_new)
            p.groups[p.ngroups++] = (struct group){&body->at[i], 0, false};
        p.groups[p.ngroups - 1].n++;
    }
    VEC_PUSH(c->arena, &c->parts, p);
}

/* Sets *files to the extracted files: first the kernel's file, then the files that it imports. Returns their
 * number. */
static size_t cut(struct cutting *c, neso_capsule_file **files)
{
    struct neso_kernel *k = c->kernel;
    const struct source *own = k->jit->jit->fn.src;
    size_t n = 0;
    add_part(c, own);
    for (int i = 0; i < k->module->diag.sources.n; i++)
        if (k->module->diag.sources.at[i] != own && is_file(k->module->diag.sources.at[i]))
            add_part(c, k->module->diag.sources.at[i]);
    map_init(&c->wanted, c->arena);
    want(c, intern_str(&c->strings, k->name));
    while (keep_one(c))
        continue;
    *files = NEW_ARRAY(c->arena, c->parts.n, neso_capsule_file);
    for (int p = 0; p < c->parts.n; p++) {
        struct part *x = &c->parts.at[p];
        struct text out;
        text_init(&out, c->arena);
        text_str(&out, "");
        for (int i = 0; i < x->ngroups; i++)
            if (x->groups[i].is_kept)
                put_group(x, i, &out);
        if (p && !out.len && strcmp(base_name(x->src->name), "__init__.py") != 0)
            continue;
        (*files)[n++] = (neso_capsule_file){p ? module_name(c->arena, x->src->name) : base_name(x->src->name),
                                            out.s, out.len};
    }
    return n;
}

/* -- verifying that the source compiles to the same kernel -- */

const char *capsule_find_file(void *user, const char *module, size_t *length)
{
    const neso_capsule *c = user;
    for (size_t i = 1; i < c->file_count; i++)
        if (strcmp(c->files[i].name, module) == 0) {
            *length = c->files[i].length;
            return c->files[i].text;
        }
    return NULL;
}

void capsule_options(const neso_capsule *c, neso_compile_options *o)
{
    *o = (neso_compile_options){.size = sizeof *o,
                                .signature = *c->signature ? c->signature : NULL,
                                .target = *c->target ? c->target : NULL,
                                .num_warps = c->num_warps,
                                .num_stages = c->num_stages,
                                .max_registers = c->max_registers,
                                .no_fp_fusion = c->no_fp_fusion,
                                .deterministic = c->deterministic,
                                .fp_reassoc = c->fp_reassoc,
                                .debug = c->debug,
                                .skip = *c->skip ? c->skip : NULL,
                                .params = *c->params ? c->params : NULL};
}

/* If printed IR has source locations such as @12:9+16/1 at s, returns the position after them; otherwise
 * returns s. */
static const char *skip_place(const char *s)
{
    while (s[0] == '@' && s[1] >= '0' && s[1] <= '9')
        s += 1 + strspn(s + 1, "0123456789:+/");
    return s;
}

static bool is_same_ir(const char *x, const char *y)
{
    for (;; x++, y++) {
        x = skip_place(x);
        y = skip_place(y);
        if (*x != *y)
            return false;
        if (!*x)
            return true;
    }
}

/* Returns whether tracing the capsule's source gives the IR `ir`, apart from source locations. */
static bool traces_to(struct neso_context *context, neso_capsule *c, const char *ir)
{
    neso_compile_options o;
    neso_module *m = NULL;
    neso_kernel *k = NULL;
    const char *text = "";
    capsule_options(c, &o);
    o.until = NESO_TEXT_IR;
    bool good = neso_module_from_files(context, c->files[0].name, c->files[0].text, c->files[0].length,
                                       capsule_find_file, c, &m) == NESO_OK &&
                neso_kernel_compile(m, c->kernel, &o, &k) == NESO_OK &&
                neso_kernel_text(k, NESO_TEXT_IR, &text, NULL) == NESO_OK && is_same_ir(ir, text);
    neso_kernel_release(k);
    neso_module_release(m);
    report_begin(context);
    return good;
}

/* Returns k's traced IR, or, if `is_portable`, the traced IR that k would have on a GPU; NULL after errors. */
static const char *traced_ir(struct neso_kernel *k, bool is_portable)
{
    struct diag *d = &k->module->diag;
    const struct spec asked = k->spec;
    struct module *ir = k->ir;
    int nmessages = d->list.n, nerrors = d->nerrors;
    const char *before = k->texts[NESO_TEXT_IR].s, *found;
    size_t len = k->texts[NESO_TEXT_IR].len;
    if (is_portable)
        k->spec.interpreter = k->spec.stops = false;
    k->texts[NESO_TEXT_IR].s = NULL;
    kernel_make(k, NESO_TEXT_IR);
    found = k->texts[NESO_TEXT_IR].s;
    k->texts[NESO_TEXT_IR].s = before;
    k->texts[NESO_TEXT_IR].len = len;
    k->spec = asked;
    k->ir = ir;
    diag_forget(d, nmessages, nerrors);
    return found;
}

/* -- the data that all capsules of a kernel share -- */

static const char *signature_of(struct neso_kernel *k)
{
    struct text t;
    text_init(&t, &k->arena);
    text_str(&t, "");
    if (k->options.signature)
        return k->options.signature;
    return signature_print(k, &t) ? t.s : NULL;
}

/* Extracts the kernel's source. If this source compiles without the program to the same kernel, sets the capsule's
 * files to the source and returns true. */
static bool use_source(struct neso_kernel *k, neso_capsule *c)
{
    struct cutting x = {.kernel = k, .arena = &k->arena};
    neso_capsule_file *files = NULL;
    const char *ir = traced_ir(k, false);
    if (!ir || !c->signature)
        return false;
    diag_init(&x.diag, x.arena);
    x.diag.fatal = k->module->diag.fatal;
    interner_init(&x.strings, x.arena);
    c->file_count = cut(&x, &files);
    c->files = files;
    return x.diag.nerrors == 0 && traces_to(k->module->context, c, ir);
}

static void use_ir(struct neso_kernel *k, neso_capsule *c)
{
    neso_capsule_file *file = NEW(&k->arena, neso_capsule_file);
    struct text name;
    text_init(&name, &k->arena);
    text_printf(&name, "%s.ir", k->name);
    const char *text = k->module->is_ir ? k->module->source->text : traced_ir(k, true);
    *file = (neso_capsule_file){name.s, text, text ? strlen(text) : 0};
    c->signature = "";
    c->files = file;
    c->file_count = text ? 1 : 0;
}

void capsule_prepare(struct neso_kernel *k)
{
    const struct spec *s = &k->spec;
    struct text params;
    if (k->module->is_bundle || k->module->context->bundle.text || s->has_host_calls || k->whole_file ||
        !k->device)
        return;
    text_init(&params, &k->arena);
    params_print(&k->thresholds, &params);
    for (char *blank; (blank = strchr(params.s, ' '));)
        *blank = ',';
    neso_capsule *c = NEW(&k->arena, neso_capsule);
    *c = (neso_capsule){.size = sizeof *c,
                        .kernel = k->name,
                        .signature = k->module->is_ir ? NULL : signature_of(k),
                        .target = s->target ? s->target->name : "",
                        .params = strcmp(params.s, "default") == 0 ? "" : params.s,
                        .skip = k->options.skip ? k->options.skip : "",
                        .num_warps = s->num_warps,
                        .num_stages = s->num_stages,
                        .max_registers = s->maxnreg,
                        .no_fp_fusion = !s->fp_fusion,
                        .deterministic = s->deterministic,
                        .fp_reassoc = s->fp_reassoc,
                        .debug = (int)s->debug,
                        .device = "",
                        .tag = "",
                        .text = "",
                        .pass = "",
                        .without = ""};
    if (k->module->is_ir || !use_source(k, c))
        use_ir(k, c);
    if (c->file_count)
        k->capsule = c;
}
