# SPDX-License-Identifier: MIT
# Tests that the costs of the kernels of Triton's announcement, as the emulator counts them, do not exceed the baseline in git. A failure
# names the kernel and the line. A change that lowers the costs (or raises them for a good reason) must record a new baseline:
#
#     neso bench bench/programs/announced.py --counts --record FILE && grep -vE '^ (cost [^r]|cost registers)' FILE >bench/baselines/announced.txt
set -u
cd "$NESO_ROOT" || exit 1
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
fail=0
say() { echo "$*"; fail=1; }
judge() { "$NESO" bench --counts --no-cache bench/programs/announced.py --baseline "$1" "${@:2}" >"$t/out" 2>&1; }

judge bench/baselines/announced.txt || say "it costs more than it did: $(cat "$t/out")"
grep -q '^NEW' "$t/out" && say "a kernel that the baseline does not know: $(cat "$t/out")"

sed -E 's/^ key .*/ key 0000000000000001/; s/^( cost run\.global_sectors) [0-9]+/\1 9/; s/^( cost run\.global_sectors@25) [0-9]+/\1 9/' \
    bench/baselines/announced.txt >"$t/less.txt"
judge "$t/less.txt" --annotate
[ $? = 1 ] || say "a rise is no failure: $(cat "$t/out")"
grep -qE '^SLOWER +announced/add-.*run.global_sectors 9 -> 2307 \(line 25\)' "$t/out" || say "which kernel and line: $(cat "$t/out")"
grep -q '^::warning file=bench/programs/announced.py,line=25::announced/add-' "$t/out" || say "the annotation: $(cat "$t/out")"
exit $fail
