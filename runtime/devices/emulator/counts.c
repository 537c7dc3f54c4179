/* SPDX-License-Identifier: MIT */
/* counts.c: counts the costs of launches.
 *
 *     a warp executes `ld.global.b32`, and its 32 lanes load 32 contiguous elements:
 *         instructions 1, lane_instructions 32, global_loads 1, global_bytes 128, load_sectors 4, global_sectors_least 4
 *
 * Each instruction has a tally (struct emu_tally). emu_counts_each sums the tallies of a kernel to counters,
 * for the whole kernel and for each line of its source. The counts are the same on every machine and in every
 * run, for these reasons: the CTAs of a kernel without atomics are independent; the CTAs of a kernel with
 * atomics run on one thread, in a fixed order; and the order of asynchronous operations depends only on a
 * seed.
 *
 * A sector is an aligned unit of 32 bytes of global memory. global_sectors_least is the number of sectors
 * that the distinct bytes of an access would fill if they were contiguous.
 *
 * A wavefront is one pass over the 32 banks of shared memory, which are 4 bytes wide. An access of 8 bytes
 * per lane is split into 2 parts, and an access of 16 bytes per lane into 4 parts. The number of wavefronts
 * of a part is the largest number of distinct words that the part accesses in one bank. If all lanes together
 * access at most one word of each bank, there are only half as many parts: on an H200, such an access takes
 * one wavefront for 8 bytes per lane, and two wavefronts for 16 bytes. */
#include "runtime/devices/emulator/machine.h"
#include "ir/target/target.h"

#include <pthread.h>
#include <string.h>

/* The columns are the counter's name and meaning. The counters up to occupancy_percent exist only for
 * kernels; the following counters exist for kernels and for lines of the source. */
#define COUNTERS(X)                                                                                          \
    X(launches, "launches")                                                                                  \
    X(programs, "program instances that ran")                                                                \
    X(grid_programs, "program instances of the grids, also those that --sample skips")                       \
    X(threads, "threads of a program instance")                                                              \
    X(shared_bytes, "shared memory of a program instance")                                                   \
    X(live_registers, "maximum of the 32-bit registers live in a thread, as the emulator counts them in "    \
                      "the PTX; the compiler's own count, in bench and inspect, may differ by a few")        \
    X(occupancy_percent, "threads of the kernel that a multiprocessor holds at once, in percent of its "     \
                         "maximum: an estimate from the previous three")                                     \
    X(instructions, "instructions that warps executed")                                                      \
    X(lane_instructions, "instructions, counted once for each active lane")                                  \
    X(integer, "instructions on integers and bits, comparisons")                                             \
    X(floating, "instructions on floats")                                                                    \
    X(conversions, "cvt")                                                                                    \
    X(moves, "mov, selp, parameters, addresses")                                                             \
    X(special, "approximations: ex2, lg2, rcp, sqrt, rsqrt")                                                 \
    X(global_loads, "ld.global")                                                                             \
    X(global_stores, "st.global")                                                                            \
    X(atomics, "atom, red")                                                                                  \
    X(shared_accesses, "ld, st, ldmatrix, stmatrix of shared memory")                                        \
    X(copies, "cp.async, bulk copies")                                                                       \
    X(tensor, "mma, wgmma")                                                                                  \
    X(warp, "shuffles, votes, redux")                                                                        \
    X(barriers, "arrivals at barriers of a CTA or cluster")                                                  \
    X(waits, "waits for mbarriers, copies, wgmma, clusters: each counts once, however long")                 \
    X(synchronization, "fences, groups, arrivals at mbarriers")                                              \
    X(control, "branches")                                                                                   \
    X(global_bytes, "bytes of global memory that lanes and copies access")                                   \
    X(global_sectors, "sectors of 32 bytes that these accesses touch")                                       \
    X(global_sectors_least, "sectors that the same bytes would fill if contiguous")                          \
    X(load_sectors, "global_sectors of ld and cp.async")                                                     \
    X(store_sectors, "global_sectors of st")                                                                 \
    X(atomic_sectors, "global_sectors of atom, red")                                                         \
    X(copy_sectors, "global_sectors of bulk copies")                                                         \
    X(shared_wavefronts, "wavefronts: passes over the banks of shared memory")                               \
    X(shared_conflicts, "wavefronts that bank conflicts add")                                                \
    X(shared_load_wavefronts, "shared_wavefronts of ld, ldmatrix")                                           \
    X(stmatrix_wavefronts, "shared_wavefronts of stmatrix")                                                  \
    X(tensor_operations, "multiplications and additions of mma and wgmma")

enum counter {
#define X(name, meaning) COUNT_##name,
    COUNTERS(X)
#undef X
        COUNTERS_END,
    COUNTERS_OF_LINES = COUNT_instructions
};

static const char *const names[] = {
#define X(name, meaning) #name,
    COUNTERS(X)
#undef X
};

/* -- classes of instructions -- */

static enum counter access_class(const struct emu_insn *in)
{
    if (in->code == INSN_atom || in->code == INSN_red)
        return COUNT_atomics;
    return emu_has_mod(in, MOD_shared) ? COUNT_shared_accesses
           : in->code == INSN_ld       ? COUNT_global_loads
                                       : COUNT_global_stores;
}

static enum counter class_of(const struct emu_insn *in)
{
    switch (insn_info[in->code].counts) {
    case COUNTS_access: return access_class(in);
    case COUNTS_arithmetic: return ptype_info[in->type].kind == KIND_float ? COUNT_floating : COUNT_integer;
    case COUNTS_shared: return COUNT_shared_accesses;
    case COUNTS_conversions: return COUNT_conversions;
    case COUNTS_moves: return COUNT_moves;
    case COUNTS_special: return COUNT_special;
    case COUNTS_copies: return COUNT_copies;
    case COUNTS_tensor: return COUNT_tensor;
    case COUNTS_warp: return COUNT_warp;
    case COUNTS_barriers: return COUNT_barriers;
    case COUNTS_waits: return COUNT_waits;
    case COUNTS_control: return COUNT_control;
    case COUNTS_synchronization: break;
    }
    return COUNT_synchronization;
}

/* -- tallies -- */

static struct emu_tally *tally_of(struct emu_warp *w, const struct emu_insn *in)
{
    return &w->cta->cluster->tallies[in - w->cta->code->insns.at];
}

enum { SECTOR = 32 };

/* Returns the number of distinct values among sorted[i] >> shift. `sorted` contains n addresses in ascending
 * order. */
static uint64_t distinct(const uint64_t *sorted, int n, int shift)
{
    uint64_t r = n > 0;
    for (int i = 1; i < n; i++)
        r += sorted[i] >> shift != sorted[i - 1] >> shift;
    return r;
}

static int sort(const uint64_t *at, uint32_t on, uint64_t *to)
{
    int n = 0;
    for (; on; on &= on - 1, n++) {
        uint64_t x = at[emu_first_lane(on)];
        int i = n;
        for (; i > 0 && to[i - 1] > x; i--)
            to[i] = to[i - 1];
        to[i] = x;
    }
    return n;
}

void emu_count_global(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *at,
                      int bytes)
{
    struct emu_tally *t = tally_of(w, in);
    uint64_t sorted[LANES], size = (uint64_t)bytes;
    int n = sort(at, on, sorted);
    t->bytes += (uint64_t)n * size;
    t->sectors += distinct(sorted, n, __builtin_ctz(SECTOR));
    t->sectors_least += (distinct(sorted, n, 0) * size + SECTOR - 1) / SECTOR;
}

void emu_count_row(struct emu_warp *w, const struct emu_insn *in, uint64_t at, uint64_t bytes)
{
    struct emu_tally *t = tally_of(w, in);
    t->bytes += bytes;
    t->sectors += (at + bytes - 1) / SECTOR - at / SECTOR + 1;
    t->sectors_least += (bytes + SECTOR - 1) / SECTOR;
}

enum { BANKS = 32, WORD = 4 };

/* Returns the number of wavefronts of an access of `bytes` bytes by each of the lanes `on`, without splitting
 * it into parts: the largest number of distinct words that the lanes access in one bank. */
static int passes(const uint64_t *at, uint32_t on, int bytes)
{
    uint32_t words[BANKS][LANES];
    int n[BANKS] = {0}, most = 0;
    for (; on; on &= on - 1)
        for (int k = 0; k < bytes; k += WORD) {
            uint32_t word = (uint32_t)(at[emu_first_lane(on)] + (uint64_t)k) / WORD;
            int bank = (int)(word % BANKS), i = 0;
            while (i < n[bank] && words[bank][i] != word)
                i++;
            words[bank][i] = word;
            n[bank] = i == n[bank] ? i + 1 : n[bank];
            most = n[bank] > most ? n[bank] : most;
        }
    return most;
}

void emu_count_shared(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *at,
                      int bytes)
{
    struct emu_tally *t = tally_of(w, in);
    int lanes = bytes > WORD ? BANKS * WORD / bytes : LANES;
    bool is_matrix = in->code == INSN_ldmatrix || in->code == INSN_stmatrix;
    if (!is_matrix && lanes < LANES && passes(at, on, bytes) == 1)
        lanes *= 2;
    for (int i = 0; i < LANES; i += lanes) {
        int n = passes(at, on & ALL_LANES >> (LANES - lanes) << i, bytes);
        t->wavefronts += (uint64_t)n;
        t->conflicts += (uint64_t)(n ? n - 1 : 0);
    }
}

/* -- kernels -- */

struct counted_insn {
    struct loc loc;
    uint8_t class, code;
    int operations;
    struct emu_tally tally;
};

struct counted_kernel {
    const char *name, *id;
    const char **files;
    int nfiles, ninsns;
    struct counted_insn *insns;
    uint64_t fixed[COUNTERS_OF_LINES]; /* the counters that exist only for kernels */
};

struct emu_counts {
    const struct memory *mem;
    int64_t sample;
    pthread_mutex_t lock;
    struct arena arena;
    jmp_buf full;
    VEC(struct counted_kernel *) kernels;
};

static void full(void *ctx, size_t bytes)
{
    (void)bytes;
    longjmp(((struct emu_counts *)ctx)->full, 1);
}

struct emu_counts *emu_counts_new(const struct memory *mem, int64_t programs)
{
    struct emu_counts *c = mem->alloc(mem->ctx, sizeof *c);
    if (!c)
        return NULL;
    memset(c, 0, sizeof *c);
    c->mem = mem;
    c->sample = programs;
    pthread_mutex_init(&c->lock, NULL);
    arena_init(&c->arena, mem, 0, full, c);
    return c;
}

void emu_counts_free(struct emu_counts *c)
{
    if (!c)
        return;
    arena_free(&c->arena);
    pthread_mutex_destroy(&c->lock);
    c->mem->free(c->mem->ctx, c, sizeof *c);
}

static uint64_t occupancy(const struct emu_code *code, int live, int shared_bytes)
{
    const struct target *t = code->target ? target_by_name(code->target) : NULL;
    if (!t)
        return 0;
    int most = code->max_registers ? code->max_registers : t->regs_thread;
    int n = target_ctas(t, code->num_threads, live > most ? most : live, shared_bytes);
    return (uint64_t)(100 * n * code->num_threads / t->threads_sm);
}

static struct counted_kernel *kernel_new(struct emu_counts *c, const struct emu_code *code, const char *name,
                                         const char *id, const struct emu_launch *l)
{
    struct arena *a = &c->arena;
    struct counted_kernel *k = NEW(a, struct counted_kernel);
    k->name = arena_strndup(a, name, strlen(name));
    k->id = arena_strndup(a, id, strlen(id));
    k->nfiles = code->files.n;
    k->files = NEW_ARRAY(a, k->nfiles, const char *);
    for (int i = 0; i < k->nfiles; i++)
        k->files[i] = arena_strndup(a, code->files.at[i], strlen(code->files.at[i]));
    k->ninsns = code->insns.n;
    k->insns = NEW_ARRAY(a, k->ninsns, struct counted_insn);
    for (int i = 0; i < k->ninsns; i++) {
        const struct emu_insn *in = &code->insns.at[i];
        k->insns[i] = (struct counted_insn){.loc = in->loc,
                                            .class = (uint8_t)class_of(in),
                                            .code = in->code,
                                            .operations = emu_mma_operations(in) + emu_wgmma_operations(in)};
    }
    int shared_bytes = code->static_shared_bytes + l->shared_bytes;
    struct arena_mark mark = arena_mark(a);
    const uint16_t *lives = emu_live_registers(a, code, false);
    int live = 0;
    for (int i = 0; i < code->insns.n; i++)
        live = lives[i] > live ? lives[i] : live;
    arena_reset(a, mark);
    k->fixed[COUNT_threads] = (uint64_t)code->num_threads;
    k->fixed[COUNT_shared_bytes] = (uint64_t)shared_bytes;
    k->fixed[COUNT_live_registers] = (uint64_t)live;
    k->fixed[COUNT_occupancy_percent] = occupancy(code, live, shared_bytes);
    VEC_PUSH(a, &c->kernels, k);
    return k;
}

static struct counted_kernel *find_kernel(struct emu_counts *c, const struct emu_code *code, const char *id)
{
    for (int i = 0; i < c->kernels.n; i++)
        if (strcmp(c->kernels.at[i]->id, id) == 0 && c->kernels.at[i]->ninsns == code->insns.n)
            return c->kernels.at[i];
    return NULL;
}

static void keep(struct counted_kernel *k, const struct emu_launch *l)
{
    uint64_t total = (uint64_t)l->grid[0] * (uint64_t)l->grid[1] * (uint64_t)l->grid[2];
    for (int i = 0; i < k->ninsns; i++) {
        const uint64_t *from = (const uint64_t *)&l->tallies[i];
        uint64_t *to = (uint64_t *)&k->insns[i].tally;
        for (size_t f = 0; f < sizeof *l->tallies / sizeof *to; f++)
            to[f] += from[f];
    }
    uint64_t ran = l->sample && (uint64_t)l->sample < total ? (uint64_t)l->sample : total;
    uint64_t each = l->packs ? (uint64_t)l->packs : 1;
    k->fixed[COUNT_launches]++;
    k->fixed[COUNT_programs] += ran * each;
    k->fixed[COUNT_grid_programs] += total * each;
}

static bool add_launch(struct emu_counts *c, const struct emu_code *code, const char *name, const char *id,
                       struct emu_launch *l)
{
    pthread_mutex_lock(&c->lock);
    bool good = setjmp(c->full) == 0;
    if (good) {
        struct counted_kernel *k = find_kernel(c, code, id);
        keep(k ? k : kernel_new(c, code, name, id, l), l);
    }
    pthread_mutex_unlock(&c->lock);
    if (!good)
        l->report.error = ERR_out_of_memory;
    return good;
}

bool emu_counts_run(struct emu_counts *c, const struct emu_code *code, const char *name, const char *id,
                    struct emu_launch *l)
{
    const int per_cluster = emulator_cluster_ctas(code, l->pairs);
    size_t bytes = (size_t)code->insns.n * sizeof *l->tallies;
    l->sample = (c->sample + per_cluster - 1) / per_cluster * per_cluster;
    l->tallies = l->mem->alloc(l->mem->ctx, bytes);
    if (!l->tallies) {
        l->report.error = ERR_out_of_memory;
        return false;
    }
    memset(l->tallies, 0, bytes);
    bool good = emulator_run(code, l) && add_launch(c, code, name, id, l);
    l->mem->free(l->mem->ctx, l->tallies, bytes);
    return good;
}

/* -- counters -- */

static void add_insn(uint64_t *v, const struct counted_insn *in)
{
    const struct emu_tally *t = &in->tally;
    v[COUNT_instructions] += t->executed;
    v[COUNT_lane_instructions] += t->lanes;
    v[in->class] += t->executed;
    v[COUNT_global_bytes] += t->bytes;
    v[COUNT_global_sectors] += t->sectors;
    v[COUNT_global_sectors_least] += t->sectors_least;
    v[in->class == COUNT_global_loads || in->code == INSN_cp_async ? COUNT_load_sectors
      : in->class == COUNT_global_stores                           ? COUNT_store_sectors
      : in->class == COUNT_atomics                                 ? COUNT_atomic_sectors
                                                                   : COUNT_copy_sectors] += t->sectors;
    v[COUNT_shared_wavefronts] += t->wavefronts;
    v[COUNT_shared_conflicts] += t->conflicts;
    v[COUNT_shared_load_wavefronts] += in->code == INSN_ld || in->code == INSN_ldmatrix ? t->wavefronts : 0;
    v[COUNT_stmatrix_wavefronts] += in->code == INSN_stmatrix ? t->wavefronts : 0;
    v[COUNT_tensor_operations] += t->executed * (uint64_t)in->operations;
}

static uint64_t line_key(const struct counted_insn *in)
{
    return in->loc.line ? (uint64_t)in->loc.file << 32 | in->loc.line : 0;
}

static void tell(const struct counted_kernel *k, uint64_t key, const uint64_t *v, neso_counts_fn *each,
                 void *user)
{
    int file = (int)(key >> 32);
    neso_count count = {.size = sizeof count,
                        .kernel = k->name,
                        .id = k->id,
                        .file = !key               ? NULL
                                : file < k->nfiles ? k->files[file]
                                                   : "?",
                        .line = (uint32_t)key};
    for (int i = key ? COUNTERS_OF_LINES : 0; i < COUNTERS_END; i++) {
        count.name = names[i];
        count.value = v[i];
        if (!key || v[i])
            each(user, &count);
    }
}

/* Reports the counters of the whole kernel, and then those of its lines in order. A key is the file and
 * number of a line; key 0 stands for the whole kernel. */
static void tell_kernel(const struct counted_kernel *k, neso_counts_fn *each, void *user)
{
    for (uint64_t key = 0; key != UINT64_MAX;) {
        uint64_t v[COUNTERS_END] = {0}, next = UINT64_MAX;
        if (!key)
            memcpy(v, k->fixed, sizeof k->fixed);
        for (int i = 0; i < k->ninsns; i++) {
            uint64_t x = line_key(&k->insns[i]);
            if (!key || x == key)
                add_insn(v, &k->insns[i]);
            next = x > key && x < next ? x : next;
        }
        tell(k, key, v, each, user);
        key = next;
    }
}

void emu_counts_each(struct emu_counts *c, neso_counts_fn *each, void *user)
{
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < c->kernels.n; i++)
        tell_kernel(c->kernels.at[i], each, user);
    pthread_mutex_unlock(&c->lock);
}

void emu_counts_help(struct text *out)
{
    static const char *const meanings[] = {
#define X(name, meaning) meaning,
        COUNTERS(X)
#undef X
    };
    for (int i = 0; i < COUNTERS_END; i++)
        text_printf(out, "%-22s %s\n", names[i], meanings[i]);
}
