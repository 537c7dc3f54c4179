# SPDX-License-Identifier: MIT
# Tests the emulator's reports about global memory. The emulator must report uses of bytes that were never written,
# and, with --races all, races between programs. The emulator must not report programs that atomics order, or
# undefined bytes on which no result depends.
fail=0
say() { echo "$*"; fail=1; }
head='import torch\nimport triton\nimport triton.language as tl\n'
run() { # EXIT TEXT ARGUMENT...: neso run on the emulator
    local status=$1 text=$2 got; shift 2
    "$NESO" run --device emulator "$@" >out 2>&1
    got=$?
    [ $got = "$status" ] || { say "run $*: exit $got, expected $status"; cat out; }
    [ -z "$text" ] || grep -qE -- "$text" out || { say "run $*: no '$text'"; cat out; }
}

# Kernels load a tensor of torch.empty by ld, cp.async or tensor maps. The emulator reports a result if and only if the result
# depends on the tensor's contents.
cat >matmul.py <<'PY'
import sys
import torch
import triton
import triton.language as tl

@triton.jit
def matmul(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        a = tl.load(A + m[:, None] * K + (i + k)[None, :])
        b = tl.load(B + (i + k)[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))

rows, tile = int(sys.argv[1]), int(sys.argv[2])
a = torch.empty(256, 128, dtype=torch.float16, device='cuda')
written = torch.randn(200, 128, dtype=torch.float16, device='cuda')

@triton.jit
def copy(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < n), mask=i < n)

copy[(100,)](written, a, 200 * 128, BLOCK=256)
b = torch.randn(128, 128, dtype=torch.float16, device='cuda')
c = torch.empty(256, 128, dtype=torch.float16, device='cuda')
matmul[(256 // tile, 128 // tile)](a, b, c, rows, 128, 128, tile, tile, 64, num_warps=4)
assert torch.allclose(c[:rows], written[:rows] @ b, atol=0.3, rtol=0.01)
PY
for tile in 32 128; do # cp.async and mma; tensor maps and wgmma
    run 0 '' matmul.py 200 $tile
    run 1 'matmul.py:16:5: error: a value that was never written is used .*the value stored depends' matmul.py 201 $tile
done
printf "$head"'@triton.jit\ndef count(S):\n    tl.atomic_add(S, 1)\ncount[(4,)](torch.zeros(1, dtype=torch.int32, device="cuda"))\ncount[(4,)](torch.empty(1, dtype=torch.int32, device="cuda"))\n' >count.py
run 1 'count.py:6:5: error: .*the atomic changes memory that nobody has written' count.py
grep -q 'count.py:8:1: note: launched here' out || { say "the atomic:"; cat out; }
printf "$head"'@triton.jit\ndef pick(X, I, Y):\n    i = tl.arange(0, 32)\n    x = tl.load(X + i)\n    tl.store(Y + i, tl.where(i < 16, 1.0, x), mask=i < 16)\n    tl.store(Y + i, tl.load(X + tl.load(I + i)))\nf = dict(device="cuda")\npick[(1,)](torch.empty(32, **f), torch.empty(32, dtype=torch.int32, **f), torch.empty(32, **f))\n' >pick.py
run 1 'pick.py:9:21: error: .*the address depends' pick.py

# Races: a sum without an atomic, and an access to the element of another program. Programs that a counter orders, or that write equal
# values, do not race.
cat >sums.py <<'PY'
import sys
import torch
import triton
import triton.language as tl

@triton.jit
def total(X, S, BLOCK: tl.constexpr, HOW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.sum(tl.load(X + i))
    if HOW == 'plain':
        tl.store(S, tl.load(S) + x)
    elif HOW == 'atomic':
        tl.atomic_add(S, x)
    else:
        tl.store(S, 1.0)

@triton.jit
def shift(X, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(X + i, tl.load(X + i + 1) + 1)

@triton.jit
def last(X, PART, COUNT, S, BLOCK: tl.constexpr, SEM: tl.constexpr):
    p = tl.program_id(0)
    tl.store(PART + p, tl.sum(tl.load(X + p * BLOCK + tl.arange(0, BLOCK))))
    if tl.atomic_add(COUNT, 1, sem=SEM) == tl.num_programs(0) - 1:
        tl.store(S, tl.sum(tl.load(PART + tl.arange(0, 4))))

how = sys.argv[1]
x, s = torch.ones(1025, device='cuda'), torch.zeros(1, device='cuda')
if how == 'shift':
    shift[(4,)](x, BLOCK=256)
elif how in ('acq_rel', 'relaxed'):
    last[(4,)](x, torch.empty(4, device='cuda'), torch.zeros(1, dtype=torch.int32, device='cuda'), s, BLOCK=256, SEM=how)
    assert s.item() == 1024
else:
    total[(4,)](x, s, BLOCK=256, HOW=how)
PY
run 0 '' sums.py plain
run 1 "sums.py:11:21: error: race between programs in program \(1, 0, 0\), thread 0: reads byte 0 of 'S'; program \(0, 0, 0\) has written there" --races all sums.py plain
run 1 "sums.py:20:5: error: race .*writes byte 1024 of 'X'; program \(0, 0, 0\) has read there" --races all sums.py shift
run 1 "sums.py:27:28: error: race .*reads byte 0 of 'PART'; program \(0, 0, 0\) has written there" --races all sums.py relaxed
for how in atomic same acq_rel; do run 0 '' --races all sums.py $how; done
NESO_RACES=all run 1 'race between programs' sums.py plain
exit $fail
