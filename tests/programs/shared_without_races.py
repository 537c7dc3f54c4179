# runs: interpreter
# Programs share memory correctly, so no race must be reported: partial sums under locks as in the backward pass of
# layer norm, adjacent bytes, atomic counters, a last program that sums the results of the others, and equal values.
import torch
import triton
import triton.language as tl


@triton.jit
def grouped_sums(x_ptr, sums_ptr, lock_ptr, n, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    partial = tl.load(x_ptr + pid * n + columns, mask=columns < n, other=0.0)
    group = pid % GROUPS
    lock = lock_ptr + group
    count = lock_ptr + GROUPS + group
    sums = sums_ptr + group * n + columns
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        partial += tl.load(sums, mask=columns < n)
    tl.store(sums, partial, mask=columns < n)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def add_one(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) + 1, mask=offsets < n)


@triton.jit
def sum_by_last(x_ptr, partial_ptr, count_ptr, out_ptr, any_ptr, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid * BLOCK + tl.arange(0, BLOCK))
    tl.store(partial_ptr + pid, tl.sum(x))
    tl.store(any_ptr, 1)
    if tl.atomic_add(count_ptr, 1) == PROGRAMS - 1:
        tl.store(out_ptr, tl.sum(tl.load(partial_ptr + tl.arange(0, PROGRAMS))))


x = torch.arange(40 * 50, device='cuda').to(torch.float32).reshape(40, 50) % 7
sums = torch.zeros((4, 50), device='cuda')
lock = torch.zeros(8, dtype=torch.int32, device='cuda')
grouped_sums[(40,)](x, sums, lock, 50, GROUPS=4, BLOCK=64)
assert torch.allclose(sums.sum(0), x.sum(0))

b = torch.zeros(1001, dtype=torch.uint8, device='cuda')
add_one[(143,)](b[:1001], 1001, BLOCK=8)
assert b.to(torch.int32).sum().item() == 1001

partial = torch.zeros(16, device='cuda')
out, count, seen = torch.zeros(1, device='cuda'), torch.zeros(1, dtype=torch.int32, device='cuda'), torch.zeros(1, dtype=torch.int32, device='cuda')
v = torch.ones(16 * 32, device='cuda')
sum_by_last[(16,)](v, partial, count, out, seen, PROGRAMS=16, BLOCK=32)
assert out.item() == 512.0
print("ok")

# expect:
# ok
