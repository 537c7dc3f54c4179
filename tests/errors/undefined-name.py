# For a misspelt name, the message suggests the most similar name.
# run: compile undefined-name.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    offsets = tl.arange(0, 64)
    tl.store(x + offset, 1.0)

# expect: exit 2
# undefined-name.py:10:18: error: name 'offset' is not defined [name]
#    10 |     tl.store(x + offset, 1.0)
#       |                  ^~~~~~
# hint: did you mean 'offsets'?
