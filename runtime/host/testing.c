/* SPDX-License-Identifier: MIT */
/* testing.c: implements the functions of triton.testing that need C: they time calls (with bench.c), report
 * which library computed a call, and write files. The other functions are in modules.py. */
#include "frontend/python/python.h"
#include "runtime/host/torch.h"
#include "runtime/runtime.h"

#include <string.h>

static struct program *program_of(struct eval *e)
{
    return e->host->ctx;
}

struct timed {
    struct obj *fn, *grad_to_none;
    struct loc at;
};

static void call_fn(struct eval *e, void *ctx)
{
    struct timed *t = ctx;
    for (int i = 0; t->grad_to_none->kind == OBJ_list && i < t->grad_to_none->seq.n; i++)
        torch_tensor_class.setattr(e, t->grad_to_none->seq.at[i], "grad", obj_none, t->at);
    eval_call(e, t->fn, &(struct args){.loc = t->at});
}

/* Times calls of fn, and returns the list of their times in milliseconds. */
static struct obj *run_times(struct eval *e, struct obj **args, const struct args *call)
{
    struct timed t = {args[0], args[3], call->loc};
    struct bench b = {.warmup_ms = args[1]->f, .rep_ms = args[2]->f, .call = call_fn, .ctx = &t};
    double *times;
    int n = bench_told(program_of(e), e, &b, eval_outside(e, call->loc), &times);
    struct obj *list = obj_list(e, 0, NULL);
    for (int i = 0; i < n; i++)
        VEC_PUSH(e->arena, &list->seq, obj_float(e, times[i]));
    return list;
}

/* Calls fn(**keywords). The times that fn measures are reported under the given name (neso_measurement.name).
 * Returns a pair: the result of fn, and the library that computed the timed calls (program.oracle). Frees the
 * tensors that the call created. */
static struct obj *run_measured(struct eval *e, struct obj **args, const struct args *call)
{
    struct program *p = program_of(e);
    const struct storage *mark = host_pool(e)->storages;
    p->oracle = NULL;
    if (p->options.measured)
        p->line = args[0]->str.s;
    struct obj *found = call_spread(e, args[1], obj_list(e, 0, NULL), args[2], call->loc);
    p->line = NULL;
    pool_release(host_pool(e), mark);
    return obj_pair(e, found, p->oracle ? obj_cstr(e, p->oracle) : obj_none);
}

static struct obj *run_can_save(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args, (void)call;
    return obj_bool(program_of(e)->options.save != NULL);
}

static struct obj *run_save(struct eval *e, struct obj **args, const struct args *call)
{
    const struct program *p = program_of(e);
    const char *path = args[0]->str.s;
    if (!p->options.save)
        eval_raise(e, call->loc, "OSError", ERR_no_host_service, path, "a folder to write to");
    int result = p->options.save(p->options.user, path, args[1]->str.s, args[1]->str.n);
    if (result != 0)
        eval_raise(e, call->loc, "OSError", result == NESO_SAVE_OUTSIDE ? ERR_save_outside : ERR_save_failed,
                   path);
    return obj_none;
}

static struct obj *run_refuse(struct eval *e, struct obj **args, const struct args *call)
{
    eval_raise(e, call->loc, args[0]->str.s, ERR_testing_argument, args[1]->str.s, args[2]->str.s,
               args[3]->str.s);
}

static const struct builtin rows[] = {
    {"testing._times", "fn, warmup, rep, grad_to_none", run_times, NULL},
    {"testing._measured", "name, fn, keywords", run_measured, NULL},
    {"testing._can_save", "", run_can_save, NULL},
    {"testing._save", "path, text", run_save, NULL},
    {"testing._refuse", "exception, what, wanted, found", run_refuse, NULL},
};

struct obj *testing_module(struct eval *e, const char *dotted_name)
{
    if (strcmp(dotted_name, "triton.testing") != 0)
        return NULL;
    struct obj *m = eval_section(e, modules_py, dotted_name, dotted_name);
    define_builtins(e, m->module.scope, rows, sizeof rows / sizeof *rows);
    return m;
}
