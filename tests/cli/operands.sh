# SPDX-License-Identifier: MIT
# Tests that ptxas (if it is installed) accepts every statement that the emulator accepts, among 20,000 statements with changed operands.
TAKEN=taken.ptx "$NESO_ROOT/$NESO_BUILD/tests/operands" >out 2>&1 || { tail -n 20 out; exit 1; }
command -v ptxas >/dev/null || exit 0
# Adds an invalid line, so that ptxas stops after parsing and does not spend time on machine code.
sed 's/^ret;$/add.s32 %zf, %zf, %zf;\nret;/' taken.ptx >taken-and-wrong.ptx
ptxas -arch=sm_90a taken-and-wrong.ptx -o taken.cubin >refused 2>&1
[ "$(grep -c ' line [0-9]*; ' refused)" = 1 ] && grep -q "for instruction 'add'" refused && exit 0
grep ' line [0-9]*; ' refused | head -n 30 | while IFS= read -r message; do
    line=$(sed -E 's/.* line ([0-9]+);.*/\1/' <<<"$message")
    echo "taken, and refused by ptxas: $(sed -n "${line}p" taken-and-wrong.ptx): ${message##*: }"
done
exit 1
