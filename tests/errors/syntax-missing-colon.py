# A missing ':' is reported at the end of the line; the block is still checked, and later clauses give no further errors.
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
