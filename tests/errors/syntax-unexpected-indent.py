# A line that is indented without reason gives one error, and a second such line gives another.
x = 1
    y = 2
    z = 3
w = 4
  v = 5

# expect: exit 2
# syntax-unexpected-indent.py:3:5: error: unexpected indent [indent-unexpected]
#     3 |     y = 2
#       |     ^
# syntax-unexpected-indent.py:6:3: error: unexpected indent [indent-unexpected]
#     6 |   v = 5
#       |   ^
