# Errors inside f-strings show their location in the string.
a = f"{x"
b = f"x}"
c = f"{}"
d = f"{x!d}"
e = f"n = {n +}"
g = f"""
{a b}"""

# expect: exit 2
# syntax-fstrings.py:2:9: error: f-string: expecting '}' [fstring-brace]
#     2 | a = f"{x"
#       |         ^
# syntax-fstrings.py:3:8: error: f-string: single '}' is not allowed; write '}}' [fstring-single-brace]
#     3 | b = f"x}"
#       |        ^
# syntax-fstrings.py:4:8: error: f-string: expected an expression before '}' [fstring-empty]
#     4 | c = f"{}"
#       |        ^
# syntax-fstrings.py:5:10: error: f-string: invalid conversion character 'd': expected 's', 'r' or 'a' [fstring-conversion]
#     5 | d = f"{x!d}"
#       |          ^
# syntax-fstrings.py:6:15: error: expected an expression, found '}' [syntax]
#     6 | e = f"n = {n +}"
#       |               ^
# syntax-fstrings.py:8:4: error: f-string: expecting '}' [fstring-brace]
#     8 | {a b}"""
#       |    ^
