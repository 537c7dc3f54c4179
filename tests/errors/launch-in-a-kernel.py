# A kernel cannot launch a kernel.
import torch
import triton
import triton.language as tl


@triton.jit
def fill(X, value):
    tl.store(X, value)


@triton.jit
def k(X):
    fill[(1,)](X, 3)


k[(1,)](torch.zeros(1))

# expect: exit 2
# launch-in-a-kernel.py:14:5: error: a kernel cannot launch 'fill'; it can call it, as a function [launch-in-kernel]
#    14 |     fill[(1,)](X, 3)
#       |     ^~~~~~~~~~~~~~~~
# launch-in-a-kernel.py:17:1: note: launched here, with X=*fp32:16
