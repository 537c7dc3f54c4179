/* SPDX-License-Identifier: MIT */
/* page.c: the page of `neso inspect --html`, `neso diff --html` and `neso inspect --serve`: markup and style (inspect.html),
 * the code (inspect*.js) and the data, in one file that needs nothing else. */
#include "runtime/command/inspect.h"

#include <string.h>

extern const char inspect_html[], inspect_js[], inspect_text_js[], inspect_views_js[];

/* Appends `text` up to a mark; returns what follows the mark. */
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

void put_page_data(struct buffer *out, const char *base, const char *build)
{
    put_format(out, "{\"builds\": [%s%s%s]}", base ? base : "", base ? ",\n" : "", build);
}
