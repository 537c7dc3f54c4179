# runs: interpreter emulator cuda triton triton-interpret
# A range is never expanded into a list: its length, items, slices, membership tests and iterators need constant memory, for every length.
import torch
import triton

r = range(10**12)
assert len(r) == 10**12 and r and r[-1] == 10**12 - 1 and r[5] == 5
assert 10**11 in r and 10**12 not in r and -1 not in r and 7.0 in r and True in r
assert 7.5 not in range(1000)  # CPython compares 7.5 with every item
assert r[2:10:3] == range(2, 10, 3) and r[::-1][0] == 10**12 - 1 and r[10:].start == 10 and len(r[:-1:7]) == 142857142857
assert repr(range(10)[::3]) == 'range(0, 10, 3)' and repr(range(10)[::-1]) == 'range(9, -1, -1)'
assert r.index(10**11) == 10**11 and r.count(3) == 1 and r.count(-3) == 0
assert range(0, -10**12, -7).index(-7 * 10**9) == 10**9 and -8 not in range(0, -10**12, -7)
assert next(iter(reversed(r))) == 10**12 - 1 and next(reversed(range(3, 10, 4))) == 7
assert list(reversed(range(3, 15, 4))) == [11, 7, 3] and list(reversed(range(0))) == []
for i, x in enumerate(r):
    if i == 3:
        break
assert (i, x) == (3, 3)
for a, b, c in zip(r, reversed(r), range(4)):
    pass
assert (a, b, c) == (3, 10**12 - 4, 3)
assert next(map(lambda x: x + 1, r)) == 1 and next(filter(lambda x: x > 4, r)) == 5
assert any(x > 10 for x in range(100)) and min(range(5, 1000)) == 5
first, *rest = range(4)
assert rest == [1, 2, 3]
try:
    r.index(-1)
    assert False
except ValueError:
    pass
