/* SPDX-License-Identifier: MIT */
/* test.h: the framework of unit tests. `TEST(name) { CHECK(x == 1); }` in a file that includes this header defines a
 * test. The header defines main, which runs all tests (or the tests named as arguments) and prints `N passed, N
 * failed`. */
#ifndef NESO_TESTS_TEST_H
#define NESO_TESTS_TEST_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct test {
    const char *name;
    void (*run)(void);
    struct test *next;
};

static struct test *test_list, **test_end = &test_list;
static int test_failures; /* number of failed checks in the current test */

static void test_add(struct test *t)
{
    *test_end = t;
    test_end = &t->next;
}

#define TEST(id)                                                        \
    static void test_##id(void);                                        \
    __attribute__((constructor)) static void test_register_##id(void)   \
    {                                                                   \
        static struct test t = {#id, test_##id, NULL};                  \
        test_add(&t);                                                   \
    }                                                                   \
    static void test_##id(void)

static inline void test_fail(const char *file, int line, const char *what)
{
    if (test_failures++ < 10)
        fprintf(stderr, "%s:%d: %s\n", file, line, what);
}

#define CHECK(x) ((x) ? (void)0 : test_fail(__FILE__, __LINE__, "failed: " #x))

#define CHECK_INT(found, expected) test_int(__FILE__, __LINE__, #found, (int64_t)(found), (int64_t)(expected))
static inline void test_int(const char *file, int line, const char *what, int64_t found, int64_t expected)
{
    char text[300];
    snprintf(text, sizeof text, "%s is %lld, expected %lld", what, (long long)found, (long long)expected);
    if (found != expected)
        test_fail(file, line, text);
}

#define CHECK_STR(found, expected) test_str(__FILE__, __LINE__, (found), (expected))
static inline void test_str(const char *file, int line, const char *found, const char *expected)
{
    if (strcmp(found, expected) == 0)
        return;
    test_fail(file, line, "texts differ");
    fprintf(stderr, "  found:    %s\n  expected: %s\n", found, expected);
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0;
    for (struct test *t = test_list; t; t = t->next) {
        int wanted = argc == 1;
        for (int i = 1; i < argc; i++)
            wanted |= strcmp(argv[i], t->name) == 0;
        if (!wanted)
            continue;
        test_failures = 0;
        t->run();
        if (test_failures)
            fprintf(stderr, "FAILED %s\n", t->name);
        *(test_failures ? &failed : &passed) += 1;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}

#endif
