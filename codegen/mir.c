/* SPDX-License-Identifier: MIT */
/* mir.c: defines the tables of machine IR, and builds machine IR (see mir.h). */
#include "codegen/mir.h"

#include <string.h>

const struct class_info class_info[CLASS_count] = {
#define CLASS(word, prefix, type, bits, regs) {prefix, type, bits, regs},
#include "codegen/insns.h"
#undef CLASS
};

const struct ptype_info ptype_info[PT_count] = {
#define PTYPE(word, cls, bits, kind, ptx) {#word, CLASS_##cls, bits, KIND_##kind, ptx},
#include "codegen/insns.h"
#undef PTYPE
};

const struct mod_info mod_info[MOD_count] = {
    [MOD_none] = {"", 0},
#define MOD(word, text, ptx) [MOD_##word] = {text, ptx},
#include "codegen/insns.h"
#undef MOD
};

const struct insn_info insn_info[INSN_count] = {
#define INSN(name, mnemonic, operands, result, traits, ptx, latency, counts, overflow, undefined, meaning)   \
    {#name, mnemonic, operands,        LATENCY_##latency, UNDEFINED_##undefined, OVERFLOW_##overflow,        \
     ptx,   traits,   RESULT_##result, COUNTS_##counts},
#include "codegen/insns.h"
#undef INSN
};
const char *const special_names[SPECIAL_count] = {
    "%tid.x",       "%tid.y",        "%ctaid.x", "%ctaid.y",     "%ctaid.z",         "%nctaid.x",
    "%nctaid.y",    "%nctaid.z",     "%ntid.x",  "%laneid",      "%cluster_ctarank", "%cluster_nctarank",
    "%clusterid.x", "%nclusterid.x", "%smid",    "%globaltimer",
};

struct mir *mir_new(struct func *f, struct arena *a)
{
    struct mir *m = NEW(a, struct mir);
    m->arena = a;
    m->func = f;
    m->nthreads = 32 * (f->packs ? f->packs : f->num_warps + f->extra_warps);
    return m;
}

struct mblock *mir_block(struct mir *m, int dominator, int depth)
{
    struct mblock *b = NEW(m->arena, struct mblock);
    b->index = m->blocks.n;
    b->dominator = dominator;
    b->depth = depth;
    VEC_PUSH(m->arena, &m->blocks, b);
    return b;
}

struct opnd mir_reg(struct mir *m, enum reg_class cls)
{
    VEC_PUSH(m->arena, &m->regs, (uint8_t)cls);
    return (struct opnd){.kind = OPND_reg, .cls = (uint8_t)cls, .n = m->regs.n - 1};
}

struct insn *mir_append(struct mir *m, struct mblock *b, struct form form, int ndefs, int nopnds,
                        const struct opnd *opnds)
{
    struct insn *in = NEW(m->arena, struct insn);
    in->form = form;
    in->ndefs = (uint8_t)ndefs;
    in->nopnds = (uint8_t)nopnds;
    in->guard = -1;
    in->opnds = NEW_ARRAY(m->arena, nopnds ? nopnds : 1, struct opnd);
    if (nopnds)
        memcpy(in->opnds, opnds, (size_t)nopnds * sizeof *opnds);
    VEC_PUSH(m->arena, &b->insns, in);
    return in;
}

static enum reg_class wide_class(enum reg_class cls)
{
    return cls == CLASS_b16 ? CLASS_b32 : CLASS_b64;
}

enum reg_class form_class(struct form form)
{
    enum reg_class own = ptype_info[form.type].cls;
    switch (insn_info[form.code].result) {
    case RESULT_pred: return CLASS_pred;
    case RESULT_wide: return wide_class(own);
    case RESULT_own:
    case RESULT_none: return own;
    }
    return own;
}

struct form form_mov(enum reg_class cls)
{
    static const uint8_t types[CLASS_count] = {
        [CLASS_pred] = PT_pred, [CLASS_b16] = PT_b16, [CLASS_b32] = PT_b32,
        [CLASS_b64] = PT_b64,   [CLASS_f32] = PT_f32, [CLASS_f64] = PT_f64,
    };
    return (struct form){.code = INSN_mov, .type = types[cls]};
}

static const char *skip_alnum(const char *s)
{
    while ((*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'z'))
        s++;
    return s;
}

const char *insn_word(const char *s, struct insn_word *w)
{
    *w = (struct insn_word){0};
    if (!*s)
        return NULL;
    w->drops = s[0] == '_' && s[1] == '|';
    s += w->drops ? 2 : 0;
    bool brackets = *s == '[', braces = *s == '{';
    s += brackets || braces;
    char mark = *s == '%' || *s == '#' || *s == '&' ? *s++ : 0;
    const char *name = w->name = s;
    bool is_result = name[0] == 'd' && !(name[1] >= 'a' && name[1] <= 'z');
    w->kind = brackets       ? name[1] == '{' ? WORD_map : WORD_address
              : *name == '_' ? WORD_nothing
              : mark == '%'  ? WORD_register
              : mark == '#'  ? WORD_constant
              : mark == '&'  ? WORD_place
              : is_result    ? WORD_result
                             : WORD_value;
    while (*s >= 'a' && *s <= 'z')
        s++;
    if (braces)
        w->vector = *s >= '0' && *s <= '9' ? *s - '0' : VECTOR_as_written;
    s += strcspn(s, ":|? ");
    if (*s == ':') {
        w->type = s + 1;
        s = skip_alnum(s + 1);
        s += strspn(s, "}]");
    }
    w->optional = *s == '?';
    w->other = *s == '|' ? s + 1 : NULL;
    s += strcspn(s, " ");
    return s + (*s == ' ');
}

int insn_word_opnds(const struct insn_word *w, int nvec)
{
    int n = w->vector == VECTOR_as_written ? nvec : w->vector;
    return n ? n : 1;
}

/* Returns the kind of operand k of a row of insns.h. If the row does not state the number of a vector's elements, the
 * vector has nvec elements. */
static enum word_kind kind_of(const char *row, int k, int nvec)
{
    struct insn_word w;
    while ((row = insn_word(row, &w)))
        if (w.kind != WORD_nothing && (k -= insn_word_opnds(&w, nvec)) < 0)
            return w.kind;
    return WORD_value;
}

/* A cvt reads an operand of type form.from. Operands of a pack must be registers, because the peephole searches for
 * their definitions. */
bool form_takes_imm(struct form form, int k, int nvec)
{
    enum ptype t = form.from != PT_none ? form.from : form.type;
    const char *row = insn_info[form.code].operands;
    if (form.code == INSN_pack || form.code == INSN_asm || insn_info[form.code].traits & TIED ||
        (strchr(row, '%') && kind_of(row, k, nvec) == WORD_register))
        return false;
    return t != PT_f16 && t != PT_bf16 && t != PT_f16x2 && t != PT_bf16x2 && t != PT_e4m3x2 && t != PT_e5m2x2;
}

struct opnd opnd_int(enum reg_class cls, int64_t i)
{
    return (struct opnd){.kind = OPND_imm, .cls = (uint8_t)cls, .i = i};
}

struct opnd opnd_as(enum reg_class cls, struct opnd x)
{
    int unused = 64 - class_info[cls].bits;
    uint64_t top = (uint64_t)x.i << unused;
    bool is_integer = cls == CLASS_b16 || cls == CLASS_b32 || cls == CLASS_b64;
    return opnd_int(cls, !is_integer ? (int64_t)(top >> unused) : (int64_t)top >> unused);
}

bool opnd_same(struct opnd a, struct opnd b)
{
    return a.kind == b.kind && a.cls == b.cls && a.n == b.n && a.i == b.i;
}

bool opnd_is_imm(struct opnd o, int64_t i)
{
    return o.kind == OPND_imm && o.i == i;
}

int mblock_successors(const struct mir *m, const struct mblock *b, int successors[2])
{
    int n = 0;
    bool falls_through = true;
    for (int i = 0; i < b->insns.n; i++) {
        const struct insn *in = b->insns.at[i];
        if (in->form.code == INSN_bra)
            successors[n++] = in->opnds[0].n;
        if (insn_has(in, TERMINATOR) && in->guard < 0)
            falls_through = false;
    }
    if (falls_through && b->index + 1 < m->blocks.n)
        successors[n++] = b->index + 1;
    return n;
}

bool mir_any(const struct mir *m, bool (*holds)(const struct insn *in))
{
    for (int b = 0; b < m->blocks.n; b++)
        for (int i = 0; i < m->blocks.at[b]->insns.n; i++)
            if (holds(m->blocks.at[b]->insns.at[i]))
                return true;
    return false;
}
