# runs: interpreter emulator cuda triton triton-interpret
# Tests a mask of constants that is false for one element of each vector and true for the other.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, z_ptr, N: tl.constexpr):
    mask = tl.join(tl.full([N], False, tl.int1), tl.full([N], True, tl.int1))
    i = tl.arange(0, N)[:, None] * 2 + tl.arange(0, 2)[None, :]
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=mask, other=-1))
    tl.store(z_ptr + i, tl.load(x_ptr + i), mask=mask)


x = torch.arange(1, 129, dtype=torch.int32, device="cuda")
y = torch.zeros(128, dtype=torch.int32, device="cuda")
z = torch.zeros(128, dtype=torch.int32, device="cuda")
kernel[(1,)](x, y, z, 64, num_warps=1)
assert y.tolist() == [i + 1 if i % 2 else -1 for i in range(128)], y.tolist()
assert z.tolist() == [i + 1 if i % 2 else 0 for i in range(128)], z.tolist()
