# A reduction of an empty tuple, a tuple as the number of bins, and a shape with more than 24 dimensions are errors.
# run: compile reduction-of-no-tensor.py::k --signature "*i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def k(X):
    i = tl.arange(0, 4)
    tl.store(X, tl.reduce((), 0, add))
    tl.store(X + tl.arange(0, 2), tl.histogram(i, (2, 2)))
    tl.store(X + i, tl.reshape(tl.expand_dims(i, (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)), (4,)))

# expect: exit 2
# reduction-of-no-tensor.py:15:27: error: tl.reduce takes 1 to 16 tensors, found 0 [reduce-count]
#    15 |     tl.store(X, tl.reduce((), 0, add))
#       |                           ^~
# reduction-of-no-tensor.py:16:51: error: num_bins must be an int, found tuple(2, 2) [wants-int]
#    16 |     tl.store(X + tl.arange(0, 2), tl.histogram(i, (2, 2)))
#       |                                                   ^~~~~~
# reduction-of-no-tensor.py:17:50: error: a tensor has at most 24 dimensions [rank-limit]
#    17 |     tl.store(X + i, tl.reshape(tl.expand_dims(i, (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, ...
#       |                                                  ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
