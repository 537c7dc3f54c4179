# SPDX-License-Identifier: MIT
# Tests neso check --accesses: the accesses of correct kernels are proven, faulty accesses are never proven, and no
# run of a test program contradicts a proof.
set -u
status=0
say() { echo "$1"; status=1; }

cat >sound.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def scale(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

@triton.jit
def in_place(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

@triton.jit
def rows(x, y, stride, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * stride + i, mask=i < n, other=-float('inf'))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + tl.program_id(0) * stride + i, e / tl.sum(e, 0), mask=i < n)

@triton.jit
def long_rows(x, mean, y, n, B: tl.constexpr):
    r = tl.program_id(0)
    s = tl.zeros((B,), tl.float32)
    for k in range(0, n, B):
        i = k + tl.arange(0, B)
        s += tl.load(x + r * n + i, mask=i < n, other=0.0)
    m = tl.sum(s, 0) / n
    tl.store(mean + r, m)
    for k in range(0, n, B):
        i = k + tl.arange(0, B)
        tl.store(y + r * n + i, tl.load(x + r * n + i, mask=i < n) - m, mask=i < n)

@triton.jit
def transpose(x, y, M, N, sx, sy, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x + r[:, None] * sx + c[None, :], mask=(r < M)[:, None] & (c < N)[None, :])
    tl.store(y + c[:, None] * sy + r[None, :], tl.trans(v), mask=(c < N)[:, None] & (r < M)[None, :])

@triton.jit
def grouped(a, b, c, M, N, K, sa, sb, sc, T: tl.constexpr, G: tl.constexpr):
    pid = tl.program_id(0)
    width = G * tl.cdiv(N, T)
    first = pid // width * G
    size = min(tl.cdiv(M, T) - first, G)
    rm = (first + pid % width % size) * T + tl.arange(0, T)
    rn = pid % width // size * T + tl.arange(0, T)
    acc = tl.zeros((T, T), tl.float32)
    for k in range(0, K, T):
        i = k + tl.arange(0, T)
        x = tl.load(a + rm[:, None] * sa + i[None, :], mask=(rm < M)[:, None] & (i < K)[None, :], other=0.0)
        y = tl.load(b + i[:, None] * sb + rn[None, :], mask=(i < K)[:, None] & (rn < N)[None, :], other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * sc + rn[None, :], acc, mask=(rm < M)[:, None] & (rn < N)[None, :])

@triton.jit
def persistent(x, y, M, N, T: tl.constexpr):
    columns = tl.cdiv(N, T)
    for tile in range(tl.program_id(0), tl.cdiv(M, T) * columns, tl.num_programs(0)):
        r = tile // columns * T + tl.arange(0, T)
        c = tile % columns * T + tl.arange(0, T)
        mask = (r < M)[:, None] & (c < N)[None, :]
        tl.store(y + r[:, None] * N + c[None, :], tl.load(x + r[:, None] * N + c[None, :], mask=mask), mask=mask)

@triton.jit
def heads(x, y, H, L, stride_z, stride_h, D: tl.constexpr, B: tl.constexpr):
    at = tl.program_id(1) // H * stride_z + tl.program_id(1) % H * stride_h
    r = tl.program_id(0) * B + tl.arange(0, B)
    p = at + r[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(y + p, tl.load(x + p, mask=(r < L)[:, None]), mask=(r < L)[:, None])

@triton.jit
def count(x, counters, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(counters + tl.arange(0, 4), tl.load(x + tl.arange(0, 4)))

@triton.jit
def pairs(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + 2 * i, v, mask=i < n)
    tl.store(y + 2 * i + 1, -v, mask=i < n)

@triton.jit
def by_descriptor(x, y, M, N, T: tl.constexpr):
    a = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[T, T])
    b = tl.make_tensor_descriptor(y, shape=[M, N], strides=[N, 1], block_shape=[T, T])
    at = [tl.program_id(0) * T, tl.program_id(1) * T]
    b.store(at, a.load(at) + 1)

x, y = torch.zeros(100, 60, device='cuda'), torch.zeros(100, 60, device='cuda')
t, c = torch.zeros(60, 100, device='cuda'), torch.zeros(100, 100, device='cuda')
scale[(47,)](x, y, 6000, B=128)
in_place[(47,)](x, 6000, B=128)
rows[(100,)](x, y, 60, 60, B=64)
long_rows[(100,)](x, torch.zeros(100, device='cuda'), y, 60, B=16)
transpose[(4, 2)](x, t, 100, 60, 60, 100, B=32)
grouped[(16,)](x, t, c, 100, 100, 60, 60, 100, 100, T=32, G=3)
persistent[(5,)](x, y, 100, 60, T=32)
z = torch.zeros(2, 3, 50, 16, device='cuda')
heads[(2, 6)](z, torch.zeros(2, 3, 50, 16, device='cuda'), 3, 50, 2400, 800, D=16, B=32)
n = torch.ones(4, dtype=torch.int32, device='cuda')
count[(3,)](n, torch.zeros(4, dtype=torch.int32, device='cuda'), 12, B=4)
pairs[(24,)](x, torch.zeros(6000, device='cuda'), 3000, B=128)
by_descriptor[(4, 2)](x, y, 100, 60, T=32)
PY

# Each kernel has one fault. The comment after the load or store names the property that must not be proven.
cat >faults.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def mask_one_too_far(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i <= n)  # bounds
    tl.store(y + i, v, mask=i < n)

@triton.jit
def no_mask(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i)  # bounds
    tl.store(y + i, v, mask=i < n)

@triton.jit
def before_the_start(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i - 1, mask=i < n)  # bounds
    tl.store(y + i, v, mask=i < n)

@triton.jit
def rows_for_columns(x, y, M, N, B: tl.constexpr):
    r, c = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, 64)
    v = tl.load(x + r[:, None] * N + c[None, :], mask=(r < N)[:, None] & (c < M)[None, :])  # bounds
    tl.store(y + tl.program_id(0), tl.sum(v))

@triton.jit
def wrong_stride(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * (n + 1) + i, mask=i < n)  # bounds
    tl.store(y + tl.program_id(0), tl.sum(v))

@triton.jit
def one_program_too_far(x, y, n, B: tl.constexpr):
    i = (tl.program_id(0) + 1) * B + tl.arange(0, B)
    v = tl.load(x + i)  # bounds
    tl.store(y + tl.program_id(0), tl.sum(v))

@triton.jit
def gathered(x, index, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.load(index + i, mask=i < n)
    tl.store(y + i, tl.load(x + j, mask=i < n), mask=i < n)  # bounds of the load

@triton.jit
def all_to_one(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, i + tl.program_id(0))  # programs

@triton.jit
def half_a_step(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * (B // 2) + tl.arange(0, B)
    tl.store(y + i, i, mask=i < n)  # programs

@triton.jit
def shifted_in_place(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i + 1, mask=i < n - 1)  # programs
    tl.store(x + i, v, mask=i < n - 1)  # programs

@triton.jit
def rows_overlap(x, y, n, stride, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + tl.program_id(0) * stride + i, i, mask=i < n)  # programs

@triton.jit
def wrong_group(x, y, n, width, B: tl.constexpr):
    r, c = tl.program_id(0) // width, tl.program_id(0) % (width + 1)
    tl.store(y + r * 8 + c, c)  # programs

@triton.jit
def other_axis(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.program_id(1), mask=i < n)  # programs

@triton.jit
def read_beside_atomic(x, y, n, B: tl.constexpr):
    tl.atomic_add(y, 1.0)  # programs
    v = tl.load(y)  # programs
    tl.store(x + tl.program_id(0), v)

def run(kernel, grid, *sizes):
    x, y = torch.zeros(1000, device='cuda'), torch.zeros(1000, device='cuda')
    try:
        kernel[grid](x, y, *sizes, B=128)
    except RuntimeError:
        pass

for kernel in (mask_one_too_far, no_mask, before_the_start, all_to_one, shifted_in_place):
    run(kernel, (8,), 1000)
run(rows_for_columns, (1,), 10, 100)
run(wrong_stride, (10,), 100)
run(one_program_too_far, (8,), 1000)
run(half_a_step, (8,), 1000)
run(rows_overlap, (10,), 100, 50)
run(wrong_group, (12,), 1000, 3)
run(other_axis, (8, 2), 1000)
run(read_beside_atomic, (8,), 1000)
gathered[(8,)](torch.zeros(1000, device='cuda'), torch.arange(1000, device='cuda'), torch.zeros(1000, device='cuda'), 1000, B=128)
PY

"$NESO" check --accesses sound.py >found 2>&1 || { say "sound.py: exit $?"; cat found; }
grep -B2 -A1 -E '^    (bounds|programs) +(checked|unknown)' found && say "a sound access is not proven"
grep -q 'elements 0 to (M - 1) \* sa + K - 1, if sa >= 0' found || { say "the text"; cat found; }

"$NESO" check --accesses faults.py >found 2>err || { say "faults.py: exit $?"; cat err; }
planted=0
while IFS=: read -r line text; do
    property=$(sed -E 's/.*# ([a-z]+).*/\1/' <<<"$text") kind=store
    case $text in *tl.load*) kind=load ;; *tl.atomic*) kind=atomic ;; esac
    grep -A2 -E "^faults.py:$line:[0-9]+: $kind " found | grep -qE "^    $property +(checked in this run|unknown): " ||
        { say "line $line is proven: $text"; grep -A2 "^faults.py:$line:" found; }
    planted=$((planted + 1))
done < <(grep -nE '# (bounds|programs)' faults.py)
[ "$planted" = 16 ] || say "$planted planted faults"
grep -q 'in this launch it may reach 0 to 1000, and the tensor has 1000' found || { say "no counterexample"; cat found; }

"$NESO" check --accesses --json sound.py | python3 -c 'import json, sys; sys.exit(not all(x["bounds"] == "proven" for x in json.load(sys.stdin)))' || say "JSON"

# In test programs that run on the interpreter, most accesses must be proven, and no error may occur at a proven
# access. EVERY=1 tests every program; otherwise, every fourth program is tested.
[ "$NESO_BUILD" = build ] || exit $status
cd "$NESO_ROOT" || exit 1
work=$(mktemp -d)
every=4 least=200; [ -n "${EVERY:-}" ] && every=1 least=500
judge() { "$NESO" check --accesses "$1" >"$2/${1##*/}" 2>&1; }
export -f judge
for f in tests/programs/*.py; do head -n 1 "$f" | grep -q '^# runs:.*interpreter' && echo "$f"; done |
    awk -v every=$every 'NR % every == 0' | xargs -P "$(nproc)" -I{} bash -c 'judge {} '"$work"
awk -v least=$least '/^    bounds /   { n++; b += $2 == "proven:" }
     /^    programs / { p += $2 == "proven:" }
     END { printf "%d accesses: bounds of %d proven, programs of %d\n", n, b, p; exit n < least || b < 0.8 * n || p < 0.8 * n }' "$work"/* || say "too few are proven"
for f in "$work"/*; do
    sed -nE 's/^([^ ]*:[0-9]+):[0-9]+: (error|warning): .*\[(out-of-bounds|race)\]$/\1/p' "$f" | while read -r place; do
        grep -A2 -F "$place:" "$f" | grep -E '^    bounds +proven' && echo "$place contradicts a proof"
    done
done | grep . && status=1
rm -rf "$work"
exit $status
