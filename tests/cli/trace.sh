# SPDX-License-Identifier: MIT
# Tests neso run --trace: it names the line marked `# here` of 20 kernels that have one numerical fault each (tests/numerics/faulty),
# and no line of 20 correct kernels (tests/numerics/sound).
set -u
status=0
say() { echo "$1"; status=1; }

for file in "$NESO_ROOT"/tests/numerics/faulty/*.py; do
    kind=$(sed -nE '1s/^# trace: //p' "$file") name=$(basename "$file")
    here=$(grep -n '# here' "$file" | cut -d: -f1)
    "$NESO" run --trace "$kind" "$file" >out 2>err
    code=$?
    lines=$(sed -nE 's/^.*\.py:([0-9]+):[0-9]+: (error|warning): .*/\1/p' err | head -n 1)
    grep -qE '\[(trace-nan|trace-inf|precision)\]' err || say "$name: no report"
    [ "$lines" = "$here" ] || say "$name: line '$lines', expected $here: $(head -n 1 err)"
    [ "$kind" = nan ] && want=1 || want=0
    [ $code = $want ] || say "$name: exit status $code"
done
for file in "$NESO_ROOT"/tests/numerics/sound/*.py; do
    for kind in nan precision; do
        "$NESO" run --trace $kind "$file" >out 2>err || say "$(basename "$file") under --trace $kind: exit status $?"
        [ ! -s err ] || say "$(basename "$file") under --trace $kind: $(head -n 1 err)"
    done
done

# Element i of a reverse scan combines the elements from i on. For element i, the trace must therefore name one of
# these elements.
cat >reverse.py <<'END'
import torch
import triton
import triton.language as tl

@triton.jit
def sums(X, Y):
    i = tl.arange(0, 8)
    x = tl.load(X + i) * 1e30
    tl.store(Y + i, tl.cumsum(x, 0, reverse=True))

x = torch.tensor([3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3e8, 3e8], dtype=torch.float32)
sums[(1,)](x, torch.zeros(8))
END
"$NESO" run --device interpreter --trace nan reverse.py >out 2>err
grep -q '300000000\|3e+08' err || say "a reverse scan's origin: $(cat err)"
exit $status
