/* SPDX-License-Identifier: MIT */
/* launch_plan.c: launches a kernel by its launch plan (ir/plan.h): checks the guards and encodes the tensor
 * maps. If a guard fails or a map cannot be encoded, launches a fallback: code of the kernel that is compiled
 * with fewer maps and guards, or with none.
 *
 *     arguments, grid ─► expressions (ir/plan.h) ─► numbers ─► maps of 128 bytes, cached for equal launches
 *                              │ if an extent is 0, a stride no multiple of 16 bytes, or a guard below 0
 *                              ├─► maps of padded copies of the arrays (padded_maps.c)
 *                              └─► a fallback without maps for stores, or, if that does not suffice, without
 *                                  any maps; the first launch that needs a fallback compiles it
 *
 * Fallbacks are variants of the kernel (opt/variants.h); two more variants may exist. If a grid has no more
 * programs than the GPU has SMs, the launcher uses the variant in which each CTA runs one program. Another
 * variant lacks the producer, a warp that only copies tiles to shared memory for the other warps. The
 * launcher uses this variant if the grid has more programs than the GPU can hold CTAs with a producer, and
 * the GPU can hold more CTAs without one.
 *
 * The maps of recent launches are kept in slots. Threads read the slots without a lock, so launches do not
 * wait for each other. Each slot has a sequence count, which is odd while a thread writes to the slot:
 *
 *     reader: count even ── compare, copy ── count unchanged: the copy is valid
 *     writer: count even ─► odd (if another thread writes: give up) ── write ── even
 *
 * A fallback is compiled from the text of the traced IR (rebuild.c). */
#include "runtime/runtime.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { VALUES_MOST = 48, SLOTS = 64, WARP = 32 };

/* The slots of a kernel or of one of its variants. Each of the SLOTS slots contains, in this order: the
 * sequence count, the values from which the maps are computed (the arguments, then the grid), whether the
 * maps could be encoded, and the maps. */
struct map_cache {
    size_t bytes;
    int nvalues, slot_words;
    _Atomic uint64_t words[];
};

/* A variant of the kernel: its code when it is compiled without some passes. */
struct fallback {
    enum variant which;
    enum rows rows; /* the alignment of rows for which the fallback is compiled */
    struct rebuild made;
    /* the loaded code; NULL if it cannot be loaded (`why` has the reason), or if it would be useless (is_pointless) */
    void *loaded;
    struct fault why;
    bool is_missing; /* the kernel's bundle does not have this fallback */
    struct map_cache *_Atomic maps;
    _Atomic int ctas; /* how many CTAs of this fallback fit on an SM; 0: not yet counted */
};

/* One of the compiled variants among which a launch chooses. */
struct candidate {
    const struct ptx_info *info;
    struct map_cache *_Atomic *maps;
    void *loaded; /* NULL: the kernel's own code, which may not be loaded yet */
};

bool has_plan(const struct neso_kernel *k)
{
    return k->info.nmaps + k->info.nguards > 0 && !k->traced;
}

/* -- the kernel without maps -- */

struct launch_traits plan_traits(const struct ptx_info *info)
{
    return (struct launch_traits){
        .is_persistent = info->persistent != 0,
        .goes_in_pairs = info->pair_multiple != 0,
        .has_maps = info->nmaps > 0,
        .stores_by_maps = info->stored_maps != 0,
        .has_guards = info->nguards > 0,
        /* a program has 1, 2, 4, ... warps, so an odd number includes the producer */
        .adds_warp = info->num_threads > WARP && info->num_threads / WARP % 2};
}

void plan_keep(struct neso_kernel *k, const struct func *f)
{
    const struct diag *d = &k->module->diag;
    const struct target *target = f->target ? f->target : k->spec.target;
    struct fallback_source *source = &k->fallback_source;
    struct text t;
    if ((!k->device && !k->keeps_plan) || !target || f->degree != DEGREE_traced ||
        !(k->options.check || variants_are_possible(f, target)))
        return;
    text_init(&t, &k->arena);
    func_print(f, &t);
    source->ir = t.s;
    source->bytes = t.len;
    source->nfiles = d->sources.n;
    source->files = NEW_ARRAY(&k->arena, d->sources.n, struct source *);
    memcpy(source->files, d->sources.at, (size_t)d->sources.n * sizeof *source->files);
}

/* The suffixes that name the alignment of rows in the ids of fallbacks. */
static const char *const rows_id[ROWS_count] = {"", "-rows-of-4-bytes", "-rows-of-8-bytes"};

static void fallback_free(struct neso_kernel *k, struct fallback *g)
{
    if (g->loaded)
        k->device->class->unload(k->device, g->loaded);
    struct memory mem = g->made.mem;
    rebuild_free(&g->made);
    struct map_cache *c = g->maps;
    if (c)
        mem.free(mem.ctx, c, c->bytes);
    mem.free(mem.ctx, g, sizeof *g);
}

static bool is_too_large(const struct diag *d)
{
    return d->nerrors == 1 && d->list.n && d->list.at[0].error == ERR_shared_too_large;
}

static bool load_fallback(struct neso_kernel *k, struct fallback *g, struct fault *f)
{
    char id[256], limit[32];
    snprintf(id, sizeof id, "%s-without-%s%s", neso_kernel_id(k), variant_info[g->which].without,
             rows_id[g->rows]);
    const struct diag *d = &g->made.diag;
    struct image image = {
        .name = k->name, .id = id, .ptx = g->made.ptx.s, .ptx_bytes = g->made.ptx.len, .info = &g->made.info};
    if (d->exhausted && d->list.n && d->list.at[0].error == ERR_cancelled)
        return fault_set(f, NESO_CANCELLED, ERR_cancelled, "%s", "");
    if (d->exhausted) {
        budget_text(g->made.budget, ERR_time_limit, limit, sizeof limit);
        return fault_set(f, NESO_OUT_OF_MEMORY, ERR_time_limit, "%s", limit);
    }
    if (g->is_missing)
        return fault_set(f, NESO_INVALID, ERR_bundle_variant,
                         "bundle %.200s lacks variant '%s' of kernel '%s'", k->module->context->bundle.name,
                         variant_info[g->which].name, k->name);
    if (is_too_large(d))
        return fault_set(f, NESO_INVALID, ERR_kernel_too_large, "%s", d->list.at[0].message);
    if (d->nerrors && d->list.n)
        return fault_set(f, NESO_INVALID, ERR_not_compiled, "%s without tensor maps: %s", k->name,
                         d->list.at[0].message);
    image.code = code_for(k, image.ptx, image.ptx_bytes);
    return k->device->class->load(k->device, &image, &g->loaded, f);
}

/* Returns whether variants of k can be compiled or read from a bundle. */
static bool has_variants(const struct neso_kernel *k)
{
    return k->fallback_source.ir || k->entry;
}

/* Compiles a variant to PTX, or reads its PTX from the bundle. Returns NULL if k has no variants, or if there
 * is no memory. After other failures, the result has is_missing set, made.is_full set, or errors in
 * made.diag. */
static struct fallback *fallback_new(struct neso_kernel *k, enum variant which, enum rows rows,
                                     struct budget *budget)
{
    int divisible[LAUNCH_PARAMS_MOST];
    const struct memory *mem = &k->module->context->mem;
    struct fallback *g = has_variants(k) ? mem->alloc(mem->ctx, sizeof *g) : NULL;
    if (!g)
        return NULL;
    memset(g, 0, sizeof *g);
    g->which = which;
    g->rows = rows;
    if (k->entry) {
        g->is_missing = !rebuild_read(k, &g->made, which, budget) && !g->made.is_full;
        return g;
    }
    const double start = seconds_now();
    rows_promise(&k->info, rows, divisible);
    if (rebuild_make(k, &g->made, variant_info[which].without, divisible, budget))
        context_event(k->module->context, NESO_EVENT_COMPILED, "%s, variant %s%s, for %s in %.1f ms",
                      neso_kernel_id(k), variant_info[which].name, rows_id[rows],
                      k->spec.target ? k->spec.target->name : "no target", 1e3 * (seconds_now() - start));
    return g;
}

void plan_each_variant(struct neso_kernel *k,
                       void (*each)(void *user, enum variant which, const struct ptx_info *info,
                                    const char *ptx, size_t bytes),
                       void *user)
{
    const struct launch_traits t = plan_traits(&k->info);
    for (enum variant v = 0; v < VARIANT_count; v++) {
        struct fallback *g =
            variant_info[v].exists(&t) ? fallback_new(k, v, ROWS_any, &k->module->context->budget) : NULL;
        if (!g)
            continue;
        if (!g->made.is_full && g->made.diag.nerrors == 0)
            each(user, v, &g->made.info, g->made.ptx.s, g->made.ptx.len);
        fallback_free(k, g);
    }
}

/* Returns how many CTAs with `threads` threads and `shared_bytes` bytes of shared memory fit on an SM, if
 * each thread has as many registers as the assembler gave to the code `loaded`; 0: unknown. */
static int ctas_of(const struct neso_kernel *k, void *loaded, int threads, int shared_bytes)
{
    int regs, local;
    k->device->class->resources(k->device, loaded, &regs, &local);
    return regs > 0 ? target_ctas(k->device->target, threads, regs, shared_bytes) : 0;
}

/* Returns whether g is a useless variant without a producer: even if the assembler gives g as few registers as k, an
 * SM can hold no more CTAs of g than of k. */
static bool is_pointless(const struct neso_kernel *k, const struct fallback *g)
{
    const struct ptx_info *info = &g->made.info;
    return g->which == VARIANT_no_producer &&
           ctas_of(k, k->loaded, info->num_threads, info->shared_bytes) <= k->ctas;
}

static struct fallback *make_fallback(struct neso_kernel *k, enum variant which, enum rows rows,
                                      const struct launch *l, struct fault *f)
{
    struct fallback *g = fallback_new(k, which, rows, l->budget);
    if (!g) {
        fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "%s", "for a kernel without tensor maps");
        return NULL;
    }
    if (!g->made.is_full && is_pointless(k, g))
        return g;
    bool good = g->made.is_full ? fault_set(f, NESO_OUT_OF_MEMORY, ERR_device_memory, "%s",
                                            "for a kernel without tensor maps")
                                : load_fallback(k, g, f);
    if (good)
        return g;
    g->why = *f;
    if (f->status != NESO_OUT_OF_MEMORY) /* the next launch tries again only if memory was exhausted */
        return g;
    fallback_free(k, g);
    return NULL;
}

/* Returns the variant `which`, compiled for rows with the alignment `rows`. The first launch that needs it
 * compiles and loads it. Returns NULL if the variant cannot be loaded, with the reason in f, or if it would
 * be useless (is_pointless). */
static struct fallback *fallback_for_rows(struct neso_kernel *k, enum variant which, enum rows rows,
                                          const struct launch *l, struct fault *f)
{
    struct fallback *_Atomic *at = rows ? &k->by_rows[rows] : &k->variants[which];
    struct fallback *g = *at;
    if (!g) {
        pthread_mutex_lock(&k->lock);
        g = *at ? *at : make_fallback(k, which, rows, l, f);
        *at = g;
        pthread_mutex_unlock(&k->lock);
    }
    if (g && !g->loaded) {
        *f = g->why;
        return NULL;
    }
    return g;
}

static struct fallback *fallback_of(struct neso_kernel *k, enum variant which, const struct launch *l,
                                    struct fault *f)
{
    return fallback_for_rows(k, which, ROWS_any, l, f);
}

/* Launches the fallback without maps and guards. If the rows of the launch's arrays are aligned to 8 or 4
 * bytes and the signature does not promise this, the fallback is compiled for this alignment, if possible. */
static bool launch_general(struct neso_kernel *k, const struct launch *l, struct fault *f)
{
    const struct launch_traits t = plan_traits(&k->info);
    const enum variant which = variant_fallback(&t);
    const enum rows rows = t.has_maps ? rows_of_launch(k, l) : ROWS_any;
    struct fallback *g = fallback_for_rows(k, which, rows, l, f);
    g = g || !rows ? g : fallback_of(k, which, l, f);
    return g && launch_packed(k, &g->made.info, g->loaded, l, f);
}

/* -- maps -- */

static int64_t extend(uint64_t value, int bytes)
{
    int unused = 64 - 8 * bytes;
    return (int64_t)(value << unused) >> unused;
}

bool plan_guards(const struct ptx_info *info, const struct launch *l, int64_t *args)
{
    int64_t value;
    for (int i = 0; i < l->nargs; i++)
        args[i] = extend(l->args[i], info->params.at[i].bytes);
    for (int i = 0; i < info->nguards; i++)
        if (!expr_eval(&info->guards[i], args, l->grid, &value) || value < 0)
            return false;
    return true;
}

/* Checks the guards and encodes the maps. Returns false if a guard fails or a map cannot be encoded. */
static bool make_maps(struct neso_kernel *k, const struct ptx_info *info, const struct launch *l,
                      map_words *maps)
{
    int64_t args[LAUNCH_PARAMS_MOST];
    if (!plan_guards(info, l, args))
        return false;
    for (int i = 0; i < info->nmaps; i++) {
        struct tensor_map_values v;
        if (!tensor_map_values(&info->maps[i], args, l->grid, &v) || !tensor_map_is_aligned(&v) ||
            !k->device->class->encode(k->device, &v, maps[i]))
            return false;
    }
    return true;
}

static struct map_cache *cache_of(struct neso_kernel *k, const struct candidate *v, int nvalues)
{
    struct memory *mem = &k->module->context->mem;
    /* the 2 words are the sequence count, and whether the guards hold and the maps could be encoded */
    int slot_words = 2 + nvalues + v->info->nmaps * (MAP_BYTES / 8);
    size_t bytes = sizeof(struct map_cache) + sizeof(uint64_t) * SLOTS * (size_t)slot_words;
    pthread_mutex_lock(&k->lock);
    struct map_cache *c = *v->maps ? *v->maps : mem->alloc(mem->ctx, bytes);
    if (c && !*v->maps) {
        memset(c, 0, bytes);
        c->bytes = bytes;
        c->nvalues = nvalues;
        c->slot_words = slot_words;
    }
    *v->maps = c;
    pthread_mutex_unlock(&k->lock);
    return c;
}

/* If the slot has the result of a launch with these values, sets *fulfilled and `maps` to the result, and
 * returns true. Returns false otherwise, or if a writer has changed the slot in the meantime. Reads have
 * acquire order and writes have release order. So if a reader reads a word that a writer has written, the
 * reader's last load of the sequence count gets the writer's odd count or a later count. */
static bool read_slot(const struct map_cache *c, const _Atomic uint64_t *slot, const uint64_t *values,
                      uint64_t *fulfilled, uint64_t *maps)
{
    int nwords = c->slot_words - 2 - c->nvalues;
    const _Atomic uint64_t *found = &slot[1 + c->nvalues];
    uint64_t count = atomic_load_explicit(slot, memory_order_acquire);
    if (count == 0 || count % 2)
        return false;
    for (int i = 0; i < c->nvalues; i++)
        if (atomic_load_explicit(&slot[1 + i], memory_order_acquire) != values[i])
            return false;
    *fulfilled = atomic_load_explicit(found, memory_order_acquire);
    for (int i = 0; i < nwords && *fulfilled; i++)
        maps[i] = atomic_load_explicit(&found[1 + i], memory_order_acquire);
    return atomic_load_explicit(slot, memory_order_relaxed) == count;
}

static void write_slot(const struct map_cache *c, _Atomic uint64_t *slot, const uint64_t *values,
                       uint64_t fulfilled, const uint64_t *maps)
{
    int nwords = fulfilled ? c->slot_words - 2 - c->nvalues : 0;
    _Atomic uint64_t *found = &slot[1 + c->nvalues];
    uint64_t count = atomic_load_explicit(slot, memory_order_relaxed);
    if (count % 2 || !atomic_compare_exchange_strong(slot, &count, count + 1))
        return;
    for (int i = 0; i < c->nvalues; i++)
        atomic_store_explicit(&slot[1 + i], values[i], memory_order_release);
    atomic_store_explicit(found, fulfilled, memory_order_release);
    for (int i = 0; i < nwords; i++)
        atomic_store_explicit(&found[1 + i], maps[i], memory_order_release);
    atomic_store_explicit(slot, count + 2, memory_order_release);
}

static uint64_t hash(const uint64_t *values, int n)
{
    uint64_t h = 0;
    for (int i = 0; i < n; i++)
        h = (h ^ values[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 32;
    return h;
}

/* Like make_maps, but first searches for the result of an earlier launch with the same arguments and grid. A hash of
 * the arguments and the grid selects two slots, which are searched. A new result is written to the slot that was
 * written less often. */
static bool find_maps(struct neso_kernel *k, const struct candidate *v, const struct launch *l,
                      map_words *maps)
{
    uint64_t values[VALUES_MOST], fulfilled;
    int n = l->nargs + 3;
    struct map_cache *c = *v->maps;
    if (!c && n <= VALUES_MOST)
        c = cache_of(k, v, n);
    if (!c)
        return make_maps(k, v->info, l, maps);
    memcpy(values, l->args, (size_t)l->nargs * sizeof *values);
    for (int i = 0; i < 3; i++)
        values[n - 3 + i] = l->grid[i];
    uint64_t h = hash(values, n);
    _Atomic uint64_t *first = c->words + h % SLOTS * (unsigned)c->slot_words,
                     *second = c->words + h / SLOTS % SLOTS * (unsigned)c->slot_words;
    if (read_slot(c, first, values, &fulfilled, maps[0]) || read_slot(c, second, values, &fulfilled, maps[0]))
        return fulfilled;
    fulfilled = make_maps(k, v->info, l, maps);
    write_slot(c, *first <= *second ? first : second, values, fulfilled, maps[0]);
    return fulfilled;
}

/* Chooses how many CTAs run the programs, and whether CTAs are launched in pairs (as clusters of two). There
 * are no pairs if the grid has at most one program for each SM, or, for a persistent kernel, at most one
 * program for each resident CTA: the two CTAs of a pair start and end together, which costs time, and in so
 * small a grid, pairs save no time. */
static void choose_grid(const struct neso_kernel *k, const struct ptx_info *info, struct launch *l)
{
    enum { ROWS_MOST = 65535 };
    uint64_t total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
             sms = (uint64_t)k->device->multiprocessors * (uint64_t)(info->persistent ? info->persistent : 1);
    sms = sms ? sms : total;
    uint64_t dealt = info->persistent ? total : l->grid[0];
    l->pairs =
        info->pair_multiple > 0 && dealt % (uint64_t)info->pair_multiple == 0 && total > sms && sms > 1;
    if (!info->persistent)
        return;
    if (l->pairs)
        sms -= sms % 2;
    const uint64_t more = (total - 1) / sms, part = (uint64_t)info->late_part;
    l->grid[0] = (uint32_t)(total < sms ? total : sms);
    l->grid[1] = part > 1 && more && more < ROWS_MOST ? (uint32_t)(2 + more / part) : 1;
    l->grid[2] = 1;
}

/* Returns the variant without a producer if more CTAs of this variant than of k fit on an SM, and the grid
 * has programs for the additional CTAs; otherwise NULL. Compiles the variant only under three conditions: at
 * least two CTAs of k fit on an SM; the number of CTAs on an SM is limited by registers, not by shared
 * memory; and without the producer's warp, one more CTA would have enough registers. If only one CTA of k
 * fits, the tiles are so large that the variant may spill registers. If shared memory is the limit, the
 * buffers of the pipeline are large, and the threads that compute would take longer to fill them than the
 * producer takes: without a producer, attention backward (D = 128, causal, 64x64) took 650 us instead of
 * 510. */
static struct fallback *without_producer(struct neso_kernel *k, const struct launch *l, uint64_t programs)
{
    struct fault ignored;
    const int threads = k->info.num_threads;
    if (!k->ctas && kernel_load(k, &ignored)) {
        const int n = ctas_of(k, k->loaded, threads, k->info.shared_bytes);
        const bool by_regs = n > 1 && ctas_of(k, k->loaded, threads, 0) == n;
        k->ctas = by_regs && ctas_of(k, k->loaded, threads - WARP, 0) > n ? n : -1;
    }
    const int n = k->ctas;
    if (n <= 0 || programs <= (uint64_t)n * (uint64_t)k->device->multiprocessors)
        return NULL;
    struct fallback *g = fallback_of(k, VARIANT_no_producer, l, &ignored);
    if (g && !g->ctas)
        g->ctas = ctas_of(k, g->loaded, g->made.info.num_threads, g->made.info.shared_bytes);
    if (g && g->ctas > n)
        return g;
    k->ctas = -1;
    return NULL;
}

/* Chooses the code for a launch. A kernel may have a variant in which each CTA runs one program and CTAs form
 * no pairs. If the grid has at most as many programs as the GPU has SMs, chooses this variant, because its
 * CTAs start faster. Otherwise chooses the variant that without_producer returns, or, if that is NULL, the
 * kernel's own code. */
static struct candidate choose_variant(struct neso_kernel *k, const struct launch *l)
{
    struct fault ignored;
    const struct launch_traits t = plan_traits(&k->info);
    uint64_t total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    bool is_single = variant_info[VARIANT_one_program_each].exists(&t) && has_variants(k) &&
                     total <= (uint64_t)k->device->multiprocessors;
    struct fallback *g = is_single ? fallback_of(k, VARIANT_one_program_each, l, &ignored)
                         : variant_info[VARIANT_no_producer].exists(&t) && has_variants(k)
                             ? without_producer(k, l, total)
                             : NULL;
    return g ? (struct candidate){&g->made.info, &g->maps, g->loaded}
             : (struct candidate){&k->info, &k->maps, NULL};
}

/* Makes the tensor maps for a launch of v; some maps may describe padded copies of arrays, which are in
 * *workspace. Returns false if a guard of v fails or a map cannot be made. */
static bool fulfils(struct neso_kernel *k, const struct candidate *v, const struct launch *l, map_words *maps,
                    uint64_t *workspace)
{
    return v->info->nmaps <= MAPS_MOST &&
           (find_maps(k, v, l, maps) || padded_maps(k, v->info, l, maps, workspace));
}

/* Replaces *v by a variant that more launches can use. If *v has maps, this is the variant without maps for
 * stores. Otherwise, guards of *v require that some loops run only once, and the new variant does not require
 * this. Returns false if there is no such variant. */
static bool take_weaker(struct neso_kernel *k, struct candidate *v, const struct launch *l)
{
    struct fault ignored;
    const struct launch_traits t = plan_traits(v->info);
    const enum variant which = t.has_maps ? VARIANT_loads_by_maps_only : VARIANT_loops_that_repeat;
    if (!variant_info[which].exists(&t))
        return false;
    struct fallback *g = fallback_of(k, which, l, &ignored);
    if (g)
        *v = (struct candidate){&g->made.info, &g->maps, g->loaded};
    return g != NULL;
}

static bool launch_with_maps(struct neso_kernel *k, const struct candidate *v, const struct launch *l,
                             map_words *maps, struct fault *f)
{
    enum { AXES = 3 };
    uint64_t args[LAUNCH_ARGS_MOST];
    struct launch with_maps = *l;
    memcpy(args, l->args, (size_t)l->nargs * sizeof *args);
    for (int axis = 0; axis < AXES && v->info->persistent; axis++)
        args[with_maps.nargs++] = l->grid[axis];
    choose_grid(k, v->info, &with_maps);
    for (int i = 0; i < v->info->nmaps; i++)
        args[with_maps.nargs++] = (uint64_t)(uintptr_t)maps[i];
    with_maps.args = args;
    with_maps.nmaps = v->info->nmaps;
    return launch_packed(k, v->info, v->loaded ? v->loaded : k->loaded, &with_maps, f);
}

bool plan_launch(struct neso_kernel *k, const struct launch *l, struct fault *f)
{
    _Alignas(64) map_words maps[MAPS_MOST];
    uint64_t workspace = 0;
    if (!k->device)
        return fault_set(f, NESO_NO_DEVICE, ERR_device_none, "launch kernels on");
    struct candidate v = choose_variant(k, l);
    if (!fulfils(k, &v, l, maps, &workspace) &&
        !(take_weaker(k, &v, l) && fulfils(k, &v, l, maps, &workspace)))
        return launch_general(k, l, f);
    bool good = (v.loaded || kernel_load(k, f)) && launch_with_maps(k, &v, l, maps, f);
    if (workspace)
        k->device->class->workspace_end(k->device, workspace, l->stream);
    return good;
}

void plan_release(struct neso_kernel *k)
{
    struct memory *mem = &k->module->context->mem;
    for (int i = 0; i < VARIANT_count; i++)
        if (k->variants[i])
            fallback_free(k, k->variants[i]);
    for (int i = 0; i < ROWS_count; i++)
        if (k->by_rows[i])
            fallback_free(k, k->by_rows[i]);
    struct map_cache *c = k->maps;
    if (c)
        mem->free(mem->ctx, c, c->bytes);
}

/* -- as text -- */

static void print_exprs(const struct neso_kernel *k, const char *word, const struct expr *e, int n,
                        struct text *out)
{
    text_printf(out, "\"%s\": [", word);
    for (int i = 0; i < n; i++) {
        text_str(out, i ? ", \"" : "\"");
        expr_print(&e[i], out, ptx_param_name, &k->info);
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
