/* SPDX-License-Identifier: MIT */
/* assembled.c: adds the output of ptxas and of a disassembler to an inspected build, if these tools are installed. */
#include "runtime/command/inspect/inspect.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_log(struct build *b, const char *log)
{
    b->assembled.registers = tool_number(log, " registers");
    b->assembled.barriers = tool_number(log, " barriers");
    b->assembled.spill_bytes = tool_number(log, " bytes spill stores");
}

/* Appends one line of a disassembly, without the encoding of its instruction. If the line names a file, appends only
 * the file's name, without folders. */
static void put_line(struct buffer *out, const char *s, size_t n)
{
    static const char mark[] = "//## File \"";
    size_t at = 0;
    while (at + 4 < n && memcmp(s + at, "/* 0x", 5) != 0)
        at++;
    if (at + 4 < n)
        n = at;
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
        n--;
    if (!n)
        return;
    const char *file = s, *end = s + n;
    while (file + sizeof mark < end && memcmp(file, mark, sizeof mark - 1) != 0)
        file++;
    if (file + sizeof mark < end) {
        file += sizeof mark - 1;
        const char *last = file;
        for (const char *p = file; p < end && *p != '"'; p++)
            last = *p == '/' ? p + 1 : last;
        put_bytes(out, s, (size_t)(file - s));
        s = last;
    }
    put_bytes(out, s, (size_t)(end - s));
    put_string(out, "\n");
}

static void disassemble(struct build *b, struct workshop *w)
{
    char tool[PATH_MAX];
    char *nvdisasm[] = {tool, "-c", "-g", w->cubin, NULL}, *cuobjdump[] = {tool, "-sass", w->cubin, NULL};
    bool has_nvdisasm = find_tool("nvdisasm", tool, sizeof tool);
    size_t length;
    if (!has_nvdisasm && !find_tool("cuobjdump", tool, sizeof tool))
        return;
    if (tool_run(has_nvdisasm ? nvdisasm : cuobjdump, w->log) != GOOD)
        return;
    char *text = read_file(w->log, &length);
    struct stage *s = text ? build_add_stage(b, "sass", "sass", "", 0) : NULL;
    for (const char *p = text, *end; p && *p; p = *end ? end + 1 : end) {
        end = p + strcspn(p, "\n");
        put_line(&s->text, p, (size_t)(end - p));
    }
    free(text);
}

void build_assemble(struct build *b)
{
    char ptxas[PATH_MAX];
    const struct stage *ptx = build_stage(b, "ptx");
    struct workshop w;
    size_t length;
    if (!find_tool("ptxas", ptxas, sizeof ptxas) || !workshop_open(&w))
        return;
    if (workshop_assemble(&w, ptxas, ptx->text.s, ptx->text.n, true) == GOOD) {
        char *log = read_file(w.log, &length);
        if (log)
            read_log(b, log);
        free(log);
        disassemble(b, &w);
    }
    workshop_close(&w);
}
