# A kernel must not store through a pointer to const.
# run: compile store-to-const.py::k --signature "*kfp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    tl.store(x, 1.0)

# expect: exit 2
# store-to-const.py:9:14: error: cannot write through a constant pointer [const-store]
#     9 |     tl.store(x, 1.0)
#       |              ^
