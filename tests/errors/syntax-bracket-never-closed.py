# The message about an unclosed bracket shows the bracket, not the line where parsing fails; the next statement is checked again.
import triton


@triton.jit
def k(x):
    y = (x + (1 * 2)
    return y


z = = 1

# expect: exit 2
# syntax-bracket-never-closed.py:7:9: error: '(' was never closed [bracket-unclosed]
#     7 |     y = (x + (1 * 2)
#       |         ^
# syntax-bracket-never-closed.py:11:5: error: expected an expression, found '=' [syntax]
#    11 | z = = 1
#       |     ^
