# The compiler reports at most 20 errors.
x0 = = 0
x1 = = 1
x2 = = 2
x3 = = 3
x4 = = 4
x5 = = 5
x6 = = 6
x7 = = 7
x8 = = 8
x9 = = 9
x10 = = 10
x11 = = 11
x12 = = 12
x13 = = 13
x14 = = 14
x15 = = 15
x16 = = 16
x17 = = 17
x18 = = 18
x19 = = 19
x20 = = 20
x21 = = 21
x22 = = 22
x23 = = 23
x24 = = 24
x25 = = 25
x26 = = 26
x27 = = 27
x28 = = 28
x29 = = 29

# expect: exit 2
# syntax-too-many.py:2:6: error: expected an expression, found '=' [syntax]
#     2 | x0 = = 0
#       |      ^
# syntax-too-many.py:3:6: error: expected an expression, found '=' [syntax]
#     3 | x1 = = 1
#       |      ^
# syntax-too-many.py:4:6: error: expected an expression, found '=' [syntax]
#     4 | x2 = = 2
#       |      ^
# syntax-too-many.py:5:6: error: expected an expression, found '=' [syntax]
#     5 | x3 = = 3
#       |      ^
# syntax-too-many.py:6:6: error: expected an expression, found '=' [syntax]
#     6 | x4 = = 4
#       |      ^
# syntax-too-many.py:7:6: error: expected an expression, found '=' [syntax]
#     7 | x5 = = 5
#       |      ^
# syntax-too-many.py:8:6: error: expected an expression, found '=' [syntax]
#     8 | x6 = = 6
#       |      ^
# syntax-too-many.py:9:6: error: expected an expression, found '=' [syntax]
#     9 | x7 = = 7
#       |      ^
# syntax-too-many.py:10:6: error: expected an expression, found '=' [syntax]
#    10 | x8 = = 8
#       |      ^
# syntax-too-many.py:11:6: error: expected an expression, found '=' [syntax]
#    11 | x9 = = 9
#       |      ^
# syntax-too-many.py:12:7: error: expected an expression, found '=' [syntax]
#    12 | x10 = = 10
#       |       ^
# syntax-too-many.py:13:7: error: expected an expression, found '=' [syntax]
#    13 | x11 = = 11
#       |       ^
# syntax-too-many.py:14:7: error: expected an expression, found '=' [syntax]
#    14 | x12 = = 12
#       |       ^
# syntax-too-many.py:15:7: error: expected an expression, found '=' [syntax]
#    15 | x13 = = 13
#       |       ^
# syntax-too-many.py:16:7: error: expected an expression, found '=' [syntax]
#    16 | x14 = = 14
#       |       ^
# syntax-too-many.py:17:7: error: expected an expression, found '=' [syntax]
#    17 | x15 = = 15
#       |       ^
# syntax-too-many.py:18:7: error: expected an expression, found '=' [syntax]
#    18 | x16 = = 16
#       |       ^
# syntax-too-many.py:19:7: error: expected an expression, found '=' [syntax]
#    19 | x17 = = 17
#       |       ^
# syntax-too-many.py:20:7: error: expected an expression, found '=' [syntax]
#    20 | x18 = = 18
#       |       ^
# syntax-too-many.py:21:7: error: expected an expression, found '=' [syntax]
#    21 | x19 = = 19
#       |       ^
# error: too many errors: stopped after 20 [too-many-errors]
