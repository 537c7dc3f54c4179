# A tensor can be indexed only with : and None.
# run: compile index-with-a-number.py::k --signature "*fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    row = tl.load(x + tl.arange(0, 32))
    tl.store(x, row[0])

# expect: exit 2
# index-with-a-number.py:10:17: error: a tensor is indexed with ':' and None only, found 0 [index-kind]
#    10 |     tl.store(x, row[0])
#       |                 ^~~~~~
# hint: load the element from memory, or select it with tl.sum(tl.where(...))
