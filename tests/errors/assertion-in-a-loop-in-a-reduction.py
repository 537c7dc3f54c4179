# An assertion in a loop of a combine function fails; the report shows its location.
import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b):
    while b > 0:
        tl.device_assert(b < 3, "one element is too large")
        a = a + 1
        b = b - 1
    return a


@triton.jit(debug=True)
def total(x_ptr, y_ptr, N: tl.constexpr):
    tl.store(y_ptr, tl.reduce(tl.load(x_ptr + tl.arange(0, N)), 0, add))


x = torch.arange(4, device='cuda')
y = torch.zeros(1, device='cuda', dtype=torch.int64)
total[(1,)](x[1:2], y, 1)
assert y.item() == 1
total[(1,)](x, y, 4)

# expect: exit 1
# assertion-in-a-loop-in-a-reduction.py:10:9: error: device_assert failed in program (0, 0, 0): one element is too large [device-assert]
#    10 |         tl.device_assert(b < 3, "one element is too large")
#       |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#       in add, called at assertion-in-a-loop-in-a-reduction.py:18:21
# assertion-in-a-loop-in-a-reduction.py:25:1: note: launched here, which raises RuntimeError
