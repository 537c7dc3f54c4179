# SPDX-License-Identifier: MIT
# Tests the thresholds of optimisations: `neso help params` lists them; --param changes PTX; the cache does not return
# PTX that was compiled with other values; a message about an unknown name or value shows the valid names or values;
# no value within the bounds makes code wrong.
fail=0
say() { echo "$*"; fail=1; }
cat >kernels.py <<'END_OF_FILE'
import torch
import triton
import triton.language as tl


@triton.jit
def product(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for k0 in range(0, K, BK):
        a = tl.load(A + m[:, None] * K + (k0 + k)[None, :], mask=(k0 + k)[None, :] < K, other=0.0)
        b = tl.load(B + n[:, None] * K + (k0 + k)[None, :], mask=(k0 + k)[None, :] < K, other=0.0)
        acc = tl.dot(a, tl.trans(b), acc)
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def rows(X, Y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(X + tl.program_id(0) * n + i, mask=i < n, other=-float('inf')).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    y = e / tl.sum(e, 0)
    tl.store(Y + tl.program_id(0) * n + i, tl.cumsum(y, 0) + tl.sum(y * y, 0), mask=i < n)


@triton.jit
def parts(X, Y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n
    total = tl.zeros([BLOCK], tl.float32)
    for k in range(0, n, BLOCK):
        total += tl.load(X + row + k + tl.arange(0, BLOCK), mask=k + tl.arange(0, BLOCK) < n, other=0.0)
    mean = tl.sum(total, 0) / n
    for k in range(0, n, BLOCK):
        at = row + k + tl.arange(0, BLOCK)
        x = tl.load(X + at, mask=k + tl.arange(0, BLOCK) < n, other=0.0)
        tl.store(Y + at, x - mean, mask=k + tl.arange(0, BLOCK) < n)


@triton.jit
def shares(X, Y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(X + tl.program_id(0) * n + i, mask=i < n, other=0.0)
    tl.store(Y + tl.program_id(0) * n + i, x / tl.sum(x, 0), mask=i < n)


def check_product(M, N, K, BM, BN, BK, warps):
    a = torch.randn(M, K, device='cuda', dtype=torch.float16)
    b = torch.randn(N, K, device='cuda', dtype=torch.float16)
    c = torch.zeros(M, N, device='cuda', dtype=torch.float16)
    product[(triton.cdiv(M, BM), triton.cdiv(N, BN))](a, b, c, M, N, K, BM, BN, BK, num_warps=warps)
    torch.testing.assert_close(c.to(torch.float32), a.to(torch.float32) @ b.to(torch.float32).t(), rtol=1e-2, atol=5e-2)


check_product(128, 128, 128, 64, 64, 32, 4)
check_product(32, 32, 64, 16, 16, 32, 1)
for n, block, warps, dtype in (700, 1024, 4, torch.float16), (60, 64, 1, torch.float32):
    x = torch.randn(8, n, device='cuda', dtype=dtype)
    y = torch.zeros(8, n, device='cuda')
    rows[(8,)](x, y, n, block, num_warps=warps)
    s = torch.softmax(x.to(torch.float32), 1)
    torch.testing.assert_close(y, torch.cumsum(s, 1) + (s * s).sum(1)[:, None], rtol=1e-3, atol=1e-4)
x = torch.rand(8, 60, device='cuda')
y = torch.zeros_like(x)
shares[(8,)](x, y, 60, 64, num_warps=1)
torch.testing.assert_close(y, x / x.sum(1)[:, None], rtol=1e-4, atol=1e-5)
x = torch.randn(8, 900, device='cuda')
y = torch.zeros_like(x)
parts[(8,)](x, y, 900, 256)
torch.testing.assert_close(y, x - x.mean(1)[:, None], rtol=1e-4, atol=1e-4)
END_OF_FILE
compile() { "$NESO" compile kernels.py::shares --signature '*fp32:16, *fp32:16, i32, 256' --num-warps 1 "$@"; }

# Each row of the list must have a name, default, bounds, unit, meaning and measurement.
"$NESO" help params >table || say "neso help params"
mapfile -t names < <(awk '/^[a-z0-9_]+ = / { print $1 }' table)
[ ${#names[@]} -ge 80 ] || say "only ${#names[@]} parameters are listed"
[ "$(grep -cE '^    (measured: |not measured)' table)" = ${#names[@]} ] || say "a row without its measurement"

# A value changes the PTX. This also holds if values for other thresholds, or an earlier value for the same threshold,
# precede it. The default value does not change the PTX.
compile >plain || say "compile"
compile --param pack_programs_most=4 | cmp -s - plain || say "the default as a value changes the PTX"
compile --param pack_programs_most=2 >two || say "--param"
grep -q 'maxntid 128,' plain && grep -q 'maxntid 64,' two || say "--param pack_programs_most=2 does not halve the threads"
compile --param remat_ops=3,pack_programs_most=2 | cmp -s - two || say "two in one list"
compile --param pack_programs_most=3 --param remat_ops=3 --param pack_programs_most=2 | cmp -s - two || say "--param several times"
"$NESO" inspect kernels.py::shares --signature '*fp32:16, *fp32:16, i32, 256' --num-warps 1 --json --param pack_programs_most=2 |
    grep -q 'maxntid 64,' || say "inspect --param"
"$NESO" diff kernels.py::shares --signature '*fp32:16, *fp32:16, i32, 256' --num-warps 1 --to-param pack_programs_most=2 >out
[ $? = 1 ] || say "diff --to-param finds no difference"

# Error messages suggest a similar name, or show the valid values.
refuse() { # SETTING MESSAGE
    compile --param "$1" >out 2>err; [ $? = 2 ] || say "--param $1 is taken"
    grep -qF -- "$2" err || say "--param $1: $(cat err)"
}
refuse pack_program_most=2 "near names: pack_programs_most"
refuse prefetch_bytes=2 "l2_prefetch_near_bytes, l2_prefetch_far_bytes"
refuse nothing=2 "'neso help params' lists all"
refuse pack_programs_most=33 "a number from 1 to 32 (programs), found '33'; the default is 4"
refuse pack_programs_most "found ''"
refuse remat_ops=-1 "found '-1'"
"$NESO" run --device interpreter --param nothing=2 kernels.py 2>err; [ $? = 2 ] && grep -q "no parameter 'nothing'" err || say "run --param: $(cat err)"

"$NESO" bench --device emulator --counts --rounds 1 --param nothing=2 kernels.py >out 2>err; [ $? = 2 ] || say "bench takes an unknown name"
"$NESO" bench --device emulator --counts --rounds 1 --against "$NESO" --param pack_programs_most=2 kernels.py >out 2>err || say "bench --against: $(cat err)"
"$NESO" bench --device emulator --counts --rounds 1 --against "$NESO" --param nothing=2 kernels.py >out 2>err; [ $? = 2 ] || say "bench --against drops --param"
grep -q "no parameter 'nothing'" err || say "bench --against: $(cat err)"

# The cache has separate entries for other values.
unset NESO_CACHE
export NESO_CACHE_DIR=$PWD/cache
compile >out && compile --param pack_programs_most=2 >out && cmp -s out two || say "another value takes the default's entry"
compile >out && cmp -s out plain || say "the default takes another value's entry"
[ "$(find cache -name '*.neso' | wc -l)" = 2 ] || say "entries: $(find cache -name '*.neso')"
NESO_CACHE=strict compile --param pack_programs_most=2 >out && cmp -s out two || say "an entry of --param is not found"
NESO_CACHE=strict compile --param pack_programs_most=1 >out 2>err && say "strict, and it is not there"
grep -q "params is pack_programs_most=1" err || say "strict: $(cat err)"
export NESO_CACHE=off

# Code is correct with each threshold at its lower and at its upper bound.
ends() { awk '/^[a-z0-9_]+ = / { gsub(/[(,]/, " "); print $1 "=" $4; print $1 "=" $6 }' table; }
try() { "$NESO" run --device emulator --param "$1" kernels.py >"out.$1" 2>&1 || { echo "--param $1: exit $?"; head -n 4 "out.$1"; }; }
export -f try
ends | xargs -P 2 -I{} bash -c 'try {}' >wrong
[ -s wrong ] && { cat wrong; fail=1; }
exit $fail
