# If TRITON_DEBUG is set, kernels' assertions are checked, whether or not the launch passes debug=True.
import os

os.environ["TRITON_DEBUG"] = "1"
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    assert n < 16, "n is too large"
    tl.store(x_ptr, n)


x = torch.zeros(1, device='cuda', dtype=torch.int32)
k[(1,)](x, 8)
k[(1,)](x, 16, debug=False)

# expect: exit 1
# assertion-in-debug-mode.py:12:5: error: device_assert failed in program (0, 0, 0): n is too large [device-assert]
#    12 |     assert n < 16, "n is too large"
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# assertion-in-debug-mode.py:18:1: note: launched here, which raises RuntimeError
