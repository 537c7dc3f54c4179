# The seed of random numbers is an integer.
# run: compile seed-of-random-numbers.py::k --signature "*fp32, fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, seed):
    i = tl.arange(0, 16)
    tl.store(x + i, tl.rand(seed, i))

# expect: exit 2
# seed-of-random-numbers.py:10:21: error: static assertion failed: the seed must be an integer [static-assert]
#    10 |     tl.store(x + i, tl.rand(seed, i))
#       |                     ^~~~~~~~~~~~~~~~
