# In a signature, the star of a pointer type must precede the element type.
# run: compile star-behind-a-type.py --signature 'fp32*, 16'
import triton
import triton.language as tl


@triton.jit
def k(X, B: tl.constexpr):
    tl.store(X + tl.arange(0, B), 0.0)

# expect: exit 2
# signature:1:1: error: a pointer to fp32 is written *fp32 [signature-star]
#     1 | fp32*, 16
#       | ^~~~~
