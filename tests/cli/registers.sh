# --explain=registers: the line where most registers are live, and a prediction of spills that ptxas, where there is one, confirms.
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

# Exact dots too: their loads wait for the registers that they need.
explain fp32 "128, 128, 32" 2 4 "no spills"
explain fp32 "64, 256, 32" 2 4 "no spills"
explain fp32 "32, 64, 32" 5 2 "no spills"
explain fp32 "128, 256, 32" 2 4 "no spills"
exit $status
