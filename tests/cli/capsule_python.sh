# SPDX-License-Identifier: MIT
# Tests capsules of the Python package: NESO_CAPSULE keeps a failed launch, whose capsule the exception names, and the inputs of a
# difference. Kernel.capsule keeps any launch. `neso replay` repeats these launches. Needs python3.
set -u
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
case $NESO_BUILD in */san | */tsan) echo "skipped: Python cannot open a library with sanitizers"; exit 77 ;; esac
export PYTHONPATH=$NESO_ROOT/runtime/python NESO_LIBRARY=$NESO_ROOT/$NESO_BUILD/libneso.so PYTHONDONTWRITEBYTECODE=1
fail=0
say() { echo "$*"; fail=1; }

cat >tensors.py <<'PY'
import array
import ctypes


class Type:
    is_floating_point = False

    def __str__(self):
        return "torch.int32"


class Tensor:
    """What neso needs of a tensor."""
    dtype = Type()

    def __init__(self, n):
        self.values, self.shape = array.array("i", range(n)), (n,)
        self.nbytes = 4 * n

    def data_ptr(self):
        return self.values.buffer_info()[0]
PY
cat >late.py <<'PY'
import triton
import triton.language as tl
from tensors import Tensor

LATE = tl.constexpr(1)
UNUSED = 17

@triton.jit
def twice(x):
    return 2 * x

@triton.jit
def late(X, Y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(Y + i + LATE, twice(tl.load(X + i, mask=i < n)), mask=i < n)

y = Tensor(64)
late[(1,)](Tensor(64), y, 63, B=64)
print(y.values[63])
try:
    late[(1,)](Tensor(64), y, 64, B=64)
except Exception as e:
    print(e)
PY
for device in emulator interpreter; do
    NESO_CAPSULE=kept python3 -m neso --device $device late.py >out 2>&1 || say "late.py on the $device: $(tail -n 3 out)"
    grep -q '^124$' out || say "a good launch: $(cat out)"
    file=$(sed -nE 's/^neso: capsule: the launch is kept in ([^:]*): .*/\1/p' out | head -n 1)
    [ -n "$file" ] && [ -e "$file" ] || { say "the exception names no capsule: $(cat out)"; continue; }
    mkdir -p away && mv late.py tensors.py away
    for other in emulator interpreter; do "$NESO" replay --device $other "$file" >replayed 2>&1 || say "$file on the $other: $(cat replayed)"; done
    "$NESO" replay --reduce "$file" -o small.capsule >out 2>&1 || say "reduce: $(cat out)"
    mv away/*.py .
    ! grep -aq UNUSED "$file" || say "the capsule has what the kernel does not need"
done
[ "$(cd kept && echo *)" = 'late-2.capsule late.capsule' ] || say "kept: $(ls kept)"
python3 -m neso --device interpreter late.py >out 2>&1
! grep -q capsule out || say "capsules that nobody wants: $(cat out)"

cat >race.py <<'PY'
import triton
import triton.language as tl
from tensors import Tensor

@triton.jit
def reverse(X, Y, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(X + i, tl.load(X + i) + 1)
    tl.store(Y + i, tl.load(X + B - 1 - i))

reverse[(1,)](Tensor(256), Tensor(256), B=256)
PY
NESO_CAPSULE=kept python3 -m neso --device interpreter --paranoid race.py >out 2>&1 || say "race.py: $(tail -n 3 out)"
grep -q 'neso replay --reduce kept/reverse.capsule' out || say "a difference: $(cat out)"
"$NESO" replay kept/reverse.capsule >out 2>&1 || say "a difference again: $(cat out)"

cat >one.py <<'PY'
import neso
context = neso.Context("emulator", capsules=True)
kernel = context.source("add.py", """
import triton
import triton.language as tl

@triton.jit
def add(X, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(X + i, tl.load(X + i, mask=i < n) + 1, mask=i < n)
""").kernel("add", "*i32:16, i32, 64")
x = context.allocate(200)
context.write(x, bytes(200))
print(kernel.capsule("good.capsule", (1,), x, 50), kernel.capsule("bad.capsule", (1,), x, 51))
try:
    kernel.capsule("empty.capsule", (0,), x, 50)
except neso.NesoError as e:
    print(e)
try:
    neso.Context("emulator").source("add.py", open("add.py").read()).kernel("add", "*i32:16, i32, 64").capsule("none.capsule", (1,), x, 50)
except neso.NesoError as e:
    print(e)
PY
printf 'import triton\nimport triton.language as tl\n@triton.jit\ndef add(X, n, B: tl.constexpr):\n    tl.store(X, n)\n' >add.py
python3 one.py >out 2>&1 || say "one.py: $(tail -n 3 out)"
grep -qx 'result fault' out || say "Kernel.capsule: $(cat out)"
grep -q "no capsule of this launch: the grid is empty" out || say "an empty grid: $(cat out)"
grep -q "a launch of 'add' cannot be kept in a capsule" out || say "without capsules: $(cat out)"
for file in good bad; do "$NESO" replay $file.capsule >out 2>&1 || say "$file.capsule: $(cat out)"; done
exit $fail
