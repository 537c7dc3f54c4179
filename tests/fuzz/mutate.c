/* SPDX-License-Identifier: MIT */
/* mutate.c: implements the mutator of the fuzz targets that read a language (Python, IR, PTX). The mutator changes
 * tokens and lines, so that the parser accepts most of its outputs. In one case of eight, it changes single bytes, as
 * libFuzzer does by default.
 *
 *     x = tl.load(X + i)  ─►  x = tl.load(i + i)     replaces a token by another token of the text, or of fuzz_words
 *                             x = tl.load(X + 65536) replaces a number by a constant that is a common limit
 *                             (nothing, or twice)    deletes, repeats or moves a line */
#include "tests/fuzz/mutate.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static bool is_word(uint8_t c)
{
    return isalnum(c) || c == '_' || c == '%' || c == '$';
}

/* Returns the length of the token at `at`: a word, a string, blanks, or one character. */
static size_t token_bytes(const uint8_t *s, size_t n, size_t at)
{
    size_t end = at + 1;
    if (is_word(s[at]))
        while (end < n && is_word(s[end]))
            end++;
    else if (s[at] == '"' || s[at] == '\'')
        while (end < n && s[end - 1] != '\n' && (s[end] != s[at] || s[end - 1] == '\\'))
            end++;
    return end < n && end > at + 1 && s[end] == s[at] && !is_word(s[at]) ? end - at + 1 : end - at;
}

struct span {
    size_t at, bytes;
};

/* Returns the word or number at a random position of the text; a span of length 0 if there is none at this
 * position. */
static struct span pick_word(const uint8_t *s, size_t n, uint32_t *state)
{
    size_t begin = next(state) % n;
    while (begin > 0 && is_word(s[begin]) && is_word(s[begin - 1]))
        begin--;
    for (size_t at = begin; at < n && at < begin + 200; at += token_bytes(s, n, at))
        if (is_word(s[at]))
            return (struct span){at, token_bytes(s, n, at)};
    return (struct span){0, 0};
}

static struct span pick_line(const uint8_t *s, size_t n, uint32_t *state)
{
    size_t at = next(state) % n, end = at;
    while (at > 0 && s[at - 1] != '\n')
        at--;
    while (end < n && s[end] != '\n')
        end++;
    return (struct span){at, end - at + (end < n)};
}

/* Replaces a span by `bytes` bytes of `with`. Returns the new size of the text; if there is no room, changes nothing
 * and returns the old size. */
static size_t replace(uint8_t *s, size_t n, size_t most, struct span old, const void *with, size_t bytes)
{
    if (n - old.bytes + bytes > most)
        return n;
    memmove(s + old.at + bytes, s + old.at + old.bytes, n - old.at - old.bytes);
    memcpy(s + old.at, with, bytes);
    return n - old.bytes + bytes;
}

static size_t change_number(uint8_t *s, size_t n, size_t most, struct span old, uint32_t *state)
{
    static const char *const edges[] = {
        "0",   "1",   "2",    "3",     "7",          "8",          "16",
        "17",  "32",  "64",   "128",   "255",        "256",        "1024",
        "-1",  "-16", "4096", "65536", "2147483647", "2147483648", "9223372036854775807",
        "1e9", "0.5", "0x7f", "1e400"};
    const char *edge = edges[next(state) % (sizeof edges / sizeof *edges)];
    return replace(s, n, most, old, edge, strlen(edge));
}

/* Replaces a span by a random word of fuzz_words, whose words are separated by blanks. */
static size_t change_to_known(uint8_t *s, size_t n, size_t most, struct span old, uint32_t *state)
{
    size_t length = strlen(fuzz_words), at = length ? next(state) % length : 0;
    while (at > 0 && fuzz_words[at - 1] != ' ')
        at--;
    return replace(s, n, most, old, fuzz_words + at, strcspn(fuzz_words + at, " "));
}

static size_t change_word(uint8_t *s, size_t n, size_t most, uint32_t *state)
{
    char kept[100];
    struct span old = pick_word(s, n, state), other = pick_word(s, n, state);
    if (old.bytes == 0 || other.bytes == 0 || other.bytes > sizeof kept)
        return n;
    if (isdigit(s[old.at]) && next(state) % 2)
        return change_number(s, n, most, old, state);
    if (next(state) % 3 == 0)
        return change_to_known(s, n, most, old, state);
    memcpy(kept, s + other.at, other.bytes);
    return replace(s, n, most, old, kept, other.bytes);
}

static size_t change_mark(uint8_t *s, size_t n, uint32_t *state)
{
    static const char marks[] = "+-*/%&|^<>=,.:()[]{}@!~";
    for (size_t i = next(state) % n, tries = 0; tries < 100; i = (i + 1) % n, tries++)
        if (ispunct(s[i])) {
            s[i] = (uint8_t)marks[next(state) % (sizeof marks - 1)];
            break;
        }
    return n;
}

static size_t change_lines(uint8_t *s, size_t n, size_t most, uint32_t *state)
{
    uint8_t kept[400];
    struct span from = pick_line(s, n, state), to = pick_line(s, n, state);
    if (from.bytes > sizeof kept)
        return n;
    memcpy(kept, s + from.at, from.bytes);
    switch (next(state) % 3) {
    case 0: return replace(s, n, most, from, "", 0);
    case 1: return replace(s, n, most, (struct span){to.at, 0}, kept, from.bytes);
    default: return replace(s, n, most, to, kept, from.bytes);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint32_t state = seed * 2654435761u + 1;
    size_t n = size;
    if (size == 0 || next(&state) % 8 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    for (uint32_t left = 1 + next(&state) % 4; left > 0 && n > 0; left--)
        switch (next(&state) % 8) {
        case 0: n = change_mark(data, n, &state); break;
        case 1:
        case 2: n = change_lines(data, n, max_size, &state); break;
        default: n = change_word(data, n, max_size, &state);
        }
    return n > 0 ? n : LLVMFuzzerMutate(data, size, max_size);
}
