/* device.h: the interface of devices, on which kernels run. The folders: cuda/ (the driver's API),
 * interpreter/ (executes traced IR), emulator/ (executes PTX on the CPU).
 *
 *     device_open ─► alloc, write ─► load(image) ─► launch(loaded, args, grid) ─► sync, read ─► unload, close
 *
 * A device that takes PTX gets the compiled kernel; another one gets the traced IR, before any pass. No
 * function here unwinds: each returns false and fills a fault, since any thread may launch. A device function
 * never holds a lock or handle while it calls the compiler.
 *
 * A new device needs a row in device.c's table, and a `const struct device_class` in a file of its own. */
#ifndef NESO_RUNTIME_DEVICE_H
#define NESO_RUNTIME_DEVICE_H

#include "ir/ir.h"
#include "runtime/neso.h"

struct budget;
struct ptx_info;

/* Why a device failed. Its text is the row `error` with `detail` for its %s. */
struct fault {
    enum neso_status status;
    int driver_code; /* CUresult, if the status is NESO_DRIVER */
    enum error error;
    struct loc loc;  /* in the kernel's sources; line 0: none */
    char detail[640];
};
/* Fills f and returns false, so that a function can return its result. */
bool fault_set(struct fault *f, enum neso_status status, enum error e, const char *detail, ...) PRINTF_LIKE(4, 5);
/* Writes at most n bytes, terminated. */
void fault_text(const struct fault *f, char *out, size_t n);

struct device {
    const struct device_class *class; /* NULL: not open */
    const struct memory *mem;         /* for the class's allocations on the host */
    int multiprocessors;              /* 0: unlimited */
    /* the target to compile for: the GPU's row; on a CPU NULL: any target works */
    const struct target *target;
    void *state;                      /* private to the class */
    char text[160];                   /* "NVIDIA H200 (cuda:0, sm_90a)" */
};

/* Code to load; must stay valid until it is unloaded. */
struct image {
    const char *name, *id; /* id: unique for each specialization */
    const char *ptx; /* if the device takes PTX */
    size_t ptx_bytes;
    const struct ptx_info *info;
    const struct func *func; /* else: at the traced degree */
};

/* During which part of a launch the interpreter checks for races between programs. */
enum races { RACES_start, RACES_off, RACES_all };

/* The tensor that an argument points into, for reports. */
struct launch_tensor {
    const char *dtype; /* "float32"; NULL: unknown */
    uint64_t elem_bytes;
    int rank;
    const int64_t *shape, *stride; /* in elements */
};

/* An op host_call that a program has reached; only the interpreter executes it. */
struct host_call {
    const struct op *op;
    int site;
    int pid[3];
    const char *const *values; /* of its operands, row-major */
    char *result;              /* memory for its result; NULL: it has none */
};

/* One launch. args[i] has the value of the func's parameter i in its low bytes; the other bytes are 0. */
struct launch {
    uint32_t grid[3]; /* none is 0 */
    void *stream;
    const uint64_t *args;
    int nargs;
    int nmaps; /* the last args are addresses of tensor maps */
    bool pairs; /* launch CTAs in clusters of two along axis 0 */
    int packs;  /* the number of programs that each CTA runs, one warp each; 0: one program */
    const struct launch_tensor *tensors; /* one for each argument; NULL: unknown */
    enum races races;
    /* Receives the output of the kernel's prints; NULL: it is discarded. */
    void (*write)(void *ctx, const char *s, size_t n);
    void *write_ctx;
    /* Executes a host_call on the host; false: the launch ends, and the callee has the reason. */
    bool (*host)(void *ctx, const struct host_call *call);
    void *host_ctx;
    struct budget *budget; /* limits of memory, time and steps on a CPU; NULL: unlimited */
};

/* out = a b, row-major and contiguous, for `count` matrices; consecutive matrices of a factor are `batch`
 * elements apart. */
struct product {
    enum dtype dtype; /* of all three */
    bool may_round;   /* float32 may be rounded to TF32 */
    int m, n, k, count;
    struct factor {
        uint64_t address;
        bool is_transposed; /* columns are contiguous, not rows */
        int lead;           /* elements from one row (column) to the next */
        int64_t batch;
    } a, b;
    uint64_t out;
    /* further folders in which to search a library, like /usr/local; NULL at the end */
    const char *const *prefixes;
};

enum { DEVICE_MEMORY = -1 };

struct device_class {
    const char *name, *meaning;
    bool takes_ptx;
    /* Sets d->state, target and text. `ordinal` is the number after the colon, else 0. */
    bool (*open)(struct device *d, int ordinal, void *cuda_context, struct fault *f);
    void (*close)(struct device *d);

    /* Addresses are aligned to 256 bytes. Freeing waits for running kernels. */
    bool (*alloc)(struct device *d, size_t bytes, uint64_t *address, struct fault *f);
    bool (*release)(struct device *d, uint64_t address, struct fault *f);
    /* Lets kernels access memory of the caller until it is released; releasing does not free it. NULL: the
     * driver decides which memory kernels may access. */
    bool (*lend)(struct device *d, uint64_t address, size_t bytes, struct fault *f);
    /* In order on the stream; copies to and from the host have finished when they return. */
    bool (*write)(struct device *d, uint64_t to, const void *from, size_t bytes, void *stream, struct fault *f);
    bool (*read)(struct device *d, void *to, uint64_t from, size_t bytes, void *stream, struct fault *f);
    bool (*copy)(struct device *d, uint64_t to, uint64_t from, size_t bytes, void *stream, struct fault *f);
    bool (*fill)(struct device *d, uint64_t to, uint8_t byte, size_t bytes, void *stream, struct fault *f);
    bool (*sync)(struct device *d, void *stream, struct fault *f);

    bool (*load)(struct device *d, const struct image *image, void **loaded, struct fault *f);
    void (*unload)(struct device *d, void *loaded);
    /* Encodes a tensor map for a kernel, MAP_BYTES at a multiple of 64; false: it cannot be encoded. Any
     * thread. NULL: never possible. */
    bool (*encode)(struct device *d, const struct tensor_map_values *v, void *map);
    /* Any thread may call it. */
    bool (*launch)(struct device *d, void *loaded, const struct launch *l, struct fault *f);
    /* Registers and local memory of the assembled code; -1: unknown. */
    void (*resources)(struct device *d, void *loaded, int *registers, int *local_bytes);
    /* Gets the driver's value of device attribute `number`; DEVICE_MEMORY gives the bytes of memory. NULL: the
     * device has no driver. */
    bool (*attribute)(struct device *d, int number, int64_t *value, struct fault *f);
    /* Queues a matrix product on a library of the vendor. Returns false with NESO_OK in f if no library
     * computes it. NULL: the device has no such library. */
    bool (*multiply)(struct device *d, const struct product *p, struct fault *f);
    /* Starts and reports counting, as neso.h describes it. NULL: the device cannot count. */
    bool (*count)(struct device *d, int64_t programs, struct fault *f);
    void (*counts)(struct device *d, neso_counts_fn *each, void *user);

    /* Points in time on a stream; event_seconds waits for `to`. */
    bool (*event_new)(struct device *d, void **event, struct fault *f);
    void (*event_free)(struct device *d, void *event);
    bool (*event_record)(struct device *d, void *event, void *stream, struct fault *f);
    bool (*event_seconds)(struct device *d, void *from, void *to, double *seconds, struct fault *f);
};

extern const struct device_class device_cuda, device_interpreter, device_emulator;

/* `name` as for neso_context_use_device. */
bool device_open(struct device *d, const char *name, void *cuda_context, const struct memory *mem, struct fault *f);
void device_close(struct device *d);

#endif
