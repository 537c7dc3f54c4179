# SPDX-License-Identifier: MIT
# Tests that neso run --check compares a kernel's PTX in the emulator with the interpreter before the kernel's first launch, on both
# devices. Correct kernels agree, a kernel whose threads race gets a warning, and --verbose names kernels that cannot be compared.
set -u
status=0
say() { echo "$1"; status=1; }

cat >sound.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def add(X, Y, Z, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(Z + i, tl.load(X + i, mask=i < n) + tl.load(Y + i, mask=i < n), mask=i < n)

@triton.jit
def softmax(X, Y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(X + tl.program_id(0) * n + i, mask=i < n, other=-float('inf'))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(Y + tl.program_id(0) * n + i, e / tl.sum(e, axis=0), mask=i < n)

@triton.jit
def product(A, B, C, M, N, K, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        k = start + tl.arange(0, BLOCK)
        a = tl.load(A + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))

x = torch.randn(4096, device='cuda')
y = torch.empty_like(x)
add[(4,)](x, x, y, 4096, B=1024)
assert torch.equal(y, x + x)
softmax[(4,)](x, y, 1000, B=1024)
a = torch.randn((128, 128), device='cuda').to(torch.float16)
c = torch.empty((128, 128), device='cuda')
product[(2, 2)](a, a, c, 128, 128, 128, BLOCK=64)
PY
for device in emulator interpreter; do
    "$NESO" run --device $device --check --verbose sound.py >out 2>err || say "$device: exit $?: $(cat err)"
    for kernel in add softmax product; do
        grep -q "^neso: check: $kernel: [1-6] sets of inputs agree, " err || say "$device: $kernel: $(cat err)"
    done
    "$NESO" run --device $device --check sound.py >out 2>err || say "$device: exit $?"
    [ ! -s err ] || say "$device without --verbose: $(cat err)"
done

cat >race.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def reverse(X, Y, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(X + i, tl.load(X + i) + 1)
    tl.store(Y + i, tl.load(X + B - 1 - i))

x = torch.arange(256, device='cuda').to(torch.int32)
reverse[(1,)](x, torch.empty_like(x), B=256)
PY
"$NESO" run --device emulator --check race.py >out 2>err || say "a race: exit $?"
grep -qE "^race.py:[0-9]+:.*warning: the PTX of reverse computes other results than the interpreter on the launch's inputs: 'Y'\[[0-9]+\] is 0x.*\[check-differs\]" err ||
    say "a race: $(cat err)"
"$NESO" run --device emulator --check --json race.py 2>err >out
grep -q '"tag": "check-differs"' err out || say "--json: $(cat err out)"

cat >lock.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def turns(L, X):
    while tl.atomic_cas(L, 0, 1) == 1:
        pass
    tl.store(X, tl.load(X) + 1)
    tl.atomic_xchg(L, 0)

turns[(4,)](torch.zeros(1, dtype=torch.int32, device='cuda'), torch.zeros(1, device='cuda'))
PY
"$NESO" run --device emulator --check --verbose lock.py >out 2>err || say "a lock: exit $?"
grep -q "^neso: check: turns: not compared: a loop may wait for other programs" err || say "a lock: $(cat err)"

# Only the first and the last programs of a large grid run.
cat >large.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def fill(X):
    tl.store(X + tl.program_id(0), 1.0)

fill[(40000,)](torch.zeros(40000, device='cuda'))
PY
"$NESO" run --device emulator --check --verbose large.py >out 2>err || say "a large grid: exit $?: $(cat err)"
exit $status
