/* SPDX-License-Identifier: MIT */
/* print.c: selects prints as calls of the driver's function vprintf, and assertions as calls of the driver's
 * function __assertfail.
 *
 *     print %x text=" x: "     =>     st.local.u32 [args], pid; ...; st.local.f64 [args+24], x
 *                                     call ($r), vprintf, (format, args);       for each of the thread's elements
 *
 * Every thread that holds an element prints the element, even if other threads hold the same element. The format
 * string contains the parts that are known at compile time: the text, and the width of indices. */
#include "codegen/select/select.h"

#include <string.h>

/* The arguments of the vprintf call, stored in local memory. */
struct printing {
    struct select *s;
    struct opnd args; /* the address of the stored arguments */
    int bytes;
};

static void put_arg(struct printing *p, struct opnd x, enum ptype type)
{
    int bytes = ptype_info[type].bits / 8;
    p->bytes = (p->bytes + bytes - 1) / bytes * bytes;
    struct opnd at = {.kind = OPND_addr, .cls = CLASS_b64, .n = p->args.n, .i = p->bytes};
    emit_insn(p->s, form1(INSN_st, type, MOD_local), 0, 2, (struct opnd[]){at, in_reg(p->s, x)});
    p->bytes += bytes;
    p->s->m->local_bytes = p->bytes > p->s->m->local_bytes ? p->bytes : p->s->m->local_bytes;
}

/* -- formats of values, and the types with which they are passed -- */

static const char *conversion(const struct type *t, bool hex, bool is_unsigned)
{
    static const char *const digits[] = {"0x%02x", "0x%04x", "0x%08x", "0x%016llx"};
    int bits = type_elem_bits(t);
    if (hex)
        return digits[bits <= 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3];
    if (type_is_float(t))
        return "%f";
    if (type_is_ptr(type_elem(t)))
        return "%p";
    return bits == 64 ? is_unsigned ? "%llu" : "%lld" : bits == 1 ? "%u" : "%d";
}

static void put_value(struct printing *p, const struct type *t, struct opnd x, bool hex)
{
    struct select *s = p->s;
    enum dtype dt = elem_dtype(t);
    int bits = type_elem_bits(t);
    x = in_reg(s, x);
    if (type_is_float(t) && !hex) {
        struct opnd wide =
            dt == DT_f64 ? x : emit1(s, form_cvt(PT_f64, PT_f32, MOD_none), widen_to_f32(s, dt, x));
        put_arg(p, wide, PT_f64);
    } else if (bits == 1) {
        put_arg(p, emit3(s, form0(INSN_selp, PT_b32), opnd_int(CLASS_b32, 1), opnd_int(CLASS_b32, 0), x),
                PT_b32);
    } else if (bits < 32) {
        enum dtype as = bits == 8 ? DT_i8 : DT_i16;
        x = extend_i8(s, as, x, !hex);
        put_arg(p, emit1(s, hex ? form_cvt(PT_u32, PT_u16, MOD_none) : form_cvt(PT_s32, PT_s16, MOD_none), x),
                PT_b32);
    } else {
        put_arg(p, x, type_is_float(t) ? bits == 32 ? PT_f32 : PT_f64 : bits == 32 ? PT_b32 : PT_b64);
    }
}

/* -- indices -- */

static int digits(int n)
{
    int d = 1;
    while (n >= 10) {
        n /= 10;
        d++;
    }
    return d;
}

static void index_format(struct text *out, const struct type *t)
{
    for (int d = 0; type_is_tile(t) && d < t->rank; d++)
        text_printf(out, "%s%%%dd", d ? ", " : "", digits(t->shape[d] - 1));
}

/* Returns the part of an element's coordinate that depends on the thread. */
static struct opnd thread_part(struct select *s, const struct layout *l)
{
    uint32_t basis[LAYOUT_BITS_MAX];
    int n = layout_threads(l, basis);
    return emit_thread_map(s, n, basis);
}

static void put_index(struct printing *p, const struct type *t, struct opnd thread, int reg)
{
    const struct layout *l = t->layout;
    struct opnd part = opnd_int(CLASS_b32, layout_apply(l, (uint32_t)reg, 0, 0, 0)),
                coord = emit2(p->s, form0(INSN_xor, PT_b32), in_reg(p->s, thread), part);
    int shift = layout_coord_bits(l);
    for (int d = 0; d < t->rank; d++) {
        shift -= l->dim_bits[d];
        struct opnd x = emit2(p->s, form0(INSN_shr, PT_u32), coord, opnd_int(CLASS_b32, shift));
        put_arg(p, emit2(p->s, form0(INSN_and, PT_b32), x, opnd_int(CLASS_b32, t->shape[d] - 1)), PT_b32);
    }
}

/* -- the op -- */

/* Appends a text to a format string, with '%' escaped as "%%". */
static void put_escaped(struct text *out, const char *s)
{
    for (; *s; s++)
        text_str(out, *s == '%' ? "%%" : (char[]){*s, '\0'});
}

/* Returns the address of a text in global memory. */
static struct opnd address_of_text(struct select *s, const char *text)
{
    struct opnd place = {.kind = OPND_text, .cls = CLASS_b64};
    while (place.n < s->m->texts.n && strcmp(s->m->texts.at[place.n], text) != 0)
        place.n++;
    if (place.n == s->m->texts.n)
        VEC_PUSH(s->m->arena, &s->m->texts, text);
    return emit1(s, form1(INSN_cvta, PT_u64, MOD_global), emit1(s, form0(INSN_mov, PT_u64), place));
}

static void call_vprintf(struct select *s, const char *format, struct opnd args)
{
    struct opnd text = address_of_text(s, format),
                x[] = {mir_reg(s->m, CLASS_b32), text, emit1(s, form1(INSN_cvta, PT_u64, MOD_local), args)};
    emit_insn(s, form0(INSN_vprintf, PT_none), 1, 3, x);
}

static struct printing begin(struct select *s)
{
    struct printing p = {.s = s};
    struct opnd place = {.kind = OPND_local, .cls = CLASS_b64};
    p.args = emit1(s, form0(INSN_mov, PT_u64), place);
    for (int i = 0; i < 3; i++)
        put_arg(&p, emit_special(s, SPECIAL_ctaid_x + i), PT_b32);
    return p;
}

static void print_operand(struct select *s, const struct op *o, int k, const char *prefix)
{
    struct value *v = op_opnd(o, k);
    const struct type *t = v->type;
    bool hex = op_int(o, ATTR_hex) != 0, is_unsigned = k < 63 && op_int(o, ATTR_unsigned) >> k & 1;
    struct text format;
    text_init(&format, s->m->arena);
    text_str(&format, "pid (%d, %d, %d) idx (");
    index_format(&format, t);
    text_char(&format, ')');
    put_escaped(&format, prefix);
    if (o->nopnds > 1)
        text_printf(&format, "(operand %d) ", k);
    text_str(&format, conversion(t, hex, is_unsigned));
    text_char(&format, '\n');
    struct opnd thread = type_is_tile(t) ? thread_part(s, t->layout) : (struct opnd){0};
    const struct opnd *x = tile_of(s, v);
    for (int i = 0; i < tile_nregs(t); i++) {
        struct printing p = begin(s);
        if (type_is_tile(t))
            put_index(&p, t, thread, i);
        put_value(&p, t, x[i], hex);
        call_vprintf(s, format.s, p.args);
    }
}

void select_print(struct select *s, const struct op *o)
{
    const struct attr *a = op_attr(o, ATTR_text);
    const char *prefix = a ? a->s : "";
    for (int k = 0; k < o->nopnds; k++)
        print_operand(s, o, k, prefix);
    if (o->nopnds)
        return;
    struct text format;
    text_init(&format, s->m->arena);
    text_str(&format, "pid (%d, %d, %d)");
    put_escaped(&format, prefix);
    text_char(&format, '\n');
    call_vprintf(s, format.s, begin(s).args);
}

/* In threads where `holds` is false, calls the driver's function for failed assertions. The driver's function
 * prints a line as CUDA's assert does, and ends the launch with the error "device-side assert triggered". If
 * `holds` is true in all lanes, the warp jumps over the call and the computation of its arguments. Otherwise,
 * the lanes where `holds` is true exit. The `ret` after the call tells ptxas that a failing thread does not
 * continue.
 *
 * All lanes vote before they jump. Without the vote, ptxas assumes that the lanes of a warp may be at
 * different instructions after the jump, and does not move loads that follow the next shfl before this
 * shfl. */
void select_failure(struct select *s, const struct op *o, struct opnd holds)
{
    const struct attr *a = op_attr(o, ATTR_text);
    bool has_file = o->loc.line && o->loc.file < s->diag->sources.n;
    const char *name = has_file ? s->diag->sources.at[o->loc.file]->name : "", *slash = strrchr(name, '/');
    const struct mblock *before = s->b;
    holds = in_reg(s, holds);
    struct opnd all = emit2(s, form1(INSN_vote, PT_pred, MOD_all), holds, opnd_int(CLASS_b32, UINT32_MAX));
    struct insn *over = emit_jump(s, all, false);
    s->b = mir_block(s->m, before->index, before->depth);
    emit_insn(s, form0(INSN_ret, PT_none), 0, 0, NULL)->guard = holds.n;
    struct opnd text = address_of_text(s, a ? a->s : "");
    /* the file's base name, so that the PTX does not depend on the folder */
    struct opnd file = address_of_text(s, slash ? slash + 1 : name);
    struct opnd function = address_of_text(s, s->f->name);
    enum { BYTES_OF_A_CHARACTER = 1 };
    struct opnd x[] = {text, file, opnd_int(CLASS_b32, has_file ? o->loc.line : 0), function,
                       opnd_int(CLASS_b64, BYTES_OF_A_CHARACTER)};
    emit_insn(s, form0(INSN_assertfail, PT_none), 0, 5, x);
    emit_insn(s, form0(INSN_ret, PT_none), 0, 0, NULL);
    s->b = mir_block(s->m, before->index, before->depth);
    jump_to(over, s->b);
}
