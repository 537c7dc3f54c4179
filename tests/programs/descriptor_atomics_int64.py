# runs: interpreter emulator cuda (not triton: its code is an illegal instruction on the GPU; not triton-interpret: it does not implement these operations)
# Tests atomic and, or, xor of int64 through a tensor descriptor. descriptor_atomics.py tests the other operations and types.
import torch
import triton
import triton.language as tl


@triton.jit
def reduce(X, Y, S, at, OP: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    d = tl.make_tensor_descriptor(Y, shape=[20, S], strides=[S, 1], block_shape=[ROWS, COLUMNS])
    i, j = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    x = tl.load(X + tl.program_id(0) * ROWS * COLUMNS + i[:, None] * COLUMNS + j[None, :])
    if OP == "and":
        d.atomic_and([at, 8], x)
    elif OP == "or":
        d.atomic_or([at, 8], x)
    else:
        d.atomic_xor([at, 8], x)


combine = {"and": torch.bitwise_and, "or": torch.bitwise_or, "xor": torch.bitwise_xor}
ROWS, COLUMNS, S, N = 16, 16, 32, 3
triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device='cuda'))
torch.manual_seed(0)
for op in combine:
    start = torch.randint(-2**40, 2**40, (20, S), device='cuda')
    x = torch.randint(-2**40, 2**40, (N, ROWS, COLUMNS), device='cuda')
    for at in (2, 12):
        y = start.clone()
        reduce[(N,)](x, y, S, at, op, ROWS, COLUMNS)
        want, rows = start.clone(), min(ROWS, 20 - at)
        for k in range(N):
            want[at:at + rows, 8:8 + COLUMNS] = combine[op](want[at:at + rows, 8:8 + COLUMNS], x[k, :rows])
        assert torch.equal(y, want), (op, at)
print("ok")

# expect:
# ok
