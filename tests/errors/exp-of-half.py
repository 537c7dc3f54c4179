# tl.exp accepts only float32 and float64.
# run: compile exp-of-half.py::k --signature "*fp16" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    tl.store(x, tl.exp(tl.load(x)))

# expect: exit 2
# exp-of-half.py:9:24: error: tl.exp takes float32 or float64, found fp16 [math-type]
#     9 |     tl.store(x, tl.exp(tl.load(x)))
#       |                        ^~~~~~~~~~
# hint: cast to tl.float32 first: `x.to(tl.float32)`
