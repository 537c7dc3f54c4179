/* SPDX-License-Identifier: MIT */
/* operands.c (test): tests that the emulator rejects invalid instructions. The emulator must accept each statement of
 * tests/ptx/statements.txt, which has statements for every row of insns.h. Then the test changes each statement in
 * many ways. Most changes make the statement invalid. It replaces each operand by other operands (registers of every
 * class, constants, vectors, addresses, names), removes the operand, or duplicates it. It also removes, adds, replaces
 * or moves one or two words of the mnemonic.
 *
 * With TAKEN=FILE in the environment, the test writes all statements that the emulator accepts to FILE, as PTX.
 * tests/cli/operands.sh uses this file to check that ptxas accepts them too. */
#include "runtime/devices/emulator/machine.h"
#include "tests/unit/test.h"
#include "tests/unit/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = 4096, OPERANDS_MOST = 16 };

static const struct memory memory = {world_alloc, world_release, NULL};

static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 smem[];\n"
    ".visible .entry k(.param .u64 p_in, .param .u64 p_out, .param .u64 p_word, .param .align 64 .b8 "
    "p_map0[128])\n"
    ".maxntid 128, 1, 1\n{\n"
    ".reg .b64 %in, %out, %wide, %map, %policy, %from, %to, %da, %db, %b64_<4>, %slots, %l, %zd;\n"
    ".reg .b32 %t, %sm, %lane, %cta, %x<12>, %c<5>, %own, %d<128>, %a<4>, %b32_<4>, %mine, %other, %size, "
    "%at;\n"
    ".reg .b32 %x, %y, %z, %d, %zr;\n.reg .b16 %mask, %b16_<4>, %zh;\n.reg .pred %p, %q, %p<4>, %zp;\n"
    ".reg .f32 %zf;\n.reg .f64 %zg;\n.reg .f16 %zi;\n.reg .u32 %zu;\n";
static const char tail[] = "L1:\nret;\n}\n";

static const char *const others[] = {
    "%zp",
    "%zh",
    "%zr",
    "%zd",
    "%zf",
    "%zg",
    "%zi",
    "%zu",
    "1",
    "0",
    "4",
    "8",
    "12",
    "16",
    "32",
    "48",
    "-1",
    "0f3F800000",
    "0d3FF0000000000000",
    "1.5",
    "[%zd]",
    "[%zr]",
    "{%zr, %zr}",
    "%tid.x",
    "smem",
    "p_in",
    "L1",
    "[%zf]",
    "[%zp]",
    "[smem]",
    "[p_in]",
    "{%zh, 1}",
};

static bool is_taken(const char *statement)
{
    static char text[LINE_MOST + sizeof head + sizeof tail];
    struct arena a;
    struct emu_report r;
    arena_init(&a, &memory, 0, NULL, NULL);
    size_t n = (size_t)snprintf(text, sizeof text, "%s%s;\n%s", head, statement, tail);
    bool taken = emulator_load(&a, text, n, &r) != NULL;
    arena_free(&a);
    return taken;
}

/* Splits operands at commas outside of brackets, and returns their number. */
static int split(const char *s, const char **begin, const char **end)
{
    int n = 0, depth = 0;
    if (!*s)
        return 0;
    begin[0] = s;
    for (; *s; s++) {
        depth += (*s == '[' || *s == '{') - (*s == ']' || *s == '}');
        if (*s == ',' && depth == 0 && n + 1 < OPERANDS_MOST) {
            end[n++] = s;
            begin[n] = s + 1 + (s[1] == ' ');
        }
    }
    end[n] = s;
    return n + 1;
}

struct tally {
    int statements, variants, taken;
    uint32_t random;
    FILE *out;
};

static void judge(struct tally *t, const char *variant)
{
    t->variants++;
    if (!is_taken(variant))
        return;
    t->taken++;
    if (t->out)
        fprintf(t->out, "%s;\n", variant);
}

static void vary(struct tally *t, const char *s)
{
    static char variant[2 * LINE_MOST];
    const char *begin[OPERANDS_MOST], *end[OPERANDS_MOST], *rest = strchr(s, ' ');
    int n = rest ? split(rest + 1, begin, end) : 0;
    for (int i = 0; i < n; i++) {
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            snprintf(variant, sizeof variant, "%.*s%s%s", (int)(begin[i] - s), s, others[k], end[i]);
            judge(t, variant);
        }
        /* also replace the first element of a vector, or the base of an address */
        if (*begin[i] == '{' || *begin[i] == '[') {
            int inner = (int)strcspn(begin[i] + 1, ",+]}");
            for (int k = 0; k < 14; k++) {
                snprintf(variant, sizeof variant, "%.*s%s%s", (int)(begin[i] + 1 - s), s, others[k],
                         begin[i] + 1 + inner);
                judge(t, variant);
            }
        }
    }
    if (n > 1) {
        snprintf(variant, sizeof variant, "%.*s", (int)(end[n - 2] - s), s);
        judge(t, variant);
    }
    snprintf(variant, sizeof variant, "%s%s%%zr", s, n ? ", " : " ");
    judge(t, variant);
}

/* -- words after the mnemonic -- */

enum { WORDS_MOST = 20, KNOWN_MOST = 160 };

/* Collects all words that can follow the mnemonic of some instruction. */
static int known_words(const char **known)
{
    static const char *const more[] = {"weak", "noinc", "tile", "b64", "b128", "f64", "release", "cluster"};
    int n = 0;
    for (int m = 1; m < MOD_count; m++)
        known[n++] = mod_info[m].text;
    for (int t = 1; t < PT_count; t++)
        known[n++] = ptype_info[t].word;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        known[n++] = more[i];
    return n;
}

struct mnemonic {
    const char *words[WORDS_MOST];
    int bytes[WORDS_MOST], n;
    const char *rest; /* the operands, with the blank before them */
};

static struct mnemonic split_words(const char *s)
{
    struct mnemonic m = {.n = 0};
    size_t end = strcspn(s, " ");
    m.rest = s + end;
    while (s < m.rest && m.n < WORDS_MOST) {
        m.words[m.n] = s;
        m.bytes[m.n] = (int)strcspn(s, ". ");
        s += m.bytes[m.n++] + 1;
    }
    return m;
}

/* Prints the statement with the word `new` inserted before word number `at`. If `old` is 1, `new` replaces word number
 * `at` instead. An empty `new` inserts no word. */
static void change_words(char *variant, size_t room, const struct mnemonic *m, int at, int old,
                         const char *new)
{
    size_t n = 0;
    for (int i = 0; i <= m->n; i++) {
        if (i == at && *new)
            n += (size_t)snprintf(variant + n, room - n, "%s%s", n ? "." : "", new);
        if (i < m->n && !(i == at && old))
            n += (size_t)snprintf(variant + n, room - n, "%s%.*s", n ? "." : "", m->bytes[i], m->words[i]);
    }
    snprintf(variant + n, room - n, "%s", m->rest);
}

static void judge_words(struct tally *t, const struct mnemonic *m, int at, int old, const char *new)
{
    static char variant[2 * LINE_MOST];
    change_words(variant, sizeof variant, m, at, old, new);
    judge(t, variant);
}

static void swap_words(struct tally *t, const struct mnemonic *m, int i)
{
    struct mnemonic swapped = *m;
    swapped.words[i] = m->words[i + 1], swapped.bytes[i] = m->bytes[i + 1];
    swapped.words[i + 1] = m->words[i], swapped.bytes[i + 1] = m->bytes[i];
    judge_words(t, &swapped, m->n, 0, "");
}

static uint32_t chance(struct tally *t)
{
    return t->random = t->random * 1664525 + 1013904223;
}

static const char *any_word(struct tally *t, const char *const *known, int nknown)
{
    return chance(t) >> 30 ? known[(chance(t) >> 8) % (uint32_t)nknown] : "";
}

/* Tests statements in which two words are changed. */
static void change_twice(struct tally *t, const struct mnemonic *m, const char *const *known, int nknown)
{
    static char variant[2 * LINE_MOST];
    int at = 1 + (int)((chance(t) >> 8) % (uint32_t)m->n);
    change_words(variant, sizeof variant, m, at, chance(t) >> 31 & 1 ? 1 : 0, any_word(t, known, nknown));
    struct mnemonic changed = split_words(variant);
    at = 1 + (int)((chance(t) >> 8) % (uint32_t)changed.n);
    judge_words(t, &changed, at, chance(t) >> 31 & 1 ? 1 : 0, any_word(t, known, nknown));
}

static void vary_words(struct tally *t, const char *s)
{
    const char *known[KNOWN_MOST];
    int nknown = known_words(known);
    struct mnemonic m = split_words(s);
    for (int i = 1; i < m.n; i++) {
        judge_words(t, &m, i, 1, "");
        if (i + 1 < m.n)
            swap_words(t, &m, i);
    }
    for (int i = 1; i <= m.n; i++)
        for (int k = 0; k < nknown; k++) {
            judge_words(t, &m, i, 0, known[k]);
            if (i < m.n)
                judge_words(t, &m, i, 1, known[k]);
        }
    for (int i = 0; i < 200 && m.n > 1; i++)
        change_twice(t, &m, known, nknown);
}

TEST(no_more_is_taken_than_an_assembler_takes)
{
    static char line[LINE_MOST];
    char path[512];
    const char *root = getenv("NESO_ROOT"), *taken = getenv("TAKEN");
    snprintf(path, sizeof path, "%s/tests/ptx/statements.txt", root ? root : ".");
    FILE *f = fopen(path, "r");
    CHECK(f != NULL);
    struct tally t = {.out = taken ? fopen(taken, "w") : NULL};
    if (t.out)
        fputs(head, t.out);
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        t.statements++;
        CHECK_STR(is_taken(line) ? "" : line, "");
        vary(&t, line);
        vary_words(&t, line);
    }
    if (t.out) {
        fputs(tail, t.out);
        fclose(t.out);
    }
    if (f)
        fclose(f);
    CHECK(t.statements > 200 && t.taken * 4 < t.variants);
}
