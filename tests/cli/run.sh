# SPDX-License-Identifier: MIT
# Tests `neso run`: standard output contains only the program's output, a failed program gives exit status 1, and options write the
# kernels' PTX to files.
fail=0
say() { echo "$*"; fail=1; }

cat >good.py <<'PY'
import torch
import triton
import triton.language as tl
import helper

@triton.jit
def double(X, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n)
    tl.store(X + i, x + x, mask=i < n)

x = torch.ones(1000, device='cuda')
double[(triton.cdiv(1000, 256),)](x, 1000, BLOCK=256)
double[lambda meta: (triton.cdiv(1000, meta['BLOCK']),)](x, 1000, BLOCK=256)
double[(0,)](x, 1000, BLOCK=256)
assert torch.equal(x, torch.full_like(x, 4.0))
print(helper.word)
PY
echo "word = 'done'" >helper.py
"$NESO" run --device interpreter --keep-ptx kept good.py >out 2>err || say "good.py: $(cat err)"
[ "$(cat out)" = "done" ] || say "printed: $(cat out)"
[ ! -s err ] || say "on standard error: $(cat err)"
[ "$(find kept -name 'double-*.ptx' | wc -l)" = 1 ] || say "kept: $(ls kept)"
"$NESO" run --device interpreter --verbose good.py 2>&1 >/dev/null | grep -q 'running good.py on' || say "no word on the device"
TRITON_INTERPRET=1 "$NESO" run --verbose good.py 2>&1 | grep -q interpreter || say "TRITON_INTERPRET is not heard"
NESO_DEVICE=interpreter "$NESO" run --verbose good.py 2>&1 | grep -q interpreter || say "NESO_DEVICE is not heard"
NESO_DEVICE=nonsense "$NESO" run good.py >out 2>err; [ $? = 2 ] || say "NESO_DEVICE=nonsense"

printf 'assert 1 == 2, "one is not two"\n' >failing.py
"$NESO" run --device interpreter failing.py >out 2>err; [ $? = 1 ] || say "a failed assertion: exit $?"
grep -q 'failing.py:1:.*one is not two' err || say "a failed assertion: $(cat err)"
printf 'import sys\nsys.exit(3)\n' >leaving.py
"$NESO" run --device interpreter leaving.py >out 2>err; [ $? = 1 ] || say "sys.exit(3)"
printf 'print("a"\n' >syntax.py
"$NESO" run --device interpreter syntax.py >out 2>err; [ $? = 2 ] || say "a syntax error: $(cat err)"
printf 'import sys\nprint(sys.argv)\n' >arguments.py
[ "$("$NESO" run --device interpreter arguments.py --device x)" = "['arguments.py', '--device', 'x']" ] || say "arguments"
[ "$("$NESO" run --device interpreter arguments.py --device x 2>&1 >/dev/null)" = "" ] || say "a note on a program that reads its arguments"
"$NESO" run --device interpreter good.py -v --nothing x 2>err >out || say "options behind a program: $(cat err)"
[ "$(cat err)" = "neso: note: '-v' behind good.py had no effect: it is an argument of the program, which reads none; an option of neso stands before: neso run -v ... good.py" ] || say "options behind a program: $(cat err)"
"$NESO" run --device interpreter --skip vectorise good.py 2>err; [ $? = 2 ] || say "--skip of no pass: exit status"
grep -q "there is no pass 'vectorise'" err || say "--skip of no pass: $(cat err)"
"$NESO" run --device interpreter --param foo=3 good.py 2>err; [ $? = 2 ] || say "--param of no parameter: exit status"
grep -q "there is no parameter 'foo'" err || say "--param of no parameter: $(cat err)"
exit $fail
