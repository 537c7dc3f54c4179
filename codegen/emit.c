/* SPDX-License-Identifier: MIT */
/* emit.c: prints machine IR as PTX text. No other file of codegen/ prints PTX. Mnemonics come from insns.h, register
 * names from the allocation. The .version directive gives the lowest PTX version that supports the target and all
 * instructions of the kernel. */
#include "codegen/mir.h"

#include <string.h>

struct emitter {
    const struct mir *m;
    const struct allocation *alloc;
    const struct codegen_options *o;
    struct text *out;
};

/* -- numbers; printed without printf, because most of the text is numbers and printf is slow -- */

static void put_uint(struct text *out, uint64_t x)
{
    char digits[20];
    int n = 0;
    do
        digits[sizeof digits - (size_t)++n] = (char)('0' + x % 10);
    while (x /= 10);
    text_bytes(out, digits + sizeof digits - n, (size_t)n);
}

static void put_int(struct text *out, int64_t x)
{
    if (x < 0)
        text_char(out, '-');
    put_uint(out, x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
}

static void put_hex(struct text *out, uint64_t x, int ndigits)
{
    for (int shift = 4 * (ndigits - 1); shift >= 0; shift -= 4)
        text_char(out, "0123456789ABCDEF"[x >> shift & 15]);
}

/* -- operands -- */

static void put_reg(const struct emitter *e, int reg)
{
    text_str(e->out, class_info[e->m->regs.at[reg]].prefix);
    put_uint(e->out, (uint64_t)(e->alloc ? e->alloc->number[reg] : reg));
}

static void put_param(const struct emitter *e, int index)
{
    text_str(e->out, e->m->func->name);
    text_str(e->out, "_param_");
    put_uint(e->out, (uint64_t)index);
}

static void put_imm(struct text *out, struct opnd x)
{
    switch (x.cls) {
    case CLASS_f32:
        text_str(out, "0f");
        put_hex(out, (uint64_t)x.i & UINT32_MAX, 8);
        break;
    case CLASS_f64:
        text_str(out, "0d");
        put_hex(out, (uint64_t)x.i, 16);
        break;
    case CLASS_pred: put_int(out, x.i & 1); break;
    case CLASS_b16: put_int(out, (int16_t)x.i); break;
    case CLASS_b32: put_int(out, (int32_t)x.i); break;
    default: put_int(out, x.i);
    }
}

/* The '$' makes names of labels differ from kernel names, which contain no '$'. */
static void put_label(struct text *out, int block)
{
    text_str(out, "$L");
    put_uint(out, (uint64_t)block);
}

static void put_opnd(const struct emitter *e, struct opnd x)
{
    switch (x.kind) {
    case OPND_reg: put_reg(e, x.n); break;
    case OPND_imm: put_imm(e->out, x); break;
    case OPND_addr:
        text_char(e->out, '[');
        put_reg(e, x.n);
        if (x.i) {
            text_char(e->out, '+');
            put_int(e->out, x.i);
        }
        text_char(e->out, ']');
        break;
    case OPND_param:
        text_char(e->out, '[');
        put_param(e, x.n);
        text_char(e->out, ']');
        break;
    case OPND_place: put_param(e, x.n); break;
    case OPND_smem: text_str(e->out, "$smem"); break;
    case OPND_text:
        text_str(e->out, "$text");
        put_int(e->out, x.n);
        break;
    case OPND_local: text_str(e->out, "$local"); break;
    case OPND_label: put_label(e->out, x.n); break;
    case OPND_special: text_str(e->out, special_names[x.n]); break;
    default: break;
    }
}

/* Prints n operands, separated by commas. */
static void put_list(const struct emitter *e, const struct opnd *x, int n)
{
    for (int i = 0; i < n; i++) {
        text_str(e->out, i ? ", " : "");
        put_opnd(e, x[i]);
    }
}

/* Prints the operands, from x on, that word `w` of the instruction's row in insns.h describes. Returns their
 * number. */
static int put_word(const struct emitter *e, const struct insn *in, const struct insn_word *w,
                    const struct opnd *x)
{
    int n = insn_word_opnds(w, in->nvec), number = in->form.number;
    bool braces = w->vector > 0 || (w->vector && in->nvec);
    if (w->kind == WORD_map) {
        text_char(e->out, '[');
        put_opnd(e, x[0]);
        text_str(e->out, ", {");
        put_list(e, x + 1, number);
        text_str(e->out, "}]");
        return 1 + number;
    }
    text_str(e->out, w->drops ? "_|" : braces ? "{" : "");
    put_list(e, x, n);
    text_str(e->out, braces ? "}" : "");
    return n;
}

/* Prints the operands that the words of the instruction's row in insns.h describe. Optional operands may be
 * missing. A wgmma.wait_group may have additional operands, which are not printed: the registers that must
 * not change before the wait. */
static void put_opnds(const struct emitter *e, const struct insn *in)
{
    struct insn_word w;
    const char *next = insn_info[in->form.code].operands;
    for (int i = 0, words = 0; i < in->nopnds && (next = insn_word(next, &w)); words++) {
        text_str(e->out, words == 0 ? "\t" : ", ");
        /* if a word has an alternative, it describes a 64-bit descriptor, and the alternative a vector of
         * registers */
        if (w.other && in->opnds[i].cls != CLASS_b64)
            insn_word(w.other, &w);
        if (w.kind == WORD_nothing)
            text_char(e->out, '_');
        else
            i += put_word(e, in, &w, &in->opnds[i]);
    }
}

/* -- instructions -- */

static void put_loc(const struct emitter *e, const struct insn *in)
{
    text_str(e->out, "\t.loc\t");
    put_uint(e->out, (uint64_t)in->loc.file + 1);
    text_char(e->out, ' ');
    put_uint(e->out, in->loc.line);
    text_char(e->out, ' ');
    put_uint(e->out, in->loc.col);
    text_char(e->out, '\n');
}

/* Prints a call with its result, if it has one, and its arguments. (put_texts declares the called
 * functions.) */
static void put_call(const struct emitter *e, const struct insn *in)
{
    text_str(e->out, "call ");
    if (in->ndefs) {
        text_char(e->out, '(');
        put_opnd(e, in->opnds[0]);
        text_str(e->out, "), ");
    }
    text_printf(e->out, "%s, (", insn_info[in->form.code].mnemonic);
    put_list(e, in->opnds + in->ndefs, in->nopnds - in->ndefs);
    text_str(e->out, ");\n");
}

/* Prints the user's inline assembly with registers in place of $0, $1, ..., which stand for the operands,
 * results first; $$ stands for a dollar sign. */
static void put_asm(const struct emitter *e, const struct insn *in)
{
    struct text *out = e->out;
    const char *s = op_attr(in->op, ATTR_text)->s;
    text_str(out, "{\n");
    for (int i = 0; i < in->ndefs; i++)
        text_printf(out, "\t.reg .%s $a%d;\n", class_info[in->opnds[i].cls].type, i);
    while (*s) {
        size_t digits = *s == '$' ? strspn(s + 1, "0123456789") : 0;
        int i = 0;
        for (size_t k = 1; k <= digits; k++)
            i = i < in->nopnds ? 10 * i + (s[k] - '0') : i;
        if (digits && i < in->ndefs)
            text_printf(out, "$a%d", i);
        else if (digits && i < in->nopnds)
            put_opnd(e, in->opnds[i]);
        else
            text_bytes(out, s, digits + 1);
        s += digits ? digits + 1 : *s == '$' && s[1] == '$' ? 2 : 1;
    }
    text_char(out, '\n');
    for (int i = 0; i < in->ndefs; i++) {
        text_printf(out, "\tmov.%s ", class_info[in->opnds[i].cls].type);
        put_opnd(e, in->opnds[i]);
        text_printf(out, ", $a%d;\n", i);
    }
    text_str(out, "\t}\n");
}

static void put_insn(const struct emitter *e, const struct insn *in)
{
    struct text *out = e->out;
    text_char(out, '\t');
    if (in->guard >= 0) {
        text_str(out, in->guard_not ? "@!" : "@");
        put_reg(e, in->guard);
        text_char(out, ' ');
    }
    if (insn_has(in, CALL)) {
        put_call(e, in);
        return;
    }
    if (in->form.code == INSN_asm) {
        put_asm(e, in);
        return;
    }
    const char *mnemonic = insn_info[in->form.code].mnemonic, *number = strchr(mnemonic, '#');
    text_bytes(out, mnemonic, number ? (size_t)(number - mnemonic) : strlen(mnemonic));
    if (number) {
        put_uint(out, in->form.number);
        text_str(out, number + 1);
    }
    for (int i = 0; i < MODS_MOST && in->form.mods[i]; i++) {
        text_char(out, '.');
        text_str(out, mod_info[in->form.mods[i]].text);
    }
    const uint8_t types[] = {in->form.type, in->form.from};
    for (int i = 0; i < 2; i++)
        if (types[i] != PT_none) {
            text_char(out, '.');
            text_str(out, ptype_info[types[i]].word);
        }
    put_opnds(e, in);
    text_str(out, ";\n");
}

/* Returns an array that says for each block whether it is the target of a jump. */
static const bool *find_labels(const struct mir *m)
{
    bool *labels = NEW_ARRAY(m->arena, m->blocks.n + 1, bool);
    for (int b = 0; b < m->blocks.n; b++)
        for (int i = 0; i < m->blocks.at[b]->insns.n; i++)
            if (m->blocks.at[b]->insns.at[i]->form.code == INSN_bra)
                labels[m->blocks.at[b]->insns.at[i]->opnds[0].n] = true;
    return labels;
}

static bool same_place(struct loc a, struct loc b)
{
    return a.file == b.file && a.line == b.line && a.col == b.col;
}

static void put_op_comment(const struct emitter *e, const struct op *o)
{
    struct text t;
    text_init(&t, e->m->arena);
    op_print(o, &t);
    while (t.len && t.s[t.len - 1] == '\n')
        t.len--;
    text_str(e->out, "\t// ");
    text_bytes(e->out, t.s, t.len);
    text_char(e->out, '\n');
}

static void put_body(const struct emitter *e)
{
    struct loc last = {0};
    const struct op *last_op = NULL;
    const bool *labels = find_labels(e->m);
    for (int b = 0; b < e->m->blocks.n; b++) {
        if (labels[b]) {
            put_label(e->out, b);
            text_str(e->out, ":\n");
        }
        for (int i = 0; i < e->m->blocks.at[b]->insns.n; i++) {
            const struct insn *in = e->m->blocks.at[b]->insns.at[i];
            if (e->o->verbose && in->op && in->op != last_op)
                put_op_comment(e, last_op = in->op);
            if (e->o->debug_loc && in->loc.line && !same_place(in->loc, last))
                put_loc(e, in), last = in->loc;
            put_insn(e, in);
        }
    }
}

/* -- the module -- */

static int version_of(const struct mir *m)
{
    int version = m->func->target->ptx_version;
    for (int b = 0; b < m->blocks.n; b++)
        for (int i = 0; i < m->blocks.at[b]->insns.n; i++) {
            const struct form *f = &m->blocks.at[b]->insns.at[i]->form;
            int needs[3 + MODS_MOST] = {insn_info[f->code].ptx, ptype_info[f->type].ptx,
                                        ptype_info[f->from].ptx};
            for (int k = 0; k < MODS_MOST && f->mods[k]; k++)
                needs[3 + k] = mod_info[f->mods[k]].ptx;
            for (int k = 0; k < 3 + MODS_MOST; k++)
                version = needs[k] > version ? needs[k] : version;
        }
    return version;
}

/* Prints the last component of a path; '_' replaces each character that a PTX string cannot contain. */
static void put_base_name(struct text *out, const char *path)
{
    const char *slash = strrchr(path, '/');
    for (const char *p = slash ? slash + 1 : path; *p; p++)
        text_char(out, *p == '"' || *p == '\\' || (unsigned char)*p < ' ' ? '_' : *p);
}

/* Declares the files to which .loc lines refer, with the numbers that these lines contain. */
static void put_files(const struct emitter *e)
{
    const struct diag *d = e->m->func->module->diag;
    bool *is_used = NEW_ARRAY(e->m->arena, d->sources.n + 1, bool);
    for (int b = 0; b < e->m->blocks.n; b++)
        for (int i = 0; i < e->m->blocks.at[b]->insns.n; i++) {
            const struct loc *l = &e->m->blocks.at[b]->insns.at[i]->loc;
            if (l->line && l->file < d->sources.n)
                is_used[l->file] = true;
        }
    for (int i = 0; i < d->sources.n; i++) {
        if (!is_used[i])
            continue;
        text_printf(e->out, ".file\t%d \"", i + 1);
        put_base_name(e->out, d->sources.at[i]->name);
        text_str(e->out, "\"\n");
    }
}

static void put_texts(const struct emitter *e)
{
    if (e->m->texts.n)
        text_str(e->out,
                 ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
                 ".extern .func __assertfail (.param .b64 t, .param .b64 f, .param .b32 l, .param .b64 n, "
                 ".param .b64 c);\n");
    for (int i = 0; i < e->m->texts.n; i++) {
        const char *s = e->m->texts.at[i];
        text_printf(e->out, ".global .align 1 .b8 $text%d[%d] = {", i, (int)strlen(s) + 1);
        for (; *s; s++)
            text_printf(e->out, "%d, ", (unsigned char)*s);
        text_str(e->out, "0};\n");
    }
}

static const char *param_type(const struct type *t)
{
    if (t->kind == TY_ptr)
        return "u64";
    switch (8 * dtype_info[t->dtype].bytes) {
    case 8: return "u8";
    case 16: return "b16";
    case 32: return t->dtype == DT_f32 ? "f32" : "u32";
    default: return t->dtype == DT_f64 ? "f64" : "u64";
    }
}

const char *ptx_param_name(const void *info, int64_t i)
{
    return ((const struct ptx_info *)info)->params.at[i].name;
}

/* Prints the guards, expressions of the arguments that must be at least 0, as comments, unless the kernel has
 * tensor maps. The comments are for users who launch this PTX without neso. Such a user would notice a
 * missing tensor map, but not an argument that violates a guard. */
static void put_guards(const struct emitter *e, const struct ptx_info *info)
{
    for (int i = 0; i < info->nguards && !info->nmaps; i++) {
        text_str(e->out, "// only for launches where this is at least 0: ");
        expr_print(&info->guards[i], e->out, ptx_param_name, info);
        text_char(e->out, '\n');
    }
}

static void put_signature(const struct emitter *e, const struct ptx_info *info)
{
    if (e->m->func->deterministic)
        text_str(
            e->out,
            "// deterministic: no sum depends on the grid, on the number of warps, or on what the launch "
            "promises about its arguments\n");
    if (e->m->func->fp_reassoc)
        text_str(e->out,
                 "// fp_reassoc: floats may be rounded as by other associations of the same operations\n");
    text_printf(e->out, ".visible .entry %s(", e->m->func->name);
    for (int i = 0; i < info->params.n; i++) {
        text_printf(e->out, "%s\n\t.param .%s ", i ? "," : "", param_type(info->params.at[i].type));
        put_param(e, i);
    }
    int n = info->params.n;
    for (int axis = 0; axis < 3 && info->persistent; axis++) {
        text_printf(e->out, "%s\n\t.param .u32 ", n ? "," : "");
        put_param(e, n++);
    }
    for (int i = 0; i < info->nmaps; i++) {
        text_printf(e->out, "%s\n\t.param .align 64 .b8 ", i + n ? "," : "");
        put_param(e, n + i);
        text_printf(e->out, "[%d]", MAP_BYTES);
    }
    text_printf(e->out, "\n)\n.maxntid %d, 1, 1\n", e->m->nthreads);
    if (e->m->ctas)
        text_printf(e->out, ".minnctapersm %d\n", e->m->ctas);
    if (e->m->regs_most)
        text_printf(e->out, ".maxnreg %d\n", e->m->regs_most);
}

static void put_registers(const struct emitter *e)
{
    for (int c = 0; c < CLASS_count; c++)
        if (e->alloc && e->alloc->count[c])
            text_printf(e->out, "\t.reg .%s\t%s<%d>;\n", class_info[c].type, class_info[c].prefix,
                        e->alloc->count[c] + 1);
}

void emit_ptx(const struct mir *m, const struct allocation *alloc, const struct codegen_options *o,
              struct ptx_info *info, struct text *out)
{
    enum { VECTOR_BYTES = 16, SWIZZLE_BYTES = 1024 };
    struct emitter e = {m, alloc, o, out};
    info->ptx_version = version_of(m);
    text_printf(out, ".version %d.%d\n.target %s\n.address_size 64\n", info->ptx_version / 10,
                info->ptx_version % 10, m->func->target->name);
    if (o->debug_loc)
        put_files(&e);
    if (info->shared_bytes)
        text_printf(out, ".extern .shared .align %d .b8 $smem[];\n",
                    info->shared_bytes < SWIZZLE_BYTES ? VECTOR_BYTES : SWIZZLE_BYTES);
    put_texts(&e);
    text_char(out, '\n');
    put_guards(&e, info);
    put_signature(&e, info);
    text_str(out, "{\n");
    if (m->local_bytes)
        text_printf(out, "\t.local .align 8 .b8 $local[%d];\n", m->local_bytes);
    put_registers(&e);
    put_body(&e);
    text_str(out, "}\n");
}
