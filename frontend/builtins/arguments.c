/* SPDX-License-Identifier: MIT */
/* arguments.c: converts arguments of builtins to constants, types, shapes, axes or tensors. Each function reports an
 * argument of the wrong kind as an error at the argument's location. */
#include "frontend/builtins/handlers.h"

#include <string.h>

struct loc arg_loc(const struct args *call, int i, const char *name)
{
    if (i < call->n)
        return call->locs[i];
    for (int k = 0; k < call->nkw; k++)
        if (strcmp(call->kw[k], name) == 0)
            return call->locs[call->n + k];
    return call->loc;
}

static bool not_constant(struct eval *e, const struct obj *x, const char *what, struct loc at)
{
    const struct op *def = x->tensor.value->def;
    diag_error(e->diag, trace_loc(e, at), ERR_not_constant, what);
    if (def && def->loc.line && (def->loc.line != at.line || def->loc.col != at.col))
        diag_note(e->diag, def->loc, ERR_note_computed_here);
    diag_hint(e->diag, ERR_hint_constexpr_param);
    return false;
}

bool arg_int(struct eval *e, struct obj *x, const char *what, struct loc at, int64_t *out)
{
    if (obj_as_int(x, out))
        return true;
    if (x->kind == OBJ_tensor)
        return not_constant(e, x, what, at);
    if (!is_error(x))
        diag_error(e->diag, trace_loc(e, at), ERR_wants_int, what, type_text(e, x));
    return false;
}

bool arg_bool(struct eval *e, struct obj *x, const char *what, struct loc at, bool *out)
{
    if (x->kind == OBJ_tensor && x->tensor.constant)
        x = x->tensor.constant;
    if (x->kind == OBJ_tensor)
        return not_constant(e, x, what, at);
    *out = false;
    if (x->kind == OBJ_none || is_number(x)) {
        *out = obj_truth(e, x, at);
        return true;
    }
    if (!is_error(x))
        diag_error(e->diag, trace_loc(e, at), ERR_wants_bool, what, type_text(e, x));
    return false;
}

bool arg_string(struct eval *e, struct obj *x, const char *what, struct loc at, const char **out)
{
    *out = x->kind == OBJ_str ? x->str.s : "";
    if (x->kind == OBJ_str || x->kind == OBJ_none)
        return true;
    if (!is_error(x))
        diag_error(e->diag, trace_loc(e, at), ERR_wants_string, what, type_text(e, x));
    return false;
}

struct obj *arg_tensor(struct eval *e, struct obj *x, const struct args *call, int i, const char *name)
{
    if (x->kind == OBJ_tensor)
        return x;
    if (is_number(x)) {
        x = to_tensor(e, x, arg_loc(call, i, name));
        return is_error(x) ? NULL : x;
    }
    if (!is_error(x))
        diag_error(e->diag, trace_loc(e, arg_loc(call, i, name)), ERR_wants_tensor, name, call->callee->name,
                   type_text(e, x));
    return NULL;
}

struct obj *arg_block(struct eval *e, struct obj *x, const struct args *call, int i, const char *name)
{
    x = arg_tensor(e, x, call, i, name);
    if (x && rank_of(x) > 0)
        return x;
    if (x)
        diag_error(e->diag, trace_loc(e, arg_loc(call, i, name)), ERR_wants_block, call->callee->name,
                   type_text(e, x));
    return NULL;
}

const struct lang_type *arg_dtype(struct eval *e, struct obj *x, struct loc at)
{
    if (x->kind == OBJ_type && x->type->kind != LT_void && x->type->kind != LT_const)
        return x->type;
    const struct lang_type *t = x->kind == OBJ_str ? lang_parse(e, x->str.s, x->str.n) : NULL;
    if (t)
        return t;
    if (is_unsupported(x))
        diag_error(e->diag, trace_loc(e, at), ERR_not_supported, x->builtin->name);
    else if (!is_error(x))
        diag_error(e->diag, trace_loc(e, at), ERR_wants_dtype, type_text(e, x));
    return NULL;
}

void arg_items(struct obj *x, int *n, struct obj ***items)
{
    if (x->seq.n == 1 && (x->seq.at[0]->kind == OBJ_tuple || x->seq.at[0]->kind == OBJ_list))
        x = x->seq.at[0];
    *n = x->seq.n;
    *items = x->seq.at;
}

int64_t numel(int rank, const int *shape)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= shape[i];
    return n;
}

bool check_numel(struct eval *e, int rank, const int *shape, struct loc at)
{
    if (rank > RANK_MAX) {
        diag_error(e->diag, trace_loc(e, at), ERR_rank_limit, RANK_MAX);
        return false;
    }
    if (numel(rank, shape) <= TENSOR_ELEMS_MOST)
        return true;
    diag_error(e->diag, trace_loc(e, at), ERR_shape_numel, numel(rank, shape));
    return false;
}

const char *shape_text(struct eval *e, int rank, const int *shape)
{
    struct text out;
    text_init(&out, e->arena);
    text_char(&out, '[');
    for (int i = 0; i < rank; i++)
        text_printf(&out, "%s%d", i ? ", " : "", shape[i]);
    text_char(&out, ']');
    return out.s;
}

static bool shape_item(struct eval *e, struct obj *x, int i, struct loc at, int *out)
{
    int64_t n;
    if (is_error(x))
        return false;
    if (!obj_as_int(x, &n)) {
        diag_error(e->diag, trace_loc(e, at), ERR_shape_item, i, type_text(e, x));
        if (x->kind == OBJ_tensor)
            diag_hint(e->diag, ERR_hint_constexpr_param);
        return false;
    }
    if (n < 1 || (n & (n - 1))) {
        diag_error(e->diag, trace_loc(e, at), ERR_shape_power, i, n);
        return false;
    }
    if (n > TENSOR_ELEMS_MOST)
        diag_error(e->diag, trace_loc(e, at), ERR_shape_numel, n);
    *out = (int)n;
    return n <= TENSOR_ELEMS_MOST;
}

int arg_shape(struct eval *e, struct obj *x, struct loc at, int *shape)
{
    struct obj **items = &x;
    int n = 1;
    int64_t total = 1;
    if (x->kind == OBJ_tuple || x->kind == OBJ_list)
        arg_items(x, &n, &items);
    if (n > RANK_MAX) {
        diag_error(e->diag, trace_loc(e, at), ERR_rank_limit, RANK_MAX);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        if (!shape_item(e, items[i], i, at, &shape[i]))
            return -1;
        total *= shape[i];
        if (total > TENSOR_ELEMS_MOST) {
            diag_error(e->diag, trace_loc(e, at), ERR_shape_numel, total);
            return -1;
        }
    }
    return n;
}

bool arg_axis(struct eval *e, struct obj *x, int rank, struct loc at, int *axis)
{
    int64_t i;
    if (!arg_int(e, x, "axis", at, &i))
        return false;
    if (i < -rank || i >= rank) {
        diag_error(e->diag, trace_loc(e, at), ERR_axis_range, i, rank);
        return false;
    }
    *axis = (int)(i < 0 ? i + rank : i);
    return true;
}

/* Returns a list of the words for a message, each with the prefix: "'.ca', '.cg' or '.cv'". Skips the word "". */
static const char *list_words(struct eval *e, const char *const *words, const char *prefix)
{
    struct text out;
    text_init(&out, e->arena);
    for (int i = **words ? 0 : 1; words[i]; i++)
        text_printf(&out, "%s'%s%s'", !out.len ? "" : words[i + 1] ? ", " : " or ", prefix, words[i]);
    return out.s;
}

bool arg_word(struct eval *e, struct obj *x, const char *const *words, const char *prefix, enum error error,
              struct loc at, int *out)
{
    const char *s;
    *out = 0;
    if (!arg_string(e, x, "this option", at, &s))
        return false;
    if (!*s)
        return true;
    size_t n = strlen(prefix);
    for (int i = 0; strncmp(s, prefix, n) == 0 && words[i]; i++)
        if (strcmp(s + n, words[i]) == 0) {
            *out = i;
            return true;
        }
    diag_error(e->diag, trace_loc(e, at), error, s, list_words(e, words, prefix));
    return false;
}

bool arg_nan(struct eval *e, struct obj *x, struct loc at, bool *propagate)
{
    static const char *const words[] = {"NONE", "ALL", NULL};
    int i = 0;
    if (x->kind == OBJ_str ? !arg_word(e, x, words, "", ERR_nan_word, at, &i) : x->kind != OBJ_none) {
        if (x->kind != OBJ_str)
            diag_error(e->diag, trace_loc(e, at), ERR_nan_word);
        return false;
    }
    *propagate = i;
    return true;
}
