# SPDX-License-Identifier: MIT
# Tests that `neso check` finds errors without running kernels: launched kernels are compiled with the launches'
# types, other kernels with guessed types. Also tests that compile, inspect and diff use the signature of the file's
# launches.
fail=0
say() { echo "$*"; fail=1; }
check() { # EXIT TEXT ARGUMENT...
    local status=$1 text=$2 got; shift 2
    "$NESO" check "$@" >out 2>&1
    got=$?
    [ $got = "$status" ] || { say "check $*: exit $got, expected $status"; cat out; }
    [ -z "$text" ] || grep -qF -- "$text" out || { say "check $*: no '$text'"; cat out; }
}
head='import torch\nimport triton\nimport triton.language as tl\n'

cat >good.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def scale(X, Y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < n) * factor, mask=i < n)

@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(a_ptr + m[:, None] * stride_a + k[None, :]), tl.load(b_ptr + k[:, None] * stride_b + n[None, :]), acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))

x = torch.randn(1000, device='cuda')
y = torch.empty_like(x)
scale[(triton.cdiv(1000, 256),)](x, y, 1000, 2.5, BLOCK=256)
assert torch.allclose(y, x * 2.5)     # kernels do not run, so y has no values, but assertions pass
torch.testing.assert_close(y, x * 2.5)
scale[(2,)](x.half(), y, 1, 2.5, BLOCK=512, num_warps=8)
PY
check 0 '' good.py
[ ! -s out ] || { say "words about a good file"; cat out; }
"$NESO" check - <good.py || say "standard input"
# Errors in a kernel that is not launched: an unknown name, a bad range, and a call of a function that does not exist.
printf "$head"'@triton.jit\ndef k(X, n, B: tl.constexpr):\n    i = tl.arange(0, B)\n    tl.store(X + i, y, mask=i < n)\n' >name.py
check 1 "name.py:7:21: error: name 'y' is not defined [name]" name.py
check 1 'in k, which this file does not launch' name.py
printf "$head"'@triton.jit\ndef k(X):\n    tl.store(X + tl.arange(0, 100), 0.0)\n' >range.py
check 1 'range.py:6:18: error: tl.arange needs a power of 2' range.py
printf "$head"'@triton.jit\ndef k(X):\n    tl.store(X, tl.expp(1.0))\n' >builtin.py
check 1 "has no attribute 'expp'" builtin.py
# An error at a launch, with the launch's types. The program continues with the next launch.
printf "$head"'@triton.jit\ndef k(X, B: tl.constexpr):\n    tl.store(X + tl.arange(0, B), tl.sqrt(tl.load(X + tl.arange(0, B))))\nx = torch.ones(8, dtype=torch.int32)\nk[(1,)](x, B=8)\nk[(1,)](x.float(), B=8)\nk[(1,)](x.float(), B=7)\n' >launch.py
check 1 'tl.sqrt takes' launch.py
check 1 'tl.arange needs a power of 2' launch.py
printf "def f(:\n" >syntax.py
check 1 'syntax.py:1:6' syntax.py
check 1 "name 'y' is not defined" good.py name.py
check 2 'cannot read' missing.py
# Autotuning skips configurations that do not compile, and a program may catch the error.
printf "$head"'@triton.autotune([triton.Config({"B": 12}), triton.Config({"B": 16})], key=[])\n@triton.jit\ndef k(X, B: tl.constexpr):\n    tl.store(X + tl.arange(0, B), 1.0)\nk[(1,)](torch.ones(64))\n' >tuned.py
check 0 '' tuned.py
"$NESO" check --json good.py name.py launch.py >out; [ $? = 1 ] || say "--json: exit status"
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; tags = [d["tag"] for d in json.load(open("out")) if d["severity"] == "error"]
sys.exit(tags != ["name", "math-type", "arange-power", "arange-power"])' || { say "--json:"; cat out; }
fi

# For a kernel that is not launched, `neso check` prints the errors that occur with every guess of types, with their notes and
# hints.
printf "$head"'@triton.jit\ndef k(X, Y):\n    i = tl.arange(0, 16)\n    a = tl.load(X + i)\n    b = tl.load(Y + tl.arange(0, 32))\n    tl.store(X + i, a + b)\n' >shapes.py
check 1 "shapes.py:9:23: error: shapes do not broadcast: dimension 0 is 16 against 32" shapes.py
check 1 'shapes.py:7:9: note: this operand has shape [16]' shapes.py
printf "$head"'@triton.jit\ndef k(X):\n    i = tl.arange(0, 16)\n    tl.store(X + i, i.to(tl.fp16))\n' >hint.py
check 1 "hint: did you mean 'float16'?" hint.py
# If shapes disagree only because of the guessed constants, this is not an error: a launch may pass other constants.
printf "$head"'@triton.jit\ndef k(X, Y, B: tl.constexpr, HALF: tl.constexpr):\n    a = tl.load(X + tl.arange(0, B))\n    tl.store(X + tl.arange(0, HALF), tl.reshape(a, (2, HALF)) + tl.load(Y + tl.arange(0, B)))\n' >halves.py
"$NESO" check halves.py >out 2>&1; [ $? = 0 ] && grep -q 'note: k is not checked' out || { say "halves.py:"; cat out; }

# --watch checks again after each save, once (mv, because on a slow machine a watcher can see the empty file that cp makes first).
cp name.py watched.py
"$NESO" check --watch watched.py >out 2>&1 &
watcher=$!
seen() { for _ in $(seq 200); do [ "$(grep -c "$1" out)" -ge "$2" ] && return; sleep 0.05; done; say "--watch: no '$1' ($2)"; cat out; }
seen 'neso: errors; waiting' 1
sed 's/, y,/, 1.0,/' name.py >fixed && mv fixed watched.py
seen 'neso: no errors; waiting' 1
cp name.py fixed && mv fixed watched.py
seen 'neso: errors; waiting' 2
kill $watcher
wait $watcher 2>/dev/null
[ "$(grep -c "name 'y' is not defined" out)" = 2 ] || { say "--watch:"; cat out; }
check 2 '--watch needs files' --watch -

# Signatures from launches.
"$NESO" compile good.py >err 2>&1; [ $? = 2 ] || say "compile did not ask which launch"
grep -qF -- '--launch 1    good.py::scale --signature "*fp32:16, *fp32:16, i32, fp32, 256"' err || { say "the first launch:"; cat err; }
grep -qF -- '--launch 2    good.py::scale --signature "*fp16:16, *fp32:16, i32:1, fp32, 512" --num-warps 8' err || { say "the second launch:"; cat err; }
"$NESO" compile good.py --launch 2 >by_launch || say "--launch 2"
"$NESO" compile good.py::scale --signature "*fp16:16, *fp32:16, i32:1, fp32, 512" --num-warps 8 | cmp - by_launch || say "--launch 2 is another kernel"
"$NESO" compile good.py --launch 3 2>err; [ $? = 2 ] && grep -q 'launches 2 specializations' err && grep -q -- '--launch 1 .*::scale' err || say "--launch 3: $(cat err)"
"$NESO" compile good.py::skale --launch 1 2>err; [ $? = 2 ] && grep -q 'launches 0 specializations of skale' err && grep -q -- '--launch 1 .*::scale' err || say "a name with an error: $(cat err)"
sed '/num_warps=8/d' good.py >one.py
"$NESO" compile one.py | cmp - <("$NESO" compile one.py::scale --signature "*fp32:16, *fp32:16, i32, fp32, 256") || say "the only launch"
"$NESO" inspect one.py | grep -q 'signature      \*fp32:16, \*fp32:16, i32, fp32, 256' || say "inspect without a signature"
"$NESO" diff one.py --to-num-warps 8 >out; [ $? = 1 ] || { say "diff without a signature"; cat out; }
"$NESO" compile one.py::product >out 2>err; [ $? = 2 ] && grep -q "no entry for parameter 'a_ptr'" err || say "a kernel that is not launched: $(cat err)"
# Signatures from launches keep constants of all kinds, so the PTX is the same.
cat >constants.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def k(X, pair, N: tl.constexpr, T: tl.constexpr, S: tl.constexpr, F: tl.constexpr, Z: tl.constexpr, L: tl.constexpr):
    if S == "it's" and L[1] and Z is None:
        tl.store(pair[0] + tl.arange(0, N), (tl.load(X + tl.arange(0, N)) * F).to(T) + pair[1])

x = torch.ones(8, device='cuda')
k[(1,)](x, (x, 3), N=8, T=tl.float32, S="it's", F=0.1, Z=None, L=(1, True))
PY
"$NESO" run --device emulator --keep-ptx ptx constants.py || say "constants.py"
"$NESO" compile constants.py >out || say "constants: no signature"
cmp <(grep -v '^\.file' ptx/*.ptx) <(grep -v '^\.file' out) || say "constants: another kernel"
exit $fail
