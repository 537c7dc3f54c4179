# If no configuration compiles, the program gets the error of the last configuration.
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({'BLOCK': 12}), triton.Config({'BLOCK': 24})], key=['n'])
@triton.jit
def fill(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), n)


fill[(1,)](torch.zeros(64, device='cuda'), 5)

# expect: exit 2
# autotune-without-a-choice.py:10:18: error: tl.arange needs a power of 2 elements, found 24 [arange-power]
#    10 |     tl.store(x + tl.arange(0, BLOCK), n)
#       |                  ^~~~~~~~~~~~~~~~~~~
# hint: round up and mask the rest: tl.arange(0, 32), mask = offsets < n
# autotune-without-a-choice.py:13:1: note: launched here, with x=*fp32:16, n=i32, BLOCK=24
