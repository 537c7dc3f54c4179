# Two arguments must have a comma between them.
tl.store(p, x mask=m)
y = [1, 2 3]

# expect: exit 2
# syntax-forgotten-comma.py:2:15: error: invalid syntax; perhaps you forgot a comma? [syntax-comma]
#     2 | tl.store(p, x mask=m)
#       |               ^~~~
# syntax-forgotten-comma.py:3:11: error: invalid syntax; perhaps you forgot a comma? [syntax-comma]
#     3 | y = [1, 2 3]
#       |           ^
