/* SPDX-License-Identifier: MIT */
/* device.h: the interface of devices, on which kernels run. Each folder implements a device: cuda/ runs
 * kernels on a GPU through the CUDA driver API, interpreter/ executes traced IR on the CPU, and emulator/
 * executes PTX on the CPU.
 *
 *     device_open ─► alloc, write ─► load(image) ─► launch(loaded, args, grid) ─► sync, read ─► unload, close
 *
 * Traced IR is the IR before any optimization pass. A function that fails returns false and fills in a fault.
 * A device function never leaves its caller by longjmp, because any thread may launch. No device function
 * calls the compiler while it holds a lock, so that a compilation, which may take long, delays no launch.
 *
 * To add a device, add a row to device.c's table, and define a `const struct device_class` in a new file. */
#ifndef NESO_RUNTIME_DEVICE_H
#define NESO_RUNTIME_DEVICE_H

#include "ir/ir.h"
#include "runtime/neso.h"

struct budget;
struct ptx_info;
struct float_trace;

/* The reason why a device function failed. The message is the text of row `error` in ir/support/errors.h, in which
 * `detail` replaces the %s. */
struct fault {
    enum neso_status status;
    int driver_code; /* CUresult, if the status is NESO_DRIVER */
    enum error error;
    struct loc loc;  /* the position in the kernel's sources; line 0: unknown */
    char detail[640];
};
/* Fills f and returns false, so that callers can write `return fault_set(...)`. */
bool fault_set(struct fault *f, enum neso_status status, enum error e, const char *detail, ...) PRINTF_LIKE(4, 5);
/* Returns the status of a launch that ended with this error. */
enum neso_status fault_status(enum error e);
/* Writes the fault's message: at most n bytes, including the terminating 0. */
void fault_text(const struct fault *f, char *out, size_t n);

struct device {
    const struct device_class *class; /* NULL: the device is not open */
    const struct memory *mem;         /* the allocator for the host memory that the class's functions use */
    int multiprocessors;              /* the number of SMs; 0: unlimited */
    /* the target to compile for: the GPU's row of the target table; NULL on a CPU, which can run code for any target */
    const struct target *target;
    void *state;                      /* data that only the class's functions use */
    char text[160];                   /* a description, for example "NVIDIA H200 (cuda:0, sm_90a)" */
};

/* Code to load. The image must stay valid until the code is unloaded. */
struct image {
    const char *name, *id; /* id: a unique string for each specialization of a kernel */
    const char *ptx; /* the PTX, if the device takes PTX */
    size_t ptx_bytes;
    const void *code; /* a cubin that ptxas made of the PTX; NULL: the driver assembles the PTX */
    const struct ptx_info *info;
    const struct func *func; /* the traced IR, if the device does not take PTX */
};

/* Which programs of a launch are checked for races. RACES_start: the interpreter checks the first programs
 * (run.c), and the emulator checks no program. RACES_off: neither device checks a program. RACES_all: both
 * devices check all programs. A GPU never checks for races. */
enum races { RACES_start, RACES_off, RACES_all };

/* The tensor to which an argument points, for reports. */
struct launch_tensor {
    const char *dtype; /* the element type, for example "float32"; NULL: unknown */
    uint64_t elem_bytes;
    int rank;
    const int64_t *shape, *stride; /* sizes and strides in elements */
};

/* The execution of a host_call op by one program. The op calls plain Python code on the host. Only the
 * interpreter supports it. */
struct host_call {
    const struct op *op;
    int site; /* the op's attribute `site` */
    int pid[3];
    const char *const *values; /* values[i]: the elements of operand i, row-major */
    char *result;              /* memory for the result; NULL: the call has no result */
    /* nan_at is NULL if the host must execute the host_call `op`. Otherwise, the call tells the host that the
     * op nan_at has made a NaN, and nan_text explains the NaN. In this case, `op` and `site` describe the
     * last host_call that the program executed before nan_at. */
    const struct op *nan_at;
    const char *nan_text;
};

/* LAUNCH_PARAMS_MOST is the largest number of parameters that a kernel may have in its source. It is the
 * number of 4-byte parameters that fit into PARAMS_MOST_BYTES. kernel_run checks this limit. After the
 * arguments for these parameters, a launch passes the three sizes of the grid if the kernel is persistent,
 * and then the addresses of tensor maps. */
enum {
    LAUNCH_PARAMS_MOST = PARAMS_MOST_BYTES / 4,
    LAUNCH_ARGS_MOST = LAUNCH_PARAMS_MOST + 3 + MAPS_MOST
};

/* One launch. The low bytes of args[i] are the value of the kernel's parameter i; the other bytes are 0. */
struct launch {
    uint32_t grid[3]; /* sizes of the grid, which are at least 1 */
    void *stream;
    const uint64_t *args;
    int nargs;
    int nmaps; /* the number of tensor maps, whose addresses are the last args */
    bool pairs; /* launch CTAs in clusters of two along axis 0 */
    bool turned; /* consecutive CTAs run programs that are consecutive along axis 1, not axis 0 */
    int packs;  /* each CTA runs `packs` programs, one in each warp; 0: a CTA runs one program */
    const struct launch_tensor *tensors; /* the tensor of each argument; NULL: unknown */
    enum races races;
    int64_t sample;      /* on a CPU: the number of evenly spaced CTAs (in the interpreter: programs) to run; 0: all */
    struct float_trace *trace; /* in the interpreter: records shadows of floats (trace.h); NULL: no shadows */
    bool one_thread;     /* in the emulator: run CTAs one after the other */
    /* Receives the output of the kernel's prints; NULL: the output is discarded. */
    void (*write)(void *ctx, const char *s, size_t n);
    void *write_ctx;
    /* Executes a host_call on the host. Returns false if the launch must end; in this case, the callback has recorded
     * the reason. */
    bool (*host)(void *ctx, const struct host_call *call);
    void *host_ctx;
    const int *only; /* in the interpreter: the id of the only program to run; NULL: all programs run */
    /* In the interpreter: while *finds_nan is true, `host` is called when an op makes a NaN. NULL: never. */
    const bool *finds_nan;
    struct budget *budget; /* limits of memory, time and steps, on a CPU; NULL: unlimited */
    const neso_launch_options *options; /* for a GPU; NULL: a plain launch */
    /* Receives a capsule (neso.h) of the launch. If give_capsule is NULL, neso_context_options.wants_capsule decides
     * whether a capsule is made. */
    void (*give_capsule)(void *user, const neso_capsule *seen, const void *data, size_t length);
    void *give_user;
};

/* A batched matrix product out = a b. The batch consists of `count` products. out is row-major and contiguous.
 * factor.batch is the distance in elements between consecutive matrices of a factor. */
struct product {
    enum dtype dtype; /* element type of a, b and out */
    bool may_round;   /* float32 inputs may be rounded to TF32 */
    int m, n, k, count;
    struct factor {
        uint64_t address;
        bool is_transposed; /* the factor's columns are contiguous, not its rows */
        int lead;           /* the distance in elements from one row to the next (if is_transposed, from one column to
                             * the next) */
        int64_t batch;
    } a, b;
    uint64_t out;
    /* additional folders in which to search for the vendor's library, such as /usr/local; the list ends with NULL */
    const char *const *prefixes;
};

/* A copy of `rows` rows of `bytes` bytes. In the destination, rows begin at multiples of 16 bytes, and up to 15 bytes
 * after each row are overwritten. In the source, rows may begin at any address. */
struct row_copy {
    uint64_t to, to_pitch, from, from_pitch; /* addresses, and distances of rows in bytes */
    uint64_t rows, bytes;
};

enum { DEVICE_MEMORY = -1 };

struct device_class {
    const char *name, *meaning;
    bool takes_ptx;
    /* Sets d->state and d->text, and, where the device has them, d->target and d->multiprocessors. `ordinal`
     * is the number after the colon in the device's name; 0 if the name has no colon. */
    bool (*open)(struct device *d, int ordinal, void *cuda_context, struct fault *f);
    void (*close)(struct device *d);

    /* alloc returns addresses that are multiples of 256. release first waits for running kernels. */
    bool (*alloc)(struct device *d, size_t bytes, uint64_t *address, struct fault *f);
    bool (*release)(struct device *d, uint64_t address, struct fault *f);
    /* Allows kernels to access memory of the caller until `release`, which does not free such memory. NULL: the driver
     * decides which memory kernels may access. */
    bool (*lend)(struct device *d, uint64_t address, size_t bytes, struct fault *f);
    /* Sets *base and *bytes to the start and the size of the allocation, or lent memory, that contains the
     * address. On a CPU, the end address of an allocation counts as inside, unless another allocation begins
     * there. Returns false if no allocation contains the address. */
    bool (*extent)(struct device *d, uint64_t address, uint64_t *base, uint64_t *bytes);
    /* write, read, copy and fill work in stream order. When write or read returns, the copy has finished. */
    bool (*write)(struct device *d, uint64_t to, const void *from, size_t bytes, void *stream, struct fault *f);
    bool (*read)(struct device *d, void *to, uint64_t from, size_t bytes, void *stream, struct fault *f);
    bool (*copy)(struct device *d, uint64_t to, uint64_t from, size_t bytes, void *stream, struct fault *f);
    bool (*fill)(struct device *d, uint64_t to, uint8_t byte, size_t bytes, void *stream, struct fault *f);
    bool (*sync)(struct device *d, void *stream, struct fault *f);
    /* workspace allocates memory for one launch, in stream order, and workspace_end frees it. The address is a multiple
     * of 256. copy_rows starts n copies with one call; n is at most MAPS_MOST. Any thread may call these functions. All
     * three are NULL if the device has no tensor maps. */
    bool (*workspace)(struct device *d, size_t bytes, void *stream, uint64_t *address, struct fault *f);
    void (*workspace_end)(struct device *d, uint64_t address, void *stream);
    bool (*copy_rows)(struct device *d, const struct row_copy *c, int n, void *stream, struct fault *f);

    bool (*load)(struct device *d, const struct image *image, void **loaded, struct fault *f);
    void (*unload)(struct device *d, void *loaded);
    /* Encodes a tensor map for a kernel, and writes it to `map`: MAP_BYTES bytes, aligned to 64. Returns
     * false if the values cannot be encoded. Any thread may call this function. NULL: the device has no
     * tensor maps. */
    bool (*encode)(struct device *d, const struct tensor_map_values *v, void *map);
    /* Launches a kernel. Any thread may call this function. */
    bool (*launch)(struct device *d, void *loaded, const struct launch *l, struct fault *f);
    /* Sets *registers and *local_bytes to the registers and the bytes of local memory that a thread uses, as
     * the assembler reports them; -1: unknown. */
    void (*resources)(struct device *d, void *loaded, int *registers, int *local_bytes);
    /* Returns the driver's handle (CUfunction) of a loaded kernel. NULL: the device has no driver. */
    void *(*function)(void *loaded);
    /* Sets *value to the driver's device attribute `number`, or, if `number` is DEVICE_MEMORY, to the size of
     * the GPU's memory in bytes. NULL: the device has no driver. */
    bool (*attribute)(struct device *d, int number, int64_t *value, struct fault *f);
    /* Enqueues a matrix product for the vendor's library (cuBLAS). If there is no library, or it has no
     * product of this type, returns false with the status NESO_OK in f; after any other failure, the status
     * is an error. multiply is NULL if no library exists for the device. */
    bool (*multiply)(struct device *d, const struct product *p, struct fault *f);
    /* `count` starts counting, and `counts` reports the counters (neso_counts_start and neso_counts_each in neso.h).
     * NULL: the device cannot count. */
    bool (*count)(struct device *d, int64_t programs, struct fault *f);
    void (*counts)(struct device *d, neso_counts_fn *each, void *user);

    /* Events on a stream, for timing. event_seconds waits until event `to` has happened. */
    bool (*event_new)(struct device *d, void **event, struct fault *f);
    void (*event_free)(struct device *d, void *event);
    bool (*event_record)(struct device *d, void *event, void *stream, struct fault *f);
    bool (*event_seconds)(struct device *d, void *from, void *to, double *seconds, struct fault *f);
};

extern const struct device_class device_cuda, device_interpreter, device_emulator;

/* Opens the device with the given name, for example "cuda:1". neso_context_use_device (neso.h) explains the
 * names. */
bool device_open(struct device *d, const char *name, void *cuda_context, const struct memory *mem, struct fault *f);
void device_close(struct device *d);

#endif
