# SPDX-License-Identifier: MIT
# Tests the Python package: runs tests/python on the interpreter and the emulator, and tests python -m neso and a wheel that works without
# the source tree. Needs python3.
set -u
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
case $NESO_BUILD in */san | */tsan) echo "skipped: Python cannot open a library with sanitizers"; exit 77 ;; esac
export PYTHONPATH=$NESO_ROOT/runtime/python NESO_LIBRARY=$NESO_ROOT/$NESO_BUILD/libneso.so PYTHONDONTWRITEBYTECODE=1
work=$PWD status=0
fail() { echo "$1"; status=1; }

make -s -C "$NESO_ROOT" python >make.txt 2>&1 || echo "the extension is not tested: $(tail -n 1 make.txt)"
python3 "$NESO_ROOT/tests/python/test_dispatch.py" >out.txt 2>&1 || { tail -n 30 out.txt; fail "the extension"; }
for device in interpreter emulator; do
    NESO_DEVICE=$device python3 "$NESO_ROOT/tests/python/test_launches.py" >out.txt 2>&1 || { tail -n 40 out.txt; fail "launches on the $device"; }
done

if ${CC:-cc} -std=c11 -D_DEFAULT_SOURCE -shared -fPIC -I"$NESO_ROOT" "$NESO_ROOT/tests/cli/driver/cuda.c" -o libcuda.so.1; then
    LD_LIBRARY_PATH=$work python3 "$NESO_ROOT/tests/python/test_cuda.py" >out.txt 2>&1 || { tail -n 30 out.txt; fail "launches on a GPU"; }
fi
python3 "$NESO_ROOT/tests/python/test_original.py" >out.txt 2>&1 || grep -q "^skipped" out.txt || { tail -n 30 out.txt; fail "beside the original Triton"; }

cat >program.py <<'END'
import sys
import triton
import triton.language as tl

@triton.jit
def add(x, n):
    tl.store(x, n)

kernel = add.warmup(triton.MockTensor(tl.int32), 5, grid=(1,))
print(sys.argv[1:], ".entry add" in kernel.asm["ptx"], __name__, triton.runtime.driver.active.where)
END
expect() { # WHAT FOUND EXPECTED
    [ "$2" = "$3" ] || fail "$1: found '$2', expected '$3'"
}
expect "a program" "$(python3 -m neso --device emulator program.py a -m b 2>&1)" "['a', '-m', 'b'] True __main__ emulator"
expect "a module" "$(python3 -m neso run --device=interpreter -m program x 2>&1)" "['x'] True __main__ interpreter"
cat >values.py <<'END'
import neso

text = """
import triton
import triton.language as tl
@triton.jit
def put(X, n, factor):
    tl.store(X, n * factor)
"""
context = neso.Context("emulator")
put = context.source("put.py", text).kernel("put", "*fp32, i32, fp32")
x = context.allocate(4)
put[2](x, 3, 0.5)
for grid, values in ((1, (x, 3)), ((1,), (x, 3, 0.5, 1)), ((1,), (x, 2.5, 0.5)), ((1,), ("x", 3, 0.5)), ((1,), (x, 3, None))):
    try:
        put[grid](*values)
    except TypeError as e:
        print(e)
END
expect "values that do not fit" "$(python3 values.py 2>&1)" "the kernel takes 3 values (X, n, factor), and got 2
the kernel takes 3 values (X, n, factor), and got 4
n: expected a number of type i32, found 2.5 of type float
X: expected the address of its memory, found 'x' of type str
factor: expected a number of type fp32, found None of type NoneType"
cat >parent.py <<'END'
import subprocess
import sys
subprocess.run([sys.executable, "-c", "import neso, triton; print(neso.is_installed(), triton.runtime.driver.active.where)"])
END
expect "a child" "$(python3 -m neso --device emulator parent.py)" "True emulator"
expect "neso.install()" "$(NESO_DEVICE=emulator python3 -c "import neso; neso.install(); import runpy; runpy.run_path('parent.py')")" "True emulator"
cat >helped.py <<'END'
import triton
import triton.language as tl

SCALE: tl.constexpr = tl.constexpr(3)

@triton.jit
def scaled(x):
    return x * SCALE

@triton.jit
def add(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, scaled(tl.load(x + i)) + n)

for block in 64, 128:
    add.warmup(triton.MockTensor(tl.int32), 5, block, grid=(1,))
END
python3 -m neso --record launches.txt --device emulator helped.py >out.txt 2>&1 || fail "a record: $(tail -n 3 out.txt)"
{ "$NESO" bundle launches.txt -o kernels.neso && "$NESO" bundle --verify kernels.neso launches.txt; } >out.txt 2>&1 || fail "its bundle: $(cat out.txt)"
expect "a kernel of the bundle" "$("$NESO" compile kernels.neso::add --signature "*i32:16, i32, 128" 2>&1 | grep -c '\.entry add')" 1
expect "--record without a file" "$(python3 -m neso --record 2>&1)" "neso: --record needs a file"
expect "no program" "$(python3 -m neso 2>&1)" "neso: expected a program or -m MODULE; \`python -m neso --help\` says more"
expect "no such program" "$(python3 -m neso nothing.py 2>&1)" "neso: there is no file 'nothing.py'"
expect "an unknown option" "$(python3 -m neso --wrong program.py 2>&1)" "neso: unknown option '--wrong'; \`python -m neso --help\` lists them"
expect "no library" "$(NESO_LIBRARY=/nowhere.so python3 -m neso program.py 2>&1 | tail -n 1 | cut -d : -f 1,2)" "ImportError: neso's library cannot be opened"

if [ "$NESO_BUILD" = build ] && wheel=$(python3 "$NESO_ROOT/runtime/python/build_wheel.py" "$work/wheel" 2>wheel.txt); then
    unset PYTHONPATH NESO_LIBRARY
    python3 -m zipfile -e "$wheel" site
    cd site || exit 1
    expect "the wheel" "$(python3 -m neso --device interpreter ../program.py 2>&1)" "[] True __main__ interpreter"
    expect "its .pth file" "$(NESO_TRITON=1 python3 -c "import site; site.addsitedir('.'); import triton; print(triton.__file__)")" \
        "$PWD/neso/instead/triton/__init__.py"
elif [ "$NESO_BUILD" = build ]; then
    cat wheel.txt
    fail "the wheel cannot be built"
fi
exit $status
