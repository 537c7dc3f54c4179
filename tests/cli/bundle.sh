# SPDX-License-Identifier: MIT
# Tests bundles: a program records its launches, `neso bundle` compiles the record, and a second run with the bundle compiles nothing and
# prints the same output. The programs have launch plans, imported kernels and autotuning. If a bundle lacks a kernel, the error names
# the field that differs.
fail=0
say() { echo "$*"; fail=1; }
programs=$NESO_ROOT/tests/programs

cat >helper.py <<'PY'
import triton
import triton.language as tl

@triton.jit
def add_one(X, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(X + i, tl.load(X + i, mask=i < n) + 1, mask=i < n)
PY
cat >tuned.py <<'PY'
import sys
import torch
import triton
import triton.language as tl
from helper import add_one

@triton.autotune(configs=[triton.Config({'BLOCK': 64}, num_warps=2), triton.Config({'BLOCK': 128})], key=['n'])
@triton.jit
def twice(X, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(X + i, 2 * tl.load(X + i, mask=i < n), mask=i < n)

n = int(sys.argv[1]) if len(sys.argv) > 1 else 100
x = torch.ones(n, device='cuda')
twice[lambda meta: (triton.cdiv(n, meta['BLOCK']),)](x, n)
y = torch.ones(n, device='cuda')
add_one[(triton.cdiv(n, 256),)](y, n, BLOCK=256)
print(twice.best_config, y.sum().item())
PY

replay() { # NAME PROGRAM: makes a record and a bundle, and runs the program with the bundle
    "$NESO" run --device emulator --record "$1.record" "$2" >right 2>&1 || { say "$1: $(tail -n 5 right)"; return; }
    "$NESO" bundle "$1.record" -o "$1.neso" 2>err || { say "$1, bundle: $(cat err)"; return; }
    "$NESO" run --device emulator --verbose --bundle "$1.neso" "$2" >out 2>err || say "$1, replay: $(tail -n 5 err)"
    cmp -s out right || say "$1: the replay prints something else: $(diff out right | head -n 5)"
    ! grep -q ' compiled ' err || say "$1: the replay compiles: $(grep ' compiled ' err | head -n 3)"
    [ "$(grep -c 'from the bundle' err)" -gt 0 ] || say "$1: nothing comes from the bundle"
    "$NESO" bundle --verify "$1.neso" "$1.record" 2>err || say "$1, verify: $(cat err)"
}
cat >boxes.py <<'PY'
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def transpose(a, out, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    out.store([n, m], a.load([m, n]).T)

for rows, columns in ((128, 64), (120, 72), (120, 64)):
    x = torch.arange(rows * columns, device='cuda').to(torch.float16).reshape(rows, columns)
    y = torch.empty(columns, rows, device='cuda', dtype=torch.float16)
    source = TensorDescriptor(x, x.shape, x.stride(), [64, 32], padding='nan')
    transpose[(2, 3)](source, TensorDescriptor.from_tensor(y, [32, 64]), BM=64, BN=32)
    print(torch.equal(y, x.T))
PY
replay boxes boxes.py
grep -q '^signature tensordesc<fp16\[64, 32\], nan>:16, tensordesc<fp16\[32, 64\]>:16, 64, 32$' boxes.record &&
    grep -q '^signature tensordesc<fp16\[64, 32\], nan>, tensordesc<fp16\[32, 64\]>, 64, 32$' boxes.record &&
    grep -q '^signature tensordesc<fp16\[64, 32\], nan, - 16 16>, tensordesc<fp16\[32, 64\], 16 - ->, 64, 32$' boxes.record || say "signatures of descriptors: $(cat boxes.record)"
"$NESO" run --device emulator --keep-ptx ptx boxes.py >out 2>&1 || say "boxes.py: $(cat out)"
for n in 1 2 3; do "$NESO" compile boxes.py --launch $n >launch.$n || say "--launch $n"; done
[ "$(cat launch.[123] | sort | sha1sum)" = "$(cat ptx/*.ptx | sort | sha1sum)" ] || say "descriptors of launches make another PTX than the signatures"
replay tuned tuned.py
replay maps "$programs/tensor_maps.py"
replay dots "$programs/dot_warpgroups.py"
grep -q '^choice twice$' tuned.neso && grep -q '^file helper.py$' tuned.record || say "the record: $(cat tuned.record)"

# --emit c writes the same C code from a bundle as from the source, with all variants of the plan.
signature=$(sed -n 's/^signature //p' dots.record | head -n 1)
for from in dots.neso "$programs/dot_warpgroups.py"; do
    "$NESO" compile "$from::matmul" --signature "$signature" --emit c -o code 2>err && mv code.c "code.${from##*.}" || say "--emit c of $from: $(cat err)"
done
cmp -s code.neso code.py || say "C from a bundle: $(diff code.neso code.py | head -n 5)"

expect() { # STATUS TEXT ARGUMENT...
    local status=$1 text=$2 found
    shift 2
    found=$("$NESO" "$@" 2>&1 </dev/null)
    local got=$?
    [ $got = "$status" ] || say "neso $*: exit $got, expected $status: $(head -n 5 <<<"$found")"
    grep -qF -- "$text" <<<"$found" || say "neso $*: expected to read '$text': $(head -n 12 <<<"$found")"
}
for wrong in '16' '16 16' '16 16 16 16' '16 8 16' '- - - -' 'nan nan' ', 16 - 16'; do
    expect 2 'signature-descriptor' compile boxes.py::transpose --signature "tensordesc<fp16[64, 32], $wrong>, tensordesc<fp16[32, 64]>, 64, 32"
done
expect 1 "tuned is (200, 'torch.float32')" run --device emulator --bundle tuned.neso tuned.py 200
expect 1 "and the nearest entry's is (100, 'torch.float32')" run --device emulator --bundle tuned.neso tuned.py 200
expect 2 'a bundle has PTX, which device' run --device interpreter --bundle tuned.neso tuned.py
expect 2 'its end is missing' run --bundle <(head -c 900 tuned.neso) tuned.py
expect 2 'its sum differs' run --bundle <(sed 's/add_one/add_two/' tuned.neso) tuned.py
expect 2 'does not begin as a bundle does' run --bundle tuned.py tuned.py
expect 2 'cannot read nosuch' run --bundle nosuch tuned.py
expect 2 'is no record' bundle tuned.py -o out.neso
expect 2 'needs either --output FILE or --verify FILE' bundle tuned.record
expect 2 "unknown target 'sm_1'" bundle tuned.record -o out.neso --target sm_80,sm_1
expect 1 'is not in bundle maps.neso' bundle --verify maps.neso tuned.record
expect 0 'add_one' compile tuned.neso::add_one --signature '*fp32:16, i32, 256'
expect 2 'num_warps is 8, and the nearest' compile tuned.neso::add_one --signature '*fp32:16, i32, 256' --num-warps 8
expect 2 'the kernels here: ' compile tuned.neso::add_three --signature '*fp32:16, i32, 256'

# Without a signature, the other options must select a single entry.
expect 0 '.visible .entry add_one' compile tuned.neso::add_one
expect 0 '' compile tuned.neso::add_one --emit c -o one.c
grep -q 'visible .entry add_one' one.c || say "C without a signature"
expect 2 'num_warps is 8, and the nearest' compile tuned.neso::add_one --num-warps 8
"$NESO" bundle tuned.record -o several.neso --variants 2>err || say "--variants: $(cat err)"
expect 2 "'add_one' is in bundle several.neso with 3 signatures for these options: choose one of them" compile several.neso::add_one
expect 2 'the signatures are *fp32:16, i32, 256; ' compile several.neso::add_one
for what in inspect run variants; do expect 2 'tuned.neso is a neso bundle, and no Python source' $what tuned.neso; done
expect 1 'tuned.neso is a neso bundle' check tuned.neso
expect 1 'tuned.record is a neso record, and no Python source: neso bundle takes it' check tuned.record

# One bundle has several targets, or all specializations that launches can make of a signature.
"$NESO" bundle tuned.record -o all.neso --target sm_80,sm_86,sm_89,sm_90a,sm_100a,sm_120a --variants 2>err || say "all targets: $(cat err)"
[ "$(grep -c '^target ' all.neso)" -ge 54 ] || say "only $(grep -c '^target ' all.neso) kernels for all targets"
"$NESO" bundle --verify all.neso tuned.record || say "verify with more than is needed"
expect 0 '.target sm_80' compile all.neso::add_one --signature '*fp32:16, i32:16, 256' --target sm_80
if command -v ptxas >/dev/null || [ -x /usr/local/cuda/bin/ptxas ]; then
    "$NESO" compile all.neso::add_one --signature '*fp32:16, i32:16, 256' --target sm_86 --emit cubin -o out.cubin 2>err || say "assembled: $(cat err)"
fi

# If a kernel is edited after the record and the bundle were made, the kernel matches neither of them.
sed -i 's/+ 1, mask/+ 2, mask/' helper.py
expect 2 'add_one in helper.py is not the kernel that was recorded' bundle tuned.record -o out.neso
expect 2 "source is" run --device emulator --bundle tuned.neso tuned.py
[ ! -e out.neso ] || say "a bundle in spite of an error"
exit $fail
