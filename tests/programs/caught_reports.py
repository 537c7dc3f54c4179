# runs: interpreter
# If a program catches an error report, later kernels compile and run, and the exit code is 0.
import torch
import triton
import triton.language as tl
@triton.jit
def k(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 1.0)
x = torch.zeros(4, device='cuda')
try:
    k[(1,)](x, B=8)
except RuntimeError as e:
    print("told")
k[(1,)](x, B=4)
print(x)

# expect:
# told
# tensor([1., 1., 1., 1.], device='cuda:0')
