/* SPDX-License-Identifier: MIT */
/* contracts.c: checks that the passes may run in the given order, and that the function has the properties
 * that the passes claim to provide.
 *
 *     allocate_shared   provides offsets, breaks barriers          allocate_shared, insert_barriers    right
 *     insert_barriers   needs offsets, provides barriers     =>    insert_barriers, allocate_shared    refused
 *     code generation   needs offsets, barriers                    allocate_shared                     refused
 *
 * The driver checks the order before the first pass runs. For this it looks only at the table of passes and
 * at the ops that the function has before the first pass. If no pass of the list provides a property, the
 * driver assumes that the function has the property already, unless an op contradicts a property of kind
 * `must`. If a pass of the list provides a property, this pass must precede the passes that need the
 * property. If a pass ran before the IR was printed and read back, the list need not contain the pass again.
 *
 * It is an error if a pass needs a missing property of kind `must`. If the missing property is of kind
 * `order`, and no pass of the list provides it, the pass that needs it runs and optimizes less. If only a
 * later pass of the list provides it, or if a pass in between has broken it again, the order of the list is
 * wrong, which is an error.
 *
 * In debug builds, and under --verify-each, the driver searches after each pass for ops that contradict a
 * claimed property. */
#include "ir/target/fragments.h"
#include "opt/layout/layouts.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"
#include "opt/simplify/simplify.h"

#include <string.h>

const struct property_info property_info[PROPERTY_count] = {
#define PROPERTY(name, kind, find, meaning) {#name, #kind, meaning},
#include "opt/properties.h"
#undef PROPERTY
};

static const uint32_t DEGREES = P(traced) | P(laid_out) | P(scheduled),
                      ALL = (UINT32_C(1) << PROPERTY_count) - 1;

/* -- contradictions: each function find_... returns the first op that contradicts a property, or NULL -- */

struct search {
    bool (*contradicts)(const struct op *o);
    const struct op *found;
};

static void look_at(struct op *o, void *ctx)
{
    struct search *s = ctx;
    if (!s->found && s->contradicts(o))
        s->found = o;
}

static const struct op *find_op(struct func *f, bool (*contradicts)(const struct op *o))
{
    struct search s = {.contradicts = contradicts};
    func_walk(f, look_at, &s);
    return s.found;
}

static const struct op *find_nothing(struct func *f)
{
    (void)f;
    return NULL;
}

static const struct op *find_dead_op(struct func *f)
{
    return find_op(f, op_is_dead);
}

static const struct op *find_persistent_loop(struct func *f)
{
    return f->persistent ? f->body->first : NULL;
}

static const struct op *find_free_order(struct func *f)
{
    return find_op(f, op_has_free_order);
}

static bool is_narrow_dot(const struct op *o)
{
    return o->code == OP_dot && dot_is_narrow(o);
}

static const struct op *find_narrow_dot(struct func *f)
{
    return find_op(f, is_narrow_dot);
}

/* Returns whether the axis of o's operand is distributed over warps. An operand without a layout counts as
 * distributed. */
static bool has_axis_over_warps(const struct op *o)
{
    const struct layout *l = op_opnd(o, 0)->type->layout;
    int axis = (int)op_int(o, ATTR_axis), low = 0;
    for (int d = axis + 1; l && d < l->rank; d++)
        low += l->dim_bits[d];
    for (int i = 0; l && i < l->nbits[IN_warp]; i++)
        if (layout_basis(l, IN_warp, i) >> low & ((UINT32_C(1) << l->dim_bits[axis]) - 1))
            return true;
    return !l;
}

static bool is_scan_over_warps(const struct op *o)
{
    return o->code == OP_scan && has_axis_over_warps(o);
}

static const struct op *find_scan_over_warps(struct func *f)
{
    return find_op(f, is_scan_over_warps);
}

static bool is_reduce_over_warps(const struct op *o)
{
    return o->code == OP_reduce && has_axis_over_warps(o);
}

static const struct op *find_reduce_over_warps(struct func *f)
{
    return find_op(f, is_reduce_over_warps);
}

static bool is_tensor_store(const struct op *o)
{
    return o->code == OP_tensor_store;
}

static const struct op *find_tensor_store(struct func *f)
{
    return find_op(f, is_tensor_store);
}

static bool is_tensor_load(const struct op *o)
{
    return o->code == OP_tensor_load;
}

static const struct op *find_tensor_load(struct func *f)
{
    return find_op(f, is_tensor_load);
}

static bool is_unplaced_buffer(const struct op *o)
{
    return o->code == OP_shared_alloc && op_int(o, ATTR_offset) < 0;
}

static const struct op *find_unplaced_buffer(struct func *f)
{
    return find_op(f, is_unplaced_buffer);
}

static const struct op *find_unordered_access(struct func *f)
{
    return find_unplaced_buffer(f) ? f->body->first : barrier_missing(f);
}

static const struct op *(*const find[PROPERTY_count])(struct func *f) = {
#define PROPERTY(name, kind, find, meaning) find_##find,
#include "opt/properties.h"
#undef PROPERTY
};

static const struct op *contradiction(struct func *f, enum property p)
{
    struct arena_mark mark = arena_mark(f->module->scratch);
    const struct op *o = find[p](f);
    arena_reset(f->module->scratch, mark);
    return o;
}

/* -- the claims: the properties that f has, or that a pass has claimed to provide -- */

/* Returns whether p is of kind `order`: without p, the code is correct but slower. */
static bool is_order(enum property p)
{
    return strcmp(property_info[p].kind, "order") == 0;
}

uint32_t contract_behind(uint32_t claims, const struct pass_info *p)
{
    return (claims & ~p->breaks) | p->provides;
}

uint32_t contract_claims(struct func *f)
{
    uint32_t claims = UINT32_C(1) << f->degree;
    for (enum property p = 0; p < PROPERTY_count; p++)
        if (find[p] != find_nothing && !contradiction(f, p))
            claims |= UINT32_C(1) << p;
    return claims;
}

void contract_verify(struct func *f, uint32_t claims)
{
    for (enum property p = 0; p < PROPERTY_count; p++) {
        const struct op *o = claims >> p & 1 ? contradiction(f, p) : NULL;
        if (o)
            diag_bug(f->module->diag, o->loc, "%s contradicts property %s: %s", op_info[o->code].name,
                     property_info[p].name, property_info[p].meaning);
    }
}

/* -- checking the order of the passes -- */

struct check {
    struct func *func;
    const pass_list *list;
    uint32_t provided; /* properties that some pass of the list provides */
    uint32_t now;      /* properties that hold before the pass that is being checked */
    /* the properties that func is assumed to have before the first pass, except those that an already checked
     * pass provides or breaks; is_met searches func for ops that contradict these assumptions */
    uint32_t assumed;
};

static const struct pass_info *provider_of(enum property p)
{
    for (const struct pass_info *x = pass_info; x < pass_info + npasses; x++)
        if (x->provides >> p & 1)
            return x;
    return NULL;
}

/* Among the passes before pass i of the list, returns the last pass that breaks p, or NULL. */
static const struct pass_info *breaker_of(const struct check *c, enum property p, int i)
{
    while (i-- > 0)
        if (c->list->at[i]->breaks >> p & 1)
            return c->list->at[i];
    return NULL;
}

/* Returns whether the list need not contain pass x, because x provides only properties of kind `order`. */
static bool is_optional(const struct pass_info *x)
{
    for (enum property p = 0; p < PROPERTY_count; p++)
        if (x->provides >> p & 1 && !is_order(p))
            return false;
    return true;
}

/* Ends the compilation with the error that pass i of the list needs the missing property p. If i is the
 * length of the list, code generation needs p. */
static void refuse(const struct check *c, int i, enum property p)
{
    struct diag *d = c->func->module->diag;
    struct text who;
    text_init(&who, c->func->module->arena);
    text_printf(&who, "%s%s", i < c->list->n ? "pass " : "",
                i < c->list->n ? c->list->at[i]->name : "code generation");
    const struct pass_info *by = provider_of(p), *breaker = breaker_of(c, p, i);
    const char *name = property_info[p].name, *meaning = property_info[p].meaning;
    const struct loc nowhere = {0};
    if (by && breaker && c->provided >> p & 1)
        diag_fatal(d, nowhere, ERR_pass_between, who.s, name, meaning, breaker->name, by->name);
    if (by && c->provided >> p & 1)
        diag_fatal(d, nowhere, ERR_pass_behind, who.s, name, meaning, by->name);
    if (!by && breaker)
        diag_fatal(d, nowhere, ERR_pass_before, who.s, name, meaning, breaker->name);
    if (!by)
        diag_fatal(d, c->func->loc, ERR_pass_property, who.s, name, meaning, c->func->name);
    if (breaker && is_optional(breaker))
        diag_fatal(d, nowhere, ERR_pass_left_out_alone, by->name, who.s, name, meaning, breaker->name,
                   breaker->name);
    diag_fatal(d, nowhere, ERR_pass_left_out, by->name, who.s, name, meaning);
}

/* Returns whether a pass that needs property p may run. If the function lacks p, the pass may run only if p
 * is of kind `order` and no pass of the list provides p, although some other pass could. If the function is
 * only assumed to have p, and p is of kind `must`, the pass may run only if no op contradicts p. */
static bool is_met(const struct check *c, enum property p)
{
    const uint32_t bit = UINT32_C(1) << p;
    if (!(c->now & bit))
        return is_order(p) && !(c->provided & bit) && provider_of(p);
    return !(c->assumed & bit) || is_order(p) || !contradiction(c->func, p);
}

static void check_needs(const struct check *c, int i, uint32_t needs)
{
    for (enum property p = 0; p < PROPERTY_count; p++)
        if (needs >> p & 1 && !is_met(c, p))
            refuse(c, i, p);
}

void contract_check(struct func *f, const pass_list *list, uint32_t more)
{
    struct check c = {.func = f, .list = list};
    for (int i = 0; i < list->n; i++)
        c.provided |= list->at[i]->provides;
    c.assumed = ALL & ~DEGREES & ~c.provided;
    c.now = c.assumed | UINT32_C(1) << f->degree;
    for (int i = 0; i < list->n; i++) {
        const struct pass_info *x = list->at[i];
        check_needs(&c, i, x->needs);
        c.now = contract_behind(c.now, x);
        c.assumed &= ~(x->breaks | x->provides);
    }
    check_needs(&c, list->n, more);
}
