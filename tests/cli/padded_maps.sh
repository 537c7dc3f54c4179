# SPDX-License-Identifier: MIT
# Tests matrix products whose row pitch is not a multiple of 16 bytes: launches use tensor maps of padded copies if that saves time. The
# test runs on the emulator and on the fake driver.
set -u
status=0
say() { echo "$1"; status=1; }
program=$NESO_ROOT/tests/programs/uneven_rows.py
export NESO_CACHE=off
"$NESO" run --verbose --device emulator --param launch_pad_sweeps=0 "$program" >out 2>err || say "$(cat out err)"
[ "$(grep -c '^neso: launching matmul-[0-9a-f]* copies [12] matrices, whose' err)" = 5 ] || say "what is told of copies: $(cat err)"
grep -q 'variant loads_by_maps_only' err || say "no variant without maps for stores: $(cat err)"
grep -q 'variant fallback' err && say "a kernel without maps: $(cat err)"
# If a copy would not save time, threads load as many bytes at once as the alignment of rows allows.
"$NESO" run --verbose --device emulator "$program" >out 2>err || say "$(cat out err)"
grep -q 'variant fallback-rows-of-8-bytes' err || say "rows of 8 bytes: $(cat err)"
grep -q 'variant fallback,' err && say "copies of rows of 2 bytes: $(cat err)"
"$NESO" run --verbose --device emulator --param launch_pad_mib_most=0 "$program" >out 2>err || say "no copies: $(cat out err)"
grep -q 'variant fallback-rows-of-8-bytes' err || say "without copies, rows of 8 bytes: $(cat err)"
grep -q 'variant fallback-rows-of-4-bytes' err || say "without copies, rows of 4 bytes: $(cat err)"
grep -q 'variant fallback,' err || say "without copies, rows of 2 bytes: $(cat err)"
# One launch copies A and B to the workspace.
cat >product.py <<'END'
import torch
import triton
import triton.language as tl


@triton.jit
def product(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        k = i + tl.arange(0, BK)
        a = tl.load(A + m * K + k[None, :], mask=(m < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None] * N + n, mask=(k[:, None] < K) & (n < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(C + m * N + n, acc, mask=(m < M) & (n < N))


M, N, K = 130, 101, 77
a, b = (torch.ones(shape, device='cuda', dtype=torch.float16) for shape in ((M, K), (K, N)))
c = torch.zeros((M, N), device='cuda')
product[(ROWS, 2)](a, b, c, M, N, K, 64, 64, 64)
torch.cuda.synchronize()
END
sed 's/ROWS/3/' product.py >whole.py
"$NESO" run --verbose --device emulator whole.py >out 2>err || say "$(cat out err)"
grep -q 'variant fallback' err && say "a kernel without maps: $(cat err)"
# The launcher does not copy an array that the grid reads only partly, or that extends beyond its memory.
sed 's/product\[(ROWS, 2)\]/product[(1, 1)]/; s/M, N, K = 130, 101, 77/M, N, K = 600, 101, 601/' product.py >part.py
"$NESO" run --verbose --device emulator part.py >out 2>err || say "$(cat out err)"
grep -q 'variant fallback' err || say "an array that is not swept: $(cat err)"
sed 's/ROWS/3/; s/c, M, N, K/c, M + 60, N, K/; s/zeros((M, N)/zeros((M + 60, N)/' product.py >large.py
"$NESO" run --verbose --device emulator large.py >out 2>err
grep -q 'variant fallback' err || say "an array larger than its memory: $(cat err)"
${CC:-cc} -std=c11 -D_DEFAULT_SOURCE -shared -fPIC -I"$NESO_ROOT" "$NESO_ROOT/tests/cli/driver/cuda.c" -o libcuda.so.1 || exit 1
LD_LIBRARY_PATH=$PWD FAKE_TRACE=1 "$NESO" run --device cuda whole.py >out 2>&1 || say "$(cat out)"
[ "$(grep -c 'grid [0-9]* 2 1 threads 256 shared 0' out)" = 1 ] || say "copies: $(cat out)"
for call in cuMemPoolCreate cuMemPoolSetAttribute cuMemAllocFromPoolAsync; do
    LD_LIBRARY_PATH=$PWD FAKE_FAIL=$call "$NESO" run --verbose --device cuda whole.py >out 2>&1 || say "$call refused: $(cat out)"
    grep -q 'variant fallback' out || say "$call refused: $(cat out)"
done
exit $status
