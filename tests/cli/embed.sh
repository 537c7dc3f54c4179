# SPDX-License-Identifier: MIT
# Tests --emit c: the C file compiles as C11 and C++17 without a warning, needs only the driver, and launches the best variant for the
# arguments, with the right parameters. The test uses a fake driver, which prints launches (driver/cuda.c).
fail=0
say() { echo "$*"; fail=1; }
${CC:-cc} -std=c11 -D_DEFAULT_SOURCE -shared -fPIC -I"$NESO_ROOT" "$NESO_ROOT/tests/cli/driver/cuda.c" -o libcuda.so.1 || exit 1
export LD_LIBRARY_PATH=$PWD
cat >scale.py <<'PY'
import triton
import triton.language as tl

@triton.jit
def scale(X, int, factor, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(X + i * int, factor * tl.load(X + i * int, mask=i < n), mask=i < n)
PY
cat >main.c <<'C'
#include "scale.h"
#include <stdio.h>

int main(void)
{
    struct scale_module m;
    printf("load %d\n", scale_load(&m));
    printf("launch %d\n", scale_launch(&m, 0, 4, 1, 1, 0x7000, 1, 1.5f, 1000));
    printf("launch %d\n", scale_launch(&m, 0, 4, 2, 1, 0x7000, 32, 1.5f, 1024));
    printf("launch %d\n", scale_launch(&m, 0, 4, 1, 3, 0x7004, 2, -0.0f, -5));
    printf("launch %d\n", scale_launch(&m, 0, 0, 1, 3, 0x7004, 2, -0.0f, -5));
    printf("unload %d\n", scale_unload(&m));
    return 0;
}
C
build() { # COMPILER STANDARD LANGUAGE OUT
    command -v "${1%% *}" >/dev/null || return 0
    $1 -std="$2" -x "$3" -Wall -Wextra -Werror -pedantic -Wshadow main.c scale.c -x none ./libcuda.so.1 -o "$4" || say "$1 -std=$2"
}
"$NESO" compile scale.py --signature '*fp32, i32, fp32, i32, 256' --variants --emit c -o scale || say "variants: exit $?"
build "${CC:-cc}" c11 c all
build "${CXX:-c++}" c++17 c++ all_cpp
build clang c11 c all_clang
cat >expected <<'OUT'
load 0
grid 4 1 1 threads 128 shared 0: 7000 3fc00000 3e8
launch 0
grid 4 2 1 threads 128 shared 0: 7000 20 3fc00000 400
launch 0
grid 4 1 3 threads 128 shared 0: 7004 2 80000000 fffffffb
launch 0
launch 0
unload 0
OUT
for program in all all_cpp all_clang; do
    [ ! -x $program ] || { FAKE_TRACE=1 ./$program >out; diff expected out || say "$program"; }
done
for call in cuModuleLoadData cuModuleGetFunction cuLaunchKernel cuModuleUnload; do
    FAKE_FAIL=$call ./all | grep -q 218 || say "$call fails in silence"
done
[ "$(ldd all | grep -cvE 'libcuda|libc\.so|linux-vdso|ld-linux')" = 0 ] || say "depends on: $(ldd all)"

"$NESO" compile scale.py --signature '*fp32:16, i32:1, fp32, i32, 256' --emit c -o scale || say "one signature: exit $?"
build "${CC:-cc}" c11 c one
FAKE_TRACE=1 ./one >out
printf 'load 0\ngrid 4 1 1 threads 128 shared 0: 7000 3fc00000 3e8\nlaunch 0\nlaunch 1\nlaunch 1\nlaunch 1\nunload 0\n' | diff - out || say "a broken promise"
for name in as.c as.h; do
    rm -f as.c as.h
    "$NESO" compile scale.py --signature '*fp32:16, i32:1, fp32, i32, 256' --emit c -o $name || say "-o $name: exit $?"
    cmp <(sed 's/\bas\([_.]\|\b\)/scale\1/g' as.c) scale.c && grep -q as_launch as.h || say "-o $name: not as with -o as"
done
"$NESO" compile scale.py --emit c --signature '*fp32, i32, fp32, i32, 256' 2>err; [ $? = 2 ] && grep -q 'o NAME.c makes' err || say "no -o: $(cat err)"
"$NESO" compile scale.py --emit c --signature '*fp32, i32, fp32, i32, 256' -o 2x 2>err; [ $? = 2 ] && grep -q 'no name in C' err || say "-o 2x: $(cat err)"
"$NESO" compile scale.py --emit c --signature '*fp32, i32, fp32, i32' -o x 2>err; [ $? = 2 ] && [ ! -e x.c ] || say "a bad signature: $(cat err)"

# A launch plan: the generated C code encodes the tensor maps. A grid that fits on the GPU at once uses the variant for small grids; for a
# larger grid, one CTA runs on each multiprocessor. If the length of rows does not allow maps for stores, only loads use maps. If no map
# can address the rows, or the driver refuses a map, the kernel uses no maps.
"$NESO" compile "$NESO_ROOT/tests/gpu/emitted.py" --num-warps 8 --emit c -o scale --no-cache \
    --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32, i32, i32, i32, i32, 128, 256, 64' || say "a plan: exit $?"
cat >main.c <<'C'
#include "scale.h"
#include <stdio.h>

int main(void)
{
    struct scale_module m;
    printf("load %d\n", scale_load(&m));
    printf("launch %d\n", scale_launch(&m, 0, 2, 2, 1, 0x1000, 0x2000, 0x3000, 256, 512, 64, 64, 512, 512));
    printf("launch %d\n", scale_launch(&m, 0, 16, 10, 1, 0x1000, 0x2000, 0x3000, 2048, 2560, 64, 64, 2560, 2560));
    printf("launch %d\n", scale_launch(&m, 0, 2, 2, 1, 0x1000, 0x2000, 0x3000, 256, 511, 64, 64, 512, 512));
    printf("launch %d\n", scale_launch(&m, 0, 2, 2, 1, 0x1000, 0x2000, 0x3000, 256, 512, 64, 65, 512, 512));
    printf("launch %d\n", scale_launch(&m, 0, 2, 2, 1, 0x1000, 0x2000, 0x3000, 256, 512, 0, 64, 512, 512));
    printf("launch %d\n", scale_launch(&m, 0, 2, 0, 1, 0x1000, 0x2000, 0x3000, 256, 512, 64, 64, 512, 512));
    printf("launch %d\n", scale_launch(&m, 0, 2, 2, 1, 0x1008, 0x2000, 0x3000, 256, 512, 64, 64, 512, 512));
    printf("unload %d\n", scale_unload(&m));
    return 0;
}
C
build "${CC:-cc}" c11 c plan
build "${CXX:-c++}" c++17 c++ plan_cpp
build clang c11 c plan_clang
cat >expected <<'OUT'
load 0
grid 2 2 1 threads 384: 1000 2000 3000 100 200 40 40 200 200 0 0 0
launch 0
grid 132 1 1 threads 384: 1000 2000 3000 800 a00 40 40 a00 a00 10 a 1 0 0 0
launch 0
grid 4 1 1 threads 384: 1000 2000 3000 100 1ff 40 40 200 200 2 2 1 0 0
launch 0
grid 2 2 1 threads 256: 1000 2000 3000 100 200 40 41 200 200
launch 0
grid 2 2 1 threads 256: 1000 2000 3000 100 200 0 40 200 200
launch 0
launch 0
launch 1
unload 0
OUT
for program in plan plan_cpp plan_clang; do
    [ ! -x $program ] || { FAKE_TRACE=1 ./$program | sed 's/ shared [0-9]*//' >out; diff expected out || say "$program"; }
done
FAKE_TRACE=1 FAKE_FAIL=cuTensorMapEncodeTiled ./plan | grep -c 'threads 256' | grep -qx 5 || say "a map that the driver refuses"
for call in cuCtxGetDevice cuDeviceGetAttribute cuLaunchKernelEx; do
    FAKE_FAIL=$call ./plan | grep -q 218 || say "$call fails in silence"
done
# A signature with parameter names has the same variants as a signature without names.
"$NESO" compile scale.py --signature "X=*fp32, int=i32, factor=fp32, n=i32, BLOCK=256" --variants --emit c -o named &&
    "$NESO" compile scale.py --signature "*fp32, i32, fp32, i32, 256" --variants --emit c -o plain &&
    cmp <(sed s/named/plain/g named.c) plain.c || say "--variants of a signature with names"
exit $fail
