/* SPDX-License-Identifier: MIT */
/* lang.c: implements the types of Triton's language, and parses and prints them.
 *
 * Number types are rows of a constant table, so pointers to equal number types are equal. Pointer and block types are
 * allocated in the arena and compared by content. */
#include "frontend/trace/lang.h"

#include "frontend/python/python.h"

#include <string.h>

static const struct lang_type numbers[2][DT_count] = {
#define X(word, nbits, nbytes, family, title)                                                                \
    [DT_##word] = {.kind = LT_number, .dtype = DT_##word, .is_unsigned = (nbits) == 1},
    {DTYPES(X)},
#undef X
#define X(word, nbits, nbytes, family, title)                                                                \
    [DT_##word] = {.kind = LT_number, .dtype = DT_##word, .is_unsigned = true},
    {DTYPES(X)},
#undef X
};
static const struct lang_type void_type = {.kind = LT_void};

const struct lang_type *lang_number(struct eval *e, enum dtype d, bool is_unsigned)
{
    (void)e;
    return &numbers[is_unsigned && dtype_info[d].kind == DTYPE_int && d != DT_i1][d];
}

const struct lang_type *lang_ptr(struct eval *e, const struct lang_type *elem, bool is_const)
{
    struct lang_type *t = NEW(e->arena, struct lang_type);
    t->kind = LT_ptr;
    t->elem = elem;
    t->is_const = is_const;
    return t;
}

const struct lang_type *lang_block(struct eval *e, const struct lang_type *elem, int rank, const int *shape)
{
    if (rank == 0)
        return elem;
    struct lang_type *t = NEW(e->arena, struct lang_type);
    t->kind = LT_block;
    t->elem = elem;
    t->rank = rank;
    memcpy(t->shape, shape, (size_t)rank * sizeof *shape);
    return t;
}

const struct lang_type *lang_const(struct eval *e, struct obj *value)
{
    struct lang_type *t = NEW(e->arena, struct lang_type);
    t->kind = LT_const;
    t->value = value;
    return t;
}

const struct lang_type *lang_scalar(const struct lang_type *t)
{
    return t->kind == LT_block ? t->elem : t;
}

bool lang_equal(const struct lang_type *a, const struct lang_type *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case LT_void: return true;
    case LT_number: return a->dtype == b->dtype && a->is_unsigned == b->is_unsigned;
    case LT_ptr: return a->is_const == b->is_const && lang_equal(a->elem, b->elem);
    case LT_block:
        return a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0 &&
               lang_equal(a->elem, b->elem);
    case LT_const: return a->value == b->value;
    }
    return false;
}

uint64_t lang_hash(const struct lang_type *t)
{
    const uint64_t prime = 0x100000001b3; /* the prime of the hash function FNV-1a */
    uint64_t h = t->elem ? lang_hash(t->elem) : 0xcbf29ce484222325;
    h = (h ^ (unsigned)t->kind) * prime;
    h = (h ^ (t->kind == LT_number ? (unsigned)t->dtype : 0)) * prime;
    return (h ^ t->is_unsigned) * prime;
}

struct obj *lang_value(const struct lang_type *t)
{
    return t->kind == LT_const ? t->value : NULL;
}

void lang_print_tensor(const struct lang_type *t, struct text *out)
{
    lang_print(lang_scalar(t), out);
    text_char(out, '[');
    for (int i = 0; t->kind == LT_block && i < t->rank; i++)
        text_printf(out, "%sconstexpr[%d]", i ? ", " : "", t->shape[i]);
    text_char(out, ']');
}

void lang_print(const struct lang_type *t, struct text *out)
{
    switch (t->kind) {
    case LT_void: text_str(out, "void"); break;
    case LT_number:
        text_printf(out, "%s%s", t->is_unsigned && t->dtype != DT_i1 ? "u" : "", dtype_info[t->dtype].name);
        break;
    case LT_ptr:
        text_str(out, t->is_const ? "const_pointer<" : "pointer<");
        lang_print(t->elem, out);
        text_char(out, '>');
        break;
    case LT_block:
        for (int i = 0; i < t->rank; i++)
            text_printf(out, "%s%d", i ? ", " : "<[", t->shape[i]);
        text_str(out, "], ");
        lang_print(t->elem, out);
        text_char(out, '>');
        break;
    case LT_const: text_str(out, "constexpr_type"); break;
    }
}

/* clang-format off */
/*    spelling          type  unsigned */
#define SPELLINGS(X) \
    X("i1",             i1,   true) \
    X("u1",             i1,   true) \
    X("int1",           i1,   true) \
    X("uint1",          i1,   true) \
    X("bool",           i1,   true) \
    X("B",              i1,   true) \
    X("i8",             i8,   false) \
    X("int8",           i8,   false) \
    X("i16",            i16,  false) \
    X("int16",          i16,  false) \
    X("i32",            i32,  false) \
    X("int32",          i32,  false) \
    X("int",            i32,  false) \
    X("i64",            i64,  false) \
    X("int64",          i64,  false) \
    X("u8",             i8,   true) \
    X("uint8",          i8,   true) \
    X("u16",            i16,  true) \
    X("uint16",         i16,  true) \
    X("u32",            i32,  true) \
    X("uint32",         i32,  true) \
    X("u64",            i64,  true) \
    X("uint64",         i64,  true) \
    X("fp16",           f16,  false) \
    X("f16",            f16,  false) \
    X("float16",        f16,  false) \
    X("half",           f16,  false) \
    X("bf16",           bf16, false) \
    X("bfloat16",       bf16, false) \
    X("fp32",           f32,  false) \
    X("f32",            f32,  false) \
    X("float32",        f32,  false) \
    X("float",          f32,  false) \
    X("fp64",           f64,  false) \
    X("f64",            f64,  false) \
    X("float64",        f64,  false) \
    X("double",         f64,  false) \
    X("fp8e4nv",        f8e4, false) \
    X("float8e4nv",     f8e4, false) \
    X("float8_e4m3fn",  f8e4, false) \
    X("f8e4",           f8e4, false) \
    X("fp8e5",          f8e5, false) \
    X("float8e5",       f8e5, false) \
    X("float8_e5m2",    f8e5, false) \
    X("f8e5",           f8e5, false)
/* clang-format on */

static const struct lang_type *parse_scalar(const char *s, size_t n)
{
    static const struct {
        const char *word;
        enum dtype dtype;
        bool is_unsigned;
    } spellings[] = {
#define X(word, dtype, is_unsigned) {word, DT_##dtype, is_unsigned},
        SPELLINGS(X)
#undef X
    };
    if (n > 2 && memcmp(s + n - 2, "_t", 2) == 0)
        n -= 2;
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (strlen(spellings[i].word) == n && memcmp(spellings[i].word, s, n) == 0)
            return &numbers[spellings[i].is_unsigned && spellings[i].dtype != DT_i1][spellings[i].dtype];
    return n == 4 && memcmp(s, "void", 4) == 0 ? &void_type : NULL;
}

const struct lang_type *lang_parse(struct eval *e, const char *s, size_t n)
{
    while (n > 0 && (*s == ' ' || *s == '\t')) {
        s++;
        n--;
    }
    while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t'))
        n--;
    if (n == 0 || *s != '*')
        return parse_scalar(s, n);
    bool is_const = n > 1 && s[1] == 'k';
    const struct lang_type *elem = lang_parse(e, s + 1 + is_const, n - 1 - is_const);
    return elem ? lang_ptr(e, elem, is_const) : NULL;
}

const struct type *lang_ir(struct module *m, const struct lang_type *t)
{
    switch (t->kind) {
    case LT_number: return type_scalar(m, t->dtype);
    case LT_ptr: return type_ptr(m, lang_ir(m, t->elem), SPACE_global);
    case LT_block: return type_tile(m, lang_ir(m, t->elem), t->rank, t->shape, NULL);
    case LT_void:
    case LT_const: break;
    }
    return NULL;
}
