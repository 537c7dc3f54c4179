# SPDX-License-Identifier: MIT
# Tests the GitHub Action that the README recommends (bench/ci/action.yml). The action
# and the workflow in the same folder are valid YAML, and the workflow sets all inputs. The action's steps, run as
# GitHub runs them, accept an unchanged program, and reject a program whose costs have grown. The test skips the step
# that builds neso. Needs python3 with yaml (Debian: python3-yaml).
set -u
python3 -c 'import yaml' 2>/dev/null || { echo "skipped: no python3 with yaml"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
ci=$NESO_ROOT/bench/ci bad=0
unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY NESO_DEVICE
wrong() { echo "$*"; bad=1; }

# Writes the steps' scripts to $work/step1, ..., and replaces ${{ inputs.NAME }} by the values of the inputs.
python3 - "$ci" "$work" <<'END' || exit 1
import re, sys, yaml
ci, work = sys.argv[1:]
action = yaml.safe_load(open(ci + '/action.yml'))
workflow = yaml.safe_load(open(ci + '/kernels.yml'))
values = {'programs': 'kernels/*.py', 'baseline': 'base lines/kernels.txt'}
fill = lambda s: re.sub(r'\$\{\{ *inputs\.(\w+) *\}\}', lambda m: values[m[1]], s)
uses = [s for job in workflow['jobs'].values() for s in job['steps'] if 'bench/ci' in s.get('uses', '')]
assert [set(s['with']) for s in uses] == [set(action['inputs'])] == [set(values)], uses
assert action['runs']['using'] == 'composite'
for number, step in enumerate(action['runs']['steps'], 1):
    assert step['shell'] == 'bash' and '${{' not in step['run'], step
    quote = lambda s: "'" + s.replace("'", "'\\''") + "'"
    with open(f'{work}/step{number}', 'w') as f:
        f.writelines(f'export {k}={quote(fill(v))}\n' for k, v in step.get('env', {}).items())
        f.write(step['run'])
END

mkdir -p "$work/neso/bench/ci" "$work/neso/build" "$work/kernels" "$work/base lines"
cp "$ci/gate.sh" "$work/neso/bench/ci/"
ln -s "$NESO" "$work/neso/build/neso"
cp "$NESO_ROOT"/tests/gate/softmax.py "$NESO_ROOT"/tests/gate/scale.py "$work/kernels/" || exit 1
grep -q '^make ' "$work/step1" || wrong "the first step does not build neso"
[ ! -e "$work/step3" ] || wrong "the action has more steps than this test knows"
cd "$work" || exit 1
"$NESO" bench --counts --record 'base lines/kernels.txt' kernels/*.py >log 2>&1 || { cat log; exit 1; }
step() { GITHUB_ACTION_PATH=$work/neso/bench/ci bash --noprofile --norc -eo pipefail step2 >out 2>&1; }
step || { wrong "the action fails on the programs of the baseline"; cat out; }
grep -q 'measured: ' out || { wrong "the action did not compare"; cat out; }
sed -i 's/softmax/soft_max/' 'base lines/kernels.txt'
! step || { wrong "the action accepts programs that lack a kernel of the baseline"; cat out; }
exit $bad
