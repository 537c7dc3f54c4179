/* device.h: what kernels run on, behind one interface: cuda (cuda.c, jit.c), interpreter
 * (interpreter.c), emulator (emulator/).
 *
 *     device_open ─► alloc, write ─► load(image) ─► launch(loaded, args, grid) ─► sync, read ─► unload, close
 *
 * A device that takes PTX gets the compiled kernel; one that does not gets it as traced, before any pass.
 * Nothing here unwinds: each function returns false and fills a fault, since any thread may launch. A device
 * function never keeps a lock or handle over a call into the compiler.
 *
 * To add one: a row in device.c's table, and a `const struct device_class` in a file of its own.
 */
#ifndef NESO_RUNTIME_DEVICE_H
#define NESO_RUNTIME_DEVICE_H

#include "ir/ir.h"
#include "runtime/neso.h"

struct budget;
struct ptx_info;

/* Why a device refused. Its text is the row `error` with `detail` for its %s. */
struct fault {
    enum neso_status status;
    int driver_code; /* NESO_DRIVER: CUresult */
    enum error error;
    struct loc loc;  /* in the kernel's sources, line 0: nowhere */
    char detail[640];
};
/* Fills f and returns false, so that it ends a function. */
bool fault_set(struct fault *f, enum neso_status status, enum error e, const char *detail, ...) PRINTF_LIKE(4, 5);
/* At most n bytes, terminated. */
void fault_text(const struct fault *f, char *out, size_t n);

struct device {
    const struct device_class *class; /* NULL: not open */
    const struct memory *mem;         /* for what the class allocates on the host */
    int multiprocessors;              /* 0: as many as it wants */
    const struct target *target;      /* what to compile for: the GPU's row; on a CPU: NULL, any will do */
    void *state;                      /* the class's own */
    char text[160];                   /* "NVIDIA H200 (cuda:0, sm_90a)" */
};

/* What is loaded: valid until unloaded. */
struct image {
    const char *name, *id; /* id: one for each specialization */
    const char *ptx; /* takes_ptx */
    size_t ptx_bytes;
    const struct ptx_info *info;
    const struct func *func; /* else: at the traced degree */
};

/* How long the interpreter looks for races between the programs of a launch. */
enum races { RACES_start, RACES_off, RACES_all };

/* The tensor that an argument points into, for reports. */
struct launch_tensor {
    const char *dtype; /* "float32"; NULL: nothing is known */
    uint64_t elem_bytes;
    int rank;
    const int64_t *shape, *stride; /* in elements */
};

/* An op host_call that a program has reached; only the interpreter has them. */
struct host_call {
    const struct op *op;
    int site;
    int pid[3];
    const char *const *values; /* of its operands, row-major */
    char *result;              /* room for its result; NULL: none */
};

/* One launch. args[i] is the value of the func's parameter i in its low bytes, the rest 0. */
struct launch {
    uint32_t grid[3]; /* none is 0 */
    void *stream;
    const uint64_t *args;
    int nargs;
    int nmaps; /* the last of args are addresses of tensor maps */
    bool pairs; /* CTAs in clusters of two along axis 0 */
    int packs;  /* each CTA runs so many programs, a warp each; 0: one */
    const struct launch_tensor *tensors; /* one per argument; NULL: unknown */
    enum races races;
    /* Where prints of the kernel go; NULL: nowhere. */
    void (*write)(void *ctx, const char *s, size_t n);
    void *write_ctx;
    /* The host part does what such an op asks; false: the launch ends, and the callee knows why. */
    bool (*host)(void *ctx, const struct host_call *call);
    void *host_ctx;
    struct budget *budget; /* of memory, time and steps on a CPU; NULL: as much as it takes */
};

/* out = a b, row-major and contiguous, for `count` matrices; those of a factor stand
 * `batch` elements apart. */
struct product {
    enum dtype dtype; /* of all */
    bool may_round;   /* float32 as tensor cores take it */
    int m, n, k, count;
    struct factor {
        uint64_t address;
        bool is_transposed; /* columns are contiguous, not rows */
        int lead;           /* elements from one row (column) to the next */
        int64_t batch;
    } a, b;
    uint64_t out;
    const char *const *prefixes; /* where a library may stand too, as it may in /usr/local; NULL at the end */
};

enum { DEVICE_MEMORY = -1 };

struct device_class {
    const char *name, *meaning;
    bool takes_ptx;
    /* Fills d->state, target and text. `ordinal` is the number after the colon, else 0. */
    bool (*open)(struct device *d, int ordinal, void *cuda_context, struct fault *f);
    void (*close)(struct device *d);

    /* Addresses are aligned to 256 bytes. Freeing waits for what runs. */
    bool (*alloc)(struct device *d, size_t bytes, uint64_t *address, struct fault *f);
    bool (*release)(struct device *d, uint64_t address, struct fault *f);
    /* From now on the caller's bytes are memory of the device, until they are released: kernels may
     * touch them, and nobody frees them. NULL: kernels touch whatever the driver lets them. */
    bool (*lend)(struct device *d, uint64_t address, size_t bytes, struct fault *f);
    /* In order on the stream; to and from the host they are done when they return. */
    bool (*write)(struct device *d, uint64_t to, const void *from, size_t bytes, void *stream, struct fault *f);
    bool (*read)(struct device *d, void *to, uint64_t from, size_t bytes, void *stream, struct fault *f);
    bool (*copy)(struct device *d, uint64_t to, uint64_t from, size_t bytes, void *stream, struct fault *f);
    bool (*fill)(struct device *d, uint64_t to, uint8_t byte, size_t bytes, void *stream, struct fault *f);
    bool (*sync)(struct device *d, void *stream, struct fault *f);

    bool (*load)(struct device *d, const struct image *image, void **loaded, struct fault *f);
    void (*unload)(struct device *d, void *loaded);
    /* A tensor map as a kernel takes it, MAP_BYTES at a multiple of 64; false: it cannot be.
     * Any thread. NULL: never. */
    bool (*encode)(struct device *d, const struct tensor_map_values *v, void *map);
    /* Any thread. */
    bool (*launch)(struct device *d, void *loaded, const struct launch *l, struct fault *f);
    /* As assembled; -1: unknown. */
    void (*resources)(struct device *d, void *loaded, int *registers, int *local_bytes);
    /* The driver's answer to one of its numbered questions, or DEVICE_MEMORY: bytes. NULL: there is no
     * driver. */
    bool (*attribute)(struct device *d, int number, int64_t *value, struct fault *f);
    /* By a library of the vendor's, queued. False with NESO_OK in f: none is here that does it. NULL: never
     * one. */
    bool (*multiply)(struct device *d, const struct product *p, struct fault *f);
    /* What launches cost, as neso.h has it. NULL: it cannot count. */
    bool (*count)(struct device *d, int64_t programs, struct fault *f);
    void (*counts)(struct device *d, neso_counts_fn *each, void *user);

    /* Points in time on a stream; seconds waits for `to`. */
    bool (*event_new)(struct device *d, void **event, struct fault *f);
    void (*event_free)(struct device *d, void *event);
    bool (*event_record)(struct device *d, void *event, void *stream, struct fault *f);
    bool (*event_seconds)(struct device *d, void *from, void *to, double *seconds, struct fault *f);
};

extern const struct device_class device_cuda, device_interpreter, device_emulator;

/* `name` as neso_context_use_device takes it. */
bool device_open(struct device *d, const char *name, void *cuda_context, const struct memory *mem, struct fault *f);
void device_close(struct device *d);

#endif
