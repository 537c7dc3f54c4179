# SPDX-License-Identifier: MIT
# Tests that messages have colours on a terminal, unless NO_COLOR or --color turns them off, and have no colours in a file. Also tests that
# work that lasts longer than a second shows a line of progress on a terminal, and erases it at the end.
fail=0
say() { echo "$*"; fail=1; }
unset NO_COLOR
export TERM=xterm
printf 'import triton\nimport triton.language as tl\n@triton.jit\ndef k(X):\n    tl.store(X, y)\n' >bad.py
bad=(compile bad.py --signature '*fp32')
escape=$(printf '\033')
"$NESO" "${bad[@]}" 2>plain; [ $? = 2 ] || say "no message"
! grep -q "$escape" plain || say "colours in a file"
"$NESO" "${bad[@]}" --color always 2>coloured
grep -q "$escape" coloured || say "no colours with --color always"
sed "s/$escape\[[0-9;]*m//g" coloured | cmp - plain || say "without its colours the message is another"
"$NESO" "${bad[@]}" --color pink 2>err; [ $? = 2 ] && grep -q 'expected auto, always or never' err || say "--color pink: $(cat err)"
"$NESO" "${bad[@]}" --json --color always 2>err; ! grep -q "$escape" err || say "colours in JSON"

command -v script >/dev/null || { [ $fail = 0 ]; exit; } # the other tests need `script`, which makes a terminal (Debian: bsdutils)
terminal() { script -qec "$1" /dev/null </dev/null; }
terminal "'$NESO' compile bad.py --signature '*fp32'" | grep -q "$escape\[1;31merror" || say "no colours on a terminal"
! NO_COLOR=1 terminal "'$NESO' compile bad.py --signature '*fp32'" | grep -q "$escape" || say "colours in spite of NO_COLOR"
! terminal "'$NESO' compile bad.py --signature '*fp32' --color never" | grep -q "$escape" || say "colours in spite of --color never"

cat >slow.py <<'PY'
import time
import torch
import triton
import triton.language as tl

@triton.jit
def k(X, BLOCK: tl.constexpr):
    tl.store(X + tl.arange(0, BLOCK), 1.0)

x = torch.zeros(64, device='cuda')
k[(1,)](x, BLOCK=8)
begin = time.time()
while time.time() - begin < 1.1:
    pass
k[(1,)](x, BLOCK=16)
print('done')
PY
terminal "'$NESO' run --device emulator slow.py" >out
grep -q "compiled, k the last" out || say "no progress: $(cat -v out)"
tail -n 1 out | grep -q "$escape\[Kdone" || say "the line is not erased: $(cat -v out)"
# A launch that lasts long shows a line of progress too.
cat >launch.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def long(X, n, BLOCK: tl.constexpr):
    x = tl.load(X + tl.arange(0, BLOCK))
    while tl.min(x, 0) < n:
        x += 1
    tl.store(X + tl.arange(0, BLOCK), x)

long[(1,)](torch.zeros(1024, device='cuda'), 1000000, BLOCK=1024)
PY
terminal "timeout 20 '$NESO' run --time-limit 2 --device interpreter launch.py" >out
grep -q "neso: running; 1 kernel compiled, long the last, 1 s" out || say "no progress of a launch: $(cat -v out)"
terminal "'$NESO' bench slow.py" | grep -q 'round 1, slow.py: k' || say "no progress of bench"
"$NESO" run --device emulator slow.py >out 2>err
[ "$(cat out err)" = "done" ] || say "progress in a file: $(cat out err)"
exit $fail
