# SPDX-License-Identifier: MIT
# neso run --trace: of 20 kernels with one numerical fault each (tests/numerics/faulty) it names the line marked `# here`, and of
# 20 sound ones (tests/numerics/sound) none.
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
exit $status
