/* SPDX-License-Identifier: MIT */
/* operands.c: checks that an instruction's operands fit the operand descriptions in its row (codegen/insns.h). The
 * emulator rejects other operands, as an assembler does (PTX ISA, "Instruction Operands", "Type Information for
 * Instructions and Operands").
 *
 *     shl.b32 %r1, %r2, %rd1        the row: d a b:u32    error: operand 3 is a register of b64, not of u32
 *
 * A bits type, such as b32, agrees with every type of its size. A signed integer type agrees with the unsigned type of
 * the same size. Every other type agrees only with itself. The check may reject code that an assembler
 * accepts, for example a predicate in a vector of words, but such code is certainly wrong. */
#include "runtime/devices/emulator/machine.h"

#include <stdio.h>
#include <string.h>

/* -- types -- */

enum sort { SORT_bits, SORT_integer, SORT_other };

static enum sort sort_of(enum ptype t)
{
    const char *word = ptype_info[t].word;
    bool has_digit = word[1] >= '0' && word[1] <= '9';
    return !has_digit                         ? SORT_other
           : word[0] == 'b'                   ? SORT_bits
           : word[0] == 'u' || word[0] == 's' ? SORT_integer
                                              : SORT_other;
}

static enum ptype type_named(const char *s)
{
    size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789");
    for (int t = 0; t < PT_count; t++)
        if (strlen(ptype_info[t].word) == len && memcmp(s, ptype_info[t].word, len) == 0)
            return (enum ptype)t;
    return PT_none;
}

static enum ptype bits_type(int bits)
{
    return bits == 16 ? PT_b16 : bits == 32 ? PT_b32 : bits == 64 ? PT_b64 : PT_none;
}

static enum ptype wide_type(enum ptype t)
{
    return t == PT_u16   ? PT_u32
           : t == PT_s16 ? PT_s32
           : t == PT_u32 ? PT_u64
           : t == PT_s32 ? PT_s64
                         : PT_none;
}

/* The row describes the operands of its instruction by words such as `a` or `b:u32`. Returns the type that
 * the operands of word x must have; PT_none if any type is allowed. */
static enum ptype type_of(const struct emu_insn *in, const struct insn_word *x)
{
    enum insn_result result = insn_info[in->code].result;
    if (!x->type && x->kind == WORD_result && result != RESULT_own && result != RESULT_none)
        return result == RESULT_pred ? PT_pred : wide_type((enum ptype)in->type);
    if (!x->type)
        return (enum ptype)in->type;
    if (strncmp(x->type, "wide", 4) == 0)
        return wide_type((enum ptype)in->type);
    if (strncmp(x->type, "from", 4) == 0)
        return (enum ptype)in->from;
    if (strncmp(x->type, "piece", 5) == 0)
        return in->nvec && sort_of((enum ptype)in->type) == SORT_bits
                   ? bits_type(ptype_info[in->type].bits / in->nvec)
                   : PT_none;
    return type_named(x->type);
}

static int register_bits(enum ptype t)
{
    return class_info[ptype_info[t].cls].bits;
}

/* Returns whether a register may be wider than the instruction's type. This is allowed for loads and stores
 * without a vector, and for cvt with one source, but not for a cvt from or to bf16, or to f16x2. */
static bool may_be_wider(const struct emu_insn *in)
{
    bool moves = in->code == INSN_ld || in->code == INSN_st || in->code == INSN_ld_param;
    bool newer = in->type == PT_bf16 || in->from == PT_bf16 || in->type == PT_f16x2;
    return (moves && !in->nvec) || (in->code == INSN_cvt && !newer);
}

static bool agrees(const struct emu_insn *in, enum ptype want, enum ptype have)
{
    int bits = register_bits(have), least = register_bits(want);
    enum sort a = sort_of(want), b = sort_of(have);
    bool is_size = bits == least || (bits > least && least > 1 && may_be_wider(in));
    return is_size && (want == PT_pred) == (have == PT_pred) &&
           (a == SORT_bits || b == SORT_bits || (a == SORT_integer && a == b) || want == have);
}

/* -- one operand -- */

struct complaint {
    char *text;
    size_t room;
    int number; /* the number of the operand; the first operand has number 1 */
};

static bool complain(const struct complaint *c, const char *format, ...) PRINTF_LIKE(2, 3);
static bool complain(const struct complaint *c, const char *format, ...)
{
    int n = snprintf(c->text, c->room, "operand %d is ", c->number);
    va_list args;
    va_start(args, format);
    vsnprintf(c->text + n, c->room - (size_t)n, format, args);
    va_end(args);
    return false;
}

static const char *name_of(const struct emu_written *w)
{
    static const char *const names[] = {"a register", "a special register", "a constant",
                                        "a variable's address", "a name"};
    return w->in_brackets ? "an address" : w->in_braces ? "part of a vector" : names[w->form];
}

static bool check_register(const struct emu_insn *in, enum ptype want, const struct emu_written *w,
                           const struct complaint *c)
{
    if (agrees(in, want, w->type))
        return true;
    return complain(c, "a register of %s, expected one of %s", ptype_info[w->type].word,
                    ptype_info[want].word);
}

/* Checks a constant for an operand of type `want`. An integer type requires an integer, and a float type
 * requires a number with a decimal point, or the bits of a float of this type (0f or 0d). A bits type accepts
 * an integer, or the bits of a float of its size. PTX has no constants of 16-bit float types. */
static bool check_constant(enum ptype want, const struct emu_written *w, const struct complaint *c)
{
    enum sort sort = sort_of(want);
    bool is_float = want == PT_f32 || want == PT_f64;
    bool fits = w->float_bits ? (is_float || sort == SORT_bits) &&
                                    (w->float_bits == EMU_DECIMAL || w->float_bits == ptype_info[want].bits)
                              : sort != SORT_other || want == PT_pred;
    if (w->float_bits == EMU_DECIMAL)
        fits &= is_float;
    if (want == PT_pred && (w->o.offset < 0 || w->o.offset > 1))
        return complain(c, "%lld, expected 0 or 1", (long long)w->o.offset);
    return fits || complain(c, "a constant, expected %s of %s%s",
                            sort == SORT_other && !is_float ? "a register" : "one", ptype_info[want].word,
                            w->float_bits ? ""
                            : is_float    ? " (0f or 0d, and its bits)"
                                          : "");
}

static enum mod space_of(const struct emu_insn *in, const struct insn_word *x)
{
    static const enum mod spaces[] = {MOD_global, MOD_shared, MOD_local, MOD_param};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        const char *word = mod_info[spaces[i]].text;
        if (x->type ? strncmp(x->type, word, strlen(word)) == 0 : emu_has_mod(in, spaces[i]))
            return spaces[i];
    }
    return MOD_none; /* the address is generic */
}

static bool check_address(const struct emu_insn *in, const struct insn_word *x, const struct emu_written *w,
                          const struct complaint *c)
{
    enum mod space = x->kind == WORD_map ? MOD_none : space_of(in, x);
    if (space == MOD_param)
        return w->form == WRITTEN_name || complain(c, "not a parameter");
    if (w->form == WRITTEN_variable)
        return space == MOD_none || space == w->space ||
               complain(c, "in %s memory, expected one in %s", mod_info[w->space].text, mod_info[space].text);
    if (w->form != WRITTEN_register)
        return complain(c, "an address without a register or a variable");
    bool fits = (w->o.cls == CLASS_b32 || w->o.cls == CLASS_b64) && sort_of(w->type) != SORT_other;
    return fits || complain(c, "an address in a register of %s", ptype_info[w->type].word);
}

/* Returns whether the operand is the name of a variable or parameter, and the instruction accepts this name
 * as an address. `cvta.to` accepts no name. `cvta` accepts a name in the instruction's state space, and
 * `mapa` a variable in shared memory. */
static bool names_place(const struct emu_insn *in, const struct emu_written *w)
{
    enum mod space = w->form == WRITTEN_name ? MOD_param : (enum mod)w->space;
    bool is_name = w->form == WRITTEN_variable || w->form == WRITTEN_name;
    if (in->code == INSN_cvta)
        return is_name && emu_has_mod(in, space) && !emu_has_mod(in, MOD_to);
    return is_name && (in->code != INSN_mapa || space == MOD_shared);
}

/* Checks an operand that is not an address in brackets. */
static bool check_value(const struct emu_insn *in, const struct insn_word *x, const struct emu_written *w,
                        enum ptype want, const struct complaint *c)
{
    bool is_place = x->kind == WORD_place;
    if (w->form == WRITTEN_register && x->kind != WORD_constant)
        return check_register(in, want, w, c);
    if (w->form == WRITTEN_constant && x->kind != WORD_register && x->kind != WORD_result)
        return check_constant(want, w, c);
    /* only mov may read special registers */
    if (w->form == WRITTEN_special && in->code == INSN_mov)
        return check_register(in, want, w, c);
    if (is_place && names_place(in, w))
        return sort_of(want) != SORT_other ||
               complain(c, "%s, expected %s", name_of(w), ptype_info[want].word);
    return complain(c, "%s, expected a %s of %s", name_of(w),
                    x->kind == WORD_constant ? "constant" : "register", ptype_info[want].word);
}

/* Checks operand w. The word x may describe several operands; `at` is the index of w among them. */
static bool check_one(const struct emu_insn *in, const struct insn_word *x, int at, struct emu_written *w,
                      const struct complaint *c)
{
    bool is_address = x->kind == WORD_address || (x->kind == WORD_map && at == 0);
    bool is_vector = x->vector > 0 || (x->vector && in->nvec) || (x->kind == WORD_map && at > 0);
    if (w->in_brackets != (is_address || x->kind == WORD_map))
        return complain(c, "%s, expected %s", name_of(w),
                        is_address ? "an address, in brackets" : "no address");
    if (w->in_braces != is_vector)
        return complain(c, "%s, expected %s", name_of(w), is_vector ? "a vector, in braces" : "no vector");
    w->want = (uint8_t)(is_address ? PT_b64 : type_of(in, x));
    return is_address ? check_address(in, x, w, c) : check_value(in, x, w, (enum ptype)w->want, c);
}

/* -- constants with a limited range -- */

static const struct range {
    uint8_t code, operand;
    int least, most, step;
} ranges[] = {
    {INSN_bar, 0, 0, 15, 1},
    {INSN_bar, 1, 32, 1024, 32},
    {INSN_bar_arrive, 0, 0, 15, 1},
    {INSN_bar_arrive, 1, 32, 1024, 32},
    {INSN_barrier, 0, 0, 15, 1},
    {INSN_barrier, 1, 32, 1024, 32},
    {INSN_setmaxnreg_inc, 0, 24, 256, 8},
    {INSN_setmaxnreg_dec, 0, 24, 256, 8},
    {INSN_mbarrier_test_wait, 2, 0, 1, 1},
    {INSN_mbarrier_try_wait, 2, 0, 1, 1},
    {INSN_wgmma_wait, 0, 0, 7, 1},
    {INSN_bulk_load, 2, 0, 1048560, 16},
    {INSN_bulk_prefetch, 1, 0, INT32_MAX, 16},
};

/* Checks that cp.async reads no more bytes than it writes. */
static bool check_source_bytes(const struct emu_insn *in, const struct emu_written *w, struct complaint *c)
{
    if (in->code != INSN_cp_async || in->nopnds < 4 || w[3].form != WRITTEN_constant ||
        w[2].form != WRITTEN_constant)
        return true;
    c->number = 4;
    return (w[3].o.offset >= 0 && w[3].o.offset <= w[2].o.offset) ||
           complain(c, "%lld bytes, expected 0 to %lld", (long long)w[3].o.offset, (long long)w[2].o.offset);
}

static bool check_values(const struct emu_insn *in, const struct emu_written *w, struct complaint *c)
{
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        const struct range *r = &ranges[k];
        if (r->code != in->code || r->operand >= in->nopnds || w[r->operand].form != WRITTEN_constant)
            continue;
        int64_t x = w[r->operand].o.offset;
        c->number = r->operand + 1;
        if (x < r->least || x > r->most || x % r->step)
            return complain(c, "%lld, expected %d to %d in steps of %d", (long long)x, r->least, r->most,
                            r->step);
    }
    return check_source_bytes(in, w, c);
}

/* -- all operands of an instruction -- */

static bool is_policy(const struct insn_word *x)
{
    return strncmp(x->name, "policy", 6) == 0;
}

/* Returns whether the instruction has the operand that the word x describes. An optional cache policy is
 * present if the instruction has the modifier L2::cache_hint. Another optional operand is present if `left`,
 * the number of operands that were not checked yet, is greater than the number of policies, which come
 * last. */
static bool is_there(const struct emu_insn *in, const struct insn_word *x, int left)
{
    bool hint = emu_has_mod(in, MOD_l2_hint);
    return !x->optional || (is_policy(x) ? hint : left > hint);
}

bool emu_check_operands(const struct emu_insn *in, struct emu_written *w, char *text, size_t room)
{
    struct insn_word x;
    struct complaint c = {text, room, 1};
    const char *next = insn_info[in->code].operands;
    enum emu_dropped drops = next[0] != '_' ? DROPPED_none : next[1] == '|' ? DROPPED_first : DROPPED_operand;
    int i = 0;
    if (in->dropped != drops)
        return complain(&c, "%s",
                        drops == DROPPED_none ? "'_', expected another"
                                              : "not '_', which is not supported here");
    while ((next = insn_word(next, &x))) {
        if (x.kind == WORD_nothing || !is_there(in, &x, in->nopnds - i))
            continue;
        if (x.other && i < in->nopnds && w[i].in_braces)
            insn_word(x.other, &x);
        int n = x.kind == WORD_map ? 1 + in->number : insn_word_opnds(&x, in->nvec);
        for (int k = 0; k < n; k++, i++) {
            c.number = i + 1;
            if (i >= in->nopnds)
                return complain(&c, "missing");
            if (!check_one(in, &x, k, &w[i], &c))
                return false;
        }
    }
    c.number = i + 1;
    return i < in->nopnds ? complain(&c, "one too many") : check_values(in, w, &c);
}
