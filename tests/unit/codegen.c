/* SPDX-License-Identifier: MIT */
/* codegen.c (test): compiles every elementwise op on every type that it accepts, as a scalar and as a tile, for
 * every target. The compiler must reject exactly the ops that may_refuse lists, because the target does not support
 * them. If ptxas is installed, it must accept all PTX without warnings or spills. Equal inputs must give equal PTX. */
#include <unistd.h>

#include "codegen/codegen.h"
#include "tests/unit/test.h"
#include "tests/unit/world.h"

struct variant {
    enum opcode code;
    enum dtype first, in, out; /* the types of operand 0, of the other operands, and of the result */
    const char *attrs;
};

static int count_opnds(enum opcode code)
{
    int n = 1;
    for (const char *p = op_info[code].operands; *p; p++)
        n += *p == ' ';
    return n;
}

static enum dtype opnd_dtype(const struct variant *v, int k)
{
    return k ? v->in : v->first;
}

/* Prints a kernel that loads operands, applies the op and stores the result, once on scalars and once on tiles. */
static void kernel_text(struct text *t, const struct variant *v, const char *target, int number)
{
    int n = count_opnds(v->code);
    const char *name = op_info[v->code].name, *out = dtype_info[v->out].word;
    text_printf(t, "kernel @k%d(", number);
    for (int k = 0; k < n; k++)
        text_printf(t, "%%p%d: ptr<%s>, ", k, dtype_info[opnd_dtype(v, k)].word);
    text_printf(t,
                "%%o: ptr<%s>, %%ot: ptr<%s>) warps=4 stages=3 target=%s degree=scheduled {\n"
                "  layout #l = reg[1] lane[2 4 8 16 32] warp[64 128]\n"
                "  %%i = range start=0 end=256 : tile<256xi32,#l>\n",
                out, out, target);
    for (int k = 0; k < n; k++) {
        const char *w = dtype_info[opnd_dtype(v, k)].word;
        text_printf(t,
                    "  %%s%d = splat %%p%d : tile<256xptr<%s>,#l>\n  %%q%d = addptr %%s%d, %%i : "
                    "tile<256xptr<%s>,#l>\n"
                    "  %%t%d = load %%q%d vec=2 : tile<256x%s,#l>\n  %%x%d = load %%p%d : %s\n",
                    k, k, w, k, k, w, k, k, w, k, k, w);
    }
    text_printf(t, "  %%y = %s %%x0%s%s%s : %s @3:7\n", name, n > 1 ? ", %x1" : "", n > 2 ? ", %x2" : "",
                v->attrs, out);
    text_printf(t, "  %%yt = %s %%t0%s%s%s : tile<256x%s,#l> @4:7\n", name, n > 1 ? ", %t1" : "",
                n > 2 ? ", %t2" : "", v->attrs, out);
    text_printf(t,
                "  store %%o, %%y\n  %%so = splat %%ot : tile<256xptr<%s>,#l>\n  %%qo = addptr %%so, %%i : "
                "tile<256xptr<%s>,#l>\n"
                "  store %%qo, %%yt vec=2\n  return\n}\n",
                out, out);
}

/* -- ops that the compiler may reject -- */

static bool may_refuse(const struct variant *v, const struct target *t)
{
    bool f8e4 = v->first == DT_f8e4 || v->in == DT_f8e4 || v->out == DT_f8e4;
    if (f8e4 && v->code != OP_bitcast && v->code != OP_select && !target_has(t, HAS_cvt_fp8))
        return true;
    if (v->first != DT_f64)
        return false;
    switch (v->code) {
    case OP_exp:
    case OP_exp2:
    case OP_log:
    case OP_log2:
    case OP_sin:
    case OP_cos:
    case OP_erf: return true;
    default: return false;
    }
}

/* -- one file of PTX for each target -- */

struct file {
    struct world *w;
    const struct target *target;
    struct text ptx; /* the kernels, without the module header */
    int n, refused, version;
};

/* Adds the kernel of a variant (an op with types); returns false if the op does not accept these types. */
static bool add_variant(struct file *f, const struct variant *v)
{
    struct world w;
    world_init(&w);
    struct text text, ptx, again;
    text_init(&text, &w.arena);
    text_init(&ptx, &w.arena);
    text_init(&again, &w.arena);
    kernel_text(&text, v, f->target->name, f->n);
    struct source *src = diag_add_source(&w.diag, "op.ir", text.s, text.len);
    const struct op *at;
    bool legal = module_parse(&w.m, src) && !func_verify(w.m.funcs.at[0], &at);
    struct ptx_info info;
    if (legal) {
        struct codegen_options o = {.debug_loc = true};
        WORLD_CATCH(&w, {
            codegen_emit(w.m.funcs.at[0], &o, &ptx, &info);
            codegen_emit(w.m.funcs.at[0], &o, &again, &info);
        });
        bool refused = w.diag.nerrors || w.diag.internal;
        if (refused && (w.diag.internal || !may_refuse(v, f->target))) {
            diag_render_all(&w.diag, &text);
            test_fail(__FILE__, __LINE__, text.s);
        } else if (!refused) {
            const char *body = strstr(ptx.s, ".visible");
            CHECK_STR(again.s, ptx.s);
            text_str(&f->ptx, body);
            f->version = info.ptx_version > f->version ? info.ptx_version : f->version;
            f->n++;
        }
        f->refused += refused;
    }
    world_free(&w);
    return legal;
}

static void add_types(struct file *f, enum opcode code, const char *attrs)
{
    for (int in = 0; in < DT_count; in++)
        for (int out = 0; out < DT_count; out++) {
            bool cast = op_info[code].family == FAMILY_cast;
            if (!cast && in != out && !(code == OP_cmp && out == DT_i1))
                continue;
            struct variant v = {code, (enum dtype)(code == OP_select ? DT_i1 : in), (enum dtype)in,
                                (enum dtype)out, attrs};
            add_variant(f, &v);
        }
}

static void add_op(struct file *f, enum opcode code)
{
    if (!(op_info[code].traits & ELEMENTWISE) || code == OP_addptr)
        return;
    if (code == OP_cmp) {
        const char *const *words = attr_words(ATTRK_pred);
        for (int i = 0; words[i]; i++) {
            char attrs[20];
            snprintf(attrs, sizeof attrs, " pred=%s", words[i]);
            add_types(f, code, attrs);
        }
        return;
    }
    add_types(f, code, "");
    const char *const *roundings = attr_words(ATTRK_round);
    for (int i = 1; roundings[i] && op_info[code].attrs >> ATTR_round & 1; i++) {
        char attrs[20];
        snprintf(attrs, sizeof attrs, " round=%s", roundings[i]);
        add_types(f, code, attrs);
    }
    if (op_info[code].attrs >> ATTR_nan & 1)
        add_types(f, code, " nan=1");
}

static bool have_ptxas(void)
{
    return system("command -v ptxas >/dev/null 2>&1") == 0;
}

static void assemble(const struct file *f)
{
    char name[120], command[500];
    snprintf(name, sizeof name, "%s/neso-codegen-%ld-%s.ptx", P_tmpdir, (long)getpid(), f->target->name);
    FILE *out = fopen(name, "w");
    if (!out) {
        test_fail(__FILE__, __LINE__, "cannot write a temporary file");
        return;
    }
    fprintf(out, ".version %d.%d\n.target %s\n.address_size 64\n.file 1 \"op.ir\"\n%s", f->version / 10,
            f->version % 10, f->target->name, f->ptx.s);
    fclose(out);
    snprintf(command, sizeof command,
             "ptxas -Werror -v -O1 -arch=%s -o /dev/null %s >%s.log 2>&1 && ! grep -qE '[1-9][0-9]* bytes "
             "spill' %s.log",
             f->target->name, name, name, name);
    if (system(command) != 0) {
        fprintf(stderr, "see %s.log\n", name);
        test_fail(__FILE__, __LINE__, "ptxas refuses it");
        return;
    }
    remove(name);
    strcat(name, ".log");
    remove(name);
}

static void test_target(const char *name)
{
    struct world w;
    world_init(&w);
    struct file f = {.w = &w, .target = target_by_name(name)};
    text_init(&f.ptx, &w.arena);
    for (int code = 0; code < OP_count; code++)
        add_op(&f, (enum opcode)code);
    CHECK(f.n > 500);
    if (have_ptxas())
        assemble(&f);
    world_free(&w);
}

TEST(elementwise_sm_80)
{
    test_target("sm_80");
}

TEST(elementwise_sm_86)
{
    test_target("sm_86");
}

TEST(elementwise_sm_89)
{
    test_target("sm_89");
}

TEST(elementwise_sm_90a)
{
    test_target("sm_90a");
}

TEST(elementwise_sm_100a)
{
    test_target("sm_100a");
}

TEST(elementwise_sm_120a)
{
    test_target("sm_120a");
}

/* The PTX of the vector addition in Triton's announcement has 23 instructions; neso must need fewer. */
TEST(vector_add_is_short)
{
    enum { ANNOUNCED = 23, SIZE_MOST = 10000 };
    struct world w;
    world_init(&w);
    char *ir = arena_alloc(&w.arena, SIZE_MOST);
    FILE *in = fopen("tests/codegen/sm_90a/vector-add.ir", "rb");
    CHECK(in);
    if (in) {
        CHECK(fread(ir, 1, SIZE_MOST - 1, in) > 0);
        fclose(in);
    }
    struct text ptx;
    text_init(&ptx, &w.arena);
    struct ptx_info info;
    struct codegen_options o = {0};
    if (world_parse(&w, ir))
        codegen_emit(w.m.funcs.at[0], &o, &ptx, &info);
    int count = 0;
    for (const char *line = strchr(ptx.s, '{'); line; line = strchr(line + 1, '\n'))
        count += line[1] == '\t' && line[2] != '.';
    CHECK(count > 0 && count < ANNOUNCED);
    CHECK_INT(info.live_regs, 12);
    world_free(&w);
}
