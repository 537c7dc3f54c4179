/* SPDX-License-Identifier: MIT */
/* judge.c: compares a program's results on the interpreter with the results of the compiled program on the emulator or
 * a GPU, and checks that ptxas accepts the PTX. */
#include "runtime/neso.h"
#include "tests/random/random.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEMORY = 16 << 20 };

struct device {
    neso_context *context;
    /* on a GPU, one allocation for all tensors; on a CPU it is unused: each tensor has its own allocation, so that
     * accesses out of bounds are detected */
    uint64_t memory;
};

struct judge {
    bool cuda;
    /* the judge compiles with the library's option `check`, and does not compare results itself */
    bool checks;
    struct verdict *checked; /* receives the finding of the option `check` */
    struct device devices[DEVICES];
    unsigned char *before, *want, *got;
};

static const char *const device_names[DEVICES] = {"interpreter", "emulator", "cuda"};
static const char *const targets[] = {"sm_90a", "sm_80", "sm_86", "sm_89", "sm_100a", "sm_120a"};
enum { TARGETS = sizeof targets / sizeof *targets };

/* The passes that can be skipped. */
static const char *const passes[] = {"fold",
                                     "cse",
                                     "licm",
                                     "dce",
                                     "single_trip_loops",
                                     "raise_tma_load",
                                     "raise_tma_store",
                                     "dedup_loads",
                                     "modulo_contiguity",
                                     "persistent_grid",
                                     "raise_tma_load,warp_specialize",
                                     "overlap_dots",
                                     "pipeline_loops",
                                     "alternate_dots",
                                     "overlap_epilogue",
                                     "schedule_dots",
                                     "sink",
                                     "cluster_multicast",
                                     "remat",
                                     "vectorize",
                                     "eviction_hints",
                                     "l2_prefetch",
                                     "pack_programs",
                                     "unroll",
                                     "raise_tma_store,lower_tma_store"};
enum { PASSES = sizeof passes / sizeof *passes };

void judge_by_check(struct judge *j)
{
    j->checks = true;
}

/* Prints a line for each check, which tests/random/faults.sh reads, and records a difference as a failure. */
static void take_check(void *user, const neso_checked *x)
{
    static const char *const words[] = {"agrees", "differs", "unknown"};
    struct judge *j = user;
    struct verdict *v = j->checked;
    printf("check %s %.1f ms, %d inputs: %s%s%s\n", words[x->verdict], x->milliseconds, x->inputs,
           x->verdict == NESO_CHECK_DIFFERS ? x->pass : "", x->verdict == NESO_CHECK_DIFFERS ? " " : "",
           x->text);
    if (x->verdict != NESO_CHECK_DIFFERS)
        return;
    v->what = FAILED;
    snprintf(v->kind, sizeof v->kind, "check: %.90s", x->pass);
    snprintf(v->text, sizeof v->text, "%s", x->text);
}

struct judge *judge_open(bool cuda)
{
    struct judge *j = calloc(1, sizeof *j);
    if (!j)
        exit(2);
    j->cuda = cuda;
    j->before = malloc(MEMORY);
    j->want = malloc(MEMORY);
    j->got = malloc(MEMORY);
    if (!j->before || !j->want || !j->got)
        exit(2);
    return j;
}

void judge_close(struct judge *j)
{
    for (int i = 0; i < DEVICES; i++)
        if (j->devices[i].context)
            neso_context_release(j->devices[i].context);
    free(j->before);
    free(j->want);
    free(j->got);
    free(j);
}

static struct device *open_device(struct judge *j, int which)
{
    struct device *d = &j->devices[which];
    if (d->context)
        return d;
    if (neso_context_create(NULL, &d->context) != NESO_OK ||
        neso_context_use_device(d->context, device_names[which], NULL) != NESO_OK ||
        (which == DEVICE_cuda && neso_memory_allocate(d->context, MEMORY, &d->memory) != NESO_OK)) {
        fprintf(stderr, "%s\n", d->context ? neso_error_text(d->context) : "no memory");
        exit(3);
    }
    return d;
}

void config_print(const struct config *c, char *out, size_t room)
{
    snprintf(out, room, "%s %s, %d warps, %d stages%s%s", c->ptxas ? "ptxas" : device_names[c->device],
             c->target, c->warps, c->stages, c->skip[0] ? ", without " : "", c->skip);
}

/* -- verdicts -- */

/* Sets the kind of a failure: `what`, and the message without numbers and names of values, so that failures with the
 * same cause mostly have the same kind. */
static void set_kind(struct verdict *v, const char *what, const char *message)
{
    size_t n = (size_t)snprintf(v->kind, sizeof v->kind, "%s: ", what);
    bool quoted = false;
    /* the nesting depth inside the shape and layout of a type; shapes and layouts are skipped, because they differ
     * from failure to failure */
    int inside = 0;
    for (const char *s = message; *s && *s != '\n' && n + 2 < sizeof v->kind; s++) {
        quoted ^= *s == '\'';
        inside += *s == '<';
        inside -= *s == '>' && inside > 0;
        if (inside)
            continue;
        if (*s >= '0' && *s <= '9') {
            if (v->kind[n - 1] != '#')
                v->kind[n++] = '#';
        } else if (!(quoted && *s != '\'' && strncmp(what, "internal", 8) != 0)) {
            v->kind[n++] = *s;
        }
    }
    v->kind[n] = 0;
}

/* Each row describes a diagnostic that does not count as a failure: it has this tag, and its message contains
 * `part`. */
static const struct {
    const char *tag, *part;
} honest[] = {
    {"shared-too-large", "bytes of shared memory"},
};

static void set_refusal(struct verdict *v, neso_context *context, neso_status status)
{
    neso_diagnostic d = {.size = sizeof d};
    const char *tag = "?", *message = "no message";
    if (neso_diagnostic_get(context, 0, &d)) {
        tag = d.tag;
        message = d.message;
    }
    v->what = FAILED;
    for (size_t i = 0; i < sizeof honest / sizeof *honest; i++)
        if (strcmp(tag, honest[i].tag) == 0 && strstr(message, honest[i].part) && status != NESO_INTERNAL)
            v->what = REFUSED;
    set_kind(v, status == NESO_INTERNAL ? "internal" : tag, message);
    snprintf(v->text, sizeof v->text, "%s", neso_error_text(context));
}

/* -- one launch -- */

static neso_kernel *compile(struct judge *j, struct device *d, const struct program *p,
                            const struct config *c, const char *source, const char *signature,
                            struct verdict *v)
{
    neso_module *module = NULL;
    neso_kernel *kernel = NULL;
    neso_compile_options options = {.size = sizeof options,
                                    .signature = signature,
                                    .target = c->device == DEVICE_emulator || c->ptxas ? c->target : NULL,
                                    .num_warps = c->warps,
                                    .num_stages = c->stages,
                                    .skip = c->skip[0] ? c->skip : NULL,
                                    .no_fp_fusion = p->no_fusion,
                                    .until = c->ptxas ? NESO_TEXT_PTX : 0,
                                    .check = j->checks && c->device == DEVICE_emulator,
                                    .checked = take_check,
                                    .user = j};
    neso_status status = neso_module_from_source(d->context, "random.py", source, strlen(source), &module);
    if (status == NESO_OK)
        status = neso_kernel_compile(module, "kernel", &options, &kernel);
    if (status != NESO_OK)
        set_refusal(v, d->context, status);
    neso_module_release(module);
    return kernel;
}

static bool place(struct device *d, const struct program *p, const unsigned char *memory, size_t bytes,
                  uint64_t *at)
{
    if (d->memory) {
        for (int i = 0; i < p->nbuffers; i++)
            at[i] = d->memory + (uint64_t)p->buffers[i]->offset;
        return neso_memory_write(d->context, d->memory, memory, bytes) == NESO_OK;
    }
    for (int i = 0; i < p->nbuffers; i++) {
        const struct buffer *b = p->buffers[i];
        int64_t skew = b->skew * elem_bytes(b->elem);
        size_t size = (size_t)(b->count * elem_bytes(b->elem) + skew);
        if (!b->count)
            continue;
        if (neso_memory_allocate(d->context, size, &at[i]) != NESO_OK ||
            neso_memory_write(d->context, at[i], memory + b->offset - skew, size) != NESO_OK)
            return false;
        at[i] += (uint64_t)skew;
    }
    return true;
}

static void fetch(struct device *d, const struct program *p, unsigned char *memory, size_t bytes,
                  uint64_t *at)
{
    if (d->memory) {
        neso_memory_read(d->context, memory, d->memory, bytes);
        return;
    }
    for (int i = 0; i < p->nbuffers; i++) {
        const struct buffer *b = p->buffers[i];
        if (!at[i])
            continue;
        neso_memory_read(d->context, memory + b->offset, at[i], (size_t)(b->count * elem_bytes(b->elem)));
        neso_memory_release(d->context, at[i] - (uint64_t)(b->skew * elem_bytes(b->elem)));
    }
}

static bool launch(struct device *d, const struct program *p, neso_kernel *kernel, unsigned char *memory,
                   size_t bytes, struct verdict *v)
{
    struct argument args[BUFFERS + SCALARS];
    const void *values[BUFFERS + SCALARS];
    uint64_t numbers[BUFFERS + SCALARS], at[BUFFERS] = {0};
    neso_error error = {.size = sizeof error};
    uint32_t grid[3];
    int n = program_arguments(p, args);
    program_grid(p, grid);
    if (!place(d, p, memory, bytes, at)) {
        fprintf(stderr, "%s\n", neso_error_text(d->context));
        exit(3);
    }
    for (int i = 0; i < n; i++) {
        numbers[i] = args[i].bits;
        for (int k = 0; k < p->nbuffers; k++)
            if (p->buffers[k] == args[i].buffer)
                numbers[i] = at[k];
        values[i] = &numbers[i];
    }
    bool ok = neso_launch(kernel, grid, NULL, values, &error) == NESO_OK;
    if (ok && d->memory && neso_synchronize(d->context, NULL) != NESO_OK) {
        snprintf(error.message, sizeof error.message, "%s", neso_error_text(d->context));
        ok = false;
    }
    fetch(d, p, memory, bytes, at);
    if (ok)
        return true;
    /* The fallback without tensor maps may need more shared memory than the GPU has; this is not a failure. */
    v->what = strstr(error.message, "does not fit the GPU") ? REFUSED : FAILED;
    set_kind(v, "launch", error.message);
    snprintf(v->text, sizeof v->text, "%s", error.message);
    return false;
}

/* -- ptxas -- */

static void assemble(neso_kernel *kernel, const struct config *c, struct verdict *v)
{
    enum { OF_SHELL = 128 };
    char name[64], command[200], line[300] = "";
    const char *text;
    snprintf(name, sizeof name, "/tmp/random.%d.ptx", (int)getpid());
    FILE *f = fopen(name, "w");
    if (!f || neso_kernel_text(kernel, NESO_TEXT_PTX, &text, NULL) != NESO_OK)
        exit(2);
    fputs(text, f);
    fclose(f);
    snprintf(command, sizeof command, "ptxas -arch=%s %s -o /dev/null 2>&1", c->target, name);
    f = popen(command, "r");
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, "error") || strstr(line, "fatal"))
            break;
        else
            line[0] = 0;
    int status = f ? pclose(f) : 0, code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    unlink(name);
    if (status == 0)
        return;
    if (code == OF_SHELL + SIGXCPU || code == OF_SHELL + SIGKILL) {
        v->what = REFUSED;
        snprintf(v->kind, sizeof v->kind, "ptxas did not end within a kernel's time");
        return;
    }
    const char *what = strstr(line, "error");
    v->what = FAILED;
    set_kind(v, "ptxas", what ? what : line[0] ? line : "no message");
    snprintf(v->text, sizeof v->text, "exit status %d: %s", code, line);
}

bool judge_has_ptxas(void)
{
    return system("ptxas --version >/dev/null 2>&1") == 0;
}

/* -- comparing a configuration with the interpreter -- */

struct texts {
    struct text source, signature;
    int64_t bytes;
};

static bool prepare(struct judge *j, struct program *p, struct texts *t, struct verdict *v)
{
    *v = (struct verdict){.what = PASSED};
    t->bytes = program_layout(p);
    if (t->bytes > MEMORY) {
        v->what = REFUSED;
        snprintf(v->kind, sizeof v->kind, "more memory than a program gets here");
        return false;
    }
    text_init(&t->source, p->arena);
    text_init(&t->signature, p->arena);
    text_str(&t->signature, "");
    program_print(p, false, NULL, NULL, &t->source);
    program_signature(p, &t->signature);
    memset(j->before, 0xA5, (size_t)t->bytes);
    program_fill(p, j->before);
    memcpy(j->want, j->before, (size_t)t->bytes);
    struct config c = {
        .device = DEVICE_interpreter, .target = targets[0], .warps = p->warps, .stages = p->stages};
    v->config = c;
    struct device *d = open_device(j, DEVICE_interpreter);
    neso_kernel *kernel = compile(j, d, p, &c, t->source.s, t->signature.s, v);
    if (!kernel)
        return false;
    bool ok = launch(d, p, kernel, j->want, (size_t)t->bytes, v);
    neso_kernel_release(kernel);
    return ok;
}

static void try_config(struct judge *j, struct program *p, const struct texts *t, const struct config *c,
                       struct verdict *v, struct expectation *x)
{
    struct device *d = open_device(j, c->ptxas ? DEVICE_emulator : c->device);
    v->config = *c;
    neso_kernel *kernel = compile(j, d, p, c, t->source.s, t->signature.s, v);
    if (!kernel)
        return;
    memcpy(j->got, j->before, (size_t)t->bytes);
    if (c->ptxas) {
        assemble(kernel, c, v);
    } else if (j->checked = v, launch(d, p, kernel, j->got, (size_t)t->bytes, v) && !j->checks) {
        char text[200] = "";
        if (!program_compare(p, j->want, j->got, t->bytes, x, text, sizeof text)) {
            v->what = FAILED;
            snprintf(v->kind, sizeof v->kind, "difference");
            snprintf(v->text, sizeof v->text, "%s", text);
        }
    }
    neso_kernel_release(kernel);
}

void judge_one(struct judge *j, struct program *p, const struct config *c, struct verdict *v,
               struct expectation *x)
{
    struct texts t;
    if (!prepare(j, p, &t, v))
        return;
    if (c->device != DEVICE_interpreter)
        try_config(j, p, &t, c, v, x);
}

/* -- configurations -- */

static uint64_t mix(uint64_t *state)
{
    *state += 0x9E3779B97F4A7C15u;
    uint64_t x = *state;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static int choose_configs(const struct judge *j, const struct program *p, struct config *c)
{
    uint64_t state = p->seed * 977 + 5;
    int n = 0;
    if (j->cuda)
        c[n++] = (struct config){DEVICE_cuda, targets[0], p->warps, p->stages, "", false};
    c[n++] = (struct config){DEVICE_emulator, targets[0], p->warps, p->stages, "", false};
    for (int i = 0; i < 2; i++) {
        c[n] = (struct config){DEVICE_emulator,
                               targets[mix(&state) % TARGETS],
                               1 << mix(&state) % 5,
                               1 + (int)(mix(&state) % 4),
                               "",
                               false};
        if (i == 1 || j->cuda) {
            int left_out = 1 + (int)(mix(&state) % 3);
            for (int k = 0; k < left_out; k++) {
                const char *pass = passes[mix(&state) % PASSES];
                if (strstr(c[n].skip, pass))
                    continue;
                strcat(c[n].skip, k ? "," : "");
                strcat(c[n].skip, pass);
            }
            if (j->cuda && i) {
                c[n].device = DEVICE_cuda;
                c[n].target = targets[0]; /* compile for the target of the GPU */
            }
        }
        n++;
    }
    const char *every = getenv("RANDOM_PTXAS");
    if (!j->cuda && every && mix(&state) % (uint64_t)(atoi(every) > 0 ? atoi(every) : 1) == 0)
        c[n++] =
            (struct config){DEVICE_emulator, targets[mix(&state) % TARGETS], p->warps, p->stages, "", true};
    return n;
}

/* Returns whether the target supports all types of the program: fp8e4nv needs sm_89. */
static bool has_types(const struct program *p, const struct config *c)
{
    return !p->has_small4 || (strcmp(c->target, "sm_80") != 0 && strcmp(c->target, "sm_86") != 0);
}

void judge_all(struct judge *j, struct program *p, struct verdict *v, void (*refused)(void *, const char *),
               void *user)
{
    struct texts t;
    struct config configs[8];
    if (!prepare(j, p, &t, v)) {
        if (v->what == REFUSED)
            refused(user, v->kind);
        return;
    }
    int n = choose_configs(j, p, configs);
    n = j->checks ? 1 : n;
    for (int i = 0; i < n && v->what != FAILED; i++) {
        if (!has_types(p, &configs[i]))
            continue;
        *v = (struct verdict){.what = PASSED};
        try_config(j, p, &t, &configs[i], v, NULL);
        if (v->what == REFUSED)
            refused(user, v->kind);
    }
}
