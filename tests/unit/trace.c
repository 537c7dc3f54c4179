/* SPDX-License-Identifier: MIT */
/* trace.c: tests the IR that tracing makes of kernels, and the types of expressions. */
#include "frontend/trace/lang.h"
#include "tests/unit/test.h"
#include "tests/unit/world.h"

#include "frontend/frontend.h"

/* -- tracing one kernel -- */

struct tracing {
    struct world w;
    struct interner strings;
    struct host host;
    struct eval e;
    struct text printed;
    struct obj *module;
};

static void print(void *ctx, const char *s, size_t n, bool to_stderr)
{
    struct tracing *t = ctx;
    (void)to_stderr;
    text_bytes(&t->printed, s, n);
}

static void begin(struct tracing *t, const char *source)
{
    world_init(&t->w);
    interner_init(&t->strings, &t->w.arena);
    text_init(&t->printed, &t->w.arena);
    t->host = (struct host){.ctx = t, .write = print};
    eval_init(&t->e, &t->w.arena, &t->strings, &t->w.diag, &t->host);
    struct source *src = diag_add_source(&t->w.diag, "test.py", source, strlen(source));
    t->module = eval_file(&t->e, src, "__main__", NULL);
}

/* Parses one argument: a type with an optional promise ("*fp32:16", "i32", "i32:1"), or a constant after an equals
 * sign ("=64", "='x'", "=None"). The last argument may be "NAME=64", a keyword for **META. */
static struct spec_arg argument(struct eval *e, const char *s, size_t n)
{
    if (*s == '=' && s[1] == '\'')
        return (struct spec_arg){.is_const = true, .value = obj_str(e, s + 2, n - 3)};
    if (*s == '=')
        return (struct spec_arg){.is_const = true, .value = s[1] == 'N' ? obj_none : obj_int(e, atoi(s + 1))};
    const char *colon = memchr(s, ':', n);
    int divisible = colon ? atoi(colon + 1) : 1;
    const struct lang_type *type = lang_parse(e, s, colon ? (size_t)(colon - s) : n);
    return (struct spec_arg){.type = type, .divisible = divisible, .equals_one = divisible == 1 && colon};
}

static struct func *trace(struct tracing *t, const char *kernel, const char *signature)
{
    struct spec_arg args[32];
    const char *meta_names[4];
    struct obj *meta_values[4];
    struct spec spec = {.args = args,
                        .meta_names = meta_names,
                        .meta_values = meta_values,
                        .fp_fusion = true,
                        .target = target_by_name("sm_90a")};
    for (const char *s = signature; *s;) {
        size_t n = strcspn(s, ","), name = strcspn(s, "=");
        if (*s >= 'A' && *s <= 'Z') {
            meta_names[spec.nmeta] = intern(&t->strings, s, name);
            meta_values[spec.nmeta++] = obj_int(&t->e, atoi(s + name + 1));
            break;
        }
        args[spec.nargs++] = argument(&t->e, s, n);
        s += n;
        s += strspn(s, ", ");
    }
    struct obj *jit = t->module ? scope_get(t->module->module.scope, intern_str(&t->strings, kernel)) : NULL;
    return jit && jit->kind == OBJ_jit ? frontend_trace(&t->e, jit, &spec, &t->w.m) : NULL;
}

static const char *diagnostics(struct tracing *t)
{
    struct text out;
    text_init(&out, &t->w.arena);
    diag_render_all(&t->w.diag, &out);
    return out.s;
}

/* Returns the text of the IR without source positions such as " @4:11", which would change with every edit of a
 * test. */
static const char *text_without_places(struct tracing *t, const struct func *f)
{
    struct text full, out;
    text_init(&full, &t->w.arena);
    text_init(&out, &t->w.arena);
    func_print(f, &full);
    for (const char *s = full.s; *s; s++) {
        if (s[0] == ' ' && s[1] == '@' && s[2] >= '0' && s[2] <= '9')
            s += 2 + strspn(s + 2, "0123456789:+/");
        text_char(&out, *s);
    }
    return out.s;
}

static void check_ir(int line, const char *source, const char *signature, const char *expected)
{
    struct tracing t;
    begin(&t, source);
    struct func *f = trace(&t, "k", signature);
    const char *found = f ? text_without_places(&t, f) : diagnostics(&t);
    const struct op *at;
    const char *wrong = f ? func_verify(f, &at) : NULL;
    if (wrong)
        test_fail(__FILE__, line, wrong);
    test_str(__FILE__, line, found, expected);
    world_free(&t.w);
}
#define CHECK_BARE_IR(source, signature, expected) check_ir(__LINE__, source, signature, expected)
#define CHECK_IR(source, signature, expected)                                                                \
    CHECK_BARE_IR("import triton\nimport triton.language as tl\n" source, signature, expected)

/* -- types of expressions -- */

static const char typed_kernel[] =
    "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n"
    "@triton.jit\n"
    "def k(b, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, e4, e5, p, q):\n"
    "    x = tl.arange(0, 4)\n"
    "    y = tl.arange(0, 8)\n"
    "    tl.static_print(%s)\n";
static const char typed_signature[] =
    "i1, i8, i16, i32, i64, u8, u16, u32, u64, fp16, bf16, fp32, fp64, fp8e4nv, fp8e5, *fp32, *i1";

/* Each row has an expression, and the type that static_print prints for it, or the tag of its error. */
/* clang-format off */
static const struct {
    const char *expression, *expected;
} types[] = {
    /* the basic rules for common types */
    {"i8 + 1", "int8[]"},          {"i8 + 200", "number-range"},   {"u8 + (-1)", "negative-number"},
    {"i8 + u8", "uint8[]"},        {"i32 + 1.5", "fp32[]"},        {"i64 + 1.5", "fp32[]"},
    {"b + 1", "int32[]"},          {"b + True", "int1[]"},         {"b + 1.0", "fp32[]"},
    {"f16 + bf16", "fp16[]"},      {"bf16 + f32", "fp32[]"},       {"i64 + f16", "fp16[]"},
    {"f16 / 2", "fp32[]"},         {"bf16 * 0.5", "bf16[]"},       {"i64 / i64", "fp32[]"},
    {"i32 + 2**31", "number-range"}, {"i64 + 2**63", "number-range"}, {"f32 + 1e300", "fp32[]"},
    {"u64 + 1", "uint64[]"},
    /* floats */
    {"f16 * 0.5", "fp16[]"},       {"f16 * 2", "fp16[]"},          {"f16 + f16", "fp16[]"},
    {"bf16 + bf16", "bf16[]"},     {"bf16 / bf16", "fp32[]"},      {"f16 / f16", "fp32[]"},
    {"f16 % f16", "fp32[]"},       {"bf16 % 2.0", "fp32[]"},       {"f32 % 2", "fp32[]"},
    {"f64 + 1", "fp64[]"},         {"f64 * f32", "fp64[]"},        {"f64 / i32", "fp64[]"},
    {"bf16 + i32", "fp32[]"},      {"f16 + i32", "fp16[]"},        {"bf16 + b", "fp32[]"},
    {"f32 + i64", "fp32[]"},       {"f16 + 1e300", "fp16[]"},      {"-f16", "fp16[]"},
    /* integers */
    {"i8 + i16", "int16[]"},       {"i32 + i64", "int64[]"},       {"u32 + i32", "uint32[]"},
    {"u8 + i16", "int16[]"},       {"u32 + i64", "int64[]"},       {"u64 + i64", "uint64[]"},
    {"b + i32", "int32[]"},        {"b + b", "int1[]"},            {"b * i8", "int8[]"},
    {"i8 + True", "int8[]"},       {"i16 * 3", "int16[]"},         {"u16 + 65535", "uint16[]"},
    {"u16 + 65536", "number-range"}, {"i32 // 2", "int32[]"},      {"i32 % 7", "int32[]"},
    {"u32 // 2", "uint32[]"},      {"u32 // i32", "signedness"},   {"u32 % i64", "signedness"},
    {"u32 / i32", "signedness"},   {"u32 / u32", "fp32[]"},        {"i32 / 2", "fp32[]"},
    {"i32 // 2.0", "operator-type"}, {"f32 // 2", "operator-type"}, {"2 ** i32", "no-operator"},
    {"i32 @ i32", "no-operator"},  {"-i8", "int8[]"},              {"-u8", "uint8[]"},
    {"~i8", "int8[]"},             {"~b", "int1[]"},               {"~f32", "operator-type"},
    {"+i32", "operator-type"},     {"not b", "int1[]"},            {"not i32", "operator-type"},
    {"i8 & 1", "int8[]"},          {"i8 | u8", "uint8[]"},         {"b & b", "int1[]"},
    {"f32 & 1", "operator-type"},  {"i64 ^ i8", "int64[]"},        {"i32 << 3", "int32[]"},
    {"u8 >> 1", "uint8[]"},        {"i64 >> i32", "int64[]"},      {"f32 << 1", "operator-type"},
    {"5 - i8", "int8[]"},          {"1 / f32", "fp32[]"},          {"127.0 / i32", "fp32[]"},
    {"(1 << 40) + i64", "int64[]"}, {"i64 * (1 << 40)", "int64[]"},
    /* comparisons: a Python number is first converted to a tensor */
    {"i32 < 5", "int1[]"},         {"u8 < -1", "int1[]"},          {"f16 > 0.5", "int1[]"},
    {"i32 == 1.0", "int1[]"},      {"x < i32", "int1[constexpr[4]]"}, {"p == p", "operands"},
    /* fp8: types are checked, but there is no arithmetic */
    {"e4 + e5", "fp16[]"},         {"e4 + f16", "fp16[]"},         {"e4 + e4", "operator-type"},
    {"e4 + i32", "operands"},
    /* pointers */
    {"p + 1", "pointer<fp32>[]"},  {"p + i64", "pointer<fp32>[]"}, {"1 + p", "pointer<fp32>[]"},
    {"p - i32", "pointer<fp32>[]"}, {"p + p", "operands"},         {"p - p", "operands"},
    {"p * 2", "operands"},         {"p + 1.0", "operands"},        {"i32 - p", "operands"},
    {"p + x", "pointer<fp32>[constexpr[4]]"}, {"p + u8", "pointer<fp32>[]"}, {"-p", "operator-type"},
    /* shapes */
    {"x + i32", "int32[constexpr[4]]"}, {"x + y", "shape-broadcast"}, {"tl.arange(0, 2048)[:, None] + tl.arange(0, 1024)[None, :]", "shape-numel"},
    {"x[:, None] + y[None, :]", "int32[constexpr[4], constexpr[8]]"}, {"x[None, :] * 1.0", "fp32[constexpr[1], constexpr[4]]"},
    {"x[:, None] + x", "int32[constexpr[4], constexpr[4]]"}, {"i32[None]", "int32[constexpr[1]]"},
    {"x[0]", "index-kind"},        {"x[0:2]", "index-kind"},       {"x[:]", "int32[constexpr[4]]"},
    /* casts */
    {"i32.to(tl.float16)", "fp16[]"}, {"f32.to(tl.int1)", "int1[]"}, {"f32.to(tl.int8)", "int8[]"},
    {"f16.to(tl.bfloat16)", "bf16[]"}, {"f32.to(tl.float8e4nv)", "fp8e4nv[]"}, {"f64.to(tl.float8e5)", "no-cast"},
    {"e4.to(tl.int32)", "no-cast"}, {"e4.to(tl.float8e5)", "fp8e5[]"}, {"p.to(tl.int64)", "int64[]"},
    {"p.to(tl.int32)", "no-cast"}, {"i64.to(tl.pointer_type(tl.float16))", "pointer<fp16>[]"},
    {"f32.to(tl.int32, bitcast=True)", "int32[]"}, {"f32.to(tl.int16, bitcast=True)", "bitcast-width"},
    {"u32.to(tl.int32, bitcast=True)", "int32[]"}, {"f32.to(tl.float16, fp_downcast_rounding='rtz')", "fp16[]"},
    {"f16.to(tl.float32, fp_downcast_rounding='rtz')", "not-downcast"}, {"tl.cast(1, tl.int64)", "int64[]"},
    {"x.to(f16.dtype)", "fp16[constexpr[4]]"}, {"f32.to(p.dtype.element_ty)", "fp32[]"},
    /* functions that convert operands implicitly */
    {"tl.where(b, f16, 0.0)", "fp16[]"}, {"tl.where(b, 1, 2)", "int32[]"}, {"tl.where(x > 0, i32, f32)", "fp32[constexpr[4]]"},
    {"tl.where(b, p, p)", "pointer<fp32>[]"}, {"tl.maximum(f16, 0.0)", "fp32[]"}, {"tl.maximum(bf16, bf16)", "fp32[]"},
    {"tl.maximum(i8, 3)", "int32[]"}, {"tl.minimum(i64, 3)", "int64[]"}, {"min(i32, 64)", "int32[]"}, {"max(2, 3)", "3"},
    {"tl.clamp(f32, 0.0, 1.0)", "fp32[]"}, {"tl.clamp(i32, 0, 1)", "math-type"},
    {"tl.exp(f32)", "fp32[]"},     {"tl.exp(f16)", "math-type"},   {"tl.exp(2.0)", "fp32[]"}, {"tl.exp(2)", "math-type"},
    {"tl.math.exp2(f64)", "fp64[]"}, {"f32.abs()", "fp32[]"},      {"tl.fdiv(f16, f16)", "fp16[]"}, {"tl.fdiv(f16, f32)", "dtypes-differ"},
    {"tl.fma(f16, 2.0, f32)", "fp32[]"}, {"tl.umulhi(u32, i32)", "uint32[]"}, {"tl.cdiv(i32, 4)", "int32[]"}, {"tl.cdiv(7, 4)", "2"},
    {"tl.sigmoid(f32)", "fp32[]"}, {"tl.sigmoid(f16)", "math-type"}, {"tl.softmax(x)", "math-type"}, {"libdevice.tanh(f32)", "fp32[]"}, {"libdevice.tanh(f16)", "math-type"},
    /* memory */
    {"tl.load(p)", "fp32[]"},      {"tl.load(q)", "int1[]"},       {"tl.load(p + x, x < 2)", "fp32[constexpr[4]]"},
    {"tl.load(p + x, x < 2, other=0)", "fp32[constexpr[4]]"}, {"tl.load(i32)", "not-pointer"}, {"tl.load(p, other=0.0)", "other-without-mask"},
    {"tl.load(p, x < 2)", "mask-block"}, {"tl.load(p + x, x)", "mask-type"}, {"tl.load(p, cache_modifier='.xx')", "cache-word"},
    {"tl.atomic_add(p, 1.0)", "fp32[]"}, {"tl.atomic_and(p, 1)", "atomic-type"},
    /* reductions and scans */
    {"tl.sum(x, 0)", "int32[]"},   {"tl.sum(x > 1, 0)", "uint32[]"}, {"tl.sum(x.to(tl.int8))", "int32[]"}, {"tl.sum(x.to(tl.float16), 0)", "fp16[]"},
    {"tl.max(x.to(tl.float16), 0)", "fp32[]"}, {"tl.max(x.to(tl.uint8), 0)", "int32[]"}, {"x.sum(axis=-1, keep_dims=True)", "int32[constexpr[1]]"},
    {"tl.sum(x, 1)", "axis-range"}, {"tl.sum(i32, 0)", "wants-block"}, {"tl.argmax(x, 0)", "int32[]"},
    {"tl.max(x * 1.0, 0, return_indices=True)[1]", "int32[]"}, {"tl.cumsum(x.to(tl.bfloat16), 0)", "fp32[constexpr[4]]"},
    {"tl.sum(x[:, None] + y[None, :], 1)", "int32[constexpr[4]]"}, {"tl.sum(x, dtype=tl.int64)", "int64[]"},
    /* shapes */
    {"tl.reshape(y, 2, 4)", "int32[constexpr[2], constexpr[4]]"}, {"tl.reshape(y, (4, 4))", "reshape-numel"}, {"y.reshape([2, 2, 2]).trans()", "int32[constexpr[2], constexpr[2], constexpr[2]]"},
    {"tl.join(x, x)", "int32[constexpr[4], constexpr[2]]"}, {"tl.cat(x, x)", "int32[constexpr[8]]"}, {"tl.broadcast_to(x[None, :], (8, 4))", "int32[constexpr[8], constexpr[4]]"},
    {"tl.full([2, 4], 0.0, tl.float16)", "fp16[constexpr[2], constexpr[4]]"}, {"tl.full((), 1.5, tl.int32)", "full-value"}, {"tl.zeros([3], tl.int32)", "shape-power"},
    {"tl.arange(0, 6)", "arange-power"}, {"tl.arange(0, i32)", "not-constant"}, {"tl.program_id(3)", "program-axis"}, {"tl.zeros_like(x)", "int32[constexpr[4]]"},
    {"tl.dot(x[:, None].to(tl.float16), y[None, :].to(tl.float16))", "fp32[constexpr[4], constexpr[8]]"},
    {"tl.dot(x[:, None].to(tl.float16), y[None, :].to(tl.float32))", "dot-types"}, {"tl.dot(x, y)", "dot-type"}, {"tl.dot(x * 1.0, y * 1.0)", "dot-rank"},
    {"x.dtype", "int32"},          {"p.dtype.element_ty", "fp32"}, {"x.shape[0]", "4"}, {"x.numel", "4"}, {"len(x.shape)", "1"},
    {"i32 if b else i64", "ternary-types"}, {"1 if b else 2", "int32[]"}, {"b and True", "int1[]"}, {"b and i32", "not-boolean"}, {"True or b", "True"},
    {"tl.map_elementwise(x, x)", "map-function"}, {"tl.sort(x)", "int32[constexpr[4]]"}, {"tl.cidv(x, 1)", "module-attribute"}, {"nothing", "name"},
};
/* clang-format on */

/* Returns the tag of the first error, which messages show in brackets. */
static const char *first_error(struct tracing *t)
{
    for (int i = 0; i < t->w.diag.list.n; i++)
        if (t->w.diag.list.at[i].severity == SEV_error) {
            const char *word = error_tag(t->w.diag.list.at[i].error);
            char *tag = arena_strndup(&t->w.arena, word, strlen(word));
            for (char *s = tag; *s; s++)
                *s = *s == '_' ? '-' : *s;
            return tag;
        }
    return "nothing";
}

TEST(expressions_have_their_types)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct tracing t;
        char source[1000], what[400];
        snprintf(source, sizeof source, typed_kernel, types[i].expression);
        begin(&t, source);
        struct func *f = trace(&t, "k", typed_signature);
        if (t.printed.len && t.printed.s[t.printed.len - 1] == '\n')
            t.printed.s[t.printed.len - 1] = '\0';
        const char *found = f ? t.printed.s : first_error(&t);
        const struct op *at;
        const char *wrong = f ? func_verify(f, &at) : NULL;
        snprintf(what, sizeof what, "%s is %s, expected %s%s%s", types[i].expression, found,
                 types[i].expected, wrong ? "; " : "", wrong ? wrong : "");
        if (strcmp(found, types[i].expected) != 0 || wrong)
            test_fail(__FILE__, __LINE__, what);
        world_free(&t.w);
    }
}

/* -- kernels as IR -- */
/* clang-format off */

TEST(vector_add)
{
    CHECK_BARE_IR(
        "@jit\n"
        "def k(X, Y, Z, N):\n"
        "   pid = program_id(0)\n"
        "   # block of indices\n"
        "   idx= pid * 512 + arange(512)\n"
        "   mask = idx < N\n"
        "   x = load(X + idx, mask=mask)\n"
        "   y = load(Y + idx, mask=mask)\n"
        "   store(Z + idx, x + y, mask=mask)\n",
        "*fp32:16, *fp32:16, *fp32:16, i32",
        "kernel @k(%X: ptr<f32> {divisible=16}, %Y: ptr<f32> {divisible=16}, %Z: ptr<f32> {divisible=16}, %N: i32) warps=4 stages=3 target=sm_90a degree=traced {\n"
        "  %pid = program_id axis=0 : i32\n"
        "  %const = const value=512 : i32\n"
        "  %mul = mul %pid, %const : i32\n"
        "  %range = range start=0 end=512 : tile<512xi32>\n"
        "  %splat = splat %mul : tile<512xi32>\n"
        "  %idx = add %splat, %range : tile<512xi32>\n"
        "  %splat.1 = splat %N : tile<512xi32>\n"
        "  %mask = cmp %idx, %splat.1 pred=slt : tile<512xi1>\n"
        "  %splat.2 = splat %X : tile<512xptr<f32>>\n"
        "  %addptr = addptr %splat.2, %idx : tile<512xptr<f32>>\n"
        "  %x = load %addptr, %mask : tile<512xf32>\n"
        "  %splat.3 = splat %Y : tile<512xptr<f32>>\n"
        "  %addptr.1 = addptr %splat.3, %idx : tile<512xptr<f32>>\n"
        "  %y = load %addptr.1, %mask : tile<512xf32>\n"
        "  %splat.4 = splat %Z : tile<512xptr<f32>>\n"
        "  %addptr.2 = addptr %splat.4, %idx : tile<512xptr<f32>>\n"
        "  %add = add %x, %y : tile<512xf32>\n"
        "  store %addptr.2, %add, %mask\n"
        "  return\n"
        "}\n");
}

TEST(fused_softmax)
{
    CHECK_IR(
        "@triton.jit\n"
        "def k(Y, stride_ym, stride_yn, X, stride_xm, stride_xn, M, N):\n"
        "    # row index\n"
        "    m = tl.program_id(0)\n"
        "    # col indices\n"
        "    # this specific kernel only works for matrices that \n"
        "    # have less than BLOCK_SIZE columns\n"
        "    BLOCK_SIZE = 1024\n"
        "    n = tl.arange(0, BLOCK_SIZE)\n"
        "    # the memory address of all the elements\n"
        "    # that we want to load can be computed as follows\n"
        "    X = X + m * stride_xm + n * stride_xn\n"
        "    # load input data; pad out-of-bounds elements with 0 \n"
        "    x = tl.load(X, mask=n < N, other=-float('inf'))\n"
        "    # compute numerically-stable softmax\n"
        "    z = x - tl.max(x, axis=0)\n"
        "    num = tl.exp(z)\n"
        "    denom = tl.sum(num, axis=0)\n"
        "    y = num / denom\n"
        "    # write back to Y\n"
        "    Y = Y + m * stride_ym + n * stride_yn\n"
        "    tl.store(Y, y, mask=n < N)\n",
        "*fp32:16, i32, i32:1, *fp32:16, i32, i32:1, i32, i32",
        "kernel @k(%Y: ptr<f32> {divisible=16}, %stride_ym: i32, %X: ptr<f32> {divisible=16}, %stride_xm: i32, %M: i32, %N: i32) warps=4 stages=3 target=sm_90a degree=traced {\n"
        "  %m = program_id axis=0 : i32\n"
        "  %BLOCK_SIZE = const value=1024 : i32\n"
        "  %n = range start=0 end=1024 : tile<1024xi32>\n"
        "  %mul = mul %m, %stride_xm : i32\n"
        "  %addptr = addptr %X, %mul : ptr<f32>\n"
        "  %const = const value=1 : tile<1024xi32>\n"
        "  %mul.1 = mul %n, %const : tile<1024xi32>\n"
        "  %splat = splat %addptr : tile<1024xptr<f32>>\n"
        "  %X.1 = addptr %splat, %mul.1 : tile<1024xptr<f32>>\n"
        "  %splat.1 = splat %N : tile<1024xi32>\n"
        "  %cmp = cmp %n, %splat.1 pred=slt : tile<1024xi1>\n"
        "  %const.1 = const value=-inf : f32\n"
        "  %const.2 = const value=-inf : tile<1024xf32>\n"
        "  %x = load %X.1, %cmp, %const.2 : tile<1024xf32>\n"
        "  %reduce = reduce %x axis=0 : f32 (%a: f32, %b: f32) {\n"
        "    %max = max %a, %b : f32\n"
        "    yield %max\n"
        "  }\n"
        "  %splat.2 = splat %reduce : tile<1024xf32>\n"
        "  %z = sub %x, %splat.2 : tile<1024xf32>\n"
        "  %num = exp %z : tile<1024xf32>\n"
        "  %denom = reduce %num axis=0 : f32 (%a.1: f32, %b.1: f32) {\n"
        "    %add = add %a.1, %b.1 : f32\n"
        "    yield %add\n"
        "  }\n"
        "  %splat.3 = splat %denom : tile<1024xf32>\n"
        "  %y = fdiv %num, %splat.3 : tile<1024xf32>\n"
        "  %mul.2 = mul %m, %stride_ym : i32\n"
        "  %addptr.1 = addptr %Y, %mul.2 : ptr<f32>\n"
        "  %const.3 = const value=1 : tile<1024xi32>\n"
        "  %mul.3 = mul %n, %const.3 : tile<1024xi32>\n"
        "  %splat.4 = splat %addptr.1 : tile<1024xptr<f32>>\n"
        "  %Y.1 = addptr %splat.4, %mul.3 : tile<1024xptr<f32>>\n"
        "  %splat.5 = splat %N : tile<1024xi32>\n"
        "  %cmp.1 = cmp %n, %splat.5 pred=slt : tile<1024xi1>\n"
        "  store %Y.1, %y, %cmp.1\n"
        "  return\n"
        "}\n");
}

TEST(loop_carries_what_changes)
{
    CHECK_IR(
        "@triton.jit\n"
        "def k(x, n, m):\n"
        "    total = 0.0\n"
        "    same = m * 2\n"
        "    for i in range(0, n, 4):\n"
        "        total += tl.load(x + i * same)\n"
        "        kept = same\n"
        "        same = kept\n"
        "    tl.store(x, total)\n",
        "*fp32, i32, i32",
        "kernel @k(%x: ptr<f32>, %n: i32, %m: i32) warps=4 stages=3 target=sm_90a degree=traced {\n"
        "  %total = const value=0.0 : f32\n"
        "  %const = const value=2 : i32\n"
        "  %same = mul %m, %const : i32\n"
        "  %const.1 = const value=0 : i32\n"
        "  %const.2 = const value=4 : i32\n"
        "  %total.3 = for %i = %const.1 to %n step %const.2 carry(%total.1 = %total) : f32 {\n"
        "    %mul = mul %i, %same : i32\n"
        "    %addptr = addptr %x, %mul : ptr<f32>\n"
        "    %load = load %addptr : f32\n"
        "    %total.2 = add %total.1, %load : f32\n"
        "    yield %total.2\n"
        "  }\n"
        "  store %x, %total.3\n"
        "  return\n"
        "}\n");
}

TEST(loop_downwards_with_a_constant_local)
{
    CHECK_IR(
        "@triton.jit\n"
        "def k(x, n):\n"
        "    STEP = 8\n"
        "    p = x\n"
        "    for i in range(n, 0, -STEP):\n"
        "        tl.store(p, 0.0)\n"
        "        p += STEP\n",
        "*fp32, i32",
        "kernel @k(%x: ptr<f32>, %n: i32) warps=4 stages=3 target=sm_90a degree=traced {\n"
        "  %STEP = const value=8 : i32\n"
        "  %const = const value=-8 : i32\n"
        "  %const.1 = const value=0 : i32\n"
        "  %p.2 = for %i = %n to %const.1 step %const carry(%p = %x) : ptr<f32> {\n"
        "    %const.2 = const value=0.0 : f32\n"
        "    store %p, %const.2\n"
        "    %p.1 = addptr %p, %STEP : ptr<f32>\n"
        "    yield %p.1\n"
        "  }\n"
        "  return\n"
        "}\n");
}

TEST(argument_of_one_becomes_a_tensor)
{
    CHECK_IR(
        "@triton.jit\n"
        "def k(x, n, s):\n"
        "    for i in range(n):\n"
        "        s = s + i\n"
        "    tl.store(x, s)\n",
        "*i32, i32, i32:1",
        "kernel @k(%x: ptr<i32>, %n: i32) warps=4 stages=3 target=sm_90a degree=traced {\n"
        "  %const = const value=0 : i32\n"
        "  %const.1 = const value=1 : i32\n"
        "  %const.3 = const value=1 : i32\n"
        "  %s.3 = for %i.1 = %const to %n step %const.1 carry(%s.1 = %const.3) : i32 {\n"
        "    %s.2 = add %s.1, %i.1 : i32\n"
        "    yield %s.2\n"
        "  }\n"
        "  store %x, %s.3\n"
        "  return\n"
        "}\n");
}

TEST(if_joins_names)
{
    CHECK_IR(
        "@triton.jit\n"
        "def k(x, n):\n"
        "    y = 1.0\n"
        "    if n > 4:\n"
        "        y = 2.0\n"
        "        z = n\n"
        "    else:\n"
        "        z = n + 1\n"
        "    tl.store(x + z, y)\n",
        "*fp32, i32",
        "kernel @k(%x: ptr<f32>, %n: i32) warps=4 stages=3 target=sm_90a degree=traced {\n"
        "  %y = const value=1.0 : f32\n"
        "  %const = const value=4 : i32\n"
        "  %cmp = cmp %n, %const pred=sgt : i1\n"
        "  %y.2, %z.1 = if %cmp : f32, i32 {\n"
        "    %y.1 = const value=2.0 : f32\n"
        "    yield %y.1, %n\n"
        "  } else {\n"
        "    %const.1 = const value=1 : i32\n"
        "    %z = add %n, %const.1 : i32\n"
        "    yield %y, %z\n"
        "  }\n"
        "  %addptr = addptr %x, %z.1 : ptr<f32>\n"
        "  store %addptr, %y.2\n"
        "  return\n"
        "}\n");
}

TEST(early_return)
{
    CHECK_IR(
        "@triton.jit\n"
        "def k(x, n):\n"
        "    if n > 4:\n"
        "        if n > 8:\n"
        "            return\n"
        "        tl.store(x, 1.0)\n"
        "    tl.store(x + 1, 2.0)\n",
        "*fp32, i32",
        "kernel @k(%x: ptr<f32>, %n: i32) warps=4 stages=3 target=sm_90a degree=traced {\n"
        "  %const = const value=4 : i32\n"
        "  %cmp = cmp %n, %const pred=sgt : i1\n"
        "  if %cmp {\n"
        "    %const.1 = const value=8 : i32\n"
        "    %cmp.1 = cmp %n, %const.1 pred=sgt : i1\n"
        "    if %cmp.1 {\n"
        "      return\n"
        "    } else {\n"
        "      yield\n"
        "    }\n"
        "    %const.2 = const value=1.0 : f32\n"
        "    store %x, %const.2\n"
        "    yield\n"
        "  } else {\n"
        "    yield\n"
        "  }\n"
        "  %const.3 = const value=1 : i32\n"
        "  %addptr = addptr %x, %const.3 : ptr<f32>\n"
        "  %const.4 = const value=2.0 : f32\n"
        "  store %addptr, %const.4\n"
        "  return\n"
        "}\n");
}

TEST(helper_returns_in_a_branch)
{
    CHECK_IR(
        "@triton.jit\n"
        "def sign(v):\n"
        "    if v > 0.0:\n"
        "        return 1.0\n"
        "    w = -v\n"
        "    if w > 0.0:\n"
        "        return -1.0\n"
        "    return 0.0 * w\n"
        "@triton.jit\n"
        "def k(x, n):\n"
        "    tl.store(x, sign(tl.load(x)))\n",
        "*fp32, i32",
        "kernel @k(%x: ptr<f32>, %n: i32) warps=4 stages=3 target=sm_90a degree=traced {\n"
        "  %load = load %x : f32\n"
        "  %const = const value=0.0 : f32\n"
        "  %cmp = cmp %load, %const pred=gt : i1\n"
        "  %if.1 = if %cmp : f32 {\n"
        "    %const.4 = const value=1.0 : f32\n"
        "    yield %const.4\n"
        "  } else {\n"
        "    %w = neg %load : f32\n"
        "    %const.1 = const value=0.0 : f32\n"
        "    %cmp.1 = cmp %w, %const.1 pred=gt : i1\n"
        "    %if = if %cmp.1 : f32 {\n"
        "      %const.3 = const value=-1.0 : f32\n"
        "      yield %const.3\n"
        "    } else {\n"
        "      %const.2 = const value=0.0 : f32\n"
        "      %mul = mul %const.2, %w : f32\n"
        "      yield %mul\n"
        "    }\n"
        "    yield %if\n"
        "  }\n"
        "  store %x, %if.1\n"
        "  return\n"
        "}\n");
}

TEST(helper_may_have_returned)
{
    CHECK_IR(
        "@triton.jit\n"
        "def pick(a, b):\n"
        "    c = a\n"
        "    if a > 0:\n"
        "        if b > 0:\n"
        "            return a\n"
        "        c = b\n"
        "    return c * 2\n"
        "@triton.jit\n"
        "def k(x, n):\n"
        "    tl.store(x, pick(n, n + 1))\n",
        "*fp32, i32",
        "kernel @k(%x: ptr<f32>, %n: i32) warps=4 stages=3 target=sm_90a degree=traced {\n"
        "  %const = const value=1 : i32\n"
        "  %c = add %n, %const : i32\n"
        "  %const.1 = const value=0 : i32\n"
        "  %cmp = cmp %n, %const.1 pred=sgt : i1\n"
        "  %if.2, %if.3, %c.2 = if %cmp : i1, i32, i32 {\n"
        "    %const.2 = const value=0 : i32\n"
        "    %cmp.1 = cmp %c, %const.2 pred=sgt : i1\n"
        "    %if, %if.1, %c.1 = if %cmp.1 : i1, i32, i32 {\n"
        "      %const.3 = const value=1 : i1\n"
        "      %const.6 = const value=0 : i32\n"
        "      yield %const.3, %n, %const.6\n"
        "    } else {\n"
        "      %const.4 = const value=0 : i1\n"
        "      %const.5 = const value=0 : i32\n"
        "      yield %const.4, %const.5, %c\n"
        "    }\n"
        "    yield %if, %if.1, %c.1\n"
        "  } else {\n"
        "    %const.7 = const value=0 : i1\n"
        "    %const.8 = const value=0 : i32\n"
        "    yield %const.7, %const.8, %n\n"
        "  }\n"
        "  %if.4 = if %if.2 : i32 {\n"
        "    yield %if.3\n"
        "  } else {\n"
        "    %const.9 = const value=2 : i32\n"
        "    %mul = mul %c.2, %const.9 : i32\n"
        "    yield %mul\n"
        "  }\n"
        "  %stof = stof %if.4 : f32\n"
        "  store %x, %stof\n"
        "  return\n"
        "}\n");
}

TEST(while_loop)
{
    CHECK_IR(
        "@triton.jit\n"
        "def k(x, n):\n"
        "    i = 0\n"
        "    while i < n:\n"
        "        tl.store(x + i, 0.0)\n"
        "        i += 2\n",
        "*fp32, i32",
        "kernel @k(%x: ptr<f32>, %n: i32) warps=4 stages=3 target=sm_90a degree=traced {\n"
        "  %i = const value=0 : i32\n"
        "  %i.4 = while carry(%i.1 = %i) : i32 {\n"
        "    %cmp = cmp %i.1, %n pred=slt : i1\n"
        "    condition %cmp, %i.1\n"
        "  } do (%i.2) {\n"
        "    %addptr = addptr %x, %i.2 : ptr<f32>\n"
        "    %const = const value=0.0 : f32\n"
        "    store %addptr, %const\n"
        "    %const.1 = const value=2 : i32\n"
        "    %i.3 = add %i.2, %const.1 : i32\n"
        "    yield %i.3\n"
        "  }\n"
        "  return\n"
        "}\n");
}

TEST(static_range_and_constants)
{
    CHECK_IR(
        "@triton.jit\n"
        "def k(x, B: tl.constexpr, other):\n"
        "    acc = tl.zeros([B], tl.float32)\n"
        "    for i in tl.static_range(2):\n"
        "        acc += tl.load(x + i * B + tl.arange(0, B))\n"
        "    if other is not None:\n"
        "        acc += tl.load(other)\n"
        "    tl.store(x + tl.arange(0, B), acc)\n",
        "*fp32, =64, =None",
        "kernel @k(%x: ptr<f32>) warps=4 stages=3 target=sm_90a degree=traced {\n"
        "  %acc = const value=0.0 : tile<64xf32>\n"
        "  %const = const value=0 : i32\n"
        "  %addptr = addptr %x, %const : ptr<f32>\n"
        "  %range = range start=0 end=64 : tile<64xi32>\n"
        "  %splat = splat %addptr : tile<64xptr<f32>>\n"
        "  %addptr.1 = addptr %splat, %range : tile<64xptr<f32>>\n"
        "  %load = load %addptr.1 : tile<64xf32>\n"
        "  %acc.1 = add %acc, %load : tile<64xf32>\n"
        "  %const.1 = const value=64 : i32\n"
        "  %addptr.2 = addptr %x, %const.1 : ptr<f32>\n"
        "  %range.1 = range start=0 end=64 : tile<64xi32>\n"
        "  %splat.1 = splat %addptr.2 : tile<64xptr<f32>>\n"
        "  %addptr.3 = addptr %splat.1, %range.1 : tile<64xptr<f32>>\n"
        "  %load.1 = load %addptr.3 : tile<64xf32>\n"
        "  %acc.2 = add %acc.1, %load.1 : tile<64xf32>\n"
        "  %range.2 = range start=0 end=64 : tile<64xi32>\n"
        "  %splat.2 = splat %x : tile<64xptr<f32>>\n"
        "  %addptr.4 = addptr %splat.2, %range.2 : tile<64xptr<f32>>\n"
        "  store %addptr.4, %acc.2\n"
        "  return\n"
        "}\n");
}

TEST(sum_of_rows)
{
    CHECK_IR(
        "@triton.jit\n"
        "def k(x, y, B: tl.constexpr):\n"
        "    rows = tl.arange(0, B)\n"
        "    cols = tl.arange(0, B)\n"
        "    a = tl.load(x + rows[:, None] * B + cols[None, :]).to(tl.float32)\n"
        "    tl.store(y + rows, tl.sum(a, axis=1))\n",
        "*fp16, *fp32, =16",
        "kernel @k(%x: ptr<f16>, %y: ptr<f32>) warps=4 stages=3 target=sm_90a degree=traced {\n"
        "  %rows = range start=0 end=16 : tile<16xi32>\n"
        "  %cols = range start=0 end=16 : tile<16xi32>\n"
        "  %expand_dims = expand_dims %rows axis=1 : tile<16x1xi32>\n"
        "  %const = const value=16 : tile<16x1xi32>\n"
        "  %mul = mul %expand_dims, %const : tile<16x1xi32>\n"
        "  %splat = splat %x : tile<16x1xptr<f16>>\n"
        "  %addptr = addptr %splat, %mul : tile<16x1xptr<f16>>\n"
        "  %expand_dims.1 = expand_dims %cols axis=0 : tile<1x16xi32>\n"
        "  %broadcast = broadcast %addptr : tile<16x16xptr<f16>>\n"
        "  %broadcast.1 = broadcast %expand_dims.1 : tile<16x16xi32>\n"
        "  %addptr.1 = addptr %broadcast, %broadcast.1 : tile<16x16xptr<f16>>\n"
        "  %load = load %addptr.1 : tile<16x16xf16>\n"
        "  %a = fext %load : tile<16x16xf32>\n"
        "  %splat.1 = splat %y : tile<16xptr<f32>>\n"
        "  %addptr.2 = addptr %splat.1, %rows : tile<16xptr<f32>>\n"
        "  %reduce = reduce %a axis=1 : tile<16xf32> (%a.1: f32, %b: f32) {\n"
        "    %add = add %a.1, %b : f32\n"
        "    yield %add\n"
        "  }\n"
        "  store %addptr.2, %reduce\n"
        "  return\n"
        "}\n");
}

TEST(meta_dialect)
{
    CHECK_BARE_IR(
        "@jit\n"
        "def k(A, N, **META):\n"
        "    BLOCK = META['BLOCK']\n"
        "    n = arange(0, BLOCK)\n"
        "    for i in range(N, 0, -BLOCK):\n"
        "        a = load(A + n)\n"
        "        store(A + n, a)\n"
        "        A += BLOCK\n",
        "*fp16, i32, BLOCK=64",
        "kernel @k(%A: ptr<f16>, %N: i32) warps=4 stages=3 target=sm_90a degree=traced {\n"
        "  %BLOCK = const value=64 : i32\n"
        "  %n = range start=0 end=64 : tile<64xi32>\n"
        "  %const = const value=-64 : i32\n"
        "  %const.1 = const value=0 : i32\n"
        "  %A.3 = for %i = %N to %const.1 step %const carry(%A.1 = %A) : ptr<f16> {\n"
        "    %splat = splat %A.1 : tile<64xptr<f16>>\n"
        "    %addptr = addptr %splat, %n : tile<64xptr<f16>>\n"
        "    %a = load %addptr : tile<64xf16>\n"
        "    %splat.1 = splat %A.1 : tile<64xptr<f16>>\n"
        "    %addptr.1 = addptr %splat.1, %n : tile<64xptr<f16>>\n"
        "    store %addptr.1, %a\n"
        "    %A.2 = addptr %A.1, %BLOCK : ptr<f16>\n"
        "    yield %A.2\n"
        "  }\n"
        "  return\n"
        "}\n");
}

TEST(tuples_swap_and_conditional_expressions)
{
    CHECK_IR(
        "@triton.jit\n"
        "def k(x, a, b):\n"
        "    a, b = b, a\n"
        "    c = a if a < b else b\n"
        "    tl.store(x, c - 1 if b > 3 and a > 2 else 7)\n",
        "*i32, i32, i32",
        "kernel @k(%x: ptr<i32>, %a: i32, %b: i32) warps=4 stages=3 target=sm_90a degree=traced {\n"
        "  %cmp = cmp %b, %a pred=slt : i1\n"
        "  %c = select %cmp, %b, %a : i32\n"
        "  %const = const value=3 : i32\n"
        "  %cmp.1 = cmp %a, %const pred=sgt : i1\n"
        "  %const.1 = const value=2 : i32\n"
        "  %cmp.2 = cmp %b, %const.1 pred=sgt : i1\n"
        "  %and = and %cmp.1, %cmp.2 : i1\n"
        "  %if = if %and : i32 {\n"
        "    %const.2 = const value=1 : i32\n"
        "    %sub = sub %c, %const.2 : i32\n"
        "    yield %sub\n"
        "  } else {\n"
        "    %const.3 = const value=7 : i32\n"
        "    yield %const.3\n"
        "  }\n"
        "  store %x, %if\n"
        "  return\n"
        "}\n");
}

TEST(bool_memory)
{
    CHECK_IR(
        "@triton.jit\n"
        "def k(x, y):\n"
        "    i = tl.arange(0, 4)\n"
        "    tl.store(x + i, tl.load(x + i, i < 2, other=True) | (i > 1))\n",
        "*i1, *i32",
        "kernel @k(%x: ptr<i1>, %y: ptr<i32>) warps=4 stages=3 target=sm_90a degree=traced {\n"
        "  %i = range start=0 end=4 : tile<4xi32>\n"
        "  %splat = splat %x : tile<4xptr<i1>>\n"
        "  %addptr = addptr %splat, %i : tile<4xptr<i1>>\n"
        "  %splat.1 = splat %x : tile<4xptr<i1>>\n"
        "  %addptr.1 = addptr %splat.1, %i : tile<4xptr<i1>>\n"
        "  %const = const value=2 : tile<4xi32>\n"
        "  %cmp = cmp %i, %const pred=slt : tile<4xi1>\n"
        "  %bitcast = bitcast %addptr.1 : tile<4xptr<i8>>\n"
        "  %const.1 = const value=1 : i1\n"
        "  %zext = zext %const.1 : i8\n"
        "  %splat.2 = splat %zext : tile<4xi8>\n"
        "  %load = load %bitcast, %cmp, %splat.2 : tile<4xi8>\n"
        "  %const.2 = const value=0 : tile<4xi8>\n"
        "  %cmp.1 = cmp %load, %const.2 pred=ne : tile<4xi1>\n"
        "  %const.3 = const value=1 : tile<4xi32>\n"
        "  %cmp.2 = cmp %i, %const.3 pred=sgt : tile<4xi1>\n"
        "  %or = or %cmp.1, %cmp.2 : tile<4xi1>\n"
        "  %bitcast.1 = bitcast %addptr : tile<4xptr<i8>>\n"
        "  %zext.1 = zext %or : tile<4xi8>\n"
        "  store %bitcast.1, %zext.1\n"
        "  return\n"
        "}\n");
}

TEST(unsigned_offsets)
{
    CHECK_IR(
        "@triton.jit\n"
        "def k(x, a, b):\n"
        "    tl.store(x + a - b, 1.0)\n",
        "*fp32, u32, u8",
        "kernel @k(%x: ptr<f32>, %a: i32 {unsigned}, %b: i8 {unsigned}) warps=4 stages=3 target=sm_90a degree=traced {\n"
        "  %zext = zext %a : i64\n"
        "  %addptr = addptr %x, %zext : ptr<f32>\n"
        "  %zext.1 = zext %b : i64\n"
        "  %neg = neg %zext.1 : i64\n"
        "  %addptr.1 = addptr %addptr, %neg : ptr<f32>\n"
        "  %const = const value=1.0 : f32\n"
        "  store %addptr.1, %const\n"
        "  return\n"
        "}\n");
}

