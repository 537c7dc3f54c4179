/* SPDX-License-Identifier: MIT */
/* capsule.c: implements `neso capsule`, which writes a launch of a program into a file (a capsule), and `neso
 * replay`, which repeats the launch. */
#include "runtime/command/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* the largest number of files that one run writes: a program may continue after a failure and fail again */
enum { KEPT_MOST = 10 };

/* -- keeping capsules -- */

bool keeper_open(struct keeper *k, bool *is_on)
{
    const char *word = getenv("NESO_CAPSULE");
    *k = (struct keeper){.folder = "."};
    *is_on = word && *word && strcmp(word, "off") != 0 && strcmp(word, "0") != 0;
    if (!*is_on || is_switched_on("NESO_CAPSULE"))
        return true;
    snprintf(k->folder, sizeof k->folder, "%s", word);
    struct stat s;
    if ((mkdir(k->folder, 0777) == 0 || errno == EEXIST) && stat(k->folder, &s) == 0 && S_ISDIR(s.st_mode))
        return true;
    complain("NESO_CAPSULE: expected on, off or a folder, and cannot make the folder '%s'", word);
    return false;
}

/* Adds a kernel's name to the list k->kernels, unless the list already has the name or is full. */
static void add_name(struct keeper *k, const char *kernel)
{
    size_t n = strlen(kernel), used = strlen(k->kernels);
    for (const char *s = k->kernels; *s; s += strcspn(s, " "), s += *s == ' ')
        if (strncmp(s, kernel, n) == 0 && (s[n] == ',' || !s[n]))
            return;
    if (used + n + 3 < sizeof k->kernels)
        snprintf(k->kernels + used, sizeof k->kernels - used, "%s%s", used ? ", " : "", kernel);
}

int keeper_wants(struct keeper *k, const char *kernel)
{
    const char *name = k->given ? k->given->options[OPTION_kernel] : NULL;
    if (!k->given)
        return 1;
    add_name(k, kernel);
    k->is_chosen = (!name || strcmp(name, kernel) == 0) && ++k->launches == k->chosen;
    bool is_explicit = name || k->given->options[OPTION_nth_launch];
    return k->is_chosen ? 2 : is_explicit ? 0 : 1;
}

/* Creates and opens FOLDER/KERNEL.capsule; if this file exists, FOLDER/KERNEL-2.capsule, and so on. */
static FILE *open_new(struct keeper *k, const char *kernel)
{
    FILE *f = NULL;
    char number[16] = "";
    for (int i = 2; !f && i < 10000; i++) {
        snprintf(k->path, sizeof k->path, "%.4000s/%.150s%s.capsule", k->folder, kernel, number);
        f = fopen(k->path, "wbx");
        if (!f && errno != EEXIST)
            break;
        snprintf(number, sizeof number, "-%d", i);
    }
    return f;
}

static bool keep_file(struct keeper *k, const char *kernel, const void *data, size_t length)
{
    const char *output = k->given ? k->given->options[OPTION_capsule_file] : NULL;
    if (k->given) {
        snprintf(k->path, sizeof k->path, output ? "%.4100s" : "%.150s.capsule", output ? output : kernel);
        return write_file(k->path, data, length) == GOOD;
    }
    FILE *f = open_new(k, kernel);
    bool good = f && fwrite(data, 1, length, f) == length;
    if (f && fclose(f) != 0)
        good = false;
    if (!good)
        complain("cannot write %s: %s", k->path, strerror(errno));
    return good;
}

static void tell(const struct keeper *k, const neso_capsule *seen)
{
    fflush(stdout);
    fprintf(stderr, "neso: capsule: %s: %s %s\n", seen->kernel,
            seen->seen == NESO_SEEN_RESULT  ? "the launch is kept in"
            : seen->seen == NESO_SEEN_FAULT ? "the failed launch is kept in"
                                            : "the inputs of the difference are kept in",
            k->path);
    if (seen->seen == NESO_SEEN_RESULT)
        fprintf(stderr, "neso: capsule: `neso replay %s` launches it again\n", k->path);
    else
        fprintf(stderr,
                "neso: capsule: `neso replay %s` launches it again, `neso replay --reduce %s -o "
                "small.capsule` makes it small\n",
                k->path, k->path);
}

void keeper_take(struct keeper *k, const neso_capsule *seen, const void *data, size_t length)
{
    bool is_explicit = k->given && (k->given->options[OPTION_kernel] || k->given->options[OPTION_nth_launch]);
    if (is_explicit && !k->is_chosen)
        return;
    k->nseen++;
    if (!data) {
        complain("capsule: no capsule of this launch of %s: %s", seen->kernel, seen->text);
        return;
    }
    /* keep the capsule in memory, because if a later launch fails, the capsule of the failing launch is
     * written instead */
    if (seen->seen == NESO_SEEN_RESULT && !is_explicit) {
        snprintf(k->held_kernel, sizeof k->held_kernel, "%s", seen->kernel);
        k->held = malloc(length);
        k->held_bytes = length;
        if (k->held)
            memcpy(k->held, data, length);
        return;
    }
    if (k->nkept == (k->given ? 1 : KEPT_MOST))
        return;
    if (!keep_file(k, seen->kernel, data, length))
        return;
    tell(k, seen);
    if (++k->nkept == KEPT_MOST)
        fprintf(stderr, "neso: capsule: this is the last one: a run keeps %d\n", KEPT_MOST);
}

static void tell_none(const struct keeper *k)
{
    const char *name = k->given->options[OPTION_kernel];
    if (!*k->kernels)
        complain(
            "capsule: the program launches no kernel that can be kept (kernels that call the host cannot)");
    else if (name && k->launches == 0)
        complain("capsule: the program launches no kernel '%s': it launches %s", name, k->kernels);
    else
        complain("capsule: --launch %d: the program makes %d launch%s%s%s", k->chosen, k->launches,
                 k->launches == 1 ? "" : "es", name ? " of " : "", name ? name : "");
}

int capsule_command(const struct given *g)
{
    struct keeper k = {.given = g, .folder = "."};
    if (!number(g, OPTION_nth_launch, &k.chosen))
        return BAD;
    k.chosen = k.chosen ? k.chosen : 1;
    int result = run_with(g, &k);
    if (k.nkept) {
        free(k.held);
        return GOOD;
    }
    if (k.held) {
        bool good = keep_file(&k, k.held_kernel, k.held, k.held_bytes);
        free(k.held);
        if (good)
            tell(&k, &(neso_capsule){.kernel = k.held_kernel, .seen = NESO_SEEN_RESULT});
        return good ? GOOD : BAD;
    }
    /* otherwise the program's own error message explains why there is no capsule */
    if (!k.nseen && (result == GOOD || *k.kernels))
        tell_none(&k);
    return result ? result : FAILED;
}

/* -- replay -- */

static const char *const seen_words[] = {"a result", "a fault", "a difference", "a refusal"};

static const char *named_device(const struct given *g)
{
    const char *name = g->options[OPTION_device], *variable = getenv("NESO_DEVICE");
    return name ? name : variable && *variable ? variable : NULL;
}

/* Opens the device that --device or NESO_DEVICE names. If neither is given, opens the kind of device that the
 * capsule names, or, if this machine lacks such a device, the emulator. */
static bool open_device(const struct given *g, neso_context *ctx, const neso_capsule *c)
{
    const char *name = named_device(g);
    if (name)
        return neso_context_use_device(ctx, name, NULL) == NESO_OK;
    if (strncmp(c->device, "the interpreter", 15) == 0)
        return neso_context_use_device(ctx, "interpreter", NULL) == NESO_OK;
    return (strstr(c->device, "(cuda") && neso_context_use_device(ctx, "cuda", NULL) == NESO_OK) ||
           neso_context_use_device(ctx, "emulator", NULL) == NESO_OK;
}

static void describe(const neso_capsule *c)
{
    size_t bytes = 0;
    for (size_t i = 0; i < c->buffer_count; i++)
        bytes += c->buffers[i].bytes;
    printf("capsule: %s of %s, grid %u x %u x %u, %zu arguments, %zu bytes of memory\n", c->kernel,
           c->files[0].name, (unsigned)c->grid[0], (unsigned)c->grid[1], (unsigned)c->grid[2],
           c->argument_count, bytes);
    printf("seen:    %s on %s", seen_words[c->seen], c->device);
    if (c->seen == NESO_SEEN_FAULT)
        printf(": %s [%s]", c->text, c->tag);
    if (c->seen == NESO_SEEN_DIFFERENCE)
        printf(": %s; made by %s", c->text, c->pass);
    putchar('\n');
}

static void print_replay(const char *device, const neso_replay *r)
{
    printf("replay:  %s on %s", seen_words[r->seen], device);
    if (*r->text)
        printf(": %s", r->text);
    if (*r->tag && r->seen != NESO_SEEN_DIFFERENCE)
        printf(" [%s]", r->tag);
    if (r->seen == NESO_SEEN_DIFFERENCE)
        printf("; made by %s, gone without %s", r->pass, *r->without ? r->without : "no pass");
    putchar('\n');
}

/* Searches for a pass that causes the failure: compares the results of the emulator and the interpreter. */
static neso_status bisect(neso_context *ctx, const neso_capsule *c)
{
    neso_replay r = {.size = sizeof r};
    neso_status status = neso_capsule_run(ctx, c, 1, &r);
    if (status != NESO_OK)
        return status;
    if (r.verdict == NESO_CHECK_DIFFERS)
        printf("check:   the PTX differs from the traced kernel: %s; made by %s, gone without %s\n", r.text,
               r.pass, *r.without ? r.without : "no pass");
    else if (r.verdict == NESO_CHECK_AGREES)
        puts(
            "check:   no pass made it: the PTX in the emulator agrees with the traced kernel up to rounding");
    else
        printf("check:   no difference of a pass is found, since nothing can be compared: %s\n", r.why);
    return status;
}

static int replay(const struct given *g, neso_context *ctx, const neso_capsule *c)
{
    neso_replay r = {.size = sizeof r};
    neso_status status = neso_capsule_run(ctx, c, 0, &r);
    if (status != NESO_OK)
        return report(g, ctx, status);
    describe(c);
    print_replay(neso_context_device_text(ctx), &r);
    int same = r.same;
    bool is_cpu_code = strcmp(neso_context_device(ctx), "interpreter") != 0;
    if (r.seen != NESO_SEEN_REFUSED && r.seen != NESO_SEEN_DIFFERENCE && c->seen != NESO_SEEN_DIFFERENCE &&
        (!same || (r.seen == NESO_SEEN_FAULT && is_cpu_code)))
        status = bisect(ctx, c);
    puts(same ? "same" : "different");
    return status != NESO_OK ? report(g, ctx, status) : same ? GOOD : FAILED;
}

/* Reduces the capsule. Each try (a launch of a changed capsule) runs in a process that is forked from this
 * process. This process opens no GPU, because CUDA would then not work in the forked processes. If the
 * capsule's launch failed on a GPU and no device is given, the tries run on the emulator, provided that the
 * launch fails there too, because a try on the emulator takes a hundredth of the time. */
static int reduce_on_device(const struct given *g, neso_context *ctx, const neso_capsule *c)
{
    const char *name = named_device(g), *gpu = strstr(c->device, "(cuda") ? "cuda" : NULL;
    bool is_gpu = name && strncmp(name, "cuda", 4) == 0;
    bool is_open = is_gpu || (gpu && !name ? neso_context_use_device(ctx, "emulator", NULL) == NESO_OK
                                           : open_device(g, ctx, c));
    return is_open ? reduce(g, ctx, c, is_gpu ? name : NULL, name ? NULL : gpu)
                   : report(g, ctx, NESO_NO_DEVICE);
}

/* Replays in a new context, because the device of a context with modules cannot be changed. */
static int replay_on_device(const struct given *g, const neso_capsule *c)
{
    neso_context *ctx;
    /* the time limit of one try: a changed kernel may run forever */
    const int64_t reduction_ms = 20000;
    if (!context_open(g, memory_most(), g->options[OPTION_reduce] ? reduction_ms : 0, &ctx))
        return BAD;
    int result = g->options[OPTION_reduce] ? reduce_on_device(g, ctx, c)
                 : open_device(g, ctx, c)  ? replay(g, ctx, c)
                                           : report(g, ctx, NESO_NO_DEVICE);
    neso_context_release(ctx);
    return result;
}

int replay_command(const struct given *g)
{
    const char *path = g->argv[0];
    size_t length;
    neso_context *ctx;
    neso_capsule *c;
    if (!g->options[OPTION_reduce] != !g->options[OPTION_capsule_file])
        return complain("replay: --reduce and --output FILE belong together");
    char *data = read_file(path, &length);
    if (!data)
        return complain("cannot read %s: %s", path, strerror(errno));
    int result = BAD;
    if (context_open(g, memory_most(), 0, &ctx)) {
        neso_status status = neso_capsule_read(ctx, path, data, length, &c);
        result = status == NESO_OK ? replay_on_device(g, c) : report(g, ctx, status);
        neso_capsule_release(status == NESO_OK ? c : NULL);
        neso_context_release(ctx);
    }
    free(data);
    return result;
}
