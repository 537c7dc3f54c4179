# SPDX-License-Identifier: MIT
# Tests that `neso compile` and `neso run` find the files in the folder of a program, including packages and the modules that packages
# import. `compile` does not need modules that only the program's host code uses. If an imported file changes, the kernel is compiled again
# in spite of the cache.
fail=0
say() { echo "$*"; fail=1; }
mkdir -p there/package
cat >there/helpers.py <<'PY'
import numpy as np
import triton
import triton.language as tl

table = np.zeros(3)
FACTOR: tl.constexpr = tl.constexpr(3)

@triton.jit
def scaled(x):
    return x * FACTOR
PY
echo 'from .inner import block' >there/package/__init__.py
echo 'block = 64' >there/package/inner.py
cat >there/program.py <<'PY'
import torch
import triton
import triton.language as tl
import package
from helpers import scaled

BLOCK = tl.constexpr(package.block)

@triton.jit
def kernel(x, n):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, scaled(tl.load(x + i, mask=i < n)), mask=i < n)

if __name__ == "__main__":
    x = torch.ones(5, device='cuda')
    kernel[(1,)](x, 5)
    print(x.tolist())
PY
export NESO_CACHE_DIR=$PWD/cache
"$NESO" compile there/program.py::kernel --signature '*fp32:16, i32' >out 2>err || say "compile: $(cat err)"
grep -q '0f40400000' out || say "the constant 3 of helpers.py is not in the PTX"
sed -i 's/constexpr(3)/constexpr(5)/; /numpy/d; /table/d' there/helpers.py
(cd there && "$NESO" compile program.py::kernel --signature '*fp32:16, i32' >../out 2>../err) || say "again: $(cat err)"
grep -q '0f40A00000' out || say "the constant 5 of the changed helpers.py is not in the PTX"
for device in interpreter emulator; do
    "$NESO" run --device $device there/program.py >out 2>err || say "run on $device: $(cat err)"
    [ "$(cat out)" = '[5.0, 5.0, 5.0, 5.0, 5.0]' ] || say "run on $device: $(cat out)"
done
rm there/package/inner.py
"$NESO" run --device interpreter there/program.py >out 2>err && say "a missing file was imported"
grep -q 'package/__init__.py:1:' err || say "a missing file: $(cat err)"
exit $fail
