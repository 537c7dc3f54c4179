# SPDX-License-Identifier: MIT
# Tests --explain=registers: it names the line where the most registers are live, and predicts spills. If ptxas is installed, the
# prediction must agree with ptxas.
set -u
cd "$NESO_ROOT" || exit 1
work=$(mktemp -d) status=0
trap 'rm -rf "$work"' EXIT
kernel=tests/programs/lecture_matmul.py::grouped_autotuned_matmul_k

explain() { # TYPE BLOCKS STAGES WARPS
    "$NESO" compile $kernel --signature "*$1:16, *$1:16, *fp32:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1, $2, 8" \
        --num-stages "$3" --num-warps "$4" --explain=registers -o "$work/k.ptx" 2>"$work/why" || { cat "$work/why"; exit 1; }
    grep -q "^registers: [0-9]* live at most, of 255: at 308:16; $5" "$work/why" || { echo "$1 $2:"; cat "$work/why"; status=1; }
    grep -q '^registers:   there .*%acc' "$work/why" || { echo "$1 $2: no accumulator:"; cat "$work/why"; status=1; }
    command -v ptxas >/dev/null || return
    ptxas -arch=sm_90a -v "$work/k.ptx" -o "$work/k.cubin" 2>"$work/log"
    if grep -q '[1-9][0-9]* bytes spill' "$work/log"; then [ "$5" != "no spills" ]; else [ "$5" = "no spills" ]; fi ||
        { echo "$1 $2, $4 warps: '$5', but:"; cat "$work/log"; status=1; }
}

# The compiler delays the loads of exact (fp32) dots until enough registers are free.
explain fp32 "128, 128, 32" 2 4 "no spills"
explain fp32 "64, 256, 32" 2 4 "no spills"
explain fp32 "32, 64, 32" 5 2 "no spills"
explain fp32 "128, 256, 32" 2 4 "no spills"

# Kernels that reduce rows must use at most the given number of registers, and must not spill.
room() { # KERNEL SIGNATURE WARPS REGISTERS
    "$NESO" compile "bench/programs/kernels.py::$1" --signature "$2" --num-warps "$3" -o "$work/k.ptx" || exit 1
    command -v ptxas >/dev/null || return
    ptxas -arch=sm_90a -v "$work/k.ptx" -o "$work/k.cubin" 2>"$work/log"
    used=$(sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' "$work/log")
    if grep -q '[1-9][0-9]* bytes spill' "$work/log" || [ "$used" -gt "$4" ]; then
        echo "$1 $2, $3 warps, more than $4 registers:"
        cat "$work/log"
        status=1
    fi
}
row="*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16, i32:16, fp32"
room layer_norm "$row, 1024" 2 40
room layer_norm "$row, 8192" 32 32
room layer_norm "$row, 16384" 8 128
room layer_norm_row "$row, 1024" 2 40
room layer_norm_row "$row, 8192" 8 64
room layer_norm_row "$row, 16384" 8 128
room layer_norm_row "$row, 16384" 16 64
room rms_norm "*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, fp32, 8192" 8 64 # keeps its row as f32 in registers
room softmax "*fp32:16, *fp32:16, i32:16, i32:16, i32:16, 8192" 8 48
exit $status
