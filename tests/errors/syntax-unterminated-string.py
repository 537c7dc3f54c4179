# A string must end on its line; the next line is checked as usual.
name = 'add
path = "a\"
x = 1 +

# expect: exit 2
# syntax-unterminated-string.py:2:8: error: unterminated string literal [string-unterminated]
#     2 | name = 'add
#       |        ^~~~
# syntax-unterminated-string.py:3:8: error: unterminated string literal [string-unterminated]
#     3 | path = "a\"
#       |        ^~~~
# syntax-unterminated-string.py:4:8: error: expected an expression, found the end of the line [syntax]
#     4 | x = 1 +
#       |        ^
