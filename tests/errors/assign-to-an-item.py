# A kernel cannot assign to an item of a tensor.
# run: compile assign-to-an-item.py::k --signature "*fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    row = tl.load(x + tl.arange(0, 32))
    row[0] = 1.0
    tl.store(x + tl.arange(0, 32), row)

# expect: exit 2
# assign-to-an-item.py:10:5: error: assigning to an item of a tensor is not supported [assign-item]
#    10 |     row[0] = 1.0
#       |     ^~~~~~
# hint: make a new tensor with tl.where, or write to memory with tl.store
