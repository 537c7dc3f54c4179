/* SPDX-License-Identifier: MIT */
/* attribute.c: evaluates x.name, x[i], x[a:b] and kernel[grid], assigns to x.name and x[i], and iterates over x. */
#include "frontend/python/python.h"

#include <string.h>

/* -- attributes -- */

/* Returns an attribute of a module; NULL if there is none. Searches the module's scope, then asks the module's function
 * `find`, then tries __name__, then the submodules. Stores the found attribute in the module's scope. */
static struct obj *module_attribute(struct eval *e, struct obj *x, const char *name, struct loc at)
{
    struct obj *found = scope_get(x->module.scope, name);
    if (!found && x->module.find)
        found = x->module.find(e, x, name);
    if (!found && strcmp(name, "__name__") == 0)
        found = obj_cstr(e, x->module.name);
    if (!found) {
        struct text dotted;
        text_init(&dotted, e->arena);
        text_printf(&dotted, "%s.%s", x->module.name, name);
        found = find_module(e, dotted.s, at);
    }
    if (found)
        scope_set(x->module.scope, name, found);
    return found;
}

static struct obj *docstring(struct eval *e, const struct ast *def)
{
    if (def->kind != AST_def || def->def.body.n == 0)
        return obj_none;
    const struct ast *first = def->def.body.at[0];
    if (first->kind != AST_eval || first->eval.value->kind != AST_str)
        return obj_none;
    return obj_str_of(e, first->eval.value->str.value.s, (size_t)first->eval.value->str.value.len);
}

static struct obj *function_attribute(struct eval *e, const struct function *f, const char *name)
{
    if (strcmp(name, "__name__") == 0 || strcmp(name, "__qualname__") == 0)
        return obj_cstr(e, f->name);
    if (strcmp(name, "__doc__") == 0)
        return docstring(e, f->def);
    if (strcmp(name, "__module__") == 0) {
        struct obj *module = scope_get(f->closure->globals, intern_str(e->strings, "__name__"));
        return module ? module : obj_none;
    }
    return f->attributes ? scope_get(f->attributes, name) : NULL;
}

/* Returns the value of x.fn for a kernel x with decorators: a copy of x without the outermost
 * @triton.autotune or @triton.heuristics. */
static struct obj *without_decorator(struct eval *e, const struct obj *x)
{
    struct obj *inner = obj_new(e, OBJ_jit);
    inner->jit = NEW(e->arena, struct jit);
    *inner->jit = *x->jit;
    inner->jit->host = NULL;
    inner->jit->decorators = obj_list(e, x->jit->decorators->seq.n - 1, x->jit->decorators->seq.at);
    return inner;
}

static struct obj *jit_attribute(struct eval *e, struct obj *x, const char *name)
{
    const struct function *f = &x->jit->fn;
    if (strcmp(name, "fn") == 0 && x->jit->decorators && x->jit->decorators->seq.n)
        return without_decorator(e, x);
    if (strcmp(name, "fn") == 0) {
        struct obj *plain = obj_new(e, OBJ_function);
        plain->function = &x->jit->fn;
        return plain;
    }
    if (strcmp(name, "arg_names") == 0) {
        struct obj *names = obj_list(e, 0, NULL);
        for (int i = 0; i < f->def->def.params.n; i++)
            VEC_PUSH(e->arena, &names->seq, obj_cstr(e, f->def->def.params.at[i]->param.name));
        return names;
    }
    if (strcmp(name, "src") == 0) {
        struct text source;
        text_init(&source, e->arena);
        ast_def_text(f->def, f->src, &source);
        return obj_text(e, &source);
    }
    struct obj *found = e->host && e->host->jit_attr ? e->host->jit_attr(e->host->ctx, e, x, name) : NULL;
    return found ? found : function_attribute(e, f, name);
}

static struct obj *method_attribute(struct eval *e, struct obj *x, const char *name, struct loc at)
{
    if (strcmp(name, "__self__") == 0)
        return x->method.self;
    return strcmp(name, "__func__") == 0 ? x->method.func : find_attribute(e, x->method.func, name, at);
}

static struct obj *builtin_attribute(struct eval *e, struct obj *x, const char *name)
{
    if (strcmp(name, "__name__") == 0 || strcmp(name, "__qualname__") == 0)
        return obj_cstr(e, builtin_short_name(x->builtin));
    if (!obj_is_builtin_type(x))
        return NULL;
    for (int kind = 0; kind < OBJ_function; kind++)
        if (builtin_type_of(e, &(struct obj){.kind = (enum obj_kind)kind}) == x) {
            struct obj *method = find_method(e, (enum obj_kind)kind, name);
            if (method)
                return method;
        }
    return NULL;
}

static struct obj *range_attribute(struct eval *e, struct obj *x, const char *name)
{
    bool is_slice = x->kind == OBJ_slice;
    struct obj *part = NULL;
    if (strcmp(name, "start") == 0)
        part = is_slice ? x->slice.start : obj_int(e, x->range.start);
    else if (strcmp(name, "stop") == 0)
        part = is_slice ? x->slice.stop : obj_int(e, x->range.stop);
    else if (strcmp(name, "step") == 0)
        part = is_slice ? x->slice.step : obj_int(e, x->range.step);
    else
        return NULL;
    return part ? part : obj_none;
}

/* Returns an attribute of x, a named tuple in a kernel. The attribute is a field of x; if there is no such field, it
 * is an attribute of x's class. Returns NULL if neither exists. */
static struct obj *field_of(struct eval *e, struct obj *x, const char *name, struct loc at)
{
    bool is_tuple;
    struct obj *names = class_fields(e, x->class_of, &is_tuple), *found = class_find(x->class_of, name);
    for (int i = 0; i < names->seq.n; i++)
        if (strcmp(names->seq.at[i]->str.s, name) == 0)
            return x->seq.at[i];
    return found ? class_bind(e, found, x, NULL, at) : NULL;
}

static struct obj *own_attribute(struct eval *e, struct obj *x, const char *name, struct loc at)
{
    switch (x->kind) {
    case OBJ_error: return obj_error;
    case OBJ_tensor: return tensor_getattr(e, x, name, at);
    case OBJ_tuple:
        return is_box(x) ? box_getattr(e, x, name) : x->class_of ? field_of(e, x, name, at) : NULL;
    case OBJ_int:
    case OBJ_float:
    case OBJ_bool:
        return e->trace && !x->is_constexpr && strcmp(name, "type") != 0 ? tensor_getattr(e, x, name, at)
                                                                         : NULL;
    case OBJ_module: return module_attribute(e, x, name, at);
    case OBJ_class:
    case OBJ_instance: return instance_find(e, x, name, at);
    case OBJ_native: return x->native.class->getattr ? x->native.class->getattr(e, x, name, at) : NULL;
    case OBJ_function: return function_attribute(e, x->function, name);
    case OBJ_jit: return jit_attribute(e, x, name);
    case OBJ_builtin: return builtin_attribute(e, x, name);
    case OBJ_method: return method_attribute(e, x, name, at);
    case OBJ_type: return builtins_type_attr(e, x, name, at);
    case OBJ_slice:
    case OBJ_range: return range_attribute(e, x, name);
    default: return NULL;
    }
}

struct obj *find_attribute(struct eval *e, struct obj *x, const char *name, struct loc at)
{
    struct obj *found = own_attribute(e, x, name, at);
    if (found)
        return found;
    struct obj *method = find_method(e, x->kind, name);
    if (method)
        return obj_method(e, x, method);
    if (strcmp(name, "__class__") == 0)
        return builtin_type_of(e, x);
    bool is_wrapped = x->is_constexpr || (e->trace && obj_is_const(e, x));
    if (is_wrapped && strcmp(name, "value") == 0)
        return x;
    if (is_wrapped && strcmp(name, "type") == 0)
        return obj_type(e, lang_const(e, x));
    return NULL;
}

static const struct scope *names_within(const struct obj *x)
{
    return x->kind == OBJ_module     ? x->module.scope
           : x->kind == OBJ_class    ? x->class.scope
           : x->kind == OBJ_instance ? x->instance.scope
                                     : NULL;
}

struct note note_missing(struct eval *e, struct obj *module, const char *near)
{
    void **source = map_get_ptr(&e->sources, module->module.scope);
    const bool is_users = source && !((const struct source *)*source)->is_own,
               is_whole = strncmp(module->module.name, "triton", 6) == 0;
    if (!near && !is_users && !is_whole && !module->module.find)
        return (struct note){.error = ERR_only_python, .name = module->module.name};
    return (struct note){.error = ERR_did_you_mean, .name = near};
}

struct obj *eval_getattr(struct eval *e, struct obj *x, const char *name, struct loc at)
{
    struct obj *found = find_attribute(e, x, name, at);
    if (found)
        return found;
    const struct scope *names =
        x->kind == OBJ_module && x->module.find ? builtins_names(e, x) : names_within(x);
    struct note note = {.error = ERR_did_you_mean, .name = names ? nearest_attribute(names, name) : NULL};
    const char *whose = x->kind == OBJ_module ? x->module.name : obj_type_name(x);
    if (x->kind == OBJ_module)
        note = note_missing(e, x, note.name);
    if (x->kind == OBJ_module && x->module.find && builtins_long_name(name))
        note.name = builtins_long_name(name);
    if (x->kind == OBJ_tuple && e->trace && (strcmp(name, "append") == 0 || strcmp(name, "extend") == 0))
        note = (struct note){.error = ERR_hint_kernel_list, .name = ""};
    if (strncmp(whose, "torch", 5) == 0)
        note = (struct note){.error = ERR_only_python, .name = "torch"};
    if (x->kind == OBJ_module)
        eval_raise_noted(e, at, "AttributeError", note, ERR_module_attribute, x->module.name, name);
    if (x->kind == OBJ_class)
        eval_raise_noted(e, at, "AttributeError", note, ERR_class_attribute, x->class.name, name);
    eval_raise_noted(e, at, "AttributeError", note, ERR_attribute, obj_type_name(x), name);
}

void eval_setattr(struct eval *e, struct obj *x, const char *name, struct obj *value, struct loc at)
{
    switch (x->kind) {
    case OBJ_module: scope_set(x->module.scope, name, value); return;
    case OBJ_class: scope_set(x->class.scope, name, value); return;
    case OBJ_instance: {
        struct obj *found = class_find(x->instance.class, name);
        if (found && found->kind == OBJ_native && found->native.class == &native_property)
            eval_raise(e, at, "AttributeError", ERR_property_set, name, obj_type_name(x));
        struct obj *args[] = {obj_cstr(e, name), value};
        if (!instance_special(e, x, "__setattr__", 2, args, at))
            scope_set(x->instance.scope, name, value);
        return;
    }
    case OBJ_function:
        if (!x->function->attributes)
            x->function->attributes = scope_new(e, NULL);
        scope_set(x->function->attributes, name, value);
        return;
    case OBJ_native:
        if (x->native.class->setattr && x->native.class->setattr(e, x, name, value, at))
            return;
        break;
    default: break;
    }
    eval_raise(e, at, "AttributeError", ERR_attribute_set, obj_type_name(x), name);
}

/* -- items -- */

static int64_t slice_part(struct eval *e, struct obj *part, int64_t otherwise, struct loc at)
{
    int64_t i;
    if (!part || part->kind == OBJ_none)
        return otherwise;
    if (!obj_as_int(part, &i))
        eval_raise(e, at, "TypeError", ERR_slice_index);
    return i;
}

/* Converts i, an index in a sequence of n items, to an index from low to high. A negative i counts from the
 * end. */
static int64_t clamp_index(int64_t i, int64_t n, int64_t low, int64_t high)
{
    if (i < 0)
        i = i < -n ? low : i + n;
    return i < low ? low : i > high ? high : i;
}

struct slice_range slice_resolve(struct eval *e, const struct obj *slice, int64_t n, struct loc at)
{
    int64_t step = slice_part(e, slice->slice.step, 1, at);
    if (step == 0)
        eval_raise(e, at, "ValueError", ERR_slice_step);
    if (step < -INT64_MAX)
        step = -INT64_MAX;
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    bool has_start = slice->slice.start && slice->slice.start->kind != OBJ_none;
    bool has_stop = slice->slice.stop && slice->slice.stop->kind != OBJ_none;
    int64_t start = has_start  ? clamp_index(slice_part(e, slice->slice.start, 0, at), n, low, high)
                    : step > 0 ? 0
                               : n - 1;
    int64_t stop = has_stop   ? clamp_index(slice_part(e, slice->slice.stop, 0, at), n, low, high)
                   : step > 0 ? n
                              : -1;
    int64_t span = step > 0 ? stop - start : start - stop, stride = step > 0 ? step : -step;
    return (struct slice_range){start, stop, step, span > 0 ? (span - 1) / stride + 1 : 0};
}

/* Converts the index of an item of x, which has n items, to a number from 0 to n - 1. A negative index counts
 * from the end. Raises IndexError if the index is out of range. */
static int64_t item_index(struct eval *e, struct obj *x, struct obj *index, int64_t n, struct loc at)
{
    int64_t i;
    if (!obj_as_int(index, &i))
        eval_raise(e, at, "TypeError", ERR_index_type, x->kind == OBJ_str ? "string" : obj_type_name(x),
                   obj_type_name(index));
    if (i < -n || i >= n)
        eval_raise(e, at, "IndexError", ERR_index_range, x->kind == OBJ_str ? "string" : obj_type_name(x));
    return i < 0 ? i + n : i;
}

static struct obj *str_item(struct eval *e, struct obj *x, struct obj *index, struct loc at)
{
    int64_t n = str_chars(x);
    bool is_slice = index->kind == OBJ_slice;
    struct slice_range r = {.n = 1, .step = 1};
    if (is_slice)
        r = slice_resolve(e, index, n, at);
    else
        r.start = item_index(e, x, index, n, at);
    struct text out;
    text_init(&out, e->arena);
    if (r.step == 1 && r.n > 0) {
        size_t from = str_offset(x, r.start), to = str_offset(x, r.start + r.n);
        return obj_str_of(e, arena_strndup(e->arena, x->str.s + from, to - from), to - from);
    }
    for (int64_t i = 0; i < r.n; i++) {
        size_t from = str_offset(x, r.start + i * r.step);
        text_bytes(&out, x->str.s + from, (size_t)char_bytes(x->str.s + from, x->str.n - from));
    }
    return obj_text(e, &out);
}

static struct obj *sequence_item(struct eval *e, struct obj *x, struct obj *index, struct loc at)
{
    if (index->kind != OBJ_slice)
        return x->seq.at[item_index(e, x, index, x->seq.n, at)];
    struct slice_range r = slice_resolve(e, index, x->seq.n, at);
    struct obj *out = obj_new(e, x->kind);
    out->is_size = x->is_size;
    for (int64_t i = 0; i < r.n; i++)
        VEC_PUSH(e->arena, &out->seq, x->seq.at[r.start + i * r.step]);
    return out;
}

static int64_t range_part(struct eval *e, wide i, struct loc at)
{
    if (i < INT64_MIN || i > INT64_MAX)
        eval_raise(e, at, "OverflowError", ERR_range_overflow);
    return (int64_t)i;
}

static struct obj *range_item(struct eval *e, struct obj *x, struct obj *index, struct loc at)
{
    int64_t n = obj_len(e, x, at), step = x->range.step;
    if (index->kind != OBJ_slice)
        return obj_int(e, (wide)x->range.start + (wide)item_index(e, x, index, n, at) * step);
    struct slice_range r = slice_resolve(e, index, n, at);
    struct obj *out = obj_new(e, OBJ_range);
    out->range.start = range_part(e, x->range.start + (wide)r.start * step, at);
    out->range.step = range_part(e, (wide)r.step * step, at);
    out->range.stop = range_part(e, x->range.start + (wide)r.stop * step, at);
    return out;
}

static struct obj *dict_item(struct eval *e, struct obj *x, struct obj *key, struct loc at)
{
    if (!obj_is_hashable(e, key))
        eval_raise(e, at, "TypeError", ERR_unhashable, obj_type_name(key));
    struct obj *found = dict_get(e, x->dict, key);
    if (!found && x->dict->factory && x->dict->factory->kind != OBJ_none) {
        found = call_with(e, x->dict->factory, 0, NULL, at);
        dict_set(e, x->dict, key, found);
    }
    if (!found)
        eval_raise(e, at, "KeyError", ERR_key, obj_to_str(e, key, true)->str.s);
    return found;
}

/* The object kernel[grid], which a program calls with the arguments of the launch. */
struct launcher {
    struct obj *kernel, *grid;
};

static struct obj *launch(struct eval *e, struct obj *self, const struct args *args)
{
    struct launcher *l = self->native.data;
    if (e->trace)
        eval_raise(e, args->loc, "RuntimeError", ERR_launch_in_kernel, l->kernel->jit->fn.name);
    if (!e->host || !e->host->launch)
        eval_raise(e, args->loc, "RuntimeError", ERR_no_launch, l->kernel->jit->fn.name);
    return e->host->launch(e->host->ctx, e, l->kernel, l->grid, args);
}

static const struct native_class native_launcher = {.name = "launcher", .call = launch};

static struct obj *launcher_new(struct eval *e, struct obj *kernel, struct obj *grid)
{
    struct launcher *l = NEW(e->arena, struct launcher);
    *l = (struct launcher){kernel, grid};
    return obj_native(e, &native_launcher, l);
}

struct obj *eval_getitem(struct eval *e, struct obj *x, struct obj *index, struct loc at)
{
    if (x->kind == OBJ_error || index->kind == OBJ_error)
        return obj_error;
    switch (x->kind) {
    case OBJ_tensor: return tensor_getitem(e, x, index, at);
    case OBJ_str: return str_item(e, x, index, at);
    case OBJ_list:
    case OBJ_tuple: return sequence_item(e, x, index, at);
    case OBJ_range: return range_item(e, x, index, at);
    case OBJ_dict: return dict_item(e, x, index, at);
    case OBJ_jit: return launcher_new(e, x, index);
    case OBJ_class: return x; /* Generic[T] is Generic */
    case OBJ_builtin:
        if (obj_is_builtin_type(x))
            return x;
        break;
    case OBJ_native:
        if (x->native.class->getitem)
            return x->native.class->getitem(e, x, index, at);
        break;
    case OBJ_instance: {
        struct obj *items = instance_as_tuple(e, x);
        if (items != x)
            return sequence_item(e, items, index, at);
        struct obj *found = instance_special(e, x, "__getitem__", 1, &index, at);
        if (found)
            return found;
        break;
    }
    default: break;
    }
    eval_raise(e, at, "TypeError", ERR_not_subscriptable, obj_type_name(x));
}

static void list_set_slice(struct eval *e, struct obj *x, struct obj *index, struct obj *value, struct loc at)
{
    struct slice_range r = slice_resolve(e, index, x->seq.n, at);
    struct obj *items = iter_collect(e, value, at);
    if (r.step != 1) {
        if (items->seq.n != r.n)
            eval_raise(e, at, "ValueError", ERR_slice_assign, items->seq.n, (int)r.n);
        for (int i = 0; i < items->seq.n; i++)
            x->seq.at[r.start + i * r.step] = items->seq.at[i];
        return;
    }
    struct obj *out = obj_list(e, (int)r.start, x->seq.at);
    for (int i = 0; i < items->seq.n; i++)
        VEC_PUSH(e->arena, &out->seq, items->seq.at[i]);
    for (int64_t i = r.start + r.n; i < x->seq.n; i++)
        VEC_PUSH(e->arena, &out->seq, x->seq.at[i]);
    x->seq.at = out->seq.at;
    x->seq.n = out->seq.n;
    x->seq.cap = out->seq.cap;
}

void eval_setitem(struct eval *e, struct obj *x, struct obj *index, struct obj *value, struct loc at)
{
    if (x->kind == OBJ_list) {
        if (index->kind == OBJ_slice)
            list_set_slice(e, x, index, value, at);
        else
            x->seq.at[item_index(e, x, index, x->seq.n, at)] = value;
        return;
    }
    if (x->kind == OBJ_dict) {
        if (!obj_is_hashable(e, index))
            eval_raise(e, at, "TypeError", ERR_unhashable, obj_type_name(index));
        dict_set(e, x->dict, index, value);
        return;
    }
    if (x->kind == OBJ_native && x->native.class->setitem) {
        x->native.class->setitem(e, x, index, value, at);
        return;
    }
    struct obj *args[] = {index, value};
    if (x->kind != OBJ_instance || !instance_special(e, x, "__setitem__", 2, args, at))
        eval_raise(e, at, "TypeError", ERR_item_set, obj_type_name(x));
}

void eval_delitem(struct eval *e, struct obj *x, struct obj *index, struct loc at)
{
    if (x->kind == OBJ_list && index->kind == OBJ_slice) {
        struct slice_range r = slice_resolve(e, index, x->seq.n, at);
        int64_t first = r.step > 0 ? r.start : r.start + (r.n - 1) * r.step,
                stride = r.step > 0 ? r.step : -r.step;
        int n = 0;
        for (int i = 0; i < x->seq.n; i++) {
            int64_t k = i - first;
            bool is_taken = k >= 0 && k % stride == 0 && k / stride < r.n;
            if (!is_taken)
                x->seq.at[n++] = x->seq.at[i];
        }
        x->seq.n = n;
    } else if (x->kind == OBJ_list) {
        int64_t i = item_index(e, x, index, x->seq.n, at);
        memmove(x->seq.at + i, x->seq.at + i + 1, (size_t)(x->seq.n - i - 1) * sizeof *x->seq.at);
        x->seq.n--;
    } else if (x->kind == OBJ_dict) {
        if (!dict_remove(e, x->dict, index))
            eval_raise(e, at, "KeyError", ERR_key, obj_to_str(e, index, true)->str.s);
    } else if (x->kind != OBJ_instance || !instance_special(e, x, "__delitem__", 1, &index, at)) {
        eval_raise(e, at, "TypeError", ERR_item_delete, obj_type_name(x));
    }
}

/* -- iteration -- */

struct iter iter_of(struct eval *e, struct obj *x, struct loc at)
{
    struct obj *items = instance_as_tuple(e, x);
    if (x->kind == OBJ_instance && items == x) {
        struct obj *own = instance_special(e, x, "__iter__", 0, NULL, at);
        if (own && own != x)
            return iter_of(e, own, at);
        if (own || class_find(x->instance.class, intern_str(e->strings, "__getitem__")))
            return (struct iter){x, 0, at};
    }
    switch (items->kind) {
    case OBJ_str:
    case OBJ_list:
    case OBJ_tuple:
    case OBJ_dict:
    case OBJ_set:
    case OBJ_range: return (struct iter){items, 0, at};
    case OBJ_native:
        if (items->native.class->iter)
            return (struct iter){items, 0, at};
        break;
    default: break;
    }
    eval_raise(e, at, "TypeError", ERR_not_iterable, obj_type_name(x));
}

static struct obj *next_key(struct iter *it)
{
    const struct dict *d = it->x->dict;
    while (it->i < d->entries.n && !d->entries.at[it->i].key)
        it->i++;
    return it->i < d->entries.n ? d->entries.at[it->i++].key : NULL;
}

static struct obj *next_char(struct eval *e, struct iter *it)
{
    size_t left = it->x->str.n - (size_t)it->i;
    if (left == 0)
        return NULL;
    const char *s = it->x->str.s + it->i;
    int n = char_bytes(s, left);
    it->i += n;
    return obj_str(e, s, (size_t)n);
}

/* Returns the next item of an instance. Calls the method __next__; if there is no such method, calls
 * __getitem__ with the next index. Returns NULL if the method raises StopIteration or IndexError. */
static struct obj *next_of_instance(struct eval *e, struct iter *it)
{
    struct handler h;
    handler_push(e, &h);
    if (setjmp(h.jump) == 0) {
        struct obj *index = obj_int(e, it->i++);
        struct obj *item = instance_special(e, it->x, "__next__", 0, NULL, it->at);
        if (!item)
            item = instance_special(e, it->x, "__getitem__", 1, &index, it->at);
        handler_pop(e, &h);
        return item;
    }
    bool is_end = h.raised.class && (class_is_a(h.raised.class, builtin_class(e, "StopIteration")) ||
                                     class_is_a(h.raised.class, builtin_class(e, "IndexError")));
    if (!is_end)
        eval_throw(e, &h.raised);
    return NULL;
}

struct obj *iter_next(struct eval *e, struct iter *it)
{
    eval_step(e, it->at);
    switch (it->x->kind) {
    case OBJ_str: return next_char(e, it);
    case OBJ_list:
    case OBJ_tuple: return it->i < it->x->seq.n ? it->x->seq.at[it->i++] : NULL;
    case OBJ_dict:
    case OBJ_set: return next_key(it);
    case OBJ_range:
        return it->i < obj_len(e, it->x, it->at)
                   ? obj_int(e, it->x->range.start + (wide)it->i++ * it->x->range.step)
                   : NULL;
    case OBJ_native: return it->x->native.class->iter(e, it->x, it->i++, it->at);
    default: return next_of_instance(e, it);
    }
}

struct obj *iter_collect(struct eval *e, struct obj *x, struct loc at)
{
    struct obj *out = obj_list(e, 0, NULL);
    struct iter it = iter_of(e, x, at);
    for (struct obj *item; (item = iter_next(e, &it));)
        VEC_PUSH(e->arena, &out->seq, item);
    return out;
}

/* The data of an iterator object. The function `next` keeps its position in `state`, so iterator_next (the
 * member `iter` of native_iterator) ignores the item's number i. */
struct iterator {
    struct obj *(*next)(struct eval *e, void *state, struct loc at);
    void *state;
};

static struct obj *iterator_next(struct eval *e, struct obj *self, int64_t i, struct loc at)
{
    (void)i;
    struct iterator *it = self->native.data;
    return it->next(e, it->state, at);
}

static bool iterator_truth(struct eval *e, struct obj *self, struct loc at)
{
    (void)e, (void)self, (void)at;
    return true;
}

static const struct native_class native_iterator = {
    .name = "iterator", .iter = iterator_next, .truth = iterator_truth};

struct obj *obj_iterator_from(struct eval *e, struct obj *(*next)(struct eval *, void *, struct loc),
                              void *state)
{
    struct iterator *it = NEW(e->arena, struct iterator);
    *it = (struct iterator){next, state};
    return obj_native(e, &native_iterator, it);
}

static struct obj *next_item(struct eval *e, void *state, struct loc at)
{
    struct iter *it = state;
    it->at = at;
    return iter_next(e, it);
}

struct obj *obj_iterator(struct eval *e, struct obj *x, struct loc at)
{
    if (x->kind == OBJ_native && x->native.class == &native_iterator)
        return x;
    struct iter *it = NEW(e->arena, struct iter);
    *it = iter_of(e, x, at);
    return obj_iterator_from(e, next_item, it);
}
