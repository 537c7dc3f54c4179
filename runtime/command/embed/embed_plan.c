/* SPDX-License-Identifier: MIT */
/* embed_plan.c: writes launch plans for `--emit c`: tables of tensor maps and of guards (conditions on a
 * launch), and functions that evaluate these tables as runtime/launch_plan.c does. The numbers in a plan are
 * expressions of the launch's arguments, in postfix notation. The tables have a step for each word of an
 * expression ('a': an argument, '#': a constant), and for each expression the index of its first step and the
 * number of its steps:
 *
 *     "strides": ["stride_am 2 *", "2"]   ─►   steps[] = {{'a', 6}, {'#', 2}, {'*', 0}, {'#', 2}}
 *                                              strides = {{3, 1}, {0, 3}}
 *
 * A plan lists the outermost dimension first; the driver, and therefore these tables, list the innermost dimension
 * first. */
#include "runtime/command/embed/embed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_MOST = 5 };

const char plan_driver[] =
    "struct launch_attribute { /* CUlaunchAttribute of cuda.h */\n"
    "    int id;\n"
    "    unsigned values[17];\n"
    "};\n"
    "struct launch_config { /* CUlaunchConfig of cuda.h */\n"
    "    unsigned grid[3], block[3], shared_bytes;\n"
    "    void *stream;\n"
    "    const struct launch_attribute *attributes;\n"
    "    unsigned nattributes;\n"
    "};\n"
    "extern int cuLaunchKernelEx(const struct launch_config *config, void *function, void **params, void "
    "**extra);\n"
    "extern int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *base, const uint64_t "
    "*extents,\n"
    "    const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave, int swizzle,\n"
    "    int promotion, int fill);\n"
    "extern int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *function, int threads, uint64_t "
    "shared_bytes);\n"
    "extern int cuCtxGetDevice(int *device);\n"
    "extern int cuDeviceGetAttribute(int *value, int attribute, int device);\n";

const char plan_functions[] =
    "static int apply(char what, int64_t a, int64_t b, int64_t *value)\n"
    "{\n"
    "    if (what == '<' || what == '>') {\n"
    "        *value = (what == '<') == (a < b) ? a : b;\n"
    "        return 1;\n"
    "    }\n"
    "    if (what == '/' || what == '%') {\n"
    "        if (b == 0 || (a == INT64_MIN && b == -1))\n"
    "            return 0;\n"
    "        *value = what == '/' ? a / b : a % b;\n"
    "        return 1;\n"
    "    }\n"
    "    if (what == '*') {\n"
    "        if (a && b && (a > 0 ? (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a)\n"
    "                             : (b > 0 ? a < INT64_MIN / b : b < INT64_MAX / a)))\n"
    "            return 0;\n"
    "        *value = a * b;\n"
    "        return 1;\n"
    "    }\n"
    "    if (what == '-') {\n"
    "        if (b == INT64_MIN)\n"
    "            return 0;\n"
    "        b = -b;\n"
    "    }\n"
    "    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)\n"
    "        return 0;\n"
    "    *value = a + b;\n"
    "    return 1;\n"
    "}\n\n"
    "static int evaluate(struct expression e, const uint64_t *bits, const unsigned *grid, int64_t *value)\n"
    "{\n"
    "    int64_t stack[64];\n"
    "    int n = 0;\n"
    "    for (const struct step *s = steps + e.first; s < steps + e.first + e.count; s++) {\n"
    "        if (s->what == '#' || s->what == 'a' || s->what == 'g') {\n"
    "            stack[n++] = s->what == '#' ? s->value : s->what == 'a' ? (int64_t)bits[s->value] : "
    "grid[s->value];\n"
    "            continue;\n"
    "        }\n"
    "        n--;\n"
    "        if (!apply(s->what, stack[n - 1], stack[n], &stack[n - 1]))\n"
    "            return 0;\n"
    "    }\n"
    "    *value = stack[0];\n"
    "    return 1;\n"
    "}\n\n"
    "/* Returns 0 if the hardware cannot address such a tensor. */\n"
    "static int encode(const struct tensor_map *m, const uint64_t *bits, const unsigned *grid, uint64_t "
    "*map)\n"
    "{\n"
    "    static const uint32_t one[5] = {1, 1, 1, 1, 1};\n"
    "    uint64_t extents[5], strides[5];\n"
    "    int64_t base, value;\n"
    "    if (!evaluate(m->base, bits, grid, &base) || base % 16 != 0)\n"
    "        return 0;\n"
    "    for (unsigned d = 0; d < m->rank; d++) {\n"
    "        if (!evaluate(m->extents[d], bits, grid, &value) || value < 1 || value > (int64_t)1 << 32)\n"
    "            return 0;\n"
    "        extents[d] = (uint64_t)value;\n"
    "        if (d == 0)\n"
    "            continue;\n"
    "        if (!evaluate(m->strides[d], bits, grid, &value) || value < 0 || value >= (int64_t)1 << 40 || "
    "value % 16 != 0)\n"
    "            return 0;\n"
    "        strides[d - 1] = (uint64_t)value;\n"
    "    }\n"
    "    return cuTensorMapEncodeTiled(map, m->type, m->rank, (void *)(uintptr_t)base, extents, strides, "
    "m->box, one, 0,\n"
    "                                  m->swizzle, 2, m->fill) == 0;\n"
    "}\n\n"
    "/* Is variant v for such a grid? */\n"
    "static int suits(const struct variant *v, void *const *functions, int multiprocessors, const unsigned "
    "*grid)\n"
    "{\n"
    "    const uint64_t total = (uint64_t)grid[0] * grid[1] * grid[2];\n"
    "    int n[2] = {0, 0}, by_regs = 0;\n"
    "    if (v->grids != '>')\n"
    "        return !v->grids || total <= (uint64_t)multiprocessors;\n"
    "    for (int i = 0; i < 2; i++)\n"
    "        cuOccupancyMaxActiveBlocksPerMultiprocessor(&n[i], functions[i], (int)v[i].threads, "
    "v[i].shared_bytes);\n"
    "    cuOccupancyMaxActiveBlocksPerMultiprocessor(&by_regs, functions[1], (int)v[1].threads, 0);\n"
    "    return n[0] > n[1] && n[1] > 1 && by_regs == n[1] && total > (uint64_t)n[1] * "
    "(uint64_t)multiprocessors;\n"
    "}\n\n"
    "/* Makes the tensor maps, 16 words each. Returns 0 if this launch cannot use v. */\n"
    "static int prepare(const struct variant *v, const uint64_t *bits, const unsigned *grid, uint64_t "
    "*made)\n"
    "{\n"
    "    int64_t value;\n"
    "    for (int i = v->guards.first; i < v->guards.first + v->guards.count; i++)\n"
    "        if (!evaluate(guards[i], bits, grid, &value) || value < 0)\n"
    "            return 0;\n"
    "    for (int i = 0; i < v->maps.count; i++)\n"
    "        if (!encode(&maps[v->maps.first + i], bits, grid, made + 16 * i))\n"
    "            return 0;\n"
    "    return 1;\n"
    "}\n\n";

const char plan_start[] =
    "/* If v is persistent, v->persistent CTAs on each multiprocessor run all programs. */\n"
    "static int start(const struct variant *v, void *function, int multiprocessors, const unsigned "
    "*programs, void *stream,\n"
    "                 void **params)\n"
    "{\n"
    "    const struct launch_attribute pairs = {4, {0, 2, 1, 1}};\n"
    "    const uint64_t total = (uint64_t)programs[0] * programs[1] * programs[2];\n"
    "    const uint64_t sms = (uint64_t)multiprocessors * (v->persistent ? (unsigned)v->persistent : 1);\n"
    "    const uint64_t dealt = v->persistent ? total : programs[0];\n"
    "    struct launch_config c = {{programs[0], programs[1], programs[2]}, {v->threads, 1, 1}, "
    "v->shared_bytes, stream, &pairs, 0};\n"
    "    c.nattributes = v->pairs && dealt % v->pairs == 0 && total > sms && sms > 1;\n"
    "    if (v->persistent) {\n"
    "        const uint64_t most = c.nattributes ? sms - sms % 2 : sms;\n"
    "        const uint64_t more = most ? (total - 1) / most : 0;\n"
    "        c.grid[0] = (unsigned)(total < most ? total : most);\n"
    "        c.grid[1] = v->late_part > 1 && more && more < 65535 ? 2 + (unsigned)more / v->late_part : 1;\n"
    "        c.grid[2] = 1;\n"
    "    }\n"
    "    return cuLaunchKernelEx(&c, function, params, 0);\n"
    "}\n\n";

/* -- reading a plan -- */

static int count_of(const struct json *list)
{
    int n = 0;
    for (const struct json *x = list ? list->first : NULL; x; x = x->next)
        n++;
    return n;
}

static const struct json *guards_of(const struct image *image)
{
    return json_member(image->plan, "guards");
}

static int plan_maps(const struct image *image)
{
    return count_of(json_member(image->plan, "maps"));
}

int plan_maps_most(const struct embedding *e)
{
    int most = 0;
    for (int i = 0; i < e->nimages; i++)
        most = plan_maps(&e->images[i]) > most ? plan_maps(&e->images[i]) : most;
    return most;
}

static const char *word_of(const struct image *image, const char *name)
{
    const struct json *x = json_member(image->plan, name);
    return x && x->string ? x->string : "";
}

/* Returns how many CTAs of a persistent kernel run on each multiprocessor; 0 if the kernel is not persistent:
 * then each program has its own CTA. */
static int persistent(const struct image *image)
{
    return atoi(word_of(image, "ctas_per_sm"));
}

/* Returns whether a CTA may run several programs, or CTAs may be launched in pairs (clusters of two). */
static bool is_dealt(const struct image *image)
{
    return persistent(image) > 0 || atoi(word_of(image, "pairs")) > 0;
}

bool plan_read(struct embedding *e, struct image *image)
{
    const char *text;
    size_t n;
    neso_status status = neso_kernel_text(image->kernel, NESO_TEXT_JSON, &text, &n);
    if (status != NESO_OK)
        return report(e->given, e->ctx, status) == GOOD;
    image->whole = json_read(text);
    const struct json *variants = json_member(image->whole, "variants");
    image->plan = variants ? variants->first : NULL;
    if (image->plan && plan_maps(image) + count_of(guards_of(image)) == 0 && !is_dealt(image))
        image->plan = NULL;
    e->has_plan = e->has_plan || image->plan;
    return true;
}

/* -- tables -- */

static void put_word(const struct embedding *e, const char *word)
{
    static const struct {
        const char *word;
        char what;
    } operators[] = {{"+", '+'},   {"-", '-'},   {"*", '*'},  {"/", '/'},
                     {"rem", '%'}, {"min", '<'}, {"max", '>'}};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strcmp(word, operators[i].word) == 0) {
            fprintf(e->to, "{'%c', 0}, ", operators[i].what);
            return;
        }
    for (int i = 0; i < e->nparams; i++) {
        neso_param p = {.size = sizeof p};
        neso_kernel_param(e->images[0].kernel, (size_t)i, &p);
        if (strcmp(word, p.name) == 0) {
            fprintf(e->to, "{'a', %d}, ", i);
            return;
        }
    }
    if (strncmp(word, "grid", 4) == 0)
        fprintf(e->to, "{'g', %d}, ", atoi(word + 4));
    else
        fprintf(e->to, "{'#', %s}, ", word);
}

/* Returns the number of steps of an expression. If `puts_them` is true, also writes the steps. */
static int steps_of(const struct embedding *e, const char *text, bool puts_them)
{
    char word[256];
    int n = 0, used;
    for (; sscanf(text, "%255s%n", word, &used) == 1; text += used) {
        n++;
        if (puts_them)
            put_word(e, word);
    }
    return n;
}

/* Writes the steps of the expressions in a list. */
static void put_steps(const struct embedding *e, const struct json *list)
{
    for (const struct json *x = list ? list->first : NULL; x; x = x->next) {
        fputs("\n    ", e->to);
        steps_of(e, x->string, true);
    }
}

static const struct json *first_map(const struct image *image)
{
    const struct json *maps = json_member(image->plan, "maps");
    return maps ? maps->first : NULL;
}

/* Writes the steps of all guards, and then the steps of all maps. put_guards and put_map rely on this
 * order. */
static void put_all_steps(const struct embedding *e)
{
    for (int i = 0; i < e->nimages; i++)
        put_steps(e, guards_of(&e->images[i]));
    for (int i = 0; i < e->nimages; i++)
        for (const struct json *m = first_map(&e->images[i]); m; m = m->next) {
            put_steps(e, json_member(m, "base"));
            put_steps(e, json_member(m, "extents"));
            put_steps(e, json_member(m, "strides"));
        }
}

/* Writes the index of an expression's first step, *at, and the number of its steps, and adds this number to
 * *at. */
static void put_expression(const struct embedding *e, const char *text, int *at)
{
    int n = steps_of(e, text, false);
    fprintf(e->to, "{%d, %d}, ", *at, n);
    *at += n;
}

/* Like put_expression, for all expressions of a list, which it writes in reverse order. *at is the index of
 * the list's first step; the function sets it to the index after the list's last step. */
static void put_reversed(const struct embedding *e, const struct json *list, int *at)
{
    int first[RANK_MOST] = {0}, count[RANK_MOST] = {0}, n = 0;
    for (const struct json *x = list->first; x && n < RANK_MOST; x = x->next, n++) {
        first[n] = *at;
        count[n] = steps_of(e, x->string, false);
        *at += count[n];
    }
    fputs("{", e->to);
    while (n--)
        fprintf(e->to, "{%d, %d}, ", first[n], count[n]);
    fputs("}, ", e->to);
}

/* Returns a type's number in CUtensorMapDataType; 0 (uint8) for types of one byte. */
static int map_type(const char *name)
{
    static const char *const types[] = {"",      "int16", "",     "int32", "",
                                        "int64", "fp16",  "fp32", "fp64",  "bf16"};
    for (int i = 1; i < (int)(sizeof types / sizeof *types); i++)
        if (strcmp(name, types[i]) == 0)
            return i;
    return 0;
}

static void put_map(const struct embedding *e, const struct json *m, int *at)
{
    const struct json *box = json_member(m, "box");
    int rank = count_of(box), swizzle = atoi(json_member(m, "swizzle")->string), code = 0;
    const char *sides[RANK_MOST] = {NULL};
    while (swizzle >= 32 << code)
        code++;
    fprintf(e->to, "    {%d, %d, %d, %d, ", map_type(json_member(m, "type")->string), rank, code,
            strcmp(json_member(m, "fill")->string, "nan") == 0);
    put_expression(e, json_member(m, "base")->first->string, at);
    put_reversed(e, json_member(m, "extents"), at);
    put_reversed(e, json_member(m, "strides"), at);
    fputs("{", e->to);
    for (const struct json *x = box->first; x; x = x->next)
        sides[--rank] = x->string;
    for (int i = 0; i < count_of(box); i++)
        fprintf(e->to, "%s, ", sides[i]);
    fputs("}},\n", e->to);
}

static void put_guards(const struct embedding *e, int *at)
{
    fputs("/* A guard holds if its value is at least 0. */\nstatic const struct expression guards[] = {\n",
          e->to);
    for (int i = 0; i < e->nimages; i++)
        for (const struct json *g = guards_of(&e->images[i]) ? guards_of(&e->images[i])->first : NULL; g;
             g = g->next) {
            fputs("    ", e->to);
            put_expression(e, g->string, at);
            fputs("\n", e->to);
        }
    fputs("    {0, 0}};\n\n", e->to);
}

void put_plan_tables(const struct embedding *e)
{
    int at = 0;
    fputs("/* Numbers that a launch computes, in postfix notation: '#' a number, 'a' an argument, 'g' the\n"
          " * programs along an axis; '<' and '>' are the smaller and the larger of two. */\n"
          "static const struct step {\n    char what;\n    int64_t value;\n} steps[] = {",
          e->to);
    put_all_steps(e);
    fputs("\n    {'#', 0}};\n\nstruct expression { /* a range of steps */\n    int first, count;\n};\n\n",
          e->to);
    put_guards(e, &at);
    fputs("/* Dimensions innermost first. */\nstatic const struct tensor_map {\n    int type;\n    unsigned "
          "rank;\n    int swizzle, fill;\n"
          "    struct expression base, extents[5], strides[5];\n    uint32_t box[5];\n} maps[] = {\n",
          e->to);
    for (int i = 0; i < e->nimages; i++)
        for (const struct json *m = first_map(&e->images[i]); m; m = m->next)
            put_map(e, m, &at);
    fputs("    {0, 0, 0, 0, {0, 0}, {{0, 0}}, {{0, 0}}, {0}}};\n\n", e->to);
}

void put_plan_members(const struct embedding *e)
{
    fputs(
        "    struct expression guards, maps; /* index of the variant's first one, and their number */\n"
        "    int persistent;\n"
        "    char grids; /* '<': only for at most one program per multiprocessor; '>': only for more "
        "programs "
        "than CTAs of\n"
        "                 * the next variant fit at once, if more CTAs of this one fit; 0: for all grids */\n"
        "    unsigned late_part; /* one part in late_part of the rounds are later rows of the grid; 0: "
        "none */\n"
        "    unsigned pairs; /* CTAs form pairs if the grid is a multiple of this number; 0: never */\n",
        e->to);
}

void put_plan_row(const struct embedding *e, int which)
{
    const struct image *image = &e->images[which];
    int guards = 0, maps = 0;
    for (int i = 0; i < which; i++) {
        guards += count_of(guards_of(&e->images[i]));
        maps += plan_maps(&e->images[i]);
    }
    fprintf(e->to, ", {%d, %d}, {%d, %d}, %d, %d, %d, %d", guards, count_of(guards_of(image)), maps,
            plan_maps(image), persistent(image), image->grids, atoi(word_of(image, "late_part")),
            atoi(word_of(image, "pairs")));
}
