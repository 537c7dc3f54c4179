# For type names of other languages and libraries, the hint suggests the type in tl; Python's builtin names get no hint.
# run: compile names-of-types.py::k --signature "*fp32"
import triton
import triton.language as tl


@triton.jit
def k(X):
    i = tl.arange(0, 16)
    tl.store(X + i, i.to(tl.half))
    tl.store(X + i, i.to(tl.float))
    tl.store(X + i, tl.d(i))

# expect: exit 2
# names-of-types.py:10:29: error: module 'triton.language' has no attribute 'half' [module-attribute]
#    10 |     tl.store(X + i, i.to(tl.half))
#       |                             ^~~~
# hint: did you mean 'float16'?
# names-of-types.py:11:29: error: module 'triton.language' has no attribute 'float' [module-attribute]
#    11 |     tl.store(X + i, i.to(tl.float))
#       |                             ^~~~~
# hint: did you mean 'float32'?
# names-of-types.py:12:24: error: module 'triton.language' has no attribute 'd' [module-attribute]
#    12 |     tl.store(X + i, tl.d(i))
#       |                        ^
