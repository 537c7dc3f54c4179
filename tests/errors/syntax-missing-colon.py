# A missing ':' is found at the end of the line; the block under it is still checked, its clauses are no new error.
def f(x):
    if x > 0
        y = x +
    else:
        y = 0
    return y

# expect: exit 2
# syntax-missing-colon.py:3:13: error: expected ':', found the end of the line [syntax]
#     3 |     if x > 0
#       |             ^
# syntax-missing-colon.py:4:16: error: expected an expression, found the end of the line [syntax]
#     4 |         y = x +
#       |                ^
