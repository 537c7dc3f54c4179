# SPDX-License-Identifier: MIT
# Tests that every example of the language reference gives the result that the reference shows, and that every message
# that the reference names exists.
"$NESO" help language --markdown >page.md || exit 1
"$NESO" help errors >errors
fail=0

# Writes a program that contains a kernel for each example. An example of the module triton becomes host code. The file `want` has the
# expected results, each with the number and name of its example.
awk '
BEGIN {
    print "import torch\nimport triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n"
    print "@triton.jit\ndef helper(a):\n    if a > 2:\n        a = a * 10\n    return a\n"
    print "@triton.jit\ndef larger(a, b):\n    return tl.maximum(a, b)\n"
}
/^### / { name = $2; next }
/^```python/ { on = 1; ncode = 0; nshown = 0; next }
/^```/ && on {
    on = 0; n++
    print "== " n " " name > "want"
    for (k = 1; k <= nshown; k++) print shown[k] > "want"
    if (nshown && ncode) code[ncode] = "print(" code[ncode] ")"
    indent = name ~ /^triton\./ ? "" : "    "
    if (indent != "") printf "@triton.jit\ndef example_%d(X, N):\n    i = tl.arange(0, 4)\n    x = i + 1.0\n", n
    else printf "print(\"== %d %s\")\n", n, name
    for (k = 1; k <= ncode; k++) print indent code[k]
    print ""
    if (indent != "") {
        printf "\nprint(\"== %d %s\")\nX = torch.tensor([1.0, 2.0, 3.0, 4.0], device=\"cuda\")\n", n, name
        printf "N = torch.tensor([1, 2, 3, 4], dtype=torch.int32, device=\"cuda\")\n"
        printf name == "tl.inline_asm_elementwise" ? "" : "example_%d[(1,)](X, N)\n\n", n
    }
    next
}
on && /^# / { shown[++nshown] = substr($0, 3); next }
on { code[++ncode] = $0 }
' page.md >examples.py
"$NESO" run --device interpreter examples.py >found 2>err || { head -n 20 err; fail=1; }

# Compares results word by word, and numbers to five digits, because further digits depend on the C library.
awk '
function number(s) { return s ~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/ }
/^== / { name = $2 " " $3; if (FILENAME == "want") { order[++n] = name } next }
{ gsub(/[][(),]/, " & "); text[FILENAME, name] = text[FILENAME, name] " " $0 }
END {
    for (k = 1; k <= n; k++) {
        name = order[k]
        if (!(("want", name) in text)) continue
        a = split(text["want", name], x, " "); b = split(text["found", name], y, " ")
        same = a == b
        for (i = 1; i <= a && same; i++) {
            d = x[i] - y[i]; m = x[i] < 0 ? -x[i] : x[i]
            same = x[i] == y[i] "" || (number(x[i]) && number(y[i]) && (d < 0 ? -d : d) <= 1e-5 * m)
        }
        if (!same) { print name ":" text["found", name] ", expected" text["want", name]; bad = 1 }
    }
    if (n < 370) { print "only " n " examples"; bad = 1 }
    exit bad
}' want found || fail=1

# inline_asm_elementwise needs a device that executes PTX.
{ sed '/^@triton.jit$/,$d' examples.py
  awk '/^@triton.jit$/ { hold = $0; next } hold != "" { on = 0 } { hold = "" } /^def example_/ { body = ""; on = 1 } on { body = body $0 "\n" }
       /inline_asm/ { keep = 1 } keep && /^$/ { printf "@triton.jit\n%s", body; exit }' examples.py
  printf 'example = [f for name, f in list(globals().items()) if name.startswith("example_")][0]\n'
  printf 'example[(1,)](torch.ones(4, device="cuda"), torch.ones(4, dtype=torch.int32, device="cuda"))\n'
} >asm.py
"$NESO" run --device emulator asm.py >out 2>&1 || { echo "inline assembly:"; head -n 5 out; fail=1; }

grep '^Errors: ' page.md | grep -oE '`[a-z0-9-]+`' | tr -d '`' | sort -u | while read -r tag; do
    grep -q "^$tag " errors || { echo "no message has the tag $tag"; touch missing; }
done
"$NESO" help limits --markdown | grep -c '^| ' >rows
[ "$(cat rows)" -gt 50 ] || { echo "what is not supported has only $(cat rows) rows"; fail=1; }
"$NESO" help tl.load | grep -q 'mask-type: the mask must be of booleans' || { echo "no message in the entry of tl.load"; fail=1; }
[ ! -e missing ] || fail=1
exit $fail
