/* SPDX-License-Identifier: MIT */
/* page.c: makes the page of `neso inspect --html`, `neso diff --html` and `neso inspect --serve` from markup and style
 * (inspect.html), the code (inspect*.js) and the data. The page is one file that refers to no other files. */
#include "runtime/command/inspect/inspect.h"

#include <string.h>

extern const char inspect_html[], inspect_js[], inspect_text_js[], inspect_views_js[];

/* Appends the part of `text` before a mark, and returns the part after it. */
static const char *put_until(struct buffer *out, const char *text, const char *mark)
{
    const char *at = strstr(text, mark);
    put_bytes(out, text, (size_t)(at - text));
    return at + strlen(mark);
}

void put_page(struct buffer *out, const char *data)
{
    const char *rest = put_until(out, inspect_html, "@DATA@");
    put_string(out, data ? data : "@DATA@");
    rest = put_until(out, rest, "@CODE@");
    put_string(out, inspect_text_js);
    put_string(out, inspect_views_js);
    put_string(out, inspect_js);
    put_string(out, rest);
}

/* Appends JSON, with an escape in place of each `<`, because "</script>" in a string would end the script that
 * contains the JSON. In JSON, `<` occurs only in strings, and strings may contain escapes. */
static void put_escaped(struct buffer *out, const char *json)
{
    for (size_t n; *json; json += n) {
        n = strcspn(json, "<");
        put_bytes(out, json, n);
        if (json[n]) {
            put_string(out, "\\u003c");
            n++;
        }
    }
}

void put_page_data(struct buffer *out, const char *base, const char *build)
{
    put_string(out, "{\"builds\": [");
    if (base) {
        put_escaped(out, base);
        put_string(out, ",\n");
    }
    put_escaped(out, build);
    put_string(out, "]}");
}
