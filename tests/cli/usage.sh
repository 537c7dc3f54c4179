# SPDX-License-Identifier: MIT
# Tests that bad usage and bad input end with exit status 2 and a message that suggests a correction, and that help and version end with 0.
fail=0

# expect STATUS TEXT ARGUMENT...: runs neso, checks its status and that its output contains TEXT.
expect() {
    local status=$1 text=$2 found
    shift 2
    found=$("$NESO" "$@" 2>&1 </dev/null)
    local got=$?
    if [ $got != "$status" ]; then
        echo "neso $*: exit $got, expected $status"; echo "$found" | head -n 5; fail=1
    elif ! grep -qF -- "$text" <<<"$found"; then
        echo "neso $*: expected to read: $text"; echo "$found" | head -n 5; fail=1
    fi
}

cat >k.py <<'PY'
import triton
import triton.language as tl

@triton.jit
def add(X, Y, Z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Z + i, tl.load(X + i, mask=i < n) + tl.load(Y + i, mask=i < n), mask=i < n)

@triton.jit
def copy(X, Y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i))
PY

for debug in '' '(debug=True)'; do
    printf 'import triton\nimport triton.language as tl\n@triton.jit%s\ndef k(X, n):\n    assert n < 5\n    tl.store(X, n)\n' "$debug" >"asserts$debug.py"
done
echo 'x = 1' >none.py
printf 'def f(:\n' >broken.py
mkdir folder
expect 2 "there is no help on 'tl.lod'; did you mean tl.log, tl.load?" help tl.lod
expect 2 "the topics are ops" help nonsense
expect 0 "# What is not supported" help limits
add='*fp32:16, *fp32:16, *fp32:16, i32:16, 1024'

expect 2 '`neso help COMMAND` shows the options of one'
expect 0 'neso 0.' --version
expect 0 'neso run' --help
expect 0 '--num-warps N' compile --help
expect 0 '--keep-ptx DIR' help run
expect 0 'interpreter, emulator, or best' help run
expect 0 'interpreter and emulator run on the CPU' help
for topic in ops passes params decisions insns errors targets language; do expect 0 '' help $topic; done
expect 0 'program_id' help ops
expect 0 'sm_90a' help targets
expect 2 "there is no help on 'oops'" help oops
expect 2 "unknown command 'complie'" complie k.py
expect 2 'did you mean --target?' compile k.py::add --tar sm_80
expect 2 'did you mean --signature?' compile k.py::add --signatur "$add"
expect 2 'compile has no option --device' compile k.py::add --device cuda
TRITON_DEBUG=1 expect 0 'call __assertfail' compile asserts.py::k --signature '*i32, i32'
TRITON_DEBUG=1 expect 0 'call __assertfail' compile 'asserts(debug=True).py::k' --signature '*i32, i32'
TRITON_DEBUG=0 expect 0 'call __assertfail' compile 'asserts(debug=True).py::k' --signature '*i32, i32'
"$NESO" compile asserts.py::k --signature '*i32, i32' | grep -q __assertfail && { echo "an assertion outside of debug mode"; fail=1; }
expect 2 '--signature needs ENTRIES' compile k.py::add --signature
expect 2 '--time takes no argument' compile k.py::add --time=1
expect 2 'usage: neso compile' compile
expect 2 "unexpected 'two.py'" compile k.py two.py
expect 2 'usage: neso run' run
# Tests that the command shows the error of the program that should launch the kernel, or the error about the option.
printf 'import torch\nfrom k import copy\nx = torch.ones(4)\ncopy[(1,)](x, y, BLOCK=4)\n' >fails.py
cat >launches.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def twice(X, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(X + i, tl.load(X + i, mask=i < n) * tow, mask=i < n)

twice[(1,)](torch.ones(32), 32, BLOCK=32)
PY
sed 's/tow/2/' launches.py >works.py
for command in compile inspect variants; do
    expect 2 "launches.py:8:50: error: name 'tow' is not defined" $command launches.py
    expect 2 "fails.py:4:15: error: NameError: name 'y' is not defined" $command fails.py
done
expect 2 "there is no pass 'vectorise'" compile works.py --skip vectorise
expect 2 "there is no parameter 'foo'" diff works.py --to-param foo=1
expect 0 '*fp32, i32:16, 32' variants works.py
expect 0 '*fp32:16, i32:1, 32' variants works.py
expect 0 '' lsp --help
expect 1 '' lsp --stdio
expect 2 "--num-warps: expected a number from 1 up, found 'x'" compile k.py::add --signature "$add" --num-warps x
expect 2 "found '-1'" compile k.py::add --signature "$add" --num-warps -1
expect 2 'num_warps must be a power of two' compile k.py::add --signature "$add" --num-warps 3
expect 2 "--emit: unknown 'spirv'" compile k.py::add --signature "$add" --emit spirv
expect 2 "unknown target 'sm_1'" compile k.py::add --signature "$add" --target sm_1
expect 2 'cannot read nosuch.py: No such file' compile nosuch.py
expect 2 'cannot read nosuch.py: No such file' run nosuch.py
expect 2 'cannot read folder' compile folder
expect 2 'cannot write nosuch/out' compile k.py::add --signature "$add" -o nosuch/out
expect 2 "unknown device 'toaster'" run --device toaster k.py
expect 2 'broken.py:1:6' compile broken.py
expect 2 'none.py has no kernel' compile none.py
expect 2 "there is no kernel 'sub'" compile k.py::sub
expect 2 'the kernels here: add, copy' compile k.py::sub
expect 2 'several kernels: choose one of add, copy' compile k.py
expect 2 "no entry for parameter 'X'" compile k.py::add
expect 2 'signature:1:8: error: unknown type' compile k.py::add --signature '*fp32, *fp31, *fp32, i32, 16'
expect 2 'expected :16' compile k.py::add --signature '*fp32:8, *fp32, *fp32, i32, 16'
expect 2 "parameter 'BLOCK' is a constexpr" compile k.py::add --signature '*fp32, *fp32, *fp32, i32, i32'
expect 2 'the signature has 6 entries' compile k.py::add --signature "$add, 7"
expect 2 "'add' has no parameter 'NOPE'" compile k.py::add --signature '*fp32, *fp32, *fp32, i32, NOPE=1'
expect 2 'found nothing' compile k.py::add --signature '*fp32,, *fp32, i32, 1'
expect 2 'is never closed' compile k.py::add --signature '*fp32, *fp32, *fp32, i32, (1'
expect 2 "signature:1:27: error: '(' is never closed" compile k.py::add --signature '*fp32, *fp32, *fp32, i32, ((1)'
expect 2 '"tag": "no-kernel"' compile k.py::sub --json

# --output writes the result to a file, and standard output stays empty.
"$NESO" compile k.py::add --signature "$add" -o add.ptx >out 2>&1 || { cat out; fail=1; }
[ ! -s out ] || { echo "output beside the file"; fail=1; }
grep -q '^\.target sm_90a' add.ptx || { echo "no PTX for sm_90a"; fail=1; }
"$NESO" compile k.py::add --signature "$add" | cmp - add.ptx || fail=1
"$NESO" compile k.py::add --signature "$add" --emit json | python3 -m json.tool >/dev/null 2>&1 ||
    ! command -v python3 >/dev/null || { echo "the plan is no JSON"; fail=1; }
if "$NESO" compile k.py::add --signature "$add" >/dev/full 2>err; then echo "a full disk went unnoticed"; fail=1; fi
exit $fail
