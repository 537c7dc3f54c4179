/* SPDX-License-Identifier: MIT */
/* tensor.h: the tensors of host programs: dense arrays with strides. The CPU computes their elements in double
 * precision (integers in 64 bits), and rounds each result once. So these results can serve as references for the
 * results of kernels.
 *
 * A storage holds the elements of one tensor and of the views of this tensor. A storage has a copy in host
 * memory, and, after a kernel on a device with separate memory has used the storage, also a copy in device
 * memory. If one copy was written after the other, the older copy is stale, and is updated before it is
 * read. */
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
    const char *name; /* for example "float32" */
    enum dtype dtype;
    bool is_unsigned;
    const char *word; /* for example "fp32" */
};
extern const struct torch_dtype_info torch_dtypes[TORCH_count];

/* Functions for the copies of storages in the memory of a device that cannot read host memory. host.c sets
 * these functions. Each but `free` returns false if it fails. */
struct mirror {
    void *ctx;
    bool (*alloc)(void *ctx, size_t bytes, uint64_t *device);
    void (*free)(void *ctx, uint64_t device, size_t bytes);
    bool (*zero)(void *ctx, uint64_t device, size_t bytes);
    bool (*to_device)(void *ctx, uint64_t device, const void *host, size_t bytes);
    bool (*to_host)(void *ctx, void *host, uint64_t device, size_t bytes);
};

struct storage {
    /* The copy in host memory; NULL until it is needed. A new host copy has the contents of the device copy,
     * or, if there is none, zeros. */
    char *host;
    size_t bytes;
    uint64_t device;     /* address of the copy on the device; 0: none */
    bool host_stale, device_stale; /* this copy is older than the other copy */
    bool is_undefined; /* the initial contents need not be zeros, as for torch.empty */
    bool is_kept;     /* pool_release does not free the contents */
    bool is_released; /* storage_release or pool_release has freed the contents */
    struct storage *next; /* the next storage in the pool's list of all storages */
};

/* Owns all storages of a program, and frees them at the program's end. */
struct tensor_pool {
    const struct memory *mem;    /* memory for the pool's own structures */
    const struct memory *data;   /* memory for the tensors' contents */
    const struct mirror *mirror; /* NULL: kernels read host memory */
    struct storage *storages;
    uint64_t seed[2];            /* state of the random number generator */
    uint64_t writes;             /* how often the host has written to tensors */
    /* An allocation on the device or a copy has failed. The owner of the mirror has stored the reason. */
    bool failed;
    struct budget *budget;       /* limits of time and steps; NULL: no limits */
};

struct tensor {
    struct storage *storage;
    enum torch_dtype dtype;
    int rank;
    int64_t shape[TENSOR_RANK_MAX], stride[TENSOR_RANK_MAX]; /* strides in elements */
    int64_t offset;                                          /* offset of the first element, in elements */
    bool on_gpu; /* the tensor's attribute .device is 'cuda': the program created it with device='cuda' */
    /* the attributes that the program has set on this tensor object, which its views do not share; private to
     * torch.c; NULL: none */
    void *attributes;
};

/* Counts elements that the calling thread has computed or will compute. Returns false if the budget is
 * exhausted: then the caller should end the operation. */
bool pool_spend(struct tensor_pool *p, int64_t elems);

void pool_init(struct tensor_pool *p, const struct memory *mem, const struct memory *data, const struct mirror *mirror);
void pool_free(struct tensor_pool *p);
/* Frees the contents of a storage. Later accesses to it are errors. */
void storage_release(struct tensor_pool *p, struct storage *s);
/* Frees the contents of all storages made since `mark` (an earlier p->storages), except those with is_kept.
 * Later accesses to freed storages are errors. */
void pool_release(struct tensor_pool *p, const struct storage *mark);

/* Creates a contiguous tensor of zeros. Returns false if there is no memory. */
bool tensor_init(struct tensor_pool *p, struct tensor *t, enum torch_dtype dtype, int rank, const int64_t *shape);
int64_t tensor_elems(const struct tensor *t);
int tensor_elem_bytes(const struct tensor *t);
bool tensor_is_contiguous(const struct tensor *t);
bool torch_is_float(enum torch_dtype d);

/* Returns the address of the first element in host memory, after updating the host's copy if it is stale. If
 * `write` is true, the device's copy becomes stale. Returns NULL if the storage was released, or if an
 * allocation or a copy failed. */
char *tensor_host(struct tensor_pool *p, const struct tensor *t, bool write);
/* Returns the address at which kernels find the first element: in host memory if there is no mirror, else in
 * device memory, after updating the device's copy if it is stale. `written` says whether the kernel may write
 * to the tensor. Returns 0 on a failure. */
uint64_t tensor_device(struct tensor_pool *p, const struct tensor *t, bool written);

/* One element: f if is_float is true, else the exact integer i. */
struct number {
    bool is_float;
    double f;
    int64_t i;
};
/* These functions read and write the element whose index in row-major order is `linear`. `host` is the result
 * of tensor_host. tensor_set converts x to the tensor's dtype. */
struct number tensor_get(const char *host, const struct tensor *t, int64_t linear);
void tensor_set(char *host, const struct tensor *t, int64_t linear, struct number x);

/* Computes out[i] = f(x[0][i], ..., x[n-1][i], ctx) for each element. Broadcasts the n operands x to the
 * shape of `out`, and converts results to its dtype. Returns false if tensor_host fails for a tensor, or if
 * the budget is exhausted. */
typedef struct number element_function(const struct number *x, void *ctx);
bool tensor_map(struct tensor_pool *p, struct tensor *out, int n, const struct tensor *const *x, element_function *f, void *ctx);
/* Sets *rank and `shape` to the shape to which a and b are broadcast. Returns false if there is none. */
bool tensor_broadcast_shape(const struct tensor *a, const struct tensor *b, int *rank, int64_t *shape);
/* Returns a view of t with the given shape, to which t is broadcast: the strides of the repeated dimensions are 0. */
struct tensor tensor_expanded(const struct tensor *t, int rank, const int64_t *shape);
/* Computes the matrix products of a and b, which have the rank and the batch dimensions of `out`. `out` must
 * be contiguous. Returns false if there is no memory, if a copy failed, or if the budget is exhausted. */
bool tensor_matmul(struct tensor_pool *p, struct tensor *out, const struct tensor *a, const struct tensor *b);

/* These functions return the result type that torch gives an operation on two tensors, or on a tensor and a
 * Python number. */
enum torch_dtype torch_promote(const struct tensor *a, const struct tensor *b);
enum torch_dtype torch_promote_number(const struct tensor *a, bool number_is_float);

/* These functions return 64 random bits, a uniformly distributed number in [0, 1) and a normally distributed number.
 * Equal seeds give equal numbers on every machine. */
uint64_t pool_random(struct tensor_pool *p);
double pool_uniform(struct tensor_pool *p);
double pool_normal(struct tensor_pool *p);

/* -- tensor_print.c -- */

/* Appends the text that torch prints for a tensor: tensor([1, 2, 0]) or tensor([[...]], device='cuda:0',
 * dtype=torch.float16). `note` is a word to print before the closing parenthesis; NULL: none. Returns false
 * if a copy failed, or if the budget is exhausted. */
bool tensor_print(struct tensor_pool *p, const struct tensor *t, const char *note, struct text *out);

#endif
