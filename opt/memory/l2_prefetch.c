/* SPDX-License-Identifier: MIT */
/* l2_prefetch.c: prefetches rows to the L2 cache before the programs that read them start.
 *
 *     %x = load (X + pid * stride + cols)            %x = load (X + pid * stride + cols)
 *     %s = reduce %x                          =>     prefetch X + (pid + n) * stride, bytes
 *                                                    %s = reduce %x
 *
 * Between its loads and its stores a program has no memory request in flight, and the number of registers limits how
 * many other programs share the SM. A prefetch needs no registers for the row, and one thread can prefetch a whole
 * row. The distance, n programs, is l2_prefetch_near_bytes or l2_prefetch_far_bytes divided by the size of a row
 * (ir/params.h). At a much shorter distance, a row would not be in L2 yet when its program starts. At a longer
 * distance, rows were evicted from L2 before their programs started. If many programs share an SM, some of them have
 * requests in flight at any time, and the pass does nothing. If at run time a row fills at most three quarters of its
 * tile, the distance is a third longer. The last programs of the grid prefetch nothing, because program pid
 * + n does not exist. The pass prefetches rows of later programs only if no program can return early and if
 * all rows have the same length.
 *
 *     for %i = 0 to N step 1024 {                    prefetch X + pid * stride, bytes
 *       %x = load (X + pid * stride + %i + cols)  =>  for %i = 0 to N step 1024 { ...
 *
 * A loop that reads its row tile by tile waits for each tile. So the program prefetches, before the loop, the first
 * l2_prefetch_loop_bytes of the row. If each iteration reduces a whole tile, the iteration also prefetches a later
 * tile of the row. The distance to this tile is l2_prefetch_loop_bytes, or one tile if tiles are longer, and the
 * prefetch before the loop then covers the tiles up to this distance. If several loops read the same row, the
 * row is in L2 when the last loop runs, so this loop needs no memory bandwidth for the row. If tiles are
 * long, the program uses the free bandwidth: before the last loop, it prefetches the first tile of a later
 * program's row.
 *
 * A load reads a row if four conditions hold. The address is a start plus columns. The start depends on the
 * program id of axis 0, but not on other program ids, loops or memory. The mask is absent, or is columns <
 * bound. Each thread loads vectors of 16 bytes. If a loop reads the row, the start must be computed before
 * the loop (licm.c moves this computation there). The pass changes kernels only for targets with TMA. The
 * pass does not change kernels that are persistent, run in clusters or have a producer warp. Needs: vector
 * widths, which show that the row is aligned. */
#include "opt/analysis/analysis.h"
#include "opt/passes.h"

enum { VECTOR_BYTES = 16 };

struct row {
    struct value *start, *cols, *bound; /* columns below `bound` exist; NULL: all `elems` columns exist */
    int64_t elems;                      /* the tile's columns; fewer if the bound is a smaller constant */
    int elem_bytes;
};

struct prefetcher {
    struct func *func;
    bool may_return; /* a program may return early, perhaps because its row does not exist */
};

/* Returns whether the load reads a row: its address is start + cols, and its mask is cols < bound. If so, fills
 * r. */
static bool row_of(const struct op *load, struct row *r)
{
    if (load->code != OP_load || op_int(load, ATTR_volatile))
        return false;
    const struct op *ptr = value_def_as(op_opnd(load, 0), OP_addptr);
    const struct op *start = ptr ? value_def_as(op_opnd(ptr, 0), OP_splat) : NULL;
    if (!start)
        return false;
    *r = (struct row){.start = op_opnd(start, 0), .cols = op_opnd(ptr, 1)};
    r->elems = type_elems(op_result(load)->type);
    r->elem_bytes = type_elem_bytes(op_result(load)->type);
    const struct op *mask = value_def_as(op_opnd(load, 1), OP_cmp);
    const struct op *bound = mask ? value_def_as(op_opnd(mask, 1), OP_splat) : NULL;
    int64_t most = r->elems;
    bool fixed = mask && value_const_int(op_opnd(mask, 1), &most) && most > 0;
    if (op_opnd(load, 1) &&
        (!(bound || fixed) || op_opnd(mask, 0) != r->cols || op_int(mask, ATTR_pred) != PRED_slt))
        return false;
    r->bound = bound ? op_opnd(bound, 0) : NULL;
    r->elems = fixed && most < r->elems ? most : r->elems;
    return op_int(load, ATTR_vec) * r->elem_bytes == VECTOR_BYTES &&
           value_depends_on(r->start, false) == DEPENDS_ON_axis_0;
}

static bool counts_from_0(const struct value *v)
{
    const struct op *o = value_def_as(v, OP_range);
    return o && op_int(o, ATTR_start) == 0;
}

/* -- rows of later programs -- */

/* Builds a prefetch of `most` elements from address `start`, or fewer if the row is shorter. If `exists` is
 * not NULL and is false at run time, the op prefetches nothing. */
static void prefetch(struct builder *b, const struct row *r, struct value *start, int64_t most,
                     struct value *exists)
{
    struct value *n = build_const_i32(b, most);
    n = r->bound ? build_binary(b, OP_mins, n, r->bound) : n;
    n = build_binary(b, OP_mul, n, build_const_i32(b, r->elem_bytes));
    n = build_binary(b, OP_and, n, build_const_i32(b, -VECTOR_BYTES));
    n = exists ? build_select(b, exists, n, build_const_i32(b, 0)) : n;
    build_op(b, OP_prefetch, 2, (struct value *[]){start, n}, 0, NULL, 0);
}

/* Returns the prefetch distance in bytes: the size of the rows between the program's row and the prefetched row.
 * Returns 0 if the program should prefetch no row. Prefetches gain most with many reductions, long rows and
 * narrow elements. A program has no request in flight during its reductions. If rows are long, few other
 * programs share the SM and have requests in flight during that time. If elements are narrow, each of these
 * programs has requested few bytes. If a program stores no row, it ends soon after its row has arrived, and
 * the next program on the SM loads at once. Prefetches made such kernels (sums, variances and argmax of rows)
 * 1 to 9 percent slower. */
static int64_t bytes_ahead(const struct func *f, const struct type *tile)
{
    int reductions = 0;
    bool writes = false;
    for (const struct op *o = f->body->first; o; o = o->next) {
        const struct value *whole = o->code == OP_reduce  ? op_opnd(o, 0)
                                    : o->code == OP_store ? op_opnd(o, 1)
                                                          : NULL;
        bool is_row = whole && type_elems(whole->type) >= type_elems(tile);
        reductions += is_row && o->code == OP_reduce;
        writes |= is_row && o->code == OP_store;
    }
    int64_t elems = writes ? reductions * type_elems(tile) / type_elem_bytes(tile) : 0;
    const struct params *params = f->module->params;
    return elems >= params->l2_prefetch_long_elems    ? params->l2_prefetch_far_bytes
           : elems >= params->l2_prefetch_short_elems ? params->l2_prefetch_near_bytes
                                                      : 0;
}

/* Builds the value of the prefetch distance in programs: n if the row fills most of its tile, and more
 * otherwise. */
static struct value *programs_ahead(struct builder *b, const struct row *r, int64_t n)
{
    struct value *ahead = build_const_i32(b, n);
    if (!r->bound)
        return ahead;
    const struct params *params = b->func->module->params;
    const int64_t filled = r->elems * params->l2_prefetch_filled_percent / 100;
    struct value *is_short = build_cmp(b, PRED_sle, r->bound, build_const_i32(b, filled));
    struct value *further = build_const_i32(b, n + n / params->l2_prefetch_further_part);
    return build_select(b, is_short, further, ahead);
}

/* Returns whether the row has the same length in every program. */
static bool is_as_long(const struct row *r)
{
    return !r->bound || !value_depends_on(r->bound, false);
}

/* Prefetches the row of the program that is `ahead` programs later, if that program exists. */
static void prefetch_later(struct prefetcher *a, struct builder *b, const struct row *r, struct value *ahead,
                           struct value *pid)
{
    struct value *end = build_binary(b, OP_sub, build_num_programs(b, 0), ahead);
    struct value *exists = build_cmp(b, PRED_slt, pid, end);
    struct value *later = build_binary(b, OP_add, pid, ahead);
    struct map map;
    map_init(&map, a->func->module->scratch);
    for (struct op *o = a->func->body->first; o; o = o->next)
        if (o->code == OP_program_id)
            *map_at_ptr(&map, op_result(o)) = later;
    prefetch(b, r, value_clone(b, &map, r->start), r->elems, exists);
}

static void row_of_later(struct prefetcher *a, struct op *load, const struct row *r)
{
    int64_t n = bytes_ahead(a->func, op_result(load)->type) / (r->elems * r->elem_bytes);
    if (!is_as_long(r) || !counts_from_0(r->cols) || !n)
        return;
    struct builder b = build_after(load);
    struct value *pid = build_program_id(&b, 0);
    prefetch_later(a, &b, r, programs_ahead(&b, r, n), pid);
    opt_explain(a->func, &(struct explanation){DECISION_prefetch_programs, .at = load,
                                               .values = {op_result(load)}, .numbers = {n}});
}

/* -- rows of loops -- */

/* Returns whether the loop's iterations read consecutive tiles of the row, from column 0 to the row's end. */
static bool follows(const struct op *loop, const struct row *r)
{
    int64_t lo, step;
    const struct op *o = value_def_as(r->cols, OP_add);
    for (int i = 0; o && i < 2; i++) {
        const struct op *counter = value_def_as(op_opnd(o, i), OP_splat);
        if (counter && op_opnd(counter, 0) == loop->regions[0]->args.at[0] &&
            counts_from_0(op_opnd(o, 1 - i)))
            return r->bound == op_opnd(loop, 1) && value_const_int(op_opnd(loop, 0), &lo) && lo == 0 &&
                   value_const_int(op_opnd(loop, 2), &step) && step == r->elems;
    }
    return false;
}

/* Returns whether each iteration reduces a tile at least as large as the row's tile, so that the iteration waits
 * for its load. */
static bool waits(const struct op *loop, const struct row *r)
{
    for (const struct op *o = loop->regions[0]->first; o; o = o->next)
        if (o->code == OP_reduce && type_elems(op_opnd(o, 0)->type) >= r->elems)
            return true;
    return false;
}

/* Prefetches the tile that starts `far` elements after this iteration's tile, up to the end of the row. Places the
 * prefetch before the load: after the load, it would be issued only when the loaded tile has arrived. */
static void prefetch_further(struct op *loop, struct op *load, const struct row *r, int64_t far)
{
    struct builder b = build_before(load);
    struct value *i = loop->regions[0]->args.at[0], *elems = build_const_i32(&b, far);
    struct value *left = build_binary(&b, OP_sub, r->bound, i);
    struct row rest = {.bound = build_binary(&b, OP_sub, left, elems), .elem_bytes = r->elem_bytes};
    struct value *at = build_binary(&b, OP_add, i, elems);
    prefetch(&b, &rest, build_addptr(&b, r->start, at), r->elems, NULL);
}

/* Prefetches the start of a row before the first loop that reads the row. If each iteration waits for its tile,
 * also prefetches a later tile in each iteration. */
static void prefetch_own(struct prefetcher *a, struct op *loop, struct op *load, const struct row *r)
{
    struct builder b = build_before(loop);
    b.loc = load->loc; /* reports show the prefetch at the line of the load */
    int64_t first = a->func->module->params->l2_prefetch_loop_bytes / r->elem_bytes,
            far = first > r->elems ? first : r->elems;
    bool each = waits(loop, r);
    prefetch(&b, r, r->start, each ? far : first, NULL);
    if (each)
        prefetch_further(loop, load, r, far);
    opt_explain(a->func,
                &(struct explanation){DECISION_prefetch_row, .at = load, .values = {op_result(load)}});
}

static bool is_read_behind(const struct op *loop, const struct value *start)
{
    struct row r;
    for (const struct op *next = loop->next; next; next = next->next)
        for (struct op *o = next->code == OP_for ? next->regions[0]->first : NULL; o; o = o->next)
            if (row_of(o, &r) && r.start == start && follows(next, &r))
                return true;
    return false;
}

/* If `loop` is the last of several loops over a row with long tiles, prefetches, before the loop, the first
 * tile of a later program's row. */
static void prefetch_first_tile(struct prefetcher *a, struct op *loop, struct op *load, struct row *r)
{
    const struct params *params = a->func->module->params;
    const int64_t bytes = r->elems * r->elem_bytes, far = params->l2_prefetch_far_bytes;
    if (bytes < params->l2_prefetch_loop_bytes || bytes > far || is_read_behind(loop, r->start) ||
        !is_as_long(r))
        return;
    struct builder b = build_before(loop);
    b.loc = load->loc;
    int64_t n = far / bytes;
    struct value *pid = build_program_id(&b, 0);
    prefetch_later(a, &b, r, build_const_i32(&b, n), pid);
    opt_explain(a->func, &(struct explanation){DECISION_prefetch_programs, .at = load,
                                               .values = {op_result(load)}, .numbers = {n}});
}

static void rows_of_loop(struct prefetcher *a, struct op *loop, struct map *asked)
{
    struct row r;
    for (struct op *o = loop->regions[0]->first, *next; o; o = next) {
        next = o->next;
        if (!row_of(o, &r) || !follows(loop, &r) || !value_is_outside(r.start, loop))
            continue;
        void **first = map_at_ptr(asked, r.start);
        if (!*first)
            prefetch_own(a, loop, o, &r);
        else if (*first != loop && !a->may_return)
            prefetch_first_tile(a, loop, o, &r);
        *first = loop;
    }
}

static void find_return(struct op *o, void *ctx)
{
    struct prefetcher *a = ctx;
    a->may_return |= o->code == OP_return && o->block->parent;
}

void opt_l2_prefetch(struct func *f)
{
    struct prefetcher a = {.func = f};
    struct map asked;
    struct row r;
    bool forbidden =
        !f->target || !target_has(f->target, HAS_tma) || f->persistent || f->num_ctas > 1 || f->extra_warps;
    func_walk(f, find_return, &a);
    map_init(&asked, f->module->scratch);
    for (struct op *o = f->body->first; o && !forbidden; o = o->next)
        if (o->code == OP_for)
            rows_of_loop(&a, o, &asked);
        else if (!a.may_return && row_of(o, &r))
            row_of_later(&a, o, &r);
}
