# SPDX-License-Identifier: MIT
# Tests that `neso run` writes the files of a program (tables, plots) only below the working folder, or below --output
# DIR, even if the path that the program passes is absolute, contains .., or contains a link to a folder or file. A
# refusal shows the location of the call.
fail=0
say() { echo "$*"; fail=1; }

cat >report.py <<'PY'
import sys
import triton

bench = triton.testing.Benchmark(x_names=['n'], x_vals=[1, 2], line_arg='how', line_vals=['a'], line_names=['a'],
                                 plot_name=sys.argv[2], args={})

@triton.testing.perf_report(bench)
def measure(n, how):
    return n

measure.run(save_path=sys.argv[1])
PY
mkdir -p inner outside && cd inner || exit 1
real=$(pwd -P)
run() { "$NESO" run --device interpreter "${@:3}" ../report.py "$1" "$2" >out 2>err; } # SAVE_PATH PLOT_NAME OPTION...

# saved WHAT FOLDER SAVE_PATH PLOT_NAME OPTION...: runs the program, and checks that it has written FOLDER/PLOT_NAME.csv
saved() {
    run "${@:3}" || say "$1: exit $?: $(cat err)"
    [ "$(head -n 1 "$2/$4.csv" 2>/dev/null)" = n,a ] && [ -s "$2/$4.svg" ] || say "$1: nothing in $2"
    rm -rf "${2:?}/$4.csv"
}
saved "a folder" results results plot
saved "a folder in a folder" results/of/today ./results//of/./today/ plot
saved "a folder in the plot's name" results results deep/plot
saved "the working folder" . . plot
saved "the working folder by its whole name" "$real/whole" "$real/whole" plot
saved "--output" other/results results plot --output other
saved "--output elsewhere" ../elsewhere/results results plot -o ../elsewhere
saved "--output by its whole name" other/again "$real/other/again" plot --output other
[ -s other/again/results.html ] || say "no page"

# refused WHAT SAVE_PATH PLOT_NAME OPTION...: checks that nothing is written outside, and that the message has the
# location of the call
ln -s ../outside link
ln -s ../outside/file.csv linked.csv
mkdir -p kept && ln -s ../../outside kept/link
refused() {
    run "${@:2}" && say "$1: exit 0"
    grep -q '^../report.py:11:1: error: OSError: .* is outside of the folder .*\[save-outside\]' err || say "$1: $(cat err)"
    [ -z "$(find ../outside -type f)$(find .. -maxdepth 1 -name '*.csv' -o -maxdepth 1 -name '*.svg' -o -maxdepth 1 -name '*.html')" ] ||
        say "$1: wrote $(ls ../outside ..)"
}
refused "the folder above" .. plot
refused "a folder beside" ../outside plot
refused "up and down" results/../../outside plot
refused "a whole name" "$(dirname "$real")/outside" plot
refused "a whole name that begins alike" "$real-outside" plot
refused "the plot's name goes up" results ../../outside/plot
refused "the plot's name is whole" . "$(dirname "$real")/outside/plot"
refused "a link to a folder" link plot
refused "a link to a folder, deeper" kept/link/deep plot
refused "a link to a file" . linked
refused "up from --output" .. plot --output kept
refused "the working folder, with --output" "$real/results" plot --output kept
NESO_CACHE_DIR=$(dirname "$real")/outside refused "the cache's folder" "$(dirname "$real")/outside" plot
mkfifo pipe.csv
run . pipe && say "a pipe: exit 0"
grep -q 'save-failed' err || say "a pipe: $(cat err)"
run kept/link2/x "$(printf 'x%.0s' {1..300})" && say "a long name: exit 0"

# -- limits --
cd .. || exit 1
limited() { # SECONDS_MOST STATUS TEXT OPTION...: runs a program that only the limit ends
    local start=$SECONDS
    "$NESO" run --device interpreter "${@:4}" endless.py >out 2>err
    local got=$?
    [ $got = "$2" ] && grep -q -- "$3" err && [ $((SECONDS - start)) -le "$1" ] || say "${*:4}: exit $got after $((SECONDS - start)) s: $(cat err)"
}
printf 'import torch\nx = []\nwhile True:\n    x.append(torch.ones(1000))\n' >endless.py
limited 60 1 'endless.py:[34]:[0-9]*: error: this takes longer than its time limit of 250 ms \[time-limit\]' --time-limit 0.25
limited 60 1 'endless.py:4:14: error: RuntimeError: no memory for this tensor: the program.s memory limit is 64.0 MiB \[torch-memory\]' --memory-limit 64M
limited 60 1 'memory' --memory-limit 3000K --time-limit 1000
for o in "--time-limit 0" "--time-limit x" "--time-limit -1" "--time-limit nan" "--memory-limit 64Q" "--memory-limit -1" "--memory-limit M" "--memory-limit 1MM"; do
    # shellcheck disable=SC2086
    limited 60 2 ': expected a' $o
done
exit $fail
