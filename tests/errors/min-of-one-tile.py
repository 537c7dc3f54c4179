# Python's min, unlike tl.min, takes two or more values in a kernel.
# run: compile min-of-one-tile.py::k --signature "*fp32, *fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, y):
    i = tl.arange(0, 16)
    tl.store(y, min(tl.load(x + i)))

# expect: exit 2
# min-of-one-tile.py:10:17: error: min() of one value: in a kernel it takes two or more [extremum-of-one]
#    10 |     tl.store(y, min(tl.load(x + i)))
#       |                 ^~~~~~~~~~~~~~~~~~~
# hint: the extremum of a tile's elements is `tl.min(x)`
