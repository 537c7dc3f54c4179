# Atomics support only types of 32 and 64 bits.
# run: compile atomic-on-int16.py::k --signature "*i16" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    tl.atomic_add(x, 1)

# expect: exit 2
# atomic-on-int16.py:9:5: error: tl.atomic_add does not support int16 [atomic-type]
#     9 |     tl.atomic_add(x, 1)
#       |     ^~~~~~~~~~~~~~~~~~~
