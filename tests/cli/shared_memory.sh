# SPDX-License-Identifier: MIT
# Tests that the compiler reduces the use of shared memory if a kernel needs more than the target has, on every target, and that --explain
# reports it; kernels that fit are compiled as requested. The kernels are those of a test program.
fail=0
say() { echo "$*"; fail=1; }
file=$NESO_ROOT/tests/programs/shared_memory_stepped_down.py
compile() { # KERNEL SIGNATURE OPTION...
    "$NESO" compile "$file::$1" --signature "$2" --no-cache --explain "${explain:-stepdown}" -o out.ptx "${@:3}" 2>said
}
steps_down() { # TEXT KERNEL SIGNATURE OPTION...: the explanation must contain TEXT
    local what=$1; shift
    compile "$@" || { say "$*: refused"; cat said; return; }
    grep -q "^stepdown: .*$what" said || { say "$*: it should say '$what'"; cat said; }
    [ -z "$(command -v ptxas)" ] || ptxas -arch="$target" out.ptx -o out.cubin >said 2>&1 || { say "$*: ptxas"; cat said; }
}
gathered='*fp16:16, *i32:16, *fp16:16, *fp32:16, 128, i32:16, 128, 128, 128'
for target in sm_80 sm_86 sm_89 sm_90a sm_100a sm_120a; do
    steps_down "stages of 12" gathered "$gathered" --num-stages 12 --num-warps 8 --target $target
    steps_down "conversions in rounds" added '*fp16:16, *fp16:16, *fp32:16, 256, 32' --num-warps 8 --target $target
done
target=sm_90a
steps_down "no asynchronous dots" added '*fp16:16, *fp16:16, *fp32:16, 256, 256' --num-warps 8
explain=warp_specialize compile twice '*fp16:16, *fp16:16, *fp32:16, 256, i32:16, 128, 128, 64' --num-warps 8 --num-stages 4 || say "rings: refused"
grep -q 'no room for 4 stages' said || { say "rings: fewer stages, and not a word"; cat said; }
compile gathered "$gathered" --num-stages 3 --num-warps 8 || say "three stages: refused"
[ ! -s said ] || { say "three stages fit:"; cat said; }

# If all passes run a second time, the explanations of the first run are discarded, so each pass appears once.
"$NESO" inspect "$file::added" --signature '*fp16:16, *fp16:16, *fp32:16, 256, 32' --num-warps 8 >said 2>&1 || say "inspect: refused"
grep -q 'stepdown: .* conversions in rounds' said || say "inspect does not say what was given up"
grep -q '  stages .* shared.2' said && say "inspect shows passes twice"

# If no further reduction is possible, there is one error.
cat >large.py <<'END'
import triton
import triton.language as tl

@triton.jit
def large(X, Y, I, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.gather(tl.load(X + i), tl.load(I + i), 0))
END
"$NESO" compile large.py::large --signature '*fp32, *fp32, *i32, 65536' --num-warps 8 -o out.ptx 2>said && say "too large, and compiled"
[ "$(grep -c 'needs 262144 bytes of shared memory, and sm_90a has' said)" = 1 ] || { say "one error was expected:"; cat said; }
exit $fail
