/* SPDX-License-Identifier: MIT */
/* print.c: executes vprintf (CUDA C++ Programming Guide, "Formatted Output") and __assertfail. The lanes
 * print one after the other. The arguments of a lane's vprintf are consecutive in local memory, and each
 * argument is aligned to its size. */
#include "runtime/devices/emulator/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct printing {
    struct emu_warp *w;
    const struct emu_insn *in;
    int lane;
    uint64_t args; /* the generic address of the next argument */
    char line[1024];
    size_t used;
};

static void put(struct printing *p, const char *s, size_t n)
{
    size_t room = sizeof p->line - p->used;
    n = n < room ? n : room;
    memcpy(p->line + p->used, s, n);
    p->used += n;
}

static uint64_t next_arg(struct printing *p, unsigned bytes)
{
    uint64_t bits = 0;
    p->args = (p->args + bytes - 1) / bytes * bytes;
    memcpy(&bits, emu_local_at(p->w, p->in, p->lane, p->args - LOCAL_WINDOW, (int)bytes), bytes);
    p->args += bytes;
    return bits;
}

/* Prints the argument of a conversion specifier such as `%3d`. s points to the character after the percent
 * sign. Returns a pointer to the text after the specifier. */
static const char *put_conversion(struct printing *p, const char *s)
{
    char piece[64];
    int n = 0;
    size_t flags = strspn(s, "0123456789");
    int width = 0;
    for (size_t i = 0; i < flags && width < 32; i++)
        width = 10 * width + s[i] - '0';
    bool zeros = s[0] == '0', is_long = strncmp(s + flags, "ll", 2) == 0;
    s += flags + (is_long ? 2 : 0);
    uint64_t x = next_arg(p, is_long || *s == 'f' || *s == 'p' ? 8 : 4);
    double number;
    memcpy(&number, &x, sizeof number);
    switch (*s) {
    case 'd': n = snprintf(piece, sizeof piece, "%*" PRId64, width, is_long ? (int64_t)x : (int32_t)x); break;
    case 'u': n = snprintf(piece, sizeof piece, "%*" PRIu64, width, x); break;
    case 'x': n = snprintf(piece, sizeof piece, zeros ? "%0*" PRIx64 : "%*" PRIx64, width, x); break;
    case 'p': n = snprintf(piece, sizeof piece, "0x%" PRIx64, x); break;
    case 'f': {
        char wide[400];
        int length = snprintf(wide, sizeof wide, "%f", number);
        put(p, wide, (size_t)length);
        return s + 1;
    }
    default: emu_fail(p->w, p->in, p->lane, ERR_emulator_ptx, "vprintf knows no conversion '%c'", *s);
    }
    put(p, piece, (size_t)n);
    return s + 1;
}

static void print_lane(struct printing *p, const char *format)
{
    for (const char *s = format; *s;) {
        size_t plain = strcspn(s, "%");
        put(p, s, plain);
        s += plain;
        if (*s && s[1] == '%') {
            put(p, s, 1);
            s += 2;
        } else if (*s) {
            s = put_conversion(p, s + 1);
        }
    }
}

/* Returns the text whose address is operand i. */
static const char *text_at(struct emu_warp *w, const struct emu_insn *in, int lane, int i)
{
    const struct emu_code *code = w->cta->code;
    emu_need_defined(w, in, &in->opnds[i], 64, UINT32_C(1) << lane, "the address of a text");
    uint64_t at = emu_lane(w, &in->opnds[i], lane);
    if (at >= (uint64_t)code->texts.n)
        emu_fail(w, in, lane, ERR_out_of_bounds, "the text is not a constant of the module");
    return code->texts.at + at;
}

void emu_run_vprintf(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    const struct emu_launch *l = w->cta->launch;
    emu_need_defined(w, in, &in->opnds[2], 64, on, "the address of the arguments");
    for (; on; on &= on - 1) {
        int lane = emu_first_lane(on);
        struct printing p = {.w = w, .in = in, .lane = lane, .args = emu_lane(w, &in->opnds[2], lane)};
        print_lane(&p, text_at(w, in, lane, 1));
        if (l->write)
            l->write(l->write_ctx, p.line, p.used);
    }
}

/* Prints a line for each lane that executes the instruction, as the driver does, and ends the launch. */
void emu_run_assertfail(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    const struct emu_launch *l = w->cta->launch;
    const int *pid = w->cta->pid;
    int first = emu_first_lane(on);
    emu_need_defined(w, in, &in->opnds[2], 32, on, "the line");
    const char *text = text_at(w, in, first, 0);
    for (; on && l->write; on &= on - 1) {
        int lane = emu_first_lane(on);
        char line[1024];
        int n = snprintf(line, sizeof line,
                         "%s:%d: %s: block: [%d,%d,%d], thread: [%d,0,0] Assertion `%s` failed.\n",
                         text_at(w, in, lane, 1), (int)emu_lane(w, &in->opnds[2], lane),
                         text_at(w, in, lane, 3), pid[0], pid[1], pid[2], w->index * LANES + lane, text);
        l->write(l->write_ctx, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    }
    emu_fail(w, in, first, ERR_emulator_trap, "device-side assert triggered: %s", text);
}
