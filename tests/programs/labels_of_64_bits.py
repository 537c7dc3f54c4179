# runs: interpreter emulator cuda triton triton-interpret
# Compares 32-bit column indices with 64-bit labels: labels near the columns, far away, and labels whose lower half alone is a column.
import torch
import triton
import triton.language as tl


@triton.jit
def pick(label_ptr, equal_ptr, differ_ptr, turned_ptr, START: tl.constexpr, N: tl.constexpr):
    label = tl.load(label_ptr + tl.program_id(0))
    cols = START + tl.arange(0, N)
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(equal_ptr + at, (cols == label).to(tl.int32))
    tl.store(differ_ptr + at, tl.where(cols != label, 1, 2))
    tl.store(turned_ptr + at, (label == cols).to(tl.int32))


N = 64
for start in [0, -3, 2**31 - N, -2**31]:
    ends = [start - 2, start - 1, start, start + 5, start + N - 1, start + N, start + N + 1]
    labels = ends + [label + 2**32 for label in ends] + [label - 2**33 for label in ends] + [2**63 - 1, -2**63]
    label = torch.tensor(labels, dtype=torch.int64, device='cuda')
    equal = torch.empty(len(labels), N, dtype=torch.int32, device='cuda')
    differ, turned = torch.empty_like(equal), torch.empty_like(equal)
    pick[(len(labels),)](label, equal, differ, turned, START=start, N=N)
    for i in range(len(labels)):
        wanted = [int(start + k == labels[i]) for k in range(N)]
        assert equal[i].tolist() == wanted, labels[i]
        assert turned[i].tolist() == wanted, labels[i]
        assert differ[i].tolist() == [1 + k for k in wanted], labels[i]
print("ok")

# expect:
# ok
