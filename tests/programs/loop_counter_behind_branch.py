# runs: interpreter emulator cuda triton triton-interpret
# A loop stores its counter after a branch in the loop body. The store must see the counter's value of this iteration. The
# counter's next value, which the first instruction of a basic block computes, must not overwrite the old value while it is needed.
import torch
import triton
import triton.language as tl


@triton.jit
def behind_while(O, P, n):
    for i in range(0, n):
        tl.store(P, i)
        w = 0
        while w < n:
            w += 1
        tl.store(O, i)


@triton.jit
def behind_lock(O, P, n):
    for i in range(0, n):
        w = tl.atomic_cas(P + 8, 0, 0)
        while w != 0:
            w = tl.atomic_cas(P + 8, 0, 0)
        tl.store(O, i)


@triton.jit
def behind_for(O, P, n):
    for i in range(0, n):
        tl.atomic_add(P, 1)
        for j in range(0, n):
            tl.store(P + 1, j)
        tl.store(O, i)


@triton.jit
def behind_if(O, P, n):
    for i in range(0, n):
        tl.store(P, i)
        if n > 2:
            tl.store(P + 1, i)
        tl.store(O, i)


@triton.jit
def added(O, P, n):
    for i in range(0, n):
        tl.store(P, 0)
        w = 0
        while w < n:
            w += 1
        tl.atomic_add(O, i)


@triton.jit
def stored_twice(O, P, n):
    for i in range(0, n):
        tl.store(P, 1)
        w = 0
        while w < n:
            w += 1
        tl.store(O, i)
        tl.store(O + 1, i * 2)


cases = ((behind_while, 3, 0), (behind_lock, 3, 0), (behind_for, 3, 0), (behind_if, 3, 0), (added, 6, 0), (stored_twice, 3, 6))
for kernel, first, second in cases:
    O = torch.zeros(16, dtype=torch.int32, device='cuda')
    P = torch.zeros(16, dtype=torch.int32, device='cuda')
    kernel[(1,)](O, P, 4, num_warps=1)
    found = O[:2].tolist()
    assert found == [first, second], (kernel.__name__, found)
print('ok')
