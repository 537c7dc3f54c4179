# If a closing bracket does not match the opening bracket, the message shows both.
shape = [(1, 2], 3)
rows = [
    1,
    2,
)

# expect: exit 2
# syntax-bracket-mismatch.py:2:15: error: closing ']' does not match opening '(' [bracket-mismatch]
#     2 | shape = [(1, 2], 3)
#       |               ^
# syntax-bracket-mismatch.py:2:10: note: '(' was opened here
# syntax-bracket-mismatch.py:6:1: error: closing ')' does not match opening '[' [bracket-mismatch]
#     6 | )
#       | ^
# syntax-bracket-mismatch.py:3:8: note: '[' was opened here
