# SPDX-License-Identifier: MIT
# Tests that ptxas accepts the PTX for every target without a message, and without spills for the kernels of Triton's announcement. EVERY=1
# tests all kernels of the benches, with many widths and numbers of warps; kernels that have far more values than registers may spill.
set -u
cd "$NESO_ROOT" || exit 1
targets="sm_80 sm_86 sm_89 sm_90a sm_100a sm_120a"
status=0 work=$(mktemp -d) refused="[1-9][0-9]* bytes spill"
trap 'rm -rf "$work"' EXIT

emit() { # FILE::KERNEL SIGNATURE WARPS
    local target
    for target in $targets; do
        "$NESO" compile "$1" --signature "$2" --num-warps "$3" --num-stages "${stages:-3}" --target "$target" -o "$work/k.ptx" 2>"$work/log" ||
            { grep -q ':[0-9]*:[0-9]*: error:.*\[shared-too-large\]' "$work/log" || { echo "$1 ($2), $3 warps, $target"; cat "$work/log"; status=1; }; continue; }
        command -v ptxas >/dev/null || continue
        ptxas -arch="$target" -v "$work/k.ptx" -o "$work/k.cubin" >"$work/log" 2>&1 && ! grep -E "warning|$refused" "$work/log" ||
            { echo "$1 ($2), $3 warps, $target"; cat "$work/log"; status=1; }
    done
}

emit tests/programs/announcement_add.py::add "*fp32:16, *fp32:16, *fp32:16, i32:16" 4
emit tests/programs/announcement_add.py::add "*bf16, *bf16, *bf16, i32" 4
emit tests/programs/announcement_softmax.py::softmax "*fp32:16, i32, 1, *fp32:16, i32, 1, i32, i32" 4
emit tests/programs/announcement_softmax.py::softmax "*fp16:16, i32:16, 1, *fp16:16, i32:16, 1, i32, i32:16" 4
for type in fp16 bf16 fp32; do
    emit tests/programs/dot.py::matmul "*$type:16, *$type:16, *fp32:16, i32, i32, i32, i32:16, 1, i32:16, 1, i32:16, 64, 128, 32, tl.float32, 'tf32'" 4
done
emit tests/programs/dot.py::matmul "*i8:16, *i8:16, *i32:16, i32, i32, i32, i32:16, 1, i32:16, 1, i32:16, 64, 64, 64, tl.int32, 'tf32'" 4
emit tests/programs/dot.py::attention "*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16, 64, 64, 64" 4
[ "${EVERY:-}" = 1 ] || exit $status
# Tests the configurations of the autotuned program, if the target has enough shared memory. One configuration uses all registers of sm_80.
for config in "128, 256, 64|3|8" "64, 256, 32|4|4" "128, 128, 32|4|4" "128, 64, 32|4|4" "64, 128, 32|4|4" "128, 32, 32|4|4" \
    "64, 32, 32|5|2" "32, 64, 32|5|2"; do
    IFS='|' read -r blocks stages warps <<<"$config"
    for type in fp16 fp32; do
        stages=$stages emit tests/programs/lecture_matmul.py::grouped_autotuned_matmul_k "*$type:16, *$type:16, *fp32:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1, $blocks, 8" "$warps"
    done
done
refused="error"
for warps in 1 2 4 8 16; do
    for type in fp32 fp16 bf16; do
        emit bench/programs/kernels.py::add "*$type:16, *$type:16, *$type:16, i32, 1024" $warps
        for block in 64 1024 4096; do
            emit bench/programs/kernels.py::softmax "*$type:16, *$type:16, i32:16, i32:16, i32:16, $block" $warps
            emit bench/programs/kernels.py::softmax "*$type, *$type, i32, i32, i32, $block" $warps
        done
    done
done
exit $status
