/* SPDX-License-Identifier: MIT */
/* tensor.c: implements the arrays of host programs (tensor.h): storage on host and device, element access, maps
 * over broadcast shapes, products, random numbers. */
#include "runtime/host/tensor.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct torch_dtype_info torch_dtypes[TORCH_count] = {
#define X(name, dt, is_unsigned, word) {#name, DT_##dt, is_unsigned, word},
    TORCH_DTYPES(X)
#undef X
};

bool pool_spend(struct tensor_pool *p, int64_t elems)
{
    return !p->budget || budget_spend(p->budget, elems / STEP_ELEMS) == ERR_count;
}

/* -- storage -- */

void pool_init(struct tensor_pool *p, const struct memory *mem, const struct memory *data,
               const struct mirror *mirror)
{
    *p = (struct tensor_pool){
        .mem = mem, .data = data, .mirror = mirror, .seed = {0x9E3779B97F4A7C15u, 0xBF58476D1CE4E5B9u}};
}

void pool_free(struct tensor_pool *p)
{
    for (struct storage *next, *s = p->storages; s; s = next) {
        next = s->next;
        if (s->device)
            p->mirror->free(p->mirror->ctx, s->device, s->bytes);
        if (s->host)
            p->data->free(p->data->ctx, s->host, s->bytes);
        p->mem->free(p->mem->ctx, s, sizeof *s);
    }
    p->storages = NULL;
}

void storage_release(struct tensor_pool *p, struct storage *s)
{
    if (s->device)
        p->mirror->free(p->mirror->ctx, s->device, s->bytes);
    if (s->host)
        p->data->free(p->data->ctx, s->host, s->bytes);
    s->device = 0;
    s->host = NULL;
    s->is_released = true;
}

void pool_release(struct tensor_pool *p, const struct storage *mark)
{
    for (struct storage *s = p->storages; s && s != mark; s = s->next)
        if (!s->is_kept)
            storage_release(p, s);
}

int tensor_elem_bytes(const struct tensor *t)
{
    return dtype_info[torch_dtypes[t->dtype].dtype].bytes;
}

int64_t tensor_elems(const struct tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++)
        n *= t->shape[d];
    return n;
}

bool torch_is_float(enum torch_dtype d)
{
    return dtype_info[torch_dtypes[d].dtype].kind == DTYPE_float;
}

bool tensor_is_contiguous(const struct tensor *t)
{
    int64_t n = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        if (t->shape[d] != 1 && t->stride[d] != n)
            return false;
        n *= t->shape[d];
    }
    return true;
}

static bool materialize(struct tensor_pool *p, struct storage *s)
{
    enum { AT_ONCE = 1 << 22 };
    s->host = p->data->alloc(p->data->ctx, s->bytes);
    for (size_t at = 0; s->host && at < s->bytes; at += AT_ONCE) {
        if (!pool_spend(p, 0)) {
            p->data->free(p->data->ctx, s->host, s->bytes);
            s->host = NULL;
            return false;
        }
        memset(s->host + at, 0, s->bytes - at < AT_ONCE ? s->bytes - at : AT_ONCE);
    }
    return s->host != NULL;
}

bool tensor_init(struct tensor_pool *p, struct tensor *t, enum torch_dtype dtype, int rank,
                 const int64_t *shape)
{
    *t = (struct tensor){.dtype = dtype, .rank = rank, .on_gpu = true};
    int64_t n = 1;
    for (int d = rank - 1; d >= 0; d--) {
        t->shape[d] = shape[d];
        t->stride[d] = n;
        if (shape[d] < 0 || __builtin_mul_overflow(n, shape[d] ? shape[d] : 1, &n) || n > INT64_MAX / 16)
            return false;
    }
    n = tensor_elems(t);
    struct storage *s = p->mem->alloc(p->mem->ctx, sizeof *s);
    if (!s)
        return false;
    *s = (struct storage){.bytes = (size_t)n * (size_t)tensor_elem_bytes(t), .next = p->storages};
    if (s->bytes == 0)
        s->bytes = 1; /* even an empty tensor needs a unique address */
    s->device_stale = true;
    /* without a mirror, kernels read host memory, which must exist now */
    if (!p->mirror && !materialize(p, s)) {
        p->mem->free(p->mem->ctx, s, sizeof *s);
        return false;
    }
    p->storages = s;
    t->storage = s;
    return true;
}

char *tensor_host(struct tensor_pool *p, const struct tensor *t, bool write)
{
    struct storage *s = t->storage;
    if (s->is_released || (!s->host && !materialize(p, s)))
        return NULL;
    if (s->host_stale) {
        if (!p->mirror->to_host(p->mirror->ctx, s->host, s->device, s->bytes)) {
            p->failed = true;
            return NULL;
        }
        s->host_stale = false;
    }
    if (write) {
        s->device_stale = true;
        p->writes++;
    }
    return s->host + t->offset * tensor_elem_bytes(t);
}

uint64_t tensor_device(struct tensor_pool *p, const struct tensor *t, bool written)
{
    struct storage *s = t->storage;
    uint64_t offset = (uint64_t)(t->offset * tensor_elem_bytes(t));
    if (s->is_released)
        return 0;
    if (!p->mirror)
        return (uint64_t)(uintptr_t)s->host + offset;
    const struct mirror *m = p->mirror;
    if (!s->device && !m->alloc(m->ctx, s->bytes, &s->device))
        p->failed = true;
    else if (s->device_stale && s->host && !m->to_device(m->ctx, s->device, s->host, s->bytes))
        p->failed = true;
    else if (s->device_stale && !s->host && !s->is_undefined && !m->zero(m->ctx, s->device, s->bytes))
        p->failed = true;
    if (p->failed)
        return 0;
    s->device_stale = false;
    if (written || !s->host)
        s->host_stale = true;
    return s->device + offset;
}

/* -- elements -- */

static int64_t place(const struct tensor *t, int64_t linear)
{
    int64_t at = 0;
    for (int d = t->rank - 1; d >= 0; d--) {
        at += linear % t->shape[d] * t->stride[d];
        linear /= t->shape[d];
    }
    return at;
}

static struct number read_number(const char *p, enum torch_dtype dtype)
{
    const struct torch_dtype_info *d = &torch_dtypes[dtype];
    uint64_t bits = 0;
    int width = dtype_info[d->dtype].bytes;
    memcpy(&bits, p, (size_t)width);
    if (dtype_info[d->dtype].kind == DTYPE_float)
        return (struct number){.is_float = true, .f = bits_to_double(d->dtype, bits)};
    int shift = 64 - 8 * width;
    int64_t i = d->is_unsigned ? (int64_t)bits : (int64_t)(bits << shift) >> shift;
    return (struct number){.i = i};
}

/* Writes an element, converted as torch casts: a float to an integer toward zero, and nonzero to True. */
static void write_number(char *p, enum torch_dtype dtype, struct number x)
{
    enum dtype d = torch_dtypes[dtype].dtype;
    uint64_t bits;
    if (dtype_info[d].kind == DTYPE_float)
        bits = double_to_bits(d, x.is_float ? x.f : (double)x.i);
    else if (d == DT_i1)
        bits = x.is_float ? x.f != 0 : x.i != 0;
    else if (!x.is_float)
        bits = (uint64_t)x.i;
    else if (x.f >= -9223372036854775808.0 && x.f < 9223372036854775808.0)
        bits = (uint64_t)(int64_t)x.f;
    else
        bits = x.f >= 9223372036854775808.0 && x.f < 18446744073709551616.0 ? (uint64_t)x.f
                                                                            : (uint64_t)INT64_MIN;
    memcpy(p, &bits, (size_t)dtype_info[d].bytes);
}

struct number tensor_get(const char *host, const struct tensor *t, int64_t linear)
{
    return read_number(host + place(t, linear) * tensor_elem_bytes(t), t->dtype);
}

void tensor_set(char *host, const struct tensor *t, int64_t linear, struct number x)
{
    write_number(host + place(t, linear) * tensor_elem_bytes(t), t->dtype, x);
}

/* -- maps -- */

bool tensor_broadcast_shape(const struct tensor *a, const struct tensor *b, int *rank, int64_t *shape)
{
    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (int d = 0; d < *rank; d++) {
        int64_t x = d < *rank - a->rank ? 1 : a->shape[d - (*rank - a->rank)];
        int64_t y = d < *rank - b->rank ? 1 : b->shape[d - (*rank - b->rank)];
        if (x != y && x != 1 && y != 1)
            return false;
        shape[d] = x == 1 ? y : x;
    }
    return true;
}

struct tensor tensor_expanded(const struct tensor *t, int rank, const int64_t *shape)
{
    struct tensor out = *t;
    out.rank = rank;
    for (int d = 0; d < rank; d++) {
        int from = d - (rank - t->rank);
        out.shape[d] = shape[d];
        out.stride[d] = from < 0 || t->shape[from] == 1 ? 0 : t->stride[from];
    }
    return out;
}

enum { MAP_OPERANDS_MAX = 4 };

/* The state of a loop over the elements of several tensors of one shape, in row-major order. */
struct walk {
    int rank;
    int64_t index[TENSOR_RANK_MAX];                      /* the index of the current element */
    char *at[MAP_OPERANDS_MAX + 1];                      /* for each tensor: the address of this element */
    int64_t step[MAP_OPERANDS_MAX + 1][TENSOR_RANK_MAX]; /* for each tensor: its strides in bytes */
};

static void walk_next(struct walk *w, const int64_t *shape, int n)
{
    for (int d = w->rank - 1; d >= 0; d--) {
        for (int k = 0; k < n; k++)
            w->at[k] += w->step[k][d];
        if (++w->index[d] < shape[d])
            return;
        for (int k = 0; k < n; k++)
            w->at[k] -= w->step[k][d] * shape[d];
        w->index[d] = 0;
    }
}

bool tensor_map(struct tensor_pool *p, struct tensor *out, int n, const struct tensor *const *x,
                element_function *f, void *ctx)
{
    struct walk w = {.rank = out->rank};
    for (int k = 0; k <= n; k++) {
        struct tensor t = k < n ? tensor_expanded(x[k], out->rank, out->shape) : *out;
        if (!(w.at[k] = tensor_host(p, &t, k == n)))
            return false;
        for (int d = 0; d < out->rank; d++)
            w.step[k][d] = t.stride[d] * tensor_elem_bytes(&t);
    }
    int64_t total = tensor_elems(out);
    for (int64_t i = 0; i < total; i++) {
        struct number v[MAP_OPERANDS_MAX];
        if (i % ELEMS_UNASKED == 0 && !pool_spend(p, total - i < ELEMS_UNASKED ? total - i : ELEMS_UNASKED))
            return false;
        for (int k = 0; k < n; k++)
            v[k] = read_number(w.at[k], x[k]->dtype);
        write_number(w.at[n], out->dtype, f(v, ctx));
        walk_next(&w, out->shape, n + 1);
    }
    return true;
}

/* -- products -- */

static void read_row(double *row, const char *host, const struct tensor *t, int64_t start, int64_t stride,
                     int64_t n)
{
    int bytes = tensor_elem_bytes(t);
    for (int64_t i = 0; i < n; i++) {
        struct number x = read_number(host + (start + i * stride) * bytes, t->dtype);
        row[i] = x.is_float ? x.f : (double)x.i;
    }
}

/* One thread's part of one matrix product of a batch, in double precision: the rows `first` to `last` - 1 of
 * the m x n matrix out = a b, which begins at element `base` of `out`. */
struct product {
    struct tensor_pool *pool;
    char *out_host;
    const struct tensor *out;
    const double *a, *b;
    double *row; /* buffer of n numbers */
    int64_t base, first, last, n, k;
};

/* Counts the multiply-adds since the last call of this function in the budget. Multiply-adds are cheap, so
 * MULTIPLY_ADDS of them count as one computed element. Each call sets *unasked to TURN, the number of
 * multiply-adds that the caller may compute before the next call. The caller subtracts its multiply-adds from
 * *unasked, and calls this function when *unasked is negative. Returns false if the budget is exhausted. */
static bool ask(struct tensor_pool *p, int64_t *unasked)
{
    enum { MULTIPLY_ADDS = 8, TURN = MULTIPLY_ADDS * ELEMS_UNASKED };
    bool goes_on = pool_spend(p, (TURN - *unasked) / MULTIPLY_ADDS);
    *unasked = TURN;
    return goes_on;
}

/* Computes the rows of `out` one after the other. Each iteration multiplies four rows of b by the
 * corresponding elements of a, and adds the products to a row of `out`, in the order of the rows of b. */
static void multiply_rows(const struct product *p)
{
    int64_t n = p->n, k = p->k, unasked = 0;
    double *row = p->row;
    for (int64_t i = p->first; i < p->last; i++) {
        const double *a = p->a + i * k;
        memset(row, 0, (size_t)n * sizeof *row);
        int64_t l = 0;
        for (; l + 4 <= k; l += 4) {
            if ((unasked -= 4 * n) < 0 && !ask(p->pool, &unasked))
                return;
            const double *b = p->b + l * n;
            for (int64_t j = 0; j < n; j++)
                row[j] = row[j] + a[l] * b[j] + a[l + 1] * b[j + n] + a[l + 2] * b[j + 2 * n] +
                         a[l + 3] * b[j + 3 * n];
        }
        for (; l < k; l++)
            for (int64_t j = 0; j < n; j++)
                row[j] += a[l] * p->b[l * n + j];
        for (int64_t j = 0; j < n; j++)
            write_number(p->out_host + (p->base + i * n + j) * tensor_elem_bytes(p->out), p->out->dtype,
                         torch_is_float(p->out->dtype) ? (struct number){.is_float = true, .f = row[j]}
                                                       : (struct number){.i = (int64_t)row[j]});
    }
}

static void *multiply_some(void *product)
{
    multiply_rows(product);
    return NULL;
}

enum { THREADS_MAX = 16 };

static int count_threads(int64_t m, int64_t n, int64_t k)
{
    int64_t work = m * n * k / 4000000, cores = sysconf(_SC_NPROCESSORS_ONLN),
            most = cores < THREADS_MAX ? cores : THREADS_MAX;
    work = work < most ? work : most;
    work = work < m ? work : m;
    return work < 1 ? 1 : (int)work;
}

/* Computes a product with several threads. Each thread computes whole rows, so the sums do not depend on the
 * number of threads. `rows` is a buffer of n numbers for each thread. */
static void multiply(struct product whole, int64_t m, double *rows, int nthreads)
{
    struct product parts[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    bool started[THREADS_MAX] = {false};
    for (int i = 0; i < nthreads; i++) {
        parts[i] = whole;
        parts[i].row = rows + i * whole.n;
        parts[i].first = m * i / nthreads;
        parts[i].last = m * (i + 1) / nthreads;
        started[i] = i > 0 && pthread_create(&threads[i], NULL, multiply_some, &parts[i]) == 0;
    }
    for (int i = 0; i < nthreads; i++)
        if (!started[i])
            multiply_rows(&parts[i]);
    for (int i = 0; i < nthreads; i++)
        if (started[i])
            pthread_join(threads[i], NULL);
}

/* Returns the offset, in elements, at which matrix i of a batch begins. */
static int64_t matrix_place(const struct tensor *t, int64_t i)
{
    struct tensor heads = *t;
    heads.rank -= 2;
    return place(&heads, i);
}

bool tensor_matmul(struct tensor_pool *p, struct tensor *out, const struct tensor *a, const struct tensor *b)
{
    int r = out->rank;
    int64_t m = out->shape[r - 2], n = out->shape[r - 1], k = a->shape[a->rank - 1];
    int nthreads = count_threads(m, n, k);
    size_t doubles = (size_t)(m * k + k * n + n * nthreads);
    double *x = p->mem->alloc(p->mem->ctx, doubles * sizeof *x);
    const char *ha = tensor_host(p, a, false), *hb = tensor_host(p, b, false);
    char *ho = tensor_host(p, out, true);
    if (!x || !ha || !hb || !ho) {
        if (x)
            p->mem->free(p->mem->ctx, x, doubles * sizeof *x);
        return false;
    }
    int64_t batches = m > 0 && n > 0 ? tensor_elems(out) / (m * n) : 0;
    bool goes_on = true;
    for (int64_t i = 0; i < batches && goes_on; i++) {
        int64_t at_a = matrix_place(a, i), at_b = matrix_place(b, i);
        for (int64_t row = 0; row < m && (goes_on = pool_spend(p, k)); row++)
            read_row(x + row * k, ha, a, at_a + row * a->stride[a->rank - 2], a->stride[a->rank - 1], k);
        for (int64_t row = 0; row < k && goes_on && (goes_on = pool_spend(p, n)); row++)
            read_row(x + m * k + row * n, hb, b, at_b + row * b->stride[b->rank - 2], b->stride[b->rank - 1],
                     n);
        struct product whole = {
            .pool = p, .out_host = ho, .out = out, .a = x, .b = x + m * k, .base = i * m * n, .n = n, .k = k};
        if (goes_on)
            multiply(whole, m, x + m * k + k * n, nthreads);
        goes_on = goes_on && pool_spend(p, 0);
    }
    p->mem->free(p->mem->ctx, x, doubles * sizeof *x);
    return goes_on;
}

/* -- result types: the categories are bool < integers < floats; a number or 0-d tensor affects the result type only if
 * its category is higher than the categories of all other operands -- */

static int category(enum torch_dtype d)
{
    return torch_is_float(d) ? 2 : d != TORCH_bool_;
}

static enum torch_dtype join_dtypes(enum torch_dtype a, enum torch_dtype b)
{
    if (a == b || category(a) != category(b))
        return category(a) >= category(b) ? a : b;
    if ((a == TORCH_float16 && b == TORCH_bfloat16) || (a == TORCH_bfloat16 && b == TORCH_float16))
        return TORCH_float32;
    if (a == TORCH_uint8 || b == TORCH_uint8) {
        enum torch_dtype other = a == TORCH_uint8 ? b : a;
        return other == TORCH_int8 ? TORCH_int16 : other;
    }
    return a > b ? a : b;
}

enum torch_dtype torch_promote(const struct tensor *a, const struct tensor *b)
{
    if (a->rank == 0 && b->rank > 0 && category(a->dtype) <= category(b->dtype))
        return b->dtype;
    if (b->rank == 0 && a->rank > 0 && category(b->dtype) <= category(a->dtype))
        return a->dtype;
    return join_dtypes(a->dtype, b->dtype);
}

enum torch_dtype torch_promote_number(const struct tensor *a, bool number_is_float)
{
    if (number_is_float)
        return category(a->dtype) == 2 ? a->dtype : TORCH_float32;
    return category(a->dtype) == 0 ? TORCH_int64 : a->dtype;
}

/* -- random numbers: xoroshiro128+ (Blackman, Vigna 2018) -- */

uint64_t pool_random(struct tensor_pool *p)
{
    uint64_t a = p->seed[0], b = p->seed[1], sum = a + b;
    b ^= a;
    p->seed[0] = ((a << 24) | (a >> 40)) ^ b ^ (b << 16);
    p->seed[1] = (b << 37) | (b >> 27);
    return sum;
}

double pool_uniform(struct tensor_pool *p)
{
    return (double)(pool_random(p) >> 11) * 0x1p-53;
}

double pool_normal(struct tensor_pool *p)
{
    double u = 1.0 - pool_uniform(p), v = pool_uniform(p); /* the method of Box and Muller (1958) */
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}
