/* SPDX-License-Identifier: MIT */
/* type.c: defines the tables of ops, attributes and element types, and interns types and layouts. Equal types
 * have equal addresses, so types are compared as pointers. */
#include "ir/ir.h"

#include <limits.h>
#include <string.h>

/* -- tables -- */

const struct dtype_info dtype_info[DT_count] = {
#define X(word, bits, bytes, kind, name) {#word, bits, bytes, DTYPE_##kind, name},
    DTYPES(X)
#undef X
};

/* If a row names a rule that no file defines, linking fails. */
#define OP(name, operands, results, regions, attributes, family, traits, rule, meaning)                      \
    const char *rule_##rule(struct module *m, const struct op *o, const struct type **types);
#include "ir/ops.h"
#undef OP

#define A(word) (UINT64_C(1) << ATTR_##word)
const struct op_info op_info[OP_count] = {
#define OP(name, operands, results, regions, attributes, family, traits, rule, meaning)                      \
    {#name, operands, results, attributes, traits, regions, FAMILY_##family, rule_##rule},
#include "ir/ops.h"
#undef OP
};
#undef A

const struct attr_info attr_info[ATTR_count] = {
#define ATTR(word, kind, dflt, meaning) {#word, ATTRK_##kind, dflt},
#include "ir/ops.h"
#undef ATTR
};

#define X(word) #word,
static const char *const pred_words[] = {WORDS_pred(X) NULL};
static const char *const cache_words[] = {WORDS_cache(X) NULL};
static const char *const evict_words[] = {WORDS_evict(X) NULL};
static const char *const round_words[] = {WORDS_round(X) NULL};
static const char *const sem_words[] = {WORDS_sem(X) NULL};
static const char *const scope_words[] = {WORDS_scope(X) NULL};
static const char *const rmw_words[] = {WORDS_rmw(X) NULL};
static const char *const prec_words[] = {WORDS_prec(X) NULL};
#undef X

const char *const *attr_words(enum attr_kind kind)
{
    switch (kind) {
    case ATTRK_int:
    case ATTRK_index:
    case ATTRK_bits:
    case ATTRK_list:
    case ATTRK_str: return NULL;
    case ATTRK_pred: return pred_words;
    case ATTRK_cache: return cache_words;
    case ATTRK_evict: return evict_words;
    case ATTRK_round: return round_words;
    case ATTRK_sem: return sem_words;
    case ATTRK_scope: return scope_words;
    case ATTRK_rmw: return rmw_words;
    case ATTRK_prec: return prec_words;
    }
    return NULL;
}

bool op_has(const struct op *o, unsigned traits)
{
    return (op_info[o->code].traits & traits) == traits;
}

enum opcode op_by_name(const char *name, size_t n)
{
    int code = 0;
    while (code < OP_count && (strncmp(op_info[code].name, name, n) != 0 || op_info[code].name[n]))
        code++;
    return (enum opcode)code;
}

void arity_of(const char *list, int *least, int *most)
{
    *least = *most = 0;
    for (const char *s = list; *s;) {
        size_t n = strcspn(s, " ");
        if (s[n - 1] == '*') {
            *most = INT_MAX;
            return;
        }
        *least += s[n - 1] != '?';
        ++*most;
        s += n + strspn(s + n, " ");
    }
}

/* -- making types -- */

void module_init(struct module *m, struct arena *arena, struct arena *scratch, struct diag *diag)
{
    *m = (struct module){.arena = arena, .scratch = scratch, .diag = diag, .params = &params_default};
    interner_init(&m->strings, arena);
    map_init(&m->types, arena);
    map_init(&m->layouts, arena);
}

/* The maps compare the bytes of structures, so callers zero every structure, padding included, before they fill
 * it. */
static const void *intern_struct(struct map *map, struct arena *a, const void *x, size_t bytes)
{
    void **found = map_get(map, x, bytes);
    if (found)
        return *found;
    void *copy = arena_alloc(a, bytes);
    memcpy(copy, x, bytes);
    *map_at(map, copy, bytes) = copy;
    return copy;
}

static const struct type *intern_type(struct module *m, const struct type *t)
{
    return intern_struct(&m->types, m->arena, t, sizeof *t);
}

const struct type *type_scalar(struct module *m, enum dtype dtype)
{
    struct type t;
    memset(&t, 0, sizeof t);
    t.kind = TY_scalar;
    t.dtype = dtype;
    return intern_type(m, &t);
}

const struct type *type_ptr(struct module *m, const struct type *elem, enum space space)
{
    struct type t;
    memset(&t, 0, sizeof t);
    t.kind = TY_ptr;
    t.space = space;
    t.elem = elem;
    return intern_type(m, &t);
}

static const struct type *make_shaped(struct module *m, enum type_kind kind, const struct type *elem,
                                      int rank, const int *shape, const struct layout *l, int nstages)
{
    if (rank < 1 || rank > RANK_MAX)
        diag_bug(m->diag, (struct loc){0}, "a tile of rank %d", rank);
    struct type t;
    memset(&t, 0, sizeof t);
    t.kind = kind;
    t.elem = elem;
    t.rank = rank;
    memcpy(t.shape, shape, (size_t)rank * sizeof *shape);
    t.layout = l;
    t.nstages = nstages;
    return intern_type(m, &t);
}

const struct type *type_tile(struct module *m, const struct type *elem, int rank, const int *shape,
                             const struct layout *l)
{
    return make_shaped(m, TY_tile, elem, rank, shape, l, 0);
}

const struct type *type_shared(struct module *m, const struct type *elem, int rank, const int *shape,
                               const struct layout *l, int nstages)
{
    return make_shaped(m, TY_shared, elem, rank, shape, l, nstages);
}

const struct layout *layout_intern(struct module *m, const struct layout *l)
{
    struct layout key;
    memset(&key, 0, sizeof key);
    key.rank = l->rank;
    memcpy(key.dim_bits, l->dim_bits, l->rank);
    memcpy(key.nbits, l->nbits, sizeof key.nbits);
    size_t nbits = 0;
    for (int kind = 0; kind < IN_count; kind++)
        nbits += l->nbits[kind];
    memcpy(key.basis, l->basis, nbits * sizeof key.basis[0]);
    key.flip = l->flip;
    return intern_struct(&m->layouts, m->arena, &key, sizeof key);
}

/* -- types from types -- */

const struct type *type_elem(const struct type *t)
{
    return t->kind == TY_tile || t->kind == TY_shared ? t->elem : t;
}

const struct type *type_with_elem(struct module *m, const struct type *t, const struct type *elem)
{
    if (type_elem(t) == t)
        return elem;
    return make_shaped(m, t->kind, elem, t->rank, t->shape, t->layout, t->nstages);
}

const struct type *type_with_layout(struct module *m, const struct type *t, const struct layout *l)
{
    if (type_elem(t) == t)
        return t;
    return make_shaped(m, t->kind, t->elem, t->rank, t->shape, l, t->nstages);
}

const struct type *type_with_shape(struct module *m, const struct type *t, int rank, const int *shape)
{
    return rank ? type_tile(m, type_elem(t), rank, shape, NULL) : type_elem(t);
}

/* -- queries -- */

int64_t type_elems(const struct type *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->shape[i];
    return n;
}

int type_elem_bytes(const struct type *t)
{
    const struct type *elem = type_elem(t);
    return elem->kind == TY_ptr ? 8 : dtype_info[elem->dtype].bytes;
}

int type_elem_bits(const struct type *t)
{
    const struct type *elem = type_elem(t);
    return elem->kind == TY_ptr ? 64 : dtype_info[elem->dtype].bits;
}

int tile_nregs(const struct type *t)
{
    return t->kind == TY_tile ? 1 << t->layout->nbits[IN_reg] : 1;
}

bool type_is_int(const struct type *t)
{
    const struct type *elem = type_elem(t);
    return elem->kind == TY_scalar && dtype_info[elem->dtype].kind == DTYPE_int;
}

bool type_is_float(const struct type *t)
{
    const struct type *elem = type_elem(t);
    return elem->kind == TY_scalar && dtype_info[elem->dtype].kind == DTYPE_float;
}

bool type_is_ptr(const struct type *t)
{
    return type_elem(t)->kind == TY_ptr;
}

bool type_is_tile(const struct type *t)
{
    return t->kind == TY_tile;
}

bool type_same_shape(const struct type *a, const struct type *b)
{
    if (a->rank != b->rank)
        return false;
    return memcmp(a->shape, b->shape, (size_t)a->rank * sizeof a->shape[0]) == 0;
}

/* -- text -- */

static void print_layout(const struct layout *l, struct text *out, const struct map *layout_names)
{
    void **name = layout_names ? map_get_ptr(layout_names, l) : NULL;
    if (name) {
        text_printf(out, "#%s", (const char *)*name);
        return;
    }
    text_char(out, '{');
    layout_print(l, out);
    text_char(out, '}');
}

void type_print(const struct type *t, struct text *out, const struct map *layout_names)
{
    if (t->kind == TY_scalar) {
        text_str(out, dtype_info[t->dtype].word);
        return;
    }
    text_str(out, t->kind == TY_ptr ? "ptr<" : t->kind == TY_tile ? "tile<" : "shared<");
    for (int i = 0; i < t->rank; i++)
        text_printf(out, "%dx", t->shape[i]);
    type_print(t->elem, out, layout_names);
    if (t->kind == TY_ptr && t->space == SPACE_shared)
        text_str(out, ",shared");
    if (t->layout) {
        text_char(out, ',');
        print_layout(t->layout, out, layout_names);
    }
    if (t->nstages > 1)
        text_printf(out, ",stages=%d", t->nstages);
    text_char(out, '>');
}
