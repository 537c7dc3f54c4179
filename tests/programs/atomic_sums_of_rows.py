# runs: interpreter emulator cuda triton triton-interpret
# bits: old values depend on the order of programs
# Tests atomic sums of adjacent elements: whole vectors, masks that end within a vector, several memory orders, sums whose old
# values are used or not. Programs that count themselves with the default memory order must see the stores of earlier programs.
import torch
import triton
import triton.language as tl


@triton.jit
def sums(X, Y, n, SEM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(X + tl.program_id(0) * n + i, mask=i < n, other=0.0)
    tl.atomic_add(Y + i, x, mask=i < n, sem=SEM)


@triton.jit
def table(IDS, X, Y, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    i = tl.arange(0, BLOCK)
    x = tl.load(X + r[:, None] * n + i[None, :], mask=(i < n)[None, :], other=0.0)
    tl.atomic_add(Y + tl.load(IDS + r)[:, None] * n + i[None, :], x, mask=(i < n)[None, :])


@triton.jit
def counted(X, PART, COUNT, Y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    p = tl.program_id(0)
    before = tl.atomic_add(PART + i, tl.load(X + p * BLOCK + i))
    tl.store(Y + p * BLOCK + i, before)
    if tl.atomic_add(COUNT, 1) == tl.num_programs(0) - 1:
        tl.store(Y + i + tl.num_programs(0) * BLOCK, tl.load(PART + i, cache_modifier=".cg"))


for n in (1, 7, 64, 100, 128):
    x = torch.randint(-50, 50, (9, n), device="cuda").to(torch.float32)
    for sem in ("relaxed", "release", "acquire", "acq_rel"):
        y = torch.zeros(n, device="cuda")
        sums[(9,)](x, y, n, SEM=sem, BLOCK=128)
        assert torch.equal(y, x.sum(0))

n, rows = 48, 32
x = torch.randint(-50, 50, (rows, n), device="cuda").to(torch.float32)
ids = torch.randint(0, 5, (rows,), device="cuda").to(torch.int32)
y = torch.zeros(5, n, device="cuda")
table[(rows // 8,)](ids, x, y, n, ROWS=8, BLOCK=64)
for k in range(5):
    assert torch.equal(y[k], torch.where((ids == k)[:, None], x, torch.zeros_like(x)).sum(0))

x = torch.randint(1, 50, (6, 256), device="cuda").to(torch.float32)
part, count = torch.zeros(256, device="cuda"), torch.zeros(1, dtype=torch.int32, device="cuda")
y = torch.zeros(7, 256, device="cuda")
counted[(6,)](x, part, count, y, BLOCK=256)
assert torch.equal(part, x.sum(0)) and torch.equal(y[6], part)
assert torch.equal(y[:6].min(0).values, torch.zeros(256, device="cuda"))
print("ok")

# expect:
# ok
