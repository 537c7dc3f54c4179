# runs: interpreter
# Tests programs that wait for each other: a spin lock around plain loads and stores, and a chain in which each program waits for the next one.
import torch
import triton
import triton.language as tl

@triton.jit
def locked(lock, total, n, B: tl.constexpr):
    pid = tl.program_id(0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    v = tl.load(total + tl.arange(0, B))
    tl.store(total + tl.arange(0, B), v + pid)
    tl.atomic_xchg(lock, 0)

@triton.jit
def ring(flags, n):
    pid = tl.program_id(0)
    # waits for the next program; the last program does not wait
    if pid < n - 1:
        while tl.atomic_add(flags + pid + 1, 0) == 0:
            pass
    tl.atomic_xchg(flags + pid, 1)

lock = torch.zeros(1, dtype=torch.int32, device='cuda')
total = torch.zeros(16, dtype=torch.int32, device='cuda')
locked[(100,)](lock, total, 100, B=16)
print(total)
flags = torch.zeros(300, dtype=torch.int32, device='cuda')
ring[(300,)](flags, 300)
print(flags.sum().item())

# expect:
# tensor([4950, 4950, 4950, 4950, 4950, 4950, 4950, 4950, 4950, 4950, 4950, 4950,
#         4950, 4950, 4950, 4950], device='cuda:0', dtype=torch.int32)
# 300
