# A positional argument cannot follow a keyword argument. A parameter without a default cannot follow a parameter with a default.
f(a=1, 2)
f(**k, 2)
f(a=1, a=2)
f(x for x in y, 1)
f(a.b=1)


def g(a=1, b):
    pass


def h(a, a):
    pass


def i(*):
    pass


def j(**k, a):
    pass

# expect: exit 2
# syntax-arguments.py:2:8: error: positional argument follows keyword argument [argument-position]
#     2 | f(a=1, 2)
#       |        ^
# syntax-arguments.py:3:8: error: positional argument follows keyword argument unpacking [argument-unpacking]
#     3 | f(**k, 2)
#       |        ^
# syntax-arguments.py:4:8: error: keyword argument repeated: a [argument-repeated]
#     4 | f(a=1, a=2)
#       |        ^
# syntax-arguments.py:5:3: error: generator expression must be parenthesized [generator-parentheses]
#     5 | f(x for x in y, 1)
#       |   ^~~~~~~~~~~~
# syntax-arguments.py:6:3: error: expression cannot contain assignment, perhaps you meant "=="? [argument-assign]
#     6 | f(a.b=1)
#       |   ^~~
# syntax-arguments.py:9:12: error: parameter without a default follows parameter with a default [parameter-default]
#     9 | def g(a=1, b):
#       |            ^
# syntax-arguments.py:13:10: error: duplicate parameter 'a' in function definition [parameter-repeated]
#    13 | def h(a, a):
#       |          ^
# syntax-arguments.py:17:7: error: named parameters must follow bare '*' [parameter-star]
#    17 | def i(*):
#       |       ^
# syntax-arguments.py:21:12: error: no parameter can follow one with '**' [parameter-order]
#    21 | def j(**k, a):
#       |            ^
