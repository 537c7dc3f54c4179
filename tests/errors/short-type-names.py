# If a signature contains a short type name, the message suggests the language's name.
# run: compile short-type-names.py --signature '*fp32, 16'
import triton
import triton.language as tl


@triton.jit
def k(X, B: tl.constexpr):
    tl.store(X + tl.arange(0, B), tl.load(X + tl.arange(0, B)).to(tl.fp16))

# expect: exit 2
# short-type-names.py:9:70: error: module 'triton.language' has no attribute 'fp16' [module-attribute]
#     9 |     tl.store(X + tl.arange(0, B), tl.load(X + tl.arange(0, B)).to(tl.fp16))
#       |                                                                      ^~~~
# hint: did you mean 'float16'?
