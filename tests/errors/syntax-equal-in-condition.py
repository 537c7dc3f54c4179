# A condition must not contain '=' instead of '=='.
x = 1
if x = 2:
    pass
while (x = 3):
    pass
assert x = 4

# expect: exit 2
# syntax-equal-in-condition.py:3:6: error: invalid syntax; maybe you meant '==' or ':=' instead of '='? [syntax-equal]
#     3 | if x = 2:
#       |      ^
# syntax-equal-in-condition.py:5:10: error: invalid syntax; maybe you meant '==' or ':=' instead of '='? [syntax-equal]
#     5 | while (x = 3):
#       |          ^
# syntax-equal-in-condition.py:7:10: error: invalid syntax; maybe you meant '==' or ':=' instead of '='? [syntax-equal]
#     7 | assert x = 4
#       |          ^
