/* SPDX-License-Identifier: MIT */
/* cost.c: finds the costs of a kernel that are known without running it: from its PTX, the compiler and ptxas.
 *
 *     registers, spill_bytes   as assembled by ptxas or the driver
 *     live_registers           maximum number of live registers in the PTX: used if the kernel is not assembled
 *     shared_bytes             shared memory of a program instance
 *     instructions             instructions of PTX; also counted for each class: integer, floating, ...
 *     bytes_per_access         bytes of an average load or store of global memory by a thread
 *     instructions_per_byte    instructions for each byte that a thread loads or stores in global memory
 *     tensor_copies            copies by tensor maps
 *     warpgroup_products       wgmma instructions
 *     staged_bytes             shared_bytes if the kernel copies into shared memory asynchronously, else 0 */
#include "runtime/command/bench/bench.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* -- lines of PTX -- */

/* Returns the start of the instruction in a line of PTX, after its guard predicate; NULL if the line has no
 * instruction. */
static const char *find_instruction(const char *line)
{
    line += strspn(line, "\t ");
    if (*line == '@') {
        line += strcspn(line, " \t\n");
        line += strspn(line, "\t ");
    }
    return islower((unsigned char)*line) ? line : NULL;
}

/* Returns whether the line of PTX only describes the source code: whether it is a .loc, a .file or a
 * comment. */
static bool is_about_source(const char *line)
{
    line += strspn(line, "\t ");
    return strncmp(line, ".loc", 4) == 0 || strncmp(line, ".file", 5) == 0 || strncmp(line, "//", 2) == 0;
}

uint64_t ptx_digest(const char *ptx, uint64_t seed)
{
    uint64_t h = 14695981039346656037u ^ seed; /* FNV-1a */
    for (const char *line = ptx, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        next += *next != '\0';
        for (const char *s = line; s < next && !is_about_source(line); s++)
            h = (h ^ (unsigned char)*s) * 1099511628211u;
    }
    return h;
}

static const struct class
{
    const char *prefix, *name;
} classes[] = {
    /* an instruction belongs to the class of the first row whose prefix matches its start; "" matches every
     * instruction, but an instruction with a float type that only "" matches belongs to "floating" */
    {"ld.global", "global_loads"},
    {"st.global", "global_stores"},
    {"atom", "atomics"},
    {"redux", "warp"},
    {"red", "atomics"},
    {"ld.shared", "shared_accesses"},
    {"st.shared", "shared_accesses"},
    {"ldmatrix", "shared_accesses"},
    {"stmatrix", "shared_accesses"},
    {"ld.local", "local_accesses"},
    {"st.local", "local_accesses"},
    {"cp.async.wait", "synchronization"},
    {"cp.async.commit", "synchronization"},
    {"cp.async.mbarrier", "synchronization"},
    {"cp.async.bulk.wait", "synchronization"},
    {"cp.async.bulk.commit", "synchronization"},
    {"cp.", "copies"},
    {"mma", "tensor"},
    {"wgmma.mma", "tensor"},
    {"wgmma", "synchronization"},
    {"shfl", "warp"},
    {"vote", "warp"},
    {"activemask", "warp"},
    {"bar", "barriers"},
    {"mbarrier", "synchronization"},
    {"fence", "synchronization"},
    {"membar", "synchronization"},
    {"bra", "control"},
    {"ret", "control"},
    {"trap", "control"},
    {"cvt", "conversions"},
    {"mov", "moves"},
    {"selp", "moves"},
    {"ld.param", "moves"},
    {"ex2", "special"},
    {"lg2", "special"},
    {"rcp", "special"},
    {"sqrt", "special"},
    {"rsqrt", "special"},
    {"sin", "special"},
    {"cos", "special"},
    {"tanh", "special"},
    {"fma", "floating"},
    {"", "integer"},
};
enum { CLASSES = sizeof classes / sizeof *classes };

/* Returns whether one of the types in an instruction's name is a float type, as in "add.rn.f32". */
static bool has_float_type(const char *s, size_t n)
{
    for (size_t i = 0; i + 2 < n; i++)
        if (s[i] == '.' && (s[i + 1] == 'f' || (s[i + 1] == 'b' && s[i + 2] == 'f')) &&
            isdigit((unsigned char)s[i + 2 + (s[i + 1] == 'b')]))
            return true;
    return false;
}

static const char *classify(const char *s)
{
    int i = 0;
    while (strncmp(s, classes[i].prefix, strlen(classes[i].prefix)) != 0)
        i++;
    return i == CLASSES - 1 && has_float_type(s, strcspn(s, " \t;\n")) ? "floating" : classes[i].name;
}

/* Returns how many bytes one instruction accesses in each thread: 16 for "ld.global.v4.b32". */
static double access_bytes(const char *s)
{
    size_t n = strcspn(s, " \t\n");
    double lanes = 1, bits = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        if (s[i] == '.' && s[i + 1] == 'v' && isdigit((unsigned char)s[i + 2]))
            lanes = strtod(s + i + 2, NULL);
        if (s[i] == '.' && strchr("busf", s[i + 1]) && isdigit((unsigned char)s[i + 2]))
            bits = strtod(s + i + 2, NULL);
    }
    return lanes * bits / 8;
}

/* Adds 1 to a cost that the row has. */
static void count(struct bench_row *r, const char *name)
{
    row_set_cost(r, name, *row_cost(r, name) + 1);
}

static void cost_ptx(struct bench_row *r, const char *ptx)
{
    static const char copy[] = "cp.async.bulk.tensor", product[] = "wgmma.mma_async";
    double instructions = 0, accesses = 0, bytes = 0;
    for (int i = 0; i < CLASSES; i++)
        row_set_cost(r, classes[i].name, 0);
    row_set_cost(r, "floating", 0);
    row_set_cost(r, "tensor_copies", 0);
    row_set_cost(r, "warpgroup_products", 0);
    for (const char *line = ptx; *line; line += strcspn(line, "\n"), line += *line != '\0') {
        const char *s = find_instruction(line);
        if (!s)
            continue;
        const char *class = classify(s);
        count(r, class);
        if (strncmp(s, copy, sizeof copy - 1) == 0)
            count(r, "tensor_copies");
        if (strncmp(s, product, sizeof product - 1) == 0)
            count(r, "warpgroup_products");
        instructions++;
        if (strncmp(class, "global_", 7) == 0) {
            accesses++;
            bytes += access_bytes(s);
        }
    }
    row_set_cost(r, "instructions", instructions);
    if (accesses > 0) {
        row_set_cost(r, "bytes_per_access", bytes / accesses);
        row_set_cost(r, "instructions_per_byte", instructions / bytes);
    }
}

/* -- ptxas -- */

static void read_log(struct bench_row *r, const char *path)
{
    size_t length;
    char *log = read_file(path, &length);
    if (log && strstr(log, "Used ")) {
        row_set_cost(r, "registers", tool_number(log, " registers"));
        row_set_cost(r, "spill_bytes",
                     tool_number(log, " bytes spill stores") + tool_number(log, " bytes spill loads"));
    }
    free(log);
}

static void ask_ptxas(struct bench_row *r, const char *ptx)
{
    char ptxas[PATH_MAX];
    struct workshop w;
    if (!find_tool("ptxas", ptxas, sizeof ptxas) || !workshop_open(&w))
        return;
    if (workshop_assemble(&w, ptxas, ptx, strlen(ptx), true) == GOOD)
        read_log(r, w.log);
    workshop_close(&w);
}

void cost_kernel(struct bench_row *r, neso_kernel *kernel, const char *ptx, bool assemble)
{
    neso_resources resources = {.size = sizeof resources};
    r->key = ptx_digest(ptx, 0);
    cost_ptx(r, ptx);
    if (neso_kernel_resources(kernel, &resources) == NESO_OK) {
        row_set_cost(r, "live_registers", resources.live_registers);
        row_set_cost(r, "shared_bytes", resources.shared_bytes);
        row_set_cost(r, "staged_bytes", *row_cost(r, "copies") > 0 ? resources.shared_bytes : 0);
        row_set_cost(r, "threads", resources.num_threads);
    }
    if (assemble)
        ask_ptxas(r, ptx);
    else if (resources.registers >= 0) {
        row_set_cost(r, "registers", resources.registers);
        row_set_cost(r, "spill_bytes", resources.local_bytes);
    }
}
