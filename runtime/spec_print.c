/* SPDX-License-Identifier: MIT */
/* spec_print.c: prints a specialization as a signature that signature.c reads, and makes the specialization's
 * id. In this example, a is a tensor descriptor, which becomes several arguments; the last ones are its
 * block_shape (64, 32) and its padding (0):
 *
 *     arguments of a launch                                   signature
 *     X=*fp32:16, n=i32:16, BLOCK=256                         *fp32:16, i32:16, 256
 *     a=*fp16:16, a_shape_0=i32, a_shape_1=i32:16,            tensordesc<fp16[64, 32], - 16 16>
 *     a_strides_0=i32:16, a_strides_1=1, 64, 32, 0 */
#include "frontend/python/python.h"
#include "frontend/trace/lang.h"
#include "runtime/runtime.h"

#include <inttypes.h>
#include <string.h>

static void dtype_text(enum dtype t, bool is_unsigned, struct text *out)
{
    if (dtype_info[t].kind == DTYPE_int)
        text_printf(out, "%c%d", is_unsigned && t != DT_i1 ? 'u' : 'i', dtype_info[t].bits);
    else
        text_str(out, dtype_info[t].name);
}

static void type_text(const struct lang_type *t, struct text *out)
{
    if (t->kind == LT_ptr) {
        text_str(out, t->is_const ? "*k" : "*");
        type_text(t->elem, out);
    } else {
        dtype_text(t->dtype, t->is_unsigned, out);
    }
}

static void ir_type_text(const struct type *t, bool is_unsigned, struct text *out)
{
    if (t->kind == TY_ptr) {
        text_char(out, '*');
        ir_type_text(t->elem, is_unsigned, out);
    } else {
        dtype_text(t->dtype, is_unsigned, out);
    }
}

static struct neso_param param_of(struct neso_kernel *k, const struct spec_arg *a)
{
    struct text t;
    text_init(&t, &k->arena);
    type_text(a->type, &t);
    int bytes = a->type->kind == LT_ptr ? 8 : dtype_info[a->type->dtype].bytes;
    return (struct neso_param){.size = sizeof(struct neso_param),
                               .name = a->name,
                               .type = t.s,
                               .bytes = bytes,
                               .divisible = a->divisible,
                               .equals_one = a->equals_one};
}

static struct neso_param ir_param_of(struct neso_kernel *k, const struct func *f, int i)
{
    const struct type *type = f->body->args.at[i]->type;
    const struct param *p = &f->params.at[i];
    struct text t;
    text_init(&t, &k->arena);
    ir_type_text(type, p->is_unsigned, &t);
    return (struct neso_param){.size = sizeof(struct neso_param),
                               .name = p->name,
                               .type = t.s,
                               .bytes = type_elem_bytes(type),
                               .divisible = p->divisible % 16 == 0 ? 16 : 1};
}

void spec_print(struct neso_kernel *k, struct text *out)
{
    const struct spec *s = &k->spec;
    text_str(out, "");
    for (int i = 0; i < s->nargs + s->nmeta; i++) {
        const struct spec_arg *a = i < s->nargs ? &s->args[i] : NULL;
        int meta = i - s->nargs;
        text_printf(out, "%s%s=", i ? ", " : "", a ? a->name : s->meta_names[meta]);
        if (a && a->type)
            type_text(a->type, out);
        if (a && a->type && a->is_const)
            text_char(out, ':');
        if (!a || a->is_const)
            obj_print(&k->module->eval, a ? a->value : s->meta_values[meta], out, true);
        if (a && a->divisible > 1)
            text_printf(out, ":%d", a->divisible);
    }
}

/* The following functions print a specialization as a signature. They return false if no signature can
 * describe the specialization. */

/* Prints a constant as a Python expression: a type as tl.dtype('...'), any other value as its repr. */
static bool put_constant(struct neso_kernel *k, struct obj *x, struct text *out)
{
    bool is_type = x->kind == OBJ_type;
    if (x->kind > OBJ_tuple && !is_type)
        return false;
    text_str(out, is_type ? "tl.dtype('" : "");
    obj_print(&k->module->eval, x, out, true);
    text_str(out, is_type ? "')" : "");
    return !x->class_of || x->kind != OBJ_tuple;
}

static bool put_argument(struct neso_kernel *k, const struct spec_arg *a, struct text *out)
{
    if (a->is_const && !a->equals_one)
        return put_constant(k, a->value, out);
    type_text(a->type, out);
    text_str(out, a->equals_one ? ":1" : a->divisible == 16 ? ":16" : "");
    return true;
}

static bool is_one(const struct spec_arg *a)
{
    int64_t n;
    return a->equals_one || (a->is_const && a->value && obj_as_int(a->value, &n) && n == 1);
}

/* Prints a descriptor. Its arguments begin at number *at: an address, sizes, strides (the last is 1), the
 * block's shape, the padding. Moves *at past them. */
static bool put_descriptor(struct neso_kernel *k, int rank, int *at, struct text *out)
{
    const struct spec_arg *base = &k->spec.args[*at], *sizes = base + 1, *block = sizes + 2 * rank,
                          *padding = block + rank;
    if (*at + 3 * rank + 2 > k->spec.nargs || base->is_const || base->type->is_const ||
        base->divisible != 16 || !is_one(&sizes[2 * rank - 1]))
        return false;
    int ndivisible = 0;
    for (int i = 0; i < 2 * rank - 1; i++) {
        if (sizes[i].is_const || sizes[i].type->dtype != DT_i32)
            return false;
        ndivisible += sizes[i].divisible == 16;
    }
    text_str(out, "tensordesc<");
    type_text(base->type->elem, out);
    for (int i = 0; i < rank; i++) {
        text_str(out, i ? ", " : "[");
        obj_print(&k->module->eval, block[i].value, out, true);
    }
    text_str(out, padding->value->kind == OBJ_float ? "], nan" : "]");
    bool is_mixed = ndivisible > 0 && ndivisible < 2 * rank - 1;
    for (int i = 0; i < 2 * rank - 1 && is_mixed; i++)
        text_printf(out, "%s %s", i ? "" : ",", sizes[i].divisible == 16 ? "16" : "-");
    text_str(out, ndivisible && !is_mixed ? ">:16" : ">");
    *at += 3 * rank + 2;
    return true;
}

/* Prints the arguments of one parameter, which begin at number *at, and moves *at past them. `tree` is the
 * tuple that was passed; NULL: a single argument was passed. */
static bool put_arguments(struct neso_kernel *k, const struct obj *tree, int *at, struct text *out)
{
    if (!tree || tree->kind != OBJ_tuple)
        return *at < k->spec.nargs && put_argument(k, &k->spec.args[(*at)++], out);
    if (is_box(tree))
        return put_descriptor(k, tree->seq.at[1]->seq.n, at, out);
    bool good = !tree->class_of;
    text_char(out, '(');
    for (int i = 0; i < tree->seq.n && good; i++) {
        text_str(out, i ? ", " : "");
        good = put_arguments(k, tree->seq.at[i], at, out);
    }
    text_str(out, tree->seq.n == 1 ? ",)" : ")");
    return good;
}

bool signature_print(struct neso_kernel *k, struct text *out)
{
    const struct spec *s = &k->spec;
    bool good = k->jit != NULL;
    int at = 0;
    for (int i = 0; at < s->nargs && good; i++) {
        text_str(out, i ? ", " : "");
        good = put_arguments(k, s->parts ? s->parts[i] : NULL, &at, out);
    }
    for (int i = 0; i < s->nmeta && good; i++) {
        text_printf(out, "%s%s=", s->nargs || i ? ", " : "", s->meta_names[i]);
        good = put_constant(k, s->meta_values[i], out);
    }
    return good;
}

/* Appends the text that distinguishes this specialization from the other specializations of its jit function. */
static void key_text(struct neso_kernel *k, struct text *out)
{
    const struct spec *s = &k->spec;
    text_printf(out, "%s|", k->name);
    spec_print(k, out);
    text_printf(out, "|%d|%d|%d|%d|%d|%d|%d|%d|%s", s->num_warps, s->num_stages, s->num_ctas, s->maxnreg,
                s->fp_fusion, s->deterministic, s->fp_reassoc, s->debug, s->target ? s->target->name : "");
}

void kernel_describe(struct neso_kernel *k, const struct func *f)
{
    int most = k->jit ? k->spec.nargs : f->params.n;
    k->params = NEW_ARRAY(&k->arena, most, struct neso_param);
    for (int i = 0; i < most; i++) {
        if (!k->jit)
            k->params[k->nparams++] = ir_param_of(k, f, i);
        else if (k->spec.args[i].type)
            k->params[k->nparams++] = param_of(k, &k->spec.args[i]);
    }
    struct text key, id;
    text_init(&key, &k->scratch);
    text_init(&id, &k->arena);
    key_text(k, &key);
    text_printf(&id, "%s-%016" PRIx64, k->name, hash_bytes(key.s, key.len, 0));
    k->id = id.s;
}
