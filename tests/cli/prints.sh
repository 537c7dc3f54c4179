# SPDX-License-Identifier: MIT
# Tests that a kernel prints the same lines in the interpreter and, through vprintf, in the emulator, and that ptxas accepts the calls. In
# the emulator, each thread that holds an element prints it, so lines may repeat.
cat >k.py <<'END'
import torch
import triton
import triton.language as tl


@triton.jit
def k(X, n, N: tl.constexpr, M: tl.constexpr):
    x = tl.load(X + tl.arange(0, N))
    tl.device_print("x", x)
    tl.device_print("100% done")
    tl.device_print("n=", n, tl.program_id(0).to(tl.int64), n.to(tl.uint64) - 9)
    y = tl.arange(0, M)[:, None] * 4 + tl.arange(0, 4)[None, :] - 3
    tl.device_print("y", y.to(tl.int8), hex=True)
    tl.device_print("y", y.to(tl.int8), y.to(tl.uint8), y.to(tl.int16))
    tl.device_print("half: ", x.to(tl.float16), x.to(tl.float64))
    if tl.program_id(0) == 1:
        tl.device_print("b", x > 2)


x = torch.arange(128, device='cuda').to(torch.float32) / 4
k[(2,)](x, 7, N=128, M=32)
END
status=0
for device in interpreter emulator; do
    "$NESO" run --device $device k.py >$device.out || { cat $device.out; status=1; }
    sort -u $device.out >$device.sorted
done
diff interpreter.sorted emulator.sorted || status=1
[ "$(wc -l <interpreter.sorted)" -gt 1000 ] || { echo "little is printed"; status=1; }
for target in sm_80 sm_90a sm_120a; do
    "$NESO" compile k.py::k --signature "*fp32:16, i32, 128, 32" --target $target -o k.ptx || status=1
    command -v ptxas >/dev/null || continue
    ptxas -arch=$target --warning-as-error k.ptx -o k.cubin || status=1
done

# A failed assertion prints its location, thread and message; an assertion that holds prints nothing.
cat >a.py <<'END'
import torch
import triton
import triton.language as tl


@triton.jit
def k(X, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i)
    tl.device_assert(x < 100, "100% too much")
    tl.device_assert(x < 64, "never", mask=i < 64)


x = torch.arange(128, device='cuda').to(torch.float32)
k[(1,)](x, N=64, debug=True)
print("first")
k[(1,)](x, N=128, debug=True)
END
"$NESO" run --device emulator a.py >a.out 2>/dev/null && { echo "it ends well"; status=1; }
grep -q first a.out && ! grep -q never a.out || { cat a.out; status=1; }
grep -qF 'a.py:10: k: block: [0,0,0], thread: [127,0,0] Assertion `100% too much` failed.' a.out || { cat a.out; status=1; }
exit $status
