/* SPDX-License-Identifier: MIT */
/* ops.c: compares the results of every elementwise op on every type on the GPU with the interpreter's results. The
 * results must be equal bit for bit; for approximate functions, they must differ by less than the error bound. The
 * kernels are generated from the table of ops, so new ops are tested automatically. tests/gpu.sh runs this program;
 * arguments name the ops to test. */
#include "ir/ir.h"
#include "runtime/neso.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 1024, GRID = 4, ELEMS = TILE * GRID, OPERANDS_MAX = 3 };

struct variant {
    enum opcode code;
    enum dtype in, out;
    char attrs[40];
    int n;            /* the number of operands */
    enum dtype first; /* the type of operand 0; for a select, this is the condition, whose type differs */
};

struct side {
    neso_context *ctx;
    const char *target; /* the target to compile for; NULL: the device's */
    uint64_t x[OPERANDS_MAX], out;
};

static int passed, failed, refused;

static uint64_t random_state = 0x9E3779B97F4A7C15u;
static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x2545F4914F6CDD1Du;
}

/* -- operands: random bits, ordinary numbers and special values of each type -- */

static uint64_t special_bits(enum dtype d, int i)
{
    static const double floats[] = {0.0,   -0.0,    1.0,   -1.0, 0.5,  INFINITY, -INFINITY, NAN,
                                    1e-40, 65504.0, 448.0, 3.0,  -7.5, 127.5,    1e30,      6e-8};
    static const int64_t ints[] = {0,  1,  -1,  2,    7,     8,      31,        32,
                                   63, 64, 127, -128, 32767, -32768, INT32_MAX, INT32_MIN};
    if (dtype_info[d].kind == DTYPE_float)
        return double_to_bits(d, floats[i % 16]);
    return (uint64_t)ints[i % 16];
}

static uint64_t operand_bits(enum dtype d, int i, int k)
{
    uint64_t bits;
    if (i < 256)
        bits = special_bits(d, k == 0 ? i / 16 : i);
    else if (i % 2 && dtype_info[d].kind == DTYPE_float)
        bits = double_to_bits(d, ((double)(int64_t)random_bits() * 0x1p-63) * (i % 4 == 1 ? 1.0 : 40.0));
    else
        bits = i % 3 ? random_bits() : random_bits() % 70;
    return d == DT_i1 ? bits & 1 : bits;
}

static void fill(char *p, enum dtype d, int k)
{
    for (int i = 0; i < ELEMS; i++) {
        uint64_t bits = operand_bits(d, i, k);
        memcpy(p + i * dtype_info[d].bytes, &bits, (size_t)dtype_info[d].bytes);
    }
}

/* -- kernels -- */

static void print_load(char **at, const char *end, int k, enum dtype d)
{
    const char *w = dtype_info[d].word;
    *at +=
        snprintf(*at, (size_t)(end - *at),
                 "  %%p%d = splat %%a%d : tile<%dxptr<%s>>\n  %%q%d = addptr %%p%d, %%i : tile<%dxptr<%s>>\n"
                 "  %%x%d = load %%q%d : tile<%dx%s>\n",
                 k, k, TILE, w, k, k, TILE, w, k, k, TILE, w);
}

static void kernel_text(char *out, size_t room, const struct variant *v)
{
    char *at = out, *end = out + room;
    at += snprintf(at, room, "kernel @op(");
    for (int k = 0; k < v->n; k++)
        at += snprintf(at, (size_t)(end - at), "%%a%d: ptr<%s> {divisible=16}, ", k,
                       dtype_info[k ? v->in : v->first].word);
    at += snprintf(
        at, (size_t)(end - at),
        "%%o: ptr<%s> {divisible=16}) warps=4 stages=3 degree=traced {\n"
        "  %%pid = program_id axis=0 : i32\n  %%c = const value=%d : i32\n  %%s = mul %%pid, %%c : i32\n"
        "  %%ss = splat %%s : tile<%dxi32>\n  %%r = range start=0 end=%d : tile<%dxi32>\n  %%i = add %%ss, "
        "%%r : tile<%dxi32>\n",
        dtype_info[v->out].word, TILE, TILE, TILE, TILE, TILE);
    for (int k = 0; k < v->n; k++)
        print_load(&at, end, k, k ? v->in : v->first);
    at += snprintf(at, (size_t)(end - at), "  %%y = %s %%x0%s%s%s : tile<%dx%s>\n", op_info[v->code].name,
                   v->n > 1 ? ", %x1" : "", v->n > 2 ? ", %x2" : "", v->attrs, TILE, dtype_info[v->out].word);
    snprintf(at, (size_t)(end - at),
             "  %%op = splat %%o : tile<%dxptr<%s>>\n  %%oq = addptr %%op, %%i : tile<%dxptr<%s>>\n"
             "  store %%oq, %%y\n  return\n}\n",
             TILE, dtype_info[v->out].word, TILE, dtype_info[v->out].word);
}

/* Compiles a kernel and runs it on one device. Returns 0 on success, 1 if the op does not accept these types, 2 if
 * the device does not support the op, and 3 on any other failure. */
static int run_side(struct side *s, const char *text, const struct variant *v, char *result)
{
    neso_module *module = NULL;
    neso_kernel *kernel = NULL;
    if (neso_module_from_source(s->ctx, "op.ir", text, strlen(text), &module) != NESO_OK)
        return 1;
    neso_compile_options options = {.size = sizeof options, .target = s->target};
    int status = 0;
    const void *args[OPERANDS_MAX + 1];
    for (int k = 0; k < v->n; k++)
        args[k] = &s->x[k];
    args[v->n] = &s->out;
    neso_error error = {.size = sizeof error};
    if (neso_kernel_compile(module, NULL, &options, &kernel) != NESO_OK) {
        neso_diagnostic first = {.size = sizeof first};
        bool told = neso_diagnostic_get(s->ctx, 0, &first);
        status = !told || strcmp(first.tag, "internal") == 0 ? 3
                 : strcmp(first.tag, "ir-invalid") == 0      ? 1
                                                             : 2;
        if (status == 2)
            printf("%s: %s\n", first.tag, first.message);
    } else if (neso_launch(kernel, (const uint32_t[3]){GRID, 1, 1}, NULL, args, &error) != NESO_OK) {
        status = strstr(error.message, "cannot execute") ? 1 : 3; /* the language has no arithmetic on fp8 */
        if (status == 3)
            printf("%s\n", error.message);
    } else if (neso_memory_read(s->ctx, result, s->out, (size_t)(ELEMS * dtype_info[v->out].bytes)) !=
               NESO_OK) {
        printf("%s\n", neso_error_text(s->ctx));
        status = 3;
    }
    neso_kernel_release(kernel);
    neso_module_release(module);
    return status;
}

/* -- comparing -- */

/* Returns the error in ULPs that the language allows for an op; x is its first operand. */
static double bound_ulp(const struct variant *v, double x)
{
    bool approximate_div = v->code == OP_fdiv && !v->attrs[0] && v->in == DT_f32;
    switch (v->code) {
    case OP_fdiv: return approximate_div ? 2 : 0;
    case OP_exp: return v->in == DT_f64 ? 2 : 3 + fabs(x);
    case OP_exp2:
    case OP_log:
    case OP_log2:
    case OP_sin:
    case OP_cos:
    case OP_erf:
    case OP_rsqrt: return 3;
    case OP_sqrt: return v->attrs[0] || v->in == DT_f64 ? 0 : 2;
    default: return 0;
    }
}

static double ulp_of(enum dtype d, double x)
{
    int mantissa = d == DT_f64 ? 52 : d == DT_f32 ? 23 : d == DT_f16 ? 10 : 7, e;
    frexp(x, &e);
    return ldexp(1.0, e - 1 - mantissa);
}

static bool agree(const struct variant *v, uint64_t gpu, uint64_t cpu, double x)
{
    if (gpu == cpu)
        return true;
    if (dtype_info[v->out].kind != DTYPE_float)
        return false;
    double a = bits_to_double(v->out, gpu), b = bits_to_double(v->out, cpu), bound = bound_ulp(v, x);
    if (isnan(a) && isnan(b))
        return true;
    /* instructions with .ftz may flush subnormal results and operands */
    bool tiny = fabs(b) < 0x1p-126 || (fabs(x) < 0x1p-126 && x != 0),
         flushes = v->out == DT_f32 || v->out == DT_bf16;
    return bound > 0 && (fabs(a - b) <= bound * ulp_of(v->out, b) ||
                         (tiny && flushes && (fabs(a) <= 0x1p-126 || isinf(a))));
}

static bool check(const struct variant *v, const char *gpu, const char *cpu, char *const *x)
{
    int wrong = 0;
    size_t bytes = (size_t)dtype_info[v->out].bytes, in_bytes = (size_t)dtype_info[v->in].bytes;
    for (int i = 0; i < ELEMS; i++) {
        uint64_t a = 0, b = 0, in[OPERANDS_MAX] = {0};
        memcpy(&a, gpu + (size_t)i * bytes, bytes);
        memcpy(&b, cpu + (size_t)i * bytes, bytes);
        for (int k = 0; k < v->n; k++)
            memcpy(&in[k], x[k] + (size_t)i * (size_t)dtype_info[k ? v->in : v->first].bytes,
                   k ? in_bytes : (size_t)dtype_info[v->first].bytes);
        double first = dtype_info[v->in].kind == DTYPE_float ? bits_to_double(v->in, in[0]) : 0;
        if (agree(v, a, b, first))
            continue;
        if (wrong++ < 3)
            printf("  %s%s %s -> %s: operands 0x%llx 0x%llx 0x%llx: GPU 0x%llx, interpreter 0x%llx\n",
                   op_info[v->code].name, v->attrs, dtype_info[v->in].word, dtype_info[v->out].word,
                   (unsigned long long)in[0], (unsigned long long)in[1], (unsigned long long)in[2],
                   (unsigned long long)a, (unsigned long long)b);
    }
    if (wrong)
        printf("FAILED %s%s %s -> %s: %d of %d differ\n", op_info[v->code].name, v->attrs,
               dtype_info[v->in].word, dtype_info[v->out].word, wrong, ELEMS);
    return wrong == 0;
}

static void run_variant(struct side *gpu, struct side *cpu, const struct variant *v)
{
    static char x[OPERANDS_MAX][ELEMS * 8], result[2][ELEMS * 8], text[4096];
    char *operands[OPERANDS_MAX] = {x[0], x[1], x[2]};
    kernel_text(text, sizeof text, v);
    for (int k = 0; k < v->n; k++) {
        enum dtype d = k ? v->in : v->first;
        fill(x[k], d, k);
        neso_memory_write(gpu->ctx, gpu->x[k], x[k], (size_t)(ELEMS * dtype_info[d].bytes));
        neso_memory_write(cpu->ctx, cpu->x[k], x[k], (size_t)(ELEMS * dtype_info[d].bytes));
    }
    int on_cpu = run_side(cpu, text, v, result[1]);
    if (on_cpu == 1)
        return;
    int on_gpu = on_cpu ? on_cpu : run_side(gpu, text, v, result[0]);
    if (on_gpu == 2) {
        printf("refused: %s%s %s -> %s\n", op_info[v->code].name, v->attrs, dtype_info[v->in].word,
               dtype_info[v->out].word);
        refused++;
    } else if (on_gpu == 0 && check(v, result[0], result[1], operands)) {
        passed++;
    } else {
        if (on_gpu)
            printf("FAILED %s%s %s -> %s: did not run\n%s", op_info[v->code].name, v->attrs,
                   dtype_info[v->in].word, dtype_info[v->out].word, text);
        failed++;
    }
}

/* -- all variants -- */

static void run_attributes(struct side *gpu, struct side *cpu, struct variant v)
{
    run_variant(gpu, cpu, &v);
    uint64_t attrs = op_info[v.code].attrs;
    if (attrs >> ATTR_nan & 1) {
        snprintf(v.attrs, sizeof v.attrs, " nan=1");
        run_variant(gpu, cpu, &v);
    }
    for (int w = 1; attrs >> ATTR_round & 1 && attr_words(ATTRK_round)[w]; w++) {
        snprintf(v.attrs, sizeof v.attrs, " round=%s", attr_words(ATTRK_round)[w]);
        run_variant(gpu, cpu, &v);
    }
    for (int w = 1; attrs >> ATTR_pred & 1 && attr_words(ATTRK_pred)[w]; w++) {
        snprintf(v.attrs, sizeof v.attrs, " pred=%s", attr_words(ATTRK_pred)[w]);
        run_variant(gpu, cpu, &v);
    }
}

static void run_op(struct side *gpu, struct side *cpu, enum opcode code)
{
    const struct op_info *info = &op_info[code];
    int n = 1;
    for (const char *c = info->operands; *c; c++)
        n += *c == ' ';
    for (int in = 0; in < DT_count; in++)
        for (int out = 0; out < DT_count; out++) {
            bool same = in == out, cast = info->family == FAMILY_cast,
                 predicate = code == OP_cmp && out == DT_i1;
            if (cast || predicate || (same && code != OP_cmp))
                run_attributes(gpu, cpu,
                               (struct variant){code, (enum dtype)in, (enum dtype)out, "", n,
                                                code == OP_select ? DT_i1 : (enum dtype)in});
        }
}

static bool open_side(struct side *s, const char *device)
{
    bool ok = neso_context_create(NULL, &s->ctx) == NESO_OK &&
              neso_context_use_device(s->ctx, device, NULL) == NESO_OK;
    for (int k = 0; k < OPERANDS_MAX && ok; k++)
        ok = neso_memory_allocate(s->ctx, ELEMS * 8, &s->x[k]) == NESO_OK;
    ok = ok && neso_memory_allocate(s->ctx, ELEMS * 8, &s->out) == NESO_OK;
    if (!ok)
        printf("%s: %s\n", device, neso_error_text(s->ctx));
    return ok;
}

int main(int argc, char **argv)
{
    struct side gpu = {0}, cpu = {0};
    const char *device = getenv("NESO_OPS_DEVICE");
    gpu.target = getenv("NESO_OPS_TARGET");
    if (!open_side(&gpu, device ? device : "cuda") || !open_side(&cpu, "interpreter"))
        return 2;
    for (int code = 0; code < OP_count; code++) {
        bool wanted = argc == 1;
        for (int i = 1; i < argc; i++)
            wanted |= strcmp(argv[i], op_info[code].name) == 0;
        if (wanted && op_has(&(struct op){.code = (enum opcode)code}, PURE | ELEMENTWISE) &&
            code != OP_addptr)
            run_op(&gpu, &cpu, (enum opcode)code);
    }
    neso_context_release(gpu.ctx);
    neso_context_release(cpu.ctx);
    printf("%d kinds refused on this device\n%d passed, %d failed\n", refused, passed, failed);
    return failed > 0 || passed == 0;
}
