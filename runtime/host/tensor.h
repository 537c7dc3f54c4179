/* tensor.h: the tensors of host programs: dense arrays with strides, computed on the CPU in double precision
 * (integers in 64 bits) and rounded once, so that they can serve as reference results for kernels.
 *
 * A storage has a copy in host memory and, once a kernel on another device used it, one in that device's
 * memory. The copy that was written last is valid, and is copied to the other side when that side is read. */
#ifndef NESO_RUNTIME_TENSOR_H
#define NESO_RUNTIME_TENSOR_H

#include "ir/ir.h"
#include "runtime/budget.h"

enum { TENSOR_RANK_MAX = 8 };

/*  torch's name     dtype  unsigned  short spelling of signatures */
#define TORCH_DTYPES(X) \
    X(bool_,          i1,   true,  "i1") \
    X(uint8,          i8,   true,  "u8") \
    X(int8,           i8,   false, "i8") \
    X(int16,          i16,  false, "i16") \
    X(uint16,         i16,  true,  "u16") \
    X(int32,          i32,  false, "i32") \
    X(uint32,         i32,  true,  "u32") \
    X(int64,          i64,  false, "i64") \
    X(uint64,         i64,  true,  "u64") \
    X(float8_e4m3fn,  f8e4, false, "fp8e4nv") \
    X(float8_e5m2,    f8e5, false, "fp8e5") \
    X(float16,        f16,  false, "fp16") \
    X(bfloat16,       bf16, false, "bf16") \
    X(float32,        f32,  false, "fp32") \
    X(float64,        f64,  false, "fp64")

enum torch_dtype {
#define X(name, dtype, is_unsigned, word) TORCH_##name,
    TORCH_DTYPES(X)
#undef X
    TORCH_count
};

struct torch_dtype_info {
    const char *name; /* "float32" */
    enum dtype dtype;
    bool is_unsigned;
    const char *word; /* "fp32" */
};
extern const struct torch_dtype_info torch_dtypes[TORCH_count];

/* How storages are mirrored on another device; set by the owner of the device. */
struct mirror {
    void *ctx;
    bool (*alloc)(void *ctx, size_t bytes, uint64_t *device);
    void (*free)(void *ctx, uint64_t device, size_t bytes);
    bool (*zero)(void *ctx, uint64_t device, size_t bytes);
    bool (*to_device)(void *ctx, uint64_t device, const void *host, size_t bytes);
    bool (*to_host)(void *ctx, void *host, uint64_t device, size_t bytes);
};

struct storage {
    /* NULL until the host side is needed: then all 0, unless the device's copy is valid */
    char *host;
    size_t bytes;
    uint64_t device;     /* 0: it has no copy on the device */
    bool host_stale, device_stale;
    bool is_undefined; /* its contents need not be zero: torch.empty */
    bool is_kept;     /* pool_release does not free it */
    bool is_released; /* its contents were freed (pool_release) */
    struct storage *next; /* list of all storages of a pool */
};

/* Owns all storages of a program; they are freed together. */
struct tensor_pool {
    const struct memory *mem;    /* for the pool's own structures */
    const struct memory *data;   /* for the tensors' contents */
    const struct mirror *mirror; /* NULL: kernels read host memory */
    struct storage *storages;
    uint64_t seed[2];            /* state of the random numbers */
    uint64_t writes;             /* number of writes by the host so far */
    /* the device had no memory, or a copy failed: the mirror's owner has the reason */
    bool failed;
    struct budget *budget;       /* of time and steps; NULL: not limited */
};

struct tensor {
    struct storage *storage;
    enum torch_dtype dtype;
    int rank;
    int64_t shape[TENSOR_RANK_MAX], stride[TENSOR_RANK_MAX]; /* strides in elements */
    int64_t offset;                                          /* in elements */
    bool on_gpu; /* made with device='cuda': the value of .device */
    void *attributes; /* of this object, not of its views: private to torch.c; NULL: none */
};

/* Counts elements that any thread has computed or will compute; false: the budget is exhausted, and the
 * operation should end. */
bool pool_spend(struct tensor_pool *p, int64_t elems);

void pool_init(struct tensor_pool *p, const struct memory *mem, const struct memory *data, const struct mirror *mirror);
void pool_free(struct tensor_pool *p);
void storage_release(struct tensor_pool *p, struct storage *s);
/* Frees the contents of all storages made since `mark` (an earlier p->storages) that are not kept: later
 * accesses to them are refused. */
void pool_release(struct tensor_pool *p, const struct storage *mark);

/* A new contiguous tensor of zeros. Returns false if there is no memory. */
bool tensor_init(struct tensor_pool *p, struct tensor *t, enum torch_dtype dtype, int rank, const int64_t *shape);
int64_t tensor_elems(const struct tensor *t);
int tensor_elem_bytes(const struct tensor *t);
bool tensor_is_contiguous(const struct tensor *t);
bool torch_is_float(enum torch_dtype d);

/* Host memory of the first element, up to date; `write`: the host's copy becomes the valid one. NULL: a copy
 * failed. */
char *tensor_host(struct tensor_pool *p, const struct tensor *t, bool write);
/* The address that kernels get (host memory if there is no mirror); `written`: the kernel may write to it. 0:
 * failed. */
uint64_t tensor_device(struct tensor_pool *p, const struct tensor *t, bool written);

/* One number; integers stay exact. */
struct number {
    bool is_float;
    double f;
    int64_t i;
};
struct number tensor_get(const char *host, const struct tensor *t, int64_t linear); /* row-major index */
void tensor_set(char *host, const struct tensor *t, int64_t linear, struct number x);

/* out[i] = f(x..., i); operands are broadcast to out's shape; converts between dtypes. */
typedef struct number element_function(const struct number *x, void *ctx);
bool tensor_map(struct tensor_pool *p, struct tensor *out, int n, const struct tensor *const *x, element_function *f, void *ctx);
bool tensor_broadcast_shape(const struct tensor *a, const struct tensor *b, int *rank, int64_t *shape);
/* A view of t with broadcast strides. */
struct tensor tensor_expanded(const struct tensor *t, int rank, const int64_t *shape);
/* out, contiguous: the products of all matrices of a and b, which have its rank. */
bool tensor_matmul(struct tensor_pool *p, struct tensor *out, const struct tensor *a, const struct tensor *b);

/* torch's result type of an operation on two tensors, or a tensor and a Python number. */
enum torch_dtype torch_promote(const struct tensor *a, const struct tensor *b);
enum torch_dtype torch_promote_number(const struct tensor *a, bool number_is_float);

/* Uniform numbers in [0, 1) and normal deviates; a seed gives the same numbers on every machine. */
uint64_t pool_random(struct tensor_pool *p);
double pool_uniform(struct tensor_pool *p);
double pool_normal(struct tensor_pool *p);

/* -- tensor_print.c -- */

/* Prints as torch does: tensor([1, 2, 0]) or tensor([[...]], device='cuda:0', dtype=torch.float16). `note` is
 * a further word at the end, or NULL. Returns false if a copy failed, or the budget is exhausted. */
bool tensor_print(struct tensor_pool *p, const struct tensor *t, const char *note, struct text *out);

#endif
