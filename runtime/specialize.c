/* SPDX-License-Identifier: MIT */
/* specialize.c: executes kernel[grid](arguments) of a host program. Each argument becomes a constant, or a type and
 * a value. The types and constants are the specialization; each specialization is compiled once.
 *
 *     add[grid](x, y, z, 98432, BLOCK=512)
 *        x      tensor at a multiple of 16   *fp32:16    value: its address
 *        98432  an int, multiple of 16       i32:16      value: 98432
 *        BLOCK  tl.constexpr                 constant 512
 *
 * The int 1 is a constant too. If the grid is a function, it is called with a dict of all arguments by
 * name. */
#include "frontend/trace/lang.h"
#include "runtime/devices/interpreter/trace.h"
#include "runtime/host/host.h"
#include "runtime/runtime.h"

#include <string.h>

/* Facts about a jit function, which launches of the function need. The first launch creates this struct. */
struct callee {
    struct param_rule *rules;
    int nrules; /* number of parameters, including **META, which is the last */
    bool has_meta;
};

struct call {
    struct program *program;
    struct eval *eval;
    struct obj *jit;
    const struct callee *callee;
    struct launch_how how;
    struct loc loc;
    struct scope *bound;
    struct spec spec;
    uint64_t *values; /* values of the run-time parameters */
    struct launch_tensor *tensors;
    int nvalues;
    VEC(struct obj *) leaves; /* the passed arguments, after tuples are split */
    VEC(const struct param_rule *) leaf_rules;
    struct launch launch;
};

static const char *kernel_name(const struct call *c)
{
    return c->jit->jit->fn.name;
}

static const struct callee *find_callee(struct program *p, struct eval *e, struct obj *jit)
{
    void **known = map_at_ptr(&p->callees, jit);
    if (*known)
        return *known;
    struct callee *c = NEW(e->arena, struct callee);
    *known = c;
    c->nrules = jit_rules(e, jit->jit, &c->rules);
    c->has_meta = c->nrules > 0 && c->rules[c->nrules - 1].role == ROLE_kwargs;
    return c;
}

/* -- launch options -- */

/* An option of a launch: a keyword argument that is not an argument of the kernel. If `set` is NULL, the
 * option has no effect. */
struct launch_option {
    const char *name;
    void (*set)(struct call *c, int64_t value);
};

static void set_warps(struct call *c, int64_t value)
{
    if (value < 1 || value > 32 || (value & (value - 1)))
        eval_raise(c->eval, c->loc, "ValueError", ERR_launch_warps, value);
    c->spec.num_warps = (int)value;
}

static void set_stages(struct call *c, int64_t value)
{
    if (value < 1 || value > 100)
        eval_raise(c->eval, c->loc, "ValueError", ERR_num_stages,
                   (int)(value > INT32_MAX ? INT32_MAX : value));
    c->spec.num_stages = (int)value;
}

static void set_maxnreg(struct call *c, int64_t value)
{
    if (value < 1 || value > 255)
        eval_raise(c->eval, c->loc, "ValueError", ERR_max_registers,
                   (int)(value > INT32_MAX ? INT32_MAX : value));
    c->spec.maxnreg = (int)value;
}

static void set_fp_fusion(struct call *c, int64_t value)
{
    c->spec.fp_fusion = value != 0;
}

static void set_deterministic(struct call *c, int64_t value)
{
    c->spec.deterministic = value != 0;
}

static void set_fp_reassoc(struct call *c, int64_t value)
{
    c->spec.fp_reassoc = value != 0;
}

static void set_debug(struct call *c, int64_t value)
{
    c->spec.debug = value ? DEBUG_all : DEBUG_none;
}

static const struct launch_option launch_options[] = {
    {"num_warps", set_warps},
    {"num_stages", set_stages},
    {"maxnreg", set_maxnreg},
    {"enable_fp_fusion", set_fp_fusion},
    {"debug", set_debug},
    {"deterministic", set_deterministic},
    {"fp_reassoc", set_fp_reassoc},
    {"num_ctas", NULL},
    {"sanitize_overflow", NULL},
    {"launch_cooperative_grid", NULL},
    {"launch_pdl", NULL},
    {"extern_libs", NULL},
    {"ptx_options", NULL},
    {"ir_override", NULL},
    {"instrumentation_mode", NULL},
    {"arch", NULL},
    {"waves_per_eu", NULL},
    {"matrix_instr_nonkdim", NULL},
    {"kpack", NULL},
    {"num_cpu_threads", NULL},
};

static const struct launch_option *find_option(const char *name)
{
    for (size_t i = 0; i < sizeof launch_options / sizeof *launch_options; i++)
        if (strcmp(launch_options[i].name, name) == 0)
            return &launch_options[i];
    return NULL;
}

static void set_option(struct call *c, const struct launch_option *option, struct obj *x)
{
    int64_t value;
    if (!option->set || x->kind == OBJ_none)
        return;
    if (!obj_as_int(x, &value))
        eval_raise(c->eval, c->loc, "TypeError", ERR_launch_option, option->name, "an integer",
                   obj_type_name(x));
    option->set(c, value);
}

static bool is_parameter(const struct call *c, const char *name)
{
    for (int i = 0; i < c->callee->nrules - c->callee->has_meta; i++)
        if (strcmp(c->callee->rules[i].name, name) == 0)
            return true;
    return false;
}

/* Sets the launch options from the keywords. Then binds the other arguments to the parameters as Python does;
 * an option whose name is also the name of a parameter is bound too. */
static void bind(struct call *c, const struct args *args)
{
    struct eval *e = c->eval;
    struct args rest = *args;
    rest.kw = NEW_ARRAY(e->arena, args->nkw, const char *);
    rest.kw_at = NEW_ARRAY(e->arena, args->nkw, struct obj *);
    struct loc *locs = NEW_ARRAY(e->arena, args->n + args->nkw, struct loc);
    for (int i = 0; args->locs && i < args->n; i++)
        locs[i] = args->locs[i];
    rest.nkw = 0;
    for (int i = 0; i < args->nkw; i++) {
        const struct launch_option *option = find_option(args->kw[i]);
        bool is_param = is_parameter(c, args->kw[i]);
        if (option)
            set_option(c, option, args->kw_at[i]);
        else if (!is_param && !c->callee->has_meta)
            eval_raise(e, c->loc, "KeyError", ERR_launch_keyword, args->kw[i], kernel_name(c));
        if (option && !is_param)
            continue;
        if (args->locs)
            locs[args->n + rest.nkw] = args->locs[args->n + i];
        rest.kw[rest.nkw] = args->kw[i];
        rest.kw_at[rest.nkw++] = args->kw_at[i];
    }
    rest.locs = locs;
    c->bound = scope_new(e, NULL);
    eval_bind(e, &c->jit->jit->fn, &rest, c->bound);
}

/* -- specialization of arguments -- */

static void set_const(struct spec_arg *a, struct obj *x)
{
    a->is_const = true;
    a->value = x;
}

static void set_value(struct call *c, struct spec_arg *a, const struct lang_type *type, uint64_t value,
                      bool may_divide)
{
    a->type = type;
    a->divisible = may_divide && value % 16 == 0 ? 16 : 1;
    c->values[c->nvalues++] = value;
}

static uint64_t low_bytes(uint64_t value, int bytes)
{
    return bytes >= 8 ? value : value & (((uint64_t)1 << (8 * bytes)) - 1);
}

static bool is_int_type(const struct lang_type *t)
{
    return t->kind == LT_number && dtype_info[t->dtype].kind == DTYPE_int;
}

/* Sets `a` to the value x with the type that the parameter's annotation demands; raises an exception if x does not
 * fit. */
static void set_forced(struct call *c, struct spec_arg *a, const struct param_rule *rule, struct obj *x)
{
    const struct lang_type *t = rule->type;
    bool is_int = x->kind == OBJ_int || x->kind == OBJ_bool;
    if (t->kind == LT_number && is_int_type(t) && is_int) {
        wide i = x->kind == OBJ_bool ? x->b : x->i;
        uint64_t value = t->dtype == DT_i1 ? i != 0 : low_bytes((uint64_t)i, dtype_info[t->dtype].bytes);
        set_value(c, a, t, value, !rule->no_divisible && t->dtype != DT_i1);
        return;
    }
    if (t->kind == LT_number && !is_int_type(t) && (is_int || x->kind == OBJ_float)) {
        double f = x->kind == OBJ_float ? x->f : x->kind == OBJ_bool ? (double)x->b : (double)x->i;
        set_value(c, a, t, double_to_bits(t->dtype, f), false);
        return;
    }
    struct text wanted;
    text_init(&wanted, c->eval->arena);
    lang_print(t, &wanted);
    eval_raise(c->eval, c->loc, "TypeError", ERR_launch_forced, a->name, kernel_name(c), wanted.s,
               obj_type_name(x));
}

static void set_int(struct call *c, struct spec_arg *a, const struct param_rule *rule, struct obj *x)
{
    struct eval *e = c->eval;
    wide i = x->i, limit = (wide)1 << 63;
    if (i == 1 && !rule->no_one) {
        set_const(a, x);
        a->equals_one = true;
        a->type = lang_number(e, DT_i32, false);
        return;
    }
    if (i < -limit || i >= 2 * limit)
        eval_raise(e, c->loc, "OverflowError", ERR_launch_integer, a->name, kernel_name(c));
    enum dtype dtype = i >= INT32_MIN && i <= INT32_MAX ? DT_i32 : DT_i64;
    set_value(c, a, lang_number(e, dtype, i >= limit), low_bytes((uint64_t)i, dtype_info[dtype].bytes),
              !rule->no_divisible);
}

/* Sets `a` to a pointer type; a->divisible is 16 if the address is a multiple of 16. Raises an exception if
 * the tensor cannot be placed on the device (no memory, or a failed copy). */
static void set_pointer(struct call *c, struct spec_arg *a, const struct param_rule *rule, struct pointer p)
{
    if (p.address == 0 && c->program->fault.status)
        host_raise_fault(c->eval, c->loc);
    c->tensors[c->nvalues] = p.tensor;
    set_value(c, a, lang_ptr(c->eval, p.elem, rule->is_const_pointer), p.address, !rule->no_divisible);
}

static void set_arg(struct call *c, struct spec_arg *a, const struct param_rule *rule, struct obj *x)
{
    struct eval *e = c->eval;
    struct pointer pointer;
    const struct lang_type *pointee = c->how.warmup ? c->program->as_pointee(e, x) : NULL;
    *a = (struct spec_arg){.name = rule->name, .divisible = 1};
    if (rule->is_constexpr || x->is_constexpr || x->kind == OBJ_none || x->kind == OBJ_jit ||
        x->kind == OBJ_function)
        set_const(a, x);
    else if (pointee)
        set_value(c, a, lang_ptr(e, pointee, rule->is_const_pointer), 0, !rule->no_divisible);
    else if (c->program->as_pointer(e, x, &pointer))
        set_pointer(c, a, rule, pointer);
    else if (rule->type && rule->type->kind == LT_number)
        set_forced(c, a, rule, x);
    else if (x->kind == OBJ_bool)
        set_value(c, a, lang_number(e, DT_i1, true), x->b, false);
    else if (x->kind == OBJ_int)
        set_int(c, a, rule, x);
    else if (x->kind == OBJ_float)
        set_value(c, a, lang_number(e, DT_f32, false), double_to_bits(DT_f32, x->f), false);
    else
        eval_raise(e, c->loc, "TypeError", ERR_launch_argument, rule->name, kernel_name(c), obj_type_name(x));
}

/* Adds x to c->leaves; if x is a tuple or a tensor descriptor, adds its items instead. Returns a tuple with
 * the structure of x, for spec.parts; NULL for other x. */
static struct obj *take_apart(struct call *c, const struct param_rule *rule, struct obj *x)
{
    struct eval *e = c->eval;
    struct obj *parts = rule->is_constexpr || x->is_constexpr ? NULL : argument_parts(e, x);
    if (!parts) {
        VEC_PUSH(e->arena, &c->leaves, x);
        VEC_PUSH(e->arena, &c->leaf_rules, rule);
        return NULL;
    }
    struct obj **items = NEW_ARRAY(e->arena, parts->seq.n, struct obj *);
    for (int i = 0; i < parts->seq.n; i++) {
        items[i] = take_apart(c, rule, parts->seq.at[i]);
        items[i] = items[i] ? items[i] : obj_none;
    }
    return obj_tuple_like(e, parts, items);
}

static void specialize(struct call *c)
{
    struct eval *e = c->eval;
    const struct callee *callee = c->callee;
    int n = callee->nrules - callee->has_meta;
    struct obj **parts = NEW_ARRAY(e->arena, n, struct obj *);
    for (int i = 0; i < n; i++) {
        parts[i] = take_apart(c, &callee->rules[i], scope_get(c->bound, callee->rules[i].name));
        c->spec.parts = parts[i] ? parts : c->spec.parts;
    }
    c->spec.nargs = c->leaves.n;
    c->spec.args = NEW_ARRAY(e->arena, c->leaves.n, struct spec_arg);
    c->values = NEW_ARRAY(e->arena, c->leaves.n, uint64_t);
    c->tensors = NEW_ARRAY(e->arena, c->leaves.n, struct launch_tensor);
    for (int i = 0; i < c->leaves.n; i++)
        set_arg(c, &c->spec.args[i], c->leaf_rules.at[i], c->leaves.at[i]);
    struct obj *meta = callee->has_meta ? scope_get(c->bound, callee->rules[n].name) : NULL;
    if (!meta)
        return;
    const struct dict *d = meta->dict;
    c->spec.meta_names = NEW_ARRAY(e->arena, d->nlive, const char *);
    c->spec.meta_values = NEW_ARRAY(e->arena, d->nlive, struct obj *);
    for (int i = 0; i < d->entries.n; i++) {
        if (!d->entries.at[i].key)
            continue;
        c->spec.meta_names[c->spec.nmeta] =
            intern(e->strings, d->entries.at[i].key->str.s, d->entries.at[i].key->str.n);
        c->spec.meta_values[c->spec.nmeta++] = d->entries.at[i].value;
    }
}

/* -- the grid -- */

static bool is_callable(const struct obj *x)
{
    return x->kind == OBJ_function || x->kind == OBJ_method || x->kind == OBJ_builtin;
}

/* Returns a dict of all arguments by name: the argument with which a grid function is called. */
static struct obj *meta_dict(struct call *c)
{
    struct eval *e = c->eval;
    struct obj *meta = obj_dict(e);
    for (int i = 0; i < c->callee->nrules - c->callee->has_meta; i++) {
        const char *name = c->callee->rules[i].name;
        dict_set(e, meta->dict, obj_cstr(e, name), scope_get(c->bound, name));
    }
    for (int i = 0; i < c->spec.nmeta; i++)
        dict_set(e, meta->dict, obj_cstr(e, c->spec.meta_names[i]), c->spec.meta_values[i]);
    return meta;
}

static void set_axis(struct call *c, int axis, struct obj *x)
{
    static const int64_t most[3] = {0x7fffffff, 65535, 65535};
    int64_t n;
    if (!obj_as_int(x, &n))
        eval_raise(c->eval, c->loc, "TypeError", ERR_grid_shape, obj_type_name(x));
    if (n < 0 || n > most[axis])
        eval_raise(c->eval, c->loc, "ValueError", ERR_grid_size, axis, n, most[axis]);
    c->launch.grid[axis] = (uint32_t)n;
}

static void set_grid(struct call *c, struct obj *grid)
{
    struct eval *e = c->eval;
    if (is_callable(grid))
        grid = eval_call1(e, grid, meta_dict(c), c->loc);
    c->launch.grid[0] = c->launch.grid[1] = c->launch.grid[2] = 1;
    if (grid->kind != OBJ_tuple && grid->kind != OBJ_list) {
        set_axis(c, 0, grid);
        return;
    }
    if (grid->seq.n < 1 || grid->seq.n > 3)
        eval_raise(e, c->loc, "ValueError", ERR_grid_shape, grid->seq.n ? "more than 3" : "none");
    for (int i = 0; i < grid->seq.n; i++)
        set_axis(c, i, grid->seq.at[i]);
}

/* -- specializations -- */

static void key_type(const struct lang_type *t, struct text *key)
{
    text_char(key, (char)('0' + t->kind));
    text_char(key, (char)('a' + t->dtype));
    text_char(key, t->is_unsigned ? 'u' : t->is_const ? 'k' : '-');
    if (t->kind == LT_ptr)
        key_type(t->elem, key);
}

/* Appends the key of a constant: its kind, and the text of its value, or, for kinds whose text may be the
 * same for different values, the address of the object. So a kernel cannot distinguish constants with equal
 * keys. */
static void key_const(struct call *c, struct obj *x, struct text *key)
{
    bool is_plain = x->kind <= OBJ_tuple || x->kind == OBJ_type;
    text_printf(key, "=%d:", (int)x->kind);
    if (is_plain)
        obj_print(c->eval, x, key, true);
    else
        text_bytes(key, (const char *)&x, sizeof x);
}

static void key_parts(const struct obj *x, struct text *key)
{
    if (!x || x->kind != OBJ_tuple) {
        text_char(key, '.');
        return;
    }
    text_char(key, '(');
    text_bytes(key, (const char *)&x->class_of, sizeof x->class_of);
    for (int i = 0; i < x->seq.n; i++)
        key_parts(x->seq.at[i], key);
    text_char(key, ')');
}

static struct text make_key(struct call *c)
{
    const struct spec *s = &c->spec;
    struct text key;
    text_init(&key, &c->program->scratch);
    text_bytes(&key, (const char *)&c->jit, sizeof c->jit);
    text_printf(&key, "%d,%d,%d,%d,%d,%d,%d;", s->num_warps, s->num_stages, s->maxnreg, s->fp_fusion,
                s->deterministic, s->fp_reassoc, s->debug);
    for (int i = 0; s->parts && i < c->callee->nrules - c->callee->has_meta; i++)
        key_parts(s->parts[i], &key);
    for (int i = 0; i < s->nargs; i++) {
        const struct spec_arg *a = &s->args[i];
        text_char(&key, a->equals_one ? '1' : a->divisible == 16 ? 'd' : '-');
        if (a->is_const)
            key_const(c, a->value, &key);
        else
            key_type(a->type, &key);
    }
    for (int i = 0; i < s->nmeta; i++) {
        text_printf(&key, ";%s", s->meta_names[i]);
        key_const(c, s->meta_values[i], &key);
    }
    return key;
}

/* Warns of a difference that a check found between the PTX and the traced IR. Called if
 * neso_run_options.checked is NULL. */
static void warn_of_difference(void *user, const neso_checked *x)
{
    struct program *p = user;
    if (x->verdict == NESO_CHECK_DIFFERS)
        diag_warn(&p->module->diag, (struct loc){.line = x->line}, ERR_check_differs, x->kernel, x->text,
                  x->pass, *x->without ? x->without : "nothing");
}

/* Compiles a kernel, inside the guard() of the running program. Stores the kernel in the program's table
 * (*slot) before the compilation. So the kernel is freed at the end of the program even if the compilation
 * unwinds. */
static void compile(struct call *c, void **slot)
{
    struct program *p = c->program;
    struct eval *e = c->eval;
    struct neso_kernel *k = kernel_new(p->module);
    if (!k)
        diag_fatal(e->diag, c->loc, ERR_device_memory, "for a kernel");
    *slot = k;
    k->name = kernel_name(c);
    k->jit = c->jit;
    k->spec = c->spec;
    k->options.skip = p->options.skip;
    k->options.check = p->options.check;
    k->options.checked = p->options.checked ? p->options.checked : warn_of_difference;
    k->options.user = p->options.checked ? p->options.user : p;
    k->thresholds = p->thresholds;
    int nerrors = e->diag->nerrors;
    kernel_build(k);
    if (e->diag->nerrors > nerrors) {
        struct text with;
        text_init(&with, e->arena);
        spec_print(k, &with);
        diag_note(e->diag, eval_place(e, c->loc), ERR_launched_with, with.s);
        *slot = NULL;
        kernel_drop(k);
        if (p->options.compile_only && !e->handler->outer) /* the program does not catch the error */
            return;
        eval_raise(e, c->loc, "CompilationError", ERR_launch_compile, kernel_name(c));
    }
    context_record(k);
    if (p->options.compiled)
        p->options.compiled(p->options.user, k);
}

static struct neso_kernel *find_kernel(struct call *c)
{
    struct program *p = c->program;
    struct text key = make_key(c);
    void **known = map_get(&p->kernels, key.s, key.len);
    if (!known || !*known) {
        char *kept = arena_strndup(&p->module->arena, key.s, key.len);
        known = map_at(&p->kernels, kept, key.len);
        compile(c, known);
        known = map_get(&p->kernels, kept, key.len);
    }
    arena_reset(&p->scratch, p->empty);
    return *known;
}

static void write_print(void *ctx, const char *s, size_t n)
{
    struct program *p = ctx;
    if (p->options.write)
        p->options.write(p->options.user, s, n, false);
}

/* -- calls of host code by a running kernel -- */

struct hosting {
    struct program *program;
    struct eval *eval;
    const struct neso_kernel *kernel;
    const struct launch *launch;
    struct loc launched_at;
    const struct call_record *outside; /* the calls that are active where the program launches the kernel */
    const struct stop *stop;           /* the place in the kernel that is being executed */
    struct exception raised;
    bool has_raised, has_ended; /* an exception, or a fatal error, has ended the launch */
};

/* Returns the chain of calls that leads from the launch to a location in the kernel. */
static const struct call_record *calls_to(struct hosting *h, struct loc at)
{
    const struct diag *d = h->eval->diag;
    struct call_record *record = NEW(h->eval->arena, struct call_record);
    if (at.call)
        *record = (struct call_record){d->calls.at[at.call].at, d->calls.at[at.call].callee,
                                       calls_to(h, d->calls.at[at.call].at)};
    else
        *record = (struct call_record){h->launched_at, h->kernel->name, h->outside};
    return record;
}

static void run_site(struct hosting *h, const struct stop *stop)
{
    struct eval *e = h->eval;
    e->calls = stop->outside;
    if (stop->call->nan_at)
        debugger_nan(h->program, e, stop);
    else if (stop->site->kind == SITE_statement)
        debugger_prompt(h->program, e, stop);
    else
        host_site_run(e, stop->site, stop->call->values, stop->call->result);
    e->calls = h->outside;
}

/* Executes a call of host code by a kernel. This function may run on a thread of the interpreter, so it catches
 * exceptions and fatal errors: a longjmp must not leave it. */
static bool answer(void *ctx, const struct host_call *call)
{
    struct hosting *h = ctx;
    struct eval *e = h->eval;
    const struct host_site *site = h->kernel->spec.sites.at[call->site];
    if (site->kind == SITE_statement && !call->nan_at && !debugger_stops(h->program, site, call->pid))
        return true;
    struct stop stop = {
        site, call, calls_to(h, site->loc), h->kernel->name, h->launch, h->kernel->traced, &h->kernel->spec};
    const struct stop *outer = h->stop;
    jmp_buf here, *fatal = e->diag->fatal;
    struct handler handler;
    h->stop = &stop;
    handler_push(e, &handler);
    e->diag->fatal = &here;
    if (setjmp(here) != 0) {
        h->has_ended = true;
    } else if (setjmp(handler.jump) == 0) {
        run_site(h, &stop);
        handler_pop(e, &handler);
    } else {
        h->raised = handler.raised;
        h->has_raised = true;
    }
    e->diag->fatal = fatal;
    h->stop = outer;
    return !h->has_raised && !h->has_ended;
}

void call_breakpoint(void *ctx, struct eval *e, struct loc at)
{
    struct program *p = ctx;
    if (!p->hosting || !p->hosting->stop)
        eval_raise(e, at, "RuntimeError", ERR_breakpoint_outside);
    debugger_prompt(p, e, p->hosting->stop);
}

/* Launches the kernel, and then rethrows an exception that host code raised during the launch. */
static bool launch(struct call *c, struct neso_kernel *k, struct fault *f)
{
    struct program *p = c->program;
    struct hosting h = {.program = p,
                        .eval = c->eval,
                        .kernel = k,
                        .launch = &c->launch,
                        .launched_at = c->loc,
                        .outside = c->eval->calls},
                   *outer = p->hosting;
    diag_hurry(c->eval->diag, eval_place(c->eval, c->loc));
    c->launch.host = answer;
    c->launch.host_ctx = &h;
    c->launch.finds_nan = &p->debugger.finds_nan;
    p->hosting = &h;
    bool good = kernel_launch(k, &c->launch, f);
    p->hosting = outer;
    if (h.has_ended)
        longjmp(*c->eval->diag->fatal, 1);
    if (h.has_raised)
        eval_throw(c->eval, &h.raised);
    return good;
}

/* -- traces of floats -- */

/* Warns of each op at which results that were later stored began to lose bits. A program gets at most one
 * warning for each op. */
static void warn_of_losses(struct call *c, const struct float_trace *t)
{
    for (int i = 0; i < t->nbirths; i++) {
        const struct trace_birth *b = &t->births[i];
        void **told = map_at_ptr(&c->program->traced, b->op);
        if (!b->count || *told)
            continue;
        *told = c;
        struct text what;
        text_init(&what, c->eval->arena);
        if (b->worst >= 64)
            text_printf(&what, "%d of them overflowed", (int)(b->count < INT32_MAX ? b->count : INT32_MAX));
        else
            text_printf(&what, "%d of them, up to %d bits",
                        (int)(b->count < INT32_MAX ? b->count : INT32_MAX), (int)b->worst);
        text_printf(&what, "; the first in program (%d, %d, %d): %s", b->pid[0], b->pid[1], b->pid[2],
                    b->text);
        diag_warn(c->eval->diag, b->op->loc, ERR_precision, what.s);
    }
}

static bool launch_traced(struct call *c, struct neso_kernel *k, struct fault *f)
{
    struct program *p = c->program;
    if (!p->options.trace || p->device->class != &device_interpreter)
        return launch(c, k, f);
    struct float_trace t;
    trace_init(&t, p->options.trace == 1 ? TRACE_nan : TRACE_precision, p->options.trace_bits,
               &p->context->mem);
    c->launch.trace = &t;
    bool good = launch(c, k, f);
    c->launch.trace = NULL;
    warn_of_losses(c, &t);
    return good;
}

static void take_options(struct spec *s, const struct spec *from)
{
    s->num_warps = from->num_warps;
    s->num_stages = from->num_stages;
    s->maxnreg = from->maxnreg;
    s->fp_fusion = from->fp_fusion;
    s->deterministic = from->deterministic;
    s->fp_reassoc = from->fp_reassoc;
    s->debug = from->debug;
}

struct obj *launch_plain(struct program *p, struct eval *e, struct obj *jit, struct obj *grid,
                         const struct args *args, struct launch_how how)
{
    struct fault f;
    struct call c = {
        .program = p, .eval = e, .jit = jit, .callee = find_callee(p, e, jit), .how = how, .loc = args->loc};
    const struct target *any = target_by_name("sm_90a");
    c.spec = (struct spec){.num_warps = 4,
                           .num_stages = 3,
                           .num_ctas = 1,
                           .fp_fusion = true,
                           .deterministic = p->deterministic,
                           .fp_reassoc = p->fp_reassoc,
                           .debug = jit->jit->debug ? DEBUG_all : DEBUG_none,
                           .target = p->device->target ? p->device->target : any,
                           .interpreter = !p->device->class->takes_ptx,
                           .stops = p->options.break_at || p->debugger.finds_nan};
    if (how.like)
        take_options(&c.spec, how.like);
    bind(&c, args);
    c.spec.debug = p->debug ? DEBUG_all : c.spec.debug;
    specialize(&c);
    if (how.warmup) {
        struct neso_kernel *k = find_kernel(&c);
        return k ? compiled_obj(e, k) : obj_none;
    }
    set_grid(&c, grid);
    if (c.launch.grid[0] == 0 || c.launch.grid[1] == 0 || c.launch.grid[2] == 0)
        return obj_none;
    struct neso_kernel *k = find_kernel(&c);
    if (!k) /* the kernel does not compile, but the program continues */
        return obj_none;
    if (p->notes)
        bench_note(p->notes, k);
    p->launches++;
    if (p->is_dry)
        return compiled_obj(e, k);
    c.launch.args = c.values;
    c.launch.nargs = c.nvalues;
    c.launch.tensors = c.tensors;
    c.launch.races = (enum races)p->options.races;
    c.launch.write = write_print;
    c.launch.write_ctx = p;
    c.launch.budget = &p->context->budget;
    bool ran = launch_traced(&c, k, &f);
    if (p->options.accessed)
        proofs_tell(p, k, &c.launch, ran);
    if (!ran)
        program_raise(e, c.loc, &f);
    if (p->options.launched && !p->is_timing && !digests_tell(p, e, k, &c.launch))
        program_raise(e, c.loc, &p->fault);
    if (p->options.timing == NESO_TIMING_LAUNCHES && !p->is_timing && p->device->class->takes_ptx)
        bench_launch(p, e, k, &c.launch, c.loc);
    return compiled_obj(e, k);
}
