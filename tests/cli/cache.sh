# SPDX-License-Identifier: MIT
# Tests the command's cache: its folder, the ways to turn it off, the messages of strict mode, and that `neso variants` fills it. A process
# that is killed at any point must not leave an entry with wrong code. Launch plans (tensor maps, guards) are cached too.
fail=0
say() { echo "$*"; fail=1; }
cat >add.py <<'PY'
import triton
import triton.language as tl

@triton.jit
def add(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < n) + 1, mask=i < n)
PY
entries() { find "$1" -name '*.neso' 2>/dev/null | wc -l; }
compile() { "$NESO" compile add.py --signature "*fp32:16, *fp32:16, i32, ${1:-256}" "${@:2}"; }
compile >right || say "compile: exit $?"
[ "$(find . -name '*.neso*')" = "" ] || say "NESO_CACHE=off keeps something"

unset NESO_CACHE NESO_CACHE_DIR
HOME=$PWD XDG_CACHE_HOME='' compile >out && cmp out right || say "in HOME"
XDG_CACHE_HOME=$PWD/xdg compile >out && cmp out right || say "in XDG_CACHE_HOME"
[ "$(entries .cache/neso)" = 1 ] && [ "$(entries xdg/neso)" = 1 ] || say "the folders: $(find . -name '*.neso')"
export NESO_CACHE_DIR=$PWD/cache
compile 256 --no-cache >out && cmp out right && [ ! -e cache ] || say "--no-cache keeps something"
compile >out && cmp out right && compile >out && cmp out right && [ "$(entries cache)" = 1 ] || say "one entry"
"$NESO" doctor | grep -q "^cache  *$PWD/cache$" || say "doctor: $("$NESO" doctor)"
NESO_CACHE=strict compile >out && cmp out right || say "strict, and it is there"
NESO_CACHE=strict compile 512 >out 2>err; [ $? = 2 ] || say "strict, and it is not there: exit $?"
grep -q 'signature is X=\*fp32:16, Y=\*fp32:16, n=i32, BLOCK=512, and the nearest' err || say "strict: $(cat err)"
NESO_CACHE=sometimes compile >out 2>err; [ $? = 2 ] && grep -q "found 'sometimes'" err || say "NESO_CACHE=sometimes: $(cat err)"

"$NESO" variants add.py::add --signature '*fp32, *fp32:16, i32, 256' >list || say "variants: exit $?"
[ "$(wc -l <list)" = 6 ] && grep -qx '\*fp32:16, \*fp32:16, i32:1, 256' list || say "variants: $(cat list)"
rm -r cache
"$NESO" variants add.py --signature '*fp32, *fp32:16, i32, 256' --precompile >out 2>err && cmp out list || say "precompile: $(cat err)"
[ "$(entries cache)" = 6 ] || say "precompiled: $(entries cache)"
while read -r signature; do
    NESO_CACHE=strict "$NESO" compile add.py --signature "$signature" >out || say "not precompiled: $signature"
done <list
"$NESO" variants add.py --signature "$(printf '*fp32, *fp32, i32, 256')" --num-warps 3 2>err; [ $? = 2 ] || say "variants with bad options"

# Tests kernels with tensor maps and guards: the second run compiles nothing and launches the same code, even if a
# guard fails.
for program in tensor_maps dot_warpgroups; do
    file=$NESO_ROOT/tests/programs/$program.py
    rm -r cache
    "$NESO" run --device emulator "$file" >right2 2>&1 || say "$program: $(cat right2)"
    n=$(entries cache)
    [ "$n" -gt 9 ] || say "$program: $n entries"
    NESO_CACHE=strict "$NESO" run --device emulator "$file" >out 2>&1 && cmp out right2 || say "$program, strict: $(tail -n 5 out)"
    [ "$(entries cache)" = "$n" ] || say "$program: a second run keeps more"
done
rm -r cache; compile >out

# Kills many processes, because a process runs for a few milliseconds, and writes its entry only during some tenths of a
# millisecond.
kills=100; [ -n "${EVERY:-}" ] && kills=2000
for ((i = 0; i < kills; i++)); do
    rm -rf cache/*.neso
    compile >/dev/null 2>&1 &
    { ((i % 3 == 0)) || sleep "0.00$((RANDOM % 10))$((RANDOM % 10))"; kill -9 $!; wait $!; } 2>/dev/null
    compile >out 2>err && cmp -s out right || { say "after a kill: $(cat err)"; break; }
done
[ "$(entries cache)" = 1 ] || say "after kills: $(ls cache)"
exit $fail
