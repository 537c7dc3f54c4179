# It is an error if the nesting of lines depends on the width of a tab.
if True:
        x = 1
	y = 2

# expect: exit 2
# syntax-tabs-and-blanks.py:4:1: error: inconsistent use of tabs and spaces in indentation [indent-tabs]
#     4 | 	y = 2
#       | ^
