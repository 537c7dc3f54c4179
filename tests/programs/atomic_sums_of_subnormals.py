# runs: interpreter emulator cuda triton (not triton-interpret: it adds with NumPy, which does not flush subnormal numbers)
# Atomic additions of fp32 in global memory flush subnormal operands and sums to zero (PTX ISA, "atom").
import torch
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, old_ptr):
    i = tl.arange(0, 32)
    old = tl.atomic_add(y_ptr + i, tl.load(x_ptr + i))
    tl.store(old_ptr + i, old)


@triton.jit
def add_without_result(x_ptr, y_ptr):
    i = tl.arange(0, 32)
    tl.atomic_add(y_ptr + i, tl.load(x_ptr + i))


LEAST = 2.0 ** -126
small = torch.full((32,), 2.0 ** -130, dtype=torch.float32, device='cuda')
zero = torch.zeros(32, dtype=torch.float32, device='cuda')
least = torch.full((32,), LEAST, dtype=torch.float32, device='cuda')
negative = torch.full((32,), -1.5 * LEAST, dtype=torch.float32, device='cuda')


def sums(x, y):
    old, out, silent = torch.zeros_like(y), y.clone(), y.clone()
    add[(1,)](x, out, old)
    add_without_result[(1,)](x, silent)
    assert torch.equal(old, y)  # the atomic returns the old value without flushing it
    assert torch.equal(out, silent)
    return out


assert torch.equal(sums(small, zero), zero)      # a subnormal operand is 0
assert torch.equal(sums(zero, small), zero)      # a subnormal number in memory counts as 0 too
assert torch.equal(sums(small, least), least)
assert torch.equal(sums(least, negative), zero)  # a subnormal sum is 0
assert torch.equal(sums(least, least), 2 * least)
