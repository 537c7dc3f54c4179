/* SPDX-License-Identifier: MIT */
/* expression.c: traces an expression that the user enters in the debugger, into a new IR function. The interpreter runs
 * this function while the kernel is stopped.
 *
 *     tl.sum(x, 0) * n    =>    func(<the kernel's parameters>, %x: tile<8xf32>, %n: i32) {
 *     at a stop where the            %0 = reduce %x ...
 *     frame has x and n              %1 = stof %n
 *                                    %2 = mul %0, %1
 *                                    host_call %2 site=0      the debugger gets the result here
 *                                  }
 *
 * The expression means the same as in a statement of the kernel. In addition, the user can index tiles: x[0],
 * x[-1, 2:4] (builtins/shape.c). The function's first parameters are the kernel's parameters. No op uses
 * them, but reports of out-of-bounds accesses take the names of tensors from them. */
#include "frontend/python/parse.h"
#include "frontend/trace/trace.h"

#include <string.h>

static void add_parameters(struct func *f, const struct func *kernel)
{
    for (int i = 0; i < kernel->params.n; i++)
        func_add_param(f, kernel->body->args.at[i]->type, kernel->params.at[i]);
}

static struct scope *bind_frame(struct eval *e, const struct host_site *site, struct block *b)
{
    struct scope *s = scope_new(e, site->closure);
    for (int i = 0; i < site->nnames; i++)
        scope_set(s, site->names[i], trace_stand_in(e, b, site->values[i]));
    return s;
}

static struct ast *parse(struct eval *e, const char *text)
{
    size_t n = strlen(text);
    return parse_expression(e->arena, e->strings, e->diag,
                            diag_add_source(e->diag, "<expression>", arena_strndup(e->arena, text, n), n));
}

void frontend_trace_expression(struct eval *e, const struct host_site *site, int up,
                               const struct func *kernel, const struct spec *spec, const char *text,
                               struct expression *x)
{
    struct module *m = kernel->module;
    struct map lost, masked_loads;
    int nerrors = e->diag->nerrors;
    *x = (struct expression){.tree = parse(e, text), .spec = *spec};
    if (!x->tree)
        return;
    memset(&x->spec.sites, 0, sizeof x->spec.sites);
    x->func = func_new(m, "expression");
    m->funcs.n--; /* removes the function from the module, to hide it from passes and dumps */
    add_parameters(x->func, kernel);
    map_init(&lost, e->arena);
    map_init(&masked_loads, e->arena);
    site = host_site_frame(e, site, up, &x->first);
    const struct function fn = {
        .name = site->function, .qualified = site->function, .closure = site->closure};
    const struct trace_frame frame = {.fn = &fn};
    struct trace t = {.func = x->func,
                      .module = m,
                      .spec = &x->spec,
                      .block = x->func->body,
                      .frame = &frame,
                      .is_shown = true,
                      .lost = &lost,
                      .masked_loads = &masked_loads};
    struct scope *s = bind_frame(e, site, x->func->body);
    struct trace *outer = e->trace;
    uint16_t call = e->call;
    e->trace = &t;
    e->call = 0;
    struct obj *value = eval_expr(e, s, x->tree);
    if (e->diag->nerrors == nerrors && value->kind != OBJ_error) {
        trace_result(e, value, x->tree->loc);
        build_return(trace_builder(e, x->tree->loc));
        trace_drop_statements(x->func->body, &x->spec);
    }
    e->trace = outer;
    e->call = call;
}
