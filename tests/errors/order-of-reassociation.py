# A launch cannot have both options: deterministic fixes the order of additions, fp_reassoc lets the compiler change it.
import torch
import triton
import triton.language as tl


@triton.jit
def total(x, out, N: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, N)), 0))


x = torch.ones(128, device='cuda')
total[(1,)](x, x, 128, deterministic=True, fp_reassoc=True)

# expect: exit 2
# order-of-reassociation.py:8:5: error: the launch options deterministic and fp_reassoc exclude each other: the first fixes the order of additions, the second frees it [order-reassoc]
#     8 | def total(x, out, N: tl.constexpr):
#       |     ^~~~~
# order-of-reassociation.py:13:1: note: launched here, with x=*fp32:16, out=*fp32:16, N=128
