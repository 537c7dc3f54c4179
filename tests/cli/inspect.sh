# neso inspect: the page needs nothing but itself, its links lead to lines that are there, JSON is as inspect.schema.json says, equal
# inputs give equal bytes in any folder, and hints name what the signature lacks.
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

# What of JSON Schema inspect.schema.json uses.
cat >validate.py <<'PY'
import json, sys
kinds = {'object': dict, 'array': list, 'string': str, 'integer': int, 'number': (int, float), 'boolean': bool, 'null': type(None)}
def check(x, s, at):
    def wrong(why): sys.exit(f'{at}: {why}: {str(x)[:80]}')
    types = s.get('type', [])
    types = [types] if isinstance(types, str) else types
    if types and not any(isinstance(x, kinds[t]) and (t == 'boolean' or not isinstance(x, bool)) for t in types): wrong(f'no {types}')
    if 'const' in s and x != s['const']: wrong('const')
    if 'enum' in s and x not in s['enum']: wrong('enum')
    if isinstance(x, dict):
        for name in s.get('required', []):
            if name not in x: wrong(f'lacks {name}')
        for name, value in x.items():
            sub = s.get('properties', {}).get(name, s.get('additionalProperties', {}))
            if sub is False: wrong(f'has {name}')
            check(value, sub, f'{at}.{name}')
    if isinstance(x, list) and 'items' in s:
        for i, value in enumerate(x): check(value, s['items'], f'{at}[{i}]')
x = json.load(open(sys.argv[1], encoding='utf-8'))
check(x, json.load(open(sys.argv[2], encoding='utf-8')), 'it')
lines = x['source'].count('\n') + 1
for s in x['stages']:
    rows = s['text'].rstrip('\n').split('\n')
    assert len(s['lines']) == len(s['text'].split('\n')) - s['text'].endswith('\n'), s['name']
    assert all(0 <= n <= lines for n in s['lines']), s['name']
    assert any(s['lines']) and len(rows) > 1, s['name']
assert all(d['line'] is None or d['file'] or 1 <= d['line'] <= lines for d in x['decisions'])
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
    grep -nE '(src|href)=|@import|url\(' "$name.html" && say "$kernel: something from elsewhere"
    [ "$(grep -c '</script>' "$name.html")" = 2 ] || say "$kernel: data that ends a script"
    if command -v python3 >/dev/null; then
        python3 validate.py "$name.json" "$NESO_ROOT/runtime/inspect.schema.json" || say "$kernel: against its schema"
    elif command -v jq >/dev/null; then
        jq empty "$name.json" || say "$kernel: no JSON"
    fi
    "$NESO" inspect "$kernel" --signature "$given" --num-warps 4 >"$name.txt" || say "$kernel: exit $?"
    grep -q "^  occupancy " "$name.txt" || { say "$kernel:"; cat "$name.txt"; }
done
grep -q '^   25 |  *x = load(X + idx, mask=mask)$' announcement_add.txt || { say "no source line"; cat announcement_add.txt; }
grep -q '^      |   dot: %acc.2 by wgmma' announcement_matmul.txt || { say "no decision"; cat announcement_matmul.txt; }
grep -q '"name": "assign", "kind": "ir"' announcement_add.json || say "no stage after assign"

"$NESO" inspect "$add" --signature "*i32" 2>err; [ $? = 2 ] && [ -s err ] || say "a bad signature: $(cat err)"
"$NESO" inspect absent.py --signature "*i32" 2>err; [ $? = 2 ] && grep -q 'cannot read absent.py' err || say "an absent file: $(cat err)"
"$NESO" inspect "$add" --signature "$(signature "$add")" --html no/such/folder.html 2>err; [ $? = 2 ] || say "an absent folder: $(cat err)"
exit $status
