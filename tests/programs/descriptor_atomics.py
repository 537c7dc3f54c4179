# runs: interpreter emulator cuda triton (not triton-interpret: it does not implement reductions through descriptors)
# Tests atomic reductions through tensor descriptors: every operation on every type, several programs on one
# block, and blocks that extend beyond the array. descriptor_atomics_int64.py tests and, or, xor of int64.
import torch
import triton
import triton.language as tl


@triton.jit
def reduce(X, Y, S, at, OP: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    d = tl.make_tensor_descriptor(Y, shape=[20, S], strides=[S, 1], block_shape=[ROWS, COLUMNS])
    i, j = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    x = tl.load(X + tl.program_id(0) * ROWS * COLUMNS + i[:, None] * COLUMNS + j[None, :])
    if OP == "add":
        d.atomic_add([at, 8], x)
    elif OP == "min":
        d.atomic_min([at, 8], x)
    elif OP == "max":
        d.atomic_max([at, 8], x)
    elif OP == "and":
        d.atomic_and([at, 8], x)
    elif OP == "or":
        d.atomic_or([at, 8], x)
    elif OP == "xor":
        d.atomic_xor([at, 8], x)


halves = [torch.float16, torch.bfloat16]
ints = [torch.int32, torch.int64, torch.uint32, torch.uint64]
bitwise = [torch.int32, torch.uint32, torch.uint64]
types = {"add": [torch.int32, torch.uint32, torch.uint64, torch.float32] + halves, "min": ints + halves, "max": ints + halves,
         "and": bitwise, "or": bitwise, "xor": bitwise}
combine = {"add": lambda a, b: a + b, "min": torch.minimum, "max": torch.maximum, "and": torch.bitwise_and,
           "or": torch.bitwise_or, "xor": torch.bitwise_xor}
ROWS, COLUMNS, S, N = 16, 16, 32, 3


def alloc(size, alignment, stream):
    return torch.empty(size, dtype=torch.int8, device='cuda')


triton.set_allocator(alloc)
torch.manual_seed(0)
for op in types:
    for dtype in types[op]:
        start = torch.randint(0, 100, (20, S), device='cuda')
        x = torch.randint(0, 100, (N, ROWS, COLUMNS), device='cuda')
        if dtype not in (torch.uint32, torch.uint64):
            start, x = start - 50, x - 50
        for at in (2, 12):
            y = start.to(dtype).clone()
            reduce[(N,)](x.to(dtype), y, S, at, op, ROWS, COLUMNS)
            want, rows = start.clone(), min(ROWS, 20 - at)
            for k in range(N):
                want[at:at + rows, 8:8 + COLUMNS] = combine[op](want[at:at + rows, 8:8 + COLUMNS], x[k, :rows])
            assert torch.equal(y.to(torch.int64), want), (op, dtype, at)
print("ok")

# expect:
# ok
