# SPDX-License-Identifier: MIT
# Tests that kernels store the result of a dot in vectors of 16 bytes, so that a warp writes whole sectors. The conversion of the
# accumulator through shared memory uses vectors too. (Targets with TMA store whole boxes.)
cat >k.py <<'END'
import triton
import triton.language as tl


@triton.jit
def k(A, B, C, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, OUT: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    acc = tl.zeros((M, N), dtype=tl.float32)
    for t in range(0, K, BK):
        kk = t + tl.arange(0, BK)
        acc = tl.dot(tl.load(A + i * 4096 + kk[None, :]), tl.load(B + kk[:, None] * 4096 + j), acc)
    tl.store(C + i * 4096 + j, acc.to(OUT))
END
status=0
check() { # TYPE OUT M N BYTES
    for target in sm_80 sm_89; do
        "$NESO" compile k.py::k --signature "*fp16:16, *fp16:16, *$1:16, i32:16, $3, $4, 32, $2" --target $target -o k.ptx || exit 1
        local stores=$(($3 * $4 * $5 / 128 / 16)) found
        found=$(grep -c 'st.global.v4.[bf]32' k.ptx)
        [ "$found" = "$stores" ] && ! grep -q 'st.shared.[bf]' k.ptx || { echo "$target, $3x$4 of $1: $found wide stores, not $stores"; status=1; }
    done
}
check fp16 tl.float16 128 128 2
check fp16 tl.float16 64 128 2
check fp32 tl.float32 64 64 4
check bf16 tl.bfloat16 128 64 2
# Consumer warps of warp-specialized kernels store vectors of 16 bytes too.
"$NESO" compile k.py::k --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, 128, 128, 32, tl.float16" --target sm_90a --skip raise_tma_store -o k.ptx || exit 1
found=$(grep -c 'st.global.v4.b32' k.ptx)
[ "$found" = 16 ] && grep -q wgmma k.ptx || { echo "sm_90a: $found wide stores, not 16"; status=1; }
exit $status
