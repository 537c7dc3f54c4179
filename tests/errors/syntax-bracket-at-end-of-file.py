# Inside a bracket that is open to the end of the file everything else is a consequence.
grid = lambda meta: (triton.cdiv(n, meta["BLOCK"],)
x = 1

# expect: exit 2
# syntax-bracket-at-end-of-file.py:2:21: error: '(' was never closed [bracket-unclosed]
#     2 | grid = lambda meta: (triton.cdiv(n, meta["BLOCK"],)
#       |                     ^
