# A closing bracket must have an opening bracket.
x = tl.load(p) + 1)

# expect: exit 2
# syntax-bracket-unmatched.py:2:19: error: unmatched ')' [bracket-unmatched]
#     2 | x = tl.load(p) + 1)
#       |                   ^
