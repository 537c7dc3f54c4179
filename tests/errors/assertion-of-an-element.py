# If an assertion in a function that tl.map_elementwise calls fails for any element, the report shows the assertion's location.
import torch
import triton
import triton.language as tl


@triton.jit
def small(x):
    tl.device_assert(x < 60, "too large")
    return x + 1


@triton.jit
def k(X, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(X + i, tl.map_elementwise(small, i))


x = torch.zeros(64, device='cuda', dtype=torch.int32)
k[(1,)](x, 32, debug=True)
k[(1,)](x, 64, debug=True)

# expect: exit 1
# assertion-of-an-element.py:9:5: error: device_assert failed in program (0, 0, 0): too large [device-assert]
#     9 |     tl.device_assert(x < 60, "too large")
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#       in small, called at assertion-of-an-element.py:16:21
# assertion-of-an-element.py:21:1: note: launched here, which raises RuntimeError
