#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tests/same_ptx.sh COMMIT|NESO [TARGET...]: checks that a change alters no PTX. The kernels are those of all programs
# in tests/ and bench/, as traced IR (stored in build/same/ir: remove that folder after programs have changed), and
# the IR files of tests/. The build of the commit (made in build/same/COMMIT) and build/neso compile each kernel for
# every target. Both builds must print the same bytes, or both must refuse. Differences stay in build/same/differs.
# The last line is `N texts equal, N differ`.
set -u
cd "$(dirname "$0")/.." || exit 2
[ $# -gt 0 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
same=$PWD/build/same jobs=$(nproc) base=$1; shift
export LC_ALL=C NESO_CACHE=off NEW=$PWD/build/neso SAME=$same
mkdir -p "$same"

if [ ! -x "$base" ]; then
    commit=$(git rev-parse --verify --quiet "$base^{commit}") || { echo "$base is neither a commit nor a build of neso" >&2; exit 2; }
    folder=$same/${commit:0:12}
    if [ ! -x "$folder/build/neso" ]; then
        mkdir -p "$folder" && git archive "$commit" | tar -x -C "$folder" && make -s -C "$folder" -j"$jobs" build/neso || exit 2
    fi
    base=$folder/build/neso
fi
export BASE=$base

collect() { # stores the traced IR of programs: runs tests, and compiles benches without measuring
    mkdir -p "$same/ir.new"
    find tests/programs -name '*.py' -print0 |
        xargs -0 -P "$jobs" -I{} tests/limit 240 "$NEW" run --device interpreter --keep-ir "$same/ir.new" {} >/dev/null 2>&1
    find bench/programs -name '*.py' -print0 |
        PATH=/usr/bin:/bin xargs -0 -P "$jobs" -I{} tests/limit 600 "$NEW" bench --device interpreter --keep-ir "$same/ir.new" {} >/dev/null 2>&1
    mv "$same/ir.new" "$same/ir"
}
[ -d "$same/ir" ] || collect

compare() { # FILE TARGET
    local name out old new
    name=$(basename "$1" .ir).$2
    out=$(mktemp -d)
    "$BASE" compile "$1" --target "$2" --emit ptx >"$out/old" 2>/dev/null; old=$?
    "$NEW" compile "$1" --target "$2" --emit ptx >"$out/new" 2>"$out/err"; new=$?
    if [ $old = $new ] && cmp -s "$out/old" "$out/new"; then echo "equal"; else
        echo "differs: $1 for $2 (exit $old, $new)"
        mkdir -p "$SAME/differs/$name" && cp "$out"/* "$SAME/differs/$name"
    fi
    rm -rf "$out"
}
export -f compare

rm -rf "$same/differs"
targets=${*:-$("$NEW" help targets | grep -oE '^ *sm_[0-9a-z]+')}
[ -n "$targets" ] || { echo "$NEW names no targets" >&2; exit 2; }
find "$same/ir" tests/ir tests/opt tests/codegen -name '*.ir' | sort | while read -r file; do
    for target in $targets; do echo "$file $target"; done
done | xargs -P "$jobs" -L 1 bash -c 'compare "$@"' compare >"$same/results"
grep differs "$same/results" | sort | head -n 40
awk '/^equal/ { e++ } /^differs/ { d++ } END { printf "%d texts equal, %d differ\n", e, d; exit d > 0 || !e }' "$same/results"
