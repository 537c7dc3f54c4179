/* command_bench_cost.c: what a kernel costs, as far as its PTX, the compiler and ptxas tell without running it.
 *
 *     registers, spill_bytes   as assembled by ptxas or the driver
 *     live_registers           most live at once in the PTX: where nobody assembles
 *     shared_bytes             of a program instance
 *     instructions             lines of PTX, and of these: integer, floating, tensor, global_loads, ...
 *     bytes_per_access         that a thread moves with one load or store of global memory, on average
 */
#include "runtime/command_bench.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* -- lines of PTX -- */

/* The instruction of a line, without its guard; NULL: it has none. */
static const char *find_instruction(const char *line)
{
    line += strspn(line, "\t ");
    if (*line == '@') {
        line += strcspn(line, " \t\n");
        line += strspn(line, "\t ");
    }
    return islower((unsigned char)*line) ? line : NULL;
}

/* What only says where code comes from: it is no change of the code. */
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
    /* the first that fits; "" is any */
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

/* "add.rn.f32 ": does an element of the type stand in it? */
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

/* Of "ld.global.v4.b32": 16. */
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

static void cost_ptx(struct bench_row *r, const char *ptx)
{
    double instructions = 0, accesses = 0, bytes = 0;
    for (int i = 0; i < CLASSES; i++)
        row_set_cost(r, classes[i].name, 0);
    row_set_cost(r, "floating", 0);
    for (const char *line = ptx; *line; line += strcspn(line, "\n"), line += *line != '\0') {
        const char *s = find_instruction(line);
        if (!s)
            continue;
        const char *class = classify(s);
        row_set_cost(r, class, *row_cost(r, class) + 1);
        instructions++;
        if (strncmp(class, "global_", 7) == 0) {
            accesses++;
            bytes += access_bytes(s);
        }
    }
    row_set_cost(r, "instructions", instructions);
    if (accesses > 0)
        row_set_cost(r, "bytes_per_access", bytes / accesses);
}

/* -- ptxas -- */

extern char **environ;

static bool call_ptxas(const char *tool, const char *arch, const char *ptx, const char *log)
{
    posix_spawn_file_actions_t to_log;
    char program[PATH_MAX], option[40], in[PATH_MAX];
    char *argv[] = {program, (char[]){"-v"}, option, in, (char[]){"-o"}, (char[]){"/dev/null"}, NULL};
    pid_t pid;
    int status = 1;
    snprintf(program, sizeof program, "%s", tool);
    snprintf(option, sizeof option, "-arch=%s", arch);
    snprintf(in, sizeof in, "%s", ptx);
    if (posix_spawn_file_actions_init(&to_log) != 0)
        return false;
    bool good = posix_spawn_file_actions_addopen(&to_log, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600) == 0 &&
                posix_spawn_file_actions_adddup2(&to_log, 1, 2) == 0 &&
                posix_spawn(&pid, program, &to_log, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&to_log);
    while (good && waitpid(pid, &status, 0) < 0)
        good = errno == EINTR;
    return good && status == 0;
}

/* The number before `words`; -1: they are not there. */
static double number_before(const char *text, const char *words)
{
    const char *at = strstr(text, words), *s = at;
    while (s && s > text && isdigit((unsigned char)s[-1]))
        s--;
    return at && s < at ? strtod(s, NULL) : -1;
}

static void read_log(struct bench_row *r, const char *path)
{
    size_t length;
    char *log = read_file(path, &length);
    const char *used = log ? strstr(log, "Used ") : NULL;
    if (used) {
        row_set_cost(r, "registers", strtod(used + 5, NULL));
        double stores = number_before(log, " bytes spill stores"),
               loads = number_before(log, " bytes spill loads");
        row_set_cost(r, "spill_bytes", (stores > 0 ? stores : 0) + (loads > 0 ? loads : 0));
    }
    free(log);
}

static void ask_ptxas(struct bench_row *r, const char *text)
{
    char tool[PATH_MAX], folder[200], ptx[220], log[220], arch[24];
    const char *parent = getenv("TMPDIR"), *target = strstr(text, ".target ");
    if (!target || !find_tool("ptxas", tool, sizeof tool))
        return;
    snprintf(arch, sizeof arch, "%.*s", (int)strcspn(target + 8, ", \n"), target + 8);
    snprintf(folder, sizeof folder, "%s/neso-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder))
        return;
    snprintf(ptx, sizeof ptx, "%s/k.ptx", folder);
    snprintf(log, sizeof log, "%s/k.log", folder);
    if (write_file(ptx, text, strlen(text)) == GOOD && call_ptxas(tool, arch, ptx, log))
        read_log(r, log);
    unlink(ptx);
    unlink(log);
    rmdir(folder);
}

void cost_kernel(struct bench_row *r, neso_kernel *kernel, const char *ptx, bool assemble)
{
    neso_resources resources = {.size = sizeof resources};
    r->key = ptx_digest(ptx, 0);
    cost_ptx(r, ptx);
    if (neso_kernel_resources(kernel, &resources) == NESO_OK) {
        row_set_cost(r, "live_registers", resources.live_registers);
        row_set_cost(r, "shared_bytes", resources.shared_bytes);
        row_set_cost(r, "threads", resources.num_threads);
    }
    if (assemble)
        ask_ptxas(r, ptx);
    else if (resources.registers >= 0) {
        row_set_cost(r, "registers", resources.registers);
        row_set_cost(r, "spill_bytes", resources.local_bytes);
    }
}
