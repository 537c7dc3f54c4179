# SPDX-License-Identifier: MIT
# Tests launch plans with tensor maps: the cache stores the plan, --emit json prints it with its fallbacks, --explain gives the reasons.
set -u
status=0
say() { echo "$1"; status=1; }
program=$NESO_ROOT/tests/programs/tensor_maps.py
unset NESO_CACHE
export NESO_CACHE_DIR=$PWD/cache
for mode in "" strict; do
    NESO_CACHE=$mode "$NESO" run --device emulator "$program" >out 2>&1 || say "cache '$mode': $(cat out)"
done
plan() { "$NESO" compile "$program::masked" --signature "$1" --emit json; }
plan "*fp16:16, *fp16:16, *fp32:16, i32, i32, i32, i32:16, 1, i32:16, 1, i32:16, 64, 32, 32" >out
grep -q '"extents": \["M", "K"\], "strides": \["sam 2 \*", "2"\], "box": \[64, 32\], "swizzle": 64' out || say "plan: $(cat out)"
grep -q '"guards": \["0 N -1 \* 4 \* 16 rem N -1 \* 4 \* 16 rem \* -"\]' out && grep -q '"without": "raise_tma_store"' out || say "rows that may end anywhere: $(cat out)"
grep -q '"without": "raise_tma_load,raise_tma_store,invariant_loads"' out || say "the last variant: $(cat out)"
plan "*fp16:16, *fp16:16, *fp32:16, i32, i32, i32, i32, i32, i32, i32, i32, 64, 32, 32" >out
grep -q "\"type\": \"fp16\", \"base\"" out && say "maps without a contiguous dimension: $(cat out)"
"$NESO" compile "$program::masked" --signature "*fp16:16, *fp16:16, *fp32:16, i32, i32, i32, 4, 1, i32:16, 1, i32:16, 64, 32, 32" \
    --emit ptx --explain=raise_tma_load >ptx 2>err
grep -q 'stays a load: the stride of dimension 0 is no multiple of 16 bytes' err || say "the reason: $(cat err)"
grep -q "stays a load: another load for the loop's dots stays a load" err || say "the other load: $(cat err)"
# Tiles must begin at multiples of 16 bytes along their rows. Either the compiler proves this, or a guard checks this
# at the launch, or loads use no maps.
starts() { # KERNEL SIGNATURE: writes the launch plan to `out`, and the explanation of loads to `err`
    "$NESO" compile "$NESO_ROOT/tests/programs/dot_starts.py::$1" --signature "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16, i32, $2, 64, 64, 64" \
        --emit json --explain=raise_tma_load >out 2>err
}
starts from_program 72
[ "$(grep -c 'a copy by a tensor map' err)" = 2 ] || say "steps of 72: $(cat err)"
starts from_program 65
grep -q 'stays a load: rows of its tiles may begin at no multiple of 16 bytes' err || say "steps of 65: $(cat err)"
starts from_both i32
grep -q '"guards": \["part", "0 part 2 \* 16 rem part 2 \* 16 rem \* -"' out || say "steps of an argument: $(cat out)"
starts from_argument i32
grep -q '"base": \["A at 2 \* +"\]' out || say "from an argument: $(cat out)"
# Stores must begin inside the array. Either the compiler proves this, or a guard checks this at the launch, or stores
# use no maps.
before() { # STEP LEAST: writes the launch plan to `out`, and the explanation of the store to `err`
    "$NESO" compile "$NESO_ROOT/tests/programs/dot_starts.py::before" --signature "*fp16:16, *fp16:16, *fp32:16, i32, i32:16, i32, i32, $1, $2, 64, 64, 64" \
        --target sm_90a --emit json --explain=raise_tma_store >out 2>err
}
before 64 0
grep -q '"down", "right"\]' out || say "stores from arguments: $(cat out)"
before 64 8
grep -q '"down", "right -8 +"\]' out || say "stores from a mask's least index: $(cat out)"
before -64 0
grep -q 'stays a store: its tiles may begin before the array' err || say "steps of -64: $(cat err)"
# Maps can fill elements outside of the array with NaN, except for 8-bit types.
cat >nan.py <<'END'
import triton
import triton.language as tl


@triton.jit
def padded(A, B, C, M, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.arange(0, BM), tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(A + m[:, None] * K + k[None, :], mask=(m < M)[:, None], other=float('nan'))
        b = tl.load(B + n[:, None] * K + k[None, :])
        acc = tl.dot(a, b.T, acc)
    tl.store(C + m[:, None] * BN + n[None, :], acc)
END
for type in fp16 fp8e5; do
    "$NESO" compile nan.py::padded --signature "*$type:16, *$type:16, *fp32:16, i32, i32:16, 64, 64, 64" --target sm_90a --emit json --explain=raise_tma_load >$type 2>err.$type
done
grep -q '"fill": "nan"' fp16 || say "NaN of 16 bits: $(cat fp16 err.fp16)"
grep -q 'stays a load: masked elements are neither 0 nor a NaN that maps support' err.fp8e5 || say "NaN of 8 bits: $(cat fp8e5 err.fp8e5)"
# The compiler converts accesses through block pointers and descriptors (of the kernel or the host) to tensor maps. A producer warp loads
# the operands of dots.
fed() { # PROGRAM::KERNEL SIGNATURE STORES
    "$NESO" compile "$NESO_ROOT/tests/programs/$1" --signature "$2" --target sm_90a --explain=raise_tma_load,raise_tma_store,warp_specialize --emit ptx >ptx 2>err
    [ "$(grep -c 'a copy by a tensor map' err)" = $((2 + $3)) ] || say "$1: $(cat err)"
    grep -q 'stays' err && say "$1: $(cat err)"
    grep -q 'filled by a producer warp' err || say "$1: $(cat err)"
}
sizes="i32:16, i32:16, i32:16"
fed block_pointers.py::matmul "*fp16:16, *fp16:16, *fp16:16, $sizes, i32:16, 1, i32:16, 1, i32:16, 1, 128, 128, 64" 1
fed tensor_descriptors.py::matmul "*fp16:16, *fp16:16, *fp16:16, $sizes, 128, 128, 64" 1
fed tensor_descriptors.py::persistent "*fp16:16, *fp16:16, *fp16:16, $sizes, 128, 128, 64, 8, 132, False" 1
fed tensor_descriptors.py::persistent "*fp16:16, *fp16:16, *fp16:16, $sizes, 128, 128, 64, 8, 132, True" 2
operand='tensordesc<fp16[128, 64]>:16'
fed host_descriptors.py::persistent "$operand, $operand, tensordesc<fp16[128, 128]>:16, $sizes, 128, 128, 64, 8, False, 132" 1
# The k-steps of a small tile are short, so several CTAs on an SM share its tensor cores.
of_an_sm() { # CTAS WARPS TILE
    "$NESO" compile "$NESO_ROOT/tests/programs/tutorial_matmul.py::matmul_kernel" --num-warps "$2" --target sm_90a --emit json \
        --signature "*fp16:16, *fp16:16, *fp16:16, $sizes, i32:16, 1, i32:16, 1, i32:16, 1, $3, 8, ''" >plan 2>err
    grep -q "\"ctas_per_sm\": $1," plan || say "$3: $(cat plan err)"
}
of_an_sm 0 4 "64, 64, 32"
of_an_sm 2 4 "128, 128, 32"
of_an_sm 1 8 "128, 256, 64"
exit $status
