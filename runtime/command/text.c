/* SPDX-License-Identifier: MIT */
/* text.c: implements struct buffer, a text that grows, and writes strings in JSON's notation. */
#include "runtime/command/inspect/inspect.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *or_end(void *memory)
{
    if (!memory)
        exit(complain("out of memory"));
    return memory;
}

void *array_grown(void *array, size_t n, size_t bytes)
{
    /* the capacity is a power of two, so the array is full if n is 0 or a power of two */
    bool is_full = (n & (n - 1)) == 0;
    return is_full ? or_end(realloc(array, (n ? 2 * n : 1) * bytes)) : array;
}

static void make_room(struct buffer *b, size_t n)
{
    if (b->n + n + 1 <= b->room)
        return;
    b->room = 2 * (b->n + n + 64);
    b->s = or_end(realloc(b->s, b->room));
}

void put_bytes(struct buffer *b, const char *s, size_t n)
{
    make_room(b, n);
    memcpy(b->s + b->n, s, n);
    b->n += n;
    b->s[b->n] = '\0';
}

void put_string(struct buffer *b, const char *s)
{
    put_bytes(b, s, strlen(s));
}

void put_format(struct buffer *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    make_room(b, 64);
    size_t room = b->room - b->n;
    int n = vsnprintf(b->s + b->n, room, format, args);
    if ((size_t)n >= room) {
        make_room(b, (size_t)n);
        vsnprintf(b->s + b->n, (size_t)n + 1, format, again);
    }
    b->n += (size_t)n;
    va_end(again);
    va_end(args);
}

void buffer_free(struct buffer *b)
{
    free(b->s);
    *b = (struct buffer){0};
}

/* Returns the length in bytes of the UTF-8 character at the start of the n bytes at s; 0 if there is no such
 * character. */
static size_t character_length(const unsigned char *s, size_t n)
{
    size_t length = s[0] < 0x80                   ? 1
                    : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                    : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                    : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                  : 0;
    for (size_t i = 1; i < length; i++)
        if (i >= n || (s[i] & 0xc0) != 0x80)
            return 0;
    if (length > 2) {
        bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
        bool outside = (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf4 && s[1] >= 0x90);
        return overlong || outside ? 0 : length;
    }
    return length;
}

/* Returns how many of the n bytes at s can be copied into a JSON string unchanged: the bytes before the first
 * one that put_json escapes or that is not ASCII. */
static size_t plain_length(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && s[i] >= ' ' && s[i] < 0x7f && s[i] != '"' && s[i] != '\\' && s[i] != '<')
        i++;
    return i;
}

void put_json(struct buffer *b, const char *s, size_t n)
{
    put_string(b, "\"");
    for (size_t i = 0, length; i < n; i += length ? length : 1) {
        length = plain_length(s + i, n - i);
        if (length) {
            put_bytes(b, s + i, length);
            continue;
        }
        unsigned char c = (unsigned char)s[i];
        length = character_length((const unsigned char *)s + i, n - i);
        if (!length)
            put_string(b, "\xef\xbf\xbd");
        else if (c == '"' || c == '\\')
            put_format(b, "\\%c", c);
        else if (c == '\n' || c == '\t')
            put_string(b, c == '\n' ? "\\n" : "\\t");
        else if (c < ' ' || c == '<' || c == 0x7f)
            put_format(b, "\\u%04x", c);
        else
            put_bytes(b, s + i, length);
    }
    put_string(b, "\"");
}
