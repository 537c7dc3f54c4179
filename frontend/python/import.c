/* SPDX-License-Identifier: MIT */
/* import.c: imports modules of triton, of the host and of Python's library, and files in the program's folder.
 *
 * If a file is loaded only for its kernels (e->definitions_only), a module that is not found becomes an
 * unknown value. For a module of triton, the import raises ModuleNotFoundError instead. The attributes and
 * items of an unknown value are unknown values too, and so are the results of calls and operators. So `import
 * torch` and host code that uses torch never prevent the compilation of a kernel. But it is an error if a
 * kernel uses an unknown value. */
#include "frontend/python/python.h"

#include <string.h>

/* -- unknown values -- */

struct obj *obj_unknown(struct eval *e, const char *name)
{
    return obj_native(e, &native_unknown, arena_strndup(e->arena, name, strlen(name)));
}

bool obj_is_unknown(const struct obj *x)
{
    return x->kind == OBJ_native && x->native.class == &native_unknown;
}

static struct obj *unknown_getattr(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    (void)at;
    struct text dotted;
    text_init(&dotted, e->arena);
    text_printf(&dotted, "%s.%s", (const char *)self->native.data, name);
    return obj_unknown(e, dotted.s);
}

static bool unknown_setattr(struct eval *e, struct obj *self, const char *name, struct obj *value,
                            struct loc at)
{
    (void)e, (void)self, (void)name, (void)value, (void)at;
    return true;
}

static struct obj *unknown_call(struct eval *e, struct obj *self, const struct args *args)
{
    (void)e, (void)args;
    return self;
}

static struct obj *unknown_getitem(struct eval *e, struct obj *self, struct obj *index, struct loc at)
{
    (void)e, (void)index, (void)at;
    return self;
}

static void unknown_setitem(struct eval *e, struct obj *self, struct obj *index, struct obj *value,
                            struct loc at)
{
    (void)e, (void)self, (void)index, (void)value, (void)at;
}

static struct obj *unknown_binary(struct eval *e, enum oper op, struct obj *self, struct obj *other,
                                  bool reflected, struct loc at)
{
    (void)e, (void)op, (void)other, (void)reflected, (void)at;
    return self;
}

static struct obj *unknown_unary(struct eval *e, enum oper op, struct obj *self, struct loc at)
{
    (void)e, (void)op, (void)at;
    return self;
}

static bool unknown_truth(struct eval *e, struct obj *self, struct loc at)
{
    eval_raise(e, at, "RuntimeError", ERR_unknown_value, (const char *)self->native.data);
}

static bool unknown_enter(struct eval *e, struct obj *self, struct obj **result)
{
    (void)e;
    *result = self;
    return true;
}

static void unknown_str(struct eval *e, struct obj *self, struct text *out, bool repr)
{
    (void)e, (void)repr;
    text_str(out, self->native.data);
}

const struct native_class native_unknown = {
    .name = "unknown",
    .getattr = unknown_getattr,
    .setattr = unknown_setattr,
    .call = unknown_call,
    .getitem = unknown_getitem,
    .setitem = unknown_setitem,
    .binary = unknown_binary,
    .unary = unknown_unary,
    .compare = unknown_binary,
    .str = unknown_str,
    .truth = unknown_truth,
    .enter = unknown_enter,
};

/* -- finding -- */

bool section_next(const char *text, struct section *at)
{
    static const char heading[] = "\n# -- ";
    const char *from = strstr(at->s ? at->s : text, heading);
    if (!from)
        return false;
    const char *end = strstr(from + 1, heading);
    at->s = from + 1;
    at->len = end ? (size_t)(end + 1 - at->s) : strlen(at->s);
    return true;
}

struct obj *eval_section(struct eval *e, const char *text, const char *section, const char *name)
{
    struct text heading;
    text_init(&heading, e->arena);
    text_printf(&heading, "# -- %s\n", section);
    for (struct section at = {0}; section_next(text, &at);)
        if (strncmp(at.s, heading.s, heading.len) == 0) {
            struct source *src = diag_add_source(e->diag, section, at.s, at.len);
            src->is_own = true;
            return eval_module(e, src, name);
        }
    return NULL;
}

static struct obj *from_host(struct eval *e, const char *name, struct loc at)
{
    if (!e->host)
        return NULL;
    return e->host->import ? e->host->import(e->host->ctx, e, name, at) : NULL;
}

static struct obj *from_file(struct eval *e, const char *name)
{
    const struct source *src =
        e->host && e->host->find_source ? e->host->find_source(e->host->ctx, e, name) : NULL;
    return src ? eval_module(e, src, name) : NULL;
}

/* Returns whether the name is `triton` or the name of a module in triton. If neso does not implement such a
 * module, its import raises ModuleNotFoundError even in a file that is loaded only for its kernels. */
static bool is_triton(const char *name)
{
    return strncmp(name, "triton", 6) == 0 && (name[6] == '.' || name[6] == 0);
}

struct obj *find_module(struct eval *e, const char *name, struct loc at)
{
    void **loaded = map_get(&e->modules, name, strlen(name));
    if (loaded)
        return *loaded;
    struct obj *found = is_triton(name) ? builtins_module(e, name) : NULL;
    if (!found)
        found = from_host(e, name, at);
    if (!found)
        found = library_module(e, name);
    if (!found)
        found = from_file(e, name);
    if (found)
        *map_at(&e->modules, intern_str(e->strings, name), strlen(name)) = found;
    return found;
}

static struct obj *import_module(struct eval *e, const char *name, struct loc at)
{
    struct obj *found = find_module(e, name, at);
    if (found)
        return found;
    if (e->definitions_only && !is_triton(name))
        return obj_unknown(e, name);
    eval_raise_noted(e, at, "ModuleNotFoundError", (struct note){.error = ERR_module_elsewhere, .name = name},
                     ERR_no_module, name);
}

/* -- import statements -- */

/* Makes a module an attribute of its parent, so that a.b.c works after `import a.b.c`, which binds only a. */
static void link_modules(struct eval *e, struct obj *parent, const char *name, struct obj *child)
{
    if (parent->kind == OBJ_module)
        scope_set(parent->module.scope, intern_str(e->strings, name), child);
}

/* `import a.b` imports a, then a.b, and binds the name a to the module a. `import a.b as c` binds the name c to the
 * module a.b. */
static void import_one(struct eval *e, struct scope *s, const struct ast *alias)
{
    const char *name = alias->alias.name;
    struct obj *root = NULL, *module = NULL;
    for (const char *dot = name; dot; dot = dot ? strchr(dot, '.') : NULL) {
        const char *from = *dot == '.' ? dot + 1 : dot;
        size_t n = (size_t)(from - name) + strcspn(from, ".");
        struct obj *part = import_module(e, intern(e->strings, name, n), alias->loc);
        if (module)
            link_modules(e, module, intern(e->strings, from, strcspn(from, ".")), part);
        root = root ? root : part;
        module = part;
        dot = from;
    }
    if (alias->alias.as)
        scope_set(s, alias->alias.as, module);
    else
        scope_set(s, intern(e->strings, name, strcspn(name, ".")), root);
}

void exec_import(struct eval *e, struct scope *s, const struct ast *x)
{
    for (int i = 0; i < x->import.names.n; i++)
        import_one(e, s, x->import.names.at[i]);
}

static void import_star(struct scope *s, const struct obj *module)
{
    for (int i = 0; module->kind == OBJ_module && i < module->module.scope->names.n; i++) {
        const struct map_entry *name = &module->module.scope->names.entries[i];
        if (name->value && *(const char *)name->key != '_')
            scope_set(s, name->key, name->value);
    }
}

static struct obj *import_name(struct eval *e, struct obj *module, const char *module_name,
                               const struct ast *alias)
{
    struct obj *found = find_attribute(e, module, alias->alias.name, alias->loc);
    if (found)
        return found;
    struct text dotted;
    text_init(&dotted, e->arena);
    text_printf(&dotted, "%s.%s", module_name, alias->alias.name);
    found = find_module(e, dotted.s, alias->loc);
    if (!found) {
        bool is_module = module->kind == OBJ_module;
        const char *near = is_module ? nearest_attribute(module->module.scope, alias->alias.name) : NULL;
        eval_raise_noted(e, alias->loc, "ImportError",
                         is_module ? note_missing(e, module, near) : (struct note){0}, ERR_import_name,
                         alias->alias.name, module_name);
    }
    return found;
}

/* Returns the absolute name of the module a in `from .a import b`. One dot means the package of the importing module,
 * and every further dot means the next enclosing package. In the main program, `.a` means a file in the program's
 * folder. */
static const char *absolute_name(struct eval *e, struct scope *s, int level, const char *name)
{
    struct obj *own = scope_get(s->globals, intern_str(e->strings, "__name__"));
    void **source = map_get_ptr(&e->sources, s->globals);
    const struct source *src = source ? *source : NULL;
    static const char init[] = "__init__.py";
    size_t tail = sizeof init - 1;
    bool is_package =
        src && strlen(src->name) >= tail && strcmp(src->name + strlen(src->name) - tail, init) == 0;
    size_t n = own && level > 0 ? own->str.n : 0;
    for (int i = is_package; i < level; i++)
        while (n > 0 && own->str.s[--n] != '.')
            ;
    struct text t;
    text_init(&t, e->arena);
    if (n > 0)
        text_bytes(&t, own->str.s, n);
    if (n > 0 && *name)
        text_char(&t, '.');
    text_str(&t, name);
    return intern(e->strings, t.s, t.len);
}

void exec_import_from(struct eval *e, struct scope *s, const struct ast *x)
{
    const char *name = x->import_from.module ? x->import_from.module : "";
    if (strcmp(name, "__future__") == 0)
        return;
    name = absolute_name(e, s, x->import_from.level, name);
    struct obj *module = *name ? import_module(e, name, x->loc) : NULL;
    for (int i = 0; i < x->import_from.names.n; i++) {
        const struct ast *alias = x->import_from.names.at[i];
        if (module && strcmp(alias->alias.name, "*") == 0) {
            import_star(s, module);
            continue;
        }
        struct obj *found =
            module ? import_name(e, module, name, alias) : import_module(e, alias->alias.name, alias->loc);
        scope_set(s, alias->alias.as ? alias->alias.as : alias->alias.name, found);
    }
}
