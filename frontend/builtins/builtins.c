/* SPDX-License-Identifier: MIT */
/* builtins.c: implements the modules of triton, and the members of types.
 *
 * The objects of a module are created lazily. When a program uses a name for the first time, find_name (the `find` of
 * these modules) looks up the name in the table (builtins.h) and creates the object. */
#include "frontend/builtins/handlers.h"
#include "frontend/builtins/places.h"
#include "frontend/python/python.h"

#include <stddef.h>
#include <string.h>

/* -- the table -- */

/* Bits for the places where programs find a builtin: modules, and the attributes of tensors, types and
 * descriptors. NEEDS_kernel: a call outside of a kernel is an error. */
enum {
    IN_tl = 1,
    IN_math = 2,
    IN_method = 4,
    IN_libdevice = 8,
    IN_cuda = 16,
    IN_triton = 32,
    IN_core = 64,
    IN_bare = 128,
    IN_type = 256,
    NEEDS_kernel = 512,
    IN_descriptor = 1024,
    IN_tools = 2048,
    IN_hidden = 4096,
};

/* The bits of each word of the column `where`. */
#define PLACES(X)                                                                                            \
    X(tl, IN_tl | NEEDS_kernel)                                                                              \
    X(method, IN_tl | IN_method | NEEDS_kernel)                                                              \
    X(math, IN_tl | IN_math | IN_method | NEEDS_kernel)                                                      \
    X(only_math, IN_tl | IN_math | NEEDS_kernel)                                                             \
    X(only_method, IN_method | NEEDS_kernel)                                                                 \
    X(descriptor, IN_descriptor | NEEDS_kernel)                                                              \
    X(constant, IN_tl)                                                                                       \
    X(core, IN_core)                                                                                         \
    X(type, IN_type)                                                                                         \
    X(libdevice, IN_libdevice | NEEDS_kernel)                                                                \
    X(cuda, IN_cuda | NEEDS_kernel)                                                                          \
    X(triton, IN_triton)                                                                                     \
    X(bare, IN_bare | NEEDS_kernel)                                                                          \
    X(hidden, IN_hidden)
enum place {
#define X(place, bits) PLACE_##place,
    PLACES(X)
#undef X
};
static const struct {
    const char *prefix;
    unsigned where;
} places[] = {
#define X(place, bits) {PREFIX_##place, bits},
    PLACES(X)
#undef X
};

#define HEADING(text)

/* For each row, the name without its prefix, a zero byte, and the parameters. */
struct texts {
#define ROW(place, word, parameters, ...) char place##_##word[sizeof #word "\0" parameters];
#include "frontend/builtins/builtins.h"
#undef ROW
};
static const struct texts texts = {
#define ROW(place, word, parameters, ...) #word "\0" parameters,
#include "frontend/builtins/builtins.h"
#undef ROW
};
_Static_assert(sizeof texts <= UINT16_MAX, "offsets have 16 bits");

/* The table in compact form: a row takes 24 bytes. row_object makes a struct row_builtin, of 40 bytes, only
 * for the rows that a program uses. */
static const struct row {
    struct obj *(*run)(struct eval *e, struct obj **args, const struct args *call);
    const char *data;
    uint16_t text; /* offset in `texts` */
    uint8_t place;
} rows[] = {
#define ROW(place, word, parameters, handler, word_data, ...)                                                \
    {builtin_##handler, word_data, offsetof(struct texts, place##_##word), PLACE_##place},
#include "frontend/builtins/builtins.h"
#undef ROW
};
#undef HEADING
enum { NROWS = sizeof rows / sizeof *rows };

struct row_builtin {
    struct builtin builtin;
    const struct row *row;
};

static const struct row *row_of(const struct builtin *b)
{
    return ((const struct row_builtin *)(const void *)b)->row;
}

/* Calls the handler of the builtin's row. */
static struct obj *run_row(struct eval *e, struct obj **args, const struct args *call)
{
    const struct row *r = row_of(call->callee);
    if (!e->trace && (places[r->place].where & NEEDS_kernel))
        eval_raise(e, call->loc, "ValueError", ERR_outside_kernel, call->callee->name);
    return r->run(e, args, call);
}

static const char *word_of(const struct row *r)
{
    return (const char *)&texts + r->text;
}

static const char *parameters_of(const struct row *r)
{
    return strchr(word_of(r), 0) + 1;
}

/* Returns an object for the builtin of a row; NULL if the row is NULL. All objects for one row share one
 * struct builtin. */
static struct obj *row_object(struct eval *e, const struct row *r)
{
    if (!r)
        return NULL;
    void **known = map_at_ptr(&e->rows, r);
    if (!*known) {
        struct text name;
        text_init(&name, e->arena);
        text_printf(&name, "%s%s", places[r->place].prefix, word_of(r));
        struct row_builtin *b = NEW(e->arena, struct row_builtin);
        *b = (struct row_builtin){{name.s, parameters_of(r), run_row, r->data}, r};
        *known = b;
    }
    return obj_builtin(e, *known);
}

static const struct row *find_row(const char *name, unsigned where)
{
    for (int i = 0; i < NROWS; i++)
        if ((places[rows[i].place].where & where) && strcmp(word_of(&rows[i]), name) == 0)
            return &rows[i];
    return NULL;
}

struct obj *builtin_hidden(struct eval *e, const char *name)
{
    return row_object(e, find_row(name, IN_hidden));
}

struct obj *builtin_unsupported(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args;
    if (!e->trace)
        eval_raise(e, call->loc, "NotImplementedError", ERR_not_supported, call->callee->name);
    diag_error(e->diag, trace_loc(e, call->loc), ERR_not_supported, call->callee->name);
    return obj_error;
}

bool is_unsupported(const struct obj *x)
{
    return x->kind == OBJ_builtin && x->builtin->run == run_row &&
           row_of(x->builtin)->run == builtin_unsupported;
}

/* -- modules -- */

static const struct {
    const char *name;
    unsigned where;
} modules[] = {
    {"triton", IN_triton},
    {"triton.language", IN_tl},
    {"triton.language.core", IN_tl | IN_core},
    {"triton.language.standard", IN_tl | IN_core},
    {"triton.language.random", IN_tl},
    {"triton.language.math", IN_math},
    {"triton.language.extra", 0},
    {"triton.language.libdevice", IN_libdevice},
    {"triton.language.extra.libdevice", IN_libdevice},
    {"triton.language.extra.cuda", IN_cuda},
    {"triton.language.extra.cuda.libdevice", IN_libdevice},
    {"triton.tools", 0},
    {"triton.tools.tensor_descriptor", IN_tools},
    {"triton.runtime", IN_triton},
    {"triton.runtime.jit", IN_triton},
    {"triton.runtime.autotuner", IN_triton},
};
enum { NMODULES = sizeof modules / sizeof *modules };

static const char *const dtype_names[] = {
    "int1",   "int8",    "int16",    "int32",   "int64",   "uint8",      "uint16",   "uint32",
    "uint64", "float16", "bfloat16", "float32", "float64", "float8e4nv", "float8e5",
};

static struct obj *find_dtype(struct eval *e, const char *name)
{
    for (size_t i = 0; i < sizeof dtype_names / sizeof *dtype_names; i++)
        if (strcmp(dtype_names[i], name) == 0)
            return obj_type(e, lang_parse(e, name, strlen(name)));
    if (strcmp(name, "pi32_t") == 0)
        return obj_type(e, lang_ptr(e, lang_number(e, DT_i32, false), false));
    return strcmp(name, "void") == 0 ? obj_type(e, lang_parse(e, "void", 4)) : NULL;
}

static struct obj *find_nan_word(struct eval *e, const struct obj *module, const char *name)
{
    (void)module;
    return strcmp(name, "NONE") == 0 || strcmp(name, "ALL") == 0 ? obj_cstr(e, name) : NULL;
}

/* Returns the value of a name that has no row in the table, but belongs to a module with the bits `where`: a
 * type, a constant, a class or a submodule. Returns NULL for any other name. */
static struct obj *find_value(struct eval *e, unsigned where, const char *name)
{
    if (where & IN_tl) {
        if (strcmp(name, "PropagateNan") == 0) {
            struct obj *m = obj_module(e, "tl.PropagateNan");
            m->module.find = find_nan_word;
            return m;
        }
        if (strcmp(name, "TRITON_MAX_TENSOR_NUMEL") == 0)
            return obj_constexpr(e, obj_int(e, TENSOR_ELEMS_MOST));
        if (strcmp(name, "CONSTEXPR_0") == 0) /* the default value of tl.sort's parameter `descending` */
            return obj_constexpr(e, obj_int(e, 0));
        return find_dtype(e, name);
    }
    if ((where & IN_tools) && strcmp(name, "TensorDescriptor") == 0)
        return prelude_function(e, name);
    if ((where & IN_triton) && strcmp(name, "__version__") == 0)
        return obj_cstr(e, "3.7.0");
    if ((where & IN_triton) && e->host && strcmp(name, "testing") == 0)
        return find_module(e, "triton.testing", (struct loc){0});
    if ((where & IN_triton) && e->host && strcmp(name, "driver") == 0)
        return find_module(e, "triton.runtime.driver", (struct loc){0});
    return NULL;
}

static unsigned where_of(const struct obj *module)
{
    for (int i = 0; i < NMODULES; i++)
        if (strcmp(modules[i].name, module->module.name) == 0)
            return modules[i].where;
    return 0;
}

static struct obj *find_name(struct eval *e, const struct obj *module, const char *name)
{
    unsigned where = where_of(module);
    struct obj *x = row_object(e, find_row(name, where));
    return x ? x : find_value(e, where, name);
}

struct scope *builtins_names(struct eval *e, const struct obj *module)
{
    struct scope *s = scope_new(e, NULL);
    unsigned where = where_of(module);
    for (int i = 0; i < NROWS; i++)
        if (places[rows[i].place].where & where)
            scope_set(s, intern_str(e->strings, word_of(&rows[i])), obj_none);
    for (size_t i = 0; (where & IN_tl) && i < sizeof dtype_names / sizeof *dtype_names; i++)
        scope_set(s, intern_str(e->strings, dtype_names[i]), obj_none);
    return s;
}

const char *builtins_long_name(const char *name)
{
    static const char *const names[][2] = {
        {"fp16", "float16"},   {"bf16", "bfloat16"},
        {"fp32", "float32"},   {"fp64", "float64"},
        {"i1", "int1"},        {"i8", "int8"},
        {"i16", "int16"},      {"i32", "int32"},
        {"i64", "int64"},      {"u8", "uint8"},
        {"u16", "uint16"},     {"u32", "uint32"},
        {"u64", "uint64"},     {"fp8e4nv", "float8e4nv"},
        {"fp8e5", "float8e5"}, {"half", "float16"},
        {"float", "float32"},  {"double", "float64"},
        {"bool", "int1"},      {"long", "int64"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], name) == 0)
            return names[i][1];
    return NULL;
}

struct obj *builtins_module(struct eval *e, const char *dotted_name)
{
    int i = 0;
    while (i < NMODULES && strcmp(modules[i].name, dotted_name) != 0)
        i++;
    if (i == NMODULES)
        return NULL;
    struct obj *m = obj_module(e, modules[i].name);
    m->module.find = find_name;
    return m;
}

static struct obj *method_of(struct eval *e, struct obj *x, const struct row *r)
{
    return r ? obj_method(e, x, row_object(e, r)) : NULL;
}

struct obj *tensor_method(struct eval *e, struct obj *x, const char *name)
{
    return method_of(e, x, find_row(name, IN_method));
}

struct obj *descriptor_method(struct eval *e, struct obj *x, const char *name)
{
    return method_of(e, x, find_row(name, IN_descriptor));
}

struct obj *find_bare(struct eval *e, const char *name)
{
    return row_object(e, find_row(name, IN_bare));
}

struct obj *find_language(struct eval *e, const char *name)
{
    struct obj *x = row_object(e, find_row(name, IN_tl));
    return x ? x : find_value(e, IN_tl, name);
}

/* -- members of types -- */

static const struct lang_type *element_of(const struct lang_type *t)
{
    return t->kind == LT_ptr || t->kind == LT_block ? t->elem : t;
}

static struct obj *type_shape(struct eval *e, const struct lang_type *t)
{
    struct obj *items[RANK_MAX];
    int rank = t->kind == LT_block ? t->rank : 0;
    for (int i = 0; i < rank; i++)
        items[i] = obj_int(e, t->shape[i]);
    return obj_tuple(e, rank, items);
}

static int64_t type_numel(const struct lang_type *t)
{
    int64_t n = 1;
    for (int i = 0; t->kind == LT_block && i < t->rank; i++)
        n *= t->shape[i];
    return n;
}

/* For each float type: the number of stored mantissa bits (without the implicit bit), and the exponent's
 * bias. */
static const struct {
    int mantissa, bias;
} float_shape[DT_count] = {
    [DT_f8e4] = {3, 7},   [DT_f8e5] = {2, 15},  [DT_f16] = {10, 15},
    [DT_bf16] = {7, 127}, [DT_f32] = {23, 127}, [DT_f64] = {52, 1023},
};

static struct obj *number_attr(struct eval *e, const struct lang_type *s, const char *name)
{
    bool is_number_type = s->kind == LT_number;
    if (strcmp(name, "primitive_bitwidth") == 0)
        return obj_int(e, bits_of(s));
    if (strcmp(name, "itemsize") == 0)
        return obj_int(e, bits_of(s) / 8);
    if (strcmp(name, "int_bitwidth") == 0 && is_number_type && is_int_type(s))
        return obj_int(e, bits_of(s));
    if (strcmp(name, "fp_mantissa_width") == 0 && is_number_type && is_float_type(s))
        return obj_int(e, float_shape[s->dtype].mantissa);
    if (strcmp(name, "exponent_bias") == 0 && is_number_type && is_float_type(s))
        return obj_int(e, float_shape[s->dtype].bias);
    return NULL;
}

struct obj *builtins_type_attr(struct eval *e, struct obj *type, const char *name, struct loc at)
{
    const struct lang_type *t = type->type;
    (void)at;
    if (strcmp(name, "name") == 0 || strcmp(name, "__name__") == 0)
        return obj_cstr(e, lang_text(e, t));
    if (strcmp(name, "scalar") == 0)
        return obj_type(e, lang_scalar(t));
    if (strcmp(name, "element_ty") == 0 && (t->kind == LT_ptr || t->kind == LT_block))
        return obj_type(e, element_of(t));
    if (strcmp(name, "value") == 0 && t->kind == LT_const)
        return t->value;
    if (strcmp(name, "shape") == 0)
        return type_shape(e, t);
    if (strcmp(name, "numel") == 0)
        return obj_int(e, type_numel(t));
    struct obj *x = number_attr(e, lang_scalar(t), name);
    return x ? x : method_of(e, type, find_row(name, IN_type));
}

/* -- classes, for isinstance -- */

#define CLASSES(X)                                                                                           \
    X(tensor)                                                                                                \
    X(tuple) X(tensor_descriptor) X(constexpr) X(dtype) X(pointer_type) X(block_type) X(constexpr_type)

enum class {
#define X(word) CLASS_##word,
    CLASSES(X)
#undef X
        CLASS_none
};

static enum class find_class(const struct obj *x) {
    static const char *const names[] =
        {
#define X(word) PREFIX_constant #word,
            CLASSES(X)
#undef X
        };
    int i = 0;
    while (i < CLASS_none && (x->kind != OBJ_builtin || strcmp(x->builtin->name, names[i]) != 0)) i++;
    return (enum class)i;
}

bool builtins_is_class(const struct obj *x)
{
    return find_class(x) != CLASS_none;
}

bool builtins_isinstance(const struct eval *e, const struct obj *x, const struct obj *class)
{
    int kind = x->kind == OBJ_type ? (int)x->type->kind : -1;
    switch (find_class(class)) {
    case CLASS_tensor: return x->kind == OBJ_tensor || is_block_pointer(x);
    case CLASS_tuple: return x->kind == OBJ_tuple && !is_box(x);
    case CLASS_tensor_descriptor: return is_box(x) && !is_block_pointer(x);
    /* In a kernel, Triton passes the value of a constexpr to isinstance instead of the constexpr object. */
    case CLASS_constexpr: return x->is_constexpr && !e->trace;
    case CLASS_dtype: return kind >= 0 && kind != LT_const;
    case CLASS_pointer_type: return kind == LT_ptr;
    case CLASS_block_type: return kind == LT_block;
    case CLASS_constexpr_type: return kind == LT_const;
    case CLASS_none: break;
    }
    return false;
}

/* -- methods of types -- */

struct obj *builtin_type_is(struct eval *e, struct obj **args, const struct args *call)
{
    const struct lang_type *t = args[0]->type, *s = lang_scalar(t);
    const char *what = call->callee->data;
    (void)e;
    if (strcmp(what, "ptr") == 0)
        return obj_bool(t->kind == LT_ptr);
    if (strcmp(what, "block") == 0)
        return obj_bool(t->kind == LT_block);
    if (strcmp(what, "const") == 0)
        return obj_bool(t->kind == LT_ptr && t->is_const);
    if (strcmp(what, "floating") == 0)
        return obj_bool(is_float_type(s));
    if (strcmp(what, "standard_floating") == 0)
        return obj_bool(is_float_type(s) && !is_fp8_type(s));
    if (strcmp(what, "fp8") == 0)
        return obj_bool(is_fp8_type(s));
    if (strcmp(what, "int") == 0)
        return obj_bool(is_int_type(s));
    if (strcmp(what, "int_signed") == 0)
        return obj_bool(is_int_type(s) && !s->is_unsigned);
    if (strcmp(what, "int_unsigned") == 0)
        return obj_bool(is_int_type(s) && s->is_unsigned);
    return obj_bool(s->kind == LT_number && strcmp(lang_text(e, s), what) == 0);
}

/* Returns a value of Triton's enum dtype.KIND: 0 for boolean, 1 for integral, 2 for floating. */
struct obj *builtin_type_kind(struct eval *e, struct obj **args, const struct args *call)
{
    const struct lang_type *s = lang_scalar(args[0]->type);
    (void)call;
    return obj_int(e, is_dtype(s, DT_i1) ? 0 : is_int_type(s) ? 1 : 2);
}

struct obj *builtin_type_limit(struct eval *e, struct obj **args, const struct args *call)
{
    const struct lang_type *s = lang_scalar(args[0]->type);
    bool is_min = strcmp(call->callee->data, "min") == 0;
    if (!is_int_type(s))
        eval_raise(e, call->loc, "AttributeError", ERR_wants_dtype, lang_text(e, s));
    if (is_min)
        return obj_int(e, s->is_unsigned ? 0 : -((wide)1 << (bits_of(s) - 1)));
    return obj_int(e, ((wide)1 << (bits_of(s) - !s->is_unsigned)) - 1);
}

struct obj *builtin_pointer_type(struct eval *e, struct obj **args, const struct args *call)
{
    const struct lang_type *t = arg_dtype(e, args[0], arg_loc(call, 0, "element_ty"));
    return t ? obj_type(e, lang_ptr(e, t, obj_truth(e, args[2], call->loc))) : obj_error;
}

struct obj *builtin_constexpr_type(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = trace_constexpr(e, args[0], call->loc);
    return is_error(x) ? x : obj_type(e, lang_const(e, x));
}

struct obj *builtin_block_type(struct eval *e, struct obj **args, const struct args *call)
{
    const struct lang_type *t = arg_dtype(e, args[0], arg_loc(call, 0, "element_ty"));
    int shape[RANK_MAX], rank = t ? arg_shape(e, args[1], arg_loc(call, 1, "shape"), shape) : -1;
    return rank < 0 ? obj_error : obj_type(e, lang_block(e, t, rank, shape));
}

struct obj *builtin_str_to_ty(struct eval *e, struct obj **args, const struct args *call)
{
    const struct lang_type *t = arg_dtype(e, args[0], arg_loc(call, 0, "name"));
    return t ? obj_type(e, t) : obj_error;
}

struct obj *builtin_get_int_dtype(struct eval *e, struct obj **args, const struct args *call)
{
    int64_t bits;
    bool is_signed;
    if (!arg_int(e, args[0], "bitwidth", arg_loc(call, 0, "bitwidth"), &bits) ||
        !arg_bool(e, args[1], "signed", arg_loc(call, 1, "signed"), &is_signed))
        return obj_error;
    for (int d = DT_i1; d <= DT_i64; d++)
        if (dtype_info[d].bits == bits)
            return obj_type(e, lang_number(e, (enum dtype)d, !is_signed || d == DT_i1));
    eval_raise(e, call->loc, "ValueError", ERR_no_int_type, bits);
}

/* -- constants -- */

/* Implements tl.constexpr(x). As in Triton, a value known only at run time is no error, and stays what it is. */
struct obj *builtin_constexpr(struct eval *e, struct obj **args, const struct args *call)
{
    bool is_known = args[0]->kind != OBJ_tensor || args[0]->tensor.constant;
    return is_known ? trace_constexpr(e, args[0], call->loc) : args[0];
}

struct obj *builtin_tuple(struct eval *e, struct obj **args, const struct args *call)
{
    if (args[0]->kind == OBJ_tuple)
        return args[0];
    if (args[0]->kind == OBJ_list)
        return obj_tuple(e, args[0]->seq.n, args[0]->seq.at);
    eval_raise(e, call->loc, "TypeError", ERR_unpack_kind, obj_type_name(args[0]));
}

struct obj *builtin_log2_of_const(struct eval *e, struct obj **args, const struct args *call)
{
    int64_t x, n = 0;
    if (!arg_int(e, args[0], "_log2", call->loc, &x))
        return obj_error;
    while (x > 1) {
        x >>= 1;
        n++;
    }
    return obj_constexpr(e, obj_int(e, n));
}

struct obj *builtin_launch_size(struct eval *e, struct obj **args, const struct args *call)
{
    bool threads = strcmp(call->callee->data, "threads") == 0;
    (void)args;
    return obj_int(e, e->trace->func->num_warps * (threads ? 32 : 1));
}

/* Builds an op without operands that reads a counter or register of the GPU, and returns the op's result. */
static struct obj *read_register(struct eval *e, enum opcode code, enum dtype dt, struct loc at)
{
    const struct lang_type *t = lang_number(e, dt, false);
    const struct type *ir = lang_ir(e->trace->module, t);
    struct op *o = build_op(trace_builder(e, at), code, 0, NULL, 1, &ir, 0);
    return tensor_new(e, op_result(o), t, 0, NULL);
}

struct obj *builtin_globaltimer(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args;
    return read_register(e, OP_clock, DT_i64, call->loc);
}

struct obj *builtin_smid(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args;
    return read_register(e, OP_sm_id, DT_i32, call->loc);
}

/* Implements a builtin by a function of prelude.py. The column `data` of the builtin's row is the function's
 * name. */
struct obj *builtin_prelude(struct eval *e, struct obj **args, const struct args *call)
{
    int n = *call->callee->params ? 1 : 0;
    for (const char *s = call->callee->params; *s; s++)
        n += *s == ',';
    return trace_call_prelude(e, call->callee->data, n, args, call->loc);
}

/* -- help -- */

void builtins_help(struct text *out)
{
    for (int i = 0; i < NROWS; i++) {
        const struct row *r = &rows[i];
        if (r->place == PLACE_hidden)
            continue;
        text_printf(out, "%s%s(%s)%s\n", places[r->place].prefix, word_of(r), parameters_of(r),
                    r->run == builtin_unsupported ? "   known, not supported" : "");
    }
}
