/* SPDX-License-Identifier: MIT */
/* memory.c: implements tl.load, tl.store and atomics.
 *
 *     tl.load(p + offs, mask=offs < n, other=0.0)      %load = load %addptr, %cmp, %const : tile<512xf32>
 *
 * A bool occupies a byte in memory: a load of a bool reads an i8 and compares it with 0, and a store writes an i8. */
#include "frontend/builtins/handlers.h"

#include <string.h>

/* -- pointers, masks, values -- */

/* Checks that x is a pointer or a block of pointers, and, if `writes` is true, that stores through x are
 * allowed. Returns x; NULL after an error, which it reports. */
static struct obj *arg_pointer(struct eval *e, struct obj *x, const struct args *call, bool writes)
{
    struct loc at = trace_loc(e, arg_loc(call, 0, "pointer"));
    if (x->kind != OBJ_tensor || !is_ptr_type(scalar_of(x))) {
        if (is_error(x))
            return NULL;
        diag_error(e->diag, at, ERR_not_pointer, call->callee->name, type_text(e, x));
        diag_hint(e->diag, ERR_hint_pointer);
        return NULL;
    }
    if (writes && scalar_of(x)->is_const) {
        diag_error(e->diag, at, ERR_const_store);
        return NULL;
    }
    return x;
}

/* Sets *stored to the type that the pointee has in memory. If p points to bools, returns p cast to pointers to int8;
 * otherwise returns p. */
static struct obj *as_stored(struct eval *e, struct obj *p, const struct lang_type **stored, struct loc at)
{
    *stored = scalar_of(p)->elem;
    if (!is_dtype(*stored, DT_i1))
        return p;
    *stored = lang_number(e, DT_i8, false);
    return tensor_cast(e, p, lang_ptr(e, *stored, false), ROUND_none, false, at);
}

/* If p is a scalar pointer, checks that x is a scalar too. If x is a block, reports `error` and returns
 * false. */
static bool check_no_block(struct eval *e, const struct obj *p, const struct obj *x, enum error error,
                           struct loc at)
{
    if (rank_of(p) || !rank_of(x))
        return true;
    diag_error(e->diag, trace_loc(e, at), error);
    return false;
}

/* Converts x, argument i of the call, to a tensor, checks that it is a mask for the pointer p, and stores it
 * in *mask. If x is None, stores NULL. Returns false after an error, which it reports. */
static bool arg_mask(struct eval *e, struct obj *x, const struct obj *p, const struct args *call, int i,
                     struct obj **mask)
{
    *mask = NULL;
    if (x->kind == OBJ_none)
        return true;
    struct loc at = arg_loc(call, i, "mask");
    if (!(x = arg_tensor(e, x, call, i, "mask")))
        return false;
    if (!is_dtype(scalar_of(x), DT_i1)) {
        diag_error(e->diag, trace_loc(e, at), ERR_mask_type, type_text(e, x));
        diag_hint(e->diag, ERR_hint_compare_zero);
        return false;
    }
    *mask = x;
    return check_no_block(e, p, x, ERR_mask_block, at);
}

/* Checks that the call does not pass boundary_check (argument i of the call) or padding_option (argument i +
 * 1), which are only for block pointers. Returns false after an error, which it reports. */
static bool check_no_block_options(struct eval *e, struct obj *boundary, struct obj *padding,
                                   const struct args *call, int i)
{
    bool has_boundary = (boundary->kind == OBJ_tuple || boundary->kind == OBJ_list) && boundary->seq.n > 0;
    bool has_padding = padding && padding->kind == OBJ_str && padding->str.n > 0;
    if (!has_boundary && !has_padding)
        return true;
    const char *name = has_boundary ? "boundary_check" : "padding_option";
    diag_error(e->diag, trace_loc(e, arg_loc(call, has_boundary ? i : i + 1, name)), ERR_block_pointer_option,
               name);
    return false;
}

struct access {
    int cache, evict;
    bool is_volatile;
    bool is_block; /* the access is through a block pointer, which determines the mask */
};

static bool arg_options(struct eval *e, struct obj *cache, struct obj *evict, const struct args *call, int i,
                        const char *const *caches, struct access *out)
{
    static const char *const evicts[] = {"normal", "first", "last", NULL};
    return arg_word(e, cache, caches, ".", ERR_cache_word, arg_loc(call, i, "cache_modifier"), &out->cache) &&
           arg_word(e, evict, evicts, "evict_", ERR_evict_word, arg_loc(call, i + 1, "eviction_policy"),
                    &out->evict);
}

/* -- load -- */

static struct obj *load(struct eval *e, struct obj *p, struct obj *mask, struct obj *other,
                        const struct access *a, struct loc at)
{
    static const enum cache caches[] = {CACHE_none, CACHE_ca, CACHE_cg, CACHE_cs, CACHE_cv};
    const struct lang_type *elem = scalar_of(p)->elem, *stored;
    p = as_stored(e, p, &stored, at);
    if (mask)
        tensor_broadcast(e, &p, &mask, at);
    if (other && !is_error(p)) {
        other =
            tensor_cast(e, tensor_cast(e, other, elem, ROUND_none, false, at), stored, ROUND_none, false, at);
        if (!is_error(other))
            tensor_broadcast(e, &p, &other, at);
        if (mask && !is_error(other))
            mask = tensor_to_block(e, mask, rank_of(p), shape_of(p), at);
    }
    if (is_error(p) || (other && is_error(other)))
        return obj_error;
    struct value *v = build_load(trace_builder(e, at), p->tensor.value, mask ? mask->tensor.value : NULL,
                                 other ? other->tensor.value : NULL);
    op_set_int(v->def, ATTR_cache, caches[a->cache]);
    op_set_int(v->def, ATTR_evict, a->evict);
    op_set_int(v->def, ATTR_volatile, a->is_volatile);
    if (mask && !other && !a->is_block)
        *map_at_ptr(e->trace->masked_loads, v->def) = v->def;
    return tensor_cast(e, tensor_like(e, p, v, stored), elem, ROUND_none, false, at);
}

/* Loads through pointers. If is_block is true, load_block has computed the pointers and the mask from a block
 * pointer. */
static struct obj *load_pointers(struct eval *e, struct obj **args, const struct args *call, bool is_block)
{
    static const char *const caches[] = {"", "ca", "cg", "cs", "cv", NULL};
    struct access a = {.is_block = is_block};
    struct obj *p = arg_pointer(e, args[0], call, false), *mask, *other = NULL;
    if (!p || !check_no_block_options(e, args[3], args[4], call, 3) ||
        !arg_mask(e, args[1], p, call, 1, &mask) || !arg_options(e, args[5], args[6], call, 5, caches, &a) ||
        !arg_bool(e, args[7], "volatile", arg_loc(call, 7, "volatile"), &a.is_volatile))
        return obj_error;
    if (args[2]->kind != OBJ_none) {
        struct loc at = arg_loc(call, 2, "other");
        if (!mask) {
            diag_error(e->diag, trace_loc(e, at), ERR_other_without_mask);
            return obj_error;
        }
        other = is_number(args[2]) ? args[2] : arg_tensor(e, args[2], call, 2, "other");
        if (!other || !check_no_block(e, p, other, ERR_value_block, at))
            return obj_error;
    }
    return load(e, p, mask, other, &a, call->loc);
}

/* Checks that x, argument i (`mask` or `other`) of a load or store through a block pointer, is None. Such an
 * access takes no mask, because the pointer's shape and boundary_check determine the mask. Returns false
 * after an error, which it reports. */
static bool check_no_mask(struct eval *e, struct obj *x, const char *name, const struct args *call, int i)
{
    if (x->kind != OBJ_none)
        diag_error(e->diag, trace_loc(e, arg_loc(call, i, name)), ERR_block_pointer_mask, name);
    return x->kind == OBJ_none;
}

static struct obj *load_block(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *plain[8];
    if (!check_no_mask(e, args[1], "mask", call, 1) || !check_no_mask(e, args[2], "other", call, 2))
        return obj_error;
    memcpy(plain, args, sizeof plain);
    plain[3] = plain[4] = obj_none;
    return block_pointer_access(e, args[0], args[3], args[4], call, 3, &plain[0], &plain[1], &plain[2])
               ? load_pointers(e, plain, call, true)
               : obj_error;
}

struct obj *builtin_load(struct eval *e, struct obj **args, const struct args *call)
{
    return is_block_pointer(args[0]) ? load_block(e, args, call) : load_pointers(e, args, call, false);
}

/* -- store -- */

/* Broadcasts x to the pointer's shape; returns NULL after an error, which it reports. */
static struct obj *in_pointer_shape(struct eval *e, struct obj *x, const struct obj *p, const char *what,
                                    struct loc at)
{
    int rx = rank_of(x), rp = rank_of(p);
    bool fits = rx <= rp;
    for (int i = 0; fits && i < rx; i++)
        fits = shape_of(x)[i] == 1 || shape_of(x)[i] == shape_of(p)[rp - rx + i];
    if (fits)
        return tensor_to_block(e, x, rp, shape_of(p), at);
    diag_error(e->diag, trace_loc(e, at), ERR_pointer_shape, what, shape_text(e, rx, shape_of(x)),
               shape_text(e, rp, shape_of(p)));
    return NULL;
}

/* Returns the value to store, cast to the type in memory and broadcast to the pointer's shape; NULL after an
 * error, which it reports. */
static struct obj *arg_stored(struct eval *e, struct obj *x, const struct obj *p,
                              const struct lang_type *stored, const struct args *call)
{
    struct loc at = arg_loc(call, 1, "value");
    if (!is_number(x) && !(x = arg_tensor(e, x, call, 1, "value")))
        return NULL;
    if (!check_no_block(e, p, x, ERR_value_block, at))
        return NULL;
    x = tensor_cast(e, x, stored, ROUND_none, false, at);
    return is_error(x) ? NULL : in_pointer_shape(e, x, p, "the value", at);
}

static struct obj *store_block(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *plain[6], *unused;
    if (!check_no_mask(e, args[2], "mask", call, 2))
        return obj_error;
    memcpy(plain, args, sizeof plain);
    plain[3] = obj_none;
    return block_pointer_access(e, args[0], args[3], obj_none, call, 3, &plain[0], &plain[2], &unused)
               ? builtin_store(e, plain, call)
               : obj_error;
}

struct obj *builtin_store(struct eval *e, struct obj **args, const struct args *call)
{
    if (is_block_pointer(args[0]))
        return store_block(e, args, call);
    static const char *const caches[] = {"", "wb", "cg", "cs", "wt", NULL};
    static const enum cache meaning[] = {CACHE_none, CACHE_wb, CACHE_cg, CACHE_cs, CACHE_wt};
    struct access a = {0};
    const struct lang_type *stored;
    struct obj *p = arg_pointer(e, args[0], call, true), *mask;
    if (!p || !check_no_block_options(e, args[3], NULL, call, 3) ||
        !arg_mask(e, args[2], p, call, 2, &mask) || !arg_options(e, args[4], args[5], call, 4, caches, &a))
        return obj_error;
    p = as_stored(e, p, &stored, call->loc);
    struct obj *x = arg_stored(e, args[1], p, stored, call);
    if (!x || (mask && !(mask = in_pointer_shape(e, mask, p, "the mask", arg_loc(call, 2, "mask")))))
        return obj_error;
    struct op *o = build_store(trace_builder(e, call->loc), p->tensor.value, x->tensor.value,
                               mask ? mask->tensor.value : NULL);
    op_set_int(o, ATTR_cache, meaning[a.cache]);
    op_set_int(o, ATTR_evict, a.evict);
    return obj_none;
}

/* -- atomics -- */

/* Bits for the element types that an atomic supports. */
enum {
    ATOMIC_ints = 1,         /* integers of 32 and 64 bits */
    ATOMIC_halves = 2,       /* f16 and bf16 */
    ATOMIC_floats = 4,       /* f32 and f64 */
    ATOMIC_boxed_halves = 8, /* f16 and bf16, but only through a tensor descriptor */
};

/* clang-format off */
/* The columns are the name, the operations on signed integers, on unsigned integers and on floats, and the allowed
 * types. */
static const struct atomic {
    const char *name;
    enum rmw on_signed, on_unsigned, on_float;
    unsigned types;
} atomics[] = {
    {"add",  RMW_add,  RMW_add,  RMW_fadd, ATOMIC_ints | ATOMIC_halves | ATOMIC_floats},
    {"max",  RMW_maxs, RMW_maxu, RMW_fmax, ATOMIC_ints | ATOMIC_floats | ATOMIC_boxed_halves},
    {"min",  RMW_mins, RMW_minu, RMW_fmin, ATOMIC_ints | ATOMIC_floats | ATOMIC_boxed_halves},
    {"and",  RMW_and,  RMW_and,  RMW_and,  ATOMIC_ints},
    {"or",   RMW_or,   RMW_or,   RMW_or,   ATOMIC_ints},
    {"xor",  RMW_xor,  RMW_xor,  RMW_xor,  ATOMIC_ints},
    {"xchg", RMW_xchg, RMW_xchg, RMW_xchg, ATOMIC_ints | ATOMIC_floats},
};
/* clang-format on */

static const struct atomic *find_atomic(const char *name)
{
    const struct atomic *a = atomics;
    while (strcmp(a->name, name) != 0)
        a++;
    return a;
}

/* Returns whether the atomic operation a supports elements of type t. */
static bool takes(const struct atomic *a, const struct lang_type *t, bool is_boxed)
{
    if (is_int_type(t))
        return bits_of(t) >= 32 && (a->types & ATOMIC_ints);
    if (is_dtype(t, DT_f16) || is_dtype(t, DT_bf16))
        return a->types & (is_boxed ? ATOMIC_halves | ATOMIC_boxed_halves : ATOMIC_halves);
    return (is_dtype(t, DT_f32) || is_dtype(t, DT_f64)) && (a->types & ATOMIC_floats);
}

static bool arg_order(struct eval *e, struct obj *sem, struct obj *scope, const struct args *call, int i,
                      int *out_sem, int *out_scope)
{
    return arg_word(e, sem, attr_words(ATTRK_sem), "", ERR_sem_word, arg_loc(call, i, "sem"), out_sem) &&
           arg_word(e, scope, attr_words(ATTRK_scope), "", ERR_scope_word, arg_loc(call, i + 1, "scope"),
                    out_scope);
}

/* Builds an atomic op. `opnds` has n entries; NULL entries at the end stand for absent operands. Stores the
 * op in *out, and returns the op's result. */
static struct obj *atomic_op(struct eval *e, enum opcode code, int n, struct value *const *opnds,
                             const struct obj *p, int sem, int scope, struct op **out, struct loc at)
{
    while (!opnds[n - 1])
        n--;
    const struct type *ptr = opnds[0]->type;
    const struct type *t = type_with_elem(e->trace->module, ptr, type_elem(ptr)->elem);
    struct op *o = build_op(trace_builder(e, at), code, n, opnds, 1, &t, 0);
    op_set_int(o, ATTR_sem, sem);
    op_set_int(o, ATTR_scope, scope);
    *out = o;
    return tensor_like(e, p, op_result(o), scalar_of(p)->elem);
}

struct obj *atomic_update(struct eval *e, struct obj **args, const struct args *call, bool is_boxed)
{
    const struct atomic *a = find_atomic(call->callee->data);
    struct obj *p = arg_pointer(e, args[0], call, true), *mask;
    int sem, scope;
    if (!p || !arg_mask(e, args[2], p, call, 2, &mask) ||
        !arg_order(e, args[3], args[4], call, 3, &sem, &scope))
        return obj_error;
    const struct lang_type *t = scalar_of(p)->elem;
    if (!takes(a, t, is_boxed)) {
        diag_error(e->diag, trace_loc(e, call->loc), ERR_atomic_type, call->callee->name, lang_text(e, t));
        return obj_error;
    }
    struct obj *x = arg_stored(e, args[1], p, t, call);
    if (!x || (mask && !(mask = in_pointer_shape(e, mask, p, "the mask", arg_loc(call, 2, "mask")))))
        return obj_error;
    struct value *opnds[] = {p->tensor.value, x->tensor.value, mask ? mask->tensor.value : NULL};
    struct op *o;
    struct obj *old = atomic_op(e, OP_atomic_rmw, 3, opnds, p, sem, scope, &o, call->loc);
    op_set_int(o, ATTR_rmw, is_float_type(t) ? a->on_float : t->is_unsigned ? a->on_unsigned : a->on_signed);
    return old;
}

struct obj *builtin_atomic_rmw(struct eval *e, struct obj **args, const struct args *call)
{
    return atomic_update(e, args, call, false);
}

/* Converts x, the argument cmp or val, to the pointer's shape. Also converts a number to the pointee's type; a tensor
 * must already have this type. Returns NULL after an error, which it reports. */
static struct obj *arg_compared(struct eval *e, struct obj *x, const struct obj *p, const struct args *call,
                                int i, const char *name)
{
    const struct lang_type *t = scalar_of(p)->elem;
    struct loc at = arg_loc(call, i, name);
    x = is_number(x) ? tensor_cast(e, x, t, ROUND_none, false, at) : arg_tensor(e, x, call, i, name);
    if (!x || is_error(x) || !check_no_block(e, p, x, ERR_value_block, at))
        return NULL;
    if (!lang_equal(scalar_of(x), t)) {
        diag_error(e->diag, trace_loc(e, at), ERR_dtypes_differ, call->callee->name,
                   lang_text(e, scalar_of(x)), lang_text(e, t));
        return NULL;
    }
    return in_pointer_shape(e, x, p, name, at);
}

struct obj *builtin_atomic_cas(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *p = arg_pointer(e, args[0], call, true);
    int sem, scope;
    if (!p || !arg_order(e, args[3], args[4], call, 3, &sem, &scope))
        return obj_error;
    if (bits_of(scalar_of(p)->elem) < 16) {
        diag_error(e->diag, trace_loc(e, call->loc), ERR_atomic_cas_type, lang_text(e, scalar_of(p)->elem));
        return obj_error;
    }
    struct obj *cmp = arg_compared(e, args[1], p, call, 1, "cmp"),
               *val = cmp ? arg_compared(e, args[2], p, call, 2, "val") : NULL;
    if (!val)
        return obj_error;
    struct op *o;
    struct value *opnds[] = {p->tensor.value, cmp->tensor.value, val->tensor.value};
    return atomic_op(e, OP_atomic_cas, 3, opnds, p, sem, scope, &o, call->loc);
}
