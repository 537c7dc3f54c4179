/* SPDX-License-Identifier: MIT */
/* build.c: creates and changes ops. Only functions of this file link and unlink ops, operands and blocks. So the
 * fields of a value (uses, name, defining op, index) always agree with the ops that define and use it. A value's
 * list of uses contains exactly the operands that refer to the value, in any order. */
#include "ir/ir.h"

#include <stdlib.h>
#include <string.h>

static struct module *module_of(const struct block *b)
{
    return b->func->module;
}

/* -- uses -- */

static void unlink_use(struct use *u)
{
    if (!u->value)
        return;
    *u->prev = u->next;
    if (u->next)
        u->next->prev = u->prev;
    u->value = NULL;
}

static void link_use(struct use *u, struct op *user, struct value *v)
{
    *u = (struct use){.value = v, .user = user};
    if (!v)
        return;
    u->next = v->uses;
    u->prev = &v->uses;
    if (u->next)
        u->next->prev = &u->next;
    v->uses = u;
}

struct value *op_opnd(const struct op *o, int i)
{
    return i < o->nopnds ? o->opnds[i].value : NULL;
}

struct value *op_result(const struct op *o)
{
    return &o->results[0];
}

void op_set_opnd(struct op *o, int i, struct value *v)
{
    unlink_use(&o->opnds[i]);
    link_use(&o->opnds[i], o, v);
}

void op_set_opnds(struct op *o, int n, struct value *const *opnds)
{
    struct use *uses = NEW_ARRAY(module_of(o->block)->arena, n, struct use);
    for (int i = 0; i < n; i++)
        link_use(&uses[i], o, opnds[i]);
    for (int i = 0; i < o->nopnds; i++)
        unlink_use(&o->opnds[i]);
    o->opnds = uses;
    o->nopnds = n;
}

void value_replace(struct value *old, struct value *with)
{
    if (old == with)
        return;
    while (old->uses) {
        struct use *u = old->uses;
        struct op *user = u->user;
        unlink_use(u);
        link_use(u, user, with);
    }
}

void value_set_type(struct value *v, const struct type *t)
{
    v->type = t;
}

/* -- names: a base and a number (x, x.1, x.2); func.names maps each base to its next free number -- */

struct name {
    size_t base_bytes;
    uintptr_t number;
};

/* Splits a name into base and number: x.1 into x and 1. A suffix that neso itself would not print (.007, .0)
 * belongs to the base. */
static struct name split_name(const char *s, size_t n)
{
    size_t dot = n;
    while (dot > 0 && s[dot - 1] >= '0' && s[dot - 1] <= '9')
        dot--;
    size_t ndigits = n - dot;
    if (dot < 2 || s[dot - 1] != '.' || ndigits == 0 || ndigits > 8 || s[dot] == '0')
        return (struct name){n, 0};
    return (struct name){dot - 1, (uintptr_t)strtol(s + dot, NULL, 10)};
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || ((unsigned char)c & 0x80);
}

const char *func_name_value(struct func *f, const char *hint)
{
    size_t n = strlen(hint);
    n = n ? split_name(hint, n).base_bytes : 0;
    struct text name;
    text_init(&name, f->module->arena);
    for (size_t i = 0; i < n; i++)
        text_char(&name, is_name_char(hint[i]) ? hint[i] : '_');
    if (n == 0)
        text_char(&name, '_');
    void **next = map_at(&f->names, name.s, name.len);
    uintptr_t number = (uintptr_t)*next;
    *next = (void *)(number + 1);
    if (number)
        text_printf(&name, ".%d", (int)number);
    return name.s;
}

/* If the name s has the highest number of all names with its base, makes this number free again, so that
 * renaming a new value leaves no gap in the numbers. */
static void release_name(struct func *f, const char *s)
{
    struct name x = split_name(s, strlen(s));
    void **next = map_get(&f->names, s, x.base_bytes);
    if (next && (uintptr_t)*next == x.number + 1)
        *next = (void *)x.number;
}

void value_rename(struct value *v, const char *hint)
{
    struct func *f = v->block->func;
    if (v->name)
        release_name(f, v->name);
    v->name = func_name_value(f, hint);
}

void value_take_name(struct value *v, const struct value *old)
{
    if (v->name)
        release_name(v->block->func, v->name);
    v->name = old->name;
}

void value_set_name(struct value *v, const char *name)
{
    struct func *f = v->block->func;
    if (v->name)
        release_name(f, v->name);
    struct name x = split_name(name, strlen(name));
    v->name = intern_str(&f->module->strings, name);
    void **next = map_at(&f->names, v->name, x.base_bytes);
    if (x.number >= (uintptr_t)*next)
        *next = (void *)(x.number + 1);
}

/* -- functions and blocks -- */

struct func *func_new(struct module *m, const char *name)
{
    struct func *f = NEW(m->arena, struct func);
    f->module = m;
    f->name = intern_str(&m->strings, name);
    f->num_warps = 4;
    f->num_stages = 3;
    f->num_ctas = 1;
    f->fp_fusion = true;
    map_init(&f->names, m->arena);
    f->body = block_new(f, NULL);
    VEC_PUSH(m->arena, &m->funcs, f);
    return f;
}

struct value *func_add_param(struct func *f, const struct type *t, struct param p)
{
    struct value *v = block_add_arg(f->body, t, p.name);
    p.name = v->name;
    p.divisible = p.divisible ? p.divisible : 1;
    VEC_PUSH(f->module->arena, &f->params, p);
    return v;
}

struct block *block_new(struct func *f, struct op *parent)
{
    struct block *b = NEW(f->module->arena, struct block);
    b->func = f;
    b->parent = parent;
    return b;
}

struct value *block_add_arg(struct block *b, const struct type *t, const char *hint)
{
    struct arena *a = module_of(b)->arena;
    struct value *v = NEW(a, struct value);
    v->type = t;
    v->block = b;
    v->index = b->args.n;
    v->name = func_name_value(b->func, hint);
    VEC_PUSH(a, &b->args, v);
    return v;
}

/* -- inserting ops -- */

static void insert(struct op *o, struct block *b, struct op *before)
{
    o->block = b;
    o->next = before;
    o->prev = before ? before->prev : b->last;
    *(o->prev ? &o->prev->next : &b->first) = o;
    *(o->next ? &o->next->prev : &b->last) = o;
    for (int i = 0; i < o->nresults; i++)
        o->results[i].block = b;
}

static void take_out(struct op *o)
{
    *(o->prev ? &o->prev->next : &o->block->first) = o->next;
    *(o->next ? &o->next->prev : &o->block->last) = o->prev;
    o->prev = o->next = NULL;
}

void op_move_before(struct op *o, struct op *before)
{
    if (o == before)
        return;
    take_out(o);
    insert(o, before->block, before);
}

void op_move_to_end(struct op *o, struct block *b)
{
    take_out(o);
    insert(o, b, NULL);
}

struct builder build_at_end(struct block *b, struct loc loc)
{
    return (struct builder){.func = b->func, .block = b, .loc = loc};
}

struct builder build_before(struct op *o)
{
    return (struct builder){.func = o->block->func, .block = o->block, .before = o, .loc = o->loc};
}

struct builder build_after(struct op *o)
{
    return (struct builder){.func = o->block->func, .block = o->block, .before = o->next, .loc = o->loc};
}

/* -- the general form -- */

static void count_op(struct module *m, struct loc at)
{
    if (++m->nops > m->ops_most && m->ops_most)
        diag_fatal(m->diag, at, ERR_ir_limit, m->ops_most);
    if (m->nops % 64 == 0)
        diag_hurry(m->diag, at);
}

/* Creates an op whose results have no types or names yet, and whose regions have no ops. */
static struct op *op_new(struct builder *b, enum opcode code, int nopnds, struct value *const *opnds,
                         int nresults, int nregions)
{
    struct arena *a = module_of(b->block)->arena;
    struct op *o = NEW(a, struct op);
    count_op(module_of(b->block), b->loc);
    o->code = code;
    o->loc = b->loc;
    o->nopnds = nopnds;
    o->opnds = NEW_ARRAY(a, nopnds, struct use);
    for (int i = 0; i < nopnds; i++)
        link_use(&o->opnds[i], o, opnds[i]);
    o->nresults = nresults;
    o->results = NEW_ARRAY(a, nresults, struct value);
    for (int i = 0; i < nresults; i++) {
        o->results[i].def = o;
        o->results[i].index = i;
    }
    o->nregions = nregions;
    o->regions = NEW_ARRAY(a, nregions, struct block *);
    for (int i = 0; i < nregions; i++)
        o->regions[i] = block_new(b->func, o);
    insert(o, b->block, b->before);
    return o;
}

static void name_results(struct op *o)
{
    for (int i = 0; i < o->nresults; i++)
        o->results[i].name = func_name_value(o->block->func, op_info[o->code].name);
}

struct op *build_op(struct builder *b, enum opcode code, int nopnds, struct value *const *opnds, int nresults,
                    const struct type *const *result_types, int nregions)
{
    struct op *o = op_new(b, code, nopnds, opnds, nresults, nregions);
    for (int i = 0; i < nresults; i++)
        o->results[i].type = result_types[i];
    name_results(o);
    return o;
}

/* Sets the result types that the op's rule infers. Reports an internal error if the rule rejects the op, or
 * if a result has no type then. */
static void infer_types(struct op *o)
{
    struct module *m = module_of(o->block);
    const struct type **types = NEW_ARRAY(m->arena, o->nresults, const struct type *);
    const char *wrong = op_info[o->code].rule(m, o, types);
    if (wrong)
        diag_bug(m->diag, o->loc, "built a wrong %s: %s", op_info[o->code].name, wrong);
    for (int i = 0; i < o->nresults; i++) {
        if (types[i])
            o->results[i].type = types[i];
        if (!o->results[i].type)
            diag_bug(m->diag, o->loc, "%s needs a result type", op_info[o->code].name);
    }
}

static struct value *finish(struct op *o)
{
    infer_types(o);
    name_results(o);
    return op_result(o);
}

/* -- attributes -- */

const struct attr *op_attr(const struct op *o, enum attr_key key)
{
    for (int i = 0; i < o->nattrs; i++)
        if (o->attrs[i].key == key)
            return &o->attrs[i];
    return NULL;
}

int64_t op_int(const struct op *o, enum attr_key key)
{
    const struct attr *a = op_attr(o, key);
    return a ? a->i : attr_info[key].dflt;
}

void op_drop_attr(struct op *o, enum attr_key key)
{
    int n = 0;
    for (int i = 0; i < o->nattrs; i++)
        if (o->attrs[i].key != key)
            o->attrs[n++] = o->attrs[i];
    o->nattrs = n;
}

static void set_attr(struct op *o, struct attr x)
{
    op_drop_attr(o, x.key);
    struct attr *attrs = NEW_ARRAY(module_of(o->block)->arena, o->nattrs + 1, struct attr);
    int n = 0;
    for (; n < o->nattrs && o->attrs[n].key < x.key; n++)
        attrs[n] = o->attrs[n];
    attrs[n] = x;
    for (; n < o->nattrs; n++)
        attrs[n + 1] = o->attrs[n];
    o->attrs = attrs;
    o->nattrs++;
}

/* If i is the attribute's default, removes the attribute instead of storing i, because an absent attribute means the
 * default. So two ops with equal values compare equal. (Attributes of kind bits or index are always stored.) */
void op_set_int(struct op *o, enum attr_key key, int64_t i)
{
    enum attr_kind kind = attr_info[key].kind;
    if (i == attr_info[key].dflt && kind != ATTRK_bits && kind != ATTRK_index)
        op_drop_attr(o, key);
    else
        set_attr(o, (struct attr){.key = key, .i = i});
}

void op_set_list(struct op *o, enum attr_key key, int n, const int *list)
{
    if (n == 0) {
        op_drop_attr(o, key);
        return;
    }
    int *copy = arena_grow(module_of(o->block)->arena, list, (size_t)n, (size_t)n, sizeof *list);
    set_attr(o, (struct attr){.key = key, .n = n, .list = copy});
}

void op_set_str(struct op *o, enum attr_key key, const char *s, int n)
{
    const char *copy = arena_strndup(module_of(o->block)->arena, s, (size_t)n);
    set_attr(o, (struct attr){.key = key, .n = n, .s = copy});
}

/* -- changing -- */

void op_erase(struct op *o)
{
    for (int i = 0; i < o->nregions; i++)
        while (o->regions[i]->last)
            op_erase(o->regions[i]->last);
    for (int i = 0; i < o->nresults; i++) {
        if (o->results[i].uses)
            diag_bug(module_of(o->block)->diag, o->loc, "%%%s is erased but used", o->results[i].name);
    }
    for (int i = 0; i < o->nopnds; i++)
        unlink_use(&o->opnds[i]);
    take_out(o);
}

void op_set_region(struct op *o, int i, struct block *b)
{
    b->parent = o;
    o->regions[i] = b;
}

void block_drop_arg(struct block *b, int i)
{
    release_name(b->func, b->args.at[i]->name);
    for (int k = i + 1; k < b->args.n; k++) {
        b->args.at[k - 1] = b->args.at[k];
        b->args.at[k - 1]->index = k - 1;
    }
    b->args.n--;
}

struct value *value_mapped(const struct map *map, struct value *v)
{
    void **found = v ? map_get_ptr(map, v) : NULL;
    return found ? *found : v;
}

static void clone_block(struct block *to, const struct block *from, struct map *map)
{
    for (int i = 0; i < from->args.n; i++) {
        const struct value *arg = from->args.at[i];
        struct value *copy = block_add_arg(to, arg->type, arg->name);
        *map_at_ptr(map, arg) = copy;
    }
    for (const struct op *o = from->first; o; o = o->next) {
        struct builder b = build_at_end(to, o->loc);
        op_clone(&b, o, map);
    }
}

void func_copy(struct func *to, const struct func *from)
{
    struct arena *a = from->module->arena;
    struct map map;
    map_init(&map, a);
    *to = *from;
    map_init(&to->names, a);
    memset(&to->params, 0, sizeof to->params);
    memset(&to->maps, 0, sizeof to->maps);
    memset(&to->guards, 0, sizeof to->guards);
    for (int i = 0; i < from->params.n; i++)
        VEC_PUSH(a, &to->params, from->params.at[i]);
    for (int i = 0; i < from->maps.n; i++)
        VEC_PUSH(a, &to->maps, from->maps.at[i]);
    for (int i = 0; i < from->guards.n; i++)
        VEC_PUSH(a, &to->guards, from->guards.at[i]);
    to->body = block_new(to, NULL);
    clone_block(to->body, from->body, &map);
}

/* The copy shares the lists and strings of o's attributes, because these never change. */
struct op *op_clone(struct builder *b, const struct op *o, struct map *map)
{
    struct arena *a = module_of(b->block)->arena;
    struct value **opnds = NEW_ARRAY(a, o->nopnds, struct value *);
    for (int i = 0; i < o->nopnds; i++)
        opnds[i] = value_mapped(map, o->opnds[i].value);
    struct op *copy = op_new(b, o->code, o->nopnds, opnds, o->nresults, o->nregions);
    copy->loc = o->loc;
    copy->nattrs = o->nattrs;
    copy->attrs = arena_grow(a, o->attrs, (size_t)o->nattrs, (size_t)o->nattrs, sizeof *o->attrs);
    for (int i = 0; i < o->nresults; i++) {
        copy->results[i].type = o->results[i].type;
        copy->results[i].name = func_name_value(b->func, o->results[i].name);
        *map_at_ptr(map, &o->results[i]) = &copy->results[i];
    }
    for (int i = 0; i < o->nregions; i++)
        clone_block(copy->regions[i], o->regions[i], map);
    return copy;
}

struct value *value_clone(struct builder *b, struct map *map, struct value *v)
{
    const struct op *o = v ? v->def : NULL;
    bool differs = false;
    if (!o || map_get_ptr(map, v))
        return value_mapped(map, v);
    for (int i = 0; i < o->nopnds; i++)
        differs |= value_clone(b, map, op_opnd(o, i)) != op_opnd(o, i);
    if (differs)
        op_clone(b, o, map);
    else
        *map_at_ptr(map, v) = v;
    return value_mapped(map, v);
}

/* -- ops with one result, whose type the op's rule infers or checks -- */

static struct op *plain(struct builder *b, enum opcode code, int nopnds, struct value *const *opnds)
{
    return op_new(b, code, nopnds, opnds, 1, 0);
}

struct value *build_unary(struct builder *b, enum opcode code, struct value *x)
{
    return finish(plain(b, code, 1, (struct value *[]){x}));
}

struct value *build_binary(struct builder *b, enum opcode code, struct value *x, struct value *y)
{
    return finish(plain(b, code, 2, (struct value *[]){x, y}));
}

struct value *build_fma(struct builder *b, struct value *x, struct value *y, struct value *z)
{
    return finish(plain(b, OP_fma, 3, (struct value *[]){x, y, z}));
}

struct value *build_cmp(struct builder *b, enum pred pred, struct value *x, struct value *y)
{
    struct op *o = plain(b, OP_cmp, 2, (struct value *[]){x, y});
    op_set_int(o, ATTR_pred, pred);
    return finish(o);
}

struct value *build_select(struct builder *b, struct value *c, struct value *x, struct value *y)
{
    return finish(plain(b, OP_select, 3, (struct value *[]){c, x, y}));
}

struct value *build_addptr(struct builder *b, struct value *p, struct value *i)
{
    return build_binary(b, OP_addptr, p, i);
}

static struct value *build_given(struct builder *b, enum opcode code, struct value *x, const struct type *t)
{
    struct op *o = plain(b, code, x ? 1 : 0, &x);
    o->results[0].type = t;
    return finish(o);
}

struct value *build_cast(struct builder *b, enum opcode code, struct value *x, const struct type *elem)
{
    return build_given(b, code, x, type_with_elem(module_of(b->block), x->type, elem));
}

/* Converts bits of type t to the form of the attribute `value`: integers are sign-extended from their width (an i1
 * is 0 or 1), floats are zero-extended. */
static int64_t canonical_bits(const struct type *t, uint64_t bits)
{
    int width = type_elem_bits(t);
    if (width == 64)
        return (int64_t)bits;
    uint64_t low = bits & ((UINT64_C(1) << width) - 1);
    bool negative = width > 1 && type_is_int(t) && low >> (width - 1);
    return (int64_t)(negative ? low | ~UINT64_C(0) << width : low);
}

struct value *build_const_bits(struct builder *b, const struct type *t, uint64_t bits)
{
    struct op *o = plain(b, OP_const, 0, NULL);
    o->results[0].type = t;
    op_set_int(o, ATTR_value, canonical_bits(t, bits));
    return finish(o);
}

struct value *build_const_int(struct builder *b, const struct type *t, int64_t i)
{
    return build_const_bits(b, t, (uint64_t)i);
}

struct value *build_const_float(struct builder *b, const struct type *t, double x)
{
    return build_const_bits(b, t, double_to_bits(type_elem(t)->dtype, x));
}

static struct value *build_axis(struct builder *b, enum opcode code, struct value *x, int axis)
{
    struct op *o = plain(b, code, x ? 1 : 0, &x);
    op_set_int(o, ATTR_axis, axis);
    return finish(o);
}

struct value *build_const_i32(struct builder *b, int64_t i)
{
    return build_const_int(b, type_scalar(b->func->module, DT_i32), i);
}

struct value *build_i32(struct builder *b, enum opcode code)
{
    const struct type *t = type_scalar(b->func->module, DT_i32);
    return op_result(build_op(b, code, 0, NULL, 1, &t, 0));
}

struct value *build_program_id(struct builder *b, int axis)
{
    return build_axis(b, OP_program_id, NULL, axis);
}

struct value *build_num_programs(struct builder *b, int axis)
{
    return build_axis(b, OP_num_programs, NULL, axis);
}

struct value *build_range(struct builder *b, int start, int end)
{
    struct op *o = plain(b, OP_range, 0, NULL);
    op_set_int(o, ATTR_start, start);
    op_set_int(o, ATTR_end, end);
    return finish(o);
}

static struct value *build_shaped(struct builder *b, enum opcode code, struct value *x, int rank,
                                  const int *shape)
{
    return build_given(b, code, x, type_with_shape(module_of(b->block), x->type, rank, shape));
}

struct value *build_splat(struct builder *b, struct value *x, int rank, const int *shape)
{
    return build_shaped(b, OP_splat, x, rank, shape);
}

struct value *build_broadcast(struct builder *b, struct value *x, int rank, const int *shape)
{
    return build_shaped(b, OP_broadcast, x, rank, shape);
}

struct value *build_expand_dims(struct builder *b, struct value *x, int axis)
{
    return build_axis(b, OP_expand_dims, x, axis);
}

struct value *build_reshape(struct builder *b, struct value *x, int rank, const int *shape)
{
    struct module *m = module_of(b->block);
    const struct type *t = type_with_shape(m, x->type, rank, shape);
    if (rank && x->type->layout) {
        struct layout l;
        layout_reshape(&l, x->type->layout, rank, shape);
        t = type_with_layout(m, t, layout_intern(m, &l));
    }
    return build_given(b, OP_reshape, x, t);
}

struct value *build_trans(struct builder *b, struct value *x, const int *order)
{
    struct op *o = plain(b, OP_trans, 1, &x);
    op_set_list(o, ATTR_order, x->type->rank, order);
    return finish(o);
}

/* Creates an op, and leaves out absent operands (NULL) at the end of the list, so that the text does not show them
 * as `_`. */
static struct op *build_memory(struct builder *b, enum opcode code, int nopnds, struct value *const *opnds,
                               int nresults)
{
    while (nopnds > 0 && !opnds[nopnds - 1])
        nopnds--;
    return op_new(b, code, nopnds, opnds, nresults, 0);
}

struct value *build_load(struct builder *b, struct value *ptr, struct value *mask, struct value *other)
{
    return finish(build_memory(b, OP_load, 3, (struct value *[]){ptr, mask, other}, 1));
}

struct op *build_store(struct builder *b, struct value *ptr, struct value *value, struct value *mask)
{
    struct op *o = build_memory(b, OP_store, 3, (struct value *[]){ptr, value, mask}, 0);
    infer_types(o);
    return o;
}

struct value *build_convert(struct builder *b, struct value *x, const struct layout *l)
{
    return build_given(b, OP_convert, x, type_with_layout(module_of(b->block), x->type, l));
}

/* -- control and reductions -- */

/* Creates an op whose last operands are `init`, and whose results have the types of `init`. */
static struct op *build_loop(struct builder *b, enum opcode code, int nfixed, struct value *const *fixed,
                             int ninit, struct value *const *init, int nregions)
{
    struct arena *a = module_of(b->block)->arena;
    struct value **opnds = NEW_ARRAY(a, nfixed + ninit, struct value *);
    const struct type **types = NEW_ARRAY(a, ninit, const struct type *);
    for (int i = 0; i < nfixed; i++)
        opnds[i] = fixed[i];
    for (int i = 0; i < ninit; i++) {
        opnds[nfixed + i] = init[i];
        types[i] = init[i]->type;
    }
    return build_op(b, code, nfixed + ninit, opnds, ninit, types, nregions);
}

static void add_carried(struct block *b, int n, struct value *const *init)
{
    for (int i = 0; i < n; i++)
        block_add_arg(b, init[i]->type, init[i]->name);
}

struct op *build_for(struct builder *b, struct value *lo, struct value *hi, struct value *step, int ninit,
                     struct value *const *init)
{
    struct op *o = build_loop(b, OP_for, 3, (struct value *[]){lo, hi, step}, ninit, init, 1);
    block_add_arg(o->regions[0], lo->type, "i");
    add_carried(o->regions[0], ninit, init);
    return o;
}

struct op *build_if(struct builder *b, struct value *c, int nresults, const struct type *const *types)
{
    return build_op(b, OP_if, 1, &c, nresults, types, 2);
}

struct op *build_reduce(struct builder *b, int n, struct value *const *x, int axis)
{
    struct op *o = op_new(b, OP_reduce, n, x, n, 1);
    op_set_int(o, ATTR_axis, axis);
    for (int i = 0; i < 2 * n; i++)
        block_add_arg(o->regions[0], type_elem(x[i % n]->type), i < n ? "a" : "b");
    finish(o);
    return o;
}

struct op *build_yield(struct builder *b, int n, struct value *const *x)
{
    return op_new(b, OP_yield, n, x, 0, 0);
}

struct op *build_condition(struct builder *b, struct value *c, int n, struct value *const *x)
{
    struct value **opnds = NEW_ARRAY(module_of(b->block)->arena, n + 1, struct value *);
    opnds[0] = c;
    for (int i = 0; i < n; i++)
        opnds[i + 1] = x[i];
    return op_new(b, OP_condition, n + 1, opnds, 0, 0);
}

struct op *build_return(struct builder *b)
{
    return op_new(b, OP_return, 0, NULL, 0, 0);
}
