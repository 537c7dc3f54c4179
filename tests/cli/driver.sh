# SPDX-License-Identifier: MIT
# Tests that every failed call of the CUDA driver gives a message with the call's name and the driver's error text, and an exit status
# other than 0; if no call fails, a program runs to its end. The test uses a fake driver, which needs no GPU (driver/cuda.c).
fail=0
say() { echo "$*"; fail=1; }
${CC:-cc} -std=c11 -D_DEFAULT_SOURCE -shared -fPIC -I"$NESO_ROOT" "$NESO_ROOT/tests/cli/driver/cuda.c" -o libcuda.so.1 || exit 1
export LD_LIBRARY_PATH=$PWD

cat >copy.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def copy(X, Y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < n), mask=i < n)

x = torch.ones(100, device='cuda')
y = torch.zeros(100, device='cuda')
copy[(1,)](x, y, 100, BLOCK=128)
torch.cuda.synchronize()
print(y.cpu()[0].item())
PY

"$NESO" doctor >out 2>&1 || say "doctor: $(cat out)"
grep -q 'Fake GPU, compute capability 9.0, target sm_90a, 16 GiB' out || say "doctor: $(cat out)"
[ "$("$NESO" doctor --devices)" = "$(printf 'cuda\ninterpreter\nemulator')" ] || say "devices"
"$NESO" run --verbose copy.py >out 2>err || say "copy.py: $(cat err)"
grep -q 'on Fake GPU (cuda:0, sm_90a)' err || say "the best device: $(cat err)"
[ "$(cat out)" = 0.0 ] || say "a kernel that does nothing: $(cat out)"
# If the driver refuses a launch, NESO_CAPSULE keeps a capsule, and the capsule's kernel runs on other devices.
FAKE_FAIL=cuLaunchKernel NESO_CAPSULE=on "$NESO" run --device cuda copy.py >out 2>err; [ $? = 1 ] || say "a capsule: exit $?"
"$NESO" replay --device emulator copy.capsule >out 2>&1; [ $? = 1 ] || say "a replay elsewhere: exit $?"
grep -q '^seen:    a fault on Fake GPU (cuda:0, sm_90a): .*cuLaunchKernel .*\[driver-call\]$' out || say "a replay elsewhere: $(cat out)"
FAKE_FAIL=cuLaunchKernel "$NESO" replay copy.capsule >out 2>&1 || say "a replay on the GPU: $(cat out)"
# In a capsule, two tensors that only touch are two buffers; an empty tensor at the end of another tensor belongs to
# the buffer of that tensor.
sed 's/^x = .*/both = torch.ones(200, device="cuda"); x, y = both[:100], both[100:]/; s/^y = .*//' copy.py >touching.py
sed 's/^x = .*/both = torch.ones(200, device="cuda"); x, y = both[200:], both[100:]/; s/^y = .*//' copy.py >empty.py
for program in touching empty; do
    FAKE_FAIL=cuLaunchKernel NESO_CAPSULE=$program "$NESO" run --device cuda $program.py >out 2>err; [ $? = 1 ] || say "$program: $(cat err)"
    "$NESO" replay --device emulator $program/copy.capsule >out 2>&1; [ $? -le 1 ] || say "a replay of $program: $(cat out)"
done
grep -q "byte 400 of 'X', which has 400" out || say "an empty tensor: $(cat out)"
FAKE_NONE=1 "$NESO" run --device cuda copy.py >out 2>err; [ $? = 2 ] || say "no GPU: exit $?"
grep -q 'no GPU' err || say "no GPU: $(cat err)"
"$NESO" run --device cuda:7 copy.py >out 2>err; [ $? = 2 ] || say "cuda:7: exit $?"

for call in cuInit cuDeviceGetCount cuDeviceGet cuDeviceGetName cuDeviceTotalMem_v2 cuDeviceGetAttribute \
    cuDevicePrimaryCtxRetain cuCtxPushCurrent_v2 cuModuleLoadDataEx cuModuleGetFunction cuLaunchKernel; do
    FAKE_FAIL=$call "$NESO" run --device cuda copy.py >out 2>err
    got=$?
    [ $got = 1 ] || [ $got = 2 ] || say "$call refused: exit $got"
    grep -q "${call%_v2} gave CUDA_ERROR_INVALID_PTX (218): a PTX JIT" err || [ $call = cuCtxPushCurrent_v2 ] || say "$call refused: $(cat err)"
done
for call in cuMemAlloc_v2 cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuStreamSynchronize; do
    FAKE_FAIL=$call "$NESO" run --device cuda copy.py >out 2>err
    got=$?
    [ $got = 1 ] || [ $got = 2 ] || say "$call refused: exit $got"
done
# Messages of the assembler show a location in the Python source.
line=$("$NESO" run --keep-ptx kept --device cuda copy.py >out && grep -n 'ld\.global' kept/copy-*.ptx | head -n 1 | cut -d: -f1)
FAKE_FAIL=cuModuleLoadDataEx FAKE_LOG="ptxas application ptx input, line $line; error   : Unknown symbol 'q'" \
    "$NESO" run --device cuda copy.py >out 2>err && say "a refused kernel ran"
grep -q "copy.py:8:" err || say "the assembler's complaint has no place: $(cat err)"
grep -q "line $line of the PTX: Unknown symbol 'q'" err || say "the assembler's complaint: $(cat err)"

# A run writes PTX to the cache, and a strict run reads the PTX from the cache. A run also finds the entries that `neso variants` wrote.
unset NESO_CACHE
export NESO_CACHE_DIR=$PWD/cache
entries() { find cache -name '*.neso' | wc -l; }
"$NESO" run --device cuda copy.py >out 2>err || say "with a cache: $(cat err)"
[ "$(entries)" = 1 ] || say "PTX: $(entries) entries"
NESO_CACHE=strict "$NESO" run --device cuda copy.py >out 2>err || say "from the cache: $(cat err)"
rm -r cache
"$NESO" variants copy.py::copy --signature '*fp32, *fp32, i32, 128' --precompile >out 2>err || say "precompile: $(cat err)"
grep -q '12 compiled and assembled' err || say "precompile: $(cat err)"
NESO_CACHE=strict "$NESO" run --device cuda copy.py >out 2>err || say "precompiled: $(cat err)"
FAKE_FAIL=cuModuleLoadDataEx "$NESO" run --device cuda copy.py >out 2>err && say "no module loads"
exit $fail
