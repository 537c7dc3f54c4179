# SPDX-License-Identifier: MIT
# Tests the output of neso bench about kernels whose costs changed, without a GPU. The counts of a variant belong to
# its kernel. The reason for a verdict lists the costs that decided the verdict before the other costs. The largest
# change is the change with the largest ratio. Also tests messages about bounds, numbers and figures.
set -u
work=$(mktemp -d) && cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT
fail=0
say() { echo "$*"; fail=1; }
unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY NESO_DEVICE
cp "$NESO_ROOT/tests/gate/matmul.py" . || exit 1
cat >pair.py <<'PY'
import torch, triton, triton.language as tl

@triton.jit
def twice(X, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(X + i, tl.load(X + i) * 2.0)

@triton.jit
def top(X, Y, BLOCK: tl.constexpr):
    tl.store(Y, tl.max(tl.load(X + tl.arange(0, BLOCK)), axis=0))

x = torch.zeros(128, device='cuda')
twice[(1,)](x, BLOCK=128)
top[(1,)](x, x, BLOCK=128)
PY
bench() { # STATUS TEXT ARGUMENT...
    local status=$1 text=$2 got; shift 2
    "$NESO_LIMIT" 60 "$NESO" bench "$@" >out 2>&1 </dev/null
    got=$?
    [ $got = "$status" ] || { say "bench $*: exit $got, expected $status"; head -n 20 out; }
    grep -qE -- "$text" out || { say "bench $*: expected to read: $text"; head -n 20 out; }
}

# If a launch runs a variant of a kernel, the variant's counts belong to the kernel. This also holds if the base is from an older neso,
# which wrote a row for the variant.
bench 0 '^matmul/matmul-[0-9a-f]{16}: its counts are of the variant without persistent_grid,cluster_multicast, which launches ran because the grid' \
    matmul.py --counts --record new.txt
[ "$(grep -c '^kernel' new.txt)" = 1 ] && grep -q '^ cost run.instructions [1-9]' new.txt || say "one kernel with its counts: $(cat new.txt)"
awk '/^ cost run\./ { counts = counts $0 "\n"; next } /^kernel/ { name = $2 } { print }
     END { printf "kernel %s-without-persistent_grid,cluster_multicast\n name matmul\n key 0000000000000007\n%s", name, counts }' new.txt >old.txt
bench 0 '^verdicts: 1 same, 0 faster, 0 slower, 0 undecided$' matmul.py --counts --baseline old.txt
bench 0 '^verdicts: 1 same, 0 faster, 0 slower, 0 undecided$' matmul.py --counts --baseline new.txt
sed -E 's/^( cost run.instructions) .*/\1 9/; s/ key .*/ key 0000000000000001/' old.txt >less.txt
bench 1 '^SLOWER +matmul/matmul-[0-9a-f]{16} .* run.instructions 9 -> [0-9]+' matmul.py --counts --baseline less.txt
bench 4 '^run.[a-z_]+ of matmul/matmul-[0-9a-f]{16} is in the base, and was not measured now: give --counts$' matmul.py --baseline new.txt

# The note lists the costs that decided the verdict, then costs within their bounds, then better costs. The largest
# change is the change with the largest ratio.
bench 0 '^NEW ' pair.py --record base.txt
change() { # KERNEL COST VALUE...: changes costs of one kernel in a base, and its key
    awk -v kernel="$1" -v costs=" ${*:2} " '/^kernel/ { on = index($2, "/" kernel "-") }
        on && $1 == "key" { print " key 0000000000000001"; next }
        on && $1 == "cost" && match(costs, " " $2 " [0-9.]+ ") { split(substr(costs, RSTART + 1), part, " "); print " cost " $2 " " part[2]; next } { print }'
}
change top barriers 0 shared_bytes 1 threads 64 bytes_per_access 1 <base.txt >mixed.txt
bench 1 '^SLOWER +pair/top.* barriers 0 -> 1; within the bounds: shared_bytes 1 -> [0-9]+; better: bytes_per_access 1 -> [0-9.]+, threads 64 -> 128$' \
    pair.py --baseline mixed.txt --svg f.svg --markdown m.md
grep -q 'fill="#1a7f37"' f.svg && grep -q 'fill="#cf222e"' f.svg || say "the figure has one colour for better and worse costs"
grep -q 'font-weight="bold">live registers<' f.svg && grep -q '| live registers |' m.md || say "figure or Markdown lack live registers"
change twice bytes_per_access 8 <base.txt | change top instructions 4 >ratio.txt
bench 1 '^largest change: pair/top-' pair.py --baseline ratio.txt
change twice bytes_per_access 64 <base.txt | change top instructions 4 >ratio.txt
bench 1 '^largest change: pair/twice-' pair.py --baseline ratio.txt
width=$(sed -nE 's/^<svg [^>]* width="([0-9]+)".*/\1/p' f.svg) last=$(sed -nE 's/^<text x="([0-9]+)".*font-weight="bold">.*/\1/p' f.svg | tail -n 1)
[ "$width" -ge $((last + 130)) ] || say "the figure cuts its last column: $last of $width"
bench 0 '' pair.py --baseline base.txt --markdown same.md
grep -q '<details>' same.md || say "Markdown lacks what is the same"
bench 1 '' pair.py --baseline <(change top barriers 0 <base.txt | change twice bytes_per_access 64) --markdown all.md
! grep -q '<details>' all.md || say "Markdown has an empty section"

# Tests rules, numbers, bounds and other builds.
"$NESO" help bench >help
grep -qE 'live_registers +grows by more than 25 % and at least 8 ' help || say "help bench says another rule than it applies"
grep -q 'largest ratio' help || say "help bench does not say what the largest change is"
sed 's/^kernel .*/&/; s/^ cost shared_bytes [1-9].*/ cost shared_bytes 24580/; s/ key .*/ key 0000000000000001/' base.txt >bytes.txt
bench 0 '^FASTER .*shared_bytes 24580 -> ' pair.py --baseline bytes.txt --allow-missing --markdown bytes.md
grep -q ' 24580 → ' bytes.md || say "bytes in Markdown: $(cat bytes.md)"
bound() { { echo "$1"; cat pair.py; } >bound.py; }
bound '# bench top live_registers <= 20'; bench 2 "bound.py:1: expected '# bench: KERNEL COST <= NUMBER', found '# bench top live_registers <= 20'" bound.py
bound '# bench is slow: a <= b'; bench 2 "expected '# bench: KERNEL" bound.py
bound '# benchmarks: a <= b'; bench 0 '^bounds: 0 kept' bound.py
bound '# bench: topp live_registers <= 20'; bench 4 'topp: live_registers <= 20, and no kernel of this name was measured' bound.py
bound '# bench: top regs <= 20'; bench 4 'top: regs <= 20, which is no cost of this kernel' bound.py
bench 2 '/bin/true is no neso: ./bin/true bench. wrote no measurements' pair.py --against /bin/true
bench 2 'counts takes no argument' pair.py --counts=c.json
! grep -q 'counts\[=FILE\]' help || say "help bench gives --counts a file"

# The page of the history shows a better cost in the colour for better costs, even if its kernel is slower.
bench 0 '' pair.py --history past --commit one
sed -i 's/tl.max(tl.load(X + tl.arange(0, BLOCK)), axis=0)/tl.max(tl.load(X + tl.arange(0, BLOCK)), axis=0) + tl.sum(tl.load(X + tl.arange(0, BLOCK)) * 3.0, axis=0)/' pair.py
bench 0 'past/index.html: 2 commits, [1-9]' pair.py --history past --commit two
grep -q '<div>live registers <b>' past/index.html || grep -q 'at all commits: .*live registers' past/index.html || say "the history lacks live registers"
exit $fail
