# SPDX-License-Identifier: MIT
# Tests Triton's tutorial 03, whose columns wrap (% N): on targets without TMA, the kernel copies both operands in stages, 16 bytes
# at once, and does not spill. If the accumulator does not fit into the registers of four warps, the kernel uses eight warps.
kernel=$NESO_ROOT/tests/programs/tutorial_matmul.py
status=0
emit() { # TARGET TYPE STRIDES_OF_B WARPS
    "$NESO" compile "$kernel::matmul_kernel" --signature "*$2:16, *$2:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, $3, i32:16, 1, 128, 256, 64, 8, 'leaky_relu'" \
        --num-warps "$4" --target "$1" --explain pipeline_loops -o k.ptx 2>log || { cat log; status=1; return; }
    command -v ptxas >/dev/null || return
    { ptxas -arch="$1" -v k.ptx -o k.cubin >words 2>&1 && ! grep -qE 'warning|C75|[1-9][0-9]* bytes spill' words; } || { echo "$1, $2:"; cat words; status=1; }
}
check() { # TARGET TYPE STRIDES_OF_B
    emit "$1" "$2" "$3" 8
    [ "$(grep -c 'in 3 stages, 16 bytes at once' log)" = 2 ] || { echo "$1, $2:"; cat log; status=1; }
}
for target in sm_80 sm_89; do
    check $target fp16 "i32:16, 1"
    check $target fp8e5 "1, i32:16"
done
emit sm_100a fp16 "i32:16, 1" 8
emit sm_80 fp16 "i32:16, 1" 4
emit sm_90a fp16 "i32:16, 1" 4
emit sm_90a fp16 "i32:16, 1" 2
exit $status
