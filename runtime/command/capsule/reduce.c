/* SPDX-License-Identifier: MIT */
/* reduce.c: implements `neso replay --reduce`, which makes the capsule of a failing launch small.
 *
 *     grid 24415      grid 1
 *     X 100 MB    =>  X 4 bytes
 *     40 lines        8 lines
 *
 * The command changes one thing after the other, launches the changed capsule (a try), and keeps the change
 * if the launch still fails in the same way: with the same error on the same argument (on a GPU: with the
 * same message). If the failure is a difference between the PTX and the traced kernel, the same pass must
 * cause it. A changed source that does not compile fails in another way, so the code that changes sources
 * need not parse Python. Each try runs in a separate process, because after a fault on a GPU all later
 * launches of the same process fail. */
#include "runtime/command/capsule/reduce.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIES_MOST = 6000, ROUNDS_MOST = 10, SECONDS_MOST = 60 };

/* -- tries -- */

void *reducer_alloc(struct reducer *r, size_t bytes)
{
    struct block *b = calloc(1, sizeof *b + 16 + bytes);
    if (!b)
        exit(complain("out of memory"));
    b->next = r->blocks;
    r->blocks = b;
    return (char *)b + 16;
}

/* Sets `name` to the first text in quotes in a message, which is the name of an argument; "" if there is
 * none. */
static void quoted_name(const char *text, char *name, size_t room)
{
    const char *open = strchr(text, '\''), *close = open ? strchr(open + 1, '\'') : NULL;
    snprintf(name, room, "%.*s", close ? (int)(close - open - 1) : 0, close ? open + 1 : "");
}

static void keep_message(struct reducer *r)
{
    snprintf(r->text, sizeof r->text, "%s", r->tried->text);
    r->line = r->tried->line;
}

/* Runs a capsule in this process, which then ends. Stores the outcome in *r->tried. */
static _Noreturn void run_here(const struct reducer *r, const neso_capsule *c, int check)
{
    struct tried *x = r->tried;
    neso_replay y = {.size = sizeof y, .tag = "", .text = "", .pass = ""};
    alarm(SECONDS_MOST);
    x->status = r->device ? neso_context_use_device(r->ctx, r->device, NULL) : NESO_OK;
    if (x->status == NESO_OK)
        x->status = neso_capsule_run(r->ctx, c, check, &y);
    x->seen = y.seen;
    x->line = y.line;
    snprintf(x->tag, sizeof x->tag, "%s", y.tag);
    snprintf(x->pass, sizeof x->pass, "%s", y.pass);
    snprintf(x->text, sizeof x->text, "%s", y.text);
    snprintf(x->device, sizeof x->device, "%s", neso_context_device_text(r->ctx));
    x->done = true;
    _exit(0);
}

/* Runs a capsule in a separate process. Sets *r->tried to the outcome; returns false if the process could not run the
 * capsule. */
static bool run(const struct reducer *r, const neso_capsule *c, int check)
{
    int status;
    memset(r->tried, 0, sizeof *r->tried);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        run_here(r, c, check);
    return child > 0 && waitpid(child, &status, 0) == child && r->tried->done && r->tried->status == NESO_OK;
}

bool reducer_fails(struct reducer *r, const neso_capsule *changed)
{
    const struct tried *x = r->tried;
    char name[sizeof r->name];
    if (r->ntries >= r->tries_most || (r->until && time(NULL) > r->until))
        return false;
    r->ntries++;
    progress_show(&r->progress, "%d variants tried", r->ntries);
    if (!run(r, changed, r->seen == NESO_SEEN_DIFFERENCE) || x->seen != r->seen)
        return false;
    quoted_name(x->text, name, sizeof name);
    bool is_same = r->seen == NESO_SEEN_DIFFERENCE ? strcmp(x->pass, r->pass) == 0
                   : strcmp(x->tag, "driver-call") == 0
                       ? strcmp(x->text, r->text) == 0
                       : strcmp(x->tag, r->tag) == 0 && strcmp(name, r->name) == 0;
    if (is_same)
        keep_message(r);
    return is_same;
}

/* -- the grid -- */

static bool try_grid(struct reducer *r, int axis, uint32_t to)
{
    const uint32_t was = r->now.grid[axis];
    if (to >= was)
        return false;
    r->now.grid[axis] = to;
    if (reducer_fails(r, &r->now))
        return true;
    r->now.grid[axis] = was;
    return false;
}

/* Changes the source so that only the program instance runs that the message names. If the launch no longer
 * fails after this change, makes the grid smaller instead. Returns whether it has changed anything. */
static bool reduce_grid(struct reducer *r)
{
    unsigned pid[3];
    const char *program = strstr(r->text, "program (");
    if (r->now.grid[0] * r->now.grid[1] * r->now.grid[2] == 1)
        return false;
    if (program && sscanf(program, "program (%u, %u, %u)", &pid[0], &pid[1], &pid[2]) == 3 &&
        reduce_to_program(r, pid))
        return true;
    bool any = false;
    for (int axis = 0; axis < 3; axis++) {
        any |= try_grid(r, axis, 1);
        while (try_grid(r, axis, r->now.grid[axis] / 2 + r->now.grid[axis] % 2))
            any = true;
        any |= try_grid(r, axis, r->now.grid[axis] - 1);
    }
    return any;
}

/* -- sizes -- */

/* Halves all integer arguments, all buffers and, if with_grid is true, the grid in one change: an access that
 * was within a buffer then probably stays within the buffer. */
static bool halve_all(struct reducer *r, bool with_grid)
{
    const neso_capsule was = r->now;
    neso_capsule_argument *args = reducer_alloc(r, (was.argument_count + 1) * sizeof *args);
    neso_capsule_buffer *buffers = reducer_alloc(r, (was.buffer_count + 1) * sizeof *buffers);
    memcpy(args, r->args, was.argument_count * sizeof *args);
    memcpy(buffers, r->buffers, was.buffer_count * sizeof *buffers);
    bool any = false;
    for (size_t i = 0; i < was.argument_count; i++) {
        neso_capsule_argument *a = &r->args[i];
        bool is_size =
            (a->type[0] == 'i' || a->type[0] == 'u') && a->value > 1 && a->value < (uint64_t)1 << 48;
        any |= is_size;
        if (is_size)
            a->value = a->value % 16 == 0 && a->value > 16 ? (a->value / 2 + 15) / 16 * 16 : a->value / 2;
        if (a->buffer >= 0 && a->value)
            a->value = a->value / 2 / 16 * 16;
    }
    for (size_t i = 0; i < was.buffer_count; i++) {
        any |= buffers[i].bytes >= 8;
        r->buffers[i].bytes = buffers[i].bytes >= 8 ? buffers[i].bytes / 2 / 4 * 4 : buffers[i].bytes;
    }
    for (int i = 0; i < 3 && with_grid; i++)
        r->now.grid[i] = was.grid[i] / 2 + was.grid[i] % 2;
    if (any && reducer_fails(r, &r->now))
        return true;
    memcpy(r->args, args, was.argument_count * sizeof *args);
    memcpy(r->buffers, buffers, was.buffer_count * sizeof *buffers);
    memcpy(r->now.grid, was.grid, sizeof was.grid);
    return false;
}

static bool reduce_sizes(struct reducer *r)
{
    bool any = false;
    while (halve_all(r, true) || halve_all(r, false))
        any = true;
    return any;
}

/* -- memory -- */

/* Sets to 0 the parts of a buffer whose contents the failure does not need. Tries large parts first. */
static bool zero_buffer(struct reducer *r, neso_capsule_buffer *b)
{
    enum { LEAST = 64, STEP = 8, TRIES = 300 };
    unsigned char *s = reducer_alloc(r, b->bytes), *zeros = reducer_alloc(r, b->bytes);
    const unsigned char *was = b->before;
    bool any = false;
    const int end = r->ntries + TRIES;
    memcpy(s, was, b->bytes);
    b->before = s;
    for (size_t part = b->bytes; part >= LEAST || part == b->bytes; part /= STEP) {
        for (size_t at = 0; at < b->bytes && r->ntries < end; at += part) {
            size_t n = b->bytes - at < part ? b->bytes - at : part;
            if (memcmp(s + at, zeros, n) == 0)
                continue;
            memset(s + at, 0, n);
            if (reducer_fails(r, &r->now))
                any = true;
            else
                memcpy(s + at, was + at, n);
        }
        if (part == 0)
            break;
    }
    return any;
}

/* Returns the largest offset in bytes from the start of a buffer to an address that an argument has. */
static size_t reach(const struct reducer *r, int buffer)
{
    uint64_t most = 0;
    for (size_t i = 0; i < r->now.argument_count; i++)
        if (r->args[i].buffer == buffer && r->args[i].value > most)
            most = r->args[i].value;
    return (size_t)most;
}

static bool cut_buffer(struct reducer *r, int at)
{
    neso_capsule_buffer *b = &r->buffers[at];
    const size_t was = b->bytes;
    bool any = false;
    for (size_t to = 0; to < was; to = to ? to * 4 : 16) {
        if (to < reach(r, at))
            continue;
        b->bytes = to;
        if (reducer_fails(r, &r->now))
            return true;
        b->bytes = was;
    }
    for (size_t to; (to = b->bytes / 2 / 16 * 16) >= reach(r, at) && to < b->bytes;) {
        size_t before = b->bytes;
        b->bytes = to;
        if (!reducer_fails(r, &r->now)) {
            b->bytes = before;
            break;
        }
        any = true;
    }
    return any;
}

/* Removes the buffers to which no argument points. */
static void drop_buffers(struct reducer *r)
{
    for (size_t i = r->now.buffer_count; i-- > 0;) {
        bool is_used = false;
        for (size_t k = 0; k < r->now.argument_count; k++)
            is_used |= r->args[k].buffer == (int)i;
        if (is_used)
            continue;
        memmove(r->buffers + i, r->buffers + i + 1, (r->now.buffer_count - i - 1) * sizeof *r->buffers);
        r->now.buffer_count--;
        for (size_t k = 0; k < r->now.argument_count; k++)
            r->args[k].buffer -= r->args[k].buffer > (int)i;
    }
}

static bool reduce_memory(struct reducer *r)
{
    bool any = false;
    drop_buffers(r);
    for (size_t i = 0; i < r->now.buffer_count; i++) {
        bool is_exceeded =
            strcmp(r->tag, "out-of-bounds") == 0 && (!*r->name || strcmp(r->buffers[i].name, r->name) == 0);
        /* do not shorten the buffer that the failing access exceeded: with a buffer of 0 bytes, every access would
         * fail */
        any |= !is_exceeded && cut_buffer(r, (int)i);
        any |= zero_buffer(r, &r->buffers[i]);
    }
    return any;
}

/* -- arguments -- */

static bool try_value(struct reducer *r, neso_capsule_argument *a, uint64_t to)
{
    const uint64_t was = a->value;
    a->value = to;
    if (reducer_fails(r, &r->now))
        return true;
    a->value = was;
    return false;
}

/* Replaces integer arguments by smaller integers, and arguments of other types by 0. */
static bool reduce_arguments(struct reducer *r)
{
    static const uint64_t small[] = {0, 1, 2, 16, 17, 32, 48, 64, 100, 128, 256, 512, 1000, 1024, 4096};
    bool any = false;
    for (size_t i = 0; i < r->now.argument_count; i++) {
        neso_capsule_argument *a = &r->args[i];
        bool is_int = a->type[0] == 'i' || a->type[0] == 'u', is_done = a->buffer >= 0 || a->type[0] == '*';
        for (size_t k = 0; k < sizeof small / sizeof *small && !is_done && small[k] < a->value; k++)
            is_done = (is_int || k == 0) && try_value(r, a, small[k]);
        any |= is_done && a->buffer < 0 && a->type[0] != '*';
        while (!is_done && is_int && a->value > 16 && try_value(r, a, a->value / 32 * 16))
            any = true;
    }
    return any;
}

static bool try_signature(struct reducer *r, size_t at, size_t length, const char *with)
{
    const char *was = r->now.signature;
    size_t n = strlen(was) + strlen(with) + 1;
    char *to = reducer_alloc(r, n);
    snprintf(to, n, "%.*s%s%s", (int)at, was, with, was + at + length);
    r->now.signature = to;
    if (reducer_fails(r, &r->now))
        return true;
    r->now.signature = was;
    return false;
}

static bool try_int(struct reducer *r, int *value, int to)
{
    const int was = *value;
    if (to >= was)
        return false;
    *value = to;
    if (reducer_fails(r, &r->now))
        return true;
    *value = was;
    return false;
}

/* Reduces the constants of the signature, and removes its promises. */
static bool reduce_options(struct reducer *r)
{
    bool any = false;
    for (size_t i = 0; r->now.signature[i]; i++) {
        const char *s = r->now.signature + i;
        bool is_number = *s >= '1' && *s <= '9' && (i == 0 || strchr("=, (", s[-1]));
        size_t digits = is_number ? strspn(s, "0123456789") : 0;
        if (strncmp(s, ":16", 3) == 0) {
            any |= try_signature(r, i, 3, "");
        } else if (digits && digits < 7 && (!s[digits] || strchr(",) ", s[digits]))) {
            char half[16];
            snprintf(half, sizeof half, "%d", atoi(s) / 2);
            if (atoi(s) > 1 && try_signature(r, i, digits, half)) {
                any = true;
                i--; /* try to reduce the same constant further */
            }
        }
    }
    any |= try_int(r, &r->now.num_warps, 1) || try_int(r, &r->now.num_warps, r->now.num_warps / 2);
    any |= try_int(r, &r->now.num_stages, 1);
    return any;
}

/* -- the whole -- */

/* Launches the unchanged capsule, and stores how the launch fails on this device: by a fault, or, if a
 * check finds one, by a difference between the PTX and the traced kernel. If the interpreter reports a
 * fault, there is no check. Returns false if the launch does not fail. */
static bool begin(struct reducer *r)
{
    struct tried *x = r->tried;
    if (!run(r, &r->now, 0))
        return false;
    bool is_ptx = r->device || strcmp(neso_context_device(r->ctx), "interpreter") != 0;
    r->seen = x->seen;
    keep_message(r);
    snprintf(r->tag, sizeof r->tag, "%s", x->tag);
    snprintf(r->on, sizeof r->on, "%s", x->device);
    if (x->seen != NESO_SEEN_DIFFERENCE && (x->seen != NESO_SEEN_FAULT || is_ptx) && run(r, &r->now, 1) &&
        x->seen == NESO_SEEN_DIFFERENCE) {
        r->seen = x->seen;
    } else if (r->seen != NESO_SEEN_FAULT && r->seen != NESO_SEEN_DIFFERENCE) {
        return false;
    }
    if (r->seen == NESO_SEEN_DIFFERENCE)
        snprintf(r->pass, sizeof r->pass, "%s", x->pass);
    quoted_name(r->text, r->name, sizeof r->name);
    r->now.seen = r->seen;
    return true;
}

static size_t memory_bytes(const neso_capsule *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->buffer_count; i++)
        n += c->buffers[i].bytes;
    return n;
}

static void write_capsule(void *user, const void *data, size_t length)
{
    const struct reducer *r = user;
    if (write_file(r->given->options[OPTION_capsule_file], data, length) == GOOD)
        printf("written: %s, %zu bytes\n", r->given->options[OPTION_capsule_file], length);
}

static int finish(struct reducer *r, const neso_capsule *first)
{
    neso_capsule *c = &r->now;
    c->device = r->on;
    c->tag = r->tag;
    c->text = r->text;
    c->pass = r->pass;
    c->line = r->line;
    FILE *out = r->given->options[OPTION_capsule_file] ? stdout : stderr;
    fprintf(out,
            "reduced: grid %u x %u x %u -> %u x %u x %u, memory %zu -> %zu bytes, source %d -> %d lines; %d "
            "variants tried\n",
            (unsigned)first->grid[0], (unsigned)first->grid[1], (unsigned)first->grid[2],
            (unsigned)c->grid[0], (unsigned)c->grid[1], (unsigned)c->grid[2], memory_bytes(first),
            memory_bytes(c), source_lines(first), source_lines(c), r->ntries);
    neso_status status = out == stdout ? neso_capsule_write(r->ctx, c, write_capsule, r) : NESO_OK;
    if (status != NESO_OK)
        return report(r->given, r->ctx, status);
    fprintf(out, "signature: %s\n%s", c->signature, *c->text ? "fails: " : "");
    fprintf(out, "%s\n\n%s", c->text, c->files[0].text);
    return GOOD;
}

static void copy_parts(struct reducer *r, const neso_capsule *c)
{
    r->now = *c;
    r->files = reducer_alloc(r, c->file_count * sizeof *r->files);
    r->args = reducer_alloc(r, (c->argument_count + 1) * sizeof *r->args);
    r->buffers = reducer_alloc(r, (c->buffer_count + 1) * sizeof *r->buffers);
    memcpy(r->files, c->files, c->file_count * sizeof *r->files);
    memcpy(r->args, c->arguments, c->argument_count * sizeof *r->args);
    memcpy(r->buffers, c->buffers, c->buffer_count * sizeof *r->buffers);
    for (size_t i = 0; i < c->buffer_count; i++)
        r->buffers[i].after = NULL;
    r->now.files = r->files;
    r->now.arguments = r->args;
    r->now.buffers = r->buffers;
}

static void reduce_all(struct reducer *r)
{
    for (int round = 0; round < ROUNDS_MOST; round++) {
        bool any = reduce_sizes(r);
        any |= reduce_grid(r);
        any |= reduce_memory(r);
        any |= reduce_arguments(r);
        any |= reduce_options(r);
        any |= reduce_source(r);
        any |= reduce_parameters(r);
        if (!any)
            break;
    }
    drop_buffers(r);
    progress_clear(&r->progress);
}

static int reduce_until(const struct given *g, neso_context *ctx, const neso_capsule *capsule,
                        const char *device, const char *otherwise, time_t until)
{
    struct reducer r = {.given = g, .ctx = ctx, .device = device, .tries_most = TRIES_MOST, .until = until};
    int result = FAILED;
    r.tried = mmap(NULL, sizeof *r.tried, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r.tried == MAP_FAILED)
        return complain("out of memory");
    copy_parts(&r, capsule);
    progress_begin(&r.progress);
    bool fails = begin(&r);
    if (!fails && otherwise) {
        r.device = otherwise;
        fails = begin(&r);
    }
    if (fails) {
        reduce_all(&r);
        result = finish(&r, capsule);
    } else {
        complain(
            "replay: the launch does not fail on %s, so there is nothing to reduce by: try another --device",
            *r.tried->device ? r.tried->device : "the device");
    }
    for (struct block *b = r.blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    munmap(r.tried, sizeof *r.tried);
    return result;
}

int reduce(const struct given *g, neso_context *ctx, const neso_capsule *capsule, const char *device,
           const char *otherwise)
{
    return reduce_until(g, ctx, capsule, device, otherwise, 0);
}

void reduce_difference(const struct given *g, const void *data, size_t length)
{
    enum { SECONDS = 20 };
    const int64_t try_ms = 5000;
    neso_context *ctx;
    neso_capsule *c;
    if (!context_open(g, memory_most(), try_ms, &ctx))
        return;
    if (neso_context_use_device(ctx, "emulator", NULL) == NESO_OK &&
        neso_capsule_read(ctx, "difference", data, length, &c) == NESO_OK) {
        fputs("neso: check: the smallest program found that differs:\n", stderr);
        reduce_until(g, ctx, c, NULL, NULL, time(NULL) + SECONDS);
        neso_capsule_release(c);
    }
    neso_context_release(ctx);
}
