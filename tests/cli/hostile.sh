# SPDX-License-Identifier: MIT
# Tests hostile inputs: signatures, options, missing files, garbage, lines of 10 MB, deep nesting, endless constants and loops, invalid
# IR. For each input, neso must end soon, without a crash, with exit status 1 or 2, and with exactly the messages in
# tests/errors/hostile.txt. tests/run --accept tests/cli/hostile.sh rewrites that file. With --all (EVERY=1), large inputs have 10 MB
# instead of 1 MB.
expected=$NESO_ROOT/tests/errors/hostile.txt
mb=1; [ -n "${EVERY:-}" ] && mb=10
fail=0 n=0
[ "$NESO_BUILD" = build/san ] || ulimit -v 6000000

# case_ NAME ARGUMENT...: runs neso, and adds its messages to the transcript: at most 12 lines of 300 bytes.
case_() {
    local name=$1 got; shift
    "$NESO_LIMIT" 60 "$NESO" "$@" >out 2>err </dev/null
    got=$?
    [ $got = 1 ] || [ $got = 2 ] || { echo "$name: exit $got: $(head -c 2000 err)" >&2; fail=1; }
    n=$((n + 1))
    { echo "== $name: exit $got"; cut -c 1-300 err | grep -vE '^note: (source|compiler) is |AddressSanitizer failed' | head -n 12; } >>found
}
compile() { case_ "$1" compile k.py --signature "$2"; }                           # NAME SIGNATURE; uses the existing k.py
write() { { echo "$head"; sed 's/^/    /'; } >k.py; }                              # <<BODY
body() { write; compile "$@"; }                                                  # NAME SIGNATURE <<BODY
host() { cat >k.py; case_ "$1" run --device interpreter --memory-limit 1G k.py; }                    # NAME <<PROGRAM
ir() { cat >k.ir; case_ "$1" compile k.ir "${@:2}"; }                              # NAME [OPTION...] <<IR
many() { awk -v s="$1" -v n="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s", s }'; } # TEXT TIMES
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}allocator_may_return_null=1
head='import triton
import triton.language as tl

@triton.jit
def k(X, n, N: tl.constexpr):'

# -- signatures --
write <<<'tl.store(X + tl.arange(0, N), n)'
compile "nothing but commas" ",,"
compile "a star alone" "*, i32, 16"
compile "two stars" "**fp32, i32, 16"
compile "no such alignment" "*fp32:15, i32, 16"
compile "no such float" "*fp12, i32, 16"
compile "a number beyond 64 bits" "*fp32, i32, 99999999999999999999999"
compile "a number of 10,000 digits" "*fp32, i32, $(many 9 10000)"
compile "one parameter twice" "X=*fp32, X=*fp32, n=i32, N=16"
compile "10,000 entries" "$(many '*fp32,' 10000)"
compile "10,000 brackets" "*fp32, i32, $(many '(' 10000)"
compile "bytes that are no text" $'\xff\xfe, i32, 16'
compile "a line break" $'*fp32,\ni33, 16'
compile "a constexpr that is no constant" "*fp32, i32, tl"
compile "a constexpr that is code" "*fp32, i32, print(1)"
compile "a constexpr that divides by 0" "*fp32, i32, 1 // 0"
compile "a constexpr without an end" "*fp32, i32, 'a"
compile "a type for a constexpr" "*fp32, i32, fp32"
compile "a pointer to pointers" "*(*fp32), i32, 16"

# -- options --
ok="*i32:16, i32, 16"
for o in "--num-warps 0" "--num-warps 64" "--num-warps 99999999999999999999" "--num-warps 4x" "--num-stages -1" "--num-stages 1000000000" \
    "--maxnreg -7" "--maxnreg 100000" "--target sm_90" "--target $(many x 5000)" "--emit everything" "--passes nonsense" \
    "--skip nonsense" "--stop-after nonsense" "--print-after ,,," "--explain nonsense" "--num-warps=" "-o" "--" \
    "--emit sass,ptx"; do
    # shellcheck disable=SC2086
    case_ "option ${o:0:60}" compile k.py --signature "$ok" $o
done
case_ "a kernel without a name" compile k.py:: --signature "$ok"
case_ "a kernel without a file" compile ::k --signature "$ok"
case_ "a kernel of a kernel" compile k.py::k::k --signature "$ok"
case_ "a kernel's name of 5,000 letters" compile "k.py::$(many k 5000)" --signature "$ok"
case_ "no file's name" compile "" --signature "$ok"
case_ "a file's name of 5,000 letters" compile "$(many k 5000).py" --signature "$ok"
case_ "a device without a number" run --device cuda: k.py
case_ "a device of a large number" run --device cuda:99999999999 k.py
case_ "a breakpoint nowhere" run --device interpreter --break k.py k.py
case_ "a breakpoint that is no number" run --device interpreter --break k.py:x@y k.py
case_ "variants of nothing" variants k.py::k
case_ "help on nothing" help ""

# -- files --
mkdir folder.py; ln -s loop.py loop.py; : >empty.py; : >empty.ir; ln -s gone.py dangling.py
for f in folder.py loop.py empty.py empty.ir dangling.py empty.py/k.py; do case_ "the file $f" compile $f --signature "$ok"; done
binary() { printf '\x7fELF\x02\x01\x01\0\0\0'; many $'\x03\xfe@\n' 1000; }
binary >k.py; compile "a program of the machine" "$ok"
binary >k.ir; case_ "a program of the machine as IR" compile k.ir
printf 'x\0\0\0' >k.py; compile "zero bytes" "$ok"
printf '\xef\xbb\xbfx = (\n' >k.py; compile "a mark of byte order, then an error" "$ok"
printf '\xff\xfei\0m\0p\0o\0r\0t\0' >k.py; compile "UTF-16" "$ok"
printf 'x = "\xe4"\n' >k.py; compile "Latin 1 in a string" "$ok"
printf '# \xe4\nx = 1\n' >k.py; compile "Latin 1 in a comment" "$ok"
printf 'x = "\xc0\xaf"\n' >k.py; compile "an overlong sequence" "$ok"
printf 'x = "\xed\xa0\x80"\n' >k.py; compile "half a surrogate pair" "$ok"
printf 'x = 1\r\ny = (2\r\nz = 3\r\n' >k.py; compile "CRLF, and a bracket" "$ok"
printf 'x = 1\ry = 2\r' >k.py; compile "CR alone" "$ok"
printf 'x = 1 \\' >k.py; compile "a backslash at the end" "$ok"
printf 'x = """abc\n%.0s' 1 2 3 >k.py; printf '"' >>k.py; compile "three quotes, two of them never" "$ok"
printf 'kernel @k() warps=4 \xff' >k.ir; case_ "IR that is no text" compile k.ir
printf 'kernel @k() warps=4 \0 {' >k.ir; case_ "IR with a zero byte" compile k.ir

# -- large --
big() { many "$1" $((mb * 1000000 / ${#1})); }
{ printf 'x = '; big 1; } >k.py; compile "a number of megabytes" "$ok"
{ printf 'x = "'; big a; } >k.py; compile "a string of megabytes, never closed" "$ok"
big 'a' >k.py; compile "a name of megabytes" "$ok"
big '(' >k.py; compile "megabytes of brackets" "$ok"
big '[(' >k.py; compile "megabytes of two brackets" "$ok"
big '$' >k.py; compile "megabytes of dollars" "$ok"
big '@a ' >k.py; compile "megabytes of decorators" "$ok"
{ printf 'x = 1'; big '+1'; echo '+'; } >k.py; compile "megabytes of a sum without its end" "$ok"
{ printf 'x = 1'; big ' +1'; echo; } >k.py; compile "megabytes of a sum" "$ok"
{ printf 'x = '; big 'not '; echo 1; } >k.py; compile "megabytes of not" "$ok"
{ printf 'x = '; big '-'; echo 1; } >k.py; compile "megabytes of minus" "$ok"
{ printf 'x = '; big '1 if 1 else '; echo 1; } >k.py; compile "megabytes of choices" "$ok"
{ printf 'x = f'; big '()'; echo; } >k.py; compile "megabytes of calls" "$ok"
{ printf 'x = f'; big '.f'; echo; } >k.py; compile "megabytes of dots" "$ok"
{ printf 'x = f'; big '[0]'; echo; } >k.py; compile "megabytes of items" "$ok"
{ printf 'x = '; big 'lambda: '; echo 1; } >k.py; compile "megabytes of lambdas" "$ok"
{ printf 'x = 1'; big ' < 1'; echo; } >k.py; compile "megabytes of comparisons" "$ok"
{ printf 'x = 2'; big ' ** 2'; echo; } >k.py; compile "megabytes of powers" "$ok"
{ printf 'x = '; big 'x = '; echo; } >k.py; compile "megabytes of assignments" "$ok"
{ printf 'if x:\n  pass\n'; many $'elif x:\n  pass\n' 100000; } >k.py; compile "100,000 elif" "$ok"
awk 'BEGIN { for (i = 0; i < 1000; i++) printf "%*sif 1:\n", i, "" }' >k.py; compile "a thousand levels of if" "$ok"
awk 'BEGIN { for (i = 0; i < 1000; i++) printf "%*sdef f():\n", i, "" }' >k.py; compile "a thousand levels of def" "$ok"
awk 'BEGIN { for (i = 0; i < 1000; i++) printf "%*sfor i in x:\n", i, "" }' >k.py; compile "a thousand levels of for" "$ok"
{ big '%'; } >k.ir; case_ "megabytes of percents as IR" compile k.ir
{ printf 'kernel @'; big k; } >k.ir; case_ "a kernel's name of megabytes" compile k.ir
head -c 17000000 /dev/zero | tr '\0' '#' >k.py; compile "17 MB of comment" "$ok"; rm k.py

# -- loops and constants, in a program --
host "a string times a number" <<<$'x = "a" * 10 ** 15'
host "a list times a number" <<<$'x = [0] * 10 ** 15'
host "a power of a power" <<<$'x = 10 ** 10 ** 10'
host "a shift" <<<$'x = 1 << 10 ** 9'
host "a negative shift" <<<$'x = 1 << -1'
host "a function of itself" <<<$'def f(x):\n    return f(x + 1)\nf(0)'
host "two functions of each other" <<<$'def f(x):\n    return g(x)\ndef g(x):\n    return f(x)\nf(0)'
host "a lambda of itself" <<<$'f = lambda x: f(x)\nf(0)'
host "a list in itself" <<<$'x = []\nx.append(x)\nprint(x)\nassert x == [x, 1]\nassert False'
host "a list in itself, compared" <<<$'x = []\nx.append(x)\ny = []\ny.append(y)\nprint(x == y)\nassert False'
host "a program that imports itself" <<<$'import k\nk.f()'
host "a tensor of all" <<<$'import torch\nx = torch.zeros(10 ** 15)'
host "a tensor of less than nothing" <<<$'import torch\nx = torch.zeros(-5)'
host "a tensor of many dimensions" <<<$'import torch\nx = torch.zeros([2] * 1000)'

# -- loops and constants, in a kernel --
body "a loop without end in a kernel, unrolled" "*i32, i32, 1000000000" <<<$'for i in tl.static_range(N):\n    tl.store(X + i, n)'
body "a tuple that grows" "*i32, i32, 1000" <<<$'t = (1, 2)\nfor i in tl.static_range(N):\n    t = t + t'
body "loops in loops" "*i32, i32, 100" <<<$'for a in tl.static_range(N):\n    for b in tl.static_range(N):\n        for c in tl.static_range(N):\n            for d in tl.static_range(N):\n                n += 1\ntl.store(X, n)'
body "a step of 0" "*i32, i32, 16" <<<$'for i in tl.static_range(0, N, 0):\n    tl.store(X, i)'
body "a step of 0 in range" "*i32, i32, 0" <<<$'for i in range(0, 5, N):\n    tl.store(X, i)'
body "an arange of 2 to the 31st" "*i32, i32, 2147483648" <<<$'tl.store(X + tl.arange(0, N), n)'
body "an arange of 2 to the 62nd" "*i32, i32, 4611686018427387904" <<<$'tl.store(X + tl.arange(0, N), n)'
body "an arange of nothing" "*i32, i32, 0" <<<$'tl.store(X + tl.arange(0, N), n)'
body "an arange backwards" "*i32, i32, -16" <<<$'tl.store(X + tl.arange(0, N), n)'
body "zeros beyond all tiles" "*i32, i32, 65536" <<<$'tl.store(X, tl.sum(tl.sum(tl.zeros((N, N), tl.int32), 1), 0))'
body "zeros whose size wraps" "*i32, i32, 4294967296" <<<$'tl.store(X, tl.sum(tl.sum(tl.zeros((N, N), tl.int32), 1), 0))'
body "a constant beyond 64 bits" "*i32, i32, 9223372036854775807" <<<$'tl.store(X, N * N * N)'
body "a constant shift" "*i32, i32, 1000000" <<<$'tl.store(X, 1 << N)'
body "a constant division" "*i32, i32, 0" <<<$'tl.store(X, 1 // N)'
body "a constant remainder" "*i32, i32, 0" <<<$'tl.store(X, 1 % N)'
body "a constant power" "*i32, i32, 1000000" <<<$'tl.store(X, N ** N ** N)'
body "a string for a number" "*i32, i32, 'abc'" <<<$'tl.store(X + tl.arange(0, N), n)'
body "not a number for a number" "*i32, i32, 1.5" <<<$'tl.store(X + tl.arange(0, N), n)'
body "a kernel that calls itself" "*i32, i32, 16" <<<$'k(X, n, N)'
body "a kernel of nothing but names" "*i32, i32, 16" <<<$'a.b.c.d(e[f](g))'
body "a reshape to less" "*i32, i32, 16" <<<$'x = tl.reshape(tl.arange(0, N), (N // 2, N))\ntl.store(X, n)'
body "a reshape to nothing" "*i32, i32, 16" <<<$'x = tl.reshape(tl.arange(0, N), (0, N))\ntl.store(X, n)'
body "a view of a negative size" "*i32, i32, 16" <<<$'x = tl.view(tl.arange(0, N), (-4, -4))\ntl.store(X, n)'
body "a tile of 64 MB in shared memory" "*fp16, i32, 1024" <<<$'i = tl.arange(0, N)\na = tl.load(X + i[:, None] * N + i)\ntl.store(X + i[:, None] * N + i, tl.dot(a, a).to(tl.float16))'

# -- IR --
k='kernel @k(%x: ptr<f16> {divisible=16}, %n: i32) warps=4 stages=3 target=sm_90a degree=traced {'
one() { ir "$1" <<<"$k"$'\n'"$2"$'\n  return\n}'; } # NAME LINE
map='  map #m0 = f16 base=[%x] extents=[%n, 64] strides=[%n 2 *, 2] box=[64 64]'
one "IR: no such op" '  %a = explode %n : i32'
one "IR: no such type" '  %a = const value=0 : i33'
one "IR: no such value" '  %a = add %n, %m : i32'
one "IR: a value twice" $'  %a = const value=0 : i32\n  %a = const value=0 : i32'
one "IR: a value of itself" '  %a = add %a, %n : i32'
one "IR: types that differ" '  %a = add %x, %n : i32'
one "IR: too few operands" '  %a = add %n : i32'
one "IR: too many operands" '  %a = add %n, %n, %n, %n : i32'
one "IR: a number too large" '  %a = const value=99999999999999999999999 : i32'
one "IR: a tile of 3" '  %a = splat %n : tile<3xi32>'
one "IR: a tile of 0" '  %a = splat %n : tile<0xi32>'
one "IR: a tile of less than nothing" '  %a = splat %n : tile<-4xi32>'
one "IR: a tile of too much" '  %a = splat %n : tile<1073741824x1073741824xi32>'
one "IR: a tile of many dimensions" "  %a = splat %n : tile<$(many 2x 40)i32>"
one "IR: a tile of tiles" '  %a = splat %n : tile<4xtile<4xi32>>'
one "IR: pointers to pointers without end" "  %a = cast %x : $(many 'ptr<' 5000)"
one "IR: a range backwards" '  %a = range start=64 end=0 : tile<64xi32>'
one "IR: a range of another length" '  %a = range start=0 end=63 : tile<64xi32>'
one "IR: an unknown attribute" '  %a = const value=0 colour=red : i32'
one "IR: a layout that is not there" '  %a = splat %n : tile<64xi32,#nope>'
one "IR: a layout of another shape" $'  layout #l = reg[1 2 4 8 16 32 64 128]\n  %a = splat %n : tile<64xi32,#l>'
one "IR: a layout of no power of two" $'  layout #l = reg[3] lane[5 7]\n  %a = splat %n : tile<64xi32,#l>'
one "IR: a layout without end" "  layout #l = reg[$(many '1 ' 5000)]"
one "IR: an axis that is not there" '  %a = program_id axis=7 : i32'
one "IR: an axis below 0" '  %a = program_id axis=-1 : i32'
one "IR: a copy by a map that is not there" $'  %c = const value=0 : i32\n  %a = tensor_load %c, %c map=0 : tile<64x64xf16>'
one "IR: a copy by map 1000000" "$map"$'\n  %c = const value=0 : i32\n  %a = tensor_load %c, %c map=1000000 : tile<64x64xf16>'
one "IR: a copy of another rank" "$map"$'\n  %c = const value=0 : i32\n  %a = tensor_load %c map=0 : tile<64x64xf16>'
one "IR: a map of six dimensions" '  map #m0 = f16 base=[%x] extents=[1, 1, 1, 1, 1, 1] strides=[2, 2, 2, 2, 2, 2] box=[1 1 1 1 1 1]'
one "IR: a map with an empty box" '  map #m0 = f16 base=[%x] extents=[%n, 64] strides=[%n, 2] box=[64 0]'
one "IR: a map that swizzles by 3" '  map #m0 = f16 base=[%x] extents=[%n, 64] strides=[%n, 2] box=[64 64] swizzle=3'
one "IR: a map with less strides" '  map #m0 = f16 base=[%x] extents=[%n, 64] strides=[2] box=[64 64]'
one "IR: a map out of order" '  map #m7 = f16 base=[%x] extents=[%n, 64] strides=[%n, 2] box=[64 64]'
one "IR: a map of a value" $'  %v = const value=0 : i32\n  map #m0 = f16 base=[%v] extents=[%n, 64] strides=[%n, 2] box=[64 64]'
one "IR: an expression of operators only" '  guard [+ + +]'
one "IR: an expression of two values" '  guard [%n %n]'
one "IR: an empty expression" '  guard []'
one "IR: an expression without end" "  guard [$(many '%n ' 20000)"
one "IR: an expression of grid 9" '  guard [grid9]'
one "IR: 100 maps" "$(for i in $(seq 0 99); do echo "  map #m$i = f16 base=[%x] extents=[%n, 64] strides=[%n, 2] box=[64 64]"; done)"
s='kernel @k(%x: ptr<f16>, %n: i32) warps=4 stages=3 target=sm_90a degree=scheduled shared=9216 {'
layouts=$'  layout #a = offset[(1,0) (2,0) (4,0) (8,0) (16,0) (32,0) (8,1) (16,2) (32,4) (0,8) (0,16)]\n  layout #c = reg[(0,1) (8,0)] lane[(0,2) (0,4) (1,0) (2,0) (4,0)] warp[(16,0) (32,0)]'
two() { ir "$1" <<<"$s"$'\n'"$2"$'\n  return\n}'; }
two "IR: wgmma of another inner dimension" "$layouts"$'\n  %a = shared_alloc offset=0 : shared<64x32xf16,#a>\n  %z = const value=0.0 : tile<64x8xf32,#c>\n  %d = mma_start %a, %a, %z : tile<64x8xf32,#c>'
two "IR: wgmma of no buffers" "$layouts"$'\n  %z = const value=0.0 : tile<64x8xf32,#c>\n  %d = mma_start %z, %z, %z : tile<64x8xf32,#c>'
two "IR: wgmma of scalars" '  %d = mma_start %n, %n, %n : i32'
two "IR: wgmma that adds integers" "$layouts"$'\n  %a = shared_alloc offset=0 : shared<64x32xf16,#a>\n  %z = const value=0 : tile<64x8xi32,#c>\n  %d = mma_start %a, %a, %z : tile<64x8xi32,#c>'
two "IR: an unscheduled op in a schedule" '  %r = range start=0 end=64 : tile<64xi32>'
two "IR: roles without warps" $'  warps () {\n    yield\n  } () {\n    yield\n  }'
two "IR: roles of too many warps" $'  warps warps=[4 4000000] () {\n    yield\n  } () {\n    yield\n  }'
two "IR: roles of negative warps" $'  warps warps=[-4 4] () {\n    yield\n  } () {\n    yield\n  }'
two "IR: a barrier that is not there" '  mbar_arrive %n'
ir "IR: 3 warps" <<<$'kernel @k() warps=3 stages=3 target=sm_90a degree=traced {\n  return\n}'
ir "IR: 0 warps" <<<$'kernel @k() warps=0 stages=3 target=sm_90a degree=traced {\n  return\n}'
ir "IR: 2 to the 31st warps" <<<$'kernel @k() warps=2147483648 stages=3 target=sm_90a degree=traced {\n  return\n}'
ir "IR: no such target" <<<$'kernel @k() warps=4 stages=3 target=sm_00 degree=traced {\n  return\n}'
ir "IR: no such degree" <<<$'kernel @k() warps=4 stages=3 target=sm_90a degree=none {\n  return\n}'
ir "IR: too much shared memory" <<<$'kernel @k() warps=4 stages=3 target=sm_90a degree=scheduled shared=2000000000 {\n  return\n}'
ir "IR: a kernel twice" <<<$'kernel @k() warps=4 stages=3 degree=traced {\n  return\n}\nkernel @k() warps=4 stages=3 degree=traced {\n  return\n}'
ir "IR: no end" <<<"$k"
ir "IR: no return" <<<"$k"$'\n}'
ir "IR: two returns" <<<"$k"$'\n  return\n  return\n}'
ir "IR: a pass that is past" --passes raise_tma_load <<<"$s"$'\n  return\n}'
{ echo "$k"; echo '  %0 = const value=0 : i32'; for ((i = 0; i < 2000; i++)); do echo "  for %i$i = %0 to %n step %n {"; done; } | ir "IR: 2,000 loops in loops"
{ printf 'kernel @k('; for ((i = 0; i < 3000; i++)); do printf '%%p%d: i64, ' $i; done; echo '%n: i32) warps=4 stages=3 target=sm_90a degree=traced {'; echo '  return'; echo '}'; } | ir "IR: 3,001 parameters"

# -- the cache's folder --
write <<<'tl.store(X + tl.arange(0, N), n)'
for f in empty.py k.py/cache "$(many d 5000)"; do
    NESO_CACHE=strict NESO_CACHE_DIR=$f case_ "a cache in ${f:0:20}" compile k.py --signature "$ok"
done
NESO_CACHE='' NESO_CACHE_DIR=empty.py "$NESO" compile k.py --signature "$ok" >out 2>err || { echo "a cache that is a file: $(cat err)"; fail=1; }

[ $n -gt 99 ] || { echo "only $n cases"; fail=1; }
[ "${ACCEPT:-}" != 1 ] || cp found "$expected"
# At 10 MB, some inputs exceed the memory limit before another error occurs. So messages that depend on the size are
# compared only at 1 MB.
compared() { awk -v all="$mb" '/^== / { on = all == 1 || !/megabytes/ } on' "$1"; }
diff -u <(compared "$expected") <(compared found) || fail=1
exit $fail
