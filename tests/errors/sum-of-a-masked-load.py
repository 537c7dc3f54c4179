# The compiler warns of reductions and dots that use elements that a mask leaves undefined. It does not warn if `other` or
# tl.where replaces them, if whole rows are masked, if the mask is always true, or if only a store under the same mask uses them.
# run: compile sum-of-a-masked-load.py::k --signature "*fp32, *i32, *fp32, i32, 64" --emit ir -o k.ir
import triton
import triton.language as tl


@triton.jit
def total(x):
    return tl.sum(x, axis=0)


@triton.jit
def k(X, I, Y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    row, column = i[:, None], i[None, :]
    at = row * N + column
    start = tl.program_id(0) * N
    # -- warned of --
    x = tl.load(X + i, mask=i < n)
    tl.store(Y, tl.sum(x))
    tl.store(Y, tl.max(x, axis=0))
    tl.store(Y, tl.argmin(tl.load(X + i, mask=i < n), axis=0).to(tl.float32))
    tl.store(Y, total(x * 2.0))
    tl.store(Y, total(x + 1.0))
    tl.store(Y, tl.sum(tl.where(x > 0.0, 1, 0)).to(tl.float32))
    integers = tl.load(I + i, mask=start + i < n)
    tl.store(I, tl.min(integers, axis=0))
    both = tl.load(X + at, mask=(row < n) & (column < n))
    tl.store(Y + i, tl.sum(both, axis=1), mask=i < n)
    acc = tl.zeros([N], tl.float32)
    for j in range(0, n, N):
        acc += tl.load(X + j + i, mask=j + i < n)
    tl.store(Y, tl.sum(acc, axis=0))
    a = tl.load(X + at, mask=column < n)
    b = tl.load(X + at, mask=row < n, other=0.0)
    tl.store(Y + at, tl.dot(a, b))
    # -- not --
    filled = tl.load(X + i, mask=i < n, other=0.0)
    tl.store(Y, tl.sum(filled, axis=0))
    tl.store(Y, tl.sum(tl.where(i < n, x * 2.0, 0.0), axis=0))
    tl.store(Y, tl.sum(tl.where((x > 0.0) & (i < n), x, 0.0), axis=0))
    tl.store(I, tl.sum(integers * (start + i < n), axis=0))
    rows = tl.load(X + at, mask=row < n)
    tl.store(Y + i, tl.sum(rows, axis=1), mask=i < n)
    tl.store(Y + at, tl.dot(rows, b), mask=row < n)
    tl.store(Y + i, tl.cumsum(x, axis=0), mask=i < n)
    tl.store(Y + at, rows / tl.sum(rows, axis=1)[:, None], mask=row < n)
    whole = tl.load(X + i, mask=i < N)
    tl.store(Y, tl.sum(whole, axis=0))
    clean = tl.zeros([N], tl.float32)
    for j in range(0, n, N):
        y = tl.load(X + j + i, mask=j + i < n)
        clean = tl.where(j + i < n, clean + y, clean)
    tl.store(Y, tl.sum(clean, axis=0))
    one = tl.load(X, mask=n > 0)
    tl.store(Y, tl.sum(filled * one, axis=0))

# expect: exit 0
# sum-of-a-masked-load.py:21:17: warning: a sum includes elements that a mask leaves undefined [masked-reduction]
#    21 |     tl.store(Y, tl.sum(x))
#       |                 ^~~~~~~~~
# sum-of-a-masked-load.py:20:9: note: loaded here without 'other': where the mask is False, elements may be anything
# hint: give that load `other=0.0`, or replace the elements first: `tl.where(mask, x, 0.0)`, with the load's mask
# sum-of-a-masked-load.py:22:17: warning: a maximum includes elements that a mask leaves undefined [masked-reduction]
#    22 |     tl.store(Y, tl.max(x, axis=0))
#       |                 ^~~~~~~~~~~~~~~~~
# sum-of-a-masked-load.py:20:9: note: loaded here without 'other': where the mask is False, elements may be anything
# hint: give that load `other=float('-inf')`, or replace the elements first: `tl.where(mask, x, float('-inf'))`, with the load's mask
# sum-of-a-masked-load.py:23:17: warning: a reduction includes elements that a mask leaves undefined [masked-reduction]
#    23 |     tl.store(Y, tl.argmin(tl.load(X + i, mask=i < n), axis=0).to(tl.float32))
#       |                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# sum-of-a-masked-load.py:23:27: note: loaded here without 'other': where the mask is False, elements may be anything
# hint: give that load an `other` that does not change the result, or replace the elements by tl.where, with the load's mask
# sum-of-a-masked-load.py:10:12: warning: a sum includes elements that a mask leaves undefined [masked-reduction]
#    10 |     return tl.sum(x, axis=0)
#       |            ^~~~~~~~~~~~~~~~~
#       in total, called at sum-of-a-masked-load.py:24:17
# sum-of-a-masked-load.py:20:9: note: loaded here without 'other': where the mask is False, elements may be anything
# hint: replace the elements first: `tl.where(mask, x, 0.0)`, with the load's mask; or give the load an `other` that leads to this value
# sum-of-a-masked-load.py:10:12: warning: a sum includes elements that a mask leaves undefined [masked-reduction]
#    10 |     return tl.sum(x, axis=0)
#       |            ^~~~~~~~~~~~~~~~~
#       in total, called at sum-of-a-masked-load.py:25:17
# sum-of-a-masked-load.py:20:9: note: loaded here without 'other': where the mask is False, elements may be anything
# hint: replace the elements first: `tl.where(mask, x, 0.0)`, with the load's mask; or give the load an `other` that leads to this value
# sum-of-a-masked-load.py:26:17: warning: a sum includes elements that a mask leaves undefined [masked-reduction]
#    26 |     tl.store(Y, tl.sum(tl.where(x > 0.0, 1, 0)).to(tl.float32))
#       |                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# sum-of-a-masked-load.py:20:9: note: loaded here without 'other': where the mask is False, elements may be anything
# hint: replace the elements first: `tl.where(mask, x, 0)`, with the load's mask; or give the load an `other` that leads to this value
# sum-of-a-masked-load.py:28:17: warning: a minimum includes elements that a mask leaves undefined [masked-reduction]
#    28 |     tl.store(I, tl.min(integers, axis=0))
#       |                 ^~~~~~~~~~~~~~~~~~~~~~~~
# sum-of-a-masked-load.py:27:16: note: loaded here without 'other': where the mask is False, elements may be anything
# hint: give that load `other=2**31 - 1`, or replace the elements first: `tl.where(mask, x, 2**31 - 1)`, with the load's mask
# sum-of-a-masked-load.py:30:21: warning: a sum includes elements that a mask leaves undefined [masked-reduction]
#    30 |     tl.store(Y + i, tl.sum(both, axis=1), mask=i < n)
#       |                     ^~~~~~~~~~~~~~~~~~~~
# sum-of-a-masked-load.py:29:12: note: loaded here without 'other': where the mask is False, elements may be anything
# hint: give that load `other=0.0`, or replace the elements first: `tl.where(mask, x, 0.0)`, with the load's mask
# sum-of-a-masked-load.py:34:17: warning: a sum includes elements that a mask leaves undefined [masked-reduction]
#    34 |     tl.store(Y, tl.sum(acc, axis=0))
#       |                 ^~~~~~~~~~~~~~~~~~~
# sum-of-a-masked-load.py:33:16: note: loaded here without 'other': where the mask is False, elements may be anything
# hint: replace the elements first: `tl.where(mask, x, 0.0)`, with the load's mask; or give the load an `other` that leads to this value
# sum-of-a-masked-load.py:37:22: warning: a dot includes elements that a mask leaves undefined [masked-reduction]
#    37 |     tl.store(Y + at, tl.dot(a, b))
#       |                      ^~~~~~~~~~~~
# sum-of-a-masked-load.py:35:9: note: loaded here without 'other': where the mask is False, elements may be anything
# hint: give that load `other=0.0`, or replace the elements first: `tl.where(mask, x, 0.0)`, with the load's mask
