/* SPDX-License-Identifier: MIT */
/* compile.c: compiles a kernel from its specialization to its texts, stage by stage, and implements the
 * functions of neso.h on compiled kernels.
 *
 *     spec ──trace──► IR ──opt──► scheduled IR ──codegen──► PTX, ptx_info ──► launch plan
 *     IR file ──parse─┘
 *
 * The first compilation of a kernel ends at the stage of the requested text, and stores this text. Passes
 * change the IR in place, so neso compiles the kernel again from the start for each other text. */
#include "runtime/runtime.h"

#include "opt/passes.h"

#include <stdio.h>
#include <string.h>

/* -- objects -- */

struct neso_kernel *kernel_new(struct neso_module *m)
{
    struct memory *mem = &m->context->mem;
    struct neso_kernel *k = mem->alloc(mem->ctx, sizeof *k);
    if (!k)
        return NULL;
    memset(k, 0, sizeof *k);
    k->refs = 1;
    k->module = m;
    k->device = m->context->device.class ? &m->context->device : NULL;
    k->thresholds = params_default;
    m->refs++;
    module_arena(m, &k->arena);
    module_arena(m, &k->scratch);
    pthread_mutex_init(&k->lock, NULL);
    return k;
}

void kernel_drop(struct neso_kernel *k)
{
    if (--k->refs > 0)
        return;
    struct neso_module *m = k->module;
    plan_release(k);
    if (k->loaded)
        k->device->class->unload(k->device, k->loaded);
    codes_free(k);
    if (k->replacement) {
        rebuild_free(k->replacement);
        m->context->mem.free(m->context->mem.ctx, k->replacement, sizeof *k->replacement);
    }
    arena_free(&k->arena);
    arena_free(&k->scratch);
    pthread_mutex_destroy(&k->lock);
    m->context->mem.free(m->context->mem.ctx, k, sizeof *k);
    module_drop(m);
}

void neso_kernel_release(neso_kernel *kernel)
{
    if (kernel)
        kernel_drop(kernel);
}

/* -- stages -- */

/* Verifies the IR of an IR file, and reports an error if it is invalid. IR that the tracer makes is always valid. */
static bool is_valid(struct diag *d, const struct func *f)
{
    const struct op *at = NULL;
    const char *wrong = func_verify(f, &at);
    if (!wrong)
        return true;
    struct text t;
    text_init(&t, d->arena);
    if (at)
        op_print(at, &t);
    diag_error(d, (struct loc){0}, ERR_ir_invalid, f->name, wrong, at ? t.s : "the kernel");
    return false;
}

/* Parses an IR file into k->ir, and returns the kernel with k's name. If k's options give a target, sets
 * it in the kernel. If they give num_warps, sets it too, but only if no pass has changed the IR
 * (DEGREE_traced). Returns NULL after an error, which it reports. */
static struct func *parse_ir(struct neso_kernel *k)
{
    struct diag *d = &k->module->diag;
    if (!module_parse(k->ir, k->module->source))
        return NULL;
    for (int i = 0; i < k->ir->funcs.n; i++) {
        struct func *f = k->ir->funcs.at[i];
        if (strcmp(f->name, k->name) != 0)
            continue;
        if (k->options.target)
            f->target = k->spec.target;
        if (k->options.num_warps && f->degree == DEGREE_traced)
            f->num_warps = k->options.num_warps;
        return is_valid(d, f) ? f : NULL;
    }
    diag_error(d, (struct loc){0}, ERR_no_kernel, k->name, k->module->source->name);
    return NULL;
}

/* Returns the IR before any pass; NULL after errors, which it reports. */
static struct func *trace(struct neso_kernel *k)
{
    struct neso_module *m = k->module;
    double start = seconds_now();
    m->diag.stage = "trace";
    k->ir = NEW(&k->arena, struct module);
    module_init(k->ir, &k->arena, &k->scratch, &m->diag);
    k->ir->ops_most = m->context->ir_limit;
    k->ir->params = &k->thresholds;
    m->printer.ctx = k->id ? NULL : m->context; /* static_print prints only in the first trace */
    struct func *f = m->is_ir ? parse_ir(k) : frontend_trace(&m->eval, k->jit, &k->spec, k->ir);
    m->eval.at = f ? f->loc : (struct loc){0};
    k->seconds[STAGE_trace] = seconds_now() - start;
    if (f && f->degree == DEGREE_traced)
        opt_check_order(f);
    if (!f || m->diag.nerrors)
        return NULL;
    if (!k->id)
        kernel_describe(k, f);
    if (f->degree == DEGREE_traced)
        kernel_note_written(k, f);
    return f;
}

/* -- dumps and explanations for the caller -- */

static void forward_text(void *ctx, const char *pass, const char *s, size_t n)
{
    const struct neso_kernel *k = ctx;
    k->options.write(k->options.user, pass, s, n);
}

static void forward_note(void *ctx, const struct explanation *x)
{
    struct neso_kernel *k = ctx;
    struct text t;
    text_init(&t, &k->scratch);
    explanation_print(x, &t);
    const struct loc at = x->at ? x->at->loc : (struct loc){0};
    const neso_note note = {sizeof note,
                            decision_info[x->what].pass,
                            decision_info[x->what].name,
                            at.file,
                            (int)at.line,
                            (int)at.col,
                            explanation_grade(x),
                            x->numbers[0],
                            t.s};
    k->options.note(k->options.user, &note);
}

static void forward_registers(void *ctx, int line, int registers)
{
    const struct neso_kernel *k = ctx;
    char text[64];
    snprintf(text, sizeof text, "line %d: %d", line, registers);
    const neso_note note = {sizeof note, "registers", "line_registers", 0, line, 1, 0, registers, text};
    k->options.note(k->options.user, &note);
}

static bool optimize(struct neso_kernel *k, struct func *f, neso_text which)
{
    const struct neso_compile_options *given = &k->options;
    struct diag *d = &k->module->diag;
    struct opt_options o = {
        .passes = given->passes,
        .stop_after = given->stop_after,
        .skip = given->skip,
        .print_after = given->print_after,
        .explain = given->explain,
        .print_changed = given->print_changed,
        .verify_each = given->verify_each,
        .time = given->time,
        .write = given->write ? forward_text : NULL,
        .note = given->note ? forward_note : NULL,
        .write_ctx = k,
        .spilled_regs = codegen_spilled_regs,
        .makes_code = which > NESO_TEXT_OPT && which != NESO_TEXT_EXPLAIN,
    };
    if (which == NESO_TEXT_PTX)
        plan_keep(k, f);
    double start = seconds_now();
    if (!f->target && (!o.passes || o.makes_code))
        f->target = k->spec.target;
    if (f->degree != DEGREE_scheduled || o.passes)
        opt_run(f, &o);
    k->seconds[STAGE_opt] = seconds_now() - start;
    bool done = f->degree == DEGREE_scheduled || which <= NESO_TEXT_OPT;
    if (!done && d->nerrors == 0)
        diag_error(d, f->loc, ERR_not_scheduled, f->name);
    return d->nerrors == 0;
}

static void codegen(struct neso_kernel *k, struct func *f, struct text *out, bool mir)
{
    const bool explains = opt_is_listed(k->options.explain, "registers");
    struct codegen_options o = {.verbose = k->options.verbose_ptx,
                                .debug_loc = true,
                                .emit_mir = mir,
                                .skip = k->options.skip,
                                .ctx = k};
    double start = seconds_now();
    k->module->diag.stage = "codegen";
    struct text registers;
    text_init(&registers, &k->arena);
    text_str(&registers, "");
    if (explains && k->options.note)
        o.line_registers = forward_registers;
    else if (explains && k->options.write)
        o.registers = &registers;
    codegen_emit(f, &o, out, &k->info);
    if (k->module->diag.nerrors == 0)
        context_event(k->module->context, NESO_EVENT_COMPILED, "%s for %s in %.1f ms", neso_kernel_id(k),
                      f->target ? f->target->name : "no target",
                      1e3 * (k->seconds[STAGE_opt] + seconds_now() - start));
    if (o.registers)
        k->options.write(k->options.user, "registers", registers.s, registers.len);
    k->seconds[STAGE_codegen] = seconds_now() - start;
}

/* Prints all kernels of an IR file, because the caller named no kernel. */
static void make_file(struct neso_kernel *k, neso_text which, struct text *out)
{
    for (int i = 0; which == NESO_TEXT_OPT && i < k->ir->funcs.n; i++)
        if (!optimize(k, k->ir->funcs.at[i], which))
            return;
    module_print(k->ir, out);
}

static void keep(struct neso_kernel *k, neso_text which, const struct text *t)
{
    if (k->module->diag.nerrors)
        return;
    k->texts[which].s = t->s;
    k->texts[which].len = t->len;
}

/* -- the launch plan -- */

static void plan_params(const struct neso_kernel *k, struct text *out)
{
    text_str(out, "  \"params\": [");
    int at = 0;
    for (int i = 0; i < k->nparams; i++) {
        const struct neso_param *p = &k->params[i];
        text_printf(out, "%s\n    {\"name\": \"%s\", \"type\": \"%s\", ", i ? "," : "", p->name, p->type);
        if (p->equals_one) {
            text_str(out, "\"equals\": 1}");
            continue;
        }
        const struct ptx_param *slot = &k->info.params.at[at++];
        text_printf(out, "\"offset\": %d, \"bytes\": %d, \"divisible\": %d}", slot->offset_bytes, slot->bytes,
                    p->divisible);
    }
    text_str(out, k->nparams ? "\n  ],\n" : "],\n");
}

static void plan_constants(const struct neso_kernel *k, struct text *out)
{
    const char *comma = "";
    text_str(out, "  \"constants\": {");
    for (int i = 0; i < k->spec.nargs + k->spec.nmeta; i++) {
        const struct spec_arg *a = i < k->spec.nargs ? &k->spec.args[i] : NULL;
        if (a && (!a->is_const || a->equals_one))
            continue;
        struct text value;
        text_init(&value, &k->module->arena);
        int meta = i - k->spec.nargs;
        obj_print(&k->module->eval, a ? a->value : k->spec.meta_values[meta], &value, true);
        text_printf(out, "%s\"%s\": ", comma, a ? a->name : k->spec.meta_names[meta]);
        text_json_string(out, value.s);
        comma = ", ";
    }
    text_str(out, "},\n");
}

static void plan_variants(const struct neso_kernel *k, struct text *out)
{
    const struct launch_traits t = plan_traits(&k->info);
    for (enum variant v = 0; v < VARIANT_count; v++) {
        const struct variant_info *x = &variant_info[v];
        const bool is_last = v == variant_fallback(&t);
        if (!x->exists(&t) || (is_last && !has_plan(k)))
            continue;
        text_printf(out, ",\n    {%s\"without\": \"%s\"", is_last ? "\"guards\": [], " : "", x->without);
        if (*x->where)
            text_printf(out, ", \"where\": \"%s\"", x->where);
        text_str(out, "}");
    }
}

/* Prints the launch plan as JSON, for launchers that do not call neso_launch. Such a launcher must check
 * the promises of the signature at every launch. If "pairs" is not 0 and the grid's size along axis 0 is a
 * multiple of "pairs", the launcher may launch CTAs in pairs. If "grid" is "persistent", the launcher
 * launches "ctas_per_sm" CTAs for each SM; for pairs, the total number of program instances must then be a
 * multiple of "pairs". If a guard fails or a tensor map cannot be encoded, the launcher must launch the
 * last variant, which has no guards and no maps. */
static void make_plan(struct neso_kernel *k, const char *name, const struct target *target, struct text *out)
{
    text_printf(out, "{\n  \"kernel\": \"%s\",\n  \"target\": \"%s\",\n", name, target->name);
    plan_constants(k, out);
    plan_params(k, out);
    text_str(out, "  \"variants\": [\n    {");
    plan_print(k, out);
    text_printf(out,
                "\"grid\": \"%s\", \"ctas_per_sm\": %d, \"late_part\": %d, \"pairs\": %d, \"packs\": %d, "
                "\"threads\": %d, ",
                k->info.persistent ? "persistent" : "logical", k->info.persistent, k->info.late_part,
                k->info.pair_multiple, k->info.packs, k->info.num_threads);
    text_printf(out, "\"shared_bytes\": %d, \"live_registers\": %d, \"ptx_version\": \"%d.%d\"}",
                k->info.shared_bytes, k->info.live_regs, k->info.ptx_version / 10, k->info.ptx_version % 10);
    plan_variants(k, out);
    text_str(out, "\n  ]\n}\n");
}

/* -- texts -- */

static void make_ast(struct neso_kernel *k, struct text *out)
{
    if (k->module->is_ir)
        diag_error(&k->module->diag, (struct loc){0}, ERR_no_tree, k->module->source->name);
    else
        ast_print(k->jit->jit->fn.def, out);
}

static void make_ptx(struct neso_kernel *k, struct func *f, struct text *out, bool mir)
{
    codegen(k, f, out, mir);
    if (!mir)
        keep(k, NESO_TEXT_PTX, out);
}

/* Makes the PTX: reads it from the cache, or else compiles the kernel and stores its PTX in the cache. If the
 * compilation has messages, nothing is stored, because a later read from the cache would not report them. */
static void make_kept(struct neso_kernel *k, struct func *f)
{
    struct diag *d = &k->module->diag;
    int nmessages = d->list.n;
    if (!f->target)
        f->target = k->spec.target;
    const char *key = ptx_cache_key(k, f);
    if (ptx_cache_read(k, f, key)) {
        context_event(k->module->context, NESO_EVENT_CACHED, "%s for %s", neso_kernel_id(k), f->target->name);
        plan_keep(k, f);
        return;
    }
    if (k->module->context->cache.strict) {
        ptx_cache_miss(k, f, key);
        return;
    }
    struct text out;
    text_init(&out, &k->arena);
    if (!optimize(k, f, NESO_TEXT_PTX))
        return;
    make_ptx(k, f, &out, false);
    if (d->list.n == nmessages)
        ptx_cache_write(k, f, key);
}

static void collect(void *user, const char *pass, const char *text, size_t length)
{
    (void)pass;
    text_bytes(user, text, length);
}

/* Makes NESO_TEXT_EXPLAIN, the reasons for the decisions of every pass. */
static void make_explanation(struct neso_kernel *k)
{
    const struct neso_compile_options asked = k->options;
    struct text out;
    text_init(&out, &k->arena);
    text_str(&out, "");
    k->options.explain = "all";
    k->options.write = collect;
    k->options.note = NULL;
    k->options.user = &out;
    struct func *f = trace(k);
    bool good = f && optimize(k, f, NESO_TEXT_EXPLAIN);
    k->options = asked;
    if (good)
        keep(k, NESO_TEXT_EXPLAIN, &out);
}

/* Makes the record of k, or the bundle that contains only k. The record and the bundle describe the kernel as compiled
 * for a GPU, even if the interpreter runs it. */
static void make_portable(struct neso_kernel *k, neso_text which, struct text *out)
{
    const struct spec asked = k->spec;
    k->spec.interpreter = k->spec.stops = false;
    struct func *f = trace(k);
    if (f && !f->target)
        f->target = k->spec.target;
    if (f && which == NESO_TEXT_RECORD) {
        bundle_record(k, f, out);
    } else if (f) {
        k->keeps_plan = true;
        plan_keep(k, f);
        if (!k->texts[NESO_TEXT_PTX].s)
            kernel_make(k, NESO_TEXT_PTX);
        if (k->module->diag.nerrors == 0)
            bundle_write(k, f, out);
    }
    k->spec = asked;
    keep(k, which, out);
}

/* Returns whether the context may make the text. A context that uses a bundle compiles nothing: it makes only
 * texts that need no passes, and reads the PTX from the bundle. */
static bool is_without_compiling(const struct neso_kernel *k, neso_text which)
{
    if (k->module->is_bundle)
        return which == NESO_TEXT_JSON;
    if (!k->module->context->bundle.text)
        return true;
    return which <= NESO_TEXT_IR || which == NESO_TEXT_PTX || which == NESO_TEXT_RECORD;
}

void kernel_make(struct neso_kernel *k, neso_text which)
{
    struct text out;
    if (!is_without_compiling(k, which)) {
        diag_error(&k->module->diag, (struct loc){0}, ERR_bundle_text, k->name, neso_text_name(which));
        return;
    }
    text_init(&out, &k->arena);
    text_str(&out, "");
    if (which == NESO_TEXT_AST) {
        make_ast(k, &out);
        keep(k, which, &out);
        return;
    }
    if (which == NESO_TEXT_EXPLAIN) {
        make_explanation(k);
        return;
    }
    if (k->module->is_bundle) {
        make_plan(k, k->name, k->spec.target, &out);
        keep(k, which, &out);
        return;
    }
    if (which == NESO_TEXT_RECORD || which == NESO_TEXT_BUNDLE) {
        make_portable(k, which, &out);
        return;
    }
    struct func *f = trace(k);
    if (f && which == NESO_TEXT_PTX && k->module->context->bundle.text) {
        f->target = f->target ? f->target : k->spec.target;
        bundle_take(k, f);
        return;
    }
    if (f && which == NESO_TEXT_PTX && ptx_cache_applies(k)) {
        make_kept(k, f);
        return;
    }
    if (f && k->whole_file && which <= NESO_TEXT_OPT) {
        make_file(k, which, &out);
        keep(k, which, &out);
        return;
    }
    if (!f || (which > NESO_TEXT_IR && !optimize(k, f, which)))
        return;
    if (which <= NESO_TEXT_OPT)
        func_print(f, &out);
    else
        make_ptx(k, f, &out, which == NESO_TEXT_MIR);
    if (which == NESO_TEXT_JSON && k->module->diag.nerrors == 0) {
        text_init(&out, &k->arena);
        make_plan(k, f->name, f->target, &out);
    }
    keep(k, which, &out);
}

static void build(struct neso_kernel *k)
{
    if (k->device && !k->device->class->takes_ptx && k->module->context->bundle.text) {
        diag_error(&k->module->diag, (struct loc){0}, ERR_bundle_device, k->device->text);
        return;
    }
    if (k->device && !k->device->class->takes_ptx) {
        k->traced = trace(k);
        if (k->traced && k->options.check)
            plan_keep(k, k->traced);
        if (!k->traced || k->options.until == 0)
            return;
    }
    kernel_make(k, k->options.until ? k->options.until : NESO_TEXT_PTX);
}

void kernel_build(struct neso_kernel *k)
{
    build(k);
    if (k->module->context->wants_capsule && !k->options.until && k->module->diag.nerrors == 0)
        capsule_prepare(k);
}

const char *neso_text_name(neso_text text)
{
    static const char *const names[TEXT_count] = {NULL,  "ast",  "ir",      "opt",    "mir",
                                                  "ptx", "json", "explain", "record", "bundle"};
    return (unsigned)text < TEXT_count ? names[text] : NULL;
}

struct asking {
    struct neso_kernel *kernel;
    neso_text which;
};

static void make_asked(void *arg)
{
    struct asking *a = arg;
    a->kernel->options.note = NULL;
    /* the caller requested dumps and times of the first compilation only */
    a->kernel->options.write = NULL;
    kernel_make(a->kernel, a->which);
}

neso_status neso_kernel_text(neso_kernel *kernel, neso_text which, const char **text, size_t *length)
{
    struct neso_module *m = kernel->module;
    neso_status status = NESO_OK;
    *text = "";
    if ((unsigned)which >= TEXT_count || which == 0)
        return NESO_INVALID;
    if (!kernel->texts[which].s) {
        struct diag *d = &m->diag;
        report_enter(m);
        int nmessages = d->list.n, nerrors = d->nerrors;
        status = guard(m, make_asked, &(struct asking){kernel, which});
        report_leave(m, status);
        if (m->busy) {
            d->list.n = nmessages;
            d->nerrors = nerrors;
            d->internal = d->exhausted = false;
        }
    }
    if (status == NESO_OK)
        *text = kernel->texts[which].s;
    if (length)
        *length = status == NESO_OK ? kernel->texts[which].len : 0;
    return status;
}

/* -- compiling by name and signature -- */

static const struct target *find_target(struct neso_kernel *k)
{
    const char *name = k->options.target;
    if (!name)
        return k->device && k->device->target ? k->device->target : target_by_name("sm_90a");
    const struct target *t = target_by_name(name);
    if (t)
        return t;
    struct text known;
    text_init(&known, &k->arena);
    for (int i = 0; i < ntargets; i++)
        text_printf(&known, "%s%s", i ? ", " : "", targets[i].name);
    diag_error(&k->module->diag, (struct loc){0}, ERR_unknown_target, name, known.s);
    return NULL;
}

/* Checks the options in k->options, such as num_warps, and sets them and the target in k->spec. Returns false
 * after an error, which it reports. */
static bool spec_options(struct neso_kernel *k)
{
    const struct neso_compile_options *o = &k->options;
    struct diag *d = &k->module->diag;
    struct spec *s = &k->spec;
    s->num_warps = o->num_warps ? o->num_warps : 4;
    s->num_stages = o->num_stages ? o->num_stages : 3;
    s->num_ctas = 1;
    s->maxnreg = o->max_registers;
    s->fp_fusion = !o->no_fp_fusion;
    s->deterministic = o->deterministic != 0;
    s->fp_reassoc = o->fp_reassoc != 0;
    s->debug = o->debug == DEBUG_asserts                    ? DEBUG_asserts
               : o->debug || (k->jit && k->jit->jit->debug) ? DEBUG_all
                                                            : DEBUG_none;
    s->interpreter = k->device && !k->device->class->takes_ptx;
    s->target = find_target(k);
    if (!is_power_of_two(s->num_warps) || s->num_warps > 32)
        diag_error(d, (struct loc){0}, ERR_num_warps, s->num_warps);
    if (s->num_stages < 1 || s->num_stages > 100)
        diag_error(d, (struct loc){0}, ERR_num_stages, s->num_stages);
    if (s->maxnreg < 0 || s->maxnreg > 255)
        diag_error(d, (struct loc){0}, ERR_max_registers, s->maxnreg);
    params_read(&k->thresholds, o->params, d);
    return d->nerrors == 0;
}

struct compiling {
    struct neso_kernel *kernel;
    const char *name;
};

/* Returns the names of the module's kernels: "add, softmax". */
static const char *kernel_names(const struct neso_module *m, struct arena *a)
{
    struct text t;
    text_init(&t, a);
    text_str(&t, "");
    for (size_t i = 0; neso_module_kernel(m, i); i++)
        text_printf(&t, "%s%s", i ? ", " : "", neso_module_kernel(m, i));
    return t.s;
}

/* A search for the reason why a kernel is not found. The kernel may be defined inside a class or function. Or
 * the kernel or its decorator may be imported from a module that was not found. */
struct search {
    struct neso_module *module;
    const char *name; /* the kernel's name; NULL for any kernel */
    /* the kernel's function, the class or function that contains it, and the import of `imported`; each is
     * NULL until it is found */
    const struct ast *def, *inside, *import;
    const char *imported; /* the kernel or its decorator, if its import failed; else NULL */
};

static const char *root_of(const struct ast *x)
{
    while (x->kind == AST_attribute || x->kind == AST_call)
        x = x->kind == AST_call ? x->call.func : x->attribute.value;
    return x->kind == AST_name ? x->name.id : NULL;
}

static bool is_unknown(const struct search *s, const char *name)
{
    const struct obj *x = name ? scope_get(s->module->object->module.scope, name) : NULL;
    return x && obj_is_unknown(x);
}

/* Records the function n as the kernel if the import of its decorator failed, or if it has the decorator
 * @triton.jit and is inside a class or function. */
static void look_at_def(struct search *s, const struct ast *n, const struct ast *inside)
{
    if (s->name && strcmp(n->def.name, s->name) != 0)
        return;
    for (int i = 0; i < n->def.decorators.n && !s->def; i++) {
        const char *root = root_of(n->def.decorators.at[i]);
        bool lacks = is_unknown(s, root),
             is_jit = root && (strcmp(root, "triton") == 0 || strcmp(root, "jit") == 0);
        if (!lacks && !(is_jit && inside))
            continue;
        s->def = n;
        s->inside = lacks ? NULL : inside;
        s->imported = lacks ? root : NULL;
    }
}

static void look(struct search *s, const struct ast *n, const struct ast *inside)
{
    if (n->kind == AST_def)
        look_at_def(s, n, inside);
    struct ast_cursor at = {0};
    for (const struct ast *c; (c = ast_child(n, &at));)
        look(s, c, n->kind == AST_def || n->kind == AST_class ? n : inside);
}

/* Finds the statement that should have imported s->imported. */
static void look_for_import(struct search *s, const struct ast *n, const struct ast *statement)
{
    if (n->kind == AST_import || n->kind == AST_import_from)
        statement = n;
    if (n->kind == AST_alias && statement) {
        const char *name = n->alias.as ? n->alias.as : n->alias.name;
        size_t length = strlen(s->imported);
        if (strncmp(name, s->imported, length) == 0 && (name[length] == '\0' || name[length] == '.'))
            s->import = statement;
    }
    struct ast_cursor at = {0};
    for (const struct ast *c; (c = ast_child(n, &at));)
        look_for_import(s, c, statement);
}

/* Reports why the kernel cannot be found; returns false if it finds no reason. */
static bool explain_missing(struct neso_module *m, const char *name)
{
    struct ast *tree =
        m->is_ir || m->is_bundle ? NULL : parse_module(&m->arena, &m->strings, &m->diag, m->source);
    struct search s = {.module = m, .name = name};
    if (!tree)
        return false;
    look(&s, tree, NULL);
    if (name && is_unknown(&s, intern_str(&m->strings, name)))
        s.imported = name;
    if (s.imported)
        look_for_import(&s, tree, NULL);
    if (s.import && s.def) {
        diag_error(&m->diag, s.import->loc, ERR_kernel_decorator, s.imported, s.def->def.name);
        diag_note(&m->diag, s.def->loc, ERR_defined_here, s.def->def.name);
    } else if (s.import) {
        diag_error(&m->diag, s.import->loc, ERR_kernel_imported, s.imported);
    } else if (s.def && s.inside) {
        bool is_class = s.inside->kind == AST_class;
        diag_error(&m->diag, s.def->def.name_loc, ERR_kernel_inside, s.def->def.name,
                   is_class ? "class" : "function", is_class ? s.inside->klass.name : s.inside->def.name);
    }
    return s.import || (s.def && s.inside);
}

static bool find_kernel(struct neso_kernel *k, const char *name)
{
    struct neso_module *m = k->module;
    const char *first = neso_module_kernel(m, 0), *file = m->source->name;
    if (!first && explain_missing(m, name))
        return false;
    if (!first) {
        diag_error(&m->diag, (struct loc){0}, ERR_no_kernels, file);
        return false;
    }
    if (!name && neso_module_entry(m, 0) && !neso_module_entry(m, 1))
        name = neso_module_entry(m, 0); /* the other kernels are its helpers */
    bool several = !name && neso_module_kernel(m, 1);
    k->whole_file =
        several && m->is_ir && (k->options.until == NESO_TEXT_IR || k->options.until == NESO_TEXT_OPT);
    if (several && !k->whole_file) {
        diag_error(&m->diag, (struct loc){0}, ERR_which_kernel, file, kernel_names(m, &k->arena));
        return false;
    }
    const char *found;
    for (size_t i = 0; (found = neso_module_kernel(m, i)) != NULL; i++)
        if (!name || strcmp(found, name) == 0) {
            k->name = found;
            k->jit = module_jit(m, i);
            return true;
        }
    if (explain_missing(m, name))
        return false;
    diag_error(&m->diag, (struct loc){0}, ERR_no_kernel, name, file);
    diag_hint(&m->diag, ERR_kernels_here, kernel_names(m, &k->arena));
    return false;
}

/* Copies the caller's strings, which need not outlive the call. */
static void copy_strings(struct neso_kernel *k)
{
    struct neso_compile_options *o = &k->options;
    const char **strings[] = {&o->signature,  &o->target,      &o->passes,  &o->skip,
                              &o->stop_after, &o->print_after, &o->explain, &o->params};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        if (*strings[i])
            *strings[i] = arena_strndup(&k->arena, *strings[i], strlen(*strings[i]));
}

static void compile(void *arg)
{
    struct compiling *c = arg;
    struct neso_kernel *k = c->kernel;
    copy_strings(k);
    if (!find_kernel(k, c->name) || !spec_options(k))
        return;
    if (k->module->is_bundle) {
        bundle_find(k);
        return;
    }
    if (!k->module->is_ir && k->options.until != NESO_TEXT_AST && !signature_read(k, k->options.signature))
        return;
    kernel_build(k);
}

neso_status neso_kernel_compile(neso_module *module, const char *name, const neso_compile_options *options,
                                neso_kernel **kernel)
{
    *kernel = NULL;
    report_enter(module);
    struct neso_kernel *k = kernel_new(module);
    neso_status status = NESO_OUT_OF_MEMORY;
    if (k && !options_read(&k->options, sizeof k->options, options))
        status = options_refuse(module, options->size);
    else if (k)
        status = guard(module, compile, &(struct compiling){k, name});
    report_leave(module, status);
    if (status == NESO_OK && !module->is_bundle && k->options.until == 0)
        context_record(k);
    if (status == NESO_OK)
        *kernel = k;
    else if (k)
        kernel_drop(k);
    return status;
}

/* -- variants -- */

struct listing {
    struct compiling what;
    struct text out;
};

static void list_variants(void *arg)
{
    struct listing *l = arg;
    struct neso_kernel *k = l->what.kernel;
    copy_strings(k);
    if (!find_kernel(k, l->what.name) || !spec_options(k))
        return;
    text_init(&l->out, &k->module->arena);
    text_str(&l->out, "");
    if (k->module->is_bundle)
        bundle_signatures(k, &l->out);
    else if (k->module->is_ir)
        diag_error(&k->module->diag, (struct loc){0}, ERR_variants_ir, k->module->source->name);
    else
        signature_variants(k, k->options.signature, &l->out);
}

neso_status neso_module_variants(neso_module *module, const char *name, const neso_compile_options *options,
                                 const char **text)
{
    struct listing l = {{kernel_new(module), name}, {0}};
    struct neso_kernel *k = l.what.kernel;
    neso_status status = NESO_OUT_OF_MEMORY;
    *text = "";
    report_enter(module);
    if (k && !options_read(&k->options, sizeof k->options, options))
        status = options_refuse(module, options->size);
    else if (k)
        status = guard(module, list_variants, &l);
    report_leave(module, status);
    if (status == NESO_OK)
        *text = l.out.s;
    if (k)
        kernel_drop(k);
    return status;
}

/* -- queries -- */

const char *neso_kernel_name(const neso_kernel *kernel)
{
    return kernel->name;
}

const char *neso_kernel_id(const neso_kernel *kernel)
{
    return kernel->id ? kernel->id : kernel->name;
}

size_t neso_kernel_param_count(const neso_kernel *kernel)
{
    return (size_t)kernel->nparams;
}

int neso_kernel_param(const neso_kernel *kernel, size_t index, neso_param *out)
{
    if (index >= (size_t)kernel->nparams || out->size != sizeof *out)
        return 0;
    *out = kernel->params[index];
    return 1;
}

static void print_signature(void *arg)
{
    struct neso_kernel *k = arg;
    struct text out;
    text_init(&out, &k->arena);
    text_str(&out, "");
    if (!k->module->is_bundle)
        k->options.signature = signature_print(k, &out) ? out.s : NULL;
}

neso_status neso_kernel_options(neso_kernel *kernel, neso_compile_options *out)
{
    const struct spec *s = &kernel->spec;
    if (out->size != sizeof *out)
        return NESO_INVALID;
    report_enter(kernel->module);
    neso_status status = guard(kernel->module, print_signature, kernel);
    report_leave(kernel->module, status);
    *out = (neso_compile_options){.size = sizeof *out,
                                  .signature = kernel->options.signature,
                                  .target = s->target ? s->target->name : NULL,
                                  .num_warps = s->num_warps,
                                  .num_stages = s->num_stages,
                                  .max_registers = s->maxnreg,
                                  .no_fp_fusion = !s->fp_fusion,
                                  .deterministic = s->deterministic,
                                  .fp_reassoc = s->fp_reassoc,
                                  .debug = (int)s->debug};
    return status;
}

neso_status neso_kernel_resources(neso_kernel *kernel, neso_resources *out)
{
    neso_resources r = {.size = sizeof r, .registers = -1, .local_bytes = -1};
    if (out->size != sizeof r)
        return NESO_INVALID;
    r.num_warps = kernel->spec.num_warps;
    r.num_threads = kernel->info.num_threads;
    r.shared_bytes = kernel->info.shared_bytes;
    r.ptx_version = kernel->info.ptx_version;
    r.live_registers = kernel->info.live_regs;
    r.trace_seconds = kernel->seconds[STAGE_trace];
    r.opt_seconds = kernel->seconds[STAGE_opt];
    r.codegen_seconds = kernel->seconds[STAGE_codegen];
    if (kernel->loaded)
        kernel->device->class->resources(kernel->device, kernel->loaded, &r.registers, &r.local_bytes);
    *out = r;
    return NESO_OK;
}
