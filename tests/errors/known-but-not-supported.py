# For a function of the language that neso lacks, the message says that it is not supported, not that it is undefined.
# run: compile known-but-not-supported.py::k --signature "*fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    a = tl.arange(0, 32)
    tl.store(x + a, tl._experimental_descriptor_load(x, [0], [32], tl.float32))

# expect: exit 2
# known-but-not-supported.py:10:21: error: tl._experimental_descriptor_load is not supported by this version of neso [not-supported]
#    10 |     tl.store(x + a, tl._experimental_descriptor_load(x, [0], [32], tl.float32))
#       |                     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
