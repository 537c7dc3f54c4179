/* plan.c: what a launch does for a kernel besides passing its arguments: makes tensor maps, checks guards, and takes the kernel
 * without either where they fail.
 *
 *     arguments, grid ─► expressions (ir/plan.h) ─► numbers ─► 128 bytes a map, kept for the next launch alike
 *                              │ an extent of 0, a stride that is no multiple of 16 bytes, a guard below 0
 *                              └─► the same kernel, compiled without tensor maps when that is first needed
 *
 * Any thread launches: the maps of recent launches are kept under a lock, and the other kernel is made from the traced IR's
 * text, in memory of its own. */
#include "runtime/runtime.h"

#include "opt/passes.h"

#include <stdatomic.h>
#include <string.h>

enum { VALUES_MOST = 48, KEPT_LAUNCHES = 4, PLAN_ARGS_MOST = 512 };

typedef unsigned char map_bytes[MAP_BYTES];

/* The maps of one launch, by what they are made of. */
struct kept_maps {
    uint64_t values[VALUES_MOST]; /* arguments, then the grid */
    bool is_used;
    map_bytes maps[MAPS_MOST];
};

struct map_cache {
    pthread_mutex_t lock;
    struct kept_maps at[KEPT_LAUNCHES];
    int next;
};

struct general {
    struct memory mem;
    struct arena arena, scratch;
    struct diag diag;
    struct module module;
    struct ptx_info info;
    struct text ptx;
    void *loaded;
    bool is_full;
    jmp_buf unwind;
};

bool has_plan(const struct neso_kernel *k)
{
    return k->info.nmaps + k->info.nguards > 0 && !k->traced;
}

/* -- the kernel without maps -- */

static void find_dot(struct op *o, void *ctx)
{
    *(bool *)ctx |= o->code == OP_dot;
}

void plan_keep(struct neso_kernel *k, const struct func *f)
{
    const struct diag *d = &k->module->diag;
    const struct target *target = f->target ? f->target : k->spec.target;
    struct general_source *source = &k->general_source;
    bool has_dot = false;
    struct text t;
    if (!k->device || !target || !target_has(target, HAS_tma) || f->degree != DEGREE_traced)
        return;
    block_walk(f->body, find_dot, &has_dot);
    if (!has_dot)
        return;
    text_init(&t, &k->arena);
    func_print(f, &t);
    source->ir = t.s;
    source->bytes = t.len;
    source->nfiles = d->sources.n;
    source->files = NEW_ARRAY(&k->arena, d->sources.n, struct source *);
    memcpy(source->files, d->sources.at, (size_t)d->sources.n * sizeof *source->files);
}

static void full(void *ctx, size_t bytes)
{
    struct general *g = ctx;
    (void)bytes;
    g->is_full = true;
    longjmp(g->unwind, 1);
}

static void general_free(struct neso_kernel *k, struct general *g)
{
    if (g->loaded)
        k->device->class->unload(k->device, g->loaded);
    arena_free(&g->arena);
    arena_free(&g->scratch);
    g->mem.free(g->mem.ctx, g, sizeof *g);
}

/* Places keep the numbers of their files. */
static void compile(struct neso_kernel *k, struct general *g)
{
    const struct general_source *from = &k->general_source;
    const struct opt_options options = {.skip = "tma,put"};
    const struct codegen_options how = {.verbose = k->options.verbose_ptx, .debug_loc = true};
    diag_init(&g->diag, &g->arena);
    g->diag.fatal = &g->unwind;
    for (int i = 0; i < from->nfiles; i++)
        VEC_PUSH(&g->arena, &g->diag.sources, from->files[i]);
    module_init(&g->module, &g->arena, &g->scratch, &g->diag);
    const struct source *text = diag_add_source(&g->diag, k->name, from->ir, from->bytes);
    if (!module_parse(&g->module, text) || g->module.funcs.n != 1)
        return;
    struct func *f = g->module.funcs.at[0];
    f->target = f->target ? f->target : k->spec.target;
    opt_run(f, &options);
    text_init(&g->ptx, &g->arena);
    if (g->diag.nerrors == 0)
        codegen_emit(f, &how, &g->ptx, &g->info);
}

static bool load_general(struct neso_kernel *k, struct general *g, struct fault *f)
{
    struct image image = {.name = k->name,
                          .ptx = g->ptx.s,
                          .ptx_bytes = g->ptx.len,
                          .info = &g->info,
                          .cache = &k->module->context->cache};
    if (g->diag.nerrors && g->diag.list.n)
        return fault_set(f, NESO_INVALID, ERR_not_compiled, "%s without tensor maps: %s", k->name,
                         g->diag.list.at[0].message);
    return k->device->class->load(k->device, &image, &g->loaded, f);
}

static struct general *make_general(struct neso_kernel *k, struct fault *f)
{
    const struct memory *mem = &k->module->context->mem;
    struct general *g = k->general_source.ir ? mem->alloc(mem->ctx, sizeof *g) : NULL;
    if (!g) {
        fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "%s", "for a kernel without tensor maps");
        return NULL;
    }
    memset(g, 0, sizeof *g);
    g->mem = *mem;
    arena_init(&g->arena, &g->mem, k->module->context->memory_limit, full, g);
    arena_init(&g->scratch, &g->mem, k->module->context->memory_limit, full, g);
    if (setjmp(g->unwind) == 0)
        compile(k, g);
    bool good = g->is_full ? fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "%s",
                                       "for a kernel without tensor maps")
                           : load_general(k, g, f);
    if (good)
        return g;
    general_free(k, g);
    return NULL;
}

static bool launch_general(struct neso_kernel *k, const struct launch *l, struct fault *f)
{
    struct general *g = k->general;
    if (!g) {
        pthread_mutex_lock(&k->lock);
        g = k->general ? k->general : make_general(k, f);
        k->general = g;
        pthread_mutex_unlock(&k->lock);
    }
    return g && k->device->class->launch(k->device, g->loaded, l, f);
}

/* -- maps -- */

static int64_t extend(uint64_t value, int bytes)
{
    int unused = 64 - 8 * bytes;
    return (int64_t)(value << unused) >> unused;
}

/* False: the plan is not fulfilled. */
static bool make_maps(struct neso_kernel *k, const struct launch *l, map_bytes *maps)
{
    int64_t args[PLAN_ARGS_MOST], value;
    for (int i = 0; i < l->nargs; i++)
        args[i] = extend(l->args[i], k->info.params.at[i].bytes);
    for (int i = 0; i < k->info.nguards; i++)
        if (!expr_eval(&k->info.guards[i], args, l->grid, &value) || value < 0)
            return false;
    for (int i = 0; i < k->info.nmaps; i++) {
        struct tensor_map_values v;
        if (!tensor_map_eval(&k->info.maps[i], args, l->grid, &v) ||
            !k->device->class->encode(k->device, &v, maps[i]))
            return false;
    }
    return true;
}

static struct map_cache *cache_of(struct neso_kernel *k)
{
    struct memory *mem = &k->module->context->mem;
    pthread_mutex_lock(&k->lock);
    struct map_cache *c = k->maps ? k->maps : mem->alloc(mem->ctx, sizeof *c);
    if (c && !k->maps) {
        memset(c, 0, sizeof *c);
        pthread_mutex_init(&c->lock, NULL);
    }
    k->maps = c;
    pthread_mutex_unlock(&k->lock);
    return c;
}

/* As make_maps, for which the launch before may have done the work. */
static bool find_maps(struct neso_kernel *k, const struct launch *l, map_bytes *maps)
{
    uint64_t values[VALUES_MOST] = {0};
    int n = l->nargs;
    size_t bytes = (size_t)k->info.nmaps * MAP_BYTES;
    struct map_cache *c = k->maps;
    if (!c && n + 3 <= VALUES_MOST)
        c = cache_of(k);
    if (!c)
        return make_maps(k, l, maps);
    memcpy(values, l->args, (size_t)n * sizeof *values);
    for (int i = 0; i < 3; i++)
        values[n + i] = l->grid[i];
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < KEPT_LAUNCHES; i++)
        if (c->at[i].is_used && memcmp(c->at[i].values, values, (size_t)(n + 3) * sizeof *values) == 0) {
            memcpy(maps, c->at[i].maps, bytes);
            pthread_mutex_unlock(&c->lock);
            return true;
        }
    pthread_mutex_unlock(&c->lock);
    if (!make_maps(k, l, maps))
        return false;
    pthread_mutex_lock(&c->lock);
    struct kept_maps *kept = &c->at[c->next++ % KEPT_LAUNCHES];
    memcpy(kept->values, values, sizeof values);
    memcpy(kept->maps, maps, bytes);
    kept->is_used = true;
    pthread_mutex_unlock(&c->lock);
    return true;
}

bool plan_launch(struct neso_kernel *k, const struct launch *l, struct fault *f)
{
    _Alignas(64) map_bytes maps[MAPS_MOST];
    uint64_t args[PLAN_ARGS_MOST + MAPS_MOST];
    struct launch with_maps = *l;
    if (!k->device)
        return fault_set(f, NESO_NO_DEVICE, ERR_device_none, "launch kernels on");
    if (l->nargs > PLAN_ARGS_MOST)
        return fault_set(f, NESO_INVALID, ERR_kernel_too_large, "it has %d parameters", l->nargs);
    if (k->info.nmaps > MAPS_MOST || !find_maps(k, l, maps))
        return launch_general(k, l, f);
    if (!kernel_load(k, f))
        return false;
    memcpy(args, l->args, (size_t)l->nargs * sizeof *args);
    for (int i = 0; i < k->info.nmaps; i++)
        args[with_maps.nargs++] = (uint64_t)(uintptr_t)maps[i];
    with_maps.args = args;
    with_maps.nmaps = k->info.nmaps;
    return k->device->class->launch(k->device, k->loaded, &with_maps, f);
}

void plan_release(struct neso_kernel *k)
{
    struct memory *mem = &k->module->context->mem;
    if (k->general)
        general_free(k, k->general);
    struct map_cache *c = k->maps;
    if (!c)
        return;
    pthread_mutex_destroy(&c->lock);
    mem->free(mem->ctx, c, sizeof *c);
}

/* -- as text -- */

static const char *param_name(const void *ctx, int64_t i)
{
    const struct neso_kernel *k = ctx;
    return k->info.params.at[i].name;
}

static void print_exprs(const struct neso_kernel *k, const char *word, const struct expr *e, int n,
                        struct text *out)
{
    text_printf(out, "\"%s\": [", word);
    for (int i = 0; i < n; i++) {
        text_str(out, i ? ", \"" : "\"");
        expr_print(&e[i], out, param_name, k);
        text_char(out, '"');
    }
    text_str(out, "], ");
}

void plan_print(const struct neso_kernel *k, struct text *out)
{
    const struct ptx_info *info = &k->info;
    print_exprs(k, "guards", info->guards, info->nguards, out);
    if (info->nmaps)
        text_str(out, "\"maps\": [");
    for (int i = 0; i < info->nmaps; i++) {
        const struct tensor_map *m = &info->maps[i];
        text_printf(out, "%s\n      {\"type\": \"%s\", ", i ? "," : "", dtype_info[m->dtype].name);
        print_exprs(k, "base", &m->base, 1, out);
        print_exprs(k, "extents", m->extents, m->rank, out);
        print_exprs(k, "strides", m->strides, m->rank, out);
        text_str(out, "\"box\": [");
        for (int d = 0; d < m->rank; d++)
            text_printf(out, "%s%d", d ? ", " : "", m->box[d]);
        text_printf(out, "], \"swizzle\": %d, \"fill\": \"%s\"}", m->swizzle, m->nan ? "nan" : "zero");
    }
    if (info->nmaps)
        text_str(out, "],\n     ");
}
