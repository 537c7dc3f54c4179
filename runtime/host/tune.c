/* SPDX-License-Identifier: MIT */
/* tune.c: executes the decorators of a kernel at a launch. @triton.autotune chooses one of several configurations by
 * timing them; @triton.heuristics computes keyword arguments. In this file, each decorator is a level. A
 * launch begins at the level of the outermost decorator. Each level adds keyword arguments, and calls the
 * level below it.
 *
 *     @triton.autotune(configs=[...], key=['n'])     level 1: the best config for this n: BLOCK=512, num_warps=4
 *     @triton.heuristics({'EVEN': ...})              level 0: EVEN=True
 *     @triton.jit                                    launch_plain(x, n, BLOCK=512, num_warps=4, EVEN=True)
 *
 * On the interpreter, where times are meaningless, each configuration runs once. Choices are stored for later runs if
 * neso_run_options.cache names a folder for them. */
#include "frontend/python/python.h"
#include "runtime/host/torch.h"
#include "runtime/runtime.h"

#include <math.h>
#include <string.h>

struct level {
    struct program *p;
    struct eval *e;
    struct obj *jit, *grid;
    struct launch_how how;
    int index; /* index of the current decorator; -1 after the last one */
};

static struct obj *launch_level(const struct level *l, const struct args *args);

/* -- arguments by name -- */

/* Returns a dict of all arguments of the launch, positional and keyword, by the names of their parameters. */
static struct obj *named_args(const struct level *l, const struct args *args)
{
    struct obj *named = obj_dict(l->e);
    const struct ast *def = l->jit->jit->fn.def;
    for (int i = 0; i < args->n && i < def->def.params.n; i++)
        dict_set(l->e, named->dict, obj_cstr(l->e, def->def.params.at[i]->param.name), args->at[i]);
    for (int i = 0; i < args->nkw; i++)
        dict_set(l->e, named->dict, obj_cstr(l->e, args->kw[i]), args->kw_at[i]);
    return named;
}

/* Returns the arguments with additional keyword arguments: the entries of the dict `extra`. They replace
 * existing keyword arguments with the same names. */
static struct args with_keywords(struct eval *e, const struct args *args, const struct obj *extra)
{
    const struct dict *d = extra->dict;
    struct args out = *args;
    int most = args->nkw + d->nlive;
    out.kw = NEW_ARRAY(e->arena, most + 1, const char *);
    out.kw_at = NEW_ARRAY(e->arena, most + 1, struct obj *);
    struct loc *locs = NEW_ARRAY(e->arena, args->n + most + 1, struct loc);
    for (int i = 0; i < args->n + most; i++)
        locs[i] = args->locs && i < args->n + args->nkw ? args->locs[i] : args->loc;
    for (int i = 0; i < args->nkw; i++) {
        out.kw[i] = args->kw[i];
        out.kw_at[i] = args->kw_at[i];
    }
    for (int i = 0; i < d->entries.n; i++) {
        if (!d->entries.at[i].key)
            continue;
        const char *name = intern(e->strings, d->entries.at[i].key->str.s, d->entries.at[i].key->str.n);
        int k = 0;
        while (k < out.nkw && out.kw[k] != name)
            k++;
        out.kw[k] = name;
        out.kw_at[k] = d->entries.at[i].value;
        out.nkw += k == out.nkw;
    }
    out.locs = locs;
    return out;
}

static struct level below(const struct level *l)
{
    struct level next = *l;
    next.index--;
    return next;
}

/* -- heuristics -- */

static struct obj *launch_heuristics(const struct level *l, const struct obj *functions,
                                     const struct args *args)
{
    struct eval *e = l->e;
    struct obj *named = named_args(l, args), *computed = obj_dict(e);
    if (functions->kind != OBJ_dict)
        eval_raise(e, args->loc, "TypeError", ERR_testing_argument, "the argument of @triton.heuristics",
                   "a dict", obj_type_name(functions));
    for (int i = 0; i < functions->dict->entries.n; i++) {
        const struct dict_entry *entry = &functions->dict->entries.at[i];
        if (!entry->key)
            continue;
        struct obj *seen = obj_dict(e);
        dict_add_all(e, seen->dict, named->dict);
        struct obj *x = eval_call1(e, entry->value, seen, args->loc);
        dict_set(e, named->dict, entry->key, x);
        dict_set(e, computed->dict, entry->key, x);
    }
    struct args more = with_keywords(e, args, computed);
    struct level next = below(l);
    return launch_level(&next, &more);
}

/* -- the autotuner's data of a kernel -- */

static struct obj *record_of(const struct level *l)
{
    struct jit *j = l->jit->jit;
    if (!j->host) {
        j->host = obj_dict(l->e);
        dict_set(l->e, j->host->dict, obj_cstr(l->e, "cache"), obj_dict(l->e));
    }
    return j->host;
}

/* Implements kernel.run and kernel.warmup, which take the grid as a keyword. */
static struct obj *run_call(struct eval *e, struct obj **args, const struct args *call)
{
    struct args given = {.n = args[1]->seq.n, .at = args[1]->seq.at, .loc = call->loc};
    struct args all = with_keywords(e, &given, args[4]);
    const struct obj *decorators = args[0]->jit->decorators;
    struct level l = {e->host->ctx,
                      e,
                      args[0],
                      args[2],
                      {.warmup = obj_truth(e, args[3], call->loc)},
                      decorators ? decorators->seq.n - 1 : -1};
    return launch_level(&l, &all);
}

struct obj *tune_attribute(void *program, struct eval *e, struct obj *jit, const char *name)
{
    static const char *const known[] = {"best_config", "cache", "configs_timings", "bench_time"};
    static const struct builtin calls[] = {
        {"JITFunction.run", "self, *args, grid, warmup=False, **kwargs", run_call, NULL},
        {"JITFunction.warmup", "self, *args, grid=None, warmup=True, **kwargs", run_call, NULL},
    };
    (void)program;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(builtin_short_name(&calls[i]), name) == 0)
            return obj_method(e, jit, obj_builtin(e, &calls[i]));
    for (size_t i = 0; jit->jit->host && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], name) == 0)
            return dict_get(e, jit->jit->host->dict, obj_cstr(e, name));
    return NULL;
}

/* Returns the key under which a choice is stored: the values of the arguments that the option `key` of
 * @triton.autotune names, and the types of all tensor arguments. */
static struct obj *make_key(const struct level *l, const struct obj *options, const struct obj *named)
{
    struct eval *e = l->e;
    struct obj *key = obj_list(e, 0, NULL), *names = dict_option(e, options, "key");
    for (int i = 0; names && (names->kind == OBJ_list || names->kind == OBJ_tuple) && i < names->seq.n; i++) {
        struct obj *x = dict_get(e, named->dict, names->seq.at[i]);
        if (x)
            VEC_PUSH(e->arena, &key->seq, torch_tensor(x) ? obj_cstr(e, "tensor") : x);
    }
    for (int i = 0; i < named->dict->entries.n; i++) {
        const struct dict_entry *entry = &named->dict->entries.at[i];
        const struct tensor *t = entry->key ? torch_tensor(entry->value) : NULL;
        struct text name;
        if (!t)
            continue;
        text_init(&name, e->arena);
        obj_print(e, torch_dtype_obj(e, t->dtype), &name, false);
        VEC_PUSH(e->arena, &key->seq, obj_cstr(e, name.s));
    }
    return obj_tuple(e, key->seq.n, key->seq.at);
}

/* -- running one configuration -- */

struct trial {
    struct level below;
    const struct obj *options;
    struct obj *config, *named; /* `named` has the arguments by name, including the config's keywords */
    struct args args;
    struct obj *saved; /* copies of the tensors that restore_value lists, in its order */
};

static struct obj *config_field(struct eval *e, struct obj *config, const char *name, struct loc at)
{
    struct obj *x = eval_getattr(e, config, name, at);
    return x->kind == OBJ_none ? NULL : x;
}

static struct obj *config_keywords(struct eval *e, struct obj *config, struct loc at)
{
    return eval_call(e, eval_getattr(e, config, "all_kwargs", at), &(struct args){.loc = at});
}

static void refuse_conflicts(const struct level *l, const struct obj *keywords, const struct args *args)
{
    for (int i = 0; i < args->nkw; i++)
        if (dict_get(l->e, keywords->dict, obj_cstr(l->e, args->kw[i])))
            eval_raise(l->e, args->loc, "ValueError", ERR_tune_conflict, args->kw[i]);
}

static void make_trial(struct trial *t, const struct level *l, const struct obj *options, struct obj *config,
                       const struct obj *named, const struct args *args)
{
    struct eval *e = l->e;
    if (config->kind != OBJ_native || strcmp(config->native.class->name, "Config") != 0)
        eval_raise(e, args->loc, "TypeError", ERR_tune_config, obj_type_name(config));
    struct obj *keywords = config_keywords(e, config, args->loc);
    refuse_conflicts(l, keywords, args);
    *t = (struct trial){.below = below(l), .options = options, .config = config, .named = obj_dict(e)};
    dict_add_all(e, t->named->dict, named->dict);
    dict_add_all(e, t->named->dict, keywords->dict);
    t->args = with_keywords(e, args, keywords);
}

/* Returns the tensor that entry i in the list of an option (reset_to_zero or restore_value) names; NULL past
 * the end. */
static struct tensor *listed(const struct trial *t, const char *name, int i)
{
    struct eval *e = t->below.e;
    struct obj *list = dict_option(e, t->options, name);
    if (!list || (list->kind != OBJ_list && list->kind != OBJ_tuple) || i >= list->seq.n)
        return NULL;
    struct obj *x = dict_get(e, t->named->dict, list->seq.at[i]);
    if (!x || !torch_tensor(x))
        eval_raise(e, t->args.loc, "TypeError", ERR_testing_argument, name, "names of tensor arguments",
                   x ? obj_type_name(x) : "another name");
    return torch_tensor(x);
}

/* Calls the hook `name` of the autotuner with the arguments of the trial, and, unless `keyword` is NULL, with
 * the additional argument keyword=value. Returns false if there is no such hook. */
static bool call_hook(struct trial *t, const char *name, const char *keyword, struct obj *value)
{
    struct eval *e = t->below.e;
    struct obj *hook = dict_option(e, t->options, name), *extra = obj_dict(e);
    if (!hook)
        return false;
    if (keyword)
        dict_set(e, extra->dict, obj_cstr(e, keyword), value);
    struct args call = with_keywords(e, &(struct args){.n = 1, .at = &t->named, .loc = t->args.loc}, extra);
    eval_call(e, hook, &call);
    return true;
}

/* Calls pre_hook(args). If there is no such hook, sets the tensors of reset_to_zero to zero, and, unless
 * `reset_only` is true, saves copies of the tensors of restore_value. */
static void run_pre_hook(struct trial *t, bool reset_only)
{
    struct eval *e = t->below.e;
    struct tensor *x;
    if (call_hook(t, "pre_hook", reset_only ? "reset_only" : NULL, obj_true))
        return;
    for (int i = 0; (x = listed(t, "reset_to_zero", i)); i++)
        torch_assign(e, x, obj_int(e, 0), t->args.loc);
    t->saved = obj_list(e, 0, NULL);
    for (int i = 0; !reset_only && (x = listed(t, "restore_value", i)); i++)
        VEC_PUSH(e->arena, &t->saved->seq, torch_cast(e, x, x->dtype, true, t->args.loc));
}

static void run_post_hook(struct trial *t)
{
    struct tensor *x;
    if (call_hook(t, "post_hook", "exception", obj_none))
        return;
    for (int i = 0; t->saved && i < t->saved->seq.n && (x = listed(t, "restore_value", i)); i++)
        torch_assign(t->below.e, x, t->saved->seq.at[i], t->args.loc);
}

static void run_config_hook(const struct trial *t)
{
    struct obj *hook = config_field(t->below.e, t->config, "pre_hook", t->args.loc);
    if (hook)
        eval_call1(t->below.e, hook, t->named, t->args.loc);
}

static void run_trial(struct eval *e, void *ctx)
{
    struct trial *t = ctx;
    (void)e;
    run_config_hook(t);
    run_pre_hook(t, false);
    launch_level(&t->below, &t->args);
    run_post_hook(t);
}

static bool is_refusal(const struct exception *x)
{
    for (const struct obj *c = x->class; c; c = c->class.base)
        if (strcmp(c->class.name, "CompilationError") == 0 || strcmp(c->class.name, "RuntimeError") == 0)
            return true;
    return false;
}

/* Sets `times` to the 0.5, 0.2 and 0.8 quantiles of a configuration's times, in ms. If the configuration
 * raises a CompilationError or a RuntimeError (for example, because it needs more resources than the device
 * has), sets the times to infinity and discards the messages. */
static void time_trial(struct trial *t, double times[3])
{
    struct eval *e = t->below.e;
    struct bench b = {.warmup_ms = 25, .rep_ms = 100, .call = run_trial, .ctx = t};
    b.once = !t->below.p->device->class->takes_ptx;
    struct handler h;
    handler_push(e, &h);
    if (setjmp(h.jump) != 0) {
        if (!is_refusal(&h.raised))
            eval_throw(e, &h.raised);
        e->diag->list.n = h.ndiagnostics;
        e->diag->nerrors = h.nerrors;
        times[0] = times[1] = times[2] = INFINITY;
        return;
    }
    double *all;
    int n = bench_run(t->below.p, e, &b, t->args.loc, &all);
    handler_pop(e, &h);
    bench_sort(all, n);
    times[0] = bench_quantile(all, n, 0.5);
    times[1] = bench_quantile(all, n, 0.2);
    times[2] = bench_quantile(all, n, 0.8);
}

static bool is_faster(const double a[3], const double b[3])
{
    for (int i = 0; i < 3; i++)
        if (a[i] != b[i])
            return a[i] < b[i];
    return false;
}

/* -- choosing -- */

static bool is_set(const struct level *l, const char *variable)
{
    const char *s = l->e->host->getenv ? l->e->host->getenv(l->e->host->ctx, variable) : NULL;
    return s && (strcmp(s, "1") == 0 || strcmp(s, "true") == 0 || strcmp(s, "on") == 0);
}

static const char *text_of(struct eval *e, struct obj *x)
{
    struct text t;
    text_init(&t, e->arena);
    obj_print(e, x, &t, false);
    return t.s;
}

static void say(const struct level *l, const char *format, const char *config)
{
    struct text t;
    text_init(&t, l->e->arena);
    text_printf(&t, format, l->jit->jit->fn.name, config);
    eval_write(l->e, t.s, t.len);
}

/* Returns the top_k configs for which perf_model predicts the least times. If top_k is a float up to 1, their
 * number is this fraction of all configs. Without perf_model, returns all configs. */
static struct obj *keep_best(const struct level *l, struct obj *configs, int nall, const struct obj *prune,
                             const struct obj *named, struct loc at)
{
    struct eval *e = l->e;
    struct obj *model = dict_option(e, prune, "perf_model"), *top = dict_option(e, prune, "top_k");
    if (!model)
        return configs;
    struct number k = {.i = configs->seq.n};
    if (top && !torch_number(top, &k))
        eval_raise(e, at, "TypeError", ERR_testing_argument, "top_k", "a number", obj_type_name(top));
    int most = k.is_float && k.f <= 1 ? (int)(k.f * nall) : k.is_float ? (int)k.f : (int)k.i;
    most = most < 1 ? 1 : most;
    if (most >= configs->seq.n)
        return configs;
    double *times = NEW_ARRAY(e->arena, configs->seq.n, double);
    for (int i = 0; i < configs->seq.n; i++) {
        struct obj *all = obj_dict(e);
        struct number time;
        dict_add_all(e, all->dict, named->dict);
        dict_add_all(e, all->dict, config_keywords(e, configs->seq.at[i], at)->dict);
        struct args call = with_keywords(e, &(struct args){.loc = at}, all);
        struct obj *found = eval_call(e, model, &call);
        if (!torch_number(found, &time))
            eval_raise(e, at, "TypeError", ERR_testing_argument, "what perf_model returns", "a number",
                       obj_type_name(found));
        times[i] = time.is_float ? time.f : (double)time.i;
    }
    struct obj *kept = obj_list(e, 0, NULL);
    while (kept->seq.n < most) {
        int best = 0;
        for (int i = 1; i < configs->seq.n; i++)
            if (times[i] < times[best])
                best = i;
        times[best] = INFINITY;
        VEC_PUSH(e->arena, &kept->seq, configs->seq.at[best]);
    }
    return kept;
}

static struct obj *prune(const struct level *l, const struct obj *options, struct obj *configs,
                         const struct obj *named, const struct args *args)
{
    struct eval *e = l->e;
    struct obj *by = dict_option(e, options, "prune_configs_by");
    if (!by)
        return configs;
    if (by->kind != OBJ_dict)
        eval_raise(e, args->loc, "TypeError", ERR_testing_argument, "prune_configs_by", "a dict",
                   obj_type_name(by));
    int nall = configs->seq.n;
    struct obj *early = dict_option(e, by, "early_config_prune");
    if (early) {
        const struct args positional = {.n = args->n, .at = args->at};
        struct obj *given[] = {configs, named_args(l, &positional)}, *keywords = obj_dict(e);
        for (int i = 0; i < args->nkw; i++)
            dict_set(e, keywords->dict, obj_cstr(e, args->kw[i]), args->kw_at[i]);
        struct args call = with_keywords(e, &(struct args){.n = 2, .at = given, .loc = args->loc}, keywords);
        configs = eval_call(e, early, &call);
        if (configs->kind != OBJ_list || configs->seq.n == 0)
            eval_raise(e, args->loc, "AutotunerError", ERR_tune_no_config, l->jit->jit->fn.name);
    }
    return keep_best(l, configs, nall, by, named, args->loc);
}

/* Returns the config whose text is `text` (n bytes); NULL if there is none. */
static struct obj *config_by_text(struct eval *e, struct obj *configs, const char *text, size_t n)
{
    for (int i = 0; i < configs->seq.n; i++) {
        const char *s = text_of(e, configs->seq.at[i]);
        if (strlen(s) == n && memcmp(s, text, n) == 0)
            return configs->seq.at[i];
    }
    return NULL;
}

/* Returns the path of the file that stores a choice; NULL if the choice is not stored. The path contains a
 * hash of the device, the thresholds that the user has set, the kernel's source, the key and all configs. */
static const char *choice_path(const struct level *l, const struct obj *options, struct obj *configs,
                               struct obj *key)
{
    const neso_run_options *o = &l->p->options;
    struct text all, path;
    if (!o->cache || !o->save || !o->load || dict_option(l->e, options, "pre_hook"))
        return NULL;
    text_init(&all, l->e->arena);
    text_str(&all, l->p->device->text);
    if (l->p->options.params)
        params_print(&l->p->thresholds, &all);
    ast_def_text(l->jit->jit->fn.def, l->jit->jit->fn.src, &all);
    obj_print(l->e, key, &all, true);
    for (int i = 0; i < configs->seq.n; i++)
        obj_print(l->e, configs->seq.at[i], &all, false);
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a hash */
    for (size_t i = 0; i < all.len; i++)
        hash = (hash ^ (uint8_t)all.s[i]) * 0x100000001b3u;
    text_init(&path, l->e->arena);
    text_printf(&path, "%s/%s-%016llx.autotune", o->cache, l->jit->jit->fn.name, (unsigned long long)hash);
    return path.s;
}

/* Returns the key that a choice has in records and bundles. This key does not depend on the machine. */
static const char *choice_key(const struct level *l, struct obj *configs, struct obj *key)
{
    struct text all, out, shown;
    char digest[PTX_SOURCE_DIGITS + 1];
    const struct target *target = l->p->device->target;
    text_init(&all, l->e->arena);
    ast_def_text(l->jit->jit->fn.def, l->jit->jit->fn.src, &all);
    for (int i = 0; i < configs->seq.n; i++)
        obj_print(l->e, configs->seq.at[i], &all, false);
    digest_text(all.s, all.len, PTX_SOURCE_DIGITS, digest);
    text_init(&shown, l->e->arena);
    obj_print(l->e, key, &shown, true);
    text_init(&out, l->e->arena);
    key_field(&out, "choice", l->jit->jit->fn.name);
    key_field(&out, "tuned", shown.s);
    key_field(&out, "target", target ? target->name : "sm_90a");
    key_field(&out, "configs", digest);
    return out.s;
}

/* Returns the config that the context's bundle has for the key. Raises an exception if there is none. */
static struct obj *choose_from_bundle(const struct level *l, struct obj *configs, struct obj *key,
                                      struct loc at)
{
    size_t n;
    const char *text = bundle_choice(l->p->module, choice_key(l, configs, key), &n);
    struct obj *best = text ? config_by_text(l->e, configs, text, n) : NULL;
    if (!best)
        eval_raise(l->e, at, "AutotunerError", ERR_tune_no_config, l->jit->jit->fn.name);
    return best;
}

static void record_choice(const struct level *l, struct obj *configs, struct obj *key, struct obj *best)
{
    const struct neso_context *c = l->p->context;
    struct text out;
    if (!c->record)
        return;
    text_init(&out, l->e->arena);
    bundle_choice_record(choice_key(l, configs, key), text_of(l->e, best), &out);
    c->record(c->user, out.s, out.len);
}

static struct obj *choose_by_time(const struct level *l, const struct obj *options, struct obj *configs,
                                  const struct obj *named, const struct args *args)
{
    struct eval *e = l->e;
    struct obj *best = configs->seq.at[0], *timings = obj_dict(e);
    double least[3] = {INFINITY, INFINITY, INFINITY};
    struct trial t;
    for (int i = 0; i < configs->seq.n; i++) {
        double times[3];
        make_trial(&t, l, options, configs->seq.at[i], named, args);
        if (is_set(l, "TRITON_PRINT_AUTOTUNING"))
            say(l, "Autotuning kernel %s with config %s\n", text_of(e, configs->seq.at[i]));
        time_trial(&t, times);
        struct obj *list = obj_list(e, 0, NULL);
        for (int k = 0; k < 3; k++)
            VEC_PUSH(e->arena, &list->seq, obj_float(e, times[k]));
        dict_set(e, timings->dict, configs->seq.at[i], list);
        if (isfinite(times[0]) && is_faster(times, least)) {
            best = configs->seq.at[i];
            memcpy(least, times, sizeof least);
        }
    }
    dict_set(e, record_of(l)->dict, obj_cstr(e, "configs_timings"), timings);
    /* If every config failed, run the last config again, so that the program gets its exception. */
    if (!isfinite(least[0]))
        run_trial(e, &t);
    make_trial(&t, l, options, best, named, args);
    run_pre_hook(&t, true);
    return best;
}

static struct obj *choose(const struct level *l, const struct obj *options, struct obj *configs,
                          struct obj *key, const struct obj *named, const struct args *args)
{
    const neso_run_options *o = &l->p->options;
    const char *path = choice_path(l, options, configs, key), *text;
    size_t n;
    if (l->p->context->bundle.text)
        return choose_from_bundle(l, configs, key, args->loc);
    struct obj *best =
        path && (text = o->load(o->user, path, &n)) ? config_by_text(l->e, configs, text, n) : NULL;
    if (best)
        return best;
    int64_t start = l->e->host->nanoseconds(l->e->host->ctx, CLOCK_steady);
    best = choose_by_time(l, options, prune(l, options, configs, named, args), named, args);
    if (is_set(l, "TRITON_PRINT_AUTOTUNING")) {
        struct text t;
        text_init(&t, l->e->arena);
        text_printf(&t,
                    "Triton autotuning for function %s,\nwith key as %s,\nfinished after %.2fs,\nbest config "
                    "selected: %s;\n",
                    l->jit->jit->fn.name, text_of(l->e, key),
                    (double)(l->e->host->nanoseconds(l->e->host->ctx, CLOCK_steady) - start) * 1e-9,
                    text_of(l->e, best));
        eval_write(l->e, t.s, t.len);
    }
    if (path)
        o->save(o->user, path, text_of(l->e, best), strlen(text_of(l->e, best)));
    return best;
}

static struct obj *only_config(const struct level *l, struct obj *configs, struct loc at)
{
    if (configs->seq.n)
        return configs->seq.at[0];
    struct obj *triton = eval_getattr(l->e, *map_get(&l->e->modules, "triton", 6), "Config", at),
               *none = obj_dict(l->e);
    return eval_call1(l->e, triton, none, at);
}

/* Compiles every configuration that `prune` keeps. */
static struct obj *warm_all(const struct level *l, const struct obj *options, struct obj *configs,
                            const struct obj *named, const struct args *args)
{
    struct obj *list = obj_list(l->e, 0, NULL), *kept = prune(l, options, configs, named, args);
    for (int i = 0; i < kept->seq.n; i++) {
        struct trial t;
        make_trial(&t, l, options, kept->seq.at[i], named, args);
        VEC_PUSH(l->e->arena, &list->seq, launch_level(&t.below, &t.args));
    }
    return list;
}

static struct obj *launch_autotuned(const struct level *l, const struct obj *options, const struct args *args)
{
    struct eval *e = l->e;
    struct obj *configs = dict_option(e, options, "configs"), *named = named_args(l, args), *best;
    if (!configs || (configs->kind != OBJ_list && configs->kind != OBJ_tuple))
        eval_raise(e, args->loc, "TypeError", ERR_testing_argument, "the configs of @triton.autotune",
                   "a list", configs ? obj_type_name(configs) : "None");
    if (l->how.warmup)
        return warm_all(l, options, configs, named, args);
    if (configs->seq.n < 2) {
        best = only_config(l, configs, args->loc);
    } else {
        struct obj *cache = dict_get(e, record_of(l)->dict, obj_cstr(e, "cache")),
                   *key = make_key(l, options, named);
        best = dict_get(e, cache->dict, key);
        if (!best) {
            best = choose(l, options, configs, key, named, args);
            record_choice(l, configs, key, best);
            dict_set(e, cache->dict, key, best);
        }
    }
    dict_set(e, record_of(l)->dict, obj_cstr(e, "best_config"), best);
    struct trial t;
    make_trial(&t, l, options, best, named, args);
    run_config_hook(&t);
    return launch_level(&t.below, &t.args);
}

/* -- levels -- */

static struct obj *launch_level(const struct level *l, const struct args *args)
{
    if (l->index < 0)
        return launch_plain(l->p, l->e, l->jit, l->grid, args, l->how);
    const struct obj *pair = l->jit->jit->decorators->seq.at[l->index];
    bool is_tuned = strcmp(pair->seq.at[0]->str.s, "autotune") == 0;
    return (is_tuned ? launch_autotuned : launch_heuristics)(l, pair->seq.at[1], args);
}

struct obj *launch_call(void *program, struct eval *e, struct obj *jit, struct obj *grid,
                        const struct args *args)
{
    const struct obj *decorators = jit->jit->decorators;
    struct level l = {program, e, jit, grid, {0}, decorators ? decorators->seq.n - 1 : -1};
    return launch_level(&l, args);
}
