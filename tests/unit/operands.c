/* operands.c (test): the emulator takes no instruction that an assembler refuses. Each statement of
 * tests/ptx/statements.txt, some of every row of insns.h, is taken; then each of its operands is replaced by what may or
 * may not stand there: registers of every class, constants, vectors, addresses, names; left out, or one added.
 *
 * With TAKEN=FILE in the environment what is taken is written there as PTX, for an assembler (tests/cli/operands.sh). */
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
    "16",
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

/* Where operands begin and end, at commas outside of brackets. */
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
        /* the first of a vector or of an address */
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
    }
    if (t.out) {
        fputs(tail, t.out);
        fclose(t.out);
    }
    if (f)
        fclose(f);
    CHECK(t.statements > 200 && t.taken * 4 < t.variants);
}
