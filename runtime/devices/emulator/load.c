/* SPDX-License-Identifier: MIT */
/* load.c: parses PTX text into emu_code (PTX ISA, "Syntax", "State Spaces, Types, and Variables", "Directives").
 *
 *     .reg .b32 %r<9>;                         registers %r0 to %r8, consecutive in a warp's register file
 *     .loc 1 12 9                              source position of the instructions up to the next .loc
 *     @%p1 ld.global.v2.b32 {%r1, %r2}, [%rd3+8];
 *         => guard %p1, row `ld` of insns.h, modifiers global and v2, type b32, operands %r1, %r2, address %rd3 offset 8
 *
 * A text contains one kernel. Directives that do not affect the execution are skipped. */
#include "runtime/devices/emulator/machine.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_MOST = 100,
    LOCAL_MARK = 1 << 30 /* marks, in a symbol's value, a local variable or a format string */,
    VARIABLES_MOST = 1 << 24 /* the most bytes of variables in a state space */
};

/* A declaration of registers, such as `.reg .b32 %r<9>`, which declares the registers `first` to `first +
 * count - 1`. is_numbered: the declaration contains <count>. */
struct declaration {
    const char *prefix;
    size_t prefix_len;
    int first, count;
    bool is_numbered;
};

/* A branch whose target is known only as a label. link_labels sets the target of instruction `insn` to the
 * index of the label's instruction. */
struct fixup {
    int insn;
    const char *label;
    size_t len;
};

struct loader {
    bool asks_rank; /* the text contains %cluster_ctarank */
    struct arena *arena;
    struct emu_code *code;
    struct emu_report *report;
    const char *s, *end;
    int line;
    struct loc loc;
    VEC(struct declaration) declarations;
    VEC(int)
    scopes; /* for each open brace, the number of declarations before it; the closing brace drops the
                      * declarations after it */
    VEC(struct fixup) fixups;
    VEC(const char *) params; /* pointers to the parameters' names in the PTX text */
    struct map labels;        /* maps a label to the index of its instruction + 1 */
    /* maps a variable to its address, and a format string to its index in the code's texts */
    struct map symbols;
    jmp_buf fail;
};

static _Noreturn void fail(struct loader *l, const char *format, ...) PRINTF_LIKE(2, 3);
static _Noreturn void fail(struct loader *l, const char *format, ...)
{
    char what[200];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    *l->report = (struct emu_report){.error = ERR_emulator_ptx, .loc = l->loc, .ptx_line = l->line};
    snprintf(l->report->what, sizeof l->report->what, "line %d of the PTX: %s", l->line, what);
    longjmp(l->fail, 1);
}

/* -- characters, words and numbers -- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static void skip_line(struct loader *l)
{
    while (l->s < l->end && *l->s != '\n')
        l->s++;
}

static void skip_space(struct loader *l)
{
    for (; l->s < l->end; l->s++) {
        if (*l->s == '\n')
            l->line++;
        else if (*l->s == '/' && l->s + 1 < l->end && l->s[1] == '/')
            skip_line(l), l->s--;
        else if (!isspace((unsigned char)*l->s))
            return;
    }
}

static bool accept(struct loader *l, char c)
{
    skip_space(l);
    if (l->s == l->end || *l->s != c)
        return false;
    l->s++;
    return true;
}

static void expect(struct loader *l, char c)
{
    if (!accept(l, c))
        fail(l, "expected '%c', found '%.*s'", c, (int)(l->end - l->s < 20 ? l->end - l->s : 20), l->s);
}

/* Reads a word of letters, digits, the characters `_$%.`, and "::". */
static const char *word(struct loader *l, size_t *len)
{
    skip_space(l);
    const char *from = l->s;
    while (l->s < l->end && (is_word(*l->s) || (*l->s == ':' && l->s + 1 < l->end && l->s[1] == ':')))
        l->s += *l->s == ':' ? 2 : 1;
    *len = (size_t)(l->s - from);
    if (*len == 0)
        fail(l, "expected a word, found '%.*s'", l->s < l->end ? 1 : 0, l->s);
    return from;
}

static bool same(const char *s, size_t len, const char *other)
{
    return strlen(other) == len && memcmp(s, other, len) == 0;
}

/* Reads a constant (PTX ISA, "Constants"), and sets *bits to its kind: 0 for an integer; 32 or 64 for the
 * bits of a float after 0f or 0d; EMU_DECIMAL for a decimal number with a point. Returns the constant's bits.
 * A number with a point is returned as a double, because the instruction's type is not known yet. */
static uint64_t number(struct loader *l, int *bits)
{
    *bits = 0;
    bool minus = accept(l, '-');
    size_t len;
    const char *s = word(l, &len);
    char text[NAME_MOST], *stop;
    snprintf(text, sizeof text, "%.*s", (int)(len < 70 ? len : 70), s);
    bool is_float = text[0] == '0' && strchr("fFdD", text[1]) && text[1];
    int base = is_float ? 16 : text[0] == '0' && tolower((unsigned char)text[1]) == 'b' ? 2 : 0;
    if (is_float)
        *bits = tolower((unsigned char)text[1]) == 'f' ? 32 : 64;
    bool is_decimal = strchr(text, '.') != NULL;
    double decimal = is_decimal ? strtod(text, &stop) : 0;
    if (is_decimal && !*stop) {
        *bits = EMU_DECIMAL;
        return double_to_bits(DT_f64, minus ? -decimal : decimal);
    }
    uint64_t x = strtoull(base ? text + 2 : text, &stop, base);
    if (*stop && !same(stop, strlen(stop), "U"))
        fail(l, "'%s' is no number", text);
    return minus ? 0 - x : x;
}

/* Reads a number in a directive. The number may be at most `most`; `what` describes it in messages. */
static int count(struct loader *l, int most, const char *what)
{
    int bits;
    uint64_t n = number(l, &bits);
    if (bits || n > (uint64_t)most)
        fail(l, "%s is %" PRId64 ", not 0 to %d", what, (int64_t)n, most);
    return (int)n;
}

/* -- directives -- */

static int add_register(struct loader *l, enum ptype type)
{
    struct emu_code *c = l->code;
    enum reg_class cls = ptype_info[type].cls;
    struct emu_register r = {.cls = (uint8_t)cls, .type = (uint8_t)type, .at = c->values_bytes};
    VEC_PUSH(l->arena, &c->regs, r);
    c->values_bytes += (size_t)(LANES * emu_class_bytes(cls)); /* a predicate occupies 32 bits */
    return c->regs.n - 1;
}

static enum ptype type_of_word(struct loader *l, const char *s, size_t len)
{
    for (int t = 1; t < PT_count; t++)
        if (same(s + 1, len - 1, ptype_info[t].word))
            return (enum ptype)t;
    fail(l, "unknown type '%.*s'", (int)len, s);
}

/* Reads a directive such as `.reg .b32 %r<9>, %x;`. */
static void declare_registers(struct loader *l)
{
    size_t len;
    const char *type = word(l, &len);
    enum ptype t = type_of_word(l, type, len);
    do {
        struct declaration d = {.first = l->code->regs.n, .count = 1};
        d.prefix = word(l, &d.prefix_len);
        if (accept(l, '<')) {
            d.is_numbered = true;
            d.count = count(l, 1 << 16, "a number of registers");
            expect(l, '>');
        }
        for (int i = 0; i < d.count; i++)
            add_register(l, t);
        VEC_PUSH(l->arena, &l->declarations, d);
    } while (accept(l, ','));
    expect(l, ';');
}

/* Reads a declaration such as `.shared .align 16 .b8 name[64];`. Empty brackets mean a size of 0 here,
 * because the launch determines the size. *used is the number of bytes that earlier variables occupy. The
 * variable's address is `base` plus *used, where *used is first rounded up to the alignment. Then adds the
 * variable's size to *used. */
static void declare_variable(struct loader *l, int base, int *used)
{
    size_t len;
    const char *s = word(l, &len);
    int align = 1, size = 0, elem = 1;
    if (same(s, len, ".align")) {
        align = count(l, VARIABLES_MOST, "an alignment");
        s = word(l, &len);
    }
    for (int t = 1; t < PT_count; t++)
        if (same(s + 1, len - 1, ptype_info[t].word))
            elem = ptype_info[t].bits / 8;
    s = word(l, &len);
    if (accept(l, '[') && !accept(l, ']')) {
        size = count(l, VARIABLES_MOST, "a number of elements");
        expect(l, ']');
    }
    expect(l, ';');
    if (align < 1)
        fail(l, "an alignment of 0");
    int at = (*used + align - 1) / align * align;
    *used = at + size * elem;
    if (*used > VARIABLES_MOST)
        fail(l, "variables of %d bytes, more than %d", *used, VARIABLES_MOST);
    *map_at(&l->symbols, s, len) = (void *)(uintptr_t)(base + at);
}

/* Reads a string for vprintf or __assertfail, such as `.global .align 1 .b8 $text0[3] = {37, 100, 0};`. Only
 * these two functions read the string. */
static void declare_text(struct loader *l)
{
    int bits;
    size_t len;
    word(l, &len);
    number(l, &bits);
    word(l, &len);
    const char *s = word(l, &len);
    *map_at(&l->symbols, s, len) = (void *)(uintptr_t)(LOCAL_MARK + l->code->texts.n);
    expect(l, '[');
    number(l, &bits);
    expect(l, ']');
    expect(l, '=');
    expect(l, '{');
    do
        VEC_PUSH(l->arena, &l->code->texts, (char)number(l, &bits));
    while (accept(l, ','));
    expect(l, '}');
    expect(l, ';');
    if (l->code->texts.at[l->code->texts.n - 1] != 0)
        fail(l, "a text without an end");
}

static void declare_params(struct loader *l)
{
    expect(l, '(');
    while (!accept(l, ')')) {
        size_t len;
        const char *s = word(l, &len);
        if (!same(s, len, ".param"))
            fail(l, "expected a parameter, found '%.*s'", (int)len, s);
        int bits;
        s = word(l, &len);
        if (same(s, len, ".align")) {
            number(l, &bits);
            word(l, &len);
        }
        s = word(l, &len);
        VEC_PUSH(l->arena, &l->params, s);
        if (accept(l, '[')) {
            number(l, &bits);
            expect(l, ']');
        }
        accept(l, ',');
    }
    l->code->nparams = l->params.n;
}

static void read_loc(struct loader *l)
{
    int bits;
    uint64_t file = number(l, &bits);
    l->loc = (struct loc){.file = (uint16_t)(file ? file - 1 : 0)};
    l->loc.line = (uint32_t)number(l, &bits);
    l->loc.col = (uint16_t)number(l, &bits);
}

/* Reads a directive such as `.file 1 "add.py"`. Files must be numbered in order. */
static void read_file(struct loader *l)
{
    int bits;
    number(l, &bits);
    expect(l, '"');
    const char *from = l->s;
    while (l->s < l->end && *l->s != '"' && *l->s != '\n')
        l->s++;
    VEC_PUSH(l->arena, &l->code->files, arena_strndup(l->arena, from, (size_t)(l->s - from)));
    skip_line(l);
}

/* Reads a directive such as `.maxntid 128, 1, 1`. */
static void read_threads(struct loader *l)
{
    int n = 1;
    do
        n *= count(l, LANES * WARPS_MOST, "a number of threads (.maxntid)");
    while (n <= LANES * WARPS_MOST && accept(l, ','));
    l->code->num_threads = n;
}

static void directive(struct loader *l)
{
    size_t len;
    const char *s = word(l, &len);
    if (same(s, len, ".reg")) {
        declare_registers(l);
    } else if (same(s, len, ".shared")) {
        declare_variable(l, SHARED_BASE, &l->code->static_shared_bytes);
    } else if (same(s, len, ".local")) {
        declare_variable(l, LOCAL_MARK, &l->code->local_bytes);
    } else if (same(s, len, ".global")) {
        declare_text(l);
    } else if (same(s, len, ".loc")) {
        read_loc(l);
    } else if (same(s, len, ".file")) {
        read_file(l);
    } else if (same(s, len, ".target")) {
        s = word(l, &len);
        l->code->target = arena_strndup(l->arena, s, len);
        skip_line(l);
    } else if (same(s, len, ".maxnreg")) {
        l->code->max_registers = count(l, 1 << 16, ".maxnreg");
    } else if (same(s, len, ".minnctapersm")) {
        l->code->min_ctas = count(l, 1 << 16, ".minnctapersm");
    } else if (same(s, len, ".entry")) {
        s = word(l, &len);
        if (l->code->name)
            fail(l, "a second kernel, '%.*s'", (int)len, s);
        l->code->name = arena_strndup(l->arena, s, len);
        declare_params(l);
    } else if (same(s, len, ".maxntid") || same(s, len, ".reqntid")) {
        read_threads(l);
    } else if (same(s, len, ".reqnctapercluster")) {
        int d = 0;
        do
            l->code->cluster[d++] = count(l, CLUSTER_MOST, ".reqnctapercluster");
        while (accept(l, ',') && d < 3);
    } else if (!same(s, len, ".visible") && !same(s, len, ".extern")) {
        skip_line(l); /* this also skips function declarations */
    }
}

/* -- operands -- */

static int find_register(struct loader *l, const char *s, size_t len)
{
    for (int i = 0; i < SPECIAL_count; i++)
        if (same(s, len, special_names[i]))
            return i;
    for (int i = l->declarations.n - 1; i >= 0; i--) {
        const struct declaration *d = &l->declarations.at[i];
        if (len < d->prefix_len || memcmp(s, d->prefix, d->prefix_len) != 0)
            continue;
        bool has_digits = len > d->prefix_len && isdigit((unsigned char)s[d->prefix_len]);
        char *stop = NULL;
        long n = has_digits ? strtol(s + d->prefix_len, &stop, 10) : 0;
        if (d->is_numbered ? stop == s + len && n < d->count : len == d->prefix_len)
            return d->first + (int)n;
    }
    return -1;
}

static struct emu_opnd register_opnd(struct loader *l, const char *s, size_t len)
{
    int reg = find_register(l, s, len);
    if (reg < 0)
        fail(l, "unknown register '%.*s'", (int)len, s);
    const struct emu_register *r = &l->code->regs.at[reg];
    return (struct emu_opnd){.reg = reg, .cls = r->cls, .at = r->at};
}

/* Stores a constant of class cls 32 times, once for each lane, and returns it as an operand. */
static struct emu_opnd constant_opnd(struct loader *l, uint64_t bits, enum reg_class cls)
{
    struct emu_code *c = l->code;
    size_t bytes = (size_t)emu_class_bytes(cls), need = c->constants_bytes + LANES * sizeof bits;
    if (need > c->constants_room) {
        size_t room = 2 * need;
        c->constants = arena_grow(l->arena, c->constants, c->constants_bytes, room, 1);
        c->constants_room = room;
    }
    struct emu_opnd o = {.reg = -1, .cls = (uint8_t)cls, .at = c->constants_bytes};
    if (cls == CLASS_pred)
        bits = bits & 1 ? ALL_LANES : 0;
    for (int i = 0; i < LANES; i++)
        memcpy(c->constants + o.at + (size_t)i * bytes, &bits, bytes);
    c->constants_bytes += LANES * bytes;
    return o;
}

/* Returns an operand for the address of a variable in shared memory, for code that may run in clusters. The
 * address contains the rank of the CTA, so it is not a constant: the operand is an additional register. When
 * a warp begins, begin_warp (exec.c) stores the address of the variable in the warp's CTA to this
 * register. */
static struct emu_opnd symbol_opnd(struct loader *l, int address)
{
    struct emu_code *c = l->code;
    int i = 0;
    while (i < c->symbols.n && c->symbols.at[i].address != address)
        i++;
    if (i == c->symbols.n) {
        int reg = add_register(l, PT_b32);
        VEC_PUSH(l->arena, &c->symbols, (struct emu_symbol){reg, address});
    }
    int reg = c->symbols.at[i].reg;
    return (struct emu_opnd){.reg = reg, .cls = CLASS_b32, .at = c->regs.at[reg].at};
}

/* Returns whether the code may run in clusters of several CTAs: the code declares the size of a cluster, or
 * reads the rank of the CTA in its cluster. */
static bool is_cluster(const struct loader *l)
{
    const int *c = l->code->cluster;
    return c[0] * c[1] * c[2] > 1 || l->asks_rank;
}

static struct emu_written read_plain(struct loader *l)
{
    struct emu_written w = {0};
    skip_space(l);
    if (l->s < l->end && (isdigit((unsigned char)*l->s) || *l->s == '-')) {
        w.form = WRITTEN_constant;
        w.o.offset = (int64_t)number(l, &w.float_bits);
        return w;
    }
    w.s = word(l, &w.len);
    void **symbol = map_get(&l->symbols, w.s, w.len);
    bool is_local = symbol && (uintptr_t)*symbol & LOCAL_MARK;
    if (symbol) {
        w.form = WRITTEN_variable;
        w.space = is_local ? MOD_local : MOD_shared;
        if (!is_local && is_cluster(l))
            w.o = symbol_opnd(l, (int)(intptr_t)*symbol);
        else
            w.o = (struct emu_opnd){.reg = -1,
                                    .offset = (int64_t)((uintptr_t)*symbol & ~(uintptr_t)LOCAL_MARK)};
    } else if (w.s[0] == '%' || find_register(l, w.s, w.len) >= 0) {
        w.o = register_opnd(l, w.s, w.len);
        w.form = w.o.reg < SPECIAL_count ? WRITTEN_special : WRITTEN_register;
        w.type = l->code->regs.at[w.o.reg].type;
    } else {
        w.form = WRITTEN_name;
    }
    return w;
}

/* Reads an address: [register], [register+8], [symbol+8] or [parameter]. */
static struct emu_written read_address(struct loader *l)
{
    int bits;
    struct emu_written w = read_plain(l);
    if (w.form == WRITTEN_variable && w.o.reg < 0)
        w.o = constant_opnd(l, (uint64_t)w.o.offset, CLASS_b32);
    if (accept(l, '+'))
        w.o.offset = (int64_t)number(l, &bits);
    else if (w.form != WRITTEN_name)
        w.o.offset = 0;
    w.in_brackets = true;
    return w;
}

/* Reads the mark of an unused result, if there is one: `_` in place of the first operand, or `_|` before the
 * first operand. Returns true for `_`, which stands for a whole operand; otherwise, returns false. */
static bool accept_nothing(struct loader *l, struct emu_insn *in)
{
    skip_space(l);
    if (in->nopnds || l->end - l->s < 2 || *l->s != '_' || is_word(l->s[1]))
        return false;
    l->s++;
    in->dropped = accept(l, '|') ? DROPPED_first : DROPPED_operand;
    return in->dropped == DROPPED_operand;
}

/* Reads the operands. Braces contain a vector, or the coordinates of a tensor map. */
static void read_operands(struct loader *l, struct emu_insn *in, struct emu_written *w)
{
    bool brace = false, bracket = false, first = true, was_vector = false;
    for (bool begun = false; !accept(l, ';'); begun = true) {
        if (begun)
            expect(l, ',');
        if (accept_nothing(l, in))
            continue;
        if (in->nopnds == EMU_OPNDS_MOST)
            fail(l, "more than %d operands", EMU_OPNDS_MOST);
        brace |= accept(l, '{');
        if (brace && !was_vector)
            in->nvec++;
        if (!brace && accept(l, '[')) {
            in->address = first ? in->nopnds : in->address;
            in->has_address = true;
            first = false;
            w[in->nopnds++] = read_address(l);
            bracket = true;
        } else {
            w[in->nopnds] = read_plain(l);
            w[in->nopnds].in_braces = brace;
            w[in->nopnds++].in_brackets = bracket;
        }
        if (brace && accept(l, '}')) {
            brace = false;
            was_vector = true;
        }
        if (bracket && !brace && accept(l, ']'))
            bracket = false;
    }
    if (bracket)
        fail(l, "a ']' is missing");
}

/* -- instructions -- */

/* If the instruction at s begins with `mnemonic`, the mnemonic of a row of insns.h, and a dot or the end
 * follows, returns the length of the mnemonic in the text; otherwise returns 0. A `#` in `mnemonic` matches a
 * number of one to three digits, to which *number is then set. */
static size_t match_mnemonic(const char *s, size_t len, const char *mnemonic, int *number)
{
    size_t i = 0;
    *number = 0;
    for (; *mnemonic; mnemonic++) {
        size_t from = i;
        if (*mnemonic != '#') {
            if (i == len || s[i++] != *mnemonic)
                return 0;
            continue;
        }
        for (; i < len && isdigit((unsigned char)s[i]) && i < from + 3; i++)
            *number = 10 * *number + (s[i] - '0');
        if (i == from)
            return 0;
    }
    return i == len || s[i] == '.' ? i : 0;
}

/* Some rows of insns.h have the same mnemonic. Returns whether the instruction's operands fit the row `code`,
 * so that the loader can choose between such rows. `unpacks`: the first operand is a vector in braces.
 * `has_and`: the words after the mnemonic contain "and". */
static bool fits(const struct emu_insn *in, enum insn_code code, bool unpacks, bool has_and)
{
    switch (code) {
    case INSN_mov: return in->nvec == 0;
    case INSN_read_now: return false; /* the loader never chooses this row, which also prints as `mov` */
    case INSN_pack: return in->nvec > 0 && !unpacks;
    case INSN_unpack: return in->nvec > 0 && unpacks;
    case INSN_cvt: return in->nopnds == 2;
    case INSN_cvt2: return in->nopnds == 3;
    case INSN_setp: return !has_and;
    case INSN_setp_and: return has_and;
    default: return true;
    }
}

static void read_words(struct loader *l, struct emu_insn *in, const char *s, const char *end)
{
    int nmods = 0, ntypes = 0;
    while (s < end) {
        const char *from = ++s;
        while (s < end && *s != '.')
            s++;
        size_t len = (size_t)(s - from);
        int mod = 1, type = 1;
        while (mod < MOD_count && !same(from, len, mod_info[mod].text))
            mod++;
        while (type < PT_count && !same(from, len, ptype_info[type].word))
            type++;
        if (type < PT_count && ntypes < 2)
            *(ntypes++ ? &in->from : &in->type) = (uint8_t)type;
        else if (mod < MOD_count && nmods < EMU_MODS_MOST - 1)
            in->mods[nmods++] = (uint8_t)(mod == MOD_shared_cta ? MOD_shared : mod);
        else
            fail(l, "unknown instruction '%s': what is '.%.*s'?", in->text, (int)len, from);
    }
}

/* Finds the instruction's row, then reads the modifiers and types after the mnemonic. */
static void identify(struct loader *l, struct emu_insn *in, const char *s, size_t len, bool unpacks)
{
    size_t best = 0;
    bool has_and = false;
    for (size_t i = 0; i + 4 < len; i++)
        has_and |= memcmp(s + i, ".and.", 5) == 0 && i > 0;
    for (int c = 0; c < INSN_count; c++) {
        int number;
        size_t n = match_mnemonic(s, len, insn_info[c].mnemonic, &number);
        if (n > best && fits(in, (enum insn_code)c, unpacks, has_and)) {
            best = n;
            in->code = (uint8_t)c;
            in->number = (uint16_t)number;
        }
    }
    if (!best)
        fail(l, "unknown instruction '%s'", in->text);
    read_words(l, in, s + best, s + len);
    if (!emu_words_fit(in->code, s + best, s + len))
        fail(l, "the words of '%.*s' are those of no form of '%s'", (int)len, s,
             insn_info[in->code].mnemonic);
}

/* Returns the register class of a constant of type t. Floats have the class of an integer of the same size, because
 * only their bits are stored. */
static enum reg_class constant_class(enum ptype t)
{
    int bits = class_info[ptype_info[t].cls].bits;
    return bits == 1 ? CLASS_pred : bits == 16 ? CLASS_b16 : bits == 32 ? CLASS_b32 : CLASS_b64;
}

static int find_param(struct loader *l, const struct emu_written *w)
{
    for (int i = 0; i < l->params.n; i++)
        if (memcmp(l->params.at[i], w->s, w->len) == 0 && !is_word(l->params.at[i][w->len]))
            return i;
    fail(l, "unknown parameter '%.*s'", (int)w->len, w->s);
}

/* Returns an operand for w, which is a constant, or the name of a variable or parameter. The operand's value
 * is the constant, converted to the type that the instruction requires, or the address of the variable or
 * parameter. */
static struct emu_opnd settle_constant(struct loader *l, const struct emu_written *w)
{
    uint64_t bits = (uint64_t)w->o.offset;
    if (w->form == WRITTEN_name)
        bits = PARAM_BASE + PARAM_STEP * (uint64_t)find_param(l, w);
    else if (w->float_bits == EMU_DECIMAL && w->want == PT_f32)
        bits = double_to_bits(DT_f32, bits_to_double(DT_f64, bits));
    struct emu_opnd o = constant_opnd(l, bits, constant_class((enum ptype)w->want));
    o.offset = w->o.offset;
    return o;
}

static void settle(struct loader *l, struct emu_insn *in, struct emu_written *w)
{
    char wrong[120];
    in->opnds = NEW_ARRAY(l->arena, in->nopnds + 1, struct emu_opnd);
    if (in->code == INSN_bra) {
        if (in->nopnds != 1 || w[0].form != WRITTEN_name)
            fail(l, "'%s' has no label", in->text);
        VEC_PUSH(l->arena, &l->fixups, (struct fixup){l->code->insns.n, w[0].s, w[0].len});
        return;
    }
    if (!emu_check_operands(in, w, wrong, sizeof wrong))
        fail(l, "%s, in '%s'", wrong, in->text);
    for (int i = 0; i < in->nopnds; i++) {
        in->opnds[i] = w[i].o;
        if (in->code == INSN_ld_param && w[i].form == WRITTEN_name)
            in->target = find_param(l, &w[i]);
        else if (!w[i].in_brackets || w[i].in_braces)
            if (w[i].form == WRITTEN_constant || w[i].form == WRITTEN_name ||
                (w[i].form == WRITTEN_variable && w[i].o.reg < 0))
                in->opnds[i] = settle_constant(l, &w[i]);
    }
}

static void count_results(struct emu_insn *in)
{
    struct insn_word x;
    if (insn_word(insn_info[in->code].operands, &x) && x.kind == WORD_result)
        in->ndefs = (uint8_t)insn_word_opnds(&x, in->nvec);
}

/* Returns whether the load is plain: it has none of .acquire, .relaxed and .volatile. A loop with only plain
 * loads cannot wait until another CTA has stored a value. */
static bool is_plain(const struct emu_insn *in)
{
    return !emu_has_mod(in, MOD_acquire) && !emu_has_mod(in, MOD_relaxed) && !emu_has_mod(in, MOD_volatile);
}

/* Returns whether the instruction is a wgmma, or a fence, commit or wait for wgmmas. In kernels with such
 * instructions, the emulator tracks accesses to registers (wgmma.c). */
static bool uses_wgmma(const struct emu_insn *in)
{
    return emu_is_wgmma(in) || in->code == INSN_wgmma_fence || in->code == INSN_wgmma_commit ||
           in->code == INSN_wgmma_wait;
}

static const char *statement_text(struct loader *l, const char *from)
{
    const char *to = from;
    while (to < l->end && *to != ';' && *to != '\n')
        to++;
    char *s = arena_strndup(l->arena, from, (size_t)(to - from));
    for (char *c = s; *c; c++)
        if (*c == '\t')
            *c = ' ';
    return s;
}

/* Reads a call such as `call (%r1), vprintf, (%rd1, %rd2)`, and returns the function's name. If the call has
 * no result, the first pair of parentheses and the comma after it are missing. */
static const char *read_call(struct loader *l, struct emu_insn *in, struct emu_written *w, size_t *len)
{
    if (accept(l, '(')) {
        w[in->nopnds++] = read_plain(l);
        expect(l, ')');
        expect(l, ',');
    }
    const char *name = word(l, len);
    expect(l, ',');
    expect(l, '(');
    do
        w[in->nopnds++] = read_plain(l);
    while (in->nopnds < EMU_OPNDS_MOST && accept(l, ','));
    expect(l, ')');
    expect(l, ';');
    return name;
}

static void read_insn(struct loader *l)
{
    struct emu_insn in = {.guard = -1, .line = l->line, .loc = l->loc, .text = statement_text(l, l->s)};
    struct emu_written w[EMU_OPNDS_MOST] = {0};
    size_t len;
    const char *s;
    if (accept(l, '@')) {
        in.guard_not = accept(l, '!');
        s = word(l, &len);
        struct emu_opnd guard = register_opnd(l, s, len);
        if (guard.cls != CLASS_pred)
            fail(l, "'%.*s' is no predicate", (int)len, s);
        in.guard = guard.reg;
    }
    s = word(l, &len);
    skip_space(l);
    bool unpacks = l->s < l->end && *l->s == '{';
    if (same(s, len, "call"))
        s = read_call(l, &in, w, &len);
    else
        read_operands(l, &in, w);
    identify(l, &in, s, len, unpacks);
    settle(l, &in, w);
    count_results(&in);
    for (int i = 0; i < in.ndefs; i++)
        if (i >= in.nopnds || in.opnds[i].reg < SPECIAL_count)
            fail(l, "'%s' has no register for its result", in.text);
    if (!emu_decode(&in))
        fail(l, "unknown instruction '%s'", in.text);
    if (in.code == INSN_mov && in.opnds[1].reg == SPECIAL_globaltimer)
        in.run = emu_run_timer;
    l->code->is_async |= ((insn_info[in.code].traits & ASYNC) != 0);
    l->code->has_wgmma |= uses_wgmma(&in);
    l->code->has_atomics |= in.code == INSN_atom || in.code == INSN_red || in.code == INSN_fence ||
                            (in.code == INSN_ld && !is_plain(&in));
    VEC_PUSH(l->arena, &l->code->insns, in);
}

/* Parses a label, an instruction, a directive or a brace. */
static void statement(struct loader *l)
{
    if (*l->s == '.') {
        directive(l);
        return;
    }
    if (accept(l, '{')) {
        VEC_PUSH(l->arena, &l->scopes, l->declarations.n);
        return;
    }
    if (accept(l, '}')) {
        if (l->scopes.n)
            l->declarations.n = l->scopes.at[--l->scopes.n];
        return;
    }
    const char *from = l->s;
    int line = l->line;
    if (*l->s != '@') {
        size_t len;
        const char *s = word(l, &len);
        if (accept(l, ':')) {
            *map_at(&l->labels, s, len) = (void *)(uintptr_t)(l->code->insns.n + 1);
            return;
        }
        l->s = from;
        l->line = line;
    }
    read_insn(l);
}

static void link_labels(struct loader *l)
{
    struct emu_code *c = l->code;
    for (int i = 0; i < l->fixups.n; i++) {
        const struct fixup *x = &l->fixups.at[i];
        void **to = map_get(&l->labels, x->label, x->len);
        struct emu_insn *in = &c->insns.at[x->insn];
        if (!to) {
            l->line = in->line;
            fail(l, "unknown label '%.*s'", (int)x->len, x->label);
        }
        in->target = (int)(uintptr_t)*to - 1;
        c->insns.at[in->target].joins = true;
        c->insns.at[x->insn + 1].joins = true;
    }
}

static void load(struct loader *l)
{
    for (int i = 0; i < SPECIAL_count; i++)
        add_register(l, i == SPECIAL_globaltimer ? PT_u64 : PT_u32);
    for (skip_space(l); l->s < l->end && *l->s; skip_space(l))
        statement(l);
    if (!l->code->name)
        fail(l, "there is no kernel");
    /* A thread that reaches the end of the code exits, so a ret is appended. */
    VEC_PUSH(l->arena, &l->code->insns,
             (struct emu_insn){.code = INSN_ret, .guard = -1, .line = l->line, .text = "ret"});
    link_labels(l);
    const int *cluster = l->code->cluster;
    for (int d = 0; d < 3; d++)
        if (cluster[d] < 1 || cluster[0] * cluster[1] * cluster[2] > CLUSTER_MOST)
            fail(l, "a cluster of %d x %d x %d", cluster[0], cluster[1], cluster[2]);
    int n = l->code->num_threads;
    if (n < 1 || n > LANES * WARPS_MOST || n % LANES != 0)
        fail(l, "a kernel of %d threads (.maxntid)", n);
    emu_find_addresses(l->arena, l->code);
    for (int i = 0; i < l->code->insns.n && !l->code->live; i++)
        if (l->code->insns.at[i].code == INSN_setmaxnreg_dec ||
            l->code->insns.at[i].code == INSN_setmaxnreg_inc)
            l->code->live = emu_live_registers(l->arena, l->code, true);
}

const struct emu_code *emulator_load(struct arena *a, const char *ptx, size_t bytes, struct emu_report *r)
{
    struct loader *l = NEW(a, struct loader);
    l->arena = a;
    l->code = NEW(a, struct emu_code);
    for (int d = 0; d < 3; d++)
        l->code->cluster[d] = 1;
    l->report = r;
    l->s = ptx;
    l->end = ptx + bytes;
    l->asks_rank = strstr(ptx, special_names[SPECIAL_cluster_ctarank]) != NULL;
    l->line = 1;
    map_init(&l->labels, a);
    map_init(&l->symbols, a);
    *r = (struct emu_report){.error = ERR_count};
    if (setjmp(l->fail) != 0)
        return NULL;
    load(l);
    return l->code;
}
