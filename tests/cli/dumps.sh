# SPDX-License-Identifier: MIT
# Tests that the name of the pass precedes each dump of IR, and that the compiler can read dumps.
set -u
status=0
say() { echo "$*"; status=1; }
cat >twice.py <<'PY'
import triton
import triton.language as tl

@triton.jit
def twice(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < n) + tl.load(X + i, mask=i < n), mask=i < n)
PY
compile=(compile twice.py --signature '*fp32, *fp32, i32, 256' -o twice.ptx)
"$NESO" "${compile[@]}" --print-changed 2>changed || say "--print-changed: $(cat changed)"
[ "$(grep -c '^kernel @twice' changed)" -gt 3 ] || say "--print-changed writes no IR"
[ "$(grep -c '^kernel @' changed)" = "$(grep -cE '^// after [a-z_0-9]+$' changed)" ] || say "--print-changed: not one pass for each dump"
grep -B1 '^kernel @' changed | grep -qx '// after cse' || say "--print-changed does not name cse"
"$NESO" "${compile[@]}" --print-after vectorize 2>dump.ir || say "--print-after: $(cat dump.ir)"
[ "$(head -n 1 dump.ir)" = '// after vectorize' ] || say "--print-after vectorize begins with: $(head -n 1 dump.ir)"
"$NESO" compile dump.ir --emit ir >again.ir || say "the dump does not read back"
tail -n +2 dump.ir | cmp - again.ir || say "the dump reads back as another kernel"
"$NESO" "${compile[@]}" --time 2>spent; ! grep -q '^//' spent || say "--time has names of dumps"
exit $status
