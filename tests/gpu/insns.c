/* SPDX-License-Identifier: MIT */
/* insns.c: tests every instruction in codegen/insns.h, on operands of every type and in every form that neso emits.
 * The expected results follow from the PTX ISA. The results of the emulator, and with `cuda` also the GPU's results,
 * must equal the expected results bit for bit; results of approximate functions must be within the ISA's error bound.
 * Some copies are invalid: the emulator must report an error for them, and the GPU an illegal instruction.
 *
 *     build/gpu_insns                 emulator
 *     build/gpu_insns cuda [PART]     emulator and GPU; a part: alu, memory, warp, tensor, tma or sums
 *     build/gpu_insns cuda sums N [SEED [WORD]]      N random tiles for each mma and wgmma whose name has WORD
 *     build/gpu_insns cuda first copies through tensor maps, at different coordinates, each in a separate process
 *     build/gpu_insns ptx DIRECTORY   emulator; also writes the kernels to files, for ptxas
 *
 * The program prints a line for each row of insns.h. If the row is not tested, the line gives the reason. After a
 * fault of the GPU, the process ends, and another process continues with the next trial. tests/gpu.sh runs this
 * program. */
#include "tests/gpu/insns.h"

#include "runtime/devices/cuda/cuda.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SPOILED = 0xee,
    SHOWN = 3,
    FAULTS_MOST = 20,
    FAULT = 3,                 /* the exit code of a process after a fault of the GPU */
    REFUSED,                   /* the exit code after the fault that the trial expects */
    ILLEGAL_INSTRUCTION = 715, /* CUDA_ERROR_ILLEGAL_INSTRUCTION */
    SECONDS_MOST = 20,
    MAPS_AT = 3,
    PARAMS = MAPS_AT + TRIAL_MAPS
};

struct tally {
    int forms, refused, failed;
    const char *why_not;
};

/* The state that a process passes to the next process. */
struct results {
    int done; /* the number of trials done */
    long values;
    struct tally tallies[INSN_count];
};

struct bench {
    struct arena arena;
    struct arena_mark begin;
    struct gpu gpu;
    bool on_gpu;
    const char *directory; /* the folder for kernels; NULL: kernels are not written */
    int trials, tiles;
    const char *word; /* trials of sums test only instructions whose names contain this word; NULL: all */
    struct results *results;
};

/* -- memory -- */

static void *allocate(void *ctx, size_t bytes)
{
    (void)ctx;
    return aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
}

static void release(void *ctx, void *p, size_t bytes)
{
    (void)ctx, (void)bytes;
    free(p);
}

static void out_of_memory(void *ctx, size_t bytes)
{
    (void)ctx;
    fprintf(stderr, "out of memory: %zu bytes\n", bytes);
    abort();
}

static const struct memory memory = {allocate, release, NULL};

/* -- operands -- */

static uint64_t state = 0x9E3779B97F4A7C15u;

uint64_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545F4914F6CDD1Du;
}

static uint64_t rounded(enum ptype t, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return t == PT_f64 ? bits : real_round(t, real_of(PT_f64, bits), MOD_rn, false);
}

static uint64_t special_float(enum ptype t, int i)
{
    static const double values[] = {0.0,   -0.0,    1.0,   -1.0, 0.5,  INFINITY, -INFINITY, NAN,
                                    1e-40, 65504.0, 448.0, 3.0,  -7.5, 127.5,    1e30,      6e-8};
    return rounded(t, values[i % 16]);
}

static uint64_t special_integer(int i)
{
    static const int64_t values[] = {0,   1,    -1,    2,      31,        32,        63,        64,
                                     127, -128, 32767, -32768, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    return (uint64_t)values[i % 16];
}

static uint64_t one_operand(enum ptype t, int i, int k)
{
    bool is_float = holds_float(t);
    if (i < 256) {
        int which = k == 0 ? i / 16 : k == 1 ? i : i * 7 + i / 16;
        return is_float ? special_float(t, which) : special_integer(which);
    }
    if (is_float && i % 2)
        return rounded(t, (double)(int64_t)random_bits() * 0x1p-63 * (i % 4 == 1 ? 1 : 40));
    /* for conversions, make a number halfway between two numbers of a narrower type */
    if (is_float && i % 8 == 2)
        return rounded(t, (double)((int64_t)random_bits() >> 48) * 0.5);
    return i % 3 || is_float ? random_bits() : random_bits() % 70;
}

uint64_t operand_bits(enum ptype t, int i, int k)
{
    int bits = type_bits(type_of_half(t));
    uint64_t mask = ~UINT64_C(0) >> (64 - bits), x = one_operand(type_of_half(t), i, k) & mask;
    if (bits < ptype_info[t].bits) /* generate the upper half of a pair too */
        x |= (one_operand(type_of_half(t), i < 256 ? 255 - i : i, k) & mask) << bits;
    return t == PT_pred ? x & 1 : x;
}

/* -- trials -- */

void form_spell(struct form f, char *out, size_t room)
{
    size_t n = (size_t)snprintf(out, room, "%s", insn_info[f.code].mnemonic);
    for (int i = 0; i < MODS_MOST && f.mods[i]; i++)
        n += (size_t)snprintf(out + n, room - n, ".%s", mod_info[f.mods[i]].text);
    if (f.type)
        n += (size_t)snprintf(out + n, room - n, ".%s", ptype_info[f.type].word);
    if (f.from)
        snprintf(out + n, room - n, ".%s", ptype_info[f.from].word);
}

/* Allocates zeroed memory, aligned to 128 bytes. */
static void *place(struct arena *a, size_t bytes)
{
    uintptr_t p = (uintptr_t)arena_alloc(a, bytes + 256);
    return (void *)((p + 127) / 128 * 128);
}

struct trial *trial_new(struct bench *b, size_t in_bytes, size_t out_bytes)
{
    struct trial *t;
    arena_reset(&b->arena, b->begin);
    t = NEW(&b->arena, struct trial);
    *t = (struct trial){.arena = &b->arena,
                        .grid = 1,
                        .threads = LANES,
                        .in_bytes = in_bytes,
                        .out_bytes = out_bytes,
                        .refusal = ERR_count};
    t->in = place(&b->arena, in_bytes);
    t->want = place(&b->arena, out_bytes);
    memset(t->want, SPOILED, out_bytes);
    text_init(&t->ptx, &b->arena);
    return t;
}

void kernel_head(struct trial *t)
{
    kernel_head_with(t, "");
}

void kernel_head_with(struct trial *t, const char *directives)
{
    text_printf(&t->ptx,
                ".version 8.4\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 smem[];\n"
                ".visible .entry k(.param .u64 p_in, .param .u64 p_out, .param .u64 p_word");
    for (int i = 0; i < t->nmaps; i++)
        text_printf(&t->ptx, ", .param .align 64 .b8 p_map%d[128]", i);
    text_printf(
        &t->ptx,
        ")\n.maxntid %d, 1, 1\n%s{\n.reg .b64 %%in, %%out, %%wide;\n.reg .b32 %%t, %%sm, %%lane, %%cta;\n"
        "ld.param.u64 %%in, [p_in];\nld.param.u64 %%out, [p_out];\nmov.u32 %%t, %%tid.x;\n"
        "mov.u32 %%cta, %%ctaid.x;\nmov.u32 %%lane, %%laneid;\nmov.u32 %%sm, smem;\n",
        t->threads, directives);
}

struct check *trial_check(struct trial *t, enum insn_code code, size_t at, int n, int stride, int bytes,
                          const char *format, ...)
{
    struct check c = {.code = code, .at = at, .n = n, .stride = stride, .bytes = bytes};
    va_list args;
    va_start(args, format);
    vsnprintf(c.name, sizeof c.name, format, args);
    va_end(args);
    VEC_PUSH(t->arena, &t->checks, c);
    return &t->checks.at[t->checks.n - 1];
}

int bench_tiles(const struct bench *b)
{
    return b->tiles;
}

bool bench_wants(const struct bench *b, enum insn_code code)
{
    return !b->word || strstr(insn_info[code].name, b->word);
}

void bench_untested(struct bench *b, enum insn_code code, const char *why)
{
    b->results->tallies[code].why_not = why;
}

/* -- running -- */

/* Runs a trial in the emulator; returns the error that it reports, or ERR_count. */
static enum error run_emulator(struct trial *t, uint8_t *out)
{
    struct emu_report r = {.error = ERR_count};
    struct arena arena;
    uint64_t args[PARAMS] = {(uint64_t)(uintptr_t)t->in, (uint64_t)(uintptr_t)out, PARAM_WORD};
    struct cpu_buffer buffers[] = {{args[0], t->in_bytes, "in", NULL, NULL},
                                   {args[1], t->out_bytes, "out", NULL, NULL}};
    struct packed_map *maps = place(t->arena, TRIAL_MAPS * sizeof(struct packed_map));
    for (int i = 0; i < t->nmaps; i++) {
        maps[i] = t->maps[i];
        maps[i].base =
            maps[i].base & IN_OUTPUT ? args[1] + (maps[i].base ^ IN_OUTPUT) : args[0] + maps[i].base;
        args[MAPS_AT + i] = (uint64_t)(uintptr_t)&maps[i];
    }
    if (args[0] > args[1]) {
        struct cpu_buffer first = buffers[1];
        buffers[1] = buffers[0], buffers[0] = first;
    }
    struct emu_launch l = {.grid = {t->grid, 1, 1},
                           .args = args,
                           .buffers = buffers,
                           .nbuffers = 2,
                           .shared_bytes = t->shared_bytes,
                           .mem = &memory};
    arena_init(&arena, &memory, 0, out_of_memory, NULL);
    const struct emu_code *code = emulator_load(&arena, t->ptx.s, t->ptx.len, &r);
    if (code && !emulator_run(code, &l))
        r = l.report;
    if (r.error != t->refusal)
        printf("emulator: %s\n", r.error == ERR_count ? "runs what it is to refuse" : r.what);
    arena_free(&arena);
    return r.error;
}

/* Encodes the tensor map of a trial with the driver. */
static bool encode_map(struct bench *b, const struct packed_map *m, uint64_t in, uint64_t out, void *map,
                       struct fault *f)
{
    uint32_t box[MAP_RANK_MAX] = {1, 1, 1, 1, 1}, step[MAP_RANK_MAX] = {1, 1, 1, 1, 1};
    uint64_t base = m->base & IN_OUTPUT ? out + (m->base ^ IN_OUTPUT) : in + m->base;
    for (int d = 0; d < m->rank; d++)
        box[d] = m->box[d], step[d] = m->step[d];
    return driver_check(&b->gpu.driver,
                        b->gpu.driver.encode_map(map, m->type, m->rank, (void *)(uintptr_t)base, m->extent,
                                                 m->stride, box, step, CU_NO_INTERLEAVE, m->swizzle, 0,
                                                 m->fills_nan),
                        "encode_map", f);
}

#define CALL(call, ...) driver_check(d, d->call(__VA_ARGS__), #call, f)
static bool launch_gpu(struct bench *b, struct trial *t, cu_function function, cu_address in, cu_address out,
                       uint8_t *result, struct fault *f)
{
    const struct driver *d = &b->gpu.driver;
    _Alignas(64) uint8_t maps[TRIAL_MAPS][MAP_BYTES];
    uint64_t word = PARAM_WORD;
    void *params[PARAMS] = {&in, &out, &word};
    for (int i = 0; i < t->nmaps; i++) {
        params[MAPS_AT + i] = maps[i];
        if (!encode_map(b, &t->maps[i], in, out, maps[i], f))
            return false;
    }
    if (t->shared_bytes > 48 << 10 && !CALL(function_set, function, CU_MAX_DYNAMIC_SHARED, t->shared_bytes))
        return false;
    return CALL(copy_to_device, in, t->in, t->in_bytes, NULL) &&
           CALL(copy_to_device, out, result, t->out_bytes, NULL) &&
           CALL(launch, function, (unsigned)t->grid, 1, 1, (unsigned)t->threads, 1, 1,
                (unsigned)t->shared_bytes, NULL, params, NULL) &&
           CALL(stream_sync, NULL) && CALL(copy_from_device, result, out, t->out_bytes, NULL) &&
           CALL(stream_sync, NULL);
}

static int refusal_of_gpu(const struct trial *t)
{
    return t->refusal == ERR_count ? 0 : ILLEGAL_INSTRUCTION;
}

/* Runs a trial on the GPU; returns the driver's error code, or 0. */
static int run_gpu(struct bench *b, struct trial *t, uint8_t *result)
{
    const struct driver *d = &b->gpu.driver;
    struct fault fault = {0}, *f = &fault;
    cu_module module = NULL;
    cu_function function = NULL;
    cu_address in = 0, out = 0;
    bool ok = CALL(module_load, &module, t->ptx.s, 0, NULL, NULL) &&
              CALL(module_function, &function, module, "k") && CALL(mem_alloc, &in, t->in_bytes) &&
              CALL(mem_alloc, &out, t->out_bytes) && launch_gpu(b, t, function, in, out, result, f);
    if (fault.driver_code != refusal_of_gpu(t))
        printf("GPU: %s\n", ok ? "runs what it is to refuse" : fault.detail);
    if (in)
        d->mem_free(in);
    if (out)
        d->mem_free(out);
    if (module)
        d->module_unload(module);
    return fault.driver_code;
}

static char running[2 * NAME_BYTES];
static void give_up(int signal_number)
{
    (void)signal_number;
    _exit(write(STDOUT_FILENO, running, strlen(running)) >= 0 ? FAULT : 2);
}

/* -- comparing -- */

static uint64_t element(const uint8_t *p, const struct check *c, size_t i)
{
    uint64_t x = 0;
    memcpy(&x, p + c->at + i * (size_t)c->stride, (size_t)c->bytes);
    return x;
}

static double float_of(uint64_t bits)
{
    return real_double(real_of(PT_f32, bits));
}

/* Returns whether an approximate result is within the ISA's error bound. The bound is on the absolute error for lg2
 * near 1, and on the relative error otherwise. With .ftz, subnormal numbers become 0. */
static bool is_close(const struct check *c, uint64_t got_bits, uint64_t want_bits, double want)
{
    if (fabs(want) >= 0x1.ffffffp127)
        want = copysign(INFINITY, want);
    double got = float_of(got_bits), error = fabs(got - want), size = fabs(want);
    if (got_bits == want_bits || (isnan(got) && isnan(want)) || (got != 0 && got == want))
        return true;
    bool flushes = c->form.mods[1] == MOD_ftz;
    if (size < 0x1p-126 && (flushes || c->code == INSN_ex2 || c->code == INSN_div))
        return fabs(got) <= 0x1p-126 && error <= 0x1p-126;
    switch (c->code) {
    case INSN_ex2: return error <= size * 0x1p-22;
    case INSN_lg2: return error <= 0x1p-22 || error <= size * 0x1p-22;
    case INSN_rsqrt: return error <= size * 0x1.2p-23;
    case INSN_sqrt: return error <= size * 0x1p-23;
    case INSN_rcp: return error <= size * 0x1p-23;
    default: return error <= size * 0x1p-22; /* div.full: 2 ulp */
    }
}

/* Computes the function of check c in double precision. */
static double approximated(const struct check *c, const struct trial *t, size_t i)
{
    double x[2];
    for (size_t k = 0; k < 2; k++) {
        uint64_t bits = 0;
        memcpy(&bits, t->in + c->in_at + k * (size_t)(c->n * c->stride) + i * (size_t)c->stride,
               sizeof(float));
        x[k] = float_of(bits);
        if (c->form.mods[1] == MOD_ftz && fabs(x[k]) < 0x1p-126)
            x[k] = copysign(0, x[k]);
        if (c->code != INSN_div)
            break;
    }
    switch (c->code) {
    case INSN_ex2: return exp2(x[0]);
    case INSN_lg2: return log2(x[0]);
    case INSN_rsqrt: return 1 / sqrt(x[0]);
    case INSN_sqrt: return sqrt(x[0]);
    case INSN_rcp: return 1 / x[0];
    default: return x[0] / x[1];
    }
}

/* Returns whether the emulator computes this approximate function with the same bits as an H200. */
static bool is_exact_approximation(const struct check *c)
{
    bool flushes = c->form.mods[1] == MOD_ftz;
    if (c->closeness != CLOSE_approx)
        return false;
    return c->code == INSN_ex2 || c->code == INSN_lg2 || c->code == INSN_div ||
           (flushes && (c->code == INSN_rcp || c->code == INSN_rsqrt || c->code == INSN_sqrt));
}

static bool agrees(const struct check *c, const struct trial *t, size_t i, uint64_t got, uint64_t want)
{
    if (c->closeness == CLOSE_approx)
        return is_close(c, got, want, approximated(c, t, i));
    enum ptype type = c->code == INSN_mov ? PT_none : (enum ptype)c->form.type;
    /* whether the ISA does not specify the bits of a NaN */
    bool is_open = type == PT_f64 || (c->form.from == PT_f64 && holds_float(type));
    return got == want || (is_open && real_of(type, got).nan && real_of(type, want).nan);
}

static void show(const struct check *c, const struct trial *t, size_t i, const uint8_t *const *results)
{
    printf("  %s element %zu: stated 0x%llx, emulator 0x%llx", c->name, i,
           (unsigned long long)element(t->want, c, i), (unsigned long long)element(results[0], c, i));
    if (results[1])
        printf(", GPU 0x%llx", (unsigned long long)element(results[1], c, i));
    for (size_t k = 0; k < 3 && c->has_operands; k++) {
        uint64_t x = 0;
        memcpy(&x, t->in + c->in_at + k * (size_t)(c->n * c->stride) + i * (size_t)c->stride, 8);
        printf("%s0x%llx", k ? ", " : "; operands ", (unsigned long long)x);
    }
    printf("\n");
}

static void compare(struct bench *b, const struct trial *t, const uint8_t *const *results)
{
    for (int k = 0; k < t->checks.n; k++) {
        const struct check *c = &t->checks.at[k];
        int wrong = 0;
        for (size_t i = 0; i < (size_t)c->n; i++) {
            bool ok = true;
            for (int side = 0; side < 2 && results[side]; side++)
                ok &= agrees(c, t, i, element(results[side], c, i), element(t->want, c, i));
            if (results[1] && is_exact_approximation(c))
                ok &= element(results[0], c, i) == element(results[1], c, i);
            if (!ok && wrong++ < SHOWN)
                show(c, t, i, results);
        }
        if (wrong)
            printf("FAILED %s: %d of %d differ\n", c->name, wrong, c->n);
        b->results->tallies[c->code].forms++;
        b->results->tallies[c->code].failed += wrong > 0;
        b->results->values += c->n;
    }
}

static void write_kernel(struct bench *b, const struct trial *t)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%04d.ptx", b->directory, b->trials);
    FILE *f = fopen(path, "w");
    if (!f)
        return;
    fwrite(t->ptx.s, 1, t->ptx.len, f);
    fclose(f);
}

/* Counts the checks of a trial that did not run to its end as passed (if `good`) or failed. */
static void count_stopped(struct bench *b, const struct trial *t, bool good)
{
    if (!good)
        printf("FAILED %s%s: %s\n", t->checks.at[0].name, t->checks.n > 1 ? " and others" : "",
               t->refusal == ERR_count ? "did not run" : "was to be refused");
    for (int k = 0; k < t->checks.n; k++) {
        struct tally *y = &b->results->tallies[t->checks.at[k].code];
        y->forms++;
        y->refused += good;
        y->failed += !good;
    }
}

static int run_guarded(struct bench *b, struct trial *t, uint8_t *result)
{
    snprintf(running, sizeof running, "%s: no end on the GPU\n", t->checks.at[0].name);
    alarm(SECONDS_MOST);
    int code = run_gpu(b, t, result);
    alarm(0);
    return code;
}

void trial_run(struct bench *b, struct trial *t)
{
    uint8_t *out[2] = {place(t->arena, t->out_bytes), NULL};
    int code = 0;
    if (b->trials++ < b->results->done)
        return;
    memset(out[0], SPOILED, t->out_bytes);
    if (b->directory)
        write_kernel(b, t);
    b->results->done = b->trials;
    bool good = run_emulator(t, out[0]) == t->refusal;
    if (t->is_judged_by_emulator)
        memcpy(t->want, out[0], t->out_bytes);
    if (b->on_gpu) {
        out[1] = place(t->arena, t->out_bytes);
        memset(out[1], SPOILED, t->out_bytes);
        code = run_guarded(b, t, out[1]);
        good &= code == refusal_of_gpu(t);
    }
    if (good && t->refusal == ERR_count)
        compare(b, t, (const uint8_t *const *)out);
    else
        count_stopped(b, t, good);
    if (code)
        _exit(good ? REFUSED : FAULT);
}

/* -- all trials -- */

static int print_table(const struct bench *b)
{
    int failed = 0, passed = 0;
    for (int c = 0; c < INSN_count; c++) {
        const struct tally *y = &b->results->tallies[c];
        if (y->forms)
            printf("%-20s %5d forms", insn_info[c].name, y->forms);
        else
            printf("%-20s %s", insn_info[c].name, y->why_not ? y->why_not : "NOT TESTED");
        if (y->refused)
            printf(", %d of them refused", y->refused);
        if (y->failed)
            printf(", %d FAILED", y->failed);
        printf("\n");
        failed += y->failed + (!y->forms && !y->why_not);
        passed += y->forms - y->failed;
    }
    printf("%d kernels, %ld values\n%d passed, %d failed\n", b->results->done, b->results->values, passed,
           failed);
    return failed;
}

static bool open_gpu(struct bench *b)
{
    struct fault fault = {0}, *f = &fault;
    struct driver *d = &b->gpu.driver;
    b->on_gpu = driver_open(d, f) && CALL(device_get, &b->gpu.device, 0) &&
                CALL(primary_retain, &b->gpu.context, b->gpu.device) && CALL(context_push, b->gpu.context);
    if (!b->on_gpu)
        printf("%s\n", fault.detail);
    return b->on_gpu;
}

static const struct {
    const char *name;
    void (*run)(struct bench *b);
} parts[] = {{"alu", try_alu},       {"memory", try_memory}, {"warp", try_warp},
             {"tensor", try_tensor}, {"tma", try_tma},       {"sums", try_sums}};

static void run_parts(struct bench *b, const char *name)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!name || strcmp(name, parts[i].name) == 0)
            parts[i].run(b);
}

/* Runs trials, from number `first` on, in a separate process, and returns its exit code. */
static int apart(struct bench *b, const char *name, int first)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!open_gpu(b))
            _exit(2);
        if (first >= 0)
            try_first(b, first);
        else
            run_parts(b, name);
        exit(0);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

static int run_on_gpu(struct bench *b, const char *name)
{
    int code, faults = 0;
    do {
        code = apart(b, name, -1);
        faults += code == FAULT;
    } while (code == REFUSED || (code == FAULT && faults < FAULTS_MOST));
    printf("%d faults\n", faults);
    return print_table(b) > 0 || faults || code;
}

static int run_firsts(struct bench *b)
{
    char first[NAME_BYTES];
    int failed = 0;
    for (int i = 0; first_name(i, first, sizeof first); i++) {
        b->results->done = 0;
        printf("%s: ", first);
        int code = apart(b, NULL, i);
        printf("%s\n", code == REFUSED ? "refused by both" : code ? "FAILED" : "runs");
        failed += code != 0 && code != REFUSED;
    }
    for (int c = 0; c < INSN_count; c++)
        failed += b->results->tallies[c].failed;
    return failed > 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *name = argc > 2 ? argv[2] : NULL;
    struct bench b = {.results = mmap(NULL, sizeof(struct results), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    if (b.results == MAP_FAILED)
        return 2;
    arena_init(&b.arena, &memory, 0, out_of_memory, NULL);
    b.begin = arena_mark(&b.arena);
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGALRM, give_up);
    b.tiles = argc > 3 ? atoi(argv[3]) : 0;
    b.word = argc > 5 ? argv[5] : NULL;
    state += argc > 4 ? strtoull(argv[4], NULL, 10) * 0x9E3779B97F4A7C15u : 0;
    if (strcmp(what, "cuda") == 0)
        return name && strcmp(name, "first") == 0 ? run_firsts(&b) : run_on_gpu(&b, name);
    b.directory = strcmp(what, "ptx") == 0 ? name : NULL;
    run_parts(&b, b.directory ? NULL : name);
    int failed = print_table(&b);
    arena_free(&b.arena);
    return failed > 0;
}
