# The match statement is not part of the language; its cases give no further errors.
def f(x):
    match x:
        case 1:
            return 2
        case _:
            return 3


match = 1
match[0] = 2

# expect: exit 2
# syntax-match-statement.py:3:5: error: the match statement is not supported [syntax-unsupported]
#     3 |     match x:
#       |     ^~~~~
