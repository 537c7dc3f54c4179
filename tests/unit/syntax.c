/* SPDX-License-Identifier: MIT */
/* syntax.c: tests tokens and grammar: the printed syntax trees, the source positions of nodes, and the positions of
 * errors. */
#include "frontend/python/ast.h"
#include "tests/unit/test.h"
#include "tests/unit/world.h"

/* -- helpers -- */

/* A source text, its syntax tree and its diagnostics. */
struct parsed {
    struct world w;
    struct interner strings;
    struct source *src;
    struct ast *tree;
};

static void parse(struct parsed *p, const char *text, size_t len)
{
    world_init(&p->w);
    interner_init(&p->strings, &p->w.arena);
    p->src = diag_add_source(&p->w.diag, "t.py", text, len);
    p->tree = parse_module(&p->w.arena, &p->strings, &p->w.diag, p->src);
}

/* Removes source positions such as @3:14+5. */
static void drop_places(struct text *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->len; i++) {
        if (t->s[i] == '@' && i + 1 < t->len && t->s[i + 1] >= '0' && t->s[i + 1] <= '9')
            i += 1 + strspn(t->s + i + 1, "0123456789:+");
        if (i < t->len)
            t->s[kept++] = t->s[i];
    }
    t->s[kept] = 0;
    t->len = kept;
}

/* Checks the printed tree of an expression, without positions, or its errors. */
static void check_expr(const char *file, int line, const char *source, const char *expected)
{
    struct parsed p;
    parse(&p, source, strlen(source));
    struct text out;
    text_init(&out, &p.w.arena);
    if (p.w.diag.nerrors == 0 && p.tree->module.body.n == 1 && p.tree->module.body.at[0]->kind == AST_eval)
        ast_print(p.tree->module.body.at[0]->eval.value, &out);
    diag_render_all(&p.w.diag, &out);
    drop_places(&out);
    if (out.len > 0 && out.s[out.len - 1] == '\n')
        out.s[--out.len] = 0;
    test_str(file, line, out.s, expected);
    world_free(&p.w);
}
#define EXPR(source, expected) check_expr(__FILE__, __LINE__, (source), (expected))

/* Checks the printed tree of a file, with or without positions. */
static void check_file(const char *file, int line, const char *source, bool places, const char *expected)
{
    struct parsed p;
    parse(&p, source, strlen(source));
    struct text out;
    text_init(&out, &p.w.arena);
    ast_print(p.tree, &out);
    diag_render_all(&p.w.diag, &out);
    if (!places)
        drop_places(&out);
    test_str(file, line, out.s, expected);
    world_free(&p.w);
}
#define FILE_IS(source, expected) check_file(__FILE__, __LINE__, (source), false, (expected))
#define PLACES(source, expected) check_file(__FILE__, __LINE__, (source), true, (expected))

/* Compares the errors with `expected`, which has "line:column message" for each error, without source lines. */
static void check_errors(const char *file, int line, const char *source, size_t len, const char *expected)
{
    struct parsed p;
    parse(&p, source, len);
    struct text out;
    text_init(&out, &p.w.arena);
    for (int i = 0; i < p.w.diag.list.n; i++) {
        const struct diagnostic *x = &p.w.diag.list.at[i];
        text_printf(&out, "%s%u:%u %s", i ? "; " : "", (unsigned)x->loc.line, (unsigned)x->loc.col,
                    x->message);
    }
    test_str(file, line, out.s, expected);
    world_free(&p.w);
}
#define ERRORS(source, expected) check_errors(__FILE__, __LINE__, (source), strlen(source), (expected))
#define ERRORS_IN(source, expected) check_errors(__FILE__, __LINE__, (source), sizeof(source) - 1, (expected))

/* -- expressions -- */

TEST(precedence)
{
    EXPR("a + b * c", "(binary (name a) + (binary (name b) * (name c)))");
    EXPR("a - b - c", "(binary (binary (name a) - (name b)) - (name c))");
    EXPR("a ** b ** c", "(binary (name a) ** (binary (name b) ** (name c)))");
    EXPR("-a ** -b", "(unary - (binary (name a) ** (unary - (name b))))");
    EXPR("a | b ^ c & d << e + f * g",
         "(binary (name a) | (binary (name b) ^ (binary (name c) & (binary (name d) << (binary (name e) + "
         "(binary (name f) * (name g)))))))");
    EXPR("a % b @ c // d", "(binary (binary (binary (name a) % (name b)) @ (name c)) // (name d))");
    EXPR("(a < b) & c", "(binary (compare (name a) [(link < (name b))]) & (name c))");
    EXPR("not a in b or c and d", "(boolean or [(unary not (compare (name a) [(link in (name b))])) (boolean "
                                  "and [(name c) (name d)])])");
    EXPR("a and b and c", "(boolean and [(name a) (name b) (name c)])");
    EXPR("a < b <= c is not d not in e", "(compare (name a) [(link < (name b)) (link <= (name c)) (link is "
                                         "not (name d)) (link not in (name e))])");
    EXPR("a if b else c if d else e",
         "(conditional (name a) (name b) (conditional (name c) (name d) (name e)))");
    EXPR("~-+a", "(unary ~ (unary - (unary + (name a))))");
    EXPR("await_", "(name await_)");
}

TEST(calls_and_elements)
{
    EXPR("f(a, *b, c=1, **d)",
         "(call (name f) [(name a) (starred (name b)) (keyword c (int 1)) (keyword _ (name d))])");
    EXPR("f(x for x in y)",
         "(call (name f) [(comprehension generator (name x) [(clause (name x) (name y) [])])])");
    EXPR("k[grid](x, BLOCK=1024)",
         "(call (subscript (name k) (name grid)) [(name x) (keyword BLOCK (int 1024))])");
    EXPR("a.b.c[0]", "(subscript (attribute (attribute (name a) b) c) (int 0))");
    EXPR("x[:, None]", "(subscript (name x) (tuple [(slice _ _ _) (none)]))");
    EXPR("x[1:2:3, ..., ::n]",
         "(subscript (name x) (tuple [(slice (int 1) (int 2) (int 3)) (ellipsis) (slice _ _ (name n))]))");
    EXPR("x[a,]", "(subscript (name x) (tuple [(name a)]))");
    EXPR("(y := f(x))", "(walrus (name y) (call (name f) [(name x)]))");
}

TEST(displays)
{
    EXPR("()", "(tuple [])");
    EXPR("(a)", "(name a)");
    EXPR("(a,)", "(tuple [(name a)])");
    EXPR("a, *b", "(tuple [(name a) (starred (name b))])");
    EXPR("[a, *b,]", "(list [(name a) (starred (name b))])");
    EXPR("{}", "(dict [])");
    EXPR("{a: b, **c}", "(dict [(pair (name a) (name b)) (pair _ (name c))])");
    EXPR("{a, b}", "(set [(name a) (name b)])");
    EXPR("[x for a, b in y if a if b for x in a]",
         "(comprehension list (name x) [(clause (tuple [(name a) (name b)]) (name y) [(name a) (name b)]) "
         "(clause (name x) (name a) [])])");
    EXPR("{k: v for k in x}",
         "(comprehension dict (pair (name k) (name v)) [(clause (name k) (name x) [])])");
    EXPR("{k for k in x}", "(comprehension set (name k) [(clause (name k) (name x) [])])");
    EXPR("lambda x, /, y=1, *, z, **k: x", "(lambda [(param positional x _ _) (param plain y _ (int 1)) "
                                           "(param keyword z _ _) (param kwargs k _ _)] "
                                           "(name x))");
    EXPR("lambda: 0", "(lambda [] (int 0))");
}

TEST(numbers)
{
    EXPR("0xFFFF", "(int 65535)");
    EXPR("0b1_01", "(int 5)");
    EXPR("0o17", "(int 15)");
    EXPR("1_000", "(int 1000)");
    EXPR("00", "(int 0)");
    EXPR("340282366920938463463374607431768211455", "(int 0xffffffffffffffffffffffffffffffff)");
    EXPR("1.", "(float 1.0)");
    EXPR(".5", "(float 0.5)");
    EXPR("1e-6", "(float 1e-06)");
    EXPR("1.0E6", "(float 1000000.0)");
    EXPR("1_0.2_5", "(float 10.25)");
    EXPR("0777.", "(float 777.0)");
    EXPR("2j", "(imaginary 2.0)");
    EXPR("1if x else 2", "(conditional (int 1) (name x) (int 2))");
    ERRORS("340282366920938463463374607431768211456", "1:1 integer literal does not fit in 128 bits");
    ERRORS("x = 012",
           "1:5 leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal "
           "integers");
    ERRORS("0x", "1:1 invalid hexadecimal literal '0x'");
    ERRORS("0o8", "1:1 invalid digit '8' in octal literal");
    ERRORS("0b12", "1:1 invalid digit '2' in binary literal");
    ERRORS("1__0", "1:1 invalid decimal literal '1__0'");
    ERRORS("1abc", "1:1 invalid decimal literal '1abc'");
}

TEST(strings)
{
    EXPR("'a' \"b\" '''c\n'''", "(str 'abc\\n')");
    EXPR("'\\n\\t\\x41\\101\\u00e9\\\\\\'\\q'", "(str '\\n\\x09AA\xc3\xa9\\\\\\'\\\\q')");
    EXPR("r'\\n\\''", "(str '\\\\n\\\\\\'')");
    EXPR("'a\\\nb'", "(str 'ab')");
    EXPR("'''a\r\nb'''", "(str 'a\\nb')");
    EXPR("b'\\xff'", "(bytes '\xff')");
    EXPR("u''", "(str '')");
    ERRORS("x = 'abc", "1:5 unterminated string literal");
    ERRORS("x = 1\ny = '''abc\n\n", "2:5 unterminated triple-quoted string literal");
    ERRORS("'ab\\xz'", "1:4 invalid escape: \\x needs two hexadecimal digits");
    ERRORS("'''\n  \\xz'''", "2:3 invalid escape: \\x needs two hexadecimal digits");
    ERRORS("'a' b'b'", "1:5 cannot mix bytes and nonbytes literals");
}

TEST(fstrings)
{
    EXPR("f'a{x}b'", "(fstring [(str 'a') (field (name x) 0 _) (str 'b')])");
    EXPR("f'{{}}'", "(fstring [(str '{}')])");
    EXPR("f''", "(fstring [])");
    EXPR("f'{x!r}'", "(fstring [(field (name x) 114 _)])");
    EXPR("f'{x = }'", "(fstring [(str 'x = ') (field (name x) 114 _)])");
    EXPR("f'{x=:5}'", "(fstring [(str 'x=') (field (name x) 0 (fstring [(str '5')]))])");
    EXPR(
        "f'{x:>{w}.{p}f}'",
        "(fstring [(field (name x) 0 (fstring [(str '>') (field (name w) 0 _) (str '.') (field (name p) 0 _) "
        "(str 'f')]))])");
    EXPR("f'{d[\"k\"]}' 'z'", "(fstring [(field (subscript (name d) (str 'k')) 0 _) (str 'z')])");
    EXPR("f'{d['k']}'", "(fstring [(field (subscript (name d) (str 'k')) 0 _)])");
    EXPR("f'{a != b}{ {1: 2}[1] }'", "(fstring [(field (compare (name a) [(link != (name b))]) 0 _) "
                                     "(field (subscript (dict [(pair (int 1) (int 2))]) (int 1)) 0 _)])");
    EXPR("f'{(lambda x: 1)}'", "(fstring [(field (lambda [(param plain x _ _)] (int 1)) 0 _)])");
    EXPR("rf'\\d{x}'", "(fstring [(str '\\\\d') (field (name x) 0 _)])");
    EXPR("f'''{\nx}'''", "(fstring [(field (name x) 0 _)])");
    ERRORS("f'{x'", "1:5 f-string: expecting '}'");
    ERRORS("f'a}'", "1:4 f-string: single '}' is not allowed; write '}}'");
    ERRORS("f'{}'", "1:4 f-string: expected an expression before '}'");
    ERRORS("f'{x!z}'", "1:6 f-string: invalid conversion character 'z': expected 's', 'r' or 'a'");
    ERRORS("f'{a b}'", "1:6 f-string: expecting '}'");
    ERRORS("f'abc", "1:1 unterminated string literal");
}

/* -- statements -- */

TEST(assignments)
{
    FILE_IS("a = b, c = d, *e = f()\n", "(module\n  body\n    (assign [(name a) (tuple [(name b) (name c)]) "
                                        "(tuple [(name d) (starred (name e))])] "
                                        "(call (name f) [])))\n");
    FILE_IS(
        "(a, [b]), x.y, z[0] = t\n",
        "(module\n  body\n    (assign [(tuple [(tuple [(name a) (list [(name b)])]) (attribute (name x) y) "
        "(subscript (name z) (int 0))])] (name t)))\n");
    FILE_IS("x //= 2; y: int; z: tl.constexpr = 4\n",
            "(module\n  body\n    (augmented (name x) // (int 2))\n    (annotated (name y) (name int) _)\n"
            "    (annotated (name z) (attribute (name tl) constexpr) (int 4)))\n");
}

TEST(compound_statements)
{
    FILE_IS(
        "if a: b\nelif c: d\nelse:\n    e\n",
        "(module\n  body\n    (if (name a)\n      body\n        (eval (name b))\n      orelse\n        (if "
        "(name c)\n"
        "          body\n            (eval (name d))\n          orelse\n            (eval (name e)))))\n");
    FILE_IS(
        "for i, in x:\n  break\nelse: pass\n",
        "(module\n  body\n    (for (tuple [(name i)]) (name x)\n      body\n        (break)\n      orelse\n"
        "        (pass)))\n");
    FILE_IS("try: a\nexcept (E, F) as e: b\nfinally: c\n",
            "(module\n  body\n    (try\n      body\n        (eval (name a)) [(except (tuple [(name E) (name "
            "F)]) e\n"
            "      body\n        (eval (name b)))]\n      final\n        (eval (name c))))\n");
    FILE_IS("with (a as b, c): pass\n",
            "(module\n  body\n    (with [(with_item (name a) (name b)) (with_item (name c) _)]\n      body\n"
            "        (pass)))\n");
    FILE_IS("from ..a.b import c as d, e\nimport f.g as h, i\nfrom . import *\n",
            "(module\n  body\n    (import_from 2 a.b [(alias c d) (alias e _)])\n"
            "    (import [(alias f.g h) (alias i _)])\n    (import_from 1 _ [(alias * _)]))\n");
}

TEST(definitions)
{
    FILE_IS(
        "@jit\n@a.b(c=1)\ndef f(x: 'tl.constexpr', *a, k=2) -> int: return x\n",
        "(module\n  body\n    (def [(name jit) (call (attribute (name a) b) [(keyword c (int 1))])] f "
        "[(param plain x (str 'tl.constexpr') _) (param args a _ _) (param keyword k _ (int 2))] (name int) "
        "15..65\n      body\n        (return (name x))))\n");
    FILE_IS("class A(B, m=C):\n    x: int\n",
            "(module\n  body\n    (class [] A [(name B) (keyword m (name C))]\n      body\n"
            "        (annotated (name x) (name int) _)))\n");
}

TEST(places)
{
    PLACES("x = aa + f(b)\n",
           "(module@1:1+0\n  body\n    (assign@1:1+13 [(name@1:1+1 x)] (binary@1:5+9 (name@1:5+2 aa) +@1:8 "
           "(call@1:10+4 (name@1:10+1 f) [(name@1:12+1 b)]))))\n");
    PLACES("(a +\n b).c\n", "(module@1:1+0\n  body\n    (eval@1:1+4 (attribute@1:1+4 (binary@1:2+3 "
                            "(name@1:2+1 a) +@1:4 (name@2:2+1 b)) "
                            "c@2:5)))\n");
}

TEST(text_of_a_definition)
{
    const char *source =
        "class A:\n    @jit\n    def f(x):  # why\n        y = x\n\n        return y  # end\n    z = 1\n";
    struct parsed p;
    parse(&p, source, strlen(source));
    struct text out;
    text_init(&out, &p.w.arena);
    ast_def_text(p.tree->module.body.at[0]->klass.body.at[0], p.src, &out);
    CHECK_STR(out.s, "def f(x):  # why\n    y = x\n\n    return y");
    world_free(&p.w);
}

/* -- lines -- */

TEST(layout_of_lines)
{
    FILE_IS("", "(module)\n");
    FILE_IS("\xef\xbb\xbfx", "(module\n  body\n    (eval (name x)))\n");
    FILE_IS("if x:\r\n\ty\r\n\r\n\t# \xc3\xa9\r\nz",
            "(module\n  body\n    (if (name x)\n      body\n        (eval (name y)))\n"
            "    (eval (name z)))\n");
    FILE_IS("x = (1,  # one\n\n  2)\n",
            "(module\n  body\n    (assign [(name x)] (tuple [(int 1) (int 2)])))\n");
    FILE_IS("x = 1 + \\\n  2\n", "(module\n  body\n    (assign [(name x)] (binary (int 1) + (int 2))))\n");
    FILE_IS("\xce\xb1\xce\xb2 = 1\n", "(module\n  body\n    (assign [(name \xce\xb1\xce\xb2)] (int 1)))\n");
    ERRORS("if x:\n        y\n\tz\n", "3:1 inconsistent use of tabs and spaces in indentation");
    ERRORS("if x:\n    y\n  z\n  w\n", "3:1 unindent does not match any outer indentation level");
    ERRORS("x\n  y\nz\n", "2:3 unexpected indent");
    ERRORS("if x:\ny\n", "2:1 expected an indented block after 'if' statement on line 1");
    ERRORS("x \\ y\n", "1:3 unexpected character after the line continuation '\\'");
    ERRORS_IN("x = 1\ny\0 = 2", "2:2 source code cannot contain a zero byte");
    ERRORS_IN("# \xff\n", "1:3 source code must be UTF-8; this byte (255) is not");
    ERRORS("x = \xe2\x80\x9cs\xe2\x80\x9d\n", "1:5 invalid character '\xe2\x80\x9c' (U+201C)");
}

/* -- errors -- */

TEST(brackets)
{
    ERRORS("x = f(1,\ny = 2\n", "1:6 '(' was never closed");
    ERRORS("x = [1, 2\ndef f(): pass\ny = = 1\n",
           "1:5 '[' was never closed; 3:5 expected an expression, found '='");
    ERRORS("x = f(1]\n", "1:8 closing ']' does not match opening '('; 1:6 '(' was opened here");
    ERRORS("x = 1)\n", "1:6 unmatched ')'");
    ERRORS("f(a b)\n", "1:5 invalid syntax; perhaps you forgot a comma?");
}

TEST(one_mistake_is_one_message)
{
    ERRORS("if x\n    y = 1\nelse:\n    z = 1\nw = 1\n", "1:5 expected ':', found the end of the line");
    ERRORS("def f(:\n    return 1\n", "1:6 '(' was never closed");
    ERRORS("match x:\n    case 1:\n        y = 1\nz = 1 +\n",
           "1:1 the match statement is not supported; 4:8 expected an "
           "expression, found the end of the line");
    ERRORS("x = 1 +; y = = 2\n", "1:8 expected an expression, found ';'");
}

TEST(targets)
{
    ERRORS("f() = 1\n", "1:1 cannot assign to function call here. Maybe you meant '==' instead of '='?");
    ERRORS("a, f() = 1\n", "1:4 cannot assign to function call");
    ERRORS("None = 1\n", "1:1 cannot assign to None");
    ERRORS("f() += 1\n", "1:1 function call is an illegal target for augmented assignment");
    ERRORS("if x = 1: pass\n", "1:6 invalid syntax; maybe you meant '==' or ':=' instead of '='?");
    ERRORS("*a, *b = c\n", "1:5 multiple starred expressions in assignment");
    ERRORS("for 1 in x: pass\n", "1:5 cannot assign to literal");
    ERRORS("del f()\n", "1:5 cannot delete function call");
    ERRORS("x.y := 1\n", "1:5 expected the end of the statement, found ':='");
    ERRORS("(x.y := 1)\n", "1:2 cannot use assignment expressions with attribute");
}

TEST(nesting_is_bounded)
{
    enum { LEVELS = 100000 };
    static const char *const openers[] = {
        "(", "[", "{", "-", "not ", "f(", "x[", "lambda: ", "x if y else ", "2**", "f'{"};
    static char source[LEVELS * 16];
    for (size_t i = 0; i < sizeof openers / sizeof *openers; i++) {
        size_t n = 0;
        for (int k = 0; k < LEVELS; k++) {
            memcpy(source + n, openers[i], strlen(openers[i]));
            n += strlen(openers[i]);
        }
        struct parsed p;
        parse(&p, source, n);
        CHECK_INT(p.w.diag.nerrors, 1);
        world_free(&p.w);
    }
}

TEST(height_is_bounded)
{
    enum { TERMS = 5000 };
    static char source[2 * TERMS];
    for (int i = 0; i < TERMS; i++)
        memcpy(source + 2 * i, "a+", 2);
    struct parsed p;
    parse(&p, source, 2 * TERMS - 1);
    CHECK_INT(p.w.diag.nerrors, 1);
    world_free(&p.w);
    parse(&p, source, 2 * 900 - 1);
    CHECK_INT(p.w.diag.nerrors, 0);
    CHECK_INT(p.tree->height, 902);
    world_free(&p.w);
}

TEST(children_in_order)
{
    const char *source = "f(a, k=b)[c:]";
    struct parsed p;
    parse(&p, source, strlen(source));
    struct ast_cursor at = {0};
    const struct ast *n = p.tree->module.body.at[0]->eval.value;
    CHECK(ast_child(n, &at) == n->subscript.value);
    CHECK(ast_child(n, &at) == n->subscript.index);
    CHECK(ast_child(n, &at) == NULL);
    at = (struct ast_cursor){0};
    int count = 0;
    while (ast_child(n->subscript.value, &at))
        count++;
    CHECK_INT(count, 3);
    world_free(&p.w);
}

TEST(one_expression)
{
    struct world w;
    world_init(&w);
    struct interner strings;
    interner_init(&strings, &w.arena);
    struct source *good = diag_add_source(&w.diag, "<eval>", " a + 1\n", 7);
    const struct ast *n = parse_expression(&w.arena, &strings, &w.diag, good);
    CHECK(n && n->kind == AST_binary);
    struct source *bad = diag_add_source(&w.diag, "<eval>", "a = 1", 5);
    CHECK(parse_expression(&w.arena, &strings, &w.diag, bad) == NULL);
    CHECK_INT(w.diag.nerrors, 1);
    world_free(&w);
}

/* -- programs -- */

/* The matrix multiplication in Triton's announcement. */
TEST(matmul)
{
    static const char source[] = "@triton.jit\n"
                                 "def matmul(A, B, C, M, N, K, stride_am, stride_ak, \n"
                                 "            stride_bk, stride_bn, stride_cm, stride_cn,\n"
                                 "            **META):\n"
                                 "    # extract metaparameters\n"
                                 "    BLOCK_M, GROUP_M = META['BLOCK_M'], META['GROUP_M']\n"
                                 "    _pid_m = tl.program_id(0)\n"
                                 "    pid_n = (_pid_n * GROUP_M) + (_pid_m % GROUP_M)\n"
                                 "    B = B + (rk [:, None] * stride_bk  + rn[None, :] * stride_bn)\n"
                                 "    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n"
                                 "    for k in range(K, 0, -BLOCK_K):\n"
                                 "        a = tl.load(A)\n"
                                 "        # block level matrix multiplication\n"
                                 "        acc += tl.dot(a, b)\n"
                                 "    # acc = tl.where(acc >= 0, acc, alpha * acc)\n"
                                 "    mask = (rm[:, None] < M) & (rn[None, :] < N)\n"
                                 "    tl.store(C, acc, mask=mask)\n";
    struct parsed p;
    parse(&p, source, sizeof source - 1);
    CHECK_INT(p.w.diag.nerrors, 0);
    const struct ast *def = p.tree->module.body.at[0];
    CHECK_INT(def->kind, AST_def);
    CHECK_INT(def->def.params.n, 13);
    CHECK_INT(def->def.params.at[12]->param.role, ROLE_kwargs);
    CHECK_INT(def->def.body.n, 8);
    CHECK_INT(def->def.text.start, 12);
    CHECK_INT(def->def.text.end, sizeof source - 2);
    world_free(&p.w);
}
