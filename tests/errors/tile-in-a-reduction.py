# The combine function of a reduction works on single elements, so it cannot make a tile.
# run: compile tile-in-a-reduction.py::k --signature "*i32, *i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def combine(a, b):
    return a + b + tl.max(tl.zeros((4,), tl.int32), 0)


@triton.jit
def k(x, y):
    tl.store(y, tl.reduce(tl.load(x + tl.arange(0, 16)), 0, combine))

# expect: exit 2
# tile-in-a-reduction.py:9:27: error: a function that is applied to single elements cannot make tiles: it contains const [combine-tiles]
#     9 |     return a + b + tl.max(tl.zeros((4,), tl.int32), 0)
#       |                           ^~~~~~~~~~~~~~~~~~~~~~~~
#       in combine, called at tile-in-a-reduction.py:14:17
