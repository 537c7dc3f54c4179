# A deterministic kernel must not add floats by atomics, and must not use the return value of an atomic.
# run: compile order-of-atomics.py::k --signature "*fp32, *i32" --deterministic
import triton
import triton.language as tl


@triton.jit
def k(x, counter):
    tl.atomic_add(counter, 1)
    ticket = tl.atomic_add(counter, 1)
    tl.atomic_add(x + ticket, 1.0)

# expect: exit 2
# order-of-atomics.py:10:14: error: the effect or the result of this atomic depends on the order in which programs run, and the kernel is deterministic [order-atomic]
#    10 |     ticket = tl.atomic_add(counter, 1)
#       |              ^~~~~~~~~~~~~~~~~~~~~~~~~
# hint: store partial results, and add them in a second kernel; or launch without deterministic
# order-of-atomics.py:11:5: error: the effect or the result of this atomic depends on the order in which programs run, and the kernel is deterministic [order-atomic]
#    11 |     tl.atomic_add(x + ticket, 1.0)
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# hint: store partial results, and add them in a second kernel; or launch without deterministic
