# SPDX-License-Identifier: MIT
# Tests capsules: `neso capsule` keeps a launch; NESO_CAPSULE keeps launches that fail, and the inputs of differences. `neso replay` repeats
# the launch without the program, and `--reduce` makes a capsule small. A manual run with ROWS=26000 makes a capsule of 100 MB.
fail=0
say() { echo "$*"; fail=1; }
rows=${ROWS:-100}
mkdir program && cd program || exit 1

cat >helper.py <<'PY'
import triton
import triton.language as tl

EPS = tl.constexpr(1e-6)
OTHER = 7

@triton.jit
def clamp(x, low, high):
    return tl.minimum(tl.maximum(x, low), high)

@triton.jit
def unused(x):
    return x + EPS
PY
cat >rows.py <<'PY'
import sys
import torch
import triton
import triton.language as tl
import helper
from helper import clamp

NAME = 'rows'

@triton.jit
def gelu(x):
    inner = 0.7978845608 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + (2.0 / (1.0 + tl.exp(-2.0 * inner)) - 1.0))

@triton.autotune(configs=[triton.Config({'BLOCK': 1024})], key=['n_cols'])
@triton.jit
def fused(X, W, Y, n_rows, n_cols, alpha, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    # the root of the mean square
    x = tl.load(X + row * n_cols + cols, mask=mask, other=0.0)
    mean = tl.sum(x * x, axis=0) / n_cols
    scale = 1.0 / tl.sqrt(mean + helper.EPS)
    w = tl.load(W + cols, mask=mask, other=0.0)
    y = x * scale * w
    y = gelu(y)
    for k in range(3):
        y = clamp(y * alpha, -6.0, 6.0)
        if k == 2:
            y += 1.0
    if row < n_rows - 1:
        tl.store(Y + row * n_cols + cols, y, mask=mask)
    else:
        # the last row has no mask
        tl.store(Y + row * n_cols + cols, y)

@triton.jit
def scale(X, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(X + i, tl.load(X + i, mask=i < n) * factor, mask=i < n)

rows, cols = int(sys.argv[1]), 1000
x = torch.randn(rows, cols, device='cuda')
scale[(4,)](x, 1000, 2.0, BLOCK=256)
w = torch.randn(cols, device='cuda')
y = torch.empty(rows, cols, device='cuda')
scale[(8,)](x, 2000, 0.5, BLOCK=256)
fused[(rows,)](x, w, y, rows, cols, 1.1)
PY
cd ..
expect() { # STATUS TEXT ARGUMENT...
    local status=$1 text=$2 found
    shift 2
    found=$("$NESO" "$@" 2>&1 </dev/null)
    local got=$?
    [ $got = "$status" ] || say "neso $*: exit $got, expected $status: $(head -n 5 <<<"$found")"
    grep -qE -- "$text" <<<"$found" || say "neso $*: expected to read '$text': $(head -n 12 <<<"$found")"
}

# Launches that do not fail: the capsule contains the result, and a replay gives the same bytes.
for device in emulator interpreter; do
    expect 0 'scale: the launch is kept in second.capsule' capsule --device $device --kernel scale --launch 2 -o second.capsule program/rows.py 9
    mv program elsewhere
    expect 0 '^same$' replay second.capsule
    expect 0 "^replay:  a result on the $device" replay second.capsule
    expect 0 '^same$' replay --device emulator second.capsule
    expect 0 '^same$' replay --device interpreter second.capsule
    mv elsewhere program
done
expect 1 'does not fail on the emulator' replay --device emulator --reduce second.capsule -o small.capsule
expect 1 'capsule: --launch 3: the program makes 2 launches of scale' capsule --device interpreter --kernel scale --launch 3 -o third.capsule program/rows.py 9
expect 1 "capsule: the program launches no kernel 'nope': it launches .*scale" capsule --device interpreter --kernel nope program/rows.py 9
grep -q '^tl.store(X' <(tr -d ' ' <second.capsule) || say "the source of scale is not in its capsule"
! grep -qa 'fused\|randn\|autotune' second.capsule || say "the capsule of scale has more than scale"

# A launch that fails: without --launch, this launch is kept, with the functions, files and constants that it needs.
for device in emulator interpreter; do
    expect 0 'fused: the failed launch is kept in big.capsule' capsule --device $device -o big.capsule program/rows.py "$rows"
    mv program elsewhere
    expect 0 "^seen:    a fault on the $device.*: access out of bounds in program \($((rows - 1)), 0, 0\)" replay big.capsule
    for other in emulator interpreter; do expect 0 '^same$' replay --device $other big.capsule; done
    for word in 'def gelu' 'def clamp' 'EPS = '; do grep -qa "$word" big.capsule || say "the capsule lacks $word"; done
    ! grep -qaE 'OTHER|unused|NAME|autotune|def scale' big.capsule || say "the capsule has what the kernel does not need"
    "$NESO" replay --reduce big.capsule -o small.capsule >out 2>err || say "reduce: exit $?: $(cat err)"
    mv elsewhere program
    grep -q "^reduced: grid $rows x 1 x 1 -> 1 x 1 x 1, " out || say "the grid: $(cat out)"
    grep -qE ', source [0-9]+ -> 1?[0-9] lines' out || say "the source: $(cat out)"
    [ "$(stat -c %s small.capsule)" -lt 4000 ] || say "reduced to $(stat -c %s small.capsule) bytes"
    expect 0 '^same$' replay small.capsule
    [ -z "${ROWS:-}" ] || { stat -c '%n: %s bytes' big.capsule small.capsule; cat out; }
done

# NESO_CAPSULE: a failing launch writes a capsule, and a message names the file; successful launches write no capsules.
NESO_CAPSULE=kept "$NESO" run --device emulator program/rows.py 9 >out 2>err && say "the launch does not fail"
grep -q '^neso: capsule: fused: the failed launch is kept in kept/fused.capsule$' err || say "NESO_CAPSULE: $(cat err)"
grep -q 'neso replay --reduce kept/fused.capsule' err || say "no word on the reduction: $(cat err)"
NESO_CAPSULE=kept "$NESO" run --device interpreter program/rows.py 9 >out 2>err
[ "$(cd kept && echo *)" = 'fused-2.capsule fused.capsule' ] || say "kept: $(ls kept)"
for file in kept/*; do expect 0 '^same$' replay "$file"; done
(cd program && NESO_CAPSULE=on "$NESO" run --device interpreter rows.py 9 >/dev/null 2>&1; [ -e fused.capsule ]) || say "NESO_CAPSULE=on"
(cd program && rm fused.capsule && NESO_CAPSULE=off "$NESO" run --device interpreter rows.py 9 >/dev/null 2>&1; [ ! -e fused.capsule ]) || say "NESO_CAPSULE=off"
NESO_CAPSULE=out/none expect 2 "cannot make the folder 'out/none'" run --device interpreter program/rows.py 9

# For a difference that --check finds, a capsule keeps the inputs; a replay finds the difference and the pass again, on any device.
cat >race.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def reverse(X, Y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    for k in range(2):
        n += k
    tl.store(X + i, tl.load(X + i) + 1)
    tl.store(Y + i, tl.load(X + B - 1 - i))

x = torch.arange(256, device='cuda').to(torch.int32)
reverse[(1,)](x, torch.empty_like(x), 5, B=256)
PY
NESO_CAPSULE=kept "$NESO" run --device emulator --check race.py >out 2>err || say "a race: exit $?"
grep -q 'reverse: the inputs of the difference are kept in kept/reverse.capsule' err || say "a race: $(cat err)"
"$NESO" run --device emulator --check race.py >out 2>err || say "a race without capsules: exit $?"
grep -q '^neso: check: the smallest program found that differs:$' err && grep -qE ', source 10 -> [1-7] lines' err && grep -q 'def reverse(' err || say "the smallest program: $(cat err)"
for device in emulator interpreter; do expect 0 '^replay:  a difference .*; made by ' replay --device $device kept/reverse.capsule; done
expect 0 'source 10 -> [1-7] lines' replay --reduce kept/reverse.capsule -o small.capsule
expect 0 '^same$' replay small.capsule

# Arguments that no signature can describe, and IR files: the capsule contains the traced IR instead of the source.
cat >apply.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def square(x):
    return x * x

@triton.jit
def apply(X, n, f: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(X + i, f(tl.load(X + i, mask=i < n)), mask=i < n)

x = torch.arange(100, device='cuda').to(torch.float32)
apply[(1,)](x, 100, square, B=128)
PY
for program in apply.py "$NESO_ROOT"/tests/programs/{tuple_arguments,tuples_and_launches,tensor_maps}.py; do
    expect 0 'the launch is kept' capsule --device emulator -o launch.capsule "$program"
    expect 0 '^same$' replay launch.capsule
    [ "$program" != apply.py ] || grep -qa '^file [0-9]* apply.ir$' launch.capsule || say "the capsule of apply has no IR"
done

# Files that are not capsules, or that are damaged.
head -c 900 big.capsule >cut.capsule
sed 's/fused/fuser/' big.capsule >changed.capsule
sed 's/neso capsule 1/neso capsule 2/' big.capsule >other.capsule
: >empty.capsule
expect 2 'cut.capsule cannot be replayed: its end is missing' replay cut.capsule
expect 2 'changed.capsule cannot be replayed: its sum differs' replay changed.capsule
expect 2 'other.capsule cannot be replayed: it has another version' replay other.capsule
expect 2 'empty.capsule cannot be replayed: it does not begin as a capsule does: .neso capsule' replay empty.capsule
expect 2 'cannot read nosuch' replay nosuch
expect 2 '--reduce and --output FILE belong together' replay --reduce big.capsule
exit $fail
