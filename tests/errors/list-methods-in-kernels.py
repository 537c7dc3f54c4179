# A kernel cannot append to a list.
# run: compile list-methods-in-kernels.py --signature '*fp32'
import triton
import triton.language as tl


@triton.jit
def k(X):
    items = []
    items.append(1)
    tl.store(X, items[0])

# expect: exit 2
# list-methods-in-kernels.py:10:11: error: 'tuple' object has no attribute 'append' [attribute]
#    10 |     items.append(1)
#       |           ^~~~~~
# hint: a list in a kernel is a tuple, which does not change: write `items = items + (x,)`
# list-methods-in-kernels.py:11:17: error: tuple index out of range [index-range]
#    11 |     tl.store(X, items[0])
#       |                 ^~~~~~~~
