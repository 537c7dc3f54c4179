# runs: interpreter emulator cuda triton (not triton-interpret: it has no inline assembly, with which Triton implements these functions)
# bits: stores the time and the number of the multiprocessor
# Tests inline assembly that reads the multiprocessor's number and a clock. The compiler must not merge two reads of the clock.
import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import globaltimer, smid


@triton.jit
def read(SMS, TIMES, ROUNDS: tl.constexpr):
    pid = tl.program_id(0)
    first = globaltimer()
    tl.store(SMS + pid, smid())
    for i in range(ROUNDS):
        tl.store(TIMES + pid * ROUNDS + i, globaltimer() - first)


PROGRAMS, ROUNDS = 64, 20
SMS = torch.full((PROGRAMS,), -1, device='cuda', dtype=torch.int32)
TIMES = torch.full((PROGRAMS, ROUNDS), -1, device='cuda', dtype=torch.int64)
read[(PROGRAMS,)](SMS, TIMES, ROUNDS)
assert SMS.min().item() >= 0 and SMS.max().item() < 1024
for times in TIMES.tolist():
    assert times[0] >= 0 and all(a <= b for a, b in zip(times, times[1:])), times
