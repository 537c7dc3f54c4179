# The condition of an if cannot be a block.
# run: compile block-as-condition.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    if tl.arange(0, 64) < n:
        tl.store(x, 1.0)

# expect: exit 2
# block-as-condition.py:9:8: error: the truth of a block of shape [64] is ambiguous: a condition must be a scalar [condition-block]
#     9 |     if tl.arange(0, 64) < n:
#       |        ^~~~~~~~~~~~~~~~~~~~
# hint: reduce it: `tl.max(x, 0)`; or choose by element: tl.where
