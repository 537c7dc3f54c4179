# The PTX of a kernel is the same bytes in every locale, from every folder, for every process, and where clang's build stands
# beside gcc's (make test leaves it in build/clang) from that one too.
fail=0
say() { echo "$*"; fail=1; }
mkdir -p a/deeper/folder
other=$NESO_ROOT/build/clang/neso
n=0
for ir in "$NESO_ROOT"/tests/codegen/sm_90a/*.ir; do
    name=$(basename "$ir")
    cp "$ir" "a/deeper/folder/$name"
    "$NESO" compile "$ir" >right 2>&1
    (cd a/deeper/folder && LC_ALL=C "$NESO" compile "$name") >out 2>&1; cmp -s right out || say "another folder: $name"
    for locale in C.UTF-8 de_DE.UTF-8 tr_TR.UTF-8; do
        LC_ALL=$locale LANG=$locale "$NESO" compile "$ir" >out 2>/dev/null; cmp -s right out || say "in $locale: $name"
    done
    n=$((n + 1))
done
[ $n -gt 9 ] || say "only $n kernels"
# The clang build may be older than this one: compared only where it was made later.
if [ -x "$other" ] && [ "$other" -nt "$NESO" ]; then
    for ir in "$NESO_ROOT"/tests/codegen/sm_90a/*.ir; do
        cmp -s <("$NESO" compile "$ir" 2>&1) <("$other" compile "$ir" 2>&1) || say "gcc and clang differ: $ir"
    done
fi
exit $fail
