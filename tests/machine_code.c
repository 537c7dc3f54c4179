/* SPDX-License-Identifier: MIT */
/* machine_code.c: checks that ptxas has not removed or merged certain instructions of the PTX.
 *
 *     machine_code KERNEL.ptx KERNEL.cubin
 *
 * Counts shuffles, matrix loads and stores, tensor core instructions, barriers, stores, atomics and copies in both
 * files. ptxas unrolls loops and duplicates the ends of blocks, so the machine code may have more of these
 * instructions than the PTX. ptxas must not merge these instructions, so fewer instructions than in the PTX are an
 * error (a message, exit status 1). Two kinds of PTX are not counted, because ptxas may remove them: code that an
 * always-taken jump skips (a jump whose condition compares a register with itself), and a store whose data the next
 * instruction overwrites. No disassembler is needed: the lowest 9 bits of the 16 bytes of an instruction are its
 * opcode (from sm_80 on; `nvdisasm -hex` prints the bytes).
 **/
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIXES_MOST = 4, OPCODES_MOST = 10, INSN_BYTES = 16, OPCODE_MASK = 0x1ff };

static const struct kind {
    const char *name, *prefixes[PREFIXES_MOST];
    uint16_t opcodes[OPCODES_MOST];
} kinds[] = {
    {"shuffles", {"shfl."}, {0x189}},
    {"ldmatrix", {"ldmatrix."}, {0x03b}},
    {"stmatrix", {"stmatrix."}, {0x044}},
    {"mma", {"mma.sync."}, {0x03c, 0x037, 0x03f}},          /* HMMA, IMMA, DMMA */
    {"wgmma", {"wgmma.mma_async."}, {0x1f0, 0x1f1, 0x1f3}}, /* HGMMA, IGMMA, QGMMA */
    {"barriers", {"bar.sync", "bar.arrive", "bar.red"}, {0x11d}},
    {"barriers of a cluster", {"barrier.cluster."}, {0x1c7}},
    {"operations on mbarriers", {"mbarrier."}, {0x1a7, 0x1b2}},
    {"stores", {"st."}, {0x185, 0x186, 0x188}}, /* ST, STG, STS */
    {"atomics", {"atom.", "red."}, {0x18a, 0x18b, 0x18c, 0x18d, 0x18e, 0x1a3, 0x1a6, 0x1a8, 0x1a9}},
    {"copies by tensor maps",
     {"cp.async.bulk.tensor.", "cp.reduce.async.bulk.tensor."},
     {0x1b4, 0x1b5, 0x1b6}},
    {"copies to shared memory", {"cp.async.ca.", "cp.async.cg."}, {0x1ae}},
};
enum { NKINDS = sizeof kinds / sizeof *kinds };

static char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    long n = -1;
    char *bytes = NULL;
    if (f && fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0)
        bytes = malloc((size_t)n + 1);
    if (!bytes || fread(bytes, 1, (size_t)n, f) != (size_t)n) {
        fprintf(stderr, "machine_code: cannot read %s\n", path);
        exit(2);
    }
    fclose(f);
    bytes[n] = '\0';
    *size = (size_t)n;
    return bytes;
}

static bool begins(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* In `setp.ge.s32 %p1, %r2, %r2; @%p1 bra $L3` the jump is always taken. If the instruction at p is such a
 * comparison, sets `pred` to "@%p1 bra", with which the jump begins, and returns true. */
static bool is_always(const char *p, char *pred, size_t size)
{
    char x[32], y[32], guard[16];
    if (sscanf(p, "setp.%*2[gle].%*[us0-9] %15[^,], %31[^,], %31[^;];", guard, x, y) != 3 ||
        strcmp(x, y) != 0 || begins(p, "setp.gt") || begins(p, "setp.lt"))
        return false;
    snprintf(pred, size, "@%s bra", guard);
    return true;
}

/* Returns whether the first operand of the instruction at p is the predicate of the jump `pred`, "@%p1 bra". */
static bool redefines(const char *p, const char *pred)
{
    const char *operand = p + strcspn(p, " \t\n");
    operand += strspn(operand, " \t");
    size_t n = strcspn(operand, ",|;\n");
    return pred[0] && n == strlen(pred) - strlen("@ bra") && strncmp(operand, pred + 1, n) == 0;
}

/* Returns whether the next instruction is a store to the address of the store at p, so that it overwrites the data. */
static bool is_overwritten(const char *p, const char *next)
{
    const char *end = strchr(p, ']');
    while (next && begins(next + strspn(next, " \t"), ".loc"))
        next = strchr(next, '\n') ? strchr(next, '\n') + 1 : NULL;
    return end && next && begins(p, "st.") && strncmp(p, next + strspn(next, " \t"), (size_t)(end - p)) == 0;
}

/* ptxas folds shuffles of constants and joins stores, so their counts are compared only in kernels with wgmma. Such
 * kernels have no shuffles or stores that ptxas may fold or join. But in some of them, versions of ptxas have wrongly
 * merged distinct shuffles or stores. */
static bool is_judged(const struct kind *k, const char *ptx)
{
    bool may_go = strcmp(k->name, "shuffles") == 0 || strcmp(k->name, "stores") == 0;
    return !may_go || strstr(ptx, "wgmma.mma_async");
}

/* Counts the instructions of each kind in PTX. Omits code that an always-taken jump skips, because ptxas removes it. */
static void count_ptx(const char *text, int counts[NKINDS])
{
    char pred[32] = "", label[32] = "";
    for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        const char *p = line + strspn(line, " \t");
        if (label[0]) {
            label[0] = begins(p, label) && p[strlen(label)] == ':' ? '\0' : label[0];
            continue;
        }
        if (pred[0] && begins(p, pred) && sscanf(p + strlen(pred), " %31[^;\n]", label) == 1)
            continue;
        if (!is_always(p, pred, sizeof pred) && (*p == '$' || redefines(p, pred)))
            pred[0] = '\0';
        if (*p == '@') {
            p += strcspn(p, " \t\n");
            p += strspn(p, " \t");
        }
        const char *end = strchr(p, '\n');
        for (int k = 0; k < NKINDS && !is_overwritten(p, end ? end + 1 : NULL); k++)
            for (int i = 0; i < PREFIXES_MOST && kinds[k].prefixes[i]; i++)
                counts[k] += begins(p, kinds[k].prefixes[i]);
    }
}

static void count_section(const char *code, size_t size, int counts[NKINDS])
{
    for (size_t at = 0; at + INSN_BYTES <= size; at += INSN_BYTES) {
        uint16_t word;
        memcpy(&word, code + at, sizeof word);
        for (int k = 0; k < NKINDS; k++)
            for (int i = 0; i < OPCODES_MOST && kinds[k].opcodes[i]; i++)
                counts[k] += kinds[k].opcodes[i] == (word & OPCODE_MASK);
    }
}

/* Counts the instructions of each kind in a cubin; returns false if the file is not a cubin with code. */
static bool count_code(const char *elf, size_t size, int counts[NKINDS])
{
    Elf64_Ehdr head;
    Elf64_Shdr names, section;
    bool any = false;
    if (size < sizeof head || memcmp(elf, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&head, elf, sizeof head);
    size_t table = head.e_shoff, end = table + (size_t)head.e_shnum * sizeof section;
    if (head.e_shentsize != sizeof section || end > size || head.e_shstrndx >= head.e_shnum)
        return false;
    memcpy(&names, elf + table + head.e_shstrndx * sizeof section, sizeof names);
    for (size_t i = 0; i < head.e_shnum; i++) {
        memcpy(&section, elf + table + i * sizeof section, sizeof section);
        size_t name = names.sh_offset + section.sh_name;
        if (name >= size || !begins(elf + name, ".text.") || section.sh_offset + section.sh_size > size)
            continue;
        count_section(elf + section.sh_offset, section.sh_size, counts);
        any = true;
    }
    return any;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: machine_code KERNEL.ptx KERNEL.cubin\n", stderr);
        return 2;
    }
    int ptx[NKINDS] = {0}, code[NKINDS] = {0}, status = 0;
    size_t length, size;
    char *text = read_file(argv[1], &length), *elf = read_file(argv[2], &size);
    count_ptx(text, ptx);
    if (!count_code(elf, size, code)) {
        fprintf(stderr, "machine_code: no machine code in %s\n", argv[2]);
        status = 2;
    }
    for (int k = 0; k < NKINDS && status < 2; k++)
        if (is_judged(&kinds[k], text) && code[k] < ptx[k]) {
            printf("%s: %d in the PTX, %d in the machine code\n", kinds[k].name, ptx[k], code[k]);
            status = 1;
        }
    free(text);
    free(elf);
    return status;
}
