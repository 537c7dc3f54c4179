# SPDX-License-Identifier: MIT
# Tests neso run --digests, which writes a line for each launch: equal lines mean equal bits, on all devices.
set -u
status=0
say() { echo "$1"; status=1; }

cat >scale.py <<'PY'
import sys
import torch
import triton
import triton.language as tl

@triton.jit
def scale(x, y, stride, n, factor, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i * stride, mask=i < n) * factor, mask=i < n)

x = torch.arange(100, device='cuda').float()
y = torch.zeros(100, device='cuda')
for factor in (2.0, float(sys.argv[1])):
    scale[(2,)](x, y, 1, 100, factor, B=64)
PY
for device in interpreter emulator; do "$NESO" run --device $device --digests=$device scale.py 3 || say "$device: exit $?"; done
cmp interpreter emulator || say "the devices differ"
[ "$(grep -cE '^scale 2,1,1 x=[0-9a-f]{16} y=[0-9a-f]{16}$' emulator)" = 2 ] || { say "the lines"; cat emulator; }
"$NESO" run --device emulator --digests scale.py 4 2>other || say "standard error: exit $?"
[ "$(diff emulator other | grep -c '^[<>]')" = 2 ] || { say "another factor"; cat other; }
[ "$(sed 's/.* y=//' emulator | sort -u | wc -l)" = 2 ] || say "two launches, one digest"
"$NESO" run --device emulator --digests=none/such scale.py 3 2>err && say "no folder: exit 0"
grep -q 'cannot write none/such' err || { say "no folder"; cat err; }
exit $status
