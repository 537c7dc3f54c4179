# SPDX-License-Identifier: MIT
# Tests neso bench: costs without a GPU, times that a fake driver simulates, verdicts, files and the exit status.
set -u
work=$(mktemp -d) && cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT
fail=0
say() { echo "$*"; fail=1; }
${CC:-cc} -std=c11 -D_DEFAULT_SOURCE -shared -fPIC -I"$NESO_ROOT" "$NESO_ROOT/tests/cli/driver/cuda.c" -o libcuda.so.1 || exit 1
unset GITHUB_ACTIONS NESO_DEVICE

cat >scale.py <<'PY'
import os
import torch
import triton
import triton.language as tl

# bench: scale registers <= 64
@triton.jit
def scale(X, Y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < n) * factor, mask=i < n)

@triton.testing.perf_report(triton.testing.Benchmark(
    x_names=['N'], x_vals=[1024, 4096], line_arg='provider', line_vals=['triton', 'torch'],
    line_names=['Triton', 'Torch'], plot_name='lines', args={}))
def benchmark(N, provider):
    x, y = torch.ones(N, device='cuda'), torch.ones(N, device='cuda')
    if provider == 'torch':
        return triton.testing.do_bench(lambda: x * 2.0)
    return triton.testing.do_bench(lambda: scale[(triton.cdiv(N, 256),)](x, y, N, 2.0, BLOCK=256), rep=20)

benchmark.run(print_data=True, save_path='tables')
print('to nobody')
PY
cat >plain.py <<'PY'
import torch, triton, triton.language as tl

@triton.jit
def bump(X, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(X + i, tl.load(X + i) + 1.0)

x = torch.zeros(128, device='cuda')
for _ in range(3):
    bump[(1,)](x, BLOCK=128)
print(x[0].item())
PY

# bench STATUS TEXT ARGUMENT...: runs neso bench, and checks its exit status and that its output or errors contain TEXT.
bench() {
    local status=$1 text=$2 got; shift 2
    "$NESO_LIMIT" 60 "$NESO" bench "$@" >out 2>&1 </dev/null
    got=$?
    [ $got = "$status" ] || { say "bench $*: exit $got, expected $status"; head -n 20 out; }
    grep -qE -- "$text" out || { say "bench $*: expected to read: $text"; head -n 20 out; }
}

# -- without a GPU: costs --
export NESO_DEVICE=interpreter
bench 0 '^NEW +scale/scale-[0-9a-f]{16} ' scale.py plain.py --record none.txt
grep -q 'to nobody' out && say "the program's own output"
[ ! -e tables ] || say "the program's own files"
[ "$(grep -c ^kernel none.txt)" = 2 ] || say "two kernels: $(cat none.txt)"
grep -q '^ cost bytes_per_access 8$' none.txt || say "accesses of 8 bytes: $(grep bytes_per none.txt)"
bench 0 '^verdicts: 2 same, 0 faster' scale.py plain.py --baseline none.txt
bench 0 'bound kept: scale: registers <= 64' scale.py
[ "$(tail -n 5 out | cut -d: -f1 | tr '\n' ' ')" = 'measured highest verdicts largest change bounds ' ] || say "five lines: $(tail -n 5 out)"
bench 1 '^largest change: scale/scale-[0-9a-f]{16} SLOWER: .*registers 3 -> ' scale.py --baseline <(sed 's/ cost registers .*/ cost registers 3/; s/ cost live_registers .*/ cost live_registers 3/; s/ key .*/ key 01234567890abcde/' none.txt) \
    --allow-missing --json c.json --markdown c.md --svg c.svg
grep -qE '^\| SLOWER \| scale/scale-[0-9a-f]{16} \| 3 → \*\*[0-9]+\*\* \| ' c.md || say "Markdown of costs: $(cat c.md)"
grep -q 'font-weight="bold">registers<' c.svg && grep -q '<rect [^>]*fill="#cf222e"' c.svg || say "a figure of costs: $(cat c.svg)"
if command -v python3 >/dev/null; then
    python3 "$NESO_ROOT/tests/cli/schema.py" c.json "$NESO_ROOT/runtime/manual/bench.schema.json" || say "JSON of costs against its schema"
    python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("c.svg")' || say "a figure that is no XML"
fi
{ echo; cat scale.py; } >moved.py && sed 's/^kernel scale/kernel moved/' none.txt >moved.txt
bench 4 '^verdicts: 1 same.* 1 missing$' moved.py --baseline moved.txt
bench 0 '^MISSING +plain/bump-' moved.py --baseline moved.txt --allow-missing
sed 's/ cost instructions .*/ cost instructions 9/; s/ key .*/ key 0000000000000001/' none.txt >fewer.txt
bench 1 '^SLOWER .* instructions 9 -> [0-9]' scale.py --baseline fewer.txt
mkdir renamed && sed 's/\bscale\b/times/g; s/BLOCK=256/BLOCK=512/' scale.py >renamed/scale.py
bench 3 ' was scale-[0-9a-f]{16}' renamed/scale.py plain.py --baseline none.txt
sed 's/ cost spill_bytes .*/ cost spill_bytes 64/; s/ key .*/ key 0000000000000001/' none.txt >spilled.txt
command -v ptxas >/dev/null && bench 0 '^FASTER .* spill_bytes 64 -> 0' scale.py --baseline spilled.txt --allow-missing
sed 's/instructions <= 64/instructions <= 3/; s/registers <= 64/instructions <= 3/' scale.py >bound.py
bench 1 '^::warning file=bound.py,line=6::scale: instructions <= 3, found ' bound.py --annotate
GITHUB_ACTIONS=true bench 1 '^::warning file=bound.py,line=6::' bound.py
sed 's/registers <= 64/run.shared_conflicts <= 0/' scale.py >counted.py
bench 4 'bound not counted: scale: run.shared_conflicts <= 0, which nothing here counted .--counts does' counted.py
unset NESO_DEVICE
bench 0 'bound kept: scale: run.shared_conflicts <= 0, found 0' counted.py --counts --record counts.txt
sed 's/ cost run.global_sectors .*/ cost run.global_sectors 7/; s/ key .*/ key 0000000000000001/' counts.txt >counts7.txt
bench 1 '^SLOWER .* run.global_sectors 7 -> ' counted.py --counts --baseline counts7.txt

# -- with a GPU: times --
export LD_LIBRARY_PATH=$work FAKE_MS=1
mkdir kept
bench 0 '^NEW +scale/lines/N=4096/Triton +[01]\.[0-9]+$' scale.py plain.py --record kept
grep -q Torch out && say "what no kernel computed is no kernel's time"
[ -e kept/Fake-GPU.txt ] || say "the GPU's file: $(ls kept)"
grep -q '^time plain/bump$' kept/Fake-GPU.txt || say "the launch of a program that times nothing"
bench 0 '^SAME +plain/bump .*same PTX' scale.py plain.py --baseline kept
FAKE_MS=1.5 bench 0 ' 5 same, 0 faster, 0 slower' scale.py plain.py --baseline kept
FAKE_MS=1.03 bench 1 ' 2 same, 0 faster, 3 slower' scale.py plain.py --baseline kept --blind --json o.json --google-json g.json \
    --junit j.xml --markdown m.md --svg s.svg --annotate
grep -q '^::warning file=scale.py,line=19::scale/lines/N=1024/Triton SLOWER: [23].[0-9] % slower, .* 99 % interval +[0-9]' out || say "annotation: $(grep :: out)"
FAKE_MS=1.03 bench 0 ' 5 same, 0 faster, 0 slower' scale.py plain.py --baseline kept --blind --threshold 10
FAKE_MS=0.9 bench 0 ' 2 same, 3 faster, 0 slower' scale.py plain.py --baseline kept --blind
if command -v python3 >/dev/null; then
    python3 "$NESO_ROOT/tests/cli/schema.py" o.json "$NESO_ROOT/runtime/manual/bench.schema.json" || say "JSON of times against its schema"
    python3 - <<'PY' || say "files for programs"
import json, xml.dom.minidom as xml
o = json.load(open('o.json'))
assert o['status'] == 1 and o['gpu'] == 'Fake GPU' and len(o['rows']) == 5, o
row = next(r for r in o['rows'] if r['name'] == 'scale/lines/N=1024/Triton')
assert row['verdict'] == 'SLOWER' and 0.025 < row['change'] < 0.035 and row['p'] < 1e-3 and row['change_low'] > 0, row
assert o['bounds'][0]['state'] == 'kept'
g = json.load(open('g.json'))
assert len(g['benchmarks']) == 45 and all(0.9 < b['real_time'] < 1.2 for b in g['benchmarks'])
assert len(xml.parse('j.xml').getElementsByTagName('failure')) == 3
assert len(xml.parse('s.svg').getElementsByTagName('circle')) == 3
PY
fi
grep -qE '^\| SLOWER \| scale/lines/N=1024/Triton \| [0-9.]+ .s \| 1\.0[0-9]+ ms \| \+[23]' m.md || say "Markdown: $(cat m.md)"
printf '#!/bin/sh\nFAKE_MS=1 exec "%s" "$@"\n' "$NESO" >base && chmod +x base
bench 0 ' 0 slower' scale.py --against "$NESO" --rounds 2 --blind
FAKE_MS=1.04 bench 1 ' 2 slower' scale.py --against ./base --rounds 2 --blind

# -- history: each commit adds a file; a renamed kernel continues its series, and slow drift becomes a change point --
past() { FAKE_MS=$1 bench 0 "^past/index.html: $3" scale.py --history past --commit "$2" --rounds 1 --blind; }
past 1 one '1 commit, 0 change points'
past 1.012 two '2 commits, 0 change points'
past 1.024 three '3 commits, [1-9] change point'
past 1.024 four '4 commits, [1-9] change point'
past 1.024 four '4 commits, [1-9] change point'
grep -qE '<tr><td>three</td><td>scale/lines/N=(1024|4096)/Triton</td><td class="slower">slower</td><td>\+2\.' past/index.html || say "history: $(cat past/index.html)"
NESO_DEVICE=interpreter bench 2 '0002-none.txt is of another GPU|is of another GPU: none' scale.py --history past --commit five
rm past/0005-five.txt
bench 0 '^past/index.html: 4 commits' --history past
export NESO_DEVICE=interpreter
GITHUB_SHA=0123456789abcdef bench 0 '^costs/index.html: 1 commit, 0' scale.py --history costs
[ -e costs/0001-0123456789.txt ] || say "history of costs: $(ls costs)"
sed 's/kernel \(.*\)scale-/kernel \1other-/; s/name scale/name other/; s/ cost registers .*/ cost registers 90/; s/ cost live_registers .*/ cost live_registers 90/; s/ key .*/ key 01234567890abcde/' \
    costs/0001-0123456789.txt >costs/0002-next.txt
bench 0 '^costs/index.html: 2 commits, 1 change point$' --history costs
grep -qE '<tr><td>next</td><td>scale/other-[0-9a-f]{16}</td><td class="slower">slower</td><td>.*registers [0-9]+ -&gt; 90' costs/index.html || say "history of costs: $(cat costs/index.html)"
bench 2 'git knows no commit of this folder: give --commit NAME' scale.py --history costs
bench 2 'cannot make the folder no/such' scale.py --history no/such --commit x
bench 2 'cannot read none: ' --history none
export NESO_DEVICE=best

# -- bad usage --
sed 's/^gpu Fake/gpu Other/' kept/Fake-GPU.txt >other.txt
bench 2 'other.txt is of another GPU: Other GPU, and this is Fake GPU' scale.py --baseline other.txt
bench 2 'cannot read nothing.txt: .*--record makes it' scale.py --baseline nothing.txt
sed 's/^ stretches.*/ stretches 1 x/' kept/Fake-GPU.txt >broken.txt
bench 2 'broken.txt:[0-9]+: expected a line of a baseline' scale.py --baseline broken.txt
bench 2 'usage: neso bench'
bench 2 'cannot read none.py' none.py
bench 2 'two bases' scale.py --baseline kept --against "$NESO"
bench 2 'expected percent' scale.py --threshold much
bench 2 'cannot run ./absent' scale.py --against ./absent
TMPDIR=/absent bench 2 'cannot make a temporary file' scale.py --against ./base
sed 's/<= 64/< 64/' scale.py >wrong.py
bench 2 "wrong.py:6: expected '# bench: KERNEL COST <= NUMBER'" wrong.py
echo 'raise ValueError("no")' >raises.py
bench 2 'raises.py: the program failed' raises.py
exit $fail
