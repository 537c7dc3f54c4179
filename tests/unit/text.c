/* SPDX-License-Identifier: MIT */
/* text.c: tests number formatting, which must not depend on the locale, text buffers, interning and maps. */
#include "tests/unit/test.h"
#include "tests/unit/world.h"

#include <locale.h>
#include <math.h>

static const char *shown(struct world *w, double x, int single)
{
    struct text t;
    text_init(&t, &w->arena);
    text_double(&t, x, single);
    return t.s;
}

static double read_all(const char *s)
{
    double x = -1;
    const char *end = text_read_double(s, &x);
    CHECK(*end == 0);
    return x;
}

TEST(doubles_print_shortest)
{
    struct world w;
    world_init(&w);
    static const struct {
        double x;
        const char *text;
    } rows[] = {
        {0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {-2.5, "-2.5"},
        {0.1, "0.1"},
        {1e-6, "1e-06"},
        {0.0001, "0.0001"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {123456789, "123456789.0"},
        {1.5e300, "1.5e+300"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {0.30000000000000004, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
        {1024, "1024.0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CHECK_STR(shown(&w, rows[i].x, 0), rows[i].text);
    CHECK_STR(shown(&w, (double)0.1f, 1), "0.1");
    CHECK_STR(shown(&w, (double)0.1f, 0), "0.10000000149011612");
    CHECK_STR(shown(&w, 3.4028234663852886e38, 1), "3.4028235e+38");
    world_free(&w);
}

TEST(doubles_read)
{
    CHECK(read_all("12.5") == 12.5);
    CHECK(read_all("+1e3") == 1000);
    CHECK(read_all(".5") == 0.5);
    CHECK(read_all("5.") == 5);
    CHECK(read_all("0x1.8p1") == 3);
    CHECK(read_all("0xff") == 255);
    CHECK(read_all("-inf") == -(double)INFINITY);
    CHECK(read_all("1e-400") == 0);
    CHECK(isinf(read_all("1e999999999999")));
    CHECK(read_all("00012.500") == 12.5);
    CHECK(read_all("179769313486231570000000000000000000000e270") == 1.7976931348623157e308);
    double x;
    const char *s = "x";
    CHECK(text_read_double(s, &x) == s);
    s = "1e";
    CHECK(text_read_double(s, &x) == s + 1 && x == 1);
    s = "1.5.2";
    CHECK(text_read_double(s, &x) == s + 3 && x == 1.5);
}

/* Even the thousandth digit of a number may decide its rounding, so the parser must not ignore digits beyond its
 * precision. */
TEST(long_numbers_round_rightly)
{
    char s[1200];
    memset(s, '0', sizeof s);
    memcpy(s, "9007199254740993.", 17);
    s[1000] = 0;
    CHECK(read_all(s) == 9007199254740992.0);
    s[999] = '1';
    CHECK(read_all(s) == 9007199254740994.0);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

TEST(random_doubles_round_trip)
{
    struct world w;
    world_init(&w);
    uint64_t state = 1;
    for (int i = 0; i < 5000; i++) {
        uint64_t bits = next_random(&state);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (isnan(x))
            continue;
        CHECK(read_all(shown(&w, x, 0)) == x);
        uint32_t low = (uint32_t)bits;
        float f;
        memcpy(&f, &low, sizeof f);
        if (!isnan(f))
            CHECK((float)read_all(shown(&w, (double)f, 1)) == f);
    }
    world_free(&w);
}

TEST(locale_changes_nothing)
{
    struct world w;
    world_init(&w);
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "C"};
    for (size_t i = 0; i < 4 && !setlocale(LC_ALL, names[i]);)
        i++;
    CHECK_STR(shown(&w, 1234.5, 0), "1234.5");
    CHECK(read_all("1234.5") == 1234.5);
    setlocale(LC_ALL, "C");
    world_free(&w);
}

TEST(buffers_grow)
{
    struct world w;
    world_init(&w);
    struct text t;
    text_init(&t, &w.arena);
    for (int i = 0; i < 1000; i++)
        text_printf(&t, "%d,", i);
    CHECK_INT(t.len, 3890);
    CHECK_INT(strlen(t.s), 3890);
    CHECK_STR(t.s + t.len - 8, "998,999,");
    world_free(&w);
}

TEST(maps_keep_order)
{
    struct world w;
    world_init(&w);
    struct map m;
    map_init(&m, &w.arena);
    int keys[500];
    for (int i = 0; i < 500; i++) {
        keys[i] = i * 7919;
        *map_at(&m, &keys[i], sizeof keys[i]) = &keys[i];
    }
    int missing = 1;
    CHECK(!map_get(&m, &missing, sizeof missing));
    for (int i = 0; i < 500; i++) {
        int key = i * 7919;
        CHECK(m.entries[i].value == &keys[i]);
        CHECK(*map_get(&m, &key, sizeof key) == &keys[i]);
    }
    *map_at_ptr(&m, &m) = &w;
    CHECK(*map_get_ptr(&m, &m) == &w);
    CHECK_INT(m.n, 501);
    world_free(&w);
}

TEST(equal_strings_are_one)
{
    struct world w;
    world_init(&w);
    char a[] = "name", b[] = "named";
    CHECK(intern_str(&w.m.strings, a) == intern(&w.m.strings, b, 4));
    CHECK(intern_str(&w.m.strings, a) != intern_str(&w.m.strings, b));
    CHECK(intern_str(&w.m.strings, "") == intern(&w.m.strings, a, 0));
    world_free(&w);
}
