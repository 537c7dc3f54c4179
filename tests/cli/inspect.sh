# SPDX-License-Identifier: MIT
# Tests neso inspect: the page needs no other file, its links lead to existing lines, the JSON is valid for inspect.schema.json, equal
# inputs give equal bytes in any folder, and hints name promises that the signature lacks.
set -u
status=0
say() { echo "$*"; status=1; }
programs=$NESO_ROOT/tests/programs
add=announcement_add.py::add matmul=announcement_matmul.py::matmul softmax=announcement_softmax.py::softmax
blocks="BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, GROUP_M=8"
signature() { # KERNEL
    case $1 in
    "$add") echo "*i32:16, *i32:16, *i32:16, i32" ;;
    "$softmax") echo "*fp32:16, i32:16, i32:1, *fp32:16, i32:16, i32:1, i32, i32" ;;
    *) echo "*fp16:16, *fp16:16, *fp32:16, i32, i32, i32, i32:16, i32:1, i32:16, i32:1, i32:16, i32:1, $blocks" ;;
    esac
}

cat >validate.py <<'PY'
import json, os, sys
sys.path.insert(0, os.environ['NESO_ROOT'] + '/tests/cli')
from schema import check
x = json.load(open(sys.argv[1], encoding='utf-8'))
check(x, json.load(open(sys.argv[2], encoding='utf-8')), 'it')
lines = x['source'].count('\n') + 1
for s in x['stages']:
    rows = s['text'].rstrip('\n').split('\n')
    assert len(s['lines']) == len(s['text'].split('\n')) - s['text'].endswith('\n'), s['name']
    assert all(0 <= n <= lines for n in s['lines']), s['name']
    assert any(s['lines']) and len(rows) > 1, s['name']
assert all(d['line'] is None or d['file'] or 1 <= d['line'] <= lines for d in x['decisions'])
for loop in x['schedules']:
    assert loop['cycles'] > 0 and loop['buffers'] and loop['spans'], 'schedule'
    assert all(0 <= s['from'] <= s['to'] <= loop['cycles'] for s in loop['spans']), 'spans'
assert ('matmul' in x['file']) == bool(x['schedules'])
assert max(x['pressure']) == x['resources']['live_registers'], 'pressure'
mir = next(s for s in x['stages'] if s['kind'] == 'mir')['text']
assert all(r['register'] in mir for r in x['live'])
assert len(x['pressure']) == sum(l.startswith('\t') and l[1] != '.' and l.endswith(';') for l in mir.split('\n'))
PY

cp "$programs"/announcement_*.py . && mkdir -p other && cp announcement_*.py other
for kernel in "$add" "$softmax" "$matmul"; do
    name=${kernel%%.*} given=$(signature "$kernel")
    "$NESO" inspect "$kernel" --signature "$given" --num-warps 4 --json --html "$name.html" -o "$name.json" || say "$kernel: exit $?"
    (cd other && "$NESO" inspect "$PWD/$kernel" --signature "$given" --num-warps 4 --json --html "$name.html" -o "$name.json")
    cmp "$name.json" "other/$name.json" && cmp "$name.html" "other/$name.html" || say "$kernel: not the same twice"
    grep -nF "$PWD" "$name.html" && say "$kernel: an absolute path"
    grep -nE '(src|href)=|@import|url\(' "$name.html" | grep -v '<link rel="icon" href="data:,">' && say "$kernel: something from elsewhere"
    [ "$(grep -c '</script>' "$name.html")" = 2 ] || say "$kernel: data that ends a script"
    if command -v python3 >/dev/null; then
        python3 validate.py "$name.json" "$NESO_ROOT/runtime/command/inspect/inspect.schema.json" || say "$kernel: against its schema"
    elif command -v jq >/dev/null; then
        jq empty "$name.json" || say "$kernel: no JSON"
    fi
    "$NESO" inspect "$kernel" --signature "$given" --num-warps 4 >"$name.txt" || say "$kernel: exit $?"
    grep -q "^  occupancy " "$name.txt" || { say "$kernel:"; cat "$name.txt"; }
done
grep -q '^   25 |  *x = load(X + idx, mask=mask)$' announcement_add.txt || { say "no source line"; cat announcement_add.txt; }
grep -q '^      |   legalize_dot: %acc.2 by wgmma' announcement_matmul.txt || { say "no decision"; cat announcement_matmul.txt; }
grep -q '"name": "assign_layouts", "kind": "ir"' announcement_add.json || say "no stage after assign"

# If there is a browser, loads the page in the browser: all parts have contents, and no script fails.
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
shown() { # PAGE: prints the document after its scripts have run, without the scripts
    nice "$browser" --headless=new --no-sandbox --disable-gpu --user-data-dir="$PWD/browser" --window-size="${2:-1200},900" \
        --virtual-time-budget=2000 --dump-dom "file://$PWD/$1" 2>/dev/null | sed '/^<script/,/<\/script>/d'
}
grep -q '^#panes {' announcement_add.html || say "the page lacks its style"
if [ -n "$browser" ]; then
    shown announcement_matmul.html >dom
    for text in '<h3>Parameters</h3>' '<td>is 1</td>' 'strides in bytes' 'addresses, temporaries' 'tensor cores, ' 'colour: warp' 'raise_tma_load</b> a copy by a tensor map'; do
        grep -qF "$text" dom || say "the page does not show '$text'"
    done
    grep -qF '(no value)' dom && say "the page shows '(no value)'"
fi

# A build with the promise that a hint suggests has the decision that the hint predicts.
"$NESO" inspect "$add" --signature "*i32:16, *i32, *i32:16, i32" >hints || say "hints: exit $?"
grep -A1 'vectorize: 1 element at once; memory is not known to be aligned' hints | grep -q 'with Y:16, N:16: 4 elements at once$' || { say "no hint"; cat hints; }
printf '%s\n' 'import triton, triton.language as tl' '@triton.jit' 'def add(t, z, n, N: tl.constexpr):' '    i = tl.arange(0, N)' \
    '    tl.store(z + i, tl.load(t[0] + i, mask=i < n) + tl.load(t[1][0] + i), mask=i < n)' >tuples.py
"$NESO" inspect tuples.py::add --signature "(*i32:16, (*i32,)), *i32:16, i32, 1024" >hints
grep -A1 'vectorize: 1 element at once; memory is not known' hints | grep -q 'with t_1_0:16: 4 elements at once$' || { say "no hint about a tuple's item"; cat hints; }
"$NESO" inspect "$add" --signature "*i32:16, *i32:16, *i32:16, i32:16" | grep -q 'with ' && say "a hint where nothing is better"
"$NESO" inspect "$matmul" --num-warps 8 --signature "*fp16, *fp16, *fp32, i32, i32, i32, i32, i32, i32, i32, i32, i32, $blocks" >hints
[ "$(grep -c 'with stride_ak:1, stride_bn:1: a copy by a tensor map' hints)" = 2 ] || { say "no hint about strides"; cat hints; }
"$NESO" inspect "$matmul" --num-warps 8 --signature "*fp16, *fp16, *fp32, i32, i32, i32, i32, i32:1, i32, i32:1, i32, i32, $blocks" >follows
[ "$(grep -c 'raise_tma_load: a copy by a tensor map' follows)" = 2 ] || { say "the hint is wrong"; cat follows; }

# Lines that come from other files show the names of these files.
printf '%s\n' 'import triton, triton.language as tl' '@triton.jit' 'def get(X, i, n):' '    return tl.load(X + i, mask=i < n)' >helpers.py
printf '%s\n' 'import triton, triton.language as tl' 'from helpers import get' '@triton.jit' 'def k(X, Y, n):' \
    '    "</script><script>alert(1)"' '    i = tl.program_id(0) * 512 + tl.arange(0, 512)' '    tl.store(Y + i, get(X, i, n), mask=i < n)' >k.py
"$NESO" inspect k.py --signature "n=i32, X=*fp32, Y=*fp32:16" --html k.html --json -o k.json || say "two files: exit $?"
grep -q '"files": {"0": "k.py", "2": "helpers.py"}' k.json || say "two files: $(grep '"files"' k.json | head -n 1)"
grep -q '"pass": "vectorize", "file": 2, "line": 4, .*"better": "4 elements at once", "needs": "n:16, X:16"}' k.json || { say "no decision elsewhere"; grep vector k.json; }
"$NESO" inspect k.py --signature "n=i32, X=*fp32, Y=*fp32:16" | grep -q '^      | helpers.py:4: vectorize: 1 element' || say "not on the terminal"
[ "$(grep -c '</script>' k.html)" = 2 ] || say "the source ends a script"

# diff: equal builds have no difference; for different builds, also saved ones, diff shows the changes.
given=$(signature "$add")
"$NESO" diff announcement_add.json "$add" --signature "$given" --num-warps 4 >same || { say "a difference between equals, $?:"; cat same; }
[ "$(cat same)" = "no difference" ] || say "$(cat same)"
"$NESO" diff "$add" --signature "$given" --to-signature "*i32:16, *i32:16, *i32:16, i32:16" -v >changes; [ $? = 1 ] || say "diff: exit $?"
for line in '    + 4 elements at once' '           3 -> 0          st.global.b32' '    - \*i32:16, \*i32:16, \*i32:16, i32' '-	setp.lt.s32	%p2, .*'; do
    grep -qx -- "$line" changes || { say "diff lacks '$line'"; cat changes; }
done
"$NESO" diff "$add" --signature "$given" --to-num-warps 8 --json >changes.json; [ $? = 1 ] || say "diff --json: exit $?"
grep -q '{"section": "resources", "name": "threads", "from": "128", "to": "256"}' changes.json || { say "diff --json"; cat changes.json; }
if command -v python3 >/dev/null; then
    python3 "$NESO_ROOT/tests/cli/schema.py" changes.json "$NESO_ROOT/runtime/command/inspect/diff.schema.json" || say "diff --json: against its schema"
    "$NESO" diff announcement_add.json announcement_add.json --json >equal.json || say "diff --json of equals: exit $?"
    python3 "$NESO_ROOT/tests/cli/schema.py" equal.json "$NESO_ROOT/runtime/command/inspect/diff.schema.json" || say "diff --json of equals: against its schema"
fi
# diff refuses options that cannot have an effect, and a command line without a second build.
refuses() { # WORDS ARGUMENT...
    "$NESO" diff "${@:2}" >out 2>err; [ $? = 2 ] && grep -qF -- "$1" err || say "diff ${*:2}: expected '$1', found: $(cat out err)"
}
saved=announcement_add.json
refuses '--to-num-warps changes how a source is compiled, and announcement_add.json is a saved build' $saved --to-num-warps 8
refuses '--to-target changes how' "$add" $saved --signature "$given" --to-target sm_80
refuses '--num-warps changes how' $saved $saved --num-warps 8
refuses '--launch changes how' $saved $saved --launch 1
refuses '--to-launch changes how' $saved $saved --to-launch 1
refuses 'announcement_add.json is one build: give a second one' $saved
refuses 'is one build: give a second one' "$add" --signature "$given" --num-warps 8
"$NESO" diff $saved "$add" --signature "$given" --to-num-warps 8 >out; [ $? = 1 ] && grep -q '128 -> 256 *threads' out || say "diff: the second build's option"
cat >two_launches.py <<'PY'
import torch, triton, triton.language as tl

@triton.jit
def total(X, Y, BLOCK: tl.constexpr):
    tl.store(Y, tl.sum(tl.load(X + tl.arange(0, BLOCK)), axis=0))

x, y = torch.ones(512, device='cuda'), torch.zeros(1, device='cuda')
total[(1,)](x, y, BLOCK=256)
total[(1,)](x, y, BLOCK=512)
PY
"$NESO" diff two_launches.py --launch 1 --to-launch 2 >out; [ $? = 1 ] && grep -qF '    + *fp32:16, *fp32:16, 512' out || say "diff --to-launch: $(cat out)"
"$NESO" diff two_launches.py --launch 2 --to-deterministic >out 2>err; [ $? -lt 2 ] || say "diff --to-deterministic: $(cat err)"
"$NESO" diff two_launches.py --launch 2 --to-skip vectorize >out; [ $? = 1 ] && grep -q 'ld.global.v4' out || say "diff --to-skip: $(cat out)"
"$NESO" diff "$add" --signature "$given" --to-num-warps 8 --html two.html -o two.txt; [ $? = 1 ] && [ "$(grep -c '</script>' two.html)" = 2 ] || say "diff --html"
if [ -n "$browser" ]; then
    shown two.html >dom
    for text in 'class="was">128</span> <span class="changed">256<' 'class="l linked gone"' 'class="l linked come"' 'in the base' ' differences</span>'; do
        grep -qF "$text" dom || say "the page of two builds does not show '$text'"
    done
    cp announcement_add.json evil.json && sed -i 's|"kernel": "add"|"kernel": "</script><i>add"|' evil.json
    "$NESO" diff evil.json announcement_add.json --html evil.html >out; [ "$(grep -c '</script>' evil.html)" = 2 ] || say "saved JSON ends the script"
fi
for bad in '' '{' '[1' '{"a"}' '{"format": "neso-inspect-1"' '{"format": 1}' '"' '"\u12' '[]' '{"format": "neso-inspect-1", "decisions": 3}x'; do
    printf '%s' "$bad" >bad.json
    "$NESO" diff bad.json announcement_add.json >out 2>err; [ $? = 2 ] && grep -q 'bad.json is not what' err || say "bad JSON '$bad': $(cat err)"
done
printf '{"format": "neso-inspect-1", "stages": 3, "decisions": {"a": [1]}}' >odd.json
"$NESO" diff odd.json announcement_add.json >out 2>err; [ $? = 1 ] || say "odd JSON: $(cat err)"
"$NESO" diff announcement_add.json odd.json >out 2>err; [ $? = 1 ] || say "odd JSON: $(cat err)"

# Replaces ptxas and a disassembler by scripts that print constant output.
mkdir tools
cat >tools/ptxas <<'SH'
#!/bin/sh
echo "ptxas info    : Used 37 registers, used 2 barriers, 8 bytes cmem[0]"
echo "    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads"
for last; do :; done
echo cubin >"$last"
SH
cat >tools/nvdisasm <<'SH'
#!/bin/sh
printf '\t.text.add:\n\t//## File "/some/where/announcement_add.py", line 25\n'
printf '        /*0010*/              @P0  LDG.E.128 R4, desc[UR4][R2.64] ;  /* 0x0000000402040981 */\n'
printf '                                                                     /* 0x000ea2000c1e1d00 */\n'
SH
chmod +x tools/*
PATH=$PWD/tools:$PATH "$NESO" inspect "$add" --signature "$given" --json >tools.json || say "tools: exit $?"
grep -q '"registers": 37, "spill_bytes": 12, "barriers": 2' tools.json || say "registers of ptxas: $(grep '"registers"' tools.json)"
grep -q '"sass": {"LDG.E.128": 1}' tools.json || say "SASS: $(grep sass tools.json)"
grep -q 'File ."announcement_add.py.", line 25.n  ' tools.json || say "SASS: $(grep File tools.json)"

# --ncu shows measurements of ncu: stalls of each instruction, and metrics of the kernel's first launch, from several pages in one file.
cat >ncu.csv <<'CSV'
==PROF== Disconnected
"Kernel Name","other"
"#","Address","Source","Warp Stall Sampling (All Samples)","Instructions Executed","stall_long_sb","stall_wait"
"0","0x10","EXIT","99","1","99","0"
"Kernel Name","add"
"#","Address","Source","Warp Stall Sampling (All Samples)","Instructions Executed","stall_long_sb","stall_not_selected","stall_long_sb (Not Issued)"
"0","0x7f0010","@P0 LDG.E.128 R4, desc[UR4][R2.64]","1,234","512","1,000","234","77"
"ID","Process ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"
"0","7","other(int)","GPU Speed Of Light","Elapsed Cycles","cycle","1"
"1","7","add(int *, ""x"", int)","GPU Speed Of Light","Elapsed Cycles","cycle","54,321"
"2","7","add(int *)","GPU Speed Of Light","Elapsed Cycles","cycle","99"
"ID","Kernel Name","gpu__time_duration.sum","smsp__inst_issued.min"
"","","usecond","inst"
"0","add","12.5","3"
CSV
PATH=$PWD/tools:$PATH "$NESO" inspect "$add" --signature "$given" --ncu ncu.csv --json -o ncu.json --html ncu.html || say "ncu: exit $?"
for text in '{"name": "Elapsed Cycles", "value": "54,321", "unit": "cycle"}' '{"name": "gpu__time_duration.sum", "value": "12.5", "unit": "usecond"}' \
    '"samples": 1234, "executed": 512, "stalls": {"long_sb": 1000, "not_selected": 234}'; do
    grep -qF "$text" ncu.json || { say "ncu lacks $text"; grep -A9 '"profile"' ncu.json; }
done
[ "$(grep -cE '"(executed|unit)"' ncu.json)" = 3 ] || { say "ncu: rows of other kernels or launches"; grep -A9 '"profile"' ncu.json; }
if command -v python3 >/dev/null; then python3 "$NESO_ROOT/tests/cli/schema.py" ncu.json "$NESO_ROOT/runtime/command/inspect/inspect.schema.json" || say "ncu: against the schema"; fi
PATH=$PWD/tools:$PATH "$NESO" inspect "$add" --signature "$given" --ncu ncu.csv | grep -qF '  ncu            54,321 cycle, 12.5 usecond; warps wait for: long_sb 81 %, not_selected 19 %' || say "ncu on the terminal"
"$NESO" inspect "$softmax" --signature "$(signature "$softmax")" --ncu ncu.csv 2>err; [ $? = 2 ] && grep -q 'has no measurements of kernel softmax' err || say "ncu of another kernel: $(cat err)"
for bad in '' '"' '""' '"Kernel Name"' '"Kernel Name","add' ',,,' '"Source","Address"' 'ID,Kernel Name,Metric Name,Metric Value' 'ID,Kernel Name,x'; do
    printf '%s' "$bad" >bad.csv
    "$NESO" inspect "$add" --signature "$given" --ncu bad.csv >out 2>err; [ $? = 2 ] && grep -q 'bad.csv has no measurements of kernel add' err || say "bad CSV '$bad': $(cat err)"
done
if [ -n "$browser" ]; then
    shown ncu.html >dom
    for text in 'Why warps wait: 1234 samples' '81.0 %' 'Lines with most samples' '<td>54,321</td>' 'title="samples of ncu"'; do
        grep -qF "$text" dom || say "the page does not show '$text' of ncu"
    done
    grep -qF 'ncu measured another build' dom && say "the page doubts its own build"
fi

# Findings of --trace appear at their lines, on the terminal and on the page; a correct program has no findings.
faulty=$NESO_ROOT/tests/numerics/faulty/cosine_from_one.py
"$NESO" inspect --trace precision --html losses.html "$faulty" && grep -qE '"pass": "trace", "file": 0, "line": 15,.*lost precision: [0-9]+ of them, up to [0-9]+ bits' losses.html || say "losses on the page"
"$NESO" inspect --trace precision "$faulty" >out; grep -A1 '^   15 |' out | grep -q 'trace: results stored from here lost precision' || { say "losses on the terminal"; cat out; }
"$NESO" inspect --trace nan "$NESO_ROOT/tests/numerics/faulty/log_of_zero.py" | grep -q 'trace: the stored inf began in program' || say "an inf"
"$NESO" inspect --trace precision "$NESO_ROOT/tests/programs/softmax_rows.py" 2>&1 | grep -q 'trace: ' && say "losses of a sound program"
"$NESO" inspect --trace often "$faulty" 2>err; [ $? = 2 ] && grep -q 'expected nan, precision' err || say "--trace often: $(cat err)"

"$NESO" inspect "$add" --signature "*i32" 2>err; [ $? = 2 ] && [ -s err ] || say "a bad signature: $(cat err)"
"$NESO" inspect absent.py --signature "*i32" 2>err; [ $? = 2 ] && grep -q 'cannot read absent.py' err || say "an absent file: $(cat err)"
"$NESO" inspect "$add" --signature "$(signature "$add")" --html no/such/folder.html 2>err; [ $? = 2 ] || say "an absent folder: $(cat err)"
exit $status
