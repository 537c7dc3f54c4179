# A statement such as 'if' must have a block, in the middle and at the end of the file.
def f():
x = 1


for i in range(3):

# expect: exit 2
# syntax-expected-indent.py:3:1: error: expected an indented block after function definition on line 2 [indent-expected]
#     3 | x = 1
#       | ^
# syntax-expected-indent.py:6:19: error: expected an indented block after 'for' statement on line 6 [indent-expected]
#     6 | for i in range(3):
#       |                   ^
