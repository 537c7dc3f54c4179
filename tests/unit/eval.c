/* SPDX-License-Identifier: MIT */
/* eval.c: tests statements, functions, classes and exceptions of host code; source positions of errors; and loading
 * without a host. */
#include "frontend/trace/lang.h"
#include "tests/unit/program.h"

TEST(errors_are_located)
{
    static const struct {
        const char *text, *output;
    } rows[] = {
        {"def inner(x):\n    return x + 'a'\ndef outer(y):\n    return inner(y) * "
         "2\nprint('start')\nouter(5)\n",
         "start\n"
         "t.py:2:14: error: TypeError: unsupported operand type(s) for +: 'int' and 'str' [operand-types]\n"
         "    2 |     return x + 'a'\n"
         "      |              ^\n"
         "t.py:4:12: note: in 'inner', called here\n"
         "t.py:6:1: note: in 'outer', called here\n"},
        {"value = 3\nprint(valu)\n", "t.py:2:7: error: NameError: name 'valu' is not defined [name]\n"
                                     "    2 | print(valu)\n"
                                     "      |       ^~~~\n"
                                     "hint: did you mean 'value'?\n"},
        {"def f(alpha, beta=2):\n    return alpha\nf(1, bta=3)\n",
         "t.py:3:10: error: TypeError: f() got an unexpected keyword argument 'bta' [unexpected-keyword]\n"
         "    3 | f(1, bta=3)\n"
         "      |          ^\n"
         "hint: did you mean 'beta'?\n"},
        {"def f(a, b): pass\nf(1)\n",
         "t.py:2:1: error: TypeError: f() missing 1 required positional argument: 'b' [missing-argument]\n"
         "    2 | f(1)\n"
         "      | ^~~~\n"
         "t.py:1:1: note: 'f' is defined here\n"},
        {"x = 1\nassert x == 2, f'x is {x}'\n", "t.py:2:1: error: AssertionError: x is 1 [exception]\n"
                                                "    2 | assert x == 2, f'x is {x}'\n"
                                                "      | ^~~~~~~~~~~~~~~~~~~~~~~~~~\n"},
        {"import math\nmath.sqroot(2)\n",
         "t.py:2:6: error: AttributeError: module 'math' has no attribute 'sqroot' [module-attribute]\n"
         "    2 | math.sqroot(2)\n"
         "      |      ^~~~~~\n"
         "hint: did you mean 'sqrt'?\n"},
        {"import torhc\n",
         "t.py:1:8: error: ModuleNotFoundError: No module named 'torhc' [no-module]\n"
         "    1 | import torhc\n"
         "      |        ^~~~~\n"
         "hint: if 'torhc' is a library, not a file in the program's folder: run the file under Python, with "
         "Triton\n"},
        {"2 ** 127\n", "t.py:1:3: error: OverflowError: the result needs more than the 128 bits of an "
                       "int in neso [int-overflow]\n"
                       "    1 | 2 ** 127\n"
                       "      |   ^~\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p;
        program_run(&p, rows[i].text, true, 0);
        check_lines(p.output.s, rows[i].output);
        CHECK(p.failed);
        world_free(&p.w);
    }
}

TEST(exit_says_how_the_program_ended)
{
    static const struct {
        const char *text;
        bool failed;
    } rows[] = {
        {"import sys\nsys.exit(3)\n", true},
        {"import sys\nsys.exit()\n", false},
        {"raise SystemExit(0)\n", false},
        {"x = (\n", false},
        {"pass\n", false},
        {"raise ValueError\n", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p;
        program_run(&p, rows[i].text, true, 0);
        CHECK_INT(p.failed, rows[i].failed);
        world_free(&p.w);
    }
}

TEST(files_beside_the_program_are_modules)
{
    static const struct {
        const char *text, *output;
    } rows[] = {
        {"import helpers\nfrom helpers import twice as t\nimport helpers as h\nprint(t(4), helpers.K, h is "
         "helpers)\n",
         "loading helpers\n8 5 True\n"},
        {"from .helpers import twice\nfrom . import helpers\nprint(twice(1))\n", "loading helpers\n2\n"},
        {"import pack.two\nprint(pack.two.deep(), pack.unit())\n", "1 1\n"},
        {"from helpers import twize\n",
         "loading helpers\n"
         "t.py:1:21: error: ImportError: cannot import name 'twize' from 'helpers' [import-name]\n"
         "    1 | from helpers import twize\n"
         "      |                     ^~~~~\n"
         "hint: did you mean 'twice'?\n"},
        {"try: import broken\nexcept ImportError: pass\n",
         "broken.py:2:5: error: expected an expression, found '=' [syntax]\n"
         "    2 | y = = 2\n"
         "      |     ^\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p;
        program_run(&p, rows[i].text, true, 0);
        check_lines(p.output.s, rows[i].output);
        world_free(&p.w);
    }
}

TEST(endless_programs_end)
{
    static const char *const texts[] = {
        "while True: pass\n",
        "import itertools\nlist(itertools.count())\n",
        "[0 for i in range(10**12)]\n",
        "x = [1]\nfor i in x: x.append(i)\n",
        "def f(): return f()\nf()\n",
        "x = []\nx.append(x)\ny = []\ny.append(y)\nx == y\n",
        "class A:\n    def __eq__(self, o): return self == o\nA() == A()\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct program p;
        program_run(&p, texts[i], true, 100000);
        CHECK(p.failed);
        CHECK_INT(p.w.diag.nerrors, 1);
        world_free(&p.w);
    }
}

/* A file can be loaded only for its kernels. Then values that need functions of the host are unknown; this is not an
 * error. */
TEST(loading_without_a_host_keeps_definitions)
{
    struct program p;
    program_run(&p,
                "import torch, os.path as osp\n"
                "from flash import attention as attn\n"
                "DEVICE = torch.device('cuda')\n"
                "N = 4 * 16\n"
                "bad = undefined(1)\n"
                "configs = []\n"
                "for w in [2, 4]:\n    configs.append(w)\n"
                "if torch.cuda.is_available():\n    def under_condition(): return 1\n"
                "try:\n    import numpy\n    HAVE = True\nexcept ImportError:\n    HAVE = False\n"
                "@torch.compile(mode='x')\ndef decorated(x): return x\n"
                "@undefined_decorator\ndef kept(x): return x\n"
                "class Net(torch.nn.Module):\n    def forward(self): return 2\n"
                "x = torch.randn(3) + 1\n"
                "assert x.sum() > 0\n"
                "print('not executed')\n"
                "while True: x = torch.sin(x)\n"
                "last = 1\n",
                false, 0);
    CHECK_STR(p.output.s, "");
    CHECK(p.module != NULL);
    static const struct {
        const char *name, *shown;
    } names[] = {
        {"N", "64"},
        {"configs", "[2, 4]"},
        {"under_condition", "<function under_condition>"},
        {"HAVE", "True"},
        {"last", "1"},
        {"decorated", "<function decorated>"},
        {"kept", "<function kept>"},
        {"DEVICE", "torch.device"},
        {"bad", "bad"},
        {"attn", "flash.attention"},
    };
    for (size_t i = 0; p.module && i < sizeof names / sizeof *names; i++) {
        struct obj *x = scope_get(p.module->module.scope, intern_str(&p.strings, names[i].name));
        struct text t;
        text_init(&t, &p.w.arena);
        if (x)
            obj_print(&p.e, x, &t, false);
        CHECK_STR(t.s, names[i].shown);
    }
    world_free(&p.w);
}

/* Traces `def k(X, n)` with this body; X is a pointer to fp32, and n is an int32. Compares the messages with
 * `expected`, which has "line:column message" on each line. The body begins at line 13. */
static void check_kernel(const char *body, const char *expected)
{
    struct program p;
    struct text text, found;
    jmp_buf fatal;
    program_run(&p, "", false, 0);
    text_init(&text, &p.w.arena);
    text_init(&found, &p.w.arena);
    text_printf(&text,
                "import triton, torch\nimport triton.language as tl\nC = tl.constexpr(5)\nD = torch.float32\n"
                "def plain(x): return x\n@triton.constexpr_function\ndef double(x):\n    assert x > 0, 'not "
                "positive'\n"
                "    return 2 * x\n\n@triton.jit\ndef k(X, n):\n%s",
                body);
    p.w.diag.fatal = &fatal;
    if (setjmp(fatal) == 0) {
        struct source *src = diag_add_source(&p.w.diag, "k.py", text.s, text.len);
        struct obj *module = eval_file(&p.e, src, "k", NULL);
        struct spec_arg args[] = {{.type = lang_parse(&p.e, "*fp32", 5), .divisible = 16},
                                  {.type = lang_parse(&p.e, "i32", 3), .divisible = 1}};
        struct spec spec = {.nargs = 2, .args = args, .num_warps = 4, .num_stages = 3, .num_ctas = 1};
        spec.target = target_by_name("sm_90a");
        if (module)
            frontend_trace(&p.e, scope_get(module->module.scope, intern_str(p.e.strings, "k")), &spec,
                           &p.w.m);
    }
    for (int i = 0; i < p.w.diag.list.n; i++) {
        const struct diagnostic *d = &p.w.diag.list.at[i];
        if (d->severity == SEV_error)
            text_printf(&found, "%u:%d %s\n", d->loc.line, d->loc.col, d->message);
    }
    check_lines(found.s, expected);
    world_free(&p.w);
}

TEST(kernels_refuse_what_the_language_lacks)
{
    static const struct {
        const char *body, *errors;
    } rows[] = {
        {"    tl.store(X, C + n)\n", ""},
        {"    for i in range(n): break\n",
         "13:24 unsupported AST node type: Break: use `while` with a condition that ends it, or a flag "
         "that the rest of the body and later iterations test with `if`\n"},
        {"    try: pass\n    except: pass\n", "13:5 unsupported AST node type: Try\n"},
        {"    raise ValueError\n", "13:5 unsupported AST node type: Raise\n"},
        {"    import math\n", "13:5 unsupported AST node type: Import\n"},
        {"    global C\n", "13:5 unsupported AST node type: Global\n"},
        {"    del n\n", "13:5 unsupported AST node type: Delete\n"},
        {"    with n: pass\n", "13:5 unsupported AST node type: With\n"},
        {"    class A: pass\n", "13:5 unsupported AST node type: ClassDef\n"},
        {"    f = lambda: 1\n", "13:9 unsupported AST node type: Lambda\n"},
        {"    d = {1: 2}\n", "13:9 unsupported AST node type: Dict\n"},
        {"    d = {1, 2}\n", "13:9 unsupported AST node type: Set\n"},
        {"    d = {i for i in (1, 2)}\n", "13:9 unsupported AST node type: SetComp\n"},
        {"    d = (i for i in (1, 2))\n", "13:9 unsupported AST node type: GeneratorExp\n"},
        {"    yield 1\n", "13:5 unsupported AST node type: Yield\n"},
        {"    def inner(): pass\n", "13:5 nested function definitions are not allowed inside a @triton.jit "
                                    "kernel: define it at the top of the file\n"},
        {"    b = 0 < n < 5\n",
         "13:9 simultaneous multiple comparison is not supported: write `a < b and b < c`\n"},
        {"    a = b = 1\n", "13:5 simultaneous assignment to several targets is not supported in a kernel: "
                            "write one for each\n"},
        {"    if 'x': pass\n", "13:8 `if` conditionals can only accept values of type {bool, int, NoneType}, "
                               "not objects of type str\n"},
        {"    s: tl.constexpr = f'{n}'\n",
         "13:25 an f-string in a kernel can show constants only, except on the "
         "interpreter: use --device interpreter\n"},
        {"    d = D\n", "13:9 'torch.float32' is unknown: it comes from a module that does not exist when "
                        "neso only compiles kernels\n"},
        {"    d = torch.sin(n)\n", "13:9 'torch.sin' is unknown: it comes from a module that does not exist "
                                   "when neso only compiles kernels\n"},
        {"    d = plain(n)\n",
         "13:9 'plain' is a plain Python function, which a kernel can call on the interpreter "
         "only: decorate it with @triton.jit, or use --device interpreter\n"},
        {"    tl.store(**{'pointer': X})\n",
         "13:14 '**' in a call is not supported in a kernel: name the arguments\n"},
        {"    d = tl.float32(0)\n",
         "13:9 a type cannot be called: write tl.full([], value, type), or value.to(type)\n"},
        {"    d = 5 // 0\n", "13:11 integer division or modulo by zero\n"},
        {"    d = (n, n)[2]\n", "13:9 tuple index out of range\n"},
        {"    d = double(2) + double(0)\n", "13:5 AssertionError while compiling: not positive\n"},
        {"    d = double(n)\n", "13:16 'double' runs at compile time: its arguments must be constants\n"},
        {"    d = [i + n for i in (1, 2) if i]\n",
         "13:9 a comprehension in a kernel has one 'for' and no 'if'\n"},
        {"    d = [i + n for i in (1, 2)]\n    tl.store(X, d[1])\n", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_kernel(rows[i].body, rows[i].errors);
}

TEST(kernels_report_no_consequences)
{
    check_kernel(
        "    a = nowhere(1)\n    b = a + 1\n    if a: c = b\n    else: d = b\n    for i in range(a): b += i\n"
        "    s: tl.constexpr = f'{a}'\n    e = c + d + tl.load(X + b)\n    f = e.to(tl.int32)[:, None]\n"
        "    g = elsewhere\n    return\n",
        "13:9 name 'nowhere' is not defined\n21:9 name 'elsewhere' is not defined\n");
}

TEST(types_are_read_and_shown)
{
    static const struct {
        const char *spelling, *shown;
    } rows[] = {
        {"i32", "int32"},
        {"u8", "uint8"},
        {"int1", "int1"},
        {"bool", "int1"},
        {"B", "int1"},
        {"float", "fp32"},
        {"half", "fp16"},
        {"bfloat16", "bf16"},
        {"double", "fp64"},
        {"int64_t", "int64"},
        {"uint32_t", "uint32"},
        {"*fp16", "pointer<fp16>"},
        {"*ki8", "const_pointer<int8>"},
        {"**f32", "pointer<pointer<fp32>>"},
        {"fp8e4nv", "fp8e4nv"},
        {" *i64 ", "pointer<int64>"},
        {"float8_e5m2", "fp8e5"},
        {"void", "void"},
        {"u1", "int1"},
        {"int7", ""},
        {"", ""},
        {"*", ""},
        {"i32x", ""},
    };
    struct program p;
    program_run(&p, "", true, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct lang_type *t = lang_parse(&p.e, rows[i].spelling, strlen(rows[i].spelling));
        struct text out;
        text_init(&out, &p.w.arena);
        if (t)
            lang_print(t, &out);
        CHECK_STR(out.s, rows[i].shown);
        CHECK(!t || lang_equal(t, lang_parse(&p.e, rows[i].spelling, strlen(rows[i].spelling))));
    }
    const struct lang_type *block = lang_block(&p.e, lang_number(&p.e, DT_f32, false), 2, (int[]){64, 32});
    struct text out;
    text_init(&out, &p.w.arena);
    lang_print(block, &out);
    CHECK_STR(out.s, "<[64, 32], fp32>");
    CHECK(lang_block(&p.e, block->elem, 0, NULL) == block->elem);
    world_free(&p.w);
}

static const char *const control_program[] = {
    "for i in range(3):\n",
    "    if i == 1: continue\n",
    "    print(i, end=\" \")\n",
    "else:\n",
    "    print(\"done\")\n",
    "for i in range(5):\n",
    "    if i == 2: break\n",
    "else:\n",
    "    print(\"never\")\n",
    "n = 0\n",
    "while n < 3:\n",
    "    n += 1\n",
    "    if n == 2: continue\n",
    "    print(\"n\", n)\n",
    "else:\n",
    "    print(\"while else\")\n",
    "while True:\n",
    "    n -= 1\n",
    "    if n < 0: break\n",
    "print(n)\n",
    "if n > 0: print(\"pos\")\n",
    "elif n == 0: print(\"zero\")\n",
    "else: print(\"neg\")\n",
    "def fib(k): return k if k < 2 else fib(k - 1) + fib(k - 2)\n",
    "print([fib(k) for k in range(10)])\n",
    "def f(a, b=2, *args, c, d=4, **kw): return (a, b, args, c, d, kw)\n",
    "print(f(1, c=3), f(1, 2, 3, 4, c=5, e=6), f(*[1, 2], **{\"c\": 3, \"z\": 9}), f(b=1, a=0, c=2))\n",
    "def g(a, /, b, *, c=1): return a + b + c\n",
    "print(g(1, 2), g(1, b=2, c=3))\n",
    "def counter():\n",
    "    c = 0\n",
    "    def inc(by=1):\n",
    "        nonlocal c\n",
    "        c += by\n",
    "        return c\n",
    "    return inc\n",
    "inc = counter(); inc(); print(inc(), inc(10), counter()())\n",
    "total = 0\n",
    "def add(v):\n",
    "    global total\n",
    "    total += v\n",
    "add(5); add(6); print(total)\n",
    "fs = [lambda: i for i in range(3)]; print([h() for h in fs])\n",
    "fs = [lambda i=i: i for i in range(3)]; print([h() for h in fs])\n",
    "def default(x=[]):\n",
    "    x.append(len(x)); return x\n",
    "default(); print(default())\n",
    "print((lambda *a, **k: (a, k))(1, 2, x=3))\n",
    "def early(x):\n",
    "    for i in range(10):\n",
    "        while True:\n",
    "            if i == x: return i\n",
    "            break\n",
    "    return None\n",
    "print(early(3), early(30))\n",
    "def noreturn(): pass\n",
    "print(noreturn())\n",
    "if (y := 5) > 3: print(y)\n",
    "print([z for x in range(4) if (z := x * 2) > 2], z)\n",
    "def deco(fn):\n",
    "    def wrapped(*a, **k): return (\"wrapped\", fn(*a, **k))\n",
    "    return wrapped\n",
    "def deco2(tag):\n",
    "    def inner(fn):\n",
    "        fn.tag = tag\n",
    "        return fn\n",
    "    return inner\n",
    "@deco\n",
    "@deco2(\"t\")\n",
    "def h(x): return x * 2\n",
    "print(h(4))\n",
    "@deco2(\"hello\")\n",
    "def tagged(): \"doc\"\n",
    "print(tagged.tag, tagged.__name__, tagged.__doc__)\n",
    "def gen(n):\n",
    "    for i in range(n):\n",
    "        yield i * 2\n",
    "    yield from \"xy\"\n",
    "print(list(gen(3)), sum(gen(4)) if False else 0, next(gen(2)))\n",
    "x = 1; del x\n",
    "try: x\n",
    "except NameError as e: print(\"NameError\", e)\n",
    "assert True\n",
    "assert 1 < 2, \"no\"\n",
    "a = b = c = 3; print(a, b, c)\n",
    "(a, b), c = [1, 2], 3; print(a, b, c)\n",
    "i = 0\n",
    "lst = [0, 0, 0]\n",
    "lst[i], i = 5, 1\n",
    "print(lst, i)\n",
    "for a, (b, c) in [(1, (2, 3)), (4, (5, 6))]: print(a, b, c)\n",
    "for i, (k, v) in enumerate({\"p\": 1}.items()): print(i, k, v)\n",
    "def outer():\n",
    "    x = \"outer\"\n",
    "    def mid():\n",
    "        def inner(): return x\n",
    "        return inner\n",
    "    return mid()()\n",
    "print(outer())\n",
    "print(__name__)\n",
    "if __name__ == \"__main__\": print(\"main\")\n",
    "pass\n",
    "...\n",
    "\"string statement\"\n",
    "print([j for j in [k for k in range(3)]], [[c for c in row] for row in [\"ab\", \"c\"]])\n",
    "x: int = 5\n",
    "y: \"str\"\n",
    "print(x)\n",
    "def ann(a: int, b: str = \"q\") -> float: return b\n",
    "print(ann(1))\n",
    "print(eval(\"1 + 2 * 3\"), eval(\"[i for i in range(3)]\"))\n",
    NULL,
};

static const char *const control_output[] = {
    "0 2 done\n",
    "n 1\n",
    "n 3\n",
    "while else\n",
    "-1\n",
    "neg\n",
    "[0, 1, 1, 2, 3, 5, 8, 13, 21, 34]\n",
    "(1, 2, (), 3, 4, {}) (1, 2, (3, 4), 5, 4, {'e': 6}) (1, 2, (), 3, 4, {'z': 9}) (0, 1, (), 2, 4, "
    "{})\n",
    "4 6\n",
    "2 12 1\n",
    "11\n",
    "[2, 2, 2]\n",
    "[0, 1, 2]\n",
    "[0, 1]\n",
    "((1, 2), {'x': 3})\n",
    "3 None\n",
    "None\n",
    "5\n",
    "[4, 6] 6\n",
    "('wrapped', 8)\n",
    "hello tagged doc\n",
    "[0, 2, 4, 'x', 'y'] 0 0\n",
    "NameError name 'x' is not defined\n",
    "3 3 3\n",
    "1 2 3\n",
    "[5, 0, 0] 1\n",
    "1 2 3\n",
    "4 5 6\n",
    "0 p 1\n",
    "outer\n",
    "__main__\n",
    "main\n",
    "[0, 1, 2] [['a', 'b'], ['c']]\n",
    "5\n",
    "q\n",
    "7 [0, 1, 2]\n",
    NULL,
};

TEST(control)
{
    check_program(control_program, control_output);
}

static const char *const errors_program[] = {
    "def attempt(f, *a):\n",
    "    try:\n",
    "        print(\"ok\", f(*a))\n",
    "    except Exception as e:\n",
    "        print(type(e).__name__ + \":\", e)\n",
    "attempt(lambda: 1 / 0)\n",
    "attempt(lambda: 6305039478318691 / 9007199254740987)\n",
    "attempt(lambda: 1 // 0)\n",
    "attempt(lambda: 1.0 / 0)\n",
    "attempt(lambda: 1.0 // 0)\n",
    "attempt(lambda: 1.0 % 0)\n",
    "attempt(lambda: 0 ** -1)\n",
    "attempt(lambda: 1 + \"a\")\n",
    "attempt(lambda: \"a\" + 1)\n",
    "attempt(lambda: [1] + (2,))\n",
    "attempt(lambda: \"a\" * \"b\")\n",
    "attempt(lambda: -\"a\")\n",
    "attempt(lambda: 1 < \"a\")\n",
    "attempt(lambda: [1, 2][5])\n",
    "attempt(lambda: (1, 2)[5])\n",
    "attempt(lambda: \"ab\"[5])\n",
    "attempt(lambda: [1][\"a\"])\n",
    "attempt(lambda: {\"a\": 1}[\"b\"])\n",
    "attempt(lambda: {}[(1, 2)])\n",
    "attempt(lambda: {[]: 1})\n",
    "attempt(lambda: undefined_name)\n",
    "attempt(lambda: (1).foo)\n",
    "attempt(lambda: \"x\".foo)\n",
    "attempt(lambda: None.bar)\n",
    "attempt(lambda: len(5))\n",
    "attempt(lambda: 5())\n",
    "attempt(lambda: 5[0])\n",
    "attempt(lambda: int(\"abc\"))\n",
    "attempt(lambda: int([]))\n",
    "attempt(lambda: float(\"x\"))\n",
    "attempt(lambda: [1, 2].index(9))\n",
    "attempt(lambda: [].pop())\n",
    "attempt(lambda: list(5))\n",
    "attempt(lambda: iter(5))\n",
    "attempt(lambda: \"abc\".index(\"z\"))\n",
    "attempt(lambda: max([]))\n",
    "attempt(lambda: \"%d\" % \"x\")\n",
    "attempt(lambda: \"%d %d\" % (1,))\n",
    "attempt(lambda: \"%d\" % (1, 2))\n",
    "attempt(lambda: \"{}\".format())\n",
    "attempt(lambda: format(\"x\", \"d\"))\n",
    "attempt(lambda: range(1, 2, 0))\n",
    "attempt(lambda: 1 << -1)\n",
    "attempt(lambda: \",\".join([1]))\n",
    "attempt(lambda: next(iter([])))\n",
    "attempt(lambda: 2.0 ** 10000)\n",
    "attempt(lambda: int(float(\"nan\")))\n",
    "attempt(lambda: int(float(\"inf\")))\n",
    "def two(a, b): pass\n",
    "attempt(two)\n",
    "attempt(two, 1)\n",
    "attempt(two, 1, 2, 3)\n",
    "attempt(lambda: two(1, c=2))\n",
    "attempt(lambda: two(1, 2, a=3))\n",
    "def opt(a, b=1): pass\n",
    "attempt(opt, 1, 2, 3)\n",
    "def kwonly(*, k): pass\n",
    "attempt(kwonly)\n",
    "attempt(lambda: kwonly(1))\n",
    "def three(a, b, c): pass\n",
    "attempt(three)\n",
    "def unpack(n):\n",
    "    a, b = range(n)\n",
    "attempt(unpack, 1)\n",
    "attempt(unpack, 3)\n",
    "def star():\n",
    "    a, b, *c = [1]\n",
    "attempt(star)\n",
    "def setitem():\n",
    "    (1, 2)[0] = 5\n",
    "attempt(setitem)\n",
    "def setattribute():\n",
    "    (5).x = 1\n",
    "def chars():\n",
    "    \"abc\"[0] = \"x\"\n",
    "attempt(chars)\n",
    "class MyError(ValueError):\n",
    "    pass\n",
    "class Coded(Exception):\n",
    "    def __init__(self, code, msg):\n",
    "        super().__init__(msg)\n",
    "        self.code = code\n",
    "try:\n",
    "    raise MyError(\"custom\", 5)\n",
    "except ValueError as e:\n",
    "    print(\"caught\", e, e.args, isinstance(e, MyError), repr(e))\n",
    "try:\n",
    "    raise Coded(7, \"hey\")\n",
    "except Coded as e:\n",
    "    print(e.code, e)\n",
    "try:\n",
    "    raise ValueError\n",
    "except (TypeError, ValueError) as e:\n",
    "    print(\"bare\", e, repr(e), str(e) == \"\")\n",
    "try:\n",
    "    try:\n",
    "        raise KeyError(\"k\")\n",
    "    except IndexError:\n",
    "        print(\"no\")\n",
    "    finally:\n",
    "        print(\"finally 1\")\n",
    "except LookupError as e:\n",
    "    print(\"outer\", type(e).__name__, e)\n",
    "try:\n",
    "    pass\n",
    "except Exception:\n",
    "    print(\"no\")\n",
    "else:\n",
    "    print(\"else\")\n",
    "finally:\n",
    "    print(\"finally 2\")\n",
    "def fin():\n",
    "    try:\n",
    "        return \"try\"\n",
    "    finally:\n",
    "        print(\"cleanup\")\n",
    "print(fin())\n",
    "def fin2():\n",
    "    for i in range(3):\n",
    "        try:\n",
    "            if i == 1: continue\n",
    "            if i == 2: break\n",
    "            print(\"i\", i)\n",
    "        finally:\n",
    "            print(\"f\", i)\n",
    "fin2()\n",
    "try:\n",
    "    try:\n",
    "        raise ValueError(\"first\")\n",
    "    except ValueError:\n",
    "        raise\n",
    "except ValueError as e:\n",
    "    print(\"reraised\", e)\n",
    "try:\n",
    "    try:\n",
    "        raise ValueError(\"first\")\n",
    "    except ValueError as e:\n",
    "        raise RuntimeError(\"second\") from e\n",
    "except RuntimeError as e:\n",
    "    print(e)\n",
    "try:\n",
    "    assert 1 == 2, \"math %d\" % 5\n",
    "except AssertionError as e:\n",
    "    print(\"assert:\", e)\n",
    "try:\n",
    "    assert False\n",
    "except AssertionError as e:\n",
    "    print(\"assert bare:\", repr(e))\n",
    "try:\n",
    "    raise NotImplementedError(\"todo\")\n",
    "except RuntimeError as e:\n",
    "    print(type(e).__name__)\n",
    "def deep(n): return deep(n + 1)\n",
    "try:\n",
    "    deep(0)\n",
    "except RecursionError as e:\n",
    "    print(\"RecursionError\")\n",
    "try:\n",
    "    import nonexistent_module\n",
    "except ImportError as e:\n",
    "    print(type(e).__name__, e)\n",
    "try:\n",
    "    from math import nope\n",
    "except ImportError as e:\n",
    "    print(\"ImportError\")\n",
    "class Ctx:\n",
    "    def __enter__(self): print(\"enter\"); return self\n",
    "    def __exit__(self, t, v, tb): print(\"exit\", t.__name__ if t else None); return t is ValueE"
    "rror\n",
    "with Ctx() as c: print(\"in\")\n",
    "with Ctx(): raise ValueError(\"swallowed\")\n",
    "try:\n",
    "    with Ctx(), Ctx(): raise KeyError(\"k\")\n",
    "except KeyError: print(\"passed on\")\n",
    "try:\n",
    "    e = 5\n",
    "    raise ValueError(\"x\")\n",
    "except ValueError as e:\n",
    "    pass\n",
    "attempt(lambda: getattr(5, \"x\"))\n",
    "attempt(lambda: isinstance(1, 5))\n",
    NULL,
};

static const char *const errors_output[] = {
    "ZeroDivisionError: division by zero\n",
    "ok 0.7000000000000001\n",
    "ZeroDivisionError: integer division or modulo by zero\n",
    "ZeroDivisionError: float division by zero\n",
    "ZeroDivisionError: float floor division by zero\n",
    "ZeroDivisionError: float modulo\n",
    "ZeroDivisionError: 0.0 cannot be raised to a negative power\n",
    "TypeError: unsupported operand type(s) for +: 'int' and 'str'\n",
    "TypeError: can only concatenate str (not \"int\") to str\n",
    "TypeError: can only concatenate list (not \"tuple\") to list\n",
    "TypeError: can't multiply sequence by non-int of type 'str'\n",
    "TypeError: bad operand type for unary -: 'str'\n",
    "TypeError: '<' not supported between instances of 'int' and 'str'\n",
    "IndexError: list index out of range\n",
    "IndexError: tuple index out of range\n",
    "IndexError: string index out of range\n",
    "TypeError: list indices must be integers or slices, not str\n",
    "KeyError: 'b'\n",
    "KeyError: (1, 2)\n",
    "TypeError: unhashable type: 'list'\n",
    "NameError: name 'undefined_name' is not defined\n",
    "AttributeError: 'int' object has no attribute 'foo'\n",
    "AttributeError: 'str' object has no attribute 'foo'\n",
    "AttributeError: 'NoneType' object has no attribute 'bar'\n",
    "TypeError: object of type 'int' has no len()\n",
    "TypeError: 'int' object is not callable\n",
    "TypeError: 'int' object is not subscriptable\n",
    "ValueError: invalid literal for int() with base 10: 'abc'\n",
    "TypeError: int() argument must be a string, a bytes-like object or a real number, not 'list'\n",
    "ValueError: could not convert string to float: 'x'\n",
    "ValueError: 9 is not in list\n",
    "IndexError: pop from empty list\n",
    "TypeError: 'int' object is not iterable\n",
    "TypeError: 'int' object is not iterable\n",
    "ValueError: substring not found\n",
    "ValueError: max() arg is an empty sequence\n",
    "TypeError: %d format: a real number is required, not str\n",
    "TypeError: not enough arguments for format string\n",
    "TypeError: not all arguments converted during string formatting\n",
    "IndexError: Replacement index 0 out of range for positional args tuple\n",
    "ValueError: Unknown format code 'd' for object of type 'str'\n",
    "ValueError: range() arg 3 must not be zero\n",
    "ValueError: negative shift count\n",
    "TypeError: sequence item 0: expected str instance, int found\n",
    "StopIteration: \n",
    "OverflowError: (34, 'Numerical result out of range')\n",
    "ValueError: cannot convert float NaN to integer\n",
    "OverflowError: cannot convert float infinity to integer\n",
    "TypeError: two() missing 2 required positional arguments: 'a' and 'b'\n",
    "TypeError: two() missing 1 required positional argument: 'b'\n",
    "TypeError: two() takes 2 positional arguments but 3 were given\n",
    "TypeError: two() got an unexpected keyword argument 'c'\n",
    "TypeError: two() got multiple values for argument 'a'\n",
    "TypeError: opt() takes from 1 to 2 positional arguments but 3 were given\n",
    "TypeError: kwonly() missing 1 required keyword-only argument: 'k'\n",
    "TypeError: kwonly() takes 0 positional arguments but 1 was given\n",
    "TypeError: three() missing 3 required positional arguments: 'a', 'b', and 'c'\n",
    "ValueError: not enough values to unpack (expected 2, got 1)\n",
    "ValueError: too many values to unpack (expected 2)\n",
    "ValueError: not enough values to unpack (expected at least 2, got 1)\n",
    "TypeError: 'tuple' object does not support item assignment\n",
    "TypeError: 'str' object does not support item assignment\n",
    "caught ('custom', 5) ('custom', 5) True MyError('custom', 5)\n",
    "7 hey\n",
    "bare  ValueError() True\n",
    "finally 1\n",
    "outer KeyError 'k'\n",
    "else\n",
    "finally 2\n",
    "cleanup\n",
    "try\n",
    "i 0\n",
    "f 0\n",
    "f 1\n",
    "f 2\n",
    "reraised first\n",
    "second\n",
    "assert: math 5\n",
    "assert bare: AssertionError()\n",
    "NotImplementedError\n",
    "RecursionError\n",
    "ModuleNotFoundError No module named 'nonexistent_module'\n",
    "ImportError\n",
    "enter\n",
    "in\n",
    "exit None\n",
    "enter\n",
    "exit ValueError\n",
    "enter\n",
    "enter\n",
    "exit KeyError\n",
    "exit KeyError\n",
    "passed on\n",
    "AttributeError: 'int' object has no attribute 'x'\n",
    "TypeError: isinstance() arg 2 must be a type, a tuple of types, or a union\n",
    NULL,
};

TEST(errors)
{
    check_program(errors_program, errors_output);
}

static const char *const classes_program[] = {
    "class A:\n",
    "    kind = \"a\"\n",
    "    def __init__(self, x, y=2):\n",
    "        self.x = x\n",
    "        self.y = y\n",
    "    def total(self): return self.x + self.y\n",
    "    def __repr__(self): return f\"A({self.x}, {self.y})\"\n",
    "    def __eq__(self, o): return isinstance(o, A) and self.x == o.x\n",
    "    def __add__(self, o): return A(self.x + (o.x if isinstance(o, A) else o))\n",
    "    def __radd__(self, o): return A(o + self.x)\n",
    "    def __mul__(self, k): return A(self.x * k)\n",
    "    def __neg__(self): return A(-self.x)\n",
    "    def __len__(self): return self.x\n",
    "    def __getitem__(self, i): return i * 10\n",
    "    def __call__(self, *a): return (\"called\", a)\n",
    "    def __lt__(self, o): return self.x < o.x\n",
    "    def __contains__(self, v): return v == self.x\n",
    "    def __bool__(self): return self.x > 0\n",
    "    def __hash__(self): return hash(self.x)\n",
    "    @property\n",
    "    def double(self): return self.x * 2\n",
    "    @staticmethod\n",
    "    def stat(v): return v + 1\n",
    "    @classmethod\n",
    "    def make(cls, v): return cls(v)\n",
    "a = A(3)\n",
    "print(a, a.x, a.total(), a.kind, A.kind, a == A(3), a != A(4), a + A(1), a + 5, 5 + a, a * 3, -a"
    ", len(a), a[4], a(1, 2), a < A(9), sorted([A(3), A(1)]), 3 in a, 4 in a)\n",
    "print(bool(A(0)), a.double, A.stat(1), a.stat(2), A.make(7), isinstance(a, A), type(a).__name__,"
    " str(a), [a], A.total(a), {A(1): \"v\"}[A(1)], max(A(1), A(5)))\n",
    "class B(A):\n",
    "    kind = \"b\"\n",
    "    def __init__(self, x):\n",
    "        super().__init__(x, 10)\n",
    "        self.z = \"z\"\n",
    "    def total(self): return super().total() * 100\n",
    "    def __str__(self): return \"B!\"\n",
    "b = B(1)\n",
    "print(b, repr(b), b.total(), b.kind, b.z, b.y, isinstance(b, A), issubclass(B, A), B.make(2).z, "
    "f\"{b}\", f\"{b!r}\", \"%s\" % b)\n",
    "b.new = 5; b.x += 1; print(b.new, b.x, hasattr(b, \"new\"), hasattr(b, \"old\"), getattr(b, \"ol"
    "d\", \"dflt\"))\n",
    "setattr(b, \"w\", 9); print(b.w, b.__class__.__name__, b.__dict__[\"w\"])\n",
    "A.extra = lambda self: self.x * 1000\n",
    "print(a.extra())\n",
    "class It:\n",
    "    def __init__(self, n): self.n = n\n",
    "    def __iter__(self):\n",
    "        self.i = 0\n",
    "        return self\n",
    "    def __next__(self):\n",
    "        self.i += 1\n",
    "        if self.i > self.n: raise StopIteration\n",
    "        return self.i\n",
    "print(list(It(3)), sum(It(4)), [v for v in It(2)])\n",
    "class Seq:\n",
    "    def __getitem__(self, i):\n",
    "        if i > 2: raise IndexError\n",
    "        return i * i\n",
    "print(list(Seq()))\n",
    "class Empty: pass\n",
    "e = Empty(); e.v = 1; print(e.v)\n",
    "class Fmt:\n",
    "    def __format__(self, spec): return \"<\" + spec + \">\"\n",
    "print(f\"{Fmt():abc}\", format(Fmt(), \"q\"))\n",
    "class D:\n",
    "    def __getattr__(self, n):\n",
    "        if n == \"bad\": raise AttributeError(n)\n",
    "        return \"dyn_\" + n\n",
    "    def __setitem__(self, k, v): print(\"set\", k, v)\n",
    "    def __delitem__(self, k): print(\"del\", k)\n",
    "    def __iadd__(self, o): print(\"iadd\", o); return self\n",
    "    def __isub__(self, o): return NotImplemented\n",
    "    def __sub__(self, o): return (\"sub\", o)\n",
    "n = D(); n -= 2; print(n)\n",
    "d = D(); print(d.foo, hasattr(d, \"bad\"), getattr(d, \"bad\", 1)); d[\"k\"] = 1; del d[\"k\"]; "
    "d += 5\n",
    "class Outer:\n",
    "    class Inner:\n",
    "        v = 42\n",
    "    val = Inner.v + 1\n",
    "    items = [i for i in range(3)]\n",
    "print(Outer.Inner.v, Outer.val, Outer.items, Outer.Inner().v)\n",
    "from collections import namedtuple, defaultdict, OrderedDict, Counter\n",
    "P = namedtuple(\"P\", \"x y\")\n",
    "p = P(1, y=2); q = P(*[3, 4])\n",
    "print(p, p.x, p[1], len(p), list(p), p == (1, 2), p == P(1, 2), p < q, p._replace(x=9), P._field"
    "s)\n",
    "x, y = p; print(x, y)\n",
    "from typing import NamedTuple, Optional, List\n",
    "class N(NamedTuple):\n",
    "    a: int\n",
    "    b: str = \"bb\"\n",
    "print(N(1), N(1, \"c\").b, N(1) == (1, \"bb\"))\n",
    "from dataclasses import dataclass, field\n",
    "@dataclass\n",
    "class DC:\n",
    "    a: int\n",
    "    b: float = 1.5\n",
    "    c: list = field(default_factory=list)\n",
    "print(DC(1), DC(1, 2.0) == DC(1, 2.0), DC(a=5).a)\n",
    "dd = defaultdict(list); dd[\"k\"].append(1); print(dict(dd), dd[\"z\"])\n",
    "di = defaultdict(int); di[\"q\"] += 2; print(di[\"q\"])\n",
    "print(OrderedDict(a=1)[\"a\"], Counter(\"aab\")[\"a\"])\n",
    "try: A()\n",
    "except TypeError as ex: print(ex)\n",
    "try: a.nothing\n",
    "except AttributeError as ex: print(ex)\n",
    "try: Empty(1)\n",
    "except TypeError as ex: print(ex)\n",
    "try: a + None\n",
    "except (TypeError, AttributeError) as ex: print(type(ex).__name__)\n",
    "class Meth:\n",
    "    def m(self): return self.__class__.__name__\n",
    "f = Meth().m; print(f())\n",
    "print(type(a) is A, type(A).__name__, A.__name__, a.total.__name__)\n",
    NULL,
};

static const char *const classes_output[] = {
    "A(3, 2) 3 5 a a True True A(4, 2) A(8, 2) A(8, 2) A(9, 2) A(-3, 2) 3 40 ('called', (1, 2)) True "
    "[A(1, 2), A(3, 2)] True False\n",
    "False 6 2 3 A(7, 2) True A A(3, 2) [A(3, 2)] 5 v A(5, 2)\n",
    "B! A(1, 10) 1100 b z 10 True True z B! A(1, 10) B!\n",
    "5 2 True False dflt\n",
    "9 B 9\n",
    "3000\n",
    "[1, 2, 3] 10 [1, 2]\n",
    "[0, 1, 4]\n",
    "1\n",
    "<abc> <q>\n",
    "('sub', 2)\n",
    "dyn_foo False 1\n",
    "set k 1\n",
    "del k\n",
    "iadd 5\n",
    "42 43 [0, 1, 2] 42\n",
    "P(x=1, y=2) 1 2 2 [1, 2] True True True P(x=9, y=2) ('x', 'y')\n",
    "1 2\n",
    "N(a=1, b='bb') c True\n",
    "DC(a=1, b=1.5, c=[]) True 5\n",
    "{'k': [1]} []\n",
    "2\n",
    "1 2\n",
    "A.__init__() missing 1 required positional argument: 'x'\n",
    "'A' object has no attribute 'nothing'\n",
    "Empty() takes no arguments\n",
    "TypeError\n",
    "Meth\n",
    "True type A total\n",
    NULL,
};

TEST(classes)
{
    check_program(classes_program, classes_output);
}
