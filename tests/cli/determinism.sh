# SPDX-License-Identifier: MIT
# Tests that the PTX of a kernel has the same bytes in every locale, from every folder,
# in every process, and from the builds of gcc and clang (`make test` runs this test with each build, once both
# exist). The test compiles the kernels of some test programs; with EVERY set, the kernels of all test programs.
fail=0 n=0
say() { echo "$*"; fail=1; }
mkdir -p a/deeper/folder
other=$NESO_ROOT/build/clang/neso
[ "$NESO_BUILD" = build ] || other=$NESO_ROOT/build/neso
# Does not compare an older build, because it may come from other sources.
[ -x "$other" ] && ! [ "$NESO_ROOT/build/neso" -nt "$NESO_ROOT/build/clang/neso" ] || other=
for ir in "$NESO_ROOT"/tests/codegen/sm_90a/*.ir; do
    name=$(basename "$ir")
    cp "$ir" "a/deeper/folder/$name"
    "$NESO" compile "$ir" >right 2>&1
    (cd a/deeper/folder && LC_ALL=C "$NESO" compile "$name") >out 2>&1; cmp -s right out || say "another folder: $name"
    for locale in C.UTF-8 de_DE.UTF-8 tr_TR.UTF-8; do
        LC_ALL=$locale LANG=$locale "$NESO" compile "$ir" >out 2>/dev/null; cmp -s right out || say "in $locale: $name"
    done
    [ -z "$other" ] || { "$other" compile "$ir" >out 2>&1; cmp -s right out || say "gcc and clang differ: $name"; }
    n=$((n + 1))
done
[ $n -gt 9 ] || say "only $n kernels"

# Writes the PTX of a program's kernels. Runs the program on the emulator if its first line lists the emulator,
# otherwise on the interpreter.
keep() { # FOLDER NESO PROGRAM
    local device=interpreter
    head -n 1 "$3" | sed 's/[(;].*//' | grep -q emulator && device=emulator
    rm -rf "$1"; "$NESO_LIMIT" 120 "$2" run --device $device --keep-ptx "$1" "$3" >/dev/null 2>&1
}
programs=("$NESO_ROOT"/tests/programs/{announcement_add,announcement_softmax,tensor_maps,layer_norm,scans}.py)
[ -z "${EVERY:-}" ] || programs=("$NESO_ROOT"/tests/programs/*.py)
cp "$NESO_ROOT"/tests/programs/*.py a/deeper/folder
n=0
for program in "${programs[@]}"; do
    name=$(basename "$program")
    keep right "$NESO" "$program"
    { LC_ALL=de_DE.UTF-8 LANG=tr_TR.UTF-8 keep a/there "$NESO" "a/deeper/folder/$name"; } 2>/dev/null
    diff -r right a/there >/dev/null || say "$name: other PTX in another folder and locale"
    if [ -n "$other" ]; then
        keep there "$other" "$program"
        diff -r right there >/dev/null || say "$name: gcc and clang differ"
    fi
    n=$((n + $(find right -name '*.ptx' 2>/dev/null | wc -l)))
done
[ $n -gt 19 ] || say "only $n kernels of programs"
exit $fail
