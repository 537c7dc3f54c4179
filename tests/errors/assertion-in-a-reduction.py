# If an assertion in a combine function fails, the report shows its location; the kernel has @triton.jit(debug=True).
import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b):
    tl.device_assert(a + b < 2000, "the sum is too large")
    return a + b


@triton.jit(debug=True)
def total(x_ptr, y_ptr, N: tl.constexpr):
    tl.store(y_ptr, tl.reduce(tl.load(x_ptr + tl.arange(0, N)), 0, add))


x = torch.arange(64, device='cuda')
total[(1,)](x[:32], x, 32)
total[(1,)](x, x, 64)

# expect: exit 1
# assertion-in-a-reduction.py:9:5: error: device_assert failed in program (0, 0, 0): the sum is too large [device-assert]
#     9 |     tl.device_assert(a + b < 2000, "the sum is too large")
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#       in add, called at assertion-in-a-reduction.py:15:21
# assertion-in-a-reduction.py:20:1: note: launched here, which raises RuntimeError
