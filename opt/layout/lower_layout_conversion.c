/* SPDX-License-Identifier: MIT */
/* lower_layout_conversion.c: lowers layout conversions that move data between warps to accesses of shared memory.
 *
 *     %y = convert %x : tile<64x64xf32,#b>      =>      %buf = shared_alloc : shared<64x64xf32,#s>
 *                                                       shared_store %buf, %x vec=4
 *                                                       %y = shared_load %buf vec=4 : tile<64x64xf32,#b>
 *
 * #s is a swizzled layout with which neither stores nor loads have bank conflicts, if such a layout exists
 * (layout_shared_for). The pass first stores the tiles of all consecutive conversions and then loads them
 * all, so that a single barrier suffices. If the buffers take too much shared memory (stepdown.c), the pass
 * splits a tile into halves and converts the halves one after the other through the same bytes. A conversion
 * inside a thread or a warp stays a `convert`, which codegen implements by moves or shuffles. Predicates are
 * stored as bytes, pointers as integers. The pass also lowers the op to_shared, which stores a tile for an
 * asynchronous dot or a bulk copy, to a store to a buffer; the type of the to_shared's result already
 * contains the buffer's layout. Gathers and histograms become accesses of shared memory too, and so do
 * results of atomics that several warps need. Needs: layouts on all tiles. Leaves: shared buffers without
 * offsets, accesses without barriers. */
#include "opt/layout/layouts.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"

#include "ir/support/span.h"
#include "ir/target/target.h"

enum { VECTOR_BYTES = 16 };

/* Returns the widest vector, in elements, with which threads that hold a tile in layout l can access a buffer
 * of layout `shared`. */
static int widest(const struct layout *shared, const struct layout *l, int elem_bytes)
{
    return layout_shared_vector(shared, l, VECTOR_BYTES / elem_bytes, NULL);
}

/* Returns the type with which an element is stored: an integer type for predicates and pointers, otherwise the
 * element's own type. */
static const struct type *stored_type(struct module *m, const struct type *elem)
{
    if (elem->kind == TY_ptr)
        return type_scalar(m, DT_i64);
    return elem->dtype == DT_i1 ? type_scalar(m, DT_i8) : elem;
}

static struct value *pack(struct builder *b, struct value *x, const struct type *as)
{
    if (type_elem(x->type) == as)
        return x;
    return build_cast(b, type_is_ptr(x->type) ? OP_bitcast : OP_zext, x, as);
}

static struct value *unpack(struct builder *b, struct value *x, const struct type *elem)
{
    if (type_elem(x->type) == elem)
        return x;
    return build_cast(b, elem->kind == TY_ptr ? OP_bitcast : OP_trunc, x, elem);
}

/* -- operands of mma.sync -- */

static bool is_dot_operand(const struct value *y)
{
    for (const struct use *u = y->uses; u; u = u->next)
        if (u->user->code == OP_dot && op_opnd(u->user, 2) != y)
            return true;
    return false;
}

/* Returns the total number of wavefronts (cycles of shared memory) of a store of a tile in layout `from` to a
 * buffer of layout `shared`, and of a load of the buffer in layout `to`. */
static int wavefronts(const struct layout *shared, const struct layout *from, const struct layout *to,
                      int elem_bytes)
{
    return layout_wavefronts(shared, from, elem_bytes, widest(shared, from, elem_bytes)) +
           layout_wavefronts(shared, to, elem_bytes, widest(shared, to, elem_bytes));
}

/* Returns whether registers 0 and 1 of layout a hold a pair of neighbouring elements, as in accumulators,
 * while registers 0 and 1 of layout b hold neighbours along another dimension, and a has no longer runs than
 * pairs. */
static bool splits_pairs(const struct layout *a, const struct layout *b)
{
    const int n = a->nbits[IN_reg];
    return n > 0 && b->nbits[IN_reg] > 0 && layout_basis(a, IN_reg, 0) != layout_basis(b, IN_reg, 0) &&
           (n == 1 || layout_basis(a, IN_reg, 1) != layout_basis(a, IN_reg, 0) << 1);
}

/* Prefers a layout with which ldmatrix can load y or stmatrix can store x, if this layout needs no more
 * wavefronts than the best other layout. With stmatrix, a thread stores its 32-bit words as they are; other
 * stores would first have to repack the 16-bit halves of these words. */
void buffer_layout(struct layout *out, const struct value *x, const struct value *y, int elem_bytes)
{
    const struct layout *from = x->type->layout, *to = y->type->layout;
    const struct target *target = x->block->func->target;
    layout_shared_for(out, from, to, elem_bytes);
    int least = wavefronts(out, from, to, elem_bytes);
    const bool reads_narrow =
        is_dot_operand(y) || (elem_bytes == 2 && widest(out, to, elem_bytes) * elem_bytes < VECTOR_BYTES);
    for (int trans = 0; trans < 2 && target_has(target, HAS_ldmatrix) && reads_narrow; trans++) {
        struct layout rows, shared;
        struct matrix_load m;
        if (!layout_matrix_rows(&rows, &m, to, elem_bytes, trans))
            continue;
        layout_shared_for(&shared, from, &rows, elem_bytes);
        int n = wavefronts(&shared, from, &rows, elem_bytes);
        if (n > least || !layout_matrix_load(&m, &shared, to, elem_bytes))
            continue;
        least = n;
        *out = shared;
    }
    bool narrow = elem_bytes == 2 && !is_dot_operand(y) &&
                  (widest(out, from, elem_bytes) * elem_bytes < VECTOR_BYTES || splits_pairs(from, to));
    for (int trans = 0; trans < 2 && narrow && target_has(target, HAS_stmatrix); trans++) {
        struct layout rows, shared;
        struct matrix_load m;
        if (!layout_matrix_rows(&rows, &m, from, elem_bytes, trans))
            continue;
        layout_shared_for(&shared, &rows, to, elem_bytes);
        int n = wavefronts(&shared, &rows, to, elem_bytes);
        if (n > least || !layout_matrix_load(&m, &shared, from, elem_bytes))
            continue;
        least = n;
        *out = shared;
    }
}

/* -- the rewrite -- */

/* Builds a store of x to a new buffer, from which y will be loaded, and returns the buffer. */
static struct value *store_for(struct builder *b, struct value *x, const struct value *y)
{
    struct module *m = b->func->module;
    const struct type *as = stored_type(m, type_elem(x->type));
    int elem_bytes = type_elem_bytes(as);
    struct layout chosen;
    buffer_layout(&chosen, x, y, elem_bytes);
    const struct layout *shared = layout_intern(m, &chosen);
    const struct type *buffer = type_shared(m, as, x->type->rank, x->type->shape, shared, 1);
    struct value *from = pack(b, x, as);
    struct value *buf = op_result(build_op(b, OP_shared_alloc, 0, NULL, 1, &buffer, 0));
    struct op *store = build_op(b, OP_shared_store, 2, (struct value *[]){buf, from}, 0, NULL, 0);
    op_set_int(store, ATTR_vec, widest(shared, x->type->layout, elem_bytes));
    return buf;
}

struct value *buffer_load(struct builder *b, struct value *buf, const struct type *t)
{
    const struct type *loaded = type_with_elem(b->func->module, t, buf->type->elem);
    struct op *load = build_op(b, OP_shared_load, 1, &buf, 1, &loaded, 0);
    op_set_int(load, ATTR_vec, widest(buf->type->layout, t->layout, type_elem_bytes(buf->type)));
    return unpack(b, op_result(load), type_elem(t));
}

bool convert_is_shared(const struct op *o)
{
    return o->code == OP_convert && layout_conversion(op_opnd(o, 0)->type->layout, op_result(o)->type->layout,
                                                      op_params(o)) == CONVERSION_shared;
}

static int64_t bytes_most(const struct op *o)
{
    const struct opt_options *options = o->block->func->module->opt;
    return options && options->conversion_bytes_most ? options->conversion_bytes_most : INT64_MAX;
}

static int64_t conversion_bytes(const struct op *o)
{
    const struct type *t = op_result(o)->type;
    return type_elems(t) * type_elem_bytes(t);
}

/* Finds the longest run of consecutive, independent conversions that starts with `first`, and whose buffers
 * together take at most bytes_most(first) bytes. Returns the op after the run. */
static struct op *end_of_run(const struct op *first)
{
    int64_t bytes = conversion_bytes(first), most = bytes_most(first);
    struct op *o = first->next;
    for (; o && convert_is_shared(o); o = o->next) {
        bytes += conversion_bytes(o);
        if (bytes > most)
            return o;
        for (const struct op *earlier = first; earlier != o; earlier = earlier->next)
            if (op_opnd(o, 0) == op_result(earlier))
                return o;
    }
    return o;
}

/* -- conversions in halves -- */

/* Returns whether layout l holds this bit of the coordinate only in registers: a register bit, or several
 * register bits together, change exactly this coordinate bit, and no lane or warp bit changes it. */
static bool is_in_registers(const struct layout *l, int bit)
{
    struct span registers = {0};
    for (int i = 0; i < l->nbits[IN_reg]; i++)
        span_add(&registers, layout_basis(l, IN_reg, i), 0);
    for (int kind = IN_lane; kind < IN_offset; kind++)
        for (int i = 0; i < l->nbits[kind]; i++)
            if (layout_basis(l, (enum in)kind, i) >> bit & 1)
                return false;
    return span_has(&registers, UINT32_C(1) << bit);
}

/* Describes how a tile is cut into halves: the tile is reshaped to `shape`, which has `rank` dimensions; then
 * a transposition (`order`) moves dimension `dim`, of size 2, to the end; then a split along this dimension
 * makes the halves. `inverse` is the inverse transposition. */
struct cut {
    int rank, dim, shape[RANK_MAX], order[RANK_MAX], inverse[RANK_MAX];
};

/* Computes the cut into the elements whose coordinate bit number `bit` is 0 and the elements for which it is
 * 1. Returns false if the cut needs more than RANK_MAX dimensions. */
static bool cut_at(struct cut *c, const struct layout *l, int bit)
{
    int below = bit, d = l->rank - 1;
    for (; below >= l->dim_bits[d]; d--)
        below -= l->dim_bits[d];
    const int parts[] = {1 << (l->dim_bits[d] - 1 - below), 2, 1 << below};
    *c = (struct cut){0};
    for (int i = 0; i < l->rank; i++)
        for (int k = 0; k < (i == d ? 3 : 1); k++) {
            int size = i == d ? parts[k] : 1 << l->dim_bits[i];
            if (size == 1 && i == d)
                continue;
            if (c->rank == RANK_MAX)
                return false;
            if (i == d && k == 1)
                c->dim = c->rank;
            c->shape[c->rank++] = size;
        }
    for (int i = 0, n = 0; i < c->rank; i++) {
        int to = i == c->dim ? c->rank - 1 : n++;
        c->order[to] = i;
        c->inverse[i] = to;
    }
    return true;
}

/* Computes the cut at the highest coordinate bit that only registers hold in both layouts (is_in_registers).
 * In both layouts, each half of the tile is then in one half of the registers. Returns false if there is no
 * such bit. */
static bool find_cut(struct cut *c, const struct layout *from, const struct layout *to)
{
    for (int bit = layout_coord_bits(from) - 1; bit >= 0; bit--)
        if (is_in_registers(from, bit) && is_in_registers(to, bit) && cut_at(c, from, bit))
            return true;
    return false;
}

/* For a tile of layout l: computes the layout of the tile after the reshape and the transposition of the cut
 * (*pairs), and the layout of each half (*half). */
static void cut_layout(struct module *m, const struct cut *c, const struct layout *l,
                       const struct layout **pairs, const struct layout **half)
{
    struct layout seen, transposed, part;
    layout_reshape(&seen, l, c->rank, c->shape);
    layout_trans(&transposed, &seen, c->order);
    layout_slice(&part, &transposed, c->rank - 1, true, NULL);
    *pairs = layout_intern(m, &transposed);
    *half = layout_intern(m, &part);
}

/* Replaces %y = convert %x by conversions of the two halves of %x. These conversions may be cut again. Returns the
 * first of the new ops, or NULL if no cut exists. */
static struct op *convert_in_halves(struct op *o)
{
    struct module *m = o->block->func->module;
    struct value *x = op_opnd(o, 0), *y = op_result(o), *halves[2];
    const struct layout *pairs, *half;
    struct cut c;
    if (!find_cut(&c, x->type->layout, y->type->layout))
        return NULL;
    struct builder b = build_before(o);
    struct value *seen = build_reshape(&b, x, c.rank, c.shape), *transposed = build_trans(&b, seen, c.order);
    cut_layout(m, &c, x->type->layout, &pairs, &half);
    const struct type *t =
        type_with_layout(m, type_with_shape(m, transposed->type, c.rank - 1, transposed->type->shape), half);
    struct op *split = build_op(&b, OP_split, 1, &transposed, 2, (const struct type *[]){t, t}, 0);
    cut_layout(m, &c, y->type->layout, &pairs, &half);
    for (int i = 0; i < 2; i++)
        halves[i] = build_convert(&b, &split->results[i], half);
    const struct type *whole = type_with_layout(m, transposed->type, pairs);
    struct value *joined = op_result(build_op(&b, OP_join, 2, halves, 1, &whole, 0));
    joined = build_reshape(&b, build_trans(&b, joined, c.inverse), y->type->rank, y->type->shape);
    opt_explain(b.func, &(struct explanation){DECISION_converted_in_halves, .at = o, .values = {y}});
    value_replace(y, joined);
    op_erase(o);
    return seen->def;
}

/* Computes an intermediate layout M (*out), such that the conversions from t's layout to M and from M to `to`
 * can often be cut. Of the coordinate bits that registers hold in M, registers hold one half in t's layout
 * too, and the other half in `to`. Returns false if t's layout and `to` have too few such bits. */
static bool find_third(struct layout *out, const struct type *t, const struct layout *to)
{
    const struct layout *from = t->layout;
    int nbits = layout_coord_bits(from), nregs = nbits - from->nbits[IN_lane] - from->nbits[IN_warp];
    const struct layout *side[] = {from, to};
    uint32_t taken = 0;
    layout_init(out, t->rank, t->shape);
    for (int s = 0; s < 2; s++)
        for (int bit = nbits - 1, n = (nregs + 1 - s) / 2; bit >= 0 && n > 0; bit--)
            if (is_in_registers(side[s], bit) && !(taken >> bit & 1)) {
                layout_add(out, IN_reg, UINT32_C(1) << bit);
                taken |= UINT32_C(1) << bit;
                n--;
            }
    if (nregs < 2 || out->nbits[IN_reg] < nregs)
        return false;
    for (int bit = 0; bit < nbits; bit++)
        if (!(taken >> bit & 1))
            layout_add(out, out->nbits[IN_lane] < from->nbits[IN_lane] ? IN_lane : IN_warp,
                       UINT32_C(1) << bit);
    return true;
}

/* Replaces %y = convert %x by two conversions that can be cut, through an intermediate layout. Returns the first
 * conversion, or NULL if there is no such layout. */
static struct op *convert_over_third(struct op *o)
{
    struct value *x = op_opnd(o, 0);
    struct layout third;
    struct cut c;
    if (!find_third(&third, x->type, op_result(o)->type->layout) || !find_cut(&c, x->type->layout, &third) ||
        !find_cut(&c, &third, op_result(o)->type->layout))
        return NULL;
    struct builder b = build_before(o);
    struct value *half_way = build_convert(&b, x, layout_intern(b.func->module, &third));
    opt_explain(b.func,
                &(struct explanation){DECISION_converted_over_third, .at = o, .values = {op_result(o)}});
    op_set_opnd(o, 0, half_way);
    return half_way->def;
}

/* -- operands of asynchronous dots -- */

/* Replaces the consecutive to_shared ops from `first` up to, but not including, `end` by stores to buffers,
 * from which asynchronous units (tensor cores, bulk copies) read the tiles. Builds a fence after the last
 * store. */
static void store_operands(struct op *first, const struct op *end)
{
    struct builder b = build_before(first);
    for (struct op *next, *o = first; o != end; o = next) {
        next = o->next;
        b.loc = o->loc;
        b.before = o;
        struct value *x = op_opnd(o, 0), *r = op_result(o);
        struct value *given = op_opnd(o, 1);
        struct value *buf = given ? given : op_result(build_op(&b, OP_shared_alloc, 0, NULL, 1, &r->type, 0));
        struct op *store = build_op(&b, OP_shared_store, 2, (struct value *[]){buf, x}, 0, NULL, 0);
        op_set_int(store, ATTR_vec, widest(r->type->layout, x->type->layout, type_elem_bytes(x->type)));
        opt_explain(b.func, &(struct explanation){DECISION_to_shared, .at = o, .values = {x},
                                                  .numbers = {buffer_bytes(r->type)}});
        if (next == end)
            build_op(&b, OP_fence_async, 0, NULL, 0, NULL, 0);
        value_replace(r, buf);
        op_erase(o);
        if (!given)
            value_take_name(buf, r);
    }
}

/* Replaces the conversions from `first` up to, but not including, `end`: stores all tiles and then loads them
 * all, so that a single barrier suffices. */
static void through_shared(struct op *first, const struct op *end)
{
    struct module *m = first->block->func->module;
    VEC(struct value *) bufs = {0};
    struct builder b = build_before(first);
    for (struct op *o = first; o != end; o = o->next) {
        b.loc = o->loc;
        VEC_PUSH(m->scratch, &bufs, store_for(&b, op_opnd(o, 0), op_result(o)));
    }
    int i = 0;
    for (struct op *next, *o = first; o != end; o = next) {
        next = o->next;
        struct value *y = op_result(o);
        b = build_before(o);
        struct value *loaded = buffer_load(&b, bufs.at[i++], y->type);
        const int64_t bytes = (int64_t)type_elems(y->type) * type_elem_bytes(bufs.at[i - 1]->type);
        opt_explain(first->block->func, &(struct explanation){DECISION_through_shared, .at = o, .values = {y},
                                                              .numbers = {bytes}});
        value_replace(y, loaded);
        op_erase(o);
    }
}

/* -- gathers and histograms -- */

static struct value *buffer_in_order(struct builder *b, const struct type *elem, int rank, const int *shape)
{
    struct module *m = b->func->module;
    struct layout l;
    layout_in_order(&l, rank, shape);
    const struct type *t = type_shared(m, elem, rank, shape, layout_intern(m, &l), 1);
    return op_result(build_op(b, OP_shared_alloc, 0, NULL, 1, &t, 0));
}

static void store_all(struct builder *b, struct value *buf, struct value *x)
{
    struct op *store = build_op(b, OP_shared_store, 2, (struct value *[]){buf, x}, 0, NULL, 0);
    op_set_int(store, ATTR_vec, widest(buf->type->layout, x->type->layout, type_elem_bytes(buf->type)));
}

static void expand_gather(struct op *o)
{
    struct value *x = op_opnd(o, 0), *y = op_result(o);
    struct builder b = build_before(o);
    const struct type *as = stored_type(b.func->module, type_elem(x->type));
    struct value *buf = buffer_in_order(&b, as, x->type->rank, x->type->shape);
    store_all(&b, buf, pack(&b, x, as));
    const struct type *t = type_with_elem(b.func->module, y->type, as);
    struct op *g = build_op(&b, OP_shared_gather, 2, (struct value *[]){buf, op_opnd(o, 1)}, 1, &t, 0);
    op_set_int(g, ATTR_axis, op_int(o, ATTR_axis));
    value_replace(y, unpack(&b, op_result(g), type_elem(y->type)));
    opt_explain(b.func, &(struct explanation){DECISION_gathered, .at = o, .values = {y}});
    op_erase(o);
}

static void expand_histogram(struct op *o)
{
    struct value *y = op_result(o);
    struct builder b = build_before(o);
    struct value *buf = buffer_in_order(&b, type_elem(y->type), 1, y->type->shape);
    store_all(&b, buf, build_const_int(&b, y->type, 0));
    struct value *opnds[] = {buf, op_opnd(o, 0), op_opnd(o, 1)};
    build_op(&b, OP_shared_count, opnds[2] ? 3 : 2, opnds, 0, NULL, 0);
    value_replace(y, buffer_load(&b, buf, y->type));
    opt_explain(b.func, &(struct explanation){DECISION_counted, .at = o, .values = {y}});
    op_erase(o);
}

/* -- results of atomics: only the thread that executes the atomic on an element gets the result, but all
 * threads that hold replicas of the element need it, also in other warps -- */

static void share_result(struct op *o)
{
    struct value *r = op_result(o);
    struct builder b = build_after(o);
    struct value *buf = buffer_in_order(&b, type_elem(r->type), r->type->rank, r->type->shape);
    struct value *loaded = buffer_load(&b, buf, r->type);
    value_replace(r, loaded);
    b = build_before(loaded->def);
    store_all(&b, buf, r);
    opt_explain(b.func, &(struct explanation){DECISION_to_other_warps, .at = o, .values = {r}});
}

static bool is_shared_result(const struct op *o)
{
    return (o->code == OP_atomic_rmw || o->code == OP_atomic_cas) && has_uses(op_result(o)) &&
           type_is_tile(op_result(o)->type) && layout_free_bits(op_result(o)->type->layout, IN_warp);
}

/* If the buffer of conversion o is too large, replaces o by conversions of the two halves of the tile; if no
 * cut exists, by two conversions through an intermediate layout, of which it cuts the first. `visit` later
 * cuts the other new conversions in the same way. Returns the first of the ops that replace o, or o itself if
 * o is not replaced. */
static struct op *cut(struct op *o)
{
    for (struct op *first = o; first && convert_is_shared(o) && conversion_bytes(o) > bytes_most(o);) {
        first = convert_in_halves(o);
        first = first ? first : convert_over_third(o);
        o = first ? first : o;
    }
    return o;
}

static void visit(struct block *b)
{
    for (struct op *next, *o = b->first; o; o = next) {
        o = cut(o);
        next = convert_is_shared(o) ? end_of_run(o) : o->next;
        for (int i = 0; i < o->nregions; i++)
            visit(o->regions[i]);
        while (o->code == OP_to_shared && next && next->code == OP_to_shared)
            next = next->next;
        if (convert_is_shared(o))
            through_shared(o, next);
        else if (o->code == OP_to_shared)
            store_operands(o, next);
        else if (is_shared_result(o))
            share_result(o);
        else if (o->code == OP_gather)
            expand_gather(o);
        else if (o->code == OP_histogram)
            expand_histogram(o);
    }
}

void opt_lower_layout_conversion(struct func *f)
{
    visit(f->body);
}
