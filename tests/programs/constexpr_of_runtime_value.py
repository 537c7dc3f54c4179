# runs: interpreter emulator cuda triton triton-interpret
# If a run-time value is assigned to a local variable with the annotation constexpr, the variable has this value; tl.constexpr(x) of a
# run-time value is this value.
import torch
import triton
import triton.language as tl


@triton.jit
def blocks(OUT, n, per_program, TILE: tl.constexpr):
    LENGTH: tl.constexpr = TILE * per_program
    start = LENGTH * tl.program_id(0)
    end = tl.minimum(start + tl.constexpr(LENGTH), n)
    total = 0
    for at in range(start, end, TILE):
        total += tl.sum((at + tl.arange(0, TILE) < end).to(tl.int32), 0)
    tl.store(OUT + tl.program_id(0), total)


out = torch.zeros(3, dtype=torch.int32, device='cuda')
blocks[(3,)](out, 75, 2, TILE=16)
assert out.tolist() == [32, 32, 11]
