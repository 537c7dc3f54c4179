# SPDX-License-Identifier: MIT
# Swaps each pair of adjacent passes in the default order. Either the compiler must refuse the new order, with a
# message that names a pass and a property, or the PTX of a sample of kernels must stay the same, byte for byte.
# EVERY=1 tests all kernels of the sample; otherwise, every fourth kernel is tested.
fail=0
say() { echo "$*"; fail=1; }
read -r -a order < <("$NESO" help passes | awk '/^in this order/ { on = 1; next } !NF { on = 0 } on' | tr '\n' ' ')
n=${#order[@]}
[ "$n" -gt 30 ] || say "the order has only $n passes"

# The sample: traced kernels in tests/, and the kernels that some programs launch.
mkdir sample
for program in matmuls announced decode; do
    PATH=/usr/bin:/bin "$NESO" bench --device interpreter --keep-ir sample "$NESO_ROOT/bench/programs/$program.py" >out 2>&1
done
for program in attention_few_warps attention_two_loops histogram_of_computed; do
    "$NESO" run --device interpreter --keep-ir sample "$NESO_ROOT/tests/programs/$program.py" >out 2>&1 || say "$program: $(tail -n 1 out)"
done
kernels=()
for file in sample/*.ir $(find "$NESO_ROOT"/tests/ir "$NESO_ROOT"/tests/opt -name '*.ir' | sort); do
    grep -q '^kernel.*degree=traced' "$file" || continue
    while read -r name; do kernels+=("$file::$name"); done < <(grep -oE '^kernel @[A-Za-z0-9_]+' "$file" | sed 's/.*@//')
done
[ ${#kernels[@]} -gt 80 ] || say "the sample has only ${#kernels[@]} kernels"

if [ -z "${EVERY:-}" ]; then
    all=("${kernels[@]}") kernels=()
    for ((i = 0; i < ${#all[@]}; i += 4)); do kernels+=("${all[i]}"); done
fi

emit() { "$NESO" compile "$1" --target sm_90a --no-cache --passes "$2" --emit ptx 2>err || echo "exit $?"; }
list() { local IFS=,; echo "$*"; }
whole=$(list "${order[@]}")
mkdir base
for i in "${!kernels[@]}"; do emit "${kernels[i]}" "$whole" >"base/$i"; done
! grep -lE '^exit (1[0-9][0-9]|[3-9])' base/* || say "a kernel ends neso"

refused=0 equal=0
for ((k = 0; k + 1 < n; k++)); do
    swapped=("${order[@]:0:k}" "${order[k + 1]}" "${order[k]}" "${order[@]:k + 2}")
    passes=$(list "${swapped[@]}")
    emit "$NESO_ROOT/tests/opt/all/softmax.ir" "$passes" >now
    if grep -q '^exit' now; then
        grep -qE "^error: pass [a-z0-9_]+ needs [a-z_]+ \(.*\[pass-(before|between|behind)\]" err || say "${order[k]} behind ${order[k + 1]}: $(cat err)"
        refused=$((refused + 1))
        continue
    fi
    differ=0
    for i in "${!kernels[@]}"; do
        emit "${kernels[i]}" "$passes" | cmp -s - "base/$i" || { differ=$((differ + 1)); last=${kernels[i]}; }
    done
    [ $differ = 0 ] || say "${order[k]} behind ${order[k + 1]} changes the PTX of $differ kernels, $last for one: which property orders them?"
    equal=$((equal + 1))
done
[ $refused -gt 15 ] || say "only $refused swaps are refused"
[ $equal -gt 10 ] || say "only $equal swaps are harmless"
exit $fail
