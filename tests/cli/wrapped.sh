# Triton's tutorial 03, whose columns wrap (% N): on targets without TMA both operands are copied 16 bytes at once, in stages, without
# a spill.
kernel=$NESO_ROOT/tests/programs/tutorial_matmul.py
status=0
check() { # TARGET TYPE STRIDES_OF_B
    "$NESO" compile "$kernel::matmul_kernel" --signature "*$2:16, *$2:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, $3, i32:16, 1, 128, 256, 64, 8, 'leaky_relu'" \
        --num-warps 8 --target "$1" --explain stage -o k.ptx 2>log || { cat log; status=1; return; }
    [ "$(grep -c 'in 3 stages, 16 bytes at once' log)" = 2 ] || { echo "$1, $2:"; cat log; status=1; }
    command -v ptxas >/dev/null || return
    { ptxas -arch="$1" -v k.ptx -o k.cubin >log 2>&1 && ! grep -qE 'warning|[1-9][0-9]* bytes spill' log; } || { echo "$1, $2:"; cat log; status=1; }
}
for target in sm_80 sm_100a; do
    check $target fp16 "i32:16, 1"
    check $target fp8e5 "1, i32:16"
done
exit $status
