# SPDX-License-Identifier: MIT
# Tests five kernels, with and without the cache, while each allocation and each call of the driver fails in turn: every failure is
# reported, and nothing leaks (driver/failures.c, with the fake driver). Sanitized builds, which are slow, make every 15th allocation fail
# (EVERY=1: each). Also tests that launches allocate no memory (bench/launch.c).
fail=0
say() { echo "$*"; fail=1; }
cc=${CC:-cc}
archive=$NESO_ROOT/$NESO_BUILD/libneso.a
inner=$(nm "$archive")
san='' stride=1
[[ $inner == *__asan_* ]] && san="-g -fsanitize=address,undefined -fno-sanitize-recover=all"
[[ $inner == *__tsan_* ]] && san="-g -fsanitize=thread"
[[ $NESO_BUILD == *clang* ]] && cc=clang
$cc -std=c11 -D_DEFAULT_SOURCE -shared -fPIC -I"$NESO_ROOT" "$NESO_ROOT/tests/cli/driver/cuda.c" -o libcuda.so.1 || exit 1
export LD_LIBRARY_PATH=$PWD
link() { # SOURCE TO
    # shellcheck disable=SC2086
    $cc -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror $san -I"$NESO_ROOT" -I"$NESO_ROOT/runtime" "$NESO_ROOT/$1" "$archive" \
        -lm -ldl -lpthread -o "$2" || say "$1 does not build"
}
link tests/cli/driver/failures.c failures
[ -n "$san" ] && [ -z "${EVERY:-}" ] && stride=15
for cache in "" cache; do
    ./failures $stride $cache >out 2>&1 || say "failures $cache: $(tail -n 30 out)"
done
link tests/cli/driver/attributes.c attributes
FAKE_TRACE=1 ./attributes >out 2>&1
! grep -A 20 'Sanitizer' out || fail=1
line='grid 3 1 1 threads 128 shared 0: 1000 64'
{ printf '%s\n' "$line" 'attribute 2 is 1' "$line" 'attribute 8 is -5' "$line" 'attribute 2 is 1' 'attribute 8 is 2' "$line"
  echo "error: launches of kernel 'product' follow a plan (tensor maps, guards, a persistent grid), which its function alone does not" \
      "have: capture neso_launch instead [function-planned]"; } >expected
diff expected out || say "launches with options"
link bench/launch.c launch
./launch >out 2>&1
! grep -A 20 'Sanitizer' out || fail=1
grep -qx '0 allocations' out || say "launch: $(cat out)"
exit $fail
