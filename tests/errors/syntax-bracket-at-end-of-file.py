# If a bracket is still open at the end of the file, other errors inside of it are not reported.
grid = lambda meta: (triton.cdiv(n, meta["BLOCK"],)
x = 1

# expect: exit 2
# syntax-bracket-at-end-of-file.py:2:21: error: '(' was never closed [bracket-unclosed]
#     2 | grid = lambda meta: (triton.cdiv(n, meta["BLOCK"],)
#       |                     ^
