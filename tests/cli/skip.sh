# SPDX-License-Identifier: MIT
# Tests kernels that are compiled without single passes and without sets of passes: either the results on the emulator
# are right, or the compiler refuses with a message that names the pass. The compiler generates no code if a required
# pass is left out.
fail=0
say() { echo "$*"; fail=1; }
cat >kernels.py <<'END'
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
    i = tl.program_id(0) * n + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=tl.arange(0, BLOCK) < n, other=-float('inf'))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(Y + i, tl.cumsum(e / tl.sum(e, 0), 0), mask=tl.arange(0, BLOCK) < n)


def check_product(M, N, K, BM, BN, BK, warps):
    a = torch.randn(M, K, device='cuda', dtype=torch.float16)
    b = torch.randn(N, K, device='cuda', dtype=torch.float16)
    c = torch.zeros(M, N, device='cuda', dtype=torch.float16)
    product[(triton.cdiv(M, BM), triton.cdiv(N, BN))](a, b, c, M, N, K, BM, BN, BK, num_warps=warps)
    torch.testing.assert_close(c.to(torch.float32), a.to(torch.float32) @ b.to(torch.float32).t(), rtol=1e-2, atol=5e-2)


check_product(128, 128, 128, 64, 64, 32, 4)
check_product(64, 64, 64, 16, 16, 32, 1)
x = torch.randn(8, 700, device='cuda')
y = torch.zeros_like(x)
rows[(8,)](x, y, 700, 1024)
torch.testing.assert_close(y, torch.cumsum(torch.softmax(x, 1), 1), rtol=1e-4, atol=1e-5)
END
leave_out() { # NAMES [refused]: the run must give right results, or, with `refused`, the compiler must refuse
    "$NESO" run --device emulator --skip "$1" kernels.py >out 2>&1
    local status=$?
    [ $status = "${2:-0}" ] || { say "--skip $1: exit $status"; head -n 4 out; }
    [ $status = 0 ] || grep -qE "pass .* cannot be left out: .* needs [a-z_]+ \(.*\[pass-left-out" out || { say "--skip $1:"; head -n 4 out; }
}
"$NESO" help passes >table || say "neso help passes"
optional=()
while read -r pass; do
    case $pass in
    assign_layouts | lower_scan | lower_reduce | lower_layout_conversion | allocate_shared | insert_barriers) leave_out "$pass" 2 ;;
    lower_tma_store) leave_out "$pass" 2; grep -q "leave out raise_tma_store too" out || say "no way out: $(cat out)"; leave_out "$pass,raise_tma_store" ;;
    warp_specialize) leave_out "$pass" 2; leave_out "$pass,raise_tma_load" ;;
    *) leave_out "$pass"; optional+=("$pass") ;;
    esac
done < <(sed -nE '/^code generation/q; s/^([a-z0-9_]+): .*/\1/p' table)
[ ${#optional[@]} -gt 15 ] || say "only ${#optional[@]} passes may be left out"

# The seed is computed from the compiler's sources, as in random.sh.
digits=$(sed -n 's/.*compiler_build.*"\([0-9a-f]\{4\}\).*/\1/p' "$NESO_ROOT/$NESO_BUILD/build_id.c")
seed=${SEED:-$((0x${digits:-0} & 32767))}
RANDOM=$seed
for _ in {1..20}; do
    names=
    for pass in "${optional[@]}"; do [ $((RANDOM % 3)) != 0 ] || names+=,$pass; done
    [ -z "$names" ] || leave_out "${names#,}"
done
[ $fail = 0 ] || echo "SEED=$seed"

# --passes: without a required pass, no code is generated. The compiler also refuses an order in which a pass destroys a property that a
# later pass needs.
compile() { "$NESO" compile kernels.py::rows --signature '*fp32, *fp32, i32, 1024' --no-cache "$@" >out 2>&1; }
refused() { # TEXT ARGUMENT...
    local text=$1
    shift
    compile "$@" && say "not refused: $*"
    grep -qF -- "$text" out || say "$*: expected to read: $text: $(cat out)"
}
needed=legalize_dot,assign_layouts,lower_scan,lower_reduce,lower_layout_conversion,vectorize,allocate_shared
compile --passes assign_layouts,lower_scan,lower_reduce,lower_layout_conversion --emit opt || say "part of the list, as IR: $(cat out)"
refused 'pass insert_barriers cannot be left out: code generation needs barriers' --passes $needed --emit ptx
compile --passes $needed,insert_barriers --emit ptx || say "the passes that are needed: $(cat out)"
compile --passes ${needed/vectorize,allocate_shared/allocate_shared,vectorize},insert_barriers --emit ptx || say "an order that is as good: $(cat out)"
refused 'pass insert_barriers needs offsets (' --passes ${needed/allocate_shared/insert_barriers,allocate_shared} --emit ptx
refused 'which pass allocate_shared breaks: run pass insert_barriers between the two' --passes $needed,insert_barriers,allocate_shared --emit ptx
refused 'cannot be left out: code generation needs scheduled' --passes legalize_dot --emit ptx
refused 'pass assign_layouts needs traced (no tile has a layout), which pass assign_layouts breaks' --passes assign_layouts,assign_layouts --emit opt
compile --stop-after lower_layout_conversion --emit ptx && say "PTX of part of the list"
compile --stop-after lower_layout_conversion --emit opt || say "--stop-after"
# If the IR of a kernel names no target, the compiler chooses a target for PTX, but not for IR.
printf 'kernel @k(%%n: i32) warps=4 stages=3 degree=traced {\n  return\n}\n' >k.ir
"$NESO" compile k.ir --no-cache --passes $needed,insert_barriers --emit ptx >out 2>&1 || say "passes of a kernel without a target: $(cat out)"
exit $fail
