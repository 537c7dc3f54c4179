# Python 2's print statement is an error.
x = 1
print x
print "x is", x

# expect: exit 2
# syntax-print-statement.py:3:1: error: missing parentheses in call to 'print'; did you mean print(...)? [syntax-print]
#     3 | print x
#       | ^~~~~
# syntax-print-statement.py:4:1: error: missing parentheses in call to 'print'; did you mean print(...)? [syntax-print]
#     4 | print "x is", x
#       | ^~~~~
