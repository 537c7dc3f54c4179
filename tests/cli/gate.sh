# SPDX-License-Identifier: MIT
# Tests that the gate that the README recommends (bench/ci/gate.sh) rejects 60 edits of twelve kinds that make kernels
# slower, and accepts 60 edits that do not. An edit is a line KIND|PROGRAM|SED SCRIPT of tests/gate/slower.txt or
# same.txt. Under a sanitizer the test tries every tenth edit.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
gate=$NESO_ROOT/bench/ci/gate.sh programs=$NESO_ROOT/tests/gate
export work gate programs
unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY NESO_DEVICE
for p in "$programs"/*.py; do
    p=$(basename "$p" .py)
    "$NESO" bench --counts --record "$work/$p.txt" "$programs/$p.py" >"$work/log" 2>&1 || { echo "no baseline of $p"; cat "$work/log"; exit 1; }
done

try() { # NUMBER|EXPECTED|KIND|PROGRAM|SED SCRIPT
    local number expected kind program script status folder
    IFS='|' read -r number expected kind program script <<<"$1"
    folder=$work/$number-$expected
    mkdir "$folder" && cd "$folder" || return
    sed -E "$script" "$programs/$program.py" >"$program.py"
    ! cmp -s "$program.py" "$programs/$program.py" || { echo "$expected.txt:$number: $kind: edits nothing in $program.py"; return; }
    "$gate" "$NESO" "$work/$program.txt" "$program.py" >out 2>&1
    status=$?
    case $expected-$status in slower-1 | slower-4 | same-0) return ;; esac
    echo "$expected.txt:$number: $kind: $program.py: the gate's exit status is $status"
    cat out
}
export -f try
without='^$' # without an assembler, spills are unknown
command -v ptxas >/dev/null || [ -x /usr/local/cuda/bin/ptxas ] || without='^spill'
every=1
case ${NESO_BUILD:-build} in *san*) every=10 ;; esac
for expected in slower same; do
    [ "$(wc -l <"$programs/$expected.txt")" = 60 ] || echo "$expected.txt: expected 60 edits"
    awk -v expected=$expected -v every=$every -v without="$without" \
        'NR % every == 0 && $0 !~ without { print NR "|" expected "|" $0 }' "$programs/$expected.txt"
done >"$work/edits"
xargs -d '\n' -n 1 -P "$(nproc)" bash -c 'try "$0"' <"$work/edits" >"$work/found" 2>&1
cat "$work/found"
[ ! -s "$work/found" ]
