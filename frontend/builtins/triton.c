/* SPDX-License-Identifier: MIT */
/* triton.c: implements the functions of the module triton that programs use outside of kernels: decorators, Config, and
 * functions of ints, such as cdiv. This file only stores the decorators' arguments on the kernel (struct jit); the
 * runtime implements launches, tuning and heuristics. */
#include "frontend/builtins/handlers.h"

#include <string.h>

/* -- @triton.jit -- */

static bool is_on(struct eval *e, struct obj *options, const char *name, struct loc at)
{
    struct obj *x = dict_option(e, options, name);
    return x && obj_truth(e, x, at);
}

static struct obj *make_jit(struct eval *e, struct obj *options, struct obj *fn, struct loc at)
{
    if (fn->kind == OBJ_jit || obj_is_unknown(fn))
        return fn;
    if (fn->kind != OBJ_function)
        eval_raise(e, at, "TypeError", ERR_jit_function, "@triton.jit", obj_type_name(fn));
    struct obj *x = NEW(e->arena, struct obj);
    x->kind = OBJ_jit;
    x->jit = NEW(e->arena, struct jit);
    x->jit->fn = *fn->function;
    x->jit->do_not_specialize = dict_option(e, options, "do_not_specialize");
    x->jit->do_not_specialize_on_alignment = dict_option(e, options, "do_not_specialize_on_alignment");
    x->jit->debug = is_on(e, options, "debug", at);
    return x;
}

/* Returns a dict of the arguments, with the names of the builtin's parameters as keys. Begins at parameter
 * number `first`, and omits absent arguments. */
static struct obj *keywords(struct eval *e, struct obj **args, const struct args *call, int first)
{
    struct obj *d = obj_dict(e);
    const char *s = call->callee->params;
    for (int i = 0; *s; i++) {
        while (*s == ' ' || *s == ',')
            s++;
        if (*s == '*') {
            s++;
            i--;
            continue;
        }
        size_t n = strcspn(s, "=,");
        if (i >= first && args[i])
            dict_set(e, d->dict, obj_str(e, s, n), args[i]);
        s += strcspn(s, ",");
    }
    return d;
}

/* Returns a decorator: the builtin named `hidden` with its first parameter bound to `options`. */
static struct obj *decorator(struct eval *e, const char *hidden, struct obj *options)
{
    return obj_method(e, options, builtin_hidden(e, hidden));
}

struct obj *builtin_jit(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *options = keywords(e, args, call, 1);
    return args[0]->kind == OBJ_none ? decorator(e, "decorate_jit", options)
                                     : make_jit(e, options, args[0], call->loc);
}

struct obj *builtin_decorate_jit(struct eval *e, struct obj **args, const struct args *call)
{
    return make_jit(e, args[0], args[1], call->loc);
}

/* -- @triton.autotune, @triton.heuristics -- */

struct obj *builtin_autotune(struct eval *e, struct obj **args, const struct args *call)
{
    return decorator(e, "decorate_autotune", keywords(e, args, call, 0));
}

struct obj *builtin_heuristics(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    return decorator(e, "decorate_heuristics", args[0]);
}

/* Stores (name, options) in the kernel's list of decorators. The decorator nearest to the def comes first. */
struct obj *builtin_decorate(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *fn = args[1];
    const char *name = call->callee->data;
    if (obj_is_unknown(fn))
        return fn;
    if (fn->kind != OBJ_jit)
        eval_raise(e, call->loc, "TypeError", ERR_decorate_jit, name, obj_type_name(fn));
    if (!fn->jit->decorators)
        fn->jit->decorators = obj_list(e, 0, NULL);
    struct obj *pair[] = {obj_cstr(e, name), args[0]};
    VEC_PUSH(e->arena, &fn->jit->decorators->seq, obj_tuple(e, 2, pair));
    return fn;
}

/* -- triton.Config -- */

static struct obj *config_get(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    (void)at;
    if (strcmp(name, "all_kwargs") == 0)
        return obj_method(e, self, builtin_hidden(e, "all_kwargs"));
    return scope_get(self->native.data, intern_str(e->strings, name));
}

static bool config_set(struct eval *e, struct obj *self, const char *name, struct obj *value, struct loc at)
{
    (void)at;
    scope_set(self->native.data, intern_str(e->strings, name), value);
    return true;
}

static const char *const launch_options[] = {"num_warps", "num_ctas", "num_stages", "maxnreg"};

static void config_str(struct eval *e, struct obj *self, struct text *out, bool repr)
{
    struct obj *kwargs = config_get(e, self, "kwargs", (struct loc){0});
    (void)repr;
    for (int i = 0; kwargs->kind == OBJ_dict && i < kwargs->dict->entries.n; i++) {
        const struct dict_entry *entry = &kwargs->dict->entries.at[i];
        if (!entry->key)
            continue;
        obj_print(e, entry->key, out, false);
        text_str(out, ": ");
        obj_print(e, entry->value, out, false);
        text_str(out, ", ");
    }
    for (int i = 0; i < 4; i++) {
        text_printf(out, "%s%s: ", i ? ", " : "", launch_options[i]);
        obj_print(e, config_get(e, self, launch_options[i], (struct loc){0}), out, false);
    }
}

static const struct native_class config_class = {
    .name = "Config", .getattr = config_get, .setattr = config_set, .str = config_str};

struct obj *builtin_config(struct eval *e, struct obj **args, const struct args *call)
{
    static const char *const names[] = {"kwargs",  "num_warps", "num_stages", "num_ctas",
                                        "maxnreg", "pre_hook",  "ir_override"};
    struct scope *s = scope_new(e, NULL);
    (void)call;
    for (int i = 0; i < 7; i++)
        scope_set(s, intern_str(e->strings, names[i]), args[i]);
    return obj_native(e, &config_class, s);
}

/* Returns a dict with the kwargs and the launch options of a triton.Config. Omits options that are None. */
struct obj *builtin_all_kwargs(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *all = obj_dict(e), *kwargs = config_get(e, args[0], "kwargs", call->loc);
    for (int i = 0; kwargs->kind == OBJ_dict && i < kwargs->dict->entries.n; i++)
        if (kwargs->dict->entries.at[i].key)
            dict_set(e, all->dict, kwargs->dict->entries.at[i].key, kwargs->dict->entries.at[i].value);
    for (int i = 0; i < 4; i++) {
        struct obj *x = config_get(e, args[0], launch_options[i], call->loc);
        if (x->kind != OBJ_none)
            dict_set(e, all->dict, obj_cstr(e, launch_options[i]), x);
    }
    return all;
}

/* -- functions of ints -- */

/* Returns (x + y - 1) // y, by Python's rules for ints, and by the rules for tensors if x or y is a
 * tensor. */
struct obj *builtin_host_cdiv(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *sum = eval_binary(e, OPER_add, args[0], args[1], call->loc);
    struct obj *top = eval_binary(e, OPER_sub, sum, obj_int(e, 1), call->loc);
    return eval_binary(e, OPER_floordiv, top, args[1], call->loc);
}

struct obj *builtin_next_power_of_2(struct eval *e, struct obj **args, const struct args *call)
{
    int64_t n, p = 1;
    if (e->trace) {
        if (!arg_int(e, args[0], "the argument of triton.next_power_of_2", call->loc, &n))
            return obj_error;
    } else if (!obj_as_int(args[0], &n)) {
        eval_raise(e, call->loc, "TypeError", ERR_wants_int, "the argument of triton.next_power_of_2",
                   obj_type_name(args[0]));
    }
    while (p < n && p < INT64_MAX / 2)
        p *= 2;
    return obj_int(e, n == 0 ? 0 : p);
}

/* -- other decorators -- */

/* Implements @triton.constexpr_function: marks a function that kernels may call at compile time. */
struct obj *builtin_constexpr_function(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    return args[0]->kind == OBJ_function ? obj_constexpr(e, args[0]) : args[0];
}

/* Implements must_use_result(f) and must_use_result("hint")(f), which return f. */
struct obj *builtin_must_use_result(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    return args[0]->kind == OBJ_str ? decorator(e, "keep_function", args[0]) : args[0];
}

struct obj *builtin_keep_function(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e;
    (void)call;
    return args[1];
}
