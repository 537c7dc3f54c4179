# A function for tl.map_elementwise may only compute and assert, and must return one or more
# numbers. Its operands must be blocks, and the number of elements per call must divide the length of a row.
# run: compile map-elementwise.py::wrong --signature "*i32, 32" --emit ir
import triton
import triton.language as tl


@triton.jit
def small(x):
    return x + 1


@triton.jit
def writes(x, p):
    if x > 0:
        tl.store(p, x)
    return x


@triton.jit
def widens(x):
    return x + tl.arange(0, 2)


@triton.jit
def wrong(X, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(X + i, tl.map_elementwise(writes, i, X))
    tl.store(X + i, tl.map_elementwise(widens, i))
    tl.store(X + i, tl.map_elementwise(small, i, pack=3))
    tl.store(X + i, tl.map_elementwise(small, i, pack=64))
    tl.store(X + i, tl.map_elementwise(i, small))

# expect: exit 2
# map-elementwise.py:28:21: error: a function that is applied to single elements cannot have effects: it contains store [combine-effects]
#    28 |     tl.store(X + i, tl.map_elementwise(writes, i, X))
#       |                     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# map-elementwise.py:29:21: error: the function that is mapped must return numbers, found <[2], int32> [map-result]
#    29 |     tl.store(X + i, tl.map_elementwise(widens, i))
#       |                     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# map-elementwise.py:30:55: error: pack must divide the last dimension: found 3 for 32 elements [map-pack]
#    30 |     tl.store(X + i, tl.map_elementwise(small, i, pack=3))
#       |                                                       ^
# map-elementwise.py:31:55: error: pack must divide the last dimension: found 64 for 32 elements [map-pack]
#    31 |     tl.store(X + i, tl.map_elementwise(small, i, pack=64))
#       |                                                       ^~
# map-elementwise.py:32:40: error: tl.map_elementwise takes a function of the language, and blocks for it: found <[32], int32>, and 1 blocks [map-function]
#    32 |     tl.store(X + i, tl.map_elementwise(i, small))
#       |                                        ^
