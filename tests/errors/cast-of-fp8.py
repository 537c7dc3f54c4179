# fp8 cannot be cast to integers directly, only by way of float32.
# run: compile cast-of-fp8.py::k --signature "*fp8e4nv, *i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, y):
    tl.store(y, tl.load(x).to(tl.int32))

# expect: exit 2
# cast-of-fp8.py:9:17: error: cannot cast fp8e4nv to int32 [no-cast]
#     9 |     tl.store(y, tl.load(x).to(tl.int32))
#       |                 ^~~~~~~~~~~~~~~~~~~~~~~
# hint: cast to tl.float32 first
