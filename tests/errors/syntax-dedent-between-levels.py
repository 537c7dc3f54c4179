# A line whose indentation matches no level is an error; later lines with the same indentation give no further errors.
def f(x):
    if x:
        y = 1
      z = 2
      w = 3
    return y

# expect: exit 2
# syntax-dedent-between-levels.py:5:1: error: unindent does not match any outer indentation level [indent-unmatched]
#     5 |       z = 2
#       | ^~~~~~
