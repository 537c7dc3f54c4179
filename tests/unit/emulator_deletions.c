/* SPDX-License-Identifier: MIT */
/* emulator_deletions.c (test): runs compiled kernels repeatedly, each time without one of their instructions that
 * synchronize or copy (barriers, fences, mbarriers, copies, waits). Either the emulator must report an error, or the
 * result must be right and the table `harmless` must explain why the instruction is not needed.
 *
 *     build/tests/emulator_deletions           the test
 *     SHOW=1 build/tests/emulator_deletions    also prints the outcome of every deletion
 *
 * The linker wraps emulator_load (tests/rules.mk): the wrapper replaces one line of the PTX by blanks. */
#include "runtime/devices/emulator/machine.h"
#include "runtime/neso.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

enum { PTX_MOST = 1 << 17, ARGS = 4, BYTES_MOST = 1 << 20, SECONDS_MOST = 60, KS = 3 };

static const char source[] =
    "import triton\n"
    "import triton.language as tl\n"
    "@triton.jit\n"
    "def matmul(A, B, C, K, M: tl.constexpr, N: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: "
    "tl.constexpr):\n"
    "    m = tl.program_id(0) * BM + tl.arange(0, BM)\n"
    "    n = tl.program_id(1) * BN + tl.arange(0, BN)\n"
    "    acc = tl.zeros((BM, BN), dtype=tl.float32)\n"
    "    for k in range(0, K, BK):\n"
    "        i = k + tl.arange(0, BK)\n"
    "        acc += tl.dot(tl.load(A + m[:, None] * K + i[None, :]), tl.load(B + i[:, None] * N + n[None, "
    ":]))\n"
    "    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16))\n"
    "@triton.jit\n"
    "def softmax(X, A, C, K, N: tl.constexpr):\n"
    "    at = tl.program_id(0) * N + tl.arange(0, N)\n"
    "    x = tl.load(X + at).to(tl.float32)\n"
    "    e = tl.exp(x - tl.max(x, 0))\n"
    "    tl.store(C + at, tl.cumsum(e / tl.sum(e, 0), 0).to(tl.float16))\n"
    "@triton.jit\n"
    "def attention(Q, KV, C, K, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):\n"
    "    m = tl.program_id(0) * BM + tl.arange(0, BM)\n"
    "    d = tl.arange(0, D)\n"
    "    q = tl.load(Q + m[:, None] * D + d[None, :])\n"
    "    acc = tl.zeros((BM, D), dtype=tl.float32)\n"
    "    top = tl.full((BM,), -1e30, dtype=tl.float32)\n"
    "    sum = tl.zeros((BM,), dtype=tl.float32)\n"
    "    for k in range(0, K, BN):\n"
    "        at = KV + (k + tl.arange(0, BN))[:, None] * D + d[None, :]\n"
    "        s = tl.dot(q, tl.trans(tl.load(at)))\n"
    "        new = tl.maximum(top, tl.max(s, 1))\n"
    "        p = tl.exp(s - new[:, None])\n"
    "        scale = tl.exp(top - new)\n"
    "        sum = sum * scale + tl.sum(p, 1)\n"
    "        acc = tl.dot(p.to(tl.float16), tl.load(at + K * D), acc * scale[:, None])\n"
    "        top = new\n"
    "    tl.store(C + m[:, None] * D + d[None, :], (acc / sum[:, None]).to(tl.float16))\n";

struct program {
    const char *what, *kernel, *target, *constants;
    int warps, stages;
    uint32_t grid[3];
    /* the sizes K to run: for each stage of a ring buffer, one size with which the loop ends at this stage */
    int k[KS];
};

static const struct program programs[] = {
    {"a CTA a tile", "matmul", "sm_90a", "128, 128, 128, 128, 64", 4, 3, {1, 1, 1}, {256, 320, 384}},
    {"rings, roles, CTAs that stay",
     "matmul",
     "sm_90a",
     "384, 256, 128, 128, 128",
     8,
     3,
     {3, 2, 1},
     {256, 384, 512}},
    {"two CTAs on an SM", "matmul", "sm_90a", "128, 128, 128, 128, 64", 8, 3, {1, 1, 1}, {128, 192, 256}},
    {"two CTAs on an SM, rows of 64 bytes",
     "matmul",
     "sm_90a",
     "128, 128, 128, 128, 32",
     8,
     3,
     {1, 1, 1},
     {64, 96, 128}},
    {"tiles stored under the next dots",
     "matmul",
     "sm_90a",
     "1536, 256, 128, 256, 32",
     8,
     4,
     {12, 1, 1},
     {32, 96, 160}},
    {"pairs of CTAs", "matmul", "sm_90a", "512, 256, 64, 128, 128", 4, 3, {8, 2, 1}, {256, 384, 512}},
    {"attention", "attention", "sm_90a", "64, 64, 64", 4, 2, {2, 1, 1}, {256, 320, 384}},
    {"mma and cp.async", "matmul", "sm_80", "64, 64, 32, 32, 32", 4, 3, {2, 2, 1}, {128, 160, 192}},
    {"reductions and a scan", "softmax", "sm_90a", "1024", 4, 3, {2, 1, 1}, {1024, 1024, 1024}},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* -- the PTX that the emulator loads -- */

static struct {
    char text[PTX_MOST]; /* the unchanged PTX of the kernel that was loaded last */
    int line;            /* the number of the line to delete, counted from 1; 0: none */
} ptx;

const struct emu_code *__real_emulator_load(struct arena *a, const char *text, size_t bytes,
                                            struct emu_report *r);
const struct emu_code *__wrap_emulator_load(struct arena *a, const char *text, size_t bytes,
                                            struct emu_report *r);

/* Returns the start of line number `line`, and sets *length to its length. */
static const char *line_at(const char *text, int line, size_t *length)
{
    for (int i = 1; i < line && text; i++)
        text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL;
    *length = text ? strcspn(text, "\n") : 0;
    return text;
}

const struct emu_code *__wrap_emulator_load(struct arena *a, const char *text, size_t bytes,
                                            struct emu_report *r)
{
    if (bytes >= sizeof ptx.text)
        return NULL;
    if (!ptx.line) {
        memcpy(ptx.text, text, bytes);
        ptx.text[bytes] = 0;
        return __real_emulator_load(a, text, bytes, r);
    }
    char *changed = arena_strndup(a, text, bytes);
    size_t length;
    const char *at = line_at(ptx.text, ptx.line, &length);
    /* also delete the next line, the branch back to the deleted wait; otherwise the loop would not end */
    if (strncmp(at + strspn(at, "\t "), "mbarrier.try_wait", 17) == 0)
        length += 1 + strcspn(at + length + 1, "\n");
    for (size_t i = 0; i < length && strncmp(ptx.text, text, bytes) == 0; i++)
        if (changed[at - ptx.text + (ptrdiff_t)i] != '\n')
            changed[at - ptx.text + (ptrdiff_t)i] = ' ';
    return __real_emulator_load(a, changed, bytes, r);
}

/* -- running -- */

static neso_context *ctx;
static neso_module *module;
static uint16_t result[BYTES_MOST / 2], wanted[KS][BYTES_MOST / 2];
static neso_error failure;

static uint64_t tensor(const void *bytes)
{
    uint64_t address = 0;
    CHECK(neso_memory_allocate(ctx, BYTES_MOST, &address) == NESO_OK);
    CHECK(neso_memory_write(ctx, address, bytes, BYTES_MOST) == NESO_OK);
    return address;
}

static void open_device(void)
{
    CHECK(neso_context_create(NULL, &ctx) == NESO_OK);
    CHECK(neso_context_use_device(ctx, "emulator", NULL) == NESO_OK);
    CHECK(neso_module_from_source(ctx, "k.py", source, sizeof source - 1, &module) == NESO_OK);
}

/* Runs program p for size k without line ptx.line, and copies its result to `out`. If the run fails, returns false and
 * sets `failure` to the reason. */
static bool run(const struct program *p, int k, const uint64_t at[3], uint16_t *out)
{
    char signature[160];
    static const uint16_t zeros[BYTES_MOST / 2];
    snprintf(signature, sizeof signature, "*fp16:16, *fp16:16, *fp16:16, i32:16, %s", p->constants);
    neso_compile_options options = {.size = sizeof options,
                                    .target = p->target,
                                    .signature = signature,
                                    .num_warps = p->warps,
                                    .num_stages = p->stages};
    neso_kernel *kernel = NULL;
    failure = (neso_error){.size = sizeof failure};
    if (neso_kernel_compile(module, p->kernel, &options, &kernel) != NESO_OK) {
        test_fail(__FILE__, __LINE__, neso_error_text(ctx));
        return false;
    }
    const void *args[ARGS] = {&at[0], &at[1], &at[2], &k};
    neso_memory_write(ctx, at[2], zeros, sizeof zeros);
    alarm(SECONDS_MOST); /* ends the test if a kernel does not terminate */
    bool ok = neso_launch(kernel, p->grid, NULL, args, &failure) == NESO_OK;
    alarm(0);
    neso_memory_read(ctx, out, at[2], BYTES_MOST);
    neso_kernel_release(kernel);
    return ok;
}

/* -- which lines to delete, and which deletions are harmless -- */

static const char *const ordering[] = {"bar.",
                                       "barrier.",
                                       "fence.",
                                       "membar.",
                                       "mbarrier.",
                                       "setmaxnreg",
                                       "griddepcontrol",
                                       "wgmma.fence",
                                       "wgmma.commit",
                                       "wgmma.wait",
                                       "cp.async.commit",
                                       "cp.async.wait",
                                       "cp.async.mbarrier",
                                       "cp.async.bulk.commit",
                                       "cp.async.bulk.wait"};

/* Returns the start of the line's mnemonic, after the guard predicate; NULL if the line has no instruction. */
static const char *mnemonic(const char *line, size_t length)
{
    const char *end = line + length;
    while (line < end && (*line == '\t' || *line == ' '))
        line++;
    if (line < end && *line == '@')
        while (line < end && *line++ != ' ')
            ;
    return line < end ? line : NULL;
}

static bool orders(int line)
{
    size_t length;
    const char *at = line_at(ptx.text, line, &length), *name = at ? mnemonic(at, length) : NULL;
    for (size_t i = 0; name && i < sizeof ordering / sizeof *ordering; i++)
        if (strncmp(name, ordering[i], strlen(ordering[i])) == 0)
            return true;
    /* only the branch of the loop around try_wait counts */
    if (!name || strncmp(name, "bra", 3) != 0 || line == 1)
        return false;
    at = line_at(ptx.text, line - 1, &length);
    return at && (name = mnemonic(at, length)) != NULL && strncmp(name, "mbarrier.try_wait", 17) == 0;
}

struct loss {
    /* `what` is the name of the program, `instruction` a prefix of the instruction */
    const char *what, *instruction;
    int times;
    const char *why;
};
static const char idle[] = "the only warpgroup has waited for all that it multiplies: nothing is under way",
                  apart[] = "of a sum that begins anew in registers of its own: nothing else writes them",
                  enough[] = "a thread begins with as many as it needs here",
                  own[] = "each warpgroup writes over rows of A that it alone multiplied",
                  last[] = "of the last piece: nothing is written to the slot that it says is free",
                  over[] = "asked once: in the emulator's order that phase is over by then",
                  none[] = "of the last round: nothing is written to the slot that it says is free",
                  next[] = "of the last piece but one: the next group has its copy too";
/* The text `own` explains why no barrier is needed before the stores of the result tile. The tile (two panels of 128
 * rows of 128 bytes) reuses the memory of stages 0 and 1 of the ring buffer of A, each of which is such a panel.
 * Warpgroup g stores rows 64 g to 64 g + 63 of both panels. Only the warpgroup's own wgmmas have read these bytes, and
 * the warpgroup has waited for these wgmmas. Copies have written the bytes, and the warpgroup has waited for the
 * copies at mbarriers. If the rows of A have 64 bytes, the tile overlaps B and rows of A that the other warpgroup
 * reads. Then the barrier is needed, and the emulator reports an error without it. */
static const struct loss harmless[] = {
    {"a CTA a tile", "bar.sync", 1, idle},
    {"rings, roles, CTAs that stay", "setmaxnreg.inc", 1, enough},
    {"two CTAs on an SM", "bar.sync\t1", 1, own},
    {"tiles stored under the next dots", "setmaxnreg.inc", 1, enough},
    {"tiles stored under the next dots", "cp.async.bulk.wait_group", 1, last},
    {"tiles stored under the next dots", "cp.async.bulk.commit_group", 1, next},
    {"attention", "bar.sync", 1, idle},
    {"attention", "bra", 2, over},
    {"attention", "mbarrier.try_wait", 2, over},
    {"attention", "wgmma.fence", 1, apart},
    {"attention", "mbarrier.arrive", 2, none},
};
enum { LOSSES = sizeof harmless / sizeof *harmless };

static const char *excuse(const struct program *p, const char *name, int *uses)
{
    for (int i = 0; i < LOSSES; i++) {
        const struct loss *l = &harmless[i];
        if (strcmp(l->what, p->what) == 0 && strncmp(name, l->instruction, strlen(l->instruction)) == 0)
            return uses[i]++ < l->times ? l->why : NULL;
    }
    return NULL;
}

/* -- deleting each line in turn -- */

struct tally {
    int tried, reported, excused, uses[LOSSES];
};

static void try_without(const struct program *p, const uint64_t at[3], struct tally *t)
{
    size_t length;
    const char *line = line_at(ptx.text, ptx.line, &length), *why = NULL, *what = "reported";
    char said[200];
    bool ok = true, same = true;
    for (int i = 0; i < KS && ok; i++) {
        ok = run(p, p->k[i], at, result);
        same &= memcmp(result, wanted[i], sizeof result) == 0;
    }
    t->tried++;
    t->reported += !ok;
    if (ok) {
        why = excuse(p, mnemonic(line, length), t->uses);
        t->excused += why != NULL;
        what = same ? "survives" : "wrong result";
        snprintf(said, sizeof said, "%s, line %d: %s: %.*s", p->what, ptx.line, what, (int)length, line);
        if (!why || !same)
            test_fail(__FILE__, __LINE__, said);
    }
    if (getenv("SHOW"))
        printf("%-12s %4d %.*s\n    %.150s\n", what, ptx.line, (int)length, line,
               ok ? why ? why : "?" : failure.message);
}

static void try_program(const struct program *p, const uint64_t at[3])
{
    struct tally t = {0};
    int lines = 1;
    ptx.line = 0;
    for (int i = 0; i < KS; i++)
        if (!run(p, p->k[i], at, wanted[i])) {
            test_fail(__FILE__, __LINE__, failure.message);
            return;
        }
    for (const char *s = ptx.text; *s; s++)
        lines += *s == '\n';
    if (getenv("SHOW"))
        printf("-- %s\n%s", p->what, strcmp(getenv("SHOW"), "ptx") == 0 ? ptx.text : "");
    for (ptx.line = 1; ptx.line <= lines; ptx.line++)
        if (orders(ptx.line))
            try_without(p, at, &t);
    printf("%s: of %d deletions %d are reported, %d explained\n", p->what, t.tried, t.reported, t.excused);
    for (int i = 0; i < LOSSES; i++)
        if (strcmp(harmless[i].what, p->what) == 0)
            CHECK_INT(t.uses[i], harmless[i].times);
}

TEST(each_instruction_that_orders_something_is_missed)
{
    static uint16_t halves[2][BYTES_MOST / 2];
    uint32_t x = 1;
    for (size_t i = 0; i < BYTES_MOST; i++) { /* values from -1 to 1 in steps of 1/8 */
        x = x * 1664525 + 1013904223;
        halves[i % 2][i / 2] = emu_half_round(PT_f16, (double)((int)(x >> 28) - 8) / 8);
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    open_device();
    uint64_t at[3] = {tensor(halves[0]), tensor(halves[1]), tensor(halves[0])};
    for (int i = 0; i < PROGRAMS; i++)
        try_program(&programs[i], at);
    neso_module_release(module);
    neso_context_release(ctx);
}
