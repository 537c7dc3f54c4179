/* SPDX-License-Identifier: MIT */
/* print.c: prints a program as a .py file, which runs under neso and under the original Triton. */
#include "tests/random/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* -- placement of outputs -- */

static void place_region(const struct program *p, struct region *r)
{
    if (r->placed)
        return;
    r->placed = true;
    r->base = (r->buffer->count + 15) / 16 * 16;
    int64_t count = r->whole.times ? extent_of(p, &r->whole) : shape_size(p, &r->shape) * p->grid;
    r->buffer->count = r->base + count;
}

static void place_nodes(const struct program *p, const struct node *n)
{
    if (n && n->region)
        place_region(p, n->region);
    for (int i = 0; n && i < n->nargs; i++)
        place_nodes(p, n->arg[i]);
}

static void forget_nodes(const struct node *n)
{
    if (n && n->region)
        n->region->placed = false;
    for (int i = 0; n && i < n->nargs; i++)
        forget_nodes(n->arg[i]);
}

static void forget_places(const struct stmt *s)
{
    for (; s; s = s->next) {
        if (s->region)
            s->region->placed = false;
        for (int i = 0; i < 4; i++)
            forget_nodes(s->e[i]);
        forget_places(s->body);
        forget_places(s->alternative);
    }
}

static void place_stores(const struct program *p, struct stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == STMT_store && s->region) {
            place_region(p, s->region);
        } else if (s->kind == STMT_store && s->form != STORE_at) {
            int64_t slot = shape_size(p, &s->e[0]->type.shape);
            s->base = (s->buffer->count + 15) / 16 * 16;
            s->buffer->count = s->base + slot * s->rounds * p->grid;
        }
        for (int i = 0; i < 4; i++)
            place_nodes(p, s->e[i]);
        place_stores(p, s->body);
        place_stores(p, s->alternative);
    }
}

int64_t program_layout(struct program *p)
{
    int64_t at = 256;
    for (int i = 0; i < p->nbuffers; i++) {
        struct buffer *b = p->buffers[i];
        b->count = b->role == ROLE_output ? 0 : (int64_t)1 << b->log_count;
    }
    forget_places(p->body);
    place_stores(p, p->body);
    for (int i = 0; i < p->nbuffers; i++) {
        struct buffer *b = p->buffers[i];
        b->offset = at + b->skew * elem_bytes(b->elem);
        at += ((b->count + b->skew) * elem_bytes(b->elem) + 511) / 256 * 256;
    }
    return at;
}

int program_statements(const struct program *p)
{
    int n = 0;
    for (const struct stmt *s = p->body; s; s = s->next)
        n++;
    return n;
}

/* -- which variables are used -- */

enum { COMBINES = 10 };

struct printer {
    const struct program *p;
    struct text *out;
    bool uses_scalar[SCALARS], uses_buffer[BUFFERS], uses_function[FUNCTIONS], uses_combine[COMBINES];
    bool uses_descriptor;
};

static const struct {
    const char *name, *text;
} combines[COMBINES] = {
    {"f_add", "def f_add(a, b):\n    return a + b\n"},
    {"f_mul", "def f_mul(a, b):\n    return a * b\n"},
    {"f_xor", "def f_xor(a, b):\n    return a ^ b\n"},
    {"f_and", "def f_and(a, b):\n    return a & b\n"},
    {"f_or", "def f_or(a, b):\n    return a | b\n"},
    {"f_max", "def f_max(a, b):\n    return tl.where(a > b, a, b)\n"},
    {"f_min", "def f_min(a, b):\n    return tl.where(a < b, a, b)\n"},
    {"f_right", "def f_right(a, b):\n    return b\n"},
    {"f_best", "def f_best(a, i, b, k):\n    c = (a > b) | ((a == b) & (i < k))\n"
               "    return tl.where(c, a, b), tl.where(c, i, k)\n"},
    {"f_linear", "def f_linear(a, b, c, d):\n    return a * c, b * c + d\n"},
};

static void use_statements(struct printer *q, const struct stmt *s);

static void use_node(struct printer *q, const struct node *n)
{
    if (!n)
        return;
    for (int i = 0; i < n->nargs; i++)
        use_node(q, n->arg[i]);
    for (int i = 0; i < q->p->nscalars; i++)
        q->uses_scalar[i] |= n->scalar == q->p->scalars[i];
    for (int i = 0; i < q->p->nbuffers; i++)
        q->uses_buffer[i] |=
            n->buffer == q->p->buffers[i] || (n->region && n->region->buffer == q->p->buffers[i]);
    for (int i = 0; i < COMBINES; i++)
        q->uses_combine[i] |= n->word && n->kind != NODE_call && strcmp(n->word, combines[i].name) == 0;
    q->uses_descriptor |= n->kind == NODE_make_descriptor;
    for (int i = 0; i < q->p->nfunctions && n->kind == NODE_call; i++) {
        const struct function *f = q->p->functions[i];
        if (strcmp(n->word, f->name) != 0 || q->uses_function[i])
            continue;
        q->uses_function[i] = true;
        use_statements(q, f->body);
        use_node(q, f->result);
    }
}

static void use_statements(struct printer *q, const struct stmt *s)
{
    for (; s; s = s->next) {
        for (int i = 0; i < 4; i++)
            use_node(q, s->e[i]);
        for (int i = 0; i < q->p->nbuffers; i++)
            q->uses_buffer[i] |= s->buffer == q->p->buffers[i];
        q->uses_descriptor |= s->form == STORE_descriptor && s->kind == STMT_store;
        use_statements(q, s->body);
        use_statements(q, s->alternative);
    }
}

void program_grid(const struct program *p, uint32_t grid[3])
{
    uint32_t n = (uint32_t)p->grid, rows = n % 2 == 0 ? 2 : n % 3 == 0 ? 3 : 1;
    bool is_tiled = p->grid_form == GRID_tiles && p->grid % (p->columns * p->layers) == 0;
    bool is_line = p->grid_form == GRID_x || (p->grid_form == GRID_tiles && !is_tiled);
    grid[0] = is_line ? n : p->grid_form == GRID_y ? 1 : is_tiled ? (uint32_t)p->columns : n / rows;
    grid[2] = is_tiled ? (uint32_t)p->layers : 1;
    grid[1] = n / (grid[0] * grid[2]);
}

/* -- expressions -- */

static void shape_text(const struct printer *q, const struct shape *s)
{
    text_char(q->out, '[');
    for (int i = 0; i < s->rank; i++)
        text_printf(q->out, "%s%" PRId64, i ? ", " : "", size_of(q->p, s->dim[i]));
    text_char(q->out, ']');
}

static int64_t at_least_one(const struct program *p, const struct extent *e)
{
    int64_t n = extent_of(p, e);
    return n < 1 ? 1 : n;
}

static bool is_constant(const struct node *n)
{
    return n->kind == NODE_number || (n->kind == NODE_extent && !n->scalar);
}

static void literal(const struct printer *q, const struct node *n)
{
    const struct elem_info *e = &elem_info[n->type.elem];
    double x = n->number + (double)n->bits;
    if (n->kind == NODE_extent)
        text_printf(q->out, "%" PRId64, extent_of(q->p, &n->extent));
    else if (e->class == BOOL)
        text_str(q->out, n->bits ? "True" : "False");
    else if (e->class & INTS)
        text_printf(q->out, n->bits < 0 ? "(%" PRId64 ")" : "%" PRId64, n->bits);
    else {
        text_str(q->out, x < 0 ? "(" : "");
        text_double(q->out, x, 0);
        text_str(q->out, x < 0 ? ")" : "");
    }
}

static void typed_literal(const struct printer *q, const struct node *n)
{
    bool is_small = elem_info[n->type.elem].class == SMALL;
    text_str(q->out, "tl.full(");
    shape_text(q, &n->type.shape);
    text_str(q->out, ", ");
    literal(q, n);
    text_printf(q->out, ", tl.%s)", is_small ? "float32" : elem_info[n->type.elem].name);
    if (is_small)
        text_printf(q->out, ".to(tl.%s)", elem_info[n->type.elem].name);
}

static void expression(const struct printer *q, const struct node *n);

/* Returns whether operand i of n may be printed as a number without a cast. */
static bool stands_bare(const struct node *n, int i)
{
    const struct node *x = n->arg[i];
    if (!is_constant(x) || elem_info[x->type.elem].class & (BOOL | SMALL))
        return false;
    switch (n->kind) {
    case NODE_add:
    case NODE_sub:
    case NODE_mul:
    case NODE_and:
    case NODE_or:
    case NODE_xor:
    case NODE_shl:
    case NODE_shr:
    case NODE_div:
    case NODE_rem:
    case NODE_compare: {
        const struct node *other = n->arg[1 - i];
        return (!is_constant(other) || i == 1) && shape_equal(&other->type.shape, &n->type.shape);
    }
    case NODE_where: {
        const struct node *other = n->arg[3 - i];
        bool whole = shape_equal(&other->type.shape, &n->type.shape) ||
                     shape_equal(&n->arg[0]->type.shape, &n->type.shape);
        return i > 0 && whole && (!is_constant(other) || i == 2);
    }
    case NODE_load: return i == 2;
    case NODE_address:
    case NODE_advance:
    case NODE_load_descriptor:
    case NODE_make_block_ptr:
    case NODE_cast: return x->kind == NODE_extent || n->kind != NODE_cast;
    default: return x->kind == NODE_extent;
    }
}

static void operand(const struct printer *q, const struct node *n, int i)
{
    const struct node *x = n->arg[i];
    bool binary = n->nargs == 2 && i == 0 && is_constant(x) && is_constant(n->arg[1]);
    if (stands_bare(n, i))
        literal(q, x);
    else if (x->kind == NODE_number || (binary && x->kind == NODE_extent))
        typed_literal(q, x);
    else
        expression(q, x);
}

static void list(const struct printer *q, const struct node *n, int from)
{
    for (int i = from; i < n->nargs; i++) {
        text_str(q->out, i > from ? ", " : "");
        operand(q, n, i);
    }
}

static void arange(const struct printer *q, const struct node *n)
{
    int rank = n->type.shape.rank;
    int64_t size = size_of(q->p, n->type.shape.dim[n->axis]);
    text_printf(q->out, "tl.arange(0, %" PRId64 ")", size);
    for (int i = 0; i < rank && rank > 1; i++)
        text_printf(q->out, "%s%s%s", i ? ", " : "[", i == n->axis ? ":" : "None", i == rank - 1 ? "]" : "");
}

static void extents(const struct printer *q, const struct extent *e, int n)
{
    for (int i = 0; i < n; i++)
        text_printf(q->out, "%s%" PRId64, i ? ", " : "", at_least_one(q->p, &e[i]));
}

/* Prints the base address of a buffer, or of a region in it. */
static void beginning(const struct printer *q, const struct node *n)
{
    text_str(q->out, n->region ? n->region->buffer->name : n->buffer->name);
    if (n->region && n->region->base)
        text_printf(q->out, " + %" PRId64, n->region->base);
}

static void block_pointer(const struct printer *q, const struct node *n)
{
    int rank = n->type.shape.rank;
    const char *end = rank == 1 ? ",)" : ")";
    text_str(q->out, "tl.make_block_ptr(");
    beginning(q, n);
    text_str(q->out, ", shape=(");
    extents(q, n->rows, rank);
    text_printf(q->out, "%s, strides=(", end);
    extents(q, n->strides, rank);
    text_printf(q->out, "%s, offsets=(", end);
    list(q, n, 0);
    text_printf(q->out, "%s, block_shape=(", end);
    for (int i = 0; i < rank; i++)
        text_printf(q->out, "%s%" PRId64, i ? ", " : "", size_of(q->p, n->type.shape.dim[i]));
    text_printf(q->out, "%s, order=(", end);
    for (int i = 0; i < rank; i++)
        text_printf(q->out, "%s%d", i ? ", " : "", n->perm[i]);
    text_printf(q->out, "%s)", end);
}

static void descriptor(const struct printer *q, const struct node *n)
{
    text_str(q->out, "tl.make_tensor_descriptor(");
    beginning(q, n);
    text_str(q->out, ", shape=[");
    extents(q, n->rows, n->type.shape.rank);
    text_str(q->out, "], strides=[");
    extents(q, n->strides, n->type.shape.rank);
    text_str(q->out, "], block_shape=");
    shape_text(q, &n->type.shape);
    text_char(q->out, ')');
}

/* If the function of node n may return another type than the element type, such as a wider one, prints a cast to
 * the element type. */
static void cast_back(const struct printer *q, const struct node *n)
{
    if (elem_info[n->type.elem].bits < 32 || n->type.elem == EL_u32)
        text_printf(q->out, ".to(tl.%s)", elem_info[n->type.elem].name);
}

static void numbers(const struct printer *q, const int *x, int n, bool counting)
{
    text_char(q->out, '(');
    for (int i = 0; i < n; i++)
        text_printf(q->out, "%s%d", i ? ", " : "", counting ? i : x[i]);
    text_str(q->out, n == 1 ? ",)" : ")");
}

static void keyword(const struct printer *q, const char *name, const struct node *n, int i)
{
    if (i >= n->nargs || !n->arg[i])
        return;
    text_printf(q->out, ", %s=", name);
    operand(q, n, i);
}

static const char *number_of_program(const struct program *p)
{
    static const char *const forms[] = {"tl.program_id(0)", "tl.program_id(1)",
                                        "(tl.program_id(1) * tl.num_programs(0) + tl.program_id(0))",
                                        ("((tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)) * "
                                         "tl.num_programs(0) + tl.program_id(0))")};
    return forms[p->grid_form];
}

/* Prints " + " and the row-major indices of the elements of a shape whose dimensions are permuted; for a scalar,
 * prints nothing. */
static void linear(const struct printer *q, const struct shape *shape, const int *perm)
{
    int order[RANK_LIMIT], n = 0;
    int64_t stride = 1;
    for (int i = 0; i < RANK_LIMIT; i++)
        if (perm[i] < shape->rank && n < shape->rank)
            order[n++] = perm[i];
    for (int i = n - 1; i >= 0; i--) {
        struct node index = {.axis = order[i], .type = {.shape = *shape}};
        text_str(q->out, " + ");
        arange(q, &index);
        if (stride > 1)
            text_printf(q->out, " * %" PRId64, stride);
        stride *= size_of(q->p, shape->dim[order[i]]);
    }
}

static void region(const struct printer *q, const struct node *n)
{
    static const int identity[RANK_LIMIT] = {0, 1, 2, 3, 4};
    text_printf(q->out, "%s + %" PRId64, n->region->buffer->name, n->region->base);
    if (q->p->grid > 1)
        text_printf(q->out, " + %s * %" PRId64, number_of_program(q->p), shape_size(q->p, &n->region->shape));
    linear(q, &n->type.shape, identity);
}

static void placeholder(const struct printer *q, const struct node *n, char c)
{
    const struct elem_info *e = &elem_info[n->type.elem];
    switch (c) {
    case '*': list(q, n, 0); break;
    case ':': list(q, n, 1); break;
    case 'S': shape_text(q, &n->type.shape); break;
    case 'T': text_printf(q->out, "tl.%s", e->name); break;
    case 'A': n->axis == -9 ? text_str(q->out, "None") : text_printf(q->out, "%d", n->axis); break;
    case 'B': text_printf(q->out, "%d", n->other); break;
    case 'P': numbers(q, n->perm, n->type.shape.rank, false); break;
    case 'X': numbers(q, NULL, n->type.shape.rank, true); break;
    case 'N': text_str(q->out, number_of_program(q->p)); break;
    case 'W': text_str(q->out, n->word ? n->word : "?"); break;
    case 'Q':
    case 'O': /* cache attributes, which follow a load's mask and other */
        if (n->kind == NODE_load)
            keyword(q, "other", n, 2);
        text_str(q->out, n->word ? n->word : "");
        break;
    case 'C': cast_back(q, n); break;
    case 'K': text_str(q->out, n->flag ? ", keep_dims=True" : ""); break;
    case 'R': text_str(q->out, n->flag ? ", reverse=True" : ""); break;
    case 'D': text_str(q->out, n->flag ? ", descending=True" : ""); break;
    case 'E': text_printf(q->out, "%" PRId64, size_of(q->p, n->end)); break;
    case 'M': keyword(q, "mask", n, 1); break;
    case 'G': region(q, n); break;
    case 'L': keyword(q, "mask", n, n->kind == NODE_load ? 1 : 2); break;
    default: operand(q, n, c - '0');
    }
}

static void expression(const struct printer *q, const struct node *n)
{
    switch (n->kind) {
    case NODE_number: typed_literal(q, n); return;
    case NODE_extent:
        if (n->scalar)
            text_str(q->out, n->scalar->name);
        else
            literal(q, n);
        return;
    case NODE_scalar: /* print a cast, because an i32 argument that is 1 becomes a constant */
        text_printf(q->out, n->scalar->is_float ? "%s" : "tl.cast(%s, tl.int32)", n->scalar->name);
        return;
    case NODE_var: text_str(q->out, n->var->name); return;
    case NODE_buffer:
    case NODE_place: beginning(q, n); return;
    case NODE_arange: arange(q, n); return;
    case NODE_make_block_ptr: block_pointer(q, n); return;
    case NODE_make_descriptor: descriptor(q, n); return;
    default: break;
    }
    for (const char *s = node_texts[n->kind]; *s; s++) {
        if (*s == '$')
            placeholder(q, n, *++s);
        else
            text_char(q->out, *s);
    }
}

/* -- statements -- */

static void indent(const struct printer *q, int depth)
{
    for (int i = 0; i < depth; i++)
        text_str(q->out, "    ");
}

/* Prints the offset of the first element that a store writes. This offset differs for each program and each iteration
 * of the loop. */
static void store_base(const struct printer *q, const struct stmt *s)
{
    int64_t slot = shape_size(q->p, &s->e[0]->type.shape), base = s->region ? s->region->base : s->base;
    text_str(q->out, s->buffer->name);
    if (base)
        text_printf(q->out, " + %" PRId64, base);
    if (q->p->grid > 1)
        text_printf(q->out, " + %s * %" PRId64, number_of_program(q->p), slot * s->rounds);
    if (s->e[2]) {
        text_str(q->out, " + (");
        expression(q, s->e[2]);
        text_printf(q->out, " & %d) * %" PRId64, s->rounds - 1, slot);
    }
}

static void sizes(const struct printer *q, const struct shape *s, int less)
{
    for (int i = 0; i < s->rank; i++) {
        int64_t n = size_of(q->p, s->dim[i]);
        text_printf(q->out, "%s%" PRId64, i ? ", " : "", n > less ? n - less : n);
    }
}

static void row_major(const struct printer *q, const struct shape *s)
{
    for (int i = 0; i < s->rank; i++) {
        int64_t stride = 1;
        for (int k = i + 1; k < s->rank; k++)
            stride *= size_of(q->p, s->dim[k]);
        text_printf(q->out, "%s%" PRId64, i ? ", " : "", stride);
    }
}

static void zeros(const struct printer *q, int n)
{
    for (int i = 0; i < n; i++)
        text_str(q->out, i ? ", 0" : "0");
}

/* Prints a store through a block pointer or descriptor, whose last rows and columns may be outside of the matrix. */
static void store_box(const struct printer *q, const struct stmt *s)
{
    const struct shape *shape = &s->e[0]->type.shape;
    bool is_block = s->form == STORE_block;
    const char *end = !is_block ? "]" : shape->rank == 1 ? ",)" : ")", *open = is_block ? "(" : "[";
    text_str(q->out, is_block ? "tl.store(tl.make_block_ptr(" : "tl.make_tensor_descriptor(");
    store_base(q, s);
    text_printf(q->out, ", shape=%s", open);
    sizes(q, shape, s->stages);
    text_printf(q->out, "%s, strides=%s", end, open);
    row_major(q, shape);
    text_str(q->out, end);
    if (is_block) {
        text_str(q->out, ", offsets=(");
        zeros(q, shape->rank);
        text_str(q->out, end);
    }
    text_printf(q->out, ", block_shape=%s", open);
    sizes(q, shape, 0);
    text_str(q->out, end);
    if (is_block) {
        text_str(q->out, ", order=(");
        for (int i = 0; i < shape->rank; i++)
            text_printf(q->out, "%s%d", i ? ", " : "", shape->rank - 1 - i);
        text_printf(q->out, "%s), ", end);
        expression(q, s->e[0]);
        text_str(q->out, ", boundary_check=");
        numbers(q, NULL, shape->rank, true);
        text_char(q->out, ')');
        return;
    }
    text_str(q->out, ").store([");
    zeros(q, shape->rank);
    text_str(q->out, "], ");
    expression(q, s->e[0]);
    text_char(q->out, ')');
}

static bool takes_box(const struct printer *q, const struct stmt *s)
{
    const struct shape *shape = &s->e[0]->type.shape;
    if (s->form == STORE_pointers || shape->rank == 0 || s->e[1])
        return false;
    return s->form == STORE_block ||
           size_of(q->p, shape->dim[shape->rank - 1]) * elem_bytes(s->buffer->elem) >= 16;
}

/* Prints a store to the pointers, block pointer or descriptor in the statement's e[3]. */
static void store_at(const struct printer *q, const struct stmt *s)
{
    const struct node *to = s->e[3];
    if (to->kind == NODE_load_descriptor) {
        operand(q, to, 0);
        text_str(q->out, ".store([");
        list(q, to, 1);
        text_str(q->out, "], ");
        expression(q, s->e[0]);
        text_char(q->out, ')');
        return;
    }
    text_str(q->out, "tl.store(");
    expression(q, to);
    text_str(q->out, ", ");
    expression(q, s->e[0]);
    if (to->type.kind == KIND_block) {
        text_str(q->out, ", boundary_check=");
        numbers(q, NULL, to->type.shape.rank, true);
    } else if (s->e[1]) {
        text_str(q->out, ", mask=");
        expression(q, s->e[1]);
    }
    text_char(q->out, ')');
}

static void store(const struct printer *q, const struct stmt *s)
{
    if (s->form == STORE_at) {
        store_at(q, s);
        return;
    }
    if (takes_box(q, s)) {
        store_box(q, s);
        return;
    }
    text_str(q->out, "tl.store(");
    store_base(q, s);
    linear(q, &s->e[0]->type.shape, s->perm);
    text_str(q->out, ", ");
    expression(q, s->e[0]);
    if (s->e[1]) {
        text_str(q->out, ", mask=");
        expression(q, s->e[1]);
    }
    text_char(q->out, ')');
}

static void block(const struct printer *q, const struct stmt *s, int depth);

static void loop(const struct printer *q, const struct stmt *s, int depth)
{
    static const char *const forms[] = {"range", "tl.range", "tl.static_range"};
    text_printf(q->out, "for %s%s in %s(", s->form == FORM_static ? "i" : "", s->var->name, forms[s->form]);
    for (int i = 0; i < 3 && s->e[i]; i++) {
        text_str(q->out, i ? ", " : "");
        if (is_constant(s->e[i]))
            literal(q, s->e[i]);
        else
            expression(q, s->e[i]);
    }
    if (s->stages)
        text_printf(q->out, ", num_stages=%d", s->stages);
    if (s->unroll && s->form == FORM_tl_range)
        text_printf(q->out, ", loop_unroll_factor=%d", s->unroll);
    text_str(q->out, "):\n");
    /* assign the counter of static_range, a constant, to an ordinary variable */
    if (s->form == FORM_static) {
        indent(q, depth + 1);
        text_printf(q->out, "%s = i%s\n", s->var->name, s->var->name);
    }
    block(q, s->body, depth + 1);
}

static void statement(const struct printer *q, const struct stmt *s, int depth)
{
    indent(q, depth);
    switch (s->kind) {
    case STMT_assign:
        text_printf(q->out, "%s = ", s->var->name);
        expression(q, s->e[0]);
        text_char(q->out, '\n');
        return;
    case STMT_store:
        if (s->region) {
            text_str(q->out, "tl.debug_barrier()\n");
            indent(q, depth);
        }
        store(q, s);
        text_char(q->out, '\n');
        if (s->region) {
            indent(q, depth);
            text_str(q->out, "tl.debug_barrier()\n");
        }
        return;
    case STMT_atomic:
        expression(q, s->e[0]);
        text_char(q->out, '\n');
        return;

    case STMT_return:
        text_str(q->out, "return");
        if (s->e[0]) {
            text_char(q->out, ' ');
            expression(q, s->e[0]);
        }
        text_char(q->out, '\n');
        return;
    case STMT_for: loop(q, s, depth); return;
    default:
        text_str(q->out, s->kind == STMT_if ? "if " : "while ");
        expression(q, s->e[0]);
        text_str(q->out, ":\n");
        block(q, s->body, depth + 1);
        if (s->alternative) {
            indent(q, depth);
            text_str(q->out, "else:\n");
            block(q, s->alternative, depth + 1);
        }
    }
}

static void block(const struct printer *q, const struct stmt *s, int depth)
{
    if (!s) {
        indent(q, depth);
        text_str(q->out, "pass\n");
    }
    for (; s; s = s->next)
        statement(q, s, depth);
}

/* -- the file -- */

static void functions(const struct printer *q)
{
    for (int i = 0; i < COMBINES; i++)
        if (q->uses_combine[i])
            text_printf(q->out, "@triton.jit\n%s\n\n", combines[i].text);
    for (int i = 0; i < q->p->nfunctions; i++) {
        const struct function *f = q->p->functions[i];
        if (!q->uses_function[i])
            continue;
        text_printf(q->out, "@triton.jit\ndef %s(", f->name);
        for (int k = 0; k < f->nparams; k++)
            text_printf(q->out, "%s%s", k ? ", " : "", f->params[k]->name);
        text_str(q->out, "):\n");
        for (const struct stmt *s = f->body; s; s = s->next)
            statement(q, s, 1);
        text_str(q->out, "    return ");
        expression(q, f->result);
        text_str(q->out, "\n\n\n");
    }
}

static void parameters(const struct printer *q)
{
    const char *comma = "";
    for (int i = 0; i < q->p->nbuffers; i++)
        if (q->uses_buffer[i]) {
            text_printf(q->out, "%s%s", comma, q->p->buffers[i]->name);
            comma = ", ";
        }
    for (int i = 0; i < q->p->nscalars; i++)
        if (q->uses_scalar[i]) {
            text_printf(q->out, "%s%s", comma, q->p->scalars[i]->name);
            comma = ", ";
        }
}

static void element(const struct printer *q, enum elem e, double x, int64_t bits)
{
    if (elem_info[e].class == BOOL)
        text_str(q->out, bits ? "True" : "False");
    else if (elem_info[e].class & INTS)
        e == EL_u64 ? text_printf(q->out, "%" PRIu64, (uint64_t)bits) : text_printf(q->out, "%" PRId64, bits);
    else if (x != x || x - x != 0)
        text_str(q->out, x != x ? "float('nan')" : x > 0 ? "float('inf')" : "-float('inf')");
    else
        text_double(q->out, x, 0);
}

static void check_of(const struct printer *q, const struct buffer *b, const struct expectation *x)
{
    const char *comma = "";
    for (int i = 0; i < x->n; i++) {
        if (x->at[i].buffer != b)
            continue;
        if (!*comma)
            text_printf(q->out, "got = %s.cpu()%s.tolist()\nfor i, want in [", b->name,
                        elem_info[b->elem].class == SMALL ? ".to(torch.float32)" : "");
        text_printf(q->out, "%s(%" PRId64 ", ", comma, x->at[i].index);
        element(q, b->elem, x->at[i].number, x->at[i].bits);
        text_char(q->out, ')');
        comma = ", ";
    }
    if (*comma)
        text_printf(q->out, "]:\n    assert got[i] == want or want != want, ('%s', i, got[i], want)\n",
                    b->name);
}

static int64_t scalar_int(const struct program *p, const struct scalar *s)
{
    int64_t x = extent_of(p, &s->value);
    return x > 0 ? x : 0;
}

static void scalar_value(const struct printer *q, const struct scalar *s)
{
    if (s->is_float)
        text_double(q->out, s->number, 0);
    else
        text_printf(q->out, "%" PRId64, scalar_int(q->p, s));
    text_str(q->out, ", ");
}

static void host(const struct printer *q, const struct expectation *x)
{
    const struct program *p = q->p;
    text_str(q->out,
             "def data(n, a, b, c, modulus, minus, scale, dtype):\n"
             "    i = torch.arange(n, dtype=torch.int64)\n"
             "    x = (i * a + b) % 65521 * c % modulus - minus\n"
             "    if scale is not None:\n"
             "        x = x.to(torch.float64) * scale\n"
             "    return x.to(torch.float32).to(dtype).cuda() if dtype.itemsize == 1 and scale is not None "
             "else x.to(dtype).cuda()\n\n\n");
    if (q->uses_descriptor)
        text_str(q->out,
                 "triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, "
                 "device='cuda'))\n");
    for (int i = 0; i < p->nbuffers; i++) {
        const struct buffer *b = p->buffers[i];
        if (!q->uses_buffer[i])
            continue;
        if (b->role == ROLE_output) {
            bool is_small = elem_info[b->elem].class == SMALL;
            text_printf(q->out, "%s = torch.full((%" PRId64 ",), %s, dtype=torch.%s, device='cuda')%s%s%s\n",
                        b->name, b->count, b->elem == EL_i1 ? "True" : "3",
                        is_small ? "float32" : elem_info[b->elem].torch, is_small ? ".to(torch." : "",
                        is_small ? elem_info[b->elem].torch : "", is_small ? ")" : "");
            continue;
        }
        text_printf(q->out,
                    "%s = data(%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                    ", ",
                    b->name, b->count + b->skew, b->a, b->b, b->c, b->modulus, b->minus);
        if (elem_info[b->elem].class & (FLOAT | SMALL))
            text_printf(q->out, "2.0 ** %d", b->scale);
        else
            text_str(q->out, "None");
        text_printf(q->out, ", torch.%s)", elem_info[b->elem].torch);
        text_printf(q->out, b->skew ? "[%d:]\n" : "\n", b->skew);
    }
    uint32_t grid[3];
    program_grid(p, grid);
    if (p->grid_form == GRID_x)
        text_printf(q->out, "kernel[(%u,)](", grid[0]);
    else
        text_printf(q->out, "kernel[(%u, %u, %u)](", grid[0], grid[1], grid[2]);
    for (int i = 0; i < p->nbuffers; i++)
        if (q->uses_buffer[i])
            text_printf(q->out, "%s, ", p->buffers[i]->name);
    for (int i = 0; i < p->nscalars; i++)
        if (q->uses_scalar[i])
            scalar_value(q, p->scalars[i]);
    text_printf(q->out, "num_warps=%d, num_stages=%d%s)\n", p->warps, p->stages,
                p->no_fusion ? ", enable_fp_fusion=False" : "");
    for (int i = 0; x && i < p->nbuffers; i++)
        check_of(q, p->buffers[i], x);
}

static struct printer look(const struct program *p, struct text *out)
{
    struct printer q = {.p = p, .out = out};
    use_statements(&q, p->body);
    return q;
}

void program_print(const struct program *p, bool whole, const struct expectation *x, const char *why,
                   struct text *out)
{
    struct printer q = look(p, out);
    if (why)
        text_str(out, why);
    text_printf(out, "%simport triton\nimport triton.language as tl\n\n\n", whole ? "import torch\n" : "");
    functions(&q);
    text_str(out, "@triton.jit\ndef kernel(");
    parameters(&q);
    text_str(out, "):\n");
    block(&q, p->body, 1);
    if (whole) {
        text_str(out, "\n\n");
        host(&q, x);
    }
}

int program_arguments(const struct program *p, struct argument *args)
{
    struct printer q = look(p, NULL);
    int n = 0;
    for (int i = 0; i < p->nbuffers; i++)
        if (q.uses_buffer[i])
            args[n++] = (struct argument){p->buffers[i], 0, NULL};
    for (int i = 0; i < p->nscalars; i++) {
        const struct scalar *s = p->scalars[i];
        float x = (float)s->number;
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        if (q.uses_scalar[i])
            args[n++] = (struct argument){NULL, s->is_float ? bits : (uint64_t)scalar_int(p, s), s};
    }
    return n;
}

void program_signature(const struct program *p, struct text *out)
{
    struct argument args[BUFFERS + SCALARS];
    int n = program_arguments(p, args);
    for (int i = 0; i < n; i++) {
        const struct buffer *b = args[i].buffer;
        text_str(out, i ? ", " : "");
        if (b)
            text_printf(out, "*%s%s", elem_info[b->elem].signature,
                        b->skew * elem_bytes(b->elem) % 16 ? "" : ":16");
        else if (args[i].scalar->is_float)
            text_str(out, "fp32");
        else if (args[i].bits == 1)
            text_str(out, "i32:1");
        else
            text_printf(out, "i32%s", args[i].bits % 16 ? "" : ":16");
    }
}
