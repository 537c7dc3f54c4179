/* SPDX-License-Identifier: MIT */
/* print.c: prints the IR as text. The text is complete: parse.c reads it back, and printing the parsed module
 * gives the same bytes.
 *
 *     kernel @max(%p: ptr<f32> {divisible=16 const} @1:9, %n: i32) warps=4 stages=3 target=sm_90a degree=traced {
 *       %offs = range start=0 end=512 : tile<512xi32> @3:12
 *       %x = load %q, _, %zero cache=cg : tile<512xf32> @4:9+7
 *       %m = reduce %x axis=0 : f32 @5:9 (%a: f32, %b: f32) {
 *         %max = max %a, %b : f32 @9:5/1
 *         yield %max
 *       }
 *       ...
 *     }
 *
 *   kernel  "kernel @" name "(" [param {"," param}] ")" {key "=" value} [place]
 *           "{" NL {map} {guard} {layout} {op} "}" NL
 *   param   "%" name ":" type ["{" ["divisible=" n] ["const"] ["unsigned"] "}"] [place]
 *   map     "map #m" n "=" dtype "base=" exprs "extents=" exprs "strides=" exprs "box=" list
 *           ["swizzle=" n] ["fill=nan"] NL
 *   guard   "guard" exprs NL
 *   exprs   "[" expr {"," expr} "]"
 *   expr    {"%" name | number | "grid" n | "+" | "-" | "*" | "/" | "rem" | "min" | "max"}
 *   layout  "layout #" name "=" (as layout_print) NL
 *   op      [values "="] name [operand {"," operand}] {key "=" value} [":" type {"," type}] [place] {region} NL
 *   region  "(" [value ":" type {...}] ")" "{" NL {op} "}"
 *   for     "for" value "=" value "to" value "step" value [carry] {key "=" value} [":" types] [place] "{" NL {op} "}"
 *   while   "while" [carry] [":" types] [place] "{" NL {op} "} do (" values ") {" NL {op} "}"
 *   if      "if" value [":" types] [place] "{" NL {op} "} else {" NL {op} "}"
 *   carry   "carry(" value "=" value {"," value "=" value} ")"
 *   place   "@" [file ":"] line ":" column ["+" length] ["/" call]
 *   operand value, or "_" for an absent operand;  value "%" name
 *   types   as type_print; layouts are named in order of first use
 *   values of attributes: 12   word   [1 2]   "text"   and for constants 1.5, 1e-06, -inf, or a float's bits 0x7fc00001
 *   comments run from // to the end of the line; each op begins on a new line */
#include "ir/ir.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct printer {
    struct text *out;
    struct map layouts; /* layouts and their names, in order of first use */
    int depth;
};

/* -- names of layouts -- */

static void name_layout(struct printer *p, const struct type *t)
{
    if (!t->layout || map_get_ptr(&p->layouts, t->layout))
        return;
    struct text name;
    text_init(&name, p->out->arena);
    text_printf(&name, "l%d", p->layouts.n);
    *map_at_ptr(&p->layouts, t->layout) = name.s;
}

static void name_layouts(struct printer *p, const struct block *b)
{
    for (int i = 0; i < b->args.n; i++)
        name_layout(p, b->args.at[i]->type);
    for (const struct op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->nresults; i++)
            name_layout(p, o->results[i].type);
        for (int i = 0; i < o->nregions; i++)
            name_layouts(p, o->regions[i]);
    }
}

/* -- pieces -- */

static void print_value(struct printer *p, const struct value *v)
{
    if (v)
        text_printf(p->out, "%%%s", v->name);
    else
        text_char(p->out, '_');
}

static void print_type(struct printer *p, const struct type *t)
{
    type_print(t, p->out, &p->layouts);
}

static void print_place(struct printer *p, struct loc at)
{
    if (!at.line)
        return;
    text_str(p->out, " @");
    if (at.file)
        text_printf(p->out, "%d:", at.file);
    text_printf(p->out, "%" PRIu32 ":%d", at.line, at.col);
    if (at.len)
        text_printf(p->out, "+%d", at.len);
    if (at.call)
        text_printf(p->out, "/%d", at.call);
}

/* Prints an integer as a decimal, and a float as a decimal that parses to the same bits. Prints a NaN, and
 * any float without such a decimal, as its bits. */
static void print_bits(struct printer *p, const struct type *t, int64_t value)
{
    if (!type_is_float(t)) {
        text_printf(p->out, "%" PRId64, value);
        return;
    }
    enum dtype dtype = type_elem(t)->dtype;
    double x = bits_to_double(dtype, (uint64_t)value);
    if (!isnan(x) && double_to_bits(dtype, x) == (uint64_t)value)
        text_double(p->out, x, dtype != DT_f64);
    else
        text_printf(p->out, "0x%" PRIx64, (uint64_t)value);
}

static void print_list(struct printer *p, const int *list, int n)
{
    text_char(p->out, '[');
    for (int i = 0; i < n; i++)
        text_printf(p->out, "%s%d", i ? " " : "", list[i]);
    text_char(p->out, ']');
}

static void print_attr(struct printer *p, const struct op *o, const struct attr *a)
{
    enum attr_kind kind = attr_info[a->key].kind;
    const char *const *words = attr_words(kind);
    text_printf(p->out, " %s=", attr_info[a->key].word);
    if (words)
        text_str(p->out, words[a->i]);
    else if (kind == ATTRK_bits && o->nresults)
        print_bits(p, o->results[0].type, a->i);
    else if (kind == ATTRK_list)
        print_list(p, a->list, a->n);
    else if (kind == ATTRK_str)
        text_quoted(p->out, a->s, a->n, '"');
    else
        text_printf(p->out, "%" PRId64, a->i);
}

static void print_attrs(struct printer *p, const struct op *o)
{
    for (int i = 0; i < o->nattrs; i++)
        print_attr(p, o, &o->attrs[i]);
}

/* Prints the part of an op that follows its operands: attributes, result types and location. */
static void print_tail(struct printer *p, const struct op *o)
{
    print_attrs(p, o);
    for (int i = 0; i < o->nresults; i++) {
        text_str(p->out, i ? ", " : " : ");
        print_type(p, o->results[i].type);
    }
    print_place(p, o->loc);
}

/* -- ops -- */

static void print_carry(struct printer *p, const struct op *o, int nfixed_opnds, int nfixed_args)
{
    const struct block *b = o->regions[0];
    for (int i = nfixed_opnds; i < o->nopnds; i++) {
        text_str(p->out, i == nfixed_opnds ? " carry(" : ", ");
        print_value(p, b->args.at[i - nfixed_opnds + nfixed_args]);
        text_str(p->out, " = ");
        print_value(p, o->opnds[i].value);
    }
    if (o->nopnds > nfixed_opnds)
        text_char(p->out, ')');
}

static void print_for(struct printer *p, const struct op *o)
{
    static const char *const words[] = {" = ", " to ", " step "};
    text_str(p->out, "for ");
    print_value(p, o->regions[0]->args.at[0]);
    for (int i = 0; i < 3; i++) {
        text_str(p->out, words[i]);
        print_value(p, o->opnds[i].value);
    }
    print_carry(p, o, 3, 1);
}

static void print_operands(struct printer *p, const struct op *o)
{
    text_str(p->out, op_info[o->code].name);
    for (int i = 0; i < o->nopnds; i++) {
        text_str(p->out, i ? ", " : " ");
        print_value(p, o->opnds[i].value);
    }
}

/* Returns whether the notation for control ops can express this op. A malformed control op prints in the general
 * form. */
static bool is_regular(const struct op *o)
{
    switch (o->code) {
    case OP_for: return o->nregions == 1 && o->nopnds >= 3 && o->regions[0]->args.n == o->nopnds - 2;
    case OP_while:
        return o->nregions == 2 && o->regions[0]->args.n == o->nopnds && o->regions[1]->args.n == o->nresults;
    case OP_if:
        return o->nregions == 2 && o->nopnds == 1 && o->regions[0]->args.n == 0 && o->regions[1]->args.n == 0;
    default: return false;
    }
}

/* Prints the first line of an op, up to its first region. */
static void print_head(struct printer *p, const struct op *o)
{
    for (int i = 0; i < o->nresults; i++) {
        print_value(p, &o->results[i]);
        text_str(p->out, i + 1 < o->nresults ? ", " : " = ");
    }
    if (o->code == OP_for && is_regular(o)) {
        print_for(p, o);
    } else if (o->code == OP_while && is_regular(o)) {
        text_str(p->out, "while");
        print_carry(p, o, 0, 0);
    } else {
        print_operands(p, o);
    }
    print_tail(p, o);
}

static void indent(struct printer *p)
{
    for (int i = 0; i < p->depth; i++)
        text_str(p->out, "  ");
}

static void print_ops(struct printer *p, const struct block *b);

static void print_block(struct printer *p, const struct block *b)
{
    text_str(p->out, " {\n");
    p->depth++;
    print_ops(p, b);
    p->depth--;
    indent(p);
    text_char(p->out, '}');
}

static void print_args(struct printer *p, const struct block *b, bool typed)
{
    text_str(p->out, " (");
    for (int i = 0; i < b->args.n; i++) {
        text_str(p->out, i ? ", " : "");
        print_value(p, b->args.at[i]);
        if (!typed)
            continue;
        text_str(p->out, ": ");
        print_type(p, b->args.at[i]->type);
    }
    text_char(p->out, ')');
}

static void print_regions(struct printer *p, const struct op *o)
{
    bool regular = is_regular(o);
    for (int i = 0; i < o->nregions; i++) {
        if (!regular)
            print_args(p, o->regions[i], true);
        else if (i == 1)
            text_str(p->out, o->code == OP_while ? " do" : " else");
        if (regular && i == 1 && o->code == OP_while)
            print_args(p, o->regions[i], false);
        print_block(p, o->regions[i]);
    }
}

static void print_ops(struct printer *p, const struct block *b)
{
    for (const struct op *o = b->first; o; o = o->next) {
        indent(p);
        print_head(p, o);
        print_regions(p, o);
        text_char(p->out, '\n');
    }
}

void op_print(const struct op *o, struct text *out)
{
    struct printer p = {.out = out};
    map_init(&p.layouts, out->arena);
    print_head(&p, o);
}

/* -- kernels -- */

static void print_param(struct printer *p, const struct param *x, const struct value *v)
{
    print_value(p, v);
    text_str(p->out, ": ");
    print_type(p, v->type);
    const char *space = "";
    if (x->divisible > 1 || x->is_const || x->is_unsigned)
        text_str(p->out, " {");
    if (x->divisible > 1) {
        text_printf(p->out, "divisible=%d", x->divisible);
        space = " ";
    }
    if (x->is_const) {
        text_printf(p->out, "%sconst", space);
        space = " ";
    }
    if (x->is_unsigned)
        text_printf(p->out, "%sunsigned", space);
    if (x->divisible > 1 || x->is_const || x->is_unsigned)
        text_char(p->out, '}');
    print_place(p, x->loc);
}

static void print_header(struct printer *p, const struct func *f)
{
    static const char *const degrees[] = {"traced", "laid_out", "scheduled"};
    text_printf(p->out, "kernel @%s(", f->name);
    for (int i = 0; i < f->params.n; i++) {
        text_str(p->out, i ? ", " : "");
        print_param(p, &f->params.at[i], f->body->args.at[i]);
    }
    text_printf(p->out, ") warps=%d stages=%d", f->num_warps, f->num_stages);
    if (f->extra_warps)
        text_printf(p->out, " extra=%d", f->extra_warps);
    if (f->persistent)
        text_printf(p->out, " persistent=%d", f->persistent);
    if (f->turned)
        text_str(p->out, " turned=1");
    if (f->packs)
        text_printf(p->out, " packs=%d", f->packs);
    if (f->pair_multiple)
        text_printf(p->out, " pairs=%d", f->pair_multiple);
    if (f->num_ctas != 1)
        text_printf(p->out, " ctas=%d", f->num_ctas);
    if (f->maxnreg)
        text_printf(p->out, " maxnreg=%d", f->maxnreg);
    if (!f->fp_fusion)
        text_str(p->out, " fp_fusion=0");
    if (f->deterministic)
        text_str(p->out, " deterministic=1");
    if (f->fp_reassoc)
        text_str(p->out, " fp_reassoc=1");
    if (f->target)
        text_printf(p->out, " target=%s", f->target->name);
    text_printf(p->out, " degree=%s", degrees[f->degree]);
    if (f->shared_bytes)
        text_printf(p->out, " shared=%d", f->shared_bytes);
    print_place(p, f->loc);
}

static const char *param_name(const void *ctx, int64_t i)
{
    const struct func *f = ctx;
    struct text t;
    text_init(&t, f->module->scratch);
    text_printf(&t, "%%%s", f->body->args.at[i]->name);
    return t.s;
}

static void print_exprs(struct printer *p, const struct func *f, const char *word, const struct expr *e,
                        int n)
{
    text_printf(p->out, " %s[", word);
    for (int i = 0; i < n; i++) {
        text_str(p->out, i ? ", " : "");
        expr_print(&e[i], p->out, param_name, f);
    }
    text_char(p->out, ']');
}

static void print_plan(struct printer *p, const struct func *f)
{
    for (int i = 0; i < f->maps.n; i++) {
        const struct tensor_map *m = &f->maps.at[i];
        text_printf(p->out, "  map #m%d = %s", i, dtype_info[m->dtype].word);
        print_exprs(p, f, "base=", &m->base, 1);
        print_exprs(p, f, "extents=", m->extents, m->rank);
        print_exprs(p, f, "strides=", m->strides, m->rank);
        text_str(p->out, " box=");
        print_list(p, m->box, m->rank);
        if (m->swizzle)
            text_printf(p->out, " swizzle=%d", m->swizzle);
        text_str(p->out, m->nan ? " fill=nan\n" : "\n");
    }
    for (int i = 0; i < f->guards.n; i++) {
        text_str(p->out, " ");
        print_exprs(p, f, "guard ", &f->guards.at[i], 1);
        text_char(p->out, '\n');
    }
}

static void print_layouts(struct printer *p)
{
    for (int i = 0; i < p->layouts.n; i++) {
        text_printf(p->out, "  layout #%s = ", (const char *)p->layouts.entries[i].value);
        layout_print(p->layouts.entries[i].key, p->out);
        text_char(p->out, '\n');
    }
}

void func_print(const struct func *f, struct text *out)
{
    struct printer p = {.out = out};
    map_init(&p.layouts, out->arena);
    name_layouts(&p, f->body);
    print_header(&p, f);
    text_str(out, " {\n");
    print_plan(&p, f);
    print_layouts(&p);
    p.depth = 1;
    print_ops(&p, f->body);
    text_str(out, "}\n");
}

void module_print(const struct module *m, struct text *out)
{
    for (int i = 0; i < m->funcs.n; i++) {
        text_str(out, i ? "\n" : "");
        func_print(m->funcs.at[i], out);
    }
}
