# SPDX-License-Identifier: MIT
# Tests that a prefetch out of bounds is reported at the line of the load whose data it prefetches, because a prefetch
# has no source line.
cat >rows.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def total(X, Y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n, BLOCK):
        i = k + tl.arange(0, BLOCK)
        acc += tl.load(X + row * stride + i, mask=i < n, other=0.0)
    tl.store(Y + row, tl.sum(acc, 0))

x = torch.ones(4, 4096, device='cuda')
y = torch.empty(4, device='cuda')
total[(4,)](x, y, 8192, 4096, BLOCK=1024)
PY
"$NESO" run --device emulator --skip load_ahead rows.py >out 2>&1 && { echo "the access is not reported"; exit 1; }
grep -q '^rows.py:11:16: error: access out of bounds .* are prefetched for this load' out && exit 0
cat out
exit 1
