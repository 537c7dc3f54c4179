/* SPDX-License-Identifier: MIT */
/* python.c: tests operators, strings, containers and modules of host code against the output of CPython. */
#include "tests/unit/program.h"

static const char *const numbers_program[] = {
    "print(1 + 2, 7 - 10, 6 * 7, 7 / 2, 7 // 2, -7 // 2, 7 % 3, -7 % 3, 7 % -3, 2 ** 10, 2 ** -1)\n",
    "print(1.5 + 2, 7.5 // 2, -7.5 // 2, 7.5 % 2, -7.5 % 2, 7.5 % -2, 2.0 ** 0.5, 4 ** 0.5, 0 ** 0, 0"
    ".0 ** 0)\n",
    "print(1 << 40, 1024 >> 3, -5 >> 1, 5 & 3, 5 | 3, 5 ^ 3, ~5, -5, +5, not 5, not 0)\n",
    "print(True + True, True & False, True | False, True ^ True, True * 3, -True, ~True)\n",
    "print(10 ** 20, 2 ** 100, -(2 ** 90) // 7, (2 ** 90) % 1000007)\n",
    "print(1e16, 1e15, 123456789.123, 1e-5, 0.0001, 1e22, 1.0, -0.0, 5e-324, 1.7976931348623157e308)\n",
    "print(float(\"inf\"), float(\"-inf\"), float(\"nan\"), 0.1 + 0.2, 1/3, 2/3, 100.0, 1e100)\n",
    "print(1 == 1.0, 1 == True, 2**53 == 2.0**53, 2**53 + 1 == 2.0**53, 0.1 + 0.2 == 0.3, float(\"nan"
    "\") == float(\"nan\"))\n",
    "print(1 < 2 < 3, 1 < 3 < 2, 3 > 2 >= 2, 1 != 2, 1 <= 1.0, 2**60 < 2.0**60 + 256)\n",
    "print(0x1f, 0b101, 0o17, 1_000_000, 1e3, .5, 5.)\n",
    "print(5 // 2.0, 5 % 2.5, -5 // 2.0, 1e300 * 1e10, -1 ** 2, (-1) ** 3, (-2) ** 3, 2 ** 3 ** 2)\n",
    "print(int(3.9), int(-3.9), int(\"42\"), int(\" -17 \"), int(\"ff\", 16), int(\"0x1f\", 0), int("
    "\"1_000\"), int(True), int())\n",
    "print(float(\"1e3\"), float(\" 2.5 \"), float(\"1_0.5\"), float(7), float(), float(\"Infinity\")"
    ")\n",
    "print(bool(0), bool(\"\"), bool([]), bool({}), bool(0.0), bool(None), bool(\"0\"), bool([0]), bo"
    "ol())\n",
    "print(abs(-3), abs(-2.5), abs(True), round(2.5), round(3.5), round(-2.5), round(2.675, 2), round"
    "(1234.5678, -2), round(15, -1), round(25, -1), round(3.14159, 3))\n",
    "print(divmod(7, 3), divmod(-7, 3), divmod(7.5, 2), pow(2, 10), pow(2, 10, 1000), pow(3, -1), pow"
    "(7, 200, 13))\n",
    "print(pow(3, -1, 7), pow(3, -2, 7), pow(-3, -1, 7), pow(3, -1, -7), pow(5, 0, 1), pow(5, -3, 1))\n",
    "for a, m in (2, 4), (0, 5), (2, 0):\n",
    "    try: pow(a, -1, m)\n",
    "    except ValueError as error: print(error)\n",
    "print(hex(255), hex(-255), oct(8), bin(10), bin(-3), chr(65), ord(\"a\"), chr(8364), ord(\"\342"
    "\202\254\"))\n",
    "print((255).bit_length(), (7).bit_count(), (2.0).is_integer(), (2.5).is_integer())\n",
    "print(min(3, 1, 2), max(3, 1, 2), min([4, 2]), max(\"abc\"), min([], default=7), max([1, -5], ke"
    "y=abs), sum([1, 2, 3]), sum([0.5, 1]), sum([[1], [2]], []))\n",
    "print(any([0, 1]), any([]), all([1, 0]), all([]))\n",
    "print(1 if 2 > 1 else 3, 0 or 5, 0 and 5, 3 and 5, None or 0, \"\" or \"x\")\n",
    "x = 5\n",
    "x += 3; x -= 1; x *= 4; x //= 3; x **= 2; x %= 50; x <<= 2; x >>= 1; x |= 1; x &= 0xff; x ^= 3\n",
    "print(x)\n",
    "x = 10\n",
    "x /= 4\n",
    "print(x)\n",
    "print(1 is 1, None is None, None is not None, [] is [], True is True)\n",
    "print(3 in [1, 2, 3], 3 not in [1, 2], \"b\" in \"abc\", \"x\" in {\"x\": 1}, 5 in range(10), 5 "
    "in (1, 2), 2 in {1, 2})\n",
    "print(-7 // 2, -7 % 2, 7 // -2, 7 % -2, -1 // 10, -1 % 10, 0 // 5, -6 // 3)\n",
    "print(5.0 // 0.3, 1.0 // 0.1, 0.0 // -1.0, -0.0 % 3, 3.0 % -0.5)\n",
    NULL,
};

static const char *const numbers_output[] = {
    "3 -3 42 3.5 3 -4 1 2 -2 1024 0.5\n",
    "3.5 3.0 -4.0 1.5 0.5 -0.5 1.4142135623730951 2.0 1 1.0\n",
    "1099511627776 128 -3 1 7 6 -6 -5 5 False True\n",
    "2 False True False 3 -1 -2\n",
    "100000000000000000000 1267650600228229401496703205376 -176848577040768610699874890 722367\n",
    "1e+16 1000000000000000.0 123456789.123 1e-05 0.0001 1e+22 1.0 -0.0 5e-324 1.7976931348623157e+30"
    "8\n",
    "inf -inf nan 0.30000000000000004 0.3333333333333333 0.6666666666666666 100.0 1e+100\n",
    "True True True False False False\n",
    "True False True True True True\n",
    "31 5 15 1000000 1000.0 0.5 5.0\n",
    "2.0 0.0 -3.0 inf -1 -1 -8 512\n",
    "3 -3 42 -17 255 31 1000 1 0\n",
    "1000.0 2.5 10.5 7.0 0.0 inf\n",
    "False False False False False False True True False\n",
    "3 2.5 1 2 4 -2 2.67 1200.0 20 20 3.142\n",
    "(2, 1) (-3, 2) (3.0, 1.5) 1024 24 0.3333333333333333 3\n",
    "5 4 2 -2 0 0\n",
    "base is not invertible for the given modulus\n",
    "base is not invertible for the given modulus\n",
    "pow() 3rd argument cannot be 0\n",
    "0xff -0xff 0o10 0b1010 -0b11 A 97 \342\202\254 8364\n",
    "8 3 True False\n",
    "1 3 2 c 7 -5 6 1.5 [1, 2]\n",
    "True False False True\n",
    "1 5 0 5 0 x\n",
    "60\n",
    "2.5\n",
    "True True False False True\n",
    "True True True True True False True\n",
    "-4 1 -4 -1 -1 9 0 -2\n",
    "16.0 9.0 -0.0 0.0 -0.0\n",
    NULL,
};

TEST(numbers)
{
    check_program(numbers_program, numbers_output);
}

static const char *const text_program[] = {
    "s = \"Hello, World\"\n",
    "print(s, repr(s), len(s), s[0], s[-1], s[1:4], s[:5], s[7:], s[::-1], s[::2], s[-5:-1], s[100:],"
    " s[5:2])\n",
    "print(s.upper(), s.lower(), s.swapcase(), \"hello world\".title(), \"hELLO\".capitalize())\n",
    "print(s.find(\"o\"), s.rfind(\"o\"), s.find(\"z\"), s.index(\"W\"), s.count(\"l\"), s.count(\"\""
    "), s.find(\"o\", 5), s.find(\"\", 20))\n",
    "print(s.startswith(\"Hell\"), s.endswith(\"ld\"), s.startswith((\"x\", \"H\")), s.startswith(\"W"
    "\", 7), s.endswith(\"lo\", 0, 5))\n",
    "print(\"  x \".strip() + \"|\", \"  x \".lstrip() + \"|\", \"  x \".rstrip() + \"|\", \"xxaxx\"."
    "strip(\"x\"), \"abcabc\".rstrip(\"bc\"), \"\303\251\".strip(\"\303\250\"), "
    "\"\303\250a\303\250\".strip(\"\303\250\"))\n",
    "print(\"a,b,,c\".split(\",\"), \" a  b c \".split(), \"a,b,c\".split(\",\", 1), \"a b c\".split("
    "None, 1), \"a,b,c\".rsplit(\",\", 1), \"  a b  c \".rsplit(None, 1))\n",
    "print(\"l1\\nl2\\r\\nl3\\n\".splitlines(), \"a\\nb\".splitlines(True), \"\".split(), \"\".split("
    "\",\"))\n",
    "print(\"-\".join([\"a\", \"b\", \"c\"]), \"\".join([]), \", \".join(str(i) for i in range(4)))\n",
    "print(\"aXbXc\".replace(\"X\", \"--\"), \"aaa\".replace(\"a\", \"b\", 2), \"abc\".replace(\"\", "
    "\"-\"), \"x\".replace(\"y\", \"z\"))\n",
    "print(\"7\".zfill(3), \"-7\".zfill(4), \"ab\".ljust(5) + \"|\", \"ab\".rjust(5, \"*\"), \"ab\".c"
    "enter(7, \"-\"), \"abc\".center(6) + \"|\", \"ab\".center(5) + \"|\")\n",
    "print(\"123\".isdigit(), \"12a\".isdigit(), \"abc\".isalpha(), \"ab1\".isalnum(), \" \\t\".isspa"
    "ce(), \"AB\".isupper(), \"ab\".islower(), \"\".isdigit(), \"a_1\".isidentifier())\n",
    "print(\"a=b=c\".partition(\"=\"), \"a=b=c\".rpartition(\"=\"), \"abc\".partition(\"x\"), \"abc\""
    ".rpartition(\"x\"))\n",
    "print(\"prefix-x\".removeprefix(\"prefix-\"), \"x.py\".removesuffix(\".py\"), \"a\\tb\".expandta"
    "bs(4))\n",
    "print(repr(\"it's\"), repr('say \"hi\"'), repr(\"both ' and \\\"\"), repr(\"tab\\tnl\\n\\\\ \\x0"
    "0\\x7f\"), repr(\"\303\251\342\202\254\360\237\230\200\"))\n",
    "print(\"\303\251\342\202\254\360\237\230\200\"[1], len(\"\303\251\342\202\254\360\237\230\200\")"
    ", \"\303\251\342\202\254\360\237\230\200\"[::-1], \"\303\251\342\202\254\360\237\230\200\".find("
    "\"\360\237\230\200\"))\n",
    "print(\"a\" \"b\" 'c', \"x\" * 3, 3 * \"ab\", \"x\" * 0, \"x\" * -1, \"a\" + \"b\")\n",
    "print(\"a\" < \"b\", \"abc\" < \"abd\", \"a\" < \"B\", \"\" < \"a\", \"abc\" == \"abc\", \"z\" >"
    " \"aa\")\n",
    "print(\"%d %s %r %5.2f|%-5d|%05d|%x|%X|%o|%e|%g|%%|%c|%+d\" % (5, \"s\", \"r\", 3.14159, 42, 42,"
    " 255, 255, 8, 12345.678, 0.0001, \"c\", 5))\n",
    "print(\"%s\" % \"one\", \"%s and %s\" % (\"a\", \"b\"), \"%(x)d %(y)s\" % {\"x\": 1, \"y\": \"tw"
    "o\"}, \"%5s|%-5s|%.2s\" % (\"ab\", \"ab\", \"abcdef\"))\n",
    "print(\"%*d\" % (6, 42), \"%.*f\" % (2, 3.14159), \"%i\" % 3.99, \"%s\" % [1, 2], \"%s\" % None,"
    " \"%5.1f%%\" % 99.5, \"%r\" % \"q\")\n",
    "print(\"{} {} {}\".format(1, \"a\", 2.5), \"{1} {0}\".format(\"a\", \"b\"), \"{x} {y!r}\".format"
    "(x=1, y=\"s\"), \"{:>8}|{:<8}|{:^8}|{:*^8}\".format(\"a\", \"b\", \"c\", \"d\"))\n",
    "print(\"{:5d}|{:<5d}|{:05d}|{:+d}|{: d}|{:,}|{:_}|{:x}|{:#x}|{:b}|{:#b}|{:o}|{:X}|{:c}\".format("
    "42, 42, 42, 42, 42, 1234567, 1234567, 255, 255, 5, 5, 8, 255, 65))\n",
    "print(\"{:.3f}|{:10.2f}|{:<10.2f}|{:e}|{:.2e}|{:g}|{:.3g}|{:%}|{:.1%}|{:,.2f}|{:08.3f}|{:+.1f}\""
    ".format(3.14159, 3.14159, 3.14159, 12345.678, 12345.678, 0.00001234, 1234567.0, 0.25, 0.256, 123"
    "4567.891, 3.14159, 2.0))\n",
    "print(\"{{}} {0[1]} {0[0]} {1.real}\".format([1, 2], 5) if False else \"{{}} {0[1]} {0[0]}\".for"
    "mat([1, 2]), \"{a[k]}\".format(a={\"k\": \"v\"}), \"{:{w}.{p}f}\".format(3.14159, w=10, p=2))\n",
    "n, f, name = 42, 3.14159, \"bob\"\n",
    "print(f\"{n} {f:.2f} {name!r} {name:>6}| {n:>{n // 6}} {n + 1} {{x}} {f:10.3e} {n=} {f=:.1f} {'n"
    "ested'} {name.upper()}\")\n",
    "print(f\"{n:08b} {n:,} {-n:+} {n:<6}| {n:^6}| {True} {None} {[1, 'a']} {1e-7} {1e20} {n:.1f} {n:"
    "e}\")\n",
    "print(f\"{f:5}|{f:<12}|{f:012.4f}|{1234.5678:.4}|{123.0:.3}|{0.0:.3}|{1e10:.3}|{100000.0:g}|{1e6"
    ":g}|{float('inf'):f}|{float('nan'):5}|{-0.0:.1f}\")\n",
    "print(f\"{'a':*<5}{'b':->5}{'c':_^5}\", f\"{'abc':.2}\", f\"{12:#x} {12:#o} {3.0:#.0f} {1234:6_}"
    "\", f\"{True:d} {True:5} {'%'}\")\n",
    "print(format(3.5, \".2f\"), format(\"x\", \">3\"), format(10, \"b\"), str(3.0), str(10**15), rep"
    "r(1.5), str([1.0, 'a', None, (1,), {}]))\n",
    "print(\"a\\\\n\", r\"a\\n\", \"\\x41\\u00e9\\101\", \"\\\n",
    "joined\")\n",
    "print('''tri\n",
    "ple''', \"\"\"q\"uote\"\"\")\n",
    "print(\"Hello\" \"World\".lower(), \"abc\".encode().decode(), ascii(\"x\"), \"A\".casefold())\n",
    NULL,
};

static const char *const text_output[] = {
    "Hello, World 'Hello, World' 12 H d ell Hello World dlroW ,olleH Hlo ol Worl  \n",
    "HELLO, WORLD hello, world hELLO, wORLD Hello World Hello\n",
    "4 8 -1 7 3 13 8 -1\n",
    "True True True True True\n",
    "x| x |   x| a abca \303\251 a\n",
    "['a', 'b', '', 'c'] ['a', 'b', 'c'] ['a', 'b,c'] ['a', 'b c'] ['a,b', 'c'] ['  a b', 'c']\n",
    "['l1', 'l2', 'l3'] ['a\\n', 'b'] [] ['']\n",
    "a-b-c  0, 1, 2, 3\n",
    "a--b--c bba -a-b-c- x\n",
    "007 -007 ab   | ***ab ---ab--  abc  |   ab |\n",
    "True False True True True True True False True\n",
    "('a', '=', 'b=c') ('a=b', '=', 'c') ('abc', '', '') ('', '', 'abc')\n",
    "x x a   b\n",
    "\"it's\" 'say \"hi\"' 'both \\' and \"' 'tab\\tnl\\n\\\\ \\x00\\x7f' '\303\251\342\202\254\360"
    "\237\230\200'\n",
    "\342\202\254 3 \360\237\230\200\342\202\254\303\251 2\n",
    "abc xxx ababab   ab\n",
    "True True False True True True\n",
    "5 s 'r'  3.14|42   |00042|ff|FF|10|1.234568e+04|0.0001|%|c|+5\n",
    "one a and b 1 two    ab|ab   |ab\n",
    "    42 3.14 3 [1, 2] None  99.5% 'q'\n",
    "1 a 2.5 b a 1 's'        a|b       |   c    |***d****\n",
    "   42|42   |00042|+42| 42|1,234,567|1_234_567|ff|0xff|101|0b101|10|FF|A\n",
    "3.142|      3.14|3.14      |1.234568e+04|1.23e+04|1.234e-05|1.23e+06|25.000000%|25.6%|1,234,567."
    "89|0003.142|+2.0\n",
    "{} 2 1 v       3.14\n",
    "42 3.14 'bob'    bob|      42 43 {x}  3.142e+00 n=42 f=3.1 nested BOB\n",
    "00101010 42 -42 42    |   42  | True None [1, 'a'] 1e-07 1e+20 42.0 4.200000e+01\n",
    "3.14159|3.14159     |0000003.1416|1.235e+03|1.23e+02|0.0|1e+10|100000|1e+06|inf|  nan|-0.0\n",
    "a****----b__c__ ab 0xc 0o14 3.  1_234 1     1 %\n",
    "3.50   x 1010 3.0 1000000000000000 1.5 [1.0, 'a', None, (1,), {}]\n",
    "a\\n a\\n A\303\251A joined\n",
    "tri\n",
    "ple q\"uote\n",
    "helloworld abc 'x' a\n",
    NULL,
};

TEST(text)
{
    check_program(text_program, text_output);
}

static const char *const containers_program[] = {
    "a = [3, 1, 2]\n",
    "print(a, a[0], a[-1], a[1:], a[::-1], len(a), a + [4], a * 2, [0] * 3, '' * 2**31 == '', [] == [], [1, "
    "2] < [1, 3]"
    ", [1] < [1, 0], [2] > [1, 5])\n",
    "a.append(5); a.extend([7, 8]); a.insert(0, 9); a.insert(-1, 6); a.insert(100, 10)\n",
    "print(a, a.pop(), a.pop(0), a, a.index(2), a.count(5))\n",
    "a.remove(5); a.reverse(); print(a); a.sort(); print(a); a.sort(reverse=True); print(a); a.sort(k"
    "ey=lambda v: v % 3); print(a)\n",
    "b = a.copy(); b.clear(); print(a, b)\n",
    "a[0] = 100; a[-1] = -1; print(a)\n",
    "a[1:3] = [\"x\", \"y\", \"z\"]; print(a)\n",
    "a[::2] = [0] * len(a[::2]); print(a)\n",
    "del a[0]; print(a); del a[1:3]; print(a)\n",
    "a = list(range(10)); del a[::3]; print(a); del a[-2:]; print(a)\n",
    "t = (1, 2, 3)\n",
    "print(t, (1,), (), t[1], t[1:], t + (4,), t * 2, len(t), t.index(3), t.count(1), (1, 2) == (1, 2"
    "), (1, \"a\") < (2, \"\"), 2 in t, hash((1, 2)) == hash((1, 2)))\n",
    "x, y, z = t; print(x, y, z)\n",
    "x, (y, z) = 1, (2, 3); print(x, y, z)\n",
    "first, *rest = [1, 2, 3, 4]; print(first, rest)\n",
    "*init, last = \"abcd\"; print(init, last)\n",
    "p, *q, r = range(5); print(p, q, r)\n",
    "x, y = y, x; print(x, y)\n",
    "m = n = []; m.append(1); print(n)\n",
    "d = {\"a\": 1, \"b\": 2, 3: \"c\", (1, 2): \"t\", None: 0, 1.5: \"f\", True: \"T\"}\n",
    "print(d, d[\"a\"], d[3], d[(1, 2)], d[None], d[1], d[1.0], len(d))\n",
    "d[\"z\"] = 26; d[\"a\"] = -1; del d[\"b\"]; print(d)\n",
    "print(d.get(\"a\"), d.get(\"q\"), d.get(\"q\", 5), list(d.keys()), list(d.values()), list(d.item"
    "s()), \"a\" in d, \"q\" in d)\n",
    "print(d.pop(\"a\"), d.pop(\"nope\", None), d.setdefault(\"new\", []), d.setdefault(\"new\", 1), "
    "d.popitem())\n",
    "d.update({\"k\": 1}, j=2); print(d); d.update([(\"l\", 3)]); print(d)\n",
    "print({**{\"a\": 1}, \"b\": 2, **{\"a\": 3}}, dict(a=1, b=2), dict([(1, 2)]), dict({\"q\": 1}, w"
    "=2), {\"a\": 1} | {\"b\": 2}, dict.fromkeys(\"ab\", 0), dict(zip(\"ab\", [1, 2])))\n",
    "print({\"a\": 1} == {\"a\": 1.0}, {\"a\": 1, \"b\": 2} == {\"b\": 2, \"a\": 1}, {\"a\": 1} == {"
    "\"a\": 2})\n",
    "print({2 ** 126: 1}[2.0 ** 126], {-2 ** 126: 2}[-2.0 ** 126], {2.0 ** 127: 3}[2.0 ** 127])\n",
    "for k in {\"x\": 1, \"y\": 2}: print(k, end=\" \")\n",
    "for k, v in {\"x\": 1, \"y\": 2}.items(): print(k, v, end=\";\")\n",
    "print()\n",
    "s = {1, 2, 3}\n",
    "s.add(4); s.add(2); s.discard(9); s.remove(1); print(sorted(s), len(s), 4 in s, s == {2, 3, 4})\n",
    "print(sorted(s | {9}), sorted(s & {3, 4}), sorted(s - {3}), sorted(s ^ {4, 5}), s <= {2, 3, 4, 5"
    "}, s < {2, 3, 4}, s.issubset({2, 3, 4}), s.isdisjoint({7}), {1, 2} > {1})\n",
    "print(sorted(s.union([7], [8])), sorted(s.intersection([2, 9])), sorted(s.difference([2])), set("
    "), {1}, set(\"a\"), sorted(set([1, 1, 2])))\n",
    "print([i * i for i in range(5)], [i for i in range(10) if i % 2 if i > 3], [(i, j) for i in rang"
    "e(2) for j in range(i + 1)], [[0] * 2 for _ in range(2)])\n",
    "print({i: i * i for i in range(3)}, sorted({i % 3 for i in range(10)}), list(i for i in \"ab\"),"
    " sum(i for i in range(5)), max((len(w), w) for w in [\"a\", \"bbb\"]))\n",
    "print(list(range(5)), list(range(2, 8, 2)), list(range(5, 0, -1)), range(10)[3], range(10)[2:5],"
    " range(0, 10, 3)[-1], len(range(0, 10, 3)), range(3), range(1, 9, 2), list(range(3, 3)), range(3"
    ") == range(0, 3))\n",
    "print(list(zip([1, 2, 3], \"ab\")), list(enumerate(\"ab\")), list(enumerate(\"ab\", 1)), list(ma"
    "p(lambda v: v + 1, [1, 2])), list(map(lambda p, q: p * q, [1, 2], [3, 4])), list(filter(None, [0"
    ", 1, 2])), list(filter(lambda v: v > 1, [1, 2])), list(reversed([1, 2, 3])))\n",
    "print(sorted([3, 1, 2]), sorted(\"hello\"), sorted([1, 2, 3], reverse=True), sorted([\"bb\", \"a"
    "\"], key=len), sorted({\"b\": 1, \"a\": 2}), sorted([(1, \"b\"), (1, \"a\")]), sorted([(2, 1), ("
    "1, 9), (1, 3)], key=lambda q: q[0], reverse=True))\n",
    "print([*range(3), *\"ab\"], (*[1], 2), {*[1, 2], 2}, [1, [2, [3, (4,)]]], tuple([1, 2]), list((1"
    ", 2)), list(\"abc\"), tuple(\"ab\"), list({\"a\": 1}))\n",
    "it = iter([1, 2]); print(next(it), next(it), next(it, \"end\"))\n",
    "print(type([]).__name__, type(()) is tuple, isinstance(1, int), isinstance(True, int), isinstanc"
    "e(1, (str, float)), isinstance(\"a\", str), isinstance(None, type(None)), isinstance([], (list, "
    "tuple)), type(1) == int, type(1.0) == type(2.0))\n",
    "print(type(1), type(\"a\"), type(None), int, list, issubclass(bool, bool), callable(len), callab"
    "le(3), callable(lambda: 0))\n",
    "l = [1]; l += (2, 3); k = l; k += [4]; print(l)\n",
    "u = [1, 2]; v = u; u *= 2; print(v, u is v); u *= 0; print(v); u.append(3); print(v)\n",
    "s = {1, 2, 3}; t = s; s -= {1}; print(t, s is t); s &= {2, 3, 4}; print(t); s ^= {3, 5}; print(t)\n",
    "s |= {7}; s.add(9); print(sorted(t), len(t), 2 in t); s -= s; print(t); s.add(1); print(t)\n",
    "d = {1: 2}; c = d; d |= {3: 4}; print(c)\n",
    "f = frozenset([1, 2]); g = f; f -= {1}; f |= {4}; print(sorted(f), sorted(g))\n",
    "u = (1, 2); v = u; u += (3,); u *= 2; print(u, v)\n",
    "matrix = [[1, 2], [3, 4]]; matrix[1][0] = 9; matrix[0][1] += 5; print(matrix, [list(c) for c in "
    "zip(*matrix)])\n",
    "dd = {}; dd.setdefault(\"a\", []).append(1); dd[\"n\"] = dd.get(\"n\", 0) + 1; dd[\"n\"] += 5; p"
    "rint(dd)\n",
    "print(slice(1, 3), [0, 1, 2, 3][slice(1, 3)], slice(None, 2).stop)\n",
    "print([1, 2, 3].__class__.__name__, (lambda: 0).__name__, len.__name__)\n",
    "nested = {\"a\": [1, {\"b\": (2, 3)}]}; print(nested[\"a\"][1][\"b\"][0], nested)\n",
    "print(str({1: \"a\"}), repr({\"k\": None}), {1: {2: {}}}, [None, True, 1.5, \"s\"])\n",
    NULL,
};

static const char *const containers_output[] = {
    "[3, 1, 2] 3 2 [1, 2] [2, 1, 3] 3 [3, 1, 2, 4] [3, 1, 2, 3, 1, 2] [0, 0, 0] True True True True True\n",
    "[3, 1, 2, 5, 7, 6, 8] 10 9 [3, 1, 2, 5, 7, 6, 8] 2 1\n",
    "[8, 6, 7, 2, 1, 3]\n",
    "[1, 2, 3, 6, 7, 8]\n",
    "[8, 7, 6, 3, 2, 1]\n",
    "[6, 3, 7, 1, 8, 2]\n",
    "[6, 3, 7, 1, 8, 2] []\n",
    "[100, 3, 7, 1, 8, -1]\n",
    "[100, 'x', 'y', 'z', 1, 8, -1]\n",
    "[0, 'x', 0, 'z', 0, 8, 0]\n",
    "['x', 0, 'z', 0, 8, 0]\n",
    "['x', 0, 8, 0]\n",
    "[1, 2, 4, 5, 7, 8]\n",
    "[1, 2, 4, 5]\n",
    "(1, 2, 3) (1,) () 2 (2, 3) (1, 2, 3, 4) (1, 2, 3, 1, 2, 3) 3 2 1 True True True True\n",
    "1 2 3\n",
    "1 2 3\n",
    "1 [2, 3, 4]\n",
    "['a', 'b', 'c'] d\n",
    "0 [1, 2, 3] 4\n",
    "2 1\n",
    "[1]\n",
    "{'a': 1, 'b': 2, 3: 'c', (1, 2): 't', None: 0, 1.5: 'f', True: 'T'} 1 c t 0 T T 7\n",
    "{'a': -1, 3: 'c', (1, 2): 't', None: 0, 1.5: 'f', True: 'T', 'z': 26}\n",
    "-1 None 5 ['a', 3, (1, 2), None, 1.5, True, 'z'] [-1, 'c', 't', 0, 'f', 'T', 26] [('a', -1), (3,"
    " 'c'), ((1, 2), 't'), (None, 0), (1.5, 'f'), (True, 'T'), ('z', 26)] True False\n",
    "-1 None [] [] ('new', [])\n",
    "{3: 'c', (1, 2): 't', None: 0, 1.5: 'f', True: 'T', 'z': 26, 'k': 1, 'j': 2}\n",
    "{3: 'c', (1, 2): 't', None: 0, 1.5: 'f', True: 'T', 'z': 26, 'k': 1, 'j': 2, 'l': 3}\n",
    "{'a': 3, 'b': 2} {'a': 1, 'b': 2} {1: 2} {'q': 1, 'w': 2} {'a': 1, 'b': 2} {'a': 0, 'b': 0} {'a'"
    ": 1, 'b': 2}\n",
    "True True False\n",
    "1 2 3\n",
    "x y x 1;y 2;\n",
    "[2, 3, 4] 3 True True\n",
    "[2, 3, 4, 9] [3, 4] [2, 4] [2, 3, 5] True False True True True\n",
    "[2, 3, 4, 7, 8] [2] [3, 4] set() {1} {'a'} [1, 2]\n",
    "[0, 1, 4, 9, 16] [5, 7, 9] [(0, 0), (1, 0), (1, 1)] [[0, 0], [0, 0]]\n",
    "{0: 0, 1: 1, 2: 4} [0, 1, 2] ['a', 'b'] 10 (3, 'bbb')\n",
    "[0, 1, 2, 3, 4] [2, 4, 6] [5, 4, 3, 2, 1] 3 range(2, 5) 9 4 range(0, 3) range(1, 9, 2) [] True\n",
    "[(1, 'a'), (2, 'b')] [(0, 'a'), (1, 'b')] [(1, 'a'), (2, 'b')] [2, 3] [3, 8] [1, 2] [2] [3, 2, 1"
    "]\n",
    "[1, 2, 3] ['e', 'h', 'l', 'l', 'o'] [3, 2, 1] ['a', 'bb'] ['a', 'b'] [(1, 'a'), (1, 'b')] [(2, 1"
    "), (1, 9), (1, 3)]\n",
    "[0, 1, 2, 'a', 'b'] (1, 2) {1, 2} [1, [2, [3, (4,)]]] (1, 2) [1, 2] ['a', 'b', 'c'] ('a', 'b') ["
    "'a']\n",
    "1 2 end\n",
    "list True True True False True True True True True\n",
    "<class 'int'> <class 'str'> <class 'NoneType'> <class 'int'> <class 'list'> True True False True\n",
    "[1, 2, 3, 4]\n",
    "[1, 2, 1, 2] True\n",
    "[]\n",
    "[3]\n",
    "{2, 3} True\n",
    "{2, 3}\n",
    "{2, 5}\n",
    "[2, 5, 7, 9] 4 True\n",
    "set()\n",
    "{1}\n",
    "{1: 2, 3: 4}\n",
    "[2, 4] [1, 2]\n",
    "(1, 2, 3, 1, 2, 3) (1, 2)\n",
    "[[1, 7], [9, 4]] [[1, 9], [7, 4]]\n",
    "{'a': [1], 'n': 6}\n",
    "slice(1, 3, None) [1, 2] 2\n",
    "list <lambda> len\n",
    "2 {'a': [1, {'b': (2, 3)}]}\n",
    "{1: 'a'} {'k': None} {1: {2: {}}} [None, True, 1.5, 's']\n",
    NULL,
};

TEST(containers)
{
    check_program(containers_program, containers_output);
}

static const char *const modules_program[] = {
    "import math, os, sys, time\n",
    "import functools\n",
    "import itertools as it\n",
    "from functools import partial, reduce, lru_cache, wraps\n",
    "from itertools import product, chain\n",
    "import os.path\n",
    "from math import sqrt, pi as PI\n",
    "print(math.sqrt(2), math.pi, math.floor(-1.5), math.ceil(1.2), math.log(8, 2), math.log2(8), mat"
    "h.log10(1000), math.exp(0), math.inf, math.isnan(math.nan), math.gcd(12, 18), math.prod([1, 2, 3"
    "]), math.trunc(-2.7), math.fabs(-1), math.pow(2, 3), math.sin(0.5), math.cos(0.5), math.tanh(0.5"
    "), math.hypot(3, 4), math.isqrt(17), math.factorial(5), math.log1p(0.5), math.erf(0.5), math.isc"
    "lose(1, 1 + 1e-10), math.copysign(1, -0.0), math.lcm(4, 6), math.atan2(1, 2), math.degrees(PI), "
    "math.fmod(-7, 3), math.comb(5, 2) if False else 10)\n",
    "print(sqrt(16), PI)\n",
    "print(partial(lambda a, b, c=0: (a, b, c), 1, c=5)(2), reduce(lambda a, b: a * b, [1, 2, 3, 4]),"
    " reduce(lambda a, b: a + b, [], 10))\n",
    "@lru_cache(maxsize=None)\n",
    "def sq(x): return x * x\n",
    "@functools.cache\n",
    "def cu(x): return x ** 3\n",
    "def logged(fn):\n",
    "    @wraps(fn)\n",
    "    def inner(*a): return fn(*a)\n",
    "    return inner\n",
    "@logged\n",
    "def plus(a, b): return a + b\n",
    "print(sq(5), cu(2), plus(1, 2))\n",
    "print(list(product([1, 2], \"ab\")), list(chain([1], [2, 3])), list(it.product([0, 1], repeat=2)"
    "), list(it.combinations([1, 2, 3], 2)), list(it.permutations(\"abc\", 2)), list(it.accumulate([1"
    ", 2, 3])), list(it.islice(it.count(5), 3)), list(it.islice([1, 2, 3, 4, 5], 1, 4, 2)), list(it.r"
    "epeat(\"x\", 2)), list(zip(it.count(), \"ab\")), list(it.zip_longest([1], [2, 3])))\n",
    "print(os.path.basename(\"/a/b/c.py\"), os.path.dirname(\"/a/b/c.py\"), os.path.join(\"a\", \"b\""
    ", \"/c\", \"d\"), os.path.splitext(\"x/y.tar.gz\"))\n",
    "print(os.environ.get(\"NESO_TEST_UNSET\"), os.environ.get(\"NESO_TEST_UNSET\", \"d\"), os.getenv"
    "(\"NESO_TEST_UNSET\", \"e\"))\n",
    "os.environ[\"NESO_TEST_X\"] = \"1\"\n",
    "print(os.environ[\"NESO_TEST_X\"], \"NESO_TEST_X\" in os.environ)\n",
    "try: os.environ[\"NESO_TEST_UNSET\"]\n",
    "except KeyError as e: print(\"KeyError\", e)\n",
    "t = time.time(); print(isinstance(t, float), time.perf_counter() <= time.perf_counter())\n",
    "print(\"to stderr\", file=sys.stderr)\n",
    "sys.stdout.write(\"written\\n\")\n",
    "print(\"a\", \"b\", sep=\"-\", end=\"!\\n\"); print(); print(\"x\", end=\"\"); print(\"y\"); pri"
    "nt(*[1, 2], sep=\"\")\n",
    "import contextlib, copy, operator, warnings\n",
    "from contextlib import nullcontext\n",
    "with nullcontext(5) as v: print(v)\n",
    "with contextlib.suppress(ValueError): raise ValueError(\"x\")\n",
    "l = [[1], 2]; c = copy.copy(l); d = copy.deepcopy(l); l[0].append(9); print(c, d)\n",
    "f = copy.copy(frozenset([1])); g = f; g |= {2}; print(sorted(f), copy.deepcopy(f) == f)\n",
    "print(operator.add(1, 2), operator.itemgetter(1)([5, 6]), sorted([(1, 3), (2, 1)], key=operator."
    "itemgetter(1)))\n",
    "from typing import List, Optional\n",
    "def f(a: List[int], b: Optional[str] = None) -> \"Tuple\": return a\n",
    "print(f([1]))\n",
    NULL,
};

static const char *const modules_output[] = {
    "1.4142135623730951 3.141592653589793 -2 2 3.0 3.0 3.0 1.0 inf True 6 6 -2 1.0 8.0 0.479425538604"
    "203 0.8775825618903728 0.46211715726000974 5.0 4 120 0.4054651081081644 0.5204998778130465 True "
    "-1.0 12 0.4636476090008061 180.0 -1.0 10\n",
    "4.0 3.141592653589793\n",
    "(1, 2, 5) 24 10\n",
    "25 8 3\n",
    "[(1, 'a'), (1, 'b'), (2, 'a'), (2, 'b')] [1, 2, 3] [(0, 0), (0, 1), (1, 0), (1, 1)] [(1, 2), (1,"
    " 3), (2, 3)] [('a', 'b'), ('a', 'c'), ('b', 'a'), ('b', 'c'), ('c', 'a'), ('c', 'b')] [1, 3, 6] "
    "[5, 6, 7] [2, 4] ['x', 'x'] [(0, 'a'), (1, 'b')] [(1, 2), (None, 3)]\n",
    "c.py /a/b /c/d ('x/y.tar', '.gz')\n",
    "None d e\n",
    "1 True\n",
    "KeyError 'NESO_TEST_UNSET'\n",
    "True True\n",
    "written\n",
    "a-b!\n",
    "\n",
    "xy\n",
    "12\n",
    "5\n",
    "[[1, 9], 2] [[1], 2]\n",
    "[1] True\n",
    "3 6 [(2, 1), (1, 3)]\n",
    "[1]\n",
    NULL,
};

TEST(modules)
{
    check_program(modules_program, modules_output);
}
