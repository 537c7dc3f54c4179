# SPDX-License-Identifier: MIT
# Tests neso run --counts: the numbers are exact and do not depend on the number of threads. --sample N runs N programs of each launch.
set -u
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
status=0
complain() { echo "$1"; status=1; }

cat >"$t/k.py" <<'PY'
import torch, triton, triton.language as tl

@triton.jit
def scale(x, y, n, stride, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at * stride, mask=at < n)
    tl.store(y + at, v * 2.0, mask=at < n)

@triton.jit
def last(x, ticket, B: tl.constexpr):
    n = tl.atomic_add(ticket, 1)
    if n == tl.num_programs(0) - 1:
        tl.store(x + tl.arange(0, B), 1.0)

x, y = torch.zeros(8192, device='cuda'), torch.zeros(1024, device='cuda')
scale[(8,)](x, y, 1024, 1, B=128)
scale[(8,)](x, y, 1024, 8, B=128)
last[(64,)](x, torch.zeros(1, dtype=torch.int32, device='cuda'), B=128)
PY
run() { "$NESO" run --no-cache --device emulator --counts="$1" "${@:2}" "$t/k.py" >"$t/out" 2>"$t/table" || complain "it fails: $(tail -n 3 "$t/table")"; }
count() { grep -o "\"$3\": [0-9]*" <<<"$(grep -A 1 "\"kernel\": \"$2\"" "$t/$1" | grep counts | sed -n "$4p")" | sed 's/.*: //'; }
want() { # KERNEL WHICH COUNTER VALUE
    local got; got=$(count all.json "$1" "$3" "$2")
    [ "$got" = "$4" ] || complain "$1, specialization $2: $3 is '$got', expected $4"
}

run "$t/all.json"
want scale 1 launches 1
want scale 1 programs 8
want scale 1 global_sectors 256
want scale 1 global_sectors_least 256
want scale 2 load_sectors 1024
want scale 2 store_sectors 128
want scale 2 global_bytes 8192
want last 1 programs 64
want last 1 atomics 256
grep -q 'k.py:6 ' "$t/table" || complain "the table has no line 6"
if command -v taskset >/dev/null; then
    taskset -c 0 "$NESO" run --no-cache --device emulator --counts="$t/one.json" "$t/k.py" >/dev/null 2>&1
    cmp "$t/all.json" "$t/one.json" || complain "the counts differ with the number of threads"
fi
run "$t/some.json" --sample 2
[ "$(count some.json scale programs 1)" = 2 ] || complain "--sample 2 runs $(count some.json scale programs 1) programs"
[ "$(count some.json scale grid_programs 1)" = 8 ] || complain "--sample 2 tells of a grid of $(count some.json scale grid_programs 1)"
# If a launch pairs its CTAs, a sample of 3 programs runs two pairs, and counts the instructions of two pairs.
pairs() { "$NESO" run --no-cache --device emulator --counts="$t/pairs.json" --sample "$1" "$NESO_ROOT/tests/programs/persistent_pairs.py" >"$t/out" 2>&1; } # its asserts fail: some programs have not run
pairs 3; three="$(count pairs.json grouped programs 1) $(count pairs.json grouped instructions 1)"
pairs 2; two=$(count pairs.json grouped instructions 1)
[ "$three" = "4 $((2 * two))" ] || complain "of pairs, --sample 3 runs '$three' programs and instructions, --sample 2 runs $two instructions"
"$NESO" run --device interpreter --counts "$t/k.py" >/dev/null 2>"$t/err"
[ $? = 2 ] && grep -qF "cannot count: only the emulator does (--device emulator), and it is interpreter" "$t/err" || complain "the interpreter counts"
exit $status
